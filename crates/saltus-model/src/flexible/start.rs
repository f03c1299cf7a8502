//! Where flexible parts start.

use super::{Flexible, nodes::Nodes};
use crate::build::{self, path};
use crate::definition::Scope;
use crate::findings::Findings;
use indexmap::IndexMap;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::parts::{Numbers, Start};
use saltus_document::document::{Document, Quantity};
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::{Assembly, NodeId, NodeKind};
use saltus_mechanics::rotation::{compose, cross, exp, rotate, rotate_back};
use saltus_mechanics::statics;
use saltus_system::{State, System};

/// The state that the document asks for at time `t`; what was found on the way goes to `notes`.
pub(crate) fn initial(
    flexible: &Flexible,
    document: &Document,
    scope: &Scope,
    t: f64,
    findings: &mut Findings<'_>,
) -> State {
    let assembly = &flexible.assembly;
    let mut state = assembly.reference_state(t);
    let mut read = Reading { scope, findings };
    for (name, start) in &document.initial.parts {
        let at = path(["initial", "parts", name]);
        let _ = read.part(start, name, &flexible.nodes, assembly, &mut state, &at);
    }
    let names = assembly.names();
    read.coordinates(&document.initial.q, "q", &names.positions, &mut state.q);
    read.coordinates(&document.initial.v, "v", &names.velocities, &mut state.v);
    state
}

/// Moves `state` to the static equilibrium near it; says what was done.
pub(crate) fn equilibrium(
    assembly: &Assembly,
    state: &mut State,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let options = statics::Options {
        rotations: assembly.rotations(),
        ..statics::Options::default()
    };
    let velocity = std::mem::take(&mut state.v);
    state.v = vec![0.0; velocity.len()];
    let outcome = statics::equilibrium(assembly, state, &options);
    state.v = velocity;
    match outcome {
        Ok(found) => Some(format!(
            "the motion starts from static equilibrium, found in {} iterations{}",
            found.iterations,
            match found.load_steps {
                1 => String::new(),
                n => format!(" and {n} steps of the load, which did not lead there at once"),
            }
        )),
        Err(error) => {
            let diagnostic = Diagnostic::new(error.to_string()).label("asks for equilibrium");
            findings.at(&path(["initial", "equilibrium"]), diagnostic);
            None
        }
    }
}

/// A rigid motion of nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Rigid {
    velocity: [f64; 3],
    spin: [f64; 3],
    about: [f64; 3],
    offset: [f64; 3],
    rotation: [f64; 3],
}

struct Reading<'a, 'f> {
    scope: &'a Scope,
    findings: &'a mut Findings<'f>,
}

impl Reading<'_, '_> {
    fn number(&mut self, quantity: &Quantity, at: &Path) -> Option<f64> {
        let formula = build::formula(quantity, at);
        crate::evaluate::evaluate(
            &formula,
            self.scope,
            |_| true,
            "a finite number",
            self.findings,
        )
    }

    fn list(
        &mut self,
        list: Option<&Vec<Quantity>>,
        dimension: usize,
        at: &Path,
    ) -> Option<[f64; 3]> {
        let mut vector = [0.0; 3];
        let Some(list) = list else {
            return Some(vector);
        };
        if list.len() != dimension {
            self.count(at, list.len(), dimension);
            return None;
        }
        for (k, quantity) in list.iter().enumerate() {
            vector[k] = self.number(quantity, &at.index(k))?;
        }
        Some(vector)
    }

    /// A rotation: about z in the plane, a vector in space.
    fn turn(&mut self, numbers: Option<&Numbers>, dimension: usize, at: &Path) -> Option<[f64; 3]> {
        match numbers {
            None => Some([0.0; 3]),
            Some(Numbers::One(one)) if dimension == 2 => Some([0.0, 0.0, self.number(one, at)?]),
            Some(Numbers::Several(list)) if dimension == 3 => self.list(Some(list), 3, at),
            Some(other) => {
                let expected = if dimension == 3 { 3 } else { 1 };
                self.count(at, other.as_slice().len(), expected);
                None
            }
        }
    }

