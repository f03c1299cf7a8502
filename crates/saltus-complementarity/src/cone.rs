//! The cones of dry friction: exact projections.
//!
//! Contact components are `(n, t)`, `(n, t₁, t₂)` or, with rolling friction, `(n, t₁, t₂, r₁, r₂)`. The
//! cone is `K = { |r_t| ≤ μ r_n, |r_r| ≤ μ_r r_n }` and its dual `K* = { u_n ≥ μ|u_t| + μ_r|u_r| }`.

/// Euclidean norm of a short vector.
#[inline]
pub(crate) fn norm(x: &[f64]) -> f64 {
    match *x {
        [a] => a.abs(),
        [a, b] => (a * a + b * b).sqrt(),
        _ => x.iter().map(|v| v * v).sum::<f64>().sqrt(),
    }
}

/// Where a point lies relative to a cone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// In the cone: its own projection.
    Inside,
    /// In the polar cone: the projection is the apex.
    Polar,
    /// Elsewhere: the projection is on the boundary.
    Boundary,
}

/// Projects `a` onto the friction cone with coefficient `mu` (and rolling length `rolling` where `D` is 5).
#[inline]
#[must_use]
pub fn project<const D: usize>(a: &[f64; D], mu: f64, rolling: f64) -> ([f64; D], Region) {
    if D == 5 {
        return project_rolling(a, mu, rolling);
    }
    let t = norm(&a[1..]);
    if t <= mu * a[0] && a[0] >= 0.0 {
        return (*a, Region::Inside);
    }
    if mu * t <= -a[0] {
        return ([0.0; D], Region::Polar);
    }
    let n = (a[0] + mu * t) / (1.0 + mu * mu);
    let mut p = [0.0; D];
    p[0] = n;
    if t > 0.0 {
        let factor = mu * n / t;
        for k in 1..D {
            p[k] = factor * a[k];
        }
    }
    (p, Region::Boundary)
}

/// The normal part is the root `x ≥ 0` of the increasing, piecewise linear
/// `x − a_n − μ (t − μ x)₊ − μ_r (s − μ_r x)₊`.
fn project_rolling<const D: usize>(a: &[f64; D], mu: f64, rolling: f64) -> ([f64; D], Region) {
    let (t, s) = (norm(&a[1..3]), norm(&a[3..D]));
    if t <= mu * a[0] && s <= rolling * a[0] && a[0] >= 0.0 {
        return (*a, Region::Inside);
    }
    if mu * t + rolling * s <= -a[0] {
        return ([0.0; D], Region::Polar);
    }
    // With −(y)₊ = min(0, −y) the function is the smallest of four increasing lines: its root is the largest of theirs.
    let mut x = a[0].max(0.0);
    for (m, r) in [(mu, 0.0), (0.0, rolling), (mu, rolling)] {
        x = x.max((a[0] + m * t + r * s) / (1.0 + m * m + r * r));
    }
    let (ft, fs) = (shrink(mu * x, t), shrink(rolling * x, s));
    let mut p = *a;
    p[0] = x;
    for v in &mut p[1..3] {
        *v *= ft;
    }
    for v in &mut p[3..D] {
        *v *= fs;
    }
    (p, Region::Boundary)
}

/// `min(1, radius / length)`.
fn shrink(radius: f64, length: f64) -> f64 {
    if length > radius {
        radius / length
    } else {
        1.0
    }
}

/// Projects `a` onto the dual cone: `a + P_K(−a)` (Moreau's decomposition).
#[must_use]
pub fn project_dual<const D: usize>(a: &[f64; D], mu: f64, rolling: f64) -> [f64; D] {
    let mut minus = *a;
    for v in &mut minus {
        *v = -*v;
    }
    let (mut p, _) = project(&minus, mu, rolling);
    for (p, a) in p.iter_mut().zip(a) {
        *p += a;
    }
    p
}

/// De Saxcé's change of variable: `û = u + (μ |u_t| + μ_r |u_r|) n`.
#[inline]
#[must_use]
pub fn de_saxce<const D: usize>(u: &[f64; D], mu: f64, rolling: f64) -> [f64; D] {
    let mut hat = *u;
    if D == 5 {
        hat[0] += mu * norm(&u[1..3]) + rolling * norm(&u[3..D]);
    } else {
        hat[0] += mu * norm(&u[1..]);
    }
    hat
}
