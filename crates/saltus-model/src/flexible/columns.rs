//! Which nodes are written as columns.

use super::Flexible;
use super::guides::held_by;
use crate::build::path;
use crate::expression::parse_columns;
use crate::findings::Findings;
use saltus_document::document::parts::Words;
use saltus_document::document::{Document, Quantity};
use saltus_mechanics::flexible::NodeId;
use saltus_system::{ContactId, Contacts};

/// Up to this many nodes all are written.
const FEW: usize = 50;

/// Numbers of the coordinates that are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Positions.
    pub positions: Vec<usize>,
    /// Velocities.
    pub velocities: Vec<usize>,
}

/// The coordinates of the nodes that the document chooses, or of the notable ones where there are many; `None`
/// stands for all. What was left out is said in a note.
pub(crate) fn columns(
    flexible: &Flexible,
    document: &Document,
    findings: &mut Findings<'_>,
    notes: &mut Vec<String>,
) -> Option<Columns> {
    let count = flexible.assembly.node_count();
    let nodes = match &document.output.nodes {
        Some(words) => chosen(flexible, words, "nodes", findings),
        None if count <= FEW => return None,
        None => {
            let nodes = notable(flexible);
            let contacts = flexible.assembly.contact_count();
            let columns = match nodes.len() {
                0 => "none becomes a column".to_owned(),
                1 => "1 becomes columns".to_owned(),
                n => format!("{n} become columns"),
            };
            let which = match (nodes.len(), contacts) {
                (0, 0..=FEW) => {
                    "there are no ends of lines, no point masses and no contacts".to_owned()
                }
                (_, 0..=FEW) => "ends of lines, point masses and nodes of contacts".to_owned(),
                (0, _) => format!(
                    "there are no ends of lines and no point masses, and the {contacts} nodes of contacts are many"
                ),
                _ => format!(
                    "ends of lines and point masses, but not the {contacts} nodes of contacts, which are many"
                ),
            };
            notes.push(format!(
                "of {count} nodes, {columns}: {which}; nodes in [output] chooses others, the format \"vtk\" has all"
            ));
            nodes
        }
    };
    let mut columns = Columns {
        positions: Vec::new(),
        velocities: Vec::new(),
    };
    for node in nodes {
        let kind = flexible.assembly.kind(node);
        let positions =
            (0..kind.positions()).filter_map(|c| flexible.assembly.position_place(node, c));
        columns.positions.extend(positions);
        let velocities =
            (0..kind.velocities()).filter_map(|c| flexible.assembly.velocity_place(node, c));
        columns.velocities.extend(velocities);
    }
    Some(columns)
}

/// The nodes whose stresses and resultants the document asks for.
pub(crate) fn fields(
    flexible: &Flexible,
    document: &Document,
    findings: &mut Findings<'_>,
) -> Vec<NodeId> {
    let mut nodes = match &document.output.fields {
        Some(words) => chosen(flexible, words, "fields", findings),
        None => Vec::new(),
    };
    nodes.extend(used_fields(flexible, document));
    sorted(nodes)
}

/// The nodes whose stresses and section forces are in quantities or the condition that ends the run.
fn used_fields(flexible: &Flexible, document: &Document) -> Vec<NodeId> {
    let groups = flexible.assembly.groups();
    let is_field = |word: &str| groups.iter().any(|g| g.field_names().contains(&word));
    let formulas = document.output.quantities.values().filter_map(|q| match q {
        Quantity::Formula(text) => Some(text),
        Quantity::Number(_) => None,
    });
    let mut nodes = Vec::new();
    for text in formulas.chain(&document.simulation.stop) {
        let Ok(ast) = parse_columns(text) else {
            continue; // which is reported where it is read
        };
        for name in ast.names() {
            let Some((field, place)) = name.split_once('.') else {
                continue;
            };
            let node = place.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
            if is_field(field)
                && let Ok(found) = flexible.nodes.find(&node)
                && let [node] = found[..]
            {
                nodes.push(node);
            }
        }
    }
    nodes
}

/// The supports of the document: the name of each, its nodes, and the velocity components that are held there.
pub(crate) fn supports(
    flexible: &Flexible,
    document: &Document,
) -> Vec<(String, Vec<NodeId>, Vec<usize>)> {
    let mut list: Vec<(String, Vec<NodeId>, Vec<usize>)> = Vec::new();
    for support in &document.support {
        let words: Vec<&str> = support.at.as_slice().iter().map(String::as_str).collect();
        let name = words.join("+");
        let nodes = words
            .iter()
            .filter_map(|word| flexible.nodes.find(word).ok());
        let nodes = sorted(nodes.flatten().collect());
        if nodes.is_empty() || list.iter().any(|(known, ..)| *known == name) {
            continue;
        }
        // What another support holds at a node of both is not borne by this one.
        let hold = support.hold.as_slice();
        let held = |node: NodeId| {
            let kind = flexible.assembly.kind(node);
            hold.iter()
                .filter_map(move |word| held_by(word, kind))
                .flatten()
        };
        let mut components: Vec<usize> = nodes.iter().flat_map(|&node| held(node)).collect();
        components.sort_unstable();
        components.dedup();
        list.push((name, nodes, components));
    }
    list
}

/// The nodes that `words` of a key of the output stand for, in the order of the assembly.
fn chosen(
    flexible: &Flexible,
    words: &Words,
    key: &str,
    findings: &mut Findings<'_>,
) -> Vec<NodeId> {
    let at = path(["output", key]);
    let mut nodes = Vec::new();
    for (word, place) in words.places(&at) {
        match flexible.nodes.find(word) {
            Ok(found) => nodes.extend(found),
            Err(diagnostic) => findings.at(&place, diagnostic),
        }
    }
    sorted(nodes)
}

/// Ends of parts, point masses, and the nodes of contacts unless these are many.
fn notable(flexible: &Flexible) -> Vec<NodeId> {
    let mut nodes = flexible.nodes.ends();
    let contacts = flexible.assembly.contact_count();
    if contacts <= FEW {
        let node = |i: usize| flexible.assembly.contact_node(ContactId(i as u64));
        nodes.extend((0..contacts).filter_map(node));
    }
    sorted(nodes)
}

fn sorted(mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
