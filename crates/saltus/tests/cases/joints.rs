//! Dry friction in joints and constraints on velocities.

use crate::run::{Ran, close, drift, run};
use saltus::{Scheme, Simulation, Trajectory};
use saltus_model::{Format, Model, Override};

const STICK: f64 = 1.0;
const SLIP: f64 = 2.0;

/// The pendulum with a dry pin in its one degree of freedom, angle by angle every `h`; it stays where it stops inside the band.
fn dry_pin(theta: f64, h: f64, steps: usize) -> Vec<f64> {
    let (l, g, lever) = (0.5_f64, 9.81_f64, 0.4 * 0.05_f64);
    let inertia = l * l * 4.0 / 3.0;
    // θ̈ for the direction `s` of the motion, by repeated insertion of the force of the pin.
    let acceleration = |theta: f64, omega: f64, s: f64| {
        let mut a = 0.0;
        for _ in 0..60 {
            let force = (l * omega * omega + g * theta.cos()).hypot(l * a + g * theta.sin());
            a = (-g * l * theta.sin() - lever * force * s) / inertia;
        }
        a
    };
    let parts = 10;
    let dt = h / parts as f64;
    let (mut q, mut w) = (theta, 0.0_f64);
    let mut s = -theta.signum();
    let mut rests = (g * l * theta.sin()).abs() <= lever * g;
    let mut angles = vec![theta];
    for _ in 0..steps {
        for _ in 0..parts {
            if rests {
                continue;
            }
            let f = |q: f64, w: f64| (w, acceleration(q, w, s));
            let k1 = f(q, w);
            let k2 = f(q + 0.5 * dt * k1.0, w + 0.5 * dt * k1.1);
            let k3 = f(q + 0.5 * dt * k2.0, w + 0.5 * dt * k2.1);
            let k4 = f(q + dt * k3.0, w + dt * k3.1);
            let next = w + dt / 6.0 * (k1.1 + 2.0 * k2.1 + 2.0 * k3.1 + k4.1);
            let moved = q + dt / 6.0 * (k1.0 + 2.0 * k2.0 + 2.0 * k3.0 + k4.0);
            if next * s < 0.0 {
                // It turns: at the angle of the turn, to second order.
                q += 0.5 * w * dt * w / (w - next);
                w = 0.0;
                s = -s;
                rests = l * q.sin().abs() <= lever;
            } else {
                (q, w) = (moved, next);
            }
        }
        angles.push(q);
    }
    angles
}

#[test]
fn pendulum_with_dry_pin() {
    let band = (0.4_f64 * 0.05 / 0.5).asin();
    close("README: band", band, 0.040_010_7, 5e-8);
    let mut errors = Vec::new();
    for step in [4e-3, 2e-3, 1e-3] {
        let ran = run(
            "pendulum-with-dry-pin",
            &[&format!("simulation.step={step}")],
        );
        let angle = ran.column("q.theta");
        let exact = dry_pin(1.0, ran.h(), angle.len() - 1);
        let error = angle
            .iter()
            .zip(&exact)
            .fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        errors.push(error);
        let rest = ran.last("q.theta");
        assert!(rest.abs() <= band, "{rest}");
        close(
            "rests at",
            rest,
            exact[exact.len() - 1],
            2.0 * error + 1e-12,
        );
        close("speed", ran.last("v.theta"), 0.0, 1e-10);
        assert_eq!(ran.last("state.pin"), STICK);
        // It holds what gravity asks for, within its cone, and took what the energy lost.
        let held = -9.81 * 0.5 * rest.sin() / 0.05 * ran.h();
        // The constraints drift, which makes the lever another one.
        let drift = ran.last("gap.pin_x").hypot(ran.last("gap.pin_y"));
        let tolerance = 9.81 / 0.05 * drift * ran.h() + 1e-12;
        close("held", -ran.last("impulse_t.pin"), held, tolerance);
        let carried = ran.last("impulse.pin_x").hypot(ran.last("impulse.pin_y"));
        assert!(ran.last("impulse_t.pin").abs() <= 0.4 * carried);
        obeys_its_law(&ran);
    }
    println!("errors {errors:.6?}");
    assert!(errors[2] <= 2e-3, "{errors:?}");
    assert!(errors[2] < 0.6 * errors[0], "{errors:?}");
    // In the band it stays, to the last bit; outside it starts at once.
    for (offset, state) in [("- 1e-4", STICK), ("+ 1e-4", SLIP)] {
        let start = format!("parameters.theta0='asin(mu*r/l) {offset}'");
        let ran = run(
            "pendulum-with-dry-pin",
            &[&start, "simulation.until=0.5", "simulation.step=1e-2"],
        );
        assert_eq!(ran.column("state.pin")[1], state);
        if state == STICK {
            close("moved", drift(&ran.column("q.theta")), 0.0, 1e-13);
        }
    }
    // Without friction it keeps its energy.
    let free = run("pendulum-with-dry-pin", &["parameters.mu=0"]);
    close("energy", drift(&free.column("energy.total")), 0.0, 1e-8);
}

