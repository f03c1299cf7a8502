//! A smooth arc: positions along `retract`, velocities, works and impulses, integrated with dense output in local time, by the
//! explicit method ([`explicit`](super::explicit)) or by the implicit one ([`implicit`](super::implicit)), in pieces as long as
//! [`step_control`](super::step_control) finds.
//!
//! With two tangents the direction of friction turns at the rate `|u̇_T| / |u_T|`: a contact that begins to slip, or comes to
//! rest, makes the motion stiff. The implicit method takes these pieces.

use super::accelerations::Accelerations;
use super::dop853::{DENSE, EXTENDED};
use super::implicit::Radau;
use super::modes::{ContactModes, Mode, direction, size, slip};
use super::options::EventDrivenOptions;
use super::step_control::{Method, Obstacle};
use crate::integrator::StepError;
use crate::kit::{Row, Stage, TangentRate};
use saltus_linear::{Dense, axpy, dot, max_abs};
use saltus_system::{State, System};

/// Share of the largest coordinate that stands for the size of the others.
const SHARE: f64 = 1e-2;
/// Works of an arc: of external forces, of reactions, and of what moves by itself, a part of the second.
const WORKS: usize = 3;

/// A piece of the arc with its dense output.
#[derive(Debug, Default)]
pub(super) struct Segment {
    /// Where it begins, from the start of the step, and how long it is \[s\].
    start: f64,
    length: f64,
    /// How far it was taken \[s\].
    pub(super) taken: f64,
    q: Vec<f64>,                  // (nq)
    v: Vec<f64>,                  // (nv)
    pub(super) polynomial: Dense, // (7 × n)
}

/// Integrates with the modes of the contacts fixed.
#[derive(Debug)]
pub(super) struct Arc {
    /// Where a piece begins.
    pub(super) base: Stage,
    /// Where the system is evaluated.
    pub(super) work: Stage,
    pub(super) accelerations: Accelerations,
    pub(super) modes: ContactModes,
    pub(super) nv: usize,
    ng: usize,
    is_flat: bool,
    /// Whether every piece is integrated by the implicit method.
    pub(super) stiff: bool,
    /// Largest rate at which friction turns where the piece begins [1/s].
    pub(super) turning: f64,
    /// Largest acceleration without reactions where the piece begins.
    free_size: f64,
    /// Size of velocities along contacts in the motion so far [m/s].
    pub(super) speed: f64,
    tangent: TangentRate,
    pub(super) a: Vec<f64>,
    /// Accelerations behind a jump.
    pub(super) beyond: Vec<f64>,
    pub(super) rates: Dense,            // of every stage (16 × n)
    pub(super) y: Vec<f64>, // (n): ξ, v, works (WORKS), impulses of bilateral rows and of the rows of the set
    pub(super) end: Vec<f64>, // y at the end of the piece (n)
    pub(super) estimate: [Vec<f64>; 2], // of orders 5 and 3, per time (2 nv)
    pub(super) radau: Radau,
    pub(super) pieces: Vec<Segment>,
    /// Pieces of the step that were taken to their ends; the next one may be under way.
    pub(super) used: usize,
    is_under_way: bool,
    /// Whether `end` is the end of the piece under way.
    is_at_end: bool,
    /// Where the arc has led (nq, nv).
    pub(super) reached: State,
    /// Works and impulses since the start of the piece under way.
    taken: Vec<f64>,
    /// Works and impulses since the start of the step.
    total: Vec<f64>,
    /// Step of the integration \[s\] that the last one of each method suggests; as large as can be at first.
    pub(super) suggestion: [f64; 2],
    /// Where attempts were rejected.
    pub(super) obstacle: Obstacle,
    /// The velocity whose acceleration changed most in the last jump of the force.
    pub(super) jump: Option<usize>,
    pub(super) rejected: u32,
    /// Largest estimate of the error of momentum of a piece [N·s].
    pub(super) defect: f64,
    pub(super) trial_defect: f64,
    pub(super) rtol: f64,
    atol: Option<f64>,
}

