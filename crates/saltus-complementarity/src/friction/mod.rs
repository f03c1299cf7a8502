//! Contact with exact Coulomb friction: problems, measures and solvers.

mod auto;
mod block_lu;
mod cone_newton;
mod convex;
mod diagnosis;
mod functions;
mod global;
mod gradient;
mod interior_point;
mod local;
mod measure;
mod minimum_norm;
mod modes;
mod nsgs;
mod problem;
mod proximal;
mod scaled;
mod search;
mod slater;
mod solve;
mod splitting;
mod tangent;

pub use convex::solve_convex;
pub use diagnosis::{DIAGNOSIS_LIMIT, infeasibility, painleve_contacts};
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
