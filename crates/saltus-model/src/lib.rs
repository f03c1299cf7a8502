//! Model files and formulas, assembled into a system.

pub mod definition;
mod expression;
mod formula_system;

pub use formula_system::FormulaSystem;
