//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cures;
mod errors;
mod members;
mod models;
mod run;
mod solve;
mod solve_refused;
mod solve_words;
mod support;
mod whirl;
