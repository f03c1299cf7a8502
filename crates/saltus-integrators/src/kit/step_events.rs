//! Events of the schemes whose step is not on the corridor: told from the reactions at the end of the step.

use super::events::{ContactHistory, StepEnds};
use crate::integrator::{Event, Reactions};
use saltus_system::{ContactId, ContactSet, State};

/// What contacts did in the last step of such a scheme.
#[derive(Debug, Default)]
pub(crate) struct StepEvents {
    history: ContactHistory,
    pub(crate) list: Vec<Event>,
    /// Velocity at the start of the step (nv); empty where there are no contacts.
    before: Vec<f64>,
    /// Contacts there, the first row of each, and `∂g/∂t` of all rows.
    ids: Vec<ContactId>,
    first_row: Vec<usize>,
    rates: Vec<f64>,
    /// The same rates by the rows of the set at the end (rows).
    rates_before: Vec<f64>,
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
            let set = reactions.contacts;
            self.ids.clone_from(&set.id);
            self.first_row.clone_from(&set.first_row);
            self.rates.clone_from(&set.rate);
        }
    }

    /// The rates at the start of the step by the rows of `set`; of a contact that was not near then, those at the end.
    fn rates_of(&mut self, set: &ContactSet) {
        self.rates_before.clone_from(&set.rate);
        for (i, id) in set.id.iter().enumerate() {
            if let Ok(k) = self.ids.binary_search(id) {
                for tangent in 0..=usize::from(set.law[i].tangents) {
                    if let Some(rate) = self.rates.get(self.first_row[k] + tangent) {
                        self.rates_before[set.first_row[i] + tangent] = *rate;
                    }
                }
            }
        }
    }

    /// Notes what the step that ends at `state` did.
    pub(crate) fn note(&mut self, reactions: &Reactions<'_>, state: &State) {
        if !self.has_contacts {
            return;
        }
        self.rates_of(reactions.contacts);
        let ends = StepEnds {
            t: state.t,
            contacts: reactions.contacts,
            velocities: (&self.before, &state.v),
            arrival: &self.before,
            rates: &self.rates_before,
            impulse: reactions.impulse,
            row_impulse: reactions.row_impulse,
            state: reactions.state,
            is_impact: true,
        };
        self.history.note(&ends, &mut self.list);
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
