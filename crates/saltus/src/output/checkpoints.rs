//! Checkpoints on disk: a state to go on from, and the books of the result that goes on with it.
//!
//! A run of a result directory writes `checkpoint.json` at its end, and every so often where that is asked for. It holds the
//! state and the memory of the scheme, and what the result consists of at that moment: bytes of `trajectory.csv` and
//! `events.csv`, counts, certificate, energies. A run that goes on cuts the files there and appends. Without `trajectory.csv` it
//! holds the state alone, from which another result can begin.

use crate::checkpoint::{Checkpoint, Identity, fingerprint};
use crate::observe::Audit;
use crate::output::lines::Clock;
use crate::output::vtk::Snapshot;
use crate::output::{OutputError, write_whole};
use crate::report::SavedReport;
use saltus_integrators::{Frame, Plan, RunInfo};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Its file in a result directory.
pub(crate) const CHECKPOINT: &str = "checkpoint.json";
/// Where a scheme chooses its steps, a state to go on from is put aside about this often.
const ASIDE: Duration = Duration::from_millis(500);

/// What is needed to go on with a result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resumption {
    /// Time between checkpoints while the run goes on; none but the one at its end where not given.
    pub every: Option<Duration>,
}

/// A checkpoint as it is in a file, with a checksum of all it says.
#[derive(Debug, Clone)]
pub struct SavedRun {
    /// The state.
    pub checkpoint: Checkpoint,
    /// The books of the result, in a checkpoint of a result directory.
    pub result: Option<SavedResult>,
    /// The state at the end of a run whose last step was made to end there: a longer run goes on from the state before it, a result of
    /// its own begins here.
    pub end: Option<Checkpoint>,
}

/// The books of a result at the time of a checkpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedResult {
    /// What was asked for, in the terms of the program that runs.
    pub request: Value,
    /// Names of the formats of the trajectory.
    pub formats: Vec<String>,
    /// Every so many rows are written.
    pub every: u64,
    /// What the contacts at the start of the run decided about its columns.
    pub(super) shape: Shape,
    /// Steps taken.
    pub(super) steps: u64,
    /// Bytes of the table of rows.
    pub(super) rows: u64,
    /// Bytes of the table of events, where there is one.
    pub(super) events: Option<u64>,
    /// The last row, where it is not in the table.
    pub(super) pending: Option<Row>,
    /// The last frame, where it is not drawn.
    pub(super) frame: Option<Snapshot>,
    /// Counts, certificate, energies.
    pub(super) audit: Audit,
    /// Curves of the report, where there is one.
    pub(super) report: Option<SavedReport>,
}

/// What a run knows of its reactions when it begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Shape {
    has_forces: bool,
    tangents: Vec<u8>,
    joint_tangents: Vec<u8>,
}

impl Shape {
    pub(super) fn of(info: &RunInfo<'_>) -> Self {
        Self {
            has_forces: info.has_forces,
            tangents: info.tangents.to_vec(),
            joint_tangents: info.joint_tangents.to_vec(),
        }
    }

