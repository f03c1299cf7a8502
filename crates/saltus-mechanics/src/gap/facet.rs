//! A point over a facet with moving corners: segment, triangle or bilinear quadrilateral.
//!
//! With the closest point `x̄(ξ) = Σ Nₐ xₐ`, `r = x − x̄`, `e_α = x̄,_α`, the normal `n` and `g = n·r` (Wriggers,
//! *Computational Contact Mechanics*, 2006, ch. 4):
//!
//! ```text
//! δr = δx − Σ Nₐ δxₐ      δe_α = Σ Nₐ,_α δxₐ      a_αβ = e_α·e_β      b_αβ = n·x̄,_αβ      A = a − g b
//! δg = n·δr               A δξ = e·δr + g n·δe
//! Δδg = −[n·Δe_α + b_αβ Δξ^β] a^αγ e_γ·δr − Δξ^α n·δe_α
//! ```
//!
//! Beyond the facet the closest point lies on an edge or a corner: `g = ±|r|` with the sign of the side of the facet,
//! `G = ±r/|r|`, and a second derivative that grows like `1/g`. From facet to facet the normal jumps: a
//! point that slides over an edge sees it.

use super::{dot, minus, unit};

/// Part of the facet the closest point lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// Inside.
    Interior,
    /// The edge from this corner to the next.
    Edge(usize),
    /// This corner.
    Vertex(usize),
}

/// The point of a facet that is closest to a given point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest<const D: usize> {
    /// Signed distance \[m\], positive on the side the normal points to.
    pub gap: f64,
    /// Gradient of the gap by the point: a unit vector.
    pub normal: [f64; D],
    /// Weights of the corners at the closest point; beyond their number zero.
    pub weights: [f64; 4],
    /// Coordinates on the facet: 0 to 1 on segments and triangles, −1 to 1 on quadrilaterals.
    pub xi: [f64; 2],
    /// Where the closest point lies.
    pub region: Region,
}

/// Distance out of the facet, in its coordinates, that still counts as inside: round-off.
const EDGE: f64 = 1e-12;

type Vectors<const D: usize> = [[f64; D]; 2];

/// Weights of the corners at `ξ`, their derivatives, and the mixed second derivative.
fn weights<const N: usize>(xi: &[f64; 2]) -> ([f64; N], [[f64; N]; 2], [f64; N]) {
    let (mut w, mut d, mut mixed) = ([0.0; N], [[0.0; N]; 2], [0.0; N]);
    let [s, t] = *xi;
    match N {
        2 => {
            (w[0], w[1]) = (1.0 - s, s);
            (d[0][0], d[0][1]) = (-1.0, 1.0);
        }
        3 => {
            (w[0], w[1], w[2]) = (1.0 - s - t, s, t);
            (d[0][0], d[0][1], d[1][0], d[1][2]) = (-1.0, 1.0, -1.0, 1.0);
        }
        _ => {
            for a in 0..N {
                let (p, q) = ([-1.0, 1.0, 1.0, -1.0][a % 4], [-1.0, -1.0, 1.0, 1.0][a % 4]);
                w[a] = 0.25 * (1.0 + p * s) * (1.0 + q * t);
                d[0][a] = 0.25 * p * (1.0 + q * t);
                d[1][a] = 0.25 * q * (1.0 + p * s);
                mixed[a] = 0.25 * p * q;
            }
        }
    }
    (w, d, mixed)
}

#[inline]
fn combine<const D: usize, const N: usize>(w: &[f64; N], corners: &[[f64; D]; N]) -> [f64; D] {
    let mut x = [0.0; D];
    for (w, corner) in w.iter().zip(corners) {
        for i in 0..D {
            x[i] += w * corner[i];
        }
    }
    x
}

/// Place, tangents and twist `x̄,₁₂` at `ξ`.
fn surface_at<const D: usize, const N: usize>(
    xi: &[f64; 2],
    corners: &[[f64; D]; N],
) -> ([f64; D], Vectors<D>, [f64; D]) {
    let (w, d, mixed) = weights::<N>(xi);
    (
        combine(&w, corners),
        [combine(&d[0], corners), combine(&d[1], corners)],
        combine(&mixed, corners),
    )
}

/// The corners as an array.
#[inline]
fn array<const D: usize, const N: usize>(corners: &[[f64; D]]) -> [[f64; D]; N] {
    std::array::from_fn(|a| corners[a.min(corners.len() - 1)])
}

/// Normal of a facet with these two, three or four corners at the middle of its coordinates.
#[must_use]
pub fn normal_of<const D: usize>(corners: &[[f64; D]]) -> Option<[f64; D]> {
    let third = [1.0 / 3.0; 2];
    let e = match corners.len() {
        2 => surface_at(&third, &array::<D, 2>(corners)).1,
        3 => surface_at(&third, &array::<D, 3>(corners)).1,
        _ => surface_at(&[0.0; 2], &array::<D, 4>(corners)).1,
    };
    normal(&e)
}

