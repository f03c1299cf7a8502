//! The loop around every integrator: step, look, repeat.

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{Counts, Event, Integrator, Reactions, StepError, StepReport};
use crate::kit::{check_gaps, energy_not_finite};
use crate::moving_potential::MovingPotential;
use saltus_linear::SquareMatrix;
use saltus_system::{Names, State, System};
use std::fmt;
use std::ops::ControlFlow;

/// When to start, how far to step, when to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Time of step 0 \[s\]; where the run begins unless a saved one goes on.
    pub start: f64,
    /// Length of a step \[s\], > 0.
    pub step: f64,
    /// Time at which to stop \[s\]; the last step is shortened to end there.
    pub until: f64,
    /// Number of the first step to take; 0 unless a saved run goes on.
    pub first: u64,
}

impl Plan {
    /// A fresh run from `start` to `until` in steps of `step`, all in seconds.
    #[must_use]
    pub fn new(start: f64, step: f64, until: f64) -> Self {
        Self {
            start,
            step,
            until,
            first: 0,
        }
    }

    /// Time at which the run begins \[s\].
    #[must_use]
    pub fn begin(&self) -> f64 {
        self.time(self.first)
    }

    /// Number of steps from `start` to `until`.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn steps(&self) -> u64 {
        let exact = (self.until - self.start) / self.step;
        // A quotient that is whole up to round-off is whole.
        let terms = (self.until.abs() + self.start.abs()) / self.step;
        let slack = (4.0 * f64::EPSILON * terms).max(1e-9);
        (exact - slack).ceil().max(0.0) as u64
    }

    /// Time after `k` steps \[s\].
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn time(&self, k: u64) -> f64 {
        let t = self.start + k as f64 * self.step;
        if k >= self.steps() {
            t.min(self.until)
        } else {
            t
        }
    }

    /// Length of the last step \[s\]: `step`, or less where that would lead beyond `until`.
    #[must_use]
    pub fn last(&self) -> f64 {
        let steps = self.steps();
        steps
            .checked_sub(1)
            .map_or(self.step, |k| self.length(k, steps))
    }

    /// Length of the step number `k` (from 0) \[s\].
    fn length(&self, k: u64, steps: u64) -> f64 {
        let end = self.start + (k + 1) as f64 * self.step;
        if k + 1 == steps && end - self.until > 1e-9 * self.step {
            self.until - self.time(k)
        } else {
            self.step
        }
    }
}

/// What stays the same over a run.
#[derive(Debug, Clone, Copy)]
pub struct RunInfo<'a> {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// What the parts of the system are called.
    pub names: &'a Names,
    /// Start, step and end.
    pub plan: Plan,
    /// Which certificate entries the scheme guarantees.
    pub guarantees: Guarantees,
    /// Whether the scheme splits a non-impulsive force off the impulses.
    pub has_forces: bool,
    /// Tangential directions of each named contact with friction, by contact id; 0, or nothing, where it has none.
    pub tangents: &'a [u8],
    /// Slip rows of each element of friction in joints.
    pub joint_tangents: &'a [u8],
    /// Whether the scheme chooses the length of its steps; `plan.step` is then the largest one.
    pub chooses_step: bool,
    /// Largest stable step \[s\] about the start, of a scheme that has such a limit and knows it.
    pub stable_step: Option<f64>,
    /// Length \[s\] of the steps that stability forces on a scheme that chooses them, about the start, where it knows it.
    pub forced_step: Option<f64>,
    /// Numbers in force of options of the scheme that are left out and follow from the model.
    pub resolved_options: &'a [(&'static str, f64)],
    /// Whether velocities and energies mean nothing in the steps that straddle an impact.
    pub velocity_lags: bool,
}

/// One row of a run: a state and how it came about.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Steps taken so far; 0 is the initial state.
    pub step: u64,
    /// The state at the end of the step.
    pub state: &'a State,
    /// What the step did.
    pub report: &'a StepReport,
    /// Constraints and contacts at the end of the step.
    pub reactions: Reactions<'a>,
    /// What happened to contacts in the step, as far as the scheme knows it.
    pub events: &'a [Event],
    /// What the scheme counted in the step.
    pub counts: Counts,
    /// What the scheme remembers, for whoever writes a checkpoint.
    pub memory: Memory<'a>,
}

