//! Iterations allocate nothing: ten times as many make as many calls of the allocator.

#![allow(clippy::unwrap_used)]

#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::CALLS;
use saltus_complementarity::friction::{FrictionContact, FrictionSolver, Limits, solve};
use saltus_complementarity::lcp::{self, LcpSolver};
use saltus_complementarity::{BlockMatrix, Mlcp, Product, Tolerance};
use saltus_linear::Dense;
use std::sync::Arc;
use support::Random;

fn calls(run: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    run();
    CALLS.get() - before
}

fn gram(n: usize, rank: usize) -> Dense {
    let mut random = Random::new(5);
    let g: Vec<f64> = (0..rank * n).map(|_| random.signed()).collect();
    let mut m = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            m[(i, j)] = (0..rank).map(|k| g[k * n + i] * g[k * n + j]).sum();
        }
    }
    m
}

#[test]
fn iterations_on_friction_allocate_nothing() {
    let contacts = 20;
    let n = 3 * contacts;
    let m = gram(n, n);
    let q: Vec<f64> = (0..n).map(|i| (i as f64).sin() - 0.3).collect();
    let list = m.as_slice().iter().enumerate();
    let blocks = BlockMatrix::from_triplets(3, contacts, list.map(|(k, v)| (k / n, k % n, *v)));
    let free: Arc<dyn Product> = Arc::new(m);
    let mu = vec![0.5; contacts];
    let dense = FrictionContact::new(blocks, q.clone(), mu.clone(), Vec::new()).unwrap();
    let free = FrictionContact::new(free, q, mu, Vec::new()).unwrap();
    for (name, p) in [
        ("nsgs", &dense),
        ("nsgs-symmetric", &dense),
        ("projected-gradient", &dense),
        ("projected-gradient", &free),
    ] {
        let solver = FrictionSolver::named(name).unwrap();
        let mut r = vec![0.0; n];
        let mut run = |iterations| {
            r.fill(0.0);
            let limits = Limits {
                tolerance: 1e-300,
                max_iterations: iterations,
                ..Limits::default()
            };
            calls(|| {
                solve(p, solver, limits, &mut r);
            })
        };
        // Both are long enough for the one search for a proof of infeasibility. At the end, a point beside its cones takes one
        // more buffer to be put into them.
        let (few, many) = (run(1000), run(4000));
        assert!(few.abs_diff(many) <= 1, "{name}: {few} and {many} calls");
    }
}

#[test]
fn sweeps_on_linear_complementarity_allocate_nothing() {
    let n = 40;
    let m = gram(n, n);
    let q: Vec<f64> = (0..n).map(|i| (i as f64).cos() - 0.2).collect();
    let problem = Mlcp {
        equalities: 0,
        matrix: &m,
        q: &q,
    };
    for name in ["pgs", "psor", "projected-gradient"] {
        let solver = LcpSolver::named(name).unwrap();
        let mut z = vec![0.0; n];
        let mut run = |max_iterations| {
            z.fill(0.0);
            let tolerance = Tolerance {
                residual: 1e-300,
                max_iterations,
                ..Tolerance::default()
            };
            calls(|| {
                lcp::solve(&problem, solver, tolerance, &mut z);
            })
        };
        let (few, many) = (run(50), run(500));
        assert!(many <= few, "{name}: {few}, {many}");
    }
}
