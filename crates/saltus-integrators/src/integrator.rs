//! What every integrator is, seen from outside.

use crate::certificate::{Certificate, Guarantees};
use saltus_complementarity::{BlockState, ContactArchive};
use saltus_system::{ConstraintKind, ContactId, ContactSet, State, System};
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
    /// What was done, beyond corrections, to solve the step: activation parameters raised, contacts
    /// relaxed, another linear solve, the step taken in parts. 0 in an ordinary step.
    pub remedies: u32,
    /// Attempts that were rejected before this step, by schemes that choose their step.
    pub rejected: u32,
    /// Energy at the end of the step.
    pub energy: Energy,
    /// Work of all forces without a potential, damping included \[J\].
    pub work_external: f64,
    /// Work of all contact impulses and bilateral reactions \[J\].
    pub work_contact: f64,
    /// The proof.
    pub certificate: Certificate,
}

/// What a scheme counted in a step: impacts it located, steps it took although their error was too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// What each number counts, as `summary.json` has it.
    pub names: &'static [&'static str],
    /// As many numbers as names.
    pub values: [u64; 5],
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
        }
    }
}

/// A mixed linear complementarity problem that was not solved: `w = M z + q`, `w = 0` in the first
/// `equalities` rows, `0 ≤ z ⟂ w ≥ 0` in the others; `z` are impulses, `w` velocities.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedProblem {
    /// Bilateral rows.
    pub equalities: usize,
    /// `M`, row by row (n × n).
    pub matrix: Vec<f64>,
    /// `q` (n).
    pub q: Vec<f64>,
    /// What each row is (n).
    pub rows: Vec<String>,
}

/// A contact problem with friction that was not solved.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedContactProblem {
    /// The problem, with the point that came nearest.
    pub problem: ContactArchive,
    /// What each row is.
    pub rows: Vec<String>,
}

