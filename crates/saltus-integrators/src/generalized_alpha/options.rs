//! Parameters of the schemes of the family.

use super::coefficients::{
    Coefficients, DEFAULT_ALPHA, DEFAULT_RHO, GivenCoefficients, Preset, in_range,
};
use super::settings::{
    Formulation, ImpactLocation, Impacts, Inactive, LinearSolve, Prediction, Settings,
};
use crate::scheme::{OptionsError, check_tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which constraints of a smooth system are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SmoothFormulation {
    /// `g = 0` (index 3). The only one with contacts, as `0 ≤ gap ⟂ λ ≥ 0`; it has no impact law, and
    /// a contact that closes injects energy.
    P,
    /// `ġ = 0` (index 2): positions drift.
    V,
    /// `g = 0` and `ġ = 0` (Gear, Gupta, Leimkuhler).
    Pv,
    /// `g = 0`, `ġ = 0` and `g̈ = 0`.
    #[default]
    Pva,
    /// `g̈ = 0` (index 1): positions and velocities drift.
    A,
}

/// How the smooth part of the motion is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NonsmoothFormulation {
    /// Without any constraint (Chen et al. 2013; 2018, strategy 1).
    Unconstrained,
    /// Bilateral constraints at velocity level (Brüls, Acary, Cardona 2014).
    Pvv,
    /// Bilateral constraints and closed contacts at acceleration level (Brüls, Acary, Cardona 2018).
    #[default]
    Pva,
}

/// Parameters of [`GeneralizedAlpha`](super::GeneralizedAlpha).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GeneralizedAlphaOptions {
    /// Which constraints are enforced.
    pub formulation: SmoothFormulation,
    /// Spectral radius at infinite frequency, in [0, 1]; 0.8 unless coefficients are given otherwise.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_inf: Option<f64>,
    /// A named set of coefficients instead of `rho_inf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// `α` of the preset `hht`, in [0, 1/3]; 0.1 where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// `α_m` by hand, in [-1, 1/2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_m: Option<f64>,
    /// `α_f` by hand, in [0, 1/2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_f: Option<f64>,
    /// `β` by hand; `(γ + 1/2)²/4` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// `γ` by hand; `1/2 + α_f − α_m` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Initial accelerations (nv) instead of those that follow from the equations of motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_acceleration: Option<Vec<f64>>,
    /// Where Newton's method starts.
    pub prediction: Prediction,
    /// Activation parameter of contacts \[kg\], > 0; from the mass matrix where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Largest number of Newton corrections of one solve, ≥ 1; a fallback that restarts the solve counts anew.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for GeneralizedAlphaOptions {
    fn default() -> Self {
        Self {
            formulation: SmoothFormulation::default(),
            rho_inf: None,
            preset: None,
            alpha: None,
            alpha_m: None,
            alpha_f: None,
            beta: None,
            gamma: None,
            initial_acceleration: None,
            prediction: Prediction::default(),
            r: None,
            tolerance: 1e-12,
            max_iterations: 50,
        }
    }
}

/// Parameters of [`NonsmoothGeneralizedAlpha`](super::NonsmoothGeneralizedAlpha).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NonsmoothGeneralizedAlphaOptions {
    /// How the smooth part of the motion is defined.
    pub formulation: NonsmoothFormulation,
    /// Of `pva`: which constraints the smooth part satisfies at acceleration level: 1 none, 2 the
    /// bilateral ones, 3 closed contacts too. 3 where left out.
    #[schemars(range(min = 1, max = 3))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<u8>,
    /// Of `pva`: what is zero on a constraint that is not active.
    pub inactive: Inactive,
    /// Of `pva`: when impacts happen.
    pub impacts: Impacts,
    /// Of located impacts: most impacts in a step, ≥ 1; the remainder of a step with more is solved as one piece, without rebounds.
    /// 6 where left out.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_impacts: Option<u32>,
    /// Of located impacts: the shortest flight between two impacts, in steps, in [0, 1]; a rebound that would be shorter is
    /// plastic, which ends impacts that accumulate. 0.25 where left out.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_flight: Option<f64>,
    /// Of `pvv`: the position condition with `ν − hΛ` (2014, eqs. 25, 27), which chatters at rest. For demonstration.
    pub modified_lcp: bool,
    /// Spectral radius at infinite frequency, in [0, 1]; 0.8 unless coefficients are given otherwise.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho_inf: Option<f64>,
    /// A named set of coefficients instead of `rho_inf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// `α` of the preset `hht`, in [0, 1/3]; 0.1 where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// `α_m` by hand, in [-1, 1/2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_m: Option<f64>,
    /// `α_f` by hand, in [0, 1/2].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_f: Option<f64>,
    /// `β` by hand; `(γ + 1/2)²/4` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// `γ` by hand; `1/2 + α_f − α_m` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Initial accelerations (nv) instead of those that follow from the equations of motion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_acceleration: Option<Vec<f64>>,
    /// How the linear system of a correction is solved.
    pub linear_solve: LinearSolve,
    /// Where Newton's method starts.
    pub prediction: Prediction,
    /// Activation parameter of contacts \[kg\], > 0; from the mass matrix where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Largest number of Newton corrections of one solve, ≥ 1; a fallback that restarts the solve counts anew.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for NonsmoothGeneralizedAlphaOptions {
    fn default() -> Self {
        Self {
            formulation: NonsmoothFormulation::default(),
            strategy: None,
            inactive: Inactive::default(),
            impacts: Impacts::default(),
            max_impacts: None,
            shortest_flight: None,
            modified_lcp: false,
            rho_inf: None,
            preset: None,
            alpha: None,
            alpha_m: None,
            alpha_f: None,
            beta: None,
            gamma: None,
            initial_acceleration: None,
            linear_solve: LinearSolve::default(),
            prediction: Prediction::default(),
            r: None,
            tolerance: 1e-12,
            max_iterations: 50,
        }
    }
}

