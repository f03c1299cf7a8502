//! The Schur complement `W A⁻¹ Wᵀ` of few rows on a factored matrix.

use crate::forward_solves::{Forward, ForwardSolves};
use crate::rows::SparseRows;
use crate::scratch::Scratch;
use crate::square::SquareMatrix;
use crate::vector::axpy;
use std::ops::Range;

/// Entries of a column below this fraction of its largest one are left out.
const NOTHING: f64 = 1e-40;

/// Columns are kept up to this many times the number of unknowns.
const KEPT: usize = 16;

/// Columns that are solved for together.
const TOGETHER: usize = 32;

/// Most numbers in the columns that are solved for together, 64 MB.
const ROOM: usize = 8_000_000;

/// No place.
const NONE: u32 = u32::MAX;

/// Solves `A c = w` once per row `w` and factorisation, many at a time, and keeps what later steps ask for: the scalar
/// products of the rows known so far with all columns, and the columns themselves where there is room.
///
/// Rows are known by a number that the caller gives. Where the same number comes with another row, or the matrix was
/// factorised again, everything is made anew.
#[derive(Debug, Clone, Default)]
pub struct Schur {
    /// The factorisation all belongs to, and how often everything was made anew.
    stamp: u64,
    renewals: u64,
    /// Unknowns.
    n: usize,
    symmetric: bool,
    /// Place of each number, in order of arrival.
    place: Vec<u32>,
    /// Number by place.
    numbers: Vec<usize>,
    /// The rows by place.
    rows: SparseRows,
    /// `W A⁻¹ Wᵀ` of the places: line `i` holds the entries `(i, 0..=i)` and then `(0..i, i)`.
    products: Vec<f64>,
    /// The kept part of each column, one after the other.
    columns: Vec<f64>,
    /// Where the part of each place is in `columns`, and its first unknown; none where it was not kept.
    parts: Vec<(Range<usize>, usize)>,
    /// Half-made columns of the places, where the matrix offers them: all that products need.
    forward_solves: ForwardSolves,
    /// Columns in the making, one after the other.
    fresh: Vec<f64>,
    scratch: Scratch,
    /// Whether columns are not kept.
    forgetful: bool,
}

/// A factorisation: its number, its size, whether it is of a symmetric matrix, and half a solve with it.
type Identity<'a> = (u64, usize, &'a dyn Fn() -> bool, Option<Forward<'a>>);

impl Schur {
    /// Keeps no columns where it can do without: a response costs a solve.
    #[must_use]
    pub fn without_columns() -> Self {
        Self {
            forgetful: true,
            ..Self::default()
        }
    }

    /// Makes row `row` of `rows` known by `number`. Costs a solve where it is not known yet, nothing otherwise.
    pub fn add(&mut self, a: &SquareMatrix, number: usize, rows: &SparseRows, row: usize) {
        self.add_all(a, rows, std::iter::once((number, row)));
    }

    /// Makes rows of `rows` known: `list` gives the number of each and its place.
    pub fn add_all(
        &mut self,
        a: &SquareMatrix,
        rows: &SparseRows,
        list: impl Iterator<Item = (usize, usize)> + Clone,
    ) {
        let symmetric = || a.is_symmetric();
        let identity: Identity<'_> = (a.stamp(), a.size(), &symmetric, a.half());
        self.add_by(identity, &mut |x| a.solve_many(x), rows, list);
    }

    /// The same of any matrix: `solve` multiplies vectors (n each), one after the other, with what stands for `A⁻¹`,
    /// for which `stamp` vouches. Nothing is taken for symmetric.
    pub fn add_through(
        &mut self,
        (stamp, n): (u64, usize),
        solve: &mut dyn FnMut(&mut [f64]),
        rows: &SparseRows,
        list: impl Iterator<Item = (usize, usize)> + Clone,
    ) {
        self.add_by((stamp, n, &|| false, None), solve, rows, list);
    }

    fn add_by(
        &mut self,
        identity: Identity<'_>,
        solve: &mut dyn FnMut(&mut [f64]),
        rows: &SparseRows,
        list: impl Iterator<Item = (usize, usize)> + Clone,
    ) {
        let changed = |&(number, row): &(usize, usize)| {
            self.find(number).is_some_and(|k| {
                self.rows.cols(k) != rows.cols(row) || self.rows.values(k) != rows.values(row)
            })
        };
        if self.stamp != identity.0 || list.clone().any(|entry| changed(&entry)) {
            self.forget(identity);
        }
        let mut first = self.numbers.len();
        for (number, row) in list {
            if self.find(number).is_some() {
                continue;
            }
            if self.place.len() <= number {
                self.place.resize(number + 1, NONE);
            }
            #[allow(clippy::cast_possible_truncation)]
            {
                self.place[number] = self.numbers.len() as u32;
            }
            self.numbers.push(number);
            self.rows.push(rows.cols(row), rows.values(row));
        }
        if self.numbers.len() == first {
            return;
        }
        if !self.symmetric && self.parts.iter().any(|part| part.1 == NONE as usize) {
            // New rows need the columns that were not kept.
            first = 0;
            self.parts.clear();
            self.columns.clear();
        }
        self.make(first, identity.3, solve);
    }

