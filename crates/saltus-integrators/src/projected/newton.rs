//! Newton's method on the velocity at the end of the step, with the contacts of the step given.

use super::{NAME, ProjectedMoreauJean, ProjectedMoreauJeanOptions};
use crate::integrator::StepError;
use crate::kit::{Duration, EvaluationPoint, Gap, Row, ThetaRule, Turns, Unprojected, restitution};
use saltus_linear::{Shifted, SparseRows, axpy, max_abs};
use saltus_system::System;

/// After so many corrections the round-off of the force is looked at, and contacts that carry an impulse stay closed.
const EXACT_CORRECTIONS: u32 = 4;

/// Where the laws of the step are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Laws {
    /// At the projected end of the step.
    Projected,
    /// Constraints at the end of the step, contacts where the smooth dynamics is evaluated.
    Extrapolated,
    /// Where they were put.
    Fixed,
}

impl ProjectedMoreauJean {
    /// Solves for `v_{k+1}` and the impulses of the contacts `active`; returns corrections and linearisations of the projection.
    pub(super) fn newton(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        options: &ProjectedMoreauJeanOptions,
        laws: Laws,
    ) -> Result<u32, StepError> {
        let (mut corrections, mut linearisations) = (0, 0);
        let (mut solved, mut measured) = (false, false);
        let is_exact = self.smooth.is_linear && !self.turns(laws) && !self.turns_bilateral(laws);
        self.passes += 1;
        self.smooth.forget_round_off();
        self.closed.fill(false);
        self.is_plain = false;
        loop {
            self.smooth
                .evaluate(system, rule, &self.step.start, &self.v, corrections == 0)?;
            let taken = self.evaluate_laws(system, rule, laws)?;
            self.linearisations += taken;
            linearisations += taken;
            if corrections > 0 {
                if corrections == EXACT_CORRECTIONS && !measured {
                    self.smooth.measure_round_off(system, rule.h);
                    measured = true;
                }
                let ratio = self.ratio(system, options.tolerance, rule, laws);
                if ratio <= 1.0 {
                    // What a step leaves behind adds up: one more correction is spent on it.
                    if is_exact || solved || corrections == options.max_iterations {
                        return Ok(corrections + linearisations);
                    }
                    solved = true;
                }
                if corrections == options.max_iterations {
                    let residual = &self.defect;
                    let tolerance = options.tolerance;
                    return Err(self
                        .scale
                        .not_converged(system, residual, tolerance, corrections));
                }
            }
            let mut done = self.correct(system, rule, laws);
            let turned = self.turns(laws) || self.turns_bilateral(laws);
            if turned && (done.is_err() || corrections == options.max_iterations / 2) {
                // Turning directions may make the linearised problem unsolvable; with those of the iterate it is not.
                self.is_plain = true;
                self.remedies += 1;
                done = self.correct(system, rule, laws);
            }
            done?;
            corrections += 1;
            if corrections > EXACT_CORRECTIONS {
                for &i in &self.active {
                    self.closed[i] |= self.step.reactions.normal[i] > 0.0;
                }
            }
        }
    }

    /// Puts the laws where they are for the present velocity.
    fn evaluate_laws(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        laws: Laws,
    ) -> Result<u32, StepError> {
        let mut linearisations = 0;
        self.law.t = rule.end;
        self.law.v.copy_from_slice(&self.v);
        match laws {
            Laws::Fixed => {}
            Laws::Extrapolated => {
                let (law, smooth) = (&mut self.law, &self.smooth);
                let rates = &mut self.rates;
                law.retract(system, &self.step.start, &smooth.xi, rule.end);
                law.evaluate_rows(system);
                if rule.at_theta_point() {
                    rates.clear();
                    rates.extend_from_slice(&law.contacts.rate);
                    system.evaluate_contacts(smooth.t, &smooth.q, &mut law.contacts);
                    // Walls have their speed at the end: what stays closed on one that accelerates rests on it.
                    law.contacts.rate.copy_from_slice(rates);
                }
            }
            Laws::Projected => {
                self.q_free.copy_from_slice(&self.step.start.q);
                system.retract(&mut self.q_free, &self.smooth.xi);
                linearisations = self.project_active(system)?;
            }
        }
        self.law.evaluate_laws(system);
        let contacts_at_theta = laws == Laws::Extrapolated && rule.at_theta_point();
        let (t, q) = if contacts_at_theta {
            (self.smooth.t, &self.smooth.q)
        } else {
            (self.law.t, &self.law.q)
        };
        self.t_contacts = t;
        self.q_contacts.copy_from_slice(q);
        Ok(linearisations)
    }

