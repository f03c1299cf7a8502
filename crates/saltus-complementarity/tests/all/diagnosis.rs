//! What is said of problems that have no solution, that are only just feasible, and that are well posed.

use crate::support::{Random, planted};
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, Limits, canonical_reaction, infeasibility,
    one_contact_solutions, solve, unsolvable_contact,
};
use saltus_complementarity::{BlockMatrix, Status};
use saltus_linear::dot;

/// A unit mass between two walls that face each other; normal velocities `q`, nothing tangential.
fn between_walls(q: [f64; 2]) -> FrictionContact {
    let pairs = [(0, 0, 1.0), (0, 3, -1.0), (3, 0, -1.0), (3, 3, 1.0)];
    let tangents = (1..3).flat_map(|k| [(k, k), (k, 3 + k), (3 + k, k), (3 + k, 3 + k)]);
    let entries = pairs.into_iter().chain(tangents.map(|(i, j)| (i, j, 1.0)));
    let w = BlockMatrix::from_triplets(3, 2, entries);
    let q = vec![q[0], 0.2, 0.0, q[1], 0.2, 0.0];
    FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap()
}

/// The normal velocity is given, one tangential velocity too: nothing can put them into the dual cone, and no reaction is
/// needed.
fn passing_by() -> FrictionContact {
    let w = BlockMatrix::from_triplets(3, 1, [(1, 1, 1.0)]);
    FrictionContact::new(w, vec![0.1, 0.3, 1.0], vec![0.5], Vec::new()).unwrap()
}

/// `Wᵀ p`, relative to the largest entry of `W` and of `p`.
fn image(p: &FrictionContact, x: &[f64]) -> f64 {
    let mut y = vec![0.0; x.len()];
    let mut largest = 0.0_f64;
    for (i, j, v) in p.delassus().triplets() {
        y[j] += v * x[i];
        largest = largest.max(v.abs());
    }
    let size = |x: &[f64]| x.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    size(&y) / (largest * size(x))
}

#[test]
fn walls_that_close_in_are_infeasible() {
    let p = between_walls([-1.0, -1.0]);
    let certificate = infeasibility(&p).unwrap();
    let normals = [certificate[0], 0.0, 0.0, certificate[1], 0.0, 0.0];
    assert!(certificate.iter().all(|v| *v > 0.0));
    assert!(image(&p, &normals) < 1e-14 && dot(&normals, p.free_velocity()) < 0.0);
}

/// Among any number of contacts those that squeeze something are found, if they belong to a small part.
#[test]
fn what_is_squeezed_is_found_in_a_crowd() {
    let (good, bad) = (between_walls([0.5, 0.6]), between_walls([-1.0, -1.0]));
    let (mut entries, mut q) = (Vec::new(), Vec::new());
    for k in 0..100 {
        let p = if k == 70 { &bad } else { &good };
        let shift = |(i, j, v): (usize, usize, f64)| (6 * k + i, 6 * k + j, v);
        entries.extend(p.delassus().triplets().map(shift));
        q.extend_from_slice(p.free_velocity());
    }
    let w = BlockMatrix::from_triplets(3, 200, entries);
    let p = FrictionContact::new(w, q, vec![0.5; 200], Vec::new()).unwrap();
    let proof = infeasibility(&p).expect("two contacts squeeze a mass");
    let at: Vec<usize> = (0..200).filter(|&i| proof[i] != 0.0).collect();
    assert_eq!(at, [140, 141]);
    let mut r = vec![0.0; 600];
    let limits = Limits {
        max_work: 1e7,
        ..Limits::default()
    };
    let end = solve(&p, FrictionSolver::Auto, limits, &mut r);
    assert_eq!(end.outcome.status, Status::Infeasible);
}

