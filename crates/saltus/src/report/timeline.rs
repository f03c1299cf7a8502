//! What contacts and joints with friction do over time: a bar for each, coloured by its state, with a tick at every impact.
//!
//! Time is divided into at most [`BINS`] bins, which double in width when a run outgrows them. A bin knows how long the
//! contact was in each state and whether there was an impact: where states change faster than a bin, the bar is divided in
//! height by their shares.

use crate::report::chart::scale;
use crate::report::number::{count, counted, significant};
use crate::report::page::escape;

use crate::report::{Figure, Section};
use saltus_integrators::{ContactState, Frame, RunInfo};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Bins of a bar; at 1000 pixels one is a pixel.
const BINS: usize = 1024;
/// Contacts and joints that are drawn: of more, those that close first.
const ROWS: usize = 24;
/// Marks of those without a row: never closed, or beyond [`ROWS`].
const NONE: u8 = u8::MAX;
const HIDDEN: u8 = NONE - 1;
/// Width and height of a bar in its drawing, room for ticks above included.
const WIDTH: f64 = 1000.0;
const HEIGHT: u32 = 16;
/// Height of the bar itself.
const BAR: u32 = 12;

/// States that are drawn upon the open bar, from below.
const STATES: [ContactState; 3] = [
    ContactState::Stick,
    ContactState::Slip,
    ContactState::Closed,
];

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    /// Time in each of [`STATES`] \[s\].
    time: [f64; 3],
    impact: bool,
}

/// A contact that closed at some time, or a joint.
#[derive(Debug, Clone)]
struct Row {
    /// Its place among the names.
    member: usize,
    impacts: u64,
    bins: Vec<Bin>,
}

/// Gathers the bars of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline {
    /// First and last time \[s\].
    time: (f64, f64),
    /// Width of a bin \[s\].
    width: f64,
    /// Of contacts of fixed identity, then of the elements of friction in joints.
    names: Vec<String>,
    contacts: usize,
    /// The row of each of them, or [`NONE`] or [`HIDDEN`].
    row_of: Vec<u8>,
    hidden: usize,
    rows: Vec<Row>,
}

/// The bars of a run that goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedTimeline {
    time: (f64, f64),
    width: f64,
    row_of: Vec<u8>,
    hidden: usize,
    rows: Vec<SavedRow>,
}

/// A bar: of each bin that is not empty its number, 1 after an impact, and the times.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedRow {
    member: usize,
    impacts: u64,
    bins: Vec<f64>,
}

