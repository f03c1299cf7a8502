//! One correction of Newton's method: tangent, condensation, contact problem.

use super::failure::singular;
use super::{Evaluation, Forecast, MoreauJean};
use crate::integrator::StepError;
use crate::kit::{augment_force, augment_matrix};
use saltus_linear::{LinearError, MatrixSink, RowScaled, Shifted, axpy};
use saltus_system::{State, System};

impl MoreauJean {
    /// The iteration matrix with every derivative along `q`, for a nonlinear system.
    pub(super) fn assemble(&mut self, system: &dyn System, state: &State, h: f64, end: f64) {
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let weight = if theta_point { h } else { h * self.theta };
        let turn = self.evaluation_step(h);
        let directions_vary = self.directions_vary();
        let t_eval = self.evaluation_time(state, h, end);
        let s = &mut self.smooth;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.iteration.add_scaled(
            weight * if theta_point { self.theta } else { 1.0 },
            &s.damping,
        );
        // In flat coordinates the tangent of the retraction is the identity.
        let gradient = if self.is_flat {
            &mut s.iteration
        } else {
            s.gradient.clear();
            &mut s.gradient
        };
        gradient.add_scaled(weight * turn, &s.stiffness);
        gradient.add_scaled(turn, &s.mass_gradient);
        if !self.structure.linear_constraints && self.dims.ng > 0 {
            let mut sink = Shifted {
                sink: gradient,
                factor: -h * self.phi * if self.on_mean { 0.5 } else { 1.0 },
                row: 0,
                col: 0,
            };
            let q = if self.on_mean {
                &self.bilateral.middle
            } else {
                &self.trial.q
            };
            let t = if self.on_mean {
                0.5 * (state.t + end)
            } else {
                end
            };
            system.g_curvature(t, q, &self.bilateral.impulse, &mut sink);
        }
        if !self.structure.linear_constraints && self.joints.rows() > 0 {
            let mut sink = Shifted {
                sink: gradient,
                factor: -turn,
                row: 0,
                col: 0,
            };
            let q = &self.trial.q_eval;
            system.friction_curvature(t_eval, q, &self.joints.impulse, &mut sink);
        }
        let c = &mut self.contact;
        if directions_vary && !c.active.is_empty() {
            let mut sink = Shifted {
                sink: gradient,
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
            s.iteration.add_scaled(1.0, &s.gradient);
        }
    }

    /// Whether the contact directions of the step depend on the trial velocity.
    fn directions_vary(&self) -> bool {
        !self.structure.linear_contacts && self.options.forecast != Forecast::Predicted
    }

    /// Time at which the smooth dynamics of the step is evaluated \[s\].
    pub(super) fn evaluation_time(&self, state: &State, h: f64, end: f64) -> f64 {
        match self.options.evaluation {
            Evaluation::ThetaPoint if self.theta < 1.0 => state.t + self.theta * h,
            _ => end,
        }
    }

    /// Derivative of the tangent to the evaluation point with respect to `v_{k+1}` \[s\].
    pub(super) fn evaluation_step(&self, h: f64) -> f64 {
        match self.options.evaluation {
            Evaluation::ThetaPoint => h * self.theta * self.phi,
            _ => h * self.phi,
        }
    }

    /// One correction: condense, solve the contact problem, update velocity and multipliers.
    pub(super) fn correct(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<(), StepError> {
        let (nv, ng) = (self.dims.nv, self.dims.ng);
        let before = self.rows_before_contacts();
        let m = before + self.contact.list.len();
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
            let has_laws = self.has_laws();
            let z = &mut self.contact.multipliers;
            z.clear();
            z.extend_from_slice(&self.bilateral.impulse);
            z.extend_from_slice(&self.joints.impulse);
            let (list, impulse) = (&self.contact.list, &self.contact.impulse_rows);
            z.extend(list.iter().map(|&(_, row)| impulse[row]));
            let outcome = if has_laws {
                self.solve_friction(system, end)?
            } else {
                self.one_step.solve(ng, z)
            };
            if !outcome.is_solved() {
                return Err(self.contact_problem(system, outcome));
            }
            let c = &mut self.contact;
            self.one_step
                .add_response(0..m, &c.multipliers, &mut self.smooth.delta);
            self.bilateral.impulse.copy_from_slice(&c.multipliers[..ng]);
            let joints = &mut self.joints.impulse;
            joints.copy_from_slice(&c.multipliers[ng..before]);
            for (k, &(i, row)) in c.list.iter().enumerate() {
                c.impulse_rows[row] = c.multipliers[before + k];
                if row == c.law.first_row[i] {
                    c.impulse[i] = c.multipliers[before + k];
                }
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
        if self.has_constant_delassus() {
            let active = &self.contact.active;
            self.one_step
                .select(m, &self.constant_delassus, &|i| active[i]);
            return;
        }
        let constraints_vary = ng > 0 && !self.structure.linear_constraints;
        let contacts_vary = !self.contact.active.is_empty() && self.directions_vary();
        if constraints_vary {
            if self.on_mean {
                self.differentiate_constraints_on_mean(system, h, self.constraint_time(state, end));
            } else {
                self.differentiate_constraints(system, h, end);
            }
        }
        if contacts_vary {
            self.differentiate_contacts(system, state, h, end);
        }
        let joints_vary = self.joints.rows() > 0 && !self.structure.linear_constraints;
        if joints_vary {
            let t_eval = self.evaluation_time(state, h, end);
            self.differentiate_joints(system, t_eval, self.evaluation_step(h));
        }
        let before = self.rows_before_contacts();
        let (b, j, c) = (&self.bilateral, &self.joints, &self.contact);
        let forces = |i: usize| {
            if i < ng {
                (b.jacobian.rows(), i)
            } else if i < before {
                (j.jacobian.rows(), i - ng)
            } else {
                (&c.law.directions, c.list[i - before].1)
            }
        };
        let rows = |i: usize| {
            if i < ng && constraints_vary {
                (b.rows.rows(), i)
            } else if i >= ng && i < before && joints_vary {
                (j.gradient.rows(), i - ng)
            } else if i >= before && contacts_vary {
                (c.rows.rows(), c.list[i - before].1)
            } else {
                forces(i)
            }
        };
        self.one_step
            .condense(m, nv, &self.smooth.iteration, &forces, &rows);
    }

    /// `G + hφ D(G v + ∂g/∂t)`.
    fn differentiate_constraints(&mut self, system: &dyn System, h: f64, end: f64) {
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

    /// `G + ½ hφ D(G (v_k + v_{k+1}) + 2 ∂g/∂t)` half-way through the step.
    fn differentiate_constraints_on_mean(&mut self, system: &dyn System, h: f64, t: f64) {
        let (b, trial) = (&mut self.bilateral, &mut self.trial);
        for (sum, (a, v)) in trial.work.iter_mut().zip(self.start.v.iter().zip(&trial.v)) {
            *sum = a + v;
        }
        b.rows.clear();
        system.g_jacobian(t, &b.middle, &mut b.rows);
        let mut scaled = |factor: f64, send: &dyn Fn(&mut dyn MatrixSink)| {
            send(&mut Shifted {
                sink: &mut b.rows,
                factor,
                row: 0,
                col: 0,
            });
        };
        let (middle, sum) = (&b.middle, &trial.work);
        scaled(0.5 * h * self.phi, &|sink| {
            system.g_jacobian_gradient(t, middle, sum, sink);
        });
        scaled(h * self.phi, &|sink| {
            system.g_rate_gradient(t, middle, sink);
        });
        b.rows.finish(self.dims.ng);
    }

    /// `Wᵀ` plus the derivative of the directions in `u_{k+1} + e u_k` with respect to the trial velocity.
    fn differentiate_contacts(&mut self, system: &dyn System, state: &State, h: f64, end: f64) {
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let t_eval = self.evaluation_time(state, h, end);
        let turn = self.evaluation_step(h);
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
            for &(i, row) in &c.list {
                let law = c.law.law[i];
                let e = if row == c.law.first_row[i] {
                    law.e_n
                } else {
                    law.e_t
                };
                c.restitution[row] = turn * e;
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
        let (ng, before) = (self.dims.ng, self.rows_before_contacts());
        let linear = self.structure.linear_constraints;
        for i in 0..m {
            let (constant, response) = if i < ng {
                let rows = if linear {
                    &self.bilateral.jacobian
                } else {
                    &self.bilateral.rows
                };
                (
                    self.bilateral.velocity[i],
                    rows.rows().dot(i, &self.smooth.delta),
                )
            } else if i < before {
                let j = &self.joints;
                let rows = if linear { &j.jacobian } else { &j.gradient };
                let response = rows.rows().dot(i - ng, &self.smooth.delta);
                (j.slip[i - ng], response)
            } else {
                let c = &self.contact;
                let (contact, row) = c.list[i - before];
                let rows = if self.directions_vary() {
                    c.rows.rows()
                } else {
                    &c.law.directions
                };
                let response = rows.dot(row, &self.smooth.delta);
                let rebound = if row == c.law.first_row[contact] {
                    self.rebound(contact)
                } else {
                    self.tangential_rebound(contact, row)
                };
                (c.row_velocity[row] + rebound, response)
            };
            self.one_step.q_mut()[i] = constant + response;
        }
    }

    /// `M + hθ C + h²θφ K` of a time-invariant system.
    pub(super) fn linear_matrix(&mut self, h: f64) {
        let s = &mut self.smooth;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.iteration.add_scaled(h * self.theta, &s.damping);
        s.iteration
            .add_scaled(h * h * self.theta * self.phi, &s.stiffness);
        s.iteration.finish();
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
            return Err(singular(source, &mut s.mass));
        }
        let rows = self.bilateral.jacobian.rows();
        augment_matrix(
            &mut s.iteration,
            rows,
            c.len(),
            &self.momentum_scale.weights,
        );
        self.trial.work.fill(0.0);
        augment_force(rows, c, &self.momentum_scale.weights, &mut self.trial.work);
        s.iteration
            .factorise()
            .map_err(|source| singular(source, &mut s.mass))?;
        Ok(true)
    }
}
