//! Parameters of the projected Moreau–Jean schemes.

use crate::moreau_jean::Evaluation;
use crate::scheme::{OptionsError, check_tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How positions and velocities are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectionMethod {
    /// Velocity law and contact directions at the projected end of the step, whose gaps choose the contacts: nothing penetrates, and what
    /// should rest rests.
    #[default]
    Combined,
    /// The Moreau–Jean step, then its positions alone are projected. A closed contact never comes to rest, because the lift leaves the
    /// velocity as it is; for comparison with others.
    Direct,
    /// The step without contacts is projected, and the contacts that its projection presses on obey the velocity law there: one pass,
    /// without friction.
    Ggl,
}

/// What `nearest` means in the projection of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The mass matrix at the start of the step: independent of units and coordinates.
    #[default]
    Mass,
    /// The identity in the velocity coordinates, for comparison with others.
    Identity,
}

/// Which contacts a direct projection lifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lifted {
    /// All.
    #[default]
    All,
    /// Those that take part in the impact law of the step.
    Active,
}

/// Parameters of the projected Moreau–Jean schemes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectedMoreauJeanOptions {
    /// How positions and velocities are brought together.
    pub method: ProjectionMethod,
    /// Weight of the end of the step, in (0, 1].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    pub theta: f64,
    /// Length of the extrapolation in the forecast of `direct`, in steps, ≥ 0.
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
    /// What `nearest` means in the projection of positions.
    pub metric: Metric,
    /// Where the smooth dynamics of a step is evaluated: at the θ-point, or by the forces at both ends.
    pub evaluation: Evaluation,
    /// Which contacts `direct` lifts.
    pub lifted: Lifted,
    /// In `direct`, a contact that took part in the last step takes part until its gap exceeds the tolerance and does not close.
    pub hysteresis: bool,
    /// The tolerance of the forecast of `direct` \[m\], ≥ 0; left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_tolerance: Option<f64>,
    /// Violation of a position that counts as none \[m\], ≥ 0: positions that violate nothing by more stay as they are. Left out: positions
    /// are projected down to round-off, or 1e-13 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position_tolerance: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Most corrections in a pass of a step, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for ProjectedMoreauJeanOptions {
    fn default() -> Self {
        Self {
            method: ProjectionMethod::default(),
            theta: 0.5,
            gamma: 0.5,
            metric: Metric::default(),
            evaluation: Evaluation::default(),
            lifted: Lifted::default(),
            hysteresis: false,
            activation_tolerance: None,
            position_tolerance: None,
            tolerance: 1e-10,
            max_iterations: 50,
        }
    }
}

impl ProjectedMoreauJeanOptions {
    /// Whether the method solves Coulomb friction.
    #[must_use]
    pub fn solves_friction(&self) -> bool {
        self.method != ProjectionMethod::Ggl
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if !(self.theta > 0.0 && self.theta <= 1.0) {
            return Err(OptionsError::new("theta", self.theta, "a number in (0, 1]"));
        }
        if !(self.gamma >= 0.0 && self.gamma.is_finite()) {
            return Err(OptionsError::new("gamma", self.gamma, "a number ≥ 0"));
        }
        if self.evaluation == Evaluation::WeightedAccelerations {
            let expected = "\"theta-point\" or \"weighted-forces\"";
            return Err(OptionsError::new(
                "evaluation",
                "weighted-accelerations",
                expected,
            ));
        }
        for (option, length) in [
            ("activation_tolerance", self.activation_tolerance),
            ("position_tolerance", self.position_tolerance),
        ] {
            if let Some(length) = length
                && !(length >= 0.0 && length.is_finite())
            {
                let expected = "a length ≥ 0 in metres";
                return Err(OptionsError::new(option, length, expected));
            }
        }
        if self.max_iterations == 0 {
            return Err(OptionsError::new("max_iterations", 0, "a whole number ≥ 1"));
        }
        self.only_direct()?;
        check_tolerance(self.tolerance)
    }

    /// Refuses what only the direct method has a use for.
    fn only_direct(&self) -> Result<(), OptionsError> {
        if self.method == ProjectionMethod::Direct {
            return Ok(());
        }
        let usual = Self::default();
        let tolerance = self.activation_tolerance;
        let given = [
            ("gamma", self.gamma.to_string(), self.gamma != usual.gamma),
            ("lifted", "active".to_owned(), self.lifted != usual.lifted),
            ("hysteresis", "true".to_owned(), self.hysteresis),
            (
                "activation_tolerance",
                tolerance.unwrap_or_default().to_string(),
                tolerance.is_some(),
            ),
        ];
        match given.into_iter().find(|(_, _, given)| *given) {
            None => Ok(()),
            Some((option, value, _)) => {
                let beside = "`method = \"direct\"` beside it";
                let cure = format!("set it, or leave `{option}` out");
                Err(OptionsError::new(option, value, beside).cure(cure))
            }
        }
    }
}
