//! Performance profiles: for each solver, the share of the problems it solves within a factor of the fastest
//! (Dolan & Moré, *Math. Program.* 91 (2002) 201–213).

use crate::batch::Run;
use crate::table::{csv_cell, escape_html};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The profile of one solver.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name of the method.
    pub solver: String,
    /// Ratio of its time to the best time, ascending, one entry for each problem it solved.
    pub ratios: Vec<f64>,
    /// Problems it is for and did not solve, with its word for why.
    pub failures: Vec<(PathBuf, String)>,
}

/// Profiles of all solvers of one family over one set of problems.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What the solvers are for; those of another family are never counted as failures here.
    pub family: Family,
    /// By name of the solver.
    pub curves: Vec<Curve>,
    /// Problems that at least one solver solved.
    pub problems: usize,
}

/// Problems that share their solvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Linear complementarity, mixed or not.
    Complementarity,
    /// Frictional contact, reduced or global.
    Friction,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Complementarity, Self::Friction];

    /// One word for names of files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complementarity => "complementarity",
            Self::Friction => "friction",
        }
    }

    fn of(run: &Run) -> Self {
        if run.solution.kind.ends_with("lcp") {
            Self::Complementarity
        } else {
            Self::Friction
        }
    }
}

/// Times below this are not told apart, s.
const RESOLUTION: f64 = 1e-6;

impl Profile {
    /// One profile for each family of problems among `runs`.
    #[must_use]
    pub fn by_family(runs: &[Run]) -> Vec<Self> {
        let some = |family: &Family| runs.iter().any(|r| Family::of(r) == *family);
        let present = Family::ALL.into_iter().filter(some);
        present.map(|family| Self::new(runs, family)).collect()
    }

    /// From the runs of several solvers on several problems, those of one family.
    #[must_use]
    pub fn new(runs: &[Run], family: Family) -> Self {
        // A method that is not for a problem has not failed on it.
        let of_family = || {
            let counts = |r: &&Run| Family::of(r) == family && r.solution.applies();
            runs.iter().filter(counts)
        };
        let mut best: BTreeMap<&PathBuf, f64> = BTreeMap::new();
        for run in of_family().filter(|r| r.solution.solved) {
            let time = run.solution.time_s.max(RESOLUTION);
            best.entry(&run.problem)
                .and_modify(|t| *t = t.min(time))
                .or_insert(time);
        }
        let mut curves: BTreeMap<&str, Curve> = BTreeMap::new();
        for run in of_family() {
            let name = run.solution.solver.as_str();
            let curve = curves.entry(name).or_insert_with(|| Curve {
                solver: name.into(),
                ratios: Vec::new(),
                failures: Vec::new(),
            });
            match best.get(&run.problem) {
                Some(best) if run.solution.solved => {
                    curve
                        .ratios
                        .push(run.solution.time_s.max(RESOLUTION) / best);
                }
                // A proof that nothing solves it settles a problem, too.
                _ if run.solution.settled() => {}
                _ => curve
                    .failures
                    .push((run.problem.clone(), run.solution.status.clone())),
            }
        }
        let mut curves: Vec<Curve> = curves.into_values().collect();
        for curve in &mut curves {
            curve.ratios.sort_by(f64::total_cmp);
        }
        Self {
            family,
            curves,
            problems: best.len(),
        }
    }

    /// Share of the problems that `curve` solves within `factor` of the fastest solver, in [0, 1].
    #[must_use]
    pub fn share(&self, curve: &Curve, factor: f64) -> f64 {
        if self.problems == 0 {
            return 0.0;
        }
        curve.ratios.partition_point(|r| *r <= factor) as f64 / self.problems as f64
    }

    /// What is counted, in a line.
    #[must_use]
    pub fn caption(&self) -> String {
        format!(
            "{}: shares of the {} problems that at least one solver solved",
            self.family.name(),
            self.problems
        )
    }

