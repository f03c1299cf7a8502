//! What happens at an instant: drift removed, impact, new modes, events.

use super::modes::{Mode, inner};
use super::options::Accumulation;
use super::roots::Kind;
use super::{NAME, Prepared};
use crate::integrator::{Event, EventKind, StepError};
use crate::kit::{Row, contact_event};
use saltus_system::{ConstraintKind, System};

/// Speed that ends an accumulation, over the relative error of the integration.
const ERRORS: f64 = 100.0;
/// Projections of positions onto the constraints.
const PROJECTIONS: usize = 5;

impl Prepared {
    /// Sizes of the motion at the end of the step.
    pub(super) fn update_scales(&mut self) {
        let (end, scales) = (&self.step.end, &mut self.scales);
        let work = &mut self.work;
        work.copy_from_slice(&end.force);
        end.mass.solve(work);
        let set = &end.contacts;
        // No contact may have been near at the start.
        let is_unknown = scales.length == 0.0;
        for i in 0..set.len() {
            let first = set.first_row[i];
            if is_unknown {
                let terms = set.directions.cols(first).iter();
                let terms = terms.zip(set.directions.values(first));
                let positions = |(&j, w): (&usize, &f64)| (w * end.q[j]).abs();
                let reach: f64 = if self.arc.is_flat {
                    terms.map(positions).sum()
                } else {
                    0.0
                };
                let moved = self.nominal * set.normal_velocity(i, &end.v).abs();
                let length = set.gap[i].abs().max(reach).max(moved);
                scales.length = scales.length.max(length);
            }
            for row in first..=first + self.arc.modes.tangents[i] {
                let of = Row::Normal(i, row);
                let speed = set.directions.magnitude(row, &end.v);
                let rate = set.directions.magnitude(row, work);
                scales.speed = scales.speed.max(speed + end.rate(of).abs());
                scales.acceleration = scales.acceleration.max(rate + end.bias(of).abs());
            }
        }
        let fall = (scales.acceleration * scales.length).sqrt();
        scales.speed = scales.speed.max(fall);
        self.arc.modes.slowest = self.scales.zero_slip();
        self.arc.speed = self.scales.speed;
    }

    /// Whether a closed contact approaches at the end of the step.
    pub(super) fn approaches(&self) -> bool {
        let (set, v) = (&self.step.end.contacts, &self.step.end.v);
        (0..set.len()).any(|i| {
            set.gap[i] <= self.scales.zero_gap()
                && set.normal_velocity(i, v) < -self.scales.zero_velocity()
        })
    }

    /// Speed below which an impact ends an accumulation [m/s].
    pub(super) fn v_acc(&self) -> f64 {
        // Far above the error of the speed after a flight.
        let share = (ERRORS * self.options.rtol).max(1e-7);
        self.options.v_acc.unwrap_or(share * self.scales.speed)
    }

    /// Impact and new modes at the end stage, which is evaluated.
    pub(super) fn update_at_event(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.remove_drift(system)?;
        self.before.clone_from(&self.arc.modes.list);
        self.v_before.copy_from_slice(&self.step.end.v);
        self.find_closed();
        let hits = self.closed.iter().any(|&i| self.hits(i));
        if hits {
            self.decision.is_after_event = false;
            self.impact(system)?;
            if self.time_stepping.is_some() {
                return Ok(());
            }
            self.evaluate_end_forces(system)?;
        }
        self.find_persistent();
        if self.decision.is_after_event {
            self.select_modes_ahead(system)?;
        } else {
            self.select_modes(system)?;
        }
        self.stop_slow_approaches(system)?;
        self.remove_velocity_drift(system)?;
        self.at_rest_in_space.clear();
        self.record_mode_changes();
        Ok(())
    }

    /// Chooses the modes at the state of the decision, a moment after the event.
    fn select_modes_ahead(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.decision.is_after_event = false;
        self.exchange_with_decision(system)?;
        self.remove_drift(system)?;
        self.select_modes(system)?;
        self.exchange_with_decision(system)
    }

