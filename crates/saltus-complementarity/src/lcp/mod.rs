//! All solvers of (mixed) linear complementarity problems behind one door.

mod farkas;
mod fischer_burmeister;
mod gradient;
mod interior_point;
mod progress;
mod projected;
mod sparse;

pub(crate) use farkas::{Inequalities, PhaseOne};

use crate::active_set::ActiveSet;
use crate::enumeration::{self, ENUMERATION_LIMIT, Enumeration, enumeration_refusal};
use crate::equilibrium::{Equilibrated, is_within_range};
use crate::lemke::{self, Lemke, LemkeEnd};
use crate::mlcp::{Mlcp, MlcpSolver};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::verdict::VerdictWorkspace;
use saltus_linear::{Dense, dot, max_abs};
use std::cell::RefCell;

/// A method for linear complementarity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum LcpSolver {
    /// [`MlcpSolver`], sparse active sets first where the matrix is large and sparse, Lemke & Howson's method where it is a bimatrix
    /// game, then Fischer–Burmeister; where nothing is found, a certificate of infeasibility is looked for.
    Auto,
    /// Complementary pivoting with covering vector 1.
    Lemke,
    /// Active-set Newton with a memory, without fallback.
    NewtonMin,
    /// Newton on the Fischer–Burmeister function with line search.
    FischerBurmeister,
    /// Projected (over-relaxed) Gauss–Seidel; needs a positive diagonal.
    Pgs {
        /// Over-relaxation in (0, 2).
        omega: f64,
    },
    /// Accelerated projected gradient for monotone symmetric problems; needs products only.
    ProjectedGradient,
    /// Infeasible interior point for monotone problems.
    InteriorPoint,
    /// All active sets, up to [`ENUMERATION_LIMIT`] complementary pairs; of larger problems none, and the word is
    /// [`Status::NotApplicable`].
    Enumeration,
}

