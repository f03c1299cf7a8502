//! Rayleigh damping for any element.

use super::element::{Cell, Element, NodeKind};
use super::options::{Damping, ElementError, add_product, add_scaled, finite};

/// An element with the constant damping matrix `α M + β K₀`, `K₀` its tangent at a stress-free reference.
///
/// Not objective: `β K₀` resists rigid rotations once the body has left its reference orientation, `α M` resists
/// rigid motion at once. For small rotations about the reference; elements have a material damping of their own
/// for large ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Rayleigh<E> {
    element: E,
    /// `α M + β K₀` (NV × NV).
    damping: Box<[f64]>,
}

impl<E: Element> Rayleigh<E> {
    /// `element` with damping about its local positions `reference` (NQ), where it has no stress.
    ///
    /// # Errors
    /// [`ElementError`] where `reference` has the wrong length or is not finite.
    pub fn new(element: E, damping: Damping, reference: &[f64]) -> Result<Self, ElementError> {
        if reference.len() != E::NQ {
            return Err(ElementError::Shape {
                what: "an element with Rayleigh damping",
                why: format!("{} positions for {}", reference.len(), E::NQ),
                cure: "give the positions of all its nodes",
            });
        }
        for &value in reference {
            finite("a coordinate of the reference shape of an element", value)?;
        }
        let size = E::NV * E::NV;
        let (mut matrix, mut mass) = (vec![0.0; size], vec![0.0; size]);
        let rest = vec![0.0; E::NV];
        element.tangent(reference, &rest, &mut matrix, &mut mass);
        element.mass(&mut mass);
        for (matrix, mass) in matrix.iter_mut().zip(mass) {
            *matrix = damping.beta * *matrix + damping.alpha * mass;
        }
        Ok(Self {
            element,
            damping: matrix.into_boxed_slice(),
        })
    }
}

impl<E: Element> Element for Rayleigh<E> {
    const NODE: NodeKind = E::NODE;
    const NODES: usize = E::NODES;
    const CELL: Cell = E::CELL;
    const FIELDS: &'static [&'static str] = E::FIELDS;

    fn is_linear(&self) -> bool {
        self.element.is_linear()
    }

    fn is_damped(&self) -> bool {
        true
    }

    fn mass(&self, mass: &mut [f64]) {
        self.element.mass(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.element.energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        self.element.force(q, v, force);
        add_product(1.0, &self.damping, v, force);
    }

    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        self.element.tangent(q, v, stiffness, damping);
        add_scaled(1.0, &self.damping, damping);
    }

    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        self.element.damping_force(q, v, force);
        add_product(1.0, &self.damping, v, force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        self.element.fields(q, values);
    }

    fn end_fields(&self, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        self.element.end_fields(q, node, force, values);
    }
}
