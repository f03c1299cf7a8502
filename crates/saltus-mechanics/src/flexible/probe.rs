//! Stresses and resultants at nodes.
//!
//! Of beams and bars they are the means of the elements that meet at the node, at their ends. Of solids they come from a patch: a
//! linear function is fitted to the values at the centres of the elements around the node, where they are most exact, and read at
//! the node (Zienkiewicz and Zhu 1992), so that free surfaces have the order of the inside. Where the elements that touch the
//! node do not tell the slope, as on a surface, their neighbours belong to the patch.

use super::assembly::{Assembly, GroupView};
use super::builder::NodeId;
use super::element::Cell;
use saltus_linear::{Dense, MinimumNorm};
use std::collections::HashMap;

/// Most fields of an element.
const MOST: usize = 16;

/// A fit that multiplies errors of its values by more than this needs more of them.
const LOUDEST: f64 = 4.0;

/// A node and the elements around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    node: NodeId,
    around: Vec<Share>,
    names: Vec<&'static str>,
}

/// What an element has to say about a node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    group: usize,
    element: usize,
    /// The part of its values; all parts of one group have the sum of the number of elements that touch the node.
    weight: f64,
    /// Whether its values at the node count, not those at its centre.
    at_node: bool,
}

impl Probe {
    /// One probe per node, in their order.
    #[must_use]
    pub fn at(assembly: &Assembly, nodes: &[NodeId]) -> Vec<Self> {
        let mut probes: Vec<Self> = nodes
            .iter()
            .map(|&node| Self {
                node,
                around: Vec::new(),
                names: Vec::new(),
            })
            .collect();
        for (g, group) in assembly.groups().iter().enumerate() {
            let names = group.field_names();
            if names.is_empty() || names.len() > MOST {
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
            let solid = !matches!(group.cell(), Cell::Point | Cell::Line);
            for probe in &mut probes {
                let Some(first) = touching.get(&probe.node) else {
                    continue;
                };
                let shares = if solid {
                    patch(assembly, group, probe.node, first, &touching)
                } else {
                    first.iter().map(|&e| (e, 1.0)).collect()
                };
                probe
                    .around
                    .extend(shares.into_iter().map(|(element, weight)| Share {
                        group: g,
                        element,
                        weight,
                        at_node: !solid,
                    }));
                let new = names.iter().filter(|name| !probe.names.contains(name));
                let new: Vec<&'static str> = new.copied().collect();
                probe.names.extend(new);
            }
        }
        probes
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Names of the values.
    #[must_use]
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Each field at the node (one value per name), as the elements tell that have it.
    pub fn values(&self, assembly: &Assembly, q: &[f64], values: &mut [f64]) {
        values.fill(0.0);
        let mut sums = [0.0; 4 * MOST];
        for share in &self.around {
            let Some(group) = assembly.group(share.group) else {
                continue;
            };
            let names = group.field_names();
            let mut own = [0.0; MOST];
            let own = &mut own[..names.len()];
            if share.at_node {
                group.field_at(q, share.element, self.node, own);
            } else {
                group.field(q, share.element, own);
            }
            for (name, x) in names.iter().zip(own) {
                let place = self.names.iter().position(|known| known == name);
                if let Some(k) = place.filter(|&k| k < values.len().min(sums.len())) {
                    values[k] += share.weight * *x;
                    sums[k] += share.weight;
                }
            }
        }
        for (value, sum) in values.iter_mut().zip(sums) {
            *value /= sum;
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
