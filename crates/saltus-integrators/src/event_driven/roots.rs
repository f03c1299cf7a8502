//! Events on a piece of an arc: searched on the dense output, bisected on the predicate.

use super::Own;
use super::modes::{Mode, inner, size, slip};
use crate::integrator::StepError;
use crate::kit::Row;
use saltus_system::System;

/// Points of a piece at which events are looked for.
const SAMPLES: u32 = 8;
/// Points between two of them where a contact has passed through its obstacle and back.
const FINE: u32 = 32;
/// Most halvings of an interval.
const HALVINGS: u32 = 200;

/// Why an arc ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An open contact closes.
    Gap,
    /// A closed contact pulls.
    Force,
    /// A slipping contact stops.
    SlipStop,
    /// A sticking contact leaves its cone.
    StickBreak,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gap => "impact",
            Self::Force => "open",
            Self::SlipStop => "stick",
            Self::StickBreak => "slip",
        }
    }
}

/// An event at a contact, by its place in the set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detected {
    pub(super) contact: usize,
    pub(super) kind: Kind,
}

impl Own {
    /// The first event on the piece just integrated, `h` \[s\] long: the time from its start.
    pub(super) fn search(&mut self, system: &dyn System, h: f64) -> Result<Option<f64>, StepError> {
        if self.arc.modes.list.is_empty() {
            return Ok(None);
        }
        let mut a = 0.0;
        for j in 1..=SAMPLES {
            let b = h * f64::from(j) / f64::from(SAMPLES);
            let passed = self.detect_events(system, b)?;
            if !self.detected.is_empty() {
                return self.bisect(system, a, b, h).map(Some);
            }
            if passed {
                let mut c = a;
                for k in 1..FINE {
                    let d = a + (b - a) * f64::from(k) / f64::from(FINE);
                    self.detect_events(system, d)?;
                    if !self.detected.is_empty() {
                        return self.bisect(system, c, d, h).map(Some);
                    }
                    c = d;
                }
            }
            a = b;
        }
        Ok(None)
    }

    /// The instant between `a`, where nothing happens, and `b`, where something does; leaves what happens there in `detected`.
    fn bisect(
        &mut self,
        system: &dyn System,
        mut a: f64,
        mut b: f64,
        h: f64,
    ) -> Result<f64, StepError> {
        for _ in 0..HALVINGS {
            let m = 0.5 * (a + b);
            if b - a <= f64::EPSILON * b || b < 1e-30 * h {
                break;
            }
            self.detect_events(system, m)?;
            if self.detected.is_empty() {
                a = m;
            } else {
                b = m;
            }
        }
        self.detect_events(system, b)?;
        Ok(b)
    }

    /// What happens `s` \[s\] after the start of the piece, in `detected`; whether a contact is inside of its obstacle on its way out.
    fn detect_events(&mut self, system: &dyn System, s: f64) -> Result<bool, StepError> {
        self.detected.clear();
        let has_closed = self.arc.modes.list.iter().any(|m| m.is_closed());
        self.arc.evaluate_dense_output(system, s, has_closed)?;
        let passed = self.detect_closing(system, s, has_closed)?;
        if has_closed {
            self.detect_at_closed();
        }
        Ok(passed)
    }

    /// Open contacts that close.
    fn detect_closing(
        &mut self,
        system: &dyn System,
        s: f64,
        mut has_forces: bool,
    ) -> Result<bool, StepError> {
        let mut passed = false;
        let deep = 10.0 * self.scales.gap();
        for i in 0..self.arc.modes.len() {
            if self.arc.modes[i] != Mode::Open {
                continue;
            }
            let set = &self.arc.work.contacts;
            let gap = set.gap[i];
            if gap >= 0.0 {
                continue;
            }
            let u = set.normal_velocity(i, &self.arc.work.v);
            if u >= 0.0 {
                passed |= gap < -deep && self.step.start.contacts.gap[i] >= -deep;
                continue;
            }
            if gap > -self.scales.gap() && self.may_graze(u) {
                if !has_forces {
                    self.arc.evaluate_dense_output(system, s, true)?;
                    has_forces = true;
                }
                let gamma = self.gap_acceleration_in_arc(i);
                if self.is_grazing(u, gamma) {
                    continue;
                }
            }
            self.detected.push(Detected {
                contact: i,
                kind: Kind::Gap,
            });
        }
        Ok(passed)
    }

    /// Whether a contact may turn before it is deeper than a gap that counts, at the largest acceleration of the motion.
    fn may_graze(&self, u: f64) -> bool {
        u * u < 4.0 * self.scales.acceleration * self.scales.gap() || -u <= self.scales.velocity()
    }

    /// Whether an approach is none: it turns before it counts, or it is round-off of a contact that touches without force.
    fn is_grazing(&self, u: f64, gamma: f64) -> bool {
        let none = self.scales.acceleration();
        (gamma > none && u * u < 2.0 * gamma * self.scales.gap())
            || (-u <= self.scales.velocity() && gamma >= -none)
    }

    /// Acceleration of the gap of a contact where the arc was looked at with forces.
    fn gap_acceleration_in_arc(&mut self, i: usize) -> f64 {
        let arc = &mut self.arc;
        arc.accelerations.accelerate(&mut self.work);
        let row = Row::Normal(i, arc.work.contacts.first_row[i]);
        let (matrix, r) = arc.work.row(row);
        matrix.dot(r, &self.work) + arc.work.bias(row)
    }

    /// Closed contacts that open, stop, or begin to slip.
    fn detect_at_closed(&mut self) {
        let none = self.scales.acceleration();
        let arc = &self.arc;
        for (k, &i) in arc.accelerations.contacts().iter().enumerate() {
            let carried = arc.accelerations.contact_force(k);
            if carried.normal * carried.compliance[0] < -none {
                self.detected.push(Detected {
                    contact: i,
                    kind: Kind::Force,
                });
            }
            let set = &arc.work.contacts;
            let kind = match arc.modes[i] {
                Mode::Slip(direction) => {
                    let slip = slip(&arc.work, i, arc.modes.tangents[i]);
                    (inner(direction, slip) < -self.scales.slip()).then_some(Kind::SlipStop)
                }
                Mode::Stick => {
                    let margin = set.law[i].mu_static * carried.normal - size(carried.tangent);
                    (margin * carried.compliance[1] < -none).then_some(Kind::StickBreak)
                }
                Mode::Open | Mode::Closed => None,
            };
            self.detected
                .extend(kind.map(|kind| Detected { contact: i, kind }));
        }
    }
}
