//! The door for Rust users: a system, a scheme, a state, a step, an end.

use crate::checkpoint::{Checkpoint, Identity};
use crate::observe::{Audit, Outcome, Recorder};
use crate::trajectory::Trajectory;
use saltus_integrators::{
    DriveError, Integrator, Observer, OptionsError, Plan, Scheme, StepError, Stop, drive,
};
use saltus_system::{State, System};
use std::fmt;

/// A run to be: what is simulated, how, from where, how far.
///
/// ```no_run
/// # fn example(ball: &dyn saltus::System) -> Result<(), Box<dyn std::error::Error>> {
/// use saltus::{Scheme, Simulation, State};
///
/// let trajectory = Simulation::new(ball, Scheme::MoreauJean(Default::default()))
///     .start(State::new(0.0, vec![1.0], vec![0.0]))
///     .step(1e-3)
///     .until(4.0)
///     .record()?;
/// println!("lowest point: {} m", trajectory.column("q.y")?.min());
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a> {
    system: &'a dyn System,
    method: Method,
    start: Option<Start>,
    step: Option<f64>,
    until: Option<f64>,
    every: u64,
    identity: Identity,
    changed: bool,
}

/// Where a run starts.
enum Start {
    State(State),
    Checkpoint(Box<Checkpoint>),
}

/// A scheme by name, or an integrator ready for use.
pub struct Method(Choice);

enum Choice {
    Scheme(Scheme),
    Integrator(Box<dyn Integrator>),
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Choice::Scheme(scheme) => scheme.fmt(f),
            Choice::Integrator(integrator) => f.write_str(integrator.name()),
        }
    }
}

impl From<Scheme> for Method {
    fn from(scheme: Scheme) -> Self {
        Self(Choice::Scheme(scheme))
    }
}

impl From<Box<dyn Integrator>> for Method {
    fn from(integrator: Box<dyn Integrator>) -> Self {
        Self(Choice::Integrator(integrator))
    }
}

impl<I: Integrator + 'static> From<Box<I>> for Method {
    fn from(integrator: Box<I>) -> Self {
        Self(Choice::Integrator(integrator))
    }
}

impl Method {
    fn scheme(&self) -> Option<Scheme> {
        match &self.0 {
            Choice::Scheme(scheme) => Some(scheme.clone()),
            Choice::Integrator(_) => None,
        }
    }

    fn build(self) -> Result<Box<dyn Integrator>, OptionsError> {
        match self.0 {
            Choice::Scheme(scheme) => scheme.build(),
            Choice::Integrator(integrator) => Ok(integrator),
        }
    }
}

/// Why a run did not happen or did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Something needed for a run was not said.
    #[error("{what} is not set; call `{call}` before running")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The method that sets it.
        call: &'static str,
    },
    /// A number is out of range.
    #[error("`{name}` is {value}, expected {expected}")]
    Range {
        /// The name.
        name: &'static str,
        /// The value.
        value: f64,
        /// What it may be.
        expected: String,
    },
    /// The state does not fit the system.
    #[error("the initial state has {found} {what}, the system has {expected}")]
    Size {
        /// `positions` or `velocities`.
        what: &'static str,
        /// Of the state.
        found: usize,
        /// Of the system.
        expected: usize,
    },
    /// A checkpoint of another scheme or of another version.
    #[error("the checkpoint was written by {found}, this run uses {expected}")]
    Checkpoint {
        /// In the checkpoint.
        found: String,
        /// In the run.
        expected: String,
    },
    /// A checkpoint whose state does not fit the system.
    #[error("the checkpoint has {found} {what}, this run has {expected}: it is of another model")]
    Misfit {
        /// `positions` or `velocities`.
        what: &'static str,
        /// In the checkpoint.
        found: usize,
        /// In the run.
        expected: usize,
    },
    /// A checkpoint of another model, or of a scheme with other options.
    #[error("the checkpoint is of another run: {differences}")]
    Changed {
        /// What differs, in words.
        differences: String,
    },
    /// A parameter of the scheme is out of range.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// A step was not solved.
    #[error("step {step}, which starts at t = {t} s, failed: {error}")]
    Step {
        /// Number of the step, from 1.
        step: u64,
        /// Time at which it started \[s\].
        t: f64,
        /// Why.
        error: StepError,
        /// What to take the step again from; not there where the step was solved and refused afterwards.
        checkpoint: Option<Box<Checkpoint>>,
    },
    /// The scheme cannot run the system, or an observer failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
}

