//! The reaction of least norm: symmetric scenes get symmetric forces, whatever the order of the contacts.

use crate::support::{Random, disc, planted};
use saltus_complementarity::BlockMatrix;
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, Limits, Order, ResidualScales, canonical_reaction, solve,
};
use saltus_linear::dot;

#[test]
fn legs_of_a_symmetric_table_carry_the_same() {
    let p = disc(8, 2.0, 0.5, 0.0, 0.01);
    for (order, start) in [
        (Order::Forward, 0.0),
        (Order::Symmetric, 1.0),
        (Order::Forward, 0.3),
    ] {
        let mut r = vec![start; 24];
        let limits = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        let end = solve(
            &p,
            FrictionSolver::Nsgs { omega: 1.0, order },
            limits,
            &mut r,
        );
        assert!(end.outcome.is_solved(), "{end:?}");
        assert!(canonical_reaction(&p, 1e-11, &mut r));
        for leg in r.chunks_exact(3) {
            assert!((leg[0] - 0.0025).abs() < 1e-10, "{leg:?}");
            assert!(leg[1].abs() < 1e-10 && leg[2].abs() < 1e-10, "{leg:?}");
        }
    }
}

/// A body on legs at `places`: components `d`, directions of the six velocities by rows, `skew` makes `W` unsymmetric.
/// It falls on its legs, moves along x and turns about y; it slides or, with much friction, stops.
fn table(d: usize, places: &[[f64; 2]], mu: f64, skew: f64) -> FrictionContact {
    let n = places.len();
    let mut h = vec![vec![0.0; d * n]; 6];
    for (i, [x, y]) in places.iter().enumerate() {
        // Rows: velocities along z, x, y, turning about x, y, z.
        let columns: [[f64; 6]; 5] = [
            [1.0, 0.0, 0.0, *y, -x, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, -y],
            [0.0, 0.0, 1.0, 0.0, 0.0, *x],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        ];
        for (k, column) in columns.iter().enumerate().take(d) {
            for (row, value) in h.iter_mut().zip(column) {
                row[d * i + k] = *value;
            }
        }
    }
    // M⁻¹, with a gyroscopic part between turning about x and about y.
    let mut inverse = [[0.0; 6]; 6];
    for (k, v) in [1.0, 1.0, 1.0, 4.0, 4.0, 2.0].into_iter().enumerate() {
        inverse[k][k] = v;
    }
    inverse[3][4] = skew;
    inverse[4][3] = -skew;
    let free = [-0.1, 0.05, 0.0, 0.0, 0.01, 0.0];
    let (mut entries, mut q) = (Vec::new(), Vec::new());
    for i in 0..d * n {
        for j in 0..d * n {
            let mut sum = 0.0;
            for a in 0..6 {
                for b in 0..6 {
                    sum += h[a][i] * inverse[a][b] * h[b][j];
                }
            }
            entries.push((i, j, sum));
        }
        q.push((0..6).map(|a| h[a][i] * free[a]).sum());
    }
    let rolling = (0..n).map(|_| 0.02).filter(|_| d == 5).collect();
    let w = BlockMatrix::from_triplets(d, n, entries);
    FrictionContact::new(w, q, vec![mu; n], rolling).unwrap()
}

fn canonical(p: &FrictionContact, solver: FrictionSolver, start: f64) -> Vec<f64> {
    let mut r = vec![start; p.free_velocity().len()];
    let limits = Limits {
        tolerance: 1e-12,
        ..Limits::default()
    };
    let end = solve(p, solver, limits, &mut r);
    assert!(end.outcome.is_solved(), "{solver:?}: {end:?}");
    assert!(canonical_reaction(p, 1e-11, &mut r), "{solver:?}");
    assert!(p.residual(&r).eta <= 1e-11);
    r
}

