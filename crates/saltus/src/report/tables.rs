//! The tables of a report.

use crate::observe::{EventKind, Outcome};
use crate::output::{RunCard, in_force};
use crate::report::number::{count, digits, duration, significant};
use crate::report::page::escape;
use saltus_integrators::{Entry, PROOF};
use serde_json::Value;
use std::fmt::Write;

/// Impacts that are listed one by one.
const LISTED: usize = 20;
/// Contacts that are listed one by one.
const CONTACTS: usize = 40;

/// Key numbers, in three groups, and what those of the energy mean.
pub(crate) fn key_numbers(outcome: &Outcome) -> String {
    let (events, energy) = (&outcome.events, &outcome.energy);
    let joules = |e: f64| format!("{}\u{a0}J", significant(e, 4));
    let seconds = |t: f64| format!("{}\u{a0}s", significant(t, 6));
    let mut run = vec![("Steps", count(outcome.steps))];
    match outcome.step_range {
        None => run.push(("Length of a step", seconds(outcome.plan.step))),
        Some(range) => run.extend([
            ("Shortest step", seconds(range.shortest)),
            ("Longest step", seconds(range.longest)),
            ("Rejected attempts", count(outcome.rejected)),
        ]),
    }
    run.extend([
        ("Time reached", seconds(outcome.t_end)),
        (
            "Corrections per step",
            significant(outcome.iterations_mean(), 3),
        ),
        ("Most in one step", count(u64::from(outcome.iterations.max))),
        ("Wall time", duration(outcome.wall.as_secs_f64())),
        ("Wall time per step", duration(1e-6 * outcome.step_us())),
    ]);
    if outcome.remedied > 0 {
        run.push(("Steps with a remedy", count(outcome.remedied)));
    }
    if outcome.max_redundant > 0 {
        run.push((
            "Redundant constraints",
            count(u64::from(outcome.max_redundant)),
        ));
    }
    let mut contacts = vec![
        ("Impacts", count(events.impacts)),
        ("Openings", count(events.openings)),
        ("Accumulations", count(events.accumulations)),
    ];
    for (name, n) in [
        ("Closings", events.closings),
        ("Slip to stick", events.stick),
        ("Stick to slip", events.slip),
    ] {
        if n > 0 {
            contacts.push((name, count(n)));
        }
    }
    contacts.extend([
        ("Most closed at once", count(u64::from(outcome.max_active))),
        ("Time at rest", seconds(outcome.rest.total)),
        (
            "At rest since",
            outcome.rest.since.map_or_else(|| "–".to_owned(), seconds),
        ),
    ]);
    let energies = [
        ("At the start", joules(energy.initial.total())),
        ("At the end", joules(energy.last.total())),
        ("External work", joules(energy.work_external)),
        ("Work of reactions", joules(energy.work_contact)),
        ("of it by prescribed motions", joules(energy.work_moving)),
        ("By the scheme itself", joules(energy.numerical())),
        ("Largest gain", joules(energy.max_gain)),
    ];
    format!(
        "<div class=\"keys\">{}{}{}</div>\
         <p class=\"note\">External work is that of forces without a potential, damping included, and of potentials that depend on time. The largest gain is that of the \
         total energy in a step beyond external work and the work of prescribed motions.</p>",
        key_group("Run", &run),
        key_group("Contacts", &contacts),
        key_group("Energy", &energies)
    )
}

