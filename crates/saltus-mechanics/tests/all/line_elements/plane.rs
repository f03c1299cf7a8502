//! The geometrically exact beam in the plane.

use super::linear::gauss;
use crate::support::*;
use saltus_mechanics::flexible::{
    Cell, Damping, Differentiated, Element, Energy, MassMatrix, NodeKind, PlaneBeam, PlaneSection,
};
use saltus_mechanics::rotation::Scalar;
use std::f64::consts::PI;

fn section(ea: f64, ga: f64, ei: f64) -> PlaneSection {
    PlaneSection {
        ea,
        ga,
        ei,
        rho_a: 2.0,
        rho_i: 0.3,
    }
}

/// A clamped beam along x of `n` elements.
fn cantilever(n: usize, length: f64, section: PlaneSection) -> Mesh<PlaneBeam> {
    let beam = PlaneBeam::straight(section, length / n as f64).unwrap();
    let q = (0..=n)
        .flat_map(|i| [i as f64 * length / n as f64, 0.0, 0.0])
        .collect();
    Mesh::chain(vec![beam; n], q, &[0, 1, 2])
}

/// A load on component `c` of the last node.
fn tip(n: usize, c: usize, size: f64) -> impl Fn(&[f64]) -> Vec<f64> {
    move |_| {
        let mut f = vec![0.0; 3 * n + 3];
        f[3 * n + c] = size;
        f
    }
}

fn none(_: &[f64]) -> Vec<(usize, usize, f64)> {
    Vec::new()
}

#[test]
fn force_and_tangent_are_derivatives_of_the_energy() {
    let mut random = Random::new(2);
    let beams = [
        PlaneBeam::new(section(1000.0, 400.0, 10.0), 0.8, [1.02, -0.03, 0.4]).unwrap(),
        PlaneBeam::between(section(1e5, 3e4, 2.0), &[0.1, 0.2, 2.0, -0.5, 0.9, -0.4]).unwrap(),
    ];
    for beam in beams {
        for _ in 0..50 {
            let (q, v) = (random.vector::<6>(2.0), [0.0; 6]);
            let exact = Differentiated(beam);
            assert!(difference(&force(&beam, &q, &v), &force(&exact, &q, &v)) < 1e-12);
            assert!(difference(&stiffness(&beam, &q, &v), &stiffness(&exact, &q, &v)) < 1e-12);
            assert_eq!(beam.energy(&q), exact.energy(&q));
        }
    }
}

#[test]
fn damping_takes_power_and_leaves_rigid_motion_alone() {
    let mut random = Random::new(3);
    let beam = PlaneBeam::new(section(1000.0, 400.0, 10.0), 0.8, [1.0, 0.0, 0.1]).unwrap();
    let material = beam.with_damping(Damping::new(0.0, 0.02).unwrap());
    let both = beam.with_damping(Damping::new(0.7, 0.02).unwrap());
    for _ in 0..20 {
        let (q, v) = (random.vector::<6>(1.0), random.vector::<6>(3.0));
        let (worst_k, worst_c) = finite_differences(&both, &q, &v);
        assert!(worst_k < 1e-8 && worst_c < 1e-11, "{worst_k:e} {worst_c:e}");
        let mut lost = [0.0; 6];
        both.damping_force(&q, &v, &mut lost);
        assert!(lost.iter().zip(&v).map(|(f, v)| f * v).sum::<f64>() > 0.0);
        let elastic = force(&beam, &q, &v);
        let sum: Vec<f64> = elastic.iter().zip(&lost).map(|(a, b)| a + b).collect();
        assert!(difference(&force(&both, &q, &v), &sum) < 1e-14);
        // Rigid motion: translation and rotation about the origin.
        let [a, b, w] = random.vector::<3>(1.0);
        let rigid = [a - w * q[1], b + w * q[0], w, a - w * q[4], b + w * q[3], w];
        material.damping_force(&q, &rigid, &mut lost);
        assert!(largest(&lost) < 1e-12 * 1000.0);
    }
}

