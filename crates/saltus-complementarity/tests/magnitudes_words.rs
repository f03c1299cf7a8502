//! Residuals, proofs, Slater's condition, convex problems, least reactions, the global form and files of frictional problems whose
//! data are of any size: the same words and the same residuals as in plain units.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::archive::read;
use saltus_complementarity::batch::Request;
use saltus_complementarity::friction::{
    Feasibility, FrictionContact, FrictionSolver, GlobalFriction, Limits, canonical_reaction,
    feasibility, infeasibility, one_contact_solutions, painleve_contacts, solve, solve_convex,
    solve_global,
};
use saltus_complementarity::{BlockMatrix, SparseMatrix};
use support::far::{Pair, limits, one_energy, times};
use support::{Random, planted};

/// The residual of any point, not only of solutions, is the same in all units.
#[test]
fn eta_is_the_same_in_all_units() {
    let mut random = Random::new(53);
    for case in 0..200 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(6);
        let rank = 1 + random.below(d * n);
        let (plain, mut r) = planted(&mut random, d, n, rank, case % 2 == 0);
        let (g, b) = one_energy(&mut random, n);
        let pair = Pair::new(plain, g, b);
        let size = [0.0, 1e-6, 1.0, 1e12][random.below(4)];
        r.iter_mut().for_each(|r| *r += size * random.signed());
        let far: Vec<f64> = r
            .iter()
            .enumerate()
            .map(|(k, r)| times(*r, pair.b[k / d] - pair.g[k / d]))
            .collect();
        let (plain, far) = (pair.plain.residual(&r), pair.far.residual(&far));
        let close = (plain.eta - far.eta).abs() <= 1e-9 * plain.eta + 1e-14 * (1.0 + size);
        assert!(close, "{case} {d} {size:e}: {plain:?} {far:?}");
        assert!(far.unscaled.is_finite() && far.impulse.is_finite() && far.velocity.is_finite());
    }
}

/// What is said of a problem before and after it is solved: proofs, Slater's condition, convex problems, least reactions.
#[test]
fn units_of_contacts_change_no_word() {
    let mut random = Random::new(59);
    let mut counts = [0; 4];
    for case in 0..120 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(4);
        let rank = 1 + random.below(if case % 2 == 0 { d * n } else { 2 });
        let (own, _) = planted(&mut random, d, n, rank, false);
        let q = own.free_velocity().iter().enumerate();
        // Some of them without a solution.
        let q = q.map(|(k, q)| match case % 2 {
            0 => *q,
            _ if k.is_multiple_of(d) => -random.unit(),
            _ => random.unit(),
        });
        let (mu, rolling) = (own.friction().to_vec(), own.rolling().to_vec());
        let q: Vec<f64> = q.collect();
        let plain = FrictionContact::new(own.delassus().clone(), q, mu, rolling).unwrap();
        let (g, b) = one_energy(&mut random, n);
        let pair = Pair::new(plain, g, b);
        let place = format!("{case} {d} {:?} {:?}", pair.g, pair.b);
        let word = |p: &FrictionContact| match feasibility(p).unwrap() {
            Feasibility::Strict { x, .. } => {
                assert!(x.iter().all(|x| x.is_finite()));
                0
            }
            Feasibility::Open { .. } => 1,
            Feasibility::Refuted(_) => 3,
            _ => 2,
        };
        let expected = word(&pair.plain);
        counts[expected] += 1;
        assert_eq!(word(&pair.far), expected, "{place}");
        let proof = infeasibility(&pair.far);
        assert_eq!(proof.is_some(), expected == 2, "{place}");
        if let Some(p) = proof {
            // Velocities that no impulse changes, and that close.
            let sized = p
                .iter()
                .enumerate()
                .map(|(i, p)| times(*p, pair.g[i] + 500));
            let sized: Vec<f64> = sized.collect();
            let most = sized.iter().copied().fold(0.0, f64::max);
            let p: Vec<f64> = sized.iter().map(|p| p / most).collect();
            let q = pair.plain.free_velocity().iter().step_by(d);
            let power: f64 = p.iter().zip(q).map(|(p, q)| p * q).sum();
            assert!(p.iter().all(|p| *p >= 0.0) && power < 0.0, "{place}");
        }
        let s: Vec<f64> = (0..n).map(|_| random.unit()).collect();
        let far = s.iter().enumerate();
        let far: Vec<f64> = far.map(|(i, s)| times(*s, pair.g[i] + pair.b[i])).collect();
        let convex = |p: &FrictionContact, s: &[f64]| {
            let limits = Limits {
                max_work: 1e7,
                ..Limits::default()
            };
            let end = solve_convex(p, s, limits, &mut vec![0.0; d * n]);
            assert!(end.residual.is_finite());
            end.is_solved()
        };
        assert_eq!(convex(&pair.far, &far), convex(&pair.plain, &s), "{place}");
        assert_eq!(painleve_contacts(&pair.far), painleve_contacts(&pair.plain));
        let all = |p: &FrictionContact| one_contact_solutions(p).map(|list| list.len());
        assert_eq!(all(&pair.far), all(&pair.plain), "{place}");
        let (mut r, mut far) = (vec![0.0; d * n], vec![0.0; d * n]);
        if solve(&pair.plain, FrictionSolver::Auto, limits(), &mut r)
            .outcome
            .is_solved()
        {
            let end = solve(&pair.far, FrictionSolver::Auto, limits(), &mut far);
            assert!(end.outcome.is_solved(), "{place} {end:?}");
            let least = canonical_reaction(&pair.plain, 1e-8, &mut r);
            assert_eq!(
                canonical_reaction(&pair.far, 1e-8, &mut far),
                least,
                "{place}"
            );
            assert!(pair.far.residual(&far).eta <= 1e-8, "{place}");
        }
    }
    assert!(counts[0] > 20 && counts[2] > 20, "{counts:?}");
}

