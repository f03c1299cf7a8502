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

/// A contact that would touch within this part of a step counts as touching at an impact of another.
const SIMULTANEOUS: f64 = 1e-8;

impl Engine {
    /// Solves the impact of all closed contacts with `ġ⁻ < 0` at the start; without one, makes accelerations and reactions
    /// consistent. Returns the reports joined, and whether it was solved: if not, nothing has changed.
    pub(super) fn solve_impact(
        &mut self,
        system: &dyn System,
        sum: Option<StepReport>,
    ) -> Result<(Option<StepReport>, bool), StepError> {
        self.choose_impacting();
        self.factor_instant(self.dims.ng)?;
        let mut plastic = 0;
        loop {
            if !self.solve_post_impact_velocity() || !self.find_accelerations(system) {
                return Ok((sum, false));
            }
            match self.shorten_flights() {
                0 => break,
                more => plastic += more,
            }
        }
        let report = self.accept_impact(system, plastic);
        let joined = sum.map_or(report, |sum| join(&sum, report));
        Ok((Some(joined), true))
    }

    /// Which contacts take part in the impact with `ġ⁻ < 0`, and with which restitution.
    fn choose_impacting(&mut self) {
        let length = self.reference_step.unwrap_or(self.start.length);
        for j in self.dims.ng..self.rows.len() {
            let (gap, rate) = (self.start.gap[j], self.start.velocity[j]);
            let near = self.is_touching(j) || gap <= -rate * SIMULTANEOUS * length;
            let impacting = !self.start.closed[j] && rate < 0.0 && near;
            self.search.impacting[j] = impacting;
            let e = self.rows.set.law[j - self.dims.ng].e_n;
            self.search.restitution[j] = if impacting { e } else { 0.0 };
        }
    }

    /// Velocities after the impact, and which contacts stay closed.
    fn solve_post_impact_velocity(&mut self) -> bool {
        let ng = self.dims.ng;
        let takes_part =
            |engine: &Self, j: usize| engine.search.impacting[j] || engine.start.closed[j];
        self.instant.list.clear();
        self.instant.constant.clear();
        for j in 0..self.rows.len() {
            if j < ng || takes_part(self, j) {
                let before = self.search.restitution[j] * self.start.velocity[j];
                self.instant.list.push(j);
                self.instant.constant.push(self.start.rate[j] + before);
            }
        }
        self.instant.x.copy_from_slice(&self.start.v);
        if !self.solve_constrained(ng) {
            return false;
        }
        let search = &mut self.search;
        search.v.copy_from_slice(&self.instant.x);
        search.impulse.fill(0.0);
        for (&j, p) in self.instant.list.iter().zip(&self.instant.z) {
            search.impulse[j] = *p;
        }
        for j in 0..self.rows.len() {
            let after = self.rows.gradient().dot(j, &self.search.v) + self.start.rate[j];
            self.search.after[j] = after;
            self.search.stays_closed[j] =
                j >= ng && takes_part(self, j) && after <= self.rest_speed(j);
        }
        true
    }

    /// Accelerations and reactions at the start with the velocities of the search, where its contacts stay closed; in the instant.
    pub(super) fn find_accelerations(&mut self, system: &dyn System) -> bool {
        let ng = self.dims.ng;
        let v = std::mem::take(&mut self.search.v);
        self.evaluate_instant(system, &v);
        self.search.v = v;
        self.instant.list.clear();
        self.instant.list.extend(0..ng);
        let stays_closed = &self.search.stays_closed;
        let closed = (ng..self.rows.len()).filter(|j| stays_closed[*j]);
        self.instant.list.extend(closed);
        self.accelerate(ng) && max_abs(&self.instant.x).is_finite()
    }

    /// Makes rebounds plastic whose flight would be too short; how many.
    fn shorten_flights(&mut self) -> u64 {
        let Some(location) = self.settings.location else {
            return 0;
        };
        let length = self.reference_step.unwrap_or(self.start.length);
        let mut count = 0;
        for j in self.dims.ng..self.rows.len() {
            let search = &self.search;
            if !search.impacting[j] || search.stays_closed[j] || search.restitution[j] == 0.0 {
                continue;
            }
            let falls = -(self.rows.gradient().dot(j, &self.instant.x) + self.rows.bias[j]);
            if falls > 0.0 && 2.0 * search.after[j] < falls * location.shortest_flight * length {
                self.search.restitution[j] = 0.0;
                count += 1;
            }
        }
        count
    }

