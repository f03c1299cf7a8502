//! What `saltus solve` says of its answers in words: the proof that there is none, what is known where none was found, and what
//! to try next.

use crate::words::count;
use saltus_complementarity::ENUMERATION_LIMIT;
use saltus_complementarity::archive::Problem;
use saltus_complementarity::batch::Solution;
use saltus_complementarity::friction::{Feasibility, Refutation, feasibility};
use saltus_complementarity::table::shown;

/// The cure that fits each word among `solutions`, and whether there are other solvers left.
pub fn advice(solutions: &[Solution], all: bool) -> Vec<String> {
    let tried = solutions.iter().filter(|s| s.applies());
    let mut words: Vec<&str> = tried.map(|s| s.status.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    let mut lines = Vec::new();
    let mut others = false;
    for word in words {
        others |= !matches!(word, "not-finite" | "inconsistent");
        let cure = match word {
            "iteration-limit" => "more --max-iterations, or for friction more --max-work".to_owned(),
            "inconsistent" => "the equalities contradict each other, whatever solves them: check their rows".to_owned(),
            "not-finite" => "the numbers leave the range of double precision, whatever solves it: choose units in which the data are nearer to 1".to_owned(),
            "inaccurate" => {
                let of_word = solutions.iter().filter(|s| s.status == word);
                let least = of_word.map(|s| s.residual).fold(f64::INFINITY, f64::min);
                format!("rounding keeps the residual at {}: accept that by a larger --tol, or choose units in which the data are nearer to 1", shown(Some(least), 1))
            }
            "ray" | "cycle" => format!("pivoting decides nothing here; up to {ENUMERATION_LIMIT} complementary pairs `enumeration` does"),
            _ => "start from another point by --start, where the file stores one".to_owned(),
        };
        lines.push(format!("{word}: {cure}"));
    }
    if others && !all {
        lines.push("or let other methods try: --solver all".to_owned());
    }
    lines
}

/// What proves that a frictional problem has no solution.
pub fn proof(solution: &Solution) -> Option<String> {
    if let Some(refuted) = &solution.refuted {
        return Some(refutation(refuted));
    }
    let impulses = solution.certificate.as_ref()?;
    if !solution.kind.ends_with("friction") {
        return None;
    }
    let at: Vec<usize> = (0..impulses.len())
        .filter(|&i| impulses[i] != 0.0)
        .collect();
    Some(format!(
        "proven: no reaction gives u_n >= 0 in {} at once",
        contacts(&at)
    ))
}

fn refutation(refuted: &Refutation) -> String {
    let together = match refuted.contacts.len() {
        1 => "refuted",
        _ => "refuted, in every combination",
    };
    format!(
        "proven: open, stick and every slip of {} are {together} ({})",
        contacts(&refuted.contacts),
        count(refuted.cases.into(), "case", "cases")
    )
}

/// `contact 4`, `contacts 4, 5 and 7` (from 0), the first of many.
fn contacts(at: &[usize]) -> String {
    const SHOWN: usize = 12;
    let names: Vec<String> = at.iter().take(SHOWN).map(usize::to_string).collect();
    match names.split_last() {
        None => "no contact".into(),
        Some((last, [])) => format!("contact {last}"),
        Some(_) if at.len() > SHOWN => {
            format!(
                "contacts {} and {} others",
                names.join(", "),
                at.len() - SHOWN
            )
        }
        Some((last, others)) => format!("contacts {} and {last}", others.join(", ")),
    }
}

/// What can be said of solutions of a frictional problem that no solver found.
pub fn existence(problem: &Problem) -> Option<String> {
    let known = match problem {
        Problem::Friction(p) => feasibility(p),
        Problem::Global(p) => p.matrix_free().ok().and_then(|p| feasibility(&p)),
        _ => None,
    };
    let text = match known? {
        Feasibility::Strict { solvable: true, .. } => {
            "the problem is strictly feasible (Slater) and W symmetric and positive semidefinite: a solution exists"
        }
        Feasibility::Strict { .. } => {
            "the problem is strictly feasible (Slater), but W is not symmetric and positive semidefinite: a solution may exist or not"
        }
        Feasibility::Open { .. } => {
            "the problem is not strictly feasible (Slater fails): a solution may exist or not"
        }
        Feasibility::Infeasible { .. } => {
            "the problem is infeasible: no reaction satisfies even u_n >= 0"
        }
        Feasibility::Refuted(refuted) => {
            return Some(format!(
                "the problem is infeasible; {}",
                refutation(&refuted)
            ));
        }
        _ => return None,
    };
    Some(text.to_owned())
}
