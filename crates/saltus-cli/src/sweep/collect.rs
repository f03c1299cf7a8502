//! What a sweep collects of each run: by default the last positions and velocities, certificate, counts and energies.

use crate::columns::{selection, stop_when};
use saltus::observe::{Audit, ExtremesRecorder, Outcome, StopFlag};
use saltus::output::{RunCard, summary};
use saltus::{Column, Entry, Observer, Quantity, RunError, Selection, Simulation, Stop};
use saltus_model::{Model, did_you_mean};
use serde_json::Value;

/// Coordinates are collected unasked up to this many.
const MOST_COORDINATES: usize = 24;

/// One collected number.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    /// Of a column of the trajectory: its name, and which of its values.
    Last(String),
    Min(String),
    Max(String),
    /// Of `summary.json`: its path.
    Summary(String),
}

/// The numbers that are collected.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    names: Vec<String>,
    sources: Vec<Source>,
}

/// How a run ended, and its numbers.
#[derive(Debug, Clone)]
pub struct Collected {
    /// `end-reached`, `condition`, `step-failed`, `refused` or `interrupted`.
    pub stop: &'static str,
    pub values: Vec<Option<Number>>,
    pub error: String,
}

/// A number as it is printed: counts without a decimal point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Whole(u64),
    Real(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Real(value) => std::fmt::Debug::fmt(value, f),
        }
    }
}

impl Collection {
    /// The numbers called `names`, or those that are collected unasked, of runs such as those of `model` and of `others`, which may have
    /// other schemes.
    pub fn of(
        names: &[String],
        model: &Model,
        others: impl Iterator<Item = Model>,
    ) -> Result<Self, String> {
        let (columns, first) = begun(model)?;
        if names.is_empty() {
            return Ok(Self::unasked(&columns, model));
        }
        let mut known: Vec<(String, Source)> = sources(&columns, &first).collect();
        for (columns, summary) in others.filter_map(|other| begun(&other).ok()) {
            let new = sources(&columns, &summary).filter(|number| !known.contains(number));
            let new: Vec<_> = new.collect();
            known.extend(new);
        }
        let mut found: Vec<(String, Source)> = Vec::new();
        for pattern in names {
            let mut fitting = known.iter().filter(|(name, _)| matches(pattern, name));
            let first = fitting.next().ok_or_else(|| unknown(pattern, &known))?;
            if pattern.contains('*') {
                for number in std::iter::once(first).chain(fitting) {
                    if !found.contains(number) {
                        found.push(number.clone());
                    }
                }
            } else {
                found.push(first.clone());
            }
        }
        let (names, sources) = found.into_iter().unzip();
        Ok(Self { names, sources })
    }

    fn unasked(columns: &[Column], model: &Model) -> Self {
        let system = &model.system;
        let mut sources: Vec<Source> = ["steps", "t_end"].map(|n| Source::Summary(n.into())).into();
        let coordinates =
            |c: &&Column| matches!(c.quantity(), Quantity::Position | Quantity::Velocity);
        if columns.iter().filter(coordinates).count() <= MOST_COORDINATES {
            let last = columns.iter().filter(coordinates);
            sources.extend(last.map(|c| Source::Last(c.name().to_owned())));
        }
        sources.extend(
            model
                .quantities
                .iter()
                .map(|q| Source::Last(q.name().to_owned())),
        );
        let mut more = vec!["energy.final", "energy.max_gain"];
        let contacts = !system.names().contacts.is_empty();
        if contacts {
            more.extend(["events.impacts", "events.last_impact"]);
        }
        more.push("certificate.dynamics");
        if system.dims().ng > 0 {
            more.extend([
                "certificate.bilateral_position",
                "certificate.bilateral_velocity",
            ]);
        }
        if contacts {
            more.extend(["certificate.penetration", "certificate.impact_law"]);
        }
        sources.extend(more.into_iter().map(|n| Source::Summary(n.to_owned())));
        let names = sources.iter().map(|source| match source {
            Source::Last(name) | Source::Summary(name) => name.clone(),
            Source::Min(name) => format!("min.{name}"),
            Source::Max(name) => format!("max.{name}"),
        });
        Self {
            names: names.collect(),
            sources,
        }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Runs a model and collects.
    pub fn run(&self, model: &Model, stop: &StopFlag) -> Collected {
        let mut audit = Audit::new();
        let mut columns = extremes(model);
        if let Err(errors) = model.permitted() {
            return self.refused(first_line(&errors.to_string()));
        }
        let (mut interrupt, mut condition) = (stop.clone(), stop_when(model));
        let mut observers: Vec<&mut dyn Observer> = vec![&mut audit, &mut columns, &mut interrupt];
        observers.extend(condition.iter_mut().map(|c| c as &mut dyn Observer));
        let result = Simulation::new(&*model.system, model.scheme.clone())
            .start(model.initial.clone())
            .step(model.plan.step)
            .until(model.plan.until)
            .run(&mut observers);
        let (stop, error) = match result {
            Ok(run) if run.outcome.stop == Stop::Interrupted => ("interrupted", String::new()),
            Ok(run) if matches!(run.outcome.stop, Stop::Condition { .. }) => {
                ("condition", String::new())
            }
            Ok(_) => ("end-reached", String::new()),
            Err(error @ RunError::Step { .. }) => ("step-failed", error.to_string()),
            Err(error) => return self.refused(error.to_string()),
        };
        let summary = audit.outcome().map(|outcome| summary_of(model, &outcome));
        Collected {
            stop,
            values: self.values(&columns, &summary.unwrap_or_default()),
            error,
        }
    }

    /// A run that did not begin.
    pub fn refused(&self, error: String) -> Collected {
        Collected {
            stop: "refused",
            values: vec![None; self.names.len()],
            error,
        }
    }

    fn values(&self, columns: &ExtremesRecorder, summary: &Value) -> Vec<Option<Number>> {
        let value = |source: &Source| {
            let number = match source {
                Source::Last(name) => columns.of(name)?.last,
                Source::Min(name) => columns.of(name)?.min,
                Source::Max(name) => columns.of(name)?.max,
                Source::Summary(path) => {
                    let value = find(summary, path)?;
                    return match value.as_u64() {
                        Some(whole) => Some(Number::Whole(whole)),
                        None => value.as_f64().map(Number::Real),
                    };
                }
            };
            (!number.is_nan()).then_some(Number::Real(number))
        };
        self.sources.iter().map(value).collect()
    }
}

fn summary_of(model: &Model, outcome: &Outcome) -> Value {
    summary(&RunCard::new(&model.name, &model.scheme), outcome, &[])
}

/// Follows all coordinates, and what else is a column of a run.
fn extremes(model: &Model) -> ExtremesRecorder {
    ExtremesRecorder::new().select(Selection {
        positions: None,
        velocities: None,
        ..selection(model)
    })
}

/// The columns of a run, and its summary before the first step.
fn begun(model: &Model) -> Result<(Vec<Column>, Value), String> {
    let (mut audit, mut columns) = (Audit::new(), extremes(model));
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.initial.t)
        .run(&mut [&mut audit, &mut columns])
        .map_err(|error| error.to_string())?;
    let summary = audit.outcome().map(|outcome| summary_of(model, &outcome));
    Ok((columns.columns().to_vec(), summary.unwrap_or_default()))
}

