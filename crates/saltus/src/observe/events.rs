//! The event log: what the schemes report of contacts, counted and kept, and accumulations of impacts.
//!
//! An **accumulation** is what a rebounding contact comes to rest by: at least three impacts in a row of one contact, each slower than
//! the one before (where more than ten steps lie between them) and followed by a rebound, at intervals that never grow by more than a step and shrink to half or less; after
//! the last of them it closes, and stays so for [`PERSISTENT`] steps, and as many times the last interval. Its time is that of the last impact. Impacts without a rebound (`e = 0`), as waves in a body make them, do not accumulate. Where a scheme locates impacts,
//! it ends accumulations itself and reports them.
//!
//! A contact that touches at rest when the run starts is closed from the start: its first impulse is no impact.

use crate::observe::Closures;
use saltus_integrators::{EventKind, Frame, RunInfo};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Steps after which a closed contact is persistent.
pub const PERSISTENT: u64 = 10;
/// Events that are kept; all are counted.
const KEPT: usize = 1000;
/// Contacts whose impacts are followed before those that went away are forgotten.
const FOLLOWED: usize = 4096;

/// One event, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the step.
    pub step: u64,
    /// When \[s\]: inside the step where the scheme locates it, else the end of the step.
    pub t: f64,
    /// The contact.
    #[serde(with = "crate::exact::id")]
    pub contact: ContactId,
    /// What happened.
    pub kind: EventKind,
    /// Normal impulse \[N·s\].
    #[serde(with = "crate::exact")]
    pub impulse: f64,
    /// Normal relative velocity just before \[m/s\]; of impacts that are not located, at the start of the step.
    #[serde(with = "crate::exact")]
    pub velocity_before: f64,
    /// Normal relative velocity just after \[m/s\]; of impacts that are not located, at the end of the step.
    #[serde(with = "crate::exact")]
    pub velocity_after: f64,
}

/// What happened at one contact of fixed identity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Events {
    /// Number of impacts.
    pub impacts: u64,
    /// Number of contacts that closed to stay closed.
    pub closings: u64,
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
    /// The first 1000 impacts, closings, openings and accumulations, in time.
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
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Chain {
    /// Impacts in a row that may accumulate.
    length: u32,
    /// Time of the last impact \[s\].
    last: f64,
    /// Speed of the last approach \[m/s\].
    speed: f64,
    /// Whether the contact rebounded from it.
    rebounds: bool,
    /// Interval before the last impact \[s\].
    interval: f64,
    /// First interval of the chain \[s\].
    first_interval: f64,
}

impl Chain {
    /// Takes an impact found with a step of `h` into account.
    #[allow(clippy::cast_precision_loss)]
    fn impact(&mut self, event: &Event, h: f64) {
        let (interval, speed) = (event.t - self.last, -event.velocity_before);
        // Of bounces shorter than that the speed is one of round-off of the step.
        let unresolved = interval <= PERSISTENT as f64 * h;
        let slower = speed < self.speed || unresolved;
        let goes_on = self.length >= 1 && self.rebounds && slower;
        if goes_on && self.length >= 2 && interval <= self.interval + 1.5 * h {
            self.length += 1;
        } else if goes_on {
            (self.length, self.first_interval) = (2, interval);
        } else {
            self.length = 1;
        }
        (self.last, self.interval, self.speed) = (event.t, interval, speed);
        self.rebounds = event.velocity_after > 0.0;
    }

    fn accumulates(&self) -> bool {
        self.length >= 3 && self.interval <= 0.5 * self.first_interval
    }
}

/// A chain whose last impact may be the last of all.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Pending {
    impact: Event,
    /// Step and time \[s\] in which the contact closed, once it has.
    closed: Option<(u64, f64)>,
}

/// The chains in the order of their contacts.
mod chains {
    use super::{Chain, ContactId, HashMap};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        chains: &HashMap<ContactId, Chain>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list: Vec<(u64, &Chain)> = chains.iter().map(|(id, c)| (id.0, c)).collect();
        list.sort_unstable_by_key(|(id, _)| *id);
        serializer.collect_seq(list)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<HashMap<ContactId, Chain>, D::Error> {
        let list = Vec::<(u64, Chain)>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|(id, c)| (ContactId(id), c)).collect())
    }
}

