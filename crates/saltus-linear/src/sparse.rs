//! A sparse square matrix whose values are refilled in the places that they had before.
//!
//! Entries near the diagonal go straight into a band. Others are collected once and become compressed rows; from
//! then on every entry finds its place by its column, so that no list of arrivals is kept. What is factorised has the
//! places of its own filling and no others, so that a factorisation does not depend on earlier fillings: a run that goes
//! on from a checkpoint eliminates in the order of the run that wrote it.

use crate::LinearError;
use crate::band::{Band, WIDEST};
use crate::band_sweep::Sweep;
use crate::compressed::{Compressed, Pending};
use crate::factors::Factors;
use crate::forward_solves::Forward;
use crate::sink::MatrixSink;
use std::borrow::Cow;

/// Earlier fillings whose places are kept, and the size up to which there is more than one: factors of large matrices fill
/// the memory.
const MOST_EARLIER: usize = 16;
const MANY: usize = 2000;

/// What a place holds that no entry came to: any number is added to it without a trace, +0 included.
pub(crate) const EMPTY: f64 = -0.0;

/// Whether an entry came to a place that was [`EMPTY`].
#[inline]
pub(crate) fn is_filled(value: f64) -> bool {
    value.to_bits() != EMPTY.to_bits()
}

/// `A ← A + factor B` of two lists of places; what is empty in `B` stays as it is in `A`.
pub(crate) fn add_filled(factor: f64, b: &[f64], a: &mut [f64]) {
    if factor > 0.0 {
        return crate::vector::axpy(factor, b, a);
    }
    for (a, b) in a.iter_mut().zip(b) {
        *a = if is_filled(*b) {
            *a + (factor * b + 0.0)
        } else {
            *a
        };
    }
}

/// Rows of a product that are handed on at once: they stay in the first cache.
pub(crate) const BLOCK: usize = 256;

/// The entries.
#[derive(Debug, Clone)]
pub(crate) enum Storage {
    Band(Band),
    Rows(Compressed),
}

impl Storage {
    pub(crate) fn values(&self) -> &[f64] {
        match self {
            Self::Band(band) => band.values(),
            Self::Rows(rows) => rows.values(),
        }
    }

    /// Hands over `A x`, some rows at a time: `take(first row, values)`.
    #[inline]
    pub(crate) fn product(&self, x: &[f64], mut take: impl FnMut(usize, &[f64])) {
        let mut line = [0.0; BLOCK];
        let n = x.len();
        for first in (0..n).step_by(BLOCK) {
            let last = n.min(first + BLOCK);
            let line = &mut line[..last - first];
            match self {
                Self::Band(band) => band.rows_times(first..last, (0, x), line),
                Self::Rows(rows) => rows.rows_times(first..last, x, line),
            }
            take(first, line);
        }
    }

    /// Largest sum of the sizes of the entries of a row, up to the sizes of one diagonal after the other in a band.
    pub(crate) fn largest_row_sum(&self) -> f64 {
        match self {
            Self::Band(band) => {
                let (lower, upper) = band.widths();
                (-lower.cast_signed()..=upper.cast_signed())
                    .map(|d| crate::vector::max_abs(band.diagonal(d)))
                    .sum()
            }
            Self::Rows(rows) => (0..rows.size())
                .map(|i| rows.row(i).map(|(_, v)| v.abs()).sum())
                .fold(0.0, f64::max),
        }
    }

    fn shape(&self, n: usize) -> Shape {
        let (mut lower, mut upper, mut entries) = (0, 0, 0);
        match self {
            Self::Band(band) => {
                let (below, above) = band.widths();
                for d in -below.cast_signed()..=above.cast_signed() {
                    let count = band.diagonal(d).iter().filter(|v| is_filled(**v)).count();
                    if count > 0 {
                        lower = lower.max((-d).max(0).cast_unsigned());
                        upper = upper.max(d.max(0).cast_unsigned());
                    }
                    entries += count;
                }
            }
            Self::Rows(rows) => {
                for i in 0..n {
                    for (j, _) in rows.row(i) {
                        lower = lower.max(i.saturating_sub(j));
                        upper = upper.max(j.saturating_sub(i));
                        entries += 1;
                    }
                }
            }
        }
        Shape {
            lower,
            upper,
            entries,
        }
    }

    /// The same for two vectors, reading the matrix once.
    #[inline]
    fn product_pair(&self, x: &[f64], y: &[f64], mut take: impl FnMut(usize, &[f64], &[f64])) {
        let (mut ax, mut ay) = ([0.0; BLOCK], [0.0; BLOCK]);
        let n = x.len();
        for first in (0..n).step_by(BLOCK) {
            let last = n.min(first + BLOCK);
            let (ax, ay) = (&mut ax[..last - first], &mut ay[..last - first]);
            for (x, out) in [(x, &mut *ax), (y, &mut *ay)] {
                match self {
                    Self::Band(band) => band.rows_times(first..last, (0, x), out),
                    Self::Rows(rows) => rows.rows_times(first..last, x, out),
                }
            }
            take(first, ax, ay);
        }
    }

