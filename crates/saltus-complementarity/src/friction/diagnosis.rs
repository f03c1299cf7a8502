//! Why a frictional problem has no solution, where that can be proven.

use super::measure::{Measure, miss, square};
use super::modes;
use super::problem::FrictionContact;
use crate::block::BlockMatrix;
use crate::cone::norm;
use crate::definite::{is_semidefinite, is_symmetric};
use crate::lcp::{Inequalities, PhaseOne};
use saltus_linear::{Dense, dot, max_abs};

/// Up to this many contacts a matrix-free problem is assembled for a proof, and the cones are taken into account where `W` is not
/// symmetric and positive semidefinite.
const SMALL: usize = 60;

/// Up to this many contacts that act on each other a proof of infeasibility is looked for, when a solver has spent some work and
/// when it has failed.
pub const PROOF_LIMIT: usize = 300;

/// Rounding of the data that a proof may miss by, relative to its terms.
const ROUNDING: f64 = 1e-13;

/// Normal impulses `p ≥ 0` (one per contact) with `q·(p n) < 0` and `(p n)ᵀ W r ≤ 0` for all reactions `r` in the cones: the
/// velocities cannot all satisfy `u_n ≥ 0`. Where `W` is symmetric and positive semidefinite, `(p n)ᵀ W = 0`: the contacts with
/// `p_i > 0` squeeze something rigid. Where it is not, reactions may pull as well (`W_nn < 0`).
///
/// `None` where no connected part of at most [`PROOF_LIMIT`] contacts has such a proof that holds in spite of the rounding of its
/// data: a heavy body on a light one nearly squeezes it. A matrix-free problem is assembled if it is small.
#[must_use]
pub fn infeasibility(problem: &FrictionContact) -> Option<Vec<f64>> {
    search(problem, |_| true)
}

/// Whether there is a proof among the connected parts that `r` does not solve to their share of `tolerance`.
pub(crate) fn is_infeasible<const D: usize>(
    problem: &FrictionContact,
    measure: &Measure,
    tolerance: f64,
    r: &[f64],
) -> bool {
    let mut u = vec![0.0; r.len()];
    problem.velocity(r, &mut u);
    let (r, u) = (r.as_chunks::<D>().0, u.as_chunks::<D>().0);
    let goal = (tolerance * measure.reference()).powi(2) / problem.contacts().max(1) as f64;
    let solved = |part: &[usize]| {
        let each = part.iter().map(|&i| {
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let d = measure.scales()[i];
            d * square(&miss(&r[i], &u[i], 1.0 / d, mu, rolling))
        });
        each.sum::<f64>() <= goal
    };
    search(problem, |part| !solved(part)).is_some()
        || unsolvable(problem, |part| !solved(part)).is_some()
}

/// A contact that acts on no other and has no solution, neither open nor sticking nor slipping: a rod that jams (Painlevé). It
/// has two or three components, and none for velocities nearby either.
#[must_use]
pub fn unsolvable_contact(problem: &FrictionContact) -> Option<usize> {
    unsolvable(problem, |_| true)
}

fn unsolvable(problem: &FrictionContact, suspect: impl Fn(&[usize]) -> bool) -> Option<usize> {
    if problem.is_matrix_free() && problem.contacts() > SMALL {
        return None;
    }
    let problem = &*problem.assembled();
    let parts = problem.delassus().components().into_iter();
    let mut alone = parts.filter(|part| part.len() == 1 && suspect(part));
    alone.find_map(|part| {
        let none = match problem.dimension() {
            2 => has_no_solution::<2>(problem, part[0]),
            3 => has_no_solution::<3>(problem, part[0]),
            _ => false,
        };
        none.then_some(part[0])
    })
}

fn has_no_solution<const D: usize>(problem: &FrictionContact, i: usize) -> bool {
    let q: Result<&[f64; D], _> = problem.free_velocity()[D * i..][..D].try_into();
    let (w, mu) = (problem.delassus().diagonal(i), problem.friction()[i]);
    q.is_ok_and(|q| modes::has_no_solution(w, q, mu))
}

