//! Cholesky factorisation of a dense symmetric positive definite matrix, reusing its storage.

use saltus_linear::{Cholesky, Dense, max_abs};

/// Entries of a Gram matrix of waves, and a little on its diagonal.
fn entry(i: usize, j: usize) -> f64 {
    let apart = i.abs_diff(j) as f64;
    (-0.1 * apart).exp() + if i == j { 0.01 } else { 0.0 }
}

#[test]
fn solves_whatever_the_size() {
    for n in [1, 2, 33, 150, 301] {
        let mut a = Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                a[(i, j)] = entry(i, j);
            }
        }
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut b = vec![0.0; n];
        a.apply(&x, &mut b);
        let mut factors = Cholesky::default();
        factors.factorise(n, 1e-11, entry).unwrap();
        factors.solve(&mut b);
        let error: Vec<f64> = b.iter().zip(&x).map(|(a, b)| a - b).collect();
        assert!(max_abs(&error) < 1e-11, "n = {n}: {}", max_abs(&error));
    }
}

#[test]
fn a_matrix_that_is_not_positive_definite_or_nearly_singular_is_an_error() {
    let mut factors = Cholesky::default();
    let indefinite = |i: usize, j: usize| if i == j { 1.0 } else { 2.0 };
    assert!(factors.factorise(3, 0.0, indefinite).is_err());
    // Two rows alike.
    let alike = |i: usize, j: usize| entry(i.max(1), j.max(1));
    assert!(factors.factorise(80, 1e-11, alike).is_err());
    let unknown = |i: usize, j: usize| {
        if (i, j) == (1, 2) {
            f64::NAN
        } else {
            entry(i, j)
        }
    };
    assert!(factors.factorise(5, 1e-11, unknown).is_err());
}
