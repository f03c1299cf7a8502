//! The writer of a result: fills its directory while a run goes on and completes it at the end.

use crate::observe::{Audit, Outcome};
use crate::output::directory::result_files;
use crate::output::events::{EVENTS, EventWriter};
use crate::output::files::{PARTIAL, beside, remove};
use crate::output::summary::{not_written, running};
use crate::output::vtk::{self, VtkWriter};
use crate::output::{
    CsvWriter, DirectoryLock, Format, OutputError, ResultDirectory, RowStream, RunCard,
    SpooledWriter, summary, write_whole,
};
use crate::report::Report;
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
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
            ..
        } = plan;
        let at_nodes = selection.fields.is_some();
        let mut rows = RowStream::new(&card.model).every(every).select(selection);
        let mut drawing = None;
        let mut spooled = Vec::new();
        for format in &formats {
            let file = path.join(format.file_name());
            match format {
                Format::Csv => rows = rows.to(CsvWriter::new(file)),
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
            rows,
            drawing,
            audit: Audit::new(),
            report,
            files: Vec::new(),
            outcome: None,
            running: Value::Null,
            failure: None,
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
        match &self.outcome {
            Some(outcome) => self.write_summary(&summary(&self.card, outcome, &self.files)),
            None => Ok(()),
        }
    }

    /// How the run went; `None` before it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Says whose directory this is before anything else is written, so that a run that is killed leaves a
    /// directory that the next one may use, and removes the files of an earlier result: what a run leaves
    /// behind belongs together.
    fn claim(&mut self, info: &RunInfo<'_>) -> Result<(), OutputError> {
        self.running = running(&self.card, info);
        (self.outcome, self.failure) = (None, None);
        self.write_summary(&self.running)?;
        let summary = self.path.join(SUMMARY);
        for file in result_files(&self.path).filter(|file| *file != summary) {
            remove(&file)?;
            remove(&beside(&file, PARTIAL))?;
        }
        vtk::clear(&self.path.join(vtk::FOLDER))
    }

    fn write_summary(&self, summary: &Value) -> Result<(), OutputError> {
        let path = self.path.join(SUMMARY);
        write_whole(&path, text(&path, summary)?.as_bytes())
    }

    /// Completes the trajectories and the events.
    fn complete(&mut self) -> Result<(), OutputError> {
        let rows = self.rows.close();
        let events = self.events.close();
        let drawing = self.drawing.as_mut().map_or(Ok(()), VtkWriter::close);
        rows.and(events).and(drawing)
    }

    /// Writes report and summary.
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
        self.claim(info)?;
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
        Ok(())
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        let flow = self.audit.frame(frame)?;
        match self.take(frame) {
            Ok(()) => Ok(flow),
            Err(error) => {
                self.failure = Some(error.to_string());
                Err(error.into())
            }
        }
    }

    fn end(&mut self, stop: &Stop) -> Result<(), ObserverError> {
        self.audit.end(stop)?;
        if let Some(error) = self.failure.take() {
            // It has been told.
            self.give_up(&error);
            return Ok(());
        }
        let written = self.complete().and_then(|()| self.conclude());
        if let Err(error) = &written {
            self.give_up(&error.to_string());
        }
        Ok(written?)
    }
}
