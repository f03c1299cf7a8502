//! Newton's method for one step: update the state, evaluate, find the active sets, test convergence, correct.

use super::engine::Engine;
use super::levels::Level;
use super::monitor::Remedy;
use super::settings::{Formulation, LinearSolve, Prediction, SmoothLevel};
use crate::integrator::StepError;
use crate::round_off;
use saltus_linear::{axpy, is_zero, max_abs};
use saltus_system::{DynamicsParts, Point, System, Tangents};

/// Number of corrections after which the round-off of force and rows is measured; one in a linear system.
const CHECK_ROUND_OFF_AFTER: u32 = 3;
/// Growth of the residual over the larger of the first two that counts as divergence, where impacts are located: the step can then
/// be split.
const DIVERGENCE: f64 = 1e4;

impl Engine {
    /// Solves the step of length `h` \[s\] from `start` to the time `end` \[s\]; the solution is in `trial`.
    pub(super) fn solve(&mut self, system: &dyn System, h: f64, end: f64) -> Result<(), StepError> {
        self.monitor.restart();
        self.begin_step(system, h, end)?;
        self.monitor.remedy = if self.begins_with_nested_levels() {
            Remedy::NestedLevels
        } else {
            Remedy::None
        };
        self.monitor.next_is_cheap =
            self.admits_nested_levels() && self.uses_compliances(self.full_system());
        self.predict();
        let scaling_step = self.reference_step.unwrap_or(h);
        let mut corrections = 0;
        let mut initial_residual = 0.0_f64;
        let mut is_first = true;
        let mut converged_before = false;
        loop {
            let with_tangents = is_first && !self.is_time_invariant();
            is_first = false;
            self.update_trial(system, h);
            self.evaluate(system, h, end, with_tangents);
            self.momentum_scale.begin(&self.trial.force, h);
            self.include_rates(h);
            if !self.solves_nested_levels() {
                self.update_active_sets(h);
            } else if corrections == 0 {
                self.predict_active_sets(h);
            }
            let mut residual = self.residual(scaling_step, corrections == 0);
            let check_after = if self.is_linear() {
                1
            } else {
                CHECK_ROUND_OFF_AFTER
            };
            if residual.ratio() > 1.0 && corrections == check_after {
                self.measure_round_off();
                residual = self.residual(scaling_step, false);
            }
            // Once converged, at most one more correction is made for the tighter tolerance of the active rows, which
            // round-off can put out of reach. The sequential solve uses the criterion of the papers.
            if corrections < 2 {
                initial_residual = initial_residual.max(residual.ratio());
            }
            let may_split = self.reference_step.is_some();
            let diverges = may_split && residual.ratio() > DIVERGENCE * initial_residual;
            let last = diverges || corrections >= self.settings.max_iterations;
            let row_tolerance_suffices =
                converged_before || last || self.settings.linear_solve == LinearSolve::Sequential;
            if residual.ratio() <= 1.0 && (residual.rows <= 1.0 || row_tolerance_suffices) {
                return Ok(());
            }
            converged_before = residual.ratio() <= 1.0;
            if !residual.ratio().is_finite() || last {
                if !self.next_remedy(false) {
                    return Err(if residual.ratio().is_finite() {
                        self.not_converged(system, corrections, residual.worst)
                    } else {
                        self.not_finite(system, end)
                    });
                }
                self.predict();
                (corrections, is_first) = (0, true);
                continue;
            }
            let redundant = self.redundant > 0 && self.trial.has_stagnated;
            let stalled = !self.solves_nested_levels()
                && self
                    .monitor
                    .has_stalled(&self.sets, residual.ratio(), redundant);
            if stalled && self.next_remedy(true) {
                if self.monitor.remedy != Remedy::LargerActivation {
                    self.predict();
                    (corrections, is_first) = (0, true);
                    continue;
                }
                self.update_active_sets(h);
            }
            if let Err(error) = self.correct(system, h, end, with_tangents) {
                // One block can be singular where all together are not.
                if !self.next_remedy(false) {
                    return Err(error);
                }
                self.predict();
                (corrections, is_first) = (0, true);
                continue;
            }
            corrections += 1;
            self.monitor.iterations += 1;
        }
    }

