//! Hand-written derivatives against dual numbers and differences; objectivity; what damping takes.

use super::body::{Spec, cell, element, is_mean, law};
use crate::support::{Random, difference, largest, records};
use saltus_mechanics::flexible::solid::{
    Integration, Law, Material, Quadrilateral, Section, Tetrahedron, Triangle,
};
use saltus_mechanics::flexible::{Damping, Element};

const KINDS: [&str; 4] = ["T3", "Q4", "T4", "H8"];

/// Law, integration, plane stress.
const CHOICES: [(&str, &str, bool); 8] = [
    ("linear", "full", false),
    ("linear", "bbar", false),
    ("linear", "full", true),
    ("stvk", "full", false),
    ("stvk", "full", true),
    ("nh", "full", false),
    ("nhiso", "full", false),
    ("nhiso", "q1p0", false),
];

fn distorted(kind: &str, random: &mut Random) -> Vec<[f64; 3]> {
    let corners: Vec<[f64; 3]> = match kind {
        "T3" | "T4" => vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        _ => (0..8)
            .map(|a| {
                let x = [0.0, 1.0, 1.0, 0.0][a % 4];
                [x, [0.0, 0.0, 1.0, 1.0][a % 4], [0.0, 1.0][a / 4]]
            })
            .collect(),
    };
    let n = cell(kind).nodes();
    corners[..n]
        .iter()
        .map(|x| x.map(|x| x + 0.15 * random.signed()))
        .collect()
}

fn positions(kind: &str, x: &[[f64; 3]], size: f64, random: &mut Random) -> Vec<f64> {
    let d = cell(kind).dimension();
    x.iter()
        .flat_map(|x| x[..d].to_vec())
        .map(|x| x + size * random.signed())
        .collect()
}

fn spec(law_name: &str, integration: &str, stress: bool) -> Spec {
    Spec {
        mean: is_mean(integration),
        stress,
        ..Spec::new(law(law_name), 10.0, 0.3)
    }
}

#[test]
fn force_and_tangent_are_the_exact_derivatives_of_the_energy() {
    let mut random = Random::new(1);
    let (mut worst_f, mut worst_k) = (0.0_f64, 0.0_f64);
    for kind in KINDS {
        for (law, integration, stress) in CHOICES {
            if stress && cell(kind).dimension() == 3 {
                continue;
            }
            for _ in 0..4 {
                let x = distorted(kind, &mut random);
                let q = positions(kind, &x, 0.1, &mut random);
                let e = element(cell(kind), &spec(law, integration, stress), &x).unwrap();
                let rest = vec![0.0; q.len()];
                let df = difference(&e.force(&q, &rest), &e.exact_force(&q));
                let k = e.tangents(&q, &rest).0;
                let dk = difference(&k, &e.exact_stiffness(&q));
                assert!(
                    df < 1e-12 && dk < 1e-12,
                    "{kind} {law} {integration}: {df:e} {dk:e}"
                );
                (worst_f, worst_k) = (worst_f.max(df), worst_k.max(dk));
                // Symmetric to the last bit, as the mass is.
                let n = q.len();
                for matrix in [&k, &e.mass()] {
                    for i in 0..n * n {
                        let turned = matrix[i % n * n + i / n];
                        assert_eq!(matrix[i], turned, "{kind} {law} {integration}: entry {i}");
                    }
                }
            }
        }
    }
    println!("against dual numbers: force {worst_f:.1e}, tangent {worst_k:.1e}");
}

#[test]
fn differences_agree_within_the_bounds_of_the_records() {
    let Some(records) = records() else { return };
    let mut random = Random::new(2);
    let ids: Vec<&str> = records
        .ids()
        .filter(|id| id.starts_with("solid.derivatives."))
        .collect();
    for id in &ids {
        let parts: Vec<&str> = id.split('.').collect();
        let (kind, law, integration) = (parts[2], parts[3], parts[4]);
        let x = distorted(kind, &mut random);
        let q = positions(kind, &x, 0.05, &mut random);
        let e = element(cell(kind), &spec(law, integration, false), &x).unwrap();
        let rest = vec![0.0; q.len()];
        let f = e.force(&q, &rest);
        // Five points: the truncation error is far below round-off.
        let h = 1e-3;
        let slope: Vec<f64> = (0..q.len())
            .map(|i| {
                let at = |s: f64| {
                    let mut q = q.clone();
                    q[i] += s * h;
                    e.energy(&q)
                };
                (8.0 * (at(1.0) - at(-1.0)) - at(2.0) + at(-2.0)) / (12.0 * h)
            })
            .collect();
        let (dk, _) = e.finite_differences(&q, &rest);
        records.bound(id, &[difference(&slope, &f), dk]);
    }
    println!("solid.derivatives: {} records", ids.len());
    assert!(ids.len() >= 16);
}

