//! Beams in space at rest: patch tests, roll-up, the 45° bend, spectra.

use crate::support::*;
use saltus_mechanics::flexible::{Element, SpaceBeam, SpaceSection};
use saltus_mechanics::rotation;
use std::f64::consts::PI;

fn section(normal: [f64; 3], bending: [f64; 3]) -> SpaceSection {
    SpaceSection {
        rho_i: [0.0; 3],
        ..super::space::section(normal, bending)
    }
}

const CLAMP: [usize; 6] = [0, 1, 2, 3, 4, 5];

/// Along x, clamped, with nodes at `places`.
fn straight(places: &[f64], section: SpaceSection) -> Mesh<SpaceBeam> {
    let beams = places
        .windows(2)
        .map(|x| SpaceBeam::straight(section, x[1] - x[0]).unwrap())
        .collect();
    let q = places
        .iter()
        .flat_map(|&x| [x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        .collect();
    Mesh::chain(beams, q, &CLAMP)
}

fn even(n: usize, length: f64) -> Vec<f64> {
    (0..=n).map(|i| length * i as f64 / n as f64).collect()
}

fn none(_: &[f64]) -> Vec<(usize, usize, f64)> {
    Vec::new()
}

/// A load on three components of the last node, from `component`.
fn tip(nodes: usize, component: usize, load: [f64; 3]) -> impl Fn(&[f64]) -> Vec<f64> {
    move |_| {
        let mut f = vec![0.0; 6 * nodes];
        f[6 * nodes - 6 + component..][..3].copy_from_slice(&load);
        f
    }
}

fn end(mesh: &Mesh<SpaceBeam>) -> [f64; 7] {
    mesh.node(mesh.elements.len()).try_into().unwrap()
}

#[test]
fn patches() {
    let Some(records) = records() else { return };
    let id = "b3.patch.tension_shear";
    let places = records.parameters(id, "nodes");
    let expected = records.parameters(id, "N");
    let normal = [1000.0, 400.0, 300.0];
    let mut mesh = straight(&places, section(normal, [8.0, 10.0, 12.0]));
    let turn = rotation::exp(&[0.4, -1.0, 0.7]);
    let strain: [f64; 3] =
        std::array::from_fn(|k| f64::from(u8::from(k == 0)) + expected[k] / normal[k]);
    for (n, s) in places.iter().enumerate() {
        let x = rotation::rotate(&turn, &strain.map(|g| g * s));
        mesh.q[7 * n..7 * n + 3].copy_from_slice(&x);
        mesh.q[7 * n + 3..7 * n + 7].copy_from_slice(&turn);
    }
    let f = mesh.internal();
    let mut found = Vec::new();
    for (e, beam) in mesh.elements.iter().enumerate() {
        let normal = &fields(beam, &mesh.local(e))[..3];
        found.extend(normal.iter().zip(&expected).map(|(a, b)| a - b));
        if e > 0 {
            found.extend(&f[6 * e..6 * e + 3]);
        }
    }
    records.bound(id, &found);

    let id = "b3.patch.helix";
    let places = records.parameters(id, "nodes");
    let moment: [f64; 3] = records.parameters(id, "M_body").try_into().unwrap();
    let stiffness: [f64; 3] = records.parameters(id, "CM").try_into().unwrap();
    let mut mesh = straight(&places, section(normal, stiffness));
    for step in 1..=4 {
        let load = moment.map(|m| m * f64::from(step) / 4.0);
        mesh.equilibrium(tip(places.len(), 3, load), none);
    }
    let mut found = Vec::new();
    for (e, beam) in mesh.elements.iter().enumerate() {
        let inner = &fields(beam, &mesh.local(e))[3..];
        found.extend(inner.iter().zip(&moment).map(|(a, b)| a - b));
    }
    records.bound(id, &found);
    let length = places.last().unwrap();
    let expected = rotation::exp(&std::array::from_fn(|k| length * moment[k] / stiffness[k]));
    let found = rotation::principal(&[3, 4, 5, 6].map(|k| end(&mesh)[k]));
    let error = largest(&std::array::from_fn::<f64, 4, _>(|k| {
        found[k] - expected[k]
    }));
    records.bound("b3.patch.helix.rotation", &[error]);
    println!("b3.patch.*: 3 records");
}

#[test]
fn roll_up() {
    let Some(records) = records() else { return };
    let (ei, length) = (100.0, 10.0);
    let unit = section([1e4, 5e3, 5e3], [ei; 3]);
    let full = 2.0 * PI * ei / length;
    let names = [
        "full.n4", "half.n4", "full.n10", "half.n20", "full.n40", "half.n40",
    ];
    for id in names.map(|name| format!("b3.rollup.{name}")) {
        let n = records.parameter(&id, "n") as usize;
        let mut mesh = straight(&even(n, length), unit);
        for step in 1..=4 {
            let moment = records.parameter(&id, "M") * f64::from(step) / 4.0;
            mesh.equilibrium(tip(n + 1, 3, [0.0, 0.0, moment]), none);
        }
        records.check(&id, &end(&mesh)[..3]);
    }

    let id = "b3.rollup.one_step.n8";
    let mut mesh = straight(&even(8, length), unit);
    let solves = mesh.equilibrium(tip(9, 3, [0.0, 0.0, full]), none);
    let expected = records.value(id);
    println!(
        "{id}: {solves} solves (informative, {} in the record)",
        expected[0]
    );
    assert!(largest(&end(&mesh)[..3]) < 1e-8);

    let mut mesh = straight(&even(8, length), unit);
    for step in 1..=4 {
        let moment = [0.0, 0.0, full * f64::from(step) / 4.0];
        let body = |q: &[f64]| rotation::rotate_back(&[q[59], q[60], q[61], q[62]], &moment);
        mesh.equilibrium(
            |q| tip(9, 3, body(q))(q),
            |q| {
                let hat = rotation::hat(&body(q));
                (0..9)
                    .map(|k| (51 + k / 3, 51 + k % 3, -hat[k / 3][k % 3]))
                    .collect()
            },
        );
    }
    records.check("b3.rollup.spatial_moment.n8", &end(&mesh)[..3]);

    let id = "b3.rollup.three_turns.n16";
    let mut mesh = straight(&even(16, length), unit);
    for step in 1..=12 {
        let moment = 3.0 * full * f64::from(step) / 12.0;
        mesh.equilibrium(tip(17, 3, [0.0, 0.0, moment]), none);
    }
    let (mut worst, mut turned) = (0.0_f64, 0.0);
    for (e, beam) in mesh.elements.iter().enumerate() {
        let moment = fields(beam, &mesh.local(e))[5];
        worst = worst.max((moment - 60.0 * PI).abs());
        turned += moment / ei * length / 16.0;
    }
    records.check(
        id,
        &[end(&mesh)[0], end(&mesh)[1], end(&mesh)[2], worst, turned],
    );
    println!(
        "b3.rollup.*: {} records and one informative",
        names.len() + 2
    );
}

/// The 45° bend of radius 100 in the plane, loaded across it: `n` elements, chords or arcs as lengths.
fn bend(n: usize, section: SpaceSection, arc: bool) -> Mesh<SpaceBeam> {
    let place = |i: usize| {
        let angle = 0.25 * PI * i as f64 / n as f64;
        let (s, c) = angle.sin_cos();
        (vec![100.0 * (1.0 - c), 100.0 * s, 0.0], [s, c, 0.0])
    };
    curved(
        (0..=n).map(place),
        section,
        arc.then_some(25.0 * PI / n as f64),
    )
}

/// Through points with tangents; axis 3 of the sections is the z axis.
fn curved(
    places: impl Iterator<Item = (Vec<f64>, [f64; 3])>,
    section: SpaceSection,
    length: Option<f64>,
) -> Mesh<SpaceBeam> {
    let nodes: Vec<Vec<f64>> = places
        .map(|(x, tangent)| {
            let up = [0.0, 0.0, 1.0];
            let p = rotation::from_axes(&[tangent, rotation::cross(&up, &tangent), up]);
            [&x[..], &p].concat()
        })
        .collect();
    let beams = nodes
        .windows(2)
        .map(|pair| {
            let reference = pair.concat().try_into().unwrap();
            match length {
                Some(length) => SpaceBeam::stress_free_of_length(section, &reference, length),
                None => SpaceBeam::stress_free(section, &reference),
            }
            .unwrap()
        })
        .collect();
    Mesh::chain(beams, nodes.concat(), &CLAMP)
}

/// Tip positions under the given forces along z, each reached from the one before.
fn pulled(mesh: &mut Mesh<SpaceBeam>, forces: &[f64]) -> Vec<[f64; 3]> {
    let nodes = mesh.elements.len() + 1;
    forces
        .iter()
        .map(|&force| {
            mesh.equilibrium(tip(nodes, 0, [0.0, 0.0, force]), none);
            [0, 1, 2].map(|k| end(mesh)[k])
        })
        .collect()
}

const SIXTHS: [f64; 6] = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0];

#[test]
fn the_bend_with_given_elements() {
    let Some(records) = records() else { return };
    let simo = section([1e7, 5e6, 5e6], [1e7 / 12.0; 3]);
    let names = [
        "n8", "arc.n8", "arc.n16", "n32", "arc.n32", "n64", "arc.n64", "n128", "arc.n128",
    ];
    for name in names {
        let id = format!("b3.bend45.{name}");
        let n = records.parameter(&id, "n") as usize;
        let mut mesh = bend(n, simo, name.starts_with("arc"));
        records.check(&id, &pulled(&mut mesh, &SIXTHS)[5]);
    }
    println!("b3.bend45.n*, .arc.n*: {} records", names.len());
}

/// The limit of values whose error is a series in even powers of the element length, halved twice.
fn limit(values: &[[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|k| {
        let [a, b, c] = [0, 1, 2].map(|i| values[i][k]);
        let (first, second) = (b + (b - a) / 3.0, c + (c - b) / 3.0);
        second + (second - first) / 15.0
    })
}

#[test]
fn the_bend_converges_to_the_continuous_rod() {
    let Some(records) = records() else { return };
    let mut worst = 0.0_f64;
    for variant in ["simo", "shear56", "torsion", "kynema"] {
        let id = |force: u32| format!("b3.bend45.exact.{variant}.F{force}");
        let list = |name| records.parameters(&id(600), name).try_into().unwrap();
        let section = section(list("CN"), list("CM"));
        let runs = [16, 32, 64]
            .map(|n| pulled(&mut bend(n, section, false), &[150.0, 300.0, 450.0, 600.0]));
        for (k, force) in [(1, 300), (2, 450), (3, 600)] {
            let found = limit(&[runs[0][k], runs[1][k], runs[2][k]]);
            let exact = records.value(&id(force));
            records.check(&id(force), &found);
            let gap = |x: &[f64]| largest(&[0, 1, 2].map(|i| x[i] - exact[i]));
            worst = worst.max(gap(&found));
            let order = (gap(&runs[1][k]) / gap(&runs[2][k])).log2();
            assert!((order - 2.0).abs() < 0.02, "{}: order {order}", id(force));
        }
    }
    let id = "b3.bend45.kynema.parabola";
    let list = |name| records.parameters(id, name).try_into().unwrap();
    let section = section(list("CN"), list("CM"));
    let points = flat(&records.get(id)["parameters"]["points"]);
    let ([x1, x2], [y1, y2]) = ([points[1], points[2]], [points[4], points[5]]);
    // y = a x + b x²
    let b = (y2 / x2 - y1 / x1) / (x2 - x1);
    let a = y1 / x1 - b * x1;
    let runs = [32, 64, 128].map(|n| {
        let place = |i: usize| {
            let x = x2 * i as f64 / n as f64;
            let slope = a + 2.0 * b * x;
            let norm = slope.hypot(1.0);
            (
                vec![x, a * x + b * x * x, 0.0],
                [1.0 / norm, slope / norm, 0.0],
            )
        };
        pulled(&mut curved((0..=n).map(place), section, None), &SIXTHS)[5]
    });
    let found = limit(&runs);
    let displacement = [found[0] - x2, found[1] - y2, found[2]];
    let exact = records.value(id);
    let parabola = largest(&[0, 1, 2].map(|k| displacement[k] - exact[k]));
    println!(
        "b3.bend45.exact.*: 12 records (limits, order 2, of 16, 32, 64 elements, \
         within {worst:.1e}), b3.bend45.kynema.parabola: 1 record (of 32, 64, 128 elements, within {parabola:.1e})"
    );
    records.check(id, &displacement);
}

#[test]
fn the_path_does_not_matter() {
    let simo = section([1e7, 5e6, 5e6], [1e7 / 12.0; 3]);
    let steps = |count: u32| -> Vec<f64> {
        (1..=count)
            .map(|i| 600.0 * f64::from(i) / f64::from(count))
            .collect()
    };
    let ends = [3, 6, 24].map(|count| {
        *pulled(&mut bend(8, simo, false), &steps(count))
            .last()
            .unwrap()
    });
    for other in &ends[1..] {
        assert!(difference(other, &ends[0]) < 1e-9);
    }
    let mut mesh = bend(8, simo, false);
    let start = end(&mesh);
    pulled(&mut mesh, &[200.0, 400.0, 600.0, 400.0, 200.0, 0.0]);
    assert!(difference(&end(&mesh), &start) < 1e-12);
    println!("the path does not matter: b3.path_independence");
}

#[test]
fn frequencies_of_the_cantilever() {
    let Some(records) = records() else { return };
    let id = "b3.eigen.n32";
    let get = |name| records.parameter(id, name);
    let (e, h, rho) = (get("E"), get("h"), get("rho"));
    let g = e / (2.0 * (1.0 + get("nu")));
    let second = h.powi(4) / 12.0;
    let section = SpaceSection {
        ea: e * h * h,
        ga: [get("ks") * g * h * h; 2],
        gj: g * 0.1406 * h.powi(4),
        ei: [e * second; 2],
        rho_a: rho * h * h,
        rho_i: [2.0 * rho * second, rho * second, rho * second],
    };
    let mesh = straight(&even(get("n") as usize, get("L")), section);
    let omega = mesh.frequencies();
    records.check(id, &omega[..7]);
    println!("b3.eigen.n32: 1 record");
}

#[test]
fn a_free_beam_has_six_rigid_modes() {
    let simo = super::space::section([1000.0, 400.0, 300.0], [8.0, 10.0, 12.0]);
    let mut mesh = bend(4, simo, false);
    mesh.free = (0..mesh.size()).collect();
    let values = eigenvalues(&mesh.tangent(), &mesh.mass());
    assert!(largest(&values[..6]) < 1e-12 * values[29], "{values:?}");
    assert!(values[6] > 1e-9 * values[29]);
    assert_eq!(SpaceBeam::NODES * 6, SpaceBeam::NV);
}
