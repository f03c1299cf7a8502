//! The adaptive Moreau–Jean scheme: what a step of two halves tells, rejected attempts, checkpoints.

use saltus_integrators::{
    AdaptiveMoreauJean, AdaptiveMoreauJeanOptions, BilateralPoint, Entry, EventKind, Integrator,
    Scheme, StepReport,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, State, System,
};
use saltus_zoo::{Ball, BouncingPendulum, RockingBlock, SliderCrank};

fn scheme(tol: f64) -> AdaptiveMoreauJean {
    AdaptiveMoreauJean::new(AdaptiveMoreauJeanOptions {
        rtol: 0.0,
        atol: tol,
        ..AdaptiveMoreauJeanOptions::default()
    })
    .unwrap()
}

fn run(
    scheme: &mut AdaptiveMoreauJean,
    system: &dyn System,
    state: &mut State,
    (h, until): (f64, f64),
    mut see: impl FnMut(&State, &State, &StepReport, &AdaptiveMoreauJean),
) {
    while state.t < until {
        let before = state.clone();
        let length = h.min(until - state.t);
        let report = scheme.step(system, state, length, until).unwrap();
        see(&before, state, &report, scheme);
    }
    assert_eq!(state.t, until);
}

/// Momentum and energy of every step balance with its impulses and works, rejected attempts or not.
#[test]
fn impulses_and_works_of_both_halves_add_up() {
    let ball = Ball {
        mass: 2.0,
        force: -3.0,
        restitution: 0.6,
    };
    let mut state = State::new(0.0, vec![1.0], vec![0.5]);
    let mut scheme = scheme(1e-4);
    let first = scheme.prepare(&ball, &state, 0.5).unwrap();
    let mut energy = first.energy.total();
    let (mut rejected, mut longest) = (0, 0.0_f64);
    run(
        &mut scheme,
        &ball,
        &mut state,
        (0.5, 60.0),
        |before, now, report, scheme| {
            let impulse = scheme.reactions().impulse[0];
            let change = 2.0 * (now.v[0] - before.v[0]) + 3.0 * (now.t - before.t);
            assert!((change - impulse).abs() < 1e-12, "{}", now.t);
            let balance =
                report.energy.total() - energy - report.work_external - report.work_contact;
            assert!((balance - report.certificate.get(Entry::EnergyBalance)).abs() < 1e-13);
            assert!(balance.abs() < 1e-12, "{balance}");
            assert!((report.h - (now.t - before.t)).abs() < 1e-12);
            energy = report.energy.total();
            rejected += report.rejected;
            longest = longest.max(report.h);
        },
    );
    assert!(rejected > 10 && longest == 0.5, "{rejected} {longest}");
    assert!(state.v[0].abs() < 1e-13, "{}", state.v[0]);
}

/// A run that goes on from what `save` gave takes the same steps, also in the integrator that went on in between.
#[test]
fn a_saved_run_goes_on_bit_for_bit() {
    let block = RockingBlock::default();
    let pendulum = BouncingPendulum::default();
    let crank = SliderCrank::default();
    let at_rest = |q: Vec<f64>| {
        let n = q.len();
        State::new(0.0, q, vec![0.0; n])
    };
    let (q, v) = SliderCrank::start();
    let systems: [(&dyn System, State, f64, f64); 3] = [
        (&block, at_rest(vec![0.0, 1.0, 0.2]), 0.05, 1.0),
        (&pendulum, at_rest(pendulum.at(0.0)), 0.05, 1.0),
        (&crank, State::new(0.0, q, v), 1e-5, 5e-3),
    ];
    for (system, start, h, until) in systems {
        let mut whole = scheme(1e-5);
        let mut state = start;
        whole.prepare(system, &state, h).unwrap();
        let (mut memory, mut middle, mut after) = (Vec::new(), None, Vec::new());
        let mut steps = 0;
        run(
            &mut whole,
            system,
            &mut state,
            (h, until),
            |_, now, _, scheme| {
                steps += 1;
                if steps == 40 {
                    scheme.save(&mut memory);
                    middle = Some(now.clone());
                } else if steps > 40 {
                    let mut seen = Vec::new();
                    scheme.save(&mut seen);
                    after.push((now.clone(), seen));
                }
            },
        );
        let middle = middle.unwrap();
        let mut fresh = scheme(1e-5);
        fresh.prepare(system, &middle, h).unwrap();
        for scheme in [&mut fresh, &mut whole] {
            scheme.load(&memory);
            let mut state = middle.clone();
            let mut steps = 0;
            run(
                scheme,
                system,
                &mut state,
                (h, until),
                |_, now, _, scheme| {
                    let mut seen = Vec::new();
                    scheme.save(&mut seen);
                    let (state, memory) = &after[steps];
                    assert_eq!((now, &seen), (state, memory), "{steps}");
                    steps += 1;
                },
            );
            assert_eq!(steps, after.len());
        }
    }
}

