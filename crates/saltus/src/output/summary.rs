//! `summary.json`: a run in numbers, for scripts.
//!
//! | key | value |
//! | --- | --- |
//! | `format`, `saltus` | version of this format; version of the program |
//! | `model`, `title`, `parameters` | what was simulated |
//! | `notes` | what was changed or noticed before the run, where there is something to say |
//! | `scheme` | its `name` and every option by its name with the value in force; null: not in use, or left out and from the model with one value for each contact or step |
//! | `step`, `start`, `steps`, `last_step`, `t_end` | step \[s\], start \[s\], number of steps, length of the last one \[s\] (less than `step` where it was shortened to end with the run), time reached \[s\] |
//! | `step_range`, `rejected` | of a scheme that chooses its step, for which `step` is the longest allowed: `shortest` and `longest` step \[s\] but for the last one, which ends with the run; number of rejected attempts |
//! | `wall_s`, `step_us` | wall time, observers included, of the run \[s\] and of a step \[µs\] |
//! | `iterations_mean`, `iterations_max` | correction solves of a step |
//! | `remedied` | steps that took more than corrections: raised activation parameters, another linear solve, parts |
//! | `constraints` | `redundant`: most multipliers of a step that are not unique |
//! | `certificate` | per entry that applies: `guaranteed`, `worst` and its `unit`, `at` \[s\], and, if guaranteed, `relative_tolerance`: a share of the scale of the motion, without a unit |
//! | `events` | counts of `impacts`, `closings`, `openings`, `stick`, `slip`, `accumulation`, as the scheme reports them; `first_impact`, `last_impact` \[s\], or null; the `accumulations` with `contact` and `t` \[s\] |
//! | `rest` | `total` time at rest \[s\]; time `since` which nothing moved until the end \[s\], or null |
//! | `energy` | `initial`, `final`, `max_gain` (largest gain of a step beyond external work and that of prescribed motions) and its time `max_gain_at` \[s\], or null, `impacts_that_gain` (steps with an impact, or up to ten after one, that gained more than 1e-4 of the largest kinetic energy and more than any step away from impacts), the largest such gain `impact_gain` and its time `impact_gain_at`; the books: `work_external` of forces without a potential and of potentials that depend on time, `work_contact` of contacts and constraints, its part `work_moving` of walls, belts and supports whose motion is prescribed, `numerical`: what the scheme itself gave, or took where it is negative (`final − initial − work_external − work_contact`), and `numerical_at_impacts`, its part in steps with an impact \[J\] |
//! | `counts` | what else the scheme counted, by name: of located impacts `located_impacts`, `plastic_rebounds`, `fallbacks`, `dropped_rebounds`, `filter_interpolations` and `solves`; of adaptive steps `accepted_at_shortest_step` |
//! | `stop` | `running`, `end-reached`, `condition` (then `stop_condition` says which), `interrupted`, `step-failed` (then `error` says why and `failed_step`, `failed_at` which) or `not-written`: a file could not be written, `error` says which and why |
//! | `files` | what was written beside this file |
//!
//! From the start of a run to its end the file says `"stop": "running"` and holds what is known before the
//! first step: everything down to `start`, and no `steps`; so it does where `stop` is `not-written`.

use crate::observe::Outcome;
use saltus_integrators::{Entry, Plan, RunInfo, Scheme, Stop};
use serde_json::{Map, Value, json};

/// Version of the format of `summary.json`.
pub const SUMMARY_FORMAT: u32 = 1;

/// What was run, in the words of its user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunCard {
    /// The model: path of its file, or a name. Results of another model are not overwritten unasked.
    pub model: String,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its parameters, evaluated.
    pub parameters: Vec<(String, f64)>,
    /// The scheme with all its parameters; its key `name` is the kebab-case name.
    pub scheme: Value,
    /// The command that reproduces the run.
    pub command: Option<String>,
    /// What was changed or noticed before the run, e.g. the projection of an initial state; one sentence each.
    pub notes: Vec<String>,
}

impl RunCard {
    /// A card with the name or path of the model and the scheme, with all options.
    #[must_use]
    pub fn new(model: impl Into<String>, scheme: &Scheme) -> Self {
        Self {
            model: model.into(),
            scheme: Value::Object(scheme.options()),
            ..Self::default()
        }
    }
}

/// The content of `summary.json`; `files` are the names of the files written beside it.
#[must_use]
pub fn summary(card: &RunCard, outcome: &Outcome, files: &[String]) -> Value {
    let mut root = head(
        card,
        outcome.scheme,
        &outcome.resolved_options,
        outcome.plan,
    );
    let body = json!({
        "steps": outcome.steps,
        "last_step": outcome.last_step,
        "t_end": outcome.t_end,
        "wall_s": outcome.wall.as_secs_f64(),
        "step_us": outcome.step_us(),
        "iterations_mean": outcome.iterations_mean(),
        "iterations_max": outcome.iterations.max,
        "remedied": outcome.remedied,
        "constraints": { "redundant": outcome.max_redundant },
        "certificate": certificate(outcome),
        "events": events(outcome),
        "rest": { "total": outcome.rest.total, "since": outcome.rest.since },
        "energy": energy(outcome),
        "counts": outcome.counts.iter().map(|(name, n)| (name.clone(), json!(n))).collect::<serde_json::Map<_, _>>(),
        "stop": stop_name(&outcome.stop),
        "files": files,
    });
    if let Value::Object(body) = body {
        root.extend(body);
    }
    if let Some(range) = outcome.step_range {
        let range = json!({ "shortest": range.shortest, "longest": range.longest });
        root.insert("step_range".into(), range);
        root.insert("rejected".into(), json!(outcome.rejected));
    }
    if let Some(limit) = outcome.stable_step {
        root.insert("stable_step".into(), json!(limit));
    }
    if let Stop::Condition { condition } = &outcome.stop {
        root.insert("stop_condition".into(), json!(condition));
    }
    if let Stop::StepFailed { step, t, error } = &outcome.stop {
        root.insert("error".into(), json!(error.to_string()));
        root.insert("failed_step".into(), json!(step));
        root.insert("failed_at".into(), json!(t));
    }
    Value::Object(root)
}

