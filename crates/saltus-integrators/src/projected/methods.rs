//! The three methods: which contacts take part, where the laws are, and when positions are projected.

use super::newton::{Laws, unprojected};
use super::{Lifted, NAME, ProjectedMoreauJean, ProjectedMoreauJeanOptions};
use crate::integrator::{StepError, StepReport};
use crate::kit::{Gap, ThetaRule};
use saltus_system::{State, System};

impl ProjectedMoreauJean {
    /// Starts a step.
    pub(super) fn begin(
        &mut self,
        system: &dyn System,
        state: &State,
        rule: &ThetaRule,
    ) -> Result<(), StepError> {
        self.step.begin(system, state, rule.h)?;
        self.problem.begin_step();
        let start = &self.step.start;
        start.mass.apply(&start.v, &mut self.work);
        self.scale.include(&self.work, &start.force, rule.h);
        start.include_rates(&mut self.scale, rule.h);
        self.law.take_contacts(start);
        self.v.copy_from_slice(&start.v);
        self.remedies = 0;
        self.passes = 0;
        self.linearisations = 0;
        self.active.clear();
        self.closed.clear();
        self.closed.resize(start.contacts.len(), false);
        Ok(())
    }

    /// The contacts join by their gaps at the projected end of the step.
    pub(super) fn combined(
        &mut self,
        system: &dyn System,
        state: &mut State,
        rule: &ThetaRule,
        options: &ProjectedMoreauJeanOptions,
    ) -> Result<StepReport, StepError> {
        let mut iterations = 0;
        loop {
            iterations += self.newton(system, rule, options, Laws::Projected)?;
            let before = self.active.len();
            for (i, gap) in self.law.contacts.gap.iter().enumerate() {
                if *gap <= 0.0 && self.active[..before].binary_search(&i).is_err() {
                    self.active.push(i);
                }
            }
            if self.active.len() == before {
                break;
            }
            self.active.sort_unstable();
        }
        self.set_displacement();
        self.include_law_residuals();
        std::mem::swap(&mut self.law, &mut self.step.end);
        self.finish(system, state, rule, iterations)
    }

    /// The step without contacts is projected, and the contacts that press obey the velocity law there.
    pub(super) fn ggl(
        &mut self,
        system: &dyn System,
        state: &mut State,
        rule: &ThetaRule,
        options: &ProjectedMoreauJeanOptions,
    ) -> Result<StepReport, StepError> {
        let mut iterations = self.newton(system, rule, options, Laws::Projected)?;
        if !self.law.contacts.is_empty() {
            let metric = self.metric.as_ref().unwrap_or(&self.step.start.mass);
            let (law, q_free) = (&mut self.law, &self.q_free);
            let taken = self
                .projection
                .project(
                    system,
                    metric,
                    q_free,
                    law,
                    |_| Gap::Apart,
                    (self.leaves, self.tolerance),
                )
                .map_err(unprojected)?;
            self.linearisations += taken;
            iterations += taken;
            let (projection, gap) = (&self.projection, &self.law.contacts.gap);
            let presses = |i: &usize| projection.presses(*i) || gap[*i] <= 0.0;
            self.active.extend((0..gap.len()).filter(presses));
        }
        self.set_displacement();
        if !self.active.is_empty() {
            iterations += self.newton(system, rule, options, Laws::Fixed)?;
        }
        self.include_law_residuals();
        std::mem::swap(&mut self.law, &mut self.step.end);
        self.finish(system, state, rule, iterations)
    }

    /// The Moreau–Jean step, whose positions are then projected.
    pub(super) fn direct(
        &mut self,
        system: &dyn System,
        state: &mut State,
        rule: &ThetaRule,
        options: &ProjectedMoreauJeanOptions,
    ) -> Result<StepReport, StepError> {
        self.forecast(options, rule.h);
        let mut iterations = self.newton(system, rule, options, Laws::Extrapolated)?;
        let Self {
            step,
            projection,
            metric,
            active,
            law,
            tolerance,
            leaves,
            ..
        } = self;
        let lifted = |i: usize| {
            if options.lifted == Lifted::All || active.binary_search(&i).is_ok() {
                Gap::Apart
            } else {
                Gap::Free
            }
        };
        let metric = metric.as_ref().unwrap_or(&step.start.mass);
        step.end.t = rule.end;
        let taken = projection
            .project(
                system,
                metric,
                &law.q,
                &mut step.end,
                lifted,
                (*leaves, *tolerance),
            )
            .map_err(unprojected)?;
        self.linearisations += taken;
        iterations += taken;
        self.set_displacement();
        self.include_law_residuals();
        self.finish(system, state, rule, iterations)
    }

    /// The contacts of a direct step: `g + γ h u ≤ ε`, and those of the last one that do not leave, where they are remembered.
    fn forecast(&mut self, options: &ProjectedMoreauJeanOptions, h: f64) {
        let (start, epsilon) = (&self.step.start, self.step.epsilon);
        let set = &start.contacts;
        for i in 0..set.len() {
            let u = set.normal_velocity(i, &start.v);
            let was = options.hysteresis && self.earlier.binary_search(&set.id[i]).is_ok();
            let closes = set.gap[i] + options.gamma * h * u <= epsilon;
            if closes || was && (set.gap[i] <= epsilon || u < 0.0) {
                self.active.push(i);
            }
        }
        if options.hysteresis {
            self.earlier.clear();
            self.earlier.extend(self.active.iter().map(|&i| set.id[i]));
            self.earlier.sort_unstable();
        }
    }

    /// The tangent of the step, projection included.
    fn set_displacement(&mut self) {
        let parts = self.smooth.xi.iter().zip(&self.projection.xi);
        for (sum, (free, lift)) in self.step.xi.iter_mut().zip(parts) {
            *sum = free + lift;
        }
    }

    /// How well laws and momentum hold, while the laws are where they were solved.
    fn include_law_residuals(&mut self) {
        let reactions = &mut self.step.reactions;
        reactions.include_law_residuals(&mut self.problem, &self.law, &self.v);
        reactions.include_momentum_residual(self.dynamics);
    }

    /// Ends the step, whose end is placed but for its mass.
    fn finish(
        &mut self,
        system: &dyn System,
        state: &mut State,
        rule: &ThetaRule,
        iterations: u32,
    ) -> Result<StepReport, StepError> {
        let Self {
            step,
            problem,
            smooth,
            v,
            ..
        } = self;
        problem.respond_without_constraints(&mut step.jump);
        step.work_external = Some(smooth.work(system, rule, &mut step.start));
        step.end.v.copy_from_slice(v);
        step.end.factor_mass(system, NAME)?;
        let mut report = step.finish(system, state, true, iterations, problem.redundant)?;
        report.remedies = self.remedies;
        Ok(report)
    }
}
