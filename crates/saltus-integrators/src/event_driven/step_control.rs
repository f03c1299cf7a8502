//! The lengths of the pieces of an arc, and jumps of the force, in time or along the motion.
//!
//! The error of a step over a jump does not fall as that of a smooth motion does: rejections drive the step down. Where it is a small
//! share of the step asked for, and the accelerations ahead are others and stay so, the jump is bisected by the accelerations on the
//! tangent of the motion, to round-off of the time. The piece in front of it is integrated, the round-off passed along the tangent, and
//! the next piece begins behind. Where the step stays larger, jumps are within the tolerance.
//!
//! Forces are known to what the round-off of the positions makes of them, which in stiff models is more than the tolerance of small
//! motions: where a step is rejected it is measured, and no error is asked to be smaller.
//!
//! Reference: Gear, Østerby (1984), ACM Trans. Math. Softw. 10, 23–44; Hairer, Nørsett, Wanner, *Solving Ordinary Differential
//! Equations I*, 2nd ed. (1993), §II.6.

use super::arc::Arc;
use super::dop853;
use super::implicit;
use crate::integrator::StepError;
use crate::kit::velocity_name;
use saltus_linear::{axpy, max_abs};
use saltus_system::System;

/// A step is at most this many times longer or shorter than the last.
const GROWTH: f64 = 6.0;
const SHRINK: f64 = 0.2;
const SAFETY: f64 = 0.9;
/// Most pieces between two outputs: a tolerance below round-off asks for ever more.
const MOST_PIECES: usize = 100_000;
/// A step shorter than this share of the one asked for cannot reach the tolerance.
const SHORTEST: f64 = 1e-13;
/// Steps of at most this share of the one asked for may be short because of a jump.
const NARROW: f64 = 1e-6;
/// So may steps of so many times the round-off of an instant.
const NARROW_OF_ROUND_OFF: f64 = 8.0;
/// Shares of the time, and of the step asked for, that are round-off of an instant.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;
const ROUND_OFF_OF_STEP: f64 = 1e-16;
/// A jump changes an acceleration by more than this share of the largest one.
const CHANGE: f64 = 1e-6;
/// Share of the change over a step that lies in the jump itself.
const WHOLE: f64 = 0.3;
/// Points behind a jump at which accelerations have to be those behind it, but for a share of the jump.
const STEADY: u32 = 6;
const UNSTEADY: f64 = 0.25;
/// Jumps that follow each other within this share of a step do so at once; more than these are one that the motion cannot leave.
const AT_ONCE: f64 = 1e-9;
const MOST_JUMPS: u32 = 30;
/// Patterns of round-off that the accelerations are measured with.
const PATTERNS: usize = 3;
/// A step is tried again where round-off is this share of its tolerance.
const NOISY: f64 = 0.1;

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

    /// The stage at the end of a step.
    fn last_stage(self) -> usize {
        match self {
            Self::Explicit => dop853::STAGES,
            Self::Implicit => implicit::STAGES,
        }
    }
}

