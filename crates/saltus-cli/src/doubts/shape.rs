//! Parts that do not hang together, or overlap.

use super::grid::{Grid, Union};
use saltus_linear::RowCollector;
use saltus_mechanics::flexible::{Assembly, Cell, GroupView, NodeId};
use saltus_model::Model;
use std::collections::{HashMap, HashSet};

/// Nodes closer than this share of the model are at one place.
const CLOSE: f64 = 1e-9;

/// Nodes closer than this share of their elements are meant to be.
const NEARLY: f64 = 1e-4;

/// The shape of an assembly, and which nodes constraints connect.
pub struct Shape<'a> {
    model: &'a Model,
    assembly: &'a Assembly,
    places: Vec<[f64; 3]>,
    /// Length of the diagonal of the box around all nodes.
    size: f64,
    /// Pairs of nodes that stand in one constraint.
    tied: HashSet<(usize, usize)>,
}

impl<'a> Shape<'a> {
    pub fn new(model: &'a Model, assembly: &'a Assembly) -> Self {
        let places: Vec<[f64; 3]> = nodes(assembly)
            .map(|node| {
                let mut place = [0.0; 3];
                let count = assembly.kind(node).dimension();
                place[..count].copy_from_slice(&assembly.reference_position(node)[..count]);
                place
            })
            .collect();
        let (low, high) = bounds(&places);
        let size = (0..3)
            .map(|c| (high[c] - low[c]).max(0.0).powi(2))
            .sum::<f64>()
            .sqrt();
        Self {
            tied: tied(model, assembly),
            model,
            assembly,
            places,
            size,
        }
    }

    fn name(&self, node: usize) -> &str {
        self.assembly.node_name(id(node))
    }

