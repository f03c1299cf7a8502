//! The assembly: supports, loads, constraints, contacts, and every derivative against finite differences.

use saltus_mechanics::flexible::{
    AssemblyError, Builder, Geometry, Load, LoadKind, NodeId, NodeKind, PlaneBeam, PlaneSection,
    Rod,
};
use saltus_mechanics::signal::{Constant, Harmonic, Signal};
use saltus_system::{
    ContactLaw, ContactSet, Contacts, Dynamics, ForceKind, Kinematics, Point, Reach, System, check,
};

const SECTION: PlaneSection = PlaneSection {
    ea: 1e4,
    ga: 4e3,
    ei: 30.0,
    rho_a: 2.0,
    rho_i: 0.05,
};

/// A beam along x with `n` elements of length `l`, and its nodes.
fn beam(n: usize, l: f64) -> (Builder, Vec<NodeId>) {
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = (0..=n)
        .map(|i| {
            builder
                .node(
                    NodeKind::PlaneFrame,
                    format!("beam.{i}"),
                    &[i as f64 * l, 0.0, 0.0],
                )
                .unwrap()
        })
        .collect();
    let element = PlaneBeam::straight(SECTION, l).unwrap();
    let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
    builder.elements("beam", vec![element], &pairs).unwrap();
    (builder, nodes)
}

fn law() -> ContactLaw {
    ContactLaw::frictionless(0.5)
}

fn plane(node: NodeId, normal: [f64; 3], offset: impl Signal + 'static) -> Geometry {
    Geometry::Plane {
        node,
        normal,
        offset: Box::new(offset),
        radius: 0.01,
    }
}

#[test]
fn derivatives_agree_with_finite_differences() {
    let (mut builder, nodes) = beam(4, 0.5);
    builder.hold(nodes[0], 0).unwrap();
    builder.hold(nodes[0], 1).unwrap();
    builder.gravity([0.0, -9.81, 0.0]);
    let shake = Harmonic {
        offset: 0.0,
        amplitude: 0.1,
        omega: 3.0,
        phase: 0.4,
    };
    builder
        .prescribe("shaken", nodes[2], 1, Box::new(shake))
        .unwrap();
    builder.tie("tied", [nodes[3], nodes[4]], 0).unwrap();
    builder.load(Load {
        node: nodes[4],
        kind: LoadKind::Component(1),
        amplitude: Box::new(shake),
    });
    builder.contact("tip", plane(nodes[4], [0.0, 1.0, 0.0], shake), law());
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.3);
    for (i, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
        *q += 0.05 * (i as f64 * 1.3).sin();
        *v = (i as f64 * 0.7).cos();
    }
    let audit = check::check(&system, &state);
    assert!(
        audit.is_clean(),
        "{:#?}",
        audit
            .failures()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    );
}

#[test]
fn weight_is_carried_whole_and_has_a_potential() {
    let (mut builder, nodes) = beam(3, 0.5);
    builder.gravity([0.0, -10.0, 0.0]);
    builder.load(Load {
        node: nodes[1],
        kind: LoadKind::Component(1),
        amplitude: Box::new(Constant(4.0)),
    });
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    let before = system.potential_energy(0.0, &state.q);
    let mut force = vec![0.0; system.dims().nv];
    system.force(state.point(), &mut force);
    let down: f64 = force.iter().skip(1).step_by(3).sum();
    assert!((down - (4.0 - 2.0 * 1.5 * 10.0)).abs() < 1e-12, "{down}");
    for y in state.q.iter_mut().skip(1).step_by(3) {
        *y += 2.0;
    }
    let work = before - system.potential_energy(0.0, &state.q);
    assert!((work - 2.0 * down).abs() < 1e-12, "{work}");
    let mut active = vec![1.0; system.dims().nv];
    system.active_force(state.point(), &mut active);
    assert!(active.iter().all(|f| *f == 0.0));
}

#[test]
fn held_coordinates_are_no_unknowns_but_still_pull() {
    let (mut builder, nodes) = beam(2, 0.5);
    builder.clamp(nodes[0]);
    let system = builder.build().unwrap();
    assert_eq!((system.dims().nq, system.dims().nv), (6, 6));
    assert_eq!(system.names().positions[0], "beam.1.x");
    let mut state = system.reference_state(0.0);
    state.q[0] += 0.01;
    let mut force = vec![0.0; 6];
    system.force(
        Point {
            t: 0.0,
            q: &state.q,
            v: &state.v,
        },
        &mut force,
    );
    // Both neighbours pull back, each with EA δ/L.
    assert!(
        (force[0] + 2.0 * 1e4 * 0.01 / 0.5).abs() < 1e-9,
        "{}",
        force[0]
    );
    assert_eq!(system.structure().force, ForceKind::General);
}

#[test]
fn a_rod_is_recognised_as_linear() {
    let mut builder = Builder::new();
    let ends: Vec<NodeId> = [0.0, 1.0]
        .iter()
        .map(|x| builder.node(NodeKind::Line, "rod", &[*x]).unwrap())
        .collect();
    let rod = Rod::new(10.0, 1.0, 1.0).unwrap();
    builder.elements("rod", vec![rod], &ends).unwrap();
    builder.contact(
        "wall",
        plane(ends[0], [1.0, 0.0, 0.0], Constant(-0.5)),
        law(),
    );
    let system = builder.build().unwrap();
    assert!(system.structure().is_time_invariant());
    let mut set = ContactSet::default();
    let state = system.reference_state(0.0);
    system.detect(0.0, &state.q, Reach::All, &mut set);
    assert!((set.gap[0] - 0.49).abs() < 1e-15);
}

#[test]
fn what_does_not_fit_is_named() {
    let mut builder = Builder::new();
    let line = builder.node(NodeKind::Line, "a", &[0.0]).unwrap();
    let frame = builder
        .node(NodeKind::PlaneFrame, "b", &[0.0, 0.0, 0.0])
        .unwrap();
    let rod = Rod::new(10.0, 1.0, 1.0).unwrap();
    let error = builder
        .elements("rod", vec![rod], &[line, frame])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "an element of \"rod\" wants nodes of the kind Line, but node 1 (\"b\") is PlaneFrame"
    );
    assert!(builder.hold(line, 1).is_err());
    assert!(
        builder
            .node(NodeKind::Plane, "c", &[f64::NAN, 0.0])
            .is_err()
    );
    assert!(matches!(
        builder.build().unwrap_err(),
        AssemblyError::Loose { .. }
    ));

    let mut builder = Builder::new();
    let triad = builder
        .node(
            NodeKind::SpaceFrame,
            "t",
            &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        )
        .unwrap();
    builder.hold(triad, 4).unwrap();
    let error = builder.build().unwrap_err();
    assert!(
        matches!(error, AssemblyError::PartOfRotation { .. }),
        "{error}"
    );
}
