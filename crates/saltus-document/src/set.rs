//! Overrides from the command line: they edit the document before it is checked.
//!
//! A path that leads nowhere is refused with a suggestion, except where a key is merely absent: it
//! is added, and whether it may be there is for the checks to say, which point into the override.

use crate::diagnostic::{Diagnostic, Location, SourceText};
use crate::document;
use crate::suggest;
use crate::tree::{self, Entry, Node, Path, Step, Value};
use saltus_integrators::Scheme;
use std::ops::Range;

/// A value that replaces one of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The flag it came from, e.g. `--set`.
    flag: String,
    /// The path, where the flag implies it; `None` where it stands in the text.
    path: Option<&'static str>,
    /// `PATH=VALUE`, or the value alone.
    text: String,
    /// Whether the value is a list of the words of the text.
    list: bool,
}

impl Override {
    /// `--set PATH=VALUE`: the value is read as TOML, or else is a text.
    #[must_use]
    pub fn set(text: impl Into<String>) -> Self {
        Self {
            flag: "--set".to_owned(),
            path: None,
            text: text.into(),
            list: false,
        }
    }

    /// `FLAG VALUE`, where the flag stands for the document path `path`.
    #[must_use]
    pub fn flag(flag: impl Into<String>, path: &'static str, value: impl Into<String>) -> Self {
        Self {
            flag: flag.into(),
            path: Some(path),
            text: value.into(),
            list: false,
        }
    }

    /// As [`flag`](Self::flag), where the value is a list of names: the words of `names`.
    #[must_use]
    pub fn list(flag: impl Into<String>, path: &'static str, names: impl Into<String>) -> Self {
        Self {
            list: true,
            ..Self::flag(flag, path, names)
        }
    }
}

/// What the overrides did to a document.
#[derive(Debug, Default)]
pub struct Applied {
    /// What could not be done.
    pub diagnostics: Vec<Diagnostic>,
    /// What was done beside what was asked.
    pub notes: Vec<String>,
}

/// Applies `overrides` in their order; each becomes one more of the `sources`.
pub fn apply(tree: &mut Node, overrides: &[Override], sources: &mut Vec<SourceText>) -> Applied {
    let mut applied = Applied::default();
    for change in overrides {
        let source = sources.len();
        sources.push(SourceText {
            name: change.flag.clone(),
            text: change.text.clone(),
        });
        if let Err(diagnostic) = apply_one(tree, change, source, &mut applied.notes) {
            applied.diagnostics.push(*diagnostic);
        }
    }
    applied
}

type Refusal = Box<Diagnostic>;

fn apply_one(
    tree: &mut Node,
    change: &Override,
    source: usize,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let text = change.text.as_str();
    let (path_text, value_start) = match change.path {
        Some(path) => (path, 0),
        None => match text.split_once('=') {
            Some((path, _)) => (path, path.len() + 1),
            None => {
                return Err(Box::new(
                    Diagnostic::new(format!("\"{text}\" sets nothing, expected PATH=VALUE"))
                        .at(Location::new(source, 0..text.len()))
                        .label("has no \"=\"")
                        .help("for example --set parameters.m=2 or --set simulation.step=1e-3"),
                ));
            }
        },
    };
    let (path, spans) = Path::parse_with_spans(path_text).map_err(|(at, what)| {
        Box::new(
            Diagnostic::new(format!("\"{path_text}\" is not a path: {what}"))
                .at(Location::new(source, at..path_text.len()))
                .label(what)
                .help("keys are separated by dots, entries of lists are named or numbered from 0: system.force[1]"),
        )
    })?;
    // Where the flag implies the path, the only text to point at is the value.
    let spans = if change.path.is_some() {
        vec![0..text.len(); spans.len()]
    } else {
        spans
    };
    let value = if change.list {
        words(text, source)
    } else {
        value(text, value_start, source)
    };
    let value = match scheme_switch(tree, &path, value, change, notes) {
        Some(value) => value,
        None => return Ok(()),
    };
    if let Some(refusal) = elsewhere(tree, &path) {
        return Err(Box::new(
            refusal
                .at(Location::new(source, 0..path_text.len()))
                .about(path.to_string()),
        ));
    }
    insert(tree, &path, &spans, source, value)
}

