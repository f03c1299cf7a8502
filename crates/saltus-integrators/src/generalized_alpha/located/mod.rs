//! Impacts at the instant inside the step at which a gap closes.
//!
//! A step is first solved with all open contacts excluded. Where none of them closes, it is accepted. Otherwise it is split at
//! the zero of the smallest gap (`search.rs`); there Newton's law holds for velocities, and
//! accelerations and reactions are made consistent with the velocities after it (`solve_impact.rs`). Pieces have no filter
//! history: they use the coefficients of `ρ∞ = 1` and start with `a = v̇`, `η = λ`, so that no rescaling to their lengths is needed
//! and only the impact law dissipates energy at an impact. The first full step after an impact is also such a piece; at its
//! end the filter variables are interpolated.
//!
//! A rebound that would last less than a part of a step is plastic, which ends impacts that accumulate; the remainder of a
//! step with too many impacts is solved as one piece, with all contacts and without rebounds, as captured impacts are.

mod piece;
mod search;
mod solve_impact;

use super::coefficients::Coefficients;
use super::engine::{Engine, Interpolant, Start, is_unsolved};
use super::settings::ImpactLocation;
use crate::integrator::{Counts, Event, EventKind, StepError, StepReport};
use saltus_system::System;

/// Gap below which a contact counts as closed, relative to `Σ |G_jk q_k|`.
pub(in crate::generalized_alpha) const CLOSED_GAP: f64 = 1e-11;
/// Normal speed below which a contact is at rest, relative to the velocity scale of the motion.
const AT_REST: f64 = 1e-9;
/// A remainder of the step shorter than this fraction is round-off.
const NEGLIGIBLE_REMAINDER: f64 = 1e-14;

/// Counts of impacts located inside steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocationCounts {
    /// Instants at which velocities jumped.
    pub impacts: u64,
    /// Rebounds that were made plastic because of a too short flight.
    pub plastic: u64,
    /// Steps whose remainder was solved as one piece without rebounds, because of too many impacts or one that could not be located.
    pub fallbacks: u64,
    /// Contacts with `e > 0` that closed in such a remainder, whose rebounds are lost with their energy.
    pub dropped: u64,
    /// Steps at whose end the filter variables were interpolated.
    pub filter_interpolations: u64,
    /// Steps and pieces of steps that were solved, rejected ones included.
    pub solves: u64,
}

impl LocationCounts {
    fn add(&mut self, other: Self) {
        self.impacts += other.impacts;
        self.plastic += other.plastic;
        self.fallbacks += other.fallbacks;
        self.dropped += other.dropped;
        self.filter_interpolations += other.filter_interpolations;
        self.solves += other.solves;
    }
}

/// Impacts, pieces and events of the current step, and the buffers of impacts.
#[derive(Debug, Default)]
pub(in crate::generalized_alpha) struct LocatedStep {
    /// Events of the step.
    pub(in crate::generalized_alpha) events: Vec<Event>,
    /// Counts of the current step, of the last accepted one, and of the run.
    current: LocationCounts,
    last: LocationCounts,
    pub(in crate::generalized_alpha) total: LocationCounts,
    /// Copy of the start of the step, for a retry.
    origin: Start,
    step_start_saved: bool,
    /// The coefficients of the scheme while those of a piece are in use.
    scheme_coefficients: Option<Coefficients>,
    /// `v̇`, `λ` and non-conservative force at the start of a step at whose end the filters are interpolated.
    start_values: [Vec<f64>; 3],
    /// Contacts of the impact with `ġ⁻ < 0`, and the coefficients of restitution in it (m).
    impacting: Vec<bool>,
    restitution: Vec<f64>,
    /// Rates of the rows after an impact (m).
    after: Vec<f64>,
    /// Which contacts stay closed after it, and the impulses of all rows (m).
    stays_closed: Vec<bool>,
    impulse: Vec<f64>,
    /// Velocities after it (nv).
    v: Vec<f64>,
    /// Pieces of the step, for interpolation.
    pieces: Vec<Interpolant>,
    used_pieces: usize,
}

