//! The short way of large time-invariant systems against the general one, which weighted forces take: for constant
//! matrices both are the same scheme.

use saltus_integrators::{
    Entry, Evaluation, Forecast, Integrator, MoreauJean, MoreauJeanOptions,
    NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions, StepReport, Variant,
};
use saltus_system::{State, System};
use saltus_zoo::{ElasticBar, Linear};

fn method(options: &MoreauJeanOptions, evaluation: Evaluation) -> MoreauJean {
    MoreauJean::new(MoreauJeanOptions {
        evaluation,
        ..options.clone()
    })
    .unwrap()
}

fn advance(
    method: &mut MoreauJean,
    system: &dyn System,
    state: &mut State,
    h: f64,
    k: u32,
) -> StepReport {
    method.step(system, state, h, f64::from(k + 1) * h).unwrap()
}

/// Runs both ways and compares everything; the number of steps with a contact closed.
fn compare(
    system: &dyn System,
    start: &State,
    options: &MoreauJeanOptions,
    h: f64,
    steps: u32,
) -> usize {
    let (mut short, mut long) = (
        method(options, Evaluation::ThetaPoint),
        method(options, Evaluation::WeightedForces),
    );
    let (mut a, mut b) = (start.clone(), start.clone());
    let first = short.prepare(system, &a, h).unwrap();
    long.prepare(system, &b, h).unwrap();
    let scale = first.energy.total().abs().max(1.0);
    let mut closed = 0;
    for k in 0..steps {
        let before = a.clone();
        let (x, y) = (
            advance(&mut short, system, &mut a, h, k),
            advance(&mut long, system, &mut b, h, k),
        );
        let close = |a: &[f64], b: &[f64]| {
            let size = 1.0 + b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * size)
        };
        assert!(close(&a.q, &b.q) && close(&a.v, &b.v), "step {k}");
        let (p, q) = (short.reactions(), long.reactions());
        assert!(close(p.impulse, q.impulse), "step {k}");
        assert!(close(p.gap_velocity, q.gap_velocity), "step {k}");
        assert!(close(&p.contacts.gap, &q.contacts.gap), "step {k}");
        assert_eq!(x.active, y.active, "step {k}");
        closed += usize::from(x.active > 0);
        for (one, other) in [
            (x.energy.kinetic, y.energy.kinetic),
            (x.energy.potential, y.energy.potential),
            (x.work_external, y.work_external),
            (x.work_contact, y.work_contact),
        ] {
            assert!(
                (one - other).abs() < 1e-9 * scale,
                "step {k}: {one} {other}"
            );
        }
        let balance = x.certificate.get(Entry::EnergyBalance).abs();
        assert!(balance < 1e-11 * scale, "step {k}: {balance}");
        for entry in [
            Entry::Penetration,
            Entry::ComplementarityVelocity,
            Entry::ComplementarityPosition,
            Entry::ImpactLaw,
        ] {
            let (one, other) = (x.certificate.get(entry), y.certificate.get(entry));
            assert!(
                (one - other).abs() < 1e-9 || (one.is_nan() && other.is_nan()),
                "step {k}: {entry:?} {one} {other}"
            );
        }
        assert!(x.certificate.get(Entry::Dynamics) < 1e-10 * scale);
        // Inside the step and at its ends.
        for fraction in [0.0, 0.3, 1.0] {
            let (mut inside, mut expected) = (State::default(), State::default());
            short.interpolate(system, fraction, &mut inside);
            long.interpolate(system, fraction, &mut expected);
            assert!(close(&inside.q, &expected.q) && close(&inside.v, &expected.v));
            if fraction == 0.0 {
                assert!(inside.q == before.q && inside.v == before.v);
            } else if fraction == 1.0 {
                assert!(inside.q == a.q && inside.v == a.v);
            }
        }
    }
    closed
}

fn variants() -> Vec<MoreauJeanOptions> {
    let mut all = Vec::new();
    for theta in [0.5, 0.7, 1.0] {
        for variant in [Variant::Standard, Variant::Dissipative] {
            for forecast in [
                Forecast::Start,
                Forecast::Position,
                Forecast::Predicted,
                Forecast::Smooth,
            ] {
                all.push(MoreauJeanOptions {
                    theta: Some(theta),
                    variant,
                    forecast,
                    ..Default::default()
                });
            }
        }
    }
    all
}

