//! Nonsmooth Gauss–Seidel: one exact contact after the other (Jean, *CMAME* 177 (1999); Jourdan, Alart & Jean,
//! *CMAME* 155 (1998)).

use super::local;
use super::scaled::{Scaled, squared_norm};
use super::solver_state::{SolverState, Stop};
use crate::block::BlockMatrix;
use crate::cone::project;

/// Order of the contacts in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As numbered.
    #[default]
    Forward,
    /// Forward, then backward.
    Symmetric,
}

/// Data of a problem for a sweep, scaled or not.
#[derive(Clone, Copy)]
pub(crate) struct Contacts<'a, const D: usize> {
    pub w: &'a BlockMatrix,
    pub q: &'a [[f64; D]],
    pub mu: &'a [f64],
    /// Empty without rolling friction.
    pub rolling: &'a [f64],
}

impl<'a, const D: usize> Contacts<'a, D> {
    fn of(p: &'a Scaled<D>) -> Self {
        Self {
            w: &p.w,
            q: &p.q,
            mu: &p.mu,
            rolling: &p.rolling,
        }
    }

    /// Solves contact `i` with the others fixed; returns the square of its change.
    #[inline]
    pub fn solve_contact(&self, r: &mut [[f64; D]], i: usize, omega: f64, work: &mut f64) -> f64 {
        let mut b = self.w.row_dot_off_diagonal::<D>(i, r);
        for (b, q) in b.iter_mut().zip(&self.q[i]) {
            *b += q;
        }
        let (w, _) = self.w.diagonal(i).as_chunks::<D>();
        let Ok(w): Result<&[[f64; D]; D], _> = w.try_into() else {
            return 0.0;
        };
        let (mu, rolling) = (self.mu[i], self.rolling.get(i).copied().unwrap_or(0.0));
        let old = r[i];
        let Some(mut new) = local::solve(w, &b, mu, rolling, &old, work) else {
            return 0.0;
        };
        if omega != 1.0 {
            for (new, old) in new.iter_mut().zip(&old) {
                *new = old + omega * (*new - old);
            }
            new = project(&new, mu, rolling).0;
        }
        r[i] = new;
        let mut change = 0.0;
        for (a, b) in new.iter().zip(&old) {
            change += (a - b) * (a - b);
        }
        change
    }
}

/// Counted operations of one sweep: those of a product, which counts twice because it is sequential, and of the contacts.
pub(crate) fn sweep_work<const D: usize>(p: &Scaled<D>) -> f64 {
    2.0 * p.product_work() + (100 * D * p.contacts()) as f64
}

/// Gauss–Seidel sweeps, with the threshold for evaluations of the residual.
#[derive(Debug, Clone)]
pub(crate) struct Sweeper {
    omega: f64,
    order: Order,
    /// The residual is evaluated where the change of a sweep is below this.
    threshold: f64,
}

impl Sweeper {
    pub fn new(omega: f64, order: Order) -> Self {
        Self {
            omega,
            order,
            threshold: f64::INFINITY,
        }
    }

    /// At most `count` sweeps from `r`; leaves early when solved. Returns η at the end.
    pub fn sweeps<const D: usize>(
        &mut self,
        solver: &mut SolverState<'_, D>,
        r: &mut [[f64; D]],
        count: u64,
    ) -> f64 {
        let p = solver.p;
        let n = p.contacts();
        let count = count.min(solver.remaining_iterations());
        if self.threshold.is_infinite() {
            self.threshold = solver.tolerance;
        }
        let mut next_check = 10;
        let contacts = Contacts::of(p);
        for sweep in 1..=count {
            let (mut change, mut local_work) = (0.0, 0.0);
            for i in 0..n {
                change += contacts.solve_contact(r, i, self.omega, &mut local_work);
            }
            if self.order == Order::Symmetric {
                for i in (0..n).rev() {
                    change += contacts.solve_contact(r, i, self.omega, &mut local_work);
                }
                solver.work += sweep_work(p);
            }
            solver.iterations += 1;
            solver.work += sweep_work(p) + local_work;
            let due = sweep == next_check;
            if due {
                next_check += next_check.min(500);
            }
            if change.sqrt() <= self.threshold || due || sweep == count {
                let eta = solver.evaluate(r);
                if solver.stop().is_some() || sweep == count || !eta.is_finite() {
                    return eta;
                }
                if change.sqrt() <= self.threshold {
                    self.threshold *= (solver.tolerance / (2.0 * eta)).clamp(0.1, 0.5);
                }
            }
        }
        solver.best_eta
    }

    /// From `r` until the solver is to stop.
    pub fn run<const D: usize>(
        &mut self,
        solver: &mut SolverState<'_, D>,
        r: &mut [[f64; D]],
    ) -> Stop {
        loop {
            if let Some(stop) = solver.stop() {
                return stop;
            }
            self.sweeps(solver, r, 500);
            if squared_norm(r) > 1e20 {
                return Stop::Diverging;
            }
        }
    }
}

/// Nonsmooth Gauss–Seidel to the end.
pub(crate) fn solve<const D: usize>(
    solver: &mut SolverState<'_, D>,
    omega: f64,
    order: Order,
) -> Stop {
    let mut r = solver.best.clone();
    Sweeper::new(omega, order).run(solver, &mut r)
}
