//! The convex problems behind Coulomb's law, `min ½ r'W r + (q + s n)·r, r ∈ K`, one velocity `s` per contact, and the
//! fixed point `s → μ|u_t(s)| + μ_r|u_r(s)|` on them (Acary, Cadoux, Lemaréchal & Malick, *ZAMM* 91 (2011)).
//!
//! With `s = 0` this is the associated law: what slides separates with `u_n = μ|u_t|`. With `s` of a solution, it has that
//! solution. Each is a second-order cone program, solved by ADMM with the factorisation of one matrix.

use super::far_measure::Power;
use super::measure::{Measure, defect, square};
use super::problem::FrictionContact;
use super::scaled::{Scaled, total};
use super::search::{Limits, Search, Stop};
use super::splitting::{Regularised, Splitting, lift};
use super::units::{Levelled, Part, Range, Units};
use crate::outcome::{Outcome, Status};

/// Iterations between two looks at the size of the point.
const PAUSE: u32 = 50;

/// Largest number of iterations on one convex problem of the fixed point.
const INNER: u32 = 2000;

/// ADMM with `s` kept, its ρ balanced by the residuals, at most ten times.
struct Convex<const D: usize> {
    state: Splitting<D>,
    system: Regularised<D>,
    refactored: u32,
    since: u32,
}

/// How an attempt to solve a convex problem ended.
enum End {
    Reached,
    /// More iterations than allowed.
    Open,
    Stopped(Stop),
}

impl<const D: usize> Convex<D> {
    fn new(search: &mut Search<'_, D>) -> Option<Self> {
        let system = Regularised::new(search, 0.1)?;
        let state = Splitting::new(search, system.rho);
        Some(Self {
            state,
            system,
            refactored: 0,
            since: 0,
        })
    }

    /// Iterates until both residuals are at most `goal`.
    fn solve(&mut self, search: &mut Search<'_, D>, goal: f64, limit: u32) -> End {
        for k in 1..=limit {
            if let Some(stop) = search.stop() {
                return End::Stopped(stop);
            }
            let (primal, dual) = self.state.step(search, &mut self.system, true);
            self.since += 1;
            if primal.max(dual) <= goal {
                return End::Reached;
            }
            let balance = (primal / dual).sqrt();
            if self.since >= 20
                && self.refactored < 10
                && !(1.0 / 3.0..=3.0).contains(&balance)
                && balance.is_finite()
            {
                if !self.state.balance(search, &mut self.system, balance) {
                    return End::Stopped(Stop::Stalled);
                }
                self.refactored += 1;
                self.since = 0;
            }
            if k % PAUSE == 0 && diverges(&self.state.z) {
                return End::Stopped(Stop::Diverging);
            }
        }
        End::Open
    }
}

fn diverges<const D: usize>(z: &[[f64; D]]) -> bool {
    let size = total(z);
    size.is_nan() || size > 1e20
}

/// The fixed point; each convex problem is solved as exactly as the point it starts from deserves.
pub(crate) fn fixed_point<const D: usize>(search: &mut Search<'_, D>) -> Stop {
    if let Some(stop) = search.stop() {
        return stop;
    }
    let Some(mut convex) = Convex::new(search) else {
        return Stop::Stalled;
    };
    convex.state.s.fill(0.0);
    let mut goal = 1e-3;
    loop {
        if let End::Stopped(stop) = convex.solve(search, goal, INNER) {
            search.evaluate(&convex.state.z);
            return search.stop().unwrap_or(stop);
        }
        let eta = search.evaluate(&convex.state.z);
        if let Some(stop) = search.stop() {
            return stop;
        }
        if !eta.is_finite() || diverges(&convex.state.z) {
            return Stop::Diverging;
        }
        for (i, s) in convex.state.s.iter_mut().enumerate() {
            *s = lift(search.p, i, &search.u[i]);
        }
        goal = (0.1 * eta).min(goal).max(0.1 * search.tolerance);
    }
}

/// Solves the convex problem with the velocities `s` (one per contact, m/s) instead of `μ|u_t| + μ_r|u_r|`, from the
/// guess `r` (dimension × contacts), and leaves the best point there.
///
/// The residual of the outcome is `eta` of [`Residual`](super::Residual) with `s` in place of De Saxcé's term, relative to the size of
/// `q + s n`, and with rolling friction in the length `√(W_tt/W_rr)` of each contact: no unit changes it. `W` has to be
/// symmetric and positive semidefinite for the answer to be a minimum.
pub fn solve_convex(
    problem: &FrictionContact,
    s: &[f64],
    limits: Limits<'_>,
    r: &mut [f64],
) -> Outcome {
    let failed = |status| Outcome {
        status,
        iterations: 0,
        residual: f64::INFINITY,
        redundant: 0,
    };
    if s.len() != problem.contacts() || r.len() != problem.free_velocity().len() {
        return failed(Status::Inconsistent);
    }
    if s.iter().any(|v| !v.is_finite()) {
        return failed(Status::NotFinite);
    }
    // The velocities s are data like q, and as large as they like.
    let mut q = problem.free_velocity().to_vec();
    for (q, s) in q.iter_mut().step_by(problem.dimension()).zip(s) {
        *q += s;
    }
    let given = problem.assembled();
    let (mu, rolling) = (given.friction().to_vec(), given.rolling().to_vec());
    let Ok(problem) = FrictionContact::new(given.delassus().clone(), q, mu, rolling) else {
        return failed(Status::NotFinite);
    };
    match Range::of(&problem) {
        Range::Usual => in_own_length(&problem, limits, r),
        Range::Far => by_parts(&Units::new(&problem), limits, r),
    }
}

