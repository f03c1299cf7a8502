//! Settings of a step, common to all schemes of the family.

use super::coefficients::Coefficients;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the linear system of a Newton correction is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinearSolve {
    /// `Condensed`; both solve the monolithic system instead where a block is singular.
    #[default]
    Auto,
    /// Smooth motion, positions and velocities one after the other (2014, Algorithm 1): the cheapest
    /// correction, but it converges slowly or not at all where contacts are stiff.
    Sequential,
    /// All unknowns at once (2014, eq. 44).
    Monolithic,
    /// The same correction with motion eliminated first and the multipliers solved for last.
    Condensed,
}

/// Where Newton's method starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prediction {
    /// `v̇ = 0`, `λ = 0`, as in the papers.
    #[default]
    Zero,
    /// `v̇` and `λ` of the last step.
    Last,
}

/// When impacts happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Impacts {
    /// At the end of the step in which a contact closes.
    #[default]
    Captured,
    /// At the instant inside the step at which a gap closes: order 2 across isolated impacts.
    Located,
}

/// What is zero on a constraint that is not active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inactive {
    /// The total impulses `Λ*` and `ν*`: an open contact carries nothing.
    #[default]
    Star,
    /// The parts `Λ` and `ν`, as printed (2018, eqs. 65f, 65i): an open contact keeps an impulse from the
    /// filter history, energy is injected, and there are steps without a solution.
    Literal,
}

/// The equations of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formulation {
    /// Smooth, `g = 0`.
    Position,
    /// Smooth, `ġ = 0`.
    Velocity,
    /// Smooth, `g̈ = 0`.
    Acceleration,
    /// Smooth motion constrained at velocity level, positions and velocities exact.
    Pvv,
    /// Smooth motion constrained at acceleration level on the set of the strategy (1, 2, 3).
    Pva(u8),
    /// One velocity jump `W` per step; positions are corrected by `(h/2) W`.
    HalfStep,
}

/// The level at which the multipliers `λ` of the smooth motion enforce constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SmoothLevel {
    Position,
    Velocity,
    Acceleration,
}

impl Formulation {
    /// The level that `λ` enforces; `None` without `λ`.
    pub(super) fn smooth_level(self) -> Option<SmoothLevel> {
        match self {
            Self::Position => Some(SmoothLevel::Position),
            Self::Velocity | Self::Pvv => Some(SmoothLevel::Velocity),
            Self::Acceleration | Self::Pva(2 | 3) => Some(SmoothLevel::Acceleration),
            Self::Pva(_) | Self::HalfStep => None,
        }
    }

    /// Whether a step has jumps `W` and impulses `Λ`.
    pub(super) fn has_jumps(self) -> bool {
        matches!(self, Self::Pvv | Self::Pva(_) | Self::HalfStep)
    }

    /// Whether a step has position corrections `U` and their multipliers `ν`.
    pub(super) fn has_corrections(self) -> bool {
        matches!(self, Self::Pvv | Self::Pva(_))
    }

    /// Whether the total impulses include the filtered `λ`.
    pub(super) fn filters_multipliers(self) -> bool {
        matches!(self, Self::Pva(_))
    }

    /// Whether contacts can be closed.
    pub(super) fn has_contacts(self) -> bool {
        self.has_jumps() || self == Self::Position
    }
}

/// How impacts are located inside a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ImpactLocation {
    /// Largest number of impacts in a step, each of any number of contacts; the remainder of a step with more is plastic.
    pub(super) max_impacts: u32,
    /// A rebound whose flight takes less than this fraction of a step is plastic.
    pub(super) shortest_flight: f64,
}

/// Parameters of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) scheme: &'static str,
    pub(super) formulation: Formulation,
    /// Whether contacts are refused although the equations would allow them.
    pub(super) refuses_contacts: bool,
    pub(super) coefficients: Coefficients,
    pub(super) inactive: Inactive,
    /// How impacts are located; `None` where they are captured.
    pub(super) location: Option<ImpactLocation>,
    /// The variant of the position condition with `ν − hΛ` (2014, eqs. 25, 27).
    pub(super) modified: bool,
    pub(super) linear_solve: LinearSolve,
    pub(super) prediction: Prediction,
    /// Activation parameter of every contact \[kg\]; computed from the mass matrix where it is left out.
    pub(super) r: Option<f64>,
    pub(super) tolerance: f64,
    pub(super) max_iterations: u32,
    pub(super) initial_acceleration: Option<Vec<f64>>,
}
