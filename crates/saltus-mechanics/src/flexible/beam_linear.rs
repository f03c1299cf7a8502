//! The linear frame element in the plane: a rod and an Euler–Bernoulli beam.

use super::beam_plane::section_forces;
use super::differentiate::Energy;
use super::element::{Cell, Element, NodeKind};
use super::options::{
    Damping, ElementError, MassMatrix, add_product, add_scaled, finite, not_negative, positive,
};
use crate::rotation::Scalar;

/// A slender beam in the plane for small displacements and rotations about its reference position.
///
/// Linear in the total positions and **not objective**: a rigid rotation φ makes strains of order φ². With
/// the axial displacement `u` linear and the deflection `w` cubic between the nodes; frequencies of the
/// bending converge with the fourth power of the length, the lumped ones with the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearBeam {
    ea: f64,
    ei: f64,
    rho_a: f64,
    rho_i: f64,
    length: f64,
    /// Cosine and sine of the reference direction.
    direction: [f64; 2],
    /// Cosines and sines of the axis at the ends, along which section forces are told there.
    tangents: [[f64; 2]; 2],
    /// Angles of the nodes at the reference position.
    angles: [f64; 2],
    distribution: MassMatrix,
    damping: Damping,
}

/// Axial stretch, and deflection of the second node against the first with both rotations, all against the
/// reference and in its directions.
type Shape<D> = [D; 4];

impl LinearBeam {
    /// A beam of axial stiffness `ea` \[N\], bending stiffness `ei` \[N·m²\] and mass per length `rho_a` \[kg/m\]
    /// without stress at the positions `reference`: `x₁, y₁, θ₁, x₂, y₂, θ₂`; the angles may be any.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense or the nodes coincide.
    pub fn new(ea: f64, ei: f64, rho_a: f64, reference: &[f64; 6]) -> Result<Self, ElementError> {
        let [x1, y1, angle1, x2, y2, angle2] = *reference;
        for &value in reference {
            finite("a coordinate of the reference shape of a beam", value)?;
        }
        let length = (x2 - x1).hypot(y2 - y1);
        let length = positive("the distance between the nodes of a beam", length)?;
        Ok(Self {
            ea: positive("the axial stiffness EA of a beam", ea)?,
            ei: positive("the bending stiffness EI of a beam", ei)?,
            rho_a: not_negative("the mass per length rho A of a beam", rho_a)?,
            rho_i: 0.0,
            length,
            direction: [(x2 - x1) / length, (y2 - y1) / length],
            tangents: [[(x2 - x1) / length, (y2 - y1) / length]; 2],
            angles: [angle1, angle2],
            distribution: MassMatrix::Consistent,
            damping: Damping::NONE,
        })
    }

    /// With the rotary inertia per length `rho_i` \[kg·m\] of its sections.
    ///
    /// # Errors
    /// [`ElementError::Value`] where it makes no sense.
    pub fn with_rotary_inertia(mut self, rho_i: f64) -> Result<Self, ElementError> {
        self.rho_i = not_negative("the rotary inertia per length rho I of a beam", rho_i)?;
        Ok(self)
    }

    /// As a chord of a curved axis that has these directions (unit vectors) at its ends: section forces there are along and across
    /// them.
    #[must_use]
    pub fn with_tangents(mut self, tangents: [[f64; 2]; 2]) -> Self {
        self.tangents = tangents;
        self
    }

    /// With another mass matrix; consistent without this. Lumped, each node has half of the mass and
    /// `ρAL³/24 + ρIL/2` as moment of inertia.
    #[must_use]
    pub fn with_mass(mut self, distribution: MassMatrix) -> Self {
        self.distribution = distribution;
        self
    }

    /// With damping `α M + β K`.
    #[must_use]
    pub fn with_damping(mut self, damping: Damping) -> Self {
        self.damping = damping;
        self
    }

    #[inline]
    fn shape<D: Scalar>(&self, q: &[D]) -> Shape<D> {
        let [c, s] = self.direction;
        let x = q[3] - q[0] - self.length * c;
        let y = q[4] - q[1] - self.length * s;
        [
            x * c + y * s,
            y * c - x * s,
            q[2] - self.angles[0],
            q[5] - self.angles[1],
        ]
    }

    /// Normal force, shear force, and the moments on the first and on the second node.
    #[inline]
    fn resultants(&self, shape: &Shape<f64>) -> [f64; 4] {
        let [stretch, deflection, first, second] = *shape;
        let length = self.length;
        let chord = deflection / length;
        let factor = 2.0 * self.ei / length;
        [
            self.ea / length * stretch,
            3.0 * factor / length * (2.0 * chord - first - second),
            factor * (2.0 * first + second - 3.0 * chord),
            factor * (first + 2.0 * second - 3.0 * chord),
        ]
    }

    /// Force of a displacement with the given shape; overwrites.
    #[inline]
    fn resist(&self, shape: &Shape<f64>, force: &mut [f64]) {
        let [c, s] = self.direction;
        let [normal, shear, first, second] = self.resultants(shape);
        let (x, y) = (normal * c - shear * s, normal * s + shear * c);
        force.copy_from_slice(&[-x, -y, first, x, y, second]);
    }