    fn exchange_with_decision(&mut self, system: &dyn System) -> Result<(), StepError> {
        let (end, state) = (&mut self.step.end, &mut self.decision.state);
        std::mem::swap(&mut end.t, &mut state.t);
        std::mem::swap(&mut end.q, &mut state.q);
        std::mem::swap(&mut end.v, &mut state.v);
        self.evaluate_end(system)
    }

    /// The contacts that are closed: those that were, and those that touch and do not leave.
    fn find_closed(&mut self) {
        let (set, v) = (&self.step.end.contacts, &self.step.end.v);
        let (modes, detected) = (&self.arc.modes, &self.detected);
        let (gap, velocity) = (self.scales.zero_gap(), self.scales.zero_velocity());
        self.closed.clear();
        self.closed.extend((0..set.len()).filter(|&i| {
            modes[i].is_closed()
                || (set.gap[i] <= gap && set.normal_velocity(i, v) <= velocity)
                || detected
                    .iter()
                    .any(|f| f.contact == i && f.kind == Kind::Gap)
        }));
    }

    /// Whether a contact approaches fast enough for an impact.
    pub(super) fn hits(&self, i: usize) -> bool {
        let set = &self.step.end.contacts;
        let u = set.normal_velocity(i, &self.v_before);
        let unguarded = self.v_acc() == 0.0
            && self.arc.modes[i] == Mode::Open
            && set.law[i].e_n > 0.0
            && set.gap[i] < 0.0;
        u < if unguarded {
            0.0
        } else {
            -self.scales.zero_velocity()
        }
    }

    /// Of the closed contacts those without velocity.
    fn find_persistent(&mut self) {
        let (set, v) = (&self.step.end.contacts, &self.step.end.v);
        self.persistent.clear();
        for &i in &self.closed {
            let u = set.normal_velocity(i, v);
            let leaves = self.v_acc() == 0.0 && u > 0.0 && self.impact.rebounds(i);
            if u <= self.scales.zero_velocity() && !leaves {
                self.persistent.push(i);
            }
        }
    }

    /// Ends approaches of open contacts that are too slow for an impact.
    fn stop_slow_approaches(&mut self, system: &dyn System) -> Result<(), StepError> {
        let end = &self.step.end;
        let modes = &self.arc.modes;
        let u = |i: usize| end.contacts.normal_velocity(i, &end.v);
        let slow = |i: &usize| modes[*i] == Mode::Open && u(*i) < 0.0;
        if !self.persistent.iter().any(slow) {
            return Ok(());
        }
        let stopped = (0..modes.len())
            .filter(|i| modes[*i].is_closed() || (self.persistent.contains(i) && slow(i)));
        let accelerations = &mut self.arc.accelerations;
        accelerations.condense(end, self.step.dims.ng, stopped, |_| 1);
        let value = |row: Row| end.velocity(row, &end.v);
        accelerations.remove(value, &mut self.work);
        saltus_linear::axpy(1.0, &self.work, &mut self.step.end.v);
        self.evaluate_end_forces(system)
    }

    /// Projects positions and velocities of constraints and closed contacts, in the metric of the mass.
    pub(super) fn remove_drift(&mut self, system: &dyn System) -> Result<(), StepError> {
        let ng = self.step.dims.ng;
        if ng == 0 && self.arc.modes.list.iter().all(|mode| !mode.is_closed()) {
            return Ok(());
        }
        let mut g = std::mem::take(&mut self.bilateral_force);
        let mut moved = false;
        for _ in 0..PROJECTIONS {
            let end = &self.step.end;
            if ng > 0 {
                system.g(end.t, &end.q, &mut g);
                for (i, g) in g.iter_mut().enumerate() {
                    if system.constraint_kind(i) == ConstraintKind::Velocity {
                        *g = 0.0;
                    }
                }
            }
            let modes = &self.arc.modes;
            let closed = (0..modes.len()).filter(|&i| modes[i].is_closed());
            let accelerations = &mut self.arc.accelerations;
            accelerations.condense(end, ng, closed, |_| 1);
            let value = |row: Row| match row {
                Row::Bilateral(i) => g[i],
                Row::Normal(i, _) => end.contacts.gap[i],
                Row::JointFriction(_) | Row::Tangent(..) => 0.0,
            };
            let size = accelerations.largest(value);
            let exact = 2e-16 * self.scales.length.max(saltus_linear::max_abs(&end.q));
            if size <= exact {
                break;
            }
            accelerations.remove(value, &mut self.work);
            let end = &mut self.step.end;
            system.retract(&mut end.q, &self.work);
            end.evaluate(system, NAME)?;
            moved = true;
        }
        self.bilateral_force = g;
        if moved {
            self.evaluate_end_forces(system)?;
        }
        self.remove_velocity_drift(system)
    }