/// Follows the contacts of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EventLog {
    closures: Closures,
    #[serde(with = "chains")]
    chains: HashMap<ContactId, Chain>,
    /// Contacts that closed at the end of a chain and may stay closed: with the impact.
    pending: Vec<Pending>,
    /// Impacts of the last step: contact and time \[s\].
    #[serde(skip)]
    impacts: Vec<(ContactId, f64)>,
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
    }

    /// Impacts of the last step: contact and time \[s\].
    pub(crate) fn latest_impacts(&self) -> &[(ContactId, f64)] {
        &self.impacts
    }

    /// Takes a step into account and returns whether any contact closed.
    #[inline]
    pub(crate) fn update(&mut self, frame: &Frame<'_>) -> bool {
        self.impacts.clear();
        for event in frame.events {
            self.report(frame, event);
        }
        let closed = self.closures.update(frame);
        if !self.pending.is_empty() {
            self.settle(frame);
        }
        if self.chains.len() > FOLLOWED.max(2 * frame.reactions.contacts.len()) {
            self.forget(frame);
        }
        self.add_up(frame);
        closed
    }

    /// Takes an event that the scheme reports.
    #[cold]
    fn report(&mut self, frame: &Frame<'_>, reported: &saltus_integrators::Event) {
        let event = Event {
            step: frame.step,
            t: reported.t,
            contact: reported.contact,
            kind: reported.kind,
            impulse: reported.impulse[0],
            velocity_before: reported.velocity_before[0],
            velocity_after: reported.velocity_after[0],
        };
        if event.kind == EventKind::Impact {
            self.impacts.push((event.contact, event.t));
        }
        let Self {
            events,
            chains,
            pending,
            ..
        } = self;
        note(events, chains, pending, &event, frame.report.h);
    }

    /// Contacts that have stayed closed for long enough have come to persistent contact.
    fn settle(&mut self, frame: &Frame<'_>) {
        let Self {
            pending,
            events,
            chains,
            ..
        } = self;
        pending.retain(|Pending { impact, closed }| {
            let persistent = closed.is_some_and(|(step, t)| {
                let chain = chains.get(&impact.contact);
                #[allow(clippy::cast_precision_loss)]
                let quiet = chain.map_or(0.0, |chain| PERSISTENT as f64 * chain.interval);
                frame.step >= step + PERSISTENT && frame.state.t >= t + quiet
            });
            if persistent {
                let accumulation = Event {
                    kind: EventKind::Accumulation,
                    ..*impact
                };
                accumulated(events, &accumulation);
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
}

/// Counts an event, keeps it, and follows the chain of impacts it belongs to.
fn note(
    events: &mut Events,
    chains: &mut HashMap<ContactId, Chain>,
    pending: &mut Vec<Pending>,
    event: &Event,
    h: f64,
) {
    match event.kind {
        EventKind::Impact => {
            keep(&mut events.list, event);
            events.impacts += 1;
            events.first_impact.get_or_insert(event.t);
            events.last_impact = Some(event.t);
            if let Some(contact) = statistics(events, event.contact) {
                contact.impacts += 1;
                contact.first_impact.get_or_insert(event.t);
                contact.last_impact = Some(event.t);
            }
            // It hit again: the impact before was not the last one.
            pending.retain(|p| p.impact.contact != event.contact);
            let chain = chains.entry(event.contact).or_default();
            chain.impact(event, h);
            if chain.accumulates() {
                pending.push(Pending {
                    impact: *event,
                    closed: None,
                });
            }
        }
        EventKind::Open => {
            keep(&mut events.list, event);
            events.openings += 1;
            pending.retain(|p| p.impact.contact != event.contact);
            if let Some(contact) = statistics(events, event.contact) {
                contact.openings += 1;
            }
        }
        EventKind::Close => {
            keep(&mut events.list, event);
            events.closings += 1;
            for end in pending
                .iter_mut()
                .filter(|p| p.impact.contact == event.contact)
            {
                end.closed = Some((event.step, event.t));
            }
        }
        EventKind::Accumulation => {
            accumulated(events, event);
            pending.retain(|p| p.impact.contact != event.contact);
            chains.remove(&event.contact);
        }
        EventKind::Stick => events.stick += 1,
        EventKind::Slip => events.slip += 1,
    }
}

/// Counts an accumulation.
fn accumulated(events: &mut Events, event: &Event) {
    events.accumulations += 1;
    keep(&mut events.list, event);
    keep(&mut events.accumulation_list, event);
    if let Some(contact) = statistics(events, event.contact) {
        contact.accumulation.get_or_insert(event.t);
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
