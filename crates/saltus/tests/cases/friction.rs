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
