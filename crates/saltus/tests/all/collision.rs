//! Two soft bodies meet obliquely, each with its nodes on the faces of the other: what contact must not change.

use crate::support::model;
use saltus::{Entry, Simulation, Trajectory};
use saltus_integrators::{
    LinearSolve, NonsmoothFormulation, NonsmoothGeneralizedAlphaOptions, Scheme,
};
use saltus_linear::Dense;
use saltus_model::Model;
use saltus_system::{Dynamics, Kinematics, System};

const MODEL: &str = r#"
saltus = 1
[materials.rubber]
young = 1e5
poisson = 0.3
density = 1000
[[solid]]
name = "a"
box = { from = [0, 0], to = [1, 1], divisions = [4, 4] }
material = "rubber"
law = "neo-hookean"
[[solid]]
name = "b"
box = { from = [1.3, 0.2], to = [2.3, 1.2], divisions = [3, 3], cells = "triangles" }
material = "rubber"
[[contact]]
name = "ab"
at = "a"
surface = "b"
[[contact]]
name = "ba"
at = "b"
surface = "a"
[initial.parts]
a = { velocity = [1, 0.1], spin = 0.5, about = [0.5, 0.5], rotation = 0.6 }
b = { velocity = [-1, 0] }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 0.5
"#;

#[test]
fn momentum_is_kept_and_energy_does_not_grow() {
    for name in [
        "moreau-jean",
        "nonsmooth-newmark",
        "nonsmooth-generalized-alpha",
    ] {
        let model = model("meet", MODEL);
        let assembly = model.assembly.clone().unwrap();
        let trajectory = Simulation::new(&*model.system, Scheme::by_name(name).unwrap())
            .start(model.initial.clone())
            .step(model.plan.step)
            .until(model.plan.until)
            .record()
            .unwrap();
        let names = assembly.names();
        let columns = |prefix: &str, names: &[String]| -> Vec<Vec<f64>> {
            let column = |n: &String| {
                trajectory
                    .column(&format!("{prefix}.{n}"))
                    .unwrap()
                    .to_vec()
            };
            names.iter().map(column).collect()
        };
        let (q, v) = (
            columns("q", &names.positions),
            columns("v", &names.velocities),
        );
        let nv = assembly.dims().nv;
        let mut mass = Dense::zeros(nv, nv);
        assembly.mass(&[], &mut mass);
        // Momentum along x and y, and about the origin.
        let momenta = |k: usize| {
            let speed: Vec<f64> = v.iter().map(|v| v[k]).collect();
            let mut p = vec![0.0; nv];
            mass.apply(&speed, &mut p);
            let mut sums = [0.0; 3];
            for n in 0..nv / 2 {
                sums[0] += p[2 * n];
                sums[1] += p[2 * n + 1];
                sums[2] += q[2 * n][k] * p[2 * n + 1] - q[2 * n + 1][k] * p[2 * n];
            }
            sums
        };
        let (first, last) = (momenta(0), momenta(trajectory.len() - 1));
        println!("{name}: {first:?} becomes {last:?}");
        // Each body of 1000 kg brings about 1000 kg m/s.
        for c in 0..2 {
            assert!(
                (last[c] - first[c]).abs() < 1e-9,
                "{name}: {first:?}, {last:?}"
            );
        }
        // Steps of second order turn a body a little too far.
        assert!(
            (last[2] - first[2]).abs() < 2.0,
            "{name}: {first:?}, {last:?}"
        );
        let energy = trajectory.column("energy.total").unwrap();
        let most = energy.iter().fold(0.0_f64, f64::max);
        let start = energy.get(0).unwrap();
        assert!(
            most < start * (1.0 + 2e-3),
            "{name}: {start} J, then {most} J"
        );
        // They did meet: the first is thrown back.
        let first_body = |k: usize| {
            let speed: Vec<f64> = v.iter().map(|v| v[k]).collect();
            let mut p = vec![0.0; nv];
            mass.apply(&speed, &mut p);
            p[..50].iter().step_by(2).sum::<f64>()
        };
        let (before, after) = (first_body(0), first_body(trajectory.len() - 1));
        println!("{before} kg m/s becomes {after} kg m/s");
        assert!((before - 1000.0).abs() < 1e-9 && after < -300.0, "{name}");
    }
}

/// Two blocks meet face to face, the nodes of each on the faces of the other: so many normals share so few
/// motions that signs alone do not find which of them press.
fn blocks(place: &str, divisions: &str) -> Model {
    let text = format!(
        r#"
saltus = 1
[materials.rubber]
young = 1e6
poisson = 0.3
density = 1000
[[solid]]
name = "left"
box = {{ from = [0, 0], to = [0.2, 0.2], divisions = [3, 3] }}
material = "rubber"
[[solid]]
name = "right"
box = {{ {place}, divisions = {divisions} }}
material = "rubber"
law = "neo-hookean"
[[contact]]
name = "a"
at = "left.right"
surface = "right"
[[contact]]
name = "b"
at = "right.left"
surface = "left"
[initial]
parts.left = {{ velocity = [1, 0] }}
[simulation]
scheme = "nonsmooth-generalized-alpha"
step = 2e-4
until = 0.03
"#
    );
    model("blocks", &text)
}

