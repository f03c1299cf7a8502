//! A system seen through other coordinates: `v′ = s v` in another order, gaps and energies in other units; positions
//! likewise where they are a vector.

use saltus_linear::Dense;
use saltus_system::{
    ConstraintKind, Constraints, ContactSet, Contacts, Dims, Dynamics, FrictionBound,
    JointFriction, Kinematics, MatrixSink, Point, Reach, State, Structure, System, friction_rows,
};

/// `v′[place[i]] = scale[i] v[i]`, gaps times `gap`, energies and forces times `energy`; in flat systems positions as
/// velocities, elsewhere they stay what they are.
pub struct Transformed<'a> {
    inner: &'a dyn System,
    place: Vec<usize>,
    scale: Vec<f64>,
    gap: f64,
    energy: f64,
}

impl<'a> Transformed<'a> {
    pub fn new(
        inner: &'a dyn System,
        place: Vec<usize>,
        scale: Vec<f64>,
        gap: f64,
        energy: f64,
    ) -> Self {
        Self {
            inner,
            place,
            scale,
            gap,
            energy,
        }
    }

    pub fn state(&self, state: &State) -> State {
        let q = if self.inner.is_flat() {
            self.forth(&state.q)
        } else {
            state.q.clone()
        };
        State::new(state.t, q, self.forth(&state.v))
    }

    pub fn back(&self, state: &State) -> State {
        State::new(
            state.t,
            self.inner_positions(&state.q),
            self.inner_vector(&state.v),
        )
    }

    fn n(&self) -> usize {
        self.place.len()
    }

    fn forth(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.n()];
        for (i, x) in x.iter().enumerate() {
            y[self.place[i]] = self.scale[i] * x;
        }
        y
    }

    fn inner_vector(&self, y: &[f64]) -> Vec<f64> {
        (0..self.n())
            .map(|i| y[self.place[i]] / self.scale[i])
            .collect()
    }

    fn inner_positions(&self, q: &[f64]) -> Vec<f64> {
        if self.inner.is_flat() {
            self.inner_vector(q)
        } else {
            q.to_vec()
        }
    }

    /// Passes an inner matrix (nv × nv) on, its rows being forces.
    fn square(&self, fill: impl FnOnce(&mut dyn MatrixSink), sink: &mut dyn MatrixSink) {
        let n = self.n();
        let mut m = Dense::zeros(n, n);
        fill(&mut m);
        for i in 0..n {
            for j in 0..n {
                let value = self.energy * m[(i, j)] / (self.scale[i] * self.scale[j]);
                sink.entry(self.place[i], self.place[j], value);
            }
        }
    }

    /// Passes an inner matrix (rows × nv) on, its rows being lengths.
    fn wide(&self, rows: usize, fill: impl FnOnce(&mut dyn MatrixSink), sink: &mut dyn MatrixSink) {
        let n = self.n();
        let mut m = Dense::zeros(rows, n);
        fill(&mut m);
        for i in 0..rows {
            for j in 0..n {
                sink.entry(i, self.place[j], self.gap * m[(i, j)] / self.scale[j]);
            }
        }
    }

    fn force_back(&self, inner: &[f64], force: &mut [f64]) {
        for (i, f) in inner.iter().enumerate() {
            force[self.place[i]] = self.energy * f / self.scale[i];
        }
    }

    /// The contacts of `set` as the inner system has them at `(t, q)`.
    fn inner_set(&self, t: f64, q: &[f64], set: &ContactSet) -> ContactSet {
        let mut inner = ContactSet::default();
        if self.inner.contacts_are_fixed() {
            self.inner.detect(t, q, Reach::All, &mut inner);
        } else {
            for i in 0..set.len() {
                inner.push(set.id[i], set.law[i], 0.0);
                for _ in 0..=set.law[i].tangents {
                    inner.directions.push(&[], &[]);
                    inner.rate.push(0.0);
                }
            }
        }
        inner.feature.copy_from_slice(&set.feature);
        self.inner.evaluate_contacts(t, q, &mut inner);
        inner
    }

    /// Gaps, rates and directions of `inner` as those of `set`, which has the same contacts.
    fn rows(&self, inner: &ContactSet, set: &mut ContactSet) {
        set.directions.clear();
        set.rate.clear();
        set.feature.copy_from_slice(&inner.feature);
        for (gap, value) in set.gap.iter_mut().zip(&inner.gap) {
            *gap = self.gap * value;
        }
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (row, rate) in inner.rate.iter().enumerate() {
            let (cols, values) = (inner.directions.cols(row), inner.directions.values(row));
            entries.clear();
            let moved = |(&j, w): (&usize, &f64)| (self.place[j], self.gap * w / self.scale[j]);
            entries.extend(cols.iter().zip(values).map(moved));
            entries.sort_by_key(|(col, _)| *col);
            let (cols, values): (Vec<usize>, Vec<f64>) = entries.iter().copied().unzip();
            set.directions.push(&cols, &values);
            set.rate.push(self.gap * rate);
        }
        for (i, first) in inner.first_row.iter().enumerate() {
            set.first_row[i] = *first;
        }
    }

    /// Multipliers: an impulse times a length is an energy.
    fn multipliers(&self, lambda: &[f64]) -> Vec<f64> {
        lambda.iter().map(|l| l * self.gap / self.energy).collect()
    }

    fn with<R>(&self, at: Point<'_>, ask: impl FnOnce(Point<'_>) -> R) -> R {
        let (q, v) = (self.inner_positions(at.q), self.inner_vector(at.v));
        ask(Point {
            t: at.t,
            q: &q,
            v: &v,
        })
    }
}

