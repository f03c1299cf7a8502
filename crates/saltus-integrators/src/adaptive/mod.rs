//! The Moreau–Jean scheme with steps chosen by the error.
//!
//! A step of length `h` (`x_1`) is compared with two of length `h/2` (`x_{1/2}`), which are kept:
//!
//! ```text
//! e = c_p (q_{1/2} − q_1) ,   c_0 = 2 ,  c_p = 1/(2^p − 1)
//! error = max( max_i |e_i| / (atol + rtol max(|q_k|, |q_{k+1}|)_i) ,  max_α [max(0, −g_{k+1}) − max(0, −g_k)] / violation_tolerance )
//! h_new = h · min(α_max, max(α_min, α · error^{−1/(p+1)}))
//! ```
//!
//! A step whose `error` exceeds 1 is taken again from its start, unless it is `h_min` long. Both solutions miss an impact alike: the
//! second term, which the first does not know, is what brings the step down to the impact.
//!
//! The error of the positions follows the tolerance; order and laws are those of the Moreau–Jean scheme, friction and bilateral
//! constraints included. A step that grows is lengthened only where that is worth a new factorisation. Use it where long smooth
//! phases alternate with impacts, and where a tolerance is known better than a step.
//!
//! Reference: Acary, *Numerical methods for nonsmooth mechanical systems* (eqs. 105–129).

mod estimate;
mod half_steps;
mod options;

pub use options::{AdaptiveMoreauJeanOptions, ErrorOrder};

use crate::certificate::Guarantees;
use crate::integrator::{Counts, Event, Integrator, Reactions, StepError, StepReport};
use crate::kit::{ContactHistory, RowVelocities};
use crate::moreau_jean::MoreauJean;
use crate::scheme::OptionsError;
use estimate::{Estimate, has_jump, violation_increment};
use half_steps::HalfSteps;
use saltus_system::{ContactSet, State, System};

const NAME: &str = "adaptive-moreau-jean";

/// A step that could grow by less than this keeps its length, and with it the factorisations.
const LEAST_GROWTH: f64 = 1.1;

/// The shortest step, over the longest, where nothing else is said.
const SHORTEST: f64 = 1e-9;

/// The scheme with its buffers.
#[derive(Debug)]
pub struct AdaptiveMoreauJean {
    options: AdaptiveMoreauJeanOptions,
    /// Takes the steps of length `h`.
    whole: MoreauJean,
    /// Takes the steps of length `h/2`.
    half: MoreauJean,
    own: Option<Own>,
}

/// What a prepared scheme has.
#[derive(Debug)]
struct Own {
    /// Longest and shortest step \[s\].
    h_max: f64,
    h_min: f64,
    /// Length of the next attempt \[s\].
    proposal: f64,
    /// Whether the last step was taken only because there is no shorter one.
    is_accepted_at_shortest: bool,
    /// Hidden variables at the start of the step.
    memory: Vec<f64>,
    start: State,
    middle: State,
    end: State,
    /// End of the step of length `h`.
    compared: State,
    half_steps: HalfSteps,
    /// Events of the last step.
    events: Vec<Event>,
    /// What the contacts did at the start of the step, and at the end of the attempt.
    history: ContactHistory,
    attempted: ContactHistory,
    /// Velocities along the contacts at the start of the step and in its middle.
    rows: (RowVelocities, RowVelocities),
    scratch: ContactSet,
}

/// An attempt that was made.
struct Attempt {
    estimate: Estimate,
    report: StepReport,
}

impl AdaptiveMoreauJean {
    /// The scheme with the given parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn new(options: AdaptiveMoreauJeanOptions) -> Result<Self, OptionsError> {
        options.validate()?;
        Ok(Self {
            whole: MoreauJean::new(options.scheme())?,
            half: MoreauJean::new(options.scheme())?,
            options,
            own: None,
        })
    }
}

