//! The rest rule: which contacts of an event stay closed.

use super::EventLoop;
use crate::higher_order::options::HigherOrderOptions;
use crate::higher_order::stages::{noise, pressed, speed_noise};
use crate::integrator::StepError;
use crate::kit::{Duration, Row};
use saltus_linear::max_abs;
use saltus_system::System;

impl EventLoop {
    /// Closes those of the contacts `together` that rest, or that forces bring to rest within half of `eta`, and that are pressed
    /// together; `velocity` is that of each contact of the set.
    pub(super) fn apply_rest_rule(
        &mut self,
        system: &dyn System,
        options: &HigherOrderOptions,
        eta: f64,
    ) -> Result<(), StepError> {
        if options.rest_rule && !self.together.is_empty() {
            self.find_returning(system, eta)?;
        } else {
            self.returning.clear();
        }
        let (at, step) = (&self.at, &mut self.step);
        let (velocity, returning) = (&self.velocity, &self.returning);
        self.together.retain(|&i| {
            let row = Row::Normal(i, at.contacts.first_row[i]);
            velocity[i].abs() <= speed_noise(step, at, row) || returning.contains(&i)
        });
        self.closed.clear();
        if self.together.is_empty() {
            return Ok(());
        }
        let (free, acceleration) = (&mut self.free, &mut self.force);
        let solver = (step, &mut self.problem);
        pressed(
            system,
            solver,
            &mut self.at,
            &self.together,
            (free, acceleration),
        )?;
        let at = &self.at;
        for (row, force) in self.problem.impulses() {
            if let Row::Normal(i, r) = row {
                let gamma = at.contacts.directions.dot(r, &self.force) + at.bias(row);
                if force > 0.0 || gamma <= noise(at, r, &self.free) {
                    self.closed.push(i);
                }
            }
        }
        Ok(())
    }

    /// Round-off of gaps about the start of the rest of the step \[m\].
    pub(super) fn gap_round_off(&self) -> f64 {
        4.0 * f64::EPSILON * max_abs(&self.at.q)
    }

    /// Finds those of the contacts `together` that would be back within `eta`, all at once: with the time `τ = η/2`,
    ///
    /// ```text
    /// v⁺ = v + τ M⁻¹ f + M⁻¹ (Gᵀ P + W R) ,   G v⁺ + τ ζ = 0 ,   0 ≤ Wᵀ v⁺ + τ ζ ⟂ R ≥ 0 ,
    /// ```
    ///
    /// has `R > 0` where forces close the contact, be it through other contacts.
    fn find_returning(&mut self, system: &dyn System, eta: f64) -> Result<(), StepError> {
        // A flight no higher than this counts as rest.
        let height = self.step.epsilon.max(4.0 * self.gap_round_off());
        // Without the contacts, but with the constraints.
        let solver = (&mut self.step, &mut self.problem);
        let (free, without) = (&mut self.free, &mut self.force);
        pressed(system, solver, &mut self.at, &[], (free, without))?;
        let at = &self.at;
        let fall = self.together.iter().map(|&i| {
            let r = at.contacts.first_row[i];
            at.contacts.directions.dot(r, without) + at.bias(Row::Normal(i, r))
        });
        let fall = fall.fold(0.0_f64, |most, gamma| most.max(-gamma));
        let tau = if fall > 0.0 {
            (0.5 * eta).max((2.0 * height / fall).sqrt())
        } else {
            0.5 * eta
        };
        for (v, before) in free.iter_mut().zip(&at.v) {
            *v = before + tau * *v;
        }
        let velocity = &self.velocity;
        let offset = |row: Row| {
            let own = match row {
                // The velocity that the impact law gave, along the directions of the impact.
                Row::Normal(i, r) => velocity[i] - at.contacts.directions.dot(r, &at.v),
                _ => at.rate(row),
            };
            own + tau * at.bias(row)
        };
        let time = Duration::Time(tau);
        let (problem, reactions) = (&mut self.problem, &mut self.step.reactions);
        let together = &self.together;
        problem.pose(system, reactions, (at, at), together, time, free, offset);
        problem.solve(system, reactions, at, at.t)?;
        self.returning.clear();
        for (row, impulse) in problem.impulses() {
            if let Row::Normal(i, _) = row
                && impulse > 0.0
            {
                self.returning.push(i);
            }
        }
        Ok(())
    }
}
