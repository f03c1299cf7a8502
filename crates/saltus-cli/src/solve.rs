//! `saltus solve`: complementarity and friction problems from files, by one solver or by all.

use crate::arguments::SolveArguments;
use crate::{NOT_WRITTEN, STEP_FAILED, WRONG_INPUT};
use saltus_complementarity::ENUMERATION_LIMIT;
use saltus_complementarity::archive::{self, ArchiveError, Problem, Record};
use saltus_complementarity::batch::{self, BatchError, FolderRequest, Request, Run, Solution};
use saltus_complementarity::friction::{Feasibility, feasibility};
use saltus_complementarity::profile::Profile;
use saltus_complementarity::table::Table;
use std::cmp::Ordering;
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
    let record = match archive::read_record(&arguments.problem) {
        Ok(record) => record,
        Err(error) => return wrong(error),
    };
    if let Some(target) = &arguments.convert
        && let Err(error) = archive::write_record(target, &record)
    {
        return not_written(error);
    }
    let problem = &record.problem;
    println!("{}: {}", arguments.problem.display(), description(problem));
    if let Err(error) = stored(&record) {
        return wrong(error);
    }
    println!("{HEADER}");
    let names = solvers(arguments).unwrap_or_else(|| {
        batch::solver_names(problem)
            .into_iter()
            .map(String::from)
            .collect()
    });
    let start = match arguments.start.unknowns(&record) {
        Ok(start) => start,
        Err(error) => return wrong(format!("--start {}: {error}", arguments.start)),
    };
    let mut solutions = Vec::new();
    for name in names {
        match batch::solve_from(problem, start, &name, request) {
            Ok(solution) => {
                println!("{}", row(&solution));
                details(&solution);
                solutions.push(solution);
            }
            Err(error) => return wrong(error),
        }
    }
    if let Some(out) = &arguments.out {
        let written = if is_hdf5(out) {
            write_solved(out, &record, &solutions).map_err(|e| e.to_string())
        } else {
            write_json(out, &solutions)
                .map_err(|e| format!("{} cannot be written: {e}", out.display()))
        };
        if let Err(error) = written {
            return not_written(error);
        }
    }
    if solutions.iter().any(Solution::settled) {
        ExitCode::SUCCESS
    } else {
        if let Some(text) = existence(problem) {
            eprintln!("{text}");
        }
        let others = if arguments.solver == "all" {
            ""
        } else {
            "--solver all, or "
        };
        eprintln!(
            "no solver settled the problem; try {others}more --max-iterations and --max-work"
        );
        ExitCode::from(STEP_FAILED)
    }
}

/// What a row of the table has no room for: all solutions of an enumeration, and whether a reaction is the one of least norm.
fn details(solution: &Solution) {
    if let Some(found) = &solution.enumeration {
        for (k, z) in found.solutions.iter().enumerate() {
            println!("  solution {}: {z:?}", k + 1);
        }
        let count = found.solutions.len();
        match (found.sets, found.complete) {
            (0, _) => println!(
                "  not tried: an enumeration takes at most {ENUMERATION_LIMIT} complementary pairs and few equalities"
            ),
            (sets, true) => println!(
                "  {sets} active sets tried: {count} solutions, proven to be all (one of each face of solutions)"
            ),
            (sets, false) => println!(
                "  {sets} active sets tried: {count} solutions; of some sets rounding does not tell whether they hold another"
            ),
        }
    }
    if solution.canonical == Some(false) {
        println!(
            "  the reaction of least norm was not reached; this is another with the same velocities"
        );
    }
}

/// What can be said of solutions of a frictional problem that no solver found.
fn existence(problem: &Problem) -> Option<&'static str> {
    let known = match problem {
        Problem::Friction(p) => feasibility(p),
        Problem::Global(p) => p.matrix_free().ok().and_then(|p| feasibility(&p)),
        _ => None,
    };
    match known? {
        Feasibility::Strict { .. } => Some(
            "the problem is strictly feasible (Slater): where W is symmetric and positive semidefinite, a solution exists",
        ),
        Feasibility::Open { .. } => {
            Some("the problem is not strictly feasible (Slater fails): a solution may exist or not")
        }
        Feasibility::Infeasible { .. } => {
            Some("the problem is infeasible: no reaction satisfies even u_n >= 0")
        }
        _ => None,
    }
}

/// Says how good the points are that came with the problem.
fn stored(record: &Record) -> Result<(), BatchError> {
    let guesses = record.guesses.iter().enumerate();
    let guesses = guesses.map(|(k, p)| (format!("stored guess {}", k + 1), p));
    let solution = record.solution.iter();
    let solution = solution.map(|p| ("stored solution".to_owned(), p));
    for (name, point) in solution.chain(guesses) {
        let (residual, unscaled) = batch::judge(&record.problem, point)?;
        println!("{}", line(&name, "", None, residual, unscaled, None));
    }
    Ok(())
}

fn is_hdf5(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "hdf5" || e == "h5")
}

