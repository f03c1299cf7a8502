//! Bilateral constraints, on positions `g(t, q) = 0` or on velocities, and dry friction that no contact makes.

use crate::kinematics::Kinematics;
use crate::state::Point;
use saltus_linear::MatrixSink;

/// What a bilateral row constrains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConstraintKind {
    /// `g(t, q) = 0`, and with it `G v + ∂g/∂t = 0`.
    #[default]
    Position,
    /// `G v + rate = 0` alone (nonholonomic: rolling, gears given by velocities): `g` is reported as 0 and nothing drifts.
    Velocity,
}

/// What bounds the friction of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrictionBound {
    /// A force \[N\] (or torque) that does not depend on reactions, for one slip row.
    Force,
    /// `mu` times the norm of the multipliers of the bilateral rows `first..first + count`.
    Reaction {
        /// First bilateral row.
        first: usize,
        /// Number of rows.
        count: usize,
    },
}

/// Dry friction in a joint or on a coordinate: rows of slip velocities and what bounds their force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JointFriction {
    /// Number of slip rows, 1 or 2; the forces of two lie in a disc.
    pub tangents: u8,
    /// What bounds the force.
    pub bound: FrictionBound,
}

/// Number of slip rows of `elements`.
#[must_use]
pub fn friction_rows(elements: &[JointFriction]) -> usize {
    elements.iter().map(|e| usize::from(e.tangents)).sum()
}

/// Bilateral constraints and friction in joints; the defaults are those of a system without any.
pub trait Constraints: Kinematics {
    /// What bilateral row `i` constrains.
    fn constraint_kind(&self, i: usize) -> ConstraintKind {
        let _ = i;
        ConstraintKind::Position
    }

    /// Friction in joints, fixed once the model is assembled; element `i` owns as many successive rows as it has tangents.
    fn joint_friction(&self) -> &[JointFriction] {
        &[]
    }

    /// Slip directions (rows × nv) of the friction in joints: slip = `T v + rate`.
    fn friction_jacobian(&self, t: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        let _ = (t, q, jacobian);
    }

    /// Rate of each slip row, overwritten; zero unless it is driven.
    fn friction_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        let _ = (t, q);
        rate.fill(0.0);
    }

    /// Largest force \[N\] or coefficient `mu` of each element, overwritten.
    fn friction_coefficient(&self, at: Point<'_>, coefficient: &mut [f64]) {
        let _ = at;
        coefficient.fill(0.0);
    }

    /// `D(Tᵀ r)` (nv × nv) for given forces or impulses (rows).
    fn friction_curvature(&self, t: f64, q: &[f64], r: &[f64], curvature: &mut dyn MatrixSink) {
        let _ = (t, q, r, curvature);
    }

    /// `D(T x + rate)` (rows × nv) for a given `x` (nv).
    fn friction_jacobian_gradient(
        &self,
        t: f64,
        q: &[f64],
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let _ = (t, q, x, gradient);
    }

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
