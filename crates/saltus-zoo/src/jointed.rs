//! A rigid body with a unit quaternion on a joint with the ground.

use crate::SpinningBody;
use crate::spinning::{cross, product, skew};
use saltus_system::{Constraints, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point, System};

/// What ties the body to the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joint {
    /// The body point `arm` (body frame) \[m\] stays at `centre` (inertial frame) \[m\]: 3 constraints.
    Spherical {
        /// Point of the body, body frame \[m\].
        arm: [f64; 3],
        /// Where it stays, inertial frame \[m\].
        centre: [f64; 3],
    },
    /// The centre of mass keeps its `x` and `y`, the body its orientation: 5 constraints.
    Prismatic {
        /// `x` and `y` \[m\].
        axis: [f64; 2],
        /// The orientation it keeps.
        orientation: [f64; 4],
    },
}

/// [`SpinningBody`] on a [`Joint`].
#[derive(Debug, Clone, Copy)]
pub struct JointedBody {
    /// The body.
    pub body: SpinningBody,
    /// What ties it to the ground.
    pub joint: Joint,
}

type Matrix = [[f64; 3]; 3];

/// Rotation matrix of a unit quaternion.
fn rotation(p: &[f64]) -> Matrix {
    let (w, v) = (p[0], [p[1], p[2], p[3]]);
    let mut r = [[0.0; 3]; 3];
    for (j, e) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .into_iter()
        .enumerate()
    {
        let a = cross(v, e);
        let b = cross(v, a);
        for i in 0..3 {
            r[i][j] = e[i] + 2.0 * (w * a[i] + b[i]);
        }
    }
    r
}

fn apply(r: &Matrix, x: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| r[i][0] * x[0] + r[i][1] * x[1] + r[i][2] * x[2])
}

fn apply_transposed(r: &Matrix, x: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| r[0][i] * x[0] + r[1][i] * x[1] + r[2][i] * x[2])
}

fn matrix(s: [f64; 9]) -> Matrix {
    [0, 1, 2].map(|i| [s[3 * i], s[3 * i + 1], s[3 * i + 2]])
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn send(sink: &mut dyn MatrixSink, row: usize, m: &Matrix, factor: f64) {
    for (i, line) in m.iter().enumerate() {
        for (j, value) in line.iter().enumerate() {
            sink.entry(row + i, 3 + j, factor * value);
        }
    }
}

fn vector(x: &[f64]) -> [f64; 3] {
    [x[0], x[1], x[2]]
}

/// Scalar and vector part of the rotation away from `orientation`.
fn away(orientation: &[f64; 4], q: &[f64]) -> (f64, [f64; 3]) {
    let o = orientation;
    let p = product([o[0], -o[1], -o[2], -o[3]], [q[3], q[4], q[5], q[6]]);
    (p[0], [p[1], p[2], p[3]])
}

/// `c I + s~`: turns an angular velocity into twice the rate of the vector part.
fn rate_matrix(c: f64, s: [f64; 3]) -> Matrix {
    let mut m = matrix(skew(s));
    for (i, line) in m.iter_mut().enumerate() {
        line[i] += c;
    }
    m
}

impl Kinematics for JointedBody {
    fn dims(&self) -> Dims {
        Dims {
            ng: match self.joint {
                Joint::Spherical { .. } => 3,
                Joint::Prismatic { .. } => 5,
            },
            ..self.body.dims()
        }
    }

    fn is_flat(&self) -> bool {
        false
    }

    fn qdot(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        self.body.qdot(q, v, qdot);
    }

    fn retract(&self, q: &mut [f64], xi: &[f64]) {
        self.body.retract(q, xi);
    }

    fn retract_tangent(&self, q: &[f64], xi: &[f64], tangent: &mut dyn MatrixSink) {
        self.body.retract_tangent(q, xi, tangent);
    }

    fn quaternion_defect(&self, q: &[f64]) -> Option<f64> {
        self.body.quaternion_defect(q)
    }
}

impl Dynamics for JointedBody {
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        self.body.mass(q, mass);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.body.force(at, force);
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        self.body.damping(at, damping);
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        self.body.potential_energy(t, q)
    }

    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        self.body.active_force(at, active);
    }
}

impl Constraints for JointedBody {
    fn g(&self, _: f64, q: &[f64], g: &mut [f64]) {
        match self.joint {
            Joint::Spherical { arm, centre } => {
                let arm = apply(&rotation(&q[3..]), arm);
                for i in 0..3 {
                    g[i] = q[i] + arm[i] - centre[i];
                }
            }
            Joint::Prismatic { axis, orientation } => {
                let (_, s) = away(&orientation, q);
                g[0] = q[0] - axis[0];
                g[1] = q[1] - axis[1];
                for i in 0..3 {
                    g[2 + i] = 2.0 * s[i];
                }
            }
        }
    }

