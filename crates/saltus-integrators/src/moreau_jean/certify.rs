//! The end of the step: constraints and contacts there, energy, certificate.

use super::{Evaluation, MoreauJean, Variant};
use crate::certificate::{Certificate, Entry};
use crate::integrator::{Energy, StepError, StepReport};
use crate::kit::{
    certify_bilateral, certify_coordinates, certify_gaps, certify_impact_law, check_kinetic,
    energy_of, initial_states,
};
use saltus_linear::{dot, max_abs};
use saltus_system::{MassKind, Point, State, System};

impl MoreauJean {
    /// Evaluates the accepted end of the step and makes its report.
    pub(super) fn finish(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        end: f64,
        iterations: u32,
    ) -> Result<StepReport, StepError> {
        let energy = self.energy_at_end(system, end)?;
        let (work_external, work_contact) = self.works(system, state, h, end);
        let mut certificate = Certificate::EMPTY;
        certificate.set(Entry::Dynamics, max_abs(&self.smooth.balance));
        self.certify_law(&mut certificate);
        self.split_increment(state);
        let before = self.energy;
        let algorithmic = self.algorithmic_dissipation(system, state, end);
        self.shift_start(end)?;
        if self.on_mean {
            self.velocities_at_end(system);
        }
        self.may_be_on_mean = true;
        self.certify_start(system, &state.v, &mut certificate);
        self.energy = energy;
        let gain = self.energy.total() - before.total();
        certificate.set(
            Entry::EnergyBalance,
            gain - work_external - work_contact - algorithmic,
        );
        self.update_scale(h);
        Ok(self.report(h, iterations, (work_external, work_contact), certificate))
    }

    /// The report of the step, when all is known.
    pub(super) fn report(
        &self,
        h: f64,
        iterations: u32,
        (work_external, work_contact): (f64, f64),
        certificate: Certificate,
    ) -> StepReport {
        let active = self
            .contact
            .active
            .iter()
            .filter(|&&i| self.contact.impulse[i] > 0.0)
            .count();
        #[allow(clippy::cast_possible_truncation)]
        let active = active as u32;
        // A step that needed no solve has the constraints of the last one that did.
        let constrained = self.rows_before_contacts() > 0 || !self.contact.active.is_empty();
        let redundant = if constrained { self.redundant } else { 0 };
        StepReport {
            iterations,
            active,
            redundant,
            work_external,
            work_contact,
            ..StepReport::at_rest(h, self.energy, certificate)
        }
    }

    /// The report of the initial state.
    pub(super) fn initial_report(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.energy = match self.streamed_energy(system, state) {
            Some(energy) => energy,
            None => self.energy_at_start(system),
        };
        let c = &mut self.contact;
        for i in 0..c.set.len() {
            c.velocity[i] = c.set.normal_velocity(i, &state.v);
        }
        let mut certificate = Certificate::EMPTY;
        self.certify_end(system, state.point(), &state.v, &mut certificate);
        let c = &mut self.contact;
        initial_states(&c.set, &state.q, &state.v, &mut c.state);
        Ok(StepReport {
            redundant: self.redundant,
            ..StepReport::at_rest(h, self.energy, certificate)
        })
    }

    /// Work of the forces without a potential, and of all reactions, over the step.
    fn works(&mut self, system: &dyn System, state: &State, h: f64, end: f64) -> (f64, f64) {
        let time = self.evaluation_time(state, h, end);
        let (t, s) = (&self.trial, &mut self.smooth);
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        system.active_force(
            Point {
                t: time,
                q: &t.q_eval,
                v: &t.v_eval,
            },
            &mut s.active,
        );
        let external = if theta_point {
            h * dot(&t.v_phi, &s.active)
        } else {
            let power: f64 = (0..s.active.len())
                .map(|i| {
                    t.v_phi[i]
                        * (self.theta * s.active[i] + (1.0 - self.theta) * self.start.active[i])
                })
                .sum();
            h * power
        };
        let rows = self.bilateral.jacobian.rows();
        let mut contact: f64 = self
            .bilateral
            .impulse
            .iter()
            .enumerate()
            .map(|(i, p)| p * rows.dot(i, &t.v_phi))
            .sum();
        let slip = self.joints.jacobian.rows();
        for (i, r) in self.joints.impulse.iter().enumerate() {
            contact += r * slip.dot(i, &t.v_phi);
        }
        let c = &self.contact;
        for &(_, row) in &c.list {
            contact += c.impulse_rows[row] * c.law.directions.dot(row, &t.v_phi);
        }
        (external, contact)
    }

