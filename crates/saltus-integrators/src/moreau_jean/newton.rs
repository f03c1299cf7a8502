//! Newton's method on the velocity at the end of the step.

use super::options::{Evaluation, Forecast, MoreauJeanOptions};
use super::singular;
use super::theta::{ThetaScheme, regularise};
use crate::integrator::StepError;
use crate::kit::{
    Convergence, Duration, EvaluationPoint, Location, Row, SEVERAL_SOLUTIONS, ThetaRule, Turns,
    augment_force, first_not_finite, restitution, worse,
};
use crate::round_off;
use saltus_linear::{Shifted, SparseRows, axpy};
use saltus_system::{Structure, System};

/// Number of corrections after which the round-off of the force is measured.
const CHECK_ROUND_OFF_AFTER: u32 = 4;

/// How far an iterate is from a solution.
#[derive(Debug, Clone, Copy)]
struct Residual {
    /// Of everything, relative to its tolerance: ≤ 1 is accepted.
    worst: Convergence,
    /// Largest component of the momentum balance, over `√Mᵢᵢ`.
    momentum: f64,
}

/// Where the velocity before the impact is taken, which the law of a contact multiplies by `e`.
#[derive(Debug, Clone, Copy)]
struct Before<'a> {
    /// Directions.
    at: &'a EvaluationPoint,
    /// Rates of the walls: those at the start of the step.
    rates: &'a EvaluationPoint,
    /// Velocity.
    v: &'a [f64],
    /// Whether bilateral constraints hold on the mean velocity of the step.
    on_mean: bool,
}

impl<'a> Before<'a> {
    fn new(
        options: &MoreauJeanOptions,
        structure: Structure,
        (start, law): (&'a EvaluationPoint, &'a EvaluationPoint),
        on_mean: bool,
    ) -> Self {
        let own =
            options.evaluation == Evaluation::ThetaPoint || options.forecast == Forecast::Predicted;
        Self {
            at: if own && !structure.linear_contacts {
                law
            } else {
                start
            },
            rates: start,
            v: &start.v,
            on_mean,
        }
    }

    /// What the law of a row has beside `A v`, with the rows of `law`.
    fn constant(self, law: &EvaluationPoint, row: Row) -> f64 {
        let rate = law.rate(row);
        match row {
            Row::Bilateral(_) if self.on_mean => rate + law.velocity(row, self.v),
            Row::Bilateral(_) | Row::JointFriction(_) => rate,
            Row::Normal(..) | Row::Tangent(..) => {
                let e = restitution(&law.contacts, row);
                if e == 0.0 {
                    return rate;
                }
                let (matrix, i) = self.at.row(row);
                rate + e * (matrix.dot(i, self.v) + self.rates.rate(row))
            }
        }
    }
}

/// Whether the linearised problem failed, not the step: no solution was found, or Newton's method did not end.
fn is_of_iteration(error: &StepError) -> bool {
    match error {
        StepError::NotConverged { .. } | StepError::NotFinite { .. } => true,
        StepError::FrictionProblem { status, .. } | StepError::ContactProblem { status, .. } => {
            *status != SEVERAL_SOLUTIONS
        }
        _ => false,
    }
}

impl ThetaScheme {
    /// Solves for `v_{k+1}` and the impulses from the guess; returns the corrections made.
    ///
    /// The contact problem of a correction is linearised with rows that turn with the velocity. With several contacts it may have no
    /// solution where the step has one, and Newton's method may then not converge: the step is solved again from its prediction
    /// with directions that each correction keeps as they are at the last iterate. That has the same law and converges linearly.
    pub(super) fn newton(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        rule: &ThetaRule,
    ) -> Result<u32, StepError> {
        self.keeps_directions = false;
        let mut end = self.iterate(options, system, rule);
        if let Err(error) = &end
            && self.turned.turns.contacts
            && is_of_iteration(error)
        {
            self.keeps_directions = true;
            self.begin_again(options, rule);
            end = self.iterate(options, system, rule);
        }
        if end.is_ok() && self.may_stay_open(options, system, rule) {
            return Err(self.problem.several_solutions(system, &self.law));
        }
        end
    }