    /// The same run with the reactions of this one.
    pub(super) fn of_run<'a>(&'a self, info: &RunInfo<'a>) -> RunInfo<'a> {
        RunInfo {
            has_forces: self.has_forces,
            tangents: &self.tangents,
            joint_tangents: &self.joint_tangents,
            ..*info
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Row(#[serde(with = "crate::exact::list")] pub Vec<f64>);

impl SavedResult {
    /// Whether it has a report.
    #[must_use]
    pub fn has_report(&self) -> bool {
        self.report.is_some()
    }
}

impl SavedRun {
    /// A state alone.
    #[must_use]
    pub fn of(checkpoint: Checkpoint) -> Self {
        Self {
            checkpoint,
            result: None,
            end: None,
        }
    }

    /// The last state that the run reached, for a result of its own.
    #[must_use]
    pub fn last(&self) -> &Checkpoint {
        self.end.as_ref().unwrap_or(&self.checkpoint)
    }

    /// The checkpoint of the result in `directory`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_in(directory: &Path) -> Result<Self, OutputError> {
        Self::read(&directory.join(CHECKPOINT))
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// Where the file cannot be read, is cut off or changed, or is of another version.
    pub fn read(path: &Path) -> Result<Self, OutputError> {
        let text = fs::read_to_string(path).map_err(OutputError::io("read", path))?;
        let damaged = |reason: String| OutputError::Damaged {
            path: path.to_owned(),
            reason,
        };
        let content: Value = serde_json::from_str(&text)
            .map_err(|e| damaged(format!("it cannot be read to its end ({e})")))?;
        let Value::Object(mut content) = content else {
            return Err(damaged("it is no checkpoint".to_owned()));
        };
        let format = content.get("format").and_then(Value::as_u64);
        if format != Some(u64::from(Checkpoint::FORMAT)) {
            return Err(OutputError::Version {
                path: path.to_owned(),
                found: format.map_or("no format".to_owned(), |v| format!("format {v}")),
                expected: Checkpoint::FORMAT,
            });
        }
        let expected = content.shift_remove("checksum");
        if expected.as_ref().and_then(Value::as_str) != Some(&checksum(&content)) {
            return Err(damaged(
                "its checksum is not that of its content".to_owned(),
            ));
        }
        let result = content.shift_remove("result");
        let end = content.shift_remove("end");
        let unfit = |e: serde_json::Error| damaged(format!("its content does not fit ({e})"));
        Ok(Self {
            checkpoint: serde_json::from_value(Value::Object(content)).map_err(unfit)?,
            result: result
                .map(serde_json::from_value)
                .transpose()
                .map_err(unfit)?,
            end: end.map(serde_json::from_value).transpose().map_err(unfit)?,
        })
    }

    /// Writes a checkpoint; a file that is there is replaced when the new one is complete.
    ///
    /// # Errors
    /// Where the file system refuses.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        let encode = |e: serde_json::Error| OutputError::encode(path, e);
        let mut content = match serde_json::to_value(&self.checkpoint).map_err(encode)? {
            Value::Object(content) => content,
            _ => serde_json::Map::new(),
        };
        if let Some(result) = &self.result {
            let result = serde_json::to_value(result).map_err(encode)?;
            content.insert("result".to_owned(), result);
        }
        if let Some(end) = &self.end {
            let end = serde_json::to_value(end).map_err(encode)?;
            content.insert("end".to_owned(), end);
        }
        let sum = checksum(&content);
        content.insert("checksum".to_owned(), sum.into());
        let text = serde_json::to_string(&content).map_err(encode)? + "\n";
        write_whole(path, text.as_bytes())
    }
}

/// A number made of all that a checkpoint says.
fn checksum(content: &serde_json::Map<String, Value>) -> String {
    fingerprint(&serde_json::to_string(content).unwrap_or_default())
}

/// Keeps a state to go on from while a run goes on.
#[derive(Debug)]
pub(super) struct Keeper {
    identity: Identity,
    pub(super) request: Value,
    resumption: Resumption,
    scheme: &'static str,
    plan: Plan,
    chooses_step: bool,
    clock: Clock,
    /// Whether the last step was made to end where the run does.
    bound: bool,
    latest: Option<SavedRun>,
}

impl Keeper {
    pub(super) fn new(identity: Identity, request: Value, resumption: Resumption) -> Self {
        Self {
            identity,
            request,
            resumption,
            scheme: "",
            plan: Plan::new(0.0, 1.0, 0.0),
            chooses_step: false,
            clock: Clock::new(resumption.every.unwrap_or(ASIDE)),
            bound: false,
            latest: None,
        }
    }

    /// A run begins.
    pub(super) fn begin(&mut self, info: &RunInfo<'_>) {
        self.identity = self.identity.clone().of(info.names);
        self.scheme = info.scheme;
        self.plan = info.plan;
        self.chooses_step = info.chooses_step;
        self.clock = Clock::new(self.resumption.every.unwrap_or(ASIDE));
        self.bound = false;
        self.latest = None;
    }

    /// Whether the state of `frame`, as the run counts its steps, is one to put aside, and whether it is to be written.
    #[inline]
    pub(super) fn wants(&mut self, frame: &Frame<'_>) -> Option<bool> {
        let plan = &self.plan;
        let timed = self.chooses_step || self.resumption.every.is_some();
        // A step that was made to end with the run is none of a longer one.
        let last = if self.chooses_step {
            self.bound = frame.state.t - frame.report.h + plan.step >= plan.until;
            false
        } else {
            let steps = plan.steps();
            self.bound = frame.step >= steps;
            frame.step + 1 == steps
        };
        let due = timed && self.clock.is_due();
        let write = due && self.resumption.every.is_some();
        (!self.bound && (due || last)).then_some(write)
    }

    /// Whether the run cannot go on from its last state as a longer one would have.
    pub(super) fn is_bound(&self) -> bool {
        self.bound
    }

    /// Puts the state of a frame aside, with the books of that moment.
    pub(super) fn put(&mut self, frame: &Frame<'_>, closed: Vec<u64>, result: Option<SavedResult>) {
        let mut memory = Vec::new();
        frame.memory.save(&mut memory);
        let mut checkpoint = Checkpoint {
            format: Checkpoint::FORMAT,
            scheme: self.scheme.to_owned(),
            identity: self.identity.clone(),
            start: self.plan.start,
            step: self.plan.step,
            steps: frame.step,
            t: frame.state.t,
            q: frame.state.q.clone(),
            v: frame.state.v.clone(),
            memory,
            closed,
        };
        if self.chooses_step {
            checkpoint.begin_grid();
        }
        self.latest = Some(SavedRun {
            checkpoint,
            result,
            end: None,
        });
    }

    /// Hands over the last state that was put aside.
    pub(super) fn take_latest(&mut self) -> Option<SavedRun> {
        self.latest.take()
    }

    /// The last state that was put aside.
    pub(super) fn latest(&self) -> Option<&SavedRun> {
        self.latest.as_ref()
    }
}
