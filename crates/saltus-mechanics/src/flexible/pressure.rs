//! Pressure on faces: a force per area along their normals, which it follows as they deform.

use super::builder::NodeId;
use super::group::View;
use super::places::Places;
use crate::rotation;
use crate::signal::Signal;
use saltus_linear::MatrixSink;

/// Most corners of a face.
const CORNERS: usize = 4;

/// A face under pressure: an edge in the plane, a triangle or bilinear quadrilateral in space.
///
/// The pressed body lies to the left of an edge; the normal of a face in space by the right-hand rule points out of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PressedFace {
    /// Two, three or four corners.
    pub corners: Vec<NodeId>,
    /// Length of an edge across the plane \[m\]; 1 in space, and where the pressure of an edge is a force per length \[N/m\].
    pub thickness: f64,
}

/// A pressure on faces, normal to them as they are at the time: a follower load.
///
/// Where the faces close and the pressure is uniform, it has no resultant. Its tangent is exact; that of an open set of faces is
/// not symmetric at its rim (Hibbitt, Int. J. Numer. Meth. Eng. 14, 1979).
#[derive(Debug)]
pub struct Pressure {
    /// Where it acts.
    pub faces: Vec<PressedFace>,
    /// Its size over time \[Pa\]: positive values press into the body.
    pub amplitude: Box<dyn Signal>,
}

/// `∫ Nₐ n dA` of each corner: the outward normal weighted by the shape functions, \[m²\] of a face, \[m\] of an edge.
///
/// Exact: its integrand is a polynomial that the points of the rule integrate.
#[must_use]
pub fn weighted_normals(corners: &[[f64; 3]]) -> [[f64; 3]; CORNERS] {
    let mut shares = [[0.0; 3]; CORNERS];
    match *corners {
        [a, b] => shares[..2].fill([0.5 * (b[1] - a[1]), 0.5 * (a[0] - b[0]), 0.0]),
        _ => each_point(corners, |values, _, [e, n]| {
            let normal = rotation::cross(e, n);
            for (share, value) in shares.iter_mut().zip(values) {
                for i in 0..3 {
                    share[i] += value * normal[i];
                }
            }
        }),
    }
    shares
}

/// Calls `at` with the weighted shape functions, their slopes and the tangents of the face at each point of a rule that is exact
/// for the normals.
fn each_point(
    corners: &[[f64; 3]],
    mut at: impl FnMut(&[f64], &[[f64; CORNERS]; 2], &[[f64; 3]; 2]),
) {
    let mut point = |weight: f64, values: &[f64], slopes: &[[f64; CORNERS]; 2]| {
        let mut tangents = [[0.0; 3]; 2];
        for (tangent, slopes) in tangents.iter_mut().zip(slopes) {
            for (x, slope) in corners.iter().zip(slopes) {
                for i in 0..3 {
                    tangent[i] += slope * x[i];
                }
            }
        }
        let mut weighted = [0.0; CORNERS];
        for (weighted, value) in weighted.iter_mut().zip(values) {
            *weighted = weight * value;
        }
        at(&weighted[..corners.len()], slopes, &tangents);
    };
    if corners.len() == 3 {
        let slopes = [[-1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0]];
        point(0.5, &[1.0 / 3.0; 3], &slopes);
        return;
    }
    let (p, q) = ([-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]);
    let gauss = 1.0 / 3.0_f64.sqrt();
    for (s, t) in [
        (-gauss, -gauss),
        (gauss, -gauss),
        (gauss, gauss),
        (-gauss, gauss),
    ] {
        let mut values = [0.0; CORNERS];
        let mut slopes = [[0.0; CORNERS]; 2];
        for a in 0..CORNERS {
            values[a] = 0.25 * (1.0 + p[a] * s) * (1.0 + q[a] * t);
            slopes[0][a] = 0.25 * p[a] * (1.0 + q[a] * t);
            slopes[1][a] = 0.25 * q[a] * (1.0 + p[a] * s);
        }
        point(1.0, &values, &slopes);
    }
}

/// Derivatives of [`weighted_normals`]: `a`, `b` and the block `∂(∫ Nₐ n dA)/∂x_b` (3 × 3).
fn normal_derivatives(corners: &[[f64; 3]], mut each: impl FnMut(usize, usize, &[[f64; 3]; 3])) {
    if corners.len() == 2 {
        for a in 0..2 {
            for (b, s) in [(0, -0.5), (1, 0.5)] {
                each(a, b, &[[0.0, s, 0.0], [-s, 0.0, 0.0], [0.0; 3]]);
            }
        }
        return;
    }
    each_point(corners, |values, slopes, [e, n]| {
        for (a, value) in values.iter().enumerate() {
            for b in 0..corners.len() {
                // ∂(e × n) = slope₁ (e × ·) − slope₀ (n × ·).
                let [x, y, z] =
                    std::array::from_fn(|i| value * (slopes[1][b] * e[i] - slopes[0][b] * n[i]));
                each(a, b, &[[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]);
            }
        }
    });
}

impl PressedFace {
    /// Places of the corners.
    fn positions(&self, places: &Places, view: View<'_>) -> [[f64; 3]; CORNERS] {
        let mut x = [[0.0; 3]; CORNERS];
        for (x, node) in x.iter_mut().zip(&self.corners) {
            let n = node.index();
            let dimension = places.kinds[n].dimension();
            for (x, &place) in x.iter_mut().zip(&places.positions(n)[..dimension]) {
                *x = view.position(place);
            }
        }
        x
    }

    /// Force on corner `a` under the pressure 1.
    pub(super) fn unit_force(&self, a: usize, places: &Places, view: View<'_>) -> [f64; 3] {
        let x = self.positions(places, view);
        weighted_normals(&x[..self.corners.len()])[a].map(|n| -self.thickness * n)
    }
}

impl Pressure {
    /// `f ← f + load`.
    pub(super) fn add(&self, t: f64, places: &Places, view: View<'_>, f: &mut [f64]) {
        let size = self.amplitude.value(t);
        for face in &self.faces {
            let x = face.positions(places, view);
            let normals = weighted_normals(&x[..face.corners.len()]);
            for (node, normal) in face.corners.iter().zip(&normals) {
                let dimension = places.kinds[node.index()].dimension();
                for (c, n) in normal.iter().enumerate().take(dimension) {
                    if let Some(place) = places.free(node.index(), c) {
                        f[place] -= size * face.thickness * n;
                    }
                }
            }
        }
    }

    /// `K ← K − D(load)`.
    pub(super) fn stiffness(
        &self,
        t: f64,
        places: &Places,
        view: View<'_>,
        sink: &mut dyn MatrixSink,
    ) {
        let size = self.amplitude.value(t);
        for face in &self.faces {
            let x = face.positions(places, view);
            let factor = size * face.thickness;
            normal_derivatives(&x[..face.corners.len()], |a, b, block| {
                let (row, column) = (face.corners[a].index(), face.corners[b].index());
                let dimension = places.kinds[row].dimension();
                for (i, entries) in block.iter().enumerate().take(dimension) {
                    let Some(i) = places.free(row, i) else {
                        continue;
                    };
                    for (j, value) in entries.iter().enumerate().take(dimension) {
                        if let Some(j) = places.free(column, j) {
                            sink.entry(i, j, factor * value);
                        }
                    }
                }
            });
        }
    }
}
