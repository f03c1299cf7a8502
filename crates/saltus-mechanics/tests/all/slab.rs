//! A slab that falls flat on a plane: all its contacts close at once, and share their motion.

use saltus_integrators::{
    Entry, Integrator, LinearSolve, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions,
};
use saltus_mechanics::flexible::mesh::generate::{PlaneCells, rectangle};
use saltus_mechanics::flexible::solid::{Law, Material, Quadrilateral, Section};
use saltus_mechanics::flexible::{Assembly, Builder, Cell, Geometry, NodeId, NodeKind};
use saltus_mechanics::signal::Constant;
use saltus_system::{ContactLaw, State};

/// `nx × ny` quadrilaterals of 1 mm, 0.1 mm above a plane, at 1 m/s.
fn slab(nx: usize, ny: usize) -> (Assembly, State) {
    let (h, drop) = (1e-3, 1e-4);
    let to = [nx as f64 * h, drop + ny as f64 * h];
    let mesh = rectangle([0.0, drop], to, [nx, ny], PlaneCells::Quadrilaterals).unwrap();
    let material = Material::new(Law::Linear, 1e7, 0.3, 1000.0).unwrap();
    let section = Section::plane_strain(material, 1.0).unwrap();
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = mesh
        .nodes
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let name = format!("slab.{i}");
            builder.node(NodeKind::Plane, name, &x[..2]).unwrap()
        })
        .collect();
    let corners: Vec<NodeId> = mesh
        .cells(Cell::Quadrilateral)
        .flatten()
        .map(|&n| nodes[n])
        .collect();
    let elements = Quadrilateral::on_mesh(&section, &mesh).unwrap();
    builder.elements("slab", elements, &corners).unwrap();
    for n in mesh.group_nodes("bottom").unwrap() {
        let plane = Geometry::Plane {
            node: nodes[n],
            normal: [0.0, 1.0, 0.0],
            offset: Box::new(Constant(0.0)),
            radius: 0.0,
        };
        builder.contact(format!("floor.{n}"), plane, ContactLaw::frictionless(0.0));
    }
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    for y in state.v.iter_mut().skip(1).step_by(2) {
        *y = -1.0;
    }
    (system, state)
}

#[test]
fn contacts_that_close_at_once_take_few_corrections_and_the_way_to_solve_does_not_matter() {
    let (system, start) = slab(150, 5);
    let h = 1e-5;
    let scheme = |linear_solve| {
        let options = NonsmoothGeneralizedAlphaOptions {
            formulation: NonsmoothFormulation::Pva,
            linear_solve,
            rho_inf: Some(0.8),
            ..Default::default()
        };
        let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
        scheme.prepare(&system, &start, h).unwrap();
        scheme
    };
    let (mut condensed, mut whole) = (
        scheme(LinearSolve::Condensed),
        scheme(LinearSolve::Monolithic),
    );
    let (mut one, mut other) = (start.clone(), start.clone());
    let mut most = 0;
    for k in 1..=14 {
        let end = f64::from(k) * h;
        let report = condensed.step(&system, &mut one, h, end).unwrap();
        whole.step(&system, &mut other, h, end).unwrap();
        assert!(report.iterations <= 8, "step {k}: {}", report.iterations);
        for (entry, value) in report.certificate.iter() {
            let bound = condensed.guarantees().bound(entry);
            let holds = value.abs() <= bound.unwrap_or(f64::INFINITY);
            assert!(holds, "step {k}: {} {value:e}", Entry::name(entry));
        }
        for (i, (a, b)) in one.v.iter().zip(&other.v).enumerate() {
            assert!((a - b).abs() < 1e-9, "step {k}, velocity {i}: {a} {b}");
        }
        most = most.max(report.active);
    }
    assert_eq!(most, 151);
}
