//! Problems from files, solved by one method or by all, with everything a report or a performance profile needs.

use crate::archive::{self, ArchiveError, Point, Problem};
use crate::friction::{
    self, FrictionContact, FrictionSolver, GlobalFriction, Limits, Measure, ProblemError, Residual,
};
use crate::lcp::{self, LcpSolver};
use crate::mlcp::Mlcp;
use crate::outcome::{Status, Tolerance};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A problem could not be posed or solved at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The file could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The problem could not be reduced.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// No method has this name.
    #[error("no solver is called {name:?} for this kind of problem; there are {known}{}", suggestion(.name, .known))]
    Solver {
        /// What was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
}

/// `; did you mean …?` where one name is close.
fn suggestion(name: &str, known: &str) -> String {
    let close = known
        .split(", ")
        .find(|k| k.contains(name) || (name.len() > 2 && name.contains(k)));
    close.map_or(String::new(), |k| format!("; did you mean {k:?}?"))
}

/// What is asked of a solver.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Bound on `eta` for friction, on the residual relative to `1 + ‖q‖∞` for complementarity.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: u64,
    /// Largest number of counted floating-point operations (friction).
    pub max_work: f64,
    /// Whether the reaction of least norm is asked for where it is not unique.
    pub canonical: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            max_iterations: 1_000_000,
            max_work: 1e10,
            canonical: false,
        }
    }
}

/// The answer to one problem, as it is written to a file.
#[derive(Debug, Clone, Serialize)]
pub struct Solution {
    /// `lcp`, `mlcp`, `friction` or `global-friction`.
    pub kind: &'static str,
    /// Number of contacts, or of unknowns of a complementarity problem.
    pub size: usize,
    /// Name of the method.
    pub solver: String,
    /// The word, in kebab-case.
    pub status: String,
    /// Whether the point is a solution.
    pub solved: bool,
    /// Iterations spent.
    pub iterations: u32,
    /// `eta` of friction, the residual of the natural map of complementarity.
    pub residual: f64,
    /// Largest `|e_i|` (N s); friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_impulse: Option<f64>,
    /// Largest `d_i |e_i|` (m/s); friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_velocity: Option<f64>,
    /// Residual in mixed units, for comparison with other codes; friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_unscaled: Option<f64>,
    /// `|M v − H r − f| / max(|M v|, |H r|, |f|)`; global friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_dynamics: Option<f64>,
    /// Wall-clock time of the solver alone, s.
    pub time_s: f64,
    /// The unknowns: `z`, or the impulses `r`.
    pub unknowns: Vec<f64>,
    /// `M z + q`, or the contact velocities `u`.
    pub dual: Vec<f64>,
    /// Generalised velocities `v`; global friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<Vec<f64>>,
    /// Proof of infeasibility, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Vec<f64>>,
}

/// Names of the methods for `problem`, `auto` first.
#[must_use]
pub fn solver_names(problem: &Problem) -> Vec<&'static str> {
    match problem {
        Problem::Mixed { .. } => LcpSolver::ALL.iter().map(|(n, _)| *n).collect(),
        Problem::Friction(_) | Problem::Global(_) => {
            FrictionSolver::ALL.iter().map(|(n, _)| *n).collect()
        }
    }
}

/// Solves `problem` with the method called `solver`.
///
/// # Errors
/// [`BatchError`] where there is no such method or the problem cannot be reduced.
pub fn solve(problem: &Problem, solver: &str, request: &Request) -> Result<Solution, BatchError> {
    let unknown = || BatchError::Solver {
        name: solver.into(),
        known: solver_names(problem).join(", "),
    };
    match problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let method = LcpSolver::named(solver).ok_or_else(unknown)?;
            Ok(solve_mixed(
                &Mlcp {
                    equalities: *equalities,
                    matrix,
                    q,
                },
                solver,
                method,
                request,
            ))
        }
        Problem::Friction(p) => {
            let method = FrictionSolver::named(solver).ok_or_else(unknown)?;
            Ok(solve_friction(p, solver, method, request))
        }
        Problem::Global(p) => {
            let method = FrictionSolver::named(solver).ok_or_else(unknown)?;
            solve_global(p, solver, method, request)
        }
    }
}

