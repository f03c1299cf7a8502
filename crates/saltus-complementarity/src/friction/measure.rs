//! How well a point solves a frictional contact problem: the natural map in units of energy.

use super::problem::FrictionContact;
use super::twofold;
use crate::cone::{Region, de_saxce, norm, project};
use crate::equilibrium::near_one;
use crate::verdict::worse;
use saltus_linear::max_abs;

/// Residuals of one point, recomputed from the original data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Residual {
    /// `√(Σ d_i |e_i|²) / √(Σ |q_i|²/d_i)` with `e_i = r_i − P_K(r_i − û_i/d_i)`: dimensionless, the
    /// same in all units and contact frames. With coefficients of friction above 10, `e_n` is at least `min(u_n, 0)/d_i`.
    ///
    /// `d_i` is the mean of the translational diagonal of `W_ii`, however small, or the largest translational entry of that block over
    /// their number (less than the mean where the block is positive semidefinite). Where that is not positive, or below 1e-12 of
    /// the largest and some entry between the contact and another is beyond `1e6 √(d_i d_j)` (a positive semidefinite `W` has no
    /// such entry), `d_i` is 1e-12 of the largest among the contacts that act on each other, of all where those have none, or what
    /// makes such entries as large as those of a positive semidefinite `W` may be: else `η` would be small for any reaction.
    /// It is 1 if `W` has nothing on its diagonal. Beyond the largest number this, and the other residuals, are that number.
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
pub struct Measure {
    d: Vec<f64>,
    q_norm: f64,
    q_plain: f64,
    /// Whether the scales are so far from 1, or from each other, that squares leave the range of numbers.
    far: bool,
}

/// The scales `d_i`.
pub(super) fn scales(problem: &FrictionContact) -> Vec<f64> {
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
    let floor = NOTHING * largest;
    if !d
        .iter()
        .all(|d| *d >= floor && *d > 0.0 && *d < f64::INFINITY)
    {
        small(problem, &mut d);
    }
    d
}

/// A mean of the diagonal is nothing below this share of the largest one, where the contact feels others more than it allows.
const NOTHING: f64 = 1e-12;

/// The scales where some means are nothing, or cannot be written.
#[cold]
fn small(problem: &FrictionContact, d: &mut [f64]) {
    let (w, size) = (problem.delassus(), problem.dimension());
    let translational = size.min(3);
    let tiny = f64::from_bits(1);
    for (i, d) in d
        .iter_mut()
        .enumerate()
        .filter(|(_, d)| !(1e-300..=1e300).contains(*d))
    {
        let block = w.diagonal(i);
        let each = (0..translational).map(|k| block[k * size + k]);
        let sum: f64 = each.clone().sum();
        if sum.is_infinite() {
            *d = each.map(|v| v / translational as f64).sum();
        } else if sum > 0.0 {
            *d = d.max(tiny);
        }
    }
    let parts = if problem.is_matrix_free() {
        vec![(0..d.len()).collect()]
    } else {
        w.components()
    };
    let most = |list: &mut dyn Iterator<Item = f64>| list.fold(0.0_f64, f64::max);
    let all = most(&mut d.iter().copied());
    let (mut weak, mut floored) = (vec![false; d.len()], vec![false; d.len()]);
    for i in 0..d.len() {
        for (&j, block) in w.cols(i).iter().zip(w.row(i).chunks_exact(size * size)) {
            if j != i && d[i] > 0.0 && d[j] > 0.0 {
                // A positive semidefinite W allows √(d_i d_j), or thrice that.
                let beyond = max_abs(block) * NOTHING.sqrt() > d[i].sqrt() * d[j].sqrt();
                weak[i] |= beyond;
                weak[j] |= beyond;
            }
        }
    }
    for part in parts {
        let own = most(&mut part.iter().map(|&i| d[i]));
        let floor = if own > 0.0 {
            (NOTHING * own).max(tiny)
        } else if all > 0.0 {
            (NOTHING * all).max(tiny)
        } else {
            1.0
        };
        for i in part {
            if d[i] <= 0.0 || d[i] < floor && weak[i] {
                d[i] = floor;
                floored[i] = true;
            }
        }
    }
    // At least so large that no scaled entry W_ij / √(d_i d_j) is larger than one of a positive semidefinite matrix can be.
    let mut raised = d.to_vec();
    for (row, col, v) in w.triplets().filter(|entry| entry.2 != 0.0) {
        let (i, j) = (row / size, col / size);
        if i == j || row % size >= translational || col % size >= translational {
            continue;
        }
        let entry = v.abs() / translational as f64;
        for (i, j) in [(i, j), (j, i)] {
            if floored[i] {
                raised[i] = raised[i].max(entry * (entry / d[j].max(entry)));
            }
        }
    }
    d.copy_from_slice(&raised);
}

