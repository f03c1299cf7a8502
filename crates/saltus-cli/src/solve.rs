//! `saltus solve`: complementarity and friction problems from files, by one solver or by all.

use crate::arguments::SolveArguments;
use crate::words::count;
use crate::{NOT_WRITTEN, STEP_FAILED, WRONG_INPUT, foreign, profile, targets, verdicts};
use saltus_problems::archive::{self, Problem, Record};
use saltus_problems::batch::{self, BatchError, FolderRequest, Request, Run, Solution, Start};
use saltus_problems::table::format_number;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Why standard output could not be written, the first time.
static UNTOLD: OnceLock<String> = OnceLock::new();

/// Prints a line. A file may still be waiting for the answer where the line cannot be written.
macro_rules! say {
    ($($part:tt)*) => {
        if let Err(message) = crate::print(&(format!($($part)*) + "\n")) {
            UNTOLD.get_or_init(|| message);
        }
    };
}

pub fn run(arguments: &SolveArguments) -> ExitCode {
    let code = answered(arguments);
    match UNTOLD.get() {
        Some(message) if code == ExitCode::SUCCESS => not_written(message),
        Some(message) => {
            eprintln!("{message}");
            code
        }
        None => code,
    }
}

fn answered(arguments: &SolveArguments) -> ExitCode {
    let request = Request {
        tolerance: arguments.tol,
        max_iterations: arguments.max_iterations,
        max_work: arguments.max_work,
        canonical: arguments.canonical,
    };
    // Relative to the data, everything misses by at most 1 or so: nothing would be asked for.
    if !(request.tolerance > 0.0 && request.tolerance < 1.0) {
        return wrong(format!(
            "--tol is {}, expected a number > 0 and < 1",
            request.tolerance
        ));
    }
    if request.max_work.is_nan() || request.max_work <= 0.0 {
        return wrong(format!(
            "--max-work is {}, expected a number > 0",
            request.max_work
        ));
    }
    let solver = solver(arguments);
    if solver != ALL && !batch::is_solver(solver) {
        let name = solver.to_owned();
        return wrong(BatchError::NoSolver { name });
    }
    if arguments.problem.is_dir() {
        folder(arguments, &request)
    } else if arguments.profile.is_some() {
        wrong("--profile needs a folder of problems")
    } else {
        file(arguments, &request)
    }
}

/// Every solver there is for the kind of problem.
const ALL: &str = "all";

fn solver(arguments: &SolveArguments) -> &str {
    arguments.solver.as_deref().unwrap_or("auto")
}

/// The names asked for; none for all.
fn solvers(arguments: &SolveArguments) -> Option<Vec<String>> {
    let name = solver(arguments);
    (name != ALL).then(|| vec![name.to_owned()])
}

/// The solvers and the start for a single problem, after everything that can be refused without solving it.
fn accepted<'a>(
    arguments: &SolveArguments,
    record: &'a Record,
) -> Result<(Vec<String>, &'a [f64]), String> {
    let problem = &record.problem;
    let what = match problem {
        Problem::Mixed { .. } => Some("a complementarity problem"),
        Problem::Contact(_) => Some("a problem of several laws"),
        _ => None,
    };
    let known = batch::solver_names(problem);
    let names =
        solvers(arguments).unwrap_or_else(|| known.iter().map(|name| (*name).to_owned()).collect());
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let (name, known) = (name.clone(), known.join(", "));
        return Err(BatchError::Solver { name, known }.to_string());
    }
    if solver(arguments) != ALL
        && let Some(reason) = batch::not_applicable(problem, solver(arguments))
    {
        return Err(format!("--solver {}: {reason}", solver(arguments)));
    }
    let start = arguments.start.unknowns(record);
    let start = start.map_err(|e| format!("--start {}: {e}", arguments.start))?;
    let targets = [("--out", &arguments.out), ("--convert", &arguments.convert)];
    for (flag, path) in targets {
        let Some(path) = path else { continue };
        if let Some(what) = what.filter(|_| is_hdf5(path)) {
            return Err(format!(
                "{flag} {}: FCLIB's HDF5 holds frictional contact only, and this is {what}; give a name ending in .json",
                path.display()
            ));
        }
        if targets::same(path, &arguments.problem) {
            return Err(format!(
                "{flag} {}: this is the problem itself, which would be replaced; give another name",
                path.display()
            ));
        }
        targets::ready(flag, path)?;
        // The same problem in another format, or with another solution beside it, is no loss.
        let list = flag == "--out" && !is_hdf5(path);
        keeps_problems(flag, path, (!list).then_some(record))?;
    }
    if let (Some(out), Some(convert)) = (&arguments.out, &arguments.convert)
        && out == convert
    {
        return Err(format!(
            "--out and --convert are both {}; give two names",
            out.display()
        ));
    }
    Ok((names, start))
}

