//! The verdict of a report: what happened, in one paragraph.

use crate::observe::{ContactStatistics, Outcome};
use crate::report::number::{count, counted, duration, significant};
use saltus_integrators::{Entry, Stop};

/// What happened, in a few sentences.
pub(crate) fn verdict(outcome: &Outcome) -> String {
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
            "{change}; the most that one step gained beyond the work of forces without a potential and of what moves by itself is {gain}, at t = {at}."
        )
    } else {
        format!(
            "{change}, and no step gained any beyond the work of forces without a potential and of what moves by itself."
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
