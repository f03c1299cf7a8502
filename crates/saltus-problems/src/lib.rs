//! Complementarity and friction problems outside of a simulation: files, batches of them, tables and performance profiles.

pub mod archive;
pub mod batch;
pub mod profile;
pub mod table;
