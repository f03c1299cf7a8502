//! The books of the energy as bars: what there was, what came in and went out, and what is left.

use crate::observe::Outcome;
use crate::report::number::significant;
use crate::report::{Figure, ROUND_OFF};
use std::fmt::Write;

/// Bars of the energy at both ends and of all work between.
pub(crate) fn figure(outcome: &Outcome) -> Figure {
    let energy = &outcome.energy;
    let entries = [
        ("At the start", energy.initial.total()),
        ("+ external work", energy.work_external),
        ("+ work of prescribed motions", energy.work_moving),
        (
            "+ work of contacts and constraints otherwise",
            energy.dissipated(),
        ),
        ("+ by the scheme itself", energy.numerical()),
        ("= at the end", energy.last.total()),
    ];
    Figure {
        heading: "books of the energy [J]".to_owned(),
        legend: Vec::new(),
        drawing: bars(&entries),
    }
}

/// Bars from a common zero, negative ones to the left.
fn bars(entries: &[(&str, f64)]) -> String {
    let known = || entries.iter().map(|(_, e)| *e).filter(|e| e.is_finite());
    let (low, high) = (known().fold(0.0, f64::min), known().fold(0.0, f64::max));
    let span = if high > low { high - low } else { 1.0 };
    let percent = |e: f64| 100.0 * e / span;
    let seen = |e: f64| if e.abs() <= ROUND_OFF * span { 0.0 } else { e };
    let mut html = "<dl class=\"books\">".to_owned();
    for (name, value) in entries {
        let value = seen(*value);
        let _ = write!(
            html,
            "<dt>{name}</dt><dd class=\"n\">{}</dd>",
            significant(value, 4)
        );
        let value = if value.is_finite() { value } else { 0.0 };
        let class = if value < 0.0 { "minus" } else { "plus" };
        let _ = write!(
            html,
            "<dd class=\"bar\"><i class=\"{class}\" style=\"left:{:.2}%;width:{:.2}%\"></i></dd>",
            percent(value.min(0.0) - low),
            percent(value.abs())
        );
    }
    html + "</dl>"
}

#[cfg(test)]
mod tests {
    use super::bars;

    #[test]
    fn bars_begin_at_a_common_zero() {
        // From −2 to 6: zero is at a quarter.
        let html = bars(&[("a", 6.0), ("b", -2.0), ("c", f64::NAN)]);
        for part in [
            "<i class=\"plus\" style=\"left:25.00%;width:75.00%\">",
            "<i class=\"minus\" style=\"left:0.00%;width:25.00%\">",
            "<dt>c</dt><dd class=\"n\">–</dd>",
        ] {
            assert!(html.contains(part), "{html}");
        }
        assert!(!bars(&[("a", 0.0)]).contains("NaN"));
        assert!(bars(&[("a", 9.0), ("b", 1e-14)]).contains("<dt>b</dt><dd class=\"n\">0</dd>"));
    }
}
