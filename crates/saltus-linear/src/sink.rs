//! How a matrix crosses a border: block by block, into whatever wants it.

use crate::vector::dot;

/// Receives a matrix block by block. Blocks may overlap; entries add up.
pub trait MatrixSink {
    /// Adds one entry at `(row, col)`.
    fn entry(&mut self, row: usize, col: usize, value: f64);

    /// Adds `block` (row-major, `rows × cols`) with its upper left corner at `(row, col)`.
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            for j in 0..cols {
                self.entry(row + i, col + j, block[i * cols + j]);
            }
        }
    }
}

/// Scales what passes by `factor` and shifts it by `(row, col)` on its way into another sink.
pub struct Shifted<'a> {
    /// Where the scaled blocks go.
    pub sink: &'a mut dyn MatrixSink,
    /// Multiplies every entry.
    pub factor: f64,
    /// Added to every row index.
    pub row: usize,
    /// Added to every column index.
    pub col: usize,
}

impl MatrixSink for Shifted<'_> {
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            for j in 0..cols {
                let value = block[i * cols + j];
                if value != 0.0 {
                    self.entry(row + i, col + j, value);
                }
            }
        }
    }

    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.sink
            .entry(self.row + row, self.col + col, self.factor * value);
    }
}

/// Scales row `i` of what passes by `factors[i]` on its way into another sink.
pub struct RowScaled<'a> {
    /// Where the scaled entries go.
    pub sink: &'a mut dyn MatrixSink,
    /// One factor per row.
    pub factors: &'a [f64],
}

impl MatrixSink for RowScaled<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let scaled = self.factors[row] * value;
        if scaled != 0.0 {
            self.sink.entry(row, col, scaled);
        }
    }
}

/// Evaluates `xᵀ A y` while `A` passes, without storing it.
pub struct QuadraticForm<'a> {
    /// Left vector (rows).
    pub x: &'a [f64],
    /// Right vector (columns).
    pub y: &'a [f64],
    /// `xᵀ A y` of the blocks seen so far.
    pub value: f64,
}

impl MatrixSink for QuadraticForm<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.value += self.x[row] * value * self.y[col];
    }

    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            let line = &block[i * cols..(i + 1) * cols];
            self.value += self.x[row + i] * dot(line, &self.y[col..col + cols]);
        }
    }
}
