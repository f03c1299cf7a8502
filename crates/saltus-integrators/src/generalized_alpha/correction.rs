//! One correction of Newton's method, by one of the solvers of its linear system.

use super::engine::Engine;
use super::levels::Level;
use super::monitor::Remedy;
use super::response::BlockSystem;
use super::settings::{Formulation, LinearSolve, SmoothLevel};
use super::tangent::Tangent;
use crate::integrator::StepError;
use saltus_linear::{LinearError, max_abs};
use saltus_system::{Point, System};

impl Engine {
    /// One correction of the trial state with fixed active sets.
    pub(super) fn correct(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        with_tangents: bool,
    ) -> Result<(), StepError> {
        if !self.is_time_invariant() && !with_tangents {
            self.evaluate(system, h, end, true);
        }
        if self.solves_nested_levels() {
            self.choose_candidates();
        }
        self.assemble(system, h, end);
        self.redundant = 0;
        match self.settings.linear_solve {
            _ if self.monitor.remedy != Remedy::None => self.correct_condensed(system, h, end),
            LinearSolve::Sequential => self.correct_sequentially(system, h, end),
            LinearSolve::Monolithic => {
                self.zero_inactive(h, &Level::ALL);
                self.solve_monolithic(h)
            }
            _ => self.correct_condensed(system, h, end),
        }
        .map_err(|source| StepError::Singular {
            source,
            scheme: self.settings.scheme,
            mass_is_regular: self.tangent.mass.factorise().is_ok(),
        })
    }

