//! A smooth arc: positions along `retract`, velocities, works and impulses, integrated with dense output in local time, by the
//! explicit method ([`explicit`](super::explicit)) or by the implicit one ([`implicit`](super::implicit)).
//!
//! With two tangents the direction of friction turns at the rate `|u̇_T| / |u_T|`: a contact that begins to slip, or comes to
//! rest, makes the motion stiff. The implicit method takes these pieces.

use super::accelerations::Accelerations;
use super::dop853::{DENSE, EXTENDED};
use super::implicit::Radau;
use super::modes::{ContactModes, Mode, direction, size, slip};
use super::options::EventDrivenOptions;
use super::step_control::{Jumps, Method};
use crate::integrator::StepError;
use crate::kit::{EvaluationPoint, Row, TangentRate};
use saltus_linear::{Dense, axpy, dot, max_abs};
use saltus_system::{MassKind, State, System};

/// Default of `atol` over `rtol` times the largest coordinate.
const SHARE: f64 = 1e-2;

/// Steps that a piece reaches over, with some room for round-off of their times.
const REACH: f64 = 64.5;

/// Works of an arc: of external forces, of reactions, and of prescribed motions (`∂g/∂t ≠ 0`), a part of the second.
const WORKS: usize = 3;

/// Coefficients of the dense output of every entry of `y` (n).
pub(super) type Polynomial = Vec<[f64; DENSE]>;

/// A piece of the arc: one accepted step of the integration, with its dense output.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Where it begins, from the start of the step, and how long it is \[s\].
    pub(super) start: f64,
    pub(super) length: f64,
    /// The part of it that was taken \[s\].
    pub(super) taken: f64,
    /// Number of coefficients of the polynomial, from the first, that need not be zero.
    pub(super) coefficients: usize,
    pub(super) t: f64,      // where it begins \[s\]
    pub(super) q: Vec<f64>, // (nq)
    pub(super) v: Vec<f64>, // (nv)
    pub(super) polynomial: Polynomial,
}

