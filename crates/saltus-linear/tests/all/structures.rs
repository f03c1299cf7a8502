//! Every storage and factorisation behind [`SquareMatrix`] against the dense one.

use proptest::prelude::*;
use saltus_linear::{Dense, Lu, MatrixSink, SquareMatrix, max_abs};

type Entries = Vec<(usize, usize, f64)>;

/// A number in (−1, 1) that `k` decides.
fn number(k: usize) -> f64 {
    2.0 * ((k as f64 + 1.0) * std::f64::consts::SQRT_2).fract() - 1.0
}

/// Fills, factorises and compares solve, products, form and diagonal with the dense matrix; the method used.
fn compare(n: usize, entries: &Entries) -> &'static str {
    let (mut a, mut dense) = (SquareMatrix::new(n), Dense::zeros(n, n));
    for &(i, j, v) in entries {
        dense.entry(i, j, v);
    }
    // Twice: into an unknown pattern and into a known one.
    for _ in 0..2 {
        a.clear();
        for &(i, j, v) in entries {
            a.entry(i, j, v);
        }
        let x: Vec<f64> = (0..n).map(number).collect();
        let y: Vec<f64> = (0..n).map(|i| number(3 * i + 1)).collect();
        let (mut ax, mut expected) = (vec![0.0; n], vec![0.0; n]);
        dense.apply(&x, &mut expected);
        a.apply(&x, &mut ax);
        let size = 1.0 + max_abs(&expected);
        assert_close(&ax, &expected, 1e-14 * size);
        assert!((a.form(&y, &x) - dense.form(&y, &x)).abs() <= 1e-12 * size * n as f64);
        let mut diagonal = vec![0.0; n];
        a.diagonal(&mut diagonal);
        assert!((0..n).all(|i| (diagonal[i] - dense[(i, i)]).abs() <= 1e-15 * size));

        let mut lu = Lu::default();
        lu.factorise(&dense).unwrap();
        lu.solve(&mut expected);
        a.factorise().unwrap();
        let mut solved = ax.clone();
        a.solve(&mut solved);
        assert_close(&solved, &x, 1e-9);
        let mut scaled = ax.clone();
        a.solve_scaled(-2.0, &mut scaled);
        let doubled: Vec<f64> = x.iter().map(|x| -2.0 * x).collect();
        assert_close(&scaled, &doubled, 1e-9);
        let mut ay = vec![0.0; n];
        a.apply(&y, &mut ay);
        a.product_pair(&x, &y, |first, one, two| {
            assert_close(one, &ax[first..first + one.len()], 1e-13 * size);
            assert_close(two, &ay[first..first + two.len()], 1e-13 * size);
        });
        let mut many = [ax.clone(), ax.clone(), ax].concat();
        a.solve_many(&mut many);
        assert_close(&many[n..2 * n], &solved, 1e-12);
    }
    a.method()
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} {b}");
    }
}

/// A chain whose neighbours up to `width` apart touch.
fn chain(n: usize, width: usize, symmetric: bool, diagonal: f64) -> Entries {
    let mut entries = Vec::new();
    for i in 0..n {
        entries.push((i, i, diagonal + 0.1 * number(i)));
        for k in 1..=width.min(i) {
            let v = number(i * width + k);
            entries.push((i, i - k, v));
            entries.push((i - k, i, if symmetric { v } else { 0.7 * v + 0.1 }));
        }
    }
    entries
}

/// The same matrix with its rows and columns in another order.
fn shuffled(n: usize, entries: &Entries) -> Entries {
    let place = |i: usize| (i * 37 + 11) % n;
    entries
        .iter()
        .map(|&(i, j, v)| (place(i), place(j), v))
        .collect()
}

/// The graph of a square mesh, with `shift` on the diagonal.
fn mesh(side: usize, shift: f64, symmetric: bool) -> Entries {
    let mut entries = Vec::new();
    let at = |i: usize, j: usize| i * side + j;
    for i in 0..side {
        for j in 0..side {
            entries.push((at(i, j), at(i, j), 4.0 + shift));
            for (k, l) in [(i + 1, j), (i, j + 1)] {
                if k < side && l < side {
                    entries.push((at(i, j), at(k, l), -1.0));
                    entries.push((at(k, l), at(i, j), if symmetric { -1.0 } else { -0.6 }));
                }
            }
        }
    }
    entries
}

#[test]
fn structure_chooses_the_method() {
    for n in [61, 64, 200, 333] {
        assert_eq!(compare(n, &chain(n, 0, true, 2.0)), "band LDLᵀ");
        assert_eq!(compare(n, &chain(n, 1, true, 3.0)), "band LDLᵀ");
        assert_eq!(compare(n, &chain(n, 3, true, 8.0)), "band LDLᵀ");
        assert_eq!(compare(n, &chain(n, 11, true, 30.0)), "band LDLᵀ");
        // Indefinite, unsymmetric.
        assert_eq!(compare(n, &chain(n, 2, true, 0.3)), "band LU");
        assert_eq!(compare(n, &chain(n, 1, false, 0.3)), "band LU");
        assert_eq!(compare(n, &chain(n, 5, false, 1.3)), "band LU");
    }
    for n in [200, 331] {
        let chain = |width, symmetric, diagonal| shuffled(n, &chain(n, width, symmetric, diagonal));
        assert_eq!(compare(n, &chain(1, true, 3.0)), "reordered band LDLᵀ");
        assert_eq!(compare(n, &chain(3, true, 8.0)), "reordered band LDLᵀ");
        assert_eq!(compare(n, &chain(2, false, 2.6)), "reordered band LU");
    }
    assert_eq!(compare(2500, &mesh(50, 0.1, true)), "sparse LDLᵀ");
    assert_eq!(compare(2500, &mesh(50, -0.513, true)), "sparse LDLᵀ");
    assert_eq!(compare(2500, &mesh(50, 0.1, false)), "sparse LU");
}

