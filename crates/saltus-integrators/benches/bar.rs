//! Time of a step of a linear elastic bar per element, from hundreds to a million elements, beside the bound that no
//! implicit step beats: one tridiagonal solve and one pass over a vector. `cargo bench -p saltus-integrators --bench
//! bar [largest number of elements]`.
#![allow(clippy::unwrap_used)]

use saltus_integrators::{
    Integrator, MoreauJean, MoreauJeanOptions, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions,
};
use saltus_system::State;
use saltus_zoo::ElasticBar;
use std::hint::black_box;
use std::time::Instant;

/// Makes a fresh integrator.
type Make<'a> = &'a dyn Fn() -> Box<dyn Integrator>;

/// Elements times steps of a measurement.
const WORK: usize = 20_000_000;

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

fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// Thomas' algorithm with the factors at hand, out of place, and `y ← y + a x`: ns per row.
fn bound(n: usize) -> f64 {
    let (below, reciprocal, b) = (vec![0.3; n], vec![0.9; n], vec![1.0; n]);
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
    let repeat = (WORK / n).max(3);
    best(|| {
        let start = Instant::now();
        for _ in 0..repeat {
            let mut carry = 0.0;
            for ((x, b), l) in x.iter_mut().zip(black_box(&b)).zip(&below) {
                carry = b - l * carry;
                *x = carry;
            }
            let mut carry = 0.0;
            for ((x, r), l) in x.iter_mut().zip(&reciprocal).zip(&below).rev() {
                carry = *x * r - l * carry;
                *x = carry;
            }
            for (y, x) in y.iter_mut().zip(black_box(&x)) {
                *y += 0.5 * x;
            }
            black_box(&mut y);
        }
        start.elapsed().as_secs_f64() * 1e9 / (repeat * n) as f64
    })
}

/// ns per step and element, and corrections per step, over a run that begins `gap` before the wall.
fn step(scheme: Make<'_>, elements: usize, gap: f64) -> (f64, f64) {
    let system = ElasticBar::of_elements(elements);
    // Courant number 1.2, as the peer; a wave is under way in the bar.
    let h = 1.2 * (10.0 / elements as f64) / 30.0;
    let steps = (WORK / elements).clamp(10, 2000);
    let (mut corrections, mut taken) = (0, 0);
    let mut method = scheme();
    let mut state = State::new(0.0, vec![gap; system.nodes], vec![-10.0; system.nodes]);
    method.prepare(&system, &state, h).unwrap();
    let time = best(|| {
        let start = Instant::now();
        for k in 0..steps {
            let end = state.t + h;
            let report = method.step(&system, &mut state, h, end).unwrap();
            corrections += report.iterations;
            taken += 1;
            black_box(k);
        }
        start.elapsed().as_secs_f64()
    });
    (
        time * 1e9 / (steps * elements) as f64,
        f64::from(corrections) / f64::from(taken),
    )
}

fn main() {
    let most: usize = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(1_000_000);
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
    println!("elements  scheme              ns/step/element   over bound  corrections  peak MB");
    for elements in [200, 1_000, 5_000, 10_000, 100_000, 1_000_000] {
        if elements > most {
            break;
        }
        let bound = bound(elements);
        println!("{elements:8}  bound               {bound:15.2}");
        for (name, scheme) in schemes {
            for (what, gap) in [("contact", 0.0), ("flight", 1e6)] {
                let (time, corrections) = step(scheme, elements, gap);
                println!(
                    "{elements:8}  {:19} {time:15.2}   {:10.2}  {corrections:11.2}  {:7.0}",
                    format!("{name} {what}"),
                    time / bound,
                    peak()
                );
            }
        }
    }
}