/// Walls that keep their distance, and a contact that passes by: Slater's condition fails, a solution exists, and no
/// solver says that there is none.
#[test]
fn what_is_only_just_feasible_is_not_infeasible() {
    for (name, p) in [
        ("walls", between_walls([-1.0, 1.0])),
        ("passing by", passing_by()),
    ] {
        assert!(infeasibility(&p).is_none(), "{name}");
        for (method, solver) in FrictionSolver::ALL {
            for max_work in [1e2, 1e7] {
                let mut r = vec![0.0; p.free_velocity().len()];
                let limits = Limits {
                    max_work,
                    ..Limits::default()
                };
                let end = solve(&p, solver, limits, &mut r);
                assert_ne!(end.outcome.status, Status::Infeasible, "{name}, {method}");
                assert!(r.iter().all(|v| v.is_finite()), "{name}, {method}");
            }
        }
        let mut r = vec![0.0; p.free_velocity().len()];
        let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
        assert!(end.outcome.is_solved(), "{name}: {end:?}");
    }
}

/// Problems made from a solution, most of them with singular `W`: none is called infeasible, whatever the limits.
#[test]
fn what_has_a_solution_is_never_infeasible() {
    let mut random = Random::new(103);
    for case in 0..300 {
        let (d, n) = ([2, 3, 5][case % 3], 1 + random.below(8));
        let rank = 1 + random.below(n + 2);
        let (p, _) = planted(&mut random, d, n, rank, case % 2 == 0);
        assert!(infeasibility(&p).is_none(), "case {case}");
        assert!(unsolvable_contact(&p).is_none(), "case {case}");
        let (name, solver) = FrictionSolver::ALL[case % FrictionSolver::ALL.len()];
        let limits = Limits {
            max_work: 1e4,
            max_iterations: 3,
            ..Limits::default()
        };
        let mut r = vec![0.0; d * n];
        let end = solve(&p, solver, limits, &mut r);
        assert_ne!(
            end.outcome.status,
            Status::Infeasible,
            "case {case}, {name}"
        );
    }
}

/// Singular, zero, unsymmetric and indefinite operators, no friction, tiny and huge numbers: a word for each, nothing that is
/// not finite, and the canonical reaction never costs the solution.
#[test]
fn fuzzed_problems_are_diagnosed() {
    let mut random = Random::new(109);
    let (mut refuted, mut replaced) = (0, 0);
    for case in 0..3000 {
        let (n, d) = (random.below(5), [2, 3, 5][case % 3]);
        let size = n * d;
        let scale = 10.0_f64.powi(random.below(13) as i32 - 6);
        let rank = random.below(size + 2);
        let h: Vec<Vec<f64>> = (0..rank)
            .map(|_| (0..size).map(|_| random.signed()).collect())
            .collect();
        let skew = [0.0, 0.0, 0.5][random.below(3)];
        let mut entries = Vec::new();
        for i in 0..size {
            for j in 0..size {
                let v: f64 = h.iter().map(|r| r[i] * r[j]).sum();
                entries.push((i, j, scale * (v + skew * random.signed())));
            }
        }
        let tiny = [1.0, 1.0, 1e-17, 0.0][random.below(4)];
        let q = (0..size).map(|_| tiny * random.signed()).collect();
        let coefficient = |random: &mut Random| 2.0 * random.unit() * random.below(3).min(1) as f64;
        let mu = (0..n).map(|_| coefficient(&mut random)).collect();
        let rolling = (0..n)
            .map(|_| coefficient(&mut random))
            .filter(|_| d == 5)
            .collect();
        let w = BlockMatrix::from_triplets(d, n, entries);
        let p = FrictionContact::new(w, q, mu, rolling).unwrap();
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        let proof = infeasibility(&p);
        assert!(proof.as_deref().is_none_or(finite), "case {case}");
        refuted += usize::from(proof.is_some() || unsolvable_contact(&p).is_some());
        let limits = Limits {
            max_work: 1e6,
            max_iterations: 2000,
            ..Limits::default()
        };
        let mut r = vec![0.0; size];
        if solve(&p, FrictionSolver::Auto, limits, &mut r)
            .outcome
            .is_solved()
        {
            replaced += usize::from(canonical_reaction(&p, 1e-8, &mut r));
            assert!(
                p.residual(&r).eta <= 1.001e-8,
                "case {case}: {:?}",
                p.residual(&r)
            );
        }
    }
    println!("{refuted} refuted, {replaced} canonical");
    assert!(refuted > 100 && replaced > 100);
}

