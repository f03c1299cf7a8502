//! The linear rod.

use crate::support::*;
use saltus_mechanics::flexible::{Damping, Differentiated, Element, MassMatrix, Rod};
use std::f64::consts::PI;

#[test]
fn the_rod_is_its_energy_differentiated() {
    let rod = Rod::new(900.0, 1.0, 0.05).unwrap();
    let mut random = Random::new(1);
    for _ in 0..20 {
        let (q, v) = (random.vector::<2>(3.0), random.vector::<2>(1.0));
        assert!(difference(&force(&rod, &q, &v), &force(&Differentiated(rod), &q, &v)) < 1e-12);
        assert!(
            difference(
                &stiffness(&rod, &q, &v),
                &stiffness(&Differentiated(rod), &q, &v)
            ) < 1e-12
        );
    }
    let damped = rod.with_damping(Damping::new(0.3, 0.02).unwrap());
    let (worst_k, worst_c) = finite_differences(&damped, &[0.1, 0.3], &[1.0, -2.0]);
    assert!(worst_k < 1e-7 && worst_c < 1e-11);
}

#[test]
fn wrong_numbers_are_refused() {
    let error = Rod::new(-900.0, 1.0, 0.05).unwrap_err().to_string();
    assert_eq!(
        error,
        "the axial stiffness EA of a rod is -900; give a finite number above zero"
    );
    assert!(Rod::new(900.0, f64::NAN, 0.05).is_err());
    assert!(Rod::new(900.0, 1.0, 0.0).is_err());
    assert!(Damping::new(-1.0, 0.0).is_err());
}

#[test]
fn rod_records() {
    let Some(records) = records() else { return };
    let get = |name| records.parameter("rod.K", name);
    let rod = Rod::new(get("EA"), get("rhoA"), get("L")).unwrap();
    records.check("rod.K", &stiffness(&rod, &[0.0, 0.05], &[0.0; 2]));
    println!("rod.K: 1 record");
}

fn fixed_free(n: usize, length: f64, ea: f64, rho_a: f64, mass: MassMatrix) -> Mesh<Rod> {
    let h = length / n as f64;
    let rod = Rod::new(ea, rho_a, h).unwrap().with_mass(mass);
    let q = (0..=n).map(|i| i as f64 * h).collect();
    Mesh::chain(vec![rod; n], q, &[0])
}

#[test]
fn frequencies_of_the_fixed_free_bar() {
    let Some(records) = records() else { return };
    for id in ["bar.omega.bruls", "bar.omega.steel"] {
        let get = |name| records.parameter(id, name);
        let (length, e, rho, area) = (get("L"), get("E"), get("rho"), get("A"));
        let n = get("n") as usize;
        let c = (e / rho).sqrt();
        let wave = |i: usize| (i as f64 + 0.5) * PI / length;
        let mut found: Vec<f64> = (0..3).map(|i| wave(i) * c).collect();
        for mass in [MassMatrix::Consistent, MassMatrix::Lumped] {
            let mesh = fixed_free(n, length, e * area, rho * area, mass);
            let h = length / n as f64;
            let omega = mesh.frequencies();
            // The eigenvalues that rounding lets through: eps · λmax against λ1.
            let floor = f64::EPSILON * (omega[n - 1] / omega[0]).powi(2);
            for (i, omega) in omega.iter().take(3).enumerate() {
                let kh = wave(i) * h;
                let exact = match mass {
                    MassMatrix::Consistent => {
                        c / h * (6.0 * (1.0 - kh.cos()) / (2.0 + kh.cos())).sqrt()
                    }
                    MassMatrix::Lumped => 2.0 * c / h * (0.5 * kh).sin(),
                };
                assert!((omega / exact - 1.0).abs() < 10.0 * floor, "{id} mode {i}");
                found.push(exact);
            }
            if id == "bar.omega.bruls" {
                let at = usize::from(mass == MassMatrix::Lumped);
                let top = omega[n - 1] * h / c;
                let expected = records.value("bar.cfl")[at];
                assert!((top - expected).abs() < 1e-3, "{top} {expected}");
            }
        }
        records.check(id, &found);
    }
    println!("bar.omega.*: 2 records, bar.cfl: 1 record");
}