impl LocatedStep {
    /// Sizes the buffers for `m` rows and `n` velocities.
    pub(in crate::generalized_alpha) fn resize(&mut self, m: usize, n: usize) {
        for list in [&mut self.restitution, &mut self.after, &mut self.impulse] {
            list.resize(m, 0.0);
        }
        self.impacting.resize(m, false);
        self.stays_closed.resize(m, false);
        self.v.resize(n, 0.0);
    }

    /// Reserves the buffers of steps with impacts.
    pub(in crate::generalized_alpha) fn reserve(
        &mut self,
        start: &Start,
        location: ImpactLocation,
    ) {
        self.origin.clone_from(start);
        self.store_start_values(start);
        let impacts = usize::try_from(location.max_impacts).unwrap_or(usize::MAX);
        self.events.reserve(2 * start.gap.len() * impacts.min(16));
    }

    fn store_start_values(&mut self, start: &Start) {
        let lists = [&start.v_dot, &start.lambda, &start.nonconservative_force];
        for (to, from) in self.start_values.iter_mut().zip(lists) {
            to.clone_from(from);
        }
    }

    /// Begins a step, or repeats it.
    pub(in crate::generalized_alpha) fn begin(&mut self) {
        self.events.clear();
        self.step_start_saved = false;
        self.used_pieces = 0;
        let solves = self.current.solves;
        self.current = LocationCounts {
            solves,
            ..LocationCounts::default()
        };
    }

    /// The step was accepted.
    pub(in crate::generalized_alpha) fn accept(&mut self) {
        self.last = std::mem::take(&mut self.current);
        self.total.add(self.last);
    }

    /// The piece of the last step at `fraction` of it, and the fraction of the piece.
    pub(in crate::generalized_alpha) fn piece_at<'a>(
        &'a self,
        whole: &'a Interpolant,
        fraction: f64,
    ) -> (&'a Interpolant, f64) {
        let pieces = &self.pieces[..self.used_pieces];
        let length: f64 = pieces.iter().map(|p| p.h).sum();
        let mut left = fraction * length;
        for (k, piece) in pieces.iter().enumerate() {
            if k + 1 == pieces.len() && fraction >= 1.0 {
                return (piece, fraction);
            }
            if left < piece.h || k + 1 == pieces.len() {
                return (piece, (left / piece.h).clamp(0.0, 1.0 - f64::EPSILON));
            }
            left -= piece.h;
        }
        (whole, fraction)
    }
}

/// How the remainder of a step continues.
enum Next {
    /// As one piece, which is in `trial`.
    Whole,
    /// By a piece of this fraction of it, which is in `trial` and ends with an impact.
    Impact(f64),
    /// As one piece, with all contacts and without rebounds.
    WithoutRebounds,
}

/// Names of the counts.
const COUNTS: [&str; 6] = [
    "located_impacts",
    "plastic_rebounds",
    "fallbacks",
    "dropped_rebounds",
    "filter_interpolations",
    "solves",
];

impl Engine {
    /// Counts of the last step, where impacts are located.
    pub(in crate::generalized_alpha) fn counts(&self) -> Counts {
        if self.settings.location.is_none() {
            return Counts::default();
        }
        let l = &self.located.last;
        Counts {
            names: &COUNTS,
            values: [
                l.impacts,
                l.plastic,
                l.fallbacks,
                l.dropped,
                l.filter_interpolations,
                l.solves,
            ],
        }
    }

    /// Whether the current step is a piece of one with an impact.
    pub(in crate::generalized_alpha) fn is_piece(&self) -> bool {
        self.located.scheme_coefficients.is_some()
    }

    /// Solves a step and the impacts inside it, and makes its end the start; `earlier` is the report of earlier substeps.
    pub(in crate::generalized_alpha) fn advance_located(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        self.reference_step = Some(h);
        let outcome = self.advance_between_impacts(system, h, end, earlier);
        self.reference_step = None;
        self.use_scheme_coefficients();
        let mut report = outcome?;
        report.h = h;
        Ok(report)
    }

    /// Solves the step as one piece, if it has no impact, or in several.
    fn advance_between_impacts(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        if !self.classify_contacts() {
            if !self.start.is_filtered {
                self.save_step_start();
                self.use_piece_coefficients();
            }
            self.located.current.solves += 1;
            match self.solve(system, h, end) {
                Ok(()) if self.first_closing(h).is_none() => {
                    return self.accept_whole(system, h, end, earlier);
                }
                Err(error) if !is_unsolved(&error) => return Err(error),
                _ => {}
            }
        }
        self.save_step_start();
        self.use_piece_coefficients();
        self.split_step(system, h, end, earlier)
    }

