//! The step of a large time-invariant system whose forces come row by row, with few contacts: two passes over memory.
//!
//! With constant matrices the acceleration is `x = S⁻¹ f₀ + Σ columns`, `f₀` the force where the step leads without it.
//! On the way in rows are evaluated and eliminated, and the columns `S⁻¹Gᵀ` gather what `S⁻¹ f₀` is along each row; then
//! active sets and multipliers are settled among the rows alone, with the table of `compliances.rs`. On the way out the
//! end of the step is known row by row, its force is evaluated again and the three momentum balances are taken from
//! it. The end is accepted by the same measure as elsewhere; what does not pass is stepped the general way.

use super::compliances::motion;
use super::defect::Residual;
use super::engine::{Engine, Sets};
use super::levels::Level;
use super::multipliers::levels_in;
use super::row_passes::{Lead, Tally, Way, whole};
use super::settings::{Formulation, LinearSolve, SmoothRow};
use crate::certificate::{Certificate, Entry};
use crate::integrator::{StepError, StepReport};
use crate::kit::{Convergence, Location, check_kinetic};
use crate::passes::{Complete, Fingerprint, PIECE, largest};
use saltus_linear::{DENSE_LIMIT, Runs, max_abs};
use saltus_system::{ByRows, Point, State, System};
use std::ops::Range;

/// Buffers, and what the last step left.
#[derive(Debug, Default)]
pub(super) struct Rowwise {
    /// Whether the last step was taken by rows: `start` then lacks position and velocity, `trial` holds those before it.
    pub(super) went: bool,
    /// What tells its end apart from other states.
    pub(super) fingerprint: Fingerprint,
    /// Its length \[s\].
    pub(super) length: f64,
    /// Room for what is made of some rows and their neighbours.
    pub(super) q: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) force: Vec<f64>,
    pub(super) products: [Vec<f64>; 3],
    pub(super) reach: usize,
    /// Whether residuals are measured above the round-off of the forces, because less cannot be had.
    pub(super) floors: bool,
    pub(super) even_weights: Runs,
    /// Rows where corrections or jumps may be other than zero.
    pub(super) pushed: Vec<Range<usize>>,
    /// By row (m): gap, rate and acceleration without forces, and what forces alone do to the acceleration.
    pub(super) gap: Vec<f64>,
    pub(super) velocity: Vec<f64>,
    pub(super) acceleration: Vec<f64>,
    pub(super) answers: Vec<f64>,
    /// Gaps at the end, before they are evaluated (m).
    pub(super) foreseen: Vec<f64>,
    /// Active sets that the multipliers belong to.
    pub(super) sets: Sets,
    /// Factors of the columns (m): of `S⁻¹Gᵀ` and `M⁻¹Gᵀ` in `x`, of `M⁻¹Gᵀ` in `U` and `W`.
    pub(super) factors: [Vec<f64>; 4],
    /// Numbers of all rows (m).
    pub(super) all: Vec<usize>,
}