    /// Energy change due to the discretisation in a linear system: `(½−θ)(‖Δv‖²_M + ‖Δq‖²_K)` (eq. 84),
    /// without the first term in the dissipative variant (eq. 88). Zero where no formula is known.
    fn algorithmic_dissipation(&mut self, system: &dyn System, state: &State, end: f64) -> f64 {
        if self.theta == 0.5 || !self.is_linear() {
            return 0.0;
        }
        let t = &mut self.trial;
        let mut norms = 0.0;
        if self.options.variant == Variant::Standard {
            let s = &mut self.smooth;
            for i in 0..t.v.len() {
                s.x[i] = t.v[i] - state.v[i];
            }
            norms += s.mass.form(&s.x, &s.x);
        }
        // The potential is quadratic: its second difference is ‖Δq‖²_K / 4.
        for i in 0..t.q.len() {
            t.q_eval[i] = 0.5 * (state.q[i] + t.q[i]);
        }
        let potential = |q: &[f64]| system.potential_energy(end, q);
        norms += 4.0 * (potential(&t.q) - 2.0 * potential(&t.q_eval) + potential(&state.q));
        (0.5 - self.theta) * norms
    }

    /// Impact law at the directions the step used.
    pub(super) fn certify_law(&mut self, certificate: &mut Certificate) {
        if self.contact.set.is_empty() && self.joints.len() == 0 {
            return;
        }
        let joints = (0..self.joints.len()).map(|k| self.joint_residual(k));
        let mut worst = joints.fold(0.0_f64, f64::max);
        let mut row = self.rows_before_contacts();
        for &i in &self.contact.active {
            worst = worst.max(self.law_residual(row, i).abs());
            let rows = self.rows_of(i);
            if rows > 1 {
                worst = worst.max(self.friction_residual(row, i));
            }
            row += rows;
        }
        certificate.set(Entry::ComplementarityVelocity, worst);
        if self.has_friction {
            self.certify_friction(certificate);
        }
        if self.joints.len() > 0 {
            self.certify_joints(certificate);
        }
    }

    /// Splits `v_{k+1} − v_k` into the jump due to contact impulses and the remainder, which predicts the next step.
    fn split_increment(&mut self, state: &State) {
        let before = self.rows_before_contacts();
        let (t, c) = (&mut self.trial, &mut self.contact);
        std::mem::swap(&mut t.increment, &mut t.earlier_increment);
        t.jump.fill(0.0);
        if c.active.iter().any(|&i| c.impulse[i] != 0.0) {
            self.one_step
                .add_response(before..before + c.list.len(), &c.multipliers, &mut t.jump);
        }
        for i in 0..t.v.len() {
            t.increment[i] = t.v[i] - state.v[i] - t.jump[i];
        }
        self.bilateral
            .guess
            .copy_from_slice(&self.bilateral.impulse);
    }

    /// Momentum and energy at the end of the step, refused where that cannot be one.
    fn energy_at_end(&mut self, system: &dyn System, end: f64) -> Result<Energy, StepError> {
        let theta_point = self.options.evaluation == Evaluation::ThetaPoint;
        let (s, t) = (&mut self.smooth, &mut self.trial);
        if theta_point && self.structure.mass == MassKind::Varying {
            s.mass.clear();
            system.mass(&t.q, &mut s.mass);
        }
        s.mass.apply(&t.v, &mut t.momentum);
        let energy = energy_of(system, (end, &t.q), (&t.v, &t.momentum));
        check_kinetic(system, energy.kinetic, (end, &t.v), &s.mass)?;
        Ok(energy)
    }

