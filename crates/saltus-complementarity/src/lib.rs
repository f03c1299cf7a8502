//! Complementarity problems and their solvers; nothing here knows of mechanics or time.
//!
//! A point counts as *solved* only if the residual of the natural map, recomputed from the original
//! data, is below tolerance.

mod active_set;
mod enumeration;
mod lemke;
mod mlcp;
mod outcome;
mod small;

pub use enumeration::{ENUMERATION_LIMIT, enumerate};
pub use mlcp::{Mlcp, MlcpSolver};
pub use outcome::{Outcome, Status, Tolerance};
