//! What became of the energy of a run.

use saltus_integrators::Energy;
use serde::{Deserialize, Serialize};

/// What became of the energy \[J\].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EnergyAudit {
    /// At the start.
    #[serde(with = "energy")]
    pub initial: Energy,
    /// At the end.
    #[serde(with = "energy")]
    pub last: Energy,
    /// Largest gain of total energy in a step beyond external work and that of prescribed motions, `max(ΔE − W_ext − W_mov)`, at
    /// least 0. Impacts with `e ≤ 1` do not gain energy.
    pub max_gain: f64,
    /// When that was \[s\]; NaN if no step gained.
    #[serde(with = "crate::exact")]
    pub max_gain_at: f64,
    /// Steps with an impact, or up to `RINGING` after one, that gained more than `NOTICED` of the largest kinetic
    /// energy so far and more than any step away from impacts did. Where `e ≤ 1` this is a fault of the scheme.
    pub impacts_that_gain: u64,
    /// Largest such gain, 0 if there is none.
    pub impact_gain: f64,
    /// When that was \[s\]; NaN if there is none.
    #[serde(with = "crate::exact")]
    pub impact_gain_at: f64,
    /// Sum of the work of all forces without a potential, damping included, and of potentials that depend on time.
    #[serde(with = "crate::exact")]
    pub work_external: f64,
    /// Sum of the work of contacts and constraints: of prescribed motions, impacts and friction. Constraints at rest and contacts that
    /// stay closed do none; what a scheme makes them do is its own.
    #[serde(with = "crate::exact")]
    pub work_contact: f64,
    /// The part of it that walls, supports and other constraints with a prescribed motion do, `−Σ P ∂g/∂t` with the rates at
    /// the ends of the steps.
    #[serde(with = "crate::exact")]
    pub work_moving: f64,
    /// What steps with an impact gained beyond all work: what the scheme itself did there. Where velocities lag, an impact takes the
    /// steps that it straddles and the one after them, with the energies at the times of the velocities.
    #[serde(with = "crate::exact")]
    pub numerical_at_impacts: f64,
    /// The largest kinetic energy.
    #[serde(with = "crate::exact")]
    pub largest_kinetic: f64,
    /// The range of the potential energy.
    #[serde(with = "crate::exact")]
    pub potential_range: f64,
}

impl EnergyAudit {
    /// What was gained beyond all work: what the scheme itself took (negative) or gave.
    #[must_use]
    pub fn numerical(&self) -> f64 {
        self.last.total() - self.initial.total() - self.work_external - self.work_contact
    }

    /// The energy that was at work: the largest of what was kinetic, what the potential exchanged and what was done from outside and
    /// taken by contacts. It does not depend on where the potential is zero.
    #[must_use]
    pub fn at_work(&self) -> f64 {
        let works = [self.work_external, self.work_moving, self.dissipated()];
        let stored = self.largest_kinetic.max(self.potential_range);
        works.iter().fold(stored, |size, work| size.max(work.abs()))
    }

    /// Work of contacts and constraints but for prescribed motions: impacts and friction take it.
    #[must_use]
    pub fn dissipated(&self) -> f64 {
        self.work_contact - self.work_moving
    }
}

/// Kinetic and potential energy.
mod energy {
    use super::Energy;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Pair(#[serde(with = "crate::exact::list")] Vec<f64>);

    pub(super) fn serialize<S: Serializer>(e: &Energy, serializer: S) -> Result<S::Ok, S::Error> {
        Pair(vec![e.kinetic, e.potential]).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Energy, D::Error> {
        match Pair::deserialize(d)?.0[..] {
            [kinetic, potential] => Ok(Energy { kinetic, potential }),
            _ => Err(serde::de::Error::custom("an energy has two numbers")),
        }
    }
}
