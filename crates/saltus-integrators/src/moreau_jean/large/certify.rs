//! What holds at the end of a step of a large time-invariant system, and the messages of one that was not solved.

use super::LargeLinear;
use crate::certificate::{Certificate, Entry};
use crate::integrator::{StepError, StepReport};
use crate::kit::{
    Convergence, Location, PULLED, Row, certify_coordinates, certify_gaps, certify_impact_law,
    check_kinetic, cure_of_contacts, first_not_finite, row_name,
};
use crate::round_off;
use crate::streaming::Sums;
use saltus_complementarity::Outcome;
use saltus_system::{Point, System};

impl LargeLinear {
    /// A motion at rest without forces until now takes its scale from the first forces, and from prescribed motions.
    pub(super) fn begin_scale(&mut self, h: f64) {
        let (scale, c) = (&mut self.momentum_scale, &self.contact);
        scale.begin(&self.smooth.force, h);
        scale.include_contacts(&c.set, h);
        for &i in &c.active.list {
            let row = c.law.first_row[i];
            let (cols, values) = (c.law.directions.cols(row), c.law.directions.values(row));
            scale.include_rate(cols, values, c.law.rate[row]);
        }
    }

    /// `e u_k` of contact `i`.
    pub(super) fn rebound(&self, i: usize) -> f64 {
        self.contact.law.law[i].e_n * self.contact.start_velocity[i]
    }

    /// Residual of the impact law of contact `i`, the `k`-th of the step, in velocity units: `min(κ R, u⁺ + e u⁻)`.
    fn law_residual(&self, k: usize, i: usize) -> f64 {
        let c = &self.contact;
        let w = c.velocity[i] + self.rebound(i);
        let carried = if c.impulse[i] == 0.0 {
            0.0
        } else {
            self.one_step.compliance(k) * c.impulse[i]
        };
        if w.is_nan() { w } else { w.min(carried) }
    }

    /// The largest residual of the impact law relative to its tolerance.
    fn worst_law(&self) -> Convergence {
        let c = &self.contact;
        let mut worst = Convergence::NONE;
        for (k, &i) in c.active.list.iter().enumerate() {
            let row = c.law.first_row[i];
            let (cols, values) = (c.law.directions.cols(row), c.law.directions.values(row));
            let tolerance = self.options.tolerance;
            let nothing = self.momentum_scale.velocity_bound(cols, values, tolerance);
            let residual = self.law_residual(k, i).abs();
            worst.include(residual, nothing, Location::Contact(i));
        }
        worst
    }

    /// Largest residual of the impact law over its tolerance.
    pub(super) fn law_ratio(&self) -> f64 {
        self.worst_law().ratio
    }

    /// The largest residual relative to its tolerance, of momentum above its round-off.
    pub(super) fn worst_residual(&self) -> Convergence {
        let (s, scale) = (&self.smooth, &self.momentum_scale);
        let tolerance = self.options.tolerance * scale.scale;
        let mut worst = self.worst_law();
        let known = s.round_off.iter().zip(&scale.weights);
        for (i, (r, (floor, w))) in s.balance.iter().zip(known).enumerate() {
            let momentum = w * round_off::above(*r, *floor);
            worst.include(momentum, tolerance, Location::Velocity(i));
        }
        worst
    }

    /// Refuses an end of the step whose kinetic energy is not finite or negative.
    pub(super) fn check_end(
        &self,
        system: &dyn System,
        end: f64,
        sums: &Sums,
    ) -> Result<(), StepError> {
        let at = (end, self.trial.v.as_slice());
        check_kinetic(system, sums.energy().kinetic, at, &self.smooth.mass)
    }

    /// Impact law at the directions the step used.
    pub(super) fn certify_law(&self, certificate: &mut Certificate) {
        let c = &self.contact;
        if c.set.is_empty() {
            return;
        }
        let active = c.active.list.iter().enumerate();
        let worst = active.map(|(k, &i)| self.law_residual(k, i).abs());
        certificate.set(Entry::ComplementarityVelocity, worst.fold(0.0, f64::max));
    }

    /// Contacts `at` the end of the step.
    pub(super) fn certify_end(
        &mut self,
        system: &dyn System,
        at: Point<'_>,
        certificate: &mut Certificate,
    ) {
        certify_coordinates(system, at.q, certificate);
        let c = &mut self.contact;
        if c.set.is_empty() {
            return;
        }
        system.evaluate_contacts(at.t, at.q, &mut c.set);
        for i in 0..c.set.len() {
            c.velocity[i] = c.set.normal_velocity(i, at.v);
        }
        certify_gaps(&c.set.gap, &c.impulse, certificate);
        let before = |i: usize| c.start_velocity[i];
        certify_impact_law(&c.set, &c.impulse, &c.velocity, before, certificate);
    }

    /// The report of the step, when all is known.
    pub(super) fn report(
        &self,
        h: f64,
        iterations: u32,
        (work_external, work_contact): (f64, f64),
        certificate: Certificate,
    ) -> StepReport {
        let c = &self.contact;
        let active = c
            .active
            .list
            .iter()
            .filter(|&&i| c.impulse[i] > 0.0)
            .count();
        StepReport {
            iterations,
            active: u32::try_from(active).unwrap_or(u32::MAX),
            redundant: if c.active.list.is_empty() {
                0
            } else {
                self.redundant
            },
            work_external,
            work_contact,
            ..StepReport::at_rest(h, self.energy, certificate)
        }
    }

    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let s = &self.smooth;
        let (quantity, location) = if let Some(i) = first_not_finite(&s.force) {
            ("the force", Location::Velocity(i))
        } else if let Some(i) = first_not_finite(&s.balance) {
            ("the momentum balance", Location::Velocity(i))
        } else if let Some(i) = first_not_finite(&self.contact.velocity) {
            ("the gap velocity", Location::Contact(i))
        } else {
            // All entries are finite, but a sum of them overflows.
            let size = |i: &usize| s.force[*i].abs();
            let largest = (0..s.force.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
            ("the momentum", Location::Velocity(largest.unwrap_or(0)))
        };
        StepError::NotFinite {
            quantity,
            place: location.name(&system.names(), &self.contact.set),
            t,
        }
    }

    pub(super) fn not_converged(
        &self,
        system: &dyn System,
        iterations: u32,
        worst: Convergence,
    ) -> StepError {
        let (scale, tolerance) = (&self.momentum_scale, self.options.tolerance);
        let tolerance = match worst.location {
            Location::Velocity(i) => scale.bound(i, tolerance),
            _ => tolerance * scale.scale,
        };
        StepError::NotConverged {
            iterations,
            residual: worst.ratio * tolerance,
            tolerance,
            place: worst.location.name(&system.names(), &self.contact.set),
            problem: None,
        }
    }

    pub(super) fn contact_problem(&self, system: &dyn System, outcome: Outcome) -> StepError {
        let c = &self.contact;
        let (names, active) = (system.names(), &c.active.list);
        let (worst, pulls) = self.one_step.worst(0, &c.multipliers);
        let worst = Location::Contact(active.get(worst).copied().unwrap_or(0));
        let row = |&i: &usize| row_name(&names, &[], &c.set, Row::Normal(i, c.set.first_row[i]));
        StepError::ContactProblem {
            contacts: active.len(),
            bilateral: 0,
            status: outcome.status.name(),
            residual: outcome.residual,
            place: worst.name(&names, &c.set),
            cure: if pulls { PULLED } else { cure_of_contacts(0) },
            problem: Box::new(self.one_step.failed(0, active.iter().map(row).collect())),
        }
    }
}
