//! The trapezoidal rule at velocity level, with fixed steps (eqs. 65–72, A.1–A.13) and with reduced ones (eqs. 74–77).

use super::options::HalfExplicitOptions;
use super::{HalfExplicit, rate};
use crate::integrator::{StepError, StepReport};
use crate::kit::Duration;
use saltus_linear::axpy;
use saltus_system::{State, System};

impl HalfExplicit {
    pub(super) fn trapezoidal(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        Self::activate_closed(&mut self.active, &self.step.start, self.step.epsilon);
        self.predict_velocity(h);
        if self.step.has_joints() || !self.active.is_empty() {
            self.predict(system, h);
        }
        self.first_stage(system, h)?;
        self.move_to_end(system, h, end)?;
        if self.closes(&self.step.end) {
            return self.impact(system, state);
        }
        self.second_stage(system, state, h)
    }

    /// Steps of a share of `h` where a contact closes. The predicted set of contacts goes with the predicted test of impacts.
    pub(super) fn reduced(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        options: &HalfExplicitOptions,
    ) -> Result<StepReport, StepError> {
        let short = h.min(options.reduction * self.nominal);
        self.predict_velocity(h);
        self.predict(system, h);
        if self.closes(&self.predicted) {
            return self.impulsive(system, state, short);
        }
        Self::activate_closed(&mut self.active, &self.predicted, self.step.epsilon);
        self.first_stage(system, h)?;
        self.move_to_end(system, h, state.t + h)?;
        // Nothing that is open at the start was predicted to close: what has closed would be stopped without restitution.
        if options.retest && self.closes(&self.step.end) {
            self.step.begin(system, state, short)?;
            return self.impulsive(system, state, short);
        }
        self.second_stage(system, state, h)
    }

    /// A step of length `h` without forces of contact that ends with an impact of what is closed then.
    fn impulsive(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.response.fill(0.0);
        for (v, (v0, a0)) in self.v1.iter_mut().zip(state.v.iter().zip(&self.a0)) {
            *v = v0 + h * a0;
        }
        self.move_to_end(system, h, state.t + h)?;
        self.impact(system, state)
    }

    /// The velocity `v_k + h a_k` without impulses.
    fn predict_velocity(&mut self, h: f64) {
        for i in 0..self.v_free.len() {
            self.v_free[i] = self.step.start.v[i] + h * self.a0[i];
        }
    }

    /// The rows at `q_k ⊕ h v_k`.
    fn predict(&mut self, system: &dyn System, h: f64) {
        let (step, predicted) = (&mut self.step, &mut self.predicted);
        for (xi, v) in step.xi.iter_mut().zip(&step.start.v) {
            *xi = h * v;
        }
        predicted.take_contacts(&step.start);
        predicted.retract(system, &step.start, &step.xi, step.start.t + h);
        predicted.evaluate_rows(system);
        // The first of the two forces of the rule is that at the start.
        predicted.v.copy_from_slice(&step.start.v);
        predicted.evaluate_laws(system);
    }

    /// Velocity of the first stage: the laws of the active contacts in the predicted directions (eqs. 65, 69, 70).
    fn first_stage(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        let Self {
            step,
            problem,
            predicted,
            active,
            v_free,
            ..
        } = self;
        let stages = (&*step.start, &*predicted);
        let time = Duration::Time(h);
        let offset = rate(predicted);
        problem.pose(
            system,
            &step.reactions,
            stages,
            active,
            time,
            v_free,
            offset,
        );
        problem.solve(system, &mut step.reactions, predicted, predicted.t)?;
        self.response.fill(0.0);
        problem.respond(&mut self.response);
        self.v1.copy_from_slice(v_free);
        axpy(1.0, &self.response, &mut self.v1);
        let stages = (&*step.start, &*predicted);
        step.reactions
            .take(problem, stages, (v_free, &self.v1), 0.5);
        Ok(())
    }

    /// `q_{k+1}` (eq. 66) with mass, rows and `a'` there; leaves `v⁻`, without any impulse, in `v_free`.
    fn move_to_end(&mut self, system: &dyn System, h: f64, end: f64) -> Result<(), StepError> {
        let step = &mut self.step;
        for i in 0..step.xi.len() {
            step.xi[i] = 0.5 * h * (step.start.v[i] + self.v1[i]);
        }
        step.end.retract(system, &step.start, &step.xi, end);
        step.end.v.copy_from_slice(&self.v1);
        step.end.evaluate_dynamics(system, super::NAME)?;
        step.end.evaluate_rows(system);
        step.end.evaluate_laws(system);
        self.a1.copy_from_slice(&step.end.force);
        step.end.mass.solve(&mut self.a1);
        for i in 0..self.v_free.len() {
            self.v_free[i] = step.start.v[i] + 0.5 * h * (self.a0[i] + self.a1[i]);
        }
        Ok(())
    }

    /// `v_{k+1}` without an impact (eqs. 67, 71, 72).
    fn second_stage(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        axpy(0.5, &self.response, &mut self.v_free);
        self.close(system, state, 0.5 * h)
    }
}
