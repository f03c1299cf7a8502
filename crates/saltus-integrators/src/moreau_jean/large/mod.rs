//! The step of a large time-invariant system, in as few passes over memory as it takes.
//!
//! With constant `M`, `K`, `C`, `G = 0` and fixed contact directions the increment of the velocity is
//!
//! ```text
//! J Δv = h f(t_θ, q_k + θ h v_k, v_k) + W R ,   J = M + hθ C + h²θφ K
//! ```
//!
//! one solve with the factors of `J` for the forces and none for the contacts, whose columns `J⁻¹ W` are cached. The
//! force is evaluated again at the end, and the balance `M Δv − h f − W R` taken from it: that is the certificate.
//! Products with `M` are consumed row by row as they arise, and the state is exchanged, not copied.

mod certify;
mod step;
mod streamed;

use super::forecast::ActiveContacts;
use super::theta::ThetaScheme;
use super::{Evaluation, Forecast, MoreauJeanOptions, NAME, singular};
use crate::certificate::{Certificate, Entry, Guarantees};
use crate::integrator::{Energy, Event, Integrator, Reactions, StepError, StepReport};
use crate::kit::{KitScheme, MomentumScale, StepEvents, check_force, closed_gap};
use crate::one_step::OneStep;
use crate::streaming::Fingerprint;
use saltus_linear::{DENSE_LIMIT, Runs, Schur, SquareMatrix};
use saltus_system::{ContactLaw, ContactSet, Reach, State, System};
use streamed::Buffers;

/// The scheme of such systems with its buffers.
#[derive(Debug)]
pub(super) struct LargeLinear {
    pub(super) options: MoreauJeanOptions,
    pub(super) theta: f64,
    /// Weight of the end velocity in the position update: θ, or 1/2 in the dissipative variant.
    pub(super) phi: f64,
    /// Step length that the factored iteration matrix belongs to.
    factored_for: f64,
    /// ε of the forecast \[m\].
    epsilon: f64,
    /// Weights of momenta, and the size of the motion so far.
    pub(super) momentum_scale: MomentumScale,
    /// The contribution of forces to that size in a step, `max h |f|ᵢ / √Mᵢᵢ` \[√J\].
    impulse_scale: f64,
    pub(super) smooth: Smooth,
    pub(super) trial: Trial,
    pub(super) contact: Contact,
    one_step: OneStep,
    /// The condensed contacts met so far.
    pub(super) schur: Schur,
    /// Time \[s\] at the end of the last step, its length \[s\], and the fingerprint of its end, which tells it from other states.
    pub(super) t: f64,
    pub(super) length: f64,
    pub(super) fingerprint: Fingerprint,
    /// The same of the trial end of the step.
    pub(super) end_fingerprint: Fingerprint,
    /// Whether the force depends on the velocity.
    pub(super) needs_velocity: bool,
    /// Whether the last step was streamed, and what such steps need.
    pub(super) was_streamed: bool,
    /// Time its forces were evaluated at \[s\].
    pub(super) evaluated_at: f64,
    buffers: Buffers,
    /// Runs of equal weights.
    pub(super) even_weights: Runs,
    pub(super) energy: Energy,
    events: StepEvents,
    /// Multipliers that are not unique in the last solve.
    redundant: u32,
}

/// Inertia and smooth forces.
#[derive(Debug)]
pub(super) struct Smooth {
    pub(super) mass: SquareMatrix,      // M
    pub(super) stiffness: SquareMatrix, // K
    damping: SquareMatrix,              // C
    pub(super) iteration: SquareMatrix, // J
    force: Vec<f64>,                    // f at the evaluation point (nv)
    active: Vec<f64>,                   // force without a potential (nv)
    residual: Vec<f64>,                 // M Δv − h f without reactions (nv)
    balance: Vec<f64>,                  // the same with reactions (nv)
    delta: Vec<f64>,                    // Δv (nv)
    round_off: Vec<f64>,                // of the impulse of the forces, where it matters (nv)
}

/// The end of the step as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Trial {
    pub(super) v: Vec<f64>,      // v_{k+1} (nv)
    pub(super) q: Vec<f64>,      // q_{k+1} (nq)
    pub(super) q_eval: Vec<f64>, // q at the evaluation point (nq)
    v_eval: Vec<f64>,            // v at the evaluation point (nv)
}

/// Contacts at the start, where the law is applied, and at the end.
#[derive(Debug, Default)]
pub(super) struct Contact {
    /// At the state: start of the step, then end.
    pub(super) set: ContactSet,
    /// Where the law of the step is applied.
    pub(super) law: ContactSet,
    /// The contacts of the step.
    pub(super) active: ActiveContacts,
    pub(super) start_velocity: Vec<f64>,  // u_k (nc)
    pub(super) velocity: Vec<f64>,        // u_{k+1} (nc)
    pub(super) impulse: Vec<f64>,         // R (nc)
    pub(super) multipliers: Vec<f64>,     // R of the active contacts
    pub(super) free_velocities: Vec<f64>, // Wᵀ J⁻¹ h f of the active contacts
    touched: Vec<(usize, f64)>,           // forces without reactions, to be restored after the pass
}

