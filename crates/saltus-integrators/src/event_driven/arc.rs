//! A smooth arc: positions along `retract`, velocities, works and impulses, integrated with dense output in local time.

use super::accelerations::Accelerations;
use super::dop853::{A, C, D, DENSE, E3, E5, EXTENDED, STAGES};
use super::modes::Mode;
use crate::integrator::StepError;
use crate::kit::{Row, Stage, TangentRate};
use saltus_linear::{Dense, axpy, dot, max_abs};
use saltus_system::{State, System};

/// A step is at most this many times longer or shorter than the last.
const GROWTH: f64 = 6.0;
const SHRINK: f64 = 0.2;
const SAFETY: f64 = 0.9;
/// Share of the largest coordinate that stands for the size of the others.
const SHARE: f64 = 1e-2;
/// A step shorter than this share of the one asked for cannot reach the tolerance.
const SHORTEST: f64 = 1e-13;

/// A piece of the arc with its dense output.
#[derive(Debug, Default)]
struct Segment {
    /// Where it begins, from the start of the step, and how long it is \[s\].
    start: f64,
    length: f64,
    /// The part of it that was taken \[s\].
    taken: f64,
    q: Vec<f64>,       // (nq)
    v: Vec<f64>,       // (nv)
    polynomial: Dense, // (7 × n)
}

/// Integrates with the modes of the contacts fixed.
#[derive(Debug)]
pub(super) struct Arc {
    /// Where a piece begins.
    pub(super) base: Stage,
    /// Where the system is evaluated.
    pub(super) work: Stage,
    pub(super) accelerations: Accelerations,
    pub(super) modes: Vec<Mode>,
    /// Whether each contact has friction.
    pub(super) has_friction: Vec<bool>,
    nv: usize,
    ng: usize,
    is_flat: bool,
    tangent: TangentRate,
    a: Vec<f64>,
    rates: Dense,            // of every stage (16 × n)
    y: Vec<f64>, // (n): ξ, v, works of external forces and reactions, impulses of bilateral rows and of the rows of the set
    end: Vec<f64>, // y at the end of the piece (n)
    estimate: [Vec<f64>; 2], // of orders 5 and 3, per time (2 nv)
    pieces: Vec<Segment>,
    used: usize,
    /// Works and impulses since the start of the step.
    total: Vec<f64>,
    /// Step of the integration \[s\] that the last one suggests; as large as can be at first.
    pub(super) suggestion: f64,
    pub(super) rejected: u32,
    /// Largest estimate of the error of momentum of a piece [N·s].
    pub(super) defect: f64,
    trial_defect: f64,
    rtol: f64,
    atol: Option<f64>,
}

impl Arc {
    pub(super) fn new(system: &dyn System, rtol: f64, atol: Option<f64>) -> Self {
        let dims = system.dims();
        Self {
            base: Stage::new(system),
            work: Stage::new(system),
            accelerations: Accelerations::default(),
            modes: Vec::new(),
            has_friction: Vec::new(),
            nv: dims.nv,
            ng: dims.ng,
            is_flat: system.is_flat(),
            tangent: TangentRate::new(dims.nv),
            a: vec![0.0; dims.nv],
            rates: Dense::default(),
            y: Vec::new(),
            end: Vec::new(),
            estimate: [vec![0.0; 2 * dims.nv], vec![0.0; 2 * dims.nv]],
            pieces: Vec::new(),
            used: 0,
            total: Vec::new(),
            suggestion: f64::MAX,
            rejected: 0,
            defect: 0.0,
            trial_defect: 0.0,
            rtol,
            atol,
        }
    }

    /// An arc begins at `start`.
    pub(super) fn begin(&mut self, system: &dyn System, start: &Stage) -> Result<(), StepError> {
        let rows = start.contacts.rate.len();
        let n = 2 * self.nv + 2 + self.ng + rows;
        self.base.take_contacts(start);
        self.work.take_contacts(start);
        self.y.resize(n, 0.0);
        self.end.resize(n, 0.0);
        if self.rates.rows() != EXTENDED || self.rates.cols() != n {
            self.rates.reset(EXTENDED, n);
        }
        self.total.clear();
        self.total.resize(n - 2 * self.nv, 0.0);
        self.used = 0;
        self.rejected = 0;
        self.defect = 0.0;
        self.base.t = start.t;
        self.base.q.copy_from_slice(&start.q);
        self.base.v.copy_from_slice(&start.v);
        self.begin_piece(system)
    }

    /// Rates at the start of a piece.
    fn begin_piece(&mut self, system: &dyn System) -> Result<(), StepError> {
        let nv = self.nv;
        self.y.fill(0.0);
        self.y[nv..2 * nv].copy_from_slice(&self.base.v);
        self.set_rates(system, 0, self.base.t)
    }

