//! The geometrically exact beam in space.

mod kinematics;

use self::kinematics::{Blocks, Point, half, pack, relative};
use super::differentiate::{Energy, gyroscopic};
use super::element::{Cell, Element, NodeKind};
use super::options::{
    Damping, ElementError, MassMatrix, add_product, add_scaled, finite, not_negative, positive,
};
use crate::rotation::{
    self, Matrix3, Scalar, compose, cross, dot, matrix, product, rotate, rotate_back, transpose,
};

/// Section of a beam in space, per length; axis 1 is the beam's, 2 and 3 are principal axes of the section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpaceSection {
    /// Axial stiffness `EA` \[N\].
    pub ea: f64,
    /// Shear stiffnesses `GA₂`, `GA₃` \[N\], shear correction included.
    pub ga: [f64; 2],
    /// Torsional stiffness `GJ` \[N·m²\].
    pub gj: f64,
    /// Bending stiffnesses `EI₂`, `EI₃` \[N·m²\] about the axes 2 and 3.
    pub ei: [f64; 2],
    /// Mass per length `ρA` \[kg/m\].
    pub rho_a: f64,
    /// Rotary inertias per length `ρI_p`, `ρI₂`, `ρI₃` \[kg·m\].
    pub rho_i: [f64; 3],
}

impl SpaceSection {
    fn check(&self) -> Result<(), ElementError> {
        positive("the axial stiffness EA of a beam", self.ea)?;
        for ga in self.ga {
            positive("a shear stiffness GA of a beam", ga)?;
        }
        positive("the torsional stiffness GJ of a beam", self.gj)?;
        for ei in self.ei {
            positive("a bending stiffness EI of a beam", ei)?;
        }
        not_negative("the mass per length rho A of a beam", self.rho_a)?;
        for rho_i in self.rho_i {
            not_negative("a rotary inertia per length rho I of a beam", rho_i)?;
        }
        Ok(())
    }
}

/// A beam in space with shear and torsion, under any displacement and rotation.
///
/// Two nodes with triads; the rotation between them is interpolated as `Λ₁ exp(ξφ̂)`, `φ = log(Λ₁ᵀΛ₂)`,
/// which makes the element objective and independent of the path (Crisfield and Jelenić 1999). With
/// `Λ_m = Λ₁ exp(½φ̂)`: strains `g = Λ_mᵀ(x₂ − x₁)/L`, curvature `κ = φ/L`, one Gauss point. The rotation
/// between the nodes of one element stays below π; that of the nodes is unlimited.
///
/// The inertia is consistent in translation, or lumped, and lumped in rotation; the force has the gyroscopic
/// moments `Ω × JΩ` of the nodes. The tangent is the derivative along body rotations and not symmetric:
/// its skew part is `½ f̂_θ` in the blocks of the triads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpaceBeam {
    /// `EA`, `GA₂`, `GA₃`.
    normal: [f64; 3],
    /// `GJ`, `EI₂`, `EI₃`.
    bending: [f64; 3],
    length: f64,
    /// Strains of the stress-free shape.
    strain: [f64; 3],
    /// Curvatures of the stress-free shape.
    curvature: [f64; 3],
    rho_a: f64,
    rho_i: [f64; 3],
    /// Rotations of the sections against the triads of their nodes, where there are any.
    sections: Option<[[f64; 4]; 2]>,
    distribution: MassMatrix,
    damping: Damping,
}

