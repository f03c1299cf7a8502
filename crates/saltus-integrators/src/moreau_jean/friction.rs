//! Coulomb friction in the step: its rows, the contact problem with its laws, and its certificate entries.

use super::MoreauJean;
use crate::certificate::{Certificate, Entry};
use crate::integrator::{ContactState, StepError};
use saltus_complementarity::{Block, BlockState, Outcome, Status};
use saltus_system::System;

impl MoreauJean {
    /// Rows of contact `i` in the one-step problem: the normal, and the tangents where it has friction.
    pub(super) fn rows_of(&self, i: usize) -> usize {
        if !self.has_friction {
            return 1;
        }
        let law = self.contact.law.law[i];
        if law.mu == 0.0 && law.mu_static == 0.0 && !self.laws_vary {
            1
        } else {
            1 + usize::from(law.tangents)
        }
    }

    /// Lists the rows of the active contacts.
    pub(super) fn list_rows(&mut self) {
        let mut list = std::mem::take(&mut self.contact.list);
        list.clear();
        for &i in &self.contact.active {
            let first = self.contact.law.first_row[i];
            list.extend((first..first + self.rows_of(i)).map(|row| (i, row)));
        }
        self.contact.list = list;
    }

    /// Which contacts stick when the step begins with the velocity `v`: their static coefficient counts.
    pub(super) fn begin_friction(&mut self, v: &[f64]) {
        if !self.has_friction {
            return;
        }
        for i in 0..self.contact.set.len() {
            let set = &self.contact.set;
            let first = set.first_row[i];
            let tangents = first + 1..=first + usize::from(set.law[i].tangents);
            let sticks = tangents.clone().all(|row| {
                let (cols, values) = (set.directions.cols(row), set.directions.values(row));
                let u = set.directions.dot(row, v) + set.rate[row];
                u.abs() <= self.velocity_tolerance(cols, values)
            });
            self.contact.sticking[i] = sticks && !tangents.is_empty();
        }
    }

    /// The coefficient of friction of contact `i` in this step.
    fn coefficient(&self, i: usize) -> f64 {
        let law = self.contact.law.law[i];
        if self.contact.sticking[i] {
            law.mu_static
        } else {
            law.mu
        }
    }

    /// The law of contact `i` in this step.
    fn block(&self, i: usize) -> Block {
        match self.rows_of(i) {
            1 => Block::Unilateral,
            rows => Block::Coulomb {
                mu: self.coefficient(i),
                tangents: if rows == 2 { 1 } else { 2 },
            },
        }
    }

    /// Solves the contact problem of the correction, with friction; the multipliers hold the guess, then the answer.
    ///
    /// A contact that begins to slip is solved again with its dynamic coefficient.
    pub(super) fn solve_friction(
        &mut self,
        system: &dyn System,
        t: f64,
    ) -> Result<Outcome, StepError> {
        let ng = self.dims.ng;
        // Blocks before those of the contacts.
        let before = ng + self.joints.len();
        self.check_joints(system, t)?;
        for &i in &self.contact.active {
            let mu = self.coefficient(i);
            if !(mu >= 0.0 && mu.is_finite()) {
                return Err(StepError::Friction {
                    contact: system.names().contact(self.contact.law.id[i]),
                    mu,
                    t,
                });
            }
        }
        let mut blocks = std::mem::take(&mut self.contact.blocks);
        blocks.clear();
        blocks.extend((0..ng).map(|i| (1 << 62 | i as u64, Block::Equality)));
        blocks.extend((0..self.joints.len()).map(|k| (1 << 63 | k as u64, self.joints.block(k))));
        let contact = |&i: &usize| (self.contact.law.id[i].0, self.block(i));
        blocks.extend(self.contact.active.iter().map(contact));
        self.one_step.pose(blocks.iter().copied());
        self.contact.blocks = blocks;
        let outcome = loop {
            let outcome = self.one_step.solve_posed(&mut self.contact.multipliers);
            let mut changed = false;
            for k in 0..self.contact.active.len() {
                let i = self.contact.active[k];
                let law = self.contact.law.law[i];
                let breaks = outcome.is_solved()
                    && self.contact.sticking[i]
                    && law.mu_static > law.mu
                    && self.one_step.block_state(before + k) == BlockState::Slip;
                if breaks {
                    self.contact.sticking[i] = false;
                    let block = self.block(i);
                    self.one_step.set_block(before + k, block);
                    changed = true;
                }
            }
            if !changed {
                break outcome;
            }
        };
        if outcome.is_solved() && !outcome.multiple {
            for k in 0..self.contact.active.len() {
                let state = self.one_step.block_state(before + k).into();
                self.contact.state[self.contact.active[k]] = state;
            }
            let (joints, one_step) = (&mut self.joints, &self.one_step);
            joints.take_states(|k| one_step.block_state(ng + k));
        }
        if !outcome.is_solved() || outcome.multiple {
            return Err(self.unsolved_friction(system, outcome));
        }
        Ok(Outcome {
            status: Status::Solved,
            iterations: outcome.iterations,
            residual: outcome.residual,
            redundant: outcome.redundant,
        })
    }

