//! Tangent matrices of a step, and which of them are negligible.

use super::response::Response;
use saltus_linear::{MatrixSink, SquareMatrix};

/// Curvature of constraints below this fraction of the mass is left out of a correction.
const NEGLIGIBLE: f64 = 1e-12;

/// Derivatives of the three balances with respect to `ξ` and `v`; those with respect to `ξ` include the tangent of the retraction.
#[derive(Debug)]
pub(super) struct Tangent {
    pub(super) mass: SquareMatrix, // M
    /// Diagonal of a constant diagonal `M` (nv, or empty).
    diagonal: Vec<f64>,
    pub(super) stiffness: SquareMatrix, // K = D(M v̇ − f − Gᵀλ)
    pub(super) damping: SquareMatrix,   // C = −∂f/∂v
    /// `K` of a time-invariant system, without the curvature of constraints.
    pub(super) constant_stiffness: SquareMatrix,
    pub(super) correction: SquareMatrix, // Gₚ = D(M U − Gᵀν)
    pub(super) jump: SquareMatrix,       // Gᵥ = D(M W − GᵀΛ)
    pub(super) retraction_tangent: SquareMatrix, // T of the retraction
    pub(super) is_flat: bool,            // q ⊕ ξ = q + ξ, T = 1
    pub(super) damped: bool,             // C ≠ 0
    pub(super) stiff: bool,              // K ≠ 0
    pub(super) has_jump_tangent: bool,   // Gᵥ ≠ 0
    pub(super) has_correction_tangent: bool, // Gₚ ≠ 0
}

impl Tangent {
    pub(super) fn new(n: usize, is_flat: bool) -> Self {
        let matrix = || SquareMatrix::new(n);
        Self {
            mass: matrix(),
            diagonal: Vec::new(),
            stiffness: matrix(),
            damping: matrix(),
            constant_stiffness: matrix(),
            correction: matrix(),
            jump: matrix(),
            retraction_tangent: matrix(),
            is_flat,
            damped: false,
            stiff: false,
            has_jump_tangent: false,
            has_correction_tangent: false,
        }
    }

    /// Prepares products and solves for a constant `mass`, which is filled before.
    pub(super) fn set_constant_mass(&mut self, response: &mut Response) {
        self.diagonal = diagonal_of(&self.mass).unwrap_or_default();
        response.diagonal.clone_from(&self.diagonal);
    }

    /// `y ← y + M x`.
    #[inline]
    pub(super) fn apply_mass(&self, x: &[f64], y: &mut [f64]) {
        if self.diagonal.is_empty() {
            self.mass.apply_add(1.0, x, y);
        } else {
            for ((y, x), m) in y.iter_mut().zip(x).zip(&self.diagonal) {
                *y += m * x;
            }
        }
    }

    /// Whether any entry `A_ij` reaches 1e-12 of the geometric mean of the masses `i` and `j`, times `factor`.
    pub(super) fn is_significant(matrix: &mut SquareMatrix, weights: &[f64], factor: f64) -> bool {
        if let Some(dense) = matrix.as_dense_mut() {
            let limit = NEGLIGIBLE / factor.abs();
            return weights.iter().enumerate().any(|(i, w)| {
                let entries = dense.row(i).iter().zip(weights);
                entries.map(|(a, v)| (a * v * w).abs()).any(|a| a > limit)
            });
        }
        // Entries that repeat must have been added up.
        matrix.finish();
        let mut largest = Largest {
            weights,
            value: 0.0,
        };
        matrix.send(factor, &mut largest);
        largest.value > NEGLIGIBLE
    }

    /// Whether any entry is not zero.
    pub(super) fn is_nonzero(matrix: &mut SquareMatrix) -> bool {
        if let Some(dense) = matrix.as_dense_mut() {
            return dense.as_slice().iter().any(|a| *a != 0.0);
        }
        matrix.finish();
        let mut something = NonZero(false);
        matrix.send(1.0, &mut something);
        something.0
    }
}

/// The diagonal of a matrix with no other entries.
fn diagonal_of(matrix: &SquareMatrix) -> Option<Vec<f64>> {
    struct Others(bool);
    impl MatrixSink for Others {
        fn entry(&mut self, row: usize, col: usize, value: f64) {
            self.0 |= row != col && value != 0.0;
        }
    }
    let mut others = Others(false);
    matrix.send(1.0, &mut others);
    if others.0 {
        return None;
    }
    let mut diagonal = vec![0.0; matrix.size()];
    matrix.diagonal(&mut diagonal);
    Some(diagonal)
}

/// Largest weighted entry.
struct Largest<'a> {
    weights: &'a [f64],
    value: f64,
}

impl MatrixSink for Largest<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let value = value.abs() * self.weights[row] * self.weights[col];
        self.value = self.value.max(value);
    }
}

/// Whether an entry is not zero.
struct NonZero(bool);

impl MatrixSink for NonZero {
    fn add(&mut self, _: usize, _: usize, _: usize, _: usize, block: &[f64]) {
        self.0 |= block.iter().any(|v| *v != 0.0);
    }
    fn entry(&mut self, _: usize, _: usize, value: f64) {
        self.0 |= value != 0.0;
    }
}
