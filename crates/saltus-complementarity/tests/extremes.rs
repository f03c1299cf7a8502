//! Data near the ends of the range of numbers, units far apart, and limits that are reached at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, GlobalFriction, Limits, solve as solve_friction, solve_global,
};
use saltus_complementarity::lcp::{LcpOperator, LcpOutcome, LcpSolver, OperatorMlcp, solve};
use saltus_complementarity::{BlockMatrix, Mlcp, SparseMatrix, Status, Tolerance};
use saltus_linear::Dense;
use std::sync::atomic::AtomicBool;
use support::{Random, dense, planted};

fn run(m: &Dense, q: &[f64], e: usize, solver: LcpSolver, z: &mut [f64]) -> (LcpOutcome, f64) {
    let p = Mlcp {
        equalities: e,
        matrix: m,
        q,
    };
    let end = solve(&p, solver, Tolerance::default(), z);
    (end, p.relative_residual(z))
}

/// `M z + q = 0` in one unknown at the ends of the range: a correct point with numbers for residuals, or the word that says
/// that there is none among the numbers.
#[test]
fn ends_of_the_range() {
    let cases: [(f64, f64, Option<f64>); 12] = [
        (1.0, -1e308, Some(1e308)),
        (1e300, -1e308, Some(1e8)),
        (1e-300, -1.0, Some(1e300)),
        (1e-200, -1e-200, Some(1.0)),
        (1e200, -1e200, Some(1.0)),
        (1e-300, -1e-308, Some(1e-8)),
        (1.0, -1e-310, Some(1e-310)),
        (1e-308, -1e-310, Some(1e-2)),
        (1e-200, -1e200, None),
        (1e-308, -1e10, None),
        (1e300, 1e300, Some(0.0)),
        (0.1, -1.7e308, None),
    ];
    for (name, solver) in LcpSolver::ALL {
        for (m, q, expected) in cases {
            for copies in [1, 3] {
                let mut matrix = Dense::zeros(copies, copies);
                for i in 0..copies {
                    matrix[(i, i)] = m;
                }
                let q = vec![q; copies];
                let entries: Vec<_> = (0..copies).map(|i| (i, i, m)).collect();
                let sparse = SparseMatrix::from_triplets(copies, copies, &entries);
                let form = |operator| OperatorMlcp {
                    equalities: 0,
                    operator,
                    q: &q,
                };
                let forms = [LcpOperator::Sparse(&sparse), LcpOperator::Free(&sparse)];
                for form in [None, Some(form(forms[0])), Some(form(forms[1]))] {
                    let mut z = vec![0.0; copies];
                    let (end, relative) = match form {
                        None => run(&matrix, &q, 0, solver, &mut z),
                        Some(p) => {
                            let end = p.solve(solver, Tolerance::default(), &mut z).unwrap();
                            (end, p.relative_residual(&z))
                        }
                    };
                    let place = format!("{name} {form:?}: {end:?} {relative:e} {z:?}");
                    let Some(x) = expected else {
                        assert_eq!(end.outcome.status, Status::NotFinite, "{place}");
                        assert!(z.iter().all(|z| z.is_finite()), "{place}");
                        continue;
                    };
                    assert_eq!(end.outcome.status, Status::Solved, "{place}");
                    assert!(
                        relative <= 1e-12 && end.outcome.residual.is_finite(),
                        "{place}"
                    );
                    let close =
                        |v: &f64| (v / x - 1.0).abs() < 1e-9 || (x == 0.0 && v.abs() < 1e-12);
                    assert!(z.iter().all(close), "{place}");
                }
            }
        }
    }
}

