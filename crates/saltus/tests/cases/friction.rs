//! Cases of dry friction.

use crate::run::{Ran, close, run};
use saltus::{Simulation, Trajectory};
use saltus_model::{Format, Model, Override};
use std::f64::consts::PI;

/// The worst of a certificate entry over a run.
fn worst(ran: &Ran, entry: &str) -> f64 {
    let certificate = &ran.outcome().certificate;
    let found = certificate.iter().find(|(e, _, _)| e.name() == entry);
    found.unwrap().1
}

/// Friction obeyed its law in every step, to round-off of the impulses.
#[track_caller]
fn obeys_its_law(ran: &Ran, impulse: f64) {
    assert!(worst(ran, "cone") <= 1e-14 * impulse);
    assert!(worst(ran, "stick_velocity") <= 1e-14);
    assert!(worst(ran, "friction_work") <= 1e-14 * impulse);
}

/// Number of steps after which a state column is `after` for the first time, having been `before`.
fn turns(state: &[f64], before: f64, after: f64) -> Vec<usize> {
    (1..state.len())
        .filter(|&k| state[k - 1] == before && state[k] == after)
        .collect()
}

const STICK: f64 = 1.0;
const SLIP: f64 = 2.0;

#[test]
fn block_on_incline() {
    let (g, alpha) = (9.81, PI / 18.0);
    let a = g * (0.5 * alpha.cos() - alpha.sin());
    close("README: stop", 2.0 / a, 0.639_592, 5e-7);
    for step in [1e-2, 1e-3, 1e-4] {
        let ran = run("block-on-incline", &[&format!("simulation.step={step}")]);
        let h = ran.h();
        // The step of the stop ends at rest: it lacks at most the way of its last part.
        close("x", ran.last("q.x"), 2.0 / a, a * h * h / 8.0 + 1e-12);
        assert_eq!(ran.last("v.x"), 0.0);
        let stops = turns(&ran.column("state.plane"), SLIP, STICK);
        assert_eq!(stops.len(), 1);
        close("stop", stops[0] as f64 * h, 2.0 / a, h);
        let held = -g * alpha.sin() * h;
        close("friction", ran.last("impulse_t.plane"), held, 1e-14);
        obeys_its_law(&ran, g * h);
    }
    // The threshold: it stays to the last bit, or slides with the difference.
    let at_limit = |offset: &str, until: &str| {
        let mu = format!("parameters.mu='tan(alpha) {offset} 1e-4'");
        let until = format!("simulation.until={until}");
        run(
            "block-on-incline",
            &[&mu, &until, "parameters.v0=0", "simulation.step=1e-2"],
        )
    };
    let held = at_limit("+", "100");
    assert!(held.column("q.x").iter().all(|x| x.abs() < 1e-12));
    assert!(held.column("gap.plane").iter().all(|gap| *gap == 0.0));
    let sliding = at_limit("-", "1");
    let a = g * (alpha.sin() - (alpha.tan() - 1e-4) * alpha.cos());
    close("v at 1 s", sliding.last("v.x"), a, 1e-12);
    close("x at 1 s", sliding.last("q.x"), 0.5 * a, 1e-12);
    // The ramp.
    let ran = run(
        "block-on-incline",
        &[
            "parameters.alpha=0",
            "parameters.v0=0",
            "parameters.mu=0.3",
            "parameters.push=2",
        ],
    );
    let begins = 0.3 * g / 2.0;
    close("README: ramp", begins, 1.4715, 1e-12);
    let slips = turns(&ran.column("state.plane"), STICK, SLIP);
    close("slip", slips[0] as f64 * ran.h(), begins, 2.0 * ran.h());
    let exact = (2.0 - begins).powi(3) / 3.0;
    close("README: way", exact, 0.049_205_5, 5e-8);
    close("x at 2 s", ran.last("q.x"), exact, ran.h().powi(2) / 4.0);
}

#[test]
fn block_on_belt() {
    let exact = 20.0 + 2.0 * (PI - 10.0_f64.atan());
    close("README: period", exact, 23.340_930, 5e-7);
    for step in [1e-2, 1e-3] {
        let ran = run("block-on-belt", &[&format!("simulation.step={step}")]);
        let begins = turns(&ran.column("state.belt"), STICK, SLIP);
        assert_eq!(begins.len(), 3, "{begins:?}");
        let period = (begins[2] - begins[1]) as f64 * ran.h();
        close("period", period, exact, 2.0 * ran.h());
        let ends = turns(&ran.column("state.belt"), SLIP, STICK);
        let slip = (ends[1] - begins[1]) as f64 * ran.h();
        close("slip", slip, exact - 20.0, 2.0 * ran.h());
        obeys_its_law(&ran, 10.0 * ran.h());
    }
}

