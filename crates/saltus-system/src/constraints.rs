//! Perfect bilateral constraints on positions, `g(t, q) = 0`.

use crate::kinematics::Kinematics;
use crate::state::Point;
use saltus_linear::MatrixSink;

/// Bilateral constraints; the defaults are those of a system without any.
pub trait Constraints: Kinematics {
    /// `g(t, q)` (ng), overwritten.
    fn g(&self, t: f64, q: &[f64], g: &mut [f64]) {
        let _ = (t, q, g);
    }

    /// `G` (ng × nv) with `ġ = G v + ∂g/∂t`.
    fn g_jacobian(&self, t: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        let _ = (t, q, jacobian);
    }

    /// `∂g/∂t` (ng), overwritten; zero unless the constraint is rheonomic.
    fn g_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        let _ = (t, q);
        rate.fill(0.0);
    }

    /// `ζ` (ng) with `g̈ = G v̇ + ζ`, overwritten.
    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        let _ = at;
        bias.fill(0.0);
    }

    /// `D(Gᵀ λ)` (nv × nv) for given multipliers (ng). Not symmetric on `SO(3)`.
    fn g_curvature(&self, t: f64, q: &[f64], lambda: &[f64], curvature: &mut dyn MatrixSink) {
        let _ = (t, q, lambda, curvature);
    }

    /// `D(G x)` (ng × nv) for a given `x` (nv).
    fn g_jacobian_gradient(&self, t: f64, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        let _ = (t, q, x, gradient);
    }

    /// `D(∂g/∂t)` (ng × nv).
    fn g_rate_gradient(&self, t: f64, q: &[f64], gradient: &mut dyn MatrixSink) {
        let _ = (t, q, gradient);
    }

    /// `D(ζ)` (ng × nv).
    fn g_bias_gradient(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let _ = (at, gradient);
    }

    /// `∂ζ/∂v` (ng × nv).
    fn g_bias_damping(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let _ = (at, gradient);
    }
}
