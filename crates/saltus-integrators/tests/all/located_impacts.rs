//! Impacts located inside the step: what holds in every step of many motions.

use saltus_integrators::{
    Entry, EventKind, Impacts, Inactive, Integrator, LinearSolve, LocationCounts,
    NonsmoothFormulation, NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions,
    NonsmoothHhtOptions, Scheme, StepReport,
};
use saltus_system::{State, System};
use saltus_zoo::{
    Ball, BouncingPendulum, ElasticBar, Linear, RockingBlock, bar, newtons_cradle, oscillator,
};
use std::f64::consts::PI;

fn options(rho: f64) -> NonsmoothGeneralizedAlphaOptions {
    NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Located,
        rho_inf: Some(rho),
        ..NonsmoothGeneralizedAlphaOptions::default()
    }
}

/// Uniform on [0, 1), the same numbers every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

/// What a run showed.
#[derive(Debug, Clone, Copy)]
struct Audit {
    counts: LocationCounts,
    gap: f64,
    /// Largest gain of energy in an impact, and over a step, relative to the energy of the motion.
    impact: f64,
    step: f64,
}

fn audit(system: &dyn System, rho: f64, start: &State, h: f64, steps: u32) -> Audit {
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(rho)).unwrap();
    let mut state = start.clone();
    let first = scheme.prepare(system, &state, h).unwrap();
    let (mut before, mut most) = (first.energy.total(), first.energy.kinetic);
    let mut found = Audit {
        counts: LocationCounts::default(),
        gap: f64::INFINITY,
        impact: 0.0,
        step: 0.0,
    };
    for k in 1..=steps {
        let end = start.t + f64::from(k) * h;
        let report = scheme.step(system, &mut state, h, end).unwrap();
        most = most.max(report.energy.kinetic);
        let gaps = &scheme.reactions().contacts.gap;
        found.gap = gaps.iter().fold(found.gap, |m, g| m.min(*g));
        for event in scheme.events() {
            assert!(event.t > end - h - 1e-12 && event.t <= end);
            found.impact = found.impact.max(-event.energy_lost);
        }
        found.step = found.step.max((report.energy.total() - before) / most);
        before = report.energy.total();
    }
    found.counts = scheme.located();
    found
}

/// Four balls of radius 0.1 over each other, between a floor and a ceiling, in gravity.
fn column(restitution: f64) -> Linear {
    let mut contacts = vec![(-0.1, vec![(0, 1.0)], restitution)];
    for i in 1..4 {
        contacts.push((-0.2, vec![(i - 1, -1.0), (i, 1.0)], restitution));
    }
    contacts.push((1.9, vec![(3, -1.0)], restitution));
    Linear {
        n: 4,
        mass: (0..4).map(|i| (i, i, 1.0 + 0.3 * i as f64)).collect(),
        load: (0..4).map(|i| -10.0 * (1.0 + 0.3 * f64::from(i))).collect(),
        contacts,
        ..Linear::default()
    }
}

#[test]
fn columns_of_balls_under_a_ceiling() {
    let mut random = Random(1);
    for e in [0.0, 0.5, 0.9, 1.0] {
        let system = column(e);
        let (mut impacts, mut fallbacks, mut solves, mut steps) = (0, 0, 0, 0);
        let (mut gap, mut gain) = (f64::INFINITY, 0.0_f64);
        for _ in 0..6 {
            let q: Vec<f64> = (0..4)
                .map(|i| 0.2 + 0.45 * f64::from(i) + random.within(0.0, 0.2))
                .collect();
            let v = (0..4).map(|_| random.within(-3.0, 3.0)).collect();
            let h = random.within(2e-3, 3e-2);
            let found = audit(&system, 0.8, &State::new(0.0, q, v), h, 200);
            assert!(found.impact <= 1e-13, "e = {e}, h = {h}: {found:?}");
            assert!(found.step <= 1e-12, "e = {e}, h = {h}: {found:?}");
            assert!(found.gap >= -1e-12, "e = {e}, h = {h}: {found:?}");
            gap = gap.min(found.gap);
            gain = gain.max(found.step);
            impacts += found.counts.impacts;
            fallbacks += found.counts.fallbacks;
            solves += found.counts.solves;
            steps += 200;
        }
        println!(
            "columns, e = {e}: {impacts} impacts, {fallbacks} fallbacks, {:.2} solves per step, gap {gap:.1e}, gain {gain:.1e}",
            solves as f64 / f64::from(steps)
        );
        assert!(impacts > 20);
    }
}

