//! Problems without a solution that some reactions with `u_n ≥ 0` exist for: `infeasible` is said where, and only where, every
//! combination of open, stick and slip is refuted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::friction::{
    Feasibility, FrictionContact, FrictionSolver, Limits, feasibility, infeasibility, refutation,
    solve,
};
use saltus_complementarity::lcp::{self, LcpSolver};
use saltus_complementarity::{BlockMatrix, Enumeration, Mlcp, Status, Tolerance, enumerate};
use saltus_linear::Dense;
use support::{Random, planted};

fn problem(d: usize, w: &[f64], q: Vec<f64>, mu: Vec<f64>) -> FrictionContact {
    let size = q.len();
    let entries = w.iter().enumerate().map(|(k, v)| (k / size, k % size, *v));
    let w = BlockMatrix::from_triplets(d, mu.len(), entries);
    FrictionContact::new(w, q, mu, Vec::new()).unwrap()
}

fn word(p: &FrictionContact, solver: FrictionSolver) -> (Status, u32, f64) {
    let mut r = vec![0.0; p.free_velocity().len()];
    let end = solve(p, solver, Limits::default(), &mut r);
    assert!(end.residual.eta.is_finite() && r.iter().all(|r| r.is_finite()));
    (end.outcome.status, end.outcome.iterations, end.work)
}

/// Open, stick and the two slips of a contact in the plane, each from its own equations; and by how much the nearest
/// decision was taken.
fn exists(w: &[f64], q: &[f64], mu: f64) -> (bool, f64) {
    let mut margin = q[0].abs();
    let mut found = q[0] >= 0.0;
    let mut decide = |conditions: &[f64]| {
        let least = conditions.iter().copied().fold(f64::INFINITY, f64::min);
        margin = margin.min(least.abs());
        found |= least >= 0.0;
    };
    let determinant = w[0] * w[3] - w[1] * w[2];
    let n = (w[1] * q[1] - w[3] * q[0]) / determinant;
    let t = (w[2] * q[0] - w[0] * q[1]) / determinant;
    decide(&[n, mu * n - t.abs()]);
    for side in [1.0, -1.0] {
        let n = -q[0] / (w[0] - side * mu * w[1]);
        let slip = q[1] + w[2] * n - side * mu * w[3] * n;
        decide(&[n, side * slip]);
    }
    (found, margin.min(determinant.abs()))
}

#[test]
fn single_contacts_in_the_plane_have_a_solution_or_a_proof() {
    let mut random = Random::new(7);
    let (mut none, mut some) = (0, 0);
    for case in 0..4000 {
        let mut w: Vec<f64> = (0..4).map(|_| 2.0 * random.signed()).collect();
        if case % 2 == 0 {
            w[2] = w[1];
            w[0] = w[0].abs();
        }
        let q = vec![-random.unit(), 2.0 * random.signed()];
        let mu = [0.0, 1.0, 50.0, 1.5 * random.unit()][random.below(8).min(3)];
        let (expected, margin) = exists(&w, &q, mu);
        if margin < 1e-3 {
            continue;
        }
        let (word, ..) = word(&problem(2, &w, q.clone(), vec![mu]), FrictionSolver::Auto);
        let place = format!("{w:?} {q:?} {mu}");
        if expected {
            assert_eq!(word, Status::Solved, "{place}");
            some += 1;
        } else {
            assert_eq!(word, Status::Infeasible, "{place}");
            none += 1;
        }
    }
    assert!(some > 1000 && none > 300, "{some} {none}");
}