fn word(status: Status) -> String {
    let mut text = String::new();
    for c in format!("{status:?}").chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn solve_mixed(problem: &Mlcp<'_>, name: &str, method: LcpSolver, request: &Request) -> Solution {
    let mut z = vec![0.0; problem.q.len()];
    let max_iterations = u32::try_from(request.max_iterations.min(100_000)).unwrap_or(100_000);
    let tolerance = Tolerance {
        residual: request.tolerance,
        max_iterations,
    };
    let start = Instant::now();
    let end = lcp::solve(problem, method, tolerance, &mut z);
    let time_s = start.elapsed().as_secs_f64();
    let mut w = problem.q.to_vec();
    problem.matrix.apply_add(1.0, &z, &mut w);
    Solution {
        kind: if problem.equalities == 0 {
            "lcp"
        } else {
            "mlcp"
        },
        size: z.len(),
        solver: name.into(),
        status: word(end.outcome.status),
        solved: end.outcome.is_solved(),
        iterations: end.outcome.iterations,
        residual: end.outcome.residual,
        residual_impulse: None,
        residual_velocity: None,
        residual_unscaled: None,
        residual_dynamics: None,
        time_s,
        unknowns: z,
        dual: w,
        velocity: None,
        certificate: end.certificate,
    }
}

fn solve_friction(
    p: &FrictionContact,
    name: &str,
    method: FrictionSolver,
    request: &Request,
) -> Solution {
    let mut r = vec![0.0; p.dimension() * p.contacts()];
    let limits = Limits {
        tolerance: request.tolerance,
        max_iterations: request.max_iterations,
        max_work: request.max_work,
        cancel: None,
    };
    let start = Instant::now();
    let end = friction::solve(p, method, limits, &mut r);
    let time_s = start.elapsed().as_secs_f64();
    let mut residual: Residual = end.residual;
    if request.canonical
        && end.outcome.is_solved()
        && friction::canonical_reaction(p, request.tolerance, &mut r)
    {
        residual = Measure::new(p).residual_of(p, &r);
    }
    let mut u = vec![0.0; r.len()];
    p.velocity(&r, &mut u);
    Solution {
        kind: "friction",
        size: p.contacts(),
        solver: name.into(),
        status: word(end.outcome.status),
        solved: end.outcome.is_solved(),
        iterations: end.outcome.iterations,
        residual: residual.eta,
        residual_impulse: Some(residual.impulse),
        residual_velocity: Some(residual.velocity),
        residual_unscaled: Some(residual.unscaled),
        residual_dynamics: None,
        time_s,
        unknowns: r,
        dual: u,
        velocity: None,
        certificate: None,
    }
}

/// Solves the reduced form and recovers `v`; `u = Hᵀ v + w` is evaluated from it.
fn solve_global(
    p: &GlobalFriction,
    name: &str,
    method: FrictionSolver,
    request: &Request,
) -> Result<Solution, BatchError> {
    let mut solution = solve_friction(&p.reduce()?, name, method, request);
    let mass = p.factorised_mass()?;
    let v = p.generalised_velocity(&mass, &solution.unknowns);
    let mut u = p.bias().to_vec();
    p.directions().apply_transposed_add(1.0, &v, &mut u);
    let size = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (mut inertia, mut impulse) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    p.mass().apply_add(1.0, &v, &mut inertia);
    p.directions()
        .apply_add(1.0, &solution.unknowns, &mut impulse);
    let scale = size(&inertia).max(size(&impulse)).max(size(p.force()));
    let defect: Vec<f64> = (0..v.len())
        .map(|i| inertia[i] - impulse[i] - p.force()[i])
        .collect();
    solution.kind = "global-friction";
    solution.residual_dynamics = Some(if scale > 0.0 {
        size(&defect) / scale
    } else {
        0.0
    });
    solution.dual = u;
    solution.velocity = Some(v);
    Ok(solution)
}

impl Solution {
    /// The point by itself, to be stored beside its problem.
    #[must_use]
    pub fn point(&self) -> Point {
        Point {
            unknowns: self.unknowns.clone(),
            dual: self.dual.clone(),
            velocity: self.velocity.clone().unwrap_or_default(),
        }
    }
}

/// How well a stored point solves `problem`: the residual a solver is held to, and the one in mixed units (friction).
/// The point's own velocities are not trusted: they are computed from its impulses.
///
/// # Errors
/// [`BatchError::Problem`] where a global problem cannot be reduced.
pub fn judge(problem: &Problem, point: &Point) -> Result<(f64, Option<f64>), BatchError> {
    let friction = |e: Residual| (e.eta, Some(e.unscaled));
    Ok(match problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let problem = Mlcp {
                equalities: *equalities,
                matrix,
                q,
            };
            (problem.residual(&point.unknowns), None)
        }
        Problem::Friction(p) => friction(p.residual(&point.unknowns)),
        Problem::Global(p) => friction(p.residual(&point.unknowns)?),
    })
}

/// One row of the table solver × problem.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// The file.
    pub problem: PathBuf,
    /// What came out; the vectors are dropped to keep a table small.
    pub solution: Solution,
}

/// Solves every problem file in `folder` (and below) with the methods `solvers`, or with all there are for its kind.
/// Files that cannot be read are reported with their errors; the order is that of the names.
///
/// # Errors
/// [`ArchiveError`] where the folder cannot be listed.
pub fn solve_folder(
    folder: &Path,
    solvers: Option<&[String]>,
    request: &Request,
    mut each: impl FnMut(&Path, &Result<Solution, BatchError>),
) -> Result<Vec<Run>, ArchiveError> {
    let mut runs = Vec::new();
    for path in problem_files(folder)? {
        let problem = match archive::read(&path) {
            Ok(problem) => problem,
            Err(error) => {
                each(&path, &Err(error.into()));
                continue;
            }
        };
        let names: Vec<String> = match solvers {
            Some(list) => list.to_vec(),
            None => solver_names(&problem)
                .into_iter()
                .map(String::from)
                .collect(),
        };
        for name in names {
            let result = solve(&problem, &name, request);
            each(&path, &result);
            if let Ok(mut solution) = result {
                solution.unknowns.clear();
                solution.dual.clear();
                solution.velocity = None;
                runs.push(Run {
                    problem: path.clone(),
                    solution,
                });
            }
        }
    }
    Ok(runs)
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
