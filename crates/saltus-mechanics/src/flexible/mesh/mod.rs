//! Meshes: nodes, cells and named groups, from generators or from files of Gmsh.
//!
//! A mesh is plain data. [`generate`] makes lines, rectangles and blocks, [`gmsh`] reads `.msh` files,
//! [`Mesh::boundary`] finds the outward faces that touch one cell only.

mod boundary;
pub mod generate;
pub mod gmsh;
mod orientation;

pub use boundary::Face;

use super::element::Cell;
use std::collections::BTreeMap;

/// What is wrong with a mesh, or with a question about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// A file that cannot be read.
    #[error("the mesh file {file} cannot be opened: {reason}; check the path and its permissions")]
    File {
        /// Path of the file.
        file: String,
        /// What the operating system says.
        reason: String,
    },
    /// A file whose content is not understood.
    #[error("{file}, {place}: {problem}; {cure}")]
    Content {
        /// Name of the file.
        file: String,
        /// Line or byte.
        place: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        cure: String,
    },
    /// A group that is not there.
    #[error("the mesh has no group \"{name}\"; it has {known}")]
    Group {
        /// The name asked for.
        name: String,
        /// The names it has.
        known: String,
    },
    /// A cell that names a node that is not there.
    #[error("{cell} names node {node}, the mesh has {nodes} nodes; count nodes from zero")]
    Node {
        /// Which cell.
        cell: String,
        /// The node it names.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A cell with no volume, or whose nodes are in no usable order.
    #[error("{cell} is {problem}; {cure}")]
    Shape {
        /// Which cell.
        cell: String,
        /// What is wrong, with a number.
        problem: String,
        /// What to do.
        cure: &'static str,
    },
    /// A generator asked for what makes no sense.
    #[error("{what} is {value}; {cure}")]
    Value {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What to do.
        cure: &'static str,
    },
}

/// Kinds of cells in the order in which a mesh stores them.
pub const CELLS: [Cell; 6] = [
    Cell::Point,
    Cell::Line,
    Cell::Triangle,
    Cell::Quadrilateral,
    Cell::Tetrahedron,
    Cell::Hexahedron,
];

impl Cell {
    /// Number of nodes.
    #[must_use]
    pub const fn nodes(self) -> usize {
        match self {
            Self::Point => 1,
            Self::Line => 2,
            Self::Triangle => 3,
            Self::Quadrilateral | Self::Tetrahedron => 4,
            Self::Hexahedron => 8,
        }
    }

    /// Number of dimensions it spans: 0 to 3.
    #[must_use]
    pub const fn dimension(self) -> usize {
        match self {
            Self::Point => 0,
            Self::Line => 1,
            Self::Triangle | Self::Quadrilateral => 2,
            Self::Tetrahedron | Self::Hexahedron => 3,
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Line => "line",
            Self::Triangle => "triangle",
            Self::Quadrilateral => "quadrilateral",
            Self::Tetrahedron => "tetrahedron",
            Self::Hexahedron => "hexahedron",
        }
    }

    /// The same of several.
    #[must_use]
    pub const fn names(self) -> &'static str {
        match self {
            Self::Point => "points",
            Self::Line => "lines",
            Self::Triangle => "triangles",
            Self::Quadrilateral => "quadrilaterals",
            Self::Tetrahedron => "tetrahedra",
            Self::Hexahedron => "hexahedra",
        }
    }

    const fn slot(self) -> usize {
        match self {
            Self::Point => 0,
            Self::Line => 1,
            Self::Triangle => 2,
            Self::Quadrilateral => 3,
            Self::Tetrahedron => 4,
            Self::Hexahedron => 5,
        }
    }
}

/// A cell of a mesh: its kind and its place among the cells of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId {
    slot: u8,
    index: usize,
}

impl CellId {
    /// Cell `index` of its kind.
    #[must_use]
    pub const fn new(kind: Cell, index: usize) -> Self {
        Self {
            slot: kind.slot() as u8,
            index,
        }
    }

    /// Kind of the cell.
    #[must_use]
    pub const fn kind(self) -> Cell {
        CELLS[self.slot as usize]
    }

    /// Its place among the cells of its kind.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind().name(), self.index)
    }
}

/// Nodes, cells by kind and named groups of cells.
///
/// Nodes of cells stand in the order of [`Cell`]; nodes and cells count from zero. Plane meshes have `z = 0`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mesh {
    /// Places of the nodes \[m\].
    pub nodes: Vec<[f64; 3]>,
    /// Nodes of the cells, one list per kind, cell after cell.
    cells: [Vec<usize>; 6],
    groups: BTreeMap<String, Vec<CellId>>,
}

