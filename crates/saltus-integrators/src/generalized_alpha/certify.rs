//! The end of the step: it becomes the start of the next one, with energy and certificate.

use super::engine::Engine;
use super::located::CLOSED_GAP;
use super::settings::SmoothLevel;
use super::settings::{Formulation, Inactive};
use crate::certificate::{Certificate, Entry, Guarantees};
use crate::integrator::{Energy, StepError, StepReport};
use crate::kit::{
    certify_bilateral, certify_coordinates, certify_gaps, check_gaps, check_kinetic, energy_of,
};
use saltus_linear::max_abs;
use saltus_system::{Point, System};

impl Engine {
    /// Which entries hold in every step.
    pub(super) fn guarantees(&self) -> Guarantees {
        let tolerance = self.settings.tolerance;
        let formulation = self.settings.formulation;
        let star = self.settings.inactive == Inactive::Star;
        let gap = match self.settings.location {
            Some(_) => tolerance.max(CLOSED_GAP),
            None => tolerance,
        };
        let mut g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::QuaternionNorm, tolerance);
        let positions = formulation.has_corrections() || formulation == Formulation::Position;
        if positions {
            g = g.with(Entry::BilateralPosition, tolerance);
        }
        // With `Literal` an open row satisfies `r g > ν*` only, where `ν*` contains the filter history: gaps can be negative.
        let literal = formulation.filters_multipliers() && !star;
        if positions && !literal {
            g = g.with(Entry::Penetration, gap);
        }
        if formulation.has_jumps() || formulation == Formulation::Velocity {
            g = g.with(Entry::BilateralVelocity, tolerance);
        }
        if formulation.smooth_level() == Some(SmoothLevel::Acceleration) {
            g = g.with(Entry::BilateralAcceleration, 1e-9_f64.max(tolerance));
        }
        if formulation.has_jumps() && star {
            g = g.with(Entry::ComplementarityVelocity, tolerance);
            // Where impacts are located, a rebound may be made plastic.
            if self.settings.location.is_none() {
                g = g.with(Entry::ImpactLaw, tolerance);
            }
        }
        if formulation.filters_multipliers() && star || formulation == Formulation::Position {
            g = g.with(Entry::ComplementarityPosition, gap);
        }
        g
    }

    /// Makes the trial state the start of the next step and reports on it; `earlier` is the report of earlier substeps or pieces.
    pub(super) fn finish(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        let energy = self.energy_at_end(system, end)?;
        let mut certificate = Certificate::EMPTY;
        let scaling_step = self.reference_step.unwrap_or(h);
        self.certify_motion(scaling_step, &mut certificate);
        self.accumulate_impulses(h);
        let work_contact = self.work_of_reactions();
        self.work_moving += self.work_of_rheonomic_constraints();
        let work_external = self.work_of_forces(system, end);
        let before = self.energy;
        self.store_interpolant(h);
        self.copy_end_to_start(end);
        self.certify_end(system, &mut certificate);
        self.energy = energy;
        let gain = self.energy.total() - before.total();
        certificate.set(Entry::EnergyBalance, gain - work_external - work_contact);
        self.update_scales(scaling_step);
        let report = self.report(h, (work_external, work_contact), certificate);
        Ok(earlier.map_or(report, |earlier| join(&earlier, report)))
    }

    /// The report of a step that ended in `start`.
    pub(super) fn report(
        &mut self,
        h: f64,
        (work_external, work_contact): (f64, f64),
        certificate: Certificate,
    ) -> StepReport {
        let ng = self.dims.ng;
        let active = self.impulse[ng..].iter().filter(|p| **p > 0.0).count();
        StepReport {
            iterations: self.monitor.iterations,
            active: u32::try_from(active).unwrap_or(u32::MAX),
            redundant: std::mem::take(&mut self.redundant),
            remedies: self.monitor.remedies,
            work_external,
            work_contact,
            ..StepReport::at_rest(h, self.energy, certificate)
        }
    }

    /// Residuals of the momentum balances and of the impact law, with the constraint gradients at the end of the step.
    fn certify_motion(&self, h: f64, certificate: &mut Certificate) {
        let r = &self.trial.residual;
        let worst = (h * max_abs(&r.smooth))
            .max(max_abs(&r.correction) / h)
            .max(max_abs(&r.jump));
        certificate.set(Entry::Dynamics, worst);
        self.certify_impacts(certificate);
    }

    /// Residuals of the impact law.
    pub(super) fn certify_impacts(&self, certificate: &mut Certificate) {
        if self.rows.contacts() == 0 || !self.settings.formulation.has_jumps() {
            return;
        }
        let (mut natural, mut law) = (0.0_f64, 0.0_f64);
        for j in self.dims.ng..self.rows.len() {
            if !self.sets.velocity[j] {
                continue;
            }
            let u = self.residual_of((super::levels::Level::Velocity, j));
            let p = self.trial.jump_impulse_total[j] / self.activation[j];
            natural = natural.max(u.min(p).abs());
            law = law.max(match self.settings.location {
                None => u.abs(),
                Some(_) => self.newton_law_residual(j),
            });
        }
        certificate.set(Entry::ComplementarityVelocity, natural);
        certificate.set(Entry::ImpactLaw, law);
    }

    /// Residual of Newton's law at contact row `j`, in a piece solved without rebounds.
    fn newton_law_residual(&self, j: usize) -> f64 {
        let e = self.rows.set.law[j - self.dims.ng].e_n;
        let before = self.start.velocity[j];
        if self.trial.jump_impulse_total[j] > 0.0 && before < 0.0 && !self.start.closed[j] {
            (self.rows.velocity[j] + e * before).abs()
        } else {
            0.0
        }
    }

    /// Computes the impulses of this substep or piece and adds them to those of the whole step.
    pub(super) fn accumulate_impulses(&mut self, h: f64) {
        let t = &self.trial;
        let filters = self.settings.formulation.filters_multipliers();
        let star = self.settings.inactive == Inactive::Star;
        let jumps = self.settings.formulation.has_jumps();
        for (j, total) in self.impulse.iter_mut().enumerate() {
            let smooth = if filters { 0.0 } else { h * t.lambda[j] };
            // The impulse of an open row is exactly zero.
            let open = jumps && star && !self.sets.velocity[j];
            self.part_impulse[j] = if open {
                0.0
            } else {
                t.jump_impulse_total[j] + smooth
            };
            *total += self.part_impulse[j];
        }
    }

    /// Work of rheonomic constraints and moving obstacles (`∂g/∂t ≠ 0`) in this substep or piece \[J\].
    pub(super) fn work_of_rheonomic_constraints(&self) -> f64 {
        let rates = self.start.rate.iter().zip(&self.rows.rate);
        let terms = self.part_impulse.iter().zip(rates);
        -terms
            .map(|(p, (before, after))| 0.5 * p * (before + after))
            .sum::<f64>()
    }

    /// Work of impulses and reactions, with the mean of the velocities at both ends.
    pub(super) fn work_of_reactions(&self) -> f64 {
        let rows = &self.rows;
        (0..rows.len())
            .map(|j| {
                let before = self.start.velocity[j] - self.start.rate[j];
                let after = rows.velocity[j] - rows.rate[j];
                0.5 * self.part_impulse[j] * (before + after)
            })
            .sum()
    }

    /// Work of the forces without a potential along the displacement of the step, with the weights of the scheme:
    /// `(1−γ) f̄_n + γ f̄_{n+1}`, where `f̄` is filtered as `a` is from `v̇`. Other quadratures are wrong where damping
    /// is stiff. Stores the forces in `start`.
    pub(super) fn work_of_forces(&mut self, system: &dyn System, end: f64) -> f64 {
        let c = &self.settings.coefficients;
        let (c_a, history) = (c.c_a(), c.history_weights());
        let t = &mut self.trial;
        let at = Point {
            t: end,
            q: &t.q,
            v: &t.v,
        };
        system.active_force(at, &mut t.work);
        let start = &mut self.start;
        let mut work = 0.0;
        for i in 0..t.work.len() {
            let (before, force) = (start.filtered_force[i], t.work[i]);
            let after = c_a * force + history.of(before, start.nonconservative_force[i]);
            work += c.newmark_velocity(before, after) * t.xi[i];
            (start.nonconservative_force[i], start.filtered_force[i]) = (force, after);
        }
        work
    }

    fn store_interpolant(&mut self, h: f64) {
        let (b, t) = (&mut self.interpolant, &self.trial);
        if b.h != h {
            // A step in substeps is interpolated over its last one only.
            b.h = h;
            b.q.copy_from_slice(&self.start.q);
            b.v.copy_from_slice(&self.start.v);
        }
        b.vt.copy_from_slice(&t.vt);
        for i in 0..b.xi.len() {
            b.xi[i] = t.xi[i] - t.u[i];
        }
    }

    /// Momentum and energy at the end of the step; an error where the kinetic energy is negative or not finite.
    fn energy_at_end(&mut self, system: &dyn System, end: f64) -> Result<Energy, StepError> {
        check_gaps(system, &self.rows.set, end)?;
        let constant = self.is_time_invariant() || self.mass_is_constant();
        let (t, tangent) = (&mut self.trial, &mut self.tangent);
        if !constant {
            tangent.mass.clear();
            system.mass(&t.q, &mut tangent.mass);
        }
        t.momentum.fill(0.0);
        tangent.apply_mass(&t.v, &mut t.momentum);
        let energy = energy_of(system, (end, &t.q), (&t.v, &t.momentum));
        check_kinetic(system, energy.kinetic, (end, &t.v), &tangent.mass)?;
        Ok(energy)
    }

    /// Copies the end of the step to `start`.
    fn copy_end_to_start(&mut self, end: f64) {
        let (s, t) = (&mut self.start, &mut self.trial);
        s.t = end;
        std::mem::swap(&mut s.momentum, &mut t.momentum);
        for (to, from) in [
            (&mut s.q, &t.q),
            (&mut s.v, &t.v),
            (&mut s.v_dot, &t.v_dot),
            (&mut s.a, &t.a),
            (&mut s.lambda, &t.lambda),
            (&mut s.eta, &t.eta),
            (&mut s.gap, &self.rows.gap),
            (&mut s.velocity, &self.rows.velocity),
            (&mut s.rate, &self.rows.rate),
        ] {
            to.copy_from_slice(from);
        }
    }

    /// Certificate entries of constraints and contacts at the end of the step.
    pub(super) fn certify_end(&mut self, system: &dyn System, certificate: &mut Certificate) {
        let ng = self.dims.ng;
        certify_coordinates(system, &self.start.q, certificate);
        if ng > 0 {
            if self.settings.formulation.smooth_level() != Some(SmoothLevel::Acceleration) {
                self.evaluate_end_bias(system);
            }
            let rows = &self.rows;
            let accelerations =
                (0..ng).map(|j| rows.gradient().dot(j, &self.start.v_dot) + rows.bias[j]);
            let worst = accelerations.fold(0.0_f64, |m, a| m.max(a.abs()));
            certificate.set(Entry::BilateralAcceleration, worst);
        }
        let (gap, velocity) = (&self.rows.gap, &self.start.velocity);
        certify_bilateral(&gap[..ng], &velocity[..ng], certificate);
        // The impulses of the last part only: a contact may have opened since an earlier one.
        certify_gaps(&gap[ng..], &self.part_impulse[ng..], certificate);
    }

    /// The report of the initial state.
    pub(super) fn initial_report(
        &mut self,
        system: &dyn System,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.rows.velocity.copy_from_slice(&self.start.velocity);
        self.clear_impulses();
        self.part_impulse.fill(0.0);
        self.energy = self.energy_at_start(system);
        let mut certificate = Certificate::EMPTY;
        self.certify_end(system, &mut certificate);
        Ok(StepReport::at_rest(h, self.energy, certificate))
    }

    /// A report with an empty certificate.
    pub(super) fn empty_report(&self, h: f64) -> StepReport {
        StepReport::at_rest(h, self.energy, Certificate::EMPTY)
    }

    /// Energy of the state in `start`, whose momentum is up to date.
    pub(super) fn energy_at_start(&self, system: &dyn System) -> Energy {
        let start = &self.start;
        energy_of(system, (start.t, &start.q), (&start.v, &start.momentum))
    }
}

/// The report of two consecutive parts of one step.
pub(super) fn join(first: &StepReport, last: StepReport) -> StepReport {
    let mut certificate = last.certificate;
    for (entry, value) in first.certificate.iter() {
        let sum = entry == Entry::EnergyBalance;
        let joined = if sum {
            value + certificate.get(entry)
        } else {
            value.max(certificate.get(entry))
        };
        certificate.set(entry, joined);
    }
    StepReport {
        redundant: first.redundant.max(last.redundant),
        work_external: first.work_external + last.work_external,
        work_contact: first.work_contact + last.work_contact,
        certificate,
        ..last
    }
}
