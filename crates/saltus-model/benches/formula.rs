//! Time of a system made of formulas beside the same one written by hand: the slider-crank.
//!
//! Prints nanoseconds per call of each answer, the ratio, and a step of the Moreau–Jean scheme.
#![allow(clippy::unwrap_used)]

use saltus_integrators::{Integrator, MoreauJean, MoreauJeanOptions};
use saltus_model::FormulaSystem;
use saltus_model::definition::{Definition, Formula, MassDefinition, Source, UnilateralDefinition};
use saltus_system::{ContactSet, DynamicsParts, MatrixSink, Point, Reach, State, System, Tangents};
use saltus_zoo::SliderCrank;
use std::hint::black_box;
use std::time::Instant;

const PARAMETERS: [(&str, f64); 12] = [
    ("l1", 0.153),
    ("l2", 0.306),
    ("a", 0.05),
    ("b", 0.025),
    ("c", 0.001),
    ("m1", 0.038),
    ("m2", 0.038),
    ("m3", 0.076),
    ("J1", 7.4e-5),
    ("J2", 5.9e-4),
    ("J3", 2.7e-6),
    ("g", 9.81),
];

fn text(text: &str) -> Formula {
    Formula::new(Source::Text(text.to_owned()), "system")
}

/// Mechanism and corners; with mass matrix and force, or with energies.
fn slider_crank(by_energies: bool) -> FormulaSystem {
    let names = ["crank", "rod", "block"];
    let mut definition = Definition {
        parameters: PARAMETERS
            .iter()
            .map(|&(name, value)| (name.to_owned(), Formula::new(Source::Number(value), name)))
            .collect(),
        coordinates: names
            .iter()
            .map(|name| ((*name).to_owned(), String::new()))
            .collect(),
        ..Definition::default()
    };
    if by_energies {
        definition.kinetic = Some(text(
            "0.5*(J1 + m1*l1^2/4)*v.crank^2 + 0.5*J2*v.rod^2 + 0.5*J3*v.block^2 \
             + 0.5*m2*((l1*sin(crank)*v.crank + l2/2*sin(rod)*v.rod)^2 + (l1*cos(crank)*v.crank + l2/2*cos(rod)*v.rod)^2) \
             + 0.5*m3*((l1*sin(crank)*v.crank + l2*sin(rod)*v.rod)^2 + (l1*cos(crank)*v.crank + l2*cos(rod)*v.rod)^2)",
        ));
        definition.potential = Some(text(
            "g*((m1/2 + m2 + m3)*l1*sin(crank) + (m2/2 + m3)*l2*sin(rod))",
        ));
    } else {
        let k = "(m2/2 + m3)*l1*l2*cos(rod - crank)";
        let rows = [
            ["J1 + (m1/4 + m2 + m3)*l1^2", k, "0"],
            [k, "J2 + (m2/4 + m3)*l2^2", "0"],
            ["0", "0", "J3"],
        ];
        definition.mass = Some(MassDefinition::Full(
            rows.map(|row| row.map(text).into()).into(),
        ));
        let force = [
            "-(m2/2 + m3)*l1*l2*sin(crank - rod)*v.rod^2 - (m1/2 + m2 + m3)*g*l1*cos(crank)",
            "(m2/2 + m3)*l1*l2*sin(crank - rod)*v.crank^2 - (m2/2 + m3)*g*l2*cos(rod)",
            "0",
        ];
        definition.force = Some(force.map(text).into());
    }
    for (along, wall) in [("-", "+"), ("+", "+"), ("-", "-"), ("+", "-")] {
        let gap = format!(
            "b + c {} (l1*sin(crank) + l2*sin(rod) {along} a*sin(block)) - b*cos(block)",
            if wall == "+" { "-" } else { "+" }
        );
        definition.unilateral.push(UnilateralDefinition {
            name: format!("{along}{wall}"),
            gap: text(&gap),
            restitution: text("0.4"),
            tangential: Vec::new(),
            tangential_velocity: Vec::new(),
            friction: None,
            friction_static: None,
            tangential_restitution: None,
        });
    }
    definition.assemble().unwrap()
}

/// Takes a matrix of 3 columns, as cheaply as a real one would.
struct Small {
    data: [f64; 12],
}

impl MatrixSink for Small {
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            let target = &mut self.data[(row + i) * 3 + col..][..cols];
            for (t, b) in target.iter_mut().zip(&block[i * cols..]) {
                *t += b;
            }
        }
    }

    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.data[row * 3 + col] += value;
    }
}

