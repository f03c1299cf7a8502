//! Energy, force, tangent, mass, largest frequencies: the numbers of single elements.

use super::body::{Spec, cell, element};
use crate::support::{Records, eigenvalues, flat, records};
use saltus_linear::Dense;
use saltus_mechanics::flexible::MassMatrix;
use saltus_mechanics::flexible::solid::Law;
use serde_json::Value;

fn places(value: &Value) -> Vec<[f64; 3]> {
    let rows = value.as_array().unwrap().iter().map(flat);
    rows.map(|x| [x[0], x[1], x.get(2).copied().unwrap_or(0.0)])
        .collect()
}

fn ids(records: &Records, prefix: &str) -> Vec<String> {
    records
        .ids()
        .filter(|id| id.starts_with(prefix))
        .map(str::to_owned)
        .collect()
}

#[test]
fn states_have_their_energy_force_and_tangent() {
    let Some(records) = records() else { return };
    let ids = ids(&records, "solid.state.");
    for id in &ids {
        let record = records.get(id);
        let kind = cell(record["parameters"]["kind"].as_str().unwrap());
        let x = places(&record["parameters"]["X"]);
        let u = flat(&record["parameters"]["u"]);
        let q: Vec<f64> = x
            .iter()
            .flat_map(|x| x[..kind.dimension()].to_vec())
            .zip(u)
            .map(|(x, u)| x + u)
            .collect();
        let element = element(kind, &Spec::of(record), &x).unwrap();
        let rest = vec![0.0; q.len()];
        match id.rsplit('.').next().unwrap() {
            "W" => records.check(id, &[element.energy(&q)]),
            "f" => records.check(id, &element.force(&q, &rest)),
            _ => records.check(id, &element.tangents(&q, &rest).0),
        }
    }
    println!("solid.state: {} records", ids.len());
    assert!(ids.len() > 50);
}

#[test]
fn masses_are_consistent_or_lumped() {
    let Some(records) = records() else { return };
    let ids = ids(&records, "solid.mass.");
    for id in &ids {
        let record = records.get(id);
        let kind = cell(record["parameters"]["kind"].as_str().unwrap());
        let x = places(&record["parameters"]["X"]);
        let mut spec = Spec::new(Law::Linear, 1.0, 0.3);
        spec.density = record["parameters"]["rho"].as_f64().unwrap();
        let (n, d) = (kind.nodes(), kind.dimension());
        let size = n * d;
        let consistent = element(kind, &spec, &x).unwrap().mass();
        let between = |a: usize, b: usize| consistent[a * d * size + b * d];
        let scalar: Vec<f64> = (0..n * n).map(|i| between(i / n, i % n)).collect();
        let value = &record["value"];
        records.compare(id, &value[0], &scalar);
        spec.mass = MassMatrix::Lumped;
        let lumped = element(kind, &spec, &x).unwrap().mass();
        let diagonal: Vec<f64> = (0..n).map(|a| lumped[a * d * (size + 1)]).collect();
        records.compare(id, &value[1], &diagonal);
        let total: f64 = diagonal.iter().sum();
        records.compare(id, &value[2], &[total / spec.density]);
        // Nothing couples different directions.
        for i in 0..size * size {
            if i / size % d != i % size % d {
                assert_eq!((consistent[i], lumped[i]), (0.0, 0.0));
            }
        }
    }
    println!("solid.mass: {} records", ids.len());
    assert!(!ids.is_empty());
}

fn matrix(entries: &[f64], n: usize) -> Dense {
    let mut dense = Dense::zeros(n, n);
    for (i, row) in entries.chunks(n).enumerate() {
        dense.row_mut(i).copy_from_slice(row);
    }
    dense
}

