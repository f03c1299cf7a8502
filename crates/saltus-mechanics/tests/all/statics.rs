//! Static equilibrium: closed forms of beams, contacts, and what has no equilibrium.

use saltus_mechanics::flexible::solid::{Law, Material, Quadrilateral, Section};
use saltus_mechanics::flexible::{
    Assembly, Builder, Geometry, Load, LoadKind, NodeId, NodeKind, PlaneBeam, PlaneSection, Probe,
    Rod,
};
use saltus_mechanics::signal::Constant;
use saltus_mechanics::statics::{Options, StaticsError, equilibrium};
use saltus_system::{ContactLaw, State};
use std::f64::consts::PI;

const SLENDER: PlaneSection = PlaneSection {
    ea: 1e7,
    ga: 5e6,
    ei: 10.0,
    rho_a: 1.0,
    rho_i: 1e-3,
};

/// A beam of length 1 along x, clamped at the origin, with a load at its tip.
fn cantilever(n: usize, load: LoadKind, size: f64) -> (Assembly, NodeId) {
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = (0..=n)
        .map(|i| {
            let x = i as f64 / n as f64;
            builder
                .node(NodeKind::PlaneFrame, format!("beam.{i}"), &[x, 0.0, 0.0])
                .unwrap()
        })
        .collect();
    let element = PlaneBeam::straight(SLENDER, 1.0 / n as f64).unwrap();
    let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
    builder.elements("beam", vec![element], &pairs).unwrap();
    builder.clamp(nodes[0]);
    builder.load(Load {
        node: nodes[n],
        kind: load,
        amplitude: Box::new(Constant(size)),
    });
    (builder.build().unwrap(), nodes[n])
}

fn options(system: &Assembly) -> Options {
    Options {
        rotations: system.rotations(),
        ..Options::default()
    }
}

/// Position of the tip at rest.
fn tip(system: &Assembly, node: NodeId) -> [f64; 3] {
    let mut state = system.reference_state(0.0);
    equilibrium(system, &mut state, &options(system)).unwrap();
    [0, 1, 2].map(|c| system.position(&state.q, node, c))
}

#[test]
fn an_end_moment_rolls_a_cantilever_up_whatever_the_mesh() {
    for n in [4, 8, 20] {
        let (system, end) = cantilever(n, LoadKind::Component(2), 2.0 * PI * 10.0);
        let [x, y, angle] = tip(&system, end);
        assert!(x.abs() < 1e-9 && y.abs() < 1e-9, "n = {n}: {x:e}, {y:e}");
        assert!((angle - 2.0 * PI).abs() < 1e-9, "n = {n}: {angle}");
    }
}

#[test]
fn half_a_roll_ends_on_the_polygon() {
    for n in [4, 16] {
        let (system, end) = cantilever(n, LoadKind::Component(2), PI * 10.0);
        let [_, y, _] = tip(&system, end);
        let polygon = 1.0 / n as f64 / (PI / (2.0 * n as f64)).sin();
        assert!(
            (y - polygon).abs() < 1e-9,
            "n = {n}: {y}, expected {polygon}"
        );
    }
}

/// Rods in a row along x under their weight, the lowest node over a floor.
fn column(n: usize, floor: f64) -> Assembly {
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = (0..=n)
        .map(|i| {
            builder
                .node(NodeKind::Line, format!("rod.{i}"), &[i as f64])
                .unwrap()
        })
        .collect();
    let rod = Rod::new(1e4, 2.0, 1.0).unwrap();
    let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
    builder.elements("rod", vec![rod], &pairs).unwrap();
    builder.gravity([-10.0, 0.0, 0.0]);
    let plane = Geometry::Plane {
        node: nodes[0],
        normal: [1.0, 0.0, 0.0],
        offset: Box::new(Constant(floor)),
        radius: 0.0,
    };
    builder.contact("floor", plane, ContactLaw::frictionless(0.0));
    builder.build().unwrap()
}

#[test]
fn a_column_stands_on_its_floor() {
    let system = column(10, 0.0);
    let mut state = system.reference_state(0.0);
    let found = equilibrium(&system, &mut state, &Options::default()).unwrap();
    assert!((found.normal_forces[0] - 200.0).abs() < 1e-9, "{found:?}");
    // Shortening rho A g L²/(2 EA), exact at the nodes.
    let top = state.q[10] - 10.0;
    assert!(
        (top + 2.0 * 10.0 * 100.0 / (2.0 * 1e4)).abs() < 1e-9,
        "{top}"
    );
    assert!(state.q[0].abs() < 1e-12);
}