/// A mass of 100 kg pushes one of 1 kg against a wall, all elastic: 31 impacts, the digits of π, before they part.
#[test]
fn rebounds_that_a_step_has_no_room_for_are_counted() {
    let system = Linear {
        n: 2,
        mass: vec![(0, 0, 1.0), (1, 1, 100.0)],
        contacts: vec![
            (0.0, vec![(0, 1.0)], 1.0),
            (0.0, vec![(0, -1.0), (1, 1.0)], 1.0),
        ],
        ..Linear::default()
    };
    let run = |max_impacts: u32| {
        let options = NonsmoothGeneralizedAlphaOptions {
            max_impacts: Some(max_impacts),
            ..options(0.8)
        };
        let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
        let mut state = State::new(0.0, vec![1.0, 2.0], vec![0.0, -1.0]);
        scheme.prepare(&system, &state, 0.5).unwrap();
        let mut law = 0.0_f64;
        for k in 1..=10 {
            let end = 0.5 * f64::from(k);
            let report = scheme.step(&system, &mut state, 0.5, end).unwrap();
            law = law.max(report.certificate.get(Entry::ImpactLaw));
        }
        let energy = 0.5 * (state.v[0].powi(2) + 100.0 * state.v[1].powi(2));
        (scheme.located(), law, energy)
    };
    let (counts, law, energy) = run(40);
    assert_eq!((counts.impacts, counts.dropped), (31, 0));
    assert!(
        law < 1e-10 && (energy - 50.0).abs() < 1e-9,
        "{law} {energy}"
    );
    // Six impacts a step: the rest goes without rebounds, which nothing must hide.
    let (counts, law, energy) = run(6);
    assert!(counts.fallbacks > 0 && counts.dropped > 0, "{counts:?}");
    assert!(law > 0.1 && energy < 49.0, "{law} {energy}");
    let scheme = Scheme::NonsmoothGeneralizedAlpha(options(0.8));
    let guarantees = scheme.build().unwrap().guarantees();
    assert_eq!(guarantees.bound(Entry::ImpactLaw), None);
}

#[test]
fn blocks_that_fall_on_their_corners() {
    let mut random = Random(2);
    for e in [0.0, 0.5, 0.9, 1.0] {
        let system = RockingBlock {
            restitution: e,
            ..RockingBlock::default()
        };
        for _ in 0..5 {
            let q = vec![0.0, random.within(1.0, 1.4), random.within(-0.4, 0.4)];
            let v = vec![
                random.within(-1.0, 1.0),
                random.within(-1.0, 1.0),
                random.within(-1.0, 1.0),
            ];
            let h = random.within(2e-3, 1e-2);
            let found = audit(&system, 0.8, &State::new(0.0, q, v), h, 400);
            println!("block, e = {e}, h = {h:.1e}: {found:?}");
            assert!(found.impact <= 1e-13 && found.gap >= -1e-12);
            assert!(found.step <= 1e-6, "{found:?}");
            assert!(found.counts.impacts > 0);
        }
    }
}