impl LcpSolver {
    /// All methods under their names.
    pub const ALL: [(&'static str, Self); 9] = [
        ("auto", Self::Auto),
        ("lemke", Self::Lemke),
        ("newton-min", Self::NewtonMin),
        ("fischer-burmeister", Self::FischerBurmeister),
        ("pgs", Self::Pgs { omega: 1.0 }),
        ("psor", Self::Pgs { omega: 1.4 }),
        ("projected-gradient", Self::ProjectedGradient),
        ("interior-point", Self::InteriorPoint),
        ("enumeration", Self::Enumeration),
    ];

    /// The method called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

/// How a solver ended, with the proof where there is no solution.
#[derive(Debug, Clone, PartialEq)]
pub struct LcpOutcome {
    /// Status, iterations, residual.
    pub outcome: Outcome,
    /// With [`Status::Infeasible`]: `y ≥ 0` (free in the equality rows) with `Mᵀ y ≤ 0` (`= 0` in the
    /// columns of free unknowns) and `q·y < 0`, so that no point satisfies the inequalities.
    pub certificate: Option<Vec<f64>>,
    /// All solutions, or the proof that there are none where [`certificate`](Self::certificate) has none: with
    /// [`LcpSolver::Enumeration`], and with [`LcpSolver::Auto`] where that is how it was proven.
    pub enumeration: Option<Enumeration>,
}

impl LcpOutcome {
    fn plain(outcome: Outcome) -> Self {
        Self {
            outcome,
            certificate: None,
            enumeration: None,
        }
    }

    /// Whether the problem is answered: by a solution, or by the proof that there is none.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self.outcome.status, Status::Solved | Status::Infeasible)
    }
}

/// Solves `problem` from the guess in `z`, with the method asked for.
///
/// `Solved` is said only if the residual, recomputed here, is below tolerance, whatever the method claims. Data with rows, columns
/// or a right-hand side of 1e60 and more, or of 1e-60 and less, are refused: the status is `NotFinite`.
pub fn solve(
    problem: &Mlcp<'_>,
    solver: LcpSolver,
    tolerance: Tolerance,
    z: &mut [f64],
) -> LcpOutcome {
    let n = problem.q.len();
    let plain = |status, iterations, residual| {
        LcpOutcome::plain(Outcome {
            status,
            iterations,
            residual,
            redundant: 0,
        })
    };
    let fits = problem.matrix.rows() == n && problem.matrix.cols() == n && z.len() == n;
    if !fits || problem.equalities > n {
        return plain(Status::Inconsistent, 0, f64::INFINITY);
    }
    for v in z.iter_mut().filter(|v| !v.is_finite()) {
        *v = 0.0;
    }
    if solver == LcpSolver::Enumeration && enumeration_refusal(n, problem.equalities).is_some() {
        return plain(Status::NotApplicable, 0, problem.residual(z));
    }
    if !is_within_range(problem) {
        z.fill(0.0);
        return plain(Status::NotFinite, 0, f64::NAN);
    }
    match solver {
        LcpSolver::Auto => return auto(problem, tolerance, z),
        LcpSolver::Enumeration => return all_sets(problem, tolerance, z),
        _ => {}
    }
    let (status, iterations) = if solver == LcpSolver::Lemke {
        by_lemke(problem, tolerance, z)
    } else {
        by_diagonal(problem, solver, tolerance, z)
    };
    let verdict = problem.judge_cleaned(z, &tolerance, &mut VerdictWorkspace::default());
    let status = match status {
        _ if verdict.holds(&tolerance) => Status::Solved,
        _ if verdict.residual.is_nan() => Status::NotFinite,
        Status::Solved => Status::Inaccurate,
        other => other,
    };
    if status == Status::NotFinite {
        z.fill(0.0);
    }
    LcpOutcome::plain(Outcome {
        status,
        iterations,
        residual: verdict.residual,
        redundant: 0,
    })
}

/// Replaces the solution `z` by the one that [`MlcpSolver`] returns from there: where rows are redundant, that of least
/// `Σ M_ii z_i²` (weight 1 where `M_ii ≤ 0`). Where `M` is symmetric and positive semidefinite, `w` is the same in all solutions,
/// and it is the shortest of all. False, and `z` as it was, where it misses `tolerance`.
pub fn canonical_solution(problem: &Mlcp<'_>, tolerance: f64, z: &mut [f64]) -> bool {
    let tolerance = Tolerance {
        residual: tolerance,
        ..Tolerance::default()
    };
    let mut shortest = z.to_vec();
    let end = MlcpSolver::default().solve(problem, &mut shortest, tolerance);
    if end.is_solved() {
        z.copy_from_slice(&shortest);
    }
    end.is_solved()
}

/// Complementary pivoting, on rows and columns in balance: what a pivot is worth must not depend on units.
fn by_lemke(problem: &Mlcp<'_>, tolerance: Tolerance, z: &mut [f64]) -> (Status, u32) {
    let equilibrated = Equilibrated::new(problem);
    let (m, q, e) = (
        &equilibrated.matrix,
        &equilibrated.q,
        equilibrated.equalities,
    );
    let limit = tolerance.max_iterations;
    let mut y = vec![0.0; z.len()];
    let (end, pivots) = Lemke::default().solve(m, q, e, 0, limit, &mut y);
    let status = match end {
        LemkeEnd::Solved => {
            // The tableau has gathered rounding: the same set, solved from the data.
            let mut sharp = y.clone();
            ActiveSet::default().polish(m, q, e, &mut sharp);
            let goal = tolerance.goal();
            let workspace = &mut VerdictWorkspace::default();
            let better = equilibrated
                .problem()
                .judge(&sharp, &goal, workspace)
                .relative;
            // NaN is not better.
            if better <= equilibrated.problem().judge(&y, &goal, workspace).relative {
                y = sharp;
            }
            Status::Solved
        }
        LemkeEnd::Ray => Status::Ray,
        LemkeEnd::Rounding => Status::Inaccurate,
        LemkeEnd::Limit => Status::IterationLimit,
    };
    y[e..].iter_mut().for_each(|y| *y = y.max(0.0));
    equilibrated.units.unscale(&y, z);
    (status, pivots)
}

/// The other methods, in unknowns in which the diagonal is 1.
fn by_diagonal(
    problem: &Mlcp<'_>,
    solver: LcpSolver,
    tolerance: Tolerance,
    z: &mut [f64],
) -> (Status, u32) {
    let n = z.len();
    let scaled = ScaledLcp::new(problem);
    let mut y = scaled.scale(z);
    let limit = tolerance.max_iterations;
    let end = match solver {
        LcpSolver::NewtonMin => {
            if let Some(matrix) = sparse::matrix_of(&scaled.problem()) {
                let end = sparse::newton_min(&scaled.problem(), &matrix, limit, &mut y);
                scaled.unscale(&y, z);
                return end;
            }
            let rows: Vec<usize> = (0..n).collect();
            let (end, steps) = ActiveSet::default()
                .solve(&scaled.m, &scaled.q, scaled.e, &rows, 0.0, limit, &mut y);
            (end.status(), steps)
        }
        LcpSolver::FischerBurmeister => fischer_burmeister::solve(&scaled, tolerance, &mut y),
        LcpSolver::Pgs { omega } => projected::solve(&scaled, omega, tolerance, &mut y),
        LcpSolver::ProjectedGradient => {
            let mut workspace = VerdictWorkspace::default();
            let settled = |y: &[f64]| scaled.settled(y, &tolerance, &mut workspace);
            gradient::solve(&scaled, limit, settled, &mut y)
        }
        LcpSolver::InteriorPoint => interior_point::solve(&scaled, tolerance, &mut y),
        // These work on the problem itself.
        LcpSolver::Auto | LcpSolver::Enumeration | LcpSolver::Lemke => (Status::Stalled, 0),
    };
    scaled.unscale(&y, z);
    end
}

/// A proof that `{ z ≥ 0 (free in the first `e`), M z + q ≥ 0 (= 0 in the first `e` rows) }` is empty.
pub(crate) fn farkas_certificate(m: &Dense, q: &[f64], e: usize) -> Option<Vec<f64>> {
    let scaled = ScaledLcp::new(&Mlcp {
        equalities: e,
        matrix: m,
        q,
    });
    let mut y = farkas::certificate(&scaled)?;
    for (y, s) in y.iter_mut().zip(&scaled.s) {
        *y *= s;
    }
    Some(y)
}

/// Every active set: the first solution into `z`, all of them into the outcome.
fn all_sets(problem: &Mlcp<'_>, tolerance: Tolerance, z: &mut [f64]) -> LcpOutcome {
    let strict = Tolerance {
        floor: 0.0,
        ..tolerance
    };
    let found = enumeration::search(problem, &strict, false);
    if let Some(first) = found.solutions.first() {
        z.copy_from_slice(first);
    }
    let status = match &found {
        _ if !found.solutions.is_empty() => Status::Solved,
        _ if found.complete => Status::Infeasible,
        Enumeration { sets, .. } if *sets >= tolerance.max_iterations => Status::IterationLimit,
        // Some set neither solves the problem nor is refuted.
        _ => Status::Inaccurate,
    };
    let certificate = found
        .refutes()
        .then(|| farkas_certificate(problem.matrix, problem.q, problem.equalities))
        .flatten();
    LcpOutcome {
        outcome: Outcome {
            status,
            iterations: found.sets,
            residual: problem.residual(z),
            redundant: 0,
        },
        certificate,
        enumeration: Some(found),
    }
}

fn auto(problem: &Mlcp<'_>, tolerance: Tolerance, z: &mut [f64]) -> LcpOutcome {
    let left = |spent: u32| Tolerance {
        max_iterations: tolerance.max_iterations.saturating_sub(spent),
        ..tolerance
    };
    let (first, spent) = by_structure(problem, tolerance, z);
    if let Some(outcome) = first {
        return LcpOutcome::plain(outcome);
    }
    let mut outcome = with_solver(z.len(), |solver| solver.solve(problem, z, left(spent)));
    outcome.iterations += spent;
    if outcome.is_solved() {
        return LcpOutcome::plain(outcome);
    }
    // A proof costs less than what is left to try.
    let certificate = problem.infeasibility();
    if certificate.is_some() {
        outcome.status = Status::Infeasible;
    }
    if outcome.status != Status::Infeasible
        && let Some(solved) = other_scalings(problem, tolerance, &mut outcome, z)
    {
        return LcpOutcome::plain(solved);
    }
    let mut enumeration = None;
    if certificate.is_none()
        && (z.len() <= ENUMERATION_LIMIT || outcome.status == Status::Infeasible)
    {
        // Units so far apart that every way to a solution ends in round-off: set by set there is none to go.
        let mut trial = z.to_vec();
        let mut all = all_sets(problem, left(outcome.iterations), &mut trial);
        all.outcome.iterations += outcome.iterations;
        if all.outcome.is_solved() {
            z.copy_from_slice(&trial);
            return LcpOutcome::plain(all.outcome);
        }
        if all.outcome.status == Status::Infeasible {
            return all;
        }
        outcome.iterations = all.outcome.iterations;
        if all.outcome.status == Status::IterationLimit {
            outcome.status = Status::IterationLimit;
        }
        enumeration = all.enumeration.filter(|found| found.sets > 0);
    }
    LcpOutcome {
        outcome,
        certificate,
        enumeration,
    }
}

/// Unknowns up to which the buffers of a solver are kept for the next problem: to allocate them costs as much as to solve it.
const KEPT: usize = 32;

/// Calls `run` with a solver for `n` unknowns.
fn with_solver<T>(n: usize, run: impl FnOnce(&mut MlcpSolver) -> T) -> T {
    thread_local! {
        static SOLVER: RefCell<MlcpSolver> = RefCell::default();
    }
    if n > KEPT {
        return run(&mut MlcpSolver::default());
    }
    SOLVER.with_borrow_mut(run)
}

/// Active sets of a sparse problem after which dense methods are tried.
const MOST_SETS: u32 = 2000;

/// What suits a problem by the places of its entries: sparse active sets, or Lemke & Howson's method. A solution goes to `z`;
/// second, what was spent.
fn by_structure(problem: &Mlcp<'_>, tolerance: Tolerance, z: &mut [f64]) -> (Option<Outcome>, u32) {
    let limit = tolerance.max_iterations;
    let mut trial = z.to_vec();
    let mut spent = 0;
    if let Some(matrix) = sparse::matrix_of(problem) {
        let limit = limit.min(MOST_SETS);
        spent = sparse::newton_min(problem, &matrix, limit, &mut trial).1;
    } else if let Some(split) = lemke::bimatrix_split(problem) {
        let mut game = Lemke::default();
        for first in 0..problem.q.len() {
            let left = limit.saturating_sub(spent);
            let (m, q) = (problem.matrix, problem.q);
            let (end, pivots) = game.solve_game(m, q, (split, first), left, &mut trial);
            spent += pivots;
            if end == LemkeEnd::Solved {
                ActiveSet::default().polish(m, q, 0, &mut trial);
                break;
            }
        }
    } else {
        return (None, 0);
    }
    trial[problem.equalities..]
        .iter_mut()
        .for_each(|z| *z = z.max(0.0));
    let verdict = problem.judge_cleaned(&mut trial, &tolerance, &mut VerdictWorkspace::default());
    if !verdict.holds(&tolerance) {
        return (None, spent);
    }
    z.copy_from_slice(&trial);
    let outcome = Outcome {
        status: Status::Solved,
        iterations: spent,
        residual: verdict.residual,
        redundant: 0,
    };
    (Some(outcome), spent)
}

/// Most steps of the Fischer–Burmeister method and of the interior point as parts of `auto`.
const SMOOTH_STEPS: u32 = 300;
const INNER_STEPS: u32 = 100;

/// What `auto` tries where the usual methods have found nothing: the smooth way to an active set, and rows and unknowns in
/// balance. Counts what it spends in `outcome`; a point that solves the problem goes to `z`.
fn other_scalings(
    problem: &Mlcp<'_>,
    tolerance: Tolerance,
    outcome: &mut Outcome,
    z: &mut [f64],
) -> Option<Outcome> {
    let left = |spent: u32| tolerance.max_iterations.saturating_sub(spent);
    let within = |max_iterations: u32| Tolerance {
        max_iterations,
        ..tolerance
    };
    let scaled = ScaledLcp::new(problem);
    let mut y = scaled.scale(z);
    let limit = within(left(outcome.iterations).min(SMOOTH_STEPS));
    outcome.iterations += fischer_burmeister::solve(&scaled, limit, &mut y).1;
    let mut trial = vec![0.0; z.len()];
    scaled.unscale(&y, &mut trial);
    // The same set, solved exactly.
    let limit = within(left(outcome.iterations).min(30));
    let polished = MlcpSolver::default().solve(problem, &mut trial, limit);
    outcome.iterations += polished.iterations;
    if polished.is_solved() {
        z.copy_from_slice(&trial);
        return Some(Outcome {
            iterations: outcome.iterations,
            ..polished
        });
    }
    let equilibrated = Equilibrated::new(problem);
    let near = equilibrated.problem();
    let mut inside = vec![0.0; z.len()];
    for from_inside in [false, true] {
        if from_inside {
            // A point near the solution set of a monotone problem says which rows are active.
            let smooth = ScaledLcp::unscaled(&near);
            let limit = within(left(outcome.iterations).min(INNER_STEPS));
            inside.fill(0.0);
            outcome.iterations += interior_point::solve(&smooth, limit, &mut inside).1;
            // It may be a solution where rounding keeps those of the set it names from being one.
            equilibrated.units.unscale(&inside, &mut trial);
            let verdict =
                problem.judge_cleaned(&mut trial, &tolerance, &mut VerdictWorkspace::default());
            if verdict.holds(&tolerance) {
                z.copy_from_slice(&trial);
                return Some(Outcome {
                    status: Status::Solved,
                    iterations: outcome.iterations,
                    residual: verdict.residual,
                    redundant: 0,
                });
            }
        }
        let strict = Tolerance {
            floor: 0.0,
            ..within(left(outcome.iterations))
        };
        let mut end = MlcpSolver::default().solve_scaled(&near, &mut inside, strict);
        outcome.iterations += end.iterations;
        equilibrated.units.unscale(&inside, &mut trial);
        let verdict =
            problem.judge_cleaned(&mut trial, &tolerance, &mut VerdictWorkspace::default());
        if verdict.holds(&tolerance) {
            z.copy_from_slice(&trial);
            end.status = Status::Solved;
            end.iterations = outcome.iterations;
            end.residual = verdict.residual;
            return Some(end);
        }
        if end.status == Status::Infeasible {
            break;
        }
        if end.status == Status::Inaccurate {
            outcome.status = Status::Inaccurate;
        }
    }
    if left(outcome.iterations) == 0 {
        outcome.status = Status::IterationLimit;
    }
    None
}

/// `S M S`, `S q`, `s_i = M_ii^(−1/2)`: both sides of the complementarity condition have the same unit.
#[derive(Debug, Clone)]
pub(crate) struct ScaledLcp {
    pub m: Dense,
    pub q: Vec<f64>,
    pub s: Vec<f64>,
    /// Number of equalities.
    pub e: usize,
}

impl ScaledLcp {
    fn new(problem: &Mlcp<'_>) -> Self {
        let s: Vec<f64> = (0..problem.q.len())
            .map(|i| {
                let d = problem.matrix[(i, i)];
                let size = if d > 0.0 {
                    d
                } else {
                    max_abs(problem.matrix.row(i))
                };
                let s = 1.0 / size.sqrt();
                if s.is_finite() && s > 0.0 { s } else { 1.0 }
            })
            .collect();
        let mut m = problem.matrix.clone();
        for (i, si) in s.iter().enumerate() {
            for (v, sj) in m.row_mut(i).iter_mut().zip(&s) {
                *v *= si * sj;
            }
        }
        let q = problem.q.iter().zip(&s).map(|(q, s)| q * s).collect();
        Self {
            m,
            q,
            s,
            e: problem.equalities,
        }
    }

