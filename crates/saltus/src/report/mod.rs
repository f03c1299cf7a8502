//! The report of a run: one self-contained HTML page that opens offline and prints on A4.
//!
//! It is written from curves of bounded size (module `series`), gathered while the run goes on. Nothing is loaded: its style
//! and the script that zooms are in it, and without the script everything can be read.

mod books;
mod chart;
mod diagram;
mod number;
mod page;
mod plot;
mod series;
mod tables;
mod timeline;
mod words;

use crate::columns::{Column, Quantity};
use crate::observe::Outcome;
use crate::output::RunCard;
pub use diagram::Diagram;
use plot::Plot;
use saltus_integrators::{EventKind, Frame, RunInfo, Stop};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};
use series::Curve;
use timeline::{SavedTimeline, Timeline};

/// Coordinates and constraints that are drawn; of a larger system, the first.
const SHOWN: usize = 8;
/// Curves in one diagram at most.
const TOGETHER: usize = 4;
/// Values below this fraction of the largest of their kind are round-off.
const ROUND_OFF: f64 = 1e-12;
/// Names in a note at most.
const NAMED: usize = 8;

/// Gathers what a report shows of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    traces: Vec<Trace>,
    /// Columns of each quantity, drawn or not.
    totals: Vec<(Quantity, usize)>,
    /// First and last time \[s\].
    time: (f64, f64),
    contacts: Timeline,
    /// Energy that impacts took \[J\].
    lost: Option<Curve>,
    /// The last step had an impact.
    struck: bool,
}

/// The curves of a run that goes on: of the columns, then of the energy that impacts took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedReport {
    curves: Vec<Curve>,
    time: (f64, f64),
    contacts: SavedTimeline,
    #[serde(default)]
    struck: bool,
}

/// A column that is drawn.
#[derive(Debug, Clone)]
struct Trace {
    index: usize,
    column: Column,
    mark: Mark,
    /// It belongs to a bilateral constraint.
    bilateral: bool,
    curve: Curve,
}

/// How a column is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    /// A line.
    Line,
    /// A line that jumps where a contact closes.
    Jumping,
    /// A value that holds over the step that ends at the time of its row: a force, a count.
    Steps,
    /// A line from zero for what does not last: an impulse.
    Stems,
}

/// A group of diagrams under one heading.
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    /// HTML.
    pub(crate) note: Option<String>,
    pub(crate) figures: Vec<Figure>,
}

