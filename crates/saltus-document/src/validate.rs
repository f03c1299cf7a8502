//! Compares a document with the schema and says everything that does not fit.
//!
//! The schema is the one generated from [`crate::document`]; nothing here knows a key by name. The
//! result is also a *mended* tree: mistyped keys carry the name that was meant, values of a wrong
//! kind are replaced by a neutral one. It is good enough to go on and find what is wrong further
//! inside, so that all complaints come at once.

use crate::diagnostic::{Diagnostic, Location};
use crate::document;
use crate::schema::{Additional, Shape, Shapes};
use crate::suggest;
use crate::tree::{Entry, Node, Path, Step, Value};
use serde_json::Value as Json;

/// A tree without the faults that were found, and the faults.
#[derive(Debug, Clone)]
pub struct Validated {
    /// The mended tree.
    pub tree: Node,
    /// What was wrong, in the order it was found.
    pub diagnostics: Vec<Diagnostic>,
    /// Paths whose values were replaced or added: what follows from them is not worth saying.
    pub mended: Vec<Path>,
}

/// Compares `tree` with the schema of a document.
#[must_use]
pub fn validate(tree: &Node) -> Validated {
    let schema = document::checked_schema();
    let mut walker = Walker {
        root: schema,
        diagnostics: Vec::new(),
        mended: Vec::new(),
    };
    let tree = walker.walk(tree, schema, &Path::default(), tree.location);
    Validated {
        tree,
        diagnostics: walker.diagnostics,
        mended: walker.mended,
    }
}

struct Walker<'s> {
    root: &'s Json,
    diagnostics: Vec<Diagnostic>,
    mended: Vec<Path>,
}

impl<'s> Walker<'s> {
    /// `key` is where the key of `node` stands, or the node itself.
    fn walk(&mut self, node: &Node, schema: &'s Json, path: &Path, key: Location) -> Node {
        let shapes = Shapes::of(schema, self.root);
        let fitting: Vec<&Shape<'s>> = shapes.0.iter().filter(|s| s.accepts(node)).collect();
        if fitting.is_empty() {
            return self.wrong_kind(node, &shapes, path, key);
        }
        match &node.value {
            Value::Table(entries) => self.table(node, entries, &fitting, path, key),
            Value::List(items) => self.list(node, items, &fitting, path, key),
            Value::Text(text) => self.text(node, text, &fitting, path),
            Value::Integer(_) | Value::Float(_) => self.number(node, &fitting, path),
            _ => node.clone(),
        }
    }

