//! Certificates that a frictional problem has no solution.

use super::modes;
use super::problem::FrictionContact;
use super::residual::{ResidualScales, law_residual, square};
use crate::block::BlockMatrix;
use crate::contact::has_no_mode;
use crate::lcp::{Inequalities, PhaseOne};
use saltus_linear::{Dense, max_abs};

/// Largest number of contacts for which a matrix-free problem is assembled for a proof.
const SMALL: usize = 60;

/// Largest number of coupled contacts for which a proof of infeasibility is sought, during a long solve and after a failed one.
pub const PROOF_LIMIT: usize = 300;

/// Largest number of planar contacts of which all combinations of modes are tried.
const FEW: usize = 6;

/// Tolerance of a proof for the rounding of the data, relative to its terms.
const ROUNDING: f64 = 1e-13;

/// Normal impulses `p ≥ 0` (one per contact) with `q·(p n) < 0` and `(p n)ᵀ W = 0`: no reaction changes `p·u_n < 0`, and the
/// velocities cannot all satisfy `u_n ≥ 0`. The contacts with `p_i > 0` close on rigid bodies from
/// opposite sides.
///
/// `None` where no connected part of at most [`PROOF_LIMIT`] contacts has such a proof that exceeds the rounding of its data;
/// with large mass ratios it may not. A matrix-free problem is assembled if it is small.
#[must_use]
pub fn infeasibility(problem: &FrictionContact) -> Option<Vec<f64>> {
    search(problem, |_| true)
}

/// Whether there is a proof for one of the connected parts that `r` does not solve to its share of `tolerance`.
pub(crate) fn is_infeasible<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    tolerance: f64,
    r: &[f64],
) -> bool {
    let mut u = vec![0.0; r.len()];
    problem.velocity(r, &mut u);
    let (r, u) = (r.as_chunks::<D>().0, u.as_chunks::<D>().0);
    let goal = (tolerance * scales.reference()).powi(2) / problem.contacts().max(1) as f64;
    let solved = |part: &[usize]| {
        let each = part.iter().map(|&i| {
            let (mu, rolling) = (problem.friction()[i], problem.rolling_of(i));
            let d = scales.contact_scales()[i];
            d * square(&law_residual(&r[i], &u[i], 1.0 / d, mu, rolling))
        });
        each.sum::<f64>() <= goal
    };
    search(problem, |part| !solved(part)).is_some()
        || unsolvable(problem, |part| !solved(part)).is_some()
        || D == 2 && have_no_mode(problem, |part| !solved(part))
}

/// Whether no combination of modes of some few planar contacts obeys their laws: a disc in a corner that restitution makes it leave
/// while friction keeps it there.
fn have_no_mode(problem: &FrictionContact, candidate: impl Fn(&[usize]) -> bool) -> bool {
    if problem.is_matrix_free() && problem.contacts() > SMALL {
        return false;
    }
    let problem = &*problem.assembled();
    let w = problem.delassus();
    let parts = w.components().into_iter();
    let mut few = parts.filter(|part| (2..=FEW).contains(&part.len()) && candidate(part));
    few.any(|contacts| {
        let (part, n) = (w.part(&contacts), contacts.len());
        let mut matrix = Dense::zeros(2 * n, 2 * n);
        for i in 0..n {
            for (&j, block) in part.cols(i).iter().zip(part.row(i).chunks_exact(4)) {
                for (r, row) in block.chunks_exact(2).enumerate() {
                    matrix.row_mut(2 * i + r)[2 * j..][..2].copy_from_slice(row);
                }
            }
        }
        let velocity = problem.free_velocity();
        let q = contacts.iter().flat_map(|&i| &velocity[2 * i..][..2]);
        let q: Vec<f64> = q.copied().collect();
        let mu: Vec<f64> = contacts.iter().map(|&i| problem.friction()[i]).collect();
        has_no_mode(&mu, &matrix, &q)
    })
}

/// An uncoupled contact of two or three components without a solution, neither open nor sticking nor slipping, also for slightly
/// different velocities: a rod that jams (Painlevé).
#[must_use]
pub fn unsolvable_contact(problem: &FrictionContact) -> Option<usize> {
    unsolvable(problem, |_| true)
}

fn unsolvable(problem: &FrictionContact, candidate: impl Fn(&[usize]) -> bool) -> Option<usize> {
    if problem.is_matrix_free() && problem.contacts() > SMALL {
        return None;
    }
    let problem = &*problem.assembled();
    let parts = problem.delassus().components().into_iter();
    let mut single = parts.filter(|part| part.len() == 1 && candidate(part));
    single.find_map(|part| {
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

/// The first proof among the connected parts of at most [`PROOF_LIMIT`] contacts for which `candidate` holds; its largest entry
/// is 1.
fn search(problem: &FrictionContact, candidate: impl Fn(&[usize]) -> bool) -> Option<Vec<f64>> {
    if problem.is_matrix_free() && problem.contacts() > SMALL {
        return None;
    }
    let problem = &*problem.assembled();
    let (w, d) = (problem.delassus(), problem.dimension());
    let scales = ResidualScales::new(problem);
    let parts = w.components().into_iter();
    let mut candidates = parts.filter(|part| part.len() <= PROOF_LIMIT && candidate(part));
    candidates.find_map(|contacts| {
        let root = |a: usize| scales.contact_scales()[contacts[a]].sqrt();
        let part = w.part(&contacts).scaled(|a, b| 1.0 / (root(a) * root(b)));
        let normal = |a: usize| problem.free_velocity()[d * contacts[a]] / root(a);
        let proof = frictionless_proof(&part, normal)?;
        let mut all = vec![0.0; problem.contacts()];
        for (a, p) in proof.iter().enumerate() {
            all[contacts[a]] = p / root(a);
        }
        let largest = max_abs(&all);
        all.iter_mut().for_each(|p| *p /= largest);
        Some(all)
    })
}

/// Normal impulses that prove that no `r` has `W_n r + q_n ≥ 0`, with the normal components `q_n` of the scaled problem.
pub(crate) fn frictionless_proof(
    w: &BlockMatrix,
    normal: impl Fn(usize) -> f64,
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
        equation: &|_| false,
        free: &|_| true,
    };
    match inequalities.phase_one() {
        PhaseOne::Infeasible(y) => vanishes(&m, &y, d).then_some(y),
        _ => None,
    }
}

/// Whether `(p n)ᵀ W = 0` up to the rounding of the data, given the normal rows `m` of `W`.
fn vanishes(m: &Dense, p: &[f64], d: usize) -> bool {
    let (mut image, mut terms) = (vec![0.0; m.cols()], vec![0.0; m.cols()]);
    for (i, p) in p.iter().enumerate() {
        for (j, w) in m.row(i).iter().enumerate() {
            image[j] += p * w;
            terms[j] += (p * w).abs();
        }
    }
    let mut contacts = image.chunks_exact(d).zip(terms.chunks_exact(d));
    contacts.all(|(image, terms)| max_abs(image) <= ROUNDING * max_abs(terms))
}

/// Counted operations of the search for a proof for `n` contacts of dimension `d`: about as many pivots as rows.
pub(crate) fn proof_work(n: usize, d: usize) -> f64 {
    (4 * n * n * (2 * d + 2)) as f64 * n as f64
}
