//! An impact at one position: Newton's law for velocities, then the accelerations and reactions that follow.
//!
//! Contacts that are closed or closing take part, with `e = 0` where they are closed. As every one of them has `ġ⁻ ≤ 0`, the kinetic
//! energy changes by `½ Σ (1 − e) ġ⁻ p ≤ 0`, whatever their coefficients are.

use super::super::certify::join;
use super::super::engine::Engine;
use crate::certificate::{Certificate, Entry};
use crate::integrator::{EventKind, StepError, StepReport};
use saltus_linear::{dot, max_abs};
use saltus_system::{Point, System};

/// A contact that would close within this fraction of a step takes part in the impact of another.
const SIMULTANEOUS: f64 = 1e-8;

impl Engine {
    /// Solves the impact of all closed contacts with `ġ⁻ < 0` at the start; without one, makes accelerations and reactions
    /// consistent. Returns the reports joined, and whether it was solved: if not, nothing has changed.
    pub(super) fn solve_impact(
        &mut self,
        system: &dyn System,
        earlier: Option<StepReport>,
    ) -> Result<(Option<StepReport>, bool), StepError> {
        self.choose_impacting();
        self.factor_fixed_mass(self.dims.ng)?;
        let mut plastic = 0;
        loop {
            if !self.solve_post_impact_velocity() || !self.solve_consistent_accelerations(system) {
                return Ok((earlier, false));
            }
            match self.suppress_short_rebounds() {
                0 => break,
                more => plastic += more,
            }
        }
        let report = self.accept_impact(system, plastic);
        let joined = earlier.map_or(report, |earlier| join(&earlier, report));
        Ok((Some(joined), true))
    }

    /// The contacts of the impact with `ġ⁻ < 0`, and their restitution.
    fn choose_impacting(&mut self) {
        let length = self.reference_step.unwrap_or(self.start.length);
        for j in self.dims.ng..self.rows.len() {
            let (gap, rate) = (self.start.gap[j], self.start.velocity[j]);
            let near = self.is_touching(j) || gap <= -rate * SIMULTANEOUS * length;
            let impacting = !self.start.closed[j] && rate < 0.0 && near;
            self.located.impacting[j] = impacting;
            let e = self.rows.set.law[j - self.dims.ng].e_n;
            self.located.restitution[j] = if impacting { e } else { 0.0 };
        }
    }

    /// Velocities after the impact, and which contacts stay closed.
    fn solve_post_impact_velocity(&mut self) -> bool {
        let ng = self.dims.ng;
        let takes_part =
            |engine: &Self, j: usize| engine.located.impacting[j] || engine.start.closed[j];
        self.fixed.rows.clear();
        self.fixed.constant.clear();
        for j in 0..self.rows.len() {
            if j < ng || takes_part(self, j) {
                let before = self.located.restitution[j] * self.start.velocity[j];
                self.fixed.rows.push(j);
                self.fixed.constant.push(self.start.rate[j] + before);
            }
        }
        self.fixed.x.copy_from_slice(&self.start.v);
        if !self.solve_constrained(ng) {
            return false;
        }
        let located = &mut self.located;
        located.v.copy_from_slice(&self.fixed.x);
        located.impulse.fill(0.0);
        for (&j, p) in self.fixed.rows.iter().zip(&self.fixed.z) {
            located.impulse[j] = *p;
        }
        for j in 0..self.rows.len() {
            let after = self.rows.gradient().dot(j, &self.located.v) + self.start.rate[j];
            self.located.after[j] = after;
            self.located.stays_closed[j] =
                j >= ng && takes_part(self, j) && after <= self.rest_speed(j);
        }
        true
    }

    /// Accelerations and reactions at the start with the velocities after the impact and the contacts that stay closed.
    pub(super) fn solve_consistent_accelerations(&mut self, system: &dyn System) -> bool {
        let ng = self.dims.ng;
        let v = std::mem::take(&mut self.located.v);
        self.evaluate_force_and_bias(system, &v);
        self.located.v = v;
        self.fixed.rows.clear();
        self.fixed.rows.extend(0..ng);
        let stays_closed = &self.located.stays_closed;
        let closed = (ng..self.rows.len()).filter(|j| stays_closed[*j]);
        self.fixed.rows.extend(closed);
        self.solve_accelerations(ng) && max_abs(&self.fixed.x).is_finite()
    }

    /// Makes rebounds plastic whose flight would be too short; returns their number.
    fn suppress_short_rebounds(&mut self) -> u64 {
        let Some(location) = self.settings.location else {
            return 0;
        };
        let length = self.reference_step.unwrap_or(self.start.length);
        let mut count = 0;
        for j in self.dims.ng..self.rows.len() {
            let located = &self.located;
            if !located.impacting[j] || located.stays_closed[j] || located.restitution[j] == 0.0 {
                continue;
            }
            let closing_acceleration =
                -(self.rows.gradient().dot(j, &self.fixed.x) + self.rows.bias[j]);
            if closing_acceleration > 0.0
                && 2.0 * located.after[j] < closing_acceleration * location.shortest_flight * length
            {
                self.located.restitution[j] = 0.0;
                count += 1;
            }
        }
        count
    }

