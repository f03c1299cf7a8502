//! Flexible parts of a document, assembled into a system.

mod beams;
mod columns;
mod contacts;
mod frames;
mod guides;
mod lines;
mod loads;
mod nodes;
mod order;
mod points;
mod sections;
mod sets;
mod signal;
mod size;
mod solids;
mod start;
mod targets;

use crate::build::{self, path};
use crate::definition::{Formula, Scope};
use crate::findings::Findings;
use nodes::Nodes;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::Document;
use saltus_document::document::parts::Words;
use saltus_document::document::{OutputFormat, Quantity};
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{Assembly, Builder, NodeId, NodeKind, component_names};
use saltus_mechanics::signal::Signal;
use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path as FilePath;

pub use columns::Columns;
pub(crate) use columns::{columns, fields, supports};
pub use size::Size;
pub(crate) use start::{equilibrium, initial};

/// Most elements of one part.
const MOST_ELEMENTS: f64 = 2e7;

/// An assembly and the names of its nodes.
pub(crate) struct Flexible {
    pub assembly: Assembly,
    pub nodes: Nodes,
    /// What is to be known about the parts.
    pub notes: Vec<String>,
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

/// A model of formulas has no parts to start, to select or to draw.
pub(crate) fn none(document: &Document, findings: &mut Findings<'_>) {
    let formats = &document.output.formats;
    if let Some(k) = formats.iter().position(|&f| f == OutputFormat::Vtk) {
        let diagnostic =
            Diagnostic::new("the format \"vtk\" needs shapes, and a model of formulas has none")
                .label("nothing to draw")
                .help("use \"npz\" or \"hdf5\" beside \"csv\", and --report for plots");
        findings.at(&build::path(["output", "formats"]).index(k), diagnostic);
    }
    let keys = [
        (["initial", "parts"], !document.initial.parts.is_empty()),
        (["initial", "equilibrium"], document.initial.equilibrium),
        (["output", "nodes"], document.output.nodes.is_some()),
        (["output", "fields"], document.output.fields.is_some()),
    ];
    for (keys, _) in keys.into_iter().filter(|(_, used)| *used) {
        let help = match keys {
            ["initial", _] => "remove it; the initial state of formulas is given by q and v",
            _ => "remove it; the columns of a model of formulas are its coordinates",
        };
        let place = build::path(keys);
        let diagnostic = Diagnostic::new(format!(
            "{place} is about flexible parts, and a model of formulas has none"
        ))
        .label("no parts here")
        .help(help);
        findings.at_key(&place, diagnostic);
    }
}

/// Builds the parts; `None` where something is wrong, which is reported. Mesh files are looked for in `folder`; functions of time must be
/// numbers at the time `start` \[s\].
pub(crate) fn assemble(
    document: &Document,
    folder: &FilePath,
    scope: &Scope,
    start: f64,
    findings: &mut Findings<'_>,
) -> Option<Flexible> {
    findings.tell(Size::of(document, scope));
    let before = findings.diagnostics.len();
    let mut work = Work {
        document,
        folder,
        scope,
        start,
        findings,
        builder: Builder::new(),
        nodes: Nodes::default(),
        constraints: HashSet::new(),
        moved: HashSet::new(),
        notes: Vec::new(),
        targets: targets::Targets::default(),
        held_load: None,
    };
    work.parts();
    work.gravity();
    work.springs();
    work.supports();
    work.motions();
    work.ties();
    work.loads();
    work.contacts();
    let Work {
        builder,
        nodes,
        notes,
        ..
    } = work;
    if findings.diagnostics.len() > before || nodes.any_broken() {
        return None;
    }
    let empty = builder.kinds().next().is_none();
    match builder.build() {
        Ok(assembly) => Some(Flexible {
            assembly,
            nodes,
            notes,
        }),
        // What is missing may be what could not be read.
        Err(_) if !is_sound(document, findings) => None,
        Err(_) if empty => {
            let diagnostic = Diagnostic::new("the model has no parts: nothing can move")
                .help("give it a [[bar]], [[beam]], [[solid]] or [[mass]]");
            findings.at(&Path::default(), diagnostic);
            None
        }
        Err(error) => {
            let diagnostic = Diagnostic::new(format!("the parts do not make a system: {error}"));
            findings.at(&Path::default(), diagnostic);
            None
        }
    }
}

/// Whether nothing was found that parts are made of.
fn is_sound(document: &Document, findings: &Findings<'_>) -> bool {
    let mut keys: Vec<&str> = keys(document).into_iter().map(|(key, _)| key).collect();
    keys.extend(["parameters", "tables"]);
    findings.is_clean_below(&keys)
}

/// What is put together, and what it is made from.
struct Work<'a, 'f> {
    document: &'a Document,
    /// Where the model file is.
    folder: &'a FilePath,
    scope: &'a Scope,
    /// When the motion starts \[s\].
    start: f64,
    findings: &'a mut Findings<'f>,
    builder: Builder,
    nodes: Nodes,
    /// Names of motions, ties and contacts so far.
    constraints: HashSet<String>,
    /// Components of nodes that follow a motion.
    moved: HashSet<(NodeId, usize)>,
    notes: Vec<String>,
    /// What loads act on so far.
    targets: targets::Targets,
    /// The first node on which a load acts in a direction that is held.
    held_load: Option<String>,
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
        let expected = format!("a whole number from 1 to {MOST_ELEMENTS}");
        self.number(quantity, at, fits, &expected)
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
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        let mut sound = true;
        for (word, place) in words.places(at) {
            match self.nodes.find(word) {
                // A node of several sets is there once.
                Ok(nodes) => {
                    let before = all.len();
                    all.extend(nodes.into_iter().filter(|node| seen.insert(*node)));
                    if all.len() == before {
                        self.notes.push(format!(
                            "{place}: \"{word}\" names nothing that is not named before it: its nodes count once"
                        ));
                    }
                }
                Err(diagnostic) => {
                    self.no_node(word, &place, diagnostic);
                    sound = false;
                }
            }
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
        if !self.constraints.insert(name.to_owned()) {
            let diagnostic = Diagnostic::new(format!("two constraints are called \"{name}\""))
                .label("was named above");
            self.findings.at(&at.key("name"), diagnostic);
        }
    }

    /// The number of a velocity component of a node; `others` are words that are right there, too.
    fn component(
        &mut self,
        word: &str,
        kind: NodeKind,
        others: &[&str],
        at: &Path,
    ) -> Option<usize> {
        let (_, names) = component_names(kind);
        if let Some(component) = names.iter().position(|name| *name == word) {
            return Some(component);
        }
        let message = format!(
            "the node has no component \"{word}\"{}",
            suggest::did_you_mean(word, names.iter().copied().chain(others.iter().copied()))
        );
        let known = others.iter().chain(names);
        let diagnostic =
            Diagnostic::new(message).label(format!("expected {}", suggest::list(known.copied())));
        self.findings.at(at, diagnostic);
        None
    }

    /// A function of time; a complaint where it is none.
    fn signal(
        &mut self,
        terms: &[(f64, Formula)],
        subject: &'static str,
    ) -> Option<Box<dyn Signal>> {
        let signal = match signal::signal(terms, self.scope, subject) {
            Ok(signal) => signal,
            Err(errors) => {
                errors.iter().for_each(|e| self.findings.formula(e));
                return None;
            }
        };
        let mut is_sound = true;
        for (_, formula) in terms {
            let error = signal::outside_of_domain(formula, self.scope, subject, self.start);
            is_sound &= error.is_none();
            error.iter().for_each(|e| self.findings.formula(e));
        }
        is_sound.then_some(signal)
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
