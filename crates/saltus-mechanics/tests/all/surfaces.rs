//! Nodes over the faces of other bodies: derivatives, balances, invariance, search.

use crate::support::Random;
#[allow(dead_code)]
use saltus_mechanics::flexible::point::kind;
use saltus_mechanics::flexible::{
    Assembly, AssemblyError, Builder, NodeId, NodeKind, PointMass, SurfaceContact,
};
use saltus_mechanics::rotation;
use saltus_system::{
    ContactId, ContactLaw, ContactSet, Contacts, Dynamics, Kinematics, Reach, State, System, check,
};

/// Point masses at `places`, the first `touching` of them over faces of the others (by number among these).
fn points(places: &[Vec<f64>], touching: usize, faces: &[Vec<usize>], radius: f64) -> Assembly {
    let mut builder = Builder::new();
    let plane = places[0].len() == 2;
    let kind = if plane {
        NodeKind::Plane
    } else {
        NodeKind::Space
    };
    let nodes: Vec<NodeId> = places
        .iter()
        .enumerate()
        .map(|(n, x)| builder.node(kind, format!("p{n}"), x).unwrap())
        .collect();
    if plane {
        let mass = PointMass::<kind::Plane>::new(2.0).unwrap();
        builder.elements("points", vec![mass], &nodes).unwrap();
    } else {
        let mass = PointMass::<kind::Space>::new(2.0).unwrap();
        builder.elements("points", vec![mass], &nodes).unwrap();
    }
    let (nodes, corners) = nodes.split_at(touching);
    let faces = faces
        .iter()
        .map(|face| face.iter().map(|&n| corners[n]).collect())
        .collect();
    builder.surface(
        "touch",
        SurfaceContact {
            nodes: nodes.to_vec(),
            faces,
            radius,
            law: ContactLaw::frictionless(0.5),
        },
    );
    builder.build().unwrap()
}

fn detected(system: &Assembly, q: &[f64], margin: f64) -> ContactSet {
    let mut set = ContactSet::default();
    system.detect(0.0, q, Reach::Within(margin), &mut set);
    set
}

fn moving(system: &Assembly, seed: u64) -> State {
    let mut state = system.reference_state(0.0);
    let mut random = Random::new(seed);
    state.v.iter_mut().for_each(|v| *v = random.signed());
    state
}

/// A node over a segment, a triangle, a flat and a warped quadrilateral: inside, beyond an edge, beyond a corner.
fn examples() -> Vec<(&'static str, Assembly)> {
    let plane = |x: [f64; 2]| {
        points(
            &[x.to_vec(), vec![1.0, 0.1], vec![-1.0, -0.2]],
            1,
            &[vec![1, 0]],
            0.05,
        )
    };
    let triangle = |x: [f64; 3]| {
        let corners = [[-1.0, -1.0, 0.1], [1.2, -0.9, 0.0], [0.1, 1.1, -0.1]];
        let mut all = vec![x.to_vec()];
        all.extend(corners.iter().map(|c| c.to_vec()));
        points(&all, 1, &[vec![0, 1, 2]], 0.0)
    };
    let quadrilateral = |x: [f64; 3], twist: f64| {
        let corners = [
            [-1.0, -1.0, twist],
            [1.0, -1.1, -twist],
            [1.1, 1.0, twist],
            [-0.9, 1.0, -twist],
        ];
        let mut all = vec![x.to_vec()];
        all.extend(corners.iter().map(|c| c.to_vec()));
        points(&all, 1, &[vec![0, 1, 2, 3]], 0.1)
    };
    vec![
        ("segment", plane([0.2, 0.6])),
        ("segment from behind", plane([0.1, -0.5])),
        ("end of a segment", plane([1.7, 0.9])),
        ("triangle", triangle([0.1, -0.2, 0.5])),
        ("edge of a triangle", triangle([0.1, -1.7, 0.6])),
        ("corner of a triangle", triangle([2.2, -1.8, 0.6])),
        ("flat quadrilateral", quadrilateral([0.1, 0.2, 0.5], 0.0)),
        (
            "warped quadrilateral",
            quadrilateral([0.2, -0.3, 0.6], 0.25),
        ),
        ("edge of a warped one", quadrilateral([1.9, 0.1, 0.5], 0.15)),
        (
            "corner of a warped one",
            quadrilateral([1.9, 1.8, 0.5], 0.15),
        ),
    ]
}

