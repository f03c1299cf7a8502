//! Solids: waves of uniform strain, large strains on a mesh from a file.

use crate::run::{Ran, close, number, run};
use saltus_system::{Dynamics, Kinematics, System};

/// Total impulse of the contacts `NAME.K` in each step.
fn total(ran: &Ran, name: &str, count: usize) -> Vec<f64> {
    let mut sum = vec![0.0; ran.column("t").len()];
    for k in 0..count {
        let column = ran.column(&format!("impulse.{name}.{k}"));
        for (sum, x) in sum.iter_mut().zip(column) {
            *sum += x;
        }
    }
    sum
}

#[test]
fn elastic_block() {
    let (height, width, density, gravity, drop) = (1.0, 0.25, 1e3, 9.81, 0.05_f64);
    let (young, nu) = (1e6, 0.3);
    let modulus = young * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let speed = f64::sqrt(modulus / density);
    let (start, stay) = ((2.0 * drop / gravity).sqrt(), 2.0 * height / speed);
    let v0 = gravity * start;

    let ran = run("elastic-block", &[]);
    let (t, impulse) = (ran.column("t"), total(&ran, "ground", 3));
    let closed: Vec<f64> = t
        .iter()
        .zip(&impulse)
        .filter(|(_, p)| **p > 0.0)
        .map(|(t, _)| *t)
        .collect();
    // The front is some elements wide when it comes back.
    let element = height / 40.0 / speed;
    close("contact begins", closed[0], start, ran.h());
    close(
        "contact ends",
        closed[closed.len() - 1],
        start + stay,
        3.0 * element + ran.h(),
    );
    for (from, to) in [(0.1, 0.5), (0.5, 0.9)] {
        let inside: Vec<f64> = t
            .iter()
            .zip(&impulse)
            .filter(|(t, _)| **t > start + from * stay && **t < start + to * stay)
            .map(|(_, p)| p / ran.h())
            .collect();
        let mean = inside.iter().sum::<f64>() / number(inside.len());
        let exact = density * speed * width * (v0 + gravity * 0.5 * (from + to) * stay);
        close("force / exact", mean / exact, 1.0, 2e-3);
    }
    let exact = density * speed * width * (v0 * stay + 0.5 * gravity * stay * stay);
    close("impulse", impulse.iter().sum::<f64>() / exact, 1.0, 5e-3);
    // Nodes on the sides have half the base of the one between them.
    let each: Vec<f64> = (0..3)
        .map(|k| ran.column(&format!("impulse.ground.{k}")).iter().sum())
        .collect();
    close("side / middle", each[0] / each[1], 0.5, 1e-9);
    close("side / side", each[0] / each[2], 1.0, 1e-9);
    let deepest = (0..3)
        .flat_map(|k| ran.column(&format!("gap.ground.{k}")))
        .fold(0.0, f64::min);
    close("penetration", deepest, 0.0, 1e-15);
    // It leaves as fast as it came, but for what the scheme dissipates of the front.
    let kept = ran.last("energy.total") / ran.column("energy.total")[0];
    close("energy kept", kept, 1.0, 2e-3);
}

