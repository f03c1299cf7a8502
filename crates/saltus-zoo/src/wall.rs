//! The double pendulum whose tip hits a wall.

use crate::DoublePendulum;
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, System,
};

/// [`DoublePendulum`] with the wall `x = wall` on the left of its tip: `gap = sin θ₁ + sin θ₂ − wall`.
#[derive(Debug, Clone, Copy)]
pub struct DoublePendulumAtWall {
    /// What swings.
    pub pendulum: DoublePendulum,
    /// Position of the wall \[m\].
    pub wall: f64,
    /// Restitution.
    pub restitution: f64,
}

impl Kinematics for DoublePendulumAtWall {
    fn dims(&self) -> Dims {
        self.pendulum.dims()
    }
}

impl Dynamics for DoublePendulumAtWall {
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        self.pendulum.mass(q, mass);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.pendulum.force(at, force);
    }

    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        self.pendulum.stiffness(at, stiffness);
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        self.pendulum.damping(at, damping);
    }

    fn mass_gradient(&self, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        self.pendulum.mass_gradient(q, x, gradient);
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        self.pendulum.potential_energy(t, q)
    }

    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        self.pendulum.active_force(at, active);
    }
}

impl Constraints for DoublePendulumAtWall {}

impl Contacts for DoublePendulumAtWall {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(
            ContactId(0),
            ContactLaw::frictionless(self.restitution),
            0.0,
        );
        set.directions.push(&[0, 1], &[0.0; 2]);
        set.rate.push(0.0);
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        let (s0, c0) = q[0].sin_cos();
        let (s1, c1) = q[1].sin_cos();
        set.gap[0] = s0 + s1 - self.wall;
        set.directions.all_values_mut().copy_from_slice(&[c0, c1]);
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        let (q, v) = (at.q, at.v);
        bias[0] = -q[0].sin() * v[0] * v[0] - q[1].sin() * v[1] * v[1];
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        for i in 0..2 {
            curvature.entry(i, i, -r[0] * q[i].sin());
        }
    }

    fn contact_direction_gradient(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        for i in 0..2 {
            gradient.entry(0, i, -q[i].sin() * x[i]);
        }
    }

    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        for i in 0..2 {
            gradient.entry(0, i, -at.q[i].cos() * at.v[i] * at.v[i]);
        }
    }

    fn contact_bias_damping(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        for i in 0..2 {
            gradient.entry(0, i, -2.0 * at.q[i].sin() * at.v[i]);
        }
    }
}

impl System for DoublePendulumAtWall {}
