//! Contacts of many nodes with the faces of other bodies.
//!
//! The gap of a node is its distance from the nearest face, minus a radius; the force on it is spread over the corners of
//! the face by their weights, so that momentum and angular momentum are kept. A tree of boxes finds the nearest face of
//! each node once per step. Within the step a node over a face keeps it, also a little beyond its edges, so that Newton's
//! method sees a smooth gap; otherwise the nearest of the faces around the last one is taken, at no more than a constant
//! cost. Wriggers, *Computational Contact Mechanics*, 2006, ch. 4 and 9.

use super::builder::{AssemblyError, NodeId};
use super::element::NodeKind;
use super::group::View;
use super::places::{HELD, Places};
use crate::gap::facet::{self, Closest, Region};
use crate::gap::surface::{Nearest, Surface};
use crate::gap::third;
use saltus_linear::MatrixSink;
use saltus_system::{ContactId, ContactLaw, ContactSet};
use std::sync::{Mutex, PoisonError};

/// Coordinates of a node and four corners in space.
const MOST: usize = 15;
/// A distance from an edge or corner below this part of the size of the face has no direction of its own.
const TOUCH: f64 = 1e-9;
/// A face stands for an edge or corner beside it whose distance is this part of its own at least: nearly flat surfaces
/// have no edges.
const FLAT: f64 = 0.95;
/// Mark of a node that is over its face, beside the number of the face in the feature of a contact.
const OVER: u32 = 1 << 31;
/// Below this part of it the second derivative, which grows as 1/distance, is left out.
const CLOSE: f64 = 1e-6;

/// Nodes against the faces of other bodies: what a model says.
#[derive(Debug, Clone)]
pub struct SurfaceContact {
    /// The nodes; none of them may be a corner of a face.
    pub nodes: Vec<NodeId>,
    /// Corners of the faces: two in the plane with the obstacle to the right of the way from the first to the second,
    /// three or four in space with the normal by the right-hand rule out of the obstacle.
    pub faces: Vec<Vec<NodeId>>,
    /// Sum of the distances of both surfaces from their nodes \[m\].
    pub radius: f64,
    /// The law.
    pub law: ContactLaw,
}

/// The same, ready for use.
pub(super) struct Touching {
    pub name: String,
    pub law: ContactLaw,
    radius: f64,
    /// The nodes that touch.
    nodes: Vec<u32>,
    obstacle: Obstacle,
}

enum Obstacle {
    Plane(Faces<2>),
    Space(Faces<3>),
}

/// The faces of an obstacle and what searches among them.
struct Faces<const D: usize> {
    surface: Surface<D>,
    /// Node of the assembly by that of the surface.
    corners: Vec<u32>,
    search: Mutex<Search<D>>,
}

/// The surface in its present shape.
struct Search<const D: usize> {
    fitted: Surface<D>,
    positions: Vec<[f64; D]>,
}

/// Runs `$body` with the faces of either dimension.
macro_rules! either {
    ($obstacle:expr, $faces:ident => $body:expr) => {
        match $obstacle {
            Obstacle::Plane($faces) => $body,
            Obstacle::Space($faces) => $body,
        }
    };
}

