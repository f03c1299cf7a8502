//! `saltus check`: says everything that is wrong with a model, or what it is.

use crate::arguments::ModelArguments;
use crate::progress::patiently;
use crate::run::refused;
use crate::{NOT_WRITTEN, WRONG_INPUT, doubts, print, render, words};
use saltus_integrators::Integrator;
use saltus_linear::{Dense, MinimumNorm, dot};
use saltus_mechanics::flexible::{Assembly, GroupView, NodeId};
use saltus_model::number::general;
use saltus_model::{Model, ModelErrors, Size, shorten};
use saltus_system::{ContactSet, ForceKind, MassKind, Names, Reach};
use std::fmt::Write as _;
use std::process::ExitCode;

/// The audit takes a time that grows with the third power of the number of coordinates.
const MOST_AUDITED: usize = 100;

/// The scheme is tried on models of up to this many unknowns: with more, to factorise its matrix takes long.
const MOST_TRIED: usize = 100_000;

/// From this many unknowns on the size is said before the model is built.
const MANY: u64 = 1_000_000;

/// Memory that a model takes without a scheme, measured on boxes of quadrilaterals.
const BYTES_PER_UNKNOWN: f64 = 250.0;

/// Longer lines lose their middle [bytes].
const LONGEST_LINE: usize = 1200;

/// Lists of names and contacts end here.
const MOST_LISTED: usize = 40;

