//! Loads: forces and moments on nodes, tractions and pressures on faces, forces per length along bars and beams.

use super::Work;
use super::lines::distance;
use super::signal::LOAD;
use crate::build::{self, path};
use crate::definition::Formula;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::Quantity;
use saltus_document::document::parts::{Load, Numbers};
use saltus_document::tree::Path;
use saltus_mechanics::flexible::loads::face_shares;
use saltus_mechanics::flexible::pressure::weighted_normals;
use saltus_mechanics::flexible::{
    LineLoad, LineShare, LoadKind, NodeId, NodeKind, PressedFace, Pressure,
};
use std::collections::BTreeMap;

impl Work<'_, '_> {
    pub(super) fn loads(&mut self) {
        for (k, load) in self.document.load.iter().enumerate() {
            let at = path(["load"]).index(k);
            if load.force.is_none()
                && load.moment.is_none()
                && load.traction.is_none()
                && load.pressure.is_none()
                && load.line_force.is_none()
            {
                let diagnostic = Diagnostic::new(format!(
                    "missing key \"force\", \"moment\", \"traction\", \"pressure\" or \"line_force\" in {at}"
                ))
                .label("nothing acts");
                self.findings.at(&at, diagnostic);
            }
            if load.follower.is_some() && load.moment.is_none() && load.pressure.is_none() {
                let diagnostic = Diagnostic::new(format!(
                    "{at} has \"follower\", but neither a moment nor a pressure"
                ))
                .label("nothing follows")
                .help("forces, tractions and line forces keep their direction in space; remove it");
                self.findings.at_key(&at.key("follower"), diagnostic);
            }
            if let Some(pressure) = &load.pressure {
                let _ = self.pressure(load, pressure, &at);
            }
            if let Some(traction) = &load.traction {
                let _ = self.traction(load, traction, &at);
            }
            if let Some(line_force) = &load.line_force {
                let _ = self.line_force(load, line_force, &at);
            }
            if load.force.is_none() && load.moment.is_none() {
                continue;
            }
            let Some(nodes) = self.nodes_at(&load.at, &at.key("at")) else {
                continue;
            };
            let word = load.at.as_slice().join("+");
            for node in nodes {
                if load.force.is_some() {
                    self.acts("force", (&at, &word), &[node]);
                }
                if load.moment.is_some() {
                    self.acts("moment", (&at, &word), &[node]);
                }
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
            } else if load.follower == Some(true) {
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

    /// A traction on the faces of solids: each node has its share of the faces that it is a corner of.
    fn traction(&mut self, load: &Load, traction: &[Quantity], at: &Path) -> Option<()> {
        let mut shares: BTreeMap<NodeId, f64> = BTreeMap::new();
        for (word, place) in load.at.places(&at.key("at")) {
            let (faces, thickness) = match self.nodes.faces(word) {
                Ok((faces, thickness)) => (faces.to_vec(), thickness),
                Err(diagnostic) => {
                    self.no_node(word, &place, diagnostic);
                    return None;
                }
            };
            for face in faces {
                if !self.acts("traction", (at, word), face.corners()) {
                    continue;
                }
                let corners: Vec<[f64; 3]> = face
                    .corners()
                    .iter()
                    .map(|&node| self.point(node))
                    .collect();
                for (&node, share) in face.corners().iter().zip(face_shares(&corners)) {
                    *shares.entry(node).or_default() += thickness * share;
                }
            }
        }
        let place = at.key("traction");
        for (node, share) in shares {
            self.push_vector(node, share, traction, &place)?;
        }
        Some(())
    }

    /// A pressure on the faces of solids, or across bars and beams in the plane: following them as they deform, or as they are without
    /// stress.
    fn pressure(&mut self, load: &Load, pressure: &Quantity, at: &Path) -> Option<()> {
        let place = at.key("pressure");
        let mut following = Vec::new();
        // Force of the pressure 1 on each node of a line or of a solid; in the plane the third is a moment.
        let mut shares: BTreeMap<(NodeId, bool), [f64; 3]> = BTreeMap::new();
        for (word, inside) in load.at.places(&at.key("at")) {
            let mut faces = self.pressed(word, &inside)?;
            faces.retain(|face| self.acts("pressure", (at, word), &face.corners));
            let linear = self.nodes.is_linear(word);
            if linear && load.follower == Some(true) {
                let diagnostic = Diagnostic::new(format!(
                    "\"{word}\" is for small displacements: it has no deformed faces that a pressure could follow"
                ))
                .label("cannot follow")
                .help("remove it: the pressure acts on the stress-free faces; or choose a law or theory for large ones");
                self.findings.at_key(&at.key("follower"), diagnostic);
                return None;
            }
            if load.follower.unwrap_or(!linear) {
                following.extend(faces);
                continue;
            }
            let line = self.nodes.is_of_line(word);
            let mut along = Vec::new();
            for face in faces {
                let corners: Vec<[f64; 3]> = face.corners.iter().map(|&n| self.point(n)).collect();
                let mut forces =
                    weighted_normals(&corners).map(|normal| normal.map(|n| -face.thickness * n));
                if line && linear {
                    let moment = distance(&corners[0], &corners[1]).powi(2) / 12.0;
                    forces[0][2] += moment;
                    forces[1][2] -= moment;
                }
                for (node, force) in face.corners.iter().zip(forces) {
                    let share = shares.entry((*node, line)).or_default();
                    *share = std::array::from_fn(|c| share[c] + force[c]);
                }
                if let ([a, b], true) = (&face.corners[..], line) {
                    along.push(LineShare {
                        nodes: [*a, *b],
                        force: [forces[0], forces[1]],
                    });
                }
            }
            let formula = build::formula(pressure, &place);
            self.line_load(word, along, formula)?;
        }
        let formula = build::formula(pressure, &place);
        for ((node, line), share) in shares {
            for (c, weight) in share.into_iter().enumerate() {
                if weight != 0.0 {
                    let terms = [(weight, formula.clone())];
                    self.push_terms(node, LoadKind::Component(c), &terms, line)?;
                }
            }
        }
        if !following.is_empty() {
            let amplitude = self.signal(&[(1.0, formula)], LOAD)?;
            let pressure = Pressure {
                faces: following,
                amplitude,
            };
            let added = self.builder.pressure(pressure);
            self.accept(&place, added)?;
        }
        Some(())
    }

    /// What a pressure may act on: faces of a solid, or the elements of a bar or beam in the plane.
    fn pressed(&mut self, word: &str, at: &Path) -> Option<Vec<PressedFace>> {
        if self.nodes.is_of_line(word) {
            let nodes = match self.nodes.along(word) {
                Ok((nodes, _)) => nodes,
                Err(diagnostic) => {
                    self.findings.at(at, diagnostic);
                    return None;
                }
            };
            if self.builder.kind(nodes[0]).dimension() != 2 {
                let diagnostic = Diagnostic::new(format!(
                    "\"{word}\" has no side that a pressure could act on"
                ))
                .label("expected faces of a solid, or a bar or beam in the plane")
                .help("line_force is a force per length in a fixed direction");
                self.findings.at(at, diagnostic);
                return None;
            }
            let edge = |ends: &[NodeId]| PressedFace {
                corners: ends.to_vec(),
                thickness: 1.0,
            };
            return Some(nodes.windows(2).map(edge).collect());
        }
        match self.nodes.faces(word) {
            Ok((faces, thickness)) => {
                let pressed = faces.iter().map(|face| PressedFace {
                    corners: face.corners().to_vec(),
                    thickness,
                });
                Some(pressed.collect())
            }
            Err(diagnostic) => {
                self.no_node(word, at, diagnostic);
                None
            }
        }
    }

    /// A force along bars and beams: half of that on an element to either end, and on linear beams the moments that
    /// their cubic shapes make of it.
    fn line_force(&mut self, load: &Load, force: &[Quantity], at: &Path) -> Option<()> {
        let place = at.key("line_force");
        for (word, inside) in load.at.places(&at.key("at")) {
            let (nodes, cubic) = match self.nodes.along(word) {
                Ok((nodes, cubic)) => (nodes.to_vec(), cubic),
                Err(diagnostic) => {
                    self.findings.at(&inside, diagnostic);
                    return None;
                }
            };
            let dimension = self.builder.kind(nodes[0]).dimension();
            if force.len() != dimension {
                self.wrong_count(&place, force.len(), &dimension.to_string());
                return None;
            }
            // What a force of the size 1 in each direction does to the elements, and to the nodes.
            let mut along = vec![Vec::new(); dimension];
            let mut shares = vec![[[0.0; 3]; 3]; nodes.len()];
            for (k, ends) in nodes.windows(2).enumerate() {
                if !self.acts("line force", (at, word), ends) {
                    continue;
                }
                let (a, b) = (self.point(ends[0]), self.point(ends[1]));
                let length = distance(&a, &b);
                for (c, along) in along.iter_mut().enumerate() {
                    let mut both = [[0.0; 3]; 2];
                    for (end, sign) in both.iter_mut().zip([1.0, -1.0]) {
                        end[c] = 0.5 * length;
                        // q L²/12 with q across the element and L (a − b) its direction.
                        if cubic && c == 0 {
                            end[2] = -sign * (b[1] - a[1]) * length / 12.0;
                        } else if cubic {
                            end[2] = sign * (b[0] - a[0]) * length / 12.0;
                        }
                    }
                    for (node, own) in [k, k + 1].into_iter().zip(&both) {
                        for (sum, x) in shares[node][c].iter_mut().zip(own) {
                            *sum += x;
                        }
                    }
                    along.push(LineShare {
                        nodes: [ends[0], ends[1]],
                        force: both,
                    });
                }
            }
            let formulas = force.iter().enumerate();
            let formulas: Vec<Formula> = formulas
                .map(|(c, quantity)| build::formula(quantity, &place.index(c)))
                .collect();
            for (&node, shares) in nodes.iter().zip(&shares) {
                for component in 0..3 {
                    let terms: Vec<(f64, Formula)> = (formulas.iter().zip(shares))
                        .map(|(formula, share)| (share[component], formula.clone()))
                        .filter(|(weight, _)| *weight != 0.0)
                        .collect();
                    if !terms.is_empty() {
                        self.push_terms(node, LoadKind::Component(component), &terms, true)?;
                    }
                }
            }
            for (along, formula) in along.into_iter().zip(formulas) {
                self.line_load(word, along, formula)?;
            }
        }
        Some(())
    }

    /// Tells the elements of the part `word` of a load along them.
    fn line_load(&mut self, word: &str, shares: Vec<LineShare>, formula: Formula) -> Option<()> {
        let amplitude = self.signal(&[(1.0, formula)], LOAD)?;
        let is_none = amplitude.is_constant() && amplitude.value(0.0) == 0.0;
        if !shares.is_empty() && !is_none {
            self.builder.line_load(LineLoad {
                part: word.to_owned(),
                amplitude,
                shares,
            });
        }
        Some(())
    }

    /// Stress-free place of a node in space.
    fn point(&self, node: NodeId) -> [f64; 3] {
        let dimension = self.builder.kind(node).dimension();
        let mut point = [0.0; 3];
        point[..dimension].copy_from_slice(&self.builder.position(node)[..dimension]);
        point
    }

    /// `weight` times a force of formulas on a node.
    fn push_vector(
        &mut self,
        node: NodeId,
        weight: f64,
        force: &[Quantity],
        at: &Path,
    ) -> Option<()> {
        let dimension = self.builder.kind(node).dimension();
        if force.len() != dimension {
            self.wrong_count(at, force.len(), &dimension.to_string());
            return None;
        }
        for (c, quantity) in force.iter().enumerate() {
            let formula = build::formula(quantity, &at.index(c));
            self.push_terms(node, LoadKind::Component(c), &[(weight, formula)], false)?;
        }
        Some(())
    }

    /// Adds a load unless it is zero at all times.
    fn push(&mut self, node: NodeId, kind: LoadKind, quantity: &Quantity, at: &Path) -> Option<()> {
        let component = match kind {
            LoadKind::Component(c) => c,
            LoadKind::SpatialMoment(_) => 3,
        };
        let zero = matches!(quantity, Quantity::Number(x) if *x == 0.0);
        if !zero && self.builder.is_held(node, component) && self.held_load.is_none() {
            let name = self.builder.name(node).to_owned();
            self.notes.push(format!(
                "{at} acts on {name} in a direction that is held there: the support bears all of it"
            ));
            self.held_load = Some(name);
        }
        self.push_terms(node, kind, &[(1.0, build::formula(quantity, at))], false)
    }

    /// Adds a sum of weighted formulas unless it is zero at all times; `shared` ones belong to loads along elements.
    fn push_terms(
        &mut self,
        node: NodeId,
        kind: LoadKind,
        terms: &[(f64, Formula)],
        shared: bool,
    ) -> Option<()> {
        let amplitude = self.signal(terms, LOAD)?;
        if amplitude.is_constant() && amplitude.value(0.0) == 0.0 {
            return Some(());
        }
        let load = saltus_mechanics::flexible::Load {
            node,
            kind,
            amplitude,
        };
        if shared {
            self.builder.load_share(load);
        } else {
            self.builder.load(load);
        }
        Some(())
    }
}
