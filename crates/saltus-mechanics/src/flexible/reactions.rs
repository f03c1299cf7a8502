//! Forces of supports: what holds the held coordinates of nodes.

use super::assembly::Assembly;
use super::builder::NodeId;
use super::element::NodeKind;
use std::collections::HashMap;

/// Components of a node at most.
const MOST: usize = 6;

/// The force that holds some nodes, component by component, as the sum over the nodes.
///
/// It balances what the elements around the nodes exert, with the inertia of their masses, less the loads and the weight there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportForce {
    components: Vec<usize>,
    /// Group, element, and number of the node in it, with the components that are held there.
    around: Vec<(usize, usize, usize, u8)>,
    /// Loads on held coordinates, by their number.
    loads: Vec<usize>,
    /// Pressure, face and number of the corner in it, with the components that are held there.
    pressed: Vec<(usize, usize, usize, u8)>,
}

impl SupportForce {
    /// What holds the held ones of `components` of each of `lists` of nodes.
    #[must_use]
    pub fn at(assembly: &Assembly, lists: &[(Vec<NodeId>, Vec<usize>)]) -> Vec<Self> {
        let mut forces: Vec<Self> = Vec::new();
        let mut place: HashMap<NodeId, Vec<(usize, u8)>> = HashMap::new();
        for (k, (nodes, components)) in lists.iter().enumerate() {
            forces.push(Self {
                components: components.clone(),
                around: Vec::new(),
                loads: Vec::new(),
                pressed: Vec::new(),
            });
            for &node in nodes {
                let count = assembly.kind(node).velocities();
                let held = components.iter().filter(|&&c| c < count);
                let held = held.filter(|&&c| assembly.velocity_place(node, c).is_none());
                let mask = held.fold(0, |mask, c| mask | 1 << c);
                place.entry(node).or_default().push((k, mask));
            }
        }
        for (g, group) in assembly.groups().iter().enumerate() {
            for e in 0..group.len() {
                for (local, node) in group.nodes(e).enumerate() {
                    for &(k, mask) in place.get(&node).into_iter().flatten() {
                        forces[k].around.push((g, e, local, mask));
                    }
                }
            }
        }
        for (i, load) in assembly.on_held.iter().enumerate() {
            for &(k, _) in place.get(&load.node).into_iter().flatten() {
                forces[k].loads.push(i);
            }
        }
        for (p, pressure) in assembly.pressures.iter().enumerate() {
            for (f, face) in pressure.faces.iter().enumerate() {
                for (local, node) in face.corners.iter().enumerate() {
                    for &(k, mask) in place.get(node).into_iter().flatten() {
                        forces[k].pressed.push((p, f, local, mask));
                    }
                }
            }
        }
        forces
    }

    /// The components, of the velocities of the nodes.
    #[must_use]
    pub fn components(&self) -> &[usize] {
        &self.components
    }

    /// The force \[N\] or moment \[N·m\] of each component at the time, positions, velocities and accelerations given; moments of
    /// nodes in space are in the axes of their triads.
    pub fn values(
        &self,
        assembly: &Assembly,
        (t, q, v): (f64, &[f64], &[f64]),
        acceleration: &[f64],
        values: &mut [f64],
    ) {
        let mut sum = [0.0; MOST];
        let (view, rates) = (assembly.view(q, v), assembly.view(&[], acceleration));
        for &(g, e, local, mask) in &self.around {
            let mut own = [0.0; MOST];
            assembly.parts[g].bear(e, local, view, rates, &assembly.gravity, &mut own);
            for c in (0..MOST).filter(|c| mask >> c & 1 == 1) {
                sum[c] += own[c];
            }
        }
        for &i in &self.loads {
            let load = &assembly.on_held[i];
            for (c, sum) in sum.iter_mut().enumerate() {
                *sum -= load.on(c, t, &assembly.places, view);
            }
        }
        for &(p, f, local, mask) in &self.pressed {
            let pressure = &assembly.pressures[p];
            let size = pressure.amplitude.value(t);
            let unit = pressure.faces[f].unit_force(local, &assembly.places, view);
            for c in (0..3).filter(|c| mask >> c & 1 == 1) {
                sum[c] -= size * unit[c];
            }
        }
        for (value, &c) in values.iter_mut().zip(&self.components) {
            *value = sum[c];
        }
    }

    /// Names and units of the components of a node of that kind, such as `x` and `N`.
    #[must_use]
    pub fn names(kind: NodeKind) -> Vec<(&'static str, &'static str)> {
        match kind {
            NodeKind::Line => vec![("x", "N")],
            NodeKind::Plane => vec![("x", "N"), ("y", "N")],
            NodeKind::PlaneFrame => vec![("x", "N"), ("y", "N"), ("moment", "N·m")],
            NodeKind::Space => vec![("x", "N"), ("y", "N"), ("z", "N")],
            NodeKind::SpaceFrame => vec![
                ("x", "N"),
                ("y", "N"),
                ("z", "N"),
                ("moment1", "N·m"),
                ("moment2", "N·m"),
                ("moment3", "N·m"),
            ],
        }
    }
}
