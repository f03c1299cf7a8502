//! When an implicit step is solved: residuals of momentum, made comparable and measured by the motion so far.

use crate::integrator::StepError;
use saltus_linear::{SparseRows, SquareMatrix};
use saltus_system::System;

/// Weights of the balance of momentum and the scale of the motion.
#[derive(Debug, Default)]
pub(crate) struct MomentumScale {
    /// `1/√Mᵢᵢ` (nv).
    weights: Vec<f64>,
    /// Largest `(|M v|ᵢ + h |f|ᵢ)/√Mᵢᵢ` so far [√J].
    scale: f64,
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

    /// The largest residual over the tolerance, and its coordinate; NaN where any is none.
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

    /// Velocity that counts as nothing along a row \[m/s\].
    pub(crate) fn velocity(&self, (rows, i): (&SparseRows, usize), tolerance: f64) -> f64 {
        let terms = rows.cols(i).iter().zip(rows.values(i));
        let reach: f64 = terms.map(|(&j, w)| w.abs() * self.weights[j]).sum();
        tolerance * self.scale * reach
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
        let names = system.names().velocities;
        StepError::NotConverged {
            iterations,
            residual: ratio * bound,
            tolerance: bound,
            place: names.get(i).cloned().unwrap_or_else(|| i.to_string()),
            problem: None,
        }
    }

    /// Tolerance of a coordinate [N·s].
    pub(crate) fn bound(&self, i: usize, tolerance: f64) -> f64 {
        tolerance * self.scale / self.weights[i]
    }

    /// Tolerance of the velocity along a row with these entries [m/s].
    pub(crate) fn velocity_bound(&self, cols: &[usize], values: &[f64], tolerance: f64) -> f64 {
        let terms = cols.iter().zip(values);
        let reach: f64 = terms.map(|(&j, w)| w.abs() * self.weights[j]).sum();
        tolerance * self.scale * reach
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
