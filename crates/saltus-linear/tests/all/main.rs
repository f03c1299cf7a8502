//! Tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cholesky;
mod eigen;
mod lu;
mod ordering;
mod orthogonal;
mod schur;
mod square;
mod structures;
