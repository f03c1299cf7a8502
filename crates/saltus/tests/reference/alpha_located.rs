//! `generalized-alpha-located.json`: impacts located inside the step.

use crate::entries::{Entry, Outcome, check, leave_out, read};
use crate::event_driven::Motion;
use crate::rocking::{Angle, Rocking};
use crate::run::count;
use saltus::analysis::order;
use saltus_integrators::{
    Event, EventKind, Impacts, Integrator, LocationCounts, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, StepReport,
};
use saltus_system::{State, System};
use saltus_zoo::{Ball, BouncingPendulum, Linear, RockingBlock, oscillator, two_masses};
use std::f64::consts::PI;

const FILE: &str = "generalized-alpha-located.json";

/// The scheme with located impacts.
pub fn located(rho: f64) -> NonsmoothGeneralizedAlphaOptions {
    NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Located,
        rho_inf: Some(rho),
        tolerance: 1e-13,
        ..NonsmoothGeneralizedAlphaOptions::default()
    }
}

/// What a run left.
pub struct Run {
    pub state: State,
    pub events: Vec<Event>,
    pub counts: LocationCounts,
    /// Impulse over the last step [N·s].
    pub impulse: Vec<f64>,
    /// Non-impulsive force at the end of the last step [N].
    pub force: Vec<f64>,
}

impl Run {
    /// Instants of the impacts, each once.
    pub fn times(&self) -> Vec<f64> {
        let impacts = self.events.iter().filter(|e| e.kind == EventKind::Impact);
        let mut times: Vec<f64> = impacts.map(|e| e.t).collect();
        times.dedup();
        times
    }

    pub fn flat(&self) -> Vec<f64> {
        [&self.state.q[..], &self.state.v[..]].concat()
    }
}

/// Runs `steps` steps of length `h` [s].
pub fn run(
    system: &dyn System,
    options: &NonsmoothGeneralizedAlphaOptions,
    start: &State,
    (h, steps): (f64, u64),
    mut see: impl FnMut(&State, &StepReport, &NonsmoothGeneralizedAlpha),
) -> Run {
    let mut scheme = NonsmoothGeneralizedAlpha::new(options.clone()).unwrap();
    let mut state = start.clone();
    scheme.prepare(system, &state, h).unwrap();
    let mut events = Vec::new();
    for k in 1..=steps {
        let end = start.t + k as f64 * h;
        let report = scheme
            .step(system, &mut state, h, end)
            .unwrap_or_else(|error| panic!("step {k}: {error}"));
        events.extend_from_slice(scheme.events());
        see(&state, &report, &scheme);
    }
    let r = scheme.reactions();
    Run {
        state,
        events,
        counts: scheme.located(),
        impulse: r.impulse.to_vec(),
        force: r.force.to_vec(),
    }
}

fn at_rest(q: &[f64]) -> State {
    State::new(0.0, q.to_vec(), vec![0.0; q.len()])
}

fn numbers(entry: &Entry, name: &str) -> Vec<f64> {
    let list = entry.parameters[name].as_array().unwrap();
    list.iter().map(|x| x.as_f64().unwrap()).collect()
}

fn rho(entry: &Entry) -> f64 {
    entry.parameters["rho"].as_f64().unwrap_or(0.8)
}

/// Length and number of the steps.
fn steps(entry: &Entry) -> (f64, u64) {
    let p = &entry.parameters;
    let steps = p["steps"].as_u64();
    match (p["h"].as_f64(), p["T"].as_f64()) {
        (Some(h), Some(until)) => (h, steps.unwrap_or_else(|| count(until, h))),
        (Some(h), None) => (h, steps.unwrap()),
        (None, until) => {
            let steps = steps.unwrap();
            (until.unwrap() / steps as f64, steps)
        }
    }
}

