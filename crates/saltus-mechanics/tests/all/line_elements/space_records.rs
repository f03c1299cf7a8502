//! The beam in space against reference records of single elements and small assemblies.

use super::space::section;
use crate::support::*;
use num_dual::Dual64;
use saltus_linear::{Dense, Lu};
use saltus_mechanics::flexible::{Damping, Differentiated, Element, SpaceBeam, SpaceSection};
use saltus_mechanics::rotation;
use serde_json::Value;

fn three(x: Vec<f64>) -> [f64; 3] {
    x.try_into().unwrap()
}

/// Element and positions of a record; strains of the stress-free shape where it has them.
fn state(records: &Records, id: &str) -> (SpaceBeam, [f64; 14]) {
    let list = |name| records.parameters(id, name);
    let mut section = section(three(list("CN")), three(list("CM")));
    section.rho_i = [0.0; 3];
    let has = |name: &str| !records.get(id)["parameters"][name].is_null();
    let strain = if has("g0") {
        three(list("g0"))
    } else {
        [1.0, 0.0, 0.0]
    };
    let curvature = if has("k0") {
        three(list("k0"))
    } else {
        [0.0; 3]
    };
    let beam = SpaceBeam::new(section, records.parameter(id, "L"), strain, curvature).unwrap();
    let q = ["x1", "p1", "x2", "p2"].map(list).concat();
    (beam, q.try_into().unwrap())
}

const REST: [f64; 12] = [0.0; 12];

#[test]
fn golden_states() {
    let Some(records) = records() else { return };
    let ids = [
        "small.energy",
        "small.K",
        "small.N",
        "moderate.energy",
        "moderate.K",
        "moderate.N",
        "moderate.M",
        "large.f_int",
        "large.N",
        "large.M",
    ];
    for id in ids {
        let id = format!("b3.state.{id}");
        let (beam, q) = state(&records, &id);
        let found = match id.rsplit('.').next().unwrap() {
            "energy" => vec![beam.energy(&q)],
            "K" => stiffness(&beam, &q, &REST),
            "N" => fields(&beam, &q)[..3].to_vec(),
            "M" => fields(&beam, &q)[3..].to_vec(),
            _ => force(&beam, &q, &REST),
        };
        records.check(&id, &found);
    }
    let list = |name| three(records.parameters("b3.K0", name));
    let length = records.parameter("b3.K0", "L");
    let beam = SpaceBeam::straight(section(list("CN"), list("CM")), length).unwrap();
    let mut q = [0.0; 14];
    (q[3], q[7], q[10]) = (1.0, length, 1.0);
    records.check("b3.K0", &stiffness(&beam, &q, &REST));
    println!("b3.state.*: {} records, b3.K0: 1 record", ids.len());
}

#[test]
fn derivative_checks() {
    let Some(records) = records() else { return };
    for id in ["phi0.0001", "phi0.03", "phi0.5"] {
        let id = format!("b3.derivative_check.{id}");
        let angle = records.parameter(&id, "relative_rotation");
        let (beam, mut q) = state(&records, "b3.state.small.K");
        let p = rotation::compose(
            &[q[3], q[4], q[5], q[6]],
            &rotation::exp(&[0.6 * angle, 0.0, -0.8 * angle]),
        );
        q[10..].copy_from_slice(&p);
        let exact = Differentiated(beam);
        let (f, k) = (force(&beam, &q, &REST), stiffness(&beam, &q, &REST));
        let mut skew = 0.0_f64;
        for n in [3, 9] {
            let hat = rotation::hat(&[f[n], f[n + 1], f[n + 2]]);
            for i in 0..3 {
                for j in 0..3 {
                    let found = k[(n + i) * 12 + n + j] - k[(n + j) * 12 + n + i];
                    skew = skew.max((found - hat[i][j]).abs() / largest(&k));
                }
            }
        }
        records.bound(
            &id,
            &[
                difference(&f, &force(&exact, &q, &REST)),
                difference(&k, &stiffness(&exact, &q, &REST)),
                skew,
            ],
        );
    }
    println!("b3.derivative_check.*: 3 records");
}

/// Superposes a rotation and a translation.
fn moved(q: &[f64; 14], p: &[f64; 4], shift: &[f64; 3]) -> [f64; 14] {
    let mut moved = *q;
    for n in [0, 7] {
        let x = rotation::rotate(p, &[q[n], q[n + 1], q[n + 2]]);
        let turned = rotation::compose(p, &[q[n + 3], q[n + 4], q[n + 5], q[n + 6]]);
        for k in 0..3 {
            moved[n + k] = x[k] + shift[k];
        }
        moved[n + 3..n + 7].copy_from_slice(&turned);
    }
    moved
}

