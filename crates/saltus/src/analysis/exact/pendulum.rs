//! A rigid pendulum that swings against a wall.

use super::Impact;

/// A pendulum at the angle θ from the horizontal, `J θ̈ = −m g L cos θ`, released at rest above a stop at
/// `θ = θ_w` (Brüls, Acary, Cardona 2014, §10.2: `θ_w = −π/4`, the wall at `x = cos θ_w`).
///
/// Energy gives the speeds; the times are integrals of elementary functions, evaluated by quadrature
/// after the square root at the turning point is substituted away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImpactingPendulum {
    /// Moment of inertia about the pin \[kg m²\].
    pub inertia: f64,
    /// Moment of the weight about the pin when horizontal, `m g L` \[N m\].
    pub moment: f64,
    /// Angle of the stop \[rad\], in (−π/2, 0].
    pub stop: f64,
    /// Angle of release \[rad\], above the stop and below π/2.
    pub release: f64,
    /// Newton's restitution.
    pub restitution: f64,
}

impl ImpactingPendulum {
    /// The first impact; velocities are angular \[rad/s\], towards the stop negative.
    #[must_use]
    pub fn first_impact(&self) -> Impact {
        let fall = difference_of_sines(self.release, self.stop);
        let speed = (self.rate() * fall).sqrt();
        Impact {
            t: self.fall_time(self.release),
            before: -speed,
            after: self.restitution * speed,
        }
    }

    /// When the impacts accumulate \[s\]; infinite for `restitution` 1.
    #[must_use]
    pub fn accumulation(&self) -> f64 {
        let first = self.first_impact();
        let e = self.restitution;
        let (mut t, mut speed) = (first.t, first.after);
        // Small bounces have the duration 2ω/|θ̈| of a constant acceleration, and sum to a series.
        while speed > 1e-4 {
            let top = (self.stop.sin() + speed * speed / self.rate()).asin();
            t += 2.0 * self.fall_time(top);
            speed *= e;
        }
        let acceleration = 0.5 * self.rate() * self.stop.cos();
        t + 2.0 * speed / acceleration / (1.0 - e)
    }

    /// `2 m g L / J`: `ω² = rate · (sin θ_top − sin θ)`.
    fn rate(&self) -> f64 {
        2.0 * self.moment / self.inertia
    }

    /// Time from rest at `top` to the stop, with `θ = top − s²`.
    fn fall_time(&self, top: f64) -> f64 {
        let end = (top - self.stop).max(0.0).sqrt();
        let integrand = |s: f64| {
            let half = 0.5 * s * s;
            let shape = if half < 1e-8 {
                0.5
            } else {
                half.sin() / (s * s)
            };
            2.0 / (2.0 * self.rate() * (top - half).cos() * shape).sqrt()
        };
        simpson(integrand, end, 2000)
    }
}

/// `sin a − sin b` without cancellation.
fn difference_of_sines(a: f64, b: f64) -> f64 {
    2.0 * (0.5 * (a + b)).cos() * (0.5 * (a - b)).sin()
}

/// Simpson's rule on `[0, end]` with an even number of `pieces`.
fn simpson(f: impl Fn(f64) -> f64, end: f64, pieces: u32) -> f64 {
    let h = end / f64::from(pieces);
    let inner: f64 = (1..pieces)
        .map(|i| f(h * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    h / 3.0 * (f(0.0) + inner + f(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_swings_fall_like_stones() {
        // Released 1e-8 rad above a stop at −π/4: θ̈ = −(mgL/J) cos(π/4).
        let release = -std::f64::consts::FRAC_PI_4 + 1e-8;
        let pendulum = ImpactingPendulum {
            inertia: 1.1,
            moment: 10.0,
            stop: -std::f64::consts::FRAC_PI_4,
            release,
            restitution: 0.5,
        };
        let acceleration = 10.0 / 1.1 * std::f64::consts::FRAC_1_SQRT_2;
        let t = (2e-8 / acceleration).sqrt();
        assert!((pendulum.first_impact().t / t - 1.0).abs() < 1e-7);
        assert!((pendulum.accumulation() / (3.0 * t) - 1.0).abs() < 1e-7);
    }

    #[test]
    fn quadrature_agrees_with_integration() {
        let pendulum = ImpactingPendulum {
            inertia: 1.1,
            moment: 10.0,
            stop: -0.5,
            release: 0.3,
            restitution: 0.8,
        };
        let acceleration = |theta: f64| -10.0 / 1.1 * theta.cos();
        // Störmer–Verlet with tiny steps.
        let (mut theta, mut omega, mut t, h) = (0.3, 0.0, 0.0, 1e-5);
        while theta > -0.5 {
            omega += 0.5 * h * acceleration(theta);
            theta += h * omega;
            omega += 0.5 * h * acceleration(theta);
            t += h;
        }
        let impact = pendulum.first_impact();
        assert!((impact.t - t).abs() < 2e-5);
        assert!((impact.before - omega).abs() < 2e-4);
    }
}
