//! Before the first step and before every step: buffers, the state as it is, forecast and prediction.

use super::{Bilateral, Contact, Evaluation, Forecast, MoreauJean, NAME, Smooth, Start, Trial};
use crate::integrator::{ContactState, StepError, StepReport};
use crate::kit::{MomentumScale, length_scale};
use saltus_linear::{Schur, axpy, max_abs};
use saltus_system::{DynamicsParts, MassKind, Point, Reach, State, System, Tangents};

impl MoreauJean {
    /// Sizes every buffer for `system`.
    pub(super) fn allocate(&mut self, system: &dyn System) {
        self.dims = system.dims();
        self.structure = system.structure();
        self.is_flat = system.is_flat();
        self.contacts_are_fixed = system.contacts_are_fixed();
        self.has_friction = false;
        self.laws_vary = system.laws_vary();
        self.on_mean = false;
        self.may_be_on_mean = false;
        self.factored_for = f64::NAN;
        self.redundant = 0;
        let (nq, nv, ng) = (self.dims.nq, self.dims.nv, self.dims.ng);
        let zeros = |n: usize| vec![0.0; n];
        self.smooth = Smooth::new(nv);
        self.start = Start {
            t: f64::NAN,
            q: zeros(nq),
            v: zeros(nv),
            force: zeros(nv),
            active: zeros(nv),
            acceleration: zeros(nv),
            momentum: zeros(nv),
        };
        self.trial = Trial {
            v: zeros(nv),
            xi: zeros(nv),
            xi_eval: zeros(nv),
            q: zeros(nq),
            momentum: zeros(nv),
            q_eval: zeros(nq),
            v_eval: zeros(nv),
            v_phi: zeros(nv),
            increment: zeros(nv),
            earlier_increment: zeros(nv),
            jump: zeros(nv),
            work: zeros(nv),
        };
        self.bilateral = Bilateral {
            gap: zeros(ng),
            rate: zeros(ng),
            velocity: zeros(ng),
            impulse: zeros(ng),
            guess: zeros(ng),
            middle: zeros(nq),
            ..Bilateral::default()
        };
        self.contact = Contact::default();
        self.schur = Schur::default();
        self.buffers = super::streamed::Buffers::default();
        self.even_weights.clear();
    }

    /// Evaluates the initial state and everything that depends on the system alone.
    pub(super) fn begin(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.detect(system, state, h)?;
        let c = &mut self.contact;
        c.active.reserve(c.set.len());
        c.multipliers
            .reserve(self.dims.ng + self.joints.rows() + c.set.rate.len());
        c.list.reserve(c.set.rate.len());

        self.smooth.mass.clear();
        system.mass(&state.q, &mut self.smooth.mass);
        self.smooth.mass.finish();
        self.momentum_scale = MomentumScale::new(&self.smooth.mass);
        if self.uses_linear_path() {
            self.even_weights.find(&self.momentum_scale.weights);
        }
        if self.is_linear() {
            let s = &mut self.smooth;
            s.stiffness.clear();
            s.damping.clear();
            system.stiffness(state.point(), &mut s.stiffness);
            system.damping(state.point(), &mut s.damping);
            s.stiffness.finish();
            s.damping.finish();
        }
        self.evaluate_start(system, state)?;
        self.start_velocities(&state.v);
        self.initial_increment(system, state, h)?;
        self.factor_once(h)?;
        self.set_scales(state, h);
        let rows = self.bilateral.jacobian.rows();
        self.may_be_on_mean = self
            .bilateral
            .velocity
            .iter()
            .enumerate()
            .all(|(i, u)| u.abs() <= self.velocity_tolerance(rows.cols(i), rows.values(i)));
        if self.uses_linear_path() {
            self.begin_linear(state);
        }
        self.initial_report(system, state, h)
    }

