//! The table solver × problem: what every run of a set came to.

use crate::batch::{Run, Solution};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Writes the runs of one set as tables.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    runs: &'a [Run],
}

impl<'a> Table<'a> {
    /// A table of `runs`.
    #[must_use]
    pub fn new(runs: &'a [Run]) -> Self {
        Self { runs }
    }

    /// One line for each run: everything but the vectors. `residual` is `eta` of friction, the miss of a row of complementarity,
    /// without a unit; `residual_unscaled` the error as Siconos measures it, in mixed units, or the natural map of complementarity;
    /// `residual_impulse` \[N s\], `residual_velocity` \[m/s\] of friction, `residual_dynamics` of the global form, `time_s` \[s\].
    /// A number that is not finite is `inf` or `nan`, one that there is not an empty cell.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "problem,kind,size,solver,status,solved,infeasible,iterations,residual,residual_unscaled,residual_impulse,residual_velocity,residual_dynamics,time_s\n",
        );
        for run in self.runs {
            let s = &run.solution;
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{:e}",
                csv_cell(&run.problem.display().to_string()),
                s.kind,
                s.size,
                s.solver,
                s.status,
                s.solved,
                s.settled() && !s.solved,
                s.iterations,
                in_csv(s.applies().then_some(s.residual)),
                in_csv(s.residual_unscaled),
                in_csv(s.residual_impulse),
                in_csv(s.residual_velocity),
                in_csv(s.residual_dynamics),
                s.time_s
            );
        }
        text
    }

    /// The problems in order, each with its runs.
    fn groups(&self) -> Vec<(&'a PathBuf, Vec<&'a Solution>)> {
        let mut groups: Vec<(&PathBuf, Vec<&Solution>)> = Vec::new();
        for run in self.runs {
            match groups.last_mut() {
                Some((path, list)) if *path == &run.problem => list.push(&run.solution),
                _ => groups.push((&run.problem, vec![&run.solution])),
            }
        }
        groups
    }

    /// Problems down, solvers across, one part for each kind of problem. A cell says iterations, time, residual and the
    /// residual in mixed units; one in parentheses, with its word, is a failure, a dash a method that is not for the problem.
    #[must_use]
    pub fn markdown(&self) -> String {
        let groups = self.groups();
        let mut text = String::new();
        let mut titles: Vec<&str> = Vec::new();
        for kind in groups
            .iter()
            .filter_map(|(_, list)| Some(list.first()?.kind))
        {
            if !titles.contains(&kind) {
                titles.push(kind);
            }
        }
        for title in titles {
            let part: Vec<_> = groups
                .iter()
                .filter(|(_, list)| list.first().is_some_and(|s| s.kind == title))
                .collect();
            let mut solvers: Vec<&str> = Vec::new();
            for s in part.iter().flat_map(|(_, list)| list) {
                if !solvers.contains(&s.solver.as_str()) {
                    solvers.push(&s.solver);
                }
            }
            let _ = writeln!(
                text,
                "## {title}\n\n| problem | size | {} |",
                solvers.join(" | ")
            );
            let _ = writeln!(text, "| --- | --- |{}", " --- |".repeat(solvers.len()));
            for (path, list) in part {
                let size = list.first().map_or(0, |s| s.size);
                let name = path.display().to_string().replace('|', "\\|");
                let _ = write!(text, "| {name} | {size} |");
                for solver in &solvers {
                    let found = list.iter().find(|s| s.solver == *solver);
                    let _ = write!(text, " {} |", found.map_or(String::new(), |s| cell(s)));
                }
                text.push('\n');
            }
            let _ = write!(
                text,
                "| **settled** | {} |",
                groups.iter().filter(|(_, l)| l[0].kind == title).count()
            );
            for solver in &solvers {
                let all = groups.iter().flat_map(|(_, list)| list);
                let settled = all.filter(|s| s.kind == title && s.solver == *solver && s.settled());
                let _ = write!(text, " **{}** |", settled.count());
            }
            text.push_str("\n\n");
        }
        text
    }

    /// The runs as rows of an HTML table.
    #[must_use]
    pub fn html(&self) -> String {
        let mut text = String::from(
            "<table>\n<tr><th>problem</th><th>size</th><th>solver</th><th>status</th><th>iterations</th><th>residual</th>\
             <th>in mixed units</th><th>time [s]</th></tr>\n",
        );
        for run in self.runs {
            let s = &run.solution;
            let _ = writeln!(
                text,
                "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.6}</td></tr>",
                match s {
                    _ if s.settled() => "settled",
                    _ if s.applies() => "failed",
                    _ => "none",
                },
                escape_html(&run.problem.display().to_string()),
                s.size,
                s.solver,
                s.status,
                s.iterations,
                format_number(s.applies().then_some(s.residual), 2),
                format_number(s.residual_unscaled, 2),
                s.time_s
            );
        }
        text.push_str("</table>\n");
        text
    }
}

fn cell(s: &Solution) -> String {
    if !s.applies() {
        return "–".to_owned();
    }
    let time = format!("{:.3} ms", 1e3 * s.time_s);
    let mut numbers = format!(
        "{} / {time} / {}",
        s.iterations,
        format_number(Some(s.residual), 0)
    );
    if s.residual_unscaled.is_some() {
        let _ = write!(numbers, " / {}", format_number(s.residual_unscaled, 0));
    }
    if s.solved {
        numbers
    } else if s.settled() {
        format!("{}, proven: {} / {time}", s.status, s.iterations)
    } else {
        format!("({} {numbers})", s.status)
    }
}

/// A number for readers, with `digits` after the point: `unbounded` where it is infinite, `not finite` where it is none, nothing
/// where there is none. The one form in which results that may not be finite are shown; files of numbers have `in_csv` and
/// `null` of JSON.
#[must_use]
pub fn format_number(number: Option<f64>, digits: usize) -> String {
    match number {
        None => String::new(),
        Some(v) if v.is_nan() => "not finite".to_owned(),
        Some(v) if v.is_infinite() => "unbounded".to_owned(),
        Some(v) => format!("{v:.digits$e}"),
    }
}

/// A number in a cell of a CSV table: `inf`, `-inf` or `nan` where it is not finite, an empty cell where there is none.
fn in_csv(number: Option<f64>) -> String {
    match number {
        None => String::new(),
        Some(v) if v.is_nan() => "nan".to_owned(),
        Some(v) => format!("{v:e}"),
    }
}

/// A cell of a CSV table.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Text in HTML.
#[must_use]
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
