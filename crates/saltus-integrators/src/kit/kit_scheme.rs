//! A scheme built on the kit as an [`Integrator`]: the methods that are the same for all such schemes.

use super::Step;
use crate::certificate::Guarantees;
use crate::integrator::{Counts, Event, Integrator, Reactions, StepError, StepReport};
use saltus_system::{State, System};
use std::fmt::Debug;

/// A scheme built on the kit: the workspace of its steps, and what is its own.
pub(crate) trait KitScheme: Debug + Send + Sized + 'static {
    /// The kebab-case name.
    const NAME: &'static str;
    /// Parameters, in range.
    type Options: Clone + Debug + Send;

    /// Which certificate entries every step satisfies; the dynamics to the option `tolerance`, which every scheme has.
    fn guarantees(options: &Self::Options) -> Guarantees;

    /// The same of the system that the scheme was prepared for.
    fn guarantees_here(&self, options: &Self::Options, general: Guarantees) -> Guarantees {
        let _ = options;
        general
    }

    /// The workspace for steps of `h` \[s\] of `system` from `state`, and the report of the start.
    ///
    /// # Errors
    /// Where the scheme cannot run this system.
    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError>;

    /// Takes a step, as [`Integrator::step`] says.
    ///
    /// # Errors
    /// Where it was not solved.
    fn take_step(
        &mut self,
        options: &Self::Options,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError>;

    /// The step of the kit.
    fn step(&self) -> &Step;

    /// The same, to be written.
    fn step_mut(&mut self) -> &mut Step;

    /// Whether the scheme chooses the length of its steps.
    fn chooses_step(options: &Self::Options) -> bool {
        let _ = options;
        false
    }

    /// Largest stable step \[s\] about the start, where it is known.
    fn stable_step(&self) -> Option<f64> {
        None
    }

    /// Numbers in force of options that are left out and follow from the model, beyond the tolerance of gaps.
    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What the scheme counted in the last step.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// Whether velocities mean nothing in the steps that straddle an impact.
    fn velocity_lags() -> bool {
        false
    }

    /// Appends the hidden variables of the scheme beyond those of the kit.
    fn save(&self, memory: &mut Vec<f64>) {
        let _ = memory;
    }

    /// Restores what [`save`](Self::save) appended.
    fn load(&mut self, memory: &[f64]) {
        let _ = memory;
    }
}

/// The integrator of a scheme with these parameters, which are in range.
pub(crate) fn integrator<S: KitScheme>(options: &S::Options) -> Box<dyn Integrator> {
    Box::new(KitIntegrator::<S>::new(options.clone()))
}

/// The integrator of a scheme.
#[derive(Debug)]
pub(crate) struct KitIntegrator<S: KitScheme> {
    options: S::Options,
    /// `None` before `prepare`.
    scheme: Option<S>,
}

impl<S: KitScheme> KitIntegrator<S> {
    /// With these parameters, which are in range.
    pub(crate) fn new(options: S::Options) -> Self {
        Self {
            options,
            scheme: None,
        }
    }
}

impl<S: KitScheme> Integrator for KitIntegrator<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn guarantees(&self) -> Guarantees {
        let guarantees = S::guarantees(&self.options);
        match &self.scheme {
            Some(scheme) => scheme.guarantees_here(&self.options, guarantees),
            None => guarantees,
        }
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let (scheme, report) = S::prepare(&self.options, system, state, h)?;
        self.scheme = Some(scheme);
        Ok(report)
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        match &mut self.scheme {
            Some(scheme) => scheme.take_step(&self.options, system, state, h, end),
            None => Err(super::unprepared(S::NAME)),
        }
    }

    fn reactions(&self) -> Reactions<'_> {
        super::reactions(self.scheme.as_ref().map(S::step))
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        if let Some(scheme) = &self.scheme {
            scheme.step().interpolate(system, fraction, out);
        }
    }

    fn events(&self) -> &[Event] {
        let scheme = self.scheme.as_ref();
        scheme.map_or(&[], |scheme| &scheme.step().events)
    }

    fn counts(&self) -> Counts {
        self.scheme.as_ref().map(S::counts).unwrap_or_default()
    }

    fn chooses_step(&self) -> bool {
        S::chooses_step(&self.options)
    }

    fn stable_step(&self) -> Option<f64> {
        self.scheme.as_ref().and_then(S::stable_step)
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        let scheme = self.scheme.iter();
        let resolved = scheme.flat_map(|scheme| {
            let gaps = [("activation_tolerance", scheme.step().epsilon)];
            gaps.into_iter().chain(scheme.resolved_options())
        });
        resolved.collect()
    }

    fn velocity_lags(&self) -> bool {
        S::velocity_lags()
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        if let Some(scheme) = &self.scheme {
            scheme.step().save(memory);
            scheme.save(memory);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        if let Some(scheme) = &mut self.scheme {
            let rest = scheme.step_mut().load(memory);
            scheme.load(rest);
        }
    }
}