    /// Makes the state after the impact the start.
    fn accept_impact(&mut self, system: &dyn System, plastic: u64) -> StepReport {
        let certificate = self.certify_impact();
        let first = self.search.events.len();
        let strikes = self.search.impacting[self.dims.ng..].iter().any(|h| *h);
        if strikes {
            self.search.now.impacts += 1;
            self.search.now.plastic += plastic;
            self.note_impact();
        }
        self.part_impulse.copy_from_slice(&self.search.impulse);
        for (total, p) in self.impulse.iter_mut().zip(&self.part_impulse) {
            *total += p;
        }
        self.rows.velocity.copy_from_slice(&self.search.after);
        let work = self.work_of_reactions();
        self.work_moving -= dot(&self.part_impulse, &self.start.rate);
        let (start, search) = (&mut self.start, &self.search);
        start.v.copy_from_slice(&search.v);
        start.velocity.copy_from_slice(&search.after);
        start.closed.copy_from_slice(&search.stays_closed);
        start.momentum.fill(0.0);
        self.tangent.apply_mass(&start.v, &mut start.momentum);
        let at = Point {
            t: start.t,
            q: &start.q,
            v: &start.v,
        };
        system.active_force(at, &mut start.nonconservative_force);
        self.adopt_accelerations();
        self.reset_filters();
        let report = self.report_impact(system, work, certificate);
        for event in &mut self.search.events[first..] {
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
        let measure = self.reference_step.unwrap_or(self.start.length);
        self.update_scales(measure);
        self.report(measure, (0.0, work), certificate)
    }

    /// Residuals of the equations of the impact.
    fn certify_impact(&mut self) -> Certificate {
        let mut certificate = Certificate::EMPTY;
        let (start, search) = (&self.start, &self.search);
        let balance = &mut self.trial.work;
        for (b, p) in balance.iter_mut().zip(&start.momentum) {
            *b = -p;
        }
        self.tangent.apply_mass(&search.v, balance);
        for (j, p) in search.impulse.iter().enumerate() {
            self.rows.gradient().axpy(j, -p, balance);
        }
        certificate.set(Entry::Dynamics, max_abs(balance));
        let (mut natural, mut law) = (0.0_f64, 0.0_f64);
        for j in self.dims.ng..self.rows.len() {
            let p = search.impulse[j];
            if p > 0.0 {
                let u = search.after[j] + search.restitution[j] * start.velocity[j];
                natural = natural.max(u.min(p / self.activation[j]).abs());
                // The certificate measures Newton's law with the restitution of the contact, also where the rebound was made plastic.
                let e = if search.impacting[j] {
                    self.rows.set.law[j - self.dims.ng].e_n
                } else {
                    0.0
                };
                law = law.max((search.after[j] + e * start.velocity[j]).abs());
            }
        }
        if self.rows.contacts() > 0 {
            certificate.set(Entry::ComplementarityVelocity, natural);
            certificate.set(Entry::ImpactLaw, law);
        }
        certificate
    }

    /// Events of every contact that carried an impulse, and of those that close or open.
    fn note_impact(&mut self) {
        for j in self.dims.ng..self.rows.len() {
            let (p, impacting) = (self.search.impulse[j], self.search.impacting[j]);
            let rates = [self.start.velocity[j], self.search.after[j]];
            if p > 0.0 {
                self.note(EventKind::Impact, j, rates, p);
            }
            let stays_closed = self.search.stays_closed[j];
            if impacting && stays_closed {
                let e = self.rows.set.law[j - self.dims.ng].e_n;
                let ended = self.search.restitution[j] < e;
                let kind = if ended {
                    EventKind::Accumulation
                } else {
                    EventKind::Close
                };
                self.note(kind, j, [rates[1]; 2], 0.0);
            } else if self.start.closed[j] && !stays_closed {
                self.note(EventKind::Open, j, rates, 0.0);
            }
        }
    }
}
