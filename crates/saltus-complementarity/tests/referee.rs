//! Convex problems solved here and by an independent interior-point code (Clarabel): the convexified problems behind Coulomb's
//! law, Slater's condition, and the proof of infeasibility.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use saltus_complementarity::BlockMatrix;
use saltus_complementarity::archive::{Problem, read};
use saltus_complementarity::friction::{
    Feasibility, FrictionContact, FrictionSolver, Limits, Measure, canonical_reaction, feasibility,
    infeasibility, solve, solve_convex,
};
use saltus_linear::dot;
use support::{Random, shared};

type Entries = Vec<(usize, usize, f64)>;

fn matrix(rows: usize, cols: usize, entries: &Entries) -> CscMatrix<f64> {
    let list = |f: fn(&(usize, usize, f64)) -> usize| entries.iter().map(f).collect::<Vec<_>>();
    let values = entries.iter().map(|e| e.2).collect();
    CscMatrix::new_from_triplets(rows, cols, list(|e| e.0), list(|e| e.1), values)
}

/// `min ½ x'P x + c·x`, `b − A x` in the cones; the status, the point and the value.
fn clarabel(
    p: &Entries,
    c: &[f64],
    a: &Entries,
    b: &[f64],
    cones: &[SupportedConeT<f64>],
) -> (SolverStatus, Vec<f64>, f64) {
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-12)
        .tol_gap_rel(1e-12)
        .tol_feas(1e-12)
        .max_iter(200)
        .build()
        .unwrap();
    let upper: Entries = p.iter().copied().filter(|e| e.0 <= e.1).collect();
    let (p, a) = (
        matrix(c.len(), c.len(), &upper),
        matrix(b.len(), c.len(), a),
    );
    let mut solver = DefaultSolver::new(&p, c, &a, b, cones, settings).unwrap();
    solver.solve();
    let end = &solver.solution;
    (end.status, end.x.clone(), end.obj_val)
}

/// `√d_i` of every component, and `|q|_D`.
fn scales(p: &FrictionContact) -> (Vec<f64>, f64) {
    let measure = Measure::new(p);
    let d = p.dimension();
    let root = measure.scales().iter().flat_map(|s| vec![s.sqrt(); d]);
    (root.collect(), measure.reference())
}

/// Rows that put `x` into the friction cones: `(μ x_n, x_t)`, with rolling `(μ_r x_n, x_r)` too.
fn friction_cones(p: &FrictionContact) -> (Entries, usize, Vec<SupportedConeT<f64>>) {
    let (mut a, mut rows, mut cones) = (Vec::new(), 0, Vec::new());
    let d = p.dimension();
    for i in 0..p.contacts() {
        let pairs = [
            (1, d.min(3), p.friction()[i]),
            (3, d, *p.rolling().get(i).unwrap_or(&0.0)),
        ];
        for (from, to, coefficient) in pairs {
            if from < to {
                a.push((rows, d * i, -coefficient));
                a.extend((from..to).map(|k| (rows + 1 + k - from, d * i + k, -1.0)));
                cones.push(SupportedConeT::SecondOrderConeT(1 + to - from));
                rows += 1 + to - from;
            }
        }
    }
    (a, rows, cones)
}

/// The convexified problem in scaled unknowns: velocities over `√d |q|_D`, the value, and whether the referee gave up.
fn convexified(p: &FrictionContact, s: &[f64]) -> (Vec<f64>, f64, bool) {
    let ((root, reference), d) = (scales(p), p.dimension());
    let w: Entries = (p.delassus().triplets())
        .map(|(i, j, v)| (i, j, v / (root[i] * root[j])))
        .collect();
    let q: Vec<f64> = (p.free_velocity().iter().zip(&root))
        .map(|(q, root)| q / (root * reference))
        .collect();
    let c: Vec<f64> = (0..q.len())
        .map(|k| {
            let lift = if k % d == 0 {
                s[k / d] / (root[k] * reference)
            } else {
                0.0
            };
            q[k] + lift
        })
        .collect();
    let (a, rows, cones) = friction_cones(p);
    let (status, x, value) = clarabel(&w, &c, &a, &vec![0.0; rows], &cones);
    // Tolerances are as small as they can be: often they are not reached altogether.
    let good = [SolverStatus::Solved, SolverStatus::AlmostSolved];
    let gave_up = status == SolverStatus::InsufficientProgress;
    assert!(gave_up || good.contains(&status), "{status:?}");
    let mut u = q;
    for (i, j, v) in w {
        u[i] += v * x[j];
    }
    (u, value, gave_up)
}

