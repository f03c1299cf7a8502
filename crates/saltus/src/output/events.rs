//! `events.csv`: what the scheme reports of contacts, one line per event in the order of time.
//!
//! | column | value |
//! | --- | --- |
//! | `t` | when \[s\] |
//! | `step` | number of the step in which it happened |
//! | `kind` | `impact`, `close`, `open`, `stick`, `slip`, `accumulation` |
//! | `contact` | name of the contact |
//! | `gap_velocity_before`, `gap_velocity_after` | normal relative velocity just before and after \[m/s\] |
//! | `impulse` | normal impulse \[N·s\] |
//! | `slip_before.1`, `slip_after.1`, `impulse_t.1` | likewise in the first tangential direction, where any contact has friction; `.2` in the second one, where any contact has two |
//! | `energy_lost` | energy that the contact took out of the motion \[J\] |
//! | `energy.kinetic`, `energy.potential`, `energy.total` | just after, where the scheme locates events inside a step, else at the end of the step \[J\] |
//!
//! The file appears with the first event, as `events.csv.partial` until the run ends: there is none where nothing happens.

use crate::output::OutputError;
use crate::output::lines::{Lines, push_number, push_text};
use saltus_integrators::{Event, Frame, RunInfo};
use std::io::Write as _;
use std::path::PathBuf;

/// Its file in a result directory.
pub(crate) const EVENTS: &str = "events.csv";

/// Writes events as they happen.
#[derive(Debug)]
pub(crate) struct EventWriter {
    lines: Lines,
    /// Names of the contacts of fixed identity.
    contacts: Vec<String>,
    /// Tangential directions of each of them, 0 without friction.
    tangents: Vec<u8>,
    /// Most of them.
    directions: usize,
    written: bool,
}

impl EventWriter {
    /// A writer to `path`.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            lines: Lines::new(path),
            contacts: Vec::new(),
            tangents: Vec::new(),
            directions: 0,
            written: false,
        }
    }

    /// Whether there was an event.
    pub(crate) fn has_written(&self) -> bool {
        self.written
    }

    /// Begins a run.
    pub(crate) fn open(&mut self, info: &RunInfo<'_>) {
        self.contacts.clone_from(&info.names.contacts);
        self.tangents = info.tangents.to_vec();
        let most = info.tangents.iter().copied().max().unwrap_or(0);
        self.directions = usize::from(most.min(2));
        self.written = false;
    }

    /// Goes on after `length` bytes, or before the first event.
    pub(crate) fn go_on(
        &mut self,
        info: &RunInfo<'_>,
        length: Option<u64>,
    ) -> Result<(), OutputError> {
        self.open(info);
        match length {
            Some(length) => {
                self.written = true;
                self.lines.go_on(length)
            }
            None => Ok(()),
        }
    }

    /// The file and its lines.
    pub(crate) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Writes the events of a step.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Frame<'_>) -> Result<(), OutputError> {
        for event in frame.events {
            self.write(frame, event)?;
        }
        Ok(())
    }

    /// Completes the file.
    pub(crate) fn close(&mut self) -> Result<(), OutputError> {
        self.lines.close()
    }

    #[cold]
    fn write(&mut self, frame: &Frame<'_>, event: &Event) -> Result<(), OutputError> {
        if !self.lines.is_open() {
            let columns = columns(self.directions);
            let names = columns.iter().map(String::as_str);
            self.lines.create(names, 32 * columns.len())?;
            self.written = true;
        }
        let id = usize::try_from(event.contact.0).ok();
        let tangents = id.and_then(|i| self.tangents.get(i)).copied();
        let text = self.lines.text();
        push_number(text, event.t);
        // Writing to memory does not fail.
        let _ = write!(text, ",{},{},", frame.step, event.kind.name());
        match id.and_then(|i| self.contacts.get(i)) {
            Some(name) => push_text(text, name),
            None => drop(write!(text, "contact{}", event.contact.0)),
        }
        text.push(b',');
        let mut cell = |value: f64| {
            push_number(text, value);
            text.push(b',');
        };
        for direction in 0..=self.directions {
            let known = direction <= usize::from(tangents.unwrap_or(0));
            for list in [
                &event.velocity_before,
                &event.velocity_after,
                &event.impulse,
            ] {
                cell(if known { list[direction] } else { f64::NAN });
            }
        }
        let energy = event.energy.unwrap_or(frame.report.energy);
        cell(event.energy_lost);
        cell(energy.kinetic);
        cell(energy.potential);
        cell(energy.total());
        self.lines.end_line()
    }
}

/// The names of the columns, with this many tangential directions.
fn columns(directions: usize) -> Vec<String> {
    let normal = [
        "t",
        "step",
        "kind",
        "contact",
        "gap_velocity_before",
        "gap_velocity_after",
        "impulse",
    ];
    let mut columns: Vec<String> = normal.map(str::to_owned).into();
    for k in 1..=directions {
        columns.extend(["slip_before", "slip_after", "impulse_t"].map(|p| format!("{p}.{k}")));
    }
    let energies = [
        "energy_lost",
        "energy.kinetic",
        "energy.potential",
        "energy.total",
    ];
    columns.extend(energies.map(str::to_owned));
    columns
}
