//! The event log: impacts, openings and accumulations of every contact.
//!
//! * **Impact**: a step in which a contact carries an impulse and did not in the step before. Its time is
//!   the end of that step; an event-capturing scheme does not know it better than to one step.
//! * **Opening**: a step in which a contact does not carry an impulse and did in the step before.
//! * **Accumulation**: a contact stays closed for [`PERSISTENT`] steps after at least three impacts whose
//!   intervals never grew by more than a step and shrank to half or less. Its time is that of the last of these impacts.
//!
//! A contact that touches at rest when the run starts is closed from the start: its first impulse is no impact.

use crate::observe::Closures;
use crate::observe::closures::Change;
use saltus_integrators::{Frame, RunInfo};
use saltus_system::ContactId;
use std::collections::HashMap;

/// Steps after which a closed contact is persistent.
pub const PERSISTENT: u64 = 10;
/// Events that are kept; all are counted.
const KEPT: usize = 1000;
/// Contacts whose impacts are followed before those that went away are forgotten.
const FOLLOWED: usize = 4096;

/// What happened at a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// It closed.
    Impact,
    /// It opened.
    Opening,
    /// Ever faster impacts ended in persistent contact.
    Accumulation,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Number of the step.
    pub step: u64,
    /// End of the step \[s\].
    pub t: f64,
    /// The contact.
    pub contact: ContactId,
    /// What happened.
    pub kind: EventKind,
    /// Normal impulse of the step \[N·s\].
    pub impulse: f64,
    /// Normal relative velocity at the start of the step \[m/s\]; NaN if the contact was not near.
    pub velocity_before: f64,
    /// Normal relative velocity at the end of the step \[m/s\]; NaN if the contact is not near.
    pub velocity_after: f64,
}

/// What happened at one contact of fixed identity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContactStatistics {
    /// Its name.
    pub name: String,
    /// Number of impacts.
    pub impacts: u64,
    /// Number of openings.
    pub openings: u64,
    /// Time of the first impact \[s\].
    pub first_impact: Option<f64>,
    /// Time of the last impact \[s\].
    pub last_impact: Option<f64>,
    /// Largest impulse of a step \[N·s\].
    pub largest_impulse: f64,
    /// Sum of all impulses \[N·s\].
    pub total_impulse: f64,
    /// Total time of the steps in which it carried an impulse \[s\].
    pub closed_time: f64,
    /// Time of its first accumulation \[s\].
    pub accumulation: Option<f64>,
}

/// All events of a run, counted; the first of them, kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Events {
    /// Number of impacts.
    pub impacts: u64,
    /// Number of openings.
    pub openings: u64,
    /// Number of transitions from sliding to sticking.
    pub stick: u64,
    /// Number of transitions from sticking to sliding.
    pub slip: u64,
    /// Number of accumulations.
    pub accumulations: u64,
    /// Time of the first impact \[s\].
    pub first_impact: Option<f64>,
    /// Time of the last impact \[s\].
    pub last_impact: Option<f64>,
    /// Per contact of fixed identity, in the order of the identities.
    pub contacts: Vec<ContactStatistics>,
    /// The first 1000 events, in time.
    pub list: Vec<Event>,
    /// The first 1000 accumulations, in time.
    pub accumulation_list: Vec<Event>,
}

impl Events {
    /// The name of a contact; its number where it has none.
    #[must_use]
    pub fn contact_name(&self, id: ContactId) -> String {
        let named = usize::try_from(id.0)
            .ok()
            .and_then(|i| self.contacts.get(i));
        named.map_or_else(|| format!("contact {}", id.0), |c| c.name.clone())
    }
}

/// Successive impacts of one contact.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    /// Impacts in a row whose intervals do not grow.
    length: u32,
    /// Time of the last impact \[s\].
    last: f64,
    /// Interval before the last impact \[s\].
    interval: f64,
    /// First interval of the chain \[s\].
    first_interval: f64,
}

impl Chain {
    /// Takes an impact at `t` found with a step of `h` into account.
    fn impact(&mut self, t: f64, h: f64) {
        let interval = t - self.last;
        if self.length >= 2 && interval <= self.interval + 1.5 * h {
            self.length += 1;
        } else if self.length >= 1 {
            (self.length, self.first_interval) = (2, interval);
        } else {
            self.length = 1;
        }
        (self.last, self.interval) = (t, interval);
    }

    fn accumulates(&self) -> bool {
        self.length >= 3 && self.interval <= 0.5 * self.first_interval
    }
}

/// Follows the contacts of a run.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    closures: Closures,
    chains: HashMap<ContactId, Chain>,
    /// Contacts that closed at the end of a chain and may stay closed: with the impact.
    pending: Vec<Event>,
    /// Normal relative velocities at the end of the last step.
    velocity: Vec<f64>,
    velocity_ids: Vec<ContactId>,
    events: Events,
}

