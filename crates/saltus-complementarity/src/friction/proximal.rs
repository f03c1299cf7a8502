//! Semismooth Newton methods, plain and proximal.
//!
//! The proximal method solves a sequence of problems `u = W r + q + s (r − r_k)`: each has a unique reaction and
//! regular Jacobians even where `W` is singular (hyperstatic contacts), and the sequence ends at a solution of the
//! original problem, whose residual alone decides (Rockafellar, *SIAM J. Control Optim.* 14 (1976), for the proximal
//! point method; the Newton functions are those of `functions.rs`, the linear systems those of `tangent.rs`).

use super::functions::{Block, NewtonFunction, evaluate};
use super::scaled::squared_norm;
use super::solver_state::{SolverState, Stop};
use super::tangent::Tangent;
use crate::cone::project;

/// Buffers of the Newton iteration.
#[derive(Debug, Default)]
pub(crate) struct Newton<const D: usize> {
    tangent: Tangent<D>,
    active: Vec<usize>,
    a: Vec<Block<D>>,
    b: Vec<Block<D>>,
    f: Vec<[f64; D]>,
    u: Vec<[f64; D]>,
    trial: Vec<[f64; D]>,
    trial_f: Vec<[f64; D]>,
    trial_u: Vec<[f64; D]>,
    step: Vec<[f64; D]>,
    rhs: Vec<[f64; D]>,
    x: Vec<[f64; D]>,
}

/// Full steps without a smaller residual before the line search begins, which at a kink of `F` may go to and fro for ever.
const FULL_STEPS: u64 = 3;

/// Outcome of an inner Newton iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inner {
    Converged,
    Failed,
}

impl<const D: usize> Newton<D> {
    /// `u ← W r + q + s (r − center)` into `u`, `F` into `f`; returns `|F|`.
    #[allow(clippy::too_many_arguments)] // a point, what defines the function, where the values go
    fn function(
        solver: &mut SolverState<'_, D>,
        function: NewtonFunction,
        r: &[[f64; D]],
        center: &[[f64; D]],
        s: f64,
        u: &mut [[f64; D]],
        f: &mut [[f64; D]],
    ) -> f64 {
        let p = solver.p;
        p.velocity(r, u);
        solver.work += p.product_work() + (60 * D * r.len()) as f64;
        for i in 0..r.len() {
            if s > 0.0 {
                for k in 0..D {
                    u[i][k] += s * (r[i][k] - center[i][k]);
                }
            }
            f[i] = evaluate(function, &r[i], &u[i], 1.0, p.mu[i], p.rolling[i]).0;
        }
        squared_norm(f).sqrt()
    }

    fn resize(&mut self, n: usize) {
        let zero = [0.0; D];
        for v in [
            &mut self.f,
            &mut self.u,
            &mut self.trial,
            &mut self.trial_f,
            &mut self.trial_u,
            &mut self.step,
        ] {
            v.clear();
            v.resize(n, zero);
        }
        self.a.resize(n, [[0.0; D]; D]);
        self.b.resize(n, [[0.0; D]; D]);
    }

    /// Counted operations of one Newton step in contact space with all contacts active, from the symbolic factorisation.
    pub fn predict(&mut self, solver: &mut SolverState<'_, D>) -> f64 {
        self.tangent.predict(solver) + 4.0 * solver.p.product_work()
    }

    /// One Newton direction at `r` (velocities in `self.u`, `F` in `self.f`) into `self.step`. False where the matrix is singular.
    fn direction(
        &mut self,
        solver: &mut SolverState<'_, D>,
        function: NewtonFunction,
        r: &[[f64; D]],
        s: f64,
    ) -> bool {
        let p = solver.p;
        let zero = [[0.0; D]; D];
        self.active.clear();
        for i in 0..r.len() {
            let (_, (a, b)) = evaluate(function, &r[i], &self.u[i], 1.0, p.mu[i], p.rolling[i]);
            if b == zero {
                for k in 0..D {
                    self.step[i][k] = -self.f[i][k];
                }
            } else {
                self.active.push(i);
                self.step[i] = [0.0; D];
            }
            self.a[i] = a;
            self.b[i] = b;
        }
        let blocks = (&self.a[..], &self.b[..]);
        if !self.tangent.factorise(solver, &self.active, blocks, s) {
            return false;
        }
        // The step of open contacts is known; it contributes to the right-hand side of the others.
        for round in 0..3 {
            self.linear_residual(solver, s);
            let size = squared_norm(&self.rhs).sqrt();
            let scale = squared_norm(&self.f).sqrt();
            if round > 0 && (size <= 1e-12 * scale || !size.is_finite()) {
                break;
            }
            self.x.clone_from(&self.rhs);
            self.tangent.solve(&mut self.x);
            solver.work += 4.0 * p.product_work();
            for (k, &i) in self.active.iter().enumerate() {
                for c in 0..D {
                    self.step[i][c] += self.x[k][c];
                }
            }
        }
        self.step.iter().all(|v| v.iter().all(|v| v.is_finite()))
    }

