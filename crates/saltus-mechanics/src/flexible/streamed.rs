//! Forces and energy of an assembly a few rows at a time: where the elements of every group come in the order of their
//! rows, those that meet some rows are next to each other.

use super::assembly::Assembly;
use super::group::RowsView;
use super::loads::LoadKind;
use saltus_system::{StreamedDynamics, Window};
use std::ops::Range;

impl Assembly {
    fn rows_view<'a>(&'a self, at: Window<'a>) -> RowsView<'a> {
        RowsView {
            first: at.first,
            q: at.q,
            v: at.v,
            free: self.places.nq,
            held: &self.places.held,
        }
    }

    /// Adds the loads in time on some rows.
    fn loads_on(&self, t: f64, rows: &Range<usize>, force: &mut [f64]) {
        for load in &self.loads {
            if let LoadKind::Component(c) = load.kind
                && let Some(place) = self.places.free(load.node.index(), c)
                && rows.contains(&place)
            {
                force[place - rows.start] += load.amplitude.value(t);
            }
        }
    }
}

impl StreamedDynamics for Assembly {
    fn reach(&self) -> usize {
        self.reach.unwrap_or(self.places.nv)
    }

    fn force_rows(&self, at: Window<'_>, rows: Range<usize>, force: &mut [f64]) {
        force.copy_from_slice(&self.weight[rows.clone()]);
        let view = self.rows_view(at);
        for part in &self.parts {
            part.subtract_force_rows(view, rows.clone(), force);
        }
        self.loads_on(at.t, &rows, force);
    }

    fn active_force_rows(&self, at: Window<'_>, rows: Range<usize>, active: &mut [f64]) {
        active.fill(0.0);
        let view = self.rows_view(at);
        for part in &self.parts {
            part.subtract_damping_rows(view, rows.clone(), active);
        }
        self.loads_on(at.t, &rows, active);
    }

    fn potential_rows(&self, at: Window<'_>, rows: Range<usize>) -> f64 {
        let view = self.rows_view(at);
        let strain: f64 = (self.parts.iter())
            .map(|part| part.strain_energy_rows(view, rows.clone()))
            .sum();
        let positions = &at.q[rows.start - at.first..rows.end - at.first];
        let lifted: f64 = saltus_linear::dot(&self.weight[rows], positions);
        strain - lifted
    }
}
