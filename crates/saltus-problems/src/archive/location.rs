//! Where a value stands in a text, and by its name in a JSON document. Only a complaint needs to know: the text is walked through again
//! then, and reading pays nothing for it.

use std::fmt::Write as _;

/// One step from a document to a value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// The value of a field.
    Field(&'a str),
    /// An entry of a list, from 0.
    Entry(usize),
}

/// Line and column of a byte, from 1; columns count characters.
pub(super) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.rfind('\n').map_or(0, |k| k + 1);
    (
        1 + before.matches('\n').count(),
        1 + before[line..].chars().count(),
    )
}

/// The byte at which `line` and `column` of an error of `serde_json` are: columns that count bytes, from 1.
pub(super) fn offset(text: &str, line: usize, column: usize) -> usize {
    let mut begin = 0;
    for _ in 1..line {
        match text[begin..].find('\n') {
            Some(k) => begin += k + 1,
            None => break,
        }
    }
    (begin + column.saturating_sub(1)).min(text.len())
}

/// The first byte of the value that `path` leads to, or of the last value on the way that there is.
pub(super) fn find(text: &str, path: &[Step<'_>]) -> usize {
    let mut best = (0, 0);
    let mut found = None;
    walk(text, |here, at| {
        let common = here.iter().zip(path).take_while(|(a, b)| a == b).count();
        if common == here.len() && common >= best.0 {
            best = (common, at);
        }
        if common == path.len() && here.len() == path.len() {
            found = Some(at);
        }
        found.is_some()
    });
    found.unwrap_or(best.1)
}

/// A value of the text.
#[derive(Debug, PartialEq)]
pub(super) struct Value<'t> {
    /// As in `delassus[3][2]`.
    pub(super) name: String,
    /// Its first byte.
    pub(super) begin: usize,
    /// What stands there, up to the next separator.
    pub(super) found: &'t str,
}

/// The last value that begins at byte `at` or before.
pub(super) fn value_at(text: &str, at: usize) -> Option<Value<'_>> {
    let mut last = None;
    walk(text, |path, begin| {
        let beyond = begin > at;
        if !beyond {
            last = Some((name(path), begin));
        }
        beyond
    });
    let (name, begin) = last?;
    let rest = &text[begin..];
    let end = rest.find(separates).unwrap_or(rest.len());
    Some(Value {
        name,
        begin,
        found: &rest[..end],
    })
}

fn name(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            // Writing to a string does not fail.
            Step::Field(name) => drop(write!(text, ".{name}")),
            Step::Entry(k) => drop(write!(text, "[{k}]")),
        }
    }
    text
}

fn separates(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':')
}

/// Shows `visit` every value with the way to it and its first byte, until that says `true`. Words that are no JSON pass as
/// values: it is them that are complained of.
fn walk<'t>(text: &'t str, mut visit: impl FnMut(&[Step<'t>], usize) -> bool) {
    // What is open, innermost last: the step to the current value of each; a field without a name waits for its name.
    let mut path: Vec<Step<'t>> = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b'{' | b'[' => {
                if visit(&path, begin) {
                    return;
                }
                path.push(if bytes[at] == b'{' {
                    Step::Field("")
                } else {
                    Step::Entry(0)
                });
                at += 1;
            }
            b'}' | b']' => {
                path.pop();
                at += 1;
            }
            b',' => {
                match path.last_mut() {
                    Some(Step::Entry(k)) => *k += 1,
                    Some(field) => *field = Step::Field(""),
                    None => {}
                }
                at += 1;
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
                if path.last() == Some(&Step::Field("")) {
                    path.pop();
                    path.push(Step::Field(text.get(begin + 1..at - 1).unwrap_or("?")));
                } else if visit(&path, begin) {
                    return;
                }
            }
            b':' => at += 1,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => {
                let rest = &bytes[at..];
                let ends = |b: &u8| b.is_ascii() && separates(char::from(*b));
                at += rest.iter().position(ends).unwrap_or(rest.len()).max(1);
                if visit(&path, begin) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "{\"kind\": \"a\\\"]\",\n \"q\": [1, NaN],\n \"m\": [[0, 0, 1],\n  [1, 1, 2]]}";

    #[test]
    fn values_are_found_by_their_way_and_by_their_place() {
        let place = |path: &[Step<'_>]| line_column(TEXT, find(TEXT, path));
        assert_eq!(place(&[Step::Field("q"), Step::Entry(1)]), (2, 11));
        let way = [Step::Field("m"), Step::Entry(1), Step::Entry(2)];
        assert_eq!(place(&way), (4, 10));
        // What is not there is looked for where it would be.
        assert_eq!(place(&[Step::Field("q"), Step::Entry(7)]), (2, 7));
        assert_eq!(place(&[Step::Field("mu")]), (1, 1));
        for (what, name) in [("NaN", "q[1]"), ("2]]", "m[1][2]"), ("\"a", "kind")] {
            let at = TEXT.find(what).unwrap_or(0);
            assert_eq!(value_at(TEXT, at).map(|v| v.name).as_deref(), Some(name));
        }
        let value = value_at(TEXT, offset(TEXT, 2, 11));
        assert_eq!(value.map(|v| v.found), Some("NaN"));
    }

    #[test]
    fn no_text_is_too_broken() {
        for text in [
            "",
            "{",
            "\"",
            "\"\\",
            "]]]",
            "{\"a\"",
            "é",
            "[é,\u{FEFF}",
            ":::",
        ] {
            let _ = find(text, &[Step::Field("a"), Step::Entry(2)]);
            for at in 0..4 {
                let _ = (
                    value_at(text, at),
                    line_column(text, at),
                    offset(text, at, at),
                );
            }
        }
    }
}
