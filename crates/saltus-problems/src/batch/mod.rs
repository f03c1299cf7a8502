//! Problems from files, solved by one method or by all, with everything a report or a performance profile needs.

mod contact;
mod folder;
mod start;

pub use folder::{FolderRequest, Run, solve_folder};
pub use start::{NoStart, Start};

use crate::archive::{ArchiveError, Point, Problem};
use saltus_complementarity::friction::{
    self, FrictionContact, FrictionOutcome, FrictionSolver, GlobalFriction, Limits, ProblemError,
    Residual,
};
use saltus_complementarity::lcp::{self, LcpSolver};
use saltus_complementarity::{
    ContactDataError, ContactProblem, Enumeration, Mlcp, Status, Tolerance, enumeration_refusal,
};
use serde::Serialize;
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
    /// The parts of a problem of several laws do not fit together.
    #[error(transparent)]
    Contact(#[from] ContactDataError),
    /// No method of any kind of problem has this name.
    #[error("no solver is called {name:?}{}; for complementarity there are {}; for friction {}; or all",
        did_you_mean(.name, &[lcp_names(), friction_names()].concat()), lcp_names().join(", "), friction_names().join(", "))]
    NoSolver {
        /// What was asked for.
        name: String,
    },
    /// No method for this kind of problem has this name.
    #[error("no solver is called {name:?} for this kind of problem{}; there are {known}",
        did_you_mean(.name, &.known.split(", ").collect::<Vec<_>>()))]
    Solver {
        /// What was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The file holds no such point.
    #[error("there is no {start} in the file, which holds {} and {} solution; start from zero{}", counted(*.guesses),
        if *.solution { "a" } else { "no" }, if *.solution || *.guesses > 0 { " or from one of these" } else { "" })]
    Start {
        /// What was asked for.
        start: Start,
        /// Number of stored guesses.
        guesses: usize,
        /// Whether there is a stored solution.
        solution: bool,
    },
    /// The point to start from has another size than the problem.
    #[error("the point to start from has {found} unknowns, the problem {expected}")]
    StartSize {
        /// What was given.
        found: usize,
        /// What the problem has.
        expected: usize,
    },
}

/// `, did you mean "…"?` where one name is close: begun, or a third of its letters wrong.
fn did_you_mean(name: &str, known: &[&str]) -> String {
    let folded = name.to_lowercase().replace(['_', ' '], "-");
    let length = folded.chars().count();
    let distance = |k: &&str| strsim::damerau_levenshtein(&folded, k);
    let close = known.iter().copied().filter(|k| {
        distance(k) <= (length.max(k.len()) / 3).max(1)
            || (length > 2 && (k.contains(&folded) || folded.contains(k)))
    });
    let nearest = close.min_by_key(distance).filter(|_| length > 1);
    nearest.map_or(String::new(), |k| format!(", did you mean {k:?}?"))
}

fn counted(guesses: usize) -> String {
    match guesses {
        0 => "no guesses".to_owned(),
        1 => "1 guess".to_owned(),
        n => format!("{n} guesses"),
    }
}

/// What is asked of a solver.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Bound on `eta` for friction, on [`Mlcp::relative_residual`] for complementarity.
    pub tolerance: f64,
    /// Largest number of iterations; complementarity counts to 2³² − 1.
    pub max_iterations: u64,
    /// Largest number of counted floating-point operations (friction).
    pub max_work: f64,
    /// Whether the reaction, or the solution of a complementarity problem, of least norm is asked for where there are several.
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
    /// `lcp`, `mlcp`, `friction`, `global-friction` or `contact`.
    pub kind: &'static str,
    /// Number of contacts, of unknowns of a complementarity problem, or of blocks of one of several laws.
    pub size: usize,
    /// Name of the method.
    pub solver: String,
    /// The word, in kebab-case.
    pub status: String,
    /// Whether the point is a solution.
    pub solved: bool,
    /// Iterations spent.
    pub iterations: u32,
    /// `eta` of friction, [`Mlcp::relative_residual`] of complementarity: without a unit, at most the tolerance where solved.
    /// Infinite where a row of complementarity without data is missed, NaN where the point is not finite or none was looked for;
    /// what is not finite is written as `null`.
    pub residual: f64,
    /// Largest `|e_i|` (N s); friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_impulse: Option<f64>,
    /// Largest `d_i |e_i|` (m/s); friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_velocity: Option<f64>,
    /// Residual with a unit, for comparison with other codes: in mixed units of friction, of the natural map in the unit of
    /// `w` of complementarity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_unscaled: Option<f64>,
    /// `|M v − H r − f| / max(|M v|, |H r|, |f|)`; global friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_dynamics: Option<f64>,
    /// Wall-clock time of the solver alone, s; with that of the step to the reaction of least norm where it was asked for.
    pub time_s: f64,
    /// The unknowns: `z`, or the impulses `r`.
    pub unknowns: Vec<f64>,
    /// `M z + q`, or the contact velocities `u`.
    pub dual: Vec<f64>,
    /// Generalised velocities `v`; global friction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity: Option<Vec<f64>>,
    /// Farkas' proof of infeasibility, if there is one: multipliers of the rows, or normal impulses of the contacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Vec<f64>>,
    /// A contact that acts on no other and has no solution, where that is what proves infeasibility.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuted: Option<usize>,
    /// What all active sets of a complementarity problem gave, where they were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enumeration: Option<AllSets>,
    /// Whether the problem, of one contact, has several solutions with different velocities (Painlevé), of which this is one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
    /// Why the method is not for this problem: then nothing was tried, and there is no point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// Whether `unknowns` is the reaction or the solution of least norm, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<bool>,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_note: Option<&'static str>,
}

