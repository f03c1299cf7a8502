//! Legs that meet at a kink, put together by the assembly.

use saltus_mechanics::flexible::{
    Builder, Load, LoadKind, NodeId, NodeKind, PlaneBeam, PlaneSection, SpaceBeam,
};
use saltus_mechanics::signal::Constant;
use saltus_mechanics::statics::{Options, equilibrium};

/// A leg along x and a leg along y with one node in common, as positions in the plane.
fn corner(n: usize, legs: [f64; 2]) -> Vec<[f64; 2]> {
    let part = |i: usize| i as f64 / n as f64;
    let first = (0..=n).map(|i| [legs[0] * part(i), 0.0]);
    let second = (1..=n).map(|i| [legs[0], legs[1] * part(i)]);
    first.chain(second).collect()
}

/// Displacement of the end of the second leg under a load on one component, the first leg clamped.
fn displacement(mut builder: Builder, nodes: &[NodeId], component: usize, load: f64) -> f64 {
    builder.clamp(nodes[0]);
    let end = nodes[nodes.len() - 1];
    let amplitude = Box::new(Constant(load));
    builder.load(Load {
        node: end,
        kind: LoadKind::Component(component),
        amplitude,
    });
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    let start = system.position(&state.q, end, component);
    let options = Options {
        rotations: system.rotations(),
        tolerance: 1e-8,
        ..Options::default()
    };
    equilibrium(&system, &mut state, &options).unwrap();
    system.position(&state.q, end, component) - start
}

fn pairs(nodes: &[NodeId]) -> Vec<NodeId> {
    nodes.windows(2).flatten().copied().collect()
}

#[test]
fn out_of_its_plane_a_corner_bends_and_twists() {
    let section = super::space::section([1e4, 5e3, 5e3], [80.0, 100.0, 100.0]);
    let (n, legs, load) = (4, [1.0, 0.7], 1e-2);
    let mut builder = Builder::new();
    let places: Vec<[f64; 7]> = corner(n, legs)
        .iter()
        .map(|x| [x[0], x[1], 0.0, 1.0, 0.0, 0.0, 0.0])
        .collect();
    let nodes: Vec<NodeId> = places
        .iter()
        .map(|x| builder.node(NodeKind::SpaceFrame, "node", x).unwrap())
        .collect();
    for (name, leg) in [("first", 0..n + 1), ("second", n..2 * n + 1)] {
        let reference = places[leg.start..leg.start + 2]
            .concat()
            .try_into()
            .unwrap();
        let beam = SpaceBeam::between(section, &reference, [0.0, 0.0, 1.0]).unwrap();
        builder
            .elements(name, vec![beam], &pairs(&nodes[leg]))
            .unwrap();
    }
    let [a, b] = legs;
    let bending = (a.powi(3) + b.powi(3)) / (3.0 * 100.0) * (1.0 - 1.0 / (4.0 * 16.0));
    let expected = load * (bending + b * b * a / 80.0 + (a + b) / 5e3);
    let found = displacement(builder, &nodes, 2, load);
    assert!(
        (found / expected - 1.0).abs() < 1e-7,
        "{found:e}, expected {expected:e}"
    );
}

#[test]
fn in_its_plane_a_corner_bends() {
    let section = PlaneSection {
        ea: 1e4,
        ga: 5e3,
        ei: 100.0,
        rho_a: 1.0,
        rho_i: 0.1,
    };
    let (n, legs, load) = (4, [1.0, 0.7], 1e-3);
    let mut builder = Builder::new();
    let places: Vec<[f64; 3]> = corner(n, legs).iter().map(|x| [x[0], x[1], 0.0]).collect();
    let nodes: Vec<NodeId> = places
        .iter()
        .map(|x| builder.node(NodeKind::PlaneFrame, "node", x).unwrap())
        .collect();
    for (name, leg) in [("first", 0..n + 1), ("second", n..2 * n + 1)] {
        let reference = places[leg.start..leg.start + 2]
            .concat()
            .try_into()
            .unwrap();
        let beam = PlaneBeam::between(section, &reference).unwrap();
        builder
            .elements(name, vec![beam], &pairs(&nodes[leg]))
            .unwrap();
    }
    // A load along x: the second leg bends and shears, the first is bent by its moment and pulled.
    let [a, b] = legs;
    let bending = b.powi(3) / (3.0 * 100.0) * (1.0 - 1.0 / (4.0 * 16.0)) + a * b * b / 100.0;
    let expected = load * (bending + b / 5e3 + a / 1e4);
    let found = displacement(builder, &nodes, 0, load);
    assert!(
        (found / expected - 1.0).abs() < 1e-5,
        "{found:e}, expected {expected:e}"
    );
}
