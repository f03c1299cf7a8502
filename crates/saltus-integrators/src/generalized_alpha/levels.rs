//! The levels at which a row is enforced, and the linearised rows.

use super::response::{CHI, Response, V, X};
use super::rows::Rows;
use super::settings::SmoothRow;
use saltus_linear::SparseRows;

/// Level of a multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// `λ` of the smooth motion.
    Smooth,
    /// `ν` of the position corrections.
    Position,
    /// `Λ` of the jumps.
    Velocity,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Smooth, Self::Position, Self::Velocity];
}

/// Linearised constraint row as a sparse functional: indices into a stacked increment ([`PARTS`](super::response::PARTS)
/// vectors of size nv) and coefficients.
#[derive(Debug, Default)]
pub(super) struct Functional(pub(super) Vec<(usize, f64)>);

impl Functional {
    /// The change of the quantity that the multiplier of row `j` makes zero, times `scale`.
    pub(super) fn gather(
        &mut self,
        (rows, response): (&Rows, &Response),
        smooth: Option<SmoothRow>,
        (level, j): (Level, usize),
        scale: f64,
    ) {
        self.0.clear();
        let mut take = |part: &SparseRows, factor: f64, offset: usize| {
            let terms = part.cols(j).iter().zip(part.values(j));
            self.0.extend(terms.map(|(k, g)| (offset + k, factor * g)));
        };
        let n = response.size();
        let (x, chi, v) = (X * n, CHI * n, V * n);
        match (level, smooth) {
            (Level::Position, _) | (Level::Smooth, Some(SmoothRow::Position) | None) => {
                take(rows.gradient(), scale, chi);
            }
            (Level::Velocity, _) => {
                take(rows.gradient(), scale, v);
                take(rows.velocity_gradient(), scale, chi);
            }
            (Level::Smooth, Some(SmoothRow::Velocity)) => {
                take(rows.gradient(), scale * response.rho, x);
                take(rows.smooth_velocity_gradient(), scale, chi);
            }
            (Level::Smooth, Some(SmoothRow::Acceleration)) => {
                take(rows.gradient(), scale, x);
                take(rows.bias_damping(), scale, v);
                take(rows.acceleration_gradient(), scale, chi);
            }
        }
    }

    pub(super) fn of(&self, motion: &[f64]) -> f64 {
        self.0.iter().map(|&(k, g)| g * motion[k]).sum()
    }
}
