//! Newton's method on `φ(y, w) = √(y² + w²) − y − w` with a line search on `½|φ|²`
//! (De Luca, Facchinei & Kanzow, *Math. Program.* 75 (1996) 407–439).

use super::ScaledLcp;
use super::progress::Progress;
use crate::outcome::{Status, Tolerance};
use crate::verdict::VerdictWorkspace;
use saltus_linear::{Dense, Lu, dot};

fn values(p: &ScaledLcp, y: &[f64], w: &mut [f64], f: &mut [f64]) -> f64 {
    p.w(y, w);
    let mut sum = 0.0;
    for i in 0..y.len() {
        f[i] = if i < p.e { w[i] } else { phi(y[i], w[i]) };
        sum += f[i] * f[i];
    }
    0.5 * sum
}

/// `√(a² + b²) − a − b` without cancellation where both are positive.
fn phi(a: f64, b: f64) -> f64 {
    let root = a.hypot(b);
    if a + b > 0.0 {
        -2.0 * a * b / (root + a + b)
    } else {
        root - a - b
    }
}

pub(super) fn solve(p: &ScaledLcp, tolerance: Tolerance, y: &mut [f64]) -> (Status, u32) {
    let n = y.len();
    let (mut w, mut f, mut trial) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let (mut trial_w, mut trial_f) = (vec![0.0; n], vec![0.0; n]);
    let mut jacobian = Dense::zeros(n, n);
    let mut lu = Lu::default();
    let mut workspace = VerdictWorkspace::default();
    let mut merit = values(p, y, &mut w, &mut f);
    let mut progress = Progress::default();
    for step in 0..tolerance.max_iterations {
        if p.settled(y, &tolerance, &mut workspace) {
            return (Status::Solved, step);
        }
        if progress.stalled(step, merit) {
            return (Status::Stalled, step);
        }
        for i in 0..n {
            let (a, b) = if i < p.e {
                (0.0, 1.0)
            } else {
                let root = y[i].hypot(w[i]);
                if root > 0.0 {
                    (y[i] / root - 1.0, w[i] / root - 1.0)
                } else {
                    (-0.5, -0.5)
                }
            };
            for (to, m) in jacobian.row_mut(i).iter_mut().zip(p.m.row(i)) {
                *to = b * m;
            }
            jacobian[(i, i)] += a;
        }
        let mut gradient = vec![0.0; n];
        jacobian.apply_transposed_add(1.0, &f, &mut gradient);
        let length: f64 = dot(&gradient, &gradient);
        let mut direction: Vec<f64> = f.iter().map(|v| -v).collect();
        let mut newton = lu.factorise(&jacobian).is_ok();
        if newton {
            lu.solve(&mut direction);
            let size = dot(&direction, &direction);
            newton = size.is_finite() && dot(&direction, &gradient) <= -1e-12 * size;
        }
        if !newton {
            direction = gradient.iter().map(|v| -v).collect();
        }
        let slope = dot(&direction, &gradient);
        if length.sqrt() <= 1e-14 * (1.0 + merit) {
            return (Status::Stalled, step);
        }
        let mut factor = 1.0;
        let mut accepted = false;
        for _ in 0..40 {
            for i in 0..n {
                trial[i] = y[i] + factor * direction[i];
            }
            let m = values(p, &trial, &mut trial_w, &mut trial_f);
            if m <= merit + 1e-4 * factor * slope {
                merit = m;
                accepted = true;
                break;
            }
            factor *= 0.5;
        }
        if !accepted {
            return (Status::Stalled, step);
        }
        y.copy_from_slice(&trial);
        std::mem::swap(&mut w, &mut trial_w);
        std::mem::swap(&mut f, &mut trial_f);
    }
    (Status::IterationLimit, tolerance.max_iterations)
}
