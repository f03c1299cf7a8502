//! Rotations in space: unit quaternions `(w, x, y, z)` from body to space, and rotation vectors.
//!
//! What strain energies are made of takes any [`Scalar`], so that it is differentiated exactly; the rest is
//! for `f64`. Notation: `x̂` is the matrix of `x ×`, `exp` turns a rotation vector into a rotation, `log` is
//! its inverse with an angle below π, `J_r` the right Jacobian, `exp(θ)ᵀ δexp(θ) = (J_r(θ) δθ)^`
//! (Géradin and Cardona, *Flexible Multibody Dynamics*, 2001, ch. 4).

use num_dual::DualNum;

/// A number a formula is evaluated with: `f64`, or a dual number that carries derivatives along.
pub trait Scalar: DualNum<Primitive = f64> + Copy {}

impl<D: DualNum<Primitive = f64> + Copy> Scalar for D {}

/// `a · b`.
#[inline]
#[must_use]
pub fn dot<D: Scalar>(a: &[D; 3], b: &[D; 3]) -> D {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `a × b`.
#[inline]
#[must_use]
pub fn cross<D: Scalar>(a: &[D; 3], b: &[D; 3]) -> [D; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The inverse of a unit quaternion.
#[inline]
#[must_use]
pub fn conjugate<D: Scalar>(p: &[D; 4]) -> [D; 4] {
    [p[0], -p[1], -p[2], -p[3]]
}

/// `a ∘ b`: first `b`, then `a`.
#[inline]
#[must_use]
pub fn compose<D: Scalar>(a: &[D; 4], b: &[D; 4]) -> [D; 4] {
    [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
}

/// `Λ(p) x`, from body to space.
#[inline]
#[must_use]
pub fn rotate<D: Scalar>(p: &[D; 4], x: &[D; 3]) -> [D; 3] {
    let v = [p[1], p[2], p[3]];
    let t = cross(&v, x).map(|t| t + t);
    let u = cross(&v, &t);
    std::array::from_fn(|i| x[i] + p[0] * t[i] + u[i])
}

/// `Λ(p)ᵀ x`, from space to body.
#[inline]
#[must_use]
pub fn rotate_back<D: Scalar>(p: &[D; 4], x: &[D; 3]) -> [D; 3] {
    rotate(&conjugate(p), x)
}

/// `p` or `−p`, which are the same rotation, with `w ≥ 0`.
#[inline]
#[must_use]
pub fn principal<D: Scalar>(p: &[D; 4]) -> [D; 4] {
    if p[0].re() < 0.0 { p.map(|x| -x) } else { *p }
}

/// Rotation vector of a unit quaternion \[rad\], with an angle of at most π.
#[must_use]
pub fn log<D: Scalar>(p: &[D; 4]) -> [D; 3] {
    let p = principal(p);
    let v = [p[1], p[2], p[3]];
    let square = dot(&v, &v);
    let factor = if square.re() < 0.01 {
        twice_arcsine(square)
    } else {
        let sine = square.sqrt();
        let half = if p[0].re() > sine.re() {
            (sine / p[0]).atan()
        } else {
            D::from(std::f64::consts::FRAC_PI_2) - (p[0] / sine).atan()
        };
        (half + half) / sine
    };
    v.map(|v| v * factor)
}

/// `2 asin(√x) / √x` near zero, as a power series.
fn twice_arcsine<D: Scalar>(x: D) -> D {
    const SERIES: [f64; 10] = [
        2.0,
        1.0 / 3.0,
        3.0 / 20.0,
        5.0 / 56.0,
        35.0 / 576.0,
        63.0 / 1408.0,
        231.0 / 6656.0,
        143.0 / 5120.0,
        6435.0 / 278_528.0,
        12155.0 / 622_592.0,
    ];
    SERIES
        .iter()
        .rev()
        .fold(D::from(0.0), |sum, &c| sum * x + c)
}

/// Quaternion of a rotation vector \[rad\].
#[must_use]
pub fn exp(theta: &[f64; 3]) -> [f64; 4] {
    let half = 0.5 * dot(theta, theta).sqrt();
    let factor = if half < 1e-4 {
        0.5 - half * half / 12.0
    } else {
        0.5 * half.sin() / half
    };
    [
        half.cos(),
        theta[0] * factor,
        theta[1] * factor,
        theta[2] * factor,
    ]
}

/// Quaternion of the frame with the given axes: orthonormal, right-handed, as seen from space.
#[must_use]
pub fn from_axes(axes: &[[f64; 3]; 3]) -> [f64; 4] {
    let r = |i: usize, j: usize| axes[j][i];
    let trace = r(0, 0) + r(1, 1) + r(2, 2);
    // The largest of the four squares decides, so that nothing cancels.
    let largest = (0..3).fold(0, |best, i| if r(i, i) > r(best, best) { i } else { best });
    let mut p = [0.0; 4];
    if trace > r(largest, largest) {
        p[0] = 1.0 + trace;
        p[1] = r(2, 1) - r(1, 2);
        p[2] = r(0, 2) - r(2, 0);
        p[3] = r(1, 0) - r(0, 1);
    } else {
        let (i, j, k) = (largest, (largest + 1) % 3, (largest + 2) % 3);
        p[0] = r(k, j) - r(j, k);
        p[1 + i] = 1.0 + r(i, i) - r(j, j) - r(k, k);
        p[1 + j] = r(j, i) + r(i, j);
        p[1 + k] = r(k, i) + r(i, k);
    }
    let norm = p.iter().map(|x| x * x).sum::<f64>().sqrt();
    p.map(|x| x / norm)
}

/// A 3 × 3 matrix, row by row.
pub type Matrix3 = [[f64; 3]; 3];

/// The identity.
pub const IDENTITY: Matrix3 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// `Λ(p)`.
#[inline]
#[must_use]
pub fn matrix(p: &[f64; 4]) -> Matrix3 {
    let [w, x, y, z] = *p;
    [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ]
}

/// `x̂`.
#[inline]
#[must_use]
pub fn hat(x: &[f64; 3]) -> Matrix3 {
    [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]]
}

/// `A B`.
#[inline]
#[must_use]
pub fn product(a: &Matrix3, b: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j])
    })
}

