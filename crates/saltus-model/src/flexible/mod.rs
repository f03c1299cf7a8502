//! Flexible parts of a document, assembled into a system.

mod beams;
mod columns;
mod contacts;
mod frames;
mod guides;
mod lines;
mod loads;
mod nodes;
mod points;
mod sections;
mod sets;
mod signal;
mod solids;
mod start;

use crate::build::{self, path};
use crate::definition::{Formula, Scope};
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::document::Quantity;
use crate::document::parts::{Point, Words};
use crate::findings::Findings;
use crate::suggest;
use crate::tree::Path;
use nodes::Nodes;
use saltus_mechanics::flexible::{Assembly, Builder, NodeId, NodeKind, component_names};
use saltus_mechanics::signal::Signal;
use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path as FilePath;

pub use columns::Columns;
pub(crate) use columns::{columns, fields};
pub(crate) use start::{equilibrium, initial};

/// Most elements of one part.
const MOST_ELEMENTS: f64 = 2e7;

/// An assembly and the names of its nodes.
pub(crate) struct Flexible {
    pub assembly: Assembly,
    pub nodes: Nodes,
}

/// The top-level keys of flexible parts with whether a document uses them.
pub(crate) fn keys(document: &Document) -> Vec<(&'static str, bool)> {
    vec![
        ("bar", !document.bar.is_empty()),
        ("beam", !document.beam.is_empty()),
        ("solid", !document.solid.is_empty()),
        ("mass", !document.mass.is_empty()),
        ("spring", !document.spring.is_empty()),
        ("support", !document.support.is_empty()),
        ("motion", !document.motion.is_empty()),
        ("tie", !document.tie.is_empty()),
        ("load", !document.load.is_empty()),
        ("contact", !document.contact.is_empty()),
        ("materials", !document.materials.is_empty()),
        ("sections", !document.sections.is_empty()),
        ("gravity", document.gravity.is_some()),
    ]
}

/// Builds the parts; `None` where something is wrong, which is reported. Mesh files are looked for in `folder`.
pub(crate) fn assemble(
    document: &Document,
    folder: &FilePath,
    scope: &Scope,
    findings: &mut Findings<'_>,
) -> Option<Flexible> {
    let before = findings.diagnostics.len();
    let mut work = Work {
        document,
        folder,
        scope,
        findings,
        builder: Builder::new(),
        nodes: Nodes::default(),
        constraints: Vec::new(),
    };
    work.bars();
    work.beams();
    work.solids();
    work.masses();
    work.gravity();
    work.springs();
    work.supports();
    work.motions();
    work.ties();
    work.loads();
    work.contacts();
    let Work { builder, nodes, .. } = work;
    if findings.diagnostics.len() > before {
        return None;
    }
    match builder.build() {
        Ok(assembly) => Some(Flexible { assembly, nodes }),
        Err(error) => {
            let diagnostic = Diagnostic::new(format!("the parts do not make a system: {error}"));
            findings.at(&Path::default(), diagnostic);
            None
        }
    }
}

/// What is put together, and what it is made from.
struct Work<'a, 'f> {
    document: &'a Document,
    /// Where the model file is.
    folder: &'a FilePath,
    scope: &'a Scope,
    findings: &'a mut Findings<'f>,
    builder: Builder,
    nodes: Nodes,
    /// Names of motions, ties and contacts so far.
    constraints: Vec<String>,
}

/// An end of a part.
#[derive(Debug, Clone)]
enum End {
    /// A node of a part above.
    Joined(NodeId),
    /// A place \[m\].
    New(Vec<f64>),
}

impl Work<'_, '_> {
    fn number(
        &mut self,
        quantity: &Quantity,
        at: &Path,
        fits: impl Fn(f64) -> bool,
        expected: &str,
    ) -> Option<f64> {
        let formula = build::formula(quantity, at);
        crate::evaluate::evaluate(&formula, self.scope, fits, expected, self.findings)
    }

    fn numbers(&mut self, list: &[Quantity], at: &Path) -> Option<Vec<f64>> {
        let values: Vec<Option<f64>> = list
            .iter()
            .enumerate()
            .map(|(k, q)| self.number(q, &at.index(k), |_| true, "a finite number"))
            .collect();
        values.into_iter().collect()
    }

