//! Complementarity problems and their solvers; nothing here knows of mechanics or time.
//!
//! A point counts as *solved* only if the residual of the natural map, recomputed from the original
//! data, is below tolerance.

mod mlcp;
mod outcome;

pub use mlcp::{Mlcp, MlcpSolver};
pub use outcome::{Outcome, Status, Tolerance};
