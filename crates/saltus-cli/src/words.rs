//! A run in a few words and numbers, for the terminal.

use saltus::observe::{EnergyAudit, Outcome, StepRange};
use saltus::output::ResultWriter;
use saltus::{Entry, PROOF, Plan, Stop};
use saltus_model::Model;
use saltus_model::number::general;
use std::fmt::Write as _;

/// Shares of the energy below this are not told: rounding of many steps.
const ROUND_OFF: f64 = 1e-11;

/// What happened in the run whose result is in `files`.
pub fn summary(model: &Model, files: &ResultWriter) -> String {
    let mut text = String::new();
    let Some(outcome) = files.outcome() else {
        return text;
    };
    let title = model
        .title
        .as_ref()
        .map_or_else(String::new, |title| format!(": {title}"));
    let mut line = |value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{value}");
    };
    line(format!("{}{title}", model.name));
    line(format!("  {}", steps(outcome)));
    line(format!("  {}", impacts(outcome)));
    // Where no step was taken there is nothing to say about steps.
    if outcome.steps > 0 {
        line(format!("  {}", rest(outcome)));
    }
    line(format!("  {}", energy(outcome)));
    if outcome.steps > 0 {
        line(format!("  {}", iterations(outcome)));
    }
    if outcome.remedied > 0 {
        let steps = count(outcome.remedied, "step", "steps");
        line(format!(
            "  {steps} took a remedy, such as another linear solve or smaller parts"
        ));
    }
    if let Some(counts) = counts(outcome) {
        line(format!("  {counts}"));
    }
    if outcome.max_redundant > 0 {
        line(format!("  {}", redundant(outcome.max_redundant)));
    }
    if outcome.steps > 0 {
        line("  certificate, worst of all steps:".to_owned());
    }
    for (entry, worst, at) in outcome.certificate.iter() {
        line(format!("    {}", certificate(outcome, entry, worst, at)));
    }
    if let Some(tolerance) = outcome.guarantees.declined() {
        line(format!(
            "  a tolerance of {} guarantees nothing; {} or less does",
            general(tolerance),
            general(PROOF)
        ));
    }
    let step = general(three_digits(outcome.step_us()));
    line(format!(
        "  {step} µs per step, {} s in all",
        general(three_digits(outcome.wall.as_secs_f64()))
    ));
    let names: Vec<String> = files
        .files()
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    line(format!(
        "  written to {}: {}",
        files.path().display(),
        names.join(", ")
    ));
    text
}

fn steps(outcome: &Outcome) -> String {
    let plan = outcome.plan;
    let taken = match outcome.step_range {
        Some(range) => chosen(outcome, range),
        None => steps_of(&plan, outcome.steps),
    };
    let how = format!("{taken} with {}", outcome.scheme);
    let when = format!(
        "from {} s to {} s",
        general(plan.begin()),
        general(outcome.t_end)
    );
    let end = match &outcome.stop {
        Stop::EndReached => String::new(),
        Stop::Condition { condition } => format!(", where {condition}"),
        Stop::StepFailed { .. } => ", where a step failed".to_owned(),
        _ => ", where it was interrupted".to_owned(),
    };
    format!("{how}, {when}{end}")
}

/// The steps of a scheme that chooses their lengths.
fn chosen(outcome: &Outcome, range: StepRange) -> String {
    let steps = count(outcome.steps, "step", "steps");
    let (shortest, longest) = (
        general(three_digits(range.shortest)),
        general(three_digits(range.longest)),
    );
    let mut text = format!("{steps} of {shortest} s to {longest} s");
    if outcome.rejected > 0 {
        let rejected = count(outcome.rejected, "rejected attempt", "rejected attempts");
        let _ = write!(text, " after {rejected}");
    }
    text
}

/// The first `taken` steps of `plan` and their lengths.
pub fn steps_of(plan: &Plan, taken: u64) -> String {
    let (step, last) = (general(plan.step), general(plan.last()));
    let whole = plan.first + taken < plan.steps() || plan.last() == plan.step;
    match taken {
        1 if !whole => format!("1 step of {last} s"),
        _ if !whole => format!("{taken} steps of {step} s, the last one of {last} s"),
        _ => format!("{} of {step} s", count(taken, "step", "steps")),
    }
}

/// How many multipliers of constraints are not determined by the motion.
pub fn redundant(most: u32) -> String {
    let multipliers = if most == 1 {
        "1 multiplier is"
    } else {
        &format!("{most} multipliers are")
    };
    format!("constraints are redundant: up to {multipliers} not unique")
}

fn impacts(outcome: &Outcome) -> String {
    let events = &outcome.events;
    let (Some(first), Some(last)) = (events.first_impact, events.last_impact) else {
        return match events.closings {
            0 => "no impacts".to_owned(),
            n => format!(
                "no impacts, {} without one",
                count(n, "closing", "closings")
            ),
        };
    };
    let mut text = count(events.impacts, "impact", "impacts");
    if first == last {
        let _ = write!(text, " at {} s", general(first));
    } else {
        let _ = write!(
            text,
            " between {} s and {} s",
            general(first),
            general(last)
        );
    }
    for event in events.accumulation_list.iter().take(3) {
        let _ = write!(
            text,
            "; they accumulate on \"{}\" at {} s",
            events.contact_name(event.contact),
            general(event.t)
        );
    }
    if events.accumulations > 3 {
        let _ = write!(text, " and {} times more", events.accumulations - 3);
    }
    text
}

