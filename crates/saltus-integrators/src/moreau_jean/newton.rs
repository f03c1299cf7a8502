//! Newton's method on the velocity at the end of the step.

use super::start::{evaluate_smooth, evaluate_tangents};
use super::{Evaluation, Forecast, MoreauJean, NAME};
use crate::integrator::StepError;
use saltus_linear::{LinearError, RowScaled, Shifted, axpy};
use saltus_system::{Point, State, System};

/// Largest scaled residual of an iterate, relative to its tolerance, and where it is.
#[derive(Debug, Clone, Copy)]
struct Defect {
    /// Residual over tolerance: ≤ 1 is accepted.
    ratio: f64,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Velocity(usize),
    Bilateral(usize),
    Contact(usize),
}

impl Defect {
    fn worse(&mut self, ratio: f64, place: Place) {
        if ratio > self.ratio || ratio.is_nan() {
            *self = Self { ratio, place };
        }
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
        let mut iterations = 0;
        loop {
            let with_tangents = iterations == 0 && !linear;
            self.place(system, state, h);
            self.evaluate(system, state, h, end, with_tangents);
            let defect = self.defect(iterations == 0 && linear);
            if defect.ratio <= 1.0 {
                return Ok(iterations);
            }
            if !defect.ratio.is_finite() {
                return Err(self.not_finite(system, end));
            }
            if iterations == self.options.max_iterations {
                return Err(self.not_converged(system, iterations, defect));
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
                return Err(StepError::Singular {
                    source,
                    scheme: NAME,
                });
            }
        }
        if self.contacts_are_constant() {
            let set = &self.contact.set;
            let row = |i: usize| (&set.directions, set.first_row[i]);
            self.all_contacts
                .condense(set.len(), self.dims.nv, &self.smooth.iteration, &row, &row);
        }
        Ok(())
    }

