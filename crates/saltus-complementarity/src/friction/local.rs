//! One contact alone: `r ∈ K ⟂ û(W r + b) ∈ K*` with a small matrix `W`, exactly.
//!
//! Where several solutions exist (`μ |w_tn| > w_nn`, Painlevé's case) the first in the order open, stick, slip with
//! the smallest ratio `|u_t|/|r_t|` is taken.

use super::residual::{natural_map_residual, square};
use super::rolling;
use crate::cone::{de_saxce, norm, project};

/// Solves for one contact. `None` where none exists, or the iteration failed.
/// Counted operations beyond those of a closed form are added to `work`.
#[inline]
pub(crate) fn solve<const D: usize>(
    w: &[[f64; D]; D],
    b: &[f64; D],
    mu: f64,
    rolling: f64,
    guess: &[f64; D],
    work: &mut f64,
) -> Option<[f64; D]> {
    if w[0][0] <= 0.0 {
        return (b[0] >= 0.0).then_some([0.0; D]);
    }
    if b[0] >= 0.0 {
        return Some([0.0; D]);
    }
    let closed_form = match D {
        2 => plane(w, b, mu),
        3 => spatial(w, b, mu, guess, STEP_IN_SWEEP),
        _ => rolling::solve(w, b, mu, rolling, guess, work)
            .or_else(|| newton(w, b, mu, rolling, guess, work)),
    };
    closed_form.or_else(|| regularised(w, b, mu, rolling, guess, work))
}

/// Two components: every case in closed form.
fn plane<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: f64) -> Option<[f64; D]> {
    let mut r = [0.0; D];
    let det = w[0][0] * w[1][1] - w[0][1] * w[1][0];
    if det > 1e-14 * w[0][0] * w[1][1].abs() {
        r[0] = (w[0][1] * b[1] - w[1][1] * b[0]) / det;
        r[1] = (w[1][0] * b[0] - w[0][0] * b[1]) / det;
        if r[0] >= 0.0 && r[1].abs() <= mu * r[0] * (1.0 + 1e-15) {
            return Some(r);
        }
    }
    for sign in [1.0, -1.0] {
        let k = w[0][0] - sign * mu * w[0][1];
        if k > 0.0 {
            r[0] = -b[0] / k;
            r[1] = -sign * mu * r[0];
            let slip = w[1][0] * r[0] + w[1][1] * r[1] + b[1];
            if sign * slip >= 0.0 || mu == 0.0 {
                return Some(r);
            }
        }
    }
    // Neither is consistent because of rounding: the direction with the smaller slip along the friction force.
    let mut best = None;
    for sign in [1.0, -1.0] {
        let k = w[0][0] - sign * mu * w[0][1];
        if k > 0.0 {
            r[0] = -b[0] / k;
            r[1] = -sign * mu * r[0];
            let violation = -sign * (w[1][0] * r[0] + w[1][1] * r[1] + b[1]);
            if best.as_ref().is_none_or(|&(least, _)| violation < least) {
                best = Some((violation, r));
            }
        }
    }
    let (violation, r) = best?;
    (violation <= 1e-10 * (w[1][1].abs() * r[1].abs() + b[1].abs())).then_some(r)
}

/// Relative step that ends the iteration on one contact in a sweep: the next sweep continues from there.
const STEP_IN_SWEEP: f64 = 1e-4;