#[test]
fn a_stress_free_shape_has_no_stress_wherever_it_is() {
    let reference = [0.1, 0.2, 0.3, 0.8, 0.6, 0.9];
    for beam in [
        PlaneBeam::stress_free(section(1000.0, 400.0, 10.0), &reference).unwrap(),
        PlaneBeam::between(section(1000.0, 400.0, 10.0), &reference).unwrap(),
    ] {
        let moved = rigid(&reference, 2.2, [3.0, -1.0]);
        assert!(largest(&fields(&beam, &moved)) < 1e-12);
        assert!(beam.energy(&moved) < 1e-24);
    }
    let error = PlaneBeam::stress_free(section(1.0, 1.0, 1.0), &[0.0; 6]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the distance between the nodes of a beam is 0")
    );
}

fn rigid(q: &[f64; 6], angle: f64, shift: [f64; 2]) -> [f64; 6] {
    let (s, c) = angle.sin_cos();
    let mut moved = *q;
    for n in [0, 3] {
        moved[n] = c * q[n] - s * q[n + 1] + shift[0];
        moved[n + 1] = s * q[n] + c * q[n + 1] + shift[1];
        moved[n + 2] += angle;
    }
    moved
}

#[test]
fn element_records() {
    let Some(records) = records() else { return };
    let id = "ge2.state.K";
    let get = |name| records.parameter(id, name);
    let e0 = records.parameters(id, "e0");
    let q: [f64; 6] = records.parameters(id, "q").try_into().unwrap();
    let shape = [e0[0], e0[1], get("k0")];
    let beam = PlaneBeam::new(section(get("EA"), get("GA"), get("EI")), get("L"), shape).unwrap();
    records.check("ge2.state.W", &[beam.energy(&q)]);
    records.check("ge2.state.K", &stiffness(&beam, &q, &[0.0; 6]));
    records.check("ge2.state.NQM", &fields(&beam, &q));
    println!("ge2.state.*: 3 records");

    let mut random = Random::new(4);
    let mut worst = [0.0_f64; 3];
    let (f, k) = (force(&beam, &q, &[0.0; 6]), stiffness(&beam, &q, &[0.0; 6]));
    for _ in 0..20 {
        let angle = 3.0 * random.signed();
        let moved = rigid(&q, angle, random.vector(10.0));
        let back = |f: &[f64]| turn_rows(f, -angle, f.len() / 6);
        let k_moved = stiffness(&beam, &moved, &[0.0; 6]);
        let k_rows = turn_rows(&k_moved, -angle, 6);
        let k_both = transposed(&turn_rows(&transposed(&k_rows), -angle, 6));
        worst[0] = worst[0].max((beam.energy(&moved) / beam.energy(&q) - 1.0).abs());
        worst[1] = worst[1].max(difference(&back(&force(&beam, &moved, &[0.0; 6])), &f));
        worst[2] = worst[2].max(difference(&k_both, &k));
    }
    println!(
        "ge2.rigid_invariance: 1 record, relative changes of W, f, K {}",
        shown(&worst)
    );
    records.bound("ge2.rigid_invariance", &worst);
}

fn turn_rows(a: &[f64], angle: f64, cols: usize) -> Vec<f64> {
    let (s, c) = angle.sin_cos();
    let mut turned = a.to_vec();
    for n in [0, 3] {
        for j in 0..cols {
            let (x, y) = (a[n * cols + j], a[(n + 1) * cols + j]);
            turned[n * cols + j] = c * x - s * y;
            turned[(n + 1) * cols + j] = s * x + c * y;
        }
    }
    turned
}

fn transposed(a: &[f64]) -> Vec<f64> {
    (0..36).map(|k| a[k % 6 * 6 + k / 6]).collect()
}

#[test]
fn a_moment_rolls_a_beam_up() {
    let Some(records) = records() else { return };
    for id in ["ge2.rollup.n4", "ge2.rollup.n10", "ge2.rollup.n20"] {
        let get = |name| records.parameter(id, name);
        let (n, length, ei) = (get("n") as usize, get("L"), get("EI"));
        let mut mesh = cantilever(n, length, section(1e4, 5e3, ei));
        let mut half = 0.0;
        for step in 1..=4 {
            let moment = 2.0 * PI * ei / length * f64::from(step) / 4.0;
            mesh.equilibrium(tip(n, 2, moment), none);
            if step == 2 {
                half = mesh.node(n)[1];
            }
        }
        let mut found = mesh.node(n).to_vec();
        found.push(half);
        records.check(id, &found);
    }
    println!("ge2.rollup.*: 3 records");
}

