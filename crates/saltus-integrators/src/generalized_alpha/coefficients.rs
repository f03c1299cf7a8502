//! The coefficients of the generalized-α family.

use crate::scheme::OptionsError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named set of coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// `α_m = α_f = 0`, `γ = 1/2`, `β = (γ + 1/2)²/4`: the trapezoidal rule unless `gamma` or `beta` is given.
    Newmark,
    /// `α_m = 0`, `α_f = alpha`, `γ = 1/2 + alpha`, `β = (1 + alpha)²/4` (Hilber, Hughes, Taylor).
    Hht,
}

/// Weights of one step: `(1−α_m) a_{n+1} + α_m a_n = (1−α_f) v̇_{n+1} + α_f v̇_n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// `α_m`.
    pub alpha_m: f64,
    /// `α_f`.
    pub alpha_f: f64,
    /// `β`.
    pub beta: f64,
    /// `γ`.
    pub gamma: f64,
}

impl Coefficients {
    /// The second-order set with spectral radius `rho_inf` in [0, 1] at infinite frequency
    /// (Chung and Hulbert 1993; Brüls, Acary, Cardona 2014, eq. 31).
    #[must_use]
    pub fn from_rho(rho_inf: f64) -> Self {
        let alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0);
        let alpha_f = rho_inf / (rho_inf + 1.0);
        Self::second_order(alpha_m, alpha_f)
    }

    /// `γ` and `β` that make given `α` of second order, with the largest damping of high frequencies.
    fn second_order(alpha_m: f64, alpha_f: f64) -> Self {
        let gamma = 0.5 + alpha_f - alpha_m;
        Self {
            alpha_m,
            alpha_f,
            beta: 0.25 * (gamma + 0.5).powi(2),
            gamma,
        }
    }

    /// Why undamped oscillations of some frequency `ω` grow without bound, by the Hurwitz criterion of the characteristic polynomial
    /// `(z−1)² A(z) + (hω)² F(z) [(z−1)(½−β+βz) + 1−γ+γz]` with `A = (1−α_m) z + α_m`, `F = (1−α_f) z + α_f`; `None` where none does.
    /// With the `γ` of second order these are the limits `α_m ≤ α_f ≤ ½`, `β ≥ ¼ + (α_f − α_m)/2` of Chung and Hulbert.
    #[must_use]
    pub fn instability(&self) -> Option<String> {
        // Coefficients written with few digits pass in spite of the rounding of sums.
        let below = |x: f64, least: f64| x < least - 1e-9;
        let shown = |x: f64| format!("{x:.5e}").parse().unwrap_or(x);
        let Self {
            alpha_m,
            alpha_f,
            beta,
            gamma,
        } = *self;
        let second_order = 0.5 + alpha_f - alpha_m;
        if below(gamma, second_order) {
            return Some(format!(
                "gamma = {} is below 1/2 + alpha_f - alpha_m = {}: all oscillations grow",
                shown(gamma),
                shown(second_order)
            ));
        }
        if below(gamma, 0.5) {
            return Some(format!(
                "gamma = {} is below 1/2, with alpha_m = {} and alpha_f = {}: oscillations that are fast for the step grow",
                shown(gamma),
                shown(alpha_m),
                shown(alpha_f)
            ));
        }
        below(2.0 * beta, gamma).then(|| {
            format!(
                "beta = {} is below gamma/2 = {}: oscillations that are fast for the step grow",
                shown(beta),
                shown(0.5 * gamma)
            )
        })
    }

    /// `c_a = ∂a/∂v̇ = (1−α_f)/(1−α_m)`.
    #[must_use]
    pub fn c_a(&self) -> f64 {
        (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
    }

    /// Weights of `x_n` and `y_n` in `x_{n+1} = c_a y_{n+1} + …`.
    #[inline]
    pub(super) fn history_weights(&self) -> HistoryWeights {
        let factor = 1.0 / (1.0 - self.alpha_m);
        HistoryWeights {
            x: -self.alpha_m * factor,
            y: self.alpha_f * factor,
        }
    }

    /// `(1−γ) x_n + γ x_{n+1}`, the weights of accelerations in a change of velocity (Newmark).
    #[inline]
    pub(super) fn newmark_velocity(&self, x: f64, x_end: f64) -> f64 {
        (1.0 - self.gamma) * x + self.gamma * x_end
    }

    /// `(1/2−β) x_n + β x_{n+1}`, the weights of accelerations in a change of position (Newmark).
    #[inline]
    pub(super) fn newmark_position(&self, x: f64, x_end: f64) -> f64 {
        (0.5 - self.beta) * x + self.beta * x_end
    }
}

