//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod formats;
mod formulas;
mod initial;
mod mutations;
mod parts;
mod pressure;
mod schema;
mod set;
mod solids;
mod support;