    /// Without scales, of rows and columns that are in balance already.
    fn unscaled(problem: &Mlcp<'_>) -> Self {
        Self {
            m: problem.matrix.clone(),
            q: problem.q.to_vec(),
            s: vec![1.0; problem.q.len()],
            e: problem.equalities,
        }
    }

    fn scale(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.s).map(|(z, s)| z / s).collect()
    }

    fn unscale(&self, y: &[f64], z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            *z = self.s[i] * if i >= self.e { y[i].max(0.0) } else { y[i] };
        }
    }

    /// `M y + q`.
    pub fn w(&self, y: &[f64], w: &mut [f64]) {
        for (i, w) in w.iter_mut().enumerate() {
            *w = self.q[i] + dot(self.m.row(i), y);
        }
    }

    pub fn problem(&self) -> Mlcp<'_> {
        Mlcp {
            equalities: self.e,
            matrix: &self.m,
            q: &self.q,
        }
    }

    /// Whether there is nothing left to gain at `y`: the verdict does not depend on the scaling.
    pub fn settled(
        &self,
        y: &[f64],
        tolerance: &Tolerance,
        workspace: &mut VerdictWorkspace,
    ) -> bool {
        let goal = tolerance.goal();
        self.problem().judge(y, &goal, workspace).holds(&goal)
    }
}
