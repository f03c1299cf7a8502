//! The square matrix of a step: dense when small, sparse when large, one interface.

use crate::LinearError;
use crate::band_sweep::Sweep;
use crate::dense::Dense;
use crate::forward_solves::Forward;
use crate::lu::Lu;
use crate::sink::MatrixSink;
use crate::sparse::{EMPTY, Sparse, add_filled, is_filled};
use crate::vector::{axpy, dot};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to this many unknowns a [`SquareMatrix`] is dense.
pub const DENSE_LIMIT: usize = 60;

/// A square matrix that is filled through a [`MatrixSink`], factorised and solved with.
///
/// Above [`DENSE_LIMIT`] unknowns the structure decides how: entries near the diagonal (40 places at most) are
/// stored as a band, others in compressed rows; a band, or what becomes a narrow one in reverse Cuthill–McKee order,
/// is factorised as `L D Lᵀ` where it is symmetric positive definite and by LU with row pivoting elsewhere; any other
/// pattern by a sparse symmetric indefinite or an LU factorisation. The pattern is that of the filling, zeros that
/// were sent included; refilling or factorising again with the same pattern allocates nothing.
#[derive(Debug, Clone)]
pub struct SquareMatrix {
    kind: Kind,
    /// Number of the last factorisation, unlike that of every other one; 0 before the first.
    stamp: u64,
}

/// Numbers the factorisations of all matrices.
static STAMPS: AtomicU64 = AtomicU64::new(1);

#[derive(Debug, Clone)]
enum Kind {
    Dense {
        matrix: Dense,
        lu: Box<Lu>,
        scratch: Vec<f64>,
    },
    Sparse(Box<Sparse>),
}

