//! The messages of a step that was not solved.

use super::engine::Engine;
use super::newton::{Defect, Place};
use crate::integrator::StepError;
use saltus_system::System;

impl Engine {
    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let names = system.names();
        let bad = |x: &[f64]| x.iter().position(|v| !v.is_finite());
        let (quantity, place) = if let Some(i) = bad(&self.trial.force) {
            ("the force", names.velocities.get(i).cloned())
        } else if let Some(i) = bad(&self.trial.x) {
            ("the acceleration", names.velocities.get(i).cloned())
        } else if let Some(j) = bad(&self.rows.gap) {
            ("the gap", Some(self.row_name(system, j)))
        } else {
            let j = bad(&self.rows.velocity);
            ("the rate", j.map(|j| self.row_name(system, j)))
        };
        StepError::NotFinite {
            quantity,
            place: place.unwrap_or_default(),
            t,
        }
    }

    pub(super) fn not_converged(
        &self,
        system: &dyn System,
        iterations: u32,
        defect: Defect,
    ) -> StepError {
        let tolerance = self.settings.tolerance * self.scale;
        let names = system.names();
        let place = match defect.place {
            Place::Velocity(i) => names
                .velocities
                .get(i)
                .cloned()
                .unwrap_or_else(|| i.to_string()),
            Place::Row(j) => self.row_name(system, j),
        };
        StepError::NotConverged {
            iterations,
            residual: defect.ratio * tolerance,
            tolerance,
            place,
        }
    }

    fn row_name(&self, system: &dyn System, j: usize) -> String {
        let names = system.names();
        let ng = self.dims.ng;
        let name = if j < ng {
            names.bilateral.get(j)
        } else {
            names.contacts.get(j - ng)
        };
        name.cloned().unwrap_or_else(|| format!("row {j}"))
    }
}
