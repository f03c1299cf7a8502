//! Time of a step of a linear elastic bar per element, from hundreds to a million elements, beside the bound that no
//! implicit step beats: one tridiagonal solve and one pass over a vector. Time on the processor; step and bound are
//! measured in turns and the least of several rounds counts. `cargo bench -p saltus-integrators --bench bar [least and
//! largest number of elements] [part of a line's title]`.
#![allow(clippy::unwrap_used)]

use saltus_integrators::{
    Integrator, MoreauJean, MoreauJeanOptions, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions,
};
use saltus_system::State;
use saltus_zoo::ElasticBar;
use std::hint::black_box;
use std::time::Duration;

/// Makes a fresh integrator.
type Make<'a> = &'a dyn Fn() -> Box<dyn Integrator>;

/// Elements times steps of a measurement.
const WORK: usize = 20_000_000;

/// Measurements of which the least counts.
const ROUNDS: usize = 7;

/// Largest memory of this process so far \[MB\].
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1024.0
}

/// Time this thread has spent on a processor: other jobs do not count.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let first = text.split_whitespace().next().unwrap();
    Duration::from_nanos(first.parse().unwrap())
}

/// ns per piece of work.
fn timed(work: usize, mut run: impl FnMut()) -> f64 {
    let before = cpu();
    run();
    (cpu() - before).as_secs_f64() * 1e9 / work as f64
}

/// Thomas' algorithm with the factors at hand, out of place, and `y ← y + a x`.
struct Bound {
    below: Vec<f64>,
    reciprocal: Vec<f64>,
    b: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Bound {
    fn new(n: usize) -> Self {
        Self {
            below: vec![0.3; n],
            reciprocal: vec![0.9; n],
            b: vec![1.0; n],
            x: vec![0.0; n],
            y: vec![0.0; n],
        }
    }

    fn run(&mut self) {
        let mut carry = 0.0;
        for ((x, b), l) in (self.x.iter_mut().zip(black_box(&self.b))).zip(&self.below) {
            carry = b - l * carry;
            *x = carry;
        }
        let mut carry = 0.0;
        for ((x, r), l) in (self.x.iter_mut().zip(&self.reciprocal))
            .zip(&self.below)
            .rev()
        {
            carry = *x * r - l * carry;
            *x = carry;
        }
        for (y, x) in self.y.iter_mut().zip(black_box(&self.x)) {
            *y += 0.5 * x;
        }
        black_box(&mut self.y);
    }
}

/// What a scheme needs.
struct Measured {
    /// ns per step and element.
    time: f64,
    /// The bound in the same units.
    bound: f64,
    /// Corrections per step.
    corrections: f64,
}

/// A run that begins `gap` before the wall.
fn measure(scheme: Make<'_>, elements: usize, gap: f64) -> Measured {
    let system = ElasticBar::of_elements(elements);
    // Courant number 1.2, as the peer; a wave is under way in the bar.
    let h = 1.2 * (10.0 / elements as f64) / 30.0;
    let steps = (WORK / elements).max(10);
    let (mut corrections, mut taken) = (0, 0);
    let mut method = scheme();
    let start = State::new(0.0, vec![gap; system.nodes], vec![-10.0; system.nodes]);
    let mut state = start.clone();
    method.prepare(&system, &state, h).unwrap();
    let mut memory = Vec::new();
    method.save(&mut memory);
    // The bar leaves the wall after the waves have run to its end and back: it begins anew before that.
    let period = elements + elements / 4;
    let mut bound = Bound::new(elements);
    let (mut least, mut least_bound) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        let time = timed(steps * elements, || {
            for k in 0..steps {
                if k % period == 0 {
                    state.clone_from(&start);
                    method.load(&memory);
                }
                let end = state.t + h;
                let report = method.step(&system, &mut state, h, end).unwrap();
                corrections += report.iterations;
                taken += 1;
            }
        });
        least = least.min(time);
        let time = timed(steps * elements, || (0..steps).for_each(|_| bound.run()));
        least_bound = least_bound.min(time);
    }
    Measured {
        time: least,
        bound: least_bound,
        corrections: f64::from(corrections) / f64::from(taken),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes = arguments.iter().filter_map(|a| a.parse::<usize>().ok());
    let (first, second) = (sizes.next(), sizes.next());
    let least = second.and(first).unwrap_or(0);
    let most = second.or(first).unwrap_or(1_000_000);
    let wanted = (arguments.iter()).find(|a| a.parse::<usize>().is_err() && !a.starts_with('-'));
    let moreau = |theta: f64| {
        move || {
            Box::new(
                MoreauJean::new(MoreauJeanOptions {
                    theta: Some(theta),
                    ..Default::default()
                })
                .unwrap(),
            ) as Box<dyn Integrator>
        }
    };
    let alpha = |formulation: NonsmoothFormulation| {
        move || {
            Box::new(
                NonsmoothGeneralizedAlpha::new(NonsmoothGeneralizedAlphaOptions {
                    formulation,
                    ..Default::default()
                })
                .unwrap(),
            ) as Box<dyn Integrator>
        }
    };
    let (half, one) = (moreau(0.5), moreau(1.0));
    let (pvv, pva) = (
        alpha(NonsmoothFormulation::Pvv),
        alpha(NonsmoothFormulation::Pva),
    );
    let schemes: [(&str, Make<'_>); 4] = [
        ("moreau-jean θ=1/2", &half),
        ("moreau-jean θ=1", &one),
        ("gen-α pvv", &pvv),
        ("gen-α pva", &pva),
    ];
    println!(
        "elements  scheme                      ns/step/element  bound  ratio  corrections  peak MB"
    );
    for elements in [200, 1_000, 10_000, 100_000, 1_000_000] {
        if !(least..=most).contains(&elements) {
            continue;
        }
        for (name, scheme) in schemes {
            for (what, gap) in [("contact", 0.0), ("flight", 1e6)] {
                let title = format!("{name} {what}");
                if wanted.is_some_and(|part| !title.contains(part.as_str())) {
                    continue;
                }
                let m = measure(scheme, elements, gap);
                println!(
                    "{elements:8}  {title:27} {:15.2} {:6.2} {:6.2}  {:11.2}  {:7.0}",
                    m.time,
                    m.bound,
                    m.time / m.bound,
                    m.corrections,
                    peak()
                );
            }
        }
    }
}
