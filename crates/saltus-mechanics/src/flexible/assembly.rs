//! Nodes and elements put together: a system with a constant mass.
//!
//! Held coordinates are no unknowns. Free ones are numbered node by node.

use super::builder::{Ingredients, Motion, NodeId, Tie};
use super::contacts::ContactPair;
use super::element::{Cell, NodeKind};
use super::group::{Group, View};
use super::loads::{LineLoad, Load};
use super::places::{HELD, Places};
use super::pressure::Pressure;
use super::surfaces::Touching;
use crate::rotation;
use saltus_linear::{MatrixSink, axpy, dot};

use saltus_system::{
    Dims, Dynamics, DynamicsParts, ForceKind, Kinematics, MassKind, Names, Point, State,
    StreamedDynamics, Structure, System,
};
use std::fmt;

/// Flexible bodies, their supports, loads, constraints and contacts, as a [`System`].
pub struct Assembly {
    pub(super) places: Places,
    names: Vec<String>,
    reference: Vec<f64>,
    start: Vec<usize>,
    pub(super) parts: Vec<Group>,
    /// Gravity and constant loads with a potential (nv).
    pub(super) weight: Vec<f64>,
    is_weightless: bool,
    /// Position that each velocity moves, for the potential of `weight` (nv); unused where `weight` is 0.
    moved: Vec<u32>,
    /// Acceleration of gravity.
    pub(super) gravity: [f64; 3],
    /// Loads on coordinates that are held.
    pub(super) on_held: Vec<Load>,
    /// Loads without a potential.
    pub(super) loads: Vec<Load>,
    /// Loads along elements.
    pub(super) line_loads: Vec<LineLoad>,
    /// Velocity components of each node on which a load of its own acts.
    pub(super) loaded: Vec<u8>,
    /// Loads that follow the faces they act on.
    pub(super) pressures: Vec<Pressure>,
    pub(super) motions: Vec<Motion>,
    pub(super) ties: Vec<Tie>,
    pub(super) contacts: Vec<ContactPair>,
    pub(super) touching: Vec<Touching>,
    /// Place of the quaternion in `q` and of the rotation in `v` of each free triad.
    triads: Vec<(u32, u32)>,
    structure: Structure,
    /// How far a row reaches, where the elements are in the order of their rows.
    pub(super) reach: Option<usize>,
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("dims", &self.dims())
            .field(
                "groups",
                &self.parts.iter().map(|p| p.name()).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

impl Assembly {
    pub(super) fn assemble(from: Ingredients) -> Self {
        let Ingredients {
            places,
            names,
            reference,
            start,
            mut parts,
            gravity,
            loads,
            line_loads,
            loaded,
            pressures,
            motions,
            ties,
            contacts,
            touching,
        } = from;
        for part in &mut parts {
            part.place(&places);
        }
        let mut weight = vec![0.0; places.nv];
        if gravity != [0.0; 3] {
            for part in &parts {
                part.body_force(&gravity, &mut weight);
            }
        }
        let nothing = View {
            q: &[],
            v: &[],
            held: &[],
        };
        let (constant, loads): (Vec<Load>, Vec<Load>) = loads
            .into_iter()
            .partition(|load| load.is_potential(&places));
        for load in &constant {
            load.add(0.0, &places, nothing, &mut weight);
        }
        let constant = constant.into_iter().filter(|load| load.is_on_held(&places));
        let mut moved = vec![HELD; places.nv];
        let mut triads = Vec::new();
        for (n, kind) in places.kinds.iter().enumerate() {
            let (positions, velocities) = (places.positions(n), places.velocities(n));
            let translations = if *kind == NodeKind::SpaceFrame {
                if velocities[3] != HELD {
                    triads.push((positions[3], velocities[3]));
                }
                3
            } else {
                kind.velocities()
            };
            for c in 0..translations {
                if velocities[c] != HELD {
                    moved[velocities[c] as usize] = positions[c];
                }
            }
        }
        let (mut on_held, loads): (Vec<Load>, Vec<Load>) =
            loads.into_iter().partition(|load| load.is_on_held(&places));
        on_held.extend(constant);
        let linear = parts.iter().all(|part| part.is_linear());
        let turning = !pressures.is_empty() || loads.iter().any(|load| !load.is_affine());
        let structure = Structure {
            mass: MassKind::Constant,
            force: if linear && !turning {
                ForceKind::Affine
            } else {
                ForceKind::General
            },
            linear_constraints: true,
            linear_contacts: touching.is_empty(),
        };
        let alike = moved.iter().enumerate().all(|(i, &p)| p as usize == i);
        let reach = (parts.iter().map(|part| part.reach()))
            .try_fold(0, |most, reach| reach.map(|reach| reach.max(most)))
            .filter(|_| alike && triads.is_empty() && !turning && places.nq == places.nv);
        Self {
            places,
            names,
            reference,
            start,
            parts,
            is_weightless: weight.iter().all(|w| *w == 0.0),
            weight,
            moved,
            gravity,
            on_held,
            loads,
            line_loads,
            loaded,
            pressures,
            motions,
            ties,
            contacts,
            touching,
            triads,
            structure,
            reach,
        }
    }

    #[inline]
    pub(super) fn view<'a>(&'a self, q: &'a [f64], v: &'a [f64]) -> View<'a> {
        View {
            q,
            v,
            held: &self.places.held,
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.places.kinds.len()
    }

    /// Kind of a node.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.places.kinds[node.index()]
    }

