//! State of an iterative solver: problem, limits, best iterate, iterations and counted work.

use super::diagnosis::{PROOF_LIMIT, frictionless_proof, proof_work};
use super::modes;
use super::scaled::Scaled;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// When a solver of frictional contact stops.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Bound on `eta` of [`Residual`](super::Residual). With a negative one the method runs to its other limits, and no proof
    /// of infeasibility is sought.
    pub tolerance: f64,
    /// Largest number of iterations (sweeps, steps, factorisations alike).
    pub max_iterations: u64,
    /// Largest number of floating-point operations, counted, not measured.
    pub max_work: f64,
    /// Set by another thread to stop early.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            max_iterations: 1_000_000,
            max_work: 1e10,
            cancel: None,
        }
    }
}

impl Limits<'_> {
    /// Whether another thread has cancelled the solve.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }
}

/// Why a solver stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Solved,
    Iterations,
    Work,
    Cancelled,
    Diverging,
    Stalled,
    /// It is proven that there is no solution.
    Infeasible,
}

/// The state of an iterative solver.
#[derive(Debug)]
pub(crate) struct SolverState<'a, const D: usize> {
    pub p: &'a Scaled<D>,
    pub tolerance: f64,
    pub limits: Limits<'a>,
    /// Velocities of the point evaluated last.
    pub u: Vec<[f64; D]>,
    pub best: Vec<[f64; D]>,
    pub best_eta: f64,
    pub iterations: u64,
    pub work: f64,
    /// Work after which a certificate of infeasibility is sought.
    proof_due: Cell<f64>,
    proven: Cell<bool>,
}

/// A certificate of infeasibility is sought, once, when this multiple of its cost is spent.
const PROOF_SHARE: f64 = 20.0;

impl<'a, const D: usize> SolverState<'a, D> {
    /// Starts from the better of `r` and zero.
    pub fn new(p: &'a Scaled<D>, limits: Limits<'a>, r: &[[f64; D]]) -> Self {
        let n = p.contacts();
        let due = if p.product_operator.is_some() || n > PROOF_LIMIT {
            f64::INFINITY
        } else {
            PROOF_SHARE * proof_work(n, D)
        };
        let mut solver = Self {
            p,
            tolerance: limits.tolerance,
            limits,
            u: vec![[0.0; D]; n],
            best: vec![[0.0; D]; n],
            best_eta: f64::INFINITY,
            iterations: 0,
            work: 0.0,
            proof_due: Cell::new(due),
            proven: Cell::new(false),
        };
        let zero = solver.best.clone();
        solver.evaluate(&zero);
        if r.iter().any(|r| r.iter().any(|v| *v != 0.0)) {
            solver.evaluate(r);
        }
        solver
    }

    /// η at `r`; updates the best iterate.
    pub fn evaluate(&mut self, r: &[[f64; D]]) -> f64 {
        self.p.velocity(r, &mut self.u);
        self.work += self.p.product_work();
        let eta = self.p.eta(r, &self.u);
        if eta < self.best_eta {
            self.best_eta = eta;
            self.best.copy_from_slice(r);
        }
        eta
    }

    pub fn solved(&self) -> bool {
        self.best_eta <= self.tolerance
    }

    /// Iterations that may still be made.
    pub fn remaining_iterations(&self) -> u64 {
        self.limits.max_iterations.saturating_sub(self.iterations)
    }

    /// Whether to stop, and why.
    pub fn stop(&self) -> Option<Stop> {
        if self.solved() {
            Some(Stop::Solved)
        } else if self.iterations >= self.limits.max_iterations {
            Some(Stop::Iterations)
        } else if self.work >= self.limits.max_work {
            Some(Stop::Work)
        } else if self.limits.cancelled() {
            Some(Stop::Cancelled)
        } else if self.proven.get() || self.work >= self.proof_due.get() && self.seek_proof() {
            Some(Stop::Infeasible)
        } else {
            None
        }
    }

    /// Seeks a certificate of infeasibility; not for a problem of several parts, of which others may have a solution.
    fn seek_proof(&self) -> bool {
        self.proof_due.set(f64::INFINITY);
        let p = self.p;
        if p.w.components().len() == 1 && self.tolerance >= 0.0 {
            let no_mode =
                p.contacts() == 1 && modes::has_no_solution(p.w.diagonal(0), &p.q[0], p.mu[0]);
            let proof = frictionless_proof(&p.w, |i| p.q[i][0]);
            self.proven.set(no_mode || proof.is_some());
        }
        self.proven.get()
    }
}
