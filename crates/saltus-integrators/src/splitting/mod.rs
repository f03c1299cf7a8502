//! Splitting schemes: an accurate method for the smooth motion, impacts at fixed positions.
//!
//! ```text
//! (q_{k+1}, v⁻) = Φ_h(q_k, v_k) :   M v̇ = f + Gᵀ λ ,   0 ≤ λ ⟂ g̈ ≥ 0  on constraints and closed contacts
//! where g(q_{k+1}) ≤ 0 :   M (v_{k+1} − v⁻) = Gᵀ P ,   0 ≤ u_{k+1} + e u⁻ ⟂ P ≥ 0
//! ```
//!
//! `Φ` is the method of Runge, Kutta and Fehlberg. With `contact = "impulses"` it knows no contacts. With `"forces"` a contact that hits
//! with `|u⁻| ≤ 2 h |Γ|`, `Γ < 0` its gap acceleration, closes (where steps are chosen, when the height of its fall is within the tolerance): `u⁺ = 0`, and from then on it carries the force `λ` until it opens.
//! Where something hits, `P` of a closed contact includes the impulse of its force over the step: what is pressed down is lifted by more than that only.
//!
//! Order 5 on smooth motion, order 1 across impacts, since they happen at the end of the step. With `adaptive` a step is
//! rejected where the estimated error of positions, or the penetration that it adds, exceeds the tolerance: impacts are then located as
//! well as the tolerance asks for, and no order is lost. Velocities obey constraints and laws exactly; positions of constraints drift at the order
//! of the method, penetrations of impacts are not repaired. Explicit: a stiff model needs a step below the limit that
//! [`Integrator::stable_step`] tells. Without friction. Use it, adaptive, for smooth motions with few impacts at high accuracy.
//!
//! References: Acary, *Numerical methods for nonsmooth mechanical systems*, eqs. 137–143; Fehlberg (1969). The rule that closes contacts is
//! ours.

mod flow;
mod impact;
mod options;

pub use options::{SplittingContact, SplittingOptions};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{Counts, Integrator, StepError, StepReport};
use crate::kit::{
    Active, KitScheme, MomentumScale, Step, StepProblem, integrator, largest_step, refuse_friction,
};
use crate::scheme::OptionsError;
use flow::Flow;
use saltus_linear::axpy;
use saltus_system::{ContactId, State, System};

const NAME: &str = "splitting";

/// Limits of the change of the step length, and what is left of it where a step penetrates.
const GROWTH: f64 = 5.0;
const SHRINK: f64 = 0.1;
const SHRINK_ON_PENETRATION: f64 = 0.3;

/// The schemes with their buffers.
#[derive(Debug)]
struct Splitting {
    step: Step,
    problem: StepProblem,
    flow: Flow,
    /// Contacts that are closed between steps.
    closed: Vec<ContactId>,
    /// The same by their place in the set; those of the impact; those that close in it.
    active: Active,
    hit: Active,
    closing: Active,
    acceleration: Vec<f64>, // at the end of the step (nv)
    v_free: Vec<f64>,       // velocity without the impulses of the impact (nv)
    work: Vec<f64>,         // (nv)
    scale: MomentumScale,
    momentum: Vec<f64>, // M v_k (nv)
    weights: Vec<f64>,  // √Mᵢᵢ (nv)
    moved: Vec<f64>,    // sum of the displacements since the start (nv)
    /// Size of the motion so far, largest `√Mᵢᵢ |q_i|` [√kg·m].
    size: f64,
    /// Length that penetrations are compared with \[m\].
    length: f64,
    /// The step to try next \[s\].
    next: f64,
    stable_step: Option<f64>,
    /// Whether the last step ended with an impact, and the attempts it took.
    hits: bool,
    attempts: u64,
}

/// The integrator with the given parameters.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(options: &SplittingOptions) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    Ok(integrator::<Splitting>(options))
}