impl Timeline {
    pub(crate) fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) {
        let t = first.state.t;
        let joints = first.reactions.friction_state.len();
        let joints = (0..joints).map(|k| info.names.friction_element(k));
        let names: Vec<String> = info.names.contacts.iter().cloned().chain(joints).collect();
        *self = Self {
            time: (t, t),
            width: info
                .plan
                .step
                .min((info.plan.until - t) / BINS as f64)
                .max(f64::MIN_POSITIVE),
            row_of: vec![NONE; names.len()],
            contacts: info.names.contacts.len(),
            names,
            ..Self::default()
        };
    }

    /// Takes a step, with the contacts and times of its impacts.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Frame<'_>, impacts: &[(ContactId, f64)]) {
        let (from, to) = (self.time.1, frame.state.t);
        if self.names.is_empty() || to <= from || to.is_nan() {
            return;
        }
        self.time.1 = to;
        self.make_room(to);
        let reactions = &frame.reactions;
        for (i, id) in reactions.contacts.id.iter().enumerate() {
            let closed = reactions.impulse.get(i).is_some_and(|p| *p > 0.0);
            let state = match reactions.state.get(i) {
                Some(state) => *state,
                None if closed => ContactState::Closed,
                None => ContactState::Open,
            };
            if let Some(contact) = self.contact(*id) {
                self.fill(contact, state, from, to);
            }
        }
        for (k, state) in reactions.friction_state.iter().enumerate() {
            self.fill(self.contacts + k, *state, from, to);
        }
        for (id, t) in impacts {
            let row = self.contact(*id).and_then(|contact| self.row(contact));
            if let Some(row) = row {
                let bin = self.bin(*t);
                let row = &mut self.rows[row];
                row.bins[bin].impact = true;
                row.impacts += 1;
            }
        }
    }

    /// The place of a contact among the names, where it has one.
    fn contact(&self, id: ContactId) -> Option<usize> {
        let contact = usize::try_from(id.0).ok()?;
        (contact < self.contacts).then_some(contact)
    }

    /// The row of a member that closes, new where it has none and there is room.
    fn row(&mut self, member: usize) -> Option<usize> {
        let slot = self.row_of.get_mut(member)?;
        if *slot == NONE && self.rows.len() < ROWS {
            *slot = u8::try_from(self.rows.len()).unwrap_or(HIDDEN);
            self.rows.push(Row {
                member,
                impacts: 0,
                bins: vec![Bin::default(); BINS],
            });
        } else if *slot == NONE {
            *slot = HIDDEN;
            self.hidden += 1;
        }
        let row = usize::from(*slot);
        (row < self.rows.len()).then_some(row)
    }

    /// The bin at time `t`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn bin(&self, t: f64) -> usize {
        let k = (t - self.time.0) / self.width;
        (k.max(0.0) as usize).min(BINS - 1)
    }

    /// Adds the time from `from` to `to` \[s\] in a state to the bins of a member.
    fn fill(&mut self, member: usize, state: ContactState, from: f64, to: f64) {
        let Some(state) = STATES.iter().position(|s| *s == state) else {
            return;
        };
        let Some(row) = self.row(member) else {
            return;
        };
        let (first, last) = (self.bin(from), self.bin(to));
        for k in first..=last {
            let begin = self.time.0 + k as f64 * self.width;
            let begin = if k == first { from } else { begin };
            let end = self.time.0 + (k + 1) as f64 * self.width;
            let end = if k == last { to } else { end };
            self.rows[row].bins[k].time[state] += (end - begin).max(0.0);
        }
    }

    /// Doubles the width of the bins until `t` \[s\] is in one.
    #[inline]
    fn make_room(&mut self, t: f64) {
        // The last bin of a run may end an ulp early.
        while t - self.time.0 > BINS as f64 * self.width * (1.0 + 1e-9) {
            self.fold();
        }
    }

    #[cold]
    fn fold(&mut self) {
        self.width *= 2.0;
        for row in &mut self.rows {
            for k in 0..BINS / 2 {
                let (a, b) = (row.bins[2 * k], row.bins[2 * k + 1]);
                row.bins[k] = Bin {
                    time: [0, 1, 2].map(|s| a.time[s] + b.time[s]),
                    impact: a.impact || b.impact,
                };
            }
            row.bins[BINS / 2..].fill(Bin::default());
        }
    }

    /// What goes on in another process.
    pub(crate) fn save(&self) -> SavedTimeline {
        let row = |row: &Row| {
            let mut bins = Vec::new();
            for (k, bin) in row.bins.iter().enumerate() {
                if bin.impact || bin.time != [0.0; 3] {
                    bins.extend([k as f64, f64::from(u8::from(bin.impact))]);
                    bins.extend(bin.time);
                }
            }
            SavedRow {
                member: row.member,
                impacts: row.impacts,
                bins,
            }
        };
        SavedTimeline {
            time: self.time,
            width: self.width,
            row_of: self.row_of.clone(),
            hidden: self.hidden,
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// Takes up what [`save`](Self::save) gave, after `begin`.
    pub(crate) fn load(&mut self, saved: SavedTimeline) {
        if saved.row_of.len() != self.names.len() {
            return;
        }
        (self.time, self.width) = (saved.time, saved.width);
        (self.row_of, self.hidden) = (saved.row_of, saved.hidden);
        let row = |saved: SavedRow| {
            let mut bins = vec![Bin::default(); BINS];
            for bin in saved.bins.as_chunks::<5>().0 {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                if let Some(place) = bins.get_mut(bin[0] as usize) {
                    place.impact = bin[1] > 0.0;
                    place.time = [bin[2], bin[3], bin[4]];
                }
            }
            Row {
                member: saved.member,
                impacts: saved.impacts,
                bins,
            }
        };
        self.rows = saved.rows.into_iter().map(row).collect();
    }

    /// The bars with their legend, where there are named contacts or joints with friction.
    pub(crate) fn section(&self) -> Option<Section> {
        let duration = self.time.1 - self.time.0;
        if self.names.is_empty() || duration <= 0.0 || duration.is_nan() {
            return None;
        }
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.member);
        let contacts = &self.row_of[..self.contacts];
        let open = contacts.iter().filter(|slot| **slot == NONE).count();
        let mut notes = Vec::new();
        if self.hidden > 0 {
            let of = count((rows.len() + self.hidden) as u64);
            notes.push(format!("Of {of} that closed the first {ROWS} are shown."));
        }
        if open > 0 {
            notes.push(match open {
                1 => "One contact stayed open.".to_owned(),
                n => format!("{} contacts stayed open.", count(n as u64)),
            });
        }
        let figures = (!rows.is_empty()).then(|| self.figure(&rows));
        Some(Section {
            heading: if self.contacts == 0 {
                "Joints over time"
            } else if self.names.len() > self.contacts {
                "Contacts and joints over time"
            } else {
                "Contacts over time"
            },
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            figures: figures.into_iter().collect(),
        })
    }

    fn figure(&self, rows: &[&Row]) -> Figure {
        let mut drawing = format!(
            "<div class=\"timeline\" data-t=\"{} {}\">",
            self.time.0, self.time.1
        );
        for row in rows {
            let words = self.words(row);
            let name = escape(&self.names[row.member]);
            // Writing to a string does not fail.
            let _ = write!(
                drawing,
                "<p><b>{name}</b> <small>{words}</small></p>\
                 <div class=\"area\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {words}\">{}</svg></div>",
                self.bar(row)
            );
        }
        drawing.push_str(&scale(self.time));
        drawing.push_str("</div>");
        Figure {
            heading: String::new(),
            legend: self.legend(rows),
            drawing,
        }
    }

    /// Class and name of everything that occurs in the rows.
    fn legend(&self, rows: &[&Row]) -> Vec<(String, String)> {
        let times: Vec<_> = rows.iter().map(|row| self.times(row)).collect();
        let mut legend: Vec<&str> = (0..4)
            .filter(|&s| times.iter().any(|times| times[s].1 > 0.0))
            .filter_map(|s| Some(times.first()?[s].0))
            .collect();
        if rows.iter().any(|row| row.impacts > 0) {
            legend.push("impact");
        }
        let item = |name: &str| (format!("state {name}"), name.to_owned());
        legend.into_iter().map(item).collect()
    }

    /// How long the contact was in each state, in words.
    fn words(&self, row: &Row) -> String {
        let mut words: Vec<String> = self
            .times(row)
            .iter()
            .filter(|(_, time)| *time > 0.0)
            .map(|(name, time)| format!("{name}\u{a0}{}\u{a0}s", significant(*time, 3)))
            .collect();
        if row.impacts > 0 {
            words.push(counted(row.impacts, "impact"));
        }
        words.join(", ")
    }

    /// How long the contact was in each state \[s\].
    fn times(&self, row: &Row) -> [(&'static str, f64); 4] {
        let duration = self.time.1 - self.time.0;
        let time = |s: usize| row.bins.iter().map(|bin| bin.time[s]).sum::<f64>();
        let closed = [0, 1, 2].map(|s| (STATES[s].name(), time(s)));
        let open = closed.iter().fold(duration, |open, (_, time)| open - time);
        // What rounding leaves is no time.
        let open = if open > 1e-9 * duration { open } else { 0.0 };
        let [stick, slip, closed] = closed;
        [(ContactState::Open.name(), open), closed, stick, slip]
    }

    /// The bar of a row: an open bar, the other states upon it, ticks above.
    fn bar(&self, row: &Row) -> String {
        let mut svg = format!(
            "<path class=\"open\" d=\"M0 {}H{WIDTH}V{HEIGHT}H0z\"/>",
            HEIGHT - BAR
        );
        for (s, state) in STATES.iter().enumerate() {
            let path = self.area(row, s);
            if !path.is_empty() {
                let _ = write!(svg, "<path class=\"{}\" d=\"{path}\"/>", state.name());
            }
        }
        let mut ticks = String::new();
        for (k, _) in row.bins.iter().enumerate().filter(|(_, bin)| bin.impact) {
            let _ = write!(
                ticks,
                "M{:.1} 0V{}",
                self.across(k as f64 + 0.5),
                HEIGHT / 2
            );
        }
        if !ticks.is_empty() {
            let _ = write!(svg, "<path class=\"impact\" d=\"{ticks}\"/>");
        }
        svg
    }

    /// Where the edge between bins `k - 1` and `k` is drawn.
    fn across(&self, k: f64) -> f64 {
        (WIDTH * k * self.width / (self.time.1 - self.time.0)).min(WIDTH)
    }

    /// The outline of state `s`: rectangles, one for all neighbouring bins of the same share.
    fn area(&self, row: &Row, s: usize) -> String {
        let mut path = String::new();
        let mut begun: Option<(usize, (u32, u32))> = None;
        for k in 0..=BINS {
            let levels = row.bins.get(k).map_or((0, 0), |bin| self.levels(k, bin, s));
            if let Some((first, (low, high))) = begun
                && (low, high) != levels
            {
                let (left, right) = (self.across(first as f64), self.across(k as f64));
                let _ = write!(
                    path,
                    "M{left:.1} {}H{right:.1}V{}H{left:.1}z",
                    HEIGHT - high,
                    HEIGHT - low
                );
                begun = None;
            }
            if begun.is_none() && levels.1 > levels.0 {
                begun = Some((k, levels));
            }
        }
        path
    }

    /// Lower and upper edge of state `s` in a bin, from the foot of the bar.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn levels(&self, k: usize, bin: &Bin, s: usize) -> (u32, u32) {
        let begin = self.time.0 + k as f64 * self.width;
        let width = self.width.min(self.time.1 - begin);
        let level = |time: f64| {
            let share = (time / width).min(1.0);
            // Whatever there is can be seen.
            (f64::from(BAR) * share).round().max(1.0) as u32
        };
        let below: f64 = bin.time[..s].iter().sum();
        if bin.time[s] == 0.0 {
            return (0, 0);
        }
        let low = if below > 0.0 { level(below) } else { 0 };
        (low, level(below + bin.time[s]).max(low + 1).min(BAR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saltus_integrators::{
        Certificate, Energy, Guarantees, Memory, Plan, Reactions, StepReport,
    };
    use saltus_system::{ContactLaw, ContactSet, Names, State};

    /// The timeline of a run with steps of `h` in which the contacts that `closed` tells carry an impulse.
    fn run(
        plan: Plan,
        contacts: usize,
        steps: u64,
        closed: impl Fn(u64, usize) -> bool,
    ) -> Timeline {
        let names = Names {
            contacts: (0..contacts).map(|i| format!("c{i}")).collect(),
            ..Names::default()
        };
        let info = RunInfo {
            scheme: "test",
            names: &names,
            plan,
            guarantees: Guarantees::default(),
            has_forces: false,
            tangents: &[],
            joint_tangents: &[],
            chooses_step: false,
            stable_step: None,
            forced_step: None,
            resolved_options: &[],
            velocity_lags: false,
        };
        let mut set = ContactSet::default();
        for i in 0..contacts {
            set.push(ContactId(i as u64), ContactLaw::frictionless(0.5), 0.0);
        }
        let report = StepReport {
            h: plan.step,
            iterations: 0,
            active: 0,
            redundant: 0,
            remedies: 0,
            rejected: 0,
            energy: Energy::default(),
            energy_lag: 0.0,
            work_external: 0.0,
            work_contact: 0.0,
            certificate: Certificate::EMPTY,
        };
        let mut timeline = Timeline::default();
        for k in 0..=steps {
            let state = State::new(k as f64 * plan.step, vec![0.0], vec![0.0]);
            let impulse: Vec<f64> = (0..contacts)
                .map(|i| f64::from(u8::from(closed(k, i))))
                .collect();
            let frame = Frame {
                step: k,
                state: &state,
                report: &report,
                reactions: Reactions {
                    impulse: &impulse,
                    ..Reactions::of(&set)
                },
                events: &[],
                counts: saltus_integrators::Counts::default(),
                memory: Memory::NONE,
            };
            if k == 0 {
                timeline.begin(&info, &frame);
            } else {
                timeline.take(&frame, &[]);
            }
        }
        timeline
    }

    #[test]
    fn steps_of_one_state_are_one_rectangle() {
        // Closed in the second and third of eight steps of half a second.
        let timeline = run(Plan::new(0.0, 0.5, 4.0), 1, 8, |k, _| k == 2 || k == 3);
        let row = &timeline.rows[0];
        assert_eq!(timeline.area(row, 2), "M125.0 4H375.0V16H125.0z");
        assert_eq!(timeline.area(row, 0), "");
        assert_eq!(
            timeline.words(row),
            "open\u{a0}3\u{a0}s, closed\u{a0}1\u{a0}s"
        );
    }

    #[test]
    fn a_long_run_keeps_the_time_in_each_state() {
        // The plan is far longer than the run: bins begin at a step and double.
        let timeline = run(Plan::new(0.0, 0.25, 1e9), 1, 10_000, |k, _| k % 4 != 0);
        assert_eq!(timeline.width, 0.25 * 16.0);
        let row = &timeline.rows[0];
        let closed: f64 = row.bins.iter().map(|bin| bin.time[2]).sum();
        assert_eq!(closed, 1875.0);
        // Three quarters of the bar, all along.
        assert_eq!(timeline.area(row, 2), "M0.0 7H1000.0V16H0.0z");
    }

    #[test]
    fn the_first_contacts_that_close_are_shown() {
        let timeline = run(Plan::new(0.0, 1.0, 50.0), 40, 50, |k, i| {
            i >= 5 && k as usize > 40 - i
        });
        assert_eq!((timeline.rows.len(), timeline.hidden), (ROWS, 11));
        let section = timeline.section();
        let note = section.as_ref().and_then(|s| s.note.as_deref());
        assert_eq!(
            note,
            Some("Of 35 that closed the first 24 are shown. 5 contacts stayed open.")
        );
        // Contact 39 closes first; rows stand in the order of the contacts.
        let drawing = &section.as_ref().map_or("", |s| &s.figures[0].drawing);
        assert!(!drawing.contains("<b>c5</b>") && drawing.contains("<b>c39</b>"));
        assert!(drawing.find("<b>c20</b>") < drawing.find("<b>c39</b>"));
        assert!(
            run(Plan::new(0.0, 1.0, 2.0), 0, 2, |_, _| false)
                .section()
                .is_none()
        );
    }
}
