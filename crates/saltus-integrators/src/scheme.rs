//! Every scheme by its name: the one list that files, the command line and the tests read.

use crate::generalized_alpha::{
    GeneralizedAlpha, GeneralizedAlphaOptions, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHht, NonsmoothHhtOptions, NonsmoothNewmark,
    NonsmoothNewmarkOptions,
};
use crate::integrator::Integrator;
use crate::moreau_jean::{MoreauJean, MoreauJeanOptions};
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
}

/// One line of the list of schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeInfo {
    /// The name in model files and on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
}

/// A parameter of a scheme is out of range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{option}` is {value}, expected {expected}")]
pub struct OptionsError {
    /// Name of the parameter.
    pub option: &'static str,
    /// Its value, as written in a model file.
    pub value: String,
    /// What it may be.
    pub expected: String,
}

impl OptionsError {
    pub(crate) fn new(option: &'static str, value: impl std::fmt::Display, expected: &str) -> Self {
        Self {
            option,
            value: value.to_string(),
            expected: expected.to_owned(),
        }
    }
}

impl Scheme {
    /// All schemes.
    pub const ALL: &'static [SchemeInfo] = &[
        SchemeInfo {
            name: "moreau-jean",
            summary: "Moreau–Jean θ-scheme: contact at velocity level, robust with many contacts, order 1",
        },
        SchemeInfo {
            name: "generalized-alpha",
            summary: "generalized-α for smooth systems: constraints at position, velocity or acceleration level, order 2",
        },
        SchemeInfo {
            name: "nonsmooth-generalized-alpha",
            summary: "nonsmooth generalized-α: no drift, no penetration, order 2 between impacts, numerical damping by rho_inf",
        },
        SchemeInfo {
            name: "nonsmooth-newmark",
            summary: "nonsmooth Newmark: contact at velocity level as Moreau–Jean, Newmark's rule for the smooth motion",
        },
        SchemeInfo {
            name: "nonsmooth-hht",
            summary: "nonsmooth HHT: as nonsmooth-newmark, with numerical damping of high frequencies by alpha",
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
        }
    }

    /// Whether the scheme solves Coulomb friction.
    #[must_use]
    pub fn solves_friction(&self) -> bool {
        match self {
            Self::MoreauJean(_)
            | Self::GeneralizedAlpha(_)
            | Self::NonsmoothGeneralizedAlpha(_)
            | Self::NonsmoothNewmark(_)
            | Self::NonsmoothHht(_) => false,
        }
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
        }
    }

    /// The integrator.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn build(&self) -> Result<Box<dyn Integrator>, OptionsError> {
        match self {
            Self::MoreauJean(options) => Ok(Box::new(MoreauJean::new(options.clone())?)),
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
        }
    }
}