/// Parameters of [`NonsmoothNewmark`](super::NonsmoothNewmark).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NonsmoothNewmarkOptions {
    /// `γ`, in [1/2, 2]; dissipative for `2β ≥ γ ≥ 1/2`.
    pub gamma: f64,
    /// `β`; `(γ + 1/2)²/4` where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Largest number of Newton corrections of one solve, ≥ 1; a fallback that restarts the solve counts anew.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for NonsmoothNewmarkOptions {
    fn default() -> Self {
        Self {
            gamma: 0.5,
            beta: None,
            tolerance: 1e-12,
            max_iterations: 50,
        }
    }
}

/// Parameters of [`NonsmoothHht`](super::NonsmoothHht).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NonsmoothHhtOptions {
    /// `α`, in [0, 1/3]: `γ = 1/2 + α`, `β = (1 + α)²/4`.
    pub alpha: f64,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Largest number of Newton corrections of one solve, ≥ 1; a fallback that restarts the solve counts anew.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for NonsmoothHhtOptions {
    fn default() -> Self {
        Self {
            alpha: 0.1,
            tolerance: 1e-12,
            max_iterations: 50,
        }
    }
}

/// Checks the options that all schemes of the family have.
fn check_common(tolerance: f64, max_iterations: u32, r: Option<f64>) -> Result<(), OptionsError> {
    check_tolerance(tolerance)?;
    if max_iterations == 0 {
        return Err(OptionsError::new(
            "max_iterations",
            0.0,
            "a whole number ≥ 1",
        ));
    }
    match r {
        Some(r) if !(r > 0.0 && r.is_finite()) => {
            Err(OptionsError::new("r", r, "a number > 0 in kilograms"))
        }
        _ => Ok(()),
    }
}

/// Methods of the options that contain the coefficients of the family.
macro_rules! coefficients_of {
    ($options:ty, $visibility:vis $written:ident) => {
        impl $options {
            /// The coefficients that follow from the parameters.
            ///
            /// # Errors
            /// The first parameter out of range.
            pub fn coefficients(&self) -> Result<Coefficients, OptionsError> {
                self.given().resolve()
            }

            fn given(&self) -> GivenCoefficients {
                GivenCoefficients {
                    rho_inf: self.rho_inf,
                    preset: self.preset,
                    alpha: self.alpha,
                    alpha_m: self.alpha_m,
                    alpha_f: self.alpha_f,
                    beta: self.beta,
                    gamma: self.gamma,
                }
            }

            /// The same options with every coefficient written out, where they are in range.
            #[must_use]
            $visibility fn $written(&self) -> Self {
                let Ok(c) = self.coefficients() else {
                    return self.clone();
                };
                let hht = self.preset == Some(Preset::Hht);
                Self {
                    rho_inf: self.rho_inf.or(self.given().is_default().then_some(DEFAULT_RHO)),
                    alpha: self.alpha.or(hht.then_some(DEFAULT_ALPHA)),
                    alpha_m: Some(c.alpha_m),
                    alpha_f: Some(c.alpha_f),
                    beta: Some(c.beta),
                    gamma: Some(c.gamma),
                    ..self.clone()
                }
            }
        }
    };
}