/// A global problem, the same with units `2^(−t_j)` for the bodies and `2^(b − g_i)` for the impulses of contacts, and the powers of
/// the latter.
fn global(random: &mut Random, d: usize, n: usize) -> (GlobalFriction, GlobalFriction, Vec<i32>) {
    let bodies = d * n + 1;
    let mut mass = Vec::new();
    let h: Vec<f64> = (0..bodies * bodies).map(|_| random.signed()).collect();
    for i in 0..bodies {
        for j in 0..bodies {
            let own = if i == j { 1.0 } else { 0.0 };
            let sum: f64 = (0..bodies)
                .map(|k| h[k * bodies + i] * h[k * bodies + j])
                .sum();
            mass.push((i, j, own + 0.2 * sum));
        }
    }
    let mut directions = Vec::new();
    for i in 0..bodies {
        for k in 0..d * n {
            directions.push((i, k, random.signed()));
        }
    }
    let f: Vec<f64> = (0..bodies).map(|_| random.signed()).collect();
    let w: Vec<f64> = (0..d * n).map(|_| random.signed()).collect();
    let mu: Vec<f64> = (0..n).map(|_| 0.1 + 0.5 * random.unit()).collect();
    let rolling: Vec<f64> = (0..n).map(|_| 0.2).filter(|_| d == 5).collect();
    let t: Vec<i32> = (0..bodies)
        .map(|_| (450.0 * random.signed()) as i32)
        .collect();
    let g: Vec<i32> = (0..n).map(|_| (400.0 * random.signed()) as i32).collect();
    let b = (100.0 * random.signed()) as i32;
    let make = |far: bool| {
        let unit = |k: i32| if far { k } else { 0 };
        let mass: Vec<_> = mass
            .iter()
            .map(|&(i, j, v)| (i, j, times(v, unit(t[i] + t[j]))))
            .collect();
        let directions: Vec<_> = directions
            .iter()
            .map(|&(i, k, v)| (i, k, times(v, unit(t[i] + g[k / d]))))
            .collect();
        let f = f.iter().zip(&t).map(|(f, t)| times(*f, unit(t + b)));
        let w = w.iter().enumerate();
        let w = w.map(|(k, w)| times(*w, unit(g[k / d] + b)));
        GlobalFriction::new(
            d,
            SparseMatrix::from_triplets(bodies, bodies, &mass),
            SparseMatrix::from_triplets(bodies, d * n, &directions),
            f.collect(),
            w.collect(),
            mu.clone(),
            rolling.clone(),
        )
        .unwrap()
    };
    let powers = g.iter().map(|g| b - g).collect();
    (make(false), make(true), powers)
}

