//! An elastic bar that flies against a rigid wall, end first.

/// A uniform bar in free flight that hits a wall (Brüls, Acary, Cardona 2014, §10.3): a compression wave runs to the
/// far end and comes back, after which the bar leaves undeformed with its speed reversed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImpactingBar {
    /// Young's modulus \[Pa\].
    pub young: f64,
    /// Density \[kg/m³\].
    pub density: f64,
    /// Length \[m\].
    pub length: f64,
    /// Cross section \[m²\].
    pub section: f64,
    /// Speed towards the wall \[m/s\], > 0.
    pub speed: f64,
    /// Initial distance to the wall \[m\].
    pub distance: f64,
}

impl ImpactingBar {
    /// Speed of waves `√(E/ρ)` \[m/s\].
    #[must_use]
    pub fn wave_speed(&self) -> f64 {
        (self.young / self.density).sqrt()
    }

    /// First and last instant of contact \[s\].
    #[must_use]
    pub fn contact(&self) -> (f64, f64) {
        let start = self.distance / self.speed;
        (start, start + 2.0 * self.length / self.wave_speed())
    }

    /// Contact force while in contact, `ρ c v₀ A` \[N\].
    #[must_use]
    pub fn force(&self) -> f64 {
        self.density * self.wave_speed() * self.speed * self.section
    }

    /// Total energy \[J\].
    #[must_use]
    pub fn energy(&self) -> f64 {
        0.5 * self.density * self.section * self.length * self.speed * self.speed
    }

    /// Distance of the near end to the wall at time `t` ≥ 0 \[m\].
    #[must_use]
    pub fn gap(&self, t: f64) -> f64 {
        let (start, end) = self.contact();
        if t < start {
            self.distance - self.speed * t
        } else if t < end {
            0.0
        } else {
            self.speed * (t - end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impulse_reverses_the_momentum() {
        let bar = ImpactingBar {
            young: 900.0,
            density: 1.0,
            length: 10.0,
            section: 1.0,
            speed: 10.0,
            distance: 5.005,
        };
        let (start, end) = bar.contact();
        let momentum = bar.density * bar.section * bar.length * bar.speed;
        assert!((bar.force() * (end - start) - 2.0 * momentum).abs() < 1e-12);
        assert!((bar.gap(0.0) - 5.005).abs() < 1e-15);
        assert_eq!(bar.gap(0.5 * (start + end)), 0.0);
    }
}