impl Smooth {
    fn new(nv: usize) -> Self {
        let (matrix, vector) = (|| SquareMatrix::new(nv), || vec![0.0; nv]);
        Self {
            mass: matrix(),
            stiffness: matrix(),
            damping: matrix(),
            iteration: matrix(),
            force: vector(),
            active: vector(),
            residual: vector(),
            balance: vector(),
            delta: vector(),
            round_off: vector(),
        }
    }
}

impl Integrator for LargeLinear {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        let tolerance = self.options.tolerance;
        ThetaScheme::guarantees(&self.options).with(Entry::EnergyBalance, tolerance)
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let report = self.begin(system, state, h)?;
        let mut events = std::mem::take(&mut self.events);
        events.prepare(&self.reactions(), state, true);
        self.events = events;
        Ok(report)
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let mut events = std::mem::take(&mut self.events);
        events.begin(&self.reactions(), &state.v);
        let report = self.take_step(system, state, h, end);
        if report.is_ok() {
            events.note(&self.reactions(), state);
        }
        self.events = events;
        report
    }

    fn events(&self) -> &[Event] {
        &self.events.list
    }

    fn reactions(&self) -> Reactions<'_> {
        Reactions {
            gap_velocity: &self.contact.velocity,
            impulse: &self.contact.impulse,
            ..Reactions::of(&self.contact.set)
        }
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        self.interpolate_linear(system, fraction, out);
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        vec![("activation_tolerance", self.epsilon)]
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        self.events.save(memory);
        memory.extend([self.epsilon, self.momentum_scale.scale, self.impulse_scale]);
    }

    fn load(&mut self, memory: &[f64]) {
        if let [epsilon, scale, impulse_scale, ..] = self.events.load(memory) {
            self.epsilon = *epsilon;
            self.momentum_scale.scale = *scale;
            self.impulse_scale = *impulse_scale;
        }
    }
}

impl LargeLinear {
    /// Whether steps of `system` use the method of this file.
    pub(super) fn applies(options: &MoreauJeanOptions, system: &dyn System, state: &State) -> bool {
        let (dims, structure) = (system.dims(), system.structure());
        let is_linear = system.is_flat()
            && structure.is_time_invariant()
            && structure.linear_contacts
            && system.contacts_are_fixed();
        let is_plain = dims.ng == 0 && system.joint_friction().is_empty() && !system.laws_vary();
        if !(dims.nv > DENSE_LIMIT && is_linear && is_plain)
            || options.evaluation != Evaluation::ThetaPoint
        {
            return false;
        }
        let mut set = ContactSet::default();
        system.detect(state.t, &state.q, Reach::All, &mut set);
        let has_friction =
            |law: &ContactLaw| law.tangents > 0 && (law.mu != 0.0 || law.mu_static != 0.0);
        !set.law.iter().any(has_friction)
    }

    /// The scheme with the given parameters.
    pub(super) fn new(options: MoreauJeanOptions) -> Self {
        Self {
            theta: options.theta(),
            phi: options.phi(),
            options,
            factored_for: f64::NAN,
            epsilon: 0.0,
            momentum_scale: MomentumScale::default(),
            impulse_scale: 0.0,
            smooth: Smooth::new(0),
            trial: Trial::default(),
            contact: Contact::default(),
            one_step: OneStep::default(),
            schur: Schur::default(),
            t: f64::NAN,
            length: 0.0,
            fingerprint: Fingerprint::default(),
            end_fingerprint: Fingerprint::default(),
            needs_velocity: true,
            was_streamed: false,
            evaluated_at: 0.0,
            buffers: Buffers::default(),
            even_weights: Runs::default(),
            energy: Energy::default(),
            events: StepEvents::default(),
            redundant: 0,
        }
    }

