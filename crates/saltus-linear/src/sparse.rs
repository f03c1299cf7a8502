//! A sparse square matrix whose pattern is found once and whose values are refilled.
//!
//! Entries near the diagonal go straight into a band. Others are collected once and become compressed rows; from
//! then on every entry finds its place by its column, so that no list of arrivals is kept.

use crate::LinearError;
use crate::band::Band;
use crate::band_sweep::Sweep;
use crate::compressed::Compressed;
use crate::factors::Factors;
use crate::halves::Forward;
use crate::sink::MatrixSink;

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

    pub(crate) fn for_each(&self, n: usize, mut take: impl FnMut(usize, usize, f64)) {
        for i in 0..n {
            match self {
                Self::Band(band) => band.row(i).for_each(|(j, v)| take(i, j, v)),
                Self::Rows(rows) => rows.row(i).for_each(|(j, v)| take(i, j, v)),
            }
        }
    }
}

/// A sparse square matrix with its factorisation.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    n: usize,
    storage: Storage,
    /// Entries that the storage has no place for, repeated ones included.
    pending: Vec<(u32, u32, f64)>,
    factors: Factors,
    /// Terms of a product of two matrices.
    terms: Vec<(u32, u32, f64)>,
    /// Number of places at the last [`clear`](Self::clear), negative in a band, and how often it changed.
    places: isize,
    changes: u32,
}

impl Sparse {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            storage: Storage::Band(Band::new(n)),
            pending: Vec::new(),
            factors: Factors::default(),
            terms: Vec::new(),
            places: 0,
            changes: 0,
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

    /// Zeroes every entry; the pattern stays.
    pub(crate) fn clear(&mut self) {
        self.finish();
        let places = self.number_of_places();
        self.changes += u32::from(places != self.places);
        self.places = places;
        match &mut self.storage {
            Storage::Band(band) => band.clear(),
            Storage::Rows(rows) => rows.clear(),
        }
    }

    fn number_of_places(&self) -> isize {
        let count = self.storage.values().len().cast_signed();
        match self.storage {
            Storage::Band(_) => -count,
            Storage::Rows(_) => count,
        }
    }

    /// Appends what decides how the next filling is factorised: the order of elimination depends on every place that
    /// ever had an entry. Places of `base` are understood; unless `always`, one number stands for a pattern that came
    /// with one filling, as it will again.
    #[allow(clippy::cast_precision_loss)] // far below 2⁵³
    pub(crate) fn remember(&self, base: Option<&Self>, always: bool, memory: &mut Vec<f64>) {
        let grown = self.changes + u32::from(self.number_of_places() != self.places);
        let habits = self.factors.habits();
        if grown <= 1 && habits == 0 && !always || !self.pending.is_empty() {
            return memory.push(0.0);
        }
        match &self.storage {
            Storage::Band(band) => {
                let (lower, upper) = band.widths();
                let empty = f64::from(u8::from(band.is_empty()));
                memory.extend([1.0, f64::from(habits), empty, lower as f64, upper as f64]);
            }
            Storage::Rows(rows) => {
                memory.extend([2.0, f64::from(habits), 0.0]);
                let first = memory.len();
                let base = base.and_then(Self::rows);
                for i in 0..self.n {
                    let places = rows.row(i).map(|(j, _)| j);
                    let others =
                        places.filter(|&j| base.is_none_or(|base| base.place(i, j).is_none()));
                    memory.extend(others.map(|j| (i * self.n + j) as f64));
                }
                memory[first - 1] = (memory.len() - first) as f64;
            }
        }
    }

    /// The entries in compressed rows, whose places do not depend on their values.
    fn rows(&self) -> Option<&Compressed> {
        match &self.storage {
            Storage::Band(_) => None,
            Storage::Rows(rows) => Some(rows),
        }
    }