    /// Whether the only contact of the step, on which friction has an impulse although nothing approaches, leaves without one: with
    /// directions inside of the step a motion that begins at rest sees a part of its normal acceleration only, and the step that lifts off
    /// is no solution, but jamming is (Painlevé).
    fn may_stay_open(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        rule: &ThetaRule,
    ) -> bool {
        let (start, v, set) = (&self.step.start, &mut self.work, &mut self.active.probe);
        if !self.is_posed || options.forecast != Forecast::Start || !self.problem.is_ambiguous() {
            return false;
        }
        let i = self.active.list[0];
        let row = Row::Normal(i, start.contacts.first_row[i]);
        let zero = |tolerance: f64| self.scale.velocity(start.row(row), tolerance);
        let before = start.velocity(row, &start.v);
        if before < -zero(options.tolerance) {
            return false;
        }
        // However short the step is, so that no shorter one is taken instead.
        let rounding = zero(64.0 * f64::EPSILON);
        // The velocity without the impulse, and the tangent of the step with it.
        self.delta.fill(0.0);
        self.problem.respond(&mut self.delta);
        for (v, (end, change)) in v.iter_mut().zip(self.v.iter().zip(&self.delta)) {
            *v = end - change;
        }
        for (x, (a, b)) in self.delta.iter_mut().zip(start.v.iter().zip(&*v)) {
            *x = rule.h * ((1.0 - rule.phi) * a + rule.phi * b);
        }
        self.q_middle.copy_from_slice(&start.q);
        system.retract(&mut self.q_middle, &self.delta);
        start.give_contacts(set);
        system.evaluate_contacts(rule.end, &self.q_middle, set);
        set.normal_velocity(i, v) > before + rounding
    }

    /// Newton's method.
    fn iterate(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        rule: &ThetaRule,
    ) -> Result<u32, StepError> {
        let linear = self.dynamics.is_linear;
        let again = self.is_posed;
        self.dynamics.forget_round_off();
        self.is_posed = false;
        let (mut iterations, mut solved, mut measured) = (0, false, false);
        loop {
            let (dynamics, start) = (&mut self.dynamics, &self.step.start);
            dynamics.evaluate(system, rule, start, &self.v, iterations == 0)?;
            self.evaluate_laws(options, system, rule);
            self.begin_scale(rule.h);
            let mut residual = self.residual(options, system, rule.h);
            if residual.worst.ratio > 1.0 && iterations >= CHECK_ROUND_OFF_AFTER && !measured {
                measured = true;
                self.dynamics.measure_round_off(system, rule.h);
                residual = self.residual(options, system, rule.h);
            }
            // With friction there may be another solution in which contacts open (Painlevé): the contact problem is solved even if
            // the prediction satisfies it.
            let asks = iterations == 0 && (again || self.has_friction());
            if residual.worst.ratio <= 1.0 && !asks {
                // Residual momenta of steps add up: one more correction reduces them, not two, because round-off may
                // prevent any reduction.
                let last = iterations == options.max_iterations;
                let curved = self.step.dims.ng > 0 && !self.structure.linear_constraints;
                let exact = linear && !curved && !self.on_mean;
                if exact || solved || last || self.adds_up_to_nothing(options, residual) {
                    return Ok(iterations);
                }
                solved = true;
            }
            if !residual.worst.ratio.is_finite() {
                return Err(self.not_finite(system, rule.end));
            }
            if iterations == options.max_iterations {
                return Err(self.not_converged(options, system, iterations, residual.worst));
            }
            self.correct(options, system, rule)?;
            self.is_posed = true;
            iterations += 1;
        }
    }

    /// Whether a joint or a contact of the step has friction.
    fn has_friction(&self) -> bool {
        let (reactions, set) = (&self.step.reactions, &self.law.contacts);
        let mut active = self.active.list.iter();
        self.step.has_joint_friction()
            || reactions.has_friction && active.any(|&i| reactions.rows_of(set, i) > 1)
    }

