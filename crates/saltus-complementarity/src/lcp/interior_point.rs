//! An infeasible predictor–corrector interior point method for monotone problems
//! (Mehrotra's, in the form for complementarity of Wright, *Primal-Dual Interior-Point Methods* (1997), ch. 8 and 10).

use super::ScaledLcp;
use super::progress::Progress;
use crate::outcome::{Status, Tolerance};
use crate::verdict::VerdictWorkspace;
use saltus_linear::{Dense, Lu, max_abs};

pub(super) fn solve(p: &ScaledLcp, tolerance: Tolerance, y: &mut [f64]) -> (Status, u32) {
    let n = y.len();
    let pairs = (n - p.e).max(1) as f64;
    let scale = max_abs(&p.q).max(f64::MIN_POSITIVE);
    let mut workspace = VerdictWorkspace::default();
    let mut w = vec![scale; n];
    for i in 0..n {
        y[i] = if i < p.e { 0.0 } else { scale.max(y[i]) };
    }
    let mut image = vec![0.0; n];
    let mut matrix = Dense::zeros(n, n);
    let mut lu = Lu::default();
    let mut progress = Progress::default();
    for step in 0..tolerance.max_iterations {
        p.w(y, &mut image);
        if p.settled(y, &tolerance, &mut workspace) {
            return (Status::Solved, step);
        }
        let gap: f64 = (p.e..n).map(|i| y[i] * w[i]).sum::<f64>() / pairs;
        // dw = M dy + defect; w dy + y dw = target − y w  =>  (M + W/Y) dy = (target − y w)/y − defect.
        let defect: Vec<f64> = (0..n)
            .map(|i| if i < p.e { image[i] } else { image[i] - w[i] })
            .collect();
        // Both in the unit of `w`: what the equations miss, and the mean distance from complementarity.
        let nearness = max_abs(&defect).max(gap.sqrt());
        if progress.stalled(step, nearness) || (p.e < n && gap <= 0.0) {
            return (Status::Stalled, step);
        }
        matrix.clone_from(&p.m);
        for i in p.e..n {
            matrix[(i, i)] += w[i] / y[i];
        }
        if lu.factorise(&matrix).is_err() {
            return (Status::Stalled, step);
        }
        let direction = |target: &dyn Fn(usize) -> f64| {
            let mut dy: Vec<f64> = (0..n)
                .map(|i| {
                    if i < p.e {
                        -defect[i]
                    } else {
                        target(i) / y[i] - w[i] - defect[i]
                    }
                })
                .collect();
            lu.solve(&mut dy);
            let dw: Vec<f64> = (0..n)
                .map(|i| {
                    if i < p.e {
                        0.0
                    } else {
                        (target(i) - w[i] * dy[i]) / y[i] - w[i]
                    }
                })
                .collect();
            (dy, dw)
        };
        let (ay, aw) = direction(&|_| 0.0);
        let reach = |dy: &[f64], dw: &[f64], share: f64| {
            let mut alpha = 1.0_f64;
            for i in p.e..n {
                if dy[i] < 0.0 {
                    alpha = alpha.min(-share * y[i] / dy[i]);
                }
                if dw[i] < 0.0 {
                    alpha = alpha.min(-share * w[i] / dw[i]);
                }
            }
            alpha
        };
        let alpha = reach(&ay, &aw, 1.0);
        let after: f64 = (p.e..n)
            .map(|i| (y[i] + alpha * ay[i]) * (w[i] + alpha * aw[i]))
            .sum::<f64>()
            / pairs;
        let sigma = (after / gap).powi(3).min(1.0);
        let (dy, dw) = direction(&|i| sigma * gap - ay[i] * aw[i]);
        let alpha = reach(&dy, &dw, 0.99);
        for i in 0..n {
            y[i] += alpha * dy[i];
            w[i] += alpha * dw[i];
        }
        let largest = max_abs(y);
        if !largest.is_finite() || largest > 1e15 * scale {
            return (Status::Diverging, step + 1);
        }
        if alpha < 1e-10 {
            return (Status::Stalled, step + 1);
        }
    }
    (Status::IterationLimit, tolerance.max_iterations)
}
