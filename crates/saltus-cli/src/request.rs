//! What a run is asked for: by flags, and by the run that it goes on with.

use crate::arguments::{Changes, RunArguments};
use crate::foreign;
use saltus::Checkpoint;
use saltus::output::{DirectoryLock, OutputError, SavedResult, SavedRun};
use saltus_model::Override;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a run is asked for, as its checkpoints keep it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The model file.
    pub model: PathBuf,
    /// What changes it.
    pub changes: Changes,
    /// Formats of the trajectory.
    pub format: Vec<String>,
    /// Every so many rows are written.
    pub every: Option<String>,
    /// Whether there is a report.
    pub report: bool,
}

impl Request {
    /// What is asked for by flags alone.
    fn of(arguments: &RunArguments, model: &Path) -> Self {
        Self {
            model: model.to_owned(),
            changes: arguments.changes.clone(),
            format: arguments.format.clone(),
            every: arguments.every.clone(),
            report: arguments.report,
        }
    }

    /// What was asked for, changed by flags.
    fn changed_by(mut self, arguments: &RunArguments) -> Self {
        let changes = &arguments.changes;
        let replace = |old: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                old.clone_from(new);
            }
        };
        replace(&mut self.changes.scheme, &changes.scheme);
        replace(&mut self.changes.step, &changes.step);
        replace(&mut self.changes.until, &changes.until);
        self.changes.set.extend(changes.set.iter().cloned());
        replace(&mut self.every, &arguments.every);
        if !arguments.format.is_empty() {
            self.format.clone_from(&arguments.format);
        }
        self.report |= arguments.report;
        self
    }

    /// The changes of the model, in the order they are made.
    pub fn overrides(&self) -> Vec<Override> {
        let mut overrides = Vec::new();
        if !self.format.is_empty() {
            let names = self.format.join(" ");
            overrides.push(Override::list("--format", "output.formats", names));
        }
        if let Some(every) = &self.every {
            overrides.push(Override::flag("--every", "output.every", every));
        }
        overrides.extend(self.changes.overrides());
        overrides
    }

    /// What a checkpoint keeps of it, wherever the program is started next.
    pub fn kept(&self) -> serde_json::Value {
        let model = std::path::absolute(&self.model).unwrap_or_else(|_| self.model.clone());
        let kept = Self {
            model,
            ..self.clone()
        };
        serde_json::to_value(kept).unwrap_or_default()
    }

    /// The command that asks for it, with its result in `out`, from the checkpoint `resume` where there is one.
    pub fn command(&self, out: &Path, resume: Option<&Path>) -> String {
        let path = |path: &Path| path.display().to_string();
        let mut words = vec!["run".to_owned(), path(&self.model)];
        let mut flag = |name: &str, value: Option<&String>| {
            words.extend(
                value
                    .map(|v| [name.to_owned(), v.clone()])
                    .into_iter()
                    .flatten(),
            );
        };
        flag("--scheme", self.changes.scheme.as_ref());
        flag("--step", self.changes.step.as_ref());
        flag("--until", self.changes.until.as_ref());
        for set in &self.changes.set {
            flag("--set", Some(set));
        }
        for format in &self.format {
            flag("--format", Some(format));
        }
        flag("--every", self.every.as_ref());
        if self.report {
            words.push("--report".to_owned());
        }
        words.extend(["--out".to_owned(), path(out)]);
        if let Some(resume) = resume {
            words.extend(["--resume".to_owned(), path(resume)]);
        }
        line(words.into_iter())
    }
}

/// What a run begins with.
pub struct Begin {
    pub request: Request,
    /// The checkpoint that it goes on from, and its file or directory.
    pub from: Option<(PathBuf, SavedRun)>,
}