impl SpaceBeam {
    /// A straight beam of stress-free `length` \[m\] along axis 1 of its nodes. One element object serves any
    /// number of elements.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn straight(section: SpaceSection, length: f64) -> Result<Self, ElementError> {
        Self::new(section, length, [1.0, 0.0, 0.0], [0.0; 3])
    }

    /// A beam of reference `length` \[m\] with the strains `g⁰` \[-\] and curvatures `κ⁰` \[1/m\] of its
    /// stress-free shape, in section axes; the straight one has `g⁰ = (1, 0, 0)`.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn new(
        section: SpaceSection,
        length: f64,
        strain: [f64; 3],
        curvature: [f64; 3],
    ) -> Result<Self, ElementError> {
        section.check()?;
        for value in strain.into_iter().chain(curvature) {
            finite("a strain of the stress-free shape of a beam", value)?;
        }
        Ok(Self {
            normal: [section.ea, section.ga[0], section.ga[1]],
            bending: [section.gj, section.ei[0], section.ei[1]],
            length: positive("the length of a beam", length)?,
            strain,
            curvature,
            rho_a: section.rho_a,
            rho_i: section.rho_i,
            sections: None,
            distribution: MassMatrix::Consistent,
            damping: Damping::NONE,
        })
    }

    /// A beam without stress in the shape `reference`: position and quaternion of the first node, then of the
    /// second; the triads are those of the sections. Its length is the chord.
    ///
    /// # Errors
    /// [`ElementError`] where a number makes no sense, the nodes coincide, or more than 3 rad lie between them.
    pub fn stress_free(section: SpaceSection, reference: &[f64; 14]) -> Result<Self, ElementError> {
        Self::stress_free_of_length(section, reference, chord(reference)?)
    }

    /// As [`stress_free`](Self::stress_free) with a length of its own, such as that of an arc \[m\].
    ///
    /// # Errors
    /// As there.
    pub fn stress_free_of_length(
        section: SpaceSection,
        reference: &[f64; 14],
        length: f64,
    ) -> Result<Self, ElementError> {
        Self::straight(section, length)?.released(reference)
    }

    /// A beam without stress in the shape `reference` whose sections are turned against the triads of their
    /// nodes by the quaternions `sections`: `Λ_section = Λ_node Λ_s`. Its length is the chord.
    ///
    /// # Errors
    /// As [`stress_free`](Self::stress_free), and where a quaternion is not of unit length.
    pub fn with_sections(
        section: SpaceSection,
        reference: &[f64; 14],
        sections: [[f64; 4]; 2],
    ) -> Result<Self, ElementError> {
        let mut beam = Self::straight(section, chord(reference)?)?;
        for p in &sections {
            unit(p)?;
        }
        beam.sections = Some(sections);
        beam.released(reference)
    }

    /// A straight beam without stress between the nodes of `reference`, whatever their triads: axis 1 of
    /// the sections points from the first node to the second, axis 2 lies in the plane of axis 1 and `second`
    /// on the side of `second`. Legs that meet at a kink share a node this way.
    ///
    /// # Errors
    /// As [`stress_free`](Self::stress_free), and where `second` is parallel to the beam.
    pub fn between(
        section: SpaceSection,
        reference: &[f64; 14],
        second: [f64; 3],
    ) -> Result<Self, ElementError> {
        let length = chord(reference)?;
        let first = std::array::from_fn(|i| (reference[7 + i] - reference[i]) / length);
        let third = cross(&first, &second);
        let norm = dot(&third, &third).sqrt();
        if !norm.is_finite() || norm <= 1e-6 * dot(&second, &second).sqrt() {
            return Err(ElementError::Shape {
                what: "a beam",
                why: format!("the direction {second:?} of section axis 2 is parallel to its axis"),
                cure: "give a direction across the beam",
            });
        }
        let third = third.map(|x| x / norm);
        let triad = rotation::from_axes(&[first, cross(&third, &first), third]);
        let sections = [node(reference, 0), node(reference, 1)]
            .map(|p| compose(&rotation::conjugate(&p), &triad));
        Self::with_sections(section, reference, sections)
    }

    /// With the strains of `reference` as those of the stress-free shape.
    fn released(mut self, reference: &[f64; 14]) -> Result<Self, ElementError> {
        for &value in reference {
            finite("a coordinate of the reference shape of a beam", value)?;
        }
        for p in [node(reference, 0), node(reference, 1)] {
            unit(&p)?;
        }
        let [strain, curvature] = self.strains(reference);
        let angle = dot(&curvature, &curvature).sqrt() * self.length;
        if angle > 3.0 {
            return Err(ElementError::Shape {
                what: "a beam",
                why: format!("{angle:.3} rad lie between its nodes"),
                cure: "use more elements, so that at most a right angle lies between neighbours",
            });
        }
        (self.strain, self.curvature) = (strain, curvature);
        Ok(self)
    }

    /// With another mass of the translations; consistent without this. The rotary inertia is always lumped.
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

    /// Strains `g` and curvatures `κ` in section axes.
    #[must_use]
    pub fn strains<D: Scalar>(&self, q: &[D]) -> [[D; 3]; 2] {
        let [first, second] = self.triads(q);
        let between = relative(&first, &second);
        let middle = compose(&first, &half(&between));
        let per_length = 1.0 / self.length;
        let chord = std::array::from_fn(|i| (q[7 + i] - q[i]) * per_length);
        let curvature = rotation::log(&between).map(|x| x * per_length);
        [rotate_back(&middle, &chord), curvature]
    }

    /// Quaternions of both sections.
    #[inline]
    fn triads<D: Scalar>(&self, q: &[D]) -> [[D; 4]; 2] {
        let nodes = [[q[3], q[4], q[5], q[6]], [q[10], q[11], q[12], q[13]]];
        match &self.sections {
            None => nodes,
            Some(sections) => {
                std::array::from_fn(|n| compose(&nodes[n], &sections[n].map(D::from)))
            }
        }
    }

    #[inline]
    fn point(&self, q: &[f64]) -> Point {
        let chord = std::array::from_fn(|i| (q[7 + i] - q[i]) / self.length);
        let mut point = Point::new(&self.triads(q), chord);
        for k in 0..3 {
            point.normal[k] = self.normal[k] * (point.strain[k] - self.strain[k]);
            point.moment[k] = self.bending[k] * (point.angle[k] / self.length - self.curvature[k]);
        }
        point
    }

    /// Velocities of node `n`: translation, and rotation in section axes.
    #[inline]
    fn velocities(&self, v: &[f64], n: usize) -> [[f64; 3]; 2] {
        let v = &v[6 * n..6 * n + 6];
        let spin = [v[3], v[4], v[5]];
        let spin = match &self.sections {
            None => spin,
            Some(sections) => rotate_back(&sections[n], &spin),
        };
        [[v[0], v[1], v[2]], spin]
    }

    /// Gives the point its rates and returns the resultants of the material damping.
    #[inline]
    fn move_on(&self, point: &mut Point, v: &[f64]) -> [[f64; 3]; 2] {
        let [x1, spin1] = self.velocities(v, 0);
        let [x2, spin2] = self.velocities(v, 1);
        let chord = std::array::from_fn(|i| (x2[i] - x1[i]) / self.length);
        let [strain, angle] = point.set_rates(&chord, spin1, spin2);
        let beta = self.damping.beta;
        [
            std::array::from_fn(|k| beta * self.normal[k] * strain[k]),
            std::array::from_fn(|k| beta * self.bending[k] * angle[k] / self.length),
        ]
    }

    /// Nodal forces of resultants at the point; overwrites.
    #[inline]
    fn resist(&self, point: &Point, normal: &[f64; 3], moment: &[f64; 3], force: &mut [f64]) {
        let [push, mut first, mut second] = point.resist(self.length, normal, moment);
        if let Some(sections) = &self.sections {
            first = rotate(&sections[0], &first);
            second = rotate(&sections[1], &second);
        }
        for k in 0..3 {
            force[k] = -push[k];
            force[3 + k] = first[k];
            force[6 + k] = push[k];
            force[9 + k] = second[k];
        }
    }

    /// Rotary inertia of node `n` in the axes of the node.
    #[inline]
    fn rotary(&self, n: usize) -> Matrix3 {
        let mut inertia = [[0.0; 3]; 3];
        for k in 0..3 {
            inertia[k][k] = 0.5 * self.length * self.rho_i[k];
        }
        match &self.sections {
            None => inertia,
            Some(sections) => {
                let turn = matrix(&sections[n]);
                product(&product(&turn, &inertia), &transpose(&turn))
            }
        }
    }

    #[inline]
    fn has_rotary_inertia(&self) -> bool {
        self.rho_i != [0.0; 3]
    }

    fn add_mass_damping(&self, v: &[f64], force: &mut [f64]) {
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 144];
            self.inertia(&mut mass);
            add_product(self.damping.alpha, &mass, v, force);
        }
    }

    #[inline]
    fn send(&self, point: &Point, blocks: &Blocks, target: &mut [f64]) {
        let turns = self
            .sections
            .as_ref()
            .map(|s| [matrix(&s[0]), matrix(&s[1])]);
        pack(&blocks.spread(point, self.length), turns.as_ref(), target);
    }
}

