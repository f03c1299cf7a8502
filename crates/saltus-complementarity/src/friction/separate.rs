//! Methods that go on alone, each from its own point, whatever the others find.

use super::functions::NewtonFunction;
use super::gradient;
use super::local::LocalSolver;
use super::nsgs::{self, Order};
use super::proximal::{Newton, Weight};
use super::scaled::total;
use super::search::{Search, Stop};
use super::splitting;
use crate::cone::project;

#[derive(Debug, Clone, Copy)]
enum Method {
    Proximal(NewtonFunction),
    Gradient,
    Splitting,
    Sweeps,
}

/// The methods with their shares of the work.
const METHODS: [(Method, f64); 5] = [
    (Method::Proximal(NewtonFunction::NaturalMap), 0.3),
    (Method::Gradient, 0.2),
    (Method::Proximal(NewtonFunction::AlartCurnier), 0.2),
    (Method::Splitting, 0.2),
    (Method::Sweeps, 0.1),
];

/// Weights of the proximal term with which Newton's methods begin, in turn.
const WEIGHTS: [f64; 3] = [1e-2, 1.0, 1e-4];

/// One method with its own point.
#[derive(Debug)]
struct Alone<const D: usize> {
    method: Method,
    share: f64,
    point: Vec<[f64; D]>,
    weight: Weight,
    /// How often it began anew because it made no progress.
    beginnings: usize,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Separate<const D: usize> {
    methods: Vec<Alone<D>>,
    newton: Newton<D>,
    /// Of the points at which they begin anew.
    random: u64,
}

impl<const D: usize> Separate<D> {
    /// All begin at zero.
    pub fn new(contacts: usize) -> Self {
        let each = METHODS.iter().map(|&(method, share)| Alone {
            method,
            share,
            point: vec![[0.0; D]; contacts],
            weight: Weight::new(WEIGHTS[0]),
            beginnings: 0,
        });
        Self {
            methods: each.collect(),
            newton: Newton::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Spends `work` on them; the best point of the search becomes theirs only where it is better.
    pub fn run(&mut self, search: &mut Search<'_, D>, work: f64) -> Option<Stop> {
        let total_work = search.limits.max_work;
        for alone in &mut self.methods {
            let (best, eta) = (search.best.clone(), search.best_eta);
            search.limits.max_work = total_work.min(search.work + alone.share * work);
            let end = alone.go_on(search, &mut self.newton);
            search.limits.max_work = total_work;
            alone.point.copy_from_slice(&search.best);
            // NaN is not better.
            if search.best_eta < eta {
                if let Some(stop) = search.stop() {
                    return Some(stop);
                }
            } else {
                search.best = best;
                search.best_eta = eta;
            }
            if matches!(end, Stop::Stalled | Stop::Diverging) || total(&alone.point) > 1e20 {
                alone.begin_anew(search, &mut self.random);
            }
            if let Some(stop) = search.stop() {
                return Some(stop);
            }
        }
        None
    }
}

impl<const D: usize> Alone<D> {
    fn go_on(&mut self, search: &mut Search<'_, D>, newton: &mut Newton<D>) -> Stop {
        search.best.copy_from_slice(&self.point);
        search.best_eta = f64::INFINITY;
        let point = std::mem::take(&mut self.point);
        search.evaluate(&point);
        self.point = point;
        match self.method {
            Method::Proximal(function) => {
                let budget = search.left();
                newton.proximal(search, function, &mut self.weight, budget)
            }
            Method::Gradient => gradient::solve(search),
            Method::Splitting => splitting::admm(search),
            Method::Sweeps => nsgs::solve(search, 1.0, Order::Forward, LocalSolver::Exact),
        }
    }

    /// A pseudo-random point in the cones, of the size of the data or larger.
    fn begin_anew(&mut self, search: &Search<'_, D>, random: &mut u64) {
        self.beginnings += 1;
        self.weight = Weight::new(WEIGHTS[self.beginnings % WEIGHTS.len()]);
        let size = 10.0_f64.powi((self.beginnings % 3) as i32) / (self.point.len() as f64).sqrt();
        for (i, r) in self.point.iter_mut().enumerate() {
            for v in r.iter_mut() {
                *random ^= *random << 13;
                *random ^= *random >> 7;
                *random ^= *random << 17;
                *v = size * ((*random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
            }
            r[0] = r[0].abs();
            *r = project(r, search.p.mu[i], search.p.rolling[i]).0;
        }
    }
}
