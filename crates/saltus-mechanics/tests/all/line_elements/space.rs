//! The geometrically exact beam in space, one element at a time.

use crate::support::*;
use saltus_mechanics::flexible::{
    Damping, Differentiated, Element, MassMatrix, PlaneBeam, PlaneSection, SpaceBeam, SpaceSection,
};
use saltus_mechanics::rotation;

pub fn section(normal: [f64; 3], bending: [f64; 3]) -> SpaceSection {
    SpaceSection {
        ea: normal[0],
        ga: [normal[1], normal[2]],
        gj: bending[0],
        ei: [bending[1], bending[2]],
        rho_a: 2.0,
        rho_i: [0.4, 0.2, 0.3],
    }
}

/// Without rotary inertia, so that the force is elastic whatever the velocity.
fn elastic_section() -> SpaceSection {
    let mut section = section([1000.0, 400.0, 300.0], [8.0, 10.0, 12.0]);
    section.rho_i = [0.0; 3];
    section
}

/// Random positions whose triads lie `angle` apart.
fn random_state(random: &mut Random, angle: f64) -> [f64; 14] {
    let first = rotation::exp(&random.vector(3.0));
    let axis = random.vector::<3>(1.0);
    let norm = rotation::dot(&axis, &axis).sqrt();
    let second = rotation::compose(&first, &rotation::exp(&axis.map(|x| x * angle / norm)));
    let (x1, x2) = (random.vector::<3>(2.0), random.vector::<3>(2.0));
    [&x1[..], &first, &x2, &second].concat().try_into().unwrap()
}

fn beams() -> [SpaceBeam; 3] {
    let section = elastic_section();
    let mut random = Random::new(5);
    let sections = [
        rotation::exp(&random.vector(2.0)),
        rotation::exp(&random.vector(2.0)),
    ];
    let reference = [
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.6, 0.5, -0.3, 0.8, 0.0, 0.6, 0.0],
    ]
    .concat();
    let reference: &[f64; 14] = reference.as_slice().try_into().unwrap();
    [
        SpaceBeam::new(section, 0.8, [1.02, 0.01, -0.03], [0.05, 0.0, -0.1]).unwrap(),
        SpaceBeam::stress_free(section, reference).unwrap(),
        SpaceBeam::with_sections(section, reference, sections).unwrap(),
    ]
}

#[test]
fn force_and_tangent_are_derivatives_of_the_energy() {
    let mut random = Random::new(6);
    let mut worst = [0.0_f64; 2];
    for beam in beams() {
        let exact = Differentiated(beam);
        for angle in [
            0.0, 1e-9, 1e-4, 0.03, 0.049, 0.051, 0.19, 0.21, 0.5, 1.5, 2.5, 3.0,
        ] {
            let angle = if beam == beams()[2] {
                angle * 0.4
            } else {
                angle
            };
            for _ in 0..5 {
                let (q, v) = (random_state(&mut random, angle), [0.0; 12]);
                worst[0] = worst[0].max(difference(&force(&beam, &q, &v), &force(&exact, &q, &v)));
                let (k, expected) = (stiffness(&beam, &q, &v), stiffness(&exact, &q, &v));
                worst[1] = worst[1].max(difference(&k, &expected));
            }
        }
    }
    println!(
        "force and tangent against the differentiated energy: {}",
        shown(&worst)
    );
    assert!(worst[0] < 1e-12 && worst[1] < 1e-12, "{worst:?}");
}

#[test]
fn the_skew_part_of_the_tangent_is_half_the_moments() {
    let mut random = Random::new(7);
    for beam in beams() {
        let q = random_state(&mut random, 1.1);
        let (f, k) = (
            force(&beam, &q, &[0.0; 12]),
            stiffness(&beam, &q, &[0.0; 12]),
        );
        let mut expected = vec![0.0; 144];
        for n in [3, 9] {
            let hat = rotation::hat(&[f[n], f[n + 1], f[n + 2]]);
            for i in 0..3 {
                expected[(n + i) * 12 + n..][..3].copy_from_slice(&hat[i]);
            }
        }
        let scale = largest(&k);
        for i in 0..12 {
            for j in 0..12 {
                let skew = k[i * 12 + j] - k[j * 12 + i];
                assert!((skew - expected[i * 12 + j]).abs() < 1e-13 * scale);
            }
        }
    }
}

#[test]
fn damping_takes_power_and_leaves_rigid_motion_alone() {
    let mut random = Random::new(8);
    for beam in beams() {
        let material = beam.with_damping(Damping::new(0.0, 0.02).unwrap());
        let both = beam.with_damping(Damping::new(0.7, 0.02).unwrap());
        for angle in [0.0, 0.03, 0.6, 1.2] {
            let q = random_state(&mut random, angle);
            let v = random.vector::<12>(2.0);
            let (worst_k, worst_c) = finite_differences(&both, &q, &v);
            assert!(
                worst_k < 1e-7 && worst_c < 1e-11,
                "{angle}: {worst_k:e} {worst_c:e}"
            );
            let mut lost = [0.0; 12];
            both.damping_force(&q, &v, &mut lost);
            assert!(lost.iter().zip(&v).map(|(f, v)| f * v).sum::<f64>() > 0.0);
            let elastic = force(&beam, &q, &v);
            let sum: Vec<f64> = elastic.iter().zip(&lost).map(|(a, b)| a + b).collect();
            assert!(difference(&force(&both, &q, &v), &sum) < 1e-13);
            material.damping_force(&q, &spinning(&q, random.vector(2.0)), &mut lost);
            assert!(largest(&lost) < 1e-10, "{}", largest(&lost));
        }
    }
}