/// Cone, stick and dissipation, to the tolerance of Newton's method.
#[track_caller]
fn obeys_its_law(ran: &Ran) {
    for (entry, worst, _) in ran.outcome().certificate.iter() {
        if ["cone", "stick_velocity", "friction_work"].contains(&entry.name()) {
            assert!(worst <= 1e-10, "{}: {worst}", entry.name());
        }
    }
}

#[test]
fn skate_on_incline() {
    let a = 9.81 * 0.2_f64.sin();
    let (omega, t) = (2.0, 10.0);
    let half = 0.5 * a / (omega * omega);
    let x = half * (omega * t).sin().powi(2);
    let y = half * (omega * t - 0.5 * (2.0 * omega * t).sin());
    let error = |step: &str, bilateral: &str| {
        let ran = run(
            "skate-on-incline",
            &[
                &format!("simulation.step={step}"),
                &format!("simulation.scheme.bilateral='{bilateral}'"),
            ],
        );
        assert!(ran.column("gap.blade").iter().all(|g| *g == 0.0));
        close("phi", ran.last("q.phi"), omega * t, 1e-11);
        (ran.last("q.x") - x).hypot(ran.last("q.y") - y)
    };
    let mean = ["4e-3", "2e-3", "1e-3"].map(|step| error(step, "mean"));
    let end = ["4e-3", "2e-3", "1e-3"].map(|step| error(step, "end"));
    println!("mean {mean:?}, end {end:?}");
    close("order", (mean[1] / mean[2]).log2(), 2.0, 0.05);
    close("order", (end[1] / end[2]).log2(), 1.0, 0.1);
    let ran = run("skate-on-incline", &[]);
    close("energy", drift(&ran.column("energy.total")), 0.0, 1e-8);
    // The blade takes 2 m a sin φ sideways.
    let (t, impulse) = (ran.column("t"), ran.column("impulse.blade"));
    for k in [500, 3000, 7777] {
        let middle = t[k] - 0.5 * ran.h();
        let force = 2.0 * a * (omega * middle).sin();
        // Up to half a step aside, because the velocities alternate about the constraint.
        let aside = a * omega * ran.h();
        close("force", impulse[k] / ran.h(), force, aside);
    }
    // Released at rest it does not slide down: what a constraint on positions could not say.
    let highest = ran.column("q.x").iter().fold(0.0_f64, |m, x| m.max(*x));
    close("downhill", highest, half, 1e-4);
}

#[test]
fn rolling_disc() {
    let ran = run("rolling-disc", &[]);
    let (x, y, t) = (ran.column("q.x"), ran.column("q.y"), ran.column("t"));
    for (k, t) in t.iter().enumerate() {
        let angle = 0.8 * t;
        assert!((x[k] - 1.5 * angle.sin()).abs() < 1e-4, "{t}: {}", x[k]);
        assert!(
            (y[k] - 1.5 * (1.0 - angle.cos())).abs() < 1e-4,
            "{t}: {}",
            y[k]
        );
    }
    close("spin", ran.last("v.psi"), 4.0, 1e-4);
    close("turn", ran.last("v.phi"), 0.8, 1e-13);
    close("energy", drift(&ran.column("energy.total")), 0.0, 1e-10);
}