impl Begin {
    /// What `arguments` ask for.
    pub fn of(arguments: &RunArguments) -> Result<Self, String> {
        let Some(path) = &arguments.resume else {
            let model = arguments.model.clone().unwrap_or_default();
            return Ok(Self {
                request: Request::of(arguments, &model),
                from: None,
            });
        };
        let saved = if path.is_dir() {
            if arguments.out.is_some() {
                return Err(format!(
                    "--resume {}: the run goes on in this directory, leave --out away; with the file of a checkpoint a result of its own begins in --out",
                    path.display()
                ));
            }
            in_directory(path)?
        } else {
            SavedRun::read(path).map_err(|error| of_file(path, &error))?
        };
        let request = match (&arguments.model, asked(&saved)) {
            (Some(model), _) => Request::of(arguments, model),
            (None, Some(before)) => before.changed_by(arguments),
            (None, None) => {
                return Err(format!(
                    "--resume {}: the checkpoint does not know its model file; give it, saltus run MODEL --resume {0}",
                    path.display()
                ));
            }
        };
        Ok(Self {
            request,
            from: Some((path.clone(), saved)),
        })
    }

    /// The state that the run goes on from: in a result of its own, the last one of the run before.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        let (path, saved) = self.from.as_ref()?;
        Some(if path.is_dir() {
            &saved.checkpoint
        } else {
            saved.last()
        })
    }

    /// The result that the run goes on with.
    pub fn result(&self) -> Option<(&Path, &SavedResult)> {
        let (path, saved) = self.from.as_ref()?;
        let result = saved.result.as_ref()?;
        path.is_dir().then_some((path, result))
    }
}

fn in_directory(path: &Path) -> Result<SavedRun, String> {
    match SavedRun::read_in(path) {
        Err(OutputError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(without_checkpoint(path))
        }
        Err(error) => Err(error.to_string()),
        Ok(saved) if saved.result.is_none() => Err(format!(
            "{}: its checkpoint.json is of no result that could go on, as one without trajectory.csv is not; begin one of its own with --resume {0}/checkpoint.json --out DIR",
            path.display()
        )),
        Ok(saved) => Ok(saved),
    }
}

/// Why a directory has no checkpoint.
fn without_checkpoint(path: &Path) -> String {
    // Somebody may be about to write it.
    if let Err(busy @ OutputError::Busy { .. }) = DirectoryLock::look(path) {
        return busy.to_string();
    }
    let place = path.display();
    let summary = std::fs::read_to_string(path.join("summary.json")).ok();
    let summary: Option<serde_json::Value> = summary.and_then(|t| serde_json::from_str(&t).ok());
    let stop = summary.as_ref().and_then(|s| s.get("stop")?.as_str());
    let what = match stop {
        Some("not-written") => {
            "its run could not write its result to the end, as summary.json says, and left none"
        }
        Some("running") => {
            "its run was killed before it wrote one (--checkpoint-every SECONDS writes them on the way)"
        }
        Some(_) => {
            "it was removed, or is of a run that wrote none (--checkpoint-every SECONDS writes them on the way)"
        }
        None => "it holds no result",
    };
    format!("{place} has no checkpoint.json: {what}; run the model again without --resume")
}

/// Why a file is no checkpoint.
fn of_file(path: &Path, error: &OutputError) -> String {
    let place = path.display();
    match (foreign::instead_of_a_checkpoint(path), error) {
        (Some(what), _) => format!("{place} is not a checkpoint: {what}"),
        (None, OutputError::Io { source, .. }) => format!("{place} cannot be read: {source}"),
        (None, error) => error.to_string(),
    }
}

/// What the run of a checkpoint was asked for.
fn asked(saved: &SavedRun) -> Option<Request> {
    let result = saved.result.as_ref()?;
    let request: Request = serde_json::from_value(result.request.clone()).ok()?;
    (request.model != Path::new("")).then_some(request)
}

/// The command that the program was started by.
pub fn command() -> String {
    let arguments = std::env::args_os().skip(1);
    line(arguments.map(|argument| argument.to_string_lossy().into_owned()))
}

/// A command line, as a shell reads it.
fn line(arguments: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    let quote = |argument: String| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    std::iter::once("saltus".to_owned())
        .chain(arguments.map(quote))
        .collect::<Vec<_>>()
        .join(" ")
}
