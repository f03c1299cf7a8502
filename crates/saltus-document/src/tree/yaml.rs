//! YAML 1.2 and JSON to a document tree.
//!
//! JSON is checked by a JSON parser first, so that a `.json` file is JSON, and then read as the YAML
//! that it also is, because that parser knows where everything stands.

use super::{Entry, Node, Value};
use crate::diagnostic::{Diagnostic, Location};
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use std::collections::HashMap;

/// Aliases may repeat what they name; more nodes than this are a mistake or an attack.
const MOST_NODES: usize = 1_000_000;
/// No model is nested this deeply.
const DEEPEST: usize = 64;

/// Parses a JSON document.
pub(super) fn parse_json(text: &str, source: usize) -> (Option<Node>, Vec<Diagnostic>) {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => parse(text, source),
        Err(error) => {
            let message = error.to_string();
            let message = message
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .to_owned();
            let start = byte_of(text, error.line(), error.column());
            (None, vec![syntax_error(&message, source, start, text)])
        }
    }
}

/// Parses a YAML document.
pub(super) fn parse(text: &str, source: usize) -> (Option<Node>, Vec<Diagnostic>) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut reader = Reader {
        parser: Parser::new_from_str_with_options(text, options),
        text,
        source,
        anchors: HashMap::new(),
        nodes: 0,
        diagnostics: Vec::new(),
    };
    match reader.document() {
        Ok(root) => (Some(root), reader.diagnostics),
        Err(error) => {
            reader.diagnostics.push(error);
            (None, reader.diagnostics)
        }
    }
}

fn syntax_error(message: &str, source: usize, start: usize, text: &str) -> Diagnostic {
    let start = (0..=start.min(text.len()))
        .rev()
        .find(|&n| text.is_char_boundary(n))
        .unwrap_or(0);
    let end = text[start..]
        .chars()
        .next()
        .map_or(start, |c| start + c.len_utf8());
    Diagnostic::new(format!("syntax error: {message}"))
        .at(Location::new(source, start..end))
        .label("the text cannot be read from here on")
}

/// The byte at a line and column from 1, the column in bytes.
fn byte_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (start + column.saturating_sub(1)).min(text.len())
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    source: usize,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn location(&self, span: &Span) -> Location {
        let range = span.byte_range().unwrap_or(0..0);
        Location::new(
            self.source,
            range.start.min(self.text.len())..range.end.min(self.text.len()),
        )
    }

    fn scan_error(&self, error: &ScanError) -> Diagnostic {
        let start = error.marker().byte_offset().unwrap_or(self.text.len());
        syntax_error(&error.info(), self.source, start, self.text)
    }

    fn next(&mut self) -> Result<(Event<'a>, Location), Diagnostic> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.location(&span))),
            Some(Err(error)) => Err(self.scan_error(&error)),
            None => Ok((
                Event::StreamEnd,
                Location::new(self.source, self.text.len()..self.text.len()),
            )),
        }
    }

    fn document(&mut self) -> Result<Node, Diagnostic> {
        let empty = Node {
            value: Value::Null,
            location: Location::new(self.source, 0..0),
        };
        let root = loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(..), _) => {}
                (Event::StreamEnd | Event::DocumentEnd, _) => break empty,
                (event, at) => break self.node(event, at, 0)?,
            }
        };
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(root),
                (Event::DocumentStart(..), at) => {
                    return Err(Diagnostic::new("the file holds more than one document")
                        .at(at)
                        .label("a second document begins here")
                        .help("a model is one document; put the other one into its own file"));
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'a>, at: Location, depth: usize) -> Result<Node, Diagnostic> {
        self.nodes += 1;
        if depth > DEEPEST || self.nodes > MOST_NODES {
            let what = if depth > DEEPEST {
                "is nested too deeply"
            } else {
                "unfolds to too many values"
            };
            return Err(Diagnostic::new(format!("the document {what}")).at(at));
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (self.scalar(&text, style, tag.as_deref(), at)?, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.list(at, depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.table(at, depth)?, anchor),
            Event::Alias(id) => match self.anchors.get(&id).cloned() {
                Some(node) => {
                    self.nodes += count(&node);
                    (node, 0)
                }
                None => {
                    return Err(
                        Diagnostic::new("the alias stands inside the value it names").at(at),
                    );
                }
            },
            _ => return Err(Diagnostic::new("syntax error: expected a value").at(at)),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, start: Location, depth: usize) -> Result<Node, Diagnostic> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, end) => {
                    let location = Location {
                        end: end.end.max(start.start),
                        ..start
                    };
                    return Ok(Node {
                        value: Value::List(items),
                        location,
                    });
                }
                (event, at) => items.push(self.node(event, at, depth + 1)?),
            }
        }
    }

    fn table(&mut self, start: Location, depth: usize) -> Result<Node, Diagnostic> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (key, location) = match self.next()? {
                (Event::MappingEnd, end) => {
                    let location = Location {
                        end: end.end.max(start.start),
                        ..start
                    };
                    return Ok(Node {
                        value: Value::Table(entries),
                        location,
                    });
                }
                (Event::Scalar(text, ..), at) => (text.into_owned(), at),
                (_, at) => return Err(Diagnostic::new("a key must be a plain text").at(at)),
            };
            let (event, at) = self.next()?;
            let node = self.node(event, at, depth + 1)?;
            if entries.iter().any(|e| e.key == key) {
                self.diagnostics.push(
                    Diagnostic::new(format!("duplicate key \"{key}\""))
                        .at(location)
                        .label("was given above")
                        .help("a key may be given once in a table; remove one of the two"),
                );
            } else {
                entries.push(Entry {
                    key,
                    location,
                    node,
                });
            }
        }
    }

    /// A scalar by the core schema of YAML 1.2: `y`, `no` and `1e3s` are texts.
    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        location: Location,
    ) -> Result<Node, Diagnostic> {
        let value = match tag {
            Some(tag) if !tag.is_yaml_core_schema_tag("str") => {
                return Err(Diagnostic::new(format!("unknown tag {}", tag.original()))
                    .at(location)
                    .help("a model needs no tags; remove it"));
            }
            Some(_) => Value::Text(text.to_owned()),
            None if style == ScalarStyle::Plain => plain(text),
            None => Value::Text(text.to_owned()),
        };
        Ok(Node { value, location })
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(count).sum(),
        Value::Table(entries) => entries.iter().map(|e| count(&e.node)).sum::<usize>(),
        _ => 0,
    }
}

/// An unquoted scalar.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Value::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        _ => {}
    }
    let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(Value::Integer);
    let special = match text.get(..2) {
        Some("0x") => radix(&text[2..], 16),
        Some("0o") => radix(&text[2..], 8),
        _ => None,
    };
    if let Some(value) = special {
        return value;
    }
    // Rust reads `inf` and `nan` as numbers, YAML does not.
    let numeric = text
        .bytes()
        .all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    if numeric {
        if let Ok(value) = text.parse() {
            return Value::Integer(value);
        }
        if let Ok(value) = text.parse() {
            return Value::Float(value);
        }
    }
    Value::Text(text.to_owned())
}
