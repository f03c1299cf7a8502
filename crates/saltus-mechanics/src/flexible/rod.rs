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

    fn subtract_line(&self, q: &[f64], f: &mut [f64]) -> bool {
        let n = q.len();
        let normal = |a: f64, b: f64| self.stiffness * (b - a - self.length);
        f[0] += normal(q[0], q[1]);
        f[n - 1] -= normal(q[n - 2], q[n - 1]);
        let neighbours = q.iter().zip(&q[1..]).zip(&q[2..]);
        for (f, ((before, here), after)) in f[1..].iter_mut().zip(neighbours) {
            *f = *f - normal(*before, *here) + normal(*here, *after);
        }
        true
    }

    fn line_energy(&self, q: &[f64]) -> Option<f64> {
        // Sums kept going at the same time.
        let mut sums = [0.0; 8];
        let ends = q.get(1..)?;
        let (a, a_rest) = q[..ends.len()].as_chunks::<8>();
        let (b, b_rest) = ends.as_chunks::<8>();
        for (a, b) in a.iter().zip(b) {
            for i in 0..8 {
                let elongation = b[i] - a[i] - self.length;
                sums[i] += elongation * elongation;
            }
        }
        for ((a, b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
            let elongation = b - a - self.length;
            *sum += elongation * elongation;
        }
        Some(0.5 * self.stiffness * sums.iter().sum::<f64>())
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        values[0] = self.stiffness * (q[1] - q[0] - self.length);
    }

    fn end_fields(&self, _q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        values[0] = if node == 0 { -force[0] } else { force[0] };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Element, Rod};

    #[test]
    fn a_line_is_its_elements_one_by_one() {
        for n in [2, 3, 9, 30] {
            let rod = Rod::new(3.0, 1.0, 0.4).unwrap();
            let q: Vec<f64> = (0..n)
                .map(|i| 0.4 * f64::from(i) + (2.1 * f64::from(i)).sin())
                .collect();
            let load: Vec<f64> = (0..n).map(|i| f64::from(i).cos()).collect();
            let (mut line, mut single) = (load.clone(), load);
            assert!(rod.subtract_line(&q, &mut line));
            let mut energy = 0.0;
            for (e, ends) in q.windows(2).enumerate() {
                let mut force = [0.0; 2];
                rod.force(ends, &[0.0; 2], &mut force);
                energy += rod.energy(ends);
                single[e] -= force[0];
                single[e + 1] -= force[1];
            }
            for (a, b) in line.iter().zip(&single) {
                assert!((a - b).abs() <= 4.0 * f64::EPSILON * 20.0, "{a} {b}");
            }
            let whole = rod.line_energy(&q).unwrap();
            assert!((whole - energy).abs() <= 1e-14 * energy, "{whole} {energy}");
        }
    }
}