/// An [`Enumeration`] as it is written to a file.
#[derive(Debug, Clone, Serialize)]
pub struct AllSets {
    /// Active sets that were tried.
    pub sets: u32,
    /// Whether every other set is refuted: there are no further isolated solutions and no further faces of them.
    pub complete: bool,
    /// All solutions; of a face of them one point.
    pub solutions: Vec<Vec<f64>>,
}

impl From<Enumeration> for AllSets {
    fn from(found: Enumeration) -> Self {
        Self {
            sets: found.sets,
            complete: found.complete,
            solutions: found.solutions,
        }
    }
}

impl Solution {
    /// Whether the problem is answered: by a solution, or by the proof that there is none.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.solved || self.status == Status::Infeasible.name()
    }

    /// Whether the method is for this problem, so that what came of it counts.
    #[must_use]
    pub fn applies(&self) -> bool {
        self.not_applicable.is_none()
    }
}

/// Names of the methods for `problem`, `auto` first.
#[must_use]
pub fn solver_names(problem: &Problem) -> Vec<&'static str> {
    match problem {
        Problem::Mixed { .. } => lcp_names(),
        Problem::Friction(_) | Problem::Global(_) => friction_names(),
        Problem::Contact(_) => vec![AUTO],
    }
}

/// The only method for problems of several laws, which tries all it has.
const AUTO: &str = "auto";

fn lcp_names() -> Vec<&'static str> {
    LcpSolver::ALL.iter().map(|(name, _)| *name).collect()
}

fn friction_names() -> Vec<&'static str> {
    FrictionSolver::ALL.iter().map(|(name, _)| *name).collect()
}

/// Whether some kind of problem has a method called `name`.
#[must_use]
pub fn is_solver(name: &str) -> bool {
    LcpSolver::named(name).is_some() || FrictionSolver::named(name).is_some()
}

/// Solves `problem` with the method called `solver`, starting from zero.
///
/// # Errors
/// [`BatchError`] where there is no such method or the problem cannot be reduced.
pub fn solve(problem: &Problem, solver: &str, request: &Request) -> Result<Solution, BatchError> {
    solve_from(problem, &[], solver, request)
}

/// Solves `problem` with the method called `solver`, starting from the unknowns `start` (`z` or `r`), from zero where
/// that is empty.
///
/// # Errors
/// [`BatchError`] where there is no such method, the sizes differ or the problem cannot be reduced.
pub fn solve_from(
    problem: &Problem,
    start: &[f64],
    solver: &str,
    request: &Request,
) -> Result<Solution, BatchError> {
    let unknown = || BatchError::Solver {
        name: solver.into(),
        known: solver_names(problem).join(", "),
    };
    let expected = problem.unknowns();
    let start = match start.len() {
        0 => vec![0.0; expected],
        found if found == expected => start.to_vec(),
        found => return Err(BatchError::StartSize { found, expected }),
    };
    match problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let method = LcpSolver::named(solver).ok_or_else(unknown)?;
            let problem = Mlcp {
                equalities: *equalities,
                matrix,
                q,
            };
            Ok(solve_mixed(&problem, start, solver, method, request))
        }
        Problem::Friction(p) => {
            let method = FrictionSolver::named(solver).ok_or_else(unknown)?;
            Ok(solve_friction(p, start, solver, method, request))
        }
        Problem::Global(p) => {
            let method = FrictionSolver::named(solver).ok_or_else(unknown)?;
            solve_global(p, start, solver, method, request)
        }
        Problem::Contact(p) if solver == AUTO => contact::solve(p, start, request),
        Problem::Contact(_) => Err(unknown()),
    }
}

