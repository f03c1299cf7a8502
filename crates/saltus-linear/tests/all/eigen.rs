//! Eigenvalues and eigenvectors of small matrices.

use saltus_linear::{Dense, dot, general_eigen, symmetric_eigen};

#[test]
fn a_chain_of_springs_has_the_eigenvalues_of_its_closed_form() {
    let n = 40;
    let mut a = Dense::zeros(n, n);
    for i in 0..n {
        a[(i, i)] = 2.0;
        if i > 0 {
            a[(i, i - 1)] = -1.0;
        }
    }
    let (values, vectors) = symmetric_eigen(&a);
    for (k, value) in values.iter().enumerate() {
        let angle = std::f64::consts::PI * (k + 1) as f64 / (2 * (n + 1)) as f64;
        assert!(
            (value - 4.0 * angle.sin().powi(2)).abs() < 1e-13,
            "{k}: {value}"
        );
        for l in 0..=k {
            let expected = f64::from(u8::from(k == l));
            let found = dot(vectors.row(k), vectors.row(l));
            assert!((found - expected).abs() < 1e-13, "{k} {l}: {found}");
        }
    }
}

#[test]
fn multiple_and_zero_eigenvalues_are_kept() {
    let mut a = Dense::zeros(4, 4);
    for i in 0..4 {
        for j in 0..4 {
            a[(i, j)] = 1.0;
        }
    }
    let (values, _) = symmetric_eigen(&a);
    assert!(values[..3].iter().all(|v| v.abs() < 1e-14), "{values:?}");
    assert!((values[3] - 4.0).abs() < 1e-14);
    assert_eq!(symmetric_eigen(&Dense::zeros(2, 2)).0, [0.0, 0.0]);
}

#[test]
fn complex_pairs_and_real_values_of_a_matrix_solve_its_equation() {
    let n = 7;
    let mut a = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            a[(i, j)] = ((3 * i + 5 * j * j + 1) % 7) as f64 - 3.0 + 0.1 * i as f64;
        }
    }
    let (values, vectors) = general_eigen(&a).unwrap();
    let product = |x: &[f64]| -> Vec<f64> { (0..n).map(|i| dot(a.row(i), x)).collect() };
    let mut pairs = 0;
    let mut k = 0;
    while k < n {
        let [re, im] = values[k];
        let x = vectors.row(k);
        let zero = vec![0.0; n];
        let (y, next) = if im == 0.0 {
            (zero.as_slice(), 1)
        } else {
            assert!(im > 0.0 && values[k + 1] == [re, -im]);
            pairs += 1;
            (vectors.row(k + 1), 2)
        };
        let (ax, ay) = (product(x), product(y));
        for i in 0..n {
            assert!((ax[i] - re * x[i] + im * y[i]).abs() < 1e-12);
            assert!((ay[i] - re * y[i] - im * x[i]).abs() < 1e-12);
        }
        k += next;
    }
    assert!(pairs > 0 && pairs < 4, "{values:?}");
}
