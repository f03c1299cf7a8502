//! Parameters of the splitting schemes.

use crate::scheme::{COARSEST, OptionsError, check_tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What closed contacts do in the smooth part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplittingContact {
    /// They carry continuous forces; a contact that hits slowly closes for good (Acary, eqs. 142, 143).
    #[default]
    Forces,
    /// Nothing: contacts act by the impulses at the end of the step alone (Acary, eqs. 140, 141). What rests sinks by `h |a| / 2` per unit of time.
    Impulses,
}

/// Parameters of the splitting schemes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SplittingOptions {
    /// What closed contacts do in the smooth part of a step.
    pub contact: SplittingContact,
    /// Whether the scheme chooses its steps, up to the step of the run, by the error of positions and the penetration that a step adds.
    pub adaptive: bool,
    /// What a step of an adaptive run may err and penetrate by, relative to the size of the motion and of the gaps, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub error_tolerance: f64,
    /// Gap \[m\] at which a contact counts as closed, ≥ 0. Left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_tolerance: Option<f64>,
    /// What the laws of constraints and contacts are held to, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
}

impl Default for SplittingOptions {
    fn default() -> Self {
        Self {
            contact: SplittingContact::default(),
            adaptive: false,
            error_tolerance: 1e-6,
            activation_tolerance: None,
            tolerance: 1e-10,
        }
    }
}

impl SplittingOptions {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let error = self.error_tolerance;
        if !(error > 0.0 && error <= COARSEST) {
            let expected = "a number in (0, 0.05]";
            return Err(OptionsError::new("error_tolerance", error, expected));
        }
        if !self.adaptive && error != Self::default().error_tolerance {
            let beside = "`adaptive = true` beside it";
            return Err(OptionsError::new("error_tolerance", error, beside)
                .cure("set it, or leave `error_tolerance` out"));
        }
        if let Some(epsilon) = self.activation_tolerance
            && !(epsilon >= 0.0 && epsilon.is_finite())
        {
            let expected = "a length ≥ 0 in metres";
            return Err(OptionsError::new("activation_tolerance", epsilon, expected));
        }
        check_tolerance(self.tolerance)
    }
}
