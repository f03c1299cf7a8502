//! What is legal in a model and probably not meant.

use saltus_linear::{RowCollector, SquareMatrix};
use saltus_mechanics::flexible::{Assembly, Cell, GroupView, NodeId};
use saltus_model::Model;
use saltus_model::document::OutputFormat;
use saltus_model::number::general;
use saltus_system::{ContactSet, Point, Reach};
use std::collections::{HashMap, HashSet};

/// Files above this size are told [bytes].
const LARGE: f64 = 1e9;

/// Nodes closer than this share of the model are at one place.
const CLOSE: f64 = 1e-9;

/// A step that is longer than so many radians of the fastest motion resolves nothing of it.
const MANY_RADIANS: f64 = 300.0;

/// Shapes are looked at in models of up to this many nodes.
const MOST_NODES: usize = 300_000;

/// What is doubtful about `model`, one sentence each.
pub fn doubts(model: &Model) -> Vec<String> {
    let mut doubts = Vec::new();
    doubts.extend(long_step(model));
    doubts.extend(large_output(model));
    doubts.extend(outside_of_domains(model));
    doubts.extend(stop_at_once(model));
    doubts.extend(
        fast_motion(model)
            .filter(|(radians, _)| *radians > MANY_RADIANS)
            .map(|(_, text)| {
                format!("{text}: whatever moves as fast is not resolved by this step")
            }),
    );
    if let Some(assembly) = &model.assembly
        && assembly.node_count() <= MOST_NODES
    {
        let shape = Shape::new(model, assembly);
        doubts.extend(shape.doubled_cells());
        doubts.extend(shape.pieces());
        let coincident = shape.coincident_nodes();
        let merged = coincident.is_none();
        doubts.extend(coincident);
        if merged {
            doubts.extend(shape.hanging_nodes());
        }
        doubts.extend(shape.overlaps());
    }
    doubts
}

fn long_step(model: &Model) -> Option<String> {
    let plan = model.plan;
    let span = plan.until - plan.start;
    (span > 0.0 && plan.step > span && !model.scheme.chooses_step()).then(|| {
        format!(
            "the step of {} s is longer than the simulation, which takes {} s: it is one step",
            general(plan.step),
            general(span)
        )
    })
}

/// Number of columns, and the sizes of the files of a run [bytes]: tables and frames.
pub fn output(model: &Model) -> (usize, f64, f64) {
    let names = model.system.names();
    let constraints = names.bilateral.len() + names.contacts.len();
    let coordinates = match &model.columns {
        Some(columns) => columns.positions.len() + columns.velocities.len(),
        None => names.positions.len() + names.velocities.len(),
    };
    let supports: usize = model.supports.iter().map(|support| support.2.len()).sum();
    let columns = 5 + coordinates + 4 * constraints + supports + model.quantities.len();
    let rows = model.plan.steps() as f64 / model.output.every as f64 + 1.0;
    let formats = &model.output.formats;
    let binary = formats
        .iter()
        .filter(|f| matches!(f, OutputFormat::Npz | OutputFormat::Hdf5));
    let binary = binary.count() as f64;
    let text = if binary == 0.0 || formats.contains(&OutputFormat::Csv) {
        15.0
    } else {
        0.0
    };
    let table = rows * columns as f64 * (8.0 * binary + text);
    let frames = match &model.assembly {
        Some(assembly) if formats.contains(&OutputFormat::Vtk) => {
            let cells: usize = assembly.groups().iter().map(|group| group.len()).sum();
            // Positions, displacements, velocities; nodes and fields of cells; in base64.
            rows * (11.0 * 100.0 + 110.0 * assembly.node_count() as f64 + 120.0 * cells as f64)
        }
        _ => 0.0,
    };
    (columns, table, frames)
}

/// A number of bytes in words.
pub fn bytes(size: f64) -> String {
    match size {
        s if s >= 1e12 => format!("{:.1} TB", s / 1e12),
        s if s >= 1e9 => format!("{:.1} GB", s / 1e9),
        s if s >= 1e6 => format!("{:.1} MB", s / 1e6),
        s => format!("{:.0} kB", (s / 1e3).ceil()),
    }
}

fn large_output(model: &Model) -> Option<String> {
    let (_, table, frames) = output(model);
    (table + frames > LARGE && !model.scheme.chooses_step()).then(|| {
        format!(
            "the result of all steps takes about {}; `every` in [output], or --every, writes fewer",
            bytes(table + frames)
        )
    })
}

