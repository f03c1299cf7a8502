//! Distances between a point and what it may touch: pure functions of positions, with first and second derivatives.
//!
//! A gap is positive apart, zero in touch, negative in penetration. Every kernel answers the gap, its gradient `G`
//! (a row, `ġ = G v + ∂g/∂t`), its second derivative (for `D(Gᵀλ)`) and the bias `ζ` in `g̈ = G v̇ + ζ`.
//!
//! | kernel | against |
//! | --- | --- |
//! | [`plane::Plane`] | a plane at rest |
//! | [`plane::MovingPlane`] | a plane that moves as a function of time |
//! | [`plane::BodyPlane`] | a plane on a rigid body |
//! | [`facet`] | a segment, triangle or bilinear quadrilateral with moving corners |
//! | [`surface::Surface`] | the nearest of many facets |
//!
//! [`third`] differentiates the bias of a facet once more, for schemes that solve for accelerations.

pub mod facet;
pub mod plane;
pub mod surface;
pub mod third;

/// What is wrong with the data of an obstacle.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GapError {
    /// A normal without direction.
    #[error("the normal of a plane has length {length}; give a finite vector that is not zero")]
    Normal {
        /// Its length.
        length: f64,
    },
    /// A facet with the wrong number of corners, or none.
    #[error("{what}; {cure}")]
    Facet {
        /// What is wrong.
        what: String,
        /// What to do.
        cure: &'static str,
    },
}

#[inline(always)]
pub(crate) fn dot<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    let mut sum = 0.0;
    for i in 0..D {
        sum += a[i] * b[i];
    }
    sum
}

#[inline(always)]
pub(crate) fn minus<const D: usize>(a: &[f64; D], b: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// The vector of length one along `a`, and the length of `a`; `None` without direction.
#[inline]
pub(crate) fn unit<const D: usize>(a: &[f64; D]) -> Option<([f64; D], f64)> {
    let length = dot(a, a).sqrt();
    (length.is_finite() && length > 0.0).then(|| (a.map(|a| a / length), length))
}

/// Tangents of a contact: the projection of a material direction on the tangent plane, and `n × t₁`.
///
/// In the plane the one tangent is the normal turned clockwise, along the segment whose left normal is `n`. Where
/// `direction` is along the normal, the coordinate axis least along it takes its place.
#[must_use]
pub fn frame<const D: usize>(normal: &[f64; D], direction: &[f64; D]) -> [[f64; D]; 2] {
    let zero = [0.0; D];
    if D == 2 {
        let mut tangent = zero;
        tangent[0] = normal[1];
        tangent[1] = -normal[0];
        return [tangent, zero];
    }
    let project = |a: &[f64; D]| -> [f64; D] {
        let along = dot(a, normal);
        std::array::from_fn(|i| a[i] - along * normal[i])
    };
    let length = dot(direction, direction).sqrt();
    let first = match unit(&project(direction)) {
        Some((first, rest)) if rest > 1e-8 * length => first,
        _ => {
            let axis = (0..D)
                .min_by(|&i, &j| normal[i].abs().total_cmp(&normal[j].abs()))
                .unwrap_or(0);
            let mut a = zero;
            a[axis] = 1.0;
            unit(&project(&a)).map_or(zero, |(first, _)| first)
        }
    };
    let second = std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % D, (i + 2) % D);
        normal[j] * first[k] - normal[k] * first[j]
    });
    [first, second]
}