    /// Shape of a velocity.
    #[inline]
    fn rates(&self, v: &[f64]) -> Shape<f64> {
        let [c, s] = self.direction;
        let (x, y) = (v[3] - v[0], v[4] - v[1]);
        [x * c + y * s, y * c - x * s, v[2], v[5]]
    }

    fn stiffness(&self, matrix: &mut [f64]) {
        for j in 0..6 {
            let mut unit = [0.0; 6];
            unit[j] = 1.0;
            let mut column = [0.0; 6];
            self.resist(&self.rates(&unit), &mut column);
            for i in 0..6 {
                matrix[i * 6 + j] = column[i];
            }
        }
    }

    /// Mass of the deflections and rotations, deflection and rotation of the first node, then of the second.
    fn bending_mass(&self) -> [[f64; 4]; 4] {
        let (l, total) = (self.length, self.rho_a * self.length);
        let mut m = [[0.0; 4]; 4];
        if self.distribution == MassMatrix::Lumped {
            let turn = total * l * l / 24.0 + 0.5 * self.rho_i * l;
            for (i, x) in [0.5 * total, turn, 0.5 * total, turn]
                .into_iter()
                .enumerate()
            {
                m[i][i] = x;
            }
            return m;
        }
        const MASS: [[f64; 4]; 4] = [
            [156.0, 22.0, 54.0, -13.0],
            [22.0, 4.0, 13.0, -3.0],
            [54.0, 13.0, 156.0, -22.0],
            [-13.0, -3.0, -22.0, 4.0],
        ];
        const ROTARY: [[f64; 4]; 4] = [
            [36.0, 3.0, -36.0, 3.0],
            [3.0, 4.0, -3.0, -1.0],
            [-36.0, -3.0, 36.0, -3.0],
            [3.0, -1.0, -3.0, 4.0],
        ];
        let (size, rotary, units) = (total / 420.0, self.rho_i / (30.0 * l), [1.0, l, 1.0, l]);
        for i in 0..4 {
            for j in 0..4 {
                m[i][j] = units[i] * units[j] * (size * MASS[i][j] + rotary * ROTARY[i][j]);
            }
        }
        m
    }
}

impl Energy for LinearBeam {
    const NODE: NodeKind = NodeKind::PlaneFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let [stretch, deflection, first, second] = self.shape(q);
        let chord = deflection * (1.0 / self.length);
        let (first, second) = (first - chord, second - chord);
        let bend = first * first + first * second + second * second;
        stretch * stretch * (0.5 * self.ea / self.length) + bend * (2.0 * self.ei / self.length)
    }

    fn inertia(&self, mass: &mut [f64]) {
        let [c, s] = self.direction;
        let total = self.rho_a * self.length;
        let axial = match self.distribution {
            MassMatrix::Consistent => [total / 3.0, total / 6.0],
            MassMatrix::Lumped => [0.5 * total, 0.0],
        };
        let bending = self.bending_mass();
        for a in 0..2 {
            for b in 0..2 {
                let along = axial[usize::from(a != b)];
                let (w, wt) = (bending[2 * a][2 * b], bending[2 * a][2 * b + 1]);
                let (tw, tt) = (bending[2 * a + 1][2 * b], bending[2 * a + 1][2 * b + 1]);
                let mixed = (along - w) * c * s;
                let block = [
                    [along * c * c + w * s * s, mixed, -wt * s],
                    [mixed, along * s * s + w * c * c, wt * c],
                    [-tw * s, tw * c, tt],
                ];
                for (i, row) in block.iter().enumerate() {
                    mass[(3 * a + i) * 6 + 3 * b..][..3].copy_from_slice(row);
                }
            }
        }
    }
}

impl Element for LinearBeam {
    const NODE: NodeKind = NodeKind::PlaneFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;
    const FIELDS: &'static [&'static str] = &["normal_force", "shear_force", "bending_moment"];

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

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let mut shape = self.shape(q);
        let beta = self.damping.beta;
        if beta > 0.0 {
            let rates = self.rates(v);
            shape = std::array::from_fn(|k| shape[k] + beta * rates[k]);
        }
        self.resist(&shape, force);
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 36];
            self.inertia(&mut mass);
            add_product(self.damping.alpha, &mass, v, force);
        }
    }

    fn tangent(&self, _q: &[f64], _v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        self.stiffness(stiffness);
        damping.fill(0.0);
        add_scaled(self.damping.beta, stiffness, damping);
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 36];
            self.inertia(&mut mass);
            add_scaled(self.damping.alpha, &mass, damping);
        }
    }

    fn damping_force(&self, _q: &[f64], v: &[f64], force: &mut [f64]) {
        let beta = self.damping.beta;
        self.resist(&self.rates(v).map(|x| beta * x), force);
        let mut mass = [0.0; 36];
        self.inertia(&mut mass);
        add_product(self.damping.alpha, &mass, v, force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        let [normal, shear, first, second] = self.resultants(&self.shape(q));
        values.copy_from_slice(&[normal, shear, 0.5 * (second - first)]);
    }

    fn end_fields(&self, _q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        let [c, s] = self.tangents[node.min(1)];
        section_forces(node, [c, s], force, values);
    }
}
