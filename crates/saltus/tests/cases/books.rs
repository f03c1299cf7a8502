//! Energy books: prescribed motions, and impacts of a scheme whose velocities lag.

use crate::run::{close, run};
use saltus::Simulation;
use saltus_model::{Format, Model, Override};

/// A damped mass that a constraint drives.
const DRIVEN: &str = r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = ["-0.3*v.x"]
[[system.bilateral]]
name = "drive"
g = "x - 0.3*sin(5*t)"
[initial]
v = { x = 1.5 }
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 2
"#;

/// A mass between walls that shake.
const SHAKEN: &str = r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = ["-2 - 0.2*v.x"]
[[system.unilateral]]
name = "wall"
gap = "x - 0.05*sin(7*t)"
restitution = 0.5
[initial]
q = { x = 0.3 }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 1.5
"#;

/// Work of forces, of reactions, of prescribed motions, and what the scheme makes of it.
fn books(text: &str, scheme: &str) -> [f64; 4] {
    let scheme = Override::set(format!("simulation.scheme={scheme}"));
    let model = Model::parse(
        "test",
        "test.toml",
        text.to_owned(),
        Format::Toml,
        &[scheme],
    );
    let model = model.unwrap_or_else(|errors| panic!("{errors}"));
    let run = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap();
    let e = run.outcome().unwrap().energy;
    [
        e.work_external,
        e.work_contact,
        e.work_moving,
        e.numerical(),
    ]
}

#[test]
fn schemes_that_integrate_forces_book_the_work_of_a_drive_exactly() {
    // Kinetic energy (1.5 cos 5t)²/2 less what the damper takes, 0.3 ∫ (1.5 cos 5t)² dt.
    let damped = 0.3 * 1.5 * 1.5 * (1.0 + (20.0_f64).sin() / 20.0);
    let drive = 0.5 * 1.5 * 1.5 * ((10.0_f64).cos().powi(2) - 1.0) + damped;
    for scheme in ["splitting", "higher-order", "event-driven"] {
        let [external, contact, moving, numerical] = books(DRIVEN, scheme);
        close(&format!("{scheme}, damper"), external, -damped, 1e-6);
        close(&format!("{scheme}, drive"), contact, drive, 1e-6);
        close(&format!("{scheme}, by itself"), moving, drive, 1e-6);
        close(&format!("{scheme}, numerical"), numerical, 0.0, 1e-6);
    }
    // First order in the motion, not in how its reactions are shared out.
    let [_, contact, moving, _] = books(DRIVEN, "schatzman-paoli");
    close("schatzman-paoli, drive", contact, drive, 0.03);
    close("schatzman-paoli, by itself", moving, contact, 1e-4);
}

#[test]
fn a_wall_that_shakes_is_paid_where_its_impulses_act() {
    let reference = books(SHAKEN, "event-driven");
    for scheme in ["splitting", "higher-order"] {
        let books = books(SHAKEN, scheme);
        close(&format!("{scheme}, numerical"), books[3], 0.0, 1e-9);
    }
    let exact = books(SHAKEN, "higher-order");
    for (k, what) in ["forces", "wall", "wall by itself"].into_iter().enumerate() {
        close(what, exact[k], reference[k], 1e-6);
    }
}