/// A rotation of space, or of the plane.
fn rotation(d: usize, random: &mut Random) -> Vec<Vec<f64>> {
    if d == 2 {
        let (s, c) = (2.0 * random.signed()).sin_cos();
        return vec![vec![c, -s], vec![s, c]];
    }
    let turn = saltus_mechanics::rotation::exp(&random.vector::<3>(2.0));
    let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .map(|e| saltus_mechanics::rotation::rotate(&turn, &e));
    (0..3)
        .map(|i| columns.iter().map(|c| c[i]).collect())
        .collect()
}

fn turned(r: &[Vec<f64>], q: &[f64], shift: f64) -> Vec<f64> {
    q.chunks(r.len())
        .flat_map(|x| {
            r.iter()
                .map(|row| row.iter().zip(x).map(|(r, x)| r * x).sum::<f64>() + shift)
                .collect::<Vec<f64>>()
        })
        .collect()
}

#[test]
fn finite_strain_elements_are_objective() {
    let Some(records) = records() else { return };
    let mut random = Random::new(3);
    for kind in KINDS {
        let d = cell(kind).dimension();
        let mut found = Vec::new();
        for (law, integration) in [
            ("stvk", "full"),
            ("nh", "full"),
            ("nhiso", "q1p0"),
            ("linear", "full"),
        ] {
            let x = distorted(kind, &mut random);
            let e = element(cell(kind), &spec(law, integration, false), &x).unwrap();
            let rest = vec![0.0; x.len() * d];
            let reference = positions(kind, &x, 0.0, &mut random);
            let r = rotation(d, &mut random);
            let rigid = largest(&e.force(&turned(&r, &reference, 0.0), &rest));
            let q = positions(kind, &x, 0.1, &mut random);
            let back: Vec<f64> = e.force(&turned(&r, &q, 0.3), &rest);
            let ahead = turned(&r, &e.force(&q, &rest), 0.0);
            let gap: Vec<f64> = back.iter().zip(&ahead).map(|(a, b)| a - b).collect();
            found.push([rigid, largest(&gap)]);
        }
        let id = format!("solid.objectivity.{kind}");
        if records.ids().any(|known| known == id) {
            records.bound(&id, found[..3].as_flattened());
        }
        assert!(
            found[..3].as_flattened().iter().all(|x| *x < 1e-12),
            "{found:?}"
        );
        // The linear law is not.
        assert!(found[3][0] > 1e-2, "{found:?}");
    }
}

#[test]
fn material_damping_takes_energy_and_leaves_rigid_motion_alone() {
    let mut random = Random::new(4);
    for kind in KINDS {
        let d = cell(kind).dimension();
        for (law, integration, stress) in CHOICES {
            if stress && d == 3 {
                continue;
            }
            for alpha in [0.0, 0.7] {
                let damped = Spec {
                    damping: Damping::new(alpha, 0.02).unwrap(),
                    ..spec(law, integration, stress)
                };
                let x = distorted(kind, &mut random);
                let q = positions(kind, &x, 0.1, &mut random);
                let v: Vec<f64> = q.iter().map(|_| random.signed()).collect();
                let e = element(cell(kind), &damped, &x).unwrap();
                let (dk, dc) = e.finite_differences(&q, &v);
                assert!(
                    dk < 1e-8 && dc < 1e-10,
                    "{kind} {law} {integration}: {dk:e} {dc:e}"
                );
                let (_, c) = e.tangents(&q, &v);
                let n = q.len();
                let power: f64 = (0..n * n).map(|i| v[i / n] * c[i] * v[i % n]).sum();
                assert!(power > 0.0);
                if alpha > 0.0 || law == "linear" {
                    continue;
                }
                // Velocities of a rigid motion of the deformed element.
                let spin = 0.8;
                let rigid: Vec<f64> = q
                    .chunks(d)
                    .flat_map(|x| {
                        let mut v = vec![1.0 - spin * x[1], 2.0 + spin * x[0]];
                        v.resize(d, 0.5);
                        v
                    })
                    .collect();
                let gap: Vec<f64> = e
                    .force(&q, &rigid)
                    .iter()
                    .zip(e.force(&q, &vec![0.0; n]))
                    .map(|(a, b)| a - b)
                    .collect();
                assert!(largest(&gap) < 1e-14, "{kind} {law}: {:e}", largest(&gap));
            }
        }
    }
}

