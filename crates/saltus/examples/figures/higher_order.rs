//! Orders of the Runge–Kutta methods across impacts, on an oscillator over a floor.

use crate::common::{Points, draw, logarithms, run, scheme, table, values};
use saltus::analysis::exact::ImpactingMass;
use saltus::analysis::order;
use serde_json::json;

const UNTIL: f64 = 6.0;
/// Stiffness 9 N/m: 3 rad/s.
const SET: [&str; 1] = ["parameters.k=9"];

#[allow(clippy::cast_precision_loss)]
pub fn draw_all() {
    let exact = ImpactingMass::on_spring(3.0, 0.0, 0.8, 1.0, 0.0, UNTIL);
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (label, method) in [
        ("moreau-jean", None),
        ("gauss, order 2", Some("gauss")),
        ("radau3, order 3", Some("radau3")),
        ("radau5, order 5", Some("radau5")),
    ] {
        let options = method.map_or_else(
            || json!({ "name": "moreau-jean" }),
            |method| json!({ "name": "higher-order", "method": method }),
        );
        let points: Points = order::counts(7, 24, 4, 6)
            .iter()
            .map(|counts| {
                let sample = |n: &u64| {
                    let h = UNTIL / *n as f64;
                    let run = run("linear-oscillator", &SET, scheme(options.clone()), h, UNTIL);
                    let off = run.t().iter().zip(values(&run, "q.q"));
                    let off = off.map(|(t, q)| (q - exact.at(t).0).abs());
                    (h, off.fold(0.0, f64::max))
                };
                order::octave_mean(&counts.iter().map(sample).collect::<Vec<_>>())
            })
            .collect();
        let mut row = vec![label.to_owned(), format!("{:.2}", order::fit(&points))];
        row.extend(points.iter().map(|(h, e)| format!("{e:.1e} at {h:.1e}")));
        rows.push(row);
        curves.push((label, logarithms(&points)));
    }
    let header = [
        "",
        "order",
        "largest error of `q` at mean steps",
        "",
        "",
        "",
    ];
    table("Oscillator over a floor", &header, &rows);
    draw(
        "higher-order-error.svg",
        ("log₁₀ h", ""),
        ("log₁₀ error of q", ""),
        curves,
    );
}