/// Whether a contact in space with `q_n < 0` slips or sticks, by looking in every direction; `None` where that cannot tell.
fn found_around(w: &[f64], q: &[f64], mu: f64) -> Option<bool> {
    const DIRECTIONS: usize = 4000;
    let line = |k: usize, x: [f64; 3]| -> f64 { (0..3).map(|j| w[3 * k + j] * x[j]).sum() };
    // With r = n x, x = (1, t) and u_n = 0: g = W_n x, n = −q_n/g, and g u_t = q_t g − q_n W_t x.
    let at = |t: [f64; 2]| {
        let x = [1.0, t[0], t[1]];
        let g = line(0, x);
        let u = [1, 2].map(|k| q[k] * g - q[0] * line(k, x));
        (g, u)
    };
    let (o, a, b) = (at([0.0; 2]).1, at([1.0, 0.0]).1, at([0.0, 1.0]).1);
    let m = [a[0] - o[0], b[0] - o[0], a[1] - o[1], b[1] - o[1]];
    let determinant = m[0] * m[3] - m[1] * m[2];
    let t = [
        (m[1] * o[1] - m[3] * o[0]) / determinant,
        (m[2] * o[0] - m[0] * o[1]) / determinant,
    ];
    let (inside, g) = (mu - t[0].hypot(t[1]), at(t).0);
    if determinant.abs() < 1e-2 || inside.abs() < 1e-2 || g.abs() < 1e-2 {
        return None;
    }
    let mut exists = inside > 0.0 && g > 0.0;
    let mut near = false;
    let mut before = None;
    for k in 0..=DIRECTIONS {
        let (s, c) = (std::f64::consts::TAU * k as f64 / DIRECTIONS as f64).sin_cos();
        let (g, u) = at([-mu * c, -mu * s]);
        let (across, along) = (c * u[1] - s * u[0], c * u[0] + s * u[1]);
        near |= g > -0.05 && along > -0.05 && across.abs() < 0.05;
        if let Some((a, l, o)) = before {
            exists |= across * a <= 0.0 && along > 0.0 && l > 0.0 && g > 0.0 && o > 0.0;
        }
        before = Some((across, along, g));
    }
    (exists || !near).then_some(exists)
}

#[test]
fn single_contacts_in_space_have_a_solution_or_a_proof() {
    let mut random = Random::new(11);
    let (mut none, mut some) = (0, 0);
    for case in 0..1200 {
        let mut w: Vec<f64> = (0..9).map(|_| random.signed()).collect();
        if case % 2 == 0 {
            (w[3], w[6], w[7]) = (w[1], w[2], w[5]);
        }
        let q = vec![-random.unit(), 2.0 * random.signed(), 2.0 * random.signed()];
        let mu = 1.5 * random.unit();
        let Some(expected) = found_around(&w, &q, mu) else {
            continue;
        };
        let p = problem(3, &w, q.clone(), vec![mu]);
        let (word, _, work) = word(&p, FrictionSolver::Auto);
        let place = format!("{w:?} {q:?} {mu} {work:e}");
        let right = if expected {
            some += 1;
            Status::Solved
        } else {
            none += 1;
            assert!(infeasibility(&p).is_some() || refutation(&p).is_some());
            Status::Infeasible
        };
        assert_eq!(word, right, "{place}");
        assert!(work < 2e7, "{place}");
    }
    assert!(some > 200 && none > 100, "{some} {none}");
}

/// Coulomb's law in the plane as a complementarity problem in `r_n`, `μ r_n + r_t` and the negative part of `u_t`.
fn active_sets(p: &FrictionContact) -> Enumeration {
    let (n, mu) = (p.contacts(), p.friction());
    let mut m = Dense::zeros(3 * n, 3 * n);
    for (row, col, v) in p.delassus().triplets() {
        let (to, j) = (3 * (row / 2) + row % 2, 3 * (col / 2));
        if col % 2 == 0 {
            m[(to, j)] += v;
        } else {
            m[(to, j)] -= mu[col / 2] * v;
            m[(to, j + 1)] += v;
        }
    }
    let mut q = vec![0.0; 3 * n];
    for i in 0..n {
        q[3 * i..3 * i + 2].copy_from_slice(&p.free_velocity()[2 * i..2 * i + 2]);
        m[(3 * i + 1, 3 * i + 2)] = 1.0;
        m[(3 * i + 2, 3 * i)] = 2.0 * mu[i];
        m[(3 * i + 2, 3 * i + 1)] = -1.0;
    }
    let mixed = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    enumerate(&mixed, 1e-9)
}

