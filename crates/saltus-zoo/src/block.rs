//! A rigid block that rocks on its two lower corners.

use crate::planar::planar_body;
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, MatrixSink, Point, Reach, System,
};

/// A homogeneous block over a frictionless floor: centre of mass `x, y` and angle `θ` (Brüls, Acary, Cardona
/// 2014, §10.4). Contact 0 is the right corner where `θ > 0` lifts it, `y − (l/2) cos θ + (L/2) sin θ`.
#[derive(Debug, Clone, Copy)]
pub struct RockingBlock {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moment of inertia about the centre of mass \[kg m²\].
    pub inertia: f64,
    /// Width `L` of the base \[m\].
    pub width: f64,
    /// Height `l` \[m\].
    pub height: f64,
    /// Gravity \[m/s²\].
    pub gravity: f64,
    /// Restitution of both corners.
    pub restitution: f64,
}

impl Default for RockingBlock {
    fn default() -> Self {
        let (mass, width, height) = (1.0, 1.0, 1.5);
        Self {
            mass,
            inertia: mass * (width * width + height * height) / 12.0,
            width,
            height,
            gravity: 9.81,
            restitution: 0.5,
        }
    }
}

impl RockingBlock {
    /// First, second and third derivative of both gaps by `θ`.
    fn derivatives(&self, theta: f64) -> [[f64; 3]; 2] {
        let (s, c) = theta.sin_cos();
        let (a, b) = (0.5 * self.height, 0.5 * self.width);
        [1.0, -1.0].map(|side| {
            let b = side * b;
            [a * s + b * c, a * c - b * s, -a * s - b * c]
        })
    }
}

planar_body!(RockingBlock, ng: 0, linear_constraints: true, linear_contacts: false);

impl Constraints for RockingBlock {}

impl Contacts for RockingBlock {
    fn contact_count(&self) -> usize {
        2
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        for i in 0..2 {
            set.push(
                ContactId(i),
                ContactLaw::frictionless(self.restitution),
                0.0,
            );
            set.directions.push(&[1, 2], &[1.0, 0.0]);
            set.rate.push(0.0);
        }
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        let (s, c) = q[2].sin_cos();
        let (a, b) = (0.5 * self.height, 0.5 * self.width);
        set.gap[0] = q[1] - a * c + b * s;
        set.gap[1] = q[1] - a * c - b * s;
        let turn = self.derivatives(q[2]);
        let values = set.directions.all_values_mut();
        for i in 0..2 {
            values[2 * i] = 1.0;
            values[2 * i + 1] = turn[i][0];
        }
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        let d = self.derivatives(at.q[2]);
        for i in 0..2 {
            bias[i] = d[i][1] * at.v[2] * at.v[2];
        }
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let d = self.derivatives(q[2]);
        curvature.entry(2, 2, r[0] * d[0][1] + r[1] * d[1][1]);
    }

    fn contact_direction_gradient(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let d = self.derivatives(q[2]);
        for i in 0..2 {
            gradient.entry(i, 2, d[i][1] * x[2]);
        }
    }

    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        let d = self.derivatives(at.q[2]);
        for i in 0..2 {
            gradient.entry(i, 2, d[i][2] * at.v[2] * at.v[2]);
        }
    }

    fn contact_bias_damping(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        let d = self.derivatives(at.q[2]);
        for i in 0..2 {
            gradient.entry(i, 2, 2.0 * d[i][1] * at.v[2]);
        }
    }
}

impl System for RockingBlock {}
