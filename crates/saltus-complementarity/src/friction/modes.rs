//! All solutions of one contact with two or three components: open, stick, and every slip.
//!
//! With `S` the tangential block condensed onto the normal one and `a = |u_t|/|r_t|`, slipping reactions are
//! `r_t = −(S + a)⁻¹ c`, and `|r_t| = μ r_n` becomes a polynomial of degree four in `a` (Bonnefon & Daviet, *Quartic
//! formulation of Coulomb 3D frictional contact*, INRIA RT-0400 (2011), derive one in another unknown).

use super::problem::FrictionContact;
use super::residual::{natural_map_residual, square};
use crate::cone::{de_saxce, norm};
use saltus_linear::max_abs;

/// Open, stick and at most four slips.
const MAX_SOLUTIONS: usize = 6;

/// The solutions found, in the order open, stick, slip with growing `a`.
struct Found<const D: usize> {
    list: [[f64; D]; MAX_SOLUTIONS],
    count: usize,
}

impl<const D: usize> Found<D> {
    /// Keeps `r` if it solves the contact and is new.
    fn insert(&mut self, w: &[[f64; D]; D], b: &[f64; D], mu: f64, r: [f64; D]) {
        let mut u = *b;
        for (u, line) in u.iter_mut().zip(w) {
            *u += line.iter().zip(&r).map(|(a, x)| a * x).sum::<f64>();
        }
        let mean = (0..D).map(|k| w[k][k]).sum::<f64>() / D as f64;
        let d = if mean > 0.0 {
            mean
        } else {
            max_abs(w.as_flattened())
        };
        let e = natural_map_residual(&r, &de_saxce(&u, mu, 0.0), 1.0 / d, mu, 0.0);
        let size = (norm(b) / d).max(norm(&r));
        let good = square(&e).sqrt() <= 1e-9 * size;
        let known = self.list[..self.count].iter().any(|known| {
            let distance: f64 = known.iter().zip(&r).map(|(a, b)| (a - b).powi(2)).sum();
            distance.sqrt() <= 1e-9 * size
        });
        if good && !known && self.count < MAX_SOLUTIONS {
            self.list[self.count] = r;
            self.count += 1;
        }
    }
}

fn solutions<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: f64) -> Found<D> {
    let mut found = Found {
        list: [[0.0; D]; MAX_SOLUTIONS],
        count: 0,
    };
    if b[0] >= 0.0 {
        found.insert(w, b, mu, [0.0; D]);
    }
    if D == 2 {
        plane(w, b, mu, &mut found);
    } else if w[0][0] != 0.0 {
        spatial(w, b, mu, &mut found);
    }
    found
}

/// All isolated solutions of a problem with one contact of two or three components, each a reaction, in the order open,
/// stick, slip with growing `|u_t|/|r_t|`. `None` of any other problem.
#[must_use]
pub fn one_contact_solutions(problem: &FrictionContact) -> Option<Vec<Vec<f64>>> {
    if problem.contacts() != 1 {
        return None;
    }
    match problem.dimension() {
        2 => listed::<2>(problem),
        3 => listed::<3>(problem),
        _ => None,
    }
}

fn listed<const D: usize>(problem: &FrictionContact) -> Option<Vec<Vec<f64>>> {
    let b: &[f64; D] = problem.free_velocity().try_into().ok()?;
    let found = of_contact(problem.delassus().diagonal(0), b, problem.friction()[0])?;
    Some(found.iter().map(|r| r.to_vec()).collect())
}

/// All isolated solutions from the block of the contact, row by row; `None` with rolling friction, and in space where `W_nn` is zero.
pub(crate) fn of_contact<const D: usize>(
    w: &[f64],
    b: &[f64; D],
    mu: f64,
) -> Option<Vec<[f64; D]>> {
    if D > 3 {
        return None;
    }
    let w: &[[f64; D]; D] = w.as_chunks::<D>().0.try_into().ok()?;
    if D == 3 && w[0][0] == 0.0 {
        return None;
    }
    let found = solutions(w, b, mu);
    Some(found.list[..found.count].to_vec())
}

/// Relative variation of the velocity for which a contact without a solution must have none either.
const NEARBY: f64 = 1e-6;

/// Whether a contact has no solution, neither for `b` nor for velocities nearby.
pub(super) fn has_no_solution<const D: usize>(w: &[f64], b: &[f64; D], mu: f64) -> bool {
    let none = |b: &[f64; D]| of_contact(w, b, mu).is_some_and(|found| found.is_empty());
    let change = NEARBY * norm(b);
    let varied = |k: usize, change: f64| {
        let mut nearby = *b;
        nearby[k] += change;
        none(&nearby)
    };
    none(b) && (0..D).all(|k| varied(k, change) && varied(k, -change))
}

fn plane<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: f64, found: &mut Found<D>) {
    let mut r = [0.0; D];
    let det = w[0][0] * w[1][1] - w[0][1] * w[1][0];
    if det.abs() > 1e-14 * (w[0][0] * w[1][1]).abs() {
        r[0] = (w[0][1] * b[1] - w[1][1] * b[0]) / det;
        r[1] = (w[1][0] * b[0] - w[0][0] * b[1]) / det;
        found.insert(w, b, mu, r);
    }
    for sign in [1.0, -1.0] {
        let k = w[0][0] - sign * mu * w[0][1];
        if k != 0.0 {
            r[0] = -b[0] / k;
            r[1] = -sign * mu * r[0];
            if r[0] > 0.0 {
                found.insert(w, b, mu, r);
            }
        }
    }
}