    /// Positions and velocities that belong to the trial velocity.
    fn place(&mut self, system: &dyn System, state: &State, h: f64) {
        let t = &mut self.trial;
        let (theta, phi) = (self.theta, self.phi);
        for i in 0..t.v.len() {
            t.v_phi[i] = (1.0 - phi) * state.v[i] + phi * t.v[i];
            t.xi[i] = h * t.v_phi[i];
        }
        t.q.copy_from_slice(&state.q);
        system.retract(&mut t.q, &t.xi);
        if self.options.evaluation == Evaluation::ThetaPoint {
            for i in 0..t.v.len() {
                t.xi_eval[i] = theta * t.xi[i];
                t.v_eval[i] = (1.0 - theta) * state.v[i] + theta * t.v[i];
            }
            t.q_eval.copy_from_slice(&state.q);
            system.retract(&mut t.q_eval, &t.xi_eval);
        } else {
            t.xi_eval.copy_from_slice(&t.xi);
            t.v_eval.copy_from_slice(&t.v);
            t.q_eval.copy_from_slice(&t.q);
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
        let t_eval = if evaluation == Evaluation::ThetaPoint {
            state.t + theta * h
        } else {
            end
        };
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
        match evaluation {
            Evaluation::ThetaPoint => {
                for (r, f) in s.residual.iter_mut().zip(&s.force) {
                    *r = -h * f;
                }
            }
            Evaluation::WeightedForces => {
                for i in 0..s.force.len() {
                    s.residual[i] = -h * (theta * s.force[i] + (1.0 - theta) * start.force[i]);
                }
            }
            Evaluation::WeightedAccelerations => {
                for (r, f) in s.residual.iter_mut().zip(&s.force) {
                    *r = -h * theta * f;
                }
            }
        }
        s.mass.apply_add(1.0, &s.x, &mut s.residual);
        s.defect.copy_from_slice(&s.residual);
        self.evaluate_constraints(system, end);
        self.evaluate_contacts(system, t_eval);
    }

    fn evaluate_constraints(&mut self, system: &dyn System, end: f64) {
        if self.dims.ng == 0 {
            return;
        }
        let q = std::mem::take(&mut self.trial.q);
        self.constraint_rows(system, end, &q);
        self.trial.q = q;
        let b = &mut self.bilateral;
        for i in 0..b.velocity.len() {
            b.velocity[i] = b.jacobian.rows().dot(i, &self.trial.v) + b.rate[i];
            b.jacobian
                .rows()
                .axpy(i, -b.impulse[i], &mut self.smooth.defect);
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

    fn evaluate_contacts(&mut self, system: &dyn System, t_eval: f64) {
        let c = &mut self.contact;
        if c.active.is_empty() {
            return;
        }
        if self.options.forecast != Forecast::Predicted {
            system.evaluate_contacts(t_eval, &self.trial.q_eval, &mut c.law);
        }
        for &i in &c.active {
            c.velocity[i] = c.law.normal_velocity(i, &self.trial.v);
            c.law
                .directions
                .axpy(c.law.first_row[i], -c.impulse[i], &mut self.smooth.defect);
        }
    }

    /// `e u_k` of contact `i`, with the directions the step uses for it.
    fn rebound(&self, i: usize) -> f64 {
        let c = &self.contact;
        let own = self.options.evaluation == Evaluation::ThetaPoint
            || self.options.forecast == Forecast::Predicted;
        let u = if own && !self.structure.linear_contacts {
            c.law.normal_velocity(i, &self.start.v)
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

    /// Velocity that counts as nothing along a row of `Wᵀ` or `G`.
    fn velocity_tolerance(&self, cols: &[usize], values: &[f64]) -> f64 {
        let reach: f64 = cols
            .iter()
            .zip(values)
            .map(|(&j, w)| w.abs() * self.weights[j])
            .sum();
        self.options.tolerance * self.scale * reach
    }

    /// The largest residual relative to its tolerance. A linear system is accepted without a solve
    /// only where the prediction is right to round-off.
    fn defect(&self, strict: bool) -> Defect {
        let s = &self.smooth;
        let relative = if strict {
            2.0 * f64::EPSILON
        } else {
            self.options.tolerance
        };
        let tolerance = (relative * self.scale).max(f64::MIN_POSITIVE);
        let mut defect = Defect {
            ratio: 0.0,
            place: Place::Velocity(0),
        };
        for (i, (r, w)) in s.defect.iter().zip(&self.weights).enumerate() {
            defect.worse(w * r.abs() / tolerance, Place::Velocity(i));
        }
        let rows = self.bilateral.jacobian.rows();
        for (i, u) in self.bilateral.velocity.iter().enumerate() {
            let tolerance = self
                .velocity_tolerance(rows.cols(i), rows.values(i))
                .max(f64::MIN_POSITIVE);
            defect.worse(u.abs() / tolerance, Place::Bilateral(i));
        }
        let c = &self.contact;
        for (k, &i) in c.active.iter().enumerate() {
            let row = c.law.first_row[i];
            let (cols, values) = (c.law.directions.cols(row), c.law.directions.values(row));
            let tolerance = self.velocity_tolerance(cols, values).max(f64::MIN_POSITIVE);
            defect.worse(
                self.law_residual(self.dims.ng + k, i).abs() / tolerance,
                Place::Contact(i),
            );
        }
        defect
    }

    /// The iteration matrix with every derivative along `q`, for a nonlinear system.
    fn assemble(&mut self, system: &dyn System, state: &State, h: f64, end: f64) {
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let weight = if theta_point { h } else { h * self.theta };
        let turn = self.turn_of_evaluation(h);
        let s = &mut self.smooth;
        s.gradient.clear();
        s.gradient.add_scaled(weight * turn, &s.stiffness);
        s.gradient.add_scaled(turn, &s.mass_gradient);
        if !self.structure.linear_constraints && self.dims.ng > 0 {
            let mut sink = Shifted {
                sink: &mut s.gradient,
                factor: -h * self.phi,
                row: 0,
                col: 0,
            };
            system.g_curvature(end, &self.trial.q, &self.bilateral.impulse, &mut sink);
        }
        let c = &mut self.contact;
        let contacts_turn =
            !self.structure.linear_contacts && self.options.forecast != Forecast::Predicted;
        if contacts_turn && !c.active.is_empty() {
            let t_eval = if theta_point {
                state.t + self.theta * h
            } else {
                end
            };
            c.impulse_rows.fill(0.0);
            for &i in &c.active {
                c.impulse_rows[c.law.first_row[i]] = c.impulse[i];
            }
            let mut sink = Shifted {
                sink: &mut s.gradient,
                factor: -turn,
                row: 0,
                col: 0,
            };
            system.contact_curvature(
                t_eval,
                &self.trial.q_eval,
                &c.law,
                &c.impulse_rows,
                &mut sink,
            );
        }
        if !self.is_flat {
            s.tangent.clear();
            system.retract_tangent(&state.q, &self.trial.xi_eval, &mut s.tangent);
            s.gradient.multiply_right(&s.tangent);
        }
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.iteration.add_scaled(
            if theta_point { h * self.theta } else { weight },
            &s.damping,
        );
        s.iteration.add_scaled(1.0, &s.gradient);
    }

    /// How far the evaluation point turns per unit of `v_{k+1}`.
    fn turn_of_evaluation(&self, h: f64) -> f64 {
        match self.options.evaluation {
            Evaluation::ThetaPoint => h * self.theta * self.phi,
            _ => h * self.phi,
        }
    }

    /// One correction: condense, solve the contact problem, update velocity and multipliers.
    fn correct(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<(), StepError> {
        let (nv, ng) = (self.dims.nv, self.dims.ng);
        let m = ng + self.contact.active.len();
        let s = &mut self.smooth;
        for (d, r) in s.delta.iter_mut().zip(&s.residual) {
            *d = -r;
        }
        if self.factored_for == h {
            s.iteration.solve(&mut s.delta);
        } else {
            if self.is_linear() {
                self.linear_matrix(h);
            }
            let velocity = std::mem::take(&mut self.bilateral.velocity);
            let augmented = self.factor_augmented(&velocity);
            self.bilateral.velocity = velocity;
            let s = &mut self.smooth;
            if augmented? {
                axpy(1.0, &self.trial.work, &mut s.delta);
            }
            s.iteration.solve(&mut s.delta);
        }
        if m > 0 {
            self.condense(system, state, h, end, m, nv);
            self.fill_constant_part(m);
            let z = &mut self.contact.multipliers;
            z.clear();
            z.extend_from_slice(&self.bilateral.impulse);
            z.extend(self.contact.active.iter().map(|&i| self.contact.impulse[i]));
            let outcome = self.one_step.solve(ng, z);
            if !outcome.is_solved() {
                return Err(self.contact_problem(system, outcome));
            }
            let c = &mut self.contact;
            self.one_step
                .add_response(0..m, &c.multipliers, &mut self.smooth.delta);
            self.bilateral.impulse.copy_from_slice(&c.multipliers[..ng]);
            for (k, &i) in c.active.iter().enumerate() {
                c.impulse[i] = c.multipliers[ng + k];
            }
            self.redundant = outcome.redundant;
        }
        axpy(1.0, &self.smooth.delta, &mut self.trial.v);
        Ok(())
    }

    /// Condenses bilateral rows and active contacts through the factored iteration matrix.
    fn condense(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
        m: usize,
        nv: usize,
    ) {
        let ng = self.dims.ng;
        if self.contacts_are_constant() {
            let active = &self.contact.active;
            self.one_step.select(m, &self.all_contacts, &|i| active[i]);
            return;
        }
        let turning_constraints = ng > 0 && !self.structure.linear_constraints;
        let turning_contacts = !self.contact.active.is_empty()
            && !self.structure.linear_contacts
            && self.options.forecast != Forecast::Predicted;
        if turning_constraints {
            self.turning_constraints(system, h, end);
        }
        if turning_contacts {
            self.turning_contacts(system, state, h, end);
        }
        let (b, c) = (&self.bilateral, &self.contact);
        let forces = |i: usize| {
            if i < ng {
                (b.jacobian.rows(), i)
            } else {
                (&c.law.directions, c.law.first_row[c.active[i - ng]])
            }
        };
        let rows = |i: usize| match (i < ng, turning_constraints, turning_contacts) {
            (true, true, _) => (b.rows.rows(), i),
            (false, _, true) => (c.rows.rows(), c.law.first_row[c.active[i - ng]]),
            _ => forces(i),
        };
        self.one_step
            .condense(m, nv, &self.smooth.iteration, &forces, &rows);
    }

    /// `G + hφ D(G v + ∂g/∂t)`.
    fn turning_constraints(&mut self, system: &dyn System, h: f64, end: f64) {
        let (b, t) = (&mut self.bilateral, &self.trial);
        b.rows.clear();
        system.g_jacobian(end, &t.q, &mut b.rows);
        let mut sink = Shifted {
            sink: &mut b.rows,
            factor: h * self.phi,
            row: 0,
            col: 0,
        };
        system.g_jacobian_gradient(end, &t.q, &t.v, &mut sink);
        system.g_rate_gradient(end, &t.q, &mut sink);
        b.rows.finish(self.dims.ng);
    }

    /// `Wᵀ` plus the turning of `u_{k+1} + e u_k` with the trial velocity.
    fn turning_contacts(&mut self, system: &dyn System, state: &State, h: f64, end: f64) {
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let t_eval = if theta_point {
            state.t + self.theta * h
        } else {
            end
        };
        let turn = self.turn_of_evaluation(h);
        let (c, q) = (&mut self.contact, &self.trial.q_eval);
        c.rows.clear();
        for i in 0..c.law.directions.len() {
            c.law.directions.send(i, i, 1.0, &mut c.rows);
        }
        let mut sink = Shifted {
            sink: &mut c.rows,
            factor: turn,
            row: 0,
            col: 0,
        };
        system.contact_direction_gradient(t_eval, q, &c.law, &self.trial.v, &mut sink);
        system.contact_rate_gradient(t_eval, q, &c.law, &mut sink);
        if theta_point {
            c.restitution.fill(0.0);
            for &i in &c.active {
                c.restitution[c.law.first_row[i]] = turn * c.law.law[i].e_n;
            }
            let mut sink = RowScaled {
                sink: &mut c.rows,
                factors: &c.restitution,
            };
            system.contact_direction_gradient(t_eval, q, &c.law, &self.start.v, &mut sink);
            system.contact_rate_gradient(t_eval, q, &c.law, &mut sink);
        }
        c.rows.finish(c.law.directions.len());
    }

    /// `w` at zero multipliers: `A δ₀ + u (+ e u_k)`.
    fn fill_constant_part(&mut self, m: usize) {
        let ng = self.dims.ng;
        for i in 0..m {
            let (constant, response) = if i < ng {
                let rows = if self.structure.linear_constraints {
                    &self.bilateral.jacobian
                } else {
                    &self.bilateral.rows
                };
                (
                    self.bilateral.velocity[i],
                    rows.rows().dot(i, &self.smooth.delta),
                )
            } else {
                let c = &self.contact;
                let contact = c.active[i - ng];
                let turning =
                    !self.structure.linear_contacts && self.options.forecast != Forecast::Predicted;
                let rows = if turning {
                    c.rows.rows()
                } else {
                    &c.law.directions
                };
                let response = rows.dot(c.law.first_row[contact], &self.smooth.delta);
                (c.velocity[contact] + self.rebound(contact), response)
            };
            self.one_step.q_mut()[i] = constant + response;
        }
    }

    /// `M + hθ C + h²θφ K` of a time-invariant system.
    fn linear_matrix(&mut self, h: f64) {
        let s = &mut self.smooth;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.iteration.add_scaled(h * self.theta, &s.damping);
        s.iteration
            .add_scaled(h * h * self.theta * self.phi, &s.stiffness);
    }

    /// Factors the iteration matrix. Where it is singular although the constrained system is not,
    /// `α GᵀG` is added, which changes nothing on the constraint manifold; `trial.work` then holds
    /// the term `−α Gᵀ c` that belongs on the right-hand side for `G δ = −c`.
    pub(super) fn factor_augmented(&mut self, c: &[f64]) -> Result<bool, StepError> {
        let s = &mut self.smooth;
        let source = match s.iteration.factorise() {
            Ok(()) => return Ok(false),
            Err(source) => source,
        };
        if self.dims.ng == 0 || matches!(source, LinearError::NotFinite { .. }) {
            return Err(StepError::Singular {
                source,
                scheme: NAME,
            });
        }
        let rows = self.bilateral.jacobian.rows();
        let mass = self
            .weights
            .iter()
            .fold(f64::INFINITY, |m, w| m.min(*w))
            .powi(-2);
        self.trial.work.fill(0.0);
        for (i, c) in c.iter().enumerate() {
            let square: f64 = rows.values(i).iter().map(|v| v * v).sum();
            let alpha = if square > 0.0 { mass / square } else { 0.0 };
            for (&j, vj) in rows.cols(i).iter().zip(rows.values(i)) {
                rows.send(i, j, alpha * vj, &mut s.iteration);
            }
            rows.axpy(i, -alpha * c, &mut self.trial.work);
        }
        s.iteration
            .factorise()
            .map_err(|source| StepError::Singular {
                source,
                scheme: NAME,
            })?;
        Ok(true)
    }
}

/// The messages of a step that was not solved.
impl MoreauJean {
    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let names = system.names();
        let s = &self.smooth;
        let bad = |x: &[f64]| x.iter().position(|v| !v.is_finite());
        let (quantity, place) = if let Some(i) = bad(&s.force) {
            ("the force", names.velocities.get(i))
        } else if let Some(i) = bad(&s.defect) {
            ("the momentum balance", names.velocities.get(i))
        } else if let Some(i) = bad(&self.bilateral.velocity) {
            ("the velocity", names.bilateral.get(i))
        } else {
            (
                "the gap velocity",
                bad(&self.contact.velocity).and_then(|i| names.contacts.get(i)),
            )
        };
        StepError::NotFinite {
            quantity,
            place: place.cloned().unwrap_or_default(),
            t,
        }
    }

    fn not_converged(&self, system: &dyn System, iterations: u32, defect: Defect) -> StepError {
        let tolerance = self.options.tolerance * self.scale;
        StepError::NotConverged {
            iterations,
            residual: defect.ratio * tolerance,
            tolerance,
            place: place_name(system, defect.place),
        }
    }

    fn contact_problem(
        &self,
        system: &dyn System,
        outcome: saltus_complementarity::Outcome,
    ) -> StepError {
        let ng = self.dims.ng;
        let worst = self.defect(false);
        let cure = if ng > 0 {
            "check that the bilateral constraints do not contradict each other or force a contact into an obstacle"
        } else {
            "a smaller `step` usually cures it"
        };
        StepError::ContactProblem {
            contacts: self.contact.active.len(),
            bilateral: ng,
            status: format!("{:?}", outcome.status).to_lowercase(),
            residual: outcome.residual,
            place: place_name(system, worst.place),
            cure,
        }
    }
}

fn place_name(system: &dyn System, place: Place) -> String {
    let names = system.names();
    let (list, i) = match place {
        Place::Velocity(i) => (&names.velocities, i),
        Place::Bilateral(i) => (&names.bilateral, i),
        Place::Contact(i) => (&names.contacts, i),
    };
    list.get(i).cloned().unwrap_or_else(|| i.to_string())
}
