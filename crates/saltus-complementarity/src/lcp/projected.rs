//! Projected Gauss–Seidel and its over-relaxation (Cottle, Pang & Stone 1992, §5.2).

use super::{ScaledLcp, sparse};
use crate::outcome::{Status, Tolerance};
use crate::verdict::VerdictWorkspace;
use saltus_linear::dot;

/// Sweeps until the point is settled, the limit is reached or nothing moves any more; `omega` in (0, 2) relaxes them.
pub(super) fn solve(
    p: &ScaledLcp,
    omega: f64,
    tolerance: Tolerance,
    y: &mut [f64],
) -> (Status, u32) {
    let n = y.len();
    if (0..n).any(|i| p.m[(i, i)] <= 0.0) {
        return (Status::Stalled, 0);
    }
    let rows = sparse::rows_of(&p.m);
    // The verdict asks for products with the whole matrix: it costs many sweeps over sparse rows.
    let between = if rows.is_some() { 64 } else { 8 };
    let mut workspace = VerdictWorkspace::default();
    for sweep in 1..=tolerance.max_iterations {
        let mut moved = 0.0_f64;
        for i in 0..n {
            let product = match &rows {
                Some(rows) => rows.dot(i, y),
                None => dot(p.m.row(i), y),
            };
            let step = omega * (p.q[i] + product) / p.m[(i, i)];
            let next = if i < p.e {
                y[i] - step
            } else {
                (y[i] - step).max(0.0)
            };
            moved = moved.max((next - y[i]).abs());
            y[i] = next;
        }
        if !moved.is_finite() || moved > 1e100 {
            return (Status::Diverging, sweep);
        }
        if sweep % between == 0 || sweep.is_power_of_two() || moved == 0.0 {
            if p.settled(y, &tolerance, &mut workspace) {
                return (Status::Solved, sweep);
            }
            if moved == 0.0 {
                return (Status::Stalled, sweep);
            }
        }
    }
    (Status::IterationLimit, tolerance.max_iterations)
}
