//! TOML to a document tree.

use super::{Entry, Node, Value};
use crate::diagnostic::{Diagnostic, Location};
use toml::de::{DeTable, DeValue};

/// Parses a TOML document; complaints other than duplicate keys leave no tree.
pub(super) fn parse(text: &str, source: usize) -> (Option<Node>, Vec<Diagnostic>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut broken = false;
    let mut diagnostics = Vec::with_capacity(errors.len());
    for error in errors {
        let duplicate = error.message() == "duplicate key";
        broken |= !duplicate;
        diagnostics.push(complaint(text, source, &error, duplicate));
    }
    let root = (!broken).then(|| Node {
        value: entries(table.get_ref(), source),
        location: Location::new(source, 0..0),
    });
    (root, diagnostics)
}

/// Parses one TOML value, e.g. the right-hand side of an override; `None` where it is not one.
pub fn parse_value(text: &str, source: usize, offset: usize) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    let mut node = node(value.get_ref(), value.span(), source);
    shift(&mut node, offset);
    Some(node)
}

/// A syntax error in the parser's words, at its place.
fn complaint(text: &str, source: usize, error: &toml::de::Error, duplicate: bool) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    let at = Location::new(source, span.start.min(text.len())..span.end.min(text.len()));
    let snippet = text.get(at.range()).unwrap_or("");
    if duplicate {
        return Diagnostic::new(format!("duplicate key \"{snippet}\""))
            .at(at)
            .label("was given above")
            .help("a key may be given once in a table; remove one of the two");
    }
    let (what, expected) = match error.message().split_once(", expected ") {
        Some((what, expected)) => (what, Some(expected)),
        None => (error.message(), None),
    };
    let diagnostic = Diagnostic::new(format!("syntax error: {what}")).at(at);
    let diagnostic = match expected {
        Some("nothing") => diagnostic.label("not expected here"),
        Some(expected) => diagnostic.label(format!("expected {expected}")),
        None => diagnostic,
    };
    if what == "string values must be quoted" {
        diagnostic.help("numbers are written bare (2e-3), formulas and names in quotes (\"m*g\")")
    } else {
        diagnostic
    }
}

fn entries(table: &DeTable<'_>, source: usize) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            location: Location::new(source, key.span()),
            node: node(value.get_ref(), value.span(), source),
        })
        .collect();
    // The parser sorts by name; a reader expects the order of the text.
    entries.sort_by_key(|e| e.location);
    Value::Table(entries)
}

fn node(value: &DeValue<'_>, span: std::ops::Range<usize>, source: usize) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(
                // Too large for an integer, not for a number.
                |_| Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
                Value::Integer,
            ),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| node(item.get_ref(), item.span(), source))
                .collect(),
        ),
        DeValue::Table(table) => entries(table, source),
    };
    Node {
        value,
        location: Location::new(source, span),
    }
}

/// Moves all places of `node` by `offset` bytes.
fn shift(node: &mut Node, offset: usize) {
    node.location.start += offset;
    node.location.end += offset;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| shift(item, offset)),
        Value::Table(entries) => {
            for entry in entries {
                entry.location.start += offset;
                entry.location.end += offset;
                shift(&mut entry.node, offset);
            }
        }
        _ => {}
    }
}
