//! What impacts and friction do over a step, told from its results: the same for every scheme that does not integrate it.

use saltus_integrators::{Event, EventKind, Frame, Reactions};
use saltus_system::ContactId;

/// The slips at the end of a step, to be averaged with those of the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slips {
    ids: Vec<ContactId>,
    /// First row of each contact.
    first_row: Vec<usize>,
    contacts: Vec<f64>, // (rows of the set)
    joints: Vec<f64>,   // (rows of friction in joints)
}

impl Slips {
    /// Keeps the slips at the end of a step.
    pub(crate) fn keep(&mut self, reactions: &Reactions<'_>) {
        if !reactions.row_velocity.is_empty() || !self.ids.is_empty() {
            let set = reactions.contacts;
            self.ids.clone_from(&set.id);
            self.first_row.clone_from(&set.first_row);
            self.contacts.clear();
            self.contacts.extend_from_slice(reactions.row_velocity);
        }
        self.joints.clear();
        self.joints.extend_from_slice(reactions.friction_slip);
    }

    /// Work of impacts and friction over the step after the one kept \[J\], negative where they take: as the scheme integrates it, else
    /// impacts as their events have it, and the rest of the frictional impulses times the mean of the slips at both ends. Contacts that stay
    /// closed, and constraints, do none.
    pub(crate) fn dissipated(&self, frame: &Frame<'_>) -> f64 {
        let reactions = &frame.reactions;
        if let Some(work) = reactions.work_dissipated {
            return work;
        }
        let impacts = || {
            let is_impact = |event: &&Event| event.kind == EventKind::Impact;
            frame.events.iter().filter(is_impact)
        };
        let mut work = -impacts().map(|event| event.energy_lost).sum::<f64>();
        let set = reactions.contacts;
        let frictional = if reactions.row_impulse.is_empty() {
            0
        } else {
            set.len()
        };
        for i in 0..frictional {
            let (id, first) = (set.id[i], set.first_row[i]);
            for k in 1..=usize::from(set.law[i].tangents) {
                let of_impacts = impacts().filter(|event| event.contact == id);
                let of_impacts = of_impacts.filter_map(|event| event.impulse.get(k));
                let impulse = reactions.row_impulse[first + k] - of_impacts.sum::<f64>();
                if impulse != 0.0 {
                    let now = reactions.row_velocity[first + k];
                    work += 0.5 * impulse * (now + self.slip(id, k).unwrap_or(now));
                }
            }
        }
        let known = self.joints.len() == reactions.friction_slip.len();
        let joints = reactions
            .friction_impulse
            .iter()
            .zip(reactions.friction_slip);
        for (k, (impulse, now)) in joints.enumerate() {
            let before = if known { self.joints[k] } else { *now };
            work += 0.5 * impulse * (now + before);
        }
        work
    }

    /// The slip of row `k` of a contact where it was kept.
    fn slip(&self, id: ContactId, k: usize) -> Option<f64> {
        let i = self.ids.binary_search(&id).ok()?;
        self.contacts.get(self.first_row[i] + k).copied()
    }
}
