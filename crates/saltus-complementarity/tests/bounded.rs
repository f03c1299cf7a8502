//! Complementarity with bounds on both sides: solved, or refuted with a proof.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::lcp::BoxLcp;
use saltus_complementarity::{Status, Tolerance};
use saltus_linear::{Dense, dot};
use support::{Random, dense};

/// A block on a table pushed with `f`: the friction force is a relay, −μN ≤ z ≤ μN.
#[test]
fn relay_of_dry_friction() {
    let m = dense(&[&[1.0]]);
    for (push, force) in [(0.3, -0.3), (2.0, -1.0), (-2.0, 1.0)] {
        let problem = BoxLcp {
            matrix: &m,
            q: &[push],
            lower: &[-1.0],
            upper: &[1.0],
        };
        let mut z = [0.0];
        assert!(problem.solve(&mut z, Tolerance::default()).is_solved());
        assert!((z[0] - force).abs() < 1e-15, "{z:?}");
    }
}

#[test]
fn random_boxes_are_solved() {
    let mut random = Random::new(3);
    for case in 0..300 {
        let n = 1 + random.below(8);
        let a: Vec<Vec<f64>> = (0..n)
            .map(|_| (0..n).map(|_| random.signed()).collect())
            .collect();
        let mut m = saltus_linear::Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                m[(i, j)] = a.iter().map(|r| r[i] * r[j]).sum::<f64>();
            }
            m[(i, i)] += 0.1;
        }
        let q: Vec<f64> = (0..n).map(|_| 3.0 * random.signed()).collect();
        let bound = |infinite: f64, x: f64, k: usize| if k == 0 { infinite } else { x };
        let lower: Vec<f64> = (0..n)
            .map(|_| bound(f64::NEG_INFINITY, -random.unit(), random.below(4)))
            .collect();
        let upper: Vec<f64> = (0..n)
            .map(|_| bound(f64::INFINITY, random.unit(), random.below(4)))
            .collect();
        let problem = BoxLcp {
            matrix: &m,
            q: &q,
            lower: &lower,
            upper: &upper,
        };
        let mut z = vec![0.0; n];
        let outcome = problem.solve(&mut z, Tolerance::default());
        assert!(outcome.is_solved(), "case {case}: {outcome:?}");
        assert!((0..n).all(|i| lower[i] <= z[i] && z[i] <= upper[i]));
    }
}

/// The largest value of `y·(M z + q)` over the box; columns in which it would be infinite count by rounding only.
fn largest_product(p: &BoxLcp<'_>, y: &[f64]) -> f64 {
    let n = y.len();
    let mut slope = vec![0.0; n];
    p.matrix.apply_transposed_add(1.0, y, &mut slope);
    let mut sum = dot(y, p.q);
    for (j, s) in slope.into_iter().enumerate() {
        let bound = if s > 0.0 { p.upper[j] } else { p.lower[j] };
        if bound.is_finite() {
            sum += s * bound;
        } else {
            assert!(s.abs() < 1e-9, "{j}: {s}");
        }
    }
    sum
}

fn check_box_proof(p: &BoxLcp<'_>, y: &[f64]) {
    for (i, y) in y.iter().enumerate() {
        match (p.lower[i].is_finite(), p.upper[i].is_finite()) {
            (true, true) => assert!(*y == 0.0, "{i}: {y}"),
            (true, false) => assert!(*y >= 0.0, "{i}: {y}"),
            (false, true) => assert!(*y <= 0.0, "{i}: {y}"),
            (false, false) => {}
        }
    }
    assert!(largest_product(p, y) < 0.0);
}

#[test]
fn boxes_without_a_solution_come_with_a_proof() {
    let inf = f64::INFINITY;
    let zero = dense(&[&[0.0]]);
    // 0 ≤ z, w = −1; z ≤ 0, w = 1; z free, w = 1: none can be. Between two bounds everything can.
    for (q, lower, upper, proof) in [
        (-1.0, 0.0, inf, Some(1.0)),
        (1.0, -inf, 0.0, Some(-1.0)),
        (1.0, -inf, inf, Some(-1.0)),
        (-1.0, -inf, inf, Some(1.0)),
        (1.0, -1.0, 1.0, None),
        (1.0, 0.0, inf, None),
    ] {
        let p = BoxLcp {
            matrix: &zero,
            q: &[q],
            lower: &[lower],
            upper: &[upper],
        };
        let mut z = [0.0];
        let status = p.solve(&mut z, Tolerance::default()).status;
        assert_eq!(
            p.infeasibility(),
            proof.map(|y| vec![y]),
            "{q} {lower} {upper}"
        );
        let expected = if proof.is_some() {
            Status::Infeasible
        } else {
            Status::Solved
        };
        assert_eq!(status, expected, "{q} {lower} {upper}");
    }
    // A relay that cannot push hard enough: w₁ = z₂ − 3 ≥ 0 with z₂ ≤ 1; with z₂ ≤ 4 it can.
    let m = dense(&[&[0.0, 1.0], &[0.0, 0.0]]);
    for (most, solvable) in [(1.0, false), (4.0, true)] {
        let p = BoxLcp {
            matrix: &m,
            q: &[-3.0, -1.0],
            lower: &[0.0, 0.0],
            upper: &[inf, most],
        };
        let mut z = [0.0; 2];
        let end = p.solve(&mut z, Tolerance::default());
        assert_eq!(end.is_solved(), solvable, "{end:?}");
        match p.infeasibility() {
            Some(y) => check_box_proof(&p, &y),
            None => assert!(solvable),
        }
    }
}

#[test]
fn random_boxes_are_solved_or_refuted() {
    let mut random = Random::new(107);
    let mut counts = [0; 3];
    for case in 0..1000 {
        let n = 1 + random.below(6);
        let rank = random.below(n + 1);
        let a: Vec<Vec<f64>> = (0..rank)
            .map(|_| (0..n).map(|_| random.signed()).collect())
            .collect();
        let mut m = Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                m[(i, j)] = a.iter().map(|r| r[i] * r[j]).sum();
            }
        }
        let q: Vec<f64> = (0..n).map(|_| random.signed()).collect();
        let bound = |infinite: f64, x: f64, k: usize| if k == 0 { infinite } else { x };
        let lower: Vec<f64> = (0..n)
            .map(|_| bound(f64::NEG_INFINITY, -random.unit(), random.below(3)))
            .collect();
        let upper: Vec<f64> = (0..n)
            .map(|_| bound(f64::INFINITY, random.unit(), random.below(3)))
            .collect();
        let p = BoxLcp {
            matrix: &m,
            q: &q,
            lower: &lower,
            upper: &upper,
        };
        let mut z = vec![0.0; n];
        let end = p.solve(&mut z, Tolerance::default());
        match end.status {
            Status::Solved => {
                counts[0] += 1;
                assert!(p.infeasibility().is_none(), "case {case}");
            }
            Status::Infeasible => {
                counts[1] += 1;
                check_box_proof(&p, &p.infeasibility().unwrap());
            }
            _ => counts[2] += 1,
        }
    }
    println!(
        "boxes: solved {}, refuted {}, neither {}",
        counts[0], counts[1], counts[2]
    );
    // Of a positive semidefinite matrix one or the other is true.
    assert!(
        counts[0] > 300 && counts[1] > 100 && counts[2] == 0,
        "{counts:?}"
    );
}
