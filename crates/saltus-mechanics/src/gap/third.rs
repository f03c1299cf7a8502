//! Third derivatives of the gap over a facet: what `ζ = vᵀ ∂²g v` needs for its own derivative.
//!
//! The gap is written once for numbers that carry three derivatives along a direction; the mixed ones follow by
//! polarisation, `6 C(v, v, e) = C(v + e)³ − C(v − e)³ − 2 C(e)³`. The closest point of a warped quadrilateral is
//! refined by Newton's method in the same numbers.

use super::facet::{Closest, Region};
use crate::rotation::Scalar;
use num_dual::Dual3_64;

/// Coordinates of a point and four corners in space.
const MOST: usize = 15;

/// `out ← ∂(vᵀ ∂²g v)` by the coordinates of the point, then of the corners; `v` holds their velocities.
pub fn bias_gradient<const D: usize>(
    x: &[f64; D],
    corners: &[[f64; D]],
    closest: &Closest<D>,
    v: &[f64],
    out: &mut [f64],
) {
    let speed = v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if speed == 0.0 {
        out.fill(0.0);
        return;
    }
    let size = (1 + corners.len()) * D;
    let mut place = [0.0; MOST];
    for (to, from) in place.iter_mut().zip(x.iter().chain(corners.as_flattened())) {
        *to = *from;
    }
    // The third derivative along one direction.
    let cubed = |direction: &[f64; MOST]| {
        let mut moving = [Dual3_64::from(0.0); MOST];
        for i in 0..size {
            moving[i] = Dual3_64::new(place[i], direction[i], 0.0, 0.0);
        }
        gap::<_, D>(&moving[..size], closest).v3
    };
    let mut along = [0.0; MOST];
    along[..size].copy_from_slice(v);
    for (j, out) in out.iter_mut().enumerate() {
        let shifted = |by: f64| {
            let mut direction = along;
            direction[j] += by;
            cubed(&direction)
        };
        // A step as large as the velocities keeps the digits of the difference.
        let difference = shifted(speed) - shifted(-speed);
        let mut alone = [0.0; MOST];
        alone[j] = speed;
        *out = (difference - 2.0 * cubed(&alone)) / (6.0 * speed);
    }
}

fn dot<T: Scalar, const D: usize>(a: &[T; D], b: &[T; D]) -> T {
    let mut sum = T::from(0.0);
    for i in 0..D {
        sum += a[i] * b[i];
    }
    sum
}

fn minus<T: Scalar, const D: usize>(a: &[T; D], b: &[T; D]) -> [T; D] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// `n · r` with the normal along `e₁ × e₂`, or left of `e₁` in the plane.
fn over<T: Scalar, const D: usize>(e: &[[T; D]; 2], r: &[T; D]) -> T {
    let n: [T; D] = std::array::from_fn(|i| {
        if D == 2 {
            return if i == 0 { -e[0][1] } else { e[0][0] };
        }
        let (j, k) = ((i + 1) % D, (i + 2) % D);
        e[0][j] * e[1][k] - e[0][k] * e[1][j]
    });
    dot(&n, r) / dot(&n, &n).sqrt()
}

/// The gap as a function of the coordinates of the point, then of the corners, on the part of the facet that `closest`
/// is on.
fn gap<T: Scalar, const D: usize>(coordinates: &[T], closest: &Closest<D>) -> T {
    let at = |block: usize| -> [T; D] { std::array::from_fn(|i| coordinates[block * D + i]) };
    let count = coordinates.len() / D - 1;
    let sign = closest.gap.signum();
    match closest.region {
        Region::Vertex(a) => {
            let r = minus(&at(0), &at(1 + a));
            dot(&r, &r).sqrt() * sign
        }
        Region::Edge(a) => {
            let (from, to) = (at(1 + a), at(1 + (a + 1) % count));
            let (r, e) = (minus(&at(0), &from), minus(&to, &from));
            let s = dot(&r, &e) / dot(&e, &e);
            let across: [T; D] = std::array::from_fn(|i| r[i] - s * e[i]);
            dot(&across, &across).sqrt() * sign
        }
        Region::Interior if count < 4 => {
            let first = at(1);
            let e = [minus(&at(2), &first), minus(&at(count.max(2)), &first)];
            over(&e, &minus(&at(0), &first))
        }
        Region::Interior => warped(&at, closest),
    }
}

/// The gap over a bilinear quadrilateral.
fn warped<T: Scalar, const D: usize>(at: &impl Fn(usize) -> [T; D], closest: &Closest<D>) -> T {
    const P: [f64; 4] = [-1.0, 1.0, 1.0, -1.0];
    const Q: [f64; 4] = [-1.0, -1.0, 1.0, 1.0];
    let mut xi = closest.xi.map(T::from);
    let place = |xi: &[T; 2]| {
        let (mut x, mut e, mut twist) =
            ([T::from(0.0); D], [[T::from(0.0); D]; 2], [T::from(0.0); D]);
        for a in 0..4 {
            let corner = at(1 + a);
            let (s, t) = (xi[0] * P[a] + 1.0, xi[1] * Q[a] + 1.0);
            for i in 0..D {
                x[i] += corner[i] * s * t * 0.25;
                e[0][i] += corner[i] * t * (0.25 * P[a]);
                e[1][i] += corner[i] * s * (0.25 * Q[a]);
                twist[i] += corner[i] * (0.25 * P[a] * Q[a]);
            }
        }
        (x, e, twist)
    };
    // Each round doubles the number of derivatives that are right; there are three.
    for _ in 0..3 {
        let (x, e, twist) = place(&xi);
        let r = minus(&at(0), &x);
        let slope = [dot(&e[0], &r), dot(&e[1], &r)];
        let (a, b) = (dot(&e[0], &e[0]), dot(&e[1], &e[1]));
        let mixed = dot(&e[0], &e[1]) - dot(&r, &twist);
        let det = a * b - mixed * mixed;
        let step = [
            (slope[0] * b - slope[1] * mixed) / det,
            (slope[1] * a - slope[0] * mixed) / det,
        ];
        xi = [xi[0] + step[0], xi[1] + step[1]];
    }
    let (x, e, _) = place(&xi);
    over(&e, &minus(&at(0), &x))
}
