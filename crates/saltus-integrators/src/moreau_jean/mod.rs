//! The Moreau–Jean θ-scheme.
//!
//! ```text
//! M (v_{k+1} − v_k) = h f + Gᵀ P + W R ,   q_{k+1} = q_k ⊕ h v_{k+θ} ,   x_{k+θ} = θ x_{k+1} + (1−θ) x_k
//! G v_{k+1} + ∂g/∂t = 0                    (bilateral, at velocity level, at q_{k+1})
//! 0 ≤ u_{k+1} + e u_k ⟂ R ≥ 0              for the contacts that the forecast activates, R = 0 for the others
//! ```
//!
//! Order 1 (in L¹, across impacts); order 2 on smooth motion for θ = 1/2. Robust with any number of
//! simultaneous contacts. The impact law and the velocities of bilateral constraints are exact;
//! positions drift at O(h) and penetrate at O(h), without correction. In linear systems the energy
//! balance (Acary, eqs. 84 and 88) holds to round-off. Use it first, and where robustness counts most.
//!
//! References: Moreau (1988), Jean (1999); Acary, *Numerical methods for nonsmooth mechanical
//! systems* (eqs. 40, 41, 84–90); Brüls, Acary, Cardona (2014), §9.1.
//!
//! Each step is solved by Newton's method on `v_{k+1}` with the exact tangent, the contact problem of
//! each iteration by an LCP over the activated contacts. Constant `M`, `K`, `C` are recognised: the
//! iteration matrix is factored once and one solve is exact; large such systems without bilateral constraints
//! use `linear.rs`, whose cost is a few passes over memory, or `streamed.rs`, which needs two.

mod certify;
mod correction;
mod explicit;
mod failure;
mod friction;
mod joints;
mod linear;
mod newton;
mod options;
mod start;
mod streamed;

pub use explicit::Explicit;
pub use options::{Bilateral as BilateralPoint, Evaluation, Forecast, MoreauJeanOptions, Variant};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{ContactState, Event, Integrator, Reactions, StepError, StepReport};
use crate::kit::{MomentumScale, StepEvents};
use crate::one_step::OneStep;
use crate::scheme::OptionsError;
use crate::streaming::Fingerprint;
use saltus_complementarity::Block;
use saltus_linear::{DENSE_LIMIT, RowCollector, Runs, Schur, SquareMatrix, is_zero};
use saltus_system::{ContactSet, Dims, State, Structure, System};

const NAME: &str = "moreau-jean";

/// The scheme with its buffers.
#[derive(Debug)]
pub struct MoreauJean {
    options: MoreauJeanOptions,
    theta: f64,
    /// Weight of the end velocity in the position update: θ, or 1/2 in the dissipative variant.
    phi: f64,
    dims: Dims,
    structure: Structure,
    is_flat: bool,
    contacts_are_fixed: bool,
    /// Whether any contact of the set has friction.
    has_friction: bool,
    /// Whether the numbers of the contact laws depend on the state.
    laws_vary: bool,
    /// Whether bilateral constraints hold on the mean velocity of the step, and whether they may in the next one.
    on_mean: bool,
    may_be_on_mean: bool,
    /// Step length the factored iteration matrix of a time-invariant system belongs to.
    factored_for: f64,
    /// ε of the forecast \[m\].
    epsilon: f64,
    /// Weights of momenta, and the size of the motion so far.
    momentum_scale: MomentumScale,
    /// The contribution of forces to that size in a step, `max h |f|ᵢ / √Mᵢᵢ` \[√J\].
    impulse_scale: f64,
    smooth: Smooth,
    start: Start,
    trial: Trial,
    bilateral: Bilateral,
    contact: Contact,
    joints: joints::Joints,
    one_step: OneStep,
    /// The condensed problem of all contacts, where it never changes and is small.
    constant_delassus: OneStep,
    /// The condensed contacts met so far of a large time-invariant system.
    schur: Schur,
    /// Size of the last step \[s\], which the increments belong to, and in linear systems the fingerprint of its end, which tells it
    /// from other states.
    length: f64,
    fingerprint: Fingerprint,
    /// The same of the trial end of the step.
    end_fingerprint: Fingerprint,
    /// Whether the force depends on the velocity.
    needs_velocity: bool,
    /// Whether the last step was streamed, and what such steps need.
    was_streamed: bool,
    /// Time its forces were evaluated at \[s\].
    evaluated_at: f64,
    buffers: streamed::Buffers,
    /// Runs of equal weights.
    even_weights: Runs,
    energy: crate::integrator::Energy,
    events: StepEvents,
    /// Multipliers that are not unique in the last solve.
    redundant: u32,
}