    /// Projects `q̃` with the contacts of the step: closed where they carry an impulse.
    fn project_active(&mut self, system: &dyn System) -> Result<u32, StepError> {
        let Self {
            step,
            projection,
            law,
            active,
            closed,
            metric,
            q_free,
            tolerance,
            leaves,
            ..
        } = self;
        let normal = &step.reactions.normal;
        let gap = |i: usize| match active.binary_search(&i) {
            Err(_) => Gap::Free,
            Ok(_) if normal[i] > 0.0 || closed[i] => Gap::Closed,
            Ok(_) => Gap::Apart,
        };
        let metric = metric.as_ref().unwrap_or(&step.start.mass);
        projection
            .project(system, metric, q_free, law, gap, (*leaves, *tolerance))
            .map_err(unprojected)
    }

    /// The larger of both residuals, of momentum and of the laws, over the tolerance.
    fn ratio(&mut self, system: &dyn System, tolerance: f64, rule: &ThetaRule, laws: Laws) -> f64 {
        self.defect.copy_from_slice(&self.smooth.residual);
        for (row, p) in self.problem.impulses() {
            let (matrix, i) = self.law.row(row);
            matrix.axpy(i, -p, &mut self.defect);
        }
        self.dynamics = max_abs(&self.defect);
        self.smooth.above_round_off(&mut self.defect);
        if self.scale.get() == 0.0 {
            let (residual, force) = (&self.smooth.residual, &self.smooth.force);
            self.scale.include(residual, force, rule.h);
        }
        let Self {
            problem,
            law,
            step,
            scale,
            v,
            ..
        } = self;
        let from_start = from_start(rule, laws);
        problem.refresh_laws(system, &step.reactions, law, Duration::Time(rule.h));
        problem.set_offset(|row| {
            let at = if from_start { &step.start } else { &*law };
            law.rate(row) + restitution(&law.contacts, row) * before(at, &step.start, row)
        });
        let nothing = |rows: &SparseRows, i: usize| scale.velocity((rows, i), tolerance);
        let law = problem.law_residual(law, v, nothing).ratio;
        let momentum = scale.ratio(&self.defect, tolerance).0;
        if law > momentum { law } else { momentum }
    }

    /// One correction: condense, solve the contact problem, respond.
    fn correct(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        laws: Laws,
    ) -> Result<(), StepError> {
        self.factorise(system, rule, laws)?;
        self.v_free.copy_from_slice(&self.smooth.residual);
        self.smooth.iteration.solve_scaled(-1.0, &mut self.v_free);
        axpy(1.0, &self.v, &mut self.v_free);
        self.turn(system, rule, laws);
        let Self {
            step,
            problem,
            smooth,
            law,
            active,
            v,
            v_free,
            turned,
            ..
        } = self;
        let (law, turned) = (&*law, &*turned);
        let turned = |row: Row| turned.row(law, row);
        let from_start = from_start(rule, laws);
        let start = &step.start;
        let offset = |row: Row| {
            let at = if from_start { start } else { law };
            let (matrix, i) = turned(row);
            law.velocity(row, v) - matrix.dot(i, v)
                + restitution(&law.contacts, row) * before(at, start, row)
        };
        problem.pose_turned(
            system,
            &step.reactions,
            (&smooth.iteration, law, law),
            active,
            Duration::Time(rule.h),
            v_free,
            &turned,
            offset,
        );
        step.reactions.clear();
        problem.solve(system, &mut step.reactions, law, rule.end)?;
        step.reactions.add(problem, 1.0);
        v.copy_from_slice(v_free);
        problem.respond(v);
        Ok(())
    }

