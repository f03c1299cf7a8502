//! Parameters of the half-explicit schemes.

use super::tableaux::Tableau;
use crate::kit::{Mode, Step, largest_step};
use crate::scheme::{OptionsError, check_tolerance};
use saltus_system::{State, System};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which half-explicit scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Trapezoidal rule with constraints and contacts at velocity level, friction included: order 2 between impacts.
    #[default]
    Trapezoidal,
    /// Trapezoidal rule with constraints and contacts at acceleration level, without friction: order 2 between impacts, drifts more.
    Acceleration,
    /// The trapezoidal rule at velocity level with steps of a tenth where a contact is about to close.
    Reduced,
    /// Heun's method, order 2: weakly unstable without damping.
    Hetr,
    /// The method of order 3 of Brasey and Hairer.
    Hem3,
    /// The method of order 4 of Brasey and Hairer.
    Hem4,
    /// The Runge–Kutta method of `tableau`.
    Tableau,
}

/// Growth of a vibration in a step that is round-off.
const GROWTH: f64 = 1.0 + 1e-9;

/// Coefficients of an explicit Runge–Kutta method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ButcherTableau {
    /// Weights of the stages before it in the second, third, … stage: rows of 1, 2, … numbers, the last of each > 0.
    pub a: Vec<Vec<f64>>,
    /// Weights of the stages in the end of the step, the last > 0; their sum is 1.
    pub b: Vec<f64>,
    /// The order the coefficients should have on smooth motion with constraints and contacts, 1 to 4; checked before anything runs.
    #[schemars(range(min = 1, max = 4))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<u32>,
}

/// Parameters of the half-explicit schemes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HalfExplicitOptions {
    /// Which half-explicit scheme.
    pub method: Method,
    /// Coefficients for `method = "tableau"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tableau: Option<ButcherTableau>,
    /// With `method = "reduced"`: a step in which a contact closes that was open and not predicted to close is taken again as an impact.
    pub retest: bool,
    /// With `method = "reduced"`: length of the steps in which a contact closes, as a share of the step, in (0, 1].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1.0))]
    pub reduction: f64,
    /// A gap below this counts as closed \[m\], ≥ 0. Left out: 1e-12 of the length scale of the model.
    #[schemars(range(min = 0.0))]
    pub activation_tolerance: Option<f64>,
    /// How far a step may be from its laws, relative to the scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
}

impl Default for HalfExplicitOptions {
    fn default() -> Self {
        Self {
            method: Method::default(),
            tableau: None,
            retest: true,
            reduction: 0.1,
            activation_tolerance: None,
            tolerance: 1e-10,
        }
    }
}

impl HalfExplicitOptions {
    /// Whether the method solves friction.
    #[must_use]
    pub fn solves_friction(&self) -> bool {
        self.method != Method::Acceleration
    }

    /// Largest stable step \[s\] about the start of `step`; `None` where nothing vibrates and nothing is damped.
    pub(super) fn largest_step(
        &self,
        system: &dyn System,
        state: &State,
        step: &Step,
    ) -> Option<f64> {
        let tableau = self.tableau();
        largest_step(system, state, step, |mode: Mode| match &tableau {
            None => mode.verlet_limit(),
            Some(tableau) => mode.runge_kutta_limit(GROWTH, tableau.stages(), |l| tableau.stage(l)),
        })
    }

    /// The Runge–Kutta method, where it is one.
    pub(super) fn tableau(&self) -> Option<Tableau> {
        match self.method {
            Method::Trapezoidal | Method::Acceleration | Method::Reduced => None,
            Method::Hetr => Some(Tableau::hetr()),
            Method::Hem3 => Some(Tableau::hem3()),
            Method::Hem4 => Some(Tableau::hem4()),
            Method::Tableau => {
                let given = self.tableau.as_ref();
                given.map(|t| Tableau::new(&t.a, &t.b))
            }
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        match (self.method, &self.tableau) {
            (Method::Tableau, None) => {
                return Err(OptionsError::new(
                    "method",
                    "tableau",
                    "the coefficients of the method in `tableau = { a = [[…], …], b = […] }`",
                ));
            }
            (Method::Tableau, Some(given)) => {
                Tableau::new(&given.a, &given.b).validate(given.order)?;
            }
            (_, Some(_)) => {
                return Err(OptionsError::new(
                    "tableau",
                    "given",
                    "`method = \"tableau\"` beside it",
                )
                .cure("set the method, or leave `tableau` out"));
            }
            (_, None) => {}
        }
        let default = Self::default();
        if self.method != Method::Reduced {
            for (option, is_given) in [
                ("reduction", self.reduction != default.reduction),
                ("retest", self.retest != default.retest),
            ] {
                if is_given {
                    return Err(OptionsError::new(
                        option,
                        "given",
                        "`method = \"reduced\"` beside it",
                    )
                    .cure(format!("set the method, or leave `{option}` out")));
                }
            }
        }
        if !(self.reduction > 0.0 && self.reduction <= 1.0) {
            return Err(OptionsError::new(
                "reduction",
                self.reduction,
                "a number in (0, 1]",
            ));
        }
        if let Some(epsilon) = self.activation_tolerance
            && !(epsilon >= 0.0 && epsilon.is_finite())
        {
            return Err(OptionsError::new(
                "activation_tolerance",
                epsilon,
                "a length ≥ 0 in metres",
            ));
        }
        check_tolerance(self.tolerance)
    }
}