    /// Accepts a step without impacts.
    fn accept_whole(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        let restores_filters = !self.start.is_filtered;
        if restores_filters {
            self.located.store_start_values(&self.start);
        }
        let report = self.finish(system, h, end, earlier)?;
        if self.record_openings() {
            self.reset_filters();
        } else if restores_filters {
            self.interpolate_filters();
        }
        Ok(report)
    }

    /// Solves the step in pieces, from impact to impact.
    fn split_step(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        mut earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        let Some(ImpactLocation { max_impacts, .. }) = self.settings.location else {
            return Ok(earlier.unwrap_or_else(|| self.empty_report(h)));
        };
        let (mut elapsed, mut impacts, mut is_short) = (0.0, 0, false);
        loop {
            let (mut solved, mut impact_pending) = (true, self.classify_contacts());
            while solved && impacts < max_impacts && impact_pending {
                (earlier, solved) = self.solve_impact(system, earlier)?;
                impacts += 1;
                is_short = false;
                impact_pending = self.classify_contacts();
            }
            let remainder = h - elapsed;
            if remainder < NEGLIGIBLE_REMAINDER * h {
                self.start.t = end;
                break;
            }
            self.reset_filters();
            let next = if impact_pending {
                Next::WithoutRebounds
            } else {
                self.next_piece(system, remainder, end, impacts < max_impacts)?
            };
            match next {
                Next::Impact(fraction) => {
                    let t = self.start.t + fraction * remainder;
                    elapsed += fraction * remainder;
                    earlier = Some(self.accept_piece(system, fraction * remainder, t, earlier)?);
                }
                Next::Whole => {
                    is_short = self.is_short(remainder);
                    earlier = Some(self.accept_piece(system, remainder, end, earlier)?);
                    break;
                }
                Next::WithoutRebounds => {
                    earlier = Some(self.finish_without_rebounds(system, remainder, end, earlier)?);
                    break;
                }
            }
        }
        if is_short {
            // Accelerations and reactions are those of the start of the piece.
            (earlier, _) = self.solve_impact(system, earlier)?;
        }
        self.reset_filters();
        Ok(earlier.unwrap_or_else(|| self.empty_report(h)))
    }

    /// Solves the `remainder` of the step to `end` without impacts and decides how it continues; the piece is in `trial`.
    fn next_piece(
        &mut self,
        system: &dyn System,
        remainder: f64,
        end: f64,
        may_locate: bool,
    ) -> Result<Next, StepError> {
        let outcome = self.try_piece(system, remainder, end).and_then(|()| {
            match self.first_closing(remainder) {
                None => Ok(Next::Whole),
                Some(_) if !may_locate => Ok(Next::WithoutRebounds),
                Some(crossing) => self.locate(system, remainder, end, crossing),
            }
        });
        match outcome {
            Err(error) if is_unsolved(&error) => Ok(Next::WithoutRebounds),
            other => other,
        }
    }

    /// Solves the remainder of the step as one piece with all contacts, and without rebounds.
    fn finish_without_rebounds(
        &mut self,
        system: &dyn System,
        remainder: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        self.excluded.fill(false);
        self.located.current.fallbacks += 1;
        self.located.current.solves += 1;
        self.monitor.count_remedy();
        self.solve(system, remainder, end)?;
        let report = self.accept_piece(system, remainder, end, earlier)?;
        for j in self.dims.ng..self.rows.len() {
            let p = self.part_impulse[j];
            if self.sets.velocity[j] && !self.start.closed[j] {
                self.start.closed[j] = true;
                // Gap velocity without the jump.
                let smooth = self.rows.gradient().dot(j, &self.trial.vt) + self.start.rate[j];
                let rates = [smooth, self.start.velocity[j]];
                if smooth < 0.0 {
                    self.record_event(EventKind::Impact, j, rates, p);
                    let e = self.rows.set.law[j - self.dims.ng].e_n;
                    self.located.current.dropped += u64::from(e > 0.0);
                }
                self.record_event(EventKind::Close, j, [rates[1]; 2], 0.0);
            }
        }
        Ok(report)
    }

