//! A few contacts at once: Newton's method on the function of Alart and Curnier, on the stack.
//!
//! In the plane that function is piecewise linear: once the mode of each contact (open, stick, slip to either side) comes
//! back from its own linear system, the solution is exact. There is no line search; what does not converge at once is left
//! to the methods that have one.

use super::functions::{NewtonFunction, evaluate};
use super::measure::{Measure, Residual, square};
use super::problem::FrictionContact;
use crate::cone::project;
use crate::elimination::eliminate;

/// Most unknowns.
const SIZE: usize = 20;
/// Most steps.
const STEPS: u32 = 12;

/// Counted operations of a run that goes well; none where there are too many unknowns.
pub(crate) fn predicted<const D: usize>(contacts: usize) -> Option<f64> {
    let n = (D * contacts) as f64;
    (D * contacts <= SIZE).then_some(4.0 * (0.7 * n * n * n + 2.0 * D as f64 * n * n + 100.0 * n))
}

/// Newton's method from `r`, where a solution goes; otherwise `r` stays as it was. Second: the steps.
pub(crate) fn solve<const D: usize>(
    problem: &FrictionContact,
    measure: &Measure,
    tolerance: f64,
    r: &mut [f64],
) -> (Option<Residual>, u32) {
    let n = problem.contacts();
    let mut given = [0.0; SIZE];
    if D * n > SIZE || r.len() != D * n {
        return (None, 0);
    }
    given[..D * n].copy_from_slice(r);
    let (found, steps) = run::<D>(problem, measure, tolerance, r);
    if found.is_none() {
        r.copy_from_slice(&given[..D * n]);
    }
    (found, steps)
}

fn run<const D: usize>(
    problem: &FrictionContact,
    measure: &Measure,
    tolerance: f64,
    r: &mut [f64],
) -> (Option<Residual>, u32) {
    let w = problem.delassus();
    let (q, _) = problem.free_velocity().as_chunks::<D>();
    let mu = problem.friction();
    let goal = 0.05 * tolerance * measure.reference();
    let mut least = f64::INFINITY;
    for step in 0..=STEPS {
        let mut a = [[0.0; SIZE]; SIZE];
        let mut x = [0.0; SIZE];
        let mut merit = 0.0;
        for i in 0..q.len() {
            let (points, _) = r.as_chunks::<D>();
            let mut u = w.row_dot::<D>(i, points);
            for (u, q) in u.iter_mut().zip(&q[i]) {
                *u += q;
            }
            let d = measure.scales()[i];
            let (f, (own, through)) = evaluate(
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
                    for (c, row) in through[k].iter().zip(block) {
                        for (to, w) in line[D * j..].iter_mut().zip(row) {
                            *to += c * w;
                        }
                    }
                }
                for (to, v) in line[D * i..].iter_mut().zip(&own[k]) {
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
            let residual = measure.computed::<D>(problem, r);
            return ((residual.eta <= tolerance).then_some(residual), step);
        }
        // It may rise while contacts change their mode, but not without end.
        if merit.is_nan() || merit > 1e3 * least || eliminate(&mut a, &mut x, r.len()).is_none() {
            return (None, step);
        }
        least = least.min(merit);
        for (r, x) in r.iter_mut().zip(&x) {
            *r += x;
        }
    }
    (None, STEPS)
}