/// What a run returns beside what its observers saw.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it went.
    pub outcome: Outcome,
    /// What to go on from.
    pub checkpoint: Checkpoint,
}

impl<'a> Simulation<'a> {
    /// A run of `system` with a [`Scheme`] or a boxed [`Integrator`].
    #[must_use]
    pub fn new(system: &'a dyn System, method: impl Into<Method>) -> Self {
        let method = method.into();
        let identity = match &method.0 {
            Choice::Scheme(scheme) => Identity::with(scheme),
            Choice::Integrator(_) => Identity::default(),
        };
        Self {
            system,
            method,
            start: None,
            step: None,
            until: None,
            every: 1,
            identity,
            changed: false,
        }
    }

    /// Starts from `state`, at its time.
    #[must_use]
    pub fn start(mut self, state: State) -> Self {
        self.start = Some(Start::State(state));
        self
    }

    /// What is run, for checkpoints to tell from another model; without it they know names of coordinates and
    /// options of the scheme.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        let scheme = std::mem::take(&mut self.identity.scheme);
        self.identity = identity;
        if self.identity.scheme.is_null() {
            self.identity.scheme = scheme;
        }
        self
    }

    /// Goes on also from a checkpoint of a changed model or of a scheme with other options.
    #[must_use]
    pub fn allow_changes(mut self, allow: bool) -> Self {
        self.changed = allow;
        self
    }

    /// Goes on from a checkpoint, with its step unless another one is set: bit for bit what a run
    /// without the stop would have done.
    #[must_use]
    pub fn resume(mut self, checkpoint: Checkpoint) -> Self {
        self.start = Some(Start::Checkpoint(Box::new(checkpoint)));
        self
    }

    /// Length of a step \[s\], > 0.
    #[must_use]
    pub fn step(mut self, h: f64) -> Self {
        self.step = Some(h);
        self
    }

    /// Time at which to stop \[s\].
    #[must_use]
    pub fn until(mut self, t: f64) -> Self {
        self.until = Some(t);
        self
    }

    /// [`record`](Self::record) keeps rows whose step is a multiple of `n`, the last row, and every
    /// impact with the row before it.
    #[must_use]
    pub fn every(mut self, n: u64) -> Self {
        self.every = n;
        self
    }

    /// Runs and keeps every row in memory; the [`Outcome`] is in the trajectory.
    ///
    /// To keep what was computed before a failed step, give [`run`](Self::run) a [`Recorder`].
    ///
    /// # Errors
    /// [`RunError`].
    pub fn record(self) -> Result<Trajectory, RunError> {
        let mut recorder = Recorder::new().every(self.every);
        let run = self.run(&mut [&mut recorder])?;
        let mut trajectory = recorder.into_trajectory();
        trajectory.set_outcome(run.outcome);
        Ok(trajectory)
    }

    /// Runs and shows every step to `observers`.
    ///
    /// # Errors
    /// [`RunError`]; after a failed step every observer was told of the end.
    pub fn run(self, observers: &mut [&mut dyn Observer]) -> Result<Run, RunError> {
        let system = self.system;
        let start = self.start.ok_or(RunError::Missing {
            what: "the initial state",
            call: "start",
        })?;
        let until = self.until.ok_or(RunError::Missing {
            what: "the end of the run",
            call: "until",
        })?;
        let scheme = self.method.scheme();
        let mut integrator = self.method.build()?;
        if let Start::Checkpoint(checkpoint) = &start {
            checkpoint.check(system, &self.identity, self.changed)?;
        }
        let begin = Begin::new(start, self.step, until, integrator.name())?;
        let Begin {
            mut state,
            plan,
            memory,
            closed,
        } = begin;
        if let Some(scheme) = scheme {
            scheme.check_step(plan.step)?;
        }
        check_size("positions", state.q.len(), system.dims().nq)?;
        check_size("velocities", state.v.len(), system.dims().nv)?;

        let mut audit = closed.map_or_else(Audit::new, Audit::resumed);
        let mut all: Vec<&mut dyn Observer> = Vec::with_capacity(observers.len() + 1);
        all.push(&mut audit);
        all.extend(observers.iter_mut().map(|o| &mut **o as &mut dyn Observer));
        let stop = drive(
            system,
            &mut *integrator,
            &mut state,
            plan,
            memory.as_deref(),
            &mut all,
        );
        let mut memory = Vec::new();
        integrator.save(&mut memory);
        let chooses = integrator.chooses_step();
        let mut checkpoint = Checkpoint {
            format: Checkpoint::FORMAT,
            scheme: integrator.name().to_owned(),
            identity: self.identity.of(&system.names()),
            start: plan.start,
            step: plan.step,
            steps: plan.first,
            t: state.t,
            q: state.q,
            v: state.v,
            memory,
            closed: audit.log().closed().map(|id| id.0).collect(),
        };
        let stop = match stop {
            Ok(stop) => stop,
            Err(DriveError::Step { step, t, error }) => {
                if chooses {
                    checkpoint.begin_grid();
                } else {
                    checkpoint.steps = step - 1;
                }
                let checkpoint = (checkpoint.t == t).then_some(checkpoint);
                return Err(RunError::Step {
                    step,
                    t,
                    error,
                    checkpoint: checkpoint.map(Box::new),
                });
            }
            Err(other) => return Err(other.into()),
        };
        let outcome = audit
            .into_outcome()
            .ok_or(RunError::Drive(DriveError::Observer(stop_without_end(
                &stop,
            ))))?;
        let whole = outcome.last_step.is_none_or(|h| h == plan.step);
        // Steps of chosen length have no grid, and a shortened last step leaves it.
        if whole && !chooses {
            checkpoint.steps = plan.first + outcome.steps;
            checkpoint.t = Checkpoint::grid_time(plan.start, plan.step, checkpoint.steps);
        } else {
            checkpoint.begin_grid();
        }
        Ok(Run {
            outcome,
            checkpoint,
        })
    }
}

