//! Preparation of a run and of every step: buffers, contacts, initial accelerations, activation parameters.

use super::engine::{Engine, Interpolant, Sets, Start, Trial};
use super::filter::SavedFilter;
use super::fixed_configuration::FixedConfiguration;
use super::located::LocatedStep;
use super::monolithic::Monolithic;
use super::multipliers::MATRIX_LIMIT;
use super::response::{Balances, Response};
use super::rows::Rows;
use super::settings::{Formulation, Inactive, LinearSolve, SmoothLevel};
use super::streamed::Streaming;
use super::tangent::Tangent;
use crate::integrator::{StepError, StepReport, refuse_laws_of_joints};
use crate::kit::{MomentumScale, closed_gap};
use saltus_linear::{DENSE_LIMIT, axpy, max_abs};
use saltus_system::{Point, Reach, State, System};

impl Engine {
    /// Sizes every buffer for `system` and evaluates the initial state.
    pub(super) fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.allocate(system);
        self.detect_initial_contacts(system, state, h)?;
        let d = &mut self.tangent;
        d.mass.clear();
        system.mass(&state.q, &mut d.mass);
        d.mass.finish();
        if self.mass_is_constant() {
            self.tangent.set_constant_mass(&mut self.response);
        }
        if self.is_time_invariant() {
            let d = &mut self.tangent;
            for matrix in [&mut d.constant_stiffness, &mut d.stiffness, &mut d.damping] {
                matrix.clear();
            }
            system.stiffness(state.point(), &mut d.constant_stiffness);
            system.damping(state.point(), &mut d.damping);
            d.stiffness.add_scaled(1.0, &d.constant_stiffness);
            for matrix in [&mut d.constant_stiffness, &mut d.stiffness, &mut d.damping] {
                matrix.finish();
            }
            d.damped = Tangent::is_nonzero(&mut d.damping);
            d.stiff = Tangent::is_nonzero(&mut d.stiffness);
        }
        self.momentum_scale = MomentumScale::new(&self.tangent.mass);
        self.evaluate_start(system, state)?;
        self.start.length = h;
        self.set_scales(system, state, h);
        self.start.is_filtered = false;
        self.start.closed.fill(false);
        self.initial_accelerations(system, state)?;
        self.saved_filter.store(&self.start);
        if let Some(location) = self.settings.location {
            self.located.reserve(&self.start, location);
        }
        self.initial_report(system, h)
    }

    fn allocate(&mut self, system: &dyn System) {
        self.dims = system.dims();
        self.structure = system.structure();
        self.is_flat = system.is_flat();
        self.contacts_are_fixed = system.contacts_are_fixed();
        let (nq, n) = (self.dims.nq, self.dims.nv);
        let zeros = |n: usize| vec![0.0; n];
        self.momentum_scale = MomentumScale::default();
        self.tangent = Tangent::new(n, self.is_flat);
        self.response = Response::new(n, self.mass_is_constant(), false);
        self.start = Start {
            t: f64::NAN,
            q: zeros(nq),
            v: zeros(n),
            v_dot: zeros(n),
            a: zeros(n),
            nonconservative_force: zeros(n),
            filtered_force: zeros(n),
            momentum: zeros(n),
            ..Start::default()
        };
        self.interpolant = Interpolant {
            h: 0.0,
            q: zeros(nq),
            v: zeros(n),
            vt: zeros(n),
            xi: zeros(n),
        };
        self.trial = Trial {
            v_dot: zeros(n),
            a: zeros(n),
            u: zeros(n),
            w: zeros(n),
            xi: zeros(n),
            v: zeros(n),
            vt: zeros(n),
            q: zeros(nq),
            momentum: zeros(n),
            q_forecast: zeros(nq),
            force: zeros(n),
            residual: Balances::new(n),
            round_off: zeros(n),
            work: zeros(n),
            row_scratch: zeros(n),
            ..Trial::default()
        };
        self.rows = Rows::default();
        self.sets = Sets::default();
        self.streaming = Streaming::default();
        self.monolithic = Monolithic::default();
        self.fixed = FixedConfiguration::new(n);
        self.located = LocatedStep::default();
        self.saved_filter = SavedFilter::default();
        self.restored_features.clear();
    }

    /// Detects the contacts of the initial state and sizes everything that depends on their number.
    fn detect_initial_contacts(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        refuse_laws_of_joints(system, self.settings.scheme)?;
        self.detect(system, state.t, (&state.q, &state.v), h)?;
        // Also contacts that are not detected yet: they may close later.
        if let Some(contact) = system
            .names()
            .contacts
            .first()
            .filter(|_| self.refuses_contacts())
        {
            return Err(self.contacts_unsupported(contact.clone()));
        }
        self.resize_rows();
        let linear = self.is_linear();
        self.response = Response::new(self.dims.nv, self.mass_is_constant(), linear);
        self.start.ids.clone_from(&self.rows.set.id);
        self.saved = self.start.clone();
        Ok(())
    }

    fn detect(
        &mut self,
        system: &dyn System,
        t: f64,
        (q, v): (&[f64], &[f64]),
        h: f64,
    ) -> Result<(), StepError> {
        // Wide enough that the filter history of contacts has decayed before they leave the set.
        let margin = if self.contacts_are_fixed {
            f64::INFINITY
        } else {
            let speed = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let weights = &self.momentum_scale.weights;
            let by_forces = self.force_scale * h * weights.iter().fold(0.0_f64, |m, w| m.max(*w));
            2.0 * h * (speed + by_forces)
        };
        let set = &mut self.rows.set;
        system.detect(t, q, Reach::Within(margin), set);
        let name = |i: usize| system.names().contact(set.id[i]);
        for (i, law) in set.law.iter().enumerate() {
            if law.mu != 0.0 || law.mu_static != 0.0 {
                return Err(StepError::FrictionUnsupported {
                    contact: name(i),
                    mu: law.mu,
                    scheme: self.settings.scheme,
                });
            }
        }
        if !set.is_empty() && self.refuses_contacts() {
            let contact = system.names().contact(self.rows.set.id[0]);
            return Err(self.contacts_unsupported(contact));
        }
        self.rows.forecast.clone_from(&self.rows.set);
        Ok(())
    }

    fn refuses_contacts(&self) -> bool {
        self.settings.refuses_contacts || !self.settings.formulation.has_contacts()
    }

    fn contacts_unsupported(&self, contact: String) -> StepError {
        StepError::ContactsUnsupported {
            contact,
            scheme: self.settings.scheme,
            cure: "use scheme `nonsmooth-generalized-alpha`, or formulation `p` without an impact law",
        }
    }

    /// Sizes the buffers with one entry per row.
    fn resize_rows(&mut self) {
        self.rows.resize(self.dims.ng);
        let m = self.rows.len();
        self.sets.resize(m);
        let (s, t) = (&mut self.start, &mut self.trial);
        for list in [
            &mut s.velocity,
            &mut s.rate,
            &mut s.lambda,
            &mut s.eta,
            &mut s.gap,
            &mut t.lambda,
            &mut t.eta,
            &mut t.nu,
            &mut t.nu_total,
            &mut t.jump_impulse,
            &mut t.jump_impulse_total,
            &mut self.activation,
            &mut self.impulse,
            &mut self.part_impulse,
        ] {
            list.resize(m, 0.0);
        }
        s.closed.resize(m, false);
        self.located.resize(m, self.dims.nv);
        self.excluded.clear();
        self.excluded.resize(m, false);
        self.condensed.resize(m, self.dims.nv);
        self.compliances.resize(m);
        self.nested_levels
            .reserve(self.dims.ng, self.rows.contacts());
        self.activation_is_computed = false;
    }

    /// Restores the contacts of a checkpoint, so that their multipliers and filter variables continue as in an uninterrupted
    /// run.
    pub(super) fn restore_contacts(&mut self, system: &dyn System) {
        let features = std::mem::take(&mut self.restored_features);
        if self.contacts_are_fixed || features.len() != self.start.ids.len() {
            return;
        }
        let (all, set) = (&mut self.rows.forecast, &mut self.rows.set);
        system.detect(self.start.t, &self.start.q, Reach::All, all);
        set.clear();
        for (id, feature) in self.start.ids.iter().zip(features) {
            let Ok(k) = all.id.binary_search(id) else {
                continue;
            };
            set.push(*id, all.law[k], all.gap[k]);
            if let Some(last) = set.feature.last_mut() {
                *last = feature;
            }
            let first = all.first_row[k];
            for row in first..=first + usize::from(all.law[k].tangents) {
                let directions = &all.directions;
                set.directions
                    .push(directions.cols(row), directions.values(row));
                set.rate.push(all.rate[row]);
            }
        }
        self.rows.forecast.clone_from(&self.rows.set);
        let (lambda, eta) = (self.start.lambda.clone(), self.start.eta.clone());
        self.resize_rows();
        if self.start.lambda.len() == lambda.len() {
            self.start.lambda.copy_from_slice(&lambda);
            self.start.eta.copy_from_slice(&eta);
        }
        self.evaluate_start_rows(system);
    }

    /// Detects contacts and carries multipliers and filter variables over to the new set by contact id.
    pub(super) fn update_contacts(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        let state = (
            std::mem::take(&mut self.start.q),
            std::mem::take(&mut self.start.v),
        );
        let outcome = self.detect(system, self.start.t, (&state.0, &state.1), h);
        (self.start.q, self.start.v) = state;
        outcome?;
        let ng = self.dims.ng;
        if self.start.ids != self.rows.set.id || self.rows.gap.len() != self.rows.len() {
            self.subtract_lost_contacts();
            let (start, saved) = (&mut self.start, &mut self.saved);
            std::mem::swap(&mut start.ids, &mut saved.ids);
            saved.lambda.clone_from(&start.lambda);
            saved.eta.clone_from(&start.eta);
            saved.closed.clone_from(&start.closed);
            self.resize_rows();
            self.start.ids.clone_from(&self.rows.set.id);
            let old = &self.saved;
            for (i, id) in self.start.ids.iter().enumerate() {
                let (l, e, closed) = match old.ids.binary_search(id) {
                    Ok(k) => (old.lambda[ng + k], old.eta[ng + k], old.closed[ng + k]),
                    Err(_) => (0.0, 0.0, false),
                };
                self.start.closed[ng + i] = closed;
                self.start.lambda[ng + i] = l;
                self.start.eta[ng + i] = e;
            }
        }
        self.evaluate_start_rows(system);
        Ok(())
    }

    /// Subtracts from `v̇` and `a` the contributions `M⁻¹Gᵀλ`, `M⁻¹Gᵀη` of contacts that have left the set: no `Λ*` would
    /// balance them.
    fn subtract_lost_contacts(&mut self) {
        let ng = self.dims.ng;
        let (start, set) = (&mut self.start, &self.rows.set);
        let has_left = |id: &saltus_system::ContactId| set.id.binary_search(id).is_err();
        let has_filter = |j: usize, s: &Start| s.lambda[j] != 0.0 || s.eta[j] != 0.0;
        let mut factored = false;
        for (i, id) in start.ids.iter().enumerate() {
            let j = ng + i;
            if !(has_left(id) && has_filter(j, start)) {
                continue;
            }
            factored = factored || self.response.factor_mass(&self.tangent.mass).is_ok();
            if !factored {
                return;
            }
            let work = &mut self.trial.work;
            work.fill(0.0);
            self.rows.gradient().axpy(j, 1.0, work);
            self.response.solve_mass(work);
            axpy(-start.lambda[j], work, &mut start.v_dot);
            axpy(-start.eta[j], work, &mut start.a);
        }
    }

    /// Starts the filter of the non-conservative force.
    pub(super) fn begin_filter(&mut self, system: &dyn System, state: &State) {
        if std::mem::take(&mut self.saved_filter.is_loaded) {
            return;
        }
        let start = &mut self.start;
        system.active_force(state.point(), &mut start.nonconservative_force);
        start
            .filtered_force
            .copy_from_slice(&start.nonconservative_force);
    }

    /// Evaluates momentum, rows and energy at the start.
    pub(super) fn evaluate_start(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<(), StepError> {
        let constant = self.mass_is_constant();
        let start = &mut self.start;
        start.t = state.t;
        start.q.copy_from_slice(&state.q);
        start.v.copy_from_slice(&state.v);
        if !constant {
            self.tangent.mass.clear();
            system.mass(&state.q, &mut self.tangent.mass);
        }
        start.momentum.fill(0.0);
        self.tangent.apply_mass(&state.v, &mut start.momentum);
        self.begin_filter(system, state);
        self.evaluate_start_rows(system);
        self.energy = self.energy_at_start(system);
        if max_abs(&self.start.momentum).is_finite() {
            Ok(())
        } else {
            Err(self.not_finite(system, state.t))
        }
    }

    pub(super) fn evaluate_start_rows(&mut self, system: &dyn System) {
        let (rows, start) = (&mut self.rows, &mut self.start);
        rows.evaluate_gaps(system, start.t, &start.q);
        rows.update_directions(system, start.t, &start.q);
        rows.update_row_norms(&self.momentum_scale.weights);
        for j in 0..rows.len() {
            start.rate[j] = rows.rate[j];
            start.gap[j] = rows.gap[j];
            start.velocity[j] = rows.gradient().dot(j, &start.v) + rows.rate[j];
        }
    }

    /// Prepares a step of length `h`: gradients, activation parameters, cached columns, forecast gaps.
    pub(super) fn begin_step(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Result<(), StepError> {
        let c = &self.settings.coefficients;
        self.response.kappa = h * h * c.beta * c.c_a();
        self.response.rho = h * c.gamma * c.c_a();
        let cached = self.is_linear() && self.is_cached(h);
        let constant_compliance =
            self.mass_is_constant() && self.contacts_are_fixed && self.structure.linear_contacts;
        if !(cached || constant_compliance && self.activation_is_computed) {
            self.activation_parameters();
            self.activation_is_computed = true;
        }
        if self.rows_are_linear() {
            let rows = &mut self.rows;
            rows.evaluate_gaps(system, end, &self.start.q);
            rows.update_directions(system, end, &self.start.q);
            if !cached {
                rows.update_row_norms(&self.momentum_scale.weights);
            }
        }
        if self.is_linear() {
            self.assemble_rows(system, end);
            if !self.is_piece()
                && self.settings.linear_solve != LinearSolve::Sequential
                && self.settings.linear_solve != LinearSolve::Monolithic
                && !self.uses_compliances(self.full_system())
            {
                self.cache_columns(h);
            }
        }
        if self.settings.formulation == Formulation::HalfStep && self.rows.contacts() > 0 {
            let t = &mut self.trial;
            t.q_forecast.copy_from_slice(&self.start.q);
            for (x, v) in t.work.iter_mut().zip(&self.start.v) {
                *x = 0.5 * h * v;
            }
            system.retract(&mut t.q_forecast, &t.work);
            let at = self.start.t + 0.5 * h;
            self.rows.evaluate_forecast_gaps(system, at, &t.q_forecast);
        }
        Ok(())
    }

    /// Activation parameters `r_j = 1/(G M⁻¹ Gᵀ)_jj`, with the diagonal of the mass matrix alone where its inverse is expensive.
    pub(super) fn activation_parameters(&mut self) {
        let ng = self.dims.ng;
        if let Some(r) = self.settings.r {
            self.activation[ng..].fill(r);
            return;
        }
        let literal = self.settings.inactive == Inactive::Literal;
        let contacts = self.rows.contacts();
        let large = self.dims.nv > DENSE_LIMIT;
        let cheap = !large || self.is_linear() && contacts * contacts <= MATRIX_LIMIT;
        let exact = (self.mass_is_constant() && cheap || literal)
            && contacts > 0
            && self.response.factor_mass(&self.tangent.mass).is_ok();
        let from_columns = exact && cheap && large;
        if from_columns {
            self.compute_mass_compliances();
        }
        let gradient = self.rows.gradient();
        let work = &mut self.trial.work;
        for j in ng..self.rows.len() {
            let compliance: f64 = if from_columns {
                self.compliances.mass.product(j, j)
            } else if exact {
                work.fill(0.0);
                gradient.axpy(j, 1.0, work);
                self.response.solve_mass(work);
                gradient.dot(j, work)
            } else {
                let terms = gradient.cols(j).iter().zip(gradient.values(j));
                terms
                    .map(|(&k, g)| (g * self.momentum_scale.weights[k]).powi(2))
                    .sum()
            };
            self.activation[j] = if compliance > 0.0 {
                1.0 / compliance
            } else {
                1.0
            };
        }
    }

    /// Momentum, force and length scales of the initial state.
    fn set_scales(&mut self, system: &dyn System, state: &State, h: f64) {
        system.force(state.point(), &mut self.trial.force);
        self.rows.update_row_norms(&self.momentum_scale.weights);
        (self.momentum_scale.scale, self.force_scale, self.bias_scale) = (0.0, 0.0, 0.0);
        let q = self.is_flat.then_some(state.q.as_slice());
        let ng = self.dims.ng;
        let moved = |i: usize| h * self.start.velocity[ng + i].abs();
        // The displacement by the forces in one step counts too: a body may start at rest, in contact, at `q = 0`.
        let change = |k: usize| h * self.momentum_scale.weights[k].powi(2) * self.trial.force[k];
        self.epsilon = closed_gap(&self.rows.set, q, h, moved, change);
        self.update_scales(h);
    }

    /// Includes forces and momenta of the end of a step in the scales, which are maxima so far.
    pub(super) fn update_scales(&mut self, h: f64) {
        let (force, momentum) = (&self.trial.force, &self.start.momentum);
        self.force_scale = self.force_scale.max(self.momentum_scale.largest(force));
        self.momentum_scale.include(momentum, force, h);
        self.update_bias_scale();
    }

    /// Includes in the momentum scale what prescribed rates `∂g/∂t` cause, also in a system at rest: those of bilateral constraints, and
    /// of contacts that they may close in a step of `h` \[s\].
    pub(super) fn include_rates(&mut self, h: f64) {
        let (rows, gradient) = (&self.rows, self.rows.gradient());
        for (i, rate) in rows.rate[..self.dims.ng].iter().enumerate() {
            self.momentum_scale
                .include_rate(gradient.cols(i), gradient.values(i), *rate);
        }
        self.momentum_scale.include_contacts(&rows.set, h);
    }

    /// Includes the bias `ζ` of the rows in its scale.
    pub(super) fn update_bias_scale(&mut self) {
        if self.settings.formulation.smooth_level() == Some(SmoothLevel::Acceleration) {
            for (bias, row_norm) in self.rows.bias.iter().zip(&self.rows.row_norm) {
                if *row_norm > 0.0 {
                    self.bias_scale = self.bias_scale.max(bias.abs() / row_norm);
                }
            }
        }
    }

    /// `ζ` at the end of the step, for the certificate.
    pub(super) fn evaluate_end_bias(&mut self, system: &dyn System) {
        let contacts = self.settings.formulation == Formulation::Pva(3);
        let at = Point {
            t: self.start.t,
            q: &self.start.q,
            v: &self.start.v,
        };
        self.rows.evaluate_bias(system, at, contacts);
    }
}