/// Whatever the numbers: nothing that is not finite beside `solved`.
#[test]
fn no_unit_makes_a_residual_that_is_no_number() {
    let mut random = Random::new(11);
    let mut solved = 0;
    for case in 0..3000 {
        let n = 1 + random.below(5);
        let e = random.below(n + 1).min(random.below(3));
        let span = [0.0, 20.0, 150.0, 308.0][random.below(4)];
        let power = |random: &mut Random| 10.0_f64.powf(span * random.signed());
        let mut m = Dense::zeros(n, n);
        for v in m.as_mut_slice() {
            *v = random.signed() * power(&mut random);
        }
        let q: Vec<f64> = (0..n)
            .map(|_| random.signed() * power(&mut random))
            .collect();
        let (name, solver) = LcpSolver::ALL[case % LcpSolver::ALL.len()];
        let mut z = vec![0.0; n];
        let (end, relative) = run(&m, &q, e, solver, &mut z);
        let place = format!("{case} {name} {m:?} {q:?}: {end:?} {relative:e} {z:?}");
        assert!(z.iter().all(|v| v.is_finite()), "{place}");
        if end.outcome.is_solved() {
            solved += 1;
            assert!(
                relative <= 1e-12 && end.outcome.residual.is_finite(),
                "{place}"
            );
        }
    }
    assert!(solved > 600, "{solved}");
}

/// `D₁ M D₂` of a P-matrix is a P-matrix: there is no ray.
#[test]
fn units_make_no_ray() {
    let mut random = Random::new(5);
    let mut solved = 0;
    for case in 0..200 {
        let n = 3 + random.below(15);
        let (m, _) = p_matrix(&mut random, n);
        let mut scaled = m.clone();
        let d: Vec<f64> = (0..2 * n)
            .map(|_| 10.0_f64.powf(8.0 * random.signed()))
            .collect();
        for i in 0..n {
            for j in 0..n {
                scaled[(i, j)] *= d[i] * d[n + j];
            }
        }
        let q: Vec<f64> = (0..n).map(|i| d[i] * random.signed()).collect();
        let mut z = vec![0.0; n];
        let (end, _) = run(&scaled, &q, 0, LcpSolver::Lemke, &mut z);
        assert_ne!(end.outcome.status, Status::Ray, "{case}");
        solved += usize::from(end.outcome.is_solved());
        let (end, _) = run(&scaled, &q, 0, LcpSolver::Auto, &mut vec![0.0; n]);
        assert!(end.outcome.is_solved(), "{case} {end:?}");
    }
    assert_eq!(solved, 200);
}

/// Positive definite plus skew: a P-matrix; second, a skew matrix.
fn p_matrix(random: &mut Random, n: usize) -> (Dense, Dense) {
    let h: Vec<f64> = (0..n * n).map(|_| random.signed()).collect();
    let (mut p, mut skew) = (Dense::zeros(n, n), Dense::zeros(n, n));
    for i in 0..n {
        for j in 0..n {
            p[(i, j)] = (0..n).map(|k| h[k * n + i] * h[k * n + j]).sum::<f64>();
        }
        p[(i, i)] += 0.1;
    }
    for i in 0..n {
        for j in 0..i {
            let v = random.signed();
            skew[(i, j)] = v;
            skew[(j, i)] = -v;
        }
    }
    for (p, s) in p.as_mut_slice().iter_mut().zip(skew.as_slice()) {
        *p += s;
    }
    (p, skew)
}

/// Many unknowns, units far apart, `M` a P-matrix, positive semidefinite, or skew and positive semidefinite; a solution is
/// planted, of numbers in its own units or all of one size.
#[test]
fn units_far_apart_are_solved_by_auto() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (k, n) in [13, 16, 20, 27, 40, 60].into_iter().enumerate() {
        for span in [6.0, 11.0] {
            for kind in 0..4 {
                for seed in 0..6 {
                    let mut random = Random::new(1000 * k as u64 + 10 * seed + kind);
                    let (m, q) = spread(&mut random, n, span, kind, seed);
                    let mut z = vec![0.0; n];
                    let (end, relative) = run(&m, &q, 0, LcpSolver::Auto, &mut z);
                    count += 1;
                    if !end.outcome.is_solved() || relative > 1e-12 {
                        failures.push((n, span, kind, seed, end.outcome.status, relative));
                    }
                }
            }
        }
    }
    let list: Vec<String> = failures.iter().map(|f| format!("{f:?}")).collect();
    assert!(
        failures.is_empty(),
        "{} of {count}:\n{}",
        failures.len(),
        list.join("\n")
    );
}

