//! Stresses and resultants at nodes.
//!
//! Of beams and bars they are the section forces at the ends of the elements that meet at the node (`ends.rs`): one value where the
//! balance of the node makes them equal, else one for each end, so that members at a joint and the two sides of a load, a support
//! or a corner are told apart. Of solids they come from a patch: a linear function is fitted to the values at the centres of the
//! elements around the node, where they are most exact, and read at the node (Zienkiewicz and Zhu 1992), so that free surfaces
//! have the order of the inside. Where the elements that touch the node do not tell the slope, as on a surface, their neighbours
//! belong to the patch.

use super::assembly::{Assembly, GroupView};
use super::builder::NodeId;
use super::element::Cell;
use super::ends::{End, Ends};
use saltus_linear::{Dense, MinimumNorm};
use saltus_system::Point;
use std::collections::HashMap;

/// Most fields of an element.
const MOST: usize = 16;

/// A fit that multiplies errors of its values by more than this needs more of them.
const LOUDEST: f64 = 4.0;

/// A node and the elements around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    node: NodeId,
    ends: Vec<End>,
    around: Vec<Share>,
    columns: Vec<ProbeColumn>,
}

/// A value at a node.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeColumn {
    /// The field, such as `bending_moment`.
    pub field: &'static str,
    /// Where it is: the name of the node, or where that has several values of the field, of one of its sections.
    pub place: String,
    /// The ends whose mean it is, by their number, with the number of the field; of solids none.
    ends: Vec<(usize, usize)>,
}

impl ProbeColumn {
    /// The full name, `bending_moment.beam.0`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.field, self.place)
    }
}

/// What an element of a solid has to say about a node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    group: usize,
    element: usize,
    /// The part of its values; all parts of one group have the sum of the number of elements that touch the node.
    weight: f64,
}

impl Probe {
    /// One probe per node, in their order.
    #[must_use]
    pub fn at(assembly: &Assembly, nodes: &[NodeId]) -> Vec<Self> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let ends = Ends::new(assembly, nodes);
        let mut probes: Vec<Self> = nodes
            .iter()
            .map(|&node| Self::of_ends(assembly, &ends, node))
            .collect();
        for (g, group) in assembly.groups().iter().enumerate() {
            let names = group.field_names();
            let solid = !matches!(group.cell(), Cell::Point | Cell::Line);
            if !solid || names.is_empty() || names.len() > MOST {
                continue;
            }
            let mut touching: HashMap<NodeId, Vec<usize>> = HashMap::new();
            for e in 0..group.len() {
                for node in group.nodes(e) {
                    let list = touching.entry(node).or_default();
                    if list.last() != Some(&e) {
                        list.push(e);
                    }
                }
            }
            for probe in &mut probes {
                let Some(first) = touching.get(&probe.node) else {
                    continue;
                };
                let shares = patch(assembly, group, probe.node, first, &touching);
                let share = |(element, weight)| Share {
                    group: g,
                    element,
                    weight,
                };
                probe.around.extend(shares.into_iter().map(share));
                for name in names {
                    if probe.columns.iter().any(|known| known.field == *name) {
                        continue;
                    }
                    probe.columns.push(ProbeColumn {
                        field: name,
                        place: assembly.node_name(probe.node).to_owned(),
                        ends: Vec::new(),
                    });
                }
            }
        }
        probes
    }

    /// The section forces at a node.
    fn of_ends(assembly: &Assembly, all: &Ends<'_>, node: NodeId) -> Self {
        let ends = all.at(node).to_vec();
        let mut columns = Vec::new();
        let mut first = 0;
        for part in ends.chunk_by(|a, b| a.group == b.group) {
            let names = assembly.parts[part[0].group].field_names();
            let numbers = first..first + part.len();
            for (k, field) in names.iter().enumerate().take(MOST) {
                if all.is_continuous(node, part, k) {
                    columns.push(ProbeColumn {
                        field,
                        place: all.name(node, &part[0], false),
                        ends: numbers.clone().map(|i| (i, k)).collect(),
                    });
                    continue;
                }
                let each = numbers.clone().zip(part);
                columns.extend(each.map(|(i, end)| ProbeColumn {
                    field,
                    place: all.name(node, end, part.len() > 1),
                    ends: vec![(i, k)],
                }));
            }
            first += part.len();
        }
        Self {
            node,
            ends,
            around: Vec::new(),
            columns,
        }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// What the values are.
    #[must_use]
    pub fn columns(&self) -> &[ProbeColumn] {
        &self.columns
    }

    /// The values at the node (one per column), at the time, positions, velocities and accelerations given; where the list of these is
    /// empty they are 0.
    pub fn values(
        &self,
        assembly: &Assembly,
        at: Point<'_>,
        acceleration: &[f64],
        values: &mut [f64],
    ) {
        values.fill(0.0);
        for (i, end) in self.ends.iter().enumerate() {
            let mut own = [0.0; MOST];
            let count = assembly.parts[end.group].field_names().len().min(MOST);
            end.values(assembly, at, acceleration, &mut own[..count]);
            for (column, value) in self.columns.iter().zip(&mut *values) {
                for (_, k) in column.ends.iter().filter(|(number, _)| *number == i) {
                    *value += own[*k] / column.ends.len() as f64;
                }
            }
        }
        let mut sums = [0.0; 4 * MOST];
        for share in &self.around {
            let Some(group) = assembly.group(share.group) else {
                continue;
            };
            let names = group.field_names();
            let mut own = [0.0; MOST];
            let own = &mut own[..names.len()];
            group.field(at.q, share.element, own);
            for (name, x) in names.iter().zip(own) {
                let is_it = |known: &ProbeColumn| known.ends.is_empty() && known.field == *name;
                let place = self.columns.iter().position(is_it);
                if let Some(k) = place.filter(|&k| k < values.len().min(sums.len())) {
                    values[k] += share.weight * *x;
                    sums[k] += share.weight;
                }
            }
        }
        for (value, sum) in values.iter_mut().zip(sums) {
            if sum != 0.0 {
                *value /= sum;
            }
        }
    }
}

