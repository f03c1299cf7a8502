//! Meshes of lines, rectangles and blocks.
//!
//! Nodes run along x first, then y, then z. Sides are groups: `left` and `right` (x), `front` and `back` (y, in
//! space), `bottom` and `top` (y in the plane, z in space); `body` holds all cells of the highest dimension.

use super::{Cell, CellId, Mesh, MeshError};

/// How a side is divided: number of elements, and last over first length (geometric in between).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Division {
    /// Number of elements, one or more.
    pub elements: usize,
    /// Length of the last element over that of the first.
    pub ratio: f64,
}

impl From<usize> for Division {
    fn from(elements: usize) -> Self {
        Self {
            elements,
            ratio: 1.0,
        }
    }
}

impl Division {
    /// A graded division.
    #[must_use]
    pub const fn graded(elements: usize, ratio: f64) -> Self {
        Self { elements, ratio }
    }

    /// Places from 0 to 1.
    fn places(self) -> Result<Vec<f64>, MeshError> {
        if self.elements == 0 {
            return Err(MeshError::Value {
                what: "the number of elements along a side",
                value: 0.0,
                cure: "give one or more",
            });
        }
        if !(self.ratio.is_finite() && self.ratio > 0.0) {
            return Err(MeshError::Value {
                what: "the ratio of the last element length to the first",
                value: self.ratio,
                cure: "give a finite number above zero, 1 for equal lengths",
            });
        }
        let n = self.elements;
        let growth = if n > 1 {
            self.ratio.ln() / (n - 1) as f64
        } else {
            0.0
        };
        let place = |i: usize| {
            if growth == 0.0 {
                return i as f64 / n as f64;
            }
            (growth * i as f64).exp_m1() / (growth * n as f64).exp_m1()
        };
        Ok((0..=n)
            .map(|i| if i == n { 1.0 } else { place(i) })
            .collect())
    }
}

/// `from + s (to − from)`, exact at both ends.
fn between(from: f64, to: f64, s: f64) -> f64 {
    if s == 1.0 { to } else { from + s * (to - from) }
}

fn checked_side(from: f64, to: f64) -> Result<(), MeshError> {
    if (to - from).is_finite() && to > from {
        return Ok(());
    }
    Err(MeshError::Value {
        what: "the length of a side (second corner minus first)",
        value: to - from,
        cure: "give corners with finite coordinates, the second larger in every direction",
    })
}

/// A straight row of line cells; its ends are the groups `start` and `end` (points).
///
/// # Errors
/// [`MeshError::Value`] where both ends coincide, or the division makes no sense.
pub fn line(
    from: [f64; 3],
    to: [f64; 3],
    division: impl Into<Division>,
) -> Result<Mesh, MeshError> {
    let places = division.into().places()?;
    let length = super::orientation::minus(to, from);
    let length = super::orientation::dot(length, length).sqrt();
    checked_side(0.0, length)?;
    let at = |s: f64| std::array::from_fn(|i| between(from[i], to[i], s));
    let mut mesh = Mesh::new(places.iter().map(|&s| at(s)).collect());
    let last = places.len() - 1;
    for i in 0..last {
        mesh.push(Cell::Line, &[i, i + 1])?;
    }
    mesh.name_body(Cell::Line);
    for (name, node) in [("start", 0), ("end", last)] {
        let point = mesh.push(Cell::Point, &[node])?;
        mesh.add_to_group(name, [point]);
    }
    Ok(mesh)
}

/// What a rectangle is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaneCells {
    /// Two triangles per quadrilateral, cut from its lower left to its upper right corner.
    Triangles,
    /// Quadrilaterals.
    Quadrilaterals,
}

/// A rectangle in the plane between two opposite corners.
///
/// # Errors
/// [`MeshError::Value`] where a side is not above zero, or a division makes no sense.
pub fn rectangle(
    from: [f64; 2],
    to: [f64; 2],
    divisions: [impl Into<Division>; 2],
    cells: PlaneCells,
) -> Result<Mesh, MeshError> {
    let [x, y] = divisions.map(Into::into);
    for i in 0..2 {
        checked_side(from[i], to[i])?;
    }
    let (x, y) = (x.places()?, y.places()?);
    let (nx, ny) = (x.len() - 1, y.len() - 1);
    let row = |&t: &f64| {
        let y = between(from[1], to[1], t);
        x.iter().map(move |&s| [between(from[0], to[0], s), y, 0.0])
    };
    let mut mesh = Mesh::new(y.iter().flat_map(row).collect());
    let at = |i: usize, j: usize| j * (nx + 1) + i;
    for j in 0..ny {
        for i in 0..nx {
            let corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            let [a, b, c, d] = corners;
            match cells {
                PlaneCells::Quadrilaterals => {
                    mesh.push(Cell::Quadrilateral, &corners)?;
                }
                PlaneCells::Triangles => {
                    mesh.push(Cell::Triangle, &[a, b, c])?;
                    mesh.push(Cell::Triangle, &[a, c, d])?;
                }
            }
        }
    }
    mesh.name_body(Cell::Triangle);
    mesh.name_body(Cell::Quadrilateral);
    for face in mesh.boundary() {
        let (a, b) = (face.nodes()[0], face.nodes()[1]);
        let (i, j) = ((a % (nx + 1), b % (nx + 1)), (a / (nx + 1), b / (nx + 1)));
        let side = match (i, j) {
            ((0, 0), _) => "left",
            (_, (0, 0)) => "bottom",
            ((p, q), _) if p == q => "right",
            _ => "top",
        };
        let id = mesh.push(Cell::Line, &[a, b])?;
        mesh.add_to_group(side, [id]);
    }
    Ok(mesh)
}

