//! The books of a run: certificate, energy, iterations, events, rest, wall time.

use crate::observe::contact_work::ContactVelocities;
use crate::observe::energy_audit::EnergyAudit;
use crate::observe::impact_columns::ImpactColumns;
use crate::observe::moving::MovingRates;
use crate::observe::rest::RestWatch;
use crate::observe::{EventLog, Events, Rest};
use saltus_integrators::{
    Counts, Energy, Frame, Guarantees, Observer, ObserverError, Plan, Reactions, RunInfo, Stop,
    WorstCertificate,
};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Gains of energy at impacts below this fraction of the largest kinetic energy are not noted: the error of
/// the smooth motion is of that size, and so is what filtered accelerations give back.
pub const NOTICED: f64 = 1e-4;
/// So are those below this fraction of the largest energy that was at work, where little of it is kinetic at the ends of steps:
/// rounding.
const ROUND_OFF: f64 = 1e-12;
/// Steps after an impact in which a gain is the impact's: a scheme that filters accelerations can give back
/// later what it took.
pub const RINGING: u64 = 10;
/// Steps after the first impulse of an impact whose velocity is a mean of those before and after it, where velocities lag.
const STRADDLED: u64 = 1;

/// Correction solves of the Newton loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Iterations {
    /// Sum over all steps.
    pub total: u64,
    /// Most of a step.
    pub max: u32,
}

/// Lengths of the steps that a scheme chose \[s\]. The last step of a run that reached its end is cut to end there and does
/// not count, unless it is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepRange {
    /// The shortest.
    pub shortest: f64,
    /// The longest.
    pub longest: f64,
}

impl StepRange {
    fn with(range: Option<Self>, h: f64) -> Self {
        Self {
            shortest: range.map_or(h, |r| r.shortest.min(h)),
            longest: range.map_or(h, |r| r.longest.max(h)),
        }
    }
}

/// How a run went, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Start, step and end as planned.
    pub plan: Plan,
    /// How it ended.
    pub stop: Stop,
    /// Steps taken.
    pub steps: u64,
    /// Attempts that were rejected and taken again, by schemes that choose their step.
    pub rejected: u64,
    /// What else the scheme counted.
    pub counts: Vec<(String, u64)>,
    /// Lengths of the steps, where the scheme chooses them and took any; `plan.step` is then the largest that it may take.
    pub step_range: Option<StepRange>,
    /// Length of the last step \[s\].
    pub last_step: Option<f64>,
    /// Largest stable step \[s\] about the start, of a scheme that has such a limit and knows it.
    pub stable_step: Option<f64>,
    /// Numbers in force of options of the scheme that are left out and follow from the model.
    pub resolved_options: Vec<(&'static str, f64)>,
    /// Time reached \[s\].
    pub t_end: f64,
    /// Wall time of the run, observers included.
    pub wall: Duration,
    /// Correction solves.
    pub iterations: Iterations,
    /// Most contacts that carried an impulse in one step.
    pub max_active: u32,
    /// Most redundant constraint rows in one step.
    pub max_redundant: u32,
    /// Steps that were not solved by corrections alone: active sets found with the multipliers where guessed ones cycle, activation
    /// parameters raised, another linear solve, or the step taken in parts.
    pub remedied: u64,
    /// Which certificate entries the scheme guarantees, and to what tolerance.
    pub guarantees: Guarantees,
    /// The largest value of each entry, and when.
    pub certificate: WorstCertificate,
    /// Energy.
    pub energy: EnergyAudit,
    /// What happened to contacts, counted.
    pub events: Events,
    /// When nothing moved.
    pub rest: Rest,
}

impl Outcome {
    /// Mean number of correction solves of a step.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn iterations_mean(&self) -> f64 {
        if self.steps == 0 {
            0.0
        } else {
            self.iterations.total as f64 / self.steps as f64
        }
    }

    /// How often the scheme counted `name`, if it did.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        let found = self.counts.iter().find(|(own, n)| own == name && *n > 0);
        found.map(|(_, n)| *n)
    }

    /// Mean wall time of a step \[µs\], observers included.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn step_us(&self) -> f64 {
        if self.steps == 0 {
            0.0
        } else {
            1e6 * self.wall.as_secs_f64() / self.steps as f64
        }
    }
}