/// Weights of `x_n` and `y_n` in the recursion `(1−α_m) x_{n+1} + α_m x_n = (1−α_f) y_{n+1} + α_f y_n`, solved for `x_{n+1}`.
#[derive(Debug, Clone, Copy)]
pub(super) struct HistoryWeights {
    x: f64,
    y: f64,
}

impl HistoryWeights {
    #[inline]
    pub(super) fn of(self, x: f64, y: f64) -> f64 {
        self.y * y + self.x * x
    }
}

/// Coefficients as written in a model file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GivenCoefficients {
    pub(super) rho_inf: Option<f64>,
    pub(super) preset: Option<Preset>,
    pub(super) alpha: Option<f64>,
    pub(super) alpha_m: Option<f64>,
    pub(super) alpha_f: Option<f64>,
    pub(super) beta: Option<f64>,
    pub(super) gamma: Option<f64>,
}

/// Default of the spectral radius at infinity.
pub(super) const DEFAULT_RHO: f64 = 0.8;
/// Default of `α` of the preset `hht`.
pub(super) const DEFAULT_ALPHA: f64 = 0.1;

impl GivenCoefficients {
    /// Whether every coefficient is left out.
    pub(super) fn is_default(&self) -> bool {
        let numbers = [
            self.rho_inf,
            self.alpha,
            self.alpha_m,
            self.alpha_f,
            self.beta,
            self.gamma,
        ];
        self.preset.is_none() && numbers.iter().all(Option::is_none)
    }

    /// The coefficients.
    ///
    /// # Errors
    /// Where one is out of range, or given in two ways.
    pub(super) fn resolve(&self) -> Result<Coefficients, OptionsError> {
        let by_hand = [
            ("alpha_m", self.alpha_m),
            ("alpha_f", self.alpha_f),
            ("beta", self.beta),
            ("gamma", self.gamma),
        ];
        if let Some(rho) = self.rho_inf {
            in_range("rho_inf", rho, 0.0, 1.0, "a number in [0, 1]")?;
            let c = Coefficients::from_rho(rho);
            let follows = [c.alpha_m, c.alpha_f, c.beta, c.gamma].map(Some);
            let given = by_hand.into_iter().zip(follows);
            for ((option, value), follows) in given.chain([(("alpha", self.alpha), None)]) {
                // Values that follow from `rho_inf` may be given too: a summary contains both.
                let same = |value: f64| follows.is_some_and(|f| (value - f).abs() <= 1e-12);
                if let Some(value) = value.filter(|v| !same(*v)) {
                    return Err(OptionsError::new(
                        option,
                        value,
                        "no such option beside `rho_inf`, or the value that follows from it",
                    ));
                }
            }
            if self.preset.is_some() {
                return Err(OptionsError::new(
                    "rho_inf",
                    rho,
                    "no `rho_inf` beside `preset`",
                ));
            }
            return Ok(c);
        }
        if self.is_default() {
            return Ok(Coefficients::from_rho(DEFAULT_RHO));
        }
        let base = match (self.preset, self.alpha) {
            (Some(Preset::Hht), alpha) => {
                let alpha = alpha.unwrap_or(DEFAULT_ALPHA);
                in_range("alpha", alpha, 0.0, 1.0 / 3.0, "a number in [0, 1/3]")?;
                (0.0, alpha)
            }
            (_, Some(alpha)) => {
                let error = OptionsError::new("alpha", alpha, "`preset = \"hht\"` beside it");
                return Err(error.cure("remove it, or name that preset"));
            }
            _ => (0.0, 0.0),
        };
        let mut c = Coefficients::second_order(
            self.alpha_m.unwrap_or(base.0),
            self.alpha_f.unwrap_or(base.1),
        );
        in_range("alpha_m", c.alpha_m, -1.0, 0.5, "a number in [-1, 1/2]")?;
        in_range("alpha_f", c.alpha_f, 0.0, 0.5, "a number in [0, 1/2]")?;
        if let Some(gamma) = self.gamma {
            c.gamma = gamma;
            c.beta = 0.25 * (gamma + 0.5).powi(2);
        } else if c.gamma <= 0.0 {
            let expected =
                "a number below 1/2 + alpha_f, so that gamma = 1/2 + alpha_f - alpha_m is > 0";
            let error = OptionsError::new("alpha_m", c.alpha_m, expected);
            return Err(error.cure("change `alpha_m` or `alpha_f`, or give `gamma` too"));
        }
        c.beta = self.beta.unwrap_or(c.beta);
        let positive = "a number in (0, 2]";
        in_range("gamma", c.gamma, f64::MIN_POSITIVE, 2.0, positive)?;
        in_range("beta", c.beta, f64::MIN_POSITIVE, 2.0, positive)?;
        Ok(c)
    }
}

