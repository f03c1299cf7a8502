//! Event-driven runs: an accumulation, a detachment, impact laws.

use crate::common::{Points, TIME, column, draw, last, run, scheme, table};
use saltus::{EventKind, Trajectory};
use serde_json::json;

/// Times of the events of a kind.
fn times(run: &Trajectory, kind: EventKind) -> Vec<f64> {
    let events = &run.outcome().expect("a recorded run").events;
    let of_kind = events.list.iter().filter(|e| e.kind == kind);
    of_kind.map(|e| e.t).collect()
}

#[allow(clippy::cast_precision_loss)]
fn accumulation() {
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (name, v_acc) in [("v_acc = 1e-3", 1e-3), ("1e-5", 1e-5), ("1e-7", 1e-7)] {
        let options = scheme(json!({ "name": "event-driven", "v_acc": v_acc }));
        let run = run("bouncing-ball-lecture", &[], options, 0.013, 5.005);
        let mut impacts = times(&run, EventKind::Impact);
        let ends = times(&run, EventKind::Accumulation);
        impacts.extend(&ends);
        impacts.sort_by(f64::total_cmp);
        impacts.dedup();
        let rest = ends.first().copied().unwrap_or(f64::NAN);
        rows.push(vec![
            format!("{v_acc:e}"),
            impacts.len().to_string(),
            format!("{rest:.9}"),
            format!("{:.1e}", (rest - 3.0).abs()),
        ]);
        let left: Points = (impacts.iter().enumerate())
            .map(|(k, t)| ((k + 1) as f64, (3.0 - t).log10()))
            .collect();
        curves.push((name, left));
    }
    let header = ["v_acc [m/s]", "impacts", "at rest since [s]", "error [s]"];
    table("Ball, exact time of rest 3 s", &header, &rows);
    curves.reverse();
    draw(
        "event-accumulation.svg",
        ("impact", ""),
        ("log₁₀ (3 s − t)", ""),
        curves,
    );
}

fn ring() {
    let options = scheme(json!({ "name": "event-driven" }));
    let run = run(
        "pendulum-in-a-ring",
        &["parameters.e=0"],
        options,
        1e-3,
        1.0,
    );
    println!(
        "ring: impacts {:?}, opens {:?}",
        times(&run, EventKind::Impact),
        times(&run, EventKind::Open)
    );
    draw(
        "event-ring-gap.svg",
        TIME,
        ("gap", "m"),
        vec![("pin in ring", column(&run, "gap.ring"))],
    );
    draw(
        "event-ring-force.svg",
        TIME,
        ("force", "N"),
        vec![("pin on ring", column(&run, "force.ring"))],
    );
}

fn cradle() {
    let mut rows = Vec::new();
    for law in ["newton", "poisson", "sequential", "energetic"] {
        let options = scheme(json!({ "name": "event-driven", "impact_law": law }));
        let run = run("three-balls", &[], options, 1e-3, 0.5);
        let velocities = ["v.x1", "v.x2", "v.x3"].map(|name| last(&run, name));
        rows.push(vec![
            format!("`{law}`"),
            velocities.map(|v| format!("{v:.6}")).join(", "),
            format!("{:.1e}", last(&run, "energy.total") - 0.5),
        ]);
        if law == "newton" || law == "sequential" {
            let curves = [
                ("first ball", "q.x1"),
                ("second", "q.x2"),
                ("third", "q.x3"),
            ];
            draw(
                &format!("event-cradle-{law}.svg"),
                TIME,
                ("position", "m"),
                curves.map(|(name, q)| (name, column(&run, q))).to_vec(),
            );
        }
    }
    let header = [
        "`impact_law`",
        "velocities after [m/s]",
        "energy gained [J]",
    ];
    table("Three balls, e = 1", &header, &rows);
}

pub fn draw_all() {
    accumulation();
    ring();
    cradle();
}
