//! `saltus solve`: complementarity and friction problems from files, by one solver or by all.

use crate::arguments::SolveArguments;
use crate::{NOT_WRITTEN, STEP_FAILED, WRONG_INPUT};
use saltus_complementarity::archive::{self, Problem};
use saltus_complementarity::batch::{self, BatchError, Request, Run, Solution};
use saltus_complementarity::profile::Profile;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn run(arguments: &SolveArguments) -> ExitCode {
    let request = Request {
        tolerance: arguments.tol,
        max_iterations: arguments.max_iterations,
        max_work: arguments.max_work,
        canonical: arguments.canonical,
    };
    if !(request.tolerance > 0.0 && request.tolerance.is_finite()) {
        return wrong(format!(
            "--tol is {}, expected a number > 0",
            request.tolerance
        ));
    }
    if request.max_work.is_nan() || request.max_work <= 0.0 {
        return wrong(format!(
            "--max-work is {}, expected a number > 0",
            request.max_work
        ));
    }
    if arguments.problem.is_dir() {
        folder(arguments, &request)
    } else if arguments.profile.is_some() {
        wrong("--profile needs a folder of problems".to_owned())
    } else {
        file(arguments, &request)
    }
}

/// The names asked for; none for all.
fn solvers(arguments: &SolveArguments) -> Option<Vec<String>> {
    (arguments.solver != "all").then(|| vec![arguments.solver.clone()])
}

fn file(arguments: &SolveArguments, request: &Request) -> ExitCode {
    let problem = match archive::read(&arguments.problem) {
        Ok(problem) => problem,
        Err(error) => return wrong(error),
    };
    if let Some(target) = &arguments.convert
        && let Err(error) = archive::write(target, &problem)
    {
        return not_written(error);
    }
    println!("{}: {}", arguments.problem.display(), description(&problem));
    println!("{HEADER}");
    let names = solvers(arguments).unwrap_or_else(|| {
        batch::solver_names(&problem)
            .into_iter()
            .map(String::from)
            .collect()
    });
    let mut solutions = Vec::new();
    for name in names {
        match batch::solve(&problem, &name, request) {
            Ok(solution) => {
                println!("{}", row(&solution));
                solutions.push(solution);
            }
            Err(error) => return wrong(error),
        }
    }
    if let Some(out) = &arguments.out
        && let Err(error) = write_json(out, &solutions)
    {
        return not_written(format!("{} cannot be written: {error}", out.display()));
    }
    if solutions.iter().any(settled) {
        ExitCode::SUCCESS
    } else {
        eprintln!(
            "no solver settled the problem; try --solver all, or more --max-iterations and --max-work"
        );
        ExitCode::from(STEP_FAILED)
    }
}

fn folder(arguments: &SolveArguments, request: &Request) -> ExitCode {
    if arguments.convert.is_some() {
        return wrong("--convert needs a single problem".to_owned());
    }
    println!("{:40} {HEADER}", "problem");
    let list = solvers(arguments);
    let mut misread = 0_u32;
    let mut unnamed = None;
    let each = |path: &Path, result: &Result<Solution, BatchError>| {
        let name = path
            .strip_prefix(&arguments.problem)
            .unwrap_or(path)
            .display()
            .to_string();
        match result {
            Ok(solution) => println!("{name:40} {}", row(solution)),
            Err(error) => {
                misread += 1;
                println!("{name:40} {error}");
                if matches!(error, BatchError::Solver { .. }) {
                    unnamed = Some(error.to_string());
                }
            }
        }
    };
    let runs = match batch::solve_folder(&arguments.problem, list.as_deref(), request, each) {
        Ok(runs) => runs,
        Err(error) => return wrong(error),
    };
    if runs.is_empty() {
        return wrong(unnamed.unwrap_or_else(|| {
            format!(
                "{} holds no problem that can be read",
                arguments.problem.display()
            )
        }));
    }
    let solved = runs.iter().filter(|r| settled(&r.solution)).count();
    println!(
        "{solved} of {} runs settled, {misread} could not be posed",
        runs.len()
    );
    if let Some(out) = &arguments.out
        && let Err(error) = write_json(out, &runs)
    {
        return not_written(format!("{} cannot be written: {error}", out.display()));
    }
    match arguments
        .profile
        .as_deref()
        .map(|stem| write_profile(stem, &runs))
    {
        Some(Err(error)) => not_written(format!("the profile cannot be written: {error}")),
        Some(Ok(files)) => {
            println!("profile in {}", files.join(", "));
            ExitCode::SUCCESS
        }
        None => ExitCode::SUCCESS,
    }
}

/// Whether the problem is answered: by a solution, or by the proof that there is none.
fn settled(solution: &Solution) -> bool {
    solution.solved || solution.certificate.is_some()
}

const HEADER: &str = "solver                  status            iterations  residual      time [s]";

fn row(s: &Solution) -> String {
    format!(
        "{:22}  {:16}  {:>10}  {:<12.3e}  {:.6}",
        s.solver, s.status, s.iterations, s.residual, s.time_s
    )
}

fn description(problem: &Problem) -> String {
    match problem {
        Problem::Mixed {
            equalities: 0, q, ..
        } => format!("linear complementarity, {} unknowns", q.len()),
        Problem::Mixed { equalities, q, .. } => {
            format!(
                "mixed linear complementarity, {equalities} equalities of {} rows",
                q.len()
            )
        }
        Problem::Friction(p) => {
            format!(
                "frictional contact, {} contacts of dimension {}",
                p.contacts(),
                p.dimension()
            )
        }
        Problem::Global(p) => {
            format!(
                "frictional contact in global form, {} velocities",
                p.force().len()
            )
        }
        _ => "a problem".to_owned(),
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    std::fs::write(path, text + "\n")
}

/// `STEM.svg`, `STEM.html`, `STEM.csv` and `STEM-failures.csv`.
fn write_profile(stem: &Path, runs: &[Run]) -> std::io::Result<Vec<String>> {
    let profile = Profile::new(runs);
    let svg = profile.svg();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Performance profile</title></head>\n\
         <body>\n<h1>Performance profile</h1>\n<p>Share of the problems that a solver solves within a factor of the fastest one.</p>\n{svg}\n</body></html>\n"
    );
    let named = |end: &str| {
        let mut name = stem.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let mut written = Vec::new();
    for (path, text) in [
        (named(".svg"), svg),
        (named(".html"), page),
        (named(".csv"), profile.csv()),
        (named("-failures.csv"), profile.failures_csv()),
    ] {
        std::fs::write(&path, text)?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

fn wrong(error: impl Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(WRONG_INPUT)
}

fn not_written(error: impl Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(NOT_WRITTEN)
}