/// Momentum changes by the impulses that are told and by nothing else.
#[test]
fn impulses_are_the_total_of_the_step() {
    let system = column(0.7);
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
    let mut state = State::new(0.0, vec![0.2, 0.6, 1.0, 1.5], vec![-1.0, 2.0, -2.0, 3.0]);
    let h = 7e-3;
    scheme.prepare(&system, &state, h).unwrap();
    let (mut impacts, mut told) = (0, 0.0);
    for k in 1..=300 {
        let before = state.v.clone();
        scheme
            .step(&system, &mut state, h, f64::from(k) * h)
            .unwrap();
        let r = scheme.reactions();
        for i in 0..4 {
            let mass = 1.0 + 0.3 * i as f64;
            let pushes: f64 = system
                .contacts
                .iter()
                .zip(r.impulse)
                .map(|((_, w, _), p)| {
                    w.iter()
                        .filter(|(j, _)| *j == i)
                        .map(|(_, g)| g * p)
                        .sum::<f64>()
                })
                .sum();
            let change = mass * (state.v[i] - before[i] + 10.0 * h);
            assert!(
                (change - pushes).abs() < 1e-12,
                "step {k}: {change} {pushes}"
            );
        }
        let strikes = scheme
            .events()
            .iter()
            .filter(|e| e.kind == EventKind::Impact);
        impacts += strikes.clone().count();
        told += strikes.map(|e| e.impulse[0]).sum::<f64>();
    }
    assert!(impacts > 20 && told > 0.0);
    // At rest: forces are reactions.
    let force = scheme.reactions().force;
    let weight = 10.0 * (1.0 + 1.3 + 1.6 + 1.9);
    assert!((force[0] - weight).abs() < 1e-9, "{force:?}");
    assert!((scheme.reactions().impulse[0] / h - weight).abs() < 1e-9);
}

