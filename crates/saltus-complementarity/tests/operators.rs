//! The same problem with its matrix dense, in blocks, sparse and known by its products only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, GlobalFriction, Limits, solve, solve_global,
};
use saltus_complementarity::lcp::{DENSE_LIMIT, LcpOperator, LcpSolver, OperatorMlcp};
use saltus_complementarity::{BlockMatrix, Mlcp, Product, SparseMatrix, Status, Tolerance};
use saltus_linear::Dense;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::Random;

/// Counts its products.
#[derive(Debug)]
struct Counted(Dense, AtomicUsize);

impl Product for Counted {
    fn size(&self) -> usize {
        self.0.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.1.fetch_add(1, Ordering::Relaxed);
        Product::apply(&self.0, x, y);
    }

    fn work(&self) -> f64 {
        self.0.work()
    }
}

/// `GᵀG + shift`, symmetric and positive definite.
fn gram(random: &mut Random, n: usize, shift: f64) -> Dense {
    let g: Vec<f64> = (0..n * n).map(|_| random.signed()).collect();
    let mut m = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            m[(i, j)] = (0..n).map(|k| g[k * n + i] * g[k * n + j]).sum::<f64>() / n as f64;
        }
        m[(i, i)] += shift;
    }
    m
}

fn entries(m: &Dense) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
    let n = m.cols();
    m.as_slice()
        .iter()
        .enumerate()
        .map(move |(k, v)| (k / n, k % n, *v))
}

fn sharp() -> Limits<'static> {
    Limits {
        tolerance: 1e-12,
        ..Limits::default()
    }
}

