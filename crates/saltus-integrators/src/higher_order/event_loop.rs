//! A step from event to event.

mod rest_rule;

use super::NAME;
use super::bracket::{Bracket, BracketTotals};
use super::explicit;
use super::implicit::Implicit;
use super::options::HigherOrderOptions;
use super::projection::Projection;
use super::stages::{Piece, Stages, noise, note_opening, pressed, speed_noise};
use crate::certificate::Entry;
use crate::integrator::{ContactState, Event, EventKind, StepError, StepReport};
use crate::kit::{
    EvaluationPoint, MomentumScale, Row, Step, StepProblem, Works, energy_at, normal_event,
    not_finite,
};
use saltus_linear::{axpy, max_abs};
use saltus_system::{ContactId, State, System};

/// Share of the largest impulse of an impact above which a closed contact was struck: what its force gives over the bracket is less.
const STRUCK: f64 = 1e-6;

/// Events and Runge–Kutta steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HigherOrderCounts {
    /// Brackets passed.
    pub events: u64,
    /// Contacts that the rest rule closed.
    pub rested: u64,
    /// Runge–Kutta steps taken, those of bisections included.
    pub runge_kutta: u64,
    /// Width of the widest bracket \[s\].
    pub widest: f64,
}

/// What a prepared scheme has.
#[derive(Debug)]
pub(super) struct EventLoop {
    pub(super) step: Step,
    pub(super) scale: MomentumScale,
    stages: Stages,
    pub(super) implicit: Option<Implicit>,
    problem: StepProblem,
    bracket: Bracket,
    projection: Projection,
    /// Where the rest of the step begins.
    at: EvaluationPoint,
    /// The last attempt, and the longest one without an event.
    trial: Piece,
    lower: Piece,
    /// Closed contacts, by their place in the set of the step, and by name between steps.
    closed: Vec<usize>,
    pub(super) closed_ids: Vec<ContactId>,
    /// Contacts of the event in the last attempt that had one.
    closing: Vec<usize>,
    opening: Vec<usize>,
    /// Closed and closing contacts.
    together: Vec<usize>,
    /// Those of them that forces close within half of a bracket.
    returning: Vec<usize>,
    was_closed: Vec<usize>,
    /// Normal velocities of the contacts that may be closed.
    velocity: Vec<f64>,
    free: Vec<f64>,  // M⁻¹ f (nv)
    force: Vec<f64>, // v̇ with reactions, or M v at the start (nv)
    /// Mean acceleration of the last part of a step: the first guess of the next (nv).
    pub(super) guess: Vec<f64>,
    zero: Vec<f64>, // the guess where that one fails (nv)
    /// Whether the closed contacts belong to the next start, whatever was computed in between.
    pub(super) goes_on: bool,
    pub(super) counts: HigherOrderCounts,
    totals: StepTotals,
    nominal: f64,
}

/// What the parts of a step add up to.
#[derive(Debug, Clone, Copy, Default)]
struct StepTotals {
    works: Works,
    law: f64,
    iterations: u32,
    redundant: u32,
    events: u32,
}

impl EventLoop {
    pub(super) fn new(
        system: &dyn System,
        step: Step,
        options: &HigherOrderOptions,
        h: f64,
    ) -> Self {
        let tableau = options.tableau();
        let nv = step.dims.nv;
        let implicit = (!tableau.is_explicit).then(|| Implicit::new(system, tableau.stages()));
        let contacts = step.start.contacts.len();
        let list = || Vec::with_capacity(contacts);
        Self {
            scale: MomentumScale::new(&step.start.mass),
            stages: Stages::new(system, tableau),
            implicit,
            problem: StepProblem::default(),
            bracket: Bracket::new(system),
            projection: Projection::default(),
            at: EvaluationPoint::new(system),
            trial: Piece::new(system),
            lower: Piece::new(system),
            closed: list(),
            closed_ids: Vec::with_capacity(contacts),
            closing: list(),
            opening: list(),
            together: list(),
            returning: list(),
            was_closed: list(),
            velocity: Vec::with_capacity(contacts),
            free: vec![0.0; nv],
            force: vec![0.0; nv],
            guess: vec![0.0; nv],
            zero: vec![0.0; nv],
            goes_on: true,
            counts: HigherOrderCounts::default(),
            totals: StepTotals::default(),
            nominal: h,
            step,
        }
    }

