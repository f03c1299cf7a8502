//! Rank-revealing least squares: the minimum-norm solution of a possibly singular system.
//!
//! Redundant constraints make the multiplier of a mechanism non-unique; of all multipliers the one
//! of smallest norm is canonical. It comes from a complete orthogonal decomposition
//! `A P = Q [R 0; 0 0] Z` (Golub & Van Loan, *Matrix Computations*, 4th ed. 2013, §5.5.2 and §5.4.7).

use crate::dense::Dense;
use crate::vector::dot;

/// Diagonal entries of the pivoted `R` below this multiple of the first one count as zero.
pub const RANK_TOLERANCE: f64 = 1e-10;

/// Complete orthogonal decomposition of a dense matrix, reusing its storage.
#[derive(Debug, Clone, Default)]
pub struct MinimumNorm {
    /// Householder vectors of `Q` below the diagonal, `R` on and above.
    qr: Dense,
    /// Scale factors of the left reflections.
    tau: Vec<f64>,
    /// Column `k` of `qr` is column `permutation[k]` of `A`.
    permutation: Vec<usize>,
    /// Householder vectors of the right reflections (rank × (cols − rank)).
    right: Dense,
    right_tau: Vec<f64>,
    norms: Vec<f64>,
    work: Vec<f64>,
    rank: usize,
}

impl MinimumNorm {
    /// Decomposes `a` and returns its numerical rank.
    pub fn factorise(&mut self, a: &Dense) -> usize {
        let (m, n) = (a.rows(), a.cols());
        self.qr.clone_from(a);
        self.tau.clear();
        self.tau.resize(m.min(n), 0.0);
        self.permutation.clear();
        self.permutation.extend(0..n);
        self.norms.clear();
        self.norms.resize(n, 0.0);
        self.rank = 0;
        let mut first = 0.0;
        for k in 0..m.min(n) {
            // Norms are recomputed: the matrices are small and downdating loses digits.
            for j in k..n {
                self.norms[j] = (k..m).map(|i| self.qr[(i, j)] * self.qr[(i, j)]).sum();
            }
            let mut p = k;
            for j in k + 1..n {
                if self.norms[j] > self.norms[p] {
                    p = j;
                }
            }
            let norm = self.norms[p].sqrt();
            if k == 0 {
                first = norm;
            }
            if norm.is_nan() || norm <= RANK_TOLERANCE * first {
                break;
            }
            if p != k {
                self.permutation.swap(k, p);
                for i in 0..m {
                    let t = self.qr[(i, k)];
                    self.qr[(i, k)] = self.qr[(i, p)];
                    self.qr[(i, p)] = t;
                }
            }
            self.reflect_column(k, norm);
            self.rank = k + 1;
        }
        self.annihilate_right();
        self.rank
    }

    /// The numerical rank found by the last [`factorise`](Self::factorise).
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The vector of least norm among those that minimise `‖A x − b‖`; `b` (rows) is destroyed.
    pub fn solve(&mut self, b: &mut [f64], x: &mut [f64]) {
        let (m, n, r) = (self.qr.rows(), self.qr.cols(), self.rank);
        for k in 0..r {
            let mut s = b[k];
            for i in k + 1..m {
                s += self.qr[(i, k)] * b[i];
            }
            s *= self.tau[k];
            b[k] -= s;
            for i in k + 1..m {
                b[i] -= s * self.qr[(i, k)];
            }
        }
        self.work.clear();
        self.work.resize(n, 0.0);
        for i in (0..r).rev() {
            let mut s = b[i];
            for j in i + 1..r {
                s -= self.qr[(i, j)] * self.work[j];
            }
            self.work[i] = s / self.qr[(i, i)];
        }
        for k in 0..r {
            let tau = self.right_tau.get(k).copied().unwrap_or(0.0);
            if tau != 0.0 {
                let s = tau * (self.work[k] + dot(self.right.row(k), &self.work[r..n]));
                self.work[k] -= s;
                for j in r..n {
                    self.work[j] -= s * self.right[(k, j - r)];
                }
            }
        }
        for (k, &p) in self.permutation.iter().enumerate() {
            x[p] = self.work[k];
        }
    }

    /// Householder reflection that maps the lower part of column `k` onto its first entry.
    fn reflect_column(&mut self, k: usize, norm: f64) {
        let (m, n) = (self.qr.rows(), self.qr.cols());
        let head = self.qr[(k, k)];
        let beta = if head > 0.0 { -norm } else { norm };
        let scale = head - beta;
        self.tau[k] = -scale / beta;
        for i in k + 1..m {
            self.qr[(i, k)] /= scale;
        }
        self.qr[(k, k)] = beta;
        for j in k + 1..n {
            let mut s = self.qr[(k, j)];
            for i in k + 1..m {
                s += self.qr[(i, k)] * self.qr[(i, j)];
            }
            s *= self.tau[k];
            self.qr[(k, j)] -= s;
            for i in k + 1..m {
                let v = self.qr[(i, k)];
                self.qr[(i, j)] -= s * v;
            }
        }
    }

    /// Reflections from the right that turn `[R11 R12]` into `[T 0]`.
    fn annihilate_right(&mut self) {
        let (n, r) = (self.qr.cols(), self.rank);
        self.right.reset(r, n - r);
        self.right_tau.clear();
        self.right_tau.resize(r, 0.0);
        if r == n {
            return;
        }
        for k in (0..r).rev() {
            let tail: f64 = (r..n).map(|j| self.qr[(k, j)] * self.qr[(k, j)]).sum();
            if tail == 0.0 {
                continue;
            }
            let head = self.qr[(k, k)];
            let norm = (head * head + tail).sqrt();
            let beta = if head > 0.0 { -norm } else { norm };
            let scale = head - beta;
            let tau = -scale / beta;
            self.right_tau[k] = tau;
            for j in r..n {
                self.right[(k, j - r)] = self.qr[(k, j)] / scale;
            }
            self.qr[(k, k)] = beta;
            for i in 0..k {
                let mut s = self.qr[(i, k)];
                for j in r..n {
                    s += self.qr[(i, j)] * self.right[(k, j - r)];
                }
                s *= tau;
                self.qr[(i, k)] -= s;
                for j in r..n {
                    self.qr[(i, j)] -= s * self.right[(k, j - r)];
                }
            }
        }
    }
}