/// The weights of a patch of elements for the value at `node`, around which the elements `first` are.
fn patch(
    assembly: &Assembly,
    group: &GroupView<'_>,
    node: NodeId,
    first: &[usize],
    touching: &HashMap<NodeId, Vec<usize>>,
) -> Vec<(usize, f64)> {
    let mut second: Vec<usize> = first
        .iter()
        .flat_map(|&e| group.nodes(e))
        .filter_map(|node| touching.get(&node))
        .flatten()
        .copied()
        .collect();
    second.sort_unstable();
    second.dedup();
    let fitted = [first, &second]
        .into_iter()
        .find_map(|elements| fit(assembly, group, node, elements).map(|w| (elements, w)));
    let total = first.len() as f64;
    match fitted {
        Some((elements, weights)) => elements
            .iter()
            .zip(weights)
            .map(|(&e, weight)| (e, total * weight))
            .collect(),
        None => first.iter().map(|&e| (e, 1.0)).collect(),
    }
}

/// The weights by which the linear function that fits values at the centres of `elements` best has its value at `node`; their sum
/// is 1. `None` where the centres do not tell the slope.
fn fit(
    assembly: &Assembly,
    group: &GroupView<'_>,
    node: NodeId,
    elements: &[usize],
) -> Option<Vec<f64>> {
    let dimension = assembly.kind(node).dimension();
    let size = dimension + 1;
    if elements.len() < size {
        return None;
    }
    let origin = assembly.reference_position(node);
    let centre = |e: usize| {
        let mut row = [0.0; 4];
        row[0] = 1.0;
        let count = group.nodes(e).count() as f64;
        for corner in group.nodes(e) {
            let x = assembly.reference_position(corner);
            for c in 0..dimension {
                row[1 + c] += (x[c] - origin[c]) / count;
            }
        }
        row
    };
    let mut rows: Vec<[f64; 4]> = elements.iter().map(|&e| centre(e)).collect();
    let distances = rows.iter().flat_map(|row| &row[1..size]);
    let far = distances.fold(0.0_f64, |far, x| far.max(x.abs()));
    if far <= 0.0 {
        return None;
    }
    let mut normal = Dense::zeros(size, size);
    for row in &mut rows {
        row[1..].iter_mut().for_each(|x| *x /= far);
        for i in 0..size {
            for j in 0..size {
                normal[(i, j)] += row[i] * row[j];
            }
        }
    }
    let mut solver = MinimumNorm::default();
    if solver.factorise(&normal) < size {
        return None;
    }
    let (mut unit, mut first) = (vec![0.0; size], vec![0.0; size]);
    unit[0] = 1.0;
    solver.solve(&mut unit, &mut first);
    let weight = |row: &[f64; 4]| (0..size).map(|i| first[i] * row[i]).sum::<f64>();
    let weights: Vec<f64> = rows.iter().map(weight).collect();
    let loudness: f64 = weights.iter().map(|w| w.abs()).sum();
    (loudness <= LOUDEST).then_some(weights)
}
