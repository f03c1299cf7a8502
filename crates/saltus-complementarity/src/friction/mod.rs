//! Contact with exact Coulomb friction: problems, measures and solvers.

mod auto;
mod block_lu;
mod block_pattern;
mod cone_newton;
mod diagnosis;
mod functions;
mod global;
mod gradient;
mod initial_sweeps;
mod interior_point;
mod local;
mod mass;
mod minimum_norm;
mod modes;
mod nsgs;
mod problem;
mod proximal;
mod refinement;
mod residual;
mod rolling;
mod scaled;
mod small_newton;
mod solve;
mod solver_state;
mod splitting;
mod tangent;

pub(crate) use local::{solve as solve_contact, spatial as slipping_contact};
pub(crate) use minimum_norm::ConeFace;
pub(crate) use modes::of_contact as contact_modes;

pub use diagnosis::{PROOF_LIMIT, infeasibility, unsolvable_contact};
pub use functions::NewtonFunction;
pub use global::{Motion, solve_global};
pub use minimum_norm::canonical_reaction;
pub use modes::one_contact_solutions;
pub use nsgs::Order;
pub use problem::{FrictionContact, GlobalFriction, ProblemError};
pub use residual::{Residual, ResidualScales};
pub use solve::{ASSEMBLY_LIMIT, FrictionOutcome, FrictionSolver, solve};
pub use solver_state::Limits;
