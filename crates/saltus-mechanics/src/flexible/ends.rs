//! Section forces at the ends of bars and beams.
//!
//! A node exerts on the end of an element what its other forces leave over: the force of the element and its inertia, less its
//! weight and the loads along it. With that the ends of the elements at a node balance the loads and reactions there, as
//! supports do ([`SupportForce`](super::SupportForce)).

use super::assembly::Assembly;
use super::builder::NodeId;
use super::element::Cell;
use saltus_system::{Contacts, Point};
use std::collections::HashMap;

/// Most velocities of a node.
const WIDTH: usize = 6;

/// An end of an element.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct End {
    pub group: usize,
    pub element: usize,
    /// Number of the node in the element.
    pub local: usize,
    /// Loads along the element, by their number, with their part here.
    loads: Vec<(usize, [f64; 3])>,
    /// Pressures on it: pressure, face, and number of the corner.
    pressed: Vec<(usize, usize, usize)>,
}

impl End {
    /// Its section forces, one per field of the group, at accelerations that are 0 where the list is empty.
    pub fn values(
        &self,
        assembly: &Assembly,
        at: Point<'_>,
        acceleration: &[f64],
        values: &mut [f64],
    ) {
        let (view, rates) = (assembly.view(at.q, at.v), assembly.view(&[], acceleration));
        let part = &assembly.parts[self.group];
        let mut force = [0.0; WIDTH];
        let (e, gravity) = (self.element, &assembly.gravity);
        part.bear(e, self.local, view, rates, gravity, &mut force);
        for (load, share) in &self.loads {
            let size = assembly.line_loads[*load].amplitude.value(at.t);
            for (force, share) in force.iter_mut().zip(share) {
                *force -= size * share;
            }
        }
        for &(p, f, corner) in &self.pressed {
            let pressure = &assembly.pressures[p];
            let unit = pressure.faces[f].unit_force(corner, &assembly.places, view);
            let size = pressure.amplitude.value(at.t);
            for (force, unit) in force.iter_mut().zip(unit).take(2) {
                *force -= size * unit;
            }
        }
        part.end_fields(e, self.local, view, &force, values);
    }
}

/// The ends at some nodes, node by node.
pub(super) struct Ends<'a> {
    assembly: &'a Assembly,
    at: HashMap<NodeId, Vec<End>>,
    /// Number of groups with elements at each node.
    groups: Vec<u32>,
    /// Velocity components of each node on which anything but elements acts.
    acted: Vec<u8>,
    reference: Vec<f64>,
}

impl<'a> Ends<'a> {
    pub fn new(assembly: &'a Assembly, nodes: &[NodeId]) -> Self {
        let mut wanted = vec![false; assembly.node_count()];
        for node in nodes {
            wanted[node.index()] = true;
        }
        let mut at: HashMap<NodeId, Vec<End>> = HashMap::new();
        let mut groups = vec![0; assembly.node_count()];
        let mut last = vec![usize::MAX; assembly.node_count()];
        let mut between: HashMap<[NodeId; 2], Vec<(usize, usize)>> = HashMap::new();
        for (g, group) in assembly.groups().iter().enumerate() {
            let is_line = matches!(group.cell(), Cell::Point | Cell::Line);
            for element in 0..group.len() {
                for (local, node) in group.nodes(element).enumerate() {
                    if last[node.index()] != g {
                        last[node.index()] = g;
                        groups[node.index()] += 1;
                    }
                    if is_line && wanted[node.index()] && !group.field_names().is_empty() {
                        at.entry(node).or_default().push(End {
                            group: g,
                            element,
                            local,
                            loads: Vec::new(),
                            pressed: Vec::new(),
                        });
                    }
                }
                let mut nodes = group.nodes(element);
                if let (Cell::Line, Some(a), Some(b)) = (group.cell(), nodes.next(), nodes.next())
                    && (wanted[a.index()] || wanted[b.index()])
                {
                    between.entry(pair(a, b)).or_default().push((g, element));
                }
            }
        }
        let mut ends = Self {
            assembly,
            at,
            groups,
            acted: acted(assembly),
            reference: assembly.reference_state(0.0).q,
        };
        ends.spread_loads(&between);
        ends
    }