pub fn run(arguments: &ModelArguments) -> ExitCode {
    match checked(arguments) {
        Ok(model) => {
            if let Err(message) = print(&description(&model)) {
                render::error(&message);
                return ExitCode::from(NOT_WRITTEN);
            }
            ExitCode::SUCCESS
        }
        Err(errors) => {
            refused(&arguments.model, &errors);
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn checked(arguments: &ModelArguments) -> Result<Model, ModelErrors> {
    patiently("reading the model", false, || {
        let model =
            Model::load_with_size(&arguments.model, &arguments.changes.overrides(), &announce)?;
        if model.system.dims().nv <= MOST_TRIED {
            model.ready()?;
        } else {
            model.permitted()?;
        }
        Ok(model)
    })
}

/// Says how large a large model is before it is built, so that one need not wait for that.
fn announce(size: Size) {
    if size.unknowns >= MANY {
        eprintln!(
            "{} elements with {} unknowns: to check them takes about {:.1} GB, to simulate them several times as much",
            size.elements,
            size.unknowns,
            BYTES_PER_UNKNOWN * size.unknowns as f64 / 1e9
        );
    }
}

/// The model in a few lines.
fn description(model: &Model) -> String {
    let title = model
        .title
        .as_ref()
        .map_or_else(String::new, |title| format!(": {title}"));
    let (system, state, plan) = (&*model.system, &model.initial, model.plan);
    let names = system.names();
    let kinetic = general(system.kinetic_energy(&state.q, &state.v));
    let potential = general(system.potential_energy(state.t, &state.q));
    let (start, until) = (general(plan.start), general(plan.until));
    let mut lines = flexible(model);
    lines.extend([
        ("coordinates", counted(&names.positions)),
        ("bilateral", counted(&names.bilateral)),
        ("unilateral", counted(&names.contacts)),
        ("structure", structure(model)),
        ("scheme", scheme(model)),
        (
            "time",
            if model.scheme.chooses_step() {
                let most = general(plan.step);
                format!("{start} s to {until} s in steps of at most {most} s")
            } else {
                let steps = words::steps_of(&plan, plan.steps());
                format!("{start} s to {until} s in {steps}")
            },
        ),
        (
            "energy",
            format!("kinetic {kinetic} J, potential {potential} J at the start"),
        ),
    ]);
    lines.extend(outlook(model));
    lines.extend(stability(model).map(|text| ("stability", text)));
    lines.extend(shortened(contacts(model, &names)).map(|text| ("contact", text)));
    lines.extend(shortened(constraints(model, &names)).map(|text| ("constraint", text)));
    lines.extend(redundancy(model).map(|text| ("redundancy", text)));
    lines.extend(model.notes.iter().map(|note| ("note", note.clone())));
    lines.extend(audit(model).into_iter().map(|text| ("derivatives", text)));
    let doubts = doubts::doubts(model);
    let in_order = match doubts.len() {
        0 => "The model is in order.\n",
        1 => "The model is in order; see the warning.\n",
        _ => "The model is in order; see the warnings.\n",
    };
    lines.extend(doubts.into_iter().map(|text| ("warning", text)));
    let mut text = format!("{}{title}\n", model.name);
    for (what, mut value) in lines {
        shorten(&mut value, LONGEST_LINE);
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {what:<14} {value}");
    }
    text.push_str(in_order);
    text
}

/// The largest stable step of an explicit scheme where the step is within it, or what stability forces on the scheme.
fn stability(model: &Model) -> Option<String> {
    let integrator = prepared(model)?;
    let step = model.plan.step;
    match integrator.stable_step() {
        Some(limit) => (step <= limit).then(|| crate::progress::stability(step, limit)),
        None => crate::progress::stiffness(step, integrator.forced_step()?),
    }
}

/// Whether the step is beyond the largest stable one of an explicit scheme.
pub fn beyond_stability(model: &Model) -> Option<String> {
    let limit = prepared(model)?.stable_step()?;
    let step = model.plan.step;
    (step > limit).then(|| crate::progress::stability(step, limit))
}

fn prepared(model: &Model) -> Option<Box<dyn Integrator>> {
    let mut integrator = model.scheme.build().ok()?;
    integrator
        .prepare(&*model.system, &model.initial, model.plan.step)
        .ok()?;
    Some(integrator)
}

/// What flexible parts consist of.
fn flexible(model: &Model) -> Vec<(&'static str, String)> {
    let Some(assembly) = &model.assembly else {
        return Vec::new();
    };
    let mut lines = vec![("nodes", assembly.node_count().to_string())];
    for group in assembly.groups() {
        let noun = if group.len() == 1 {
            "element"
        } else {
            "elements"
        };
        let size = extent(assembly, &group);
        let mass = match group.mass() {
            mass if mass > 0.0 => format!(", {} kg", general(mass)),
            _ => String::new(),
        };
        lines.push((
            "part",
            format!("{}: {} {noun}{mass}{size}", group.name(), group.len()),
        ));
    }
    let dims = model.system.dims();
    lines.push((
        "unknowns",
        format!("{} velocities, {} constraints", dims.nv, dims.ng),
    ));
    lines.push(("mass", format!("{} kg that moves", general(moving(model)))));
    lines
}

/// The box around the stress-free shape of a group, in words.
fn extent(assembly: &Assembly, group: &GroupView<'_>) -> String {
    let mut places = Vec::new();
    let mut dimension = 0;
    for e in 0..group.len() {
        for node in group.nodes(e) {
            dimension = assembly.kind(node).dimension();
            let mut place = [0.0; 3];
            place[..dimension].copy_from_slice(&assembly.reference_position(node)[..dimension]);
            places.push(place);
        }
    }
    if places.len() < 2 {
        return String::new();
    }
    let (low, high) = doubts::bounds(&places);
    let round = |x: f64| format!("{x:.5e}").parse().unwrap_or(x);
    let sides = (0..dimension).map(|c| general(round(high[c] - low[c])));
    format!(", {} m", sides.collect::<Vec<_>>().join(" × "))
}

/// The size of the files, and how far a step goes in the fastest motion.
fn outlook(model: &Model) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if !model.scheme.chooses_step() {
        let (columns, table, frames) = doubts::output(model);
        let mut text = format!("{columns} columns, about {}", doubts::bytes(table));
        if frames > 0.0 {
            let _ = write!(text, ", and about {} of frames", doubts::bytes(frames));
        }
        lines.push(("output", text));
    }
    // Thirty steps in a period need no word.
    let fast = doubts::fast_motion(model).filter(|(radians, _)| *radians > 0.2);
    lines.extend(fast.map(|(_, text)| ("resolution", text)));
    lines
}

/// The mass that is accelerated by a motion of all free nodes along one axis, in the direction that has most of it.
fn moving(model: &Model) -> f64 {
    let Some(assembly) = &model.assembly else {
        return 0.0;
    };
    let kinetic = |axis: usize| {
        let mut v = vec![0.0; model.system.dims().nv];
        for n in 0..assembly.node_count() {
            let node = NodeId(u32::try_from(n).unwrap_or(u32::MAX));
            if axis < assembly.kind(node).dimension()
                && let Some(place) = assembly.velocity_place(node, axis)
            {
                v[place] = 1.0;
            }
        }
        2.0 * model.system.kinetic_energy(&model.initial.q, &v)
    };
    (0..3).map(kinetic).fold(0.0, f64::max)
}

/// The first of many lines, and how many more there are.
fn shortened(mut lines: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut first: Vec<String> = lines.by_ref().take(MOST_LISTED).collect();
    let more = lines.count();
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    first.into_iter()
}

/// Gap, rate and law of every contact at the start.
fn contacts<'a>(model: &'a Model, names: &'a Names) -> impl Iterator<Item = String> + 'a {
    let (system, state) = (&*model.system, &model.initial);
    let mut set = ContactSet::default();
    system.detect(state.t, &state.q, Reach::All, &mut set);
    (0..set.len()).map(move |i| {
        let name = usize::try_from(set.id[i].0)
            .ok()
            .and_then(|id| names.contacts.get(id))
            .map_or("", String::as_str);
        let law = set.law[i];
        let friction = if law.mu > 0.0 {
            format!(", mu = {}", general(law.mu))
        } else {
            String::new()
        };
        let rate = match set.normal_velocity(i, &state.v) {
            rate if rate.is_finite() => format!("rate {} m/s", general(rate)),
            _ => "rate undefined".to_owned(),
        };
        let gap = general(set.gap[i]);
        format!(
            "{name}: gap {gap} m, {rate}, e = {}{friction}",
            general(law.e_n)
        )
    })
}

/// Residual of every bilateral constraint at the start.
fn constraints<'a>(model: &'a Model, names: &'a Names) -> impl Iterator<Item = String> + 'a {
    let mut g = vec![0.0; model.system.dims().ng];
    model.system.g(model.initial.t, &model.initial.q, &mut g);
    names
        .bilateral
        .iter()
        .zip(g)
        .map(|(name, g)| format!("{name}: g = {} m", general(g)))
}

/// How many bilateral constraints follow from the others at the start.
fn redundancy(model: &Model) -> Option<String> {
    let (system, state) = (&*model.system, &model.initial);
    let dims = system.dims();
    if dims.ng == 0 || dims.ng.max(dims.nv) > MOST_AUDITED {
        return None;
    }
    let mut gradients = Dense::zeros(dims.ng, dims.nv);
    system.g_jacobian(state.t, &state.q, &mut gradients);
    for i in 0..dims.ng {
        // The unit of a constraint does not count.
        let size = dot(gradients.row(i), gradients.row(i)).sqrt();
        if size > 0.0 {
            gradients.row_mut(i).iter_mut().for_each(|g| *g /= size);
        }
    }
    let rank = MinimumNorm::default().factorise(&gradients);
    let redundant = u32::try_from(dims.ng - rank).ok().filter(|&n| n > 0)?;
    Some(words::redundant(redundant))
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
    let audit = saltus_system::check::check(&*model.system, &model.initial);
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
        let listed = names.len().min(MOST_LISTED);
        let more = match names.len() - listed {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}: {}{more}", names.len(), names[..listed].join(", "))
    }
}

/// The scheme, and whether it was tried.
fn scheme(model: &Model) -> String {
    let mut name = model.scheme.name().to_owned();
    if let Some(c) = model.scheme.coefficients() {
        let shown = |x: f64| general(format!("{x:.5e}").parse().unwrap_or(x));
        let (alpha_m, alpha_f) = (shown(c.alpha_m), shown(c.alpha_f));
        let (beta, gamma) = (shown(c.beta), shown(c.gamma));
        let _ = write!(
            name,
            " with alpha_m = {alpha_m}, alpha_f = {alpha_f}, beta = {beta}, gamma = {gamma}"
        );
    }
    let n = model.system.dims().nv;
    if n <= MOST_TRIED {
        name
    } else {
        format!("{name}, not tried on {n} unknowns, which takes as long as the start of a run")
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
