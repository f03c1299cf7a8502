//! Events on a piece of an arc: searched on the dense output, located on the predicate.
//!
//! A force or a slip must be beyond zero by more than round-off to count. The instant of the event is where it passed zero, a moment
//! before; what happens there is decided where it counts.

use super::Prepared;
use super::modes::{Mode, inner, size, slip};
use crate::integrator::StepError;
use crate::kit::{EvaluationPoint, Row};
use saltus_system::{State, System};

/// Points of a piece at which events are looked for.
const SAMPLES: u32 = 8;
/// How far beyond the end of a piece, as a share of it, a force that has passed zero there has to be beyond its threshold.
const CONTINUED: f64 = 1e-3;
/// Relative interval of time in which a change of sign beyond both thresholds is a discontinuity.
const JUMP: f64 = 4.0 * f64::EPSILON;
/// Points between two samples, where a contact has passed through its obstacle and back.
const FINE: u32 = 32;
/// Most halvings of an interval.
const HALVINGS: u32 = 200;
/// Most points at which the zero of a force or a slip is sought.
const REGULA_FALSI: u32 = 120;
/// Forces, slips and margins of friction below this share of their thresholds end the search.
const ZERO: f64 = 1e-7;

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

/// Where the modes after an event are decided, if that is not its instant.
#[derive(Debug, Default)]
pub(super) struct Decision {
    pub(super) is_after_event: bool,
    pub(super) state: State,
}

/// A contact that closes.
#[derive(Debug)]
struct Closing {
    contact: Option<usize>,
    /// The last speed of approach [m/s].
    speed: f64,
    /// Length that the round-off of its gap is a share of \[m\].
    length: f64,
    /// Where Newton's method expects the gap to vanish \[s\]; NaN where it does not approach.
    zero: f64,
}

impl Default for Closing {
    fn default() -> Self {
        Self {
            contact: None,
            speed: f64::INFINITY,
            length: 0.0,
            zero: f64::NAN,
        }
    }
}

/// Gaps of the contacts and their rates at a point.
pub(super) fn gaps_at(point: &EvaluationPoint, gaps: &mut Vec<(f64, f64)>) {
    let set = &point.contacts;
    gaps.clear();
    gaps.extend((0..set.len()).map(|i| (set.gap[i], set.normal_velocity(i, &point.v))));
}

impl Prepared {
    /// The first event on the piece just integrated between `first` and `last` \[s\] from its start: the time from there.
    pub(super) fn search(
        &mut self,
        system: &dyn System,
        first: f64,
        last: f64,
    ) -> Result<Option<f64>, StepError> {
        self.decision.is_after_event = false;
        if self.arc.modes.list.is_empty() {
            return Ok(None);
        }
        let has_closed = self.arc.modes.list.iter().any(|m| m.is_closed());
        if !has_closed && self.arc.is_parabolic() && self.stays_open(last - first) {
            return Ok(None);
        }
        let mut a = first;
        self.margins.clear();
        if has_closed {
            self.arc.evaluate_dense_output(system, a, true)?;
            self.keep_margins(a);
        }
        let samples = if self.arc.is_parabolic() { 1 } else { SAMPLES };
        for j in 1..=samples {
            let b = if j == samples {
                last
            } else {
                first + (last - first) * f64::from(j) / f64::from(samples)
            };
            let passed = self.detect_events(system, b)?;
            if !self.detected.is_empty() {
                return self.locate(system, a, b).map(Some);
            }
            if has_closed {
                self.keep_margins(b);
            }
            let of_gap = self.find_dip(system, a, b)?.map(|bottom| (a, bottom));
            let of_force = self.find_force_dip(system, j == samples)?;
            let dips = [of_gap, of_force].into_iter().flatten();
            if let Some((before, bottom)) = dips.min_by(|x, y| x.1.total_cmp(&y.1)) {
                self.detect_events(system, bottom)?;
                if !self.detected.is_empty() {
                    return self.locate(system, before, bottom).map(Some);
                }
            }
            if passed {
                let mut c = a;
                for k in 1..FINE {
                    let d = a + (b - a) * f64::from(k) / f64::from(FINE);
                    self.detect_events(system, d)?;
                    if !self.detected.is_empty() {
                        return self.locate(system, c, d).map(Some);
                    }
                    c = d;
                }
            }
            if j == samples
                && has_closed
                && let Some(s) = self.find_zero_at_end(system, first, a, last)?
            {
                return Ok(Some(s));
            }
            a = b;
        }
        Ok(None)
    }