    /// Round-off of the force, from the tangents of the last correction; tolerances of rows include theirs from here on.
    fn measure_round_off(&mut self) {
        let t = &mut self.trial;
        t.has_stagnated = true;
        round_off::of_force(
            &self.tangent.stiffness,
            1.0,
            &t.q,
            self.is_flat,
            &mut t.round_off,
        );
    }

    /// Switches to the next remedy, for sets that cycle or a solve that fails; `false` where there is none left.
    fn next_remedy(&mut self, cycles: bool) -> bool {
        let sequential = self.settings.linear_solve == LinearSolve::Sequential;
        let next = match self.monitor.remedy {
            Remedy::None if self.admits_nested_levels() => Remedy::NestedLevels,
            Remedy::None if cycles => Remedy::LargerActivation,
            Remedy::None | Remedy::LargerActivation if sequential => Remedy::Simultaneous,
            _ => return false,
        };
        self.monitor.switch_to(next);
        true
    }

    /// Initial guess of the end of the step.
    fn predict(&mut self) {
        let last = self.settings.prediction == Prediction::Last;
        let (t, start) = (&mut self.trial, &self.start);
        if last {
            t.v_dot.copy_from_slice(&start.v_dot);
            t.lambda.copy_from_slice(&start.lambda);
        } else {
            t.v_dot.fill(0.0);
            t.lambda.fill(0.0);
        }
        t.has_stagnated = false;
        for v in [
            &mut t.u,
            &mut t.w,
            &mut t.nu,
            &mut t.jump_impulse,
            &mut t.round_off,
        ] {
            v.fill(0.0);
        }
    }

    /// Updates accelerations, velocities, positions and total impulses from `v̇`, `U`, `W` and the multipliers.
    pub(super) fn update_trial(&mut self, system: &dyn System, h: f64) {
        let c = &self.settings.coefficients;
        let (c_a, history) = (c.c_a(), c.history_weights());
        let (t, start) = (&mut self.trial, &self.start);
        for i in 0..t.v_dot.len() {
            let (a, a_end) = (
                start.a[i],
                c_a * t.v_dot[i] + history.of(start.a[i], start.v_dot[i]),
            );
            t.a[i] = a_end;
            t.xi[i] = h * start.v[i] + h * h * c.newmark_position(a, a_end) + t.u[i];
            t.vt[i] = start.v[i] + h * c.newmark_velocity(a, a_end);
            t.v[i] = t.vt[i] + t.w[i];
        }
        t.q.copy_from_slice(&start.q);
        system.retract(&mut t.q, &t.xi);
        if !self.is_flat {
            t.extent = max_abs(&t.q);
        }
        self.update_totals(h);
    }

    /// Updates `η` and the totals `ν*`, `Λ*`.
    pub(super) fn update_totals(&mut self, h: f64) {
        let c = &self.settings.coefficients;
        let (c_a, history) = (c.c_a(), c.history_weights());
        let (t, start) = (&mut self.trial, &self.start);
        let filters = self.settings.formulation.filters_multipliers();
        for j in 0..t.lambda.len() {
            t.eta[j] = c_a * t.lambda[j] + history.of(start.eta[j], start.lambda[j]);
            (t.nu_total[j], t.jump_impulse_total[j]) = (t.nu[j], t.jump_impulse[j]);
            if filters {
                t.nu_total[j] += h * h * c.newmark_position(start.eta[j], t.eta[j]);
                t.jump_impulse_total[j] += h * c.newmark_velocity(start.eta[j], t.eta[j]);
            }
        }
    }