    /// The iteration matrix with what turns with the positions.
    fn factorise(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        laws: Laws,
    ) -> Result<(), StepError> {
        let (turns, turns_bilateral) = (self.turns(laws), self.turns_bilateral(laws));
        let Self {
            step,
            smooth,
            law,
            q_contacts,
            ..
        } = self;
        let t = self.t_contacts;
        let (contacts, reactions) = (&law.contacts, &step.reactions);
        let (turn, whole) = (turn(rule, laws), rule.h * rule.theta);
        let carries = max_abs(&reactions.row) > 0.0;
        let curvature = |sink: &mut Shifted<'_>| {
            if turns_bilateral {
                sink.factor = -whole;
                system.g_curvature(law.t, &law.q, &reactions.bilateral, sink);
            }
            if turns && carries {
                sink.factor = -turn;
                system.contact_curvature(t, q_contacts, contacts, &reactions.row, sink);
            }
        };
        let curvature: Option<&dyn Fn(&mut Shifted<'_>)> = if turns_bilateral || turns && carries {
            Some(&curvature)
        } else {
            None
        };
        smooth
            .factorise(system, rule, &step.start, curvature)
            .map_err(|source| StepError::Singular {
                source,
                scheme: NAME,
                mass_is_regular: true,
            })
    }

    /// The rows with their turning by the velocity.
    fn turn(&mut self, system: &dyn System, rule: &ThetaRule, laws: Laws) {
        let turns = Turns {
            bilateral: self.turns_bilateral(laws),
            joints: false,
            contacts: self.turns(laws),
        };
        let (turned, law, v) = (&mut self.turned, &self.law, &self.v);
        turned.turns = turns;
        if turns.bilateral {
            let factor = (rule.h * rule.theta, 1.0);
            turned.turn_bilateral(system, (law.t, &law.q), v, factor, self.step.dims.ng);
        }
        if turns.contacts {
            let at = (self.t_contacts, &self.q_contacts[..], &law.contacts);
            let before = (!from_start(rule, laws)).then_some(&self.step.start.v[..]);
            turned.turn_contacts(system, at, v, turn(rule, laws), before);
        }
    }

    /// Whether the directions of contacts turn with the velocity.
    fn turns(&self, laws: Laws) -> bool {
        let turns = laws != Laws::Fixed && !self.is_plain;
        turns && !self.structure.linear_contacts && !self.active.is_empty()
    }

    /// Whether those of bilateral constraints do.
    fn turns_bilateral(&self, laws: Laws) -> bool {
        let turns = laws != Laws::Fixed && !self.is_plain;
        turns && !self.structure.linear_constraints && self.step.dims.ng > 0
    }
}

/// `u_k` of a row along the directions of a stage: the speed of a wall is that at the start of the step.
fn before(at: &EvaluationPoint, start: &EvaluationPoint, row: Row) -> f64 {
    let (matrix, i) = at.row(row);
    matrix.dot(i, &start.v) + start.rate(row)
}

/// Derivative of the tangent to where the contacts are by `v_{k+1}` \[s\].
fn turn(rule: &ThetaRule, laws: Laws) -> f64 {
    match laws {
        Laws::Projected => rule.h * rule.theta,
        Laws::Extrapolated => rule.turn(),
        Laws::Fixed => 0.0,
    }
}

/// Whether `u_k` is taken along the directions at the start of the step.
fn from_start(rule: &ThetaRule, laws: Laws) -> bool {
    laws == Laws::Extrapolated && !rule.at_theta_point()
}

/// Positions that could not be projected, as an error of the step.
pub(super) fn unprojected(why: Unprojected) -> StepError {
    let reason = match why {
        Unprojected::NotConverged(n, violation) => {
            format!("after {n} linearisations the largest violation is {violation:.3e} m")
        }
        Unprojected::Contradiction => "they contradict each other there, as far as rounding shows (bodies that touch may also differ too much in mass)".to_owned(),
    };
    StepError::Unprojected { reason }
}
