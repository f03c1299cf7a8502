//! Why a frictional problem has no solution, where that can be proven.

use super::problem::FrictionContact;
use crate::lcp::farkas_certificate;
use saltus_linear::Dense;

/// Up to this many contacts a failed solve is followed by a search for a proof of infeasibility.
pub const DIAGNOSIS_LIMIT: usize = 60;

/// Normal impulses `p ≥ 0` (one per contact) with `W (p n) = 0` and `q·(p n) < 0`: whatever the reactions are,
/// the velocities cannot all satisfy `u_n ≥ 0`. The contacts with `p_i > 0` squeeze something rigid.
///
/// `None` where there is no such proof, or more than [`DIAGNOSIS_LIMIT`] contacts.
#[must_use]
pub fn infeasibility(problem: &FrictionContact) -> Option<Vec<f64>> {
    let (n, d) = (problem.contacts(), problem.dimension());
    if n == 0 || n > DIAGNOSIS_LIMIT {
        return None;
    }
    // Is there any r with W_n r + q_n ≥ 0? Free unknowns r with empty rows of their own, then the inequalities.
    let free = d * n;
    let mut m = Dense::zeros(free + n, free + n);
    let mut q = vec![0.0; free + n];
    for (row, col, value) in problem.delassus().triplets() {
        if row % d == 0 {
            m[(free + row / d, col)] = value;
        }
    }
    for i in 0..n {
        q[free + i] = problem.free_velocity()[d * i];
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
