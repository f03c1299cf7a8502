//! `saltus run`: a model file in, a directory with its result out.

use crate::arguments::RunArguments;
use crate::progress::{Progress, patiently};
use crate::request::{self, Begin, Request};
use crate::{
    INTERRUPTED, NOT_WRITTEN, STEP_FAILED, WRONG_INPUT, columns, doubts, foreign, print, render,
    signals, words,
};
use saltus::observe::StopFlag;
use saltus::output::{
    Format, OutputError, ResultDirectory, ResultWriter, Resumption, RunCard, SavedRun,
};
use saltus::{Checkpoint, DriveError, Identity, Observer, RunError, Simulation, Stop, fingerprint};
use saltus_integrators::{FailedProblem, StepError};
use saltus_linear::Dense;
use saltus_model::document::OutputFormat;
use saltus_model::{Model, ModelErrors};
use saltus_problems::archive::{Problem, Record, write_record};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn run(arguments: &RunArguments, stop: &StopFlag) -> ExitCode {
    let refused_with = |message: &str| {
        render::error(&format!("{message}; nothing was run"));
        ExitCode::from(WRONG_INPUT)
    };
    let begin = match Begin::of(arguments) {
        Ok(begin) => begin,
        Err(message) => return refused_with(&message),
    };
    let quiet = arguments.quiet || arguments.json;
    let model = match model(&begin.request, quiet) {
        Ok(model) => model,
        Err(errors) => {
            refused(&begin.request.model, &errors);
            return ExitCode::from(WRONG_INPUT);
        }
    };
    if !quiet {
        notes(&model).iter().for_each(|note| render::note(note));
    }
    if let (Some((path, _)), Some(checkpoint)) = (&begin.from, begin.checkpoint())
        && let Err(message) = fits(path, checkpoint, &model, arguments.allow_changes)
    {
        return refused_with(&message);
    }
    let mut files = match directory(arguments, &begin, &model) {
        Ok(files) => files,
        Err(message) => return refused_with(&message),
    };
    signals::full_disk_is_an_error();
    signals::begin();
    let simulation = Simulation::new(&*model.system, model.scheme.clone())
        .identity(identity(&model))
        .allow_changes(arguments.allow_changes)
        .step(model.plan.step)
        .until(model.plan.until);
    let simulation = match begin.checkpoint() {
        Some(checkpoint) => simulation.resume(checkpoint.clone()),
        None => simulation.start(model.initial.clone()),
    };
    let mut progress = Progress::new(quiet);
    let mut interrupt = stop.clone();
    let mut condition = columns::stop_when(&model);
    let mut observers: Vec<&mut dyn Observer> = vec![&mut files, &mut progress, &mut interrupt];
    observers.extend(condition.iter_mut().map(|c| c as &mut dyn Observer));
    let outcome = simulation.run(&mut observers);
    let kept = files.keep(match &outcome {
        Ok(run) => Some(run.checkpoint.clone()),
        Err(RunError::Step { checkpoint, .. }) => checkpoint.as_deref().cloned(),
        Err(_) => None,
    });
    if arguments.archive_failures {
        archive(&outcome, &model, &begin.request, &mut files);
    }
    let told = tell(arguments, &model, &files);
    let code = exit_code(outcome, &files);
    match kept.map_err(|error| error.to_string()).and(told) {
        Err(message) => {
            render::error(&message);
            let failed = [STEP_FAILED, WRONG_INPUT]
                .map(ExitCode::from)
                .contains(&code);
            if failed {
                code
            } else {
                ExitCode::from(NOT_WRITTEN)
            }
        }
        Ok(()) => code,
    }
}

/// Prints what happened, where there is something to tell.
fn tell(arguments: &RunArguments, model: &Model, files: &ResultWriter) -> Result<(), String> {
    if arguments.quiet && !arguments.json || files.outcome().is_none() {
        return Ok(());
    }
    if !arguments.json {
        return print(&words::summary(model, files));
    }
    let mut summary = files.summary().unwrap_or_default();
    summary["directory"] = files.path().display().to_string().into();
    let text = serde_json::to_string_pretty(&summary).map_err(|e| e.to_string())?;
    print(&(text + "\n"))
}

