//! Chosen steps: error against tolerance, and steps against error, on the ball of the lecture.

use crate::common::{Points, draw, logarithms, run, scheme, table, values};
use saltus::analysis::exact::ImpactingMass;
use saltus::analysis::order;
use saltus::{Scheme, Trajectory};
use serde_json::json;

const UNTIL: f64 = 5.0;

/// Largest error of the height and its integral over time.
fn errors(run: &Trajectory, exact: &ImpactingMass) -> (f64, f64) {
    let mut before = 0.0;
    let (mut largest, mut integral) = (0.0_f64, 0.0);
    for (t, q) in run.t().iter().zip(values(run, "q.q")) {
        let error = (q - exact.at(t).0).abs();
        largest = largest.max(error);
        integral += (t - before) * error;
        before = t;
    }
    (largest, integral)
}

/// Steps of Moreau–Jean that a run took: three per attempt.
#[allow(clippy::cast_precision_loss)]
fn work(run: &Trajectory) -> f64 {
    let outcome = run.outcome().expect("a recorded run");
    3.0 * (outcome.steps + outcome.rejected) as f64
}

pub fn draw_all() {
    let exact = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, UNTIL);
    let ball = |scheme: Scheme, h| run("bouncing-ball-lecture", &[], scheme, h, UNTIL);
    let adaptive = |tolerance: f64, violation: bool| {
        ball(
            scheme(json!({
                "name": "adaptive-moreau-jean", "rtol": 0.0, "atol": tolerance, "violation": violation,
            })),
            0.5,
        )
    };
    let tolerances = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6];
    let mut rows = Vec::new();
    let mut by_tolerance: [Points; 2] = [Vec::new(), Vec::new()];
    let mut by_work: Points = Vec::new();
    for tolerance in tolerances {
        let [with, without] = [true, false].map(|violation| adaptive(tolerance, violation));
        let [a, b] = [&with, &without].map(|run| errors(run, &exact));
        by_tolerance[0].push((tolerance, a.0));
        by_tolerance[1].push((tolerance, b.0));
        by_work.push((work(&with), a.1));
        rows.push(vec![
            format!("{tolerance:e}"),
            format!("{:.1e}", a.0),
            format!("{}", work(&with)),
            format!("{:.1e}", b.0),
            format!("{}", work(&without)),
        ]);
    }
    table(
        "Ball, adaptive",
        &[
            "`atol`",
            "largest error of `q` [m]",
            "steps of Moreau–Jean",
            "without violation: error",
            "steps",
        ],
        &rows,
    );
    for (name, points) in ["with", "without"].iter().zip(&by_tolerance) {
        println!(
            "{name} the violation: error ~ tol^{:.2}",
            order::fit(points)
        );
    }
    let [with, without] = by_tolerance.map(|points| logarithms(&points));
    draw(
        "adaptive-tolerance.svg",
        ("log₁₀ tolerance", ""),
        ("log₁₀ error of q", ""),
        vec![("with the violation", with), ("without", without)],
    );
    let fixed: Points = (0..17)
        .map(|k| {
            let n = 50.0 * 2.0_f64.powi(k);
            let run = ball(scheme(json!({ "name": "moreau-jean" })), UNTIL / n);
            (n, errors(&run, &exact).1)
        })
        .collect();
    for (work, error) in &by_work {
        let enough = fixed.iter().find(|(_, e)| e <= error);
        println!("{work} steps: error in L1 {error:.2e}; constant steps: {enough:?}");
    }
    draw(
        "adaptive-work.svg",
        ("log₁₀ steps of Moreau–Jean", ""),
        ("log₁₀ error in L¹", ""),
        vec![
            ("chosen steps", logarithms(&by_work)),
            ("constant steps", logarithms(&fixed)),
        ],
    );
}
