//! Forward pass (force, elimination) and backward pass (substitution, end of the step, residuals) of a streamed step.

use super::coefficients::{Coefficients, HistoryWeights};
use super::engine::Engine;
use crate::streaming::{
    BackwardPass, Fingerprint, ForwardPass, PIECE, Slices, StepInputs, Sums, Weights, add_columns,
    backward_pass, full_window, widened,
};
use saltus_linear::Sweep;
use saltus_system::Window;
use std::ops::Range;

/// The end of the step, filled by the backward pass.
struct End {
    v_dot: Vec<f64>,
    a: Vec<f64>,
    q: Vec<f64>,
    v: Vec<f64>,
    u: Vec<f64>,
    w: Vec<f64>,
}

/// Sums and maxima over all DOFs at the end of the step.
#[derive(Default)]
pub(super) struct EndSums {
    /// Residual of the balance of the smooth motion, momentum and energy.
    pub(super) sums: Sums,
    /// Largest residuals of the balances of corrections and of jumps, alone and over `√Mᵢᵢ`.
    pub(super) correction: (f64, f64),
    pub(super) jump: (f64, f64),
    pub(super) fingerprint: Fingerprint,
}

impl EndSums {
    /// Largest residual of the three balances as a momentum, over `√Mᵢᵢ`; NaN where one is not finite.
    pub(super) fn residual(&self, h: f64) -> f64 {
        if !self.sums.is_finite() {
            return f64::NAN;
        }
        let smooth = h * self.sums.weighted_residual();
        smooth.max(self.correction.1 / h).max(self.jump.1)
    }
}

impl Engine {
    /// The forward pass: eliminated forces in `trial.v_dot`. Returns the fingerprint of the start.
    pub(super) fn forward(&mut self, inputs: StepInputs<'_>) -> Fingerprint {
        let mut x = std::mem::take(&mut self.trial.v_dot);
        let mut q = std::mem::take(&mut self.streaming.q);
        let mut v = std::mem::take(&mut self.streaming.v);
        let mut free_accelerations = std::mem::take(&mut self.streaming.free_accelerations);
        free_accelerations.fill(0.0);
        let mut fingerprint = Fingerprint::default();
        let predictor = Predictor::new(self, inputs.h);
        let damped = self.tangent.damped;
        let pass = ForwardPass {
            factor: 1.0,
            columns: self.compliances.smooth(&self.response),
            list: &self.compliances.all,
            prefetched: &[inputs.q, inputs.v, &self.start.a, &self.start.v_dot],
        };
        if let Some(mut sweep) = self.response.smooth_factors().sweep() {
            fingerprint = pass.run(
                &mut sweep,
                inputs,
                &mut x,
                &mut free_accelerations,
                |dofs, wide, force| {
                    let (q, v) = (&mut q[..wide.len()], &mut v[..wide.len()]);
                    let start = (&self.start.a[wide.clone()], &self.start.v_dot[wide.clone()]);
                    let state = (&inputs.q[wide.clone()], &inputs.v[wide.clone()]);
                    predictor.rows(state, start, q, if damped { v } else { &mut [] });
                    let at = Window {
                        t: inputs.end,
                        first: wide.start,
                        q,
                        v: if damped { v } else { &[] },
                    };
                    inputs.local.force_rows(at, dofs, force);
                },
            );
        }
        self.trial.v_dot = x;
        self.streaming.q = q;
        self.streaming.v = v;
        self.streaming.free_accelerations = free_accelerations;
        fingerprint
    }

    /// The backward pass: the end of the step in `trial`, its residuals and energies.
    pub(super) fn backward(&mut self, inputs: StepInputs<'_>) -> EndSums {
        let has_impulses = self.column_factors(inputs.h);
        let t = &mut self.trial;
        let take = std::mem::take::<Vec<f64>>;
        let mut end = End {
            v_dot: take(&mut t.v_dot),
            a: take(&mut t.a),
            q: take(&mut t.q),
            v: take(&mut t.v),
            u: take(&mut t.u),
            w: take(&mut t.w),
        };
        let mut jump_ranges = std::mem::take(&mut self.streaming.jump_ranges);
        for dofs in jump_ranges.drain(..) {
            end.u[dofs.clone()].fill(0.0);
            end.w[dofs].fill(0.0);
        }
        let products = std::mem::take(&mut self.streaming.products);
        let force = std::mem::take(&mut self.streaming.force);
        let size = (end.v_dot.len(), self.streaming.reach);
        let mut pass = Backward {
            engine: &*self,
            inputs,
            predictor: Predictor::new(self, inputs.h),
            end,
            has_impulses,
            jump_ranges,
            products,
            force,
            totals: EndSums::default(),
        };
        if let Some(mut sweep) = self.response.smooth_factors().sweep() {
            backward_pass(&mut sweep, size, &self.streaming.weight_runs, &mut pass);
        }
        let Backward {
            end,
            jump_ranges,
            products,
            force,
            totals,
            ..
        } = pass;
        let t = &mut self.trial;
        (t.v_dot, t.a, t.q, t.v, t.u, t.w) = (end.v_dot, end.a, end.q, end.v, end.u, end.w);
        self.streaming.jump_ranges = jump_ranges;
        self.streaming.products = products;
        self.streaming.force = force;
        totals
    }

