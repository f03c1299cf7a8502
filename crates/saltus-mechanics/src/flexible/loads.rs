//! Forces from outside: on nodes, constant or in time, fixed in space or in the section.

use super::builder::NodeId;
use super::element::NodeKind;
use super::group::View;
use super::places::Places;
use crate::rotation;
use crate::signal::Signal;
use saltus_linear::MatrixSink;

/// A load on a node.
#[derive(Debug)]
pub struct Load {
    /// Where it acts.
    pub node: NodeId,
    /// What it is.
    pub kind: LoadKind,
    /// Its size over time: a force \[N\] or a moment \[N·m\].
    pub amplitude: Box<dyn Signal>,
}

/// A load along elements of two nodes, so that their section forces know it; what the nodes bear of it are loads of their own.
#[derive(Debug)]
pub struct LineLoad {
    /// Name of the elements.
    pub part: String,
    /// Its size over time.
    pub amplitude: Box<dyn Signal>,
    /// What it does to each element.
    pub shares: Vec<LineShare>,
}

/// What a load along an element of the size 1 is at its nodes: components of the force, and of the moment in the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineShare {
    /// The nodes of the element, in any order.
    pub nodes: [NodeId; 2],
    /// The first three velocity components at each.
    pub force: [[f64; 3]; 2],
}

/// Direction and type of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadKind {
    /// On one velocity component: a force along a fixed axis, a moment in the plane, or a moment about a
    /// *body* axis of a spatial node (a follower).
    Component(usize),
    /// A moment about a fixed axis (unit vector, spatial frame) on a spatial node with a triad.
    SpatialMoment([f64; 3]),
}

impl Load {
    /// Whether the load is derived from the potential `−F q`.
    pub(super) fn is_potential(&self, places: &Places) -> bool {
        let LoadKind::Component(c) = self.kind else {
            return false;
        };
        let rotation = places.kinds[self.node.index()] == NodeKind::SpaceFrame && c >= 3;
        self.amplitude.is_constant() && !rotation
    }

    /// Whether the load depends on time alone.
    pub(super) fn is_affine(&self) -> bool {
        matches!(self.kind, LoadKind::Component(_))
    }

    /// Whether it acts on a coordinate that is held, which bears all of it.
    pub(super) fn is_on_held(&self, places: &Places) -> bool {
        let component = match self.kind {
            LoadKind::Component(c) => c,
            LoadKind::SpatialMoment(_) => 3,
        };
        places.free(self.node.index(), component).is_none()
    }

    /// What it adds to component `c` of its node, in the axes of that, where it is held.
    pub(super) fn on(&self, c: usize, t: f64, places: &Places, view: View<'_>) -> f64 {
        match self.kind {
            LoadKind::Component(own) if own == c => self.amplitude.value(t),
            LoadKind::SpatialMoment(axis) if c >= 3 => {
                let triad = triad(places, self.node.index(), view);
                self.amplitude.value(t) * rotation::rotate_back(&triad, &axis)[c - 3]
            }
            _ => 0.0,
        }
    }

    /// `f ← f + load`.
    pub(super) fn add(&self, t: f64, places: &Places, view: View<'_>, f: &mut [f64]) {
        let size = self.amplitude.value(t);
        let n = self.node.index();
        match self.kind {
            LoadKind::Component(c) => {
                if let Some(place) = places.free(n, c) {
                    f[place] += size;
                }
            }
            LoadKind::SpatialMoment(axis) => {
                if let Some(place) = places.free(n, 3) {
                    let body = rotation::rotate_back(&triad(places, n, view), &axis);
                    for c in 0..3 {
                        f[place + c] += size * body[c];
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
        let LoadKind::SpatialMoment(axis) = self.kind else {
            return;
        };
        let n = self.node.index();
        if let Some(place) = places.free(n, 3) {
            let size = self.amplitude.value(t);
            let [x, y, z] = rotation::rotate_back(&triad(places, n, view), &axis).map(|m| m * size);
            sink.add(place, place, 3, 3, &[0.0, z, -y, -z, 0.0, x, y, -x, 0.0]);
        }
    }
}

/// Share of each corner in the area of a face, `∫ Nₐ dA`: \[m²\] of a triangle or bilinear quadrilateral, \[m\] of an edge.
#[must_use]
pub fn face_shares(corners: &[[f64; 3]]) -> Vec<f64> {
    let side =
        |a: usize, b: usize| -> [f64; 3] { std::array::from_fn(|i| corners[b][i] - corners[a][i]) };
    let size = |x: [f64; 3]| rotation::dot(&x, &x).sqrt();
    match corners.len() {
        2 => vec![0.5 * size(side(0, 1)); 2],
        3 => vec![size(rotation::cross(&side(0, 1), &side(0, 2))) / 6.0; 3],
        4 => {
            let mut shares = vec![0.0; 4];
            let (p, q) = ([-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]);
            let at = 1.0 / 3.0_f64.sqrt();
            for (s, t) in [(-at, -at), (at, -at), (at, at), (-at, at)] {
                let mut e = [[0.0; 3]; 2];
                for a in 0..4 {
                    for i in 0..3 {
                        e[0][i] += 0.25 * p[a] * (1.0 + q[a] * t) * corners[a][i];
                        e[1][i] += 0.25 * q[a] * (1.0 + p[a] * s) * corners[a][i];
                    }
                }
                let area = size(rotation::cross(&e[0], &e[1]));
                for a in 0..4 {
                    shares[a] += 0.25 * (1.0 + p[a] * s) * (1.0 + q[a] * t) * area;
                }
            }
            shares
        }
        n => vec![0.0; n],
    }
}

/// Quaternion of a spatial node.
fn triad(places: &Places, n: usize, view: View<'_>) -> [f64; 4] {
    let at = places.positions(n);
    [3, 4, 5, 6].map(|c| view.position(at[c]))
}
