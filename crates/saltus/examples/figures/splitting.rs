//! Splitting: what rests, and error against tolerance.

use crate::common::{Points, TIME, column, draw, last, logarithms, run, scheme, table, values};
use saltus::analysis::exact::ImpactingMass;
use saltus::analysis::order;
use serde_json::json;

/// A plastic ball, which lies on the floor after its only impact.
fn rest() {
    let of = |contact: &str, h: f64| {
        let options = json!({ "name": "splitting", "contact": contact });
        run(
            "bouncing-ball-lecture",
            &["parameters.e=0"],
            scheme(options),
            h,
            5.0,
        )
    };
    let mut rows = Vec::new();
    for h in [0.01, 0.005, 0.0025] {
        let [impulses, forces] = ["impulses", "forces"].map(|contact| of(contact, h));
        rows.push(vec![
            format!("{h}"),
            format!("{:.5}", last(&impulses, "q.q")),
            format!("{:.2e}", last(&forces, "q.q")),
            format!("{:.1e}", last(&forces, "v.q")),
        ]);
    }
    let header = [
        "h [s]",
        "height at 5 s, `impulses` [m]",
        "`forces`",
        "its velocity [m/s]",
    ];
    table("Plastic ball", &header, &rows);
    draw(
        "splitting-rest.svg",
        TIME,
        ("height", "m"),
        vec![
            ("impulses, h = 0.1 s", column(&of("impulses", 0.1), "q.q")),
            ("impulses, h = 0.05 s", column(&of("impulses", 0.05), "q.q")),
            ("forces, h = 0.1 s", column(&of("forces", 0.1), "q.q")),
        ],
    );
}

/// Chosen steps on the ball and on the oscillator.
fn tolerance() {
    let tolerances = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];
    let ball = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 5.0);
    let spring = ImpactingMass::on_spring(1.0, 0.0, 0.8, 1.0, 0.0, 10.0);
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (name, case, exact, until) in [
        ("ball", "bouncing-ball-lecture", &ball, 5.0),
        ("oscillator", "linear-oscillator", &spring, 10.0),
    ] {
        let mut points: Points = Vec::new();
        for tolerance in tolerances {
            let options =
                json!({ "name": "splitting", "adaptive": true, "error_tolerance": tolerance });
            let run = run(case, &[], scheme(options), 0.5, until);
            let off = run.t().iter().zip(values(&run, "q.q"));
            let off = off.map(|(t, q)| (q - exact.at(t).0).abs());
            let error = off.fold(0.0, f64::max);
            let outcome = run.outcome().expect("a recorded run");
            rows.push(vec![
                name.to_owned(),
                format!("{tolerance:e}"),
                format!("{error:.1e}"),
                outcome.steps.to_string(),
                outcome.rejected.to_string(),
            ]);
            points.push((tolerance, error));
        }
        println!("{name}: error ~ tol^{:.2}", order::fit(&points));
        curves.push((name, logarithms(&points)));
    }
    let header = [
        "",
        "`error_tolerance`",
        "largest error of `q` [m]",
        "steps",
        "rejected",
    ];
    table("Splitting with chosen steps", &header, &rows);
    draw(
        "splitting-tolerance.svg",
        ("log₁₀ tolerance", ""),
        ("log₁₀ error of q", ""),
        curves,
    );
}

pub fn draw_all() {
    rest();
    tolerance();
}
