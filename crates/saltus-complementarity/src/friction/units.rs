//! Problems in units far from those of the data, so that no square or cube leaves the range of numbers.
//!
//! `W = a W'`, `q = b q'`, `u = b u'`, `r = (b/a) r'` with powers of two: Coulomb's law stays what it is, and no bit is lost. The
//! doors of the solvers, of the residual and of the proofs pass through here; what they find comes back in the units of the data.

use super::measure::{Measure, Residual};
use super::problem::FrictionContact;
use crate::block::BlockMatrix;
use crate::operator::Product;
use saltus_linear::max_abs;
use std::sync::Arc;

/// Largest entries in this range need no other units: their cubes and the products of those can be written.
const NEAR: std::ops::RangeInclusive<f64> = 1e-60..=1e60;
/// The smallest diagonal entry relative to the largest below which rounding to zero changes the problem.
const FAR: f64 = 1e-250;
/// Impulses that can be written with all their digits.
const IMPULSES: std::ops::RangeInclusive<f64> = 1e-300..=1e300;

/// How far the data are from 1.
#[derive(Debug)]
pub(crate) enum Range {
    /// Work on them as they are.
    Usual,
    /// Work in these units.
    Other(Box<Units>),
    /// No units hold all of them at once.
    Beyond,
}

/// A problem in other units.
#[derive(Debug)]
pub(crate) struct Units {
    /// The problem in these units.
    pub problem: FrictionContact,
    /// `a`.
    operator: f64,
    /// `b`.
    velocity: f64,
}

/// `factor · A`.
#[derive(Debug)]
struct Multiple {
    product: Arc<dyn Product>,
    factor: f64,
}

impl Product for Multiple {
    fn size(&self) -> usize {
        self.product.size()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.product.apply(x, y);
        y.iter_mut().for_each(|y| *y *= self.factor);
    }

    fn work(&self) -> f64 {
        self.product.work()
    }
}

impl Range {
    /// Of the blocks of `W` at hand and `q`.
    pub fn of(problem: &FrictionContact) -> Self {
        let most = max_abs(problem.delassus().entries());
        let free = max_abs(problem.free_velocity());
        let usual = |v: f64| v == 0.0 || NEAR.contains(&v);
        if usual(most) && usual(free) {
            return Self::Usual;
        }
        let (operator, velocity) = (power(most), power(free));
        let d = problem.dimension();
        let diagonals = (0..problem.contacts()).flat_map(|i| {
            let block = problem.delassus().diagonal(i);
            (0..d).map(move |k| block[k * d + k].abs())
        });
        let least = diagonals.filter(|v| *v > 0.0).fold(most, f64::min);
        let impulse = velocity / operator;
        if least / operator < FAR || !IMPULSES.contains(&impulse) {
            return Self::Beyond;
        }
        let (shrink, slow) = (1.0 / operator, 1.0 / velocity);
        let q = problem.free_velocity().iter().map(|q| q * slow).collect();
        let (mu, rolling) = (problem.friction().to_vec(), problem.rolling().to_vec());
        let made = match problem.product() {
            Some(product) => {
                let product: Arc<dyn Product> = Arc::new(Multiple {
                    product: Arc::clone(product),
                    factor: shrink,
                });
                FrictionContact::new(product, q, mu, rolling)
            }
            None => {
                let w = problem.delassus().scaled(|_, _| shrink);
                FrictionContact::new(w, q, mu, rolling)
            }
        };
        made.map_or(Self::Beyond, |problem| {
            Self::Other(Box::new(Units {
                problem,
                operator,
                velocity,
            }))
        })
    }
}

/// A problem with rolling friction whose angular components are in units of lengths of its own, one per contact: `r_r = ℓ r_r'`,
/// `u_r = u_r'/ℓ`, `μ_r = ℓ μ_r'`. Coulomb's law stays what it is, and the unit of length of the data does not matter.
#[derive(Debug)]
pub(super) struct Levelled {
    /// The problem in these units.
    pub problem: FrictionContact,
    lengths: Vec<f64>,
}

