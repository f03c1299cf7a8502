//! A system seen through other coordinates: `q′ = s q` in another order, gaps and energies in other units.

use saltus_linear::Dense;
use saltus_system::{
    Constraints, ContactSet, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point, State,
    Structure, System,
};

/// `q′[place[i]] = scale[i] q[i]`, gaps times `gap`, energies and forces times `energy`; flat systems only.
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
        assert!(inner.is_flat());
        Self {
            inner,
            place,
            scale,
            gap,
            energy,
        }
    }

    pub fn state(&self, state: &State) -> State {
        State::new(state.t, self.forth(&state.q), self.forth(&state.v))
    }

    pub fn back(&self, state: &State) -> State {
        State::new(
            state.t,
            self.inner_vector(&state.q),
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

    fn inner_set(&self, t: f64, q: &[f64]) -> ContactSet {
        let mut set = ContactSet::default();
        self.inner.detect(t, q, f64::INFINITY, &mut set);
        self.inner.evaluate_contacts(t, q, &mut set);
        set
    }

    /// Multipliers: an impulse times a length is an energy.
    fn multipliers(&self, lambda: &[f64]) -> Vec<f64> {
        lambda.iter().map(|l| l * self.gap / self.energy).collect()
    }

    fn with<R>(&self, at: Point<'_>, ask: impl FnOnce(Point<'_>) -> R) -> R {
        let (q, v) = (self.inner_vector(at.q), self.inner_vector(at.v));
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
}

impl Dynamics for Transformed<'_> {
    fn structure(&self) -> Structure {
        self.inner.structure()
    }
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        let q = self.inner_vector(q);
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
        let (q, x) = (self.inner_vector(q), self.inner_vector(x));
        self.square(|m| self.inner.mass_gradient(&q, &x, m), sink);
    }
    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        self.energy * self.inner.potential_energy(t, &self.inner_vector(q))
    }
    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        let mut f = vec![0.0; self.n()];
        self.with(at, |p| self.inner.active_force(p, &mut f));
        self.force_back(&f, active);
    }
}

impl Constraints for Transformed<'_> {
    fn g(&self, t: f64, q: &[f64], g: &mut [f64]) {
        self.inner.g(t, &self.inner_vector(q), g);
        g.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_jacobian(&self, t: f64, q: &[f64], sink: &mut dyn MatrixSink) {
        let q = self.inner_vector(q);
        self.wide(self.dims().ng, |m| self.inner.g_jacobian(t, &q, m), sink);
    }
    fn g_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        self.inner.g_rate(t, &self.inner_vector(q), rate);
        rate.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        self.with(at, |p| self.inner.g_bias(p, bias));
        bias.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn g_curvature(&self, t: f64, q: &[f64], lambda: &[f64], sink: &mut dyn MatrixSink) {
        let (q, lambda) = (self.inner_vector(q), self.multipliers(lambda));
        self.square(|m| self.inner.g_curvature(t, &q, &lambda, m), sink);
    }
    fn g_jacobian_gradient(&self, t: f64, q: &[f64], x: &[f64], sink: &mut dyn MatrixSink) {
        let (q, x) = (self.inner_vector(q), self.inner_vector(x));
        self.wide(
            self.dims().ng,
            |m| self.inner.g_jacobian_gradient(t, &q, &x, m),
            sink,
        );
    }
    fn g_rate_gradient(&self, t: f64, q: &[f64], sink: &mut dyn MatrixSink) {
        let q = self.inner_vector(q);
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
    fn detect(&self, t: f64, q: &[f64], _: f64, set: &mut ContactSet) {
        let inner = self.inner_set(t, &self.inner_vector(q));
        set.clear();
        let columns: Vec<usize> = (0..self.n()).collect();
        for i in 0..inner.len() {
            set.push(inner.id[i], inner.law[i], 0.0);
            for _ in 0..=inner.law[i].tangents {
                set.directions.push(&columns, &vec![0.0; self.n()]);
                set.rate.push(0.0);
            }
        }
        self.evaluate_contacts(t, q, set);
    }
    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let inner = self.inner_set(t, &self.inner_vector(q));
        for (gap, value) in set.gap.iter_mut().zip(&inner.gap) {
            *gap = self.gap * value;
        }
        for row in 0..inner.rate.len() {
            set.rate[row] = self.gap * inner.rate[row];
            let target = set.directions.values_mut(row);
            target.fill(0.0);
            for (&j, w) in inner
                .directions
                .cols(row)
                .iter()
                .zip(inner.directions.values(row))
            {
                target[self.place[j]] += self.gap * w / self.scale[j];
            }
        }
    }
    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        self.with(at, |p| {
            self.inner.contact_bias(p, &self.inner_set(p.t, p.q), bias)
        });
        bias.iter_mut().for_each(|g| *g *= self.gap);
    }
    fn contact_curvature(
        &self,
        t: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        sink: &mut dyn MatrixSink,
    ) {
        let (q, r) = (self.inner_vector(q), self.multipliers(r));
        let set = self.inner_set(t, &q);
        self.square(|m| self.inner.contact_curvature(t, &q, &set, &r, m), sink);
    }
    fn contact_direction_gradient(
        &self,
        t: f64,
        q: &[f64],
        _: &ContactSet,
        x: &[f64],
        sink: &mut dyn MatrixSink,
    ) {
        let (q, x) = (self.inner_vector(q), self.inner_vector(x));
        let set = self.inner_set(t, &q);
        self.wide(
            set.rate.len(),
            |m| self.inner.contact_direction_gradient(t, &q, &set, &x, m),
            sink,
        );
    }
    fn contact_rate_gradient(&self, t: f64, q: &[f64], _: &ContactSet, sink: &mut dyn MatrixSink) {
        let q = self.inner_vector(q);
        let set = self.inner_set(t, &q);
        self.wide(
            set.rate.len(),
            |m| self.inner.contact_rate_gradient(t, &q, &set, m),
            sink,
        );
    }
    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            let set = self.inner_set(p.t, p.q);
            self.wide(
                set.rate.len(),
                |m| self.inner.contact_bias_gradient(p, &set, m),
                sink,
            );
        });
    }
    fn contact_bias_damping(&self, at: Point<'_>, _: &ContactSet, sink: &mut dyn MatrixSink) {
        self.with(at, |p| {
            let set = self.inner_set(p.t, p.q);
            self.wide(
                set.rate.len(),
                |m| self.inner.contact_bias_damping(p, &set, m),
                sink,
            );
        });
    }
}

impl System for Transformed<'_> {}
