//! Orders of convergence: on smooth motion and across impacts, in L¹, averaged over several step lengths per
//! octave because a single sequence of steps meets the impacts in step with itself.

use crate::subjects::{Candidate, model, run, with_orders};
use saltus::analysis::exact::ImpactingMass;
use saltus::analysis::order::fit;
use saltus_integrators::{HalfExplicitMethod, HalfExplicitOptions};
use saltus_system::State;

/// Mean error of each octave, over step numbers that share no factor with each other.
fn order(octaves: &[[u64; 5]], end: f64, error: impl Fn(f64, u64) -> f64) -> f64 {
    let samples: Vec<(f64, f64)> = octaves
        .iter()
        .map(|numbers| {
            let mean =
                |f: &dyn Fn(u64) -> f64| numbers.iter().map(|n| f(*n).ln()).sum::<f64>() / 5.0;
            (
                mean(&|n| end / n as f64).exp(),
                mean(&|n| error(end / n as f64, n)).exp(),
            )
        })
        .collect();
    fit(&samples)
}

const OCTAVES: [[u64; 5]; 4] = [
    [211, 257, 293, 331, 389],
    [431, 503, 577, 673, 787],
    [859, 997, 1153, 1361, 1583],
    [1741, 2003, 2297, 2713, 3163],
];

#[test]
fn order_on_smooth_motion_is_that_of_the_scheme() {
    // Before its first impact the double pendulum is smooth and nonlinear.
    let model = model("double-pendulum");
    let end = 0.3;
    let start = State::new(0.0, vec![1.2, 0.9], vec![0.0, 0.0]);
    let fine = saltus_integrators::Scheme::HalfExplicit(HalfExplicitOptions {
        method: HalfExplicitMethod::Hem4,
        ..HalfExplicitOptions::default()
    });
    let exact = run(&*model.system, &fine, &start, end / 4_000.0, 4_000)
        .pop()
        .unwrap()
        .state;
    for candidate in with_orders() {
        // Beyond order 2 fewer steps do, before round-off is reached.
        let fewer = match candidate.smooth_order {
            order if order > 4.0 => 40,
            order if order > 2.0 => 10,
            _ => 1,
        };
        let octaves = OCTAVES.map(|numbers| numbers.map(|n| n / fewer));
        let error = |h: f64, n: u64| {
            let last = run(&*model.system, &candidate.scheme, &start, h, n)
                .pop()
                .unwrap()
                .state;
            let off = |a: &[f64], b: &[f64]| {
                a.iter()
                    .zip(b)
                    .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()))
            };
            off(&last.q, &exact.q) + off(&last.v, &exact.v)
        };
        if candidate.smooth_order == f64::INFINITY {
            let off = error(end / 20.0, 20);
            println!("{}: {off:.1e}, whatever the step", candidate.name);
            assert!(off < 1e-9, "{}: {off:e}", candidate.name);
            continue;
        }
        let measured = order(&octaves, end, error);
        println!(
            "{}: {measured:.3} (declared {})",
            candidate.name, candidate.smooth_order
        );
        assert!(
            (measured - candidate.smooth_order).abs() < 0.15,
            "{}: {measured}",
            candidate.name
        );
    }
}

#[test]
fn order_across_impacts_is_one() {
    let model = model("linear-oscillator");
    let end = 10.0;
    let exact = ImpactingMass::on_spring(1.0, 0.0, 0.8, 1.0, 0.0, end);
    // Steps that follow impacts do not scale with h.
    let fixed = |c: &Candidate| !c.scheme.build().unwrap().chooses_step();
    for candidate in with_orders().into_iter().filter(fixed) {
        for velocity in [false, true] {
            let error = |h: f64, n: u64| -> f64 {
                run(&*model.system, &candidate.scheme, &model.initial, h, n)
                    .iter()
                    .map(|r| {
                        let (q, v) = exact.at(r.state.t);
                        r.report.h
                            * if velocity {
                                (r.state.v[0] - v).abs()
                            } else {
                                (r.state.q[0] - q).abs()
                            }
                    })
                    .sum()
            };
            if candidate.smooth_order == f64::INFINITY {
                // At the instant of an impact the velocity may be that of either side.
                let off = if velocity { 0.0 } else { error(end / 97.0, 97) };
                println!("{}: {off:.1e}, whatever the step", candidate.name);
                assert!(off < 1e-8, "{}: {off:e}", candidate.name);
                continue;
            }
            let measured = order(&OCTAVES, end, error);
            println!(
                "{}: L1 order of {} {measured:.3}",
                candidate.name,
                if velocity { "v" } else { "q" }
            );
            assert!(measured > 0.85, "{}: {measured}", candidate.name);
        }
    }
}
