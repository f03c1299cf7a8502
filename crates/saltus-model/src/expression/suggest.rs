//! The nearest known word to an unknown one.

use saltus_document::suggest;

/// The candidate closest to `word`, if one is close enough to be a likely slip; the same in any order of the candidates.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Symbols of one letter are many: one is not meant by another word.
    let may_be =
        |candidate: &&str| candidate.chars().count() > 1 || candidate.eq_ignore_ascii_case(word);
    let mut candidates: Vec<&str> = candidates.into_iter().filter(may_be).collect();
    candidates.sort_unstable();
    suggest::nearest(word, candidates)
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
        assert_eq!(nearest("tetha", known), Some("theta"));
        assert_eq!(nearest("l", known), Some("L"));
        assert_eq!(nearest("ph", known), Some("phi"));
        assert_eq!(nearest("stiffness", known), None);
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("mm", known), None);
    }
}