    /// Groups of elements that are shapes, not points or springs between points.
    fn bodies(&self) -> Vec<GroupView<'a>> {
        let groups = self.assembly.groups().into_iter();
        groups
            .filter(|group| group.cell() != Cell::Point && !group.is_empty() && group.mass() > 0.0)
            .collect()
    }

    /// The part that each node belongs to, if any.
    fn owners(&self) -> Vec<Option<String>> {
        let mut owners = vec![None; self.places.len()];
        for group in self.bodies() {
            for e in 0..group.len() {
                for node in group.nodes(e) {
                    owners[node.index()].get_or_insert_with(|| group.name().to_owned());
                }
            }
        }
        owners
    }

    /// Whether a contact of the document names both parts.
    fn in_contact(&self, one: &str, other: &str) -> bool {
        self.model.document.contact.iter().any(|contact| {
            let text = serde_json::to_string(contact).unwrap_or_default();
            text.contains(one) && text.contains(other)
        })
    }

    pub fn doubled_cells(&self) -> Option<String> {
        let mut known: HashMap<Vec<usize>, String> = HashMap::new();
        let (mut count, mut first) = (0, None);
        for group in self.bodies() {
            for e in 0..group.len() {
                let mut corners: Vec<usize> = group.nodes(e).map(NodeId::index).collect();
                corners.sort_unstable();
                match known.entry(corners) {
                    std::collections::hash_map::Entry::Occupied(other) => {
                        count += 1;
                        first.get_or_insert_with(|| {
                            (group.name().to_owned(), e, other.get().clone())
                        });
                    }
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(format!("{} of \"{}\"", e, group.name()));
                    }
                }
            }
        }
        let (name, e, other) = first?;
        Some(format!(
            "{count} {} the nodes of another one, so that mass and stiffness are there twice: element {e} of \"{name}\" those of element {other}",
            if count == 1 {
                "element has"
            } else {
                "elements have"
            }
        ))
    }

    /// Parts whose elements do not hang together.
    pub fn pieces(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for group in self.bodies() {
            let mut union = Union::new(self.places.len());
            let mut used = HashSet::new();
            for e in 0..group.len() {
                let corners: Vec<usize> = group.nodes(e).map(NodeId::index).collect();
                used.extend(corners.iter().copied());
                corners
                    .windows(2)
                    .for_each(|pair| union.join(pair[0], pair[1]));
            }
            for &(a, b) in &self.tied {
                union.join(a, b);
            }
            let mut roots: HashMap<usize, usize> = HashMap::new();
            for &node in &used {
                let root = union.root(node);
                roots
                    .entry(root)
                    .and_modify(|least| *least = node.min(*least))
                    .or_insert(node);
            }
            if roots.len() > 1 {
                let mut firsts: Vec<usize> = roots.into_values().collect();
                firsts.sort_unstable();
                doubts.push(format!(
                    "\"{}\" is in {} pieces that nothing holds together, one around {} and one around {}",
                    group.name(),
                    firsts.len(),
                    self.name(firsts[0]),
                    self.name(firsts[1])
                ));
            }
        }
        doubts
    }

    /// Nodes at one place that are neither the same nor tied.
    pub fn coincident_nodes(&self) -> Option<String> {
        let same = (CLOSE * self.size).max(f64::MIN_POSITIVE);
        let reach = self.reach(same);
        let most = reach.iter().copied().fold(same, f64::max);
        let owners = self.owners();
        let apart = |a: usize, b: usize| match (&owners[a], &owners[b]) {
            (Some(one), Some(other)) => one != other && self.in_contact(one, other),
            _ => true,
        };
        let grid = Grid::new(&self.places, most * 10.0);
        let (mut count, mut first, mut apart_by) = (0, None, 0.0_f64);
        for (n, place) in self.places.iter().enumerate() {
            for other in grid.around(place) {
                let length = distance(place, &self.places[other]);
                let near = other < n && length <= reach[n].min(reach[other]);
                if near && !self.tied.contains(&(other, n)) && !apart(other, n) {
                    count += 1;
                    first.get_or_insert((other, n));
                    apart_by = apart_by.max(length);
                }
            }
        }
        let (a, b) = first?;
        let place = if apart_by <= same {
            "at one place".to_owned()
        } else {
            format!("at one place, or within {apart_by:.1e} m,")
        };
        let pairs = if count == 1 {
            "pair of nodes is"
        } else {
            "pairs of nodes are"
        };
        Some(format!(
            "{count} {pairs} {place} and not connected, the first {} and {}: merge them, or connect them by [[tie]] or by joining the parts",
            self.name(a),
            self.name(b)
        ))
    }

    /// How near to each node others are at its place, at least `least`: a share of its shortest edge.
    fn reach(&self, least: f64) -> Vec<f64> {
        let mut shortest = vec![f64::INFINITY; self.places.len()];
        for group in self.bodies() {
            for e in 0..group.len() {
                let corners: Vec<usize> = group.nodes(e).map(NodeId::index).collect();
                for &(a, b) in sides(group.cell()) {
                    let (a, b) = (corners[a], corners[b]);
                    let length = distance(&self.places[a], &self.places[b]);
                    shortest[a] = shortest[a].min(length);
                    shortest[b] = shortest[b].min(length);
                }
            }
        }
        let reach = |edge: f64| if edge.is_finite() { NEARLY * edge } else { 0.0 };
        shortest
            .into_iter()
            .map(|edge| reach(edge).max(least))
            .collect()
    }

    /// Nodes on an edge of an element of the same part that is not theirs.
    pub fn hanging_nodes(&self) -> Vec<String> {
        let bodies = self.bodies();
        bodies
            .iter()
            .filter_map(|group| self.hanging_in(group))
            .collect()
    }

    fn hanging_in(&self, group: &GroupView<'_>) -> Option<String> {
        let mut edges: HashSet<(usize, usize)> = HashSet::new();
        let mut own: Vec<usize> = Vec::new();
        for e in 0..group.len() {
            let corners: Vec<usize> = group.nodes(e).map(NodeId::index).collect();
            edges.extend(sides(group.cell()).iter().map(|&(a, b)| {
                let (a, b) = (corners[a], corners[b]);
                (a.min(b), a.max(b))
            }));
            own.extend(corners);
        }
        if edges.is_empty() {
            return None;
        }
        own.sort_unstable();
        own.dedup();
        let places: Vec<[f64; 3]> = own.iter().map(|&n| self.places[n]).collect();
        let length = |&(a, b): &(usize, usize)| distance(&self.places[a], &self.places[b]);
        let mean = edges.iter().map(length).sum::<f64>() / edges.len() as f64;
        let grid = Grid::new(&places, mean.max(f64::MIN_POSITIVE));
        let mut hanging: Vec<(usize, usize, usize)> = Vec::new();
        for &(a, b) in &edges {
            let (from, to) = (&self.places[a], &self.places[b]);
            let along = length(&(a, b));
            for n in grid.between(from, to).into_iter().map(|k| own[k]) {
                let place = &self.places[n];
                let detour = distance(from, place) + distance(place, to) - along;
                let inside = distance(from, place).min(distance(place, to)) > 1e-6 * along;
                let tied = |end: usize| self.tied.contains(&(end.min(n), end.max(n)));
                if inside && detour <= 1e-9 * along && !tied(a) && !tied(b) {
                    hanging.push((n, a, b));
                }
            }
        }
        hanging.sort_unstable();
        let &(n, a, b) = hanging.first()?;
        let mut nodes: Vec<usize> = hanging.iter().map(|h| h.0).collect();
        nodes.dedup();
        let count = match nodes.len() {
            1 => "1 node lies".to_owned(),
            n => format!("{n} nodes lie"),
        };
        Some(format!(
            "{count} on the edge of an element without being one of its nodes, {} between {} and {}: they move apart",
            self.name(n),
            self.name(a),
            self.name(b)
        ))
    }

    /// Solids of which one has nodes inside of the other, without a contact between them.
    pub fn overlaps(&self) -> Vec<String> {
        let bodies = self.bodies();
        let solid = |group: &&GroupView<'_>| !matches!(group.cell(), Cell::Line | Cell::Point);
        let solids: Vec<&GroupView<'_>> = bodies.iter().filter(solid).collect();
        let mut doubts = Vec::new();
        for (k, a) in solids.iter().enumerate() {
            for b in &solids[k + 1..] {
                if self.in_contact(a.name(), b.name()) {
                    continue;
                }
                let inside = self.inside(a, b).or_else(|| self.inside(b, a));
                if let Some(node) = inside {
                    doubts.push(format!(
                        "\"{}\" and \"{}\" overlap, and no contact is between them: {} lies inside of the other",
                        a.name(),
                        b.name(),
                        self.name(node)
                    ));
                }
            }
        }
        doubts
    }

    /// A node of `a` inside of an element of `b`. Nodes are looked at a little inside of their own elements, so that bodies which
    /// touch do not overlap.
    fn inside(&self, a: &GroupView<'_>, b: &GroupView<'_>) -> Option<usize> {
        const INWARDS: f64 = 1e-3;
        let (mut places, mut names) = (Vec::new(), Vec::new());
        for e in 0..a.len() {
            let corners: Vec<usize> = a.nodes(e).map(NodeId::index).collect();
            let sum = |c: usize| corners.iter().map(|&n| self.places[n][c]).sum::<f64>();
            let centre = [0, 1, 2].map(|c| sum(c) / corners.len() as f64);
            for &n in &corners {
                let inwards =
                    |c: usize| self.places[n][c] + INWARDS * (centre[c] - self.places[n][c]);
                places.push([0, 1, 2].map(inwards));
                names.push(n);
            }
        }
        let cell = |e: usize| -> Vec<[f64; 3]> {
            b.nodes(e).map(|node| self.places[node.index()]).collect()
        };
        let all: Vec<[f64; 3]> = (0..b.len()).flat_map(cell).collect();
        let (low, high) = bounds(&all);
        let near = |p: &[f64; 3]| (0..3).all(|c| p[c] >= low[c] && p[c] <= high[c]);
        if !places.iter().any(near) {
            return None;
        }
        let mean = (self.size / (b.len() as f64).sqrt()).max(f64::MIN_POSITIVE);
        let grid = Grid::new(&places, mean);
        (0..b.len()).find_map(|e| {
            let corners = cell(e);
            let (low, high) = bounds(&corners);
            let mut close = grid.between(&low, &high).into_iter();
            close
                .find(|&k| contains(b.cell(), &corners, &places[k]))
                .map(|k| names[k])
        })
    }
}

fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node).unwrap_or(u32::MAX))
}

fn nodes(assembly: &Assembly) -> impl Iterator<Item = NodeId> {
    (0..assembly.node_count()).map(id)
}

fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt()
}

/// Lowest and highest coordinates.
pub fn bounds(places: &[[f64; 3]]) -> ([f64; 3], [f64; 3]) {
    let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    places.iter().fold(start, |(mut low, mut high), place| {
        for c in 0..3 {
            low[c] = low[c].min(place[c]);
            high[c] = high[c].max(place[c]);
        }
        (low, high)
    })
}

/// Pairs of nodes, the smaller number first, in one bilateral constraint.
fn tied(model: &Model, assembly: &Assembly) -> HashSet<(usize, usize)> {
    let (system, state) = (&*model.system, &model.initial);
    let count = system.dims().ng;
    let mut owner = vec![usize::MAX; system.dims().nv];
    for node in nodes(assembly) {
        for c in 0..assembly.kind(node).velocities() {
            if let Some(place) = assembly.velocity_place(node, c) {
                owner[place] = node.index();
            }
        }
    }
    let mut collector = RowCollector::default();
    system.g_jacobian(state.t, &state.q, &mut collector);
    let rows = collector.finish(count);
    let mut tied = HashSet::new();
    for row in 0..count {
        let owners = rows.cols(row).iter().map(|&col| owner[col]);
        let mut nodes: Vec<usize> = owners.filter(|n| *n != usize::MAX).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for (k, &a) in nodes.iter().enumerate() {
            tied.extend(nodes[k + 1..].iter().map(|&b| (a, b)));
        }
    }
    tied
}