    /// Dynamics, constraints and residuals at the trial state.
    pub(super) fn evaluate(&mut self, system: &dyn System, h: f64, end: f64, with_tangents: bool) {
        let time_invariant = self.is_time_invariant();
        let t = &mut self.trial;
        let at = Point {
            t: end,
            q: &t.q,
            v: &t.v,
        };
        if time_invariant {
            system.force(at, &mut t.force);
        } else {
            let d = &mut self.tangent;
            d.mass.clear();
            let tangents = if with_tangents {
                d.stiffness.clear();
                d.damping.clear();
                // `correction` collects D(M v̇) until it is added to the stiffness.
                d.correction.clear();
                Some(Tangents {
                    x: &t.v_dot,
                    mass_gradient: &mut d.correction,
                    stiffness: &mut d.stiffness,
                    damping: &mut d.damping,
                })
            } else {
                None
            };
            let parts = DynamicsParts {
                mass: &mut d.mass,
                force: &mut t.force,
                tangents,
            };
            system.evaluate(at, parts);
        }
        self.rows.evaluate_gaps(system, end, &self.trial.q);
        if !self.rows_are_linear() {
            self.rows.update_directions(system, end, &self.trial.q);
            self.rows.update_row_norms(&self.momentum_scale.weights);
        }
        self.evaluate_rows(system, end);
        self.evaluate_forecast(system, h, end);
        self.evaluate_balances();
    }

    /// Rates of the constraints at the trial state.
    fn evaluate_rows(&mut self, system: &dyn System, end: f64) {
        let formulation = self.settings.formulation;
        let (rows, t) = (&mut self.rows, &self.trial);
        let smooth = formulation.smooth_level();
        if smooth == Some(SmoothLevel::Acceleration) {
            let contacts = formulation == Formulation::Pva(3);
            let at = Point {
                t: end,
                q: &t.q,
                v: &t.v,
            };
            rows.evaluate_bias(system, at, contacts);
        }
        for j in 0..rows.len() {
            let gradient = rows.gradient();
            let velocity = gradient.dot(j, &t.v) + rows.rate[j];
            let smooth_velocity = if smooth == Some(SmoothLevel::Velocity) {
                gradient.dot(j, &t.vt) + rows.rate[j]
            } else {
                0.0
            };
            let acceleration = if smooth == Some(SmoothLevel::Acceleration) {
                gradient.dot(j, &t.v_dot) + rows.bias[j]
            } else {
                0.0
            };
            rows.velocity[j] = velocity;
            rows.smooth_velocity[j] = smooth_velocity;
            rows.acceleration[j] = acceleration;
        }
    }

    /// Gaps at the forecast position of `pvv`, which is the smooth position `q̃`.
    fn evaluate_forecast(&mut self, system: &dyn System, h: f64, end: f64) {
        if self.settings.formulation != Formulation::Pvv || self.rows.contacts() == 0 {
            return;
        }
        let ng = self.dims.ng;
        let t = &mut self.trial;
        if is_zero(&t.u) {
            self.rows.forecast_gap[ng..].copy_from_slice(&self.rows.set.gap);
            return;
        }
        let c = &self.settings.coefficients;
        for i in 0..t.work.len() {
            t.work[i] = h * self.start.v[i] + h * h * c.newmark_position(self.start.a[i], t.a[i]);
        }
        t.q_forecast.copy_from_slice(&self.start.q);
        system.retract(&mut t.q_forecast, &t.work);
        self.rows.evaluate_forecast_gaps(system, end, &t.q_forecast);
    }

    /// Residuals of the three balances.
    fn evaluate_balances(&mut self) {
        let formulation = self.settings.formulation;
        let (t, tangent) = (&mut self.trial, &self.tangent);
        let gradient = self.rows.gradient();
        let r = &mut t.residual;
        for (r, f) in r.smooth.iter_mut().zip(&t.force) {
            *r = -f;
        }
        tangent.apply_mass(&t.v_dot, &mut r.smooth);
        r.correction.fill(0.0);
        r.jump.fill(0.0);
        // `U` and `W` are zero in free flight.
        if formulation.has_corrections() && !is_zero(&t.u) {
            tangent.apply_mass(&t.u, &mut r.correction);
        }
        if formulation.has_jumps() && !is_zero(&t.w) {
            tangent.apply_mass(&t.w, &mut r.jump);
        }
        for j in 0..t.lambda.len() {
            for (multiplier, residual) in [
                (t.lambda[j], &mut r.smooth),
                (t.nu[j], &mut r.correction),
                (t.jump_impulse[j], &mut r.jump),
            ] {
                if multiplier != 0.0 {
                    gradient.axpy(j, -multiplier, residual);
                }
            }
        }
    }

