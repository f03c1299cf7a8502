//! Planar slider–crank whose slider has clearance in its guide: angles of crank, rod and block.

use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, DynamicsParts,
    Kinematics, MatrixSink, Point, Reach, System,
};

/// The mechanism of Flores, Leine, Glocker (2010), Table 1, frictionless unless `friction` is set (0.01 there).
#[derive(Debug, Clone, Copy)]
pub struct SliderCrank {
    /// Lengths of crank and rod \[m\].
    pub length: [f64; 2],
    /// Half length and half height of the block, and its clearance to each wall \[m\].
    pub block: [f64; 3],
    /// Coefficients of the constant part of the mass matrix: crank, rod, block [kg m²].
    inertia: [f64; 3],
    /// Coupling `(m₂/2 + m₃) l₁ l₂` [kg m²].
    coupling: f64,
    /// Moments of the weights about crank and rod joints [N m].
    weight: [f64; 2],
    /// Restitution of the guide.
    pub restitution: f64,
    /// Coulomb's coefficient of the guide; at 0 the corners have no tangential direction.
    friction: f64,
}

impl Default for SliderCrank {
    fn default() -> Self {
        let (l1, l2) = (0.153, 0.306);
        let (m1, m2, m3) = (0.038, 0.038, 0.076);
        let (j1, j2, j3) = (7.4e-5, 5.9e-4, 2.7e-6);
        let g = 9.81;
        Self {
            length: [l1, l2],
            block: [0.05, 0.025, 0.001],
            inertia: [
                j1 + (0.25 * m1 + m2 + m3) * l1 * l1,
                j2 + (0.25 * m2 + m3) * l2 * l2,
                j3,
            ],
            coupling: (0.5 * m2 + m3) * l1 * l2,
            weight: [(0.5 * m1 + m2 + m3) * g * l1, (0.5 * m2 + m3) * g * l2],
            restitution: 0.4,
            friction: 0.0,
        }
    }
}

impl SliderCrank {
    /// The published start: crank at 0 turning with 150 rad/s, rod with −75 rad/s.
    #[must_use]
    pub fn start() -> (Vec<f64>, Vec<f64>) {
        (vec![0.0; 3], vec![150.0, -75.0, 0.0])
    }

    /// The mechanism with this coefficient of friction in its guide.
    #[must_use]
    pub fn with_friction(self, friction: f64) -> Self {
        Self { friction, ..self }
    }

    /// Signs of the corners: towards ±x along the block, and the wall (+1 upper, −1 lower).
    const CORNERS: [(f64, f64); 4] = [(-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];

    /// Rows of a corner: its normal and, with friction, its tangent.
    fn rows(&self) -> usize {
        if self.friction > 0.0 { 2 } else { 1 }
    }

    /// Every row in order, as a factor, the corner in the block's frame, and sines and cosines of the angles: a row is
    /// the gradient of `factor (l₁ s₀ + l₂ s₁ + x s₂ + y c₂)`; a tangent is that of angles a quarter turn further.
    fn directions(&self, q: &[f64]) -> impl Iterator<Item = (f64, [f64; 2], [f64; 3], [f64; 3])> {
        let [a, b, _] = self.block;
        let [(s0, c0), (s1, c1), (s2, c2)] = [q[0], q[1], q[2]].map(f64::sin_cos);
        let (s, c) = ([s0, s1, s2], [c0, c1, c2]);
        let rows = self.rows();
        (0..4 * rows).map(move |row| {
            let (along, wall) = Self::CORNERS[row / rows];
            let corner = [along * a, wall * b];
            if row % rows == 0 {
                (-wall, corner, s, c)
            } else {
                (1.0, corner, c, s.map(|s| -s))
            }
        })
    }

    fn forces(&self, sine: f64, q: &[f64], v: &[f64], force: &mut [f64]) {
        force[0] = -self.coupling * sine * v[1] * v[1] - self.weight[0] * q[0].cos();
        force[1] = self.coupling * sine * v[0] * v[0] - self.weight[1] * q[1].cos();
        force[2] = 0.0;
    }
}

impl Kinematics for SliderCrank {
    fn dims(&self) -> Dims {
        Dims {
            nq: 3,
            nv: 3,
            ng: 0,
        }
    }
}

impl Dynamics for SliderCrank {
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        let k = self.coupling * (q[1] - q[0]).cos();
        let [a, b, c] = self.inertia;
        mass.add(0, 0, 3, 3, &[a, k, 0.0, k, b, 0.0, 0.0, 0.0, c]);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.forces((at.q[0] - at.q[1]).sin(), at.q, at.v, force);
    }

    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        let (q, v) = (at.q, at.v);
        let k = self.coupling * (q[0] - q[1]).cos();
        let (a, b) = (k * v[1] * v[1], k * v[0] * v[0]);
        let [w0, w1] = self.weight;
        stiffness.add(
            0,
            0,
            3,
            3,
            &[
                a - w0 * q[0].sin(),
                -a,
                0.0,
                -b,
                b - w1 * q[1].sin(),
                0.0,
                0.0,
                0.0,
                0.0,
            ],
        );
    }

    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        let s = 2.0 * self.coupling * (at.q[0] - at.q[1]).sin();
        damping.add(0, 0, 2, 2, &[0.0, s * at.v[1], -s * at.v[0], 0.0]);
    }

    fn mass_gradient(&self, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        // d/dq of the coupling k = c cos(q1 − q0).
        let s = self.coupling * (q[1] - q[0]).sin();
        gradient.add(0, 0, 2, 2, &[s * x[1], -s * x[1], s * x[0], -s * x[0]]);
    }

    fn evaluate(&self, at: Point<'_>, parts: DynamicsParts<'_>) {
        let (q, v) = (at.q, at.v);
        let (s0, c0) = q[0].sin_cos();
        let (s1, c1) = q[1].sin_cos();
        // Of the difference of both angles.
        let (sine, cosine) = (s0 * c1 - c0 * s1, c0 * c1 + s0 * s1);
        let [a, b, c] = self.inertia;
        let [w0, w1] = self.weight;
        let (k, s) = (self.coupling * cosine, self.coupling * sine);
        parts
            .mass
            .add(0, 0, 3, 3, &[a, k, 0.0, k, b, 0.0, 0.0, 0.0, c]);
        parts.force[0] = -s * v[1] * v[1] - w0 * c0;
        parts.force[1] = s * v[0] * v[0] - w1 * c1;
        parts.force[2] = 0.0;
        if let Some(tangents) = parts.tangents {
            let (kv1, kv0) = (k * v[1] * v[1], k * v[0] * v[0]);
            tangents
                .stiffness
                .add(0, 0, 2, 2, &[kv1 - w0 * s0, -kv1, -kv0, kv0 - w1 * s1]);
            tangents
                .damping
                .add(0, 0, 2, 2, &[0.0, 2.0 * s * v[1], -2.0 * s * v[0], 0.0]);
            let x = tangents.x;
            tangents
                .mass_gradient
                .add(0, 0, 2, 2, &[-s * x[1], s * x[1], -s * x[0], s * x[0]]);
        }
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        self.weight[0] * q[0].sin() + self.weight[1] * q[1].sin()
    }

    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }
}

