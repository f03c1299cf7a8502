//! What is legal in a model and probably not meant.

mod grid;
mod shape;

use saltus_linear::{Dense, SquareMatrix};
use saltus_mechanics::flexible::Probe;
use saltus_model::Model;
use saltus_model::document::parts::Material;
use saltus_model::document::{OutputFormat, Quantity as DocumentQuantity};
use saltus_model::number::general;
use saltus_system::{ContactSet, Names, Point, Reach};
use shape::Shape;
use std::collections::HashMap;

pub use shape::bounds;

/// Files above this size are told [bytes].
const LARGE: f64 = 1e9;

/// A step that is longer than so many radians of the fastest motion resolves nothing of it.
const MANY_RADIANS: f64 = 300.0;

/// Gradients of constraints are looked at with up to this many coordinates or constraints.
const MOST_DENSE: usize = 1000;

/// Shapes are looked at in models of up to this many nodes.
const MOST_NODES: usize = 300_000;

/// What is doubtful about `model`, one sentence each.
pub fn doubts(model: &Model) -> Vec<String> {
    let mut doubts = Vec::new();
    doubts.extend(long_step(model));
    doubts.extend(instability(model));
    doubts.extend(crate::check::beyond_stability(model));
    doubts.extend(soft_materials(model));
    doubts.extend(large_output(model));
    doubts.extend(outside_of_domains(model));
    doubts.extend(stop_at_once(model));
    doubts.extend(
        fast_motion(model)
            .filter(|(radians, _)| *radians > MANY_RADIANS)
            .map(|(_, text)| {
                format!("{text}: whatever moves as fast is not resolved by this step")
            }),
    );
    if let Some(assembly) = &model.assembly
        && assembly.node_count() <= MOST_NODES
    {
        let shape = Shape::new(model, assembly);
        doubts.extend(shape.doubled_cells());
        doubts.extend(shape.pieces());
        let coincident = shape.coincident_nodes();
        let merged = coincident.is_none();
        doubts.extend(coincident);
        if merged {
            doubts.extend(shape.hanging_nodes());
        }
        doubts.extend(shape.overlaps());
    }
    doubts
}

/// Coefficients with which a scheme is stable at no step.
pub fn instability(model: &Model) -> Option<String> {
    let why = model.scheme.instability()?;
    let name = model.scheme.name();
    Some(format!("scheme {name} is unstable: {why}"))
}

fn long_step(model: &Model) -> Option<String> {
    let plan = model.plan;
    let span = plan.until - plan.start;
    (span > 0.0 && plan.step > span && !model.scheme.chooses_step()).then(|| {
        format!(
            "the step of {} s is longer than the simulation, which takes {} s: it is one step",
            general(plan.step),
            general(span)
        )
    })
}

/// Slowest wave \[m/s\] in what is as heavy as this [kg/m³]: rock, glass and metals are an order of magnitude faster.
const SLOW: f64 = 100.0;
const HEAVY: f64 = 2000.0;

/// Materials as heavy as metals and softer than rubber: their modulus was likely meant in MPa or GPa.
fn soft_materials(model: &Model) -> Vec<String> {
    let number = |quantity: &DocumentQuantity| match quantity {
        DocumentQuantity::Number(value) => Some(*value),
        DocumentQuantity::Formula(_) => None,
    };
    let materials = model.document.materials.iter();
    let doubt = |(name, material): (&String, &Material)| {
        let young = number(&material.young)?;
        let density = number(&material.density)?;
        let speed = (young / density).sqrt();
        (density > HEAVY && speed < SLOW).then(|| {
            format!(
                "the material \"{name}\" has a modulus of {} Pa with {} kg/m³, in which waves run at {} m/s: is the modulus meant in MPa or GPa?",
                general(young),
                general(density),
                general(format!("{speed:.2e}").parse().unwrap_or(speed))
            )
        })
    };
    materials.filter_map(doubt).collect()
}

