//! Pendulums: one in redundant coordinates that hits a wall, and a double one.

use crate::planar::planar_body;
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, System,
};

/// A rigid rod on a pin at the origin, in the coordinates `x, y, θ` of its far end, that hits the wall
/// `x = x_min` (Brüls, Acary, Cardona 2014, §10.2).
#[derive(Debug, Clone, Copy)]
pub struct BouncingPendulum {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moment of inertia about the far end [kg m²].
    pub inertia: f64,
    /// Length \[m\].
    pub length: f64,
    /// Gravity [m/s²].
    pub gravity: f64,
    /// Position of the wall \[m\].
    pub wall: f64,
    /// Restitution of the wall.
    pub restitution: f64,
    /// How often the wall is listed: 2 makes it redundant.
    pub walls: usize,
}

impl Default for BouncingPendulum {
    fn default() -> Self {
        Self {
            mass: 1.0,
            inertia: 0.1,
            length: 1.0,
            gravity: 10.0,
            wall: std::f64::consts::FRAC_1_SQRT_2,
            restitution: 0.8,
            walls: 1,
        }
    }
}

impl BouncingPendulum {
    /// Consistent positions at the angle `theta` from the horizontal.
    #[must_use]
    pub fn at(&self, theta: f64) -> Vec<f64> {
        vec![self.length * theta.cos(), self.length * theta.sin(), theta]
    }
}

planar_body!(BouncingPendulum, ng: 2, linear_constraints: false, linear_contacts: true);

impl Constraints for BouncingPendulum {
    fn g(&self, _: f64, q: &[f64], g: &mut [f64]) {
        g[0] = q[0] - self.length * q[2].cos();
        g[1] = q[1] - self.length * q[2].sin();
    }

    fn g_jacobian(&self, _: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        let (s, c) = q[2].sin_cos();
        jacobian.add(
            0,
            0,
            2,
            3,
            &[1.0, 0.0, self.length * s, 0.0, 1.0, -self.length * c],
        );
    }

    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        let (s, c) = at.q[2].sin_cos();
        let w = self.length * at.v[2] * at.v[2];
        bias[0] = c * w;
        bias[1] = s * w;
    }

    fn g_curvature(&self, _: f64, q: &[f64], lambda: &[f64], curvature: &mut dyn MatrixSink) {
        let (s, c) = q[2].sin_cos();
        curvature.entry(2, 2, self.length * (c * lambda[0] + s * lambda[1]));
    }

    fn g_jacobian_gradient(&self, _: f64, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        let (s, c) = q[2].sin_cos();
        gradient.entry(0, 2, self.length * c * x[2]);
        gradient.entry(1, 2, self.length * s * x[2]);
    }

    fn g_bias_gradient(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let (s, c) = at.q[2].sin_cos();
        let w = self.length * at.v[2] * at.v[2];
        gradient.entry(0, 2, -s * w);
        gradient.entry(1, 2, c * w);
    }

    fn g_bias_damping(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let (s, c) = at.q[2].sin_cos();
        gradient.entry(0, 2, 2.0 * self.length * c * at.v[2]);
        gradient.entry(1, 2, 2.0 * self.length * s * at.v[2]);
    }
}

impl Contacts for BouncingPendulum {
    fn contact_count(&self) -> usize {
        self.walls
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        for i in 0..self.walls {
            set.push(
                ContactId(i as u64),
                ContactLaw::frictionless(self.restitution),
                0.0,
            );
            set.directions.push(&[0], &[1.0]);
            set.rate.push(0.0);
        }
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        set.gap.fill(q[0] - self.wall);
    }
}

impl System for BouncingPendulum {}

/// Two unit point masses on unit rods in absolute angles from the downward vertical.
#[derive(Debug, Clone, Copy)]
pub struct DoublePendulum {
    /// Gravity [m/s²].
    pub gravity: f64,
}

impl Kinematics for DoublePendulum {
    fn dims(&self) -> Dims {
        Dims {
            nq: 2,
            nv: 2,
            ng: 0,
        }
    }
}

impl Dynamics for DoublePendulum {
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        let c = (q[0] - q[1]).cos();
        mass.add(0, 0, 2, 2, &[2.0, c, c, 1.0]);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let (q, v) = (at.q, at.v);
        let s = (q[0] - q[1]).sin();
        force[0] = -v[1] * v[1] * s - 2.0 * self.gravity * q[0].sin();
        force[1] = v[0] * v[0] * s - self.gravity * q[1].sin();
    }

    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        let (q, v) = (at.q, at.v);
        let c = (q[0] - q[1]).cos();
        let (a, b) = (v[1] * v[1] * c, v[0] * v[0] * c);
        let g = self.gravity;
        stiffness.add(
            0,
            0,
            2,
            2,
            &[a + 2.0 * g * q[0].cos(), -a, -b, b + g * q[1].cos()],
        );
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        let s = 2.0 * (at.q[0] - at.q[1]).sin();
        damping.add(0, 0, 2, 2, &[0.0, s * at.v[1], -s * at.v[0], 0.0]);
    }

    fn mass_gradient(&self, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        let s = (q[0] - q[1]).sin();
        gradient.add(0, 0, 2, 2, &[-s * x[1], s * x[1], -s * x[0], s * x[0]]);
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        -self.gravity * (2.0 * q[0].cos() + q[1].cos())
    }

    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }
}

impl Constraints for DoublePendulum {}
impl Contacts for DoublePendulum {}
impl System for DoublePendulum {}
