//! The time inside a step at which the first gap closes.

use super::super::engine::Engine;
use super::Next;
use crate::integrator::StepError;
use crate::round_off::ROUND_OFF;
use saltus_system::System;

/// Largest number of pieces solved to locate an impact.
const TRIALS: u32 = 40;
/// The gap at an impact is reduced to this fraction of the closed-gap limit, where possible.
const TIGHT: f64 = 1e-2;
/// Halvings of an interval in which a polynomial has a root.
const HALVINGS: u32 = 60;

/// Closing of a gap inside a piece as predicted by the cubic Hermite interpolant; times as fractions of the piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// The predicted time of closing.
    first: f64,
    /// Where the gap is smallest, if it is open again at the end.
    lowest: Option<f64>,
    /// Whether the gap is zero at the start and grows at first.
    starts_closed: bool,
}

impl Engine {
    /// The first closing in the piece of the given length in `trial` among the excluded contacts.
    pub(super) fn first_closing(&self, length: f64) -> Option<Crossing> {
        let (start, rows) = (&self.start, &self.rows);
        let mut earliest: Option<Crossing> = None;
        for j in self.dims.ng..rows.len() {
            let (gap, rate) = (rows.gap[j], length * rows.velocity[j]);
            let before = length * start.velocity[j];
            let closes = gap < 0.0 || before < 0.0 && rate > 0.0;
            if !self.excluded[j] || !closes {
                continue;
            }
            let starts_closed = start.velocity[j] >= 0.0 && self.is_touching(j);
            let gap_before = if starts_closed { 0.0 } else { start.gap[j] };
            let found = Cubic::between((gap_before, before), (gap, rate)).crossing(starts_closed);
            if let Some(found) = found
                && earliest.is_none_or(|e| found.first < e.first)
            {
                earliest = Some(found);
            }
        }
        earliest
    }

    /// The fraction of the `remainder` of the step after which the smallest gap vanishes; the piece is in `trial`.
    pub(super) fn locate(
        &mut self,
        system: &dyn System,
        remainder: f64,
        end: f64,
        crossing: Crossing,
    ) -> Result<Next, StepError> {
        let begin = self.start.t;
        let (mut low, mut high) = (0.0, 1.0);
        if crossing.starts_closed {
            low = 0.5 * crossing.first;
        }
        if let Some(lowest) = crossing.lowest {
            self.try_piece(system, lowest * remainder, begin + lowest * remainder)?;
            if self.smallest_gap().is_none_or(|(_, gap)| gap >= 0.0) {
                // The solved motion does not close the gap.
                self.try_piece(system, remainder, end)?;
                return Ok(Next::Whole);
            }
            high = lowest;
        }
        let mut fraction = crossing.first.clamp(low, high);
        for trial in 0..TRIALS {
            self.try_piece(system, fraction * remainder, begin + fraction * remainder)?;
            let Some((j, gap)) = self.smallest_gap() else {
                break;
            };
            let rate = remainder * self.rows.velocity[j];
            let limit = self.closed_gap_limit(j);
            // After a few trials round-off may exclude the tighter limit.
            let tight = if trial < 4 { TIGHT * limit } else { limit };
            let round_off = ROUND_OFF * self.gap_magnitude(j, &self.trial.q);
            if rate < 0.0 && gap.abs() <= tight.max(round_off) {
                return Ok(Next::Impact(fraction));
            }
            if gap > 0.0 || rate >= 0.0 && gap >= -limit {
                low = fraction;
            } else {
                high = fraction;
            }
            let next = fraction - gap / rate;
            fraction = if next > low && next < high {
                next
            } else {
                0.5 * (low + high)
            };
        }
        Ok(Next::WithoutRebounds)
    }

