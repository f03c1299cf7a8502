//! The writer of a result: fills its directory while a run goes on and completes it at the end.

use crate::checkpoint::Checkpoint;
use crate::observe::{Audit, Outcome};
use crate::output::checkpoints::{CHECKPOINT, Keeper, Row, Shape};
use crate::output::directory::result_files;
use crate::output::events::{EVENTS, EventWriter};
use crate::output::files::{PARTIAL, beside, remove};
use crate::output::spool::SPOOL;
use crate::output::summary::{not_written, running};
use crate::output::vtk::{self, VtkWriter};
use crate::output::{
    CsvWriter, DirectoryLock, Format, OutputError, ResultDirectory, RowStream, RunCard,
    SavedResult, SavedRun, SpooledWriter, summary, write_whole,
};
use crate::report::Report;
use saltus_integrators::{Frame, Observer, ObserverError, Plan, RunInfo, Stop};
use serde_json::Value;
use std::fs::File;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(super) const SUMMARY: &str = "summary.json";
pub(super) const REPORT: &str = "report.html";

/// The observer that writes a result.
pub struct ResultWriter {
    path: PathBuf,
    card: RunCard,
    formats: Vec<Format>,
    every: u64,
    rows: RowStream,
    drawing: Option<VtkWriter>,
    events: EventWriter,
    audit: Audit,
    report: Option<Report>,
    files: Vec<String>,
    outcome: Option<Outcome>,
    /// The summary of the run that goes on.
    running: Value,
    /// What could not be written.
    failure: Option<String>,
    keeper: Option<Keeper>,
    /// The result that the run goes on with.
    saved: Option<SavedResult>,
    /// Whether the run was stopped where a longer one would have gone on, and the books then.
    stopped: Option<Option<SavedResult>>,
    shape: Shape,
    /// What is added to the number of a step of this run to have that of the whole one.
    offset: u64,
    /// Number of the last step, so counted.
    step: u64,
    _lock: DirectoryLock,
}

impl ResultWriter {
    pub(super) fn new(plan: ResultDirectory, lock: DirectoryLock) -> Self {
        let ResultDirectory {
            path,
            card,
            formats,
            every,
            report,
            selection,
            shapes,
            keeper,
            saved,
            closed,
            ..
        } = plan;
        let at_nodes = selection.fields.is_some();
        let mut rows = RowStream::new(&card.model).every(every).select(selection);
        let mut drawing = None;
        let mut spooled = Vec::new();
        for format in &formats {
            let file = path.join(format.file_name());
            match format {
                Format::Csv => rows = rows.table(CsvWriter::new(file)),
                Format::Vtk => {
                    drawing = shapes
                        .clone()
                        .map(|assembly| VtkWriter::new(assembly, file, every, at_nodes));
                }
                other => spooled.push((*other, file)),
            }
        }
        if !spooled.is_empty() {
            rows = rows.to(SpooledWriter::new(spooled));
        }
        let report = report.then(Report::new);
        Self {
            events: EventWriter::new(path.join(EVENTS)),
            path,
            card,
            formats,
            every,
            rows,
            drawing,
            audit: closed.map_or_else(Audit::new, Audit::resumed),
            report,
            files: Vec::new(),
            outcome: None,
            running: Value::Null,
            failure: None,
            keeper: keeper
                .map(|(identity, request, resumption)| Keeper::new(identity, request, resumption)),
            saved,
            stopped: None,
            shape: Shape::default(),
            offset: 0,
            step: 0,
            _lock: lock,
        }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was written, after the run.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.iter().map(|name| self.path.join(name)).collect()
    }

    /// Lists one more file that was written to the directory after the run, in the summary too.
    ///
    /// # Errors
    /// Where the summary cannot be written.
    pub fn list(&mut self, name: &str) -> Result<(), OutputError> {
        if self.files.iter().any(|file| file == name) {
            return Ok(());
        }
        self.files.push(name.to_owned());
        match self.summary() {
            Some(summary) => self.write_summary(&summary),
            None => Ok(()),
        }
    }

    /// How the run went; `None` before it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The content of `summary.json`; `None` before the run has ended.
    #[must_use]
    pub fn summary(&self) -> Option<Value> {
        let outcome = self.outcome.as_ref()?;
        Some(summary(&self.card, outcome, &self.files))
    }

