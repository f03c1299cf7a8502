//! Time of a step of hand-written systems: ball, oscillator, slider–crank, pendulum.
//!
//! `cargo bench -p saltus-integrators --bench step -- "pendulum, Pva Auto"` measures what contains these words.
#![allow(clippy::unwrap_used)]

use saltus_integrators::{
    Integrator, LinearSolve, MoreauJean, MoreauJeanOptions, NonsmoothFormulation,
    NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions,
};
use saltus_system::{State, System};
use saltus_zoo::{Ball, BouncingPendulum, SliderCrank, oscillator};
use std::time::Instant;

fn time(name: &str, system: &dyn System, state: &State, h: f64, steps: u32) {
    let moreau =
        || Box::new(MoreauJean::new(MoreauJeanOptions::default()).unwrap()) as Box<dyn Integrator>;
    measure(
        &format!("{name}, moreau-jean"),
        &moreau,
        system,
        state,
        h,
        steps,
    );
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        for linear_solve in [
            LinearSolve::Auto,
            LinearSolve::Sequential,
            LinearSolve::Monolithic,
        ] {
            let alpha = || {
                let options = NonsmoothGeneralizedAlphaOptions {
                    formulation,
                    linear_solve,
                    ..Default::default()
                };
                Box::new(NonsmoothGeneralizedAlpha::new(options).unwrap()) as Box<dyn Integrator>
            };
            measure(
                &format!("{name}, {formulation:?} {linear_solve:?}"),
                &alpha,
                system,
                state,
                h,
                steps,
            );
        }
    }
}

fn measure(
    name: &str,
    scheme: &dyn Fn() -> Box<dyn Integrator>,
    system: &dyn System,
    state: &State,
    h: f64,
    steps: u32,
) {
    let wanted = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if wanted.is_some_and(|w| !name.contains(&w)) {
        return;
    }
    let mut best = f64::INFINITY;
    let mut iterations = 0;
    for _ in 0..5 {
        let mut scheme = scheme();
        let mut state = state.clone();
        scheme.prepare(system, &state, h).unwrap();
        iterations = 0;
        let start = Instant::now();
        for k in 0..steps {
            let report = scheme
                .step(system, &mut state, h, f64::from(k + 1) * h)
                .unwrap();
            iterations += report.iterations;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(steps));
    }
    let per_step = f64::from(iterations) / f64::from(steps);
    println!(
        "{name:36} {:8.1} ns/step  {per_step:.2} corrections/step",
        best * 1e9
    );
}

fn main() {
    let ball = Ball {
        mass: 1.0,
        force: -9.81,
        restitution: 0.9,
    };
    time(
        "ball",
        &ball,
        &State::new(0.0, vec![1.0], vec![0.0]),
        1e-4,
        100_000,
    );
    let system = oscillator(1.221, 1430.8, 0.0, 0.8);
    time(
        "oscillator",
        &system,
        &State::new(0.0, vec![0.4], vec![0.4]),
        1e-4,
        100_000,
    );
    let (q, v) = SliderCrank::start();
    time(
        "slider-crank",
        &SliderCrank::default(),
        &State::new(0.0, q, v),
        1e-5,
        20_000,
    );
    let pendulum = BouncingPendulum::default();
    time(
        "bouncing pendulum",
        &pendulum,
        &State::new(0.0, pendulum.at(0.26), vec![0.0; 3]),
        1e-3,
        6_000,
    );
}