/// Nanoseconds per call, the best of several trials.
fn time(mut call: impl FnMut()) -> f64 {
    let calls = 200_000;
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    best * 1e9
}

/// Nanoseconds per call of each answer.
fn answers(system: &dyn System) -> Vec<(&'static str, f64)> {
    let (q, v) = ([0.4, -0.2, 0.01], [3.0, 1.0, -2.0]);
    let x = [0.3, 0.1, -0.4];
    let mut set = ContactSet::default();
    system.detect(0.0, &q, Reach::All, &mut set);
    let r = vec![0.7; set.directions.len()];
    let mut rows = vec![0.0; set.directions.len()];
    let mut force = [0.0; 3];
    let mut a = Small { data: [0.0; 12] };
    let mut b = Small { data: [0.0; 12] };
    let mut c = Small { data: [0.0; 12] };
    let mut d = Small { data: [0.0; 12] };
    let point = || Point {
        t: 0.0,
        q: black_box(&q),
        v: black_box(&v),
    };
    let mut found = Vec::new();
    let mut note = |name, ns| found.push((name, ns));
    note(
        "force",
        time(|| system.force(point(), black_box(&mut force))),
    );
    note("mass", time(|| system.mass(black_box(&q), &mut a)));
    note(
        "mass and force",
        time(|| {
            system.evaluate(
                point(),
                DynamicsParts {
                    mass: &mut a,
                    force: black_box(&mut force),
                    tangents: None,
                },
            )
        }),
    );
    note(
        "with tangents",
        time(|| {
            let tangents = Tangents {
                x: &x,
                mass_gradient: &mut b,
                stiffness: &mut c,
                damping: &mut d,
            };
            let parts = DynamicsParts {
                mass: &mut a,
                force: black_box(&mut force),
                tangents: Some(tangents),
            };
            system.evaluate(point(), parts);
        }),
    );
    note(
        "energies",
        time(|| {
            black_box(
                system.kinetic_energy(black_box(&q), &v)
                    + system.potential_energy(0.0, black_box(&q)),
            );
        }),
    );
    note(
        "active force",
        time(|| system.active_force(point(), black_box(&mut force))),
    );
    let mut other = set.clone();
    note(
        "detect",
        time(|| system.detect(0.0, black_box(&q), Reach::All, &mut other)),
    );
    note(
        "evaluate contacts",
        time(|| system.evaluate_contacts(0.0, black_box(&q), &mut other)),
    );
    note(
        "contact bias",
        time(|| system.contact_bias(point(), &set, black_box(&mut rows))),
    );
    note(
        "contact curvature",
        time(|| system.contact_curvature(0.0, black_box(&q), &set, &r, &mut a)),
    );
    note(
        "direction gradient",
        time(|| system.contact_direction_gradient(0.0, black_box(&q), &set, &x, &mut a)),
    );
    found
}

/// Nanoseconds per step of the published motion.
fn step(system: &dyn System) -> f64 {
    let (q, v) = SliderCrank::start();
    let start_state = State::new(0.0, q, v);
    let (h, steps) = (1e-5, 20_000);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut scheme = MoreauJean::new(MoreauJeanOptions::default()).unwrap();
        let mut state = start_state.clone();
        scheme.prepare(system, &state, h).unwrap();
        let start = Instant::now();
        for k in 0..steps {
            scheme
                .step(system, &mut state, h, f64::from(k + 1) * h)
                .unwrap();
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(steps));
    }
    best * 1e9
}

fn main() {
    let by_hand = SliderCrank::default();
    let by_force = slider_crank(false);
    let by_energies = slider_crank(true);
    println!(
        "{:20} {:>9} {:>9} {:>6} {:>9} {:>6}   ns",
        "", "by hand", "by force", "×", "energies", "×"
    );
    let rows = answers(&by_hand)
        .into_iter()
        .zip(answers(&by_force))
        .zip(answers(&by_energies));
    let steps = (
        "step (Moreau–Jean)",
        [step(&by_hand), step(&by_force), step(&by_energies)],
    );
    let rows = rows
        .map(|((a, b), c)| (a.0, [a.1, b.1, c.1]))
        .chain([steps]);
    for (name, [hand, force, energies]) in rows {
        println!(
            "{name:20} {hand:9.1} {force:9.1} {:6.2} {energies:9.1} {:6.2}",
            force / hand,
            energies / hand
        );
    }
}