/// Integrates with the modes of the contacts fixed.
#[derive(Debug)]
pub(super) struct Arc {
    /// Where a piece begins.
    pub(super) base: EvaluationPoint,
    /// Where the system is evaluated.
    pub(super) trial: EvaluationPoint,
    pub(super) accelerations: Accelerations,
    pub(super) modes: ContactModes,
    pub(super) nv: usize,
    ng: usize,
    pub(super) is_flat: bool,
    is_conservative: bool,
    /// Whether accelerations without reactions are the same everywhere: free flight is a parabola.
    pub(super) is_ballistic: bool,
    /// Whether gaps are affine and laws constant.
    pub(super) contacts_are_affine: bool,
    /// Whether accelerations are the same along the whole arc.
    pub(super) has_constant_acceleration: bool,
    /// Whether constraints or closed contacts act along the arc.
    has_reactions: bool,
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
    pub(super) rates: Dense, // of every stage (16 × n)
    /// ξ, v, works (WORKS), impulses of bilateral rows and of the rows of the set; in free flight without the impulses, of a conservative
    /// system without works too (n).
    pub(super) y: Vec<f64>,
    pub(super) end: Vec<f64>,           // y at the end of the piece (n)
    pub(super) estimate: [Vec<f64>; 2], // of orders 5 and 3, per time (2 nv)
    pub(super) radau: Radau,
    pub(super) pieces: Vec<Piece>,
    pub(super) used: usize,
    /// Whether the last piece goes on beyond the end of the step, where the arc left it.
    pub(super) goes_on: bool,
    /// Where in the first piece \[s\] the step begins, if that is one that goes on.
    carried: Option<f64>,
    /// Whether that piece is known by its start and its length only.
    pub(super) is_restored: bool,
    /// Works and impulses since the start of the step.
    pub(super) total: Vec<f64>,
    /// Step of the integration \[s\] that the last one of each method suggests; as large as can be at first.
    pub(super) suggestion: [f64; 2],
    pub(super) jumps: Jumps,
    /// What the round-off of positions, and of the time, makes of the accelerations, where it was measured (nv).
    pub(super) noise: [Vec<f64>; 2],
    pub(super) has_noise: bool,
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
            base: EvaluationPoint::new(system),
            trial: EvaluationPoint::new(system),
            accelerations: Accelerations::default(),
            modes: ContactModes::default(),
            nv: dims.nv,
            ng: dims.ng,
            is_flat: system.is_flat(),
            is_conservative: system.is_conservative(),
            is_ballistic: system.is_flat()
                && dims.ng == 0
                && system.force_is_constant()
                && system.structure().mass == MassKind::Constant
                && !options.stiff,
            contacts_are_affine: system.gaps_are_affine()
                && system.contacts_are_fixed()
                && !system.laws_vary(),
            has_constant_acceleration: false,
            has_reactions: true,
            stiff: options.stiff,
            turning: 0.0,
            free_size: 0.0,
            speed: 0.0,
            tangent: TangentRate::new(dims.nv),
            a: vec![0.0; dims.nv],
            rates: Dense::default(),
            y: vec![0.0; 2 * dims.nv],
            end: vec![0.0; 2 * dims.nv],
            estimate: [vec![0.0; 2 * dims.nv], vec![0.0; 2 * dims.nv]],
            radau: Radau::new(dims.nv),
            pieces: Vec::new(),
            used: 0,
            goes_on: false,
            carried: None,
            is_restored: false,
            total: Vec::new(),
            suggestion: [f64::MAX; 2],
            jumps: Jumps::default(),
            noise: [vec![0.0; dims.nv], vec![0.0; dims.nv]],
            has_noise: false,
            rejected: 0,
            defect: 0.0,
            trial_defect: 0.0,
            rtol: options.rtol,
            atol: options.atol,
        }
    }

    /// An arc of `length` \[s\] begins at `start`.
    pub(super) fn begin(
        &mut self,
        system: &dyn System,
        start: &EvaluationPoint,
        length: f64,
    ) -> Result<(), StepError> {
        let rows = start.contacts.rate.len();
        self.total.clear();
        self.total.resize(WORKS + self.ng + rows, 0.0);
        self.trial.take_contacts(start);
        self.has_reactions = self.ng > 0 || self.modes.list.iter().any(|mode| mode.is_closed());
        let slips_in_space = || (0..self.modes.len()).any(|i| self.modes.slips_in_space(i));
        self.has_constant_acceleration = self.is_ballistic
            && (!self.has_reactions || self.contacts_are_affine && !slips_in_space());
        let n = 2 * self.nv
            + match (self.has_reactions, self.is_conservative) {
                (true, _) => self.total.len(),
                (false, false) => WORKS,
                (false, true) => 0,
            };
        self.y.resize(n, 0.0);
        self.end.resize(n, 0.0);
        if self.rates.rows() != EXTENDED || self.rates.cols() != n {
            // Room for the arcs with reactions, which follow.
            self.rates.reset(EXTENDED, 2 * self.nv + self.total.len());
            self.rates.reset(EXTENDED, n);
        }
        self.rejected = 0;
        self.jumps = Jumps::default();
        self.noise.iter_mut().for_each(|noise| noise.fill(0.0));
        self.has_noise = false;
        self.defect = 0.0;
        self.carried = None;
        if self.continues(system, start, length) {
            self.carried = Some(self.pieces[0].taken);
            return Ok(());
        }
        self.used = 0;
        self.base.t = start.t;
        self.base.q.copy_from_slice(&start.q);
        self.base.v.copy_from_slice(&start.v);
        self.begin_piece(system)
    }

    /// Integrates a piece for a step that has `left` \[s\] to go, of steps of `nominal` \[s\]: the part of it that belongs to the step, and
    /// whether that is all there is to go. Where accelerations do not change the piece may reach beyond the step: nothing is missed.
    pub(super) fn integrate(
        &mut self,
        system: &dyn System,
        left: f64,
        nominal: f64,
    ) -> Result<(f64, f64, bool), StepError> {
        if let Some(from) = self.carried {
            return Ok((from, from + left, true));
        }
        let h = if self.has_constant_acceleration {
            let reach = left.max(REACH * nominal);
            self.pass_along_parabola(system, reach)?;
            reach
        } else {
            self.advance(system, left)?
        };
        Ok((0.0, h.min(left), h >= left))
    }

    /// Accelerations where the piece begins.
    pub(super) fn acceleration(&self) -> &[f64] {
        &self.rates.row(0)[self.nv..2 * self.nv]
    }

    /// Rates at the start of a piece.
    pub(super) fn begin_piece(&mut self, system: &dyn System) -> Result<(), StepError> {
        let nv = self.nv;
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
        self.move_trial(system, self.base.t);
        self.trial.evaluate_rows(system);
        for i in 0..self.modes.len() {
            if let Mode::Slip(last) = self.modes[i]
                && self.modes.tangents[i] == 2
            {
                let (u, slowest) = (slip(&self.trial, i, 2), self.modes.slowest);
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
                let speed = size(slip(&self.trial, i, 2));
                let rate = (friction + size(carried.tangential_acceleration)) / speed;
                fastest = fastest.max(if speed > self.modes.slowest {
                    rate
                } else {
                    f64::INFINITY
                });
            }
        }
        fastest
    }

    /// Moves `trial` to `y` at time `t`.
    fn move_trial(&mut self, system: &dyn System, t: f64) {
        let nv = self.nv;
        self.trial.retract(system, &self.base, &self.y[..nv], t);
        self.trial.v.copy_from_slice(&self.y[nv..2 * nv]);
    }

    /// Evaluates the system at `y`, time `t`: mass, force, rows, laws, and forces of the closed contacts.
    pub(super) fn evaluate(&mut self, system: &dyn System, t: f64) -> Result<(), StepError> {
        self.move_trial(system, t);
        self.evaluate_trial(system, true)
    }

    /// The same where `trial` is, rows and laws only with `rows`.
    fn evaluate_trial(&mut self, system: &dyn System, rows: bool) -> Result<(), StepError> {
        let work = &mut self.trial;
        work.factor_mass(system, super::NAME)?;
        if rows {
            work.evaluate_rows(system);
            work.evaluate_laws(system);
            work.evaluate_bias(system);
        }
        work.evaluate_force(system)?;
        if self.accelerations.evaluate(work, self.ng, &self.modes) {
            return Ok(());
        }
        Err(super::no_forces(system, &self.trial, &self.modes.list))
    }

    /// Rates of `y` at time `t`, for stage `l`.
    pub(super) fn set_rates(
        &mut self,
        system: &dyn System,
        l: usize,
        t: f64,
    ) -> Result<(), StepError> {
        self.move_trial(system, t);
        self.evaluate_trial(system, self.has_reactions)?;
        let (nv, ng) = (self.nv, self.ng);
        let row = self.rates.row_mut(l);
        row[..nv].copy_from_slice(&self.trial.v);
        let place = (self.base.q.as_slice(), &self.y[..nv]);
        let rate = &mut row[..nv];
        self.tangent.apply(system, super::NAME, place, rate)?;
        self.accelerations.accelerate(&mut row[nv..2 * nv]);
        let rest = &mut row[2 * nv..];
        rest.fill(0.0);
        let Some(external) = rest.first_mut() else {
            return Ok(());
        };
        self.trial.evaluate_power(system);
        *external = dot(&self.trial.power, &self.trial.v);
        for (of, force) in self.accelerations.forces() {
            let (matrix, i) = self.trial.row(of);
            rest[1] += force * matrix.dot(i, &self.trial.v);
            rest[2] -= force * self.trial.rate(of);
            match of {
                Row::Bilateral(i) => rest[WORKS + i] = force,
                Row::Normal(_, i) | Row::Tangent(_, i) => rest[WORKS + ng + i] = force,
                Row::JointFriction(_) => {}
            }
        }
        Ok(())
    }

    /// Size that the coordinates of a block (positions, velocities) have.
    pub(super) fn size_of(&self, block: usize, h: f64) -> f64 {
        // Accelerations may come from cancellation of terms as large as those without reactions.
        let changed = h * self.free_size;
        let speed = max_abs(&self.base.v);
        match (block, self.is_flat) {
            (0, true) => max_abs(&self.base.q).max(h * speed.max(changed)),
            (0, false) => max_abs(&self.end[..self.nv]).max(h * speed.max(changed)),
            // Near the end of slip in space the tolerance follows the largest speed so far.
            _ if self.turning > 0.0 => self.speed.max(changed),
            _ => speed.max(changed),
        }
    }

    /// The absolute tolerance of a block in steps of about `h` \[s\].
    pub(super) fn absolute_tolerance(&self, block: usize, h: f64) -> f64 {
        let derived = || SHARE * self.rtol * self.size_of(block, h);
        self.atol.unwrap_or_else(derived)
    }

    /// Tolerance of the coordinate `j` of `y`, number `i` of its block, in a step of `h` \[s\].
    pub(super) fn scale_of(&self, block: usize, i: usize, j: usize, size: f64, h: f64) -> f64 {
        let (before, after) = match (block, self.is_flat) {
            (0, true) => (self.base.q[i], self.base.q[i] + self.end[j]),
            (0, false) => (0.0, self.end[j]),
            _ => (self.base.v[i], self.end[j]),
        };
        let absolute = self.atol.unwrap_or(SHARE * self.rtol * size);
        absolute + self.rtol * before.abs().max(after.abs()) + self.noise_of(block, i, h)
    }

    /// What round-off makes of the coordinate `i` of a block in a step of `h` \[s\], where it was measured.
    pub(super) fn noise_of(&self, block: usize, i: usize, h: f64) -> f64 {
        let [of_positions, of_time] = [0, 1].map(|k| h * h * self.noise[k][i]);
        // No more than the round-off of the positions itself: where it is large accelerations do not add up.
        let round_off = f64::EPSILON * max_abs(&self.base.q);
        let position = of_positions.min(round_off) + of_time;
        if block == 0 { position } else { position / h }
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
        let mut polynomial = self.begin_piece_of(h);
        match method {
            Method::Explicit => self.interpolate_explicit(&mut polynomial, h),
            Method::Implicit => self.radau.interpolate(&mut polynomial),
        }
        self.pieces[self.used].polynomial = polynomial;
        Ok(())
    }

    /// A segment of `h` \[s\] that begins at the base; its polynomial, which is zero, to be filled in.
    pub(super) fn begin_piece_of(&mut self, h: f64) -> Polynomial {
        if self.used == self.pieces.len() {
            let mut piece = Piece::default();
            // Room for the arcs with reactions.
            piece.polynomial.reserve(2 * self.nv + self.total.len());
            self.pieces.push(piece);
        }
        let start = self.time();
        let piece = &mut self.pieces[self.used];
        piece.start = start;
        piece.t = self.base.t;
        piece.length = h;
        piece.taken = h;
        piece.coefficients = DENSE;
        piece.q.clone_from(&self.base.q);
        piece.v.clone_from(&self.base.v);
        piece.polynomial.clear();
        piece.polynomial.resize(self.y.len(), [0.0; DENSE]);
        std::mem::take(&mut piece.polynomial)
    }

    /// Time since the start of the step \[s\] where the next piece begins.
    pub(super) fn time(&self) -> f64 {
        let last = self.used.checked_sub(1).map(|k| &self.pieces[k]);
        last.map_or(0.0, |p| p.start + p.taken)
    }

    /// Moves `trial` into the piece just integrated, `s` \[s\] after its start, and evaluates contacts there; with `forces`, all of it.
    pub(super) fn evaluate_dense_output(
        &mut self,
        system: &dyn System,
        s: f64,
        forces: bool,
    ) -> Result<(), StepError> {
        let piece = &self.pieces[self.used];
        let y = &mut self.y[..2 * self.nv];
        polynomial_at(piece, s / piece.length, self.nv, y);
        let t = self.base.t + s;
        if forces {
            return self.evaluate(system, t);
        }
        self.move_trial(system, t);
        self.trial.evaluate_rows(system);
        Ok(())
    }

    /// Size of the terms that the dense output makes the flat coordinate `j` of, `s` \[s\] after the start of the piece.
    pub(super) fn size_of_terms(&self, j: usize, s: f64) -> f64 {
        let piece = &self.pieces[self.used];
        let coefficients = &piece.polynomial[j][..piece.coefficients];
        let moved: f64 = coefficients.iter().map(|p| p.abs()).sum();
        self.base.q[j].abs().max(self.trial.q[j].abs()) + s / piece.length * moved
    }

    /// Takes the piece just integrated up to `s` \[s\] after its start; the next one begins there.
    pub(super) fn accept(&mut self, system: &dyn System, s: f64) {
        let nv = self.nv;
        let piece = &mut self.pieces[self.used];
        let carried = self.carried.take();
        if let Some(from) = carried {
            polynomial_at(piece, from / piece.length, nv, &mut self.y);
            for (total, x) in self.total.iter_mut().zip(&self.y[2 * nv..]) {
                *total -= x;
            }
        }
        if s < piece.length || carried.is_some() {
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
    pub(super) fn begin_next_piece(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.begin_piece(system)
    }

    /// Works of external forces, of reactions and of prescribed motions \[J\], since the start.
    pub(super) fn works(&self) -> [f64; WORKS] {
        [self.total[0], self.total[1], self.total[2]]
    }

    /// Impulses of bilateral rows and of the rows of the set [N·s], since the start.
    pub(super) fn impulses(&self) -> (&[f64], &[f64]) {
        self.total[WORKS..].split_at(self.ng)
    }

    /// The state `s` \[s\] after the start of the step, inside of its arc.
    pub(super) fn interpolate(&self, system: &dyn System, s: f64, out: &mut State) -> bool {
        let pieces = &self.pieces[..self.used];
        let Some(k) = pieces.iter().rposition(|p| p.start <= s) else {
            return false;
        };
        let piece = &pieces[k];
        let mut y = vec![0.0; 2 * self.nv];
        polynomial_at(piece, (s - piece.start) / piece.length, self.nv, &mut y);
        out.q.clone_from(&piece.q);
        system.retract(&mut out.q, &y[..self.nv]);
        out.v.clear();
        out.v.extend_from_slice(&y[self.nv..2 * self.nv]);
        true
    }
}

/// The dense output at the share `x` of a piece; of its first entries as many as `y` has.
fn polynomial_at(piece: &Piece, x: f64, nv: usize, y: &mut [f64]) {
    let rest = 1.0 - x;
    for (y, p) in y.iter_mut().zip(&piece.polynomial) {
        if piece.coefficients == 2 {
            *y = (p[1] * rest + p[0]) * x;
            continue;
        }
        *y = 0.0;
        for k in (0..piece.coefficients).rev() {
            *y = (*y + p[k]) * if k % 2 == 0 { x } else { rest };
        }
    }
    axpy(1.0, &piece.v, &mut y[nv..2 * nv]);
}
