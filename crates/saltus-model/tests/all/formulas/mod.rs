//! Models given by formulas, assembled and asked through the contract of a system.

mod audit;
mod large;
mod mechanisms;
mod mistakes;
mod models;
mod scope;