#[test]
fn a_step_at_its_shortest_is_accepted_and_counted() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let mut scheme = AdaptiveMoreauJean::new(AdaptiveMoreauJeanOptions {
        atol: 1e-9,
        h_min: Some(1e-3),
        ..AdaptiveMoreauJeanOptions::default()
    })
    .unwrap();
    let mut state = State::new(0.0, vec![1.0], vec![0.0]);
    scheme.prepare(&ball, &state, 0.1).unwrap();
    let (mut counted, mut shortest) = (0, f64::INFINITY);
    run(
        &mut scheme,
        &ball,
        &mut state,
        (0.1, 5.0),
        |_, _, report, _| {
            counted += report.remedies;
            shortest = shortest.min(report.h);
        },
    );
    assert!(counted > 0);
    assert!(shortest >= 1e-3 * (1.0 - 1e-9), "{shortest}");
}

/// Between the ends of a step the motion is continuous, and meets both.
#[test]
fn the_state_inside_a_step_joins_its_ends() {
    let block = RockingBlock::default();
    let mut state = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    let mut scheme = scheme(1e-4);
    scheme.prepare(&block, &state, 0.05).unwrap();
    run(
        &mut scheme,
        &block,
        &mut state,
        (0.05, 0.5),
        |before, now, report, scheme| {
            let mut inside = before.clone();
            let mut last = before.q.clone();
            for k in 0..=8 {
                scheme.interpolate(&block, f64::from(k) / 8.0, &mut inside);
                let speed = before
                    .v
                    .iter()
                    .chain(&now.v)
                    .fold(0.0_f64, |m, v| m.max(v.abs()));
                for (a, b) in inside.q.iter().zip(&last) {
                    assert!((a - b).abs() <= 0.2 * report.h * (speed + 10.0 * report.h));
                }
                last.clone_from(&inside.q);
            }
            for (a, b) in last.iter().zip(&now.q) {
                assert!((a - b).abs() < 1e-14);
            }
            scheme.interpolate(&block, 0.0, &mut inside);
            for (a, b) in inside.q.iter().zip(&before.q) {
                assert!((a - b).abs() < 1e-14);
            }
        },
    );
}

#[test]
fn options_out_of_range_are_named() {
    let refused = |options: AdaptiveMoreauJeanOptions| options.validate().unwrap_err().option;
    let usual = AdaptiveMoreauJeanOptions::default;
    assert_eq!(
        refused(AdaptiveMoreauJeanOptions {
            atol: 0.0,
            ..usual()
        }),
        "atol"
    );
    assert_eq!(
        refused(AdaptiveMoreauJeanOptions {
            rtol: -1.0,
            ..usual()
        }),
        "rtol"
    );
    assert_eq!(
        refused(AdaptiveMoreauJeanOptions {
            growth: 1.0,
            ..usual()
        }),
        "growth"
    );
    assert_eq!(
        refused(AdaptiveMoreauJeanOptions {
            theta: 0.0,
            ..usual()
        }),
        "theta"
    );
    let crossed = AdaptiveMoreauJeanOptions {
        h_min: Some(0.1),
        h_max: Some(0.01),
        ..usual()
    };
    assert_eq!(refused(crossed), "h_min");
    let longer = |options| {
        let scheme = Scheme::AdaptiveMoreauJean(options);
        scheme.validate().unwrap();
        assert!(scheme.check_step(0.2).is_ok());
        scheme.check_step(0.05).unwrap_err().option
    };
    assert_eq!(
        longer(AdaptiveMoreauJeanOptions {
            h_min: Some(0.1),
            ..usual()
        }),
        "h_min"
    );
    assert_eq!(
        longer(AdaptiveMoreauJeanOptions {
            first_step: Some(0.1),
            ..usual()
        }),
        "first_step"
    );
}

/// The angle of a rod after `until` from rest at `theta`, by the classical Runge–Kutta method.
fn swung(rod: &BouncingPendulum, theta: f64, until: f64) -> f64 {
    let inertia = rod.inertia + rod.mass * rod.length * rod.length;
    let torque = rod.mass * rod.gravity * rod.length / inertia;
    let steps = 20_000;
    let h = until / f64::from(steps);
    let f = |[q, w]: [f64; 2]| [w, -torque * q.cos()];
    let along = |[q, w]: [f64; 2], [a, b]: [f64; 2], h: f64| [q + h * a, w + h * b];
    let mut x = [theta, 0.0];
    for _ in 0..steps {
        let a = f(x);
        let b = f(along(x, a, 0.5 * h));
        let c = f(along(x, b, 0.5 * h));
        let d = f(along(x, c, h));
        for (y, weight) in [(a, 1.0), (b, 2.0), (c, 2.0), (d, 1.0)] {
            x = along(x, y, weight * h / 6.0);
        }
    }
    x[0]
}

