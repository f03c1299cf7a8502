//! A pendulum whose pin has clearance in its ring.

use crate::planar::planar_body;
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, MatrixSink, Point, Reach, System,
};

/// A rigid rod, centre of mass `x, y` and angle `θ`, whose pin `p = (x − l sin θ, y + l cos θ)` moves freely inside a
/// ring around the origin: `gap = clearance − |p|` (Acary and Bonnefon, the pendulum with a clearance joint).
///
/// The gap has no gradient at the very centre of the ring; there the contact direction is zero.
#[derive(Debug, Clone, Copy)]
pub struct RingPendulum {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moment of inertia about the centre of mass \[kg m²\].
    pub inertia: f64,
    /// Distance `l` of the pin from the centre of mass \[m\].
    pub length: f64,
    /// Radial clearance \[m\].
    pub clearance: f64,
    /// Gravity \[m/s²\].
    pub gravity: f64,
    /// Restitution.
    pub restitution: f64,
}

/// The pin, its unit direction from the centre, and derivatives of the pin by θ.
struct Pin {
    distance: f64,
    normal: [f64; 2],
    turn: [[f64; 2]; 3],
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

impl RingPendulum {
    /// The rod of mass 1 kg and length 1 m.
    #[must_use]
    pub fn new(clearance: f64, restitution: f64) -> Self {
        Self {
            mass: 1.0,
            inertia: 1.0 / 12.0,
            length: 0.5,
            clearance,
            gravity: 9.81,
            restitution,
        }
    }

    /// Horizontal, the pin in the centre of the ring.
    #[must_use]
    pub fn horizontal(&self) -> Vec<f64> {
        let theta = std::f64::consts::FRAC_PI_2;
        vec![self.length * theta.sin(), -self.length * theta.cos(), theta]
    }

    fn pin(&self, q: &[f64]) -> Pin {
        let (s, c) = q[2].sin_cos();
        let l = self.length;
        let p = [q[0] - l * s, q[1] + l * c];
        let distance = dot(p, p).sqrt();
        let normal = if distance > 0.0 {
            [p[0] / distance, p[1] / distance]
        } else {
            [0.0, 0.0]
        };
        Pin {
            distance,
            normal,
            turn: [[-l * c, -l * s], [l * s, -l * c], [l * c, l * s]],
        }
    }
}

impl Pin {
    /// Velocity of the pin for the velocity `v` of the rod.
    fn push_forward(&self, v: &[f64]) -> [f64; 2] {
        let t = self.turn[0];
        [v[0] + t[0] * v[2], v[1] + t[1] * v[2]]
    }

    /// `xᵀ Hess(gap) y`.
    fn curvature(&self, x: &[f64], y: &[f64]) -> f64 {
        if self.distance == 0.0 {
            return 0.0;
        }
        let (a, b) = (self.push_forward(x), self.push_forward(y));
        let tangential = dot(a, b) - dot(self.normal, a) * dot(self.normal, b);
        -tangential / self.distance - dot(self.normal, self.turn[1]) * x[2] * y[2]
    }

    /// Derivative of `vᵀ Hess(gap) v` along `d`.
    fn curvature_gradient(&self, v: &[f64], d: &[f64]) -> f64 {
        if self.distance == 0.0 {
            return 0.0;
        }
        let (r, n, w) = (self.distance, self.normal, v[2]);
        let (a, step) = (self.push_forward(v), self.push_forward(d));
        let u = dot(n, a);
        let dr = dot(n, step);
        let dn = [(step[0] - dr * n[0]) / r, (step[1] - dr * n[1]) / r];
        let da = self.turn[1].map(|t| t * w * d[2]);
        let du = dot(dn, a) + dot(n, da);
        -(2.0 * dot(a, da) - 2.0 * u * du) / r + (dot(a, a) - u * u) / (r * r) * dr
            - w * w * (dot(dn, self.turn[1]) + dot(n, self.turn[2]) * d[2])
    }
}

const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

planar_body!(RingPendulum, ng: 0, linear_constraints: true, linear_contacts: false);

impl Constraints for RingPendulum {}

impl Contacts for RingPendulum {
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
        set.directions.push(&[0, 1, 2], &[0.0; 3]);
        set.rate.push(0.0);
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        let pin = self.pin(q);
        set.gap[0] = self.clearance - pin.distance;
        let row = [
            -pin.normal[0],
            -pin.normal[1],
            -dot(pin.normal, pin.turn[0]),
        ];
        set.directions.all_values_mut().copy_from_slice(&row);
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        bias[0] = self.pin(at.q).curvature(at.v, at.v);
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let pin = self.pin(q);
        for (i, x) in UNIT.iter().enumerate() {
            for (j, y) in UNIT.iter().enumerate() {
                curvature.entry(i, j, r[0] * pin.curvature(x, y));
            }
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
        let pin = self.pin(q);
        for (j, y) in UNIT.iter().enumerate() {
            gradient.entry(0, j, pin.curvature(x, y));
        }
    }

    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        let pin = self.pin(at.q);
        for (j, d) in UNIT.iter().enumerate() {
            gradient.entry(0, j, pin.curvature_gradient(at.v, d));
        }
    }

    fn contact_bias_damping(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        let pin = self.pin(at.q);
        for (j, d) in UNIT.iter().enumerate() {
            gradient.entry(0, j, 2.0 * pin.curvature(at.v, d));
        }
    }
}

impl System for RingPendulum {}