    /// The contacts near the state, evaluated there.
    pub(super) fn detect(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        let c = &mut self.contact;
        let reach = if self.contacts_are_fixed {
            Reach::All
        } else {
            Reach::Swept {
                h,
                v: &state.v,
                dv: &self.trial.increment,
            }
        };
        system.detect(state.t, &state.q, reach, &mut c.set);
        system.evaluate_contacts(state.t, &state.q, &mut c.set);
        let n = c.set.len();
        c.velocity.resize(n, 0.0);
        c.impulse.resize(n, 0.0);
        c.start_velocity.resize(n, 0.0);
        let rows = c.set.rate.len();
        c.restitution.resize(rows, 0.0);
        c.impulse_rows.resize(rows, 0.0);
        // The same contacts, to be evaluated elsewhere.
        c.law.clone_from(&c.set);
        c.probe.clone_from(&c.set);
        c.row_velocity.resize(rows, 0.0);
        c.sticking.resize(n, false);
        c.state.resize(n, ContactState::Open);
        self.has_friction = self.laws_vary && rows > n
            || c.set
                .law
                .iter()
                .any(|law| law.tangents > 0 && !(law.mu == 0.0 && law.mu_static == 0.0));
        Ok(())
    }

    /// Evaluates what a step needs of its start, unless it is the end of the last step.
    pub(super) fn evaluate_start(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<(), StepError> {
        let start = &mut self.start;
        start.t = state.t;
        start.q.copy_from_slice(&state.q);
        start.v.copy_from_slice(&state.v);
        system.evaluate_contacts(state.t, &state.q, &mut self.contact.set);
        if self.options.evaluation != Evaluation::ThetaPoint {
            let s = &mut self.smooth;
            evaluate_smooth(
                system,
                state.point(),
                s,
                self.is_flat && self.structure.is_time_invariant(),
            );
            start.force.copy_from_slice(&s.force);
            system.active_force(state.point(), &mut start.active);
            self.start_acceleration()?;
        }
        if self.structure.mass == MassKind::Varying {
            self.smooth.mass.clear();
            system.mass(&state.q, &mut self.smooth.mass);
        }
        self.smooth.mass.apply(&state.v, &mut self.start.momentum);
        Ok(())
    }

    /// `M⁻¹ f` at the start, where the evaluation weights accelerations; `M` is in `smooth.mass`.
    pub(super) fn start_acceleration(&mut self) -> Result<(), StepError> {
        if self.options.evaluation == Evaluation::WeightedAccelerations {
            self.smooth
                .mass
                .factorise()
                .map_err(|source| StepError::Singular {
                    source,
                    scheme: NAME,
                    mass_is_regular: false,
                })?;
            self.start.acceleration.copy_from_slice(&self.start.force);
            self.smooth.mass.solve(&mut self.start.acceleration);
        }
        Ok(())
    }

    /// Normal velocities at the start of the step.
    pub(super) fn start_velocities(&mut self, v: &[f64]) {
        let c = &mut self.contact;
        for i in 0..c.set.len() {
            c.start_velocity[i] = c.set.normal_velocity(i, v);
        }
    }

    /// Chooses whether the bilateral constraints hold on the mean velocity of the step or at its end: at the end in steps with an
    /// impact, and in the first step of a run whose velocities violate them.
    pub(super) fn choose_bilateral(&mut self) {
        let c = &self.contact;
        let hits = |&i: &usize| {
            let row = c.set.first_row[i];
            let directions = &c.set.directions;
            let tolerance = self.velocity_tolerance(directions.cols(row), directions.values(row));
            c.start_velocity[i] < -tolerance
        };
        self.on_mean = self.options.bilateral == super::BilateralPoint::Mean
            && self.may_be_on_mean
            && !c.active.iter().any(hits);
    }

    /// Chooses the contacts of the step.
    pub(super) fn forecast(&mut self, system: &dyn System, state: &State, h: f64) {
        let gamma = self.options.gamma;
        self.contact.active.clear();
        if self.contact.set.is_empty() {
            return;
        }
        match self.options.forecast {
            Forecast::Smooth => {}
            Forecast::Start => {
                let c = &mut self.contact;
                for i in 0..c.set.len() {
                    if c.set.gap[i] + gamma * h * c.start_velocity[i] <= self.epsilon {
                        c.active.push(i);
                    }
                }
            }
            Forecast::Position => {
                self.probe_at(system, state, gamma * h);
                let c = &mut self.contact;
                for i in 0..c.probe.len() {
                    if c.probe.gap[i] <= self.epsilon {
                        c.active.push(i);
                    }
                }
            }
            Forecast::Predicted => {
                self.probe_at(system, state, h);
                let c = &mut self.contact;
                for i in 0..c.probe.len() {
                    let u = c.probe.normal_velocity(i, &state.v);
                    if c.probe.gap[i] + gamma * h * u <= self.epsilon {
                        c.active.push(i);
                    }
                }
                std::mem::swap(&mut c.probe, &mut c.law);
            }
        }
    }

    /// Chooses the contacts from the end of a step taken without any; `false` where none is closed.
    pub(super) fn forecast_from_end(&mut self, system: &dyn System, end: f64) -> bool {
        let c = &mut self.contact;
        if c.set.is_empty() {
            return false;
        }
        system.evaluate_contacts(end, &self.trial.q, &mut c.probe);
        for i in 0..c.probe.len() {
            if c.probe.gap[i] <= self.epsilon {
                c.active.push(i);
            }
        }
        !c.active.is_empty()
    }

    /// Evaluates the probe set a time `ahead` along the start velocity.
    fn probe_at(&mut self, system: &dyn System, state: &State, ahead: f64) {
        if self.uses_linear_path() {
            // Directions depend on time alone, so that gaps are linear in the positions.
            let probe = &mut self.contact.probe;
            system.evaluate_contacts(state.t + ahead, &state.q, probe);
            for i in 0..probe.len() {
                probe.gap[i] += ahead * probe.directions.dot(probe.first_row[i], &state.v);
            }
            return;
        }
        let t = &mut self.trial;
        t.q_eval.copy_from_slice(&state.q);
        for (x, v) in t.work.iter_mut().zip(&state.v) {
            *x = ahead * v;
        }
        system.retract(&mut t.q_eval, &t.work);
        system.evaluate_contacts(state.t + ahead, &t.q_eval, &mut self.contact.probe);
    }

    /// First guess of `v_{k+1}` and of the multipliers.
    pub(super) fn predict(&mut self, h: f64) {
        let linear = self.is_linear();
        let (t, start) = (&mut self.trial, &self.start);
        if self.options.evaluation == Evaluation::WeightedAccelerations {
            for i in 0..t.v.len() {
                t.v[i] = start.v[i] + h * start.acceleration[i];
            }
            self.bilateral.impulse.fill(0.0);
        } else {
            // In nonlinear systems the change of the increment is extrapolated.
            let again = if linear { 0.0 } else { 1.0 };
            for i in 0..t.v.len() {
                let change = t.increment[i] - t.earlier_increment[i];
                t.v[i] = start.v[i] + t.increment[i] + again * change;
            }
            self.bilateral
                .impulse
                .copy_from_slice(&self.bilateral.guess);
        }
        self.contact.impulse.fill(0.0);
        self.contact.impulse_rows.fill(0.0);
        self.joints.impulse.fill(0.0);
    }

    /// Rescales the increments of the last steps to steps of length `h`.
    pub(super) fn rescale_increments(&mut self, h: f64) {
        if self.length == h {
            return;
        }
        let factor = h / self.length;
        for x in (self.trial.increment.iter_mut()).chain(&mut self.trial.earlier_increment) {
            *x *= factor;
        }
        for p in &mut self.bilateral.guess {
            *p *= factor;
        }
        self.length = h;
    }

    /// Length scale of the gaps and momentum scale of the motion.
    fn set_scales(&mut self, state: &State, h: f64) {
        let (c, t) = (&self.contact, &self.trial);
        let q = self.is_flat.then_some(state.q.as_slice());
        let moved = |i: usize| h * c.start_velocity[i].abs();
        let length = length_scale(&c.set, q, h, moved, |j| t.increment[j]);
        self.epsilon = self.options.activation_tolerance.unwrap_or(1e-12 * length);
        let s = &mut self.smooth;
        s.balance.fill(0.0);
        s.mass.apply_add(1.0, &t.increment, &mut s.balance);
        for (change, p) in s.balance.iter_mut().zip(&self.start.momentum) {
            *change = p.abs() + change.abs();
        }
        self.momentum_scale.scale = 0.0;
        self.momentum_scale.include(&s.balance, &s.force, h);
        self.impulse_scale = h * self.momentum_scale.largest(&s.force);
    }

    /// First prediction of the velocity increment: `h v̇` with the bilateral constraints.
    fn initial_increment(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        let (nv, ng) = (self.dims.nv, self.dims.ng);
        let at = state.point();
        system.force(at, &mut self.smooth.force);
        self.constraint_rows(system, state.t, &state.q);
        let b = &mut self.bilateral;
        for i in 0..ng {
            b.velocity[i] = b.jacobian.rows().dot(i, &state.v) + b.rate[i];
        }
        let mut z = vec![0.0; ng];
        let mut bias = vec![0.0; ng];
        system.g_bias(at, &mut bias);
        let s = &mut self.smooth;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.delta.copy_from_slice(&s.force);
        let augmented = self.factor_augmented(&bias)?;
        let s = &mut self.smooth;
        let rows = self.bilateral.jacobian.rows();
        if augmented {
            // J = M + α GᵀG and G v̇ = −ζ: the right-hand side gained −α Gᵀ ζ.
            axpy(1.0, &self.trial.work, &mut s.delta);
        }
        s.iteration.solve(&mut s.delta);
        if ng > 0 {
            self.one_step
                .condense(ng, nv, &s.iteration, &|i| (rows, i), &|i| (rows, i));
            for (i, q) in self.one_step.q_mut().iter_mut().enumerate() {
                *q = rows.dot(i, &s.delta) + bias[i];
            }
            self.redundant = self.one_step.solve(ng, &mut z).redundant;
            self.one_step.add_response(0..ng, &z, &mut s.delta);
        }
        for i in 0..nv {
            self.trial.increment[i] = h * s.delta[i];
        }
        for i in 0..ng {
            self.bilateral.guess[i] = h * z[i];
        }
        self.length = h;
        self.trial
            .earlier_increment
            .copy_from_slice(&self.trial.increment);
        if max_abs(&self.trial.increment).is_finite() {
            Ok(())
        } else {
            Err(self.not_finite(system, state.t))
        }
    }
}

/// Mass and force at `at` (and nothing of the mass where it is constant and known).
pub(super) fn evaluate_smooth(system: &dyn System, at: Point<'_>, s: &mut Smooth, linear: bool) {
    if linear {
        system.force(at, &mut s.force);
    } else {
        s.mass.clear();
        system.evaluate(
            at,
            DynamicsParts {
                mass: &mut s.mass,
                force: &mut s.force,
                tangents: None,
            },
        );
    }
}

/// Mass, force and their derivatives at `at`; `smooth.x` holds the vector of `D(M x)`.
pub(super) fn evaluate_tangents(system: &dyn System, at: Point<'_>, s: &mut Smooth) {
    for matrix in [
        &mut s.mass,
        &mut s.stiffness,
        &mut s.damping,
        &mut s.mass_gradient,
    ] {
        matrix.clear();
    }
    let tangents = Tangents {
        x: &s.x,
        mass_gradient: &mut s.mass_gradient,
        stiffness: &mut s.stiffness,
        damping: &mut s.damping,
    };
    system.evaluate(
        at,
        DynamicsParts {
            mass: &mut s.mass,
            force: &mut s.force,
            tangents: Some(tangents),
        },
    );
}