impl Constraints for SliderCrank {}

impl Contacts for SliderCrank {
    fn contact_count(&self) -> usize {
        4
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        let tangents = if self.friction > 0.0 { 1 } else { 0 };
        let law = ContactLaw::coulomb(self.restitution, self.friction, tangents);
        for i in 0..4 {
            set.push(ContactId(i), law, 0.0);
            for _ in 0..self.rows() {
                set.directions.push(&[0, 1, 2], &[0.0; 3]);
                set.rate.push(0.0);
            }
        }
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        let [l1, l2] = self.length;
        let [_, b, clearance] = self.block;
        let rows = self.rows();
        let values = set.directions.all_values_mut();
        for (row, (factor, [x, y], s, c)) in self.directions(q).enumerate() {
            if row % rows == 0 {
                let height = l1 * s[0] + l2 * s[1];
                set.gap[row / rows] = b + clearance + factor * (height + x * s[2] + y * c[2]);
            }
            values[3 * row] = factor * l1 * c[0];
            values[3 * row + 1] = factor * l2 * c[1];
            values[3 * row + 2] = factor * (x * c[2] - y * s[2]);
        }
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        let [l1, l2] = self.length;
        let square = [0, 1, 2].map(|i| at.v[i] * at.v[i]);
        for (bias, (factor, [x, y], s, c)) in bias.iter_mut().zip(self.directions(at.q)) {
            let height = l1 * s[0] * square[0] + l2 * s[1] * square[1];
            *bias = -factor * (height + (x * s[2] + y * c[2]) * square[2]);
        }
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let [l1, l2] = self.length;
        let mut diagonal = [0.0; 3];
        for (r, (factor, [x, y], s, c)) in r.iter().zip(self.directions(q)) {
            diagonal[0] -= r * factor * l1 * s[0];
            diagonal[1] -= r * factor * l2 * s[1];
            diagonal[2] -= r * factor * (x * s[2] + y * c[2]);
        }
        for (i, d) in diagonal.into_iter().enumerate() {
            curvature.entry(i, i, d);
        }
    }

    fn contact_direction_gradient(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let [l1, l2] = self.length;
        for (i, (factor, [px, py], s, c)) in self.directions(q).enumerate() {
            let row = [
                -factor * l1 * s[0] * x[0],
                -factor * l2 * s[1] * x[1],
                -factor * (px * s[2] + py * c[2]) * x[2],
            ];
            gradient.add(i, 0, 1, 3, &row);
        }
    }

    fn contact_bias_damping(&self, at: Point<'_>, set: &ContactSet, gradient: &mut dyn MatrixSink) {
        let twice = [0, 1, 2].map(|i| 2.0 * at.v[i]);
        self.contact_direction_gradient(at.t, at.q, set, &twice, gradient);
    }

    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        let [l1, l2] = self.length;
        let square = [0, 1, 2].map(|i| at.v[i] * at.v[i]);
        for (i, (factor, [x, y], s, c)) in self.directions(at.q).enumerate() {
            let row = [
                -factor * l1 * c[0] * square[0],
                -factor * l2 * c[1] * square[1],
                -factor * (x * c[2] - y * s[2]) * square[2],
            ];
            gradient.add(i, 0, 1, 3, &row);
        }
    }
}

impl System for SliderCrank {}
