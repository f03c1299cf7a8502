//! `generalized-alpha-golden.json`: states and impulses, step by step around the first impact.

use crate::run::{Row, moreau_jean, record};
use crate::shared::shared;
use saltus_system::{State, System};
use saltus_zoo::{
    Ball, BouncingPendulum, DoublePendulum, DoublePendulumAtWall, RockingBlock, two_masses,
};
use serde_json::Value;
use std::collections::HashMap;
use std::f64::consts::PI;

fn example(name: &str) -> (Box<dyn System>, State) {
    let at_rest = |q: Vec<f64>| {
        let n = q.len();
        State::new(0.0, q, vec![0.0; n])
    };
    match name {
        "ball" => {
            let ball = Ball {
                mass: 1.0,
                force: -10.0,
                restitution: 0.8,
            };
            (Box::new(ball), at_rest(vec![0.801]))
        }
        "pendulum" => {
            let pendulum = BouncingPendulum::default();
            (Box::new(pendulum), at_rest(pendulum.at(PI / 12.0)))
        }
        "rocking_block" => (
            Box::new(RockingBlock::default()),
            at_rest(vec![0.0, 1.0, 0.2]),
        ),
        "oscillator_k1e4" => (
            Box::new(two_masses(1.0, 1e4, 1.0, 0.2, 10.0, 0.8)),
            at_rest(vec![1.001, 2.001]),
        ),
        "double_pendulum" => {
            let pendulum = DoublePendulum { gravity: 10.0 };
            let system = DoublePendulumAtWall {
                pendulum,
                wall: -0.3,
                restitution: 0.5,
            };
            (Box::new(system), at_rest(vec![1.2, 0.9]))
        }
        other => panic!("unknown example {other}"),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect()
}

#[test]
fn steps_around_the_first_impact() {
    let Some(file) = shared("reference/generalized-alpha-golden.json") else {
        return;
    };
    let document: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut runs: HashMap<String, Vec<Row>> = HashMap::new();
    let (mut checked, mut loaded) = (0, 0);
    for record_ in document["records"].as_array().unwrap() {
        if record_["scheme"] != "MJ_half" {
            continue;
        }
        let name = record_["example"].as_str().unwrap();
        let rows = runs.entry(name.to_owned()).or_insert_with(|| {
            let (system, start) = example(name);
            let mut options = moreau_jean("MJ_half", record_["rho"].as_f64().unwrap());
            options.tolerance = 1e-12;
            record(
                &*system,
                &options,
                &start,
                record_["h"].as_f64().unwrap(),
                500,
            )
        });
        let row = &rows[usize::try_from(record_["step"].as_u64().unwrap()).unwrap()];
        let impulses = [row.bilateral_impulse.clone(), row.impulse.clone()].concat();
        for (what, ours, tolerance) in [
            ("q", &row.q, 1e-8),
            ("v", &row.v, 1e-8),
            ("Lams", &impulses, 1e-6),
        ] {
            for (x, y) in ours.iter().zip(numbers(&record_[what])) {
                assert!(
                    (x - y).abs() <= tolerance * (1.0 + y.abs()),
                    "{name}, step {}: {what} is {x}, not {y}",
                    record_["step"]
                );
                checked += 1;
            }
        }
        loaded += usize::from(row.impulse.iter().any(|p| *p > 0.0));
    }
    println!("golden steps: {checked} numbers checked, {loaded} steps with contact");
    assert!(checked > 0 && loaded > 0);
}
