//! Runs of cases, and drawings and tables of what they show.

use saltus::{Diagram, Scheme, Simulation, Trajectory};
use saltus_model::{Model, Override};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A curve.
pub type Points = Vec<(f64, f64)>;

/// The horizontal axis of a motion.
pub const TIME: (&str, &str) = ("t", "s");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A scheme with its options, as in a model file.
pub fn scheme(options: Value) -> Scheme {
    serde_json::from_value(options).unwrap_or_else(|error| panic!("{error}"))
}

/// The model of a case, changed by `set` as by `--set`.
pub fn model(case: &str, set: &[&str]) -> Model {
    let path = root().join("cases").join(case).join("model.toml");
    let changes: Vec<Override> = set.iter().map(|text| Override::set(*text)).collect();
    Model::load(path, &changes).unwrap_or_else(|errors| panic!("{case}: {errors}"))
}

/// Every step of a case.
pub fn run(case: &str, set: &[&str], scheme: Scheme, h: f64, until: f64) -> Trajectory {
    run_every(1, case, set, scheme, h, until)
}

/// Every `every`-th step of a case.
pub fn run_every(
    every: u64,
    case: &str,
    set: &[&str],
    scheme: Scheme,
    h: f64,
    until: f64,
) -> Trajectory {
    let model = model(case, set);
    Simulation::new(&*model.system, scheme)
        .start(model.initial.clone())
        .step(h)
        .until(until)
        .every(every)
        .record()
        .unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// The values of a column.
pub fn values(trajectory: &Trajectory, name: &str) -> Vec<f64> {
    let column = trajectory.column(name).unwrap_or_else(|e| panic!("{e}"));
    column.to_vec()
}

/// The last value of a column.
pub fn last(trajectory: &Trajectory, name: &str) -> f64 {
    values(trajectory, name).pop().expect("a row")
}

/// A column over time.
pub fn column(trajectory: &Trajectory, name: &str) -> Points {
    let values = values(trajectory, name);
    trajectory.t().iter().zip(values).collect()
}

/// Decimal logarithms of both coordinates.
pub fn logarithms(points: &[(f64, f64)]) -> Points {
    points.iter().map(|(x, y)| (x.log10(), y.log10())).collect()
}

/// Draws curves over `across` into a file of `docs/images`.
pub fn draw(
    file: &str,
    across: (&'static str, &'static str),
    (label, unit): (&str, &'static str),
    curves: Vec<(&str, Points)>,
) {
    let diagram = Diagram {
        across,
        label: label.to_owned(),
        unit,
        curves: curves.into_iter().map(|(n, p)| (n.to_owned(), p)).collect(),
    };
    let path = root().join("docs/images").join(file);
    std::fs::write(&path, diagram.svg()).expect("docs/images can be written");
    println!("{}", path.display());
}

/// Prints a table as it stands in a page.
pub fn table(title: &str, header: &[&str], rows: &[Vec<String>]) {
    println!("\n{title}\n\n| {} |", header.join(" | "));
    println!("|{}", " --- |".repeat(header.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
    println!();
}

/// The largest absolute value.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}
