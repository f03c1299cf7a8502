//! Frictional problems in units far from 1, and with coefficients far from 1: the same answer in other numbers, or a word for why not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::friction::{
    Feasibility, FrictionContact, FrictionSolver, GlobalFriction, Limits, feasibility,
    infeasibility, solve, solve_convex, solve_global,
};
use saltus_complementarity::{BlockMatrix, SparseMatrix, Status};
use support::{Random, planted};

fn limits() -> Limits<'static> {
    Limits {
        max_iterations: 20_000,
        max_work: 1e8,
        ..Limits::default()
    }
}

fn in_units(p: &FrictionContact, operator: f64, velocity: f64) -> FrictionContact {
    let entries: Vec<_> = p
        .delassus()
        .triplets()
        .map(|(i, j, v)| (i, j, v * operator))
        .collect();
    let w = BlockMatrix::from_triplets(p.dimension(), p.contacts(), entries);
    let q = p.free_velocity().iter().map(|v| v * velocity).collect();
    FrictionContact::new(w, q, p.friction().to_vec(), p.rolling().to_vec()).unwrap()
}

#[test]
fn units_far_from_one_change_nothing() {
    let mut random = Random::new(29);
    for d in [2, 3, 5] {
        let (p, _) = planted(&mut random, d, 3, 3 * d, true);
        assert!(infeasibility(&p).is_none(), "{d}");
        for (name, solver) in FrictionSolver::ALL {
            let mut r = vec![0.0; p.free_velocity().len()];
            let end = solve(&p, solver, limits(), &mut r);
            for (a, b) in [
                (150, 0),
                (-150, 0),
                (0, 150),
                (0, -150),
                (200, 150),
                (-200, -150),
                (0, 290),
                (290, 290),
                (-290, -290),
            ] {
                let (a, b) = (f64::powi(10.0, a), f64::powi(10.0, b));
                let far = in_units(&p, a, b);
                let mut x = vec![0.0; r.len()];
                let other = solve(&far, solver, limits(), &mut x);
                assert_eq!(
                    other.outcome.status, end.outcome.status,
                    "{name} {d} {a:e} {b:e}: {other:?}"
                );
                assert!(x.iter().all(|v| v.is_finite()), "{name} {d} {a:e} {b:e}");
                if end.outcome.is_solved() {
                    let (eta, back) = (
                        far.residual(&x).eta,
                        p.residual(&x.iter().map(|x| x / b * a).collect::<Vec<_>>())
                            .eta,
                    );
                    assert!(
                        eta <= 1.001e-8 && back <= 1.001e-8,
                        "{name} {d} {a:e} {b:e}: {eta} {back}"
                    );
                }
                assert!(infeasibility(&far).is_none(), "{d} {a:e} {b:e}");
            }
        }
    }
}

#[test]
fn squeezing_is_proven_in_all_units() {
    let entries = [(0, 0, 1.0), (0, 3, -1.0), (3, 0, -1.0), (3, 3, 1.0)];
    let w = BlockMatrix::from_triplets(3, 2, entries);
    let q = vec![-1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
    let p = FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap();
    for (a, b) in [
        (1.0, 1.0),
        (1e200, 1.0),
        (1e-200, 1.0),
        (1.0, 1e200),
        (1e-150, 1e-200),
    ] {
        let far = in_units(&p, a, b);
        assert!(infeasibility(&far).is_some(), "{a:e} {b:e}");
        let end = solve(&far, FrictionSolver::Auto, limits(), &mut [0.0; 6]);
        assert_eq!(end.outcome.status, Status::Infeasible, "{a:e} {b:e}");
    }
}

/// Contacts whose inertias differ by more than one unit can hold together.
#[test]
fn inertias_far_apart_are_solved_together() {
    let scale = |k: usize| if k < 3 { 1e-200 } else { 1e200 };
    let entries = (0..6).map(|k| (k, k, scale(k)));
    let w = BlockMatrix::from_triplets(3, 2, entries);
    let q = vec![-1.0, 0.1, 0.0, -1.0, 0.1, 0.0];
    let p = FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap();
    for (name, solver) in FrictionSolver::ALL {
        let mut r = [0.0; 6];
        let end = solve(&p, solver, limits(), &mut r);
        assert_eq!(end.outcome.status, Status::Solved, "{name}");
        for (k, sticking) in [1.0, -0.1, 0.0, 1.0, -0.1, 0.0].into_iter().enumerate() {
            let close = (r[k] * scale(k) - sticking).abs() < 1e-7;
            assert!(close, "{name} {r:?}");
        }
    }
}

/// A mass on the floor with more and more friction: it sticks, whatever the method; where one does not get there, it says so.
#[test]
fn friction_without_bound_is_sticking() {
    for d in [2, 3] {
        let entries =
            (0..d).flat_map(|i| (0..d).map(move |j| (i, j, if i == j { 1.0 } else { 0.2 })));
        let w = BlockMatrix::from_triplets(d, 1, entries);
        let q: Vec<f64> = [-0.1, 1.0, 0.3][..d].to_vec();
        for mu in [1e3, 1e8, 1e12, 1e100, 1e200, 1e300] {
            let p = FrictionContact::new(w.clone(), q.clone(), vec![mu], Vec::new()).unwrap();
            for (name, solver) in FrictionSolver::ALL {
                let mut r = vec![0.0; d];
                let end = solve(&p, solver, limits(), &mut r);
                println!(
                    "{name} {d} {mu:e} {:?} {:e} {r:?}",
                    end.outcome.status, end.outcome.residual
                );
                assert!(r.iter().all(|r| r.is_finite()), "{name} {d} {mu:e} {end:?}");
                assert_ne!(end.outcome.status, Status::Infeasible, "{name} {d} {mu:e}");
                if end.outcome.is_solved() {
                    let mut u = vec![0.0; d];
                    p.velocity(&r, &mut u);
                    let open = r.iter().all(|r| *r == 0.0);
                    assert!(
                        !open && u.iter().all(|u| u.abs() < 1e-7),
                        "{name} {d} {mu:e}: {r:?} {u:?}"
                    );
                }
            }
        }
    }
}

/// The global form, too, whatever its units: a mass that slides on the floor.
#[test]
fn the_global_form_is_solved_in_all_units() {
    let unit = |v: f64| SparseMatrix::from_triplets(3, 3, &[(0, 0, v), (1, 1, v), (2, 2, v)]);
    for (mass, speed) in [(1.0, 1.0), (1e150, 1e-150), (1e-150, 1.0), (1.0, 1e200)] {
        let f = [-0.1, 1.0, 0.0].map(|v| v * mass * speed).to_vec();
        let (w, mu) = (vec![0.0; 3], vec![0.3]);
        let p = GlobalFriction::new(3, unit(mass), unit(1.0), f, w, mu, Vec::new()).unwrap();
        for name in [
            "auto",
            "nsgs",
            "proximal-newton-bodies",
            "projected-gradient",
        ] {
            let mut r = [0.0; 3];
            let solver = FrictionSolver::named(name).unwrap();
            let end = solve_global(&p, solver, limits(), &mut r).unwrap();
            assert!(
                end.outcome.is_solved(),
                "{name} {mass:e} {speed:e}: {end:?}"
            );
            let scaled = r.map(|r| r / mass / speed);
            let expected = [0.1, -0.03, 0.0];
            let close = scaled
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-7);
            assert!(close, "{name} {mass:e} {speed:e}: {scaled:?}");
        }
    }
}