/// The same by the solver here.
fn convexified_here(p: &FrictionContact, s: &[f64]) -> (Vec<f64>, f64) {
    let limits = Limits {
        tolerance: 1e-10,
        ..Limits::default()
    };
    let mut r = vec![0.0; p.free_velocity().len()];
    let end = solve_convex(p, s, limits, &mut r);
    assert!(end.is_solved(), "{end:?}");
    let mut u = vec![0.0; r.len()];
    p.velocity(&r, &mut u);
    let ((root, reference), d) = (scales(p), p.dimension());
    // ½ r'W r + (q + s n)·r = ½ (u + q)·r + s·r_n.
    let mut value = 0.0;
    for k in 0..r.len() {
        value += 0.5 * (u[k] + p.free_velocity()[k]) * r[k];
        if k % d == 0 {
            value += s[k / d] * r[k];
        }
    }
    let scaled = u.iter().zip(&root).map(|(u, root)| u / (root * reference));
    (scaled.collect(), value / (reference * reference))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// `μ|u_t| + μ_r|u_r|` of every contact.
fn lift(p: &FrictionContact, u: &[f64]) -> Vec<f64> {
    let d = p.dimension();
    let size = |x: &[f64]| dot(x, x).sqrt();
    u.chunks_exact(d)
        .enumerate()
        .map(|(i, u)| {
            let rolling = p.rolling().get(i).map_or(0.0, |c| c * size(&u[3..]));
            p.friction()[i] * size(&u[1..d.min(3)]) + rolling
        })
        .collect()
}

/// Both solve the problem with this `s`: what is found here is no worse, what the referee finds hardly, and the velocities
/// differ by no more than the values allow, `|Δu|² ≤ 2 |W| Δ`. Returns that bound, the velocities and their distance, which is
/// infinite where the referee gave up.
fn agree(name: &str, p: &FrictionContact, s: &[f64]) -> (f64, Vec<f64>, f64) {
    let (theirs, ours) = (convexified(p, s), convexified_here(p, s));
    assert!(ours.1 <= theirs.1 + 1e-9, "{name}: {} {}", theirs.1, ours.1);
    if theirs.2 {
        println!(
            "{name}: the referee gave up at {}, here {}",
            theirs.1, ours.1
        );
        return (1e-6, ours.0, f64::INFINITY);
    }
    assert!(theirs.1 <= ours.1 + 1e-7, "{name}: {} {}", theirs.1, ours.1);
    let (root, _) = scales(p);
    let mut rows = vec![0.0; root.len()];
    for (i, j, v) in p.delassus().triplets() {
        rows[i] += v.abs() / (root[i] * root[j]);
    }
    let size = rows.iter().fold(0.0_f64, |a, b| a.max(*b));
    let bound = (2.0 * size * ((theirs.1 - ours.1).abs() + 1e-12)).sqrt();
    let gap = distance(&theirs.0, &ours.0);
    assert!(gap <= bound, "{name}: {gap:.1e}, allowed {bound:.1e}");
    (bound, ours.0, gap)
}

/// The associated law, the next problem of the fixed point, and its last one. Returns how far velocities are apart.
fn compare(name: &str, p: &FrictionContact) -> f64 {
    let (_, mut u, first) = agree(name, p, &vec![0.0; p.contacts()]);
    let (root, reference) = scales(p);
    u.iter_mut()
        .zip(&root)
        .for_each(|(u, root)| *u *= root * reference);
    let (_, _, second) = agree(name, p, &lift(p, &u));
    let mut r = vec![0.0; p.free_velocity().len()];
    let limits = Limits {
        tolerance: 1e-9,
        max_work: 1e9,
        ..Limits::default()
    };
    let end = solve(p, FrictionSolver::FixedPoint, limits, &mut r);
    let mut last = 0.0;
    if end.outcome.is_solved() {
        let mut u = vec![0.0; r.len()];
        p.velocity(&r, &mut u);
        let (bound, known, _) = agree(name, p, &lift(p, &u));
        u.iter_mut()
            .zip(&root)
            .for_each(|(u, root)| *u /= root * reference);
        last = distance(&known, &u);
        assert!(last <= bound, "{name}, fixed point: {last:.1e}");
    }
    println!(
        "{name}: velocities {first:.1e}, {second:.1e}, at the fixed point {last:.1e}, {:?}",
        end.outcome.status
    );
    first.max(second).max(last)
}

#[test]
fn convex_problems_of_public_files() {
    let Some(root) = shared("data/fclib") else {
        return;
    };
    let (mut compared, mut close) = (0, 0);
    for folder in ["dim2", "global3d", "local3d", "rolling"] {
        let mut names: Vec<_> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        names.sort();
        for path in names {
            let p = match read(&path).unwrap() {
                Problem::Friction(p) => p,
                Problem::Global(p) => p.reduce().unwrap(),
                other => panic!("{other:?}"),
            };
            // A minimum exists for symmetric W only.
            if p.contacts() == 0 || p.contacts() > 110 || p.delassus().asymmetry() > 1e-10 {
                continue;
            }
            let name = format!("{folder}/{}", path.file_name().unwrap().display());
            close += usize::from(compare(&name, &p) <= 1e-6);
            compared += 1;
        }
    }
    println!("{compared} files compared, {close} of them to 1e-6");
    assert!(compared >= 20 && 10 * close >= 8 * compared);
}

/// `W = H'H` of `rank` bodies' velocities with random directions.
fn random_problem(random: &mut Random, d: usize, n: usize, rank: usize) -> FrictionContact {
    let size = d * n;
    let h: Vec<Vec<f64>> = (0..rank)
        .map(|_| (0..size).map(|_| random.signed()).collect())
        .collect();
    let mut entries = Vec::new();
    for i in 0..size {
        for j in 0..size {
            entries.push((i, j, h.iter().map(|r| r[i] * r[j]).sum::<f64>()));
        }
    }
    let q = (0..size).map(|_| random.signed()).collect();
    let mu = (0..n).map(|_| random.unit()).collect();
    let rolling = (0..n).map(|_| random.unit()).filter(|_| d == 5).collect();
    FrictionContact::new(BlockMatrix::from_triplets(d, n, entries), q, mu, rolling).unwrap()
}

#[test]
fn convex_problems_at_random() {
    let mut random = Random::new(71);
    let mut close = 0;
    for case in 0..60 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(12);
        // Of full rank: the convex problem has a minimum whatever q is.
        let p = random_problem(&mut random, d, n, d * n + 2);
        close += usize::from(compare(&format!("case {case}, {n} contacts of {d}"), &p) <= 1e-6);
    }
    assert!(close >= 55, "{close}");
}

