//! Values of a model inside a text, such as the name of a directory: `out/k={parameters.k}`.

use crate::model::Model;
use saltus_document::number::shortest;
use saltus_document::suggest;
use saltus_document::tree::{Node, Path, Step, Value};

impl Model {
    /// `template` with every `{PATH}` replaced by the value at that path of the document, as `--set` knows it; `{{` and `}}`
    /// stand for braces. Parameters and times are evaluated, other formulas stay as they are written, and a table that has
    /// a name gives it. Characters that separate folders become `_`.
    ///
    /// # Errors
    /// In words: a path that leads nowhere, with what is there instead, or one that leads to more than a value.
    pub fn fill(&self, template: &str) -> Result<String, String> {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                text.push_str(brace);
                rest = after;
                continue;
            }
            let end = rest.find('}').filter(|_| brace == "{");
            let Some(end) = end else {
                return Err(format!(
                    "`{template}` has a brace that is not closed or not opened; a path stands in {{}}, a brace itself is doubled"
                ));
            };
            let value = self.value_at(rest[..end].trim());
            let value = value.map_err(|reason| format!("`{{{}}}`: {reason}", &rest[..end]))?;
            text.push_str(&value.replace(['/', '\\', '\0'], "_"));
            rest = &rest[end + 1..];
        }
        text.push_str(rest);
        Ok(text)
    }

    /// The value at a path of the document, as text.
    fn value_at(&self, path: &str) -> Result<String, String> {
        let path = Path::parse(path).map_err(|(_, what)| {
            format!("{what}; expected a path such as parameters.m or simulation.step")
        })?;
        if let Some(number) = self.number_at(&path) {
            return Ok(shortest(number));
        }
        match self.node_at(&path) {
            Ok(node) => plain(node, &path),
            // What is not in the file has a default in the scheme.
            Err(reason) => match self.option(&path) {
                Some(value) => Ok(value),
                None => Err(reason),
            },
        }
    }

    /// What is evaluated: parameters and times.
    fn number_at(&self, path: &Path) -> Option<f64> {
        let [Step::Key(table), Step::Key(key)] = path.0.as_slice() else {
            return None;
        };
        match (table.as_str(), key.as_str()) {
            ("parameters", name) => {
                let found = self.parameters.iter().find(|(n, _)| n == name);
                found.map(|(_, value)| *value)
            }
            ("simulation", "step") => Some(self.plan.step),
            ("simulation", "until") => Some(self.plan.until),
            ("simulation", "start") => Some(self.plan.start),
            _ => None,
        }
    }

    fn node_at(&self, path: &Path) -> Result<&Node, String> {
        let mut node = &self.tree;
        for (depth, step) in path.0.iter().enumerate() {
            let next = match (step, node.items()) {
                (Step::Key(key), Some(items)) => {
                    saltus_document::set::position_of(items, key).map(|index| &items[index])
                }
                _ => node.child(step),
            };
            node = next.ok_or_else(|| {
                let here = Path(path.0[..depth].to_vec());
                nowhere(step, &here, node)
            })?;
        }
        Ok(node)
    }

    /// An option of the scheme that the file leaves at its default.
    fn option(&self, path: &Path) -> Option<String> {
        let [Step::Key(a), Step::Key(b), Step::Key(option)] = path.0.as_slice() else {
            return None;
        };
        let options = saltus_document::document::options(&self.scheme.effective())?;
        match options
            .get(option)
            .filter(|_| (a.as_str(), b.as_str()) == ("simulation", "scheme"))?
        {
            serde_json::Value::String(text) => Some(text.clone()),
            value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => {
                Some(value.to_string())
            }
            _ => None,
        }
    }
}

/// One value, as text.
fn plain(node: &Node, path: &Path) -> Result<String, String> {
    match &node.value {
        Value::Bool(value) => Ok(value.to_string()),
        Value::Integer(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(shortest(*value)),
        Value::Text(value) | Value::Date(value) => Ok(value.clone()),
        _ => match node.entry("name").and_then(|name| name.node.text()) {
            Some(name) => Ok(name.to_owned()),
            None => Err(format!(
                "{path} is {}, expected a number or a text{}",
                node.describe(),
                has(node)
            )),
        },
    }
}

/// Why there is nothing at `step` of the `node` at `here`, and what there is.
fn nowhere(step: &Step, here: &Path, node: &Node) -> String {
    let place = match here.0.as_slice() {
        [] => "the model".to_owned(),
        _ => here.to_string(),
    };
    match step {
        Step::Key(key) => format!(
            "there is no \"{key}\" in {place}{}{}",
            suggest::did_you_mean(key, names(node)),
            has(node)
        ),
        Step::Index(index) => format!("there is no entry {index} in {place}{}", has(node)),
    }
}

/// `; it has "a", "b"`, or nothing.
fn has(node: &Node) -> String {
    let names = suggest::list(names(node));
    match names.as_str() {
        "" => String::new(),
        names => format!("; it has {names}"),
    }
}

fn names(node: &Node) -> Vec<&str> {
    let keys = node.entries().unwrap_or_default().iter();
    let items = node.items().unwrap_or_default().iter();
    keys.map(|entry| entry.key.as_str())
        .chain(items.filter_map(saltus_document::set::name_of))
        .collect()
}
