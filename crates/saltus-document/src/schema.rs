//! A JSON schema, read far enough to check a document against it.
//!
//! A schema becomes a flat list of [`Shape`]s, one for each kind of value that it allows:
//! references are followed, alternatives are unfolded, keywords beside them are applied to all.

use crate::diagnostic::Location;
use crate::tree::{Entry, Node, Value};
use serde_json::Value as Json;

/// References deeper than this are a loop.
const DEEPEST: usize = 32;

/// What a schema says about keys it does not list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Additional<'s> {
    /// They are not allowed.
    Nothing,
    /// They are not looked at.
    Anything,
    /// Their values follow a schema: the table is a map.
    Schema(&'s Json),
}

/// One kind of value and what it must satisfy.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'s> {
    /// Names of JSON types; empty where anything goes.
    pub kinds: Vec<&'s str>,
    /// The allowed texts; empty where any text is.
    pub values: Vec<&'s str>,
    /// The allowed numbers.
    pub range: Range,
    /// `format`, e.g. `formula`.
    pub format: Option<&'s str>,
    /// Keys and their schemas.
    pub properties: Vec<(&'s str, &'s Json)>,
    /// Keys that must be there.
    pub required: Vec<&'s str>,
    /// What other keys mean.
    pub additional: Additional<'s>,
    /// The schema of the entries of a list.
    pub items: Option<&'s Json>,
    /// Fewest and most entries of a list.
    pub size: (Option<u64>, Option<u64>),
    /// What it is, for people.
    pub description: Option<&'s str>,
}

impl<'s> Shape<'s> {
    fn anything() -> Self {
        Self {
            kinds: Vec::new(),
            values: Vec::new(),
            range: Range::default(),
            format: None,
            properties: Vec::new(),
            required: Vec::new(),
            additional: Additional::Anything,
            items: None,
            size: (None, None),
            description: None,
        }
    }

    /// Whether a value of the kind of `node` may be this.
    pub fn accepts(&self, node: &Node) -> bool {
        let is = |kind| self.kinds.contains(&kind);
        self.kinds.is_empty()
            || match node.value {
                Value::Null => is("null"),
                Value::Bool(_) => is("boolean"),
                Value::Integer(_) => is("integer") || is("number"),
                Value::Float(_) => is("number"),
                Value::Text(_) => is("string"),
                Value::Date(_) => false,
                Value::List(_) => is("array"),
                Value::Table(_) => is("object"),
            }
    }

    /// The schema of the value of `key`.
    pub fn property(&self, key: &str) -> Option<&'s Json> {
        self.properties
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, schema)| *schema)
    }

    /// The key whose fixed value tells this shape from its sisters.
    pub fn tag(&self) -> Option<&'s str> {
        self.properties
            .iter()
            .find(|(_, schema)| schema.get("const").is_some())
            .map(|(key, _)| *key)
    }

    /// The fixed value of the key `tag`.
    pub fn tag_value(&self, tag: &str) -> Option<&'s str> {
        self.property(tag)?.get("const")?.as_str()
    }

    /// The allowed numbers, in words.
    pub fn numbers(&self) -> String {
        self.range.describe(if self.kinds.contains(&"integer") {
            "a whole number"
        } else {
            "a number"
        })
    }

    /// How many entries were expected, if `count` is not right.
    pub fn size_mismatch(&self, count: usize) -> Option<String> {
        let count = count as u64;
        let (least, most) = self.size;
        if least.is_none_or(|n| count >= n) && most.is_none_or(|n| count <= n) {
            return None;
        }
        Some(match (least, most) {
            (Some(a), Some(b)) if a == b => a.to_string(),
            (Some(a), Some(b)) => format!("{a} to {b}"),
            (Some(a), None) => format!("at least {a}"),
            (None, Some(b)) => format!("at most {b}"),
            (None, None) => String::new(),
        })
    }

    /// What is expected, in words, one phrase per kind.
    fn phrases(&self) -> Vec<String> {
        let phrase = |kind: &&str| {
            Some(match *kind {
                "null" => return None,
                "boolean" => "true or false".to_owned(),
                "integer" => self.range.describe("a whole number"),
                "number" => self.range.describe("a number"),
                "string" if self.format == Some("formula") => "a formula in quotes".to_owned(),
                "string" if self.values.is_empty() => "a text in quotes".to_owned(),
                "string" => crate::suggest::list(self.values.iter().copied()),
                "array" => "a list".to_owned(),
                "object" => "a table".to_owned(),
                other => other.to_owned(),
            })
        };
        self.kinds.iter().filter_map(phrase).collect()
    }

    /// A value of this shape that says nothing.
    fn neutral(&self, root: &'s Json, location: Location, depth: usize) -> Node {
        let value = match self.kinds.first().copied() {
            Some("boolean") => Value::Bool(false),
            #[allow(clippy::cast_possible_truncation)]
            Some("integer") => Value::Integer(self.range.inside().ceil() as i64),
            Some("string") => Value::Text((*self.values.first().unwrap_or(&"unnamed")).to_owned()),
            Some("array") => Value::List(Vec::new()),
            Some("object") if depth < DEEPEST => {
                let entry = |key: &&str| {
                    let schema = self.property(key)?;
                    let node = Shapes::of(schema, root).neutral_below(root, location, depth + 1);
                    Some(Entry {
                        key: (*key).to_owned(),
                        location,
                        node,
                    })
                };
                Value::Table(self.required.iter().filter_map(entry).collect())
            }
            Some("null") => Value::Null,
            _ => Value::Float(self.range.inside()),
        };
        Node { value, location }
    }
}

