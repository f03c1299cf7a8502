//! Our side of the comparison with a peer on problems from files, CPU time of this thread; `benches/complementarity.py` calls it.
//!
//! - `prepare FOLDER OUT`: every problem of a folder, global ones reduced, in the peer's text format, with a line each;
//! - `solve FILE TOLERANCE`: `auto` from zero. The tolerance on `eta` is lowered by decades, before anything is timed,
//!   until the peer's own error is below TOLERANCE too;
//! - `sweeps FILE COUNT`: that many sweeps of Gauss–Seidel;
//! - `judge FILE POINT`: the residuals of a point.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rustix::time::{ClockId, clock_gettime};
use saltus_complementarity::friction::{self, FrictionContact, FrictionSolver, Limits, Order};
use saltus_complementarity::lcp::{self, LcpSolver};
use saltus_complementarity::{Mlcp, Tolerance};
use saltus_problems::archive::{Problem, read, write};
use std::path::{Path, PathBuf};

/// CPU time of this thread \[s\].
fn cpu() -> f64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Time of a run: the least of several batches that last some milliseconds, because the clock is coarse; long runs run once.
fn least(mut run: impl FnMut()) -> f64 {
    let (mut best, mut repeats) = (f64::INFINITY, 1);
    for batch in 0..=5 {
        let before = cpu();
        for _ in 0..repeats {
            run();
        }
        let spent = cpu() - before;
        if batch == 0 {
            repeats = (0.008 / spent.max(1e-6)).clamp(1.0, 2000.0) as u32;
            if spent < 0.1 {
                continue;
            }
        }
        best = best.min(spent / f64::from(repeats));
        if best > 0.3 {
            break;
        }
    }
    best
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "dat" || e == "hdf5") {
            list.push(path);
        }
    }
    list.sort();
    list
}

fn prepare(folder: &Path, out: &Path) {
    std::fs::create_dir_all(out).unwrap();
    for path in files(folder) {
        let problem = match read(&path).unwrap() {
            Problem::Global(p) => Problem::Friction(p.reduce().unwrap()),
            other => other,
        };
        let name = path
            .strip_prefix(folder)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('/', "__");
        let target = out.join(format!("{name}.dat"));
        write(&target, &problem).unwrap();
        let (kind, size) = match &problem {
            Problem::Friction(p) => (p.dimension().to_string(), p.contacts()),
            Problem::Mixed { q, .. } => ("lcp".to_owned(), q.len()),
            _ => continue,
        };
        println!(
            "RESULT {{\"file\":{target:?},\"name\":{name:?},\"kind\":{kind:?},\"size\":{size}}}"
        );
    }
}

fn limits(tolerance: f64) -> Limits<'static> {
    Limits {
        tolerance,
        ..Limits::default()
    }
}

fn solve(path: &Path, tolerance: f64) {
    match read(path).unwrap() {
        Problem::Friction(p) => {
            let mut r = vec![0.0; p.dimension() * p.contacts()];
            let mut goal = tolerance;
            let run = |goal: f64, r: &mut Vec<f64>| {
                r.fill(0.0);
                friction::solve(&p, FrictionSolver::Auto, limits(goal), r)
            };
            let mut end = run(goal, &mut r);
            while end.outcome.is_solved() && end.residual.unscaled > tolerance && goal > 1e-13 {
                goal *= 0.1;
                end = run(goal, &mut r);
            }
            let time = least(|| {
                run(goal, &mut r);
            });
            println!(
                "RESULT {{\"solved\":{},\"time_s\":{time:.9},\"iterations\":{},\"eta\":{:e},\"unscaled\":{:e},\"goal\":{goal:e}}}",
                end.outcome.is_solved(),
                end.outcome.iterations,
                end.residual.eta,
                end.residual.unscaled
            );
        }
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let problem = Mlcp {
                equalities,
                matrix: &matrix,
                q: &q,
            };
            let mut z = vec![0.0; q.len()];
            let tolerance = Tolerance {
                residual: tolerance,
                ..Tolerance::default()
            };
            let end = lcp::solve(&problem, LcpSolver::Auto, tolerance, &mut z);
            let time = least(|| {
                z.fill(0.0);
                lcp::solve(&problem, LcpSolver::Auto, tolerance, &mut z);
            });
            println!(
                "RESULT {{\"solved\":{},\"time_s\":{time:.9},\"iterations\":{},\"eta\":{:e},\"unscaled\":0,\"infeasible\":{}}}",
                end.outcome.is_solved(),
                end.outcome.iterations,
                end.outcome.residual,
                end.certificate.is_some()
            );
        }
        _ => panic!("no reduced problem"),
    }
}

fn sweeps(p: &FrictionContact, count: u64) {
    let mut r = vec![0.0; p.dimension() * p.contacts()];
    let method = FrictionSolver::Nsgs {
        omega: 1.0,
        order: Order::Forward,
    };
    // Nothing meets a negative tolerance, and no proof is looked for.
    let some = Limits {
        tolerance: -1.0,
        max_iterations: count,
        max_work: f64::INFINITY,
        cancel: None,
    };
    let mut done = 0;
    let time = least(|| {
        r.fill(0.0);
        done = friction::solve(p, method, some, &mut r).outcome.iterations;
    });
    println!("RESULT {{\"time_s\":{time:.9},\"iterations\":{done}}}");
}

fn judge(path: &Path, point: &Path) {
    let text = std::fs::read_to_string(point).unwrap();
    let x: Vec<f64> = text
        .lines()
        .map(|l| l.trim().parse().unwrap_or(f64::NAN))
        .collect();
    let (eta, unscaled) = match read(path).unwrap() {
        Problem::Friction(p) => {
            let e = p.residual(&x);
            (e.eta, e.unscaled)
        }
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let problem = Mlcp {
                equalities,
                matrix: &matrix,
                q: &q,
            };
            (problem.relative_residual(&x), 0.0)
        }
        _ => panic!("no reduced problem"),
    };
    println!("RESULT {{\"eta\":\"{eta:e}\",\"unscaled\":\"{unscaled:e}\"}}");
}

fn main() {
    let list: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = list.iter().map(String::as_str).collect();
    match words[..] {
        ["prepare", folder, out] => prepare(Path::new(folder), Path::new(out)),
        ["solve", file, tolerance] => solve(Path::new(file), tolerance.parse().unwrap()),
        ["judge", file, point] => judge(Path::new(file), Path::new(point)),
        ["sweeps", file, count] => match read(Path::new(file)).unwrap() {
            Problem::Friction(p) => sweeps(&p, count.parse().unwrap()),
            _ => panic!("sweeps are of frictional contact"),
        },
        _ => eprintln!("see benches/complementarity.py"),
    }
}
