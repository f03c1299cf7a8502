//! What must hold of cones, residuals and solutions whatever the problem.

use crate::support::{Random, disc, planted};
use saltus_complementarity::cone::{de_saxce, project, project_dual};
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, Limits, Order, ResidualScales, infeasibility,
    one_contact_solutions, solve,
};
use saltus_complementarity::{BlockMatrix, Status};
use saltus_linear::dot;

fn check_projections<const D: usize>(random: &mut Random) {
    let (mu, rolling) = (
        2.0 * random.unit() * random.below(4).min(1) as f64,
        if D == 5 { random.unit() } else { 0.0 },
    );
    let scale = 10.0_f64.powi(random.below(9) as i32 - 4);
    let point = |random: &mut Random| std::array::from_fn::<f64, D, _>(|_| scale * random.signed());
    let (a, b) = (point(random), point(random));
    let (pa, pb) = (project(&a, mu, rolling).0, project(&b, mu, rolling).0);
    let distance = |x: &[f64; D], y: &[f64; D]| {
        x.iter()
            .zip(y)
            .map(|(x, y)| (x - y).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let twice = project(&pa, mu, rolling).0;
    assert!(
        distance(&pa, &twice) <= 1e-14 * scale,
        "idempotent: {a:?} {mu}"
    );
    assert!(
        distance(&pa, &pb) <= distance(&a, &b) * (1.0 + 1e-12),
        "non-expansive: {a:?} {b:?} {mu}"
    );
    // Moreau: a = P_K(a) − P_K*(−a), and the two parts are orthogonal.
    let minus = a.map(|v| -v);
    let dual = project_dual(&minus, mu, rolling);
    for k in 0..D {
        assert!((pa[k] - dual[k] - a[k]).abs() <= 1e-14 * scale * 4.0);
    }
    assert!(
        dot(&pa, &dual).abs() <= 1e-13 * scale * scale,
        "{a:?} {mu} {rolling} {pa:?} {dual:?}"
    );
    // The dual part is in the dual cone.
    let t = dual[1..D.min(3)].iter().map(|v| v * v).sum::<f64>().sqrt();
    let s = dual[D.min(3)..].iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!(dual[0] >= mu * t + rolling * s - 1e-13 * scale);
}

#[test]
fn projections_are_idempotent_and_non_expansive() {
    let mut random = Random::new(17);
    for _ in 0..3000 {
        check_projections::<2>(&mut random);
        check_projections::<3>(&mut random);
        check_projections::<5>(&mut random);
    }
}

#[test]
fn three_solvers_agree_on_monotone_problems() {
    let mut random = Random::new(23);
    for contacts in [1, 3, 10, 40, 200] {
        let (p, _) = planted(&mut random, 3, contacts, 3 * contacts + 6, true);
        let mut reference: Option<Vec<f64>> = None;
        for name in ["auto", "proximal-newton", "projected-gradient"] {
            let mut r = vec![0.0; 3 * contacts];
            let limits = Limits {
                tolerance: 1e-11,
                ..Limits::default()
            };
            let end = solve(&p, FrictionSolver::named(name).unwrap(), limits, &mut r);
            assert!(end.outcome.is_solved(), "{contacts} {name}: {end:?}");
            let mut u = vec![0.0; r.len()];
            p.velocity(&r, &mut u);
            // Duality: every contact's û·r vanishes, r is in its cone and û in the dual one.
            for i in 0..contacts {
                let (r, _) = r[3 * i..].as_chunks::<3>();
                let (u, _) = u[3 * i..].as_chunks::<3>();
                let hat = de_saxce(&u[0], p.friction()[i], 0.0);
                let scale = 1.0 + dot(&r[0], &r[0]).sqrt() * dot(&hat, &hat).sqrt();
                assert!(dot(&r[0], &hat).abs() <= 1e-8 * scale);
            }
            let known = reference.get_or_insert_with(|| u.clone());
            let size = dot(p.free_velocity(), p.free_velocity()).sqrt();
            let gap = u
                .iter()
                .zip(known.iter())
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
                .sqrt();
            assert!(gap <= 1e-8 * size, "{contacts} {name}: {gap:.1e}");
        }
    }
}

/// Few bodies, many contacts that push each other: first-order methods can run away or come to a halt beside a
/// solution.
#[test]
fn small_hyperstatic_scenes_that_have_a_solution_are_solved() {
    let mut random = Random::new(31);
    let mut unsolved = Vec::new();
    for case in 0..6000 {
        let (d, n) = (2 + random.below(2), 1 + random.below(8));
        let rank = 1 + random.below(6);
        let (p, _) = planted(&mut random, d, n, rank, false);
        let mut r = vec![0.0; d * n];
        let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
        if !end.outcome.is_solved() {
            unsolved.push((case, d, n, rank, end));
        }
    }
    assert!(unsolved.is_empty(), "{unsolved:?}");
}

/// The same scene with contacts renumbered, frames turned and units changed.
#[test]
fn solutions_follow_permutation_rotation_and_units() {
    let mut random = Random::new(29);
    for _ in 0..20 {
        let n = 2 + random.below(8);
        let (p, _) = planted(&mut random, 3, n, 3 * n + 3, true);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, random.below(i + 1));
        }
        let angle: Vec<f64> = (0..n).map(|_| 6.0 * random.unit()).collect();
        let (mass, length) = (
            4.0_f64.powi(random.below(9) as i32 - 4),
            2.0_f64.powi(random.below(9) as i32 - 4),
        );
        // New index k of contact order[k]; tangents turned by angle[k]; W has unit 1/mass, velocities length.
        let turn = |k: usize, x: [f64; 3]| {
            let (s, c) = angle[k].sin_cos();
            [x[0], c * x[1] - s * x[2], s * x[1] + c * x[2]]
        };
        let mut entries = Vec::new();
        for (a, &i) in order.iter().enumerate() {
            for (b, &j) in order.iter().enumerate() {
                let block = p.delassus().block(i, j).unwrap();
                for col in 0..3 {
                    let column = turn(a, [block[col], block[3 + col], block[6 + col]]);
                    for row in 0..3 {
                        // Turn the columns as well, one unit vector at a time.
                        let mut unit = [0.0; 3];
                        unit[col] = 1.0;
                        let unit = turn(b, unit);
                        for (c, u) in unit.iter().enumerate() {
                            entries.push((3 * a + row, 3 * b + c, column[row] * u / mass));
                        }
                    }
                }
            }
        }
        let w = BlockMatrix::from_triplets(3, n, entries);
        let mut q = Vec::new();
        for (a, &i) in order.iter().enumerate() {
            let x = &p.free_velocity()[3 * i..];
            q.extend(turn(a, [x[0], x[1], x[2]]).map(|v| v * length));
        }
        let mu = order.iter().map(|&i| p.friction()[i]).collect();
        let other = FrictionContact::new(w, q, mu, Vec::new()).unwrap();
        let limits = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        let (mut r, mut s) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        assert!(
            solve(&p, FrictionSolver::Auto, limits, &mut r)
                .outcome
                .is_solved()
        );
        assert!(
            solve(&other, FrictionSolver::Auto, limits, &mut s)
                .outcome
                .is_solved()
        );
        let (mut u, mut v) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
        p.velocity(&r, &mut u);
        other.velocity(&s, &mut v);
        let size = dot(p.free_velocity(), p.free_velocity()).sqrt();
        for (a, &i) in order.iter().enumerate() {
            let expected = turn(a, [u[3 * i], u[3 * i + 1], u[3 * i + 2]]);
            for k in 0..3 {
                assert!((v[3 * a + k] / length - expected[k]).abs() <= 1e-9 * size);
            }
        }
        // η itself does not change.
        let mut moved = vec![0.0; 3 * n];
        let probe: Vec<f64> = (0..3 * n).map(|_| random.signed()).collect();
        for (a, &i) in order.iter().enumerate() {
            let x = turn(a, [probe[3 * i], probe[3 * i + 1], probe[3 * i + 2]]);
            moved[3 * a..3 * a + 3].copy_from_slice(&x.map(|v| v * mass * length));
        }
        let here = ResidualScales::new(&p).residual_of(&p, &probe).eta;
        let there = ResidualScales::new(&other).residual_of(&other, &moved).eta;
        assert!((here - there).abs() <= 1e-12 * here, "{here} {there}");
    }
}

