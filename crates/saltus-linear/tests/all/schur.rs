//! The Schur complement `W A⁻¹ Wᵀ` of few rows on a factored matrix.

use saltus_linear::{MatrixSink, Schur, SparseRows, SquareMatrix, axpy, max_abs};

#[test]
fn half_a_solve_tells_the_products_of_a_grid_whatever_the_order_of_arrival() {
    let side = 60;
    let n = side * side;
    for indefinite in [false, true] {
        let mut a = SquareMatrix::new(n);
        for i in 0..n {
            let sign = if indefinite && i % 3 == 0 { -1.0 } else { 1.0 };
            a.entry(i, i, 40.0 * sign);
            for (right, up) in [(1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2)] {
                let j = i + right + up * side;
                if j < n && i % side + right < side {
                    a.entry(i, j, -1.0);
                    a.entry(j, i, -1.0);
                }
            }
        }
        a.factorise().unwrap();
        assert_eq!(a.method(), "sparse LDLᵀ");
        let mut rows = SparseRows::default();
        for k in 0..side {
            rows.push(&[k, (k * 131) % n], &[1.0, 0.5 - 0.1 * k as f64]);
        }
        let all = || (0..side).map(|k| (k, k));
        let (mut at_once, mut in_turns) = (Schur::default(), Schur::default());
        at_once.add_all(&a, &rows, all());
        in_turns.add_all(&a, &rows, all().rev().take(20));
        in_turns.add_all(&a, &rows, all());
        let column = |k: usize| {
            let mut c = vec![0.0; n];
            rows.axpy(k, 1.0, &mut c);
            a.solve(&mut c);
            c
        };
        let z: Vec<f64> = (0..side).map(|k| (k as f64).sin()).collect();
        let numbers: Vec<usize> = (0..side).collect();
        let mut expected = vec![0.0; n];
        for j in 0..side {
            let c = column(j);
            axpy(z[j], &c, &mut expected);
            let size = max_abs(&c);
            for i in 0..side {
                let product = at_once.product(i, j);
                let error = (product - rows.dot(i, &c)).abs();
                assert!(error < 1e-10 * size, "{i} {j}: {error}");
                assert_eq!(product.to_bits(), in_turns.product(i, j).to_bits());
            }
        }
        let size = max_abs(&expected);
        for (numbers, z) in [(&numbers[..], &z[..]), (&numbers[..2], &z[..2])] {
            let mut x = vec![0.0; n];
            at_once.respond(&a, numbers, z, &mut x);
            let mut expected = vec![0.0; n];
            for (&k, z) in numbers.iter().zip(z) {
                axpy(*z, &column(k), &mut expected);
            }
            let error: Vec<f64> = x.iter().zip(&expected).map(|(a, b)| a - b).collect();
            assert!(max_abs(&error) < 1e-10 * size);
        }
    }
}

#[test]
fn products_and_responses_are_those_of_solves() {
    let n = 90;
    for symmetric in [true, false] {
        let mut a = SquareMatrix::new(n);
        for i in 0..n {
            a.entry(i, i, 4.0);
            if i > 0 {
                a.entry(i, i - 1, -1.0);
                a.entry(i - 1, i, if symmetric { -1.0 } else { 0.5 });
            }
        }
        a.factorise().unwrap();
        assert_eq!(a.is_symmetric(), symmetric);
        let mut rows = SparseRows::default();
        for k in 0..40 {
            rows.push(&[2 * k, (2 * k + 7) % n], &[1.0, -0.3 * k as f64]);
        }
        // Known in another order than asked for.
        let numbers = [7, 3, 39, 0, 11];
        let mut one_by_one = Schur::default();
        for &k in &numbers {
            one_by_one.add(&a, k, &rows, k);
            one_by_one.add(&a, k, &rows, k);
        }
        let mut together = Schur::without_columns();
        let list = |numbers: &'static [usize]| numbers.iter().map(|&k| (k, k));
        together.add_all(&a, &rows, list(&[3, 11]));
        together.add_all(&a, &rows, list(&[7, 3, 39, 0, 11]));
        // Known by their numbers as other rows first.
        let mut changed = Schur::default();
        changed.add_all(&a, &rows, numbers.iter().map(|&k| (k, (k + 1) % 40)));
        changed.add_all(&a, &rows, numbers.iter().map(|&k| (k, k)));
        let mut through = Schur::default();
        let mut solve = |x: &mut [f64]| a.solve_many(x);
        for few in [&numbers[..3], &numbers[1..]] {
            let list = few.iter().map(|&k| (k, k));
            through.add_through((1, n), &mut solve, &rows, list);
        }
        let column = |k: usize| {
            let mut c = vec![0.0; n];
            rows.axpy(k, 1.0, &mut c);
            a.solve(&mut c);
            c
        };
        for schur in [one_by_one, together, changed, through] {
            for &i in &numbers {
                for &j in &numbers {
                    let expected = rows.dot(i, &column(j));
                    assert!((schur.product(i, j) - expected).abs() < 1e-13);
                }
            }
            let z = [0.5, 0.0, -1.0, 2.0, 0.0];
            let (mut x, mut expected) = (vec![1.0; n], vec![1.0; n]);
            schur.respond(&a, &numbers, &z, &mut x);
            for (&k, z) in numbers.iter().zip(z) {
                axpy(z, &column(k), &mut expected);
            }
            for (x, e) in x.iter().zip(&expected) {
                assert!((x - e).abs() < 1e-13);
            }
        }
    }
}
