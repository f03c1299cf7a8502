//! The square matrix of a step: dense when small, sparse when large, one interface.

use saltus_linear::{DENSE_LIMIT, MatrixSink, SquareMatrix, axpy, max_abs};

/// Tridiagonal matrix plus a far corner, unsymmetric.
fn fill(a: &mut SquareMatrix, scale: f64) {
    let n = a.size();
    a.clear();
    for i in 0..n {
        a.entry(i, i, 2.5 * scale);
        if i > 0 {
            a.entry(i, i - 1, -scale);
            a.entry(i - 1, i, -1.1 * scale);
        }
    }
    a.entry(0, n - 1, 0.3 * scale);
}

#[test]
fn solves_in_both_storages_and_after_refilling() {
    for n in [1, 2, 7, DENSE_LIMIT, DENSE_LIMIT + 1, 300] {
        let mut a = SquareMatrix::new(n);
        for scale in [1.0, 7.0] {
            fill(&mut a, scale);
            a.factorise().unwrap();
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut b = vec![0.0; n];
            a.apply_add(1.0, &x, &mut b);
            a.solve(&mut b);
            let error: Vec<f64> = b.iter().zip(&x).map(|(a, b)| a - b).collect();
            assert!(max_abs(&error) < 1e-13, "n = {n}: {}", max_abs(&error));
        }
    }
}

#[test]
fn singular_is_an_error() {
    for n in [3, DENSE_LIMIT + 5] {
        let mut a = SquareMatrix::new(n);
        for i in 0..n {
            for j in [0, 1] {
                a.entry(i, j, 1.0 + i as f64);
            }
            if i > 1 {
                a.entry(i, i, 1.0);
            }
        }
        assert!(a.factorise().is_err(), "n = {n}");
    }
}

#[test]
fn many_vectors_are_solved_as_one_by_one() {
    let n = 101;
    // Half-bandwidth, and whether the order of the unknowns hides it.
    for (width, hidden) in [(0, false), (1, false), (3, false), (3, true)] {
        let mut a = SquareMatrix::new(n);
        let place = |i: usize| if hidden { 37 * i % n } else { i };
        for i in 0..n {
            a.entry(place(i), place(i), 4.0 + width as f64);
            for k in 1..=width.min(i) {
                a.entry(place(i), place(i - k), -1.0);
                a.entry(place(i - k), place(i), -1.0);
            }
        }
        a.factorise().unwrap();
        assert!(a.method().contains("LDL"), "{}", a.method());
        for count in [1, 2, 8, 19] {
            let mut x = vec![0.0; count * n];
            for (k, x) in x.chunks_exact_mut(n).enumerate() {
                x[5 * k + 3] = 1.0 + k as f64;
                x[(11 * k + 60) % n] -= 0.5;
            }
            let mut expected = x.clone();
            a.solve_many(&mut x);
            expected.chunks_exact_mut(n).for_each(|x| a.solve(x));
            axpy(-1.0, &expected, &mut x);
            assert!(max_abs(&x) < 1e-14, "{width} {hidden}: {}", max_abs(&x));
        }
    }
}

#[test]
fn results_do_not_depend_on_earlier_fillings() {
    let n = 150;
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    // A ring whose chords come late, then go; near ones keep it a band once it is cut, far ones make rows of it.
    for far in [2, 30, 100] {
        let results = |a: &mut SquareMatrix, chord: f64, cut: usize| {
            a.clear();
            for i in 0..n {
                a.entry(i, i, 3.0);
                if i + cut < n {
                    a.entry(i, (i + 1) % n, -1.0);
                    a.entry((i + 1) % n, i, -1.0 - 0.1 * chord);
                }
                if chord != 0.0 && i + far < n {
                    a.entry(i, i + far, chord);
                    a.entry(i, i + far, 0.1 * chord);
                }
                a.entry(i, i, 0.1 * (i as f64).sin());
            }
            let mut product = vec![0.0; n];
            a.apply(&x, &mut product);
            let mut scaled = SquareMatrix::new(n);
            scaled.add_scaled(-1.3, a);
            let mut scaled_product = vec![0.0; n];
            scaled.apply(&x, &mut scaled_product);
            let mut solutions = vec![];
            for a in [a, &mut scaled] {
                a.factorise().unwrap();
                let mut solution = x.clone();
                a.solve(&mut solution);
                solutions.push(solution);
            }
            (product, scaled_product, solutions)
        };
        let mut old = SquareMatrix::new(n);
        for (chord, cut) in [(0.0, 1), (0.3, 0), (0.0, 0), (0.2, 1), (0.0, 1), (0.0, n)] {
            let mut new = SquareMatrix::new(n);
            let (a, b) = (results(&mut old, chord, cut), results(&mut new, chord, cut));
            assert_eq!(
                a,
                b,
                "{far} {chord} {cut}: {} {}",
                old.method(),
                new.method()
            );
        }
    }
}

#[test]
fn what_round_off_leaves_of_symmetry_does_not_matter() {
    let n = 300;
    // A band and a ring; the corner of the ring is far from the diagonal.
    for corner in [false, true] {
        let mut a = SquareMatrix::new(n);
        let ends = if corner { n } else { n - 1 };
        for skew in [3e-16, 1e-10] {
            a.clear();
            for i in 0..n {
                a.entry(i, i, 2.5);
                // More entries than a narrow band holds.
                if corner {
                    a.entry(i, (i + n / 3) % n, -0.01);
                    a.entry((i + n / 3) % n, i, -0.01 - skew);
                    a.entry(i, (i + n / 2) % n, skew);
                }
            }
            for i in 0..ends {
                a.entry((i + 1) % n, i, -1.0);
                a.entry(i, (i + 1) % n, -1.0 + skew);
            }
            a.factorise().unwrap();
            assert_eq!(a.is_symmetric(), skew < 1e-15, "{}", a.method());
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut b = vec![0.0; n];
            a.apply(&x, &mut b);
            a.solve(&mut b);
            axpy(-1.0, &x, &mut b);
            assert!(max_abs(&b) < 1e-13, "{}", max_abs(&b));
        }
    }
}