    /// Writes the last state of a run, or the one before a step that failed, where the directory has checkpoints.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn keep(&mut self, checkpoint: Option<Checkpoint>) -> Result<(), OutputError> {
        let path = self.path.join(CHECKPOINT);
        let stopped = self.stopped.take();
        let Some(latest) = self.keeper.as_mut().and_then(Keeper::take_latest) else {
            return Ok(());
        };
        match (checkpoint, stopped) {
            (Some(checkpoint), Some(result)) => SavedRun {
                result,
                ..SavedRun::of(checkpoint)
            }
            .write(&path),
            (Some(end), None) if self.outcome.is_some() => SavedRun {
                end: Some(end),
                ..latest
            }
            .write(&path),
            // Where the last state is not to be trusted, an earlier one is.
            (None, Some(_)) => latest.write(&path),
            _ => Ok(()),
        }
    }

    /// Says whose directory this is before anything else is written, so that a run that is killed leaves a
    /// directory that the next one may use, and removes the files of an earlier result: what a run leaves
    /// behind belongs together. A run that goes on keeps what it goes on with.
    fn claim(&mut self, info: &RunInfo<'_>, plan: Plan, goes_on: bool) -> Result<(), OutputError> {
        self.running = running(&self.card, info, plan);
        (self.outcome, self.failure, self.stopped) = (None, None, None);
        self.write_summary(&self.running)?;
        let kept = |file: &Path| {
            file.ends_with(SUMMARY)
                || goes_on
                    && [Format::Csv.file_name(), EVENTS, CHECKPOINT]
                        .iter()
                        .any(|name| file.ends_with(name))
        };
        for file in result_files(&self.path).filter(|file| !kept(file)) {
            remove(&file)?;
            remove(&beside(&file, PARTIAL))?;
            remove(&beside(&file, SPOOL))?;
        }
        if goes_on {
            return Ok(());
        }
        vtk::clear(&self.path.join(vtk::FOLDER))
    }

    fn write_summary(&self, summary: &Value) -> Result<(), OutputError> {
        let path = self.path.join(SUMMARY);
        write_whole(&path, text(&path, summary)?.as_bytes())
    }

    /// Begins a result, or goes on with one.
    fn open(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        let Some(saved) = self.saved.take() else {
            self.offset = 0;
            self.shape = Shape::of(info);
            self.claim(info, info.plan, false)?;
            self.audit.begin(info, first)?;
            self.events.open(info);
            let columns = self.rows.open(info, first)?;
            if let Some(drawing) = &mut self.drawing {
                drawing.open()?;
                drawing.take(first, true)?;
            }
            if let Some(report) = &mut self.report {
                report.begin(info, first, &columns, self.rows.last_row());
            }
            return Ok(());
        };
        self.shape = saved.shape.clone();
        let info = &saved.shape.of_run(info);
        let header = self.rows.header(info)?;
        self.rows.see(first);
        self.check_columns(&header.columns)?;
        self.audit = Audit::going_on(saved.audit.clone());
        self.claim(info, self.audit.plan(info.plan), true)?;
        self.audit.begin(info, first)?;
        let pending = saved.pending.clone().map(|Row(row)| row);
        self.rows.go_on(&header, saved.rows, pending)?;
        if saved.events.is_none() {
            let events = self.path.join(EVENTS);
            remove(&events)?;
            remove(&beside(&events, PARTIAL))?;
        }
        self.events.go_on(info, saved.events)?;
        if let Some(drawing) = &mut self.drawing {
            drawing.go_on(saved.steps, saved.frame.clone())?;
            drawing.see(first.state);
        }
        if let (Some(report), Some(saved)) = (&mut self.report, saved.report.clone()) {
            report.begin(info, first, &header.columns, self.rows.last_row());
            report.load(saved);
        }
        self.offset = saved.steps.wrapping_sub(info.plan.first);
        Ok(())
    }

    /// Whether the table has the columns of this run.
    fn check_columns(&self, columns: &[crate::Column]) -> Result<(), OutputError> {
        let file = self.path.join(Format::Csv.file_name());
        let partial = beside(&file, PARTIAL);
        let file = if partial.exists() { partial } else { file };
        let table = crate::output::csv::Table::open(&file, u64::MAX)?;
        // Units are not in the table.
        let names = |columns: &[crate::Column]| -> Vec<String> {
            columns.iter().map(|c| c.name().to_owned()).collect()
        };
        if names(&table.columns) == names(columns) {
            return Ok(());
        }
        Err(OutputError::Unresumable {
            path: self.path.clone(),
            reason: "the columns of its table are not those of this run; choose the coordinates that are written as before"
                .to_owned(),
        })
    }

    /// What the result consists of now.
    fn books(&mut self) -> Option<SavedResult> {
        // A result goes on from its table.
        if !self.formats.contains(&Format::Csv) {
            return None;
        }
        let request = self.keeper.as_ref()?.request.clone();
        let (rows, pending) = self.rows.so_far()?;
        Some(SavedResult {
            request,
            formats: self.formats.iter().map(|f| f.name().to_owned()).collect(),
            every: self.every,
            shape: self.shape.clone(),
            steps: self.step,
            rows,
            events: self.events.lines().length(),
            pending: pending.map(Row),
            frame: self.drawing.as_ref().and_then(|d| d.pending().cloned()),
            audit: self.audit.save(),
            report: self.report.as_ref().map(Report::save),
        })
    }

    /// Puts aside the state of `frame`, the last one, and writes it where asked to.
    #[cold]
    fn put(&mut self, frame: &Frame<'_>, write: bool) -> Result<(), OutputError> {
        if self.keeper.is_none() {
            return Ok(());
        }
        let books = self.books();
        let closed = self.audit.log().closed().map(|id| id.0).collect();
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        keeper.put(frame, closed, books);
        if write {
            self.rows.flush()?;
            self.events.lines().flush()?;
            if let Some(saved) = keeper.latest() {
                saved.write(&self.path.join(CHECKPOINT))?;
            }
        }
        Ok(())
    }

    /// Completes the trajectories and the events.
    fn complete(&mut self) -> Result<(), OutputError> {
        let rows = self.rows.close();
        let events = self.events.close();
        let drawing = self.drawing.as_mut().map_or(Ok(()), VtkWriter::close);
        rows.and(events).and(drawing)
    }

    /// Writes report, checkpoint and summary.
    fn conclude(&mut self) -> Result<(), OutputError> {
        let Some(outcome) = self.audit.outcome() else {
            return Ok(());
        };
        let mut files: Vec<String> = self
            .formats
            .iter()
            .map(|f| f.file_name().to_owned())
            .collect();
        if self.events.has_written() {
            files.push(EVENTS.to_owned());
        }
        if self.report.is_some() {
            files.push(REPORT.to_owned());
        }
        if let Some(keeper) = &self.keeper {
            files.push(CHECKPOINT.to_owned());
            let ended = outcome.stop == Stop::EndReached || keeper.is_bound();
            if let Some(saved) = keeper.latest().filter(|_| ended) {
                saved.write(&self.path.join(CHECKPOINT))?;
                self.stopped = None;
            }
        }
        files.push(SUMMARY.to_owned());
        if let Some(report) = &mut self.report {
            let html = report.html(&self.card, &outcome, &files);
            write_whole(&self.path.join(REPORT), html.as_bytes())?;
        }
        self.write_summary(&summary(&self.card, &outcome, &files))?;
        (self.outcome, self.files) = (Some(outcome), files);
        Ok(())
    }

    /// Says in the summary what could not be written; the rows that were, stay.
    fn give_up(&mut self, error: &str) {
        self.rows.abandon();
        self.events = EventWriter::new(self.path.join(EVENTS));
        self.stopped = None;
        let summary = not_written(&self.running, error);
        if self.write_summary(&summary).is_ok() {
            return;
        }
        // Where there is no room for another file, there is in the place of this one.
        let path = self.path.join(SUMMARY);
        if let Ok(text) = text(&path, &summary)
            && let Ok(mut file) = File::options().write(true).open(&path)
        {
            let _ = file
                .write_all(text.as_bytes())
                .and_then(|()| file.set_len(text.len() as u64));
        }
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) -> Result<(), OutputError> {
        let impact = self.audit.impact();
        self.rows.take(frame, impact)?;
        self.events.take(frame)?;
        if let Some(drawing) = &mut self.drawing {
            drawing.take(frame, impact)?;
        }
        if let Some(report) = &mut self.report {
            let impacts = self.audit.log().latest_impacts();
            report.push(frame, self.rows.last_row(), impact, impacts);
        }
        Ok(())
    }
}

