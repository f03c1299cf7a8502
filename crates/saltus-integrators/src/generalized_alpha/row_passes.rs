//! The two passes over memory of a step that is taken by rows: in with the forces, out with the end of the step and
//! what proves it.

use super::coefficients::{Coefficients, Known};
use super::engine::Engine;
use crate::integrator::Energy;
use crate::passes::{
    Complete, Fingerprint, LANES, PIECE, add_columns, by_lanes, dot_columns, larger, largest,
    widened,
};
use crate::round_off::ROUND_OFF;
use saltus_system::{ByRows, Window};
use std::ops::Range;

/// A step.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) local: &'a dyn ByRows,
    pub(super) q: &'a [f64],
    pub(super) v: &'a [f64],
    pub(super) h: f64,
    pub(super) end: f64,
}

/// The end of the step, in the making.
pub(super) struct End {
    x: Vec<f64>,
    a: Vec<f64>,
    q: Vec<f64>,
    v: Vec<f64>,
    u: Vec<f64>,
    w: Vec<f64>,
}

/// What is added up over the rows.
#[derive(Default)]
pub(super) struct Tally {
    /// Largest residual of the smooth balance, alone and over `√Mᵢᵢ`.
    pub(super) smooth: [f64; LANES],
    pub(super) weighted: [f64; LANES],
    /// The latter above round-off, where that is asked for.
    pub(super) above: Option<f64>,
    /// The same of corrections and jumps.
    pub(super) correction: (f64, f64),
    pub(super) jump: (f64, f64),
    /// Sum of residuals: not finite where any of them is not.
    pub(super) sum: [f64; LANES],
    /// `max |f|ᵢ / √Mᵢᵢ` and `max (|M v|ᵢ + h |f|ᵢ) / √Mᵢᵢ`.
    pub(super) force: [f64; LANES],
    pub(super) momentum: [f64; LANES],
    /// `vᵀ M v`.
    pub(super) square: [f64; LANES],
    pub(super) potential: f64,
    pub(super) seen: Fingerprint,
}

impl Tally {
    /// Takes in some rows of `M x − Gᵀλ`, `M v`, `f`, weights and `v`.
    #[inline]
    pub(super) fn take(
        &mut self,
        (mx, mv): (&[f64], &[f64]),
        (force, weights, v): (&[f64], &[f64], &[f64]),
        h: f64,
    ) {
        let t = self;
        by_lanes!((mx, mv, force, weights, v), k, {
            let defect = (mx[k] - force[k]).abs();
            let weighted = weights[k] * defect;
            t.smooth[k] = larger(defect, t.smooth[k]);
            t.weighted[k] = larger(weighted, t.weighted[k]);
            t.sum[k] += weighted;
            t.square[k] += mv[k] * v[k];
            let f = weights[k] * force[k].abs();
            t.force[k] = larger(f, t.force[k]);
            t.momentum[k] = larger(weights[k] * mv[k].abs() + h * f, t.momentum[k]);
        });
    }

    /// The same where all of these rows have one weight.
    #[inline]
    pub(super) fn take_even(
        &mut self,
        (mx, mv): (&[f64], &[f64]),
        (force, weight, v): (&[f64], f64, &[f64]),
        h: f64,
    ) {
        let mut t = Self::default();
        by_lanes!((mx, mv, force, v), k, {
            let defect = (mx[k] - force[k]).abs();
            t.smooth[k] = larger(defect, t.smooth[k]);
            t.sum[k] += defect;
            t.square[k] += mv[k] * v[k];
            let f = force[k].abs();
            t.force[k] = larger(f, t.force[k]);
            t.momentum[k] = larger(mv[k].abs() + h * f, t.momentum[k]);
        });
        for k in 0..LANES {
            self.smooth[k] = larger(t.smooth[k], self.smooth[k]);
            self.weighted[k] = larger(weight * t.smooth[k], self.weighted[k]);
            self.sum[k] += weight * t.sum[k];
            self.square[k] += t.square[k];
            self.force[k] = larger(weight * t.force[k], self.force[k]);
            self.momentum[k] = larger(weight * t.momentum[k], self.momentum[k]);
        }
    }

    /// Takes in what stands above round-off in some rows of the smooth balance, `M x − Gᵀλ` and `f`; the force is made of
    /// parts of the sizes `floor`.
    pub(super) fn take_above(
        &mut self,
        (mx, force): (&[f64], &[f64]),
        (floor, weights): (&[f64], &[f64]),
    ) {
        let mut worst = [self.above.unwrap_or(0.0); LANES];
        by_lanes!((mx, force, floor, weights), k, {
            let excess = (mx[k] - force[k]).abs() - ROUND_OFF * floor[k];
            worst[k] = larger(weights[k] * excess, worst[k]);
        });
        self.above = Some(largest(&worst));
    }