#[test]
fn rates_of_the_rod() {
    let Some(records) = records() else { return };
    let load = |x: f64| (1.5 * PI).powi(2) * (1.5 * PI * x).sin();
    let (exact, slope) = (
        |x: f64| (1.5 * PI * x).sin(),
        |x: f64| 1.5 * PI * (1.5 * PI * x).cos(),
    );
    let (mut l2, mut h1) = (Vec::new(), Vec::new());
    for n in records.parameters("rod.rates", "n") {
        let n = n as usize;
        let mut mesh = fixed_free(n, 1.0, 1.0, 1.0, MassMatrix::Consistent);
        let h = 1.0 / n as f64;
        let mut external = vec![0.0; n + 1];
        for e in 0..n {
            for (xi, w) in gauss(5) {
                let x = (e as f64 + xi) * h;
                external[e] += w * h * (1.0 - xi) * load(x);
                external[e + 1] += w * h * xi * load(x);
            }
        }
        mesh.equilibrium(|_| external.clone(), |_| Vec::new());
        let u: Vec<f64> = mesh
            .q
            .iter()
            .enumerate()
            .map(|(i, x)| x - i as f64 * h)
            .collect();
        for (i, u) in u.iter().enumerate() {
            assert!(
                (u - exact(i as f64 * h)).abs() < 1e-9,
                "nodal values are exact"
            );
        }
        let (mut square, mut slopes) = (0.0, 0.0);
        for e in 0..n {
            for (xi, w) in gauss(5) {
                let x = (e as f64 + xi) * h;
                square += w * h * (u[e] * (1.0 - xi) + u[e + 1] * xi - exact(x)).powi(2);
                slopes += w * h * ((u[e + 1] - u[e]) / h - slope(x)).powi(2);
            }
        }
        l2.push(square.sqrt());
        h1.push(slopes.sqrt());
    }
    l2.extend(h1);
    records.check("rod.rates", &l2);
    println!("rod.rates: 1 record");
}

#[test]
fn damping_fits_two_frequencies() {
    let Some(records) = records() else { return };
    let get = |name| records.parameter("rayleigh.fit", name);
    let damping = Damping::fit(get("zeta"), [get("w1"), get("w2")]).unwrap();
    records.check(
        "rayleigh.fit",
        &[damping.alpha, damping.beta, damping.ratio(10.0)],
    );
    let rod = Rod::new(3.0, 2.0, 1.0).unwrap().with_damping(damping);
    let (k, c) = tangents(&rod, &[0.0, 1.0], &[0.0; 2]);
    let rayleigh: Vec<f64> = mass(&rod)
        .iter()
        .zip(&k)
        .map(|(m, k)| damping.alpha * m + damping.beta * k)
        .collect();
    assert!(difference(&c, &rayleigh) < 1e-15);
    assert!(rod.is_damped() && rod.has_velocity_forces());
    println!("rayleigh.fit: 1 record");
}

/// Points and weights on [0, 1].
pub fn gauss(points: usize) -> Vec<(f64, f64)> {
    let half: &[(f64, f64)] = match points {
        2 => &[(0.577_350_269_189_625_8, 1.0)],
        _ => &[
            (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
            (0.906_179_845_938_664, 0.236_926_885_056_189_1),
        ],
    };
    let mut rule: Vec<(f64, f64)> = half
        .iter()
        .flat_map(|&(x, w)| [(0.5 - 0.5 * x, 0.5 * w), (0.5 + 0.5 * x, 0.5 * w)])
        .collect();
    if points == 5 {
        rule.push((0.5, 0.5 * 0.568_888_888_888_888_9));
    }
    rule
}