/// A path that begins with no key of a model, where the model has something of that name further inside.
fn elsewhere(tree: &Node, path: &Path) -> Option<Diagnostic> {
    let Some(Step::Key(first)) = path.0.first() else {
        return None;
    };
    if tree.entry(first).is_some() {
        return None;
    }
    let schema = document::checked_schema();
    let keys = &schema["properties"];
    if keys.get(first).is_some() {
        return None;
    }
    let mut found = Vec::new();
    search(tree, &mut Path::default(), path, &mut found);
    // What is not in the file, but may be.
    for table in ["simulation", "output", "initial"] {
        let name = keys[table]["$ref"]
            .as_str()
            .and_then(|r| r.rsplit('/').next());
        let inside = name.map(|name| &schema["$defs"][name]["properties"]);
        if path.0.len() == 1 && inside.is_some_and(|inside| inside.get(first).is_some()) {
            found.push(Path::default().key(table).key(first).to_string());
        }
    }
    let scheme = Path::default().key("simulation").key("scheme");
    let options = tree
        .find(&scheme)
        .and_then(Node::text)
        .and_then(Scheme::by_name);
    let options = options.and_then(|options| document::options(&options));
    if path.0.len() == 1 && options.is_some_and(|options| options.get(first).is_some()) {
        found.push(scheme.key(first).to_string());
    }
    found.sort_by_key(|path| (path.len(), path.clone()));
    found.dedup();
    let help = match found.as_slice() {
        [] => return None,
        [only] => format!("did you mean {only}?"),
        several => format!(
            "the model has {}",
            suggest::list(several.iter().map(String::as_str))
        ),
    };
    let diagnostic = Diagnostic::new(format!("there is no \"{path}\" in the file"));
    Some(diagnostic.label("not in the file").help(help))
}

/// Every path in `node`, which is at `here`, that ends with `end`; entries of lists go by their names.
fn search(node: &Node, here: &mut Path, end: &Path, found: &mut Vec<String>) {
    const ENOUGH: usize = 100;
    if found.len() >= ENOUGH {
        return;
    }
    if !here.0.is_empty() && find_by_name(node, &end.0).is_some() {
        found.push(Path(here.0.iter().chain(&end.0).cloned().collect()).to_string());
    }
    let mut below = |step: Step, inside: &Node| {
        here.0.push(step);
        search(inside, here, end, found);
        here.0.pop();
    };
    match &node.value {
        Value::Table(entries) => entries
            .iter()
            .for_each(|e| below(Step::Key(e.key.clone()), &e.node)),
        Value::List(items) => items.iter().enumerate().for_each(|(k, item)| {
            below(
                name_of(item).map_or(Step::Index(k), |name| Step::Key(name.to_owned())),
                item,
            );
        }),
        _ => {}
    }
}

fn find_by_name<'a>(node: &'a Node, steps: &[Step]) -> Option<&'a Node> {
    steps
        .iter()
        .try_fold(node, |node, step| match (&node.value, step) {
            (Value::Table(_), Step::Key(key)) => node.entry(key).map(|e| &e.node),
            (Value::List(items), Step::Key(key)) => items.iter().find(|i| name_of(i) == Some(key)),
            (Value::List(items), Step::Index(index)) => items.get(*index),
            _ => None,
        })
}

