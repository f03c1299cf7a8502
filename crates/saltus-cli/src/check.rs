//! `saltus check`: says everything that is wrong with a model, or what it is.

use crate::arguments::ModelArguments;
use crate::{WRONG_INPUT, render};
use saltus_model::number::general;
use saltus_model::{Model, ModelErrors};
use saltus_system::{
    Constraints, ContactSet, Contacts, Dynamics, ForceKind, Kinematics, MassKind, System,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

/// The audit takes a time that grows with the third power of the number of coordinates.
const MOST_AUDITED: usize = 100;

pub fn run(arguments: &ModelArguments) -> ExitCode {
    match checked(arguments) {
        Ok(model) => {
            // A closed pipe does not make the model wrong.
            let _ = std::io::stdout().write_all(description(&model).as_bytes());
            ExitCode::SUCCESS
        }
        Err(errors) => {
            render::errors(&arguments.model, &errors);
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn checked(arguments: &ModelArguments) -> Result<Model, ModelErrors> {
    let model = Model::load(&arguments.model, &arguments.overrides())?;
    model.ready()?;
    Ok(model)
}

/// The model in a few lines.
fn description(model: &Model) -> String {
    let mut text = match &model.title {
        Some(title) => format!("{}: {title}\n", model.name),
        None => format!("{}\n", model.name),
    };
    let mut line = |what: &str, value: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {what:<14} {value}");
    };
    let (system, state) = (&model.system, &model.initial);
    let names = system.names();
    let dims = system.dims();
    line(
        "coordinates",
        format!("{}: {}", dims.nq, names.positions.join(", ")),
    );
    line("bilateral", counted(&names.bilateral));
    line("unilateral", counted(&names.contacts));
    line("structure", structure(model));
    let plan = model.plan;
    line("scheme", model.scheme.name().to_owned());
    line(
        "time",
        format!(
            "{} s to {} s in {} steps of {} s",
            plan.start,
            plan.until,
            plan.steps(),
            plan.step
        ),
    );
    let kinetic = system.kinetic_energy(&state.q, &state.v);
    let potential = system.potential_energy(state.t, &state.q);
    line(
        "energy",
        format!(
            "kinetic {} J, potential {} J at the start",
            general(kinetic),
            general(potential)
        ),
    );
    let mut contacts = ContactSet::default();
    system.detect(state.t, &state.q, f64::INFINITY, &mut contacts);
    for (i, id) in contacts.id.iter().enumerate() {
        let name = usize::try_from(id.0)
            .ok()
            .and_then(|id| names.contacts.get(id))
            .map_or("", String::as_str);
        let law = contacts.law[i];
        let friction = if law.mu > 0.0 {
            format!(", mu = {}", general(law.mu))
        } else {
            String::new()
        };
        let velocity = contacts.normal_velocity(i, &state.v);
        line(
            "contact",
            format!(
                "{name}: gap {} m, rate {} m/s, e = {}{friction}",
                general(contacts.gap[i]),
                general(velocity),
                general(law.e_n)
            ),
        );
    }
    let mut g = vec![0.0; dims.ng];
    system.g(state.t, &state.q, &mut g);
    for (name, g) in names.bilateral.iter().zip(&g) {
        line("constraint", format!("{name}: g = {} m", general(*g)));
    }
    for note in &model.notes {
        line("note", note.clone());
    }
    for finding in audit(model) {
        line("derivatives", finding);
    }
    text.push_str("The model is in order.\n");
    text
}

/// Every derivative against finite differences, at the initial state and near it.
///
/// The derivatives of formulas are exact, so that a difference means a kink: a table, `abs`, `min`.
fn audit(model: &Model) -> Vec<String> {
    let n = model.system.dims().nv;
    if n > MOST_AUDITED {
        return vec![format!(
            "not compared with finite differences, which takes too long for {n} coordinates"
        )];
    }
    let audit = saltus_system::check::check(&model.system, &model.initial);
    if audit.is_clean() {
        let worst = audit
            .findings
            .iter()
            .fold(0.0_f64, |worst, finding| worst.max(finding.error));
        return vec![format!(
            "agree with finite differences to {worst:.0e} (relative)"
        )];
    }
    let differs =
        |finding: &saltus_system::check::Finding| format!("differ, is there a kink? {finding}");
    audit.failures().map(differs).collect()
}

fn counted(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}", names.len(), names.join(", "))
    }
}

/// What integrators may rely on.
fn structure(model: &Model) -> String {
    let structure = model.system.structure();
    let mass = match structure.mass {
        MassKind::Constant => "constant mass",
        MassKind::Varying => "mass depends on the position",
    };
    let force = match structure.force {
        ForceKind::Affine => "forces are linear",
        ForceKind::General => "forces are nonlinear",
    };
    let mut parts = vec![mass, force];
    if model.system.dims().ng > 0 {
        parts.push(if structure.linear_constraints {
            "constraints are linear"
        } else {
            "constraints are nonlinear"
        });
    }
    if model.system.contact_count() > 0 {
        parts.push(if structure.linear_contacts {
            "gaps are linear"
        } else {
            "gaps are nonlinear"
        });
    }
    parts.join(", ")
}
