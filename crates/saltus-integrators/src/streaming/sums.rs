//! What is added up over the rows of a step: the balance of momentum, energy, sizes.

use crate::integrator::Energy;
use crate::round_off::ROUND_OFF;
use saltus_linear::{Runs, dot};
use std::ops::Range;

/// Partial sums kept going at the same time.
const LANES: usize = 4;

/// Runs a body for every element of vectors of equal length, which it finds at `[lane]` under their names.
macro_rules! by_lanes {
    (($($x:ident),+), $lane:ident, $body:block) => {{
        $(let $x = $x.as_chunks::<LANES>();)+
        let blocks = [$($x.0.len()),+].into_iter().fold(usize::MAX, usize::min);
        for block in 0..blocks {
            $(let $x = &$x.0[block];)+
            for $lane in 0..LANES $body
        }
        $(let $x = $x.1;)+
        let rest = [$($x.len()),+].into_iter().fold(usize::MAX, usize::min);
        for $lane in 0..rest $body
    }};
}

#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

fn largest(lanes: &[f64; LANES]) -> f64 {
    lanes.iter().fold(0.0, |m, x| larger(m, *x))
}

/// Some rows of what the balance reads.
pub(crate) struct Slices<'a> {
    /// `M x`.
    pub(crate) mx: &'a [f64],
    /// `M v`, the momentum at the end.
    pub(crate) mv: &'a [f64],
    /// `f`, reactions included where they are not in `M x`.
    pub(crate) force: &'a [f64],
    pub(crate) v: &'a [f64],
}

/// `1/√Mᵢᵢ` of some rows.
#[derive(Clone, Copy)]
pub(crate) enum Weights<'a> {
    /// One for all.
    Uniform(f64),
    /// One for each.
    Each(&'a [f64]),
}

impl<'a> Weights<'a> {
    /// Those of `rows`, where `runs` are the repetitions in `weights`.
    #[inline]
    pub(crate) fn of(runs: &Runs, weights: &'a [f64], rows: &Range<usize>) -> Self {
        match runs.constant(weights, rows) {
            Some(weight) => Self::Uniform(weight),
            None => Self::Each(&weights[rows.clone()]),
        }
    }
}

/// Sums over the rows of a step of length `h` \[s\]. The residual is that of `M x − p`, where `p = h f` (`IMPULSES`) or `p = f`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    largest: [f64; LANES],
    weighted: [f64; LANES],
    sum: [f64; LANES],
    load: [f64; LANES],
    momentum: [f64; LANES],
    square: [f64; LANES],
    /// Largest component of the residual over `√Mᵢᵢ` above its round-off, where that is asked for.
    pub(crate) above: Option<f64>,
    /// `xᵀ M x`, where that is asked for.
    pub(crate) change: f64,
    /// Potential energy at the end \[J\].
    pub(crate) potential: f64,
}

impl Sums {
    /// Includes some rows.
    #[inline]
    pub(crate) fn include<const IMPULSES: bool>(
        &mut self,
        slices: &Slices<'_>,
        weights: Weights<'_>,
        h: f64,
    ) {
        let Slices { mx, mv, force, v } = *slices;
        match weights {
            Weights::Each(weights) => {
                let t = self;
                by_lanes!((mx, mv, force, weights, v), k, {
                    let load = if IMPULSES { h * force[k] } else { force[k] };
                    let residual = (mx[k] - load).abs();
                    let weighted = weights[k] * residual;
                    t.largest[k] = larger(residual, t.largest[k]);
                    t.weighted[k] = larger(weighted, t.weighted[k]);
                    t.sum[k] += weighted;
                    t.square[k] += mv[k] * v[k];
                    let load = weights[k] * load.abs();
                    t.load[k] = larger(load, t.load[k]);
                    let impulse = if IMPULSES { load } else { h * load };
                    t.momentum[k] = larger(weights[k] * mv[k].abs() + impulse, t.momentum[k]);
                });
            }
            Weights::Uniform(weight) => {
                let mut t = Self::default();
                by_lanes!((mx, mv, force, v), k, {
                    let load = if IMPULSES { h * force[k] } else { force[k] };
                    let residual = (mx[k] - load).abs();
                    t.largest[k] = larger(residual, t.largest[k]);
                    t.sum[k] += residual;
                    t.square[k] += mv[k] * v[k];
                    t.load[k] = larger(load.abs(), t.load[k]);
                    let impulse = if IMPULSES { load } else { h * load };
                    t.momentum[k] = larger(mv[k].abs() + impulse.abs(), t.momentum[k]);
                });
                for k in 0..LANES {
                    self.largest[k] = larger(t.largest[k], self.largest[k]);
                    self.weighted[k] = larger(weight * t.largest[k], self.weighted[k]);
                    self.sum[k] += weight * t.sum[k];
                    self.square[k] += t.square[k];
                    self.load[k] = larger(weight * t.load[k], self.load[k]);
                    self.momentum[k] = larger(weight * t.momentum[k], self.momentum[k]);
                }
            }
        }
    }

    /// Includes what `xᵀ M x` has of some rows.
    #[inline]
    pub(crate) fn include_change(&mut self, mx: &[f64], x: &[f64]) {
        self.change += dot(mx, x);
    }

    /// Includes what stands above round-off in some rows of the residual; the force is made of parts of the sizes `floor`.
    pub(crate) fn include_above<const IMPULSES: bool>(
        &mut self,
        slices: &Slices<'_>,
        (floor, weights): (&[f64], &[f64]),
        h: f64,
    ) {
        let factor = if IMPULSES { h } else { 1.0 };
        let Slices { mx, force, .. } = *slices;
        let mut worst = [self.above.unwrap_or(0.0); LANES];
        by_lanes!((mx, force, floor, weights), k, {
            let excess = (mx[k] - factor * force[k]).abs() - factor * ROUND_OFF * floor[k];
            worst[k] = larger(weights[k] * excess, worst[k]);
        });
        self.above = Some(largest(&worst));
    }

    /// Includes a residual that is found elsewhere: it only counts where it is not finite.
    pub(crate) fn include_finite(&mut self, residual: f64) {
        self.sum[0] += residual;
    }

    /// Largest component of the residual.
    pub(crate) fn residual(&self) -> f64 {
        largest(&self.largest)
    }

    /// Largest component of the residual over `√Mᵢᵢ`, above round-off where that was asked for.
    pub(crate) fn weighted_residual(&self) -> f64 {
        self.above.unwrap_or_else(|| largest(&self.weighted))
    }

    /// Whether every residual is a number.
    pub(crate) fn is_finite(&self) -> bool {
        self.sum.iter().sum::<f64>().is_finite()
    }

    /// `max |p|ᵢ / √Mᵢᵢ`.
    pub(crate) fn load(&self) -> f64 {
        largest(&self.load)
    }

    /// `max (|M v|ᵢ + h |f|ᵢ) / √Mᵢᵢ`.
    pub(crate) fn momentum(&self) -> f64 {
        largest(&self.momentum)
    }

    /// Energy at the end of the step.
    pub(crate) fn energy(&self) -> Energy {
        Energy {
            kinetic: 0.5 * self.square.iter().sum::<f64>(),
            potential: self.potential,
        }
    }
}
