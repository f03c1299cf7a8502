//! A square matrix in compressed rows whose pattern grows when it must and stays otherwise.

use crate::sparse::{EMPTY, is_filled};
use std::ops::Range;

/// An entry that waits for its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    row: u32,
    col: u32,
    /// Number of the arrival: what comes to one place is added in this order.
    order: u32,
    value: f64,
}

impl Pending {
    /// Rows, columns and arrivals are numbered in 32 bits. A zero is an entry, too.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    pub(crate) fn new(row: usize, col: usize, value: f64, order: usize) -> Self {
        Self {
            row: row as u32,
            col: col as u32,
            order: order as u32,
            value: value + 0.0,
        }
    }
}

/// Compressed rows with increasing columns, without repetition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compressed {
    /// `start[i]..start[i + 1]` are the entries of row `i` (n + 1).
    start: Vec<u32>,
    cols: Vec<u32>,
    values: Vec<f64>,
}

impl Compressed {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            start: vec![0; n + 1],
            ..Self::default()
        }
    }

    /// Starts of the rows, their columns and their values.
    pub(crate) fn parts(&self) -> (&[u32], &[u32], &[f64]) {
        (&self.start, &self.cols, &self.values)
    }

    pub(crate) fn size(&self) -> usize {
        self.start.len() - 1
    }

    /// Empties every place.
    pub(crate) fn clear(&mut self) {
        self.values.fill(EMPTY);
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Whether both have the same entries.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.start == other.start && self.cols == other.cols
    }

    fn range(&self, i: usize) -> Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// Place in `values` of the entry `(row, col)`, where the pattern has it.
    #[inline]
    pub(crate) fn place(&self, row: usize, col: usize) -> Option<usize> {
        let range = self.range(row);
        let cols = &self.cols[range.clone()];
        let found = cols.partition_point(|&c| (c as usize) < col);
        (cols.get(found).is_some_and(|&c| c as usize == col)).then_some(range.start + found)
    }

    /// Adds `block` of one row to consecutive columns; the number of entries taken, which is less than all where
    /// the pattern lacks the next one.
    #[inline]
    pub(crate) fn add_row(&mut self, row: usize, col: usize, block: &[f64]) -> usize {
        let Some(place) = self.place(row, col) else {
            return 0;
        };
        let end = self.start[row + 1] as usize;
        let mut taken = 0;
        for (k, value) in block.iter().enumerate() {
            if place + k >= end || self.cols[place + k] as usize != col + k {
                break;
            }
            self.values[place + k] += value + 0.0;
            taken += 1;
        }
        taken
    }

    /// `d ← diag(A)`.
    pub(crate) fn diagonal(&self, d: &mut [f64]) {
        for (i, d) in d.iter_mut().enumerate() {
            *d = self.place(i, i).map_or(0.0, |k| self.values[k]);
        }
    }

    /// `out ← (A x)` in the rows `rows`.
    pub(crate) fn rows_times(&self, rows: Range<usize>, x: &[f64], out: &mut [f64]) {
        let mut begin = self.start[rows.start] as usize;
        for (out, &end) in out.iter_mut().zip(&self.start[rows.start + 1..=rows.end]) {
            let end = end as usize;
            let mut sum = 0.0;
            for (value, &col) in self.values[begin..end].iter().zip(&self.cols[begin..end]) {
                sum += value * x[col as usize];
            }
            *out = sum;
            begin = end;
        }
    }

    /// Column and value of every entry of row `i`, in increasing columns.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.range(i);
        self.cols[range.clone()]
            .iter()
            .zip(&self.values[range])
            .map(|(&j, v)| (j as usize, *v))
            .filter(|(_, v)| is_filled(*v))
    }

    /// The entries of `self` and of `more`, which is emptied, without an empty place.
    pub(crate) fn merge(&self, more: &mut Vec<Pending>, merged: &mut Self) {
        more.sort_unstable_by_key(|e| (e.row, e.col, e.order));
        merged.cols.clear();
        merged.values.clear();
        let mut next = 0;
        for i in 0..self.size() {
            let first = merged.cols.len();
            let mut old = self.range(i).peekable();
            loop {
                let fresh = more
                    .get(next)
                    .filter(|e| e.row as usize == i)
                    .map(|e| (e.col, e.value));
                let known = old.peek().map(|&k| (self.cols[k], self.values[k]));
                let (col, value) = match (known, fresh) {
                    (None, None) => break,
                    (Some((j, v)), f) if f.is_none_or(|f| j <= f.0) => {
                        old.next();
                        if !is_filled(v) {
                            continue;
                        }
                        (j, v)
                    }
                    (_, Some((j, v))) => {
                        next += 1;
                        (j, v)
                    }
                    (Some(_), None) => break,
                };
                if merged.cols.len() > first && merged.cols.last() == Some(&col) {
                    if let Some(last) = merged.values.last_mut() {
                        *last += value;
                    }
                } else {
                    merged.cols.push(col);
                    merged.values.push(value);
                }
            }
            #[allow(clippy::cast_possible_truncation)] // 2³² entries are 48 GB
            {
                merged.start[i + 1] = merged.cols.len() as u32;
            }
        }
        more.clear();
    }

    /// Whether the matrix is its transpose: `same` compares the value at `(j, i)`, none where the pattern lacks it, with
    /// that at `(i, j)`; `cursor` is overwritten.
    pub(crate) fn is_symmetric(
        &self,
        cursor: &mut Vec<u32>,
        same: impl Fn((usize, usize), Option<f64>, f64) -> bool,
    ) -> bool {
        // Columns visited in order: the cursor of each row stands where the entry whose transpose comes next would be.
        cursor.clear();
        cursor.extend_from_slice(&self.start[..self.size()]);
        (0..self.size()).all(|i| {
            self.range(i).all(|k| {
                let j = self.cols[k] as usize;
                let end = self.start[j + 1];
                let at = &mut cursor[j];
                while *at < end && (self.cols[*at as usize] as usize) < i {
                    *at += 1;
                }
                let found = *at < end && self.cols[*at as usize] as usize == i;
                let other = found.then(|| self.values[*at as usize]);
                same((i, j), other, self.values[k])
            })
        })
    }
}