impl Measure {
    /// The scales of `problem`.
    #[must_use]
    pub fn new(problem: &FrictionContact) -> Self {
        Self::with(problem, scales(problem))
    }

    /// With the scales `d`.
    pub(super) fn with(problem: &FrictionContact, d: Vec<f64>) -> Self {
        let size = problem.dimension();
        let q = problem.free_velocity();
        let mut measure = Self {
            q_norm: 0.0,
            q_plain: norm_of(q),
            far: !near_one(&d) || !near_one(q),
            d,
        };
        measure.q_norm = if measure.far {
            let each = q.chunks_exact(size).zip(&measure.d);
            let lengths: Vec<f64> = each.map(|(q, d)| norm_of(q) / d.sqrt()).collect();
            norm_of(&lengths)
        } else {
            measure.dual_norm(q, size)
        };
        measure
    }

    /// The scales `d_i`, 1/kg.
    #[must_use]
    pub fn scales(&self) -> &[f64] {
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
            2 => self.given::<2>(problem, r, u),
            3 => self.given::<3>(problem, r, u),
            _ => self.given::<5>(problem, r, u),
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
            2 => self.computed::<2>(problem, r),
            3 => self.computed::<3>(problem, r),
            _ => self.computed::<5>(problem, r),
        }
    }

    fn given<const D: usize>(&self, problem: &FrictionContact, r: &[f64], u: &[f64]) -> Residual {
        let (u_blocks, _) = u.as_chunks::<D>();
        self.sized(problem, r, |i| u_blocks[i])
    }

    /// Block row by block row: no velocity is kept.
    pub(crate) fn computed<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
    ) -> Residual {
        let (r_blocks, _) = r.as_chunks::<D>();
        let (q, _) = problem.free_velocity().as_chunks::<D>();
        self.sized(problem, r, |i| {
            let mut u = problem.delassus().row_dot::<D>(i, r_blocks);
            for (u, q) in u.iter_mut().zip(&q[i]) {
                *u += q;
            }
            u
        })
    }

    fn sized<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
        velocity_of: impl Fn(usize) -> [f64; D],
    ) -> Residual {
        if self.far {
            return self.at_the_ends(problem, r, velocity_of);
        }
        let (r_blocks, _) = r.as_chunks::<D>();
        let (mut sum, mut plain, mut energy) = (0.0, 0.0, 0.0);
        let (mut impulse, mut velocity, mut largest, mut worst) = (0.0_f64, 0.0_f64, 0.0, 0);
        let mut speeds = 0.0;
        for (i, (r, &d)) in r_blocks.iter().zip(&self.d).enumerate() {
            let u = velocity_of(i);
            speeds += square(&u);
            energy += d * square(r);
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let e = square(&miss(r, &u, 1.0 / d, mu, rolling));
            sum += d * e;
            if d * e > largest || e.is_nan() {
                largest = d * e;
                worst = i;
            }
            let size = e.sqrt();
            impulse = impulse.max(size);
            velocity = velocity.max(d * size);
            plain += square(&miss(r, &u, 1.0, mu, rolling));
        }
        let speed = if SAFE.contains(&speeds) {
            speeds.sqrt()
        } else {
            let u: Vec<[f64; D]> = (0..r_blocks.len()).map(velocity_of).collect();
            norm_of(u.as_flattened())
        };
        let scale = self.q_plain.max(norm_of(r)).max(speed);
        let unscaled = if scale > 0.0 {
            plain.sqrt() / scale
        } else {
            0.0
        };
        let found = Residual {
            eta: sum.sqrt() / self.reference(),
            impulse,
            velocity,
            unscaled,
            worst,
        };
        let size = energy.sqrt() / self.reference();
        if size > RUNAWAY {
            return self.of_huge(problem, r_blocks, size, found);
        }
        found
    }

    /// The residual of reactions so large that rounding hides the data beside them: with twice the digits, and where those do not
    /// suffice or `W` is known by its products only, at least what rounding may hide.
    #[cold]
    fn of_huge<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[[f64; D]],
        size: f64,
        found: Residual,
    ) -> Residual {
        if problem.is_matrix_free() {
            return Residual {
                eta: found.eta.max(size * f64::EPSILON),
                ..found
            };
        }
        let (mut sum, mut plain) = (0.0, 0.0);
        let mut worse = Residual {
            unscaled: found.unscaled,
            ..Residual::default()
        };
        let (mut largest, mut speeds) = (0.0, 0.0);
        for (i, (own, &d)) in r.iter().zip(&self.d).enumerate() {
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let u = twofold::velocity(problem, r, i);
            let e = square(&twofold::miss(own, &u, d, mu, rolling));
            sum += d * e;
            if d * e > largest || e.is_nan() {
                (largest, worse.worst) = (d * e, i);
            }
            worse.impulse = worse.impulse.max(e.sqrt());
            worse.velocity = worse.velocity.max(d * e.sqrt());
            plain += square(&twofold::miss(own, &u, 1.0, mu, rolling));
            speeds += square(&u.map(f64::from));
        }
        let scale = self
            .q_plain
            .max(norm_of(r.as_flattened()))
            .max(speeds.sqrt());
        Residual {
            eta: (sum.sqrt() / self.reference()).max(size * f64::EPSILON * f64::EPSILON),
            unscaled: plain.sqrt() / scale,
            ..worse
        }
    }
}

