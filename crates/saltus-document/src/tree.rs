//! A document as a tree whose every node remembers where it was written.
//!
//! TOML, YAML and JSON become the same tree; overrides edit it; the checks point into it.

mod toml;
mod yaml;

use crate::diagnostic::{Diagnostic, Location};
use std::fmt;
use std::path::Path as FilePath;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub location: Location,
}

/// What a node may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing was written (YAML, JSON).
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number, infinities and not-a-number included.
    Float(f64),
    /// Text.
    Text(String),
    /// A date or a time (TOML), as written.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order of the text.
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub location: Location,
    /// The value.
    pub node: Node,
}

/// How a document is written; the file extension says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.toml`
    Toml,
    /// `.yaml`, `.yml`
    Yaml,
    /// `.json`
    Json,
}

impl Format {
    /// The format of a file of that name, `None` where the extension is none of the known ones.
    #[must_use]
    pub fn of(path: &FilePath) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Parses `text`, which is the source number `source`.
    ///
    /// The tree is present also where there are complaints that do not touch its structure
    /// (duplicate keys: the first is kept).
    #[must_use]
    pub fn parse(self, text: &str, source: usize) -> (Option<Node>, Vec<Diagnostic>) {
        match self {
            Self::Toml => toml::parse(text, source),
            Self::Yaml => yaml::parse(text, source),
            Self::Json => yaml::parse_json(text, source),
        }
    }
}

pub use toml::parse_value;

/// One step down in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the value of a key.
    Key(String),
    /// To an entry of a list, from 0.
    Index(usize),
}

/// The bytes of each step of a path, in the text it was read from.
type Spans = Vec<std::ops::Range<usize>>;

/// A place in a document, e.g. `system.unilateral[0].gap`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// The path of the value of `key` below this one.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }

    /// The path of the entry `index` of the list at this one.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// Reads what `Display` writes: keys separated by dots, indices in brackets, odd keys in quotes.
    ///
    /// # Errors
    /// In words, with the byte where the reading stopped.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        Self::parse_with_spans(text).map(|(path, _)| path)
    }

    /// Like [`parse`](Self::parse), with the bytes of each step.
    pub(crate) fn parse_with_spans(text: &str) -> Result<(Self, Spans), (usize, String)> {
        let (mut steps, mut spans) = (Vec::new(), Vec::new());
        let mut at = 0;
        loop {
            let rest = &text[at..];
            if let Some(quoted) = rest.strip_prefix('"') {
                let Some(end) = quoted.find('"') else {
                    return Err((at, "a quote is not closed".to_owned()));
                };
                steps.push(Step::Key(quoted[..end].to_owned()));
                spans.push(at..at + end + 2);
                at += end + 2;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let key = rest[..end].trim();
                if key.is_empty() {
                    return Err((at, "a key is missing here".to_owned()));
                }
                steps.push(Step::Key(key.to_owned()));
                spans.push(at..at + end);
                at += end;
            }
            while let Some(rest) = text[at..].strip_prefix('[') {
                let Some(end) = rest.find(']') else {
                    return Err((at, "a bracket is not closed".to_owned()));
                };
                let Ok(index) = rest[..end].trim().parse() else {
                    return Err((at + 1, "expected the number of an entry, from 0".to_owned()));
                };
                steps.push(Step::Index(index));
                spans.push(at..at + end + 2);
                at += end + 2;
            }
            match text[at..].chars().next() {
                None => return Ok((Self(steps), spans)),
                Some('.') => at += 1,
                Some(_) => return Err((at, "expected a dot".to_owned())),
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    if k > 0 {
                        f.write_str(".")?;
                    }
                    if key.is_empty() || key.contains(['.', '[', '"', ' ']) {
                        write!(f, "\"{key}\"")?;
                    } else {
                        f.write_str(key)?;
                    }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Node {
    /// The entries, if this is a table.
    #[must_use]
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if this is a list.
    #[must_use]
    pub fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if this is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The entry of `key`, if this is a table that has it.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|e| e.key == key)
    }

    /// The node one step down.
    #[must_use]
    pub fn child(&self, step: &Step) -> Option<&Self> {
        match step {
            Step::Key(key) => self.entry(key).map(|e| &e.node),
            Step::Index(index) => self.items()?.get(*index),
        }
    }

    /// The node at `path`, if there is one.
    #[must_use]
    pub fn find(&self, path: &Path) -> Option<&Self> {
        path.0.iter().try_fold(self, |node, step| node.child(step))
    }

    /// Where the value at `path` was written, or else the closest thing above it.
    #[must_use]
    pub fn locate(&self, path: &Path) -> Location {
        let (mut node, mut location) = (self, self.location);
        for step in &path.0 {
            let key = match step {
                Step::Key(key) => node.entry(key).map(|e| e.location),
                Step::Index(_) => None,
            };
            let Some(child) = node.child(step) else { break };
            // A table is shown by its key: its own text may be many lines.
            location = match (&child.value, key) {
                (Value::Table(_) | Value::List(_), Some(key)) => key,
                _ => child.location,
            };
            node = child;
        }
        location
    }

    /// Where the key of the value at `path` was written, or else the closest thing above it.
    #[must_use]
    pub fn locate_key(&self, path: &Path) -> Location {
        if let Some((Step::Key(key), above)) = path.0.split_last()
            && let Some(entry) = self
                .find(&Path(above.to_vec()))
                .and_then(|node| node.entry(key))
        {
            return entry.location;
        }
        self.locate(path)
    }

    /// What this is, in words, for a message.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("the truth value {value}"),
            Value::Integer(value) => format!("the number {value}"),
            Value::Float(value) => format!("the number {value}"),
            Value::Text(value) => format!("the text {}", shorten(value)),
            Value::Date(value) => format!("the date {value}"),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// The same data without places. Numbers that JSON does not know become null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) | Value::Date(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), e.node.to_json()))
                    .collect(),
            ),
        }
    }
}

