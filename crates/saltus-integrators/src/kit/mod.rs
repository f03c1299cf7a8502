//! The kit from which steps are built: points of evaluation, the rows of constraints and contacts there, the contact
//! problem of a step, and the certificate of its end. A scheme adds its equations.
//!
//! A step reads: [`Step::begin`] (contacts of the step, the start as an [`EvaluationPoint`]); further points where the scheme
//! evaluates the system; [`StepProblem::pose`] with the active contacts, [`StepProblem::solve`], [`StepProblem::respond`]; [`Step::finish`].

mod certify;
mod energy;
mod evaluation_point;
mod events;
mod failure;
mod kit_scheme;
mod lagged_events;
mod problem;
mod projection;
mod reactions;
mod row;
mod runge_kutta;
mod stability;
mod start;
mod step;
mod step_events;
mod theta;
mod tolerance;
mod turned;

pub(crate) use certify::{
    certify_bilateral, certify_coordinates, certify_gaps, certify_impact_law,
};
pub(crate) use energy::{Works, check_kinetic, energy_not_finite, energy_of};
pub(crate) use evaluation_point::{EvaluationPoint, check_force, check_gaps};
pub(crate) use events::{ContactHistory, contact_event, normal_event, rests};
pub(crate) use failure::{
    Location, PULLED, SEVERAL_SOLUTIONS, cure_of_contacts, first_not_finite, row_name,
    velocity_name,
};
pub(crate) use kit_scheme::{KitIntegrator, KitScheme, integrator};
pub(crate) use lagged_events::{LaggedEvents, LaggedStep};
pub(crate) use problem::{Active, Duration, LawResiduals, StepProblem, worse};
pub(crate) use projection::{Gap, Projection, Unprojected};
pub(crate) use reactions::{StepReactions, restitution};
pub(crate) use row::Row;
pub(crate) use runge_kutta::{TangentRate, combine};
pub(crate) use stability::{Mode, largest_step};
pub(crate) use start::{augment_force, augment_matrix, closed_gap};
pub(crate) use step::{Step, energy_at, id_as_numbers, id_from_numbers, not_finite};
pub(crate) use step_events::{RowVelocities, StepEvents};
pub(crate) use theta::{ThetaDynamics, ThetaRule};
pub(crate) use tolerance::{Convergence, MomentumScale, row_reach};
pub(crate) use turned::{TurnedRows, Turns};

use crate::integrator::{Reactions, StepError, refuse_joint_friction};
use saltus_system::{ContactSet, System};
use std::sync::LazyLock;

/// A step before `prepare`.
pub(crate) fn unprepared(scheme: &'static str) -> StepError {
    StepError::NotPrepared { scheme }
}

/// The reactions of a scheme, none before `prepare`.
pub(crate) fn reactions(step: Option<&Step>) -> Reactions<'_> {
    static NONE: LazyLock<ContactSet> = LazyLock::new(ContactSet::default);
    step.map_or_else(|| Reactions::of(&NONE), Step::reactions)
}

/// Refuses a system with friction for a scheme that does not solve it.
pub(crate) fn refuse_friction(
    scheme: &'static str,
    system: &dyn System,
    step: &Step,
) -> Result<(), StepError> {
    let names = system.names();
    let set = &step.start.contacts;
    let found = (0..set.len()).find(|&i| step.reactions.rows_of(set, i) > 1);
    if let Some(i) = found {
        return Err(StepError::FrictionUnsupported {
            contact: names.contact(set.id[i]),
            mu: set.law[i].mu,
            scheme,
        });
    }
    refuse_joint_friction(system, scheme)
}