fn ball(entry: &Entry) -> Outcome {
    let e = entry.number("e");
    let system = Ball {
        mass: 1.0,
        force: -10.0,
        restitution: e,
    };
    let v0 = entry.parameters["v0"].as_f64().unwrap_or(0.0);
    let start = State::new(0.0, vec![entry.number("q0")], vec![v0]);
    let energy = |s: &State| 0.5 * s.v[0] * s.v[0] + 10.0 * s.q[0];
    if entry.id.starts_with("zeno") {
        return zeno(entry, &system, &start);
    }
    if entry.scheme == "PVA-star" {
        return Outcome::Ours(vec![captured_energy(&system, &start, steps(entry).0)]);
    }
    let run = run(
        &system,
        &located(rho(entry)),
        &start,
        steps(entry),
        |_, _, _| {},
    );
    Outcome::Ours(match entry.quantity.as_str() {
        "E/E0-1 after 100 impacts" | "E/E0-1" => vec![energy(&run.state) / energy(&start) - 1.0],
        "first impact time" => run.times()[..1].to_vec(),
        "[q,v](T)" => run.flat(),
        "impact times" => run.times(),
        "[q,v,P]" => [run.flat(), run.impulse].concat(),
        other => panic!("{}: {other}", entry.id),
    })
}

/// The share of its energy that a ball with e = 1 keeps with captured impacts. The reference's value is the one between
/// the fourteenth impact and the next: each impact loses some 4 %, and by the 8899 steps that the entry names the ball rests.
fn captured_energy(system: &Ball, start: &State, h: f64) -> f64 {
    let options = NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Captured,
        ..located(0.8)
    };
    let energy = |s: &State| 0.5 * s.v[0] * s.v[0] + 10.0 * s.q[0];
    let (mut impacts, mut kept) = (0, f64::NAN);
    run(system, &options, start, (h, 8899), |state, _, scheme| {
        impacts += u32::from(scheme.reactions().impulse[0] > 0.0);
        if impacts == 14 {
            kept = energy(state) / energy(start);
        }
    });
    kept
}

/// Impacts that accumulate.
fn zeno(entry: &Entry, system: &Ball, start: &State) -> Outcome {
    let (e, h) = (entry.number("e"), entry.number("h"));
    let exact = (2.0 * start.q[0] / 10.0_f64).sqrt() * (1.0 + e) / (1.0 - e);
    if entry.quantity == "accumulation time" {
        return Outcome::Ours(vec![exact]);
    }
    let options = NonsmoothGeneralizedAlphaOptions {
        max_impacts: Some(6),
        shortest_flight: Some(0.25),
        ..located(0.8)
    };
    let mut rest = f64::NAN;
    let steps = count(exact, h) + 20;
    let run = run(system, &options, start, (h, steps), |state, _, scheme| {
        let closed = scheme.levels().closed_smooth[0];
        if closed && state.v[0].abs() < 1e-12 && rest.is_nan() {
            rest = state.t;
        }
    });
    let bound = h + 0.25 * h / (1.0 - e);
    assert!(
        (rest - exact).abs() <= bound,
        "{}: {rest} {exact}",
        entry.id
    );
    assert!(run.state.v[0].abs() < 1e-13 && run.state.q[0].abs() < 1e-13);
    assert_eq!(run.counts.fallbacks, 0);
    Outcome::Ours(match entry.quantity.as_str() {
        "end of the first step with the contact closed" => vec![rest],
        "located impacts including the final plastic one" => vec![run.counts.impacts as f64],
        "P/h after rest" => {
            assert!((run.force[0] - 10.0).abs() < 1e-9);
            vec![run.impulse[0] / h]
        }
        other => panic!("{}: {other}", entry.id),
    })
}

