//! Reads a trajectory of the peer and compares one of ours with it.

use crate::shared::shared;
use saltus::{Simulation, Trajectory};
use saltus_model::{Format, Model, Override};
use std::path::PathBuf;

/// A trajectory of the peer.
pub struct Peer {
    case: String,
    /// Names of the columns, without unit and remarks.
    names: Vec<String>,
    /// For every row the number of the step it belongs to.
    steps: Vec<usize>,
    rows: Vec<Vec<f64>>,
    compared: Vec<(String, f64, usize)>,
    last: usize,
}

impl Peer {
    /// The trajectory of `case`; `None`, said aloud, where the data are absent.
    pub fn read(case: &str) -> Option<Self> {
        let file = shared(&format!("data/siconos/{case}/reference.csv"))?;
        let text = std::fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        let bare = |name: &str| name.split(['[', ' ']).next().unwrap().to_owned();
        let names = lines.next().unwrap().split(',').skip(1).map(bare).collect();
        let (mut steps, mut rows) = (Vec::new(), Vec::new());
        for line in lines {
            let (step, values) = line.split_once(',').unwrap();
            steps.push(step.parse().unwrap());
            rows.push(values.split(',').map(|x| x.parse().unwrap()).collect());
        }
        assert!(!rows.is_empty(), "{case} is empty");
        Some(Self {
            case: case.to_owned(),
            names,
            steps,
            rows,
            compared: Vec::new(),
            last: usize::MAX,
        })
    }

    /// Compares the steps up to `last` only.
    pub fn up_to(mut self, last: usize) -> Self {
        self.last = last;
        self
    }

    /// The values of a column, as far as the steps are compared.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let index = self.names.iter().position(|n| n == name).unwrap();
        let rows = self.steps.iter().zip(&self.rows);
        let compared = rows.take_while(|(step, _)| **step <= self.last);
        compared.map(|(_, row)| row[index]).collect()
    }

    /// The last value of a column.
    pub fn last(&self, name: &str) -> f64 {
        let index = self.names.iter().position(|n| n == name).unwrap();
        self.rows[self.rows.len() - 1][index]
    }

    /// Holds a column to `ours`, one value per step from step 0, within `tolerance`.
    pub fn column(
        &mut self,
        name: &str,
        ours: impl IntoIterator<Item = f64>,
        tolerance: f64,
    ) -> &mut Self {
        let ours: Vec<f64> = ours.into_iter().collect();
        let case = &self.case;
        let index = self
            .names
            .iter()
            .position(|n| n == name)
            .unwrap_or_else(|| panic!("{case} has no column {name}: {:?}", self.names));
        let (mut worst, mut at, mut rows) = (0.0_f64, 0, 0);
        for (step, row) in self.steps.iter().zip(&self.rows) {
            if *step > self.last {
                break;
            }
            let ours = *ours
                .get(*step)
                .unwrap_or_else(|| panic!("{case}: step {step} of {name} is not ours"));
            let difference = (ours - row[index]).abs();
            rows += 1;
            if difference > worst || difference.is_nan() {
                (worst, at) = (difference, *step);
            }
            assert!(
                difference <= tolerance,
                "{case}: {name} differs by {difference:e} > {tolerance:e} first at step {step}: {ours} is ours, {} theirs",
                row[index]
            );
        }
        println!("  {case}: {name} within {worst:.1e} (step {at})");
        self.compared.push((name.to_owned(), worst, rows));
        self
    }

    /// Says what was compared.
    pub fn report(&self) {
        let columns = self.compared.len();
        let rows = self.compared.iter().map(|c| c.2).max().unwrap_or(0);
        let (name, worst) =
            self.compared.iter().fold(
                ("", 0.0),
                |worst, c| {
                    if c.1 >= worst.1 { (&c.0, c.1) } else { worst }
                },
            );
        assert!(columns > 0 && rows > 0, "{}: nothing compared", self.case);
        println!(
            "{}: {rows} of {} rows, {columns} columns, worst deviation {worst:.1e} ({name})",
            self.case,
            self.rows.len()
        );
    }
}

/// A model written as TOML.
pub fn model(name: &str, text: &str) -> Model {
    Model::parse(name, name, text.to_owned(), Format::Toml, &[])
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// The model of `cases/NAME`, changed.
pub fn case(name: &str, overrides: &[&str]) -> Model {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let overrides: Vec<Override> = overrides.iter().map(|&o| Override::set(o)).collect();
    Model::load(root.join(name).join("model.toml"), &overrides)
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// Runs a model as it says, keeping every step.
pub fn run(model: &Model) -> Trajectory {
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap()
}

/// A column of ours.
pub fn ours(trajectory: &Trajectory, name: &str) -> Vec<f64> {
    trajectory.column(name).unwrap().to_vec()
}

/// Element by element.
pub fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The ball of the peer's examples, with its height alone.
pub fn ball(scheme: &str, step: f64) -> String {
    format!(
        r#"
saltus = 1
[parameters]
m = 1.0
R = 0.1
[system]
coordinates = ["z", "x", "phi"]
mass = ["m", "m", "2/5*m*R^2"]
force = ["-m*9.81", 0, 0]
[[system.unilateral]]
name = "ground"
gap = "z"
restitution = 0.9
[initial]
q = {{ z = 1.0 }}
[simulation]
scheme = {scheme}
step = {step}
until = 10.0
"#
    )
}

/// The column of ten beads of the peer's examples, with steps of 5e-4 s.
pub fn bead_column(scheme: &str, until: f64) -> String {
    let names: Vec<String> = (0..10).map(|i| format!("\"q{i}\"")).collect();
    let start: Vec<String> = (0..10)
        .map(|i| format!("q{i} = \"1 + 0.25*{i}\""))
        .collect();
    let contacts: String = (0..10)
        .map(|i| {
            let gap = if i == 0 {
                "q0 - R".to_owned()
            } else {
                format!("q{i} - q{} - 2*R", i - 1)
            };
            format!("[[system.unilateral]]\nname = \"c{i}\"\ngap = \"{gap}\"\nrestitution = 0.9\n")
        })
        .collect();
    format!(
        r#"
saltus = 1
[parameters]
R = 0.1
g = 9.81
[system]
coordinates = [{names}]
mass = [{mass}]
force = [{force}]
{contacts}
[initial]
q = {{ {start} }}
[simulation]
scheme = {scheme}
step = 5e-4
until = {until}
"#,
        names = names.join(", "),
        mass = ["1.0"; 10].join(", "),
        force = ["\"-g\""; 10].join(", "),
        start = start.join(", "),
    )
}
