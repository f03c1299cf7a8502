//! The higher-order schemes: order across impacts, detachment, rest, constraints.

use saltus_integrators::{
    Entry, EventDriven, EventDrivenOptions, EventKind, HigherOrder, HigherOrderMethod,
    HigherOrderOptions, Integrator, StepReport,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, ForceKind,
    Kinematics, MatrixSink, Point, Reach, State, Structure, System,
};
use saltus_zoo::{
    Ball, BouncingPendulum, Linear, RockingBlock, SpinningBody, corner, newtons_cradle,
    spring_over_floor,
};
use std::f64::consts::PI;

const METHODS: [(HigherOrderMethod, f64); 7] = [
    (HigherOrderMethod::Gauss, 2.0),
    (HigherOrderMethod::Midpoint, 2.0),
    (HigherOrderMethod::Radau3, 3.0),
    (HigherOrderMethod::Kutta3, 3.0),
    (HigherOrderMethod::Rk4, 4.0),
    (HigherOrderMethod::Radau5, 5.0),
    (HigherOrderMethod::Dopri5, 5.0),
];

fn options(method: HigherOrderMethod) -> HigherOrderOptions {
    HigherOrderOptions {
        method,
        ..HigherOrderOptions::default()
    }
}

/// Runs `steps` steps to `until` and shows every one.
fn run(
    system: &dyn System,
    options: &HigherOrderOptions,
    start: &State,
    (until, steps): (f64, u32),
    mut see: impl FnMut(&State, &StepReport, &HigherOrder),
) -> (State, HigherOrder) {
    let mut scheme = HigherOrder::new(options.clone()).unwrap();
    let mut state = start.clone();
    let h = (until - start.t) / f64::from(steps);
    scheme.prepare(system, &state, h).unwrap();
    for k in 1..=steps {
        let end = start.t + f64::from(k) * h;
        let report = match scheme.step(system, &mut state, h, end) {
            Ok(report) => report,
            Err(error) => {
                let events = scheme.events();
                let last = &events[events.len().saturating_sub(12)..];
                panic!("step {k}: {error}\n{state:?}\n{last:#?}");
            }
        };
        see(&state, &report, &scheme);
    }
    (state, scheme)
}

/// Slope of `ln error` over `ln h` by least squares.
fn order(samples: &[(f64, f64)]) -> f64 {
    let n = samples.len() as f64;
    let logs: Vec<(f64, f64)> = samples.iter().map(|(h, e)| (h.ln(), e.ln())).collect();
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|l| l.0), mean(&|l| l.1));
    mean(&|l| (l.0 - x) * (l.1 - y)) / mean(&|l| (l.0 - x).powi(2))
}

fn largest(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// `q` of a mass of frequency `w` that starts at 1 over a floor at 0.
fn oscillation(w: f64, e: f64, t: f64) -> f64 {
    let first = 0.5 * PI / w;
    if t < first {
        return (w * t).cos();
    }
    let arc = ((t - first) * w / PI).floor();
    e.powf(arc + 1.0) * (w * (t - first) - arc * PI).sin()
}

#[test]
fn orders_across_impacts() {
    let (w, e) = (3.0, 0.8);
    let system = spring_over_floor(1.0, w * w, 0.0, e);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    for (method, p) in METHODS {
        let options = HigherOrderOptions {
            bracket: if p == 2.0 { 1e-2 } else { 1e-3 },
            ..options(method)
        };
        let mut samples = Vec::new();
        for steps in [29, 37, 53, 71, 89, 107, 139, 167, 211, 263, 331, 383] {
            let mut error = 0.0_f64;
            run(&system, &options, &start, (6.0, steps), |state, _, _| {
                error = error.max((state.q[0] - oscillation(w, e, state.t)).abs());
            });
            samples.push((6.0 / f64::from(steps), error));
        }
        let measured = order(&samples);
        println!(
            "{method:?}: order {measured:.2}, finest error {:.1e}",
            samples[11].1
        );
        assert!((measured - p).abs() < 0.4, "{method:?}: {measured}");
    }
}

#[test]
fn a_ball_rests_by_the_rest_rule() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let options = HigherOrderOptions {
        bracket: 1.0,
        ..options(HigherOrderMethod::Radau3)
    };
    let mut impacts = 0;
    let (end, scheme) = run(&ball, &options, &start, (5.0, 23), |_, _, scheme| {
        let events = scheme.events().iter();
        impacts += events.filter(|e| e.kind == EventKind::Impact).count();
    });
    println!("{:?}, {impacts} impacts, {end:?}", scheme.counts());
    assert_eq!(scheme.counts().rested, 1);
    assert_eq!(end.v[0], 0.0);
    // Weight times the last step.
    assert!((scheme.reactions().impulse[0] - 2.0 * 5.0 / 23.0).abs() < 1e-13);
    let without = HigherOrderOptions {
        rest_rule: false,
        ..options
    };
    let (_, all) = run(&ball, &without, &start, (5.0, 23), |_, _, _| {});
    println!("without the rest rule: {:?}", all.counts());
    assert!(all.counts().events > 5 * scheme.counts().events);
}

