//! Elements of one type, with their places in the system: the loops that every evaluation runs through.

mod by_rows;

use super::element::{Cell, Element};
use super::places::Places;
use super::runs::{Run, Table, runs};
use by_rows::Order;
pub(crate) use by_rows::RowsView;
use saltus_linear::MatrixSink;
use std::ops::Range;

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

/// What the assembly asks of a group, whatever its elements are.
pub(crate) trait Part: Send + Sync {
    fn name(&self) -> &str;
    fn len(&self) -> usize;
    fn cell(&self) -> Cell;
    /// Nodes of element `e`.
    fn nodes(&self, e: usize) -> &[u32];
    fn field_names(&self) -> &'static [&'static str];
    fn is_linear(&self) -> bool;
    fn is_damped(&self) -> bool;
    fn mass(&self, sink: &mut dyn MatrixSink);
    /// `½ vᵀ M v`.
    fn kinetic_energy(&self, v: &[f64]) -> f64;
    fn strain_energy(&self, view: View<'_>) -> f64;
    /// `f ← f − force`.
    fn subtract_force(&self, view: View<'_>, f: &mut [f64]);
    /// `f ← f − damping_force`.
    fn subtract_damping(&self, view: View<'_>, f: &mut [f64]);
    fn stiffness(&self, view: View<'_>, sink: &mut dyn MatrixSink);
    fn damping(&self, view: View<'_>, sink: &mut dyn MatrixSink);
    /// Force and both tangents from one evaluation of each element's geometry.
    fn tangents(
        &self,
        view: View<'_>,
        stiffness: &mut dyn MatrixSink,
        damping: &mut dyn MatrixSink,
    );
    /// Fields of every element, element by element.
    fn fields(&self, view: View<'_>, values: &mut Vec<f64>);
    /// Fields of element `e`, one value per name.
    fn field(&self, e: usize, view: View<'_>, values: &mut [f64]);
    /// The same at a node of it.
    fn field_at(&self, e: usize, node: u32, view: View<'_>, values: &mut [f64]);
    /// Mass of all elements \[kg\].
    fn total_mass(&self) -> f64;
    /// Adds what element `e` makes its node number `node` bear: its force, and its mass times the accelerations of `rates` less
    /// those of gravity.
    fn bear(
        &self,
        e: usize,
        node: usize,
        view: View<'_>,
        rates: View<'_>,
        gravity: &[f64; 3],
        force: &mut [f64],
    );
    /// Adds `M a` of an acceleration field that is `acceleration[c]` on translational component `c` of
    /// every node, held ones included.
    fn body_force(&self, acceleration: &[f64; 3], f: &mut [f64]);
    /// Gives the places in the system once the held coordinates are known.
    fn place(&mut self, places: &Places);
    /// Largest distance between two rows of an element, where the elements are in the order of their rows.
    fn reach(&self) -> Option<usize>;
    /// `f ← f − force` in some rows; `f` begins with the first of them.
    fn subtract_force_rows(&self, view: RowsView<'_>, rows: Range<usize>, f: &mut [f64]);
    /// `f ← f − damping_force` likewise.
    fn subtract_damping_rows(&self, view: RowsView<'_>, rows: Range<usize>, f: &mut [f64]);
    /// Energy of the elements whose highest row is one of these.
    fn strain_energy_rows(&self, view: RowsView<'_>, rows: Range<usize>) -> f64;
}

/// Elements of type `E`: one for all, or one each.
pub(crate) struct Group<E> {
    name: String,
    elements: Vec<E>,
    /// Whether any element is damped.
    damped: bool,
    /// Whether the force of any element depends on the velocity.
    moved: bool,
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

impl<E: Element> Group<E> {
    /// Elements with the given nodes (NODES numbers each); a single element stands for all of them.
    pub(crate) fn new(name: String, elements: Vec<E>, nodes: Vec<u32>) -> Self {
        Self {
            name,
            damped: elements.iter().any(Element::is_damped),
            moved: elements.iter().any(Element::has_velocity_forces),
            elements,
            nodes,
            positions: Vec::new(),
            velocities: Vec::new(),
            free: 0,
            runs: Vec::new(),
            order: None,
        }
    }

    #[inline]
    fn element(&self, e: usize) -> &E {
        if self.elements.len() == 1 {
            &self.elements[0]
        } else {
            &self.elements[e]
        }
    }

    fn count(&self) -> usize {
        self.nodes.len() / E::NODES
    }

    #[inline]
    fn position_places(&self, e: usize) -> &[u32] {
        &self.positions[e * E::NQ..(e + 1) * E::NQ]
    }

    #[inline]
    fn velocity_places(&self, e: usize) -> &[u32] {
        &self.velocities[e * E::NV..(e + 1) * E::NV]
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
        evaluate: impl Fn(&E, &[f64], &[f64], &mut [f64]),
    ) {
        let (mut q, mut v, mut force) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        let Some((by_q, by_v)) = run.steps else {
            for e in run.elements.clone() {
                self.gather(e, view, &mut q, &mut v);
                let (q, v, force) = (&q[..E::NQ], &v[..E::NV], &mut force[..E::NV]);
                evaluate(self.element(e), q, v, force);
                self.scatter(e, -1.0, force, f);
            }
            return;
        };
        let first = run.elements.start;
        let positions = begin(self.position_places(first));
        let velocities = begin(self.velocity_places(first));
        for (k, e) in run.elements.clone().enumerate() {
            let (at_q, at_v) = (k * by_q, k * by_v);
            for (x, place) in q[..E::NQ].iter_mut().zip(&positions) {
                *x = view.q[place + at_q];
            }
            if self.moved {
                for (x, place) in v[..E::NV].iter_mut().zip(&velocities) {
                    *x = view.v[place + at_v];
                }
            }
            let (q, v, force) = (&q[..E::NQ], &v[..E::NV], &mut force[..E::NV]);
            evaluate(self.element(e), q, v, force);
            for (x, place) in force.iter().zip(&velocities) {
                f[place + at_v] -= x;
            }
        }
    }

    /// The positions and velocities of a run of equal elements that share one of each with the next.
    fn line(&self, run: &Run) -> Option<(Range<usize>, Range<usize>)> {
        if self.elements.len() > 1 || (E::NQ, E::NV, run.steps) != (2, 2, Some((1, 1))) {
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
        let n = E::NV;
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
        let mass = &mut mass[..E::NV * E::NV];
        for e in 0..self.count() {
            if e == 0 || self.elements.len() > 1 {
                self.element(e).mass(mass);
            }
            visit(e, mass);
        }
    }
}

/// Local positions or velocities; the largest element has 24 of either.
type Local = [f64; MOST];

impl<E: Element> Part for Group<E> {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn cell(&self) -> Cell {
        E::CELL
    }

    fn nodes(&self, e: usize) -> &[u32] {
        &self.nodes[e * E::NODES..(e + 1) * E::NODES]
    }

    fn field_names(&self) -> &'static [&'static str] {
        E::FIELDS
    }

    fn is_linear(&self) -> bool {
        self.elements.iter().all(Element::is_linear)
    }

    fn is_damped(&self) -> bool {
        self.damped
    }

    fn mass(&self, sink: &mut dyn MatrixSink) {
        self.with_mass(|e, mass| self.send(e, mass, sink));
    }

    fn kinetic_energy(&self, v: &[f64]) -> f64 {
        let view = View {
            q: &[],
            v,
            held: &[],
        };
        let mut local: Local = [0.0; MOST];
        let mut sum = 0.0;
        self.with_mass(|e, mass| {
            for (x, &place) in local.iter_mut().zip(self.velocity_places(e)) {
                *x = view.velocity(place);
            }
            let local = &local[..E::NV];
            for (i, x) in local.iter().enumerate() {
                let row = &mass[i * E::NV..(i + 1) * E::NV];
                sum += x * row.iter().zip(local).map(|(m, y)| m * y).sum::<f64>();
            }
        });
        0.5 * sum
    }

    fn strain_energy(&self, view: View<'_>) -> f64 {
        let mut q: Local = [0.0; MOST];
        let mut sum = 0.0;
        for run in &self.runs {
            let line = self.line(run);
            let whole = line.and_then(|(q, _)| self.elements[0].line_energy(&view.q[q]));
            if let Some(energy) = whole {
                sum += energy;
                continue;
            }
            let Some((step, _)) = run.steps else {
                for e in run.elements.clone() {
                    self.gather_positions(e, &view, &mut q);
                    sum += self.element(e).energy(&q[..E::NQ]);
                }
                continue;
            };
            let places = begin(self.position_places(run.elements.start));
            for (k, e) in run.elements.clone().enumerate() {
                for (x, place) in q[..E::NQ].iter_mut().zip(&places) {
                    *x = view.q[place + k * step];
                }
                sum += self.element(e).energy(&q[..E::NQ]);
            }
        }
        sum
    }

    fn subtract_force(&self, view: View<'_>, f: &mut [f64]) {
        for run in &self.runs {
            let line = self.line(run).filter(|_| !self.moved);
            let is_done =
                line.is_some_and(|(q, v)| self.elements[0].subtract_line(&view.q[q], &mut f[v]));
            if !is_done {
                self.subtract(run, &view, f, E::force);
            }
        }
    }

    fn subtract_damping(&self, view: View<'_>, f: &mut [f64]) {
        if !self.damped {
            return;
        }
        for run in &self.runs {
            self.subtract(run, &view, f, E::damping_force);
        }
    }

    fn stiffness(&self, view: View<'_>, sink: &mut dyn MatrixSink) {
        self.tangents(view, sink, &mut Nowhere);
    }

    fn damping(&self, view: View<'_>, sink: &mut dyn MatrixSink) {
        self.tangents(view, &mut Nowhere, sink);
    }

    fn tangents(
        &self,
        view: View<'_>,
        stiffness: &mut dyn MatrixSink,
        damping: &mut dyn MatrixSink,
    ) {
        let (mut q, mut v) = ([0.0; MOST], [0.0; MOST]);
        let (mut k, mut c) = ([0.0; MOST * MOST], [0.0; MOST * MOST]);
        let size = E::NV * E::NV;
        let shared = self.elements.len() == 1 && self.is_linear();
        for e in 0..self.count() {
            if e == 0 || !shared {
                self.gather(e, &view, &mut q, &mut v);
                self.element(e)
                    .tangent(&q[..E::NQ], &v[..E::NV], &mut k[..size], &mut c[..size]);
            }
            self.send(e, &k[..size], stiffness);
            if self.element(e).has_velocity_forces() {
                self.send(e, &c[..size], damping);
            }
        }
    }

    fn fields(&self, view: View<'_>, values: &mut Vec<f64>) {
        let mut q: Local = [0.0; MOST];
        let width = E::FIELDS.len();
        for e in 0..self.count() {
            self.gather_positions(e, &view, &mut q);
            let start = values.len();
            values.resize(start + width, 0.0);
            self.element(e).fields(&q[..E::NQ], &mut values[start..]);
        }
    }

    fn field(&self, e: usize, view: View<'_>, values: &mut [f64]) {
        let mut q: Local = [0.0; MOST];
        self.gather_positions(e, &view, &mut q);
        self.element(e).fields(&q[..E::NQ], values);
    }

    fn field_at(&self, e: usize, node: u32, view: View<'_>, values: &mut [f64]) {
        let mut q: Local = [0.0; MOST];
        self.gather_positions(e, &view, &mut q);
        let local = self.nodes(e).iter().position(|own| *own == node);
        let element = self.element(e);
        match local {
            Some(local) => element.fields_at(&q[..E::NQ], local, values),
            None => element.fields(&q[..E::NQ], values),
        }
    }

    fn total_mass(&self) -> f64 {
        let (width, mut sum) = (E::NODE.velocities(), 0.0);
        self.with_mass(|_, mass| {
            for row in (0..E::NV).step_by(width) {
                let entries = mass[row * E::NV..(row + 1) * E::NV].iter();
                sum += entries.step_by(width).sum::<f64>();
            }
        });
        sum
    }

    fn bear(
        &self,
        e: usize,
        node: usize,
        view: View<'_>,
        rates: View<'_>,
        gravity: &[f64; 3],
        force: &mut [f64],
    ) {
        let (width, dimension) = (E::NODE.velocities(), E::NODE.dimension());
        let (mut q, mut v, mut a) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        self.gather_positions(e, &view, &mut q);
        self.gather_velocities(e, &view, &mut v);
        self.gather_velocities(e, &rates, &mut a);
        for (i, a) in a[..E::NV].iter_mut().enumerate() {
            if i % width < dimension {
                *a -= gravity[i % width];
            }
        }
        let (mut mass, mut own) = ([0.0; MOST * MOST], [0.0; MOST]);
        let element = self.element(e);
        element.mass(&mut mass[..E::NV * E::NV]);
        element.force(&q[..E::NQ], &v[..E::NV], &mut own[..E::NV]);
        for (c, force) in force.iter_mut().enumerate().take(width) {
            let row = node * width + c;
            let line = &mass[row * E::NV..(row + 1) * E::NV];
            *force += own[row] + line.iter().zip(&a).map(|(m, a)| m * a).sum::<f64>();
        }
    }

    fn body_force(&self, acceleration: &[f64; 3], f: &mut [f64]) {
        let (width, dimension) = (E::NODE.velocities(), E::NODE.dimension());
        let mut a: Local = [0.0; MOST];
        for (i, a) in a[..E::NV].iter_mut().enumerate() {
            *a = if i % width < dimension {
                acceleration[i % width]
            } else {
                0.0
            };
        }
        let mut force: Local = [0.0; MOST];
        self.with_mass(|e, mass| {
            for i in 0..E::NV {
                let row = &mass[i * E::NV..(i + 1) * E::NV];
                force[i] = row.iter().zip(&a).map(|(m, a)| m * a).sum();
            }
            self.scatter(e, 1.0, &force[..E::NV], f);
        });
    }

    fn place(&mut self, places: &Places) {
        let nodes = || self.nodes.iter().map(|&node| node as usize);
        self.positions = nodes().flat_map(|n| places.positions(n)).copied().collect();
        self.velocities = nodes()
            .flat_map(|n| places.velocities(n))
            .copied()
            .collect();
        self.free = places.nv;
        let positions = Table {
            places: &self.positions,
            width: E::NQ,
            free: places.nq,
        };
        let velocities = Table {
            places: &self.velocities,
            width: E::NV,
            free: places.nv,
        };
        self.runs = runs(self.count(), positions, velocities);
        self.put_in_order();
    }

    fn reach(&self) -> Option<usize> {
        self.order.as_ref().map(|order| order.reach)
    }

    fn subtract_force_rows(&self, view: RowsView<'_>, rows: Range<usize>, f: &mut [f64]) {
        self.force_on(view, &rows, f);
    }

    fn subtract_damping_rows(&self, view: RowsView<'_>, rows: Range<usize>, f: &mut [f64]) {
        if self.damped {
            let elements = self.meeting(&rows);
            self.subtract_some(view, elements, rows.start, f, E::damping_force);
        }
    }

    fn strain_energy_rows(&self, view: RowsView<'_>, rows: Range<usize>) -> f64 {
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
