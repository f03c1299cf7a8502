//! Time of the force and of force and tangent of line elements.
#![allow(clippy::unwrap_used)]

use saltus_mechanics::flexible::{
    Damping, Differentiated, Element, LinearBeam, PlaneBeam, PlaneSection, Rod, SpaceBeam,
    SpaceSection,
};
use saltus_mechanics::rotation;
use std::hint::black_box;
use std::time::Instant;

const STATES: usize = 256;

/// Deterministic numbers in [-1, 1).
fn number(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Nanoseconds of `run` per state, the best of several rounds.
fn best(rounds: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        for k in 0..STATES {
            run(k);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / STATES as f64
}

fn measure<E: Element>(name: &str, element: &E, rounds: usize) {
    let mut seed = 1;
    let mut states = Vec::new();
    for _ in 0..STATES {
        let mut q: Vec<f64> = (0..E::NQ).map(|_| number(&mut seed)).collect();
        if E::NODE.positions() == 7 {
            for q in q.chunks_mut(7) {
                let turn = [0; 3].map(|_| 0.5 * number(&mut seed));
                q[3..].copy_from_slice(&rotation::exp(&turn));
            }
        }
        let v: Vec<f64> = (0..E::NV).map(|_| number(&mut seed)).collect();
        states.push((q, v));
    }
    let mut f = vec![0.0; E::NV];
    let (mut k, mut c) = (vec![0.0; E::NV * E::NV], vec![0.0; E::NV * E::NV]);
    let force = best(rounds, |s| {
        let (q, v) = &states[s];
        element.force(black_box(q), black_box(v), &mut f);
        black_box(&mut f);
    });
    let tangent = best(rounds, |s| {
        let (q, v) = &states[s];
        element.tangent(black_box(q), black_box(v), &mut k, &mut c);
        black_box((&mut k, &mut c));
    });
    println!("{name:40} force {force:9.1} ns   tangent {tangent:9.1} ns");
}

fn main() {
    let plane = PlaneSection {
        ea: 1e3,
        ga: 4e2,
        ei: 10.0,
        rho_a: 2.0,
        rho_i: 0.3,
    };
    let space = SpaceSection {
        ea: 1e3,
        ga: [4e2, 3e2],
        gj: 8.0,
        ei: [10.0, 12.0],
        rho_a: 2.0,
        rho_i: [0.4, 0.2, 0.3],
    };
    let damping = Damping::new(0.0, 0.01).unwrap();
    let rounds = 2000;
    measure("rod", &Rod::new(900.0, 1.0, 0.05).unwrap(), rounds);
    let reference = [0.0, 0.0, 0.0, 0.8, 0.3, 0.0];
    measure(
        "linear frame",
        &LinearBeam::new(900.0, 10.0, 1.0, &reference).unwrap(),
        rounds,
    );
    let beam = PlaneBeam::straight(plane, 0.8).unwrap();
    measure("plane beam", &beam, rounds);
    measure("plane beam, damped", &beam.with_damping(damping), rounds);
    measure("plane beam, differentiated", &Differentiated(beam), 20);
    let beam = SpaceBeam::straight(space, 0.8).unwrap();
    measure("space beam", &beam, rounds);
    measure("space beam, damped", &beam.with_damping(damping), rounds);
    let p = rotation::exp(&[0.3, -0.2, 0.4]);
    let nodes = [
        0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.4, 0.3, p[0], p[1], p[2], p[3],
    ];
    let turned = SpaceBeam::between(space, &nodes, [0.0, 0.0, 1.0]).unwrap();
    measure("space beam, turned sections", &turned, rounds);
    measure("space beam, differentiated", &Differentiated(beam), 20);
}
