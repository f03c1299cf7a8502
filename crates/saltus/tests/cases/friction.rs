//! Dry friction against closed forms, through model files.

use saltus::{Simulation, Trajectory};
use saltus_model::{Format, Model};

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

/// A point mass on an inclined plane, along `x`, with the velocity `v` at the start.
fn incline(mu: f64, v: f64, step: f64, until: f64) -> Trajectory {
    simulate(&format!(
        r#"
saltus = 1
parameters = {{ alpha = 0.3, g = 9.81 }}
system.coordinates = ["x", "y"]
system.mass = [1.0, 1.0]
system.potential = "-g*sin(alpha)*x + g*cos(alpha)*y"
system.unilateral = [{{ name = "floor", gap = "y", restitution = 0.0, tangential = "x", friction = {mu} }}]
initial.q = {{ x = 0.0, y = 0.0 }}
initial.v = {{ x = {v}, y = 0.0 }}
simulation = {{ scheme = "moreau-jean", step = {step}, until = {until} }}
"#
    ))
}

fn last(trajectory: &Trajectory, column: &str) -> f64 {
    trajectory.column(column).unwrap().last().unwrap()
}

#[test]
fn a_block_held_below_the_limit_does_not_creep() {
    let limit = 0.3_f64.tan();
    let held = incline(limit + 1e-4, 0.0, 1e-2, 100.0);
    assert!(last(&held, "q.x").abs() < 1e-12);
    assert!(held.column("gap.floor").unwrap().iter().all(|g| g == 0.0));
    assert!(
        held.column("state.floor")
            .unwrap()
            .iter()
            .skip(1)
            .all(|s| s == 1.0)
    );
    // Above the limit it slides with a = g (sin α − μ cos α).
    let sliding = incline(limit - 1e-4, 0.0, 1e-2, 1.0);
    let a = 9.81 * (0.3_f64.sin() - (limit - 1e-4) * 0.3_f64.cos());
    assert!((last(&sliding, "v.x") - a).abs() < 1e-12);
    assert!((last(&sliding, "q.x") - 0.5 * a).abs() < 1e-12);
    assert_eq!(last(&sliding, "state.floor"), 2.0);
}

#[test]
fn a_sliding_block_stops_at_first_order_and_then_rests() {
    let a = 9.81 * (0.5 * 0.3_f64.cos() - 0.3_f64.sin());
    let error = |h: f64| (last(&incline(0.5, 1.0, h, 2.0), "q.x") - 0.5 / a).abs();
    for h in [1e-2, 1e-3, 1e-4] {
        // The scheme stops within the step of the stop: at most a h² / 8 away.
        assert!(error(h) <= a * h * h / 2.0, "h = {h}: {}", error(h));
    }
    let trajectory = incline(0.5, 1.0, 1e-3, 2.0);
    assert_eq!(last(&trajectory, "v.x"), 0.0);
    let worst = trajectory.outcome().unwrap();
    let entry = |name: &str| {
        let found = worst.certificate.iter().find(|(e, _, _)| e.name() == name);
        found.unwrap().1
    };
    assert_eq!(entry("friction_work"), 0.0);
    assert!(entry("cone") < 1e-15);
    assert!(entry("stick_velocity") < 1e-15);
}

/// A disc on a table with two tangents, pushed by a force of size `force` at an angle.
fn disc(mu: f64, degrees: f64, force: f64, v: f64, until: f64) -> Trajectory {
    let (sin, cos) = degrees.to_radians().sin_cos();
    simulate(&format!(
        r#"
saltus = 1
system.coordinates = ["x", "y", "z"]
system.mass = [1.0, 1.0, 1.0]
system.potential = "10*z"
system.force = ["{fx}", "{fy}", "0"]
system.unilateral = [{{ name = "table", gap = "z", restitution = 0.0, tangential = ["x", "y"], friction = {mu} }}]
initial.q = {{ x = 0.0, y = 0.0, z = 0.0 }}
initial.v = {{ x = {vx}, y = {vy}, z = 0.0 }}
simulation = {{ scheme = "moreau-jean", step = 1e-3, until = {until} }}
"#,
        fx = force * cos,
        fy = force * sin,
        vx = v * cos,
        vy = v * sin,
    ))
}

#[test]
fn the_limit_of_friction_is_a_circle_in_the_tangent_plane() {
    for degrees in [0.0, 17.0, 45.0, 90.0] {
        let held = disc(0.3 + 1e-4, degrees, 3.0, 0.0, 1.0);
        assert!(last(&held, "q.x").hypot(last(&held, "q.y")) < 1e-12);
        let slides = disc(0.3 - 1e-4, degrees, 3.0, 0.0, 1.0);
        let way = last(&slides, "q.x").hypot(last(&slides, "q.y"));
        assert!((way - 0.5 * 1e-3).abs() < 1e-9, "{degrees}°: {way}");
    }
}

