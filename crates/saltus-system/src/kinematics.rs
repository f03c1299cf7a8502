//! How positions and velocities belong together.

use saltus_linear::MatrixSink;

/// Sizes, fixed once the model is assembled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dims {
    /// Positions.
    pub nq: usize,
    /// Velocities; `nq ≠ nv` is normal (quaternions).
    pub nv: usize,
    /// Bilateral constraints, on positions or on velocities.
    pub ng: usize,
}

/// Geometry of motion: `q̇ = Y(q) v`.
///
/// The defaults are those of a vector space with `nq = nv`.
pub trait Kinematics {
    /// Sizes of everything.
    fn dims(&self) -> Dims;

    /// Whether positions form a vector space: `retract` adds and `qdot` copies.
    fn is_flat(&self) -> bool {
        true
    }

    /// `qdot ← Y(q) v` (nq).
    fn qdot(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        let _ = q;
        qdot.copy_from_slice(v);
    }

    /// `q ← q ⊕ xi` for a tangent vector `xi` (nv), e.g. `h v`. Keeps quaternions normalised.
    fn retract(&self, q: &mut [f64], xi: &[f64]) {
        for (q, x) in q.iter_mut().zip(xi) {
            *q += x;
        }
    }

    /// Tangent of the retraction, `T(ξ)` (nv × nv): `q ⊕ (ξ + δ) ≈ (q ⊕ ξ) ⊕ T(ξ) δ`.
    ///
    /// Asked only where [`is_flat`](Self::is_flat) is false.
    fn retract_tangent(&self, q: &[f64], xi: &[f64], tangent: &mut dyn MatrixSink) {
        let _ = (q, xi);
        for i in 0..self.dims().nv {
            tangent.entry(i, i, 1.0);
        }
    }

    /// Largest deviation of a unit quaternion from norm 1, if there are quaternions.
    fn quaternion_defect(&self, q: &[f64]) -> Option<f64> {
        let _ = q;
        None
    }
}
