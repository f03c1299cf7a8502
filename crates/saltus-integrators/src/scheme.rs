//! Every scheme by its name: the one list that files, the command line and the tests read.

use crate::adaptive::{AdaptiveMoreauJean, AdaptiveMoreauJeanOptions};
use crate::event_driven::{EventDriven, EventDrivenOptions};
use crate::generalized_alpha::{
    GeneralizedAlpha, GeneralizedAlphaOptions, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHht, NonsmoothHhtOptions, NonsmoothNewmark,
    NonsmoothNewmarkOptions,
};
use crate::half_explicit::HalfExplicitOptions;
use crate::higher_order::{HigherOrder, HigherOrderOptions};
use crate::integrator::Integrator;
use crate::moreau_jean::MoreauJeanOptions;
use crate::projected::ProjectedMoreauJeanOptions;
use crate::schatzman_paoli::SchatzmanPaoliOptions;
use crate::splitting::SplittingOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scheme with its parameters, as written in a model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// Moreau–Jean θ-scheme.
    MoreauJean(MoreauJeanOptions),
    /// Generalized-α for smooth constrained systems.
    GeneralizedAlpha(GeneralizedAlphaOptions),
    /// Nonsmooth generalized-α.
    NonsmoothGeneralizedAlpha(NonsmoothGeneralizedAlphaOptions),
    /// Nonsmooth Newmark.
    NonsmoothNewmark(NonsmoothNewmarkOptions),
    /// Nonsmooth HHT.
    NonsmoothHht(NonsmoothHhtOptions),
    /// Half-explicit trapezoidal rule and Runge–Kutta methods.
    HalfExplicit(HalfExplicitOptions),
    /// Schatzman–Paoli scheme.
    SchatzmanPaoli(SchatzmanPaoliOptions),
    /// Moreau–Jean θ-scheme with steps chosen by the error.
    AdaptiveMoreauJean(AdaptiveMoreauJeanOptions),
    /// Runge–Kutta methods between located events.
    HigherOrder(HigherOrderOptions),
    /// Event-driven scheme.
    EventDriven(EventDrivenOptions),
    /// Moreau–Jean with projected positions.
    MoreauJeanProjected(ProjectedMoreauJeanOptions),
    /// Smooth motion and impacts one after the other.
    Splitting(SplittingOptions),
}

/// One line of the list of schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeInfo {
    /// The name in model files and on the command line.
    pub name: &'static str,
    /// Order of positions and velocities with default options: on smooth motion, and in the L¹ norm across impacts where
    /// the scheme crosses them.
    pub order: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
}

/// A parameter of a scheme is out of range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{option}` is {value}, expected {expected}{}", .cure.as_ref().map(|c| format!("; {c}")).unwrap_or_default())]
pub struct OptionsError {
    /// Name of the parameter.
    pub option: &'static str,
    /// Its value, as written in a model file.
    pub value: String,
    /// What it may be.
    pub expected: String,
    /// What to do about it, where that does not follow.
    pub cure: Option<String>,
}

/// The coarsest tolerance that a scheme takes, relative to the momentum scale of the motion: the papers count corrections
/// down to that. What a step guarantees is another matter ([`Guarantees`](crate::certificate::Guarantees)).
pub(crate) const COARSEST: f64 = 5e-2;

/// Checks the tolerance of Newton's method.
pub(crate) fn check_tolerance(tolerance: f64) -> Result<(), OptionsError> {
    if tolerance > 0.0 && tolerance <= COARSEST {
        return Ok(());
    }
    Err(
        OptionsError::new("tolerance", tolerance, "a number in (0, 0.05]")
            .cure("leave it out for the default"),
    )
}

impl OptionsError {
    pub(crate) fn new(option: &'static str, value: impl std::fmt::Display, expected: &str) -> Self {
        Self {
            option,
            value: value.to_string(),
            expected: expected.to_owned(),
            cure: None,
        }
    }

    pub(crate) fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = Some(cure.into());
        self
    }
}