fn parse(text: &str, overrides: &[&str]) -> Result<Model, String> {
    let overrides: Vec<Override> = overrides.iter().map(|&o| Override::set(o)).collect();
    Model::parse("model", "model", text.to_owned(), Format::Toml, &overrides)
        .and_then(|model| model.permitted().map(|()| model))
        .map_err(|errors| errors.to_string())
}

const SLIDER: &str = r#"
saltus = 1
parameters = { bound = 3 }
system.coordinates = ["x", "y"]
system.mass = [2, 1]
system.force = ["4*t", "0"]
system.potential = "0"
system.bilateral = [{ name = "tie", velocity = "v.y - x*v.x" }]
system.friction = [{ name = "rail", tangential = "x", dry_friction = "bound" }]
initial.v = { x = 0, y = 0 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 2 }
"#;

fn simulate(model: &Model) -> saltus::Trajectory {
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap()
}

#[test]
fn a_fixed_bound_holds_a_coordinate() {
    // Alone: 2 ẍ = 4 t − 3 from t = 3/4 on.
    let model = parse(SLIDER, &["system.bilateral=[]"]).unwrap();
    let run = simulate(&model);
    let last = |name: &str| run.column(name).unwrap().last().unwrap();
    let free = 2.0 - 0.75;
    close("v", last("v.x"), free * free, 1e-6);
    close("x", last("q.x"), free * free * free / 3.0, 1e-6);
    let state = run.column("state.rail").unwrap().to_vec();
    let begins = state.iter().position(|s| *s == SLIP).unwrap();
    close("begins", begins as f64 * 1e-3, 0.75, 2e-3);
    close("force", last("impulse_t.rail") / 1e-3, -3.0, 1e-12);
    // A bound that becomes negative ends the run by name.
    let model = parse(
        SLIDER,
        &[
            "parameters.bound=0",
            "system.friction.rail.dry_friction='0.1 - t'",
        ],
    );
    let model = model.unwrap();
    let error = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(1e-3)
        .until(1.0)
        .record()
        .unwrap_err()
        .to_string();
    assert!(error.contains("dry friction `rail` is -"), "{error}");
}

#[test]
fn derivatives_of_rows_on_velocities_and_of_slip_pass_the_audit() {
    let text = SLIDER
        .replace(
            r#"tangential = "x", dry_friction = "bound""#,
            r#"tangential_velocity = ["cos(y)*v.x + sin(t)*x*v.y", "x^2*v.y - t*x"], friction = "0.1 + x^2", carried_by = ["tie"]"#,
        )
        .replace("x*v.x", "x^3*v.x*cos(t) - sin(y)");
    let model = parse(&text, &["initial.q={x=0.3,y=0}"]).unwrap();
    let audit = saltus_system::check::check(&*model.system, &model.initial);
    let failures: Vec<String> = audit.failures().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{failures:?}");
    for quantity in [
        "friction_curvature",
        "friction_jacobian_gradient",
        "g_bias_gradient",
    ] {
        assert!(
            audit.findings.iter().any(|f| f.quantity == quantity),
            "{quantity}"
        );
    }
}