impl Integrator for AdaptiveMoreauJean {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        self.half.guarantees()
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let h_max = self.options.h_max.unwrap_or(h).min(h);
        let h_min = self.options.h_min.unwrap_or(SHORTEST * h_max).min(h_max);
        let proposal = self.options.first_step(h_min, h_max);
        self.whole.prepare(system, state, proposal)?;
        let report = self.half.prepare(system, state, 0.5 * proposal)?;
        let mut half_steps = HalfSteps::default();
        half_steps.start(&self.half.reactions());
        let mut history = ContactHistory::default();
        history.begin(self.half.reactions().contacts, state);
        // Of the same size: both change places with every step.
        let mut attempted = ContactHistory::default();
        attempted.begin(self.half.reactions().contacts, state);
        // Large enough for what every contact and constraint at once leaves behind.
        let (contacts, ng) = (self.half.reactions().contacts.len(), system.dims().ng);
        let mut memory = Vec::new();
        self.half.save(&mut memory);
        memory.reserve(16 * contacts + 8 * ng);
        self.own = Some(Own {
            h_max,
            h_min,
            proposal,
            is_accepted_at_shortest: false,
            memory,
            start: state.clone(),
            middle: state.clone(),
            end: state.clone(),
            compared: state.clone(),
            half_steps,
            events: Vec::with_capacity(8 * contacts),
            history,
            attempted,
            rows: Default::default(),
            scratch: ContactSet::default(),
        });
        Ok(StepReport { h, ..report })
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let Self {
            options,
            whole,
            half,
            own: Some(own),
        } = self
        else {
            return Err(crate::kit::unprepared(NAME));
        };
        copy(state, &mut own.start);
        half.save(&mut own.memory);
        own.rows.0.take(half.reactions().contacts, &state.v);
        let most = h.min(own.h_max);
        let proposal = own.proposal;
        let mut length = proposal.min(most);
        let mut rejected = 0;
        loop {
            let is_shortest = length <= own.h_min.min(most);
            let attempt = own.attempt(system, options, (whole, half), length, (h, end));
            let factor = match attempt {
                Ok(done) if done.estimate.error <= 1.0 || is_shortest => {
                    own.propose(length, options.factor(done.estimate));
                    copy(&own.end, state);
                    std::mem::swap(&mut own.history, &mut own.attempted);
                    own.is_accepted_at_shortest =
                        done.estimate.error > 1.0 || done.estimate.error.is_nan();
                    return Ok(StepReport {
                        rejected,
                        remedies: done.report.remedies + u32::from(own.is_accepted_at_shortest),
                        ..done.report
                    });
                }
                Ok(done) => options.factor(done.estimate),
                Err(error) if is_shortest || !is_cured_by_a_shorter_step(&error) => {
                    half.load(&own.memory);
                    own.proposal = proposal;
                    return Err(error);
                }
                Err(_) => options.shrink,
            };
            rejected += 1;
            half.load(&own.memory);
            length = (factor * length).max(own.h_min).min(most);
            own.proposal = length;
        }
    }

    fn reactions(&self) -> Reactions<'_> {
        let second = self.half.reactions();
        match &self.own {
            Some(own) => own.half_steps.reactions(second),
            None => second,
        }
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        let Some(own) = &self.own else { return };
        let h = own.end.t - own.start.t;
        let along = fraction * h / (own.middle.t - own.start.t);
        if along < 1.0 {
            // Of the first half both ends are known; its jump is at the middle.
            let (start, middle) = (&own.start, &own.middle);
            let theta = self.options.theta;
            let mean = |(a, b): (&f64, &f64)| fraction * h * ((1.0 - theta) * a + theta * b);
            let change = if own.half_steps.first_has_impulse() {
                0.0
            } else {
                along
            };
            out.q.clone_from(&start.q);
            out.v.clear();
            out.v.extend(start.v.iter().zip(&middle.v).map(mean));
            system.retract(&mut out.q, &out.v);
            out.v.clear();
            let velocities = start.v.iter().zip(&middle.v);
            out.v.extend(velocities.map(|(a, b)| a + change * (b - a)));
        } else {
            let rest = (fraction * h - (own.middle.t - own.start.t)) / (own.end.t - own.middle.t);
            self.half.interpolate(system, rest.clamp(0.0, 1.0), out);
        }
    }

    fn events(&self) -> &[Event] {
        self.own.as_ref().map_or(&[], |own| &own.events)
    }

    fn counts(&self) -> Counts {
        let forced = self
            .own
            .as_ref()
            .is_some_and(|own| own.is_accepted_at_shortest);
        Counts {
            names: &["accepted_at_shortest_step"],
            values: [u64::from(forced), 0, 0, 0, 0, 0],
        }
    }

    fn chooses_step(&self) -> bool {
        true
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        let mut resolved = self.half.resolved_options();
        if let Some(own) = &self.own {
            resolved.extend([
                ("first_step", self.options.first_step(own.h_min, own.h_max)),
                ("h_min", own.h_min),
                ("h_max", own.h_max),
            ]);
        }
        resolved
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        if let Some(own) = &self.own {
            let mut of_half = Vec::new();
            self.half.save(&mut of_half);
            own.history.save(memory);
            memory.extend(of_half);
            memory.push(own.proposal);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        if let (Some(own), Some((proposal, memory))) = (&mut self.own, memory.split_last()) {
            own.proposal = *proposal;
            self.half.load(own.history.load(memory));
        }
    }
}