    /// Whether all gaps, which are parabolas, stay open for `h` \[s\] in free flight.
    fn stays_open(&self, h: f64) -> bool {
        let (set, a) = (&self.step.start.contacts, self.arc.acceleration());
        let zero = self.scales.zero_gap();
        self.gaps[0].iter().enumerate().all(|(i, &(gap, u))| {
            let gamma = set.directions.dot(set.first_row[i], a);
            let bottom = if gamma > 0.0 {
                (-u / gamma).clamp(0.0, h)
            } else {
                h
            };
            gap > zero && gap + bottom * (u + 0.5 * gamma * bottom) > zero
        })
    }

    /// The zero of a force or a slip between `a` and the end of the search at `h`, which began at `first`, where it does not count yet,
    /// but does on the continuation of the dense output.
    fn find_zero_at_end(
        &mut self,
        system: &dyn System,
        first: f64,
        a: f64,
        h: f64,
    ) -> Result<Option<f64>, StepError> {
        if !self.has_passed_unnoticed() {
            return Ok(None);
        }
        let behind = h + CONTINUED * (h - first);
        self.detect_events(system, behind)?;
        self.detected.retain(|event| event.kind != Kind::Gap);
        if !self.detected.is_empty() {
            let s = self.find_zero(system, a, a, behind)?;
            if s < h {
                return Ok(Some(s));
            }
        }
        self.detected.clear();
        self.decision.is_after_event = false;
        Ok(None)
    }

    /// A point between `a`, whose gaps were kept, and `b`, where the arc was looked at last, at which an open contact that is outside
    /// of its obstacle at both is inside, on its way in. Keeps the gaps at `b`.
    fn find_dip(&mut self, system: &dyn System, a: f64, b: f64) -> Result<Option<f64>, StepError> {
        let [before, mut now] = std::mem::take(&mut self.gaps);
        gaps_at(&self.arc.trial, &mut now);
        let mut found: Option<f64> = None;
        for (i, &(g0, u0)) in before.iter().enumerate() {
            let (g1, u1) = now[i];
            let turns = g0 > 0.0 && u0 < 0.0 && g1 > 0.0 && u1 > 0.0;
            let reaches = g0 + u0 * (b - a) < 0.0 || g1 - u1 * (b - a) < 0.0;
            if self.arc.modes[i] != Mode::Open || !turns || !reaches {
                continue;
            }
            // The gap is smallest where its rate passes zero.
            let (mut low, mut high) = (a, b);
            for _ in 0..HALVINGS {
                let m = 0.5 * (low + high);
                if m <= low || m >= high {
                    break;
                }
                self.arc.evaluate_dense_output(system, m, false)?;
                let set = &self.arc.trial.contacts;
                let (gap, u) = (set.gap[i], set.normal_velocity(i, &self.arc.trial.v));
                let out_of_reach = gap > 0.0 && gap > 2.0 * u.abs() * (high - low);
                if u < 0.0 && gap < 0.0 {
                    found = Some(found.map_or(m, |other| other.min(m)));
                    break;
                }
                if out_of_reach {
                    break;
                }
                if u < 0.0 {
                    low = m;
                } else {
                    high = m;
                }
            }
        }
        self.gaps = [now, before];
        Ok(found)
    }

