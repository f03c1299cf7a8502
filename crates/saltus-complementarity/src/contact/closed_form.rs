//! A single contact with friction: open, stick and slip in closed form in the plane, the root of one nearly linear function in
//! space.

use super::residual::ROUND_OFF;
use crate::friction::{contact_modes, slipping_contact};

/// Result for a single contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Single<const D: usize> {
    /// An impulse, and whether there are others with other velocities.
    Found([f64; D], bool),
    /// No mode is consistent, by more than rounding.
    NoSolution,
    /// Degenerate data, to be solved by the general methods.
    Degenerate,
}

/// Determinants below this share of their terms count as zero.
const SINGULAR: f64 = 1e-12;
/// A spatial matrix counts as regular where its determinant is above this share of the cube of its largest entry.
const REGULAR: f64 = 1e-8;
/// Relative last step of the iteration on the slip ratio from a guess that slips; its square is below rounding.
const LAST_STEP: f64 = 1e-8;
/// A mode is inconsistent if it violates the law by more than this, relative to its terms.
const CLEAR: f64 = 1e-10;

/// `A = [[a, b], [c, d]]` with rows normal and tangential.
#[inline]
pub(super) fn plane(m: &[[f64; 2]; 2], q: &[f64; 2], mu: f64) -> Single<2> {
    let [[a, b], [c, d]] = *m;
    let det = a * d - b * c;
    let regular = a > mu * b.abs() && det > SINGULAR * a * d && d > 0.0;
    if !regular {
        return enumerate_plane(m, q, mu);
    }
    if q[0] >= 0.0 {
        return Single::Found([0.0; 2], false);
    }
    let inverse = 1.0 / det;
    let stick = [
        (b * q[1] - d * q[0]) * inverse,
        (c * q[0] - a * q[1]) * inverse,
    ];
    if stick[1].abs() <= mu * stick[0] {
        return Single::Found(stick, false);
    }
    // Slip in the direction in which stick exceeds the bound; exactly one direction is consistent.
    let sign = stick[1].signum();
    let slip = |sign: f64| {
        let n = -q[0] / (a + sign * mu * b);
        [n, sign * mu * n]
    };
    let z = slip(sign);
    let speed = q[1] + c * z[0] + d * z[1];
    if sign * speed <= 0.0 {
        return Single::Found(z, false);
    }
    let other = slip(-sign);
    let opposite = q[1] + c * other[0] + d * other[1];
    if -sign * opposite <= 0.0 || (sign * speed).abs() > (sign * opposite).abs() {
        Single::Found(other, false)
    } else {
        Single::Found(z, false)
    }
}

/// All modes where several solutions, or none, are possible (Painlevé), or the matrix is singular.
#[cold]
fn enumerate_plane(m: &[[f64; 2]; 2], q: &[f64; 2], mu: f64) -> Single<2> {
    let [[a, b], [c, d]] = *m;
    let det = a * d - b * c;
    if !(a > 0.0 && det.abs() > SINGULAR * ((a * d).abs() + (b * c).abs()) && mu.is_finite()) {
        return Single::Degenerate;
    }
    let mut found = Modes::default();
    if q[0] >= 0.0 {
        found.insert([0.0; 2]);
    }
    let stick = [(b * q[1] - d * q[0]) / det, (c * q[0] - a * q[1]) / det];
    let excess = stick[1].abs() - mu * stick[0];
    if excess <= 0.0 && stick[0] > 0.0 {
        found.insert(stick);
    }
    let size =
        ((b * q[1]).abs() + (d * q[0]).abs() + (c * q[0]).abs() + (a * q[1]).abs()) / det.abs();
    found.uncertain |= excess.abs() <= CLEAR * size * (1.0 + mu);
    for sign in [-1.0, 1.0] {
        let k = a + sign * mu * b;
        found.uncertain |= k.abs() <= CLEAR * a;
        let n = -q[0] / k;
        if !(n > 0.0 && n.is_finite()) {
            continue;
        }
        let z = [n, sign * mu * n];
        let speed = sign * (q[1] + c * z[0] + d * z[1]);
        if speed <= 0.0 {
            found.insert(z);
        }
        let terms = q[1].abs() + (c * z[0]).abs() + (d * z[1]).abs();
        found.uncertain |= speed.abs() <= CLEAR * terms;
    }
    match found {
        Modes {
            first: Some(z),
            count,
            ..
        } => Single::Found(z, count > 1),
        Modes {
            uncertain: false, ..
        } if q[0] < -ROUND_OFF * q[1].abs() => Single::NoSolution,
        _ => Single::Degenerate,
    }
}

#[derive(Default)]
struct Modes {
    first: Option<[f64; 2]>,
    count: usize,
    /// Whether the consistency of some mode is decided by rounding.
    uncertain: bool,
}

impl Modes {
    fn insert(&mut self, z: [f64; 2]) {
        self.first.get_or_insert(z);
        self.count += 1;
    }
}

/// Normal row and two tangential rows.
#[inline]
pub(super) fn space(m: &[[f64; 3]; 3], q: &[f64; 3], mu: f64, guess: &[f64; 3]) -> Single<3> {
    let a = m[0][0];
    if !(a > 0.0 && mu.is_finite()) {
        return Single::Degenerate;
    }
    let coupling = mu * mu * (m[0][1] * m[0][1] + m[0][2] * m[0][2]);
    if coupling >= a * a {
        return enumerate_space(m, q, mu);
    }
    if q[0] >= 0.0 {
        return Single::Found([0.0; 3], false);
    }
    let condensed = |i: usize, j: usize| m[i][j] - m[i][0] * m[0][j] / a;
    let (s11, s22) = (condensed(1, 1), condensed(2, 2));
    let det = s11 * s22 - condensed(1, 2) * condensed(2, 1);
    let size = m[1][1].abs().max(m[2][2].abs());
    if det <= SINGULAR * size * size {
        return Single::Degenerate;
    }
    match slipping_contact(m, q, mu, guess, LAST_STEP) {
        Some(z) => Single::Found(z, false),
        None => Single::Degenerate,
    }
}

/// All modes where several solutions, or none, are possible. Near double roots of the polynomial can be missed:
/// `NoSolution` is accepted only if other methods find no solution either.
#[cold]
fn enumerate_space(m: &[[f64; 3]; 3], q: &[f64; 3], mu: f64) -> Single<3> {
    let minor = |i: usize, j: usize| m[1][i] * m[2][j] - m[1][j] * m[2][i];
    let terms = [
        m[0][0] * minor(1, 2),
        -m[0][1] * minor(0, 2),
        m[0][2] * minor(0, 1),
    ];
    let det: f64 = terms.iter().sum();
    let largest = saltus_linear::max_abs(m.as_flattened());
    if det.abs() <= REGULAR * largest * largest * largest {
        return Single::Degenerate;
    }
    match contact_modes(m.as_flattened(), q, mu).as_deref() {
        Some([]) if q[0] < 0.0 => Single::NoSolution,
        Some([first, rest @ ..]) => Single::Found(*first, !rest.is_empty()),
        _ => Single::Degenerate,
    }
}