/// [`hessian`] for any number of corners.
pub fn hessian_of<const D: usize>(
    x: &[f64; D],
    corners: &[[f64; D]],
    closest: &Closest<D>,
    factor: f64,
    out: &mut [f64],
) {
    match corners.len() {
        2 => hessian(x, &array::<D, 2>(corners), closest, factor, out),
        3 => hessian(x, &array::<D, 3>(corners), closest, factor, out),
        _ => hessian(x, &array::<D, 4>(corners), closest, factor, out),
    }
}

/// Left of a segment; `e₁ × e₂` of a surface; unit.
fn normal<const D: usize>(e: &Vectors<D>) -> Option<[f64; D]> {
    let n = std::array::from_fn(|i| {
        if D == 2 {
            return if i == 0 { -e[0][1] } else { e[0][0] };
        }
        let (j, k) = ((i + 1) % D, (i + 2) % D);
        e[0][j] * e[1][k] - e[0][k] * e[1][j]
    });
    unit(&n).map(|(n, _)| n)
}

/// Solves a symmetric system of one or two unknowns; `None` where it is singular.
fn solve<const D: usize>(a: &[[f64; 2]; 2], b: &[f64; 2]) -> Option<[f64; 2]> {
    if D == 2 {
        return (a[0][0] != 0.0).then(|| [b[0] / a[0][0], 0.0]);
    }
    let det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    (det.abs() > 1e-14 * (a[0][0] * a[1][1]).abs()).then(|| {
        [
            (b[0] * a[1][1] - b[1] * a[0][1]) / det,
            (b[1] * a[0][0] - b[0] * a[1][0]) / det,
        ]
    })
}

fn is_inside<const N: usize>(xi: &[f64; 2], slack: f64) -> bool {
    let [s, t] = *xi;
    match N {
        2 => (-slack..=1.0 + slack).contains(&s),
        3 => s >= -slack && t >= -slack && s + t <= 1.0 + slack,
        _ => s.abs() <= 1.0 + 2.0 * slack && t.abs() <= 1.0 + 2.0 * slack,
    }
}

/// `ξ` where `r` is normal to the facet, if that is inside, or outside by no more than `slack` of its size. Flat facets
/// need one step, others Newton's method.
fn foot<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
    slack: f64,
) -> Option<[f64; 2]> {
    let mut xi = [0.0; 2];
    for _ in 0..30 {
        let (place, e, twist) = surface_at(&xi, corners);
        let r = minus(x, &place);
        let slope = [dot(&e[0], &r), dot(&e[1], &r)];
        let mut a = [
            [dot(&e[0], &e[0]), dot(&e[0], &e[1])],
            [dot(&e[1], &e[0]), dot(&e[1], &e[1])],
        ];
        if N == 4 {
            let bend = dot(&r, &twist);
            let mixed = a[0][1] - bend;
            // Far from a warped facet the full matrix may not be positive: then without the twist.
            if a[0][0] * a[1][1] > mixed * mixed {
                (a[0][1], a[1][0]) = (mixed, mixed);
            }
        }
        let step = solve::<D>(&a, &slope)?;
        let size = step[0].abs().max(step[1].abs());
        if !size.is_finite() {
            return None;
        }
        // Two widths of the facet: enough to come back from outside.
        let cut = if N == 4 && size > 2.0 {
            2.0 / size
        } else {
            1.0
        };
        xi = [xi[0] + cut * step[0], xi[1] + cut * step[1]];
        if N == 4 && (xi[0].abs() > 20.0 || xi[1].abs() > 20.0) {
            return None;
        }
        if N < 4 || size < 1e-14 {
            return is_inside::<N>(&xi, slack).then_some(xi);
        }
    }
    is_inside::<N>(&xi, slack).then_some(xi)
}

/// Closest point of the boundary: corner weights, `ξ`, part and vector to `x`.
fn rim<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
) -> ([f64; 2], Region, [f64; D]) {
    let at = |a: usize| -> [f64; 2] {
        match N {
            2 => [[0.0, 0.0], [1.0, 0.0]][a % 2],
            3 => [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]][a % 3],
            _ => [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]][a % 4],
        }
    };
    let mut best = (at(0), Region::Vertex(0), minus(x, &corners[0]));
    let mut least = dot(&best.2, &best.2);
    for a in 0..N {
        let b = (a + 1) % N;
        let from = minus(x, &corners[a]);
        let mut try_this = |xi: [f64; 2], region: Region, r: [f64; D]| {
            let distance = dot(&r, &r);
            if distance < least {
                (least, best) = (distance, (xi, region, r));
            }
        };
        try_this(at(a), Region::Vertex(a), from);
        if N == 2 {
            continue;
        }
        let edge = minus(&corners[b], &corners[a]);
        let s = dot(&edge, &from) / dot(&edge, &edge);
        if s > 0.0 && s < 1.0 {
            let r = std::array::from_fn(|i| from[i] - s * edge[i]);
            let (p, q) = (at(a), at(b));
            let xi = [p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])];
            try_this(xi, Region::Edge(a), r);
        }
    }
    best
}