/// The text of a summary.
fn text(path: &Path, summary: &Value) -> Result<String, OutputError> {
    serde_json::to_string_pretty(summary)
        .map(|text| text + "\n")
        .map_err(|e| OutputError::encode(path, e))
}

impl Observer for ResultWriter {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        if let Some(keeper) = &mut self.keeper {
            keeper.begin(info);
        }
        self.open(info, first)?;
        self.step = first.step.wrapping_add(self.offset);
        Ok(self.put(first, false)?)
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        self.step = frame.step.wrapping_add(self.offset);
        let shifted;
        let counted = if self.offset == 0 {
            frame
        } else {
            shifted = Frame {
                step: self.step,
                ..*frame
            };
            &shifted
        };
        let flow = self.audit.frame(counted)?;
        let mut result = self.take(counted);
        if let Some(keeper) = &mut self.keeper
            && result.is_ok()
            && let Some(write) = keeper.wants(frame)
        {
            result = self.put(frame, write);
        }
        match result {
            Ok(()) => Ok(flow),
            Err(error) => {
                self.failure = Some(error.to_string());
                Err(error.into())
            }
        }
    }

    fn in_force(&mut self, options: &[(&'static str, f64)]) {
        self.audit.in_force(options);
    }

    fn end(&mut self, stop: &Stop) -> Result<(), ObserverError> {
        if let Some(error) = self.failure.take() {
            // It has been told.
            self.give_up(&error);
            return Ok(());
        }
        self.stopped = Some(self.books());
        self.audit.end(stop)?;
        let written = self.complete().and_then(|()| self.conclude());
        if let Err(error) = &written {
            self.give_up(&error.to_string());
        }
        Ok(written?)
    }
}
