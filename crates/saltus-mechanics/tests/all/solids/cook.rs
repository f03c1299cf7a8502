//! Cook's membrane, cantilevers: bending, shear and near incompressibility.

use super::body::{Body, Spec, cell, is_mean};
use crate::support::{flat, records, shown};
use saltus_mechanics::flexible::mesh::generate::{PlaneCells, SpaceCells, block, rectangle};
use saltus_mechanics::flexible::solid::Law;
use saltus_mechanics::flexible::{Cell, Mesh};

fn plane_cells(kind: Cell) -> PlaneCells {
    if kind == Cell::Triangle {
        PlaneCells::Triangles
    } else {
        PlaneCells::Quadrilaterals
    }
}

/// The trapezium (0,0), (48,44), (48,60), (0,44).
fn trapezium(n: usize, kind: Cell) -> Mesh {
    let mut mesh = rectangle([0.0; 2], [1.0; 2], [n, n], plane_cells(kind)).unwrap();
    for x in &mut mesh.nodes {
        let (s, t) = (x[0], x[1]);
        *x = [48.0 * s, 44.0 * s + t * (44.0 - 28.0 * s), 0.0];
    }
    mesh
}

/// A uniform traction along component `component` on an edge, by halves to the ends of its lines.
fn edge_load(mesh: &Mesh, side: &str, component: usize, total: f64, length: f64) -> Vec<f64> {
    let mut load = vec![0.0; 2 * mesh.nodes.len()];
    for &line in mesh.group(side).unwrap() {
        let ends = mesh.cell(line);
        let (a, b) = (mesh.nodes[ends[0]], mesh.nodes[ends[1]]);
        let part = (a[0] - b[0]).hypot(a[1] - b[1]) / length;
        for &n in ends {
            load[2 * n + component] += 0.5 * total * part;
        }
    }
    load
}

fn cook(n: usize, kind: Cell, spec: &Spec, total: f64, steps: usize) -> Body {
    let mesh = trapezium(n, kind);
    let mut body = Body::new(&mesh, kind, spec);
    body.clamp(&mesh.group_nodes("left").unwrap());
    let load = edge_load(&mesh, "right", 1, total, 16.0);
    for step in 1..=steps {
        let part: Vec<f64> = load
            .iter()
            .map(|f| f * step as f64 / steps as f64)
            .collect();
        body.equilibrium(&part, spec.law == Law::Linear);
    }
    body
}

/// Node nearest to a place.
fn nearest(body: &Body, place: &[f64]) -> usize {
    let d = body.dim;
    let distance = |n: usize| -> f64 {
        let x = &body.reference[n * d..(n + 1) * d];
        x.iter().zip(place).map(|(x, p)| (x - p).powi(2)).sum()
    };
    (0..body.reference.len() / d)
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
        .unwrap()
}

#[test]
fn cooks_membrane_with_small_strains() {
    let Some(records) = records() else { return };
    let ids: Vec<&str> = records
        .ids()
        .filter(|id| id.starts_with("cook.linear.") && *id != "cook.linear.limit")
        .collect();
    let mut limit = Vec::new();
    for id in &ids {
        let p = &records.get(id)["parameters"];
        let kind = cell(p["kind"].as_str().unwrap());
        let spec = Spec {
            mean: is_mean(p["method"].as_str().unwrap()),
            stress: p["plane"] == "stress",
            ..Spec::new(Law::Linear, 1.0, p["nu"].as_f64().unwrap())
        };
        let expected = flat(&records.get(id)["value"]);
        let tolerance = records.get(id)["tolerance"].as_f64().unwrap();
        let mut worst = 0.0_f64;
        let sizes = flat(&p["n"]);
        for (&n, &expected) in sizes.iter().zip(&expected) {
            let body = cook(n as usize, kind, &spec, 1.0, 1);
            let found = body.displacement(nearest(&body, &[48.0, 52.0]), 1);
            worst = worst.max((found / expected - 1.0).abs());
            assert!(
                (found / expected - 1.0).abs() < tolerance,
                "{id} n={n}: {found}, expected {expected}"
            );
            if *id == "cook.linear.Q4.full.stress.nu0.3333" && n >= 32.0 {
                limit.push(found);
            }
        }
        println!("{id}: worst {worst:.1e}");
    }
    let [a, b, c] = limit[..] else {
        panic!("three meshes to extrapolate from");
    };
    let aitken = c - (c - b).powi(2) / (c - 2.0 * b + a);
    records.check("cook.linear.limit", &[aitken]);
    println!("cook.linear: {} records, limit {aitken:.4}", ids.len() + 1);
    // Near incompressibility: what locks and what does not, at n = 16 against the limit 18.50.
    let tip = |kind: &str, mean: bool| {
        let spec = Spec {
            mean,
            ..Spec::new(Law::Linear, 1.0, 0.4999)
        };
        let body = cook(16, cell(kind), &spec, 1.0, 1);
        body.displacement(nearest(&body, &[48.0, 52.0]), 1) / 18.503
    };
    let (full, mean, triangles) = (tip("Q4", false), tip("Q4", true), tip("T3", true));
    println!(
        "nu = 0.4999, n = 16, of the limit: Q4 {full:.3}, mean dilatation {mean:.3}, T3 {triangles:.3}"
    );
    assert!(mean > 0.98 && full < 0.35 && triangles < 0.35);
}

