//! Beams in the plane and in space: nodes along their axis, elements between them.

use super::Work;
use super::frames::{Axis, second_axis, triad};
use super::lines::{distance, mass_matrix};
use super::order::End;
use super::sections::Properties;
use crate::build::path;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Beam, Theory};
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{LinearBeam, NodeId, NodeKind, PlaneBeam, SpaceBeam};

impl Work<'_, '_> {
    /// Adds a beam; `None` where something is wrong, which is reported.
    pub(super) fn beam(&mut self, beam: &Beam, at: &Path) -> Option<()> {
        let named = self.part_name(&beam.name, at);
        let from = self.end(&beam.from, &at.key("from"));
        let to = self.end(&beam.to, &at.key("to"));
        let elements = self.count(&beam.elements, &at.key("elements"));
        let properties = self.properties(&beam.section, beam.material.as_deref(), at);
        let (from, to, elements) = (from?, to?, elements?);
        let axis = self.axis(beam, &from, &to, elements, at)?;
        if !named {
            return None;
        }
        let dimension = self.place_of(&from).len();
        let fresh = matches!((&from, &to), (End::New(_), End::New(_)));
        if dimension == 2 {
            let nodes = self.plane_nodes(beam, &from, &to, &axis, at)?;
            self.nodes.line(&beam.name, nodes.clone());
            return self.plane_beam(beam, properties?, &axis, fresh, &nodes, at);
        }
        let towards = match &beam.orientation {
            Some(list) => Some(self.vector(list, &at.key("orientation"))?),
            None => None,
        };
        let seconds: Option<Vec<[f64; 3]>> = axis
            .stations
            .iter()
            .map(|station| second_axis(&station.tangent, towards))
            .collect();
        let Some(seconds) = seconds else {
            let diagnostic = Diagnostic::new("the orientation lies along the beam")
                .label("expected a direction across the beam");
            self.findings.at(&at.key("orientation"), diagnostic);
            return None;
        };
        let nodes = self.space_nodes(beam, &from, &to, &axis, &seconds, at)?;
        self.nodes.line(&beam.name, nodes.clone());
        self.space_beam(beam, properties?, &axis, &seconds, fresh, &nodes, at)
    }

    /// The stress-free axis.
    fn axis(
        &mut self,
        beam: &Beam,
        from: &End,
        to: &End,
        elements: usize,
        at: &Path,
    ) -> Option<Axis> {
        let mut ends = vec![(from.clone(), at.key("from"))];
        let extra: &[Vec<_>] = match (&beam.via, &beam.arc) {
            (Some(_), Some(_)) => {
                let diagnostic = Diagnostic::new("a beam has corners or is an arc, not both")
                    .label("\"via\" is given too");
                self.findings.at(&at.key("arc"), diagnostic);
                return None;
            }
            (Some(via), None) => via,
            (None, Some(arc)) => std::slice::from_ref(arc),
            (None, None) => &[],
        };
        for (k, point) in extra.iter().enumerate() {
            let place = match beam.arc {
                Some(_) => at.key("arc"),
                None => at.key("via").index(k),
            };
            ends.push((End::New(self.numbers(point, &place)?), place));
        }
        ends.push((to.clone(), at.key("to")));
        let places = self.places(&ends)?;
        let dimension = places.first().map_or(0, Vec::len);
        if dimension < 2 {
            self.wrong_count(&at.key("from"), dimension, "2 or 3");
            return None;
        }
        let pad = |place: &Vec<f64>| {
            let mut padded = [0.0; 3];
            padded[..dimension].copy_from_slice(place);
            padded
        };
        let points: Vec<[f64; 3]> = places.iter().map(pad).collect();
        if points.windows(2).any(|w| distance(&w[0], &w[1]) <= 0.0) {
            self.no_length(&beam.name, 0.0, at);
            return None;
        }
        if beam.arc.is_some() {
            let axis = Axis::circle(points[0], points[1], points[2], elements);
            if axis.is_none() {
                let diagnostic =
                    Diagnostic::new("no circle passes through the ends and this point")
                        .label("lies on the line through the ends")
                        .help("remove arc: the beam is straight");
                self.findings.at(&at.key("arc"), diagnostic);
            }
            return axis;
        }
        let axis = Axis::legs(&points, elements);
        if axis.is_none() {
            let diagnostic = Diagnostic::new(format!(
                "\"{}\" has {elements} elements on {} legs",
                beam.name,
                points.len() - 1
            ))
            .label("expected at least one element per leg");
            self.findings.at(&at.key("elements"), diagnostic);
        }
        axis
    }