/// The value at the byte `start` of `text`.
fn value(text: &str, start: usize, source: usize) -> Node {
    let raw = &text[start..];
    let trimmed = raw.trim();
    let offset = start + raw.len() - raw.trim_start().len();
    match tree::parse_value(trimmed, source, offset) {
        Some(node) if !matches!(node.value, Value::Date(_)) => node,
        _ => Node {
            value: Value::Text(trimmed.to_owned()),
            location: Location::new(source, offset..offset + trimmed.len()),
        },
    }
}

/// The list of the words of `text`.
fn words(text: &str, source: usize) -> Node {
    let word = |word: &str| {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        Node {
            value: Value::Text(word.to_owned()),
            location: Location::new(source, at..at + word.len()),
        }
    };
    Node {
        value: Value::List(text.split_whitespace().map(word).collect()),
        location: Location::new(source, 0..text.len()),
    }
}

/// The options of a scheme belong to it: they stay when it is named again and go when another one is.
///
/// `None` where nothing is left to do.
fn scheme_switch(
    tree: &mut Node,
    path: &Path,
    value: Node,
    change: &Override,
    notes: &mut Vec<String>,
) -> Option<Node> {
    let place = Path::default().key("simulation").key("scheme");
    let by_name = *path == place.key("name");
    if *path != place && !by_name {
        return Some(value);
    }
    let (Some(new), Some(old)) = (value.text(), tree.find(&place)) else {
        return Some(value);
    };
    let Some(entries) = old.entries() else {
        return Some(value);
    };
    let name = old
        .entry("name")
        .and_then(|e| e.node.text())
        .unwrap_or_default();
    if name == new {
        return None;
    }
    let dropped = suggest::list(
        entries
            .iter()
            .map(|e| e.key.as_str())
            .filter(|key| *key != "name"),
    );
    if !dropped.is_empty() {
        notes.push(format!(
            "{} chooses {new}; the options of {name} are dropped: {dropped}",
            change.flag
        ));
    }
    if let Some(node) = find_mut(tree, &place) {
        node.value = value.value;
        node.location = value.location;
    }
    None
}

fn find_mut<'a>(node: &'a mut Node, path: &Path) -> Option<&'a mut Node> {
    path.0
        .iter()
        .try_fold(node, |node, step| match (&mut node.value, step) {
            (Value::Table(entries), Step::Key(key)) => entries
                .iter_mut()
                .find(|e| e.key == *key)
                .map(|e| &mut e.node),
            (Value::List(items), Step::Index(index)) => items.get_mut(*index),
            _ => None,
        })
}

/// Puts `value` at `path`; `spans` are the bytes of its steps in the text number `source`.
fn insert(
    tree: &mut Node,
    path: &Path,
    spans: &[Range<usize>],
    source: usize,
    value: Node,
) -> Result<(), Refusal> {
    let mut node = tree;
    for (depth, step) in path.0.iter().enumerate() {
        let here = Path(path.0[..depth].to_vec());
        let at = Location::new(source, spans.get(depth).cloned().unwrap_or(0..0));
        let last = depth + 1 == path.0.len();
        node = child(node, step, &here, at, last)
            .map_err(|refusal| Box::new(refusal.at(at).about(path.to_string())))?;
    }
    *node = value;
    Ok(())
}

/// One step down from `node`, which is at the path `here`; `at` is where an absent key is said to stand, and the
/// `last` one, whose value is replaced.
fn child<'a>(
    node: &'a mut Node,
    step: &Step,
    here: &Path,
    at: Location,
    last: bool,
) -> Result<&'a mut Node, Refusal> {
    if matches!(step, Step::Key(_)) {
        unfold_scheme(node, here);
    }
    let described = node.describe();
    let leads_nowhere = |what: String| {
        Box::new(
            Diagnostic::new(format!("{here} is {described}, which has no {what}"))
                .label("leads nowhere"),
        )
    };
    match (&mut node.value, step) {
        (Value::Table(entries), Step::Key(key)) => entry(entries, key, here, at, last),
        (Value::List(items), Step::Key(key)) => item_by_name(items, key, here),
        (Value::List(items), Step::Index(index)) => {
            let help = numbered(items, here);
            items.get_mut(*index).ok_or_else(|| {
                let message = format!("there is no entry {index} in {here}");
                Box::new(Diagnostic::new(message).label("not in the file").help(help))
            })
        }
        (_, Step::Key(key)) => Err(leads_nowhere(format!("\"{key}\""))),
        (_, Step::Index(index)) => Err(leads_nowhere(format!("entry {index}"))),
    }
}