/// One contact with any `W`: all its solutions are known, and where there are none `auto` proves it soon.
#[test]
fn one_contact_without_a_solution_takes_little_work() {
    let mut random = Random::new(19);
    let mut counts = [0; 3];
    for case in 0..400 {
        let d = [2, 3][case % 2];
        let entries: Vec<_> = (0..d * d)
            .map(|k| (k / d, k % d, random.signed()))
            .collect();
        let w = BlockMatrix::from_triplets(d, 1, entries);
        let q: Vec<f64> = (0..d)
            .map(|k| {
                if k == 0 {
                    -random.unit()
                } else {
                    random.signed()
                }
            })
            .collect();
        let p = FrictionContact::new(w, q, vec![random.unit()], Vec::new()).unwrap();
        let known = one_contact_solutions(&p).unwrap();
        let end = solve(
            &p,
            FrictionSolver::Auto,
            Limits::default(),
            &mut vec![0.0; d],
        );
        let place = format!("{case} {end:?} {known:?}");
        assert!(end.work < 1e7, "{place}");
        match end.outcome.status {
            Status::Solved => counts[0] += 1,
            Status::Infeasible => {
                assert!(known.is_empty(), "{place}");
                counts[if infeasibility(&p).is_some() { 1 } else { 2 }] += 1;
            }
            _ => panic!("{place}"),
        }
        if !known.is_empty() {
            assert!(end.outcome.is_solved(), "{place}");
        }
    }
    println!("solved, infeasible by multipliers, by all solutions: {counts:?}");
    assert!(counts[0] > 20 && counts[2] > 20, "{counts:?}");
}

/// Two rigid jaws close on a chain of `n` balls: each ball may move aside from the next, but none out of the way.
fn jaws(n: usize) -> FrictionContact {
    let mut entries = Vec::new();
    for i in 0..n {
        // Ball i is between contacts i and i + 1; the jaws, beyond the ends, do not yield.
        for (j, v) in [(i, 2.0), (i + 1, -1.0), (i.wrapping_sub(1), -1.0)] {
            let end = i == 0 || i == n - 1;
            let v = if end && j == i { 1.0 } else { v };
            if j < n {
                entries.push((3 * i, 3 * j, v));
            }
        }
        entries.push((3 * i + 1, 3 * i + 1, 1.0));
        entries.push((3 * i + 2, 3 * i + 2, 1.0));
    }
    let w = BlockMatrix::from_triplets(3, n, entries);
    let q = (0..n)
        .flat_map(|i| [if i == 0 { -1.0 } else { 0.0 }, 0.1, 0.0])
        .collect();
    FrictionContact::new(w, q, vec![0.3; n], Vec::new()).unwrap()
}

/// The proof is looked for in time, by every method, and in larger scenes.
#[test]
fn squeezing_is_proven_before_the_work_is_spent() {
    for n in [2, 20, 120] {
        let p = jaws(n);
        let proof = infeasibility(&p).expect("a proof");
        assert!(proof.iter().all(|p| (p - 1.0).abs() < 1e-9), "{proof:?}");
        for (name, solver) in FrictionSolver::ALL {
            if n > 20 && solver != FrictionSolver::Auto {
                continue;
            }
            let mut r = vec![0.0; 3 * n];
            let end = solve(&p, solver, Limits::default(), &mut r);
            assert_eq!(
                end.outcome.status,
                Status::Infeasible,
                "{name} {n}: {end:?}"
            );
            assert!(n > 2 || end.outcome.iterations < 2000, "{name}: {end:?}");
            assert!(
                end.work < 0.2 * Limits::default().max_work,
                "{name} {n}: {end:?}"
            );
        }
    }
}