fn meet(model: &Model, options: NonsmoothGeneralizedAlphaOptions) -> Trajectory {
    let scheme = Scheme::NonsmoothGeneralizedAlpha(options);
    Simulation::new(&*model.system, scheme)
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Velocities and positions do not depend on the activation parameter, over eight decades.
#[test]
fn faces_that_do_not_match_press_as_they_must_whatever_the_activation_parameter() {
    let model = blocks("from = [0.21, 0.03], to = [0.41, 0.23]", "[4, 4]");
    let names = model.assembly.as_ref().unwrap().names();
    for formulation in [NonsmoothFormulation::Pva, NonsmoothFormulation::Pvv] {
        let with = |r: Option<f64>| {
            let options = NonsmoothGeneralizedAlphaOptions {
                formulation,
                r,
                ..NonsmoothGeneralizedAlphaOptions::default()
            };
            meet(&model, options)
        };
        let reference = with(None);
        let penetration = worst(&reference, Entry::Penetration);
        assert!(penetration < 1e-13, "{formulation:?}: {penetration:e} m");
        for exponent in -4..=4 {
            let other = with(Some(10_f64.powi(exponent)));
            let mut distance = 0.0_f64;
            for name in &names.velocities {
                let column = format!("v.{name}");
                let (a, b) = (reference.column(&column), other.column(&column));
                let pairs = a.unwrap().iter().zip(b.unwrap().iter());
                distance = pairs.fold(distance, |d, (a, b)| d.max((a - b).abs()));
            }
            println!("{formulation:?}, r = 1e{exponent}: {distance:e} m/s");
            assert!(distance < 1e-10, "r = 1e{exponent}: {distance:e} m/s");
        }
    }
}

/// Where the nodes of two faces lie on each other, every condition is there twice but for round-off. One of the two
/// holds, the other is open by as little.
#[test]
fn faces_that_match_press_although_every_condition_is_there_twice() {
    let model = blocks("from = [0.21, 0], to = [0.41, 0.2]", "[3, 3]");
    for formulation in [NonsmoothFormulation::Pva, NonsmoothFormulation::Pvv] {
        for linear_solve in [
            LinearSolve::Auto,
            LinearSolve::Sequential,
            LinearSolve::Monolithic,
        ] {
            let options = NonsmoothGeneralizedAlphaOptions {
                formulation,
                linear_solve,
                ..NonsmoothGeneralizedAlphaOptions::default()
            };
            let trajectory = meet(&model, options);
            let penetration = worst(&trajectory, Entry::Penetration);
            let law = worst(&trajectory, Entry::ImpactLaw);
            println!("{formulation:?}, {linear_solve:?}: {penetration:e} m, {law:e} m/s");
            assert!(penetration < 1e-13 && law < 1e-11);
        }
    }
}

/// The same with so many unknowns that a singular matrix of all of them has no least-norm solution at hand, and with
/// bodies at rest, so that all forces are new in the step of the impact.
#[test]
fn large_bodies_meet_whichever_way_a_correction_is_solved() {
    let text = r#"
saltus = 1
[materials.cork]
young = 1e6
poisson = 0
density = 1000
[[solid]]
name = "left"
box = { from = [-1, 0], to = [0, 0.2], divisions = [40, 2] }
material = "cork"
law = "linear"
mass = "lumped"
[[solid]]
name = "right"
box = { from = [5e-5, 0], to = [1.00005, 0.2], divisions = [40, 2] }
material = "cork"
law = "linear"
mass = "lumped"
[[contact]]
name = "front"
at = "left.right"
surface = "right.left"
[[contact]]
name = "back"
at = "right.left"
surface = "left.right"
[initial.parts]
left = { velocity = [0.2, 0] }
[simulation]
scheme = "nonsmooth-generalized-alpha"
step = 4e-4
until = 4e-3
"#;
    let model = model("bars", text);
    for linear_solve in [LinearSolve::Auto, LinearSolve::Monolithic] {
        let options = NonsmoothGeneralizedAlphaOptions {
            linear_solve,
            ..NonsmoothGeneralizedAlphaOptions::default()
        };
        let trajectory = meet(&model, options);
        let penetration = worst(&trajectory, Entry::Penetration);
        assert!(penetration < 1e-13, "{linear_solve:?}: {penetration:e} m");
        let energy = trajectory.column("energy.total").unwrap();
        let (first, last) = (energy.get(0).unwrap(), energy.last().unwrap());
        println!("{linear_solve:?}: {first} J, then {last} J");
        assert!(last <= first * (1.0 + 1e-3) && last > 0.9 * first);
    }
}

fn worst(trajectory: &Trajectory, entry: Entry) -> f64 {
    let certificate = &trajectory.outcome().unwrap().certificate;
    let found = certificate.iter().find(|(e, _, _)| *e == entry);
    found.map_or(0.0, |(_, worst, _)| worst)
}