    fn complain(&mut self, path: &Path, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic.about(path.to_string()));
    }

    /// Puts a neutral value of the first kind in the place of `node`.
    fn mend(&mut self, shapes: &Shapes<'s>, path: &Path, location: Location) -> Node {
        self.mended.push(path.clone());
        shapes.neutral(self.root, location)
    }

    fn wrong_kind(&mut self, node: &Node, shapes: &Shapes<'s>, path: &Path, key: Location) -> Node {
        let expected = shapes.expectation();
        let found = node.describe();
        let empty = node.location.start == node.location.end;
        let at = if empty || matches!(node.value, Value::Table(_)) {
            key
        } else {
            node.location
        };
        let what = if path.0.is_empty() {
            "the document".to_owned()
        } else {
            path.to_string()
        };
        let diagnostic = Diagnostic::new(format!("{what} is {found}, expected {expected}"))
            .at(at)
            .label(format!("expected {expected}"));
        let diagnostic = match (path.0.last(), shapes.documentation()) {
            (Some(Step::Key(key)), Some(text)) => {
                diagnostic.help(format!("{key}: {}", text.replace('\n', " ")))
            }
            _ => diagnostic,
        };
        self.complain(path, diagnostic);
        self.mend(shapes, path, node.location)
    }

    fn text(&mut self, node: &Node, text: &str, fitting: &[&Shape<'s>], path: &Path) -> Node {
        if fitting.iter().any(|s| s.values.is_empty()) {
            return node.clone();
        }
        if fitting.iter().any(|s| s.values.contains(&text)) {
            return node.clone();
        }
        let known: Vec<&str> = fitting
            .iter()
            .flat_map(|s| s.values.iter().copied())
            .collect();
        let noun = noun(path);
        let message = format!(
            "unknown {noun} \"{text}\"{}",
            suggest::did_you_mean(text, known.iter().copied())
        );
        let expected = suggest::list(known.iter().copied());
        let diagnostic = Diagnostic::new(message)
            .at(node.location)
            .label(format!("expected {expected}"));
        self.complain(path, diagnostic);
        self.mended.push(path.clone());
        let value = suggest::nearest(text, known.iter().copied())
            .or(known.first().copied())
            .unwrap_or(text);
        Node {
            value: Value::Text(value.to_owned()),
            location: node.location,
        }
    }

    fn number(&mut self, node: &Node, fitting: &[&Shape<'s>], path: &Path) -> Node {
        #[allow(clippy::cast_precision_loss)]
        let value = match node.value {
            Value::Integer(value) => value as f64,
            Value::Float(value) => value,
            _ => return node.clone(),
        };
        let diagnostic = if value.is_finite() {
            if fitting.iter().any(|s| s.range.contains(value)) {
                return node.clone();
            }
            let expected = fitting.first().map_or_else(String::new, |s| s.numbers());
            Diagnostic::new(format!("{path} is {value}, expected {expected}"))
                .label(format!("expected {expected}"))
        } else {
            Diagnostic::new(format!("{path} is not a finite number"))
                .label("expected a finite number")
        };
        self.complain(path, diagnostic.at(node.location));
        self.mended.push(path.clone());
        let value = fitting.first().map_or(1.0, |s| s.range.inside());
        let value = match node.value {
            #[allow(clippy::cast_possible_truncation)]
            Value::Integer(_) => Value::Integer(value.ceil() as i64),
            _ => Value::Float(value),
        };
        Node {
            value,
            location: node.location,
        }
    }

    fn list(
        &mut self,
        node: &Node,
        items: &[Node],
        fitting: &[&Shape<'s>],
        path: &Path,
        key: Location,
    ) -> Node {
        let Some(shape) = self.best(node, fitting, path, key) else {
            return node.clone();
        };
        if let Some(expected) = shape.size_mismatch(items.len()) {
            let diagnostic = Diagnostic::new(format!(
                "{path} has {}, expected {expected}",
                suggest::count(items.len(), "entry", "entries")
            ))
            .at(node.location)
            .label(format!("expected {expected}"));
            self.complain(path, diagnostic);
            self.mended.push(path.clone());
        }
        let Some(schema) = shape.items else {
            return node.clone();
        };
        let items = items
            .iter()
            .enumerate()
            .map(|(k, item)| self.walk(item, schema, &path.index(k), item.location))
            .collect();
        Node {
            value: Value::List(items),
            location: node.location,
        }
    }

    fn table(
        &mut self,
        node: &Node,
        entries: &[Entry],
        fitting: &[&Shape<'s>],
        path: &Path,
        key: Location,
    ) -> Node {
        let Some(shape) = self.best(node, fitting, path, key) else {
            let Some(shape) = fitting.first() else {
                return node.clone();
            };
            return self.mend(&Shapes(vec![(*shape).clone()]), path, node.location);
        };
        let mut mended: Vec<Entry> = Vec::with_capacity(entries.len());
        for entry in entries {
            let inside = path.key(&entry.key);
            if let Some(schema) = shape.property(&entry.key) {
                let node = self.walk(&entry.node, schema, &inside, entry.location);
                mended.push(Entry {
                    node,
                    ..entry.clone()
                });
                continue;
            }
            match shape.additional {
                Additional::Schema(schema) => {
                    let node = self.walk(&entry.node, schema, &inside, entry.location);
                    mended.push(Entry {
                        node,
                        ..entry.clone()
                    });
                }
                Additional::Anything => mended.push(entry.clone()),
                Additional::Nothing => {
                    if let Some(entry) = self.unknown_key(entry, entries, shape, path) {
                        mended.push(entry);
                    }
                }
            }
        }
        self.missing_keys(
            &mut mended,
            shape,
            path,
            if path.0.is_empty() {
                node.location
            } else {
                key
            },
        );
        Node {
            value: Value::Table(mended),
            location: node.location,
        }
    }

    /// Complains; gives the entry under the name that was meant, if that is still free.
    fn unknown_key(
        &mut self,
        entry: &Entry,
        all: &[Entry],
        shape: &Shape<'s>,
        path: &Path,
    ) -> Option<Entry> {
        let name = &entry.key;
        let known = || shape.properties.iter().map(|(key, _)| *key);
        let nearest = suggest::nearest(name, known());
        let message = format!(
            "unknown key \"{name}\"{}",
            suggest::did_you_mean(name, known())
        );
        let place = if path.0.is_empty() {
            "at the top of the file".to_owned()
        } else {
            format!("in {path}")
        };
        let mut diagnostic = Diagnostic::new(message)
            .at(entry.location)
            .label(format!("not a key {place}"));
        diagnostic = match nearest.and_then(|key| shape.property(key).map(|schema| (key, schema))) {
            Some((key, schema)) => match Shapes::of(schema, self.root).documentation() {
                Some(text) => diagnostic.help(format!("{key}: {}", text.replace('\n', " "))),
                None => diagnostic,
            },
            None => diagnostic.help(format!("the keys here are {}", suggest::list(known()))),
        };
        self.complain(&path.key(name), diagnostic);
        let key = nearest.filter(|key| !all.iter().any(|e| e.key == *key))?;
        let node = self.walk(
            &entry.node,
            shape.property(key)?,
            &path.key(key),
            entry.location,
        );
        Some(Entry {
            key: key.to_owned(),
            location: entry.location,
            node,
        })
    }

    /// Complains about required keys that are missing and adds neutral values for them.
    fn missing_keys(
        &mut self,
        entries: &mut Vec<Entry>,
        shape: &Shape<'s>,
        path: &Path,
        at: Location,
    ) {
        for key in &shape.required {
            if entries.iter().any(|e| e.key == *key) {
                continue;
            }
            let Some(schema) = shape.property(key) else {
                continue;
            };
            let shapes = Shapes::of(schema, self.root);
            let place = if path.0.is_empty() {
                "the file".to_owned()
            } else {
                path.to_string()
            };
            let mut diagnostic = Diagnostic::new(format!("missing key \"{key}\" in {place}"))
                .at(at)
                .label(format!("needs \"{key}\": {}", shapes.expectation()));
            if let Some(text) = shapes.documentation() {
                diagnostic = diagnostic.help(format!("{key}: {}", text.replace('\n', " ")));
            }
            let inside = path.key(key);
            self.complain(&inside, diagnostic);
            let node = self.mend(&shapes, &inside, at);
            entries.push(Entry {
                key: (*key).to_owned(),
                location: at,
                node,
            });
        }
    }

    /// The shape `node` was meant to have: the one its tag names, or the one it has the fewest faults in.
    fn best<'a>(
        &mut self,
        node: &Node,
        fitting: &[&'a Shape<'s>],
        path: &Path,
        key: Location,
    ) -> Option<&'a Shape<'s>> {
        if let [only] = fitting
            && only.tag().is_none()
        {
            return Some(only);
        }
        if let Some(tag) = fitting.iter().find_map(|s| s.tag()) {
            return self.tagged(node, fitting, tag, path, key);
        }
        fitting.iter().copied().min_by_key(|shape| {
            let mut trial = Walker {
                root: self.root,
                diagnostics: Vec::new(),
                mended: Vec::new(),
            };
            trial.trial(node, shape, path);
            trial.diagnostics.len()
        })
    }

    fn trial(&mut self, node: &Node, shape: &Shape<'s>, path: &Path) {
        match &node.value {
            Value::List(items) => drop(self.list(node, items, &[shape], path, node.location)),
            Value::Table(entries) => drop(self.table(node, entries, &[shape], path, node.location)),
            _ => {}
        }
    }

    /// Chooses among variants by the key that names them.
    fn tagged<'a>(
        &mut self,
        node: &Node,
        fitting: &[&'a Shape<'s>],
        tag: &str,
        path: &Path,
        key: Location,
    ) -> Option<&'a Shape<'s>> {
        let known: Vec<&str> = fitting.iter().filter_map(|s| s.tag_value(tag)).collect();
        let entry = node.entry(tag);
        let named = entry.and_then(|e| e.node.text());
        if let Some(name) = named
            && let Some(shape) = fitting
                .iter()
                .copied()
                .find(|s| s.tag_value(tag) == Some(name))
        {
            return Some(shape);
        }
        let inside = path.key(tag);
        let expected = suggest::list(known.iter().copied());
        let diagnostic = match (entry, named) {
            (Some(entry), Some(name)) => {
                let message = format!(
                    "unknown {} \"{name}\"{}",
                    noun(path),
                    suggest::did_you_mean(name, known.iter().copied())
                );
                Diagnostic::new(message)
                    .at(entry.node.location)
                    .label(format!("expected {expected}"))
            }
            (Some(entry), None) => Diagnostic::new(format!(
                "{inside} is {}, expected {expected}",
                entry.node.describe()
            ))
            .at(entry.node.location)
            .label(format!("expected {expected}")),
            (None, _) => Diagnostic::new(format!("missing key \"{tag}\" in {path}"))
                .at(key)
                .label(format!("needs \"{tag}\": {expected}")),
        };
        self.complain(&inside, diagnostic);
        None
    }
}

/// What a value at `path` is called in a message: the last key, in the singular inside of a list.
fn noun(path: &Path) -> String {
    match path.0.as_slice() {
        [.., Step::Key(key)] => key.clone(),
        [.., Step::Key(key), Step::Index(_)] => key.strip_suffix('s').unwrap_or(key).to_owned(),
        _ => "value".to_owned(),
    }
}
