//! Friction and constraints on velocities that the scheme does not solve: found in the laws, whatever the initial state.

use crate::build::path;
use crate::definition::{Definition, Scope};
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::{Document, System};
use saltus_document::number::general;
use saltus_document::suggest;
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
    if !scheme.solves_joint_friction() {
        joints(definition, &scheme, findings);
    }
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
            .help(choose(
                "set friction = 0 or remove it",
                &scheme,
                Scheme::solves_friction,
            ));
        findings.refuse(&place, diagnostic);
    }
    constraints_on_velocities(definition, &scheme, findings);
}

/// Refuses dry friction in joints.
fn joints(definition: &Definition, scheme: &Scheme, findings: &mut Findings<'_>) {
    for (k, element) in definition.friction.iter().enumerate() {
        let message = format!(
            "\"{}\" is dry friction in a joint, which the scheme \"{}\" does not solve",
            element.name,
            scheme.name()
        );
        let diagnostic = Diagnostic::new(message).label("is not solved").help(choose(
            "remove it",
            scheme,
            Scheme::solves_joint_friction,
        ));
        findings.refuse(&path(["system", "friction"]).index(k), diagnostic);
    }
}

/// Refuses constraints on velocities.
fn constraints_on_velocities(
    definition: &Definition,
    scheme: &Scheme,
    findings: &mut Findings<'_>,
) {
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
        let diagnostic = Diagnostic::new(message).label("is not solved").help(choose(
            "remove it",
            scheme,
            Scheme::solves_friction,
        ));
        findings.refuse(&place, diagnostic);
    }
}

/// The ways out: `remove` it, a scheme that `solves` it, or another method of this one.
fn choose(remove: &str, scheme: &Scheme, solves: fn(&Scheme) -> bool) -> String {
    let can = |name: &&str| Scheme::by_name(name).is_some_and(|scheme| solves(&scheme));
    let own = scheme.name();
    let others = Scheme::ALL.iter().map(|info| info.name);
    let list = suggest::list(others.filter(can).filter(|name| *name != own));
    let mut text = format!("{remove}, or choose a scheme that solves it: {list}");
    if can(&own) {
        text += &format!("; \"{own}\" does with its default `method`");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_names_the_schemes_that_solve_it() {
        let scheme = |name: &str| Scheme::by_name(name).unwrap_or_else(|| unreachable!());
        let joints = choose(
            "remove it",
            &scheme("splitting"),
            Scheme::solves_joint_friction,
        );
        assert!(joints.contains("\"moreau-jean\"") && !joints.contains("event-driven"));
        let own = choose(
            "remove it",
            &scheme("half-explicit"),
            Scheme::solves_friction,
        );
        assert!(
            own.contains("\"event-driven\", \"moreau-jean-projected\"; \"half-explicit\" does")
        );
    }
}