    fn g_jacobian(&self, _: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        match self.joint {
            Joint::Spherical { arm, .. } => {
                for i in 0..3 {
                    jacobian.entry(i, i, 1.0);
                }
                let r = rotation(&q[3..]);
                send(jacobian, 0, &times(&r, &matrix(skew(arm))), -1.0);
            }
            Joint::Prismatic { orientation, .. } => {
                jacobian.entry(0, 0, 1.0);
                jacobian.entry(1, 1, 1.0);
                let (c, s) = away(&orientation, q);
                send(jacobian, 2, &rate_matrix(c, s), 1.0);
            }
        }
    }

    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        let w = vector(&at.v[3..]);
        match self.joint {
            Joint::Spherical { arm, .. } => {
                let centripetal = cross(w, cross(w, arm));
                bias.copy_from_slice(&apply(&rotation(&at.q[3..]), centripetal));
            }
            Joint::Prismatic { orientation, .. } => {
                let (_, s) = away(&orientation, at.q);
                let square: f64 = w.iter().map(|w| w * w).sum();
                bias[..2].fill(0.0);
                for i in 0..3 {
                    bias[2 + i] = -0.5 * s[i] * square;
                }
            }
        }
    }

    fn g_curvature(&self, _: f64, q: &[f64], lambda: &[f64], curvature: &mut dyn MatrixSink) {
        match self.joint {
            // Gᵀλ = (λ, b × Rᵀλ).
            Joint::Spherical { arm, .. } => {
                let turned = apply_transposed(&rotation(&q[3..]), vector(lambda));
                let product = times(&matrix(skew(arm)), &matrix(skew(turned)));
                send(curvature, 3, &product, 1.0);
            }
            // Gᵀλ = c λ + λ × s.
            Joint::Prismatic { orientation, .. } => {
                let (c, s) = away(&orientation, q);
                let l = vector(&lambda[2..]);
                let mut m = times(&matrix(skew(l)), &rate_matrix(c, s));
                for i in 0..3 {
                    for j in 0..3 {
                        m[i][j] -= l[i] * s[j];
                    }
                }
                send(curvature, 3, &m, 0.5);
            }
        }
    }

    fn g_jacobian_gradient(&self, _: f64, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        let w = vector(&x[3..]);
        match self.joint {
            Joint::Spherical { arm, .. } => {
                let m = times(&rotation(&q[3..]), &matrix(skew(cross(w, arm))));
                send(gradient, 0, &m, -1.0);
            }
            Joint::Prismatic { orientation, .. } => {
                let (c, s) = away(&orientation, q);
                let mut m = times(&matrix(skew(w)), &rate_matrix(c, s));
                for i in 0..3 {
                    for j in 0..3 {
                        m[i][j] = -m[i][j] - w[i] * s[j];
                    }
                }
                send(gradient, 2, &m, 0.5);
            }
        }
    }

    fn g_bias_gradient(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let w = vector(&at.v[3..]);
        match self.joint {
            Joint::Spherical { arm, .. } => {
                let centripetal = matrix(skew(cross(w, cross(w, arm))));
                let m = times(&rotation(&at.q[3..]), &centripetal);
                send(gradient, 0, &m, -1.0);
            }
            Joint::Prismatic { orientation, .. } => {
                let (c, s) = away(&orientation, at.q);
                let square: f64 = w.iter().map(|w| w * w).sum();
                send(gradient, 2, &rate_matrix(c, s), -0.25 * square);
            }
        }
    }

    fn g_bias_damping(&self, at: Point<'_>, gradient: &mut dyn MatrixSink) {
        let w = vector(&at.v[3..]);
        match self.joint {
            // ω × (ω × b) = ω (ω·b) − b (ω·ω).
            Joint::Spherical { arm, .. } => {
                let along: f64 = (0..3).map(|i| w[i] * arm[i]).sum();
                let mut m = [[0.0; 3]; 3];
                for i in 0..3 {
                    for j in 0..3 {
                        m[i][j] = w[i] * arm[j] - 2.0 * arm[i] * w[j];
                    }
                    m[i][i] += along;
                }
                send(gradient, 0, &times(&rotation(&at.q[3..]), &m), 1.0);
            }
            Joint::Prismatic { orientation, .. } => {
                let (_, s) = away(&orientation, at.q);
                let m = [0, 1, 2].map(|i| [0, 1, 2].map(|j| -s[i] * w[j]));
                send(gradient, 2, &m, 1.0);
            }
        }
    }
}

impl Contacts for JointedBody {}
impl System for JointedBody {}
