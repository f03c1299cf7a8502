//! Projected positions beside Moreau–Jean: a pendulum whose pin has 1 cm of clearance in its ring.

use crate::common::{TIME, column, draw, last, run, scheme, table, values};
use saltus::{Scheme, Trajectory};
use serde_json::json;

const SET: [&str; 2] = ["parameters.c=0.01", "parameters.e=0"];

fn moreau_jean() -> Scheme {
    scheme(json!({ "name": "moreau-jean" }))
}

fn projected(method: &str) -> Scheme {
    scheme(json!({ "name": "moreau-jean-projected", "method": method }))
}

fn ring(scheme: Scheme, h: f64) -> Trajectory {
    run("pendulum-in-a-ring", &SET, scheme, h, 1.0)
}

fn deepest(run: &Trajectory) -> f64 {
    values(run, "gap.ring")
        .into_iter()
        .fold(0.0, |m: f64, g| m.max(-g))
}

pub fn draw_all() {
    let steps = [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4];
    let mut rows = Vec::new();
    for (name, scheme) in [
        ("`moreau-jean`", moreau_jean()),
        ("`combined`", projected("combined")),
        ("`ggl`", projected("ggl")),
        ("`direct`", projected("direct")),
    ] {
        let runs = steps.map(|h| ring(scheme.clone(), h));
        let mut row = vec![name.to_owned()];
        row.extend(runs.iter().map(|run| format!("{:.1e}", deepest(run))));
        row.push(format!("{:.4}", last(&runs[4], "energy.total")));
        rows.push(row);
    }
    table(
        "Ring, deepest penetration [m]",
        &[
            "",
            "h = 4e-3",
            "2e-3",
            "1e-3",
            "5e-4",
            "2.5e-4",
            "energy at 1 s, h = 2.5e-4 [J]",
        ],
        &rows,
    );
    let curve = |scheme, h| column(&ring(scheme, h), "gap.ring");
    draw(
        "projected-ring-gap.svg",
        TIME,
        ("gap", "m"),
        vec![
            ("moreau-jean, h = 4 ms", curve(moreau_jean(), 4e-3)),
            ("moreau-jean, h = 1 ms", curve(moreau_jean(), 1e-3)),
            ("projected, h = 4 ms", curve(projected("combined"), 4e-3)),
        ],
    );
}
