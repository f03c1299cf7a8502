//! Events of schemes with laws on positions, whose impacts take the impulses of two steps.

use super::events::normal_event;
use super::{id_as_numbers, id_from_numbers};
use crate::integrator::{Event, EventKind};
use saltus_linear::max_abs;
use saltus_system::{ContactId, ContactSet, State};

/// A velocity along a contact below this share of the fastest coordinate is none.
const STILL: f64 = 1e-9;
/// So is one below this share of the fastest motion of the run: rounding of a body that has come to rest.
const AT_REST: f64 = 1e-12;

/// What a contact that carried an impulse does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// It hits: its velocity before \[m/s\], the impulse so far \[N·s\] and the energy that took \[J\].
    Hits([f64; 3]),
    /// It stays closed.
    Closed,
    /// Its impact is over, and it leaves with the rest of the impulse.
    Leaves,
}

/// A step as far as its events depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaggedStep<'a> {
    /// End of the step \[s\].
    pub(crate) t: f64,
    /// The contacts at its end.
    pub(crate) contacts: &'a ContactSet,
    /// Mean velocities of the step before and of this one (nv).
    pub(crate) velocities: (&'a [f64], &'a [f64]),
    /// `∂g/∂t` of the rows in both (rows of the set).
    pub(crate) rates: (&'a [f64], &'a [f64]),
    /// Normal impulses (contacts) [N·s].
    pub(crate) impulse: &'a [f64],
}

/// What the contacts did so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaggedEvents {
    /// By id, where they carried something in the last step.
    phases: Vec<(ContactId, Phase)>,
    next: Vec<(ContactId, Phase)>,
    fastest: f64,
    /// Whether what is closed touched at rest when the run began, and has carried nothing yet.
    is_initial: bool,
}

impl LaggedEvents {
    /// Begins a run: a contact that touches at rest is closed.
    pub(crate) fn begin(&mut self, set: &ContactSet, state: &State) {
        self.phases.clear();
        self.phases.reserve(set.len());
        self.next.reserve(set.len());
        for i in (0..set.len()).filter(|&i| super::rests(set, i, &state.q, &state.v)) {
            self.phases.push((set.id[i], Phase::Closed));
        }
        (self.fastest, self.is_initial) = (0.0, true);
    }

    fn phase(&self, id: ContactId) -> Option<Phase> {
        let found = self.phases.binary_search_by_key(&id, |(id, _)| *id);
        found.ok().map(|k| self.phases[k].1)
    }

    /// Appends the events of a step.
    pub(crate) fn note(&mut self, step: &LaggedStep<'_>, events: &mut Vec<Event>) {
        let set = step.contacts;
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        let now = if set.is_empty() {
            0.0
        } else {
            max_abs(step.velocities.0).max(max_abs(step.velocities.1))
        };
        self.fastest = self.fastest.max(now);
        let still = (STILL * now).max(AT_REST * self.fastest);
        let along = |i: usize, (v, rates): (&[f64], &[f64])| {
            let row = set.first_row[i];
            set.directions.dot(row, v) + rates[row]
        };
        let (earlier, later) = (
            (step.velocities.0, step.rates.0),
            (step.velocities.1, step.rates.1),
        );
        // An impact passes through contacts that only touch; the greater part of it is in the next step where what hits still approaches.
        let begins = |i: usize| step.impulse[i] > 0.0 && self.phase(set.id[i]).is_none();
        let hits = |i: usize| begins(i) && along(i, earlier) < -still;
        let strikes = (0..set.len()).any(hits);
        let lasts = (0..set.len()).any(|i| hits(i) && along(i, later) < -still);
        for i in 0..set.len() {
            let (id, p) = (set.id[i], step.impulse[i]);
            let (before, after) = (along(i, earlier), along(i, later));
            let mut note = |kind, velocities, impulse, lost| {
                let event = normal_event(id, (kind, step.t), velocities, impulse);
                events.push(Event {
                    energy_lost: lost,
                    ..event
                });
            };
            let lost = -0.5 * p * (before + after);
            // Of an impact that began in this step the next one may have the rest.
            let waits =
                |after: f64, first: f64| begins(i) && (after > still || lasts && first >= -still);
            let phase = match (self.phase(id), p > 0.0) {
                (None, true) if hits(i) || strikes && before <= still => {
                    Some(Phase::Hits([before, p, lost]))
                }
                (Some(Phase::Hits([first, sum, taken])), true) => {
                    Some(Phase::Hits([first, sum + p, taken + lost]))
                }
                (Some(Phase::Leaves), true) if after > still => Some(Phase::Leaves),
                (None | Some(Phase::Leaves), true) => {
                    note(EventKind::Close, [before, after], p, lost);
                    Some(Phase::Closed)
                }
                (Some(Phase::Hits([first, sum, taken])), false) => {
                    note(EventKind::Impact, [first, after], sum, taken);
                    None
                }
                (Some(Phase::Closed), false) => {
                    if !self.is_initial {
                        note(EventKind::Open, [before, after], 0.0, 0.0);
                    }
                    None
                }
                (Some(Phase::Closed), true) => Some(Phase::Closed),
                (None | Some(Phase::Leaves), false) => None,
            };
            match phase {
                Some(Phase::Hits([first, sum, taken]))
                    if after >= -still && !waits(after, first) =>
                {
                    note(EventKind::Impact, [first, after], sum, taken);
                    if after <= still {
                        note(EventKind::Close, [first, after], 0.0, 0.0);
                        next.push((id, Phase::Closed));
                    } else if p > 0.0 {
                        next.push((id, Phase::Leaves));
                    }
                }
                Some(phase) => next.push((id, phase)),
                None => {}
            }
        }
        self.is_initial = false;
        self.next = std::mem::replace(&mut self.phases, next);
    }

    /// Appends what a run that goes on needs.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        let initial = f64::from(u8::from(self.is_initial));
        memory.extend([self.fastest, initial, self.phases.len() as f64]);
        for (id, phase) in &self.phases {
            memory.extend(id_as_numbers(*id));
            match phase {
                Phase::Hits(numbers) => {
                    memory.push(1.0);
                    memory.extend_from_slice(numbers);
                }
                Phase::Closed => memory.extend([0.0; 4]),
                Phase::Leaves => memory.extend([2.0, 0.0, 0.0, 0.0]),
            }
        }
    }

    /// Takes up what [`save`](Self::save) appended; what follows it is returned.
    pub(crate) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.phases.clear();
        let [fastest, initial, count, rest @ ..] = memory else {
            return &[];
        };
        (self.fastest, self.is_initial) = (*fastest, *initial != 0.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let numbers = (*count as usize).saturating_mul(6);
        let Some((own, rest)) = rest.split_at_checked(numbers) else {
            return &[];
        };
        for entry in own.chunks_exact(6) {
            let phase = match entry[2] {
                0.0 => Phase::Closed,
                2.0 => Phase::Leaves,
                _ => Phase::Hits([entry[3], entry[4], entry[5]]),
            };
            self.phases
                .push((id_from_numbers([entry[0], entry[1]]), phase));
        }
        rest
    }
}
