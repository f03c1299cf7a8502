//! Runge–Kutta methods of order 2 to 5 between events, and Moreau–Jean steps over the events.
//!
//! Between events a step is one of a Runge–Kutta method on the index-1 problem with the closed contacts `I`,
//!
//! ```text
//! M v̇ = f + Gᵀ λ + W μ ,   G v̇ + ζ = 0 ,   0 ≤ Wᵀ v̇ + ζ ⟂ μ ≥ 0  (contacts in I)      in every stage
//! ```
//!
//! An event is a contact outside of `I` with `g < 0` and `u < 0` at its end, or one in `I` that carries nothing and accelerates away.
//! Its time is bracketed to `η = C h^{p+1}` by bisection of the length of the step; the bracket is passed by a Moreau–Jean step with
//! θ = 1/2 in which the contacts of the event and of `I` take part; the rest of the step follows. Contacts that forces close within
//! `½ η`, for one contact `u ≤ ½ η |ζ_free|`, would be back within the bracket, and those that would rise no higher than the round-off of
//! their gaps: they are closed together (the rest rule), and the velocity projected on `u = 0`.
//!
//! Order `p` of positions across impacts, in the largest norm; of velocities in L¹. Bilateral constraints hold at acceleration level;
//! they, and closed contacts, are taken back to position and velocity level where each part of a step ends. Events need transversality: two
//! events of one contact within a step (a graze) are not seen, the step must resolve the fastest motion. Without friction. Use it where
//! impacts are few and accuracy counts.
//!
//! References: Mannshardt (1978); Acary, *Numerical methods for nonsmooth mechanical systems* (eqs. 130–136); Hairer, Wanner (1996).

mod bracket;
mod event_loop;
mod explicit;
mod implicit;
mod options;
mod projection;
mod stages;
pub(crate) mod tableaux;

pub use event_loop::HigherOrderCounts;
pub use options::{HigherOrderOptions, Method};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{
    Counts, Event, Integrator, Reactions, StepError, StepReport, refuse_laws_of_joints,
};
use crate::kit::{Step, id_as_numbers, id_from_numbers, refuse_friction};
use crate::scheme::OptionsError;
use event_loop::EventLoop;
use saltus_system::{State, System};

const NAME: &str = "higher-order";

/// The schemes with their buffers.
#[derive(Debug)]
pub struct HigherOrder {
    options: HigherOrderOptions,
    event_loop: Option<Box<EventLoop>>,
    /// Largest step \[s\] that is stable at the start, where it is known.
    stable_step: Option<f64>,
    /// What was counted before the last step.
    counted: HigherOrderCounts,
}

impl HigherOrder {
    /// The scheme with the given parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn new(options: HigherOrderOptions) -> Result<Self, OptionsError> {
        options.validate()?;
        Ok(Self {
            options,
            event_loop: None,
            stable_step: None,
            counted: HigherOrderCounts::default(),
        })
    }

    /// Events and Runge–Kutta steps since [`prepare`](Integrator::prepare).
    #[must_use]
    pub fn counts(&self) -> HigherOrderCounts {
        self.event_loop
            .as_ref()
            .map(|event_loop| event_loop.counts)
            .unwrap_or_default()
    }
}

impl Integrator for HigherOrder {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        let tolerance = self.options.tolerance;
        Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance)
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let mut step = Step::new(NAME, system, state, self.options.activation_tolerance, h)?;
        refuse_friction(NAME, system, &step)?;
        refuse_laws_of_joints(system, NAME)?;
        let stable_step = self.options.stable_step(system, state, &step);
        let report = step.initial_report(system, h);
        let mut event_loop = Box::new(EventLoop::new(system, step, &self.options, h));
        event_loop.find_closed(system, &self.options)?;
        self.event_loop = Some(event_loop);
        self.counted = HigherOrderCounts::default();
        self.stable_step = stable_step;
        Ok(report)
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let Some(event_loop) = &mut self.event_loop else {
            return Err(crate::kit::unprepared(NAME));
        };
        self.counted = event_loop.counts;
        event_loop.advance(system, state, &self.options, h, end)
    }

    fn reactions(&self) -> Reactions<'_> {
        crate::kit::reactions(self.event_loop.as_ref().map(|event_loop| &event_loop.step))
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        if let Some(event_loop) = &self.event_loop {
            event_loop.step.interpolate(system, fraction, out);
        }
    }

    fn events(&self) -> &[Event] {
        self.event_loop
            .as_ref()
            .map_or(&[], |event_loop| &event_loop.step.events)
    }

    fn counts(&self) -> Counts {
        let (now, before) = (HigherOrder::counts(self), self.counted);
        Counts {
            names: &["brackets", "rest_rule", "runge_kutta_steps"],
            values: [
                now.events - before.events,
                now.rested - before.rested,
                now.runge_kutta - before.runge_kutta,
                0,
                0,
                0,
            ],
        }
    }

    fn stable_step(&self) -> Option<f64> {
        self.stable_step
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        let event_loop = self.event_loop.iter();
        event_loop
            .map(|event_loop| ("activation_tolerance", event_loop.step.epsilon))
            .collect()
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        let Some(event_loop) = &self.event_loop else {
            return;
        };
        event_loop.step.save(memory);
        memory.push(event_loop.scale.get());
        memory.extend_from_slice(&event_loop.guess);
        memory.push(event_loop.closed_ids.len() as f64);
        for id in &event_loop.closed_ids {
            memory.extend(id_as_numbers(*id));
        }
    }

    fn load(&mut self, memory: &[f64]) {
        let Some(event_loop) = &mut self.event_loop else {
            return;
        };
        let [scale, rest @ ..] = event_loop.step.load(memory) else {
            return;
        };
        let Some((guess, [count, rest @ ..])) = rest.split_at_checked(event_loop.guess.len())
        else {
            return;
        };
        event_loop.scale.set(*scale);
        event_loop.guess.copy_from_slice(guess);
        event_loop.goes_on = true;
        event_loop.closed_ids.clear();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let numbers = 2 * (*count as usize);
        let Some(ids) = rest.get(..numbers) else {
            return;
        };
        let ids = ids.chunks_exact(2);
        event_loop
            .closed_ids
            .extend(ids.map(|id| id_from_numbers([id[0], id[1]])));
    }
}