    pub(super) fn energy(&self) -> Energy {
        Energy {
            kinetic: 0.5 * self.square.iter().sum::<f64>(),
            potential: self.potential,
        }
    }

    /// Largest residual of the three balances as a momentum, over `√Mᵢᵢ`; NaN where one is not finite.
    pub(super) fn residual(&self, h: f64) -> f64 {
        let sum: f64 = self.sum.iter().sum();
        let smooth = self.above.unwrap_or(largest(&self.weighted));
        let worst = (h * smooth).max(self.correction.1 / h).max(self.jump.1);
        if sum.is_finite() { worst } else { f64::NAN }
    }
}

impl Engine {
    pub(super) fn even_weight(&self, rows: &Range<usize>) -> Option<f64> {
        self.rowwise
            .even_weights
            .constant(&self.momentum_scale.weights, rows)
    }

    /// The way in: eliminated forces in `trial.x`. Returns what tells the start apart.
    pub(super) fn go_in(&mut self, way: Way<'_>) -> Fingerprint {
        let mut x = std::mem::take(&mut self.trial.x);
        let mut q = std::mem::take(&mut self.rowwise.q);
        let mut v = std::mem::take(&mut self.rowwise.v);
        let mut answers = std::mem::take(&mut self.rowwise.answers);
        answers.fill(0.0);
        let mut seen = Fingerprint::default();
        let lead = Lead::new(self, way.h);
        let columns = self.compliances.smooth(&self.response);
        if let Some(mut sweep) = self.response.smooth_factors().sweep() {
            for stage in 0..sweep.stages() {
                for rows in sweep.rows(stage).into_iter().filter(|r| !r.is_empty()) {
                    seen.take_all(&way.q[rows.clone()], &way.v[rows.clone()]);
                    let wide = widened(&rows, way.local.reach(), x.len());
                    let (q, v) = (&mut q[..wide.len()], &mut v[..wide.len()]);
                    let start = (&self.start.a[wide.clone()], &self.start.x[wide.clone()]);
                    let state = (&way.q[wide.clone()], &way.v[wide.clone()]);
                    let damped = self.tangent.damped;
                    lead.rows(state, start, q, if damped { v } else { &mut [] });
                    let at = Window {
                        t: way.end,
                        first: wide.start,
                        q,
                        v: if damped { v } else { &[] },
                    };
                    let force = &mut x[rows.clone()];
                    way.local.force_rows(at, rows.clone(), force);
                    dot_columns(columns, &self.rowwise.all, &rows, force, &mut answers);
                }
                let soon = [way.q, way.v, &self.start.a, &self.start.x];
                sweep.inward(stage, 1.0, &mut x, &soon);
            }
        }
        self.trial.x = x;
        self.rowwise.q = q;
        self.rowwise.v = v;
        self.rowwise.answers = answers;
        seen
    }

    /// The way out: the end of the step in `trial`, and what proves it.
    pub(super) fn go_out(&mut self, way: Way<'_>) -> Tally {
        let pushed = self.column_factors(way.h);
        let t = &mut self.trial;
        let take = std::mem::take::<Vec<f64>>;
        let mut end = End {
            x: take(&mut t.x),
            a: take(&mut t.a),
            q: take(&mut t.q),
            v: take(&mut t.v),
            u: take(&mut t.u),
            w: take(&mut t.w),
        };
        let mut ranges = std::mem::take(&mut self.rowwise.pushed);
        for rows in ranges.drain(..) {
            end.u[rows.clone()].fill(0.0);
            end.w[rows].fill(0.0);
        }
        let mut products = std::mem::take(&mut self.rowwise.products);
        let mut force = std::mem::take(&mut self.rowwise.force);
        let mut tally = Tally::default();
        let mut complete = Complete::new(end.x.len(), self.rowwise.reach);
        let lead = Lead::new(self, way.h);
        if let Some(mut sweep) = self.response.smooth_factors().sweep() {
            for stage in (0..sweep.stages()).rev() {
                let start = [way.q, way.v, &self.start.a, &self.start.x];
                let [q, v, a, x] = start;
                let soon = [q, v, a, x, &end.q, &end.v, &end.a];
                sweep.outward(stage, &mut end.x, &soon);
                let stage = sweep.rows(stage);
                for rows in stage.iter().filter(|rows| !rows.is_empty()) {
                    let hull = if pushed {
                        self.push_rows(rows, &mut end)
                    } else {
                        rows.start..rows.start
                    };
                    let (before, after) = (rows.start..hull.start, hull.end..rows.end);
                    self.advance_rows::<false>(way, &lead, before, &mut end);
                    self.advance_rows::<false>(way, &lead, after, &mut end);
                    if !hull.is_empty() {
                        self.advance_rows::<true>(way, &lead, hull.clone(), &mut end);
                        ranges.push(hull);
                    }
                    tally
                        .seen
                        .take_all(&end.q[rows.clone()], &end.v[rows.clone()]);
                }
                for rows in complete
                    .spread(&stage)
                    .flat_map(|rows| self.rowwise.even_weights.parts(rows))
                {
                    let reach = self.rowwise.reach;
                    let latest = ranges.iter().rev().take(4 + 2 * reach / PIECE);
                    let pushed = latest.fold(rows.end..rows.start, |all, range| {
                        let near = widened(range, reach, end.x.len());
                        let (first, last) = (near.start.max(rows.start), near.end.min(rows.end));
                        if first < last {
                            all.start.min(first)..all.end.max(last)
                        } else {
                            all
                        }
                    });
                    let room = (&mut products, force.as_mut_slice());
                    self.certify_rows(way, rows, &end, room, pushed, &mut tally);
                }
            }
        }
        let t = &mut self.trial;
        (t.x, t.a, t.q, t.v, t.u, t.w) = (end.x, end.a, end.q, end.v, end.u, end.w);
        self.rowwise.pushed = ranges;
        self.rowwise.products = products;
        self.rowwise.force = force;
        tally
    }

