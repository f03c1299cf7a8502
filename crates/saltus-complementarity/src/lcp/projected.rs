//! Projected Gauss–Seidel and its over-relaxation (Cottle, Pang & Stone 1992, §5.2).

use super::ScaledLcp;
use crate::outcome::{Status, Tolerance};
use saltus_linear::dot;

/// Sweeps until the residual is below tolerance, the limit is reached or nothing moves any more.
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
    let goal = p.goal(tolerance);
    let mut w = vec![0.0; n];
    for sweep in 1..=tolerance.max_iterations {
        let mut moved = 0.0_f64;
        for i in 0..n {
            let step = omega * (p.q[i] + dot(p.m.row(i), y)) / p.m[(i, i)];
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
        if sweep % 8 == 0 || moved <= goal {
            p.w(y, &mut w);
            if p.residual(y, &w) <= goal {
                return (Status::Solved, sweep);
            }
            if moved == 0.0 {
                return (Status::Stalled, sweep);
            }
        }
    }
    (Status::IterationLimit, tolerance.max_iterations)
}