#[test]
fn a_bar_hits_a_wall() {
    let bar = ElasticBar::of_elements(100);
    let start = State::new(0.0, vec![0.2013; 101], vec![-10.0; 101]);
    for options in variants() {
        let closed = compare(&bar, &start, &options, 1.2 * 0.1 / 30.0, 220);
        assert!(closed > 10, "{options:?}: {closed}");
    }
}

/// A fine bar in total positions: its internal forces are differences of products `K q` ten million times as large as
/// what moves it in a step, so that no solution brings the balance below the round-off of those.
#[test]
fn forces_of_stiff_elements_are_known_to_their_round_off() {
    let (n, h) = (400, 4e-6);
    let (mass, stiffness) = (1e-4, 9e6);
    let place = |i: usize| 5.005 + 1e-4 * (i as f64 + 1.0 / 3.0);
    let mut system = Linear {
        n,
        load: vec![0.0; n],
        mass: (0..n).map(|i| (i, i, mass)).collect(),
        ..Linear::default()
    };
    for i in 0..n - 1 {
        for (j, k) in [(i, i), (i, i + 1), (i + 1, i), (i + 1, i + 1)] {
            let k_jk = if j == k { stiffness } else { -stiffness };
            system.stiffness.push((j, k, k_jk));
            system.load[j] += k_jk * place(k);
        }
    }
    let mut state = State::new(0.0, (0..n).map(place).collect(), vec![-10.0; n]);
    let mut method = method(&MoreauJeanOptions::default(), Evaluation::ThetaPoint);
    method.prepare(&system, &state, h).unwrap();
    for k in 0..50 {
        let report = advance(&mut method, &system, &mut state, h, k);
        assert_eq!(report.iterations, 1);
        // Round-off of a product is half a unit in the last place; a row has four of them, and their sums.
        let round_off = 8.0 * f64::EPSILON * h * 4.0 * stiffness * place(n);
        assert!(report.certificate.get(Entry::Dynamics) <= round_off);
    }
}

#[test]
fn a_bar_of_several_stages_hits_a_wall() {
    let n = 4500;
    let bar = ElasticBar::of_elements(n);
    let h = 1.2 * (10.0 / n as f64) / 30.0;
    let start = State::new(0.0, vec![2.5 * 10.0 * h; n + 1], vec![-10.0; n + 1]);
    for theta in [0.5, 0.7, 1.0] {
        for forecast in [Forecast::Start, Forecast::Smooth] {
            let options = MoreauJeanOptions {
                theta: Some(theta),
                forecast,
                ..Default::default()
            };
            // Far from the wall the columns of the contact are nothing; with a long step they are not.
            for longer in [1.0, 60.0] {
                let closed = compare(&bar, &start, &options, longer * h, 12);
                assert!(closed > 2, "{options:?}: {closed}");
            }
        }
    }
}

/// Masses in a row on springs and dampers, each over a floor of its own; neighbours also keep a distance.
fn row_of_masses(n: usize) -> (Linear, State) {
    let mut system = Linear {
        n,
        load: (0..n).map(|i| -9.81 * (1.0 + 0.01 * i as f64)).collect(),
        mass: (0..n).map(|i| (i, i, 1.0 + 0.01 * i as f64)).collect(),
        ..Linear::default()
    };
    for i in 0..n - 1 {
        for (j, k, sign) in [
            (i, i, 1.0),
            (i, i + 1, -1.0),
            (i + 1, i, -1.0),
            (i + 1, i + 1, 1.0),
        ] {
            system.stiffness.push((j, k, sign * 300.0));
            // Not symmetric: a circulatory part.
            let circulatory = if j < k { 0.3 } else { 0.0 };
            system.damping.push((j, k, sign * 0.7 + circulatory));
        }
    }
    for i in 0..n {
        system.contacts.push((0.0, vec![(i, 1.0)], 0.4));
        if i > 0 {
            system
                .contacts
                .push((0.5, vec![(i - 1, -1.0), (i, 1.0)], 0.1));
        }
    }
    let q = (0..n)
        .map(|i| 0.1 + 0.1 * (i as f64 * 0.3).sin().powi(2))
        .collect();
    (system, State::new(0.0, q, vec![0.0; n]))
}