#[test]
fn what_is_loose_or_out_of_reach_is_said() {
    let system = column(10, -1.0);
    let mut state = system.reference_state(0.0);
    let before = State::clone(&state);
    let error = equilibrium(&system, &mut state, &Options::default()).unwrap_err();
    assert!(matches!(error, StaticsError::Loose { .. }), "{error}");
    assert_eq!(state, before);

    let (system, _) = cantilever(4, LoadKind::Component(1), 100.0);
    let mut state = system.reference_state(0.0);
    let hasty = Options {
        iterations: 2,
        ..options(&system)
    };
    let error = equilibrium(&system, &mut state, &hasty).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("after 2 iterations: the force on beam."),
        "{error}"
    );
}

/// Hoop stress at the bore of a thick ring under the pressure 1 in plane strain, relative to Lamé's solution, with `n` elements
/// through the wall and `2 n` around a quarter.
fn hoop_stress_error(n: usize) -> f64 {
    let (inner, outer) = (1.0, 2.0);
    let mut builder = Builder::new();
    let mut nodes = Vec::new();
    for j in 0..=2 * n {
        let angle = 0.5 * PI * j as f64 / (2 * n) as f64;
        for i in 0..=n {
            let r = inner + (outer - inner) * i as f64 / n as f64;
            let place = [r * angle.cos(), r * angle.sin()];
            let name = format!("ring.{}", nodes.len());
            nodes.push((builder.node(NodeKind::Plane, name, &place).unwrap(), place));
        }
    }
    let material = Material::new(Law::Linear, 1e3, 0.3, 1.0).unwrap();
    let section = Section::plane_strain(material, 1.0).unwrap();
    let at = |i: usize, j: usize| nodes[j * (n + 1) + i];
    let (mut elements, mut corners) = (Vec::new(), Vec::new());
    for j in 0..2 * n {
        for i in 0..n {
            let cell = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            elements.push(Quadrilateral::new(&section, &cell.map(|c| c.1)).unwrap());
            corners.extend(cell.map(|c| c.0));
        }
    }
    builder.elements("ring", elements, &corners).unwrap();
    for i in 0..=n {
        builder.hold(at(i, 0).0, 1).unwrap();
        builder.hold(at(i, 2 * n).0, 0).unwrap();
    }
    for j in 0..2 * n {
        let (a, b) = (at(0, j), at(0, j + 1));
        // Half of the force on the edge for each of its ends.
        let force = [0.5 * (b.1[1] - a.1[1]), 0.5 * (a.1[0] - b.1[0])];
        for node in [a.0, b.0] {
            for (c, size) in force.into_iter().enumerate() {
                builder.load(Load {
                    node,
                    kind: LoadKind::Component(c),
                    amplitude: Box::new(Constant(size)),
                });
            }
        }
    }
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    equilibrium(&system, &mut state, &options(&system)).unwrap();
    let exact = (outer * outer + inner * inner) / (outer * outer - inner * inner);
    // In the middle of the quarter, where the hoop stress is (σx + σy)/2 − τxy, and at its end, where it is σy.
    let [middle, end] = [at(0, n).0, at(0, 0).0].map(|node| {
        let probe = &Probe::at(&system, &[node])[0];
        let mut values = vec![0.0; probe.columns().len()];
        probe.values(&system, state.point(), &[], &mut values);
        let of = |name: &str| {
            values[probe
                .columns()
                .iter()
                .position(|c| c.field == name)
                .unwrap()]
        };
        [of("stress_xx"), of("stress_yy"), of("stress_xy")]
    });
    let hoop = 0.5 * (middle[0] + middle[1]) - middle[2];
    let errors = [hoop, end[1]].map(|found| (found / exact - 1.0).abs());
    println!("{n} elements: {errors:?}");
    errors[0].max(errors[1])
}

#[test]
fn stresses_at_a_free_surface_have_the_order_of_the_inside() {
    let errors = [8, 16, 32].map(hoop_stress_error);
    let order = (errors[1] / errors[2]).log2();
    assert!(order > 1.9, "{errors:?}: {order}");
    assert!(errors[1] < 0.02, "{errors:?}");
}