/// What a block is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceCells {
    /// Six tetrahedra per hexahedron (Kuhn's subdivision, which fits between neighbours).
    Tetrahedra,
    /// Hexahedra.
    Hexahedra,
}

/// Kuhn's subdivision of a hexahedron: all six share the diagonal 0–6.
pub const KUHN: [[usize; 4]; 6] = [
    [0, 1, 2, 6],
    [0, 5, 1, 6],
    [0, 2, 3, 6],
    [0, 3, 7, 6],
    [0, 4, 5, 6],
    [0, 7, 4, 6],
];

/// A block in space between two opposite corners.
///
/// # Errors
/// [`MeshError::Value`] where a side is not above zero, or a division makes no sense.
pub fn block(
    from: [f64; 3],
    to: [f64; 3],
    divisions: [impl Into<Division>; 3],
    cells: SpaceCells,
) -> Result<Mesh, MeshError> {
    let [x, y, z] = divisions.map(Into::into);
    for i in 0..3 {
        checked_side(from[i], to[i])?;
    }
    let (x, y, z) = (x.places()?, y.places()?, z.places()?);
    let counts = [x.len(), y.len(), z.len()];
    let mut nodes = Vec::with_capacity(counts.iter().product());
    for &u in &z {
        for &t in &y {
            for &s in &x {
                let place = [s, t, u];
                nodes.push(std::array::from_fn(|i| between(from[i], to[i], place[i])));
            }
        }
    }
    let mut mesh = Mesh::new(nodes);
    let at = |i: usize, j: usize, k: usize| (k * counts[1] + j) * counts[0] + i;
    for k in 0..counts[2] - 1 {
        for j in 0..counts[1] - 1 {
            for i in 0..counts[0] - 1 {
                let floor = |k| {
                    [
                        at(i, j, k),
                        at(i + 1, j, k),
                        at(i + 1, j + 1, k),
                        at(i, j + 1, k),
                    ]
                };
                let [a, b, c, d] = floor(k);
                let [e, f, g, h] = floor(k + 1);
                let corners = [a, b, c, d, e, f, g, h];
                match cells {
                    SpaceCells::Hexahedra => {
                        mesh.push(Cell::Hexahedron, &corners)?;
                    }
                    SpaceCells::Tetrahedra => {
                        for part in KUHN {
                            mesh.push(Cell::Tetrahedron, &part.map(|c| corners[c]))?;
                        }
                    }
                }
            }
        }
    }
    mesh.name_body(Cell::Tetrahedron);
    mesh.name_body(Cell::Hexahedron);
    mesh.name_sides(counts)?;
    Ok(mesh)
}

impl Mesh {
    fn name_body(&mut self, kind: Cell) {
        if self.count(kind) > 0 {
            let all = (0..self.count(kind)).map(|i| CellId::new(kind, i));
            self.add_to_group("body", all);
        }
    }

    /// Boundary faces of a block become cells of the groups of its six sides.
    fn name_sides(&mut self, counts: [usize; 3]) -> Result<(), MeshError> {
        const NAMES: [[&str; 2]; 3] = [["left", "right"], ["front", "back"], ["bottom", "top"]];
        for face in self.boundary() {
            let place = |n: usize, axis: usize| match axis {
                0 => n % counts[0],
                1 => n / counts[0] % counts[1],
                _ => n / (counts[0] * counts[1]),
            };
            let id = self.push(face.kind(), face.nodes())?;
            for (axis, names) in NAMES.iter().enumerate() {
                for (name, side) in names.iter().zip([0, counts[axis] - 1]) {
                    if face.nodes().iter().all(|&n| place(n, axis) == side) {
                        self.add_to_group(name, [id]);
                    }
                }
            }
        }
        Ok(())
    }
}