/// The largest `t ≤ 1` with `W x + q − t n` in the dual cones, or (`flat`) with `u_n ≥ t` alone, in scaled unknowns.
fn margin(p: &FrictionContact, flat: bool) -> f64 {
    let ((root, reference), d, n) = (scales(p), p.dimension(), p.contacts());
    let size = d * n;
    // Unknowns x, then t, then with rolling the share of u_n that the sliding takes.
    let (t, share) = (size, size + 1);
    let mut c = vec![0.0; size + 1 + if d == 5 { n } else { 0 }];
    c[t] = -1.0;
    let (mut a, mut b, mut cones) = (
        vec![(0, t, 1.0)],
        vec![1.0],
        vec![SupportedConeT::NonnegativeConeT(1)],
    );
    let mut line = |k: usize, factor: f64, extra: &[(usize, f64)]| {
        let row = b.len();
        let i = k / d;
        let block = p
            .delassus()
            .cols(i)
            .iter()
            .zip(p.delassus().row(i).chunks_exact(d * d));
        for (&j, block) in block {
            for l in 0..d {
                let w = block[k % d * d + l] / (root[k] * root[d * j + l]);
                a.push((row, d * j + l, -factor * w));
            }
        }
        a.extend(extra.iter().map(|(col, v)| (row, *col, -v)));
        b.push(factor * p.free_velocity()[k] / (root[k] * reference));
    };
    for i in 0..n {
        let (mu, rolling) = (p.friction()[i], p.rolling().get(i).copied().unwrap_or(0.0));
        if flat {
            line(d * i, 1.0, &[(t, -1.0)]);
            cones.push(SupportedConeT::NonnegativeConeT(1));
        } else if d == 5 {
            line(d * i, 1.0, &[(t, -1.0), (share + i, -1.0)]);
            line(d * i + 1, mu, &[]);
            line(d * i + 2, mu, &[]);
            line(d * i, 0.0, &[(share + i, 1.0)]);
            line(d * i + 3, rolling, &[]);
            line(d * i + 4, rolling, &[]);
            cones.extend([
                SupportedConeT::SecondOrderConeT(3),
                SupportedConeT::SecondOrderConeT(3),
            ]);
        } else {
            line(d * i, 1.0, &[(t, -1.0)]);
            (1..d).for_each(|k| line(d * i + k, mu, &[]));
            cones.push(SupportedConeT::SecondOrderConeT(d));
        }
    }
    let ridge = Vec::new();
    let (_, x, _) = clarabel(&ridge, &c, &a, &b, &cones);
    x[t]
}

