//! All tests of the crate in one program, which is linked once; `allocation` counts calls of its allocator and has its own.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod canonical;
mod contact_problem;
mod contact_problem_large;
mod contact_problem_random;
mod diagnosis;
mod friction_properties;
mod lcp;
mod mlcp;
mod scenes;
#[path = "../support/mod.rs"]
mod support;
mod verdict;
