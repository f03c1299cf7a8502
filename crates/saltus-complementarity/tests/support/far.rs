//! Problems whose contacts have units of their own.

use super::{Random, planted};
use saltus_complementarity::BlockMatrix;
use saltus_complementarity::friction::{FrictionContact, FrictionSolver, Limits, solve};
use std::f64::consts::LOG2_10;

pub fn limits() -> Limits<'static> {
    Limits {
        max_iterations: 20_000,
        max_work: 1e8,
        ..Limits::default()
    }
}

/// `v · 2^k`.
pub fn times(v: f64, k: i32) -> f64 {
    let half = k / 2;
    v * f64::from(half).exp2() * f64::from(k - half).exp2()
}

/// A problem in plain units and the same with units for every contact: `W_ij 2^(g_i + g_j)`, `q_i 2^(g_i + b_i)`,
/// `r_i 2^(b_i − g_i)`.
pub struct Pair {
    pub plain: FrictionContact,
    pub far: FrictionContact,
    pub g: Vec<i32>,
    pub b: Vec<i32>,
}

impl Pair {
    pub fn new(plain: FrictionContact, g: Vec<i32>, b: Vec<i32>) -> Self {
        let d = plain.dimension();
        let entries: Vec<_> = plain
            .delassus()
            .triplets()
            .map(|(i, j, v)| (i, j, times(v, g[i / d] + g[j / d])))
            .collect();
        let w = BlockMatrix::from_triplets(d, plain.contacts(), entries);
        let q = plain.free_velocity().iter().enumerate();
        let q = q.map(|(k, q)| times(*q, g[k / d] + b[k / d])).collect();
        let (mu, rolling) = (plain.friction().to_vec(), plain.rolling().to_vec());
        let far = FrictionContact::new(w, q, mu, rolling).unwrap();
        Self { plain, far, g, b }
    }

    /// Impulses in the plain units.
    pub fn back(&self, r: &[f64]) -> Vec<f64> {
        let d = self.plain.dimension();
        let each = r.iter().enumerate();
        each.map(|(k, r)| times(*r, self.g[k / d] - self.b[k / d]))
            .collect()
    }

    /// What is wrong with the answer of `solver`, where it solves the plain problem.
    pub fn complaint(&self, solver: FrictionSolver) -> Option<String> {
        let size = self.plain.free_velocity().len();
        let plain = solve(&self.plain, solver, limits(), &mut vec![0.0; size]);
        let mut r = vec![0.0; size];
        let end = solve(&self.far, solver, limits(), &mut r);
        let all = [
            end.residual.eta,
            end.residual.impulse,
            end.residual.velocity,
            end.residual.unscaled,
            end.outcome.residual,
        ];
        if all.iter().chain(&r).any(|v| !v.is_finite()) {
            return Some(format!("{end:?}"));
        }
        if !plain.outcome.is_solved() {
            return None;
        }
        let again = self.far.residual(&r);
        let back = self.plain.residual(&self.back(&r));
        let good = end.outcome.is_solved() && again.eta <= 1e-8 && back.eta <= 1.01e-8;
        (!good).then(|| format!("{end:?} {again:?} {back:?} {:?} {:?}", self.g, self.b))
    }
}

/// Binary exponents `g`, `b` such that `10^±140` is the range of inertias, and that impulses and velocities can be written.
pub fn exponents(random: &mut Random) -> (i32, i32) {
    let g = (0.5 * 140.0 * LOG2_10 * random.signed()) as i32;
    loop {
        let velocity = (150.0 * LOG2_10 * random.signed()) as i32;
        let b = velocity - g;
        if (b - g).abs() < 980 {
            return (g, b);
        }
    }
}

/// Parts of `sizes` contacts that do not act on each other.
pub fn apart(random: &mut Random, d: usize, sizes: &[usize]) -> FrictionContact {
    let (mut entries, mut q, mut mu, mut rolling) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &n in sizes {
        let rank = d * n - random.below(1 + (n - 1) * d / 2);
        let (p, _) = planted(random, d, n, rank, (n + rank).is_multiple_of(2));
        let from = q.len();
        entries.extend(
            p.delassus()
                .triplets()
                .map(|(i, j, v)| (i + from, j + from, v)),
        );
        q.extend_from_slice(p.free_velocity());
        mu.extend_from_slice(p.friction());
        rolling.extend_from_slice(p.rolling());
    }
    let w = BlockMatrix::from_triplets(d, mu.len(), entries);
    FrictionContact::new(w, q, mu, rolling).unwrap()
}

/// Units of contacts, the same velocity in units of energy for all.
pub fn one_energy(random: &mut Random, n: usize) -> (Vec<i32>, Vec<i32>) {
    let (_, energy) = exponents(random);
    let room = (960 - energy.abs()).min(230);
    let g = (0..n).map(|_| (f64::from(room) * random.signed()) as i32);
    (g.collect(), vec![energy; n])
}