#[test]
fn a_sliding_disc_is_braked_by_mu_g() {
    let p = disc(6, 1.0, 0.3, 1.0, 0.01);
    let mut r = vec![0.0; 18];
    let limits = Limits {
        tolerance: 1e-13,
        ..Limits::default()
    };
    assert!(
        solve(&p, FrictionSolver::Auto, limits, &mut r)
            .outcome
            .is_solved()
    );
    let mut u = vec![0.0; 18];
    p.velocity(&r, &mut u);
    for u in u.chunks_exact(3) {
        // The exact cone: no separation while sliding.
        assert!(u[0].abs() < 1e-12 && (u[1] - 0.997).abs() < 1e-10, "{u:?}");
    }
}

/// Something rigid between two plates that both approach it.
#[test]
fn squeezing_is_infeasible_with_a_proof() {
    let entries: Vec<_> = [(0, 0, 1.0), (0, 3, -1.0), (3, 0, -1.0), (3, 3, 1.0)]
        .into_iter()
        .chain([1, 2].into_iter().flat_map(|k| {
            [
                (k, k, 1.0),
                (k, 3 + k, 1.0),
                (3 + k, k, 1.0),
                (3 + k, 3 + k, 1.0),
            ]
        }))
        .collect();
    let w = BlockMatrix::from_triplets(3, 2, entries);
    let p = FrictionContact::new(
        w,
        vec![-1.0, 0.2, 0.0, -1.0, 0.1, 0.0],
        vec![0.5; 2],
        Vec::new(),
    )
    .unwrap();
    for (name, solver) in FrictionSolver::ALL {
        let mut r = vec![0.0; 6];
        let limits = Limits {
            max_work: 1e7,
            ..Limits::default()
        };
        let end = solve(&p, solver, limits, &mut r);
        assert_eq!(end.outcome.status, Status::Infeasible, "{name}: {end:?}");
        assert!(r.iter().all(|v| v.is_finite()));
    }
    let proof = infeasibility(&p).unwrap();
    assert!((proof[0] - proof[1]).abs() < 1e-12 && proof[0] > 0.0);
}

