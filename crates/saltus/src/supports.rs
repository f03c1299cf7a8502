//! Forces of supports as columns `reaction.SUPPORT.x`.

use crate::columns::Column;
use saltus_integrators::Frame;
use saltus_mechanics::flexible::{Assembly, NodeId, SupportForce};
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

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }
}

/// The forces in a run, in which the accelerations are means over the steps.
#[derive(Debug, Clone)]
pub(crate) struct SupportCells {
    supports: Supports,
    /// Time and velocities of the row before.
    before: (f64, Vec<f64>),
    acceleration: Vec<f64>,
}

impl SupportCells {
    pub(crate) fn new(supports: Supports) -> Self {
        Self {
            supports,
            before: (f64::NAN, Vec::new()),
            acceleration: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.supports.columns.len()
    }

    /// Writes the forces of `frame`; those of the first one are the forces at rest.
    pub(crate) fn fill(&mut self, frame: &Frame<'_>, mut row: &mut [f64]) {
        let state = frame.state;
        let (t, v) = &mut self.before;
        self.acceleration.resize(state.v.len(), 0.0);
        let length = state.t - *t;
        if v.len() == state.v.len() && length > 0.0 {
            let rates = state.v.iter().zip(&*v);
            for (a, (new, old)) in self.acceleration.iter_mut().zip(rates) {
                *a = (new - old) / length;
            }
        }
        *t = state.t;
        v.clone_from(&state.v);
        let assembly = &self.supports.assembly;
        for force in &self.supports.forces {
            let (cells, rest) = row.split_at_mut(force.components().len());
            let at = (state.t, &state.q[..], &state.v[..]);
            force.values(assembly, at, &self.acceleration, cells);
            row = rest;
        }
    }
}
