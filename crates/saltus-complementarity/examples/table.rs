//! Solver × problem: status, iterations, residuals and time for every friction file given.
//!
//! `table SOLVER[,SOLVER…] FILE…`

use saltus_complementarity::archive::{Problem, read};
use saltus_complementarity::friction::{FrictionSolver, Limits, solve};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let solvers = args.next().unwrap_or_default();
    let work = std::env::var("WORK")
        .ok()
        .and_then(|w| w.parse().ok())
        .unwrap_or(2e9);
    for path in args {
        let problem = match read(path.as_ref()) {
            Ok(Problem::Friction(p)) => p,
            Ok(Problem::Global(p)) => match p.reduce() {
                Ok(p) => p,
                Err(e) => {
                    println!("{path}: {e}");
                    continue;
                }
            },
            Ok(_) => continue,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        let name: String = path
            .rsplit('/')
            .next()
            .unwrap_or("")
            .chars()
            .take(34)
            .collect();
        for solver in solvers.split(',') {
            let Some(method) = FrictionSolver::named(solver) else {
                println!("no solver {solver}");
                return;
            };
            let limits = Limits {
                max_work: work,
                ..Limits::default()
            };
            let mut best = f64::INFINITY;
            let mut end = None;
            // The fastest of at most three runs: other programs share the machine.
            for _ in 0..3 {
                let mut r = vec![0.0; problem.dimension() * problem.contacts()];
                let start = Instant::now();
                end = Some(solve(&problem, method, limits, &mut r));
                best = best.min(start.elapsed().as_secs_f64() * 1e3);
                if best > 300.0 {
                    break;
                }
            }
            let (Some(end), time) = (end, best) else {
                continue;
            };
            println!(
                "{name:34} {:5} {solver:18} {:14} {:7} eta {:.1e} unscaled {:.1e} {time:9.4} ms {:.1e} flop",
                problem.contacts(),
                format!("{:?}", end.outcome.status),
                end.outcome.iterations,
                end.residual.eta,
                end.residual.unscaled,
                end.work
            );
        }
    }
}
