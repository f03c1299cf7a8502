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
use super::splitting::admm_while;

/// First-order methods that take turns.
const ARMS: usize = 3;
/// Round from which a new beginning is worth its work.
const AFRESH: u32 = 8;
/// Without progress in this share of the work, which has to be this many times that of ten Newton steps, there is nothing to hope
/// for.
const IDLE: f64 = 0.7;
const PATIENCE: f64 = 300.0;
/// What counts as progress: `η` is this many times smaller.
const PROGRESS: f64 = 1.1;

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

/// Solves one connected problem.
pub(crate) fn solve<const D: usize>(search: &mut Search<'_, D>) -> Stop {
    match compete(search) {
        // η is relative: a point that runs away can look better than all others, and lead them astray. The
        // method whose steps the curvature bounds goes on alone.
        Stop::Diverging => {
            search.forget();
            let mut newton = Newton::default();
            let predicted = 10.0 * newton.predict(search);
            if let Some(stop) = begin_anew(search, 500, &mut newton) {
                return stop;
            }
            let mut progress = Progress::new(search, predicted);
            gradient::solve_while(search, |search| progress.goes_on(search))
        }
        stop => stop,
    }
}

/// Of one contact in two or three components all solutions are known. Where there are none, the others get one try: a solution
/// within rounding may have been missed.
fn one_contact<const D: usize>(search: &mut Search<'_, D>) -> Option<Stop> {
    let solutions = match search.p.q.as_slice() {
        [q] => modes::of_contact(search.p.w.diagonal(0), q, search.p.mu[0])?,
        _ => return None,
    };
    search.work += 1000.0;
    for r in &solutions {
        search.evaluate(&[*r]);
    }
    if solutions.is_empty() {
        let stop = begin_anew(search, 500, &mut Newton::default());
        return Some(stop.unwrap_or(Stop::Stalled));
    }
    search.stop()
}

/// Whether there is something to hope for.
struct Progress {
    /// Least work before which it is not asked.
    patience: f64,
    eta: f64,
    /// Work when that was reached.
    work: f64,
}

impl Progress {
    fn new<const D: usize>(search: &Search<'_, D>, predicted: f64) -> Self {
        Self {
            patience: PATIENCE * predicted,
            eta: search.best_eta,
            work: search.work,
        }
    }

    fn goes_on<const D: usize>(&mut self, search: &Search<'_, D>) -> bool {
        if self.eta >= PROGRESS * search.best_eta {
            (self.eta, self.work) = (search.best_eta, search.work);
        }
        search.work < self.patience || search.work - self.work < IDLE * search.work
    }
}

