//! Every scheme by its name: the one list that files, the command line and the tests read.

use crate::integrator::Integrator;
use serde::{Deserialize, Serialize};

/// A scheme with its parameters, as written in a model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// Moreau–Jean θ-scheme.
    MoreauJean(MoreauJeanOptions),
}

/// placeholder until the room is built
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MoreauJeanOptions {
    /// Weight of the end of the step, in [0, 1].
    pub theta: Option<f64>,
}

/// A parameter of a scheme is out of range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{option}` is {value}, expected {expected}")]
pub struct OptionsError {
    /// Name of the parameter.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: String,
}

impl Scheme {
    /// The kebab-case names of all schemes, with one line each.
    pub const ALL: &'static [(&'static str, &'static str)] = &[("moreau-jean", "Moreau–Jean θ-scheme (event-capturing, order 1)")];

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        Ok(())
    }

    /// The integrator.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn build(&self) -> Result<Box<dyn Integrator>, OptionsError> {
        Err(OptionsError { option: "name", value: String::new(), expected: String::new() })
    }
}