/// Three components: stick in closed form, slip as the root of one function of `a = |u_t|/|r_t|`.
///
/// From a reaction that slips already the iteration ends with a step below `last_step`, relative to `a`.
pub(crate) fn spatial<const D: usize>(
    w: &[[f64; D]; D],
    b: &[f64; D],
    mu: f64,
    guess: &[f64; D],
    last_step: f64,
) -> Option<[f64; D]> {
    let mut r = [0.0; D];
    let inverse = 1.0 / w[0][0];
    if mu == 0.0 {
        r[0] = -b[0] * inverse;
        return Some(r);
    }
    let (w1, w2) = (w[1][0] * inverse, w[2][0] * inverse);
    let s11 = w[1][1] - w1 * w[0][1];
    let s12 = w[1][2] - w1 * w[0][2];
    let s21 = w[2][1] - w2 * w[0][1];
    let s22 = w[2][2] - w2 * w[0][2];
    let c1 = b[1] - w1 * b[0];
    let c2 = b[2] - w2 * b[0];
    let (trace, product) = (s11 + s22, s12 * s21);
    let at = |a: f64| {
        let (d1, d2) = (s11 + a, s22 + a);
        let scale = 1.0 / (d1 * d2 - product);
        let t1 = (s12 * c2 - d2 * c1) * scale;
        let t2 = (s21 * c1 - d1 * c2) * scale;
        let n = -(b[0] + w[0][1] * t1 + w[0][2] * t2) * inverse;
        (n, t1, t2, scale)
    };
    if s11 * s22 - product > 1e-14 * trace * trace {
        let (n, t1, t2, _) = at(0.0);
        if n >= 0.0 && norm(&[t1, t2]) <= mu * n * (1.0 + 1e-15) {
            (r[0], r[1], r[2]) = (n, t1, t2);
            return Some(r);
        }
    }
    let size = norm(&[c1, c2]);
    if size == 0.0 {
        // No tangential velocity, hence no friction.
        r[0] = -b[0] * inverse;
        return Some(r);
    }
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    let guessed = ratio_of(w, b, mu, guess);
    let mut a = guessed
        .unwrap_or_else(|| (size * w[0][0] / (mu * -b[0]) - 0.5 * trace).max(1e-3 * trace.abs()));
    // By quadratic convergence the error after so small a step is rounding.
    let small = if guessed.is_some() { last_step } else { 1e-9 };
    let mut last = false;
    for _ in 0..100 {
        let (n, t1, t2, scale) = at(a);
        let square = t1 * t1 + t2 * t2;
        let t = square.sqrt();
        let excess = t - mu * n;
        if n > 0.0 && (last || excess.abs() <= 4e-16 * t) {
            return Some(slipping(n, t1, t2, t, mu));
        }
        if excess > 0.0 || n <= 0.0 {
            low = a;
        } else {
            high = a;
        }
        let mut next = f64::NAN;
        if n > 0.0 && t > 0.0 {
            // r_t' = −(S + a)⁻¹ r_t, and h = 1/|r_t| − 1/(μ r_n) is nearly linear in a: a − h/h'.
            let p1 = (s12 * t2 - (s22 + a) * t1) * scale;
            let p2 = (s21 * t1 - (s11 + a) * t2) * scale;
            let dn = -(w[0][1] * p1 + w[0][2] * p2) * inverse;
            let along = t1 * p1 + t2 * p2;
            let step = excess * square * n / (dn * square * t - along * mu * n * n);
            next = a + step;
            last = step.abs() <= small * a;
        }
        if !(next > low && next < high) {
            last = false;
            next = if high.is_infinite() {
                4.0 * a + trace.abs()
            } else if low > 0.0 && high > 4.0 * low {
                (low * high).sqrt()
            } else {
                0.5 * (low + high)
            };
        }
        if next == a || (high.is_finite() && high - low <= 4e-16 * high) {
            return (n > 0.0).then(|| slipping(n, t1, t2, t, mu));
        }
        a = next;
    }
    None
}

/// `|u_t|/|r_t|` of the reaction `r` if it slips; none where several roots are possible, so that the solution does not depend on
/// the guess.
#[inline]
fn ratio_of<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: f64, r: &[f64; D]) -> Option<f64> {
    let size = r[1] * r[1] + r[2] * r[2];
    let coupling = w[0][1] * w[0][1] + w[0][2] * w[0][2];
    if size <= 0.0 || mu * mu * coupling >= w[0][0] * w[0][0] {
        return None;
    }
    let u1 = b[1] + w[1][0] * r[0] + w[1][1] * r[1] + w[1][2] * r[2];
    let u2 = b[2] + w[2][0] * r[0] + w[2][1] * r[1] + w[2][2] * r[2];
    let a = -(u1 * r[1] + u2 * r[2]) / size;
    (a > 0.0 && a.is_finite()).then_some(a)
}

/// The point on the cone at height `n` in the direction of `(t1, t2)`, whose length is `t`.
#[inline]
fn slipping<const D: usize>(n: f64, t1: f64, t2: f64, t: f64, mu: f64) -> [f64; D] {
    let mut r = [0.0; D];
    let factor = if t > 0.0 { mu * n / t } else { 0.0 };
    (r[0], r[1], r[2]) = (n, factor * t1, factor * t2);
    r
}

