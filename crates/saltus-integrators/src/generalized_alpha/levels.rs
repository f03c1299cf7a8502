//! The multipliers of a constraint row, and its linearised conditions.

use super::response::{Response, T_XI, V, X};
use super::rows::Rows;
use super::settings::SmoothLevel;
use saltus_linear::SparseRows;

/// Which multiplier of a row: `λ` of the smooth motion, or that of the position or velocity level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// `λ` of the smooth motion, at the level of [`SmoothLevel`].
    Smooth,
    /// `ν` of the position corrections.
    Position,
    /// `Λ` of the jumps.
    Velocity,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Smooth, Self::Position, Self::Velocity];
}

/// Linearised constraint row as a sparse linear functional: indices into a stacked increment
/// ([`INCREMENT_VECTORS`](super::response::INCREMENT_VECTORS) vectors of size nv) and coefficients.
#[derive(Debug, Default)]
pub(super) struct Functional(pub(super) Vec<(usize, f64)>);

impl Functional {
    /// Becomes `scale` times the derivative of the quantity that the multiplier of row `j` makes zero.
    pub(super) fn linearise(
        &mut self,
        (rows, response): (&Rows, &Response),
        smooth: Option<SmoothLevel>,
        (level, j): (Level, usize),
        scale: f64,
    ) {
        self.0.clear();
        let mut append = |rows: &SparseRows, factor: f64, offset: usize| {
            let terms = rows.cols(j).iter().zip(rows.values(j));
            self.0.extend(terms.map(|(k, g)| (offset + k, factor * g)));
        };
        let n = response.size();
        let (x, t_xi, v) = (X * n, T_XI * n, V * n);
        match (level, smooth) {
            (Level::Position, _) | (Level::Smooth, Some(SmoothLevel::Position) | None) => {
                append(rows.gradient(), scale, t_xi);
            }
            (Level::Velocity, _) => {
                append(rows.gradient(), scale, v);
                append(rows.velocity_gradient(), scale, t_xi);
            }
            (Level::Smooth, Some(SmoothLevel::Velocity)) => {
                append(rows.gradient(), scale * response.rho, x);
                append(rows.smooth_velocity_gradient(), scale, t_xi);
            }
            (Level::Smooth, Some(SmoothLevel::Acceleration)) => {
                append(rows.gradient(), scale, x);
                append(rows.bias_damping(), scale, v);
                append(rows.acceleration_gradient(), scale, t_xi);
            }
        }
    }

    /// Its value at a stacked increment.
    pub(super) fn of(&self, increment: &[f64]) -> f64 {
        self.0.iter().map(|&(k, g)| g * increment[k]).sum()
    }
}
