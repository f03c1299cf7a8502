//! Nodes by name: `beam`, `beam.start`, `beam.12`, `block.left`.

use crate::diagnostic::Diagnostic;
use crate::suggest;
use indexmap::IndexMap;
use saltus_mechanics::flexible::NodeId;

/// The nodes of every part, and their sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    parts: IndexMap<String, Part>,
}

#[derive(Debug, Clone, Default)]
struct Part {
    /// All nodes in their order.
    all: Vec<NodeId>,
    /// Whether the first and last node are ends with names.
    ends: bool,
    /// Sets of nodes by name.
    sets: IndexMap<String, Vec<NodeId>>,
}

impl Nodes {
    /// Whether a part of that name is there.
    pub fn knows(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// Adds a part whose nodes run from its start to its end.
    pub fn line(&mut self, name: &str, all: Vec<NodeId>) {
        let part = Part {
            all,
            ends: true,
            ..Part::default()
        };
        self.parts.insert(name.to_owned(), part);
    }

    /// Adds a part of one node.
    pub fn point(&mut self, name: &str, node: NodeId) {
        let part = Part {
            all: vec![node],
            ..Part::default()
        };
        self.parts.insert(name.to_owned(), part);
    }

    /// First and last nodes of parts that have ends, and parts of one node.
    pub fn ends(&self) -> Vec<NodeId> {
        let ends = |part: &Part| match part.all.as_slice() {
            [one] => vec![*one],
            [first, .., last] if part.ends => vec![*first, *last],
            _ => Vec::new(),
        };
        self.parts.values().flat_map(ends).collect()
    }

    /// All nodes that `reference` stands for, at least one.
    ///
    /// # Errors
    /// What is wrong with it, and what there is.
    pub fn find(&self, reference: &str) -> Result<Vec<NodeId>, Diagnostic> {
        if let Some(part) = self.parts.get(reference) {
            return Ok(part.all.clone());
        }
        let Some((part, inside)) = reference
            .split_once('.')
            .and_then(|(name, inside)| Some((self.parts.get(name)?, inside)))
        else {
            return Err(self.unknown(reference));
        };
        let found = match inside {
            "start" if part.ends => part.all.first().map(|&node| vec![node]),
            "end" if part.ends => part.all.last().map(|&node| vec![node]),
            set => match part.sets.get(set) {
                Some(nodes) => Some(nodes.clone()),
                None => set
                    .parse::<usize>()
                    .ok()
                    .and_then(|k| part.all.get(k))
                    .map(|&node| vec![node]),
            },
        };
        found.ok_or_else(|| {
            let name = reference.split('.').next().unwrap_or_default();
            Diagnostic::new(format!("\"{reference}\" is no node"))
                .label("not a node")
                .help(format!("there is {}", part.describe(name)))
        })
    }

    /// The one node that `reference` stands for.
    ///
    /// # Errors
    /// As [`find`](Self::find), and where it stands for several.
    pub fn one(&self, reference: &str) -> Result<NodeId, Diagnostic> {
        match self.find(reference)?.as_slice() {
            [node] => Ok(*node),
            several => Err(Diagnostic::new(format!(
                "\"{reference}\" stands for {} nodes, expected one",
                several.len()
            ))
            .label("expected one node")
            .help(format!(
                "choose one, such as \"{reference}.0\" or an end, \"{reference}.end\""
            ))),
        }
    }

    fn unknown(&self, reference: &str) -> Diagnostic {
        let name = reference.split('.').next().unwrap_or_default();
        let known = || self.parts.keys().map(String::as_str);
        let message = format!(
            "there is no part \"{name}\"{}",
            suggest::did_you_mean(name, known())
        );
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|(name, part)| part.describe(name))
            .collect();
        let help = if parts.is_empty() {
            "there are no parts above".to_owned()
        } else {
            format!("there is {}", parts.join("; "))
        };
        Diagnostic::new(message).label("no such part").help(help)
    }
}

impl Part {
    fn describe(&self, name: &str) -> String {
        let mut text = format!("\"{name}\"");
        if self.ends {
            text.push_str(&format!(", \"{name}.start\", \"{name}.end\""));
        }
        for set in self.sets.keys() {
            text.push_str(&format!(", \"{name}.{set}\""));
        }
        if self.all.len() > 1 {
            text.push_str(&format!(
                ", \"{name}.0\" to \"{name}.{}\"",
                self.all.len() - 1
            ));
        }
        text
    }
}