#[test]
fn a_ball_keeps_its_energy_where_it_rebounds_fully() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 1.0,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let (end, scheme) = run(
        &ball,
        &options(HigherOrderMethod::Radau5),
        &start,
        (20.0, 211),
        |_, report, _| {
            assert!(report.certificate.get(Entry::EnergyBalance).abs() < 1e-9);
        },
    );
    let energy = 0.5 * end.v[0] * end.v[0] + 2.0 * end.q[0];
    assert!((energy - 2.0).abs() < 1e-9, "{energy}");
    assert_eq!(scheme.counts().events, 10);
}

/// A mass on the floor under the force `−cos t`.
struct Pressed;

impl Kinematics for Pressed {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Pressed {
    fn structure(&self) -> Structure {
        Structure {
            force: ForceKind::Affine,
            ..Structure::LINEAR
        }
    }
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force[0] = -at.t.cos();
    }
}

impl Constraints for Pressed {}

impl Contacts for Pressed {
    fn contact_count(&self) -> usize {
        1
    }
    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(ContactId(0), ContactLaw::frictionless(0.5), q[0]);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
    }
    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        set.gap[0] = q[0];
    }
}

impl System for Pressed {}

/// The contact opens at `π/2`: `q = cos t − π/2 + t`.
#[test]
fn a_contact_opens_when_nothing_presses() {
    let start = State::new(0.0, vec![0.0], vec![0.0]);
    for (method, p) in METHODS {
        let mut samples = Vec::new();
        for steps in [7, 11, 17, 23, 37] {
            let mut opened = Vec::new();
            let (end, _) = run(
                &Pressed,
                &options(method),
                &start,
                (3.0, steps),
                |_, _, s| {
                    let events = s.events().iter();
                    opened.extend(events.filter(|e| e.kind == EventKind::Open).map(|e| e.t));
                },
            );
            assert_eq!(opened.len(), 1, "{method:?} {steps}");
            assert!((opened[0] - 0.5 * PI).abs() < 1e-3, "{opened:?}");
            let exact = 3.0_f64.cos() - 0.5 * PI + 3.0;
            samples.push((3.0 / f64::from(steps), (end.q[0] - exact).abs()));
        }
        let measured = order(&samples);
        println!("{method:?}: {measured:.2} {samples:?}");
        assert!(
            measured > p - 0.5 || samples[4].1 < 1e-12,
            "{method:?}: {measured}"
        );
    }
}

#[test]
fn constraints_hold_and_cost_no_order() {
    let pendulum = BouncingPendulum {
        wall: -10.0,
        ..BouncingPendulum::default()
    };
    let start = State::new(0.0, pendulum.at(0.0), vec![0.0; 3]);
    let (fine, _) = run(
        &pendulum,
        &options(HigherOrderMethod::Radau5),
        &start,
        (1.0, 1000),
        |_, _, _| {},
    );
    for (method, p) in METHODS {
        let mut samples = Vec::new();
        for steps in [23, 41, 67, 109, 173] {
            let (end, _) = run(
                &pendulum,
                &options(method),
                &start,
                (1.0, steps),
                |_, r, _| {
                    let c = &r.certificate;
                    assert!(c.get(Entry::BilateralPosition) < 1e-13);
                    assert!(c.get(Entry::BilateralVelocity) < 1e-12);
                },
            );
            samples.push((1.0 / f64::from(steps), largest(&end.q, &fine.q)));
        }
        let measured = order(&samples);
        println!("{method:?}: {measured:.2} {samples:?}");
        // That of Dormand and Prince is reached from below.
        assert!(measured > p - 0.7, "{method:?}: {measured}");
    }
}

