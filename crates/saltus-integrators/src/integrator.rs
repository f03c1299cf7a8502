//! What every integrator is, seen from outside.

use crate::certificate::{Certificate, Guarantees};
pub use crate::step_error::{FailedContactProblem, FailedProblem, StepError};
pub(crate) use crate::step_error::{refuse_joint_friction, refuse_laws_of_joints};
use saltus_complementarity::BlockState;
use saltus_system::{ContactId, ContactSet, State, System};
use serde::{Deserialize, Serialize};

/// Energy of a state \[J\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// `½ vᵀ M v`.
    pub kinetic: f64,
    /// Of the forces that have a potential.
    pub potential: f64,
}

impl Energy {
    /// Kinetic plus potential.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }
}

/// What a contact or a joint with friction does at the end of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactState {
    /// It carries nothing.
    #[default]
    Open,
    /// It carries an impulse and has no friction.
    Closed,
    /// It carries an impulse inside its friction cone and does not slip.
    Stick,
    /// It carries an impulse on its friction cone.
    Slip,
}

impl ContactState {
    /// The word in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Stick => "stick",
            Self::Slip => "slip",
        }
    }
}

impl From<BlockState> for ContactState {
    fn from(state: BlockState) -> Self {
        match state {
            BlockState::Open => Self::Open,
            BlockState::Closed => Self::Closed,
            BlockState::Stick => Self::Stick,
            BlockState::Slip => Self::Slip,
        }
    }
}

/// What happened to a contact in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A velocity jumped.
    Impact,
    /// A contact closed and stays closed.
    Close,
    /// A closed contact opened.
    Open,
    /// A slipping contact came to stick.
    Stick,
    /// A sticking contact began to slip.
    Slip,
    /// Impacts that follow each other ever faster were ended: the contact closes for good.
    Accumulation,
}

impl EventKind {
    /// All kinds, in the order of the results.
    pub const ALL: [Self; 6] = [
        Self::Impact,
        Self::Close,
        Self::Open,
        Self::Stick,
        Self::Slip,
        Self::Accumulation,
    ];

    /// The word in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Impact => "impact",
            Self::Close => "close",
            Self::Open => "open",
            Self::Stick => "stick",
            Self::Slip => "slip",
            Self::Accumulation => "accumulation",
        }
    }
}

/// Something that happened to a contact: an impact, a change between open, stick and slip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// When \[s\]: inside the step where the scheme locates it, else the end of the step.
    pub t: f64,
    /// To which contact.
    pub contact: ContactId,
    /// Relative velocity before, normal first \[m/s\]; unused directions are 0.
    pub velocity_before: [f64; 3],
    /// Relative velocity after \[m/s\].
    pub velocity_after: [f64; 3],
    /// Impulse \[N·s\].
    pub impulse: [f64; 3],
    /// Energy that the contact took out of the motion \[J\], ≥ 0 where it dissipates.
    pub energy_lost: f64,
    /// Energy just after, where that was before the end of the step; else it is in the report of the step.
    pub energy: Option<Energy>,
}

/// What one step did, in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Length of the step \[s\].
    pub h: f64,
    /// Correction solves of the Newton loop; 0 if the prediction was accepted at the first check.
    pub iterations: u32,
    /// Contacts that carry an impulse.
    pub active: u32,
    /// Constraint rows minus their rank in the last solve: multipliers that are not unique.
    pub redundant: u32,
    /// What was done, beyond corrections, to solve the step: active sets found with the multipliers where guessed ones cycle, activation
    /// parameters raised, another linear solve, the step taken in parts. 0 in an ordinary step.
    pub remedies: u32,
    /// Attempts that were rejected before this step, by schemes that choose their step.
    pub rejected: u32,
    /// Energy at the end of the step.
    pub energy: Energy,
    /// `energy` less the energy of the motion at the time that its velocity belongs to \[J\]; 0 but where
    /// [velocities lag](Integrator::velocity_lags).
    pub energy_lag: f64,
    /// Work of all forces without a potential, damping included, and of a potential that depends on time \[J\].
    pub work_external: f64,
    /// Work of all contact impulses and bilateral reactions \[J\].
    pub work_contact: f64,
    /// The proof.
    pub certificate: Certificate,
}

impl StepReport {
    /// The report of a step of length `h` \[s\] in which nothing was solved and nothing worked.
    pub(crate) fn at_rest(h: f64, energy: Energy, certificate: Certificate) -> Self {
        Self {
            h,
            iterations: 0,
            active: 0,
            redundant: 0,
            remedies: 0,
            rejected: 0,
            energy,
            energy_lag: 0.0,
            work_external: 0.0,
            work_contact: 0.0,
            certificate,
        }
    }
}

/// What a scheme counted in a step: impacts it located, steps it took although their error was too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// What each number counts, as `summary.json` has it.
    pub names: &'static [&'static str],
    /// As many numbers as names.
    pub values: [u64; 6],
}

impl Counts {
    /// Every name with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.names.iter().copied().zip(self.values)
    }
}