    /// The active sets of the initial guess: contacts whose multipliers are positive there.
    fn predict_active_sets(&mut self, h: f64) {
        if self.settings.prediction == Prediction::Zero {
            self.close_bilateral();
            self.open_all();
            return;
        }
        self.update_active_sets(h);
        for level in Level::ALL {
            for j in self.dims.ng..self.rows.len() {
                self.sets.of_mut(level)[j] &= self.trial.total((level, j)) > 0.0;
            }
        }
    }

    /// Adds the bilateral constraints to the active sets.
    fn close_bilateral(&mut self) {
        let (ng, formulation, sets) = (self.dims.ng, self.settings.formulation, &mut self.sets);
        sets.position[..ng].fill(formulation.has_corrections());
        sets.velocity[..ng].fill(formulation.has_jumps());
        sets.smooth[..ng].fill(formulation.smooth_level().is_some());
    }

    /// The active sets guessed from the signs of the trial state.
    pub(super) fn update_active_sets(&mut self, h: f64) {
        self.close_bilateral();
        let formulation = self.settings.formulation;
        let ng = self.dims.ng;
        let factor = if self.monitor.remedy == Remedy::LargerActivation {
            100.0
        } else {
            1.0
        };
        let located = self.settings.location.is_some();
        let (t, rows, sets) = (&self.trial, &self.rows, &mut self.sets);
        for j in ng..rows.len() {
            if self.excluded[j] {
                sets.position[j] = false;
                sets.velocity[j] = false;
                sets.smooth[j] = false;
                continue;
            }
            let r = factor * self.activation[j];
            // A gap that is zero up to round-off counts as closed.
            let gap = rows.gap[j] - self.epsilon;
            let e = if located {
                0.0
            } else {
                rows.set.law[j - ng].e_n
            };
            let law = rows.velocity[j] + e * self.start.velocity[j];
            let (position, velocity, smooth) = match formulation {
                Formulation::Position => {
                    let scale = r / (self.settings.coefficients.beta * h * h);
                    (false, false, t.lambda[j] - scale * gap >= 0.0)
                }
                Formulation::Pvv => {
                    let jump = if self.settings.modified {
                        h * t.jump_impulse[j]
                    } else {
                        0.0
                    };
                    let position = t.nu[j] - jump - r * gap >= 0.0;
                    let velocity =
                        rows.forecast_gap[j] <= self.epsilon && t.jump_impulse[j] - r * law >= 0.0;
                    (position, velocity, false)
                }
                Formulation::Pva(strategy) => {
                    let position = t.nu_total[j] - r * gap >= 0.0;
                    let velocity = position && t.jump_impulse_total[j] - r * law >= 0.0;
                    let smooth =
                        strategy == 3 && velocity && t.lambda[j] - r * rows.acceleration[j] >= 0.0;
                    (position, velocity, smooth)
                }
                Formulation::HalfStep => {
                    let near = rows.forecast_gap[j] <= self.epsilon;
                    (false, near && t.jump_impulse[j] - r * law >= 0.0, false)
                }
                Formulation::Velocity | Formulation::Acceleration => (false, false, false),
            };
            sets.position[j] = position;
            sets.velocity[j] = velocity;
            sets.smooth[j] = smooth;
        }
    }

    /// `e` of row `j` over a step; 0 of bilateral rows, and of all where impacts are located.
    #[inline]
    pub(super) fn restitution(&self, j: usize) -> f64 {
        if j < self.dims.ng || self.settings.location.is_some() {
            0.0
        } else {
            self.rows.set.law[j - self.dims.ng].e_n
        }
    }

    /// Adds an increment to `v̇`, `U`, `W`.
    pub(super) fn apply(&mut self, x: &[f64], u: &[f64], w: &[f64]) {
        let t = &mut self.trial;
        axpy(1.0, x, &mut t.v_dot);
        axpy(1.0, u, &mut t.u);
        axpy(1.0, w, &mut t.w);
    }
}