#[test]
fn contacts_that_hit_together_obey_the_law_together() {
    let system = newtons_cradle(&[1.0, 1.0, 1.0], 1.0);
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
    let mut state = State::new(0.0, vec![-0.0123, 0.0, 0.0], vec![1.0, 0.0, 0.0]);
    scheme.prepare(&system, &state, 1e-2).unwrap();
    for k in 1..=2 {
        scheme
            .step(&system, &mut state, 1e-2, f64::from(k) * 1e-2)
            .unwrap();
    }
    for (v, exact) in state.v.iter().zip([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) {
        assert!((v - exact).abs() < 1e-14, "{:?}", state.v);
    }
    assert!((scheme.events()[0].t - 0.0123).abs() < 1e-14);
}

#[test]
fn bilateral_constraints_hold_at_three_levels_across_impacts() {
    for (linear_solve, inertia) in [
        (LinearSolve::Condensed, 0.1),
        (LinearSolve::Monolithic, 0.1),
        (LinearSolve::Sequential, 0.1),
        (LinearSolve::Auto, 0.0),
    ] {
        let system = BouncingPendulum {
            inertia,
            ..BouncingPendulum::default()
        };
        let mut scheme = NonsmoothGeneralizedAlpha::new(NonsmoothGeneralizedAlphaOptions {
            linear_solve,
            r: (inertia == 0.0).then_some(1.0),
            ..options(0.8)
        })
        .unwrap();
        let mut state = State::new(0.0, system.at(PI / 12.0), vec![0.0; 3]);
        let h = 2e-3;
        scheme.prepare(&system, &state, h).unwrap();
        let mut worst = [0.0_f64; 3];
        for k in 1..=3000 {
            let report = scheme
                .step(&system, &mut state, h, f64::from(k) * h)
                .unwrap();
            let entries = [
                Entry::BilateralPosition,
                Entry::BilateralVelocity,
                Entry::BilateralAcceleration,
            ];
            for (worst, entry) in worst.iter_mut().zip(entries) {
                *worst = worst.max(report.certificate.get(entry));
            }
        }
        let counts = scheme.located();
        println!("{linear_solve:?}, inertia {inertia}: {worst:?} {counts:?}");
        assert!(worst[0] < 1e-13 && worst[1] < 1e-12 && worst[2] < 1e-9);
        assert!(counts.impacts >= 10 && counts.fallbacks == 0);
        // It leans on the wall in the end.
        let force = scheme.reactions().force[0];
        assert!((force - 10.0).abs() < 1e-7, "{force}");
    }
}

/// A bar that hits a wall: the same motion by either solve, and as large as one is stepped by rows otherwise.
#[test]
fn flexible_bars_hit_a_wall() {
    let (nodes, h) = (21, 2e-3);
    let system = bar(nodes, 0.5, 1.0, 900.0, 1.0, 0.0);
    let ends: Vec<State> = [LinearSolve::Condensed, LinearSolve::Monolithic]
        .into_iter()
        .map(|linear_solve| {
            let mut scheme = NonsmoothGeneralizedAlpha::new(NonsmoothGeneralizedAlphaOptions {
                linear_solve,
                ..options(0.8)
            })
            .unwrap();
            // Displacements: the wall is where the first one vanishes.
            let mut state = State::new(0.0, vec![0.0511; nodes], vec![-1.0; nodes]);
            scheme.prepare(&system, &state, h).unwrap();
            for k in 1..=300 {
                scheme
                    .step(&system, &mut state, h, f64::from(k) * h)
                    .unwrap();
            }
            println!("bar, {linear_solve:?}: {:?}", scheme.located());
            assert!(scheme.located().impacts >= 1);
            assert!(scheme.reactions().force[0] >= 0.0);
            state
        })
        .collect();
    for (a, b) in ends[0].q.iter().zip(&ends[1].q) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    let n = 120;
    let large = ElasticBar::of_elements(n);
    let h = 1.2 * (10.0 / n as f64) / 30.0;
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
    let mut state = State::new(0.0, vec![40.5 * h; n + 1], vec![-10.0; n + 1]);
    scheme.prepare(&large, &state, h).unwrap();
    for k in 1..=60 {
        scheme
            .step(&large, &mut state, h, f64::from(k) * h)
            .unwrap();
    }
    // The force of an elastic wave from the wall, as in the case of the elastic bar.
    let force = scheme.reactions().force[0];
    println!("large bar: {force} N, {:?}", scheme.located());
    assert!((force - 300.0).abs() < 30.0, "{force}");
}

/// What was done in between leaves no trace.
#[test]
fn a_state_that_is_taken_up_again_goes_on_bit_for_bit() {
    let damped = Linear {
        damping: vec![(0, 0, 0.7)],
        ..oscillator(1.0, 30.0, -0.3, 0.9)
    };
    let pendulum = BouncingPendulum::default();
    let systems: [(&dyn System, State); 2] = [
        (&damped, State::new(0.0, vec![1.0], vec![0.0])),
        (
            &pendulum,
            State::new(0.0, pendulum.at(PI / 12.0), vec![0.0; 3]),
        ),
    ];
    let captured = NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Captured,
        ..options(0.5)
    };
    let pvv = NonsmoothGeneralizedAlphaOptions {
        formulation: NonsmoothFormulation::Pvv,
        ..captured.clone()
    };
    let schemes = [
        Scheme::NonsmoothGeneralizedAlpha(options(0.5)),
        Scheme::NonsmoothGeneralizedAlpha(captured),
        Scheme::NonsmoothGeneralizedAlpha(pvv),
        Scheme::NonsmoothHht(NonsmoothHhtOptions::default()),
    ];
    for scheme in &schemes {
        for (k, (system, start)) in systems.iter().enumerate() {
            if k == 1 && scheme.name() == "nonsmooth-hht" {
                continue;
            }
            let mut method = scheme.build().unwrap();
            let mut state = start.clone();
            let h = 4e-3;
            method.prepare(*system, &state, h).unwrap();
            let mut t = 0.0;
            let mut go = |method: &mut dyn Integrator, state: &mut State, h: f64, steps: u32| {
                let mut bits = Vec::new();
                t = state.t;
                for _ in 0..steps {
                    t += h;
                    let report = method.step(*system, state, h, t).unwrap();
                    let numbers = state.q.iter().chain(&state.v);
                    let books = [report.work_external, report.energy.total()];
                    bits.extend(numbers.chain(&books).map(|x| x.to_bits()));
                }
                bits
            };
            go(&mut *method, &mut state, h, 113);
            let (kept, mut memory) = (state.clone(), Vec::new());
            method.save(&mut memory);
            let first = go(&mut *method, &mut state, h, 200);
            // Something else, then back.
            go(&mut *method, &mut state, 0.3 * h, 17);
            method.load(&memory);
            state = kept;
            let second = go(&mut *method, &mut state, h, 200);
            let other = first.iter().zip(&second).filter(|(a, b)| a != b).count();
            assert_eq!(other, 0, "{}, system {k}", scheme.name());
        }
    }
}

