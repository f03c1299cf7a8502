//! The step of a large time-invariant system whose forces come row by row: two passes over memory.
//!
//! The matrix of the step is a band in its natural order, so that rows are eliminated and substituted a few at a
//! time. On the way in, forces are evaluated where rows are about to be eliminated, and the columns `J⁻¹ W` of the
//! contacts gather what forces alone do along them. On the way out, velocity and position of a row are known once it is
//! substituted; as soon as its neighbours are, the force at the evaluation point and the products with `M` make the
//! balance, and the energy is added up. Nothing but the state is kept: what a caller asks for inside the step is
//! computed again.

use super::balance::{Balance, Rows};
use super::linear::Accounts;
use super::{Forecast, MoreauJean, Variant};
use crate::integrator::{Energy, StepError, StepReport};
use crate::passes::{Complete, Fingerprint, PIECE, add_columns, dot_columns, largest, widened};
use crate::round_off::ROUND_OFF;
use saltus_linear::{Sweep, dot};
use saltus_system::{ByRows, State, System, Window};
use std::ops::Range;

/// Room for what is made of some rows and their neighbours.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    q: Vec<f64>,
    v: Vec<f64>,
    x: Vec<f64>,
    force: Vec<f64>,
    mx: Vec<f64>,
    mv: Vec<f64>,
    floor: Vec<f64>,
    /// How far a row reaches.
    reach: usize,
    /// Whether residuals are measured above the round-off of the forces, because less cannot be had.
    floors: bool,
}

impl Pieces {
    fn make_room(&mut self, reach: usize) {
        self.reach = reach;
        // The last stage of a sweep inwards has rows of both sides.
        let room = 2 * PIECE + 1 + 2 * reach;
        for list in [
            &mut self.q,
            &mut self.v,
            &mut self.x,
            &mut self.force,
            &mut self.mx,
            &mut self.mv,
            &mut self.floor,
        ] {
            list.resize(room.max(list.len()), 0.0);
        }
    }
}

/// Where a step begins and where its forces are evaluated.
#[derive(Clone, Copy)]
struct Way<'a> {
    local: &'a dyn ByRows,
    q: &'a [f64],
    v: &'a [f64],
    h: f64,
    t_eval: f64,
    end: f64,
}

/// What is added up over the rows.
#[derive(Default)]
struct Tally {
    balance: Balance,
    /// Largest component of the balance over `√Mᵢᵢ` above round-off, where that is asked for.
    above: Option<f64>,
    /// Potential energy at the end, half-way and at the start, the latter two where they are asked for.
    potential: f64,
    middle: f64,
    start: f64,
    /// Power of the forces without a potential.
    power: f64,
    seen: Fingerprint,
}

