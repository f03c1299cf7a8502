//! Mixed problems: equalities with free unknowns beside complementarity.

use crate::support::{Random, dense};
use saltus_complementarity::{Mlcp, MlcpSolver, Status, Tolerance, enumerate};
use saltus_linear::max_abs;

#[test]
fn only_equalities_is_a_linear_system() {
    let m = dense(&[&[2.0, 1.0], &[0.0, 4.0]]);
    let problem = Mlcp {
        equalities: 2,
        matrix: &m,
        q: &[-3.0, 8.0],
    };
    let mut z = [0.0; 2];
    assert!(
        MlcpSolver::default()
            .solve(&problem, &mut z, Tolerance::default())
            .is_solved()
    );
    assert!((z[0] - 2.5).abs() < 1e-15 && (z[1] + 2.0).abs() < 1e-15);
}

#[test]
fn a_constraint_written_twice_gets_half_each() {
    let m = dense(&[&[2.0, 2.0, 1.0], &[2.0, 2.0, 1.0], &[1.0, 1.0, 3.0]]);
    let problem = Mlcp {
        equalities: 2,
        matrix: &m,
        q: &[-4.0, -4.0, 1.0],
    };
    let mut z = [0.0; 3];
    let outcome = MlcpSolver::default().solve(&problem, &mut z, Tolerance::default());
    assert_eq!((outcome.status, outcome.redundant), (Status::Solved, 1));
    assert!(
        (z[0] - 1.0).abs() < 1e-14 && (z[1] - 1.0).abs() < 1e-14 && z[2] == 0.0,
        "{z:?}"
    );
}

#[test]
fn contradictory_equalities_are_named() {
    let m = dense(&[&[2.0, 2.0, 1.0], &[2.0, 2.0, 1.0], &[1.0, 1.0, 3.0]]);
    let problem = Mlcp {
        equalities: 2,
        matrix: &m,
        q: &[-4.0, -5.0, 1.0],
    };
    let mut z = [0.0; 3];
    let outcome = MlcpSolver::default().solve(&problem, &mut z, Tolerance::default());
    assert_eq!(outcome.status, Status::Inconsistent);
    assert!(z.iter().all(|v| v.is_finite()));
}

/// Saddle-point form of a quadratic programme: the first block is not square-invertible on its own rows.
#[test]
fn optimality_system_of_a_quadratic_programme() {
    // min ½(x₁² + x₂²) − 3x₁ subject to x₁ + x₂ = 1, x ≥ 0; unknowns (multiplier, x₁, x₂).
    // Solution x = (1, 0), multiplier l with x₁ − 3 + l = 0: l = 2, and x₂'s slack is l = 2.
    let m = dense(&[&[0.0, -1.0, -1.0], &[1.0, 1.0, 0.0], &[1.0, 0.0, 1.0]]);
    let problem = Mlcp {
        equalities: 1,
        matrix: &m,
        q: &[1.0, -3.0, 0.0],
    };
    let mut z = [0.0; 3];
    let outcome = MlcpSolver::default().solve(&problem, &mut z, Tolerance::default());
    assert!(outcome.is_solved(), "{outcome:?}");
    assert!(
        (z[0] - 2.0).abs() < 1e-14 && (z[1] - 1.0).abs() < 1e-14 && z[2].abs() < 1e-14,
        "{z:?}"
    );
}

#[test]
fn random_problems_agree_with_enumeration() {
    let mut random = Random::new(11);
    let mut solver = MlcpSolver::default();
    for case in 0..300 {
        let n = 2 + random.below(8);
        let equalities = 1 + random.below(n.min(3));
        let a: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..n).map(|_| random.signed()).collect())
            .collect();
        let mut m = saltus_linear::Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                m[(i, j)] = a.iter().map(|r| r[i] * r[j]).sum::<f64>();
            }
            m[(i, i)] += 0.05;
        }
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let problem = Mlcp {
            equalities,
            matrix: &m,
            q: &q,
        };
        let mut z = vec![0.0; n];
        let outcome = solver.solve(&problem, &mut z, Tolerance::default());
        assert!(outcome.is_solved(), "case {case}");
        let all = enumerate(&problem, 1e-10).solutions;
        assert_eq!(all.len(), 1);
        let gap = all[0]
            .iter()
            .zip(&z)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(gap <= 1e-11 * (1.0 + max_abs(&z)), "case {case}: {gap}");
    }
}

#[test]
fn wrong_sizes_do_not_panic() {
    let m = dense(&[&[1.0, 0.0], &[0.0, 1.0]]);
    let problem = Mlcp {
        equalities: 5,
        matrix: &m,
        q: &[1.0, 1.0],
    };
    assert!(
        !MlcpSolver::default()
            .solve(&problem, &mut [0.0; 2], Tolerance::default())
            .is_solved()
    );
    let problem = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &[1.0],
    };
    assert!(
        !MlcpSolver::default()
            .solve(&problem, &mut [0.0], Tolerance::default())
            .is_solved()
    );
}
