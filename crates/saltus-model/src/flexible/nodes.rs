//! Nodes and faces by name: `beam`, `beam.start`, `beam.12`, `block.left`.

use indexmap::IndexMap;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::suggest;
use saltus_mechanics::flexible::NodeId;

/// The nodes of every part, and their sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    parts: IndexMap<String, Part>,
    /// Parts that are in the document but could not be made, which was reported.
    broken: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct Part {
    /// All nodes in their order.
    all: Vec<NodeId>,
    /// Whether the first and last node are ends with names.
    ends: bool,
    /// Whether its elements are beams with cubic shapes.
    cubic: bool,
    /// Thickness of a solid in the plane \[m\]; 1 in space.
    thickness: f64,
    /// Whether a solid is for small displacements only.
    linear: bool,
    /// Sets of nodes by name.
    sets: IndexMap<String, Set>,
}

/// Some nodes of a part, and the faces of its surface among them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Set {
    pub nodes: Vec<NodeId>,
    pub faces: Vec<Face>,
}

/// A face of the surface of a solid: an edge in the plane, a triangle or quadrilateral in space.
///
/// The body lies to the left of an edge; the normal of a face in space by the right-hand rule points out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Face {
    corners: [NodeId; 4],
    count: usize,
}

impl Face {
    /// A face of up to four corners.
    pub fn new(corners: &[NodeId]) -> Self {
        let first = corners.first().copied().unwrap_or(NodeId(0));
        Self {
            corners: std::array::from_fn(|i| corners.get(i).copied().unwrap_or(first)),
            count: corners.len().min(4),
        }
    }

    pub fn corners(&self) -> &[NodeId] {
        &self.corners[..self.count]
    }
}

/// The set of all nodes on the surface of a solid.
pub(super) const SURFACE: &str = "surface";

