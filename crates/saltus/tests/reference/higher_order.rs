//! `event-capture.json`: the higher-order schemes, orders across impacts, events and the rest rule.

use crate::capture_steps::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::event_driven::Motion;
use saltus::analysis::exact::ImpactingMass;
use saltus::analysis::order;
use saltus_integrators::{HigherOrder, HigherOrderMethod, HigherOrderOptions, Integrator};
use saltus_system::{State, System};
use saltus_zoo::{Ball, RockingBlock, spring_over_floor};

fn run(
    system: &dyn System,
    options: &HigherOrderOptions,
    start: &State,
    (until, steps): (f64, u64),
    mut see: impl FnMut(&State),
) -> (State, HigherOrder) {
    let mut scheme = HigherOrder::new(options.clone()).unwrap();
    let mut state = start.clone();
    let h = until / steps as f64;
    scheme.prepare(system, &state, h).unwrap();
    for k in 1..=steps {
        scheme
            .step(system, &mut state, h, k as f64 * h)
            .unwrap_or_else(|error| panic!("step {k}: {error}"));
        see(&state);
    }
    (state, scheme)
}

fn method(scheme: &str) -> HigherOrderMethod {
    let names = [
        ("radau3(p5)", HigherOrderMethod::Radau5),
        ("radau2(p3)", HigherOrderMethod::Radau3),
        ("gauss1", HigherOrderMethod::Gauss),
        ("midpoint", HigherOrderMethod::Midpoint),
        ("kutta", HigherOrderMethod::Kutta3),
        ("rk4", HigherOrderMethod::Rk4),
        ("dopri", HigherOrderMethod::Dopri5),
    ];
    let found = names.iter().find(|(name, _)| scheme.contains(name));
    found.unwrap_or_else(|| panic!("{scheme}")).1
}

/// Order of the largest error of the position of a mass on a spring of frequency `w` about `centre` over a floor.
fn oscillator_order(options: &HigherOrderOptions, (w, centre, until): (f64, f64, f64)) -> f64 {
    let system = spring_over_floor(1.0, w * w, centre, 0.8);
    let exact = ImpactingMass::on_spring(w, centre, 0.8, 1.0, 0.0, until);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let samples: Vec<(f64, f64)> = order::counts(7, 24, 4, 6)
        .iter()
        .map(|counts| {
            let sample = |n: &u64| {
                let mut error = 0.0_f64;
                run(&system, options, &start, (until, *n), |state| {
                    error = error.max((state.q[0] - exact.at(state.t).0).abs());
                });
                (until / *n as f64, error)
            };
            order::octave_mean(&counts.iter().map(sample).collect::<Vec<_>>())
        })
        .collect();
    println!("{:?} w={w} c={centre}: {samples:?}", options.method);
    order::fit(&samples)
}

fn of_method(method: HigherOrderMethod, bracket: f64) -> HigherOrderOptions {
    HigherOrderOptions {
        method,
        bracket,
        ..HigherOrderOptions::default()
    }
}

fn ball_counts(rest_rule: bool) -> Vec<f64> {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let options = HigherOrderOptions {
        rest_rule,
        ..of_method(HigherOrderMethod::Radau3, 1.0)
    };
    let (_, scheme) = run(&ball, &options, &start, (5.0, 23), |_| {});
    let counts = scheme.counts();
    vec![counts.events as f64, counts.runge_kutta as f64]
}

/// Order and finest error of the position at the end, against the motion from event to event.
fn block_order(options: &HigherOrderOptions) -> (f64, f64) {
    let block = RockingBlock::default();
    let start = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    let exact = Motion::new(&block, &start, 0.55, 1e-4).at(0.55);
    let samples: Vec<(f64, f64)> = [11, 17, 23, 37, 47, 71, 97]
        .iter()
        .map(|&n| {
            let (end, _) = run(&block, options, &start, (0.55, n), |_| {});
            let pairs = end.q.iter().zip(&exact.q);
            let error = pairs.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            (0.55 / n as f64, error)
        })
        .collect();
    println!("rocking block, {:?}: {samples:?}", options.method);
    (order::fit(&samples), samples[samples.len() - 1].1)
}

#[test]
fn orders_events_and_the_rest_rule() {
    let Some(entries) = read(FILE) else { return };
    check(
        "higher order",
        &entries,
        |e| is(e, "higher-order"),
        |entry: &Entry| match entry.id.as_str() {
            "ho.ballrest=True" => Outcome::Ours(ball_counts(true)),
            "ho.ballrest=False" => {
                let ours = ball_counts(false);
                let known = vec![(0, 59.0, 0.0), (1, 401.0, 0.0)];
                Outcome::Differs {
                    ours,
                    known,
                    reason: "without the rest rule too a contact is closed here whose velocity is that of round-off",
                }
            }
            "ho.block_ho_radau2(p3)" => {
                let (order, finest) = block_order(&of_method(HigherOrderMethod::Radau3, 1.0));
                Outcome::Ours(vec![order, finest])
            }
            id if id.starts_with("ho.osc|") => {
                let options = HigherOrderOptions {
                    bracket_exponent: Some(if id.ends_with('2') { 2 } else { 3 }),
                    ..of_method(HigherOrderMethod::Radau5, 1.0)
                };
                Outcome::Ours(vec![oscillator_order(&options, (1.0, 0.0, 10.0))])
            }
            _ => {
                let method = method(&entry.scheme);
                let bracket = if entry.scheme.ends_with("C=0.01") {
                    1e-2
                } else {
                    1e-3
                };
                let centre = if entry.example.contains("c=0.3") {
                    0.3
                } else {
                    0.0
                };
                let options = of_method(method, bracket);
                Outcome::Ours(vec![oscillator_order(&options, (3.0, centre, 6.0))])
            }
        },
    );
}

/// Two contacts, curved: the fifth order arrives at the round-off of the reference.
#[test]
fn the_rocking_block_converges_to_the_motion_from_event_to_event() {
    let (order, finest) = block_order(&HigherOrderOptions::default());
    println!("order {order:.2}, finest {finest:e}");
    assert!(finest < 2e-11, "{finest:e}");
}

/// The bracket dominates where it is wide: one order more than the method has.
#[test]
fn accumulations_cost_no_order() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let exact = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 5.0);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let options = of_method(HigherOrderMethod::Radau5, 1.0);
    let samples: Vec<(f64, f64)> = [17, 23, 31, 43, 59, 83]
        .iter()
        .map(|&n| {
            let mut error = 0.0_f64;
            run(&ball, &options, &start, (5.0, n), |state| {
                error = error.max((state.q[0] - exact.at(state.t).0).abs());
            });
            (5.0 / n as f64, error)
        })
        .collect();
    let order = order::fit(&samples);
    println!("ball: order {order:.2}, {samples:?}");
    assert!(order > 5.0, "{order}");
}
