//! The matrix of a contact problem: dense, or compressed rows collected from entries.

use crate::operator::{Product, entries_of};
use saltus_linear::{Dense, dot};
use std::sync::Arc;

/// How the matrix is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    #[default]
    Dense,
    Sparse,
    Free,
}

/// The matrix as the caller gives it, with buffers that outlive the problem.
#[derive(Debug, Default)]
pub(super) struct Storage {
    form: Form,
    /// Whether the matrix belongs to the present shape.
    current: bool,
    dense: Dense,
    entries: Vec<Entry>,
    rows: CompressedRows,
    /// Whether `rows` holds all entries.
    compressed: bool,
    free: Option<Arc<dyn Product>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    row: usize,
    col: usize,
    value: f64,
}

impl Storage {
    /// A new shape: the next matrix starts from zero, dense unless said otherwise.
    #[inline]
    pub fn begin(&mut self) {
        self.form = Form::Dense;
        self.current = false;
        self.free = None;
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
        self.free = None;
    }

    pub fn set_free(&mut self, product: Arc<dyn Product>) {
        self.form = Form::Free;
        self.compressed = false;
        self.free = Some(product);
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

    /// Brings the matrix into the form that is solved; false where its size is not `n`.
    #[inline]
    pub fn prepare(&mut self, n: usize) -> bool {
        match self.form {
            Form::Dense => {
                self.dense_mut(n);
                true
            }
            _ if self.compressed => self.rows.size() == n,
            Form::Sparse => {
                let inside = self.entries.iter().all(|e| e.row < n && e.col < n);
                if inside {
                    self.rows.collect(n, &self.entries);
                    self.compressed = true;
                }
                inside
            }
            Form::Free => self.assemble(n),
        }
    }

    #[cold]
    fn assemble(&mut self, n: usize) -> bool {
        let Some(product) = self.free.as_ref().filter(|p| p.size() == n) else {
            return false;
        };
        let list = entries_of(&**product).into_iter();
        self.entries.clear();
        self.entries
            .extend(list.map(|(row, col, value)| Entry { row, col, value }));
        self.rows.collect(n, &self.entries);
        self.compressed = true;
        true
    }

    /// The matrix as it was [prepared](Self::prepare); before that, what is there of it.
    #[inline]
    pub fn matrix(&self) -> Matrix<'_> {
        match self.form {
            Form::Dense => Matrix::Dense(&self.dense),
            _ => Matrix::Rows(&self.rows),
        }
    }
}

/// A sparse matrix in compressed rows, columns ascending.
#[derive(Debug, Default)]
pub(super) struct CompressedRows {
    start: Vec<usize>,
    cols: Vec<usize>,
    values: Vec<f64>,
    /// Position of the next entry of each row while they are sorted.
    next: Vec<usize>,
    order: Vec<usize>,
}

impl CompressedRows {
    pub fn size(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    #[inline]
    pub fn row(&self, i: usize) -> (&[usize], &[f64]) {
        let range = self.start[i]..self.start[i + 1];
        (&self.cols[range.clone()], &self.values[range])
    }

    /// Starts an empty matrix that is filled by [`push_row`](Self::push_row).
    pub fn begin(&mut self) {
        self.cols.clear();
        self.values.clear();
        self.start.clear();
        self.start.push(0);
    }

    /// Appends a row of entries `(column, value)` with ascending columns.
    pub fn push_row(&mut self, entries: impl Iterator<Item = (usize, f64)>) {
        for (col, value) in entries {
            self.cols.push(col);
            self.values.push(value);
        }
        self.start.push(self.cols.len());
    }

    /// From entries in any order, those of the same row and column added in the order they came.
    fn collect(&mut self, n: usize, entries: &[Entry]) {
        // By column, then stably by row.
        self.sort(n, entries.len(), |k| entries[k].col, None);
        let by_column = std::mem::take(&mut self.order);
        self.sort(n, entries.len(), |k| entries[k].row, Some(&by_column));
        self.cols.clear();
        self.values.clear();
        self.start.clear();
        self.start.push(0);
        let mut row = 0;
        for &k in &self.order {
            let entry = entries[k];
            while row < entry.row {
                row += 1;
                self.start.push(self.cols.len());
            }
            let fresh = self.cols.len() == self.start[row] || self.cols.last() != Some(&entry.col);
            if fresh {
                self.cols.push(entry.col);
                self.values.push(entry.value);
            } else if let Some(last) = self.values.last_mut() {
                *last += entry.value;
            }
        }
        while self.start.len() <= n {
            self.start.push(self.cols.len());
        }
        self.next = by_column;
    }

    /// Sorts the numbers below `count`, or those of `list`, stably by `key < n` into `order`.
    fn sort(
        &mut self,
        n: usize,
        count: usize,
        key: impl Fn(usize) -> usize,
        list: Option<&[usize]>,
    ) {
        let at = |k: usize| list.map_or(k, |list| list[k]);
        self.start.clear();
        self.start.resize(n + 1, 0);
        for k in 0..count {
            self.start[key(k) + 1] += 1;
        }
        for i in 0..n {
            self.start[i + 1] += self.start[i];
        }
        let mut order = std::mem::take(if list.is_none() {
            &mut self.next
        } else {
            &mut self.order
        });
        order.clear();
        order.resize(count, 0);
        for k in 0..count {
            let k = at(k);
            let position = &mut self.start[key(k)];
            order[*position] = k;
            *position += 1;
        }
        self.order = order;
    }
}

/// A square matrix, row by row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Matrix<'a> {
    Dense(&'a Dense),
    Rows(&'a CompressedRows),
}

impl Matrix<'_> {
    /// Row `i` times `x`.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        match self {
            Self::Dense(m) => dot(m.row(i), x),
            Self::Rows(m) => {
                let (cols, values) = m.row(i);
                cols.iter().zip(values).map(|(&j, v)| v * x[j]).sum()
            }
        }
    }

    /// The absolute terms of row `i` times `x`.
    pub fn row_size(&self, i: usize, x: &[f64]) -> f64 {
        match self {
            Self::Dense(m) => m.row(i).iter().zip(x).map(|(a, x)| (a * x).abs()).sum(),
            Self::Rows(m) => {
                let (cols, values) = m.row(i);
                cols.iter()
                    .zip(values)
                    .map(|(&j, v)| (v * x[j]).abs())
                    .sum()
            }
        }
    }

    /// Entry `(i, j)`.
    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        match self {
            Self::Dense(m) => m[(i, j)],
            Self::Rows(m) => {
                let (cols, values) = m.row(i);
                cols.binary_search(&j).map_or(0.0, |k| values[k])
            }
        }
    }

    /// Largest absolute entry of row `i`.
    pub fn row_max(&self, i: usize) -> f64 {
        let values = match self {
            Self::Dense(m) => m.row(i),
            Self::Rows(m) => m.row(i).1,
        };
        saltus_linear::max_abs(values)
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        match self {
            Self::Dense(m) => m.rows(),
            Self::Rows(m) => m.size(),
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
                    let (cols, values) = m.row(i);
                    for (&j, &v) in cols.iter().zip(values).filter(|(_, v)| **v != 0.0) {
                        visit(i, j, v);
                    }
                }
            }
        }
    }
}