    /// Evaluates the system at `y`, time `t`: mass, force, rows, laws, and forces of the closed contacts.
    fn evaluate(&mut self, system: &dyn System, t: f64) -> Result<(), StepError> {
        let nv = self.nv;
        self.work.retract(system, &self.base, &self.y[..nv], t);
        self.work.v.copy_from_slice(&self.y[nv..2 * nv]);
        self.place_work(system)
    }

    /// Everything at the point that `work` is at.
    pub(super) fn place_work(&mut self, system: &dyn System) -> Result<(), StepError> {
        let work = &mut self.work;
        work.place(system, super::NAME)?;
        work.place_laws(system);
        work.evaluate_force(system)?;
        work.evaluate_bias(system);
        let modes = (&*self.modes, &*self.has_friction);
        if self.accelerations.evaluate(work, self.ng, modes) {
            return Ok(());
        }
        Err(super::no_forces(system, &self.work, &self.modes))
    }

    /// Rates of `y` at time `t`, for stage `l`.
    fn set_rates(&mut self, system: &dyn System, l: usize, t: f64) -> Result<(), StepError> {
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
            match of {
                Row::Bilateral(i) => rest[2 + i] = force,
                Row::Normal(_, i) | Row::Tangent(_, i) => rest[2 + ng + i] = force,
                Row::Friction(_) => {}
            }
        }
        Ok(())
    }

    /// Integrates one piece of at most `most` \[s\] and returns its length; [`accept`](Self::accept) takes it, or a part.
    pub(super) fn advance(&mut self, system: &dyn System, most: f64) -> Result<f64, StepError> {
        let mut h = most.min(self.suggestion);
        // A last piece of almost nothing is avoided.
        if most - h < 0.1 * h {
            h = most;
        }
        let mut was_rejected = false;
        loop {
            let ratio = self.attempt(system, h);
            let error = match ratio {
                Ok(error) if error <= 1.0 => {
                    let factor = SAFETY * error.max(1e-16).powf(-0.125);
                    let limit = if was_rejected { 1.0 } else { GROWTH };
                    let next = h * factor.clamp(SHRINK, limit);
                    // A piece cut short by the end of the step tells little of longer ones.
                    self.suggestion = if h < self.suggestion && h == most {
                        next.max(self.suggestion)
                    } else {
                        next
                    };
                    self.defect = self.defect.max(self.trial_defect);
                    self.extend(system, h)?;
                    return Ok(h);
                }
                other => other,
            };
            was_rejected = true;
            self.rejected += 1;
            let shorter = match &error {
                Ok(error) if error.is_finite() => {
                    h * (SAFETY * error.powf(-0.125)).clamp(SHRINK, 1.0)
                }
                _ => 0.25 * h,
            };
            if shorter < SHORTEST * most {
                return Err(match error {
                    Err(error) => error,
                    Ok(_) => StepError::Integration {
                        t: self.base.t,
                        h: shorter,
                        rtol: self.rtol,
                    },
                });
            }
            h = shorter;
            self.suggestion = h;
        }
    }

    /// One step of the method; the error over its tolerance.
    fn attempt(&mut self, system: &dyn System, h: f64) -> Result<f64, StepError> {
        let nv = self.nv;
        for l in 1..=STAGES {
            self.combine(l, h);
            if l == STAGES {
                self.end.copy_from_slice(&self.y);
            }
            self.set_rates(system, l, self.base.t + C[l] * h)?;
        }
        for (weights, out) in [&E5, &E3].into_iter().zip(&mut self.estimate) {
            out.fill(0.0);
            for (l, w) in weights.iter().enumerate() {
                if *w != 0.0 {
                    axpy(*w, &self.rates.row(l)[..2 * nv], out);
                }
            }
        }
        let (mut fifth, mut third) = (0.0, 0.0);
        for block in 0..2 {
            let size = self.size_of(block, h);
            for i in 0..nv {
                let j = block * nv + i;
                let scale = self.scale_of(block, i, j, size);
                if scale > 0.0 {
                    fifth += (self.estimate[0][j] / scale).powi(2);
                    third += (self.estimate[1][j] / scale).powi(2);
                }
            }
        }
        self.trial_defect = 0.0;
        if fifth == 0.0 {
            return Ok(if third.is_nan() { third } else { 0.0 });
        }
        let below = fifth + 0.01 * third;
        // The estimate of the velocities as a momentum, weighed like the error.
        self.work.mass.apply(&self.estimate[0][nv..], &mut self.a);
        self.trial_defect = h * (fifth / below).sqrt() * max_abs(&self.a);
        Ok(h * fifth / (below * 2.0 * nv as f64).sqrt())
    }

    /// Size that the coordinates of a block (positions, velocities) have.
    fn size_of(&self, block: usize, h: f64) -> f64 {
        // Accelerations are differences of those without forces.
        let moved = if block == 0 {
            max_abs(&self.base.v)
        } else {
            max_abs(self.accelerations.free())
        };
        let own = match (block, self.is_flat) {
            (0, true) => max_abs(&self.base.q),
            (0, false) => max_abs(&self.end[..self.nv]),
            _ => max_abs(&self.base.v),
        };
        own.max(h * moved)
    }

    /// Tolerance of the coordinate `j` of `y`, number `i` of its block.
    fn scale_of(&self, block: usize, i: usize, j: usize, size: f64) -> f64 {
        let (before, after) = match (block, self.is_flat) {
            (0, true) => (self.base.q[i], self.base.q[i] + self.end[j]),
            (0, false) => (0.0, self.end[j]),
            _ => (self.base.v[i], self.end[j]),
        };
        let floor = self.atol.unwrap_or(SHARE * self.rtol * size);
        floor + self.rtol * before.abs().max(after.abs())
    }

    /// `y` of stage `l` in a step of length `h`.
    fn combine(&mut self, l: usize, h: f64) {
        let nv = self.nv;
        self.y.fill(0.0);
        for (k, w) in A[l].iter().enumerate() {
            if *w != 0.0 {
                axpy(h * w, self.rates.row(k), &mut self.y);
            }
        }
        axpy(1.0, &self.base.v, &mut self.y[nv..2 * nv]);
    }

    /// The stages and the polynomial of the dense output of an accepted step.
    fn extend(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        for l in STAGES + 1..EXTENDED {
            self.combine(l, h);
            self.set_rates(system, l, self.base.t + C[l] * h)?;
        }
        if self.used == self.pieces.len() {
            self.pieces.push(Segment::default());
        }
        let n = self.y.len();
        let start = self.time();
        let (nv, end, rates) = (self.nv, &self.end, &self.rates);
        let piece = &mut self.pieces[self.used];
        piece.start = start;
        piece.length = h;
        piece.taken = h;
        piece.q.clone_from(&self.base.q);
        piece.v.clone_from(&self.base.v);
        piece.polynomial.reset(DENSE, n);
        let (first, last) = (rates.row(0), rates.row(STAGES));
        for i in 0..n {
            let before = if (nv..2 * nv).contains(&i) {
                self.base.v[i - nv]
            } else {
                0.0
            };
            let change = end[i] - before;
            piece.polynomial[(0, i)] = change;
            piece.polynomial[(1, i)] = h * first[i] - change;
            piece.polynomial[(2, i)] = 2.0 * change - h * (first[i] + last[i]);
        }
        for (k, weights) in D.iter().enumerate() {
            let row = piece.polynomial.row_mut(3 + k);
            for (l, w) in weights.iter().enumerate() {
                if *w != 0.0 {
                    axpy(h * w, rates.row(l), row);
                }
            }
        }
        Ok(())
    }

    /// Time since the start of the step \[s\] where the next piece begins.
    pub(super) fn time(&self) -> f64 {
        let last = self.used.checked_sub(1).map(|k| &self.pieces[k]);
        last.map_or(0.0, |p| p.start + p.taken)
    }

    /// Moves `work` into the piece just integrated, `s` \[s\] after its start, and evaluates contacts there; with `forces`, all of it.
    pub(super) fn look(
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
        let nv = self.nv;
        self.work.retract(system, &self.base, &self.y[..nv], t);
        self.work.v.copy_from_slice(&self.y[nv..2 * nv]);
        self.work.place_rows(system);
        Ok(())
    }

    /// Takes the piece just integrated up to `s` \[s\] after its start; the next one begins there.
    pub(super) fn accept(&mut self, system: &dyn System, s: f64) {
        let nv = self.nv;
        let piece = &mut self.pieces[self.used];
        if s < piece.length {
            piece.taken = s;
            polynomial_at(piece, s / piece.length, nv, &mut self.end);
        }
        for (total, x) in self.total.iter_mut().zip(&self.end[2 * nv..]) {
            *total += x;
        }
        // The polynomial stays that of the whole piece: only its part is asked for.
        self.base.t += s;
        system.retract(&mut self.base.q, &self.end[..nv]);
        self.base.v.copy_from_slice(&self.end[nv..2 * nv]);
        self.used += 1;
    }

    /// Rates where the next piece begins.
    pub(super) fn go_on(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.begin_piece(system)
    }

    /// Works of external forces and of reactions \[J\], impulses of bilateral rows and of the rows of the set [N·s], since the start.
    pub(super) fn totals(&self) -> ((f64, f64), &[f64], &[f64]) {
        let (bilateral, rows) = self.total[2..].split_at(self.ng);
        ((self.total[0], self.total[1]), bilateral, rows)
    }

    /// The state `s` \[s\] after the start of the step, inside of its arc.
    pub(super) fn interpolate(&self, system: &dyn System, s: f64, out: &mut State) -> bool {
        let pieces = &self.pieces[..self.used];
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
