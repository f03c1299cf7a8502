//! Contacts of nodes with planes and with the surfaces of other parts.

use super::Work;
use super::guides::numbered;
use super::nodes::{Face, SURFACE};
use crate::build::{self, path};
use crate::definition::Formula;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Contact, Plane, Words};
use saltus_document::number::general;
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{Geometry, NodeId, SurfaceContact};
use saltus_system::ContactLaw;
use std::collections::HashSet;

impl Work<'_, '_> {
    pub(super) fn contacts(&mut self) {
        for (k, contact) in self.document.contact.iter().enumerate() {
            let _ = self.contact(contact, &path(["contact"]).index(k));
        }
    }

    fn contact(&mut self, contact: &Contact, at: &Path) -> Option<()> {
        self.constraint_name(&contact.name, at);
        self.friction(contact, at);
        let nodes = self.nodes_at(&self.outside(&contact.at), &at.key("at"));
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
        let law = restitution.map(ContactLaw::frictionless);
        match (&contact.plane, &contact.surface) {
            (Some(plane), None) => self.over_plane(contact, plane, nodes, radius, law, at),
            (None, Some(surface)) => self.over_surface(contact, surface, nodes, radius, law, at),
            (None, None) => {
                let diagnostic =
                    Diagnostic::new(format!("missing key \"plane\" or \"surface\" in {at}"))
                        .label("touches nothing")
                        .help("plane = { point = [0, 0], normal = [0, 1] }, or surface = \"PART\"");
                self.findings.at(at, diagnostic);
                None
            }
            (Some(_), Some(_)) => {
                let diagnostic = Diagnostic::new(format!(
                    "{at} is given twice: by \"plane\" and by \"surface\""
                ))
                .label("\"plane\" is given too")
                .help("write two contacts");
                self.findings.at_key(&at.key("surface"), diagnostic);
                None
            }
        }
    }

    /// Whole solids stand for the nodes of their surface: the others touch nothing.
    fn outside(&self, words: &Words) -> Words {
        let outside = |word: &String| match self.nodes.faces(word) {
            Ok(_) if !word.contains('.') => format!("{word}.{SURFACE}"),
            _ => word.clone(),
        };
        match words {
            Words::One(word) => Words::One(outside(word)),
            Words::Several(words) => Words::Several(words.iter().map(outside).collect()),
        }
    }

    fn over_plane(
        &mut self,
        contact: &Contact,
        obstacle: &Plane,
        nodes: Option<Vec<NodeId>>,
        radius: Option<f64>,
        law: Option<ContactLaw>,
        at: &Path,
    ) -> Option<()> {
        let plane = at.key("plane");
        self.in_the_space_of(obstacle, nodes.as_deref(), &plane)?;
        let normal = self.vector(&obstacle.normal, &plane.key("normal"))?;
        let length = super::frames::length(&normal);
        if length <= 0.0 {
            let diagnostic = Diagnostic::new("the normal of a plane has no direction")
                .label("expected a direction towards the nodes");
            self.findings.at(&plane.key("normal"), diagnostic);
            return None;
        }
        let normal = normal.map(|x| x / length);
        let (nodes, radius, law) = (nodes?, radius?, law?);
        let point = &obstacle.point;
        let terms: Vec<(f64, Formula)> = normal
            .iter()
            .zip(point)
            .enumerate()
            .map(|(c, (n, x))| (*n, build::formula(x, &plane.key("point").index(c))))
            .collect();
        let several = nodes.len() > 1;
        for (i, node) in nodes.into_iter().enumerate() {
            let offset = self.signal(&terms, "a point of a plane")?;
            let name = numbered(&contact.name, i, several);
            let geometry = Geometry::Plane {
                node,
                normal,
                offset,
                radius,
            };
            self.builder.contact(name, geometry, law);
        }
        Some(())
    }

    /// Complains where a plane has not as many coordinates as the nodes over it, or as itself.
    fn in_the_space_of(
        &mut self,
        obstacle: &Plane,
        nodes: Option<&[NodeId]>,
        at: &Path,
    ) -> Option<()> {
        let lists = [("normal", &obstacle.normal), ("point", &obstacle.point)];
        let Some(nodes) = nodes else {
            return (lists[0].1.len() == lists[1].1.len()).then_some(());
        };
        for &node in nodes {
            let dimension = self.builder.kind(node).dimension();
            let Some((key, list)) = lists.iter().find(|(_, list)| list.len() != dimension) else {
                continue;
            };
            let entries = suggest::count(list.len(), "entry", "entries");
            let coordinates = suggest::count(dimension, "coordinate", "coordinates");
            let place = at.key(key);
            let diagnostic = Diagnostic::new(format!(
                "{place} has {entries}, but the node \"{}\" has {coordinates}",
                self.builder.name(node)
            ))
            .label(format!("expected {dimension}"))
            .help(match dimension {
                1 => "on a line, plane = { point = [0], normal = [1] }",
                2 => "in the plane, plane = { point = [0, 0], normal = [0, 1] }",
                _ => "in space, plane = { point = [0, 0, 0], normal = [0, 0, 1] }",
            });
            self.findings.at_key(&place, diagnostic);
            return None;
        }
        Some(())
    }

    fn over_surface(
        &mut self,
        contact: &Contact,
        surface: &Words,
        nodes: Option<Vec<NodeId>>,
        radius: Option<f64>,
        law: Option<ContactLaw>,
        at: &Path,
    ) -> Option<()> {
        let mut faces = Vec::new();
        for (word, place) in surface.places(&at.key("surface")) {
            match self.nodes.faces(word) {
                Ok((found, _)) => faces.extend(found.iter().map(outward)),
                Err(mut diagnostic) => {
                    if self.nodes.is_of_line(word) {
                        diagnostic = diagnostic.help("bars and beams have no surface to be touched so far; let their nodes touch the surface of the other part (swap \"at\" and \"surface\"), or model the obstacle as a [[solid]]");
                    }
                    self.no_node(word, &place, diagnostic);
                    return None;
                }
            }
        }
        let nodes = nodes?;
        let dimension = |node: &NodeId| self.builder.kind(*node).dimension();
        let theirs = faces.iter().flatten().next().map_or(0, dimension);
        if let Some(node) = nodes.iter().find(|node| dimension(node) != theirs) {
            let diagnostic = Diagnostic::new(format!(
                "node \"{}\" has {} coordinates, the surface has {theirs}",
                self.builder.name(*node),
                dimension(node)
            ))
            .label("expected nodes in the space of the surface");
            self.findings.at(&at.key("at"), diagnostic);
            return None;
        }
        let corners: HashSet<&NodeId> = faces.iter().flatten().collect();
        if let Some(node) = nodes.iter().find(|node| corners.contains(node)) {
            let diagnostic = Diagnostic::new(format!(
                "node \"{}\" is a corner of the surface that it should touch",
                self.builder.name(*node)
            ))
            .label("expected nodes of another part")
            .help("a body does not touch itself so far; write one contact for each pair of bodies");
            self.findings.at(&at.key("at"), diagnostic);
            return None;
        }
        self.builder.surface(
            &contact.name,
            SurfaceContact {
                nodes,
                faces,
                radius: radius?,
                law: law?,
            },
        );
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

/// The corners of a face as surfaces take them: in the plane their bodies lie to the right.
fn outward(face: &Face) -> Vec<NodeId> {
    let mut corners = face.corners().to_vec();
    if corners.len() == 2 {
        corners.reverse();
    }
    corners
}
