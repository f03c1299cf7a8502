//! The words of a report: the verdict in one line, and what happened in one paragraph.

use crate::observe::{ContactStatistics, Outcome};
use crate::report::number::{count, counted, duration, significant};
use saltus_integrators::{Entry, Stop};

/// Energy that the scheme itself may give or take before a reader should look, as a fraction of all that was at work.
const OWN: f64 = 0.01;

/// What a reader needs first.
pub(crate) struct Verdict {
    /// Class in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
    /// One line.
    pub(crate) line: String,
    /// Why a step failed.
    pub(crate) error: Option<String>,
}

/// Done, something to look at, or failed.
pub(crate) fn verdict(outcome: &Outcome) -> Verdict {
    if let Stop::StepFailed { step, t, error } = &outcome.stop {
        return Verdict {
            class: "failed",
            word: "Failed",
            line: format!(
                "in step {}, which starts at t = {}; what is shown ends there.",
                count(*step),
                seconds(*t)
            ),
            error: Some(error.to_string()),
        };
    }
    let doubts = doubts(outcome);
    let (class, word) = if doubts.is_empty() {
        ("done", "Done")
    } else {
        ("look", "Look")
    };
    let mut parts = doubts;
    parts.push(format!(
        "{} to t = {}",
        counted(outcome.steps, "step"),
        seconds(outcome.t_end)
    ));
    if outcome.events.impacts > 0 {
        parts.push(counted(outcome.events.impacts, "impact"));
    }
    let energy = &outcome.energy;
    parts.push(format!(
        "energy {} → {}",
        joules(energy.initial.total()),
        joules(energy.last.total())
    ));
    Verdict {
        class,
        word,
        line: format!("{}.", parts.join(" · ")),
        error: None,
    }
}

/// What somebody should look at before trusting a run that did not fail.
fn doubts(outcome: &Outcome) -> Vec<String> {
    let mut doubts = Vec::new();
    if outcome.stop == Stop::Interrupted {
        doubts.push("interrupted".to_owned());
    }
    let energy = &outcome.energy;
    if energy.impacts_that_gain > 0 {
        doubts.push(format!(
            "impacts add energy, {} at worst",
            joules(energy.impact_gain)
        ));
    }
    let own = energy.numerical();
    let moved = outcome.rest.since.is_none_or(|t| t > outcome.plan.begin());
    if moved && own.abs() > OWN * energy.at_work() {
        let verb = if own > 0.0 { "added" } else { "took" };
        doubts.push(format!("the scheme itself {verb} {}", joules(own.abs())));
    }
    if let Some(n) = outcome.count("accepted_at_shortest_step") {
        let steps = counted(n, "step");
        doubts.push(format!("{steps} accepted at the shortest length"));
    }
    if let Some(n) = outcome.count("dropped_rebounds") {
        let rebounds = counted(n, "rebound");
        doubts.push(format!(
            "{rebounds} dropped in steps with too many impacts, with their energy: take a shorter step or more `max_impacts`"
        ));
    }
    doubts
}

/// What happened, in a few sentences.
pub(crate) fn account(outcome: &Outcome) -> String {
    [
        course(outcome),
        impacts(outcome),
        rest(outcome),
        energy(outcome),
        impact_gain(outcome),
        certificate(outcome),
    ]
    .into_iter()
    .filter(|sentence| !sentence.is_empty())
    .collect::<Vec<_>>()
    .join(" ")
}

fn seconds(t: f64) -> String {
    format!("{}\u{a0}s", significant(t, 6))
}

fn joules(energy: f64) -> String {
    format!("{}\u{a0}J", significant(energy, 4))
}

fn course(outcome: &Outcome) -> String {
    let h = match outcome.step_range {
        Some(_) => lengths(outcome),
        None => seconds(outcome.plan.step),
    };
    let (steps, scheme, end) = (
        counted(outcome.steps, "step"),
        outcome.scheme,
        seconds(outcome.t_end),
    );
    match &outcome.stop {
        Stop::StepFailed { step, t, error } => format!(
            "Step {} of {} with scheme {scheme}, which starts at t = {}, failed: {error}. What is shown ends there.",
            count(*step),
            seconds(outcome.plan.step),
            seconds(*t)
        ),
        Stop::EndReached => format!(
            "The run reached its end at t = {end} after {steps} of {} with scheme {scheme}, {} of wall time each.",
            lengths(outcome),
            duration(1e-6 * outcome.step_us())
        ),
        Stop::Condition { condition } => format!(
            "The run ended at t = {end}, where {condition}, after {steps} of {h} with scheme {scheme}."
        ),
        _ => format!(
            "The run was interrupted at t = {end}, after {steps} of {h} with scheme {scheme}."
        ),
    }
}