    /// What tells products from others of the same rows: it changes whenever the matrix or one of the rows did.
    #[must_use]
    pub fn version(&self) -> (u64, u64) {
        (self.stamp, self.renewals)
    }

    fn find(&self, number: usize) -> Option<usize> {
        let place = self.place.get(number)?;
        (*place != NONE).then_some(*place as usize)
    }

    fn forget(&mut self, (stamp, n, symmetric, _): Identity<'_>) {
        self.stamp = stamp;
        self.renewals += 1;
        self.n = n;
        self.symmetric = symmetric();
        self.place.clear();
        self.numbers.clear();
        self.rows.clear();
        self.products.clear();
        self.columns.clear();
        self.parts.clear();
        self.forward_solves.clear();
    }

    /// Makes what is to be known of the places from `first` on.
    fn make(&mut self, first: usize, half: Option<Forward<'_>>, solve: &mut dyn FnMut(&mut [f64])) {
        let count = self.numbers.len();
        self.products.resize(count * count, 0.0);
        let Some(half) = half else {
            return self.make_columns(first, count, solve);
        };
        for k in first..count {
            self.forward_solves
                .push(half, self.rows.cols(k), self.rows.values(k));
            for i in 0..=k {
                // The same to the last bit in whichever order the rows arrive.
                let in_order = self.numbers[i] < self.numbers[k];
                let (one, other) = if in_order { (i, k) } else { (k, i) };
                let value = self.forward_solves.product(one, other);
                self.products[slot(k, i)] = value;
                self.products[slot(i, k)] = value;
            }
        }
        // A few whole columns make responses cheap; those of many rows take a solve anyway.
        let few = count.min(KEPT);
        if !self.forgetful && first < few {
            self.make_columns(first, few, solve);
        }
        self.parts.resize(count, (0..0, NONE as usize));
    }

    /// Makes the columns of the places from `first` to `count`, and the products where forward solves do not give them.
    fn make_columns(&mut self, first: usize, count: usize, solve: &mut dyn FnMut(&mut [f64])) {
        let n = self.n;
        let by_forward_solves = !self.forward_solves.is_empty();
        for j in 0..first {
            for i in first..count {
                // The row against the columns there are; of a symmetric matrix the new columns tell.
                if !self.symmetric {
                    self.products[slot(i, j)] = self.row_times_column(i, j);
                }
            }
        }
        let together = TOGETHER.min((ROOM / n.max(1)).max(1));
        let mut fresh = std::mem::take(&mut self.fresh);
        for begin in (first..count).step_by(together) {
            let end = count.min(begin + together);
            let size = (end - begin) * n;
            if fresh.len() < size {
                fresh.resize(size, 0.0);
            }
            fresh[..size].fill(0.0);
            for (k, column) in (begin..end).zip(fresh.chunks_exact_mut(n)) {
                self.rows.axpy(k, 1.0, column);
            }
            solve(&mut fresh[..size]);
            for (k, column) in (begin..end).zip(fresh.chunks_exact(n)) {
                let rows = match (by_forward_solves, self.symmetric) {
                    (true, _) => 0,
                    (_, true) => k + 1,
                    (_, false) => count,
                };
                for i in 0..rows {
                    let mut value = self.rows.dot(i, column);
                    if self.symmetric {
                        // Of the two ways to the same product the order of the numbers decides, not that of arrival.
                        let known = i < k && self.parts[i].1 != NONE as usize;
                        if known && self.numbers[i] > self.numbers[k] {
                            value = self.row_times_column(k, i);
                        }
                        self.products[slot(k, i)] = value;
                    }
                    self.products[slot(i, k)] = value;
                }
                self.keep(column);
            }
        }
        self.fresh = fresh;
    }

    /// Stores what matters of the next column, where there is room.
    fn keep(&mut self, column: &[f64]) {
        if self.forgetful {
            self.parts.push((0..0, NONE as usize));
            return;
        }
        let least = NOTHING * crate::vector::max_abs(column);
        let first = column.iter().position(|v| v.abs() > least);
        let last = column.iter().rposition(|v| v.abs() > least);
        let support = match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 0..0,
        };
        let begin = self.columns.len();
        if self.symmetric && begin + support.len() > KEPT * self.n {
            self.parts.push((0..0, NONE as usize));
            return;
        }
        self.columns.extend_from_slice(&column[support.clone()]);
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
        self.products[slot(self.place[i] as usize, self.place[j] as usize)]
    }

    /// The kept part of `A⁻¹ w` of the known row `i`, and its first unknown; the rest is nothing. `None` where it was not
    /// kept.
    #[must_use]
    pub fn column(&self, i: usize) -> Option<(usize, &[f64])> {
        let (range, first) = &self.parts[self.place[i] as usize];
        (*first != NONE as usize).then(|| (*first, &self.columns[range.clone()]))
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

/// Where the product of row `i` with column `j` is.
fn slot(i: usize, j: usize) -> usize {
    let k = i.max(j);
    // Line k begins after k² entries: 1, 3, 5, … per line.
    let line = k * k;
    if i >= j { line + j } else { line + k + 1 + i }
}