impl Levelled {
    /// `None` without rolling friction. `ℓ² = Σ W_tt / Σ W_rr` of the contact (with the normal one), the coefficient where that is
    /// no number.
    pub fn new(problem: &FrictionContact) -> Option<Self> {
        if problem.dimension() != 5 {
            return None;
        }
        let w = problem.delassus();
        let lengths: Vec<f64> = (0..problem.contacts())
            .map(|i| {
                let block = w.diagonal(i);
                let sum = |from: usize, to: usize| (from..to).map(|k| block[6 * k]).sum::<f64>();
                let own = (sum(0, 3) / 3.0).sqrt() / (sum(3, 5) / 2.0).sqrt();
                let usable = |v: &f64| v.is_finite() && *v > 0.0;
                let choices = [own, problem.rolling_of(i)];
                choices.into_iter().find(usable).unwrap_or(1.0)
            })
            .collect();
        let factor = |k: usize| if k % 5 < 3 { 1.0 } else { lengths[k / 5] };
        let entries = w
            .triplets()
            .map(|(i, j, v)| (i, j, v * factor(i) * factor(j)));
        let w = BlockMatrix::from_triplets(5, problem.contacts(), entries);
        let q = problem.free_velocity().iter().enumerate();
        let q = q.map(|(k, q)| q * factor(k)).collect();
        let rolling = problem.rolling().iter().zip(&lengths);
        let rolling = rolling.map(|(m, l)| m / l).collect();
        let problem = FrictionContact::new(w, q, problem.friction().to_vec(), rolling).ok()?;
        Some(Self { problem, lengths })
    }

    /// Impulses in these units.
    pub fn enter(&self, r: &mut [f64]) {
        for (r, l) in r.chunks_exact_mut(5).zip(&self.lengths) {
            r[3..].iter_mut().for_each(|r| *r /= l);
        }
    }

    /// Impulses in the units of the data.
    pub fn leave(&self, r: &mut [f64]) {
        for (r, l) in r.chunks_exact_mut(5).zip(&self.lengths) {
            r[3..].iter_mut().for_each(|r| *r *= l);
        }
    }
}

/// The power of two below `v > 0` whose reciprocal is a number as well; 1 of zero.
fn power(v: f64) -> f64 {
    if v > 0.0 {
        v.log2().floor().clamp(-1000.0, 1000.0).exp2()
    } else {
        1.0
    }
}

impl Units {
    /// `r` in these units.
    pub fn enter(&self, r: &[f64]) -> Vec<f64> {
        r.iter()
            .map(|r| r / self.velocity * self.operator)
            .collect()
    }

    /// `u` in these units.
    pub fn speeds(&self, u: &[f64]) -> Vec<f64> {
        u.iter().map(|u| u / self.velocity).collect()
    }

    /// `r` in the units of the data.
    pub fn leave(&self, inside: &[f64], r: &mut [f64]) {
        for (r, v) in r.iter_mut().zip(inside) {
            *r = v / self.operator * self.velocity;
        }
    }

    /// The residual of `inside` in the units of the data.
    pub fn residual(&self, inside: &[f64], residual: Residual) -> Residual {
        Residual {
            impulse: residual.impulse / self.operator * self.velocity,
            velocity: residual.velocity * self.velocity,
            unscaled: match self.problem.dimension() {
                2 => self.unscaled::<2>(inside),
                3 => self.unscaled::<3>(inside),
                _ => self.unscaled::<5>(inside),
            },
            ..residual
        }
    }

    /// `|r − P_K(r − û)| / max(|q|, |r|, |u|)` of the data.
    fn unscaled<const D: usize>(&self, inside: &[f64]) -> f64 {
        let p = &self.problem;
        let mut u = vec![0.0; inside.len()];
        p.velocity(inside, &mut u);
        let blocks = u.as_chunks::<D>().0;
        Measure::new(p)
            .at_the_ends(p, inside, self.operator, |i| blocks[i])
            .unscaled
    }
}