/// The length of the steps of a run that reached its end, which shortens the last one where it must.
fn lengths(outcome: &Outcome) -> String {
    if let Some(range) = outcome.step_range {
        let (shortest, longest) = (seconds(range.shortest), seconds(range.longest));
        let rejected = counted(outcome.rejected, "rejected attempt");
        return format!("chosen lengths from {shortest} to {longest}, after {rejected},");
    }
    let plan = &outcome.plan;
    match plan.last() {
        last if last == plan.step => seconds(plan.step),
        last if outcome.steps == 1 => seconds(last),
        last => format!("{} (the last one {})", seconds(plan.step), seconds(last)),
    }
}

fn impacts(outcome: &Outcome) -> String {
    let events = &outcome.events;
    let (Some(first), Some(last)) = (events.first_impact, events.last_impact) else {
        return match (events.contacts.is_empty(), outcome.max_active) {
            (true, 0) => String::new(),
            (_, 0) => "No contact closed.".to_owned(),
            _ if events.closings > 0 => format!(
                "There was no impact: {} without one.",
                match events.closings {
                    1 => "a contact closed once".to_owned(),
                    n => format!("contacts closed {n} times"),
                }
            ),
            _ => "There was no impact: what carries an impulse touched from the start.".to_owned(),
        };
    };
    let when = if first == last {
        format!("at t = {}", seconds(first))
    } else {
        format!(
            "the first at t = {}, the last at t = {}",
            seconds(first),
            seconds(last)
        )
    };
    let hit: Vec<_> = events.contacts.iter().filter(|c| c.impacts > 0).collect();
    let place = match hit.as_slice() {
        [one] => format!(" at {}", one.name),
        [] => String::new(),
        many => format!(" at {}", counted(many.len() as u64, "contact")),
    };
    let were = if events.impacts == 1 { "was" } else { "were" };
    format!(
        "There {were} {}{place}, {when}{}.",
        counted(events.impacts, "impact"),
        accumulations(&hit)
    )
}

fn accumulations(hit: &[&ContactStatistics]) -> String {
    let ended: Vec<_> = hit
        .iter()
        .filter_map(|c| c.accumulation.map(|t| (c.name.as_str(), t)))
        .collect();
    match ended.as_slice() {
        [] => String::new(),
        [(name, t)] => format!("; those at {name} accumulate at t = {}", seconds(*t)),
        many => format!(
            "; at {} they accumulate",
            counted(many.len() as u64, "contact")
        ),
    }
}

fn rest(outcome: &Outcome) -> String {
    match outcome.rest.since {
        Some(_) if outcome.steps == 0 => String::new(),
        Some(t) if t <= outcome.plan.begin() => "Nothing moved.".to_owned(),
        Some(t) => format!("Nothing has moved since t = {}.", seconds(t)),
        None => "The run ended in motion.".to_owned(),
    }
}

fn energy(outcome: &Outcome) -> String {
    let energy = &outcome.energy;
    let (initial, last) = (energy.initial.total(), energy.last.total());
    let change = if initial == last {
        format!("The total energy is {} at both ends", joules(initial))
    } else {
        format!(
            "The total energy went from {} to {}",
            joules(initial),
            joules(last)
        )
    };
    if energy.max_gain > 0.0 {
        let (gain, at) = (joules(energy.max_gain), seconds(energy.max_gain_at));
        format!(
            "{change}; the most that one step gained beyond external work and that of prescribed motions is {gain}, at t = {at}."
        )
    } else {
        format!(
            "{change}, and no step gained any beyond external work and that of prescribed motions."
        )
    }
}

/// Warns of impacts that add energy.
fn impact_gain(outcome: &Outcome) -> String {
    let energy = &outcome.energy;
    if energy.impacts_that_gain == 0 {
        return String::new();
    }
    format!(
        "Impacts add energy: {} with an impact or after one gained, worst {} at t = {}. With a restitution of at most 1 no impact does that; it is an error of the scheme or of its step.",
        counted(energy.impacts_that_gain, "step"),
        joules(energy.impact_gain),
        seconds(energy.impact_gain_at)
    )
}

fn certificate(outcome: &Outcome) -> String {
    let deepest = outcome
        .certificate
        .iter()
        .find(|(entry, _, _)| *entry == Entry::Penetration);
    match deepest {
        Some((_, 0.0, _)) => "Nothing penetrated.".to_owned(),
        Some((_, depth, at)) => {
            format!(
                "The deepest penetration was {}\u{a0}m, at t = {}.",
                significant(depth, 3),
                seconds(at)
            )
        }
        None => String::new(),
    }
}
