//! Pieces of a step: coefficients, filter variables, and pieces too short for the solver.

use super::super::coefficients::Coefficients;
use super::super::engine::Engine;
use crate::integrator::{StepError, StepReport};
use saltus_linear::max_abs;
use saltus_system::System;

/// Pieces shorter than this fraction of the step are advanced by a Taylor polynomial: round-off dominates their constraints.
const SHORT: f64 = 1e-5;

impl Engine {
    /// Saves the start of the step for a retry, and restarts the filters.
    pub(super) fn save_step_start(&mut self) {
        if !self.located.step_start_saved {
            self.located.origin.clone_from(&self.start);
            self.located.step_start_saved = true;
        }
        self.reset_filters();
    }

    /// Restores the saved start of the step, its rows and its mass matrix.
    pub(in crate::generalized_alpha) fn undo_location(&mut self, system: &dyn System) {
        if self.settings.location.is_none() {
            return;
        }
        if std::mem::take(&mut self.located.step_start_saved) {
            self.start.clone_from(&self.located.origin);
        }
        self.located.begin();
        self.evaluate_start_rows(system);
        if !self.mass_is_constant() {
            self.tangent.mass.clear();
            system.mass(&self.start.q, &mut self.tangent.mass);
        }
    }

    /// Starts from a state that is not the end of a step: consistent accelerations, no filter history.
    pub(in crate::generalized_alpha) fn start_location(
        &mut self,
        system: &dyn System,
    ) -> Result<(), StepError> {
        if self.settings.location.is_none() {
            return Ok(());
        }
        self.start.closed.fill(false);
        let ng = self.dims.ng;
        self.classify_contacts();
        self.located.v.copy_from_slice(&self.start.v);
        self.located
            .stays_closed
            .copy_from_slice(&self.start.closed);
        self.factor_fixed_mass(ng)?;
        self.solve_consistent_accelerations(system);
        self.store_accelerations();
        self.reset_filters();
        Ok(())
    }

    /// Restarts the filters: `a = v̇`, `η = λ`.
    pub(super) fn reset_filters(&mut self) {
        let start = &mut self.start;
        start.a.copy_from_slice(&start.v_dot);
        start.eta.copy_from_slice(&start.lambda);
        start
            .filtered_force
            .copy_from_slice(&start.nonconservative_force);
        start.is_filtered = false;
    }

    /// Filter variables at the end of a step without filter history: `a = v̇(t + (α_m − α_f) h)`, interpolated between its ends.
    pub(super) fn interpolate_filters(&mut self) {
        let c = self.located.scheme_coefficients;
        let c = c.unwrap_or(self.settings.coefficients);
        let shift = c.alpha_m - c.alpha_f;
        let start = &mut self.start;
        let [x, lambda, active] = &self.located.start_values;
        for (filtered, exact, start_values) in [
            (&mut start.a, &start.v_dot, x),
            (&mut start.eta, &start.lambda, lambda),
            (
                &mut start.filtered_force,
                &start.nonconservative_force,
                active,
            ),
        ] {
            for ((f, x), y) in filtered.iter_mut().zip(exact).zip(start_values) {
                *f = x + shift * (x - y);
            }
        }
        start.is_filtered = true;
        self.located.current.filter_interpolations += 1;
    }

    /// Coefficients of a piece.
    pub(super) fn use_piece_coefficients(&mut self) {
        if self.located.scheme_coefficients.is_none() {
            let trapezoidal = Coefficients::from_rho(1.0);
            let scheme = std::mem::replace(&mut self.settings.coefficients, trapezoidal);
            self.located.scheme_coefficients = Some(scheme);
        }
    }

    /// Coefficients of the scheme.
    pub(super) fn use_scheme_coefficients(&mut self) {
        if let Some(scheme) = self.located.scheme_coefficients.take() {
            self.settings.coefficients = scheme;
        }
    }

    /// Whether a piece is too short for the solver.
    pub(super) fn is_short(&self, length: f64) -> bool {
        length < SHORT * self.reference_step.unwrap_or(length)
    }

    /// Solves a piece of the given length \[s\]; its end is in `trial`.
    pub(super) fn try_piece(
        &mut self,
        system: &dyn System,
        length: f64,
        end: f64,
    ) -> Result<(), StepError> {
        self.located.current.solves += 1;
        if self.is_short(length) {
            self.extrapolate_taylor(system, length, end);
            return Ok(());
        }
        self.solve(system, length, end)
    }

    /// `v + h v̇`, `q ⊕ (h v + ½ h² v̇)`, constant accelerations and reactions.
    fn extrapolate_taylor(&mut self, system: &dyn System, h: f64, end: f64) {
        let (t, start) = (&mut self.trial, &self.start);
        for (to, from) in [
            (&mut t.v_dot, &start.v_dot),
            (&mut t.a, &start.v_dot),
            (&mut t.lambda, &start.lambda),
            (&mut t.eta, &start.lambda),
            (&mut t.q, &start.q),
        ] {
            to.copy_from_slice(from);
        }
        for list in [&mut t.u, &mut t.w, &mut t.nu, &mut t.jump_impulse] {
            list.fill(0.0);
        }
        for i in 0..t.v_dot.len() {
            t.xi[i] = h * start.v[i] + 0.5 * h * h * t.v_dot[i];
            t.vt[i] = start.v[i] + h * t.v_dot[i];
            t.v[i] = t.vt[i];
        }
        for (j, lambda) in t.lambda.iter().enumerate() {
            t.jump_impulse_total[j] = h * lambda;
            t.nu_total[j] = 0.5 * h * h * lambda;
        }
        t.residual.clear();
        system.retract(&mut t.q, &t.xi);
        t.extent = if self.is_flat { 0.0 } else { max_abs(&t.q) };
        for set in [
            &mut self.sets.position,
            &mut self.sets.velocity,
            &mut self.sets.smooth,
        ] {
            set.copy_from_slice(&start.closed);
            set[..self.dims.ng].fill(true);
        }
        let rows = &mut self.rows;
        rows.evaluate_gaps(system, end, &t.q);
        rows.update_directions(system, end, &t.q);
        rows.update_row_norms(&self.momentum_scale.weights);
        for j in 0..rows.len() {
            rows.velocity[j] = rows.gradient().dot(j, &t.v) + rows.rate[j];
        }
    }

    /// Makes the end of the piece in `trial` the start of the next one.
    pub(super) fn accept_piece(
        &mut self,
        system: &dyn System,
        length: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        // NaN makes `store_interpolant` begin at the start of the piece.
        self.interpolant.h = f64::NAN;
        let report = self.finish(system, length, end, earlier)?;
        let located = &mut self.located;
        if located.pieces.len() == located.used_pieces {
            located
                .pieces
                .push(super::super::engine::Interpolant::default());
        }
        located.pieces[located.used_pieces].copy_from(&self.interpolant);
        located.used_pieces += 1;
        self.record_openings();
        Ok(report)
    }
}