    /// Adds the nodes of an axis, or takes the ones that it is joined to.
    fn along(
        &mut self,
        beam: &Beam,
        ends: [&End; 2],
        kind: NodeKind,
        positions: &[Vec<f64>],
        at: &Path,
    ) -> Option<Vec<NodeId>> {
        let last = positions.len() - 1;
        let mut nodes = Vec::with_capacity(positions.len());
        for (i, position) in positions.iter().enumerate() {
            let end = match i {
                0 => Some(ends[0]),
                i if i == last => Some(ends[1]),
                _ => None,
            };
            if let Some(End::Joined(node)) = end {
                nodes.push(*node);
                continue;
            }
            let node = self
                .builder
                .node(kind, format!("{}.{i}", beam.name), position);
            nodes.push(self.accept(at, node)?);
        }
        Some(nodes)
    }

    fn plane_nodes(
        &mut self,
        beam: &Beam,
        from: &End,
        to: &End,
        axis: &Axis,
        at: &Path,
    ) -> Option<Vec<NodeId>> {
        // Angles go on from node to node: they are never wrapped.
        let mut previous: Option<f64> = None;
        let positions: Vec<Vec<f64>> = axis
            .stations
            .iter()
            .map(|station| {
                let [x, y, _] = station.tangent;
                let mut angle = y.atan2(x);
                if let Some(previous) = previous {
                    let turns = ((previous - angle) / std::f64::consts::TAU).round();
                    angle += turns * std::f64::consts::TAU;
                }
                previous = Some(angle);
                vec![station.place[0], station.place[1], angle]
            })
            .collect();
        self.along(beam, [from, to], NodeKind::PlaneFrame, &positions, at)
    }

    fn space_nodes(
        &mut self,
        beam: &Beam,
        from: &End,
        to: &End,
        axis: &Axis,
        seconds: &[[f64; 3]],
        at: &Path,
    ) -> Option<Vec<NodeId>> {
        let positions: Vec<Vec<f64>> = axis
            .stations
            .iter()
            .zip(seconds)
            .map(|(station, second)| {
                let mut position = station.place.to_vec();
                position.extend(triad(&station.tangent, second));
                position
            })
            .collect();
        self.along(beam, [from, to], NodeKind::SpaceFrame, &positions, at)
    }

    /// Positions of the nodes of an element, one after the other.
    fn reference<const N: usize>(&self, nodes: &[NodeId]) -> [f64; N] {
        let mut reference = [0.0; N];
        let both = nodes.iter().flat_map(|&node| self.builder.position(node));
        for (to, x) in reference.iter_mut().zip(both) {
            *to = *x;
        }
        reference
    }

    /// Says what a beam needs and its section does not have; `None` if so.
    fn needs(&mut self, what: &str, value: f64, beam: &Beam, at: &Path) -> Option<()> {
        if !value.is_nan() {
            return Some(());
        }
        let diagnostic = Diagnostic::new(format!(
            "the section \"{}\" gives no {what}, which \"{}\" needs",
            beam.section, beam.name
        ))
        .label(format!("has no {what}"))
        .help("give the material a poisson, the section an inertia, or its stiffness the missing entry");
        self.findings.at(&at.key("section"), diagnostic);
        None
    }

    /// Complains about a shear stiffness, which slender beams do not have; `None` if so.
    fn no_shear(&mut self, beam: &Beam) -> Option<()> {
        let section = self.document.sections.get(&beam.section)?;
        let stiffness = section.stiffness.as_ref();
        let place = path(["sections", &beam.section]);
        let place = match (&section.shear, stiffness.and_then(|s| s.shear.as_ref())) {
            (Some(_), _) => place.key("shear"),
            (None, Some(_)) => place.key("stiffness").key("shear"),
            (None, None) => return Some(()),
        };
        let diagnostic = Diagnostic::new(format!(
            "\"{}\" has the theory \"euler-bernoulli\", which knows no shear, and its section \"{}\" a shear stiffness",
            beam.name, beam.section
        ))
        .label("is not used")
        .help("remove it, or choose theory = \"exact\"");
        self.findings.at_key(&place, diagnostic);
        None
    }

