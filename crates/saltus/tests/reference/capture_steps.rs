//! `event-capture.json`: exact motions, trajectories step by step, impact problems, errors of single steps.

use crate::entries::{Entry, Outcome, check, leave_out, read};
use crate::run::{record, run};
use saltus::analysis::FilledGraph;
use saltus::analysis::exact::ImpactingMass;
use saltus_integrators::{
    MoreauJeanOptions, ProjectedMoreauJeanOptions, ProjectionMethod, SchatzmanPaoliOptions, Scheme,
    Variant,
};
use saltus_system::{State, System};
use saltus_zoo::{Ball, RingPendulum, corner, newtons_cradle, spring_over_floor, two_masses};

pub const FILE: &str = "event-capture.json";
const VARIANT: &str = "Moreau-Jean variant (87)";

/// What this file asks of exact solutions, norms and the Moreau–Jean scheme.
fn topic(entry: &Entry) -> Option<&'static str> {
    let (id, scheme) = (entry.id.as_str(), entry.scheme.as_str());
    let moreau = ["Moreau-Jean", VARIANT, "mj"].contains(&scheme);
    let counterexample = id.starts_with("energy.counterexample") && !scheme.contains("min(U_k,0)");
    let identity = ["eq84", "eq88", "eq84_withC"].contains(&scheme);
    match () {
        () if scheme == "exact" || scheme == "Hausdorff" => Some("exact"),
        () if scheme == "impact LCP (27)" => Some("impact"),
        () if scheme.starts_with("event-driven") => Some("events"),
        () if scheme == "impact with friction" || scheme == "acceleration modes" => Some("events"),
        () if id.starts_with("run.") && (moreau || projected(entry).is_some()) => Some("run"),
        () if id.ends_with(".sp") => Some("schatzman-paoli"),
        () if id == "local.eq126" => Some("local"),
        () if id.starts_with("order.")
            && (scheme.starts_with("MJ") || scheme.starts_with("SP")) =>
        {
            Some("order")
        }
        () if id.starts_with("adaptive.") => Some("adaptive"),
        () if id.starts_with("ho.") => Some("higher-order"),
        () if id.starts_with("proj.ring") || id.starts_with("proj.ball") => Some("projection"),
        () if id.starts_with("proj.block") => Some("projection"),
        () if id.starts_with("split.") => Some("splitting"),
        () if id == "frmj.slidingblockcombined=True" => Some("sliding block"),
        () if id == "frmj.Housnercombined=True" => Some("Housner's block"),
        () if identity || counterexample || id == "energy.rest_tradeoff" => Some("energy"),
        () => None,
    }
}

/// The method of an entry about projected schemes.
pub fn projected(entry: &Entry) -> Option<ProjectionMethod> {
    let words = format!("{} {}", entry.example, entry.scheme);
    let named = |name: &str| words.split_whitespace().any(|word| word == name);
    match () {
        () if named("combined") => Some(ProjectionMethod::Combined),
        () if named("direct") => Some(ProjectionMethod::Direct),
        () if named("ggl") => Some(ProjectionMethod::Ggl),
        () => None,
    }
}

pub fn is(entry: &Entry, name: &str) -> bool {
    topic(entry) == Some(name)
}

#[test]
fn entries_left_out() {
    let Some(entries) = read(FILE) else { return };
    leave_out(
        FILE,
        &entries,
        |e| topic(e).is_some(),
        |e| match e.scheme.as_str() {
            s if s.contains("min(U_k,0)") => "a variant that the specification rejects",
            s if s.contains("Coulomb") => {
                "gaps of round-off decide whether the block falls at first"
            }
            "closed form" => "a formula of no scheme",
            "LCP" => "the problem alone: see the tests of the solvers",
            _ => "another scheme",
        },
    );
}

fn oscillator(entry: &Entry) -> ImpactingMass {
    let c = entry.parameters["c"].as_f64().unwrap_or(-0.2);
    ImpactingMass::on_spring(1.0, c, 0.8, 1.0, 0.0, 100.0)
}

