//! A free rigid body with a unit quaternion: positions and velocities of different length.

use saltus_system::{Constraints, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point, System};

/// A rigid body: `q = (x, p)` with the quaternion `p` (scalar first) from body to inertial frame,
/// `v` = velocity of the centre of mass (inertial) and angular velocity (body).
#[derive(Debug, Clone, Copy)]
pub struct SpinningBody {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moments and products of inertia, row-major [kg m²].
    pub inertia: [f64; 9],
    /// Force on the centre of mass, inertial frame \[N\].
    pub force: [f64; 3],
}

pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(crate) fn skew(a: [f64; 3]) -> [f64; 9] {
    [0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0]
}

impl SpinningBody {
    fn angular_momentum(&self, w: [f64; 3]) -> [f64; 3] {
        let i = &self.inertia;
        [0, 1, 2].map(|r| i[3 * r] * w[0] + i[3 * r + 1] * w[1] + i[3 * r + 2] * w[2])
    }
}

impl Kinematics for SpinningBody {
    fn dims(&self) -> Dims {
        Dims {
            nq: 7,
            nv: 6,
            ng: 0,
        }
    }

    fn is_flat(&self) -> bool {
        false
    }

    fn qdot(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        qdot[..3].copy_from_slice(&v[..3]);
        let half = product(
            [q[3], q[4], q[5], q[6]],
            [0.0, 0.5 * v[3], 0.5 * v[4], 0.5 * v[5]],
        );
        qdot[3..].copy_from_slice(&half);
    }

    fn retract(&self, q: &mut [f64], xi: &[f64]) {
        for i in 0..3 {
            q[i] += xi[i];
        }
        let w = [xi[3], xi[4], xi[5]];
        let angle = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]).sqrt();
        let (s, c) = (0.5 * angle).sin_cos();
        let k = if angle > 0.0 { s / angle } else { 0.5 };
        let p = product([q[3], q[4], q[5], q[6]], [c, k * w[0], k * w[1], k * w[2]]);
        let norm = p.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (q, p) in q[3..].iter_mut().zip(p) {
            *q = p / norm;
        }
    }

    fn retract_tangent(&self, _: &[f64], xi: &[f64], tangent: &mut dyn MatrixSink) {
        for i in 0..3 {
            tangent.entry(i, i, 1.0);
        }
        // T(ξ) = I − a ξ̃ + b ξ̃², a = (1 − cos φ)/φ², b = (φ − sin φ)/φ³.
        let w = [xi[3], xi[4], xi[5]];
        let square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
        let phi = square.sqrt();
        let (a, b) = if phi < 1e-3 {
            (0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0)
        } else {
            (
                (1.0 - phi.cos()) / square,
                (phi - phi.sin()) / (square * phi),
            )
        };
        let s = skew(w);
        let mut t = [0.0; 9];
        for i in 0..3 {
            for j in 0..3 {
                let squared: f64 = (0..3).map(|k| s[3 * i + k] * s[3 * k + j]).sum();
                t[3 * i + j] = f64::from(u8::from(i == j)) - a * s[3 * i + j] + b * squared;
            }
        }
        tangent.add(3, 3, 3, 3, &t);
    }

    fn quaternion_defect(&self, q: &[f64]) -> Option<f64> {
        Some((q[3..].iter().map(|p| p * p).sum::<f64>().sqrt() - 1.0).abs())
    }
}

pub(crate) fn product(p: [f64; 4], r: [f64; 4]) -> [f64; 4] {
    [
        p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3],
        p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2],
        p[0] * r[2] - p[1] * r[3] + p[2] * r[0] + p[3] * r[1],
        p[0] * r[3] + p[1] * r[2] - p[2] * r[1] + p[3] * r[0],
    ]
}

impl Dynamics for SpinningBody {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        for i in 0..3 {
            mass.entry(i, i, self.mass);
        }
        mass.add(3, 3, 3, 3, &self.inertia);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let w = [at.v[3], at.v[4], at.v[5]];
        force[..3].copy_from_slice(&self.force);
        let gyroscopic = cross(w, self.angular_momentum(w));
        for i in 0..3 {
            force[3 + i] = -gyroscopic[i];
        }
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        // C = ω̃ I − (I ω)~
        let w = [at.v[3], at.v[4], at.v[5]];
        let (s, l) = (skew(w), skew(self.angular_momentum(w)));
        let mut c = [0.0; 9];
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| s[3 * i + k] * self.inertia[3 * k + j]).sum();
                c[3 * i + j] = product - l[3 * i + j];
            }
        }
        damping.add(3, 3, 3, 3, &c);
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        -(0..3).map(|i| self.force[i] * q[i]).sum::<f64>()
    }

    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }
}

impl Constraints for SpinningBody {}
impl Contacts for SpinningBody {}
impl System for SpinningBody {}