    /// Projects velocities of constraints, closed contacts, and of those that stick or begin to slip in space, whose direction of slip
    /// is that of the mode and not of round-off.
    pub(super) fn remove_velocity_drift(&mut self, system: &dyn System) -> Result<(), StepError> {
        let end = &self.step.end;
        let modes = &self.arc.modes;
        let accelerations = &mut self.arc.accelerations;
        let closed = (0..modes.len()).filter(|&i| modes[i].is_closed());
        let at_rest = &self.at_rest_in_space;
        accelerations.condense(end, self.step.dims.ng, closed, |i| {
            let stops = modes[i] == Mode::Stick || at_rest.contains(&i);
            1 + if stops { modes.tangents[i] } else { 0 }
        });
        let value = |row: Row| end.velocity(row, &end.v);
        if accelerations.largest(value) == 0.0 {
            return Ok(());
        }
        accelerations.remove(value, &mut self.work);
        saltus_linear::axpy(1.0, &self.work, &mut self.step.end.v);
        self.evaluate_end_forces(system)
    }

    /// Counts the events since the last output.
    pub(super) fn count_event(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.events += 1;
        let spacing = self.arc.time();
        self.last_event = self.step.end.t;
        if self.events <= self.options.max_events {
            return Ok(());
        }
        let Some(event) = self.detected.first() else {
            return Ok(());
        };
        let set = &self.step.end.contacts;
        Err(StepError::TooManyEvents {
            contact: system.names().contact(set.id[event.contact]),
            kind: event.kind.name(),
            spacing,
            count: self.events,
            t: self.step.end.t,
        })
    }

    /// Events of contacts whose mode is another than before.
    fn record_mode_changes(&mut self) {
        for i in 0..self.before.len() {
            let kind = match (self.before[i], self.arc.modes[i]) {
                (Mode::Open, Mode::Open) => continue,
                (Mode::Open, _) => EventKind::Close,
                (_, Mode::Open) => EventKind::Open,
                (Mode::Slip(_), Mode::Stick) => EventKind::Stick,
                (Mode::Stick, Mode::Slip(_)) => EventKind::Slip,
                (Mode::Slip(a), Mode::Slip(b)) if inner(a, b) < 0.0 => EventKind::Slip,
                _ => continue,
            };
            let event = self.event(i, kind, |_| 0.0);
            self.step.events.push(event);
        }
    }

    /// What happened to contact `i` at the end of the step, with the impulses of its rows [N·s].
    pub(super) fn event(&self, i: usize, kind: EventKind, impulse: impl Fn(usize) -> f64) -> Event {
        let end = &self.step.end;
        let set = &end.contacts;
        let before = |row: usize| set.directions.dot(row, &self.v_before) + set.rate[row];
        contact_event(set, i, (kind, end.t), (before, &end.v), impulse)
    }

    /// Whether an impact of contact `i` below the speed of accumulation, pressed together by `gamma` < 0, ends one.
    pub(super) fn ends_accumulation(&self, i: usize, gamma: f64) -> bool {
        let set = &self.step.end.contacts;
        let u = set.normal_velocity(i, &self.v_before);
        self.arc.modes[i] == Mode::Open
            && set.law[i].e_n > 0.0
            && u < 0.0
            && -u < self.v_acc()
            && gamma < -self.scales.zero_acceleration()
    }

    pub(super) fn hands_over(&self) -> bool {
        self.options.accumulation == Accumulation::TimeStepping
    }
}