    /// Evaluates the initial state and everything that depends on the system alone.
    fn begin(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let nv = system.dims().nv;
        self.smooth = Smooth::new(nv);
        self.trial = Trial {
            v: state.v.clone(),
            q: state.q.clone(),
            q_eval: state.q.clone(),
            v_eval: state.v.clone(),
        };
        let c = &mut self.contact;
        system.detect(state.t, &state.q, Reach::All, &mut c.set);
        system.evaluate_contacts(state.t, &state.q, &mut c.set);
        c.law.clone_from(&c.set);
        c.active.probe.clone_from(&c.set);
        let n = c.set.len();
        for list in [&mut c.velocity, &mut c.impulse, &mut c.start_velocity] {
            list.resize(n, 0.0);
        }
        c.multipliers.reserve(n);
        c.active.list.reserve(n);
        self.start_velocities(&state.v);

        let s = &mut self.smooth;
        system.mass(&state.q, &mut s.mass);
        system.stiffness(state.point(), &mut s.stiffness);
        system.damping(state.point(), &mut s.damping);
        for matrix in [&mut s.mass, &mut s.stiffness, &mut s.damping] {
            matrix.finish();
        }
        self.momentum_scale = MomentumScale::new(&s.mass);
        self.even_weights.find(&self.momentum_scale.weights);
        self.needs_velocity = !s.damping.is_zero();
        self.set_scales(system, state, h)?;
        self.factor(h)?;
        self.t = state.t;
        self.fingerprint = Fingerprint::of(state);

        self.energy = match self.streamed_energy(system, state) {
            Some(energy) => energy,
            None => self.energy_of(system, state),
        };
        let mut certificate = Certificate::EMPTY;
        self.certify_end(system, state.point(), &mut certificate);
        Ok(StepReport::at_rest(h, self.energy, certificate))
    }

    /// Length scale of the gaps and momentum scale of the motion, with the change `h M⁻¹ f` of the velocity.
    fn set_scales(&mut self, system: &dyn System, state: &State, h: f64) -> Result<(), StepError> {
        let s = &mut self.smooth;
        system.force(state.point(), &mut s.force);
        check_force(system, &s.force, state.t)?;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        if let Err(source) = s.iteration.factorise() {
            return Err(singular(source, &mut s.mass));
        }
        s.delta.copy_from_slice(&s.force);
        s.iteration.solve_scaled(h, &mut s.delta);
        let c = &self.contact;
        let moved = |i: usize| h * c.start_velocity[i].abs();
        let epsilon = closed_gap(&c.set, Some(&state.q), h, moved, |j| s.delta[j]);
        self.epsilon = self.options.activation_tolerance.unwrap_or(epsilon);
        s.mass.apply(&s.delta, &mut s.balance);
        s.mass.apply(&state.v, &mut s.residual);
        for (change, p) in s.balance.iter_mut().zip(&s.residual) {
            *change = p.abs() + change.abs();
        }
        self.momentum_scale.include(&s.balance, &s.force, h);
        self.impulse_scale = h * self.momentum_scale.largest(&s.force);
        s.delta.fill(0.0);
        Ok(())
    }

    /// Factors `J = M + hθ C + h²θφ K` for steps of length `h`.
    fn factor(&mut self, h: f64) -> Result<(), StepError> {
        let s = &mut self.smooth;
        s.iteration.clear();
        s.iteration.add_scaled(1.0, &s.mass);
        s.iteration.add_scaled(h * self.theta, &s.damping);
        s.iteration
            .add_scaled(h * h * self.theta * self.phi, &s.stiffness);
        s.iteration.finish();
        if let Err(source) = s.iteration.factorise() {
            return Err(singular(source, &mut s.mass));
        }
        self.factored_for = h;
        Ok(())
    }

    /// Energy of a state, summed as in a step, so that a restarted run is bitwise identical.
    fn energy_of(&self, system: &dyn System, state: &State) -> Energy {
        Energy {
            kinetic: self.linear_kinetic(&state.v),
            potential: system.potential_energy(state.t, &state.q),
        }
    }

    /// Normal velocities at the start of the step.
    pub(super) fn start_velocities(&mut self, v: &[f64]) {
        let c = &mut self.contact;
        for i in 0..c.set.len() {
            c.start_velocity[i] = c.set.normal_velocity(i, v);
        }
    }

    /// Time at which forces are evaluated \[s\].
    pub(super) fn evaluation_time(&self, state: &State, h: f64, end: f64) -> f64 {
        if self.theta < 1.0 {
            state.t + self.theta * h
        } else {
            end
        }
    }

    /// Chooses the contacts of the step.
    pub(super) fn forecast(&mut self, system: &dyn System, state: &State, h: f64) {
        let Contact {
            set, law, active, ..
        } = &mut self.contact;
        // Directions depend on time alone, so that gaps are linear in the positions.
        let probe_at = |ahead: f64, probe: &mut ContactSet| {
            system.evaluate_contacts(state.t + ahead, &state.q, probe);
            for i in 0..probe.len() {
                probe.gap[i] += ahead * probe.directions.dot(probe.first_row[i], &state.v);
            }
        };
        let (at_start, reach) = ((&*set, &state.v[..]), (self.epsilon, h));
        active.choose(&self.options, at_start, reach, probe_at);
        if self.options.forecast == Forecast::Predicted {
            std::mem::swap(&mut active.probe, law);
        }
    }

    /// Chooses the contacts from the end of a step taken without any; `false` where none is closed.
    pub(super) fn forecast_from_end(&mut self, system: &dyn System, end: f64) -> bool {
        let at = (end, &self.trial.q[..]);
        self.contact.active.choose_closed(system, at, self.epsilon)
    }
}
