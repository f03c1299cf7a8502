//! A diagram, its axes with round numbers, and its drawing as a picture that stands alone.

use crate::report::number::{minus, superscript};
use std::fmt::Write;

/// Size of the drawing and of its frame, in units of the view box.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 176.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 36.0;

/// The style of a picture outside of a page.
const STYLE: &str = "text{font:11px Helvetica,Arial,sans-serif;fill:#5c5c5c}.x,.name{text-anchor:middle}.y{text-anchor:end}.name{fill:#1b1b1b}\
path,polyline{fill:none;stroke-width:1}.grid{stroke:#ececec}.zero{stroke:#d9d9d9}.axis,.tick{stroke:#5c5c5c}polyline{stroke-width:1.4;stroke-linejoin:round}\
.c1{stroke:#1f5a9e}.c2{stroke:#c4541a;stroke-dasharray:6 2.5}.c3{stroke:#2c7a4b}.c4{stroke:#7a4a9e;stroke-dasharray:2 2}";

/// A diagram, over time or another quantity.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    /// For readers who cannot see it.
    pub(crate) description: String,
    /// What the vertical axis shows.
    pub(crate) label: String,
    /// Its unit; empty where nobody said it.
    pub(crate) unit: String,
    /// What the horizontal axis shows, and its unit.
    pub(crate) across: (&'static str, &'static str),
    /// First and last value on the horizontal axis: times \[s\] in a report.
    pub(crate) time: (f64, f64),
    /// Lowest and highest value.
    pub(crate) range: (f64, f64),
    /// Lines of one value are drawn from zero, at their times.
    pub(crate) stems: bool,
    /// Values are counts.
    pub(crate) whole: bool,
    /// The curves, at most four, each as connected lines.
    pub(crate) curves: Vec<Vec<Vec<(f64, f64)>>>,
}

impl Plot {
    /// What is in the `svg` element.
    fn content(&self) -> String {
        let x = Axis::new(self.time, LEFT, WIDTH - RIGHT, 8.0);
        let y = Axis::new(widen(self.range), HEIGHT - BOTTOM, TOP, 5.0);
        let mut svg = String::new();
        self.draw_grid(&mut svg, &x, &y);
        for (k, lines) in self.curves.iter().enumerate() {
            draw_lines(&mut svg, lines, k + 1, &x, &y);
        }
        svg
    }

    /// A picture that stands alone, with the `names` of its curves above it.
    pub(crate) fn picture(&self, names: &[&str]) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -18 {WIDTH} {}\" role=\"img\" aria-label=\"{}\"><style>{STYLE}</style>\
             <rect x=\"0\" y=\"-18\" width=\"{WIDTH}\" height=\"{}\" fill=\"#fff\"/>",
            HEIGHT + 18.0,
            super::page::escape(&self.description),
            HEIGHT + 18.0,
        );
        let mut left = LEFT;
        for (k, name) in names.iter().enumerate() {
            let _ = write!(
                svg,
                "<path class=\"c{}\" d=\"M{left:.1} -5h22\"/><text x=\"{:.1}\" y=\"-1.5\">{}</text>",
                k + 1,
                left + 27.0,
                super::page::escape(name)
            );
            left += 50.0 + 6.2 * name.chars().count() as f64;
        }
        svg + &self.content() + "</svg>\n"
    }

    fn draw_grid(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
        for tick in &y.ticks {
            let at = y.map(*tick);
            let class = if *tick == 0.0 { "zero" } else { "grid" };
            let _ = write!(
                svg,
                "<path class=\"{class}\" d=\"M{left} {at:.1}H{right}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 6.0,
                at + 3.5,
                y.label(*tick)
            );
        }
        for tick in &x.ticks {
            let at = x.map(*tick);
            let _ = write!(
                svg,
                "<path class=\"tick\" d=\"M{at:.1} {bottom}v4\"/><text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 16.0,
                x.label(*tick)
            );
        }
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>"
        );
        let middle = f64::midpoint(top, bottom);
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}{}</text><text class=\"name\" transform=\"translate(12 {middle:.1}) rotate(-90)\">{}{}</text>",
            f64::midpoint(left, right),
            HEIGHT - 5.0,
            self.across.0,
            x.unit(self.across.1),
            super::page::escape(&self.label),
            y.unit(&self.unit)
        );
    }
}

fn draw_lines(svg: &mut String, lines: &[Vec<(f64, f64)>], class: usize, x: &Axis, y: &Axis) {
    for line in lines {
        let _ = write!(svg, "<polyline class=\"c{class}\" points=\"");
        let mut last = String::new();
        for (k, (t, value)) in line.iter().enumerate() {
            let point = format!("{:.1},{:.1}", x.map(*t), y.map(*value));
            if point != last {
                let _ = write!(svg, "{}{point}", if k > 0 { " " } else { "" });
                last = point;
            }
        }
        svg.push_str("\"/>");
    }
}