    fn plane_beam(
        &mut self,
        beam: &Beam,
        properties: Properties,
        axis: &Axis,
        fresh: bool,
        nodes: &[NodeId],
        at: &Path,
    ) -> Option<()> {
        let section = properties.plane();
        let (mass, damping) = (mass_matrix(beam.mass), properties.damping);
        let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
        self.needs("bending stiffness", section.ei, beam, at)?;
        // Elements of one shape share one object.
        let shared = fresh && (axis.straight || axis.arc);
        let count = if shared { 1 } else { nodes.len() - 1 };
        let ends: Vec<[f64; 6]> = nodes
            .windows(2)
            .take(count)
            .map(|pair| self.reference(pair))
            .collect();
        if beam.theory == Theory::EulerBernoulli {
            self.no_shear(beam)?;
            let rotary_inertia = properties.given_rotary_inertia.unwrap_or(0.0);
            self.nodes.make_cubic(&beam.name);
            // Its reference may be any, so that an arc is one of chords.
            let all: Vec<[f64; 6]> = if axis.arc {
                nodes.windows(2).map(|pair| self.reference(pair)).collect()
            } else {
                ends
            };
            let (ea, ei, rho_a) = (properties.ea(), properties.ei(), properties.rho_a());
            let elements: Result<Vec<LinearBeam>, _> = all
                .iter()
                .map(|reference| {
                    LinearBeam::new(ea, ei, rho_a, reference)?.with_rotary_inertia(rotary_inertia)
                })
                .collect();
            let elements = self.accept(at, elements)?;
            // A linear element depends on its reference position, not only on its shape.
            let elements = if elements.len() == 1 && nodes.len() > 2 {
                let all = nodes.windows(2).map(|pair| self.reference(pair));
                let all: Result<Vec<LinearBeam>, _> = all
                    .map(|r: [f64; 6]| {
                        LinearBeam::new(ea, ei, rho_a, &r)?.with_rotary_inertia(rotary_inertia)
                    })
                    .collect();
                self.accept(at, all)?
            } else {
                elements
            };
            let mut elements: Vec<LinearBeam> = elements
                .into_iter()
                .map(|e| e.with_mass(mass).with_damping(damping))
                .collect();
            if axis.arc {
                for (element, ends) in elements.iter_mut().zip(axis.stations.windows(2)) {
                    let tangents = [&ends[0], &ends[1]].map(|s| [s.tangent[0], s.tangent[1]]);
                    *element = element.with_tangents(tangents);
                }
            }
            let added = self.builder.elements(&beam.name, elements, &pairs);
            return self.accept(at, added);
        }
        self.needs("shear stiffness", section.ga, beam, at)?;
        let elements: Result<Vec<PlaneBeam>, _> = ends
            .iter()
            .map(|reference| {
                if axis.arc && fresh {
                    PlaneBeam::stress_free(section, reference)
                } else if shared {
                    PlaneBeam::straight(section, distance(&reference[..2], &reference[3..5]))
                } else {
                    PlaneBeam::between(section, reference)
                }
            })
            .map(|element| element.map(|e| e.with_mass(mass).with_damping(damping)))
            .collect();
        let elements = self.accept(at, elements)?;
        let added = self.builder.elements(&beam.name, elements, &pairs);
        self.accept(at, added)
    }

    #[allow(clippy::too_many_arguments)]
    fn space_beam(
        &mut self,
        beam: &Beam,
        properties: Properties,
        axis: &Axis,
        seconds: &[[f64; 3]],
        fresh: bool,
        nodes: &[NodeId],
        at: &Path,
    ) -> Option<()> {
        if beam.theory == Theory::EulerBernoulli {
            let diagnostic =
                Diagnostic::new("the theory \"euler-bernoulli\" is there in the plane only")
                    .label("expected \"exact\" in space");
            self.findings.at(&at.key("theory"), diagnostic);
            return None;
        }
        let section = properties.space();
        self.needs("bending stiffness", section.ei[0] + section.ei[1], beam, at)?;
        self.needs("shear stiffness", section.ga[0] + section.ga[1], beam, at)?;
        self.needs("torsional stiffness", section.gj, beam, at)?;
        let (mass, damping) = (mass_matrix(beam.mass), properties.damping);
        let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
        let shared = fresh && axis.straight;
        let count = if shared { 1 } else { nodes.len() - 1 };
        let elements: Result<Vec<SpaceBeam>, _> = nodes
            .windows(2)
            .take(count)
            .enumerate()
            .map(|(i, pair)| {
                let reference: [f64; 14] = self.reference(pair);
                if shared {
                    SpaceBeam::straight(section, distance(&reference[..3], &reference[7..10]))
                } else if axis.arc && fresh {
                    SpaceBeam::stress_free(section, &reference)
                } else {
                    SpaceBeam::between(section, &reference, seconds[i])
                }
            })
            .map(|element| element.map(|e| e.with_mass(mass).with_damping(damping)))
            .collect();
        let elements = self.accept(at, elements)?;
        let added = self.builder.elements(&beam.name, elements, &pairs);
        self.accept(at, added)
    }
}