impl Kinematics for Transformed<'_> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }
    fn is_flat(&self) -> bool {
        self.inner.is_flat()
    }
    fn qdot(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        if self.is_flat() {
            qdot.copy_from_slice(v);
        } else {
            self.inner.qdot(q, &self.inner_vector(v), qdot);
        }
    }
    fn retract(&self, q: &mut [f64], xi: &[f64]) {
        if self.is_flat() {
            saltus_linear::axpy(1.0, xi, q);
        } else {
            self.inner.retract(q, &self.inner_vector(xi));
        }
    }
    fn retract_tangent(&self, q: &[f64], xi: &[f64], tangent: &mut dyn MatrixSink) {
        let n = self.n();
        let mut m = Dense::zeros(n, n);
        let (q, xi) = (self.inner_positions(q), self.inner_vector(xi));
        self.inner.retract_tangent(&q, &xi, &mut m);
        for i in 0..n {
            for j in 0..n {
                let value = m[(i, j)] * self.scale[i] / self.scale[j];
                if value != 0.0 {
                    tangent.entry(self.place[i], self.place[j], value);
                }
            }
        }
    }
    fn quaternion_defect(&self, q: &[f64]) -> Option<f64> {
        self.inner.quaternion_defect(&self.inner_positions(q))
    }
}

impl Dynamics for Transformed<'_> {
    fn structure(&self) -> Structure {
        self.inner.structure()
    }
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        let q = self.inner_positions(q);
        self.square(|m| self.inner.mass(&q, m), mass);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let mut f = vec![0.0; self.n()];
        self.with(at, |p| self.inner.force(p, &mut f));
        self.force_back(&f, force);
    }
    fn stiffness(&self, at: Point<'_>, sink: &mut dyn MatrixSink) {
        self.with(at, |p| self.square(|m| self.inner.stiffness(p, m), sink));
    }
    fn damping(&self, at: Point<'_>, sink: &mut dyn MatrixSink) {
        self.with(at, |p| self.square(|m| self.inner.damping(p, m), sink));
    }
    fn mass_gradient(&self, q: &[f64], x: &[f64], sink: &mut dyn MatrixSink) {
        let (q, x) = (self.inner_positions(q), self.inner_vector(x));
        self.square(|m| self.inner.mass_gradient(&q, &x, m), sink);
    }
    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        self.energy * self.inner.potential_energy(t, &self.inner_positions(q))
    }
    fn potential_rate(&self, t: f64, q: &[f64]) -> Option<f64> {
        let rate = self.inner.potential_rate(t, &self.inner_positions(q));
        rate.map(|rate| self.energy * rate)
    }
    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        let mut f = vec![0.0; self.n()];
        self.with(at, |p| self.inner.active_force(p, &mut f));
        self.force_back(&f, active);
    }
}