#[test]
fn derivatives_agree_with_finite_differences() {
    for (what, system) in examples() {
        let audit = check::check(&system, &moving(&system, 3));
        let failures: Vec<String> = audit.failures().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{what}: {failures:#?}");
        for quantity in [
            "directions",
            "contact_curvature",
            "contact_bias",
            "contact_bias_gradient",
        ] {
            assert!(
                audit.findings.iter().any(|f| f.quantity == quantity),
                "{what}: {quantity} was not examined"
            );
        }
    }
}

#[test]
fn forces_balance_in_sum_and_moment() {
    for (what, system) in examples() {
        let state = system.reference_state(0.0);
        let set = detected(&system, &state.q, f64::INFINITY);
        assert_eq!(set.len(), 1, "{what}");
        let mut force = vec![0.0; system.dims().nv];
        set.directions.axpy(0, 1.0, &mut force);
        let d = if what.contains("segment") { 2 } else { 3 };
        let (mut sum, mut moment) = ([0.0; 3], [0.0; 3]);
        let pad = |x: &[f64]| {
            let mut padded = [0.0; 3];
            padded[..d].copy_from_slice(x);
            padded
        };
        for (x, f) in state.q.chunks(d).zip(force.chunks(d)) {
            let (x, f) = (pad(x), pad(f));
            let turn = rotation::cross(&x, &f);
            for i in 0..3 {
                sum[i] += f[i];
                moment[i] += turn[i];
            }
        }
        for x in sum.iter().chain(&moment) {
            assert!(x.abs() < 1e-14, "{what}: {sum:?}, {moment:?}");
        }
    }
}

#[test]
fn gaps_do_not_depend_on_the_frame() {
    let turn = rotation::exp(&[0.7, -1.1, 0.4]);
    for (what, system) in examples() {
        if what.contains("segment") {
            continue;
        }
        let state = system.reference_state(0.0);
        let set = detected(&system, &state.q, f64::INFINITY);
        let turned: Vec<f64> = state
            .q
            .chunks(3)
            .flat_map(|x| {
                let x = rotation::rotate(&turn, &[x[0], x[1], x[2]]);
                [x[0] + 3.0, x[1] - 2.0, x[2] + 5.0]
            })
            .collect();
        let other = detected(&system, &turned, f64::INFINITY);
        assert!((set.gap[0] - other.gap[0]).abs() < 1e-13, "{what}");
        let (mut here, mut there) = (vec![0.0; turned.len()], vec![0.0; turned.len()]);
        set.directions.axpy(0, 1.0, &mut here);
        other.directions.axpy(0, 1.0, &mut there);
        for (a, b) in here.chunks(3).zip(there.chunks(3)) {
            let a = rotation::rotate(&turn, &[a[0], a[1], a[2]]);
            for i in 0..3 {
                assert!((a[i] - b[i]).abs() < 1e-13, "{what}: {a:?} and {b:?}");
            }
        }
    }
}

/// A wavy floor of `n` by `n` quadrilaterals from −1 to 1, and points over it.
fn floor(n: usize, over: &[[f64; 3]]) -> Assembly {
    let side = |i: usize| 2.0 * i as f64 / n as f64 - 1.0;
    let mut places: Vec<Vec<f64>> = over.iter().map(|x| x.to_vec()).collect();
    for j in 0..=n {
        for i in 0..=n {
            let (x, y) = (side(i), side(j));
            places.push(vec![x, y, 0.1 * (3.0 * x).sin() * (2.0 * y).cos()]);
        }
    }
    let at = |i: usize, j: usize| j * (n + 1) + i;
    let faces: Vec<Vec<usize>> = (0..n * n)
        .map(|k| {
            let (i, j) = (k % n, k / n);
            vec![at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
        })
        .collect();
    points(&places, over.len(), &faces, 0.0)
}

#[test]
fn the_nearest_face_is_found_and_followed() {
    let mut random = Random::new(11);
    let over: Vec<[f64; 3]> = (0..40)
        .map(|_| {
            let [x, y, z] = random.vector(0.9);
            [x, y, 0.3 + 0.2 * z]
        })
        .collect();
    let system = floor(12, &over);
    let mut state = system.reference_state(0.0);
    let mut set = detected(&system, &state.q, f64::INFINITY);
    assert_eq!(set.len(), 40);
    // Small steps far across the floor: what is followed is what a new search finds, but for a node that is yet to leave
    // its face: that goes on straight over a twentieth of its size, which differs by no more than the angle to the next.
    let mut the_same = 0;
    for _ in 0..60 {
        for k in 0..40 {
            let [x, y, _] = random.vector(0.02);
            for (c, step) in [(0, x), (1, y)] {
                let q = &mut state.q[3 * k + c];
                *q = (*q + step).clamp(-0.95, 0.95);
            }
        }
        system.evaluate_contacts(0.0, &state.q, &mut set);
        let fresh = detected(&system, &state.q, f64::INFINITY);
        assert_eq!(set.id, fresh.id);
        for i in 0..40 {
            let apart = (set.gap[i] - fresh.gap[i]).abs();
            assert!(apart < 3e-3, "{i}: {apart}");
            if set.directions.cols(i) == fresh.directions.cols(i) {
                assert!(apart < 1e-14, "{i}: {apart}");
                the_same += 1;
            }
        }
    }
    assert!(the_same > 2000, "{the_same} of 2400");
    // Within a margin: those that are nearer, by their identities.
    let all = detected(&system, &state.q, f64::INFINITY);
    let near = detected(&system, &state.q, 0.25);
    let expected: Vec<ContactId> = all
        .id
        .iter()
        .zip(&all.gap)
        .filter(|(_, gap)| **gap <= 0.25)
        .map(|(id, _)| *id)
        .collect();
    assert!(!expected.is_empty() && expected.len() < 40);
    assert_eq!(near.id, expected);
}

#[test]
fn beside_an_open_surface_nothing_is_behind_it() {
    // A step of one segment from (1, 0) to (0, 0): its front is up. Below and beside its end is not inside.
    let below = |x: f64| {
        let system = points(
            &[vec![x, -0.1], vec![1.0, 0.0], vec![0.0, 0.0]],
            1,
            &[vec![1, 0]],
            0.0,
        );
        detected(&system, &system.reference_state(0.0).q, f64::INFINITY).gap[0]
    };
    assert!((below(0.5) + 0.1).abs() < 1e-15);
    assert!((below(1.1) - 0.1 * f64::sqrt(2.0)).abs() < 1e-15);
    // A node that slides onto the very rim is still over the face.
    assert!((below(1.01) + 0.1).abs() < 1e-15);
    // At a corner of a closed surface the inside stays the inside.
    let corner = points(
        &[
            vec![-0.1, -0.1],
            vec![0.0, 0.0],
            vec![-1.0, 0.0],
            vec![0.0, -1.0],
        ],
        1,
        &[vec![1, 0], vec![0, 2]],
        0.0,
    );
    let q = corner.reference_state(0.0).q;
    let gap = detected(&corner, &q, f64::INFINITY).gap[0];
    assert!((gap + 0.1).abs() < 1e-15, "{gap}");
}

#[test]
fn a_node_on_a_corner_has_the_normal_of_a_face() {
    let system = points(
        &[
            vec![0.0, 0.0],
            vec![1.0, -0.5],
            vec![0.0, 0.0],
            vec![-1.0, -0.5],
        ],
        1,
        &[vec![2, 1], vec![1, 0]],
        0.0,
    );
    let q = system.reference_state(0.0).q;
    let set = detected(&system, &q, f64::INFINITY);
    assert!(set.gap[0].abs() < 1e-15);
    let values = set.directions.values(0);
    let length = values[0].hypot(values[1]);
    assert!(
        (length - 1.0).abs() < 1e-14 && values[1] > 0.8,
        "{values:?}"
    );
}

#[test]
fn what_a_surface_cannot_be_is_named() {
    let mut builder = Builder::new();
    let a = builder.node(NodeKind::Plane, "a", &[0.0, 0.0]).unwrap();
    let b = builder.node(NodeKind::Space, "b", &[0.0; 3]).unwrap();
    for (node, kind) in [(a, 2), (b, 3)] {
        if kind == 2 {
            let mass = PointMass::<kind::Plane>::new(1.0).unwrap();
            builder.elements("a", vec![mass], &[node]).unwrap();
        } else {
            let mass = PointMass::<kind::Space>::new(1.0).unwrap();
            builder.elements("b", vec![mass], &[node]).unwrap();
        }
    }
    builder.surface(
        "touch",
        SurfaceContact {
            nodes: vec![a],
            faces: vec![vec![b, b, b]],
            radius: 0.0,
            law: ContactLaw::frictionless(0.0),
        },
    );
    assert!(matches!(
        builder.build().unwrap_err(),
        AssemblyError::Length { .. }
    ));
}

#[test]
fn a_body_does_not_touch_itself() {
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = [[0.0, 0.0], [1.0, 0.0]]
        .iter()
        .map(|x| builder.node(NodeKind::Plane, "n", x).unwrap())
        .collect();
    let mass = PointMass::<kind::Plane>::new(1.0).unwrap();
    builder.elements("points", vec![mass], &nodes).unwrap();
    builder.surface(
        "touch",
        SurfaceContact {
            nodes: vec![nodes[1]],
            faces: vec![nodes.clone()],
            radius: 0.0,
            law: ContactLaw::frictionless(0.0),
        },
    );
    let error = builder.build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "contact \"touch\": node 1 is a corner of the surface that it should touch; a body does not touch itself, choose nodes of another"
    );
}

#[test]
fn many_contacts_have_no_names_but_nodes() {
    let over: Vec<[f64; 3]> = (0..150)
        .map(|k| [0.01 * f64::from(k) - 0.7, 0.0, 0.5])
        .collect();
    let system = floor(4, &over);
    assert_eq!(
        (system.contact_count(), system.names().contacts.len()),
        (0, 0)
    );
    assert!(!system.contacts_are_fixed() && !system.structure().linear_contacts);
    assert_eq!(system.contact_node(ContactId(149)), Some(NodeId(149)));
    assert_eq!(system.contact_node(ContactId(150)), None);
    let few = floor(4, &over[..3]);
    assert_eq!(few.names().contacts, ["touch.0", "touch.1", "touch.2"]);
}