/// Inertia and smooth forces at the evaluation point.
#[derive(Debug)]
struct Smooth {
    mass: SquareMatrix,          // M
    stiffness: SquareMatrix,     // K
    damping: SquareMatrix,       // C
    mass_gradient: SquareMatrix, // D(M x)
    gradient: SquareMatrix,      // all derivatives along q, before the tangent of the retraction
    iteration: SquareMatrix,     // J
    tangent: SquareMatrix,       // T of the retraction
    force: Vec<f64>,             // f (nv)
    active: Vec<f64>,            // force without a potential (nv)
    x: Vec<f64>,                 // what M multiplies (nv)
    residual: Vec<f64>,          // M x − h f without reactions (nv)
    balance: Vec<f64>,           // the same with reactions (nv)
    delta: Vec<f64>,             // Newton correction (nv)
    round_off: Vec<f64>,         // of the impulse of the forces, where it matters (nv)
}

/// What is known of the start of the step.
#[derive(Debug, Default)]
struct Start {
    t: f64,
    q: Vec<f64>,            // (nq)
    v: Vec<f64>,            // (nv)
    force: Vec<f64>,        // f_k (nv), where the evaluation weights forces or accelerations
    active: Vec<f64>,       // force without a potential (nv), likewise
    acceleration: Vec<f64>, // M⁻¹ f_k (nv), where the evaluation weights accelerations
    momentum: Vec<f64>,     // M v_k (nv)
}

/// The end of the step as far as it is known.
#[derive(Debug, Default)]
struct Trial {
    v: Vec<f64>,        // v_{k+1} (nv)
    xi: Vec<f64>,       // tangent of the step, q_{k+1} = q_k ⊕ ξ (nv)
    xi_eval: Vec<f64>,  // tangent from q_k to the evaluation point (nv)
    q: Vec<f64>,        // q_{k+1} (nq)
    momentum: Vec<f64>, // M v_{k+1} (nv)
    q_eval: Vec<f64>,   // q at the evaluation point (nq)
    v_eval: Vec<f64>,   // v at the evaluation point (nv)
    v_phi: Vec<f64>,    // mean velocity of the step (nv)
    /// Increment of v over the last step without the contact impulses (nv): predicts the next one.
    increment: Vec<f64>,
    /// The one before (nv).
    earlier_increment: Vec<f64>,
    jump: Vec<f64>, // part of v_{k+1} − v_k that the contact impulses made (nv)
    work: Vec<f64>, // (nv)
}

/// Bilateral constraints at the end of the step.
#[derive(Debug, Default)]
struct Bilateral {
    jacobian: RowCollector, // G (ng × nv)
    rows: RowCollector,     // G + hφ D(G v + ∂g/∂t)
    gap: Vec<f64>,          // g (ng)
    rate: Vec<f64>,         // ∂g/∂t (ng)
    velocity: Vec<f64>,     // G v + ∂g/∂t (ng)
    impulse: Vec<f64>,      // P (ng)
    guess: Vec<f64>,        // P of the last step, predicts the next one (ng)
    middle: Vec<f64>,       // q half-way through the step (nq)
}

/// Contacts at the start, where the law is applied, and at the end.
#[derive(Debug, Default)]
struct Contact {
    /// At the state: start of the step, then end.
    set: ContactSet,
    /// Where the law of the step is applied.
    law: ContactSet,
    /// Where the forecast looks, if it looks elsewhere.
    probe: ContactSet,
    rows: RowCollector,         // Wᵀ with the derivative of Wᵀ v, all rows
    start_velocity: Vec<f64>,   // u_k (nc)
    velocity: Vec<f64>,         // u_{k+1} (nc)
    impulse: Vec<f64>,          // R (nc)
    active: Vec<usize>,         // contacts the forecast activated, increasing
    list: Vec<(usize, usize)>,  // contact and row of `law` of each row of the one-step problem
    blocks: Vec<(u64, Block)>,  // identity and law of each block of the one-step problem
    restitution: Vec<f64>,      // e, one per row of `law`
    impulse_rows: Vec<f64>,     // R, one per row of `law`
    row_velocity: Vec<f64>,     // u, one per row of `law`; at the end of a step, of `set`
    sticking: Vec<bool>,        // contacts that stuck when the step began
    state: Vec<ContactState>,   // what each contact does
    multipliers: Vec<f64>,      // z of the one-step problem
    free_velocities: Vec<f64>,  // free velocity increments Wᵀ J⁻¹ h f of the active contacts
    touched: Vec<(usize, f64)>, // forces without reactions, to be restored after the pass
}