/// Constraints and contacts at the end of the last step.
///
/// Forces are empty where a scheme has none.
#[derive(Debug, Clone, Copy)]
pub struct Reactions<'a> {
    /// `g` of the bilateral constraints (ng).
    pub bilateral_gap: &'a [f64],
    /// `G v + ∂g/∂t` (ng).
    pub bilateral_velocity: &'a [f64],
    /// `∂g/∂t` (ng), or empty where no constraint moves.
    pub bilateral_rate: &'a [f64],
    /// Total impulse over the step (ng) [N·s].
    pub bilateral_impulse: &'a [f64],
    /// Non-impulsive part (ng) \[N\], or empty.
    pub bilateral_force: &'a [f64],
    /// The contacts, with gaps and directions at the end of the step.
    pub contacts: &'a ContactSet,
    /// Normal relative velocity of each contact.
    pub gap_velocity: &'a [f64],
    /// Total normal impulse of each contact over the step [N·s].
    pub impulse: &'a [f64],
    /// Non-impulsive normal force of each contact \[N\], or empty.
    pub force: &'a [f64],
    /// Relative velocity of each row of `contacts`, normal first \[m/s\], or empty where no contact has friction.
    pub row_velocity: &'a [f64],
    /// Impulse over the step of each row of `contacts` \[N·s\], or empty where no contact has friction.
    pub row_impulse: &'a [f64],
    /// What each contact does, or empty where no contact has friction.
    pub state: &'a [ContactState],
    /// Slip of each row of the friction in joints \[m/s\], or empty.
    pub friction_slip: &'a [f64],
    /// Impulse over the step of each row of the friction in joints \[N·s\], or empty.
    pub friction_impulse: &'a [f64],
    /// What each element of the friction in joints does, or empty.
    pub friction_state: &'a [ContactState],
    /// Work of contacts and constraints with a prescribed motion over the step \[J\]; `None`: impulses times the mean of the rates at its ends.
    pub work_moving: Option<f64>,
    /// What impacts and friction did over the step \[J\] (negative where they take), integrated where they act; `None`: impacts as their events
    /// have it, friction with the mean of the slips at both ends.
    pub work_dissipated: Option<f64>,
}

impl<'a> Reactions<'a> {
    /// The reactions of a scheme without friction; the rest is filled in by the caller.
    #[must_use]
    pub fn of(contacts: &'a ContactSet) -> Self {
        Self {
            bilateral_gap: &[],
            bilateral_velocity: &[],
            bilateral_rate: &[],
            bilateral_impulse: &[],
            bilateral_force: &[],
            contacts,
            gap_velocity: &[],
            impulse: &[],
            force: &[],
            row_velocity: &[],
            row_impulse: &[],
            state: &[],
            friction_slip: &[],
            friction_impulse: &[],
            friction_state: &[],
            work_moving: None,
            work_dissipated: None,
        }
    }
}

/// A time-stepping method: owns its buffers and advances any system by one step.
pub trait Integrator: Send {
    /// The kebab-case name of the scheme.
    fn name(&self) -> &'static str;

    /// Which certificate entries every step satisfies on `system`, valid after [`prepare`](Self::prepare).
    fn guarantees(&self) -> Guarantees;

    /// Sizes every buffer and evaluates constraints, contacts and energy of the initial state; apart
    /// from a growing contact set, the only place that allocates.
    ///
    /// # Errors
    /// Where the scheme cannot run this system at all.
    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError>;

    /// Advances `state` by `h` \[s\] to the time `end` \[s\], which is `state.t + h` up to the round-off
    /// that the caller chooses. On error the state is unchanged.
    ///
    /// A scheme that [chooses its step](Self::chooses_step) advances by some length up to `h` and never beyond `end`, the end of
    /// the run; the report says by how much, and `state.t` where it arrived.
    ///
    /// # Errors
    /// Where the step was not solved; nothing is ever accepted silently.
    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError>;

    /// Constraints and contacts at the end of the last step (or at the start, after `prepare`).
    fn reactions(&self) -> Reactions<'_>;

    /// The state inside the last step at `t_k + fraction · h`, `fraction` in [0, 1]: positions by the
    /// scheme's own polynomial, velocity linear without its jump at the end.
    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State);

    /// What happened to contacts in the last step, in the order of time, where the scheme knows it.
    fn events(&self) -> &[Event] {
        &[]
    }

    /// What the scheme counted in the last step, beyond what its report says.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// Whether the scheme chooses its own step: [`step`](Self::step) then takes any step up to `h` and says in its report how long it was.
    fn chooses_step(&self) -> bool {
        false
    }

    /// Largest step \[s\] that is stable on the motion about the start, after [`prepare`](Self::prepare), where the scheme has such a
    /// limit and knows it.
    fn stable_step(&self) -> Option<f64> {
        None
    }

    /// Length \[s\] of the steps that stability forces on an explicit method with an error control about the start, after
    /// [`prepare`](Self::prepare), where the scheme is one and knows it.
    fn forced_step(&self) -> Option<f64> {
        None
    }

    /// Whether velocities, and energies with them, mean nothing in the steps that straddle an impact: what such a step gains may only be
    /// what the one before seemed to lose.
    fn velocity_lags(&self) -> bool {
        false
    }

    /// Numbers in force of options that are left out and follow from the model, by their names, after [`prepare`](Self::prepare).
    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What must be kept, beside the state, to go on bit for bit: the few hidden variables of the method, overwritten.
    ///
    /// Valid between any two steps after the same `prepare`; cheap.
    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
    }

    /// Takes up what [`save`](Self::save) gave, after `prepare`. With the state of that moment, the next step is the one that
    /// would have been taken then, bit for bit, whatever was done in between.
    fn load(&mut self, memory: &[f64]) {
        let _ = memory;
    }
}
