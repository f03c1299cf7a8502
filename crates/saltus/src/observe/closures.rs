//! Which contacts carry an impulse, followed from step to step.

use saltus_integrators::{EventKind, Frame};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What changed at a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It carries an impulse and did not in the step before.
    Closed,
    /// It carried an impulse in the step before and does not any more.
    Opened,
}

/// The contacts of the last step and whether each was closed, i.e. carried an impulse.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Closures {
    #[serde(with = "crate::exact::ids")]
    ids: Vec<ContactId>,
    closed: Vec<bool>,
    /// Closed at the start because it touched at rest, not because of an impulse.
    resting: bool,
    #[serde(skip)]
    spare_ids: Vec<ContactId>,
    #[serde(skip)]
    spare_closed: Vec<bool>,
}

impl Closures {
    /// Takes up the first frame of a run.
    ///
    /// A contact that touches at rest counts as closed, so that its first impulse is no impact;
    /// `before` are the contacts that were closed in a run that goes on.
    pub(crate) fn begin(&mut self, frame: &Frame<'_>, before: Option<&[u64]>) {
        let reactions = &frame.reactions;
        self.ids.clone_from(&reactions.contacts.id);
        self.closed.clear();
        self.resting = before.is_none();
        let round_off = |values: &[f64]| {
            8.0 * f64::EPSILON * values.iter().fold(0.0, |a: f64, b| a.max(b.abs()))
        };
        let (length, speed) = (round_off(&frame.state.q), round_off(&frame.state.v));
        for (i, id) in self.ids.iter().enumerate() {
            self.closed.push(match before {
                Some(closed) => closed.contains(&id.0),
                None => {
                    reactions.contacts.gap[i] <= length && reactions.gap_velocity[i].abs() <= speed
                }
            });
        }
    }

    /// Compares a step with the one before, tells `change` what changed (with the position of the contact
    /// in the set of this step, `None` if it is not there), and returns whether any contact closed, by its impulses or by what
    /// the scheme reports.
    #[inline]
    pub(crate) fn update(
        &mut self,
        frame: &Frame<'_>,
        mut change: impl FnMut(ContactId, Option<usize>, Change),
    ) -> bool {
        let reactions = &frame.reactions;
        let resting = std::mem::replace(&mut self.resting, false);
        let mut any = frame.events.iter().any(|event| closes(event.kind));
        if self.ids != reactions.contacts.id {
            return self.merge(frame, resting, &mut change) || any;
        }
        for (i, (closed, impulse)) in self.closed.iter_mut().zip(reactions.impulse).enumerate() {
            let now = *impulse > 0.0;
            if now != *closed {
                *closed = now;
                any |= now;
                if now {
                    change(self.ids[i], Some(i), Change::Closed);
                } else if !resting {
                    change(self.ids[i], Some(i), Change::Opened);
                }
            }
        }
        any
    }

    /// Identities of the contacts that are closed.
    pub(crate) fn closed(&self) -> impl Iterator<Item = ContactId> + '_ {
        self.ids
            .iter()
            .zip(&self.closed)
            .filter(|(_, closed)| **closed)
            .map(|(id, _)| *id)
    }

    /// [`update`](Self::update) where the set of contacts is another one: both lists are sorted.
    #[cold]
    fn merge(
        &mut self,
        frame: &Frame<'_>,
        resting: bool,
        change: &mut dyn FnMut(ContactId, Option<usize>, Change),
    ) -> bool {
        let set = &frame.reactions.contacts.id;
        let impulse = frame.reactions.impulse;
        std::mem::swap(&mut self.ids, &mut self.spare_ids);
        std::mem::swap(&mut self.closed, &mut self.spare_closed);
        self.ids.clone_from(set);
        self.closed.clear();
        let (mut old, mut new, mut any) = (0, 0, false);
        while old < self.spare_ids.len() || new < set.len() {
            let order = match (self.spare_ids.get(old), set.get(new)) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let was = order.is_le() && self.spare_closed[old];
            let now = order.is_ge() && impulse[new] > 0.0;
            let (id, at) = if order.is_le() {
                (self.spare_ids[old], None)
            } else {
                (set[new], None)
            };
            let at = if order.is_ge() { Some(new) } else { at };
            if now && !was {
                any = true;
                change(id, at, Change::Closed);
            } else if was && !now && !resting {
                change(id, at, Change::Opened);
            }
            if order.is_ge() {
                self.closed.push(now);
                new += 1;
            }
            if order.is_le() {
                old += 1;
            }
        }
        any
    }
}

/// Whether velocities may jump where that happens.
fn closes(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Impact | EventKind::Close | EventKind::Accumulation
    )
}