#[test]
fn weakening_friction() {
    let (g, mu, w, v0) = (9.81, 0.4, 5.0_f64, 3.0);
    let stop = w / (mu * g) * (w / (w - v0)).ln();
    let way = w * stop - v0 * w / (mu * g);
    close("README: stop", stop, 1.167_547, 5e-7);
    close("README: way", way, 2.015_104, 5e-7);
    let exact = |t: f64| w - (w - v0) * (mu * g * t / w).exp();
    // Scheme, and its error of the velocity at 1 s over h^order.
    for (scheme, order, factor) in [
        ("moreau-jean", 2, 0.2),
        ("adaptive-moreau-jean", 2, 0.1),
        ("half-explicit", 2, 0.5),
        ("moreau-jean-projected", 1, 1.5),
        ("event-driven", 0, 1e-11),
    ] {
        for step in [4e-3_f64, 2e-3, 1e-3] {
            let (scheme, h) = (
                format!("simulation.scheme={scheme}"),
                format!("simulation.step={step}"),
            );
            let ran = run("weakening-friction", &[&scheme, &h]);
            let times = ran.column("t");
            let k = times.iter().position(|t| *t >= 1.0 - 1e-9).unwrap();
            let error = factor * step.powi(order);
            close(&scheme, ran.column("v.x")[k], exact(times[k]), error);
            assert_eq!(ran.last("v.x"), 0.0, "{scheme}");
            close(&scheme, ran.last("q.x"), way, 10.0 * error + step * step);
            let stops = turns(&ran.column("state.floor"), SLIP, STICK);
            close(&scheme, times[stops[0]], stop, step);
        }
    }
}

/// Position on the spring at `t`, from the turning points.
fn spring_coulomb_exact(t: f64) -> f64 {
    let (omega, delta) = (10.0, 0.3 * 9.81 / 100.0);
    let mut x = 1.0_f64;
    let mut left = omega * t;
    while x.abs() > delta {
        let centre = delta * x.signum();
        if left < PI {
            return centre + (x - centre) * left.cos();
        }
        x = 2.0 * centre - x;
        left -= PI;
    }
    x
}

#[test]
fn spring_coulomb() {
    close(
        "README: at 1.0367 s",
        spring_coulomb_exact(1.036_725_575_684_631_6),
        -0.496_125_612_467_701_37,
        1e-12,
    );
    let stop = 17.0 * PI / 10.0;
    close("README: stop", stop, 5.340_708, 5e-7);
    let mut errors = Vec::new();
    for step in [4e-3, 2e-3, 1e-3, 5e-4] {
        let ran = run("spring-coulomb", &[&format!("simulation.step={step}")]);
        let (t, x) = (ran.column("t"), ran.column("q.x"));
        let error = t.iter().zip(&x).fold(0.0_f64, |most, (t, x)| {
            most.max((x - spring_coulomb_exact(*t)).abs())
        });
        errors.push(error);
        // Each of the 17 turns may be late by a step, with friction of the wrong sign: 2 μ g h of velocity.
        assert!(error <= 17.0 * 2.0 * 0.3 * 9.81 * ran.h() / 10.0);
        assert_eq!(ran.last("v.x"), 0.0);
        assert_eq!(ran.last("state.floor"), STICK);
        close("rest", x[x.len() - 1], spring_coulomb_exact(6.0), error);
        let moved = ran.column("v.x").iter().rposition(|v| *v != 0.0).unwrap();
        close("stop", t[moved], stop, 10.0 * ran.h());
        obeys_its_law(&ran, 9.81 * ran.h());
    }
    println!("errors {errors:.6?}");
    assert!(errors[3] < 0.25 * errors[0], "first order at least");
}

