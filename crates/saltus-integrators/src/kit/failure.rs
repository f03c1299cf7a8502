//! Errors of steps that were not solved: names of coordinates, constraints and contacts, and the contact problem.

use super::{EvaluationPoint, Row, StepProblem};
use crate::integrator::{FailedContactProblem, StepError};
use crate::one_step::OneStep;
use saltus_complementarity::{ContactOutcome, Status};
use saltus_system::{ContactSet, JointFriction, Names, System};

/// What a residual, or a quantity that is not finite, belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    Position(usize),
    Velocity(usize),
    Bilateral(usize),
    /// Element of the friction in joints.
    Joint(usize),
    /// Contact, by its index in the contact set.
    Contact(usize),
}

impl Location {
    /// What it is called; a contact by its identity in `contacts`.
    pub(crate) fn name(self, names: &Names, contacts: &ContactSet) -> String {
        let (list, i) = match self {
            Self::Position(i) => (&names.positions, i),
            Self::Velocity(i) => (&names.velocities, i),
            Self::Bilateral(i) => (&names.bilateral, i),
            Self::Joint(i) => return names.friction_element(i),
            Self::Contact(i) => {
                let id = contacts.id.get(i);
                return id.map_or_else(|| i.to_string(), |id| names.contact(*id));
            }
        };
        list.get(i).cloned().unwrap_or_else(|| i.to_string())
    }
}

/// What the velocity coordinate `i` is called.
pub(crate) fn velocity_name(names: &Names, i: usize) -> String {
    Location::Velocity(i).name(names, &ContactSet::default())
}

/// The first entry that is not finite.
pub(crate) fn first_not_finite(x: &[f64]) -> Option<usize> {
    x.iter().position(|x| !x.is_finite())
}

/// What a row of the contact problem is.
pub(crate) fn row_name(
    names: &Names,
    joints: &[JointFriction],
    contacts: &ContactSet,
    row: Row,
) -> String {
    let friction = |of: Location, direction: usize| {
        let name = of.name(names, contacts);
        format!("friction of {name}, direction {direction}")
    };
    let name = |of: Location| of.name(names, contacts);
    match row {
        Row::Bilateral(i) => format!("rate of {}", name(Location::Bilateral(i))),
        Row::JointFriction(mut i) => {
            for (k, element) in joints.iter().enumerate() {
                let rows = usize::from(element.tangents);
                if i < rows {
                    return friction(Location::Joint(k), i + 1);
                }
                i -= rows;
            }
            format!("slip {i} of the joints")
        }
        Row::Normal(i, _) => format!("impact law of {}", name(Location::Contact(i))),
        Row::Tangent(i, row) => friction(Location::Contact(i), row - contacts.first_row[i]),
    }
}

/// The status of a problem of which several states of one contact are solutions.
pub(crate) const SEVERAL_SOLUTIONS: &str = "several solutions";
/// Several states of one contact solve the step: none of them is chosen silently.
const SEVERAL: &str = "several contact states solve the step (Painlevé), and the law does not say which: reduce the friction coefficient";
/// No state solves it.
const UNSOLVED: &str = "take a smaller `step`; where friction jams a contact (Painlevé) or keeps a body in a corner that its restitution makes it leave, no impulse solves the step and only a smaller friction coefficient or `restitution` helps";
const CONTRADICTION: &str = "check that the bilateral constraints do not contradict each other or force a contact into an obstacle";
const OBSTACLES: &str =
    "no velocity satisfies all contacts of this step: check whether obstacles close on a body";

/// Impulses exist, but rounding hides the velocities beside them.
const HIDDEN: &str = "rounding hides the velocities beside so large impulses: check whether bodies that touch, or a constraint, have masses that differ by many orders of magnitude";

pub(crate) const PULLED: &str = "over so long a step the stiffness outweighs the mass, so that a push on a contact pulls it in: take a smaller `step`";

/// What usually cures a contact problem without friction.
pub(crate) fn cure_of_contacts(bilateral: usize) -> &'static str {
    if bilateral > 0 {
        CONTRADICTION
    } else {
        OBSTACLES
    }
}

/// That the contact problem of `contacts` contacts with friction and `bilateral` constraints was not solved; `location` is where
/// the residual is largest.
fn friction_problem(
    one_step: &OneStep,
    outcome: ContactOutcome,
    (contacts, bilateral): (usize, usize),
    location: String,
    rows: Vec<String>,
) -> StepError {
    let (status, cure) = if outcome.multiple {
        (SEVERAL_SOLUTIONS, SEVERAL)
    } else {
        let cure = if outcome.status == Status::Inaccurate {
            HIDDEN
        } else {
            UNSOLVED
        };
        (outcome.status.name(), cure)
    };
    StepError::FrictionProblem {
        contacts,
        bilateral,
        status,
        residual: outcome.residual,
        place: location,
        cure,
        problem: Box::new(FailedContactProblem {
            rows,
            problem: one_step.contact_data(),
        }),
    }
}

impl StepProblem {
    /// Why the problem posed was not solved.
    pub(super) fn failure(
        &self,
        system: &dyn System,
        rows: &EvaluationPoint,
        outcome: ContactOutcome,
    ) -> StepError {
        let (one_step, bilateral, before_contacts, blocks) = self.parts();
        let contacts = blocks - before_contacts;
        let names = system.names();
        let worst = one_step.worst_block().min(blocks.saturating_sub(1));
        let location = self.location(worst);
        let location = location.name(&names, &rows.contacts);
        let joints = system.joint_friction();
        let list = self.impulses();
        let list = list.map(|(row, _)| row_name(&names, joints, &rows.contacts, row));
        let list: Vec<String> = list.collect();
        if self.len() > bilateral + contacts {
            return friction_problem(one_step, outcome, (contacts, bilateral), location, list);
        }
        StepError::ContactProblem {
            contacts,
            bilateral,
            status: if outcome.multiple {
                SEVERAL_SOLUTIONS
            } else {
                outcome.status.name()
            },
            residual: outcome.residual,
            place: location,
            cure: if self.pulls() {
                PULLED
            } else if outcome.status == Status::Inaccurate {
                HIDDEN
            } else {
                cure_of_contacts(bilateral)
            },
            problem: Box::new(one_step.failed(bilateral, list)),
        }
    }
}
