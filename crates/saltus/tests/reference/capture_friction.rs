//! `event-capture.json`: a block on two feet that slides down an incline and stops, with projected positions.

use crate::capture_steps::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::run::run;
use saltus_integrators::{ProjectedMoreauJeanOptions, Scheme};
use saltus_model::{Format, Model};

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

/// `h, |x(T) − exact|, time of the stop − exact, fastest after it, penetration, error of the static friction`.
fn measure(model: &Model, h: f64) -> [f64; 6] {
    let (g, mu, alpha) = (9.81, 0.6, 0.3_f64);
    let braking = g * (mu * alpha.cos() - alpha.sin());
    let (stop, way) = (2.0 / braking, 2.0 / braking);
    let scheme = Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions::default());
    let (mut stopped, mut fastest, mut deep, mut x, mut force) =
        (f64::NAN, 0.0_f64, 0.0_f64, 0.0, 0.0);
    let steps = crate::run::count(2.0, h);
    run(
        &*model.system,
        &scheme,
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
                let measured = measure(&model, row[0]);
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
