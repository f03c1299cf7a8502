//! A folder of problems, solved by one thread or by several.
//!
//! A problem belongs to one thread from its reading to its last solver, and results are handed over in the order of the
//! names: the number of threads changes the times and nothing else.

use super::{BatchError, Request, Solution, Start, solve_from, solver_names};
use crate::archive::{self, ArchiveError, Problem};
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// One row of the table solver × problem.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// The file, from the folder.
    pub problem: PathBuf,
    /// What came out; without the vectors, unless they were asked for.
    pub solution: Solution,
}

/// What is asked of a folder.
#[derive(Debug, Clone)]
pub struct FolderRequest {
    /// What is asked of every solver.
    pub request: Request,
    /// Names of the methods; `None` for all there are for each kind of problem.
    pub solvers: Option<Vec<String>>,
    /// Where they start.
    pub start: Start,
    /// Whether every run keeps its vectors: unknowns, duals, velocities.
    pub vectors: bool,
    /// Number of threads, at least 1. Times are comparable only if no more run than there are idle cores.
    pub threads: usize,
}

impl Default for FolderRequest {
    fn default() -> Self {
        Self {
            request: Request::default(),
            solvers: None,
            start: Start::Zero,
            vectors: false,
            threads: 1,
        }
    }
}

type Answer = Result<Solution, BatchError>;

/// Solves every problem file in `folder` (and below). Files that cannot be read are reported with their errors; `each` sees
/// the results in the order of the names, which are given from the folder.
///
/// # Errors
/// [`ArchiveError`] where the folder cannot be listed.
pub fn solve_folder(
    folder: &Path,
    asked: &FolderRequest,
    mut each: impl FnMut(&Path, &Answer),
) -> Result<Vec<Run>, ArchiveError> {
    let files = problem_files(folder)?;
    let mut runs = Vec::new();
    let mut deliver = |path: &Path, result: Answer| {
        let path = path.strip_prefix(folder).unwrap_or(path);
        each(path, &result);
        if let Ok(mut solution) = result {
            if !asked.vectors {
                solution.unknowns.clear();
                solution.dual.clear();
                solution.velocity = None;
            }
            runs.push(Run {
                problem: path.to_owned(),
                solution,
            });
        }
    };
    let threads = asked.threads.clamp(1, files.len().max(1));
    if threads == 1 {
        for path in &files {
            solve_file(path, asked, &mut |answer| {
                deliver(path, answer);
                true
            });
        }
        return Ok(runs);
    }
    let next = AtomicUsize::new(0);
    let abandoned = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel::<(usize, Option<Answer>)>();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, files, abandoned) = (sender.clone(), &next, &files, &abandoned);
            scope.spawn(move || {
                while !abandoned.load(Ordering::Relaxed) {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = files.get(k) else { break };
                    // Nobody listens any more: the caller gave up.
                    let mut send = |answer| {
                        let heard = sender.send((k, Some(answer))).is_ok();
                        abandoned.fetch_or(!heard, Ordering::Relaxed);
                        heard
                    };
                    solve_file(path, asked, &mut send);
                    if sender.send((k, None)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        // What has come of each file so far; `None` ends it.
        let mut waiting: Vec<VecDeque<Option<Answer>>> =
            files.iter().map(|_| VecDeque::new()).collect();
        let mut current = 0;
        for (k, answer) in receiver {
            waiting[k].push_back(answer);
            while let Some(answer) = waiting.get_mut(current).and_then(VecDeque::pop_front) {
                match answer {
                    Some(answer) => deliver(&files[current], answer),
                    None => current += 1,
                }
            }
        }
    });
    Ok(runs)
}

/// Reads a file and solves it by every method asked for, as long as `take` wants more.
fn solve_file(path: &Path, asked: &FolderRequest, take: &mut dyn FnMut(Answer) -> bool) {
    let record = match archive::read_record(path) {
        Ok(record) => record,
        Err(error) => {
            take(Err(error.into()));
            return;
        }
    };
    let start = match asked.start.unknowns(&record) {
        Ok(start) => start,
        Err(error) => {
            take(Err(error));
            return;
        }
    };
    for name in names(&record.problem, asked.solvers.as_deref()) {
        if !take(solve_from(&record.problem, start, &name, &asked.request)) {
            return;
        }
    }
}

fn names(problem: &Problem, asked: Option<&[String]>) -> Vec<String> {
    match asked {
        Some(list) => list.to_vec(),
        None => solver_names(problem)
            .into_iter()
            .map(String::from)
            .collect(),
    }
}

/// Files of a folder and below that may hold a problem, by name.
fn problem_files(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let refused = |source| ArchiveError::Io {
        path: folder.into(),
        source,
    };
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        if path.is_dir() {
            list.extend(problem_files(&path)?);
        } else if path
            .extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| matches!(e, "dat" | "hdf5" | "h5" | "json"))
        {
            list.push(path);
        }
    }
    list.sort();
    Ok(list)
}