impl Scheme {
    /// All schemes.
    pub const ALL: &'static [SchemeInfo] = &[
        SchemeInfo {
            name: "moreau-jean",
            order: "2, with constraints and across impacts 1",
            summary: "Moreau–Jean θ-scheme: contact at velocity level, robust with many contacts",
        },
        SchemeInfo {
            name: "generalized-alpha",
            order: "2",
            summary: "generalized-α for smooth systems: constraints at position, velocity or acceleration level",
        },
        SchemeInfo {
            name: "nonsmooth-generalized-alpha",
            order: "2, across impacts 1",
            summary: "nonsmooth generalized-α: no drift, no penetration, numerical damping by rho_inf",
        },
        SchemeInfo {
            name: "nonsmooth-newmark",
            order: "2, with constraints and across impacts 1",
            summary: "nonsmooth Newmark: contact at velocity level as Moreau–Jean, Newmark's rule for the smooth motion",
        },
        SchemeInfo {
            name: "nonsmooth-hht",
            order: "2, with constraints and across impacts 1",
            summary: "nonsmooth HHT: as nonsmooth-newmark, with numerical damping of high frequencies by alpha",
        },
        SchemeInfo {
            name: "half-explicit",
            order: "2 to 4, across impacts 1",
            summary: "half-explicit trapezoidal rule and Runge–Kutta methods: order 2 to 4 between impacts, friction included, a stable step",
        },
        SchemeInfo {
            name: "schatzman-paoli",
            order: "1",
            summary: "Schatzman–Paoli scheme: contact and constraints at position level, without friction, order 1",
        },
        SchemeInfo {
            name: "adaptive-moreau-jean",
            order: "2, across impacts 1",
            summary: "Moreau–Jean θ-scheme with steps chosen by the error and by how deep contacts penetrate, friction included",
        },
        SchemeInfo {
            name: "higher-order",
            order: "2 to 5, across impacts too",
            summary: "Runge–Kutta methods of order 2 to 5 between events, which are bracketed and passed by Moreau–Jean steps; no friction",
        },
        SchemeInfo {
            name: "event-driven",
            order: "8, across impacts too, to a tolerance",
            summary: "event-driven: every impact, opening, stick and slip located, exact to a tolerance between them; few contacts, friction included",
        },
        SchemeInfo {
            name: "moreau-jean-projected",
            order: "2, with constraints and across impacts 1",
            summary: "Moreau–Jean with projected positions: no penetration and no drift, friction included",
        },
        SchemeInfo {
            name: "splitting",
            order: "5, across impacts 1",
            summary: "splitting: Runge–Kutta–Fehlberg for the smooth motion, then impacts; steps by error and penetration on request",
        },
    ];

    /// The scheme of that name with default parameters.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "moreau-jean" => Some(Self::MoreauJean(MoreauJeanOptions::default())),
            "generalized-alpha" => Some(Self::GeneralizedAlpha(GeneralizedAlphaOptions::default())),
            "nonsmooth-generalized-alpha" => Some(Self::NonsmoothGeneralizedAlpha(
                NonsmoothGeneralizedAlphaOptions::default(),
            )),
            "nonsmooth-newmark" => Some(Self::NonsmoothNewmark(NonsmoothNewmarkOptions::default())),
            "nonsmooth-hht" => Some(Self::NonsmoothHht(NonsmoothHhtOptions::default())),
            "half-explicit" => Some(Self::HalfExplicit(HalfExplicitOptions::default())),
            "schatzman-paoli" => Some(Self::SchatzmanPaoli(SchatzmanPaoliOptions::default())),
            "adaptive-moreau-jean" => Some(Self::AdaptiveMoreauJean(
                AdaptiveMoreauJeanOptions::default(),
            )),
            "higher-order" => Some(Self::HigherOrder(HigherOrderOptions::default())),
            "event-driven" => Some(Self::EventDriven(EventDrivenOptions::default())),
            "moreau-jean-projected" => Some(Self::MoreauJeanProjected(
                ProjectedMoreauJeanOptions::default(),
            )),
            "splitting" => Some(Self::Splitting(SplittingOptions::default())),
            _ => None,
        }
    }

    /// The kebab-case name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::MoreauJean(_) => "moreau-jean",
            Self::GeneralizedAlpha(_) => "generalized-alpha",
            Self::NonsmoothGeneralizedAlpha(_) => "nonsmooth-generalized-alpha",
            Self::NonsmoothNewmark(_) => "nonsmooth-newmark",
            Self::NonsmoothHht(_) => "nonsmooth-hht",
            Self::HalfExplicit(_) => "half-explicit",
            Self::SchatzmanPaoli(_) => "schatzman-paoli",
            Self::AdaptiveMoreauJean(_) => "adaptive-moreau-jean",
            Self::HigherOrder(_) => "higher-order",
            Self::EventDriven(_) => "event-driven",
            Self::MoreauJeanProjected(_) => "moreau-jean-projected",
            Self::Splitting(_) => "splitting",
        }
    }

    /// Whether the scheme solves Coulomb friction.
    #[must_use]
    pub fn solves_friction(&self) -> bool {
        match self {
            Self::MoreauJean(_) | Self::AdaptiveMoreauJean(_) | Self::EventDriven(_) => true,
            Self::HalfExplicit(options) => options.solves_friction(),
            Self::MoreauJeanProjected(options) => options.solves_friction(),
            Self::GeneralizedAlpha(_)
            | Self::NonsmoothGeneralizedAlpha(_)
            | Self::NonsmoothNewmark(_)
            | Self::NonsmoothHht(_)
            | Self::SchatzmanPaoli(_)
            | Self::HigherOrder(_)
            | Self::Splitting(_) => false,
        }
    }

    /// Whether dry friction in joints is solved, too.
    #[must_use]
    pub fn solves_joint_friction(&self) -> bool {
        self.solves_friction() && !matches!(self, Self::EventDriven(_))
    }

    /// Whether the scheme chooses the length of its steps, with its options as they are.
    #[must_use]
    pub fn chooses_step(&self) -> bool {
        self.build().is_ok_and(|scheme| scheme.chooses_step())
    }

    /// The same scheme with every parameter that follows from others written out, for the record.
    #[must_use]
    pub fn effective(&self) -> Self {
        match self {
            Self::MoreauJean(options) => Self::MoreauJean(options.effective()),
            Self::GeneralizedAlpha(options) => Self::GeneralizedAlpha(options.effective()),
            Self::NonsmoothGeneralizedAlpha(options) => {
                Self::NonsmoothGeneralizedAlpha(options.effective())
            }
            Self::NonsmoothNewmark(options) => Self::NonsmoothNewmark(options.effective()),
            Self::NonsmoothHht(options) => Self::NonsmoothHht(options.clone()),
            Self::HalfExplicit(options) => Self::HalfExplicit(options.clone()),
            Self::SchatzmanPaoli(options) => Self::SchatzmanPaoli(options.clone()),
            Self::AdaptiveMoreauJean(options) => Self::AdaptiveMoreauJean(options.effective()),
            Self::HigherOrder(options) => Self::HigherOrder(options.clone()),
            Self::EventDriven(options) => Self::EventDriven(options.clone()),
            Self::MoreauJeanProjected(options) => Self::MoreauJeanProjected(options.clone()),
            Self::Splitting(options) => Self::Splitting(options.clone()),
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        match self {
            Self::MoreauJean(options) => options.validate(),
            Self::GeneralizedAlpha(options) => options.validate(),
            Self::NonsmoothGeneralizedAlpha(options) => options.validate(),
            Self::NonsmoothNewmark(options) => options.validate(),
            Self::NonsmoothHht(options) => options.validate(),
            Self::HalfExplicit(options) => options.validate(),
            Self::SchatzmanPaoli(options) => options.validate(),
            Self::AdaptiveMoreauJean(options) => options.validate(),
            Self::HigherOrder(options) => options.validate(),
            Self::EventDriven(options) => options.validate(),
            Self::MoreauJeanProjected(options) => options.validate(),
            Self::Splitting(options) => options.validate(),
        }
    }

    /// Checks the parameters that must fit the `step` \[s\] of a run.
    ///
    /// # Errors
    /// The first one that does not.
    pub fn check_step(&self, step: f64) -> Result<(), OptionsError> {
        match self {
            Self::AdaptiveMoreauJean(options) => options.check_step(step),
            _ => Ok(()),
        }
    }

    /// The integrator.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn build(&self) -> Result<Box<dyn Integrator>, OptionsError> {
        match self {
            Self::MoreauJean(options) => crate::moreau_jean::build(options),
            Self::GeneralizedAlpha(options) => {
                Ok(Box::new(GeneralizedAlpha::new(options.clone())?))
            }
            Self::NonsmoothGeneralizedAlpha(options) => {
                Ok(Box::new(NonsmoothGeneralizedAlpha::new(options.clone())?))
            }
            Self::NonsmoothNewmark(options) => {
                Ok(Box::new(NonsmoothNewmark::new(options.clone())?))
            }
            Self::NonsmoothHht(options) => Ok(Box::new(NonsmoothHht::new(options.clone())?)),
            Self::HalfExplicit(options) => crate::half_explicit::build(options),
            Self::SchatzmanPaoli(options) => crate::schatzman_paoli::build(options),
            Self::AdaptiveMoreauJean(options) => {
                Ok(Box::new(AdaptiveMoreauJean::new(options.clone())?))
            }
            Self::HigherOrder(options) => Ok(Box::new(HigherOrder::new(options.clone())?)),
            Self::EventDriven(options) => Ok(Box::new(EventDriven::new(options.clone())?)),
            Self::MoreauJeanProjected(options) => crate::projected::build(options),
            Self::Splitting(options) => crate::splitting::build(options),
        }
    }
}