/// Refuses to replace a problem by something else; `by` is the problem that will be written, if it is one.
fn keeps_problems(flag: &str, path: &Path, by: Option<&Record>) -> Result<(), String> {
    if !foreign::is_problem(path) {
        return Ok(());
    }
    let same =
        by.is_some_and(|own| archive::read_record(path).is_ok_and(|there| there.same_problem(own)));
    if same {
        return Ok(());
    }
    let (place, other) = (path.display(), if by.is_some() { "another" } else { "a" });
    Err(format!(
        "{flag} {place}: this is {other} problem, which would be replaced; give another name, or remove it first"
    ))
}

fn file(arguments: &SolveArguments, request: &Request) -> ExitCode {
    let record = match archive::read_record(&arguments.problem) {
        Ok(record) => record,
        Err(error) => {
            return match foreign::instead_of_a_problem(&arguments.problem) {
                Some(text) => wrong(text),
                None => wrong(error),
            };
        }
    };
    let (names, start) = match accepted(arguments, &record) {
        Ok(accepted) => accepted,
        Err(error) => return wrong(error),
    };
    if let Some(target) = &arguments.convert {
        if let Some(text) = without_points(target, &record) {
            eprintln!("{text}");
        }
        if let Err(error) = archive::write_record(target, &with_kept(target, record.clone())) {
            return not_written(error);
        }
    }
    let problem = &record.problem;
    say!("{}: {}", arguments.problem.display(), description(problem));
    if let Problem::Global(p) = problem
        && p.mass_asymmetry() > 1e-6
    {
        eprintln!(
            "note: the mass matrix is not symmetric: mirrored entries differ by up to {:.1e} of sqrt(Mii Mjj); it is used as it stands",
            p.mass_asymmetry()
        );
    }
    if let Err(error) = stored(&record) {
        return wrong(error);
    }
    let asked = arguments.solver.is_some() || arguments.start != Start::Zero;
    if let Some(target) = &arguments.convert
        && !(asked || arguments.canonical || arguments.out.is_some())
    {
        say!("written to {}; not solved", target.display());
        return ExitCode::SUCCESS;
    }
    say!("{HEADER}");
    let mut solutions = Vec::new();
    for name in names {
        match batch::solve_from(problem, start, &name, request) {
            Ok(solution) => {
                say!("{}", row(&solution));
                details(&solution);
                solutions.push(solution);
            }
            Err(error) => return wrong(error),
        }
    }
    if let Some(out) = &arguments.out {
        let written = if is_hdf5(out) {
            write_solved(out, &record, &solutions)
        } else {
            targets::write_json(out, &solutions)
        };
        if let Err(error) = written {
            return not_written(error);
        }
    }
    if solutions.iter().any(Solution::settled) {
        return ExitCode::SUCCESS;
    }
    eprintln!("no solver settled the problem");
    let all = solver(arguments) == ALL || batch::solver_names(problem).len() == 1;
    for line in verdicts::advice(&solutions, all) {
        eprintln!("  {line}");
    }
    ExitCode::from(STEP_FAILED)
}

/// What a row of the table has no room for: all solutions of an enumeration, and why a point is not the one of least norm.
fn details(solution: &Solution) {
    if let Some(found) = &solution.enumeration {
        for (k, z) in found.solutions.iter().enumerate() {
            say!("  solution {}: {z:?}", k + 1);
        }
        let tried = format!(
            "{} tried",
            count(found.sets.into(), "active set", "active sets")
        );
        let (sets, complete) = (found.sets, found.complete);
        let found = count(found.solutions.len() as u64, "solution", "solutions");
        match (sets, complete) {
            (_, true) => {
                say!("  {tried}: {found}, proven to be all (one of each face of solutions)")
            }
            (_, false) => say!(
                "  {tried}: {found}; of some sets rounding does not tell whether they hold another"
            ),
        }
    }
    if let Some(reason) = &solution.not_applicable {
        say!("  {reason}");
    }
    if solution.several {
        say!(
            "  this is one of several solutions with different velocities: other states of the contact solve the problem, too (Painlevé)"
        );
    }
    if let Some(note) = solution.canonical_note {
        say!("  {note}");
    }
    if let Some(text) = verdicts::proof(solution) {
        say!("  {text}");
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
        say!("{}", line(&name, "", None, Some(residual), unscaled, None));
    }
    Ok(())
}

