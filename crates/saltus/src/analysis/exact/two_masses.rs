//! Two equal masses joined by a spring, the lower one over a floor.

use super::Impact;

/// Two masses on a vertical line: `y₂ − y₁ = l` in the relaxed spring, the lower one a ball of radius `R` over the
/// floor at height 0 (gap `y₁ − R`), both in gravity.
///
/// Between impacts the centre of mass falls and the stretch oscillates with `Ω² = 2k/m`; instants of impact are roots
/// of elementary functions, found by bisection.
#[derive(Debug, Clone)]
pub struct TwoMasses {
    omega: f64,
    gravity: f64,
    radius: f64,
    length: f64,
    /// Start of each arc: time, positions, velocities.
    arcs: Vec<(f64, [f64; 2], [f64; 2])>,
    impacts: Vec<Impact>,
}

impl TwoMasses {
    /// Masses `mass` \[kg\], spring `stiffness` \[N/m\] and `length` \[m\], `radius` \[m\], `gravity` \[m/s²\], from rest positions
    /// `y` \[m\] and velocities `v` \[m/s\] at time 0, known up to `until` \[s\]. Motions in which impacts accumulate
    /// before `until` are known up to the hundred-thousandth impact only.
    #[must_use]
    #[allow(clippy::too_many_arguments)] // the parameters of the problem
    pub fn new(
        mass: f64,
        stiffness: f64,
        length: f64,
        radius: f64,
        gravity: f64,
        restitution: f64,
        y: [f64; 2],
        v: [f64; 2],
        until: f64,
    ) -> Self {
        let mut motion = Self {
            omega: (2.0 * stiffness / mass).sqrt(),
            gravity,
            radius,
            length,
            arcs: vec![(0.0, y, v)],
            impacts: Vec::new(),
        };
        let step = 1.0 / (200.0 * motion.omega);
        while motion.impacts.len() < 100_000 {
            let Some(s) = motion.flight(step, until) else {
                break;
            };
            let (start, y, v) = motion.arcs[motion.arcs.len() - 1];
            let (mut y, mut v) = motion.flow(y, v, s);
            motion.impacts.push(Impact {
                t: start + s,
                before: v[0],
                after: -restitution * v[0],
            });
            y[0] = radius;
            v[0] *= -restitution;
            motion.arcs.push((start + s, y, v));
        }
        motion
    }

    /// Duration of the last arc, if an impact ends it before `until`.
    fn flight(&self, step: f64, until: f64) -> Option<f64> {
        let (start, y, v) = self.arcs[self.arcs.len() - 1];
        let gap = |s: f64| self.flow(y, v, s).0[0] - self.radius;
        let (mut a, mut b) = (0.0, step);
        while gap(b) > 0.0 {
            if start + b > until {
                return None;
            }
            (a, b) = (b, b + step);
        }
        // The first arc may start on the floor; a later one always does, and leaves it.
        if a == 0.0 && !self.impacts.is_empty() {
            a = 1e-6 * step;
        }
        while b - a > f64::EPSILON * b {
            let middle = 0.5 * (a + b);
            if middle <= a || middle >= b {
                break;
            }
            if gap(middle) > 0.0 {
                a = middle;
            } else {
                b = middle;
            }
        }
        (start + b <= until).then_some(b)
    }

    fn flow(&self, y: [f64; 2], v: [f64; 2], s: f64) -> ([f64; 2], [f64; 2]) {
        let (sin, cos) = (self.omega * s).sin_cos();
        let (stretch, rate) = (y[1] - y[0] - self.length, v[1] - v[0]);
        let r = stretch * cos + rate / self.omega * sin;
        let dr = rate * cos - stretch * self.omega * sin;
        let centre = 0.5 * (y[0] + y[1]) + s * (0.5 * (v[0] + v[1]) - 0.5 * self.gravity * s);
        let velocity = 0.5 * (v[0] + v[1]) - self.gravity * s;
        let half = 0.5 * (self.length + r);
        (
            [centre - half, centre + half],
            [velocity - 0.5 * dr, velocity + 0.5 * dr],
        )
    }

    /// Positions \[m\] and velocities \[m/s\] at time `t` ≥ 0.
    #[must_use]
    pub fn at(&self, t: f64) -> ([f64; 2], [f64; 2]) {
        let i = self.arcs.partition_point(|arc| arc.0 <= t).max(1) - 1;
        let (start, y, v) = self.arcs[i];
        self.flow(y, v, t - start)
    }

    /// The impacts of the lower mass in order.
    #[must_use]
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_changes_in_impacts_only() {
        let (k, g, l, r) = (1e3, 10.0, 1.0, 0.2);
        let motion = TwoMasses::new(1.0, k, l, r, g, 0.8, [1.0, 2.1], [0.3, -0.2], 0.9);
        let energy = |t: f64| {
            let (y, v) = motion.at(t);
            let s = y[1] - y[0] - l;
            0.5 * (v[0] * v[0] + v[1] * v[1] + k * s * s) + g * (y[0] + y[1])
        };
        assert!(motion.impacts().len() >= 2);
        for pair in motion.impacts().windows(2) {
            let (a, b) = (pair[0].t, pair[1].t);
            let (early, late) = (a + 0.1 * (b - a), a + 0.9 * (b - a));
            assert!((energy(early) - energy(late)).abs() < 1e-10);
            assert!(motion.at(0.5 * (a + b)).0[0] > r);
        }
        let first = motion.impacts()[0];
        let loss = energy(first.t - 1e-9) - energy(first.t + 1e-9);
        assert!((loss - 0.5 * 0.36 * first.before * first.before).abs() < 1e-6);
    }
}
