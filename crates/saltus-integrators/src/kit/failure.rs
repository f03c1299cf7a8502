//! The message of a contact problem that was not solved.

use super::{Row, Stage, StepProblem};
use crate::integrator::{FailedContactProblem, StepError};
use saltus_complementarity::ContactOutcome;
use saltus_system::System;

/// Several states of one contact solve the step: none of them is chosen silently.
pub(crate) const SEVERAL: &str = "several contact states solve the step (Painlevé), and the law does not say which: reduce the friction coefficient";
/// No state solves it.
pub(crate) const UNSOLVED: &str = "take a smaller `step`; where friction jams a contact (Painlevé), no impulse solves the step and only a smaller friction coefficient helps";
const CONTRADICTION: &str = "check that the bilateral constraints do not contradict each other or force a contact into an obstacle";
const OBSTACLES: &str =
    "no velocity satisfies all contacts of this step: check whether obstacles close on a body";

impl StepProblem {
    /// Why the problem posed was not solved.
    pub(super) fn failure(
        &self,
        system: &dyn System,
        rows: &Stage,
        outcome: ContactOutcome,
    ) -> StepError {
        let (one_step, bilateral, before_contacts, blocks) = self.parts();
        let contacts = blocks - before_contacts;
        let worst = one_step.worst_block().min(blocks.saturating_sub(1));
        let name = |k: usize| self.name(system, rows, k);
        let status = if outcome.multiple {
            "several solutions"
        } else {
            outcome.status.name()
        };
        let has_friction = self.len() > bilateral + contacts;
        if has_friction {
            let cure = if outcome.multiple { SEVERAL } else { UNSOLVED };
            return StepError::FrictionProblem {
                contacts,
                bilateral,
                status,
                residual: outcome.residual,
                place: name(worst),
                cure,
                problem: Box::new(FailedContactProblem {
                    rows: self
                        .impulses()
                        .map(|(row, _)| self.describe(system, rows, row))
                        .collect(),
                    problem: one_step.contact_data(),
                }),
            };
        }
        let rows = (0..blocks).map(|k| {
            let what = if k < bilateral { "rate" } else { "impact law" };
            format!("{what} of {}", name(k))
        });
        StepError::ContactProblem {
            contacts,
            bilateral,
            status,
            residual: outcome.residual,
            place: name(worst),
            cure: if bilateral > 0 {
                CONTRADICTION
            } else {
                OBSTACLES
            },
            problem: Box::new(one_step.failed(bilateral, rows.collect())),
        }
    }

    /// What block `k` is called.
    fn name(&self, system: &dyn System, rows: &Stage, k: usize) -> String {
        let names = system.names();
        match self.member(k) {
            Row::Bilateral(i) => names.bilateral.get(i).cloned(),
            Row::Friction(_) => Some(names.friction_element(k - self.parts().1)),
            Row::Normal(i, _) | Row::Tangent(i, _) => Some(names.contact(rows.contacts.id[i])),
        }
        .unwrap_or_else(|| k.to_string())
    }

    /// What a row is.
    fn describe(&self, system: &dyn System, rows: &Stage, row: Row) -> String {
        let names = system.names();
        let contact = |i: usize| names.contact(rows.contacts.id[i]);
        match row {
            Row::Bilateral(i) => {
                let name = names.bilateral.get(i).cloned();
                format!("rate of {}", name.unwrap_or_else(|| i.to_string()))
            }
            Row::Friction(i) => format!("slip {i} of the joints"),
            Row::Normal(i, _) => format!("impact law of {}", contact(i)),
            Row::Tangent(i, row) => format!(
                "friction of {}, direction {}",
                contact(i),
                row - rows.contacts.first_row[i]
            ),
        }
    }
}
