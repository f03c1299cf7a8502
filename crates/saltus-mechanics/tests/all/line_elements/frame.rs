//! The linear frame element.

use super::linear::gauss;
use crate::support::*;
use saltus_linear::{Dense, Lu};
use saltus_mechanics::flexible::{
    Damping, Differentiated, Element, LinearBeam, MassMatrix, Rayleigh,
};
use std::f64::consts::PI;

fn pick(a: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter()
        .flat_map(|&i| rows.iter().map(move |&j| a[i * 6 + j]))
        .collect()
}

fn square(a: &[f64]) -> Dense {
    let n = a.len().isqrt();
    let mut m = Dense::zeros(n, n);
    m.as_mut_slice().copy_from_slice(a);
    m
}

/// Along x on [0, length], axial coordinates and `held` fixed.
fn beam(n: usize, length: f64, mass: MassMatrix, held: &[usize]) -> Mesh<LinearBeam> {
    let h = length / n as f64;
    let element = LinearBeam::new(1.0, 1.0, 1.0, &[0.0, 0.0, 0.0, h, 0.0, 0.0]).unwrap();
    let q = (0..=n).flat_map(|i| [i as f64 * h, 0.0, 0.0]).collect();
    let mut mesh = Mesh::chain(vec![element.with_mass(mass); n], q, held);
    mesh.free.retain(|i| i % 3 != 0);
    mesh
}

#[test]
fn force_and_tangent_are_derivatives_of_the_energy() {
    let mut random = Random::new(20);
    let reference = [0.3, -0.2, 0.1, 1.1, 0.9, 0.7];
    let beam = LinearBeam::new(500.0, 10.0, 3.0, &reference).unwrap();
    assert!(beam.energy(&reference) < 1e-28);
    assert!(largest(&force(&beam, &reference, &[0.0; 6])) < 1e-12);
    for _ in 0..20 {
        let (q, v) = (random.vector::<6>(2.0), [0.0; 6]);
        let exact = Differentiated(beam);
        assert!(difference(&force(&beam, &q, &v), &force(&exact, &q, &v)) < 1e-12);
        assert!(difference(&stiffness(&beam, &q, &v), &stiffness(&exact, &q, &v)) < 1e-12);
    }
}

#[test]
fn its_mass_is_that_of_the_frame_it_is_turned_into() {
    let flat = LinearBeam::new(5.0, 1.0, 3.0, &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]).unwrap();
    let (s, c) = 0.7_f64.sin_cos();
    let turned = LinearBeam::new(5.0, 1.0, 3.0, &[0.0, 0.0, 0.0, 0.5 * c, 0.5 * s, 0.0]).unwrap();
    for mass_matrix in [MassMatrix::Consistent, MassMatrix::Lumped] {
        let of = |beam: LinearBeam| {
            mass(
                &beam
                    .with_rotary_inertia(0.2)
                    .unwrap()
                    .with_mass(mass_matrix),
            )
        };
        let (m, expected) = (of(turned), of(flat));
        let v = [0.3, -0.4, 1.0, 0.8, 0.1, -2.0];
        let mut along = v;
        for n in [0, 3] {
            along[n] = c * v[n] + s * v[n + 1];
            along[n + 1] = -s * v[n] + c * v[n + 1];
        }
        let form =
            |m: &[f64], v: &[f64]| -> f64 { (0..36).map(|k| m[k] * v[k / 6] * v[k % 6]).sum() };
        assert!((form(&m, &v) / form(&expected, &along) - 1.0).abs() < 1e-13);
        // Rigid translation carries the whole mass.
        assert!((form(&m, &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]) / 1.5 - 1.0).abs() < 1e-14);
    }
}

#[test]
fn damping_is_rayleigh() {
    let reference = [0.3, -0.2, 0.0, 1.1, 0.9, 0.0];
    let beam = LinearBeam::new(500.0, 10.0, 3.0, &reference).unwrap();
    let damping = Damping::new(0.3, 0.02).unwrap();
    let own = beam.with_damping(damping);
    let around = Rayleigh::new(beam, damping, &reference).unwrap();
    let mut random = Random::new(21);
    let (q, v) = (random.vector::<6>(1.0), random.vector::<6>(1.0));
    assert!(difference(&force(&own, &q, &v), &force(&around, &q, &v)) < 1e-13);
    assert!(difference(&tangents(&own, &q, &v).1, &tangents(&around, &q, &v).1) < 1e-13);
    let mut lost = [[0.0; 6]; 2];
    own.damping_force(&q, &v, &mut lost[0]);
    around.damping_force(&q, &v, &mut lost[1]);
    assert!(difference(&lost[0], &lost[1]) < 1e-13);
    assert!(Rayleigh::new(beam, damping, &[0.0; 3]).is_err());
}

