//! What `saltus solve` says of its answers in words: the proof that there is none, and what to try next.

use saltus_complementarity::ENUMERATION_LIMIT;
use saltus_problems::batch::Solution;
use saltus_problems::table::format_number;

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
            "not-finite" => "numbers of 1e60 and more, or of 1e-60 and less, are refused, whatever is to solve it: choose units in which the data are nearer to 1".to_owned(),
            "inaccurate" => {
                let of_word = solutions.iter().filter(|s| s.status == word);
                let least = of_word.map(|s| s.residual).fold(f64::INFINITY, f64::min);
                format!("rounding keeps the residual at {}: accept that by a larger --tol, or choose units in which the data are nearer to 1", format_number(Some(least), 1))
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
    if let Some(contact) = solution.refuted {
        return Some(format!(
            "proven: open, stick and every slip of {} are refuted",
            contacts(&[contact])
        ));
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
