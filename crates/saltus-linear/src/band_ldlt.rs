//! `A = L D Lᵀ` of a symmetric positive definite band, in place and without pivoting.
//!
//! A tridiagonal matrix is eliminated from both ends towards the middle (a twisted factorisation: Parlett and
//! Dhillon, *Linear Algebra Appl.* 267, 1997, §2): the two recurrences of each sweep are independent, so that a
//! processor runs them at the same time. Wider bands are eliminated from the top.

use crate::LinearError;
use crate::band::Band;
use crate::band_sweep::Sweep;
use crate::runs::Runs;
use crate::vector::dot;

/// Vectors that are solved for together.
pub(crate) const LANES: usize = 8;

/// The factors, reusing their storage.
#[derive(Debug, Clone, Default)]
pub(crate) struct BandLdlt {
    pub(crate) n: usize,
    pub(crate) width: usize,
    /// Reciprocals of `D` (n).
    pub(crate) reciprocal: Vec<f64>,
    /// Row `i` of `L` without its diagonal (width per row, columns `i − width..i`); for a tridiagonal matrix the
    /// factor by which unknown `i` enters its neighbour towards the middle.
    pub(crate) lower: Vec<f64>,
    /// Where a tridiagonal matrix repeats these.
    pub(crate) reciprocal_runs: Runs,
    pub(crate) lower_runs: Runs,
    /// A row of `L D`.
    row: Vec<f64>,
    /// Smallest pivot over its diagonal entry.
    weakest: f64,
}

impl BandLdlt {
    /// Pivots below this multiple of their diagonal entry count as zero.
    const SINGULAR: f64 = 1e-14;

    /// Smallest pivot over its diagonal entry in the last factorisation: how many digits elimination lost.
    pub(crate) fn weakest(&self) -> f64 {
        self.weakest
    }

    /// Factorises the symmetric matrix `a`, of which the lower half is read.
    ///
    /// # Errors
    /// [`LinearError::Singular`] where a pivot is not positive: the matrix is not positive definite.
    pub(crate) fn factorise(&mut self, a: &Band) -> Result<(), LinearError> {
        let n = a.diagonal(0).len();
        self.n = n;
        self.width = a.widths().0.min(n.saturating_sub(1));
        self.weakest = f64::INFINITY;
        self.reciprocal.resize(n, 0.0);
        self.lower.resize(n * self.width, 0.0);
        self.row.resize(self.width, 0.0);
        match self.width {
            0 => {
                for i in 0..n {
                    let own = a.get(i, i);
                    self.accept(i, own, own)?;
                }
                Ok(())
            }
            1 => {
                self.twisted(a.diagonal(0), a.diagonal(-1))?;
                self.reciprocal_runs.find(&self.reciprocal);
                self.lower_runs.find(&self.lower);
                Ok(())
            }
            _ => self.rows(a),
        }
    }

    /// Takes over the pivot of row `i`, whose diagonal entry is `own`.
    #[inline]
    fn accept(&mut self, i: usize, pivot: f64, own: f64) -> Result<(), LinearError> {
        if pivot > Self::SINGULAR * own && own > 0.0 {
            self.reciprocal[i] = 1.0 / pivot;
            self.weakest = self.weakest.min(pivot / own);
            Ok(())
        } else {
            Err(LinearError::Singular {
                size: self.n,
                pivot: i,
                value: pivot,
            })
        }
    }

    /// Tridiagonal; `below[i]` is the entry left of the diagonal in row `i`.
    fn twisted(&mut self, diagonal: &[f64], below: &[f64]) -> Result<(), LinearError> {
        let (n, middle) = (self.n, self.n / 2);
        let mut carry = 0.0;
        for i in 0..middle {
            self.accept(i, diagonal[i] - carry, diagonal[i])?;
            self.lower[i] = below[i + 1] * self.reciprocal[i];
            carry = self.lower[i] * below[i + 1];
        }
        let from_top = carry;
        carry = 0.0;
        for i in (middle + 1..n).rev() {
            self.accept(i, diagonal[i] - carry, diagonal[i])?;
            self.lower[i] = below[i] * self.reciprocal[i];
            carry = self.lower[i] * below[i];
        }
        self.lower[middle] = 0.0;
        self.accept(
            middle,
            diagonal[middle] - from_top - carry,
            diagonal[middle],
        )
    }

