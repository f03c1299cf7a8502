//! Models given by formulas, assembled and asked through the contract of a system.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod large;
mod mechanisms;
mod mistakes;
mod models;
mod scope;
