//! The Schur complement `W A⁻¹ Wᵀ` of few rows on a factored matrix.

use crate::rows::SparseRows;
use crate::scratch::Scratch;
use crate::square::SquareMatrix;
use crate::vector::axpy;
use std::ops::Range;

/// Entries of a column below this fraction of its largest one are left out.
const NOTHING: f64 = 1e-40;

/// Columns are kept up to this many times the number of unknowns.
const KEPT: usize = 16;

/// No place.
const NONE: u32 = u32::MAX;

/// Solves `A c = w` once per row `w` and factorisation, and keeps what later steps ask for: the scalar products of
/// the rows known so far with all columns, and the columns themselves where there is room.
///
/// Rows are known by a number that the caller gives; the same number must mean the same row as long as the
/// factorisation is the same.
#[derive(Debug, Clone, Default)]
pub struct Schur {
    /// The factorisation all belongs to.
    stamp: u64,
    /// Unknowns.
    n: usize,
    symmetric: bool,
    /// Place of each number, in order of arrival.
    place: Vec<u32>,
    /// The rows by place.
    rows: SparseRows,
    /// `W A⁻¹ Wᵀ` of the places: line `i` holds the entries `(i, 0..=i)` and then `(0..i, i)`.
    products: Vec<f64>,
    /// The kept part of each column, one after the other.
    columns: Vec<f64>,
    /// Where the part of each place is in `columns`, and its first unknown; none where it was not kept.
    parts: Vec<(Range<usize>, usize)>,
    column: Vec<f64>,
    scratch: Scratch,
}

impl Schur {
    /// Makes row `row` of `rows` known by `number`. Costs a solve where it is not known yet, nothing otherwise.
    pub fn know(&mut self, a: &SquareMatrix, number: usize, rows: &SparseRows, row: usize) {
        if self.stamp != a.stamp() {
            self.forget(a);
        }
        if self.place.len() <= number {
            self.place.resize(number + 1, NONE);
        }
        if self.place[number] != NONE {
            return;
        }
        let k = self.rows.len();
        #[allow(clippy::cast_possible_truncation)]
        {
            self.place[number] = k as u32;
        }
        self.rows.push(rows.cols(row), rows.values(row));
        self.column.fill(0.0);
        self.rows.axpy(k, 1.0, &mut self.column);
        a.solve(&mut self.column);
        // (k, j) for j < k: the row against the columns there are.
        for j in 0..k {
            let value = if self.symmetric {
                self.rows.dot(j, &self.column)
            } else {
                self.row_times_column(k, j)
            };
            self.products.push(value);
        }
        for i in std::iter::once(k).chain(0..k) {
            self.products.push(self.rows.dot(i, &self.column));
        }
        self.keep();
    }

    fn forget(&mut self, a: &SquareMatrix) {
        self.stamp = a.stamp();
        self.n = a.size();
        self.symmetric = a.is_symmetric();
        self.place.clear();
        self.rows.clear();
        self.products.clear();
        self.columns.clear();
        self.parts.clear();
        self.column.resize(self.n, 0.0);
    }

    /// Stores what matters of the new column, where there is room or no other way.
    fn keep(&mut self) {
        let least = NOTHING * crate::vector::max_abs(&self.column);
        let first = (self.column.iter()).position(|v| v.abs() > least);
        let last = (self.column.iter()).rposition(|v| v.abs() > least);
        let support = match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 0..0,
        };
        let begin = self.columns.len();
        if self.symmetric && begin + support.len() > KEPT * self.n {
            self.parts.push((0..0, NONE as usize));
            return;
        }
        self.columns
            .extend_from_slice(&self.column[support.clone()]);
        self.parts.push((begin..self.columns.len(), support.start));
    }

    fn row_times_column(&self, row: usize, column: usize) -> f64 {
        let (range, first) = &self.parts[column];
        let part = &self.columns[range.clone()];
        (self.rows.cols(row).iter())
            .zip(self.rows.values(row))
            .map(|(&j, w)| {
                w * j
                    .checked_sub(*first)
                    .and_then(|j| part.get(j))
                    .unwrap_or(&0.0)
            })
            .sum()
    }

    /// `w_i A⁻¹ w_jᵀ` of the known rows `i` and `j`.
    #[must_use]
    pub fn product(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (self.place[i] as usize, self.place[j] as usize);
        let k = i.max(j);
        // Line k begins after k² entries: 1, 3, 5, … per line.
        let line = &self.products[k * k..(k + 1) * (k + 1)];
        if i >= j { line[j] } else { line[k + 1 + i] }
    }

    /// `x ← x + A⁻¹ Σ z_k w_k` over the known rows `numbers`.
    pub fn respond(&self, a: &SquareMatrix, numbers: &[usize], z: &[f64], x: &mut [f64]) {
        let pushing = || numbers.iter().zip(z).filter(|(_, z)| **z != 0.0);
        let part = |&number: &usize| &self.parts[self.place[number] as usize];
        let effort: usize = pushing().map(|(k, _)| part(k).0.len()).sum();
        let missing = pushing().any(|(k, _)| part(k).1 == NONE as usize);
        if missing || effort > KEPT * self.n {
            self.scratch.with(self.n, |sum| {
                sum.fill(0.0);
                for (&k, z) in pushing() {
                    self.rows.axpy(self.place[k] as usize, *z, sum);
                }
                a.solve(sum);
                axpy(1.0, sum, x);
            });
            return;
        }
        for (k, z) in pushing() {
            let (range, first) = part(k);
            axpy(
                *z,
                &self.columns[range.clone()],
                &mut x[*first..first + range.len()],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::MatrixSink;

    #[test]
    fn products_and_responses_are_those_of_solves() {
        let n = 90;
        for symmetric in [true, false] {
            let mut a = SquareMatrix::new(n);
            for i in 0..n {
                a.entry(i, i, 4.0);
                if i > 0 {
                    a.entry(i, i - 1, -1.0);
                    a.entry(i - 1, i, if symmetric { -1.0 } else { 0.5 });
                }
            }
            a.factorise().unwrap();
            assert_eq!(a.is_symmetric(), symmetric);
            let mut rows = SparseRows::default();
            for k in 0..40 {
                rows.push(&[2 * k, (2 * k + 7) % n], &[1.0, -0.3 * k as f64]);
            }
            let mut schur = Schur::default();
            // Known in another order than asked for.
            let numbers = [7, 3, 39, 0, 11];
            for &k in &numbers {
                schur.know(&a, k, &rows, k);
                schur.know(&a, k, &rows, k);
            }
            let column = |k: usize| {
                let mut c = vec![0.0; n];
                rows.axpy(k, 1.0, &mut c);
                a.solve(&mut c);
                c
            };
            for &i in &numbers {
                for &j in &numbers {
                    let expected = rows.dot(i, &column(j));
                    assert!((schur.product(i, j) - expected).abs() < 1e-13);
                }
            }
            let z = [0.5, 0.0, -1.0, 2.0, 0.0];
            let (mut x, mut expected) = (vec![1.0; n], vec![1.0; n]);
            schur.respond(&a, &numbers, &z, &mut x);
            for (&k, z) in numbers.iter().zip(z) {
                axpy(z, &column(k), &mut expected);
            }
            for (x, e) in x.iter().zip(&expected) {
                assert!((x - e).abs() < 1e-13);
            }
        }
    }
}
