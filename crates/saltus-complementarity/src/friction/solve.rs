//! Entry point of all solvers of frictional contact: scaling, choice of method, status of the result.

use super::auto;
use super::diagnosis::is_infeasible;
use super::functions::NewtonFunction;
use super::gradient;
use super::initial_sweeps::{self, InitialSweeps};
use super::interior_point;
use super::nsgs::{self, Order};
use super::problem::FrictionContact;
use super::proximal::{Newton, Weight};
use super::residual::{Residual, ResidualScales};
use super::scaled::Scaled;
use super::solver_state::{Limits, SolverState, Stop};
use super::splitting;
use crate::cone::project;
use crate::outcome::{Outcome, Status};

/// A method for frictional contact, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FrictionSolver {
    /// Chooses by counted work; deterministic.
    Auto,
    /// Nonsmooth Gauss–Seidel with exact local solutions.
    Nsgs {
        /// Over-relaxation in (0, 2).
        omega: f64,
        /// Order of the contacts.
        order: Order,
    },
    /// Accelerated projected gradient.
    ProjectedGradient,
    /// Semismooth Newton with line search.
    Newton(NewtonFunction),
    /// A sequence of regularised problems, each solved by semismooth Newton.
    ProximalNewton(NewtonFunction),
    /// Alternating direction method of multipliers with adaptive ρ.
    Admm,
    /// Interior point on De Saxcé's form.
    InteriorPoint,
}

