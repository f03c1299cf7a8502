//! Rows of a wide sparse matrix: constraint gradients and contact directions.

use crate::sink::MatrixSink;
use std::ops::Range;

/// Compressed sparse rows; grows row by row and never gives capacity back.
#[derive(Debug, Default, PartialEq)]
pub struct SparseRows {
    /// `start[i]..start[i + 1]` are the entries of row `i`; one more than there are rows.
    start: Vec<usize>,
    /// Column of each entry.
    cols: Vec<usize>,
    /// Value of each entry.
    values: Vec<f64>,
}

impl Clone for SparseRows {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the storage of `self`: allocates only beyond the largest size seen.
    fn clone_from(&mut self, source: &Self) {
        self.start.clone_from(&source.start);
        self.cols.clone_from(&source.cols);
        self.values.clone_from(&source.values);
    }
}

impl SparseRows {
    /// Removes all rows, keeping the capacity.
    pub fn clear(&mut self) {
        self.start.clear();
        self.cols.clear();
        self.values.clear();
    }

    /// Removes all rows but the first `count`, keeping the capacity.
    pub fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.start.truncate(count + 1);
            let end = self.start[count];
            self.cols.truncate(end);
            self.values.truncate(end);
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every row is empty.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends a row with entries `values` in the columns `cols`.
    pub fn push(&mut self, cols: &[usize], values: &[f64]) {
        self.push_terms(cols.iter().copied().zip(values.iter().copied()));
    }

    /// Appends a row with these columns and values.
    pub fn push_terms(&mut self, terms: impl IntoIterator<Item = (usize, f64)>) {
        if self.start.is_empty() {
            self.start.push(0);
        }
        for (col, value) in terms {
            self.cols.push(col);
            self.values.push(value);
        }
        self.start.push(self.cols.len());
    }

    /// Columns of row `i`.
    #[inline]
    #[must_use]
    pub fn cols(&self, i: usize) -> &[usize] {
        &self.cols[self.range(i)]
    }

    /// Where the entries of row `i` are.
    #[inline]
    fn range(&self, i: usize) -> Range<usize> {
        let ends = &self.start[i..i + 2];
        ends[0]..ends[1]
    }

    /// `Σ_j |a_ij x_j|`: the size of the terms of [`dot`](Self::dot), which scales its round-off.
    #[inline]
    #[must_use]
    pub fn magnitude(&self, i: usize, x: &[f64]) -> f64 {
        self.terms(i).map(|(j, a)| (a * x[j]).abs()).sum()
    }

    /// Columns and entries of row `i`.
    #[inline]
    fn terms(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.range(i);
        let cols = self.cols[range.clone()].iter().copied();
        cols.zip(self.values[range].iter().copied())
    }

    /// Entries of row `i`, in the order of [`cols`](Self::cols).
    #[inline]
    #[must_use]
    pub fn values(&self, i: usize) -> &[f64] {
        &self.values[self.range(i)]
    }

    /// Entries of row `i`, to be refilled.
    #[inline]
    #[must_use]
    pub fn values_mut(&mut self, i: usize) -> &mut [f64] {
        let range = self.range(i);
        &mut self.values[range]
    }

    /// All entries, row by row, to be refilled in one go.
    #[must_use]
    pub fn all_values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Scalar product of row `i` with `x`.
    #[inline]
    #[must_use]
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        self.terms(i).map(|(c, v)| v * x[c]).sum()
    }

    /// `y ← y + alpha · row i`.
    #[inline]
    pub fn axpy(&self, i: usize, alpha: f64, y: &mut [f64]) {
        for (c, v) in self.terms(i) {
            y[c] += alpha * v;
        }
    }

    /// Sends row `i` to row `row` of `sink`.
    pub fn send(&self, i: usize, row: usize, factor: f64, sink: &mut dyn MatrixSink) {
        for (c, v) in self.terms(i) {
            sink.entry(row, c, factor * v);
        }
    }
}

/// Collects a wide matrix that arrives block by block into [`SparseRows`], reusing its storage.
///
/// Entries that arrive twice are kept twice; they add up in every product.
#[derive(Debug, Clone, Default)]
pub struct RowCollector {
    arrival: Vec<(usize, usize, f64)>,
    /// Next free place of each row while sorting.
    cursor: Vec<usize>,
    rows: SparseRows,
}

impl RowCollector {
    /// Forgets everything collected so far.
    pub fn clear(&mut self) {
        self.arrival.clear();
    }

    /// Sorts what was collected into `count` rows.
    pub fn finish(&mut self, count: usize) -> &SparseRows {
        let r = &mut self.rows;
        r.start.clear();
        r.start.resize(count + 1, 0);
        for &(i, _, _) in &self.arrival {
            r.start[i + 1] += 1;
        }
        for i in 0..count {
            r.start[i + 1] += r.start[i];
        }
        self.cursor.clear();
        self.cursor.extend_from_slice(&r.start[..count]);
        r.cols.resize(self.arrival.len(), 0);
        r.values.resize(self.arrival.len(), 0.0);
        for &(i, j, value) in &self.arrival {
            let place = self.cursor[i];
            self.cursor[i] += 1;
            r.cols[place] = j;
            r.values[place] = value;
        }
        r
    }

    /// The rows of the last [`finish`](Self::finish).
    #[must_use]
    pub fn rows(&self) -> &SparseRows {
        &self.rows
    }
}

impl MatrixSink for RowCollector {
    #[inline]
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        if value != 0.0 {
            self.arrival.push((row, col, value));
        }
    }
}
