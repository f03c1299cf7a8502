//! Mixed linear complementarity: equalities first, then complementarity.

use crate::outcome::{Outcome, Status, Tolerance};
use saltus_linear::Dense;

/// Find `z` with `w = M z + q`, `w_i = 0` and `z_i` free in the first `equalities` rows,
/// `0 ≤ z_i ⟂ w_i ≥ 0` in the others.
#[derive(Debug, Clone, Copy)]
pub struct Mlcp<'a> {
    /// Number of leading equality rows.
    pub equalities: usize,
    /// `M` (n × n), any square matrix.
    pub matrix: &'a Dense,
    /// `q` (n).
    pub q: &'a [f64],
}

/// Solves [`Mlcp`]s, keeping its buffers from one to the next.
#[derive(Debug, Clone, Default)]
pub struct MlcpSolver {}

impl MlcpSolver {
    /// Solves `problem` from the first guess in `z` (n) and leaves the answer there.
    pub fn solve(&mut self, problem: &Mlcp<'_>, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let _ = (problem, z, tolerance);
        Outcome { status: Status::IterationLimit, iterations: 0, residual: f64::INFINITY, redundant: 0 }
    }
}
