//! Parts in an order in which each finds the nodes that its ends are joined to, whatever their order in the file.

use super::Work;
use crate::build::path;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::Point;
use saltus_document::document::{Document, Quantity};
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::NodeId;
use std::collections::{BTreeSet, HashMap, HashSet};

/// An end of a part.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// A node of a part above.
    Joined(NodeId),
    /// A place \[m\].
    New(Vec<f64>),
}

/// A part of the document by its number.
#[derive(Debug, Clone, Copy)]
enum Part {
    Bar(usize),
    Beam(usize),
    Solid(usize),
    Mass(usize),
}

impl Part {
    /// All parts, by kind.
    fn all(document: &Document) -> Vec<Self> {
        let bars = (0..document.bar.len()).map(Self::Bar);
        let beams = (0..document.beam.len()).map(Self::Beam);
        let solids = (0..document.solid.len()).map(Self::Solid);
        let masses = (0..document.mass.len()).map(Self::Mass);
        bars.chain(beams).chain(solids).chain(masses).collect()
    }

    fn name(self, document: &Document) -> &str {
        match self {
            Self::Bar(k) => &document.bar[k].name,
            Self::Beam(k) => &document.beam[k].name,
            Self::Solid(k) => &document.solid[k].name,
            Self::Mass(k) => &document.mass[k].name,
        }
    }

    /// Where it is in the document.
    fn place(self) -> Path {
        match self {
            Self::Bar(k) => path(["bar"]).index(k),
            Self::Beam(k) => path(["beam"]).index(k),
            Self::Solid(k) => path(["solid"]).index(k),
            Self::Mass(k) => path(["mass"]).index(k),
        }
    }

    /// The names of the parts that it is joined to.
    fn joined(self, document: &Document) -> impl Iterator<Item = &str> {
        let points = match self {
            Self::Bar(k) => [Some(&document.bar[k].from), Some(&document.bar[k].to)],
            Self::Beam(k) => [Some(&document.beam[k].from), Some(&document.beam[k].to)],
            Self::Solid(_) => [None, None],
            Self::Mass(k) => [Some(&document.mass[k].at), None],
        };
        points
            .into_iter()
            .flatten()
            .filter_map(|point| match point {
                Point::Node(reference) => reference.split('.').next(),
                Point::Coordinates(_) => None,
            })
    }
}

impl Work<'_, '_> {
    /// Adds all parts, each after those that it is joined to.
    pub(super) fn parts(&mut self) {
        let document = self.document;
        let parts = Part::all(document);
        let names: HashSet<&str> = parts.iter().map(|part| part.name(document)).collect();
        let mut missing = vec![0_usize; parts.len()];
        let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
        for (k, part) in parts.iter().enumerate() {
            for name in part.joined(document).filter(|name| names.contains(name)) {
                missing[k] += 1;
                waiting.entry(name).or_default().push(k);
            }
        }
        let mut ready: BTreeSet<usize> = (0..parts.len()).filter(|&k| missing[k] == 0).collect();
        let mut left: BTreeSet<usize> = (0..parts.len()).filter(|&k| missing[k] > 0).collect();
        while let Some(k) = ready.pop_first() {
            self.part(parts[k]);
            for next in waiting
                .remove(parts[k].name(document))
                .into_iter()
                .flatten()
            {
                missing[next] -= 1;
                if missing[next] == 0 {
                    left.remove(&next);
                    ready.insert(next);
                }
            }
        }
        let left: Vec<Part> = left.into_iter().map(|k| parts[k]).collect();
        self.circle(&left);
    }

    /// Complains about parts that wait for each other, or for such parts.
    fn circle(&mut self, left: &[Part]) {
        let document = self.document;
        let Some(first) = left.first() else { return };
        let names = suggest::list(left.iter().map(|part| part.name(document)));
        let diagnostic = Diagnostic::new(match left.len() {
            1 => format!("{names} is joined to itself"),
            _ => format!("none of {names} can be built first: each is joined to another one"),
        })
        .label("needs a place of its own")
        .help("give one of them coordinates, and join the others to its nodes");
        self.findings.at(&first.place(), diagnostic);
        for part in left {
            self.nodes.cannot_make(part.name(document));
        }
    }

    /// Adds a part. What is wrong is reported; the others are read all the same.
    fn part(&mut self, part: Part) {
        let document = self.document;
        let at = part.place();
        let made = match part {
            Part::Bar(k) => self.bar(&document.bar[k], &at),
            Part::Beam(k) => self.beam(&document.beam[k], &at),
            Part::Solid(k) => self.solid(&document.solid[k], &at),
            Part::Mass(k) => self.mass(&document.mass[k], &at),
        };
        if made.is_none() {
            self.nodes.cannot_make(part.name(document));
        }
    }

    /// An end as it is written; `None` where something is wrong, which is reported.
    pub(super) fn end(&mut self, point: &Point, at: &Path) -> Option<End> {
        if self.findings.touched(at) {
            return None;
        }
        let list = match point {
            Point::Node(reference) => return self.node_at(reference, at).map(End::Joined),
            Point::Coordinates(list) => list,
        };
        let node = list.iter().enumerate().find_map(|(k, entry)| match entry {
            Quantity::Formula(text) if self.nodes.is_like(text) => Some((k, text)),
            _ => None,
        });
        if let Some((k, text)) = node {
            let diagnostic = Diagnostic::new(format!("{at} is a list with a node in it, \"{text}\""))
                .label("expected a number or a formula of parameters")
                .help(format!(
                    "a node stands alone, \"{text}\" without brackets; a place has coordinates, such as [0, 0]"
                ));
            self.findings.at(&at.index(k), diagnostic);
            return None;
        }
        self.numbers(list, at).map(End::New)
    }

    /// Coordinates of an end.
    pub(super) fn place_of(&self, end: &End) -> Vec<f64> {
        match end {
            End::New(place) => place.clone(),
            End::Joined(node) => {
                let dimension = self.builder.kind(*node).dimension();
                self.builder.position(*node)[..dimension].to_vec()
            }
        }
    }
}