    fn correct_condensed(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Result<(), LinearError> {
        self.zero_inactive(h, &Level::ALL);
        let corrections = self.settings.formulation.has_corrections();
        let levels: &[Level] = match (corrections, self.settings.formulation) {
            (true, _) => &Level::ALL,
            (_, Formulation::HalfStep) => &[Level::Velocity],
            _ => &[Level::Smooth],
        };
        match self.correct_levels(system, self.full_system(), levels, (h, end)) {
            Err(LinearError::Singular { .. })
                if self.settings.formulation != Formulation::HalfStep =>
            {
                if self.solves_nested_levels() {
                    self.monitor.remedy = Remedy::Simultaneous;
                    self.update_active_sets(h);
                    self.zero_inactive(h, &Level::ALL);
                    self.assemble_rows(system, end);
                }
                self.solve_monolithic(h)
            }
            outcome => outcome,
        }
    }

    /// Three subproblems one after the other (2014, Algorithm 1).
    fn correct_sequentially(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Result<(), LinearError> {
        let formulation = self.settings.formulation;
        self.zero_inactive(h, &[Level::Smooth]);
        self.correct_levels(system, BlockSystem::Smooth, &[Level::Smooth], (h, end))?;
        if formulation.has_corrections() {
            self.refresh(system, h, end);
            self.zero_inactive(h, &[Level::Position]);
            self.assemble_corrections(system, end);
            if !self.is_flat {
                let d = &mut self.tangent;
                d.correction.multiply_right(&d.retraction_tangent);
            }
            self.correct_levels(
                system,
                BlockSystem::Corrections,
                &[Level::Position],
                (h, end),
            )?;
        }
        if formulation.has_jumps() {
            self.refresh(system, h, end);
            self.zero_inactive(h, &[Level::Velocity]);
            self.correct_levels(system, BlockSystem::Jumps, &[Level::Velocity], (h, end))?;
        }
        Ok(())
    }

    /// Evaluates the trial state with the corrected unknowns; the active sets are not updated.
    fn refresh(&mut self, system: &dyn System, h: f64, end: f64) {
        self.update_trial(system, h);
        self.evaluate(system, h, end, false);
    }

    /// Sets the multipliers of inactive rows to zero: `λ`, and `ν*`, `Λ*` (`ν`, `Λ` with `inactive = "literal"`).
    pub(super) fn zero_inactive(&mut self, h: f64, levels: &[Level]) {
        for &level in levels {
            let mut changed = false;
            for j in 0..self.rows.len() {
                let change = self.inactive_multiplier_change((level, j), h);
                if change == 0.0 {
                    continue;
                }
                let t = &mut self.trial;
                *t.multiplier((level, j)) += change;
                changed = true;
                let residual = match level {
                    Level::Smooth => &mut t.residual.smooth,
                    Level::Position => &mut t.residual.correction,
                    Level::Velocity => &mut t.residual.jump,
                };
                self.rows.gradient().axpy(j, -change, residual);
            }
            if changed {
                self.update_totals(h);
            }
        }
    }

    /// All derivatives at the trial state.
    pub(super) fn assemble(&mut self, system: &dyn System, h: f64, end: f64) {
        if self.is_linear() {
            return;
        }
        let rows_are_nonlinear = !self.rows_are_linear();
        let time_invariant = self.is_time_invariant();
        let (d, t) = (&mut self.tangent, &self.trial);
        if time_invariant {
            d.stiffness.clear();
            d.stiffness.add_scaled(1.0, &d.constant_stiffness);
        } else {
            d.stiffness.add_scaled(1.0, &d.correction);
        }
        if rows_are_nonlinear {
            let at = (end, t.q.as_slice());
            self.rows
                .curvature(system, at, &t.lambda, -1.0, &mut d.stiffness);
        }
        self.assemble_corrections(system, end);
        self.assemble_jumps(system, h, end);
        self.assemble_rows(system, end);
        let d = &mut self.tangent;
        if !self.is_flat {
            d.retraction_tangent.clear();
            system.retract_tangent(&self.start.q, &self.trial.xi, &mut d.retraction_tangent);
            for matrix in [&mut d.stiffness, &mut d.correction, &mut d.jump] {
                matrix.multiply_right(&d.retraction_tangent);
            }
        }
        d.damped = Tangent::is_nonzero(&mut d.damping);
        d.stiff = Tangent::is_nonzero(&mut d.stiffness);
        // Curvature terms that are negligible beside the mass are left out.
        d.has_jump_tangent = Tangent::is_significant(&mut d.jump, &self.momentum_scale.weights, h);
        d.has_correction_tangent =
            Tangent::is_significant(&mut d.correction, &self.momentum_scale.weights, 1.0);
    }

    /// `D(M U − Gᵀν)`.
    fn assemble_corrections(&mut self, system: &dyn System, end: f64) {
        if self.is_linear() || self.settings.formulation == Formulation::HalfStep {
            return;
        }
        let constant = self.mass_is_constant();
        let rows_are_nonlinear = !self.rows_are_linear();
        let (d, t) = (&mut self.tangent, &self.trial);
        d.correction.clear();
        if !constant && max_abs(&t.u) > 0.0 {
            system.mass_gradient(&t.q, &t.u, &mut d.correction);
        }
        if rows_are_nonlinear {
            let at = (end, t.q.as_slice());
            self.rows
                .curvature(system, at, &t.nu, -1.0, &mut d.correction);
        }
        d.has_correction_tangent =
            Tangent::is_significant(&mut d.correction, &self.momentum_scale.weights, 1.0);
    }

    /// `D(M W − GᵀΛ)`.
    fn assemble_jumps(&mut self, system: &dyn System, h: f64, end: f64) {
        let constant = self.mass_is_constant();
        let rows_are_nonlinear = !self.rows_are_linear();
        let position_per_jump = self.position_per_jump(h);
        let (d, t) = (&mut self.tangent, &self.trial);
        d.jump.clear();
        if !constant && max_abs(&t.w) > 0.0 {
            system.mass_gradient(&t.q, &t.w, &mut d.jump);
        }
        if rows_are_nonlinear {
            let at = (end, t.q.as_slice());
            self.rows
                .curvature(system, at, &t.jump_impulse, -1.0, &mut d.jump);
        }
        if position_per_jump != 0.0 {
            d.correction.clear();
            d.correction.add_scaled(position_per_jump, &d.jump);
        }
    }

    /// Derivatives of the constraint rows of velocity and acceleration level at the trial state; those of contacts only where any can
    /// have multipliers.
    pub(super) fn assemble_rows(&mut self, system: &dyn System, end: f64) {
        let contacts = self.is_linear() || self.lists_contacts();
        let formulation = self.settings.formulation;
        let rows_are_nonlinear = !self.rows_are_linear();
        let t = &self.trial;
        let at = Point {
            t: end,
            q: &t.q,
            v: &t.v,
        };
        let rows = &mut self.rows;
        match formulation.smooth_level() {
            Some(SmoothLevel::Acceleration) if rows_are_nonlinear => {
                rows.update_acceleration_gradient(system, at, &t.v_dot, contacts)
            }
            Some(SmoothLevel::Acceleration) => rows.update_bias_damping(system, at, contacts),
            Some(SmoothLevel::Velocity) if rows_are_nonlinear => {
                rows.update_smooth_velocity_gradient(system, (end, &t.q), &t.vt);
            }
            _ => {}
        }
        if rows_are_nonlinear && formulation.has_jumps() {
            rows.update_velocity_gradient(system, (end, &t.q), &t.v, contacts);
        }
    }
}
