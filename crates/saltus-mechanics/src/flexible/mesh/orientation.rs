//! Cells whose nodes run the wrong way round are turned, cells without volume are refused.

use super::super::solid::element::{FLAT as NO_VOLUME, measures};
use super::super::solid::{Hexahedral, Quadrangular};
use super::{Cell, CellId, Mesh, MeshError};

type Vector = [f64; 3];

pub(super) fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] - b[i])
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Corner by corner: the corner and the nodes its three edges lead to, right-handed.
const HEXAHEDRON_CORNERS: [[usize; 4]; 8] = [
    [0, 1, 3, 4],
    [1, 2, 0, 5],
    [2, 3, 1, 6],
    [3, 0, 2, 7],
    [4, 7, 5, 0],
    [5, 4, 6, 1],
    [6, 5, 7, 2],
    [7, 6, 4, 3],
];

/// Below this part of the product of edge lengths a measure counts as zero.
const FLAT: f64 = 1e-10;

/// Lowest and highest measure at the corners of a cell, relative to the lengths of the edges there.
fn corner_measures(kind: Cell, x: &[Vector]) -> (f64, f64) {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    let mut see = |measure: f64, lengths: f64| {
        let relative = if lengths > 0.0 {
            measure / lengths
        } else {
            0.0
        };
        range = (range.0.min(relative), range.1.max(relative));
    };
    let length = |a: Vector| dot(a, a).sqrt();
    match kind {
        Cell::Triangle | Cell::Quadrilateral => {
            let n = kind.nodes();
            for i in 0..n {
                let a = minus(x[(i + 1) % n], x[i]);
                let b = minus(x[(i + n - 1) % n], x[i]);
                see(a[0] * b[1] - a[1] * b[0], length(a) * length(b));
            }
        }
        Cell::Tetrahedron => {
            let [a, b, c] = [1, 2, 3].map(|i| minus(x[i], x[0]));
            let size = length(a).max(length(b)).max(length(c));
            see(dot(a, cross(b, c)), size * size * size);
        }
        Cell::Hexahedron => {
            for [o, i, j, k] in HEXAHEDRON_CORNERS {
                let [a, b, c] = [i, j, k].map(|m| minus(x[m], x[o]));
                see(dot(a, cross(b, c)), length(a) * length(b) * length(c));
            }
        }
        Cell::Point | Cell::Line => see(1.0, 1.0),
    }
    range
}

/// Lowest and highest Jacobian at the integration points of a quadrilateral or hexahedron, relative to its size.
fn inner_measures(kind: Cell, x: &[Vector]) -> Option<(f64, f64)> {
    match kind {
        Cell::Quadrilateral => {
            let places: [[f64; 2]; 4] = std::array::from_fn(|a| [x[a][0], x[a][1]]);
            Some(measures::<Quadrangular, 2, 4, 4>(&places))
        }
        Cell::Hexahedron => {
            let places: [Vector; 8] = std::array::from_fn(|a| x[a]);
            Some(measures::<Hexahedral, 3, 8, 8>(&places))
        }
        _ => None,
    }
}

/// Turns the nodes of a cell the other way round.
fn turn(kind: Cell, nodes: &mut [usize]) {
    match kind {
        Cell::Triangle | Cell::Tetrahedron => nodes.swap(1, 2),
        Cell::Quadrilateral => nodes.swap(1, 3),
        Cell::Hexahedron => {
            let (lower, upper) = nodes.split_at_mut(4);
            lower.swap_with_slice(upper);
        }
        Cell::Point | Cell::Line => {}
    }
}

impl Mesh {
    /// Whether all nodes have the same `z`.
    #[must_use]
    pub fn is_plane(&self) -> bool {
        let mut z = self.nodes.iter().map(|x| x[2]);
        z.next().is_none_or(|first| z.all(|z| z == first))
    }

    /// Turns cells whose nodes run the wrong way round; returns how many were turned.
    ///
    /// Triangles and quadrilaterals are looked at in plane meshes without cells of volume only: elsewhere they
    /// are surfaces, which have two sides.
    ///
    /// # Errors
    /// [`MeshError::Shape`] where a cell is flat, or folded over itself beyond its integration points.
    pub fn mend_orientation(&mut self) -> Result<usize, MeshError> {
        let mut turned = 0;
        let plane = self.dimension() == 2 && self.is_plane();
        for kind in super::CELLS {
            if kind.dimension() < 2 || (kind.dimension() == 2 && !plane) {
                continue;
            }
            let n = kind.nodes();
            for index in 0..self.count(kind) {
                let nodes = &mut self.cells[kind.slot()][index * n..(index + 1) * n];
                let mut x = [[0.0; 3]; 8];
                for (x, &node) in x.iter_mut().zip(nodes.iter()) {
                    *x = self.nodes[node];
                }
                let (low, high) = corner_measures(kind, &x[..n]);
                if high < -FLAT {
                    turn(kind, nodes);
                    turned += 1;
                } else if !(low > -FLAT && high > FLAT) {
                    match inner_measures(kind, &x[..n]) {
                        Some((low, _)) if low > NO_VOLUME => {}
                        Some((_, high)) if high < -NO_VOLUME => {
                            turn(kind, nodes);
                            turned += 1;
                        }
                        _ => return Err(flat(CellId::new(kind, index), nodes, low, high)),
                    }
                }
            }
        }
        Ok(turned)
    }

    /// Quadrilaterals (of plane meshes) and hexahedra whose Jacobian is negative at a corner, and with it in some of their inside: a
    /// corner is pushed in. Elements integrate over those that are positive at their Gauss points.
    #[must_use]
    pub fn dented(&self) -> Vec<CellId> {
        let kind = match self.dimension() {
            2 => Cell::Quadrilateral,
            _ => Cell::Hexahedron,
        };
        let is_dented = |cell: &[usize]| {
            let mut x = [[0.0; 3]; 8];
            for (x, &node) in x.iter_mut().zip(cell) {
                *x = self.nodes[node];
            }
            corner_measures(kind, &x[..cell.len()]).0 < -FLAT
        };
        let cells = self.cells(kind).enumerate();
        cells
            .filter(|(_, cell)| is_dented(cell))
            .map(|(index, _)| CellId::new(kind, index))
            .collect()
    }
}

fn flat(id: CellId, nodes: &[usize], low: f64, high: f64) -> MeshError {
    let what = if high < FLAT && low > -FLAT {
        "without volume"
    } else {
        "folded over itself"
    };
    MeshError::Shape {
        cell: format!("{id} (nodes {nodes:?})"),
        problem: format!(
            "{what}: the Jacobian at its corners, relative to its edges, runs from {low:.3e} to {high:.3e}"
        ),
        cure: "move its nodes, or order them as the kind of cell demands",
    }
}