/// What every active set of the equivalent complementarity problem says of two and three contacts in the plane.
#[test]
fn several_contacts_in_the_plane_agree_with_all_active_sets() {
    let mut random = Random::new(13);
    let (mut none, mut some, mut unclear) = (0, 0, 0);
    for case in 0..400 {
        let n = 2 + usize::from(case % 4 == 0);
        let size = 2 * n;
        let integer = case % 3 == 0;
        let mut draw = || {
            let v = 2.0 * random.signed();
            if integer { v.round() } else { v }
        };
        let mut w: Vec<f64> = (0..size * size).map(|_| draw()).collect();
        let mut q: Vec<f64> = (0..size).map(|_| draw()).collect();
        if case % 2 == 0 {
            for i in 0..size {
                for j in 0..i {
                    w[size * i + j] = w[size * j + i];
                }
            }
        }
        q[0] = -1.0;
        let mu = (0..n)
            .map(|_| [0.0, 1.0, 40.0, 1.2 * random.unit()][random.below(9).min(3)])
            .collect();
        let p = problem(2, &w, q.clone(), mu);
        let sets = active_sets(&p);
        let (word, _, work) = word(&p, FrictionSolver::Auto);
        let place = format!("{case}: {w:?} {q:?} {:?} {word:?} {sets:?}", p.friction());
        assert!(work < 1e9, "{place}");
        if !sets.solutions.is_empty() {
            some += 1;
            assert_ne!(word, Status::Infeasible, "{place}");
            assert!(refutation(&p).is_none() && infeasibility(&p).is_none());
            if !integer {
                assert_eq!(word, Status::Solved, "{place}");
            }
        } else if sets.refutes() {
            none += 1;
            assert_ne!(word, Status::Solved, "{place}");
            if !integer {
                assert_eq!(word, Status::Infeasible, "{place}");
            }
        } else {
            unclear += 1;
        }
    }
    println!("solvable {some}, not {none}, unclear {unclear}");
    assert!(some > 100 && none > 50, "{some} {none} {unclear}");
}

/// The rod of Painlevé that cannot go on: `W` of rank one, and the slip the other way. In space across it there is nothing.
#[test]
fn a_contact_without_solution_is_refuted_by_all() {
    let plane = problem(2, &[1.0, 2.0, 2.0, 4.0], vec![-1.0, 10.0], vec![1.0]);
    let w = [1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0];
    let space = problem(3, &w, vec![-1.0, 10.0, 0.3], vec![1.0]);
    for p in [&plane, &space] {
        assert!(infeasibility(p).is_none());
        let proof = refutation(p).unwrap();
        assert_eq!(proof.contacts, [0]);
        assert!(proof.cases >= 4);
        assert_eq!(feasibility(p), Some(Feasibility::Refuted(proof)));
        for (name, solver) in FrictionSolver::ALL {
            let (word, iterations, work) = word(p, solver);
            assert_eq!(word, Status::Infeasible, "{name}");
            assert!(
                iterations <= 5000 && work < 1e7,
                "{name}: {iterations} {work:e}"
            );
        }
    }
    // With the slip that drives it apart it goes on.
    let p = problem(2, &[1.0, 2.0, 2.0, 4.0], vec![-1.0, -10.0], vec![1.0]);
    assert_eq!(word(&p, FrictionSolver::Auto).0, Status::Solved);
    assert!(refutation(&p).is_none());
}

/// In a problem of several parts the one is named.
#[test]
fn the_contacts_are_named() {
    let mut w = vec![0.0; 36];
    for (i, j, v) in [(0, 0, 1.0), (1, 1, 1.0), (4, 4, 2.0), (5, 5, 2.0)] {
        w[6 * i + j] = v;
    }
    for (i, j, v) in [(2, 2, 1.0), (2, 3, 2.0), (3, 2, 2.0), (3, 3, 4.0)] {
        w[6 * i + j] = v;
    }
    let q = vec![-1.0, 0.5, -1.0, 10.0, -1.0, 0.1];
    let p = problem(2, &w, q, vec![0.3, 1.0, 0.3]);
    assert_eq!(refutation(&p).unwrap().contacts, [1]);
    assert_eq!(word(&p, FrictionSolver::Auto).0, Status::Infeasible);
}