#[test]
fn cooks_membrane_with_large_strains() {
    let Some(records) = records() else { return };
    let id = "cook.finite.Q4.q1p0";
    let p = &records.get(id)["parameters"];
    let spec = Spec {
        mean: true,
        moduli: Some([p["mu"].as_f64().unwrap(), p["kappa"].as_f64().unwrap()]),
        ..Spec::new(Law::NeoHookeanSplit, 1.0, 0.3)
    };
    let sizes = flat(&p["n"]);
    let found: Vec<f64> = sizes
        .iter()
        .map(|&n| {
            let body = cook(n as usize, Cell::Quadrilateral, &spec, 100.0, 8);
            body.displacement(nearest(&body, &[48.0, 60.0]), 1)
        })
        .collect();
    println!("{id}: {found:.6?}");
    records.check(id, &found);
}

#[test]
fn plane_cantilever_against_timoshenko_and_goodier() {
    let Some(records) = records() else { return };
    let (length, h, e, nu) = (10.0, 2.0, 1000.0, 0.3);
    let factor = 1.0 / (6.0 * e * h * h * h / 12.0);
    let exact = factor * ((4.0 + 5.0 * nu) * h * h * length / 4.0 + 2.0 * length * length * length);
    for kind in ["T3", "Q4"] {
        let found: Vec<f64> = [2, 4, 8, 16, 32]
            .iter()
            .map(|&n| {
                let kind = cell(kind);
                let mesh = rectangle(
                    [0.0, -0.5 * h],
                    [length, 0.5 * h],
                    [5 * n, n],
                    plane_cells(kind),
                );
                let mesh = mesh.unwrap();
                let spec = Spec {
                    stress: true,
                    ..Spec::new(Law::Linear, e, nu)
                };
                let mut body = Body::new(&mesh, kind, &spec);
                for n in mesh.group_nodes("left").unwrap() {
                    let y = mesh.nodes[n][1];
                    body.given[2 * n..2 * n + 2].fill(true);
                    // Load upwards.
                    body.q[2 * n] -= factor * y * (2.0 + nu) * (y * y - 0.25 * h * h);
                    body.q[2 * n + 1] += factor * 3.0 * nu * y * y * length;
                }
                let mut load = vec![0.0; body.q.len()];
                for &line in mesh.group("right").unwrap() {
                    let ends = mesh.cell(line);
                    let (a, b) = (mesh.nodes[ends[0]][1], mesh.nodes[ends[1]][1]);
                    for s in [-1.0_f64, 1.0].map(|s| 0.5 + 0.5 * s / 3.0_f64.sqrt()) {
                        let y = a + s * (b - a);
                        let traction = 1.5 / h * (1.0 - (2.0 * y / h).powi(2));
                        let w = 0.5 * (b - a).abs() * traction;
                        load[2 * ends[0] + 1] += w * (1.0 - s);
                        load[2 * ends[1] + 1] += w * s;
                    }
                }
                body.equilibrium(&load, true);
                body.displacement(nearest(&body, &[length, 0.0]), 1)
            })
            .collect();
        let errors: Vec<f64> = found.iter().map(|x| (x / exact - 1.0).abs()).collect();
        let order = (errors[3] / errors[4]).log2();
        println!(
            "cantilever2d.{kind}: {found:.8?}, errors {}, last order {order:.3}",
            shown(&errors)
        );
        assert!((1.9..2.1).contains(&order));
        let id = format!("cantilever2d.{kind}");
        if records.ids().any(|known| known == id) {
            records.check(&id, &found);
        }
    }
}

#[test]
fn cantilever_in_space() {
    let Some(records) = records() else { return };
    let ids: Vec<&str> = records
        .ids()
        .filter(|id| id.starts_with("cantilever3d."))
        .collect();
    for id in &ids {
        let p = &records.get(id)["parameters"];
        let kind = cell(p["kind"].as_str().unwrap());
        let nu = p["nu"].as_f64().unwrap();
        let spec = Spec {
            mean: is_mean(p["method"].as_str().unwrap()),
            ..Spec::new(Law::Linear, 1e4, nu)
        };
        let timoshenko = 0.4 + 10.0 / (5.0 / 6.0 * 1e4 / (2.0 * (1.0 + nu)));
        let found: Vec<f64> = [[10, 1, 1], [20, 2, 2], [40, 4, 4]]
            .iter()
            .map(|division: &[usize; 3]| {
                let cells = if kind == Cell::Tetrahedron {
                    SpaceCells::Tetrahedra
                } else {
                    SpaceCells::Hexahedra
                };
                let mesh = block([0.0; 3], [10.0, 1.0, 1.0], *division, cells).unwrap();
                let mut body = Body::new(&mesh, kind, &spec);
                body.clamp(&mesh.group_nodes("left").unwrap());
                let end = mesh.group_nodes("right").unwrap();
                let mut load = vec![0.0; body.q.len()];
                let n = division[1] as f64;
                for &node in &end {
                    let x = mesh.nodes[node];
                    let half = |x: f64| if x == 0.0 || x == 1.0 { 0.5 } else { 1.0 };
                    load[3 * node + 2] = half(x[1]) * half(x[2]) / (n * n);
                }
                body.equilibrium(&load, true);
                let sum: f64 = end.iter().map(|&n| body.displacement(n, 2)).sum();
                sum / end.len() as f64 / timoshenko
            })
            .collect();
        println!("{id}: {found:.8?}");
        records.check(id, &found);
    }
    println!("cantilever3d: {} records", ids.len());
    assert_eq!(ids.len(), 4);
}