/// Whether `value` is in `[low, high]`.
pub(super) fn in_range(
    option: &'static str,
    value: f64,
    low: f64,
    high: f64,
    expected: &str,
) -> Result<(), OptionsError> {
    if value >= low && value <= high {
        Ok(())
    } else {
        Err(OptionsError::new(option, value, expected))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rho_gives_the_printed_fractions() {
        let c = Coefficients::from_rho(0.8);
        for (x, y) in [
            (c.alpha_m, 1.0 / 3.0),
            (c.alpha_f, 4.0 / 9.0),
            (c.gamma, 11.0 / 18.0),
            (c.beta, 25.0 / 81.0),
            (c.c_a(), 5.0 / 6.0),
        ] {
            assert!((x - y).abs() < 1e-15, "{x} {y}");
        }
        let c = Coefficients::from_rho(1.0);
        assert_eq!((c.alpha_m, c.gamma, c.beta, c.c_a()), (0.5, 0.5, 0.25, 1.0));
    }

    #[test]
    fn presets_and_hand_given_values() {
        let hht = GivenCoefficients {
            preset: Some(Preset::Hht),
            alpha: Some(0.1),
            ..GivenCoefficients::default()
        };
        let c = hht.resolve().unwrap();
        assert_eq!((c.alpha_m, c.alpha_f, c.gamma), (0.0, 0.1, 0.6));
        assert!((c.beta - 0.3025).abs() < 1e-15);
        let newmark = GivenCoefficients {
            gamma: Some(1.0),
            ..GivenCoefficients::default()
        };
        let c = newmark.resolve().unwrap();
        assert_eq!((c.alpha_f, c.gamma, c.beta), (0.0, 1.0, 0.5625));
        let both = GivenCoefficients {
            rho_inf: Some(0.5),
            ..newmark
        };
        assert!(both.resolve().is_err());
    }

    #[test]
    fn what_is_wrong_is_named_as_it_was_written() {
        let zero_gamma = GivenCoefficients {
            alpha_m: Some(0.5),
            alpha_f: Some(0.0),
            ..GivenCoefficients::default()
        };
        assert_eq!(zero_gamma.resolve().unwrap_err().option, "alpha_m");
        let given_gamma = GivenCoefficients {
            gamma: Some(0.5),
            ..zero_gamma
        };
        assert!(given_gamma.resolve().is_ok());
        let misplaced = GivenCoefficients {
            preset: Some(Preset::Newmark),
            alpha: Some(0.1),
            ..GivenCoefficients::default()
        };
        assert_eq!(misplaced.resolve().unwrap_err().option, "alpha");
    }
}
