//! What contacts do from one step to the next: impacts, and changes between open, closed, stick and slip, told from velocities and
//! impulses at the ends of a step.

use super::{id_as_numbers, id_from_numbers};
use crate::integrator::{ContactState, Event, EventKind};
use saltus_linear::{is_zero, max_abs};
use saltus_system::{ContactId, ContactSet, State};

/// A velocity along a contact below this share of the terms it is made of is none.
const STILL: f64 = 1e-9;
/// So is one below this share of the fastest motion of the run: rounding of a body that has come to rest.
const AT_REST: f64 = 1e-12;

/// A step as far as events depend on it.
pub(crate) struct StepEnds<'a> {
    /// End of the step \[s\].
    pub(crate) t: f64,
    /// The contacts at its end.
    pub(crate) contacts: &'a ContactSet,
    /// Velocities at its start and at its end (nv).
    pub(crate) velocities: (&'a [f64], &'a [f64]),
    /// Relative velocity of a row of the set at the start, along its direction there \[m/s\].
    pub(crate) start: &'a dyn Fn(usize) -> f64,
    /// The same just before an impact, where its law takes it: at the start, or where the step arrives \[m/s\].
    pub(crate) before: &'a dyn Fn(usize) -> f64,
    /// Normal impulses over the step [N·s] (contacts).
    pub(crate) impulse: &'a [f64],
    /// Impulses of all rows [N·s] (rows of the set); may be empty where no contact has friction.
    pub(crate) row_impulse: &'a [f64],
    /// What each contact does at the end (contacts); may be empty where no contact has friction.
    pub(crate) state: &'a [ContactState],
    /// Whether contacts that were open and carry an impulse may have just hit.
    pub(crate) is_impact: bool,
    /// Whether the law takes the velocity at the start: a contact that does not approach there, and leaves, has hit in between. Where the
    /// law takes the arrival, that is a flight shorter than the step, of a contact that comes to rest.
    pub(crate) from_start: bool,
}

impl StepEnds<'_> {
    /// What contact `i` did in the step: it is open where it carried nothing, whatever it does at the very end.
    fn state(&self, i: usize) -> ContactState {
        let carries = self.impulse[i] > 0.0;
        match self.state.get(i) {
            Some(ContactState::Open) | None if carries => ContactState::Closed,
            Some(state) => *state,
            None => ContactState::Open,
        }
    }

    /// What the normal velocity of contact `i` may amount to: the sum of its terms, or the fastest coordinate, `now` and in the run
    /// so far.
    fn tolerance(&self, i: usize, (now, ever): (f64, f64)) -> f64 {
        let (set, v) = (self.contacts, self.velocities.0);
        let row = set.first_row[i];
        (STILL * set.directions.magnitude(row, v).max(now)).max(AT_REST * ever)
    }

    /// What happened to contact `i` in the step.
    fn event(&self, i: usize, kind: EventKind) -> Event {
        let first = self.contacts.first_row[i];
        let impulse = |row: usize| match self.row_impulse.get(row) {
            Some(p) => *p,
            None if row == first => self.impulse[i],
            None => 0.0,
        };
        let velocities = (self.before, self.velocities.1);
        contact_event(self.contacts, i, (kind, self.t), velocities, impulse)
    }
}