/// Number of columns, and the sizes of the files of a run [bytes]: tables and frames.
pub fn output(model: &Model) -> (usize, f64, f64) {
    let names = model.system.names();
    let constraints = names.bilateral.len() + names.contacts.len();
    let coordinates = match &model.columns {
        Some(columns) => columns.positions.len() + columns.velocities.len(),
        None => names.positions.len() + names.velocities.len(),
    };
    let supports: usize = model.supports.iter().map(|support| support.2.len()).sum();
    let probes = model
        .assembly
        .iter()
        .flat_map(|a| Probe::at(a, &model.fields));
    let fields: usize = probes.map(|probe| probe.columns().len()).sum();
    let columns = 5 + coordinates + 4 * constraints + supports + fields + model.quantities.len();
    let rows = model.plan.steps() as f64 / model.output.every as f64 + 1.0;
    let formats = &model.output.formats;
    let binary = formats
        .iter()
        .filter(|f| matches!(f, OutputFormat::Npz | OutputFormat::Hdf5));
    let binary = binary.count() as f64;
    let text = if binary == 0.0 || formats.contains(&OutputFormat::Csv) {
        15.0
    } else {
        0.0
    };
    let table = rows * columns as f64 * (8.0 * binary + text);
    let frames = match &model.assembly {
        Some(assembly) if formats.contains(&OutputFormat::Vtk) => {
            let cells: usize = assembly.groups().iter().map(|group| group.len()).sum();
            // Positions, displacements, velocities; nodes and fields of cells; in base64.
            rows * (11.0 * 100.0 + 110.0 * assembly.node_count() as f64 + 120.0 * cells as f64)
        }
        _ => 0.0,
    };
    (columns, table, frames)
}

/// A number of bytes in words.
pub fn bytes(size: f64) -> String {
    match size {
        s if s >= 1e12 => format!("{:.1} TB", s / 1e12),
        s if s >= 1e9 => format!("{:.1} GB", s / 1e9),
        s if s >= 1e6 => format!("{:.1} MB", s / 1e6),
        s => format!("{:.0} kB", (s / 1e3).ceil()),
    }
}

fn large_output(model: &Model) -> Option<String> {
    let (_, table, frames) = output(model);
    (table + frames > LARGE && !model.scheme.chooses_step()).then(|| {
        format!(
            "the result of all steps takes about {}; `every` in [output], or --every, writes fewer",
            bytes(table + frames)
        )
    })
}

/// Formulas that are not numbers at the start.
fn outside_of_domains(model: &Model) -> Vec<String> {
    let (system, state) = (&*model.system, &model.initial);
    let names = system.names();
    let mut doubts = Vec::new();
    let mut told = |what: String| {
        doubts.push(format!(
            "{what} is not a number at the start: does a formula leave its domain?"
        ));
    };
    if !system.potential_energy(state.t, &state.q).is_finite() {
        told("the potential energy".to_owned());
    }
    let mut g = vec![0.0; system.dims().ng];
    system.g(state.t, &state.q, &mut g);
    for (name, _) in names
        .bilateral
        .iter()
        .zip(&g)
        .filter(|(_, g)| !g.is_finite())
    {
        told(format!("the constraint \"{name}\""));
    }
    let mut set = ContactSet::default();
    system.detect(state.t, &state.q, Reach::All, &mut set);
    for i in (0..set.len()).filter(|&i| !set.gap[i].is_finite()) {
        told(format!("the gap \"{}\"", names.contact(set.id[i])));
    }
    let place = || place(&names, &state.q);
    for i in (0..set.len()).filter(|&i| set.gap[i].is_finite()) {
        let row = set.first_row[i];
        if set.directions.values(row).iter().any(|w| !w.is_finite()) {
            let contact = names.contact(set.id[i]);
            told(format!(
                "the gradient of the gap \"{contact}\", at {},",
                place()
            ));
        }
    }
    if system.dims().ng.max(system.dims().nv) <= MOST_DENSE {
        let mut gradients = Dense::zeros(system.dims().ng, system.dims().nv);
        system.g_jacobian(state.t, &state.q, &mut gradients);
        for (i, name) in names.bilateral.iter().enumerate() {
            if g[i].is_finite() && gradients.row(i).iter().any(|w| !w.is_finite()) {
                told(format!(
                    "the gradient of the constraint \"{name}\", at {},",
                    place()
                ));
            }
        }
    }
    for (name, value) in quantities(model) {
        if value.is_some_and(|value| !value.is_finite()) {
            told(format!("the quantity \"{name}\""));
        }
    }
    doubts
}

