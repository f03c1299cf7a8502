//! `saltus sweep`: many runs of one model, one table of what came out.

mod collect;
mod points;
mod table;

use crate::arguments::SweepArguments;
use crate::progress::Counter;
use crate::run::refused;
use crate::words::count;
use crate::{INTERRUPTED, NOT_WRITTEN, WRONG_INPUT, print, render, signals};
use collect::{Collected, Collection, first_line};
use points::Points;
use saltus::fingerprint;
use saltus::observe::StopFlag;
use saltus::output::{DirectoryLock, Format};
use saltus_model::{Model, ModelErrors, Template};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use table::Table;

/// Why a sweep did not begin.
enum Refusal {
    Model(ModelErrors),
    Words(String),
}

impl From<String> for Refusal {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

/// A sweep that is about to begin.
struct Sweep {
    template: Template,
    points: Points,
    collection: Collection,
    table: Table,
    formats: Vec<Format>,
    /// Number of threads.
    jobs: usize,
    _lock: DirectoryLock,
}

pub fn run(arguments: &SweepArguments, stop: &StopFlag) -> ExitCode {
    let mut sweep = match prepare(arguments) {
        Ok(sweep) => sweep,
        Err(Refusal::Model(errors)) => {
            refused(&arguments.model, &errors);
            return ExitCode::from(WRONG_INPUT);
        }
        Err(Refusal::Words(message)) => {
            render::error(&format!("{message}; nothing was run"));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    signals::full_disk_is_an_error();
    signals::begin();
    let outcome = all_runs(&mut sweep, stop, arguments.quiet);
    let told = outcome.and_then(|()| conclude(&mut sweep, arguments.quiet));
    if let Err(message) = told {
        render::error(&message);
        return ExitCode::from(NOT_WRITTEN);
    }
    if sweep.table.done() < sweep.points.total() {
        return ExitCode::from(INTERRUPTED);
    }
    ExitCode::SUCCESS
}

fn prepare(arguments: &SweepArguments) -> Result<Sweep, Refusal> {
    let points = Points::of(arguments)?;
    let formats = formats(&arguments.format)?;
    let template = Template::read(&arguments.model).map_err(Refusal::Model)?;
    let model = first_model(&template, &points)?;
    let others = points.schemes();
    let others = others.iter().filter_map(|&k| {
        let other = template.model(&points.point(k).1).ok()?;
        other.ready().is_ok().then_some(other)
    });
    let collection = Collection::of(&arguments.collect, &model, others)?;
    let header: Vec<String> = ["run"]
        .into_iter()
        .chain(points.paths())
        .chain(["stop"])
        .chain(collection.names().iter().map(String::as_str))
        .chain(["error"])
        .map(str::to_owned)
        .collect();
    let directory = match &arguments.out {
        Some(out) => out.clone(),
        None => PathBuf::from("out").join(format!("{}-sweep", model.name)),
    };
    let place = directory.display();
    std::fs::create_dir_all(&directory)
        .map_err(|e| format!("cannot create `{place}`: {e}; choose another with --out"))?;
    let lock = DirectoryLock::take(&directory).map_err(|e| e.to_string())?;
    let description = description(arguments, &template, &model, &header);
    let table = Table::open(&directory, &description, &header, arguments.force)?;
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    Ok(Sweep {
        jobs: arguments.jobs.map_or_else(cores, |jobs| jobs.get()),
        template,
        points,
        collection,
        table,
        formats,
        _lock: lock,
    })
}

fn formats(names: &[String]) -> Result<Vec<Format>, String> {
    let format = |name: &String| match name.parse() {
        Ok(format @ (Format::Csv | Format::Npz | Format::Hdf5)) => Ok(format),
        _ => Err(format!(
            "--format {name}: a table of runs has the formats csv, npz and hdf5"
        )),
    };
    names.iter().map(format).collect()
}

/// A model of the sweep that is in order: the first one, that in the middle, or the last one.
fn first_model(template: &Template, points: &Points) -> Result<Model, Refusal> {
    let last = points.total() - 1;
    let model = |k: usize| {
        let model = template.model(&points.point(k).1)?;
        model.ready()?;
        Ok::<_, ModelErrors>(model)
    };
    model(0)
        .or_else(|errors| model(last / 2).or_else(|_| model(last)).map_err(|_| errors))
        .map_err(Refusal::Model)
}

/// What makes two sweeps the same.
fn description(
    arguments: &SweepArguments,
    template: &Template,
    model: &Model,
    header: &[String],
) -> Value {
    json!({
        "format": 1,
        "saltus": env!("CARGO_PKG_VERSION"),
        "model": model.name,
        "file": fingerprint(template.text()),
        "scheme": arguments.scheme,
        "step": arguments.step,
        "until": arguments.until,
        "set": arguments.set,
        "random": arguments.random,
        "seed": arguments.random.map(|_| arguments.seed),
        "columns": header,
    })
}

/// A run that has ended.
struct Ended {
    number: usize,
    varied: Vec<String>,
    collected: Collected,
}

impl Ended {
    fn row(self) -> Vec<String> {
        let Collected {
            stop,
            values,
            error,
        } = self.collected;
        let mut row = vec![self.number.to_string()];
        row.extend(self.varied);
        row.push(stop.to_owned());
        let cell = |value: Option<collect::Number>| value.map_or(String::new(), |v| v.to_string());
        row.extend(values.into_iter().map(cell));
        row.push(error.replace(['\n', '\r'], " "));
        row
    }
}

/// Runs what is not in the table yet, on all threads.
fn all_runs(sweep: &mut Sweep, stop: &StopFlag, quiet: bool) -> Result<(), String> {
    let Sweep {
        template,
        points,
        collection,
        table,
        jobs,
        ..
    } = sweep;
    let (total, first) = (points.total(), table.done());
    let next = AtomicUsize::new(first);
    let (sender, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..(*jobs).min(total - first) {
            let (sender, next) = (sender.clone(), &next);
            let (template, points, collection) = (&*template, &*points, &*collection);
            scope.spawn(move || {
                while !stop.is_raised() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        return;
                    }
                    let (varied, changes) = points.point(number);
                    let collected = match template.model(&changes) {
                        Ok(model) => collection.run(&model, stop),
                        Err(errors) => collection.refused(first_line(&errors.to_string())),
                    };
                    let of = Ended {
                        number,
                        varied,
                        collected,
                    };
                    if of.collected.stop == "interrupted" || sender.send(of).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let result = gather(table, &ended, total, quiet);
        if result.is_err() {
            stop.raise();
        }
        result
    })
}

/// Writes the rows in the order of their numbers, whoever ends first.
fn gather(
    table: &mut Table,
    ended: &Receiver<Ended>,
    total: usize,
    quiet: bool,
) -> Result<(), String> {
    const PERIOD: Duration = Duration::from_millis(100);
    let mut waiting: BTreeMap<usize, Ended> = BTreeMap::new();
    let mut counter = Counter::new(quiet, "runs", table.done(), total);
    loop {
        match ended.recv_timeout(PERIOD) {
            Ok(run) => {
                waiting.insert(run.number, run);
                while let Some(run) = waiting.remove(&table.done()) {
                    table.push(&run.row())?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        table.flush()?;
        counter.set(table.done());
    }
    counter.finish();
    Ok(())
}

/// Completes the table where all runs have ended, and says what there is.
fn conclude(sweep: &mut Sweep, quiet: bool) -> Result<(), String> {
    let Sweep {
        table,
        points,
        template,
        formats,
        ..
    } = sweep;
    let (done, total) = (table.done(), points.total());
    let mut files = Vec::new();
    if done >= total {
        table.complete()?;
        let model = template.name();
        for format in formats.iter().filter(|f| **f != Format::Csv) {
            files.push(table.write(*format, model)?);
        }
    }
    if quiet {
        return Ok(());
    }
    let runs = |n: usize| count(n as u64, "run", "runs");
    let counts = table.stops()?;
    let words = [
        "to the end",
        "with a step that failed",
        "refused",
        "to the condition",
    ];
    let parts: Vec<String> = counts
        .iter()
        .zip(words)
        .filter(|(n, _)| **n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    let rest = match total - done {
        0 => String::new(),
        left => format!(", {left} to go: the same command goes on"),
    };
    files.insert(0, table.path().to_owned());
    let names: Vec<String> = files.iter().map(|f| name(f)).collect();
    let folder = table.path().parent().unwrap_or(Path::new("")).display();
    print(&format!(
        "{}: {}{rest}\n  written to {folder}: {}\n",
        runs(done),
        parts.join(", "),
        names.join(", ")
    ))
}

fn name(file: &Path) -> String {
    file.file_name()
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}