/// Parts in units of their own, one after the other.
fn by_parts(units: &Units, limits: Limits<'_>, r: &mut [f64]) -> Outcome {
    let (mut missed, mut references) = (Vec::new(), Vec::new());
    let (mut iterations, mut failed, mut beyond) = (0_u32, None, false);
    let weight = |part: &Part| part.problem.delassus().stored() as f64;
    let all: f64 = units.parts.iter().map(weight).sum();
    for part in &units.parts {
        let own = Limits {
            max_work: limits.max_work * (weight(part) / all),
            ..limits
        };
        let mut inside = part.guess(r);
        let end = in_own_length(&part.problem, own, &mut inside);
        iterations = iterations.max(end.iterations);
        if !end.is_solved() {
            failed = failed.or(Some(end.status));
        }
        if !part.leave(&inside, r) {
            beyond = true;
            part.leave(&vec![0.0; inside.len()], r);
        }
        let reference = part.reference();
        references.push(reference);
        missed.push(Power {
            value: end.residual * reference.value,
            ..reference
        });
    }
    let residual = if missed.iter().all(|m| m.value.is_finite()) {
        Power::norm(&missed).over(Power::norm(&references))
    } else {
        f64::INFINITY
    };
    let status = match failed {
        _ if beyond => Status::NotFinite,
        Some(status) if residual > limits.tolerance => status,
        _ => Status::Solved,
    };
    Outcome {
        status,
        iterations,
        residual,
        redundant: 0,
    }
}

/// With rolling friction in the lengths of the problem itself.
fn in_own_length(problem: &FrictionContact, limits: Limits<'_>, r: &mut [f64]) -> Outcome {
    match Levelled::new(problem) {
        Some(own) => {
            own.enter(r);
            let end = sized::<5>(&own.problem, limits, r);
            own.leave(r);
            end
        }
        None if problem.dimension() == 2 => sized::<2>(problem, limits, r),
        None => sized::<3>(problem, limits, r),
    }
}

fn sized<const D: usize>(problem: &FrictionContact, limits: Limits<'_>, r: &mut [f64]) -> Outcome {
    let measure = Measure::new(problem);
    let p = Scaled::<D>::new(problem, &measure);
    let reference = measure.reference();
    let root: Vec<f64> = measure.scales().iter().map(|d| d.sqrt()).collect();
    let guess: Vec<[f64; D]> = (r.as_chunks::<D>().0.iter().zip(&root))
        .map(|(r, root)| {
            r.map(|v| {
                if v.is_finite() {
                    v * root / reference
                } else {
                    0.0
                }
            })
        })
        .collect();
    let mut search = Search::new(&p, limits, &guess);
    // The exact law is not what this search is for.
    search.tolerance = -1.0;
    let mut u = vec![[0.0; D]; p.contacts()];
    let (mut best, mut best_eta) = (guess, f64::INFINITY);
    let mut stop = Stop::Stalled;
    if let Some(mut convex) = Convex::new(&mut search) {
        // They are in q.
        convex.state.s.fill(0.0);
        let mut goal = 1e-3_f64;
        stop = loop {
            let end = convex.solve(&mut search, goal, u32::MAX);
            let z = &convex.state.z;
            p.velocity(z, &mut u);
            let eta = residual(&p, z, &u);
            if eta < best_eta {
                best_eta = eta;
                best.copy_from_slice(z);
            }
            match end {
                _ if eta <= limits.tolerance => break Stop::Solved,
                End::Stopped(stop) => break stop,
                // Rounding allows no more.
                _ if goal <= 1e-16 => break Stop::Stalled,
                _ => goal = (0.1 * goal).min(0.1 * eta),
            }
        };
    }
    for ((to, from), root) in r.as_chunks_mut::<D>().0.iter_mut().zip(&best).zip(&root) {
        *to = from.map(|v| v * reference / root);
    }
    Outcome {
        status: match stop {
            Stop::Solved => Status::Solved,
            Stop::Cancelled => Status::Cancelled,
            Stop::Diverging => Status::Diverging,
            Stop::Stalled => Status::Stalled,
            Stop::Refuted => Status::Infeasible,
            Stop::Iterations | Stop::Work => Status::IterationLimit,
        },
        iterations: u32::try_from(search.iterations).unwrap_or(u32::MAX),
        residual: best_eta,
        redundant: 0,
    }
}

/// Length of the natural map with `û = u`.
fn residual<const D: usize>(p: &Scaled<D>, r: &[[f64; D]], u: &[[f64; D]]) -> f64 {
    let mut sum = 0.0;
    for (i, (r, u)) in r.iter().zip(u).enumerate() {
        sum += square(&defect(r, u, 1.0, p.mu[i], p.rolling[i]));
    }
    sum.sqrt()
}