impl Contact {
    /// Takes the rates `∂g/∂t` of the law, which is evaluated at `t_eval`, at `end`: a contact that stays closed on an accelerating
    /// wall then has zero gap velocity at the end of the step. `probe` has the same contacts, and is free after the forecast.
    fn use_rates_at_end(&mut self, system: &dyn System, (t_eval, end): (f64, f64), q: &[f64]) {
        if t_eval == end || is_zero(&self.law.rate) && is_zero(&self.set.rate) {
            return;
        }
        system.evaluate_contacts(end, q, &mut self.probe);
        self.law.rate.copy_from_slice(&self.probe.rate);
    }
}

/// The scheme that the parameters ask for: implicit, or one of the explicit variants.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(options: &MoreauJeanOptions) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    match options.explicit {
        Some(_) => Ok(crate::kit::integrator::<explicit::ExplicitMoreauJean>(
            options,
        )),
        None => Ok(Box::new(MoreauJean::new(options.clone())?)),
    }
}

impl MoreauJean {
    /// The implicit scheme with the given parameters; `explicit` is ignored.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn new(options: MoreauJeanOptions) -> Result<Self, OptionsError> {
        options.validate()?;
        Ok(Self {
            theta: options.theta(),
            phi: options.phi(),
            options,
            dims: Dims::default(),
            structure: Structure::GENERAL,
            is_flat: true,
            contacts_are_fixed: true,
            has_friction: false,
            laws_vary: false,
            on_mean: false,
            may_be_on_mean: false,
            factored_for: f64::NAN,
            epsilon: 0.0,
            momentum_scale: MomentumScale::default(),
            impulse_scale: 0.0,
            smooth: Smooth::new(0),
            start: Start::default(),
            trial: Trial::default(),
            bilateral: Bilateral::default(),
            contact: Contact::default(),
            joints: joints::Joints::default(),
            one_step: OneStep::default(),
            constant_delassus: OneStep::default(),
            schur: Schur::default(),
            length: 0.0,
            fingerprint: Fingerprint::default(),
            end_fingerprint: Fingerprint::default(),
            needs_velocity: true,
            was_streamed: false,
            evaluated_at: 0.0,
            buffers: streamed::Buffers::default(),
            even_weights: Runs::default(),
            energy: crate::integrator::Energy::default(),
            events: StepEvents::default(),
            redundant: 0,
        })
    }

    /// Whether one linear solve is exact: constant `M`, `K`, `C` and flat coordinates.
    fn is_linear(&self) -> bool {
        self.is_flat && self.structure.is_time_invariant()
    }

    /// Whether the condensed problem of all contacts never changes while the step length stays.
    fn contacts_are_constant(&self) -> bool {
        self.is_linear()
            && self.structure.linear_contacts
            && self.contacts_are_fixed
            && self.dims.ng == 0
            && !self.has_laws()
    }

    /// Whether the problem of a step has other laws than equalities and complementarity.
    fn has_laws(&self) -> bool {
        self.has_friction || self.joints.rows() > 0
    }

    /// Rows of the one-step problem before those of the contacts.
    fn rows_before_contacts(&self) -> usize {
        self.dims.ng + self.joints.rows()
    }

    /// Whether the columns of all contacts are computed in advance.
    fn has_constant_delassus(&self) -> bool {
        self.contacts_are_constant() && self.dims.nv <= DENSE_LIMIT
    }
}

impl Smooth {
    fn new(nv: usize) -> Self {
        let matrix = || SquareMatrix::new(nv);
        let vector = || vec![0.0; nv];
        Self {
            mass: matrix(),
            stiffness: matrix(),
            damping: matrix(),
            mass_gradient: matrix(),
            gradient: matrix(),
            iteration: matrix(),
            tangent: matrix(),
            force: vector(),
            active: vector(),
            x: vector(),
            residual: vector(),
            balance: vector(),
            delta: vector(),
            round_off: vector(),
        }
    }
}

