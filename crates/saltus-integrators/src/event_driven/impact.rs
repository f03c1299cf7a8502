//! Impacts: all closed contacts at once, by the law of the options.

use super::Prepared;
use super::mode_selection::Selection;
use super::options::ImpactLaw;
use crate::integrator::{EventKind, StepError};
use crate::kit::{Duration, Row, restitution};
use saltus_linear::axpy;
use saltus_system::System;

/// Most impacts of a sequence.
const LONGEST_SEQUENCE: u32 = 100_000;
/// Shares of the largest impulse below this are none.
const NONE: f64 = 1e-12;

/// What impacts of a step did.
#[derive(Debug, Default)]
pub(super) struct Impact {
    /// Work of the impulses \[J\].
    pub(super) work: f64,
    /// The part of it that walls and supports with a prescribed motion do \[J\].
    pub(super) work_moving: f64,
    /// Largest `|u⁺ + e u⁻|` where an impulse acted [m/s]; NaN where Newton's law does not apply.
    pub(super) law: f64,
    /// Contacts whose restitution is 0 in this impact, because an accumulation ends.
    guarded: Vec<bool>,
    /// Impulses of the rows of the set before the impact [N·s].
    rows_before: Vec<f64>,
    /// The same of the bilateral constraints.
    bilateral_before: Vec<f64>,
    pub(super) selection: Selection,
}

impl Impact {
    pub(super) fn begin(&mut self) {
        self.work = 0.0;
        self.work_moving = 0.0;
        self.law = f64::NAN;
        self.guarded.clear();
    }

    pub(super) fn is_guarded(&self, i: usize) -> bool {
        self.guarded.get(i).copied().unwrap_or(false)
    }

    /// Whether contact `i` was in the last impact with its restitution.
    pub(super) fn rebounds(&self, i: usize) -> bool {
        self.guarded.get(i).is_some_and(|guarded| !guarded)
    }
}

impl Prepared {
    /// The impact of the closed contacts at the end stage; its velocity becomes the one after it.
    pub(super) fn impact(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.find_guarded(system)?;
        if self.hands_over() && self.impact.guarded.contains(&true) {
            self.record_accumulations();
            return self.begin_time_stepping(system);
        }
        let reactions = &self.step.reactions;
        self.impact.rows_before.clone_from(&reactions.row);
        (self.impact.bilateral_before).clone_from(&reactions.bilateral);
        match self.options.impact_law {
            ImpactLaw::Newton => {
                let active = std::mem::take(&mut self.closed);
                let result = self.newton(system, &active);
                self.closed = active;
                result?;
            }
            ImpactLaw::Poisson => self.poisson(system)?,
            ImpactLaw::Sequential => self.sequence(system)?,
            ImpactLaw::Energetic => self.energetic(system)?,
        }
        let end = &self.step.end;
        for (x, (after, before)) in self.work.iter_mut().zip(end.v.iter().zip(&self.v_before)) {
            *x = after - before;
        }
        let mean = end.mass.form(&self.work, &end.v) + end.mass.form(&self.work, &self.v_before);
        self.impact.work += 0.5 * mean;
        self.impact.work_moving -= self.impulses_times_rates();
        self.record_impacts();
        self.record_accumulations();
        Ok(())
    }

    /// Sum over all rows of the impulses of the impact times the prescribed rates `∂g/∂t` of the rows \[J\].
    fn impulses_times_rates(&self) -> f64 {
        let (end, reactions) = (&self.step.end, &self.step.reactions);
        let rows = reactions.row.iter().zip(&self.impact.rows_before);
        let bilateral = reactions
            .bilateral
            .iter()
            .zip(&self.impact.bilateral_before);
        let of_contacts = rows.zip(&end.contacts.rate);
        let of_constraints = (bilateral.enumerate()).map(|(i, p)| (p, end.rate(Row::Bilateral(i))));
        of_contacts
            .map(|((p, before), rate)| (p - before) * rate)
            .sum::<f64>()
            + of_constraints
                .map(|((p, before), rate)| (p - before) * rate)
                .sum::<f64>()
    }

    /// Which contacts end an accumulation, by the acceleration of their gaps on the way here.
    fn find_guarded(&mut self, system: &dyn System) -> Result<(), StepError> {
        let n = self.arc.modes.len();
        self.impact.guarded.clear();
        self.impact.guarded.resize(n, false);
        let slow = |i: &usize| {
            let u = self.step.end.contacts.normal_velocity(*i, &self.v_before);
            u < 0.0 && -u < self.v_acc()
        };
        if !self.closed.iter().any(slow) {
            return Ok(());
        }
        let arc = &mut self.arc;
        let end = &self.step.end;
        if !(arc.accelerations).evaluate(end, self.step.dims.ng, &arc.modes) {
            return Err(super::no_forces(system, end, &arc.modes.list));
        }
        arc.accelerations.accelerate(&mut self.work);
        for k in 0..self.closed.len() {
            let i = self.closed[k];
            let end = &self.step.end;
            let row = Row::Normal(i, end.contacts.first_row[i]);
            let (matrix, r) = end.row(row);
            let gamma = matrix.dot(r, &self.work) + end.bias(row);
            self.impact.guarded[i] = self.ends_accumulation(i, gamma);
        }
        Ok(())
    }

