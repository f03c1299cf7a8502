//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod assembly;
mod by_rows;
mod gaps;
mod line_elements;
mod mesh;
mod slab;
mod solids;
mod statics;
mod support;
mod surfaces;
