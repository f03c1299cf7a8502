//! Residuals of a frictional contact problem: the natural map in units of energy.

use super::problem::FrictionContact;
use crate::cone::{Region, de_saxce, project};
use saltus_linear::max_abs;

/// Residuals of one point, recomputed from the original data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Residual {
    /// `√(Σ d_i |e_i|²) / √(Σ |q_i|²/d_i)` with `e_i = r_i − P_K(r_i − û_i/d_i)`: dimensionless, the
    /// same in all units and contact frames. With coefficients of friction above 10, `e_n` is at least `min(u_n, 0)/d_i`.
    ///
    /// `d_i` is the mean of the translational diagonal of `W_ii`, or the largest translational entry of that block over their number
    /// (less than the mean where the block is positive semidefinite), and at least 1e-12 of the largest `d_i`; 1 if `W` has nothing
    /// on its diagonal. For reactions a million times as large as the data `eta` is at least their rounding.
    pub eta: f64,
    /// Largest `|e_i|`, N s.
    pub impulse: f64,
    /// Largest `d_i |e_i|`, m/s.
    pub velocity: f64,
    /// `|r − P_K(r − û)| / max(|q|, |r|, |u|)`, which mixes N s with m/s; for comparison with codes that use it.
    pub unscaled: f64,
    /// The contact with the largest `d_i |e_i|²`.
    pub worst: usize,
}

/// The scales of a problem: `d_i` of [`Residual::eta`], and the size of `q`.
#[derive(Debug, Clone, Default)]
pub struct ResidualScales {
    d: Vec<f64>,
    /// `√(Σ |q_i|²/d_i)`.
    q_norm: f64,
    /// `|q|`.
    q_plain: f64,
}

/// The scales `d_i`.
fn scales(problem: &FrictionContact) -> Vec<f64> {
    let size = problem.dimension();
    let translational = size.min(3);
    let w = problem.delassus();
    let mut d: Vec<f64> = (0..problem.contacts())
        .map(|i| {
            let block = w.diagonal(i);
            let sum: f64 = (0..translational).map(|k| block[k * size + k]).sum();
            let lines = block.chunks_exact(size).take(translational);
            let largest = lines.map(|line| max_abs(&line[..translational]));
            // The largest entry is at most the trace where the block is positive semidefinite.
            sum.max(largest.fold(0.0, f64::max)) / translational as f64
        })
        .collect();
    let largest = d.iter().fold(0.0_f64, |a, b| a.max(*b));
    let floor = if largest > 0.0 {
        MIN_SCALE * largest
    } else {
        1.0
    };
    d.iter_mut().for_each(|d| *d = d.max(floor));
    d
}

/// The least scale of a contact, relative to the largest.
const MIN_SCALE: f64 = 1e-12;

impl ResidualScales {
    /// The scales of `problem`.
    #[must_use]
    pub fn new(problem: &FrictionContact) -> Self {
        let q = problem.free_velocity();
        let mut scales = Self {
            d: scales(problem),
            q_norm: 0.0,
            q_plain: norm_of(q),
        };
        scales.q_norm = scales.dual_norm(q, problem.dimension());
        scales
    }

    /// The scales `d_i`, 1/kg.
    #[must_use]
    pub fn contact_scales(&self) -> &[f64] {
        &self.d
    }

    /// `√(Σ |q_i|²/d_i)`, or 1 if that is zero.
    #[must_use]
    pub fn reference(&self) -> f64 {
        if self.q_norm > 0.0 { self.q_norm } else { 1.0 }
    }

    /// `√(Σ |x_i|²/d_i)` of a velocity.
    pub(crate) fn dual_norm(&self, x: &[f64], size: usize) -> f64 {
        x.chunks_exact(size)
            .zip(&self.d)
            .map(|(x, d)| square(x) / d)
            .sum::<f64>()
            .sqrt()
    }

    /// Residuals at `r` with `u = W r + q`.
    #[must_use]
    pub fn residual(&self, problem: &FrictionContact, r: &[f64], u: &[f64]) -> Residual {
        match problem.dimension() {
            2 => self.residual_sized::<2>(problem, r, u),
            3 => self.residual_sized::<3>(problem, r, u),
            _ => self.residual_sized::<5>(problem, r, u),
        }
    }

    /// Residuals at `r`, computing `u`.
    #[must_use]
    pub fn residual_of(&self, problem: &FrictionContact, r: &[f64]) -> Residual {
        if problem.is_matrix_free() {
            let mut u = vec![0.0; r.len()];
            problem.velocity(r, &mut u);
            return self.residual(problem, r, &u);
        }
        match problem.dimension() {
            2 => self.residual_of_dimension::<2>(problem, r),
            3 => self.residual_of_dimension::<3>(problem, r),
            _ => self.residual_of_dimension::<5>(problem, r),
        }
    }