/// The content of `summary.json` while a run goes on.
pub(crate) fn running(card: &RunCard, info: &RunInfo<'_>, plan: Plan) -> Value {
    let mut root = head(card, info.scheme, info.resolved_options, plan);
    root.insert("stop".into(), json!("running"));
    Value::Object(root)
}

/// The content of `summary.json` of a run that was `running` until something could not be written.
pub(crate) fn not_written(running: &Value, error: &str) -> Value {
    let mut summary = running.clone();
    summary["stop"] = json!("not-written");
    summary["error"] = json!(error);
    summary
}

/// The model of a summary, if it is one.
pub(crate) fn model(text: &str) -> Option<String> {
    let summary: Value = serde_json::from_str(text).ok()?;
    let ours = summary.get("format")?.is_u64() && summary.get("saltus")?.is_string();
    let model = summary.get("model")?.as_str()?;
    ours.then(|| model.to_owned())
}

/// What is known before the first step.
fn head(card: &RunCard, scheme: &str, resolved: &[(&str, f64)], plan: Plan) -> Map<String, Value> {
    let mut root = Map::new();
    let mut insert = |key: &str, value: Value| root.insert(key.to_owned(), value);
    insert("format", json!(SUMMARY_FORMAT));
    insert("saltus", json!(env!("CARGO_PKG_VERSION")));
    insert("model", json!(card.model));
    if let Some(title) = &card.title {
        insert("title", json!(title));
    }
    let parameters = card.parameters.iter().map(|(n, v)| (n.clone(), json!(v)));
    insert("parameters", Value::Object(parameters.collect()));
    if let Some(command) = &card.command {
        insert("command", json!(command));
    }
    if !card.notes.is_empty() {
        insert("notes", json!(card.notes));
    }
    insert("scheme", in_force(card, scheme, resolved));
    insert("step", json!(plan.step));
    insert("start", json!(plan.begin()));
    root
}

/// Most numbers of an option that differs from contact to contact; of more there are the least and the largest.
const MOST_VALUES: usize = 20;

/// The name and the options of a scheme with the numbers that the model gives to those left out.
pub(crate) fn in_force(card: &RunCard, scheme: &str, resolved: &[(&str, f64)]) -> Value {
    let mut options = match &card.scheme {
        Value::Null => json!({ "name": scheme }),
        options => options.clone(),
    };
    for (k, (name, value)) in resolved.iter().enumerate() {
        if resolved[..k].iter().any(|(other, _)| other == name) {
            continue;
        }
        if let Some(left_out) = options.get_mut(name).filter(|value| value.is_null()) {
            let values: Vec<f64> = resolved
                .iter()
                .filter(|(other, _)| other == name)
                .map(|(_, value)| *value)
                .collect();
            let same = |other: &f64| (other - value).abs() <= 1e-12 * value.abs();
            *left_out = if values.iter().all(same) {
                json!(value)
            } else if values.len() <= MOST_VALUES {
                json!(values)
            } else {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                json!({ "least": least, "most": most })
            };
        }
    }
    options
}

/// The word of `summary.json` for how a run ended.
pub(crate) fn stop_name(stop: &Stop) -> &'static str {
    match stop {
        Stop::EndReached => "end-reached",
        Stop::Condition { .. } => "condition",
        Stop::StepFailed { .. } => "step-failed",
        _ => "interrupted",
    }
}

fn certificate(outcome: &Outcome) -> Map<String, Value> {
    let entry = |(entry, worst, at): (Entry, f64, f64)| {
        let tolerance = outcome.guarantees.bound(entry);
        let mut value = json!({
            "guaranteed": tolerance.is_some(),
            "worst": worst,
            "at": at,
            "unit": entry.unit(),
        });
        if let Some(tolerance) = tolerance {
            value["relative_tolerance"] = json!(tolerance);
        }
        (entry.name().to_owned(), value)
    };
    outcome.certificate.iter().map(entry).collect()
}

fn events(outcome: &Outcome) -> Value {
    let events = &outcome.events;
    let accumulation =
        |e: &crate::observe::Event| json!({ "contact": events.contact_name(e.contact), "t": e.t });
    json!({
        "impacts": events.impacts,
        "closings": events.closings,
        "openings": events.openings,
        "stick": events.stick,
        "slip": events.slip,
        "accumulation": events.accumulations,
        "first_impact": events.first_impact,
        "last_impact": events.last_impact,
        "accumulations": events.accumulation_list.iter().map(accumulation).collect::<Vec<_>>(),
    })
}

fn energy(outcome: &Outcome) -> Value {
    let energy = &outcome.energy;
    json!({
        "initial": energy.initial.total(),
        "final": energy.last.total(),
        "max_gain": energy.max_gain,
        "max_gain_at": energy.max_gain_at,
        "impacts_that_gain": energy.impacts_that_gain,
        "impact_gain": energy.impact_gain,
        "impact_gain_at": energy.impact_gain_at,
        "work_external": energy.work_external,
        "work_contact": energy.work_contact,
        "work_moving": energy.work_moving,
        "numerical": energy.numerical(),
        "numerical_at_impacts": energy.numerical_at_impacts,
    })
}
