//! Sets of a mesh: its groups, boxes of nodes, and the faces of its surface among them.

use super::nodes::{Face, Set};
use saltus_mechanics::flexible::{Mesh, NodeId, mesh};
use std::collections::{HashMap, HashSet};

/// A set by the numbers of the mesh.
#[derive(Debug, Default)]
pub(super) struct MeshSet {
    pub nodes: Vec<usize>,
    faces: Vec<mesh::Face>,
}

impl MeshSet {
    /// The set by nodes of the assembly.
    pub fn on(&self, ids: &[NodeId]) -> Set {
        let face = |face: &mesh::Face| {
            let mut corners = [NodeId(0); 4];
            for (to, &n) in corners.iter_mut().zip(face.nodes()) {
                *to = ids[n];
            }
            Face::new(&corners[..face.nodes().len()])
        };
        Set {
            nodes: self.nodes.iter().map(|&n| ids[n]).collect(),
            faces: self.faces.iter().map(face).collect(),
        }
    }
}

/// The faces of a mesh that touch one cell only.
pub(super) struct Surface {
    faces: Vec<mesh::Face>,
    place: HashMap<[usize; 4], usize>,
}

impl Surface {
    pub fn of(mesh: &Mesh) -> Self {
        let faces = mesh.boundary();
        let place = faces
            .iter()
            .enumerate()
            .map(|(k, face)| (key(face.nodes()), k))
            .collect();
        Self { faces, place }
    }

    /// The nodes of a group, and the faces that are its cells; those between its nodes where it has no such cells.
    pub fn group(&self, mesh: &Mesh, name: &str) -> MeshSet {
        let nodes = mesh.group_nodes(name).unwrap_or_default();
        let cells = mesh.group(name).unwrap_or_default();
        let boundary = mesh.dimension().saturating_sub(1);
        let mut places: Vec<usize> = cells
            .iter()
            .filter(|id| id.kind().dimension() == boundary)
            .filter_map(|&id| self.place.get(&key(mesh.cell(id))).copied())
            .collect();
        if cells.iter().all(|id| id.kind().dimension() != boundary) {
            return self.among(nodes);
        }
        places.sort_unstable();
        places.dedup();
        MeshSet {
            nodes,
            faces: places.into_iter().map(|k| self.faces[k]).collect(),
        }
    }

    /// These nodes with the faces between them.
    pub fn among(&self, nodes: Vec<usize>) -> MeshSet {
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let between = |face: &&mesh::Face| face.nodes().iter().all(|n| inside.contains(n));
        MeshSet {
            faces: self.faces.iter().filter(between).copied().collect(),
            nodes,
        }
    }

    pub fn whole(&self) -> MeshSet {
        let mut nodes: Vec<usize> = self.faces.iter().flat_map(|f| f.nodes()).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        MeshSet {
            nodes,
            faces: self.faces.clone(),
        }
    }
}

/// Nodes of a face in increasing order.
fn key(nodes: &[usize]) -> [usize; 4] {
    let mut key = [usize::MAX; 4];
    for (to, &n) in key.iter_mut().zip(nodes) {
        *to = n;
    }
    key.sort_unstable();
    key
}
