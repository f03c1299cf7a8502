//! What impacts and friction do over a step, told from its results: the same for every scheme that does not integrate it.

use crate::observe::contact_rows::{ContactRows, copy};
use saltus_integrators::{Event, EventKind, Frame, Reactions};

/// The velocities of contacts and joints at the end of a step, to be averaged with those of the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactVelocities {
    rows: ContactRows, // where a contact has friction
    normal: Vec<f64>,  // (contacts)
    joints: Vec<f64>,  // (rows of friction in joints)
}

impl ContactVelocities {
    /// Keeps the velocities at the end of a step.
    #[inline]
    pub(crate) fn keep(&mut self, reactions: &Reactions<'_>) {
        self.rows.keep(reactions.contacts, reactions.row_velocity);
        copy(&mut self.normal, reactions.gap_velocity);
        copy(&mut self.joints, reactions.friction_slip);
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
                let before = self.rows.place(id).map(|i| self.normal[i]);
                work += 0.5 * impulse * (now + before.unwrap_or(now));
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
                    work += 0.5 * impulse * (now + self.rows.value(id, k).unwrap_or(now));
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
}
