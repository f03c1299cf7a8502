//! What a sweep collects of each run: by default the last positions and velocities, certificate, counts and energies.

use saltus::observe::{Audit, ExtremesWatch, Outcome, StopFlag};
use saltus::output::{RunCard, summary};
use saltus::{Column, Entry, Quantity, RunError, Simulation, Stop};
use saltus_model::Model;
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
    /// `end-reached`, `step-failed`, `refused` or `interrupted`.
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
    /// The numbers called `names`, or those that are collected unasked, of runs such as those of `model`.
    pub fn of(names: &[String], model: &Model) -> Result<Self, String> {
        let (columns, begun) = begun(model)?;
        if names.is_empty() {
            return Ok(Self::unasked(&columns, model));
        }
        let known = |name: &str| columns.iter().any(|c| c.name() == name);
        let source = |name: &String| {
            if known(name) {
                return Ok(Source::Last(name.clone()));
            }
            match name.split_once('.') {
                Some(("max", column)) if known(column) => return Ok(Source::Max(column.into())),
                Some(("min", column)) if known(column) => return Ok(Source::Min(column.into())),
                _ => {}
            }
            let entry = name.strip_prefix("certificate.");
            let entry = entry.is_some_and(|e| Entry::ALL.iter().any(|entry| entry.name() == e));
            if entry || find(&begun, name).is_some_and(|v| v.is_number() || v.is_null()) {
                return Ok(Source::Summary(name.clone()));
            }
            Err(unknown(name, &columns, &begun))
        };
        Ok(Self {
            sources: names.iter().map(source).collect::<Result<_, _>>()?,
            names: names.to_vec(),
        })
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
        let mut columns = ExtremesWatch::new();
        if let Err(errors) = model.permitted() {
            return self.refused(first_line(&errors.to_string()));
        }
        let result = Simulation::new(&*model.system, model.scheme.clone())
            .start(model.initial.clone())
            .step(model.plan.step)
            .until(model.plan.until)
            .run(&mut [&mut audit, &mut columns, &mut stop.clone()]);
        let (stop, error) = match result {
            Ok(run) if run.outcome.stop == Stop::Interrupted => ("interrupted", String::new()),
            Ok(_) => ("end-reached", String::new()),
            Err(error @ RunError::Step { .. }) => ("step-failed", error.to_string()),
            Err(error) => return self.refused(error.to_string()),
        };
        let summary = audit.outcome().map(|outcome| told(model, &outcome));
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

    fn values(&self, columns: &ExtremesWatch, summary: &Value) -> Vec<Option<Number>> {
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

fn told(model: &Model, outcome: &Outcome) -> Value {
    summary(&RunCard::new(&model.name, &model.scheme), outcome, &[])
}

/// The columns of a run, and its summary before the first step.
fn begun(model: &Model) -> Result<(Vec<Column>, Value), String> {
    let (mut audit, mut columns) = (Audit::new(), ExtremesWatch::new());
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.initial.t)
        .run(&mut [&mut audit, &mut columns])
        .map_err(|error| error.to_string())?;
    let summary = audit.outcome().map(|outcome| told(model, &outcome));
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

fn unknown(name: &str, columns: &[Column], summary: &Value) -> String {
    let mut known: Vec<String> = columns.iter().map(|c| c.name().to_owned()).collect();
    for (key, value) in summary.as_object().into_iter().flatten() {
        match value {
            Value::Number(_) => known.push(key.clone()),
            Value::Object(inner)
                if ["events", "rest", "energy", "constraints"].contains(&key.as_str()) =>
            {
                let numbers = inner.iter().filter(|(_, v)| v.is_number() || v.is_null());
                known.extend(numbers.map(|(k, _)| format!("{key}.{k}")));
            }
            _ => {}
        }
    }
    known.retain(|name| name != "format");
    known.extend(
        Entry::ALL
            .iter()
            .map(|e| format!("certificate.{}", e.name())),
    );
    format!(
        "--collect {name}: there is no such number; there are {}, and max. and min. of every column",
        known.join(", ")
    )
}

pub fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
