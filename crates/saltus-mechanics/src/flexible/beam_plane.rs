//! The geometrically exact beam in the plane.

use super::differentiate::Energy;
use super::element::{Cell, Element, NodeKind};
use super::options::{
    Damping, ElementError, MassMatrix, add_product, add_scaled, finite, not_negative, positive,
};
use crate::rotation::Scalar;

/// Section of a beam in the plane, per length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaneSection {
    /// Axial stiffness `EA` \[N\].
    pub ea: f64,
    /// Shear stiffness `k_s G A` \[N\].
    pub ga: f64,
    /// Bending stiffness `EI` \[N·m²\].
    pub ei: f64,
    /// Mass per length `ρA` \[kg/m\].
    pub rho_a: f64,
    /// Rotary inertia per length `ρI` \[kg·m\].
    pub rho_i: f64,
}

impl PlaneSection {
    fn check(&self) -> Result<(), ElementError> {
        positive("the axial stiffness EA of a beam", self.ea)?;
        positive("the shear stiffness GA of a beam", self.ga)?;
        positive("the bending stiffness EI of a beam", self.ei)?;
        not_negative("the mass per length rho A of a beam", self.rho_a)?;
        not_negative("the rotary inertia per length rho I of a beam", self.rho_i)?;
        Ok(())
    }
}

/// A beam in the plane with shear, under any displacement and rotation.
///
/// Reissner's beam (1972) with two nodes and one Gauss point, which keeps it free of shear locking
/// (Simo and Vu-Quoc 1986; Géradin and Cardona 2001, ch. 6). With the section axes `t₁`, `t₂` at the mean
/// angle and `r′ = (x₂ − x₁)/L`: `Γ₁ = r′·t₁`, `Γ₂ = r′·t₂`, `κ = (θ₂ − θ₁)/L`, and the resultants
/// `N = EA (Γ₁ − Γ₁⁰)`, `Q = GA (Γ₂ − Γ₂⁰)`, `M = EI (κ − κ⁰)`. Angles are never wrapped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaneBeam {
    section: PlaneSection,
    length: f64,
    /// Strains `Γ₁⁰`, `Γ₂⁰` and curvature κ⁰ of the stress-free shape.
    shape: [f64; 3],
    /// Angles of the sections at the ends against the nodes.
    offsets: [f64; 2],
    distribution: MassMatrix,
    damping: Damping,
}

/// State at the Gauss point.
struct Point {
    cos: f64,
    sin: f64,
    /// `Γ₁`, `Γ₂`, κ.
    strain: [f64; 3],
    /// `N`, `Q`, `M` without damping.
    stress: [f64; 3],
}