impl Integrator for MoreauJean {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        let tolerance = self.options.tolerance;
        let g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance);
        let g = match self.options.bilateral {
            BilateralPoint::End => g.with(Entry::BilateralVelocity, tolerance),
            BilateralPoint::Mean => g,
        };
        if self.is_linear() {
            g.with(Entry::EnergyBalance, tolerance)
        } else {
            g
        }
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.allocate(system);
        self.allocate_joints(system)?;
        let report = self.begin(system, state, h)?;
        let mut events = std::mem::take(&mut self.events);
        events.prepare(&self.reactions(), state, self.contacts_are_fixed);
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
        let (rows, states): (usize, usize) = if self.has_friction {
            (self.contact.set.rate.len(), self.contact.set.len())
        } else {
            (0, 0)
        };
        Reactions {
            row_velocity: &self.contact.row_velocity[..rows],
            row_impulse: &self.contact.impulse_rows[..rows],
            state: &self.contact.state[..states],
            bilateral_gap: &self.bilateral.gap,
            bilateral_velocity: &self.bilateral.velocity,
            bilateral_rate: &self.bilateral.rate,
            bilateral_impulse: &self.bilateral.impulse,
            bilateral_force: &[],
            contacts: &self.contact.set,
            gap_velocity: &self.contact.velocity,
            impulse: &self.contact.impulse,
            force: &[],
            friction_slip: &self.joints.slip,
            friction_impulse: &self.joints.impulse,
            friction_state: &self.joints.state,
            work_moving: None,
        }
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        if self.uses_linear_path() {
            return self.interpolate_linear(system, fraction, out);
        }
        // After a step, `start` already holds its end; step back along the tangent.
        out.q.clone_from(&self.start.q);
        let back: Vec<f64> = self.trial.xi.iter().map(|x| (fraction - 1.0) * x).collect();
        system.retract(&mut out.q, &back);
        out.v.clear();
        let jump = |i: usize| self.start.v[i] - self.trial.jump[i];
        out.v.extend(
            (0..self.dims.nv).map(|i| jump(i) + (fraction - 1.0) * self.trial.increment[i]),
        );
        if fraction >= 1.0 {
            out.v.clone_from(&self.start.v);
        }
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        vec![("activation_tolerance", self.epsilon)]
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        self.events.save(memory);
        memory.extend([self.epsilon, self.momentum_scale.scale, self.impulse_scale]);
        if self.options.bilateral == BilateralPoint::Mean {
            memory.push(f64::from(u8::from(self.may_be_on_mean)));
        }
        if self.uses_linear_path() {
            return;
        }
        memory.push(self.length);
        memory.extend_from_slice(&self.trial.earlier_increment);
        memory.extend_from_slice(&self.trial.increment);
        memory.extend_from_slice(&self.bilateral.guess);
        if self.has_laws() {
            self.one_step.save_guess(memory);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        let memory = self.events.load(memory);
        let [epsilon, scale, impulse_scale, rest @ ..] = memory else {
            return;
        };
        let (may_be_on_mean, rest) = match (self.options.bilateral, rest) {
            (BilateralPoint::Mean, [flag, rest @ ..]) => (*flag != 0.0, rest),
            (_, rest) => (false, rest),
        };
        let (nv, ng) = (self.dims.nv, self.dims.ng);
        let linear = self.uses_linear_path();
        if rest.len() < if linear { 0 } else { 1 + 2 * nv + ng } {
            return;
        }
        self.may_be_on_mean = may_be_on_mean;
        self.epsilon = *epsilon;
        self.momentum_scale.scale = *scale;
        self.impulse_scale = *impulse_scale;
        if linear {
            return;
        }
        let (length, rest) = rest.split_at(1);
        self.length = length[0];
        let (earlier, rest) = rest.split_at(nv);
        self.trial.earlier_increment.copy_from_slice(earlier);
        let (increment, rest) = rest.split_at(nv);
        let (guess, rest) = rest.split_at(ng);
        self.trial.increment.copy_from_slice(increment);
        self.bilateral.guess.copy_from_slice(guess);
        if self.has_laws() {
            self.one_step.load_guess(rest);
        }
    }
}

impl MoreauJean {
    /// The step, but for its events.
    fn take_step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        if self.uses_linear_path() {
            return self.linear_step(system, state, h, end);
        }
        if self.start.t != state.t || self.start.q != state.q || self.start.v != state.v {
            self.evaluate_start(system, state)?;
            self.energy = self.energy_at_start(system);
        }
        self.rescale_increments(h);
        if !self.contacts_are_fixed {
            self.detect(system, state, h)?;
        }
        if self.is_linear() && self.factored_for != h {
            self.factor_once(h)?;
        }
        self.start_velocities(&state.v);
        self.forecast(system, state, h);
        self.list_rows();
        self.begin_friction(&state.v);
        self.choose_bilateral();
        self.predict(h);
        let mut iterations = self.newton(system, state, h, end)?;
        if self.options.forecast == Forecast::Smooth && self.forecast_from_end(system, end) {
            self.list_rows();
            iterations += self.newton(system, state, h, end)?;
        }
        let report = self.finish(system, state, h, end, iterations)?;
        state.t = end;
        state.q.copy_from_slice(&self.start.q);
        state.v.copy_from_slice(&self.start.v);
        Ok(report)
    }
}