impl EventLog {
    /// What happened so far.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    pub(crate) fn into_events(self) -> Events {
        self.events
    }

    /// Identities of the contacts that carried an impulse in the last step.
    pub fn closed(&self) -> impl Iterator<Item = ContactId> + '_ {
        self.closures.closed()
    }

    /// Takes up the first frame; `before` are the contacts closed at the end of a run that goes on.
    pub(crate) fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>, before: Option<&[u64]>) {
        *self = Self::default();
        let contact = |name: &String| ContactStatistics {
            name: name.clone(),
            ..Default::default()
        };
        self.events.contacts = info.names.contacts.iter().map(contact).collect();
        self.closures.begin(first, before);
        self.remember(first);
    }

    /// Takes a step into account and returns whether any contact closed.
    #[inline]
    pub(crate) fn update(&mut self, frame: &Frame<'_>) -> bool {
        let Self {
            closures,
            chains,
            pending,
            velocity,
            velocity_ids,
            events,
        } = self;
        let impact = closures.update(frame, |id, at, change| {
            let before = velocity_ids
                .binary_search(&id)
                .ok()
                .map_or(f64::NAN, |i| velocity[i]);
            let event = event(frame, id, at, change, before);
            note(events, chains, pending, &event, frame.report.h);
        });
        if !pending.is_empty() {
            self.settle(frame.step);
        }
        if self.chains.len() > FOLLOWED.max(2 * frame.reactions.contacts.len()) {
            self.forget(frame);
        }
        self.add_up(frame);
        self.remember(frame);
        impact
    }

    /// Contacts that have stayed closed for long enough have come to persistent contact.
    fn settle(&mut self, step: u64) {
        let Self {
            pending,
            events,
            chains,
            ..
        } = self;
        pending.retain(|impact| {
            let persistent = step >= impact.step + PERSISTENT;
            if persistent {
                let accumulation = Event {
                    kind: EventKind::Accumulation,
                    ..*impact
                };
                events.accumulations += 1;
                keep(&mut events.list, &accumulation);
                keep(&mut events.accumulation_list, &accumulation);
                if let Some(contact) = statistics(events, impact.contact) {
                    contact.accumulation.get_or_insert(impact.t);
                }
                chains.remove(&impact.contact);
            }
            !persistent
        });
    }

    /// Drops the contacts without a fixed identity that are not near any more: memory stays bounded.
    #[cold]
    fn forget(&mut self, frame: &Frame<'_>) {
        let near = &frame.reactions.contacts.id;
        let fixed = self.events.contacts.len() as u64;
        self.chains
            .retain(|id, _| id.0 < fixed || near.binary_search(id).is_ok());
    }

    /// Impulse and time in contact of every named contact that carries an impulse.
    #[inline]
    fn add_up(&mut self, frame: &Frame<'_>) {
        let reactions = &frame.reactions;
        for (id, impulse) in reactions.contacts.id.iter().zip(reactions.impulse) {
            if *impulse > 0.0
                && let Some(contact) = statistics(&mut self.events, *id)
            {
                contact.total_impulse += impulse;
                contact.closed_time += frame.report.h;
                contact.largest_impulse = contact.largest_impulse.max(*impulse);
            }
        }
    }

    #[inline]
    fn remember(&mut self, frame: &Frame<'_>) {
        self.velocity.clear();
        self.velocity
            .extend_from_slice(frame.reactions.gap_velocity);
        if self.velocity_ids != frame.reactions.contacts.id {
            self.velocity_ids.clone_from(&frame.reactions.contacts.id);
        }
    }
}

/// The event of a change.
fn event(
    frame: &Frame<'_>,
    id: ContactId,
    at: Option<usize>,
    change: Change,
    before: f64,
) -> Event {
    let reactions = &frame.reactions;
    Event {
        step: frame.step,
        t: frame.state.t,
        contact: id,
        kind: if change == Change::Closed {
            EventKind::Impact
        } else {
            EventKind::Opening
        },
        impulse: at.map_or(0.0, |i| reactions.impulse[i]),
        velocity_before: before,
        velocity_after: at.map_or(f64::NAN, |i| reactions.gap_velocity[i]),
    }
}

/// Counts an event, keeps it, and follows the chain of impacts it belongs to.
fn note(
    events: &mut Events,
    chains: &mut HashMap<ContactId, Chain>,
    pending: &mut Vec<Event>,
    event: &Event,
    h: f64,
) {
    keep(&mut events.list, event);
    if event.kind == EventKind::Impact {
        events.impacts += 1;
        events.first_impact.get_or_insert(event.t);
        events.last_impact = Some(event.t);
        let chain = chains.entry(event.contact).or_default();
        chain.impact(event.t, h);
        if chain.accumulates() {
            pending.push(*event);
        }
    } else {
        events.openings += 1;
        pending.retain(|p| p.contact != event.contact);
    }
    if let Some(contact) = statistics(events, event.contact) {
        if event.kind == EventKind::Impact {
            contact.impacts += 1;
            contact.first_impact.get_or_insert(event.t);
            contact.last_impact = Some(event.t);
        } else {
            contact.openings += 1;
        }
    }
}

fn statistics(events: &mut Events, id: ContactId) -> Option<&mut ContactStatistics> {
    usize::try_from(id.0)
        .ok()
        .and_then(|i| events.contacts.get_mut(i))
}

fn keep(list: &mut Vec<Event>, event: &Event) {
    if list.len() < KEPT {
        list.push(*event);
    }
}