/// Room above and below; a constant is drawn in the middle of a range that shows it is one.
pub(crate) fn widen((low, high): (f64, f64)) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low <= 1e-9 * size || size == 0.0 {
        let room = if size == 0.0 { 1.0 } else { 0.1 * size };
        (low - room, high + room)
    } else {
        let room = 0.04 * (high - low);
        (low - room, high + room)
    }
}

/// A linear axis.
pub(crate) struct Axis {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Positions of `from` and `to` in the drawing.
    start: f64,
    end: f64,
    pub(crate) ticks: Vec<f64>,
    /// Power of ten taken out of the labels.
    pub(crate) exponent: i32,
    decimals: usize,
}

/// The end of an axis: of a range that is empty, or too narrow for ticks, one beyond its start.
fn beyond((from, to): (f64, f64)) -> f64 {
    const NARROW: f64 = 1e-290;
    if to - from > NARROW { to } else { from + 1.0 }
}

impl Axis {
    pub(crate) fn new((from, to): (f64, f64), start: f64, end: f64, wanted: f64) -> Self {
        let to = beyond((from, to));
        Self::with_step((from, to), start, end, round_step((to - from) / wanted))
    }

    /// An axis of counts: no ticks between whole numbers.
    pub(crate) fn whole((from, to): (f64, f64), start: f64, end: f64, wanted: f64) -> Self {
        let to = beyond((from, to));
        let step = round_step((to - from) / wanted).max(1.0);
        Self::with_step((from, to), start, end, step)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn with_step((from, to): (f64, f64), start: f64, end: f64, step: f64) -> Self {
        // Ticks are whole multiples of the step: no sum of rounding errors, and zero is zero.
        let (first, last) = ((from / step).ceil(), (to / step).floor());
        let count = (last - first).clamp(0.0, 50.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|k| (first + k as f64) * step).collect();
        let size = ticks.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let exponent = if size >= 1e5 || (size < 1e-2 && size > 0.0) {
            (size.log10() / 3.0).floor() as i32 * 3
        } else {
            0
        };
        let decimals = exponent.saturating_sub(step.log10().floor() as i32).max(0);
        Self {
            from,
            to,
            start,
            end,
            ticks,
            exponent,
            decimals: usize::try_from(decimals).unwrap_or(0),
        }
    }

    pub(crate) fn map(&self, value: f64) -> f64 {
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    pub(crate) fn label(&self, tick: f64) -> String {
        let value = tick / 10f64.powi(self.exponent);
        let value = if value == 0.0 { 0.0 } else { value }; // no minus zero
        minus(&format!("{value:.*}", self.decimals))
    }

    /// The unit of the labels, with their power of ten: ` \[m\]`, ` [10⁻³ m]`.
    pub(crate) fn unit(&self, unit: &str) -> String {
        let power = if self.exponent == 0 {
            String::new()
        } else {
            format!("10{}", superscript(self.exponent))
        };
        let parts = [power.as_str(), unit];
        let text = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\u{a0}");
        if text.is_empty() {
            text
        } else {
            format!(" [{text}]")
        }
    }
}

/// The round number (1, 2 or 5 times a power of ten) next to `step`, at least as large.
fn round_step(step: f64) -> f64 {
    if !(step > 0.0 && step.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|m| m * power >= step * (1.0 - 1e-9))
        .unwrap_or(10.0);
    // A negative power of ten is not exact, its reciprocal is.
    if power < 1.0 {
        round / (1.0 / power).round()
    } else {
        round * power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let axis = Axis::new((0.0, 4.0), 0.0, 100.0, 8.0);
        assert_eq!(axis.ticks, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]);
        assert_eq!(axis.label(0.5), "0.5");
        let axis = Axis::new((-3e-7, 5e-7), 0.0, 100.0, 4.0);
        assert_eq!(
            (axis.label(-2e-7), axis.unit("m")),
            ("−200".into(), " [10⁻⁹\u{a0}m]".into())
        );
        let axis = Axis::new((0.0, 0.0), 0.0, 100.0, 4.0);
        assert!(!axis.ticks.is_empty());
    }

    #[test]
    fn a_constant_has_room_around_it() {
        assert_eq!(widen((0.0, 0.0)), (-1.0, 1.0));
        let (low, high) = widen((5.0, 5.0));
        assert!(low < 5.0 && high > 5.0);
    }
}