/// `A x`.
#[inline]
#[must_use]
pub fn apply(a: &Matrix3, x: &[f64; 3]) -> [f64; 3] {
    [dot(&a[0], x), dot(&a[1], x), dot(&a[2], x)]
}

/// `Aᵀ x`.
#[inline]
#[must_use]
pub fn apply_transposed(a: &Matrix3, x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|j| a[0][j] * x[0] + a[1][j] * x[1] + a[2][j] * x[2])
}

/// `Aᵀ`.
#[inline]
#[must_use]
pub fn transpose(a: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// `α A + β B`.
#[inline]
#[must_use]
pub fn combine(alpha: f64, a: &Matrix3, beta: f64, b: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| std::array::from_fn(|j| alpha * a[i][j] + beta * b[i][j]))
}

/// `J_r(θ)`: the angular velocity in body axes is `J_r(θ) θ̇` for a rotation vector `θ`.
#[must_use]
pub fn right_jacobian(theta: &[f64; 3]) -> Matrix3 {
    let square = dot(theta, theta);
    let angle = square.sqrt();
    let (linear, quadratic) = if angle < 0.05 {
        (
            0.5 - square / 24.0 + square * square / 720.0,
            1.0 / 6.0 - square / 120.0 + square * square / 5040.0,
        )
    } else {
        let half = (0.5 * angle).sin() / angle;
        (2.0 * half * half, (1.0 - angle.sin() / angle) / square)
    };
    polynomial(theta, -linear, quadratic)
}

/// `J_r(θ)⁻¹`, for angles below 2π.
#[must_use]
pub fn inverse_right_jacobian(theta: &[f64; 3]) -> Matrix3 {
    let square = dot(theta, theta);
    let angle = square.sqrt();
    let quadratic = if angle < 0.05 {
        1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0)
    } else {
        (1.0 - 0.5 * angle / (0.5 * angle).tan()) / square
    };
    polynomial(theta, 0.5, quadratic)
}

/// `I + a x̂ + b x̂²`.
#[inline]
#[must_use]
pub fn polynomial(x: &[f64; 3], a: f64, b: f64) -> Matrix3 {
    let hat = hat(x);
    let diagonal = 1.0 - b * dot(x, x);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let unit = if i == j { diagonal } else { 0.0 };
            unit + a * hat[i][j] + b * x[i] * x[j]
        })
    })
}

#[cfg(test)]
#[path = "rotation_tests.rs"]
mod tests;
