//! Accelerated projected gradient with restart and backtracking, the De Saxcé term refreshed at every point
//! (Nesterov's method as used for contact by Heyn, Mazhar, Tasora & Negrut, *ACM TOG* 34 (2015); O'Donoghue & Candès'
//! adaptive restart, *Found. Comput. Math.* 15 (2015)).

use super::scaled::squared_norm;
use super::solver_state::{SolverState, Stop};
use crate::cone::{de_saxce, project};

/// The state of the method between runs.
#[derive(Debug, Clone)]
pub(crate) struct Gradient<const D: usize> {
    r: Vec<[f64; D]>,
    /// `W r + q`.
    u: Vec<[f64; D]>,
    y: Vec<[f64; D]>,
    /// `W y + q`.
    v: Vec<[f64; D]>,
    trial: Vec<[f64; D]>,
    trial_u: Vec<[f64; D]>,
    theta: f64,
    lipschitz: f64,
}

impl<const D: usize> Gradient<D> {
    pub fn new(solver: &mut SolverState<'_, D>, r: &[[f64; D]]) -> Self {
        let mut u = vec![[0.0; D]; r.len()];
        solver.p.velocity(r, &mut u);
        solver.work += solver.p.product_work();
        let zero = vec![[0.0; D]; r.len()];
        Self {
            r: r.to_vec(),
            y: r.to_vec(),
            v: u.clone(),
            u,
            trial: zero.clone(),
            trial_u: zero,
            theta: 1.0,
            lipschitz: 1.0,
        }
    }

    /// Starts again from `r`, keeping the step length.
    pub fn restart(&mut self, solver: &mut SolverState<'_, D>, r: &[[f64; D]]) {
        self.r.copy_from_slice(r);
        solver.p.velocity(r, &mut self.u);
        solver.work += solver.p.product_work();
        self.y.copy_from_slice(r);
        self.v.copy_from_slice(&self.u);
        self.theta = 1.0;
    }

    /// At most `count` iterations; returns η at the end.
    pub fn iterate(&mut self, solver: &mut SolverState<'_, D>, count: u64) -> f64 {
        let mut eta = f64::INFINITY;
        let count = count.min(solver.remaining_iterations());
        for k in 1..=count {
            self.step(solver);
            solver.iterations += 1;
            if k % 25 == 0 || k == count {
                eta = solver.evaluate(&self.r);
                // Replaces velocities from the recurrence, which accumulates rounding.
                self.u.copy_from_slice(&solver.u);
                if solver.stop().is_some() || !eta.is_finite() {
                    return eta;
                }
                if eta > 1e3 * solver.best_eta {
                    let best = std::mem::take(&mut solver.best);
                    self.restart(solver, &best);
                    solver.best = best;
                }
            }
        }
        eta
    }

    /// Until the solver is to stop.
    pub fn run(&mut self, solver: &mut SolverState<'_, D>) -> Stop {
        loop {
            if let Some(stop) = solver.stop() {
                return stop;
            }
            self.iterate(solver, 500);
            if squared_norm(&self.r) > 1e20 {
                return Stop::Diverging;
            }
        }
    }

    fn step(&mut self, solver: &mut SolverState<'_, D>) {
        let p = solver.p;
        let n = self.r.len();
        for _ in 0..60 {
            let inverse = 1.0 / self.lipschitz;
            for i in 0..n {
                let hat = de_saxce(&self.v[i], p.mu[i], p.rolling[i]);
                let mut x = self.y[i];
                for (x, h) in x.iter_mut().zip(&hat) {
                    *x -= inverse * h;
                }
                self.trial[i] = project(&x, p.mu[i], p.rolling[i]).0;
            }
            p.velocity(&self.trial, &mut self.trial_u);
            solver.work += p.product_work() + (30 * D * n) as f64;
            let (mut curvature, mut length) = (0.0, 0.0);
            for i in 0..n {
                let hat = de_saxce(&self.trial_u[i], p.mu[i], p.rolling[i]);
                let before = de_saxce(&self.v[i], p.mu[i], p.rolling[i]);
                for k in 0..D {
                    let step = self.trial[i][k] - self.y[i][k];
                    curvature += step * (hat[k] - before[k]);
                    length += step * step;
                }
            }
            if curvature <= self.lipschitz * length || length == 0.0 {
                break;
            }
            self.lipschitz *= 1.6;
        }
        let mut against_momentum = 0.0;
        for i in 0..n {
            for k in 0..D {
                against_momentum +=
                    (self.y[i][k] - self.trial[i][k]) * (self.trial[i][k] - self.r[i][k]);
            }
        }
        let theta = 0.5 * (1.0 + (1.0 + 4.0 * self.theta * self.theta).sqrt());
        let beta = if against_momentum > 0.0 {
            0.0
        } else {
            (self.theta - 1.0) / theta
        };
        self.theta = if against_momentum > 0.0 { 1.0 } else { theta };
        for i in 0..n {
            for k in 0..D {
                self.y[i][k] = self.trial[i][k] + beta * (self.trial[i][k] - self.r[i][k]);
                self.v[i][k] = self.trial_u[i][k] + beta * (self.trial_u[i][k] - self.u[i][k]);
            }
        }
        std::mem::swap(&mut self.r, &mut self.trial);
        std::mem::swap(&mut self.u, &mut self.trial_u);
        self.lipschitz *= 0.97;
    }
}

/// Accelerated projected gradient to the end.
pub(crate) fn solve<const D: usize>(solver: &mut SolverState<'_, D>) -> Stop {
    let start = solver.best.clone();
    Gradient::new(solver, &start).run(solver)
}