    /// Name of a node.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// Stress-free position of a node.
    #[must_use]
    pub fn reference_position(&self, node: NodeId) -> &[f64] {
        let start = self.start[node.index()];
        &self.reference[start..start + self.kind(node).positions()]
    }

    /// Component `component` of the position of a node, free or held.
    #[must_use]
    pub fn position(&self, q: &[f64], node: NodeId, component: usize) -> f64 {
        self.view(q, &[])
            .position(self.places.positions(node.index())[component])
    }

    /// Component `component` of the velocity of a node; 0 where it is held.
    #[must_use]
    pub fn velocity(&self, v: &[f64], node: NodeId, component: usize) -> f64 {
        self.view(&[], v)
            .velocity(self.places.velocities(node.index())[component])
    }

    /// Place in `q` of a position component, where it is free.
    #[must_use]
    pub fn position_place(&self, node: NodeId, component: usize) -> Option<usize> {
        let place = self.places.positions(node.index())[component] as usize;
        (place < self.places.nq).then_some(place)
    }

    /// Place in `v` of a velocity component, where it is free.
    #[must_use]
    pub fn velocity_place(&self, node: NodeId, component: usize) -> Option<usize> {
        self.places.free(node.index(), component)
    }

    /// The stress-free state at rest, at time `t` \[s\].
    #[must_use]
    pub fn reference_state(&self, t: f64) -> State {
        let mut q = vec![0.0; self.places.nq];
        for n in 0..self.places.kinds.len() {
            let reference = self.reference_position(NodeId(n as u32));
            for (&place, &x) in self.places.positions(n).iter().zip(reference) {
                if let Some(q) = q.get_mut(place as usize) {
                    *q = x;
                }
            }
        }
        State::new(t, q, vec![0.0; self.places.nv])
    }

    /// Velocity coordinates that are rotations \[rad/s\], in increasing order.
    #[must_use]
    pub fn rotations(&self) -> Vec<usize> {
        let per_node = |n: usize| match self.places.kinds[n] {
            NodeKind::PlaneFrame => 2..3,
            NodeKind::SpaceFrame => 3..6,
            NodeKind::Line | NodeKind::Plane | NodeKind::Space => 0..0,
        };
        (0..self.node_count())
            .flat_map(|n| per_node(n).filter_map(move |c| self.places.free(n, c)))
            .collect()
    }

    /// The groups of elements, in the order they were added.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupView<'_>> {
        self.parts
            .iter()
            .map(|part| GroupView {
                assembly: self,
                part,
            })
            .collect()
    }

    /// Group number `g`, if there is one.
    #[must_use]
    pub fn group(&self, g: usize) -> Option<GroupView<'_>> {
        let part = self.parts.get(g)?;
        Some(GroupView {
            assembly: self,
            part,
        })
    }

    fn loads(&self, t: f64, view: View<'_>, f: &mut [f64]) {
        for load in &self.loads {
            load.add(t, &self.places, view, f);
        }
        for pressure in &self.pressures {
            pressure.add(t, &self.places, view, f);
        }
    }

    fn load_stiffness(&self, t: f64, view: View<'_>, stiffness: &mut dyn MatrixSink) {
        for load in &self.loads {
            load.stiffness(t, &self.places, view, stiffness);
        }
        for pressure in &self.pressures {
            pressure.stiffness(t, &self.places, view, stiffness);
        }
    }
}

