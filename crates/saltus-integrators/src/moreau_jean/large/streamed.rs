//! Two-pass step of a large time-invariant banded system whose force can be evaluated for a range of DOFs.
//!
//! The iteration matrix is banded in its natural order, so that DOFs are eliminated and substituted a few at a time. The
//! forward pass evaluates forces just before their DOFs are eliminated, and accumulates the free velocities of the contacts
//! with the columns `J⁻¹ W`. In the backward pass velocity and position of a DOF follow from its substitution; once its
//! neighbours are substituted too, the force at the evaluation point and the products with `M` give the momentum balance
//! and the energy. Only the state is stored: values inside the step are recomputed on demand.

use super::LargeLinear;
use super::step::EnergyTerms;
use crate::integrator::{Energy, StepError, StepReport};
use crate::moreau_jean::{Forecast, Variant};
use crate::streaming::{
    BackwardPass, Fingerprint, ForwardPass, Slices, StepInputs, Sums, Weights, add_columns,
    backward_pass, buffer_size, energy_of_rows, full_window, reach_of, widened,
};
use saltus_linear::{Sweep, dot};
use saltus_system::{State, StreamedDynamics, System, Window};
use std::ops::Range;

/// Scratch for a range of DOFs and its neighbours.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    q: Vec<f64>,
    v: Vec<f64>,
    x: Vec<f64>,
    force: Vec<f64>,
    mx: Vec<f64>,
    mv: Vec<f64>,
    floor: Vec<f64>,
    /// Half-bandwidth.
    reach: usize,
    /// Whether the round-off of the forces is subtracted from residuals, after a step that it kept above the tolerance.
    floors: bool,
}

impl Buffers {
    fn resize(&mut self, reach: usize) {
        if !self.q.is_empty() && self.reach == reach {
            return;
        }
        self.reach = reach;
        for list in [
            &mut self.q,
            &mut self.v,
            &mut self.x,
            &mut self.force,
            &mut self.mx,
            &mut self.mv,
            &mut self.floor,
        ] {
            list.resize(buffer_size(reach).max(list.len()), 0.0);
        }
    }
}

/// Sums over all DOFs.
#[derive(Default)]
struct Totals {
    sums: Sums,
    /// Potential energy at mid-step and at the start, where needed.
    middle: f64,
    start: f64,
    /// Power of the forces without a potential.
    power: f64,
    seen: Fingerprint,
}

