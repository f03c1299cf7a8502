//! `saltus modes`: eigenfrequencies and shapes of a model about its start.

use crate::arguments::ModesArguments;
use crate::progress::patiently;
use crate::run::refused;
use crate::{NOT_WRITTEN, WRONG_INPUT, print_output, render, words};
use saltus::output::write_shapes;
use saltus_linear::max_abs;
use saltus_mechanics::flexible::{Assembly, NodeId};
use saltus_mechanics::modes::{Mode, Modes, modes};
use saltus_model::Model;
use saltus_model::number::general;
use saltus_system::State;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Drawn shapes are this large, as a share of the model.
const DRAWN: f64 = 0.1;

/// Accelerations of the start above this are told [m/s²].
const AT_REST: f64 = 1e-4;

pub fn run(arguments: &ModesArguments) -> ExitCode {
    let path = &arguments.model.model;
    let load = || Model::load(path, &arguments.model.changes.overrides());
    let model = match patiently("reading the model", false, load) {
        Ok(model) => model,
        Err(errors) => {
            refused(path, &errors);
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let count = arguments.count.get();
    let find = || modes(&*model.system, &model.initial, count);
    let found = match patiently("finding the modes", false, find) {
        Ok(found) => found,
        Err(error) => {
            render::error(&format!("{}: {error}", path.display()));
            return ExitCode::from(WRONG_INPUT);
        }
    };
    notes(&model, &found)
        .iter()
        .for_each(|note| render::note(note));
    let mut text = table(&model, &found);
    if let Some(folder) = &arguments.out {
        match write(folder, &model, &found) {
            Ok(files) => {
                let _ = writeln!(text, "written to {}: {files}", folder.display());
            }
            Err(error) => {
                render::error(&error);
                return ExitCode::from(NOT_WRITTEN);
            }
        }
    }
    print_output(&text)
}

fn notes(model: &Model, found: &Modes) -> Vec<String> {
    let mut notes = Vec::new();
    if found.acceleration > AT_REST {
        let most = general(digits(found.acceleration));
        notes.push(format!(
            "the start is no equilibrium: from rest it accelerates by up to {most} m/s² or rad/s²; the modes are those of the motion linearised there"
        ));
    }
    if found.closed > 0 {
        let contacts = words::count(found.closed as u64, "closed contact", "closed contacts");
        notes.push(format!(
            "{contacts} of the start do not count: the modes are those of the open system"
        ));
    }
    if found.asymmetry > 0.0 {
        let share = general(digits(found.asymmetry));
        notes.push(format!(
            "forces that follow the motion make the stiffness unsymmetric, by {share} of its size: modes may flutter, and damping is not told"
        ));
    }
    if found.gyroscopic && found.list.iter().any(|mode| mode.quarter_later.is_some()) {
        notes.push("gyroscopic forces count: shapes that whirl have a second column in shapes.csv, a quarter of a period later".to_owned());
    }
    if found.gyroscopic_left_out {
        let size = words::count(model.initial.v.len() as u64, "coordinate", "coordinates");
        notes.push(format!(
            "gyroscopic forces are left out, which shifts frequencies and may change what is stable: {size} are too many to solve with them"
        ));
    }
    if model.initial.v.iter().any(|v| *v != 0.0) {
        notes.push("velocities of the start do not count".to_owned());
    }
    notes
}

/// Six digits are enough to read.
fn digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn table(model: &Model, found: &Modes) -> String {
    let title = model.title.as_ref();
    let title = title.map_or_else(String::new, |title| format!(": {title}"));
    let mut text = format!("{}{title}\n", model.name);
    let _ = writeln!(
        text,
        "{:>6}  {:>14}  {:>14}  {:>14}  {:>14}",
        "mode", "frequency [Hz]", "ω [rad/s]", "period [s]", "damping ratio"
    );
    for (k, mode) in found.list.iter().enumerate() {
        let cell = |value: f64| general(digits(value));
        let omega = mode.omega();
        let (period, ratio) = match mode.damping_ratio {
            Some(ratio) => (cell(TAU / omega), cell(ratio)),
            None if mode.growth() > 0.0 => {
                let flutters = if omega > 0.0 { "flutters, " } else { "" };
                let rate = cell(mode.growth());
                (format!("{flutters}grows by e^({rate} t)"), String::new())
            }
            None if mode.growth() < 0.0 => {
                let rate = cell(mode.growth());
                (format!("flutters, decays by e^({rate} t)"), String::new())
            }
            None if omega > 0.0 => (cell(TAU / omega), String::new()),
            None => ("rigid".to_owned(), String::new()),
        };
        let line = format!(
            "{:>6}  {:>14}  {:>14}  {period:>14}  {ratio:>14}",
            k + 1,
            cell(omega / TAU),
            cell(omega)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The files, and their names.
fn write(folder: &Path, model: &Model, found: &Modes) -> Result<String, String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create `{}`: {error}", folder.display()))?;
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))
    };
    put("modes.csv", numbers(&found.list))?;
    put("shapes.csv", shapes(model, &found.list))?;
    let mut files = "modes.csv, shapes.csv".to_owned();
    if let Some(assembly) = &model.assembly {
        let path = folder.join("shapes.pvd");
        write_shapes(
            &path,
            assembly.clone(),
            &drawn(model, assembly, &found.list),
        )
        .map_err(|error| error.to_string())?;
        files.push_str(", shapes.pvd, vtk/");
    }
    Ok(files)
}

fn numbers(list: &[Mode]) -> String {
    let mut text = String::from("mode,eigenvalue,omega,frequency,period,damping_ratio,growth\n");
    for (k, mode) in list.iter().enumerate() {
        let omega = mode.omega();
        let period = if omega > 0.0 {
            format!("{}", TAU / omega)
        } else {
            String::new()
        };
        let ratio = mode.damping_ratio.map(|ratio| format!("{ratio}"));
        let _ = writeln!(
            text,
            "{},{},{omega},{},{period},{},{}",
            k + 1,
            mode.eigenvalue,
            omega / TAU,
            ratio.unwrap_or_default(),
            mode.growth()
        );
    }
    text
}

/// One line per velocity coordinate, one column per mode and a second one where it whirls, the largest entry of each being 1.
fn shapes(model: &Model, list: &[Mode]) -> String {
    let mut text = String::from("coordinate");
    let mut columns: Vec<(&[f64], f64)> = Vec::new();
    for (k, mode) in list.iter().enumerate() {
        let _ = write!(text, ",mode {}", k + 1);
        let scale = largest(&mode.shape);
        columns.push((&mode.shape, scale));
        if let Some(later) = &mode.quarter_later {
            let _ = write!(text, ",mode {} a quarter later", k + 1);
            columns.push((later, scale));
        }
    }
    text.push('\n');
    for (i, name) in model.system.names().velocities.iter().enumerate() {
        let quoted = name.contains([',', '"']);
        let name = if quoted {
            format!("{:?}", name)
        } else {
            name.clone()
        };
        text.push_str(&name);
        for (shape, scale) in &columns {
            let _ = write!(text, ",{}", shape[i] / scale);
        }
        text.push('\n');
    }
    text
}

/// The entry of largest size, with its sign; 1 of nothing.
fn largest(shape: &[f64]) -> f64 {
    let size = max_abs(shape);
    // Of entries of one size up to round-off, the first counts.
    let first = shape.iter().find(|x| x.abs() >= (1.0 - 1e-6) * size);
    first.copied().filter(|x| *x != 0.0).unwrap_or(1.0)
}

/// The model moved by each shape, which is large enough to be seen; times are the numbers of the modes.
fn drawn(model: &Model, assembly: &Assembly, list: &[Mode]) -> Vec<State> {
    let size = extent(assembly, &model.initial.q);
    let state = |(k, mode): (usize, &Mode)| {
        let moved = reach(assembly, &mode.shape);
        let scale = if moved > 0.0 {
            DRAWN * size / moved
        } else {
            1.0
        };
        let scale = scale * largest(&mode.shape).signum();
        let v: Vec<f64> = mode.shape.iter().map(|x| scale * x).collect();
        let mut q = model.initial.q.clone();
        model.system.retract(&mut q, &v);
        State::new((k + 1) as f64, q, v)
    };
    list.iter().enumerate().map(state).collect()
}

fn nodes(assembly: &Assembly) -> impl Iterator<Item = NodeId> {
    let count = u32::try_from(assembly.node_count()).unwrap_or(u32::MAX);
    (0..count).map(NodeId)
}

/// Diagonal of the box around all nodes [m].
fn extent(assembly: &Assembly, q: &[f64]) -> f64 {
    let length = |axis: usize| {
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for node in nodes(assembly).filter(|n| axis < assembly.kind(*n).dimension()) {
            let x = assembly.position(q, node, axis);
            range = (range.0.min(x), range.1.max(x));
        }
        if range.1 > range.0 {
            range.1 - range.0
        } else {
            0.0
        }
    };
    let diagonal = (0..3).map(|axis| length(axis).powi(2)).sum::<f64>().sqrt();
    if diagonal > 0.0 { diagonal } else { 1.0 }
}

/// The longest way of a node in a shape.
fn reach(assembly: &Assembly, shape: &[f64]) -> f64 {
    let way = |node: NodeId| {
        let parts = (0..assembly.kind(node).dimension())
            .map(|axis| assembly.velocity(shape, node, axis).powi(2));
        parts.sum::<f64>().sqrt()
    };
    nodes(assembly).map(way).fold(0.0, f64::max)
}
