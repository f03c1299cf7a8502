//! Rigid scenes that no solver was tuned on: `auto` gives none of them up.

use crate::support::scenes::{scene, wall};
use saltus_complementarity::Status;
use saltus_complementarity::friction::{
    FrictionContact, FrictionOutcome, FrictionSolver, Limits, solve,
};
use std::collections::BTreeMap;
use std::time::Instant;

fn solved_by(p: &FrictionContact, name: &str, limits: Limits<'_>) -> FrictionOutcome {
    let mut r = vec![0.0; p.free_velocity().len()];
    let end = solve(p, FrictionSolver::named(name).unwrap(), limits, &mut r);
    if end.outcome.is_solved() {
        assert!(p.residual(&r).eta <= limits.tolerance, "{name}: {end:?}");
    }
    end
}

/// Solves the scenes of `seeds`; returns those that are not, each with its word.
fn given_up(seeds: std::ops::Range<u64>) -> Vec<(Status, String)> {
    let mut counts: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let mut left = Vec::new();
    for seed in seeds {
        let (kind, p) = scene(seed);
        let end = solved_by(&p, "auto", Limits::default());
        let count = counts.entry(kind).or_default();
        count[0] += 1;
        if !end.outcome.is_solved() {
            count[1] += 1;
            let (status, n) = (end.outcome.status, p.contacts());
            let text = format!(
                "{kind} {seed}: eta {:.1e}, {n} contacts of dimension {}, work {:.1e}",
                end.residual.eta,
                p.dimension(),
                end.work
            );
            left.push((status, text));
        }
    }
    println!("scenes and those given up: {counts:?}");
    left
}

/// A wall of bodies a million times as heavy as others takes nearly all the work that is allowed.
fn check(left: &[(Status, String)]) {
    let given_up = left.iter().any(|(s, _)| *s != Status::IterationLimit);
    assert!(!given_up && left.len() <= 1, "{left:#?}");
}

#[test]
fn auto_gives_up_no_scene() {
    check(&given_up(0..300));
}

#[test]
#[ignore = "takes a minute"]
fn auto_gives_up_none_of_many_scenes() {
    check(&given_up(10_000..12_000));
}

/// With little work the word is that of the limit: more would help.
#[test]
fn auto_stops_at_its_limit_only() {
    for seed in 0..100 {
        let limits = Limits {
            tolerance: 1e-12,
            max_work: 3e5,
            ..Limits::default()
        };
        let status = solved_by(&scene(seed).1, "auto", limits).outcome.status;
        let fair = matches!(status, Status::Solved | Status::IterationLimit);
        assert!(fair, "{seed}: {status:?}");
    }
}

#[test]
#[ignore = "measures time"]
fn auto_beside_its_parts() {
    const PARTS: [&str; 5] = [
        "nsgs",
        "projected-gradient",
        "admm",
        "proximal-newton",
        "proximal-newton-natural",
    ];
    let mut problems: Vec<(String, FrictionContact)> = (20_000..20_400)
        .map(|seed| (format!("{} {seed}", scene(seed).0), scene(seed).1))
        .filter(|(_, p)| p.contacts() >= 20)
        .collect();
    for (rows, columns) in [(5, 8), (10, 12)] {
        for sliding in [false, true] {
            let name = format!("wall {rows} x {columns} {sliding}");
            problems.push((name, wall(rows, columns, sliding)));
        }
    }
    let (mut slower, mut logs) = (0, Vec::new());
    for (name, p) in &problems {
        let time = |solver: &str| {
            let limits = Limits {
                max_work: 2e9,
                ..Limits::default()
            };
            let start = Instant::now();
            let end = solved_by(p, solver, limits);
            let time = start.elapsed().as_secs_f64();
            if end.outcome.is_solved() {
                time
            } else {
                f64::INFINITY
            }
        };
        let auto = time("auto").min(time("auto"));
        let parts = PARTS.map(|part| (time(part), part));
        let best = parts
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        slower += usize::from(auto > 2.0 * best.0);
        if auto.is_finite() && best.0.is_finite() {
            logs.push((auto / best.0).ln());
        }
        if auto > 2.0 * best.0 || p.contacts() > 100 {
            let n = p.contacts();
            println!(
                "{name}, {n} contacts: auto {:.2} ms, {} {:.2} ms",
                1e3 * auto,
                best.1,
                1e3 * best.0
            );
        }
    }
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    println!(
        "{slower} of {} more than twice as slow as the best part; mean ratio {mean:.2}",
        logs.len()
    );
}