#[test]
fn a_spinning_body_turns_with_the_order_of_the_method() {
    let body = SpinningBody {
        mass: 1.0,
        inertia: [1.0, 0.1, 0.0, 0.1, 2.0, 0.2, 0.0, 0.2, 3.0],
        force: [0.0, 0.0, -1.0],
    };
    let start = State::new(
        0.0,
        vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        vec![0.0, 0.0, 0.0, 1.0, 2.0, 0.5],
    );
    let dopri = options(HigherOrderMethod::Dopri5);
    let (fine, _) = run(&body, &dopri, &start, (1.0, 1000), |_, _, _| {});
    for (method, p) in METHODS {
        let mut samples = Vec::new();
        for steps in [11, 19, 31] {
            let (end, _) = run(&body, &options(method), &start, (1.0, steps), |_, r, _| {
                assert!(r.certificate.get(Entry::QuaternionNorm) < 1e-14);
            });
            samples.push((1.0 / f64::from(steps), largest(&end.q, &fine.q)));
        }
        let measured = order(&samples);
        println!("{method:?}: {measured:.2} {samples:?}");
        assert!((measured - p).abs() < 0.5, "{method:?}: {measured}");
    }
}

#[test]
fn a_rocking_block_comes_to_stand_on_both_corners() {
    let block = RockingBlock::default();
    let start = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    for method in [HigherOrderMethod::Radau5, HigherOrderMethod::Rk4] {
        let (end, scheme) = run(&block, &options(method), &start, (5.0, 500), |_, _, _| {});
        let impulse = scheme.reactions().impulse;
        println!("{method:?} {:?} {end:?}", scheme.counts());
        assert!(
            (impulse.iter().sum::<f64>() - 9.81 * 1e-2).abs() < 1e-11,
            "{impulse:?}"
        );
        assert!(end.v.iter().all(|v| v.abs() < 1e-11), "{end:?}");
    }
}

const GRAVITY: f64 = 9.81;

/// Balls of the given masses above each other over a floor, by their heights above the stack at rest.
fn stack(masses: &[f64], restitution: f64) -> Linear {
    let mut stack = newtons_cradle(masses, restitution);
    stack.load = masses.iter().map(|m| -GRAVITY * m).collect();
    stack.contacts.insert(0, (0.0, vec![(0, 1.0)], restitution));
    stack
}

/// A particle of mass 1 in gravity between two walls whose normals make the given angle [degrees].
fn wedge(degrees: f64, restitution: f64) -> Linear {
    let (s, c) = (0.5 * degrees.to_radians()).sin_cos();
    let mut wedge = corner(&[[s, c], [-s, c]], restitution);
    wedge.load = vec![0.0, -GRAVITY];
    wedge
}

/// The time after which nothing moves, with the event-driven scheme.
fn rest_time(system: &dyn System, start: &State, (until, steps): (f64, u32)) -> f64 {
    let options = EventDrivenOptions {
        v_acc: Some(1e-8),
        ..EventDrivenOptions::default()
    };
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = start.clone();
    let h = until / f64::from(steps);
    scheme.prepare(system, &state, h).unwrap();
    let mut last = 0.0;
    for k in 1..=steps {
        let end = f64::from(k) * h;
        while state.t < end {
            scheme.step(system, &mut state, h, end).unwrap();
            last = scheme.events().last().map_or(last, |event| event.t);
        }
    }
    assert!(largest(&state.v, &vec![0.0; state.v.len()]) < 1e-12);
    last
}