impl Arc {
    pub(super) fn new(system: &dyn System, options: &EventDrivenOptions) -> Self {
        let dims = system.dims();
        Self {
            base: Stage::new(system),
            work: Stage::new(system),
            accelerations: Accelerations::default(),
            modes: ContactModes::default(),
            nv: dims.nv,
            ng: dims.ng,
            is_flat: system.is_flat(),
            stiff: options.stiff,
            turning: 0.0,
            free_size: 0.0,
            speed: 0.0,
            tangent: TangentRate::new(dims.nv),
            a: vec![0.0; dims.nv],
            beyond: vec![0.0; dims.nv],
            rates: Dense::default(),
            y: Vec::new(),
            end: Vec::new(),
            estimate: [vec![0.0; 2 * dims.nv], vec![0.0; 2 * dims.nv]],
            radau: Radau::new(dims.nv),
            pieces: Vec::new(),
            used: 0,
            is_under_way: false,
            is_at_end: false,
            reached: State::new(0.0, vec![0.0; dims.nq], vec![0.0; dims.nv]),
            taken: Vec::new(),
            total: Vec::new(),
            suggestion: [f64::MAX; 2],
            obstacle: Obstacle::default(),
            jump: None,
            rejected: 0,
            defect: 0.0,
            trial_defect: 0.0,
            rtol: options.rtol,
            atol: options.atol,
        }
    }

    /// An arc begins at `start`, with the contacts there, or the piece under way goes on from there.
    pub(super) fn begin(&mut self, system: &dyn System, start: &Stage) -> Result<(), StepError> {
        let rows = start.contacts.rate.len();
        let n = 2 * self.nv + WORKS + self.ng + rows;
        self.base.take_contacts(start);
        self.work.take_contacts(start);
        self.y.resize(n, 0.0);
        self.end.resize(n, 0.0);
        if self.rates.rows() != EXTENDED || self.rates.cols() != n {
            self.rates.reset(EXTENDED, n);
        }
        self.total.clear();
        self.total.resize(n - 2 * self.nv, 0.0);
        self.taken.resize(n - 2 * self.nv, 0.0);
        self.rejected = 0;
        self.defect = 0.0;
        self.reached.q.copy_from_slice(&start.q);
        self.reached.v.copy_from_slice(&start.v);
        if self.is_under_way {
            self.pieces.swap(0, self.used);
            self.used = 0;
            self.is_at_end = false;
            let piece = &mut self.pieces[0];
            piece.start = -piece.taken;
            return Ok(());
        }
        self.used = 0;
        self.obstacle = Obstacle::default();
        self.base.t = start.t;
        self.begin_piece(system)
    }

    /// Whether a piece goes on from the last step to the next.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// What is left of the piece under way is not taken.
    pub(super) fn interrupt(&mut self) {
        self.is_under_way = false;
    }

    /// Whether nothing is constrained: no contact is closed.
    pub(super) fn is_free(&self) -> bool {
        self.ng == 0 && !self.modes.list.iter().any(|m| m.is_closed())
    }

    /// Whether a piece may last over several outputs: nothing drifts that would be removed there, and the dense output is as accurate as
    /// the end of a step.
    pub(super) fn may_last(&self) -> bool {
        !self.stiff && self.is_free()
    }

    /// The part of the piece under way that lies in the next `left` \[s\]: from and to where, since its start.
    pub(super) fn part(&self, left: f64) -> (f64, f64) {
        let piece = &self.pieces[self.used];
        (piece.taken, piece.length.min(piece.taken + left))
    }

    /// Length of the piece under way \[s\].
    pub(super) fn length(&self) -> f64 {
        self.pieces[self.used].length
    }

    /// Rates at the start of a piece.
    pub(super) fn begin_piece(&mut self, system: &dyn System) -> Result<(), StepError> {
        let nv = self.nv;
        self.base.q.copy_from_slice(&self.reached.q);
        self.base.v.copy_from_slice(&self.reached.v);
        self.taken.fill(0.0);
        self.y.fill(0.0);
        self.y[nv..2 * nv].copy_from_slice(&self.base.v);
        self.radau.is_linearised = false;
        self.take_directions(system);
        self.set_rates(system, 0, self.base.t)?;
        self.turning = self.turning();
        self.free_size = max_abs(self.accelerations.free());
        Ok(())
    }