fn spread(random: &mut Random, n: usize, span: f64, kind: u64, seed: u64) -> (Dense, Vec<f64>) {
    let (p, skew) = p_matrix(random, n);
    let rank = n / 2;
    let h: Vec<f64> = (0..n * rank).map(|_| random.signed()).collect();
    let mut a = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            let psd = || (0..rank).map(|k| h[k * n + i] * h[k * n + j]).sum::<f64>();
            a[(i, j)] = match kind {
                0 => p[(i, j)],
                1 => psd(),
                2 => skew[(i, j)] + psd(),
                // A mixed problem of mechanics, with zeros on the diagonal.
                _ if (i < rank) == (j < rank) => {
                    if i < rank {
                        p[(i, j)]
                    } else {
                        0.0
                    }
                }
                _ => skew[(i, j)],
            };
        }
    }
    let d: Vec<f64> = (0..n)
        .map(|_| 10.0_f64.powf(span * random.signed()))
        .collect();
    // z in its own units (1/d), or with magnitudes of another kind.
    let own = seed.is_multiple_of(2);
    let size = |random: &mut Random| {
        if own {
            1.0
        } else {
            10.0_f64.powf(3.0 * random.signed())
        }
    };
    let mut y = vec![0.0; n];
    let mut w = vec![0.0; n];
    for i in 0..n {
        let v = size(random) * (0.1 + random.unit());
        if random.below(2) == 0 {
            y[i] = v
        } else {
            w[i] = v
        }
    }
    let q = (0..n)
        .map(|i| d[i] * (w[i] - (0..n).map(|j| a[(i, j)] * y[j]).sum::<f64>()))
        .collect();
    for i in 0..n {
        for j in 0..n {
            a[(i, j)] *= d[i] * d[j];
        }
    }
    (a, q)
}