/// Keeps the books of a run; costs a few nanoseconds per step.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Audit {
    #[serde(skip)]
    info: Option<(&'static str, Plan, Guarantees)>,
    /// Time at which the run began \[s\].
    began: f64,
    /// Whether the books are those of a run that goes on.
    #[serde(skip)]
    goes_on: bool,
    #[serde(skip)]
    chooses_step: bool,
    stable_step: Option<f64>,
    #[serde(skip)]
    resolved_options: Vec<(&'static str, f64)>,
    #[serde(skip)]
    velocity_lags: bool,
    #[serde(skip)]
    before: Option<Vec<u64>>,
    log: EventLog,
    rest: RestWatch,
    #[serde(with = "certificate")]
    certificate: WorstCertificate,
    energy: EnergyAudit,
    #[serde(with = "crate::exact")]
    total: f64,
    iterations: Iterations,
    max_active: u32,
    max_redundant: u32,
    remedied: u64,
    steps: u64,
    rejected: u64,
    counts: Vec<(String, u64)>,
    /// Lengths of all steps but the last.
    range: Option<StepRange>,
    t: f64,
    #[serde(skip)]
    started: Option<Instant>,
    /// Wall time of what was run before.
    wall: Duration,
    #[serde(skip)]
    impact: bool,
    /// Rates of prescribed motions.
    #[serde(skip)]
    moving: MovingRates,
    /// Velocities of contacts and of joints with friction.
    #[serde(skip)]
    velocities: ContactVelocities,
    columns: ImpactColumns,
    /// Whether a contact with a prescribed motion has carried an impulse since the last impact began.
    wall_moves: bool,
    /// Steps since the last impact.
    quiet: Option<u64>,
    /// Smallest and largest potential energy \[J\].
    #[serde(with = "crate::exact")]
    least_potential: f64,
    #[serde(with = "crate::exact")]
    most_potential: f64,
    /// Largest gain of a step away from impacts \[J\].
    #[serde(with = "crate::exact")]
    smooth_gain: f64,
    /// Gain of the steps that straddle an impact so far, where velocities lag \[J\].
    #[serde(with = "crate::exact")]
    straddled_gain: f64,
    h: Option<f64>,
    #[serde(skip)]
    stop: Option<Stop>,
}

/// The entries that apply, each with its worst value and time.
mod certificate {
    use super::WorstCertificate;
    use saltus_integrators::Entry;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Worst(
        String,
        #[serde(with = "crate::exact")] f64,
        #[serde(with = "crate::exact")] f64,
    );

    pub(super) fn serialize<S: Serializer>(
        certificate: &WorstCertificate,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let entry = |(entry, worst, at): (Entry, f64, f64)| Worst(entry.name().into(), worst, at);
        serializer.collect_seq(certificate.iter().map(entry))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<WorstCertificate, D::Error> {
        let mut certificate = WorstCertificate::default();
        for Worst(name, worst, at) in Vec::<Worst>::deserialize(deserializer)? {
            let entry = Entry::ALL.into_iter().find(|entry| entry.name() == name);
            let Some(entry) = entry else {
                return Err(serde::de::Error::custom(format!(
                    "there is no entry {name}"
                )));
            };
            certificate.set(entry, worst, at);
        }
        Ok(certificate)
    }
}

impl Audit {
    /// Books of a run to come.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Books of a run that goes on, in which `closed` contacts carried an impulse in the last step.
    pub(crate) fn resumed(closed: Vec<u64>) -> Self {
        Self {
            before: Some(closed),
            ..Self::default()
        }
    }

    /// The books so far, for a run that goes on from here.
    pub(crate) fn save(&self) -> Self {
        Self {
            wall: self.wall_so_far(),
            ..self.clone()
        }
    }

    /// Takes up what [`save`](Self::save) gave: books of one run, though it was stopped.
    pub(crate) fn going_on(saved: Self) -> Self {
        Self {
            goes_on: true,
            ..saved
        }
    }

    /// Start and step of the whole run, with the end of the present plan.
    pub(crate) fn plan(&self, plan: Plan) -> Plan {
        Plan::new(self.began, plan.step, plan.until)
    }

    fn count(&mut self, counts: Counts) {
        for ((_, sum), (_, n)) in self.counts.iter_mut().zip(counts.iter()) {
            *sum += n;
        }
    }

    /// Whether the velocity of the last step is a mean of those before and after an impact.
    fn straddles(&self) -> bool {
        self.velocity_lags && self.quiet.is_some_and(|steps| steps <= STRADDLED)
    }

    /// Notes the gain of a step, or of the steps that straddle an impact.
    fn note_gain(&mut self, gain: f64) {
        if gain > self.energy.max_gain {
            (self.energy.max_gain, self.energy.max_gain_at) = (gain, self.t);
        }
        if self.quiet.is_none_or(|steps| steps > RINGING) {
            self.smooth_gain = self.smooth_gain.max(gain);
        } else if gain > self.noticed() && !self.wall_moves {
            // What a wall that moves brings in is not known to round-off.
            self.energy.impacts_that_gain += 1;
            if gain > self.energy.impact_gain {
                (self.energy.impact_gain, self.energy.impact_gain_at) = (gain, self.t);
            }
        }
    }

    fn include_energy(&mut self, energy: Energy) {
        self.least_potential = self.least_potential.min(energy.potential);
        self.most_potential = self.most_potential.max(energy.potential);
        let books = &mut self.energy;
        books.last = energy;
        books.largest_kinetic = books.largest_kinetic.max(energy.kinetic);
        books.potential_range = self.most_potential - self.least_potential;
    }

    /// Gain of a step with an impact above which it is noted \[J\].
    fn noticed(&self) -> f64 {
        let energy = &self.energy;
        let moved = (energy.last.potential - energy.initial.potential).abs();
        let size = [
            energy.work_external,
            energy.work_contact,
            energy.work_moving,
        ];
        let size = size.iter().fold(moved, |size, work| size.max(work.abs()));
        let size = size.max(energy.initial.potential.abs());
        self.smooth_gain
            .max(NOTICED * energy.largest_kinetic)
            .max(ROUND_OFF * size)
    }

    fn wall_so_far(&self) -> Duration {
        let now = self.started.map(|started| started.elapsed());
        self.wall + now.unwrap_or_default()
    }

    /// The event log.
    #[must_use]
    pub fn log(&self) -> &EventLog {
        &self.log
    }

    /// Whether any contact closed in the last step.
    pub(crate) fn impact(&self) -> bool {
        self.impact
    }

    /// How the run went; `None` before it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.clone().into_outcome()
    }

    /// How the run went; `None` before it has ended.
    #[must_use]
    pub fn into_outcome(mut self) -> Option<Outcome> {
        self.columns.enter(&mut self.certificate);
        let gain = std::mem::take(&mut self.straddled_gain);
        self.note_gain(gain);
        let (scheme, plan, guarantees) = self.info?;
        let stop = self.stop?;
        let cut = stop == Stop::EndReached && self.range.is_some();
        let last = self.h.filter(|_| !cut);
        let range = last.map_or(self.range, |h| Some(StepRange::with(self.range, h)));
        let events = self.log.into_events();
        if events.impacts == 0 {
            // A contact that closed without an impact is not what adds energy.
            let energy = &mut self.energy;
            (energy.impacts_that_gain, energy.impact_gain) = (0, 0.0);
        }
        Some(Outcome {
            scheme,
            plan,
            guarantees,
            stop,
            steps: self.steps,
            rejected: self.rejected,
            counts: self.counts,
            step_range: range.filter(|_| self.chooses_step),
            // The difference of two times has the round-off of both.
            last_step: self.h.map(|h| {
                let whole = (h - plan.step).abs() <= 1e-9 * plan.step;
                if whole { plan.step } else { h }
            }),
            stable_step: self.stable_step,
            resolved_options: self.resolved_options,
            t_end: self.t,
            wall: self.wall,
            iterations: self.iterations,
            max_active: self.max_active,
            max_redundant: self.max_redundant,
            remedied: self.remedied,
            certificate: self.certificate,
            energy: self.energy,
            events,
            rest: self.rest.rest(),
        })
    }
}

/// Whether a contact with a prescribed motion carries an impulse.
fn has_prescribed_motion(reactions: &Reactions<'_>) -> bool {
    let set = reactions.contacts;
    let mut contacts = set.first_row.iter().zip(reactions.impulse);
    contacts.any(|(&row, p)| *p > 0.0 && set.rate[row] != 0.0)
}

impl Observer for Audit {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        if std::mem::take(&mut self.goes_on) {
            self.info = Some((info.scheme, self.plan(info.plan), info.guarantees));
            self.chooses_step = info.chooses_step;
            self.resolved_options = info.resolved_options.to_vec();
            self.velocity_lags = info.velocity_lags;
            self.started = Some(Instant::now());
            self.moving.keep(&first.reactions);
            self.velocities.keep(&first.reactions);
            self.columns.keep(&first.reactions);
            return Ok(());
        }
        *self = Self {
            before: self.before.take(),
            began: info.plan.begin(),
            ..Self::default()
        };
        self.info = Some((info.scheme, info.plan, info.guarantees));
        self.chooses_step = info.chooses_step;
        self.resolved_options = info.resolved_options.to_vec();
        self.velocity_lags = info.velocity_lags;
        self.stable_step = info.stable_step;
        let names = first.counts.names.iter();
        self.counts = names.map(|name| ((*name).to_owned(), 0)).collect();
        self.log.begin(info, first, self.before.as_deref());
        self.moving.keep(&first.reactions);
        self.velocities.keep(&first.reactions);
        self.columns.keep(&first.reactions);
        self.rest.begin(first);
        let energy = first.report.energy;
        self.energy = EnergyAudit {
            initial: energy,
            last: energy,
            max_gain_at: f64::NAN,
            impact_gain_at: f64::NAN,
            ..EnergyAudit::default()
        };
        self.total = energy.total() - first.report.energy_lag;
        self.energy.largest_kinetic = energy.kinetic;
        (self.least_potential, self.most_potential) = (energy.potential, energy.potential);
        self.t = first.state.t;
        self.started = Some(Instant::now());
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        let report = frame.report;
        self.steps += 1;
        self.t = frame.state.t;
        if let Some(h) = self.h.replace(report.h) {
            self.range = Some(StepRange::with(self.range, h));
        }
        self.rejected += u64::from(report.rejected);
        self.certificate.update(self.t, &report.certificate);
        self.iterations.total += u64::from(report.iterations);
        self.iterations.max = self.iterations.max.max(report.iterations);
        self.max_active = self.max_active.max(report.active);
        self.max_redundant = self.max_redundant.max(report.redundant);
        self.remedied += u64::from(report.remedies > 0);
        let total = report.energy.total() - report.energy_lag;
        let moving = self.moving.work(&frame.reactions);
        let dissipated = if self.velocity_lags {
            // The work that belongs to the energies at the times of the velocities.
            report.work_contact - moving
        } else {
            self.velocities.dissipated(frame)
        };
        self.moving.keep(&frame.reactions);
        self.velocities.keep(&frame.reactions);
        self.columns.update(&frame.reactions, self.t);
        let gain = total - self.total - report.work_external - moving;
        let numerical = gain - dissipated;
        self.total = total;
        self.include_energy(report.energy);
        self.energy.work_external += report.work_external;
        self.energy.work_contact += moving + dissipated;
        self.energy.work_moving += moving;
        self.count(frame.counts);
        self.impact = self.log.update(frame);
        self.wall_moves &= !self.impact;
        self.wall_moves |= has_prescribed_motion(&frame.reactions);
        self.quiet = match self.quiet {
            _ if self.impact => Some(0),
            quiet => quiet.map(|steps| steps + 1),
        };
        let ends_impact = self.velocity_lags && self.quiet == Some(STRADDLED + 1);
        if self.impact || self.straddles() || ends_impact {
            self.energy.numerical_at_impacts += numerical;
        }
        self.straddled_gain += gain;
        if !self.straddles() {
            let gain = std::mem::take(&mut self.straddled_gain);
            self.note_gain(gain);
        }
        self.rest.update(frame);
        Ok(ControlFlow::Continue(()))
    }

    fn in_force(&mut self, options: &[(&'static str, f64)]) {
        self.resolved_options = options.to_vec();
    }

    fn end(&mut self, stop: &Stop) -> Result<(), ObserverError> {
        self.wall = self.wall_so_far();
        self.started = None;
        self.stop = Some(stop.clone());
        Ok(())
    }
}
