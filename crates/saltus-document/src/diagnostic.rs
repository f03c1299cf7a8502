//! What is wrong with a model, as plain data: the message, the place in the text, the cure.
//!
//! A [`Diagnostic`] points into one of the texts a model is made of: the file (source 0) or an
//! override from the command line. [`ModelErrors`] holds these texts beside the diagnostics, so
//! that any front end can render them; its `Display` is a few plain lines per diagnostic.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::Range;

/// A span of bytes in one of the texts of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Location {
    /// Index into [`ModelErrors::sources`]; 0 is the file.
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte; equal to `start` for a point.
    pub end: usize,
}

impl Location {
    /// Bytes `span` of the text number `source`.
    #[must_use]
    pub fn new(source: usize, span: Range<usize>) -> Self {
        Self {
            source,
            start: span.start,
            end: span.end.max(span.start),
        }
    }

    /// The bytes, as a range.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The same place, cut at the end of its first line and at the end of `text`.
    #[must_use]
    pub fn first_line(self, text: &str) -> Self {
        let end = self.end.min(text.len());
        let start = self.start.min(end);
        let cut = text
            .get(start..end)
            .and_then(|s| s.find(['\n', '\r']))
            .map_or(end, |n| start + n);
        Self {
            start,
            end: cut,
            ..self
        }
    }
}

/// One thing that is wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong: names the place and the value.
    pub message: String,
    /// A few words at the place itself, e.g. what was expected there.
    pub label: Option<String>,
    /// What usually cures it.
    pub help: Option<String>,
    /// Where it is; `None` where there is no text to point into.
    pub location: Option<Location>,
    /// The document path it is about, e.g. `system.unilateral[0].gap`.
    pub place: Option<Box<str>>,
}

impl Diagnostic {
    /// A diagnostic without a place.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            label: None,
            help: None,
            location: None,
            place: None,
        }
    }

    /// Points at `location`.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// Is about the document path `place`.
    #[must_use]
    pub fn about(mut self, place: impl Into<Box<str>>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Says `label` at the place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Suggests `help`.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One of the texts a model is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceText {
    /// The path of the file, or the flag of the override (`--set`).
    pub name: String,
    /// The text.
    pub text: String,
}

impl SourceText {
    /// Line and column (both from 1; the column counts characters) of a byte.
    #[must_use]
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let before = self
            .text
            .as_bytes()
            .get(..byte)
            .unwrap_or(self.text.as_bytes());
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        let start = before
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |n| n + 1);
        // Continuation bytes of UTF-8 do not count.
        let column = 1 + before[start..]
            .iter()
            .filter(|&&b| b & 0xC0 != 0x80)
            .count();
        (line, column)
    }
}

/// The same message at one or more places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault<'a> {
    /// The first of the diagnostics.
    pub first: &'a Diagnostic,
    /// How many more there are, with the same message and help at other places.
    pub more: usize,
}

/// Everything that is wrong with a model, at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelErrors {
    /// The file (number 0) and the overrides.
    pub sources: Vec<SourceText>,
    /// At least one, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl ModelErrors {
    /// Sorts the diagnostics by their place and drops repetitions.
    pub fn new(sources: Vec<SourceText>, mut diagnostics: Vec<Diagnostic>) -> Self {
        for diagnostic in &mut diagnostics {
            if let Some(at) = diagnostic.location
                && let Some(source) = sources.get(at.source)
            {
                diagnostic.location = Some(at.first_line(&source.text));
            }
        }
        for diagnostic in &mut diagnostics {
            shorten(&mut diagnostic.message, 600);
            diagnostic.label.iter_mut().for_each(|s| shorten(s, 400));
            diagnostic.help.iter_mut().for_each(|s| shorten(s, 600));
        }
        diagnostics.sort_by_key(|d| d.location);
        diagnostics.dedup_by(|a, b| a.location == b.location && a.message == b.message);
        Self {
            sources,
            diagnostics,
        }
    }

    /// The diagnostics by their messages, in the order of the first place of each.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault<'_>> {
        let mut faults: Vec<Fault<'_>> = Vec::new();
        let mut known = HashMap::new();
        for diagnostic in &self.diagnostics {
            match known.entry((&diagnostic.message, &diagnostic.help)) {
                Entry::Occupied(index) => {
                    let fault: &mut Fault<'_> = &mut faults[*index.get()];
                    fault.more += 1;
                }
                Entry::Vacant(entry) => {
                    entry.insert(faults.len());
                    faults.push(Fault {
                        first: diagnostic,
                        more: 0,
                    });
                }
            }
        }
        faults
    }

    /// The text a diagnostic points into.
    #[must_use]
    pub fn source(&self, diagnostic: &Diagnostic) -> Option<&SourceText> {
        self.sources.get(diagnostic.location?.source)
    }
}

/// Takes out the middle of a text of more than `most` bytes.
pub fn shorten(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    let mut from = most * 2 / 3;
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let mut to = text.len() - most / 3;
    while !text.is_char_boundary(to) {
        to += 1;
    }
    text.replace_range(from..to, " … ");
}

impl std::error::Error for ModelErrors {}

impl fmt::Display for ModelErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, diagnostic) in self.diagnostics.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            match (diagnostic.location, self.source(diagnostic)) {
                (Some(at), Some(source)) => {
                    let (line, column) = source.line_column(at.start);
                    write!(f, "{}:{line}:{column}: {}", source.name, diagnostic.message)?;
                }
                _ => match self.sources.first() {
                    Some(file) => write!(f, "{}: {}", file.name, diagnostic.message)?,
                    None => f.write_str(&diagnostic.message)?,
                },
            }
            let label = diagnostic.label.as_ref();
            if let Some(label) = label.filter(|label| !diagnostic.message.contains(*label)) {
                write!(f, " ({label})")?;
            }
            if let Some(help) = &diagnostic.help {
                write!(f, "\n  help: {help}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_message_is_one_fault() {
        let at =
            |message: &str, start| Diagnostic::new(message).at(Location::new(0, start..start + 1));
        let diagnostics = vec![at("b", 4), at("a", 3), at("a", 1), at("a", 2), at("a", 2)];
        let errors = ModelErrors::new(Vec::new(), diagnostics);
        let faults: Vec<_> = errors.faults();
        let told: Vec<_> = faults
            .iter()
            .map(|f| (f.first.message.as_str(), f.more))
            .collect();
        assert_eq!(told, [("a", 2), ("b", 0)]);
    }

    #[test]
    fn long_messages_lose_their_middle() {
        let long = format!("begin {} end", "é".repeat(100_000));
        let errors = ModelErrors::new(Vec::new(), vec![Diagnostic::new(&*long)]);
        let message = &errors.diagnostics[0].message;
        assert!(message.len() < 650, "{}", message.len());
        assert!(
            message.starts_with("begin é") && message.ends_with("é end"),
            "{message}"
        );
    }
}
