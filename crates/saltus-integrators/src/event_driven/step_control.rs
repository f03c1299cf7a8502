//! The lengths of the pieces of an arc, and jumps of the force.
//!
//! An error that does not fall with the step, in attempts that all reach over one instant, is that of a jump. The attempt that reaches
//! over it is then told from the one that does not by bisection: the piece in front of the jump is taken, and the next one searched in what is
//! left, until that is round-off of the time. The arc ends behind the jump. Where friction turns, its own sharp bend would look like a jump: none is
//! searched there.
//!
//! Reference: Gear, Østerby (1984), ACM Trans. Math. Softw. 10, 23–44; Hairer, Nørsett, Wanner, *Solving Ordinary Differential
//! Equations I*, 2nd ed. (1993), §II.6.

use super::arc::Arc;
use crate::integrator::StepError;
use saltus_linear::{axpy, max_abs};
use saltus_system::System;

/// A step is at most this many times longer or shorter than the last.
const GROWTH: f64 = 6.0;
const SHRINK: f64 = 0.2;
const SAFETY: f64 = 0.9;
/// Share of a step that is taken where outputs lie between its ends, at which the error is larger.
const SHORTER: f64 = 0.4;
/// Most pieces between two outputs: a tolerance below round-off asks for ever more.
const MOST_PIECES: usize = 100_000;
/// A step shorter than this share of the longest one cannot reach the tolerance.
const SHORTEST: f64 = 1e-15;
/// The error of a smooth motion falls at least with this power of the step.
const SMOOTH: i32 = 3;
/// Attempts rejected over the same instant, in which the error did not fall, before a jump is suspected there.
const SUSPECTED: u32 = 3;
/// An error at most this many times that of a step almost as long is no jump.
const DISTINCT: f64 = 10.0;
const ALMOST: f64 = 1.1;
/// The piece in front of a jump is taken where the interval that the jump is in is this share of it.
const NARROW: f64 = 1e-3;
/// Shares of a time that are round-off of it.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;
/// Where a jump is at most this many times the round-off of the time ahead, the accelerations tell its sides.
const NEAR: f64 = 1e10;
/// Doublings of the step over a jump before it is none.
const DOUBLINGS: u32 = 12;
/// Points behind a jump at which accelerations have to be those behind it.
const STEADY: u32 = 6;
/// A jump changes an acceleration by more than this share of the largest one.
const CHANGE: f64 = 1e-3;

/// How a piece is integrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Explicit,
    Implicit,
}

impl Method {
    /// What the length of a step is multiplied by, to the power of its error.
    fn exponent(self) -> f64 {
        match self {
            Self::Explicit => -1.0 / 8.0,
            Self::Implicit => -1.0 / 4.0,
        }
    }
}

/// An instant that rejected attempts reached over.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Obstacle {
    /// How far ahead the last of them ended \[s\]; 0: there are none.
    ahead: f64,
    /// How many of them had an error that did not fall.
    rejections: u32,
    /// Whether a jump was found there.
    is_jump: bool,
    /// Step that was suggested before \[s\].
    suggestion: f64,
    /// Largest acceleration in them.
    acceleration: f64,
    /// Whether the last piece has passed a jump.
    pub(super) is_passed: bool,
}

impl Obstacle {
    /// Numbers in the memory of the scheme.
    pub(super) const NUMBERS: usize = 6;

    pub(super) fn save(&self) -> [f64; Self::NUMBERS] {
        [
            self.ahead,
            f64::from(self.rejections),
            f64::from(u8::from(self.is_jump)),
            self.suggestion,
            self.acceleration,
            f64::from(u8::from(self.is_passed)),
        ]
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn load(&mut self, memory: &[f64]) {
        if let [
            ahead,
            rejections,
            is_jump,
            suggestion,
            acceleration,
            is_passed,
        ] = memory
        {
            *self = Self {
                ahead: *ahead,
                rejections: *rejections as u32,
                is_jump: *is_jump == 1.0,
                suggestion: *suggestion,
                acceleration: *acceleration,
                is_passed: *is_passed == 1.0,
            };
        }
    }
}

impl Arc {
    /// The method of the next piece of at most `most` \[s\], and a bound of its length \[s\].
    fn method(&self, most: f64) -> (Method, f64) {
        if self.stiff {
            return (Method::Implicit, most);
        }
        let suggested = |method: Method| self.suggestion[method as usize].min(most);
        // The explicit method resolves the turning of friction; it is taken where that costs no smaller steps than the implicit one
        // needs.
        let resolved = 1.0 / self.turning;
        if resolved >= suggested(Method::Explicit).min(suggested(Method::Implicit)) {
            (Method::Explicit, resolved.min(most))
        } else {
            (Method::Implicit, most)
        }
    }

