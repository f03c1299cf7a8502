//! The directory of a result, checked before the run.

use crate::checkpoint::Identity;
use crate::columns::Selection;
use crate::output::checkpoints::CHECKPOINT;
use crate::output::events::EVENTS;
use crate::output::files::{PARTIAL, beside};
use crate::output::summary::model;
use crate::output::writer::{REPORT, SUMMARY};
use crate::output::{
    DirectoryLock, Format, OutputError, ResultWriter, Resumption, RunCard, SavedResult,
};
use saltus_mechanics::flexible::Assembly;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub(super) path: PathBuf,
    pub(super) card: RunCard,
    pub(super) formats: Vec<Format>,
    pub(super) every: u64,
    pub(super) report: bool,
    force: bool,
    pub(super) selection: Selection,
    pub(super) shapes: Option<Arc<Assembly>>,
    pub(super) keeper: Option<(Identity, Value, Resumption)>,
    pub(super) saved: Option<SavedResult>,
    pub(super) closed: Option<Vec<u64>>,
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
            keeper: None,
            saved: None,
            closed: None,
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

    /// Writes `checkpoint.json` at the end of the run, and meanwhile where `resumption` says so; with `identity`, what is run,
    /// and `request`, what was asked for in the terms of the program that runs. The run can go on in this directory with the format
    /// [`Format::Csv`] only; without it the checkpoint is one for another result.
    #[must_use]
    pub fn checkpoints(
        mut self,
        identity: Identity,
        request: Value,
        resumption: Resumption,
    ) -> Self {
        self.keeper = Some((identity, request, resumption));
        self
    }

    /// Goes on with the result that is there, of which a checkpoint holds `saved`. Formats and rows are as they were.
    #[must_use]
    pub fn go_on(mut self, saved: SavedResult) -> Self {
        self.saved = Some(saved);
        self
    }

    /// Begins where contacts were `closed` in the step before, by their identities as in
    /// [`Checkpoint::closed`](crate::Checkpoint::closed): they do not hit again.
    #[must_use]
    pub fn closed(mut self, closed: Vec<u64>) -> Self {
        self.closed = Some(closed);
        self
    }

    /// Creates the directory, if need be, and makes sure that it can be written, that nobody else writes to it as long as the
    /// writer is there, and that it holds no result of another model, nor a file of the name of a result that is none. Nothing
    /// in it is touched before the run begins.
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
        let lock = DirectoryLock::take(&self.path)?;
        if !self.force {
            self.check_owner()?;
        }
        if let Some(saved) = &self.saved {
            self.check_saved(saved)?;
        }
        Ok(ResultWriter::new(self, lock))
    }

    /// Whether everything is there that the run goes on with.
    fn check_saved(&self, saved: &SavedResult) -> Result<(), OutputError> {
        let refused = |reason: String| {
            Err(OutputError::Unresumable {
                path: self.path.clone(),
                reason,
            })
        };
        let formats: Vec<&str> = self.formats.iter().map(|f| f.name()).collect();
        if saved.formats != formats || !self.formats.contains(&Format::Csv) {
            let was = saved.formats.join(", ");
            return refused(format!(
                "it has the formats {was}, this run is to write {}; choose the same",
                formats.join(", ")
            ));
        }
        if saved.every.max(1) != self.every.max(1) {
            return refused(format!(
                "it has every {} rows, this run is to write every {}; choose the same",
                saved.every, self.every
            ));
        }
        if self.report && !saved.has_report() {
            return refused(
                "it has no report, and one of the rest would not be of the whole run; leave `--report` away, or begin again"
                    .to_owned(),
            );
        }
        let rows = (Format::Csv.file_name(), Some(saved.rows));
        for (name, length) in [rows, (EVENTS, saved.events)] {
            let Some(length) = length else { continue };
            let path = self.path.join(name);
            let partial = fs::metadata(beside(&path, PARTIAL));
            let found = partial.or_else(|_| fs::metadata(&path)).map(|m| m.len());
            match found {
                Ok(found) if found >= length => {}
                Ok(found) => {
                    return refused(format!(
                        "`{name}` has {found} bytes and had {length} when the checkpoint was written; begin the run again"
                    ));
                }
                Err(_) => return refused(format!("`{name}` is gone; begin the run again")),
            }
        }
        Ok(())
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
pub(super) fn result_files(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let trajectories = Format::ALL.map(Format::file_name);
    let names = [SUMMARY, REPORT, EVENTS, CHECKPOINT]
        .into_iter()
        .chain(trajectories);
    names.map(|name| directory.join(name))
}

/// Whether two models are the same by name, or by the file they are paths of.
fn same_model(a: &str, b: &str) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
