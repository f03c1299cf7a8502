//! The method that chooses: first-order bursts, and Newton when counted work says that it pays.
//!
//! Nothing here looks at a clock: the same problem takes the same path everywhere.

use super::functions::NewtonFunction;
use super::gradient::{self, Gradient};
use super::measure::{ContactState, state};
use super::modes;
use super::nsgs::{Order, Sweeper};
use super::proximal::{Newton, Weight};
use super::scaled::total;
use super::search::{Search, Stop};
use super::separate::Separate;
use super::splitting::admm_while;

/// First-order methods that take turns.
const ARMS: usize = 3;
/// From this many times the work of ten Newton steps on each method goes its own way from zero, too.
const APART: f64 = 3.0;

/// One first-order method with its own point.
struct Arm<const D: usize> {
    method: Method<D>,
    eta: f64,
    /// Decrease of `ln η` per operation in the last burst.
    rate: f64,
    bursts: u32,
}

enum Method<const D: usize> {
    Sweeps(Sweeper, Vec<[f64; D]>),
    Gradient(Box<Gradient<D>>),
}

impl<const D: usize> Arm<D> {
    fn new(method: Method<D>, eta: f64) -> Self {
        Self {
            method,
            eta,
            rate: f64::INFINITY,
            bursts: 0,
        }
    }

    fn burst(&mut self, search: &mut Search<'_, D>, count: u64) {
        let (work, before) = (search.work, self.eta);
        self.eta = match &mut self.method {
            Method::Sweeps(sweeper, r) => sweeper.burst(search, r, count),
            Method::Gradient(gradient) => gradient.burst(search, count),
        };
        let spent = (search.work - work).max(1.0);
        let gain = (before / self.eta).ln();
        self.rate = if gain.is_finite() { gain / spent } else { -1.0 };
        self.bursts += 1;
    }

    /// Starts from the best point where that is much better than its own.
    fn catch_up(&mut self, search: &mut Search<'_, D>) {
        if search.best_eta * 3.0 < self.eta || !self.eta.is_finite() {
            let best = search.best.clone();
            match &mut self.method {
                Method::Sweeps(_, r) => r.copy_from_slice(&best),
                Method::Gradient(gradient) => gradient.restart(search, &best),
            }
            self.eta = search.best_eta;
        }
    }
}

/// Open, stick or slip, of every contact at the best point.
fn states<const D: usize>(search: &mut Search<'_, D>) -> Vec<ContactState> {
    let p = search.p;
    let best = search.best.clone();
    p.velocity(&best, &mut search.u);
    search.work += p.product_work();
    (0..p.contacts())
        .map(|i| state(&best[i], &search.u[i], 1.0, p.mu[i], p.rolling[i]))
        .collect()
}

/// A point of this length has run away: the data are of the order of 1.
const RUNAWAY: f64 = 1e10;

/// Solves one connected problem: the methods take turns, each from the best point of all; where that does not end soon, half of the
/// work goes to each of them alone, because the best point may be one that none of them gets away from.
pub(crate) fn solve<const D: usize>(search: &mut Search<'_, D>) -> Stop {
    if let Some(stop) = search.stop() {
        return stop;
    }
    let start = search.best.clone();
    let mut first = Arm::new(
        Method::Sweeps(Sweeper::new(1.0, Order::Forward), start.clone()),
        search.best_eta,
    );
    // Where sweeps led here, two more tell how fast they go.
    first.burst(search, if search.iterations >= 10 { 2 } else { 10 });
    if let Some(stop) = search.stop().or_else(|| one_contact(search)) {
        return stop;
    }
    let mut turns = Turns::new(search, first, &start);
    let mut separate = Separate::new(search.p.contacts());
    let mut due = APART * turns.newton_cost;
    loop {
        if let Some(stop) = turns.next(search) {
            return stop;
        }
        if search.work < due && total(&search.best) <= RUNAWAY * RUNAWAY {
            continue;
        }
        // η is relative: a point that runs away can look better than all others, and lead them astray.
        while total(&search.best) > RUNAWAY * RUNAWAY {
            search.forget();
            if let Some(stop) = separate.run(search, search.work) {
                return stop;
            }
        }
        if let Some(stop) = separate.run(search, search.work) {
            return stop;
        }
        due = 2.0 * search.work;
    }
}

/// Methods that take turns and share the best point.
struct Turns<const D: usize> {
    arms: [Arm<D>; ARMS],
    newton: Newton<D>,
    /// Operations of ten Newton steps.
    newton_cost: f64,
    /// Operations of ADMM where it converges well.
    splitting_cost: f64,
    variants: [(NewtonFunction, Weight); 2],
    variant: usize,
    newton_work: f64,
    /// Work before which Newton is not tried again.
    wait_until: f64,
    tries: u32,
    /// Iterations of the next burst.
    length: f64,
    /// Whether ADMM has been tried.
    split: bool,
    known: Vec<ContactState>,
    round: u32,
}