/// Jumps of the force that followed each other at once, and when the last one was \[s\].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Jumps {
    count: u32,
    last: f64,
    /// Distance to a jump found beyond the end of the piece before \[s\]; 0: there is none.
    ahead: f64,
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

    /// Integrates one piece of at most `most` \[s\] and returns its length; [`accept`](Self::accept) takes it, or a part.
    pub(super) fn advance(&mut self, system: &dyn System, most: f64) -> Result<f64, StepError> {
        if self.used >= MOST_PIECES {
            return Err(self.unreachable(self.pieces[self.used - 1].taken));
        }
        let (method, bound) = self.method(most);
        let ahead = std::mem::take(&mut self.jumps.ahead).min(most);
        if ahead > 0.0 {
            self.pass_along_tangent(method, ahead);
            return Ok(ahead);
        }
        let resolution = self.resolution(most);
        if most <= resolution {
            // What is left to an output is round-off of its time.
            self.pass_along_tangent(method, most);
            return Ok(most);
        }
        let narrow = (NARROW * most).max(NARROW_OF_ROUND_OFF * resolution);
        let suggested = self.suggestion[method as usize];
        let mut h = bound.min(suggested);
        // A last piece of almost nothing is avoided.
        if most - h < 0.1 * h {
            h = most;
        }
        let mut was_rejected = false;
        loop {
            let mut ratio = self.attempt(system, method, h);
            let mut is_accepted = matches!(ratio, Ok(error) if error <= 1.0);
            // The implicit method takes short steps in fast decays, where accelerations change without a jump.
            let may_hide_jump = method == Method::Explicit;
            if h <= narrow
                && self.turning == 0.0
                && (!is_accepted || may_hide_jump && self.changed(method.last_stage()).is_some())
            {
                if let Some((lo, hi)) = self.locate_jump(system, h, most)? {
                    if lo == 0.0 {
                        self.pass_along_tangent(method, hi);
                        return Ok(hi);
                    }
                    self.jumps.ahead = hi - lo;
                    h = lo;
                }
                if is_accepted || self.jumps.ahead > 0.0 {
                    ratio = self.attempt(system, method, h);
                    is_accepted = matches!(ratio, Ok(error) if error <= 1.0);
                }
            }
            if let (true, Ok(error)) = (is_accepted, &ratio) {
                self.suggest(method, h, *error, was_rejected);
                self.defect = self.defect.max(self.trial_defect);
                self.extend(system, method, h)?;
                return Ok(h);
            }
            self.jumps.ahead = 0.0;
            was_rejected = true;
            self.rejected += 1;
            if !self.has_noise {
                self.measure_noise(system)?;
                if self.is_noisy(h) {
                    continue;
                }
            }
            let shorter = match &ratio {
                Ok(error) if error.is_finite() => {
                    h * (SAFETY * error.powf(method.exponent())).clamp(SHRINK, 1.0)
                }
                _ => 0.25 * h,
            };
            if shorter < SHORTEST * most {
                return Err(match ratio {
                    Err(error) => error,
                    Ok(_) => self.unreachable(shorter),
                });
            }
            h = shorter;
            self.suggestion[method as usize] = h;
        }
    }

    /// What the round-off of the positions and of the time makes of the accelerations where the piece begins.
    fn measure_noise(&mut self, system: &dyn System) -> Result<(), StepError> {
        let nv = self.nv;
        self.has_noise = true;
        let size = max_abs(&self.base.q);
        for pattern in 1..=PATTERNS {
            for (l, side) in [(1, 1.0), (2, -1.0)] {
                for i in 0..nv {
                    let of = if self.is_flat { self.base.q[i] } else { size };
                    let sign = if i / pattern % 2 == 0 { side } else { -side };
                    self.y[i] = sign * f64::EPSILON * of.abs();
                }
                self.set_perturbed(system, l, self.base.t)?;
            }
            self.include_noise(0);
        }
        self.y[..nv].fill(0.0);
        for (l, side) in [(1, 1.0), (2, -1.0)] {
            let t = self.base.t * (1.0 + side * f64::EPSILON);
            self.set_perturbed(system, l, t)?;
        }
        self.include_noise(1);
        Ok(())
    }

    /// Rates at time `t` and the positions in `y` as those of stage `l`; those of the start of the piece where there are none.
    fn set_perturbed(&mut self, system: &dyn System, l: usize, t: f64) -> Result<(), StepError> {
        let nv = self.nv;
        self.y[nv..2 * nv].copy_from_slice(&self.base.v);
        if !self.try_rates(system, l, t)? {
            for i in 0..self.rates.cols() {
                self.rates[(l, i)] = self.rates[(0, i)];
            }
        }
        Ok(())
    }

    /// Noise number `k` is at least the smaller one of the differences that the stages 1 and 2 have from the start of the piece: beside
    /// a jump only one of them is large.
    fn include_noise(&mut self, k: usize) {
        for i in 0..self.nv {
            let j = self.nv + i;
            let differs = |l: usize| (self.rates[(l, j)] - self.rates[(0, j)]).abs();
            let noise = differs(1).min(differs(2));
            self.noise[k][i] = self.noise[k][i].max(noise);
        }
    }

    /// Whether the round-off of a step of `h` \[s\] is a part of its tolerance.
    fn is_noisy(&self, h: f64) -> bool {
        (0..2).any(|block| {
            let size = self.size_of(block, h);
            (0..self.nv).any(|i| {
                let scale = self.scale_of(block, i, block * self.nv + i, size, h);
                self.noise_of(block, i, h) > NOISY * scale
            })
        })
    }

    /// One step of the method; its error over the tolerance.
    fn attempt(&mut self, system: &dyn System, method: Method, h: f64) -> Result<f64, StepError> {
        match method {
            Method::Explicit => self.attempt_explicit(system, h),
            Method::Implicit => self.attempt_implicit(system, h),
        }
    }

    /// The step after one of `h` \[s\] with this error over its tolerance.
    fn suggest(&mut self, method: Method, h: f64, error: f64, was_rejected: bool) {
        let factor = SAFETY * error.max(1e-16).powf(method.exponent());
        let limit = if was_rejected { 1.0 } else { GROWTH };
        let next = h * factor.clamp(SHRINK, limit);
        // A piece cut short tells little of longer ones.
        let suggestion = &mut self.suggestion[method as usize];
        *suggestion = if h < *suggestion {
            next.max(*suggestion)
        } else {
            next
        };
    }

    /// Round-off of an instant, in a step of at most `most` \[s\].
    fn resolution(&self, most: f64) -> f64 {
        (ROUND_OFF * self.base.t.abs()).max(ROUND_OFF_OF_STEP * most)
    }

    /// Where the force jumps within the next `h` \[s\], if it does: an instant before the jump, 0 where that is round-off of the start of
    /// the piece, and one behind it.
    fn locate_jump(
        &mut self,
        system: &dyn System,
        h: f64,
        most: f64,
    ) -> Result<Option<(f64, f64)>, StepError> {
        // Rates behind the jump, and where the motion is looked at: rows of stages that are computed anew.
        const BEHIND: usize = 1;
        const HERE: usize = 2;
        if !self.set_rates_ahead(system, BEHIND, h)? {
            return Ok(None);
        }
        let Some(place) = self.changed(BEHIND) else {
            return Ok(None);
        };
        let change = self.difference(0, BEHIND).1;
        let resolution = self.resolution(most);
        let (mut lo, mut hi) = (0.0, h);
        while hi - lo > resolution {
            let m = 0.5 * (lo + hi);
            if !self.set_rates_ahead(system, HERE, m)? {
                return Ok(None);
            }
            if self.difference(0, HERE).1 < self.difference(BEHIND, HERE).1 {
                lo = m;
            } else {
                hi = m;
            }
        }
        if !self.set_rates_ahead(system, HERE, lo)?
            || self.difference(HERE, BEHIND).1 < WHOLE * change
        {
            return Ok(None);
        }
        // The value at the jump itself may be a third one, as that of `sign`.
        for k in 1..=STEADY {
            let s = hi + f64::from(k) * resolution;
            let is_finite = self.set_rates_ahead(system, HERE, s)?;
            if !is_finite || self.difference(BEHIND, HERE).1 > UNSTEADY * change {
                return Ok(None);
            }
        }
        self.count_jump(system, place, most)?;
        let before = if lo > resolution { lo } else { 0.0 };
        Ok(Some((before, hi + resolution)))
    }

    /// Rates `s` \[s\] ahead, as if the accelerations stayed, for stage `l`; whether there are any.
    fn set_rates_ahead(
        &mut self,
        system: &dyn System,
        l: usize,
        s: f64,
    ) -> Result<bool, StepError> {
        let nv = self.nv;
        let rate = self.rates.row(0);
        for i in 0..nv {
            self.y[i] = s * rate[i] + 0.5 * s * s * rate[nv + i];
            self.y[nv + i] = self.base.v[i] + s * rate[nv + i];
        }
        self.try_rates(system, l, self.base.t + s)
    }

    /// Rates of `y` at time `t` for stage `l`; whether there are any.
    fn try_rates(&mut self, system: &dyn System, l: usize, t: f64) -> Result<bool, StepError> {
        match self.set_rates(system, l, t) {
            Ok(()) => Ok(true),
            Err(StepError::NotFinite { .. } | StepError::ContactMode { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The velocity whose accelerations at the stages `k` and `l` differ most, and by how much.
    fn difference(&self, k: usize, l: usize) -> (usize, f64) {
        let accelerations = |l: usize| &self.rates.row(l)[self.nv..2 * self.nv];
        let pairs = accelerations(k).iter().zip(accelerations(l));
        let changes = pairs.map(|(a, b)| (a - b).abs()).enumerate();
        changes.fold((0, 0.0), |worst, x| if x.1 > worst.1 { x } else { worst })
    }

    /// The velocity whose acceleration at stage `l` is another than where the piece begins, if any is.
    fn changed(&self, l: usize) -> Option<usize> {
        let size = |l: usize| max_abs(&self.rates.row(l)[self.nv..2 * self.nv]);
        let (place, change) = self.difference(0, l);
        (change > CHANGE * size(0).max(size(l))).then_some(place)
    }

    /// Counts jumps at once: a motion that both sides drive into a jump goes no further.
    fn count_jump(
        &mut self,
        system: &dyn System,
        place: usize,
        most: f64,
    ) -> Result<(), StepError> {
        let t = self.time();
        let at_once = t - self.jumps.last <= AT_ONCE * most;
        self.jumps.count = if at_once { self.jumps.count + 1 } else { 1 };
        self.jumps.last = t;
        if self.jumps.count <= MOST_JUMPS {
            return Ok(());
        }
        Err(StepError::SlidingMode {
            place: velocity_name(&system.names(), place),
            t: self.base.t,
        })
    }

    /// A piece of `h` \[s\] with the rates of its start, over a jump.
    fn pass_along_tangent(&mut self, method: Method, h: f64) {
        // Nothing is known of the motion behind.
        self.suggestion[method as usize] = f64::MAX;
        let mut polynomial = self.begin_piece_of(h);
        let rate = self.rates.row(0);
        for (i, x) in rate.iter().enumerate() {
            polynomial[i][0] = h * x;
            self.end[i] = h * x;
        }
        let nv = self.nv;
        axpy(1.0, &self.base.v, &mut self.end[nv..2 * nv]);
        let piece = &mut self.pieces[self.used];
        piece.polynomial = polynomial;
        piece.coefficients = 1;
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