#[test]
fn saddle_points_are_solved() {
    // A chain with rows that hold its ends together, and nothing on their diagonal.
    let n = 300;
    let mut entries = chain(n, 1, true, 3.0);
    for (k, (i, j)) in [(0, n - 1), (1, n / 2), (3, 200)].into_iter().enumerate() {
        for (col, v) in [(i, 1.0), (j, -1.0)] {
            entries.push((n + k, col, v));
            entries.push((col, n + k, v));
        }
    }
    compare(n + 3, &entries);
}

#[test]
fn a_pattern_grows_and_forgets() {
    let n = 200;
    let mut entries = chain(n, 1, true, 3.0);
    let mut a = SquareMatrix::new(n);
    for round in 0..4 {
        // Beyond the band from the second round on.
        if round > 0 {
            entries.push((0, n - round, 0.3));
            entries.push((n - round, 0, 0.3));
        }
        a.clear();
        for &(i, j, v) in &entries {
            a.entry(i, j, v);
        }
        let x: Vec<f64> = (0..n).map(number).collect();
        let mut b = vec![0.0; n];
        a.apply(&x, &mut b);
        a.factorise().unwrap();
        a.solve(&mut b);
        assert_close(&b, &x, 1e-12);
    }
}

#[test]
fn singular_and_infinite_are_told_apart() {
    let n = 150;
    for (width, symmetric) in [(1, true), (3, true), (2, false)] {
        let mut a = SquareMatrix::new(n);
        // Nothing at all, then no row 70.
        assert!(a.factorise().is_err());
        for (i, j, v) in chain(n, width, symmetric, 9.0) {
            if i != 70 && j != 70 {
                a.entry(i, j, v);
            }
        }
        assert!(matches!(
            a.factorise(),
            Err(saltus_linear::LinearError::Singular { .. })
        ));
        a.entry(70, 70, f64::NAN);
        assert!(matches!(
            a.factorise(),
            Err(saltus_linear::LinearError::NotFinite { .. })
        ));
    }
    // A free bar: stiffness without a support.
    for n in [100, 10_000] {
        let mut k = SquareMatrix::new(n);
        for e in 0..n - 1 {
            k.add(e, e, 2, 2, &[1.0, -1.0, -1.0, 1.0]);
        }
        assert!(k.factorise().is_err(), "{n}");
    }
    // A free mesh.
    let mut k = SquareMatrix::new(2500);
    for (i, j, v) in mesh(50, 0.0, true) {
        if i != j {
            k.entry(i, j, v);
            k.entry(i, i, -v);
        }
    }
    assert!(k.factorise().is_err());
}

#[test]
fn sums_and_products_of_any_storages() {
    let n = 144;
    let all = [
        chain(n, 1, true, 3.0),
        chain(n, 4, false, 3.0),
        mesh(12, 0.5, true),
        shuffled(n, &chain(n, 1, false, 2.0)),
    ];
    for first in &all {
        for second in &all {
            let fill = |entries: &Entries| {
                let (mut a, mut d) = (SquareMatrix::new(n), Dense::zeros(n, n));
                for &(i, j, v) in entries {
                    a.entry(i, j, v);
                    d.entry(i, j, v);
                }
                (a, d)
            };
            let ((mut a, mut da), (b, db)) = (fill(first), fill(second));
            a.add_scaled(-0.5, &b);
            let mut negative = b.clone();
            negative.clear();
            for &(i, j, v) in second {
                da.entry(i, j, -0.5 * v);
                negative.entry(i, j, v);
            }
            a.multiply_right(&negative);
            da.multiply_right(&db, &mut Vec::new());
            let x: Vec<f64> = (0..n).map(number).collect();
            let (mut ax, mut expected) = (vec![0.0; n], vec![0.0; n]);
            a.apply(&x, &mut ax);
            da.apply(&x, &mut expected);
            assert_close(&ax, &expected, 1e-12);
            let mut sent = Dense::zeros(n, n);
            a.send(1.0, &mut sent);
            assert_close(sent.as_slice(), da.as_slice(), 1e-12);
        }
    }
}

#[test]
fn stamps_differ() {
    let (mut a, mut b) = (SquareMatrix::new(2), SquareMatrix::new(80));
    assert_eq!(a.stamp(), 0);
    for i in 0..80 {
        b.entry(i, i, 1.0);
        if i < 2 {
            a.entry(i, i, 1.0);
        }
    }
    a.factorise().unwrap();
    b.factorise().unwrap();
    let before = a.stamp();
    assert_ne!(before, b.stamp());
    a.factorise().unwrap();
    assert_ne!(before, a.stamp());
}

proptest! {
    #[test]
    fn random_patterns_are_solved(
        n in 61..140_usize,
        places in prop::collection::vec((0..140_usize, 0..140_usize, -1.0..1.0_f64), 0..400),
        symmetric in any::<bool>(),
    ) {
        let mut entries: Entries = (0..n).map(|i| (i, i, 9.0 + number(i))).collect();
        for (i, j, v) in places {
            let (i, j) = (i % n, j % n);
            entries.push((i, j, v));
            if symmetric {
                entries.push((j, i, v));
            }
        }
        compare(n, &entries);
    }
}