#[test]
fn at_rest_material_damping_is_stiffness_proportional() {
    let mut random = Random::new(5);
    for kind in KINDS {
        for (law, integration, stress) in CHOICES {
            if stress && cell(kind).dimension() == 3 {
                continue;
            }
            let damped = Spec {
                damping: Damping::new(0.3, 0.02).unwrap(),
                ..spec(law, integration, stress)
            };
            let x = distorted(kind, &mut random);
            let q = positions(kind, &x, 0.0, &mut random);
            let e = element(cell(kind), &damped, &x).unwrap();
            let (k, c) = e.tangents(&q, &vec![0.0; q.len()]);
            let rayleigh: Vec<f64> = k
                .iter()
                .zip(e.mass())
                .map(|(k, m)| 0.3 * m + 0.02 * k)
                .collect();
            let gap = difference(&c, &rayleigh);
            assert!(gap < 1e-13, "{kind} {law} {integration}: {gap:e}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_cure() {
    let fails = |found: Result<(), String>, parts: &[&str]| {
        let message = found.unwrap_err();
        assert!(parts.iter().all(|p| message.contains(p)), "{message}");
    };
    let material = |law, e, nu, rho| {
        Material::new(law, e, nu, rho)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    fails(material(Law::Linear, -1.0, 0.3, 1.0), &["Young", "-1"]);
    fails(
        material(Law::Linear, 1.0, 0.5, 1.0),
        &["Poisson", "0.5", "0.4999"],
    );
    fails(material(Law::Linear, 1.0, -1.0, 1.0), &["Poisson"]);
    fails(material(Law::Linear, 1.0, f64::NAN, 1.0), &["Poisson"]);
    fails(material(Law::Linear, 1.0, 0.3, 0.0), &["density"]);
    let good = Material::new(Law::NeoHookean, 1.0, 0.3, 1.0).unwrap();
    let stress = Section::plane_stress(good, 1.0);
    fails(
        stress.map(|_| ()).map_err(|e| e.to_string()),
        &["plane stress", "plane strain"],
    );
    let mean = Section::space(good).with_integration(Integration::MeanDilatation);
    fails(
        mean.map(|_| ()).map_err(|e| e.to_string()),
        &["mean dilatation", "split"],
    );
    let thin = Section::plane_strain(good, 0.0);
    fails(thin.map(|_| ()).map_err(|e| e.to_string()), &["thickness"]);
    let plane = Section::plane_strain(good, 1.0).unwrap();
    let triangle = |x: [[f64; 2]; 3]| {
        Triangle::new(&plane, &x)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    fails(
        triangle([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        &["triangle", "-1.000e0", "counter-clockwise"],
    );
    fails(
        triangle([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]),
        &["triangle", "0.000e0"],
    );
    fails(
        triangle([[f64::NAN, 0.0], [1.0, 1.0], [2.0, 2.0]]),
        &["triangle", "NaN"],
    );
    // Re-entrant, all integration points inside or not.
    let dart =
        |at: f64| Quadrilateral::new(&plane, &[[0.0, 0.0], [1.0, 0.0], [at, at], [0.0, 1.0]]);
    assert!((dart(0.45).unwrap().volume() - 0.45).abs() < 1e-15);
    fails(
        dart(0.3).map(|_| ()).map_err(|e| e.to_string()),
        &["quadrilateral"],
    );
    let mut mesh = saltus_mechanics::flexible::Mesh::new(vec![
        [0.0; 3],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
    ]);
    mesh.push(saltus_mechanics::flexible::Cell::Tetrahedron, &[0, 1, 2, 3])
        .unwrap();
    let found = Tetrahedron::on_mesh(&Section::space(good), &mesh);
    fails(
        found.map(|_| ()).map_err(|e| e.to_string()),
        &["tetrahedron 0", "[0, 1, 2, 3]", "-1.000e0", "mend"],
    );
    mesh.mend_orientation().unwrap();
    let good = Tetrahedron::on_mesh(&Section::space(good), &mesh).unwrap();
    assert_eq!(good.len(), 1);
    assert!(!good[0].is_linear());
}
