//! The report of a run: one self-contained HTML page that opens offline and prints on A4.
//!
//! It is written from curves of bounded size (module `series`), gathered while the run goes on. No script, no
//! font, no picture is loaded.

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
use saltus_integrators::{Frame, RunInfo};
use saltus_system::ContactId;
use serde::{Deserialize, Serialize};
use series::Curve;
use timeline::{SavedTimeline, Timeline};

/// Coordinates and constraints that are drawn; of a larger system, the first.
const SHOWN: usize = 8;
/// Curves in one diagram at most.
const TOGETHER: usize = 4;

/// Gathers what a report shows of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    traces: Vec<Trace>,
    /// Columns of each quantity, drawn or not.
    totals: Vec<(Quantity, usize)>,
    /// First and last time \[s\].
    time: (f64, f64),
    contacts: Timeline,
}

/// The curves of a run that goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedReport {
    curves: Vec<Curve>,
    time: (f64, f64),
    contacts: SavedTimeline,
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
    /// A value that holds over the step that ends at the time of its row: an impulse, a count.
    Steps,
}

/// A group of diagrams under one heading.
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    pub(crate) note: Option<String>,
    pub(crate) figures: Vec<Figure>,
}

/// A diagram with its legend.
pub(crate) struct Figure {
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
                Quantity::Time | Quantity::GapVelocity | Quantity::Other => continue,
                Quantity::Velocity | Quantity::KineticEnergy | Quantity::TotalEnergy => {
                    Mark::Jumping
                }
                Quantity::Impulse | Quantity::Force | Quantity::Iterations => Mark::Steps,
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
        for trace in self.traces.iter_mut().filter(|t| t.mark != Mark::Steps) {
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
                Mark::Steps => {
                    trace.curve.push(before, y);
                    trace.curve.push(t, y);
                }
                Mark::Jumping if impact => trace.curve.jump(t, y),
                _ => trace.curve.push(t, y),
            }
        }
    }

    /// What goes on in another process.
    pub(crate) fn save(&self) -> SavedReport {
        SavedReport {
            curves: self.traces.iter().map(|t| t.curve.clone()).collect(),
            time: self.time,
            contacts: self.contacts.save(),
        }
    }

    /// Takes up what [`save`](Self::save) gave, after `begin`.
    pub(crate) fn load(&mut self, saved: SavedReport) {
        for (trace, curve) in self.traces.iter_mut().zip(saved.curves) {
            trace.curve = curve;
        }
        self.time = saved.time;
        self.contacts.load(saved.contacts);
    }

    /// The page; `files` are the names of the files written with it.
    pub(crate) fn html(&self, card: &RunCard, outcome: &Outcome, files: &[String]) -> String {
        page::page(card, outcome, files, &self.sections())
    }

    fn sections(&self) -> Vec<Section> {
        let section =
            |heading, label, quantities: &[Quantity]| self.section(heading, label, quantities);
        let mut sections = vec![
            section("Positions", "position", &[Quantity::Position]),
            section("Velocities", "velocity", &[Quantity::Velocity]),
            section("Gaps", "gap", &[Quantity::Gap]),
            section("Impulses per step", "impulse", &[Quantity::Impulse]),
            section("Non-impulsive forces", "force", &[Quantity::Force]),
            section(
                "Energy",
                "energy",
                &[
                    Quantity::KineticEnergy,
                    Quantity::PotentialEnergy,
                    Quantity::TotalEnergy,
                ],
            ),
            section(
                "Newton corrections per step",
                "corrections",
                &[Quantity::Iterations],
            ),
        ];
        sections.extend(self.contacts.section());
        sections.retain(|s| !s.figures.is_empty() || s.note.is_some());
        sections
    }

    fn section(&self, heading: &'static str, label: &str, quantities: &[Quantity]) -> Section {
        let all: Vec<&Trace> = self
            .traces
            .iter()
            .filter(|t| quantities.contains(&t.column.quantity()))
            .collect();
        let drawn: Vec<&Trace> = all
            .iter()
            .copied()
            .filter(|t| t.curve.range().is_some())
            .collect();
        let zero = drawn.iter().all(|t| t.curve.range() == Some((0.0, 0.0)));
        match quantities {
            [Quantity::Iterations] if zero => {
                let note = "Every step was accepted at its first check.".to_owned();
                return Section {
                    heading,
                    note: Some(note),
                    figures: Vec::new(),
                };
            }
            [Quantity::Impulse] if zero && !drawn.is_empty() => {
                let note = "No constraint carried an impulse.".to_owned();
                return Section {
                    heading,
                    note: Some(note),
                    figures: Vec::new(),
                };
            }
            _ => (),
        }
        let figures = group(&drawn)
            .into_iter()
            .map(|traces| self.figure(label, &traces))
            .collect();
        let total: usize = self
            .totals
            .iter()
            .filter(|(q, _)| quantities.contains(q))
            .map(|(_, n)| n)
            .sum();
        let note = match total - all.len() {
            0 => None,
            hidden => Some(format!(
                "The first {} of {total} are shown; the other {hidden} are in the trajectory file.",
                all.len()
            )),
        };
        Section {
            heading,
            note: note.filter(|_| !drawn.is_empty()),
            figures,
        }
    }

    fn figure(&self, label: &str, traces: &[&Trace]) -> Figure {
        let names: Vec<String> = traces.iter().map(|t| name(&t.column)).collect();
        let range = union(traces.iter().filter_map(|t| t.curve.range()));
        let unit = traces.first().map_or("", |t| {
            if t.column.unit() == "1" {
                ""
            } else {
                t.column.unit()
            }
        });
        let plot = Plot {
            description: format!("{label} of {} over time", names.join(", ")),
            label: label.to_owned(),
            unit,
            across: ("t", "s"),
            time: self.time,
            range,
            curves: traces.iter().map(|t| t.curve.lines()).collect(),
        };
        let legend = names.into_iter().zip(1..);
        Figure {
            drawing: plot.svg(),
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
            group.iter().all(|t| t.bilateral == trace.bilateral)
                && group.len() < TOGETHER
                && high - low <= 8.0 * smallest
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