impl Nodes {
    /// Whether a part of that name is there.
    pub fn knows(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// Notes that a part is there but could not be made.
    pub fn cannot_make(&mut self, name: &str) {
        self.broken.push(name.to_owned());
    }

    /// Whether `reference` is about a part that could not be made: what follows from that is not worth saying.
    pub fn is_broken(&self, reference: &str) -> bool {
        let name = reference.split('.').next().unwrap_or_default();
        !self.knows(name) && self.broken.iter().any(|broken| broken == name)
    }

    /// Whether some part could not be made.
    pub fn any_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Whether a text has the form of a reference to a node, which no formula of parameters has.
    pub fn is_like(&self, text: &str) -> bool {
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let Some((name, inside)) = text.split_once('.') else {
            return false;
        };
        let word = |word: &str| !word.is_empty() && word.chars().all(fits);
        let begins = name.chars().next().is_some_and(char::is_alphabetic);
        begins && name != "v" && word(name) && word(inside)
    }

    /// Whether `reference` is about a bar or a beam.
    pub fn is_of_line(&self, reference: &str) -> bool {
        let name = reference.split('.').next().unwrap_or_default();
        self.parts.get(name).is_some_and(|part| part.ends)
    }

    /// Adds a part whose nodes run from its start to its end.
    pub fn line(&mut self, name: &str, all: Vec<NodeId>) {
        let part = Part {
            all,
            ends: true,
            ..Part::default()
        };
        self.parts.insert(name.to_owned(), part);
    }

    /// Adds a part of one node.
    pub fn point(&mut self, name: &str, node: NodeId) {
        let part = Part {
            all: vec![node],
            ..Part::default()
        };
        self.parts.insert(name.to_owned(), part);
    }

    /// Says that the elements of a line are beams with cubic shapes.
    pub fn make_cubic(&mut self, name: &str) {
        if let Some(part) = self.parts.get_mut(name) {
            part.cubic = true;
        }
    }

    /// Adds a solid with its sets of nodes and faces; `thickness` \[m\] is 1 in space, `linear` one for small displacements.
    pub fn body(
        &mut self,
        name: &str,
        all: Vec<NodeId>,
        sets: IndexMap<String, Set>,
        thickness: f64,
        linear: bool,
    ) {
        let part = Part {
            all,
            sets,
            thickness,
            linear,
            ..Part::default()
        };
        self.parts.insert(name.to_owned(), part);
    }

    /// First and last nodes of parts that have ends, and parts of one node.
    pub fn ends(&self) -> Vec<NodeId> {
        let ends = |part: &Part| match part.all.as_slice() {
            [one] => vec![*one],
            [first, .., last] if part.ends => vec![*first, *last],
            _ => Vec::new(),
        };
        self.parts.values().flat_map(ends).collect()
    }

    /// All nodes that `reference` stands for, at least one.
    ///
    /// # Errors
    /// What is wrong with it, and what there is.
    pub fn find(&self, reference: &str) -> Result<Vec<NodeId>, Diagnostic> {
        if let Some(part) = self.parts.get(reference) {
            return Ok(part.all.clone());
        }
        let Some((part, inside)) = reference
            .split_once('.')
            .and_then(|(name, inside)| Some((self.parts.get(name)?, inside)))
        else {
            return Err(self.unknown(reference));
        };
        let found = match inside {
            "start" if part.ends => part.all.first().map(|&node| vec![node]),
            "end" if part.ends => part.all.last().map(|&node| vec![node]),
            set => match part.sets.get(set) {
                Some(set) => Some(set.nodes.clone()),
                None => set
                    .parse::<usize>()
                    .ok()
                    .and_then(|k| part.all.get(k))
                    .map(|&node| vec![node]),
            },
        };
        found.ok_or_else(|| {
            let name = reference.split('.').next().unwrap_or_default();
            let ends: &[&str] = if part.ends { &["start", "end"] } else { &[] };
            let known = part.sets.keys().map(String::as_str);
            let meant = suggest::nearest(inside, ends.iter().copied().chain(known));
            let meant = meant.map_or_else(String::new, |set| {
                format!(", did you mean \"{name}.{set}\"?")
            });
            Diagnostic::new(format!("\"{reference}\" is no node{meant}"))
                .label("not a node")
                .help(format!("there is {}", part.describe(name)))
        })
    }

    /// The one node that `reference` stands for.
    ///
    /// # Errors
    /// As [`find`](Self::find), and where it stands for several.
    pub fn one(&self, reference: &str) -> Result<NodeId, Diagnostic> {
        match self.find(reference)?.as_slice() {
            [node] => Ok(*node),
            several => Err(Diagnostic::new(format!(
                "\"{reference}\" stands for {} nodes, expected one",
                several.len()
            ))
            .label("expected one node")
            .help(format!(
                "choose one, such as \"{reference}.0\" or an end, \"{reference}.end\""
            ))),
        }
    }

    /// The nodes of a bar or beam in their order, and whether its shapes are cubic.
    ///
    /// # Errors
    /// Where `reference` is something else.
    pub fn along(&self, reference: &str) -> Result<(&[NodeId], bool), Diagnostic> {
        match self.parts.get(reference) {
            Some(part) if part.ends => Ok((&part.all, part.cubic)),
            Some(_) => Err(Diagnostic::new(format!(
                "\"{reference}\" is no bar or beam: it has no length that a force could be spread over"
            ))
            .label("expected a bar or a beam")
            .help("a traction acts on the faces of a solid, a force on nodes")),
            None => {
                self.find(reference)?;
                Err(Diagnostic::new(format!(
                    "\"{reference}\" is a node or a set of nodes, not a whole bar or beam"
                ))
                .label("expected a bar or a beam")
                .help("name the part alone"))
            }
        }
    }

    /// Whether `reference` is about a part for small displacements only.
    pub fn is_linear(&self, reference: &str) -> bool {
        let name = reference.split('.').next().unwrap_or_default();
        let part = self.parts.get(name);
        part.is_some_and(|part| part.linear || part.cubic)
    }

    /// The faces of a solid, or of one of its sets, and its thickness.
    ///
    /// # Errors
    /// Where there are none.
    pub fn faces(&self, reference: &str) -> Result<(&[Face], f64), Diagnostic> {
        let (name, set) = reference.split_once('.').unwrap_or((reference, SURFACE));
        let Some(part) = self.parts.get(name) else {
            return Err(self.unknown(reference));
        };
        match part.sets.get(set) {
            Some(set) if !set.faces.is_empty() => Ok((&set.faces, part.thickness)),
            Some(_) => Err(Diagnostic::new(format!(
                "\"{reference}\" has nodes, but no face of the surface between them"
            ))
            .label("expected a set of faces")
            .help(part.faces_there_are(name))),
            None => {
                self.find(reference)?;
                Err(Diagnostic::new(format!("\"{reference}\" has no faces"))
                    .label("expected the surface of a solid")
                    .help(part.faces_there_are(name)))
            }
        }
    }

    fn unknown(&self, reference: &str) -> Diagnostic {
        let name = reference.split('.').next().unwrap_or_default();
        let known = || self.parts.keys().map(String::as_str);
        let message = format!(
            "there is no part \"{name}\"{}",
            suggest::did_you_mean(name, known())
        );
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|(name, part)| part.describe(name))
            .collect();
        let help = if parts.is_empty() {
            "there are no other parts".to_owned()
        } else {
            format!("there is {}", parts.join("; "))
        };
        Diagnostic::new(message).label("no such part").help(help)
    }
}

impl Part {
    fn faces_there_are(&self, name: &str) -> String {
        let with_faces = self.sets.iter().filter(|(_, set)| !set.faces.is_empty());
        let names: Vec<String> = with_faces.map(|(set, _)| format!("{name}.{set}")).collect();
        if names.is_empty() {
            "sets of faces belong to solids".to_owned()
        } else {
            format!(
                "there is {}",
                suggest::list(names.iter().map(String::as_str))
            )
        }
    }

    fn describe(&self, name: &str) -> String {
        let mut text = format!("\"{name}\"");
        if self.ends {
            text.push_str(&format!(", \"{name}.start\", \"{name}.end\""));
        }
        for set in self.sets.keys() {
            text.push_str(&format!(", \"{name}.{set}\""));
        }
        if self.all.len() > 1 {
            text.push_str(&format!(
                ", \"{name}.0\" to \"{name}.{}\"",
                self.all.len() - 1
            ));
        }
        text
    }
}
