//! Frictional problems with data of any size: inertias of contacts 10²⁸⁰ apart, velocities of any size, denormal numbers. The
//! solution is known, and what solves a problem in plain units solves it in these.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::friction::{
    Feasibility, FrictionContact, FrictionSolver, Limits, feasibility, infeasibility, solve,
    solve_convex,
};
use saltus_complementarity::{BlockMatrix, Product, Status};
use std::sync::Arc;
use support::far::{Pair, apart, exponents, limits, one_energy};
use support::{Random, planted};

fn report(failures: &[String], count: usize) {
    assert!(
        failures.is_empty(),
        "{} of {count} fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// One contact, by every method.
#[test]
fn one_contact_of_any_size_is_solved_by_all() {
    let mut random = Random::new(41);
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in 0..60 {
        let d = [2, 3, 5][case % 3];
        let plain = apart(&mut random, d, &[1]);
        let (g, b) = exponents(&mut random);
        let pair = Pair::new(plain, vec![g], vec![b]);
        for (name, solver) in FrictionSolver::ALL {
            count += 1;
            let complaint = pair.complaint(solver);
            failures.extend(complaint.map(|c| format!("{case} {d} {name}: {c}")));
        }
    }
    report(&failures, count);
}

/// Contacts that do not act on each other, each with its own inertia and its own velocities, by every method.
#[test]
fn contacts_apart_are_solved_by_all() {
    let mut random = Random::new(43);
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in 0..30 {
        let d = [2, 3, 5][case % 3];
        let n = 2 + random.below(5);
        let plain = apart(&mut random, d, &vec![1; n]);
        // Where inertias are within 10¹² and all else is near 1, they are solved together, as exactly as the greatest energy asks.
        let (g, b) = loop {
            let (g, b): (Vec<i32>, Vec<i32>) = (0..n).map(|_| exponents(&mut random)).unzip();
            if g.iter().max().unwrap() - g.iter().min().unwrap() > 25 {
                break (g, b);
            }
        };
        let pair = Pair::new(plain, g, b);
        for (name, solver) in FrictionSolver::ALL {
            count += 1;
            let complaint = pair.complaint(solver);
            failures.extend(complaint.map(|c| format!("{case} {d} {name}: {c}")));
        }
    }
    report(&failures, count);
}

/// Groups of contacts whose inertias differ, each group with velocities of its own size in units of energy, by `auto`.
#[test]
fn contacts_that_act_on_each_other_are_solved_by_auto() {
    let mut random = Random::new(47);
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in 0..150 {
        let d = [2, 3, 5][case % 3];
        let sizes: Vec<usize> = (0..1 + random.below(3))
            .map(|_| 1 + random.below(7))
            .collect();
        let plain = apart(&mut random, d, &sizes);
        let (mut g, mut b) = (Vec::new(), Vec::new());
        for &n in &sizes {
            let (_, energy) = exponents(&mut random);
            let room = (960 - energy.abs()).min(230);
            for _ in 0..n {
                g.push((f64::from(room) * random.signed()) as i32);
                b.push(energy);
            }
        }
        let pair = Pair::new(plain, g, b);
        count += 1;
        let complaint = pair.complaint(FrictionSolver::Auto);
        failures.extend(complaint.map(|c| format!("{case} {d} {sizes:?}: {c}")));
    }
    report(&failures, count);
}

fn contact(d: usize, w: f64, q: &[f64]) -> FrictionContact {
    let n = q.len() / d;
    let entries = (0..d * n).map(|k| (k, k, w));
    let w = BlockMatrix::from_triplets(d, n, entries);
    let rolling = if d == 5 { vec![0.2; n] } else { Vec::new() };
    FrictionContact::new(w, q.to_vec(), vec![0.3; n], rolling).unwrap()
}

/// A block of `W` that is a multiple of the identity, at the ends of the range and with nothing in it.
#[test]
fn ends_of_the_range() {
    let ends = [0.0, 5e-324, 1e-310, 1e-308, 1e-200, 1.0, 1e200, 1e308];
    for d in [2, 3, 5] {
        for w in ends {
            for q in ends {
                for closing in [true, false] {
                    let normal = if closing { -q } else { q };
                    let mut data = vec![0.0; d];
                    (data[0], data[1]) = (normal, q);
                    let p = contact(d, w, &data);
                    // r_n = q/w, sliding with u_t = 0.7 q.
                    let impulse = q / w;
                    for (name, solver) in FrictionSolver::ALL {
                        let mut r = vec![0.0; d];
                        let end = solve(&p, solver, limits(), &mut r);
                        let place = format!("{name} {d} {w:e} {normal:e}: {end:?} {r:?}");
                        let again = p.residual(&r);
                        let all = [
                            end.residual.eta,
                            end.outcome.residual,
                            again.eta,
                            again.impulse,
                        ];
                        assert!(all.iter().chain(&r).all(|v| v.is_finite()), "{place}");
                        assert!(
                            (again.eta - end.residual.eta).abs() <= 1e-9,
                            "{place} {again:?}"
                        );
                        if q == 0.0 || !closing {
                            assert_eq!(end.outcome.status, Status::Solved, "{place}");
                            assert!(r.iter().all(|r| *r == 0.0), "{place}");
                        } else if w == 0.0 {
                            assert_eq!(end.outcome.status, Status::Infeasible, "{place}");
                        } else if impulse.is_infinite() || impulse < 1e-323 {
                            assert_eq!(end.outcome.status, Status::NotFinite, "{place}");
                        } else if impulse > 1e-300 && (w.min(q) > 1e-300 || name == "auto") {
                            assert_eq!(end.outcome.status, Status::Solved, "{place}");
                            let close = (r[0] / impulse - 1.0).abs() < 1e-6;
                            assert!(close, "{place} {impulse:e}");
                        }
                    }
                }
            }
        }
    }
}

/// Products only: a wrapper brings them into the units of the contacts.
#[test]
fn products_are_enough_in_all_units() {
    let mut random = Random::new(61);
    for case in 0..60 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(5);
        let (plain, _) = planted(&mut random, d, n, d * n, true);
        let (g, b) = one_energy(&mut random, n);
        let pair = Pair::new(plain, g, b);
        let free = |p: &FrictionContact| {
            let product: Arc<dyn Product> = Arc::new(p.delassus().clone());
            let (mu, rolling) = (p.friction().to_vec(), p.rolling().to_vec());
            FrictionContact::new(product, p.free_velocity().to_vec(), mu, rolling).unwrap()
        };
        let pair = Pair {
            plain: free(&pair.plain),
            far: free(&pair.far),
            ..pair
        };
        for name in ["auto", "projected-gradient", "nsgs", "proximal-newton"] {
            let complaint = pair.complaint(FrictionSolver::named(name).unwrap());
            assert_eq!(complaint, None, "{case} {d} {name}");
        }
    }
}

/// Contacts on which nothing acts beside contacts of any size.
#[test]
fn contacts_without_inertia_open_or_are_refuted() {
    for (w, speed) in [(1e-250, 1e3), (1e250, 1.0), (1e-50, 1e-200), (1e60, 1e100)] {
        for closing in [false, true] {
            let entries = (0..3).map(|k| (k, k, w));
            let w = BlockMatrix::from_triplets(3, 2, entries);
            let normal = if closing { -speed } else { speed };
            let q = vec![-speed, 0.5 * speed, 0.0, normal, speed, 0.0];
            let p = FrictionContact::new(w, q, vec![0.3; 2], Vec::new()).unwrap();
            for (name, solver) in FrictionSolver::ALL {
                let mut r = [0.0; 6];
                let end = solve(&p, solver, limits(), &mut r);
                let expected = if closing {
                    Status::Infeasible
                } else {
                    Status::Solved
                };
                assert_eq!(end.outcome.status, expected, "{name} {speed:e} {end:?}");
                assert_eq!(p.residual(&r), end.residual, "{name} {speed:e}");
            }
        }
    }
}

/// Impulses, or velocities, that no number holds: the word, and the residual of the point that is left.
#[test]
fn what_cannot_be_written_is_named() {
    let two = |coupling: f64, q: [f64; 4]| {
        let entries = [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (2, 2, 1.0),
            (3, 3, 1.0),
            (2, 0, coupling),
            (0, 2, coupling),
        ];
        let w = BlockMatrix::from_triplets(2, 2, entries);
        FrictionContact::new(w, q.to_vec(), vec![0.0; 2], Vec::new()).unwrap()
    };
    // The other contact is thrown off with more than the largest velocity, or with less.
    for (coupling, word) in [(0.5, Status::NotFinite), (-0.01, Status::Solved)] {
        let p = two(coupling, [-1.7e308, 0.0, 1.7e308, 0.0]);
        for (name, solver) in FrictionSolver::ALL {
            let mut r = [0.0; 4];
            let end = solve(&p, solver, limits(), &mut r);
            assert_eq!(end.outcome.status, word, "{name} {end:?} {r:?}");
            assert!((r[0] / 1.7e308 - 1.0).abs() < 1e-6, "{name} {r:?}");
            assert!(end.residual.eta <= 1e-8, "{name} {end:?}");
        }
    }
    // One contact can be written, the other cannot.
    let unit = |k: usize| if k < 2 { 1.0 } else { 1e-200 };
    let w = BlockMatrix::from_triplets(2, 2, (0..4).map(|k| (k, k, unit(k))));
    let q = vec![-2.0, 0.1, -1e155, 0.0];
    let p = FrictionContact::new(w, q, vec![0.5; 2], Vec::new()).unwrap();
    for (name, solver) in FrictionSolver::ALL {
        let mut r = [0.0; 4];
        let end = solve(&p, solver, limits(), &mut r);
        assert_eq!(end.outcome.status, Status::NotFinite, "{name}");
        assert!(
            (r[0] - 2.0).abs() < 1e-6 && r[2..] == [0.0; 2],
            "{name} {r:?}"
        );
        assert_eq!(end.residual, p.residual(&r), "{name}");
        assert!((end.residual.eta - 1.0).abs() < 1e-7, "{name} {end:?}");
    }
}

/// Whatever the numbers: finite residuals of a finite point, and the word that belongs to them.
#[test]
fn no_numbers_make_a_residual_that_is_none() {
    let mut random = Random::new(71);
    let mut counts = [0; 3];
    for case in 0..3000 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(4);
        let span = [0.0, 20.0, 70.0, 150.0, 308.0][random.below(5)];
        let power = |random: &mut Random| 10.0_f64.powf(span * random.signed());
        let kind = random.below(4);
        let mut entries = Vec::new();
        let scale: Vec<f64> = (0..d * n).map(|_| power(&mut random).sqrt()).collect();
        for i in 0..d * n {
            for j in 0..=i {
                let size = match kind {
                    // Any entries; those of unknowns in units of their own; the same, positive definite; few.
                    0 => power(&mut random),
                    3 if random.below(3) > 0 => 0.0,
                    _ => scale[i] * scale[j],
                };
                let v = if i == j {
                    d as f64 * n as f64 * random.unit() * size
                } else {
                    random.signed() * size
                };
                entries.push((i, j, v.clamp(-1e308, 1e308)));
                if i != j {
                    entries.push((j, i, v.clamp(-1e308, 1e308)));
                }
            }
        }
        let w = BlockMatrix::from_triplets(d, n, entries);
        let q = (0..d * n).map(|_| random.signed() * power(&mut random));
        let q: Vec<f64> = q.collect();
        let mu = (0..n).map(|_| random.unit() * [1.0, power(&mut random)][random.below(2)]);
        let mu: Vec<f64> = mu.collect();
        let rolling = (0..n).map(|_| random.unit()).filter(|_| d == 5);
        let rolling: Vec<f64> = rolling.collect();
        let p = FrictionContact::new(w, q, mu, rolling).unwrap();
        let (name, solver) = FrictionSolver::ALL[case % FrictionSolver::ALL.len()];
        let limits = Limits {
            max_iterations: 2000,
            max_work: 1e7,
            ..Limits::default()
        };
        let mut r = vec![0.0; d * n];
        let end = solve(&p, solver, limits, &mut r);
        let again = p.residual(&r);
        let place = format!("{case} {name} {span} {kind}: {end:?} {again:?} {r:?} {p:?}");
        let numbers = |v: &saltus_complementarity::friction::Residual| {
            [v.eta, v.impulse, v.velocity, v.unscaled]
        };
        let all = numbers(&again).into_iter().chain(numbers(&end.residual));
        assert!(all.chain(r.iter().copied()).all(f64::is_finite), "{place}");
        assert!(end.outcome.residual == end.residual.eta, "{place}");
        let same = (again.eta - end.residual.eta).abs() <= 1e-9 * (1.0 + again.eta);
        assert!(same, "{place}");
        let solved = end.outcome.is_solved();
        assert!(!solved || again.eta <= 1.001e-8, "{place}");
        counts[if solved {
            0
        } else if end.outcome.status == Status::NotFinite {
            1
        } else {
            2
        }] += 1;
        let _ = infeasibility(&p);
        if let Some(Feasibility::Strict { x, margin, .. }) = feasibility(&p) {
            assert!(x.iter().all(|x| x.is_finite()) && margin > 0.0, "{place}");
        }
        let end = solve_convex(&p, &vec![0.0; n], limits, &mut r);
        assert!(
            end.residual.is_finite() || !end.is_solved(),
            "{place} {end:?}"
        );
        assert!(r.iter().all(|r| r.is_finite()), "{place} {end:?}");
    }
    println!("solved, not finite, otherwise: {counts:?}");
    assert!(counts[0] > 1000, "{counts:?}");
}
