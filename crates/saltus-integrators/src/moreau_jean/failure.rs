//! The messages of a step that was not solved.

use super::newton::{Defect, Place};
use super::{MoreauJean, NAME};
use crate::integrator::{FailedContactProblem, StepError};
use saltus_linear::{LinearError, SquareMatrix};
use saltus_system::System;

impl MoreauJean {
    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let s = &self.smooth;
        let bad = |x: &[f64]| x.iter().position(|v| !v.is_finite());
        let (quantity, place) = if let Some(i) = bad(&s.force) {
            ("the force", Place::Velocity(i))
        } else if let Some(i) = bad(&s.defect) {
            ("the momentum balance", Place::Velocity(i))
        } else if let Some(i) = bad(&self.bilateral.velocity) {
            ("the velocity", Place::Bilateral(i))
        } else if let Some(i) = bad(&self.contact.velocity) {
            ("the gap velocity", Place::Contact(i))
        } else {
            // Where everything is a number, some sum of them is none.
            let size = |i: &usize| s.force[*i].abs();
            let largest = (0..s.force.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
            ("the momentum", Place::Velocity(largest.unwrap_or(0)))
        };
        StepError::NotFinite {
            quantity,
            place: self.place_name(system, place),
            t,
        }
    }

    pub(super) fn not_converged(
        &self,
        system: &dyn System,
        iterations: u32,
        defect: Defect,
    ) -> StepError {
        let weight = match defect.place {
            Place::Velocity(i) => self.weights[i],
            Place::Bilateral(_) | Place::Joint(_) | Place::Contact(_) => 1.0,
        };
        let tolerance = self.options.tolerance * self.scale / weight;
        StepError::NotConverged {
            iterations,
            residual: defect.ratio * tolerance,
            tolerance,
            place: self.place_name(system, defect.place),
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
            Place::Bilateral(worst)
        } else {
            Place::Contact(self.contact.active.get(worst - ng).copied().unwrap_or(0))
        };
        let cure = if pulls {
            "over so long a step the stiffness outweighs the mass, so that a push on a contact pulls it in: take a smaller `step`"
        } else if ng > 0 {
            "check that the bilateral constraints do not contradict each other or force a contact into an obstacle"
        } else {
            "no velocity satisfies all contacts that closed in this step: check whether obstacles close on a body"
        };
        let bilateral = (0..ng).map(|i| ("rate", Place::Bilateral(i)));
        let contacts = self.contact.active.iter();
        let contacts = contacts.map(|&i| ("impact law", Place::Contact(i)));
        let rows = bilateral
            .chain(contacts)
            .map(|(what, place)| format!("{what} of {}", self.place_name(system, place)))
            .collect();
        StepError::ContactProblem {
            contacts: self.contact.active.len(),
            bilateral: ng,
            status: outcome.status.name(),
            residual: outcome.residual,
            place: self.place_name(system, worst),
            cure,
            problem: Box::new(self.one_step.failed(ng, rows)),
        }
    }

    /// A copy of the contact problem with friction, with the names of its rows.
    pub(super) fn failed_friction(&self, system: &dyn System) -> FailedContactProblem {
        let bilateral = (0..self.dims.ng).map(|i| {
            let name = self.place_name(system, Place::Bilateral(i));
            format!("rate of {name}")
        });
        let friction = |name: &str, direction| format!("friction of {name}, direction {direction}");
        let joints = (0..self.joints.len()).flat_map(|k| {
            let name = self.place_name(system, Place::Joint(k));
            (1..=self.joints.range(k).len()).map(move |direction| friction(&name, direction))
        });
        let contacts = self.contact.list.iter().map(|&(i, row)| {
            let name = self.place_name(system, Place::Contact(i));
            match row - self.contact.law.first_row[i] {
                0 => format!("impact law of {name}"),
                direction => friction(&name, direction),
            }
        });
        FailedContactProblem {
            rows: bilateral.chain(joints).chain(contacts).collect(),
            problem: self.one_step.contact_data(),
        }
    }

    /// What a residual belongs to; contacts are named by their identity.
    fn place_name(&self, system: &dyn System, place: Place) -> String {
        let names = system.names();
        let (list, i) = match place {
            Place::Velocity(i) => (&names.velocities, i),
            Place::Bilateral(i) => (&names.bilateral, i),
            Place::Joint(i) => return names.friction_element(i),
            Place::Contact(i) => {
                let id = self.contact.set.id.get(i);
                return id.map_or_else(|| i.to_string(), |id| names.contact(*id));
            }
        };
        list.get(i).cloned().unwrap_or_else(|| i.to_string())
    }
}

/// What is wrong with an iteration matrix that cannot be factored: the mass, or what the step adds to it.
pub(super) fn singular(source: LinearError, mass: &mut SquareMatrix) -> StepError {
    StepError::Singular {
        source,
        scheme: NAME,
        mass_is_regular: mass.factorise().is_ok(),
    }
}