impl LargeLinear {
    /// The system as one that evaluates ranges of DOFs, its half-bandwidth, and the staged solve, where these exist.
    fn streamed<'a>(
        &self,
        system: &'a dyn System,
    ) -> Option<(&'a dyn StreamedDynamics, usize, Sweep<'_>)> {
        let local = system.streamed()?;
        let reach = reach_of(local, &self.smooth.mass, &self.smooth.stiffness)?;
        Some((local, reach, self.smooth.iteration.sweep()?))
    }

    /// One step, or `None` and nothing done where it needs the general method.
    pub(super) fn streamed_step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<Option<StepReport>, StepError> {
        let Some((local, reach, _)) = self.streamed(system) else {
            return Ok(None);
        };
        self.buffers.resize(reach);
        if self.t != state.t {
            self.restart_streaming(system, state);
        }
        let (mut iterations, mut again) = (0, true);
        loop {
            if again {
                self.start_velocities(&state.v);
                self.forecast(system, state, h);
            }
            let inputs = StepInputs {
                local,
                q: &state.q,
                v: &state.v,
                h,
                t_eval: self.evaluation_time(state, h, end),
                end,
            };
            self.update_columns(system, (inputs.t_eval, end), Some(&state.q));
            let c = &self.contact;
            if c.active
                .list
                .iter()
                .any(|&i| self.schur.column(i).is_none())
            {
                return Ok(None);
            }
            if self.forward(inputs) != self.fingerprint && again {
                // The state is not the end of the last step.
                self.restart_streaming(system, state);
                continue;
            }
            self.contact.impulse.fill(0.0);
            self.solve_contacts(system, &state.v)?;
            let totals = self.backward(inputs, system.is_conservative());
            iterations += 1;
            let tolerance =
                (self.options.tolerance * self.momentum_scale.scale).max(f64::MIN_POSITIVE);
            let residual = totals.sums.weighted_residual();
            let ratio = (residual / tolerance).max(self.law_ratio());
            if !(ratio <= 1.0 && totals.sums.is_finite()) {
                if self.buffers.floors || !totals.sums.is_finite() {
                    return Ok(None);
                }
                self.buffers.floors = true;
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
            self.check_end(system, end, &totals.sums)?;
            self.was_streamed = true;
            self.evaluated_at = inputs.t_eval;
            self.length = h;
            self.end_fingerprint = totals.seen;
            let energy_terms = EnergyTerms {
                work_external: h * totals.power,
                work_contact: self.work_of_contacts(&state.v),
                potential: totals.sums.potential,
                algorithmic: self.streamed_dissipation(&totals),
            };
            let sums = (&totals.sums, energy_terms);
            return Ok(Some(self.accept(system, state, (h, end), iterations, sums)));
        }
    }

    /// See [`algorithmic_dissipation`](Self::algorithmic_dissipation).
    fn streamed_dissipation(&self, totals: &Totals) -> f64 {
        if self.theta == 0.5 {
            return 0.0;
        }
        let mut norms = 4.0 * (totals.sums.potential - 2.0 * totals.middle + totals.start);
        if self.options.variant == Variant::Standard {
            norms += totals.sums.change;
        }
        (0.5 - self.theta) * norms
    }

    /// Starts from a state that is not the end of a streamed step.
    fn restart_streaming(&mut self, system: &dyn System, state: &State) {
        if let Some(energy) = self.streamed_energy(system, state) {
            self.energy = energy;
        }
        system.evaluate_contacts(state.t, &state.q, &mut self.contact.set);
        self.fingerprint = Fingerprint::of(state);
    }

    /// Energy of a state, summed as in a step; `None` where steps are not streamed.
    pub(super) fn streamed_energy(&mut self, system: &dyn System, state: &State) -> Option<Energy> {
        let (_, reach, _) = self.streamed(system)?;
        self.buffers.resize(reach);
        let mut mv = std::mem::take(&mut self.buffers.mv);
        let energy = self.streamed(system).map(|(local, reach, sweep)| {
            let inputs = StepInputs {
                local,
                q: &state.q,
                v: &state.v,
                h: 0.0,
                t_eval: state.t,
                end: state.t,
            };
            let weights = (&self.even_weights, &self.momentum_scale.weights[..]);
            energy_of_rows(&sweep, inputs, &self.smooth.mass, reach, weights, &mut mv)
        });
        self.buffers.mv = mv;
        energy
    }

    /// The forward pass: `trial.v` then holds the eliminated increments, `free_velocities` those of the active contacts. Returns
    /// the fingerprint of the start.
    fn forward(&mut self, inputs: StepInputs<'_>) -> Fingerprint {
        let mut x = std::mem::take(&mut self.trial.v);
        let mut q = std::mem::take(&mut self.buffers.q);
        let mut free_velocities = std::mem::take(&mut self.contact.free_velocities);
        free_velocities.clear();
        free_velocities.resize(self.contact.active.list.len(), 0.0);
        let seen = self.eliminate(inputs, &mut x, &mut q, &mut free_velocities);
        self.trial.v = x;
        self.buffers.q = q;
        self.contact.free_velocities = free_velocities;
        seen
    }

    fn eliminate(
        &self,
        inputs: StepInputs<'_>,
        x: &mut [f64],
        q_eval: &mut [f64],
        free_velocities: &mut [f64],
    ) -> Fingerprint {
        let Some(mut sweep) = self.smooth.iteration.sweep() else {
            return Fingerprint::default();
        };
        let ahead = self.theta * inputs.h;
        let pass = ForwardPass {
            factor: inputs.h,
            columns: &self.schur,
            list: &self.contact.active.list,
            prefetched: &[inputs.q, inputs.v],
        };
        let seen = pass.run(
            &mut sweep,
            inputs,
            x,
            free_velocities,
            |rows, wide, force| {
                let q_eval = &mut q_eval[..wide.len()];
                let (q, v) = (&inputs.q[wide.clone()], &inputs.v[wide.clone()]);
                for ((out, q), v) in q_eval.iter_mut().zip(q).zip(v) {
                    *out = q + ahead * v;
                }
                let at = Window {
                    t: inputs.t_eval,
                    first: wide.start,
                    q: q_eval,
                    v,
                };
                inputs.local.force_rows(at, rows, force);
            },
        );
        for u in free_velocities {
            *u *= inputs.h;
        }
        seen
    }

    /// The backward pass: the end of the step in `trial`, its residuals and energies.
    fn backward(&mut self, inputs: StepInputs<'_>, conservative: bool) -> Totals {
        let v_end = std::mem::take(&mut self.trial.v);
        let q_end = std::mem::take(&mut self.trial.q);
        let buffers = std::mem::take(&mut self.buffers);
        let size = (v_end.len(), buffers.reach);
        let mut pass = Backward {
            scheme: self,
            inputs,
            q_end,
            v_end,
            buffers,
            conservative,
            totals: Totals::default(),
        };
        if let Some(mut sweep) = self.smooth.iteration.sweep() {
            backward_pass(&mut sweep, size, &self.even_weights, &mut pass);
        }
        let Backward {
            q_end,
            v_end,
            buffers,
            totals,
            ..
        } = pass;
        self.trial.v = v_end;
        self.trial.q = q_end;
        self.buffers = buffers;
        let c = &mut self.contact;
        for &i in &c.active.list {
            c.velocity[i] = c.law.normal_velocity(i, &self.trial.v);
        }
        totals
    }

    /// Substitutes the increments of a stage and adds those of the contacts; `prefetched` as in [`Sweep::outward`].
    fn substitute(
        &self,
        sweep: &mut Sweep<'_>,
        stage: usize,
        x: &mut [f64],
        prefetched: &[&[f64]],
    ) {
        sweep.outward(stage, x, prefetched);
        let c = &self.contact;
        for rows in &sweep.rows(stage) {
            let x = &mut x[rows.clone()];
            add_columns(&self.schur, &c.active.list, rows, &c.multipliers, x);
        }
    }

    /// Adds the reactions to the forces on a range of DOFs.
    #[inline]
    fn add_reactions(&self, h: f64, rows: &Range<usize>, force: &mut [f64]) {
        let c = &self.contact;
        for &i in c.active.list.iter().filter(|&&i| c.impulse[i] != 0.0) {
            let (row, directions) = (c.law.first_row[i], &c.law.directions);
            for (&j, w) in directions.cols(row).iter().zip(directions.values(row)) {
                if rows.contains(&j) {
                    force[j - rows.start] += c.impulse[i] * w / h;
                }
            }
        }
    }

    /// `Δv` of the last step, which was streamed, once more.
    pub(super) fn streamed_increment(&self, system: &dyn System) -> Vec<f64> {
        let t = &self.trial;
        let mut x = vec![0.0; t.v.len()];
        if let Some((local, _, mut sweep)) = self.streamed(system) {
            let inputs = StepInputs {
                local,
                q: &t.q,
                v: &t.v,
                h: self.length,
                t_eval: self.evaluated_at,
                end: self.t,
            };
            let mut q_eval = vec![0.0; self.buffers.q.len()];
            let mut free_velocities = vec![0.0; self.contact.active.list.len()];
            self.eliminate(inputs, &mut x, &mut q_eval, &mut free_velocities);
            for stage in (0..sweep.stages()).rev() {
                self.substitute(&mut sweep, stage, &mut x, &[]);
            }
        }
        x
    }
}

