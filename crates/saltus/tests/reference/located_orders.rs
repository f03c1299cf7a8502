//! Orders and energies across impacts that are located inside the step, beside captured ones.

use crate::alpha_located::{Run, located, run};
use crate::event_driven::Motion;
use crate::rocking::{Angle, Rocking};
use crate::run::record;
use saltus::analysis::order;
use saltus_integrators::{
    Impacts, MoreauJeanOptions, NonsmoothGeneralizedAlphaOptions, Scheme, Variant,
};
use saltus_system::{State, System};
use saltus_zoo::{Ball, BouncingPendulum, RockingBlock, oscillator};
use std::f64::consts::{FRAC_PI_4, PI};

/// Three numbers of steps in each of five octaves.
const STEPS: [u64; 15] = [
    211, 269, 337, 421, 541, 673, 853, 1087, 1361, 1709, 2153, 2719, 3433, 4327, 5449,
];

/// Three schemes: located, captured, Moreau–Jean.
fn schemes() -> [(&'static str, Scheme); 3] {
    let captured = NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Captured,
        ..located(0.8)
    };
    let moreau = MoreauJeanOptions {
        theta: Some(0.5),
        variant: Variant::Standard,
        ..MoreauJeanOptions::default()
    };
    [
        ("located", Scheme::NonsmoothGeneralizedAlpha(located(0.8))),
        ("captured", Scheme::NonsmoothGeneralizedAlpha(captured)),
        ("Moreau-Jean", Scheme::MoreauJean(moreau)),
    ]
}

/// Largest errors of positions and of velocities at the end.
fn errors(
    system: &dyn System,
    scheme: &Scheme,
    start: &State,
    (h, n): (f64, u64),
    exact: &State,
) -> [f64; 2] {
    let rows = record(system, scheme, start, h, n);
    let end = &rows[rows.len() - 1];
    let off = |a: &[f64], b: &[f64]| {
        let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, f64::max)
    };
    [off(&end.q, &exact.q), off(&end.v, &exact.v)]
}

/// Orders of positions and velocities, the first `coarse` numbers of steps left out; printed beside those of others.
fn orders(
    name: &str,
    system: &dyn System,
    start: &State,
    exact: &State,
    coarse: usize,
) -> [f64; 2] {
    let mut ours = [0.0; 2];
    for (k, (scheme, options)) in schemes().iter().enumerate() {
        let samples: Vec<(f64, [f64; 2])> = STEPS[coarse..]
            .iter()
            .map(|&n| {
                let h = (exact.t - start.t) / n as f64;
                (h, errors(system, options, start, (h, n), exact))
            })
            .collect();
        let fit = |i: usize| order::fit(&samples.iter().map(|s| (s.0, s.1[i])).collect::<Vec<_>>());
        let (h, last) = samples[samples.len() - 1];
        println!(
            "{name}, {scheme}: orders {:.2} {:.2}, errors {:.1e} {:.1e} at h = {h:.1e}",
            fit(0),
            fit(1),
            last[0],
            last[1]
        );
        if k == 0 {
            ours = [fit(0), fit(1)];
        }
    }
    ours
}

fn second(name: &str, orders: [f64; 2]) {
    assert!(orders.iter().all(|p| *p >= 1.9), "{name}: {orders:?}");
}

#[test]
fn an_oscillator_over_a_floor_has_order_two_across_impacts() {
    let system = oscillator(1.0, 1.0, -0.3, 0.9);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let exact = Motion::new(&system, &start, 12.0, 1e-3);
    assert_eq!(exact.impacts.len(), 3);
    let end = State {
        t: 12.0,
        ..exact.at(12.0)
    };
    second("oscillator", orders("oscillator", &system, &start, &end, 0));
}

