//! A folder of problems, solved by one thread or by several.
//!
//! A problem belongs to one thread from its reading to its last solver, and results are handed over in the order of the
//! names: the number of threads changes the times and nothing else.

use super::{BatchError, Request, Solution, Start, is_solver, solve_from, solver_names};
use crate::archive::{self, ArchiveError, Problem};
use serde::Serialize;
use std::collections::{BTreeSet, HashSet, VecDeque};
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
/// [`BatchError`] where the folder cannot be listed, or a solver is asked for that no kind of problem has.
pub fn solve_folder(
    folder: &Path,
    asked: &FolderRequest,
    mut each: impl FnMut(&Path, &Answer),
) -> Result<Vec<Run>, BatchError> {
    if let Some(unknown) = asked.solvers.iter().flatten().find(|name| !is_solver(name)) {
        return Err(BatchError::NoSolver {
            name: unknown.clone(),
        });
    }
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
        for file in &files {
            solve_file(file, asked, &mut |answer| {
                deliver(&file.path, answer);
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
                    let Some(file) = files.get(k) else { break };
                    // Nobody listens any more: the caller gave up.
                    let mut send = |answer| {
                        let heard = sender.send((k, Some(answer))).is_ok();
                        abandoned.fetch_or(!heard, Ordering::Relaxed);
                        heard
                    };
                    solve_file(file, asked, &mut send);
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
                    Some(answer) => deliver(&files[current].path, answer),
                    None => current += 1,
                }
            }
        }
    });
    Ok(runs)
}

/// Reads a file and solves it by every method asked for, as long as `take` wants more.
fn solve_file(file: &Found, asked: &FolderRequest, take: &mut dyn FnMut(Answer) -> bool) {
    let record = match &file.refused {
        Some(source) => Err(ArchiveError::Io {
            path: file.path.clone(),
            source: std::io::Error::new(source.kind(), source.to_string()),
        }),
        None => archive::read_record(&file.path),
    };
    let record = match record {
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

/// A file that may hold a problem, or why a part of the folder could not be looked through.
struct Found {
    path: PathBuf,
    refused: Option<std::io::Error>,
}

/// Files of a folder and below that may hold a problem, by name: each once, by its own name where that is in the folder, else by
/// that of the first link to it. Links back to where they are in are not followed.
fn problem_files(folder: &Path) -> Result<Vec<Found>, ArchiveError> {
    let refused = |path: &Path, source| ArchiveError::Io {
        path: path.into(),
        source,
    };
    let root = folder.canonicalize().map_err(|e| refused(folder, e))?;
    let mut list = Vec::new();
    let mut known = HashSet::from([root.clone()]);
    // Links wait until everything has been seen by its own name.
    let mut folders = vec![(folder.to_owned(), root)];
    let mut links = BTreeSet::new();
    loop {
        while let Some((path, real)) = folders.pop() {
            let listed: std::io::Result<Vec<_>> =
                std::fs::read_dir(&path).and_then(Iterator::collect);
            let entries = match listed {
                Ok(entries) => entries,
                Err(source) if path == folder => return Err(refused(folder, source)),
                Err(source) => {
                    list.push(Found {
                        path,
                        refused: Some(source),
                    });
                    continue;
                }
            };
            for entry in entries {
                let (path, real) = (entry.path(), real.join(entry.file_name()));
                match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => drop(links.insert(path)),
                    Ok(kind) if kind.is_dir() && known.insert(real.clone()) => {
                        folders.push((path, real));
                    }
                    Ok(kind) if kind.is_file() && is_problem(&path) && known.insert(real) => {
                        list.push(Found {
                            path,
                            refused: None,
                        });
                    }
                    _ => {}
                }
            }
        }
        let Some(path) = links.pop_first() else { break };
        match path.canonicalize() {
            Ok(real) if real.is_dir() => {
                let parent = path.parent().and_then(|p| p.canonicalize().ok());
                let back = parent.is_some_and(|parent| parent.starts_with(&real));
                if !back && known.insert(real.clone()) {
                    folders.push((path, real));
                }
            }
            Ok(real) if real.is_file() && is_problem(&path) && known.insert(real.clone()) => {
                list.push(Found {
                    path,
                    refused: None,
                });
            }
            Err(source) if is_problem(&path) => {
                list.push(Found {
                    path,
                    refused: Some(source),
                });
            }
            _ => {}
        }
    }
    list.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(list)
}

fn is_problem(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    ending.is_some_and(|e| matches!(e, "dat" | "hdf5" | "h5" | "json"))
}