/// Nine legs in a square, mirrored at the x axis, along which everything moves.
#[test]
fn mirrored_legs_carry_mirrored_forces_in_every_order() {
    let grid: Vec<[f64; 2]> = (0..9)
        .map(|k| [(k / 3) as f64 - 1.0, (k % 3) as f64 - 1.0])
        .collect();
    let mut random = Random::new(83);
    for (d, mu) in [(2, 0.8), (3, 0.2), (3, 0.8), (5, 0.8)] {
        let mut reference: Vec<Option<Vec<f64>>> = vec![None; 9];
        for round in 0..6 {
            let mut order: Vec<usize> = (0..9).collect();
            for i in (1..9).rev() {
                order.swap(i, random.below(i + 1));
            }
            let places: Vec<[f64; 2]> = order.iter().map(|&k| grid[k]).collect();
            let p = table(d, &places, mu, 0.0);
            let (solver, start) = [
                (FrictionSolver::Auto, 0.0),
                (FrictionSolver::named("nsgs").unwrap(), 0.01),
                (FrictionSolver::named("proximal-newton").unwrap(), 0.0),
            ][round % 3];
            let r = canonical(&p, solver, start);
            let at = |place: [f64; 2]| {
                let i = places.iter().position(|p| *p == place).unwrap();
                &r[d * i..][..d]
            };
            for &[x, y] in &grid {
                let (here, there) = (at([x, y]), at([x, -y]));
                // A mirror turns velocities along y around, and turning about x.
                for (k, sign) in [1.0, 1.0, -1.0, -1.0, 1.0].into_iter().enumerate().take(d) {
                    let gap = (here[k] - sign * there[k]).abs();
                    assert!(gap <= 1e-8, "{d} components, {x} {y}: {here:?} {there:?}");
                }
            }
            for (i, &k) in order.iter().enumerate() {
                let own = &r[d * i..][..d];
                let known = reference[k].get_or_insert_with(|| own.to_vec());
                for (a, b) in own.iter().zip(known.iter()) {
                    assert!(
                        (a - b).abs() <= 1e-8,
                        "{d}, round {round}: {own:?} {known:?}"
                    );
                }
            }
        }
    }
}

/// Also where `W` is not symmetric; there is no smaller reaction with the same velocities.
#[test]
fn the_order_does_not_matter_where_the_operator_is_unsymmetric() {
    let mut random = Random::new(89);
    for d in [2, 3, 5] {
        let places: Vec<[f64; 2]> = (0..7).map(|_| [random.signed(), random.signed()]).collect();
        let p = table(d, &places, 0.8, 0.5);
        assert!(p.delassus().asymmetry() > 1e-3, "{d}");
        let r = canonical(&p, FrictionSolver::Auto, 0.0);
        let turned: Vec<[f64; 2]> = places.iter().rev().copied().collect();
        let s = canonical(&table(d, &turned, 0.8, 0.5), FrictionSolver::Auto, 0.0);
        for (i, own) in r.chunks_exact(d).enumerate() {
            for (a, b) in own.iter().zip(&s[d * (6 - i)..]) {
                assert!((a - b).abs() <= 1e-7, "{d}: {own:?}");
            }
        }
        let scales = ResidualScales::new(&p);
        let norm = |r: &[f64]| -> f64 {
            let each = r.chunks_exact(d).zip(scales.contact_scales());
            each.map(|(r, s)| s * r.iter().map(|v| v * v).sum::<f64>())
                .sum()
        };
        // Another solution, from elsewhere, is longer.
        let mut other = vec![0.02; r.len()];
        let limits = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        assert!(
            solve(&p, FrictionSolver::Auto, limits, &mut other)
                .outcome
                .is_solved()
        );
        assert!(
            norm(&r) <= norm(&other) * (1.0 + 1e-9),
            "{d}: {} {}",
            norm(&r),
            norm(&other)
        );
    }
}

