//! What counts as solved: every row by its own terms, whatever the units and whatever stands in the other rows.

use crate::support::{Random, dense};
use saltus_complementarity::lcp::{LcpSolver, solve};
use saltus_complementarity::{Mlcp, MlcpSolver, Status, Tolerance, enumerate};
use saltus_linear::Dense;

fn infeasible() -> Vec<(Dense, Vec<f64>)> {
    vec![
        // w = −z − 1e-9 is negative for every z ≥ 0.
        (dense(&[&[-1.0]]), vec![-1e-9]),
        // w₀ = −1 whatever z is; the second row is a billion times larger.
        (dense(&[&[0.0, 0.0], &[0.0, 1.0]]), vec![-1.0, -1e9]),
        (dense(&[&[-1.0, 0.0], &[0.0, 1.0]]), vec![-1.0, -1e16]),
        (dense(&[&[-1.0, 0.0], &[1e-6, 1.0]]), vec![-1.0, -1e16]),
        // Squeezed, beside a row that has nothing to do with it.
        (
            dense(&[&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.0], &[0.0, 0.0, 1.0]]),
            vec![-1e-6, -1e-6, -1e12],
        ),
    ]
}

#[test]
fn a_small_row_is_not_excused_by_a_large_one() {
    for (m, q) in infeasible() {
        let n = q.len();
        let p = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        assert!(enumerate(&p, 1e-12).solutions.is_empty(), "{q:?}");
        for (name, solver) in LcpSolver::ALL {
            let mut z = vec![0.0; n];
            let end = solve(&p, solver, Tolerance::default(), &mut z);
            assert!(!end.outcome.is_solved(), "{name} {q:?} {z:?}");
            if solver == LcpSolver::Auto {
                assert_eq!(end.outcome.status, Status::Infeasible, "{q:?}");
                assert!(end.certificate.is_some(), "{q:?}");
            }
        }
        let end = MlcpSolver::default().solve(&p, &mut vec![0.0; n], Tolerance::default());
        assert!(!end.is_solved(), "{q:?}");
    }
}

/// `w_i → a_i w_i`, `z_j → z_j/b_j` of a random problem: the same verdict, and the same solution in other units.
#[test]
fn units_do_not_change_the_verdict() {
    let mut random = Random::new(17);
    let mut counts = [0; 2];
    for case in 0..2000 {
        let n = 1 + random.below(5);
        let mut m = Dense::zeros(n, n);
        for v in m.as_mut_slice() {
            *v = random.below(5) as f64 - 2.0;
        }
        let q: Vec<f64> = (0..n).map(|_| random.below(5) as f64 - 2.0).collect();
        let mut power = || 2.0_f64.powi(random.below(61) as i32 - 30);
        let a: Vec<f64> = (0..n).map(|_| power()).collect();
        let b: Vec<f64> = (0..n).map(|_| power()).collect();
        let mut other = Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                other[(i, j)] = a[i] * m[(i, j)] * b[j];
            }
        }
        let other_q: Vec<f64> = (0..n).map(|i| a[i] * q[i]).collect();
        let p = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        let changed = Mlcp {
            equalities: 0,
            matrix: &other,
            q: &other_q,
        };
        // Of a point: powers of two change no bit.
        let z: Vec<f64> = (0..n).map(|_| random.unit() - 0.1).collect();
        let y: Vec<f64> = (0..n).map(|i| z[i] / b[i]).collect();
        let (one, two) = (p.relative_residual(&z), changed.relative_residual(&y));
        assert_eq!(one.to_bits(), two.to_bits(), "case {case}");
        // Of all solutions.
        let (all, same) = (
            enumerate(&p, 1e-12).solutions,
            enumerate(&changed, 1e-12).solutions,
        );
        assert_eq!(
            all.is_empty(),
            same.is_empty(),
            "case {case} {m:?} {q:?} {a:?} {b:?} {all:?} {same:?}"
        );
        let mut y = vec![0.0; n];
        let end = solve(&changed, LcpSolver::Auto, Tolerance::default(), &mut y);
        assert_eq!(
            end.outcome.is_solved(),
            !all.is_empty(),
            "case {case} {m:?} {q:?}: {end:?} {all:?}"
        );
        if end.outcome.is_solved() {
            let z: Vec<f64> = (0..n).map(|i| y[i] * b[i]).collect();
            assert!(p.relative_residual(&z) <= 1e-12, "case {case}");
            counts[0] += 1;
        } else {
            counts[1] += 1;
        }
    }
    println!("solved {}, without a solution {}", counts[0], counts[1]);
    assert!(counts.iter().all(|&c| c > 200), "{counts:?}");
}