/// The problem with the best solution beside it; where none was found, without.
fn write_solved(out: &Path, record: &Record, solutions: &[Solution]) -> Result<(), ArchiveError> {
    let solved = solutions.iter().filter(|s| s.solved);
    let best = solved.min_by(|a, b| {
        a.residual
            .partial_cmp(&b.residual)
            .unwrap_or(Ordering::Equal)
    });
    if best.is_none() {
        eprintln!(
            "{}: no solution was found; the problem is written without one",
            out.display()
        );
    }
    let record = Record {
        solution: best.map(Solution::point),
        ..record.clone()
    };
    archive::write_record(out, &record)
}

fn folder(arguments: &SolveArguments, request: &Request) -> ExitCode {
    if arguments.convert.is_some() {
        return wrong("--convert needs a single problem".to_owned());
    }
    if arguments.out.as_deref().is_some_and(is_hdf5) {
        return wrong(
            "the solutions of a folder are written as JSON; give --out a name ending in .json"
                .to_owned(),
        );
    }
    println!("{:40} {HEADER}", "problem");
    let asked = FolderRequest {
        request: *request,
        solvers: solvers(arguments),
        start: arguments.start,
        vectors: arguments.out.is_some(),
        threads: arguments.threads.get(),
    };
    let mut misread = 0_u32;
    let mut unnamed = None;
    let mut unstarted = 0_u32;
    let each = |path: &Path, result: &Result<Solution, BatchError>| {
        let name = path.display().to_string();
        match result {
            Ok(solution) => println!("{name:40} {}", row(solution)),
            Err(error) => {
                misread += 1;
                println!("{name:40} {error}");
                match error {
                    BatchError::Solver { .. } => unnamed = Some(error.to_string()),
                    BatchError::Start { .. } => unstarted += 1,
                    _ => {}
                }
            }
        }
    };
    let runs = match batch::solve_folder(&arguments.problem, &asked, each) {
        Ok(runs) => runs,
        Err(error) => return wrong(error),
    };
    if runs.is_empty() && unstarted > 0 {
        return wrong(format!(
            "--start {}: none of the {unstarted} problems of {} holds this point; start from zero, or from a point that is stored in the files",
            arguments.start,
            arguments.problem.display()
        ));
    }
    if runs.is_empty() {
        return wrong(unnamed.unwrap_or_else(|| {
            format!(
                "{} holds no problem that can be read",
                arguments.problem.display()
            )
        }));
    }
    let solved = runs.iter().filter(|r| r.solution.settled()).count();
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

const HEADER: &str =
    "solver                  status            iterations  residual    in mixed units  time [s]";

fn row(s: &Solution) -> String {
    line(
        &s.solver,
        &s.status,
        Some(s.iterations),
        s.residual,
        s.residual_unscaled,
        Some(s.time_s),
    )
}

fn line(
    name: &str,
    status: &str,
    iterations: Option<u32>,
    residual: f64,
    unscaled: Option<f64>,
    time: Option<f64>,
) -> String {
    let iterations = iterations.map_or(String::new(), |n| n.to_string());
    let unscaled = unscaled.map_or(String::new(), |v| format!("{v:.3e}"));
    let time = time.map_or(String::new(), |t| format!("{t:.6}"));
    format!("{name:22}  {status:16}  {iterations:>10}  {residual:<10.3e}  {unscaled:<14}  {time}")
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

/// `STEM.html` and every run in `STEM-runs.csv` and `STEM-runs.md`; of each family of problems a profile of its own, `STEM.svg`,
/// `STEM.csv` and `STEM-failures.csv`, with the name of the family after the stem where there are two.
fn write_profile(stem: &Path, runs: &[Run]) -> std::io::Result<Vec<String>> {
    let profiles = Profile::by_family(runs);
    let table = Table::new(runs);
    let mut files = Vec::new();
    let mut drawings = String::new();
    for profile in &profiles {
        let name = match profiles.len() {
            1 => String::new(),
            _ => format!("-{}", profile.family.name()),
        };
        let svg = profile.svg();
        drawings += &format!("<p>{}</p>\n{svg}\n", profile.caption());
        files.push((format!("{name}.svg"), svg));
        files.push((format!("{name}.csv"), profile.csv()));
        files.push((format!("{name}-failures.csv"), profile.failures_csv()));
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Performance profile</title>\n\
         <style>body{{font-family:sans-serif}} td,th{{padding:0 .6em;text-align:left}} .failed{{color:#b00}}</style></head>\n\
         <body>\n<h1>Performance profile</h1>\n<p>Share of the problems that a solver solves within a factor of the fastest one.</p>\n{drawings}\n\
         <h2>All runs</h2>\n{}</body></html>\n",
        table.html()
    );
    files.push((".html".to_owned(), page));
    files.push(("-runs.csv".to_owned(), table.csv()));
    files.push(("-runs.md".to_owned(), table.markdown()));
    let mut written = Vec::new();
    for (end, text) in files {
        let mut name = stem.as_os_str().to_owned();
        name.push(end);
        let path = PathBuf::from(name);
        std::fs::write(&path, text)
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
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