    /// The contacts that are closed at the start of a run.
    pub(super) fn find_closed(
        &mut self,
        system: &dyn System,
        options: &HigherOrderOptions,
    ) -> Result<(), StepError> {
        self.start(system)?;
        let set = &self.at.contacts;
        self.together.clear();
        self.velocity.clear();
        for i in 0..set.len() {
            let u = set.normal_velocity(i, &self.at.v);
            let row = Row::Normal(i, set.first_row[i]);
            let rests = u.abs() <= speed_noise(&self.step, &self.at, row);
            if set.gap[i] <= self.step.epsilon && rests {
                self.together.push(i);
            }
            self.velocity.push(u);
        }
        self.apply_rest_rule(system, options, 0.0)?;
        self.store_closed_ids();
        let solver = (&mut self.step, &mut self.problem);
        let accelerations = (&mut self.free, &mut self.guess);
        pressed(system, solver, &mut self.at, &self.closed, accelerations)
    }

    fn store_closed_ids(&mut self) {
        self.closed_ids.clear();
        let ids = &self.at.contacts.id;
        self.closed_ids.extend(self.closed.iter().map(|&i| ids[i]));
    }

    /// Puts every stage where the step starts.
    fn start(&mut self, system: &dyn System) -> Result<(), StepError> {
        let start = &self.step.start;
        let at = &mut self.at;
        at.take_contacts(start);
        at.t = start.t;
        at.q.copy_from_slice(&start.q);
        at.v.copy_from_slice(&start.v);
        at.evaluate(system, NAME)?;
        self.stages.take_contacts(start);
        self.trial.take_contacts(start);
        self.lower.take_contacts(start);
        self.bracket.middle.take_contacts(start);
        Ok(())
    }

    pub(super) fn advance(
        &mut self,
        system: &dyn System,
        state: &mut State,
        options: &HigherOrderOptions,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let start = &self.step.start;
        let goes_on =
            self.goes_on || start.t == state.t && start.q == state.q && start.v == state.v;
        // Until this step succeeds its start must be found again.
        self.goes_on = false;
        self.step.begin(system, state, h)?;
        self.problem.begin_step();
        if goes_on {
            self.start(system)?;
            self.recall_closed();
        } else {
            self.find_closed(system, options)?;
        }
        self.begin_totals(h);
        let mut rest = h;
        while rest > 1e-14 * h {
            rest = self.part(system, options, rest, h)?;
        }
        self.finish(system, state, end)
    }

    /// The closed contacts in the set of this step.
    fn recall_closed(&mut self) {
        let ids = &self.at.contacts.id;
        self.closed.clear();
        let places = self.closed_ids.iter().map(|id| ids.binary_search(id));
        self.closed.extend(places.filter_map(Result::ok));
    }

    fn begin_totals(&mut self, h: f64) {
        let start = &self.step.start;
        start.mass.apply(&start.v, &mut self.force);
        self.scale.include(&self.force, &start.force, h);
        start.include_rates(&mut self.scale, h);
        self.step.xi.fill(0.0);
        self.totals = StepTotals::default();
    }

    /// One Runge–Kutta step, with an event if it meets one; returns the time that is left of the step of length `h`.
    fn part(
        &mut self,
        system: &dyn System,
        options: &HigherOrderOptions,
        rest: f64,
        h: f64,
    ) -> Result<f64, StepError> {
        if !self.attempt(system, options, rest, self.step.epsilon)? {
            std::mem::swap(&mut self.trial, &mut self.lower);
            self.take(system, rest)?;
            return Ok(0.0);
        }
        let eta = options.width(self.stages.tableau.order, h, self.at.t);
        // What is deeper than a gap that counts as closed is followed to where it vanishes: what closes there is not lifted, which would
        // drive bodies between two obstacles for ever.
        let depth = self.gap_round_off().min(self.step.epsilon);
        let (mut a, mut b) = (0.0, rest);
        while b - a > eta {
            let middle = 0.5 * (a + b);
            if middle <= a || middle >= b {
                break;
            }
            if self.attempt(system, options, middle, depth)? {
                b = middle;
            } else {
                a = middle;
                std::mem::swap(&mut self.trial, &mut self.lower);
            }
        }
        if a > 0.0 {
            self.take(system, a)?;
        }
        self.cross_event(system, options, b - a)?;
        self.totals.events += 1;
        if self.totals.events > options.max_events {
            return Err(self.too_many_events(system, h));
        }
        Ok(rest - b)
    }

