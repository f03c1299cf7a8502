//! One step of a large time-invariant system: one solve for the forces, cached columns for the contacts.

use super::LargeLinear;
use crate::certificate::{Certificate, Entry};
use crate::integrator::{Energy, StepError, StepReport};
use crate::moreau_jean::{Forecast, Variant};
use crate::round_off;
use crate::streaming::{Fingerprint, Slices, Sums, Weights};
use saltus_linear::{axpy, dot};
use saltus_system::{Point, State, System};

/// Energy and work of a step.
pub(super) struct EnergyTerms {
    pub(super) work_external: f64,
    pub(super) work_contact: f64,
    /// Potential energy at the end \[J\].
    pub(super) potential: f64,
    /// Energy change due to the discretisation \[J\].
    pub(super) algorithmic: f64,
}

impl LargeLinear {
    /// Kinetic energy \[J\] of `v`.
    pub(super) fn linear_kinetic(&self, v: &[f64]) -> f64 {
        let s = &self.smooth;
        // Summed as in a step, so that a restarted run is bitwise identical.
        let mut sums = Sums::default();
        s.mass.product(v, |first, line| {
            let rows = first..first + line.len();
            let (weights, v) = (&self.momentum_scale.weights[rows.clone()], &v[rows.clone()]);
            let slices = Slices {
                mx: line,
                mv: line,
                force: weights,
                v,
            };
            sums.include::<true>(&slices, Weights::Each(weights), 0.0);
        });
        sums.energy().kinetic
    }