#[test]
fn other_schemes_refuse_by_name_before_anything_runs() {
    for scheme in saltus::Scheme::ALL {
        let known = saltus::Scheme::by_name(scheme.name).unwrap();
        let solves = known.solves_joint_friction();
        let set = format!("simulation.scheme='{}'", scheme.name);
        match parse(SLIDER, &[&set]) {
            Ok(_) => assert!(solves, "{}", scheme.name),
            Err(message) => {
                assert!(!solves, "{message}");
                let joint = "\"rail\" is dry friction in a joint";
                assert!(message.contains(joint), "{message}");
                assert!(message.contains(scheme.name), "{message}");
                let tie = message.contains("\"tie\" is one on velocities");
                assert_eq!(tie, !known.solves_friction(), "{message}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_at_its_place() {
    for (from, to, expected) in [
        (
            "velocity = \"v.y - x*v.x\"",
            "velocity = \"v.y\", g = \"y\"",
            "given twice: by \"g\" and by \"velocity\"",
        ),
        (", velocity = \"v.y - x*v.x\"", "", "missing key \"g\""),
        ("v.y - x*v.x", "v.y^2", "is not linear in \"v.y\""),
        ("v.y - x*v.x", "y", "does not depend on any velocity"),
        (
            "dry_friction = \"bound\"",
            "friction = 0.1",
            "nothing carries it",
        ),
        (
            "dry_friction = \"bound\"",
            "friction = 0.1, carried_by = [\"tye\"]",
            "did you mean \"tie\"",
        ),
        ("dry_friction = \"bound\"", "dry_friction = -1", "is -1"),
        ("tangential = \"x\", ", "", "has no tangential direction"),
        (
            "tangential = \"x\"",
            "tangential = [\"x\", \"y\"]",
            "two directions and a fixed bound",
        ),
        (", dry_friction = \"bound\"", "", "has no bound"),
        (
            "name = \"rail\"",
            "name = \"tie\"",
            "two constraints are called \"tie\"",
        ),
    ] {
        let text = SLIDER.replace(from, to);
        assert_ne!(text, SLIDER, "{from}");
        let message = parse(&text, &[]).map(|_| ()).unwrap_err();
        assert!(message.contains(expected), "{from} -> {to}: {message}");
        assert_eq!(
            message.matches("help:").count().max(1),
            message
                .lines()
                .filter(|l| l.starts_with("model"))
                .count()
                .max(1),
            "{message}"
        );
    }
}

#[test]
fn constraints_on_velocities_move_velocities_alone() {
    let model = parse(
        SLIDER,
        &[
            "initial.q={x=2,y=1}",
            "initial.v={x=1,y=0}",
            "initial.project=true",
        ],
    )
    .unwrap();
    assert_eq!(model.initial.q, [2.0, 1.0]);
    // Nearest in the metric of the mass: v − M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ G v with G = (−2, 1), M = diag(2, 1).
    close("v.x", model.initial.v[0], 1.0 - 2.0 / 3.0, 1e-12);
    close("v.y", model.initial.v[1], 2.0 / 3.0, 1e-12);
}

/// A pendulum whose rod is written twice, by formulas that agree where they hold and nowhere else.
const TWICE: &str = r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [1, 1]
system.potential = "9.81*y"
system.bilateral = [
  { name = "rod", g = "x^2 + y^2 - 1" },
  { name = "again", g = "sqrt(x^2 + y^2) - 1" },
]
system.unilateral = [{ name = "wall", gap = "x + 0.3", restitution = 0.5 }]
initial.q = { x = "sin(0.9)", y = "-cos(0.9)" }
simulation.scheme = "moreau-jean"
simulation.step = 2e-3
simulation.until = 1
"#;

/// Every scheme moves the pendulum as if the rod were written once, and both share its force.
#[test]
fn constraints_that_say_the_same_share_their_force() {
    let once = TWICE.replace(r#"  { name = "again", g = "sqrt(x^2 + y^2) - 1" },"#, "");
    for scheme in Scheme::ALL {
        let option = format!("simulation.scheme={:?}", scheme.name);
        let record = |text: &str| {
            let smooth = scheme.name == "generalized-alpha";
            let text: String = (text.lines())
                .filter(|line| !(smooth && line.starts_with("system.unilateral")))
                .map(|line| format!("{line}\n"))
                .collect();
            let overrides = [Override::set(option.clone())];
            let model = Model::parse("model", "model", text, Format::Toml, &overrides)
                .unwrap_or_else(|errors| panic!("{errors}"));
            Simulation::new(&*model.system, model.scheme.clone())
                .start(model.initial.clone())
                .step(model.plan.step)
                .until(model.plan.until)
                .record()
                .unwrap_or_else(|error| panic!("{}: {error}", scheme.name))
        };
        let (one, two) = (record(&once), record(TWICE));
        let last = |run: &Trajectory, name: &str| run.column(name).unwrap().last().unwrap();
        for name in ["q.x", "q.y", "v.x", "v.y"] {
            let (a, b) = (last(&one, name), last(&two, name));
            println!("{}: {name} {a} {b}", scheme.name);
            assert!((a - b).abs() < 2e-5, "{}: {name} {a} {b}", scheme.name);
        }
    }
}