impl FrictionSolver {
    /// All methods under their names.
    pub const ALL: [(&'static str, Self); 11] = [
        ("auto", Self::Auto),
        ("nsgs", Self::sweeps(1.0, Order::Forward)),
        ("nsgs-symmetric", Self::sweeps(1.0, Order::Symmetric)),
        ("nsgs-relaxed", Self::sweeps(1.2, Order::Forward)),
        ("projected-gradient", Self::ProjectedGradient),
        ("alart-curnier", Self::Newton(NewtonFunction::AlartCurnier)),
        ("jean-moreau", Self::Newton(NewtonFunction::NaturalMap)),
        (
            "proximal-newton",
            Self::ProximalNewton(NewtonFunction::AlartCurnier),
        ),
        (
            "proximal-newton-natural",
            Self::ProximalNewton(NewtonFunction::NaturalMap),
        ),
        ("admm", Self::Admm),
        ("interior-point", Self::InteriorPoint),
    ];

    /// Gauss–Seidel with these parameters.
    const fn sweeps(omega: f64, order: Order) -> Self {
        Self::Nsgs { omega, order }
    }

    /// The method called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

/// Outcome of a solver of frictional contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrictionOutcome {
    /// Status, iterations and `eta`.
    pub outcome: Outcome,
    /// All residuals of the returned point, from the original data.
    pub residual: Residual,
    /// Floating-point operations, counted.
    pub work: f64,
}

/// Solves `problem` from the guess `r` (dimension × contacts) and leaves the best point found there.
///
/// Where `W` is given by its products only, `ProjectedGradient` runs on those; `Auto` does so with half its work, then
/// assembles `W` if it has at most [`ASSEMBLY_LIMIT`] rows; all other methods need the blocks and assemble it at once.
///
/// Data of 1e60 and more, or of 1e-60 and less, are refused: the status is `NotFinite`.
///
/// `Infeasible` is returned only with a proof; [`infeasibility`](super::infeasibility) gives it, or else
/// [`unsolvable_contact`](super::unsolvable_contact). `Solved` is returned only if `eta` of that point, recomputed from `problem`, is at most `limits.tolerance`.
pub fn solve(
    problem: &FrictionContact,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> FrictionOutcome {
    if all_open(problem, r) {
        return open_outcome(r);
    }
    if !problem.is_within_range() {
        r.fill(0.0);
        let nothing = Residual {
            eta: f64::NAN,
            ..Residual::default()
        };
        return classify_outcome(Stop::Stalled, nothing, limits.tolerance, 0, 0.0, || false);
    }
    if problem.is_matrix_free() && solver != FrictionSolver::ProjectedGradient {
        return solve_assembled(problem, solver, limits, r);
    }
    let scales = ResidualScales::new(problem);
    match problem.dimension() {
        2 => solve_sized::<2>(problem, &scales, solver, limits, r),
        3 => solve_sized::<3>(problem, &scales, solver, limits, r),
        _ => solve_sized::<5>(problem, &scales, solver, limits, r),
    }
}

/// Whether `r = 0` is a solution: `û = q̂` is in the dual cones.
fn all_open(problem: &FrictionContact, r: &[f64]) -> bool {
    let (d, q) = (problem.dimension(), problem.free_velocity());
    r.len() == q.len() && q.iter().step_by(d).all(|v| *v >= 0.0)
}

fn open_outcome(r: &mut [f64]) -> FrictionOutcome {
    r.fill(0.0);
    let nothing = Residual::default();
    classify_outcome(Stop::Solved, nothing, f64::INFINITY, 0, 0.0, || false)
}

/// Rows of the largest matrix-free `W` that `Auto` assembles.
pub const ASSEMBLY_LIMIT: usize = 6000;

/// A matrix-free problem by a method that needs blocks.
fn solve_assembled(
    problem: &FrictionContact,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> FrictionOutcome {
    let assembled =
        |limits: Limits<'_>, r: &mut [f64]| solve(&problem.assembled(), solver, limits, r);
    if solver != FrictionSolver::Auto {
        return assembled(limits, r);
    }
    let small = r.len() <= ASSEMBLY_LIMIT;
    let first = Limits {
        max_work: if small { 0.5 } else { 1.0 } * limits.max_work,
        ..limits
    };
    let free = solve(problem, FrictionSolver::ProjectedGradient, first, r);
    let cancelled = free.outcome.status == Status::Cancelled;
    if free.outcome.is_solved() || cancelled || !small {
        return free;
    }
    let rest = Limits {
        max_work: (limits.max_work - free.work).max(0.0),
        max_iterations: limits
            .max_iterations
            .saturating_sub(u64::from(free.outcome.iterations)),
        ..limits
    };
    let mut end = assembled(rest, r);
    end.outcome.iterations = end
        .outcome
        .iterations
        .saturating_add(free.outcome.iterations);
    end.work += free.work;
    end
}

fn solve_sized<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> FrictionOutcome {
    let fits = r.len() == problem.free_velocity().len();
    let mut first = InitialSweeps::default();
    if fits {
        for v in r.iter_mut().filter(|v| !v.is_finite()) {
            *v = 0.0;
        }
        if solver == FrictionSolver::Auto {
            let given = r.iter().any(|v| *v != 0.0).then(|| r.to_vec());
            first = initial_sweeps::sweeps::<D>(problem, scales, limits, r);
            if let Some(residual) = first.solved {
                let (sweeps, tolerance) = (first.sweeps, limits.tolerance);
                return classify_outcome(
                    Stop::Solved,
                    residual,
                    tolerance,
                    sweeps,
                    first.work,
                    || false,
                );
            }
            // Uncoupled parts start from the given guess, which the joint sweeps may have made worse.
            let has_parts = !problem.is_matrix_free() && problem.delassus().components().len() > 1;
            let eta = |r: &[f64]| scales.residual_of_dimension::<D>(problem, r).eta;
            match given {
                Some(given) if has_parts || eta(&given) <= eta(r) => r.copy_from_slice(&given),
                None if has_parts => r.fill(0.0),
                _ => {}
            }
        }
    }
    in_scaled_unknowns(problem, scales, limits, r, |scaled, limits, guess| {
        run::<D>(scaled, solver, limits, guess, first)
    })
}

/// Why a method stopped, its iterations, its work and its best point.
type End<const D: usize> = (Stop, u64, f64, Vec<[f64; D]>);

/// Scales `problem` and the guess `r`, runs `method`, leaves its best point in `r` and evaluates that.
fn in_scaled_unknowns<const D: usize>(
    problem: &FrictionContact,
    scales: &ResidualScales,
    limits: Limits<'_>,
    r: &mut [f64],
    method: impl FnOnce(&Scaled<D>, Limits<'_>, &[[f64; D]]) -> End<D>,
) -> FrictionOutcome {
    let reference = scales.reference();
    let scaled = Scaled::<D>::new(problem, scales);
    let root: Vec<f64> = scales
        .contact_scales()
        .iter()
        .map(|d| d.sqrt() / reference)
        .collect();
    let mut guess = vec![[0.0; D]; scaled.contacts()];
    if r.len() == D * scaled.contacts() {
        let (given, _) = r.as_chunks::<D>();
        for ((to, from), s) in guess.iter_mut().zip(given).zip(&root) {
            *to = from.map(|v| if v.is_finite() { v * s } else { 0.0 });
        }
    }
    // A margin for the rounding of the scaling.
    let limits = Limits {
        tolerance: 0.999 * limits.tolerance,
        ..limits
    };
    let (stop, iterations, work, mut best) = method(&scaled, limits, &guess);
    project_onto_cones(&scaled, limits.tolerance, &mut best);
    let (out, _) = r.as_chunks_mut::<D>();
    for ((to, from), s) in out.iter_mut().zip(&best).zip(&root) {
        *to = from.map(|v| v / s);
    }
    let residual = scales.residual_of(problem, r);
    classify_outcome(
        stop,
        residual,
        limits.tolerance / 0.999,
        iterations,
        work,
        || limits.tolerance >= 0.0 && is_infeasible::<D>(problem, scales, limits.tolerance, r),
    )
}

/// Status of the result: whether it is solved is decided by the residual; a failure is named by the reason for stopping.
fn classify_outcome(
    stop: Stop,
    residual: Residual,
    tolerance: f64,
    iterations: u64,
    work: f64,
    infeasible: impl FnOnce() -> bool,
) -> FrictionOutcome {
    let status = if residual.eta <= tolerance {
        Status::Solved
    } else if !residual.eta.is_finite() {
        Status::NotFinite
    } else if stop == Stop::Cancelled {
        Status::Cancelled
    } else if infeasible() {
        Status::Infeasible
    } else {
        match stop {
            Stop::Solved => Status::Inaccurate,
            Stop::Diverging => Status::Diverging,
            Stop::Stalled => Status::Stalled,
            _ => Status::IterationLimit,
        }
    };
    let iterations = u32::try_from(iterations).unwrap_or(u32::MAX);
    let outcome = Outcome {
        status,
        iterations,
        residual: residual.eta,
        redundant: 0,
    };
    FrictionOutcome {
        outcome,
        residual,
        work,
    }
}

/// Projects the point onto the friction cones unless `eta` would then exceed both the tolerance and its former value.
fn project_onto_cones<const D: usize>(p: &Scaled<D>, tolerance: f64, best: &mut Vec<[f64; D]>) {
    let inside: Vec<[f64; D]> = best
        .iter()
        .enumerate()
        .map(|(i, r)| project(r, p.mu[i], p.rolling[i]).0)
        .collect();
    if inside == *best {
        return;
    }
    let mut u = vec![[0.0; D]; best.len()];
    p.velocity(best, &mut u);
    let before = p.eta(best, &u);
    p.velocity(&inside, &mut u);
    if p.eta(&inside, &u) <= before.max(tolerance) {
        *best = inside;
    }
}

/// Runs a method on the scaled problem; `auto` on each connected part of it.
fn run<const D: usize>(
    p: &Scaled<D>,
    solver: FrictionSolver,
    limits: Limits<'_>,
    guess: &[[f64; D]],
    before: InitialSweeps,
) -> (Stop, u64, f64, Vec<[f64; D]>) {
    let mut whole = SolverState::new(p, limits, guess);
    whole.iterations += before.sweeps;
    whole.work += before.work;
    if let Some(stop) = whole.stop() {
        return (stop, whole.iterations, whole.work, whole.best);
    }
    let stop = match solver {
        FrictionSolver::Auto => {
            let parts = p.w.components();
            if parts.len() > 1 {
                return by_parts(p, &parts, limits, guess, (whole.iterations, whole.work));
            }
            auto::solve(&mut whole)
        }
        FrictionSolver::Nsgs { omega, order } => nsgs::solve(&mut whole, omega, order),
        FrictionSolver::ProjectedGradient => gradient::solve(&mut whole),
        FrictionSolver::Admm => splitting::admm(&mut whole),
        FrictionSolver::InteriorPoint => interior_point::solve(&mut whole),
        FrictionSolver::Newton(function) => Newton::default().plain(&mut whole, function),
        FrictionSolver::ProximalNewton(function) => {
            let budget = limits.max_iterations;
            Newton::default().proximal(&mut whole, function, &mut Weight::new(1e-2), budget)
        }
    };
    (stop, whole.iterations, whole.work, whole.best)
}

/// Solves each connected part to its share of the tolerance, small parts first. A part that does not
/// converge may spend its share of the work in the first round, and of the remaining work in the second.
fn by_parts<const D: usize>(
    p: &Scaled<D>,
    parts: &[Vec<usize>],
    limits: Limits<'_>,
    guess: &[[f64; D]],
    (mut iterations, mut work): (u64, f64),
) -> (Stop, u64, f64, Vec<[f64; D]>) {
    let mut best = guess.to_vec();
    let mut stop = Stop::Solved;
    let even = 0.5 / (parts.len() as f64).sqrt();
    let mut open: Vec<(Scaled<D>, &Vec<usize>)> = parts.iter().map(|m| (p.part(m), m)).collect();
    open.sort_by_key(|(part, members)| (part.w.stored(), members[0]));
    for round in 0..2 {
        let mut weight: f64 = open.iter().map(|(part, _)| part.product_work()).sum();
        let mut failed = Vec::new();
        for (part, members) in open {
            let length = super::scaled::squared_norm(&part.q).sqrt();
            // Σ max(a, b)² ≤ Σ a² + Σ b² ≤ ¼ + ½.
            let tolerance = limits.tolerance * even.max(0.7 * length);
            let share = part.product_work() / weight;
            weight -= part.product_work();
            let own = Limits {
                tolerance,
                max_work: (limits.max_work - work).max(0.0) * share.min(1.0),
                max_iterations: limits.max_iterations.saturating_sub(iterations),
                ..limits
            };
            let start: Vec<_> = members.iter().map(|&i| best[i]).collect();
            let mut solver = SolverState::new(&part, own, &start);
            let end = auto::solve(&mut solver);
            iterations += solver.iterations;
            work += solver.work;
            for (&i, r) in members.iter().zip(&solver.best) {
                best[i] = *r;
            }
            match end {
                Stop::Solved => {}
                // Continued in the next round.
                Stop::Work => failed.push((part, members)),
                _ => stop = end,
            }
        }
        let finished = matches!(stop, Stop::Infeasible | Stop::Cancelled | Stop::Iterations);
        if failed.is_empty() || finished {
            break;
        }
        if round > 0 || work >= limits.max_work {
            stop = Stop::Work;
            break;
        }
        open = failed;
    }
    (stop, iterations, work, best)
}