impl<'a> Frame<'a> {
    fn of(
        step: u64,
        state: &'a State,
        report: &'a StepReport,
        integrator: &'a dyn Integrator,
    ) -> Self {
        Self {
            step,
            state,
            report,
            reactions: integrator.reactions(),
            events: integrator.events(),
            counts: integrator.counts(),
            memory: Memory(Some(integrator)),
        }
    }
}

/// What a scheme remembers between two steps.
#[derive(Clone, Copy, Default)]
pub struct Memory<'a>(Option<&'a dyn Integrator>);

impl Memory<'_> {
    /// That of a frame which no integrator made.
    pub const NONE: Self = Self(None);

    /// Writes it to `memory`, as [`Integrator::save`] does.
    pub fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        if let Some(integrator) = self.0 {
            integrator.save(memory);
        }
    }
}

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("none", Integrator::name))
    }
}

/// What an observer could not do, e.g. write a file.
pub type ObserverError = Box<dyn std::error::Error + Send + Sync>;

/// Watches a run: recorder, writer, progress bar, event log, energy audit.
pub trait Observer {
    /// The run begins with `first`.
    ///
    /// # Errors
    /// Ends the run before it starts.
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError>;

    /// A step was taken; `Break` ends the run in good order.
    ///
    /// # Errors
    /// Ends the run.
    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError>;