/// The closest point of the facet with these corners; `None` where the facet is degenerate or a number is not finite.
///
/// `D = 2` with `N = 2`: a segment whose normal is to its left; `D = 3` with `N = 3` or `4`: the normal by the right-hand
/// rule.
#[must_use]
pub fn closest<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
) -> Option<Closest<D>> {
    const { assert!((D == 2 && N == 2) || (D == 3 && (N == 3 || N == 4))) };
    let inside = over(x, corners, EDGE);
    // Over a flat facet the foot is the closest point; over a warped one the rim may be closer.
    if N < 4 && inside.is_some() {
        return inside;
    }
    let (xi, region, r) = rim(x, corners);
    let distance = dot(&r, &r).sqrt();
    if let Some(found) = inside
        && found.gap.abs() <= distance * (1.0 + 1e-12)
    {
        return inside;
    }
    let (_, e, _) = surface_at(&xi, corners);
    let facet = normal(&e)?;
    let sign = if dot(&facet, &r) < 0.0 { -1.0 } else { 1.0 };
    let direction = match unit(&r) {
        Some((n, _)) => n.map(|n| sign * n),
        None => facet,
    };
    distance.is_finite().then(|| Closest {
        gap: sign * distance,
        normal: direction,
        weights: four_weights::<N>(&xi),
        xi,
        region,
    })
}

/// The point over the facet where it, extended by `slack` of its size beyond its edges, has its normal towards `x`;
/// `None` where there is no such point.
#[must_use]
pub fn over<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
    slack: f64,
) -> Option<Closest<D>> {
    let xi = foot(x, corners, slack)?;
    let (place, e, _) = surface_at(&xi, corners);
    let n = normal(&e)?;
    Some(Closest {
        gap: dot(&n, &minus(x, &place)),
        normal: n,
        weights: four_weights::<N>(&xi),
        xi,
        region: Region::Interior,
    })
}

/// Weights of the corners, zero beyond their number.
fn four_weights<const N: usize>(xi: &[f64; 2]) -> [f64; 4] {
    let (w, _, _) = weights::<N>(xi);
    std::array::from_fn(|a| w.get(a).copied().unwrap_or(0.0))
}

/// Gradient of the gap by the point, then by each corner (`(1 + N)·D` numbers).
#[inline]
pub fn gradient<const D: usize, const N: usize>(closest: &Closest<D>, out: &mut [f64]) {
    row(&closest.normal, closest, out);
    debug_assert_eq!(out.len(), (1 + N) * D);
}

/// `direction · (ẋ − Σ Nₐ ẋₐ)` as a row: with a tangent of [`super::frame`] it is the slip.
#[inline]
pub fn row<const D: usize>(direction: &[f64; D], closest: &Closest<D>, out: &mut [f64]) {
    for (block, out) in out.chunks_exact_mut(D).enumerate() {
        let weight = match block {
            0 => 1.0,
            _ => -closest.weights[block - 1],
        };
        for i in 0..D {
            out[i] = weight * direction[i];
        }
    }
}

/// The material direction that tangents are projected from: the first edge of the facet, where the contact is.
#[must_use]
pub fn material_direction<const D: usize, const N: usize>(
    closest: &Closest<D>,
    corners: &[[f64; D]; N],
) -> [f64; D] {
    surface_at(&closest.xi, corners).1[0]
}

/// Rows of first derivatives over `(1 + N)·D` coordinates.
const MOST: usize = 15;

/// `out ← factor · ∂²g` (`(1 + N)·D` squared, row-major, symmetric). On edges and corners a gap of zero has none: zeros.
pub fn hessian<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
    closest: &Closest<D>,
    factor: f64,
    out: &mut [f64],
) {
    out.fill(0.0);
    match closest.region {
        Region::Interior => interior_hessian(corners, closest, factor, out),
        Region::Edge(a) => rim_hessian(x, corners, closest, Some(a), factor, out),
        Region::Vertex(_) => rim_hessian(x, corners, closest, None, factor, out),
    }
}

/// `n · Σ wₐ δxₐ` as a row over the corners (the point has no part in it), times `scale`.
fn corner_row<const D: usize, const N: usize>(
    n: &[f64; D],
    w: &[f64; N],
    scale: f64,
    out: &mut [f64; MOST],
) {
    for a in 0..N {
        for i in 0..D {
            out[(1 + a) * D + i] += scale * w[a] * n[i];
        }
    }
}