/// The backward pass of a step.
struct Backward<'a> {
    scheme: &'a LargeLinear,
    inputs: StepInputs<'a>,
    q_end: Vec<f64>,
    /// The increment, overwritten by the velocity at the end.
    v_end: Vec<f64>,
    buffers: Buffers,
    conservative: bool,
    totals: Totals,
}

impl BackwardPass for Backward<'_> {
    #[inline]
    fn substitute(&mut self, sweep: &mut Sweep<'_>, stage: usize) {
        let prefetched = [self.inputs.q, self.inputs.v, &self.q_end];
        self.scheme
            .substitute(sweep, stage, &mut self.v_end, &prefetched);
    }

    #[inline]
    fn advance(&mut self, rows: Range<usize>) {
        let StepInputs { q, v, h, .. } = self.inputs;
        let (phi, count) = (self.scheme.phi, rows.len());
        let (q, v) = (&q[rows.clone()][..count], &v[rows.clone()][..count]);
        let q_end = &mut self.q_end[rows.clone()][..count];
        let v_end = &mut self.v_end[rows][..count];
        for i in 0..count {
            let x = v_end[i];
            q_end[i] = q[i] + h * (v[i] + phi * x);
            v_end[i] = v[i] + x;
        }
        self.totals.seen.take_all(q_end, v_end);
    }

    #[inline]
    fn certify(&mut self, rows: Range<usize>) {
        let Self {
            scheme,
            inputs,
            q_end,
            v_end,
            buffers,
            totals,
            ..
        } = self;
        let (theta, count, h) = (scheme.theta, rows.len(), inputs.h);
        let wide = widened(&rows, buffers.reach, v_end.len());
        let (q0, v0) = (&inputs.q[wide.clone()], &inputs.v[wide.clone()]);
        let (q1, v1) = (&q_end[wide.clone()], &v_end[wide.clone()]);
        let x = &mut buffers.x[..wide.len()];
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
            let q = &mut buffers.q[..wide.len()];
            between(q, q0, q1);
            q_eval = q;
            if scheme.needs_velocity {
                let v = &mut buffers.v[..wide.len()];
                between(v, v0, v1);
                v_eval = v;
            }
        }
        let at = Window {
            t: inputs.t_eval,
            first: wide.start,
            q: q_eval,
            v: v_eval,
        };
        let inside = rows.start - wide.start..rows.end - wide.start;
        let force = &mut buffers.force[..count];
        if !self.conservative {
            inputs.local.active_force_rows(at, rows.clone(), force);
            totals.power += dot(&v0[inside.clone()], force);
            totals.power += scheme.phi * dot(&x[inside.clone()], force);
        }
        inputs.local.force_rows(at, rows.clone(), force);
        scheme.add_reactions(h, &rows, force);
        let (mx, mv) = (&mut buffers.mx[..count], &mut buffers.mv[..count]);
        let mass = &scheme.smooth.mass;
        mass.rows_times(rows.clone(), (wide.start, x), mx);
        mass.rows_times(rows.clone(), (0, v_end), mv);
        let slices = Slices {
            mx,
            mv,
            force,
            v: &v_end[rows.clone()],
        };
        let weights = &scheme.momentum_scale.weights;
        if buffers.floors {
            let floor = &mut buffers.floor[..count];
            let stiffness = &scheme.smooth.stiffness;
            stiffness.rows_times_absolute(rows.clone(), (wide.start, q_eval), floor);
            let of = (&*floor, &weights[rows.clone()]);
            totals.sums.include_above::<true>(&slices, of, h);
        }
        let even = Weights::of(&scheme.even_weights, weights, &rows);
        totals.sums.include::<true>(&slices, even, h);
        if theta != 0.5 {
            totals.sums.include_change(mx, &x[inside]);
        }
        let potential = |window| inputs.local.potential_rows(window, rows.clone());
        totals.sums.potential += potential(full_window(inputs.end, q_end, &[]));
        if theta != 0.5 {
            let middle = &mut buffers.q[..wide.len()];
            for ((m, a), b) in middle.iter_mut().zip(q0).zip(q1) {
                *m = 0.5 * (a + b);
            }
            totals.middle += potential(Window {
                t: inputs.end,
                first: wide.start,
                q: middle,
                v: &[],
            });
            totals.start += potential(full_window(inputs.end, inputs.q, &[]));
        }
    }
}
