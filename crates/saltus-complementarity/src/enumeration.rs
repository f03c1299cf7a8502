//! All solutions of a small problem by trying every active set: slow, simple, the referee of the others.

use crate::mlcp::Mlcp;
use saltus_linear::{Dense, Lu, MinimumNorm, RANK_TOLERANCE, dot, max_abs};

/// Up to this many complementary pairs all active sets are tried.
pub const ENUMERATION_LIMIT: usize = 12;

/// All isolated solutions of `problem`, and of every face of solutions that has a singular active
/// block the point of least norm where it is admissible. At most [`ENUMERATION_LIMIT`] complementary pairs; beyond that the list is empty.
///
/// A point is a solution if its residual is below `tolerance · (1 + ‖q‖∞)`.
#[must_use]
pub fn enumerate(problem: &Mlcp<'_>, tolerance: f64) -> Vec<Vec<f64>> {
    let n = problem.q.len();
    let mut found: Vec<Vec<f64>> = Vec::new();
    if n - problem.equalities.min(n) > ENUMERATION_LIMIT {
        return found;
    }
    let bound = problem.bound(tolerance);
    let mut search = Search::default();
    let mut z = vec![0.0; n];
    for mask in 0..1_u32 << (n - problem.equalities) {
        search.candidate(problem.matrix, problem.q, problem.equalities, mask, &mut z);
        if z[problem.equalities..]
            .iter()
            .any(|&v| v < -1e-12 * max_abs(&z))
        {
            continue;
        }
        for v in &mut z[problem.equalities..] {
            *v = v.max(0.0);
        }
        if problem.residual(&z) <= bound {
            let size = 1.0 + max_abs(&z);
            let known = found
                .iter()
                .any(|k| k.iter().zip(&z).all(|(a, b)| (a - b).abs() <= 1e-9 * size));
            if !known {
                found.push(z.clone());
            }
        }
    }
    found
}

/// The first solution of the scaled problem in the order of the active sets, if there is one.
pub(crate) fn first(m: &Dense, q: &[f64], e: usize, y: &mut [f64]) -> bool {
    let problem = Mlcp {
        equalities: e,
        matrix: m,
        q,
    };
    let bound = 1e-11 * max_abs(q);
    let mut search = Search::default();
    for mask in 0..1_u32 << (q.len() - e) {
        search.candidate(m, q, e, mask, y);
        for v in &mut y[e..] {
            if *v < 0.0 && *v > -1e-12 {
                *v = 0.0;
            }
        }
        if y[e..].iter().all(|&v| v >= 0.0) && problem.residual(y) <= bound {
            return true;
        }
    }
    false
}

#[derive(Default)]
struct Search {
    block: Dense,
    lu: Lu,
    rank: MinimumNorm,
    x: Vec<f64>,
    rhs: Vec<f64>,
}

impl Search {
    /// The point of the active set `mask`: `w = 0` there and in the equalities, `z = 0` elsewhere.
    fn candidate(&mut self, m: &Dense, q: &[f64], e: usize, mask: u32, z: &mut [f64]) {
        let set: Vec<usize> = (0..q.len())
            .filter(|&i| i < e || mask >> (i - e) & 1 == 1)
            .collect();
        self.block.reset(set.len(), set.len());
        for (k, &i) in set.iter().enumerate() {
            for (to, &j) in self.block.row_mut(k).iter_mut().zip(&set) {
                *to = m[(i, j)];
            }
        }
        self.x.clear();
        self.x.extend(set.iter().map(|&i| -q[i]));
        if self.lu.factorise(&self.block).is_ok() && self.lu.pivot_ratio() > RANK_TOLERANCE {
            self.lu.solve(&mut self.x);
            self.rhs.clear();
            for (k, &i) in set.iter().enumerate() {
                self.rhs.push(-q[i] - dot(self.block.row(k), &self.x));
            }
            self.lu.solve(&mut self.rhs);
            for (x, d) in self.x.iter_mut().zip(&self.rhs) {
                *x += d;
            }
        } else {
            self.rank.factorise(&self.block);
            self.rhs.clone_from(&self.x);
            self.rank.solve(&mut self.rhs, &mut self.x);
        }
        z.fill(0.0);
        for (k, &i) in set.iter().enumerate() {
            z[i] = self.x[k];
        }
    }
}
