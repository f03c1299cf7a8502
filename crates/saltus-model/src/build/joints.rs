//! Bilateral constraints and dry friction in joints: from the document to formulas, and what the schema cannot say about them.

use super::{formula, path, slip};
use crate::definition::{BilateralDefinition, Formula, FrictionDefinition, Source};
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::{Bilateral, Friction, System, Tangential};
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_system::FrictionBound;

pub(super) fn bilateral(
    system: &System,
    names: Vec<String>,
    findings: &mut Findings<'_>,
) -> Vec<BilateralDefinition> {
    let at = path(["system", "bilateral"]);
    let mut one = |((k, constraint), name): ((usize, &Bilateral), String)| {
        let at = at.index(k);
        let (g, on_velocity) = match (&constraint.g, &constraint.velocity) {
            (Some(g), velocity) => {
                if velocity.is_some() {
                    let diagnostic =
                        Diagnostic::new("the constraint is given twice: by \"g\" and by \"velocity\"")
                            .label("\"g\" is given too")
                            .help("remove one of the two: g is kept at zero with its rate, velocity is a rate alone");
                    findings.at(&at.key("velocity"), diagnostic);
                }
                (formula(g, &at.key("g")), false)
            }
            (None, Some(velocity)) => (formula(velocity, &at.key("velocity")), true),
            (None, None) => {
                if !findings.touched(&at.key("g")) && !findings.touched(&at.key("velocity")) {
                    let diagnostic = Diagnostic::new(format!("missing key \"g\" in {at}"))
                        .label("what it keeps at zero is not given")
                        .help("give g, a formula of the coordinates, or velocity, linear in the velocities");
                    findings.at(&at, diagnostic);
                }
                (nothing(&at), false)
            }
        };
        BilateralDefinition {
            name,
            g,
            on_velocity,
        }
    };
    system
        .bilateral
        .iter()
        .enumerate()
        .zip(names)
        .map(&mut one)
        .collect()
}

/// Stands for a formula that is missing and was reported.
fn nothing(place: &Path) -> Formula {
    Formula {
        source: Source::Number(f64::NAN),
        place: place.to_string(),
    }
}

/// Reports at `place`, unless it is mended.
fn complain(place: &Path, message: String, label: &str, help: &str, findings: &mut Findings<'_>) {
    let diagnostic = Diagnostic::new(message).label(label).help(help);
    findings.at(place, diagnostic);
}

pub(super) fn friction(
    one: &Friction,
    name: String,
    system: &System,
    at: &Path,
    findings: &mut Findings<'_>,
) -> FrictionDefinition {
    let slip = slip(&one.tangential, &one.tangential_velocity, at, findings);
    if one.tangential.is_none() && one.tangential_velocity.is_none() {
        complain(
            at,
            format!("friction \"{name}\" has no tangential direction"),
            "needs \"tangential\" or \"tangential_velocity\"",
            "for example tangential = \"theta\", the angle of the joint",
            findings,
        );
    }
    let mut bound = FrictionBound::Force;
    let coefficient = match (&one.friction, &one.dry_friction) {
        (Some(mu), fixed) => {
            if fixed.is_some() {
                complain(
                    &at.key("dry_friction"),
                    format!("the bound of friction \"{name}\" is given twice"),
                    "\"friction\" is given too",
                    "remove one: friction is a coefficient, dry_friction a force",
                    findings,
                );
            }
            bound = carried(one, system, at, findings);
            formula(mu, &at.key("friction"))
        }
        (None, Some(force)) => {
            if !one.carried_by.is_empty() {
                complain(
                    &at.key("carried_by"),
                    format!("friction \"{name}\" has a fixed bound"),
                    "means nothing without a coefficient",
                    "remove it, or give friction instead of dry_friction",
                    findings,
                );
            }
            let directions = |t: &Option<Tangential>| t.as_ref().map_or(0, |t| t.as_slice().len());
            if directions(&one.tangential).max(directions(&one.tangential_velocity)) > 1 {
                complain(
                    &at.key("dry_friction"),
                    format!("friction \"{name}\" has two directions and a fixed bound"),
                    "bounds one direction",
                    "write one [[system.friction]] for each direction",
                    findings,
                );
            }
            formula(force, &at.key("dry_friction"))
        }
        (None, None) => {
            complain(
                at,
                format!("friction \"{name}\" has no bound"),
                "needs \"friction\" or \"dry_friction\"",
                "give a coefficient friction with carried_by, or a force dry_friction",
                findings,
            );
            nothing(at)
        }
    };
    FrictionDefinition {
        name,
        place: at.to_string(),
        tangential: slip.0,
        tangential_velocity: slip.1,
        coefficient,
        bound,
    }
}

/// The constraints whose forces carry the joint, as successive rows.
fn carried(
    one: &Friction,
    system: &System,
    at: &Path,
    findings: &mut Findings<'_>,
) -> FrictionBound {
    let name = &one.name;
    let place = at.key("carried_by");
    let known = || system.bilateral.iter().map(|c| c.name.as_str());
    let mut rows: Vec<usize> = Vec::new();
    for (k, carrier) in one.carried_by.iter().enumerate() {
        match known().position(|known| known == carrier) {
            Some(row) => rows.push(row),
            None => {
                let message = format!(
                    "unknown bilateral constraint \"{carrier}\"{}",
                    suggest::did_you_mean(carrier, known())
                );
                let help = format!("the bilateral constraints are {}", suggest::list(known()));
                complain(&place.index(k), message, "carries nothing", &help, findings);
            }
        }
    }
    if one.carried_by.is_empty() {
        complain(
            at,
            format!("friction \"{name}\" has a coefficient, but nothing carries it"),
            "needs \"carried_by\"",
            "name the bilateral constraints of the joint, or give a fixed bound by dry_friction",
            findings,
        );
    }
    rows.sort_unstable();
    let first = rows.first().copied().unwrap_or(0);
    if rows.iter().enumerate().any(|(k, row)| *row != first + k) {
        complain(
            &place,
            format!("the constraints that carry friction \"{name}\" are not neighbours"),
            "other constraints lie between them",
            "list the constraints of a joint one after the other in [[system.bilateral]], and each once here",
            findings,
        );
    }
    FrictionBound::Reaction {
        first,
        count: rows.len(),
    }
}