/// Reactions this many times as large as the data lose eight digits or more of what they miss.
const RUNAWAY: f64 = 1e6;

impl Measure {
    /// Residuals where squares leave the range of numbers.
    #[cold]
    fn at_the_ends<const D: usize>(
        &self,
        problem: &FrictionContact,
        r: &[f64],
        velocity_of: impl Fn(usize) -> [f64; D],
    ) -> Residual {
        let n = self.d.len();
        let (mut energies, mut plain) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut speeds = Vec::with_capacity(n);
        let (mut impulse, mut velocity, mut worst) = (0.0, 0.0, 0);
        for (i, (r, &d)) in r.as_chunks::<D>().0.iter().zip(&self.d).enumerate() {
            let u = velocity_of(i);
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let size = length_of_miss(r, &u.map(|u| u / d), mu, rolling);
            let energy = size * d.sqrt();
            if energies.iter().all(|e| *e < energy) || energy.is_nan() {
                worst = i;
            }
            energies.push(energy);
            impulse = worse(impulse, size);
            velocity = worse(velocity, energy * d.sqrt());
            plain.push(length_of_miss(r, &u, mu, rolling));
            speeds.push(norm_of(&u));
        }
        let scale = self.q_plain.max(norm_of(r)).max(norm_of(&speeds));
        let unscaled = norm_of(&plain);
        Residual {
            eta: norm_of(&energies) / self.reference(),
            impulse,
            velocity,
            unscaled: if scale > 0.0 { unscaled / scale } else { 0.0 },
            worst,
        }
    }
}

/// Length of [`miss`] with `ρ u` given, of numbers of any size: the law is homogeneous.
pub(super) fn length_of_miss<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    mu: f64,
    rolling: f64,
) -> f64 {
    let unit = max_abs(r).max(max_abs(u));
    if unit == 0.0 {
        return 0.0;
    }
    let e = miss(&r.map(|v| v / unit), &u.map(|v| v / unit), 1.0, mu, rolling);
    square(&e).sqrt() * unit
}

/// Coefficients above this make the natural map blind: with `μ` large, `e_n` of a contact at rest that penetrates goes with
/// `1/μ²`.
pub(super) const STIFF: f64 = 10.0;

/// How much a contact with velocity `u` misses Coulomb's law, in impulses: [`defect`] of the De Saxcé velocity, and with
/// coefficients above 10 at least `ρ min(u_n, 0)`, which every solution makes zero.
#[inline]
pub(crate) fn miss<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> [f64; D] {
    let mut e = defect(r, &de_saxce(u, mu, rolling), rho, mu, rolling);
    if mu.max(rolling) > STIFF {
        let penetration = rho * u[0].min(0.0);
        if penetration.abs() > e[0].abs() {
            e[0] = penetration;
        }
    }
    e
}

/// `r − P_K(r − ρ û)` by cases, so that nothing cancels when `r` is huge.
#[inline]
pub(crate) fn defect<const D: usize>(
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
    let penetration = rho * hat[0].min(0.0);
    if penetration.abs() > e[0].abs() {
        e[0] = penetration;
    }
    e
}

#[inline]
pub(crate) fn square(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// Sums of squares in this range have lost nothing.
const SAFE: std::ops::Range<f64> = 1e-280..1e280;

pub(super) fn norm_of(x: &[f64]) -> f64 {
    let sum = square(x);
    if SAFE.contains(&sum) {
        return sum.sqrt();
    }
    let largest = max_abs(x);
    // Squares of denormal and of huge numbers leave the range.
    if largest > 0.0 && largest.is_finite() {
        x.iter()
            .map(|v| (v / largest) * (v / largest))
            .sum::<f64>()
            .sqrt()
            * largest
    } else {
        largest
    }
}

/// Whether a contact is open, sticks or slips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactState {
    /// No impulse.
    Open,
    /// The impulse is inside the cone.
    Stick,
    /// The impulse is on the boundary of the cone.
    Slip,
}

/// State of a contact from the projected point.
pub(crate) fn state<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> ContactState {
    let hat = de_saxce(u, mu, rolling);
    let mut x = *r;
    for (x, h) in x.iter_mut().zip(&hat) {
        *x -= rho * h;
    }
    match project(&x, mu, rolling).1 {
        Region::Inside if norm(&x) > 0.0 => ContactState::Stick,
        Region::Inside | Region::Polar => ContactState::Open,
        Region::Boundary => ContactState::Slip,
    }
}