    /// Takes up what [`remember`](Self::remember) gave with the same `base` and returns what follows it; `None` where it
    /// is something else.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // written as whole numbers
    pub(crate) fn recall<'a>(
        &mut self,
        base: Option<&Self>,
        memory: &'a [f64],
    ) -> Option<&'a [f64]> {
        let (habits, rest) = match memory {
            [0.0, rest @ ..] => return Some(rest),
            [1.0, habits, empty, lower, upper, rest @ ..] => {
                let widths = (*lower as usize, *upper as usize);
                if widths.0.max(widths.1) > self.n {
                    return None;
                }
                let mut band = Band::new(self.n);
                if *empty == 0.0 {
                    band.widen(widths.0, widths.1);
                }
                self.storage = Storage::Band(band);
                (*habits, rest)
            }
            [2.0, habits, count, rest @ ..] => {
                let (others, rest) = rest.split_at_checked(*count as usize)?;
                let mut places = Vec::with_capacity(others.len());
                for place in others {
                    let (i, j) = (*place as usize / self.n, *place as usize % self.n);
                    if i >= self.n {
                        return None;
                    }
                    places.push(index(i, j, 0.0));
                }
                if let Some(base) = base.and_then(Self::rows) {
                    for i in 0..self.n {
                        places.extend(base.row(i).map(|(j, _)| index(i, j, 0.0)));
                    }
                }
                let mut known = Compressed::new(self.n);
                known.absorb(&mut places);
                self.storage = Storage::Rows(known);
                (*habits, rest)
            }
            _ => return None,
        };
        self.factors.forget();
        self.factors.take_habits(habits as u32);
        self.pending.clear();
        self.places = self.number_of_places();
        self.changes = 2;
        Some(rest)
    }

    /// Gives every entry its place.
    pub(crate) fn finish(&mut self) {
        if self.pending.is_empty() {
            if let Storage::Band(band) = &mut self.storage {
                band.settle();
            }
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.factors.forget();
        match &mut self.storage {
            Storage::Rows(rows) => rows.absorb(&mut pending),
            Storage::Band(_) => {
                self.storage
                    .for_each(self.n, |i, j, v| pending.push(index(i, j, v)));
                let mut rows = Compressed::new(self.n);
                rows.absorb(&mut pending);
                self.storage = Storage::Rows(rows);
            }
        }
    }

    pub(crate) fn factorise(&mut self) -> Result<(), LinearError> {
        self.finish();
        if let Storage::Band(band) = &self.storage
            && 4 * band.filled() < band.values().len()
        {
            // A wide band of mostly nothing.
            let mut pending = Vec::new();
            self.storage
                .for_each(self.n, |i, j, v| pending.push(index(i, j, v)));
            let mut rows = Compressed::new(self.n);
            rows.absorb(&mut pending);
            self.storage = Storage::Rows(rows);
            self.factors.forget();
        }
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
    pub(crate) fn product(&self, x: &[f64], mut take: impl FnMut(usize, &[f64])) {
        if self.pending.is_empty() {
            return self.storage.product(x, take);
        }
        let mut y = vec![0.0; self.n];
        self.storage.product(x, |first, line| {
            y[first..first + line.len()].copy_from_slice(line);
        });
        for &(i, j, value) in &self.pending {
            y[i as usize] += value * x[j as usize];
        }
        for (k, line) in y.chunks(BLOCK).enumerate() {
            take(k * BLOCK, line);
        }
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
        self.storage.values().iter().all(zero) && self.pending.iter().all(|e| zero(&e.2))
    }

    /// `A ← A + factor B`.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Self) {
        match (&mut self.storage, &other.storage) {
            (Storage::Band(a), Storage::Band(b)) => a.add_scaled(factor, b),
            (Storage::Rows(a), Storage::Rows(b)) if a.is_like(b) => {
                crate::vector::axpy(factor, b.values(), a.values_mut());
            }
            _ => other
                .storage
                .for_each(self.n, |i, j, v| self.entry(i, j, factor * v)),
        }
        for &(i, j, v) in &other.pending {
            self.entry(i as usize, j as usize, factor * v);
        }
    }

    /// `A ← A B`.
    pub(crate) fn multiply_right(&mut self, other: &Self) {
        self.finish();
        let mut finished;
        let other = if other.pending.is_empty() {
            other
        } else {
            finished = other.clone();
            finished.finish();
            &finished
        };
        let mut terms = std::mem::take(&mut self.terms);
        terms.clear();
        self.storage.for_each(self.n, |i, k, a| {
            let mut take = |(j, b): (usize, f64)| terms.push(index(i, j, a * b));
            match &other.storage {
                Storage::Band(band) => band.row(k).for_each(&mut take),
                Storage::Rows(rows) => rows.row(k).for_each(&mut take),
            }
        });
        self.clear();
        for &(i, j, value) in &terms {
            self.entry(i as usize, j as usize, value);
        }
        self.terms = terms;
    }

    /// `d ← diag(A)`.
    pub(crate) fn diagonal(&self, d: &mut [f64]) {
        match &self.storage {
            Storage::Band(band) if band.is_empty() => d.fill(0.0),
            Storage::Band(band) => d.copy_from_slice(band.diagonal(0)),
            Storage::Rows(rows) => rows.diagonal(d),
        }
        for &(i, j, value) in &self.pending {
            if i == j {
                d[i as usize] += value;
            }
        }
    }

    /// Row, column and value of every entry; those not yet in their place come last and may repeat.
    pub(crate) fn for_each(&self, mut take: impl FnMut(usize, usize, f64)) {
        self.storage.for_each(self.n, &mut take);
        for &(i, j, value) in &self.pending {
            take(i as usize, j as usize, value);
        }
    }
}

/// Rows and columns are numbered in 32 bits.
#[allow(clippy::cast_possible_truncation)]
fn index(row: usize, col: usize, value: f64) -> (u32, u32, f64) {
    (row as u32, col as u32, value)
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
                    self.pending.push(index(row, col, value));
                }
            }
            Storage::Rows(rows) => match rows.place(row, col) {
                Some(place) => rows.values_mut()[place] += value,
                None => self.pending.push(index(row, col, value)),
            },
        }
    }
}
