//! Why a step could not be taken, with the place, the value and the cure.

use crate::kit::velocity_name;
use saltus_complementarity::ContactData;
use saltus_linear::LinearError;
use saltus_system::{ConstraintKind, System};

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
    pub problem: ContactData,
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
    #[error("with these options scheme `{scheme}` does not solve contact `{contact}`; {cure}")]
    ContactsUnsupported {
        /// Name of the first contact that it does not solve.
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
    /// The given stiffnesses of contacts do not fit the system.
    #[error(
        "`stiffness` has {given} entries, the system has {expected} contacts; give one per contact, or leave it out: all equal"
    )]
    ContactStiffness {
        /// Entries given.
        given: usize,
        /// Contacts of the system.
        expected: usize,
    },
    /// The scheme itself has made the motion: energy without bound.
    #[error(
        "the motion has diverged: the scheme itself has added {gained:.3e} J where there were {size:.3e} J; {}",
        stability_cure(*limit, *h)
    )]
    Diverged {
        /// Energy that no force and no contact accounts for \[J\].
        gained: f64,
        /// Energy of the motion before \[J\].
        size: f64,
        /// Length of the step \[s\].
        h: f64,
        /// Largest stable step about the start \[s\], where it is known.
        limit: Option<f64>,
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
    /// Laws that depend on the velocity at the end of a step did not settle.
    #[error(
        "friction that depends on the velocity did not settle in {evaluations} evaluations: the velocity of `{coordinate}` still changes by {change:.3e}; take a smaller `step`"
    )]
    LawsNotSettled {
        /// The velocity that changes most.
        coordinate: String,
        /// Evaluations of the laws.
        evaluations: u32,
        /// Its last change.
        change: f64,
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
        cure_of_singular(source, scheme, *mass_is_regular)
    )]
    Singular {
        /// The factorisation's complaint.
        source: LinearError,
        /// Name of the scheme.
        scheme: &'static str,
        /// Whether the mass matrix alone can be factored.
        mass_is_regular: bool,
    },
    /// A derivative is infinite or no number where the step leads.
    #[error(
        "a derivative of the force on `{place}`, or of the mass, is infinite or no number in the step from t = {t} s, as that of sqrt(x) is at 0; write the formula so that it is smooth where the motion leads, or use a scheme that needs no derivatives, such as `half-explicit`"
    )]
    DerivativeNotFinite {
        /// The coordinate.
        place: String,
        /// Time at which the step started \[s\].
        t: f64,
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
        "{events} events within a step of {h:e} s, the last of contact `{contact}`: its impacts or openings follow each other ever faster; set `rest_rule = true`, a smaller `bracket_exponent` (3), or take a scheme for accumulating impacts, `event-driven` or `moreau-jean`"
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
        "the motion between events could not be integrated at t = {t} s: an error of rtol = {rtol:e} needs steps below {h:.1e} s; raise `rtol`, set `stiff = true` where the model is stiff, or use a time-stepping scheme"
    )]
    Integration {
        /// Time \[s\].
        t: f64,
        /// Length of the last step tried \[s\].
        h: f64,
        /// The tolerance.
        rtol: f64,
    },
    /// The force jumps, and on both sides of the jump it drives the motion into it.
    #[error(
        "the force on `{place}` jumps at t = {t} s and drives the motion back into the jump from both sides, as `sign(v)` does at rest: the motion would slide along it; describe dry friction by `friction` of a contact or a joint, or smooth the jump, as by `tanh`"
    )]
    SlidingMode {
        /// The velocity coordinate whose acceleration jumps most.
        place: String,
        /// Time \[s\].
        t: f64,
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
fn cure_of_singular(source: &LinearError, scheme: &str, mass_is_regular: bool) -> String {
    if matches!(source, LinearError::NotFinite { .. }) {
        "a formula or a derivative of one left its domain".to_owned()
    } else if mass_is_regular {
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
        0 => {
            "no finite force goes on with the motion (friction jams it, Painlevé; or rounding hides the force beside those of much heavier bodies)"
        }
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

/// What to do about an unstable step of `h` \[s\].
fn stability_cure(limit: Option<f64>, h: f64) -> String {
    match limit {
        Some(0.0) => "no step of this explicit method is stable about the start, where vibrations are undamped: use `half-explicit` with `method = \"hem3\"` or an implicit scheme".to_owned(),
        Some(limit) if h > limit => format!(
            "the step of {h} s is beyond the largest stable one about the start, {limit:.6e} s: take a smaller `step`, or an implicit scheme"
        ),
        _ => "take a much smaller `step`, or an implicit scheme".to_owned(),
    }
}

impl StepError {
    /// The same with the name of the coordinate where a derivative is not finite, in a step of `system` from `t` \[s\].
    pub(crate) fn named(self, system: &dyn System, t: f64) -> Self {
        match self {
            Self::Singular {
                source: LinearError::NotFinite { size, row },
                ..
            } if size == system.dims().nv => Self::DerivativeNotFinite {
                place: velocity_name(&system.names(), row),
                t,
            },
            other => other,
        }
    }

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