    /// `rhs ← −F − (A + s B) dr − B W dr` on the active contacts.
    fn linear_residual(&mut self, solver: &SolverState<'_, D>, s: f64) {
        self.rhs.clear();
        for &i in &self.active {
            let image = solver.p.w.row_dot::<D>(i, &self.step);
            let mut right = [0.0; D];
            for x in 0..D {
                right[x] = -self.f[i][x];
                for y in 0..D {
                    let d = self.step[i][y];
                    right[x] -= self.a[i][x][y] * d + self.b[i][x][y] * (image[y] + s * d);
                }
            }
            self.rhs.push(right);
        }
    }

    /// Newton's method, full steps first and then a non-monotone line search, on the problem with center and weight `s`, from `r`.
    /// Returns how it ended and the number of steps.
    fn inner(
        &mut self,
        solver: &mut SolverState<'_, D>,
        function: NewtonFunction,
        r: &mut [[f64; D]],
        center: &[[f64; D]],
        s: f64,
        limit: u64,
    ) -> (Inner, u64) {
        let n = r.len();
        self.resize(n);
        let (mut u, mut f) = (std::mem::take(&mut self.u), std::mem::take(&mut self.f));
        let mut merit = Self::function(solver, function, r, center, s, &mut u, &mut f);
        (self.u, self.f) = (u, f);
        let mut history = [merit; 5];
        let mut halved = (merit, 0);
        let mut least = (merit, 0);
        for step in 0..limit {
            let moved = distance(r, center);
            let goal = (0.05 * solver.tolerance).max(0.1 * s * moved);
            if merit <= goal {
                return (Inner::Converged, step);
            }
            if solver.work >= solver.limits.max_work || solver.limits.cancelled() {
                return (Inner::Failed, step);
            }
            if merit <= 0.5 * halved.0 {
                halved = (merit, step);
            } else if step - halved.1 > 12 {
                return (Inner::Failed, step);
            }
            if !merit.is_finite() || !self.direction(solver, function, r, s) {
                return (Inner::Failed, step);
            }
            solver.iterations += 1;
            if merit < least.0 {
                least = (merit, step);
            }
            let takes_full_step = step - least.1 < FULL_STEPS;
            let reference = history.iter().fold(0.0_f64, |a, b| a.max(*b));
            let mut chosen = (f64::INFINITY, 1.0);
            let mut factor = 1.0;
            for _ in 0..7 {
                let m = self.attempt(solver, function, r, center, s, factor);
                if m < chosen.0 {
                    chosen = (m, factor);
                }
                if m <= (1.0 - 1e-4 * factor) * reference || takes_full_step && m.is_finite() {
                    break;
                }
                factor *= 0.5;
            }
            if chosen.0.is_infinite() {
                return (Inner::Failed, step);
            }
            if chosen.1 != factor {
                self.attempt(solver, function, r, center, s, chosen.1);
            }
            r.copy_from_slice(&self.trial);
            std::mem::swap(&mut self.u, &mut self.trial_u);
            std::mem::swap(&mut self.f, &mut self.trial_f);
            merit = chosen.0;
            history[step as usize % 5] = merit;
        }
        (Inner::Failed, limit)
    }

    /// The merit at `r + factor · step`, which is left in `trial`.
    fn attempt(
        &mut self,
        solver: &mut SolverState<'_, D>,
        function: NewtonFunction,
        r: &[[f64; D]],
        center: &[[f64; D]],
        s: f64,
        factor: f64,
    ) -> f64 {
        for (t, (r, d)) in self.trial.iter_mut().zip(r.iter().zip(&self.step)) {
            for k in 0..D {
                t[k] = r[k] + factor * d[k];
            }
        }
        let m = Self::function(
            solver,
            function,
            &self.trial,
            center,
            s,
            &mut self.trial_u,
            &mut self.trial_f,
        );
        if m.is_nan() { f64::INFINITY } else { m }
    }

    /// Newton's method on the problem itself, without the proximal term.
    pub fn plain(&mut self, solver: &mut SolverState<'_, D>, function: NewtonFunction) -> Stop {
        let mut r = solver.best.clone();
        let center = r.clone();
        loop {
            if let Some(stop) = solver.stop() {
                return stop;
            }
            let remaining = solver.remaining_iterations().min(200);
            let (end, steps) = self.inner(solver, function, &mut r, &center, 0.0, remaining);
            let before = solver.best_eta;
            solver.evaluate(&projected(solver, &r));
            solver.evaluate(&r);
            if solver.solved() {
                return Stop::Solved;
            }
            if end == Inner::Failed || steps == 0 || solver.best_eta >= before {
                return solver.stop().unwrap_or(Stop::Stalled);
            }
        }
    }