    /// The instant between `a`, where nothing happens, and `b`, where something does; leaves what happens there in `detected`.
    ///
    /// The gap of a contact that closes is followed to its zero by Newton's method, safeguarded by halving; everything else is halved.
    fn locate(&mut self, system: &dyn System, before: f64, mut b: f64) -> Result<f64, StepError> {
        let mut a = before;
        let least = 1e-30 * b;
        let mut closing = Closing::default();
        self.take_closing(&mut closing, b);
        // How far the last step of Newton's method went, and how far the last point was from the end of the interval.
        let (mut length, mut beyond) = (b - a, 0.0);
        for _ in 0..HALVINGS {
            // Round-off of the time, or time in which the gap changes by its round-off.
            let resolution = f64::EPSILON * b.max(closing.length / closing.speed);
            if b - a <= resolution || b < least {
                break;
            }
            let was_ahead = self.detected.is_empty();
            let (from, side) = if was_ahead { (a, 1.0) } else { (b, -1.0) };
            let step = (closing.zero - from).abs();
            let is_between = a <= closing.zero && closing.zero <= b && b - a > 4.0 * resolution;
            let m = if is_between && 2.0 * step <= length && length > resolution {
                (length, beyond) = (step, resolution);
                // Beyond the zero, so that it comes between points close to each other.
                closing.zero + side * resolution
            } else if is_between && 16.0 * step.max(beyond) < b - a {
                // Round-off keeps the zero on this side: farther beyond it.
                (length, beyond) = (0.0, 8.0 * beyond.max(step));
                from + side * beyond
            } else {
                length = 0.5 * (b - a);
                0.5 * (a + b)
            };
            self.detect_events(system, m)?;
            if self.detected.is_empty() {
                a = m;
            } else {
                b = m;
            }
            self.take_closing(&mut closing, m);
        }
        self.detect_events(system, b)?;
        if self.detected.iter().any(|event| event.kind == Kind::Gap) {
            return Ok(b);
        }
        self.find_zero(system, before, a, b)
    }

    /// Takes up the contact of the events detected last that closes, at the instant `s` where the arc was looked at.
    fn take_closing(&self, closing: &mut Closing, s: f64) {
        let mut events = self.detected.iter();
        if let Some(event) = events.find(|event| event.kind == Kind::Gap) {
            closing.contact = Some(event.contact);
        }
        closing.zero = f64::NAN;
        if let Some(i) = closing.contact {
            let work = &self.arc.trial;
            let u = work.contacts.normal_velocity(i, &work.v);
            if u < 0.0 {
                closing.speed = -u;
                closing.length = self.length_of_gap(i, s);
                closing.zero = s - work.contacts.gap[i] / u;
            }
        }
    }

    /// Length \[m\] that the round-off of the gap of contact `i` is a share of, where the arc was looked at last, at the instant `s`.
    fn length_of_gap(&self, i: usize, s: f64) -> f64 {
        let arc = &self.arc;
        if !arc.is_flat {
            return self.scales.length;
        }
        let (matrix, row) = arc
            .trial
            .row(Row::Normal(i, arc.trial.contacts.first_row[i]));
        let terms = matrix.cols(row).iter().zip(matrix.values(row));
        terms.map(|(&j, w)| w.abs() * arc.size_of_terms(j, s)).sum()
    }

    /// The first instant after `a` at which one of the events detected at `b`, where the arc was looked at last, passed zero; nothing
    /// happens up to `last`. Keeps the state at `b` for the decision.
    fn find_zero(
        &mut self,
        system: &dyn System,
        a: f64,
        last: f64,
        b: f64,
    ) -> Result<f64, StepError> {
        let State { t, q, v } = &mut self.decision.state;
        *t = self.arc.trial.t;
        q.clone_from(&self.arc.trial.q);
        v.clone_from(&self.arc.trial.v);
        let mut first = b;
        for k in 0..self.detected.len() {
            let event = self.detected[k];
            let [before, near, after] = [a, last, b].map(|s| self.margin_of_at(system, event, s));
            let (before, near, after) = (before?, near?, after?);
            // What counts on both sides of round-off jumps, and is at `b`.
            let jumps = near > 1.0 && b - last <= JUMP * b;
            if before >= 0.0 && after < 0.0 && !jumps {
                let zero = self.regula_falsi(system, event, [(a, before), (b, after)])?;
                first = first.min(zero);
            }
        }
        // A zero where the arc begins is the event that was handled there.
        self.decision.is_after_event = first > 0.0 && first < b;
        Ok(if self.decision.is_after_event {
            first
        } else {
            b
        })
    }

    fn margin_of_at(
        &mut self,
        system: &dyn System,
        event: Detected,
        s: f64,
    ) -> Result<f64, StepError> {
        self.arc.evaluate_dense_output(system, s, true)?;
        Ok(self.margin_of(event))
    }