#[test]
fn largest_frequencies_bound_explicit_steps() {
    let Some(records) = records() else { return };
    let mut count = 0;
    for kind in ["T3", "Q4", "T4", "H8"] {
        let id = format!("cfl.{kind}");
        let cell = cell(kind);
        let (n, d) = (cell.nodes(), cell.dimension());
        let mut found = Vec::new();
        for poisson in [0.0, 0.3] {
            for mass in [MassMatrix::Consistent, MassMatrix::Lumped] {
                let spec = Spec {
                    mass,
                    ..Spec::new(Law::Linear, 1.0, poisson)
                };
                let x: Vec<[f64; 3]> = match kind {
                    "T3" | "T4" => {
                        vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                    }
                    _ => (0..8)
                        .map(|a| {
                            let x = [0.0, 1.0, 1.0, 0.0][a % 4];
                            let y = [0.0, 0.0, 1.0, 1.0][a % 4];
                            [x, y, [0.0, 1.0][a / 4]]
                        })
                        .collect(),
                };
                let element = element(cell, &spec, &x[..n]).unwrap();
                let q: Vec<f64> = x[..n].iter().flat_map(|x| x[..d].to_vec()).collect();
                let k = matrix(&element.tangents(&q, &vec![0.0; n * d]).0, n * d);
                let m = matrix(&element.mass(), n * d);
                let largest = *eigenvalues(&k, &m).last().unwrap();
                let speed = spec.plane().unwrap().material().wave_speed();
                found.push(largest.sqrt() / speed);
            }
        }
        println!("{id}: {found:.6?}");
        if records.ids().any(|known| known == id) {
            records.check(&id, &found);
            count += 1;
        } else {
            // The table of the specification, to its printed digits.
            for (x, e) in found.iter().zip([4.24, 2.00, 4.14, 2.39]) {
                assert!((x - e).abs() < 5e-3, "{id}: {x}, expected {e}");
            }
        }
    }
    println!("cfl: {count} records");
    assert_eq!(count, 3);
}

#[test]
fn stresses_are_those_of_uniform_states() {
    // Uniaxial stretch of a cube: closed forms of each law, with sides free.
    let (young, poisson) = (10.0, 0.3);
    let x: Vec<[f64; 3]> = (0..8)
        .map(|a| {
            let x = [0.0, 1.0, 1.0, 0.0][a % 4];
            let y = [0.0, 0.0, 1.0, 1.0][a % 4];
            [x, y, [0.0, 1.0][a / 4]]
        })
        .collect();
    let stretch = 1.02;
    let green = 0.5 * (stretch * stretch - 1.0);
    let across = (1.0_f64 - 2.0 * poisson * green).sqrt();
    let q: Vec<f64> = x
        .iter()
        .flat_map(|x| [stretch * x[0], across * x[1], across * x[2]])
        .collect();
    let cube = element(
        cell("H8"),
        &Spec::new(Law::StVenantKirchhoff, young, poisson),
        &x,
    )
    .unwrap();
    let s = cube.fields(&q);
    let cauchy = young * green * stretch / (across * across);
    assert!((s[0] - cauchy).abs() < 1e-12 && (s[6] - cauchy).abs() < 1e-12);
    assert!(s[1..6].iter().all(|s| s.abs() < 1e-13), "{s:?}");
    // The same in plane stress, with the thickness free.
    let plane = Spec {
        stress: true,
        ..Spec::new(Law::StVenantKirchhoff, young, poisson)
    };
    let square = element(cell("Q4"), &plane, &x[..4]).unwrap();
    let q: Vec<f64> = x[..4]
        .iter()
        .flat_map(|x| [stretch * x[0], across * x[1]])
        .collect();
    let s = square.fields(&q);
    assert!(
        (s[0] - cauchy).abs() < 1e-12 && (s[4] - cauchy).abs() < 1e-12,
        "{s:?}"
    );
    assert!(s[1].abs() < 1e-13 && s[2].abs() < 1e-13 && s[3].abs() < 1e-13);
    // Plane strain: the stress across the plane is Hooke's.
    for mean in [false, true] {
        let strain = Spec {
            mean,
            ..Spec::new(Law::Linear, young, poisson)
        };
        let square = element(cell("Q4"), &strain, &x[..4]).unwrap();
        let q: Vec<f64> = x[..4].iter().flat_map(|x| [1.01 * x[0], x[1]]).collect();
        let s = square.fields(&q);
        let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        assert!((s[2] - 0.01 * lambda).abs() < 1e-13, "{s:?}");
        assert!((s[0] - 0.01 * (lambda + young / (1.0 + poisson))).abs() < 1e-13);
    }
    // Pure dilatation of the split law: the pressure is that of its energy of volume.
    for mean in [false, true] {
        let split = Spec {
            mean,
            ..Spec::new(Law::NeoHookeanSplit, young, poisson)
        };
        let cube = element(cell("H8"), &split, &x).unwrap();
        let q: Vec<f64> = x.iter().flat_map(|x| x.map(|x| 1.1 * x)).collect();
        let s = cube.fields(&q);
        let (kappa, j) = (young / (3.0 * (1.0 - 2.0 * poisson)), 1.1_f64.powi(3));
        let pressure = 0.5 * kappa * (j - 1.0 / j);
        assert!(
            (s[0] - pressure).abs() < 1e-12 && s[6].abs() < 1e-12,
            "{s:?}"
        );
    }
}