    /// Contacts that slip in space take the direction of their velocity.
    fn take_directions(&mut self, system: &dyn System) {
        if !(0..self.modes.len()).any(|i| self.modes.slips_in_space(i)) {
            return;
        }
        self.move_work(system, self.base.t);
        self.work.place_rows(system);
        for i in 0..self.modes.len() {
            if let Mode::Slip(last) = self.modes[i]
                && self.modes.tangents[i] == 2
            {
                let (u, slowest) = (slip(&self.work, i, 2), self.modes.slowest);
                let forward = if size(u) > slowest { u } else { last };
                self.modes[i] = Mode::Slip(direction(u, forward, slowest));
            }
        }
    }

    /// Largest rate at which the direction of friction of a contact may turn where the system was evaluated last [1/s].
    fn turning(&self) -> f64 {
        let mut fastest = 0.0_f64;
        for (k, &i) in self.accelerations.contacts().iter().enumerate() {
            if self.modes.slips_in_space(i) {
                let carried = self.accelerations.contact_force(k);
                let friction = size(carried.tangent) * carried.compliance[1];
                let speed = size(slip(&self.work, i, 2));
                let rate = (friction + size(carried.slip)) / speed;
                fastest = fastest.max(if speed > self.modes.slowest {
                    rate
                } else {
                    f64::INFINITY
                });
            }
        }
        fastest
    }

    /// Moves `work` to `y` at time `t`.
    fn move_work(&mut self, system: &dyn System, t: f64) {
        let nv = self.nv;
        self.work.retract(system, &self.base, &self.y[..nv], t);
        self.work.v.copy_from_slice(&self.y[nv..2 * nv]);
    }

    /// Evaluates the system at `y`, time `t`: mass, force, rows, laws, and forces of the closed contacts.
    pub(super) fn evaluate(&mut self, system: &dyn System, t: f64) -> Result<(), StepError> {
        self.move_work(system, t);
        let work = &mut self.work;
        work.place(system, super::NAME)?;
        work.place_laws(system);
        work.evaluate_force(system)?;
        work.evaluate_bias(system);
        if self.accelerations.evaluate(work, self.ng, &self.modes) {
            return Ok(());
        }
        Err(super::modes::no_forces(
            system,
            &self.work,
            &self.modes.list,
        ))
    }

    /// Rates of `y` at time `t`, for stage `l`.
    pub(super) fn set_rates(
        &mut self,
        system: &dyn System,
        l: usize,
        t: f64,
    ) -> Result<(), StepError> {
        self.evaluate(system, t)?;
        self.work.evaluate_power(system);
        self.accelerations.accelerate(&mut self.a);
        let (nv, ng) = (self.nv, self.ng);
        let row = self.rates.row_mut(l);
        row[..nv].copy_from_slice(&self.work.v);
        let place = (self.base.q.as_slice(), &self.y[..nv]);
        let rate = &mut row[..nv];
        self.tangent.apply(system, super::NAME, place, rate)?;
        row[nv..2 * nv].copy_from_slice(&self.a);
        let rest = &mut row[2 * nv..];
        rest.fill(0.0);
        rest[0] = dot(&self.work.power, &self.work.v);
        for (of, force) in self.accelerations.forces() {
            let (matrix, i) = self.work.row(of);
            rest[1] += force * matrix.dot(i, &self.work.v);
            rest[2] -= force * self.work.rate(of);
            match of {
                Row::Bilateral(i) => rest[WORKS + i] = force,
                Row::Normal(_, i) | Row::Tangent(_, i) => rest[WORKS + ng + i] = force,
                Row::Friction(_) => {}
            }
        }
        Ok(())
    }

    /// Size that the coordinates of a block (positions, velocities) have.
    pub(super) fn size_of(&self, block: usize, h: f64) -> f64 {
        // Accelerations are differences of those without forces.
        let changed = h * self.free_size;
        let speed = max_abs(&self.base.v);
        match (block, self.is_flat) {
            (0, true) => max_abs(&self.base.q).max(h * speed.max(changed)),
            (0, false) => max_abs(&self.end[..self.nv]).max(h * speed.max(changed)),
            // The direction of slip need not be smooth where slip ends, and speeds that matter do not become smaller.
            _ if self.turning > 0.0 => self.speed.max(changed),
            _ => speed.max(changed),
        }
    }