#[test]
fn sliding_disc() {
    let (mu, g) = (0.4, 9.81);
    let way = 12.5 / (mu * g);
    for step in [1e-2, 1e-3] {
        let ran = run("sliding-disc", &[&format!("simulation.step={step}")]);
        let bound = mu * g * ran.h().powi(2) / 8.0 + 1e-12;
        let (x, y) = (ran.last("q.x"), ran.last("q.y"));
        close("way", x.hypot(y), way, bound);
        close("straight", y * 3.0 - x * 4.0, 0.0, 1e-12);
        let stops = turns(&ran.column("state.table"), SLIP, STICK);
        close("stop", stops[0] as f64 * ran.h(), 5.0 / (mu * g), ran.h());
        obeys_its_law(&ran, g * ran.h());
    }
    // Where the instant is located the step does not matter.
    let ran = run(
        "sliding-disc",
        &["simulation.scheme='event-driven'", "simulation.step=0.1"],
    );
    close("x", ran.last("q.x"), 0.6 * way, 1e-12);
    close("y", ran.last("q.y"), 0.8 * way, 1e-12);
    assert_eq!(ran.outcome().events.stick, 1);
    close("README: x", 0.6 * way, 1.911_315, 5e-7);
    close("README: y", 0.8 * way, 2.548_420, 5e-7);
    // The limit is a circle.
    for degrees in ["0", "17", "45", "90"] {
        let pull = |offset: &str| {
            let pull = format!("parameters.pull='mu*m*g {offset} 1e-3'");
            let angle = format!("parameters.angle='{degrees}*pi/180'");
            let rest = ["parameters.vx=0", "parameters.vy=0", "simulation.until=1"];
            let ran = run(
                "sliding-disc",
                &[&pull[..], &angle, rest[0], rest[1], rest[2]],
            );
            ran.last("q.x").hypot(ran.last("q.y"))
        };
        close("held", pull("-"), 0.0, 1e-12);
        close("pulled", pull("+"), 0.5e-3, 1e-9);
    }
}

#[test]
fn oblique_impact() {
    let hit = |vx: f64, mu: f64, e: f64, e_t: f64, v: [f64; 2]| {
        let values = [("vx", vx), ("mu", mu), ("e", e), ("e_t", e_t)];
        let set: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("parameters.{name}={value}"))
            .collect();
        let ran = run(
            "oblique-impact",
            &set.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        close("v.x", ran.last("v.x"), v[0], 1e-13);
        close("v.y", ran.last("v.y"), v[1], 1e-14);
        let impulse: f64 = ran.column("impulse_t.wall").iter().sum();
        close("impulse", impulse, 2.0 * (v[0] - vx), 1e-13);
        obeys_its_law(&ran, 10.0);
    };
    hit(2.0, 0.3, 0.0, 0.0, [1.7, 0.0]);
    hit(0.2, 0.3, 0.0, 0.0, [0.0, 0.0]);
    hit(0.2, 0.3, 0.5, 0.0, [0.0, 0.5]);
    hit(3.0, 0.5, 0.5, 0.0, [2.25, 0.5]);
    hit(3.0, 2.5, 0.5, 0.0, [0.0, 0.5]);
    hit(3.0, 5.0, 0.5, 0.8, [-2.4, 0.5]);
}

#[test]
fn painleve_rod() {
    let h = 1e-4;
    // Below the critical coefficient: N = g / (G_NN + μ G_NT), to the change of the angle in a step.
    for (mu, force) in [("0.5", 9.81 / 1.0), ("1", 9.81 / 0.4)] {
        let ran = run("painleve-rod", &[&format!("parameters.mu={mu}")]);
        let impulse = ran.column("impulse.tip")[1];
        close("force", impulse / h, force, 1e-3 * force);
        assert_eq!(ran.column("state.tip")[1], SLIP);
        obeys_its_law(&ran, force * h);
    }
    // Jammed: an impulse stops the tip although nothing approaches.
    let jam = run(
        "painleve-rod",
        &["parameters.mu=1.6", "simulation.until=1e-4"],
    );
    close("normal", jam.last("impulse.tip"), 0.3, 2.0 * 9.81 * h);
    close("along", jam.last("impulse_t.tip"), 0.4, 2.0 * 9.81 * h);
    assert_eq!(jam.last("state.tip"), STICK);
    // Two motions: refused, by name. At 4 rad/s the tip lifts off, but the directions half-way through the first step do not say so.
    for (omega, step) in [("6", "1e-4"), ("4", "1e-4"), ("4", "1e-2")] {
        let overrides = [
            "parameters.mu=1.6",
            &format!("parameters.omega={omega}"),
            &format!("simulation.step={step}"),
        ]
        .map(Override::set);
        let path = crate::run::folder().join("painleve-rod/model.toml");
        let model = Model::load(path, &overrides).unwrap();
        let error = Simulation::new(&*model.system, model.scheme.clone())
            .start(model.initial.clone())
            .step(model.plan.step)
            .until(model.plan.until)
            .record()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("several solutions") && error.contains("`tip`"),
            "{omega}: {error}"
        );
    }
}

