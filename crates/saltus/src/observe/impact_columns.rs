//! The impact law by the columns of a result: `|u⁺ + e u⁻|` with the gap velocities of a row and of the row before.

use saltus_integrators::{Entry, Reactions, WorstCertificate};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};

/// Below this share of the velocities at impacts, two readings of the law are one.
const SAME: f64 = 1e-9;

/// Follows the gap velocities of a run from row to row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ImpactColumns {
    #[serde(skip)]
    ids: Vec<ContactId>,
    #[serde(skip)]
    velocity: Vec<f64>,
    #[serde(with = "crate::exact")]
    worst: f64,
    #[serde(with = "crate::exact")]
    at: f64,
    /// Largest velocity at an impact \[m/s\].
    #[serde(with = "crate::exact")]
    fastest: f64,
}

impl ImpactColumns {
    /// Keeps the velocities at the start of the next step.
    pub(crate) fn keep(&mut self, reactions: &Reactions<'_>) {
        self.ids.clone_from(&reactions.contacts.id);
        self.velocity.clear();
        self.velocity.extend_from_slice(reactions.gap_velocity);
    }

    /// Takes a step that ended at `t` \[s\] into account.
    pub(crate) fn update(&mut self, reactions: &Reactions<'_>, t: f64) {
        let set = reactions.contacts;
        for (i, impulse) in reactions.impulse.iter().enumerate() {
            if *impulse <= 0.0 {
                continue;
            }
            let Ok(k) = self.ids.binary_search(&set.id[i]) else {
                continue;
            };
            let (before, after) = (self.velocity[k], reactions.gap_velocity[i]);
            let residual = (after + set.law[i].e_n * before).abs();
            if residual > self.worst {
                (self.worst, self.at) = (residual, t);
            }
            self.fastest = self.fastest.max(before.abs()).max(after.abs());
        }
        self.keep(reactions);
    }

    /// Enters the reading by columns where it is another number than that of the scheme.
    pub(crate) fn enter(&self, certificate: &mut WorstCertificate) {
        let own = certificate
            .iter()
            .find(|(entry, ..)| *entry == Entry::ImpactLaw);
        if let Some((_, law, _)) = own
            && (self.worst - law).abs() > SAME * self.fastest
        {
            certificate.set(Entry::ImpactLawColumns, self.worst, self.at);
        }
    }
}