impl<const D: usize> Turns<D> {
    fn new(search: &mut Search<'_, D>, first: Arm<D>, start: &[[f64; D]]) -> Self {
        let gradient = Gradient::new(search, start);
        let mut arms: [Arm<D>; ARMS] = [
            first,
            Arm::new(Method::Gradient(Box::new(gradient)), search.best_eta),
            Arm::new(
                Method::Sweeps(Sweeper::new(1.0, Order::Symmetric), start.to_vec()),
                f64::INFINITY,
            ),
        ];
        arms[1].catch_up(search);
        arms[1].burst(search, 20);
        let mut newton = Newton::default();
        let newton_cost = 10.0 * newton.predict(search);
        let iteration = 4.0 * search.p.product_work() + (40 * D * search.p.contacts()) as f64;
        let mut turns = Self {
            arms,
            newton,
            newton_cost,
            // One factorisation and some sixty iterations.
            splitting_cost: 0.1 * newton_cost + 60.0 * iteration,
            variants: [
                (NewtonFunction::NaturalMap, Weight::new(1e-3)),
                (NewtonFunction::AlartCurnier, Weight::new(1e-3)),
            ],
            variant: 0,
            newton_work: 0.0,
            wait_until: 0.0,
            tries: 0,
            length: 16.0,
            split: false,
            known: states(search),
            round: 0,
        };
        let (rate, remaining) = outlook(search, &turns.arms);
        if turns.pays_to_split(remaining) {
            turns.split(search, rate);
        }
        turns
    }

    /// One factorisation and a few solves may do before Newton's many, and at once where Newton's cost more than the sweeps but
    /// these do not.
    fn pays_to_split(&self, remaining: f64) -> bool {
        remaining < self.newton_cost && remaining > self.splitting_cost
    }

    fn split(&mut self, search: &mut Search<'_, D>, rate: f64) {
        self.split = true;
        admm_while(search, rate);
    }

    /// A burst of one first-order method, and Newton's where that pays.
    fn next(&mut self, search: &mut Search<'_, D>) -> Option<Stop> {
        self.round += 1;
        let (chosen, exploring) = choose(&self.arms, self.round);
        self.arms[chosen].catch_up(search);
        let count = if exploring { 0.5 } else { 1.0 } * self.length;
        let passes = if chosen == 2 { 0.5 } else { 1.0 };
        self.arms[chosen].burst(search, ((count * passes) as u64).max(1));
        for (k, arm) in self.arms.iter_mut().enumerate() {
            // What an arm did at the beginning says less and less.
            if k != chosen && arm.rate.is_finite() {
                arm.rate *= 0.7;
            }
        }
        self.length = (self.length * 1.6).min(3000.0);
        if let Some(stop) = search.stop() {
            return Some(stop);
        }
        let now = states(search);
        let changed = now.iter().zip(&self.known).filter(|(a, b)| a != b).count();
        self.known = now;
        let settled = changed * 100 < 3 * self.known.len() || self.round >= 3;
        let (rate, remaining) = outlook(search, &self.arms);
        let worthwhile = settled && remaining > 0.3 * self.newton_cost;
        if !self.split && (worthwhile || self.pays_to_split(remaining)) {
            self.split(search, rate);
            if let Some(stop) = search.stop() {
                return Some(stop);
            }
        }
        let pays = remaining.is_nan() || remaining >= self.newton_cost;
        if settled && pays {
            self.newton_while(search, rate);
        }
        search.stop()
    }

    /// Newton's methods in turn, as long as they have not had more than their share.
    fn newton_while(&mut self, search: &mut Search<'_, D>, rate: f64) {
        while search.work >= self.wait_until
            && (self.newton_work <= 0.6 * search.work || self.tries == 0)
            && search.stop().is_none()
        {
            let (work, before) = (search.work, search.best_eta);
            let (function, weight) = &mut self.variants[self.variant % 2];
            let budget = (30.0 * 1.5_f64.powi(self.tries.min(20) as i32)) as u64;
            let stop = self.newton.proximal(search, *function, weight, budget);
            if search.solved() {
                return;
            }
            if stop == Stop::Stalled {
                let first = self.tries.is_multiple_of(2);
                *weight = Weight::new(if first { 1e-5 } else { 1e-3 });
            }
            let spent = search.work - work;
            self.newton_work += spent;
            self.tries += 1;
            // As long as it gains more per operation than the others, it goes on.
            let gain = (before / search.best_eta).ln() / spent.max(1.0);
            if gain <= rate || stop == Stop::Stalled {
                self.variant += 1;
                self.wait_until = search.work + 0.7 * spent;
            }
        }
    }
}

/// Of one contact in two or three components all solutions are known.
fn one_contact<const D: usize>(search: &mut Search<'_, D>) -> Option<Stop> {
    let solutions = match search.p.q.as_slice() {
        [q] => modes::of_contact(search.p.w.diagonal(0), q, search.p.mu[0])?,
        _ => return None,
    };
    search.work += 1000.0;
    for r in &solutions {
        search.evaluate(&[*r]);
    }
    search.stop()
}

/// The best rate of the arms, and the operations that are left at that rate.
fn outlook<const D: usize>(search: &Search<'_, D>, arms: &[Arm<D>; ARMS]) -> (f64, f64) {
    let rates = arms.iter().map(|arm| arm.rate).filter(|r| r.is_finite());
    let rate = rates.fold(0.0_f64, f64::max);
    (rate, (search.best_eta / search.tolerance).ln() / rate)
}

/// The arm with the best rate; now and then another, unless it is hopelessly slower, so that a change is noticed.
/// Second: whether this is such an exploration.
fn choose<const D: usize>(arms: &[Arm<D>; ARMS], round: u32) -> (usize, bool) {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| arms[b].rate.min(1e300).total_cmp(&arms[a].rate.min(1e300)));
    // The symmetric sweeps have not been tried yet: they wait for their turn.
    let fresh = arms[2].bursts == 0;
    let mut ranked = order.into_iter().filter(|&k| !(fresh && k == 2));
    let best = ranked.next().unwrap_or(0);
    let second = ranked.next().unwrap_or(best);
    match round {
        2 => (second, true),
        5 | 10 | 14 if arms[second].rate > 0.5 * arms[best].rate => (second, true),
        _ if round.is_multiple_of(9) => (2, true),
        _ if round.is_multiple_of(7) => (second, true),
        _ => (best, false),
    }
}