impl Mesh {
    /// A mesh of these nodes and no cells.
    #[must_use]
    pub fn new(nodes: Vec<[f64; 3]>) -> Self {
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// [`MeshError::Node`] where a node is not there, [`MeshError::Shape`] where their number is wrong.
    pub fn push(&mut self, kind: Cell, nodes: &[usize]) -> Result<CellId, MeshError> {
        let id = CellId::new(kind, self.count(kind));
        if nodes.len() != kind.nodes() {
            return Err(MeshError::Shape {
                cell: id.to_string(),
                problem: format!("given {} nodes", nodes.len()),
                cure: "give as many nodes as its kind has",
            });
        }
        if let Some(&node) = nodes.iter().find(|&&n| n >= self.nodes.len()) {
            return Err(MeshError::Node {
                cell: id.to_string(),
                node,
                nodes: self.nodes.len(),
            });
        }
        self.cells[kind.slot()].extend_from_slice(nodes);
        Ok(id)
    }

    /// Number of cells of a kind.
    #[must_use]
    pub fn count(&self, kind: Cell) -> usize {
        self.cells[kind.slot()].len() / kind.nodes()
    }

    /// Nodes of the cells of a kind, cell after cell.
    pub fn cells(&self, kind: Cell) -> impl ExactSizeIterator<Item = &[usize]> {
        self.cells[kind.slot()].chunks_exact(kind.nodes())
    }

    /// Nodes of a cell.
    ///
    /// # Panics
    /// Where the cell is of another, larger mesh.
    #[must_use]
    pub fn cell(&self, id: CellId) -> &[usize] {
        let n = id.kind().nodes();
        &self.cells[usize::from(id.slot)][id.index * n..(id.index + 1) * n]
    }

    /// Largest dimension of a cell: 0 to 3.
    #[must_use]
    pub fn dimension(&self) -> usize {
        let kinds = CELLS.iter().filter(|&&kind| self.count(kind) > 0);
        kinds.map(|kind| kind.dimension()).max().unwrap_or(0)
    }

    /// Names of the groups.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Cells of a group.
    ///
    /// # Errors
    /// [`MeshError::Group`] with the names there are.
    pub fn group(&self, name: &str) -> Result<&[CellId], MeshError> {
        self.groups.get(name).map(Vec::as_slice).ok_or_else(|| {
            let known: Vec<String> = self.groups.keys().map(|k| format!("\"{k}\"")).collect();
            MeshError::Group {
                name: name.to_owned(),
                known: if known.is_empty() {
                    "none: name physical groups before meshing".to_owned()
                } else {
                    known.join(", ")
                },
            }
        })
    }

    /// Adds cells to a group, which appears where it is new.
    pub fn add_to_group(&mut self, name: &str, cells: impl IntoIterator<Item = CellId>) {
        self.groups
            .entry(name.to_owned())
            .or_default()
            .extend(cells);
    }

    /// Nodes of a group, each once, in increasing order.
    ///
    /// # Errors
    /// [`MeshError::Group`] with the names there are.
    pub fn group_nodes(&self, name: &str) -> Result<Vec<usize>, MeshError> {
        let cells = self.group(name)?;
        let mut nodes: Vec<usize> = cells.iter().flat_map(|&c| self.cell(c)).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Nodes in a closed box, in increasing order. Infinite sides are welcome.
    #[must_use]
    pub fn nodes_in_box(&self, low: [f64; 3], high: [f64; 3]) -> Vec<usize> {
        let inside = |x: &[f64; 3]| (0..3).all(|i| low[i] <= x[i] && x[i] <= high[i]);
        (0..self.nodes.len())
            .filter(|&n| inside(&self.nodes[n]))
            .collect()
    }

    /// Drops nodes that no cell names; returns the old number of each node that stays.
    pub fn drop_loose_nodes(&mut self) -> Vec<usize> {
        let mut place = vec![usize::MAX; self.nodes.len()];
        for &node in self.cells.iter().flatten() {
            place[node] = 0;
        }
        let kept: Vec<usize> = (0..place.len()).filter(|&n| place[n] == 0).collect();
        for (new, &old) in kept.iter().enumerate() {
            place[old] = new;
        }
        self.nodes = kept.iter().map(|&n| self.nodes[n]).collect();
        for node in self.cells.iter_mut().flatten() {
            *node = place[*node];
        }
        kept
    }

    /// What makes up a body: the cells of the highest dimension, of these groups only where some are given, with their
    /// nodes and the cells of lower dimension between these. Groups lose the cells that go.
    ///
    /// # Errors
    /// [`MeshError::Group`] with the names there are.
    pub fn body(&self, regions: &[String]) -> Result<Self, MeshError> {
        let dimension = self.dimension();
        let mut kept: [Vec<bool>; 6] = CELLS.map(|kind| {
            let whole = kind.dimension() == dimension && regions.is_empty();
            vec![whole; self.count(kind)]
        });
        for name in regions {
            for id in self.group(name)? {
                kept[usize::from(id.slot)][id.index] |= id.kind().dimension() == dimension;
            }
        }
        let mut used = vec![false; self.nodes.len()];
        for kind in CELLS {
            let cells = self.cells(kind).zip(&kept[kind.slot()]);
            for (cell, _) in cells.filter(|(_, kept)| **kept) {
                cell.iter().for_each(|&n| used[n] = true);
            }
        }
        let mut part = Self::new(self.nodes.clone());
        let mut renumbered: [Vec<usize>; 6] = Default::default();
        for kind in CELLS {
            let slot = kind.slot();
            for (cell, kept) in self.cells(kind).zip(&mut kept[slot]) {
                *kept |= kind.dimension() < dimension && cell.iter().all(|&n| used[n]);
                renumbered[slot].push(part.count(kind));
                if *kept {
                    part.cells[slot].extend_from_slice(cell);
                }
            }
        }
        for (name, cells) in &self.groups {
            let stay = cells.iter().filter_map(|id| {
                let slot = usize::from(id.slot);
                kept[slot][id.index].then(|| CellId::new(id.kind(), renumbered[slot][id.index]))
            });
            part.groups.insert(name.clone(), stay.collect());
        }
        part.drop_loose_nodes();
        Ok(part)
    }

    /// Drops the cells of a kind, also from groups.
    pub fn drop_cells(&mut self, kind: Cell) {
        self.cells[kind.slot()].clear();
        for cells in self.groups.values_mut() {
            cells.retain(|c| c.kind() != kind);
        }
    }
}
