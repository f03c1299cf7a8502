//! What a flexible assembly is made of: nodes, elements, supports, loads, constraints, contacts.

use super::assembly::Assembly;
use super::contacts::{ContactPair, Geometry};
use super::element::NodeKind;
use super::element_list::Listed;
use super::group::Group;
use super::loads::{LineLoad, Load, LoadKind};
use super::places::Places;
use super::pressure::Pressure;
use super::surfaces::{SurfaceContact, Touching};
use crate::gap::GapError;
use crate::signal::Signal;
use saltus_system::ContactLaw;
use std::fmt;

/// Names a node of a [`Builder`] and of the [`Assembly`] it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Its number, from 0.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is wrong with an assembly.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AssemblyError {
    /// A node of the wrong kind.
    #[error(
        "{what} wants nodes of the kind {expected:?}, but node {node} (\"{name}\") is {found:?}"
    )]
    Kind {
        /// What refers to the node.
        what: String,
        /// The node.
        node: u32,
        /// Its name.
        name: String,
        /// Kind that is wanted.
        expected: NodeKind,
        /// Kind of the node.
        found: NodeKind,
    },
    /// A number that does not fit.
    #[error("{what} is {value}, expected {expected}")]
    Value {
        /// What it is.
        what: String,
        /// The value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A list of the wrong length.
    #[error("{what} has {found} entries, expected {expected}")]
    Length {
        /// What it is.
        what: String,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
    /// A part of a triad is held, the rest is free.
    #[error(
        "node {node} (\"{name}\") holds a part of its rotation; hold all three rotations or none, \
         a rotation about single axes is a matter of constraints"
    )]
    PartOfRotation {
        /// The node.
        node: u32,
        /// Its name.
        name: String,
    },
    /// A coordinate without inertia and without a support.
    #[error("node {node} (\"{name}\") belongs to no element; connect it, or hold it")]
    Loose {
        /// The node.
        node: u32,
        /// Its name.
        name: String,
    },
    /// A surface that nothing can touch.
    #[error("the surface of contact \"{name}\": {error}")]
    Surface {
        /// The contact.
        name: String,
        /// What is wrong with it.
        error: GapError,
    },
    /// A node over a surface that it belongs to.
    #[error(
        "contact \"{name}\": node {node} is a corner of the surface that it should touch; a body does not touch itself, \
         choose nodes of another"
    )]
    OwnSurface {
        /// The contact.
        name: String,
        /// The node.
        node: u32,
    },
    /// Nothing can move.
    #[error("no coordinate is free; release a node")]
    NothingMoves,
    /// Something refers to a coordinate that is held.
    #[error(
        "{what} acts on component {component} of node {node} (\"{name}\"), which is held; release it"
    )]
    Held {
        /// What refers to it.
        what: String,
        /// The component.
        component: usize,
        /// The node.
        node: u32,
        /// Its name.
        name: String,
    },
}

/// Collects the parts of an assembly.
#[derive(Default)]
pub struct Builder {
    kinds: Vec<NodeKind>,
    names: Vec<String>,
    start: Vec<usize>,
    reference: Vec<f64>,
    held: Vec<u8>,
    parts: Vec<Group>,
    gravity: [f64; 3],
    loads: Vec<Load>,
    line_loads: Vec<LineLoad>,
    loaded: Vec<u8>,
    pressures: Vec<Pressure>,
    pub(super) motions: Vec<Motion>,
    pub(super) ties: Vec<Tie>,
    contacts: Vec<ContactPair>,
    surfaces: Vec<(String, SurfaceContact)>,
    massive: Vec<bool>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("nodes", &self.kinds.len())
            .field("groups", &self.parts.len())
            .field("contacts", &(self.contacts.len() + self.surfaces.len()))
            .finish_non_exhaustive()
    }
}

/// A component of a node that follows a function of time.
#[derive(Debug)]
pub(super) struct Motion {
    pub name: String,
    pub node: NodeId,
    pub component: usize,
    pub position: Box<dyn Signal>,
}

/// One component of two nodes that stays equal.
#[derive(Debug)]
pub(super) struct Tie {
    pub name: String,
    pub nodes: [NodeId; 2],
    pub component: usize,
    /// Value of the second minus the first.
    pub offset: f64,
}

impl Builder {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node at its stress-free position (as many numbers as `kind` has positions).
    ///
    /// # Errors
    /// [`AssemblyError`] where `position` has the wrong length or is not finite.
    pub fn node(
        &mut self,
        kind: NodeKind,
        name: impl Into<String>,
        position: &[f64],
    ) -> Result<NodeId, AssemblyError> {
        let name = name.into();
        if position.len() != kind.positions() {
            return Err(AssemblyError::Length {
                what: format!("the position of node \"{name}\""),
                found: position.len(),
                expected: kind.positions(),
            });
        }
        if let Some(&value) = position.iter().find(|x| !x.is_finite()) {
            return Err(AssemblyError::Value {
                what: format!("a coordinate of node \"{name}\""),
                value,
                expected: "a finite number",
            });
        }
        let id = NodeId(self.kinds.len() as u32);
        self.kinds.push(kind);
        self.names.push(name);
        self.start.push(self.reference.len());
        self.reference.extend_from_slice(position);
        self.held.push(0);
        self.loaded.push(0);
        self.massive.push(false);
        Ok(id)
    }