#[test]
fn a_pendulum_at_a_wall_has_order_two_across_impacts() {
    let system = BouncingPendulum::default();
    let start = State::new(0.0, system.at(PI / 12.0), vec![0.0; 3]);
    let swing = |until| Angle::of_pendulum(&system, PI / 12.0, Some(-FRAC_PI_4), until);
    let impacts = swing(4.0).impacts;
    // Halfway between the fourth impact and the fifth.
    let until = 0.5 * (impacts[3] + impacts[4]);
    let [theta, omega] = swing(until).end;
    let (s, c) = theta.sin_cos();
    let v = vec![-s * omega, c * omega, omega];
    let end = State::new(until, system.at(theta), v);
    second("pendulum", orders("pendulum", &system, &start, &end, 6));
}

#[test]
fn a_block_that_rocks_on_a_closed_corner_has_order_two() {
    let (width, height) = (0.5, 1.5);
    let system = RockingBlock {
        width,
        height,
        inertia: (width * width + height * height) / 12.0,
        restitution: 0.0,
        ..RockingBlock::default()
    };
    let until = 0.36;
    let exact = Rocking::new(&system, 0.1, until);
    assert_eq!(exact.impacts.len(), 2);
    let y = |theta: f64| 0.5 * height * theta.cos() + 0.5 * width * theta.sin().abs();
    let rate = |[theta, omega]: [f64; 2]| {
        let side = theta.signum();
        (-0.5 * height * theta.sin() + side * 0.5 * width * theta.cos()) * omega
    };
    let start = State::new(0.0, vec![0.0, y(0.1), 0.1], vec![0.0; 3]);
    let [theta, omega] = exact.end;
    let end = State::new(
        until,
        vec![0.0, y(theta), theta],
        vec![0.0, rate(exact.end), omega],
    );
    second(
        "rocking block",
        orders("rocking block", &system, &start, &end, 0),
    );
}

#[test]
fn an_elastic_ball_keeps_its_energy_over_a_hundred_bounces() {
    let system = Ball {
        mass: 1.0,
        force: -10.0,
        restitution: 1.0,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let energy = |s: &State| 0.5 * s.v[0] * s.v[0] + 10.0 * s.q[0];
    for rho in [0.0, 0.5, 0.8, 1.0] {
        for (h, steps) in [(0.0503, 1790), (0.0101, 8899)] {
            let run = run(&system, &located(rho), &start, (h, steps), |_, _, _| {});
            let change = energy(&run.state) / 10.0 - 1.0;
            println!(
                "ball, rho_inf {rho}, h = {h}: {change:.1e} after {} impacts",
                run.counts.impacts
            );
            assert!(run.counts.impacts >= 100 && run.counts.fallbacks == 0);
            assert!(change.abs() < 1e-9, "{change:e}");
            for event in &run.events {
                let [before, after] = [event.velocity_before[0], event.velocity_after[0]];
                assert!((before + after).abs() < 1e-12 && event.energy_lost.abs() < 1e-12);
                let after = 0.5 * after * after;
                assert!(
                    event
                        .energy
                        .is_some_and(|e| (e.kinetic - after).abs() < 1e-12 * after)
                );
            }
        }
    }
}

#[test]
fn elastic_impacts_cost_nothing_beyond_what_the_smooth_scheme_loses() {
    let energy = |s: &State| 0.5 * (s.v[0] * s.v[0] + s.q[0] * s.q[0]);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    for (h, steps) in [(0.1013, 3707), (0.05065, 7415)] {
        for rho in [1.0, 0.8, 0.5, 0.0] {
            let lost = |floor: f64| -> (f64, Run) {
                let system = oscillator(1.0, 1.0, floor, 1.0);
                let run = run(&system, &located(rho), &start, (h, steps), |_, _, _| {});
                (energy(&run.state) / energy(&start) - 1.0, run)
            };
            let (with, run) = lost(-0.3);
            let (without, free) = lost(-1e3);
            println!(
                "oscillator, rho_inf {rho}, ωh = {h}: {with:.2e} after {} impacts, {without:.2e} without",
                run.counts.impacts
            );
            assert!(run.counts.impacts >= 95 && free.counts.impacts == 0);
            assert!(with.abs() <= without.abs() + 1e-11, "{with:e} {without:e}");
            assert!(with <= 1e-11);
        }
    }
}
