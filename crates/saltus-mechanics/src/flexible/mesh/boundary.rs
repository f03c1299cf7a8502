//! The faces of cells that no other cell shares.

use super::{Cell, CellId, Mesh};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A face on the boundary: a line of a plane mesh, a triangle or quadrilateral of a mesh in space.
///
/// Its nodes run so that the cell lies to the left of a line, and so that the normal by the right-hand rule
/// points out of the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Face {
    /// The cell it belongs to.
    pub cell: CellId,
    kind: Cell,
    nodes: [usize; 4],
}

impl Face {
    /// Kind of the face.
    #[must_use]
    pub const fn kind(&self) -> Cell {
        self.kind
    }

    /// Its nodes.
    #[must_use]
    pub fn nodes(&self) -> &[usize] {
        &self.nodes[..self.kind.nodes()]
    }
}

/// Faces of a kind of cell by local nodes.
const fn faces(kind: Cell) -> (Cell, &'static [[usize; 4]]) {
    match kind {
        Cell::Triangle => (Cell::Line, &[[0, 1, 0, 0], [1, 2, 0, 0], [2, 0, 0, 0]]),
        Cell::Quadrilateral => (
            Cell::Line,
            &[[0, 1, 0, 0], [1, 2, 0, 0], [2, 3, 0, 0], [3, 0, 0, 0]],
        ),
        Cell::Tetrahedron => (
            Cell::Triangle,
            &[[0, 2, 1, 0], [0, 1, 3, 0], [1, 2, 3, 0], [0, 3, 2, 0]],
        ),
        Cell::Hexahedron => (
            Cell::Quadrilateral,
            &[
                [0, 3, 2, 1],
                [4, 5, 6, 7],
                [0, 1, 5, 4],
                [1, 2, 6, 5],
                [2, 3, 7, 6],
                [3, 0, 4, 7],
            ],
        ),
        Cell::Point | Cell::Line => (Cell::Point, &[]),
    }
}

impl Mesh {
    /// Faces of the cells of the highest dimension that belong to one cell only, outward, in the order of the cells.
    ///
    /// Meshes of lines have none.
    #[must_use]
    pub fn boundary(&self) -> Vec<Face> {
        let dimension = self.dimension();
        let mut found: Vec<Face> = Vec::new();
        let mut shared: Vec<bool> = Vec::new();
        let mut seen: HashMap<[usize; 4], usize> = HashMap::new();
        for kind in super::CELLS {
            if kind.dimension() != dimension {
                continue;
            }
            let (face, locals) = faces(kind);
            for (index, cell) in self.cells(kind).enumerate() {
                for local in locals {
                    let nodes = std::array::from_fn(|i| {
                        if i < face.nodes() {
                            cell[local[i]]
                        } else {
                            usize::MAX
                        }
                    });
                    let mut key = nodes;
                    key.sort_unstable();
                    match seen.entry(key) {
                        Entry::Occupied(other) => shared[*other.get()] = true,
                        Entry::Vacant(place) => {
                            place.insert(found.len());
                            shared.push(false);
                            found.push(Face {
                                cell: CellId::new(kind, index),
                                kind: face,
                                nodes,
                            });
                        }
                    }
                }
            }
        }
        let mut shared = shared.into_iter();
        found.retain(|_| !shared.next().unwrap_or(false));
        found
    }
}
