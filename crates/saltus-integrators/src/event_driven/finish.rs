//! The end of a step: forces, certificate, modes shown.

use super::Own;
use super::modes::{Mode, no_forces, size, slip};
use crate::certificate::Entry;
use crate::integrator::{StepError, StepReport};
use crate::kit::Row;
use saltus_system::{State, System};

impl Own {
    /// Ends the step at its end stage.
    pub(super) fn finish(
        &mut self,
        system: &dyn System,
        state: &mut State,
    ) -> Result<StepReport, StepError> {
        self.evaluate_forces(system)?;
        self.prove();
        let [external, reactions, moving] = self.arc.works();
        let works = (external, reactions + self.impact.work);
        self.work_moving = moving + self.impact.work_moving;
        let redundant = u32::try_from(self.arc.accelerations.redundant()).unwrap_or(u32::MAX);
        let mut report = self.step.finish_with(system, state, works, 0, redundant)?;
        for (shown, mode) in self
            .step
            .reactions
            .state
            .iter_mut()
            .zip(&self.arc.modes.list)
        {
            *shown = mode.state();
        }
        report.rejected = self.arc.rejected;
        report.certificate.set(Entry::ImpactLaw, self.impact.law);
        self.impact.begin();
        self.memory
            .keep(&self.step.start.contacts, &self.arc.modes.list);
        self.modes_are_current = self.time_stepping.is_none();
        Ok(report)
    }

    /// Forces at the end of the step.
    pub(super) fn evaluate_forces(&mut self, system: &dyn System) -> Result<(), StepError> {
        let arc = &mut self.arc;
        let end = &self.step.end;
        if arc.is_free() {
            arc.accelerations.release();
        } else if !(arc.accelerations).evaluate(end, self.step.dims.ng, &arc.modes) {
            return Err(no_forces(system, end, &arc.modes.list));
        }
        self.force.clear();
        self.force.resize(end.contacts.len(), 0.0);
        for (row, force) in arc.accelerations.forces() {
            match row {
                Row::Bilateral(i) => self.bilateral_force[i] = force,
                Row::Normal(i, _) => self.force[i] = force,
                Row::Friction(_) | Row::Tangent(..) => {}
            }
        }
        Ok(())
    }

    /// Velocities of closed contacts at the end of the step, and forces against their cones.
    fn prove(&mut self) {
        let mut proof = crate::kit::Proof::default();
        let (end, arc) = (&self.step.end, &self.arc);
        for (k, &i) in arc.accelerations.contacts().iter().enumerate() {
            let first = end.contacts.first_row[i];
            proof.law = proof
                .law
                .max(end.velocity(Row::Normal(i, first), &end.v).abs());
            if arc.modes[i] == Mode::Stick {
                let slip = size(slip(end, i, arc.modes.tangents[i]));
                proof.stick = proof.stick.max(slip);
                // The force outside of its cone, over the time of the arc.
                let carried = arc.accelerations.contact_force(k);
                let mu = end.contacts.law[i].mu_static;
                let outside = size(carried.tangent) - mu * carried.normal;
                proof.cone = proof.cone.max(outside * arc.time());
            }
        }
        self.step.reactions.include(proof);
    }
}