/// Formulas that are not numbers at the start.
fn outside_of_domains(model: &Model) -> Vec<String> {
    let (system, state) = (&*model.system, &model.initial);
    let names = system.names();
    let mut doubts = Vec::new();
    let mut told = |what: String| {
        doubts.push(format!(
            "{what} is not a number at the start: does a formula leave its domain?"
        ));
    };
    if !system.potential_energy(state.t, &state.q).is_finite() {
        told("the potential energy".to_owned());
    }
    let mut g = vec![0.0; system.dims().ng];
    system.g(state.t, &state.q, &mut g);
    for (name, _) in names
        .bilateral
        .iter()
        .zip(&g)
        .filter(|(_, g)| !g.is_finite())
    {
        told(format!("the constraint \"{name}\""));
    }
    let mut set = ContactSet::default();
    system.detect(state.t, &state.q, Reach::All, &mut set);
    for i in (0..set.len()).filter(|&i| !set.gap[i].is_finite()) {
        told(format!("the gap \"{}\"", names.contact(set.id[i])));
    }
    for (name, value) in quantities(model) {
        if value.is_some_and(|value| !value.is_finite()) {
            told(format!("the quantity \"{name}\""));
        }
    }
    doubts
}

/// The quantities at the start, and the condition last; none where one depends on what only a step knows.
fn quantities(model: &Model) -> Vec<(&str, Option<f64>)> {
    let state = &model.initial;
    let names = model.system.names();
    let find = |list: &[String], name: &str| list.iter().position(|known| known == name);
    let mut known: HashMap<&str, f64> = HashMap::from([("t", state.t)]);
    let mut values = Vec::new();
    let condition = model.stop.as_ref().map(saltus_model::Condition::quantity);
    for quantity in model.quantities.iter().chain(condition) {
        let input = |name: &String| match name.split_once('.') {
            Some(("q", name)) => find(&names.positions, name).map(|i| state.q[i]),
            Some(("v", name)) => find(&names.velocities, name).map(|i| state.v[i]),
            _ => known.get(name.as_str()).copied(),
        };
        let inputs: Option<Vec<f64>> = quantity.inputs().iter().map(input).collect();
        let value = inputs.map(|inputs| quantity.evaluate(&inputs));
        if let Some(value) = value {
            known.insert(quantity.name(), value);
        }
        values.push((quantity.name(), value));
    }
    values
}

fn stop_at_once(model: &Model) -> Option<String> {
    let condition = model.stop.as_ref()?;
    let holds = quantities(model).last()?.1? > 0.0;
    holds.then(|| {
        format!(
            "the condition that ends the simulation, {}, holds at the start",
            condition.text()
        )
    })
}

/// By how many radians the fastest motion goes on in a step, and that in words; from the diagonals of `M` and `K`.
pub fn fast_motion(model: &Model) -> Option<(f64, String)> {
    if model.scheme.chooses_step() {
        return None;
    }
    let (system, state) = (&*model.system, &model.initial);
    let n = system.dims().nv;
    let rest = vec![0.0; n];
    let at = Point {
        t: state.t,
        q: &state.q,
        v: &rest,
    };
    let (mut mass, mut stiffness) = (SquareMatrix::new(n), SquareMatrix::new(n));
    system.mass(&state.q, &mut mass);
    system.stiffness(at, &mut stiffness);
    mass.finish();
    stiffness.finish();
    let (mut m, mut k) = (vec![0.0; n], vec![0.0; n]);
    mass.diagonal(&mut m);
    stiffness.diagonal(&mut k);
    let ratio = |i: usize| if m[i] > 0.0 { k[i] / m[i] } else { 0.0 };
    // Rotations of the sections of beams are faster than any wave that matters.
    let rotations = model.assembly.as_ref().map(|assembly| assembly.rotations());
    let turns = |i: &usize| {
        rotations
            .as_ref()
            .is_some_and(|list| list.binary_search(i).is_ok())
    };
    let fastest = (0..n)
        .filter(|i| !turns(i))
        .max_by(|&i, &j| ratio(i).total_cmp(&ratio(j)))?;
    let omega = ratio(fastest).max(0.0).sqrt();
    let radians = omega * model.plan.step;
    let name = system.names().velocities.get(fastest).cloned();
    (radians.is_finite() && omega > 0.0).then(|| {
        let shown = |x: f64| general(format!("{x:.2e}").parse().unwrap_or(x));
        let periods = shown(radians / std::f64::consts::TAU);
        let name = name.unwrap_or_default();
        let waves = match &model.assembly {
            // The fastest wave crosses an element in about 2/ω.
            Some(_) => format!(", waves run through about {} elements", shown(0.5 * radians)),
            None => String::new(),
        };
        let text = format!(
            "in a step the fastest motion, of {name} with about {} rad/s, makes {periods} periods{waves}",
            shown(omega)
        );
        (radians, text)
    })
}

/// The shape of an assembly, and which nodes constraints connect.
struct Shape<'a> {
    model: &'a Model,
    assembly: &'a Assembly,
    places: Vec<[f64; 3]>,
    /// Length of the diagonal of the box around all nodes.
    size: f64,
    /// Pairs of nodes that stand in one constraint.
    tied: HashSet<(usize, usize)>,
}