/// All kinds of value that a schema allows.
#[derive(Debug, Clone)]
pub(crate) struct Shapes<'s>(pub Vec<Shape<'s>>);

impl<'s> Shapes<'s> {
    /// Reads `schema`, whose references point into `root`.
    pub fn of(schema: &'s Json, root: &'s Json) -> Self {
        Self(unfold(schema, root, 0))
    }

    /// What is expected, in words.
    pub fn expectation(&self) -> String {
        let mut phrases: Vec<String> = Vec::new();
        for phrase in self.0.iter().flat_map(Shape::phrases) {
            if !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
        match phrases.split_last() {
            None => "nothing".to_owned(),
            Some((only, [])) => only.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        }
    }

    /// The description of what is meant.
    pub fn documentation(&self) -> Option<&'s str> {
        self.0.iter().find_map(|s| s.description)
    }

    /// A value that fits and says nothing.
    pub fn neutral(&self, root: &'s Json, location: Location) -> Node {
        self.neutral_below(root, location, 0)
    }

    fn neutral_below(&self, root: &'s Json, location: Location, depth: usize) -> Node {
        match self.0.iter().find(|s| s.kinds.first() != Some(&"null")) {
            Some(shape) => shape.neutral(root, location, depth),
            None => Node {
                value: Value::Null,
                location,
            },
        }
    }
}

fn unfold<'s>(schema: &'s Json, root: &'s Json, depth: usize) -> Vec<Shape<'s>> {
    if depth > DEEPEST {
        return vec![Shape::anything()];
    }
    let mut shapes = Vec::new();
    if let Some(target) = schema.get("$ref").and_then(Json::as_str)
        && let Some(target) = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer))
    {
        shapes = unfold(target, root, depth + 1);
    }
    for keyword in ["anyOf", "oneOf"] {
        for alternative in schema
            .get(keyword)
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            shapes.extend(unfold(alternative, root, depth + 1));
        }
    }
    if shapes.is_empty() {
        shapes.push(Shape::anything());
    }
    for shape in &mut shapes {
        for part in schema
            .get("allOf")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            let part = part
                .get("$ref")
                .and_then(Json::as_str)
                .map_or(Some(part), |target| {
                    target
                        .strip_prefix('#')
                        .and_then(|pointer| root.pointer(pointer))
                });
            if let Some(part) = part {
                overlay(shape, part);
            }
        }
        overlay(shape, schema);
    }
    shapes
}

/// Applies the keywords of `schema` to `shape`.
fn overlay<'s>(shape: &mut Shape<'s>, schema: &'s Json) {
    let text = |key: &str| schema.get(key).and_then(Json::as_str);
    let number = |key: &str| schema.get(key).and_then(Json::as_f64);
    match schema.get("type") {
        Some(Json::String(kind)) => shape.kinds = vec![kind],
        Some(Json::Array(kinds)) => shape.kinds = kinds.iter().filter_map(Json::as_str).collect(),
        _ => {}
    }
    shape.values.extend(text("const"));
    shape.values.extend(
        schema
            .get("enum")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str),
    );
    let range = &mut shape.range;
    range.least = number("minimum").or(range.least);
    range.most = number("maximum").or(range.most);
    range.above = number("exclusiveMinimum").or(range.above);
    range.below = number("exclusiveMaximum").or(range.below);
    shape.format = text("format").or(shape.format);
    shape.description = text("description").or(shape.description);
    for (key, property) in schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        shape.properties.push((key, property));
    }
    shape.required.extend(
        schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str),
    );
    match schema.get("additionalProperties") {
        Some(Json::Bool(false)) => shape.additional = Additional::Nothing,
        Some(schema @ Json::Object(_)) => shape.additional = Additional::Schema(schema),
        _ => {}
    }
    shape.items = schema.get("items").or(shape.items);
    let count = |key: &str| schema.get(key).and_then(Json::as_u64);
    shape.size = (
        count("minItems").or(shape.size.0),
        count("maxItems").or(shape.size.1),
    );
}

/// The allowed numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Range {
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

impl Range {
    /// Whether `value` is allowed.
    pub fn contains(&self, value: f64) -> bool {
        self.least.is_none_or(|a| value >= a)
            && self.most.is_none_or(|b| value <= b)
            && self.above.is_none_or(|a| value > a)
            && self.below.is_none_or(|b| value < b)
    }

    /// Some number that is allowed.
    pub fn inside(&self) -> f64 {
        match (self.least.or(self.above), self.most.or(self.below)) {
            (Some(a), Some(b)) => 0.5 * (a + b),
            (Some(a), None) => a + 1.0,
            (None, Some(b)) => b - 1.0,
            (None, None) => 1.0,
        }
    }

    fn describe(&self, noun: &str) -> String {
        let low = self
            .least
            .map(|a| format!("[{a}"))
            .or(self.above.map(|a| format!("({a}")));
        let high = self
            .most
            .map(|b| format!("{b}]"))
            .or(self.below.map(|b| format!("{b})")));
        match (low, high) {
            (Some(low), Some(high)) => format!("{noun} in {low}, {high}"),
            (Some(low), None) if low.starts_with('[') => format!("{noun} ≥ {}", &low[1..]),
            (Some(low), None) => format!("{noun} > {}", &low[1..]),
            (None, Some(high)) if high.ends_with(']') => {
                format!("{noun} ≤ {}", high.trim_end_matches(']'))
            }
            (None, Some(high)) => format!("{noun} < {}", high.trim_end_matches(')')),
            (None, None) => noun.to_owned(),
        }
    }
}