/// The same scene in other units of length, mass and time.
fn in_other_units(p: &FrictionContact, length: f64, mass: f64, time: f64) -> FrictionContact {
    let d = p.dimension();
    // Rotations are per length.
    let factor = |k: usize| if k % d < 3 { 1.0 } else { length };
    let entries = p.delassus().triplets();
    let entries = entries.map(|(i, j, v)| (i, j, v / mass / factor(i) / factor(j)));
    let w = BlockMatrix::from_triplets(d, p.contacts(), entries);
    let q = p.free_velocity().iter().enumerate();
    let q = q.map(|(k, q)| q * length / time / factor(k)).collect();
    let rolling = p.rolling().iter().map(|m| m * length).collect();
    FrictionContact::new(w, q, p.friction().to_vec(), rolling).unwrap()
}

/// Slater's condition, proofs and convex problems are the same in all units.
#[test]
fn units_change_no_diagnosis() {
    let mut random = Random::new(23);
    let mut counts = [0; 4];
    for case in 0..90 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(4);
        let rank = 1 + random.below(if case % 2 == 0 { d * n } else { 2 });
        let (planted, _) = planted(&mut random, d, n, rank, false);
        // Some of them without a solution.
        let q = planted.free_velocity().iter();
        let closing = |k: usize| if k.is_multiple_of(d) { -1.0 } else { 1.0 };
        let q = q.enumerate().map(|(k, q)| match case % 2 {
            0 => *q,
            _ => closing(k) * random.unit(),
        });
        let (mu, rolling) = (planted.friction().to_vec(), planted.rolling().to_vec());
        let w = planted.delassus().clone();
        let p = FrictionContact::new(w, q.collect(), mu, rolling).unwrap();
        let s: Vec<f64> = (0..n)
            .map(|_| random.unit() * random.below(2) as f64)
            .collect();
        let word = |p: &FrictionContact| match feasibility(p).unwrap() {
            Feasibility::Strict { .. } => 0,
            Feasibility::Open { .. } => 1,
            Feasibility::Infeasible { .. } => 2,
            _ => 3,
        };
        let convex = |p: &FrictionContact, speed: f64| {
            let s: Vec<f64> = s.iter().map(|s| s * speed).collect();
            let limits = Limits {
                max_work: 1e7,
                ..Limits::default()
            };
            solve_convex(p, &s, limits, &mut vec![0.0; d * n]).is_solved()
        };
        let expected = (word(&p), convex(&p, 1.0));
        counts[expected.0] += 1;
        for unit in [1e-12, 1e12] {
            for (length, mass, time) in [
                (unit, 1.0, 1.0),
                (1.0, unit, 1.0),
                (1.0, 1.0, unit),
                (unit, unit, unit),
                (unit, unit, 1.0 / unit),
                (unit, 1.0 / unit, 1.0 / unit),
            ] {
                let other = in_other_units(&p, length, mass, time);
                let place = format!("{case} {d}: {length:e} {mass:e} {time:e}");
                assert_eq!(word(&other), expected.0, "{place}");
                assert_eq!(infeasibility(&other).is_some(), expected.0 == 2, "{place}");
                assert_eq!(convex(&other, length / time), expected.1, "{place}");
            }
        }
    }
    println!("strict, open, infeasible, refuted: {counts:?}");
    assert!(counts[..3].iter().all(|c| *c > 5), "{counts:?}");
    // Nothing but the given velocities.
    let w = BlockMatrix::from_triplets(2, 1, [(0, 0, 1.0), (1, 1, 1.0)]);
    let p = FrictionContact::new(w, vec![0.0; 2], vec![0.5], Vec::new()).unwrap();
    for speed in [1e-200, 1e-30, 1e-12, 1.0, 1e12, 1e30, 1e200] {
        let mut r = [0.0; 2];
        let end = solve_convex(&p, &[-speed], Limits::default(), &mut r);
        assert!(
            end.is_solved() && (r[0] / speed - 1.0).abs() < 1e-7,
            "{speed:e} {end:?} {r:?}"
        );
    }
}