    /// Splits the contacts at the start of a piece into closed and excluded ones; whether one of the latter has a closed gap and
    /// negative gap velocity.
    fn classify_contacts(&mut self) -> bool {
        let mut impact_pending = false;
        for j in self.dims.ng..self.rows.len() {
            let is_at_rest = self.is_at_rest(j);
            let approaches = self.start.velocity[j] < 0.0;
            let mut closed = self.start.closed[j];
            if !closed && (is_at_rest || approaches) && self.is_touching(j) {
                closed = is_at_rest;
                impact_pending |= !closed;
            }
            self.start.closed[j] = closed;
            self.excluded[j] = !closed;
        }
        impact_pending
    }

    /// Classifies the contacts before a streamed step; `false` where it begins with an impact or has no filter history.
    pub(in crate::generalized_alpha) fn begin_located_streaming(&mut self) -> bool {
        self.located.current.solves += 1;
        self.start.is_filtered && !self.classify_contacts()
    }

    /// Whether an excluded contact closes in the step of length `h` in `trial`.
    pub(in crate::generalized_alpha) fn closes_excluded_contact(&self, h: f64) -> bool {
        self.first_closing(h).is_some()
    }

    /// Records the contacts that a streamed step has opened, and restarts the filters if there are any.
    pub(in crate::generalized_alpha) fn record_streamed_openings(&mut self) {
        if self.settings.location.is_some() && self.record_openings() {
            self.reset_filters();
        }
    }

    /// Gap below which contact row `j` counts as closed \[m\].
    fn closed_gap_limit(&self, j: usize) -> f64 {
        let length = self.reference_step.unwrap_or(self.start.length);
        let moved = self.rows.row_norm[j] * self.momentum_scale.scale * length;
        let relative = CLOSED_GAP.max(10.0 * self.settings.tolerance);
        // The positions at the start of a streamed step are not stored.
        let from_position = if self.streaming.was_used {
            0.0
        } else {
            CLOSED_GAP * self.gap_magnitude(j, &self.start.q)
        };
        (CLOSED_GAP / 1e-12 * self.epsilon)
            .max(relative * moved)
            .max(from_position)
    }

    /// Whether contact row `j` is closed at the start.
    pub(in crate::generalized_alpha) fn is_touching(&self, j: usize) -> bool {
        let limit = match self.settings.location {
            Some(_) => self.closed_gap_limit(j),
            None => self.epsilon,
        };
        self.start.gap[j] <= limit
    }

    /// Whether contact row `j` is at rest at the start.
    pub(in crate::generalized_alpha) fn is_at_rest(&self, j: usize) -> bool {
        self.start.velocity[j].abs() <= self.rest_speed(j)
    }

    /// Normal speed below which contact row `j` is at rest \[m/s\].
    fn rest_speed(&self, j: usize) -> f64 {
        AT_REST * self.momentum_scale.scale * self.rows.row_norm[j]
    }

    /// Updates `closed` at the end of a step and records the contacts that opened as events; whether there are any.
    fn record_openings(&mut self) -> bool {
        let mut opened = false;
        for j in self.dims.ng..self.rows.len() {
            if !self.start.closed[j] || self.sets.velocity[j] {
                continue;
            }
            if self.is_touching(j) && self.is_at_rest(j) {
                continue;
            }
            self.start.closed[j] = false;
            opened = true;
            self.record_event(EventKind::Open, j, [self.start.velocity[j]; 2], 0.0);
        }
        opened
    }

    /// Records an event of the contact of row `j` at the time of the start.
    fn record_event(&mut self, kind: EventKind, j: usize, [before, after]: [f64; 2], p: f64) {
        self.located.events.push(Event {
            kind,
            t: self.start.t,
            contact: self.rows.set.id[j - self.dims.ng],
            velocity_before: [before, 0.0, 0.0],
            velocity_after: [after, 0.0, 0.0],
            impulse: [p, 0.0, 0.0],
            energy_lost: -0.5 * p * (before + after),
            energy: Some(self.energy),
        });
    }
}