    /// Error of a step over its tolerance, infinite where there is none; `failure` says why.
    fn attempt(
        &mut self,
        system: &dyn System,
        method: Method,
        h: f64,
        failure: &mut Option<StepError>,
    ) -> f64 {
        let ratio = match method {
            Method::Explicit => self.attempt_explicit(system, h),
            Method::Implicit => self.attempt_implicit(system, h),
        };
        *failure = None;
        match ratio {
            Ok(error) if error.is_finite() => error,
            Ok(_) => f64::INFINITY,
            Err(error) => {
                *failure = Some(error);
                f64::INFINITY
            }
        }
    }

    /// Integrates one piece of at most `most` \[s\], of about `first` where nothing is known yet, and returns its length.
    pub(super) fn advance(
        &mut self,
        system: &dyn System,
        (first, most): (f64, f64),
    ) -> Result<f64, StepError> {
        if self.used >= MOST_PIECES {
            return Err(self.unreachable(self.pieces[self.used - 1].taken));
        }
        let (method, bound) = self.method(most);
        let suggestion = &mut self.suggestion[method as usize];
        if *suggestion == f64::MAX {
            *suggestion = first;
        }
        let suggested = *suggestion;
        let planned = if self.may_last() {
            SHORTER * suggested
        } else {
            suggested
        };
        let mut h = bound.min(planned);
        if most - h < 0.1 * h {
            // A last piece of almost nothing is avoided.
            h = most;
        }
        if self.obstacle.is_jump {
            if self.obstacle.ahead <= bound {
                return self.approach_jump(system, method, most);
            }
            h = bound;
        }
        let mut failure = None;
        let mut last: Option<(f64, f64)> = None;
        loop {
            let error = self.attempt(system, method, h, &mut failure);
            if error <= 1.0 {
                self.suggest(method, (h, planned), error, last.is_some());
                self.take(system, method, h)?;
                return Ok(h);
            }
            self.rejected += 1;
            let is_unsolved = error == f64::INFINITY && failure.is_none();
            let falls = last.is_some_and(|(h0, e0)| error < e0 * (h / h0).powi(SMOOTH));
            let falls = falls || is_unsolved;
            last = Some((h, error));
            self.meet_obstacle(h, suggested, falls);
            if self.obstacle.rejections >= SUSPECTED && self.turning == 0.0 {
                return self.approach(system, method, (h, error), most);
            }
            h *= if error.is_finite() {
                (SAFETY * error.powf(method.exponent())).clamp(SHRINK, 1.0)
            } else {
                0.25
            };
            if h < SHORTEST * most {
                return match failure {
                    Some(error) => Err(error),
                    None => self.cross(method, system, self.resolution(most), most),
                };
            }
            self.suggestion[method as usize] = h;
        }
    }

    /// The step after one of `h` \[s\], where `planned` was meant, with this error over its tolerance.
    fn suggest(
        &mut self,
        method: Method,
        (h, planned): (f64, f64),
        error: f64,
        was_rejected: bool,
    ) {
        let factor = SAFETY * error.max(1e-16).powf(method.exponent());
        let limit = if was_rejected { 1.0 } else { GROWTH };
        let next = h * factor.clamp(SHRINK, limit);
        // A piece cut short tells little of longer ones.
        let suggestion = &mut self.suggestion[method as usize];
        *suggestion = if h < planned && !was_rejected {
            next.max(*suggestion)
        } else {
            next
        };
    }

    /// Takes the step of `h` \[s\] attempted last as a piece.
    fn take(&mut self, system: &dyn System, method: Method, h: f64) -> Result<(), StepError> {
        self.defect = self.defect.max(self.trial_defect);
        self.extend(system, method, h)?;
        self.pass(method, h);
        Ok(())
    }

    /// An attempt of `h` \[s\] was rejected, and with it its error fell, or did not.
    fn meet_obstacle(&mut self, h: f64, suggestion: f64, falls: bool) {
        let rates = (1..self.rates.rows()).map(|l| &self.rates.row(l)[self.nv..2 * self.nv]);
        let sizes = rates.map(max_abs).filter(|size| size.is_finite());
        let largest = sizes.fold(0.0, f64::max);
        let obstacle = &mut self.obstacle;
        if obstacle.ahead == 0.0 {
            obstacle.suggestion = suggestion;
        }
        obstacle.acceleration = obstacle.acceleration.max(largest);
        obstacle.ahead = h;
        obstacle.rejections += u32::from(!falls);
    }