    /// The end of this step becomes the start of the next one.
    fn shift_start(&mut self, end: f64) -> Result<(), StepError> {
        let (start, t) = (&mut self.start, &mut self.trial);
        start.t = end;
        std::mem::swap(&mut start.q, &mut t.q);
        std::mem::swap(&mut start.v, &mut t.v);
        std::mem::swap(&mut start.momentum, &mut t.momentum);
        if self.options.evaluation != Evaluation::ThetaPoint {
            start.force.copy_from_slice(&self.smooth.force);
            start.active.copy_from_slice(&self.smooth.active);
            self.start_acceleration()?;
        }
        Ok(())
    }

    /// Rates of the bilateral constraints at the end of the step, which is in `start`.
    fn velocities_at_end(&mut self, system: &dyn System) {
        let q = std::mem::take(&mut self.start.q);
        self.constraint_rows(system, self.start.t, &q);
        self.start.q = q;
        let b = &mut self.bilateral;
        for (i, u) in b.velocity.iter_mut().enumerate() {
            *u = b.jacobian.rows().dot(i, &self.start.v) + b.rate[i];
        }
    }

    /// Constraints and contacts at the start of the next step; this one began with `v_start`.
    fn certify_start(
        &mut self,
        system: &dyn System,
        v_start: &[f64],
        certificate: &mut Certificate,
    ) {
        let q = std::mem::take(&mut self.start.q);
        let v = std::mem::take(&mut self.start.v);
        let at = Point {
            t: self.start.t,
            q: &q,
            v: &v,
        };
        self.certify_end(system, at, v_start, certificate);
        (self.start.q, self.start.v) = (q, v);
    }

    /// Constraints and contacts `at` the end of the step that began with `v_start`.
    pub(super) fn certify_end(
        &mut self,
        system: &dyn System,
        at: Point<'_>,
        v_start: &[f64],
        certificate: &mut Certificate,
    ) {
        let (end, q) = (at.t, at.q);
        let b = &mut self.bilateral;
        if self.dims.ng > 0 {
            system.g(end, q, &mut b.gap);
        }
        certify_bilateral(&b.gap, &b.velocity, certificate);
        certify_coordinates(system, q, certificate);
        self.joints_at_end(system, at);
        let c = &mut self.contact;
        if c.set.is_empty() {
            return;
        }
        system.evaluate_contacts(end, q, &mut c.set);
        for i in 0..c.set.len() {
            c.velocity[i] = c.set.normal_velocity(i, at.v);
        }
        if self.has_friction {
            for (i, first) in c.set.first_row.iter().enumerate() {
                for row in *first..=first + usize::from(c.set.law[i].tangents) {
                    c.row_velocity[row] = c.set.directions.dot(row, at.v) + c.set.rate[row];
                }
            }
        }
        certify_gaps(&c.set.gap, &c.impulse, certificate);
        let turns = !self.structure.linear_contacts;
        let before = |i: usize| {
            if turns {
                c.set.normal_velocity(i, v_start)
            } else {
                c.start_velocity[i]
            }
        };
        certify_impact_law(&c.set, &c.impulse, &c.velocity, before, certificate);
    }

    /// Energy of the state in `start`, whose momentum is known.
    pub(super) fn energy_at_start(&self, system: &dyn System) -> Energy {
        let start = &self.start;
        let mut energy = energy_of(system, (start.t, &start.q), (&start.v, &start.momentum));
        if self.uses_linear_path() {
            energy.kinetic = self.linear_kinetic(&start.v);
        }
        energy
    }

    /// The momentum scale grows with the motion.
    fn update_scale(&mut self, h: f64) {
        let force = &self.smooth.force;
        let impulse = h * self.momentum_scale.largest(force);
        self.impulse_scale = self.impulse_scale.max(impulse);
        self.momentum_scale.include(&self.start.momentum, force, h);
    }
}