impl<'a> Shape<'a> {
    fn new(model: &'a Model, assembly: &'a Assembly) -> Self {
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

    fn doubled_cells(&self) -> Option<String> {
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
    fn pieces(&self) -> Vec<String> {
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
    fn coincident_nodes(&self) -> Option<String> {
        let near = (CLOSE * self.size).max(f64::MIN_POSITIVE);
        let owners = self.owners();
        let apart = |a: usize, b: usize| match (&owners[a], &owners[b]) {
            (Some(one), Some(other)) => one != other && self.in_contact(one, other),
            _ => true,
        };
        let grid = Grid::new(&self.places, near * 10.0);
        let (mut count, mut first) = (0, None);
        for (n, place) in self.places.iter().enumerate() {
            for other in grid.around(place) {
                let near = other < n && distance(place, &self.places[other]) <= near;
                if near && !self.tied.contains(&(other, n)) && !apart(other, n) {
                    count += 1;
                    first.get_or_insert((other, n));
                }
            }
        }
        let (a, b) = first?;
        let pairs = if count == 1 {
            "pair of nodes is"
        } else {
            "pairs of nodes are"
        };
        Some(format!(
            "{count} {pairs} at one place and not connected, the first {} and {}: merge them, or connect them by [[tie]] or by joining the parts",
            self.name(a),
            self.name(b)
        ))
    }

    /// Nodes on an edge of an element of the same part that is not theirs.
    fn hanging_nodes(&self) -> Vec<String> {
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
    fn overlaps(&self) -> Vec<String> {
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

    /// A node of `a` inside of an element of `b`, of which it is no node.
    fn inside(&self, a: &GroupView<'_>, b: &GroupView<'_>) -> Option<usize> {
        let corners = |group: &GroupView<'_>| -> HashSet<usize> {
            (0..group.len())
                .flat_map(|e| group.nodes(e).map(NodeId::index).collect::<Vec<_>>())
                .collect()
        };
        let (own, other) = (corners(a), corners(b));
        let mut candidates: Vec<usize> = own.difference(&other).copied().collect();
        candidates.sort_unstable();
        let places: Vec<[f64; 3]> = candidates.iter().map(|&n| self.places[n]).collect();
        let (low, high) = bounds(&other.iter().map(|&n| self.places[n]).collect::<Vec<_>>());
        let near = |p: &[f64; 3]| (0..3).all(|c| p[c] >= low[c] && p[c] <= high[c]);
        if !places.iter().any(near) {
            return None;
        }
        let mean = (self.size / (b.len() as f64).sqrt()).max(f64::MIN_POSITIVE);
        let grid = Grid::new(&places, mean);
        for e in 0..b.len() {
            let cell: Vec<[f64; 3]> = b.nodes(e).map(|node| self.places[node.index()]).collect();
            let (low, high) = bounds(&cell);
            let found = grid
                .between(&low, &high)
                .into_iter()
                .find(|&k| contains(b.cell(), &cell, &places[k]));
            if let Some(k) = found {
                return Some(candidates[k]);
            }
        }
        None
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

/// Points in cubes of one size.
struct Grid {
    cell: f64,
    points: HashMap<[i64; 3], Vec<usize>>,
}

impl Grid {
    fn new(places: &[[f64; 3]], cell: f64) -> Self {
        let mut grid = Self {
            cell,
            points: HashMap::new(),
        };
        for (n, place) in places.iter().enumerate() {
            grid.points.entry(grid.key(place)).or_default().push(n);
        }
        grid
    }

    #[allow(clippy::cast_possible_truncation)]
    fn key(&self, place: &[f64; 3]) -> [i64; 3] {
        place.map(|x| (x / self.cell).floor() as i64)
    }

    /// Points in the cube of `place` and in its neighbours.
    fn around(&self, place: &[f64; 3]) -> Vec<usize> {
        let key = self.key(place);
        self.inside(key.map(|k| k - 1), key.map(|k| k + 1))
    }

    /// Points in the cubes of a box.
    fn between(&self, a: &[f64; 3], b: &[f64; 3]) -> Vec<usize> {
        let (a, b) = (self.key(a), self.key(b));
        let low = [0, 1, 2].map(|c| a[c].min(b[c]) - 1);
        let high = [0, 1, 2].map(|c| a[c].max(b[c]) + 1);
        self.inside(low, high)
    }

    fn inside(&self, low: [i64; 3], high: [i64; 3]) -> Vec<usize> {
        let cubes: f64 = (0..3).map(|c| (high[c] - low[c] + 1) as f64).product();
        if cubes > self.points.len() as f64 {
            let within = |key: &[i64; 3]| (0..3).all(|c| low[c] <= key[c] && key[c] <= high[c]);
            let found = self.points.iter().filter(|(key, _)| within(key));
            return found.flat_map(|(_, list)| list).copied().collect();
        }
        let mut found = Vec::new();
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    found.extend(self.points.get(&[x, y, z]).into_iter().flatten());
                }
            }
        }
        found
    }
}

/// Sets of nodes that hang together.
struct Union(Vec<usize>);

impl Union {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