fn rest(outcome: &Outcome) -> String {
    let rest = outcome.rest;
    match rest.since {
        Some(since) => format!(
            "at rest for {} s, since {} s until the end",
            general(rest.total),
            general(since)
        ),
        None if rest.total > 0.0 => format!(
            "at rest for {} s, in motion at the end",
            general(rest.total)
        ),
        None => "never at rest".to_owned(),
    }
}

fn energy(outcome: &Outcome) -> String {
    let energy = &outcome.energy;
    let (first, last) = (
        general(energy.initial.total()),
        general(energy.last.total()),
    );
    let mut text = format!("energy {first} J at the start, {last} J at the end");
    if energy.max_gain > 0.0 {
        let gain = general(three_digits(energy.max_gain));
        let _ = write!(
            text,
            ", largest gain of a step {gain} J at {} s",
            general(energy.max_gain_at)
        );
    }
    if energy.impacts_that_gain > 0 {
        let _ = write!(
            text,
            "\n  impacts add energy: {}, worst gain {} J at {} s",
            count(energy.impacts_that_gain, "step", "steps"),
            general(three_digits(energy.impact_gain)),
            general(energy.impact_gain_at)
        );
    }
    if let Some(books) = books(energy) {
        let _ = write!(text, "\n  {books}");
    }
    text
}

/// Where the energy came from and went to; nothing where all of it is round-off.
fn books(energy: &EnergyAudit) -> Option<String> {
    let parts = [
        (energy.work_external, "by external work"),
        (energy.work_moving, "by prescribed motions"),
        (energy.dissipated(), "in contacts and constraints"),
        (energy.numerical(), "by the scheme itself"),
    ];
    let ends = [energy.initial, energy.last];
    let size = ends.map(|e| e.kinetic.abs() + e.potential.abs());
    let size = parts
        .iter()
        .fold(size[0].max(size[1]), |m, p| m.max(p.0.abs()));
    let large = |x: f64| x.abs() > ROUND_OFF * size;
    let signed = |x: f64| {
        let sign = if x > 0.0 { "+" } else { "" };
        format!("{sign}{} J", general(three_digits(x)))
    };
    let told: Vec<String> = parts
        .iter()
        .filter(|(work, _)| large(*work))
        .map(|(work, what)| format!("{} {what}", signed(*work)))
        .collect();
    if told.is_empty() {
        return None;
    }
    let mut text = format!("energy books: {}", told.join(", "));
    if large(energy.numerical()) && large(energy.numerical_at_impacts) {
        let _ = write!(
            text,
            ", of which {} in steps with an impact",
            signed(energy.numerical_at_impacts)
        );
    }
    Some(text)
}

/// What else the scheme counted.
fn counts(outcome: &Outcome) -> Option<String> {
    let counts = outcome.counts.iter().filter(|(_, n)| *n > 0);
    let told: Vec<String> = counts
        .map(|(name, n)| format!("{n} {}", name.replace('_', " ")))
        .collect();
    let mut text = format!("counted: {}", told.join(", "));
    if outcome.count("dropped_rebounds").is_some() {
        text += "\n  steps with too many impacts ended without rebounds, whose energy is lost: take a shorter step or more `max_impacts`";
    }
    (!told.is_empty()).then_some(text)
}

fn iterations(outcome: &Outcome) -> String {
    if outcome.iterations.max == 0 {
        return "no step needed a correction of Newton's method".to_owned();
    }
    let mean = general(three_digits(outcome.iterations_mean()));
    format!(
        "corrections of Newton's method per step: {mean} in the mean, {} at most",
        outcome.iterations.max
    )
}

fn certificate(outcome: &Outcome, entry: Entry, worst: f64, at: f64) -> String {
    let word = if outcome.guarantees.bound(entry).is_some() {
        "guaranteed"
    } else {
        "measured"
    };
    let value = format!("{} {}", general(three_digits(worst)), entry.unit());
    let at = if worst == 0.0 {
        String::new()
    } else {
        format!("at {} s", general(at))
    };
    format!("{:<26} {value:<16} {word:<11} {at}", entry.name())
        .trim_end()
        .to_owned()
}

/// A number and the noun that fits it.
pub fn count(n: u64, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_with_their_lengths() {
        let words = |step, until, taken| steps_of(&Plan::new(0.0, step, until), taken);
        assert_eq!(words(10.0, 4.0, 1), "1 step of 4 s");
        assert_eq!(
            words(0.3, 1.0, 4),
            "4 steps of 0.3 s, the last one of 0.1 s"
        );
        assert_eq!(words(0.3, 1.0, 3), "3 steps of 0.3 s");
        assert_eq!(words(0.1, 1.0, 10), "10 steps of 0.1 s");
        assert_eq!(words(1.0, 1.0, 1), "1 step of 1 s");
        assert_eq!(words(10.0, 4.0, 0), "0 steps of 10 s");
    }

    #[test]
    fn redundant_multipliers_are_counted() {
        assert_eq!(
            redundant(2),
            "constraints are redundant: up to 2 multipliers are not unique"
        );
        assert_eq!(
            redundant(1),
            "constraints are redundant: up to 1 multiplier is not unique"
        );
    }
}
