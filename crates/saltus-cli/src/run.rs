//! `saltus run`: a model file in, a directory with its result out.

use crate::arguments::RunArguments;
use crate::progress::Progress;
use crate::{INTERRUPTED, NOT_WRITTEN, STEP_FAILED, WRONG_INPUT, render, words};
use saltus::observe::StopFlag;
use saltus::output::{Format, OutputError, ResultDirectory, ResultWriter, RunCard};
use saltus::{DriveError, RunError, Selection, Simulation, StepError, Stop};
use saltus_complementarity::archive::Problem;
use saltus_linear::Dense;
use saltus_model::document::OutputFormat;
use saltus_model::{Model, ModelErrors};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

pub fn run(arguments: &RunArguments) -> ExitCode {
    let model = match model(arguments) {
        Ok(model) => model,
        Err(errors) => {
            render::errors(&arguments.model.model, &errors);
            return ExitCode::from(WRONG_INPUT);
        }
    };
    if !arguments.quiet {
        model.notes.iter().for_each(|note| render::note(note));
    }
    let mut files = match directory(arguments, &model) {
        Ok(files) => files,
        Err(error) => {
            render::error(&format!("{error}; nothing was run"));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let stop = stop_on_interrupt();
    let simulation = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until);
    let mut progress = Progress::new(arguments.quiet);
    let outcome = simulation.run(&mut [&mut files, &mut progress, &mut stop.clone()]);
    if !arguments.quiet && files.outcome().is_some() {
        // A closed pipe does not make the result worse.
        let _ = std::io::stdout().write_all(words::summary(&model, &files).as_bytes());
    }
    if arguments.archive_failures {
        archive(&outcome, &files);
    }
    exit_code(outcome, &files)
}

/// The model, checked, for a scheme that can run it.
fn model(arguments: &RunArguments) -> Result<Model, ModelErrors> {
    let model = Model::load(&arguments.model.model, &arguments.overrides())?;
    model.ready()?;
    Ok(model)
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
    // The table of all steps is always there for other tools to read.
    let mut formats = vec![Format::Csv];
    formats.extend(model.output.formats.iter().map(|format| match format {
        OutputFormat::Csv => Format::Csv,
        OutputFormat::Npz => Format::Npz,
        OutputFormat::Hdf5 => Format::Hdf5,
        OutputFormat::Vtk => Format::Vtk,
    }));
    let mut plan = ResultDirectory::new(path, card)
        .formats(&formats)
        .every(model.output.every)
        .report(arguments.report)
        .force(arguments.force);
    if let Some(columns) = &model.columns {
        plan = plan.select(Selection {
            positions: Some(columns.positions.clone()),
            velocities: Some(columns.velocities.clone()),
        });
    }
    if let Some(assembly) = &model.assembly {
        plan = plan.shapes(assembly.clone());
    }
    plan.open()
}

/// The command that repeats this run, as a shell reads it.
fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    let quote = |argument: String| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    let arguments = std::env::args_os()
        .skip(1)
        .map(|argument| quote(argument.to_string_lossy().into_owned()));
    std::iter::once("saltus".to_owned())
        .chain(arguments)
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

/// Writes the contact problem of a failed step beside the result, where there is one.
fn archive(outcome: &Result<saltus::Run, RunError>, files: &ResultWriter) {
    let Err(RunError::Drive(DriveError::Step { step, error, .. })) = outcome else {
        return;
    };
    let StepError::ContactProblem { problem, .. } = error else {
        return;
    };
    let mut matrix = Dense::zeros(problem.q.len(), problem.q.len());
    matrix.as_mut_slice().copy_from_slice(&problem.matrix);
    let kept = Problem::Mixed {
        equalities: problem.equalities,
        matrix,
        q: problem.q.clone(),
    };
    let path = files.path().join(format!("failed-step-{step}.json"));
    match saltus_complementarity::archive::write(&path, &kept) {
        Ok(()) => render::note(&format!("the contact problem is in {}", path.display())),
        Err(error) => render::error(&error.to_string()),
    }
}

fn exit_code(outcome: Result<saltus::Run, RunError>, files: &ResultWriter) -> ExitCode {
    match outcome {
        Ok(run) if run.outcome.stop == Stop::Interrupted => ExitCode::from(INTERRUPTED),
        Ok(_) => ExitCode::SUCCESS,
        Err(RunError::Drive(error @ DriveError::Step { .. })) => {
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
