//! Linear complementarity problems with known answers, and random ones against enumeration.

use crate::support::{Random, dense, shared};
use proptest::prelude::*;
use saltus_complementarity::lcp::{self, LcpSolver};
use saltus_complementarity::{Mlcp, MlcpSolver, Status, Tolerance, enumerate};
use saltus_linear::{Dense, max_abs};

fn solve(m: &Dense, q: &[f64], z: &mut [f64]) -> saltus_complementarity::Outcome {
    let problem = Mlcp {
        equalities: 0,
        matrix: m,
        q,
    };
    let outcome = MlcpSolver::default().solve(&problem, z, Tolerance::default());
    if outcome.is_solved() {
        assert!(problem.relative_residual(z) <= 1e-12);
        assert!(z.iter().all(|&v| v >= 0.0));
    }
    outcome
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f64::max)
}

/// `AᵀA + shift·I`, `A` of `rank` rows.
fn gram(random: &mut Random, n: usize, rank: usize, shift: f64) -> Dense {
    let a: Vec<Vec<f64>> = (0..rank)
        .map(|_| (0..n).map(|_| random.signed()).collect())
        .collect();
    let mut m = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            m[(i, j)] = a.iter().map(|r| r[i] * r[j]).sum::<f64>();
        }
        m[(i, i)] += shift;
    }
    m
}

#[test]
fn answers_every_reference_problem() {
    let Some(path) = shared("reference/event-capture.json") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
    let numbers = |v: &serde_json::Value| -> Vec<f64> {
        v.as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect()
    };
    let mut checked = 0;
    for item in reference["items"].as_array().unwrap() {
        let id = item["id"].as_str().unwrap();
        if !id.starts_with("lcp.") || item["params"]["M"].is_null() {
            continue;
        }
        let rows: Vec<Vec<f64>> = item["params"]["M"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let m = dense(&rows);
        let q = numbers(&item["params"]["q"]);
        let tolerance = item["tol"].as_f64().unwrap();
        let problem = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        let all = enumerate(&problem, 1e-12).solutions;
        // From nothing and from the start on which plain active-set Newton cycles.
        for start in [0.0, -1.0, 1.0] {
            let mut z = vec![0.0; q.len()];
            z[0] = start;
            let outcome = solve(&m, &q, &mut z);
            match item["value"].as_array() {
                Some(list) if list.is_empty() => {
                    assert_eq!(outcome.status, Status::Infeasible, "{id}");
                    assert!(all.is_empty(), "{id}");
                }
                Some(list) => {
                    assert!(outcome.is_solved(), "{id}: {outcome:?}");
                    let list: Vec<Vec<f64>> = list.iter().map(numbers).collect();
                    assert!(
                        list.iter().any(|x| distance(x, &z) <= tolerance),
                        "{id}: {z:?}"
                    );
                    assert_eq!(all.len(), list.len(), "{id}: {all:?}");
                    assert!(
                        list.iter()
                            .all(|x| all.iter().any(|y| distance(x, y) <= tolerance)),
                        "{id}"
                    );
                }
                None => {
                    // A segment z1 + z2 = 1 of solutions; the canonical one is its middle.
                    assert!(outcome.is_solved(), "{id}");
                    assert_eq!(outcome.redundant, 1);
                    assert!(distance(&z, &[0.5, 0.5]) <= tolerance, "{id}: {z:?}");
                }
            }
        }
        checked += 1;
    }
    println!("checked {checked} reference problems");
    assert!(checked >= 17);
}

/// The matrices of Ben Gharbia and Gilbert on which plain active-set Newton cycles with period n.
#[test]
fn cycling_matrices_are_solved() {
    for n in [3, 5, 7, 9] {
        let mut m = Dense::zeros(n, n);
        for i in 0..n {
            m[(i, i)] = 1.0;
            m[((i + 1) % n, i)] = 2.0;
        }
        let q = vec![1.0; n];
        let mut z = vec![0.0; n];
        z[0] = -1.0;
        // The start puts row n−1 … into the active set one after the other.
        assert!(solve(&m, &q, &mut z).is_solved());
        assert_eq!(max_abs(&z), 0.0);
        let mut z = vec![0.0; n];
        z[0] = 100.0;
        assert!(solve(&m, &q, &mut z).is_solved());
        assert_eq!(max_abs(&z), 0.0);
    }
}

#[test]
fn random_positive_definite_problems_agree_with_enumeration() {
    let mut random = Random::new(1);
    let mut solver = MlcpSolver::default();
    for case in 0..400 {
        let n = 1 + random.below(9);
        let m = gram(&mut random, n, n, 0.05);
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let problem = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        let mut z: Vec<f64> = (0..n).map(|_| random.signed().max(0.0)).collect();
        let outcome = solver.solve(&problem, &mut z, Tolerance::default());
        assert!(outcome.is_solved(), "case {case}: {outcome:?}");
        let all = enumerate(&problem, 1e-10).solutions;
        assert_eq!(all.len(), 1, "case {case}");
        assert!(
            distance(&all[0], &z) <= 1e-11 * (1.0 + max_abs(&z)),
            "case {case}"
        );
    }
}

#[test]
fn infeasible_problems_are_refuted() {
    // wᵀ(1,1) = 0 for every z, but q·(1,1) < 0.
    let m = dense(&[&[1.0, -1.0], &[-1.0, 1.0]]);
    assert_eq!(
        solve(&m, &[-1.0, -1.0], &mut [0.0, 0.0]).status,
        Status::Infeasible
    );
    // The same with a third, independent row.
    let m = dense(&[&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.0], &[0.0, 0.0, 2.0]]);
    assert_eq!(
        solve(&m, &[-1.0, -1.0, -1.0], &mut [0.0; 3]).status,
        Status::Infeasible
    );
    let m = dense(&[&[0.0]]);
    assert_eq!(solve(&m, &[-1.0], &mut [0.0]).status, Status::Infeasible);
}

