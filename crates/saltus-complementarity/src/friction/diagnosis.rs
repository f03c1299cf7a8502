//! Why a frictional problem has no solution, where that can be proven.

use super::measure::{Measure, miss, square};
use super::problem::FrictionContact;
use super::units::Range;
use crate::lcp::farkas_certificate;
use saltus_linear::Dense;

/// Up to this many contacts that act on each other a failed solve is followed by a search for a proof of infeasibility.
pub const DIAGNOSIS_LIMIT: usize = 60;

/// Normal impulses `p ≥ 0` (one per contact) with `(p n)ᵀ W = 0` and `q·(p n) < 0`: whatever the reactions are,
/// the velocities cannot all satisfy `u_n ≥ 0`. The contacts with `p_i > 0` squeeze something rigid.
///
/// `None` where no connected part of at most [`DIAGNOSIS_LIMIT`] contacts has such a proof. A matrix-free problem is
/// assembled if it is no larger than that.
#[must_use]
pub fn infeasibility(problem: &FrictionContact) -> Option<Vec<f64>> {
    match Range::of(problem) {
        Range::Usual => search(problem, |_| true),
        // Impulses in any unit prove the same.
        Range::Other(units) => search(&units.problem, |_| true),
        Range::Beyond => None,
    }
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
}

/// The first proof among the small connected parts that are `suspect`.
fn search(problem: &FrictionContact, suspect: impl Fn(&[usize]) -> bool) -> Option<Vec<f64>> {
    if problem.is_matrix_free() && problem.contacts() > DIAGNOSIS_LIMIT {
        return None;
    }
    let problem = &*problem.assembled();
    let parts = problem.delassus().components().into_iter();
    parts
        .filter(|part| part.len() <= DIAGNOSIS_LIMIT && suspect(part))
        .find_map(|part| {
            let proof = squeezed(problem, &part)?;
            let mut all = vec![0.0; problem.contacts()];
            for (i, p) in part.into_iter().zip(proof) {
                all[i] = p;
            }
            Some(all)
        })
}

/// The proof for the contacts `part`, on which no other contact acts.
fn squeezed(problem: &FrictionContact, part: &[usize]) -> Option<Vec<f64>> {
    let (n, d) = (part.len(), problem.dimension());
    // Is there any r with W_n r + q_n ≥ 0? Free unknowns r with empty rows of their own, then the inequalities.
    let free = d * n;
    let mut m = Dense::zeros(free + n, free + n);
    let mut q = vec![0.0; free + n];
    for (a, &i) in part.iter().enumerate() {
        q[free + a] = problem.free_velocity()[d * i];
        let blocks = problem.delassus().row(i).chunks_exact(d * d);
        for (j, block) in problem.delassus().cols(i).iter().zip(blocks) {
            if let Ok(b) = part.binary_search(j) {
                for k in 0..d {
                    m[(free + a, d * b + k)] = block[k];
                }
            }
        }
    }
    farkas_certificate(&m, &q, free).map(|y| y[free..].to_vec())
}

/// Contacts whose normal velocity a sliding friction force can drive the wrong way (Painlevé):
/// `μ |w_tn| ≥ w_nn`. Several answers, or none, are possible there.
#[must_use]
pub fn painleve_contacts(problem: &FrictionContact) -> Vec<usize> {
    let d = problem.dimension();
    (0..problem.contacts())
        .filter(|&i| {
            let w = problem.delassus().diagonal(i);
            let coupling = (1..d.min(3)).map(|k| w[k] * w[k]).sum::<f64>().sqrt();
            w[0] > 0.0 && problem.friction()[i] * coupling >= w[0]
        })
        .collect()
}
