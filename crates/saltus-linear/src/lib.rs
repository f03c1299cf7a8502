//! Vectors, matrices and factorisations that the rest of saltus stands on.
//!
//! Everything that crosses a border is a slice (`&[f64]`) or a [`MatrixSink`]; the matrix types
//! here are ours and small. Matrices are dense row-major below [`DENSE_LIMIT`] unknowns and sparse
//! above, and the caller of [`SquareMatrix`] does not notice which.
//!
//! Nothing allocates after a matrix has been sized: factorisations reuse their storage.

mod band;
mod band_ldlt;
mod band_lu;
mod band_sweep;
mod cholesky;
mod compressed;
mod dense;
mod eigen;
mod factors;
mod forward_solves;
mod general;
mod lu;
mod ordering;
mod orthogonal;
mod prefetch;
mod rows;
mod runs;
mod schur;
mod scratch;
mod sink;
mod sparse;
mod square;
mod vector;
mod workspace;

pub use band_sweep::Sweep;
pub use cholesky::Cholesky;
pub use dense::Dense;
pub use eigen::{general_eigen, symmetric_eigen};
pub use lu::Lu;
pub use ordering::minimum_degree;
pub use orthogonal::{MinimumNorm, RANK_TOLERANCE};
pub use rows::{RowCollector, SparseRows};
pub use runs::Runs;
pub use schur::Schur;
pub use sink::{MatrixSink, QuadraticForm, RowScaled, Shifted};
pub use square::{DENSE_LIMIT, SquareMatrix};
pub use vector::{axpy, dot, is_zero, max_abs};

/// A matrix could not be factorised.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    /// A pivot vanished: the matrix is singular to working precision.
    #[error("matrix of size {size} is singular: pivot {pivot} is {value:.3e}")]
    Singular {
        /// Number of rows.
        size: usize,
        /// Index of the vanishing pivot, from 0.
        pivot: usize,
        /// Its value.
        value: f64,
    },
    /// An entry is not finite.
    #[error("matrix of size {size} has an entry in row {row} that is not finite")]
    NotFinite {
        /// Number of rows.
        size: usize,
        /// The first row with such an entry, from 0.
        row: usize,
    },
}