#[test]
fn slater_and_farkas_at_random() {
    let mut random = Random::new(73);
    let mut counts = [0; 3];
    for case in 0..400 {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(6);
        let rank = 1 + random.below(2 * n);
        let p = random_problem(&mut random, d, n, rank);
        let (slater, contact) = (margin(&p, false), margin(&p, true));
        let found = feasibility(&p).unwrap();
        let certified = infeasibility(&p).is_some();
        assert_eq!(
            certified,
            matches!(found, Feasibility::Infeasible { .. }),
            "case {case}"
        );
        // Where the referee sees less than rounding, nothing is asked.
        if contact.abs() > 1e-6 {
            assert_eq!(
                certified,
                contact < 0.0,
                "case {case}: {contact:.2e} {found:?}"
            );
        }
        if slater.abs() > 1e-6 {
            let strict = matches!(found, Feasibility::Strict { .. });
            assert_eq!(strict, slater > 0.0, "case {case}: {slater:.2e} {found:?}");
        }
        counts[match found {
            Feasibility::Strict { .. } => 0,
            Feasibility::Infeasible { .. } => 1,
            _ => 2,
        }] += 1;
    }
    println!(
        "strictly feasible {}, infeasible {}, open {}",
        counts[0], counts[1], counts[2]
    );
    assert!(counts.iter().all(|&c| c > 20), "{counts:?}");
}

/// Rows of the scaled `W` that span the others, by pivoted elimination.
fn independent(w: &Entries, size: usize) -> Vec<usize> {
    let mut rows = vec![vec![0.0; size]; size];
    for &(i, j, v) in w {
        rows[i][j] += v;
    }
    let mut chosen = Vec::new();
    let mut longest = 0.0_f64;
    loop {
        let squares = rows.iter().map(|r| dot(r, r)).enumerate();
        let Some((next, square)) = squares.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return chosen;
        };
        longest = longest.max(square);
        if square <= 1e-20 * longest {
            return chosen;
        }
        chosen.push(next);
        let pivot = rows[next].clone();
        for row in rows.iter_mut().filter(|r| r.iter().any(|v| *v != 0.0)) {
            let along = dot(&pivot, row) / square;
            row.iter_mut()
                .zip(&pivot)
                .for_each(|(r, p)| *r -= along * p);
        }
        rows[next].fill(0.0);
    }
}