impl Constraints for Transformed<'_> {
    fn constraint_kind(&self, i: usize) -> ConstraintKind {
        self.inner.constraint_kind(i)
    }
    fn joint_friction(&self) -> &[JointFriction] {
        self.inner.joint_friction()
    }
    fn friction_jacobian(&self, t: f64, q: &[f64], sink: &mut dyn MatrixSink) {
        let q = self.inner_positions(q);
        let rows = friction_rows(self.joint_friction());
        self.wide(rows, |m| self.inner.friction_jacobian(t, &q, m), sink);
    }
    fn friction_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        self.inner.friction_rate(t, &self.inner_positions(q), rate);
        rate.iter_mut().for_each(|rate| *rate *= self.gap);
    }
    fn friction_coefficient(&self, at: Point<'_>, coefficient: &mut [f64]) {
        self.with(at, |p| self.inner.friction_coefficient(p, coefficient));
        for (c, element) in coefficient.iter_mut().zip(self.joint_friction()) {
            if element.bound == FrictionBound::Force {
                *c *= self.energy / self.gap;
            }
        }
    }
    fn friction_curvature(&self, t: f64, q: &[f64], r: &[f64], sink: &mut dyn MatrixSink) {
        let (q, r) = (self.inner_positions(q), self.multipliers(r));
        self.square(|m| self.inner.friction_curvature(t, &q, &r, m), sink);
    }
    fn friction_jacobian_gradient(&self, t: f64, q: &[f64], x: &[f64], sink: &mut dyn MatrixSink) {
        let (q, x) = (self.inner_positions(q), self.inner_vector(x));
        self.wide(
            friction_rows(self.joint_friction()),
            |m| self.inner.friction_jacobian_gradient(t, &q, &x, m),
            sink,
        );
    }
    fn g(&self, t: f64, q: &[f64], g: &mut [f64]) {
        self.inner.g(t, &self.inner_positions(q), g);
        g.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_jacobian(&self, t: f64, q: &[f64], sink: &mut dyn MatrixSink) {
        let q = self.inner_positions(q);
        self.wide(self.dims().ng, |m| self.inner.g_jacobian(t, &q, m), sink);
    }
    fn g_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        self.inner.g_rate(t, &self.inner_positions(q), rate);
        rate.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        self.with(at, |p| self.inner.g_bias(p, bias));
        bias.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_curvature(&self, t: f64, q: &[f64], lambda: &[f64], sink: &mut dyn MatrixSink) {
        let (q, lambda) = (self.inner_positions(q), self.multipliers(lambda));
        self.square(|m| self.inner.g_curvature(t, &q, &lambda, m), sink);
    }
    fn g_jacobian_gradient(&self, t: f64, q: &[f64], x: &[f64], sink: &mut dyn MatrixSink) {
        let (q, x) = (self.inner_positions(q), self.inner_vector(x));
        self.wide(
            self.dims().ng,
            |m| self.inner.g_jacobian_gradient(t, &q, &x, m),
            sink,
        );
    }
    fn g_rate_gradient(&self, t: f64, q: &[f64], sink: &mut dyn MatrixSink) {
        let q = self.inner_positions(q);
        self.wide(
            self.dims().ng,
            |m| self.inner.g_rate_gradient(t, &q, m),
            sink,
        );
    }
    fn g_bias_gradient(&self, at: Point<'_>, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            self.wide(self.dims().ng, |m| self.inner.g_bias_gradient(p, m), sink)
        });
    }
    fn g_bias_damping(&self, at: Point<'_>, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            self.wide(self.dims().ng, |m| self.inner.g_bias_damping(p, m), sink)
        });
    }
}

impl Contacts for Transformed<'_> {
    fn contact_count(&self) -> usize {
        self.inner.contact_count()
    }
    fn contacts_are_fixed(&self) -> bool {
        self.inner.contacts_are_fixed()
    }
    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        let mut inner = ContactSet::default();
        let q = self.inner_positions(q);
        self.inner
            .detect(t, &q, Reach::Within(reach.margin() / self.gap), &mut inner);
        set.clear();
        for i in 0..inner.len() {
            set.push(inner.id[i], inner.law[i], 0.0);
            set.feature[i] = inner.feature[i];
        }
        self.rows(&inner, set);
    }
    fn laws_vary(&self) -> bool {
        self.inner.laws_vary()
    }
    fn contact_laws(&self, at: Point<'_>, set: &mut ContactSet) {
        self.with(at, |p| {
            let mut inner = self.inner_set(p.t, p.q, set);
            self.inner.contact_laws(p, &mut inner);
            set.law.copy_from_slice(&inner.law);
        });
    }
    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let inner = self.inner_set(t, &self.inner_positions(q), set);
        self.rows(&inner, set);
    }
    fn contact_bias(&self, at: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        self.with(at, |p| {
            self.inner
                .contact_bias(p, &self.inner_set(p.t, p.q, set), bias)
        });
        bias.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn contact_curvature(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        r: &[f64],
        sink: &mut dyn MatrixSink,
    ) {
        let (q, r) = (self.inner_positions(q), self.multipliers(r));
        let set = self.inner_set(t, &q, set);
        self.square(|m| self.inner.contact_curvature(t, &q, &set, &r, m), sink);
    }
    fn contact_direction_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        x: &[f64],
        sink: &mut dyn MatrixSink,
    ) {
        let (q, x) = (self.inner_positions(q), self.inner_vector(x));
        let set = self.inner_set(t, &q, set);
        self.wide(
            set.rate.len(),
            |m| self.inner.contact_direction_gradient(t, &q, &set, &x, m),
            sink,
        );
    }
    fn contact_rate_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        sink: &mut dyn MatrixSink,
    ) {
        let q = self.inner_positions(q);
        let set = self.inner_set(t, &q, set);
        self.wide(
            set.rate.len(),
            |m| self.inner.contact_rate_gradient(t, &q, &set, m),
            sink,
        );
    }
    fn contact_bias_gradient(&self, at: Point<'_>, set: &ContactSet, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            let set = self.inner_set(p.t, p.q, set);
            self.wide(
                set.rate.len(),
                |m| self.inner.contact_bias_gradient(p, &set, m),
                sink,
            );
        });
    }
    fn contact_bias_damping(&self, at: Point<'_>, set: &ContactSet, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            let set = self.inner_set(p.t, p.q, set);
            self.wide(
                set.rate.len(),
                |m| self.inner.contact_bias_damping(p, &set, m),
                sink,
            );
        });
    }
}

impl System for Transformed<'_> {}