    /// Every entry, row by row.
    pub(crate) fn for_each(&self, n: usize, mut take: impl FnMut(usize, usize, f64)) {
        for i in 0..n {
            match self {
                Self::Band(band) => band.row(i).for_each(|(j, v)| take(i, j, v)),
                Self::Rows(rows) => rows.row(i).for_each(|(j, v)| take(i, j, v)),
            }
        }
    }
}

/// Where the entries are.
struct Shape {
    /// Largest distances below and above the diagonal.
    lower: usize,
    upper: usize,
    entries: usize,
}

/// A sparse square matrix with its factorisation.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    n: usize,
    storage: Storage,
    factors: Factors,
    /// Places and factorisations of earlier fillings, the last one at the end: contacts that close and open bring a few in turn.
    earlier: Vec<(Storage, Factors)>,
    /// Entries that the storage has no place for, repeated ones included.
    pending: Vec<Pending>,
    merged: Compressed,
    /// Terms of a product of two matrices.
    terms: Vec<(usize, usize, f64)>,
}

impl Sparse {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            storage: Storage::Band(Band::new(n)),
            factors: Factors::default(),
            earlier: Vec::new(),
            pending: Vec::new(),
            merged: Compressed::new(n),
            terms: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.n
    }

    /// Name of the factorisation in use.
    pub(crate) fn method(&self) -> &'static str {
        self.factors.name()
    }

    /// Whether a symmetric factorisation is in use.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.factors.is_symmetric()
    }

    /// Empties every entry; its place stays.
    pub(crate) fn clear(&mut self) {
        self.finish();
        match &mut self.storage {
            Storage::Band(band) => band.clear(),
            Storage::Rows(rows) => rows.clear(),
        }
    }

    /// Gives every entry its place.
    pub(crate) fn finish(&mut self) {
        if self.pending.is_empty() {
            if let Storage::Band(band) = &mut self.storage {
                band.settle();
            }
            return;
        }
        self.store_in_rows();
    }

    /// The storage with every entry in its place.
    fn finished(&self) -> Cow<'_, Storage> {
        if self.pending.is_empty() {
            return Cow::Borrowed(&self.storage);
        }
        let mut copy = Self::new(self.n);
        copy.storage.clone_from(&self.storage);
        copy.pending.clone_from(&self.pending);
        copy.finish();
        Cow::Owned(copy.storage)
    }

    /// Stores the entries as their places alone command: in the narrowest band where that is narrow and full, in
    /// compressed rows without an empty place elsewhere.
    fn store_by_places(&mut self) {
        self.finish();
        let shape = self.storage.shape(self.n);
        let widths = (shape.lower, shape.upper);
        let is_full = (widths.0 + widths.1 + 1) * self.n <= 4 * shape.entries;
        let in_band = shape.entries == 0 || is_full && widths.0.max(widths.1) <= WIDEST;
        match &self.storage {
            Storage::Band(band) if in_band && band.widths() == widths => {}
            Storage::Rows(rows) if !in_band && rows.values().len() == shape.entries => {}
            _ if in_band => self.store_in_band(widths),
            _ => self.store_in_rows(),
        }
        self.finish();
    }

    /// Stores the entries, and nothing else, in compressed rows.
    fn store_in_rows(&mut self) {
        if let Storage::Rows(rows) = &self.storage {
            rows.merge(&mut self.pending, &mut self.merged);
        } else {
            let pending = &mut self.pending;
            self.storage.for_each(self.n, |i, j, value| {
                pending.push(Pending::new(i, j, value, pending.len()));
            });
            Compressed::new(self.n).merge(pending, &mut self.merged);
        }
        let merged = &self.merged;
        let known = (self.earlier.iter()).position(
            |(storage, _)| matches!(storage, Storage::Rows(rows) if rows.is_like(merged)),
        );
        self.exchange(known);
        match &mut self.storage {
            Storage::Rows(rows) if known.is_some() => {
                rows.values_mut().copy_from_slice(self.merged.values());
            }
            storage => *storage = Storage::Rows(self.merged.clone()),
        }
    }

    /// Stores the entries in a band of the given widths, which holds them all.
    fn store_in_band(&mut self, widths: (usize, usize)) {
        let known = (self.earlier.iter()).position(
            |(storage, _)| matches!(storage, Storage::Band(band) if band.widths() == widths),
        );
        let mut entries = std::mem::take(&mut self.terms);
        entries.clear();
        (self.storage).for_each(self.n, |i, j, value| entries.push((i, j, value)));
        self.exchange(known);
        if let Storage::Band(band) = &mut self.storage {
            band.clear();
            band.widen(widths.0, widths.1);
        }
        for &(i, j, value) in &entries {
            self.entry(i, j, value);
        }
        self.terms = entries;
    }

    /// Keeps the places of the present filling, and takes those of the earlier one with number `known`, or none.
    fn exchange(&mut self, known: Option<usize>) {
        let (storage, factors) = match known {
            Some(k) => self.earlier.remove(k),
            None => (Storage::Band(Band::new(self.n)), Factors::default()),
        };
        let storage = std::mem::replace(&mut self.storage, storage);
        let factors = std::mem::replace(&mut self.factors, factors);
        // The first band of a matrix of any pattern is wide, and nothing was factorised in it.
        if !factors.is_empty() {
            self.earlier.push((storage, factors));
        }
        let most = if self.n <= MANY { MOST_EARLIER } else { 1 };
        if self.earlier.len() > most {
            self.earlier.remove(0);
        }
    }

    pub(crate) fn factorise(&mut self) -> Result<(), LinearError> {
        self.store_by_places();
        self.factors.factorise(self.n, &self.storage)
    }

    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.factors.solve(&self.storage, x);
    }

    pub(crate) fn solve_scaled(&self, alpha: f64, x: &mut [f64]) {
        self.factors.solve_scaled(&self.storage, alpha, x);
    }

    /// The forward half of a solve, where the factorisation offers it.
    pub(crate) fn half(&self) -> Option<Forward<'_>> {
        self.factors.half()
    }

    /// See [`SquareMatrix::sweep`](crate::SquareMatrix::sweep).
    pub(crate) fn sweep(&self) -> Option<Sweep<'_>> {
        self.factors.sweep()
    }

    /// The matrix as a band, if it is stored as one and complete.
    #[inline]
    pub(crate) fn band(&self) -> Option<&Band> {
        match &self.storage {
            Storage::Band(band) if self.pending.is_empty() => Some(band),
            _ => None,
        }
    }

    pub(crate) fn solve_many(&self, x: &mut [f64]) {
        self.factors.solve_many(&self.storage, self.n, x);
    }

    /// Hands over `A x`, some rows at a time: `take(first row, values)`.
    #[inline]
    pub(crate) fn product(&self, x: &[f64], take: impl FnMut(usize, &[f64])) {
        if self.pending.is_empty() {
            return self.storage.product(x, take);
        }
        self.finished().product(x, take);
    }

    /// Hands over `A x` and `A y`, some rows at a time, where every entry has its place.
    #[inline]
    pub(crate) fn product_pair(
        &self,
        x: &[f64],
        y: &[f64],
        take: impl FnMut(usize, &[f64], &[f64]),
    ) -> bool {
        if self.pending.is_empty() {
            self.storage.product_pair(x, y, take);
        }
        self.pending.is_empty()
    }

    /// Whether every entry is zero.
    pub(crate) fn is_zero(&self) -> bool {
        let zero = |v: &f64| *v == 0.0;
        self.finished().values().iter().all(zero)
    }

    /// `A ← A + factor B`.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Self) {
        let other = other.finished();
        match (&mut self.storage, &*other) {
            (Storage::Band(a), Storage::Band(b)) => a.add_scaled(factor, b),
            (Storage::Rows(a), Storage::Rows(b)) if a.is_like(b) => {
                add_filled(factor, b.values(), a.values_mut());
            }
            _ => other.for_each(self.n, |i, j, v| self.entry(i, j, factor * v)),
        }
    }

    /// `A ← A B`.
    pub(crate) fn multiply_right(&mut self, other: &Self) {
        self.finish();
        let other = other.finished();
        let mut terms = std::mem::take(&mut self.terms);
        terms.clear();
        self.storage.for_each(self.n, |i, k, a| {
            let mut take = |(j, b): (usize, f64)| terms.push((i, j, a * b));
            match &*other {
                Storage::Band(band) => band.row(k).for_each(&mut take),
                Storage::Rows(rows) => rows.row(k).for_each(&mut take),
            }
        });
        self.clear();
        for &(i, j, value) in &terms {
            self.entry(i, j, value);
        }
        self.terms = terms;
    }

    /// `d ← diag(A)`.
    pub(crate) fn diagonal(&self, d: &mut [f64]) {
        match &*self.finished() {
            Storage::Band(band) if band.is_empty() => d.fill(0.0),
            Storage::Band(band) => d.copy_from_slice(band.diagonal(0)),
            Storage::Rows(rows) => rows.diagonal(d),
        }
    }

    /// Row, column and value of every entry.
    pub(crate) fn for_each(&self, take: impl FnMut(usize, usize, f64)) {
        self.finished().for_each(self.n, take);
    }
}

impl MatrixSink for Sparse {
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            let line = &block[i * cols..(i + 1) * cols];
            let mut taken = 0;
            if let Storage::Rows(known) = &mut self.storage {
                taken = known.add_row(row + i, col, line);
            }
            for (j, value) in line.iter().enumerate().skip(taken) {
                self.entry(row + i, col + j, *value);
            }
        }
    }

    #[inline]
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        match &mut self.storage {
            Storage::Band(band) => {
                if !band.entry(row, col, value) {
                    self.pending
                        .push(Pending::new(row, col, value, self.pending.len()));
                }
            }
            Storage::Rows(rows) => match rows.place(row, col) {
                Some(place) => rows.values_mut()[place] += value + 0.0,
                None => self
                    .pending
                    .push(Pending::new(row, col, value, self.pending.len())),
            },
        }
    }
}
