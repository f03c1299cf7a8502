//! Every trajectory there is: which are compared, and why the others are not.

use crate::shared::shared;
use std::collections::BTreeMap;

/// Compared in this test.
const OURS: &[&str] = &[
    "ball-chain-mono-lzb",
    "ball-combined-projection",
    "ball-direct-projection",
    "ball-ed",
    "ball-ed-initial-impact",
    "bead-column-direct-projection",
    "ball-d1minus",
    "ball-moreau-jean",
    "ball-moving-plane",
    "ball-oblique-ground",
    "ball-schatzman-paoli",
    "bead-column-ed-lzb",
    "bead-column-moreau-jean",
    "box-on-plane",
    "disk-friction",
    "disks-two-frictionless",
    "double-pendulum",
    "friction-oscillator",
    "impact-oscillator",
    "pendulum-ed-lsodar",
    "impacting-bar",
    "linear-oscillator-ed",
    "ne-ball",
    "ne-free-beam",
    "ne-knee",
    "prismatic-free-fall",
    "rocking-block-ed-lzb",
    "two-balls",
];

const ONE_ITERATION: &str = "rigid bodies with joints, one Newton iteration per step with the constraints at the predicted position";

/// What they need that the scheme does not do.
const OTHERS: &[(&str, &str)] = &[
    ("ball-compliant-floor", "compliant contact law"),
    (
        "impacting-stick",
        "one linear solve per step with the directions at its start, and positions by the θ-rule",
    ),
    ("ne-ball-rolling", "Coulomb and rolling friction"),
    ("ne-knee-springs", ONE_ITERATION),
    ("ne-three-beams", ONE_ITERATION),
    ("ne-three-beams-driven", ONE_ITERATION),
    (
        "slider-crank-direct-projection",
        "its Newton loop stops at 1e-6 N·s after one to three iterations: a loop run to convergence differs by 1.5e-9 turns after four steps",
    ),
];

#[test]
fn every_trajectory_is_compared_or_set_aside_with_a_reason() {
    let Some(data) = shared("data/siconos") else {
        return;
    };
    let mut census: BTreeMap<&str, String> = BTreeMap::new();
    for case in OURS {
        census.insert(case, "compared".into());
    }
    for (case, reason) in OTHERS {
        census.insert(case, format!("not compared: {reason}"));
    }
    for (case, verdict) in &census {
        println!("{case}: {verdict}");
    }
    let mut found: Vec<String> = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, census.keys().copied().collect::<Vec<_>>());
    assert_eq!(census.len(), OURS.len() + OTHERS.len());
    let tests = [
        include_str!("balls.rs"),
        include_str!("bar.rs"),
        include_str!("bodies.rs"),
        include_str!("events.rs"),
        include_str!("oscillator.rs"),
        include_str!("pendulum.rs"),
        include_str!("projections.rs"),
    ]
    .concat();
    for case in OURS {
        let test = format!("#[test]\nfn {}()", case.replace('-', "_"));
        assert!(tests.contains(&test), "{case} has no test");
    }
    println!(
        "{} trajectories: {} compared, {} not",
        found.len(),
        OURS.len(),
        OTHERS.len()
    );
}
