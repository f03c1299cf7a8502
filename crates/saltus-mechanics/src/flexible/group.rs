//! Elements of one type, with their places in the system: the loops that every evaluation runs through.

mod streamed;

use super::element::Cell;
use super::element_list::{ElementList, Elements};
use super::places::Places;
use super::runs::{Run, Table, runs};
use saltus_linear::MatrixSink;
use std::ops::Range;
use streamed::Order;
pub(crate) use streamed::RowsView;

/// The largest element: eight nodes with three coordinates each.
const MOST: usize = 24;

/// The positions and velocities of a system seen by an element: free ones from the state, held ones constant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// Free positions.
    pub q: &'a [f64],
    /// Free velocities.
    pub v: &'a [f64],
    /// Held positions; place `q.len() + k` is `held[k]`.
    pub held: &'a [f64],
}

impl View<'_> {
    #[inline]
    pub(crate) fn position(&self, place: u32) -> f64 {
        let place = place as usize;
        match self.q.get(place) {
            Some(&x) => x,
            None => self.held[place - self.q.len()],
        }
    }

    #[inline]
    pub(crate) fn velocity(&self, place: u32) -> f64 {
        self.v.get(place as usize).copied().unwrap_or(0.0)
    }
}

/// Elements of one type: one for all, or one each.
pub(crate) struct Group {
    name: String,
    list: ElementList,
    /// Whether its elements run from the end of the part to its start.
    pub(crate) is_backwards: bool,
    /// Whether any element is damped.
    damped: bool,
    /// Whether the force of any element depends on the velocity.
    moved: bool,
    /// Whether all elements are linear.
    linear: bool,
    /// Whether one element stands for all.
    shared: bool,
    /// Node numbers, element by element.
    nodes: Vec<u32>,
    /// Place of each local position, element by element.
    positions: Vec<u32>,
    /// Place of each local velocity, element by element.
    velocities: Vec<u32>,
    /// Number of free velocities of the system.
    free: usize,
    /// The elements in runs of evenly placed ones.
    runs: Vec<Run>,
    /// The order of the elements, if they have one.
    order: Option<Order>,
}

impl Group {
    /// Elements with the given nodes; a single element stands for all of them.
    pub(crate) fn new(name: String, list: ElementList, nodes: Vec<u32>) -> Self {
        let (elements, all) = (&list.elements, 0..list.elements.len());
        Self {
            name,
            is_backwards: false,
            damped: all.clone().any(|e| elements.is_damped(e)),
            moved: all.clone().any(|e| elements.has_velocity_forces(e)),
            linear: all.clone().all(|e| elements.is_linear(e)),
            shared: all.len() == 1,
            list,
            nodes,
            positions: Vec::new(),
            velocities: Vec::new(),
            free: 0,
            runs: Vec::new(),
            order: None,
        }
    }

    /// The elements.
    #[inline]
    fn elements(&self) -> &dyn Elements {
        &*self.list.elements
    }

    /// Number of element `e` in the list.
    #[inline]
    fn index(&self, e: usize) -> usize {
        if self.shared { 0 } else { e }
    }

    fn count(&self) -> usize {
        self.nodes.len() / self.list.nodes
    }

    #[inline]
    fn position_places(&self, e: usize) -> &[u32] {
        let nq = self.list.nq;
        &self.positions[e * nq..(e + 1) * nq]
    }

    #[inline]
    fn velocity_places(&self, e: usize) -> &[u32] {
        let nv = self.list.nv;
        &self.velocities[e * nv..(e + 1) * nv]
    }

    #[inline]
    fn gather_positions(&self, e: usize, view: &View<'_>, q: &mut Local) {
        for (x, &place) in q.iter_mut().zip(self.position_places(e)) {
            *x = view.position(place);
        }
    }

    #[inline]
    fn gather_velocities(&self, e: usize, view: &View<'_>, v: &mut Local) {
        for (x, &place) in v.iter_mut().zip(self.velocity_places(e)) {
            *x = view.velocity(place);
        }
    }

    /// Positions and velocities of element `e`; velocities stay 0 where no force depends on them.
    #[inline]
    fn gather(&self, e: usize, view: &View<'_>, q: &mut Local, v: &mut Local) {
        self.gather_positions(e, view, q);
        if self.moved {
            self.gather_velocities(e, view, v);
        }
    }

