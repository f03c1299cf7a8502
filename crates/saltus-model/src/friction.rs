//! Friction and constraints on velocities that the scheme does not solve: found in the laws, whatever the initial state.

use crate::build::path;
use crate::definition::{Definition, Scope};
use crate::diagnostic::Diagnostic;
use crate::document::{Document, System};
use crate::findings::Findings;
use crate::number::general;
use crate::suggest;
use saltus_integrators::Scheme;

/// Refuses every contact and joint with friction, and every constraint on velocities, if the scheme does not solve it.
pub(crate) fn check(
    document: &Document,
    system: &System,
    definition: &Definition,
    scope: &Scope,
    findings: &mut Findings<'_>,
) {
    // About a scheme that stands in for a wrong name there is nothing to say.
    if findings.touched(&path(["simulation", "scheme"])) {
        return;
    }
    let Some(scheme) = document.simulation.scheme.scheme() else {
        return;
    };
    if scheme.solves_friction() {
        return;
    }
    for (k, contact) in definition.unilateral.iter().enumerate() {
        let place = path(["system", "unilateral"]).index(k).key("friction");
        let Some(friction) = &contact.friction else {
            continue;
        };
        let mu = scope.evaluate(friction).ok();
        if mu.is_some_and(|mu| mu <= 0.0) || findings.touched(&place) {
            continue;
        }
        let name = &system.unilateral[k].name;
        let message = format!(
            "contact \"{name}\" has friction, which the scheme \"{}\" does not solve",
            scheme.name()
        );
        let diagnostic = Diagnostic::new(message)
            .label(mu.map_or_else(
                || "depends on the motion".to_owned(),
                |mu| format!("mu = {}", general(mu)),
            ))
            .help(cure(&solvers()));
        findings.refuse(&place, diagnostic);
    }
    joints(definition, &scheme, findings);
}

/// Refuses dry friction in joints and constraints on velocities.
fn joints(definition: &Definition, scheme: &Scheme, findings: &mut Findings<'_>) {
    for (k, element) in definition.friction.iter().enumerate() {
        let message = format!(
            "\"{}\" is dry friction in a joint, which the scheme \"{}\" does not solve",
            element.name,
            scheme.name()
        );
        let diagnostic = Diagnostic::new(message)
            .label("is not solved")
            .help(choose("remove it", &solvers()));
        findings.refuse(&path(["system", "friction"]).index(k), diagnostic);
    }
    for (k, constraint) in definition.bilateral.iter().enumerate() {
        let place = path(["system", "bilateral"]).index(k).key("velocity");
        if !constraint.on_velocity || findings.touched(&place) {
            continue;
        }
        let message = format!(
            "the bilateral constraint \"{}\" is one on velocities, which the scheme \"{}\" does not solve",
            constraint.name,
            scheme.name()
        );
        let diagnostic = Diagnostic::new(message)
            .label("is not solved")
            .help(choose("remove it", &solvers()));
        findings.refuse(&place, diagnostic);
    }
}

/// The schemes that solve friction.
fn solvers() -> Vec<&'static str> {
    Scheme::ALL
        .iter()
        .map(|info| info.name)
        .filter(|name| Scheme::by_name(name).is_some_and(|scheme| scheme.solves_friction()))
        .collect()
}

/// What to do about friction, if these schemes solve it.
fn cure(solvers: &[&str]) -> String {
    match solvers {
        [] => "set friction = 0 or remove it; no scheme solves friction yet".to_owned(),
        solvers => format!(
            "set friction = 0 or remove it, or choose a scheme that solves friction: {}",
            suggest::list(solvers.iter().copied())
        ),
    }
}

/// The schemes that solve it, beside another way out.
fn choose(remove: &str, solvers: &[&str]) -> String {
    let list = suggest::list(solvers.iter().copied());
    format!("{remove}, or choose a scheme that solves it: {list}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_names_the_schemes_there_are() {
        assert_eq!(
            cure(&[]),
            "set friction = 0 or remove it; no scheme solves friction yet"
        );
        assert_eq!(
            cure(&["a", "b"]),
            "set friction = 0 or remove it, or choose a scheme that solves friction: \"a\", \"b\""
        );
    }
}