/// Reactions up to the size that is promised are not overlooked: a slip with `w_nn − μ w_nt` small, and hardly a stick.
#[test]
fn large_reactions_are_not_refuted() {
    for k in 0..9 {
        let small = 10.0_f64.powi(-k);
        for w in [
            [1.0, 1.0 - small, 1.0, 4.0],
            [1.0, 1.0 - small, 0.0, 1.0],
            [1.0, -1.0, -1.0, 1.0 + small],
        ] {
            for q in [[-1.0, 5.0], [-1.0, -5.0]] {
                let (expected, _) = exists(&w, &q, 1.0);
                let p = problem(2, &w, q.to_vec(), vec![1.0]);
                if expected {
                    assert!(refutation(&p).is_none(), "{w:?} {q:?}");
                    assert_eq!(
                        word(&p, FrictionSolver::Auto).0,
                        Status::Solved,
                        "{w:?} {q:?}"
                    );
                }
            }
        }
    }
}

/// Problems made from a solution, most of them with singular `W`, in any units.
#[test]
fn what_has_a_solution_is_never_refuted() {
    let mut random = Random::new(17);
    for case in 0..120 {
        let (d, n) = ([2, 3, 5][case % 3], 1 + random.below(4));
        let rank = 1 + random.below(n + 2);
        let (p, _) = planted(&mut random, d, n, rank, case % 2 == 0);
        assert!(refutation(&p).is_none(), "case {case}");
        let unit = 10.0_f64.powi(random.below(201) as i32 - 100);
        let w = BlockMatrix::from_triplets(
            d,
            n,
            p.delassus().triplets().map(|(i, j, v)| (i, j, v * unit)),
        );
        let (q, mu) = (p.free_velocity().to_vec(), p.friction().to_vec());
        let p = FrictionContact::new(w, q, mu, p.rolling().to_vec()).unwrap();
        assert!(refutation(&p).is_none(), "case {case}");
    }
}

/// A contact without a diagonal block, pushed in by the friction of another: no point is called a solution because the scale of
/// its residual is next to nothing.
#[test]
fn what_only_couples_has_a_scale() {
    let w = [
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 2.0, 0.0],
        [1.0, 0.0, 0.0, 2.0],
    ];
    let p = problem(2, &w.concat(), vec![-1.0, 1.0, 1.0, 0.0], vec![0.5; 2]);
    // The first goes in with u_n = -1 at r = 0.
    assert!(
        p.residual(&[0.0; 4]).eta > 0.1,
        "{:?}",
        p.residual(&[0.0; 4])
    );
    // A block with a diagonal of both signs.
    let p = problem(2, &[1.0, 3.0, 3.0, -2.0], vec![-1.0, 1.0], vec![0.5]);
    assert!(
        p.residual(&[0.0; 2]).eta > 0.1,
        "{:?}",
        p.residual(&[0.0; 2])
    );
}

/// Indefinite, unsymmetric and singular problems of a few contacts end soon, whatever becomes of them.
#[test]
fn few_contacts_end_soon() {
    let mut random = Random::new(23);
    let mut counts = [0; 3];
    for case in 0..300 {
        let (d, n) = ([2, 3][case % 2], 2 + random.below(4));
        let size = d * n;
        let mut w: Vec<f64> = (0..size * size).map(|_| random.signed()).collect();
        match case % 3 {
            0 => {
                for i in 0..size {
                    for j in 0..i {
                        w[size * i + j] = w[size * j + i];
                    }
                }
            }
            1 => w.iter_mut().for_each(|v| *v = (2.4 * *v).round()),
            _ => {}
        }
        let q = (0..size)
            .map(|k| {
                let v = 2.0 * random.signed();
                if k % d == 0 && k < 2 * d { -v.abs() } else { v }
            })
            .collect();
        let p = problem(d, &w, q, (0..n).map(|_| 1.5 * random.unit()).collect());
        let (word, _, work) = word(&p, FrictionSolver::Auto);
        assert!(work < 1e9, "{case}: {word:?} {work:e}");
        counts[match word {
            Status::Solved => 0,
            Status::Infeasible => 1,
            _ => 2,
        }] += 1;
    }
    println!("solved, infeasible, neither: {counts:?}");
    assert!(
        counts[0] > 80 && counts[1] > 80 && counts[2] < 10,
        "{counts:?}"
    );
}