    /// Makes the state after the impact the start.
    fn accept_impact(&mut self, system: &dyn System, plastic: u64) -> StepReport {
        let certificate = self.certify_impact();
        let first = self.located.events.len();
        let has_impact = self.located.impacting[self.dims.ng..].iter().any(|i| *i);
        if has_impact {
            self.located.current.impacts += 1;
            self.located.current.plastic += plastic;
            self.record_impact();
        }
        self.part_impulse.copy_from_slice(&self.located.impulse);
        for (total, p) in self.impulse.iter_mut().zip(&self.part_impulse) {
            *total += p;
        }
        self.rows.velocity.copy_from_slice(&self.located.after);
        let work = self.work_of_reactions();
        self.work_moving -= dot(&self.part_impulse, &self.start.rate);
        let (start, located) = (&mut self.start, &self.located);
        start.v.copy_from_slice(&located.v);
        start.velocity.copy_from_slice(&located.after);
        start.closed.copy_from_slice(&located.stays_closed);
        start.momentum.fill(0.0);
        self.tangent.apply_mass(&start.v, &mut start.momentum);
        let at = Point {
            t: start.t,
            q: &start.q,
            v: &start.v,
        };
        system.active_force(at, &mut start.nonconservative_force);
        self.store_accelerations();
        self.reset_filters();
        let report = self.report_impact(system, work, certificate);
        for event in &mut self.located.events[first..] {
            event.energy = Some(report.energy);
        }
        report
    }

    fn report_impact(
        &mut self,
        system: &dyn System,
        work: f64,
        mut certificate: Certificate,
    ) -> StepReport {
        self.certify_end(system, &mut certificate);
        let before = self.energy;
        self.energy = self.energy_at_start(system);
        let gain = self.energy.total() - before.total();
        certificate.set(Entry::EnergyBalance, gain - work);
        let scaling_step = self.reference_step.unwrap_or(self.start.length);
        self.update_scales(scaling_step);
        self.report(scaling_step, (0.0, work), certificate)
    }

    /// Residuals of the equations of the impact.
    fn certify_impact(&mut self) -> Certificate {
        let mut certificate = Certificate::EMPTY;
        let (start, located) = (&self.start, &self.located);
        let balance = &mut self.trial.work;
        for (b, p) in balance.iter_mut().zip(&start.momentum) {
            *b = -p;
        }
        self.tangent.apply_mass(&located.v, balance);
        for (j, p) in located.impulse.iter().enumerate() {
            self.rows.gradient().axpy(j, -p, balance);
        }
        certificate.set(Entry::Dynamics, max_abs(balance));
        let (mut natural, mut law) = (0.0_f64, 0.0_f64);
        for j in self.dims.ng..self.rows.len() {
            let p = located.impulse[j];
            if p > 0.0 {
                let u = located.after[j] + located.restitution[j] * start.velocity[j];
                natural = natural.max(u.min(p / self.activation[j]).abs());
                // The certificate measures Newton's law with the restitution of the contact, also where the rebound was made plastic.
                let e = if located.impacting[j] {
                    self.rows.set.law[j - self.dims.ng].e_n
                } else {
                    0.0
                };
                law = law.max((located.after[j] + e * start.velocity[j]).abs());
            }
        }
        if self.rows.contacts() > 0 {
            certificate.set(Entry::ComplementarityVelocity, natural);
            certificate.set(Entry::ImpactLaw, law);
        }
        certificate
    }

    /// Events of every contact that carried an impulse, and of those that close or open.
    fn record_impact(&mut self) {
        for j in self.dims.ng..self.rows.len() {
            let (p, impacting) = (self.located.impulse[j], self.located.impacting[j]);
            let rates = [self.start.velocity[j], self.located.after[j]];
            if p > 0.0 {
                self.record_event(EventKind::Impact, j, rates, p);
            }
            let stays_closed = self.located.stays_closed[j];
            if impacting && stays_closed {
                let e = self.rows.set.law[j - self.dims.ng].e_n;
                if self.located.restitution[j] < e {
                    self.record_event(EventKind::Accumulation, j, [rates[1]; 2], 0.0);
                }
                self.record_event(EventKind::Close, j, [rates[1]; 2], 0.0);
            } else if self.start.closed[j] && !stays_closed {
                self.record_event(EventKind::Open, j, rates, 0.0);
            }
        }
    }
}
