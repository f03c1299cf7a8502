//! Forces of supports as columns `reaction.SUPPORT.x`.

use crate::columns::Column;
use saltus_mechanics::flexible::{Assembly, NodeId, SupportForce};
use saltus_system::State;
use std::sync::Arc;

/// The supports of an assembly whose forces are written.
#[derive(Debug, Clone)]
pub struct Supports {
    assembly: Arc<Assembly>,
    columns: Vec<Column>,
    forces: Vec<SupportForce>,
}

/// A support: its name, its nodes and the velocity components that are held.
pub type SupportNodes = (String, Vec<NodeId>, Vec<usize>);

impl Supports {
    /// The sums of the forces that hold the nodes of each of `list`.
    #[must_use]
    pub fn at(assembly: Arc<Assembly>, list: &[SupportNodes]) -> Self {
        let lists: Vec<(Vec<NodeId>, Vec<usize>)> = list
            .iter()
            .map(|(_, nodes, components)| (nodes.clone(), components.clone()))
            .collect();
        let mut columns = Vec::new();
        for (name, nodes, components) in list {
            let kinds = nodes
                .iter()
                .map(|&node| SupportForce::names(assembly.kind(node)));
            let names = kinds.max_by_key(Vec::len).unwrap_or_default();
            columns.extend(components.iter().map(|&c| {
                let (component, unit) = names.get(c).copied().unwrap_or(("other", ""));
                Column::reaction(name, component, unit)
            }));
        }
        Self {
            forces: SupportForce::at(&assembly, &lists),
            assembly,
            columns,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Writes the forces in `state` at these accelerations.
    pub(crate) fn fill(&self, state: &State, acceleration: &[f64], mut row: &mut [f64]) {
        for force in &self.forces {
            let (cells, rest) = row.split_at_mut(force.components().len());
            let at = (state.t, &state.q[..], &state.v[..]);
            force.values(&self.assembly, at, acceleration, cells);
            row = rest;
        }
    }
}
