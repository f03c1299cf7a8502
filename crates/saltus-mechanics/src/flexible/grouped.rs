//! Element types as the assembly takes them: with their loops over many elements.

use super::beam_linear::LinearBeam;
use super::beam_plane::PlaneBeam;
use super::beam_space::SpaceBeam;
use super::differentiate::{Differentiated, Energy};
use super::element::Element;
use super::group::{Group, Part};
use super::point::{PointMass, kind};
use super::rayleigh::Rayleigh;
use super::rod::Rod;
use super::solid::{Hexahedron, Quadrilateral, Tetrahedron, Triangle};
use super::spring::{Spring, TorsionSpring};
use std::fmt;

/// Elements of one type with their nodes.
pub struct ElementGroup(pub(super) Box<dyn Part>);

impl fmt::Debug for ElementGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementGroup")
            .field("name", &self.0.name())
            .field("elements", &self.0.len())
            .finish_non_exhaustive()
    }
}

impl ElementGroup {
    /// Elements with the numbers of their nodes, `E::NODES` each; a single element stands for all of them.
    #[must_use]
    pub fn new<E: Element + 'static>(name: String, elements: Vec<E>, nodes: Vec<u32>) -> Self {
        Self(Box::new(Group::new(name, elements, nodes)))
    }
}

/// An element type that a [`Builder`](super::Builder) takes.
///
/// The loops over many elements are compiled where this is implemented for a concrete type, here for all types of this
/// crate, and by no crate that assembles them. A type of one's own says `ElementGroup::new(name, elements, nodes)`.
pub trait Grouped: Element + Sized + 'static {
    /// Elements with the numbers of their nodes, `NODES` each; a single element stands for all of them.
    #[must_use]
    fn group(name: String, elements: Vec<Self>, nodes: Vec<u32>) -> ElementGroup;
}

macro_rules! grouped {
    ($($type:ty),* $(,)?) => {$(
        impl Grouped for $type {
            fn group(name: String, elements: Vec<Self>, nodes: Vec<u32>) -> ElementGroup {
                ElementGroup::new(name, elements, nodes)
            }
        }
    )*};
}

macro_rules! grouped_by_kind {
    ($($kind:ident),*) => {$(
        grouped!(PointMass<kind::$kind>, Spring<kind::$kind, 1>, Spring<kind::$kind, 2>);
    )*};
}

grouped!(Rod, LinearBeam, PlaneBeam, SpaceBeam);
grouped!(Triangle, Quadrilateral, Tetrahedron, Hexahedron);
grouped!(TorsionSpring<1>, TorsionSpring<2>);
grouped_by_kind!(Line, Plane, PlaneFrame, Space, SpaceFrame);

impl<E: Element + 'static> Grouped for Rayleigh<E> {
    fn group(name: String, elements: Vec<Self>, nodes: Vec<u32>) -> ElementGroup {
        ElementGroup::new(name, elements, nodes)
    }
}

impl<E: Energy + 'static> Grouped for Differentiated<E> {
    fn group(name: String, elements: Vec<Self>, nodes: Vec<u32>) -> ElementGroup {
        ElementGroup::new(name, elements, nodes)
    }
}