    /// Takes from `f` what `evaluate` makes of the positions and velocities of every element of a run.
    #[inline]
    fn subtract(
        &self,
        run: &Run,
        view: &View<'_>,
        f: &mut [f64],
        evaluate: impl Fn(usize, &[f64], &[f64], &mut [f64]),
    ) {
        let (nq, nv) = (self.list.nq, self.list.nv);
        let (mut q, mut v, mut force) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        let Some((by_q, by_v)) = run.steps else {
            for e in run.elements.clone() {
                self.gather(e, view, &mut q, &mut v);
                let (q, v, force) = (&q[..nq], &v[..nv], &mut force[..nv]);
                evaluate(self.index(e), q, v, force);
                self.scatter(e, -1.0, force, f);
            }
            return;
        };
        let first = run.elements.start;
        let positions = begin(self.position_places(first));
        let velocities = begin(self.velocity_places(first));
        for (k, e) in run.elements.clone().enumerate() {
            let (at_q, at_v) = (k * by_q, k * by_v);
            for (x, place) in q[..nq].iter_mut().zip(&positions) {
                *x = view.q[place + at_q];
            }
            if self.moved {
                for (x, place) in v[..nv].iter_mut().zip(&velocities) {
                    *x = view.v[place + at_v];
                }
            }
            let (q, v, force) = (&q[..nq], &v[..nv], &mut force[..nv]);
            evaluate(self.index(e), q, v, force);
            for (x, place) in force.iter().zip(&velocities) {
                f[place + at_v] -= x;
            }
        }
    }

    /// The positions and velocities of a run of equal elements that share one of each with the next.
    fn line(&self, run: &Run) -> Option<(Range<usize>, Range<usize>)> {
        let sizes = (self.list.nq, self.list.nv);
        if !self.shared || (sizes, run.steps) != ((2, 2), Some((1, 1))) {
            return None;
        }
        let range = |places: &[u32]| {
            let first = places[0] as usize;
            (places[1] == places[0] + 1).then(|| first..first + run.elements.len() + 1)
        };
        let first = run.elements.start;
        Some((
            range(self.position_places(first))?,
            range(self.velocity_places(first))?,
        ))
    }

    #[inline]
    fn scatter(&self, e: usize, sign: f64, local: &[f64], f: &mut [f64]) {
        for (x, &place) in local.iter().zip(self.velocity_places(e)) {
            if let Some(f) = f.get_mut(place as usize) {
                *f += sign * x;
            }
        }
    }

    /// Sends an element matrix; rows and columns of held coordinates stay behind.
    #[inline]
    fn send(&self, e: usize, matrix: &[f64], sink: &mut dyn MatrixSink) {
        let places = self.velocity_places(e);
        let n = self.list.nv;
        for (i, &row) in places.iter().enumerate() {
            if row as usize >= self.free {
                continue;
            }
            for (j, &col) in places.iter().enumerate() {
                if (col as usize) < self.free {
                    sink.entry(row as usize, col as usize, matrix[i * n + j]);
                }
            }
        }
    }

    /// Runs `visit` over the elements with the mass of each; a shared mass is evaluated once.
    fn with_mass(&self, mut visit: impl FnMut(usize, &[f64])) {
        let mut mass = [0.0; MOST * MOST];
        let nv = self.list.nv;
        let mass = &mut mass[..nv * nv];
        for e in 0..self.count() {
            if e == 0 || !self.shared {
                self.elements().mass(self.index(e), mass);
            }
            visit(e, mass);
        }
    }
}

/// Local positions or velocities; the largest element has 24 of either.
type Local = [f64; MOST];

impl Group {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn len(&self) -> usize {
        self.count()
    }

    pub(crate) fn cell(&self) -> Cell {
        self.list.cell
    }

    /// Nodes of element `e`.
    pub(crate) fn nodes(&self, e: usize) -> &[u32] {
        let nodes = self.list.nodes;
        &self.nodes[e * nodes..(e + 1) * nodes]
    }

