//! Planes: at rest, moving in time, on a rigid body.

use super::{GapError, dot, minus, unit};
use crate::rotation::{cross, rotate, rotate_back};

/// A half space that is not entered: `gap = n·x − offset − radius`. Curvature and bias vanish.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane<const D: usize> {
    /// Unit normal out of the obstacle: the gradient of the gap.
    pub normal: [f64; D],
    /// Distance from the origin along the normal \[m\].
    pub offset: f64,
}

impl<const D: usize> Plane<D> {
    /// The plane through `point` \[m\] with a normal of any length.
    ///
    /// # Errors
    /// [`GapError::Normal`] where the normal has no direction.
    pub fn through(point: &[f64; D], normal: &[f64; D]) -> Result<Self, GapError> {
        let (normal, _) = unit(normal).ok_or(GapError::Normal {
            length: dot(normal, normal).sqrt(),
        })?;
        Ok(Self {
            normal,
            offset: dot(&normal, point),
        })
    }

    /// Gap \[m\] of a ball of `radius` \[m\] at `x`.
    #[inline]
    #[must_use]
    pub fn gap(&self, x: &[f64; D], radius: f64) -> f64 {
        dot(&self.normal, x) - self.offset - radius
    }
}

/// A plane at one instant of its motion: `gap = n(t)·x − d(t) − radius`.
///
/// The gradient is the normal; the rest is in the terms of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovingPlane<const D: usize> {
    /// Unit normal and its first and second derivative by time.
    pub normal: [[f64; D]; 3],
    /// Distance from the origin along the normal \[m\] and its derivatives by time.
    pub offset: [f64; 3],
}

impl<const D: usize> MovingPlane<D> {
    /// From a normal and a point of the plane, both with first and second derivative by time. The normal is
    /// taken to keep its length, whatever that is.
    ///
    /// # Errors
    /// [`GapError::Normal`] where the normal has no direction.
    pub fn through(point: &[[f64; D]; 3], normal: &[[f64; D]; 3]) -> Result<Self, GapError> {
        let (_, length) = unit(&normal[0]).ok_or(GapError::Normal {
            length: dot(&normal[0], &normal[0]).sqrt(),
        })?;
        let n = normal.map(|n| n.map(|n| n / length));
        Ok(Self {
            normal: n,
            offset: [
                dot(&n[0], &point[0]),
                dot(&n[1], &point[0]) + dot(&n[0], &point[1]),
                dot(&n[2], &point[0]) + 2.0 * dot(&n[1], &point[1]) + dot(&n[0], &point[2]),
            ],
        })
    }

    /// Gap \[m\] of a ball of `radius` \[m\] at `x`.
    #[inline]
    #[must_use]
    pub fn gap(&self, x: &[f64; D], radius: f64) -> f64 {
        dot(&self.normal[0], x) - self.offset[0] - radius
    }

    /// `∂g/∂t` \[m/s\]; its gradient by `x` is `ṅ`.
    #[inline]
    #[must_use]
    pub fn rate(&self, x: &[f64; D]) -> f64 {
        dot(&self.normal[1], x) - self.offset[1]
    }

    /// `ζ` of `g̈ = n·ẍ + ζ` \[m/s²\]; its gradients are `n̈` by `x` and `2ṅ` by `v`.
    #[inline]
    #[must_use]
    pub fn bias(&self, x: &[f64; D], v: &[f64; D]) -> f64 {
        dot(&self.normal[2], x) + 2.0 * dot(&self.normal[1], v) - self.offset[2]
    }
}

/// A plane on a rigid body: `gap = N·Λᵀ(x − c) − offset − radius`.
///
/// Velocities of the nine coordinates: ẋ, ċ in space, Ω in body axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyPlane {
    /// Unit normal in body axes.
    pub normal: [f64; 3],
    /// Distance from the centre of the body along the normal \[m\].
    pub offset: f64,
}

/// A body's plane and a point, at one position of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyPlaneAt {
    plane: BodyPlane,
    pose: [f64; 4],
    /// The point seen from the body.
    arm: [f64; 3],
    /// The normal in space.
    pub normal: [f64; 3],
}

impl BodyPlane {
    /// Where the body is: its centre, its quaternion `(w, x, y, z)` from body to space, and the point.
    #[inline]
    #[must_use]
    pub fn at(&self, x: &[f64; 3], centre: &[f64; 3], pose: &[f64; 4]) -> BodyPlaneAt {
        BodyPlaneAt {
            plane: *self,
            pose: *pose,
            arm: rotate_back(pose, &minus(x, centre)),
            normal: rotate(pose, &self.normal),
        }
    }
}

impl BodyPlaneAt {
    /// Gap \[m\] of a ball of `radius` \[m\].
    #[inline]
    #[must_use]
    pub fn gap(&self, radius: f64) -> f64 {
        dot(&self.plane.normal, &self.arm) - self.plane.offset - radius
    }

    /// `[n; −n; N × r]`: the row of a direction that is fixed in the body, by ẋ, ċ, Ω. With the normal it
    /// is the gradient of the gap, with a tangent the row of the slip.
    #[inline]
    #[must_use]
    pub fn row(&self, direction: &[f64; 3]) -> [f64; 9] {
        let n = rotate(&self.pose, direction);
        let turn = cross(direction, &self.arm);
        std::array::from_fn(|i| match i / 3 {
            0 => n[i],
            1 => -n[i - 3],
            _ => turn[i - 6],
        })
    }

    /// Gradient of the gap by ẋ, ċ, Ω.
    #[inline]
    #[must_use]
    pub fn gradient(&self) -> [f64; 9] {
        self.row(&self.plane.normal)
    }

    /// `out ← factor · D(Gᵀ)` (9 × 9, row-major) along the retraction; the block of Ω by θ is not symmetric.
    pub fn curvature(&self, factor: f64, out: &mut [f64; 81]) {
        out.fill(0.0);
        let (n, arm) = (self.plane.normal, self.arm);
        for j in 0..3 {
            let mut axis = [0.0; 3];
            axis[j] = 1.0;
            // Columns θ: δn = Λ(δθ × N), δr = −δθ × r.
            let turned = rotate(&self.pose, &cross(&axis, &n));
            let moment = cross(&n, &cross(&arm, &axis));
            // Columns x and c: δr = ±Λᵀδx.
            let moved = cross(&n, &rotate_back(&self.pose, &axis));
            for i in 0..3 {
                out[i * 9 + 6 + j] = factor * turned[i];
                out[(3 + i) * 9 + 6 + j] = -factor * turned[i];
                out[(6 + i) * 9 + 6 + j] = factor * moment[i];
                out[(6 + i) * 9 + j] = factor * moved[i];
                out[(6 + i) * 9 + 3 + j] = -factor * moved[i];
            }
        }
    }

    /// `ζ` of `g̈ = G v̇ + ζ` \[m/s²\] at the velocities ẋ, ċ and Ω (body axes).
    #[must_use]
    pub fn bias(&self, v: &[f64; 3], centre: &[f64; 3], omega: &[f64; 3]) -> f64 {
        let n = self.plane.normal;
        let relative = minus(v, centre);
        let turned = rotate(&self.pose, &cross(omega, &n));
        let seen = rotate_back(&self.pose, &relative);
        let arm_rate = minus(&seen, &cross(omega, &self.arm));
        dot(&turned, &relative) + dot(&cross(&n, &arm_rate), omega)
    }
}