    /// The absolute tolerance of a block in steps of about `h` \[s\].
    pub(super) fn absolute_tolerance(&self, block: usize, h: f64) -> f64 {
        let derived = || SHARE * self.rtol * self.size_of(block, h);
        self.atol.unwrap_or_else(derived)
    }

    /// Tolerance of the coordinate `j` of `y`, number `i` of its block.
    pub(super) fn scale_of(&self, block: usize, i: usize, j: usize, size: f64) -> f64 {
        let (before, after) = match (block, self.is_flat) {
            (0, true) => (self.base.q[i], self.base.q[i] + self.end[j]),
            (0, false) => (0.0, self.end[j]),
            _ => (self.base.v[i], self.end[j]),
        };
        self.atol.unwrap_or(SHARE * self.rtol * size) + self.rtol * before.abs().max(after.abs())
    }

    /// The polynomial of the dense output of an accepted step.
    pub(super) fn extend(
        &mut self,
        system: &dyn System,
        method: Method,
        h: f64,
    ) -> Result<(), StepError> {
        if method == Method::Explicit {
            self.extend_stages(system, h)?;
        }
        let mut piece = self.next_piece(h);
        match method {
            Method::Explicit => self.interpolate_explicit(&mut piece.polynomial, h),
            Method::Implicit => self.radau.interpolate(&mut piece.polynomial),
        }
        self.pieces[self.used] = piece;
        Ok(())
    }

    /// A piece of no rates yet, taken from its place, `h` \[s\] long.
    pub(super) fn next_piece(&mut self, h: f64) -> Segment {
        if self.used == self.pieces.len() {
            self.pieces.push(Segment::default());
        }
        let start = self.time();
        let mut piece = std::mem::take(&mut self.pieces[self.used]);
        piece.start = start;
        piece.length = h;
        piece.taken = 0.0;
        self.is_under_way = true;
        self.is_at_end = true;
        piece.q.clone_from(&self.base.q);
        piece.v.clone_from(&self.base.v);
        piece.polynomial.reset(DENSE, self.y.len());
        piece
    }

    /// Time since the start of the step \[s\] that was taken.
    pub(super) fn time(&self) -> f64 {
        let pieces = self.used + usize::from(self.is_under_way);
        let last = pieces.checked_sub(1).map(|k| &self.pieces[k]);
        last.map_or(0.0, |p| p.start + p.taken)
    }

    /// Moves `work` into the piece under way, `s` \[s\] after its start, and evaluates contacts there; with `forces`, all of it.
    pub(super) fn evaluate_dense_output(
        &mut self,
        system: &dyn System,
        s: f64,
        forces: bool,
    ) -> Result<(), StepError> {
        let piece = &self.pieces[self.used];
        polynomial_at(piece, s / piece.length, self.nv, &mut self.y);
        let t = self.base.t + s;
        if forces {
            return self.evaluate(system, t);
        }
        self.move_work(system, t);
        self.work.place_rows(system);
        Ok(())
    }

    /// Takes the piece under way up to `s` \[s\] after its start.
    pub(super) fn accept(&mut self, system: &dyn System, s: f64) {
        let nv = self.nv;
        let piece = &mut self.pieces[self.used];
        if !(self.is_at_end && s == piece.length) {
            polynomial_at(piece, s / piece.length, nv, &mut self.end);
            self.is_at_end = false;
        }
        piece.taken = s;
        let is_over = s >= piece.length;
        let rest = self.end[2 * nv..].iter();
        for ((total, taken), x) in self.total.iter_mut().zip(&mut self.taken).zip(rest) {
            *total += x - *taken;
            *taken = *x;
        }
        self.reached.q.copy_from_slice(&self.base.q);
        system.retract(&mut self.reached.q, &self.end[..nv]);
        self.reached.v.copy_from_slice(&self.end[nv..2 * nv]);
        if is_over {
            self.end_piece();
        }
    }

    /// The piece under way ends where it was taken to; the next one begins there.
    pub(super) fn end_piece(&mut self) {
        if self.is_under_way {
            self.base.t += self.pieces[self.used].taken;
            self.used += 1;
            self.is_under_way = false;
        }
    }

