//! Two-pass step of a large time-invariant banded system with few contacts, whose force can be evaluated for a range of DOFs.
//!
//! With constant matrices the acceleration is `x = S⁻¹ f₀ + Σ columns`, `f₀` the force at the predicted end without `x`.
//! The forward pass evaluates and eliminates `f₀` and accumulates `G S⁻¹ f₀` with the columns `S⁻¹Gᵀ`; active sets and
//! multipliers are then found from the compliances alone (`compliances.rs`). The backward pass substitutes, evaluates the
//! force at the end of the step and the residuals of the three momentum balances. A step that does not meet the usual
//! tolerance is repeated by the general method.

use super::compliances::motion;
use super::engine::Engine;
use super::levels::Level;
use super::monitor::Remedy;
use super::residual::Residual;
use super::settings::{Formulation, LinearSolve, SmoothLevel};
use super::streamed_passes::{EndSums, Predictor};
use crate::certificate::{Certificate, Entry};
use crate::integrator::{StepError, StepReport};
use crate::kit::{Convergence, Location, check_kinetic};
use crate::streaming::{Fingerprint, PIECE, StepInputs, buffer_size, energy_of_rows, reach_of};
use saltus_linear::{DENSE_LIMIT, Runs, max_abs};
use saltus_system::{Point, State, StreamedDynamics, System};
use std::ops::Range;

/// Buffers, and the results of the last step.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    /// Whether the last step was streamed: `start` then lacks position and velocity, `trial` holds those before it.
    pub(super) was_used: bool,
    /// Fingerprint of its end state.
    pub(super) fingerprint: Fingerprint,
    /// Its length \[s\].
    pub(super) length: f64,
    /// Scratch for a range of DOFs and its neighbours.
    pub(super) q: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) force: Vec<f64>,
    pub(super) products: [Vec<f64>; 3],
    pub(super) reach: usize,
    /// Whether the round-off of the forces is subtracted from the residuals, which did not reach the tolerance otherwise.
    pub(super) subtracts_round_off: bool,
    pub(super) weight_runs: Runs,
    /// DOFs where `U` or `W` may be nonzero.
    pub(super) jump_ranges: Vec<Range<usize>>,
    /// Free motion along every row (m): gap, velocity and acceleration at the predicted end, and `G S⁻¹ f₀`.
    pub(super) gap: Vec<f64>,
    pub(super) velocity: Vec<f64>,
    pub(super) acceleration: Vec<f64>,
    pub(super) free_accelerations: Vec<f64>,
    /// Gaps at the end as predicted (m).
    pub(super) predicted_gap: Vec<f64>,
    /// Factors of the columns (m): of `S⁻¹Gᵀ` and `M⁻¹Gᵀ` in `x`, of `M⁻¹Gᵀ` in `U` and `W`.
    pub(super) factors: [Vec<f64>; 4],
}

