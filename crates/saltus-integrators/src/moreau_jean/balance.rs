//! The balance of momentum of a step, added up a few rows at a time.

use crate::passes::{LANES, by_lanes, larger};
use saltus_linear::dot;

/// What the balance of momentum of a step leaves, and what the velocity at its end amounts to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Balance {
    /// Largest component of `M Δv − h f − W R`.
    pub(super) largest: [f64; LANES],
    /// Largest component over `√Mᵢᵢ`.
    pub(super) scaled: [f64; LANES],
    /// Sum of these: not finite where any of them is not.
    sum: [f64; LANES],
    /// `Δvᵀ M Δv`.
    pub(super) change: [f64; LANES],
    /// `vᵀ M v`.
    pub(super) square: [f64; LANES],
    /// `max (|M v|ᵢ + h |f|ᵢ) / √Mᵢᵢ`, reactions included in `f`.
    pub(super) momentum: [f64; LANES],
    /// `max h |f|ᵢ / √Mᵢᵢ`.
    pub(super) impulse: [f64; LANES],
}

impl Balance {
    /// Takes in some rows of `M Δv`, `M v`, `f` with the reactions over `h`, weights, `Δv` and `v`.
    #[inline]
    pub(super) fn take(&mut self, (mx, mv): (&[f64], &[f64]), rows: Rows<'_>, h: f64) {
        let Rows {
            force,
            weights,
            x,
            v,
        } = rows;
        let Self {
            largest,
            scaled,
            sum,
            change,
            square,
            momentum,
            impulse,
        } = self;
        by_lanes!((mx, mv, force, weights, x, v), k, {
            let push = h * force[k];
            let defect = (mx[k] - push).abs();
            let weighted = weights[k] * defect;
            largest[k] = larger(defect, largest[k]);
            scaled[k] = larger(weighted, scaled[k]);
            sum[k] += weighted;
            change[k] += mx[k] * x[k];
            square[k] += mv[k] * v[k];
            let push = weights[k] * push.abs();
            impulse[k] = larger(push, impulse[k]);
            momentum[k] = larger(weights[k] * mv[k].abs() + push, momentum[k]);
        });
    }

    /// The same where all of these rows have the weight `weight`; `weights` is not looked at.
    #[inline]
    pub(super) fn take_even(
        &mut self,
        (mx, mv): (&[f64], &[f64]),
        rows: Rows<'_>,
        h: f64,
        weight: f64,
    ) {
        let Rows { force, x, v, .. } = rows;
        let mut part = Self::default();
        let Self {
            largest,
            sum,
            square,
            momentum,
            impulse,
            ..
        } = &mut part;
        by_lanes!((mx, mv, force, v), k, {
            let push = h * force[k];
            let defect = (mx[k] - push).abs();
            largest[k] = larger(defect, largest[k]);
            sum[k] += defect;
            square[k] += mv[k] * v[k];
            impulse[k] = larger(push.abs(), impulse[k]);
            momentum[k] = larger(mv[k].abs() + push.abs(), momentum[k]);
        });
        self.change[0] += dot(mx, x);
        for k in 0..LANES {
            self.largest[k] = larger(part.largest[k], self.largest[k]);
            self.scaled[k] = larger(weight * part.largest[k], self.scaled[k]);
            self.sum[k] += weight * part.sum[k];
            self.square[k] += part.square[k];
            self.impulse[k] = larger(weight * part.impulse[k], self.impulse[k]);
            self.momentum[k] = larger(weight * part.momentum[k], self.momentum[k]);
        }
    }

    /// Kinetic energy \[J\].
    pub(super) fn kinetic(&self) -> f64 {
        0.5 * self.square.iter().sum::<f64>()
    }

    pub(super) fn is_finite(&self) -> bool {
        self.sum.iter().sum::<f64>().is_finite()
    }
}

/// Some rows of what the balance reads.
pub(super) struct Rows<'a> {
    pub(super) force: &'a [f64],
    pub(super) weights: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) v: &'a [f64],
}