/// Rolling friction: contacts that only slide, only roll, do both or neither.
#[test]
fn rolling_contacts_are_not_lengthened() {
    let mut random = Random::new(97);
    let (mut shortened, mut compared) = (0, 0);
    for case in 0..60 {
        let n = 2 + random.below(8);
        let rank = 3 + random.below(n);
        let (p, planted) = crate::support::planted(&mut random, 5, n, rank, true);
        let mut r = planted.clone();
        assert!(canonical_reaction(&p, 1e-10, &mut r), "case {case}");
        assert!(p.residual(&r).eta <= 1e-10, "case {case}");
        let scales = ResidualScales::new(&p);
        let norm = |r: &[f64]| -> f64 {
            let each = r.chunks_exact(5).zip(scales.contact_scales());
            each.map(|(r, s)| s * r.iter().map(|v| v * v).sum::<f64>())
                .sum()
        };
        assert!(norm(&r) <= norm(&planted) * (1.0 + 1e-8), "case {case}");
        shortened += usize::from(norm(&r) < 0.99 * norm(&planted));
        // The same from another solution.
        let limits = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        let mut other = vec![0.0; 5 * n];
        let solved = solve(&p, FrictionSolver::Auto, limits, &mut other)
            .outcome
            .is_solved();
        // Other normal forces may bring other velocities, and with them another set of reactions.
        let (mut u, mut v) = (vec![0.0; 5 * n], vec![0.0; 5 * n]);
        p.velocity(&r, &mut u);
        p.velocity(&other, &mut v);
        let apart = u
            .iter()
            .zip(&v)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        if solved && apart <= 1e-9 && canonical_reaction(&p, 1e-10, &mut other) {
            compared += 1;
            let gap = r
                .iter()
                .zip(&other)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(gap <= 1e-5, "case {case}: {gap:.1e}");
        }
    }
    println!(
        "{shortened} of 60 reactions became shorter, {compared} compared with one from elsewhere"
    );
    assert!(shortened >= 20 && compared >= 10);
}

/// Problems with a regular `W`: the reaction is unique, and nothing is lost.
#[test]
fn a_unique_reaction_keeps_its_digits() {
    let mut random = Random::new(41);
    for case in 0..200 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(6);
        let (p, exact) = planted(&mut random, d, n, 2 * d * n, false);
        for scale in [0.0, 1e-13, 1e-11] {
            let mut r: Vec<f64> = exact.iter().map(|r| r * (1.0 + scale)).collect();
            let before = p.residual(&r).eta;
            assert!(canonical_reaction(&p, 1e-8, &mut r), "{case}");
            let after = p.residual(&r).eta;
            assert!(
                after <= (10.0 * before).max(1e-14),
                "{case}: {before:e} {after:e}"
            );
        }
    }
}

/// The least reaction does not depend on how accurately the problem is to be solved.
#[test]
fn a_tighter_tolerance_gives_the_same_reaction() {
    let mut random = Random::new(71);
    let mut problems = vec![disc(8, 2.0, 0.5, 0.3, 0.01), disc(5, 1.0, 0.2, 0.0, 0.1)];
    problems.extend((0..6).map(|_| planted(&mut random, 3, 6, 7, false).0));
    for (place, p) in problems.iter().enumerate() {
        let mut known: Option<Vec<f64>> = None;
        for tolerance in [1e-6, 1e-8, 1e-10, 1e-12] {
            let limits = Limits {
                tolerance,
                ..Limits::default()
            };
            let mut r = vec![0.0; p.free_velocity().len()];
            let end = solve(p, FrictionSolver::Auto, limits, &mut r);
            assert!(end.outcome.is_solved(), "{place} {tolerance:e}: {end:?}");
            assert!(
                canonical_reaction(p, tolerance, &mut r),
                "{place} {tolerance:e}"
            );
            assert!(p.residual(&r).eta <= tolerance, "{place} {tolerance:e}");
            let size = dot(&r, &r).sqrt();
            let known = known.get_or_insert_with(|| r.clone());
            let apart = r.iter().zip(known.iter()).map(|(a, b)| (a - b).powi(2));
            let apart = apart.sum::<f64>().sqrt() / size;
            assert!(apart < 1e-4, "{place} {tolerance:e}: {apart:.1e}");
        }
    }
}
