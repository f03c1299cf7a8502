//! What acts at nodes: masses, springs, supports, motions, ties, loads, contacts.

use super::{End, Work};
use crate::build::{self, path};
use crate::definition::Formula;
use crate::diagnostic::Diagnostic;
use crate::document::Quantity;
use crate::document::parts::{Contact, Load, Numbers, PointMass, Spring, Words};
use crate::number::general;
use crate::tree::Path;
use saltus_mechanics::flexible::point::kind;
use saltus_mechanics::flexible::{
    Geometry, LoadKind, NodeId, NodeKind, PointMass as Mass, Spring as Link,
};
use saltus_system::ContactLaw;

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
    pub(super) fn masses(&mut self) {
        for (k, mass) in self.document.mass.iter().enumerate() {
            let _ = self.mass(mass, &path(["mass"]).index(k));
        }
    }

    fn mass(&mut self, mass: &PointMass, at: &Path) -> Option<()> {
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
        let ends = [first?, second?];
        let places = self.places(&ends, at)?;
        let line = places[0].len() == 1;
        let apart = super::lines::distance(&places[0], &places[1]);
        let relaxed = match &spring.length {
            Some(length) => self.number(length, &at.key("length"), |_| true, "a finite number")?,
            None if line => places[1][0] - places[0][0],
            None => apart,
        };
        let (stiffness, damping, name) = (stiffness?, damping?, spring.name.clone());
        match ends {
            [End::Joined(a), End::Joined(b)] => by_kind!(self.builder.kind(a), K => {
                let link = self.accept(at, Link::<K>::new(stiffness, damping, relaxed))?;
                let added = self.builder.elements(name, vec![link], &[a, b]);
                self.accept(at, added)
            }),
            [End::Joined(node), End::New(point)] | [End::New(point), End::Joined(node)] => {
                by_kind!(self.builder.kind(node), K => {
                    let link = Link::<K, 1>::to_ground(stiffness, damping, relaxed, &point);
                    let link = self.accept(at, link)?;
                    let added = self.builder.elements(name, vec![link], &[node]);
                    self.accept(at, added)
                })
            }
            [End::New(_), End::New(_)] => {
                let diagnostic = Diagnostic::new(format!("the spring \"{name}\" holds nothing"))
                    .label("expected at least one node");
                self.findings.at(&place, diagnostic);
                None
            }
        }
    }

    pub(super) fn supports(&mut self) {
        for (k, support) in self.document.support.iter().enumerate() {
            let at = path(["support"]).index(k);
            let Some(nodes) = self.nodes_at(&support.at, &at.key("at")) else {
                continue;
            };
            for node in nodes {
                if self.hold(node, &support.hold, &at.key("hold")).is_none() {
                    break;
                }
            }
        }
    }

    fn hold(&mut self, node: NodeId, words: &Words, at: &Path) -> Option<()> {
        let kind = self.builder.kind(node);
        for (k, word) in words.as_slice().iter().enumerate() {
            let place = match words {
                Words::One(_) => at.clone(),
                Words::Several(_) => at.index(k),
            };
            if word == "all" {
                self.builder.clamp(node);
                continue;
            }
            let components = if word == "rotation" && kind == NodeKind::SpaceFrame {
                3..6
            } else {
                let component = self.component(word, kind, &place)?;
                component..component + 1
            };
            for component in components {
                let held = self.builder.hold(node, component);
                self.accept(&place, held)?;
            }
        }
        Some(())
    }

    pub(super) fn motions(&mut self) {
        for (k, motion) in self.document.motion.iter().enumerate() {
            let at = path(["motion"]).index(k);
            self.constraint_name(&motion.name, &at);
            let node = self.node_at(&motion.at, &at.key("at"));
            let formula = build::formula(&motion.position, &at.key("position"));
            let signal = self.signal(&[(1.0, formula)], "a prescribed motion");
            let (Some(node), Some(signal)) = (node, signal) else {
                continue;
            };
            let kind = self.builder.kind(node);
            if let Some(component) = self.component(&motion.component, kind, &at.key("component")) {
                let added = self
                    .builder
                    .prescribe(&motion.name, node, component, signal);
                self.accept(&at, added);
            }
        }
    }

    pub(super) fn ties(&mut self) {
        for (k, tie) in self.document.tie.iter().enumerate() {
            let at = path(["tie"]).index(k);
            let place = at.key("between");
            let [a, b] = tie.between.as_slice() else {
                self.wrong_count(&place, tie.between.len(), "2");
                continue;
            };
            let (a, b) = (
                self.node_at(a, &place.index(0)),
                self.node_at(b, &place.index(1)),
            );
            let (Some(a), Some(b)) = (a, b) else { continue };
            let kind = self.builder.kind(a);
            let words = tie.components.as_slice();
            for word in words {
                let Some(component) = self.component(word, kind, &at.key("components")) else {
                    continue;
                };
                let name = match words {
                    [_] => tie.name.clone(),
                    _ => format!("{}.{word}", tie.name),
                };
                self.constraint_name(&name, &at);
                let added = self.builder.tie(name, [a, b], component);
                self.accept(&at, added);
            }
        }
    }

    pub(super) fn loads(&mut self) {
        for (k, load) in self.document.load.iter().enumerate() {
            let at = path(["load"]).index(k);
            if load.force.is_none() && load.moment.is_none() {
                let diagnostic =
                    Diagnostic::new(format!("missing key \"force\" or \"moment\" in {at}"))
                        .label("nothing acts");
                self.findings.at(&at, diagnostic);
            }
            let Some(nodes) = self.nodes_at(&load.at, &at.key("at")) else {
                continue;
            };
            for node in nodes {
                if self.load(load, node, &at).is_none() {
                    break;
                }
            }
        }
    }

    fn load(&mut self, load: &Load, node: NodeId, at: &Path) -> Option<()> {
        let kind = self.builder.kind(node);
        let dimension = kind.dimension();
        if let Some(force) = &load.force {
            let place = at.key("force");
            if force.len() != dimension {
                self.wrong_count(&place, force.len(), &dimension.to_string());
                return None;
            }
            for (c, quantity) in force.iter().enumerate() {
                self.push(node, LoadKind::Component(c), quantity, &place.index(c))?;
            }
        }
        let Some(moment) = &load.moment else {
            return Some(());
        };
        let place = at.key("moment");
        let (list, expected) = (moment.as_slice(), if dimension == 3 { 3 } else { 1 });
        if !matches!(kind, NodeKind::PlaneFrame | NodeKind::SpaceFrame) {
            let diagnostic = Diagnostic::new("the node has no rotation")
                .label("a moment needs a node of a beam");
            self.findings.at(&place, diagnostic);
            return None;
        }
        if list.len() != expected {
            self.wrong_count(&place, list.len(), &expected.to_string());
            return None;
        }
        for (c, quantity) in list.iter().enumerate() {
            let inside = match moment {
                Numbers::One(_) => place.clone(),
                Numbers::Several(_) => place.index(c),
            };
            let kind = if expected == 1 {
                LoadKind::Component(2)
            } else if load.follower {
                LoadKind::Component(3 + c)
            } else {
                let mut axis = [0.0; 3];
                axis[c] = 1.0;
                LoadKind::SpatialMoment(axis)
            };
            self.push(node, kind, quantity, &inside)?;
        }
        Some(())
    }

    /// Adds a load unless it is zero at all times.
    fn push(&mut self, node: NodeId, kind: LoadKind, quantity: &Quantity, at: &Path) -> Option<()> {
        let formula = build::formula(quantity, at);
        let amplitude = self.signal(&[(1.0, formula)], "a load")?;
        if amplitude.is_constant() && amplitude.value(0.0) == 0.0 {
            return Some(());
        }
        self.builder.load(saltus_mechanics::flexible::Load {
            node,
            kind,
            amplitude,
        });
        Some(())
    }

    pub(super) fn contacts(&mut self) {
        for (k, contact) in self.document.contact.iter().enumerate() {
            let _ = self.contact(contact, &path(["contact"]).index(k));
        }
    }

    fn contact(&mut self, contact: &Contact, at: &Path) -> Option<()> {
        self.constraint_name(&contact.name, at);
        self.friction(contact, at);
        let nodes = self.nodes_at(&contact.at, &at.key("at"));
        let radius = self.not_negative(contact.radius.as_ref(), &at.key("radius"));
        let restitution = match &contact.restitution {
            Some(e) => self.number(
                e,
                &at.key("restitution"),
                |e| (0.0..=1.0).contains(&e),
                "a number in [0, 1]",
            ),
            None => Some(0.0),
        };
        let plane = at.key("plane");
        let normal = self.vector(&contact.plane.normal, &plane.key("normal"))?;
        let length = super::frames::length(&normal);
        if length <= 0.0 {
            let diagnostic = Diagnostic::new("the normal of a plane has no direction")
                .label("expected a direction towards the nodes");
            self.findings.at(&plane.key("normal"), diagnostic);
            return None;
        }
        let normal = normal.map(|x| x / length);
        let (nodes, radius, restitution) = (nodes?, radius?, restitution?);
        let dimensions = contact.plane.normal.len();
        let point = &contact.plane.point;
        if point.len() != dimensions {
            self.wrong_count(&plane.key("point"), point.len(), &dimensions.to_string());
            return None;
        }
        let terms: Vec<(f64, Formula)> = normal
            .iter()
            .zip(point)
            .enumerate()
            .map(|(c, (n, x))| (*n, build::formula(x, &plane.key("point").index(c))))
            .collect();
        let several = nodes.len() > 1;
        for (i, node) in nodes.into_iter().enumerate() {
            let dimension = self.builder.kind(node).dimension();
            if dimension != dimensions {
                self.wrong_count(&plane.key("normal"), dimensions, &dimension.to_string());
                return None;
            }
            let offset = self.signal(&terms, "a point of a plane")?;
            let name = if several {
                format!("{}.{i}", contact.name)
            } else {
                contact.name.clone()
            };
            let geometry = Geometry::Plane {
                node,
                normal,
                offset,
                radius,
            };
            self.builder
                .contact(name, geometry, ContactLaw::frictionless(restitution));
        }
        Some(())
    }

    /// Friction of flexible parts is not solved yet.
    fn friction(&mut self, contact: &Contact, at: &Path) {
        let Some(friction) = &contact.friction else {
            return;
        };
        let place = at.key("friction");
        let mu = self.not_negative(Some(friction), &place);
        if let Some(mu) = mu.filter(|&mu| mu > 0.0) {
            let message = format!(
                "contact \"{}\" has friction, which contacts of flexible parts do not have yet",
                contact.name
            );
            let diagnostic = Diagnostic::new(message)
                .label(format!("mu = {}", general(mu)))
                .help("set friction = 0 or remove it");
            self.findings.refuse(&place, diagnostic);
        }
    }
}