    /// The proximal method from the best point, at most `budget` Newton steps; `weight` is carried from call to call.
    pub fn proximal(
        &mut self,
        solver: &mut SolverState<'_, D>,
        function: NewtonFunction,
        weight: &mut Weight,
        budget: u64,
    ) -> Stop {
        let mut center = solver.best.clone();
        let mut eta = solver.best_eta;
        let end = solver.iterations + budget.min(solver.remaining_iterations());
        while solver.iterations < end {
            if let Some(stop) = solver.stop() {
                return stop;
            }
            let mut r = center.clone();
            let limit = 40.min(end - solver.iterations);
            let (inner, steps) = self.inner(solver, function, &mut r, &center, weight.s, limit);
            let r = projected(solver, &r);
            let new_eta = solver.evaluate(&r);
            if solver.solved() {
                return Stop::Solved;
            }
            if inner == Inner::Converged || new_eta < eta {
                (center, eta) = extrapolate(solver, &center, r, new_eta);
                if solver.solved() {
                    return Stop::Solved;
                }
            }
            // An inner iteration that the limits have ended does not change the weight.
            if let Some(stop) = solver.stop() {
                return stop;
            }
            if !weight.adapt(inner == Inner::Converged, steps) {
                return Stop::Stalled;
            }
        }
        solver.stop().unwrap_or(Stop::Iterations)
    }
}

/// The weight `s` of the proximal term and the state of its control, which avoids oscillation between two weights.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    s: f64,
    failures: u32,
    /// Converged inner iterations for which `s` is still not reduced.
    hold: u32,
    hold_length: u32,
    /// Whether an inner iteration has failed: `s` is then reduced less at a time than it is increased after a failure.
    has_failed: bool,
}

impl Weight {
    pub fn new(s: f64) -> Self {
        Self {
            s,
            failures: 0,
            hold: 0,
            hold_length: 0,
            has_failed: false,
        }
    }

    /// Adapts `s` after an inner iteration; false if the method has stalled.
    fn adapt(&mut self, converged: bool, steps: u64) -> bool {
        if !converged {
            self.failures += 1;
            self.has_failed = true;
            self.s = (10.0 * self.s).min(1e3);
            if self.failures >= 2 {
                self.hold_length = (self.hold_length + 1).min(8);
                self.hold = self.hold_length;
            }
            return self.failures <= 12;
        }
        self.failures = 0;
        if steps == 0 {
            // The center is the inner solution to its tolerance: only a smaller weight gives progress.
            self.s *= 0.01;
            return self.s >= 1e-12;
        }
        if self.hold > 0 {
            self.hold -= 1;
        } else if steps <= 6 {
            self.s *= if self.has_failed { 0.3 } else { 0.1 };
        } else if steps <= 12 {
            self.s *= 0.3;
        }
        self.s = self.s.max(1e-10);
        true
    }
}

/// Extrapolates the last outer step while the residual of the original problem decreases.
fn extrapolate<const D: usize>(
    solver: &mut SolverState<'_, D>,
    center: &[[f64; D]],
    r: Vec<[f64; D]>,
    eta: f64,
) -> (Vec<[f64; D]>, f64) {
    let (mut best, mut best_eta) = (r.clone(), eta);
    let mut theta = 2.0;
    while theta <= 1e6 {
        let mut x = center.to_vec();
        for (i, (x, r)) in x.iter_mut().zip(&r).enumerate() {
            for (x, r) in x.iter_mut().zip(r) {
                *x += theta * (r - *x);
            }
            *x = project(x, solver.p.mu[i], solver.p.rolling[i]).0;
        }
        let new_eta = solver.evaluate(&x);
        if new_eta > 0.98 * best_eta || new_eta.is_nan() {
            break;
        }
        (best, best_eta) = (x, new_eta);
        theta *= 2.0;
    }
    (best, best_eta)
}

fn projected<const D: usize>(solver: &SolverState<'_, D>, r: &[[f64; D]]) -> Vec<[f64; D]> {
    let p = solver.p;
    r.iter()
        .enumerate()
        .map(|(i, r)| project(r, p.mu[i], p.rolling[i]).0)
        .collect()
}

fn distance<const D: usize>(a: &[[f64; D]], b: &[[f64; D]]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        for (a, b) in a.iter().zip(b) {
            sum += (a - b) * (a - b);
        }
    }
    sum.sqrt()
}
