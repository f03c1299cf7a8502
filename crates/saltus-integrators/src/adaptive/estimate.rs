//! How wrong a step is, and how long the next one should be.

use super::options::{AdaptiveMoreauJeanOptions, ErrorOrder};
use saltus_linear::max_abs;
use saltus_system::{ContactSet, State, System};

use crate::integrator::Reactions;

/// A change of the normal velocity below this share of the speeds it is made of is no jump.
const JUMP: f64 = 1e-7;

/// The error of a step over its tolerance, and the order it was estimated with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) error: f64,
    pub(super) order: u32,
}

impl AdaptiveMoreauJeanOptions {
    /// The order that the estimate assumes in a step with or without an impact.
    pub(super) fn order_of_step(&self, has_jump: bool) -> u32 {
        match self.order {
            ErrorOrder::Variable if has_jump => 0,
            ErrorOrder::Variable => {
                if self.theta == 0.5 {
                    2
                } else {
                    1
                }
            }
            ErrorOrder::Zero => 0,
            ErrorOrder::One => 1,
            ErrorOrder::Two => 2,
        }
    }

    /// `max |c_p (q_{1/2} − q_1)| / (atol + rtol |q|)` (Acary, eqs. 109, 110, 127).
    pub(super) fn error(&self, order: u32, start: &[f64], halves: &[f64], whole: &[f64]) -> f64 {
        let factor = match order {
            0 => 2.0,
            1 => 1.0,
            _ => 1.0 / 3.0,
        };
        let mut worst = 0.0_f64;
        for ((q, a), b) in start.iter().zip(halves).zip(whole) {
            let error = factor * (a - b).abs() / (self.atol + self.rtol * q.abs().max(a.abs()));
            if error > worst || error.is_nan() {
                worst = error;
            }
        }
        worst
    }

    /// By what the length of a step with this estimate is to be multiplied.
    pub(super) fn factor(&self, estimate: Estimate) -> f64 {
        let exponent = -1.0 / f64::from(estimate.order + 1);
        let factor = self.safety * estimate.error.powf(exponent);
        if factor.is_nan() {
            return self.shrink;
        }
        factor.clamp(self.shrink, self.growth)
    }
}

/// By how much the contacts of a set penetrate deeper at its own place than at `start` \[m\]; `scratch` is overwritten.
pub(super) fn violation_increment(
    system: &dyn System,
    set: &ContactSet,
    start: &State,
    scratch: &mut ContactSet,
) -> f64 {
    if set.gap.iter().all(|gap| *gap >= 0.0) {
        return 0.0;
    }
    scratch.clone_from(set);
    system.evaluate_contacts(start.t, &start.q, scratch);
    let pairs = set.gap.iter().zip(&scratch.gap);
    pairs
        .map(|(now, before)| (-now).max(0.0) - (-before).max(0.0))
        .fold(0.0, f64::max)
}

/// Whether a contact that carries an impulse changed its normal velocity in a step that began at `start`.
pub(super) fn has_jump(
    system: &dyn System,
    reactions: &Reactions<'_>,
    start: &State,
    scratch: &mut ContactSet,
) -> bool {
    if reactions.impulse.iter().all(|p| *p <= 0.0) {
        return false;
    }
    scratch.clone_from(reactions.contacts);
    system.evaluate_contacts(start.t, &start.q, scratch);
    let speed = max_abs(&start.v);
    (0..scratch.len())
        .filter(|&i| reactions.impulse[i] > 0.0)
        .any(|i| {
            let row = scratch.first_row[i];
            let size: f64 = scratch.directions.values(row).iter().map(|w| w.abs()).sum();
            let before = scratch.normal_velocity(i, &start.v);
            (reactions.gap_velocity[i] - before).abs() > JUMP * size * speed
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_follows_the_estimate_within_its_bounds() {
        let options = AdaptiveMoreauJeanOptions::default();
        let factor = |error, order| options.factor(Estimate { error, order });
        assert!((factor(8.0, 2) - 0.45).abs() < 1e-15);
        assert!((factor(0.25, 1) - 1.8).abs() < 1e-15);
        assert!((factor(2.0, 0) - 0.45).abs() < 1e-15);
        assert_eq!(factor(0.0, 2), 5.0);
        assert_eq!(factor(1e9, 0), 0.1);
        assert_eq!(factor(f64::NAN, 1), 0.1);
    }
}