/// A heavy body on a light one nearly squeezes it; nothing is proven that the rounding of the data may have made.
#[test]
fn a_heavy_body_on_a_light_one_is_not_infeasible() {
    for ratio in [1e4_f64, 1e6, 5e8, 1e9, 1e10, 1e12] {
        let mut entries = Vec::new();
        for k in 0..3 {
            let pairs = [(k, k, 1.0), (3 + k, 3 + k, 1.0 + 1.0 / ratio)];
            entries.extend(
                pairs
                    .into_iter()
                    .chain([(k, 3 + k, -1.0), (3 + k, k, -1.0)]),
            );
        }
        let w = BlockMatrix::from_triplets(3, 2, entries);
        // Both fall with 0.01 m/s.
        let q = vec![-0.01, 0.0, 0.0, 0.0, 0.0, 0.0];
        let p = FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap();
        assert_eq!(infeasibility(&p), None, "{ratio:e}");
        let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut [0.0; 6]);
        // Beyond 1e7 the weight of the upper body hides the velocity of the lower one in its rounding.
        let status = end.outcome.status;
        assert_ne!(status, Status::Infeasible, "{ratio:e} {end:?}");
        assert!(ratio > 1e7 || status == Status::Solved, "{ratio:e} {end:?}");
    }
}

/// Numbers beyond 1e±60 are refused, and nothing is tried.
#[test]
fn numbers_beyond_the_range_are_refused() {
    for (w, q) in [(1e70, 1.0), (1e-70, 1.0), (1.0, 1e-70), (1.0, 1e70)] {
        let w = BlockMatrix::from_triplets(2, 1, [(0, 0, w), (1, 1, w)]);
        let p = FrictionContact::new(w, vec![-q, q], vec![0.5], Vec::new()).unwrap();
        for (name, solver) in FrictionSolver::ALL {
            let mut r = [1.0; 2];
            let end = solve(&p, solver, Limits::default(), &mut r);
            assert_eq!(end.outcome.status, Status::NotFinite, "{name}");
            assert_eq!((end.outcome.iterations, r), (0, [0.0; 2]), "{name}");
        }
    }
}

/// A disc of radius 1 in the corner of floor and wall, with so much friction that it cannot leave as fast as restitution asks: none
/// of the 16 combinations of modes obeys both laws, and all solvers of small planar problems say so.
#[test]
fn a_disc_that_friction_keeps_in_a_corner_is_infeasible() {
    // Rows n and t of the floor, then of the wall on the right, for the velocities (x, y, φ); inertia ½.
    let rows = [
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 1.0],
        [-1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0],
    ];
    let inverse = [1.0, 1.0, 2.0];
    let entry =
        |i: usize, j: usize| -> f64 { (0..3).map(|k| rows[i][k] * inverse[k] * rows[j][k]).sum() };
    let entries = (0..16).map(|k| (k / 4, k % 4, entry(k / 4, k % 4)));
    let w = BlockMatrix::from_triplets(2, 2, entries);
    let q = vec![-5.478, 0.483, -0.198, -2.674];
    let p = FrictionContact::new(w, q, vec![1.2; 2], Vec::new()).unwrap();
    let mut r = vec![0.0; 4];
    let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
    assert_eq!(end.outcome.status, Status::Infeasible, "{end:?}");
    // A mass of 1e11 kg on one of 1 kg is ill-conditioned, and no reason for a proof.
    let delta = 1e-11;
    let entries = [(0, 0, 1.0), (0, 2, -1.0), (2, 0, -1.0), (2, 2, 1.0 + delta)];
    let tangents = [(1, 1, 1.0), (1, 3, -1.0), (3, 1, -1.0), (3, 3, 1.0 + delta)];
    let w = BlockMatrix::from_triplets(2, 2, entries.into_iter().chain(tangents));
    let q = vec![-0.00981, 0.0, 0.0, 2.0];
    let p = FrictionContact::new(w, q, vec![0.3; 2], Vec::new()).unwrap();
    let mut r = vec![0.0; 4];
    let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
    assert_ne!(end.outcome.status, Status::Infeasible, "{end:?}");
}