#[test]
fn the_inside_of_a_step_with_impacts_is_interpolated_piece_by_piece() {
    let system = Ball {
        mass: 1.0,
        force: -10.0,
        restitution: 0.5,
    };
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
    let mut state = State::new(0.0, vec![0.1], vec![-1.0]);
    let h = 0.2;
    scheme.prepare(&system, &state, h).unwrap();
    scheme.step(&system, &mut state, h, h).unwrap();
    let fall = scheme.events()[0].t;
    let speed = 1.0 + 10.0 * fall;
    for fraction in [0.0, 0.2, 0.5, 0.9, 1.0] {
        let t = fraction * h;
        let exact = if t < fall {
            0.1 - t - 5.0 * t * t
        } else {
            let s = t - fall;
            0.5 * speed * s - 5.0 * s * s
        };
        let mut inside = State::default();
        scheme.interpolate(&system, fraction, &mut inside);
        assert!(
            (inside.q[0] - exact).abs() < 1e-13,
            "{fraction}: {} {exact}",
            inside.q[0]
        );
    }
}

#[test]
fn options_that_do_not_fit_are_refused_with_a_cure() {
    let located = || options(0.8);
    let plain = NonsmoothGeneralizedAlphaOptions::default;
    for (given, expected) in [
        (
            NonsmoothGeneralizedAlphaOptions {
                formulation: NonsmoothFormulation::Pvv,
                ..located()
            },
            "`impacts` is \"located\", expected \"captured\" unless `formulation` is `pva`; remove `formulation`",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                strategy: Some(2),
                ..located()
            },
            "`strategy` is 2, expected 3 where `impacts` is \"located\"; remove it",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                inactive: Inactive::Literal,
                ..located()
            },
            "`inactive` is \"literal\", expected \"star\" where `impacts` is \"located\"; remove it",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                max_impacts: Some(0),
                ..located()
            },
            "`max_impacts` is 0, expected a whole number ≥ 1; write",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                shortest_flight: Some(1.5),
                ..located()
            },
            "`shortest_flight` is 1.5, expected a number in [0, 1]",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                max_impacts: Some(9),
                ..plain()
            },
            "`max_impacts` is 9, expected no such option unless `impacts` is \"located\"; remove it",
        ),
        (
            NonsmoothGeneralizedAlphaOptions {
                shortest_flight: Some(0.1),
                ..plain()
            },
            "`shortest_flight` is 0.1, expected no such option unless",
        ),
    ] {
        let error = given.validate().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let effective = located().effective();
    assert_eq!(
        (effective.max_impacts, effective.shortest_flight),
        (Some(6), Some(0.25))
    );
    assert_eq!(effective.effective(), effective);
    assert!(effective.validate().is_ok());
    assert_eq!(plain().effective().max_impacts, None);
}

/// Impacts aimed at the end of a step: what happens does not jump with them.
#[test]
fn impacts_next_to_the_end_of_a_step() {
    let system = oscillator(1.0, 1.0, -0.3, 0.9);
    let h = 0.05;
    let run = |start: f64| -> (State, StepReport) {
        let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
        let mut state = State::new(0.0, vec![start], vec![-1.0]);
        let mut report = scheme.prepare(&system, &state, h).unwrap();
        for k in 1..=20 {
            let end = f64::from(k) * h;
            report = scheme.step(&system, &mut state, h, end).unwrap();
        }
        assert_eq!(scheme.located().impacts, 1);
        (state, report)
    };
    // Start from where the fifth step ends on the floor, by bisection on the smooth motion.
    let lands = |start: f64| {
        let mut scheme = NonsmoothGeneralizedAlpha::new(options(0.8)).unwrap();
        let mut state = State::new(0.0, vec![start], vec![-1.0]);
        scheme.prepare(&system, &state, h).unwrap();
        for k in 1..=5 {
            scheme
                .step(&system, &mut state, h, f64::from(k) * h)
                .unwrap();
        }
        scheme.located().impacts == 1
    };
    let (mut low, mut high) = (-0.29, 0.5);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if lands(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    let (exact, _) = run(high);
    for power in 5..=15 {
        for sign in [-1.0, 1.0] {
            let away = sign * 10.0_f64.powi(-power) * h;
            let (state, _) = run(high + away);
            let error = (state.q[0] - exact.q[0]).abs() + (state.v[0] - exact.v[0]).abs();
            // The method itself is exact to h² only, and the memory begins a step earlier or later.
            assert!(
                error < 4.0 * h * h * h + 10.0 * away.abs(),
                "{away:e}: {error:e}"
            );
        }
    }
}
