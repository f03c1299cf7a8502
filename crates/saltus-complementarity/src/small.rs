//! Closed forms of linear complementarity problems with one and two unknowns.
//!
//! They cover the cases of mechanics (positive diagonal, positive definite or a condition listed
//! twice); everything else is left to the general solver. The answer is judged like any other.

use crate::mlcp::{Mlcp, natural};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::verdict::{excused_at_least, max_or_nan, relative_excess};

/// Solves a problem without equalities and with one or two unknowns; `None` if it is not one of the
/// simple cases.
#[inline]
pub(crate) fn solve(problem: &Mlcp<'_>, z: &mut [f64], tolerance: Tolerance) -> Option<Outcome> {
    let floor = tolerance.floor;
    let (residual, miss, redundant) = match (problem.q, problem.matrix.as_slice(), &mut *z) {
        (&[q], &[m], [z]) => {
            *z = one(m, q)?;
            let w = m * *z + q;
            (natural(scaled(m, *z), w), part(*z, w, q, m * *z, floor), 0)
        }
        (&[q0, q1], &[a, b, c, d], [z0, z1]) => {
            let ([x0, x1], redundant) = two([a, b, c, d], [q0, q1])?;
            (*z0, *z1) = (x0, x1);
            let (w0, w1) = (a * x0 + b * x1 + q0, c * x0 + d * x1 + q1);
            (
                max_or_nan(natural(scaled(a, x0), w0), natural(scaled(d, x1), w1)),
                max_or_nan(
                    part(x0, w0, q0, a * x0, floor),
                    part(x1, w1, q1, d * x1, floor),
                ),
                redundant,
            )
        }
        _ => return None,
    };
    (miss <= tolerance.residual).then_some(Outcome {
        status: Status::Solved,
        iterations: 0,
        residual,
        redundant,
    })
}

/// What a row with `z ≥ 0` and the term `own` of it misses at most, relative.
#[inline]
fn part(z: f64, w: f64, q: f64, own: f64, floor: f64) -> f64 {
    let misses = !w.is_finite() || w < 0.0 || z != 0.0;
    let w = if misses { w.abs() } else { 0.0 };
    relative_excess(w, excused_at_least(q, own) + floor, q.abs())
}

/// `d z` with the scale `d` of the natural map.
#[inline]
fn scaled(m: f64, z: f64) -> f64 {
    if m > 0.0 { m * z } else { z }
}

#[inline]
fn one(m: f64, q: f64) -> Option<f64> {
    if q >= 0.0 && m.is_finite() {
        Some(0.0)
    } else if m > 0.0 {
        Some(-q / m)
    } else {
        None
    }
}

/// The matrix is `[a b; c d]`.
#[inline]
fn two([a, b, c, d]: [f64; 4], [q0, q1]: [f64; 2]) -> Option<([f64; 2], u32)> {
    if !(a > 0.0 && d > 0.0 && b.is_finite() && c.is_finite()) {
        return None;
    }
    if q0 >= 0.0 && q1 >= 0.0 {
        return Some(([0.0; 2], 0));
    }
    let determinant = a * d - b * c;
    // Rows that differ by a factor only: one condition written twice.
    if determinant.abs() <= 1e-10 * a * d {
        let (s0, s1) = (1.0 / a.sqrt(), 1.0 / d.sqrt());
        let twice = (b * s0 * s1 - 1.0).abs() <= 1e-10 && (c * s0 * s1 - 1.0).abs() <= 1e-10;
        let (h0, h1) = (s0 * q0, s1 * q1);
        let opposite = (b * s0 * s1 + 1.0).abs() <= 1e-10 && (c * s0 * s1 + 1.0).abs() <= 1e-10;
        if opposite && h0 + h1 >= 0.0 {
            // A condition and its opposite: what one needs, the other can spare. Of a segment of answers the end is the
            // shortest.
            return Some(if h0 < 0.0 {
                ([-q0 / a, 0.0], 0)
            } else {
                ([0.0, -q1 / d], 0)
            });
        }
        if !twice || (h0 - h1).abs() > 1e-14 * h0.abs().max(h1.abs()) {
            return None;
        }
        let half = -0.25 * (h0 + h1);
        return Some(([s0 * half, s1 * half], 1));
    }
    if determinant < 0.0 {
        return None;
    }
    // A positive diagonal and a positive determinant: exactly one solution.
    let both = [
        (b * q1 - d * q0) / determinant,
        (c * q0 - a * q1) / determinant,
    ];
    if both[0] > 0.0 && both[1] > 0.0 {
        Some((both, 0))
    } else if q0 < 0.0 && (q1 >= 0.0 || q1 * a >= c * q0) {
        Some(([-q0 / a, 0.0], 0))
    } else {
        Some(([0.0, -q1 / d], 0))
    }
}
