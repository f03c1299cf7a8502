//! The trapezoidal rule at acceleration level, without friction (eqs. 44–60).

use super::HalfExplicit;
use crate::integrator::{StepError, StepReport};
use crate::kit::{Active, Duration, EvaluationPoint, Row};
use saltus_linear::axpy;
use saltus_system::{State, System};

impl HalfExplicit {
    pub(super) fn acceleration(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.step.start.evaluate_bias(system);
        let epsilon = self.step.epsilon;
        activate_touching(&mut self.active, &self.step.start, epsilon, h);
        self.accelerations(system, h, true)?;
        let step = &mut self.step;
        for i in 0..self.v1.len() {
            let a = self.a0[i] + self.response[i];
            self.v1[i] = step.start.v[i] + h * a;
            step.xi[i] = 0.5 * h * (step.start.v[i] + self.v1[i]);
            self.v_free[i] = step.start.v[i] + 0.5 * h * self.a0[i];
        }
        step.end.retract(system, &step.start, &step.xi, end);
        step.end.v.copy_from_slice(&self.v1);
        step.end.evaluate_dynamics(system, super::NAME)?;
        step.end.evaluate_rows(system);
        self.a1.copy_from_slice(&step.end.force);
        step.end.mass.solve(&mut self.a1);
        if self.closes(&self.step.end) {
            axpy(0.5 * h, &self.a1, &mut self.v_free);
            return self.impact(system, state);
        }
        axpy(0.5 * h, &self.response, &mut self.v_free);
        self.step.end.evaluate_bias(system);
        activate_touching(&mut self.active, &self.step.end, epsilon, h);
        self.accelerations(system, h, false)?;
        let step = &mut self.step;
        for i in 0..self.v1.len() {
            let a = self.a1[i] + self.response[i];
            step.end.v[i] = self.v_free[i] + 0.5 * h * a;
        }
        step.finish(system, state, false, 0, self.problem.redundant)
    }

    /// What the reactions at the start, or at the end, add to the accelerations: `W λ` with `0 ≤ λ ⟂ g̈ ≥ 0` (eqs. 36–42).
    fn accelerations(
        &mut self,
        system: &dyn System,
        h: f64,
        at_start: bool,
    ) -> Result<(), StepError> {
        let Self {
            step,
            problem,
            active,
            a0,
            a1,
            response,
            v1: full,
            ..
        } = self;
        let free: &[f64] = if at_start { a0 } else { a1 };
        let stage: &EvaluationPoint = if at_start { &step.start } else { &step.end };
        let bias = |row: Row| stage.bias(row);
        let stages = (stage, stage);
        let duration = Duration::Force;
        problem.pose(
            system,
            &step.reactions,
            stages,
            active,
            duration,
            free,
            bias,
        );
        problem.solve(system, &mut step.reactions, stage, stage.t)?;
        response.fill(0.0);
        problem.respond(response);
        // The first velocity is known only after this: its place holds the accelerations.
        for (full, (a, more)) in full.iter_mut().zip(free.iter().zip(&*response)) {
            *full = a + more;
        }
        step.reactions.add(problem, 0.5 * h);
        step.reactions
            .include_force_residuals(problem, stage, (free, full), 0.5 * h);
        Ok(())
    }
}

/// The contacts that are closed at `stage` and do not open: in a step of `h` \[s\] their gap stays below `epsilon` \[m\].
fn activate_touching(active: &mut Active, stage: &EvaluationPoint, epsilon: f64, h: f64) {
    active.clear();
    let set = &stage.contacts;
    active.extend(
        (0..set.len())
            .filter(|&i| set.gap[i] <= epsilon && h * set.normal_velocity(i, &stage.v) <= epsilon),
    );
}
