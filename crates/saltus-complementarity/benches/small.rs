//! Time per solve of the smallest problems, the hot path of a time step.

use saltus_complementarity::{Mlcp, MlcpSolver, Tolerance};
use saltus_linear::Dense;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let mut solver = MlcpSolver::default();
    for n in [0, 1, 2, 3, 6, 12] {
        let mut m = Dense::zeros(n, n);
        for i in 0..n {
            m[(i, i)] = 2.0;
            if i > 0 {
                m[(i, i - 1)] = -0.9;
                m[(i - 1, i)] = -0.9;
            }
        }
        let q: Vec<f64> = (0..n)
            .map(|i| if i % 3 == 2 { 1.0 } else { -1.0 })
            .collect();
        let mut z = vec![0.0; n];
        let start = Instant::now();
        let count = 1_000_000 / (1 + n as u32 * n as u32);
        for _ in 0..count {
            let problem = Mlcp {
                equalities: 0,
                matrix: black_box(&m),
                q: black_box(&q),
            };
            black_box(solver.solve(&problem, black_box(&mut z), Tolerance::default()));
        }
        println!(
            "n = {n:2}: {:8.1} ns per solve",
            start.elapsed().as_nanos() as f64 / f64::from(count)
        );
    }
}
