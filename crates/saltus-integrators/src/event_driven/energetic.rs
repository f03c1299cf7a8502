//! The energetic impact law: every contact stores and releases energy, `F = K δ^η`, and impulses travel through chains.
//!
//! Liu, Zhao and Brogliato write `dP_j/dP_i = (K_j/K_i)^{1/(η+1)} (E_j/E_i)^{η/(η+1)}` with `dE_j = −u_j dP_j` in loading and
//! `dE_j = −u_j dP_j/e_j²` in unloading. With `E = K δ^{η+1}/(η+1)` that is the motion of springs in a time without meaning:
//!
//! ```text
//! u̇ = D F ,   F_j = K_j δ_j^η ,   δ̇_j = −u_j (loading, u_j < 0) ,   δ̇_j = −u_j/e_j² (unloading)
//! ```
//!
//! until nothing that counts is stored and nothing approaches ([`stored_energy`](super::stored_energy)).
//!
//! Reference: Liu, Zhao, Brogliato (2008), Proc. R. Soc. A 464, eqs. 3.4–3.20.

use super::Prepared;
use super::stored_energy::{LONGEST, Springs};
use crate::integrator::StepError;
use crate::kit::{Duration, Row};
use saltus_linear::{Dense, axpy};
use saltus_system::System;

impl Prepared {
    /// The impact of the closed contacts by stored energy.
    pub(super) fn energetic(&mut self, system: &dyn System) -> Result<(), StepError> {
        let n = self.closed.len();
        let mut responses = Dense::zeros(n, self.work.len());
        for k in 0..n {
            let i = self.closed[k];
            let end = &self.step.end;
            let out = responses.row_mut(k);
            end.contacts
                .directions
                .axpy(end.contacts.first_row[i], 1.0, out);
            end.mass.solve(out);
        }
        if self.step.dims.ng > 0 {
            for k in 0..n {
                self.constrain(system, responses.row_mut(k))?;
            }
        }
        let end = &self.step.end;
        let mut compliance = Dense::zeros(n, n);
        let mut u = vec![0.0; n];
        for (a, &i) in self.closed.iter().enumerate() {
            let row = end.contacts.first_row[i];
            u[a] = end.contacts.normal_velocity(i, &end.v);
            for b in 0..n {
                compliance[(a, b)] = end.contacts.directions.dot(row, responses.row(b));
            }
        }
        let stiffness = |i: &usize| {
            let id = usize::try_from(end.contacts.id[*i].0).ok();
            id.and_then(|id| self.options.stiffness.get(id).copied())
                .unwrap_or(1.0)
        };
        let springs = Springs {
            compliance,
            stiffness: self.closed.iter().map(stiffness).collect(),
            restitution: (self.closed.iter())
                .map(|&i| {
                    if self.impact.is_guarded(i) {
                        0.0
                    } else {
                        end.contacts.law[i].e_n
                    }
                })
                .collect(),
            exponent: self.options.exponent,
        };
        let Some(impulses) = springs.collide(&mut u, self.scales.zero_velocity()) else {
            return Err(StepError::ImpactSequence {
                contact: self
                    .closed
                    .first()
                    .map_or_else(String::new, |&i| system.names().contact(end.contacts.id[i])),
                count: LONGEST,
                t: end.t,
            });
        };
        let (reactions, end) = (&mut self.step.reactions, &mut self.step.end);
        self.work.fill(0.0);
        for (&i, p) in self.closed.iter().zip(&impulses) {
            let row = end.contacts.first_row[i];
            reactions.normal[i] += p;
            reactions.row[row] += p;
            end.contacts.directions.axpy(row, *p, &mut self.work);
        }
        end.mass.solve(&mut self.work);
        axpy(1.0, &self.work, &mut end.v);
        // Impulses of the bilateral constraints, which the responses contain.
        self.velocity_problem(system, &[], |_, _, _| 0.0)?;
        self.take_velocities(&u);
        Ok(())
    }

    /// Gives the closed contacts exactly the velocities `u`, which they have up to round-off.
    fn take_velocities(&mut self, u: &[f64]) {
        let (end, closed) = (&self.step.end, &self.closed);
        let accelerations = &mut self.arc.accelerations;
        accelerations.condense(end, self.step.dims.ng, closed.iter().copied(), |_| 1);
        let value = |row: Row| {
            let wanted = match row {
                Row::Normal(i, _) => closed.iter().position(|c| *c == i).map_or(0.0, |k| u[k]),
                _ => 0.0,
            };
            end.velocity(row, &end.v) - wanted
        };
        accelerations.remove(value, &mut self.work);
        axpy(1.0, &self.work, &mut self.step.end.v);
    }

    /// Takes out of a velocity what the bilateral constraints do not let pass.
    fn constrain(&mut self, system: &dyn System, v: &mut [f64]) -> Result<(), StepError> {
        let end = &*self.step.end;
        let stages = (end, end);
        let instant = Duration::Instant;
        let still = |_: Row| 0.0;
        let problem = &mut self.problem;
        problem.pose(system, &self.step.reactions, stages, &[], instant, v, still);
        problem.solve(system, &mut self.step.reactions, end, end.t)?;
        problem.respond(v);
        Ok(())
    }
}
