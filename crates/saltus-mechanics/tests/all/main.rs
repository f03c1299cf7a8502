//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod assembly;
mod gaps;
mod line_elements;
mod mesh;
mod slab;
mod solids;
mod statics;
mod streamed;
mod support;
mod surfaces;