/// Turns the rows of the translations by the inverse of `p`.
fn turned_back(a: &[f64], p: &[f64; 4]) -> Vec<f64> {
    let cols = a.len() / 12;
    let mut turned = a.to_vec();
    for n in [0, 6] {
        for j in 0..cols {
            let column = [0, 1, 2].map(|k| a[(n + k) * cols + j]);
            for (k, x) in rotation::rotate_back(p, &column).into_iter().enumerate() {
                turned[(n + k) * cols + j] = x;
            }
        }
    }
    turned
}

fn transposed(a: &[f64]) -> Vec<f64> {
    (0..144).map(|k| a[k % 12 * 12 + k / 12]).collect()
}

#[test]
fn invariances() {
    let Some(records) = records() else { return };
    let (beam, q) = state(&records, "b3.rigid_invariance");
    let (w, f, k) = (
        beam.energy(&q),
        force(&beam, &q, &REST),
        stiffness(&beam, &q, &REST),
    );
    let mut random = Random::new(40);
    let mut worst = [0.0_f64; 3];
    for _ in 0..20 {
        let p = rotation::exp(&random.vector(3.0));
        let q = moved(&q, &p, &random.vector(10.0));
        worst[0] = worst[0].max((beam.energy(&q) / w - 1.0).abs());
        worst[1] = worst[1].max(difference(&turned_back(&force(&beam, &q, &REST), &p), &f));
        let rows = turned_back(&stiffness(&beam, &q, &REST), &p);
        let both = transposed(&turned_back(&transposed(&rows), &p));
        worst[2] = worst[2].max(difference(&both, &k));
    }
    println!(
        "b3.rigid_invariance: 1 record, relative changes of W, f, K {}",
        shown(&worst)
    );
    records.bound("b3.rigid_invariance", &worst);

    let mut change = 0.0_f64;
    for n in [3, 10] {
        let mut flipped = q;
        flipped[n..n + 4].iter_mut().for_each(|x| *x = -*x);
        change = change.max(difference(&stiffness(&beam, &flipped, &REST), &k));
    }
    records.bound("b3.quaternion_sign", &[change]);

    let mut resultant = [0.0; 6];
    for n in 0..2 {
        let push = [f[6 * n], f[6 * n + 1], f[6 * n + 2]];
        let arm = rotation::cross(&[q[7 * n], q[7 * n + 1], q[7 * n + 2]], &push);
        let p = [q[7 * n + 3], q[7 * n + 4], q[7 * n + 5], q[7 * n + 6]];
        let twist = rotation::rotate(&p, &[f[6 * n + 3], f[6 * n + 4], f[6 * n + 5]]);
        for k in 0..3 {
            resultant[k] += push[k];
            resultant[3 + k] += arm[k] + twist[k];
        }
    }
    records.bound("b3.self_equilibrium", &resultant);
    println!("b3.quaternion_sign: 1 record, b3.self_equilibrium: 1 record");
}

#[test]
fn the_order_of_the_nodes_does_not_matter() {
    let section = SpaceSection {
        rho_i: [0.0; 3],
        ..section([1000.0, 400.0, 300.0], [8.0, 10.0, 12.0])
    };
    let beam = SpaceBeam::straight(section, 0.8).unwrap();
    let back = rotation::exp(&[0.0, 0.0, std::f64::consts::PI]);
    let mut random = Random::new(41);
    for _ in 0..10 {
        let first = rotation::exp(&random.vector(2.0));
        let second = rotation::compose(&first, &rotation::exp(&random.vector(0.5)));
        let (x1, x2) = (random.vector::<3>(1.0), random.vector::<3>(1.0));
        // Read from the other end, with the sections turned about their third axis.
        let turn = |p: &[f64; 4]| rotation::compose(p, &back);
        let one = [&x1[..], &first, &x2, &second].concat();
        let other = [&x2[..], &turn(&second), &x1, &turn(&first)].concat();
        let f = force(&beam, &one, &REST);
        let swapped = force(&beam, &other, &REST);
        let mut read = Vec::new();
        for n in [6, 0] {
            read.extend(&swapped[n..n + 3]);
            read.extend([-swapped[n + 3], -swapped[n + 4], swapped[n + 5]]);
        }
        assert!(difference(&read, &f) < 1e-13);
    }
    println!("the order of the nodes does not matter: b3.node_order");
}