    /// Up to three numbers, padded with zeros.
    fn vector(&mut self, list: &[Quantity], at: &Path) -> Option<[f64; 3]> {
        let values = self.numbers(list, at)?;
        if values.len() > 3 {
            self.wrong_count(at, values.len(), "at most 3");
            return None;
        }
        let mut padded = [0.0; 3];
        padded[..values.len()].copy_from_slice(&values);
        Some(padded)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn count(&mut self, quantity: &Quantity, at: &Path) -> Option<usize> {
        let fits = |n: f64| n >= 1.0 && n.fract() == 0.0 && n <= MOST_ELEMENTS;
        self.number(quantity, at, fits, "a whole number ≥ 1")
            .map(|n| n as usize)
    }

    fn wrong_count(&mut self, at: &Path, count: usize, expected: &str) {
        let entries = suggest::count(count, "entry", "entries");
        let diagnostic = Diagnostic::new(format!("{at} has {entries}, expected {expected}"))
            .label(format!("expected {expected}"));
        self.findings.at(at, diagnostic);
    }

    /// Reports what the mechanics refuse at the place of the part.
    fn accept<T>(&mut self, at: &Path, result: Result<T, impl Display>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.findings.at(at, Diagnostic::new(error.to_string()));
                None
            }
        }
    }

    fn nodes_at(&mut self, words: &Words, at: &Path) -> Option<Vec<NodeId>> {
        let mut all = Vec::new();
        let mut sound = true;
        for (word, place) in words.places(at) {
            match self.nodes.find(word) {
                Ok(nodes) => all.extend(nodes),
                Err(diagnostic) => {
                    self.no_node(word, &place, diagnostic);
                    sound = false;
                }
            }
        }
        // A node of several sets is there once.
        if words.as_slice().len() > 1 {
            let mut seen = HashSet::new();
            all.retain(|node| seen.insert(*node));
        }
        sound.then_some(all)
    }

    fn node_at(&mut self, reference: &str, at: &Path) -> Option<NodeId> {
        match self.nodes.one(reference) {
            Ok(node) => Some(node),
            Err(diagnostic) => {
                self.no_node(reference, at, diagnostic);
                None
            }
        }
    }

    /// Reports a reference that stands for nothing, unless the part it is about could not be made.
    fn no_node(&mut self, reference: &str, at: &Path, diagnostic: Diagnostic) {
        if !self.nodes.is_broken(reference) {
            self.findings.at(at, diagnostic);
        }
    }

    fn end(&mut self, point: &Point, at: &Path) -> Option<End> {
        match point {
            Point::Node(reference) => self.node_at(reference, at).map(End::Joined),
            Point::Coordinates(list) => self.numbers(list, at).map(End::New),
        }
    }

    /// Coordinates of an end.
    fn place_of(&self, end: &End) -> Vec<f64> {
        match end {
            End::New(place) => place.clone(),
            End::Joined(node) => {
                let dimension = self.builder.kind(*node).dimension();
                self.builder.position(*node)[..dimension].to_vec()
            }
        }
    }

    /// Complains where the name of a part is taken or odd.
    fn part_name(&mut self, name: &str, at: &Path) -> bool {
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let place = at.key("name");
        if name.is_empty() || !name.chars().all(fits) {
            let diagnostic = Diagnostic::new(format!("\"{name}\" cannot be the name of a part"))
                .label("expected letters, digits, \"_\" and \"-\"")
                .help("the name becomes a part of column names and of references to nodes");
            self.findings.at(&place, diagnostic);
            return false;
        }
        if self.nodes.knows(name) {
            let diagnostic = Diagnostic::new(format!("two parts are called \"{name}\""))
                .label("was named above");
            self.findings.at(&place, diagnostic);
            return false;
        }
        true
    }

    /// Complains where the name of a constraint or contact is taken.
    fn constraint_name(&mut self, name: &str, at: &Path) {
        if self.constraints.iter().any(|known| known == name) {
            let diagnostic = Diagnostic::new(format!("two constraints are called \"{name}\""))
                .label("was named above");
            self.findings.at(&at.key("name"), diagnostic);
        }
        self.constraints.push(name.to_owned());
    }

    /// The number of a velocity component of a node.
    fn component(&mut self, word: &str, kind: NodeKind, at: &Path) -> Option<usize> {
        let (_, names) = component_names(kind);
        if let Some(component) = names.iter().position(|name| *name == word) {
            return Some(component);
        }
        let diagnostic = Diagnostic::new(format!("the node has no component \"{word}\""))
            .label(format!("expected {}", suggest::list(names.iter().copied())));
        self.findings.at(at, diagnostic);
        None
    }

    /// A function of time; a complaint where it is none.
    fn signal(
        &mut self,
        terms: &[(f64, Formula)],
        subject: &'static str,
    ) -> Option<Box<dyn Signal>> {
        match signal::signal(terms, self.scope, subject) {
            Ok(signal) => Some(signal),
            Err(errors) => {
                errors.iter().for_each(|e| self.findings.formula(e));
                None
            }
        }
    }

    fn gravity(&mut self) {
        let Some(list) = &self.document.gravity else {
            return;
        };
        let at = path(["gravity"]);
        let dimension = self.builder.kinds().map(|kind| kind.dimension()).max();
        if let Some(dimension) = dimension
            && list.len() != dimension
        {
            let entries = suggest::count(list.len(), "entry", "entries");
            let coordinates = suggest::count(dimension, "coordinate", "coordinates");
            let diagnostic = Diagnostic::new(format!(
                "gravity has {entries}, but the parts have {coordinates}"
            ))
            .label(format!("expected {dimension}"))
            .help(match dimension {
                1 => "gravity = [-9.81] along the line",
                2 => "gravity = [0, -9.81] in the plane",
                _ => "gravity = [0, 0, -9.81] in space",
            });
            self.findings.at(&at, diagnostic);
        } else if let Some(gravity) = self.vector(list, &at) {
            self.builder.gravity(gravity);
        }
    }
}