/// A diagram with its legend.
pub(crate) struct Figure {
    /// What is drawn, with its unit; empty where the legend says it.
    pub(crate) heading: String,
    /// Class of the sign in the style sheet, and name.
    pub(crate) legend: Vec<(String, String)>,
    /// HTML.
    pub(crate) drawing: String,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Begins with the first frame, whose row is `first`.
    pub(crate) fn begin(
        &mut self,
        info: &RunInfo<'_>,
        frame: &Frame<'_>,
        columns: &[Column],
        first: &[f64],
    ) {
        *self = Self::default();
        self.contacts.begin(info, frame);
        // Of the constraints, the bilateral ones come first.
        let bilateral = info.names.bilateral.len();
        for (index, column) in columns.iter().enumerate() {
            let quantity = column.quantity();
            let seen = match self.totals.iter_mut().find(|(q, _)| *q == quantity) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    self.totals.push((quantity, 1));
                    1
                }
            };
            let of_bilateral = matches!(
                quantity,
                Quantity::Gap | Quantity::Impulse | Quantity::Force
            ) && seen <= bilateral;
            let mark = match quantity {
                Quantity::Time | Quantity::GapVelocity | Quantity::State | Quantity::Other => {
                    continue;
                }
                Quantity::Velocity
                | Quantity::Slip
                | Quantity::KineticEnergy
                | Quantity::TotalEnergy
                | Quantity::Derived => Mark::Jumping,
                Quantity::Force | Quantity::Iterations => Mark::Steps,
                Quantity::Impulse | Quantity::TangentialImpulse => Mark::Stems,
                _ => Mark::Line,
            };
            if seen <= SHOWN {
                self.traces.push(Trace {
                    index,
                    column: column.clone(),
                    mark,
                    bilateral: of_bilateral,
                    curve: Curve::new(),
                });
            }
        }
        let t = first.first().copied().unwrap_or(0.0);
        self.time = (t, t);
        let at_once = |mark| matches!(mark, Mark::Line | Mark::Jumping);
        for trace in self.traces.iter_mut().filter(|t| at_once(t.mark)) {
            trace.curve.push(t, first[trace.index]);
        }
    }

    /// Takes a frame and its row; `impact` says whether a contact closed in it, `impacts` which and when.
    #[inline]
    pub(crate) fn push(
        &mut self,
        frame: &Frame<'_>,
        row: &[f64],
        impact: bool,
        impacts: &[(ContactId, f64)],
    ) {
        self.contacts.take(frame, impacts);
        let (before, t) = (self.time.1, row[0]);
        self.time.1 = t;
        for trace in &mut self.traces {
            let y = row[trace.index];
            match trace.mark {
                // What holds for the one step of an impact stays visible.
                Mark::Steps if impact || self.struck => {
                    trace.curve.jump(before, y);
                    trace.curve.push(t, y);
                }
                Mark::Steps => {
                    trace.curve.push(before, y);
                    trace.curve.push(t, y);
                }
                Mark::Stems if impact && y != 0.0 => trace.curve.pulse(t, y),
                Mark::Jumping if impact => trace.curve.jump(t, y),
                _ => trace.curve.push(t, y),
            }
        }
        self.struck = impact;
        if !impacts.is_empty() {
            self.take_losses(frame);
        }
    }

    /// Takes what the impacts of a step lost.
    #[cold]
    fn take_losses(&mut self, frame: &Frame<'_>) {
        let lost = self.lost.get_or_insert_with(Curve::new);
        for event in frame.events.iter().filter(|e| e.kind == EventKind::Impact) {
            lost.pulse(event.t, event.energy_lost);
        }
    }

    /// What goes on in another process.
    pub(crate) fn save(&self) -> SavedReport {
        SavedReport {
            curves: {
                let curves = self.traces.iter().map(|t| &t.curve);
                curves.chain(&self.lost).cloned().collect()
            },
            time: self.time,
            contacts: self.contacts.save(),
            struck: self.struck,
        }
    }

    /// Takes up what [`save`](Self::save) gave, after `begin`.
    pub(crate) fn load(&mut self, saved: SavedReport) {
        let count = self.traces.len();
        for (k, curve) in saved.curves.into_iter().enumerate() {
            match self.traces.get_mut(k) {
                Some(trace) => trace.curve = curve,
                None if k == count => self.lost = Some(curve),
                None => (),
            }
        }
        (self.time, self.struck) = (saved.time, saved.struck);
        self.contacts.load(saved.contacts);
    }

    /// The page; `files` are the names of the files written with it.
    pub(crate) fn html(&self, card: &RunCard, outcome: &Outcome, files: &[String]) -> String {
        page::page(card, outcome, files, &self.sections(outcome))
    }

    fn sections(&self, outcome: &Outcome) -> Vec<Section> {
        let section = |heading, label, quantities: &[Quantity]| {
            self.section(heading, label, quantities, outcome)
        };
        let mut sections = vec![
            section("Quantities", "value", &[Quantity::Derived]),
            section("Positions", "position", &[Quantity::Position]),
            section("Velocities", "velocity", &[Quantity::Velocity]),
            section("Gaps", "gap", &[Quantity::Gap]),
        ];
        sections.extend(self.contacts.section());
        sections.extend([
            section("Slip", "slip velocity", &[Quantity::Slip]),
            section("Stresses", "stress", &[Quantity::Stress]),
            section("Strains", "strain", &[Quantity::Strain]),
            section("Forces of supports", "force", &[Quantity::Reaction]),
            section("Impulses per step", "impulse", &[Quantity::Impulse]),
            section(
                "Tangential impulses per step",
                "impulse",
                &[Quantity::TangentialImpulse],
            ),
            section("Non-impulsive forces", "force", &[Quantity::Force]),
        ]);
        let mut energy = section(
            "Energy",
            "energy",
            &[
                Quantity::KineticEnergy,
                Quantity::PotentialEnergy,
                Quantity::TotalEnergy,
            ],
        );
        energy.figures.extend(self.losses(outcome));
        energy.figures.push(books::figure(outcome));
        sections.push(energy);
        sections.push(section(
            "Newton corrections per step",
            "corrections",
            &[Quantity::Iterations],
        ));
        sections.retain(|s| !s.figures.is_empty() || s.note.is_some());
        sections
    }

    fn section(
        &self,
        heading: &'static str,
        label: &str,
        quantities: &[Quantity],
        outcome: &Outcome,
    ) -> Section {
        let all: Vec<&Trace> = self
            .traces
            .iter()
            .filter(|t| quantities.contains(&t.column.quantity()))
            .collect();
        let full: Vec<&Trace> = all
            .iter()
            .copied()
            .filter(|t| t.curve.range().is_some())
            .collect();
        let floor = ROUND_OFF * self.largest(quantities);
        let (drawn, still): (Vec<&Trace>, Vec<&Trace>) =
            full.iter().partition(|t| largest(&t.curve) > floor);
        let mut notes = Vec::new();
        match quantities {
            [Quantity::Iterations] if drawn.is_empty() && !full.is_empty() => {
                notes.push("Every step was accepted at its first check.".to_owned());
            }
            [Quantity::Impulse] if drawn.is_empty() && !full.is_empty() => {
                notes.push("No constraint carried an impulse.".to_owned());
            }
            _ => notes.extend(not_drawn(&still, outcome)),
        }
        let total: usize = self
            .totals
            .iter()
            .filter(|(q, _)| quantities.contains(q))
            .map(|(_, n)| n)
            .sum();
        if total > all.len() && !full.is_empty() {
            notes.push(format!(
                "The first {} of {total} are shown; the other {} are in the trajectory file.",
                all.len(),
                total - all.len()
            ));
        }
        if quantities == [Quantity::Position] && drawn.iter().any(|t| t.column.unit().is_empty()) {
            notes.push(
                "Where an axis has no unit the model gives none; <code>units</code> in its <code>[output]</code> does."
                    .to_owned(),
            );
        }
        Section {
            heading,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            figures: group(&drawn)
                .into_iter()
                .map(|traces| self.figure(label, &traces))
                .collect(),
        }
    }

    /// The largest value of a kind; gaps are lengths like positions, in which they may be round-off.
    fn largest(&self, quantities: &[Quantity]) -> f64 {
        let of_kind = |t: &&Trace| {
            let quantity = t.column.quantity();
            quantities.contains(&quantity)
                || quantities.contains(&Quantity::Gap) && quantity == Quantity::Position
        };
        let traces = self.traces.iter().filter(of_kind);
        traces.map(|t| largest(&t.curve)).fold(0.0, f64::max)
    }

    /// The energy that impacts took, where there were any.
    fn losses(&self, outcome: &Outcome) -> Option<Figure> {
        let curve = self.lost.as_ref()?;
        let energy = &outcome.energy;
        let size = energy.initial.total().abs().max(energy.last.total().abs());
        if largest(curve) <= ROUND_OFF * size {
            return None;
        }
        let name = "energy that each impact took";
        let plot = Plot {
            description: format!("{name}, over time"),
            label: "energy lost".to_owned(),
            unit: "J".to_owned(),
            across: ("t", "s"),
            time: self.time,
            range: curve.range()?,
            stems: true,
            whole: false,
            curves: vec![curve.stems()],
        };
        Some(Figure {
            heading: plot.heading(),
            drawing: plot.html(),
            legend: vec![("c1".to_owned(), name.to_owned())],
        })
    }

    fn figure(&self, label: &str, traces: &[&Trace]) -> Figure {
        let names: Vec<String> = traces.iter().map(|t| name(&t.column)).collect();
        let range = union(traces.iter().filter_map(|t| t.curve.range()));
        let unit = traces.first().map(|t| t.column.unit().to_owned());
        let unit = unit.filter(|unit| unit != "1").unwrap_or_default();
        let stems = traces.iter().all(|t| t.mark == Mark::Stems);
        let plot = Plot {
            description: format!("{label} of {} over time", names.join(", ")),
            label: label.to_owned(),
            unit,
            across: ("t", "s"),
            time: self.time,
            range,
            stems,
            whole: traces
                .iter()
                .all(|t| t.column.quantity() == Quantity::Iterations),
            curves: traces
                .iter()
                .map(|t| match stems {
                    true => t.curve.pulses(),
                    false => t.curve.lines(),
                })
                .collect(),
        };
        let legend = names.into_iter().zip(1..);
        Figure {
            heading: plot.heading(),
            drawing: plot.html(),
            legend: legend.map(|(name, k)| (format!("c{k}"), name)).collect(),
        }
    }
}