#[test]
fn many_contacts_with_damping() {
    let (system, start) = row_of_masses(80);
    for options in variants() {
        if matches!(options.forecast, Forecast::Start | Forecast::Smooth) {
            let closed = compare(&system, &start, &options, 2e-3, 150);
            assert!(closed > 10, "{options:?}: {closed}");
        }
    }
}

/// Goes on from the middle of a run in another integrator, and with a changed state at its end.
/// `exact` schemes keep the energy.
fn goes_on(make: &dyn Fn() -> Box<dyn Integrator>, n: usize, exact: bool) {
    let bar = ElasticBar::of_elements(n);
    let h = 1.2 * (10.0 / n as f64) / 30.0;
    let step = |method: &mut dyn Integrator, state: &mut State, k: u32| {
        method.step(&bar, state, h, f64::from(k + 1) * h).unwrap()
    };
    let mut state = State::new(0.0, vec![50.3 * 10.0 * h; n + 1], vec![-10.0; n + 1]);
    let mut whole = make();
    whole.prepare(&bar, &state, h).unwrap();
    for k in 0..60 {
        step(whole.as_mut(), &mut state, k);
    }
    let mut memory = Vec::new();
    whole.save(&mut memory);
    let mut other = state.clone();
    let mut resumed = make();
    resumed.prepare(&bar, &other, h).unwrap();
    resumed.load(&memory);
    for k in 60..120 {
        let before = state.clone();
        let a = step(whole.as_mut(), &mut state, k);
        let b = step(resumed.as_mut(), &mut other, k);
        assert_eq!(state, other);
        assert_eq!(a.energy, b.energy);
        let entries = |r: &StepReport| r.certificate.iter().collect::<Vec<_>>();
        assert_eq!(entries(&a), entries(&b));
        for (fraction, expected) in [(0.0, &before), (1.0, &state)] {
            let mut inside = State::default();
            whole.interpolate(&bar, fraction, &mut inside);
            assert!(inside.q == expected.q && inside.v == expected.v);
        }
    }
    assert!(whole.reactions().impulse[0] > 0.0);
    // Stopped by hand: the energy of the step is counted from the state it is given.
    state.v.fill(0.0);
    let report = step(whole.as_mut(), &mut state, 120);
    let balance = report.certificate.get(Entry::EnergyBalance).abs();
    let limit = if exact {
        1e-9
    } else {
        1e-2 * report.energy.potential
    };
    assert!(balance < limit, "{balance} {limit}");
}

#[test]
fn far_from_the_origin_round_off_is_no_failure() {
    // Forces are differences of positions whose last digits are lost.
    let bar = ElasticBar::of_elements(1000);
    let h = 1.2 * 0.01 / 30.0;
    let shaken = |i: usize| 300.0 + 1e-3 * (i as f64 * 0.1).sin();
    let start = State::new(0.0, (0..=1000).map(shaken).collect(), vec![-1.0; 1001]);
    let moreau = MoreauJean::new(MoreauJeanOptions::default()).unwrap();
    let options = NonsmoothGeneralizedAlphaOptions::default();
    let alpha = NonsmoothGeneralizedAlpha::new(options).unwrap();
    let methods: [Box<dyn Integrator>; 2] = [Box::new(moreau), Box::new(alpha)];
    for mut method in methods {
        let mut state = start.clone();
        method.prepare(&bar, &state, h).unwrap();
        for k in 0..50 {
            let report = method.step(&bar, &mut state, h, f64::from(k + 1) * h);
            assert!(report.unwrap().iterations < 3, "{k}");
        }
    }
}

#[test]
fn a_run_goes_on_bit_for_bit_and_a_changed_state_is_noticed() {
    let moreau =
        || Box::new(MoreauJean::new(MoreauJeanOptions::default()).unwrap()) as Box<dyn Integrator>;
    let alpha = || {
        let options = NonsmoothGeneralizedAlphaOptions::default();
        Box::new(NonsmoothGeneralizedAlpha::new(options).unwrap()) as Box<dyn Integrator>
    };
    for n in [100, 4500] {
        goes_on(&moreau, n, true);
        goes_on(&alpha, n, false);
    }
}