/// With the position law of Schatzman and Paoli contacts give or take what the discretisation makes of an impact; the scheme itself
/// changes nothing, but that the last velocity belongs to the position before the last one.
#[test]
fn impacts_of_lagging_velocities_are_booked_to_their_contacts() {
    // With e = 0.5 as long as impacts are apart.
    for (e, h, until) in [
        (1.0, 1e-2, 3.0),
        (1.0, 1e-3, 3.0),
        (0.5, 1e-2, 0.95),
        (0.5, 1e-3, 0.95),
    ] {
        let (e_n, step) = (format!("parameters.e={e}"), format!("simulation.step={h}"));
        let scheme = "simulation.scheme=schatzman-paoli";
        let ran = run(
            "bouncing-ball",
            &[scheme, &e_n, &step, &format!("simulation.until={until}")],
        );
        let (energy, g) = (ran.outcome().energy, 10.0);
        let what = |of: &str| format!("e = {e}, h = {h}: {of}");
        close(
            &what("numerical at impacts"),
            energy.numerical_at_impacts,
            0.0,
            1e-9,
        );
        // `m g (q_{k+1} − q_k)`, half a step of gravity beside the velocity.
        let velocity = ran.last("v.y") - 0.5 * g * h;
        close(
            &what("numerical"),
            energy.numerical(),
            g * h * velocity,
            1e-9,
        );
        let lost: f64 = ran
            .outcome()
            .events
            .list
            .iter()
            .map(|e| -e.impulse * 0.5 * (e.velocity_before + e.velocity_after))
            .sum();
        if e == 1.0 {
            close(&what("contacts"), energy.work_contact, -lost, 1e-9);
        }
        assert!(
            energy.max_gain <= energy.impact_gain.max(1e-9),
            "{}",
            what("gain")
        );
    }
}

/// The foot of a spring is moved: the potential depends on time, and what it brings in is external work.
#[test]
fn a_potential_that_depends_on_time_does_external_work() {
    const MOVED: &str = r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [2]
potential = "0.5*300*(x - 0.1*sin(4*t))^2"
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 5
"#;
    // x = X (sin 4t − 4/ω sin ωt) from rest.
    let (w, t) = (150.0_f64.sqrt(), 5.0_f64);
    let amplitude = 0.1 * 150.0 / (150.0 - 16.0);
    let x = amplitude * ((4.0 * t).sin() - 4.0 / w * (w * t).sin());
    let v = amplitude * 4.0 * ((4.0 * t).cos() - (w * t).cos());
    let energy = v * v + 150.0 * (x - 0.1 * (4.0 * t).sin()).powi(2);
    for (scheme, tolerance, own) in [
        ("moreau-jean", 1e-3, 1e-4),
        ("nonsmooth-generalized-alpha", 1e-3, 1e-3),
        ("half-explicit", 1e-3, 1e-4),
        ("event-driven", 1e-6, 1e-8),
        ("higher-order", 1e-6, 1e-8),
    ] {
        let [external, contact, _, numerical] = books(MOVED, scheme);
        close(&format!("{scheme}, external"), external, energy, tolerance);
        close(&format!("{scheme}, contact"), contact, 0.0, 1e-12);
        close(&format!("{scheme}, numerical"), numerical, 0.0, own);
    }
}

/// A rod without friction does no work: what a scheme loses at the constraint is its own.
#[test]
fn constraints_at_rest_do_no_work() {
    const ROD: &str = r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1, 1]
potential = "9.81*y"
[[system.bilateral]]
name = "rod"
g = "(x^2+y^2-1)/2"
[initial]
q = { x = 0.8, y = -0.6 }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 5
"#;
    for (scheme, own) in [
        ("moreau-jean", 1.0),
        ("nonsmooth-newmark", 1.0),
        ("{name='half-explicit',method='hem4'}", 1e-9),
    ] {
        let [external, contact, moving, numerical] = books(ROD, scheme);
        for (what, work) in [
            ("external", external),
            ("contact", contact),
            ("moving", moving),
        ] {
            close(&format!("{scheme}, {what}"), work, 0.0, 1e-12);
        }
        assert!(numerical.abs() <= own, "{scheme}: {numerical:e}");
    }
}

/// The verdict compares what the scheme took with what moved, wherever the potential is zero.
#[test]
fn the_energy_at_work_does_not_depend_on_the_zero_of_the_potential() {
    let at_work = |offset: f64| {
        let potential = format!("system.potential='10*y + {offset}'");
        let ran = run("bouncing-ball", &[&potential]);
        ran.outcome().energy.at_work()
    };
    let (low, high) = (at_work(0.0), at_work(1e4));
    close("energy at work", high, low, 1e-6 * low);
}