    pub(crate) fn field_names(&self) -> &'static [&'static str] {
        self.list.fields
    }

    pub(crate) fn is_linear(&self) -> bool {
        self.linear
    }

    pub(crate) fn is_damped(&self) -> bool {
        self.damped
    }

    pub(crate) fn mass(&self, sink: &mut dyn MatrixSink) {
        self.with_mass(|e, mass| self.send(e, mass, sink));
    }

    /// `½ vᵀ M v`.
    pub(crate) fn kinetic_energy(&self, v: &[f64]) -> f64 {
        let view = View {
            q: &[],
            v,
            held: &[],
        };
        let mut local: Local = [0.0; MOST];
        let (mut sum, nv) = (0.0, self.list.nv);
        self.with_mass(|e, mass| {
            for (x, &place) in local.iter_mut().zip(self.velocity_places(e)) {
                *x = view.velocity(place);
            }
            let local = &local[..nv];
            for (i, x) in local.iter().enumerate() {
                let row = &mass[i * nv..(i + 1) * nv];
                sum += x * row.iter().zip(local).map(|(m, y)| m * y).sum::<f64>();
            }
        });
        0.5 * sum
    }

    pub(crate) fn strain_energy(&self, view: View<'_>) -> f64 {
        let mut q: Local = [0.0; MOST];
        let (mut sum, nq) = (0.0, self.list.nq);
        for run in &self.runs {
            let line = self.line(run);
            let whole = line.and_then(|(q, _)| self.elements().line_energy(0, &view.q[q]));
            if let Some(energy) = whole {
                sum += energy;
                continue;
            }
            let Some((step, _)) = run.steps else {
                for e in run.elements.clone() {
                    self.gather_positions(e, &view, &mut q);
                    sum += self.elements().energy(self.index(e), &q[..nq]);
                }
                continue;
            };
            let places = begin(self.position_places(run.elements.start));
            for (k, e) in run.elements.clone().enumerate() {
                for (x, place) in q[..nq].iter_mut().zip(&places) {
                    *x = view.q[place + k * step];
                }
                sum += self.elements().energy(self.index(e), &q[..nq]);
            }
        }
        sum
    }

    /// `f ← f − force`.
    pub(crate) fn subtract_force(&self, view: View<'_>, f: &mut [f64]) {
        for run in &self.runs {
            let line = self.line(run).filter(|_| !self.moved);
            let is_done =
                line.is_some_and(|(q, v)| self.elements().subtract_line(0, &view.q[q], &mut f[v]));
            if !is_done {
                self.subtract(run, &view, f, |e, q, v, force| {
                    self.elements().force(e, q, v, force);
                });
            }
        }
    }

    /// `f ← f − damping_force`.
    pub(crate) fn subtract_damping(&self, view: View<'_>, f: &mut [f64]) {
        if !self.damped {
            return;
        }
        for run in &self.runs {
            self.subtract(run, &view, f, |e, q, v, force| {
                self.elements().damping_force(e, q, v, force);
            });
        }
    }

    pub(crate) fn stiffness(&self, view: View<'_>, sink: &mut dyn MatrixSink) {
        self.tangents(view, sink, &mut Nowhere);
    }

    pub(crate) fn damping(&self, view: View<'_>, sink: &mut dyn MatrixSink) {
        self.tangents(view, &mut Nowhere, sink);
    }

    /// Force and both tangents from one evaluation of each element's geometry.
    pub(crate) fn tangents(
        &self,
        view: View<'_>,
        stiffness: &mut dyn MatrixSink,
        damping: &mut dyn MatrixSink,
    ) {
        let (mut q, mut v) = ([0.0; MOST], [0.0; MOST]);
        let (mut k, mut c) = ([0.0; MOST * MOST], [0.0; MOST * MOST]);
        let (nq, nv) = (self.list.nq, self.list.nv);
        let size = nv * nv;
        let shared = self.shared && self.linear;
        for e in 0..self.count() {
            if e == 0 || !shared {
                self.gather(e, &view, &mut q, &mut v);
                let (q, v) = (&q[..nq], &v[..nv]);
                self.elements()
                    .tangent(self.index(e), q, v, &mut k[..size], &mut c[..size]);
            }
            self.send(e, &k[..size], stiffness);
            if self.elements().has_velocity_forces(self.index(e)) {
                self.send(e, &c[..size], damping);
            }
        }
    }

    /// Fields of every element, element by element.
    pub(crate) fn fields(&self, view: View<'_>, values: &mut Vec<f64>) {
        let mut q: Local = [0.0; MOST];
        let (width, nq) = (self.list.fields.len(), self.list.nq);
        for e in 0..self.count() {
            self.gather_positions(e, &view, &mut q);
            let start = values.len();
            values.resize(start + width, 0.0);
            self.elements()
                .fields(self.index(e), &q[..nq], &mut values[start..]);
        }
    }

    /// Fields of element `e`, one value per name.
    pub(crate) fn field(&self, e: usize, view: View<'_>, values: &mut [f64]) {
        let mut q: Local = [0.0; MOST];
        self.gather_positions(e, &view, &mut q);
        self.elements()
            .fields(self.index(e), &q[..self.list.nq], values);
    }

    /// The same at the end of it at its node number `node`, where that exerts `force` on it.
    pub(crate) fn end_fields(
        &self,
        e: usize,
        node: usize,
        view: View<'_>,
        force: &[f64],
        values: &mut [f64],
    ) {
        let mut q: Local = [0.0; MOST];
        self.gather_positions(e, &view, &mut q);
        let force = &force[..self.list.node.velocities()];
        self.elements()
            .end_fields(self.index(e), &q[..self.list.nq], node, force, values);
    }

    /// Mass of all elements \[kg\].
    pub(crate) fn total_mass(&self) -> f64 {
        let (width, nv) = (self.list.node.velocities(), self.list.nv);
        let mut sum = 0.0;
        self.with_mass(|_, mass| {
            for row in (0..nv).step_by(width) {
                let entries = mass[row * nv..(row + 1) * nv].iter();
                sum += entries.step_by(width).sum::<f64>();
            }
        });
        sum
    }

    /// Adds what element `e` makes its node number `node` bear: its force, and its mass times the accelerations of `rates` less
    /// those of gravity.
    pub(crate) fn bear(
        &self,
        e: usize,
        node: usize,
        view: View<'_>,
        rates: View<'_>,
        gravity: &[f64; 3],
        force: &mut [f64],
    ) {
        let (width, dimension) = (self.list.node.velocities(), self.list.node.dimension());
        let nv = self.list.nv;
        let (mut q, mut v, mut a) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        self.gather_positions(e, &view, &mut q);
        self.gather_velocities(e, &view, &mut v);
        self.gather_velocities(e, &rates, &mut a);
        for (i, a) in a[..nv].iter_mut().enumerate() {
            if i % width < dimension {
                *a -= gravity[i % width];
            }
        }
        let (mut mass, mut own) = ([0.0; MOST * MOST], [0.0; MOST]);
        let (elements, e) = (self.elements(), self.index(e));
        elements.mass(e, &mut mass[..nv * nv]);
        elements.force(e, &q[..self.list.nq], &v[..nv], &mut own[..nv]);
        for (c, force) in force.iter_mut().enumerate().take(width) {
            let row = node * width + c;
            let line = &mass[row * nv..(row + 1) * nv];
            *force += own[row] + line.iter().zip(&a).map(|(m, a)| m * a).sum::<f64>();
        }
    }

    /// Adds `M a` of an acceleration field that is `acceleration[c]` on translational component `c` of
    /// every node, held ones included.
    pub(crate) fn body_force(&self, acceleration: &[f64; 3], f: &mut [f64]) {
        let (width, dimension) = (self.list.node.velocities(), self.list.node.dimension());
        let nv = self.list.nv;
        let mut a: Local = [0.0; MOST];
        for (i, a) in a[..nv].iter_mut().enumerate() {
            *a = if i % width < dimension {
                acceleration[i % width]
            } else {
                0.0
            };
        }
        let mut force: Local = [0.0; MOST];
        self.with_mass(|e, mass| {
            for i in 0..nv {
                let row = &mass[i * nv..(i + 1) * nv];
                force[i] = row.iter().zip(&a).map(|(m, a)| m * a).sum();
            }
            self.scatter(e, 1.0, &force[..nv], f);
        });
    }

    /// Gives the places in the system once the held coordinates are known.
    pub(crate) fn place(&mut self, places: &Places) {
        let nodes = || self.nodes.iter().map(|&node| node as usize);
        self.positions = nodes().flat_map(|n| places.positions(n)).copied().collect();
        self.velocities = nodes()
            .flat_map(|n| places.velocities(n))
            .copied()
            .collect();
        self.free = places.nv;
        let positions = Table {
            places: &self.positions,
            width: self.list.nq,
            free: places.nq,
        };
        let velocities = Table {
            places: &self.velocities,
            width: self.list.nv,
            free: places.nv,
        };
        self.runs = runs(self.count(), positions, velocities);
        self.put_in_order();
    }

    /// Largest distance between two rows of an element, where the elements are in the order of their rows.
    pub(crate) fn reach(&self) -> Option<usize> {
        self.order.as_ref().map(|order| order.reach)
    }

    /// `f ← f − force` in some rows; `f` begins with the first of them.
    pub(crate) fn subtract_force_rows(
        &self,
        view: RowsView<'_>,
        rows: Range<usize>,
        f: &mut [f64],
    ) {
        self.force_on(view, &rows, f);
    }

    /// `f ← f − damping_force` likewise.
    pub(crate) fn subtract_damping_rows(
        &self,
        view: RowsView<'_>,
        rows: Range<usize>,
        f: &mut [f64],
    ) {
        if self.damped {
            let elements = self.meeting(&rows);
            self.subtract_some(view, elements, rows.start, f, |e, q, v, force| {
                self.elements().damping_force(e, q, v, force);
            });
        }
    }

    /// Energy of the elements whose highest row is one of these.
    pub(crate) fn strain_energy_rows(&self, view: RowsView<'_>, rows: Range<usize>) -> f64 {
        self.energy_on(view, &rows)
    }
}

/// The places of the first element of a run, to count on from.
#[inline]
fn begin(places: &[u32]) -> [usize; MOST] {
    let mut at = [0; MOST];
    for (at, &place) in at.iter_mut().zip(places) {
        *at = place as usize;
    }
    at
}

/// Where what nobody asked for goes.
struct Nowhere;

impl MatrixSink for Nowhere {
    fn entry(&mut self, _: usize, _: usize, _: f64) {}

    fn add(&mut self, _: usize, _: usize, _: usize, _: usize, _: &[f64]) {}
}