    /// The motion goes on by `h` \[s\].
    fn pass(&mut self, method: Method, h: f64) {
        let Obstacle {
            ahead,
            is_jump,
            suggestion,
            ..
        } = self.obstacle;
        if h < ahead {
            self.obstacle.ahead -= h;
            return;
        }
        self.obstacle = Obstacle::default();
        if is_jump {
            self.suggestion[method as usize] = suggestion;
            self.obstacle.is_passed = true;
        }
    }

    /// The piece in front of what makes the error of a step of `hi` \[s\] too large, or over a jump there; its length.
    fn approach(
        &mut self,
        system: &dyn System,
        method: Method,
        (mut hi, mut above): (f64, f64),
        most: f64,
    ) -> Result<f64, StepError> {
        let resolution = self.resolution(most);
        if self.jumps_at(system, resolution)?.is_some() {
            return self.cross(method, system, resolution, most);
        }
        let (mut lo, mut below) = (0.0, 0.0);
        let mut failure = None;
        let (mut is_jump, mut failed) = (true, false);
        while hi - lo > resolution.max(NARROW * hi) {
            if hi < ALMOST * lo && above < DISTINCT * below {
                is_jump = false;
                break;
            }
            let m = 0.5 * (lo + hi);
            let error = self.attempt(system, method, m, &mut failure);
            if error <= 1.0 {
                (lo, below) = (m, error);
            } else {
                self.rejected += 1;
                (hi, above) = (m, error);
                failed = failure.is_some();
            }
        }
        if lo == 0.0 {
            self.attempt(system, method, hi, &mut failure);
            return match failure {
                Some(error) => Err(error),
                None => self.cross(method, system, hi, most),
            };
        }
        // Stages that were not found tell of no jump.
        let is_jump = is_jump && (above.is_finite() || failed);
        let error = self.attempt(system, method, lo, &mut failure);
        if is_jump {
            self.obstacle.is_jump = true;
            self.obstacle.ahead = hi;
        } else {
            self.obstacle = Obstacle::default();
            self.suggestion[method as usize] = lo;
            self.suggest(method, (lo, lo), error, true);
        }
        self.take(system, method, lo)?;
        Ok(lo)
    }

    /// The piece in front of a jump or over it, and its length.
    fn approach_jump(
        &mut self,
        system: &dyn System,
        method: Method,
        most: f64,
    ) -> Result<f64, StepError> {
        let resolution = self.resolution(most);
        let h = self.obstacle.ahead;
        if h <= resolution {
            return self.cross(method, system, h, most);
        }
        if h <= NEAR * resolution {
            self.place_at(system, h)?;
            if self.jumped().is_some() {
                return self.approach_by_acceleration(system, method, (h, resolution), most);
            }
        }
        let mut failure = None;
        let error = self.attempt(system, method, h, &mut failure);
        if error > 1.0 {
            self.rejected += 1;
            return self.approach(system, method, (h, error), most);
        }
        self.suggestion[method as usize] = self.obstacle.suggestion;
        self.obstacle = Obstacle::default();
        self.take(system, method, h).map(|()| h)
    }

    /// The same by the accelerations, where the system was evaluated `hi` \[s\] after the base last: near the jump an error may be within its
    /// tolerance on both sides.
    fn approach_by_acceleration(
        &mut self,
        system: &dyn System,
        method: Method,
        (mut hi, resolution): (f64, f64),
        most: f64,
    ) -> Result<f64, StepError> {
        let h = hi;
        self.beyond.copy_from_slice(&self.a);
        let before = &self.rates.row(0)[self.nv..2 * self.nv];
        let whole = largest_difference(before, &self.beyond);
        let mut lo = 0.0;
        while hi - lo > resolution {
            let m = 0.5 * (lo + hi);
            self.place_at(system, m)?;
            let before = &self.rates.row(0)[self.nv..2 * self.nv];
            if largest_difference(&self.a, before) < largest_difference(&self.a, &self.beyond) {
                lo = m;
            } else {
                hi = m;
            }
        }
        self.place_at(system, lo)?;
        self.beyond.copy_from_slice(&self.a);
        for k in 0..STEADY {
            self.place_at(system, hi + f64::from(k) * resolution)?;
            if largest_difference(&self.a, &self.beyond) < 0.5 * whole {
                // A steep change or round-off, but no jump.
                self.obstacle = Obstacle::default();
                self.suggestion[method as usize] = h;
                return self.advance(system, (h, most));
            }
        }
        // Velocities are not constant: a reserve.
        let reserve = if NARROW * hi > resolution {
            NARROW * hi
        } else {
            0.0
        };
        if lo - reserve < resolution {
            return self.cross(method, system, hi, most);
        }
        self.obstacle.ahead = hi;
        let mut failure = None;
        self.attempt(system, method, lo - reserve, &mut failure);
        match failure {
            Some(error) => Err(error),
            None => self
                .take(system, method, lo - reserve)
                .map(|()| lo - reserve),
        }
    }