/// What was changed or noticed before the run.
fn notes(model: &Model) -> Vec<String> {
    let mut notes = model.notes.clone();
    notes.extend(doubts::instability(model));
    let formats = &model.output.formats;
    let table = |format| formats.contains(&format);
    if (table(OutputFormat::Npz) || table(OutputFormat::Hdf5)) && !table(OutputFormat::Csv) {
        notes.push(
            "without trajectory.csv this result cannot be gone on with; --format csv beside the others writes it"
                .to_owned(),
        );
    }
    notes
}

/// Says what is wrong with a model, or what the file is where it is none.
pub fn refused(path: &Path, errors: &ModelErrors) {
    match foreign::instead_of_a_model(path) {
        Some(text) => render::error(&format!("{text}; nothing was run")),
        None => render::errors(path, errors),
    }
}

/// The model, checked, for a scheme that can run it.
fn model(request: &Request, quiet: bool) -> Result<Model, ModelErrors> {
    patiently("reading the model", quiet, || {
        let model = Model::load(&request.model, &request.overrides())?;
        model.ready()?;
        Ok(model)
    })
}

/// The directory of the result, writable and free of results of other models.
fn directory(
    arguments: &RunArguments,
    begin: &Begin,
    model: &Model,
) -> Result<ResultWriter, String> {
    let goes_on = begin.result();
    let path = match (&arguments.out, goes_on) {
        (_, Some((path, _))) => path.to_owned(),
        (Some(out), None) => match out.to_str() {
            Some(template) => {
                let filled = model.fill(template);
                PathBuf::from(filled.map_err(|reason| format!("--out: {reason}"))?)
            }
            None => out.clone(),
        },
        (None, None) => PathBuf::from("out").join(&model.name),
    };
    let command = match goes_on {
        Some(_) => begin.request.command(&path, None),
        None => request::command(),
    };
    let card = RunCard {
        title: model.title.clone(),
        description: model.description.clone(),
        parameters: model.parameters.clone(),
        command: Some(command),
        notes: notes(model),
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
    let resumption = Resumption {
        every: arguments.checkpoint_every,
    };
    let (mut every, mut report) = (model.output.every, begin.request.report);
    // What is written stays as it was, unless that is asked for.
    if let Some((_, saved)) = goes_on {
        if arguments.format.is_empty() {
            let named = saved.formats.iter().filter_map(|name| name.parse().ok());
            formats = named.collect();
        }
        // The others are filled again from it.
        formats.push(Format::Csv);
        if arguments.every.is_none() {
            every = saved.every;
        }
        report |= saved.has_report();
    }
    let mut plan = ResultDirectory::new(path, card)
        .formats(&formats)
        .every(every)
        .report(report)
        .checkpoints(identity(model), begin.request.kept(), resumption)
        .force(arguments.force);
    if let Some((_, saved)) = goes_on {
        plan = plan.go_on(saved.clone());
    } else if let Some(checkpoint) = begin.checkpoint() {
        plan = plan.closed(checkpoint.closed.clone());
    }
    plan = plan.select(columns::selection(model));
    if let Some(assembly) = &model.assembly {
        plan = plan.shapes(assembly.clone());
    }
    plan.open().map_err(|error: OutputError| error.to_string())
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

/// Whether a run of `model` can go on from the checkpoint at `path`.
fn fits(path: &Path, checkpoint: &Checkpoint, model: &Model, changed: bool) -> Result<(), String> {
    let scheme = model.scheme.name();
    let place = path.display();
    if checkpoint.scheme != scheme {
        let found = &checkpoint.scheme;
        return Err(format!(
            "{place} was written by scheme `{found}`, this run uses `{scheme}`; add --scheme {found}"
        ));
    }
    checkpoint
        .check(&*model.system, &identity(model), changed)
        .map_err(|error| {
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
            format!("{place}{of} cannot be resumed: {error}{cure}")
        })
}

/// Writes the contact problem of a failed step and the state before it beside the result.
fn archive(
    outcome: &Result<saltus::Run, RunError>,
    model: &Model,
    request: &Request,
    files: &mut ResultWriter,
) {
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
        match SavedRun::of((**checkpoint).clone()).write(&path) {
            Ok(()) => {
                list(files, &name);
                render::note(&format!(
                    "the state before the step is in {}; to take it again:\n    {}",
                    path.display(),
                    request.command(&beside(files.path(), *step), Some(&path)),
                ));
            }
            Err(error) => render::error(&error.to_string()),
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