impl Engine {
    /// The rows of a system that may be stepped by them.
    fn rows_of<'a>(&self, system: &'a dyn System) -> Option<&'a dyn ByRows> {
        let direct = !matches!(
            self.settings.linear_solve,
            LinearSolve::Sequential | LinearSolve::Monolithic
        );
        let few = 3 * self.rows.len() <= DENSE_LIMIT;
        let linear = self.dims.nv > DENSE_LIMIT && self.is_linear() && self.dims.ng == 0;
        if !(direct && few && linear) {
            return None;
        }
        self.tangent.mass.half_bandwidth()?;
        self.tangent.stiffness.half_bandwidth()?;
        system.by_rows()
    }

    /// One step, or `None` and nothing done where it has to be taken the general way.
    pub(super) fn step_by_rows(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Option<StepReport> {
        let local = self.rows_of(system)?;
        let t = &self.tangent;
        let widths = [&t.mass, &t.stiffness].map(|m| m.half_bandwidth().unwrap_or(0));
        let reach = local.reach().max(widths[0]).max(widths[1]);
        self.rowwise
            .make_room(reach, self.rows.len(), &self.momentum_scale.weights);
        let way = Way {
            local,
            q: &state.q,
            v: &state.v,
            h,
            end,
        };
        let c = &self.settings.coefficients;
        self.response.kappa = h * h * c.beta * c.c_a();
        self.response.rho = h * c.gamma * c.c_a();
        self.response.factor(self.full_form(), &self.tangent).ok()?;
        self.response.smooth_factors().sweep()?;
        let located = self.settings.location.is_some();
        if !self.rowwise.went || self.start.t != state.t {
            let is_known = self.memory.is_loaded || self.start.is_at(state);
            if located && !(is_known && self.start.is_filtered) {
                return None;
            }
            self.begin_anew(system, way, state);
        }
        self.watch.begin();
        if !self.begin_rows(system, way) || located && !self.watch_rows() {
            return None;
        }
        if self.go_in(way) != self.rowwise.fingerprint {
            if located {
                return None;
            }
            self.begin_anew(system, way, state);
            if !self.begin_rows(system, way) {
                return None;
            }
            self.go_in(way);
        }
        self.lead_rows(way);
        let mut again = false;
        loop {
            if !self.settle_rows(h) {
                return None;
            }
            let tally = self.go_out(way);
            let residual = self.judge_rows(system, way, &tally);
            if residual.ratio() <= 1.0 && (residual.rows <= 1.0 || again) {
                if located && self.closes_one(h) {
                    return None;
                }
                let end_velocity = (end, self.trial.v.as_slice());
                let kinetic = tally.energy().kinetic;
                check_kinetic(system, kinetic, end_velocity, &self.tangent.mass).ok()?;
                self.rowwise.length = h;
                return Some(self.accept_rows(system, state, (h, end), &tally));
            }
            let balanced = tally.residual(h) <= self.momentum_limit();
            if balanced && !again {
                // Round-off of what the columns gathered: once more, with what was found missing.
                again = true;
            } else if balanced || self.rowwise.floors || !residual.ratio().is_finite() {
                return None;
            } else {
                self.rowwise.floors = true;
            }
            self.go_in(way);
        }
    }

    /// Goes on the general way from where the last step by rows ended, or from a state it does not know; which of both.
    pub(super) fn leave_rows(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<bool, StepError> {
        let known = self.start.t == state.t && self.rowwise.fingerprint == Fingerprint::of(state);
        self.rowwise.went = false;
        self.trial.work.copy_from_slice(&self.start.filtered);
        self.evaluate_start(system, state)?;
        if known {
            self.start.filtered.copy_from_slice(&self.trial.work);
        }
        Ok(known)
    }

    /// Takes up a state that no step by rows left.
    fn begin_anew(&mut self, system: &dyn System, way: Way<'_>, state: &State) {
        if self.rowwise.went || !self.start.is_at(state) {
            self.begin_filter(system, state);
        }
        let mut tally = Tally::default();
        let mut mv = std::mem::take(&mut self.rowwise.products[0]);
        // Added up in the order of a step, so that a run that goes on finds the same bits.
        let sweep = self.response.smooth_factors().sweep();
        let stages = sweep.as_ref().map_or(0, saltus_linear::Sweep::stages);
        let mut complete = Complete::new(state.v.len(), self.rowwise.reach);
        for stage in (0..stages).rev() {
            let ranges = sweep.as_ref().map(|s| s.rows(stage)).unwrap_or_default();
            for rows in complete
                .spread(&ranges)
                .flat_map(|rows| self.rowwise.even_weights.parts(rows))
            {
                let mv = &mut mv[..rows.len()];
                let mass = &self.tangent.mass;
                mass.rows_times(rows.clone(), (0, way.v), mv);
                let v = &way.v[rows.clone()];
                match self.even_weight(&rows) {
                    Some(w) => tally.take_even((mv, mv), (mv, w, v), 0.0),
                    None => tally.take((mv, mv), (mv, v, v), 0.0),
                }
                let at = whole(state.t, way.q, way.v);
                tally.potential += way.local.potential_rows(at, rows);
            }
        }
        self.rowwise.products[0] = mv;
        for rows in self.rowwise.pushed.drain(..) {
            self.trial.u[rows.clone()].fill(0.0);
            self.trial.w[rows].fill(0.0);
        }
        if !self.rowwise.went {
            self.trial.u.fill(0.0);
            self.trial.w.fill(0.0);
        }
        self.rowwise.fingerprint = Fingerprint::of(state);
        self.rowwise.went = true;
        self.energy = tally.energy();
        let (rows, start) = (&mut self.rows, &mut self.start);
        start.t = state.t;
        rows.place(system, state.t, way.q);
        rows.turn_to(system, state.t, way.q);
        for j in 0..rows.len() {
            start.rate[j] = rows.rate[j];
            start.gap[j] = rows.gap[j];
            start.velocity[j] = rows.gradient().dot(j, way.v) + rows.rate[j];
        }
    }

    /// Gradients, activation and columns of the step; `false` where they do not allow it.
    fn begin_rows(&mut self, system: &dyn System, way: Way<'_>) -> bool {
        if !self.activation_is_known {
            self.activation_parameters();
            self.activation_is_known = true;
        }
        self.rows.place(system, way.end, way.q);
        self.rows.turn_to(system, way.end, way.q);
        self.rows.measure(&self.momentum_scale.weights);
        if self.settings.formulation.smooth_row() == Some(SmoothRow::Acceleration) {
            let at = Point {
                t: way.end,
                q: way.q,
                v: way.v,
            };
            let contacts = self.settings.formulation == Formulation::Pva(3);
            self.rows.evaluate_bias(system, at, contacts);
        }
        if self.settings.formulation == Formulation::HalfStep {
            self.probe_half_way(system, way);
        }
        self.assemble_rows(system, way.end);
        let form = self.full_form();
        let possible = self.is_plain(form);
        if !possible || self.rows.contacts() == 0 {
            return possible;
        }
        let (c, gradient) = (&mut self.compliances, self.rows.gradient());
        let all = || self.rowwise.all.iter().map(|&j| (j, j));
        let mass = self.response.mass_factors();
        let jumps = self.settings.formulation.has_jumps();
        if jumps || self.response.smooth_is_mass() {
            c.mass.know_all(mass, gradient, all());
        }
        if !self.response.smooth_is_mass() {
            let smooth = self.response.smooth_factors();
            c.smooth.know_all(smooth, gradient, all());
        }
        let kept = |j: &usize| {
            c.smooth(&self.response).column(*j).is_some() && (!jumps || c.mass.column(*j).is_some())
        };
        self.rowwise.all.iter().all(kept)
    }

    /// Gaps, rates and accelerations of the rows where the step leads without its acceleration.
    fn lead_rows(&mut self, way: Way<'_>) {
        let lead = Lead::new(self, way.h);
        let (r, rows, start) = (&mut self.rowwise, &self.rows, &self.start);
        let gradient = rows.gradient();
        for j in 0..rows.len() {
            let (mut moved, mut velocity) = (0.0, 0.0);
            for (&k, g) in gradient.cols(j).iter().zip(gradient.values(j)) {
                let (xi, v) = lead.one(way.v[k], start.a[k], start.x[k]);
                moved += g * xi;
                velocity += g * v;
            }
            r.gap[j] = rows.gap[j] + moved;
            r.velocity[j] = velocity + rows.rate[j];
            r.acceleration[j] = 0.0;
        }
    }

    /// Active sets and multipliers, from what the rows answer; `false` where they do not settle.
    fn settle_rows(&mut self, h: f64) -> bool {
        if self.rows.contacts() == 0 {
            self.watch.iterations += 1;
            return true;
        }
        let t = &mut self.trial;
        for list in [&mut t.lambda, &mut t.nu, &mut t.imp] {
            list.fill(0.0);
        }
        self.watch.restart();
        let form = self.full_form();
        let levels: &[Level] = match self.settings.formulation {
            f if f.has_corrections() => &Level::ALL,
            Formulation::HalfStep => &[Level::Velocity],
            _ => &[Level::Smooth],
        };
        self.collect_impulses(h);
        self.place_rows_alone(false, h);
        self.activate(h);
        for _ in 0..self.settings.max_iterations {
            if self.watch.is_lost(&self.sets, 0.0, false) {
                return false;
            }
            self.rowwise.sets.copy_from(&self.sets);
            self.release_rows(h);
            self.list(levels);
            let t = &self.trial;
            let pushes = |z: &Vec<f64>| max_abs(z) > 0.0;
            if self.tangent.damped
                && (!self.condensed.unknowns.is_empty()
                    || [&t.lambda, &t.nu, &t.imp].into_iter().any(pushes))
            {
                // What damping answers to multipliers is left to the general way.
                return false;
            }
            for p in 0..self.condensed.unknowns.len() {
                *self.multiplier(self.condensed.unknowns[p]) = 0.0;
            }
            self.place_rows_alone(true, h);
            if !self.condensed.unknowns.is_empty() {
                self.fill_plain(form, h, &|engine, unknown| -engine.residual_of(unknown));
                let redundant = self.condensed.solve();
                self.redundant = self.redundant.max(redundant.div_ceil(levels_in(levels)));
                for p in 0..self.condensed.unknowns.len() {
                    let z = self.condensed.z[p];
                    *self.multiplier(self.condensed.unknowns[p]) = z;
                }
            }
            self.watch.iterations += 1;
            self.collect_impulses(h);
            self.place_rows_alone(true, h);
            self.activate(h);
            if self.sets == self.rowwise.sets {
                return true;
            }
        }
        false
    }

    fn multiplier(&mut self, (level, j): (Level, usize)) -> &mut f64 {
        let t = &mut self.trial;
        match level {
            Level::Smooth => &mut t.lambda[j],
            Level::Position => &mut t.nu[j],
            Level::Velocity => &mut t.imp[j],
        }
    }

    /// Sets the multipliers of open rows to what they must be.
    fn release_rows(&mut self, h: f64) {
        for level in Level::ALL {
            for j in 0..self.rows.len() {
                let change = self.change_of_open((level, j), h);
                *self.multiplier((level, j)) += change;
            }
            self.collect_impulses(h);
        }
    }

    /// Gaps, rates and accelerations of the rows with the multipliers as they are, and with the forces or without.
    fn place_rows_alone(&mut self, forces: bool, h: f64) {
        let form = self.full_form();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let factors = (kappa, rho, self.tie(h));
        let half_step = self.settings.formulation == Formulation::HalfStep;
        for i in 0..self.rows.len() {
            let answer = if forces { self.rowwise.answers[i] } else { 0.0 };
            let (mut x, mut xi, mut v) = (answer, kappa * answer, rho * answer);
            for j in 0..self.rows.len() {
                let t = &self.trial;
                let levels = [
                    (Level::Smooth, t.lambda[j]),
                    (Level::Position, t.nu[j]),
                    (Level::Velocity, t.imp[j]),
                ];
                if levels.iter().all(|(_, z)| *z == 0.0) {
                    continue;
                }
                let compliance = self.compliance(form, i, j);
                for (level, z) in levels {
                    if z != 0.0 {
                        let m = motion(compliance, level, factors);
                        x += m.0 * z;
                        xi += m.1 * z;
                        v += m.2 * z;
                    }
                }
            }
            let (r, rows) = (&self.rowwise, &mut self.rows);
            rows.gap[i] = r.gap[i] + xi;
            rows.velocity[i] = r.velocity[i] + v;
            rows.smooth_velocity[i] = r.velocity[i] + rho * x;
            rows.acceleration[i] = r.acceleration[i] + rows.bias[i] + x;
            if !half_step {
                rows.probe_gap[i] = rows.gap[i] - (xi - kappa * x);
            }
        }
    }

    /// The rows at the end as they are, and by how much the end misses; what the rows had not foreseen is remembered.
    fn judge_rows(&mut self, system: &dyn System, way: Way<'_>, tally: &Tally) -> Residual {
        let momentum = self.momentum_limit();
        let mut residual = Residual {
            worst: Convergence {
                ratio: tally.residual(way.h) / momentum,
                location: Location::Velocity(0),
            },
            rows: 0.0,
        };
        if self.rows.contacts() == 0 || residual.ratio().is_nan() {
            return residual;
        }
        let half_step = self.settings.formulation == Formulation::HalfStep;
        self.rowwise.foreseen.copy_from_slice(&self.rows.gap);
        self.rows.place(system, way.end, &self.trial.q);
        let (r, rows, t) = (&mut self.rowwise, &mut self.rows, &self.trial);
        for j in 0..rows.len() {
            let along = |x: &[f64]| rows.gradient().dot(j, x);
            let (velocity, x) = (along(&t.v) + rows.rate[j], along(&t.x));
            let (correction, jump) = (along(&t.u), along(&t.w));
            r.acceleration[j] += (x + rows.bias[j]) - rows.acceleration[j];
            r.velocity[j] += velocity - rows.velocity[j];
            r.gap[j] += rows.gap[j] - r.foreseen[j];
            rows.velocity[j] = velocity;
            rows.smooth_velocity[j] = velocity - jump;
            rows.acceleration[j] = x + rows.bias[j];
            if !half_step {
                rows.probe_gap[j] = rows.gap[j] - correction;
            }
        }
        self.activate(way.h);
        for j in 0..self.rows.len() {
            self.row_residual(j, way.h, momentum, &mut residual);
        }
        residual
    }

    /// Gaps in the middle of the step along the velocity at the start, to which the half-step schemes look.
    fn probe_half_way(&mut self, system: &dyn System, way: Way<'_>) {
        let rows = &mut self.rows;
        rows.probe_at(system, self.start.t + 0.5 * way.h, way.q);
        for i in 0..rows.contacts() {
            let along = rows.probe.directions.dot(rows.probe.first_row[i], way.v);
            rows.probe_gap[i] += 0.5 * way.h * along;
        }
    }

    /// Work of the forces without a potential, with the weights of the scheme.
    fn work_of_rows(&mut self, system: &dyn System, state: &State, end: f64) -> f64 {
        if system.is_conservative() {
            return 0.0;
        }
        let t = &mut self.trial;
        for ((xi, to), from) in t.xi.iter_mut().zip(&t.q).zip(&state.q) {
            *xi = to - from;
        }
        self.work_of_forces(system, end)
    }

    /// Makes the end the state, with its certificate.
    fn accept_rows(
        &mut self,
        system: &dyn System,
        state: &mut State,
        (h, end): (f64, f64),
        tally: &Tally,
    ) -> StepReport {
        let mut certificate = Certificate::EMPTY;
        let worst = (h * largest(&tally.smooth))
            .max(tally.correction.0 / h)
            .max(tally.jump.0);
        certificate.set(Entry::Dynamics, worst);
        self.certify_impacts(&mut certificate);
        self.impulse.fill(0.0);
        self.take_impulses(h);
        let work_contact = self.work_of_reactions();
        let work_external = self.work_of_rows(system, state, end);
        let (s, t) = (&mut self.start, &mut self.trial);
        std::mem::swap(&mut state.q, &mut t.q);
        std::mem::swap(&mut state.v, &mut t.v);
        std::mem::swap(&mut s.x, &mut t.x);
        std::mem::swap(&mut s.a, &mut t.a);
        for (to, from) in [
            (&mut s.lambda, &t.lambda),
            (&mut s.eta, &t.eta),
            (&mut s.gap, &self.rows.gap),
            (&mut s.velocity, &self.rows.velocity),
            (&mut s.rate, &self.rows.rate),
        ] {
            to.copy_from_slice(from);
        }
        s.t = end;
        state.t = end;
        self.rowwise.fingerprint = tally.seen;
        self.certify_end(system, &mut certificate);
        let before = self.energy;
        self.energy = tally.energy();
        let gain = self.energy.total() - before.total();
        certificate.set(Entry::EnergyBalance, gain - work_external - work_contact);
        self.force_scale = self.force_scale.max(largest(&tally.force));
        self.momentum_scale.scale = self.momentum_scale.scale.max(largest(&tally.momentum));
        self.update_bias_scale();
        self.leave_open_rows();
        self.report(h, (work_external, work_contact), certificate)
    }

    /// The state inside the last step, which was taken by rows.
    pub(super) fn interpolate_rows(&self, fraction: f64, out: &mut State) {
        let lead = Lead::new(self, self.rowwise.length);
        let t = &self.trial;
        out.q.clone_from(&t.q);
        out.v.clone_from(&t.v);
        for (i, (q, v)) in out.q.iter_mut().zip(&mut out.v).enumerate() {
            let first = lead.h * *v;
            let (xi, smooth) = lead.motion(*v, t.a[i], self.start.a[i]);
            if fraction >= 1.0 {
                *q += xi + t.u[i];
                *v = smooth + t.w[i];
            } else {
                *q += fraction * first + fraction * fraction * (xi - first);
                *v += fraction * (smooth - *v);
            }
        }
    }
}

impl Rowwise {
    fn make_room(&mut self, reach: usize, m: usize, weights: &[f64]) {
        if self.reach == reach && self.all.len() == m && !self.force.is_empty() {
            return;
        }
        self.reach = reach;
        // The last stage of a sweep inwards has rows of both sides.
        let room = 2 * PIECE + 1 + 2 * reach;
        let [a, b, c] = &mut self.products;
        for list in [&mut self.q, &mut self.v, &mut self.force, a, b, c] {
            list.resize(room, 0.0);
        }
        let [a, b, c, d] = &mut self.factors;
        for list in [
            &mut self.gap,
            &mut self.velocity,
            &mut self.acceleration,
            &mut self.answers,
            &mut self.foreseen,
            a,
            b,
            c,
            d,
        ] {
            list.resize(m, 0.0);
        }
        self.sets.resize(m);
        self.all.clear();
        self.all.extend(0..m);
        self.even_weights.find(weights);
        self.pushed.reserve(2 * weights.len() / PIECE + 2);
    }
}
