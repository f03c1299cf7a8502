//! LU factorisation with row pivoting of a band, in place (Golub & Van Loan, *Matrix Computations*, 4th ed. 2013,
//! §4.3.3).

use crate::LinearError;
use crate::band::Band;

/// `P A = L U` of a band with `lower` sub- and `upper` superdiagonals, reusing its storage.
#[derive(Debug, Clone, Default)]
pub(crate) struct BandLu {
    n: usize,
    lower: usize,
    /// Superdiagonals of `U`: exchanges widen the band by `lower`.
    upper: usize,
    /// Row `i`: columns `i − lower ..= i + upper`.
    rows: Vec<f64>,
    /// The row exchanged with row `k` in step `k`.
    pivots: Vec<u32>,
    /// Largest entry of each column of `A`.
    columns: Vec<f64>,
}

impl BandLu {
    /// Pivots below this multiple of the largest entry of their column count as zero.
    const SINGULAR: f64 = 1e-14;

    /// Factorises `a`.
    ///
    /// # Errors
    /// [`LinearError::Singular`] where a pivot vanishes against the entries of its column.
    pub(crate) fn factorise(&mut self, a: &Band) -> Result<(), LinearError> {
        let n = a.diagonal(0).len();
        let (lower, upper) = a.widths();
        self.n = n;
        self.lower = lower;
        self.upper = upper + lower;
        let width = self.width();
        self.rows.clear();
        self.rows.resize(n * width, 0.0);
        self.pivots.resize(n, 0);
        self.columns.clear();
        self.columns.resize(n, 0.0);
        for i in 0..n {
            for (j, value) in a.row(i) {
                self.rows[i * width + j + lower - i] = value;
                self.columns[j] = self.columns[j].max(value.abs());
            }
        }
        (0..n).try_for_each(|k| self.eliminate(k))
    }

    /// Entries per row.
    fn width(&self) -> usize {
        self.lower + self.upper + 1
    }

    fn eliminate(&mut self, k: usize) -> Result<(), LinearError> {
        let (w, lower) = (self.width(), self.lower);
        let last = (k + lower).min(self.n - 1);
        let place = |i: usize| i * w + k + lower - i;
        let mut p = k;
        for i in k + 1..=last {
            if self.rows[place(i)].abs() > self.rows[place(p)].abs() {
                p = i;
            }
        }
        let pivot = self.rows[place(p)];
        let small = pivot.abs() <= Self::SINGULAR * self.columns[k];
        if small || !pivot.is_finite() {
            return Err(LinearError::Singular {
                size: self.n,
                pivot: k,
                value: pivot,
            });
        }
        #[allow(clippy::cast_possible_truncation)] // at most `lower` beyond k
        {
            self.pivots[k] = (p - k) as u32;
        }
        let count = (self.upper + 1).min(self.n - k);
        if p != k {
            let (from, to) = (place(k), place(p));
            let (above, below) = self.rows.split_at_mut(to);
            above[from..from + count].swap_with_slice(&mut below[..count]);
        }
        for i in k + 1..=last {
            let (from, to) = (place(k), place(i));
            let (above, below) = self.rows.split_at_mut(to);
            let factor = below[0] / pivot;
            below[0] = factor;
            if factor != 0.0 {
                crate::vector::axpy(
                    -factor,
                    &above[from + 1..from + count],
                    &mut below[1..count],
                );
            }
        }
        Ok(())
    }

    /// `x ← A⁻¹ x`.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let (n, w, lower) = (self.n, self.width(), self.lower);
        for k in 0..n {
            let p = k + self.pivots[k] as usize;
            if p != k {
                x.swap(k, p);
            }
            let value = x[k];
            if value != 0.0 {
                for i in k + 1..=(k + lower).min(n - 1) {
                    x[i] -= self.rows[i * w + k + lower - i] * value;
                }
            }
        }
        for i in (0..n).rev() {
            let count = (self.upper + 1).min(n - i);
            let line = &self.rows[i * w + lower..][..count];
            let (rest, solved) = x.split_at_mut(i + 1);
            let sum = crate::vector::dot(&line[1..], &solved[..count - 1]);
            rest[i] = (rest[i] - sum) / line[0];
        }
    }
}