#[test]
fn material_damping() {
    let Some(records) = records() else { return };
    let id = "b3.material_damping";
    let (beam, q) = state(&records, id);
    let v: [f64; 12] = records.parameters(id, "v").try_into().unwrap();
    let beam = beam.with_damping(Damping::new(0.0, records.parameter(id, "beta")).unwrap());
    let mut rates = [0.0; 14];
    for n in 0..2 {
        rates[7 * n..7 * n + 3].copy_from_slice(&v[6 * n..6 * n + 3]);
        let p = [0, 1, 2, 3].map(|k| q[7 * n + 3 + k]);
        let spin = [0.0, v[6 * n + 3], v[6 * n + 4], v[6 * n + 5]].map(|x| 0.5 * x);
        rates[7 * n + 3..7 * n + 7].copy_from_slice(&rotation::compose(&p, &spin));
    }
    let lifted: [Dual64; 14] = std::array::from_fn(|i| Dual64::new(q[i], rates[i]));
    let [strain, curvature] = beam.strains(&lifted);
    let mut lost = REST;
    beam.damping_force(&q, &v, &mut lost);
    let (_, c) = tangents(&beam, &q, &v);
    let found = [
        strain.map(|x| x.eps).to_vec(),
        curvature.map(|x| x.eps * beam.length()).to_vec(),
        lost.map(|x| -x).to_vec(),
        c.clone(),
    ];
    let value = records.get(id)["value"].as_array().unwrap();
    for (value, found) in value.iter().zip(&found) {
        records.compare(id, value, found);
    }
    let product: Vec<f64> = c
        .chunks(12)
        .map(|row| row.iter().zip(&v).map(|(c, v)| c * v).sum())
        .collect();
    assert!(difference(&product, &lost) < 1e-13);
    println!("b3.material_damping: 1 record");
}

#[test]
fn relative_rotation_beyond_pi() {
    let Some(records) = records() else { return };
    let beam = SpaceBeam::straight(section([1.0; 3], [1.0; 3]), 1.0).unwrap();
    let found = [3.0, 3.13, 3.15, 3.3].map(|angle| {
        let p = rotation::exp(&[0.0, 0.0, angle]);
        let q = [
            0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, p[0], p[1], p[2], p[3],
        ];
        fields(&beam, &q)[5]
    });
    records.check("pitfall.relative_rotation_pi", &found);
    println!("pitfall.relative_rotation_pi: 1 record");
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(flat).collect()
}

#[test]
fn assembled_state() {
    let Some(records) = records() else { return };
    let id = "b3.assembled_state";
    let parameters = &records.get(id)["parameters"];
    let list = |name| three(records.parameters(id, name));
    let mut section = section(list("CN"), list("CM"));
    section.rho_a = records.parameter(id, "rhoA");
    section.rho_i = list("Jrho");
    let places = |x: &str, p: &str| {
        let pairs = rows(&parameters[x]).into_iter().zip(rows(&parameters[p]));
        pairs.map(|(x, p)| [x, p].concat()).collect::<Vec<_>>()
    };
    let reference = places("X0", "P0");
    let elements: Vec<SpaceBeam> = reference
        .windows(2)
        .map(|pair| SpaceBeam::stress_free(section, &pair.concat().try_into().unwrap()).unwrap())
        .collect();
    let mesh = Mesh::chain(elements, places("X", "P").concat(), &[]);
    let spins = rows(&parameters["Omega"]);
    let v: Vec<f64> = rows(&parameters["V"])
        .into_iter()
        .zip(&spins)
        .flat_map(|(v, spin)| [v, spin.clone()].concat())
        .collect();
    let energy: f64 = mesh
        .elements
        .iter()
        .enumerate()
        .map(|(e, beam)| beam.energy(&mesh.local(e)))
        .sum();
    let internal = mesh.internal();
    let mut gyroscopic = vec![0.0; 24];
    for (e, beam) in mesh.elements.iter().enumerate() {
        let (q, v) = (mesh.local(e), &v[6 * e..6 * e + 12]);
        let (moving, still) = (force(beam, &q, v), force(beam, &q, &REST));
        for i in 0..12 {
            gyroscopic[6 * e + i] -= moving[i] - still[i];
        }
    }
    let fall = list("ag");
    let acceleration: Vec<f64> = (0..4)
        .flat_map(|_| [&fall[..], &[0.0; 3]].concat())
        .collect();
    let m: Dense = mesh.mass();
    let mut gravity = vec![0.0; 24];
    m.apply(&acceleration, &mut gravity);
    let mut a: Vec<f64> = (0..24)
        .map(|i| gravity[i] + gyroscopic[i] - internal[i])
        .collect();
    let mut lu = Lu::default();
    lu.factorise(&m).unwrap();
    lu.solve(&mut a);
    let part = |x: &[f64], from: usize| -> Vec<f64> {
        x.chunks(6)
            .flat_map(|node| node[from..from + 3].to_vec())
            .collect()
    };
    let found = [
        vec![energy],
        internal,
        part(&gyroscopic, 3),
        part(&gravity, 0),
        part(&a, 0),
        part(&a, 3),
    ];
    let value = records.get(id)["value"].as_array().unwrap();
    for (value, found) in value.iter().zip(&found) {
        records.compare(id, value, found);
    }
    println!("b3.assembled_state: 1 record");
}