    fn residual_sized<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
        u: &[f64],
    ) -> Residual {
        let (u_blocks, _) = u.as_chunks::<D>();
        self.residual_from(problem, r, |i| u_blocks[i], true)
    }

    /// Residuals at `r` with velocities that were not computed from it: its rounding plays no part in them.
    pub(super) fn residual_beside(
        &self,
        problem: &FrictionContact,
        r: &[f64],
        u: &[f64],
    ) -> Residual {
        match problem.dimension() {
            2 => self.residual_from(problem, r, |i| u.as_chunks::<2>().0[i], false),
            3 => self.residual_from(problem, r, |i| u.as_chunks::<3>().0[i], false),
            _ => self.residual_from(problem, r, |i| u.as_chunks::<5>().0[i], false),
        }
    }

    /// The residual with `u = W r + q` formed block row by block row, without storage for `u`.
    pub(crate) fn residual_of_dimension<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
    ) -> Residual {
        let (r_blocks, _) = r.as_chunks::<D>();
        let (q, _) = problem.free_velocity().as_chunks::<D>();
        self.residual_from(
            problem,
            r,
            |i| {
                let mut u = problem.delassus().row_dot::<D>(i, r_blocks);
                for (u, q) in u.iter_mut().zip(&q[i]) {
                    *u += q;
                }
                u
            },
            true,
        )
    }

    fn residual_from<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
        velocity_of: impl Fn(usize) -> [f64; D],
        are_of_reactions: bool,
    ) -> Residual {
        let (r_blocks, _) = r.as_chunks::<D>();
        let (mut sum, mut plain, mut energy) = (0.0, 0.0, 0.0);
        let (mut impulse, mut velocity, mut largest, mut worst) = (0.0_f64, 0.0_f64, 0.0, 0);
        let mut speeds = 0.0;
        for (i, (r, &d)) in r_blocks.iter().zip(&self.d).enumerate() {
            let u = velocity_of(i);
            speeds += square(&u);
            energy += d * square(r);
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let e = square(&law_residual(r, &u, 1.0 / d, mu, rolling));
            sum += d * e;
            if d * e > largest || e.is_nan() {
                largest = d * e;
                worst = i;
            }
            let size = e.sqrt();
            impulse = impulse.max(size);
            velocity = velocity.max(d * size);
            plain += square(&law_residual(r, &u, 1.0, mu, rolling));
        }
        let scale = self.q_plain.max(norm_of(r)).max(speeds.sqrt());
        let unscaled = if scale > 0.0 {
            plain.sqrt() / scale
        } else {
            0.0
        };
        // The data are below the rounding of much larger reactions.
        let size = energy.sqrt() / self.reference();
        let rounding = if are_of_reactions && size > LARGE_REACTIONS {
            size * f64::EPSILON
        } else {
            0.0
        };
        let eta = sum.sqrt() / self.reference();
        Residual {
            // Keeps NaN.
            eta: if rounding > eta { rounding } else { eta },
            impulse,
            velocity,
            unscaled,
            worst,
        }
    }
}

/// Reactions this many times as large as the data lose eight digits or more of their residual.
const LARGE_REACTIONS: f64 = 1e6;

/// Coefficient of friction above which the approach is measured separately: `e_n` of the natural map decreases as `1/μ²`.
const LARGE_COEFFICIENT: f64 = 10.0;

/// Residual of Coulomb's law of a contact with velocity `u`, in impulses: [`natural_map_residual`] of the De Saxcé velocity, and with
/// coefficients above 10 at least `ρ min(u_n, 0)`, which every solution makes zero.
#[inline]
pub(crate) fn law_residual<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> [f64; D] {
    let mut e = natural_map_residual(r, &de_saxce(u, mu, rolling), rho, mu, rolling);
    if mu.max(rolling) > LARGE_COEFFICIENT {
        let approach = rho * u[0].min(0.0);
        if approach.abs() > e[0].abs() {
            e[0] = approach;
        }
    }
    e
}

/// `r − P_K(r − ρ û)` by cases, so that nothing cancels when `r` is huge.
#[inline]
pub(crate) fn natural_map_residual<const D: usize>(
    r: &[f64; D],
    hat: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> [f64; D] {
    let mut x = *r;
    for (x, h) in x.iter_mut().zip(hat) {
        *x -= rho * h;
    }
    let (p, region) = project(&x, mu, rolling);
    let mut e = match region {
        Region::Inside => hat.map(|h| rho * h),
        Region::Polar => *r,
        Region::Boundary => {
            let mut e = *r;
            for (e, p) in e.iter_mut().zip(&p) {
                *e -= p;
            }
            e
        }
    };
    let approach = rho * hat[0].min(0.0);
    if approach.abs() > e[0].abs() {
        e[0] = approach;
    }
    e
}

#[inline]
pub(crate) fn square(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

pub(super) fn norm_of(x: &[f64]) -> f64 {
    square(x).sqrt()
}