/// `W r + b`.
pub(super) fn local_velocity<const D: usize>(
    w: &[[f64; D]; D],
    r: &[f64; D],
    b: &[f64; D],
) -> [f64; D] {
    let mut u = *b;
    for (u, row) in u.iter_mut().zip(w) {
        for (a, x) in row.iter().zip(r) {
            *u += a * x;
        }
    }
    u
}

/// Mean of the translational diagonal.
pub(super) fn mean_diagonal<const D: usize>(w: &[[f64; D]; D]) -> f64 {
    let translational = D.min(3);
    (0..translational).map(|k| w[k][k]).sum::<f64>() / translational as f64
}

/// A sequence of problems with `W + s I` in place of `W`, each centred at the solution of the one before: regular where
/// `W` is not.
fn regularised<const D: usize>(
    w: &[[f64; D]; D],
    b: &[f64; D],
    mu: f64,
    rolling: f64,
    guess: &[f64; D],
    work: &mut f64,
) -> Option<[f64; D]> {
    let d = mean_diagonal(w);
    let mut r = project(guess, mu, rolling).0;
    let mut s = 1e-2 * d;
    let scale = norm(b) / d;
    for _ in 0..30 {
        let (mut ws, mut bs) = (*w, *b);
        for k in 0..D {
            ws[k][k] += s;
            bs[k] -= s * r[k];
        }
        let next = if bs[0] >= 0.0 {
            Some([0.0; D])
        } else {
            newton(&ws, &bs, mu, rolling, &r, work)
        };
        let Some(next) = next else {
            s *= 10.0;
            if s > 1e3 * d {
                return None;
            }
            continue;
        };
        r = next;
        s = (0.1 * s).max(1e-8 * d);
        let hat = de_saxce(&local_velocity(w, &r, b), mu, rolling);
        if norm(&natural_map_residual(&r, &hat, 1.0 / d, mu, rolling))
            <= 1e-14 * scale.max(norm(&r))
        {
            return Some(r);
        }
        if norm(&r) > 1e12 * scale {
            return None;
        }
    }
    None
}

/// Semismooth Newton on the natural map with halving, from the guess.
fn newton<const D: usize>(
    w: &[[f64; D]; D],
    b: &[f64; D],
    mu: f64,
    rolling: f64,
    guess: &[f64; D],
    work: &mut f64,
) -> Option<[f64; D]> {
    let d = mean_diagonal(w);
    let rho = 1.0 / d;
    let map = |r: &[f64; D]| {
        let u = local_velocity(w, r, b);
        (
            natural_map_residual(r, &de_saxce(&u, mu, rolling), rho, mu, rolling),
            u,
        )
    };
    let mut r = project(guess, mu, rolling).0;
    if r[0] == 0.0 {
        r[0] = -b[0] / w[0][0];
    }
    let (mut f, mut u) = map(&r);
    let scale = norm(b) * rho;
    for _ in 0..40 {
        let size = square(&f).sqrt();
        if size <= 1e-15 * scale.max(norm(&r)) {
            return Some(r);
        }
        *work += (10 * D * D * D) as f64;
        let (a, bb) = super::functions::natural_map(&r, &u, rho, mu, rolling).1;
        let mut m = a;
        for i in 0..D {
            for j in 0..D {
                for k in 0..D {
                    m[i][j] += bb[i][k] * w[k][j];
                }
            }
        }
        let step = super::functions::solve_small(&m, &f)?;
        let mut factor = 1.0;
        let mut accepted = false;
        for _ in 0..8 {
            let mut next = r;
            for (n, s) in next.iter_mut().zip(&step) {
                *n -= factor * s;
            }
            let (nf, nu) = map(&next);
            if square(&nf).sqrt() <= (1.0 - 1e-4 * factor) * size {
                (r, f, u) = (next, nf, nu);
                accepted = true;
                break;
            }
            factor *= 0.5;
        }
        if !accepted {
            return (size <= 1e-13 * scale.max(norm(&r))).then_some(r);
        }
    }
    None
}