/// Why a step could not be taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The scheme does not solve friction.
    #[error(
        "contact `{contact}` has friction (mu = {mu}), which scheme `{scheme}` does not solve; remove `friction` or set it to 0"
    )]
    FrictionUnsupported {
        /// Name of the contact.
        contact: String,
        /// Its coefficient.
        mu: f64,
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// The scheme does not solve this friction in a joint.
    #[error("`{joint}` is dry friction in a joint, which scheme `{scheme}` does not solve; {cure}")]
    JointFrictionUnsupported {
        /// Name of the element.
        joint: String,
        /// Name of the scheme.
        scheme: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// The scheme does not solve constraints on velocities.
    #[error(
        "the bilateral constraint `{constraint}` is one on velocities alone, which scheme `{scheme}` does not solve; use scheme `moreau-jean`"
    )]
    VelocityConstraintUnsupported {
        /// Name of the constraint.
        constraint: String,
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// The formulation has no place for contacts.
    #[error("scheme `{scheme}` cannot close contact `{contact}`; {cure}")]
    ContactsUnsupported {
        /// Name of the first contact.
        contact: String,
        /// Name of the scheme.
        scheme: &'static str,
        /// What to use instead.
        cure: &'static str,
    },
    /// A step was asked for before `prepare`.
    #[error("scheme `{scheme}` was not prepared for the system; call `prepare` first")]
    NotPrepared {
        /// Name of the scheme.
        scheme: &'static str,
    },
    /// The given initial accelerations do not fit the system.
    #[error(
        "`initial_acceleration` has {given} entries, the system has {expected} velocities; give one per velocity"
    )]
    InitialAcceleration {
        /// Entries given.
        given: usize,
        /// Velocities of the system.
        expected: usize,
    },
    /// The Newton loop did not reach its tolerance.
    #[error(
        "Newton's method stopped after {} with a residual of {residual:.3e} N·s, above the tolerance of {tolerance:.3e} N·s ({place}); a smaller `step` usually cures it, else a larger `max_iterations` or, where the residual is round-off, a larger `tolerance`",
        times(*iterations)
    )]
    NotConverged {
        /// Corrections made.
        iterations: u32,
        /// Last residual [N·s].
        residual: f64,
        /// Tolerance [N·s].
        tolerance: f64,
        /// The coordinate, constraint or contact with the largest residual.
        place: String,
        /// The complementarity problem of the step, linearised where the iteration ended, from schemes that
        /// have contacts at several levels.
        problem: Option<Box<FailedProblem>>,
    },
    /// The contact problem of the step was not solved.
    #[error(
        "the contact problem of {contacts} contacts and {bilateral} bilateral constraints was not solved ({status}, residual {residual:.3e} m/s, largest at `{place}`); {cure}"
    )]
    ContactProblem {
        /// Contacts in the problem.
        contacts: usize,
        /// Bilateral constraints in the problem.
        bilateral: usize,
        /// The solver's word.
        status: &'static str,
        /// Residual of its natural map [m/s].
        residual: f64,
        /// The constraint with the largest residual.
        place: String,
        /// What usually helps.
        cure: &'static str,
        /// The problem itself, to be kept and solved by other means.
        problem: Box<FailedProblem>,
    },
    /// The contact problem of the step, with friction, was not solved.
    #[error(
        "the contact problem of {contacts} contacts with friction and {bilateral} bilateral constraints was not solved ({status}, residual {residual:.3e} m/s, largest at `{place}`); {cure}"
    )]
    FrictionProblem {
        /// Contacts in the problem.
        contacts: usize,
        /// Bilateral constraints in the problem.
        bilateral: usize,
        /// The solver's word.
        status: &'static str,
        /// Residual of its natural map [m/s].
        residual: f64,
        /// The constraint or contact with the largest residual.
        place: String,
        /// What usually helps.
        cure: &'static str,
        /// The problem itself, to be kept and solved by other means.
        problem: Box<FailedContactProblem>,
    },
    /// Positions could not be projected onto constraints and contacts.
    #[error(
        "the positions at the end of the step cannot be projected onto constraints and contacts: {reason}; take a smaller `step`, or check that obstacles leave room for the body between them"
    )]
    Unprojected {
        /// What went wrong.
        reason: String,
    },
    /// A coefficient of friction is negative or no number.
    #[error(
        "the friction coefficient of contact `{contact}` is {mu} at t = {t} s; it must be 0 or greater wherever the motion leads"
    )]
    Friction {
        /// Name of the contact.
        contact: String,
        /// Its coefficient.
        mu: f64,
        /// Time \[s\].
        t: f64,
    },
    /// A bound or a coefficient of the friction in a joint is negative or no number.
    #[error(
        "the bound of the dry friction `{joint}` is {value} at t = {t} s; it must be 0 or greater wherever the motion leads"
    )]
    JointFriction {
        /// Name of the element.
        joint: String,
        /// Its coefficient, or its bound \[N\].
        value: f64,
        /// Time \[s\].
        t: f64,
    },
    /// The iteration matrix cannot be factored.
    #[error(
        "the iteration matrix of the step is singular ({source}); {}",
        cure_of_singular(scheme, *mass_is_regular)
    )]
    Singular {
        /// The factorisation's complaint.
        source: saltus_linear::LinearError,
        /// Name of the scheme.
        scheme: &'static str,
        /// Whether the mass matrix alone can be factored.
        mass_is_regular: bool,
    },
    /// The mass matrix lost its definiteness.
    #[error(
        "the kinetic energy became {kinetic:.3e} J: the mass matrix is not positive definite at the end of the step; restrict the motion to where `mass` is positive"
    )]
    IndefiniteMass {
        /// `½ vᵀ M v` \[J\].
        kinetic: f64,
    },
    /// More bracketed events in a step than are allowed.
    #[error(
        "{events} events within a step of {h:e} s, the last of contact `{contact}`: its impacts or openings follow each other ever faster; set `rest_rule = true`, take a smaller `step`, or a scheme that captures impacts, as `moreau-jean`"
    )]
    TooManyBrackets {
        /// Events met.
        events: u32,
        /// Contact of the last one.
        contact: String,
        /// Length of the step \[s\].
        h: f64,
    },
    /// No contact mode, or more than one, goes on with the motion.
    #[error(
        "contact `{contact}` has {} at t = {t} s: {}; reduce the friction coefficient, or use a time-stepping scheme such as `moreau-jean`",
        modes_in_words(*modes), what_of_modes(*modes)
    )]
    ContactMode {
        /// Name of the contact.
        contact: String,
        /// How many motions are consistent with its laws: none, or several.
        modes: usize,
        /// Time \[s\].
        t: f64,
    },
    /// An event-driven run stands still.
    #[error(
        "{count} events within one output step, up to t = {t} s: the last is of kind {kind} at contact `{contact}`, {spacing:.3e} s after the one before; set `v_acc` to end accumulations of impacts, or raise `max_events`"
    )]
    TooManyEvents {
        /// Name of the contact of the last event.
        contact: String,
        /// Its kind.
        kind: &'static str,
        /// Time between the last two \[s\].
        spacing: f64,
        /// Number of events.
        count: u32,
        /// Time \[s\].
        t: f64,
    },
    /// The smooth motion between events needs steps of nothing.
    #[error(
        "the motion between events could not be integrated at t = {t} s: an error of rtol = {rtol:e} needs steps below {h:.1e} s; raise `rtol`, or use a time-stepping scheme where the model is stiff or not smooth"
    )]
    Integration {
        /// Time \[s\].
        t: f64,
        /// Length of the last step tried \[s\].
        h: f64,
        /// The tolerance.
        rtol: f64,
    },
    /// Impacts contact by contact do not come to an end.
    #[error(
        "impacts contact by contact did not end after {count} at t = {t} s, the last at contact `{contact}`; use `impact_law = \"newton\"`"
    )]
    ImpactSequence {
        /// Name of the contact of the last impact.
        contact: String,
        /// Number of impacts.
        count: u32,
        /// Time \[s\].
        t: f64,
    },
    /// Something evaluated to infinity or not-a-number.
    #[error(
        "{quantity} of `{place}` is not finite at t = {t} s; the motion left the domain of its formula, or the step is unstable"
    )]
    NotFinite {
        /// What was evaluated.
        quantity: &'static str,
        /// The coordinate or constraint.
        place: String,
        /// Time \[s\].
        t: f64,
    },
}

