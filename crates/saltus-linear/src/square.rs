//! The square matrix of a step: dense when small, sparse when large, one interface.

use crate::LinearError;
use crate::dense::Dense;
use crate::lu::Lu;
use crate::sink::MatrixSink;
use crate::sparse::SparseLu;
use crate::vector::axpy;

/// Up to this many unknowns a [`SquareMatrix`] is dense.
pub const DENSE_LIMIT: usize = 60;

/// A square matrix that is filled through a [`MatrixSink`], factorised and solved with.
#[derive(Debug, Clone)]
pub struct SquareMatrix {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Dense {
        matrix: Dense,
        lu: Lu,
        scratch: Vec<f64>,
    },
    Sparse(Box<SparseLu>),
}

impl SquareMatrix {
    /// A zero matrix of size `n`.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let kind = if n <= DENSE_LIMIT {
            Kind::Dense {
                matrix: Dense::zeros(n, n),
                lu: Lu::default(),
                scratch: Vec::new(),
            }
        } else {
            Kind::Sparse(Box::new(SparseLu::new(n)))
        };
        Self { kind }
    }

    /// Number of rows.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.rows(),
            Kind::Sparse(sparse) => sparse.size(),
        }
    }

    /// Zeroes every entry, to be filled again.
    pub fn clear(&mut self) {
        match &mut self.kind {
            Kind::Dense { matrix, .. } => matrix.clear(),
            Kind::Sparse(sparse) => sparse.clear(),
        }
    }

    /// Factorises what was filled in.
    ///
    /// # Errors
    /// [`LinearError`] where the matrix is singular or not finite.
    pub fn factorise(&mut self) -> Result<(), LinearError> {
        match &mut self.kind {
            Kind::Dense { matrix, lu, .. } => lu.factorise(matrix),
            Kind::Sparse(sparse) => sparse.factorise(),
        }
    }

    /// `x ← A⁻¹ x` with the last factorisation.
    pub fn solve(&self, x: &mut [f64]) {
        match &self.kind {
            Kind::Dense { lu, .. } => lu.solve(x),
            Kind::Sparse(sparse) => sparse.solve(x),
        }
    }

    /// `y ← A x`.
    #[inline]
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.apply(x, y),
            Kind::Sparse(sparse) => {
                y.fill(0.0);
                sparse.apply_add(1.0, x, y);
            }
        }
    }

    /// `y ← y + alpha A x`.
    pub fn apply_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.apply_add(alpha, x, y),
            Kind::Sparse(sparse) => sparse.apply_add(alpha, x, y),
        }
    }

    /// `xᵀ A y`.
    #[must_use]
    pub fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.form(x, y),
            Kind::Sparse(sparse) => sparse.form(x, y),
        }
    }

    /// `A ← A + factor B` for a matrix of the same size.
    pub fn add_scaled(&mut self, factor: f64, other: &Self) {
        match (&mut self.kind, &other.kind) {
            (Kind::Dense { matrix, .. }, Kind::Dense { matrix: other, .. }) => {
                axpy(factor, other.as_slice(), matrix.as_mut_slice());
            }
            _ => other.send(factor, self),
        }
    }

    /// `A ← A B`.
    pub fn multiply_right(&mut self, other: &Self) {
        match (&mut self.kind, &other.kind) {
            (
                Kind::Dense {
                    matrix, scratch, ..
                },
                Kind::Dense { matrix: b, .. },
            ) => matrix.multiply_right(b, scratch),
            (Kind::Sparse(a), Kind::Sparse(b)) => a.multiply_right(b),
            _ => {}
        }
    }

    /// `d ← diag(A)`.
    pub fn diagonal(&self, d: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, .. } => {
                for (i, d) in d.iter_mut().enumerate() {
                    *d = matrix[(i, i)];
                }
            }
            Kind::Sparse(sparse) => {
                d.fill(0.0);
                for (i, j, value) in sparse.entries() {
                    if i == j {
                        d[i] += value;
                    }
                }
            }
        }
    }

    /// The entries as a dense matrix, where it is stored densely.
    #[must_use]
    pub fn as_dense_mut(&mut self) -> Option<&mut Dense> {
        match &mut self.kind {
            Kind::Dense { matrix, .. } => Some(matrix),
            Kind::Sparse(_) => None,
        }
    }

    /// Sends every stored entry, times `factor`, to `sink`.
    pub fn send(&self, factor: f64, sink: &mut dyn MatrixSink) {
        match &self.kind {
            Kind::Dense { matrix, .. } => {
                for i in 0..matrix.rows() {
                    for (j, value) in matrix.row(i).iter().enumerate() {
                        sink.entry(i, j, factor * value);
                    }
                }
            }
            Kind::Sparse(sparse) => {
                for (i, j, value) in sparse.entries() {
                    sink.entry(i, j, factor * value);
                }
            }
        }
    }
}

impl MatrixSink for SquareMatrix {
    #[inline]
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        match &mut self.kind {
            Kind::Dense { matrix, .. } => matrix.add(row, col, rows, cols, block),
            Kind::Sparse(sparse) => sparse.add(row, col, rows, cols, block),
        }
    }

    #[inline]
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        match &mut self.kind {
            Kind::Dense { matrix, .. } => matrix.entry(row, col, value),
            Kind::Sparse(sparse) => sparse.entry(row, col, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::max_abs;

    /// Tridiagonal matrix plus a far corner, unsymmetric.
    fn fill(a: &mut SquareMatrix, scale: f64) {
        let n = a.size();
        a.clear();
        for i in 0..n {
            a.entry(i, i, 2.5 * scale);
            if i > 0 {
                a.entry(i, i - 1, -scale);
                a.entry(i - 1, i, -1.1 * scale);
            }
        }
        a.entry(0, n - 1, 0.3 * scale);
    }

    #[test]
    fn solves_in_both_storages_and_after_refilling() {
        for n in [1, 2, 7, DENSE_LIMIT, DENSE_LIMIT + 1, 300] {
            let mut a = SquareMatrix::new(n);
            for scale in [1.0, 7.0] {
                fill(&mut a, scale);
                a.factorise().unwrap();
                let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
                let mut b = vec![0.0; n];
                a.apply_add(1.0, &x, &mut b);
                a.solve(&mut b);
                let error: Vec<f64> = b.iter().zip(&x).map(|(a, b)| a - b).collect();
                assert!(max_abs(&error) < 1e-13, "n = {n}: {}", max_abs(&error));
            }
        }
    }

    #[test]
    fn singular_is_an_error() {
        for n in [3, DENSE_LIMIT + 5] {
            let mut a = SquareMatrix::new(n);
            for i in 0..n {
                for j in [0, 1] {
                    a.entry(i, j, 1.0 + i as f64);
                }
                if i > 1 {
                    a.entry(i, i, 1.0);
                }
            }
            assert!(a.factorise().is_err(), "n = {n}");
        }
    }
}