#[test]
fn friction_has_the_same_answer_with_every_operator() {
    let mut random = Random::new(7);
    for contacts in [1, 3, 10] {
        let n = 3 * contacts;
        let m = gram(&mut random, n, 0.5);
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let mu = vec![0.3; contacts];
        let blocks = BlockMatrix::from_triplets(3, contacts, entries(&m));
        let free: Arc<dyn Product> = Arc::new(Counted(m.clone(), AtomicUsize::new(0)));
        let problems = [
            FrictionContact::new(m, q.clone(), mu.clone(), Vec::new()).unwrap(),
            FrictionContact::new(blocks, q.clone(), mu.clone(), Vec::new()).unwrap(),
            FrictionContact::new(free, q, mu, Vec::new()).unwrap(),
        ];
        assert!(problems[2].is_matrix_free() && !problems[0].is_matrix_free());
        assert_eq!(problems[0].delassus(), problems[1].delassus());
        for (name, solver) in [
            ("auto", FrictionSolver::Auto),
            ("projected-gradient", FrictionSolver::ProjectedGradient),
            ("nsgs", FrictionSolver::named("nsgs").unwrap()),
        ] {
            let answers: Vec<Vec<f64>> = problems
                .iter()
                .map(|p| {
                    let mut r = vec![0.0; n];
                    let end = solve(p, solver, sharp(), &mut r);
                    assert!(end.outcome.is_solved(), "{name}: {end:?}");
                    assert!(p.residual(&r).eta <= 1e-12 && p.residual(&r).impulse <= 1e-11);
                    r
                })
                .collect();
            for r in &answers[1..] {
                for (a, b) in r.iter().zip(&answers[0]) {
                    assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn only_products_are_asked_for_where_they_suffice() {
    let mut random = Random::new(11);
    let n = 60;
    let m = gram(&mut random, n, 1.0);
    let operator = Arc::new(Counted(m, AtomicUsize::new(0)));
    let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
    let free: Arc<dyn Product> = Arc::<Counted>::clone(&operator);
    let p = FrictionContact::new(free, q, vec![0.4; n / 3], Vec::new()).unwrap();
    // The diagonal blocks take one product a column; nothing else is known of the matrix.
    assert_eq!(operator.1.load(Ordering::Relaxed), n);
    let mut r = vec![0.0; n];
    let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
    assert!(end.outcome.is_solved(), "{end:?}");
    let diagonal = p.delassus();
    assert_eq!(diagonal.stored(), n / 3);
}

#[test]
fn squeezing_is_proven_infeasible_without_a_matrix() {
    // A rigid plate between two walls that move together: u_n = ±v + q.
    let normal = [1.0, -1.0];
    let h: Vec<_> = (0..2).map(|k| (0, 3 * k, normal[k])).collect();
    let mass = SparseMatrix::from_triplets(1, 1, &[(0, 0, 2.0)]);
    let h = SparseMatrix::from_triplets(1, 6, &h);
    let bias = vec![-1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
    let p = GlobalFriction::new(3, mass, h, vec![0.0], bias, vec![0.5; 2], Vec::new()).unwrap();
    let proof = p.infeasibility().unwrap().expect("nothing solves this");
    assert!((proof[0] - proof[1]).abs() < 1e-12 && proof[0] > 0.0);
    let mut r = vec![0.0; 6];
    let end = solve_global(
        &p,
        FrictionSolver::ProjectedGradient,
        Limits {
            max_iterations: 500,
            ..Limits::default()
        },
        &mut r,
    )
    .unwrap();
    assert_eq!(end.outcome.status, Status::Infeasible);
}

#[test]
fn linear_complementarity_has_the_same_answer_with_every_operator() {
    let mut random = Random::new(3);
    for n in [1, 5, 40, 90] {
        for equalities in [0, n / 5] {
            let m = gram(&mut random, n, 1.0);
            let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
            let list: Vec<_> = entries(&m).collect();
            let sparse = SparseMatrix::from_triplets(n, n, &list);
            let free = Counted(m.clone(), AtomicUsize::new(0));
            let mut reference = vec![0.0; n];
            let dense = Mlcp {
                equalities,
                matrix: &m,
                q: &q,
            };
            let tolerance = Tolerance::default();
            let end = saltus_complementarity::lcp::solve(
                &dense,
                LcpSolver::Auto,
                tolerance,
                &mut reference,
            );
            assert!(end.outcome.is_solved());
            assert!(dense.residual_impulse(&reference) < 1e-10);
            for operator in [
                LcpOperator::Dense(&m),
                LcpOperator::Sparse(&sparse),
                LcpOperator::Free(&free),
            ] {
                let p = OperatorMlcp {
                    equalities,
                    operator,
                    q: &q,
                };
                for name in ["auto", "newton-min", "pgs", "projected-gradient", "lemke"] {
                    let mut z = vec![0.0; n];
                    let end = p
                        .solve(LcpSolver::named(name).unwrap(), tolerance, &mut z)
                        .unwrap();
                    assert!(
                        end.outcome.is_solved(),
                        "{name} {n} {equalities} {operator:?}: {end:?}"
                    );
                    assert!((p.residual(&z) - end.outcome.residual).abs() < 1e-13);
                    for (a, b) in z.iter().zip(&reference) {
                        assert!((a - b).abs() < 1e-8, "{name}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_large_obstacle_problem_is_solved_sparsely() {
    // A string over a parabolic obstacle, 5000 nodes; too large to be made dense.
    let n = 5000;
    let h = 1.0 / (n as f64 + 1.0);
    let mut list = Vec::new();
    let obstacle = |i: usize| {
        let x = (i as f64 + 1.0) * h;
        0.2 - 2.0 * (x - 0.5) * (x - 0.5)
    };
    for i in 0..n {
        list.push((i, i, 2.0));
        if i > 0 {
            list.push((i, i - 1, -1.0));
            list.push((i - 1, i, -1.0));
        }
    }
    let m = SparseMatrix::from_triplets(n, n, &list);
    let lift: Vec<f64> = (0..n).map(obstacle).collect();
    let mut q = vec![0.0; n];
    m.apply_add(1.0, &lift, &mut q);
    assert!(n > DENSE_LIMIT);
    let p = OperatorMlcp {
        equalities: 0,
        operator: LcpOperator::Sparse(&m),
        q: &q,
    };
    let mut z = vec![0.0; n];
    let end = p
        .solve(LcpSolver::Auto, Tolerance::default(), &mut z)
        .unwrap();
    assert!(end.outcome.is_solved(), "{end:?}");
    // The tangent from the origin touches where y = x y', that is 2 x² = 0.3.
    let touch = 0.15_f64.sqrt();
    let first = (0..n).find(|&i| z[i] <= 1e-12).unwrap();
    assert!(((first as f64 + 1.0) * h - touch).abs() < 2.0 * h);
    let error = p
        .solve(LcpSolver::Lemke, Tolerance::default(), &mut z)
        .unwrap_err();
    assert!(error.to_string().contains("newton-min"), "{error}");
}

/// A plate on hundreds of legs: the systems of Newton's method stay as small as the one body is.
#[test]
fn one_body_on_many_legs_is_cheap_in_its_own_space() {
    let legs = 150;
    let mut entries = Vec::new();
    for i in 0..legs {
        let (y, x) = (0.37 * i as f64).sin_cos();
        let place = 0.2 + 0.8 * ((i * 7) % 11) as f64 / 11.0;
        let (x, y) = (place * x, place * y);
        // Velocities along z, x, y, turning about x, y, z; components n, t1 = x, t2 = y.
        for (k, row, v) in [
            (0, 0, 1.0),
            (0, 3, y),
            (0, 4, -x),
            (1, 1, 1.0),
            (1, 5, -y),
            (2, 2, 1.0),
            (2, 5, x),
        ] {
            entries.push((row, 3 * i + k, v));
        }
    }
    let h = SparseMatrix::from_triplets(6, 3 * legs, &entries);
    let masses = [2.0, 2.0, 2.0, 0.5, 0.5, 1.0];
    let diagonal: Vec<_> = masses.iter().enumerate().map(|(k, m)| (k, k, *m)).collect();
    let mass = SparseMatrix::from_triplets(6, 6, &diagonal);
    let (force, mu) = (vec![-0.2, 0.5, 0.1, 0.01, -0.02, 0.05], vec![0.3; legs]);
    let bias = vec![0.0; 3 * legs];
    let p = GlobalFriction::new(3, mass, h, force, bias, mu, Vec::new()).unwrap();
    let run = |name: &str| {
        let mut r = vec![0.0; 3 * legs];
        let limits = Limits {
            tolerance: 1e-10,
            ..Limits::default()
        };
        let end = solve_global(&p, FrictionSolver::named(name).unwrap(), limits, &mut r).unwrap();
        assert!(end.outcome.is_solved(), "{name}: {end:?}");
        let v = p.generalised_velocity(&p.factorised_mass().unwrap(), &r);
        (end.work, end.outcome.iterations, v)
    };
    let (bodies, contacts) = (run("proximal-newton-bodies"), run("proximal-newton"));
    println!(
        "{} and {} iterations, work {:.1e} and {:.1e}",
        bodies.1, contacts.1, bodies.0, contacts.0
    );
    assert!(bodies.1 <= contacts.1 + 2 && 50.0 * bodies.0 < contacts.0);
    for (a, b) in bodies.2.iter().zip(&contacts.2) {
        assert!((a - b).abs() <= 1e-8, "{:?} {:?}", bodies.2, contacts.2);
    }
}
