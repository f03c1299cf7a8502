//! Forces and slips of closed contacts that pass zero and come back between two looks at an arc.
//!
//! Among three looks the middle one may have the smallest margin, or a margin may fall behind the first look or before the last one:
//! the smallest margin is then sought by parabolas, as far as they can reach zero.

use super::Prepared;
use super::modes::Mode;
use super::roots::{Detected, Kind};
use crate::integrator::StepError;
use saltus_system::System;

/// Margins of a piece of an arc at the looks: of the force of each closed contact, and of its slip or its cone.
#[derive(Debug, Default)]
pub(super) struct Margins {
    /// When \[s\] each look was.
    times: Vec<f64>,
    /// Margins of each look, one after the other.
    values: Vec<f64>,
    /// What each margin is of.
    of: Vec<Detected>,
}

/// Distance from the ends of a piece at which the margins show whether they fall, as a share of the distance of the looks.
const BESIDE: f64 = 1e-3;
/// Most points at which a smallest margin is sought.
const POINTS: u32 = 60;
/// A slip that turns again has to pass zero by this many times what counts: it may only have touched it, but for the error of the motion.
const DEEP: f64 = 1e3;
/// The search ends where the points are this share of the interval apart.
const CLOSE: f64 = 1e-9;

impl Margins {
    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
        self.of.clear();
    }

    fn at(&self, look: usize, k: usize) -> (f64, f64) {
        (self.times[look], self.values[look * self.of.len() + k])
    }
}

/// Whether margins through three points, of which the middle one is lowest, may pass zero between them: parabolas through equidistant points
/// reach down by an eighth of the larger difference at most.
fn may_reach([l, m, r]: [(f64, f64); 3]) -> bool {
    m.1 <= l.1 && m.1 <= r.1 && m.1 < (l.1 - m.1).max(r.1 - m.1)
}

impl Prepared {
    /// Keeps the margins where the arc was looked at last with forces, `s` \[s\] after the start of the piece.
    pub(super) fn keep_margins(&mut self, s: f64) {
        let mut margins = std::mem::take(&mut self.margins);
        if margins.times.is_empty() {
            for &contact in self.arc.accelerations.contacts() {
                let change = match self.arc.modes[contact] {
                    Mode::Slip(_) => Some(Kind::SlipStop),
                    Mode::Stick => Some(Kind::StickBreak),
                    Mode::Open | Mode::Closed => None,
                };
                let kinds = [Some(Kind::Force), change].into_iter().flatten();
                margins
                    .of
                    .extend(kinds.map(|kind| Detected { contact, kind }));
            }
        }
        margins.times.push(s);
        for event in &margins.of {
            margins.values.push(self.margin_of(*event));
        }
        self.margins = margins;
    }

    /// A point at which a margin that is positive at all looks so far is beyond zero: in the last two intervals, and at the ends of the
    /// piece, which begins with the first look and ends with the last one if `is_last`. With it, the look before.
    pub(super) fn find_force_dip(
        &mut self,
        system: &dyn System,
        is_last: bool,
    ) -> Result<Option<(f64, f64)>, StepError> {
        let n = self.margins.times.len();
        let mut found: Option<(f64, f64)> = None;
        let mut take = |dip: Option<f64>, before: f64| {
            if let Some(s) = dip
                && found.is_none_or(|(_, other)| s < other)
            {
                found = Some((before, s));
            }
        };
        if n < 2 {
            return Ok(None);
        }
        for k in 0..self.margins.of.len() {
            if n >= 3 {
                let points = [n - 3, n - 2, n - 1].map(|look| self.margins.at(look, k));
                take(self.seek_dip(system, k, points)?, points[0].0);
            }
            let (first, second) = (self.margins.at(0, k), self.margins.at(1, k));
            if n == 2 && first.1 < second.1 {
                let beside = first.0 + BESIDE * (second.0 - first.0);
                let middle = (beside, self.margin_at(system, k, beside)?);
                take(self.seek_dip(system, k, [first, middle, second])?, first.0);
            }
            let (before, last) = (self.margins.at(n - 2, k), self.margins.at(n - 1, k));
            if is_last && last.1 < before.1 {
                let beside = last.0 - BESIDE * (last.0 - before.0);
                let middle = (beside, self.margin_at(system, k, beside)?);
                take(self.seek_dip(system, k, [before, middle, last])?, before.0);
            }
        }
        Ok(found)
    }

    /// Whether a margin was positive at the look before the last, and is beyond zero at the last, though by no more than counts.
    pub(super) fn has_passed_unnoticed(&self) -> bool {
        let n = self.margins.times.len();
        n >= 2
            && (0..self.margins.of.len()).any(|k| {
                let [before, last] = [n - 2, n - 1].map(|look| self.margins.at(look, k).1);
                before > 0.0 && last < 0.0
            })
    }

    fn margin_at(&mut self, system: &dyn System, k: usize, s: f64) -> Result<f64, StepError> {
        self.arc.evaluate_dense_output(system, s, true)?;
        Ok(self.margin_of(self.margins.of[k]))
    }

    /// Where the margin `k` is beyond zero between three points of which the middle one is lowest, by parabolas that are kept between
    /// the neighbours of the lowest point.
    fn seek_dip(
        &mut self,
        system: &dyn System,
        k: usize,
        [mut l, mut m, mut r]: [(f64, f64); 3],
    ) -> Result<Option<f64>, StepError> {
        let close = CLOSE * (r.0 - l.0);
        let depth = match self.margins.of[k].kind {
            Kind::SlipStop => DEEP,
            _ => 1.0,
        };
        for _ in 0..POINTS {
            if !may_reach([l, m, r]) || r.0 - l.0 <= close {
                return Ok(None);
            }
            let (a, b) = ((m.0 - l.0) * (m.1 - r.1), (m.0 - r.0) * (m.1 - l.1));
            let vertex = m.0 - 0.5 * ((m.0 - l.0) * a - (m.0 - r.0) * b) / (a - b);
            let wide = if r.0 - m.0 > m.0 - l.0 { r.0 } else { l.0 };
            let inside =
                vertex > l.0 + close && vertex < r.0 - close && (vertex - m.0).abs() > close;
            let s = if inside {
                vertex
            } else {
                m.0 + 0.382 * (wide - m.0)
            };
            let x = (s, self.margin_at(system, k, s)?);
            if x.1 < -depth {
                return Ok(Some(s));
            }
            match (x.0 < m.0, x.1 < m.1) {
                (true, true) => (m, r) = (x, m),
                (true, false) => l = x,
                (false, true) => (l, m) = (m, x),
                (false, false) => r = x,
            }
        }
        Ok(None)
    }
}