    /// Puts the laws where they are for the present velocity.
    fn evaluate_laws(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        rule: &ThetaRule,
    ) {
        if self.active.list.is_empty() && !self.step.has_joints() {
            return;
        }
        let (law, dynamics, start) = (&mut self.law, &self.dynamics, &self.step.start);
        law.t = dynamics.t;
        law.q.copy_from_slice(&dynamics.q);
        law.v.copy_from_slice(&dynamics.v);
        if self.step.dims.ng > 0 {
            let (t, q, share) = if self.on_mean {
                (0.5 * (rule.start + rule.end), &mut self.q_middle, 0.5)
            } else {
                (rule.end, &mut self.q_end, 1.0)
            };
            for (x, xi) in self.work.iter_mut().zip(&dynamics.xi) {
                *x = share * xi;
            }
            q.copy_from_slice(&start.q);
            system.retract(q, &self.work);
            law.evaluate_constraints(system, t, q);
        }
        law.evaluate_joint_friction(system, dynamics.t, &dynamics.q);
        if !self.active.list.is_empty() && options.forecast != Forecast::Predicted {
            law.evaluate_contacts(system);
            let (times, q) = ((dynamics.t, rule.end), &dynamics.q);
            let rate = &start.contacts.rate;
            self.active
                .use_rates_at_end(system, &mut law.contacts, times, q, rate);
        }
        law.evaluate_laws(system);
    }

    /// A motion at rest without forces until now takes its scale from the first forces, and from the velocities that
    /// constraints and contacts prescribe.
    fn begin_scale(&mut self, h: f64) {
        let (scale, law) = (&mut self.scale, &self.law);
        let at_rest = scale.scale == 0.0;
        scale.begin(&self.dynamics.force, h);
        for i in 0..self.step.dims.ng {
            let row = Row::Bilateral(i);
            let (matrix, k) = law.row(row);
            let rate = if at_rest {
                law.velocity(row, &self.v)
            } else {
                law.rate(row)
            };
            scale.include_rate(matrix.cols(k), matrix.values(k), rate);
        }
        scale.include_contacts(&self.step.start.contacts, h);
        let set = &law.contacts;
        for &i in &self.active.list {
            let first = set.first_row[i];
            for row in first..first + self.step.reactions.rows_of(set, i) {
                let (cols, values) = (set.directions.cols(row), set.directions.values(row));
                scale.include_rate(cols, values, set.rate[row]);
            }
        }
    }

    /// The largest residual relative to its tolerance, which is round-off for the momentum of a prediction: that is accepted without a
    /// solve.
    fn residual(&mut self, options: &MoreauJeanOptions, system: &dyn System, h: f64) -> Residual {
        self.balance.copy_from_slice(&self.dynamics.residual);
        let reactions = &self.step.reactions;
        reactions.push(&self.law, &self.active.list, -1.0, &mut self.balance);
        let relative = if self.is_posed {
            options.tolerance
        } else {
            2.0 * f64::EPSILON
        };
        let tolerance = relative * self.scale.scale;
        let mut worst = self.law_residual(options, system, h);
        let (mut momentum, mut at) = (0.0_f64, 0);
        let known = self.dynamics.round_off.iter().zip(&self.scale.weights);
        for (i, (r, (floor, w))) in self.balance.iter().zip(known).enumerate() {
            let own = w * round_off::above(*r, *floor);
            if own > momentum || own.is_nan() {
                (momentum, at) = (own, i);
            }
        }
        worst.include(momentum, tolerance, Location::Velocity(at));
        Residual { worst, momentum }
    }

    /// The largest residual of constraints, joints and contacts.
    fn law_residual(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        h: f64,
    ) -> Convergence {
        let Self {
            step,
            problem,
            law,
            scale,
            v,
            active,
            ..
        } = self;
        let law = &*law;
        let before = Before::new(options, self.structure, (&step.start, law), self.on_mean);
        let constant = |row: Row| before.constant(law, row);
        let nothing = |rows: &SparseRows, i: usize| scale.velocity((rows, i), options.tolerance);
        if self.is_posed {
            problem.refresh_laws(system, &step.reactions, law, Duration::Time(h));
            problem.set_offset(constant);
            problem.law_residual(law, v, nothing)
        } else {
            // No contact carries an impulse yet.
            let mut worst = Convergence::NONE;
            self.prediction_residual = 0.0;
            let mut include = |row: Row, location: Location, is_equality: bool| {
                let (rows, i) = law.row(row);
                let w = rows.dot(i, v) + constant(row);
                let residual = if is_equality { w.abs() } else { worse(0.0, -w) };
                self.prediction_residual = worse(self.prediction_residual, residual);
                worst.include(residual, nothing(rows, i), location);
            };
            for i in 0..step.dims.ng {
                include(Row::Bilateral(i), Location::Bilateral(i), true);
            }
            for &i in &active.list {
                let row = Row::Normal(i, law.contacts.first_row[i]);
                include(row, Location::Contact(i), false);
            }
            worst
        }
    }