impl Own {
    /// One step of `length` and two of half that, from the start; `h` \[s\] are left to `end`.
    fn attempt(
        &mut self,
        system: &dyn System,
        options: &AdaptiveMoreauJeanOptions,
        (whole, half): (&mut MoreauJean, &mut MoreauJean),
        length: f64,
        (h, end): (f64, f64),
    ) -> Result<Attempt, StepError> {
        let t = self.start.t;
        let arrives = length >= (1.0 - 1e-9) * h && (end - t) <= (1.0 + 1e-9) * h;
        let t_end = if arrives { end } else { t + length };
        let t_middle = t + 0.5 * length;
        whole.load(&self.memory);
        copy(&self.start, &mut self.compared);
        whole.step(system, &mut self.compared, length, t_end)?;
        let scratch = &mut self.scratch;
        let mut jumps = has_jump(system, &whole.reactions(), &self.start, scratch);

        copy(&self.start, &mut self.middle);
        let first = half.step(system, &mut self.middle, 0.5 * length, t_middle)?;
        jumps = jumps || has_jump(system, &half.reactions(), &self.start, scratch);
        self.half_steps.begin(&half.reactions());
        self.events.clear();
        self.attempted.copy_from(&self.history);
        let reactions = half.reactions();
        let first_half = (self.start.v.as_slice(), &self.middle);
        let (history, events) = (&mut self.attempted, &mut self.events);
        self.rows.0.note(&reactions, first_half, history, events);
        self.rows.1.take(reactions.contacts, &self.middle.v);
        for event in &mut self.events {
            event.energy = Some(first.energy);
        }

        copy(&self.middle, &mut self.end);
        let second = half.step(system, &mut self.end, 0.5 * length, t_end)?;
        jumps = jumps || has_jump(system, &half.reactions(), &self.middle, scratch);
        let reactions = half.reactions();
        self.half_steps.finish(&reactions);
        let second_half = (self.middle.v.as_slice(), &self.end);
        let (history, events) = (&mut self.attempted, &mut self.events);
        self.rows.1.note(&reactions, second_half, history, events);

        let order = options.order_of_step(jumps);
        let mut error = options.error(order, &self.start.q, &self.end.q, &self.compared.q);
        if options.violation {
            let tolerance = options.violation_tolerance.unwrap_or(options.atol);
            let deeper = violation_increment(system, reactions.contacts, &self.start, scratch);
            error = error.max(deeper / tolerance);
        }
        Ok(Attempt {
            estimate: Estimate { error, order },
            report: self.half_steps.report(&first, &second, length),
        })
    }

    /// The length of the next step after an accepted one.
    fn propose(&mut self, length: f64, factor: f64) {
        let next = if (1.0..LEAST_GROWTH).contains(&factor) {
            length
        } else {
            factor * length
        };
        // That the end of the run cut a step short says nothing against the length proposed for it.
        let next = if factor >= 1.0 {
            next.max(self.proposal)
        } else {
            next
        };
        self.proposal = next.clamp(self.h_min, self.h_max);
    }
}

/// Whether a shorter step may succeed.
fn is_cured_by_a_shorter_step(error: &StepError) -> bool {
    matches!(
        error,
        StepError::NotConverged { .. }
            | StepError::ContactProblem { .. }
            | StepError::FrictionProblem { .. }
            | StepError::NotFinite { .. }
            | StepError::Singular { .. }
    )
}

/// Copies a state into the buffers of another.
fn copy(from: &State, to: &mut State) {
    to.t = from.t;
    to.q.clone_from(&from.q);
    to.v.clone_from(&from.v);
}