/// Why the method called `solver`, which there is for this kind of problem, is not for this one; `None` where it is.
#[must_use]
pub fn not_applicable(problem: &Problem, solver: &str) -> Option<String> {
    match problem {
        Problem::Mixed { equalities, q, .. } => {
            refusal(LcpSolver::named(solver)?, q.len(), *equalities)
        }
        Problem::Friction(_) | Problem::Global(_) | Problem::Contact(_) => None,
    }
}

fn refusal(method: LcpSolver, rows: usize, equalities: usize) -> Option<String> {
    let all = method == LcpSolver::Enumeration;
    all.then(|| enumeration_refusal(rows, equalities)).flatten()
}

/// Why a point is not the one of least norm.
const NOT_CANONICAL: &str =
    "the reaction of least norm was not reached; this is another with the same velocities";
const NOT_LEAST: &str = "the solution of least norm was not reached; this is another one";

fn solve_mixed(
    problem: &Mlcp<'_>,
    mut z: Vec<f64>,
    name: &str,
    method: LcpSolver,
    request: &Request,
) -> Solution {
    let kind = if problem.equalities == 0 {
        "lcp"
    } else {
        "mlcp"
    };
    if let Some(reason) = refusal(method, z.len(), problem.equalities) {
        return Solution {
            not_applicable: Some(reason),
            ..blank(kind, z.len(), name, Status::NotApplicable)
        };
    }
    let max_iterations = u32::try_from(request.max_iterations).unwrap_or(u32::MAX);
    let tolerance = Tolerance {
        residual: request.tolerance,
        max_iterations,
        ..Tolerance::default()
    };
    let start = Instant::now();
    let end = lcp::solve(problem, method, tolerance, &mut z);
    let mut residual_unscaled = end.outcome.residual;
    let mut canonical = None;
    if request.canonical && end.outcome.is_solved() {
        canonical = Some(lcp::canonical_solution(problem, request.tolerance, &mut z));
        residual_unscaled = problem.residual(&z);
    }
    let time_s = start.elapsed().as_secs_f64();
    let mut w = problem.q.to_vec();
    problem.matrix.apply_add(1.0, &z, &mut w);
    Solution {
        iterations: end.outcome.iterations,
        residual: problem.relative_residual(&z),
        residual_unscaled: Some(residual_unscaled),
        time_s,
        unknowns: z,
        dual: w,
        certificate: end.certificate,
        refuted: None,
        enumeration: end.enumeration.map(AllSets::from),
        canonical,
        canonical_note: (canonical == Some(false)).then_some(NOT_LEAST),
        ..blank(kind, problem.q.len(), name, end.outcome.status)
    }
}

/// What a method has to say before it has a point.
fn blank(kind: &'static str, size: usize, name: &str, status: Status) -> Solution {
    Solution {
        kind,
        size,
        solver: name.into(),
        status: status.name().to_owned(),
        solved: status == Status::Solved,
        iterations: 0,
        residual: f64::NAN,
        residual_impulse: None,
        residual_velocity: None,
        residual_unscaled: None,
        residual_dynamics: None,
        time_s: 0.0,
        unknowns: Vec::new(),
        dual: Vec::new(),
        velocity: None,
        certificate: None,
        refuted: None,
        enumeration: None,
        several: false,
        not_applicable: None,
        canonical: None,
        canonical_note: None,
    }
}

fn limits(request: &Request) -> Limits<'static> {
    Limits {
        tolerance: request.tolerance,
        max_iterations: request.max_iterations,
        max_work: request.max_work,
        cancel: None,
    }
}

