//! What impacts and friction do over a step, told from its results: the same for every scheme that does not integrate it.

use saltus_integrators::{Event, EventKind, Frame, Reactions};
use saltus_system::ContactId;

/// The velocities of contacts and joints at the end of a step, to be averaged with those of the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactVelocities {
    ids: Vec<ContactId>,
    /// First row of each contact.
    first_row: Vec<usize>,
    normal: Vec<f64>, // (contacts)
    rows: Vec<f64>,   // (rows of the set), where a contact has friction
    joints: Vec<f64>, // (rows of friction in joints)
}

impl ContactVelocities {
    /// Keeps the velocities at the end of a step.
    #[inline]
    pub(crate) fn keep(&mut self, reactions: &Reactions<'_>) {
        let set = reactions.contacts;
        if self.ids != set.id {
            self.ids.clone_from(&set.id);
            self.first_row.clone_from(&set.first_row);
        }
        for (kept, now) in [
            (&mut self.normal, reactions.gap_velocity),
            (&mut self.rows, reactions.row_velocity),
            (&mut self.joints, reactions.friction_slip),
        ] {
            if kept.len() == now.len() {
                for (kept, now) in kept.iter_mut().zip(now) {
                    *kept = *now;
                }
            } else {
                kept.clear();
                kept.extend_from_slice(now);
            }
        }
    }

    /// Work of impacts and friction over the step after the one kept \[J\], negative where they take: as the scheme integrates it, else
    /// impacts as their events have it, and the rest of the frictional impulses times the mean of the slips at both ends. An impact elsewhere
    /// passes through contacts that are closed: their impulse works at the mean of their velocities, too. Otherwise contacts that stay closed,
    /// and constraints, do none.
    pub(crate) fn dissipated(&self, frame: &Frame<'_>) -> f64 {
        let reactions = &frame.reactions;
        if let Some(work) = reactions.work_dissipated {
            return work;
        }
        let has_friction =
            !(reactions.row_impulse.is_empty() && reactions.friction_impulse.is_empty());
        if frame.events.is_empty() && !has_friction {
            return 0.0;
        }
        self.of_results(frame)
    }

    /// The same from events, impulses and velocities.
    fn of_results(&self, frame: &Frame<'_>) -> f64 {
        let reactions = &frame.reactions;
        let impacts = || {
            let is_impact = |event: &&Event| event.kind == EventKind::Impact;
            frame.events.iter().filter(is_impact)
        };
        let has_impact = impacts().next().is_some();
        let mut work = -impacts().map(|event| event.energy_lost).sum::<f64>();
        let set = reactions.contacts;
        let has_friction = !reactions.row_impulse.is_empty();
        let contacts = if has_impact || has_friction {
            set.len()
        } else {
            0
        };
        for i in 0..contacts {
            let (id, first) = (set.id[i], set.first_row[i]);
            let own = || impacts().filter(move |event| event.contact == id);
            let impulse = reactions.impulse[i];
            if has_impact && impulse != 0.0 && own().next().is_none() {
                let now = reactions.gap_velocity[i];
                work += 0.5 * impulse * (now + self.normal_of(id).unwrap_or(now));
            }
            let tangents = if has_friction {
                usize::from(set.law[i].tangents)
            } else {
                0
            };
            for k in 1..=tangents {
                let of_impacts = own().filter_map(|event| event.impulse.get(k));
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

    /// The normal velocity of a contact where it was kept.
    fn normal_of(&self, id: ContactId) -> Option<f64> {
        let i = self.ids.binary_search(&id).ok()?;
        self.normal.get(i).copied()
    }

    /// The slip of row `k` of a contact where it was kept.
    fn slip(&self, id: ContactId, k: usize) -> Option<f64> {
        let i = self.ids.binary_search(&id).ok()?;
        self.rows.get(self.first_row[i] + k).copied()
    }
}