/// `validate` of the options of every scheme of the family.
macro_rules! validated {
    ($($options:ty),+) => {
        $(impl $options {
            /// Checks every parameter.
            ///
            /// # Errors
            /// The first one out of range.
            pub fn validate(&self) -> Result<(), OptionsError> {
                self.settings().map(|_| ())
            }
        })+
    };
}

validated!(
    GeneralizedAlphaOptions,
    NonsmoothGeneralizedAlphaOptions,
    NonsmoothNewmarkOptions,
    NonsmoothHhtOptions
);
coefficients_of!(GeneralizedAlphaOptions, pub effective);
coefficients_of!(NonsmoothGeneralizedAlphaOptions, with_coefficients);

impl GeneralizedAlphaOptions {
    pub(super) fn settings(&self) -> Result<Settings, OptionsError> {
        check_common(self.tolerance, self.max_iterations, self.r)?;
        let formulation = match self.formulation {
            SmoothFormulation::P => Formulation::Position,
            SmoothFormulation::V => Formulation::Velocity,
            SmoothFormulation::A => Formulation::Acceleration,
            SmoothFormulation::Pv => Formulation::Pvv,
            SmoothFormulation::Pva => Formulation::Pva(2),
        };
        Ok(Settings {
            scheme: "generalized-alpha",
            formulation,
            refuses_contacts: formulation != Formulation::Position,
            coefficients: self.coefficients()?,
            inactive: Inactive::Star,
            location: None,
            modified: false,
            linear_solve: LinearSolve::Auto,
            prediction: self.prediction,
            r: self.r,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            initial_acceleration: self.initial_acceleration.clone(),
        })
    }
}

/// Default strategy of `pva`.
const STRATEGY: u8 = 3;
/// Default of the largest number of impacts in a step.
const MAX_IMPACTS: u32 = 6;
/// Default of the shortest flight, in steps.
const SHORTEST_FLIGHT: f64 = 0.25;

impl NonsmoothGeneralizedAlphaOptions {
    /// The same options with every parameter that follows from others or is left out written out, where they are in range.
    #[must_use]
    pub fn effective(&self) -> Self {
        let located = self.impacts == Impacts::Located;
        let pva = self.formulation == NonsmoothFormulation::Pva;
        Self {
            max_impacts: self.max_impacts.or(located.then_some(MAX_IMPACTS)),
            shortest_flight: self.shortest_flight.or(located.then_some(SHORTEST_FLIGHT)),
            strategy: self.strategy.or(pva.then_some(STRATEGY)),
            ..self.with_coefficients()
        }
    }

    /// How impacts are located, where they are.
    fn location(&self) -> Result<Option<ImpactLocation>, OptionsError> {
        if self.impacts == Impacts::Captured {
            let given = [
                ("max_impacts", self.max_impacts.map(f64::from)),
                ("shortest_flight", self.shortest_flight),
            ];
            for (option, value) in given {
                if let Some(value) = value {
                    let expected = "no such option unless `impacts` is \"located\"";
                    let error = OptionsError::new(option, value, expected);
                    return Err(error.cure("remove it, or write `impacts = \"located\"`"));
                }
            }
            return Ok(None);
        }
        let refused = |option, value: &dyn std::fmt::Display, expected, cure: &str| {
            Err(OptionsError::new(option, value, expected).cure(cure))
        };
        if self.formulation != NonsmoothFormulation::Pva {
            return refused(
                "impacts",
                &"\"located\"",
                "\"captured\" unless `formulation` is `pva`",
                "remove `formulation`, whose default it is, or `impacts`",
            );
        }
        if let Some(strategy @ 1..=2) = self.strategy {
            return refused(
                "strategy",
                &strategy,
                "3 where `impacts` is \"located\"",
                "remove it: closed contacts must be part of the smooth motion",
            );
        }
        if self.inactive == Inactive::Literal {
            return refused(
                "inactive",
                &"\"literal\"",
                "\"star\" where `impacts` is \"located\"",
                "remove it: an open contact must not carry anything",
            );
        }
        let max_impacts = self.max_impacts.unwrap_or(MAX_IMPACTS);
        if max_impacts == 0 {
            return refused(
                "max_impacts",
                &0,
                "a whole number ≥ 1",
                "write `impacts = \"captured\"` to locate none",
            );
        }
        let shortest_flight = self.shortest_flight.unwrap_or(SHORTEST_FLIGHT);
        in_range(
            "shortest_flight",
            shortest_flight,
            0.0,
            1.0,
            "a number in [0, 1]",
        )?;
        Ok(Some(ImpactLocation {
            max_impacts,
            shortest_flight,
        }))
    }