impl PlaneBeam {
    /// A straight beam of stress-free `length` \[m\] whose sections are turned as its nodes are: both angles
    /// are that of the beam's direction in the stress-free shape. One element object serves any number of elements.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn straight(section: PlaneSection, length: f64) -> Result<Self, ElementError> {
        Self::new(section, length, [1.0, 0.0, 0.0])
    }

    /// A beam of reference `length` \[m\] with the strains `Γ₁⁰`, `Γ₂⁰` \[-\] and the curvature κ⁰ \[1/m\]
    /// of its stress-free shape.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn new(section: PlaneSection, length: f64, shape: [f64; 3]) -> Result<Self, ElementError> {
        section.check()?;
        for value in shape {
            finite("a strain of the stress-free shape of a beam", value)?;
        }
        Ok(Self {
            section,
            length: positive("the length of a beam", length)?,
            shape,
            offsets: [0.0; 2],
            distribution: MassMatrix::Consistent,
            damping: Damping::NONE,
        })
    }

    /// A beam without stress in the shape `reference`: `x₁, y₁, θ₁, x₂, y₂, θ₂`, where the angles are those
    /// of the sections. Its length is the chord.
    ///
    /// # Errors
    /// [`ElementError`] where a number makes no sense or the nodes coincide.
    pub fn stress_free(section: PlaneSection, reference: &[f64; 6]) -> Result<Self, ElementError> {
        let length = chord(reference)?;
        let mut beam = Self::straight(section, length)?;
        beam.shape = beam.strains(reference);
        Ok(beam)
    }

    /// A straight beam without stress between the nodes of `reference` (as in
    /// [`stress_free`](Self::stress_free)), whatever their angles: the sections keep their angles against the nodes.
    /// Legs that meet at a kink share a node this way.
    ///
    /// # Errors
    /// [`ElementError`] where a number makes no sense or the nodes coincide.
    pub fn between(section: PlaneSection, reference: &[f64; 6]) -> Result<Self, ElementError> {
        let [x1, y1, angle1, x2, y2, angle2] = *reference;
        let mut beam = Self::straight(section, chord(reference)?)?;
        let direction = (y2 - y1).atan2(x2 - x1);
        beam.offsets = [direction - angle1, direction - angle2];
        beam.shape[2] = (angle2 - angle1) / beam.length;
        Ok(beam)
    }

    /// With another mass matrix; consistent without this.
    #[must_use]
    pub fn with_mass(mut self, distribution: MassMatrix) -> Self {
        self.distribution = distribution;
        self
    }

    /// With damping; the material part is objective.
    #[must_use]
    pub fn with_damping(mut self, damping: Damping) -> Self {
        self.damping = damping;
        self
    }

    /// Stress-free length \[m\].
    #[must_use]
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Mean angle of the section against the nodes.
    #[inline]
    fn offset(&self) -> f64 {
        0.5 * (self.offsets[0] + self.offsets[1])
    }

    #[inline]
    fn strains<D: Scalar>(&self, q: &[D]) -> [D; 3] {
        let angle = (q[2] + q[5]) * 0.5 + self.offset();
        let (sin, cos) = angle.sin_cos();
        let per_length = 1.0 / self.length;
        let (x, y) = ((q[3] - q[0]) * per_length, (q[4] - q[1]) * per_length);
        [
            x * cos + y * sin,
            y * cos - x * sin,
            (q[5] - q[2]) * per_length,
        ]
    }

    #[inline]
    fn moduli(&self) -> [f64; 3] {
        [self.section.ea, self.section.ga, self.section.ei]
    }

    #[inline]
    fn point(&self, q: &[f64]) -> Point {
        let (sin, cos) = (0.5 * (q[2] + q[5]) + self.offset()).sin_cos();
        let (x, y) = ((q[3] - q[0]) / self.length, (q[4] - q[1]) / self.length);
        let strain = [
            x * cos + y * sin,
            y * cos - x * sin,
            (q[5] - q[2]) / self.length,
        ];
        let moduli = self.moduli();
        Point {
            cos,
            sin,
            strain,
            stress: std::array::from_fn(|k| moduli[k] * (strain[k] - self.shape[k])),
        }
    }

    /// Rates of `r′`, the mean angle and the curvature.
    #[inline]
    fn rates(&self, v: &[f64]) -> [f64; 4] {
        [
            (v[3] - v[0]) / self.length,
            (v[4] - v[1]) / self.length,
            0.5 * (v[2] + v[5]),
            (v[5] - v[2]) / self.length,
        ]
    }

    /// Stresses of the material damping.
    #[inline]
    fn viscous(&self, point: &Point, v: &[f64]) -> [f64; 3] {
        let [x, y, angle, curvature] = self.rates(v);
        let (c, s) = (point.cos, point.sin);
        let rates = [
            x * c + y * s + point.strain[1] * angle,
            y * c - x * s - point.strain[0] * angle,
            curvature,
        ];
        let moduli = self.moduli();
        std::array::from_fn(|k| self.damping.beta * moduli[k] * rates[k])
    }

    /// Nodal forces of the given resultants; overwrites.
    #[inline]
    fn resist(&self, point: &Point, stress: &[f64; 3], force: &mut [f64]) {
        let [normal, shear, moment] = *stress;
        let (c, s) = (point.cos, point.sin);
        let x = normal * c - shear * s;
        let y = normal * s + shear * c;
        let turn = 0.5 * self.length * (normal * point.strain[1] - shear * point.strain[0]);
        force.copy_from_slice(&[-x, -y, turn - moment, x, y, turn + moment]);
    }

    /// `L Tᵀ H T` of a matrix `H` in terms of `r′`, the mean angle (3 × 3, rows first) and the curvature.
    #[inline]
    fn spread(&self, h: &[[f64; 3]; 3], bending: f64, matrix: &mut [f64]) {
        let per_length = 1.0 / self.length;
        let side = [-1.0, 1.0];
        for a in 0..2 {
            for b in 0..2 {
                let both = side[a] * side[b];
                for i in 0..2 {
                    for j in 0..2 {
                        matrix[(3 * a + i) * 6 + 3 * b + j] = both * h[i][j] * per_length;
                    }
                    matrix[(3 * a + i) * 6 + 3 * b + 2] = side[a] * 0.5 * h[i][2];
                    matrix[(3 * a + 2) * 6 + 3 * b + i] = side[b] * 0.5 * h[2][i];
                }
                matrix[(3 * a + 2) * 6 + 3 * b + 2] =
                    0.25 * self.length * h[2][2] + both * bending * per_length;
            }
        }
    }

    /// Material part: `Σ c_k b_k b_kᵀ` over both strains, `b_k` their derivatives.
    #[inline]
    fn material(&self, point: &Point) -> [[f64; 3]; 3] {
        let (c, s) = (point.cos, point.sin);
        let (ea, ga) = (self.section.ea, self.section.ga);
        let [stretch, shear, _] = point.strain;
        let mixed = (ea - ga) * s * c;
        let x = ea * c * shear + ga * s * stretch;
        let y = ea * s * shear - ga * c * stretch;
        [
            [ea * c * c + ga * s * s, mixed, x],
            [mixed, ea * s * s + ga * c * c, y],
            [x, y, ea * shear * shear + ga * stretch * stretch],
        ]
    }

    /// Adds `β Σ c_k b_k (∂ε̇_k)ᵀ`: the rates of the strains change with the configuration.
    #[inline]
    fn add_convective(&self, point: &Point, v: &[f64], h: &mut [[f64; 3]; 3]) {
        let (c, s) = (point.cos, point.sin);
        let [stretch, shear, _] = point.strain;
        let [x, y, angle, _] = self.rates(v);
        let first = [-s * angle, c * angle, -s * x + c * y - stretch * angle];
        let second = [-c * angle, -s * angle, -c * x - s * y - shear * angle];
        let beta = self.damping.beta;
        let (ea, ga) = (beta * self.section.ea, beta * self.section.ga);
        let (along, across) = ([c, s, shear], [-s, c, -stretch]);
        for i in 0..3 {
            for j in 0..3 {
                h[i][j] += ea * along[i] * first[j] + ga * across[i] * second[j];
            }
        }
    }
}