/// Elements of one type, for results.
#[derive(Clone, Copy)]
pub struct GroupView<'a> {
    assembly: &'a Assembly,
    part: &'a Group,
}

impl fmt::Debug for GroupView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GroupView").field(&self.part.name()).finish()
    }
}

impl GroupView<'_> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.part.name()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.part.len()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.part.len() == 0
    }

    /// Shape of its elements.
    #[must_use]
    pub fn cell(&self) -> Cell {
        self.part.cell()
    }

    /// Nodes of element `e`.
    pub fn nodes(&self, e: usize) -> impl Iterator<Item = NodeId> + '_ {
        self.part.nodes(e).iter().map(|&n| NodeId(n))
    }

    /// Names of the resultants or stresses of its elements.
    #[must_use]
    pub fn field_names(&self) -> &'static [&'static str] {
        self.part.field_names()
    }

    /// Resultants or stresses at the centres, element by element, appended to `values`.
    pub fn fields(&self, q: &[f64], values: &mut Vec<f64>) {
        self.part.fields(self.assembly.view(q, &[]), values);
    }

    /// Resultants or stresses at the centre of element `e`, one value per name.
    pub fn field(&self, q: &[f64], e: usize, values: &mut [f64]) {
        self.part.field(e, self.assembly.view(q, &[]), values);
    }

    /// Mass \[kg\].
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.part.total_mass()
    }

    /// Strain energy of the group \[J\].
    #[must_use]
    pub fn strain_energy(&self, q: &[f64]) -> f64 {
        self.part.strain_energy(self.assembly.view(q, &[]))
    }
}

impl Kinematics for Assembly {
    fn dims(&self) -> Dims {
        Dims {
            nq: self.places.nq,
            nv: self.places.nv,
            ng: self.motions.len() + self.ties.len(),
        }
    }

    fn is_flat(&self) -> bool {
        self.triads.is_empty()
    }

    fn qdot(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        for (&place, &v) in self.moved.iter().zip(v) {
            if place != HELD {
                qdot[place as usize] = v;
            }
        }
        for &(p, w) in &self.triads {
            let (p, w) = (p as usize, w as usize);
            let spin = [0.0, 0.5 * v[w], 0.5 * v[w + 1], 0.5 * v[w + 2]];
            qdot[p..p + 4].copy_from_slice(&rotation::compose(&quaternion(q, p), &spin));
        }
    }

    fn retract(&self, q: &mut [f64], xi: &[f64]) {
        if self.triads.is_empty() {
            axpy(1.0, xi, q);
            return;
        }
        for (&place, &x) in self.moved.iter().zip(xi) {
            if place != HELD {
                q[place as usize] += x;
            }
        }
        for &(p, w) in &self.triads {
            let (p, w) = (p as usize, w as usize);
            let turned = rotation::compose(
                &quaternion(q, p),
                &rotation::exp(&[xi[w], xi[w + 1], xi[w + 2]]),
            );
            // Round-off of many steps must not add up to a stretch.
            let length = dot(&turned, &turned).sqrt();
            q[p..p + 4].copy_from_slice(&turned.map(|x| x / length));
        }
    }

    fn retract_tangent(&self, _: &[f64], xi: &[f64], tangent: &mut dyn MatrixSink) {
        for (i, &place) in self.moved.iter().enumerate() {
            if place != HELD {
                tangent.entry(i, i, 1.0);
            }
        }
        for &(_, w) in &self.triads {
            let w = w as usize;
            let block = rotation::right_jacobian(&[xi[w], xi[w + 1], xi[w + 2]]);
            tangent.add(w, w, 3, 3, block.as_flattened());
        }
    }

    fn quaternion_defect(&self, q: &[f64]) -> Option<f64> {
        self.triads
            .iter()
            .map(|&(p, _)| {
                let p = quaternion(q, p as usize);
                (dot(&p, &p).sqrt() - 1.0).abs()
            })
            .reduce(f64::max)
    }
}