    /// Numbers in force at the end of options that are left out and follow from the motion; before [`end`](Self::end).
    fn in_force(&mut self, options: &[(&'static str, f64)]) {
        let _ = options;
    }

    /// The run ended; called also after a failed step, with what was computed so far.
    ///
    /// # Errors
    /// Reported, after all other observers were told of the end.
    fn end(&mut self, stop: &Stop) -> Result<(), ObserverError>;

    /// What it waited for, if that has happened and is why it ended the run.
    fn condition(&self) -> Option<&str> {
        None
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// `until` was reached.
    EndReached,
    /// An observer asked to stop (Ctrl-C).
    Interrupted,
    /// What an observer waited for happened.
    Condition {
        /// What that was, in words or as a formula.
        condition: String,
    },
    /// A step failed.
    StepFailed {
        /// Number of the step that failed, from 1.
        step: u64,
        /// Time at which it started \[s\].
        t: f64,
        /// Why.
        error: StepError,
    },
}

/// Why a run did not happen or did not finish in good order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The scheme cannot run this system.
    #[error("{0}")]
    Prepare(StepError),
    /// A step was not solved.
    #[error("step {step}, which starts at t = {t} s, failed: {error}")]
    Step {
        /// Number of the step, from 1.
        step: u64,
        /// Time at which it started \[s\].
        t: f64,
        /// Why.
        error: StepError,
    },
    /// An observer failed.
    #[error("{0}")]
    Observer(ObserverError),
}

/// Energy that the scheme itself has added, beside that of the motion.
struct Growth {
    /// Total and potential energy at the last step and at the start \[J\].
    total: f64,
    potential: f64,
    /// What no force and no contact accounts for \[J\].
    gained: f64,
    /// Energy of the motion while most of it was accounted for \[J\].
    size: f64,
    /// Steps in a row in which most of the energy was the scheme's own, and grew.
    streak: u32,
}

impl Growth {
    /// More than this times the energy of the motion is no error of a scheme that works.
    const DIVERGED: f64 = 1e12;
    /// Growth of that energy in a step, and in how many steps in a row, that errors of a step are not.
    const GROWTH: f64 = 1.02;
    const STREAK: u32 = 10;

    /// That of a motion from `state` with steps of `h` \[s\]: its energy, or what the forces there do in a step.
    fn new(system: &dyn System, state: &State, h: f64, first: &StepReport) -> Self {
        let energy = first.energy;
        let n = state.v.len();
        let (mut force, mut diagonal) = (vec![0.0; n], vec![0.0; n]);
        let mut mass = SquareMatrix::new(n);
        system.force(state.point(), &mut force);
        system.mass(&state.q, &mut mass);
        mass.finish();
        mass.diagonal(&mut diagonal);
        let of_forces: f64 = force
            .iter()
            .zip(&diagonal)
            .filter(|(_, m)| **m > 0.0)
            .map(|(f, m)| 0.5 * (h * f).powi(2) / m)
            .filter(|energy| energy.is_finite())
            .sum();
        Self {
            total: energy.total(),
            potential: energy.potential,
            gained: 0.0,
            size: of_forces.max(energy.kinetic.abs() + energy.potential.abs()),
            streak: 0,
        }
    }

    fn include(&mut self, report: &StepReport) {
        let energy = report.energy;
        let change = energy.total() - self.total;
        self.total = energy.total();
        let before = self.gained;
        self.gained += change - report.work_external - report.work_contact;
        let present = energy.kinetic.abs() + (energy.potential - self.potential).abs();
        if self.gained > 0.5 * present && self.gained > Self::GROWTH * before.max(0.0) {
            self.streak += 1;
        } else {
            self.streak = 0;
        }
        // What has just begun may be a motion from rest.
        if self.streak < Self::STREAK / 2 {
            self.size = self.size.max(present);
        }
    }

    /// A step that is not finite beyond the largest stable one ends a motion that has diverged, where its energy says so.
    fn explain(&self, error: StepError, h: f64, limit: Option<f64>) -> StepError {
        match error {
            StepError::NotFinite { .. }
                if limit.is_some_and(|limit| h > limit) && self.gained > self.size =>
            {
                let (gained, size) = (self.gained, self.size);
                StepError::Diverged {
                    gained,
                    size,
                    h,
                    limit,
                }
            }
            other => other,
        }
    }

    /// What to say where the motion is the scheme's own, in a step of `h` \[s\].
    fn diverged(&self, h: f64, limit: Option<f64>) -> Option<StepError> {
        let is_own = self.streak >= Self::STREAK && self.size > 0.0;
        (is_own && self.gained > Self::DIVERGED * self.size).then_some(StepError::Diverged {
            gained: self.gained,
            size: self.size,
            h,
            limit,
        })
    }
}

/// Runs `integrator` on `system` from `state` according to `plan`, showing every step to `observers`.
///
/// `state` holds the last accepted state afterwards. Time is `start + k · step`, not a running sum.
/// For a run that goes on, `restore` is the integrator's memory of the saved state.
///
/// # Errors
/// [`DriveError`]; observers were told of the end in any case once the run had begun.
pub fn drive(
    system: &dyn System,
    integrator: &mut dyn Integrator,
    state: &mut State,
    plan: Plan,
    restore: Option<&[f64]>,
    observers: &mut [&mut dyn Observer],
) -> Result<Stop, DriveError> {
    let report = integrator
        .prepare(system, state, plan.step)
        .map_err(DriveError::Prepare)?;
    let names = system.names();
    if !report.energy.kinetic.is_finite() {
        let error = energy_not_finite(&names, state.t, &state.v);
        return Err(DriveError::Prepare(error));
    }
    check_gaps(system, integrator.reactions().contacts, state.t).map_err(DriveError::Prepare)?;
    if let Some(memory) = restore {
        integrator.load(memory);
    }
    let mut moving_potential = MovingPotential::new(system, state);
    let guarantees = match moving_potential {
        None => integrator.guarantees(),
        // Forces are taken at one time of the step, the potential at both ends.
        Some(_) => integrator.guarantees().without(Entry::EnergyBalance),
    };
    let tangents = tangents(&integrator.reactions());
    let joints = system.joint_friction().iter();
    let joint_tangents: Vec<u8> = joints.map(|element| element.tangents).collect();
    let resolved_options = integrator.resolved_options();
    let info = RunInfo {
        scheme: integrator.name(),
        names: &names,
        plan,
        guarantees,
        has_forces: !integrator.reactions().force.is_empty()
            || !integrator.reactions().bilateral_force.is_empty(),
        tangents: &tangents,
        joint_tangents: &joint_tangents,
        chooses_step: integrator.chooses_step(),
        stable_step: integrator.stable_step(),
        forced_step: integrator.forced_step(),
        resolved_options: &resolved_options,
        velocity_lags: integrator.velocity_lags(),
    };
    let first = Frame::of(plan.first, state, &report, &*integrator);
    for observer in observers.iter_mut() {
        observer
            .begin(&info, &first)
            .map_err(DriveError::Observer)?;
    }
    let steps = plan.steps();
    let mut growth = Growth::new(system, state, plan.step, &report);
    let mut stop = Stop::EndReached;
    let chooses = integrator.chooses_step();
    let mut k = plan.first;
    loop {
        let t = state.t;
        if let Some(error) = growth.diverged(plan.step, integrator.stable_step()) {
            let step = k + 1;
            stop = Stop::StepFailed { step, t, error };
            break;
        }
        let arrived = if chooses {
            plan.until - t <= 1e-9 * plan.step
        } else {
            k >= steps
        };
        if arrived {
            break;
        }
        let step = if chooses {
            integrator.step(system, state, plan.step.min(plan.until - t), plan.until)
        } else {
            integrator.step(system, state, plan.length(k, steps), plan.time(k + 1))
        };
        let mut report = match step {
            Ok(report) => report,
            Err(error) => {
                let limit = integrator.stable_step();
                let error = growth.explain(error, plan.step, limit);
                stop = Stop::StepFailed {
                    step: k + 1,
                    t,
                    error: error.named(system, t),
                };
                break;
            }
        };
        if let Some(potential) = &mut moving_potential {
            potential.include(system, state, &mut report);
        }
        let frame = Frame::of(k + 1, state, &report, &*integrator);
        k += 1;
        growth.include(&report);
        let mut interrupted = false;
        for observer in observers.iter_mut() {
            match observer.frame(&frame) {
                Ok(flow) => interrupted |= flow.is_break(),
                Err(error) => {
                    finish(observers, &Stop::Interrupted).map_err(DriveError::Observer)?;
                    return Err(DriveError::Observer(error));
                }
            }
        }
        if interrupted {
            let condition = observers.iter().find_map(|o| o.condition());
            stop = condition.map_or(Stop::Interrupted, |condition| Stop::Condition {
                condition: condition.to_owned(),
            });
            break;
        }
    }
    let resolved = integrator.resolved_options();
    for observer in observers.iter_mut() {
        observer.in_force(&resolved);
    }
    finish(observers, &stop).map_err(DriveError::Observer)?;
    match stop {
        Stop::StepFailed { step, t, error } => Err(DriveError::Step { step, t, error }),
        other => Ok(other),
    }
}

/// Tangential directions of the contacts with friction, by contact id.
fn tangents(reactions: &Reactions<'_>) -> Vec<u8> {
    let mut tangents = Vec::new();
    if reactions.state.is_empty() {
        return tangents;
    }
    let contacts = reactions.contacts;
    for (id, law) in contacts.id.iter().zip(&contacts.law) {
        let has_friction = !(law.mu == 0.0 && law.mu_static == 0.0);
        if let Ok(i) = usize::try_from(id.0)
            && has_friction
            && i <= contacts.len()
        {
            tangents.resize(tangents.len().max(i + 1), 0);
            tangents[i] = law.tangents;
        }
    }
    tangents
}

/// Tells every observer of the end, and returns the first complaint.
fn finish(observers: &mut [&mut dyn Observer], stop: &Stop) -> Result<(), ObserverError> {
    let mut outcome = Ok(());
    for observer in observers.iter_mut() {
        let result = observer.end(stop);
        if outcome.is_ok() {
            outcome = result;
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::{Growth, Plan};
    use crate::integrator::StepError;

    #[test]
    fn a_formula_that_left_its_domain_is_no_divergence() {
        let growth = |gained: f64| Growth {
            total: 0.5,
            potential: 0.0,
            gained,
            size: 0.5,
            streak: 0,
        };
        let error = || StepError::NotFinite {
            quantity: "the force",
            place: "x".to_owned(),
            t: 0.3,
        };
        let explained = |gained: f64| growth(gained).explain(error(), 1e-3, Some(0.0));
        assert!(matches!(explained(0.01), StepError::NotFinite { .. }));
        assert!(matches!(explained(1e9), StepError::Diverged { .. }));
    }

    #[test]
    fn the_last_step_ends_at_the_end() {
        let last = |step, until| Plan::new(0.0, step, until).last();
        assert_eq!(last(10.0, 4.0), 4.0);
        assert_eq!(last(0.5, 4.0), 0.5);
        assert_eq!(last(0.75, 1.0), 0.25);
        // Ten times 0.1 is 1 up to round-off.
        assert_eq!(last(0.1, 1.0), 0.1);
        assert_eq!(last(0.5, 0.0), 0.5);
        // Many steps are counted one by one, and times far from 0 have the round-off of their size.
        assert_eq!(Plan::new(0.0, 1.0, 2e10 + 3.0).steps(), 20_000_000_003);
        assert_eq!(Plan::new(0.0, 1e-10, 6.0).steps(), 60_000_000_000);
        assert_eq!(Plan::new(1e6, 1e-6, 1e6 + 1.0).steps(), 1_000_000);
    }
}