#[test]
fn spinning_ball() {
    let fall = (2.0_f64 * 0.9 / 9.81).sqrt();
    close("README: first impact", fall, 0.428_353, 5e-7);
    let variants: [(&[&str], f64, f64, f64); 3] = [
        (&[], 0.5, 1.0, 50.0),
        (&["parameters.e=0", "parameters.vx=0"], 0.0, 0.0, 50.0),
        (
            &["parameters.e=0", "parameters.vx=0", "parameters.omega=10"],
            0.0,
            0.0,
            10.0,
        ),
    ];
    for (overrides, e, vx, omega) in variants {
        let ran = run("spinning-ball", overrides);
        let h = ran.h();
        let slip = vx + 0.1 * omega;
        let normal = (1.0 + e) * 9.81 * fall;
        let tangential = f64::min(0.2 * normal, slip / 3.5);
        let k = ran.impacts("floor")[0].step as usize;
        close("first impact", k as f64 * h - 0.5 * h, fall, h);
        // It is found up to a step late, and faster by g h then.
        let late = (1.0 + e) * 9.81 * h;
        close("P_N", ran.column("impulse.floor")[k], normal, late);
        let along = ran.column("impulse_t.floor");
        close("P_T", along[k], -tangential, 0.2 * late);
        // In the end it rolls: the slip is used up.
        let all: f64 = along.iter().sum();
        close("all friction", all, -slip / 3.5, 1e-12);
        close("v.x", ran.last("v.x"), vx - slip / 3.5, 1e-12);
        let spin = omega - 0.1 / 0.004 * slip / 3.5;
        close("v.phi", ran.last("v.phi"), spin, 1e-10);
        assert!(worst(&ran, "stick_velocity") < 1e-12);
    }
    for (value, exact) in [(4.202_142, 9.81 * fall), (0.285_714, 1.0 / 3.5)] {
        close("README", exact, value, 5e-7);
    }
    // Where it ends, at first order.
    for h in [2e-3, 5e-4] {
        let ran = run("spinning-ball", &[&format!("simulation.step={h}")]);
        close("x", ran.last("q.x"), -0.642_789_930_703_591, 10.0 * h);
        close("phi", ran.last("q.phi"), 33.930_251_732_410_23, 40.0 * h);
    }
}

#[test]
fn woodpecker() {
    let ran = run("woodpecker", &["simulation.step=2.5e-5"]);
    let (t, y, phi) = (ran.column("t"), ran.column("q.y"), ran.column("q.phiS"));
    let crossings: Vec<(f64, f64)> = (1..t.len())
        .filter(|&k| phi[k - 1] < -0.2 && phi[k] >= -0.2)
        .map(|k| {
            let part = (-0.2 - phi[k - 1]) / (phi[k] - phi[k - 1]);
            let between = |x: &[f64]| x[k - 1] + part * (x[k] - x[k - 1]);
            (between(&t), between(&y))
        })
        .collect();
    let periods: Vec<[f64; 2]> = crossings
        .windows(2)
        .map(|w| [w[1].0 - w[0].0, w[1].1 - w[0].1])
        .collect();
    println!("periods and descents {periods:.5?}");
    assert!(periods.len() >= 5);
    let settled = &periods[1..];
    let count = settled.len() as f64;
    let mean = |i: usize| settled.iter().map(|p| p[i]).sum::<f64>() / count;
    close("period", mean(0), 0.1460, 0.0005);
    close("descent", mean(1), -0.0195, 0.0001);
    for period in settled {
        close("one period", period[0], mean(0), 0.003);
    }
    assert!(worst(&ran, "friction_work") <= 1e-15);
    // The published end of another program's run.
    let fine = run(
        "woodpecker",
        &["simulation.step=2e-5", "simulation.until=0.3"],
    );
    for (column, value, tolerance) in [
        ("q.y", -0.041_348_2, 2e-5),
        ("q.phiM", -0.103_468, 2e-6),
        ("q.phiS", -0.340_93, 5e-4),
        ("v.y", -0.260_137, 1e-3),
        ("v.phiM", 0.0, 1e-10),
        ("v.phiS", -8.327_56, 5e-3),
    ] {
        close(column, fine.last(column), value, tolerance);
    }
}

