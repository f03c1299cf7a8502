//! Where impacts accumulate: Moreau–Jean steps until the contacts rest, and back.

use super::Prepared;
use crate::integrator::{Integrator, Reactions, StepError, StepReport};
use crate::moreau_jean::MoreauJeanOptions;
use saltus_system::{State, System};

/// Steps without an impact after which the motion is smooth again.
const QUIET: u32 = 3;

/// A run of Moreau–Jean steps between two smooth motions.
pub(super) struct TimeStepping {
    scheme: Box<dyn Integrator>,
    /// Length of its steps \[s\].
    step: f64,
    is_prepared: bool,
    has_stepped: bool,
    quiet: u32,
    /// Hidden variables of the scheme, to be loaded when it is prepared.
    memory: Vec<f64>,
    ends: bool,
}

impl std::fmt::Debug for TimeStepping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimeStepping")
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl TimeStepping {
    fn new(step: f64) -> Option<Self> {
        let scheme = crate::moreau_jean::build(&MoreauJeanOptions::default()).ok()?;
        Some(Self {
            scheme,
            step,
            is_prepared: false,
            has_stepped: false,
            quiet: 0,
            memory: Vec::new(),
            ends: false,
        })
    }

    /// The scheme whose last step is shown, where it is this one.
    pub(super) fn shown(&self) -> Option<&dyn Integrator> {
        self.has_stepped.then_some(&*self.scheme)
    }

    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        memory.extend([
            self.step,
            f64::from(u8::from(self.is_prepared)),
            f64::from(self.quiet),
            f64::from(u8::from(self.ends)),
        ]);
        if self.is_prepared {
            let mut own = Vec::new();
            self.scheme.save(&mut own);
            memory.extend(own);
        } else {
            memory.extend_from_slice(&self.memory);
        }
    }

    pub(super) fn load(memory: &[f64]) -> Option<Self> {
        let [step, prepared, quiet, ends, rest @ ..] = memory else {
            return None;
        };
        let mut stepping = Self::new(*step)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let quiet = *quiet as u32;
        stepping.quiet = quiet;
        stepping.ends = *ends == 1.0;
        if *prepared == 1.0 {
            stepping.memory.extend_from_slice(rest);
        }
        Some(stepping)
    }

    /// Whether every contact that carried an impulse is at rest, to a velocity [m/s].
    fn rests(&self, velocity: f64) -> bool {
        let reactions: Reactions<'_> = self.scheme.reactions();
        let carries = reactions.impulse.iter().zip(reactions.gap_velocity);
        carries
            .into_iter()
            .all(|(p, u)| *p <= 0.0 || u.abs() <= velocity)
    }
}

impl Prepared {
    /// Step with which an accumulation that begins now is passed \[s\].
    pub(super) fn step_of_accumulations(&self) -> f64 {
        let flight = if self.scales.acceleration > 0.0 {
            self.v_acc() / self.scales.acceleration
        } else {
            self.nominal
        };
        self.options.time_step.unwrap_or(flight).min(self.nominal)
    }

    /// Passes to time-stepping from the end stage, which approaches its contacts.
    pub(super) fn begin_time_stepping(&mut self, system: &dyn System) -> Result<(), StepError> {
        let step = self.step_of_accumulations();
        self.passed_with = Some(step);
        self.time_stepping = TimeStepping::new(step);
        if self.time_stepping.is_none() {
            return Err(super::no_forces(
                system,
                &self.step.end,
                &self.arc.modes.list,
            ));
        }
        self.modes_are_current = false;
        Ok(())
    }

    /// A step of time-stepping; afterwards perhaps the smooth motion goes on.
    pub(super) fn step_in_time(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let target = self.target(state.t, h, end);
        let velocity = self.scales.zero_velocity();
        let Some(stepping) = &mut self.time_stepping else {
            return Err(crate::kit::unprepared(super::NAME));
        };
        if stepping.ends {
            self.time_stepping = None;
            self.modes_are_current = false;
            self.is_loaded = false;
            return self.take_step(system, state, h, end);
        }
        if !stepping.is_prepared {
            stepping.scheme.prepare(system, state, stepping.step)?;
            if !stepping.memory.is_empty() {
                stepping.scheme.load(&stepping.memory);
            }
            stepping.is_prepared = true;
        }
        let left = target - state.t;
        // No last step of almost nothing.
        let (length, arrives) = if left <= 1.5 * stepping.step {
            (left, target)
        } else {
            (stepping.step, state.t + stepping.step)
        };
        let report = stepping.scheme.step(system, state, length, arrives)?;
        stepping.has_stepped = true;
        stepping.quiet = if stepping.rests(velocity) {
            stepping.quiet + 1
        } else {
            0
        };
        stepping.ends = stepping.quiet >= QUIET;
        self.step.events.clear();
        self.step.events.extend_from_slice(stepping.scheme.events());
        self.step.energy = report.energy;
        let impulses = stepping.scheme.reactions().impulse;
        self.force.clear();
        self.force.extend(impulses.iter().map(|p| p / length));
        Ok(report)
    }
}