    /// `e_t u_T` of a tangential row of contact `i`, at the start velocity.
    pub(super) fn tangential_rebound(&self, i: usize, row: usize) -> f64 {
        let (law, set) = (&self.contact.law, &self.contact.set);
        match law.law[i].e_t {
            0.0 => 0.0,
            e => e * (law.directions.dot(row, &self.start.v) + set.rate[row]),
        }
    }

    /// Residual of Coulomb's law of contact `i`, whose first row in the problem is `row`, in velocity units: the distance of
    /// `d R_T` from its projection of `d R_T − w_T` on the disc of radius `d μ R_N`.
    pub(super) fn friction_residual(&self, row: usize, i: usize) -> f64 {
        let c = &self.contact;
        if c.impulse[i] == 0.0 {
            // Without a normal impulse there is no friction.
            return 0.0;
        }
        let first = c.law.first_row[i];
        let tangents = usize::from(c.law.law[i].tangents);
        let d = (1..=tangents).fold(0.0_f64, |d, k| d.max(self.one_step.compliance(row + k)));
        let radius = d * self.coefficient(i) * c.impulse[i].max(0.0);
        let (mut z, mut y) = ([0.0; 2], [0.0; 2]);
        for k in 0..tangents.min(2) {
            let law_row = first + 1 + k;
            z[k] = d * c.impulse_rows[law_row];
            let w = c.row_velocity[law_row] + self.tangential_rebound(i, law_row);
            y[k] = z[k] - w;
        }
        let size = y[0].hypot(y[1]);
        let factor = if size > radius { radius / size } else { 1.0 };
        (z[0] - factor * y[0]).hypot(z[1] - factor * y[1])
    }

    /// Cone, stick and dissipation of the friction in the step, at the velocities where the law holds.
    pub(super) fn certify_friction(&mut self, certificate: &mut Certificate) {
        let (mut cone, mut stick, mut work) = (0.0_f64, 0.0_f64, 0.0_f64);
        for i in 0..self.contact.set.len() {
            if self.contact.impulse[i] == 0.0 {
                self.contact.state[i] = ContactState::Open;
            }
        }
        let c = &self.contact;
        for &i in &c.active {
            let first = c.law.first_row[i];
            let (mut force, mut slip, mut power) = (0.0_f64, 0.0_f64, 0.0);
            for row in first + 1..first + self.rows_of(i) {
                let w = c.row_velocity[row] + self.tangential_rebound(i, row);
                force = force.hypot(c.impulse_rows[row]);
                slip = slip.hypot(w);
                power += w * c.impulse_rows[row];
            }
            cone = cone.max(force - self.coefficient(i) * c.impulse[i]);
            work = work.max(power);
            if c.state[i] == ContactState::Stick {
                stick = stick.max(slip);
            }
        }
        certificate.set(Entry::Cone, cone);
        certificate.set(Entry::StickVelocity, stick);
        certificate.set(Entry::FrictionWork, work);
    }
}