/// Every solver of complementarity and of friction stops at its limit and says so, at once when cancelled.
#[test]
fn limits_are_kept() {
    let path = support::shared("data/fclib/lcp/lcp_mmc.dat");
    let mut problems: Vec<(Dense, Vec<f64>)> = vec![
        (dense(&[&[2.0]]), vec![-1.0]),
        (dense(&[&[2.0, 1.0], &[1.0, 2.0]]), vec![-1.0, -2.0]),
        // Murty's: n = 3 needs many steps.
        (
            dense(&[&[1.0, 2.0, 2.0], &[0.0, 1.0, 2.0], &[0.0, 0.0, 1.0]]),
            vec![-1.0; 3],
        ),
        (
            dense(&[&[0.0, 1.0, 0.0], &[1.0, 0.0, 1.0], &[0.0, 0.0, 0.0]]),
            vec![-1.0, -1.0, -1.0],
        ),
        (
            dense(&[&[-1.0, 0.5, 0.0], &[1.0, -2.0, 1.0], &[0.0, 3.0, -1.0]]),
            vec![-1.0, -1.0, 2.0],
        ),
    ];
    if let Some(path) = path {
        let read = saltus_complementarity::archive::read(&path).unwrap();
        if let saltus_complementarity::archive::Problem::Mixed { matrix, q, .. } = read {
            problems.push((matrix, q));
        }
    }
    let mut random = Random::new(3);
    for n in [5, 9, 14, 30] {
        let (m, _) = p_matrix(&mut random, n);
        problems.push((m, (0..n).map(|_| random.signed()).collect()));
    }
    for (name, solver) in LcpSolver::ALL {
        for (k, (m, q)) in problems.iter().enumerate() {
            for limit in 0..4 {
                let tolerance = Tolerance {
                    max_iterations: limit,
                    ..Tolerance::default()
                };
                let p = Mlcp {
                    equalities: 0,
                    matrix: m,
                    q,
                };
                let end = solve(&p, solver, tolerance, &mut vec![0.0; q.len()]).outcome;
                assert!(end.iterations <= limit, "{name} {k} {limit}: {end:?}");
                let full = solve(&p, solver, Tolerance::default(), &mut vec![0.0; q.len()]).outcome;
                if full.iterations > limit && !end.is_solved() {
                    assert!(
                        matches!(end.status, Status::IterationLimit | Status::Infeasible),
                        "{name} {k} {limit}: {end:?} {full:?}"
                    );
                }
            }
        }
    }
    for (name, solver) in LcpSolver::ALL {
        for (k, (m, q)) in problems.iter().enumerate() {
            let triplets: Vec<_> = (0..q.len())
                .flat_map(|i| (0..q.len()).map(move |j| (i, j, m[(i, j)])))
                .collect();
            let sparse = SparseMatrix::from_triplets(q.len(), q.len(), &triplets);
            for operator in [LcpOperator::Sparse(&sparse), LcpOperator::Free(&sparse)] {
                let p = OperatorMlcp {
                    equalities: 0,
                    operator,
                    q,
                };
                for limit in 0..4 {
                    let tolerance = Tolerance {
                        max_iterations: limit,
                        ..Tolerance::default()
                    };
                    let end = p
                        .solve(solver, tolerance, &mut vec![0.0; q.len()])
                        .unwrap()
                        .outcome;
                    assert!(end.iterations <= limit, "{name} {k} {limit}: {end:?}");
                }
            }
        }
    }
    let flag = AtomicBool::new(true);
    let unit = || (0..3).map(|i| (i, i, 1.0)).collect::<Vec<_>>();
    let mass = SparseMatrix::from_triplets(3, 3, &unit());
    let directions = SparseMatrix::from_triplets(3, 3, &unit());
    let global = GlobalFriction::new(
        3,
        mass,
        directions,
        vec![-0.1, 1.0, 0.3],
        vec![0.0; 3],
        vec![0.3],
        Vec::new(),
    )
    .unwrap();
    for (name, solver) in FrictionSolver::ALL {
        for limit in 0..4 {
            let limits = Limits {
                max_iterations: limit,
                tolerance: 1e-14,
                ..Limits::default()
            };
            let end = solve_global(&global, solver, limits, &mut [0.0; 3])
                .unwrap()
                .outcome;
            assert!(
                u64::from(end.iterations) <= limit,
                "{name} {limit}: {end:?}"
            );
        }
        let limits = Limits {
            cancel: Some(&flag),
            tolerance: 1e-14,
            ..Limits::default()
        };
        let end = solve_global(&global, solver, limits, &mut [0.0; 3])
            .unwrap()
            .outcome;
        assert!(
            end.iterations == 0 && (end.is_solved() || end.status == Status::Cancelled),
            "{name}: {end:?}"
        );
    }
    let mut frictional = Vec::new();
    for (d, n) in [(2, 1), (3, 1), (5, 1), (2, 4), (3, 5), (5, 4)] {
        frictional.push(planted(&mut random, d, n, 2 * d, false).0);
    }
    for (name, solver) in FrictionSolver::ALL {
        for (k, p) in frictional.iter().enumerate() {
            let blank = vec![0.0; p.free_velocity().len()];
            for limit in 0..4 {
                let limits = Limits {
                    max_iterations: limit,
                    tolerance: 1e-13,
                    ..Limits::default()
                };
                let end = solve_friction(p, solver, limits, &mut blank.clone()).outcome;
                assert!(
                    u64::from(end.iterations) <= limit,
                    "{name} {k} {limit}: {end:?}"
                );
                let more = Limits {
                    max_iterations: 3000,
                    ..limits
                };
                let full = solve_friction(p, solver, more, &mut blank.clone()).outcome;
                if u64::from(full.iterations) > limit && !end.is_solved() {
                    assert_eq!(
                        end.status,
                        Status::IterationLimit,
                        "{name} {k} {limit}: {end:?} {full:?}"
                    );
                }
            }
            let limits = Limits {
                cancel: Some(&flag),
                tolerance: 1e-13,
                ..Limits::default()
            };
            let end = solve_friction(p, solver, limits, &mut blank.clone()).outcome;
            assert!(
                end.iterations == 0 && (end.is_solved() || end.status == Status::Cancelled),
                "{name} {k}: {end:?}"
            );
        }
    }
}