fn is_hdf5(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "hdf5" || e == "h5")
}

/// `record` with the points that stand beside the same problem in `target` and would be lost.
fn with_kept(target: &Path, mut record: Record) -> Record {
    // Another problem has been refused before.
    if let Some(there) = archive::read_record(target)
        .ok()
        .filter(|_| target.is_file())
    {
        let kept = record.adopt(there);
        if kept > 0 {
            let points = count(kept as u64, "stored point", "stored points");
            say!("{}: {points} of the file kept", target.display());
        }
    }
    record
}

/// That the format of `target` has no place for the points of `record`.
fn without_points(target: &Path, record: &Record) -> Option<String> {
    let points = record.guesses.len() + usize::from(record.solution.is_some());
    let text = target.extension().is_some_and(|e| e == "dat");
    (text && points > 0).then(|| {
        format!(
            "note: {}: Siconos' text has no place for the {} of the problem; a name ending in .json or .hdf5 has",
            target.display(),
            count(points as u64, "stored point", "stored points")
        )
    })
}

/// The problem with the best solution beside it; where none was found, without. Where it cannot be written, the solution goes to
/// the terminal.
fn write_solved(out: &Path, record: &Record, solutions: &[Solution]) -> Result<(), String> {
    let solved = solutions.iter().filter(|s| s.solved);
    let best = solved.min_by(|a, b| a.residual.total_cmp(&b.residual));
    let record = Record {
        solution: best.map(Solution::point),
        ..record.clone()
    };
    let record = with_kept(out, record);
    if best.is_none() {
        let rest = match record.solution {
            None => "the problem is written without one",
            Some(_) => "the one that is stored there stays",
        };
        eprintln!("{}: no solution was found; {rest}", out.display());
    }
    archive::write_record(out, &record).map_err(|error| {
        if let Some(text) = best.and_then(|best| serde_json::to_string_pretty(best).ok()) {
            say!("{text}");
        }
        format!("{error}; the solution is printed instead")
    })
}

fn folder(arguments: &SolveArguments, request: &Request) -> ExitCode {
    if arguments.convert.is_some() {
        return wrong("--convert needs a single problem");
    }
    if arguments.out.as_deref().is_some_and(is_hdf5) {
        return wrong(
            "the solutions of a folder are written as JSON; give --out a name ending in .json",
        );
    }
    let out = arguments.out.as_deref();
    let ready = out.map_or(Ok(()), |out| {
        targets::ready("--out", out)?;
        keeps_problems("--out", out, None)
    });
    let stem = arguments.profile.as_deref();
    let ready = ready.and_then(|()| stem.map_or(Ok(()), profile::ready));
    if let Err(error) = ready {
        return wrong(error);
    }
    say!("{:40} {HEADER}", "problem");
    let asked = FolderRequest {
        request: *request,
        solvers: solvers(arguments),
        start: arguments.start,
        vectors: arguments.out.is_some(),
        threads: arguments.threads.get(),
    };
    let mut unposed = Vec::new();
    let (mut unstarted, mut other_kind) = (0_usize, 0_usize);
    let each = |path: &Path, result: &Result<Solution, BatchError>| {
        let name = path.display().to_string();
        let error = match result {
            Ok(solution) => {
                say!("{name:40} {}", row(solution));
                if let Some(reason) = &solution.not_applicable {
                    say!("{:40}   {reason}", "");
                }
                return;
            }
            Err(BatchError::Solver { .. }) => {
                other_kind += 1;
                format!("is of a kind that {} is not for", solver(arguments))
            }
            Err(error) => {
                unstarted += usize::from(matches!(error, BatchError::Start { .. }));
                let unread = matches!(error, BatchError::Archive(_));
                let file = arguments.problem.join(path);
                let other = unread.then(|| foreign::instead_of_a_problem(&file));
                other.flatten().unwrap_or_else(|| error.to_string())
            }
        };
        // What no method can pose is said once.
        if unposed.last() != Some(&(name.clone(), error.clone())) {
            say!("{name:40} {error}");
            unposed.push((name, error));
        }
    };
    let runs = match batch::solve_folder(&arguments.problem, &asked, each) {
        Ok(runs) => runs,
        Err(error) => return wrong(error),
    };
    if runs.is_empty() {
        let place = arguments.problem.display();
        return wrong(if unstarted > 0 {
            format!(
                "--start {}: none of the {unstarted} problems of {place} holds this point; start from zero, or from a point that is stored in the files",
                arguments.start
            )
        } else if other_kind > 0 {
            format!(
                "--solver {}: none of the {other_kind} problems of {place} is of a kind that it is for; try --solver all",
                solver(arguments)
            )
        } else {
            format!("{place} holds no problem that can be read")
        });
    }
    if !runs.iter().any(|run| run.solution.applies()) {
        let place = arguments.problem.display();
        return wrong(format!(
            "--solver {}: it is for none of the problems of {place}, for the reasons above; try --solver all",
            solver(arguments)
        ));
    }
    let settled = |run: &&Run| run.solution.settled();
    let problems: BTreeSet<&Path> = runs.iter().map(|r| r.problem.as_path()).collect();
    let answered: BTreeSet<&Path> = runs.iter().filter(settled).map(|r| &*r.problem).collect();
    // With one solver the runs are the problems.
    let applied = runs.iter().filter(|run| run.solution.applies()).count();
    let mut by_runs = String::new();
    if runs.len() > problems.len() {
        let settled = runs.iter().filter(settled).count();
        let all = count(applied as u64, "run", "runs");
        by_runs = format!(", by {settled} of {all}");
    }
    if applied < runs.len() {
        let rest = count((runs.len() - applied) as u64, "run", "runs");
        by_runs += &format!("; {rest} not applicable");
    }
    say!(
        "{} of {} settled{by_runs}; {} could not be posed",
        answered.len(),
        count(problems.len() as u64, "problem", "problems"),
        count(unposed.len() as u64, "file", "files")
    );
    // What is not written does not keep the rest from being written.
    let mut code = ExitCode::SUCCESS;
    if let Some(out) = out
        && let Err(error) = targets::write_json(out, &runs)
    {
        code = not_written(error);
    }
    if let Some(stem) = stem {
        match profile::write(stem, &runs, &settings(arguments), &unposed) {
            Ok(files) => say!("profile in {}", files.join(", ")),
            Err(error) => code = not_written(format!("the profile cannot be written: {error}")),
        }
    }
    code
}

