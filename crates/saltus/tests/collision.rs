//! Two soft bodies meet obliquely, each with its nodes on the faces of the other: what contact must not change.

#![allow(clippy::unwrap_used, clippy::panic)]

use saltus::Simulation;
use saltus_integrators::Scheme;
use saltus_linear::Dense;
use saltus_model::{Format, Model};
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
        let model = Model::parse("meet", "meet.toml", MODEL.to_owned(), Format::Toml, &[])
            .unwrap_or_else(|errors| panic!("{errors}"));
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
