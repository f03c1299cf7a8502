//! Parameters of the Moreau–Jean scheme.

use super::explicit::Explicit;
use crate::scheme::{OptionsError, check_tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a contact takes part in the impact law of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forecast {
    /// `g(q_k) + γ h u_k ≤ ε`: gap at the start of the step, extrapolated linearly (Acary, eq. 41e).
    #[default]
    Start,
    /// `g(q_k ⊕ γ h v_k) ≤ ε`: gap at an extrapolated position (Acary, eq. 40; Brüls et al. 2014, §9.1).
    Position,
    /// `g(q̃) + γ h W(q̃)ᵀ v_k ≤ ε` at the predicted position `q̃ = q_k ⊕ h v_k`; the impact law uses the
    /// directions at `q̃` too.
    Predicted,
    /// `g ≤ ε` at the end of the step taken without contacts; `gamma` plays no part.
    Smooth,
}

/// Where the smooth dynamics of a step is evaluated. All agree when forces and mass are constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evaluation {
    /// `M(q_{k+θ}) Δv = h f(t_{k+θ}, q_{k+θ}, v_{k+θ}) + …` (Acary, eq. 41).
    #[default]
    ThetaPoint,
    /// `M(q_{k+1}) Δv = h [θ f_{k+1} + (1−θ) f_k] + …`.
    WeightedForces,
    /// `M(q_{k+1}) (Δv − h (1−θ) v̇_k) = h θ f_{k+1} + …` with `M v̇ = f` (Brüls et al. 2014, §9.1).
    WeightedAccelerations,
}

/// How positions follow velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// `q_{k+1} = q_k ⊕ h v_{k+θ}`.
    #[default]
    Standard,
    /// `q_{k+1} = q_k ⊕ h v_{k+1/2}`, forces at `k+θ`: dissipative for every `θ ≥ 1/2` as long as contacts that carry an impulse
    /// were approaching (Acary, eq. 87).
    Dissipative,
}

/// Where bilateral constraints hold, at velocity level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bilateral {
    /// `G v_{k+1} + ∂g/∂t = 0` at `q_{k+1}`: no velocity violates a constraint; positions drift and energy is lost at first order.
    #[default]
    End,
    /// `G (v_k + v_{k+1})/2 + ∂g/∂t = 0` half-way between `q_k` and `q_{k+1}`, in steps without an impact that begin with consistent velocities:
    /// positions drift at second order and reactions do no work; velocities violate a constraint at second order, with alternating sign.
    Mean,
}

/// Parameters of [`MoreauJean`](super::MoreauJean).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MoreauJeanOptions {
    /// Weight of the end of the step, in (0, 1]; 1/2 unless `rho_inf` is given.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// Gives `theta = 1 / (1 + rho_inf)`; in [0, 1]. Not together with `theta`.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_inf: Option<f64>,
    /// Takes the explicit scheme instead of the θ-scheme, in one of its variants; of the other parameters it knows `gamma`,
    /// `activation_tolerance` and `tolerance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explicit: Option<Explicit>,
    /// When a contact takes part in the impact law of a step.
    pub forecast: Forecast,
    /// Length of the extrapolation in the forecast, in steps, ≥ 0.
    #[schemars(range(min = 0.0))]
    pub gamma: f64,
    /// Where the smooth dynamics is evaluated.
    pub evaluation: Evaluation,
    /// How positions follow velocities.
    pub variant: Variant,
    /// Where bilateral constraints hold, at velocity level.
    pub bilateral: Bilateral,
    /// The tolerance ε of the forecast \[m\], ≥ 0; a gap that is zero up to round-off counts as closed.
    /// Left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    pub activation_tolerance: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Most corrections in a step, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for MoreauJeanOptions {
    fn default() -> Self {
        Self {
            theta: None,
            rho_inf: None,
            explicit: None,
            forecast: Forecast::default(),
            gamma: 0.5,
            evaluation: Evaluation::default(),
            variant: Variant::default(),
            bilateral: Bilateral::default(),
            activation_tolerance: None,
            tolerance: 1e-10,
            max_iterations: 50,
        }
    }
}

/// θ of a spectral radius at infinite frequency.
fn of_rho(rho_inf: f64) -> f64 {
    1.0 / (1.0 + rho_inf)
}

impl MoreauJeanOptions {
    /// θ, from whichever of `theta` and `rho_inf` is given.
    #[must_use]
    pub fn theta(&self) -> f64 {
        match (self.theta, self.rho_inf) {
            (Some(theta), _) => theta,
            (None, Some(rho)) => of_rho(rho),
            (None, None) => 0.5,
        }
    }

    /// The same options with `theta` written out.
    #[must_use]
    pub fn effective(&self) -> Self {
        Self {
            theta: self.explicit.is_none().then(|| self.theta()),
            ..self.clone()
        }
    }

    /// Weight of the end velocity in the position update.
    pub(super) fn phi(&self) -> f64 {
        match self.variant {
            Variant::Standard => self.theta(),
            Variant::Dissipative => 0.5,
        }
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
        if let (Some(theta), Some(rho)) = (self.theta, self.rho_inf)
            // A summary writes both.
            && (theta - of_rho(rho)).abs() > 1e-12
        {
            return Err(OptionsError::new(
                "theta",
                theta,
                "either `theta` or `rho_inf`, or the value that follows from it",
            ));
        }
        if self.explicit.is_some() {
            self.validate_explicit()?;
        }
        if let Some(theta) = self.theta {
            check(
                "theta",
                theta,
                theta > 0.0 && theta <= 1.0,
                "a number in (0, 1]",
            )?;
        }
        if let Some(rho) = self.rho_inf {
            check(
                "rho_inf",
                rho,
                (0.0..=1.0).contains(&rho),
                "a number in [0, 1]",
            )?;
        }
        check("gamma", self.gamma, self.gamma >= 0.0, "a number ≥ 0")?;
        if let Some(epsilon) = self.activation_tolerance {
            check(
                "activation_tolerance",
                epsilon,
                epsilon >= 0.0,
                "a length ≥ 0 in metres",
            )?;
        }
        check_tolerance(self.tolerance)?;
        check(
            "max_iterations",
            f64::from(self.max_iterations),
            self.max_iterations >= 1,
            "a whole number ≥ 1",
        )
    }

    /// Refuses parameters that the explicit scheme does not have.
    fn validate_explicit(&self) -> Result<(), OptionsError> {
        let usual = Self::default();
        let refused = [
            ("theta", self.theta.is_some()),
            ("rho_inf", self.rho_inf.is_some()),
            ("forecast", self.forecast != usual.forecast),
            ("evaluation", self.evaluation != usual.evaluation),
            ("variant", self.variant != usual.variant),
            ("bilateral", self.bilateral != usual.bilateral),
            (
                "max_iterations",
                self.max_iterations != usual.max_iterations,
            ),
        ];
        match refused.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => {
                let written = serde_json::to_value(self).unwrap_or_default();
                let of = |name| {
                    written
                        .get(name)
                        .map(ToString::to_string)
                        .unwrap_or_default()
                };
                let expected = format!("nothing beside `explicit = {}`", of("explicit"));
                let error = OptionsError::new(option, of(option), &expected);
                Err(error.cure(format!(
                    "the explicit scheme has no `{option}`: leave one of the two out"
                )))
            }
        }
    }
}
