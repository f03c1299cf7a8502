//! The generalized-α family on what is not constant: constraints that move, forces of velocities, masses of
//! positions, all against closed forms.

use saltus::{Entry, Scheme, Simulation, Trajectory};
use saltus_integrators::{
    GeneralizedAlphaOptions, NonsmoothFormulation, NonsmoothGeneralizedAlphaOptions,
    SmoothFormulation,
};
use saltus_model::{Format, Model};

fn model(text: &str) -> Model {
    let text = format!(
        "saltus = 1\n{text}\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1\nuntil = 1\n"
    );
    Model::parse("model", "model", text, Format::Toml, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn nonsmooth(formulation: NonsmoothFormulation) -> Scheme {
    Scheme::NonsmoothGeneralizedAlpha(NonsmoothGeneralizedAlphaOptions {
        formulation,
        ..NonsmoothGeneralizedAlphaOptions::default()
    })
}

const BOTH: [NonsmoothFormulation; 2] = [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva];

fn run(model: &Model, scheme: &Scheme, h: f64, until: f64) -> Trajectory {
    Simulation::new(&*model.system, scheme.clone())
        .start(model.initial.clone())
        .step(h)
        .until(until)
        .record()
        .unwrap()
}

fn last(trajectory: &Trajectory, name: &str) -> f64 {
    trajectory.column(name).unwrap().last().unwrap()
}

fn worst(trajectory: &Trajectory, entry: Entry) -> f64 {
    let certificate = &trajectory.outcome().unwrap().certificate;
    certificate
        .iter()
        .find(|(e, _, _)| *e == entry)
        .map_or(0.0, |(_, worst, _)| worst)
}

/// Errors at three step lengths fall by four at each halving.
fn second_order(what: &str, errors: [f64; 3]) {
    println!("{what}: {errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!(
            (1.9..2.15).contains(&order),
            "{what}: {errors:?}, order {order}"
        );
    }
}

/// A point on a rod that grows as `L = 1 + t` about a pin, without gravity: `θ̇ L² = ω` stays, so that
/// `θ = ω (1 − 1/(1 + t))`, and with `g = x² + y² − L²` the multiplier is `−ω²/(2 (1 + t)⁴)`.
#[test]
fn a_growing_rod_turns_as_it_must() {
    let model = model(
        r#"
[system]
coordinates = ["x", "y"]
mass = [1.0, 1.0]
[[system.bilateral]]
name = "rod"
g = "x^2 + y^2 - (1 + t)^2"
[initial]
q = { x = 1.0 }
v = { x = 1.0, y = 3.0 }
"#,
    );
    let theta: f64 = 3.0 * 0.5;
    let smooth = |formulation| {
        Scheme::GeneralizedAlpha(GeneralizedAlphaOptions {
            formulation,
            ..GeneralizedAlphaOptions::default()
        })
    };
    let schemes = [
        ("pvv", nonsmooth(BOTH[0])),
        ("pva", nonsmooth(BOTH[1])),
        ("smooth p", smooth(SmoothFormulation::P)),
        ("smooth v", smooth(SmoothFormulation::V)),
    ];
    for (name, scheme) in schemes {
        let errors = [1e-2, 5e-3, 2.5e-3].map(|h| {
            let end = run(&model, &scheme, h, 1.0);
            if name.starts_with('p') {
                assert!(worst(&end, Entry::BilateralPosition) < 1e-13);
                assert!(worst(&end, Entry::BilateralVelocity) < 1e-12);
            }
            if name == "pva" {
                assert!(worst(&end, Entry::BilateralAcceleration) < 1e-9);
            }
            let (x, y) = (last(&end, "q.x"), last(&end, "q.y"));
            (x - 2.0 * theta.cos()).hypot(y - 2.0 * theta.sin())
        });
        second_order(name, errors);
    }
}

/// A mass at rest on a floor that rises as `½ a t²` carries `m (g + a)` from the first step on; thrown about by
/// `A sin ωt`, it takes off where the floor falls faster than gravity allows, `sin ωt = g/(A ω²)`.
#[test]
fn a_moving_floor_carries_and_lets_go() {
    let floor = |motion: &str, v: f64| {
        model(&format!(
            r#"
[system]
coordinates = ["y"]
mass = [2.0]
force = ["-2*10"]
[[system.unilateral]]
name = "floor"
gap = "y - {motion}"
restitution = 0.5
[initial]
v = {{ y = {v} }}
"#
        ))
    };
    for formulation in BOTH {
        let scheme = nonsmooth(formulation);
        let rising = run(&floor("1.5*t^2", 0.0), &scheme, 1e-2, 1.0);
        assert!((last(&rising, "q.y") - 1.5).abs() < 1e-12);
        assert!((last(&rising, "v.y") - 3.0).abs() < 1e-11);
        assert!((last(&rising, "impulse.floor") - 2.0 * 13.0 * 1e-2).abs() < 1e-11);
        assert!(worst(&rising, Entry::Penetration) < 1e-14);

        let h = 1e-3;
        let shaken = run(&floor("0.05*sin(20*t)", 1.0), &scheme, h, 0.1);
        let (t, gap) = (
            shaken.column("t").unwrap(),
            shaken.column("gap.floor").unwrap(),
        );
        let open = gap.iter().position(|g| g > 1e-12).unwrap();
        let exact = (0.5_f64).asin() / 20.0;
        println!(
            "{formulation:?} takes off at {}, exact {exact}",
            t.get(open).unwrap()
        );
        assert!((t.get(open).unwrap() - exact).abs() <= 2.0 * h);
        assert!(worst(&shaken, Entry::Penetration) < 1e-14);
    }
}

/// Linear drag: `v = −(g/c)(1 − e^{−ct})`; and a magnetic force, which turns and does no work.
#[test]
fn forces_of_velocities_are_of_second_order() {
    let model = model(
        r#"
[system]
coordinates = ["x", "y", "z"]
mass = [1.0, 1.0, 1.0]
force = ["5*v.y", "-5*v.x", "-10 - 2*v.z - 0*x^2"]
[[system.unilateral]]
name = "floor"
gap = "z + 100"
restitution = 0.0
[initial]
v = { x = 1.0 }
"#,
    );
    for formulation in BOTH {
        let scheme = nonsmooth(formulation);
        let mut turned = [0.0; 3];
        let errors = [1e-2, 5e-3, 2.5e-3].map(|h| {
            let end = run(&model, &scheme, h, 1.0);
            turned[(1e-2 / h).log2() as usize] =
                (last(&end, "v.x") - 5.0_f64.cos()).hypot(last(&end, "v.y") + 5.0_f64.sin());
            (last(&end, "v.z") + 5.0 * (1.0 - (-2.0_f64).exp())).abs()
        });
        second_order("drag", errors);
        second_order("magnetic force", turned);
    }
}

/// A free particle in polar coordinates inside a round wall: mass and force depend on positions and velocities,
/// and the motion is a polygon. With `e = 1` the chords are equal, energy and angular momentum stay.
#[test]
fn a_particle_in_polar_coordinates_flies_straight() {
    let model = model(
        r#"
[system]
coordinates = ["r", "phi"]
kinetic = "0.5*(v.r^2 + r^2*v.phi^2)"
[[system.unilateral]]
name = "wall"
gap = "1 - r"
restitution = 1.0
[initial]
q = { r = 0.5 }
v = { phi = 2.0 }
"#,
    );
    for formulation in BOTH {
        let scheme = nonsmooth(formulation);
        // Before the wall, at t = √3/2: the point (0.5, t).
        let errors = [1e-2, 5e-3, 2.5e-3].map(|h| {
            let end = run(&model, &scheme, h, 0.8);
            let (r, phi) = (last(&end, "q.r"), last(&end, "q.phi"));
            (r * phi.cos() - 0.5).hypot(r * phi.sin() - 0.8)
        });
        second_order("straight flight", errors);
        // Three impacts, 120° of the circle each; the point is back where it was after 3 chords.
        let errors = [4e-3, 1e-3, 2.5e-4].map(|h| {
            let end = run(&model, &scheme, h, 3.0 * 3.0_f64.sqrt());
            let outcome = end.outcome().unwrap();
            assert_eq!(outcome.events.impacts, 3);
            assert!(worst(&end, Entry::Penetration) < 1e-13);
            let (r, phi) = (last(&end, "q.r"), last(&end, "q.phi"));
            (r * phi.cos() - 0.5).hypot(r * phi.sin())
        });
        println!("{formulation:?} after three impacts: {errors:?}");
        assert!(errors[2] < 5e-3 && errors[2] < 0.25 * errors[0]);
    }
}
