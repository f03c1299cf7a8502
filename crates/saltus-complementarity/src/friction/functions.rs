//! The nonsmooth functions whose zeros are the solutions of Coulomb's law, with their generalised Jacobians.
//!
//! Each returns `F(r, u)` and blocks `(A, B)` such that `A dr + B du` is the derivative of `F`.
//! Sources: Alart & Curnier, *Comput. Methods Appl. Mech. Engrg.* 92 (1991); Jean & Moreau (1987), here as the
//! natural map of the cone with De Saxcé's change of variable.

use crate::cone::{Region, de_saxce, norm, project};
use crate::elimination::eliminate;

/// A small square matrix, by rows.
pub(crate) type Block<const D: usize> = [[f64; D]; D];

/// Which function a Newton method drives to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewtonFunction {
    /// Normal and tangential projections, the radius of the disc from the normal one; with rolling friction a second
    /// disc for the rolling components.
    AlartCurnier,
    /// The natural map of the cone (Jean–Moreau).
    NaturalMap,
}

/// `F` and `(A, B)` of the chosen function.
#[inline]
pub(crate) fn evaluate<const D: usize>(
    function: NewtonFunction,
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> ([f64; D], (Block<D>, Block<D>)) {
    match function {
        NewtonFunction::AlartCurnier => alart_curnier(r, u, rho, mu, rolling),
        NewtonFunction::NaturalMap => natural_map(r, u, rho, mu, rolling),
    }
}

fn identity<const D: usize>() -> Block<D> {
    let mut m = [[0.0; D]; D];
    for (k, row) in m.iter_mut().enumerate() {
        row[k] = 1.0;
    }
    m
}

/// The components bounded by a disc with their coefficients; the second is empty without rolling.
fn discs<const D: usize>(mu: f64, rolling: f64) -> [(std::ops::Range<usize>, f64); 2] {
    if D == 5 {
        [(1..3, mu), (3..D, rolling)]
    } else {
        [(1..D, mu), (D..D, 0.0)]
    }
}

/// The natural map; `A = I − P'`, `B = ρ P' G`, `G = ∂û/∂u`.
pub(crate) fn natural_map<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> ([f64; D], (Block<D>, Block<D>)) {
    let hat = de_saxce(u, mu, rolling);
    let f = super::residual::natural_map_residual(r, &hat, rho, mu, rolling);
    let mut x = *r;
    for (x, h) in x.iter_mut().zip(&hat) {
        *x -= rho * h;
    }
    let slope = projection_jacobian(&x, mu, rolling);
    let mut g = identity::<D>();
    let parts = discs::<D>(mu, rolling);
    for (range, coefficient) in parts {
        let size = norm(&u[range.clone()]);
        if size > 0.0 {
            for k in range {
                g[0][k] += coefficient * u[k] / size;
            }
        }
    }
    let mut a = identity::<D>();
    let mut b = [[0.0; D]; D];
    for i in 0..D {
        for j in 0..D {
            a[i][j] -= slope[i][j];
            for k in 0..D {
                b[i][j] += rho * slope[i][k] * g[k][j];
            }
        }
    }
    (f, (a, b))
}

/// An element of the generalised Jacobian of the projection at `x`.
pub(crate) fn projection_jacobian<const D: usize>(x: &[f64; D], mu: f64, rolling: f64) -> Block<D> {
    let (p, region) = project(x, mu, rolling);
    match region {
        Region::Inside => identity(),
        Region::Polar => [[0.0; D]; D],
        Region::Boundary => {
            let mut m = [[0.0; D]; D];
            let parts = discs::<D>(mu, rolling);
            // dp_n = (dx_n + Σ c e·dx) / (1 + Σ c²), summed over the discs whose bound is active.
            let mut weight = 1.0;
            let mut gradient = [0.0; D];
            gradient[0] = 1.0;
            let mut active = [false; 2];
            for (k, (range, c)) in parts.iter().enumerate() {
                let size = norm(&x[range.clone()]);
                if size > c * p[0] && size > 0.0 {
                    active[k] = true;
                    weight += c * c;
                    for j in range.clone() {
                        gradient[j] = c * x[j] / size;
                    }
                }
            }
            for g in &mut gradient {
                *g /= weight;
            }
            m[0] = gradient;
            for ((range, c), active) in parts.iter().zip(active) {
                let size = norm(&x[range.clone()]);
                for i in range.clone() {
                    if !active {
                        m[i][i] = 1.0;
                        continue;
                    }
                    for j in 0..D {
                        m[i][j] = c * x[i] / size * gradient[j];
                    }
                    for j in range.clone() {
                        let unit = if i == j { 1.0 } else { 0.0 };
                        m[i][j] += c * p[0] / size * (unit - x[i] * x[j] / (size * size));
                    }
                }
            }
            m
        }
    }
}

fn alart_curnier<const D: usize>(
    r: &[f64; D],
    u: &[f64; D],
    rho: f64,
    mu: f64,
    rolling: f64,
) -> ([f64; D], (Block<D>, Block<D>)) {
    let mut f = [0.0; D];
    let (mut a, mut b) = ([[0.0; D]; D], [[0.0; D]; D]);
    let x = r[0] - rho * u[0];
    let is_closed = x > 0.0;
    f[0] = r[0] - x.max(0.0);
    if is_closed {
        // r_n − x, without the cancellation.
        f[0] = rho * u[0];
        b[0][0] = rho;
    } else {
        a[0][0] = 1.0;
    }
    let mut t = [0.0; D];
    for k in 1..D {
        t[k] = r[k] - rho * u[k];
    }
    for (range, coefficient) in discs::<D>(mu, rolling) {
        let size = norm(&t[range.clone()]);
        let radius = coefficient * x.max(0.0);
        if size <= radius {
            for k in range {
                f[k] = rho * u[k];
                b[k][k] = rho;
            }
            continue;
        }
        for i in range.clone() {
            let e = t[i] / size;
            f[i] = r[i] - radius * e;
            a[i][i] = 1.0;
            if is_closed {
                a[i][0] = -coefficient * e;
                b[i][0] = coefficient * rho * e;
                for j in range.clone() {
                    let unit = if i == j { 1.0 } else { 0.0 };
                    let q = radius / size * (unit - e * t[j] / size);
                    a[i][j] -= q;
                    b[i][j] += rho * q;
                }
            }
        }
    }
    (f, (a, b))
}

/// `M⁻¹ b` by elimination with row pivoting; `None` where a pivot vanishes.
pub(crate) fn solve_small<const D: usize>(m: &Block<D>, b: &[f64; D]) -> Option<[f64; D]> {
    let (mut m, mut x) = (*m, *b);
    eliminate(&mut m, &mut x, D)?;
    Some(x)
}
