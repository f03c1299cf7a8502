//! What guides nodes: supports, prescribed motions, ties.

use super::Work;
use super::lines::distance;
use crate::build::{self, path};
use crate::definition::{Formula, Source};
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Motion, Tie, Words};
use saltus_document::number::general;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{NodeId, NodeKind, component_names};
use std::collections::HashMap;
use std::ops::Range;

/// The velocity components that `word` in `hold` stands for at a node of `kind`; `None` where it has no meaning there.
pub(super) fn held_by(word: &str, kind: NodeKind) -> Option<Range<usize>> {
    match word {
        "all" => Some(0..kind.velocities()),
        "rotation" if kind == NodeKind::SpaceFrame => Some(3..6),
        word => {
            let component = component_names(kind).1.iter().position(|n| *n == word)?;
            Some(component..component + 1)
        }
    }
}

impl Work<'_, '_> {
    pub(super) fn supports(&mut self) {
        for (k, support) in self.document.support.iter().enumerate() {
            let at = path(["support"]).index(k);
            let Some(nodes) = self.nodes_at(&support.at, &at.key("at")) else {
                continue;
            };
            let (mut all, mut new) = (true, 0);
            for node in nodes {
                let held = self.hold(node, &support.hold, &at.key("hold"));
                all &= held.is_some();
                let Some(held) = held else { break };
                new += held;
            }
            if all && new == 0 {
                self.notes
                    .push(format!("{at} holds nothing that is not held already"));
            }
        }
    }

    /// Holds what `words` say at a node; the number of components that were not held before.
    fn hold(&mut self, node: NodeId, words: &Words, at: &Path) -> Option<usize> {
        let kind = self.builder.kind(node);
        let mut new = 0;
        for (word, place) in words.places(at) {
            let components = match held_by(word, kind) {
                Some(components) => components,
                None => {
                    let others: &[&str] = match kind {
                        NodeKind::SpaceFrame => &["all", "rotation"],
                        _ => &["all"],
                    };
                    let component = self.component(word, kind, others, &place)?;
                    component..component + 1
                }
            };
            for component in components {
                new += usize::from(!self.builder.is_held(node, component));
                let held = self.builder.hold(node, component);
                self.accept(&place, held)?;
            }
        }
        Some(new)
    }

    pub(super) fn motions(&mut self) {
        for (k, motion) in self.document.motion.iter().enumerate() {
            let _ = self.motion(motion, &path(["motion"]).index(k));
        }
    }

    fn motion(&mut self, motion: &Motion, at: &Path) -> Option<()> {
        self.constraint_name(&motion.name, at);
        let nodes = self.nodes_at(&motion.at, &at.key("at"));
        let (key, quantity) = match (&motion.position, &motion.displacement) {
            (Some(position), None) => ("position", position),
            (None, Some(displacement)) => ("displacement", displacement),
            (None, None) => {
                let diagnostic = Diagnostic::new(format!(
                    "missing key \"position\" or \"displacement\" in {at}"
                ))
                .label("nothing moves");
                self.findings.at(at, diagnostic);
                return None;
            }
            (Some(_), Some(_)) => {
                let diagnostic = Diagnostic::new(format!(
                    "{at} is given twice: by \"position\" and by \"displacement\""
                ))
                .label("\"position\" is given too")
                .help("remove one of the two");
                self.findings.at_key(&at.key("displacement"), diagnostic);
                return None;
            }
        };
        let formula = build::formula(quantity, &at.key(key));
        // Says once what is wrong with it.
        self.signal(&[(1.0, formula.clone())], "a prescribed motion")?;
        let nodes = nodes?;
        let several = nodes.len() > 1;
        for (i, node) in nodes.into_iter().enumerate() {
            let kind = self.builder.kind(node);
            let component = self.component(&motion.component, kind, &[], &at.key("component"))?;
            self.may_move(motion, node, component, at)?;
            let mut terms = vec![(1.0, formula.clone())];
            if key == "displacement" {
                let from = self.builder.position(node)[component];
                let place = formula.place.clone();
                let source = Source::Number(from);
                terms.push((1.0, Formula { source, place }));
            }
            let signal = self.signal(&terms, "a prescribed motion")?;
            let name = numbered(&motion.name, i, several);
            let added = self.builder.prescribe(name, node, component, signal);
            self.accept(at, added)?;
        }
        Some(())
    }