/// Quaternion of node `n`.
fn node(reference: &[f64; 14], n: usize) -> [f64; 4] {
    std::array::from_fn(|i| reference[7 * n + 3 + i])
}

fn unit(p: &[f64; 4]) -> Result<(), ElementError> {
    let value = p.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (value - 1.0).abs() < 1e-9 {
        return Ok(());
    }
    Err(ElementError::Value {
        what: "the norm of a quaternion of the reference shape of a beam",
        value,
        cure: "give a unit quaternion (w, x, y, z)",
    })
}

fn chord(reference: &[f64; 14]) -> Result<f64, ElementError> {
    let d: [f64; 3] = std::array::from_fn(|i| reference[7 + i] - reference[i]);
    positive(
        "the distance between the nodes of a beam",
        dot(&d, &d).sqrt(),
    )
}

impl Energy for SpaceBeam {
    const NODE: NodeKind = NodeKind::SpaceFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let [strain, curvature] = self.strains(q);
        let mut sum = D::from(0.0);
        for k in 0..3 {
            let (stretch, bend) = (strain[k] - self.strain[k], curvature[k] - self.curvature[k]);
            sum += stretch * stretch * (0.5 * self.length * self.normal[k]);
            sum += bend * bend * (0.5 * self.length * self.bending[k]);
        }
        sum
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
        let total = self.rho_a * self.length;
        let (own, other) = match self.distribution {
            MassMatrix::Consistent => (total / 3.0, total / 6.0),
            MassMatrix::Lumped => (0.5 * total, 0.0),
        };
        for i in 0..3 {
            mass[i * 12 + i] = own;
            mass[(6 + i) * 12 + 6 + i] = own;
            mass[i * 12 + 6 + i] = other;
            mass[(6 + i) * 12 + i] = other;
        }
        for n in 0..2 {
            for (i, row) in self.rotary(n).iter().enumerate() {
                mass[(6 * n + 3 + i) * 12 + 6 * n + 3..][..3].copy_from_slice(row);
            }
        }
    }
}

