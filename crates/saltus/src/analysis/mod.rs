//! How far a computed motion is from the true one, and how fast that distance shrinks with the step.
//!
//! Velocities jump, and a computed jump never falls on the exact instant: within one step of an impact
//! the error of a velocity is as large as the jump, however small the step. Convergence is therefore
//! measured in integral norms over the grid ([`GridNorms`]) or between filled graphs, in which a jump
//! is a vertical segment ([`FilledGraph`]). [`order`] fits orders; [`exact`] has motions in closed form.

pub mod exact;
mod graph;
mod norms;
pub mod order;

pub use graph::FilledGraph;
pub use norms::{GridNorms, RelativeL1};
