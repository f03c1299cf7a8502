//! Contact with exact Coulomb friction: problems, measures and solvers.

mod auto;
mod block_ldl;
mod block_lu;
mod block_pattern;
mod cases;
mod cone_newton;
mod convex;
mod diagnosis;
mod direct;
mod far;
mod far_measure;
mod functions;
mod global;
mod gradient;
mod interior_point;
mod local;
mod mass;
mod measure;
mod minimum_norm;
mod modes;
mod nsgs;
mod problem;
mod proximal;
mod rolling;
mod scaled;
mod search;
mod slater;
mod small_newton;
mod solve;
mod splitting;
mod tangent;
mod twofold;
mod units;

pub(crate) use local::{solve as solve_contact, spatial as slipping_contact};
pub(crate) use minimum_norm::Place;
pub(crate) use modes::of_contact as contact_modes;

pub use cases::CASES_LIMIT;
pub use convex::solve_convex;
pub use diagnosis::{
    DIAGNOSIS_LIMIT, PROOF_LIMIT, Refutation, infeasibility, painleve_contacts, refutation,
};
pub use functions::NewtonFunction;
pub use global::solve_global;
pub use local::LocalSolver;
pub use measure::{ContactState, Measure, Residual};
pub use minimum_norm::canonical_reaction;
pub use modes::one_contact_solutions;
pub use nsgs::Order;
pub use problem::{FrictionContact, GlobalFriction, ProblemError};
pub use search::Limits;
pub use slater::{Feasibility, feasibility};
pub use solve::{ASSEMBLY_LIMIT, FrictionOutcome, FrictionSolver, solve};