/// Several contacts whose impacts accumulate together are closed together, and carry the weight from then on.
#[test]
fn accumulations_of_several_contacts_end_at_rest() {
    let g = GRAVITY;
    let c = 30.0_f64.to_radians().cos();
    let cases: [(&str, Linear, Vec<f64>, Vec<f64>); 10] = [
        (
            "2 balls",
            stack(&[1.0, 1.0], 0.5),
            vec![0.4, 0.5],
            vec![2.0 * g, g],
        ),
        (
            "2 balls, e = 0.8",
            stack(&[1.0, 1.0], 0.8),
            vec![0.4, 0.5],
            vec![2.0 * g, g],
        ),
        (
            "light on heavy",
            stack(&[100.0, 1.0], 0.5),
            vec![0.4, 0.5],
            vec![101.0 * g, g],
        ),
        (
            "heavy on light",
            stack(&[1.0, 100.0], 0.5),
            vec![0.4, 0.5],
            vec![101.0 * g, 100.0 * g],
        ),
        (
            "3 balls",
            stack(&[1.0, 2.0, 3.0], 0.5),
            vec![0.4, 0.5, 0.6],
            vec![6.0 * g, 5.0 * g, 3.0 * g],
        ),
        (
            "30°",
            wedge(30.0, 0.2),
            vec![0.01, 0.05],
            vec![0.5 * g / 15.0_f64.to_radians().cos(); 2],
        ),
        (
            "150°",
            wedge(150.0, 0.5),
            vec![0.01, 0.5],
            vec![0.5 * g / 75.0_f64.to_radians().cos(); 2],
        ),
        (
            "60°",
            wedge(60.0, 0.5),
            vec![0.1, 1.0],
            vec![0.5 * g / c; 2],
        ),
        (
            "90°",
            wedge(90.0, 0.5),
            vec![0.1, 1.0],
            vec![0.5_f64.sqrt() * g; 2],
        ),
        ("120°", wedge(120.0, 0.5), vec![0.1, 1.0], vec![g; 2]),
    ];
    for (name, system, q, forces) in cases {
        let start = State::new(0.0, q.clone(), vec![0.0; q.len()]);
        let (until, steps) = (8.0, 400);
        let expected = rest_time(&system, &start, (until, steps));
        let methods = [HigherOrderMethod::Radau5, HigherOrderMethod::Rk4];
        // What counts as closed, and how exact the end of the accumulation is.
        let tolerances = [(None, 1e-4), (Some(1e-15), 3e-5)];
        for (method, (activation_tolerance, near)) in
            methods.into_iter().flat_map(|m| tolerances.map(|t| (m, t)))
        {
            let options = HigherOrderOptions {
                activation_tolerance,
                ..options(method)
            };
            let mut last = 0.0;
            let (end, scheme) = run(&system, &options, &start, (until, steps), |_, _, scheme| {
                last = scheme.events().last().map_or(last, |event| event.t);
            });
            println!(
                "{name} {method:?}: at rest at {last} ({expected}), {:?}",
                scheme.counts()
            );
            assert!(largest(&end.q, &vec![0.0; q.len()]) < 1e-13, "{end:?}");
            assert!(largest(&end.v, &vec![0.0; q.len()]) < 1e-13, "{end:?}");
            let h = until / f64::from(steps);
            for (impulse, force) in scheme.reactions().impulse.iter().zip(&forces) {
                assert!(
                    (impulse - h * force).abs() < 1e-12 * h * force,
                    "{impulse} {force}"
                );
            }
            // The last impacts of different contacts may come in either order, as close as the round-off of gaps lets them.
            assert!((last - expected).abs() < near, "{last} {expected}");
        }
    }
}

/// A contact that overlaps by less than anything is closed at the start, without an event.
#[test]
fn a_ball_on_the_floor_to_round_off_rests_without_events() {
    let ball = Ball {
        mass: 1.0,
        force: -9.81,
        restitution: 0.7,
    };
    let start = State::new(0.0, vec![-1e-12], vec![0.0]);
    let (end, scheme) = run(
        &ball,
        &options(HigherOrderMethod::Radau5),
        &start,
        (1.0, 10),
        |_, _, scheme| {
            assert!(scheme.events().is_empty(), "{:?}", scheme.events());
        },
    );
    assert_eq!((end.v[0], scheme.counts().rested), (0.0, 0));
    assert!(end.q[0].abs() < 1e-15);
}

#[test]
fn a_saved_run_goes_on_bit_for_bit() {
    let block = RockingBlock::default();
    let start = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    let h = 5.0 / 500.0;
    let mut whole = HigherOrder::new(HigherOrderOptions::default()).unwrap();
    let mut state = start.clone();
    whole.prepare(&block, &state, h).unwrap();
    let (mut memory, mut middle) = (Vec::new(), None);
    for k in 1..=300 {
        whole.step(&block, &mut state, h, f64::from(k) * h).unwrap();
        if k == 120 {
            whole.save(&mut memory);
            middle = Some(state.clone());
        }
    }
    let mut again = middle.unwrap();
    let mut part = HigherOrder::new(HigherOrderOptions::default()).unwrap();
    part.prepare(&block, &again, h).unwrap();
    part.load(&memory);
    for k in 121..=300 {
        part.step(&block, &mut again, h, f64::from(k) * h).unwrap();
    }
    assert_eq!(state, again);
}
