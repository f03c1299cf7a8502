//! LU factorisation with row pivoting of a small dense matrix, reusing its storage.

use saltus_linear::{Dense, LinearError, Lu, max_abs};

/// From here on columns are eliminated in blocks.
const BLOCKED: usize = 200;

/// Without symmetry and without a large diagonal, so that rows are exchanged.
fn matrix(n: usize) -> Dense {
    let mut a = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            a[(i, j)] = ((i * 7 + j * 13) as f64 * 0.37).sin() + ((i + 3 * j) as f64).cos();
        }
        a[(i, (i + n / 3) % n)] += 4.0;
    }
    a
}

#[test]
fn solves_whatever_the_size() {
    for n in [1, 2, 3, 5, BLOCKED - 1, BLOCKED, BLOCKED + 57] {
        let a = matrix(n);
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut b = vec![0.0; n];
        a.apply(&x, &mut b);
        let mut lu = Lu::default();
        lu.factorise(&a).unwrap();
        lu.solve(&mut b);
        let error: Vec<f64> = b.iter().zip(&x).map(|(a, b)| a - b).collect();
        assert!(max_abs(&error) < 1e-11, "n = {n}: {}", max_abs(&error));
    }
}

#[test]
fn a_large_singular_matrix_is_an_error() {
    let n = BLOCKED + 5;
    let mut a = matrix(n);
    for j in 0..n {
        a[(4, j)] = a[(9, j)];
    }
    assert!(matches!(
        Lu::default().factorise(&a),
        Err(LinearError::Singular { .. })
    ));
}