impl MoreauJean {
    /// The system by rows and the solve by stages, where both are possible.
    fn ways_by_rows<'a>(&self, system: &'a dyn System) -> Option<(&'a dyn ByRows, Sweep<'_>)> {
        let local = system.by_rows()?;
        self.smooth.mass.half_bandwidth()?;
        self.smooth.stiffness.half_bandwidth()?;
        Some((local, self.smooth.iteration.sweep()?))
    }

    /// One step, or `None` and nothing done where it has to be taken another way.
    pub(super) fn step_by_rows(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<Option<StepReport>, StepError> {
        let Some((local, _)) = self.ways_by_rows(system) else {
            return Ok(None);
        };
        self.prepare_pieces(local);
        if self.start.t != state.t {
            self.begin_anew(system, state);
        }
        let (mut iterations, mut again) = (0, true);
        loop {
            if again {
                self.start_velocities(&state.v);
                self.forecast(system, state, h);
            }
            let way = Way {
                local,
                q: &state.q,
                v: &state.v,
                h,
                t_eval: self.evaluation_time(state, h, end),
                end,
            };
            self.know_columns(system, (way.t_eval, end), Some(&state.q));
            let c = &self.contact;
            if c.active.iter().any(|&i| self.schur.column(i).is_none()) {
                return Ok(None);
            }
            if self.go_in(way) != self.fingerprint && again {
                // Not the state that the last step left.
                self.begin_anew(system, state);
                continue;
            }
            self.contact.impulse.fill(0.0);
            self.solve_contacts(system, &state.v)?;
            let tally = self.go_out(way, system.is_conservative());
            iterations += 1;
            let tolerance =
                (self.options.tolerance * self.momentum_scale.scale).max(f64::MIN_POSITIVE);
            let residual = tally.above.unwrap_or(largest(&tally.balance.scaled));
            let ratio = (residual / tolerance).max(self.law_ratio());
            if !(ratio <= 1.0 && tally.balance.is_finite()) {
                if self.pieces.floors || !tally.balance.is_finite() {
                    return Ok(None);
                }
                self.pieces.floors = true;
                again = false;
                iterations -= 1;
                continue;
            }
            again = false;
            if self.options.forecast == Forecast::Smooth
                && iterations == 1
                && self.forecast_from_end(system, end)
            {
                continue;
            }
            self.check_end(system, end, &tally.balance)?;
            self.went_by_rows = true;
            self.evaluated_at = way.t_eval;
            self.length = h;
            self.seen = tally.seen;
            let accounts = Accounts {
                work_external: h * tally.power,
                work_contact: self.work_of_contacts(&state.v),
                potential: tally.potential,
                algorithmic: self.dissipation_by_rows(&tally),
            };
            let balance = (&tally.balance, accounts);
            return Ok(Some(self.accept(
                system,
                state,
                (h, end),
                iterations,
                balance,
            )));
        }
    }

    fn prepare_pieces(&mut self, local: &dyn ByRows) {
        let s = &self.smooth;
        let widths = [&s.mass, &s.stiffness].map(|m| m.half_bandwidth().unwrap_or(0));
        let reach = local.reach().max(widths[0]).max(widths[1]);
        if self.pieces.q.is_empty() || self.pieces.reach != reach {
            self.pieces.make_room(reach);
        }
    }

    /// See [`algorithmic_dissipation`](Self::algorithmic_dissipation).
    fn dissipation_by_rows(&self, tally: &Tally) -> f64 {
        if self.theta == 0.5 {
            return 0.0;
        }
        let mut norms = 4.0 * (tally.potential - 2.0 * tally.middle + tally.start);
        if self.options.variant == Variant::Standard {
            norms += tally.balance.change.iter().sum::<f64>();
        }
        (0.5 - self.theta) * norms
    }

    /// Takes up a state that no step left, or that one left under other circumstances.
    fn begin_anew(&mut self, system: &dyn System, state: &State) {
        if let Some(energy) = self.energy_by_rows(system, state) {
            self.energy = energy;
        }
        system.evaluate_contacts(state.t, &state.q, &mut self.contact.set);
        self.fingerprint = Fingerprint::of(state);
    }

    /// Energy of a state, added up as in a step, so that a run that goes on finds the same bits; `None` where steps are
    /// not taken by rows.
    pub(super) fn energy_by_rows(&mut self, system: &dyn System, state: &State) -> Option<Energy> {
        let (local, _) = self.ways_by_rows(system)?;
        self.prepare_pieces(local);
        let mut pieces = std::mem::take(&mut self.pieces);
        let (_, sweep) = self.ways_by_rows(system)?;
        let mut complete = Complete::new(state.v.len(), pieces.reach);
        let (mut balance, mut potential) = (Balance::default(), 0.0);
        for stage in (0..sweep.stages()).rev() {
            let ranges = sweep.rows(stage);
            let complete = complete.spread(&ranges);
            for rows in complete.flat_map(|rows| self.even_weights.parts(rows)) {
                let (mv, v) = (&mut pieces.mv[..rows.len()], &state.v[rows.clone()]);
                let mass = &self.smooth.mass;
                mass.rows_times(rows.clone(), (0, &state.v), mv);
                let of = Rows {
                    force: mv,
                    weights: v,
                    x: v,
                    v,
                };
                match self
                    .even_weights
                    .constant(&self.momentum_scale.weights, &rows)
                {
                    Some(weight) => balance.take_even((mv, mv), of, 0.0, weight),
                    None => balance.take((mv, mv), of, 0.0),
                }
                potential += local.potential_rows(whole(state.t, &state.q), rows);
            }
        }
        self.pieces = pieces;
        Some(Energy {
            kinetic: balance.kinetic(),
            potential,
        })
    }

    /// The way in: `trial.v` holds the eliminated increments afterwards, `answers` what forces alone do along the
    /// active contacts. Returns what tells the start apart.
    fn go_in(&mut self, way: Way<'_>) -> Fingerprint {
        let mut x = std::mem::take(&mut self.trial.v);
        let mut room = std::mem::take(&mut self.pieces.q);
        let mut answers = std::mem::take(&mut self.contact.answers);
        answers.clear();
        answers.resize(self.contact.active.len(), 0.0);
        let seen = self.eliminate(way, &mut x, &mut room, &mut answers);
        self.trial.v = x;
        self.pieces.q = room;
        self.contact.answers = answers;
        seen
    }

    fn eliminate(
        &self,
        way: Way<'_>,
        x: &mut [f64],
        room: &mut [f64],
        answers: &mut [f64],
    ) -> Fingerprint {
        let mut seen = Fingerprint::default();
        let Some(mut sweep) = self.smooth.iteration.sweep() else {
            return seen;
        };
        let (n, ahead) = (x.len(), self.theta * way.h);
        for stage in 0..sweep.stages() {
            for rows in sweep.rows(stage).into_iter().filter(|r| !r.is_empty()) {
                seen.take_all(&way.q[rows.clone()], &way.v[rows.clone()]);
                let wide = widened(&rows, way.local.reach(), n);
                let q_eval = &mut room[..wide.len()];
                let (q, v) = (&way.q[wide.clone()], &way.v[wide.clone()]);
                for ((out, q), v) in q_eval.iter_mut().zip(q).zip(v) {
                    *out = q + ahead * v;
                }
                let at = Window {
                    t: way.t_eval,
                    first: wide.start,
                    q: q_eval,
                    v,
                };
                let force = &mut x[rows.clone()];
                way.local.force_rows(at, rows.clone(), force);
                dot_columns(&self.schur, &self.contact.active, &rows, force, answers);
            }
            sweep.inward(stage, way.h, x, &[way.q, way.v]);
        }
        for answer in answers {
            *answer *= way.h;
        }
        seen
    }

    /// The way out: the end of the step in `trial`, and what proves it.
    fn go_out(&mut self, way: Way<'_>, conservative: bool) -> Tally {
        let mut x = std::mem::take(&mut self.trial.v);
        let mut q_end = std::mem::take(&mut self.trial.q);
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut tally = Tally::default();
        let mut complete = Complete::new(x.len(), pieces.reach);
        if let Some(mut sweep) = self.smooth.iteration.sweep() {
            for stage in (0..sweep.stages()).rev() {
                let soon = [way.q, way.v, &q_end];
                let ranges = self.substitute(&mut sweep, stage, &mut x, &soon);
                for rows in &ranges {
                    let end = (q_end.as_mut_slice(), x.as_mut_slice());
                    self.advance_rows(way, rows.clone(), end, &mut tally.seen);
                }
                for rows in complete.spread(&ranges) {
                    for rows in self.even_weights.parts(rows) {
                        let end = (q_end.as_slice(), x.as_slice());
                        self.certify_rows(way, rows, end, &mut pieces, conservative, &mut tally);
                    }
                }
            }
        }
        self.trial.v = x;
        self.trial.q = q_end;
        self.pieces = pieces;
        let c = &mut self.contact;
        for &i in &c.active {
            c.velocity[i] = c.law.normal_velocity(i, &self.trial.v);
        }
        tally
    }

    /// Substitutes the increments of a stage and adds those of the contacts; `soon` as in [`Sweep::outward`].
    fn substitute(
        &self,
        sweep: &mut Sweep<'_>,
        stage: usize,
        x: &mut [f64],
        soon: &[&[f64]],
    ) -> [Range<usize>; 2] {
        sweep.outward(stage, x, soon);
        let (ranges, c) = (sweep.rows(stage), &self.contact);
        for rows in &ranges {
            let x = &mut x[rows.clone()];
            add_columns(&self.schur, &c.active, rows, &c.multipliers, x);
        }
        ranges
    }

    /// Position and velocity at the end; the increment in `v_end` gives way to the latter.
    #[inline]
    fn advance_rows(
        &self,
        way: Way<'_>,
        rows: Range<usize>,
        (q_end, v_end): (&mut [f64], &mut [f64]),
        seen: &mut Fingerprint,
    ) {
        let (h, phi, count) = (way.h, self.phi, rows.len());
        let (q, v) = (&way.q[rows.clone()][..count], &way.v[rows.clone()][..count]);
        let q_end = &mut q_end[rows.clone()][..count];
        let v_end = &mut v_end[rows][..count];
        for i in 0..count {
            let x = v_end[i];
            q_end[i] = q[i] + h * (v[i] + phi * x);
            v_end[i] = v[i] + x;
        }
        seen.take_all(q_end, v_end);
    }

    /// Adds up what rows contribute to balance, energy and work; their neighbours are at the end, too.
    #[inline]
    fn certify_rows(
        &self,
        way: Way<'_>,
        rows: Range<usize>,
        (q_end, v_end): (&[f64], &[f64]),
        pieces: &mut Pieces,
        conservative: bool,
        tally: &mut Tally,
    ) {
        let (theta, count) = (self.theta, rows.len());
        let wide = widened(&rows, pieces.reach, v_end.len());
        let (q0, v0) = (&way.q[wide.clone()], &way.v[wide.clone()]);
        let (q1, v1) = (&q_end[wide.clone()], &v_end[wide.clone()]);
        let x = &mut pieces.x[..wide.len()];
        for ((x, a), b) in x.iter_mut().zip(v0).zip(v1) {
            *x = b - a;
        }
        let between = |out: &mut [f64], a: &[f64], b: &[f64]| {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a + theta * (b - a);
            }
        };
        let (mut q_eval, mut v_eval): (&[f64], &[f64]) = (q1, v1);
        if theta != 1.0 {
            let q = &mut pieces.q[..wide.len()];
            between(q, q0, q1);
            q_eval = q;
            if self.needs_velocity {
                let v = &mut pieces.v[..wide.len()];
                between(v, v0, v1);
                v_eval = v;
            }
        }
        let at = Window {
            t: way.t_eval,
            first: wide.start,
            q: q_eval,
            v: v_eval,
        };
        let inside = rows.start - wide.start..rows.end - wide.start;
        let force = &mut pieces.force[..count];
        if !conservative {
            way.local.active_force_rows(at, rows.clone(), force);
            tally.power += dot(&v0[inside.clone()], force);
            tally.power += self.phi * dot(&x[inside.clone()], force);
        }
        way.local.force_rows(at, rows.clone(), force);
        self.add_reactions(way.h, &rows, force);
        let (mx, mv) = (&mut pieces.mx[..count], &mut pieces.mv[..count]);
        let mass = &self.smooth.mass;
        mass.rows_times(rows.clone(), (wide.start, x), mx);
        mass.rows_times(rows.clone(), (0, v_end), mv);
        if pieces.floors {
            let floor = &mut pieces.floor[..count];
            let stiffness = &self.smooth.stiffness;
            stiffness.rows_times_absolute(rows.clone(), (wide.start, q_eval), floor);
            let mut worst = tally.above.unwrap_or(0.0);
            for (i, w) in self.momentum_scale.weights[rows.clone()].iter().enumerate() {
                let excess = (mx[i] - way.h * force[i]).abs() - way.h * ROUND_OFF * floor[i];
                worst = worst.max(w * excess);
            }
            tally.above = Some(worst);
        }
        let even = self
            .even_weights
            .constant(&self.momentum_scale.weights, &rows);
        let of = Rows {
            force,
            weights: even.map_or(&self.momentum_scale.weights[rows.clone()], |_| &[]),
            x: &x[inside],
            v: &v_end[rows.clone()],
        };
        match even {
            Some(weight) => tally.balance.take_even((mx, mv), of, way.h, weight),
            None => tally.balance.take((mx, mv), of, way.h),
        }
        let potential = |window| way.local.potential_rows(window, rows.clone());
        tally.potential += potential(whole(way.end, q_end));
        if theta != 0.5 {
            let middle = &mut pieces.q[..wide.len()];
            for ((m, a), b) in middle.iter_mut().zip(q0).zip(q1) {
                *m = 0.5 * (a + b);
            }
            tally.middle += potential(Window {
                t: way.end,
                first: wide.start,
                q: middle,
                v: &[],
            });
            tally.start += potential(whole(way.end, way.q));
        }
    }

    /// Adds the reactions to the forces on some rows.
    #[inline]
    fn add_reactions(&self, h: f64, rows: &Range<usize>, force: &mut [f64]) {
        let c = &self.contact;
        for &i in c.active.iter().filter(|&&i| c.impulse[i] != 0.0) {
            let (row, directions) = (c.law.first_row[i], &c.law.directions);
            for (&j, w) in directions.cols(row).iter().zip(directions.values(row)) {
                if rows.contains(&j) {
                    force[j - rows.start] += c.impulse[i] * w / h;
                }
            }
        }
    }

    /// `Δv` of the last step, which was taken by rows, once more.
    pub(super) fn increment_by_rows(&self, system: &dyn System) -> Vec<f64> {
        let t = &self.trial;
        let mut x = vec![0.0; t.v.len()];
        if let Some(local) = system.by_rows() {
            let way = Way {
                local,
                q: &t.q,
                v: &t.v,
                h: self.length,
                t_eval: self.evaluated_at,
                end: self.start.t,
            };
            let mut room = vec![0.0; self.pieces.q.len()];
            let mut answers = vec![0.0; self.contact.active.len()];
            self.eliminate(way, &mut x, &mut room, &mut answers);
            if let Some(mut sweep) = self.smooth.iteration.sweep() {
                for stage in (0..sweep.stages()).rev() {
                    self.substitute(&mut sweep, stage, &mut x, &[]);
                }
            }
        }
        x
    }
}

/// All positions.
fn whole(t: f64, q: &[f64]) -> Window<'_> {
    Window {
        t,
        first: 0,
        q,
        v: &[],
    }
}
