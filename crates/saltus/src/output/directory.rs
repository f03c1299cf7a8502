//! The directory of a result: checked before the run, filled while it goes on, complete at its end.

use crate::columns::Selection;
use crate::observe::{Audit, Outcome};
use crate::output::events::{EVENTS, EventWriter};
use crate::output::spool::beside;
use crate::output::summary::{model, running};
use crate::output::vtk::{self, VtkWriter};
use crate::output::{CsvWriter, Format, OutputError, RowStream, RunCard, SpooledWriter, summary};
use crate::report::Report;
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use saltus_mechanics::flexible::Assembly;
use serde_json::Value;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUMMARY: &str = "summary.json";
const REPORT: &str = "report.html";

/// Where and in which forms a result is to be written.
///
/// ```no_run
/// # fn example(simulation: saltus::Simulation<'_>, scheme: &saltus::Scheme) -> Result<(), Box<dyn std::error::Error>> {
/// use saltus::output::{Format, ResultDirectory, RunCard};
///
/// let mut files = ResultDirectory::new("out/ball", RunCard::new("bouncing ball", scheme))
///     .formats(&[Format::Csv, Format::Npz])
///     .report(true)
///     .open()?;
/// simulation.run(&mut [&mut files])?;
/// println!("{:?}", files.files());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ResultDirectory {
    path: PathBuf,
    card: RunCard,
    formats: Vec<Format>,
    every: u64,
    report: bool,
    force: bool,
    selection: Selection,
    shapes: Option<Arc<Assembly>>,
}

impl ResultDirectory {
    /// A result in the directory `path` with `trajectory.csv` and `summary.json`, every row.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, card: RunCard) -> Self {
        Self {
            path: path.into(),
            card,
            formats: vec![Format::Csv],
            every: 1,
            report: false,
            force: false,
            selection: Selection::default(),
            shapes: None,
        }
    }

    /// Writes the trajectory in these formats.
    #[must_use]
    pub fn formats(mut self, formats: &[Format]) -> Self {
        self.formats = formats.to_vec();
        self.formats.sort_unstable();
        self.formats.dedup();
        self
    }

    /// Keeps rows whose step is a multiple of `n`, the last row, and every impact with the row before it.
    #[must_use]
    pub fn every(mut self, n: u64) -> Self {
        self.every = n;
        self
    }

    /// Whether `report.html` is written.
    #[must_use]
    pub fn report(mut self, report: bool) -> Self {
        self.report = report;
        self
    }

    /// Whether the result of another model, or files of unknown origin, may be overwritten.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Writes these coordinates only.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// What is drawn in the format [`Format::Vtk`]: the system that is run.
    #[must_use]
    pub fn shapes(mut self, assembly: Arc<Assembly>) -> Self {
        self.shapes = Some(assembly);
        self
    }

    /// Creates the directory, if need be, and makes sure that it can be written and holds no result of
    /// another model, nor a file of the name of a result that is none. Nothing in it is touched before the
    /// run begins.
    ///
    /// # Errors
    /// [`OutputError`], before anything runs.
    pub fn open(self) -> Result<ResultWriter, OutputError> {
        if self.formats.contains(&Format::Vtk) && self.shapes.is_none() {
            return Err(OutputError::VtkUnavailable);
        }
        if self.path.is_file() {
            return Err(OutputError::NotADirectory { path: self.path });
        }
        fs::create_dir_all(&self.path).map_err(OutputError::io("create", &self.path))?;
        if !self.force {
            self.check_owner()?;
        }
        let probe = self.path.join(".saltus-probe");
        fs::write(&probe, b"").map_err(OutputError::io("write to", &self.path))?;
        fs::remove_file(&probe).map_err(OutputError::io("write to", &self.path))?;
        Ok(ResultWriter::new(self))
    }

    /// Whatever a result consists of is of an earlier run of the same model, finished or not.
    fn check_owner(&self) -> Result<(), OutputError> {
        let Some(present) = result_files(&self.path).find(|f| fs::symlink_metadata(f).is_ok())
        else {
            return Ok(());
        };
        let summary = self.path.join(SUMMARY);
        match fs::read_to_string(&summary) {
            Ok(text) => match model(&text) {
                Some(found) if same_model(&found, &self.card.model) => Ok(()),
                Some(found) => Err(OutputError::OtherModel {
                    path: self.path.clone(),
                    found,
                    expected: self.card.model.clone(),
                }),
                None => Err(OutputError::Foreign { path: summary }),
            },
            Err(_) => Err(OutputError::Foreign { path: present }),
        }
    }
}

/// Every file that a result may consist of.
fn result_files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let trajectories = Format::ALL.map(Format::file_name);
    let names = [SUMMARY, REPORT, EVENTS].into_iter().chain(trajectories);
    names.map(|name| directory.join(name))
}

/// Whether two models are the same by name, or by the file they are paths of.
fn same_model(a: &str, b: &str) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

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
}

impl ResultWriter {
    fn new(plan: ResultDirectory) -> Self {
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
    fn claim(&self, info: &RunInfo<'_>) -> Result<(), OutputError> {
        self.write_summary(&running(&self.card, info))?;
        let summary = self.path.join(SUMMARY);
        for file in result_files(&self.path).filter(|file| *file != summary) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(OutputError::io("remove", &file)(error));
                }
                _ => (),
            }
        }
        vtk::clear(&self.path.join(vtk::FOLDER))
    }

    fn write_summary(&self, summary: &Value) -> Result<(), OutputError> {
        let path = self.path.join(SUMMARY);
        let mut text =
            serde_json::to_string_pretty(summary).map_err(|e| OutputError::encode(&path, e))?;
        text.push('\n');
        write_whole(&path, text.as_bytes())
    }

    /// Writes report and summary.
    fn conclude(&mut self) -> Result<(), OutputError> {
        let Some(outcome) = self.audit.outcome() else {
            return Ok(());
        };
        self.files = self
            .formats
            .iter()
            .map(|f| f.file_name().to_owned())
            .collect();
        if self.events.has_written() {
            self.files.push(EVENTS.to_owned());
        }
        if self.report.is_some() {
            self.files.push(REPORT.to_owned());
        }
        self.files.push(SUMMARY.to_owned());
        if let Some(report) = &mut self.report {
            let html = report.html(&self.card, &outcome, &self.files);
            write_whole(&self.path.join(REPORT), html.as_bytes())?;
        }
        let summary = summary(&self.card, &outcome, &self.files);
        self.outcome = Some(outcome);
        self.write_summary(&summary)
    }
}

/// Writes a file under another name first, so that a file of the final name is always complete.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), OutputError> {
    let partial = beside(path, "partial");
    fs::write(&partial, content)
        .and_then(|()| fs::rename(&partial, path))
        .map_err(OutputError::io("write", path))
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
        Ok(flow)
    }

    fn end(&mut self, stop: &Stop) -> Result<(), ObserverError> {
        self.audit.end(stop)?;
        let rows = self.rows.close();
        let events = self.events.close();
        let drawing = self.drawing.as_mut().map_or(Ok(()), VtkWriter::close);
        let conclusion = self.conclude();
        rows?;
        events?;
        drawing?;
        Ok(conclusion?)
    }
}