/// With curved constraints on the mean velocity the error of positions follows the tolerance as that of a smooth motion does.
#[test]
fn the_error_of_a_pendulum_follows_the_tolerance() {
    let rod = BouncingPendulum {
        wall: -10.0,
        ..BouncingPendulum::default()
    };
    let (theta, until) = (0.3, 2.0);
    let exact = rod.at(swung(&rod, theta, until));
    let slope = |bilateral| {
        let errors = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8].map(|tol| {
            let mut scheme = AdaptiveMoreauJean::new(AdaptiveMoreauJeanOptions {
                rtol: 0.0,
                atol: tol,
                bilateral,
                ..AdaptiveMoreauJeanOptions::default()
            })
            .unwrap();
            let mut state = State::new(0.0, rod.at(theta), vec![0.0; 3]);
            scheme.prepare(&rod, &state, 0.05).unwrap();
            run(
                &mut scheme,
                &rod,
                &mut state,
                (0.05, until),
                |_, _, _, _| {},
            );
            let errors = state.q.iter().zip(&exact).map(|(a, b)| (a - b).abs());
            errors.fold(0.0, f64::max)
        });
        println!("{bilateral:?}: {errors:?}");
        (errors[0] / errors[4]).log10() / 4.0
    };
    let (mean, end) = (slope(BilateralPoint::Mean), slope(BilateralPoint::End));
    println!("tol^{mean:.2} on the mean, tol^{end:.2} at the end");
    assert!(mean > 0.6, "{mean}");
    assert!(end < 0.45, "{end}");
}

/// A block of 1 kg on a floor, pulled to and fro by 8 sin t N, held by friction up to 5 N: it sticks, slips and sticks again.
struct Dragged;

impl Kinematics for Dragged {
    fn dims(&self) -> Dims {
        Dims {
            nq: 2,
            nv: 2,
            ng: 0,
        }
    }
}

impl Dynamics for Dragged {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
        mass.entry(1, 1, 1.0);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force[0] = 8.0 * at.t.sin();
        force[1] = -10.0;
    }
}

impl Constraints for Dragged {}

impl Contacts for Dragged {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(ContactId(0), ContactLaw::coulomb(0.5, 0.5, 1), q[1]);
        for i in [1, 0] {
            set.directions.push(&[i], &[1.0]);
            set.rate.push(0.0);
        }
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }
}

impl System for Dragged {}

/// The scheme tells impacts, openings, stick and slip itself, in the half step in which they happen.
#[test]
fn events_are_those_of_the_half_steps() {
    let events_of = |system: &dyn System, q: Vec<f64>, v: Vec<f64>, until: f64| {
        let mut state = State::new(0.0, q, v);
        let mut scheme = scheme(1e-6);
        scheme.prepare(system, &state, 0.05).unwrap();
        let mut events = Vec::new();
        run(
            &mut scheme,
            system,
            &mut state,
            (0.05, until),
            |before, now, _, scheme| {
                for event in scheme.events() {
                    assert!(before.t < event.t && event.t <= now.t);
                    events.push(*event);
                }
            },
        );
        events
    };
    // From 1 m under a force of 2 N: impacts at 1, 2, 2.5, 2.75 s with half the speed each.
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let events = events_of(&ball, vec![1.0], vec![0.0], 2.8);
    assert_eq!(events.len(), 4);
    let mut speed = 2.0;
    for (event, t) in events.iter().zip([1.0, 2.0, 2.5, 2.75]) {
        assert_eq!(event.kind, EventKind::Impact);
        assert!((event.t - t).abs() < 1e-4, "{event:?}");
        assert!((event.velocity_before[0] + speed).abs() < 1e-3);
        assert!((event.velocity_after[0] - 0.5 * speed).abs() < 1e-3);
        assert!((event.impulse[0] - 1.5 * speed).abs() < 1e-3);
        assert!((event.energy_lost - 0.375 * speed * speed).abs() < 1e-3);
        speed *= 0.5;
    }
    // It slides from sin t = 5/8 on, until 8 (cos t₁ − cos t) = 5 (t − t₁).
    let events = events_of(&Dragged, vec![0.0; 2], vec![0.0; 2], 3.7);
    let kinds: Vec<EventKind> = events.iter().map(|e| e.kind).collect();
    use EventKind::{Slip, Stick};
    // It rests from the start: nothing closes.
    assert_eq!(kinds, [Slip, Stick], "{events:?}");
    let begin = 0.625_f64.asin();
    let (mut a, mut b) = (3.0_f64, 3.7_f64);
    for _ in 0..60 {
        let t = 0.5 * (a + b);
        let moves = 8.0 * (begin.cos() - t.cos()) > 5.0 * (t - begin);
        if moves { a = t } else { b = t }
    }
    for (event, t) in events.iter().zip([begin, a]) {
        assert!((event.t - t).abs() < 0.05, "{event:?} at {t}");
    }
}