#[test]
fn housner_block() {
    for (overrides, w, height) in [
        (&[][..], 0.5_f64, 2.0_f64),
        (&["parameters.W=1", "parameters.H=1.5"][..], 1.0, 1.5),
    ] {
        let alpha = (w / height).atan();
        let ratio = 1.0 - 1.5 * alpha.sin().powi(2);
        let theta = 0.3 * alpha;
        let rate = 1.5 * 9.81 / (0.5 * w.hypot(height));
        let arrives = (rate * ((alpha - theta).cos() - alpha.cos())).sqrt();
        let mut errors = Vec::new();
        for step in ["2e-3", "1e-3", "5e-4", "2.5e-4"] {
            let mut set = overrides.to_vec();
            let step = format!("simulation.step={step}");
            set.push(&step);
            let ran = run("housner-block", &set);
            let spin = ran.column("v.phi");
            // The left corner lands; the largest change of the spin is there.
            let k = (1..spin.len())
                .max_by(|&a, &b| {
                    let jump = |k: usize| (spin[k] - spin[k - 1]).abs();
                    jump(a).total_cmp(&jump(b))
                })
                .unwrap();
            close("before", spin[k - 1], arrives, 30.0 * ran.h());
            let ours = spin[k] / spin[k - 1];
            close("ratio", ours, ratio, 12.0 * ran.h());
            errors.push((ours - ratio).abs());
            assert_eq!(ran.column("state.left")[k], STICK);
            if overrides.is_empty() {
                close("lands", ran.column("t")[k], 0.336_169_291_6, 2.0 * ran.h());
            }
        }
        println!("errors of the ratio {errors:.6?}");
        if overrides.is_empty() {
            close("README: ratio", ratio, 0.911_765, 5e-7);
        }
    }
}

/// Runs a model given as text and returns every step.
fn simulate(text: &str) -> Trajectory {
    let model = Model::parse("model", "model", text.to_owned(), Format::Toml, &[])
        .unwrap_or_else(|errors| panic!("{errors}"));
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap()
}

fn last(trajectory: &Trajectory, column: &str) -> f64 {
    trajectory.column(column).unwrap().last().unwrap()
}

/// A point mass on the plane y = 0 under the gravity 10, with a spring of stiffness `k` along x.
fn on_plane(contact: &str, k: f64, (x, v): (f64, f64), step: f64, until: f64) -> Trajectory {
    simulate(&format!(
        r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [1.0, 1.0]
system.potential = "0.5*{k}*x^2 + 10*y"
system.unilateral = [{{ name = "floor", gap = "y", restitution = 0.0, {contact} }}]
initial.q = {{ x = {x}, y = 0.0 }}
initial.v = {{ x = {v}, y = 0.0 }}
simulation = {{ scheme = "moreau-jean", step = {step}, until = {until} }}
"#
    ))
}

#[test]
fn a_coefficient_may_depend_on_the_motion() {
    // Friction that falls with the speed: v̇ = −g μ₀ / (1 + |v|), so that v + v²/2 falls linearly.
    let law = r#"tangential = "x", friction = "0.2/(1 + abs(v.x))""#;
    let run = on_plane(law, 0.0, (0.0, 2.0), 1e-4, 1.0);
    let left: f64 = 2.0 + 2.0 - 2.0 * 1.0;
    let exact = (1.0 + 2.0 * left).sqrt() - 1.0;
    assert!((last(&run, "v.x") - exact).abs() < 1e-6);
    // What slips is no contact that sticks, though the coefficient changes in the last correction.
    let law = r#"tangential = "x", friction = "0.2 + 0.1*exp(-(v.x/0.1)^2)""#;
    let run = on_plane(law, 0.0, (0.0, 1.0), 1e-3, 1.0);
    let certificate = &run.outcome().unwrap().certificate;
    let stick = certificate
        .iter()
        .find(|(e, _, _)| e.name() == "stick_velocity");
    assert!(stick.unwrap().1 < 1e-12, "{stick:?}");
    // Friction that vanishes with time lets go when μ(t) = tan of the slope.
    let law = r#"tangential = "x", friction = "0.5 - 0.1*t""#;
    let run = on_plane(law, 1.0, (3.0, 0.0), 1e-3, 2.5);
    let state = run.column("state.floor").unwrap().to_vec();
    let first = state.iter().position(|s| *s == 2.0).unwrap();
    assert!((first as f64 * 1e-3 - 2.0).abs() <= 2e-3, "{first}");
}