    /// A Runge–Kutta step of length `h` into `trial`; whether an event is in it, gaps counting from `depth` \[m\].
    fn attempt(
        &mut self,
        system: &dyn System,
        options: &HigherOrderOptions,
        h: f64,
        depth: f64,
    ) -> Result<bool, StepError> {
        self.counts.runge_kutta += 1;
        let Self {
            step,
            stages,
            problem,
            at,
            closed,
            trial,
            scale,
            free,
            ..
        } = self;
        match &mut self.implicit {
            Some(implicit) => {
                let mut solve = |guess: &[f64]| {
                    implicit.solve(
                        system,
                        &*step,
                        (&mut *stages, &mut *scale, guess),
                        (&mut *at, &closed[..]),
                        (h, options),
                        &mut *trial,
                    )
                };
                let iterations = match solve(&self.guess) {
                    // What an impact sets ringing accelerates far more for a moment than over a step.
                    Err(StepError::Singular { .. } | StepError::NotConverged { .. }) => {
                        solve(&self.zero)?
                    }
                    other => other?,
                };
                self.totals.iterations += iterations;
            }
            None => explicit::solve(
                system,
                step,
                problem,
                stages,
                (at, closed),
                h,
                (trial, free),
            )?,
        }
        self.detect_openings(system)?;
        Ok(self.has_event(depth))
    }

    /// Notes the closed contacts that accelerate away at the end of `trial`, which no stage may know.
    fn detect_openings(&mut self, system: &dyn System) -> Result<(), StepError> {
        if self.closed.is_empty() || !self.trial.opening.is_empty() {
            return Ok(());
        }
        let Self {
            step,
            problem,
            closed,
            trial,
            free,
            force,
            ..
        } = self;
        let end = &mut trial.end;
        end.factor_mass(system, NAME)?;
        pressed(system, (step, problem), end, closed, (free, force))?;
        for (row, force_of_row) in problem.impulses() {
            if let Row::Normal(contact, r) = row {
                let gamma = trial.end.contacts.directions.dot(r, force) + trial.end.bias(row);
                let noise = noise(&trial.end, r, free);
                note_opening(&mut trial.opening, contact, force_of_row, (gamma, noise));
            }
        }
        Ok(())
    }

    /// Notes the contacts of an event in `trial`, if there are any.
    fn has_event(&mut self, depth: f64) -> bool {
        let end = &self.trial.end;
        let set = &end.contacts;
        let reaches = |i: &usize, gap: f64| {
            set.gap[*i] < gap && set.normal_velocity(*i, &end.v) < 0.0 && !self.closed.contains(i)
        };
        let closes = (0..set.len()).any(|i| reaches(&i, -depth));
        let is_event = closes || !self.trial.opening.is_empty();
        if is_event {
            self.closing.clear();
            if closes {
                // What touches too, to what counts as closed, closes at the same instant.
                let touches = self.step.epsilon - depth;
                let touching = (0..set.len()).filter(|i| reaches(i, touches));
                self.closing.extend(touching);
            }
            self.opening.clone_from(&self.trial.opening);
        }
        is_event
    }

    /// Takes over the piece in `lower`, of length `h`.
    fn take(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        let piece = &mut self.lower;
        if !max_abs(&piece.end.v).is_finite() {
            return Err(not_finite(system, &piece.end));
        }
        let reactions = &mut self.step.reactions;
        axpy(1.0, &piece.bilateral, &mut reactions.bilateral);
        axpy(1.0, &piece.row, &mut reactions.row);
        for (i, first) in piece.end.contacts.first_row.iter().enumerate() {
            reactions.normal[i] += piece.row[*first];
        }
        reactions.include_momentum_residual(piece.dynamics);
        axpy(1.0, &piece.xi, &mut self.step.xi);
        self.totals.works.include(piece.works);
        self.totals.redundant = self.totals.redundant.max(piece.redundant);
        // A short piece tells the acceleration of a moment.
        if h >= 0.5 * self.nominal {
            let velocities = piece.end.v.iter().zip(&self.at.v);
            for (a, (v, before)) in self.guess.iter_mut().zip(velocities) {
                *a = (v - before) / h;
            }
        }
        piece.end.t = self.at.t + h;
        std::mem::swap(&mut self.at, &mut piece.end);
        self.at.factor_mass(system, NAME)?;
        self.projection
            .apply(system, &self.step, &mut self.at, &self.closed)
    }

