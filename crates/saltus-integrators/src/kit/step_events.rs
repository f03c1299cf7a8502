//! Events of the schemes that are not built on the kit: told from the reactions at the end of the step.

use super::events::{ContactHistory, StepEnds};
use crate::integrator::{Event, Reactions};
use saltus_system::{ContactId, ContactSet, State};

/// Relative velocity of every row of contacts at the start of a step, along its direction there.
#[derive(Debug, Default)]
pub(crate) struct RowVelocities {
    ids: Vec<ContactId>,
    first_row: Vec<usize>,
    velocity: Vec<f64>, // (rows)
    /// The same by the rows of the set at the end of the step (rows).
    at_end: Vec<f64>,
}

impl RowVelocities {
    /// Takes those of `set`, evaluated where the step starts with the velocity `v`.
    pub(crate) fn take(&mut self, set: &ContactSet, v: &[f64]) {
        self.ids.clone_from(&set.id);
        self.first_row.clone_from(&set.first_row);
        self.velocity.clear();
        let rates = set.rate.iter().enumerate();
        self.velocity
            .extend(rates.map(|(row, rate)| set.directions.dot(row, v) + rate));
    }

    /// Notes the events of a step from the velocity `before` (nv) to `end`.
    pub(crate) fn note(
        &mut self,
        reactions: &Reactions<'_>,
        (before, end): (&[f64], &State),
        history: &mut ContactHistory,
        events: &mut Vec<Event>,
    ) {
        self.sort_by(reactions.contacts, before);
        let at_end = &self.at_end;
        let start = |row: usize| at_end[row];
        let ends = StepEnds {
            t: end.t,
            contacts: reactions.contacts,
            velocities: (before, &end.v),
            start: &start,
            before: &start,
            impulse: reactions.impulse,
            row_impulse: reactions.row_impulse,
            state: reactions.state,
            is_impact: true,
            from_start: true,
        };
        history.note(&ends, events);
    }

    /// Sorts the velocities by the rows of `set`; of a contact that was not near, that of `before` along its direction now.
    fn sort_by(&mut self, set: &ContactSet, before: &[f64]) {
        self.at_end.clear();
        if self.ids == set.id && self.velocity.len() == set.rate.len() {
            self.at_end.extend_from_slice(&self.velocity);
            return;
        }
        for (i, id) in set.id.iter().enumerate() {
            let known = self.ids.binary_search(id).ok();
            for k in 0..=usize::from(set.law[i].tangents) {
                let row = set.first_row[i] + k;
                let kept = known.and_then(|j| self.velocity.get(self.first_row[j] + k));
                let now = || set.directions.dot(row, before) + set.rate[row];
                self.at_end.push(kept.copied().unwrap_or_else(now));
            }
        }
    }
}

/// What contacts did in the last step of such a scheme.
#[derive(Debug, Default)]
pub(crate) struct StepEvents {
    history: ContactHistory,
    pub(crate) list: Vec<Event>,
    /// Velocity at the start of the step (nv); empty where there are no contacts.
    before: Vec<f64>,
    rows: RowVelocities,
    has_contacts: bool,
}

impl StepEvents {
    /// Takes up the initial state; `fixed` where no contact appears later.
    pub(crate) fn prepare(&mut self, reactions: &Reactions<'_>, state: &State, fixed: bool) {
        let count = reactions.contacts.len();
        self.has_contacts = !fixed || count > 0;
        self.before.clear();
        if self.has_contacts {
            self.before.reserve(state.v.len());
        }
        self.list.clear();
        self.list.reserve(4 * count);
        self.history.begin(reactions.contacts, state);
    }

    /// Begins a step with the velocity `v` and the contacts of `reactions`.
    pub(crate) fn begin(&mut self, reactions: &Reactions<'_>, v: &[f64]) {
        self.list.clear();
        if self.has_contacts {
            self.before.clear();
            self.before.extend_from_slice(v);
            self.rows.take(reactions.contacts, v);
        }
    }

    /// Notes what the step that ends at `state` did.
    pub(crate) fn note(&mut self, reactions: &Reactions<'_>, state: &State) {
        if !self.has_contacts {
            return;
        }
        let ends = (self.before.as_slice(), state);
        self.rows
            .note(reactions, ends, &mut self.history, &mut self.list);
    }

    /// Appends what a run that goes on needs.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        self.history.save(memory);
    }

    /// Takes up what [`save`](Self::save) appended; what follows it is returned.
    pub(crate) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.history.load(memory)
    }
}
