//! Accelerated projected gradient with restart and backtracking, for monotone symmetric problems: products only
//! (Nesterov, *Introductory Lectures on Convex Optimization* (2004), §2.2; restart after O'Donoghue & Candès,
//! *Found. Comput. Math.* 15 (2015)).

use super::ScaledLcp;
use crate::mlcp::natural;
use crate::outcome::Status;
use crate::verdict::max_or_nan;
use saltus_linear::max_abs;

/// Unknowns beyond this are on their way to infinity.
const RUNAWAY: f64 = 1e150;

/// From `z` until the point is `settled`; the first components, of the equalities, are free. Where that fails, `z` is the best of the points looked at. The method is made for symmetric positive semidefinite
/// matrices; of others the iterates may grow without bound, which is said.
pub(super) fn solve(
    p: &ScaledLcp,
    limit: u32,
    mut settled: impl FnMut(&[f64]) -> bool,
    z: &mut [f64],
) -> (Status, u32) {
    let n = z.len();
    let equalities = p.e;
    let velocity = |x: &[f64], w: &mut [f64]| p.w(x, w);
    let (mut y, mut trial) = (z.to_vec(), vec![0.0; n]);
    let (mut w, mut v, mut trial_w) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    velocity(z, &mut w);
    v.copy_from_slice(&w);
    let (mut theta, mut lipschitz) = (1.0_f64, 1.0_f64);
    let (mut best, mut least) = (z.to_vec(), f64::INFINITY);
    for step in 0..limit {
        if step % 10 == 0 {
            velocity(z, &mut w);
            let residual = (0..n)
                .map(|i| {
                    if i < equalities {
                        w[i].abs()
                    } else {
                        natural(z[i], w[i])
                    }
                })
                .fold(0.0, max_or_nan);
            // NaN is not below anything.
            let size = max_abs(z);
            let held = residual < f64::INFINITY && size <= RUNAWAY;
            if !held {
                z.copy_from_slice(&best);
                return (Status::Diverging, step);
            }
            if residual <= least {
                least = residual;
                best.copy_from_slice(z);
            }
            if settled(z) {
                return (Status::Solved, step);
            }
        }
        for _ in 0..60 {
            for i in 0..n {
                let x = y[i] - v[i] / lipschitz;
                trial[i] = if i < equalities { x } else { x.max(0.0) };
            }
            velocity(&trial, &mut trial_w);
            let (mut curvature, mut length) = (0.0, 0.0);
            for i in 0..n {
                let step = trial[i] - y[i];
                curvature += step * (trial_w[i] - v[i]);
                length += step * step;
            }
            if curvature <= lipschitz * length || length == 0.0 {
                break;
            }
            lipschitz *= 1.6;
        }
        let against: f64 = (0..n).map(|i| (y[i] - trial[i]) * (trial[i] - z[i])).sum();
        let next = 0.5 * (1.0 + (1.0 + 4.0 * theta * theta).sqrt());
        let beta = if against > 0.0 {
            0.0
        } else {
            (theta - 1.0) / next
        };
        theta = if against > 0.0 { 1.0 } else { next };
        for i in 0..n {
            y[i] = trial[i] + beta * (trial[i] - z[i]);
            v[i] = trial_w[i] + beta * (trial_w[i] - w[i]);
        }
        z.copy_from_slice(&trial);
        w.copy_from_slice(&trial_w);
        lipschitz *= 0.99;
    }
    z.copy_from_slice(&best);
    (Status::IterationLimit, limit)
}