fn spatial<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: f64, found: &mut Found<D>) {
    let mut r = [0.0; D];
    let inverse = 1.0 / w[0][0];
    let condensed = |i: usize, j: usize| w[i][j] - w[i][0] * w[0][j] * inverse;
    let s = [
        [condensed(1, 1), condensed(1, 2)],
        [condensed(2, 1), condensed(2, 2)],
    ];
    let c = [1, 2].map(|k| b[k] - w[k][0] * b[0] * inverse);
    let trace = s[0][0] + s[1][1];
    let determinant = s[0][0] * s[1][1] - s[0][1] * s[1][0];
    // adj(S + a) c = p + a c.
    let p = [
        s[1][1] * c[0] - s[0][1] * c[1],
        s[0][0] * c[1] - s[1][0] * c[0],
    ];
    let at = |a: f64| {
        let det = a * a + trace * a + determinant;
        let t = [-(p[0] + a * c[0]) / det, -(p[1] + a * c[1]) / det];
        (-(b[0] + w[0][1] * t[0] + w[0][2] * t[1]) * inverse, t)
    };
    if determinant.abs() > 1e-14 * trace * trace {
        let (n, t) = at(0.0);
        (r[0], r[1], r[2]) = (n, t[0], t[1]);
        found.insert(w, b, mu, r);
    }
    if norm(&c) == 0.0 || mu == 0.0 {
        found.insert(w, b, mu, normal_reaction(-b[0] * inverse));
    }
    if mu == 0.0 {
        return;
    }
    // w_nn² |p + a c|² = μ² (w_nt·(p + a c) − b_n det(a))², in the unknown a / unit.
    let unit = trace.abs().max(f64::MIN_POSITIVE);
    let along = |v: &[f64; 2]| w[0][1] * v[0] + w[0][2] * v[1];
    let normal = [
        (along(&p) - b[0] * determinant) / (unit * unit),
        (along(&c) - b[0] * trace) / unit,
        -b[0],
    ];
    let k = w[0][0] / (unit * mu);
    let (pp, pc, cc) = (
        (p[0] * p[0] + p[1] * p[1]) / (unit * unit),
        (p[0] * c[0] + p[1] * c[1]) / unit,
        c[0] * c[0] + c[1] * c[1],
    );
    let quartic = [
        k * k * pp - normal[0] * normal[0],
        2.0 * (k * k * pc - normal[0] * normal[1]),
        k * k * cc - normal[1] * normal[1] - 2.0 * normal[0] * normal[2],
        -2.0 * normal[1] * normal[2],
        -normal[2] * normal[2],
    ];
    let mut roots = [0.0; 16];
    let count = positive_roots(&quartic, &mut roots);
    for a in &roots[..count] {
        let (n, t) = at(refined_root(a * unit, &at, mu));
        let size = norm(&t);
        if n > 0.0 && size > 0.0 {
            let factor = mu * n / size;
            (r[0], r[1], r[2]) = (n, factor * t[0], factor * t[1]);
            found.insert(w, b, mu, r);
        }
    }
}

/// Refines a root of the polynomial, which loses digits, by secant steps on `|r_t| − μ r_n`.
fn refined_root(a: f64, at: &impl Fn(f64) -> (f64, [f64; 2]), mu: f64) -> f64 {
    let excess = |a: f64| {
        let (n, t) = at(a);
        norm(&t) - mu * n
    };
    let (mut x0, mut x1) = (a * (1.0 + 1e-7), a);
    let (mut f0, mut f1) = (excess(x0), excess(x1));
    for _ in 0..6 {
        let next = x1 - f1 * (x1 - x0) / (f1 - f0);
        // A secant step away from the root of the polynomial is rejected.
        if !next.is_finite() || (next - a).abs() > 1e-4 * a {
            break;
        }
        let f = excess(next);
        if f.abs() >= f1.abs() {
            break;
        }
        (x0, f0, x1, f1) = (x1, f1, next, f);
    }
    x1
}

fn normal_reaction<const D: usize>(n: f64) -> [f64; D] {
    let mut r = [0.0; D];
    r[0] = n.max(0.0);
    r
}

/// Positive roots of a polynomial of degree four or less (`c[k]` of `x^k`), ascending; near double roots are
/// included. Between the roots of its derivative the polynomial is monotone.
fn positive_roots(c: &[f64; 5], roots: &mut [f64; 16]) -> usize {
    let Some(degree) = c.iter().rposition(|v| *v != 0.0) else {
        return 0;
    };
    let bound = 1.0
        + c[..degree]
            .iter()
            .map(|v| (v / c[degree]).abs())
            .fold(0.0, f64::max);
    if degree == 0 || !bound.is_finite() {
        return 0;
    }
    // Coefficients of the derivatives, the highest first.
    let mut stationary = [0.0; 16];
    let mut count = 0;
    for order in (0..degree).rev() {
        let mut p = *c;
        let mut length = degree + 1;
        for _ in 0..order {
            for k in 1..length {
                p[k - 1] = k as f64 * p[k];
            }
            length -= 1;
        }
        let value = |x: f64| p[..length].iter().rev().fold(0.0, |s, v| s * x + v);
        let scale = |x: f64| p[..length].iter().rev().fold(0.0, |s, v| s * x + v.abs());
        let mut next = [0.0; 16];
        let mut found = 0;
        let mut low = 0.0;
        for k in 0..=count {
            let high = if k < count { stationary[k] } else { bound };
            if value(low) * value(high) < 0.0 {
                next[found] = bisect(&value, low, high);
                found += 1;
            }
            // A double root is seen as a stationary value of rounding size.
            if k < count && order == 0 && value(high).abs() <= 1e-9 * scale(high) && found < 15 {
                next[found] = high;
                found += 1;
            }
            low = high;
        }
        (stationary, count) = (next, found);
    }
    *roots = stationary;
    count
}

fn bisect(value: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let positive = value(low) > 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if (value(middle) > 0.0) == positive {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
