//! Faces, edges and nodes that loads and supports name more than once.

use super::Work;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::NodeId;
use std::collections::{HashMap, HashSet};

/// What loads act on so far.
#[derive(Default)]
pub(super) struct Targets {
    /// By what acts and on the corners of what: the table that names it last.
    loaded: HashMap<(&'static str, Vec<NodeId>), String>,
    /// Pairs of tables that were told of.
    told: HashSet<(&'static str, String, String)>,
}

impl Work<'_, '_> {
    /// Whether the load of the table `at` acts on the face, edge or node with these corners, named by `word`: once, however often the
    /// table names it. Loads of several tables add up. Both are noted.
    pub(super) fn acts(
        &mut self,
        what: &'static str,
        (at, word): (&Path, &str),
        corners: &[NodeId],
    ) -> bool {
        let mut corners = corners.to_vec();
        corners.sort_unstable();
        let table = at.to_string();
        let targets = &mut self.targets;
        let earlier = targets.loaded.insert((what, corners), table.clone());
        let Some(earlier) = earlier else {
            return true;
        };
        let again = earlier == table;
        if targets.told.insert((what, earlier.clone(), table.clone())) {
            self.notes.push(if again {
                format!("{table} names parts of \"{word}\" more than once: its {what} acts there once")
            } else {
                format!("{earlier} and {table} both act on \"{word}\", wholly or in part: each {what} is added there")
            });
        }
        !again
    }
}
