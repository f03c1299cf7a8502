//! Model files: a tree that remembers where everything was written, and the types it is read into.
//!
//! TOML, YAML and JSON become the same [`tree`]; overrides ([`set`]) edit it; it is compared with the schema of its types
//! ([`validate`]) and read into a [`document::Document`]. What the formulas in it say is for `saltus-model`, which hands the types on
//! that its users meet.
//!
//! All this runs once per file, and half of it is derived code: a crate of its own is compiled without optimisation.

pub mod diagnostic;
pub mod document;
pub mod number;
pub mod read;
mod schema;
pub mod set;
pub mod suggest;
pub mod tree;
pub mod validate;
