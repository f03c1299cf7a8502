//! Square linear systems of rows of constraints and contacts, which may be redundant.

use saltus_linear::{Dense, Lu, MinimumNorm};

/// Pivots of the factorisation closer to zero than this, relative to the largest, are handled by least squares.
const REGULAR: f64 = 1e-9;

/// A linear system in scaled form; of several solutions it has the shortest.
#[derive(Debug, Default)]
pub(super) struct RowSystem {
    pub(super) matrix: Dense,   // scaled (m × m)
    pub(super) scale: Vec<f64>, // (m)
    pub(super) least_squares: MinimumNorm,
    /// Unknowns that are not determined.
    pub(super) redundant: usize,
    lu: Lu,
    is_regular: bool,
}

impl RowSystem {
    /// Factorises the system of the given entries, whose unknowns have the sizes `1/√|d|`.
    pub(super) fn factorise(
        &mut self,
        m: usize,
        d: impl Fn(usize) -> f64,
        entry: impl Fn(usize, usize) -> f64,
    ) {
        self.scale.clear();
        self.scale.extend((0..m).map(|a| {
            let d = d(a).abs();
            if d > 0.0 { 1.0 / d.sqrt() } else { 1.0 }
        }));
        self.matrix.reset(m, m);
        for a in 0..m {
            for b in 0..m {
                self.matrix[(a, b)] = self.scale[a] * entry(a, b) * self.scale[b];
            }
        }
        self.redundant = 0;
        self.is_regular =
            m == 0 || self.lu.factorise(&self.matrix).is_ok() && self.lu.pivot_ratio() > REGULAR;
        if !self.is_regular {
            self.redundant = m - self.least_squares.factorise(&self.matrix);
        }
    }

    /// Solves for `x` with the right-hand side `rhs`, which is lost.
    pub(super) fn solve(&mut self, rhs: &mut [f64], x: &mut Vec<f64>) {
        for (r, s) in rhs.iter_mut().zip(&self.scale) {
            *r *= s;
        }
        x.clear();
        x.extend_from_slice(rhs);
        if !self.is_regular {
            self.least_squares.solve(rhs, x);
        } else if !x.is_empty() {
            self.lu.solve(x);
        }
        for (x, s) in x.iter_mut().zip(&self.scale) {
            *x *= s;
        }
    }
}