    /// Where `event` passes zero between the two points, by secants that keep it between them.
    fn regula_falsi(
        &mut self,
        system: &dyn System,
        event: Detected,
        [mut left, mut right]: [(f64, f64); 2],
    ) -> Result<f64, StepError> {
        let mut side = 0;
        for k in 0..REGULA_FALSI {
            let ((a, before), (b, after)) = (left, right);
            if b - a <= 2.0 * f64::EPSILON * b || before <= ZERO {
                break;
            }
            let m = b - after * (b - a) / (after - before);
            // Near a multiple zero secants hardly move.
            let m = if m > a && m < b && k % 3 < 2 {
                m
            } else {
                0.5 * (a + b)
            };
            self.arc.evaluate_dense_output(system, m, true)?;
            let value = self.margin_of(event);
            // The end that stays where it is counts half.
            if value >= 0.0 {
                left = (m, value);
                if side == 1 {
                    right.1 *= 0.5;
                }
                side = 1;
            } else {
                right = (m, value);
                if side == -1 {
                    left.1 *= 0.5;
                }
                side = -1;
            }
        }
        Ok(left.0)
    }

    /// Margin of the force or slip of an event over its threshold, where the arc was looked at with forces: negative is beyond zero, and
    /// below −1 it counts.
    pub(super) fn margin_of(&self, event: Detected) -> f64 {
        let arc = &self.arc;
        let i = event.contact;
        let member = arc.accelerations.contacts().iter().position(|c| *c == i);
        let Some(carried) = member.map(|k| arc.accelerations.contact_force(k)) else {
            return 0.0;
        };
        let zero = self.scales.zero_acceleration();
        match (event.kind, arc.modes[i]) {
            (Kind::SlipStop, Mode::Slip(direction)) => {
                let slip = slip(&arc.trial, i, arc.modes.tangents[i]);
                inner(direction, slip) / self.scales.zero_slip()
            }
            (Kind::StickBreak, _) => {
                let mu = arc.trial.contacts.law[i].mu_static;
                let margin = mu * carried.normal - size(carried.tangent);
                margin * carried.compliance[1] / zero
            }
            _ => carried.normal * carried.compliance[0] / zero,
        }
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
        let deep = 10.0 * self.scales.zero_gap();
        for i in 0..self.arc.modes.len() {
            if self.arc.modes[i] != Mode::Open {
                continue;
            }
            let set = &self.arc.trial.contacts;
            let gap = set.gap[i];
            if gap >= 0.0 {
                continue;
            }
            let u = set.normal_velocity(i, &self.arc.trial.v);
            if u >= 0.0 {
                passed |= gap < -deep && self.step.start.contacts.gap[i] >= -deep;
                continue;
            }
            if gap > -self.scales.zero_gap() && self.may_graze(u) {
                if !has_forces {
                    self.arc.evaluate_dense_output(system, s, true)?;
                    has_forces = true;
                }
                let gamma = self.gap_acceleration_in_arc(i);
                if self.is_grazing((gap, u), gamma) {
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
        u * u < 4.0 * self.scales.acceleration * self.scales.zero_gap()
            || -u <= self.scales.zero_velocity()
    }

    /// Whether an approach is none: the contact turns before its gap counts, or it is round-off of one that touches without force.
    fn is_grazing(&self, (gap, u): (f64, f64), gamma: f64) -> bool {
        let zero = self.scales.zero_acceleration();
        (gamma > zero && u * u < 2.0 * gamma * (self.scales.zero_gap() + gap))
            || (-u <= self.scales.zero_velocity() && gamma >= -zero)
    }

    /// Acceleration of the gap of a contact where the arc was looked at with forces.
    fn gap_acceleration_in_arc(&mut self, i: usize) -> f64 {
        let arc = &mut self.arc;
        arc.accelerations.accelerate(&mut self.work);
        let row = Row::Normal(i, arc.trial.contacts.first_row[i]);
        let (matrix, r) = arc.trial.row(row);
        matrix.dot(r, &self.work) + arc.trial.bias(row)
    }

    /// Closed contacts that open, stop, or begin to slip.
    fn detect_at_closed(&mut self) {
        for k in 0..self.arc.accelerations.contacts().len() {
            let contact = self.arc.accelerations.contacts()[k];
            let change = match self.arc.modes[contact] {
                Mode::Slip(_) => Some(Kind::SlipStop),
                Mode::Stick => Some(Kind::StickBreak),
                Mode::Open | Mode::Closed => None,
            };
            for kind in [Some(Kind::Force), change].into_iter().flatten() {
                let event = Detected { contact, kind };
                if self.margin_of(event) < -1.0 {
                    self.detected.push(event);
                }
            }
        }
    }
}