/// Velocities of a rigid rotation about the origin with the spatial angular velocity `omega`, and a translation.
fn spinning(q: &[f64; 14], omega: [f64; 3]) -> [f64; 12] {
    let mut v = [0.0; 12];
    for n in 0..2 {
        let x = [q[7 * n], q[7 * n + 1], q[7 * n + 2]];
        let p = [q[7 * n + 3], q[7 * n + 4], q[7 * n + 5], q[7 * n + 6]];
        let (fast, spin) = (
            rotation::cross(&omega, &x),
            rotation::rotate_back(&p, &omega),
        );
        for k in 0..3 {
            v[6 * n + k] = fast[k] + 0.3;
            v[6 * n + 3 + k] = spin[k];
        }
    }
    v
}

#[test]
fn gyroscopic_moments_have_their_tangent() {
    let mut random = Random::new(9);
    let full = section([1000.0, 400.0, 300.0], [8.0, 10.0, 12.0]);
    let reference = random_state(&mut random, 0.7);
    let kinked = SpaceBeam::between(full, &reference, [0.3, -2.0, 1.0]).unwrap();
    for beam in [SpaceBeam::straight(full, 0.8).unwrap(), kinked] {
        let (q, v) = (random_state(&mut random, 0.4), random.vector::<12>(2.0));
        let (worst_k, worst_c) = finite_differences(&beam, &q, &v);
        assert!(worst_k < 1e-7 && worst_c < 1e-11, "{worst_k:e} {worst_c:e}");
        let exact = Differentiated(beam);
        assert!(difference(&force(&beam, &q, &v), &force(&exact, &q, &v)) < 1e-12);
        let (c, expected) = (tangents(&beam, &q, &v).1, tangents(&exact, &q, &v).1);
        assert!(difference(&c, &expected) < 1e-14);
        assert!(beam.has_velocity_forces() && !beam.is_damped());
        let power: f64 = force(&beam, &q, &v)
            .iter()
            .zip(force(&beam, &q, &[0.0; 12]))
            .zip(&v)
            .map(|((moving, still), v)| (moving - still) * v)
            .sum();
        assert!(power.abs() < 1e-10);
    }
}

#[test]
fn a_stress_free_shape_has_no_stress() {
    let mut random = Random::new(10);
    let reference = random_state(&mut random, 1.0);
    let section = elastic_section();
    let sections = [
        rotation::exp(&[0.2, 0.1, 0.4]),
        rotation::exp(&[-0.3, 0.2, 0.1]),
    ];
    for beam in [
        SpaceBeam::stress_free(section, &reference).unwrap(),
        SpaceBeam::stress_free_of_length(section, &reference, 5.0).unwrap(),
        SpaceBeam::with_sections(section, &reference, sections).unwrap(),
        SpaceBeam::between(section, &reference, [0.0, 0.0, 1.0]).unwrap(),
    ] {
        assert!(largest(&fields(&beam, &reference)) < 1e-11);
    }
    let parallel = std::array::from_fn(|i| reference[7 + i] - reference[i]);
    let error = SpaceBeam::between(section, &reference, parallel).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("give a direction across the beam")
    );
    let mut long = reference;
    long[3] *= 2.0;
    assert!(SpaceBeam::stress_free(section, &long).is_err());
    let far = random_state(&mut random, 3.05);
    assert!(
        SpaceBeam::stress_free(section, &far)
            .unwrap_err()
            .to_string()
            .contains("more elements")
    );
}

#[test]
fn in_the_plane_it_is_the_plane_beam() {
    let plane = PlaneSection {
        ea: 1000.0,
        ga: 400.0,
        ei: 12.0,
        rho_a: 2.0,
        rho_i: 0.3,
    };
    let flat = PlaneBeam::new(plane, 0.8, [1.0, 0.02, 0.3]).unwrap();
    let space = SpaceBeam::new(elastic_section(), 0.8, [1.0, 0.02, 0.0], [0.0, 0.0, 0.3]).unwrap();
    let mut random = Random::new(11);
    for mass_matrix in [MassMatrix::Consistent, MassMatrix::Lumped] {
        let q = random.vector::<6>(1.2);
        let lifted: Vec<f64> = [0, 3]
            .into_iter()
            .flat_map(|n| {
                let p = rotation::exp(&[0.0, 0.0, q[n + 2]]);
                [q[n], q[n + 1], 0.0, p[0], p[1], p[2], p[3]]
            })
            .collect();
        let pick = [0, 1, 5, 6, 7, 11];
        let (f, k) = (
            force(&space, &lifted, &[0.0; 12]),
            stiffness(&space, &lifted, &[0.0; 12]),
        );
        let m = mass(&space.with_mass(mass_matrix));
        let f: Vec<f64> = pick.iter().map(|&i| f[i]).collect();
        let rows = |a: &[f64]| -> Vec<f64> {
            pick.iter()
                .flat_map(|&i| pick.map(|j| a[i * 12 + j]))
                .collect()
        };
        assert!(difference(&f, &force(&flat, &q, &[0.0; 6])) < 1e-13);
        assert!(difference(&rows(&k), &stiffness(&flat, &q, &[0.0; 6])) < 1e-13);
        let expected = mass(&flat.with_mass(mass_matrix));
        for i in [0, 1, 3, 4] {
            for j in [0, 1, 3, 4] {
                assert!((rows(&m)[i * 6 + j] - expected[i * 6 + j]).abs() < 1e-15);
            }
        }
    }
    println!("plane and space agree: b3.equals_2d");
}