/// The least norm of a reaction with the velocities of `r`, in scaled unknowns (open contacts nothing, sliding ones on their
/// rays, the others in their cones), and whether the referee is sure.
fn shortest(p: &FrictionContact, r: &[f64]) -> (f64, bool) {
    let ((root, reference), d) = (scales(p), p.dimension());
    let size = r.len();
    let w: Entries = (p.delassus().triplets())
        .map(|(i, j, v)| (i, j, v / (root[i] * root[j])))
        .collect();
    let x: Vec<f64> = r
        .iter()
        .zip(&root)
        .map(|(r, s)| r * s / reference)
        .collect();
    let mut u = vec![0.0; size];
    p.velocity(r, &mut u);
    u.iter_mut()
        .zip(&root)
        .for_each(|(u, s)| *u /= s * reference);
    let (mut a, mut b, mut cones) = (Entries::new(), Vec::new(), Vec::new());
    let rows = independent(&w, size);
    for (k, &row) in rows.iter().enumerate() {
        let mut right = 0.0;
        for &(_, j, v) in w.iter().filter(|e| e.0 == row) {
            a.push((k, j, v));
            right += v * x[j];
        }
        b.push(right);
    }
    for (i, u) in u.chunks_exact(d).enumerate() {
        let (mu, slip) = (p.friction()[i], dot(&u[1..], &u[1..]).sqrt());
        if u[0] > 1e-8 || slip > 1e-8 {
            for k in 0..d {
                // r_k = 0, or r_k + μ u_k/|u_t| r_n = 0.
                if k > 0 || u[0] > 1e-8 {
                    a.push((b.len(), d * i + k, 1.0));
                    if k > 0 && u[0] <= 1e-8 {
                        a.push((b.len(), d * i, mu * u[k] / slip));
                    }
                    b.push(0.0);
                }
            }
        }
    }
    cones.push(SupportedConeT::ZeroConeT(b.len()));
    for (i, u) in u.chunks_exact(d).enumerate() {
        let (mu, slip) = (p.friction()[i], dot(&u[1..], &u[1..]).sqrt());
        if u[0] > 1e-8 {
            continue;
        }
        if slip > 1e-8 {
            a.push((b.len(), d * i, -1.0));
            b.push(0.0);
            cones.push(SupportedConeT::NonnegativeConeT(1));
        } else {
            a.push((b.len(), d * i, -mu));
            b.push(0.0);
            for k in 1..d {
                a.push((b.len(), d * i + k, -1.0));
                b.push(0.0);
            }
            cones.push(SupportedConeT::SecondOrderConeT(d));
        }
    }
    let identity = (0..size).map(|k| (k, k, 1.0)).collect();
    let (status, x, _) = clarabel(&identity, &vec![0.0; size], &a, &b, &cones);
    (
        dot(&x, &x).sqrt() * reference,
        status == SolverStatus::Solved,
    )
}

/// The canonical reaction is the shortest, on files with unsymmetric `W` too.
#[test]
fn canonical_reactions_are_the_shortest() {
    let Some(root) = shared("data/fclib/local3d") else {
        return;
    };
    let mut confirmed = 0;
    for name in [
        "Capsules-i100-1090.dat",
        "Capsules-i101-404.dat",
        "Capsules-i103-990.dat",
        "OneObject-i100000-499.hdf5.dat",
        "BoxesStack1-i100000-32.hdf5.dat",
    ] {
        let Problem::Friction(p) = read(&root.join(name)).unwrap() else {
            panic!("{name}");
        };
        let limits = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        let mut r = vec![0.0; p.free_velocity().len()];
        let end = solve(&p, FrictionSolver::Auto, limits, &mut r);
        assert!(end.outcome.is_solved(), "{name}: {end:?}");
        let (theirs, sure) = shortest(&p, &r);
        let (mut u, mut v) = (vec![0.0; r.len()], vec![0.0; r.len()]);
        p.velocity(&r, &mut u);
        assert!(canonical_reaction(&p, 1e-11, &mut r), "{name}");
        p.velocity(&r, &mut v);
        let (root, reference) = scales(&p);
        let size = |x: &[f64], power: i32| -> f64 {
            x.iter()
                .zip(&root)
                .map(|(x, s)| (x * s.powi(power)).powi(2))
                .sum::<f64>()
                .sqrt()
        };
        let moved: Vec<f64> = u.iter().zip(&v).map(|(a, b)| a - b).collect();
        let ours = size(&r, 1);
        println!("{name}: {ours}, the referee {theirs} (sure: {sure})");
        assert!(p.residual(&r).eta <= 1e-11, "{name}");
        // A point that is not quite feasible may be shorter.
        assert!(
            !sure || (ours - theirs).abs() <= 1e-6 * theirs,
            "{name}: {ours} {theirs}"
        );
        confirmed += usize::from(sure);
        assert!(size(&moved, -1) <= 1e-10 * reference, "{name}");
    }
    assert!(confirmed >= 3, "{confirmed}");
}