/// Distance of the nodes of a reference shape.
pub(super) fn chord(reference: &[f64; 6]) -> Result<f64, ElementError> {
    let [x1, y1, angle1, x2, y2, angle2] = *reference;
    for value in [x1, y1, angle1, x2, y2, angle2] {
        finite("a coordinate of the reference shape of a beam", value)?;
    }
    positive(
        "the distance between the nodes of a beam",
        (x2 - x1).hypot(y2 - y1),
    )
}

impl Energy for PlaneBeam {
    const NODE: NodeKind = NodeKind::PlaneFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let moduli = self.moduli();
        let strains = self.strains(q);
        let mut sum = D::from(0.0);
        for k in 0..3 {
            let elastic = strains[k] - self.shape[k];
            sum += elastic * elastic * (0.5 * self.length * moduli[k]);
        }
        sum
    }

    fn inertia(&self, mass: &mut [f64]) {
        let (own, other) = match self.distribution {
            MassMatrix::Consistent => (1.0 / 3.0, 1.0 / 6.0),
            MassMatrix::Lumped => (0.5, 0.0),
        };
        mass.fill(0.0);
        let PlaneSection { rho_a, rho_i, .. } = self.section;
        for (i, density) in [rho_a, rho_a, rho_i].into_iter().enumerate() {
            let total = density * self.length;
            mass[i * 6 + i] = own * total;
            mass[(i + 3) * 6 + i + 3] = own * total;
            mass[i * 6 + i + 3] = other * total;
            mass[(i + 3) * 6 + i] = other * total;
        }
    }
}

impl Element for PlaneBeam {
    const NODE: NodeKind = NodeKind::PlaneFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;
    const FIELDS: &'static [&'static str] = &["normal_force", "shear_force", "bending_moment"];

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
        let point = self.point(q);
        let mut stress = point.stress;
        if self.damping.beta > 0.0 {
            let viscous = self.viscous(&point, v);
            stress = std::array::from_fn(|k| stress[k] + viscous[k]);
        }
        self.resist(&point, &stress, force);
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 36];
            self.inertia(&mut mass);
            add_product(self.damping.alpha, &mass, v, force);
        }
    }

    #[inline]
    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        let point = self.point(q);
        let (c, s) = (point.cos, point.sin);
        let material = self.material(&point);
        let mut h = material;
        let mut stress = point.stress;
        let damped = self.damping.beta > 0.0;
        if damped {
            let viscous = self.viscous(&point, v);
            stress = std::array::from_fn(|k| stress[k] + viscous[k]);
            self.add_convective(&point, v, &mut h);
        }
        let [normal, shear, _] = stress;
        let (x, y) = (-normal * s - shear * c, normal * c - shear * s);
        h[0][2] += x;
        h[2][0] += x;
        h[1][2] += y;
        h[2][1] += y;
        h[2][2] -= normal * point.strain[0] + shear * point.strain[1];
        self.spread(&h, self.section.ei, stiffness);
        if damped {
            let beta = self.damping.beta;
            let viscous = material.map(|row| row.map(|x| beta * x));
            self.spread(&viscous, beta * self.section.ei, damping);
        } else {
            damping.fill(0.0);
        }
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 36];
            self.inertia(&mut mass);
            add_scaled(self.damping.alpha, &mass, damping);
        }
    }

    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let point = self.point(q);
        self.resist(&point, &self.viscous(&point, v), force);
        let mut mass = [0.0; 36];
        self.inertia(&mut mass);
        add_product(self.damping.alpha, &mass, v, force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        values.copy_from_slice(&self.point(q).stress);
    }

    fn end_fields(&self, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        let node = node.min(1);
        let (sin, cos) = (q[3 * node + 2] + self.offsets[node]).sin_cos();
        section_forces(node, [cos, sin], force, values);
    }
}

/// Normal force, shear force and bending moment at the end of a beam whose node number `node` exerts `force` on it, where the
/// axis has the direction `tangent`.
pub(super) fn section_forces(node: usize, tangent: [f64; 2], force: &[f64], values: &mut [f64]) {
    let sign = if node == 0 { -1.0 } else { 1.0 };
    let ([c, s], [x, y]) = (tangent, [sign * force[0], sign * force[1]]);
    values.copy_from_slice(&[x * c + y * s, y * c - x * s, sign * force[2]]);
}