    /// Factors of the columns in `x`, `U` and `W`, and whether any is not zero.
    fn column_factors(&mut self, h: f64) -> bool {
        let (kappa, tie) = (self.response.kappa, self.tie(h));
        let jumps = self.settings.formulation.has_jumps();
        let (t, [smooth, mass, u, w]) = (&self.trial, &mut self.rowwise.factors);
        let mut any = false;
        for j in 0..t.lambda.len() {
            let nu = if jumps { t.nu[j] + tie * t.imp[j] } else { 0.0 };
            smooth[j] = t.lambda[j] + nu / kappa;
            mass[j] = -nu / kappa;
            u[j] = nu;
            w[j] = if jumps { t.imp[j] } else { 0.0 };
            any |= smooth[j] != 0.0 || u[j] != 0.0 || w[j] != 0.0;
        }
        any
    }

    /// Adds the columns in some rows; gives the part of these where there may be corrections and jumps.
    fn push_rows(&self, rows: &Range<usize>, end: &mut End) -> Range<usize> {
        let (r, c) = (&self.rowwise, &self.compliances);
        let [smooth, mass, u, w] = &r.factors;
        let x = &mut end.x[rows.clone()];
        add_columns(c.smooth(&self.response), &r.all, rows, smooth, x);
        let mut hull = rows.end..rows.start;
        if self.settings.formulation.has_jumps() {
            for (first, part) in r.all.iter().filter_map(|&j| c.mass.column(j)) {
                let (first, last) = (first.max(rows.start), (first + part.len()).min(rows.end));
                if first < last {
                    hull = hull.start.min(first)..hull.end.max(last);
                }
            }
        }
        if hull.is_empty() {
            return rows.start..rows.start;
        }
        add_columns(&c.mass, &r.all, rows, mass, x);
        add_columns(&c.mass, &r.all, rows, u, &mut end.u[rows.clone()]);
        add_columns(&c.mass, &r.all, rows, w, &mut end.w[rows.clone()]);
        hull
    }

    /// Acceleration, position and velocity at the end.
    #[inline]
    fn advance_rows<const PUSHED: bool>(
        &self,
        way: Way<'_>,
        lead: &Lead,
        rows: Range<usize>,
        end: &mut End,
    ) {
        let count = rows.len();
        let (q, v) = (&way.q[rows.clone()][..count], &way.v[rows.clone()][..count]);
        let a = &self.start.a[rows.clone()][..count];
        let x = &self.start.x[rows.clone()][..count];
        let (x_end, a_end) = (
            &end.x[rows.clone()][..count],
            &mut end.a[rows.clone()][..count],
        );
        let (q_end, v_end) = (
            &mut end.q[rows.clone()][..count],
            &mut end.v[rows.clone()][..count],
        );
        let (u, w) = if PUSHED {
            (&end.u[rows.clone()][..count], &end.w[rows][..count])
        } else {
            (&[][..], &[][..])
        };
        for i in 0..count {
            a_end[i] = lead.c_a * x_end[i] + lead.known.of(a[i], x[i]);
            let (mut xi, mut v_new) = lead.motion(v[i], a[i], a_end[i]);
            if PUSHED {
                xi += u[i];
                v_new += w[i];
            }
            q_end[i] = q[i] + xi;
            v_end[i] = v_new;
        }
    }