#[test]
fn colliding_blocks() {
    let (length, width, density, speed) = (1.0, 0.2, 1e3, 0.2);
    let wave = f64::sqrt(1e6 / density);
    let (start, stay) = (0.01 / speed, 2.0 * length / wave);
    // Meshes that match, and meshes that do not.
    for others in [2, 3] {
        let ran = run(
            "colliding-blocks",
            &[&format!("parameters.others={others}")],
        );
        let (t, impulse) = (ran.column("t"), total(&ran, "front", 3));
        let closed: Vec<f64> = t
            .iter()
            .zip(&impulse)
            .filter(|(_, p)| **p > 1e-9)
            .map(|(t, _)| *t)
            .collect();
        let element = length / 40.0 / wave;
        close("contact begins", closed[0], start, ran.h());
        close(
            "contact ends",
            closed[closed.len() - 1],
            start + stay,
            3.0 * element + ran.h(),
        );
        let inside: Vec<f64> = t
            .iter()
            .zip(&impulse)
            .filter(|(t, _)| **t > start + 0.1 * stay && **t < start + 0.9 * stay)
            .map(|(_, p)| p / ran.h())
            .collect();
        let mean = inside.iter().sum::<f64>() / number(inside.len());
        close("force", mean, 0.5 * density * wave * speed * width, 1.0);
        let carried = density * length * width * speed;
        close("impulse", impulse.iter().sum::<f64>() / carried, 1.0, 2e-2);
        // Momentum is kept by every step; the velocities are exchanged.
        let assembly = ran.model.assembly.as_ref().unwrap();
        let mass = {
            let nv = assembly.dims().nv;
            let mut mass = saltus_linear::Dense::zeros(nv, nv);
            assembly.mass(&[], &mut mass);
            mass
        };
        let momentum = |v: &[f64]| {
            let mut p = vec![0.0; v.len()];
            mass.apply(v, &mut p);
            let (along, across): (Vec<f64>, Vec<f64>) = p.chunks(2).map(|p| (p[0], p[1])).unzip();
            [along.iter().sum::<f64>(), across.iter().sum::<f64>()]
        };
        let names = assembly.names().velocities;
        let last: Vec<f64> = names.iter().map(|n| ran.last(&format!("v.{n}"))).collect();
        let (first, last) = (momentum(&ran.model.initial.v), momentum(&last));
        close("momentum along", last[0] / first[0], 1.0, 1e-12);
        close("momentum across", last[1], 0.0, 1e-9);
        close("energy kept", ran.last("energy.total") / 4.0, 1.0, 1e-2);
    }
}

#[test]
fn rubber_cylinder() {
    let (young, nu, a) = (1e6, 0.3, 0.75_f64);
    let mu = 0.5 * young / (1.0 + nu);
    let lambda = young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let stretch = f64::exp(-mu / lambda * (a * a - 1.0)) / (a * a);

    let ran = run("rubber-cylinder", &[]);
    let assembly = ran.model.assembly.as_ref().unwrap();
    let state = &ran.model.initial;
    let mut rim: f64 = 0.0;
    for n in 0..assembly.node_count() {
        let node = saltus_mechanics::flexible::NodeId(u32::try_from(n).unwrap());
        let from = assembly.reference_position(node);
        for (c, factor) in [a, a, stretch].into_iter().enumerate() {
            let x = assembly.position(&state.q, node, c);
            assert!((x - factor * from[c]).abs() < 1e-13, "node {n}: {x}");
        }
        rim = rim.max(from[0].hypot(from[1]));
    }
    close("radius", rim, 0.01, 1e-12);
    // Cauchy's stress along the bar is the force over the area that is left, and there is no other.
    let group = assembly.groups()[0];
    let mut stresses = Vec::new();
    group.fields(&state.q, &mut stresses);
    let names = group.field_names();
    let force = (mu * (stretch * stretch - 1.0) + lambda * (stretch * a * a).ln()) / stretch;
    for values in stresses.chunks_exact(names.len()) {
        for (name, value) in names.iter().zip(values) {
            let (exact, scale) = match *name {
                "stress_zz" | "von_mises" => (force / (a * a), force),
                "strain_zz" => (0.5 * (stretch * stretch - 1.0), 1.0),
                "strain_xx" | "strain_yy" => (0.5 * (a * a - 1.0), 1.0),
                shear if shear.starts_with("strain") => (0.0, 1.0),
                _ => (0.0, force),
            };
            assert!((value - exact).abs() < 1e-9 * scale, "{name}: {value}");
        }
    }
    for name in ["q.bar.99.x", "q.bar.99.z"] {
        let column = ran.column(name);
        close(name, ran.last(name), column[0], 1e-12);
    }
}
