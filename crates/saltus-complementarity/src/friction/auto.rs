//! Portfolio of methods, each with its own iterate, run in alternation; most of the work goes to the one with the least predicted
//! remaining work.
//!
//! Work is counted, not timed, so that a problem is solved in the same way on every machine.

use super::functions::NewtonFunction;
use super::gradient::Gradient;
use super::interior_point;
use super::modes;
use super::nsgs::{Order, Sweeper, sweep_work};
use super::proximal::{Newton, Weight};
use super::scaled::squared_norm;
use super::solver_state::{SolverState, Stop};
use super::splitting::Admm;
use crate::cone::project;

/// Solves one connected problem.
pub(crate) fn solve<const D: usize>(solver: &mut SolverState<'_, D>) -> Stop {
    if let Some(stop) = solver.stop().or_else(|| enumerate_one_contact(solver)) {
        return stop;
    }
    let mut portfolio = Portfolio::new(solver);
    loop {
        if let Some(stop) = solver.stop() {
            return stop;
        }
        portfolio.next(solver);
    }
}

/// Enumerates the solutions of a single contact with two or three components.
fn enumerate_one_contact<const D: usize>(solver: &mut SolverState<'_, D>) -> Option<Stop> {
    let solutions = match solver.p.q.as_slice() {
        [q] => modes::of_contact(solver.p.w.diagonal(0), q, solver.p.mu[0])?,
        _ => return None,
    };
    solver.work += 1000.0;
    for r in &solutions {
        solver.evaluate(&[*r]);
    }
    let infeasible = modes::has_no_solution(solver.p.w.diagonal(0), &solver.p.q[0], solver.p.mu[0]);
    solver.stop().or(infeasible.then_some(Stop::Infeasible))
}

/// A method with its state beside the iterate.
enum Method<const D: usize> {
    Sweeps(Sweeper),
    Gradient(Box<Gradient<D>>),
    Splitting(Option<Box<Admm<D>>>),
    Proximal(NewtonFunction, Weight),
    /// The same from the best point of all methods, with the two functions in turn.
    FromBest([NewtonFunction; 2], Weight),
    InteriorPoint,
}

/// Weights of the proximal term with which Newton's methods begin, in turn.
const WEIGHTS: [f64; 3] = [1e-2, 1.0, 1e-4];
/// A method whose point has a larger squared norm has diverged: the data are of order 1.
const DIVERGED: f64 = 1e20;
/// Runs without progress after which a method is restarted at another point.
const MAX_IDLE_RUNS: u32 = 4;
/// The convergence rate of a method is taken to be at least this fraction of its rate over all its runs.
const OVERALL_RATE_WEIGHT: f64 = 0.25;
/// Each method gets at least this share of the work.
const LEAST_SHARE: f64 = 0.05;

/// A method with its own iterate.
struct Candidate<const D: usize> {
    method: Method<D>,
    point: Vec<[f64; D]>,
    /// Operations of the first run.
    first_run: f64,
    spent: f64,
    /// Operations since it was restarted.
    since_restart: f64,
    /// Consecutive runs without progress.
    idle_runs: u32,
    /// Predicted remaining operations; before the first run those of that run.
    remaining: f64,
    /// Number of restarts.
    restarts: usize,
}

struct Portfolio<const D: usize> {
    candidates: Vec<Candidate<D>>,
    newton: Newton<D>,
    /// State of the generator of restart points.
    random_state: u64,
}

