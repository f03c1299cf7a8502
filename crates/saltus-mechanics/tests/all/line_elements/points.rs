//! Point masses, springs, dampers and two-force bars.

use crate::support::*;
use saltus_mechanics::flexible::point::{Kind, kind};
use saltus_mechanics::flexible::{
    Damping, Differentiated, Element, Energy, MassMatrix, PointMass, Spring, TorsionSpring,
};
use saltus_mechanics::rotation;

/// A random state; triads are unit quaternions.
fn state<E: Element>(random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let mut q: Vec<f64> = (0..E::NQ).map(|_| 2.0 * random.signed()).collect();
    if E::NODE.positions() == 7 {
        for q in q.chunks_mut(7) {
            q[3..].copy_from_slice(&rotation::exp(&random.vector(2.0)));
        }
    }
    let v = (0..E::NV).map(|_| random.signed()).collect();
    (q, v)
}

/// Holds an undamped element against its energy and a damped one against differences.
fn examine<E: Element + Energy + Copy>(element: E, damped: E) {
    let mut random = Random::new(30);
    for _ in 0..10 {
        let (q, v) = state::<E>(&mut random);
        let exact = Differentiated(element);
        assert!(difference(&force(&element, &q, &v), &force(&exact, &q, &v)) < 1e-12);
        assert!(difference(&stiffness(&element, &q, &v), &stiffness(&exact, &q, &v)) < 1e-12);
        let (worst_k, worst_c) = finite_differences(&damped, &q, &v);
        assert!(worst_k < 1e-7 && worst_c < 1e-11, "{worst_k:e} {worst_c:e}");
        let mut lost = vec![0.0; E::NV];
        damped.damping_force(&q, &v, &mut lost);
        assert!(lost.iter().zip(&v).map(|(f, v)| f * v).sum::<f64>() >= 0.0);
        let sum: Vec<f64> = force(&element, &q, &v)
            .iter()
            .zip(&lost)
            .map(|(a, b)| a + b)
            .collect();
        assert!(difference(&force(&damped, &q, &v), &sum) < 1e-12);
    }
}

fn springs<K: Kind>() {
    let spring = |c: f64, l: f64| Spring::<K>::new(30.0, c, l).unwrap();
    examine(spring(0.0, 0.7), spring(2.0, 0.7));
    examine(spring(0.0, 0.0), spring(2.0, 0.0));
    let anchor = &[0.3, -0.4, 0.8][..K::NODE.dimension()];
    let ground = |c: f64| Spring::<K, 1>::to_ground(30.0, c, 0.7, anchor).unwrap();
    examine(ground(0.0), ground(2.0));
    let bar = Spring::<K>::bar(100.0, 2.0, 0.5).unwrap();
    examine(bar, bar.with_damping(Damping::new(0.2, 0.03).unwrap()));
    for distribution in [MassMatrix::Consistent, MassMatrix::Lumped] {
        let (nv, m) = (K::NODE.velocities(), mass(&bar.with_mass(distribution)));
        for i in 0..K::NODE.dimension() {
            let total: f64 = [i, nv + i]
                .iter()
                .map(|row| m[row * 2 * nv + i] + m[row * 2 * nv + nv + i])
                .sum();
            assert!((total - 1.0).abs() < 1e-15);
        }
    }
}

#[test]
fn springs_of_every_kind() {
    springs::<kind::Line>();
    springs::<kind::Plane>();
    springs::<kind::PlaneFrame>();
    springs::<kind::Space>();
    springs::<kind::SpaceFrame>();
    let torsion = |c: f64| TorsionSpring::<2>::new(3.0, c, 0.2).unwrap();
    examine(torsion(0.0), torsion(0.5));
    let ground = |c: f64| TorsionSpring::<1>::new(3.0, c, 0.2).unwrap();
    examine(ground(0.0), ground(0.5));
}

#[test]
fn a_bar_turned_rigidly_has_no_force() {
    let bar = Spring::<kind::Plane>::bar(100.0, 2.0, 5.0).unwrap();
    assert!(largest(&force(&bar, &[1.0, 1.0, 4.0, 5.0], &[0.0; 4])) < 1e-13);
    assert!((fields(&bar, &[0.0, 0.0, 0.0, 6.0])[0] - 20.0).abs() < 1e-13);
    // Coincident ends: no direction, no number that is none.
    let (k, c) = tangents(&bar, &[1.0, 1.0, 1.0, 1.0], &[1.0; 4]);
    assert!(k.iter().chain(&c).all(|x| x.is_finite()));
}

#[test]
fn point_masses() {
    let line = PointMass::<kind::Line>::new(2.0).unwrap();
    assert_eq!(mass(&line), [2.0]);
    let frame = PointMass::<kind::PlaneFrame>::new(2.0)
        .unwrap()
        .with_inertia(0.3)
        .unwrap();
    assert_eq!(mass(&frame), [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.3]);
    assert!(frame.is_linear());
    let inertia = [[2.0, 0.1, 0.0], [0.1, 3.0, -0.2], [0.0, -0.2, 4.0]];
    let body = PointMass::<kind::SpaceFrame>::new(2.0)
        .unwrap()
        .with_inertia(inertia)
        .unwrap();
    let q = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let (_, worst) = finite_differences(&body, &q, &[0.1, 0.2, 0.3, 1.0, -2.0, 0.5]);
    assert!(worst < 1e-11);
    assert!(!body.is_linear() && body.has_velocity_forces() && !body.is_damped());
    let plain = PointMass::<kind::SpaceFrame>::new(2.0).unwrap();
    let refused = [
        [[1.0, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ];
    for inertia in refused {
        assert!(plain.with_inertia(inertia).is_err());
    }
    assert!(PointMass::<kind::Plane>::new(-1.0).is_err());
}

#[test]
fn gyroscopic_record() {
    let Some(records) = records() else { return };
    let id = "b3.gyro_tangent";
    let [omega, j] = ["Omega", "J"].map(|name| records.parameters(id, name));
    let inertia = [[j[0], 0.0, 0.0], [0.0, j[1], 0.0], [0.0, 0.0, j[2]]];
    let body = PointMass::<kind::SpaceFrame>::new(1.0)
        .unwrap()
        .with_inertia(inertia)
        .unwrap();
    let q = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let v = [0.0, 0.0, 0.0, omega[0], omega[1], omega[2]];
    let mut found: Vec<f64> = force(&body, &q, &v)[3..].iter().map(|f| -f).collect();
    let (_, c) = tangents(&body, &q, &v);
    for i in 3..6 {
        found.extend(&c[i * 6 + 3..i * 6 + 6]);
    }
    records.check(id, &found);
    println!("b3.gyro_tangent: 1 record");
}
