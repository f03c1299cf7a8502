//! Tests of the crate in one program, which is linked once; cases, examinations, references and the peer have their own.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod collision;
mod generalized_alpha;
mod geometry;
mod output;
mod simulation;
#[path = "../support/mod.rs"]
mod support;
