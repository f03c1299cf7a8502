//! How well a force can be known where large parts of it cancel.
//!
//! With total positions an internal force is a difference of numbers as large as `K q`. Below the
//! round-off of those no residual can be brought, whatever the tolerance.

use saltus_linear::{MatrixSink, SquareMatrix, max_abs};

/// Round-off of a sum of a few products.
pub(crate) const ROUND_OFF: f64 = 8.0 * f64::EPSILON;

/// `floor ← ` round-off of `factor` times the force (nv): `Σ_j |K_ij q_j|` in flat coordinates; elsewhere,
/// where positions and velocities do not correspond, the largest position stands for each.
pub(crate) fn of_force(
    stiffness: &SquareMatrix,
    factor: f64,
    q: &[f64],
    is_flat: bool,
    floor: &mut [f64],
) {
    floor.fill(0.0);
    let mut sink = AbsoluteProduct {
        x: if is_flat { q } else { &[] },
        otherwise: max_abs(q),
        y: floor,
    };
    stiffness.send(factor * ROUND_OFF, &mut sink);
}

/// What of a residual stands above its round-off; NaN stays NaN.
#[inline]
pub(crate) fn above(residual: f64, floor: f64) -> f64 {
    let excess = residual.abs() - floor;
    if excess < 0.0 { 0.0 } else { excess }
}

/// Adds `|A| |x|` to `y` while `A` passes.
struct AbsoluteProduct<'a> {
    x: &'a [f64],
    /// Stands for what `x` does not have.
    otherwise: f64,
    y: &'a mut [f64],
}

impl MatrixSink for AbsoluteProduct<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let x = self.x.get(col).copied().unwrap_or(self.otherwise);
        self.y[row] += (value * x).abs();
    }
}
