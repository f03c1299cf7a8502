//! The linear rod: two nodes on a line, constant strain.

use super::differentiate::Energy;
use super::element::{Cell, Element, NodeKind};
use super::options::{Damping, ElementError, MassMatrix, not_negative, positive};
use crate::rotation::Scalar;

/// A rod on a line, from its first node in positive direction to its second.
///
/// The normal force is `N = EA (x₂ − x₁ − L)/L`, positive in tension. One element object serves any number of
/// elements of the same length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rod {
    /// `EA / L` \[N/m\].
    stiffness: f64,
    length: f64,
    /// `ρAL` \[kg\].
    mass: f64,
    distribution: MassMatrix,
    damping: Damping,
}

impl Rod {
    /// A rod of axial stiffness `ea` \[N\], mass per length `rho_a` \[kg/m\] and stress-free `length` \[m\].
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn new(ea: f64, rho_a: f64, length: f64) -> Result<Self, ElementError> {
        let length = positive("the length of a rod", length)?;
        Ok(Self {
            stiffness: positive("the axial stiffness EA of a rod", ea)? / length,
            length,
            mass: not_negative("the mass per length of a rod", rho_a)? * length,
            distribution: MassMatrix::Consistent,
            damping: Damping::NONE,
        })
    }

    /// With another mass matrix; consistent without this.
    #[must_use]
    pub fn with_mass(mut self, distribution: MassMatrix) -> Self {
        self.distribution = distribution;
        self
    }

    /// With damping; both kinds are objective on a line.
    #[must_use]
    pub fn with_damping(mut self, damping: Damping) -> Self {
        self.damping = damping;
        self
    }

    /// Diagonal and off-diagonal entry of the mass.
    #[inline]
    fn mass_entries(&self) -> (f64, f64) {
        match self.distribution {
            MassMatrix::Consistent => (self.mass / 3.0, self.mass / 6.0),
            MassMatrix::Lumped => (0.5 * self.mass, 0.0),
        }
    }

    /// Diagonal and off-diagonal entry of the damping.
    #[inline]
    fn damping_entries(&self) -> (f64, f64) {
        let (own, other) = self.mass_entries();
        let material = self.damping.beta * self.stiffness;
        (
            self.damping.alpha * own + material,
            self.damping.alpha * other - material,
        )
    }
}

impl Energy for Rod {
    const NODE: NodeKind = NodeKind::Line;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let elongation = q[1] - q[0] - self.length;
        elongation * elongation * (0.5 * self.stiffness)
    }

    fn inertia(&self, mass: &mut [f64]) {
        let (own, other) = self.mass_entries();
        mass.copy_from_slice(&[own, other, other, own]);
    }
}

impl Element for Rod {
    const NODE: NodeKind = NodeKind::Line;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;
    const FIELDS: &'static [&'static str] = &["normal_force"];

    fn is_linear(&self) -> bool {
        true
    }

    fn is_damped(&self) -> bool {
        !self.damping.is_zero()
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.strain_energy(q)
    }

    #[inline]
    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let normal = self.stiffness * (q[1] - q[0] - self.length);
        if self.damping.is_zero() {
            force.copy_from_slice(&[-normal, normal]);
        } else {
            self.damping_force(q, v, force);
            force[0] -= normal;
            force[1] += normal;
        }
    }

    fn tangent(&self, _q: &[f64], _v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        let k = self.stiffness;
        stiffness.copy_from_slice(&[k, -k, -k, k]);
        let (own, other) = self.damping_entries();
        damping.copy_from_slice(&[own, other, other, own]);
    }

    #[inline]
    fn damping_force(&self, _q: &[f64], v: &[f64], force: &mut [f64]) {
        let (own, other) = self.damping_entries();
        force[0] = own * v[0] + other * v[1];
        force[1] = other * v[0] + own * v[1];
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        values[0] = self.stiffness * (q[1] - q[0] - self.length);
    }
}
