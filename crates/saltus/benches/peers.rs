//! Our side of the comparison with a peer: CPU time per step of ball and slider–crank, recorded in memory with
//! certificate, as a system written in Rust and as a model file. One `RESULT {json}` line each.
#![allow(clippy::unwrap_used)]

use saltus::{Scheme, Simulation, State, System};
use saltus_model::Model;
use saltus_zoo::{Ball, SliderCrank};
use std::path::PathBuf;

/// User CPU time of this thread so far [s]; the kernel counts it in hundredths of a second.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields = text.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(11)
        .take(1)
        .map(|x| x.parse::<f64>().unwrap())
        .sum::<f64>()
        * 1e-2
}

fn wanted(case: &str) -> bool {
    std::env::args()
        .nth(1)
        .is_none_or(|only| !case.contains("-") || case.contains(&only) || only.starts_with("--"))
}

fn measure(case: &str, system: &dyn System, start: &State, h: f64, until: f64, repeat: u32) {
    if !wanted(case) {
        return;
    }
    let scheme = Scheme::by_name("moreau-jean").unwrap();
    // The kernel's clock of a thread is coarse: the sum over all repetitions counts.
    let mut spent = 0.0;
    let (mut steps, mut corrections) = (0, 0);
    for _ in 0..repeat {
        let simulation = Simulation::new(system, scheme.clone())
            .start(start.clone())
            .step(h)
            .until(until);
        let before = cpu();
        let trajectory = simulation.record().unwrap();
        spent += cpu() - before;
        let outcome = trajectory.outcome().unwrap();
        steps += outcome.steps;
        corrections += outcome.iterations.total;
    }
    println!(
        "RESULT {{\"tool\":\"saltus\",\"case\":\"{case}\",\"steps\":{steps},\"us_per_step\":{:.4},\"newton_per_step\":{:.3}}}",
        spent / steps as f64 * 1e6,
        corrections as f64 / steps as f64
    );
}

fn model(case: &str) -> Model {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../cases")
        .join(case);
    Model::load(path.join("model.toml"), &[]).unwrap()
}

fn main() {
    // 1 kg, 9.81 m/s², dropped from 1 m, e = 0.9, 1e5 steps of 1e-4 s.
    let ball = Ball {
        mass: 1.0,
        force: -9.81,
        restitution: 0.9,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    measure("ball-rust", &ball, &start, 1e-4, 10.0, 50);
    let text = "saltus = 1\n[system]\ncoordinates = [\"y\"]\nmass = [1.0]\npotential = \"9.81*y\"\n\
        [[system.unilateral]]\nname = \"floor\"\ngap = \"y\"\nrestitution = 0.9\n\
        [initial]\nq = { y = 1.0 }\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-4\nuntil = 10.0\n";
    let formula = Model::parse(
        "ball",
        "ball",
        text.to_owned(),
        saltus_model::Format::Toml,
        &[],
    )
    .unwrap();
    measure("ball-formulas", &*formula.system, &start, 1e-4, 10.0, 50);

    let (q, v) = SliderCrank::start();
    let start = State::new(0.0, q, v);
    measure("crank-rust", &SliderCrank::default(), &start, 1e-5, 0.2, 40);
    measure(
        "crank-formulas",
        &*model("slider-crank").system,
        &start,
        1e-5,
        0.2,
        40,
    );
}
