//! Stresses and resultants at nodes: means of the elements around them.

use super::assembly::Assembly;
use super::builder::NodeId;
use std::collections::HashMap;

/// Most fields of an element.
const MOST: usize = 16;

/// A node and the elements around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    node: NodeId,
    /// Group and number of each element.
    around: Vec<(usize, usize)>,
    names: Vec<&'static str>,
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
        let mut place: HashMap<NodeId, Vec<usize>> = HashMap::new();
        for (k, &node) in nodes.iter().enumerate() {
            place.entry(node).or_default().push(k);
        }
        for (g, group) in assembly.groups().iter().enumerate() {
            let names = group.field_names();
            if names.is_empty() || names.len() > MOST {
                continue;
            }
            for e in 0..group.len() {
                for node in group.nodes(e) {
                    for &k in place.get(&node).into_iter().flatten() {
                        let probe = &mut probes[k];
                        if probe.around.last() == Some(&(g, e)) {
                            continue;
                        }
                        probe.around.push((g, e));
                        for name in names {
                            if !probe.names.contains(name) {
                                probe.names.push(name);
                            }
                        }
                    }
                }
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

    /// The mean over the elements around the node of each field (one value per name), of those that have it.
    pub fn values(&self, assembly: &Assembly, q: &[f64], values: &mut [f64]) {
        values.fill(0.0);
        let mut counts = [0.0; 4 * MOST];
        for &(g, e) in &self.around {
            let Some(group) = assembly.group(g) else {
                continue;
            };
            let names = group.field_names();
            let mut own = [0.0; MOST];
            group.field(q, e, &mut own[..names.len()]);
            for (name, x) in names.iter().zip(own) {
                let place = self.names.iter().position(|known| known == name);
                if let Some(k) = place.filter(|&k| k < values.len().min(counts.len())) {
                    values[k] += x;
                    counts[k] += 1.0;
                }
            }
        }
        for (value, count) in values.iter_mut().zip(counts) {
            *value /= count;
        }
    }
}
