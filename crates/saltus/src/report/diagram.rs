//! A diagram as a picture of its own, for documents.

use crate::report::plot::Plot;
use crate::report::series::Curve;

/// A diagram of up to four curves, drawn as in a report.
///
/// ```
/// let parabola = (0..=20).map(|k| (0.1 * f64::from(k), 0.01 * f64::from(k * k))).collect();
/// let diagram = saltus::Diagram {
///     across: ("t", "s"),
///     label: "height".to_owned(),
///     unit: "m",
///     curves: vec![("parabola".to_owned(), parabola)],
/// };
/// assert!(diagram.svg().starts_with("<svg"));
/// ```
#[derive(Debug, Clone)]
pub struct Diagram {
    /// What the horizontal axis shows, and its unit.
    pub across: (&'static str, &'static str),
    /// What the vertical axis shows.
    pub label: String,
    /// Its unit, or empty.
    pub unit: &'static str,
    /// Curves by name, each with its points from left to right; those that are not finite interrupt it.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

impl Diagram {
    /// The picture: an SVG document without references to anything outside.
    #[must_use]
    pub fn svg(&self) -> String {
        let names: Vec<&str> = self.curves.iter().map(|(name, _)| name.as_str()).collect();
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let mut across = range;
        let mut curves = Vec::new();
        for (_, points) in &self.curves {
            let mut curve = Curve::new();
            for &(x, y) in points {
                curve.push(x, if y.is_finite() { y } else { f64::NAN });
                across = (across.0.min(x), across.1.max(x));
            }
            if let Some((low, high)) = curve.range() {
                range = (range.0.min(low), range.1.max(high));
            }
            curves.push(curve.lines());
        }
        let given = |r: (f64, f64)| if r.0 <= r.1 { r } else { (0.0, 1.0) };
        let plot = Plot {
            description: format!("{} of {}", self.label, names.join(", ")),
            label: self.label.clone(),
            unit: self.unit.to_owned(),
            across: self.across,
            time: given(across),
            range: given(range),
            stems: false,
            whole: false,
            curves,
        };
        plot.picture(&names)
    }
}