#[test]
fn a_condition_listed_twice_is_shared() {
    for factor in [1.0, 3.0] {
        // Row 1 is `factor` times row 0.
        let m = dense(&[&[2.0, 2.0 * factor], &[2.0 * factor, 2.0 * factor * factor]]);
        let q = [-3.0, -3.0 * factor];
        let mut z = [0.0; 2];
        let outcome = solve(&m, &q, &mut z);
        assert_eq!((outcome.status, outcome.redundant), (Status::Solved, 1));
        // Each carries half of 1.5, in its own unit.
        assert!(
            (z[0] - 0.75).abs() < 1e-15 && (z[1] * factor - 0.75).abs() < 1e-15,
            "{z:?}"
        );
    }
    // With a third, open row; and warm-started from an unfair split.
    let m = dense(&[&[2.0, 2.0, 1.0], &[2.0, 2.0, 1.0], &[1.0, 1.0, 2.0]]);
    let mut z = [1.5, 0.0, 0.0];
    let outcome = solve(&m, &[-3.0, -3.0, 4.0], &mut z);
    assert_eq!((outcome.status, outcome.redundant), (Status::Solved, 1));
    assert!(distance(&z, &[0.75, 0.75, 0.0]) < 1e-15, "{z:?}");
}

/// A rigid table on four legs: three conditions determine the motion, the fourth leg is redundant.
#[test]
fn four_legs_carry_equal_loads() {
    let legs = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
    let mut m = Dense::zeros(4, 4);
    for (i, a) in legs.iter().enumerate() {
        for (j, b) in legs.iter().enumerate() {
            m[(i, j)] = 1.0 + 3.0 * a.0 * b.0 + 3.0 * a.1 * b.1;
        }
    }
    let mut z = [0.0; 4];
    let outcome = solve(&m, &[-1.0; 4], &mut z);
    assert_eq!((outcome.status, outcome.redundant), (Status::Solved, 1));
    assert!(distance(&z, &[0.25; 4]) < 1e-14, "{z:?}");
}