    /// Whether the residual momentum of a step is small against the impulse of the forces, so that even with the same sign
    /// in every step their sum stays below the tolerance of the motion.
    fn adds_up_to_nothing(&self, options: &MoreauJeanOptions, residual: Residual) -> bool {
        // Residuals of constraints on the mean velocity do work in every step.
        if self.on_mean && residual.worst.ratio > 1e-3 {
            return false;
        }
        let round_off = 16.0 * f64::EPSILON * self.scale.scale;
        residual.momentum <= options.tolerance * self.impulse_scale + round_off
    }

    /// One correction: the linearised step with its contact problem.
    fn correct(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        rule: &ThetaRule,
    ) -> Result<(), StepError> {
        self.turn(options, system, rule);
        let augmented = self.factorise(system, rule)?;
        let Self {
            step,
            problem,
            dynamics,
            law,
            turned,
            scale,
            v,
            delta,
            ..
        } = self;
        for (x, r) in delta.iter_mut().zip(&dynamics.residual) {
            *x = -r;
        }
        let law = &*law;
        let before = Before::new(options, self.structure, (&step.start, law), self.on_mean);
        // The problem is posed in the correction of the velocity.
        let offset = |row: Row| {
            let (rows, i) = law.row(row);
            before.constant(law, row) + rows.dot(i, v)
        };
        if augmented {
            let bilateral = (0..step.dims.ng).map(Row::Bilateral);
            self.constraint.clear();
            self.constraint.extend(bilateral.map(offset));
            let rows = law.row(Row::Bilateral(0)).0;
            augment_force(rows, &self.constraint, &scale.weights, delta);
        }
        dynamics.iteration.solve(delta);
        problem.pose_turned(
            system,
            &step.reactions,
            (&dynamics.iteration, law, law),
            &self.active.list,
            Duration::Time(rule.h),
            delta,
            &|row| turned.row(law, row),
            offset,
        );
        step.reactions.clear();
        let nothing = |rows: &SparseRows, i: usize| scale.velocity((rows, i), options.tolerance);
        problem.solve_to(system, &mut step.reactions, law, rule.end, &nothing)?;
        self.redundant = problem.redundant;
        step.reactions.add(problem, 1.0);
        problem.respond(delta);
        axpy(1.0, delta, v);
        Ok(())
    }

    /// The iteration matrix with all derivatives; whether it had to be made regular by the constraints.
    fn factorise(&mut self, system: &dyn System, rule: &ThetaRule) -> Result<bool, StepError> {
        let Self {
            step,
            dynamics,
            law,
            turned,
            ..
        } = self;
        let (turns, turn, on_mean) = (turned.turns, rule.turn(), self.on_mean);
        let (reactions, share) = (&step.reactions, if on_mean { 0.5 } else { 1.0 });
        let (t, q) = if on_mean {
            (0.5 * (rule.start + rule.end), &self.q_middle)
        } else {
            (rule.end, &self.q_end)
        };
        let curvature = |sink: &mut Shifted<'_>| {
            if turns.bilateral {
                sink.factor = -share * rule.h * rule.phi;
                system.g_curvature(t, q, &reactions.bilateral, sink);
            }
            sink.factor = -turn;
            if turns.joints {
                system.friction_curvature(law.t, &law.q, &reactions.friction, sink);
            }
            if turns.contacts {
                system.contact_curvature(law.t, &law.q, &law.contacts, &reactions.row, sink);
            }
        };
        let curvature: Option<&dyn Fn(&mut Shifted<'_>)> =
            if turns.any() { Some(&curvature) } else { None };
        let Err(source) = dynamics.factorise(system, rule, &step.start, curvature) else {
            return Ok(false);
        };
        let (matrix, ng) = (&mut dynamics.iteration, step.dims.ng);
        regularise(matrix, law, ng, &self.scale.weights, source)
            .map_err(|source| singular(source, &mut step.start.mass))?;
        Ok(true)
    }