    /// Factors of the columns in `x`, `U` and `W`, and whether any is not zero.
    fn column_factors(&mut self, h: f64) -> bool {
        let (kappa, position_per_jump) = (self.response.kappa, self.position_per_jump(h));
        let jumps = self.settings.formulation.has_jumps();
        let (t, [smooth, mass, u, w]) = (&self.trial, &mut self.streaming.factors);
        let mut any = false;
        for j in 0..t.lambda.len() {
            let nu = if jumps {
                t.nu[j] + position_per_jump * t.jump_impulse[j]
            } else {
                0.0
            };
            smooth[j] = t.lambda[j] + nu / kappa;
            mass[j] = -nu / kappa;
            u[j] = nu;
            w[j] = if jumps { t.jump_impulse[j] } else { 0.0 };
            any |= smooth[j] != 0.0 || u[j] != 0.0 || w[j] != 0.0;
        }
        any
    }

    /// Adds the columns in a range of DOFs; returns the part of it where `U` or `W` may be nonzero.
    fn add_column_range(&self, dofs: &Range<usize>, end: &mut End) -> Range<usize> {
        let (r, c) = (&self.streaming, &self.compliances);
        let [smooth, mass, u, w] = &r.factors;
        let x = &mut end.v_dot[dofs.clone()];
        add_columns(c.smooth(&self.response), &c.all, dofs, smooth, x);
        let mut hull = dofs.end..dofs.start;
        if self.settings.formulation.has_jumps() {
            for (first, part) in c.all.iter().filter_map(|&j| c.mass.column(j)) {
                let (first, last) = (first.max(dofs.start), (first + part.len()).min(dofs.end));
                if first < last {
                    hull = hull.start.min(first)..hull.end.max(last);
                }
            }
        }
        if hull.is_empty() {
            return dofs.start..dofs.start;
        }
        add_columns(&c.mass, &c.all, dofs, mass, x);
        add_columns(&c.mass, &c.all, dofs, u, &mut end.u[dofs.clone()]);
        add_columns(&c.mass, &c.all, dofs, w, &mut end.w[dofs.clone()]);
        hull
    }

    /// Subtracts `Σ z_j G_j` in a range of DOFs.
    #[inline]
    fn subtract_reactions(&self, z: &[f64], dofs: &Range<usize>, out: &mut [f64]) {
        let gradient = self.rows.gradient();
        for (j, &z) in z.iter().enumerate() {
            if z == 0.0 {
                continue;
            }
            for (&k, g) in gradient.cols(j).iter().zip(gradient.values(j)) {
                if dofs.contains(&k) {
                    out[k - dofs.start] -= z * g;
                }
            }
        }
    }
}

/// The backward pass of a step.
struct Backward<'a> {
    engine: &'a Engine,
    inputs: StepInputs<'a>,
    predictor: Predictor,
    end: End,
    /// Whether any multiplier is not zero.
    has_impulses: bool,
    /// DOFs where `U` or `W` may be nonzero.
    jump_ranges: Vec<Range<usize>>,
    products: [Vec<f64>; 3],
    force: Vec<f64>,
    totals: EndSums,
}

impl Backward<'_> {
    /// Acceleration, position and velocity at the end.
    #[inline]
    fn advance_rows<const WITH_JUMPS: bool>(&mut self, dofs: Range<usize>) {
        let (start, end, predictor) = (&self.engine.start, &mut self.end, &self.predictor);
        let count = dofs.len();
        let q = &self.inputs.q[dofs.clone()][..count];
        let v = &self.inputs.v[dofs.clone()][..count];
        let (a, x) = (
            &start.a[dofs.clone()][..count],
            &start.v_dot[dofs.clone()][..count],
        );
        let x_end = &end.v_dot[dofs.clone()][..count];
        let a_end = &mut end.a[dofs.clone()][..count];
        let q_end = &mut end.q[dofs.clone()][..count];
        let v_end = &mut end.v[dofs.clone()][..count];
        let (u, w) = if WITH_JUMPS {
            (&end.u[dofs.clone()][..count], &end.w[dofs][..count])
        } else {
            (&[][..], &[][..])
        };
        for i in 0..count {
            a_end[i] = predictor.c_a * x_end[i] + predictor.history.of(a[i], x[i]);
            let (mut xi, mut v_new) = predictor.motion(v[i], a[i], a_end[i]);
            if WITH_JUMPS {
                xi += u[i];
                v_new += w[i];
            }
            q_end[i] = q[i] + xi;
            v_end[i] = v_new;
        }
    }

    /// The part of `dofs` in which corrections or jumps, or those of neighbours, may be nonzero.
    fn jump_part(&self, dofs: &Range<usize>) -> Range<usize> {
        let (reach, n) = (self.engine.streaming.reach, self.end.v_dot.len());
        let latest = self.jump_ranges.iter().rev().take(4 + 2 * reach / PIECE);
        latest.fold(dofs.end..dofs.start, |all, range| {
            let near = widened(range, reach, n);
            let (first, last) = (near.start.max(dofs.start), near.end.min(dofs.end));
            if first < last {
                all.start.min(first)..all.end.max(last)
            } else {
                all
            }
        })
    }
}