/// Small problems of every kind: singular, without friction, duplicated, empty rows, Painlevé, huge and tiny.
#[test]
fn fuzzed_small_problems() {
    let mut random = Random::new(31);
    let cases = 100_000;
    let mut counts = [0_u32; 3];
    for case in 0..cases {
        let (n, d) = (random.below(4), [2, 3, 3, 5][random.below(4)]);
        let size = n * d;
        let rank = 1 + random.below(size + 2);
        let h: Vec<Vec<f64>> = (0..rank)
            .map(|_| {
                (0..size)
                    .map(|_| {
                        if random.below(3) == 0 {
                            0.0
                        } else {
                            random.signed()
                        }
                    })
                    .collect()
            })
            .collect();
        let skew = if random.below(5) == 0 { 0.3 } else { 0.0 };
        let scale = 10.0_f64.powi(random.below(13) as i32 - 6);
        let mut entries = Vec::new();
        for i in 0..size {
            for j in 0..size {
                let v = h.iter().map(|r| r[i] * r[j]).sum::<f64>() + skew * random.signed();
                entries.push((i, j, scale * v));
            }
        }
        let tiny = if random.below(20) == 0 { 1e-17 } else { 1.0 };
        let q: Vec<f64> = (0..size)
            .map(|_| {
                if random.below(6) == 0 {
                    0.0
                } else {
                    tiny * random.signed()
                }
            })
            .collect();
        let mu: Vec<f64> = (0..n)
            .map(|_| {
                if random.below(4) == 0 {
                    0.0
                } else {
                    2.0 * random.unit()
                }
            })
            .collect();
        let rolling = if d == 5 {
            (0..n).map(|_| random.unit()).collect()
        } else {
            Vec::new()
        };
        let p = FrictionContact::new(BlockMatrix::from_triplets(d, n, entries), q, mu, rolling)
            .unwrap();
        let (_, solver) = FrictionSolver::ALL[if case % 2 == 0 {
            0
        } else {
            random.below(FrictionSolver::ALL.len())
        }];
        let mut r = vec![0.0; size];
        let limits = Limits {
            max_work: 2e4,
            max_iterations: 200,
            ..Limits::default()
        };
        let end = solve(&p, solver, limits, &mut r);
        assert!(r.iter().all(|v| v.is_finite()), "case {case}");
        let residual = ResidualScales::new(&p).residual_of(&p, &r);
        if end.outcome.is_solved() {
            counts[0] += 1;
            assert!(residual.eta <= 1e-8, "case {case}: {residual:?}");
            for (i, r) in r.chunks_exact(d).enumerate() {
                let t = dot(&r[1..d.min(3)], &r[1..d.min(3)]).sqrt();
                // Outside its cone by the residual at most.
                let room = 1e-12 * dot(r, r).sqrt() + 3.0 * residual.impulse;
                assert!(
                    r[0] >= -room && t <= p.friction()[i] * r[0] + room,
                    "case {case}: {r:?}"
                );
            }
        } else if end.outcome.status == Status::Infeasible {
            counts[1] += 1;
        } else {
            counts[2] += 1;
        }
    }
    println!(
        "of {cases}: solved {}, infeasible {}, not solved within the limits {}",
        counts[0], counts[1], counts[2]
    );
}