    /// Gives the ends the loads along their elements.
    fn spread_loads(&mut self, between: &HashMap<[NodeId; 2], Vec<(usize, usize)>>) {
        let found = |nodes: [NodeId; 2]| between.get(&pair(nodes[0], nodes[1])).into_iter();
        let assembly = self.assembly;
        for (i, load) in assembly.line_loads.iter().enumerate() {
            for share in &load.shares {
                let mut elements = found(share.nodes).flatten();
                let of_part = |e: &&(usize, usize)| assembly.parts[e.0].name() == load.part;
                let Some(&element) = elements.find(of_part) else {
                    continue;
                };
                for (node, force) in share.nodes.into_iter().zip(share.force) {
                    if let Some(end) = self.end(node, element) {
                        end.loads.push((i, force));
                    }
                }
            }
        }
        for (p, pressure) in assembly.pressures.iter().enumerate() {
            for (f, face) in pressure.faces.iter().enumerate() {
                let [a, b] = face.corners[..] else { continue };
                let Some(&element) = found([a, b]).flatten().next() else {
                    continue;
                };
                for (corner, node) in [a, b].into_iter().enumerate() {
                    if let Some(end) = self.end(node, element) {
                        end.pressed.push((p, f, corner));
                    }
                }
            }
        }
    }

    fn end(&mut self, node: NodeId, (group, element): (usize, usize)) -> Option<&mut End> {
        let ends = self.at.get_mut(&node)?;
        ends.iter_mut()
            .find(|end| end.group == group && end.element == element)
    }

    /// The ends at a node, part by part.
    pub fn at(&self, node: NodeId) -> &[End] {
        self.at.get(&node).map_or(&[], Vec::as_slice)
    }

    /// What an end is called: the node, or where several parts meet there, each by its own number of it; and inside a part, the side
    /// of the node on which the section lies, or the element where they form no line.
    pub fn name(&self, node: NodeId, end: &End, side: bool) -> String {
        let assembly = self.assembly;
        let mine = |other: &&End| other.group == end.group;
        let own: Vec<&End> = self.at(node).iter().filter(mine).collect();
        let part = &assembly.parts[end.group];
        let base = if own.len() == self.at(node).len() {
            assembly.node_name(node).to_owned()
        } else {
            let along = end.element + end.local;
            let number = if part.is_backwards {
                part.len() - along
            } else {
                along
            };
            format!("{}.{number}", part.name())
        };
        if !side {
            return base;
        }
        match (is_inside(&own), (end.local == 0) == part.is_backwards) {
            (true, true) => format!("{base}.start_side"),
            (true, false) => format!("{base}.end_side"),
            (false, _) => format!("{base}.element{}", end.element),
        }
    }

    /// Whether field number `k` of the two ends inside a part is the same on both sides, as far as the balance of the node says.
    pub fn is_continuous(&self, node: NodeId, ends: &[End], k: usize) -> bool {
        let own: Vec<&End> = ends.iter().collect();
        if !is_inside(&own) || self.groups[node.index()] > 1 {
            return false;
        }
        let (assembly, view) = (self.assembly, self.assembly.view(&self.reference, &[]));
        let value = |end: &End, c: usize, size: f64| {
            let part = &assembly.parts[end.group];
            let (mut force, mut values) = ([0.0; WIDTH], vec![0.0; part.field_names().len()]);
            force[c] = if end.local == 0 { -size } else { size };
            part.end_fields(end.element, end.local, view, &force, &mut values);
            values[k]
        };
        (0..assembly.kind(node).velocities()).all(|c| {
            let [a, b] = [0, 1].map(|i| value(own[i], c, 1.0) - value(own[i], c, 0.0));
            let is_acted = self.acted[node.index()] >> c & 1 == 1;
            (a - b).abs() < 1e-9 && (a.abs() < 1e-9 || !is_acted)
        })
    }
}

/// Whether these are the ends of two elements of a line that meet inside it.
fn is_inside(ends: &[&End]) -> bool {
    matches!(ends, [a, b] if a.group == b.group && a.local != b.local)
}

fn pair(a: NodeId, b: NodeId) -> [NodeId; 2] {
    [a.min(b), a.max(b)]
}

/// Velocity components of each node, bit by bit, on which supports, loads, constraints or contacts act.
fn acted(assembly: &Assembly) -> Vec<u8> {
    let mut acted = assembly.loaded.clone();
    for (n, acted) in acted.iter_mut().enumerate() {
        let held = (0..assembly.places.kinds[n].velocities())
            .filter(|&c| assembly.places.free(n, c).is_none());
        *acted |= held.fold(0, |mask, c| mask | 1 << c);
    }
    for motion in &assembly.motions {
        acted[motion.node.index()] |= 1 << motion.component;
    }
    for tie in &assembly.ties {
        for node in tie.nodes {
            acted[node.index()] |= 1 << tie.component;
        }
    }
    for i in 0..assembly.contact_count() {
        if let Some(node) = assembly.contact_node(saltus_system::ContactId(i as u64)) {
            acted[node.index()] |= 0b111 >> (3 - assembly.kind(node).dimension());
        }
    }
    acted
}