#[test]
fn not_finite_data_is_named() {
    let m = dense(&[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]]);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            solve(&m, &[1.0, bad, 1.0], &mut [0.0; 3]).status,
            Status::NotFinite
        );
        assert_eq!(
            solve(&dense(&[&[bad]]), &[1.0], &mut [0.0]).status,
            Status::NotFinite
        );
        assert_eq!(
            solve(&dense(&[&[1.0]]), &[bad], &mut [0.0]).status,
            Status::NotFinite
        );
        assert_eq!(
            solve(&dense(&[&[1.0]]), &[-1.0], &mut [bad]).status,
            Status::Solved
        );
    }
}

#[test]
fn the_answer_does_not_depend_on_units() {
    let mut random = Random::new(5);
    for _ in 0..100 {
        let n = 3 + random.below(5);
        let m = gram(&mut random, n, n, 0.1);
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let scale: Vec<f64> = (0..n)
            .map(|_| 4.0_f64.powi(random.below(13) as i32 - 6))
            .collect();
        let mut scaled = Dense::zeros(n, n);
        let mut scaled_q = vec![0.0; n];
        for i in 0..n {
            for j in 0..n {
                scaled[(i, j)] = scale[i] * m[(i, j)] * scale[j];
            }
            scaled_q[i] = scale[i] * q[i];
        }
        let (mut z, mut y) = (vec![0.0; n], vec![0.0; n]);
        assert!(solve(&m, &q, &mut z).is_solved());
        assert!(solve(&scaled, &scaled_q, &mut y).is_solved());
        for i in 0..n {
            // Powers of two: the bits are the same.
            assert_eq!(z[i].to_bits(), (scale[i] * y[i]).to_bits());
        }
    }
}

/// A matrix with small integers, zero rows, copied rows and singular parts.
fn degenerate(random: &mut Random, n: usize) -> (Dense, Vec<f64>) {
    let kind = random.below(6);
    let mut m = match kind {
        0 => gram(random, n, n / 2 + 1, 0.0),
        _ => {
            let mut m = Dense::zeros(n, n);
            for v in m.as_mut_slice() {
                *v = if kind == 1 {
                    random.signed()
                } else {
                    random.below(5) as f64 - 2.0
                };
            }
            m
        }
    };
    let mut q: Vec<f64> = (0..n)
        .map(|_| {
            if kind.is_multiple_of(2) {
                random.below(5) as f64 - 2.0
            } else {
                random.signed()
            }
        })
        .collect();
    if kind == 2 {
        // Symmetric, positive semidefinite, integers.
        let a = m.clone();
        for i in 0..n {
            for j in 0..n {
                m[(i, j)] = (0..n).map(|k| a[(k, i)] * a[(k, j)]).sum();
            }
        }
    }
    if n > 1 && random.below(3) == 0 {
        let (i, j) = (random.below(n), random.below(n));
        let row = m.row(i).to_vec();
        m.row_mut(j).copy_from_slice(&row);
        for k in 0..n {
            m[(k, j)] = m[(k, i)];
        }
        q[j] = q[i];
    }
    if random.below(12) == 0 {
        let i = random.below(n);
        q[i] *= 10.0_f64.powi(random.below(31) as i32 - 15);
    }
    (m, q)
}

/// 100 000 small problems of every kind: no panic, no NaN, nothing called solved that is not, and
/// nothing called unsolvable that enumeration solves.
#[test]
fn fuzzed_small_problems() {
    let mut random = Random::new(7);
    let mut solver = MlcpSolver::default();
    let mut counts = [0_u32; 2];
    for case in 0..100_000 {
        let n = 1 + random.below(5);
        let (m, q) = degenerate(&mut random, n);
        let equalities = if random.below(3) == 0 {
            random.below(n + 1)
        } else {
            0
        };
        let problem = Mlcp {
            equalities,
            matrix: &m,
            q: &q,
        };
        let mut z: Vec<f64> = (0..n)
            .map(|_| {
                if random.below(2) == 0 {
                    0.0
                } else {
                    random.signed()
                }
            })
            .collect();
        let outcome = solver.solve(&problem, &mut z, Tolerance::default());
        assert!(z.iter().all(|v| v.is_finite()), "case {case}: {m:?} {q:?}");
        if outcome.is_solved() {
            counts[0] += 1;
            assert!(problem.relative_residual(&z) <= 1e-12, "case {case}");
            assert!(z[equalities..].iter().all(|&v| v >= 0.0), "case {case}");
        } else {
            counts[1] += 1;
            // `Inaccurate` admits that a solution exists; rounding of its large entries keeps it from the tolerance.
            if n <= 4 && outcome.status != Status::Inaccurate {
                let all = enumerate(&problem, 1e-12).solutions;
                assert!(
                    all.is_empty(),
                    "case {case}: {outcome:?} but {all:?} solves {equalities} {m:?} {q:?}"
                );
            }
        }
    }
    println!("solved {}, not solvable {}", counts[0], counts[1]);
}

