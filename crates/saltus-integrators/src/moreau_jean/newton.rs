//! Newton's method on the velocity at the end of the step.

use super::failure::singular;
use super::start::{evaluate_smooth, evaluate_tangents};
use super::{Evaluation, Forecast, MoreauJean};
use crate::integrator::StepError;
use crate::kit::{Convergence, Location};
use crate::round_off;
use saltus_linear::axpy;
use saltus_system::{Point, State, System};

/// Number of corrections after which the round-off of the force is measured.
const CHECK_ROUND_OFF_AFTER: u32 = 4;

/// How far an iterate is from a solution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Residual {
    /// Of everything, relative to its tolerance.
    pub(super) worst: Convergence,
    /// Largest component of the momentum balance, over `√Mᵢᵢ`.
    momentum: f64,
}

impl Residual {
    /// Residual over tolerance: ≤ 1 is accepted.
    pub(super) fn ratio(&self) -> f64 {
        self.worst.ratio
    }
}

impl MoreauJean {
    /// Solves for `v_{k+1}` and the multipliers from the guess in `trial`; returns the corrections made.
    pub(super) fn newton(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<u32, StepError> {
        let linear = self.is_linear();
        self.smooth.round_off.fill(0.0);
        let mut iterations = 0;
        let mut solved = false;
        let mut measured = false;
        loop {
            let with_tangents = iterations == 0 && !linear;
            self.update_positions(system, state, h);
            if self.on_mean {
                self.update_middle(system, state);
            }
            self.evaluate(system, state, h, end, with_tangents);
            self.begin_scale(h);
            let mut residual = self.residual(iterations == 0);
            if residual.ratio() > 1.0 && iterations >= CHECK_ROUND_OFF_AFTER && !measured {
                measured = true;
                self.measure_round_off(h);
                residual = self.residual(false);
            }
            // With friction there may be another solution in which contacts open (Painlevé): the contact problem is solved even if
            // the prediction satisfies it.
            let asks = iterations == 0 && self.contact.list.len() > self.contact.active.len();
            if residual.ratio() <= 1.0 && !asks {
                // Residual momenta of steps add up: one more correction reduces them, not two, because round-off may
                // prevent any reduction.
                let last = iterations == self.options.max_iterations;
                if linear && !self.on_mean || solved || last || self.adds_up_to_nothing(residual) {
                    return Ok(iterations);
                }
                solved = true;
            }
            if !residual.ratio().is_finite() {
                return Err(self.not_finite(system, end));
            }
            if iterations == self.options.max_iterations {
                return Err(self.not_converged(system, iterations, residual.worst));
            }
            if !linear {
                if !with_tangents {
                    self.evaluate(system, state, h, end, true);
                }
                self.assemble(system, state, h, end);
            }
            self.correct(system, state, h, end)?;
            iterations += 1;
        }
    }

    /// A motion at rest without forces until now takes its scale from the first forces, from the first velocities that constraints
    /// prescribe, and from what moves by itself.
    pub(super) fn begin_scale(&mut self, h: f64) {
        let scale = &mut self.momentum_scale;
        let at_rest = scale.scale == 0.0;
        scale.begin(&self.smooth.force, h);
        let b = &self.bilateral;
        let rows = b.jacobian.rows();
        for (i, (u, rate)) in b.velocity.iter().zip(&b.rate).enumerate() {
            let rate = if at_rest { *u } else { *rate };
            scale.include_rate(rows.cols(i), rows.values(i), rate);
        }
        scale.include_contacts(&self.contact.set, h);
        for &(_, row) in &self.contact.list {
            let law = &self.contact.law;
            let entries = (law.directions.cols(row), law.directions.values(row));
            scale.include_rate(entries.0, entries.1, law.rate[row]);
        }
    }

    /// Round-off of the forces at the evaluation point.
    pub(super) fn measure_round_off(&mut self, h: f64) {
        let s = &mut self.smooth;
        round_off::of_force(
            &s.stiffness,
            h,
            &self.trial.q_eval,
            self.is_flat,
            &mut s.round_off,
        );
    }

    /// Factors the iteration matrix of a time-invariant system for steps of length `h`.
    pub(super) fn factor_once(&mut self, h: f64) -> Result<(), StepError> {
        if !self.is_linear() {
            return Ok(());
        }
        self.linear_matrix(h);
        match self.smooth.iteration.factorise() {
            Ok(()) => self.factored_for = h,
            // Constraints may make up for a singular matrix, see `factor_augmented`.
            Err(_) if self.dims.ng > 0 => return Ok(()),
            Err(source) => {
                return Err(singular(source, &mut self.smooth.mass));
            }
        }
        if self.has_constant_delassus() {
            let set = &self.contact.set;
            let row = |i: usize| (&set.directions, set.first_row[i]);
            self.constant_delassus.condense(
                set.len(),
                self.dims.nv,
                &self.smooth.iteration,
                &row,
                &row,
            );
        }
        Ok(())
    }

    /// Positions and velocities that belong to the trial velocity.
    fn update_positions(&mut self, system: &dyn System, state: &State, h: f64) {
        let t = &mut self.trial;
        let (theta, phi) = (self.theta, self.phi);
        for i in 0..t.v.len() {
            t.v_phi[i] = (1.0 - phi) * state.v[i] + phi * t.v[i];
            t.xi[i] = h * t.v_phi[i];
        }
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let weight = if theta_point { theta } else { 1.0 };
        for i in 0..t.v.len() {
            t.xi_eval[i] = weight * t.xi[i];
            t.v_eval[i] = (1.0 - weight) * state.v[i] + weight * t.v[i];
        }
        if self.is_flat {
            for i in 0..t.q.len() {
                t.q[i] = state.q[i] + t.xi[i];
                t.q_eval[i] = state.q[i] + t.xi_eval[i];
            }
            return;
        }
        t.q.copy_from_slice(&state.q);
        system.retract(&mut t.q, &t.xi);
        t.q_eval.copy_from_slice(&state.q);
        system.retract(&mut t.q_eval, &t.xi_eval);
    }

    /// The position half-way through the step.
    fn update_middle(&mut self, system: &dyn System, state: &State) {
        let (b, t) = (&mut self.bilateral, &mut self.trial);
        b.middle.copy_from_slice(&state.q);
        for (half, xi) in t.work.iter_mut().zip(&t.xi) {
            *half = 0.5 * xi;
        }
        system.retract(&mut b.middle, &t.work);
    }

    /// Time at which the bilateral constraints of the step hold \[s\].
    pub(super) fn constraint_time(&self, state: &State, end: f64) -> f64 {
        if self.on_mean {
            0.5 * (state.t + end)
        } else {
            end
        }
    }

    /// Evaluates dynamics, constraints and contacts at the trial state, and both residuals.
    fn evaluate(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
        with_tangents: bool,
    ) {
        let linear = self.is_linear();
        let (theta, evaluation) = (self.theta, self.options.evaluation);
        let t_eval = self.evaluation_time(state, h, end);
        let (s, t, start) = (&mut self.smooth, &self.trial, &self.start);
        for i in 0..t.v.len() {
            s.x[i] = t.v[i] - state.v[i];
        }
        if evaluation == Evaluation::WeightedAccelerations {
            axpy(-h * (1.0 - theta), &start.acceleration, &mut s.x);
        }
        let at = Point {
            t: t_eval,
            q: &t.q_eval,
            v: &t.v_eval,
        };
        if with_tangents {
            evaluate_tangents(system, at, s);
        } else {
            evaluate_smooth(system, at, s, linear);
        }
        s.mass.apply(&s.x, &mut s.residual);
        let (now, before) = match evaluation {
            Evaluation::ThetaPoint => (h, 0.0),
            Evaluation::WeightedForces => (h * theta, h * (1.0 - theta)),
            Evaluation::WeightedAccelerations => (h * theta, 0.0),
        };
        for i in 0..s.force.len() {
            let mut r = s.residual[i] - now * s.force[i];
            if before != 0.0 {
                r -= before * start.force[i];
            }
            s.residual[i] = r;
            s.balance[i] = r;
        }
        self.evaluate_constraints(system, self.constraint_time(state, end));
        self.evaluate_joints(system, t_eval, h);
        self.evaluate_contacts(system, t_eval, end);
    }

    fn evaluate_constraints(&mut self, system: &dyn System, end: f64) {
        if self.dims.ng == 0 {
            return;
        }
        let q = std::mem::take(&mut self.trial.q);
        let middle = std::mem::take(&mut self.bilateral.middle);
        self.constraint_rows(system, end, if self.on_mean { &middle } else { &q });
        self.trial.q = q;
        self.bilateral.middle = middle;
        let b = &mut self.bilateral;
        for i in 0..b.velocity.len() {
            let rows = b.jacobian.rows();
            b.velocity[i] = rows.dot(i, &self.trial.v) + b.rate[i];
            if self.on_mean {
                b.velocity[i] += rows.dot(i, &self.start.v) + b.rate[i];
            }
            b.jacobian
                .rows()
                .axpy(i, -b.impulse[i], &mut self.smooth.balance);
        }
    }

    /// `G` and `∂g/∂t` at `(t, q)`.
    pub(super) fn constraint_rows(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        let b = &mut self.bilateral;
        b.jacobian.clear();
        system.g_jacobian(t, q, &mut b.jacobian);
        b.jacobian.finish(self.dims.ng);
        system.g_rate(t, q, &mut b.rate);
    }

    fn evaluate_contacts(&mut self, system: &dyn System, t_eval: f64, end: f64) {
        let c = &mut self.contact;
        if c.active.is_empty() {
            return;
        }
        if self.options.forecast != Forecast::Predicted {
            system.evaluate_contacts(t_eval, &self.trial.q_eval, &mut c.law);
            c.use_rates_at_end(system, (t_eval, end), &self.trial.q_eval);
        }
        if self.laws_vary {
            let at = Point {
                t: t_eval,
                q: &self.trial.q_eval,
                v: &self.trial.v_eval,
            };
            system.contact_laws(at, &mut c.law);
        }
        for &(i, row) in &c.list {
            let u = c.law.directions.dot(row, &self.trial.v) + c.law.rate[row];
            c.row_velocity[row] = u;
            if row == c.law.first_row[i] {
                c.velocity[i] = u;
            }
            c.law
                .directions
                .axpy(row, -c.impulse_rows[row], &mut self.smooth.balance);
        }
    }

    /// `e u_k` of contact `i`, with the directions the step uses for it and the rate of the wall at its start.
    pub(super) fn rebound(&self, i: usize) -> f64 {
        let c = &self.contact;
        let own = self.options.evaluation == Evaluation::ThetaPoint
            || self.options.forecast == Forecast::Predicted;
        let u = if own && !self.structure.linear_contacts {
            let row = c.law.first_row[i];
            let rates = if self.options.forecast == Forecast::Predicted {
                &c.law.rate
            } else {
                &c.set.rate
            };
            c.law.directions.dot(row, &self.start.v) + rates[row]
        } else {
            c.start_velocity[i]
        };
        c.law.law[i].e_n * u
    }

    /// Residual of the impact law of contact `i` in velocity units: `min(κ R, u⁺ + e u⁻)`.
    pub(super) fn law_residual(&self, row: usize, i: usize) -> f64 {
        let c = &self.contact;
        let w = c.velocity[i] + self.rebound(i);
        if c.impulse[i] == 0.0 {
            w.min(0.0)
        } else {
            w.min(self.one_step.compliance(row) * c.impulse[i])
        }
    }

    /// Whether the residual momentum of a step is small against the impulse of the forces, so that even with the same sign
    /// in every step their sum stays below the tolerance of the motion.
    fn adds_up_to_nothing(&self, residual: Residual) -> bool {
        // Residuals of constraints on the mean velocity do work in every step.
        if self.on_mean && residual.ratio() > 1e-3 {
            return false;
        }
        let round_off = 16.0 * f64::EPSILON * self.momentum_scale.scale;
        residual.momentum <= self.options.tolerance * self.impulse_scale + round_off
    }

    /// Velocity along a row of `Wᵀ` or `G` that counts as zero \[m/s\].
    pub(super) fn velocity_tolerance(&self, cols: &[usize], values: &[f64]) -> f64 {
        let tolerance = self.options.tolerance;
        self.momentum_scale.velocity_bound(cols, values, tolerance)
    }

    /// The largest residual relative to its tolerance; with `strict` the tolerance is round-off, for a prediction that
    /// is accepted without a solve.
    pub(super) fn residual(&self, strict: bool) -> Residual {
        let s = &self.smooth;
        let relative = if strict {
            2.0 * f64::EPSILON
        } else {
            self.options.tolerance
        };
        let tolerance = relative * self.momentum_scale.scale;
        let (mut worst, mut largest) = (Convergence::NONE, 0.0_f64);
        for (i, (r, w)) in s
            .balance
            .iter()
            .zip(&self.momentum_scale.weights)
            .enumerate()
        {
            let momentum = w * round_off::above(*r, s.round_off[i]);
            largest = largest.max(momentum);
            worst.include(momentum, tolerance, Location::Velocity(i));
        }
        let rows = self.bilateral.jacobian.rows();
        for (i, u) in self.bilateral.velocity.iter().enumerate() {
            let tolerance = self.velocity_tolerance(rows.cols(i), rows.values(i));
            worst.include(u.abs(), tolerance, Location::Bilateral(i));
        }
        let slip = self.joints.jacobian.rows();
        for k in 0..self.joints.len() {
            let tolerance = self.joints.range(k).fold(0.0_f64, |most, row| {
                most.max(self.velocity_tolerance(slip.cols(row), slip.values(row)))
            });
            worst.include(self.joint_residual(k), tolerance, Location::Joint(k));
        }
        let c = &self.contact;
        let mut problem_row = self.rows_before_contacts();
        for &i in &c.active {
            let row = c.law.first_row[i];
            let (cols, values) = (c.law.directions.cols(row), c.law.directions.values(row));
            let mut tolerance = self.velocity_tolerance(cols, values);
            let mut residual = self.law_residual(problem_row, i).abs();
            let rows = self.rows_of(i);
            for tangent in row + 1..row + rows {
                let d = &c.law.directions;
                let along = self.velocity_tolerance(d.cols(tangent), d.values(tangent));
                tolerance = tolerance.max(along);
            }
            if rows > 1 {
                residual = residual.max(self.friction_residual(problem_row, i));
            }
            problem_row += rows;
            worst.include(residual, tolerance, Location::Contact(i));
        }
        Residual {
            worst,
            momentum: largest,
        }
    }
}
