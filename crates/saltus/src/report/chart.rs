//! A diagram in a page. The curves are an SVG that stretches with the page; the numbers beside the axes are text of the page,
//! so that they keep their size on every screen. The script of the page zooms by changing the view box.

use crate::report::page::escape;
use crate::report::plot::{Axis, Plot, widen};
use std::fmt::Write;

/// Size of the view box: fine enough to zoom in by a factor of hundred.
const WIDTH: f64 = 100_000.0;
const HEIGHT: f64 = 100_000.0;

impl Plot {
    /// The diagram as HTML, without its legend.
    pub(crate) fn html(&self) -> String {
        let x = Axis::new(self.time, 0.0, WIDTH, 8.0);
        let y = self.vertical();
        let mut html = format!(
            "<div class=\"plot\" data-t=\"{} {}\" data-y=\"{} {}\" data-power=\"{}\"><div class=\"area\">\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
            x.from,
            x.to,
            y.from,
            y.to,
            y.exponent,
            escape(&self.description)
        );
        for tick in &y.ticks {
            let class = if *tick == 0.0 { "zero" } else { "grid" };
            // Writing to a string does not fail.
            let _ = write!(
                html,
                "<path class=\"{class}\" d=\"M0 {:.0}H{WIDTH}\"/>",
                y.map(*tick)
            );
        }
        for (k, lines) in self.curves.iter().enumerate() {
            let stem = |line: &&Vec<_>| self.stems && line.len() == 1;
            let (stems, lines): (Vec<_>, Vec<_>) = lines.iter().partition(stem);
            draw_lines(&mut html, &lines, k + 1, &x, &y);
            draw_stems(&mut html, &stems, k + 1, &x, &y);
        }
        html.push_str("</svg>");
        for tick in &y.ticks {
            let _ = write!(
                html,
                "<span class=\"y\" style=\"top:{:.2}%\">{}</span>",
                100.0 * y.map(*tick) / HEIGHT,
                y.label(*tick)
            );
        }
        html.push_str("</div>");
        html.push_str(&scale(self.time));
        html + "</div>"
    }

    /// What the vertical axis shows, with its unit and the power of ten of its numbers.
    pub(crate) fn heading(&self) -> String {
        format!("{}{}", self.label, self.vertical().unit(&self.unit))
    }

    fn vertical(&self) -> Axis {
        let range = if self.stems {
            (self.range.0.min(0.0), self.range.1.max(0.0))
        } else {
            self.range
        };
        if self.whole {
            Axis::whole(widen(range), HEIGHT, 0.0, 5.0)
        } else {
            Axis::new(widen(range), HEIGHT, 0.0, 5.0)
        }
    }
}

/// The axis of time below a diagram.
pub(crate) fn scale(time: (f64, f64)) -> String {
    let axis = Axis::new(time, 0.0, 100.0, 8.0);
    let mut html = "<div class=\"scale\">".to_owned();
    for (k, tick) in axis.ticks.iter().enumerate() {
        let class = if k % 2 == 0 { "" } else { " class=\"odd\"" };
        let _ = write!(
            html,
            "<span{class} style=\"left:{:.2}%\">{}</span>",
            axis.map(*tick),
            axis.label(*tick)
        );
    }
    let _ = write!(html, "</div><p class=\"name\">t{}</p>", axis.unit("s"));
    html
}

fn draw_lines(html: &mut String, lines: &[&Vec<(f64, f64)>], class: usize, x: &Axis, y: &Axis) {
    for line in lines {
        let _ = write!(html, "<polyline class=\"c{class}\" points=\"");
        let mut last = String::new();
        for (k, (t, value)) in line.iter().enumerate() {
            let point = format!("{:.0},{:.0}", x.map(*t), y.map(*value));
            if point != last {
                let _ = write!(html, "{}{point}", if k > 0 { " " } else { "" });
                last = point;
            }
        }
        html.push_str("\"/>");
    }
}

/// A line from zero to every value.
fn draw_stems(html: &mut String, lines: &[&Vec<(f64, f64)>], class: usize, x: &Axis, y: &Axis) {
    let mut path = String::new();
    for (t, value) in lines.iter().copied().flatten() {
        let _ = write!(
            path,
            "M{:.0} {:.0}V{:.0}",
            x.map(*t),
            y.map(0.0),
            y.map(*value)
        );
    }
    if !path.is_empty() {
        let _ = write!(html, "<path class=\"stem c{class}\" d=\"{path}\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(stems: bool, whole: bool, curve: Vec<(f64, f64)>) -> Plot {
        Plot {
            description: "impulse".to_owned(),
            label: "impulse".to_owned(),
            unit: "N·s".to_owned(),
            across: ("t", "s"),
            time: (0.0, 4.0),
            range: (1.0, 3.0),
            stems,
            whole,
            curves: vec![vec![curve]],
        }
    }

    #[test]
    fn an_impulse_is_a_line_from_zero_at_its_time() {
        let html = plot(true, false, vec![(1.0, 3.0)]).html();
        // Zero to 3 with 4 % of room: zero is drawn at 0.12 / 3.24 of the height from below.
        assert!(
            html.contains("<path class=\"stem c1\" d=\"M25000 96296V3704\"/>"),
            "{html}"
        );
        assert!(!html.contains("<polyline"));
        // What lasts is a line.
        let html = plot(true, false, vec![(1.0, 0.0), (1.0, 3.0), (2.0, 0.0)]).html();
        assert!(
            !html.contains("stem") && html.contains("<polyline"),
            "{html}"
        );
    }

    #[test]
    fn counts_have_whole_ticks() {
        let plot = plot(false, true, vec![(0.0, 1.0), (4.0, 3.0)]);
        assert_eq!(plot.vertical().ticks, [1.0, 2.0, 3.0]);
        assert!(plot.html().contains(">2</span>"));
        assert_eq!(plot.heading(), "impulse [N·s]");
    }
}