/// The first proof among the connected parts that are `suspect` and not too large.
fn search(problem: &FrictionContact, suspect: impl Fn(&[usize]) -> bool) -> Option<Vec<f64>> {
    by_parts(problem, suspect, |part| {
        let d = part.w.dimension();
        let proof = squeezed(&part.w, |a| part.q[d * a], |a| part.cone(a))?;
        let mut all = vec![0.0; part.of.contacts()];
        for ((&i, p), root) in part.contacts.iter().zip(proof).zip(&part.root) {
            all[i] = p / root;
        }
        let largest = max_abs(&all);
        all.iter_mut().for_each(|p| *p /= largest);
        Some(all)
    })
}

/// A connected part of a problem, in units in which the diagonal of `W` is 1.
struct Part<'a> {
    of: &'a FrictionContact,
    contacts: &'a [usize],
    root: Vec<f64>,
    w: BlockMatrix,
    q: Vec<f64>,
}

impl Part<'_> {
    /// Coefficients of friction and of rolling of its contact `a`.
    fn cone(&self, a: usize) -> (f64, f64) {
        let i = self.contacts[a];
        (self.of.friction()[i], self.of.rolling_of(i))
    }
}

/// The first that `proof` finds among the connected parts of at most [`PROOF_LIMIT`] contacts that are `suspect`.
fn by_parts<T>(
    problem: &FrictionContact,
    suspect: impl Fn(&[usize]) -> bool,
    mut proof: impl FnMut(&Part<'_>) -> Option<T>,
) -> Option<T> {
    if problem.is_matrix_free() && problem.contacts() > SMALL {
        return None;
    }
    let problem = &*problem.assembled();
    let (w, d) = (problem.delassus(), problem.dimension());
    let measure = Measure::new(problem);
    let parts = w.components().into_iter();
    let mut suspects = parts.filter(|part| part.len() <= PROOF_LIMIT && suspect(part));
    suspects.find_map(|contacts| {
        let root: Vec<f64> = contacts
            .iter()
            .map(|&i| measure.scales()[i].sqrt())
            .collect();
        let q = contacts.iter().zip(&root).flat_map(|(&i, root)| {
            let own = &problem.free_velocity()[d * i..][..d];
            own.iter().map(move |q| q / root)
        });
        proof(&Part {
            of: problem,
            contacts: &contacts,
            w: w.part(&contacts).scaled(|a, b| 1.0 / (root[a] * root[b])),
            q: q.collect(),
            root,
        })
    })
}

/// Normal impulses that prove that no `r` in the cones (coefficients of friction and of rolling) has `W_n r + q_n ≥ 0`, with the
/// normal components `q_n` of the scaled problem.
pub(crate) fn squeezed(
    w: &BlockMatrix,
    normal: impl Fn(usize) -> f64,
    cone: impl Fn(usize) -> (f64, f64),
) -> Option<Vec<f64>> {
    let (n, d) = (w.blocks(), w.dimension());
    let mut m = Dense::zeros(n, d * n);
    let q: Vec<f64> = (0..n).map(normal).collect();
    for i in 0..n {
        for (&j, block) in w.cols(i).iter().zip(w.row(i).chunks_exact(d * d)) {
            m.row_mut(i)[d * j..][..d].copy_from_slice(&block[..d]);
        }
    }
    let inequalities = Inequalities {
        matrix: &m,
        constant: &q,
        equation: |_| false,
        free: |_| true,
    };
    match inequalities.phase_one() {
        PhaseOne::Proof(y) => holds(&m, &y, d, &cone).then_some(y),
        // With `W` symmetric and positive semidefinite the cones say no more: (p n)ᵀ W (p n) ≤ 0 makes (p n)ᵀ W = 0.
        _ if n > SMALL || is_monotone(w) => None,
        _ => pulled(&m, &q, d, &cone).filter(|y| holds(&m, y, d, &cone)),
    }
}

/// Whether `−(p n)ᵀ W`, given the normal rows `m` of `W`, is in the dual cones up to the rounding of the data.
fn holds(m: &Dense, p: &[f64], d: usize, cone: &impl Fn(usize) -> (f64, f64)) -> bool {
    let (mut pulled, mut terms) = (vec![0.0; m.cols()], vec![0.0; m.cols()]);
    for (i, p) in p.iter().enumerate() {
        for (j, w) in m.row(i).iter().enumerate() {
            pulled[j] += p * w;
            terms[j] += (p * w).abs();
        }
    }
    let contacts = pulled.chunks_exact(d).zip(terms.chunks_exact(d));
    contacts.enumerate().all(|(j, (own, terms))| {
        let (mu, rolling) = cone(j);
        let sideways = mu * norm(&own[1..d.min(3)]) + rolling * norm(&own[d.min(3)..]);
        own[0] + sideways <= ROUNDING * max_abs(terms)
    })
}

/// Whether `W` is symmetric and positive semidefinite.
fn is_monotone(w: &BlockMatrix) -> bool {
    let size = w.dimension() * w.blocks();
    let mut dense = Dense::zeros(size, size);
    for (i, j, v) in w.triplets() {
        dense[(i, j)] += v;
    }
    is_symmetric(&dense) && is_semidefinite(&dense)
}

/// The proof with reactions in polyhedral cones around the true ones, given the normal rows `m` of `W`.
fn pulled(m: &Dense, q: &[f64], d: usize, cone: &impl Fn(usize) -> (f64, f64)) -> Option<Vec<f64>> {
    let n = q.len();
    let edges: Vec<Vec<[f64; 5]>> = (0..n).map(|i| edges(d, cone(i))).collect();
    let total = edges.iter().map(Vec::len).sum();
    let mut matrix = Dense::zeros(n, total);
    for i in 0..n {
        let row = m.row(i);
        let along = edges.iter().enumerate().flat_map(|(j, edges)| {
            let block = &row[d * j..][..d];
            edges.iter().map(move |e| dot(block, &e[..d]))
        });
        for (to, v) in matrix.row_mut(i).iter_mut().zip(along) {
            *to = v;
        }
    }
    let inequalities = Inequalities {
        matrix: &matrix,
        constant: q,
        equation: |_| false,
        free: |_| false,
    };
    match inequalities.phase_one() {
        PhaseOne::Proof(y) => Some(y),
        _ => None,
    }
}

/// Edges of a polyhedral cone around that of a contact: the cone itself in the plane, eight edges around a circular one, with
/// rolling the squares around sliding and rolling together.
fn edges(d: usize, (mu, rolling): (f64, f64)) -> Vec<[f64; 5]> {
    let unit = 1.0 / mu.max(rolling).max(1.0);
    let (one, mu, rolling) = (unit, mu * unit, rolling * unit);
    let signs = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    match d {
        2 => vec![[one, mu, 0.0, 0.0, 0.0], [one, -mu, 0.0, 0.0, 0.0]],
        3 => {
            let radius = mu / (std::f64::consts::PI / 8.0).cos();
            let angle = |k: usize| std::f64::consts::FRAC_PI_4 * k as f64;
            let each = (0..8).map(|k| angle(k).sin_cos());
            each.map(|(s, c)| [one, radius * c, radius * s, 0.0, 0.0])
                .collect()
        }
        _ => {
            let pairs = signs.iter().flat_map(|t| signs.iter().map(move |r| (t, r)));
            pairs
                .map(|(t, r)| [one, mu * t[0], mu * t[1], rolling * r[0], rolling * r[1]])
                .collect()
        }
    }
}

/// Counted operations of the search for a proof for `n` contacts of dimension `d`: about as many pivots as rows.
pub(crate) fn proof_work(n: usize, d: usize) -> f64 {
    (4 * n * n * (2 * d + 2)) as f64 * n as f64
}