fn quaternion(q: &[f64], place: usize) -> [f64; 4] {
    [q[place], q[place + 1], q[place + 2], q[place + 3]]
}

impl Dynamics for Assembly {
    fn structure(&self) -> Structure {
        self.structure
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        for part in &self.parts {
            part.mass(mass);
        }
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let view = self.view(at.q, at.v);
        if self.is_weightless {
            force.fill(0.0);
        } else {
            force.copy_from_slice(&self.weight);
        }
        for part in &self.parts {
            part.subtract_force(view, force);
        }
        self.loads(at.t, view, force);
    }

    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        let view = self.view(at.q, at.v);
        for part in &self.parts {
            part.stiffness(view, stiffness);
        }
        self.load_stiffness(at.t, view, stiffness);
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        let view = self.view(at.q, at.v);
        for part in &self.parts {
            part.damping(view, damping);
        }
    }

    fn evaluate(&self, at: Point<'_>, parts: DynamicsParts<'_>) {
        self.mass(at.q, parts.mass);
        self.force(at, parts.force);
        if let Some(tangents) = parts.tangents {
            let view = self.view(at.q, at.v);
            for part in &self.parts {
                part.tangents(view, tangents.stiffness, tangents.damping);
            }
            self.load_stiffness(at.t, view, tangents.stiffness);
        }
    }

    fn kinetic_energy(&self, _: &[f64], v: &[f64]) -> f64 {
        self.parts.iter().map(|part| part.kinetic_energy(v)).sum()
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        let view = self.view(q, &[]);
        let strain: f64 = self.parts.iter().map(|part| part.strain_energy(view)).sum();
        if self.is_weightless {
            return strain;
        }
        let lifted: f64 = self
            .weight
            .iter()
            .zip(&self.moved)
            .filter(|(weight, _)| **weight != 0.0)
            .map(|(weight, &place)| weight * q[place as usize])
            .sum();
        strain - lifted
    }

    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
        let view = self.view(at.q, at.v);
        for part in &self.parts {
            part.subtract_damping(view, active);
        }
        self.loads(at.t, view, active);
    }

    fn streamed(&self) -> Option<&dyn StreamedDynamics> {
        self.reach.map(|_| self as &dyn StreamedDynamics)
    }

    fn is_conservative(&self) -> bool {
        self.loads.is_empty()
            && self.pressures.is_empty()
            && !self.parts.iter().any(|part| part.is_damped())
    }
}

impl System for Assembly {
    fn names(&self) -> Names {
        let mut names = Names {
            positions: vec![String::new(); self.places.nq],
            velocities: vec![String::new(); self.places.nv],
            bilateral: Vec::new(),
            contacts: self.contact_names(),
            ..Names::default()
        };
        for (n, kind) in self.places.kinds.iter().enumerate() {
            let (positions, velocities) = component_names(*kind);
            for (&place, component) in self.places.positions(n).iter().zip(positions) {
                if let Some(name) = names.positions.get_mut(place as usize) {
                    *name = format!("{}.{component}", self.names[n]);
                }
            }
            for (&place, component) in self.places.velocities(n).iter().zip(velocities) {
                if let Some(name) = names.velocities.get_mut(place as usize) {
                    *name = format!("{}.{component}", self.names[n]);
                }
            }
        }
        let motions = self.motions.iter().map(|m| &m.name);
        let ties = self.ties.iter().map(|t| &t.name);
        names.bilateral = motions.chain(ties).cloned().collect();
        names
    }
}

/// What the components of a node are called: positions, then velocities.
#[must_use]
pub fn component_names(kind: NodeKind) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        NodeKind::Line => (&["x"], &["x"]),
        NodeKind::Plane => (&["x", "y"], &["x", "y"]),
        NodeKind::PlaneFrame => (&["x", "y", "angle"], &["x", "y", "angle"]),
        NodeKind::Space => (&["x", "y", "z"], &["x", "y", "z"]),
        NodeKind::SpaceFrame => (
            &["x", "y", "z", "p0", "p1", "p2", "p3"],
            &["x", "y", "z", "spin1", "spin2", "spin3"],
        ),
    }
}
