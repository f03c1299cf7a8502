//! Complementarity problems and their solvers; nothing here knows of mechanics or time.
//!
//! A point counts as *solved* only if the residual of the natural map, recomputed from the original
//! data, is below tolerance.

mod active_set;
mod block;
pub mod cone;
mod contact;
mod cycle;
mod elimination;
mod enumeration;
mod equilibrium;
pub mod friction;
pub mod lcp;
mod lemke;
mod mlcp;
mod operator;
mod outcome;
mod small;
mod sparse;
mod union_find;
mod verdict;

pub use block::BlockMatrix;
pub use contact::{
    Block, BlockState, CONTACT_ASSEMBLY_LIMIT, ContactData, ContactDataError, ContactOutcome,
    ContactProblem,
};
pub use enumeration::{ENUMERATION_LIMIT, Enumeration, enumerate, enumeration_refusal};
pub use mlcp::{Mlcp, MlcpSolver};
pub use operator::{Operator, Product};
pub use outcome::{Outcome, Status, Tolerance};
pub use sparse::SparseMatrix;
