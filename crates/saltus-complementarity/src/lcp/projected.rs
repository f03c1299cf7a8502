//! Projected Gauss–Seidel and its over-relaxation (Cottle, Pang & Stone 1992, §5.2).

use super::ScaledLcp;
use crate::outcome::{Status, Tolerance};
use crate::verdict::Room;
use saltus_linear::dot;

/// What the sweeps need beside the rows of the matrix.
pub(super) struct Sweep<'a> {
    pub q: &'a [f64],
    pub diagonal: &'a [f64],
    pub equalities: usize,
    /// Over-relaxation in (0, 2).
    pub omega: f64,
    pub limit: u32,
}

impl Sweep<'_> {
    /// Sweeps until the point is `settled`, the limit is reached or nothing moves any more; `row` is the product of a row
    /// with the unknowns.
    pub fn solve(
        &self,
        y: &mut [f64],
        row: impl Fn(usize, &[f64]) -> f64,
        mut settled: impl FnMut(&[f64]) -> bool,
    ) -> (Status, u32) {
        if self.diagonal.iter().any(|d| *d <= 0.0) {
            return (Status::Stalled, 0);
        }
        for sweep in 1..=self.limit {
            let mut moved = 0.0_f64;
            for i in 0..y.len() {
                let step = self.omega * (self.q[i] + row(i, y)) / self.diagonal[i];
                let next = if i < self.equalities {
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
            if sweep % 8 == 0 || sweep.is_power_of_two() || moved == 0.0 {
                if settled(y) {
                    return (Status::Solved, sweep);
                }
                if moved == 0.0 {
                    return (Status::Stalled, sweep);
                }
            }
        }
        (Status::IterationLimit, self.limit)
    }
}

/// Sweeps over the rows of a dense matrix.
pub(super) fn solve(
    p: &ScaledLcp,
    omega: f64,
    tolerance: Tolerance,
    y: &mut [f64],
) -> (Status, u32) {
    let n = y.len();
    let diagonal: Vec<f64> = (0..n).map(|i| p.m[(i, i)]).collect();
    let mut room = Room::default();
    let sweep = Sweep {
        q: &p.q,
        diagonal: &diagonal,
        equalities: p.e,
        omega,
        limit: tolerance.max_iterations,
    };
    sweep.solve(
        y,
        |i, y| dot(p.m.row(i), y),
        |y| p.settled(y, &tolerance, &mut room),
    )
}