impl Touching {
    pub(super) fn new<'a>(
        name: String,
        from: SurfaceContact,
        kinds: &[NodeKind],
        position: impl Fn(NodeId) -> &'a [f64],
    ) -> Result<Self, AssemblyError> {
        let first = from
            .nodes
            .first()
            .or(from.faces.first().and_then(|f| f.first()));
        let dimension = first.map_or(2, |n| kinds[n.index()].dimension());
        if from.law.tangents != 0 {
            return Err(AssemblyError::Value {
                what: format!("the number of tangents of contact \"{name}\""),
                value: f64::from(from.law.tangents),
                expected: "0: contacts with a surface have no friction",
            });
        }
        for node in from.nodes.iter().chain(from.faces.iter().flatten()) {
            let found = kinds[node.index()].dimension();
            if found != dimension {
                return Err(AssemblyError::Length {
                    what: format!("the position of node {} of contact \"{name}\"", node.0),
                    found,
                    expected: dimension,
                });
            }
        }
        let obstacle = match dimension {
            2 => Obstacle::Plane(Faces::new(&name, &from, position)?),
            3 => Obstacle::Space(Faces::new(&name, &from, position)?),
            _ => {
                return Err(AssemblyError::Length {
                    what: format!("the position of a node of contact \"{name}\""),
                    found: dimension,
                    expected: 2,
                });
            }
        };
        Ok(Self {
            name,
            law: from.law,
            radius: from.radius,
            nodes: from.nodes.iter().map(|n| n.0).collect(),
            obstacle,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of contact `k`.
    pub(super) fn node(&self, k: usize) -> NodeId {
        NodeId(self.nodes[k])
    }

    /// Appends the contacts closer than `margin` \[m\] to `set`; the first is called `first`.
    pub(super) fn detect(
        &self,
        first: u64,
        margin: f64,
        places: &Places,
        view: View<'_>,
        set: &mut ContactSet,
    ) {
        either!(&self.obstacle, faces => faces.detect(self, first, margin, places, view, set));
    }

    /// Gap and row of contact `k` of the set, whose node is `own`.
    pub(super) fn evaluate(
        &self,
        own: usize,
        k: usize,
        places: &Places,
        view: View<'_>,
        set: &mut ContactSet,
    ) {
        either!(&self.obstacle, faces => {
            let feature = set.feature[k];
            let touch = faces.look(self.nodes[own], feature, places, view);
            set.feature[k] = touch.feature();
            set.gap[k] = touch.closest.gap - self.radius;
            touch.send(|cols, values| set.directions.push(cols, values));
        });
    }

    /// Second derivatives of the gap: `(columns, matrix)`, times `factor`.
    pub(super) fn second(
        &self,
        own: usize,
        feature: u32,
        factor: f64,
        places: &Places,
        view: View<'_>,
        with: impl FnOnce(&[u32], &[f64]),
    ) {
        either!(&self.obstacle, faces => {
            let touch = faces.look(self.nodes[own], feature, places, view);
            let mut matrix = [0.0; MOST * MOST];
            let n = touch.second(factor, &mut matrix);
            with(&touch.cols[..n], &matrix[..n * n]);
        });
    }

    /// Derivative of `vᵀ ∂²g v` by the positions: `(columns, row)`; `v` are the velocities of the system.
    pub(super) fn third(
        &self,
        own: usize,
        feature: u32,
        places: &Places,
        view: View<'_>,
        with: impl FnOnce(&[u32], &[f64]),
    ) {
        either!(&self.obstacle, faces => {
            let touch = faces.look(self.nodes[own], feature, places, view);
            let mut row = [0.0; MOST];
            let n = touch.third(view, &mut row);
            with(&touch.cols[..n], &row[..n]);
        });
    }
}

impl<const D: usize> Faces<D> {
    fn new<'a>(
        name: &str,
        from: &SurfaceContact,
        position: impl Fn(NodeId) -> &'a [f64],
    ) -> Result<Self, AssemblyError> {
        let mut number = std::collections::HashMap::new();
        let (mut corners, mut positions) = (Vec::new(), Vec::new());
        let mut facets: Vec<Vec<usize>> = Vec::with_capacity(from.faces.len());
        for face in &from.faces {
            let mut facet = Vec::with_capacity(4);
            for &node in face {
                facet.push(*number.entry(node).or_insert_with(|| {
                    let at = position(node);
                    positions.push(std::array::from_fn(|i| at[i]));
                    corners.push(node.0);
                    corners.len() - 1
                }));
            }
            facets.push(facet);
        }
        let surface = Surface::new(facets.iter().map(Vec::as_slice), &positions);
        let surface = surface.map_err(|error| AssemblyError::Surface {
            name: name.to_owned(),
            error,
        })?;
        if let Some(node) = from.nodes.iter().find(|node| number.contains_key(node)) {
            return Err(AssemblyError::OwnSurface {
                name: name.to_owned(),
                node: node.0,
            });
        }
        Ok(Self {
            search: Mutex::new(Search {
                fitted: surface.clone(),
                positions,
            }),
            surface,
            corners,
        })
    }

    fn detect(
        &self,
        contact: &Touching,
        first: u64,
        margin: f64,
        places: &Places,
        view: View<'_>,
        set: &mut ContactSet,
    ) {
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let Search { fitted, positions } = &mut *search;
        for (x, &node) in positions.iter_mut().zip(&self.corners) {
            *x = position(node, places, view);
        }
        fitted.fit(positions);
        for (k, &node) in contact.nodes.iter().enumerate() {
            let x = position(node, places, view);
            let Some(near) = fitted.nearest(&x, positions, margin + contact.radius, None) else {
                continue;
            };
            let near = self.smooth(near, &x, &|n| positions[n as usize]);
            let touch = self.touch(near, node, places, view);
            let gap = touch.closest.gap - contact.radius;
            set.push(ContactId(first + k as u64), contact.law, gap);
            if let Some(feature) = set.feature.last_mut() {
                *feature = touch.feature();
            }
            touch.send(|cols, values| set.directions.push(cols, values));
            set.rate.push(0.0);
        }
    }

    /// Over the face itself where its edge or corner is as near as makes no difference.
    fn smooth(
        &self,
        near: Nearest<D>,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
    ) -> Nearest<D> {
        if near.closest.region == Region::Interior {
            return near;
        }
        match self.surface.over_facet(near.facet, x, place) {
            Some(over) if over.gap >= FLAT * near.closest.gap.abs() => Nearest {
                closest: over,
                ..near
            },
            _ => near,
        }
    }

    /// The node over the face of before, or over the nearest of the faces around it.
    fn look(&self, node: u32, feature: u32, places: &Places, view: View<'_>) -> Touch<D> {
        let x = position(node, places, view);
        let at = |n: u32| position(self.corners[n as usize], places, view);
        let facet = ((feature & !OVER) as usize).min(self.surface.len() - 1);
        if feature & OVER != 0
            && let Some(closest) = self.surface.over_facet(facet, &x, &at)
        {
            return self.touch(Nearest { facet, closest }, node, places, view);
        }
        let around = self.surface.around(facet).iter().map(|&f| f as usize);
        let near = self.surface.nearest_of(around, &x, &at);
        let near = near.map(|near| self.smooth(near, &x, &at));
        // Only positions that are no numbers leave none; the gap is then none either.
        let near = near.unwrap_or(Nearest {
            facet,
            closest: Closest {
                gap: f64::NAN,
                normal: [f64::NAN; D],
                weights: [f64::NAN; 4],
                xi: [0.0; 2],
                region: Region::Interior,
            },
        });
        self.touch(near, node, places, view)
    }

    fn touch(&self, near: Nearest<D>, node: u32, places: &Places, view: View<'_>) -> Touch<D> {
        let facet = self.surface.facet(near.facet);
        let mut touch = Touch {
            facet: near.facet,
            closest: near.closest,
            x: position(node, places, view),
            corners: [[0.0; D]; 4],
            count: facet.len(),
            cols: [HELD; MOST],
            edge: 0.0,
        };
        touch.cols[..D].copy_from_slice(&places.velocities(node as usize)[..D]);
        for (a, &n) in facet.iter().enumerate() {
            let corner = self.corners[n as usize];
            touch.corners[a] = position(corner, places, view);
            let block = (1 + a) * D..(2 + a) * D;
            touch.cols[block].copy_from_slice(&places.velocities(corner as usize)[..D]);
        }
        touch.settle();
        touch
    }
}

/// Position of a node of the assembly.
#[inline]
fn position<const D: usize>(node: u32, places: &Places, view: View<'_>) -> [f64; D] {
    let at = places.positions(node as usize);
    std::array::from_fn(|i| view.position(at[i]))
}

/// A node over a facet.
struct Touch<const D: usize> {
    facet: usize,
    closest: Closest<D>,
    x: [f64; D],
    corners: [[f64; D]; 4],
    /// Number of corners.
    count: usize,
    /// Place in the velocities of each coordinate: of the node, then of the corners.
    cols: [u32; MOST],
    /// Size of the facet \[m\].
    edge: f64,
}

impl<const D: usize> Touch<D> {
    /// Gives the normal of the facet to a node that lies on one of its edges or corners.
    fn settle(&mut self) {
        let along: [f64; D] = std::array::from_fn(|i| self.corners[1][i] - self.corners[0][i]);
        self.edge = along.iter().map(|x| x * x).sum::<f64>().sqrt();
        if self.closest.region != Region::Interior
            && self.closest.gap.abs() <= TOUCH * self.edge
            && let Some(normal) = facet::normal_of(&self.corners[..self.count])
        {
            self.closest.normal = normal;
        }
    }

    /// The face, and whether the node is over it.
    fn feature(&self) -> u32 {
        let over = self.closest.region == Region::Interior;
        self.facet as u32 | if over { OVER } else { 0 }
    }

    fn size(&self) -> usize {
        (1 + self.count) * D
    }

    /// The row of the contact without held coordinates.
    fn send(&self, push: impl FnOnce(&[usize], &[f64])) {
        let mut row = [0.0; MOST];
        facet::row(&self.closest.normal, &self.closest, &mut row[..self.size()]);
        let (mut cols, mut values, mut count) = ([0; MOST], [0.0; MOST], 0);
        for (&col, &value) in self.cols.iter().zip(&row[..self.size()]) {
            if col != HELD && value != 0.0 {
                (cols[count], values[count]) = (col as usize, value);
                count += 1;
            }
        }
        push(&cols[..count], &values[..count]);
    }

    /// Whether the second derivative is that of a flat or warped face, or far enough from an edge to be of use.
    fn curves(&self) -> bool {
        self.closest.region == Region::Interior || self.closest.gap.abs() > CLOSE * self.edge
    }

    /// `matrix ← factor · ∂²g`, row-major; returns the number of rows.
    fn second(&self, factor: f64, matrix: &mut [f64]) -> usize {
        let n = self.size();
        if self.curves() {
            let corners = &self.corners[..self.count];
            facet::hessian_of(
                &self.x,
                corners,
                &self.closest,
                factor,
                &mut matrix[..n * n],
            );
        }
        n
    }

    /// `row ← ∂(vᵀ ∂²g v)`; returns its length.
    fn third(&self, view: View<'_>, row: &mut [f64]) -> usize {
        let n = self.size();
        if self.curves() {
            let mut v = [0.0; MOST];
            for (v, &col) in v.iter_mut().zip(&self.cols[..n]) {
                *v = view.velocity(col);
            }
            let corners = &self.corners[..self.count];
            third::bias_gradient(&self.x, corners, &self.closest, &v[..n], &mut row[..n]);
        }
        n
    }
}

/// Adds `matrix` (columns `cols` squared) to `sink`, held coordinates left out.
pub(super) fn send_square(cols: &[u32], matrix: &[f64], sink: &mut dyn MatrixSink) {
    for (&row, entries) in cols.iter().zip(matrix.chunks_exact(cols.len())) {
        if row == HELD {
            continue;
        }
        for (&col, &entry) in cols.iter().zip(entries) {
            if col != HELD && entry != 0.0 {
                sink.entry(row as usize, col as usize, entry);
            }
        }
    }
}