fn solve_friction(
    p: &FrictionContact,
    mut r: Vec<f64>,
    name: &str,
    method: FrictionSolver,
    request: &Request,
) -> Solution {
    let clock = Instant::now();
    let mut end = friction::solve(p, method, limits(request), &mut r);
    let canonical = wants_canonical(request, &end)
        .then(|| friction::canonical_reaction(p, request.tolerance, &mut r));
    let time_s = clock.elapsed().as_secs_f64();
    if canonical == Some(true) {
        end.residual = p.residual(&r);
    }
    let mut u = vec![0.0; r.len()];
    p.velocity(&r, &mut u);
    let infeasible = end.outcome.status == Status::Infeasible;
    let certificate = infeasible.then(|| p.infeasibility()).flatten();
    let refuted = (infeasible && certificate.is_none()).then(|| friction::unsolvable_contact(p));
    Solution {
        time_s,
        certificate,
        refuted: refuted.flatten(),
        several: end.outcome.is_solved() && contact::has_several_solutions(p),
        canonical,
        canonical_note: not_canonical(canonical),
        ..friction_solution("friction", p.contacts(), name, &end, r, u)
    }
}

fn not_canonical(canonical: Option<bool>) -> Option<&'static str> {
    (canonical == Some(false)).then_some(NOT_CANONICAL)
}

fn wants_canonical(request: &Request, end: &FrictionOutcome) -> bool {
    request.canonical && end.outcome.is_solved()
}

fn friction_solution(
    kind: &'static str,
    size: usize,
    name: &str,
    end: &FrictionOutcome,
    r: Vec<f64>,
    u: Vec<f64>,
) -> Solution {
    Solution {
        iterations: end.outcome.iterations,
        residual: end.residual.eta,
        residual_impulse: Some(end.residual.impulse),
        residual_velocity: Some(end.residual.velocity),
        residual_unscaled: Some(end.residual.unscaled),
        unknowns: r,
        dual: u,
        ..blank(kind, size, name, end.outcome.status)
    }
}

/// Solves the global form and recovers `v`; `u = Hᵀ v + w` is evaluated from it.
fn solve_global(
    p: &GlobalFriction,
    mut r: Vec<f64>,
    name: &str,
    method: FrictionSolver,
    request: &Request,
) -> Result<Solution, BatchError> {
    // Methods that need `W` are timed without the time it takes to form it.
    let reduced = match method {
        FrictionSolver::ProjectedGradient => None,
        _ => Some(p.reduce()?),
    };
    let clock = Instant::now();
    let mut end = match &reduced {
        Some(reduced) => friction::solve(reduced, method, limits(request), &mut r),
        None => friction::solve_global(p, method, limits(request), &mut r)?,
    };
    let mut time_s = clock.elapsed().as_secs_f64();
    let certificate = match (end.outcome.status, &reduced) {
        (Status::Infeasible, Some(reduced)) => reduced.infeasibility(),
        (Status::Infeasible, None) => p.infeasibility()?,
        _ => None,
    };
    let refuted = match (end.outcome.status, &certificate, &reduced) {
        (Status::Infeasible, None, Some(reduced)) => friction::unsolvable_contact(reduced),
        (Status::Infeasible, None, None) => friction::unsolvable_contact(&p.matrix_free()?),
        _ => None,
    };
    let mut canonical = None;
    if wants_canonical(request, &end) {
        let reduced = match reduced {
            Some(reduced) => reduced,
            None => p.reduce()?,
        };
        let clock = Instant::now();
        let least = friction::canonical_reaction(&reduced, request.tolerance, &mut r);
        time_s += clock.elapsed().as_secs_f64();
        canonical = Some(least);
        if least {
            end.residual = reduced.residual(&r);
        }
    }
    let mut motion = p.motion(&r)?;
    if end.outcome.status == Status::Inaccurate {
        let clock = Instant::now();
        if let Some((refined, residual)) = p.refine(&mut r, request.tolerance) {
            (motion, end.residual) = (refined, residual);
            end.outcome.status = Status::Solved;
        }
        time_s += clock.elapsed().as_secs_f64();
    }
    Ok(Solution {
        time_s,
        certificate,
        refuted,
        canonical,
        canonical_note: not_canonical(canonical),
        residual_dynamics: Some(motion.defect),
        velocity: Some(motion.v),
        ..friction_solution("global-friction", p.contacts(), name, &end, r, motion.u)
    })
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
            let z = &point.unknowns;
            (problem.relative_residual(z), Some(problem.residual(z)))
        }
        Problem::Friction(p) => friction(p.residual(&point.unknowns)),
        Problem::Global(p) => friction(p.residual(&point.unknowns)?),
        Problem::Contact(p) => {
            let mut problem = ContactProblem::from_data(p)?;
            problem.z_mut().copy_from_slice(&point.unknowns);
            (problem.relative_residual(), Some(problem.residual()))
        }
    })
}