/// What the runs of a folder were asked for, in a line.
fn settings(arguments: &SolveArguments) -> String {
    let threads = match arguments.threads.get() {
        1 => "one thread".to_owned(),
        n => format!("{n} threads, which disturb the times"),
    };
    format!(
        "saltus {}: tolerance {:e}, at most {} iterations and (friction) {} operations, start {}, {threads}",
        env!("CARGO_PKG_VERSION"),
        arguments.tol,
        arguments.max_iterations,
        format_number(Some(arguments.max_work), 0),
        arguments.start
    )
}

const HEADER: &str =
    "solver                   status            iterations  residual    in mixed units  time [s]";

fn row(s: &Solution) -> String {
    line(
        &s.solver,
        &s.status,
        s.applies().then_some(s.iterations),
        s.applies().then_some(s.residual),
        s.residual_unscaled,
        s.applies().then_some(s.time_s),
    )
}

fn line(
    name: &str,
    status: &str,
    iterations: Option<u32>,
    residual: Option<f64>,
    unscaled: Option<f64>,
    time: Option<f64>,
) -> String {
    let iterations = iterations.map_or(String::new(), |n| n.to_string());
    let (residual, unscaled) = (format_number(residual, 3), format_number(unscaled, 3));
    let time = time.map_or(String::new(), |t| format!("{t:.6}"));
    format!("{name:23}  {status:16}  {iterations:>10}  {residual:<10}  {unscaled:<14}  {time}")
}

fn description(problem: &Problem) -> String {
    match problem {
        Problem::Mixed {
            equalities: 0, q, ..
        } => format!(
            "linear complementarity, {}",
            count(q.len() as u64, "unknown", "unknowns")
        ),
        Problem::Mixed { equalities, q, .. } => {
            format!(
                "mixed linear complementarity, {} of {}",
                count(*equalities as u64, "equality", "equalities"),
                count(q.len() as u64, "row", "rows")
            )
        }
        Problem::Friction(p) => {
            format!(
                "frictional contact, {} of dimension {}",
                count(p.contacts() as u64, "contact", "contacts"),
                p.dimension()
            )
        }
        Problem::Global(p) => {
            format!(
                "frictional contact in global form, {} of dimension {}, {}",
                count(p.contacts() as u64, "contact", "contacts"),
                p.dimension(),
                count(p.force().len() as u64, "velocity", "velocities")
            )
        }
        Problem::Contact(p) => format!(
            "contact problem of several laws, {} with {}",
            count(p.blocks.len() as u64, "block", "blocks"),
            count(p.q.len() as u64, "row", "rows")
        ),
        _ => "a problem".to_owned(),
    }
}

fn wrong(error: impl Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(WRONG_INPUT)
}

fn not_written(error: impl Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(NOT_WRITTEN)
}