impl Engine {
    /// The system with forces by ranges of DOFs, if its steps can be streamed.
    fn streamable<'a>(&self, system: &'a dyn System) -> Option<&'a dyn StreamedDynamics> {
        let direct = !matches!(
            self.settings.linear_solve,
            LinearSolve::Sequential | LinearSolve::Monolithic
        );
        let few = 3 * self.rows.len() <= DENSE_LIMIT;
        let nested = self.rows.contacts() == 0 || self.admits_nested_levels();
        let linear = self.dims.nv > DENSE_LIMIT && self.is_linear() && self.dims.ng == 0;
        if !(direct && few && linear && nested) {
            return None;
        }
        system.streamed()
    }

    /// One step; `None`, with the state unchanged, where it needs the general method.
    pub(super) fn streamed_step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Option<StepReport> {
        let local = self.streamable(system)?;
        let reach = reach_of(local, &self.tangent.mass, &self.tangent.stiffness)?;
        self.streaming
            .reserve(reach, self.rows.len(), &self.momentum_scale.weights);
        let inputs = StepInputs {
            local,
            q: &state.q,
            v: &state.v,
            h,
            t_eval: end,
            end,
        };
        let c = &self.settings.coefficients;
        self.response.kappa = h * h * c.beta * c.c_a();
        self.response.rho = h * c.gamma * c.c_a();
        self.response
            .factor(self.full_system(), &self.tangent)
            .ok()?;
        self.response.smooth_factors().sweep()?;
        let located = self.settings.location.is_some();
        if !self.streaming.was_used || self.start.t != state.t {
            let is_known = self.saved_filter.is_loaded || self.start.is_at(state);
            if located && !(is_known && self.start.is_filtered) {
                return None;
            }
            self.restart_streaming(system, inputs, state);
        }
        self.monitor.begin();
        if !self.begin_streamed(system, inputs) || located && !self.begin_located_streaming() {
            return None;
        }
        if self.forward(inputs) != self.streaming.fingerprint {
            if located {
                return None;
            }
            self.restart_streaming(system, inputs, state);
            if !self.begin_streamed(system, inputs) {
                return None;
            }
            self.forward(inputs);
        }
        self.predict_rows(inputs);
        let mut repeated = false;
        loop {
            if !self.solve_rows(h) {
                return None;
            }
            let totals = self.backward(inputs);
            let residual = self.residual_of_rows(system, inputs, &totals);
            if residual.ratio() <= 1.0 && (residual.rows <= 1.0 || repeated) {
                if located && self.closes_excluded_contact(h) {
                    return None;
                }
                let end_velocity = (end, self.trial.v.as_slice());
                let kinetic = totals.sums.energy().kinetic;
                check_kinetic(system, kinetic, end_velocity, &self.tangent.mass).ok()?;
                self.streaming.length = h;
                return Some(self.accept_streamed(system, state, (h, end), &totals));
            }
            let balanced = totals.residual(h) <= self.momentum_limit();
            if balanced && !repeated {
                // Round-off of the accumulated `G S⁻¹ f₀`: repeated with the prediction errors added.
                repeated = true;
            } else if balanced
                || self.streaming.subtracts_round_off
                || !residual.ratio().is_finite()
            {
                return None;
            } else {
                self.streaming.subtracts_round_off = true;
            }
            self.forward(inputs);
        }
    }

    /// Continues with the general method from the end of the last streamed step, or from another state; `true` in the first case.
    pub(super) fn leave_streaming(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<bool, StepError> {
        let continues =
            self.start.t == state.t && self.streaming.fingerprint == Fingerprint::of(state);
        self.streaming.was_used = false;
        self.trial.work.copy_from_slice(&self.start.filtered_force);
        self.evaluate_start(system, state)?;
        if continues {
            self.start.filtered_force.copy_from_slice(&self.trial.work);
        }
        Ok(continues)
    }

    /// Starts from a state that is not the end of a streamed step.
    fn restart_streaming(&mut self, system: &dyn System, inputs: StepInputs<'_>, state: &State) {
        if self.streaming.was_used || !self.start.is_at(state) {
            self.begin_filter(system, state);
        }
        let mut mv = std::mem::take(&mut self.streaming.products[0]);
        if let Some(sweep) = self.response.smooth_factors().sweep() {
            let at_start = StepInputs {
                t_eval: state.t,
                ..inputs
            };
            let r = &self.streaming;
            let weights = (&r.weight_runs, &self.momentum_scale.weights[..]);
            let mass = &self.tangent.mass;
            self.energy = energy_of_rows(&sweep, at_start, mass, r.reach, weights, &mut mv);
        }
        self.streaming.products[0] = mv;
        for rows in self.streaming.jump_ranges.drain(..) {
            self.trial.u[rows.clone()].fill(0.0);
            self.trial.w[rows].fill(0.0);
        }
        if !self.streaming.was_used {
            self.trial.u.fill(0.0);
            self.trial.w.fill(0.0);
        }
        self.streaming.fingerprint = Fingerprint::of(state);
        self.streaming.was_used = true;
        let (rows, start) = (&mut self.rows, &mut self.start);
        start.t = state.t;
        rows.evaluate_gaps(system, state.t, inputs.q);
        rows.update_directions(system, state.t, inputs.q);
        for j in 0..rows.len() {
            start.rate[j] = rows.rate[j];
            start.gap[j] = rows.gap[j];
            start.velocity[j] = rows.gradient().dot(j, inputs.v) + rows.rate[j];
        }
    }

    /// Gradients, activation parameters and columns of the step; `false` where a streamed step is not possible.
    fn begin_streamed(&mut self, system: &dyn System, inputs: StepInputs<'_>) -> bool {
        if !self.activation_is_computed {
            self.activation_parameters();
            self.activation_is_computed = true;
        }
        self.rows.evaluate_gaps(system, inputs.end, inputs.q);
        self.rows.update_directions(system, inputs.end, inputs.q);
        self.rows.update_row_norms(&self.momentum_scale.weights);
        if self.settings.formulation.smooth_level() == Some(SmoothLevel::Acceleration) {
            let at = Point {
                t: inputs.end,
                q: inputs.q,
                v: inputs.v,
            };
            let contacts = self.settings.formulation == Formulation::Pva(3);
            self.rows.evaluate_bias(system, at, contacts);
        }
        if self.settings.formulation == Formulation::HalfStep {
            self.forecast_half_step(system, inputs);
        }
        self.assemble_rows(system, inputs.end);
        let blocks = self.full_system();
        let possible = self.uses_compliances(blocks);
        if !possible || self.rows.contacts() == 0 {
            return possible;
        }
        let (c, gradient) = (&mut self.compliances, self.rows.gradient());
        let all = || c.all.iter().map(|&j| (j, j));
        let mass = self.response.mass_factors();
        let jumps = self.settings.formulation.has_jumps();
        if jumps || self.response.smooth_is_mass() {
            c.mass.add_all(mass, gradient, all());
        }
        if !self.response.smooth_is_mass() {
            let smooth = self.response.smooth_factors();
            c.smooth.add_all(smooth, gradient, all());
        }
        let kept = |j: &usize| {
            c.smooth(&self.response).column(*j).is_some() && (!jumps || c.mass.column(*j).is_some())
        };
        c.all.iter().all(kept)
    }

    /// Gaps, velocities and accelerations of the rows at the predicted end, without the acceleration of the step.
    fn predict_rows(&mut self, inputs: StepInputs<'_>) {
        let predictor = Predictor::new(self, inputs.h);
        let (r, rows, start) = (&mut self.streaming, &self.rows, &self.start);
        let gradient = rows.gradient();
        for j in 0..rows.len() {
            let (mut moved, mut velocity) = (0.0, 0.0);
            for (&k, g) in gradient.cols(j).iter().zip(gradient.values(j)) {
                let (xi, v) = predictor.one(inputs.v[k], start.a[k], start.v_dot[k]);
                moved += g * xi;
                velocity += g * v;
            }
            r.gap[j] = rows.gap[j] + moved;
            r.velocity[j] = velocity + rows.rate[j];
            r.acceleration[j] = 0.0;
        }
    }

    /// Active sets and multipliers from the compliances; `false` where damping couples the levels.
    fn solve_rows(&mut self, h: f64) -> bool {
        self.monitor.iterations += 1;
        if self.rows.contacts() == 0 {
            return true;
        }
        let t = &mut self.trial;
        for list in [&mut t.lambda, &mut t.nu, &mut t.jump_impulse] {
            list.fill(0.0);
        }
        let blocks = self.full_system();
        let levels: &[Level] = match self.settings.formulation {
            f if f.has_corrections() => &Level::ALL,
            Formulation::HalfStep => &[Level::Velocity],
            _ => &[Level::Smooth],
        };
        self.update_totals(h);
        self.open_all();
        for level in Level::ALL {
            for j in 0..self.rows.len() {
                let change = self.inactive_multiplier_change((level, j), h);
                *self.trial.multiplier((level, j)) += change;
            }
            self.update_totals(h);
        }
        self.evaluate_rows_by_compliances(h);
        self.monitor.remedy = Remedy::NestedLevels;
        self.choose_candidates();
        loop {
            self.list_rows(levels);
            let t = &self.trial;
            let nonzero = |z: &Vec<f64>| max_abs(z) > 0.0;
            if self.tangent.damped
                && (!self.condensed.unknowns.is_empty()
                    || [&t.lambda, &t.nu, &t.jump_impulse].into_iter().any(nonzero))
            {
                // With damping between the levels the general method is used.
                return false;
            }
            if !self.condensed.unknowns.is_empty() {
                self.fill_by_compliances(blocks, h, &|engine, unknown| {
                    -engine.residual_of(unknown)
                });
                self.redundant = self.redundant.max(self.solve_nested_levels(h));
                self.update_multipliers(blocks, h);
                self.update_totals(h);
                self.evaluate_rows_by_compliances(h);
            }
            if !self.add_closed_candidates(h) {
                return true;
            }
        }
    }

    /// Gaps, rates and accelerations of the rows for the current multipliers.
    fn evaluate_rows_by_compliances(&mut self, h: f64) {
        let blocks = self.full_system();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let factors = (kappa, rho, self.position_per_jump(h));
        let half_step = self.settings.formulation == Formulation::HalfStep;
        for i in 0..self.rows.len() {
            let free = self.streaming.free_accelerations[i];
            let (mut x, mut xi, mut v) = (free, kappa * free, rho * free);
            for j in 0..self.rows.len() {
                let levels = Level::ALL.map(|level| (level, *self.trial.multiplier((level, j))));
                if levels.iter().all(|(_, z)| *z == 0.0) {
                    continue;
                }
                let compliance = self.compliance(blocks, i, j);
                for (level, z) in levels {
                    if z != 0.0 {
                        let m = motion(compliance, level, factors);
                        x += m.0 * z;
                        xi += m.1 * z;
                        v += m.2 * z;
                    }
                }
            }
            let (r, rows) = (&self.streaming, &mut self.rows);
            rows.gap[i] = r.gap[i] + xi;
            rows.velocity[i] = r.velocity[i] + v;
            rows.smooth_velocity[i] = r.velocity[i] + rho * x;
            rows.acceleration[i] = r.acceleration[i] + rows.bias[i] + x;
            if !half_step {
                rows.forecast_gap[i] = rows.gap[i] - (xi - kappa * x);
            }
        }
    }

    /// Evaluates the constraint rows at the end of the step and the residual; prediction errors are added to the stored free motion.
    fn residual_of_rows(
        &mut self,
        system: &dyn System,
        inputs: StepInputs<'_>,
        totals: &EndSums,
    ) -> Residual {
        let momentum = self.momentum_limit();
        let mut residual = Residual {
            worst: Convergence {
                ratio: totals.residual(inputs.h) / momentum,
                location: Location::Velocity(0),
            },
            rows: 0.0,
        };
        if self.rows.contacts() == 0 || residual.ratio().is_nan() {
            return residual;
        }
        let half_step = self.settings.formulation == Formulation::HalfStep;
        self.streaming.predicted_gap.copy_from_slice(&self.rows.gap);
        self.rows.evaluate_gaps(system, inputs.end, &self.trial.q);
        let (r, rows, t) = (&mut self.streaming, &mut self.rows, &self.trial);
        for j in 0..rows.len() {
            let along = |x: &[f64]| rows.gradient().dot(j, x);
            let (velocity, x) = (along(&t.v) + rows.rate[j], along(&t.v_dot));
            let (correction, jump) = (along(&t.u), along(&t.w));
            r.acceleration[j] += (x + rows.bias[j]) - rows.acceleration[j];
            r.velocity[j] += velocity - rows.velocity[j];
            r.gap[j] += rows.gap[j] - r.predicted_gap[j];
            rows.velocity[j] = velocity;
            rows.smooth_velocity[j] = velocity - jump;
            rows.acceleration[j] = x + rows.bias[j];
            if !half_step {
                rows.forecast_gap[j] = rows.gap[j] - correction;
            }
        }
        for j in 0..self.rows.len() {
            self.row_residual(j, inputs.h, momentum, &mut residual);
        }
        residual
    }

    /// Gaps at mid-step extrapolated with the velocity at the start: the forecast of the half-step schemes.
    fn forecast_half_step(&mut self, system: &dyn System, inputs: StepInputs<'_>) {
        let rows = &mut self.rows;
        rows.evaluate_forecast_gaps(system, self.start.t + 0.5 * inputs.h, inputs.q);
        for i in 0..rows.contacts() {
            let along = rows
                .forecast
                .directions
                .dot(rows.forecast.first_row[i], inputs.v);
            rows.forecast_gap[i] += 0.5 * inputs.h * along;
        }
    }

    /// Work of the forces without a potential, with the weights of the scheme.
    fn work_of_rows(&mut self, system: &dyn System, state: &State, end: f64) -> f64 {
        if system.is_conservative() {
            return 0.0;
        }
        let t = &mut self.trial;
        for ((xi, to), from) in t.xi.iter_mut().zip(&t.q).zip(&state.q) {
            *xi = to - from;
        }
        self.work_of_forces(system, end)
    }

    /// Makes the end of the step the state, and reports on it.
    fn accept_streamed(
        &mut self,
        system: &dyn System,
        state: &mut State,
        (h, end): (f64, f64),
        totals: &EndSums,
    ) -> StepReport {
        let mut certificate = Certificate::EMPTY;
        let worst = (h * totals.sums.residual())
            .max(totals.correction.0 / h)
            .max(totals.jump.0);
        certificate.set(Entry::Dynamics, worst);
        self.certify_impacts(&mut certificate);
        self.clear_impulses();
        self.accumulate_impulses(h);
        let work_contact = self.work_of_reactions();
        self.work_moving += self.work_of_rheonomic_constraints();
        let work_external = self.work_of_rows(system, state, end);
        let (s, t) = (&mut self.start, &mut self.trial);
        std::mem::swap(&mut state.q, &mut t.q);
        std::mem::swap(&mut state.v, &mut t.v);
        std::mem::swap(&mut s.v_dot, &mut t.v_dot);
        std::mem::swap(&mut s.a, &mut t.a);
        for (to, from) in [
            (&mut s.lambda, &t.lambda),
            (&mut s.eta, &t.eta),
            (&mut s.gap, &self.rows.gap),
            (&mut s.velocity, &self.rows.velocity),
            (&mut s.rate, &self.rows.rate),
        ] {
            to.copy_from_slice(from);
        }
        s.t = end;
        state.t = end;
        self.streaming.fingerprint = totals.fingerprint;
        self.certify_end(system, &mut certificate);
        let before = self.energy;
        self.energy = totals.sums.energy();
        let gain = self.energy.total() - before.total();
        certificate.set(Entry::EnergyBalance, gain - work_external - work_contact);
        self.force_scale = self.force_scale.max(totals.sums.load());
        self.momentum_scale.scale = self.momentum_scale.scale.max(totals.sums.momentum());
        self.update_bias_scale();
        self.record_streamed_openings();
        self.report(h, (work_external, work_contact), certificate)
    }

    /// The state inside the last step, which was streamed.
    pub(super) fn interpolate_streamed(&self, fraction: f64, out: &mut State) {
        let predictor = Predictor::new(self, self.streaming.length);
        let t = &self.trial;
        out.q.clone_from(&t.q);
        out.v.clone_from(&t.v);
        for (i, (q, v)) in out.q.iter_mut().zip(&mut out.v).enumerate() {
            let first = predictor.h * *v;
            let (xi, smooth) = predictor.motion(*v, t.a[i], self.start.a[i]);
            if fraction >= 1.0 {
                *q += xi + t.u[i];
                *v = smooth + t.w[i];
            } else {
                *q += fraction * first + fraction * fraction * (xi - first);
                *v += fraction * (smooth - *v);
            }
        }
    }
}

impl Streaming {
    fn reserve(&mut self, reach: usize, m: usize, weights: &[f64]) {
        if self.reach == reach && self.gap.len() == m && !self.force.is_empty() {
            return;
        }
        self.reach = reach;
        let buffer_size = buffer_size(reach);
        let [a, b, c] = &mut self.products;
        for list in [&mut self.q, &mut self.v, &mut self.force, a, b, c] {
            list.resize(buffer_size, 0.0);
        }
        let [a, b, c, d] = &mut self.factors;
        for list in [
            &mut self.gap,
            &mut self.velocity,
            &mut self.acceleration,
            &mut self.free_accelerations,
            &mut self.predicted_gap,
            a,
            b,
            c,
            d,
        ] {
            list.resize(m, 0.0);
        }
        self.weight_runs.find(weights);
        self.jump_ranges.reserve(2 * weights.len() / PIECE + 2);
    }
}
