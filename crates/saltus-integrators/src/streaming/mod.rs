//! Steps of large linear systems whose rows stream through the cache.
//!
//! From some 10⁵ unknowns on the time of a step is that of its memory traffic. So a vector is read and written once
//! where that is possible: in the forward pass forces are evaluated just before the rows are eliminated, and in the backward pass
//! what a row contributes to balance and energy is added up as soon as its neighbours are known, too.
//! A scheme adds where forces are evaluated, and what follows from an unknown that was substituted.

mod columns;
mod fingerprint;
mod passes;
mod rows;
mod sums;

pub(crate) use columns::add_columns;
pub(crate) use fingerprint::Fingerprint;
pub(crate) use passes::{
    BackwardPass, ForwardPass, StepInputs, backward_pass, energy_of_rows, full_window,
};
pub(crate) use rows::{PIECE, buffer_size, reach_of, widened};
pub(crate) use sums::{Slices, Sums, Weights};
