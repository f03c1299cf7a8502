//! Elements of one type behind one interface, so that the loops over them are compiled once.

use super::beam_linear::LinearBeam;
use super::beam_plane::PlaneBeam;
use super::beam_space::SpaceBeam;
use super::differentiate::{Differentiated, Energy};
use super::element::{Cell, Element, NodeKind};
use super::point::{PointMass, kind};
use super::rayleigh::Rayleigh;
use super::rod::Rod;
use super::solid::{Hexahedron, Quadrilateral, Tetrahedron, Triangle};
use super::spring::{Spring, TorsionSpring};

/// The methods of [`Element`] for element number `e` of a list.
pub(super) trait Elements: Send + Sync {
    fn len(&self) -> usize;
    fn is_linear(&self, e: usize) -> bool;
    fn is_damped(&self, e: usize) -> bool;
    fn has_velocity_forces(&self, e: usize) -> bool;
    fn mass(&self, e: usize, mass: &mut [f64]);
    fn energy(&self, e: usize, q: &[f64]) -> f64;
    fn force(&self, e: usize, q: &[f64], v: &[f64], force: &mut [f64]);
    fn tangent(&self, e: usize, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]);
    fn damping_force(&self, e: usize, q: &[f64], v: &[f64], force: &mut [f64]);
    fn subtract_line(&self, e: usize, q: &[f64], f: &mut [f64]) -> bool;
    fn line_energy(&self, e: usize, q: &[f64]) -> Option<f64>;
    fn fields(&self, e: usize, q: &[f64], values: &mut [f64]);
    fn end_fields(&self, e: usize, q: &[f64], node: usize, force: &[f64], values: &mut [f64]);
}

impl<E: Element> Elements for Vec<E> {
    fn len(&self) -> usize {
        self.len()
    }

    fn is_linear(&self, e: usize) -> bool {
        self[e].is_linear()
    }

    fn is_damped(&self, e: usize) -> bool {
        self[e].is_damped()
    }

    fn has_velocity_forces(&self, e: usize) -> bool {
        self[e].has_velocity_forces()
    }

    fn mass(&self, e: usize, mass: &mut [f64]) {
        self[e].mass(mass);
    }

    fn energy(&self, e: usize, q: &[f64]) -> f64 {
        self[e].energy(q)
    }

    fn force(&self, e: usize, q: &[f64], v: &[f64], force: &mut [f64]) {
        self[e].force(q, v, force);
    }

    fn tangent(&self, e: usize, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        self[e].tangent(q, v, stiffness, damping);
    }

    fn damping_force(&self, e: usize, q: &[f64], v: &[f64], force: &mut [f64]) {
        self[e].damping_force(q, v, force);
    }

    fn subtract_line(&self, e: usize, q: &[f64], f: &mut [f64]) -> bool {
        self[e].subtract_line(q, f)
    }

    fn line_energy(&self, e: usize, q: &[f64]) -> Option<f64> {
        self[e].line_energy(q)
    }

    fn fields(&self, e: usize, q: &[f64], values: &mut [f64]) {
        self[e].fields(q, values);
    }

    fn end_fields(&self, e: usize, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        self[e].end_fields(q, node, force, values);
    }
}

/// Elements of one type.
#[allow(missing_debug_implementations)] // an element owes no `Debug`
pub struct ElementList {
    pub(super) node: NodeKind,
    /// Nodes of an element.
    pub(super) nodes: usize,
    /// Positions of an element.
    pub(super) nq: usize,
    /// Velocities of an element.
    pub(super) nv: usize,
    pub(super) cell: Cell,
    pub(super) fields: &'static [&'static str],
    pub(super) elements: Box<dyn Elements>,
}

impl ElementList {
    /// The elements of a list.
    #[must_use]
    pub fn new<E: Element + 'static>(elements: Vec<E>) -> Self {
        Self {
            node: E::NODE,
            nodes: E::NODES,
            nq: E::NQ,
            nv: E::NV,
            cell: E::CELL,
            fields: E::FIELDS,
            elements: Box::new(elements),
        }
    }
}

/// An element type that a [`Builder`](super::Builder) takes.
///
/// Its methods are compiled where this is implemented for a concrete type, here for all types of this crate, and by no crate
/// that assembles them. A type of one's own says `ElementList::new(elements)`.
pub trait Listed: Element + Sized + 'static {
    /// The elements of a list.
    #[must_use]
    fn list(elements: Vec<Self>) -> ElementList;
}

macro_rules! listed {
    ($type:ty $(, for [$($parameters:tt)*])?) => {
        impl$(<$($parameters)*>)? Listed for $type {
            fn list(elements: Vec<Self>) -> ElementList {
                ElementList::new(elements)
            }
        }
    };
}

macro_rules! listed_by_kind {
    ($($kind:ident),*) => {$(
        listed!(PointMass<kind::$kind>);
        listed!(Spring<kind::$kind, 1>);
        listed!(Spring<kind::$kind, 2>);
    )*};
}

listed!(Rod);
listed!(LinearBeam);
listed!(PlaneBeam);
listed!(SpaceBeam);
listed!(Triangle);
listed!(Quadrilateral);
listed!(Tetrahedron);
listed!(Hexahedron);
listed!(TorsionSpring<1>);
listed!(TorsionSpring<2>);
listed_by_kind!(Line, Plane, PlaneFrame, Space, SpaceFrame);
listed!(Rayleigh<E>, for [E: Element + 'static]);
listed!(Differentiated<E>, for [E: Energy + 'static]);