#[test]
fn element_records() {
    let Some(records) = records() else { return };
    let get = |name| records.parameter("eb.K", name);
    let reference = [0.0, 0.0, 0.0, get("L"), 0.0, 0.0];
    let beam = LinearBeam::new(1.0, get("EI"), get("rhoA"), &reference).unwrap();
    let bending = [1, 2, 4, 5];
    records.check(
        "eb.K",
        &pick(&stiffness(&beam, &reference, &[0.0; 6]), &bending),
    );
    records.check("eb.M", &pick(&mass(&beam), &bending));
    println!("eb.K, eb.M: 2 records");

    let unit = LinearBeam::new(1.0, 1.0, 1.0, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]).unwrap();
    let k = square(&pick(&stiffness(&unit, &reference, &[0.0; 6]), &bending));
    let found: Vec<f64> = [MassMatrix::Consistent, MassMatrix::Lumped]
        .into_iter()
        .map(|distribution| {
            let m = square(&pick(&mass(&unit.with_mass(distribution)), &bending));
            eigenvalues(&k, &m)[3].sqrt()
        })
        .collect();
    records.check("cfl.eb", &found);
    println!("cfl.eb: 1 record");
}

#[test]
fn frequencies_of_the_cantilever() {
    let Some(records) = records() else { return };
    let exact = records.value("eb.cantilever.betaL");
    let error = |n: usize, mass: MassMatrix, mode: usize| {
        let omega = beam(n, 1.0, mass, &[0, 1, 2]).frequencies();
        (omega[mode] / exact[mode].powi(2) - 1.0).abs()
    };
    let order = |n: usize, mass: MassMatrix, mode: usize| {
        (error(n, mass, mode) / error(2 * n, mass, mode)).log2()
    };
    for mode in 0..3 {
        let found = order(8, MassMatrix::Consistent, mode);
        assert!((found - 4.0).abs() < 0.15, "mode {mode}: order {found}");
    }
    assert!((order(16, MassMatrix::Lumped, 0) - 2.0).abs() < 0.05);
    let (consistent, lumped) = (
        error(16, MassMatrix::Consistent, 0),
        error(16, MassMatrix::Lumped, 0),
    );
    assert!((consistent / 1.3e-7 - 1.0).abs() < 0.05, "{consistent:e}");
    assert!((lumped / 2.5e-3 - 1.0).abs() < 0.05, "{lumped:e}");
    println!("eb.cantilever.betaL: 1 record (as limit, orders 4 and 2)");
}

#[test]
fn rates() {
    let Some(records) = records() else { return };
    let wave = 2.0 * PI;
    let exact: [&dyn Fn(f64) -> f64; 3] = [
        &|x| 0.5 * (1.0 - (wave * x).cos()),
        &|x| 0.5 * wave * (wave * x).sin(),
        &|x| 0.5 * wave * wave * (wave * x).cos(),
    ];
    let load = |x: f64| -0.5 * wave.powi(4) * (wave * x).cos();
    // Shape functions and their first two derivatives on an element of length h.
    let shapes = |x: f64, h: f64| {
        [
            [
                1.0 - 3.0 * x * x + 2.0 * x.powi(3),
                h * (x - 2.0 * x * x + x.powi(3)),
                3.0 * x * x - 2.0 * x.powi(3),
                h * (x.powi(3) - x * x),
            ],
            [
                6.0 * (x * x - x) / h,
                1.0 - 4.0 * x + 3.0 * x * x,
                6.0 * (x - x * x) / h,
                3.0 * x * x - 2.0 * x,
            ],
            [
                (12.0 * x - 6.0) / (h * h),
                (6.0 * x - 4.0) / h,
                (6.0 - 12.0 * x) / (h * h),
                (6.0 * x - 2.0) / h,
            ],
        ]
    };
    let mut errors = [const { Vec::new() }; 3];
    for n in records.parameters("eb.rates", "n") {
        let n = n as usize;
        let h = 1.0 / n as f64;
        let held = [0, 1, 2, 3 * n, 3 * n + 1, 3 * n + 2];
        let mesh = beam(n, 1.0, MassMatrix::Consistent, &held);
        let mut f = vec![0.0; 3 * n + 3];
        let places = |e: usize| [3 * e + 1, 3 * e + 2, 3 * e + 4, 3 * e + 5];
        for e in 0..n {
            for (xi, weight) in gauss(5) {
                let size = weight * h * load((e as f64 + xi) * h);
                for (place, shape) in places(e).into_iter().zip(shapes(xi, h)[0]) {
                    f[place] += size * shape;
                }
            }
        }
        let mut x: Vec<f64> = mesh.free.iter().map(|&i| f[i]).collect();
        let mut lu = Lu::default();
        lu.factorise(&mesh.reduced(&mesh.tangent())).unwrap();
        lu.solve(&mut x);
        let mut u = vec![0.0; 3 * n + 3];
        for (&i, x) in mesh.free.iter().zip(&x) {
            u[i] = *x;
        }
        for k in 0..3 {
            let mut sum = 0.0;
            for e in 0..n {
                for (xi, weight) in gauss(5) {
                    let shape = shapes(xi, h)[k];
                    let found: f64 = places(e)
                        .iter()
                        .zip(shape)
                        .map(|(&place, shape)| u[place] * shape)
                        .sum();
                    sum += weight * h * (found - exact[k]((e as f64 + xi) * h)).powi(2);
                }
            }
            errors[k].push(sum.sqrt());
        }
    }
    records.check("eb.rates", &errors.concat());
    println!("eb.rates: 1 record");
}
