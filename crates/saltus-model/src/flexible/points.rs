//! Masses and springs at nodes.

use super::Work;
use super::order::End;
use crate::build::path;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Numbers, PointMass, Spring};
use saltus_document::tree::Path;
use saltus_mechanics::flexible::point::kind;
use saltus_mechanics::flexible::{NodeId, NodeKind, PointMass as Mass, Spring as Link};

/// Runs `$body` with the type `K` that stands for a kind of node.
macro_rules! by_kind {
    ($kind:expr, $K:ident => $body:expr) => {
        match $kind {
            NodeKind::Line => {
                type $K = kind::Line;
                $body
            }
            NodeKind::Plane => {
                type $K = kind::Plane;
                $body
            }
            NodeKind::PlaneFrame => {
                type $K = kind::PlaneFrame;
                $body
            }
            NodeKind::Space => {
                type $K = kind::Space;
                $body
            }
            NodeKind::SpaceFrame => {
                type $K = kind::SpaceFrame;
                $body
            }
        }
    };
}

impl Work<'_, '_> {
    /// Adds a mass; `None` where something is wrong, which is reported.
    pub(super) fn mass(&mut self, mass: &PointMass, at: &Path) -> Option<()> {
        let named = self.part_name(&mass.name, at);
        let size = self.positive(&mass.mass, &at.key("mass"));
        let node = match self.end(&mass.at, &at.key("at"))? {
            End::Joined(node) => node,
            End::New(place) => {
                let kind = match place.len() {
                    1 => NodeKind::Line,
                    2 => NodeKind::Plane,
                    _ => NodeKind::Space,
                };
                let node = self.builder.node(kind, &mass.name, &place);
                self.accept(at, node)?
            }
        };
        if named {
            self.nodes.point(&mass.name, node);
        }
        let (size, name) = (size?, mass.name.clone());
        let kind = self.builder.kind(node);
        let Some(inertia) = &mass.inertia else {
            return by_kind!(kind, K => {
                let element = self.accept(at, Mass::<K>::new(size))?;
                let added = self.builder.elements(name, vec![element], &[node]);
                self.accept(at, added)
            });
        };
        let place = at.key("inertia");
        let values = self.numbers_of(inertia, &place)?;
        let added = match (kind, values.as_slice()) {
            (NodeKind::PlaneFrame, &[j]) => {
                let body = Mass::<kind::PlaneFrame>::new(size).and_then(|m| m.with_inertia(j));
                let body = self.accept(&place, body)?;
                self.builder.elements(name, vec![body], &[node])
            }
            (NodeKind::SpaceFrame, &[a, b, c]) => {
                let tensor = [[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]];
                let body = Mass::<kind::SpaceFrame>::new(size).and_then(|m| m.with_inertia(tensor));
                let body = self.accept(&place, body)?;
                self.builder.elements(name, vec![body], &[node])
            }
            (NodeKind::PlaneFrame, _) => {
                self.wrong_count(&place, values.len(), "1 in the plane");
                return None;
            }
            (NodeKind::SpaceFrame, _) => {
                self.wrong_count(&place, values.len(), "3 in space");
                return None;
            }
            _ => {
                let diagnostic = Diagnostic::new("the node has no rotation")
                    .label("a moment of inertia needs a node of a beam");
                self.findings.at(&place, diagnostic);
                return None;
            }
        };
        self.accept(at, added)
    }

    pub(super) fn numbers_of(&mut self, numbers: &Numbers, at: &Path) -> Option<Vec<f64>> {
        match numbers {
            Numbers::One(one) => self
                .number(one, at, |_| true, "a finite number")
                .map(|x| vec![x]),
            Numbers::Several(several) => self.numbers(several, at),
        }
    }

    pub(super) fn springs(&mut self) {
        for (k, spring) in self.document.spring.iter().enumerate() {
            let _ = self.spring(spring, &path(["spring"]).index(k));
        }
    }

    fn spring(&mut self, spring: &Spring, at: &Path) -> Option<()> {
        let place = at.key("between");
        let [first, second] = spring.between.as_slice() else {
            self.wrong_count(&place, spring.between.len(), "2");
            return None;
        };
        let first = self.end(first, &place.index(0));
        let second = self.end(second, &place.index(1));
        let stiffness = self.not_negative(Some(&spring.stiffness), &at.key("stiffness"));
        let damping = self.not_negative(spring.damping.as_ref(), &at.key("damping"));
        let ends = [(first?, place.index(0)), (second?, place.index(1))];
        let places = self.places(&ends)?;
        let ends = ends.map(|(end, _)| end);
        if let [End::Joined(a), End::Joined(b)] = ends
            && a == b
        {
            let diagnostic = Diagnostic::new(format!(
                "the spring \"{}\" begins and ends at the node \"{}\"",
                spring.name,
                self.builder.name(a)
            ))
            .label("expected two nodes")
            .help("choose another node, or give the coordinates of a fixed point");
            self.findings.at(&place, diagnostic);
            return None;
        }
        let line = places[0].len() == 1;
        let apart = super::lines::distance(&places[0], &places[1]);
        let relaxed = match &spring.length {
            Some(length) => self.number(length, &at.key("length"), |_| true, "a finite number")?,
            None => apart,
        };
        // On a line a spring has a direction, from its first end to its second as they are built.
        let against = line && places[1][0] < places[0][0];
        let relaxed = if against { -relaxed } else { relaxed };
        let (stiffness, damping, name) = (stiffness?, damping?, spring.name.clone());
        match ends {
            [End::Joined(a), End::Joined(b)] => by_kind!(self.builder.kind(a), K => {
                self.fits(&ends[1], self.builder.kind(a), &name, &place.index(1))?;
                let link = self.accept(at, Link::<K>::new(stiffness, damping, relaxed))?;
                let added = self.builder.elements(name, vec![link], &[a, b]);
                self.accept(at, added)
            }),
            [End::Joined(node), End::New(point)] => {
                // Seen from the fixed point.
                let relaxed = if line { -relaxed } else { relaxed };
                self.spring_to_ground(name, node, &point, (stiffness, damping, relaxed), at)
            }
            [End::New(point), End::Joined(node)] => {
                self.spring_to_ground(name, node, &point, (stiffness, damping, relaxed), at)
            }
            [End::New(_), End::New(_)] => {
                let diagnostic = Diagnostic::new(format!("the spring \"{name}\" holds nothing"))
                    .label("expected at least one node");
                self.findings.at(&place, diagnostic);
                None
            }
        }
    }

    /// A spring from a fixed point to a node.
    fn spring_to_ground(
        &mut self,
        name: String,
        node: NodeId,
        point: &[f64],
        (stiffness, damping, relaxed): (f64, f64, f64),
        at: &Path,
    ) -> Option<()> {
        by_kind!(self.builder.kind(node), K => {
            let link = self.accept(at, Link::<K, 1>::to_ground(stiffness, damping, relaxed, point))?;
            let added = self.builder.elements(name, vec![link], &[node]);
            self.accept(at, added)
        })
    }
}