    /// Complains where a component is held, or follows another motion.
    fn may_move(
        &mut self,
        motion: &Motion,
        node: NodeId,
        component: usize,
        at: &Path,
    ) -> Option<()> {
        let (word, name) = (&motion.component, self.builder.name(node));
        let diagnostic = if self.builder.is_held(node, component) {
            Diagnostic::new(format!(
                "the motion \"{}\" moves \"{word}\" of \"{name}\", which a support holds",
                motion.name
            ))
            .label("is held")
            .help("leave it out of \"hold\" of the [[support]], or remove the motion")
        } else if !self.moved.insert((node, component)) {
            Diagnostic::new(format!(
                "the motion \"{}\" moves \"{word}\" of \"{name}\", which follows another one",
                motion.name
            ))
            .label("is prescribed above")
            .help("a coordinate follows one motion: write the sum into one formula")
        } else {
            return Some(());
        };
        self.findings.at(&at.key("component"), diagnostic);
        None
    }

    pub(super) fn ties(&mut self) {
        for (k, tie) in self.document.tie.iter().enumerate() {
            let _ = self.tie(tie, &path(["tie"]).index(k));
        }
    }

    fn tie(&mut self, tie: &Tie, at: &Path) -> Option<()> {
        let place = at.key("between");
        let [a, b] = tie.between.as_slice() else {
            self.wrong_count(&place, tie.between.len(), "2");
            return None;
        };
        let mut set = |word: &str, k: usize| {
            let word = Words::One(word.to_owned());
            self.nodes_at(&word, &place.index(k))
        };
        let (first, second) = (set(a, 0), set(b, 1));
        let pairs = self.pairs([a, b], first?, second?, &place)?;
        let words = tie.components.as_slice();
        for (i, pair) in pairs.iter().enumerate() {
            let kind = self.builder.kind(pair[0]);
            for word in words {
                let component = self.component(word, kind, &[], &at.key("components"))?;
                let mut name = numbered(&tie.name, i, pairs.len() > 1);
                if words.len() > 1 {
                    name = format!("{name}.{word}");
                }
                self.constraint_name(&name, at);
                let added = self.builder.tie(name, *pair, component);
                self.accept(at, added)?;
            }
        }
        Some(())
    }

    /// Nodes of two sets, each with the one at its place.
    fn pairs(
        &mut self,
        names: [&String; 2],
        first: Vec<NodeId>,
        second: Vec<NodeId>,
        at: &Path,
    ) -> Option<Vec<[NodeId; 2]>> {
        if let ([a], [b]) = (first.as_slice(), second.as_slice()) {
            return Some(vec![[*a, *b]]);
        }
        if first.len() != second.len() {
            let diagnostic = Diagnostic::new(format!(
                "\"{}\" has {} nodes, \"{}\" has {}",
                names[0],
                first.len(),
                names[1],
                second.len()
            ))
            .label("expected as many in both")
            .help("tie sets of nodes that lie at the same places, or single nodes");
            self.findings.at(at, diagnostic);
            return None;
        }
        let place = |node: NodeId| {
            let mut x = [0.0; 3];
            let dimension = self.builder.kind(node).dimension();
            x[..dimension].copy_from_slice(&self.builder.position(node)[..dimension]);
            x
        };
        let size = first
            .iter()
            .chain(&second)
            .flat_map(|&n| place(n))
            .fold(0.0, |m: f64, x| m.max(x.abs()));
        let near = 1e-6 * size;
        // Cells of a grid: what is near is in the same one or beside it.
        let cell = |x: [f64; 3]| x.map(|x| (x / (4.0 * near)).floor());
        let mut grid: HashMap<[u64; 3], Vec<NodeId>> = HashMap::new();
        let bits = |cell: [f64; 3]| cell.map(|c| (c + 0.0).to_bits());
        for &node in &second {
            grid.entry(bits(cell(place(node)))).or_default().push(node);
        }
        let mut pairs = Vec::with_capacity(first.len());
        let mut alone = None;
        for &node in &first {
            let (x, home) = (place(node), cell(place(node)));
            let beside = (0..27).flat_map(|k: u8| {
                let step = [k % 3, k / 3 % 3, k / 9].map(|s| f64::from(s) - 1.0);
                let there = std::array::from_fn(|c| home[c] + step[c]);
                grid.get(&bits(there)).into_iter().flatten()
            });
            let mut found = beside.filter(|&&other| distance(&place(other), &x) <= near);
            match found.next() {
                Some(&other) => pairs.push([node, other]),
                None => alone = alone.or(Some((node, x))),
            }
        }
        if let Some((node, x)) = alone {
            let diagnostic = Diagnostic::new(format!(
                "\"{}\" has no node where \"{}\" is: ({}, {}, {})",
                names[1],
                self.builder.name(node),
                general(x[0]),
                general(x[1]),
                general(x[2]),
            ))
            .label("the sets do not lie at the same places")
            .help("tie sets of nodes that lie at the same places, or single nodes");
            self.findings.at(at, diagnostic);
            return None;
        }
        Some(pairs)
    }
}

/// `NAME`, or `NAME.I` where it is one of several.
pub(super) fn numbered(name: &str, i: usize, several: bool) -> String {
    if several {
        format!("{name}.{i}")
    } else {
        name.to_owned()
    }
}
