//! A block on a plane: contact forces at rest, lift-off, and what an impact meets.

use super::body::{Body, Spec, cell};
use crate::support::records;
use saltus_linear::{MatrixSink, SquareMatrix};
use saltus_mechanics::flexible::mesh::generate::{SpaceCells, block};
use saltus_mechanics::flexible::solid::{Hexahedron, Law, Material, Section};
use saltus_mechanics::flexible::{
    Assembly, Builder, Geometry, Load, LoadKind, MassMatrix, Mesh, NodeId, NodeKind,
};
use saltus_mechanics::signal::Constant;
use saltus_mechanics::statics::{Equilibrium, Options, equilibrium};
use saltus_system::{ContactLaw, State};

const GRAVITY: f64 = 9.81;

/// A cube of 4 × 4 × 4 hexahedra over the plane z = 0, its base in contact, `lift` pulling at the edge x = z = 1.
fn cube(poisson: f64, lift: f64) -> (Assembly, Mesh) {
    let mesh = block([0.0; 3], [1.0; 3], [4, 4, 4], SpaceCells::Hexahedra).unwrap();
    let material = Material::new(Law::Linear, 1e6, poisson, 1000.0).unwrap();
    let elements = Hexahedron::on_mesh(&Section::space(material), &mesh).unwrap();
    let mut builder = Builder::new();
    let ids: Vec<NodeId> = mesh
        .nodes
        .iter()
        .enumerate()
        .map(|(n, x)| {
            builder
                .node(NodeKind::Space, format!("cube.{n}"), x)
                .unwrap()
        })
        .collect();
    let nodes: Vec<NodeId> = mesh
        .cells(saltus_mechanics::flexible::Cell::Hexahedron)
        .flatten()
        .map(|&n| ids[n])
        .collect();
    builder.elements("cube", elements, &nodes).unwrap();
    builder.gravity([0.0, 0.0, -GRAVITY]);
    for (place, components) in [([0.5, 0.5, 0.0], vec![0, 1]), ([1.0, 0.5, 0.0], vec![1])] {
        let [node] = mesh.nodes_in_box(place, place)[..] else {
            panic!("no node there");
        };
        for c in components {
            builder.hold(ids[node], c).unwrap();
        }
    }
    for n in mesh.group_nodes("bottom").unwrap() {
        let plane = Geometry::Plane {
            node: ids[n],
            normal: [0.0, 0.0, 1.0],
            offset: Box::new(Constant(0.0)),
            radius: 0.0,
        };
        builder.contact(format!("base.{n}"), plane, ContactLaw::frictionless(0.0));
    }
    for n in mesh.nodes_in_box([1.0, 0.0, 1.0], [1.0, 1.0, 1.0]) {
        let y = mesh.nodes[n][1];
        let weight = if y == 0.0 || y == 1.0 { 0.125 } else { 0.25 };
        builder.load(Load {
            node: ids[n],
            kind: LoadKind::Component(2),
            amplitude: Box::new(Constant(weight * lift)),
        });
    }
    (builder.build().unwrap(), mesh)
}

fn rest(system: &Assembly) -> (State, Equilibrium) {
    let mut state = system.reference_state(0.0);
    let found = equilibrium(system, &mut state, &Options::default()).unwrap();
    (state, found)
}

/// Contact forces on the grid of the base, x outside, y inside.
fn on_grid(values: &[f64]) -> Vec<f64> {
    (0..25).map(|k| values[k % 5 * 5 + k / 5]).collect()
}

#[test]
fn a_block_rests_on_its_base() {
    let Some(records) = records() else { return };
    for (poisson, id) in [(0.0, "block.static.nu0.0"), (0.3, "block.static.nu0.3")] {
        let (system, mesh) = cube(poisson, 0.0);
        let (state, found) = rest(&system);
        let forces = on_grid(&found.normal_forces);
        let top = mesh.group_nodes("top").unwrap();
        let sink: f64 = top
            .iter()
            .map(|&n| system.position(&state.q, NodeId(n as u32), 2) - 1.0)
            .sum();
        let active = forces.iter().filter(|f| **f > 0.0).count();
        let values = [
            forces.iter().sum(),
            1000.0 * GRAVITY,
            sink / top.len() as f64,
            forces[0],
            forces[1],
            forces[12],
            active as f64,
        ];
        // Edge node: the neighbour of a corner.
        println!("{id}: {values:.8?} after {} iterations", found.iterations);
        records.check(id, &values);
        records.check(&format!("{id}.forces"), &forces);
    }
}

#[test]
fn a_block_pulled_at_an_edge_lifts_off() {
    let Some(records) = records() else { return };
    let weight = 1000.0 * GRAVITY;
    let (system, mesh) = cube(0.3, 0.35 * weight);
    let (state, found) = rest(&system);
    let base = mesh.group_nodes("bottom").unwrap();
    let heights: Vec<f64> = base
        .iter()
        .map(|&n| system.position(&state.q, NodeId(n as u32), 2))
        .collect();
    let id = "block.liftoff";
    let value = &records.get(id)["value"];
    let forces = on_grid(&found.normal_forces);
    records.compare(id, &value[0], &forces);
    records.compare(id, &value[1], &on_grid(&heights));
    let sum: f64 = forces.iter().sum();
    assert!((sum - 0.65 * weight).abs() < 1e-9 * weight);
    println!("{id}: {} iterations", found.iterations);
}

#[test]
fn an_impact_meets_the_mass_near_the_face() {
    let Some(records) = records() else { return };
    for kind in ["T4", "H8"] {
        let id = format!("block.impact.{kind}");
        let cells = if kind == "T4" {
            SpaceCells::Tetrahedra
        } else {
            SpaceCells::Hexahedra
        };
        let mesh = block([0.0; 3], [1.0, 1.0, 4.0], [2, 2, 8], cells).unwrap();
        let base = mesh.group_nodes("bottom").unwrap();
        let mut values = Vec::new();
        for mass in [MassMatrix::Consistent, MassMatrix::Lumped] {
            let spec = Spec {
                mass,
                ..Spec::new(Law::Linear, 1.0, 0.3)
            };
            let body = Body::new(&mesh, cell(kind), &spec);
            let mut m = body.assembled(|e| body.elements[e].mass());
            m.factorise().unwrap();
            let mut delassus = SquareMatrix::new(base.len());
            let mut entries = Vec::new();
            for (j, &node) in base.iter().enumerate() {
                let mut x = vec![0.0; body.q.len()];
                x[3 * node + 2] = 1.0;
                m.solve(&mut x);
                for (i, &other) in base.iter().enumerate() {
                    delassus.entry(i, j, x[3 * other + 2]);
                    entries.push(x[3 * other + 2]);
                }
            }
            delassus.factorise().unwrap();
            let mut impulses = vec![1.0; base.len()];
            delassus.solve(&mut impulses);
            let largest = entries.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let least = |x: &[f64]| x.iter().fold(f64::INFINITY, |m, x| m.min(*x));
            values.extend([
                impulses.iter().sum::<f64>() / 0.5,
                least(&impulses),
                (least(&entries) / largest).min(0.0),
            ]);
        }
        println!("{id}: {values:.8?}");
        records.check(&id, &values);
    }
}
