//! Complementarity with bounds on both sides: relays and dry friction with a known normal force.

use crate::mlcp::{Mlcp, MlcpSolver};
use crate::outcome::{Outcome, Status, Tolerance};
use saltus_linear::{Dense, dot, max_abs};

/// Find `z` in `[lower, upper]` with `w = M z + q`: `w_i ≥ 0` where `z_i = lower_i`, `w_i ≤ 0` where
/// `z_i = upper_i`, `w_i = 0` between. Bounds may be infinite.
#[derive(Debug, Clone, Copy)]
pub struct BoxLcp<'a> {
    /// `M` (n × n).
    pub matrix: &'a Dense,
    /// `q` (n).
    pub q: &'a [f64],
    /// Lower bounds (n), `−∞` allowed.
    pub lower: &'a [f64],
    /// Upper bounds (n), `+∞` allowed, not below `lower`.
    pub upper: &'a [f64],
}

impl BoxLcp<'_> {
    /// Residual of the natural map, `max |d_i (z_i − mid(lower, z_i − w_i/d_i, upper))|`, `d_i = M_ii` where
    /// positive and 1 elsewhere; in the unit of `w`.
    #[must_use]
    pub fn residual(&self, z: &[f64]) -> f64 {
        let mut largest = 0.0_f64;
        for i in 0..self.q.len() {
            let d = if self.matrix[(i, i)] > 0.0 {
                self.matrix[(i, i)]
            } else {
                1.0
            };
            let w = self.q[i] + dot(self.matrix.row(i), z);
            let r = d * (z[i] - (z[i] - w / d).max(self.lower[i]).min(self.upper[i]));
            if r.is_nan() {
                return f64::NAN;
            }
            largest = largest.max(r.abs());
        }
        largest
    }

    /// Solves through the equivalent mixed problem: each upper bound becomes an unknown of its own.
    pub fn solve(&self, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let n = self.q.len();
        let failed = |status| Outcome {
            status,
            iterations: 0,
            residual: f64::INFINITY,
            redundant: 0,
        };
        let sizes = [
            self.matrix.rows(),
            self.matrix.cols(),
            self.lower.len(),
            self.upper.len(),
            z.len(),
        ];
        if sizes.iter().any(|&s| s != n) || (0..n).any(|i| self.lower[i] > self.upper[i]) {
            return failed(Status::Inconsistent);
        }
        if self.lower.iter().chain(self.upper).any(|v| v.is_nan()) {
            return failed(Status::NotFinite);
        }
        // z_i = origin_i + sign_i x_i: free, or x_i ≥ 0 from the finite bound.
        let free: Vec<usize> = (0..n)
            .filter(|&i| self.lower[i].is_infinite() && self.upper[i].is_infinite())
            .collect();
        let bounded: Vec<usize> = (0..n)
            .filter(|&i| self.lower[i].is_finite() || self.upper[i].is_finite())
            .collect();
        let both: Vec<usize> = bounded
            .iter()
            .copied()
            .filter(|&i| self.lower[i].is_finite() && self.upper[i].is_finite())
            .collect();
        let order: Vec<usize> = free.iter().chain(&bounded).copied().collect();
        let sign = |i: usize| {
            if self.lower[i].is_infinite() && self.upper[i].is_finite() {
                -1.0
            } else {
                1.0
            }
        };
        let origin: Vec<f64> = (0..n)
            .map(|i| {
                if self.lower[i].is_finite() {
                    self.lower[i]
                } else if self.upper[i].is_finite() {
                    self.upper[i]
                } else {
                    0.0
                }
            })
            .collect();
        let size = n + both.len();
        let mut m = Dense::zeros(size, size);
        let mut q = vec![0.0; size];
        let mut x = vec![0.0; size];
        for (a, &i) in order.iter().enumerate() {
            for (b, &j) in order.iter().enumerate() {
                m[(a, b)] = sign(i) * self.matrix[(i, j)] * sign(j);
            }
            q[a] = sign(i) * (self.q[i] + dot(self.matrix.row(i), &origin));
            x[a] = sign(i) * (z[i] - origin[i]);
            if let Some(k) = both.iter().position(|&k| k == i) {
                // The force y ≥ 0 of the upper bound: w_i − y = M z + q …, slack upper − z ≥ 0.
                m[(a, n + k)] = 1.0;
                m[(n + k, a)] = -1.0;
                q[n + k] = self.upper[i] - self.lower[i];
            }
        }
        let problem = Mlcp {
            equalities: free.len(),
            matrix: &m,
            q: &q,
        };
        let mut outcome = MlcpSolver::default().solve(&problem, &mut x, tolerance);
        for (a, &i) in order.iter().enumerate() {
            z[i] = (origin[i] + sign(i) * x[a])
                .max(self.lower[i])
                .min(self.upper[i]);
        }
        outcome.residual = self.residual(z);
        let solved = outcome.residual <= tolerance.residual * (1.0 + max_abs(self.q));
        outcome.status = match outcome.status {
            _ if solved => Status::Solved,
            Status::Solved => Status::Inaccurate,
            other => other,
        };
        outcome
    }
}
