//! Which contacts carry an impulse, followed from step to step.

use saltus_integrators::{EventKind, Frame};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};

/// The contacts of the last step and whether each was closed, i.e. carried an impulse.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Closures {
    #[serde(with = "crate::exact::ids")]
    ids: Vec<ContactId>,
    closed: Vec<bool>,
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

    /// Compares a step with the one before, and returns whether any contact closed, by its impulses or by what the scheme reports.
    #[inline]
    pub(crate) fn update(&mut self, frame: &Frame<'_>) -> bool {
        let reactions = &frame.reactions;
        let mut any = frame.events.iter().any(|event| closes(event.kind));
        if self.ids != reactions.contacts.id {
            return self.merge(frame) || any;
        }
        for (closed, impulse) in self.closed.iter_mut().zip(reactions.impulse) {
            let now = *impulse > 0.0;
            any |= now && !*closed;
            *closed = now;
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
    fn merge(&mut self, frame: &Frame<'_>) -> bool {
        let reactions = &frame.reactions;
        std::mem::swap(&mut self.ids, &mut self.spare_ids);
        std::mem::swap(&mut self.closed, &mut self.spare_closed);
        self.ids.clone_from(&reactions.contacts.id);
        self.closed.clear();
        let mut any = false;
        for (id, impulse) in self.ids.iter().zip(reactions.impulse) {
            let earlier = self.spare_ids.binary_search(id);
            let was = earlier.is_ok_and(|k| self.spare_closed[k]);
            let now = *impulse > 0.0;
            any |= now && !was;
            self.closed.push(now);
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
