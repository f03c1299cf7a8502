//! Half-explicit Runge–Kutta methods (eqs. B.1–B.16).

use super::HalfExplicit;
use super::tableaux::Tableau;
use crate::integrator::{StepError, StepReport};
use crate::kit::{Duration, EvaluationPoint, TangentRate, combine};
use saltus_linear::{Dense, axpy};
use saltus_system::{State, System};

/// The stages after the first, which is the start of the step, and what they leave.
#[derive(Debug)]
pub(super) struct RungeKutta {
    tableau: Tableau,
    stages: Vec<EvaluationPoint>,
    free: Dense,     // M⁻¹ f of each stage (stages × nv)
    full: Dense,     // the same with reactions (stages × nv)
    velocity: Dense, // rate of the tangent ξ: T(ξ)⁻¹ v (stages × nv)
    tangent: TangentRate,
}

impl RungeKutta {
    pub(super) fn new(system: &dyn System, tableau: Tableau) -> Self {
        let (s, nv) = (tableau.stages(), system.dims().nv);
        Self {
            stages: (1..s).map(|_| EvaluationPoint::new(system)).collect(),
            free: Dense::zeros(s, nv),
            full: Dense::zeros(s, nv),
            velocity: Dense::zeros(s, nv),
            tangent: TangentRate::new(nv),
            tableau,
        }
    }
}

impl HalfExplicit {
    pub(super) fn runge_kutta(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let Some(mut rk) = self.runge_kutta.take() else {
            return Err(crate::kit::unprepared(super::NAME));
        };
        let result = self.stages(system, state, &mut rk, h, end);
        self.runge_kutta = Some(rk);
        result
    }

    fn stages(
        &mut self,
        system: &dyn System,
        state: &mut State,
        rk: &mut RungeKutta,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let last = rk.tableau.stages() - 1;
        Self::activate_closed(&mut self.active, &self.step.start, self.step.epsilon);
        rk.free.row_mut(0).copy_from_slice(&self.a0);
        rk.velocity.row_mut(0).copy_from_slice(&state.v);
        for l in 0..last {
            self.stage(system, state, rk, l, h)?;
        }
        // The end of the step.
        let step = &mut self.step;
        combine(&rk.velocity, rk.tableau.row(last), h, &mut step.xi);
        step.end.retract(system, &step.start, &step.xi, end);
        self.free_velocity(rk, state, last, h);
        let step = &mut self.step;
        step.end.v.copy_from_slice(&self.v_free);
        step.end.evaluate(system, super::NAME)?;
        let forces = rk.stages.last().unwrap_or(&step.start);
        step.end.v.copy_from_slice(&forces.v);
        step.end.evaluate_laws(system);
        if self.closes(&self.step.end) {
            combine(&rk.free, rk.tableau.row(last), h, &mut self.v_free);
            axpy(1.0, &state.v, &mut self.v_free);
            return self.impact(system, state);
        }
        let Self {
            step,
            problem,
            active,
            v_free,
            ..
        } = self;
        Self::activate_closed(active, &step.end, step.epsilon);
        let forces = rk.stages.last().unwrap_or(&step.start);
        let time = Duration::Time(h * rk.tableau.b(last));
        let offset = super::rate(&step.end);
        let stages = (forces, &*step.end);
        problem.pose(
            system,
            &step.reactions,
            stages,
            active,
            time,
            v_free,
            offset,
        );
        problem.solve(system, &mut step.reactions, &step.end, step.end.t)?;
        step.end.v.copy_from_slice(v_free);
        problem.respond(&mut step.end.v);
        let stages = (forces, &*step.end);
        step.reactions
            .take(problem, stages, (v_free, &step.end.v), 1.0);
        step.finish(system, state, false, 0, problem.redundant)
    }

    /// Velocity of the next stage without the reactions of stage `l`.
    fn free_velocity(&mut self, rk: &RungeKutta, state: &State, l: usize, h: f64) {
        let row = rk.tableau.row(l);
        combine(&rk.full, &row[..l], h, &mut self.v_free);
        axpy(h * row[l], rk.free.row(l), &mut self.v_free);
        axpy(1.0, &state.v, &mut self.v_free);
    }

    /// Places stage `l + 1` and fixes the reactions of stage `l` by the laws there.
    fn stage(
        &mut self,
        system: &dyn System,
        state: &State,
        rk: &mut RungeKutta,
        l: usize,
        h: f64,
    ) -> Result<(), StepError> {
        self.free_velocity(rk, state, l, h);
        let Self {
            step,
            problem,
            active,
            v_free,
            response,
            ..
        } = self;
        combine(&rk.velocity, rk.tableau.row(l), h, &mut step.xi);
        let (before, after) = rk.stages.split_at_mut(l);
        let next = &mut after[0];
        next.take_contacts(&step.start);
        next.retract(
            system,
            &step.start,
            &step.xi,
            state.t + h * rk.tableau.c(l + 1),
        );
        next.v.copy_from_slice(v_free);
        next.evaluate(system, super::NAME)?;
        // Friction acts with the velocity of the stage whose reactions these are.
        let forces = before.last().unwrap_or(&step.start);
        next.v.copy_from_slice(&forces.v);
        next.evaluate_laws(system);
        let weight = h * rk.tableau.row(l)[l];
        let time = Duration::Time(weight);
        let offset = super::rate(next);
        let stages = (forces, &*next);
        problem.pose(
            system,
            &step.reactions,
            stages,
            active,
            time,
            v_free,
            offset,
        );
        problem.solve(system, &mut step.reactions, next, next.t)?;
        next.v.copy_from_slice(v_free);
        response.fill(0.0);
        problem.respond(response);
        let full = rk.full.row_mut(l);
        full.copy_from_slice(rk.free.row(l));
        axpy(1.0 / weight, response, full);
        axpy(1.0, response, &mut next.v);
        let share = rk.tableau.b(l) / rk.tableau.row(l)[l];
        let stages = (forces, &*next);
        step.reactions
            .take(problem, stages, (v_free, &next.v), share);
        next.evaluate_force(system)?;
        let free = rk.free.row_mut(l + 1);
        free.copy_from_slice(&next.force);
        next.mass.solve(free);
        let rate = rk.velocity.row_mut(l + 1);
        rate.copy_from_slice(&next.v);
        let place = (state.q.as_slice(), step.xi.as_slice());
        rk.tangent.apply(system, super::NAME, place, rate)
    }
}
