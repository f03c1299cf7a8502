//! Kinds of nodes as types, and a rigid body on one node.

use super::differentiate::{Energy, gyroscopic};
use super::element::{Cell, Element, NodeKind};
use super::options::{ElementError, finite, not_negative};
use crate::rotation::{Matrix3, Scalar, apply, cross};
use std::fmt::Debug;
use std::marker::PhantomData;

/// A [`NodeKind`] as a type: elements for several kinds of nodes take it as a parameter.
pub trait Kind: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// The kind.
    const NODE: NodeKind;
}

/// The kinds of nodes.
pub mod kind {
    use super::{Kind, NodeKind};

    macro_rules! kinds {
        ($($name:ident),*) => {$(
            #[doc = concat!("Nodes of [`NodeKind::", stringify!($name), "`].")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $name;

            impl Kind for $name {
                const NODE: NodeKind = NodeKind::$name;
            }
        )*};
    }

    kinds!(Line, Plane, PlaneFrame, Space, SpaceFrame);
}

/// A mass on a node, or a rigid body with its centre of mass there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointMass<K> {
    mass: f64,
    /// In the axes of the node; in the plane the last entry.
    inertia: Matrix3,
    kind: PhantomData<K>,
}

impl<K: Kind> PointMass<K> {
    /// A mass \[kg\] without rotary inertia.
    ///
    /// # Errors
    /// [`ElementError::Value`] where the mass makes no sense.
    pub fn new(mass: f64) -> Result<Self, ElementError> {
        Ok(Self {
            mass: not_negative("a point mass", mass)?,
            inertia: [[0.0; 3]; 3],
            kind: PhantomData,
        })
    }
}

impl PointMass<kind::PlaneFrame> {
    /// With a moment of inertia \[kg·m²\].
    ///
    /// # Errors
    /// [`ElementError::Value`] where it makes no sense.
    pub fn with_inertia(mut self, inertia: f64) -> Result<Self, ElementError> {
        self.inertia[2][2] = not_negative("the moment of inertia of a point mass", inertia)?;
        Ok(self)
    }
}

impl PointMass<kind::SpaceFrame> {
    /// With an inertia tensor \[kg·m²\] in the axes of the node, row by row: symmetric and not indefinite.
    ///
    /// # Errors
    /// [`ElementError::Value`] where it is anything else.
    pub fn with_inertia(mut self, inertia: Matrix3) -> Result<Self, ElementError> {
        let size = inertia
            .iter()
            .flatten()
            .fold(0.0_f64, |m, x| m.max(x.abs()));
        for i in 0..3 {
            not_negative("a moment of inertia of a point mass", inertia[i][i])?;
            for j in 0..i {
                let product = finite("a product of inertia of a point mass", inertia[i][j])?;
                if (product - inertia[j][i]).abs() > 1e-12 * size {
                    return Err(ElementError::Value {
                        what: "the difference of two products of inertia of a point mass",
                        value: product - inertia[j][i],
                        cure: "give a symmetric tensor",
                    });
                }
            }
        }
        let rows = &inertia;
        let minor = |i: usize, j: usize| rows[i][i] * rows[j][j] - rows[i][j] * rows[j][i];
        let determinant = crate::rotation::dot(&rows[0], &cross(&rows[1], &rows[2])) / size;
        for value in [minor(0, 1), minor(0, 2), minor(1, 2), determinant] {
            if value < -1e-12 * size * size {
                return Err(ElementError::Value {
                    what: "a principal minor of the inertia tensor of a point mass",
                    value,
                    cure: "give a tensor without negative principal moments",
                });
            }
        }
        self.inertia = inertia;
        Ok(self)
    }
}

impl<K> PointMass<K> {
    #[inline]
    fn spins(&self) -> bool {
        self.inertia != [[0.0; 3]; 3]
    }
}

impl<K: Kind> Energy for PointMass<K> {
    const NODE: NodeKind = K::NODE;
    const NODES: usize = 1;
    const CELL: Cell = Cell::Point;

    fn strain_energy<D: Scalar>(&self, _q: &[D]) -> D {
        D::from(0.0)
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
        let n = K::NODE.velocities();
        for i in 0..K::NODE.dimension() {
            mass[i * n + i] = self.mass;
        }
        match K::NODE {
            NodeKind::PlaneFrame => mass[8] = self.inertia[2][2],
            NodeKind::SpaceFrame => {
                for (i, row) in self.inertia.iter().enumerate() {
                    mass[(3 + i) * 6 + 3..][..3].copy_from_slice(row);
                }
            }
            NodeKind::Line | NodeKind::Plane | NodeKind::Space => {}
        }
    }
}

impl<K: Kind> Element for PointMass<K> {
    const NODE: NodeKind = K::NODE;
    const NODES: usize = 1;
    const CELL: Cell = Cell::Point;
    const FIELDS: &'static [&'static str] = &[];

    fn is_linear(&self) -> bool {
        K::NODE != NodeKind::SpaceFrame || !self.spins()
    }

    fn has_velocity_forces(&self) -> bool {
        K::NODE == NodeKind::SpaceFrame && self.spins()
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, _q: &[f64]) -> f64 {
        0.0
    }

    fn force(&self, _q: &[f64], v: &[f64], force: &mut [f64]) {
        force.fill(0.0);
        if self.has_velocity_forces() {
            let omega = [v[3], v[4], v[5]];
            force[3..6].copy_from_slice(&cross(&omega, &apply(&self.inertia, &omega)));
        }
    }

    fn tangent(&self, _q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        stiffness.fill(0.0);
        damping.fill(0.0);
        if self.has_velocity_forces() {
            let block = gyroscopic(&self.inertia, &[v[3], v[4], v[5]]);
            for (i, row) in block.iter().enumerate() {
                damping[(3 + i) * 6 + 3..][..3].copy_from_slice(row);
            }
        }
    }

    fn fields(&self, _q: &[f64], _values: &mut [f64]) {}
}