    pub(super) fn settings(&self) -> Result<Settings, OptionsError> {
        check_common(self.tolerance, self.max_iterations, self.r)?;
        let pva = self.formulation == NonsmoothFormulation::Pva;
        if let Some(strategy) = self.strategy {
            let strategy = f64::from(strategy);
            in_range("strategy", strategy, 1.0, 3.0, "1, 2 or 3")?;
            if !pva {
                let expected = "no such option unless `formulation` is `pva`";
                let error = OptionsError::new("strategy", strategy, expected);
                return Err(error.cure(
                    "remove it, or from the command line replace the whole scheme, as with \
                     --set 'simulation.scheme={ name = \"nonsmooth-generalized-alpha\", formulation = \"pvv\" }'",
                ));
            }
        }
        if self.modified_lcp && self.formulation != NonsmoothFormulation::Pvv {
            let expected = "false unless `formulation` is `pvv`";
            return Err(OptionsError::new("modified_lcp", true, expected));
        }
        if self.inactive == Inactive::Literal && self.formulation == NonsmoothFormulation::Pvv {
            let expected = "\"star\" unless `formulation` is `pva` or `unconstrained`";
            return Err(OptionsError::new("inactive", "\"literal\"", expected));
        }
        let formulation = match self.formulation {
            NonsmoothFormulation::Unconstrained => Formulation::Pva(1),
            NonsmoothFormulation::Pvv => Formulation::Pvv,
            NonsmoothFormulation::Pva => Formulation::Pva(self.strategy.unwrap_or(STRATEGY)),
        };
        Ok(Settings {
            scheme: "nonsmooth-generalized-alpha",
            formulation,
            refuses_contacts: false,
            coefficients: self.coefficients()?,
            inactive: self.inactive,
            location: self.location()?,
            modified: self.modified_lcp,
            linear_solve: self.linear_solve,
            prediction: self.prediction,
            r: self.r,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            initial_acceleration: self.initial_acceleration.clone(),
        })
    }
}

/// Settings of the two half-step-jump schemes.
fn half_step(
    scheme: &'static str,
    coefficients: Coefficients,
    tolerance: f64,
    max_iterations: u32,
) -> Settings {
    Settings {
        scheme,
        formulation: Formulation::HalfStep,
        refuses_contacts: false,
        coefficients,
        inactive: Inactive::Star,
        location: None,
        modified: false,
        linear_solve: LinearSolve::Auto,
        prediction: Prediction::Last,
        r: None,
        tolerance,
        max_iterations,
        initial_acceleration: None,
    }
}

impl NonsmoothNewmarkOptions {
    /// The same options with `beta` written out.
    #[must_use]
    pub fn effective(&self) -> Self {
        let beta = self.coefficients().map_or(self.beta, |c| Some(c.beta));
        Self {
            beta,
            ..self.clone()
        }
    }

    /// The coefficients that follow from the parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn coefficients(&self) -> Result<Coefficients, OptionsError> {
        in_range("gamma", self.gamma, 0.5, 2.0, "a number in [1/2, 2]")?;
        let given = GivenCoefficients {
            gamma: Some(self.gamma),
            beta: self.beta,
            ..GivenCoefficients::default()
        };
        given.resolve()
    }

    pub(super) fn settings(&self) -> Result<Settings, OptionsError> {
        check_common(self.tolerance, self.max_iterations, None)?;
        let c = self.coefficients()?;
        Ok(half_step(
            "nonsmooth-newmark",
            c,
            self.tolerance,
            self.max_iterations,
        ))
    }
}

impl NonsmoothHhtOptions {
    /// The coefficients that follow from the parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn coefficients(&self) -> Result<Coefficients, OptionsError> {
        let given = GivenCoefficients {
            preset: Some(Preset::Hht),
            alpha: Some(self.alpha),
            ..GivenCoefficients::default()
        };
        given.resolve()
    }

    pub(super) fn settings(&self) -> Result<Settings, OptionsError> {
        check_common(self.tolerance, self.max_iterations, None)?;
        let c = self.coefficients()?;
        Ok(half_step(
            "nonsmooth-hht",
            c,
            self.tolerance,
            self.max_iterations,
        ))
    }
}