#[test]
fn elastica() {
    let Some(records) = records() else { return };
    for load in [1, 2, 5, 10] {
        let id = format!("ge2.elastica.{load}");
        let get = |name| records.parameter(&id, name);
        let mut errors = Vec::new();
        for n in [8, 16, 32, 64] {
            let mut mesh = cantilever(n, 1.0, section(get("EA"), get("GA"), 1.0));
            for part in 1..=5 {
                mesh.equilibrium(tip(n, 1, f64::from(load * part) / 5.0), none);
            }
            let end = mesh.node(n);
            let found = [end[1], 1.0 - end[0], end[2]];
            if n == 16 {
                records.check(&id, &found);
            }
            if load != 10 {
                let exact = records.value(&format!("elastica.exact.{load}"));
                errors.push(
                    exact
                        .iter()
                        .zip(&found)
                        .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs())),
                );
            }
        }
        for pair in errors.windows(2).take(2) {
            let rate = (pair[0] / pair[1]).log2();
            assert!((rate - 2.0).abs() < 0.02, "{id}: order {rate}");
        }
    }
    println!("ge2.elastica.*: 4 records, elastica.exact.*: 3 records (as limits, order 2)");
}

/// The beam with two Gauss points: what must not be done.
struct FullyIntegrated {
    section: PlaneSection,
    length: f64,
}

impl Energy for FullyIntegrated {
    const NODE: NodeKind = NodeKind::PlaneFrame;
    const NODES: usize = 2;
    const CELL: Cell = Cell::Line;

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let per_length = 1.0 / self.length;
        let (x, y) = ((q[3] - q[0]) * per_length, (q[4] - q[1]) * per_length);
        let curvature = (q[5] - q[2]) * per_length;
        let mut sum = curvature * curvature * (0.5 * self.length * self.section.ei);
        for (xi, weight) in gauss(2) {
            let (s, c) = (q[2] * (1.0 - xi) + q[5] * xi).sin_cos();
            let (stretch, shear) = (x * c + y * s - 1.0, y * c - x * s);
            sum += stretch * stretch * (0.5 * weight * self.length * self.section.ea);
            sum += shear * shear * (0.5 * weight * self.length * self.section.ga);
        }
        sum
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
    }
}

/// Tip deflection of the linear cantilever over the exact one of Timoshenko's theory.
fn linear_tip<E: Element>(elements: Vec<E>, section: &PlaneSection) -> f64 {
    let n = elements.len();
    let q: Vec<f64> = (0..=n)
        .flat_map(|i| [i as f64 / n as f64, 0.0, 0.0])
        .collect();
    let mesh = Mesh::chain(elements, q, &[0, 1, 2]);
    let exact = 1.0 / (3.0 * section.ei) + 1.0 / section.ga;
    let mut lu = saltus_linear::Lu::default();
    lu.factorise(&mesh.reduced(&mesh.tangent())).unwrap();
    let mut x = vec![0.0; 3 * n];
    x[3 * n - 2] = 1.0;
    lu.solve(&mut x);
    x[3 * n - 2] / exact
}

#[test]
fn no_locking() {
    let Some(records) = records() else { return };
    println!("tip deflection over exact, 1, 2, 4, 8, 16 elements: one point, then two points");
    for (id, slenderness) in [
        ("ge2.locking.L_h10", 10.0_f64),
        ("ge2.locking.L_h100", 100.0),
        ("ge2.locking.L_h1000", 1000.0),
        ("ge2.locking.L_h10000", 1e4),
    ] {
        let h = 1.0 / slenderness;
        let shear = 5.0 / 6.0 / 2.6;
        let section = section(h, shear * h, h.powi(3) / 12.0);
        let counts = [1, 2, 4, 8, 16];
        let mut found: Vec<f64> = counts
            .iter()
            .map(|&n| {
                let beam = PlaneBeam::straight(section, 1.0 / n as f64).unwrap();
                linear_tip(vec![beam; n], &section)
            })
            .collect();
        found.extend(counts.iter().map(|&n| {
            let full = || {
                Differentiated(FullyIntegrated {
                    section,
                    length: 1.0 / n as f64,
                })
            };
            linear_tip((0..n).map(|_| full()).collect(), &section)
        }));
        println!("L/h = {slenderness:>6}: {}", shown(&found));
        records.check(id, &found);
    }
    println!("ge2.locking.*: 4 records");
}

