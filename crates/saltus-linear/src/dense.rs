//! A dense row-major matrix that keeps its storage when it is resized.

use crate::sink::MatrixSink;
use crate::vector::{axpy, dot};

/// Dense matrix, row-major, `rows × cols`.
#[derive(Debug, Default, PartialEq)]
pub struct Dense {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Clone for Dense {
    fn clone(&self) -> Self {
        Self {
            rows: self.rows,
            cols: self.cols,
            data: self.data.clone(),
        }
    }

    /// Reuses the storage of `self`: allocates only beyond the largest size seen.
    fn clone_from(&mut self, source: &Self) {
        self.rows = source.rows;
        self.cols = source.cols;
        self.data.clone_from(&source.data);
    }
}

impl Dense {
    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            data: vec![0.0; rows * cols],
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, row by row.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row by row, to be written.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Row `i` (cols).
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i` (cols), to be written.
    #[inline]
    #[must_use]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Sets the size and zeroes every entry; allocates only beyond the largest size seen.
    pub fn reset(&mut self, rows: usize, cols: usize) {
        self.rows = rows;
        self.cols = cols;
        self.data.clear();
        self.data.resize(rows * cols, 0.0);
    }

    /// Sets the size and zeroes every entry but those of the first `kept` rows, which stay where the number of
    /// columns is the same; allocates only beyond the largest size seen.
    pub fn resize_rows(&mut self, rows: usize, cols: usize, kept: usize) {
        let kept = if cols == self.cols { kept.min(rows) } else { 0 };
        (self.rows, self.cols) = (rows, cols);
        self.data.truncate(kept * cols);
        self.data.resize(rows * cols, 0.0);
    }

    /// Zeroes every entry.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// `y ← A x`.
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate().take(self.rows) {
            *y = dot(self.row(i), x);
        }
    }

    /// `y ← y + alpha A x`.
    pub fn apply_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate().take(self.rows) {
            *y += alpha * dot(self.row(i), x);
        }
    }

    /// `y ← y + alpha Aᵀ x`.
    pub fn apply_transposed_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        for (i, x) in x.iter().enumerate().take(self.rows) {
            axpy(alpha * x, self.row(i), y);
        }
    }

    /// `A ← A B` for a square `B`; `scratch` is overwritten with a row.
    pub fn multiply_right(&mut self, b: &Self, scratch: &mut Vec<f64>) {
        scratch.resize(self.cols, 0.0);
        for i in 0..self.rows {
            scratch.copy_from_slice(self.row(i));
            let row = self.row_mut(i);
            row.fill(0.0);
            for (k, a) in scratch.iter().enumerate() {
                axpy(*a, b.row(k), row);
            }
        }
    }

    /// `xᵀ A y`.
    #[must_use]
    pub fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        (0..self.rows).map(|i| x[i] * dot(self.row(i), y)).sum()
    }
}

impl std::ops::Index<(usize, usize)> for Dense {
    type Output = f64;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.cols + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Dense {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.cols + j]
    }
}

/// Adds rows of a few entries, as those of bodies are: no loop.
#[inline]
fn add_rows<'a, const N: usize>(target: impl Iterator<Item = &'a mut [f64]>, block: &[f64]) {
    let (rows, _) = block.as_chunks::<N>();
    for (target, row) in target.zip(rows) {
        for (target, x) in target[..N].iter_mut().zip(row) {
            *target += x + 0.0;
        }
    }
}

/// What arrives is no negative zero, which in a [`SquareMatrix`](crate::SquareMatrix) marks what nothing came to.
impl MatrixSink for Dense {
    #[inline]
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        let from = row * self.cols + col;
        let target = self.data[from..].chunks_mut(self.cols).take(rows);
        match cols {
            1 => add_rows::<1>(target, block),
            2 => add_rows::<2>(target, block),
            3 => add_rows::<3>(target, block),
            _ => {
                for (target, block) in target.zip(block.chunks_exact(cols.max(1))) {
                    for (target, x) in target[..cols].iter_mut().zip(block) {
                        *target += x + 0.0;
                    }
                }
            }
        }
    }

    #[inline]
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.data[row * self.cols + col] += value + 0.0;
    }
}
