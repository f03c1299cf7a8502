//! What contacts do from one step to the next: impacts, and changes between open, closed, stick and slip, told from velocities and
//! impulses at the ends of a step.

use super::{halves, whole};
use crate::integrator::{ContactState, Event, EventKind};
use saltus_linear::max_abs;
use saltus_system::{ContactId, ContactSet};

/// A velocity along a contact below this share of the terms it is made of is none.
const STILL: f64 = 1e-9;
/// So is one below this share of the fastest motion of the run: rounding of a body that has come to rest.
const AT_REST: f64 = 1e-12;

/// A step as far as events depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepEnds<'a> {
    /// End of the step \[s\].
    pub(crate) t: f64,
    /// The contacts at its end.
    pub(crate) contacts: &'a ContactSet,
    /// Velocities at its start and at its end (nv).
    pub(crate) velocities: (&'a [f64], &'a [f64]),
    /// Velocity just before an impact, where its law takes it: at the start, or where the step arrives (nv).
    pub(crate) arrival: &'a [f64],
    /// Normal impulses over the step [N·s] (contacts).
    pub(crate) impulse: &'a [f64],
    /// Impulses of all rows [N·s] (rows of the set); may be empty where no contact has friction.
    pub(crate) row_impulse: &'a [f64],
    /// What each contact does at the end (contacts); may be empty where no contact has friction.
    pub(crate) state: &'a [ContactState],
    /// Whether contacts that were open, approached and carry an impulse have just hit.
    pub(crate) is_impact: bool,
}

impl StepEnds<'_> {
    fn state(&self, i: usize) -> ContactState {
        match self.state.get(i) {
            Some(state) => *state,
            None if self.impulse[i] > 0.0 => ContactState::Closed,
            None => ContactState::Open,
        }
    }

    /// What the normal velocity of contact `i` may amount to: the sum of its terms, or the fastest coordinate, `now` and in the run
    /// so far.
    fn tolerance(&self, i: usize, (now, ever): (f64, f64)) -> f64 {
        let (set, v) = (self.contacts, self.velocities.0);
        let row = set.first_row[i];
        let terms = set
            .directions
            .cols(row)
            .iter()
            .zip(set.directions.values(row));
        let sum: f64 = terms.map(|(&j, w)| (w * v[j]).abs()).sum();
        (STILL * sum.max(now)).max(AT_REST * ever)
    }

    /// What happened to contact `i` in the step.
    fn event(&self, i: usize, kind: EventKind) -> Event {
        let first = self.contacts.first_row[i];
        let impulse = |row: usize| match self.row_impulse.get(row) {
            Some(p) => *p,
            None if row == first => self.impulse[i],
            None => 0.0,
        };
        let velocities = (self.arrival, self.velocities.1);
        contact_event(self.contacts, i, (kind, self.t), velocities, impulse)
    }
}

/// The event of contact `i` of `set` at the time `t` \[s\], with the velocities before and after it (nv) and the impulses of the rows
/// of the set [N·s].
pub(crate) fn contact_event(
    set: &ContactSet,
    i: usize,
    (kind, t): (EventKind, f64),
    velocities: (&[f64], &[f64]),
    impulse: impl Fn(usize) -> f64,
) -> Event {
    let first = set.first_row[i];
    let mut event = normal_event(set.id[i], (kind, t), [0.0; 2], 0.0);
    for k in 0..=usize::from(set.law[i].tangents.min(2)) {
        let row = first + k;
        let velocity = |v: &[f64]| set.directions.dot(row, v) + set.rate[row];
        event.velocity_before[k] = velocity(velocities.0);
        event.velocity_after[k] = velocity(velocities.1);
        event.impulse[k] = impulse(row);
        event.energy_lost -=
            0.5 * event.impulse[k] * (event.velocity_before[k] + event.velocity_after[k]);
    }
    event
}