#[test]
fn frequencies_of_the_cantilever() {
    let Some(records) = records() else { return };
    let exact = records.value("timoshenko.cantilever.omega");
    for (id, mass) in [
        ("ge2.eigen.consistent", MassMatrix::Consistent),
        ("ge2.eigen.lumped", MassMatrix::Lumped),
    ] {
        let get = |name| records.parameter(id, name);
        let (h, e) = (get("h"), get("E"));
        let g = e / (2.0 * (1.0 + get("nu")));
        let section = PlaneSection {
            ea: e * h,
            ga: get("ks") * g * h,
            ei: e * h.powi(3) / 12.0,
            rho_a: get("rho") * h,
            rho_i: get("rho") * h.powi(3) / 12.0,
        };
        let mut first = Vec::new();
        for n in [8, 16, get("n") as usize] {
            let mut mesh = cantilever(n, get("L"), section);
            let beam = mesh.elements[0].with_mass(mass);
            mesh.elements.fill(beam);
            // Bending only.
            mesh.free.retain(|i| i % 3 != 0);
            let omega = mesh.frequencies();
            first.push((omega[0] / exact[0] - 1.0).abs());
            if n == 32 {
                records.check(id, &omega[..4]);
            }
        }
        for pair in first.windows(2) {
            assert!(((pair[0] / pair[1]).log2() - 2.0).abs() < 0.03, "{first:?}");
        }
    }
    println!("ge2.eigen.*: 2 records, timoshenko.cantilever.omega: 1 record (as limit, order 2)");
}

#[test]
fn rates_of_the_linear_beam() {
    let Some(records) = records() else { return };
    let h = 0.1_f64;
    let section = section(h, 5.0 / 6.0 / 2.6 * h, h.powi(3) / 12.0);
    let (ei, ga) = (section.ei, section.ga);
    let theta = |x: f64| (x / 2.0 - x * x / 2.0 + x.powi(3) / 6.0) / ei;
    let w =
        |x: f64| (x * x / 4.0 - x.powi(3) / 6.0 + x.powi(4) / 24.0) / ei + (x - x * x / 2.0) / ga;
    let (mut deflections, mut angles) = (Vec::new(), Vec::new());
    for n in records.parameters("ge2.rates", "n") {
        let n = n as usize;
        let mesh = cantilever(n, 1.0, section);
        let mut x = vec![0.0; 3 * n + 3];
        for e in 0..n {
            x[3 * e + 1] += 0.5 / n as f64;
            x[3 * e + 4] += 0.5 / n as f64;
        }
        let mut x: Vec<f64> = mesh.free.iter().map(|&i| x[i]).collect();
        let mut lu = saltus_linear::Lu::default();
        lu.factorise(&mesh.reduced(&mesh.tangent())).unwrap();
        lu.solve(&mut x);
        let x = [vec![0.0; 3], x].concat();
        // L2 errors, relative to the value at the tip.
        let relative = |c: usize, exact: &dyn Fn(f64) -> f64| {
            let mut error = 0.0;
            for e in 0..n {
                for (xi, weight) in gauss(5) {
                    let found = x[3 * e + c] * (1.0 - xi) + x[3 * e + 3 + c] * xi;
                    let expected = exact((e as f64 + xi) / n as f64);
                    error += weight / n as f64 * (found - expected).powi(2);
                }
            }
            error.sqrt() / exact(1.0)
        };
        deflections.push(relative(1, &w));
        angles.push(relative(2, &theta));
    }
    deflections.extend(angles);
    records.check("ge2.rates", &deflections);
    println!("ge2.rates: 1 record");
}