/// A text in quotes, cut where it is long.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        format!("{text:?}")
    } else {
        let cut: String = text.chars().take(LONGEST).collect();
        format!("{:?}", cut + "…")
    }
}

/// Where byte `offset` of the decoded `value` stands in `raw`, the text that was decoded: quotes,
/// escapes and folded lines are stepped over. `None` where the two cannot be brought together.
#[must_use]
pub fn raw_offset(raw: &str, value: &str, offset: usize) -> Option<usize> {
    let double = raw.starts_with('"');
    let single = raw.starts_with('\'');
    let mut at = content_start(raw);
    // Most texts stand as they are.
    let plain = |text: &str| !(double && text.contains('\\') || single && text.contains('\''));
    if let Some(begin) = raw.get(at..at + offset)
        && value.get(..offset) == Some(begin)
        && plain(begin)
    {
        at += offset;
        let wanted = value[offset..].chars().next();
        return wanted
            .and_then(|wanted| skip_folding(raw, at, wanted))
            .or(Some(at));
    }
    let mut decoded = value.char_indices().peekable();
    while let Some(&(position, wanted)) = decoded.peek() {
        if position >= offset {
            // An escape stands for the character it makes; the white space of a folded line does not.
            return skip_folding(raw, at, wanted).or(Some(at));
        }
        let found = raw[at..].chars().next()?;
        if double && found == '\\' {
            at += escape_length(&raw[at..])?;
            if raw[..at].ends_with(['\n', '\r']) {
                continue;
            }
        } else if single && raw[at..].starts_with("''") && wanted == '\'' {
            at += 2;
        } else if found == wanted {
            at += found.len_utf8();
        } else {
            at = skip_folding(raw, at, wanted)?;
            if wanted == ' ' || wanted == '\n' {
                decoded.next();
            }
            continue;
        }
        decoded.next();
    }
    (at <= raw.len()).then_some(at)
}

/// Where the content of a text begins: after the quote, or on the line after the head of a block.
fn content_start(raw: &str) -> usize {
    if raw.starts_with("\"\"\"") || raw.starts_with("'''") {
        let content = &raw[3..];
        let content = content
            .strip_prefix("\r\n")
            .or_else(|| content.strip_prefix('\n'))
            .unwrap_or(content);
        return raw.len() - content.len();
    }
    match raw.chars().next() {
        Some('"' | '\'') => 1,
        Some('|' | '>') => raw.find('\n').map_or(0, |n| n + 1),
        _ => 0,
    }
}

/// The place after the white space at `at`, if the text does not go on with `wanted` itself.
fn skip_folding(raw: &str, at: usize, wanted: char) -> Option<usize> {
    let rest = raw.get(at..)?;
    if rest.starts_with(wanted) || rest.starts_with('\\') {
        return Some(at);
    }
    let trimmed = rest.trim_start();
    (trimmed.len() < rest.len()).then_some(at + rest.len() - trimmed.len())
}

/// Bytes of the escape at the start of `rest`, which begins with a backslash.
fn escape_length(rest: &str) -> Option<usize> {
    let mut characters = rest.chars();
    characters.next()?;
    let kind = characters.next()?;
    let length = match kind {
        'x' => 4,
        'U' => 10,
        // A surrogate pair is one character.
        'u' if rest.len() >= 12
            && rest[2..].to_ascii_lowercase().starts_with('d')
            && rest.is_char_boundary(12) =>
        {
            let high = u32::from_str_radix(rest.get(2..6)?, 16).unwrap_or(0);
            if (0xD800..0xDC00).contains(&high) && rest[6..].starts_with("\\u") {
                12
            } else {
                6
            }
        }
        'u' => 6,
        other => 1 + other.len_utf8(),
    };
    (rest.len() >= length && rest.is_char_boundary(length)).then_some(length)
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