/// The event of a contact without friction, with its normal velocities before and after and its normal impulse [N·s].
pub(crate) fn normal_event(
    contact: ContactId,
    (kind, t): (EventKind, f64),
    [before, after]: [f64; 2],
    impulse: f64,
) -> Event {
    Event {
        kind,
        t,
        contact,
        velocity_before: [before, 0.0, 0.0],
        velocity_after: [after, 0.0, 0.0],
        impulse: [impulse, 0.0, 0.0],
        energy_lost: -0.5 * impulse * (before + after),
        energy: None,
    }
}

/// What the contacts did at the end of the last step, and how fast the motion was.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactHistory {
    /// By id, where they carried something.
    carried: Vec<(ContactId, ContactState)>,
    /// Largest velocity so far.
    fastest: f64,
}

impl ContactHistory {
    pub(crate) fn reserve(&mut self, contacts: usize) {
        self.carried.reserve(contacts);
    }

    /// Takes over another history; allocates only beyond the largest one seen.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.carried.clone_from(&other.carried);
        self.fastest = other.fastest;
    }

    fn earlier(&self, id: ContactId) -> ContactState {
        let found = self.carried.binary_search_by_key(&id, |(id, _)| *id);
        found.map_or(ContactState::Open, |k| self.carried[k].1)
    }

    /// Appends the events of a step and remembers what its contacts do.
    pub(crate) fn note(&mut self, step: &StepEnds<'_>, events: &mut Vec<Event>) {
        let (set, (before, after)) = (step.contacts, step.velocities);
        let now = if set.is_empty() { 0.0 } else { max_abs(before) };
        self.fastest = self.fastest.max(now);
        let fastest = (now, self.fastest);
        for i in 0..set.len() {
            let earlier = self.earlier(set.id[i]);
            if earlier == ContactState::Open
                && step.state(i) == ContactState::Open
                && step.impulse[i] == 0.0
            {
                continue;
            }
            let tolerance = step.tolerance(i, fastest);
            let approaches = set.normal_velocity(i, before) < -tolerance;
            // What was closed and follows a curved obstacle approaches it by a little in every step.
            let was_open = earlier == ContactState::Open;
            if step.is_impact && step.impulse[i] > 0.0 && approaches && was_open {
                events.push(step.event(i, EventKind::Impact));
            }
            let rebounds = set.normal_velocity(i, after) > tolerance;
            let now = if rebounds {
                ContactState::Open
            } else {
                step.state(i)
            };
            let kind = match (earlier, now) {
                (ContactState::Open, ContactState::Open) => None,
                (ContactState::Open, _) => Some(EventKind::Close),
                (_, ContactState::Open) => Some(EventKind::Open),
                (ContactState::Slip, ContactState::Stick) => Some(EventKind::Stick),
                (ContactState::Stick, ContactState::Slip) => Some(EventKind::Slip),
                _ => None,
            };
            events.extend(kind.map(|kind| step.event(i, kind)));
        }
        self.carried.clear();
        for i in 0..set.len() {
            let state = step.state(i);
            if state == ContactState::Open {
                continue;
            }
            let rebounds = set.normal_velocity(i, after) > step.tolerance(i, fastest);
            if !rebounds {
                self.carried.push((set.id[i], state));
            }
        }
    }

    /// Appends what a run that goes on needs.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        memory.extend([self.fastest, self.carried.len() as f64]);
        for (id, state) in &self.carried {
            memory.extend(halves(*id));
            memory.push(match state {
                ContactState::Open => 0.0,
                ContactState::Closed => 1.0,
                ContactState::Stick => 2.0,
                ContactState::Slip => 3.0,
            });
        }
    }

    /// Takes up what [`save`](Self::save) appended; what follows it is returned.
    pub(crate) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.carried.clear();
        let [fastest, count, rest @ ..] = memory else {
            return &[];
        };
        self.fastest = *fastest;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let numbers = 3 * (*count as usize);
        if rest.len() < numbers {
            return &[];
        }
        for entry in rest[..numbers].chunks_exact(3) {
            let state = match entry[2] {
                1.0 => ContactState::Closed,
                2.0 => ContactState::Stick,
                3.0 => ContactState::Slip,
                _ => ContactState::Open,
            };
            self.carried.push((whole([entry[0], entry[1]]), state));
        }
        &rest[numbers..]
    }
}