    /// Round-off of the time in a piece of at most `most` \[s\].
    fn resolution(&self, most: f64) -> f64 {
        ROUND_OFF * self.base.t.abs().max(most)
    }

    /// The piece over a jump at the base, at the rates in front of it: at least `shortest`, at most `most` \[s\].
    fn cross(
        &mut self,
        method: Method,
        system: &dyn System,
        shortest: f64,
        most: f64,
    ) -> Result<f64, StepError> {
        let mut h = shortest;
        for _ in 0..DOUBLINGS {
            h = h.min(most);
            self.jump = self.jumps_at(system, h)?;
            if h >= most || self.jump.is_some() {
                return Ok(self.step_over(method, h, h < most));
            }
            h *= 2.0;
        }
        // The piece in front of the jump may have ended behind it, within its tolerance.
        if self.obstacle.is_jump {
            self.suggestion[method as usize] = self.obstacle.suggestion;
            self.obstacle = Obstacle::default();
            return self.advance(system, (most, most));
        }
        Err(self.unreachable(h))
    }

    /// The piece of `h` \[s\] at constant rates, to where the system was evaluated last; its length.
    fn step_over(&mut self, method: Method, h: f64, is_jump: bool) -> f64 {
        let mut piece = self.next_piece(h);
        for k in 0..piece.polynomial.rows() {
            piece.polynomial.row_mut(k).fill(0.0);
        }
        axpy(h, self.rates.row(0), piece.polynomial.row_mut(0));
        self.end.copy_from_slice(&self.y);
        self.pieces[self.used] = piece;
        self.obstacle.is_jump = is_jump;
        self.obstacle.ahead = h;
        self.pass(method, h);
        h
    }

    /// Evaluates the system `h` \[s\] after the base, at the rates there.
    fn place_at(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        let nv = self.nv;
        self.y.fill(0.0);
        axpy(h, self.rates.row(0), &mut self.y);
        axpy(1.0, &self.base.v, &mut self.y[nv..2 * nv]);
        self.evaluate(system, self.base.t + h)?;
        self.accelerations.accelerate(&mut self.a);
        Ok(())
    }

    /// The velocity whose acceleration jumps between the base and `h` \[s\] after it, where the system is evaluated then: it differs from that at
    /// the base, and stays so, as round-off does not.
    fn jumps_at(&mut self, system: &dyn System, h: f64) -> Result<Option<usize>, StepError> {
        self.place_at(system, h)?;
        let Some(i) = self.jumped() else {
            return Ok(None);
        };
        let change = self.a[i] - self.rates.row(0)[self.nv + i];
        let behind = self.a[i];
        for k in 2..=STEADY {
            self.place_at(system, f64::from(k) * h)?;
            let is_steady = (self.a[i] - behind).abs() < 0.1 * change.abs();
            if !is_steady {
                return Ok(None);
            }
        }
        self.place_at(system, h)?;
        Ok(Some(i))
    }

    /// The velocity whose acceleration, where the system was evaluated last, differs most from that at the start of the piece, if any does.
    fn jumped(&self) -> Option<usize> {
        let before = &self.rates.row(0)[self.nv..2 * self.nv];
        let changes = self.a.iter().zip(before).map(|(a, b)| (a - b).abs());
        let (i, change) = changes
            .enumerate()
            .fold((0, 0.0), |worst, x| if x.1 > worst.1 { x } else { worst });
        let size = self.obstacle.acceleration;
        (change > CHANGE * size && change > 0.0).then_some(i)
    }

    /// The tolerance cannot be reached with steps of `h` \[s\].
    fn unreachable(&self, h: f64) -> StepError {
        StepError::Integration {
            t: self.base.t,
            h,
            rtol: self.rtol,
        }
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    let changes = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    changes.fold(0.0, f64::max)
}