    /// Works of external forces, of reactions and of what moves by itself \[J\], since the start.
    pub(super) fn works(&self) -> [f64; WORKS] {
        [self.total[0], self.total[1], self.total[2]]
    }

    /// Impulses of bilateral rows and of the rows of the set [N·s], since the start.
    pub(super) fn impulses(&self) -> (&[f64], &[f64]) {
        self.total[WORKS..].split_at(self.ng)
    }

    /// The state `s` \[s\] after the start of the step, inside of its arc.
    pub(super) fn interpolate(&self, system: &dyn System, s: f64, out: &mut State) -> bool {
        let pieces = &self.pieces[..self.used + usize::from(self.is_under_way)];
        let Some(k) = pieces.iter().rposition(|p| p.start <= s) else {
            return false;
        };
        let piece = &pieces[k];
        let mut y = vec![0.0; piece.polynomial.cols()];
        polynomial_at(piece, (s - piece.start) / piece.length, self.nv, &mut y);
        out.q.clone_from(&piece.q);
        system.retract(&mut out.q, &y[..self.nv]);
        out.v.clear();
        out.v.extend_from_slice(&y[self.nv..2 * self.nv]);
        true
    }
}

/// The dense output at the share `x` of a piece.
fn polynomial_at(piece: &Segment, x: f64, nv: usize, y: &mut [f64]) {
    y.fill(0.0);
    for k in (0..DENSE).rev() {
        let factor = if k % 2 == 0 { x } else { 1.0 - x };
        for (y, p) in y.iter_mut().zip(piece.polynomial.row(k)) {
            *y = (*y + p) * factor;
        }
    }
    axpy(1.0, &piece.v, &mut y[nv..2 * nv]);
}

/// The piece under way in the memory of the scheme.
impl Arc {
    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        memory.extend(self.suggestion);
        self.radau.save(memory);
        memory.push(f64::from(u8::from(self.is_under_way)));
        if self.is_under_way {
            let piece = &self.pieces[self.used];
            let columns = piece.polynomial.cols();
            memory.extend([self.base.t, piece.length, piece.taken, columns as f64]);
            memory.extend_from_slice(&piece.q);
            memory.extend_from_slice(&piece.v);
            for k in 0..DENSE {
                memory.extend_from_slice(piece.polynomial.row(k));
            }
            memory.extend(self.obstacle.save());
        }
    }

    /// Takes up what [`save`](Self::save) gave; what follows it is returned.
    pub(super) fn load<'a>(&mut self, memory: &'a [f64]) -> Option<&'a [f64]> {
        let [explicit, implicit, rest @ ..] = memory else {
            return None;
        };
        self.suggestion = [*explicit, *implicit];
        let [is_under_way, rest @ ..] = self.radau.load(rest)? else {
            return None;
        };
        self.is_under_way = false;
        if *is_under_way != 1.0 {
            return Some(rest);
        }
        let [t, length, taken, columns, rest @ ..] = rest else {
            return None;
        };
        self.used = 0;
        self.base.t = *t;
        let mut piece = self.next_piece(*length);
        piece.taken = *taken;
        let (q, rest) = rest.split_at_checked(piece.q.len())?;
        let (v, rest) = rest.split_at_checked(piece.v.len())?;
        piece.q.copy_from_slice(q);
        piece.v.copy_from_slice(v);
        self.base.q.copy_from_slice(q);
        self.base.v.copy_from_slice(v);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let columns = *columns as usize;
        piece.polynomial.reset(DENSE, columns);
        let mut rest = rest;
        for k in 0..DENSE {
            let (row, left) = rest.split_at_checked(columns)?;
            piece.polynomial.row_mut(k).copy_from_slice(row);
            rest = left;
        }
        let mut y = vec![0.0; columns];
        polynomial_at(&piece, taken / length, self.nv, &mut y);
        self.taken.clear();
        self.taken.extend_from_slice(&y[2 * self.nv..]);
        self.pieces[0] = piece;
        let (obstacle, rest) = rest.split_at_checked(Obstacle::NUMBERS)?;
        self.obstacle.load(obstacle);
        Some(rest)
    }
}