/// Of a skew matrix (monotone, not symmetric) the projected gradient goes in circles or away; it says so, with a point.
#[test]
fn the_projected_gradient_never_ends_in_nan() {
    let mut random = Random::new(19);
    for case in 0..1500 {
        let n = 2 + random.below(6);
        let mut m = Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..i {
                m[(i, j)] = random.signed() * 10.0_f64.powi(random.below(5) as i32 - 2);
                m[(j, i)] = -m[(i, j)];
            }
        }
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let problem = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        let mut z = vec![0.0; n];
        let end = lcp::solve(
            &problem,
            LcpSolver::ProjectedGradient,
            Tolerance::default(),
            &mut z,
        );
        assert!(
            z.iter().all(|v| v.is_finite()) && end.outcome.residual.is_finite(),
            "case {case}: {end:?} {z:?}"
        );
        assert!(
            matches!(
                end.outcome.status,
                Status::Solved | Status::Diverging | Status::IterationLimit
            ),
            "case {case}: {end:?}"
        );
    }
}

#[test]
fn redundant_problems_of_known_seeds_are_solved_in_both_orders() {
    for seed in (1..2000).chain([146_741]) {
        order_does_not_matter(seed).unwrap();
    }
}

/// Positive semidefinite with q in the range of M: solvable; w is unique, so a shuffled copy has the same w,
/// and the canonical z is shuffled along.
fn order_does_not_matter(seed: u64) -> Result<(), TestCaseError> {
    let mut random = Random::new(seed);
    let n = 2 + random.below(7);
    let rank = 1 + random.below(n);
    let m = gram(&mut random, n, rank, 0.0);
    let x: Vec<f64> = (0..n).map(|_| random.unit() - 0.2).collect();
    let mut q = vec![0.0; n];
    m.apply(&x, &mut q);
    for v in &mut q {
        *v = -*v + random.unit() * random.below(2) as f64;
    }
    let mut z = vec![0.0; n];
    let outcome = solve(&m, &q, &mut z);
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    let mut p = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            p[(i, j)] = m[(order[i], order[j])];
        }
    }
    let pq: Vec<f64> = order.iter().map(|&i| q[i]).collect();
    let mut pz = vec![0.0; n];
    let again = solve(&p, &pq, &mut pz);
    prop_assert_eq!(outcome.status, again.status);
    if outcome.is_solved() {
        let size = 1.0 + max_abs(&z);
        for i in 0..n {
            prop_assert!(
                (pz[i] - z[order[i]]).abs() <= 1e-8 * size,
                "{:?} {:?}",
                z,
                pz
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn redundant_problems_are_solved_whatever_the_order(seed in 1_u64..1_000_000) {
        order_does_not_matter(seed)?;
    }
}

/// `iteration-limit` means that the limit of the caller is spent, whatever the method, the form of the matrix and the problem.
#[test]
fn the_limit_that_is_spent_is_the_callers() {
    let mut random = Random::new(271);
    let mut words = std::collections::BTreeMap::new();
    for round in 0..60 {
        let n = [3, 6, 14, 40][round % 4];
        let mut m = gram(&mut random, n, n.div_ceil(2), 0.0);
        // Neither monotone nor P; in every second round without a solution more often than not.
        for v in m.as_mut_slice() {
            *v = if round % 3 == 0 { *v } else { random.signed() };
        }
        for i in 0..n {
            m[(i, i)] = m[(i, i)].abs() + 1e-3;
        }
        let q: Vec<f64> = (0..n).map(|_| random.signed() - 0.3).collect();
        let tolerance = Tolerance {
            max_iterations: 3000,
            ..Tolerance::default()
        };
        for (name, solver) in LcpSolver::ALL {
            let problem = Mlcp {
                equalities: 0,
                matrix: &m,
                q: &q,
            };
            let end = lcp::solve(&problem, solver, tolerance, &mut vec![0.0; n]).outcome;
            *words
                .entry((name, format!("{:?}", end.status)))
                .or_insert(0) += 1;
            if end.status == Status::IterationLimit {
                assert_eq!(end.iterations, 3000, "{name} {round}: {end:?}");
            }
        }
    }
    println!("{words:?}");
    let stalled = |name| words.contains_key(&(name, "Stalled".to_owned()));
    assert!(stalled("fischer-burmeister") && stalled("interior-point"));
    assert!(words.contains_key(&("newton-min", "Cycle".to_owned())));
}

/// Rounding brings a basis back on this problem of small numbers, which the lexicographic ratio test excludes.
#[test]
fn pivoting_does_not_go_round_for_ever() {
    let rows = [
        [0.5, -1.0, 0.0, 1.0, 1.0],
        [1.0, -1.0, 0.0, 0.0, 1.0],
        [-0.5, 1.0, -1.0, 0.0, -1.0],
        [2.0, -1.0, -1.0, 1.0, 0.0],
        [1.5, 0.0, -1.0, 0.0, -1.0],
    ];
    let mut matrix = Dense::zeros(5, 5);
    matrix.as_mut_slice().copy_from_slice(rows.as_flattened());
    let problem = Mlcp {
        equalities: 0,
        matrix: &matrix,
        q: &[-1.0, 1.0, -1.0, -1.0, 0.0],
    };
    let end = lcp::solve(
        &problem,
        LcpSolver::Lemke,
        Tolerance::default(),
        &mut [0.0; 5],
    );
    assert_eq!(end.outcome.status, Status::Inaccurate);
    assert!(end.outcome.iterations < 1000, "{:?}", end.outcome);
}

/// Random bimatrix games, `0 ≤ x ⟂ A y − 1 ≥ 0`, `0 ≤ y ⟂ Bᵀ x − 1 ≥ 0` with positive costs: each has an equilibrium.
#[test]
fn bimatrix_games_are_solved() {
    let mut random = Random::new(47);
    for (rows, columns) in [
        (1, 1),
        (3, 3),
        (5, 5),
        (8, 4),
        (10, 10),
        (15, 15),
        (20, 20),
        (30, 30),
    ] {
        for case in 0..20 {
            let n = rows + columns;
            let mut m = Dense::zeros(n, n);
            for i in 0..rows {
                for j in 0..columns {
                    m[(i, rows + j)] = 0.1 + random.unit();
                    m[(rows + j, i)] = 0.1 + random.unit();
                }
            }
            let q = vec![-1.0; n];
            let p = Mlcp {
                equalities: 0,
                matrix: &m,
                q: &q,
            };
            let mut z = vec![0.0; n];
            let end = lcp::solve(&p, LcpSolver::Auto, Tolerance::default(), &mut z);
            assert!(
                end.outcome.is_solved(),
                "{rows} x {columns}, {case}: {end:?}"
            );
            assert!(p.residual(&z) < 1e-12, "{rows} x {columns}, {case}");
        }
    }
}

/// A string over an obstacle: the exact contact set by sparse factors, of 2000 unknowns in a time that the dense ones of one set
/// would take.
#[test]
fn an_obstacle_of_many_unknowns() {
    let n = 2000;
    let h = 1.0 / (n + 1) as f64;
    let mut m = Dense::zeros(n, n);
    for i in 0..n {
        m[(i, i)] = 2.0 / (h * h);
        if i + 1 < n {
            m[(i, i + 1)] = -1.0 / (h * h);
            m[(i + 1, i)] = -1.0 / (h * h);
        }
    }
    // z = u − ψ with the load −8 and the flat obstacle −1/4: contact where |x − ½| < ½ − ¼.
    let at = |i: usize| i as f64 * h;
    let q: Vec<f64> = (1..=n)
        .map(|i| {
            let end = |k: usize| {
                if k == 0 || k == n + 1 {
                    0.25 / (h * h)
                } else {
                    0.0
                }
            };
            8.0 - end(i - 1) - end(i + 1)
        })
        .collect();
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    for solver in [LcpSolver::Auto, LcpSolver::NewtonMin] {
        let mut z = vec![0.0; n];
        let end = lcp::solve(&p, solver, Tolerance::default(), &mut z);
        assert!(end.outcome.is_solved(), "{end:?}");
        for (i, z) in z.iter().enumerate() {
            // −u'' = −8 from u = 0 with u' = 0 at the free boundary x = ¼: u + ¼ = 4 (x − ¼)².
            let x = at(i + 1).min(1.0 - at(i + 1));
            let exact = if x < 0.25 {
                4.0 * (x - 0.25).powi(2)
            } else {
                0.0
            };
            assert!((z - exact).abs() < 4.0 * h, "{i}: {z} {exact}");
        }
    }
}

/// A body of mass `1/δ` on a unit mass on the ground: `M = [[1, −1], [−1, 1 + δ]]` is positive definite as long as `1 + δ > 1`, and
/// no multipliers prove anything but by `δ`.
#[test]
fn a_heavy_body_on_a_light_one_is_not_infeasible() {
    for exponent in 8..=13 {
        let ratio = 10.0_f64.powi(exponent);
        let delta = (1.0 + 1.0 / ratio) - 1.0;
        let m = dense(&[&[1.0, -1.0], &[-1.0, 1.0 + delta]]);
        let q = [-0.00981, 0.0];
        let p = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        assert_eq!(p.infeasibility(), None, "{ratio:e}");
        let found = enumerate(&p, 1e-12);
        assert!(!found.refutes(), "{ratio:e}: {found:?}");
        let mut z = [0.0; 2];
        let end = MlcpSolver::default().solve(&p, &mut z, Tolerance::default());
        assert_ne!(end.status, Status::Infeasible, "{ratio:e}");
        let mut z = [0.0; 2];
        let end = lcp::solve(&p, LcpSolver::Auto, Tolerance::default(), &mut z);
        assert_ne!(end.outcome.status, Status::Infeasible, "{ratio:e}");
        // What rounding lets be represented is found.
        if exponent <= 10 {
            assert!(end.outcome.is_solved(), "{ratio:e}: {end:?}");
            assert!(
                (z[0] * delta / 0.00981 - 1.0).abs() < 1e-4,
                "{ratio:e}: {z:?}"
            );
        }
    }
    // What is squeezed is, up to the rounding of its data.
    let m = dense(&[&[1.0, -1.0], &[-1.0, 1.0]]);
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &[-0.00981, 0.0],
    };
    assert!(p.infeasibility().is_some() && enumerate(&p, 1e-12).refutes());
}

/// Sweeps over sparse rows end where those over all entries do.
#[test]
fn sweeps_over_sparse_rows_solve_an_obstacle_problem() {
    let n = 150;
    let mut m = Dense::zeros(n, n);
    for i in 0..n {
        m[(i, i)] = 2.1;
        if i + 1 < n {
            (m[(i, i + 1)], m[(i + 1, i)]) = (-1.0, -1.0);
        }
    }
    let q: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).sin()).collect();
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    let mut exact = vec![0.0; n];
    assert!(solve(&m, &q, &mut exact).is_solved());
    for omega in [1.0, 1.4] {
        let mut z = vec![0.0; n];
        let end = lcp::solve(&p, LcpSolver::Pgs { omega }, Tolerance::default(), &mut z);
        assert!(end.outcome.is_solved(), "{end:?}");
        assert!(distance(&z, &exact) < 1e-9);
    }
}