impl KitScheme for Splitting {
    const NAME: &'static str = NAME;
    type Options = SplittingOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::BilateralVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance)
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let mut step = Step::new(NAME, system, state, options.activation_tolerance, h)?;
        refuse_friction(NAME, system, &step)?;
        let stable_step = if options.adaptive {
            None
        } else {
            largest_step(system, state, &step, flow::stable_step)
        };
        let report = step.initial_report(system, h);
        let zeros = || vec![0.0; step.dims.nv];
        let contacts = step.start.contacts.len();
        let mut weights = zeros();
        step.start.mass.diagonal(&mut weights);
        weights.iter_mut().for_each(|w| *w = w.max(0.0).sqrt());
        let mut scheme = Self {
            problem: StepProblem::default(),
            flow: Flow::new(system),
            closed: Vec::with_capacity(contacts),
            active: Vec::with_capacity(contacts),
            hit: Vec::with_capacity(contacts),
            closing: Vec::with_capacity(contacts),
            acceleration: zeros(),
            v_free: zeros(),
            work: zeros(),
            scale: MomentumScale::new(&step.start.mass),
            momentum: zeros(),
            weights,
            moved: zeros(),
            size: 0.0,
            length: step.length_scale(state, h),
            next: h,
            stable_step,
            hits: false,
            attempts: 0,
            step,
        };
        scheme.include_start(h);
        if options.contact == SplittingContact::Forces {
            scheme.close_touching();
        }
        // Start and end take turns: both have the buffers of accelerations from the beginning.
        let step = &mut scheme.step;
        step.end.retract(system, &step.start, &step.xi, state.t);
        step.end.evaluate_rows(system);
        step.start.evaluate_bias(system);
        step.end.evaluate_bias(system);
        scheme.measure(state);
        Ok((scheme, report))
    }

    fn take_step(
        &mut self,
        options: &Self::Options,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.attempts = 0;
        let start = &self.step.start;
        let goes_on = start.t == state.t && start.q == state.q && start.v == state.v;
        self.step.begin(system, state, h)?;
        self.problem.begin_step();
        self.include_start(h);
        if !goes_on && options.contact == SplittingContact::Forces {
            self.close_touching();
        }
        self.list_closed();
        if options.adaptive {
            self.adaptive(system, state, options, (h, end))
        } else {
            self.attempt(system, h, end)?;
            self.accept(system, state, options, h)
        }
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn chooses_step(options: &Self::Options) -> bool {
        options.adaptive
    }

    fn stable_step(&self) -> Option<f64> {
        self.stable_step
    }

    fn counts(&self) -> Counts {
        Counts {
            names: &["impact_problems", "flows"],
            values: [u64::from(self.hits), self.attempts, 0, 0, 0, 0],
        }
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.extend([self.next, self.size, self.length, self.scale.get()]);
        memory.extend_from_slice(&self.moved);
        for id in &self.closed {
            memory.extend(crate::kit::id_as_numbers(*id));
        }
    }

    fn load(&mut self, memory: &[f64]) {
        let [next, size, length, scale, rest @ ..] = memory else {
            return;
        };
        (self.next, self.size, self.length) = (*next, *size, *length);
        self.scale.set(*scale);
        if let Some((moved, closed)) = rest.split_at_checked(self.moved.len()) {
            self.moved.copy_from_slice(moved);
            self.closed.clear();
            let ids = closed.chunks_exact(2);
            self.closed
                .extend(ids.map(|id| crate::kit::id_from_numbers([id[0], id[1]])));
        }
    }
}

impl Splitting {
    /// Takes momentum and force at the start of a step into their scale.
    fn include_start(&mut self, h: f64) {
        let start = &self.step.start;
        start.mass.apply(&start.v, &mut self.momentum);
        self.scale.include(&self.momentum, &start.force, h);
        start.include_rates(&mut self.scale, h);
    }

