//! Convex problems solved here and by an independent interior-point code (Clarabel): the proof of infeasibility and the least
//! reaction.

use crate::support::{Random, shared};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use saltus_complementarity::BlockMatrix;
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, Limits, ResidualScales, canonical_reaction, infeasibility,
    solve,
};
use saltus_linear::dot;
use saltus_problems::archive::{Problem, read};

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
    let scales = ResidualScales::new(p);
    let d = p.dimension();
    let root = scales
        .contact_scales()
        .iter()
        .flat_map(|s| vec![s.sqrt(); d]);
    (root.collect(), scales.reference())
}

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

/// The largest `t ≤ 1` with `W x + q ≥ t` in the normal directions, in scaled unknowns.
fn margin(p: &FrictionContact) -> f64 {
    let ((root, reference), d, n) = (scales(p), p.dimension(), p.contacts());
    let t = d * n;
    let mut c = vec![0.0; t + 1];
    c[t] = -1.0;
    let (mut a, mut b) = (vec![(0, t, 1.0)], vec![1.0]);
    for i in 0..n {
        let row = b.len();
        let columns = p.delassus().cols(i).iter();
        for (&j, block) in columns.zip(p.delassus().row(i).chunks_exact(d * d)) {
            for (l, w) in block[..d].iter().enumerate() {
                a.push((row, d * j + l, -w / (root[d * i] * root[d * j + l])));
            }
        }
        a.push((row, t, 1.0));
        b.push(p.free_velocity()[d * i] / (root[d * i] * reference));
    }
    let cones = [SupportedConeT::NonnegativeConeT(1 + n)];
    clarabel(&Vec::new(), &c, &a, &b, &cones).1[t]
}

#[test]
fn farkas_at_random() {
    let mut random = Random::new(73);
    let mut counts = [0; 2];
    // All of them with `SALTUS_EXAMINE=all`, as before a change lands.
    let all = std::env::var("SALTUS_EXAMINE").is_ok_and(|value| value == "all");
    let cases = if all { 400 } else { 100 };
    for case in 0..cases {
        let d = [2, 3, 5][case % 3];
        let n = 1 + random.below(6);
        let rank = 1 + random.below(2 * n);
        let p = random_problem(&mut random, d, n, rank);
        let contact = margin(&p);
        let certified = infeasibility(&p).is_some();
        // Where the referee sees less than rounding, nothing is asked.
        if contact.abs() > 1e-6 {
            assert_eq!(certified, contact < 0.0, "case {case}: {contact:.2e}");
        }
        counts[usize::from(certified)] += 1;
    }
    println!("{} feasible, {} infeasible", counts[0], counts[1]);
    assert!(counts.iter().all(|&c| c > cases / 20), "{counts:?}");
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
