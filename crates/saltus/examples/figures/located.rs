//! Impacts located inside the step, beside captured ones, Moreau–Jean and event-driven runs.

use crate::common::{Points, TIME, column, draw, last, logarithms, run, run_every, scheme, table};
use saltus::analysis::order;
use saltus::{EventKind, Scheme, Trajectory};
use serde_json::json;

/// Three numbers of steps in each octave.
const STEPS: [u32; 12] = [
    211, 269, 337, 421, 541, 673, 853, 1087, 1361, 1709, 2153, 2719,
];

fn alpha(impacts: &str, rho_inf: f64) -> Scheme {
    scheme(json!({ "name": "nonsmooth-generalized-alpha", "impacts": impacts, "rho_inf": rho_inf }))
}

fn moreau_jean() -> Scheme {
    scheme(json!({ "name": "moreau-jean" }))
}

fn event_driven() -> Scheme {
    scheme(json!({ "name": "event-driven", "rtol": 1e-13 }))
}

/// Halfway between impact `n` and the next one.
fn between(case: &str, set: &[&str], n: usize, until: f64) -> f64 {
    let run = run(case, set, event_driven(), 1e-2, until);
    let events = &run.outcome().expect("a recorded run").events.list;
    let impacts = events.iter().filter(|e| e.kind == EventKind::Impact);
    let times: Vec<f64> = impacts.map(|e| e.t).collect();
    0.5 * (times[n - 1] + times[n])
}

/// Orders and finest errors of the columns `q` and `v` at `until`.
fn orders(title: &str, file: &str, (case, set): (&str, &[&str]), (q, v): (&str, &str), until: f64) {
    let ends = |run: &Trajectory| [last(run, q), last(run, v)];
    let exact = ends(&run(case, set, event_driven(), until / 500.0, until));
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (name, scheme) in [
        ("located", alpha("located", 0.8)),
        ("captured", alpha("captured", 0.8)),
        ("moreau-jean", moreau_jean()),
    ] {
        let samples: Vec<(f64, [f64; 2])> = STEPS
            .iter()
            .map(|&n| {
                let h = until / f64::from(n);
                let end = ends(&run(case, set, scheme.clone(), h, until));
                (h, [0, 1].map(|k| (end[k] - exact[k]).abs()))
            })
            .collect();
        let of = |k: usize| -> Points { samples.iter().map(|s| (s.0, s.1[k])).collect() };
        let (h, finest) = samples[samples.len() - 1];
        rows.push(vec![
            name.to_owned(),
            format!("{:.2}, {:.2}", order::fit(&of(0)), order::fit(&of(1))),
            format!("{:.1e}, {:.1e}", finest[0], finest[1]),
            format!("{h:.1e}"),
        ]);
        curves.push((name, logarithms(&of(0))));
    }
    let coarse = ends(&run(case, set, event_driven(), until / 20.0, until));
    rows.push(vec![
        "event-driven".to_owned(),
        "–".to_owned(),
        format!(
            "{:.0e}, {:.0e}",
            (coarse[0] - exact[0]).abs(),
            (coarse[1] - exact[1]).abs()
        ),
        format!("{:.1e}", until / 20.0),
    ]);
    table(
        title,
        &["", "orders of `q`, `v`", "errors", "at h [s]"],
        &rows,
    );
    draw(file, ("log₁₀ h", ""), ("log₁₀ error of q", ""), curves);
}

/// A ball that loses nothing, for a minute.
fn ball() {
    let set = ["parameters.e=1"];
    let of = |scheme: Scheme| run_every(200, "bouncing-ball", &set, scheme, 1e-3, 60.0);
    let runs = [
        ("located", of(alpha("located", 0.8))),
        ("captured", of(alpha("captured", 0.8))),
        ("moreau-jean", of(moreau_jean())),
        ("event-driven", of(event_driven())),
    ];
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|(name, run)| {
            let energy = column(run, "energy.total");
            // The ball touches the floor with its centre 0.2 m high.
            let (first, last) = (energy[0].1 - 2.0, energy[energy.len() - 1].1 - 2.0);
            let impacts = run.outcome().map_or(0, |o| o.events.impacts);
            vec![
                (*name).to_owned(),
                impacts.to_string(),
                format!("{:.2e}", last / first - 1.0),
            ]
        })
        .collect();
    table(
        "Ball with e = 1 after 60 s, h = 1e-3",
        &["", "impacts", "change of energy above the floor"],
        &rows,
    );
    let curves = runs
        .iter()
        .map(|(name, run)| (*name, column(run, "energy.total")));
    draw(
        "located-ball-energy.svg",
        TIME,
        ("energy", "J"),
        curves.collect(),
    );
}

/// An oscillator with a hundred elastic impacts, and without any.
fn oscillator() {
    let mut rows = Vec::new();
    for (h, until) in [(0.1013, 375.5191), (0.050_65, 375.569_75)] {
        for rho_inf in [1.0, 0.8, 0.5, 0.0] {
            let change = |c: f64| {
                let set = [
                    format!("parameters.c={c}"),
                    format!("parameters.q0={}", c + 1.0),
                    "parameters.e=1".to_owned(),
                ];
                let set: Vec<&str> = set.iter().map(String::as_str).collect();
                let run = run(
                    "linear-oscillator",
                    &set,
                    alpha("located", rho_inf),
                    h,
                    until,
                );
                let impacts = run.outcome().map_or(0, |o| o.events.impacts);
                (last(&run, "energy.total") / 0.5 - 1.0, impacts)
            };
            let ((with, impacts), (without, none)) = (change(0.3), change(30.0));
            rows.push(vec![
                format!("{h}"),
                format!("{rho_inf}"),
                format!("{with:.1e}"),
                impacts.to_string(),
                format!("{without:.1e}"),
                none.to_string(),
            ]);
        }
    }
    let header = [
        "ωh",
        "`rho_inf`",
        "change of energy",
        "impacts",
        "without impacts",
        "impacts",
    ];
    table("Oscillator with e = 1", &header, &rows);
}

pub fn draw_all() {
    let set = ["parameters.c=0.3", "parameters.q0=1.3", "parameters.e=0.9"];
    let case = ("linear-oscillator", set.as_slice());
    orders(
        "Oscillator, e = 0.9, three impacts",
        "located-oscillator-error.svg",
        case,
        ("q.q", "v.q"),
        12.0,
    );
    let until = between("bouncing-pendulum", &[], 4, 4.0);
    println!("pendulum: until {until}");
    orders(
        "Pendulum, e = 0.8, four impacts",
        "located-pendulum-error.svg",
        ("bouncing-pendulum", &[]),
        ("q.theta", "v.theta"),
        until,
    );
    ball();
    oscillator();
}
