//! Common parts of Runge–Kutta methods: sums over stages, and motions along a retraction.

use crate::integrator::StepError;
use saltus_linear::{Dense, SquareMatrix, axpy, is_zero};
use saltus_system::System;

/// `out ← h Σ w_k x_k` over the rows of `x`; rows of weight 0 are not read.
pub(crate) fn combine(x: &Dense, weights: &[f64], h: f64, out: &mut [f64]) {
    out.fill(0.0);
    for (k, w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        axpy(h * w, x.row(k), out);
    }
}

/// The rate of the tangent `ξ` of a motion `q ⊕ ξ`: `ξ̇ = T(ξ)⁻¹ v` (Munthe-Kaas 1998).
#[derive(Debug)]
pub(crate) struct TangentRate {
    tangent: SquareMatrix, // T(ξ) (nv × nv)
}

impl TangentRate {
    /// For motions with `nv` velocities.
    pub(crate) fn new(nv: usize) -> Self {
        Self {
            tangent: SquareMatrix::new(nv),
        }
    }

    /// `rate ← T(ξ)⁻¹ rate` at `q ⊕ xi`; nothing to do in flat coordinates and at `xi = 0`.
    pub(crate) fn apply(
        &mut self,
        system: &dyn System,
        scheme: &'static str,
        (q, xi): (&[f64], &[f64]),
        rate: &mut [f64],
    ) -> Result<(), StepError> {
        if system.is_flat() || is_zero(xi) {
            return Ok(());
        }
        self.tangent.clear();
        system.retract_tangent(q, xi, &mut self.tangent);
        self.tangent
            .factorise()
            .map_err(|source| StepError::Singular {
                source,
                scheme,
                mass_is_regular: true,
            })?;
        self.tangent.solve(rate);
        Ok(())
    }
}
