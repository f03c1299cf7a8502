//! Events on a piece of an arc: searched on the dense output, bisected on the predicate.
//!
//! A force or a slip must be beyond zero by more than round-off to count. The instant of the event is where it passed zero, a moment
//! before; what happens there is decided where it counts.

use super::Own;
use super::modes::{Mode, inner, size, slip};
use crate::integrator::StepError;
use crate::kit::{Row, Stage};
use saltus_system::{State, System};

/// A gap that is a cubic but for an error stays open where it is so many times larger than that.
const RESERVE: f64 = 8.0;
/// Points of a part of a piece at which events are looked for.
const SAMPLES: u32 = 8;
/// Points between two of them where a contact has passed through its obstacle and back.
const FINE: u32 = 32;
/// Most halvings of an interval.
const HALVINGS: u32 = 200;
/// Most points at which the zero of a force or a slip is sought.
const SECANTS: u32 = 120;
/// Forces, slips and margins of friction below this share of what counts are zero.
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
    pub(super) is_ahead: bool,
    pub(super) state: State,
}

/// Gaps of the contacts and their rates at a stage.
fn gaps_at(stage: &Stage, gaps: &mut Vec<(f64, f64)>) {
    let set = &stage.contacts;
    gaps.clear();
    gaps.extend((0..set.len()).map(|i| (set.gap[i], set.normal_velocity(i, &stage.v))));
}

impl Own {
    /// The first event between `from` and `to` \[s\] after the start of the piece under way: the time from there.
    pub(super) fn search(
        &mut self,
        system: &dyn System,
        (from, to): (f64, f64),
    ) -> Result<Option<f64>, StepError> {
        self.decision.is_ahead = false;
        if self.arc.modes.list.is_empty() {
            return Ok(None);
        }
        let length = self.arc.length();
        let has_closed = self.arc.modes.list.iter().any(|m| m.is_closed());
        let mut a = from;
        if has_closed || from == 0.0 {
            self.arc.evaluate_dense_output(system, a, has_closed)?;
            gaps_at(&self.arc.work, &mut self.gaps[0]);
        } else {
            gaps_at(&self.step.start, &mut self.gaps[0]);
            if self.stays_open(system, (from, to))? {
                return Ok(None);
            }
        }
        self.margins.clear();
        if has_closed {
            self.keep_margins(a);
        }
        for j in 1..=SAMPLES {
            let b = if j == SAMPLES {
                to
            } else {
                from + (to - from) * f64::from(j) / f64::from(SAMPLES)
            };
            let passed = self.detect_events(system, b)?;
            if !self.detected.is_empty() {
                return self.bisect(system, a, b, length).map(Some);
            }
            if has_closed {
                self.keep_margins(b);
            }
            let mut dip = self.find_dip(system, a, b)?.map(|bottom| (a, bottom));
            if has_closed {
                let of_force = self.find_force_dip(system, j == SAMPLES)?;
                dip = match (dip, of_force) {
                    (Some(x), Some(y)) => Some(if y.1 < x.1 { y } else { x }),
                    (x, y) => x.or(y),
                };
            }
            if let Some((before, inside)) = dip {
                self.detect_events(system, inside)?;
                if !self.detected.is_empty() {
                    return self.bisect(system, before, inside, length).map(Some);
                }
            }
            if passed {
                let mut c = a;
                for k in 1..FINE {
                    let d = a + (b - a) * f64::from(k) / f64::from(FINE);
                    self.detect_events(system, d)?;
                    if !self.detected.is_empty() {
                        return self.bisect(system, c, d, length).map(Some);
                    }
                    c = d;
                }
            }
            a = b;
        }
        Ok(None)
    }

    /// Whether no contact, all of them open, comes near its obstacle between `from`, whose gaps were kept, and `to`: their gaps are cubics, as
    /// the middle shows, that stay away from zero.
    fn stays_open(
        &mut self,
        system: &dyn System,
        (from, to): (f64, f64),
    ) -> Result<bool, StepError> {
        let middle = 0.5 * (from + to);
        self.arc.evaluate_dense_output(system, middle, false)?;
        gaps_at(&self.arc.work, &mut self.gaps[1]);
        let mut last = std::mem::take(&mut self.last_gaps);
        self.arc.evaluate_dense_output(system, to, false)?;
        gaps_at(&self.arc.work, &mut last);
        let h = to - from;
        let stays = (0..last.len()).all(|i| {
            let [(g0, u0), (g, u), (g1, u1)] = [self.gaps[0][i], self.gaps[1][i], last[i]];
            let errors = [
                0.5 * (g0 + g1) + 0.125 * h * (u0 - u1) - g,
                0.5 * h * (1.5 * (g1 - g0) / h - 0.25 * (u0 + u1) - u),
            ];
            let error = errors[0].abs().max(errors[1].abs());
            let lowest = g0.min(g).min(g1);
            let falls = h * (u0.min(u).min(0.0).abs()).max(u.max(u1).max(0.0));
            let turns = u0 < 0.0 && u1 > 0.0;
            lowest > RESERVE * error && (!turns || lowest > falls)
        });
        self.last_gaps = last;
        Ok(stays)
    }