/// Edges of a cell by the numbers of its corners.
fn sides(cell: Cell) -> &'static [(usize, usize)] {
    match cell {
        Cell::Point => &[],
        Cell::Line => &[(0, 1)],
        Cell::Triangle => &[(0, 1), (1, 2), (2, 0)],
        Cell::Quadrilateral => &[(0, 1), (1, 2), (2, 3), (3, 0)],
        Cell::Tetrahedron => &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
        Cell::Hexahedron => &[
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 0),
            (4, 5),
            (5, 6),
            (6, 7),
            (7, 4),
            (0, 4),
            (1, 5),
            (2, 6),
            (3, 7),
        ],
    }
}

/// Whether `place` is well inside of a cell: on the inner side of every face.
fn contains(cell: Cell, corners: &[[f64; 3]], place: &[f64; 3]) -> bool {
    let from = |a: &[f64; 3]| [0, 1, 2].map(|c| place[c] - a[c]);
    let side = |a: usize, b: usize| [0, 1, 2].map(|c| corners[b][c] - corners[a][c]);
    let size = distance(&bounds(corners).0, &bounds(corners).1);
    let plane = |list: &[(usize, usize)]| {
        list.iter().all(|&(a, b)| {
            let (along, to) = (side(a, b), from(&corners[a]));
            let length = distance(&corners[a], &corners[b]);
            along[0] * to[1] - along[1] * to[0] > 1e-6 * size * length
        })
    };
    let space = |faces: &[[usize; 3]]| {
        faces.iter().all(|&[a, b, c]| {
            let (u, v, to) = (side(a, b), side(a, c), from(&corners[a]));
            let normal = [
                u[1] * v[2] - u[2] * v[1],
                u[2] * v[0] - u[0] * v[2],
                u[0] * v[1] - u[1] * v[0],
            ];
            let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
            let inner: f64 = (0..3).map(|c| normal[c] * to[c]).sum();
            inner > 1e-6 * size * length
        })
    };
    match cell {
        Cell::Point | Cell::Line => false,
        Cell::Triangle | Cell::Quadrilateral => plane(sides(cell)),
        Cell::Tetrahedron => space(&[[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]]),
        Cell::Hexahedron => space(&[
            [0, 1, 2],
            [4, 7, 6],
            [0, 4, 5],
            [1, 5, 6],
            [2, 6, 7],
            [3, 7, 4],
        ]),
    }
}