    /// The curves as a table: a comment that says what is counted, a header, one row for each ratio at which some curve rises.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = format!("# {}\nfactor", self.caption());
        for curve in &self.curves {
            let _ = write!(text, ",{}", curve.solver);
        }
        text.push('\n');
        let mut factors: Vec<f64> = self
            .curves
            .iter()
            .flat_map(|c| c.ratios.iter().copied())
            .collect();
        factors.push(1.0);
        factors.sort_by(f64::total_cmp);
        factors.dedup();
        for factor in factors {
            let _ = write!(text, "{factor}");
            for curve in &self.curves {
                let _ = write!(text, ",{}", self.share(curve, factor));
            }
            text.push('\n');
        }
        text
    }

    /// The failures as a table: solver, problem, status.
    #[must_use]
    pub fn failures_csv(&self) -> String {
        let mut text = String::from("solver,problem,status\n");
        for curve in &self.curves {
            for (problem, status) in &curve.failures {
                let problem = csv_cell(&problem.display().to_string());
                let _ = writeln!(text, "{},{problem},{status}", curve.solver);
            }
        }
        text
    }

    /// The curves by what they come to, best first: share solved at all, then share solved fastest.
    fn ranked(&self) -> Vec<&Curve> {
        let mut curves: Vec<&Curve> = self.curves.iter().collect();
        let fastest = |c: &Curve| c.ratios.partition_point(|r| *r <= 1.0);
        curves.sort_by_key(|c| std::cmp::Reverse((c.ratios.len(), fastest(c))));
        curves
    }

    /// The curves as rows of an HTML table: how many problems each solver solved, fastest, within factors of 2, 10 and 100, and
    /// how often it failed with which word.
    #[must_use]
    pub fn html(&self) -> String {
        let mut text = String::from(
            "<table>\n<tr><th>solver</th><th>solved</th><th>fastest</th><th>within 2</th><th>within 10</th><th>within 100</th>\
             <th>failures</th></tr>\n",
        );
        for curve in self.ranked() {
            let mut words: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, word) in &curve.failures {
                *words.entry(word).or_default() += 1;
            }
            let words: Vec<String> = words.iter().map(|(w, n)| format!("{n} {w}")).collect();
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{} of {}</td>",
                curve.solver,
                curve.ratios.len(),
                self.problems
            );
            for factor in [1.0, 2.0, 10.0, 100.0] {
                let _ = write!(text, "<td>{:.0} %</td>", 100.0 * self.share(curve, factor));
            }
            let _ = writeln!(text, "<td>{}</td></tr>", words.join(", "));
        }
        text.push_str("</table>\n");
        text
    }

    /// The curves as a drawing: factor on a logarithmic axis, share of the problems above it. Colour and dashes together tell
    /// the solvers apart; the legend is in the order in which the curves end.
    #[must_use]
    pub fn svg(&self) -> String {
        // Eight colours that colour-blind readers tell apart too (Okabe & Ito 2008, yellow replaced), by four strokes.
        const COLOURS: [&str; 8] = [
            "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a5230",
        ];
        const DASHES: [&str; 4] = ["none", "8 3", "2 3", "10 3 2 3"];
        let (left, top, width, height) = (64.0_f64, 34.0_f64, 560.0_f64, 360.0_f64);
        let curves = self.ranked();
        let bottom = (top + height + 56.0).max(top + 18.0 * (curves.len() as f64 + 1.0));
        let largest = self.curves.iter().flat_map(|c| c.ratios.last().copied());
        let decades = largest.fold(10.0_f64, f64::max).log10().ceil().max(1.0);
        let x = |factor: f64| left + width * factor.log10() / decades;
        let y = |share: f64| top + height * (1.0 - share);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 {bottom:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"900\" height=\"{bottom:.0}\" fill=\"white\"/>\n\
             <text x=\"{left}\" y=\"20\">{}</text>\n",
            escape_html(&self.caption())
        );
        let grid = |text: &mut String, at: f64, colour: &str| {
            let _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{:.1}\" stroke=\"{colour}\"/>",
                top + height
            );
        };
        for k in 0..=decades as i32 {
            // Between the decades, as long as there is room for lines.
            for digit in (2..10).filter(|_| decades <= 6.0 && f64::from(k) < decades) {
                grid(&mut text, x(f64::from(digit) * 10.0_f64.powi(k)), "#f2f2f2");
            }
        }
        for k in 0..=decades as i32 {
            let at = x(10.0_f64.powi(k));
            grid(&mut text, at, "#ccc");
            let _ = writeln!(
                text,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10<tspan dy=\"-5\" font-size=\"9\">{k}</tspan></text>",
                top + height + 18.0
            );
        }
        for k in 0..=5 {
            let share = f64::from(k) / 5.0;
            let at = y(share);
            let _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ccc\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{share}</text>",
                left + width,
                left - 6.0,
                at + 4.0
            );
        }
        let (middle, centre) = (left + 0.5 * width, top + 0.5 * height);
        let _ = writeln!(
            text,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">time relative to the fastest solver of the problem</text>\n\
             <text transform=\"translate(18 {centre:.1}) rotate(-90)\" text-anchor=\"middle\">share of problems solved</text>",
            top + height + 42.0
        );
        // The best on top of the others.
        for (k, curve) in curves.iter().enumerate().rev() {
            let colour = COLOURS[k % COLOURS.len()];
            let dashes = DASHES[k / COLOURS.len() % DASHES.len()];
            let stroke = format!(
                "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\""
            );
            let mut path = format!("M{:.1} {:.1}", x(1.0), y(self.share(curve, 1.0)));
            for &ratio in curve.ratios.iter().filter(|r| **r > 1.0) {
                let _ = write!(path, "H{:.1}V{:.1}", x(ratio), y(self.share(curve, ratio)));
            }
            let _ = write!(path, "H{:.1}", left + width);
            let row = top + 18.0 * (k as f64) + 8.0;
            let _ = writeln!(
                text,
                "<path d=\"{path}\" {stroke}><title>{}</title></path>\n\
                 <path d=\"M{:.1} {:.1}h34\" {stroke}/><text x=\"{:.1}\" y=\"{row:.1}\">{} ({} of {})</text>",
                curve.solver,
                left + width + 14.0,
                row - 4.0,
                left + width + 54.0,
                curve.solver,
                curve.ratios.len(),
                self.problems
            );
        }
        text.push_str("</svg>\n");
        text
    }
}