fn key_group(heading: &str, items: &[(&str, String)]) -> String {
    let mut html = format!("<div><h3>{heading}</h3><dl>");
    for (name, value) in items {
        let _ = write!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    html + "</dl></div>"
}

/// The certificate: every entry that applies.
pub(crate) fn certificate(outcome: &Outcome) -> String {
    let mut html =
        "<table><thead><tr><th>Entry</th><th>Status</th><th class=\"n\">Worst</th><th>Unit</th>\
                    <th class=\"n\">At t [s]</th></tr></thead><tbody>"
            .to_owned();
    let mut any = false;
    for (entry, worst, at) in outcome.certificate.iter() {
        any = true;
        let status = match outcome.guarantees.bound(entry) {
            Some(tolerance) => format!(
                "guaranteed<br><small>to {}, relative</small>",
                significant(tolerance, 3)
            ),
            None => "measured".to_owned(),
        };
        let _ = write!(
            html,
            "<tr><td>{}<br><small>{}</small></td><td>{status}</td><td class=\"n\">{}</td><td>{}</td>\
             <td class=\"n\">{}</td></tr>",
            title(entry),
            entry.meaning(),
            digits(worst, 3),
            entry.unit(),
            if worst == 0.0 {
                "–".to_owned()
            } else {
                significant(at, 6)
            },
        );
    }
    if let Some(tolerance) = outcome.guarantees.declined() {
        let _ = write!(
            html,
            "<tr><td colspan=\"5\">A tolerance of {} guarantees nothing; {} or less does.</td></tr>",
            significant(tolerance, 3),
            significant(PROOF, 3),
        );
    }
    if any {
        html + "</tbody></table>"
    } else {
        "<p>No entry applies.</p>".to_owned()
    }
}

fn title(entry: Entry) -> String {
    let name = entry.name().replace('_', " ");
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// What happened at each contact, and the first impacts one by one; empty where there are no contacts.
pub(crate) fn events(outcome: &Outcome) -> String {
    let events = &outcome.events;
    if events.contacts.is_empty() && events.list.is_empty() {
        return String::new();
    }
    let time = |t: Option<f64>| t.map_or_else(|| "–".to_owned(), |t| significant(t, 6));
    let mut html = String::new();
    if !events.contacts.is_empty() {
        html.push_str(
            "<table><thead><tr><th>Contact</th><th class=\"n\">Impacts</th><th class=\"n\">First [s]</th>\
             <th class=\"n\">Last [s]</th><th class=\"n\">Accumulates [s]</th><th class=\"n\">Closed [s]</th>\
             <th class=\"n\">Largest impulse [N·s]</th><th class=\"n\">Total [N·s]</th></tr></thead><tbody>",
        );
        for contact in events.contacts.iter().take(CONTACTS) {
            let _ = write!(
                html,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                escape(&contact.name),
                count(contact.impacts),
                time(contact.first_impact),
                time(contact.last_impact),
                time(contact.accumulation),
                digits(contact.closed_time, 4),
                digits(contact.largest_impulse, 4),
                digits(contact.total_impulse, 4),
            );
        }
        html.push_str("</tbody></table>");
        if events.contacts.len() > CONTACTS {
            let _ = write!(
                html,
                "<p class=\"note\">The first {CONTACTS} of {} contacts.</p>",
                events.contacts.len()
            );
        }
    }
    html + &impacts(outcome)
}

fn impacts(outcome: &Outcome) -> String {
    let events = &outcome.events;
    let mut rows = String::new();
    let mut listed = 0;
    for event in events
        .list
        .iter()
        .filter(|e| e.kind == EventKind::Impact)
        .take(LISTED)
    {
        listed += 1;
        let _ = write!(
            rows,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td></tr>",
            count(event.step),
            significant(event.t, 6),
            escape(&events.contact_name(event.contact)),
            digits(event.velocity_before, 4),
            digits(event.velocity_after, 4),
            digits(event.impulse, 4),
        );
    }
    if rows.is_empty() {
        return String::new();
    }
    let total = events.impacts;
    let which = if total > listed {
        format!("First {listed} of {} impacts", count(total))
    } else {
        "Impacts".to_owned()
    };
    let note = "Where the scheme locates impacts inside a step, velocities are those just before and just after; else those at the two ends of \
                the step. All events are in <code>events.csv</code>.";
    format!(
        "<h3>{which}</h3><table><thead><tr><th class=\"n\">Step</th><th class=\"n\">Time [s]</th><th>Contact</th>\
         <th class=\"n\">Gap velocity before [m/s]</th><th class=\"n\">after [m/s]</th><th class=\"n\">Impulse [N·s]</th>\
         </tr></thead><tbody>{rows}</tbody></table><p class=\"note\">{note}</p>"
    )
}

/// Parameters of the model and of the scheme.
pub(crate) fn parameters(card: &RunCard, outcome: &Outcome) -> String {
    let mut model = String::new();
    for (name, value) in &card.parameters {
        let _ = write!(
            model,
            "<tr><td><code>{}</code></td><td class=\"n\">{}</td></tr>",
            escape(name),
            exact(*value)
        );
    }
    let mut scheme = format!(
        "<tr><td>name</td><td class=\"n\">{}</td></tr><tr><td>step [s]</td><td class=\"n\">{}</td></tr>\
         <tr><td>start [s]</td><td class=\"n\">{}</td></tr><tr><td>until [s]</td><td class=\"n\">{}</td></tr>",
        escape(outcome.scheme),
        exact(outcome.plan.step),
        exact(outcome.plan.begin()),
        exact(outcome.plan.until),
    );
    let options = in_force(card, outcome.scheme, &outcome.resolved_options);
    flatten("", &options, &mut |name, value| {
        if name != "name" {
            let _ = write!(
                scheme,
                "<tr><td><code>{}</code></td><td class=\"n\">{}</td></tr>",
                escape(name),
                escape(value)
            );
        }
    });
    let model = if model.is_empty() {
        String::new()
    } else {
        format!("<table><caption>Model</caption><tbody>{model}</tbody></table>")
    };
    format!(
        "<div class=\"pair\">{model}<table><caption>Scheme</caption><tbody>{scheme}</tbody></table></div>"
    )
}

/// Every digit of a number.
fn exact(x: f64) -> String {
    crate::report::number::minus(zmij::Buffer::new().format(x).trim_end_matches(".0"))
}

/// The leaves of a JSON value with their dotted names; what is not set is left out.
fn flatten(name: &str, value: &Value, each: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name}.{key}")
                };
                flatten(&name, value, each);
            }
        }
        Value::Null => (),
        Value::String(text) => each(name, text),
        Value::Number(number) => each(
            name,
            &number.as_f64().map_or_else(|| number.to_string(), exact),
        ),
        other => each(name, &other.to_string()),
    }
}
