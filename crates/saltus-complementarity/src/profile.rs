//! Performance profiles: for each solver, the share of the problems it solves within a factor of the fastest
//! (Dolan & Moré, *Math. Program.* 91 (2002) 201–213).

use crate::batch::Run;
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
    /// Problems it was tried on and did not solve, with its word for why.
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
        let of_family = || runs.iter().filter(|r| Family::of(r) == family);
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
                let _ = writeln!(text, "{},{},{status}", curve.solver, problem.display());
            }
        }
        text
    }

    /// The curves as a drawing: factor on a logarithmic axis, share of the problems above it.
    #[must_use]
    pub fn svg(&self) -> String {
        const COLOURS: [&str; 12] = [
            "#1b6ca8", "#d1495b", "#2e8b57", "#edae49", "#6a4c93", "#008891", "#a63a50", "#5c5c5c",
            "#8a9a5b", "#c97b63", "#3d5a80", "#e07a5f",
        ];
        let (left, top, width, height) = (60.0, 20.0, 560.0, 360.0);
        let largest = self
            .curves
            .iter()
            .flat_map(|c| c.ratios.last().copied())
            .fold(10.0_f64, f64::max);
        let decades = largest.log10().ceil().max(1.0);
        let x = |factor: f64| left + width * factor.log10() / decades;
        let y = |share: f64| top + height * (1.0 - share);
        let mut text = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 440\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"860\" height=\"440\" fill=\"white\"/>\n",
        );
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"14\">{}</text>",
            self.caption()
        );
        for k in 0..=decades as u32 {
            let at = x(10.0_f64.powi(k as i32));
            let _ = writeln!(
                text,
                "<path d=\"M{at:.1} {top}V{:.1}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">10^{k}</text>",
                top + height,
                top + height + 18.0
            );
        }
        for k in 0..=5 {
            let share = f64::from(k) / 5.0;
            let at = y(share);
            let _ = writeln!(
                text,
                "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{share}</text>",
                left + width,
                left - 6.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">time relative to the fastest</text>",
            left + 0.5 * width,
            top + height + 40.0
        );
        for (k, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[k % COLOURS.len()];
            let mut path = format!("M{:.1} {:.1}", x(1.0), y(0.0));
            for &ratio in &curve.ratios {
                let _ = write!(path, "H{:.1}V{:.1}", x(ratio), y(self.share(curve, ratio)));
            }
            let _ = write!(path, "H{:.1}", left + width);
            let row = top + 18.0 * (k as f64 + 1.0);
            let _ = writeln!(
                text,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <path d=\"M{:.1} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.1}\" y=\"{row:.1}\">{} ({} of {})</text>",
                left + width + 16.0,
                row - 4.0,
                left + width + 44.0,
                curve.solver,
                curve.ratios.len(),
                self.problems
            );
        }
        text.push_str("</svg>\n");
        text
    }
}