    /// Kinds of all nodes so far.
    pub fn kinds(&self) -> impl Iterator<Item = NodeKind> + '_ {
        self.kinds.iter().copied()
    }

    /// Kind of a node.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.kinds[node.index()]
    }

    /// Name of a node.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// Stress-free position of a node.
    #[must_use]
    pub fn position(&self, node: NodeId) -> &[f64] {
        let start = self.start[node.index()];
        &self.reference[start..start + self.kind(node).positions()]
    }

    /// Adds elements of one type with their nodes, `E::NODES` each; a single element stands for all of them.
    ///
    /// # Errors
    /// [`AssemblyError`] where a node has the wrong kind or the numbers do not match.
    pub fn elements<E: Listed>(
        &mut self,
        name: impl Into<String>,
        elements: Vec<E>,
        nodes: &[NodeId],
    ) -> Result<(), AssemblyError> {
        let name = name.into();
        let count = nodes.len() / E::NODES;
        if !nodes.len().is_multiple_of(E::NODES) || (elements.len() != 1 && elements.len() != count)
        {
            return Err(AssemblyError::Length {
                what: format!("the list of nodes of \"{name}\""),
                found: nodes.len(),
                expected: elements.len() * E::NODES,
            });
        }
        for &node in nodes {
            self.expect(E::NODE, node, || format!("an element of \"{name}\""))?;
            self.massive[node.index()] = true;
        }
        let nodes = nodes.iter().map(|n| n.0).collect();
        self.parts.push(Group::new(name, E::list(elements), nodes));
        Ok(())
    }

    fn expect(
        &self,
        expected: NodeKind,
        node: NodeId,
        what: impl Fn() -> String,
    ) -> Result<(), AssemblyError> {
        let found = self.kind(node);
        if found == expected {
            return Ok(());
        }
        Err(AssemblyError::Kind {
            what: what(),
            node: node.0,
            name: self.name(node).to_owned(),
            expected,
            found,
        })
    }

    fn component(&self, what: &str, node: NodeId, component: usize) -> Result<(), AssemblyError> {
        if component < self.kind(node).velocities() {
            return Ok(());
        }
        Err(AssemblyError::Value {
            what: format!("the component of {what} at node \"{}\"", self.name(node)),
            value: component as f64,
            expected: "the number of a velocity of that node, from 0",
        })
    }

    /// Holds velocity component `component` of a node at its reference position.
    ///
    /// # Errors
    /// [`AssemblyError`] where the node has no such component.
    pub fn hold(&mut self, node: NodeId, component: usize) -> Result<(), AssemblyError> {
        self.component("a support", node, component)?;
        self.held[node.index()] |= 1 << component;
        Ok(())
    }

    /// Whether velocity component `component` of a node is held so far.
    #[must_use]
    pub fn is_held(&self, node: NodeId, component: usize) -> bool {
        self.held[node.index()] >> component & 1 == 1
    }

    /// Holds all coordinates of a node.
    pub fn clamp(&mut self, node: NodeId) {
        self.held[node.index()] = (1_u16 << self.kind(node).velocities()).wrapping_sub(1) as u8;
    }

    /// Acceleration of gravity [m/s²] on every translational coordinate.
    pub fn gravity(&mut self, acceleration: [f64; 3]) {
        self.gravity = acceleration;
    }

    /// Adds a load.
    pub fn load(&mut self, load: Load) {
        self.loaded[load.node.index()] |= match load.kind {
            LoadKind::Component(c) => 1 << c,
            LoadKind::SpatialMoment(_) => 0b11_1000,
        };
        self.loads.push(load);
    }

    /// Adds what a node bears of loads along elements, each of which is to be told by [`line_load`](Self::line_load).
    pub fn load_share(&mut self, load: Load) {
        self.loads.push(load);
    }

    /// Tells of a load along elements.
    pub fn line_load(&mut self, load: LineLoad) {
        self.line_loads.push(load);
    }

    /// Says that the elements of the last part run from its end to its start.
    pub fn is_backwards(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.is_backwards = true;
        }
    }

    /// Adds a pressure that follows the faces it acts on.
    ///
    /// # Errors
    /// [`AssemblyError`] where a face has neither two corners in the plane nor three or four in space.
    pub fn pressure(&mut self, pressure: Pressure) -> Result<(), AssemblyError> {
        for face in &pressure.faces {
            let dimension = match face.corners.len() {
                2 => 2,
                3 | 4 => 3,
                found => {
                    return Err(AssemblyError::Length {
                        what: "the list of corners of a face under pressure".to_owned(),
                        found,
                        expected: 4,
                    });
                }
            };
            for &node in &face.corners {
                if self.kind(node).dimension() != dimension {
                    let expected = if dimension == 2 {
                        NodeKind::Plane
                    } else {
                        NodeKind::Space
                    };
                    self.expect(expected, node, || "a face under pressure".to_owned())?;
                }
            }
        }
        self.pressures.push(pressure);
        Ok(())
    }

    /// Makes a translational component (or a plane angle) follow a function of time.
    ///
    /// # Errors
    /// [`AssemblyError`] where the node has no such component.
    pub fn prescribe(
        &mut self,
        name: impl Into<String>,
        node: NodeId,
        component: usize,
        position: Box<dyn Signal>,
    ) -> Result<(), AssemblyError> {
        let name = name.into();
        self.component(&format!("the motion \"{name}\""), node, component)?;
        if self.kind(node) == NodeKind::SpaceFrame && component >= 3 {
            return Err(AssemblyError::Value {
                what: format!("the component of the motion \"{name}\""),
                value: component as f64,
                expected: "a translation: 0, 1 or 2",
            });
        }
        self.motions.push(Motion {
            name,
            node,
            component,
            position,
        });
        Ok(())
    }

    /// Keeps the distance between two nodes along one translational component (or plane angle).
    ///
    /// # Errors
    /// [`AssemblyError`] where a node has no such component.
    pub fn tie(
        &mut self,
        name: impl Into<String>,
        nodes: [NodeId; 2],
        component: usize,
    ) -> Result<(), AssemblyError> {
        let name = name.into();
        for node in nodes {
            self.component(&format!("the tie \"{name}\""), node, component)?;
        }
        let offset = self.position(nodes[1])[component] - self.position(nodes[0])[component];
        self.ties.push(Tie {
            name,
            nodes,
            component,
            offset,
        });
        Ok(())
    }

    /// Adds a unilateral contact.
    pub fn contact(&mut self, name: impl Into<String>, geometry: Geometry, law: ContactLaw) {
        self.contacts.push(ContactPair {
            name: name.into(),
            geometry,
            law,
        });
    }

    /// Adds contacts of nodes with the faces of other bodies; they are called `NAME.K` from 0.
    pub fn surface(&mut self, name: impl Into<String>, contact: SurfaceContact) {
        self.surfaces.push((name.into(), contact));
    }

    /// Puts everything together.
    ///
    /// # Errors
    /// [`AssemblyError`] where parts do not fit.
    pub fn build(self) -> Result<Assembly, AssemblyError> {
        self.supports()?;
        for motion in &self.motions {
            self.is_free(
                &format!("the motion \"{}\"", motion.name),
                motion.node,
                motion.component,
            )?;
        }
        for pair in &self.contacts {
            pair.geometry.check(&pair.name, &self.kinds)?;
        }
        let places = Places::number(
            &self.kinds,
            |n| &self.reference[self.start[n]..self.start[n] + self.kinds[n].positions()],
            &self.held,
        );
        if places.nv == 0 {
            return Err(AssemblyError::NothingMoves);
        }
        let position = |n: NodeId| {
            let start = self.start[n.index()];
            &self.reference[start..start + self.kinds[n.index()].positions()]
        };
        let mut touching = Vec::with_capacity(self.surfaces.len());
        for (name, contact) in self.surfaces {
            touching.push(Touching::new(name, contact, &self.kinds, position)?);
        }
        Ok(Assembly::assemble(Ingredients {
            places,
            touching,
            names: self.names,
            reference: self.reference,
            start: self.start,
            parts: self.parts,
            gravity: self.gravity,
            loads: self.loads,
            line_loads: self.line_loads,
            loaded: self.loaded,
            pressures: self.pressures,
            motions: self.motions,
            ties: self.ties,
            contacts: self.contacts,
        }))
    }

    fn supports(&self) -> Result<(), AssemblyError> {
        for n in 0..self.kinds.len() {
            let (node, name) = (n as u32, || self.names[n].clone());
            if self.kinds[n] == NodeKind::SpaceFrame {
                let rotation = self.held[n] >> 3 & 0b111;
                if rotation != 0 && rotation != 0b111 {
                    return Err(AssemblyError::PartOfRotation { node, name: name() });
                }
            }
            let all = (1_u16 << self.kinds[n].velocities()) - 1;
            if !self.massive[n] && u16::from(self.held[n]) != all {
                return Err(AssemblyError::Loose { node, name: name() });
            }
        }
        Ok(())
    }

    fn is_free(&self, what: &str, node: NodeId, component: usize) -> Result<(), AssemblyError> {
        if !self.is_held(node, component) {
            return Ok(());
        }
        Err(AssemblyError::Held {
            what: what.to_owned(),
            component,
            node: node.0,
            name: self.name(node).to_owned(),
        })
    }
}

/// What a builder hands over.
pub(super) struct Ingredients {
    pub places: Places,
    pub names: Vec<String>,
    pub reference: Vec<f64>,
    pub start: Vec<usize>,
    pub parts: Vec<Group>,
    pub gravity: [f64; 3],
    pub loads: Vec<Load>,
    pub line_loads: Vec<LineLoad>,
    pub loaded: Vec<u8>,
    pub pressures: Vec<Pressure>,
    pub motions: Vec<Motion>,
    pub ties: Vec<Tie>,
    pub contacts: Vec<ContactPair>,
    pub touching: Vec<Touching>,
}
