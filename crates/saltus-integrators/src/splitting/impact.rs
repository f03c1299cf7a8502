//! The end of a step: impacts at fixed positions, and the contacts that close.

use super::flow::accelerations;
use super::{Splitting, SplittingContact, SplittingOptions};
use crate::integrator::{ContactState, StepError};
use crate::kit::{Duration, Row, restitution};
use saltus_linear::{axpy, dot};
use saltus_system::{ContactSet, System};

/// An impact slower than so many times the change of the gap velocity in a step closes the contact.
const SLOW: f64 = 2.0;
/// Velocity along a contact that counts as none, relative to the momentum of the motion.
const AT_REST: f64 = 1e-9;

impl Splitting {
    /// Whether contact `i` is closed by the last steps.
    fn is_closed(&self, i: usize) -> bool {
        self.active.binary_search(&i).is_ok()
    }

    /// Velocity of contact `i` that counts as none.
    fn nothing(&self, set: &ContactSet, i: usize) -> f64 {
        self.scale
            .velocity((&set.directions, set.first_row[i]), AT_REST)
    }

    /// Contacts that touch and do not move at the start of a run are closed; their forces decide.
    pub(super) fn close_touching(&mut self) {
        self.closed.clear();
        let start = &self.step.start;
        let set = &start.contacts;
        for i in 0..set.len() {
            let u = set.normal_velocity(i, &start.v);
            if set.gap[i].abs() <= self.step.epsilon && u.abs() <= self.nothing(set, i) {
                self.closed.push(set.id[i]);
            }
        }
        self.closed.sort_unstable();
    }

    /// The closed contacts by their place in the set.
    pub(super) fn list_closed(&mut self) {
        let (closed, ids) = (&self.closed, &self.step.start.contacts.id);
        self.active.clear();
        self.active
            .extend((0..ids.len()).filter(|&i| closed.binary_search(&ids[i]).is_ok()));
    }

    /// Impact of what is closed at the end of the step, which is placed and where the flow arrives with its `v`: `0 ≤ u⁺ + e u⁻ ⟂ P ≥ 0`.
    /// Returns whether anything hit.
    pub(super) fn impact(
        &mut self,
        system: &dyn System,
        options: &SplittingOptions,
        h: f64,
    ) -> Result<bool, StepError> {
        let end = &mut self.step.end;
        end.v.copy_from_slice(&self.flow.v);
        end.evaluate_laws(system);
        self.hit.clear();
        self.closing.clear();
        let mut hits = false;
        for i in 0..self.step.end.contacts.len() {
            let end = &self.step.end;
            let u = end.contacts.normal_velocity(i, &end.v);
            let is_closed = self.is_closed(i);
            if is_closed || end.contacts.gap[i] <= self.step.epsilon {
                hits |= !is_closed && u < -self.nothing(&end.contacts, i);
                self.hit.push(i);
            }
        }
        let contact = options.contact;
        if contact == SplittingContact::Forces && hits {
            let lowest = options.error_tolerance * self.length;
            self.find_closing(system, h, options.adaptive.then_some(lowest))?;
        }
        if hits || self.step.dims.ng > 0 || !self.active.is_empty() {
            self.solve(system, hits)?;
        }
        if contact == SplittingContact::Forces {
            self.keep_closed();
        }
        Ok(hits)
    }

    /// The contacts that hit so slowly, against a gap acceleration `Γ < 0`, that they close: `|u⁻| ≤ 2 h |Γ|`, or where steps are chosen
    /// `u⁻² / (2 |Γ|) ≤ lowest`, since their length tells nothing then.
    fn find_closing(
        &mut self,
        system: &dyn System,
        h: f64,
        lowest: Option<f64>,
    ) -> Result<(), StepError> {
        let Self {
            step,
            problem,
            active,
            acceleration,
            ..
        } = self;
        let end = &mut step.end;
        accelerations(
            system,
            &mut step.reactions,
            (problem, active),
            (end, acceleration),
            0.0,
        )?;
        end.evaluate_bias(system);
        for &i in &self.hit {
            let row = Row::Normal(i, end.contacts.first_row[i]);
            let (directions, k) = end.row(row);
            let gamma = directions.dot(k, acceleration) + end.bias(row);
            let u = end.velocity(row, &end.v);
            let slow = match lowest {
                None => -u <= SLOW * h * -gamma,
                Some(lowest) => u * u <= 2.0 * -gamma * lowest,
            };
            if u < 0.0 && gamma < 0.0 && slow {
                self.closing.push(i);
            }
        }
        Ok(())
    }

    /// Takes the impulses of contact forces in the step back, where something hits: the impact then decides on those of the whole
    /// step, so that what is pressed down is not lifted by less than presses it.
    fn take_back(&mut self) {
        let Self {
            step,
            active,
            v_free,
            work,
            flow,
            ..
        } = self;
        work.fill(0.0);
        let (end, reactions) = (&step.end, &mut step.reactions);
        for &i in &*active {
            let row = end.contacts.first_row[i];
            (end.contacts.directions).axpy(row, reactions.normal[i], work);
            flow.works.moving += reactions.normal[i] * end.contacts.rate[row];
            reactions.normal[i] = 0.0;
            reactions.row[row] = 0.0;
        }
        // Kinetic energy without them, at the mean of both velocities.
        flow.works.contact -= dot(work, v_free);
        end.mass.solve(work);
        flow.works.contact += 0.5 * end.mass.form(work, work);
        axpy(-1.0, work, v_free);
        axpy(-1.0, work, &mut step.jump);
    }

    /// Solves the impact with constraints and all contacts that are closed, where anything `hits`.
    fn solve(&mut self, system: &dyn System, hits: bool) -> Result<(), StepError> {
        self.v_free.copy_from_slice(&self.flow.v);
        if hits {
            self.take_back();
        }
        let Self {
            step,
            problem,
            active,
            closing,
            hit,
            flow,
            v_free,
            ..
        } = self;
        let (end, v_before) = (&*step.end, &flow.v);
        let rebound = |row: Row| {
            let rests = matches!(row, Row::Normal(i, _)
                if active.binary_search(&i).is_ok() || closing.binary_search(&i).is_ok());
            let e = if rests {
                0.0
            } else {
                restitution(&end.contacts, row)
            };
            end.rate(row) + e * end.velocity(row, v_before)
        };
        let reactions = &mut step.reactions;
        let stages = (end, end);
        problem.pose(
            system,
            reactions,
            stages,
            hit,
            Duration::Instant,
            v_free,
            rebound,
        );
        problem.solve(system, reactions, end, end.t)?;
        let v = &mut step.end.v;
        v.copy_from_slice(v_free);
        problem.respond(v);
        reactions.take(problem, (&step.end, &step.end), (v_free, &step.end.v), 1.0);
        problem.respond_without_constraints(&mut step.jump);
        step.arrive(&flow.v);
        for i in 0..step.mean.len() {
            step.mean[i] = 0.5 * (v_free[i] + step.end.v[i]);
        }
        flow.works.add_all(problem, &step.end, &step.mean, 1.0);
        Ok(())
    }

    /// What touches and does not move is closed in the next step; its force decides.
    fn keep_closed(&mut self) {
        self.closed.clear();
        let end = &self.step.end;
        let set = &end.contacts;
        for &i in &self.hit {
            if set.normal_velocity(i, &end.v).abs() <= self.nothing(set, i) {
                self.closed.push(set.id[i]);
                self.step.reactions.state[i] = ContactState::Closed;
            }
        }
        self.closed.sort_unstable();
    }
}