    /// One step; `state` is unchanged on error.
    pub(super) fn take_step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        if self.factored_for != h {
            self.factor(h)?;
        }
        if let Some(report) = self.streamed_step(system, state, h, end)? {
            return Ok(report);
        }
        if self.predict_positions(state, h) != self.fingerprint || self.t != state.t {
            self.energy = self.energy_of(system, state);
            system.evaluate_contacts(state.t, &state.q, &mut self.contact.set);
        }
        self.length = h;
        self.start_velocities(&state.v);
        self.forecast(system, state, h);
        if !matches!(self.options.forecast, Forecast::Start | Forecast::Smooth) {
            // The forecast has overwritten the evaluation point.
            self.predict_positions(state, h);
        }
        self.contact.impulse.fill(0.0);
        let (mut iterations, mut sums) = self.solve_linear(system, state, h, end)?;
        if self.options.forecast == Forecast::Smooth && self.forecast_from_end(system, end) {
            self.predict_positions(state, h);
            let (more, again) = self.solve_linear(system, state, h, end)?;
            iterations += more;
            sums = again;
        }
        self.check_end(system, end, &sums)?;
        Ok(self.finish_linear(system, state, (h, end), iterations, &sums))
    }

    /// Predicts the evaluation point without forces, and returns the fingerprint of the state.
    fn predict_positions(&mut self, state: &State, h: f64) -> Fingerprint {
        let ahead = self.theta * h;
        let mut seen = Fingerprint::default();
        for ((out, q), v) in (self.trial.q_eval.iter_mut().zip(&state.q)).zip(&state.v) {
            *out = q + ahead * v;
            seen.take(*q, *v);
        }
        seen
    }

    /// Solves for `Δv` and the impulses until the balance holds; usually at once.
    fn solve_linear(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
    ) -> Result<(u32, Sums), StepError> {
        self.was_streamed = false;
        let t_eval = self.evaluation_time(state, h, end);
        let (s, t) = (&mut self.smooth, &self.trial);
        let at = Point {
            t: t_eval,
            q: &t.q_eval,
            v: &state.v,
        };
        // Forces become increments in place.
        system.force(at, &mut s.delta);
        s.iteration.solve_scaled(h, &mut s.delta);
        let mut iterations = 0;
        loop {
            self.solve_impulses(system, state, (t_eval, end))?;
            iterations += 1;
            self.advance(state, h);
            let mut force = std::mem::take(&mut self.smooth.force);
            system.force(self.evaluation_point(t_eval), &mut force);
            self.smooth.force = force;
            self.begin_scale(h);
            let sums = self.balance(h);
            let tolerance =
                (self.options.tolerance * self.momentum_scale.scale).max(f64::MIN_POSITIVE);
            let ratio = (sums.weighted_residual() / tolerance).max(self.law_ratio());
            if ratio <= 1.0 && sums.is_finite() {
                return Ok((iterations, sums));
            }
            self.write_residuals(h);
            if !sums.is_finite() || !ratio.is_finite() {
                return Err(self.not_finite(system, end));
            }
            // One solve is exact but for round-off: the remaining residual may be that of the forces.
            let s = &mut self.smooth;
            round_off::of_force(&s.stiffness, h, &self.trial.q_eval, true, &mut s.round_off);
            let worst = self.worst_residual();
            if worst.ratio <= 1.0 {
                return Ok((iterations, sums));
            }
            if iterations == self.options.max_iterations {
                return Err(self.not_converged(system, iterations, worst));
            }
            // J δ = −r without the reactions, which are solved for anew.
            let s = &mut self.smooth;
            s.iteration.solve(&mut s.residual);
            axpy(-1.0, &s.residual, &mut s.delta);
        }
    }

    /// Solves for the impulses of the active contacts, and adds their response to `Δv`.
    fn solve_impulses(
        &mut self,
        system: &dyn System,
        state: &State,
        times: (f64, f64),
    ) -> Result<(), StepError> {
        self.update_columns(system, times, None);
        let mut free_velocities = std::mem::take(&mut self.contact.free_velocities);
        let c = &self.contact;
        let row = |&i: &usize| c.law.directions.dot(c.law.first_row[i], &self.smooth.delta);
        free_velocities.clear();
        free_velocities.extend(c.active.list.iter().map(row));
        self.contact.free_velocities = free_velocities;
        self.solve_contacts(system, &state.v)?;
        let c = &self.contact;
        let s = &mut self.smooth;
        self.schur
            .respond(&s.iteration, &c.active.list, &c.multipliers, &mut s.delta);
        Ok(())
    }

    /// Computes the columns of the active contacts. The law is that at the evaluation point, with rates at the end of the
    /// step; where directions depend on time alone, any positions `anywhere` give it.
    pub(super) fn update_columns(
        &mut self,
        system: &dyn System,
        (t_eval, end): (f64, f64),
        anywhere: Option<&[f64]>,
    ) {
        let c = &mut self.contact;
        if c.active.list.is_empty() {
            return;
        }
        if self.options.forecast != Forecast::Predicted {
            let q = anywhere.unwrap_or(&self.trial.q_eval);
            system.evaluate_contacts(t_eval, q, &mut c.law);
            let times = (t_eval, end);
            c.active
                .use_rates_at_end(system, &mut c.law, times, q, &c.set.rate);
        }
        let (iteration, schur) = (&self.smooth.iteration, &mut self.schur);
        for &i in &c.active.list {
            schur.add(iteration, i, &c.law.directions, c.law.first_row[i]);
        }
    }

    /// Solves for the impulses of the active contacts from their `free_velocities`; `v` is the velocity at the start.
    pub(super) fn solve_contacts(
        &mut self,
        system: &dyn System,
        v: &[f64],
    ) -> Result<(), StepError> {
        self.contact.multipliers.clear();
        if self.contact.active.list.is_empty() {
            return Ok(());
        }
        let c = &self.contact;
        self.one_step.take(c.active.list.len(), |i, j| {
            self.schur.product(c.active.list[i], c.active.list[j])
        });
        for (k, &i) in c.active.list.iter().enumerate() {
            self.one_step.q_mut()[k] =
                c.law.normal_velocity(i, v) + c.free_velocities[k] + self.rebound(i);
        }
        let c = &mut self.contact;
        c.multipliers
            .extend(c.active.list.iter().map(|&i| c.impulse[i]));
        let outcome = self.one_step.solve(0, &mut c.multipliers);
        if !outcome.is_solved() {
            return Err(self.contact_problem(system, outcome));
        }
        for (&i, z) in c.active.list.iter().zip(&c.multipliers) {
            c.impulse[i] = *z;
        }
        self.redundant = outcome.redundant;
        Ok(())
    }

    /// The point of evaluation of the forces; a velocity that they do not depend on is that of the end.
    fn evaluation_point(&self, t_eval: f64) -> Point<'_> {
        let t = &self.trial;
        Point {
            t: t_eval,
            q: if self.theta == 1.0 { &t.q } else { &t.q_eval },
            v: if self.needs_velocity && self.theta < 1.0 {
                &t.v_eval
            } else {
                &t.v
            },
        }
    }

    /// State at the end and at the evaluation point, from `Δv`.
    fn advance(&mut self, state: &State, h: f64) {
        match (self.theta == 1.0, self.needs_velocity) {
            (true, _) => self.advance_with::<false, false>(state, h),
            (false, true) => self.advance_with::<true, true>(state, h),
            (false, false) => self.advance_with::<true, false>(state, h),
        }
    }

    /// `POSITION` and `VELOCITY` say which parts of the evaluation point are wanted.
    fn advance_with<const POSITION: bool, const VELOCITY: bool>(&mut self, state: &State, h: f64) {
        let (theta, phi) = (self.theta, self.phi);
        let t = &mut self.trial;
        let n = state.q.len();
        let (q, v, x) = (&state.q[..n], &state.v[..n], &self.smooth.delta[..n]);
        let (q_end, v_end) = (&mut t.q[..n], &mut t.v[..n]);
        let (q_eval, v_eval) = (&mut t.q_eval[..n], &mut t.v_eval[..n]);
        let mut seen = Fingerprint::default();
        for i in 0..n {
            let xi = h * (v[i] + phi * x[i]);
            q_end[i] = q[i] + xi;
            v_end[i] = v[i] + x[i];
            seen.take(q_end[i], v_end[i]);
            if POSITION {
                q_eval[i] = q[i] + theta * xi;
            }
            if VELOCITY {
                v_eval[i] = v[i] + theta * x[i];
            }
        }
        self.end_fingerprint = seen;
        let c = &mut self.contact;
        for &i in &c.active.list {
            c.velocity[i] = c.law.normal_velocity(i, &t.v);
        }
    }

    /// `M Δv − h f − W R` and `M v`, of which only norms are kept.
    fn balance(&mut self, h: f64) -> Sums {
        let (s, c) = (&mut self.smooth, &mut self.contact);
        // Reactions are added to the few force entries they act on, for this pass only.
        c.touched.clear();
        for &i in c.active.list.iter().filter(|&&i| c.impulse[i] != 0.0) {
            let row = c.law.first_row[i];
            let directions = &c.law.directions;
            for (&j, w) in directions.cols(row).iter().zip(directions.values(row)) {
                c.touched.push((j, s.force[j]));
                s.force[j] += c.impulse[i] * w / h;
            }
        }
        let mut sums = Sums::default();
        let wants_change = self.theta != 0.5;
        let (force, weights, x, v) = (
            &s.force,
            &self.momentum_scale.weights,
            &s.delta,
            &self.trial.v,
        );
        s.mass.product_pair(x, v, |first, mx, mv| {
            let rows = first..first + mx.len();
            let slices = Slices {
                mx,
                mv,
                force: &force[rows.clone()],
                v: &v[rows.clone()],
            };
            sums.include::<true>(&slices, Weights::Each(&weights[rows.clone()]), h);
            if wants_change {
                sums.include_change(mx, &x[rows]);
            }
        });
        for &(j, force) in c.touched.iter().rev() {
            s.force[j] = force;
        }
        sums
    }

    /// Writes out the residual without and with reactions.
    fn write_residuals(&mut self, h: f64) {
        let (s, c) = (&mut self.smooth, &self.contact);
        s.mass.apply(&s.delta, &mut s.residual);
        axpy(-h, &s.force, &mut s.residual);
        s.balance.copy_from_slice(&s.residual);
        for &i in &c.active.list {
            let row = c.law.first_row[i];
            c.law.directions.axpy(row, -c.impulse[i], &mut s.balance);
        }
    }

    /// Energy, works and certificate of the accepted step; `state` becomes its end.
    fn finish_linear(
        &mut self,
        system: &dyn System,
        state: &mut State,
        (h, end): (f64, f64),
        iterations: u32,
        sums: &Sums,
    ) -> StepReport {
        let (work_external, work_contact) = self.linear_works(system, state, h, end);
        let potential = system.potential_energy(end, &self.trial.q);
        let energy_terms = EnergyTerms {
            work_external,
            work_contact,
            potential,
            algorithmic: self.linear_dissipation(system, state, end, potential, sums),
        };
        self.accept(system, state, (h, end), iterations, (sums, energy_terms))
    }

    /// Makes `trial` the state, with its certificate.
    pub(super) fn accept(
        &mut self,
        system: &dyn System,
        state: &mut State,
        (h, end): (f64, f64),
        iterations: u32,
        (sums, energy_terms): (&Sums, EnergyTerms),
    ) -> StepReport {
        let mut certificate = Certificate::EMPTY;
        certificate.set(Entry::Dynamics, sums.residual());
        self.certify_law(&mut certificate);
        self.impulse_scale = self.impulse_scale.max(sums.load());
        self.momentum_scale.scale = self.momentum_scale.scale.max(sums.momentum());
        let before = self.energy;
        self.energy = Energy {
            kinetic: sums.energy().kinetic,
            potential: energy_terms.potential,
        };
        let gain = self.energy.total() - before.total();
        let works = (energy_terms.work_external, energy_terms.work_contact);
        certificate.set(
            Entry::EnergyBalance,
            gain - works.0 - works.1 - energy_terms.algorithmic,
        );
        std::mem::swap(&mut state.q, &mut self.trial.q);
        std::mem::swap(&mut state.v, &mut self.trial.v);
        state.t = end;
        self.t = end;
        self.fingerprint = self.end_fingerprint;
        self.certify_end(system, state.point(), &mut certificate);
        self.report(h, iterations, works, certificate)
    }

    /// Work of the forces without a potential, and of the contacts.
    fn linear_works(&mut self, system: &dyn System, state: &State, h: f64, end: f64) -> (f64, f64) {
        let phi = self.phi;
        let mut power = 0.0;
        if !system.is_conservative() {
            let mut active = std::mem::take(&mut self.smooth.active);
            let at = self.evaluation_point(self.evaluation_time(state, h, end));
            system.active_force(at, &mut active);
            power = dot(&state.v, &active) + phi * dot(&self.smooth.delta, &active);
            self.smooth.active = active;
        }
        (h * power, self.work_of_contacts(&state.v))
    }

    /// Work of the contacts in a step that began with the velocity `v`.
    pub(super) fn work_of_contacts(&self, v: &[f64]) -> f64 {
        let (phi, c) = (self.phi, &self.contact);
        (c.active.list.iter())
            .map(|&i| {
                let row = c.law.first_row[i];
                let along = |v: &[f64]| c.law.directions.dot(row, v);
                c.impulse[i] * ((1.0 - phi) * along(v) + phi * along(&self.trial.v))
            })
            .sum()
    }

    /// See [`algorithmic_dissipation`](Self::algorithmic_dissipation).
    fn linear_dissipation(
        &mut self,
        system: &dyn System,
        state: &State,
        end: f64,
        potential: f64,
        sums: &Sums,
    ) -> f64 {
        if self.theta == 0.5 {
            return 0.0;
        }
        let t = &mut self.trial;
        for ((m, a), b) in t.q_eval.iter_mut().zip(&state.q).zip(&t.q) {
            *m = 0.5 * (a + b);
        }
        let middle = system.potential_energy(end, &t.q_eval);
        let start = system.potential_energy(end, &state.q);
        let mut norms = 4.0 * (potential - 2.0 * middle + start);
        if self.options.variant == Variant::Standard {
            norms += sums.change;
        }
        (0.5 - self.theta) * norms
    }

    /// The state inside the last step: positions by the parabola through both ends that starts with the velocity there.
    pub(super) fn interpolate_linear(&self, system: &dyn System, fraction: f64, out: &mut State) {
        let t = &self.trial;
        let recomputed;
        let x = if self.was_streamed {
            recomputed = self.streamed_increment(system);
            &recomputed
        } else {
            &self.smooth.delta
        };
        out.q.clone_from(&t.q);
        let xi: Vec<f64> = (t.v.iter().zip(x))
            .map(|(v, x)| fraction * self.length * (v + fraction * self.phi * x))
            .collect();
        system.retract(&mut out.q, &xi);
        out.v.clone_from(&t.v);
        if fraction < 1.0 {
            // Without the jump, which is at the end.
            let mut increment = vec![0.0; x.len()];
            let c = &self.contact;
            if c.multipliers.len() == c.active.list.len() {
                self.schur.respond(
                    &self.smooth.iteration,
                    &c.active.list,
                    &c.multipliers,
                    &mut increment,
                );
            }
            for (v, (x, jump)) in out.v.iter_mut().zip(x.iter().zip(&increment)) {
                *v += fraction * (x - jump);
            }
        } else {
            axpy(1.0, x, &mut out.v);
        }
    }
}
