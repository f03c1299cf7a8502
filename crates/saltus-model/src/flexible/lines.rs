//! Bars: rods on a line, links in the plane and in space.

use super::Work;
use super::order::End;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Bar, Distribution};
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::point::kind;
use saltus_mechanics::flexible::{MassMatrix, NodeId, NodeKind, Rod, Spring};

/// The mass matrix that a file asks for.
pub(super) fn mass_matrix(distribution: Distribution) -> MassMatrix {
    match distribution {
        Distribution::Consistent => MassMatrix::Consistent,
        Distribution::Lumped => MassMatrix::Lumped,
    }
}

impl Work<'_, '_> {
    /// Adds a bar; `None` where something is wrong, which is reported.
    pub(super) fn bar(&mut self, bar: &Bar, at: &Path) -> Option<()> {
        let named = self.part_name(&bar.name, at);
        let from = self.end(&bar.from, &at.key("from"));
        let to = self.end(&bar.to, &at.key("to"));
        let elements = self.count(&bar.elements, &at.key("elements"));
        let properties = self.properties(&bar.section, bar.material.as_deref(), at);
        let (from, to, elements) = (from?, to?, elements?);
        let ends = [(from.clone(), at.key("from")), (to.clone(), at.key("to"))];
        let places = self.places(&ends)?;
        let length = distance(&places[0], &places[1]);
        if length <= 0.0 || !named {
            return self.no_length(&bar.name, length, at);
        }
        let kind = self.kind_of_bar(&from, &to, places[0].len(), elements);
        for (end, place) in &ends {
            self.fits(end, kind, &bar.name, place)?;
        }
        let nodes = self.chain(&bar.name, kind, &from, &to, &places, elements)?;
        self.nodes.line(&bar.name, nodes.clone());
        let properties = properties?;
        let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
        let (ea, rho_a) = (properties.ea(), properties.rho_a());
        #[allow(clippy::cast_precision_loss)]
        let piece = length / elements as f64;
        let (mass, damping) = (mass_matrix(bar.mass), properties.damping);
        macro_rules! links {
            ($kind:ident) => {{
                let link = Spring::<kind::$kind>::bar(ea, rho_a, piece);
                let link = self.accept(at, link)?.with_mass(mass).with_damping(damping);
                self.builder.elements(&bar.name, vec![link], &pairs)
            }};
        }
        let added = match kind {
            NodeKind::Line => {
                // A rod has a direction: its positions increase from node to node.
                let backwards = places[1][0] < places[0][0];
                let pairs: Vec<NodeId> = if backwards {
                    pairs.iter().rev().copied().collect()
                } else {
                    pairs
                };
                let rod = self.accept(at, Rod::new(ea, rho_a, piece))?;
                let rod = rod.with_mass(mass).with_damping(damping);
                let added = self.builder.elements(&bar.name, vec![rod], &pairs);
                if backwards {
                    self.builder.is_backwards();
                }
                added
            }
            NodeKind::Plane => links!(Plane),
            NodeKind::PlaneFrame => links!(PlaneFrame),
            NodeKind::Space => links!(Space),
            NodeKind::SpaceFrame => links!(SpaceFrame),
        };
        self.accept(at, added)
    }

    /// A link between two nodes takes them as they are; a chain has nodes of its own.
    fn kind_of_bar(&self, from: &End, to: &End, dimension: usize, elements: usize) -> NodeKind {
        if let (End::Joined(node), _) | (_, End::Joined(node)) = (from, to)
            && elements == 1
        {
            return self.builder.kind(*node);
        }
        match dimension {
            1 => NodeKind::Line,
            2 => NodeKind::Plane,
            _ => NodeKind::Space,
        }
    }

    /// Nodes at equal distances from end to end.
    fn chain(
        &mut self,
        name: &str,
        kind: NodeKind,
        from: &End,
        to: &End,
        places: &[Vec<f64>],
        elements: usize,
    ) -> Option<Vec<NodeId>> {
        let mut nodes = Vec::with_capacity(elements + 1);
        for i in 0..=elements {
            let end = match i {
                0 => Some(from),
                i if i == elements => Some(to),
                _ => None,
            };
            if let Some(End::Joined(node)) = end {
                nodes.push(*node);
                continue;
            }
            #[allow(clippy::cast_precision_loss)]
            let s = i as f64 / elements as f64;
            let mut position: Vec<f64> = places[0]
                .iter()
                .zip(&places[1])
                .map(|(a, b)| a + s * (b - a))
                .collect();
            match kind {
                NodeKind::PlaneFrame => position.push(0.0),
                NodeKind::SpaceFrame => position.extend([1.0, 0.0, 0.0, 0.0]),
                _ => {}
            }
            let node = self.builder.node(kind, format!("{name}.{i}"), &position);
            nodes.push(self.accept(&Path::default(), node)?);
        }
        Some(nodes)
    }

    /// Coordinates of several places, as many each, given where they are written.
    pub(super) fn places(&mut self, ends: &[(End, Path)]) -> Option<Vec<Vec<f64>>> {
        let places: Vec<Vec<f64>> = ends.iter().map(|(end, _)| self.place_of(end)).collect();
        let expected = places.first().map_or(0, Vec::len);
        let odd = places.iter().position(|place| place.len() != expected);
        if let (Some(odd), Some((_, first))) = (odd, ends.first()) {
            let at = &ends[odd].1;
            let count = suggest::count(places[odd].len(), "coordinate", "coordinates");
            let diagnostic = Diagnostic::new(format!("{at} has {count}, {first} has {expected}"))
                .label(format!("expected {expected}"))
                .help("all places of a part have as many coordinates: one on a line, two in the plane, three in space");
            self.findings.at(at, diagnostic);
            return None;
        }
        Some(places)
    }

    /// Complains where a link cannot be joined to a node because it has or lacks a rotation.
    pub(super) fn fits(&mut self, end: &End, kind: NodeKind, name: &str, at: &Path) -> Option<()> {
        let End::Joined(node) = end else {
            return Some(());
        };
        let found = self.builder.kind(*node);
        if found == kind {
            return Some(());
        }
        let what = |kind| match kind {
            NodeKind::PlaneFrame | NodeKind::SpaceFrame => "a node of a beam",
            _ => "a point without rotation",
        };
        let diagnostic = Diagnostic::new(format!(
            "\"{name}\" cannot be joined to \"{}\", {}: its other nodes are not of that kind",
            self.builder.name(*node),
            what(found)
        ))
        .label(format!("expected {}", what(kind)))
        .help("give it a node of its own at this place, the end of a bar or a [[mass]], and join the two by a [[tie]] of their translations");
        self.findings.at(at, diagnostic);
        None
    }

    /// `None`, after a complaint where a part has no length.
    pub(super) fn no_length(&mut self, name: &str, length: f64, at: &Path) -> Option<()> {
        if length <= 0.0 {
            let diagnostic =
                Diagnostic::new(format!("\"{name}\" has no length")).label("begins where it ends");
            self.findings.at(&at.key("to"), diagnostic);
        }
        None
    }
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (b - a) * (b - a))
        .sum::<f64>()
        .sqrt()
}
