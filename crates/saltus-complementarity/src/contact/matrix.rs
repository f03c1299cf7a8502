//! The matrix of a contact problem: dense, or compressed rows collected from entries.

use crate::operator::{Product, entries_of};
use saltus_linear::{Dense, SparseRows, dot};
use std::sync::Arc;

/// Form in which the matrix is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    Dense,
    Sparse,
    MatrixFree,
}

/// The matrix as given, with buffers reused between problems.
#[derive(Debug, Default)]
pub(super) struct Storage {
    form: Form,
    /// Whether the matrix is for the current blocks.
    current: bool,
    dense: Dense,
    entries: Vec<Entry>,
    rows: SparseRows,
    /// Whether `rows` holds all entries.
    compressed: bool,
    product_operator: Option<Arc<dyn Product>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    row: usize,
    col: usize,
    value: f64,
}

impl Storage {
    /// Begins a new problem, with a dense matrix of zeros unless another form is set.
    #[inline]
    pub fn begin(&mut self) {
        self.form = Form::Dense;
        self.current = false;
        self.product_operator = None;
    }

    /// The number of rows has changed.
    #[inline]
    pub fn resized(&mut self) {
        if self.form == Form::Dense {
            self.current = false;
        }
    }

    pub fn begin_sparse(&mut self) {
        self.form = Form::Sparse;
        self.entries.clear();
        self.compressed = false;
        self.product_operator = None;
    }

    pub fn set_product_operator(&mut self, product: Arc<dyn Product>) {
        self.form = Form::MatrixFree;
        self.compressed = false;
        self.product_operator = Some(product);
    }

    #[inline]
    pub fn dense_mut(&mut self, n: usize) -> &mut Dense {
        if self.form != Form::Dense {
            self.form = Form::Dense;
            self.current = false;
        }
        if !self.current {
            self.dense.reset(n, n);
            self.current = true;
        }
        &mut self.dense
    }

    pub fn add(&mut self, n: usize, row: usize, col: usize, value: f64) {
        match self.form {
            Form::Sparse => {
                self.entries.push(Entry { row, col, value });
                self.compressed = false;
            }
            _ => self.dense_mut(n)[(row, col)] += value,
        }
    }

    /// Converts the matrix to the form used by the solvers; false where its size is not `n`.
    #[inline]
    pub fn prepare(&mut self, n: usize) -> bool {
        match self.form {
            Form::Dense => {
                self.dense_mut(n);
                true
            }
            _ if self.compressed => self.rows.len() == n,
            Form::Sparse => {
                let inside = self.entries.iter().all(|e| e.row < n && e.col < n);
                if inside {
                    compress(n, &mut self.entries, &mut self.rows);
                    self.compressed = true;
                }
                inside
            }
            Form::MatrixFree => self.assemble(n),
        }
    }

    #[cold]
    fn assemble(&mut self, n: usize) -> bool {
        let Some(product) = self.product_operator.as_ref().filter(|p| p.size() == n) else {
            return false;
        };
        let list = entries_of(&**product).into_iter();
        self.entries.clear();
        self.entries
            .extend(list.map(|(row, col, value)| Entry { row, col, value }));
        compress(n, &mut self.entries, &mut self.rows);
        self.compressed = true;
        true
    }

    /// The matrix, complete after [`prepare`](Self::prepare).
    #[inline]
    pub fn matrix(&self) -> Matrix<'_> {
        match self.form {
            Form::Dense => Matrix::Dense(&self.dense),
            _ => Matrix::Rows(&self.rows),
        }
    }
}

/// Compressed rows with ascending columns from entries in any order; those of the same row and column add up.
fn compress(n: usize, entries: &mut [Entry], rows: &mut SparseRows) {
    entries.sort_by_key(|e| (e.row, e.col));
    rows.clear();
    let mut each = entries.iter().peekable();
    for row in 0..n {
        rows.push_terms(std::iter::from_fn(|| {
            let first = each.next_if(|e| e.row == row)?;
            let mut sum = first.value;
            while let Some(e) = each.next_if(|e| (e.row, e.col) == (row, first.col)) {
                sum += e.value;
            }
            Some((first.col, sum))
        }));
    }
}

/// A square matrix, row by row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Matrix<'a> {
    Dense(&'a Dense),
    Rows(&'a SparseRows),
}

impl Matrix<'_> {
    /// Row `i` times `x`.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        match self {
            Self::Dense(m) => dot(m.row(i), x),
            Self::Rows(m) => m.dot(i, x),
        }
    }

    /// The sum of the absolute terms of row `i` times `x`.
    pub fn row_size(&self, i: usize, x: &[f64]) -> f64 {
        match self {
            Self::Dense(m) => m.row(i).iter().zip(x).map(|(a, x)| (a * x).abs()).sum(),
            Self::Rows(m) => {
                let terms = m.cols(i).iter().zip(m.values(i));
                terms.map(|(&j, v)| (v * x[j]).abs()).sum()
            }
        }
    }

    /// Entry `(i, j)`.
    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        match self {
            Self::Dense(m) => m[(i, j)],
            Self::Rows(m) => {
                let found = m.cols(i).binary_search(&j);
                found.map_or(0.0, |k| m.values(i)[k])
            }
        }
    }

    /// Largest absolute entry of row `i`.
    pub fn row_max(&self, i: usize) -> f64 {
        let values = match self {
            Self::Dense(m) => m.row(i),
            Self::Rows(m) => m.values(i),
        };
        saltus_linear::max_abs(values)
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        match self {
            Self::Dense(m) => m.rows(),
            Self::Rows(m) => m.len(),
        }
    }

    /// Calls `visit(row, column, value)` for every entry that is not zero, row by row.
    pub fn visit(&self, mut visit: impl FnMut(usize, usize, f64)) {
        for i in 0..self.size() {
            match self {
                Self::Dense(m) => {
                    for (j, &v) in m.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                        visit(i, j, v);
                    }
                }
                Self::Rows(m) => {
                    let entries = m.cols(i).iter().zip(m.values(i));
                    for (&j, &v) in entries.filter(|(_, v)| **v != 0.0) {
                        visit(i, j, v);
                    }
                }
            }
        }
    }
}