#[test]
fn a_disc_slides_straight_and_stops() {
    for degrees in [17.0_f64, 45.0, 90.0] {
        let trajectory = disc(0.2, degrees, 0.0, 1.0, 1.0);
        let (x, y) = (last(&trajectory, "q.x"), last(&trajectory, "q.y"));
        let (sin, cos) = degrees.to_radians().sin_cos();
        assert!((x * sin - y * cos).abs() < 1e-12, "{degrees}°");
        assert!((x.hypot(y) - 0.25).abs() < 1e-6, "{degrees}°");
        assert_eq!(last(&trajectory, "state.table"), 1.0);
    }
}

#[test]
fn an_oblique_impact_slips_or_sticks_by_its_cone() {
    // e = 1/2: P_N = 1.5 u, slip changes by μ P_N, or to zero where that is more.
    let hit = |mu: f64| {
        simulate(&format!(
            r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [2.0, 2.0]
system.unilateral = [{{ name = "wall", gap = "y", restitution = 0.5, tangential = "x", friction = {mu} }}]
initial.q = {{ x = 0.0, y = 0.0105 }}
initial.v = {{ x = 3.0, y = -1.0 }}
simulation = {{ scheme = "moreau-jean", step = 1e-3, until = 0.1 }}
"#
        ))
    };
    let slip = hit(0.5);
    assert!((last(&slip, "v.y") - 0.5).abs() < 1e-14);
    assert!((last(&slip, "v.x") - 2.25).abs() < 1e-14);
    let impulses = slip.column("impulse_t.wall").unwrap();
    assert!((impulses.iter().sum::<f64>() + 1.5).abs() < 1e-14);
    let stick = hit(2.5);
    assert!(last(&stick, "v.x").abs() < 1e-14);
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
fn a_block_on_a_belt_sticks_and_slips_with_its_period() {
    // Stick at the belt's 0.2 m/s up to k x = 5 N, then a half-wave about k x = 3 N until the speeds agree again.
    let belt = r#"tangential_velocity = "v.x - 0.2", friction = 0.3, friction_static = 0.5"#;
    // Relative to x = 3 m: slip from (2, 0.2) at unit frequency comes back to the speed 0.2 at (−2, 0.2).
    let exact = 2.0 * 2.0 / 0.2 + 2.0 * (std::f64::consts::PI - 10.0_f64.atan());
    assert!((exact - 23.340_930).abs() < 1e-6, "{exact}");
    let period = |h: f64| {
        let run = on_plane(belt, 1.0, (0.0, 0.2), h, 75.0);
        let state = run.column("state.floor").unwrap().to_vec();
        let breaks: Vec<f64> = (1..state.len())
            .filter(|&i| state[i] == 2.0 && state[i - 1] == 1.0)
            .map(|i| i as f64 * h)
            .collect();
        assert_eq!(breaks.len(), 3, "{breaks:?}");
        breaks[2] - breaks[1]
    };
    for h in [1e-2, 1e-3] {
        let found = period(h);
        assert!((found - exact).abs() < 4.0 * h, "h = {h}: {found}");
    }
}

#[test]
fn a_coefficient_may_depend_on_the_motion() {
    // Friction that falls with the speed: v̇ = −g μ₀ / (1 + |v|), so that v + v²/2 falls linearly.
    let law = r#"tangential = "x", friction = "0.2/(1 + abs(v.x))""#;
    let run = on_plane(law, 0.0, (0.0, 2.0), 1e-4, 1.0);
    let left: f64 = 2.0 + 2.0 - 2.0 * 1.0;
    let exact = (1.0 + 2.0 * left).sqrt() - 1.0;
    assert!((last(&run, "v.x") - exact).abs() < 1e-6);
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

#[test]
fn tangential_restitution_turns_the_slip_round_where_it_sticks() {
    let run = simulate(
        r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [2.0, 2.0]
system.unilateral = [{ name = "wall", gap = "y", restitution = 0.5, tangential = "x", friction = 5, tangential_restitution = 0.8 }]
initial.q = { x = 0.0, y = 0.0105 }
initial.v = { x = 3.0, y = -1.0 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 0.1 }
"#,
    );
    assert!((last(&run, "v.x") + 2.4).abs() < 1e-13);
    assert!((last(&run, "v.y") - 0.5).abs() < 1e-14);
}