/// A run that is about to begin.
struct Begin {
    state: State,
    plan: Plan,
    memory: Option<Vec<f64>>,
    closed: Option<Vec<u64>>,
}

impl Begin {
    fn new(start: Start, step: Option<f64>, until: f64, scheme: &str) -> Result<Self, RunError> {
        let begin = match start {
            Start::State(state) => {
                let step = step.ok_or(RunError::Missing {
                    what: "the length of a step",
                    call: "step",
                })?;
                Self {
                    plan: Plan::new(state.t, step, until),
                    state,
                    memory: None,
                    closed: None,
                }
            }
            Start::Checkpoint(checkpoint) => Self::resume(*checkpoint, step, until, scheme)?,
        };
        let plan = begin.plan;
        if !(plan.step > 0.0 && plan.step.is_finite()) {
            return Err(range(
                "step",
                plan.step,
                "a positive number of seconds".into(),
            ));
        }
        if !(until >= begin.state.t && until.is_finite()) {
            return Err(range(
                "until",
                until,
                format!("a time not before the start at {} s", begin.state.t),
            ));
        }
        // Above 2⁵³ steps the time of a step is no longer a function of its number.
        if (until - plan.start) / plan.step > 9e15 {
            return Err(range(
                "step",
                plan.step,
                format!("a step that reaches {until} s in fewer than 9e15 steps"),
            ));
        }
        Ok(begin)
    }

    fn resume(
        checkpoint: Checkpoint,
        step: Option<f64>,
        until: f64,
        scheme: &str,
    ) -> Result<Self, RunError> {
        if checkpoint.scheme != scheme {
            let say = |name: &str| format!("scheme `{name}`");
            return Err(RunError::Checkpoint {
                found: say(&checkpoint.scheme),
                expected: say(scheme),
            });
        }
        let same = step.is_none_or(|h| h == checkpoint.step);
        let (start, first) = if same {
            (checkpoint.start, checkpoint.steps)
        } else {
            (checkpoint.t, 0)
        };
        let plan = Plan {
            start,
            step: step.unwrap_or(checkpoint.step),
            until,
            first,
        };
        let state = checkpoint.state();
        Ok(Self {
            state,
            plan,
            memory: Some(checkpoint.memory),
            closed: Some(checkpoint.closed),
        })
    }
}

fn range(name: &'static str, value: f64, expected: String) -> RunError {
    RunError::Range {
        name,
        value,
        expected,
    }
}

fn check_size(what: &'static str, found: usize, expected: usize) -> Result<(), RunError> {
    if found == expected {
        Ok(())
    } else {
        Err(RunError::Size {
            what,
            found,
            expected,
        })
    }
}

fn stop_without_end(stop: &Stop) -> saltus_integrators::ObserverError {
    format!("the run ended ({stop:?}) without telling its observers").into()
}