/// The global form with masses, directions, forces and velocities of any size: also where the entries of `W` cannot be written.
#[test]
fn the_global_form_of_any_size() {
    let mut random = Random::new(67);
    let mut solved = 0;
    for case in 0..60 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(3);
        let (plain, far, powers) = global(&mut random, d, n);
        for name in [
            "auto",
            "nsgs",
            "proximal-newton-bodies",
            "projected-gradient",
        ] {
            let solver = FrictionSolver::named(name).unwrap();
            let (mut r, mut x) = (vec![0.0; d * n], vec![0.0; d * n]);
            let end = solve_global(&plain, solver, limits(), &mut r).unwrap();
            let other = solve_global(&far, solver, limits(), &mut x).unwrap();
            let place = format!("{case} {d} {name} {powers:?}: {end:?} {other:?}");
            assert_eq!(other.outcome.status, end.outcome.status, "{place}");
            assert!(x.iter().all(|v| v.is_finite()), "{place}");
            let again = far.residual(&x).unwrap();
            assert_eq!(again, other.residual, "{place}");
            if end.outcome.is_solved() {
                solved += 1;
                let back: Vec<f64> = x
                    .iter()
                    .enumerate()
                    .map(|(k, x)| times(*x, -powers[k / d]))
                    .collect();
                let back = plain.residual(&back).unwrap();
                assert!(again.eta <= 1e-8 && back.eta <= 1.01e-8, "{place} {back:?}");
            }
        }
    }
    assert!(solved > 200, "{solved}");
}

/// The files of these problems, by the door of the command line.
#[test]
fn files_of_any_size() {
    let global = |mass: &str, direction: &str, force: &str| {
        let diagonal = |v: &str| format!("[[0,0,{v}],[1,1,{v}],[2,2,{v}]]");
        format!(
            "{{\"kind\":\"global-friction\",\"dimension\":3,\"mu\":[0.3],\"mass\":{},\"directions\":{},\"f\":[-{force},0,0],\"w\":[0,0,0]}}",
            diagonal(mass),
            diagonal(direction)
        )
    };
    let one = |w: &str, q: &str| {
        format!(
            "{{\"kind\":\"friction\",\"dimension\":3,\"mu\":[0.3],\"delassus\":[[0,0,{w}],[1,1,{w}],[2,2,{w}]],\"q\":[{q},0,0]}}"
        )
    };
    let cases = [
        (one("0", "1e155"), "solved", 0.0),
        (one("1e-200", "1e155"), "solved", 0.0),
        (one("1e-200", "-1e100"), "solved", 1e300),
        (one("1e-200", "-1e155"), "not-finite", 0.0),
        (one("0", "-1e155"), "infeasible", 0.0),
        (one("5e-324", "-1e-310"), "solved", 1e-310 / 5e-324),
        (one("1e308", "-1e308"), "solved", 1.0),
        // W is 1e600, q -1e299, v 1e100.
        (global("1e-200", "1e200", "1e-101"), "solved", 1e-301),
        (global("1e200", "1e-50", "1e250"), "solved", 1e300),
        (global("1e200", "1e-150", "1e250"), "not-finite", 0.0),
    ];
    let path = std::env::temp_dir().join(format!("saltus-size-{}.json", std::process::id()));
    for (text, word, normal) in cases {
        std::fs::write(&path, &text).unwrap();
        let problem = read(&path).unwrap();
        for (name, _) in FrictionSolver::ALL {
            let request = Request {
                canonical: true,
                ..Request::default()
            };
            let found = saltus_complementarity::batch::solve(&problem, name, &request).unwrap();
            let place = format!("{text} {name} {found:?}");
            assert_eq!(found.status, word, "{place}");
            let close = normal == 0.0 && found.unknowns[0] == 0.0
                || (found.unknowns[0] / normal - 1.0).abs() < 1e-6;
            assert!(close, "{place}");
            let all = found.unknowns.iter().chain(&found.dual);
            let all = all.chain(found.velocity.iter().flatten());
            let residuals = [
                Some(found.residual),
                found.residual_impulse,
                found.residual_velocity,
                found.residual_unscaled,
                found.residual_dynamics,
            ];
            let mut all = all.chain(residuals.iter().flatten());
            assert!(all.all(|v| v.is_finite()), "{place}");
            assert_eq!(found.certificate.is_some(), word == "infeasible", "{place}");
            assert!(word != "solved" || found.canonical == Some(true), "{place}");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// Velocities whose terms leave the range, but cancel.
#[test]
fn velocities_are_numbers_where_they_can_be() {
    let w = BlockMatrix::from_triplets(2, 1, [(0, 0, 1e300), (1, 1, 1e300)]);
    let p = FrictionContact::new(w, vec![-1.5e308, 1e308], vec![0.3], Vec::new()).unwrap();
    let mut u = [0.0; 2];
    p.velocity(&[3e8, -3e7], &mut u);
    assert!((u[0] / 1.5e308 - 1.0).abs() < 1e-14, "{u:?}");
    assert!((u[1] / 0.7e308 - 1.0).abs() < 1e-14, "{u:?}");
}