/// Friction with contacts in units 10²⁰⁰ apart: a number beside `solved`, or the word.
#[test]
fn friction_in_mixed_units_is_a_number_or_not_finite() {
    let mut counts = [0; 2];
    for exponent in [30.0, 100.0, 150.0, 200.0, 250.0, 300.0] {
        for sign in [1.0, -1.0] {
            for kind in 0..4 {
                let unit = 10.0_f64.powf(sign * exponent);
                let mut entries = Vec::new();
                let mut q = Vec::new();
                for i in 0..2 {
                    let far = if i == 0 { 1.0 } else { unit };
                    let (a, b) = match kind {
                        0 => (far, 1.0),
                        1 => (1.0, far),
                        2 => (far, far),
                        _ => (unit, 1.0 / unit),
                    };
                    for k in 0..3 {
                        entries.push((3 * i + k, 3 * i + k, a));
                    }
                    q.extend([-0.1 * b, b, 0.0]);
                }
                let w = BlockMatrix::from_triplets(3, 2, entries);
                let p = FrictionContact::new(w, q, vec![0.3; 2], Vec::new()).unwrap();
                for (name, solver) in FrictionSolver::ALL {
                    let mut r = vec![0.0; 6];
                    let limits = Limits {
                        max_iterations: 500,
                        ..Limits::default()
                    };
                    let end = solve_friction(&p, solver, limits, &mut r);
                    let place =
                        format!("{name} {unit:e} {kind}: {end:?} {r:?} {:?}", p.residual(&r));
                    let solved = end.outcome.is_solved();
                    counts[usize::from(solved)] += 1;
                    assert!(r.iter().all(|v| v.is_finite()), "{place}");
                    let finite = end.residual.eta.is_finite() && end.outcome.residual.is_finite();
                    assert!(finite || end.outcome.status == Status::NotFinite, "{place}");
                    if solved {
                        let again = p.residual(&r);
                        assert!(again.eta <= 1e-8, "{place}");
                        let all = [again.eta, again.impulse, again.velocity, again.unscaled];
                        assert!(all.iter().all(|v| v.is_finite()), "{place}");
                    }
                }
            }
        }
    }
    assert!(counts[1] > 300, "{counts:?}");
}

/// Sparse, or known by its products: powers of two for the unknowns, far beyond what a square can be written of, change no more
/// than the words for numbers near 1.
#[test]
fn units_change_nothing_for_sparse_matrices_and_products() {
    let mut random = Random::new(31);
    let solvers = [
        LcpSolver::Auto,
        LcpSolver::NewtonMin,
        LcpSolver::Pgs { omega: 1.0 },
        LcpSolver::ProjectedGradient,
    ];
    for round in 0..12 {
        let n = 20 + 10 * (round % 3);
        // A chain: symmetric, diagonally dominant.
        let mut entries = Vec::new();
        for i in 0..n {
            entries.push((i, i, 2.5));
            if i > 0 {
                let v = random.signed();
                entries.extend([(i, i - 1, v), (i - 1, i, v)]);
            }
        }
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let power: Vec<i32> = (0..n).map(|_| random.below(500) as i32 - 250).collect();
        let of = |k: i32| f64::from(k).exp2();
        let scaled: Vec<_> = entries
            .iter()
            .map(|&(i, j, v)| (i, j, v * of(power[i]) * of(power[j])))
            .collect();
        // All impulses in a unit of their own.
        let unit = [0, 300, -300][round % 3];
        let far: Vec<f64> = (0..n).map(|i| q[i] * of(power[i]) * of(unit)).collect();
        let near = SparseMatrix::from_triplets(n, n, &entries);
        let scaled = SparseMatrix::from_triplets(n, n, &scaled);
        for solver in solvers {
            for free in [false, true] {
                let solve = |m: &SparseMatrix, q: &[f64]| {
                    let p = OperatorMlcp {
                        equalities: 0,
                        operator: if free {
                            LcpOperator::Free(m)
                        } else {
                            LcpOperator::Sparse(m)
                        },
                        q,
                    };
                    let mut z = vec![0.0; n];
                    let end = p
                        .solve(solver, Tolerance::default(), &mut z)
                        .unwrap()
                        .outcome;
                    assert!(end.is_solved(), "{solver:?} {free} {round}: {end:?}");
                    assert!(p.relative_residual(&z) <= 1e-12 && p.residual(&z).is_finite());
                    z
                };
                let (a, b) = (solve(&near, &q), solve(&scaled, &far));
                for i in 0..n {
                    let back = b[i] * of(power[i]) * of(-unit);
                    let place = format!("{solver:?} {free} {round} {i}: {} {back}", a[i]);
                    assert!((a[i] - back).abs() <= 1e-9, "{place}");
                }
            }
        }
    }
}
