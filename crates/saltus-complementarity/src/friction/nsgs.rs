//! Nonsmooth Gauss–Seidel: one exact contact after the other (Jean, *CMAME* 177 (1999); Jourdan, Alart & Jean,
//! *CMAME* 155 (1998)).

use super::local::{self, LocalSolver};
use super::scaled::{Scaled, total};
use super::search::{Search, Stop};
use crate::block::BlockMatrix;
use crate::cone::project;

/// In which order a sweep visits the contacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As numbered.
    #[default]
    Forward,
    /// From the last to the first.
    Backward,
    /// Forward, then backward.
    Symmetric,
    /// A new random order for each sweep, from this seed.
    Random(u64),
}

/// What a sweep needs to know of a problem, scaled or not.
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

    /// Visits contact `i`; returns the square of its change.
    #[inline]
    pub fn visit(
        &self,
        r: &mut [[f64; D]],
        i: usize,
        (omega, method): (f64, LocalSolver),
        work: &mut f64,
    ) -> f64 {
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
        let Some(mut new) = local::solve(w, &b, mu, rolling, &old, (method, work)) else {
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

/// Counted operations of one sweep: those of a product, each of which has to wait for the one before, and the contacts.
pub(crate) fn sweep_work<const D: usize>(p: &Scaled<D>) -> f64 {
    2.0 * p.product_work() + (100 * D * p.contacts()) as f64
}

/// Sweeps and remembers when to look at the residual.
#[derive(Debug, Clone)]
pub(crate) struct Sweeper {
    omega: f64,
    local: LocalSolver,
    order: Order,
    /// Only a change below this makes a look at the residual worthwhile.
    threshold: f64,
    shuffle: Vec<usize>,
    state: u64,
}

impl Sweeper {
    pub fn new(omega: f64, order: Order) -> Self {
        let state = if let Order::Random(seed) = order {
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
        } else {
            1
        };
        Self {
            omega,
            local: LocalSolver::Exact,
            order,
            threshold: f64::INFINITY,
            shuffle: Vec::new(),
            state,
        }
    }

    /// With another local solver.
    pub fn with(mut self, local: LocalSolver) -> Self {
        self.local = local;
        self
    }

    /// At most `count` sweeps from `r`; leaves early when solved. Returns η at the end.
    pub fn burst<const D: usize>(
        &mut self,
        search: &mut Search<'_, D>,
        r: &mut [[f64; D]],
        count: u64,
    ) -> f64 {
        let p = search.p;
        let n = p.contacts();
        let count = count.min(search.left());
        if self.threshold.is_infinite() {
            self.threshold = search.tolerance;
        }
        let mut look = 10;
        let how = (self.omega, self.local);
        let contacts = Contacts::of(p);
        for sweep in 1..=count {
            let (mut change, mut local_work) = (0.0, 0.0);
            match self.order {
                Order::Forward => {
                    for i in 0..n {
                        change += contacts.visit(r, i, how, &mut local_work);
                    }
                }
                Order::Backward => {
                    for i in (0..n).rev() {
                        change += contacts.visit(r, i, how, &mut local_work);
                    }
                }
                Order::Symmetric => {
                    for i in (0..n).chain((0..n).rev()) {
                        change += contacts.visit(r, i, how, &mut local_work);
                    }
                    search.work += sweep_work(p);
                }
                Order::Random(_) => {
                    self.mix(n);
                    for &i in &self.shuffle {
                        change += contacts.visit(r, i, how, &mut local_work);
                    }
                }
            }
            search.iterations += 1;
            search.work += sweep_work(p) + local_work;
            let due = sweep == look;
            if due {
                look += look.min(500);
            }
            if change.sqrt() <= self.threshold || due || sweep == count {
                let eta = search.evaluate(r);
                if search.stop().is_some() || sweep == count || !eta.is_finite() {
                    return eta;
                }
                if change.sqrt() <= self.threshold {
                    self.threshold *= (search.tolerance / (2.0 * eta)).clamp(0.1, 0.5);
                }
            }
        }
        search.best_eta
    }

    /// From `r` until the search is to stop.
    pub fn run<const D: usize>(&mut self, search: &mut Search<'_, D>, r: &mut [[f64; D]]) -> Stop {
        loop {
            if let Some(stop) = search.stop() {
                return stop;
            }
            self.burst(search, r, 500);
            if total(r) > 1e20 {
                return Stop::Diverging;
            }
        }
    }

    /// Fisher–Yates with xorshift.
    fn mix(&mut self, n: usize) {
        if self.shuffle.len() != n {
            self.shuffle = (0..n).collect();
        }
        for i in (1..n).rev() {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            self.shuffle.swap(i, (self.state % (i as u64 + 1)) as usize);
        }
    }
}

/// Nonsmooth Gauss–Seidel to the end.
pub(crate) fn solve<const D: usize>(
    search: &mut Search<'_, D>,
    omega: f64,
    order: Order,
    local: LocalSolver,
) -> Stop {
    let mut r = search.best.clone();
    Sweeper::new(omega, order).with(local).run(search, &mut r)
}
