//! The nearest known name to a mistyped one.

/// The candidate closest to `name`, if it is close enough to be what was meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    candidates
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate)), candidate))
        .filter(|&(distance, candidate)| {
            distance <= allowance(name, candidate)
                || begins(&folded, candidate)
                || abbreviates(&folded, &fold(candidate))
                || reorders(&folded, &fold(candidate))
                || is_word(&folded, &fold(candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `, did you mean "x"?`, or nothing where no candidate is like `name`.
#[must_use]
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |c| format!(", did you mean \"{c}\"?"))
}

/// `"a", "b", "c"`, cut where it is long.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<_> = names.into_iter().map(|n| format!("\"{n}\"")).collect();
    match names.get(..MOST) {
        Some(first) if names.len() > MOST => {
            format!("{} and {} more", first.join(", "), names.len() - MOST)
        }
        _ => names.join(", "),
    }
}

/// `1 entry`, `2 entries`.
pub fn count(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

/// Case and the choice between `-`, `_` and a space do not make a difference.
fn fold(name: &str) -> String {
    name.chars()
        .map(|c| if c == '-' || c == ' ' { '_' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}

fn distance(a: &str, b: &str) -> usize {
    strsim::damerau_levenshtein(a, b)
}

/// The beginning of a name is enough to know it by.
fn begins(folded: &str, candidate: &str) -> bool {
    folded.chars().count() >= 3 && fold(candidate).starts_with(folded)
}

/// A name of two letters or more may leave letters out between its first and its last one, with a digit among them: h5.
fn abbreviates(folded: &str, candidate: &str) -> bool {
    let mut rest = candidate.chars();
    folded.chars().count() >= 2
        && folded.contains(|c: char| c.is_ascii_digit())
        && folded.chars().next() == candidate.chars().next()
        && folded.chars().last() == candidate.chars().last()
        && folded.chars().all(|c| rest.any(|other| other == c))
}

/// Letters in another order: tetha.
fn reorders(folded: &str, candidate: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    folded.chars().count() >= 4 && sorted(folded) == sorted(candidate)
}

/// A word of a name of several: newmark.
fn is_word(folded: &str, candidate: &str) -> bool {
    folded.chars().count() >= 4 && candidate.split('_').any(|word| word == folded)
}

/// A third of the letters may be wrong; one letter is never enough to go by.
fn allowance(name: &str, candidate: &str) -> usize {
    let length = name.chars().count().max(candidate.chars().count());
    if length <= 1 { 0 } else { (length / 3).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_mistyped_name_and_rejects_a_foreign_one() {
        let keys = ["name", "gap", "restitution", "friction"];
        assert_eq!(nearest("restituton", keys), Some("restitution"));
        assert_eq!(nearest("Gap", keys), Some("gap"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("rho-inf", ["rho_inf", "theta"]), Some("rho_inf"));
        assert_eq!(
            nearest("moreau", ["event-driven", "moreau-jean"]),
            Some("moreau-jean")
        );
        assert_eq!(nearest("z", ["x", "y"]), None);
        assert_eq!(nearest("h5", ["csv", "hdf5"]), Some("hdf5"));
        assert_eq!(nearest("q5", ["q1", "q2", "hdf5"]), Some("q1"));
        assert_eq!(nearest("tetha", ["phi", "theta"]), Some("theta"));
        assert_eq!(
            nearest("newmark", ["moreau-jean", "nonsmooth-newmark"]),
            Some("nonsmooth-newmark")
        );
    }
}