/// Positive definite, with an eigenvalue of `2 e`: the solution is `1/√e` times as large as the data, and what rounding leaves of a
/// proof that there is none does not make one.
#[test]
fn nearly_singular_definite_problems_are_not_refuted() {
    for k in 15..24 {
        let (e, s) = (0.25_f64.powi(k), 0.5_f64.powi(k));
        let mut matrix = Dense::zeros(2, 2);
        matrix
            .as_mut_slice()
            .copy_from_slice(&[1.0 + e, e - 1.0, e - 1.0, 1.0 + e]);
        let q = [1.0 - s, -1.0 - s];
        let p = Mlcp {
            equalities: 0,
            matrix: &matrix,
            q: &q,
        };
        assert_eq!(p.infeasibility(), None, "{k}");
        for (name, solver) in LcpSolver::ALL {
            let mut z = [0.0; 2];
            let end = lcp::solve(&p, solver, Tolerance::default(), &mut z).outcome;
            assert_ne!(end.status, Status::Infeasible, "{k} {name}");
            if name == "auto" {
                assert_eq!(end.status, Status::Solved, "{k}");
                let exact = [0.5 / s - 0.5, 0.5 / s + 0.5];
                // A row may miss 1e-14 of its terms, 2 |z|, and M⁻¹ makes 1/(2 e) of that.
                for (z, exact) in z.iter().zip(exact) {
                    assert!(
                        (z - exact).abs() < 1e-14 / e * exact,
                        "{k}: {z} for {exact}"
                    );
                }
            }
        }
        // The same between two contacts in the plane.
        let mut w = [0.0; 16];
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            w[8 * i + 2 * j] = matrix[(i, j)];
            w[8 * i + 2 * j + 5] = f64::from(u8::from(i == j));
        }
        let p = problem(2, &w, vec![q[0], 0.0, q[1], 0.0], vec![0.5; 2]);
        assert_eq!(infeasibility(&p), None, "{k}");
        assert_eq!(word(&p, FrictionSolver::Auto).0, Status::Solved, "{k}");
    }
}

/// Reactions that run away hide neither a penetration of 1 m/s nor that nothing solves the problem.
#[test]
fn what_runs_away_is_judged_with_all_its_digits() {
    let w = [0.0, 0.0, -1.0, 2.0, -2.0, 1.0, 0.0, 0.0, -2.0];
    let p = problem(3, &w, vec![-1.0, -1.0, 0.0], vec![2.0]);
    let r = [1.07e15, 2.14e15, 0.0];
    // With d = 2/3 the natural map misses by (0.3, 0.6) N s for a penetration of 1 m/s: η = 1/√10.
    let eta = p.residual(&r).eta;
    assert!((eta - 0.1_f64.sqrt()).abs() < 1e-12, "{eta}");
    assert_ne!(word(&p, FrictionSolver::Auto).0, Status::Solved);
    // A huge reaction that is exact remains a solution.
    let tiny = 0.5_f64.powi(50);
    let w = [tiny, 0.0, 0.0, tiny];
    let p = problem(2, &w, vec![-1.0, 0.0], vec![0.5]);
    let r = [1.0 / tiny, 0.0];
    assert_eq!(p.residual(&r).eta, 0.0);
    assert_eq!(word(&p, FrictionSolver::Auto).0, Status::Solved);
}
