//! `saltus run`: a model file in, a directory with its result out.

use crate::arguments::RunArguments;
use crate::progress::{Progress, patiently};
use crate::{INTERRUPTED, NOT_WRITTEN, STEP_FAILED, WRONG_INPUT, columns, foreign, render, words};
use saltus::observe::StopFlag;
use saltus::output::{Format, OutputError, ResultDirectory, ResultWriter, RunCard};
use saltus::{Checkpoint, DriveError, Identity, Observer, RunError, Simulation, Stop, fingerprint};
use saltus_complementarity::archive::{Problem, Record, write_record};
use saltus_integrators::{FailedProblem, StepError};
use saltus_linear::Dense;
use saltus_model::document::OutputFormat;
use saltus_model::{Model, ModelErrors};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn run(arguments: &RunArguments) -> ExitCode {
    let model = match model(arguments) {
        Ok(model) => model,
        Err(errors) => {
            refused(&arguments.model.model, &errors);
            return ExitCode::from(WRONG_INPUT);
        }
    };
    if !arguments.quiet {
        model.notes.iter().for_each(|note| render::note(note));
    }
    let resumed = arguments
        .resume
        .as_deref()
        .map(|path| checkpoint(path, &model, arguments.allow_changes));
    let resumed = match resumed.transpose() {
        Ok(checkpoint) => checkpoint,
        Err(message) => {
            render::error(&format!("{message}; nothing was run"));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let mut files = match directory(arguments, &model) {
        Ok(files) => files,
        Err(error) => {
            render::error(&format!("{error}; nothing was run"));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let stop = stop_on_interrupt();
    let simulation = Simulation::new(&*model.system, model.scheme.clone())
        .identity(identity(&model))
        .allow_changes(arguments.allow_changes)
        .step(model.plan.step)
        .until(model.plan.until);
    let simulation = match resumed {
        Some(checkpoint) => simulation.resume(checkpoint),
        None => simulation.start(model.initial.clone()),
    };
    let mut progress = Progress::new(arguments.quiet);
    let mut interrupt = stop.clone();
    let mut condition = columns::stop_when(&model);
    let mut observers: Vec<&mut dyn Observer> = vec![&mut files, &mut progress, &mut interrupt];
    observers.extend(condition.iter_mut().map(|c| c as &mut dyn Observer));
    let outcome = simulation.run(&mut observers);
    if arguments.archive_failures {
        archive(&outcome, &model, &mut files);
    }
    if !arguments.quiet && files.outcome().is_some() {
        // A closed pipe does not make the result worse.
        let _ = std::io::stdout().write_all(words::summary(&model, &files).as_bytes());
    }
    exit_code(outcome, &files)
}

/// Says what is wrong with a model, or what the file is where it is none.
pub fn refused(path: &Path, errors: &ModelErrors) {
    match foreign::instead_of_a_model(path) {
        Some(text) => render::error(&format!("{text}; nothing was run")),
        None => render::errors(path, errors),
    }
}

/// The model, checked, for a scheme that can run it.
fn model(arguments: &RunArguments) -> Result<Model, ModelErrors> {
    patiently("reading the model", arguments.quiet, || {
        let model = Model::load(&arguments.model.model, &arguments.overrides())?;
        model.ready()?;
        Ok(model)
    })
}

/// The directory of the result, writable and free of results of other models.
fn directory(arguments: &RunArguments, model: &Model) -> Result<ResultWriter, OutputError> {
    let path = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("out").join(&model.name));
    let card = RunCard {
        title: model.title.clone(),
        description: model.description.clone(),
        parameters: model.parameters.clone(),
        command: Some(command()),
        notes: model.notes.clone(),
        ..RunCard::new(&model.name, &model.scheme)
    };
    let format = |format: &OutputFormat| match format {
        OutputFormat::Csv => Format::Csv,
        OutputFormat::Npz => Format::Npz,
        OutputFormat::Hdf5 => Format::Hdf5,
        OutputFormat::Vtk => Format::Vtk,
    };
    let mut formats: Vec<Format> = model.output.formats.iter().map(format).collect();
    // There is a table of the steps in any case.
    if formats.iter().all(|format| *format == Format::Vtk) {
        formats.push(Format::Csv);
    }
    let mut plan = ResultDirectory::new(path, card)
        .formats(&formats)
        .every(model.output.every)
        .report(arguments.report)
        .force(arguments.force);
    plan = plan.select(columns::selection(model));
    if let Some(assembly) = &model.assembly {
        plan = plan.shapes(assembly.clone());
    }
    plan.open()
}

/// The command that repeats this run.
fn command() -> String {
    let arguments = std::env::args_os().skip(1);
    line(arguments.map(|argument| argument.to_string_lossy().into_owned()))
}

/// The command that goes on from `checkpoint` as this run would have, its result in `out`.
fn command_from(checkpoint: &Path, out: &Path) -> String {
    let mut kept = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy().into_owned();
        let other = ["--out", "--resume"];
        if other.contains(&argument.as_str()) {
            let _ = arguments.next();
        } else if !other.iter().any(|o| argument.starts_with(&format!("{o}="))) {
            kept.push(argument);
        }
    }
    let path = |path: &Path| path.display().to_string();
    kept.extend(["--out".to_owned(), path(out)]);
    kept.extend(["--resume".to_owned(), path(checkpoint)]);
    line(kept.into_iter())
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

/// A flag that Ctrl-C raises; a second Ctrl-C ends the program at once.
fn stop_on_interrupt() -> StopFlag {
    let flag = StopFlag::new();
    let raised = flag.clone();
    let handler = move || {
        if raised.is_raised() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        raised.raise();
    };
    // Without a handler Ctrl-C ends the program as it always does.
    let _ = ctrlc::set_handler(handler);
    flag
}

/// What is run, for checkpoints to tell from other models.
fn identity(model: &Model) -> Identity {
    let parts = model.parts().into_iter();
    Identity {
        model: model.name.clone(),
        parameters: model.parameters.iter().cloned().collect(),
        parts: parts.map(|(key, text)| (key, fingerprint(&text))).collect(),
        ..Identity::with(&model.scheme)
    }
}

/// Reads a checkpoint that a run of `model` can go on from.
fn checkpoint(path: &Path, model: &Model, changed: bool) -> Result<Checkpoint, String> {
    let scheme = model.scheme.name();
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{place} cannot be read: {e}"))?;
    let checkpoint: Checkpoint = serde_json::from_str(&text).map_err(|e| {
        let what = foreign::instead_of_a_checkpoint(path).unwrap_or_else(|| e.to_string());
        format!("{place} is not a checkpoint: {what}")
    })?;
    if checkpoint.scheme != scheme {
        let found = checkpoint.scheme;
        return Err(format!(
            "{place} was written by scheme `{found}`, this run uses `{scheme}`; add --scheme {found}"
        ));
    }
    match checkpoint.check(&*model.system, &identity(model), changed) {
        Ok(()) => Ok(checkpoint),
        Err(error) => {
            let cure = match error {
                RunError::Changed { .. } => {
                    "; run what it was written by, or add --allow-changes to go on all the same"
                }
                RunError::Misfit { .. } => "; run the model it was written by",
                _ => "",
            };
            let of = &checkpoint.identity.model;
            let of = if of.is_empty() || *of == model.name {
                String::new()
            } else {
                format!(" (model `{of}`)")
            };
            Err(format!("{place}{of} cannot be resumed: {error}{cure}"))
        }
    }
}

/// Writes the contact problem of a failed step and the state before it beside the result.
fn archive(outcome: &Result<saltus::Run, RunError>, model: &Model, files: &mut ResultWriter) {
    let Err(RunError::Step {
        step,
        t,
        error,
        checkpoint,
    }) = outcome
    else {
        return;
    };
    let list = |files: &mut ResultWriter, name: &str| {
        if let Err(error) = files.list(name) {
            render::error(&error.to_string());
        }
    };
    let title = format!(
        "step {step} of model {} with {}, which starts at t = {t} s",
        model.name,
        model.scheme.name()
    );
    if let Some(record) = record(error, title) {
        let name = format!("failed-step-{step}.json");
        let path = files.path().join(&name);
        match write_record(&path, &record) {
            Ok(()) => {
                list(files, &name);
                render::note(&format!("the problem of the step is in {}", path.display()));
            }
            Err(error) => render::error(&error.to_string()),
        }
    }
    if let Some(checkpoint) = checkpoint {
        let name = format!("failed-step-{step}.checkpoint.json");
        let path = files.path().join(&name);
        let written = serde_json::to_string_pretty(checkpoint)
            .map_err(std::io::Error::from)
            .and_then(|text| std::fs::write(&path, text + "\n"));
        match written {
            Ok(()) => {
                list(files, &name);
                render::note(&format!(
                    "the state before the step is in {}; to take it again:\n    {}",
                    path.display(),
                    command_from(&path, &beside(files.path(), *step)),
                ));
            }
            Err(error) => render::error(&format!("{} cannot be written: {error}", path.display())),
        }
    }
}

/// Where a replay of `step` has its result: beside that of the run, not in it.
fn beside(out: &Path, step: u64) -> PathBuf {
    let folder = format!("failed-step-{step}");
    match out.file_name() {
        Some(name) => out.with_file_name(format!("{}-{folder}", name.to_string_lossy())),
        None => out.join(folder),
    }
}

/// The contact problem of a step that failed, where there is one.
fn record(error: &StepError, title: String) -> Option<Record> {
    let (rows, record) = match (error.problem(), error.contact_problem()) {
        (Some(failed), _) => (&failed.rows, Record::from(mixed(failed))),
        (None, Some(failed)) => (&failed.rows, Record::from(failed.problem.clone())),
        (None, None) => return None,
    };
    Some(Record {
        title: Some(title),
        rows: rows.clone(),
        ..record
    })
}

fn mixed(problem: &FailedProblem) -> Problem {
    let mut matrix = Dense::zeros(problem.q.len(), problem.q.len());
    matrix.as_mut_slice().copy_from_slice(&problem.matrix);
    Problem::Mixed {
        equalities: problem.equalities,
        matrix,
        q: problem.q.clone(),
    }
}

fn exit_code(outcome: Result<saltus::Run, RunError>, files: &ResultWriter) -> ExitCode {
    match outcome {
        Ok(run) if run.outcome.stop == Stop::Interrupted => ExitCode::from(INTERRUPTED),
        Ok(_) => ExitCode::SUCCESS,
        Err(error @ RunError::Step { .. }) => {
            render::error(&format!(
                "{error}\n    what was computed until then is in {}",
                files.path().display()
            ));
            ExitCode::from(STEP_FAILED)
        }
        Err(RunError::Drive(DriveError::Observer(error))) => {
            render::error(&error.to_string());
            ExitCode::from(NOT_WRITTEN)
        }
        Err(error) => {
            render::error(&format!("{error}; nothing was run"));
            ExitCode::from(WRONG_INPUT)
        }
    }
}
