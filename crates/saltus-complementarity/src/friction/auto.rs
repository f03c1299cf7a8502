//! Portfolio of methods, each with its own iterate, run in alternation; most of the work goes to the one with the least predicted
//! remaining work.
//!
//! Nothing here looks at a clock: the same problem takes the same path everywhere.

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
    if let Some(stop) = solver.stop().or_else(|| one_contact(solver)) {
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

/// Of one contact in two or three components all solutions are known.
fn one_contact<const D: usize>(solver: &mut SolverState<'_, D>) -> Option<Stop> {
    let solutions = match solver.p.q.as_slice() {
        [q] => modes::of_contact(solver.p.w.diagonal(0), q, solver.p.mu[0])?,
        _ => return None,
    };
    solver.work += 1000.0;
    for r in &solutions {
        solver.evaluate(&[*r]);
    }
    let refuted = modes::has_no_solution(solver.p.w.diagonal(0), &solver.p.q[0], solver.p.mu[0]);
    solver.stop().or(refuted.then_some(Stop::Refuted))
}

/// A method with its state beside the iterate.
enum Method<const D: usize> {
    Sweeps(Sweeper),
    Gradient(Box<Gradient<D>>),
    Splitting(Option<Box<Admm<D>>>),
    Proximal(NewtonFunction, Weight),
    /// The same from the best point of all, with either function in turn.
    FromBest([NewtonFunction; 2], Weight),
    InteriorPoint,
}

/// Weights of the proximal term with which Newton's methods begin, in turn.
const WEIGHTS: [f64; 3] = [1e-2, 1.0, 1e-4];
/// A point as long as this, squared, has run away: the data are of the order of 1.
const RUNAWAY: f64 = 1e20;
/// Bursts without progress after which a method is restarted elsewhere.
const PATIENCE: u32 = 4;
/// The convergence rate of a method is at least this fraction of its rate over all bursts.
const OVERALL_RATE_WEIGHT: f64 = 0.25;
/// Each method has at least this share of the work.
const LEAST_SHARE: f64 = 0.05;

/// One method with its own point.
struct Arm<const D: usize> {
    method: Method<D>,
    point: Vec<[f64; D]>,
    /// Operations of the first burst.
    unit: f64,
    spent: f64,
    /// Operations since it was restarted.
    since: f64,
    /// Bursts without progress, one after the other.
    idle: u32,
    /// Predicted remaining operations; before the first burst those of it.
    remaining: f64,
    /// How often it was restarted because it made no progress.
    restarts: usize,
}

struct Portfolio<const D: usize> {
    arms: Vec<Arm<D>>,
    newton: Newton<D>,
    /// Of the points at which methods are restarted.
    random: u64,
}

impl<const D: usize> Portfolio<D> {
    /// Sweeps go on from where they are, the others begin at zero.
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
            (Method::Proximal(functions[0], weight), 30.0 * step),
            (Method::FromBest(functions, Weight::new(1e-3)), 12.0 * step),
            (Method::InteriorPoint, 40.0 * step),
        ];
        let each = methods.into_iter().map(|(method, unit)| Arm {
            point: match method {
                Method::Sweeps(_) => solver.best.clone(),
                _ => zero.clone(),
            },
            method,
            unit,
            spent: 0.0,
            since: 0.0,
            idle: 0,
            remaining: unit,
            restarts: 0,
        });
        Self {
            arms: each.collect(),
            newton,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// One burst of the method with the least predicted work, or of one that has had less than its share.
    fn next(&mut self, solver: &mut SolverState<'_, D>) {
        let total: f64 = self.arms.iter().map(|arm| arm.spent).sum();
        let below_share = |arm: &&mut Arm<D>| arm.spent.max(arm.unit) < LEAST_SHARE * total;
        let by = |key: fn(&Arm<D>) -> f64| {
            move |a: &&mut Arm<D>, b: &&mut Arm<D>| key(a).total_cmp(&key(b))
        };
        let chosen = match self
            .arms
            .iter_mut()
            .filter(below_share)
            .min_by(by(|arm| arm.spent))
        {
            Some(arm) => Some(arm),
            None => self.arms.iter_mut().min_by(by(|arm| arm.remaining)),
        };
        if let Some(arm) = chosen {
            arm.burst(solver, &mut self.newton, &mut self.random);
        }
    }
}

impl<const D: usize> Arm<D> {
    /// Goes on for half as long as it has done; the best point of all becomes its own only where that is better.
    fn burst(&mut self, solver: &mut SolverState<'_, D>, newton: &mut Newton<D>, random: &mut u64) {
        let (best, eta) = (solver.best.clone(), solver.best_eta);
        if !matches!(self.method, Method::FromBest(..)) {
            solver.best.copy_from_slice(&self.point);
            solver.best_eta = f64::INFINITY;
        }
        solver.evaluate(&self.point);
        let before = solver.best_eta;
        let (limit, work) = (solver.limits.max_work, solver.work);
        let length = self.unit.max(0.5 * self.since);
        solver.limits.max_work = limit.min(solver.work + length);
        let end = self.run_method(solver, newton);
        solver.limits.max_work = limit;
        let spent = (solver.work - work).max(1.0);
        self.spent += spent;
        self.since += spent;
        self.point.copy_from_slice(&solver.best);
        let reached = solver.best_eta;
        let needed = (reached / solver.tolerance).ln();
        // At the rate of this burst, or a share of that of all, if the method began at η = 1.
        let rate =
            ((before / reached).ln() / spent).max(-OVERALL_RATE_WEIGHT * reached.ln() / self.spent);
        // What the interior point has done before its end is lost.
        let lasts = rate > 0.0 && !matches!(self.method, Method::InteriorPoint);
        self.remaining = if lasts { needed / rate } else { f64::INFINITY };
        if let Method::FromBest(functions, weight) = &mut self.method
            && reached > 0.1 * before
        {
            functions.swap(0, 1);
            *weight = Weight::new(1e-3);
        }
        let ran_away = squared_norm(&self.point) > RUNAWAY;
        if solver.best_eta >= eta || solver.best_eta.is_nan() || ran_away && !solver.solved() {
            solver.best = best;
            solver.best_eta = eta;
        }
        self.idle = if reached > 0.9 * before {
            self.idle + 1
        } else {
            0
        };
        let stuck = self.idle >= PATIENCE && !matches!(self.method, Method::FromBest(..));
        if matches!(end, Stop::Stalled | Stop::Diverging) || ran_away || stuck {
            self.restart(solver, random);
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

    /// A pseudo-random point in the cones, of the size of the data or larger.
    fn restart(&mut self, solver: &mut SolverState<'_, D>, random: &mut u64) {
        self.restarts += 1;
        (self.since, self.idle) = (0.0, 0);
        let again = !matches!(self.method, Method::InteriorPoint);
        self.remaining = if again { self.spent } else { f64::INFINITY };
        let size = 10.0_f64.powi((self.restarts % 3) as i32) / (self.point.len() as f64).sqrt();
        for (i, r) in self.point.iter_mut().enumerate() {
            for v in r.iter_mut() {
                *random ^= *random << 13;
                *random ^= *random >> 7;
                *random ^= *random << 17;
                *v = size * ((*random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
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