impl Element for SpaceBeam {
    const NODE: NodeKind = NodeKind::SpaceFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;
    const FIELDS: &'static [&'static str] = &[
        "normal_force",
        "shear_force_2",
        "shear_force_3",
        "torsion_moment",
        "bending_moment_2",
        "bending_moment_3",
    ];

    fn is_damped(&self) -> bool {
        !self.damping.is_zero()
    }

    fn has_velocity_forces(&self) -> bool {
        self.is_damped() || self.has_rotary_inertia()
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.strain_energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let mut point = self.point(q);
        if self.damping.beta > 0.0 {
            let [normal, moment] = self.move_on(&mut point, v);
            for k in 0..3 {
                point.normal[k] += normal[k];
                point.moment[k] += moment[k];
            }
        }
        self.resist(&point, &point.normal, &point.moment, force);
        if self.has_rotary_inertia() {
            for (n, force) in force.chunks_exact_mut(6).enumerate() {
                let [_, spin] = self.velocities(v, n);
                let momentum = std::array::from_fn(|k| 0.5 * self.length * self.rho_i[k] * spin[k]);
                let mut moment = cross(&spin, &momentum);
                if let Some(sections) = &self.sections {
                    moment = rotate(&sections[n], &moment);
                }
                for k in 0..3 {
                    force[3 + k] += moment[k];
                }
            }
        }
        self.add_mass_damping(v, force);
    }

    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        let mut point = self.point(q);
        damping.fill(0.0);
        let beta = self.damping.beta;
        if beta > 0.0 {
            let [normal, moment] = self.move_on(&mut point, v);
            for k in 0..3 {
                point.normal[k] += normal[k];
                point.moment[k] += moment[k];
            }
            let blocks = Blocks::viscous(&point, &self.normal, &self.bending, beta, self.length);
            self.send(&point, &blocks, damping);
        }
        let blocks = Blocks::elastic(&point, &self.normal, &self.bending, beta, self.length);
        self.send(&point, &blocks, stiffness);
        if self.has_rotary_inertia() {
            for n in 0..2 {
                let at = 6 * n + 3;
                let block = gyroscopic(&self.rotary(n), &[v[at], v[at + 1], v[at + 2]]);
                for (i, row) in block.iter().enumerate() {
                    add_scaled(1.0, row, &mut damping[(at + i) * 12 + at..][..3]);
                }
            }
        }
        if self.damping.alpha > 0.0 {
            let mut mass = [0.0; 144];
            self.inertia(&mut mass);
            add_scaled(self.damping.alpha, &mass, damping);
        }
    }

    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let mut point = self.point(q);
        let [normal, moment] = self.move_on(&mut point, v);
        self.resist(&point, &normal, &moment, force);
        self.add_mass_damping(v, force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        let point = self.point(q);
        values[..3].copy_from_slice(&point.normal);
        values[3..].copy_from_slice(&point.moment);
    }

    fn end_fields(&self, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        let node = node.min(1);
        let sign = if node == 0 { -1.0 } else { 1.0 };
        let triad = std::array::from_fn(|i| q[7 * node + 3 + i]);
        let push = rotate_back(&triad, &[force[0], force[1], force[2]]);
        for (k, part) in [push, [force[3], force[4], force[5]]].iter().enumerate() {
            let part = match &self.sections {
                None => *part,
                Some(sections) => rotate_back(&sections[node], part),
            };
            values[3 * k..3 * k + 3].copy_from_slice(&part.map(|x| sign * x));
        }
    }
}