/// What usually helps where an iteration matrix is singular.
fn cure_of_singular(scheme: &str, mass_is_regular: bool) -> String {
    if mass_is_regular {
        "the mass matrix is regular, but over so long a step a negative stiffness outweighs it, as of a body that buckles: \
         take a smaller `step`"
            .to_owned()
    } else {
        format!(
            "scheme `{scheme}` needs a regular mass matrix, at least on the constrained directions"
        )
    }
}

fn modes_in_words(modes: usize) -> String {
    match modes {
        0 => "no consistent contact mode".to_owned(),
        n => format!("{n} consistent contact modes"),
    }
}

fn what_of_modes(modes: usize) -> &'static str {
    match modes {
        0 => "friction jams it (Painlevé), and no finite force goes on with the motion",
        _ => "the law does not say which (Painlevé)",
    }
}

/// How many iterations, in words.
fn times(iterations: u32) -> String {
    let noun = if iterations == 1 {
        "iteration"
    } else {
        "iterations"
    };
    format!("{iterations} {noun}")
}

/// Refuses dry friction in joints for a scheme that does not solve it.
pub(crate) fn refuse_joint_friction(
    system: &dyn System,
    scheme: &'static str,
) -> Result<(), StepError> {
    if system.joint_friction().is_empty() {
        return Ok(());
    }
    Err(StepError::JointFrictionUnsupported {
        joint: system.names().friction_element(0),
        scheme,
        cure: "use scheme `moreau-jean`",
    })
}

/// Refuses what no scheme without laws in joints solves: dry friction there, and constraints on velocities alone.
pub(crate) fn refuse_laws_of_joints(
    system: &dyn System,
    scheme: &'static str,
) -> Result<(), StepError> {
    refuse_joint_friction(system, scheme)?;
    let on_velocity = |i: &usize| system.constraint_kind(*i) == ConstraintKind::Velocity;
    match (0..system.dims().ng).find(on_velocity) {
        None => Ok(()),
        Some(i) => Err(StepError::VelocityConstraintUnsupported {
            constraint: system.names().bilateral.get(i).cloned().unwrap_or_default(),
            scheme,
        }),
    }
}

impl StepError {
    /// The complementarity problem of the step, where there is one to be kept and solved by other means.
    #[must_use]
    pub fn problem(&self) -> Option<&FailedProblem> {
        match self {
            Self::ContactProblem { problem, .. } => Some(problem),
            Self::NotConverged { problem, .. } => problem.as_deref(),
            _ => None,
        }
    }

    /// The contact problem of the step with its laws, where friction was not solved.
    #[must_use]
    pub fn contact_problem(&self) -> Option<&FailedContactProblem> {
        match self {
            Self::FrictionProblem { problem, .. } => Some(problem),
            _ => None,
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