    /// A point between `a`, whose gaps were kept, and `b`, where the arc was looked at last, at which an open contact that is outside
    /// of its obstacle at both is inside, on its way in. Keeps the gaps at `b`.
    fn find_dip(&mut self, system: &dyn System, a: f64, b: f64) -> Result<Option<f64>, StepError> {
        let [before, mut now] = std::mem::take(&mut self.gaps);
        gaps_at(&self.arc.work, &mut now);
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
                let set = &self.arc.work.contacts;
                let (gap, u) = (set.gap[i], set.normal_velocity(i, &self.arc.work.v));
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

    /// The contact whose gap alone made the event where the arc was looked at last, with its gaps at `a` and there: secants find its zero.
    fn gaps_around(
        &mut self,
        system: &dyn System,
        a: f64,
    ) -> Result<Option<(usize, [f64; 2])>, StepError> {
        let [event] = self.detected.as_slice() else {
            return Ok(None);
        };
        if event.kind != Kind::Gap {
            return Ok(None);
        }
        let i = event.contact;
        let below = self.arc.work.contacts.gap[i];
        self.arc.evaluate_dense_output(system, a, false)?;
        let above = self.arc.work.contacts.gap[i];
        Ok((above > 0.0 && below < 0.0).then_some((i, [above, below])))
    }

    /// The instant between `a`, where nothing happens, and `b`, where something does; leaves what happens there in `detected`.
    fn bisect(
        &mut self,
        system: &dyn System,
        before: f64,
        mut b: f64,
        h: f64,
    ) -> Result<f64, StepError> {
        let mut a = before;
        let mut gaps = self.gaps_around(system, a)?;
        let mut side = 0;
        for k in 0..HALVINGS {
            if b - a <= f64::EPSILON * b || b < 1e-30 * h {
                break;
            }
            let (middle, round_off) = (0.5 * (a + b), 2.0 * f64::EPSILON * b);
            let m = match gaps {
                Some((_, [above, below])) if k % 3 < 2 && b - a > 4.0 * round_off => {
                    // Beside the ends, so that the zero comes between close points.
                    let m = b - below * (b - a) / (below - above);
                    m.clamp(a + round_off, b - round_off)
                }
                _ => middle,
            };
            self.detect_events(system, m)?;
            let is_before = self.detected.is_empty();
            if is_before {
                a = m;
            } else {
                b = m;
            }
            gaps = gaps.and_then(|(i, [above, below])| {
                let gap = self.arc.work.contacts.gap[i];
                // The end that stays where it is counts half.
                let halved = |stays: i32| if side == stays { 0.5 } else { 1.0 };
                match (is_before, gap > 0.0) {
                    (true, true) => Some((i, [gap, halved(1) * below])),
                    (false, false) => Some((i, [halved(-1) * above, gap])),
                    _ => None,
                }
            });
            side = if is_before { 1 } else { -1 };
        }
        self.detect_events(system, b)?;
        if self.detected.iter().any(|event| event.kind == Kind::Gap) {
            return Ok(b);
        }
        self.find_zero(system, before, b)
    }

    /// The first instant after `a` at which one of the events detected at `b`, where the arc was looked at last, passed zero; keeps
    /// the state at `b` for the decision.
    fn find_zero(&mut self, system: &dyn System, a: f64, b: f64) -> Result<f64, StepError> {
        let State { t, q, v } = &mut self.decision.state;
        *t = self.arc.work.t;
        q.clone_from(&self.arc.work.q);
        v.clone_from(&self.arc.work.v);
        let mut first = b;
        for k in 0..self.detected.len() {
            let event = self.detected[k];
            self.arc.evaluate_dense_output(system, b, true)?;
            let after = self.beyond(event);
            self.arc.evaluate_dense_output(system, a, true)?;
            let before = self.beyond(event);
            if before >= 0.0 && after < 0.0 {
                let zero = self.secants(system, event, [(a, before), (b, after)])?;
                first = first.min(zero);
            }
        }
        // Where the arc begins, something passes zero that was decided there.
        self.decision.is_ahead = first > 0.0 && first < b;
        Ok(if self.decision.is_ahead { first } else { b })
    }

    /// Where `event` passes zero between the two points, by secants that keep it between them.
    fn secants(
        &mut self,
        system: &dyn System,
        event: Detected,
        [mut left, mut right]: [(f64, f64); 2],
    ) -> Result<f64, StepError> {
        let mut side = 0;
        for k in 0..SECANTS {
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
            let value = self.beyond(event);
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

    /// How far the force or slip of an event is from zero where the arc was looked at with forces, in shares of what counts; the
    /// event is where it is negative.
    pub(super) fn beyond(&self, event: Detected) -> f64 {
        let arc = &self.arc;
        let i = event.contact;
        let member = arc.accelerations.contacts().iter().position(|c| *c == i);
        let Some(carried) = member.map(|k| arc.accelerations.contact_force(k)) else {
            return 0.0;
        };
        let none = self.scales.acceleration();
        match (event.kind, arc.modes[i]) {
            (Kind::SlipStop, Mode::Slip(direction)) => {
                let slip = slip(&arc.work, i, arc.modes.tangents[i]);
                inner(direction, slip) / self.scales.slip()
            }
            (Kind::StickBreak, _) => {
                let mu = arc.work.contacts.law[i].mu_static;
                let margin = mu * carried.normal - size(carried.tangent);
                margin * carried.compliance[1] / none
            }
            _ => carried.normal * carried.compliance[0] / none,
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
        for k in 0..self.arc.accelerations.contacts().len() {
            let contact = self.arc.accelerations.contacts()[k];
            let change = match self.arc.modes[contact] {
                Mode::Slip(_) => Some(Kind::SlipStop),
                Mode::Stick => Some(Kind::StickBreak),
                Mode::Open | Mode::Closed => None,
            };
            for kind in [Some(Kind::Force), change].into_iter().flatten() {
                let event = Detected { contact, kind };
                if self.beyond(event) < -1.0 {
                    self.detected.push(event);
                }
            }
        }
    }
}
