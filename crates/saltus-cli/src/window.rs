//! The part of a text that is shown around a place: the lines before and after it, long ones cut.

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use saltus_model::{Location, SourceText};
use std::ops::Range;

/// Longer lines are cut to a part around the place \[characters\].
const WIDTH: usize = 120;

/// The lines around a place, with the numbers they have in the whole text.
#[derive(Debug)]
pub struct Window {
    name: String,
    text: String,
    /// Number of the first line, from 0.
    line: usize,
    /// Line and column of the place, from 0.
    place: (usize, usize),
    /// The place, in bytes of `text`.
    span: Range<usize>,
}

impl Window {
    /// The lines around `at`, which lies in one line of `source`.
    pub fn new(source: &SourceText, at: Location) -> Self {
        let whole = source.text.as_str();
        let start = floor(whole, at.start);
        let end = floor(whole, at.end).max(start);
        let (line, column) = source.line_column(start);
        let (line, column) = (line - 1, column - 1);
        let begin = whole[..start].rfind('\n').map_or(0, |n| n + 1);
        let finish = whole[start..].find('\n').map_or(whole.len(), |n| start + n);
        let (shown, span) = around(
            trimmed(&whole[begin..finish]),
            start - begin..end.min(finish) - begin,
        );
        let mut window = Self {
            name: source.name.clone(),
            text: String::new(),
            line,
            place: (line, column),
            span,
        };
        if begin > 0 {
            let before = &whole[..begin - 1];
            let before = &before[before.rfind('\n').map_or(0, |n| n + 1)..];
            window.text = around(trimmed(before), 0..0).0 + "\n";
            window.line -= 1;
        }
        window.span = window.span.start + window.text.len()..window.span.end + window.text.len();
        window.text.push_str(&shown);
        let after = whole.get(finish + 1..).unwrap_or_default();
        if !after.is_empty() {
            let after = after.split('\n').next().unwrap_or_default();
            window.text.push('\n');
            window.text.push_str(&around(trimmed(after), 0..0).0);
            window.text.push('\n');
        }
        window
    }

    /// The place, in bytes of the text that is shown.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

fn trimmed(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The character boundary at or before `byte`.
fn floor(text: &str, byte: usize) -> usize {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The part of a long `line` around `span`, and where that is in the part.
fn around(line: &str, span: Range<usize>) -> (String, Range<usize>) {
    let span = span.start.min(line.len())..span.end.min(line.len());
    if line.len() <= WIDTH || line.chars().nth(WIDTH).is_none() {
        return (line.to_owned(), span);
    }
    let marked = line[span.clone()].chars().take(WIDTH).count();
    let room = WIDTH - marked;
    // Where the rest of the line is short, what is left of the width is shown before the place.
    let behind = line[span.end..].chars().take(room / 2).count();
    let from = match line[..span.start].char_indices().rev().nth(room - behind) {
        Some((next, c)) => next + c.len_utf8(),
        None => 0,
    };
    let until = line[from..]
        .char_indices()
        .nth(WIDTH)
        .map_or(line.len(), |(n, _)| from + n);
    let mut text = String::new();
    if from > 0 {
        text.push('…');
    }
    let offset = text.len();
    text.push_str(&line[from..until]);
    let place = |byte: usize| byte.clamp(from, until) - from + offset;
    let span = place(span.start)..place(span.end);
    if until < line.len() {
        text.push('…');
    }
    (text, span)
}

impl SourceCode for Window {
    /// All of the window, or what is marked where no lines around it are asked for.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (range, line, column) = if before + after == 0 {
            let start = span.offset();
            (start..start + span.len(), self.place.0, self.place.1)
        } else {
            (0..self.text.len(), self.line, 0)
        };
        let bytes = self.text.as_bytes().get(range.clone());
        let bytes = bytes.ok_or(MietteError::OutOfBounds)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            bytes,
            (range.start, range.len()).into(),
            line,
            column,
            bytes.iter().filter(|&&b| b == b'\n').count() + 1,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, range: Range<usize>) -> (String, String) {
        let source = SourceText {
            name: String::new(),
            text: text.to_owned(),
        };
        let window = Window::new(&source, Location::new(0, range));
        let marked = window.text[window.span()].to_owned();
        (window.text, marked)
    }

    #[test]
    fn short_lines_are_shown_whole() {
        let (text, marked) = shown("a = 1\nb = 22\nc = 3\nd = 4\n", 10..12);
        assert_eq!(
            (text.as_str(), marked.as_str()),
            ("a = 1\nb = 22\nc = 3\n", "22")
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}ERROR{}", "é".repeat(70_000), "x".repeat(70_000));
        let (text, marked) = shown(&line, 140_000..140_005);
        assert_eq!(marked, "ERROR");
        assert!(text.chars().count() <= WIDTH + 2, "{text}");
        assert!(text.starts_with('…') && text.ends_with('…'), "{text}");
        // A place that is itself long, one at the end, one beyond it, and a neighbour that is long.
        assert_eq!(shown(&line, 0..line.len()).1.chars().count(), WIDTH);
        let (text, marked) = shown(&line, line.len() - 2..line.len());
        assert_eq!((marked.as_str(), text.chars().count()), ("xx", WIDTH + 1));
        assert_eq!(shown(&line, line.len() + 5..line.len() + 9).1, "");
        let (text, _) = shown(
            &format!("{line}\nb\n{line}"),
            line.len() + 1..line.len() + 2,
        );
        assert!(text.chars().count() < 3 * WIDTH, "{text}");
    }
}
