//! Parameters of the adaptive Moreau–Jean scheme.

use crate::moreau_jean::{BilateralPoint, Forecast, MoreauJeanOptions};
use crate::scheme::OptionsError;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The order `p` that the estimate of the local error assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum ErrorOrder {
    /// 0 in a step with an impact, else that of the scheme: 2 for `theta = 1/2`, 1 for others.
    #[default]
    #[serde(rename = "variable")]
    Variable,
    /// The error estimate is twice the difference of both solutions (Acary, eq. 127).
    #[serde(rename = "0")]
    Zero,
    /// The difference.
    #[serde(rename = "1")]
    One,
    /// A third of the difference.
    #[serde(rename = "2")]
    Two,
}

/// An order as it is written: a number, with quotes or without, or "variable".
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenOrder {
    /// A number.
    Number(#[schemars(range(min = 0, max = 2))] u8),
    /// A word.
    Word(ErrorOrder),
}

fn read_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ErrorOrder, D::Error> {
    Ok(match WrittenOrder::deserialize(deserializer)? {
        WrittenOrder::Word(order) => order,
        WrittenOrder::Number(0) => ErrorOrder::Zero,
        WrittenOrder::Number(1) => ErrorOrder::One,
        // The schema lets nothing else through.
        WrittenOrder::Number(_) => ErrorOrder::Two,
    })
}

/// Parameters of [`AdaptiveMoreauJean`](super::AdaptiveMoreauJean).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveMoreauJeanOptions {
    /// Local error allowed in a position, relative to its size, ≥ 0.
    #[schemars(range(min = 0.0))]
    pub rtol: f64,
    /// Local error allowed in a position beside that, > 0, in the unit of the position.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub atol: f64,
    /// The order that the error estimate assumes: `"variable"`, 0, 1 or 2.
    #[serde(deserialize_with = "read_order")]
    #[schemars(with = "WrittenOrder")]
    pub order: ErrorOrder,
    /// Whether a step may deepen a penetration by no more than `violation_tolerance`. Without it impacts are missed alike by both
    /// solutions that are compared, and nothing controls the error.
    pub violation: bool,
    /// By how much a step may deepen a penetration \[m\], > 0. Left out: `atol`.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation_tolerance: Option<f64>,
    /// Length of the first attempt \[s\], > 0. Left out: a thousandth of the largest step.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_step: Option<f64>,
    /// Shortest step \[s\], > 0: it is accepted whatever its error, and counted. Left out: 1e-9 of the largest step.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h_min: Option<f64>,
    /// Longest step \[s\], > 0; never more than the step of the run. Left out: the step of the run.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h_max: Option<f64>,
    /// Share of the step that the estimate suggests, in (0, 1).
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub safety: f64,
    /// Most by which a step shrinks at once, as a factor in (0, 1).
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub shrink: f64,
    /// Most by which a step grows at once, as a factor > 1.
    #[schemars(extend("exclusiveMinimum" = 1.0))]
    pub growth: f64,
    /// Weight of the end of the step, in (0, 1]. With others than 1/2 adaptive steps do not pay.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    pub theta: f64,
    /// Where bilateral constraints hold, at velocity level. With `"end"` curved constraints take energy at first order, which the
    /// estimate does not see.
    pub bilateral: BilateralPoint,
    /// When a contact takes part in the impact law of a step.
    pub forecast: Forecast,
    /// Length of the extrapolation in the forecast, in steps, ≥ 0.
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
    /// The tolerance ε of the forecast \[m\], ≥ 0. Left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    pub activation_tolerance: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Most corrections in a step, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for AdaptiveMoreauJeanOptions {
    fn default() -> Self {
        let scheme = MoreauJeanOptions::default();
        Self {
            rtol: 1e-4,
            atol: 1e-6,
            order: ErrorOrder::default(),
            violation: true,
            violation_tolerance: None,
            first_step: None,
            h_min: None,
            h_max: None,
            safety: 0.9,
            shrink: 0.1,
            growth: 5.0,
            theta: 0.5,
            bilateral: BilateralPoint::Mean,
            forecast: scheme.forecast,
            gamma: scheme.gamma,
            activation_tolerance: None,
            tolerance: scheme.tolerance,
            max_iterations: scheme.max_iterations,
        }
    }
}

impl AdaptiveMoreauJeanOptions {
    /// The scheme whose steps are compared.
    pub(super) fn scheme(&self) -> MoreauJeanOptions {
        MoreauJeanOptions {
            theta: Some(self.theta),
            bilateral: self.bilateral,
            forecast: self.forecast,
            gamma: self.gamma,
            activation_tolerance: self.activation_tolerance,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            ..MoreauJeanOptions::default()
        }
    }

    /// Length of the first attempt among steps of `h_min` to `h_max` \[s\].
    pub(super) fn first_step(&self, h_min: f64, h_max: f64) -> f64 {
        let first = self.first_step.unwrap_or(1e-3 * h_max);
        first.clamp(h_min, h_max)
    }

    /// The same options with `violation_tolerance` written out.
    #[must_use]
    pub fn effective(&self) -> Self {
        Self {
            violation_tolerance: self
                .violation
                .then(|| self.violation_tolerance.unwrap_or(self.atol)),
            ..self.clone()
        }
    }

    /// Checks the lengths of steps beside the largest one, `step` \[s\] of the run.
    ///
    /// # Errors
    /// The first one that is longer.
    pub(crate) fn check_step(&self, step: f64) -> Result<(), OptionsError> {
        for (option, length) in [("h_min", self.h_min), ("first_step", self.first_step)] {
            if let Some(length) = length
                && length > step
            {
                let expected = format!("at most the step of the run, which is {step}");
                return Err(OptionsError::new(option, length, &expected));
            }
        }
        Ok(())
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let check = |option, value: f64, ok: bool, expected: &str| {
            if ok && value.is_finite() {
                Ok(())
            } else {
                Err(OptionsError::new(option, value, expected))
            }
        };
        check("rtol", self.rtol, self.rtol >= 0.0, "a number ≥ 0")?;
        check("atol", self.atol, self.atol > 0.0, "a number > 0")?;
        let lengths = [
            (
                "violation_tolerance",
                self.violation_tolerance,
                "a length > 0 in metres",
            ),
            ("first_step", self.first_step, "a time > 0 in seconds"),
            ("h_min", self.h_min, "a time > 0 in seconds"),
            ("h_max", self.h_max, "a time > 0 in seconds"),
        ];
        for (option, value, expected) in lengths {
            let value = value.unwrap_or(1.0);
            check(option, value, value > 0.0, expected)?;
        }
        if let (false, Some(length)) = (self.violation, self.violation_tolerance) {
            let beside = "`violation = true` beside it";
            return Err(OptionsError::new("violation_tolerance", length, beside)
                .cure("set it, or leave `violation_tolerance` out"));
        }
        if let (Some(h_min), Some(h_max)) = (self.h_min, self.h_max)
            && h_min > h_max
        {
            return Err(OptionsError::new(
                "h_min",
                h_min,
                &format!("at most `h_max`, which is {h_max}"),
            ));
        }
        let in_unit = |x: f64| x > 0.0 && x < 1.0;
        check(
            "safety",
            self.safety,
            in_unit(self.safety),
            "a number in (0, 1)",
        )?;
        check(
            "shrink",
            self.shrink,
            in_unit(self.shrink),
            "a number in (0, 1)",
        )?;
        check("growth", self.growth, self.growth > 1.0, "a number > 1")?;
        self.scheme().validate()
    }
}