    /// Adds up what rows contribute to balances and energy; their neighbours are at the end, too.
    #[inline]
    fn certify_rows(
        &self,
        way: Way<'_>,
        rows: Range<usize>,
        end: &End,
        (products, force): (&mut [Vec<f64>; 3], &mut [f64]),
        pushed: Range<usize>,
        tally: &mut Tally,
    ) {
        let count = rows.len();
        let [first, second, extra] = products;
        let (mx, mv) = (&mut first[..count], &mut second[..count]);
        let (mass, t) = (&self.tangent.mass, &self.trial);
        let at = whole(way.end, &end.q, &end.v);
        let force = &mut force[..count];
        if !pushed.is_empty() {
            let [_, _, u, w] = &self.rowwise.factors;
            let defect = &mut mx[..pushed.len()];
            for (z, motion, worst) in [
                (u, &end.u, &mut tally.correction),
                (w, &end.w, &mut tally.jump),
            ] {
                mass.rows_times(pushed.clone(), (0, motion), defect);
                self.subtract_reactions(z, &pushed, defect);
                for (r, w) in defect
                    .iter()
                    .zip(&self.momentum_scale.weights[pushed.clone()])
                {
                    worst.0 = worst.0.max(r.abs());
                    worst.1 = worst.1.max(w * r.abs());
                }
                tally.sum[0] += defect.iter().map(|r| r.abs()).sum::<f64>();
            }
        }
        mass.rows_times(rows.clone(), (0, &end.x), mx);
        self.subtract_reactions(&t.lambda, &rows, mx);
        mass.rows_times(rows.clone(), (0, &end.v), mv);
        way.local.force_rows(at, rows.clone(), force);
        if self.rowwise.floors {
            let floor = &mut extra[..count];
            let stiffness = &self.tangent.stiffness;
            stiffness.rows_times_absolute(rows.clone(), (0, &end.q), floor);
            let weights = &self.momentum_scale.weights[rows.clone()];
            tally.take_above((mx, force), (floor, weights));
        }
        let v = &end.v[rows.clone()];
        match self.even_weight(&rows) {
            Some(weight) => tally.take_even((mx, mv), (force, weight, v), way.h),
            None => {
                let weights = &self.momentum_scale.weights[rows.clone()];
                tally.take((mx, mv), (force, weights, v), way.h);
            }
        }
        tally.potential += way.local.potential_rows(at, rows);
    }

    /// Subtracts `Σ z_j G_j` in some rows.
    #[inline]
    fn subtract_reactions(&self, z: &[f64], rows: &Range<usize>, out: &mut [f64]) {
        let gradient = self.rows.gradient();
        for (j, &z) in z.iter().enumerate() {
            if z == 0.0 {
                continue;
            }
            for (&k, g) in gradient.cols(j).iter().zip(gradient.values(j)) {
                if rows.contains(&k) {
                    out[k - rows.start] -= z * g;
                }
            }
        }
    }
}

/// Where a step leads.
pub(super) struct Lead {
    pub(super) h: f64,
    pub(super) c_a: f64,
    pub(super) known: Known,
    pub(super) coefficients: Coefficients,
}

impl Lead {
    pub(super) fn new(engine: &Engine, h: f64) -> Self {
        let coefficients = engine.settings.coefficients;
        Self {
            h,
            c_a: coefficients.c_a(),
            known: coefficients.known(),
            coefficients,
        }
    }

    /// Tangent to the smooth end and velocity there, of a coordinate with velocity `v` and accelerations `a`, `a_end`.
    #[inline]
    pub(super) fn motion(&self, v: f64, a: f64, a_end: f64) -> (f64, f64) {
        let (h, c) = (self.h, &self.coefficients);
        (
            h * v + h * h * c.double_mean(a, a_end),
            v + h * c.mean(a, a_end),
        )
    }

    /// The same without a new acceleration, of one with the last accelerations `a` and `x`.
    #[inline]
    pub(super) fn one(&self, v: f64, a: f64, x: f64) -> (f64, f64) {
        self.motion(v, a, self.known.of(a, x))
    }

    /// Positions, and velocities where there is room for them.
    #[inline]
    pub(super) fn rows(
        &self,
        (q, v): (&[f64], &[f64]),
        (a, x): (&[f64], &[f64]),
        q_out: &mut [f64],
        v_out: &mut [f64],
    ) {
        let count = q_out.len();
        let (q, v, a, x) = (&q[..count], &v[..count], &a[..count], &x[..count]);
        for i in 0..count {
            q_out[i] = q[i] + self.one(v[i], a[i], x[i]).0;
        }
        for (i, out) in v_out.iter_mut().enumerate() {
            *out = self.one(v[i], a[i], x[i]).1;
        }
    }
}

/// All positions and velocities.
pub(super) fn whole<'a>(t: f64, q: &'a [f64], v: &'a [f64]) -> Window<'a> {
    Window { t, first: 0, q, v }
}