#[test]
fn the_same_problem_gives_the_same_bits() {
    let mut random = Random::new(37);
    let (p, _) = planted(&mut random, 3, 30, 70, true);
    let run = || {
        let mut r = vec![0.0; 90];
        let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
        (
            end.work.to_bits(),
            r.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        )
    };
    let first = run();
    let others: Vec<_> = std::thread::scope(|s| {
        let handles: Vec<_> = (0..4).map(|_| s.spawn(run)).collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    assert!(others.iter().all(|o| *o == first));
}

/// One contact with a regular `W`: what a sweep finds is one of all solutions.
#[test]
fn a_sweep_solves_one_contact() {
    let mut random = Random::new(41);
    let mut several = 0;
    for case in 0..20_000 {
        let d = 2 + random.below(2);
        let h: Vec<f64> = (0..d * d).map(|_| random.signed()).collect();
        let mut entries = Vec::new();
        for i in 0..d {
            for j in 0..d {
                let ridge = if i == j { 0.1 } else { 0.0 };
                let v: f64 = (0..d).map(|k| h[k * d + i] * h[k * d + j]).sum();
                entries.push((i, j, v + ridge));
            }
        }
        let q: Vec<f64> = (0..d).map(|_| random.signed()).collect();
        let mu = if random.below(10) == 0 {
            0.0
        } else {
            1.5 * random.unit()
        };
        let w = BlockMatrix::from_triplets(d, 1, entries);
        let p = FrictionContact::new(w, q, vec![mu], Vec::new()).unwrap();
        let all = one_contact_solutions(&p).unwrap();
        assert!(!all.is_empty(), "case {case}: {p:?}");
        for r in &all {
            let eta = ResidualScales::new(&p).residual_of(&p, r).eta;
            assert!(eta <= 1e-8, "case {case}: {eta:.1e}");
        }
        several += usize::from(all.len() > 1);
        let mut r = vec![0.0; d];
        let solver = FrictionSolver::Nsgs {
            omega: 1.0,
            order: Order::Forward,
        };
        let limits = Limits {
            max_iterations: 20,
            ..Limits::default()
        };
        let end = solve(&p, solver, limits, &mut r);
        assert!(end.outcome.is_solved(), "case {case}: {end:?}");
        let size = dot(&r, &r).sqrt().max(1.0);
        let nearest = all
            .iter()
            .map(|known| {
                let gap: f64 = known.iter().zip(&r).map(|(a, b)| (a - b).powi(2)).sum();
                gap.sqrt() / size
            })
            .fold(f64::INFINITY, f64::min);
        assert!(nearest <= 1e-6, "case {case}: {r:?} is none of {all:?}");
    }
    println!("{several} of 20000 contacts have several solutions");
}

/// Every method stops when asked and at its limits, and keeps a guess that already solves the problem.
#[test]
fn every_solver_heeds_guess_limits_and_cancel() {
    let mut random = Random::new(43);
    let (p, planted) = planted(&mut random, 3, 12, 20, true);
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    for (name, solver) in FrictionSolver::ALL {
        let mut r = planted.clone();
        let end = solve(&p, solver, Limits::default(), &mut r);
        assert!(end.outcome.is_solved(), "{name}: {end:?}");
        assert_eq!(end.outcome.iterations, 0, "{name}");
        let mut r = vec![0.0; 36];
        let stopped = Limits {
            cancel: Some(&cancelled),
            ..Limits::default()
        };
        let end = solve(&p, solver, stopped, &mut r);
        assert_eq!(end.outcome.status, Status::Cancelled, "{name}");
        for limits in [
            Limits {
                max_iterations: 1,
                ..Limits::default()
            },
            Limits {
                max_work: 1.0,
                ..Limits::default()
            },
        ] {
            let mut r = vec![0.0; 36];
            let end = solve(&p, solver, limits, &mut r);
            assert!(!end.outcome.is_solved(), "{name}: {end:?}");
            assert!(r.iter().all(|v| v.is_finite()), "{name}");
        }
    }
}

/// With rolling friction the cone is the intersection of two Lorentz cones: the interior point finds what the others find.
#[test]
fn interior_point_solves_rolling_problems() {
    let mut random = Random::new(61);
    let mut total = 0;
    for case in 0..40 {
        let n = 1 + random.below(12);
        let (p, _) = planted(&mut random, 5, n, 5 * n + 2, true);
        let velocities = |name: &str| {
            let mut r = vec![0.0; 5 * n];
            let solver = FrictionSolver::named(name).unwrap();
            let end = solve(&p, solver, Limits::default(), &mut r);
            assert!(end.outcome.is_solved(), "case {case}, {name}: {end:?}");
            let mut u = vec![0.0; r.len()];
            p.velocity(&r, &mut u);
            (u, end.outcome.iterations)
        };
        let (known, _) = velocities("proximal-newton");
        let (u, iterations) = velocities("interior-point");
        total += iterations;
        let size = dot(p.free_velocity(), p.free_velocity()).sqrt();
        let gap: f64 = u.iter().zip(&known).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(gap.sqrt() <= 1e-6 * size, "case {case}: {:.1e}", gap.sqrt());
    }
    println!("{total} iterations for 40 problems");
    assert!(total <= 40 * 60);
}
