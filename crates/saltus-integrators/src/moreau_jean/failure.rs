//! The messages of a step that was not solved.

use super::{MoreauJean, NAME};
use crate::integrator::StepError;
use crate::kit::{
    Convergence, Location, Row, cure_of_contacts, first_not_finite, friction_problem, row_name,
};
use saltus_complementarity::ContactOutcome;
use saltus_linear::{LinearError, SquareMatrix};
use saltus_system::System;

impl MoreauJean {
    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let s = &self.smooth;
        let (quantity, location) = if let Some(i) = first_not_finite(&s.force) {
            ("the force", Location::Velocity(i))
        } else if let Some(i) = first_not_finite(&s.balance) {
            ("the momentum balance", Location::Velocity(i))
        } else if let Some(i) = first_not_finite(&self.bilateral.velocity) {
            ("the velocity", Location::Bilateral(i))
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
            place: self.name(system, location),
            t,
        }
    }

    pub(super) fn not_converged(
        &self,
        system: &dyn System,
        iterations: u32,
        worst: Convergence,
    ) -> StepError {
        let weight = match worst.location {
            Location::Velocity(i) => self.momentum_scale.weights[i],
            _ => 1.0,
        };
        let tolerance = self.options.tolerance * self.momentum_scale.scale / weight;
        StepError::NotConverged {
            iterations,
            residual: worst.ratio * tolerance,
            tolerance,
            place: self.name(system, worst.location),
            problem: None,
        }
    }

    pub(super) fn contact_problem(
        &self,
        system: &dyn System,
        outcome: saltus_complementarity::Outcome,
    ) -> StepError {
        let ng = self.dims.ng;
        let z = &self.contact.multipliers;
        let (worst, pulls) = self.one_step.worst(ng, z);
        let worst = if worst < ng {
            Location::Bilateral(worst)
        } else {
            Location::Contact(self.contact.active.get(worst - ng).copied().unwrap_or(0))
        };
        let cure = if pulls {
            "over so long a step the stiffness outweighs the mass, so that a push on a contact pulls it in: take a smaller `step`"
        } else {
            cure_of_contacts(ng)
        };
        StepError::ContactProblem {
            contacts: self.contact.active.len(),
            bilateral: ng,
            status: outcome.status.name(),
            residual: outcome.residual,
            place: self.name(system, worst),
            cure,
            problem: Box::new(self.one_step.failed(ng, self.row_names(system))),
        }
    }

    /// That the contact problem with friction was not solved.
    pub(super) fn unsolved_friction(
        &self,
        system: &dyn System,
        outcome: ContactOutcome,
    ) -> StepError {
        let (ng, before) = (self.dims.ng, self.dims.ng + self.joints.len());
        let active = &self.contact.active;
        let worst = match self.one_step.worst_block() {
            k if k < ng => Location::Bilateral(k),
            k if k < before => Location::Joint(k - ng),
            k => Location::Contact(active.get(k - before).copied().unwrap_or(0)),
        };
        let (location, rows) = (self.name(system, worst), self.row_names(system));
        friction_problem(&self.one_step, outcome, (active.len(), ng), location, rows)
    }

    /// What the rows of the contact problem are.
    fn row_names(&self, system: &dyn System) -> Vec<String> {
        let (names, joints) = (system.names(), system.joint_friction());
        let c = &self.contact;
        let contacts = c.active.iter().flat_map(|&i| {
            let first = c.law.first_row[i];
            let tangents =
                (first + 1..first + self.rows_of(i)).map(move |row| Row::Tangent(i, row));
            std::iter::once(Row::Normal(i, first)).chain(tangents)
        });
        let rows = (0..self.dims.ng).map(Row::Bilateral);
        let rows = rows.chain((0..self.joints.rows()).map(Row::Friction));
        rows.chain(contacts)
            .map(|row| row_name(&names, joints, &c.set, row))
            .collect()
    }

    fn name(&self, system: &dyn System, location: Location) -> String {
        location.name(&system.names(), &self.contact.set)
    }
}

/// Which part of an iteration matrix is singular: the mass, or its sum with the terms of the step.
pub(super) fn singular(source: LinearError, mass: &mut SquareMatrix) -> StepError {
    StepError::Singular {
        source,
        scheme: NAME,
        mass_is_regular: mass.factorise().is_ok(),
    }
}