impl<const D: usize> Portfolio<D> {
    /// Gauss–Seidel starts from the best point, the other methods from zero.
    fn new(solver: &mut SolverState<'_, D>) -> Self {
        let p = solver.p;
        let zero = vec![[0.0; D]; p.contacts()];
        let mut newton = Newton::default();
        let step = newton.predict(solver);
        let sweep = sweep_work(p);
        let iteration = p.product_work() + (60 * D * p.contacts()) as f64;
        let gradient = Box::new(Gradient::new(solver, &zero));
        let weight = Weight::new(WEIGHTS[0]);
        let functions = [NewtonFunction::NaturalMap, NewtonFunction::AlartCurnier];
        let methods = [
            (
                Method::Sweeps(Sweeper::new(1.0, Order::Forward)),
                20.0 * sweep,
            ),
            (Method::Gradient(gradient), 40.0 * iteration),
            (Method::Splitting(None), step + 120.0 * iteration),
            (Method::Proximal(functions[1], weight), 30.0 * step),
            (Method::FromBest(functions, Weight::new(1e-3)), 12.0 * step),
            (Method::InteriorPoint, 40.0 * step),
        ];
        let each = methods.into_iter().map(|(method, first_run)| Candidate {
            point: match method {
                Method::Sweeps(_) => solver.best.clone(),
                _ => zero.clone(),
            },
            method,
            first_run,
            spent: 0.0,
            since_restart: 0.0,
            idle_runs: 0,
            remaining: first_run,
            restarts: 0,
        });
        Self {
            candidates: each.collect(),
            newton,
            random_state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Runs the method with the least predicted remaining work, or one that has had less than its share.
    fn next(&mut self, solver: &mut SolverState<'_, D>) {
        let total: f64 = self
            .candidates
            .iter()
            .map(|candidate| candidate.spent)
            .sum();
        let below_share = |candidate: &&mut Candidate<D>| {
            candidate.spent.max(candidate.first_run) < LEAST_SHARE * total
        };
        let by = |key: fn(&Candidate<D>) -> f64| {
            move |a: &&mut Candidate<D>, b: &&mut Candidate<D>| key(a).total_cmp(&key(b))
        };
        let chosen = match self
            .candidates
            .iter_mut()
            .filter(below_share)
            .min_by(by(|candidate| candidate.spent))
        {
            Some(candidate) => Some(candidate),
            None => self
                .candidates
                .iter_mut()
                .min_by(by(|candidate| candidate.remaining)),
        };
        if let Some(candidate) = chosen {
            candidate.run_share(solver, &mut self.newton, &mut self.random_state);
        }
    }
}

impl<const D: usize> Candidate<D> {
    /// Runs for half the work since the last restart, from its own iterate; the best point of all methods is updated.
    fn run_share(
        &mut self,
        solver: &mut SolverState<'_, D>,
        newton: &mut Newton<D>,
        random_state: &mut u64,
    ) {
        let (best, eta) = (solver.best.clone(), solver.best_eta);
        if !matches!(self.method, Method::FromBest(..)) {
            solver.best.copy_from_slice(&self.point);
            solver.best_eta = f64::INFINITY;
        }
        solver.evaluate(&self.point);
        let before = solver.best_eta;
        let (limit, work) = (solver.limits.max_work, solver.work);
        let length = self.first_run.max(0.5 * self.since_restart);
        solver.limits.max_work = limit.min(solver.work + length);
        let end = self.run_method(solver, newton);
        solver.limits.max_work = limit;
        let spent = (solver.work - work).max(1.0);
        self.spent += spent;
        self.since_restart += spent;
        self.point.copy_from_slice(&solver.best);
        let reached = solver.best_eta;
        let needed = (reached / solver.tolerance).ln();
        // The rate of this run, or a fraction of the mean rate, counted from η = 1.
        let rate =
            ((before / reached).ln() / spent).max(-OVERALL_RATE_WEIGHT * reached.ln() / self.spent);
        // The interior-point method starts anew in every run, so that it has no rate.
        let has_rate = rate > 0.0 && !matches!(self.method, Method::InteriorPoint);
        self.remaining = if has_rate {
            needed / rate
        } else {
            f64::INFINITY
        };
        if let Method::FromBest(functions, weight) = &mut self.method
            && reached > 0.1 * before
        {
            functions.swap(0, 1);
            *weight = Weight::new(1e-3);
        }
        let diverged = squared_norm(&self.point) > DIVERGED;
        if solver.best_eta >= eta || solver.best_eta.is_nan() || diverged && !solver.solved() {
            solver.best = best;
            solver.best_eta = eta;
        }
        self.idle_runs = if reached > 0.9 * before {
            self.idle_runs + 1
        } else {
            0
        };
        let stuck = self.idle_runs >= MAX_IDLE_RUNS && !matches!(self.method, Method::FromBest(..));
        if matches!(end, Stop::Stalled | Stop::Diverging) || diverged || stuck {
            self.restart(solver, random_state);
        }
    }

    fn run_method(&mut self, solver: &mut SolverState<'_, D>, newton: &mut Newton<D>) -> Stop {
        match &mut self.method {
            Method::Sweeps(sweeper) => sweeper.run(solver, &mut self.point),
            Method::Gradient(gradient) => gradient.run(solver),
            Method::Splitting(admm) => {
                if admm.is_none() {
                    *admm = Admm::new(solver).map(Box::new);
                }
                admm.as_mut().map_or(Stop::Stalled, |admm| admm.run(solver))
            }
            Method::Proximal(function, weight) | Method::FromBest([function, _], weight) => {
                let budget = solver.remaining_iterations();
                newton.proximal(solver, *function, weight, budget)
            }
            Method::InteriorPoint => interior_point::solve(solver),
        }
    }

    /// Restarts at a pseudo-random point in the cones, of the size of the data or larger.
    fn restart(&mut self, solver: &mut SolverState<'_, D>, random_state: &mut u64) {
        self.restarts += 1;
        (self.since_restart, self.idle_runs) = (0.0, 0);
        let can_restart = !matches!(self.method, Method::InteriorPoint);
        self.remaining = if can_restart {
            self.spent
        } else {
            f64::INFINITY
        };
        let size = 10.0_f64.powi((self.restarts % 3) as i32) / (self.point.len() as f64).sqrt();
        for (i, r) in self.point.iter_mut().enumerate() {
            for v in r.iter_mut() {
                *random_state ^= *random_state << 13;
                *random_state ^= *random_state >> 7;
                *random_state ^= *random_state << 17;
                *v = size * ((*random_state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
            }
            r[0] = r[0].abs();
            *r = project(r, solver.p.mu[i], solver.p.rolling[i]).0;
        }
        match &mut self.method {
            Method::Gradient(gradient) => gradient.restart(solver, &self.point),
            Method::Splitting(admm) => *admm = None,
            Method::Proximal(_, weight) | Method::FromBest(_, weight) => {
                *weight = Weight::new(WEIGHTS[self.restarts % WEIGHTS.len()]);
            }
            Method::Sweeps(_) | Method::InteriorPoint => {}
        }
    }
}