/// The event of contact `i` of `set` at the time `t` \[s\], with the velocity of its rows before it \[m/s\], that of the system after it
/// (nv), and the impulses of the rows of the set [N·s].
pub(crate) fn contact_event(
    set: &ContactSet,
    i: usize,
    (kind, t): (EventKind, f64),
    (before, after): (impl Fn(usize) -> f64, &[f64]),
    impulse: impl Fn(usize) -> f64,
) -> Event {
    let first = set.first_row[i];
    let mut event = normal_event(set.id[i], (kind, t), [0.0; 2], 0.0);
    for k in 0..=usize::from(set.law[i].tangents.min(2)) {
        let row = first + k;
        event.velocity_before[k] = before(row);
        event.velocity_after[k] = set.directions.dot(row, after) + set.rate[row];
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

/// Whether contact `i` touches at rest, within the round-off of positions and velocities.
pub(crate) fn rests(set: &ContactSet, i: usize, q: &[f64], v: &[f64]) -> bool {
    let still = set.normal_velocity(i, v).abs() <= round_off(v);
    set.gap[i] <= round_off(q) && still
}

fn round_off(values: &[f64]) -> f64 {
    8.0 * f64::EPSILON * max_abs(values)
}

/// What contacts do before the first step: those that touch at rest are closed, and with friction stick or slip.
pub(crate) fn initial_states(set: &ContactSet, q: &[f64], v: &[f64], states: &mut [ContactState]) {
    for (i, state) in states.iter_mut().enumerate().take(set.len()) {
        let law = set.law[i];
        let first = set.first_row[i];
        let slides = (1..=usize::from(law.tangents))
            .any(|k| (set.directions.dot(first + k, v) + set.rate[first + k]).abs() > round_off(v));
        *state = match (rests(set, i, q, v), law.tangents) {
            (false, _) => ContactState::Open,
            (true, 0) => ContactState::Closed,
            (true, _) if slides => ContactState::Slip,
            (true, _) => ContactState::Stick,
        };
    }
}

/// What the contacts did at the end of the last step, and how fast the motion was.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactHistory {
    /// By id, where they carried something.
    carried: Vec<(ContactId, ContactState)>,
    /// The same of the step that is noted.
    next: Vec<(ContactId, ContactState)>,
    /// Largest velocity so far.
    fastest: f64,
    /// Whether what is closed touched at rest when the run began, and has carried nothing yet.
    is_initial: bool,
}

impl ContactHistory {
    /// Takes over another history; allocates only beyond the largest one seen.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.carried.clone_from(&other.carried);
        self.fastest = other.fastest;
        self.is_initial = other.is_initial;
    }

    /// Begins a run: a contact that touches at rest is closed, and its first impulse no event.
    pub(crate) fn begin(&mut self, set: &ContactSet, state: &State) {
        *self = Self {
            carried: std::mem::take(&mut self.carried),
            next: std::mem::take(&mut self.next),
            fastest: 0.0,
            is_initial: true,
        };
        self.carried.clear();
        self.carried.reserve(set.len());
        self.next.reserve(set.len());
        for i in (0..set.len()).filter(|&i| rests(set, i, &state.q, &state.v)) {
            self.carried.push((set.id[i], ContactState::Closed));
        }
    }

    /// What a contact did in the last step, where it carried something: `Open` where it left.
    fn last(&self, id: ContactId) -> Option<ContactState> {
        let found = self.carried.binary_search_by_key(&id, |(id, _)| *id);
        found.ok().map(|k| self.carried[k].1)
    }

    /// Appends the events of a step and remembers what its contacts do.
    pub(crate) fn note(&mut self, step: &StepEnds<'_>, events: &mut Vec<Event>) {
        let (set, (before, after)) = (step.contacts, step.velocities);
        let now = if set.is_empty() { 0.0 } else { max_abs(before) };
        self.fastest = self.fastest.max(now);
        let is_idle = self.carried.is_empty()
            && is_zero(step.impulse)
            && step.state.iter().all(|state| *state == ContactState::Open);
        if is_idle {
            self.is_initial = false;
            return;
        }
        let fastest = (now, self.fastest);
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        let arrives = |i: usize| (step.start)(set.first_row[i]);
        let leaves = |i: usize| set.normal_velocity(i, after) > step.tolerance(i, fastest);
        // What is open, carries an impulse, and approached; or was not carried before, and leaves again. A step without an impact law
        // has impacts, too, where such a contact approached and leaves.
        let hits = |i: usize| {
            if step.impulse[i] <= 0.0 {
                return false;
            }
            let last = self.last(set.id[i]);
            if last.unwrap_or(ContactState::Open) != ContactState::Open {
                return false;
            }
            let approached = arrives(i) < -step.tolerance(i, fastest);
            if !step.is_impact {
                return approached && leaves(i);
            }
            approached || step.from_start && last.is_none() && leaves(i)
        };
        // An impact passes through contacts that only touch, and makes their velocities jump, too.
        let strikes = (0..set.len()).any(hits);
        for i in 0..set.len() {
            let earlier = self.last(set.id[i]).unwrap_or(ContactState::Open);
            let was_open = earlier == ContactState::Open;
            if was_open && step.state(i) == ContactState::Open && step.impulse[i] == 0.0 {
                continue;
            }
            let touches = arrives(i) <= step.tolerance(i, fastest);
            let has_hit = hits(i)
                || step.is_impact && step.impulse[i] > 0.0 && was_open && strikes && touches;
            if has_hit {
                events.push(step.event(i, EventKind::Impact));
            }
            // What is closed stays so as long as it carries something; what was open closes unless it leaves.
            let now = if was_open && leaves(i) {
                ContactState::Open
            } else {
                step.state(i)
            };
            let kind = match (earlier, now) {
                (ContactState::Open, ContactState::Open) => None,
                (ContactState::Open, _) => Some(EventKind::Close),
                (_, ContactState::Open) if self.is_initial => None,
                (_, ContactState::Open) => Some(EventKind::Open),
                (ContactState::Slip, ContactState::Stick) => Some(EventKind::Stick),
                (ContactState::Stick, ContactState::Slip) => Some(EventKind::Slip),
                _ => None,
            };
            events.extend(kind.map(|kind| {
                let mut event = step.event(i, kind);
                if has_hit && kind == EventKind::Close {
                    // The impact has the impulse; what it left closes.
                    event.velocity_before = event.velocity_after;
                    event.impulse = [0.0; 3];
                    event.energy_lost = 0.0;
                }
                event
            }));
            if step.state(i) != ContactState::Open {
                next.push((set.id[i], now));
            }
        }
        self.is_initial = false;
        self.next = std::mem::replace(&mut self.carried, next);
    }

    /// Appends what a run that goes on needs.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        let initial = f64::from(u8::from(self.is_initial));
        memory.extend([self.fastest, initial, self.carried.len() as f64]);
        for (id, state) in &self.carried {
            memory.extend(id_as_numbers(*id));
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
        let [fastest, initial, count, rest @ ..] = memory else {
            return &[];
        };
        self.fastest = *fastest;
        self.is_initial = *initial != 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let numbers = (*count as usize).saturating_mul(3);
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
            self.carried
                .push((id_from_numbers([entry[0], entry[1]]), state));
        }
        &rest[numbers..]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use saltus_system::ContactLaw;

    /// One contact per coordinate, `gap` and the velocity of each after the step, and the impulse it carried.
    fn events(
        history: &mut ContactHistory,
        before: &[f64],
        after: &[(u64, f64, f64)],
    ) -> Vec<(u64, EventKind)> {
        events_of(history, before, after, true)
    }

    /// The same of a step with an impact law or without one.
    fn events_of(
        history: &mut ContactHistory,
        before: &[f64],
        after: &[(u64, f64, f64)],
        is_impact: bool,
    ) -> Vec<(u64, EventKind)> {
        let mut set = ContactSet::default();
        let mut v = Vec::new();
        for (id, velocity, _) in after {
            set.push(ContactId(*id), ContactLaw::frictionless(0.5), 0.0);
            set.directions.push(&[v.len()], &[1.0]);
            set.rate.push(0.0);
            v.push(*velocity);
        }
        let impulse: Vec<f64> = after.iter().map(|(_, _, p)| *p).collect();
        let mut list = Vec::new();
        let at_start = |row: usize| before[row];
        let ends = StepEnds {
            t: 1.0,
            contacts: &set,
            velocities: (before, &v),
            start: &at_start,
            before: &at_start,
            impulse: &impulse,
            row_impulse: &[],
            state: &[],
            is_impact,
            from_start: true,
        };
        history.note(&ends, &mut list);
        list.iter().map(|e| (e.contact.0, e.kind)).collect()
    }

    #[test]
    fn contacts_hit_close_and_open() {
        use EventKind::{Close, Impact, Open};
        let mut history = ContactHistory::default();
        let h = &mut history;
        assert_eq!(
            events(h, &[-1.0, -1.0], &[(1, 0.5, 2.0), (3, -1.0, 0.0)]),
            [(1, Impact)]
        );
        assert_eq!(
            events(h, &[-1.0], &[(1, 0.0, 2.0)]),
            [(1, Impact), (1, Close)]
        );
        // Another set: one stays closed, one appears with an impact, and that in the next step is none.
        assert_eq!(
            events(h, &[0.0, -2.0], &[(1, 0.0, 1.0), (7, 0.0, 1.0)]),
            [(7, Impact), (7, Close)]
        );
        assert_eq!(
            events(h, &[-1e-3, 0.0], &[(1, 0.0, 1.0), (7, 1.0, 0.0)]),
            [(7, Open)]
        );
        assert_eq!(events(h, &[0.0], &[(1, 0.1, 0.0)]), [(1, Open)]);
        // One that did not approach at the start is pushed off again; in the next step it has left and is pushed on.
        assert_eq!(events(h, &[0.1], &[(1, 0.2, 1.0)]), [(1, Impact)]);
        assert!(events(h, &[0.2], &[(1, 0.3, 1e-3)]).is_empty());
        assert_eq!(events(h, &[-0.1], &[(1, 0.3, 1.0)]), [(1, Impact)]);
    }

    #[test]
    fn what_leaves_does_not_close_in_a_step_without_an_impact_law() {
        use EventKind::{Close, Impact, Open};
        let mut history = ContactHistory::default();
        let h = &mut history;
        // It leaves before and after, with a reaction in between.
        assert!(events_of(h, &[0.025], &[(1, 5e-4, 0.02)], false).is_empty());
        assert_eq!(
            events_of(h, &[5e-4], &[(1, 0.0, 0.01)], false),
            [(1, Close)]
        );
        assert_eq!(events_of(h, &[0.0], &[(1, 0.1, 0.0)], false), [(1, Open)]);
        // It approaches, and is pushed off within the step.
        assert_eq!(
            events_of(h, &[-0.04], &[(1, 0.02, 0.04)], false),
            [(1, Impact)]
        );
        assert!(events_of(h, &[0.02], &[(1, 0.02, 0.0)], false).is_empty());
    }

    #[test]
    fn what_touches_at_rest_at_the_start_is_closed_and_may_open_in_silence() {
        let mut set = ContactSet::default();
        set.push(ContactId(0), ContactLaw::frictionless(0.5), 0.0);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
        let rest = |v: f64| {
            let mut history = ContactHistory::default();
            history.begin(&set, &State::new(0.0, vec![1.0], vec![v]));
            history
        };
        assert!(events(&mut rest(0.0), &[0.0], &[(0, 0.0, 1.0)]).is_empty());
        assert!(events(&mut rest(0.0), &[0.0], &[(0, 0.0, 0.0)]).is_empty());
        assert_eq!(
            events(&mut rest(-1.0), &[-1.0], &[(0, 0.5, 1.0)]),
            [(0, EventKind::Impact)]
        );
    }
}
