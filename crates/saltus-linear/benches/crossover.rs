//! Where sparse storage overtakes dense storage: time to fill, factorise and solve with matrices just above
//! [`DENSE_LIMIT`] unknowns, by structure. `cargo bench -p saltus-linear --bench crossover`.
#![allow(clippy::unwrap_used)]

use saltus_linear::{DENSE_LIMIT, Dense, Lu, MatrixSink, SquareMatrix};
use std::hint::black_box;
use std::time::Instant;

fn best(mut run: impl FnMut()) -> f64 {
    (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..20 {
                run();
            }
            start.elapsed().as_secs_f64() / 20.0
        })
        .fold(f64::INFINITY, f64::min)
}

/// Couplings up to `width` apart, and between the rows of a mesh `side` wide where that is given.
fn entries(n: usize, width: usize, side: usize, symmetric: bool) -> Vec<(usize, usize, f64)> {
    let mut all: Vec<_> = (0..n).map(|i| (i, i, 4.0 + 2.0 * width as f64)).collect();
    let mut couple = |i: usize, j: usize| {
        all.push((i, j, -1.0));
        all.push((j, i, if symmetric { -1.0 } else { -0.7 }));
    };
    for i in 0..n {
        (1..=width.min(i)).for_each(|k| couple(i, i - k));
        if side > width && i >= side {
            couple(i, i - side);
        }
    }
    all
}

fn main() {
    println!("unknowns  structure                dense LU µs  here µs  method");
    for n in [DENSE_LIMIT + 1, 100, 200, 400] {
        for (name, width, side, symmetric) in [
            ("chain", 1, 0, true),
            ("beams, 6 per node", 11, 0, true),
            ("beams, unsymmetric", 11, 0, false),
            ("mesh", 1, n / 8 * 3 + 1, true),
            ("mesh, unsymmetric", 1, n / 8 * 3 + 1, false),
        ] {
            let list = entries(n, width, side, symmetric);
            let mut x = vec![1.0; n];
            let (mut dense, mut lu) = (Dense::zeros(n, n), Lu::default());
            let slow = best(|| {
                dense.clear();
                list.iter().for_each(|&(i, j, v)| dense.entry(i, j, v));
                lu.factorise(&dense).unwrap();
                x.fill(1.0);
                lu.solve(black_box(&mut x));
            });
            let mut matrix = SquareMatrix::new(n);
            let fast = best(|| {
                matrix.clear();
                list.iter().for_each(|&(i, j, v)| matrix.entry(i, j, v));
                matrix.factorise().unwrap();
                x.fill(1.0);
                matrix.solve(black_box(&mut x));
            });
            println!(
                "{n:8}  {name:24} {:11.1} {:8.1}  {}",
                slow * 1e6,
                fast * 1e6,
                matrix.method()
            );
        }
    }
}