/// Lets the methods take turns.
fn compete<const D: usize>(search: &mut Search<'_, D>) -> Stop {
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
    if let Some(stop) = search.stop() {
        return stop;
    }
    if let Some(stop) = one_contact(search) {
        return stop;
    }
    let gradient = Gradient::new(search, &start);
    let eta = search.best_eta;
    let mut arms: [Arm<D>; ARMS] = [
        first,
        Arm::new(Method::Gradient(Box::new(gradient)), eta),
        Arm::new(
            Method::Sweeps(Sweeper::new(1.0, Order::Symmetric), start),
            f64::INFINITY,
        ),
    ];
    arms[1].catch_up(search);
    arms[1].burst(search, 20);
    let mut newton = Newton::default();
    let predicted = 10.0 * newton.predict(search);
    // One factorisation and some sixty iterations: what ADMM needs where it converges well.
    let splitting_predicted = 0.1 * predicted
        + 60.0 * (4.0 * search.p.product_work() + (40 * D * search.p.contacts()) as f64);
    // One factorisation and a few solves may do before Newton's many, and at once where Newton's cost more than
    // the sweeps but these do not.
    let pays_to_split = |remaining: f64| remaining < predicted && remaining > splitting_predicted;
    let (rate, remaining) = outlook(search, &arms);
    let mut split = pays_to_split(remaining);
    if split {
        admm_while(search, rate);
    }
    let (mut newton_work, mut wait_until) = (0.0, 0.0);
    let mut tries = 0_u32;
    let mut variants = [
        (NewtonFunction::NaturalMap, Weight::new(1e-3)),
        (NewtonFunction::AlartCurnier, Weight::new(1e-3)),
    ];
    let mut variant = 0;
    let mut length = 16.0_f64;
    let mut afresh = false;
    let mut known = states(search);
    let mut progress = Progress::new(search, predicted);
    for round in 1_u32.. {
        if let Some(stop) = search.stop() {
            return stop;
        }
        if !progress.goes_on(search) && afresh {
            return from_the_cases(search, &mut newton).unwrap_or(Stop::Stalled);
        }
        if total(&search.best) > 1e20 {
            return Stop::Diverging;
        }
        if round >= AFRESH && !afresh && search.work >= 6.0 * predicted {
            afresh = true;
            let gradient = length as u64;
            if let Some(stop) = begin_anew(search, gradient, &mut newton) {
                return stop;
            }
        }
        let (chosen, exploring) = choose(&arms, round);
        arms[chosen].catch_up(search);
        let count = if exploring { 0.5 * length } else { length };
        let passes = if chosen == 2 { 0.5 } else { 1.0 };
        arms[chosen].burst(search, ((count * passes) as u64).max(1));
        for (k, arm) in arms.iter_mut().enumerate() {
            // What an arm did at the beginning says less and less.
            if k != chosen && arm.rate.is_finite() {
                arm.rate *= 0.7;
            }
        }
        length = (length * 1.6).min(3000.0);
        if let Some(stop) = search.stop() {
            return stop;
        }
        let now = states(search);
        let changed = now.iter().zip(&known).filter(|(a, b)| a != b).count();
        known = now;
        let settled = changed * 100 < 3 * known.len() || round >= 3;
        let (rate, remaining) = outlook(search, &arms);
        let pays = remaining.is_nan() || remaining >= predicted;
        if !split && (pays_to_split(remaining) || settled && remaining > 0.3 * predicted) {
            split = true;
            admm_while(search, rate);
            if let Some(stop) = search.stop() {
                return stop;
            }
        }
        while settled
            && pays
            && search.work >= wait_until
            && (newton_work <= 0.6 * search.work || tries == 0)
        {
            let (work, before) = (search.work, search.best_eta);
            let (function, weight) = &mut variants[variant % 2];
            let budget = (30.0 * 1.5_f64.powi(tries.min(20) as i32)) as u64;
            let stop = newton.proximal(search, *function, weight, budget);
            if let Some(stop) = search.stop() {
                return stop;
            }
            if stop == Stop::Stalled {
                *weight = Weight::new(if tries.is_multiple_of(2) { 1e-5 } else { 1e-3 });
            }
            let spent = search.work - work;
            newton_work += spent;
            tries += 1;
            // As long as it gains more per operation than the others, it goes on.
            let gain = (before / search.best_eta).ln() / spent.max(1.0);
            if gain <= rate || stop == Stop::Stalled {
                variant += 1;
                wait_until = search.work + 0.7 * spent;
            }
        }
    }
    Stop::Iterations
}

/// The best rate of the arms, and the operations that are left at that rate.
fn outlook<const D: usize>(search: &Search<'_, D>, arms: &[Arm<D>; ARMS]) -> (f64, f64) {
    let rates = arms.iter().map(|arm| arm.rate).filter(|r| r.is_finite());
    let rate = rates.fold(0.0_f64, f64::max);
    (rate, (search.best_eta / search.tolerance).ln() / rate)
}

/// All may be held where the first sweeps led: tries `count` gradient steps and Newton's method from zero, and keeps the best
/// point of before unless they find a better one.
fn begin_anew<const D: usize>(
    search: &mut Search<'_, D>,
    count: u64,
    newton: &mut Newton<D>,
) -> Option<Stop> {
    aside(search, |search| {
        let zero = search.best.clone();
        Gradient::new(search, &zero).burst(search, count);
        if !search.solved() {
            search.forget();
            let mut weight = Weight::new(1e-2);
            newton.proximal(search, NewtonFunction::AlartCurnier, &mut weight, 60);
        }
    })
}

/// Runs `method` from zero and keeps the best point of before unless it finds a better one.
fn aside<'a, const D: usize>(
    search: &mut Search<'a, D>,
    method: impl FnOnce(&mut Search<'a, D>),
) -> Option<Stop> {
    let (best, eta) = (search.best.clone(), search.best_eta);
    search.forget();
    method(search);
    if eta < search.best_eta {
        search.best = best;
        search.best_eta = eta;
    }
    search.stop()
}

/// Where the trial of the cases came near a solution: a few sweeps and Newton's method from there.
fn from_the_cases<const D: usize>(
    search: &mut Search<'_, D>,
    newton: &mut Newton<D>,
) -> Option<Stop> {
    let near = search.near()?;
    aside(search, |search| {
        search.evaluate(&near);
        let mut r = near;
        Sweeper::new(1.0, Order::Forward).burst(search, &mut r, 50);
        let mut weight = Weight::new(1e-2);
        newton.proximal(search, NewtonFunction::AlartCurnier, &mut weight, 60);
    })
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
