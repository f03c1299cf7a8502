//! A square matrix whose entries lie near the diagonal, stored by diagonals.
//!
//! The band widens as entries arrive, so that no list of arrivals is kept; a product is one vectorised pass
//! per diagonal over a block of rows that stays in the cache.

use crate::runs::Runs;
use crate::sparse::{EMPTY, add_filled, is_filled};
use std::ops::Range;

/// Half-bandwidths up to which a matrix is held as a band.
pub(crate) const WIDEST: usize = 40;

/// Diagonals `-lower..=upper`; `data[d n + i]` is the entry of row `i` in the column `i + d − lower`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Band {
    n: usize,
    lower: usize,
    upper: usize,
    /// Empty as long as every entry is zero.
    data: Vec<f64>,
    /// Where each diagonal repeats itself, if that was looked for since the last change.
    runs: Vec<Runs>,
    is_settled: bool,
}

impl Band {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            ..Self::default()
        }
    }

    /// Sub- and superdiagonals.
    pub(crate) fn widths(&self) -> (usize, usize) {
        (self.lower, self.upper)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// To be called where the entries stay what they are: products read what repeats only once.
    pub(crate) fn settle(&mut self) {
        if self.is_settled || self.data.is_empty() {
            return;
        }
        self.runs
            .resize_with(self.lower + self.upper + 1, Runs::default);
        for (runs, line) in self.runs.iter_mut().zip(self.data.chunks_exact(self.n)) {
            runs.find(line);
        }
        self.is_settled = true;
    }

    /// Empties every place.
    pub(crate) fn clear(&mut self) {
        self.is_settled = false;
        self.data.fill(EMPTY);
    }

    /// Makes room for `lower` sub- and `upper` superdiagonals at least.
    pub(crate) fn widen(&mut self, lower: usize, upper: usize) {
        self.is_settled = false;
        let (lower, upper) = (lower.max(self.lower), upper.max(self.upper));
        if self.data.is_empty() {
            self.data.resize((lower + upper + 1) * self.n, EMPTY);
        } else if (lower, upper) != (self.lower, self.upper) {
            let mut data = vec![EMPTY; (lower + upper + 1) * self.n];
            data[(lower - self.lower) * self.n..][..self.data.len()].copy_from_slice(&self.data);
            self.data = data;
        }
        (self.lower, self.upper) = (lower, upper);
    }

    /// Adds `value` at `(row, col)`; `false`, and nothing done, where that is too far from the diagonal.
    #[inline]
    pub(crate) fn entry(&mut self, row: usize, col: usize, value: f64) -> bool {
        let diagonal = (col + self.lower).wrapping_sub(row);
        if diagonal > self.lower + self.upper || self.data.is_empty() {
            if row.abs_diff(col) > WIDEST {
                return false;
            }
            self.widen(row.saturating_sub(col), col.saturating_sub(row));
        }
        self.is_settled = false;
        self.data[(col + self.lower - row) * self.n + row] += value + 0.0;
        true
    }

    /// The entry at `(row, col)` inside the band.
    #[inline]
    pub(crate) fn get(&self, row: usize, col: usize) -> f64 {
        let diagonal = (col + self.lower).wrapping_sub(row);
        if diagonal > self.lower + self.upper || self.data.is_empty() {
            0.0
        } else {
            self.data[diagonal * self.n + row]
        }
    }

    /// Diagonal `offset` (column minus row) by rows (n); empty where there is none.
    pub(crate) fn diagonal(&self, offset: isize) -> &[f64] {
        let place = offset + self.lower.cast_signed();
        if self.data.is_empty() || place < 0 || place > (self.lower + self.upper).cast_signed() {
            return &[];
        }
        &self.data[place.cast_unsigned() * self.n..][..self.n]
    }

    /// Rows that diagonal number `d` reaches.
    fn reach(&self, d: usize) -> Range<usize> {
        let n = self.n;
        self.lower.saturating_sub(d).min(n)..n.min((n + self.lower).saturating_sub(d))
    }

    /// `out ← (A x)` in the rows `rows`; `x` begins with entry `begin` and holds those that the rows reach.
    #[inline]
    pub(crate) fn rows_times(
        &self,
        rows: Range<usize>,
        (begin, x): (usize, &[f64]),
        out: &mut [f64],
    ) {
        if self.data.is_empty() {
            out.fill(0.0);
            return;
        }
        if self.lower == 1 && self.upper == 1 && rows.len() > 2 {
            return self.three_rows_times(rows, (begin, x), out);
        }
        out.fill(0.0);
        for d in 0..=self.lower + self.upper {
            let reach = self.reach(d);
            let (first, last) = (rows.start.max(reach.start), rows.end.min(reach.end));
            if first >= last {
                continue;
            }
            let line = &self.data[d * self.n..][first..last];
            let x = &x[first + d - self.lower - begin..][..line.len()];
            let out = &mut out[first - rows.start..last - rows.start];
            for ((o, a), x) in out.iter_mut().zip(line).zip(x) {
                *o += a * x;
            }
        }
    }

    /// `out ← |A| |x|` in the rows `rows`, likewise.
    pub(crate) fn rows_times_absolute(
        &self,
        rows: Range<usize>,
        (begin, x): (usize, &[f64]),
        out: &mut [f64],
    ) {
        out.fill(0.0);
        if self.data.is_empty() {
            return;
        }
        for d in 0..=self.lower + self.upper {
            let reach = self.reach(d);
            let (first, last) = (rows.start.max(reach.start), rows.end.min(reach.end));
            if first >= last {
                continue;
            }
            let line = &self.data[d * self.n..][..self.n];
            let x = &x[first + d - self.lower - begin..][..last - first];
            let out = &mut out[first - rows.start..last - rows.start];
            let runs = self.runs.get(d).filter(|_| self.is_settled);
            if let Some(a) = runs.and_then(|runs| runs.constant(line, &(first..last))) {
                for (o, x) in out.iter_mut().zip(x) {
                    *o += (a * x).abs();
                }
                continue;
            }
            for ((o, a), x) in out.iter_mut().zip(&line[first..last]).zip(x) {
                *o += (a * x).abs();
            }
        }
    }

    /// The same for three diagonals, in one pass.
    #[inline]
    fn three_rows_times(&self, rows: Range<usize>, (begin, x): (usize, &[f64]), out: &mut [f64]) {
        let n = self.n;
        let (below, rest) = self.data.split_at(n);
        let (middle, above) = rest.split_at(n);
        let (mut first, mut last) = (rows.start, rows.end);
        if first == 0 {
            out[0] = middle[0] * x[0] + above[0] * x[1];
            first = 1;
        }
        if last == n {
            last = n - 1;
            out[last - rows.start] =
                below[last] * x[last - 1 - begin] + middle[last] * x[last - begin];
        }
        let count = last - first;
        let out = &mut out[first - rows.start..][..count];
        let (xb, xm, xa) = (
            &x[first - 1 - begin..][..count],
            &x[first - begin..][..count],
            &x[first + 1 - begin..][..count],
        );
        if let Some([b, m, a]) = self.constants(first..last) {
            for i in 0..count {
                out[i] = b * xb[i] + m * xm[i] + a * xa[i];
            }
            return;
        }
        let (b, m, a) = (
            &below[first..][..count],
            &middle[first..][..count],
            &above[first..][..count],
        );
        for i in 0..count {
            out[i] = b[i] * xb[i] + m[i] * xm[i] + a[i] * xa[i];
        }
    }

    /// The three entries that all of these rows have alike.
    #[inline]
    fn constants(&self, rows: Range<usize>) -> Option<[f64; 3]> {
        if !self.is_settled {
            return None;
        }
        let [b, m, a] = [0, 1, 2].map(|d| {
            let line = &self.data[d * self.n..][..self.n];
            self.runs.get(d).and_then(|runs| runs.constant(line, &rows))
        });
        Some([b?, m?, a?])
    }

    /// `A ← A + factor B`.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Self) {
        if other.data.is_empty() {
            return;
        }
        self.is_settled = false;
        self.widen(other.lower, other.upper);
        let place = (self.lower - other.lower) * self.n;
        add_filled(
            factor,
            &other.data,
            &mut self.data[place..][..other.data.len()],
        );
    }

    /// Column and value of every entry of row `i`, in increasing columns.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let columns = if self.data.is_empty() {
            0..0
        } else {
            i.saturating_sub(self.lower)..self.n.min(i + self.upper + 1)
        };
        columns
            .map(move |j| (j, self.data[(j + self.lower - i) * self.n + i]))
            .filter(|(_, value)| is_filled(*value))
    }

    /// Every stored value, zeros outside the matrix included.
    pub(crate) fn values(&self) -> &[f64] {
        &self.data
    }

    /// Whether `A = Aᵀ`: `same(i, j, a, b)` compares the values at `(j, i)` and `(i, j)`.
    pub(crate) fn is_symmetric(&self, same: impl Fn(usize, usize, f64, f64) -> bool) -> bool {
        (1..=self.lower.max(self.upper).cast_signed()).all(|k| {
            let (below, above) = (self.diagonal(-k), self.diagonal(k));
            let shift = k.cast_unsigned().min(self.n);
            match (below.is_empty(), above.is_empty()) {
                (true, true) => true,
                (true, false) => above.iter().all(|v| *v == 0.0),
                (false, true) => below.iter().all(|v| *v == 0.0),
                _ => (below[shift..].iter().zip(above).enumerate())
                    .all(|(i, (a, b))| a == b || same(i, i + shift, *a, *b)),
            }
        })
    }
}
