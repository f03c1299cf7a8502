//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod batch;
mod formats;
mod friction_files;
mod hard_files;
mod lcp_files;
mod referee;
#[path = "../../../saltus-complementarity/tests/support/mod.rs"]
mod support;