fn interior_hessian<const D: usize, const N: usize>(
    corners: &[[f64; D]; N],
    closest: &Closest<D>,
    factor: f64,
    out: &mut [f64],
) {
    let size = (1 + N) * D;
    let tangents = D - 1;
    let n = &closest.normal;
    let (_, d, _) = weights::<N>(&closest.xi);
    let (_, e, twist) = surface_at(&closest.xi, corners);
    let b = if N == 4 { dot(n, &twist) } else { 0.0 };
    let a = [
        [dot(&e[0], &e[0]), dot(&e[0], &e[1])],
        [dot(&e[1], &e[0]), dot(&e[1], &e[1])],
    ];
    let mixed = a[0][1] - closest.gap * b;
    let full = [[a[0][0], mixed], [mixed, a[1][1]]];
    // Rows of e_α·δr, n·δe_α, and the right-hand side of δξ.
    let (mut along, mut turn) = ([[0.0; MOST]; 2], [[0.0; MOST]; 2]);
    for k in 0..tangents {
        row(&e[k], closest, &mut along[k][..size]);
        corner_row(n, &d[k], 1.0, &mut turn[k]);
    }
    let (mut slide, mut lift) = ([[0.0; MOST]; 2], [[0.0; MOST]; 2]);
    for i in 0..size {
        let right = std::array::from_fn(|k| along[k][i] + closest.gap * turn[k][i]);
        let Some(xi) = solve::<D>(&full, &right) else {
            return;
        };
        // a^αγ e_γ·δr.
        let Some(dual) = solve::<D>(&a, &[along[0][i], along[1][i]]) else {
            return;
        };
        for k in 0..tangents {
            slide[k][i] = xi[k];
            lift[k][i] = dual[k];
        }
    }
    for i in 0..size {
        for j in 0..size {
            let mut sum = 0.0;
            for k in 0..tangents {
                let bend = if tangents == 2 {
                    b * slide[1 - k][j]
                } else {
                    0.0
                };
                sum -= (turn[k][j] + bend) * lift[k][i] + slide[k][j] * turn[k][i];
            }
            out[i * size + j] = factor * sum;
        }
    }
}

/// Second derivative of a distance to a line or a point: from that of `½ r·r`, whose minimum over the line is taken.
fn rim_hessian<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
    closest: &Closest<D>,
    edge: Option<usize>,
    factor: f64,
    out: &mut [f64],
) {
    let size = (1 + N) * D;
    let distance = closest.gap.abs();
    if distance == 0.0 {
        return;
    }
    let scale = factor / closest.gap;
    let weight = |block: usize| match block {
        0 => 1.0,
        _ => -closest.weights[block - 1],
    };
    // ∂rᵀ∂r − G Gᵀ.
    for p in 0..=N {
        for q in 0..=N {
            let w = scale * weight(p) * weight(q);
            for i in 0..D {
                for j in 0..D {
                    let one = if i == j { 1.0 } else { 0.0 };
                    out[(p * D + i) * size + q * D + j] =
                        w * (one - closest.normal[i] * closest.normal[j]);
                }
            }
        }
    }
    let Some(a) = edge else { return };
    // ∂(r·r,ξ): −e·δr − r·δe, with e = x_b − x_a.
    let b = (a + 1) % N;
    let e = minus(&corners[b], &corners[a]);
    let foot: [f64; D] = std::array::from_fn(|i| {
        let w = &closest.weights;
        w[a] * corners[a][i] + w[b] * corners[b][i]
    });
    let r = minus(x, &foot);
    let mut slope = [0.0; MOST];
    row(&e, closest, &mut slope[..size]);
    let mut ends = [0.0; N];
    (ends[a], ends[b]) = (-1.0, 1.0);
    corner_row(&r, &ends, 1.0, &mut slope);
    let stretch = scale / dot(&e, &e);
    for i in 0..size {
        for j in 0..size {
            out[i * size + j] -= stretch * slope[i] * slope[j];
        }
    }
}

/// `ζ = vᵀ ∂²g v` of `g̈ = G v̇ + ζ` \[m/s²\]; `v` holds the velocities of the point, then of the corners.
#[must_use]
pub fn bias<const D: usize, const N: usize>(
    x: &[f64; D],
    corners: &[[f64; D]; N],
    closest: &Closest<D>,
    v: &[f64],
) -> f64 {
    let size = (1 + N) * D;
    let mut second = [0.0; MOST * MOST];
    hessian(x, corners, closest, 1.0, &mut second[..size * size]);
    let mut sum = 0.0;
    for (v_i, row) in v.iter().zip(second.chunks_exact(size)) {
        for (v_j, h) in v.iter().zip(row) {
            sum += v_i * h * v_j;
        }
    }
    sum
}