fn one_mass(entry: &Entry) -> Outcome {
    let e = entry.parameters["e"].as_f64().unwrap_or(0.9);
    let system = oscillator(1.0, 1.0, -0.3, e);
    let start = at_rest(&[1.0]);
    let until = entry.parameters["T"].as_f64().unwrap_or(12.0);
    if entry.scheme == "exact" {
        let exact = Motion::new(&system, &start, until, 1e-3);
        return Outcome::Ours(match entry.quantity.as_str() {
            "impact times" => exact.impacts.clone(),
            _ => {
                let s = exact.at(until);
                vec![s.q[0], s.v[0]]
            }
        });
    }
    let energy = |s: &State| 0.5 * (s.v[0] * s.v[0] + s.q[0] * s.q[0]);
    if !entry.quantity.starts_with("fitted order") {
        let run = run(
            &system,
            &located(rho(entry)),
            &start,
            steps(entry),
            |_, _, _| {},
        );
        return Outcome::Ours(match entry.quantity.as_str() {
            "[q,v](T)" => run.flat(),
            "E/E0-1" => vec![energy(&run.state) / energy(&start) - 1.0],
            other => panic!("{}: {other}", entry.id),
        });
    }
    let exact = Motion::new(&system, &start, until, 1e-3);
    let end = exact.at(until);
    let samples: Vec<(f64, f64)> = numbers(entry, "steps")
        .into_iter()
        .map(|n| {
            let h = until / n;
            let run = run(&system, &located(0.8), &start, (h, n as u64), |_, _, _| {});
            let error = match entry.quantity.as_str() {
                "fitted order of q" => run.state.q[0] - end.q[0],
                "fitted order of v" => run.state.v[0] - end.v[0],
                _ => run.times()[0] - exact.impacts[0],
            };
            (h, error.abs())
        })
        .collect();
    Outcome::Ours(vec![order::fit(&samples)])
}

fn block(entry: &Entry) -> Outcome {
    let number = |name: &str, otherwise: f64| entry.parameters[name].as_f64().unwrap_or(otherwise);
    let (width, height) = (number("L", 1.0), number("l", 1.5));
    let system = RockingBlock {
        width,
        height,
        inertia: (width * width + height * height) / 12.0,
        restitution: number("e", 0.8),
        ..RockingBlock::default()
    };
    match entry.example.as_str() {
        "rocking block on a closed corner" => {
            let exact = Rocking::new(&system, number("theta0", 0.1), number("T", 0.4));
            Outcome::Ours(match entry.quantity.as_str() {
                "impact times" => exact.impacts,
                _ => exact.end.to_vec(),
            })
        }
        "block falling flat" => {
            let h = entry.number("h");
            let start = at_rest(&[0.0, entry.number("y0"), 0.0]);
            let run = run(&system, &located(0.8), &start, (h, 100), |_, _, _| {});
            Outcome::Ours(match entry.quantity.as_str() {
                "P/h per corner after rest" => run.impulse.iter().map(|p| p / h).collect(),
                _ => {
                    let (a, b) = (&run.events[0], &run.events[1]);
                    assert_eq!(a.t, b.t);
                    vec![a.t, a.impulse[0], b.impulse[0]]
                }
            })
        }
        _ => {
            let start = State::new(0.0, numbers(entry, "q0"), numbers(entry, "v0"));
            if entry.scheme == "exact" {
                let until = entry.number("T");
                let end = Motion::new(&system, &start, until, 1e-3).at(until);
                return Outcome::Ours([end.q, end.v].concat());
            }
            let run = run(
                &system,
                &located(rho(entry)),
                &start,
                steps(entry),
                |_, _, _| {},
            );
            Outcome::Ours(run.flat())
        }
    }
}

