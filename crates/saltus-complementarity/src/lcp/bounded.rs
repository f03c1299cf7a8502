//! Complementarity with bounds on both sides: relays and dry friction with a known normal force.

use crate::mlcp::{Mlcp, MlcpSolver};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::verdict::{Room, column_of, size_of_row, worse};
use saltus_linear::{Dense, dot};

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

    /// How far `z` (between its bounds) is from a solution, without a unit: as [`Mlcp::relative_residual`], with the
    /// distance of `z_i` from the bound that the sign of `w_i` asks for.
    #[must_use]
    pub fn relative_residual(&self, z: &[f64]) -> f64 {
        let exact = Tolerance {
            residual: 0.0,
            ..Tolerance::default()
        };
        self.relative(z, &exact)
    }

    fn relative(&self, z: &[f64], tolerance: &Tolerance) -> f64 {
        if self.residual(z).is_nan() {
            return f64::NAN;
        }
        let row = |i: usize| self.matrix.row(i);
        let bound = |j: usize| z[j] <= self.lower[j] || z[j] >= self.upper[j];
        let mut room = Room::default();
        for (i, &q) in self.q.iter().enumerate() {
            room.w.push(q + dot(row(i), z));
            room.sizes.push(size_of_row(row(i), q, z));
            // What unknowns at a bound do is given, too.
            let given = (0..z.len()).filter(|&j| bound(j));
            let given = given.map(|j| (row(i)[j] * z[j]).abs()).sum::<f64>();
            room.data.push(q.abs() + given);
        }
        let w = room.w.clone();
        let settled = |i: usize| {
            (z[i] <= self.lower[i] && w[i] > 0.0) || (z[i] >= self.upper[i] && w[i] < 0.0)
        };
        room.scale(|j| column_of(self.matrix, j), |i| !settled(i));
        let away = |i: usize, x: f64| room.weight(column_of(self.matrix, i), x.max(0.0));
        let mut largest = 0.0;
        for (i, &x) in z.iter().enumerate() {
            let (below, above) = (x - self.lower[i], self.upper[i] - x);
            let part = room.miss(i, tolerance, || away(i, below), || away(i, above));
            largest = worse(largest, worse(part, away(i, (-below).max(-above))));
        }
        largest
    }

    /// Solves through the equivalent mixed problem: each upper bound becomes an unknown of its own.
    ///
    /// `Infeasible` is said only with a proof; [`infeasibility`](Self::infeasibility) gives it.
    pub fn solve(&self, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let failed = |status| Outcome {
            status,
            iterations: 0,
            residual: f64::INFINITY,
            redundant: 0,
        };
        if !self.fits() || z.len() != self.q.len() {
            return failed(Status::Inconsistent);
        }
        if self.lower.iter().chain(self.upper).any(|v| v.is_nan()) {
            return failed(Status::NotFinite);
        }
        let mixed = Mixed::new(self);
        let mut x = mixed.unknowns(z);
        let mut outcome = MlcpSolver::default().solve(&mixed.problem(), &mut x, tolerance);
        mixed.recover(self, &x, z);
        outcome.residual = self.residual(z);
        let relative = self.relative(z, &tolerance);
        let solved = relative <= tolerance.residual;
        outcome.status = match outcome.status {
            _ if solved => Status::Solved,
            Status::Solved => Status::Inaccurate,
            Status::NotFinite => Status::NotFinite,
            _ if mixed.problem().infeasibility().is_some() => Status::Infeasible,
            other => other,
        };
        outcome
    }

    /// The proof that no `z` between the bounds has admissible `w`, if there is one (Farkas' lemma): `y` (n) with
    /// `y_i ≥ 0` where only the lower bound is finite, `y_i ≤ 0` where only the upper one is, `y_i = 0` where both are, and
    /// `y·(M z + q) < 0` for every `z` between the bounds, while every solution has `y·w ≥ 0`.
    #[must_use]
    pub fn infeasibility(&self) -> Option<Vec<f64>> {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let bounds = self.lower.iter().chain(self.upper).all(|v| !v.is_nan());
        if !self.fits() || !bounds || !finite(self.matrix.as_slice()) || !finite(self.q) {
            return None;
        }
        let mixed = Mixed::new(self);
        let rows = mixed.problem().infeasibility()?;
        let mut y = vec![0.0; self.q.len()];
        for (a, &i) in mixed.order.iter().enumerate() {
            let both = self.lower[i].is_finite() && self.upper[i].is_finite();
            // The force of the upper bound is unbounded: such a row cannot take part in a proof.
            y[i] = if both { 0.0 } else { self.sign(i) * rows[a] };
        }
        Some(y)
    }

    fn fits(&self) -> bool {
        let n = self.q.len();
        let sizes = [
            self.matrix.rows(),
            self.matrix.cols(),
            self.lower.len(),
            self.upper.len(),
        ];
        sizes.iter().all(|&s| s == n) && !(0..n).any(|i| self.lower[i] > self.upper[i])
    }

    /// Which way unknown `i` goes from its origin.
    fn sign(&self, i: usize) -> f64 {
        if self.lower[i].is_infinite() && self.upper[i].is_finite() {
            -1.0
        } else {
            1.0
        }
    }

    /// The finite bound that unknown `i` is counted from, 0 of a free one.
    fn origin(&self, i: usize) -> f64 {
        [self.lower[i], self.upper[i]]
            .into_iter()
            .find(|v| v.is_finite())
            .unwrap_or(0.0)
    }
}