/// With `q` from a cancellation, known to 1e-16 only, two conditions that agree up to that are no contradiction: the caller says so.
#[test]
fn a_floor_is_the_round_off_of_q() {
    let m = dense(&[&[1.0, -1.0], &[-1.0, 1.0]]);
    let q = [-1e-16, -1e-16];
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    let strict = Tolerance::default();
    let end = solve(&p, LcpSolver::Auto, strict, &mut [0.0; 2]);
    assert_eq!(end.outcome.status, Status::Infeasible);
    let coarse = Tolerance {
        floor: 1e-15,
        ..strict
    };
    let mut z = [0.0; 2];
    assert!(
        solve(&p, LcpSolver::Auto, coarse, &mut z)
            .outcome
            .is_solved()
    );
    assert!(MlcpSolver::default().solve(&p, &mut z, coarse).is_solved());
    assert!(z.iter().all(|z| *z < 1e-15));
}

/// Rows of zeros, and unknowns no row feels.
#[test]
fn nothing_is_divided_by_nothing() {
    let m = dense(&[&[1.0, 0.0, 0.0], &[0.0, 0.0, 0.0], &[0.0, 0.0, 2.0]]);
    for (q, z, relative) in [
        ([0.0, 0.0, 0.0], [0.0; 3], 0.0),
        ([0.0, 0.0, -4.0], [0.0, 0.0, 2.0], 0.0),
        // z₁ > 0 with w₁ = 0 is a solution, with w₁ = 1 not, though no row feels z₁.
        ([0.0, 0.0, 0.0], [0.0, 1.0, 0.0], 0.0),
        ([0.0, 1.0, 0.0], [0.0, 1e-20, 0.0], 1.0 - 1e-14),
        // Nothing asks for z₀ = 1e-20; beside q₀ = 1 it is nothing.
        ([0.0, 0.0, 0.0], [1e-20, 0.0, 0.0], f64::INFINITY),
        ([1.0, 0.0, 0.0], [1e-20, 0.0, 0.0], 0.0),
        ([-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], 1.0 - 1e-14),
    ] {
        let p = Mlcp {
            equalities: 0,
            matrix: &m,
            q: &q,
        };
        assert_eq!(p.relative_residual(&z), relative, "{q:?} {z:?}");
    }
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &[f64::NAN, 0.0, 0.0],
    };
    assert!(p.relative_residual(&[0.0; 3]).is_nan());
}

/// Two conditions that squeeze: the unknowns grow, the defect stays, and its share of the terms goes to zero. That is no solution.
#[test]
fn unknowns_that_run_away_do_not_solve() {
    let m = dense(&[&[1.0, -1.0], &[-1.0, 1.0]]);
    for size in [1e3, 1e6, 1e8] {
        for (q, least) in [([-1.0, -1.0], 0.1), ([-1.0, 1.0 - 1e-5], 1e-6)] {
            let p = Mlcp {
                equalities: 0,
                matrix: &m,
                q: &q,
            };
            let x: f64 = p.relative_residual(&[size + 0.5, size - 0.5]);
            assert!(x > least, "{q:?} {size}: {x}");
        }
    }
    let q = [-1.0, 1.0 - 1e-5];
    let p = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    let loose = Tolerance {
        residual: 1e-8,
        max_iterations: 100_000,
        ..Tolerance::default()
    };
    for (name, solver) in LcpSolver::ALL {
        let end = solve(&p, solver, loose, &mut [0.0; 2]);
        assert!(!end.outcome.is_solved(), "{name}");
    }
}

/// Rows and unknowns in units far apart: a solution is there, and no multiplier may say that it is not.
#[test]
fn units_far_apart_make_no_proof() {
    for unit in [1e-9, 1e-11, 1e-12, 1e-13] {
        let mut matrix = Dense::zeros(13, 13);
        (matrix[(0, 1)], matrix[(0, 2)], matrix[(3, 3)]) = (unit, -1.0, 8.0);
        let mut q = vec![0.0; 13];
        (q[0], q[3]) = (-1.0, -16.0);
        let problem = Mlcp {
            equalities: 0,
            matrix: &matrix,
            q: &q,
        };
        assert_eq!(problem.infeasibility(), None, "{unit:e}");
        // The same without what makes it solvable.
        matrix[(0, 1)] = -unit;
        let problem = Mlcp {
            equalities: 0,
            matrix: &matrix,
            q: &q,
        };
        let y = problem.infeasibility().unwrap();
        assert!(y[0] > 0.0 && q[0] * y[0] + q[3] * y[3] < 0.0);
    }
}
