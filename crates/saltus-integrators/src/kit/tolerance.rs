//! When an implicit step is solved: residuals of momentum, made comparable and measured by the motion so far.

use super::failure::{Location, velocity_name};
use crate::integrator::StepError;
use saltus_linear::{SparseRows, SquareMatrix, is_zero};
use saltus_system::{ContactSet, System};

/// `Σ |w_j| / √M_jj`: velocity along a row per momentum scale \[1/√kg\].
pub(crate) fn row_reach(weights: &[f64], cols: &[usize], values: &[f64]) -> f64 {
    let terms = cols.iter().zip(values);
    terms.map(|(&j, w)| w.abs() * weights[j]).sum()
}

/// How far an iterate is from a solution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Convergence {
    /// Largest residual over its tolerance: ≤ 1 is a solution. NaN where any residual is.
    pub(crate) ratio: f64,
    /// Where that is.
    pub(crate) location: Location,
}

impl Convergence {
    /// No residual included yet.
    pub(crate) const NONE: Self = Self {
        ratio: 0.0,
        location: Location::Velocity(0),
    };

    /// Includes a `residual ≥ 0` with its `tolerance`. Divides only where the ratio can become the largest; at rest the tolerance is
    /// tiny, and the ratio could overflow although the residual is finite.
    #[inline]
    pub(crate) fn include(&mut self, residual: f64, tolerance: f64, location: Location) {
        let tolerance = tolerance.max(f64::MIN_POSITIVE);
        let smaller = residual <= self.ratio * tolerance;
        if !smaller && !self.ratio.is_nan() {
            let ratio = residual / tolerance;
            self.ratio = if residual.is_finite() {
                ratio.min(f64::MAX)
            } else {
                ratio
            };
            self.location = location;
        }
    }
}

/// Weights of the balance of momentum and the scale of the motion.
#[derive(Debug, Default)]
pub(crate) struct MomentumScale {
    /// `1/√Mᵢᵢ` (nv), which makes residuals of different coordinates comparable.
    pub(crate) weights: Vec<f64>,
    /// Largest `(|M v|ᵢ + h |f|ᵢ)/√Mᵢᵢ` so far \[√J\]: what tolerances are relative to.
    pub(crate) scale: f64,
}

impl MomentumScale {
    /// Weights from the mass matrix; a massless coordinate counts like the heaviest.
    pub(crate) fn new(mass: &SquareMatrix) -> Self {
        let mut weights = vec![0.0; mass.size()];
        mass.diagonal(&mut weights);
        let largest = weights.iter().fold(0.0_f64, |m, w| m.max(*w));
        for w in &mut weights {
            let m = if *w > 0.0 { *w } else { largest };
            *w = if m > 0.0 { 1.0 / m.sqrt() } else { 1.0 };
        }
        Self {
            weights,
            scale: 0.0,
        }
    }

    /// The motion has this momentum and this force over a time `h` \[s\].
    pub(crate) fn include(&mut self, momentum: &[f64], force: &[f64], h: f64) {
        for (w, (p, f)) in self.weights.iter().zip(momentum.iter().zip(force)) {
            self.scale = self.scale.max(w * (p.abs() + h * f.abs()));
        }
    }

    /// A motion at rest without forces until now takes its scale from the force over a time `h` \[s\].
    pub(crate) fn begin(&mut self, force: &[f64], h: f64) {
        if self.scale == 0.0 {
            self.scale = h * self.largest(force);
        }
    }

    /// Includes the momentum that a row with the prescribed rate `∂g/∂t` \[m/s\] gives to a system, also to one at rest until now.
    pub(crate) fn include_rate(&mut self, cols: &[usize], values: &[f64], rate: f64) {
        if rate != 0.0 {
            let reach = row_reach(&self.weights, cols, values);
            if reach > 0.0 {
                self.scale = self.scale.max(rate.abs() / reach);
            }
        }
    }

    /// The same of the contacts that their own motion may close in a step of `h` \[s\].
    pub(crate) fn include_contacts(&mut self, set: &ContactSet, h: f64) {
        if is_zero(&set.rate) {
            return;
        }
        for (i, &row) in set.first_row.iter().enumerate() {
            let rate = set.rate[row];
            if rate != 0.0 && set.gap[i] <= h * rate.abs() {
                self.include_rate(set.directions.cols(row), set.directions.values(row), rate);
            }
        }
    }

    /// Largest component of a momentum or force over `√Mᵢᵢ`.
    pub(crate) fn largest(&self, x: &[f64]) -> f64 {
        let terms = self.weights.iter().zip(x);
        terms.fold(0.0, |m, (w, x)| m.max(w * x.abs()))
    }

    /// The largest residual over the tolerance, and its coordinate; NaN where any is NaN.
    pub(crate) fn ratio(&self, residual: &[f64], tolerance: f64) -> (f64, usize) {
        let mut worst = (0.0_f64, 0);
        for (i, (w, r)) in self.weights.iter().zip(residual).enumerate() {
            let ratio = w * r.abs();
            if ratio > worst.0 || ratio.is_nan() {
                worst = (ratio, i);
            }
            if ratio.is_nan() {
                break;
            }
        }
        let bound = tolerance * self.scale;
        (
            if bound > 0.0 {
                worst.0 / bound
            } else if worst.0 == 0.0 {
                0.0
            } else {
                f64::INFINITY
            },
            worst.1,
        )
    }

    /// Velocity along a row that counts as zero \[m/s\].
    pub(crate) fn velocity(&self, (rows, i): (&SparseRows, usize), tolerance: f64) -> f64 {
        self.velocity_bound(rows.cols(i), rows.values(i), tolerance)
    }

    /// That the momentum `residual` did not fall below the tolerance.
    pub(crate) fn not_converged(
        &self,
        system: &dyn System,
        residual: &[f64],
        tolerance: f64,
        iterations: u32,
    ) -> StepError {
        let (ratio, i) = self.ratio(residual, tolerance);
        let bound = self.bound(i, tolerance);
        StepError::NotConverged {
            iterations,
            residual: ratio * bound,
            tolerance: bound,
            place: velocity_name(&system.names(), i),
            problem: None,
        }
    }

    /// Tolerance of a coordinate [N·s].
    pub(crate) fn bound(&self, i: usize, tolerance: f64) -> f64 {
        tolerance * self.scale / self.weights[i]
    }

    /// Tolerance of the velocity along a row with these entries [m/s].
    pub(crate) fn velocity_bound(&self, cols: &[usize], values: &[f64], tolerance: f64) -> f64 {
        tolerance * self.scale * row_reach(&self.weights, cols, values)
    }

    /// The hidden variable.
    pub(crate) fn get(&self) -> f64 {
        self.scale
    }

    /// Takes up what [`get`](Self::get) gave.
    pub(crate) fn set(&mut self, scale: f64) {
        self.scale = scale;
    }
}
