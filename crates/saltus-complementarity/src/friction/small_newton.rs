//! Newton's method on the function of Alart and Curnier for a few contacts, with storage on the stack.
//!
//! In the plane that function is piecewise linear: once the mode of each contact (open, stick, slip to either side) is
//! reproduced by its own linear system, the solution is exact. There is no line search; where it does not converge, other methods
//! follow.

use super::functions::{NewtonFunction, evaluate};
use super::problem::FrictionContact;
use super::residual::{Residual, ResidualScales, square};
use crate::cone::project;
use crate::elimination::eliminate;

/// Largest number of unknowns.
const SIZE: usize = 20;
/// Largest number of steps.
const STEPS: u32 = 12;

/// Counted operations of a typical run; none where there are too many unknowns.
pub(crate) fn predicted<const D: usize>(contacts: usize) -> Option<f64> {
    let n = (D * contacts) as f64;
    (D * contacts <= SIZE).then_some(4.0 * (0.7 * n * n * n + 2.0 * D as f64 * n * n + 100.0 * n))
}

/// Newton's method from `r`, at most `limit` steps; `r` becomes the solution or is unchanged. Returns the residual, if solved,
/// and the number of steps.
pub(crate) fn solve<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    (tolerance, limit): (f64, u32),
    r: &mut [f64],
) -> (Option<Residual>, u32) {
    let n = problem.contacts();
    let mut given = [0.0; SIZE];
    if D * n > SIZE || r.len() != D * n {
        return (None, 0);
    }
    given[..D * n].copy_from_slice(r);
    let (found, steps) = run::<D>(problem, scales, (tolerance, limit.min(STEPS)), r);
    if found.is_none() {
        r.copy_from_slice(&given[..D * n]);
    }
    (found, steps)
}

fn run<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    (tolerance, limit): (f64, u32),
    r: &mut [f64],
) -> (Option<Residual>, u32) {
    let w = problem.delassus();
    let (q, _) = problem.free_velocity().as_chunks::<D>();
    let mu = problem.friction();
    let goal = 0.05 * tolerance * scales.reference();
    let mut least = f64::INFINITY;
    for step in 0..=limit {
        let mut a = [[0.0; SIZE]; SIZE];
        let mut x = [0.0; SIZE];
        let mut merit = 0.0;
        for i in 0..q.len() {
            let (points, _) = r.as_chunks::<D>();
            let mut u = w.row_dot::<D>(i, points);
            for (u, q) in u.iter_mut().zip(&q[i]) {
                *u += q;
            }
            let d = scales.contact_scales()[i];
            let (f, (df_dr, df_du)) = evaluate(
                NewtonFunction::AlartCurnier,
                &points[i],
                &u,
                1.0 / d,
                mu[i],
                problem.rolling_of(i),
            );
            merit += d * square(&f);
            let (blocks, _) = w.row(i).as_chunks::<D>();
            for k in 0..D {
                x[D * i + k] = -f[k];
                let line = &mut a[D * i + k];
                for (block, &j) in blocks.chunks_exact(D).zip(w.cols(i)) {
                    for (c, row) in df_du[k].iter().zip(block) {
                        for (to, w) in line[D * j..].iter_mut().zip(row) {
                            *to += c * w;
                        }
                    }
                }
                for (to, v) in line[D * i..].iter_mut().zip(&df_dr[k]) {
                    *to += v;
                }
            }
        }
        let merit = merit.sqrt();
        if merit <= goal {
            let (points, _) = r.as_chunks_mut::<D>();
            for (i, r) in points.iter_mut().enumerate() {
                *r = project(r, mu[i], problem.rolling_of(i)).0;
            }
            let residual = scales.residual_of_dimension::<D>(problem, r);
            return ((residual.eta <= tolerance).then_some(residual), step);
        }
        // The merit may increase while modes change, up to a bound.
        if step == limit
            || merit.is_nan()
            || merit > 1e3 * least
            || eliminate(&mut a, &mut x, r.len()).is_none()
        {
            return (None, step);
        }
        least = least.min(merit);
        for (r, x) in r.iter_mut().zip(&x) {
            *r += x;
        }
    }
    (None, limit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::block::BlockMatrix;
    use crate::friction::nsgs::Contacts;

    /// `n` contacts of a chain, in the plane.
    fn chain(n: usize, q: [f64; 2], mu: f64) -> FrictionContact {
        let mut entries = Vec::new();
        for i in 0..n {
            for k in 0..2 {
                entries.push((2 * i + k, 2 * i + k, 2.0));
                if i > 0 {
                    entries.push((2 * i + k, 2 * i + k - 2, -0.5));
                    entries.push((2 * i + k - 2, 2 * i + k, -0.5));
                }
            }
        }
        let w = BlockMatrix::from_triplets(2, n, entries);
        FrictionContact::new(w, q.repeat(n), vec![mu; n], Vec::new()).unwrap()
    }

    fn run(p: &FrictionContact, r: &mut [f64]) -> Option<Residual> {
        solve::<2>(p, &ResidualScales::new(p), (1e-10, STEPS), r).0
    }

    /// One contact: r_n = −q_n/w, and the friction force −μ r_n or what stops the sliding, whichever is less.
    #[test]
    fn one_contact_in_closed_form() {
        for (q, expected) in [
            ([1.0, 5.0], [0.0, 0.0]),
            ([-1.0, 0.2], [0.5, -0.1]),
            ([-1.0, 5.0], [0.5, -0.15]),
            ([-1.0, -5.0], [0.5, 0.15]),
        ] {
            let mut r = [0.0; 2];
            run(&chain(1, q, 0.3), &mut r).unwrap();
            let close = r.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{q:?}: {r:?}");
        }
    }

    #[test]
    fn it_agrees_with_sweeps() {
        for (q, mu) in [([-1.0, 0.3], 0.2), ([-1.0, 0.3], 0.9), ([-0.2, -1.0], 0.5)] {
            let p = chain(6, q, mu);
            let (mut newton, mut sweeps) = (vec![0.0; 12], vec![0.0; 12]);
            run(&p, &mut newton).unwrap();
            let rows = Contacts::<2> {
                w: p.delassus(),
                q: p.free_velocity().as_chunks().0,
                mu: p.friction(),
                rolling: p.rolling(),
            };
            let (impulses, _) = sweeps.as_chunks_mut();
            for contact in (0..200).flat_map(|_| 0..6) {
                rows.solve_contact(impulses, contact, 1.0, &mut 0.0);
            }
            let gap = newton.iter().zip(&sweeps).map(|(a, b)| (a - b).abs());
            assert!(gap.fold(0.0, f64::max) < 1e-9, "{newton:?} {sweeps:?}");
        }
    }

    /// Where it does not converge, the point stays as it was; where there are too many unknowns, it does not begin.
    #[test]
    fn what_is_not_solved_stays() {
        let entries = [(0, 0, 1.0), (0, 2, -1.0), (2, 0, -1.0), (2, 2, 1.0)];
        let w = BlockMatrix::from_triplets(2, 2, entries);
        let squeezed =
            FrictionContact::new(w, vec![-1.0, 0.0, -1.0, 0.0], vec![0.5; 2], Vec::new());
        let mut r = [0.25, 0.0, 0.5, 0.0];
        assert!(run(&squeezed.unwrap(), &mut r).is_none());
        assert_eq!(r, [0.25, 0.0, 0.5, 0.0]);
        assert!(predicted::<2>(11).is_none() && predicted::<2>(10).is_some());
        assert!(run(&chain(11, [-1.0, 0.0], 0.5), &mut [0.0; 22]).is_none());
    }
}