    /// The smooth part of a step of length `h` \[s\] to the time `end`, whose end is then placed.
    fn attempt(&mut self, system: &dyn System, h: f64, end: f64) -> Result<(), StepError> {
        self.attempts += 1;
        self.step.reactions.clear();
        self.flow
            .run(system, &mut self.step, &mut self.problem, &self.active, h)?;
        let step = &mut self.step;
        step.end.retract(system, &step.start, &step.xi, end);
        step.end.evaluate(system, NAME)
    }

    /// Impacts, and the end of the step.
    fn accept(
        &mut self,
        system: &dyn System,
        state: &mut State,
        options: &SplittingOptions,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let hits = self.impact(system, options, h)?;
        self.hits = hits;
        axpy(1.0, &self.step.xi, &mut self.moved);
        let redundant = self.problem.redundant;
        let works = self.flow.works;
        self.step.work_external = Some(works.external);
        self.step.work_contact = Some(works.contact);
        self.step.work_moving = Some(works.moving);
        self.step.work_dissipated = Some(works.contact - works.moving);
        let report = self.step.finish(system, state, hits, 0, redundant)?;
        self.measure(state);
        Ok(report)
    }

    /// Steps of chosen length: shorter ones until error and penetration are small.
    fn adaptive(
        &mut self,
        system: &dyn System,
        state: &mut State,
        options: &SplittingOptions,
        (h, end): (f64, f64),
    ) -> Result<StepReport, StepError> {
        let shortest = 16.0 * f64::EPSILON * state.t.abs().max(h);
        let whole = self.next >= h * (1.0 - 1e-9);
        let (mut dt, mut rejected) = (if whole { h } else { self.next }, 0);
        loop {
            let arrival = state.t + dt;
            let arrives = end - arrival <= 1e-9 * dt;
            self.attempt(system, dt, if arrives { end } else { arrival })?;
            let error = self.error() / options.error_tolerance;
            let penetration = self.added_penetration() / (options.error_tolerance * self.length);
            let grow = 0.9 * error.powf(-0.2);
            let is_within = error <= 1.0 && (penetration <= 1.0 || penetration.is_nan());
            if is_within || dt <= shortest {
                let next = dt * grow.clamp(SHRINK, GROWTH);
                // A step that the end of the run cut short says nothing against the one that was planned.
                let next = if whole && dt == h {
                    next.max(self.next)
                } else {
                    next
                };
                let mut report = self.accept(system, state, options, dt)?;
                self.next = next;
                report.rejected = rejected;
                report.remedies = u32::from(!is_within);
                return Ok(report);
            }
            rejected += 1;
            let factor = if penetration > 1.0 {
                SHRINK_ON_PENETRATION
            } else {
                1.0
            };
            dt = (dt * factor.min(grow.clamp(SHRINK, 0.9))).max(shortest);
        }
    }

    /// Estimated error of the positions of an attempt, relative to the size of the motion.
    fn error(&self) -> f64 {
        let mut size = self.size;
        let mut worst = 0.0_f64;
        for i in 0..self.weights.len() {
            size = size.max(self.weights[i] * self.step.xi[i].abs());
            let error = self.weights[i] * self.flow.error[i].abs();
            if error > worst || error.is_nan() {
                worst = error;
            }
        }
        if worst == 0.0 { 0.0 } else { worst / size }
    }

    /// By how much an attempt penetrates deeper than before, at most \[m\].
    fn added_penetration(&self) -> f64 {
        let (before, after) = (&self.step.start.contacts.gap, &self.step.end.contacts.gap);
        let pairs = before.iter().zip(after);
        pairs.fold(0.0, |worst: f64, (before, after)| {
            worst.max((-after).max(0.0) - (-before).max(0.0))
        })
    }

    /// Takes the state into the size of the motion.
    fn measure(&mut self, state: &State) {
        for i in 0..self.weights.len() {
            let mut reach = self.moved[i].abs();
            if self.step.is_flat {
                reach = reach.max(state.q[i].abs());
            }
            self.size = self.size.max(self.weights[i] * reach);
        }
    }
}