/// The equivalent mixed problem in `x`, `z_i = origin_i + sign_i x_i`: free, or `x_i ≥ 0` from the finite bound.
struct Mixed {
    /// Unknown `a` of the mixed problem is `z_i`, `i = order[a]`: free ones first.
    order: Vec<usize>,
    equalities: usize,
    matrix: Dense,
    q: Vec<f64>,
    sign: Vec<f64>,
    origin: Vec<f64>,
}

impl Mixed {
    fn new(p: &BoxLcp<'_>) -> Self {
        let n = p.q.len();
        let finite = |i: usize| (p.lower[i].is_finite(), p.upper[i].is_finite());
        let free = (0..n).filter(|&i| finite(i) == (false, false));
        let bounded = (0..n).filter(|&i| finite(i) != (false, false));
        let order: Vec<usize> = free.chain(bounded).collect();
        let equalities = (0..n).filter(|&i| finite(i) == (false, false)).count();
        let both: Vec<usize> = (0..n).filter(|&i| finite(i) == (true, true)).collect();
        let sign: Vec<f64> = (0..n).map(|i| p.sign(i)).collect();
        let origin: Vec<f64> = (0..n).map(|i| p.origin(i)).collect();
        let size = n + both.len();
        let mut matrix = Dense::zeros(size, size);
        let mut q = vec![0.0; size];
        for (a, &i) in order.iter().enumerate() {
            for (b, &j) in order.iter().enumerate() {
                matrix[(a, b)] = sign[i] * p.matrix[(i, j)] * sign[j];
            }
            q[a] = sign[i] * (p.q[i] + dot(p.matrix.row(i), &origin));
            if let Ok(k) = both.binary_search(&i) {
                // The force y ≥ 0 of the upper bound: w_i − y = M z + q …, slack upper − z ≥ 0.
                matrix[(a, n + k)] = 1.0;
                matrix[(n + k, a)] = -1.0;
                q[n + k] = p.upper[i] - p.lower[i];
            }
        }
        Self {
            order,
            equalities,
            matrix,
            q,
            sign,
            origin,
        }
    }

    fn problem(&self) -> Mlcp<'_> {
        Mlcp {
            equalities: self.equalities,
            matrix: &self.matrix,
            q: &self.q,
        }
    }

    fn unknowns(&self, z: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.q.len()];
        for (x, &i) in x.iter_mut().zip(&self.order) {
            *x = self.sign[i] * (z[i] - self.origin[i]);
        }
        x
    }

    fn recover(&self, p: &BoxLcp<'_>, x: &[f64], z: &mut [f64]) {
        for (x, &i) in x.iter().zip(&self.order) {
            let value = (self.origin[i] + self.sign[i] * x)
                .max(p.lower[i])
                .min(p.upper[i]);
            // A sum that rounds beside a bound means the bound.
            let rounding = 4.0 * f64::EPSILON * value.abs().max(self.origin[i].abs());
            let bounds = [p.lower[i], p.upper[i]];
            let near = bounds.into_iter().find(|b| (value - b).abs() <= rounding);
            z[i] = near.unwrap_or(value);
        }
    }
}