#[test]
fn exact_motions() {
    let Some(entries) = read(FILE) else { return };
    check(
        "exact motions",
        &entries,
        |e| is(e, "exact"),
        |entry| {
            let ours = match entry.id.as_str() {
                "exact.ball.acc" => {
                    let ball = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 10.0);
                    vec![ball.accumulation().unwrap()]
                }
                "exact.ball.g10" => {
                    let ball = ImpactingMass::under_force(-10.0, 0.8, 0.801, 0.0, 10.0);
                    vec![ball.accumulation().unwrap()]
                }
                "exact.osc.acc" => vec![oscillator(entry).accumulation().unwrap()],
                id if id.starts_with("exact.osc.impacts") => oscillator(entry).impacts()[..6]
                    .iter()
                    .map(|i| i.t)
                    .collect(),
                id if id.starts_with("exact.osc.vplus") => oscillator(entry).impacts()[..6]
                    .iter()
                    .map(|i| i.after)
                    .collect(),
                id if id.starts_with("exact.osc.c=") => {
                    let motion = oscillator(entry);
                    let times = entry.parameters["t"].as_array().unwrap();
                    let states: Vec<_> = times
                        .iter()
                        .map(|t| motion.at(t.as_f64().unwrap()))
                        .collect();
                    states
                        .iter()
                        .map(|s| s.0)
                        .chain(states.iter().map(|s| s.1))
                        .collect()
                }
                "hausdorff.shift" => {
                    let jump = |at: f64| {
                        FilledGraph::polyline([(0.0, 0.0), (at, 0.0), (at, 1.0), (2.0, 1.0)])
                    };
                    vec![jump(1.0).hausdorff(&jump(1.05), 1e-6)]
                }
                id => panic!("{id}: unknown"),
            };
            Outcome::Ours(ours)
        },
    );
}

#[test]
fn trajectories() {
    let Some(entries) = read(FILE) else { return };
    check(
        "trajectories",
        &entries,
        |e| is(e, "run"),
        |entry| {
            let h = entry.number("h");
            let (theta, gamma) = (entry.number("theta"), entry.number("gamma"));
            let scheme = match projected(entry) {
                Some(method) => Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions {
                    method,
                    theta,
                    gamma,
                    ..ProjectedMoreauJeanOptions::default()
                }),
                None => Scheme::MoreauJean(MoreauJeanOptions {
                    theta: Some(theta),
                    gamma,
                    variant: if entry.scheme == VARIANT {
                        Variant::Dissipative
                    } else {
                        Variant::Standard
                    },
                    ..MoreauJeanOptions::default()
                }),
            };
            let ball = Ball {
                mass: 1.0,
                force: -2.0,
                restitution: 0.5,
            };
            let start = |q: Vec<f64>| {
                let n = q.len();
                State::new(0.0, q, vec![0.0; n])
            };
            let rows = |system: &dyn System, q: Vec<f64>, steps| {
                record(system, &scheme, &start(q), h, steps)
            };
            let loaded = |rows: &[crate::run::Row]| {
                rows.iter().filter(|r| r.impulse[0] > 0.0).count() as f64
            };
            let ours = match entry.example.as_str() {
                "ball" | "osc" => {
                    let rows = if entry.example == "ball" {
                        rows(&ball, vec![1.0], 385)
                    } else {
                        rows(&spring_over_floor(1.0, 1.0, 0.0, 0.8), vec![1.0], 385)
                    };
                    let picked = [100, 200, 300, 385].map(|k| &rows[k]);
                    let mut ours: Vec<f64> = picked.iter().map(|r| r.q[0]).collect();
                    ours.extend(picked.iter().map(|r| r.v[0]));
                    if projected(entry).is_none() {
                        ours.push(loaded(&rows));
                    }
                    ours
                }
                example if example.starts_with("two masses") => {
                    let system = two_masses(1.0, 1e3, 1.0, 0.0, 10.0, 0.8);
                    let rows = rows(&system, vec![0.001, 1.0], 1000);
                    let mut ours = Vec::new();
                    for k in [500, 1000] {
                        ours.extend_from_slice(&rows[k].q);
                        ours.extend_from_slice(&rows[k].v);
                    }
                    ours.push(loaded(&rows));
                    ours
                }
                example if example.starts_with("pendulum in a ring") => {
                    let system = RingPendulum::new(0.01, 0.5);
                    let rows = rows(&system, system.horizontal(), 200);
                    let mut ours = Vec::new();
                    for k in [100, 200] {
                        ours.extend_from_slice(&rows[k].q);
                        ours.extend_from_slice(&rows[k].v);
                    }
                    ours.push(crate::run::smallest_gap(&rows));
                    ours
                }
                example => panic!("{example}: unknown"),
            };
            Outcome::Ours(ours)
        },
    );
}

