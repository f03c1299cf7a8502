//! Problems that have stopped other solvers, and reactions of least norm on public files.

use crate::support::{as_contact_problem, shared};
use saltus_complementarity::friction::{
    FrictionSolver, Limits, ResidualScales, canonical_reaction, solve, solve_global,
};
use saltus_complementarity::{Status, Tolerance};
use saltus_problems::archive::{Problem, read};

/// Problems that have stopped other solvers.
#[test]
fn hard_files_are_solved() {
    let Some(folder) = shared("cases/friction") else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut solved = 0;
    for path in &files {
        let problem = match read(path).unwrap() {
            Problem::Friction(p) => p,
            Problem::Global(p) => p.reduce().unwrap(),
            other => panic!("{other:?}"),
        };
        let mut posed = as_contact_problem(&problem);
        let start = std::time::Instant::now();
        let outcome = posed.solve(Tolerance::default());
        let time = start.elapsed().as_secs_f64();
        let eta = problem.residual(posed.z()).eta;
        println!(
            "{}: {} rows, {:?}, {} iterations, residual {:.1e}, eta {eta:.1e}, redundant {}, {:.1} ms",
            path.file_name().unwrap().to_str().unwrap(),
            posed.rows(),
            outcome.status,
            outcome.iterations,
            outcome.residual,
            outcome.redundant,
            1e3 * time
        );
        solved += usize::from(outcome.is_solved());
    }
    println!("{solved} of {}", files.len());
    assert_eq!(solved, files.len());
}

/// Scenes that single methods solve and a combination of them once gave up.
#[test]
fn auto_solves_what_its_parts_solve() {
    let Some(folder) = shared("cases/friction") else {
        return;
    };
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.sort();
    let mut left = Vec::new();
    for path in &names {
        let end = match read(path).unwrap() {
            Problem::Friction(p) => {
                let mut r = vec![0.0; p.free_velocity().len()];
                let end = solve(&p, FrictionSolver::Auto, Limits::default(), &mut r);
                assert!(!end.outcome.is_solved() || p.residual(&r).eta <= 1e-8);
                end
            }
            Problem::Global(p) => {
                let mut r = vec![0.0; p.dimension() * p.contacts()];
                solve_global(&p, FrictionSolver::Auto, Limits::default(), &mut r).unwrap()
            }
            other => panic!("{other:?}"),
        };
        if !end.outcome.is_solved() {
            let (status, eta) = (end.outcome.status, end.residual.eta);
            left.push(format!("{}: {status:?} {eta:.1e}", path.display()));
        }
    }
    assert!(left.is_empty(), "of {}: {left:#?}", names.len());
}

/// Masses and weights fix the reaction under a heavy body on a light one to all digits, of which rounding in `W` leaves about seven: it is
/// refined with the velocities as unknowns. No method calls another point a solution, nor the problem infeasible.
#[test]
fn the_reaction_under_a_heavy_body_is_right_to_all_digits() {
    let Some(path) = shared("cases/friction/heavy-on-light-1e9.json") else {
        return;
    };
    let Problem::Global(p) = read(&path).unwrap() else {
        panic!("{}", path.display())
    };
    let exact = [1e7 + 0.01, 1e7];
    for (name, method) in FrictionSolver::ALL {
        let limits = Limits {
            max_work: 1e8,
            ..Limits::default()
        };
        let mut r = [0.0; 6];
        let end = solve_global(&p, method, limits, &mut r).unwrap();
        let miss = (r[0] / exact[0] - 1.0)
            .abs()
            .max((r[3] / exact[1] - 1.0).abs());
        let status = end.outcome.status;
        assert_ne!(status, Status::Infeasible, "{name}");
        assert!(!end.outcome.is_solved() || miss < 1e-12, "{name} {miss:e}");
        assert!(
            status != Status::Inaccurate || miss < 1e-6,
            "{name} {miss:e}"
        );
        assert!(name != "auto" || status == Status::Solved, "{status:?}");
    }
    // Other modes are no solution, and leave the point as it was.
    for wrong in [
        [1e7, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1e7, 5e6, 0.0, 1e7, 0.0, 0.0],
    ] {
        let mut r = wrong;
        assert!(p.refine(&mut r, 1e-8).is_none());
        assert_eq!(r, wrong);
    }
}

/// Newton's method must neither go to and fro at a kink nor between two weights of the proximal term, one too small and one that
/// moves nothing.
#[test]
fn the_proximal_method_solves_them_alone() {
    let Some(folder) = shared("cases/friction") else {
        return;
    };
    let mut left = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Problem::Friction(p) = read(&path).unwrap() else {
            continue;
        };
        let method = FrictionSolver::named("proximal-newton").unwrap();
        let limits = Limits {
            max_work: 2e9,
            ..Limits::default()
        };
        let end = solve(&p, method, limits, &mut vec![0.0; p.free_velocity().len()]);
        if !end.outcome.is_solved() {
            let (status, eta) = (end.outcome.status, end.residual.eta);
            left.push(format!("{}: {status:?} {eta:.1e}", path.display()));
        }
    }
    assert!(left.is_empty(), "{left:#?}");
}

/// At the default tolerance, where the velocities of a solution do not tell what slides: the reaction is the one that an accurate
/// solution gives.
#[test]
fn the_least_reaction_does_not_depend_on_the_tolerance() {
    for name in ["i100-1090", "i101-404", "i103-990"] {
        let Some(path) = shared(&format!("data/fclib/local3d/Capsules-{name}.dat")) else {
            return;
        };
        let Problem::Friction(p) = read(&path).unwrap() else {
            panic!("{name}")
        };
        let scales = ResidualScales::new(&p);
        let norms = [1e-8, 1e-12].map(|tolerance| {
            let mut r = vec![0.0; p.free_velocity().len()];
            let limits = Limits {
                tolerance,
                ..Limits::default()
            };
            let end = solve(&p, FrictionSolver::Auto, limits, &mut r);
            assert!(end.outcome.is_solved(), "{name}: {end:?}");
            assert!(
                canonical_reaction(&p, tolerance, &mut r),
                "{name} {tolerance}"
            );
            assert!(p.residual(&r).eta <= tolerance);
            let each = r.chunks_exact(3).zip(scales.contact_scales());
            let sum: f64 = each
                .map(|(r, d)| d * r.iter().map(|v| v * v).sum::<f64>())
                .sum();
            sum.sqrt() / scales.reference()
        });
        println!("{name}: {norms:?}");
        assert!(
            (norms[0] / norms[1] - 1.0).abs() < 1e-4,
            "{name}: {norms:?}"
        );
    }
}
