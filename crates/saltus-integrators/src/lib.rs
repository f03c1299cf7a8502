//! Time integrators for nonsmooth mechanical systems.
//!
//! One module per family; each reads: equations and order, what it preserves and when to use it,
//! reference, `Options`, buffers, `step`, tests. [`drive`] runs any of them over any system and
//! shows every step to its observers.

mod adaptive;
mod certificate;
pub mod consistent;
mod drive;
mod event_driven;
mod generalized_alpha;
mod half_explicit;
mod higher_order;
mod integrator;
mod kit;
mod moreau_jean;
mod moving_potential;
mod one_step;
mod projected;
mod round_off;
mod schatzman_paoli;
mod scheme;
mod scheme_options;
mod splitting;
mod step_error;
mod streaming;

pub use adaptive::{AdaptiveMoreauJean, AdaptiveMoreauJeanOptions, ErrorOrder};
pub use certificate::{Certificate, Entry, Guarantees, PROOF, WorstCertificate};
pub use drive::{DriveError, Frame, Memory, Observer, ObserverError, Plan, RunInfo, Stop, drive};
pub use event_driven::{Accumulation, EventDriven, EventDrivenOptions, ImpactLaw};
pub use generalized_alpha::{
    Coefficients, GeneralizedAlpha, GeneralizedAlphaOptions, Impacts, Inactive, Levels,
    LinearSolve, LocationCounts, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHht, NonsmoothHhtOptions, NonsmoothNewmark,
    NonsmoothNewmarkOptions, Prediction, Preset, SmoothFormulation,
};
pub use half_explicit::{ButcherTableau, HalfExplicitOptions, Method as HalfExplicitMethod};
pub use higher_order::{
    HigherOrder, HigherOrderCounts, HigherOrderOptions, Method as HigherOrderMethod,
};
pub use integrator::{
    ContactState, Counts, Energy, Event, EventKind, FailedContactProblem, FailedProblem,
    Integrator, Reactions, StepError, StepReport,
};
pub use moreau_jean::{
    BilateralPoint, Evaluation, Explicit, Forecast, MoreauJean, MoreauJeanOptions, Variant,
};
pub use projected::{Lifted, Metric, ProjectedMoreauJeanOptions, ProjectionMethod};
pub use schatzman_paoli::{SchatzmanPaoliOptions, SchatzmanPaoliStart};
pub use scheme::{OptionsError, Scheme, SchemeInfo};
pub use splitting::{SplittingContact, SplittingOptions};