    /// Newton's law with Coulomb's on the contacts `active` at once.
    fn newton(&mut self, system: &dyn System, active: &[usize]) -> Result<(), StepError> {
        let guarded = std::mem::take(&mut self.impact.guarded);
        let result = self.velocity_problem(system, active, |row, end, u| {
            let e = match row {
                Row::Normal(i, _) if guarded[i] => 0.0,
                _ => restitution(&end.contacts, row),
            };
            e * u
        });
        self.impact.guarded = guarded;
        result
    }

    /// Solves the laws of `active` on the velocity at the end; `rebound` is what is added to the velocity of a row, whose velocity
    /// before it is told.
    pub(super) fn velocity_problem(
        &mut self,
        system: &dyn System,
        active: &[usize],
        rebound: impl Fn(Row, &crate::kit::EvaluationPoint, f64) -> f64,
    ) -> Result<(), StepError> {
        let end = &mut self.step.end;
        let v_free = &mut self.work;
        v_free.copy_from_slice(&end.v);
        let stage = &*end;
        let offset = |row: Row| {
            let u = stage.velocity(row, v_free);
            stage.rate(row) + rebound(row, stage, u)
        };
        let problem = &mut self.problem;
        problem.pose(
            system,
            &self.step.reactions,
            (stage, stage),
            active,
            Duration::Instant,
            v_free,
            offset,
        );
        problem.solve(system, &mut self.step.reactions, stage, stage.t)?;
        problem.respond(&mut end.v);
        let (stage, v) = (&self.step.end, &self.step.end.v);
        let reactions = &mut self.step.reactions;
        reactions.take(problem, (stage, stage), (v_free, v), 1.0);
        Ok(())
    }

    /// Poisson's law: compression, `0 ≤ u_C ⟂ P_C ≥ 0`; then expansion, `0 ≤ u⁺ ⟂ P_E − e P_C ≥ 0`.
    fn poisson(&mut self, system: &dyn System) -> Result<(), StepError> {
        let active = std::mem::take(&mut self.closed);
        let result = self.compress_and_expand(system, &active);
        self.closed = active;
        result
    }

    fn compress_and_expand(
        &mut self,
        system: &dyn System,
        active: &[usize],
    ) -> Result<(), StepError> {
        self.velocity_problem(system, active, |_, _, _| 0.0)?;
        let impact = &self.impact;
        let (reactions, end) = (&mut self.step.reactions, &mut self.step.end);
        self.work.fill(0.0);
        for (row, p) in self.problem.impulses() {
            if let Row::Normal(i, r) = row
                && !impact.guarded[i]
            {
                let p = end.contacts.law[i].e_n * p;
                reactions.normal[i] += p;
                reactions.row[r] += p;
                end.contacts.directions.axpy(r, p, &mut self.work);
            }
        }
        end.mass.solve(&mut self.work);
        axpy(1.0, &self.work, &mut end.v);
        self.velocity_problem(system, active, |_, _, _| 0.0)
    }

    /// Newton's law contact by contact, the fastest approach first; approaches too slow for one more end together.
    fn sequence(&mut self, system: &dyn System) -> Result<(), StepError> {
        let slowest = -self.scales.zero_velocity();
        let mut last = 0;
        for _ in 0..LONGEST_SEQUENCE {
            let end = &self.step.end;
            let u = |i: usize| end.contacts.normal_velocity(i, &end.v);
            let fastest = self
                .closed
                .iter()
                .copied()
                .min_by(|a, b| u(*a).total_cmp(&u(*b)));
            let Some(i) = fastest.filter(|i| u(*i) < slowest) else {
                return self.end_sequence(system);
            };
            last = i;
            self.newton(system, &[i])?;
        }
        Err(StepError::ImpactSequence {
            contact: system.names().contact(self.step.end.contacts.id[last]),
            count: LONGEST_SEQUENCE,
            t: self.step.end.t,
        })
    }

    /// What a sequence of ever slower impacts leaves, by Newton's law on all closed contacts at once.
    fn end_sequence(&mut self, system: &dyn System) -> Result<(), StepError> {
        let end = &self.step.end;
        let approaches = |i: &usize| end.contacts.normal_velocity(*i, &end.v) < 0.0;
        if !self.closed.iter().any(approaches) {
            return Ok(());
        }
        let active = std::mem::take(&mut self.closed);
        let result = self.newton(system, &active);
        self.closed = active;
        result
    }

    /// An event for every contact with an impulse.
    fn record_impacts(&mut self) {
        let reactions = &self.step.reactions;
        let impulse = |row: usize| reactions.row[row] - self.impact.rows_before[row];
        let set = &self.step.end.contacts;
        let largest = set
            .first_row
            .iter()
            .map(|r| impulse(*r))
            .fold(0.0, f64::max);
        let mut law = self.impact.law;
        for k in 0..self.closed.len() {
            let i = self.closed[k];
            let first = self.step.end.contacts.first_row[i];
            let reactions = &self.step.reactions;
            let impulse = |row: usize| reactions.row[row] - self.impact.rows_before[row];
            if impulse(first) <= NONE * largest {
                continue;
            }
            let event = self.event(i, EventKind::Impact, impulse);
            if self.options.impact_law == ImpactLaw::Newton && !self.impact.guarded[i] {
                let e = self.step.end.contacts.law[i].e_n;
                law = law.max((event.velocity_after[0] + e * event.velocity_before[0]).abs());
            }
            self.step.events.push(event);
        }
        self.impact.law = law;
    }

    fn record_accumulations(&mut self) {
        for i in 0..self.impact.guarded.len() {
            if self.impact.guarded[i] {
                let event = self.event(i, EventKind::Accumulation, |_| 0.0);
                self.step.events.push(event);
            }
        }
    }
}