    fn rows(&mut self, a: &Band) -> Result<(), LinearError> {
        let w = self.width;
        for i in 0..self.n {
            let first = i.saturating_sub(w);
            let count = i - first;
            let own = a.get(i, i);
            let mut pivot = own;
            for j in first..i {
                // Σ L_ip D_p L_jp over the columns p that rows i and j share.
                let known = j - first;
                let of_j = &self.lower[j * w..(j + 1) * w];
                let shared = known.min(w);
                let sum = dot(&self.row[known - shared..known], &of_j[w - shared..]);
                self.row[known] = a.get(i, j) - sum;
            }
            let line = &mut self.lower[i * w..(i + 1) * w];
            line[..w - count].fill(0.0);
            for (k, j) in (first..i).enumerate() {
                let l = self.row[k] * self.reciprocal[j];
                pivot -= l * self.row[k];
                line[w - count + k] = l;
            }
            self.accept(i, pivot, own)?;
        }
        Ok(())
    }

    /// `x ← alpha A⁻¹ x`.
    pub(crate) fn solve(&self, alpha: f64, x: &mut [f64]) {
        let mut sweep = Sweep::new(self);
        for stage in 0..sweep.stages() {
            sweep.inward(stage, alpha, x, &[]);
        }
        for stage in (0..sweep.stages()).rev() {
            sweep.outward(stage, x, &[]);
        }
    }

    /// `X ← A⁻¹ X` for [`LANES`] vectors at once: `x[i][lane]`.
    pub(crate) fn solve_lanes(&self, x: &mut [[f64; LANES]]) {
        // A unit force starts late: nothing happens before.
        let Some(first) = x.iter().position(|x| x.iter().any(|v| *v != 0.0)) else {
            return;
        };
        match self.width {
            0 => {
                for (x, r) in x.iter_mut().zip(&self.reciprocal) {
                    x.iter_mut().for_each(|x| *x *= r);
                }
            }
            1 => self.solve_lanes_twisted(first, x),
            _ => self.solve_lanes_rows(first, x),
        }
    }

    fn solve_lanes_twisted(&self, first: usize, x: &mut [[f64; LANES]]) {
        let (n, middle) = (self.n, self.n / 2);
        let subtract = |x: &mut [[f64; LANES]], to: usize, factor: f64, from: usize| {
            let source = x[from];
            for (x, s) in x[to].iter_mut().zip(source) {
                *x -= factor * s;
            }
        };
        for i in first..middle {
            subtract(x, i + 1, self.lower[i], i);
        }
        for i in (middle + 1..n).rev() {
            subtract(x, i - 1, self.lower[i], i);
        }
        for (x, r) in x.iter_mut().zip(&self.reciprocal) {
            x.iter_mut().for_each(|x| *x *= r);
        }
        for i in (0..middle).rev() {
            subtract(x, i, self.lower[i], i + 1);
        }
        for i in middle + 1..n {
            subtract(x, i, self.lower[i], i - 1);
        }
    }

    fn solve_lanes_rows(&self, first: usize, x: &mut [[f64; LANES]]) {
        let w = self.width;
        for i in first.max(1)..self.n {
            let count = i.min(w);
            let line = &self.lower[i * w + w - count..(i + 1) * w];
            let (solved, rest) = x.split_at_mut(i);
            let mut sum = rest[0];
            for (l, x) in line.iter().zip(&solved[i - count..]) {
                for (s, x) in sum.iter_mut().zip(x) {
                    *s -= l * x;
                }
            }
            rest[0] = sum;
        }
        for (x, r) in x.iter_mut().zip(&self.reciprocal) {
            x.iter_mut().for_each(|x| *x *= r);
        }
        for i in (1..self.n).rev() {
            let count = i.min(w);
            let line = &self.lower[i * w + w - count..(i + 1) * w];
            let (rest, solved) = x.split_at_mut(i);
            let value = solved[0];
            for (l, x) in line.iter().zip(&mut rest[i - count..]) {
                for (x, v) in x.iter_mut().zip(value) {
                    *x -= l * v;
                }
            }
        }
    }
}