/// The value at a path of a summary; of an entry of the certificate the worst.
fn find<'a>(summary: &'a Value, path: &str) -> Option<&'a Value> {
    let value = path
        .split('.')
        .try_fold(summary, |value, key| value.get(key))?;
    match path.split_once('.') {
        Some(("certificate", _)) => value.get("worst"),
        _ => Some(value),
    }
}

/// Every number that can be collected: columns, their extremes, and what a summary has.
fn sources(columns: &[Column], summary: &Value) -> impl Iterator<Item = (String, Source)> {
    let columns = || columns.iter().map(|c| c.name().to_owned());
    let last = columns().map(|name| (name.clone(), Source::Last(name)));
    let max = columns().map(|name| (format!("max.{name}"), Source::Max(name)));
    let min = columns().map(|name| (format!("min.{name}"), Source::Min(name)));
    let entries = Entry::ALL.iter();
    let entries = entries.map(|entry| format!("certificate.{}", entry.name()));
    let told = numbers(summary).into_iter().chain(entries);
    let told = told.map(|name| (name.clone(), Source::Summary(name)));
    let mut sources: Vec<_> = last.chain(told).collect();
    sources.extend(max.chain(min));
    sources.into_iter()
}

/// The paths of the numbers of a summary, but for its certificate.
fn numbers(summary: &Value) -> Vec<String> {
    const GROUPS: [&str; 5] = ["events", "rest", "energy", "constraints", "counts"];
    let mut known = Vec::new();
    for (key, value) in summary.as_object().into_iter().flatten() {
        match value {
            Value::Number(_) if key != "format" => known.push(key.clone()),
            Value::Object(inner) if GROUPS.contains(&key.as_str()) => {
                let numbers = inner.iter().filter(|(_, v)| v.is_number() || v.is_null());
                known.extend(numbers.map(|(k, _)| format!("{key}.{k}")));
            }
            _ => {}
        }
    }
    known
}

/// Whether `name` is `pattern`, in which a `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(rest, &name[at..]))
        }),
    }
}

fn unknown(pattern: &str, known: &[(String, Source)]) -> String {
    let names = known.iter().map(|(name, _)| name.as_str());
    let hint = did_you_mean(pattern, names);
    let told = known
        .iter()
        .filter(|(_, source)| matches!(source, Source::Last(_) | Source::Summary(_)));
    let told: Vec<&str> = told.map(|(name, _)| name.as_str()).collect();
    let counts = known.iter().any(|(name, _)| name.starts_with("counts."));
    let counted = match pattern.starts_with("counts") && !counts {
        true => " (this scheme counts nothing of its own)",
        false => "",
    };
    format!(
        "--collect {pattern}: there is no such number{hint}{counted}; there are {}, and max. and min. of every column; a * stands for any text, as in energy.*",
        told.join(", ")
    )
}

pub fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