    fn count(&mut self, at: &Path, count: usize, expected: usize) {
        let entries = suggest::count(count, "entry", "entries");
        let diagnostic = Diagnostic::new(format!("{at} has {entries}, expected {expected}"))
            .label(format!("expected {expected}, as the part has coordinates"));
        self.findings.at(at, diagnostic);
    }

    fn part(
        &mut self,
        start: &Start,
        name: &str,
        nodes: &Nodes,
        assembly: &Assembly,
        state: &mut State,
        at: &Path,
    ) -> Option<()> {
        let nodes = match nodes.find(name) {
            Ok(nodes) => nodes,
            Err(diagnostic) => {
                self.findings.at_key(at, diagnostic);
                return None;
            }
        };
        let dimension = assembly.kind(*nodes.first()?).dimension();
        let rigid = Rigid {
            velocity: self.list(start.velocity.as_ref(), dimension, &at.key("velocity"))?,
            spin: self.turn(start.spin.as_ref(), dimension, &at.key("spin"))?,
            about: self.list(start.about.as_ref(), dimension, &at.key("about"))?,
            offset: self.list(start.offset.as_ref(), dimension, &at.key("offset"))?,
            rotation: self.turn(start.rotation.as_ref(), dimension, &at.key("rotation"))?,
        };
        for node in nodes {
            rigid.apply(assembly, node, state);
        }
        Some(())
    }

    /// Coordinates by name.
    fn coordinates(
        &mut self,
        values: &IndexMap<String, Quantity>,
        key: &str,
        names: &[String],
        state: &mut [f64],
    ) {
        for (name, quantity) in values {
            let place = path(["initial", key]).key(name);
            let value = self.number(quantity, &place);
            match names.iter().position(|known| known == name) {
                Some(k) => state[k] = value.unwrap_or(0.0),
                None => {
                    let known = || names.iter().map(String::as_str);
                    let message = format!(
                        "unknown coordinate \"{name}\"{}",
                        suggest::did_you_mean(name, known())
                    );
                    let diagnostic = Diagnostic::new(message)
                        .label(format!("not a free coordinate, in initial.{key}"))
                        .help("coordinates are called NODE.COMPONENT, such as \"beam.3.x\"; held ones are none");
                    self.findings.at_key(&place, diagnostic);
                }
            }
        }
    }
}

impl Rigid {
    /// Displaces a node from its stress-free position and gives it its velocity.
    fn apply(&self, assembly: &Assembly, node: NodeId, state: &mut State) {
        let kind = assembly.kind(node);
        let reference = assembly.reference_position(node).to_vec();
        let dimension = kind.dimension();
        let mut arm = [0.0; 3];
        for c in 0..dimension {
            arm[c] = reference[c] - self.about[c];
        }
        let turn = exp(&self.rotation);
        let arm = rotate(&turn, &arm);
        let swing = cross(&self.spin, &arm);
        let mut position = reference.clone();
        let mut velocity = vec![0.0; kind.velocities()];
        for c in 0..dimension {
            position[c] = self.about[c] + arm[c] + self.offset[c];
            velocity[c] = self.velocity[c] + swing[c];
        }
        match kind {
            NodeKind::PlaneFrame => {
                position[2] += self.rotation[2];
                velocity[2] = self.spin[2];
            }
            NodeKind::SpaceFrame => {
                let own = [reference[3], reference[4], reference[5], reference[6]];
                let triad = compose(&turn, &own);
                position[3..].copy_from_slice(&triad);
                velocity[3..].copy_from_slice(&rotate_back(&triad, &self.spin));
            }
            _ => {}
        }
        for (c, x) in position.iter().enumerate() {
            if let Some(place) = assembly.position_place(node, c) {
                state.q[place] = *x;
            }
        }
        for (c, v) in velocity.iter().enumerate() {
            if let Some(place) = assembly.velocity_place(node, c) {
                state.v[place] = *v;
            }
        }
    }
}