/// The first coordinates with their values.
fn place(names: &Names, q: &[f64]) -> String {
    const MOST: usize = 6;
    let mut values: Vec<String> = names
        .positions
        .iter()
        .zip(q)
        .take(MOST)
        .map(|(name, value)| format!("{name} = {}", general(*value)))
        .collect();
    if q.len() > MOST {
        values.push("…".to_owned());
    }
    values.join(", ")
}

/// The quantities at the start, and the condition last; none where one depends on what only a step knows.
fn quantities(model: &Model) -> Vec<(&str, Option<f64>)> {
    let state = &model.initial;
    let names = model.system.names();
    let find = |list: &[String], name: &str| list.iter().position(|known| known == name);
    let mut known: HashMap<&str, f64> = HashMap::from([("t", state.t)]);
    let mut values = Vec::new();
    let condition = model.stop.as_ref().map(saltus_model::Condition::quantity);
    for quantity in model.quantities.iter().chain(condition) {
        let input = |name: &String| match name.split_once('.') {
            Some(("q", name)) => find(&names.positions, name).map(|i| state.q[i]),
            Some(("v", name)) => find(&names.velocities, name).map(|i| state.v[i]),
            _ => known.get(name.as_str()).copied(),
        };
        let inputs: Option<Vec<f64>> = quantity.inputs().iter().map(input).collect();
        let value = inputs.map(|inputs| quantity.evaluate(&inputs));
        if let Some(value) = value {
            known.insert(quantity.name(), value);
        }
        values.push((quantity.name(), value));
    }
    values
}

fn stop_at_once(model: &Model) -> Option<String> {
    let condition = model.stop.as_ref()?;
    let holds = quantities(model).last()?.1? > 0.0;
    holds.then(|| {
        format!(
            "the condition that ends the simulation, {}, holds at the start",
            condition.text()
        )
    })
}

/// By how many radians the fastest motion goes on in a step, and that in words; from the diagonals of `M` and `K`.
pub fn fast_motion(model: &Model) -> Option<(f64, String)> {
    if model.scheme.chooses_step() {
        return None;
    }
    let (system, state) = (&*model.system, &model.initial);
    let n = system.dims().nv;
    if n > MOST_NODES {
        return None;
    }
    let rest = vec![0.0; n];
    let at = Point {
        t: state.t,
        q: &state.q,
        v: &rest,
    };
    let (mut mass, mut stiffness) = (SquareMatrix::new(n), SquareMatrix::new(n));
    system.mass(&state.q, &mut mass);
    system.stiffness(at, &mut stiffness);
    mass.finish();
    stiffness.finish();
    let (mut m, mut k) = (vec![0.0; n], vec![0.0; n]);
    mass.diagonal(&mut m);
    stiffness.diagonal(&mut k);
    let ratio = |i: usize| if m[i] > 0.0 { k[i] / m[i] } else { 0.0 };
    // Rotations of the sections of beams are faster than any wave that matters.
    let rotations = model.assembly.as_ref().map(|assembly| assembly.rotations());
    let turns = |i: &usize| {
        rotations
            .as_ref()
            .is_some_and(|list| list.binary_search(i).is_ok())
    };
    let fastest = (0..n)
        .filter(|i| !turns(i))
        .max_by(|&i, &j| ratio(i).total_cmp(&ratio(j)))?;
    let omega = ratio(fastest).max(0.0).sqrt();
    let radians = omega * model.plan.step;
    let name = system.names().velocities.get(fastest).cloned();
    (radians.is_finite() && omega > 0.0).then(|| {
        let shown = |x: f64| general(format!("{x:.2e}").parse().unwrap_or(x));
        let periods = shown(radians / std::f64::consts::TAU);
        let name = name.unwrap_or_default();
        let waves = match &model.assembly {
            // The fastest wave crosses an element in about 2/ω.
            Some(_) => format!(", waves run through about {} elements", shown(0.5 * radians)),
            None => String::new(),
        };
        let text = format!(
            "in a step the fastest motion, of {name} with about {} rad/s, makes {periods} periods{waves}",
            shown(omega)
        );
        (radians, text)
    })
}
