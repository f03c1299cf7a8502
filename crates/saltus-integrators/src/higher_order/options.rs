//! Parameters of the higher-order schemes.

use super::tableaux::Tableau;
use crate::kit::{Step, largest_step};
use crate::scheme::{OptionsError, check_tolerance};
use saltus_system::{State, System};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Runge–Kutta method between events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Implicit midpoint rule, the method of Gauss of one stage: order 2, keeps the energy of linear systems.
    Gauss,
    /// Radau IIA of two stages: implicit, order 3, damps what is stiff.
    Radau3,
    /// Radau IIA of three stages: implicit, order 5, damps what is stiff.
    #[default]
    Radau5,
    /// Explicit midpoint rule: order 2.
    Midpoint,
    /// Kutta's method: explicit, order 3.
    Kutta3,
    /// The classical Runge–Kutta method: explicit, order 4.
    Rk4,
    /// The method of Dormand and Prince: explicit, order 5.
    Dopri5,
}

/// Parameters of [`HigherOrder`](super::HigherOrder).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HigherOrderOptions {
    /// The Runge–Kutta method between events.
    pub method: Method,
    /// `C` in the width `C h^{p+1}` to which the time of an event is bracketed \[s\] (`h` in seconds, `p` the order of the method), > 0.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub bracket: f64,
    /// Exponent of `h` in the width of the bracket, ≥ 1. Left out: `p + 1`, which keeps the order; less loses it.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bracket_exponent: Option<u32>,
    /// Whether a contact that leaves an impact so slowly that it would be back within the bracket is closed. Without it every impact of an
    /// accumulation is passed until the width of the bracket ends them.
    pub rest_rule: bool,
    /// Most events in a step, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_events: u32,
    /// A gap below this counts as closed \[m\], ≥ 0. Left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    pub activation_tolerance: Option<f64>,
    /// Tolerance of the stage equations, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Most corrections of the stages, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for HigherOrderOptions {
    fn default() -> Self {
        Self {
            method: Method::default(),
            bracket: 1e-3,
            bracket_exponent: None,
            rest_rule: true,
            max_events: 10_000,
            activation_tolerance: None,
            tolerance: 1e-12,
            max_iterations: 50,
        }
    }
}

/// What an explicit method may add to an undamped vibration in a step: that of Dormand and Prince is unstable for all of them, by less
/// than this up to `ω h = 0.99`.
const GROWTH: f64 = 1.0 + 1e-4;

impl HigherOrderOptions {
    /// Largest step \[s\] that is stable about `state`, the start of `step`; `None` of implicit methods and where nothing vibrates and
    /// nothing is damped.
    pub(super) fn stable_step(
        &self,
        system: &dyn System,
        state: &State,
        step: &Step,
    ) -> Option<f64> {
        let tableau = self.tableau();
        tableau.is_explicit.then_some(())?;
        largest_step(system, state, step, |mode| {
            let weights = |l: usize| {
                if l < tableau.stages() {
                    &tableau.a(l)[..l]
                } else {
                    tableau.b()
                }
            };
            mode.runge_kutta_limit(GROWTH, tableau.stages(), weights)
        })
    }

    pub(super) fn tableau(&self) -> Tableau {
        match self.method {
            Method::Gauss => Tableau::gauss(),
            Method::Radau3 => Tableau::radau3(),
            Method::Radau5 => Tableau::radau5(),
            Method::Midpoint => Tableau::midpoint(),
            Method::Kutta3 => Tableau::kutta3(),
            Method::Rk4 => Tableau::rk4(),
            Method::Dopri5 => Tableau::dopri5(),
        }
    }

    /// Width to which events are bracketed in a step of length `h` about the time `t` \[s\].
    pub(super) fn width(&self, order: u32, h: f64, t: f64) -> f64 {
        let exponent = f64::from(self.bracket_exponent.unwrap_or(order + 1));
        let round_off = 8e-16 * h.max(t.abs());
        (self.bracket * h.powf(exponent)).min(h).max(round_off)
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let count = |option, value: u32| {
            if value >= 1 {
                Ok(())
            } else {
                Err(OptionsError::new(option, value, "a whole number ≥ 1"))
            }
        };
        if !(self.bracket > 0.0 && self.bracket.is_finite()) {
            return Err(OptionsError::new("bracket", self.bracket, "a number > 0"));
        }
        count("bracket_exponent", self.bracket_exponent.unwrap_or(1))?;
        count("max_events", self.max_events)?;
        if let Some(epsilon) = self.activation_tolerance
            && !(epsilon >= 0.0 && epsilon.is_finite())
        {
            return Err(OptionsError::new(
                "activation_tolerance",
                epsilon,
                "a length ≥ 0 in metres",
            ));
        }
        count("max_iterations", self.max_iterations)?;
        check_tolerance(self.tolerance)
    }
}
