//! Sizes of the motion, and the thresholds of zero beside them.

/// What sizes are compared with: running maxima over the motion.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scales {
    /// Of gaps \[m\], from the model.
    pub(super) length: f64,
    /// Of the terms of relative velocities [m/s].
    pub(super) speed: f64,
    /// Of the terms of relative accelerations [m/s²].
    pub(super) acceleration: f64,
}

impl Scales {
    /// A gap below this is zero: the contact is closed.
    pub(super) fn zero_gap(&self) -> f64 {
        1e-10 * self.length
    }

    /// A relative velocity below this is zero.
    pub(super) fn zero_velocity(&self) -> f64 {
        1e-9 * self.speed
    }

    /// A slip beyond this has changed its sign.
    pub(super) fn zero_slip(&self) -> f64 {
        1e-12 * self.speed
    }

    /// A relative acceleration below this is zero; times the effective mass, a force.
    pub(super) fn zero_acceleration(&self) -> f64 {
        1e-9 * self.acceleration
    }
}