#[test]
fn trajectories_of_schatzman_paoli() {
    let Some(entries) = read(FILE) else { return };
    check(
        "Schatzman–Paoli",
        &entries,
        |e| is(e, "schatzman-paoli"),
        |entry| {
            let scheme = Scheme::SchatzmanPaoli(SchatzmanPaoliOptions::default());
            let ball = Ball {
                mass: 1.0,
                force: -2.0,
                restitution: 0.5,
            };
            let spring = spring_over_floor(1.0, 1.0, 0.0, 0.8);
            let system: &dyn System = if entry.example == "ball" {
                &ball
            } else {
                &spring
            };
            let start = State::new(0.0, vec![1.0], vec![0.0]);
            let rows = record(system, &scheme, &start, entry.number("h"), 386);
            let picked = [100, 200, 300, 385];
            let mut ours: Vec<f64> = picked.iter().map(|k| rows[*k].q[0]).collect();
            // The difference that is centred at a step is the velocity of the next.
            ours.extend(picked.iter().map(|k| rows[k + 1].v[0]));
            Outcome::Ours(ours)
        },
    );
}

/// The number after `key` in a text.
fn number_after(text: &str, key: &str) -> f64 {
    let rest = text.split(key).nth(1).unwrap();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')
        .unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

/// The list after `key` in a text.
fn list_after(text: &str, key: &str) -> Vec<f64> {
    let list = text.split(key).nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|x| x.trim().parse().unwrap()).collect()
}

#[test]
fn impacts() {
    let Some(entries) = read(FILE) else { return };
    check(
        "impacts",
        &entries,
        |e| is(e, "impact"),
        |entry| {
            let restitution = number_after(&entry.example, "e=");
            let (system, v) = if entry.example.starts_with("cradle") {
                let system = newtons_cradle(&list_after(&entry.example, "m=["), restitution);
                (system, list_after(&entry.example, "v=["))
            } else {
                let angle = number_after(&entry.example, "normals=").to_radians();
                let system = corner(&[[0.0, 1.0], [angle.sin(), angle.cos()]], restitution);
                let v = entry.parameters["v"].as_array().unwrap();
                (system, v.iter().map(|v| v.as_f64().unwrap()).collect())
            };
            let start = State::new(0.0, vec![0.0; v.len()], v);
            // All closed contacts take part, those that open too.
            let options = MoreauJeanOptions {
                gamma: 0.0,
                ..MoreauJeanOptions::default()
            };
            let rows = record(&system, &options, &start, 1e-3, 1);
            Outcome::Ours(rows[1].v.clone())
        },
    );
}

/// Specification of the local error around one impact: numerical error minus the formula, both for the step
/// that misses the impact (`P = 0`) and for the one that makes it.
fn local_residual(theta: f64, e: f64, f: f64, v: f64, h: f64, sigma: f64) -> f64 {
    let q = -sigma * h * v - 0.5 * f * (sigma * h) * (sigma * h);
    let before = v + f * h * sigma;
    let exact = ImpactingMass::under_force(f, e, q, v, 10.0).at(h);
    let mut worst = 0.0_f64;
    for (gamma, impact) in [(0.0, false), (3.0, true)] {
        let options = MoreauJeanOptions {
            theta: Some(theta),
            gamma,
            ..MoreauJeanOptions::default()
        };
        let ball = Ball {
            mass: 1.0,
            force: f,
            restitution: e,
        };
        let start = State::new(0.0, vec![q], vec![v]);
        let mut end = (0.0, 0.0, 0.0);
        run(&ball, &options, &start, h, 1, |_, s, _, r| {
            end = (s.q[0], s.v[0], r.impulse[0])
        });
        assert_eq!(end.2 > 0.0, impact);
        let (e_q, e_v) = (exact.0 - end.0, exact.1 - end.1);
        let square = e * sigma * (1.0 - sigma) - 0.5 * (1.0 - sigma) * (1.0 - sigma);
        let (formula_q, formula_v) = if impact {
            (
                -q - h * ((1.0 + e) * (1.0 - theta) - e * sigma) * v - f * h * h * square,
                h * f * (1.0 - sigma - e * sigma),
            )
        } else {
            (
                -q - h * (e * (1.0 - sigma) + 1.0) * v - f * h * h * (square + theta),
                -(1.0 + e) * before,
            )
        };
        worst = worst
            .max((e_q - formula_q).abs())
            .max((e_v - formula_v).abs());
    }
    worst
}

#[test]
fn local_error_around_an_impact() {
    let Some(entries) = read(FILE) else { return };
    check(
        "local error",
        &entries,
        |e| is(e, "local"),
        |_| {
            let mut worst = 0.0_f64;
            for theta in [0.5, 0.7, 1.0] {
                for e in [0.3, 0.5, 0.8] {
                    for sigma in [0.1, 0.37, 0.5, 0.92] {
                        worst = worst.max(local_residual(theta, e, -2.0, -1.3, 0.1, sigma));
                    }
                }
            }
            Outcome::Ours(vec![worst])
        },
    );
}
