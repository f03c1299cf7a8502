//! The nearest known word to an unknown one.

/// The candidate closest to `word`, if one is close enough to be a likely slip.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= limit && distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

/// Slips of the finger, where upper and lower case are the same letter.
fn distance(a: &str, b: &str) -> usize {
    if a == b {
        return 0;
    }
    strsim::damerau_levenshtein(&a.to_lowercase(), &b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["theta", "phi", "m", "L", "gravity"];
        assert_eq!(nearest("thta", known), Some("theta"));
        assert_eq!(nearest("htheta", known), Some("theta"));
        assert_eq!(nearest("Theta", known), Some("theta"));
        assert_eq!(nearest("l", known), Some("L"));
        assert_eq!(nearest("ph", known), Some("phi"));
        assert_eq!(nearest("stiffness", known), None);
        assert_eq!(nearest("x", known), None);
    }
}