impl SquareMatrix {
    /// A zero matrix of size `n`.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let kind = if n <= DENSE_LIMIT {
            let mut matrix = Dense::zeros(n, n);
            matrix.as_mut_slice().fill(EMPTY);
            Kind::Dense {
                matrix,
                lu: Box::default(),
                scratch: Vec::new(),
            }
        } else {
            Kind::Sparse(Box::new(Sparse::new(n)))
        };
        Self { kind, stamp: 0 }
    }

    /// Number of rows.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.rows(),
            Kind::Sparse(sparse) => sparse.size(),
        }
    }

    /// Empties every entry, to be filled again.
    pub fn clear(&mut self) {
        match &mut self.kind {
            Kind::Dense { matrix, .. } => matrix.as_mut_slice().fill(EMPTY),
            Kind::Sparse(sparse) => sparse.clear(),
        }
    }

    /// Gives entries outside the pattern known so far their place. Products before that allocate; factorising
    /// and clearing do it by themselves.
    pub fn finish(&mut self) {
        if let Kind::Sparse(sparse) = &mut self.kind {
            sparse.finish();
        }
    }

    /// Factorises what was filled in.
    ///
    /// # Errors
    /// [`LinearError`] where the matrix is singular or not finite.
    pub fn factorise(&mut self) -> Result<(), LinearError> {
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
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

    /// `x ← alpha A⁻¹ x` with the last factorisation.
    pub fn solve_scaled(&self, alpha: f64, x: &mut [f64]) {
        match &self.kind {
            Kind::Dense { lu, .. } => {
                x.iter_mut().for_each(|x| *x *= alpha);
                lu.solve(x);
            }
            Kind::Sparse(sparse) => sparse.solve_scaled(alpha, x),
        }
    }

    /// `X ← A⁻¹ X` with the last factorisation for any number of vectors (n each) one after the other.
    pub fn solve_many(&self, x: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, lu, .. } => {
                for x in x.chunks_exact_mut(matrix.rows().max(1)) {
                    lu.solve(x);
                }
            }
            Kind::Sparse(sparse) => sparse.solve_many(x),
        }
    }

    /// The forward half of a solve with the last factorisation, where that is of a sparse symmetric matrix in supernodes.
    pub(crate) fn half(&self) -> Option<Forward<'_>> {
        match &self.kind {
            Kind::Dense { .. } => None,
            Kind::Sparse(sparse) => sparse.half(),
        }
    }

    /// The solve with the last factorisation by stages of a few rows, where it is `L D Lᵀ` of a band in the order of its
    /// rows.
    #[must_use]
    pub fn sweep(&self) -> Option<Sweep<'_>> {
        match &self.kind {
            Kind::Dense { .. } => None,
            Kind::Sparse(sparse) => sparse.sweep(),
        }
    }

    /// Largest distance of an entry from the diagonal, where the matrix is stored as a band.
    #[must_use]
    pub fn half_bandwidth(&self) -> Option<usize> {
        match &self.kind {
            Kind::Dense { .. } => None,
            Kind::Sparse(sparse) => sparse.band().map(|band| {
                let (lower, upper) = band.widths();
                lower.max(upper)
            }),
        }
    }

    /// `out ← A x` in the rows `rows` of a band; `x` begins with entry `begin` and holds those that the rows reach.
    /// `false`, and nothing done, where the matrix is not [stored as a band](Self::half_bandwidth).
    #[inline]
    pub fn rows_times(&self, rows: Range<usize>, x: (usize, &[f64]), out: &mut [f64]) -> bool {
        if let Kind::Sparse(sparse) = &self.kind
            && let Some(band) = sparse.band()
        {
            band.rows_times(rows, x, out);
            return true;
        }
        false
    }

    /// `out ← |A| |x|` in the rows `rows` of a band, likewise.
    pub fn rows_times_absolute(&self, rows: Range<usize>, x: (usize, &[f64]), out: &mut [f64]) {
        if let Kind::Sparse(sparse) = &self.kind
            && let Some(band) = sparse.band()
        {
            band.rows_times_absolute(rows, x, out);
        }
    }

    /// Number of the last factorisation: what was made with it is valid as long as the number is the same. No two
    /// factorisations of any matrices have the same one; 0 before the first.
    #[must_use]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Whether the last factorisation took the matrix for symmetric.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        match &self.kind {
            Kind::Dense { matrix, .. } => {
                let n = matrix.rows();
                (0..n).all(|i| (0..i).all(|j| matrix[(i, j)] == matrix[(j, i)]))
            }
            Kind::Sparse(sparse) => sparse.is_symmetric(),
        }
    }

    /// Name of the factorisation in use, for reports.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match &self.kind {
            Kind::Dense { .. } => "dense LU",
            Kind::Sparse(sparse) => sparse.method(),
        }
    }

    /// Hands over `A x`, some rows at a time, so that what is done with it needs no further pass over memory:
    /// `take(first row, values of this row and the following ones)`.
    #[inline]
    pub fn product(&self, x: &[f64], mut take: impl FnMut(usize, &[f64])) {
        match &self.kind {
            Kind::Dense { matrix, .. } => {
                let mut line = [0.0; DENSE_LIMIT];
                let line = &mut line[..matrix.rows()];
                matrix.apply(x, line);
                take(0, line);
            }
            Kind::Sparse(sparse) => sparse.product(x, take),
        }
    }

    /// Hands over `A x` and `A y`, some rows at a time, reading the matrix once: `take(first row, values, values)`.
    #[inline]
    pub fn product_pair(&self, x: &[f64], y: &[f64], mut take: impl FnMut(usize, &[f64], &[f64])) {
        if let Kind::Sparse(sparse) = &self.kind
            && sparse.product_pair(x, y, &mut take)
        {
            return;
        }
        let mut other = vec![0.0; y.len()];
        self.apply(y, &mut other);
        self.product(x, |first, line| {
            take(first, line, &other[first..first + line.len()]);
        });
    }

    /// Whether every entry is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.as_slice().iter().all(|v| *v == 0.0),
            Kind::Sparse(sparse) => sparse.is_zero(),
        }
    }

    /// `y ← A x`.
    #[inline]
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.apply(x, y),
            Kind::Sparse(sparse) => sparse.product(x, |first, line| {
                y[first..first + line.len()].copy_from_slice(line);
            }),
        }
    }

    /// `y ← y + alpha A x`.
    pub fn apply_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.apply_add(alpha, x, y),
            Kind::Sparse(sparse) => sparse.product(x, |first, line| {
                axpy(alpha, line, &mut y[first..first + line.len()]);
            }),
        }
    }

    /// `xᵀ A y`.
    #[must_use]
    pub fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        match &self.kind {
            Kind::Dense { matrix, .. } => matrix.form(x, y),
            Kind::Sparse(sparse) => {
                let mut sum = 0.0;
                sparse.product(y, |first, line| {
                    sum += dot(line, &x[first..first + line.len()]);
                });
                sum
            }
        }
    }

    /// `A ← A + factor B` for a matrix of the same size.
    pub fn add_scaled(&mut self, factor: f64, other: &Self) {
        match (&mut self.kind, &other.kind) {
            (Kind::Dense { matrix, .. }, Kind::Dense { matrix: other, .. }) => {
                add_filled(factor, other.as_slice(), matrix.as_mut_slice());
            }
            (Kind::Sparse(a), Kind::Sparse(b)) => a.add_scaled(factor, b),
            _ => other.send(factor, self),
        }
    }

    /// `A ← Σ factor B` over matrices of the same size.
    pub fn set_sum<const N: usize>(&mut self, terms: [(f64, &Self); N]) {
        self.clear();
        for (factor, b) in terms {
            self.add_scaled(factor, b);
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
            Kind::Sparse(sparse) => sparse.diagonal(d),
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

    /// Sends every entry that was filled in, times `factor`, to `sink`.
    pub fn send(&self, factor: f64, sink: &mut dyn MatrixSink) {
        match &self.kind {
            Kind::Dense { matrix, .. } => {
                for i in 0..matrix.rows() {
                    let entries = matrix.row(i).iter().enumerate();
                    for (j, value) in entries.filter(|(_, value)| is_filled(**value)) {
                        sink.entry(i, j, factor * value);
                    }
                }
            }
            Kind::Sparse(sparse) => {
                sparse.for_each(|i, j, value| sink.entry(i, j, factor * value));
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