/// What a curve is called beside its diagram.
fn name(column: &Column) -> String {
    match column.quantity() {
        Quantity::Position | Quantity::Velocity | Quantity::Iterations => {
            column.name().replace('_', " ")
        }
        _ => column.label().to_owned(),
    }
}

/// The largest absolute value of a curve.
fn largest(curve: &Curve) -> f64 {
    let range = curve.range();
    range.map_or(0.0, |(low, high)| low.abs().max(high.abs()))
}

/// Says which curves are not drawn because there is nothing to see.
fn not_drawn(still: &[&Trace], outcome: &Outcome) -> Vec<String> {
    let (zero, noise): (Vec<&Trace>, Vec<&Trace>) =
        still.iter().partition(|t| largest(&t.curve) == 0.0);
    let sentence = |list: &[&Trace], what: &str| {
        let mut names: Vec<String> = list
            .iter()
            .take(NAMED)
            .map(|t| page::escape(&name(&t.column)))
            .collect();
        if list.len() > NAMED {
            names.push("…".to_owned());
        }
        (!names.is_empty()).then(|| format!("{what}: {}.", names.join(", ")))
    };
    let zero = sentence(&zero, "Zero throughout");
    // What diverges dwarfs values that are anything but zero.
    let word = match outcome.stop {
        Stop::StepFailed { .. } => "Too small beside the others to be seen",
        _ => "Zero but for round-off",
    };
    let noise = sentence(&noise, word);
    zero.into_iter().chain(noise).collect()
}