fn masses(entry: &Entry) -> Outcome {
    let k = entry.parameters["k"].as_f64().unwrap_or(1e8);
    let e = entry.parameters["e"].as_f64().unwrap_or(0.8);
    let system = two_masses(1.0, k, 1.0, 0.2, 10.0, e);
    let q0 = if entry.parameters["q0"].is_null() {
        vec![1.001, 2.001]
    } else {
        numbers(entry, "q0")
    };
    let start = at_rest(&q0);
    if entry.scheme == "exact" {
        let until = entry.number("T");
        let end = Motion::new(&system, &start, until, 2e-5).at(until);
        return Outcome::Ours([end.q, end.v].concat());
    }
    let energy = |s: &State| {
        let stretch = s.q[1] - s.q[0] - 1.0;
        let kinetic = 0.5 * (s.v[0] * s.v[0] + s.v[1] * s.v[1]);
        kinetic + 0.5 * k * stretch * stretch + 10.0 * (s.q[0] + s.q[1])
    };
    let mut peak = 1.0_f64;
    let run = run(
        &system,
        &located(rho(entry)),
        &start,
        steps(entry),
        |s, _, _| {
            peak = peak.max(energy(s) / energy(&start));
        },
    );
    Outcome::Ours(if entry.quantity == "max E/E0" {
        vec![peak]
    } else {
        run.flat()
    })
}

fn between_walls(entry: &Entry) -> Outcome {
    let system = Linear {
        n: 1,
        mass: vec![(0, 0, 1.0)],
        load: vec![0.0],
        contacts: vec![(0.0, vec![(0, 1.0)], 1.0), (1.0, vec![(0, -1.0)], 1.0)],
        ..Linear::default()
    };
    let start = State::new(0.0, vec![entry.number("q0")], vec![entry.number("v0")]);
    let run = run(&system, &located(0.8), &start, steps(entry), |_, _, _| {});
    Outcome::Ours([run.flat(), vec![run.counts.impacts as f64]].concat())
}

/// Velocities of the pendulum in steps that alternate between 1/2 and 3/2 of their mean.
fn changing_steps(entry: &Entry) -> Outcome {
    let system = BouncingPendulum {
        walls: 0,
        ..BouncingPendulum::default()
    };
    let start = State::new(0.0, system.at(PI / 12.0), vec![0.0; 3]);
    let until = entry.number("T");
    let swing = Angle::of_pendulum(&system, PI / 12.0, None, until).end;
    let (s, c) = swing[0].sin_cos();
    let exact = [-s * swing[1], c * swing[1], swing[1]];
    let options = NonsmoothGeneralizedAlphaOptions {
        impacts: Impacts::Captured,
        ..located(rho(entry))
    };
    let error = |n: f64| {
        let mean = until / n;
        let mut scheme = NonsmoothGeneralizedAlpha::new(options.clone()).unwrap();
        let mut state = start.clone();
        scheme.prepare(&system, &state, 0.5 * mean).unwrap();
        for k in 0..n as u64 {
            let h = if k % 2 == 0 { 0.5 } else { 1.5 } * mean;
            let end = state.t + h;
            scheme.step(&system, &mut state, h, end).unwrap();
        }
        let misses = state.v.iter().zip(&exact).map(|(a, b)| (a - b).abs());
        misses.fold(0.0, f64::max)
    };
    Outcome::Ours(numbers(entry, "steps").into_iter().map(error).collect())
}

/// Not to be had from outside: filters that are not changed with the step.
fn is_ours(entry: &Entry) -> bool {
    entry.id != "varstep_none"
}

#[test]
fn impacts_inside_the_step() {
    let Some(entries) = read(FILE) else { return };
    leave_out(
        FILE,
        &entries,
        is_ours,
        |_| "filters that do not follow the step",
    );
    check("located impacts", &entries, is_ours, |entry| {
        match entry.example.as_str() {
            "ball" => ball(entry),
            "linear oscillator over a floor" => one_mass(entry),
            "ball between two walls" => between_walls(entry),
            name if name.starts_with("two-mass oscillator") => masses(entry),
            name if name.contains("block") => block(entry),
            name if name.starts_with("free pendulum") => changing_steps(entry),
            other => panic!("unknown example {other}"),
        }
    });
}
