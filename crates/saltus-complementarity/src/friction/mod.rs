//! Contact with exact Coulomb friction: problems, measures and solvers.

mod measure;
mod problem;

pub use measure::{Measure, Residual};
pub use problem::{FrictionContact, GlobalFriction, ProblemError};