    /// Passes the event over a bracket of width `eta`.
    fn cross_event(
        &mut self,
        system: &dyn System,
        options: &HigherOrderOptions,
        eta: f64,
    ) -> Result<(), StepError> {
        self.together.clear();
        self.together.extend_from_slice(&self.closed);
        self.together.extend_from_slice(&self.closing);
        self.together.sort_unstable();
        let BracketTotals {
            works,
            law,
            iterations,
        } = self.bracket.cross(
            system,
            (&mut self.step, &mut self.problem),
            &self.scale,
            (&mut self.at, &self.together),
            eta,
            options,
        )?;
        let totals = &mut self.totals;
        totals.works.include(works);
        totals.law = totals.law.max(law);
        totals.iterations += iterations;
        totals.redundant = totals.redundant.max(self.problem.redundant);
        self.counts.events += 1;
        self.counts.widest = self.counts.widest.max(eta);
        self.at.evaluate(system, NAME)?;

        self.was_closed.clone_from(&self.closed);
        self.velocity.clone_from(&self.bracket.after);
        let opening = &self.opening;
        self.together.retain(|i| !opening.contains(i));
        self.apply_rest_rule(system, options, eta)?;
        self.note_events(system);
        self.projection
            .apply(system, &self.step, &mut self.at, &self.closed)
    }

    /// Notes impacts, contacts that closed and contacts that opened in the bracket just passed.
    fn note_events(&mut self, system: &dyn System) {
        let energy = energy_at(system, &self.at);
        let Self {
            bracket: b,
            at,
            step,
            closing,
            ..
        } = self;
        closing.retain(|&i| {
            let row = Row::Normal(i, at.contacts.first_row[i]);
            b.impulse[i] > 0.0 && b.before[i] < -speed_noise(step, at, row)
        });
        let largest = b.impulse.iter().fold(0.0_f64, |a, p| a.max(*p));
        let set = &self.at.contacts;
        for i in 0..set.len() {
            // An impact passes through contacts that are closed.
            let is_struck = !closing.is_empty() && b.impulse[i] > STRUCK * largest;
            let has_hit = closing.contains(&i) || is_struck;
            let (was, is) = (self.was_closed.contains(&i), self.closed.contains(&i));
            let mut note = |kind: EventKind| {
                // The impact has the impulse; what it left closes.
                let (before, impulse) = match kind {
                    EventKind::Close | EventKind::Accumulation if has_hit => (b.after[i], 0.0),
                    EventKind::Open => (b.before[i], 0.0),
                    _ => (b.before[i], b.impulse[i]),
                };
                let at = (kind, self.at.t);
                self.step.events.push(Event {
                    energy: Some(energy),
                    ..normal_event(set.id[i], at, [before, b.after[i]], impulse)
                });
            };
            if has_hit {
                note(EventKind::Impact);
            }
            match (was, is) {
                (false, true) => {
                    if set.law[i].e_n > 0.0 {
                        self.counts.rested += 1;
                        note(EventKind::Accumulation);
                    }
                    note(EventKind::Close);
                }
                (true, false) => note(EventKind::Open),
                _ => {}
            }
        }
    }

    fn finish(
        &mut self,
        system: &dyn System,
        state: &mut State,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.store_closed_ids();
        let Self {
            step, at, totals, ..
        } = self;
        at.t = end;
        std::mem::swap(&mut *step.end, at);
        for (i, state) in step.reactions.state.iter_mut().enumerate() {
            *state = if self.closed.contains(&i) {
                ContactState::Closed
            } else {
                ContactState::Open
            };
        }
        step.work_moving = Some(totals.works.moving);
        step.work_dissipated = Some(totals.works.contact - totals.works.moving);
        let works = (totals.works.external, totals.works.contact);
        let mut report =
            step.finish_with(system, state, works, totals.iterations, totals.redundant)?;
        report.remedies = totals.events;
        if !step.start.contacts.is_empty() {
            let gaps = self
                .closed
                .iter()
                .map(|&i| step.start.contacts.gap[i].abs());
            let certificate = &mut report.certificate;
            certificate.set(Entry::ComplementarityPosition, gaps.fold(0.0, f64::max));
            certificate.set(Entry::ImpactLaw, totals.law);
        }
        Ok(report)
    }

    fn too_many_events(&self, system: &dyn System, h: f64) -> StepError {
        let contact = self.closing.first().or(self.opening.first());
        let name = |&i: &usize| system.names().contact(self.at.contacts.id[i]);
        StepError::TooManyBrackets {
            events: self.totals.events,
            contact: contact.map(name).unwrap_or_default(),
            h: h.min(self.nominal),
        }
    }
}