impl BackwardPass for Backward<'_> {
    #[inline]
    fn substitute(&mut self, sweep: &mut Sweep<'_>, stage: usize) {
        let (start, inputs, end) = (&self.engine.start, &self.inputs, &mut self.end);
        let prefetched = [
            inputs.q,
            inputs.v,
            &start.a,
            &start.v_dot,
            &end.q,
            &end.v,
            &end.a,
        ];
        sweep.outward(stage, &mut end.v_dot, &prefetched);
    }

    #[inline]
    fn advance(&mut self, dofs: Range<usize>) {
        let hull = if self.has_impulses {
            self.engine.add_column_range(&dofs, &mut self.end)
        } else {
            dofs.start..dofs.start
        };
        self.advance_rows::<false>(dofs.start..hull.start);
        self.advance_rows::<false>(hull.end..dofs.end);
        if !hull.is_empty() {
            self.advance_rows::<true>(hull.clone());
            self.jump_ranges.push(hull);
        }
        let end = &self.end;
        self.totals
            .fingerprint
            .take_all(&end.q[dofs.clone()], &end.v[dofs]);
    }

    #[inline]
    fn certify(&mut self, dofs: Range<usize>) {
        let jump_ranges = self.jump_part(&dofs);
        let Self {
            engine,
            inputs,
            end,
            products,
            totals,
            ..
        } = self;
        let count = dofs.len();
        let [first, second, extra] = products;
        let (mx, mv) = (&mut first[..count], &mut second[..count]);
        let mass = &engine.tangent.mass;
        let weights = &engine.momentum_scale.weights;
        if !jump_ranges.is_empty() {
            let [_, _, u, w] = &engine.streaming.factors;
            let residual = &mut mx[..jump_ranges.len()];
            for (z, motion, worst) in [
                (u, &end.u, &mut totals.correction),
                (w, &end.w, &mut totals.jump),
            ] {
                mass.rows_times(jump_ranges.clone(), (0, motion), residual);
                engine.subtract_reactions(z, &jump_ranges, residual);
                for (r, w) in residual.iter().zip(&weights[jump_ranges.clone()]) {
                    worst.0 = worst.0.max(r.abs());
                    worst.1 = worst.1.max(w * r.abs());
                }
                let sum = residual.iter().map(|r| r.abs()).sum::<f64>();
                totals.sums.include_finite(sum);
            }
        }
        mass.rows_times(dofs.clone(), (0, &end.v_dot), mx);
        engine.subtract_reactions(&engine.trial.lambda, &dofs, mx);
        mass.rows_times(dofs.clone(), (0, &end.v), mv);
        let at = full_window(inputs.end, &end.q, &end.v);
        let force = &mut self.force[..count];
        inputs.local.force_rows(at, dofs.clone(), force);
        let slices = Slices {
            mx,
            mv,
            force,
            v: &end.v[dofs.clone()],
        };
        if engine.streaming.subtracts_round_off {
            let floor = &mut extra[..count];
            let stiffness = &engine.tangent.stiffness;
            stiffness.rows_times_absolute(dofs.clone(), (0, &end.q), floor);
            let of = (&*floor, &weights[dofs.clone()]);
            totals.sums.include_above::<false>(&slices, of, inputs.h);
        }
        let weights = Weights::of(&engine.streaming.weight_runs, weights, &dofs);
        totals.sums.include::<false>(&slices, weights, inputs.h);
        totals.sums.potential += inputs.local.potential_rows(at, dofs);
    }
}

/// Predictor of the end of a step, without its acceleration.
pub(super) struct Predictor {
    pub(super) h: f64,
    pub(super) c_a: f64,
    pub(super) history: HistoryWeights,
    pub(super) coefficients: Coefficients,
}

impl Predictor {
    pub(super) fn new(engine: &Engine, h: f64) -> Self {
        let coefficients = engine.settings.coefficients;
        Self {
            h,
            c_a: coefficients.c_a(),
            history: coefficients.history_weights(),
            coefficients,
        }
    }

    /// Tangent to the smooth end and velocity there, of a coordinate with velocity `v` and accelerations `a`, `a_end`.
    #[inline]
    pub(super) fn motion(&self, v: f64, a: f64, a_end: f64) -> (f64, f64) {
        let (h, c) = (self.h, &self.coefficients);
        (
            h * v + h * h * c.newmark_position(a, a_end),
            v + h * c.newmark_velocity(a, a_end),
        )
    }

    /// The same without the new `v̇`, from `a` and `x = v̇` at the start.
    #[inline]
    pub(super) fn one(&self, v: f64, a: f64, x: f64) -> (f64, f64) {
        self.motion(v, a, self.history.of(a, x))
    }

    /// Predicted positions, and velocities where `v_out` is not empty.
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
