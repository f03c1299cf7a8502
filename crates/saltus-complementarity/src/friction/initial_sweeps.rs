//! Initial Gauss–Seidel sweeps of `auto`, on the unscaled data and in place.
//!
//! They suffice for most problems of a few contacts and for many weakly coupled ones of any size. No scaling is needed: the exact
//! solution of one contact does not depend on the unit of its impulse.

use super::nsgs::Contacts;
use super::problem::FrictionContact;
use super::residual::{Residual, ResidualScales};
use super::small_newton;
use super::solver_state::Limits;

/// Largest predicted number of remaining sweeps: the setup of other methods costs as much.
const MAX_REMAINING_SWEEPS: f64 = 60.0;

/// Newton's method is tried at the first check if it costs no more than this many sweeps.
const FIRST_CHECK_SWEEPS: f64 = 5.0;

/// Outcome of the sweeps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InitialSweeps {
    pub sweeps: u64,
    pub work: f64,
    /// Residual of the last point, if it is a solution.
    pub solved: Option<Residual>,
}

/// Sweeps from `r` while they are predicted to converge soon; Newton's method on few contacts where that costs less.
pub(crate) fn sweeps<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    limits: Limits<'_>,
    r: &mut [f64],
) -> InitialSweeps {
    let n = problem.contacts();
    let w = problem.delassus();
    let contacts = Contacts::<D> {
        w,
        q: problem.free_velocity().as_chunks::<D>().0,
        mu: problem.friction(),
        rolling: problem.rolling(),
    };
    let product = (2 * D * D * w.stored()) as f64;
    let sweep_work = 2.0 * product + (100 * D * n) as f64;
    let mut newton = small_newton::predicted::<D>(n);
    let max_work = limits.max_work.min(4.0 * MAX_REMAINING_SWEEPS * sweep_work);
    let reference = scales.reference();
    let mut done = InitialSweeps {
        sweeps: 0,
        work: 0.0,
        solved: None,
    };
    if r.iter().any(|v| *v != 0.0) {
        let residual = scales.residual_of_dimension::<D>(problem, r);
        done.work += product;
        if residual.eta <= limits.tolerance {
            done.solved = Some(residual);
            return done;
        }
    }
    let mut threshold = limits.tolerance;
    // The first check is after one sweep, which solves uncoupled contacts; later ones measure the rate of convergence.
    let (mut next_check, mut last_check) = (1, 0);
    let mut before = f64::INFINITY;
    while done.sweeps < limits.max_iterations && done.work < max_work && !limits.cancelled() {
        let (blocks, _) = r.as_chunks_mut::<D>();
        let mut change = 0.0;
        for (i, d) in scales.contact_scales().iter().enumerate() {
            change += d * contacts.solve_contact(blocks, i, 1.0, &mut done.work);
        }
        done.sweeps += 1;
        done.work += sweep_work;
        let change = change.sqrt() / reference;
        let due = done.sweeps == next_check;
        if !(change <= threshold || due) {
            continue;
        }
        let residual = scales.residual_of_dimension::<D>(problem, r);
        done.work += product;
        if residual.eta <= limits.tolerance {
            done.solved = Some(residual);
            return done;
        }
        if !residual.eta.is_finite() {
            return done;
        }
        if due {
            let rate = (before / residual.eta).ln() / (next_check - last_check) as f64;
            let left = (residual.eta / limits.tolerance).ln() / rate;
            // No rate follows from the first sweep, which may increase the residual.
            let continues = last_check == 0 || rate > 0.0 && left <= MAX_REMAINING_SWEEPS;
            let is_cheaper = |cost: &f64| {
                if last_check == 0 {
                    *cost <= FIRST_CHECK_SWEEPS * sweep_work
                } else {
                    !continues || *cost < left * sweep_work
                }
            };
            if let Some(cost) = newton.filter(is_cheaper) {
                let rest = limits.max_iterations - done.sweeps;
                let max_steps = u32::try_from(rest).unwrap_or(u32::MAX);
                let (solved, steps) =
                    small_newton::solve::<D>(problem, scales, (limits.tolerance, max_steps), r);
                done.sweeps += u64::from(steps);
                done.work += cost;
                if solved.is_some() {
                    done.solved = solved;
                    return done;
                }
                // A second attempt only after one at the first check.
                newton = newton.filter(|_| last_check == 0);
                next_check = done.sweeps;
            }
            if !continues {
                return done;
            }
            (before, last_check) = (residual.eta, next_check);
            next_check += if newton.is_some() { 4 } else { 9 };
        }
        if change <= threshold {
            threshold *= (limits.tolerance / (2.0 * residual.eta)).clamp(0.1, 0.5);
        }
    }
    done
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::block::BlockMatrix;

    /// Contacts of dimension 3 in a row, neighbours coupled by `coupling`.
    fn row(n: usize, coupling: f64, q: [f64; 3]) -> FrictionContact {
        let mut entries = Vec::new();
        for i in 0..3 * n {
            entries.push((i, i, 1.0));
            if i >= 3 {
                entries.push((i, i - 3, coupling));
                entries.push((i - 3, i, coupling));
            }
        }
        let w = BlockMatrix::from_triplets(3, n, entries);
        FrictionContact::new(w, q.repeat(n), vec![0.3; n], Vec::new()).unwrap()
    }

    fn run(p: &FrictionContact, limits: Limits<'_>, r: &mut [f64]) -> InitialSweeps {
        sweeps::<3>(p, &ResidualScales::new(p), limits, r)
    }

    /// Contacts that do not couple: one sweep, each sliding with −μ r_n.
    #[test]
    fn contacts_by_themselves_take_one_sweep() {
        let p = row(4, 0.0, [-0.1, 1.0, 0.0]);
        let mut r = [0.0; 12];
        let done = run(&p, Limits::default(), &mut r);
        assert_eq!(done.sweeps, 1);
        assert!(done.solved.unwrap().eta < 1e-14);
        for r in r.chunks_exact(3) {
            assert!((r[0] - 0.1).abs() < 1e-15 && (r[1] + 0.03).abs() < 1e-15);
        }
        // A guess that is a solution is recognised.
        assert_eq!(run(&p, Limits::default(), &mut r).sweeps, 0);
    }

    /// What sweeps end at solves the problem from its own data; limits are kept.
    #[test]
    fn weak_coupling_ends_soon_and_limits_are_kept() {
        let p = row(9, 0.3, [-0.1, 1.0, 0.2]);
        let mut r = [0.0; 27];
        let done = run(&p, Limits::default(), &mut r);
        assert!(done.solved.is_some() && p.residual(&r).eta <= 1e-8 && done.work > 0.0);
        let few = Limits {
            max_iterations: 2,
            ..Limits::default()
        };
        let done = run(&p, few, &mut [0.0; 27]);
        assert_eq!((done.sweeps, done.solved.is_none()), (2, true));
    }

    /// Contacts that squeeze are given up after a few sweeps.
    #[test]
    fn what_does_not_end_soon_is_left_to_others() {
        let entries = [(0, 0, 1.0), (0, 3, -1.0), (3, 0, -1.0), (3, 3, 1.0)];
        let w = BlockMatrix::from_triplets(3, 2, entries);
        let q = vec![-1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
        let p = FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap();
        let done = run(&p, Limits::default(), &mut [0.0; 6]);
        assert!(done.solved.is_none() && done.sweeps < 300, "{done:?}");
    }
}
