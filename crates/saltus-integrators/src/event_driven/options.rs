//! Parameters of the event-driven scheme.

use crate::scheme::{OptionsError, check_tolerance};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How impacts change velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImpactLaw {
    /// Newton's law for all closed contacts at once, with Coulomb's law: `0 ≤ u⁺ + e u⁻ ⟂ P ≥ 0`.
    #[default]
    Newton,
    /// Poisson's law without friction: compression to rest, then at least `e` times its impulse.
    Poisson,
    /// Newton's law contact by contact, the fastest approach first, until nothing approaches.
    Sequential,
    /// Energy stored and released by every contact, without friction: waves run through chains (Liu, Zhao, Brogliato 2008).
    Energetic,
}

/// What is done where impacts accumulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulation {
    /// The contact closes: its restitution is 0 in the impact below `v_acc`.
    #[default]
    Guard,
    /// Moreau–Jean steps of `time_step` until the contact rests.
    TimeStepping,
}

/// Parameters of [`EventDriven`](super::EventDriven).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventDrivenOptions {
    /// How impacts change velocities.
    pub impact_law: ImpactLaw,
    /// What is done where impacts accumulate.
    pub accumulation: Accumulation,
    /// Approach speed below which an impact of a contact that is pressed together counts as the end of an accumulation [m/s], ≥ 0.
    /// Left out: 1e-7 (100 `rtol`, if that is more) of the speeds of the motion; 0: no guard.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v_acc: Option<f64>,
    /// With `accumulation = "time-stepping"`: step of the Moreau–Jean scheme \[s\], > 0. Left out: the time of a flight that begins with
    /// `v_acc`.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_step: Option<f64>,
    /// Whether the smooth motion is stiff: integrated by an implicit method of order 5, whose steps do not follow the fastest
    /// decay, instead of an explicit one of order 8.
    pub stiff: bool,
    /// Error of a step of the smooth motion, relative to positions and velocities, in (0, 1e-3].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1e-3))]
    pub rtol: f64,
    /// The same, absolute [m, m/s], ≥ 0. Left out: a hundredth of `rtol` times the largest coordinate.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
    /// Most events between two outputs, ≥ 1; more of them are an error that names the contact.
    #[schemars(range(min = 1))]
    pub max_events: u32,
    /// With `impact_law = "energetic"`: exponent `η` of the contact stiffness `F = K δ^η`, 1 (linear) to 3; 1.5 for spheres.
    #[schemars(range(min = 1.0, max = 3.0))]
    pub exponent: f64,
    /// With `impact_law = "energetic"`: stiffness `K` of each contact, in their order, of which only ratios count. Left out: all equal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stiffness: Vec<f64>,
    /// How far a step may be from its laws, relative to the scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
}

impl Default for EventDrivenOptions {
    fn default() -> Self {
        Self {
            impact_law: ImpactLaw::default(),
            accumulation: Accumulation::default(),
            v_acc: None,
            time_step: None,
            stiff: false,
            rtol: 1e-11,
            atol: None,
            max_events: 10_000,
            exponent: 1.5,
            stiffness: Vec::new(),
            tolerance: 1e-10,
        }
    }
}

impl EventDrivenOptions {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        check_tolerance(self.tolerance)?;
        if !(self.rtol > 0.0 && self.rtol <= 1e-3) {
            return Err(OptionsError::new(
                "rtol",
                self.rtol,
                "a number in (0, 0.001]",
            ));
        }
        for (name, value) in [("atol", self.atol), ("v_acc", self.v_acc)] {
            if let Some(x) = value
                && !(x >= 0.0 && x.is_finite())
            {
                return Err(
                    OptionsError::new(name, x, "a number ≥ 0").cure("leave it out for the default")
                );
            }
        }
        if self.max_events == 0 {
            return Err(OptionsError::new(
                "max_events",
                0,
                "a whole number of at least 1",
            ));
        }
        self.validate_accumulation()?;
        self.validate_energetic()
    }

    fn validate_accumulation(&self) -> Result<(), OptionsError> {
        let Some(h) = self.time_step else {
            return if self.accumulation == Accumulation::TimeStepping && self.v_acc == Some(0.0) {
                Err(OptionsError::new(
                    "v_acc",
                    0,
                    "a speed > 0 with accumulation = \"time-stepping\"",
                )
                .cure("it says when to pass to time-stepping"))
            } else {
                Ok(())
            };
        };
        if !(h > 0.0 && h.is_finite()) {
            return Err(OptionsError::new("time_step", h, "a time > 0 in seconds"));
        }
        if self.accumulation != Accumulation::TimeStepping {
            return Err(OptionsError::new(
                "time_step",
                h,
                "`accumulation = \"time-stepping\"` beside it",
            )
            .cure("set it, or leave `time_step` out"));
        }
        Ok(())
    }

    fn validate_energetic(&self) -> Result<(), OptionsError> {
        if !(self.exponent >= 1.0 && self.exponent <= 3.0) {
            return Err(OptionsError::new(
                "exponent",
                self.exponent,
                "a number in [1, 3]",
            ));
        }
        if let Some(k) = self
            .stiffness
            .iter()
            .find(|k| !(**k > 0.0 && k.is_finite()))
        {
            return Err(OptionsError::new("stiffness", k, "numbers > 0"));
        }
        if self.impact_law == ImpactLaw::Energetic {
            return Ok(());
        }
        let beside = "`impact_law = \"energetic\"` beside it";
        if !self.stiffness.is_empty() {
            return Err(OptionsError::new("stiffness", "given", beside)
                .cure("set the law, or leave `stiffness` out"));
        }
        if self.exponent != Self::default().exponent {
            return Err(OptionsError::new("exponent", self.exponent, beside)
                .cure("set the law, or leave `exponent` out"));
        }
        Ok(())
    }
}