/// Puts curves of one kind and of similar height together, at most [`TOGETHER`] in a diagram.
fn group<'a>(traces: &[&'a Trace]) -> Vec<Vec<&'a Trace>> {
    let mut groups: Vec<Vec<&Trace>> = Vec::new();
    for trace in traces {
        let fits = |group: &Vec<&Trace>| {
            let ranges = || group.iter().chain([trace]).filter_map(|t| t.curve.range());
            let (low, high) = union(ranges());
            // Every curve that moves takes up an eighth of the height at least.
            let smallest = ranges()
                .map(|(l, h)| h - l)
                .filter(|d| *d > 0.0)
                .fold(f64::INFINITY, f64::min);
            let alike = |t: &&Trace| {
                t.bilateral == trace.bilateral && t.column.unit() == trace.column.unit()
            };
            group.iter().all(alike) && group.len() < TOGETHER && high - low <= 8.0 * smallest
        };
        let energy = matches!(
            trace.column.quantity(),
            Quantity::PotentialEnergy | Quantity::TotalEnergy
        );
        match groups.iter_mut().find(|g| energy || fits(g)) {
            Some(group) => group.push(trace),
            None => groups.push(vec![trace]),
        }
    }
    groups
}

fn union(ranges: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    ranges
        .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
        .unwrap_or((0.0, 0.0))
}