#[test]
fn a_negative_coefficient_ends_the_run_by_name() {
    let model = r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [1.0, 1.0]
system.potential = "10*y"
system.unilateral = [{ name = "floor", gap = "y", restitution = 0.0, tangential = "x", friction = "0.1 - t" }]
initial.q = { x = 0.0, y = 0.0 }
initial.v = { x = 5.0, y = 0.0 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 1.0 }
"#;
    let model = Model::parse("model", "model", model.to_owned(), Format::Toml, &[]).unwrap();
    let error = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("friction coefficient of contact `floor` is -"),
        "{error}"
    );
}

/// What rests at the origin has no length but the fall of a step; it stays closed all the same.
#[test]
fn bodies_at_rest_at_the_origin_stay_closed() {
    let stack = r#"
saltus = 1
[system]
coordinates = ["x1", "y1", "x2", "y2", "x3", "y3"]
mass = [1, 1, 2, 2, 3, 3]
force = [0, -10, 34, -20, 0, -30]
[[system.unilateral]]
name = "c0"
gap = "y1"
restitution = 0
tangential = "x1"
friction = 0.5
[[system.unilateral]]
name = "c1"
gap = "y2-y1"
restitution = 0
tangential = "x2-x1"
friction = 0.4
[[system.unilateral]]
name = "c2"
gap = "y3-y2"
restitution = 0
tangential = "x3-x2"
friction = 0.3
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 1
"#;
    let model = Model::parse("stack", "stack.toml", stack.to_owned(), Format::Toml, &[]).unwrap();
    let end = Simulation::new(&*model.system, model.scheme.clone())
        .step(model.plan.step)
        .start(model.initial.clone())
        .until(model.plan.until)
        .record()
        .unwrap();
    let outcome = end.outcome().unwrap();
    assert_eq!(outcome.events.impacts, 0);
    for contact in &outcome.events.contacts {
        assert_eq!(contact.openings, 0, "{}", contact.name);
    }
}

/// Friction that falls with the velocity holds what rests up to its coefficient at rest.
#[test]
fn weakening_friction_holds_what_rests_in_half_explicit_steps() {
    let block = r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1, 1]
force = [3.97, -10]
[[system.unilateral]]
name = "floor"
gap = "y - 1"
restitution = 0
tangential = "x"
friction = "0.2+0.2*exp(-abs(v.x)/0.5)"
[initial]
q = { y = 1 }
[simulation]
scheme = "half-explicit"
step = 1e-2
until = 1
"#;
    for method in ["trapezoidal", "hetr", "hem3", "hem4"] {
        let set = Override::set(format!(
            "simulation.scheme={{name='half-explicit',method='{method}'}}"
        ));
        let model = Model::parse(
            "block",
            "block.toml",
            block.to_owned(),
            Format::Toml,
            &[set],
        )
        .unwrap();
        let ran = Simulation::new(&*model.system, model.scheme.clone())
            .step(model.plan.step)
            .start(model.initial.clone())
            .until(model.plan.until)
            .record()
            .unwrap();
        let x = ran.column("q.x").unwrap().last().unwrap();
        assert!(x.abs() < 1e-12, "{method}: {x:e}");
    }
}

/// Friction that grows with the velocity is like damping: `v̇ = −5 g v` at the end of each half-explicit step, or no step at all where the
/// evaluations of the law drive each other apart.
#[test]
fn growing_friction_settles_or_is_refused_in_half_explicit_steps() {
    let block = r#"
saltus = 1
system = { coordinates = ["x", "y"], mass = [1, 1], force = [0, -10], unilateral = [{ name = "floor", gap = "y - 1", restitution = 0, tangential = "x", friction = "5*abs(v.x)" }] }
initial = { q = { y = 1 }, v = { x = 0.3 } }
simulation = { scheme = "half-explicit", step = 1e-3, until = 0.1 }
"#;
    let end = |step: f64| {
        let set = Override::set(format!("simulation.step={step}"));
        let model = Model::parse(
            "block",
            "block.toml",
            block.to_owned(),
            Format::Toml,
            &[set],
        )
        .unwrap();
        Simulation::new(&*model.system, model.scheme.clone())
            .step(model.plan.step)
            .start(model.initial.clone())
            .until(model.plan.until)
            .record()
    };
    let exact = 0.3 * (-5.0_f64).exp();
    let errors = [1e-3, 5e-4].map(|step| {
        let v = end(step).unwrap().column("v.x").unwrap().last().unwrap();
        (v - exact).abs()
    });
    assert!(errors[0] < 1e-5, "{errors:?}");
    assert!(errors[1] < 0.3 * errors[0], "{errors:?}");
    let error = end(0.1).unwrap_err().to_string();
    assert!(error.contains("did not settle"), "{error}");
}