    /// The smallest gap at the end of the trial among the excluded contacts.
    fn smallest_gap(&self) -> Option<(usize, f64)> {
        let excluded = (self.dims.ng..self.rows.len()).filter(|j| self.excluded[*j]);
        excluded
            .map(|j| (j, self.rows.gap[j]))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// `c₀ + c₁ s + c₂ s² + c₃ s³` on `[0, 1]`.
#[derive(Debug, Clone, Copy)]
struct Cubic([f64; 4]);

impl Cubic {
    /// The polynomial with these values and derivatives at both ends (Hermite).
    fn between((g0, d0): (f64, f64), (g1, d1): (f64, f64)) -> Self {
        Self([
            g0,
            d0,
            3.0 * (g1 - g0) - 2.0 * d0 - d1,
            2.0 * (g0 - g1) + d0 + d1,
        ])
    }

    fn at(self, s: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + s * (b + s * (c + s * d))
    }

    /// The points inside `]0, 1[` where the derivative vanishes, in order; NaN where there are fewer.
    fn stationary_points(self) -> [f64; 2] {
        let [_, b, c, d] = self.0;
        // b + 2 c s + 3 d s² = 0, without cancellation.
        let root = (c * c - 3.0 * b * d).sqrt();
        let sum = -(c + root.copysign(c));
        let inside = |s: f64| if s > 0.0 && s < 1.0 { s } else { f64::NAN };
        let (one, other) = (inside(sum / (3.0 * d)), inside(b / sum));
        if one > other {
            [other, one]
        } else {
            [one, other]
        }
    }

    /// The first root in `]0, to]` of a polynomial that is positive at first, or `to` if it has none.
    fn first_root(self, to: f64) -> f64 {
        let mut low = 0.0;
        for high in self.stationary_points().into_iter().chain([to]) {
            if !(high > low && high <= to) {
                continue;
            }
            if self.at(high) > 0.0 {
                low = high;
                continue;
            }
            let (mut low, mut high) = (low, high);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if self.at(middle) > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            return high;
        }
        to
    }

    /// The closing of the gap with this interpolant; a zero at the start from which it grows does not count.
    fn crossing(self, starts_closed: bool) -> Option<Crossing> {
        let [_, b, c, d] = self.0;
        let mut lowest = None;
        if self.at(1.0) >= 0.0 {
            let stationary_points = self.stationary_points().into_iter();
            let dip = stationary_points.filter(|s| self.at(*s) < 0.0);
            lowest = Some(dip.min_by(|s, t| self.at(*s).total_cmp(&self.at(*t)))?);
        }
        let to = lowest.unwrap_or(1.0);
        let first = if starts_closed {
            Self([b, c, d, 0.0]).first_root(to)
        } else {
            self.first_root(to)
        };
        Some(Crossing {
            first,
            lowest,
            starts_closed,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The cubic with the given roots and leading coefficient.
    fn with_roots([p, q, r]: [f64; 3], d: f64) -> Cubic {
        Cubic([
            -d * p * q * r,
            d * (p * q + q * r + r * p),
            -d * (p + q + r),
            d,
        ])
    }

    #[test]
    fn the_first_root_is_found_wherever_the_others_are() {
        for (roots, d) in [
            ([0.3, 1.5, 2.0], -1.0),
            ([0.3, 0.5, 0.7], -2.0),
            ([0.3, -4.0, 9.0], 0.5),
        ] {
            let found = with_roots(roots, d).crossing(false).unwrap();
            assert!((found.first - 0.3).abs() < 1e-12, "{roots:?} {found:?}");
        }
        // A gap that is open at both ends.
        let found = with_roots([0.3, 0.7, -2.0], 1.0).crossing(false).unwrap();
        assert!((found.first - 0.3).abs() < 1e-12 && found.lowest.unwrap() > 0.45);
        assert!(with_roots([1.3, 1.7, -2.0], 1.0).crossing(false).is_none());
    }

    #[test]
    fn a_parabola_and_a_line_are_cubics_too() {
        let fall = Cubic::between((1.0, 0.0), (-3.0, -8.0));
        let found = fall.crossing(false).unwrap();
        assert!((found.first - 0.5).abs() < 1e-12 && found.lowest.is_none());
        let line = Cubic::between((1.0, -4.0), (-3.0, -4.0));
        assert!((line.crossing(false).unwrap().first - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_contact_that_has_just_left_comes_back_later() {
        // 2 s − 4 s²: up from zero, back at 1/2.
        let hop = Cubic::between((0.0, 2.0), (-2.0, -6.0));
        let found = hop.crossing(true).unwrap();
        assert!((found.first - 0.5).abs() < 1e-12 && found.starts_closed);
    }
}