    /// The rows with their turning by the velocity.
    fn turn(&mut self, options: &MoreauJeanOptions, system: &dyn System, rule: &ThetaRule) {
        let (linear, ng) = (self.structure.linear_constraints, self.step.dims.ng);
        let turns = Turns {
            bilateral: !linear && ng > 0,
            joints: !linear && self.step.has_joint_friction(),
            contacts: !self.structure.linear_contacts
                && !self.keeps_directions
                && options.forecast != Forecast::Predicted
                && !self.active.list.is_empty(),
        };
        self.turned.turns = turns;
        let (law, v, start) = (&self.law, &self.v, &self.step.start);
        if turns.bilateral && self.on_mean {
            // Rows of G (v_k + v_{k+1}) + 2 ∂g/∂t.
            for (sum, (a, b)) in self.work.iter_mut().zip(start.v.iter().zip(v)) {
                *sum = a + b;
            }
            let at = (0.5 * (rule.start + rule.end), &self.q_middle[..]);
            let factor = (0.5 * rule.h * rule.phi, 2.0);
            let turned = &mut self.turned;
            turned.turn_bilateral(system, at, &self.work, factor, ng);
        } else if turns.bilateral {
            let (at, factor) = ((rule.end, &self.q_end[..]), (rule.h * rule.phi, 1.0));
            self.turned.turn_bilateral(system, at, v, factor, ng);
        }
        let at = (law.t, &law.q[..]);
        if turns.joints {
            let count = self.step.joint_friction_rows();
            self.turned.turn_joints(system, at, v, rule.turn(), count);
        }
        if turns.contacts {
            let before = rule.at_theta_point().then_some(&start.v[..]);
            let at = (law.t, &law.q[..], &law.contacts);
            self.turned
                .turn_contacts(system, at, v, rule.turn(), before);
        }
    }

    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let (law, force) = (&self.law, &self.dynamics.force);
        let is_bad = |row: Row| !law.velocity(row, &self.v).is_finite();
        let bilateral = (0..self.step.dims.ng).find(|&i| is_bad(Row::Bilateral(i)));
        let first = |i: usize| law.contacts.first_row[i];
        let mut contacts = self.active.list.iter().copied();
        let contact = contacts.find(|&i| is_bad(Row::Normal(i, first(i))));
        let (quantity, location) = if let Some(i) = first_not_finite(force) {
            ("the force", Location::Velocity(i))
        } else if let Some(i) = first_not_finite(&self.balance) {
            ("the momentum balance", Location::Velocity(i))
        } else if let Some(i) = bilateral {
            ("the velocity", Location::Bilateral(i))
        } else if let Some(i) = contact {
            ("the gap velocity", Location::Contact(i))
        } else {
            // All entries are finite, but a sum of them overflows.
            let size = |i: &usize| force[*i].abs();
            let largest = (0..force.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
            ("the momentum", Location::Velocity(largest.unwrap_or(0)))
        };
        StepError::NotFinite {
            quantity,
            place: self.name(system, location),
            t,
        }
    }

    fn not_converged(
        &self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        iterations: u32,
        worst: Convergence,
    ) -> StepError {
        let tolerance = match worst.location {
            Location::Velocity(i) => self.scale.bound(i, options.tolerance),
            _ => options.tolerance * self.scale.scale,
        };
        StepError::NotConverged {
            iterations,
            residual: worst.ratio * tolerance,
            tolerance,
            place: self.name(system, worst.location),
            problem: None,
        }
    }

    fn name(&self, system: &dyn System, location: Location) -> String {
        location.name(&system.names(), &self.step.start.contacts)
    }
}