/// The value of `key`, which is added where that may be.
fn entry<'a>(
    entries: &'a mut Vec<Entry>,
    key: &str,
    here: &Path,
    at: Location,
    last: bool,
) -> Result<&'a mut Node, Refusal> {
    let position = match entries.iter().position(|e| e.key == key) {
        Some(position) => position,
        None if is_map(here) => {
            return Err(absent(
                key,
                entries.iter().map(|e| e.key.as_str()).collect(),
                here,
            ));
        }
        None => {
            let node = Node {
                value: Value::Table(Vec::new()),
                location: at,
            };
            entries.push(Entry {
                key: key.to_owned(),
                location: at,
                node,
            });
            entries.len() - 1
        }
    };
    let entry = &mut entries[position];
    if last {
        entry.location = at;
    }
    Ok(&mut entry.node)
}

/// The entry of a list that is called `name`, or has that number.
fn item_by_name<'a>(
    items: &'a mut [Node],
    name: &str,
    here: &Path,
) -> Result<&'a mut Node, Refusal> {
    if let Some(position) = position_of(items, name) {
        return Ok(&mut items[position]);
    }
    let names: Vec<&str> = items.iter().filter_map(name_of).collect();
    let nameless = names.is_empty();
    let refusal = absent(name, names, here);
    Err(if nameless {
        Box::new(refusal.help(numbered(items, here)))
    } else {
        refusal
    })
}

/// There is no `key` at `here`, but there are `known` ones.
fn absent(key: &str, known: Vec<&str>, here: &Path) -> Refusal {
    let message = format!(
        "there is no \"{key}\" in {here}{}",
        suggest::did_you_mean(key, known.iter().copied())
    );
    let known = suggest::list(known);
    let known = if known.is_empty() { "nothing" } else { &known };
    Box::new(
        Diagnostic::new(message)
            .label("not in the file")
            .help(format!("{here} has {known}")),
    )
}

fn numbered(items: &[Node], here: &Path) -> String {
    format!(
        "{here} has {}, numbered from 0",
        suggest::count(items.len(), "entry", "entries")
    )
}

/// A scheme given by its name becomes a table that can take options; an empty value becomes a table.
fn unfold_scheme(node: &mut Node, here: &Path) {
    let location = node.location;
    if node.value == Value::Null {
        node.value = Value::Table(Vec::new());
    } else if node.text().is_some() && *here == Path::default().key("simulation").key("scheme") {
        let name = Node {
            value: std::mem::replace(&mut node.value, Value::Null),
            location,
        };
        node.value = Value::Table(vec![Entry {
            key: "name".to_owned(),
            location,
            node: name,
        }]);
    }
}

/// Tables whose keys the model itself defines: overrides change them and never add to them.
fn is_map(path: &Path) -> bool {
    matches!(path.0.as_slice(), [Step::Key(key)] if key == "parameters" || key == "tables")
}

/// The name that a part carries.
/// The name of an entry of a list.
#[must_use]
pub fn name_of(node: &Node) -> Option<&str> {
    node.entry("name")?.node.text()
}

/// The entry of a list by its name, or by its number.
pub fn position_of(items: &[Node], key: &str) -> Option<usize> {
    items
        .iter()
        .position(|item| name_of(item) == Some(key))
        .or_else(|| {
            key.parse()
                .ok()
                .filter(|&index: &usize| index < items.len())
        })
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
