//! The event-driven scheme.
//!
//! Between events the contacts keep their modes (open, closed, stick, slip ±), and the motion obeys equations of index 1:
//!
//! ```text
//! M v̇ = f + Gᵀ λ + Σ (W_N − μ W_T d) λ_N + …      G v̇ + ζ = 0 ,   Γ_N = W_Nᵀ v̇ + ζ_N = 0 (closed) ,   Γ_T = 0 (stick)
//! ```
//!
//! with the direction of slip `d = u_T/|u_T|` in the tangent plane, integrated by the Runge–Kutta method of order 8 of Dormand and
//! Prince to a tolerance, or by Radau IIA of order 5 where that is asked for (`stiff`), and where slip in space begins or ends, which
//! makes `d` turn ever faster. A *piece* is one accepted step of that integration, with its dense output. Events are searched there and
//! located on a predicate: an open contact closes (`g < 0` and `u < 0`), a closed one pulls (`λ < 0`), a slipping one stops
//! (`d · u_T < 0`), a sticking one leaves its cone (`|λ_T| > μ λ_N`); of the last three the instant is where they pass zero. They count
//! beyond their thresholds of zero ([`scales`]). At an event: drift is removed (projections in the metric of `M`); the impact law holds for all closed contacts, `0 ≤ u⁺ + e u⁻ ⟂ P ≥ 0` with Coulomb's law; the modes follow from `0 ≤ Γ ⟂ λ ≥ 0` and
//! Coulomb's law at acceleration level. All events of an instant are one batch. A step ends at every event and at every multiple of
//! the given step, so that outputs stay on their grid; a step of the integration reaches over many of them where accelerations are constant.
//!
//! Exact to the tolerance of the integration: no penetration, no drift, no energy lost or gained but by impacts and friction. For few
//! contacts and events: where impacts accumulate it needs a guard (which it reports), with many contacts a time-stepping scheme.
//!
//! Reference: Acary, Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems* (2008), ch. 8; Pfeiffer, Glocker (1996); Liu,
//! Zhao, Brogliato (2008) for the energetic impact law.

mod accelerations;
mod accumulation;
mod arc;
mod dop853;
mod energetic;
mod event_update;
mod explicit;
mod force_dips;
mod impact;
mod implicit;
mod mode_selection;
mod modes;
mod options;
mod parabola;
mod representative;
mod roots;
mod row_system;
mod saved;
mod scales;
mod stage_equations;
mod step_control;
mod stored_energy;

pub use options::{Accumulation, EventDrivenOptions, ImpactLaw};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{
    Counts, Event, EventKind, Integrator, Reactions, StepError, StepReport, refuse_joint_friction,
};
use crate::kit::{EvaluationPoint, Row, Step, StepProblem, largest_step};
use crate::scheme::OptionsError;
use accumulation::TimeStepping;
use arc::Arc;
use force_dips::Margins;
use impact::Impact;
use modes::{Memory, Mode, size, slip};
use roots::{Decision, Detected};
use saltus_system::{State, System};
use scales::Scales;

const NAME: &str = "event-driven";
/// Output times closer to the end of the run than this share of a step are the end.
const NEAR: f64 = 1e-9;

/// The scheme with its buffers.
#[derive(Debug)]
pub struct EventDriven {
    options: EventDrivenOptions,
    own: Option<Prepared>,
}

/// The scheme after [`prepare`](Integrator::prepare): options, workspace and what it remembers.
#[derive(Debug)]
struct Prepared {
    options: EventDrivenOptions,
    step: Step,
    problem: StepProblem,
    arc: Arc,
    impact: Impact,
    scales: Scales,
    memory: Memory,
    /// Whether the modes belong to the start of the next step.
    modes_are_current: bool,
    /// Whether the memory was loaded: the state of the next step is then its state.
    is_loaded: bool,
    detected: Vec<Detected>,
    /// Gaps and their rates where the search for events begins, and at another point of the arc.
    gaps: [Vec<(f64, f64)>; 2],
    margins: Margins,
    decision: Decision,
    /// Modes before the event.
    before: Vec<Mode>,
    /// Contacts that are closed at an event, and of these the ones that do not separate after it: their normal velocity is zero.
    closed: Vec<usize>,
    persistent: Vec<usize>,
    /// Of these the ones with friction in space that do not slip.
    at_rest_in_space: Vec<usize>,
    v_before: Vec<f64>,        // velocity before an impact (nv)
    work: Vec<f64>,            // (nv)
    force: Vec<f64>,           // normal forces at the end of the step (contacts) [N]
    bilateral_force: Vec<f64>, // (ng) [N]
    /// Length of the steps that stability forces on the explicit method about the start \[s\].
    forced_step: Option<f64>,
    /// Time of the first output and distance of the outputs \[s\].
    origin: f64,
    nominal: f64,
    /// Events since the last output, and when the last one was \[s\].
    events: u32,
    last_event: f64,
    time_stepping: Option<TimeStepping>,
    /// Contacts of the last step whose laws did not determine whether they carry a force, and were looked at a moment later.
    undetermined: u64,
    /// Time step of the last accumulation that was passed by time-stepping \[s\].
    passed_with: Option<f64>,
}

impl EventDriven {
    /// The scheme with the given parameters.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn new(options: EventDrivenOptions) -> Result<Self, OptionsError> {
        options.validate()?;
        Ok(Self { options, own: None })
    }
}

impl Integrator for EventDriven {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        let tolerance = self.options.tolerance;
        [
            Entry::Dynamics,
            Entry::BilateralVelocity,
            Entry::ComplementarityVelocity,
            Entry::Cone,
            Entry::StickVelocity,
            Entry::QuaternionNorm,
        ]
        .into_iter()
        .fold(Guarantees::default(), |g, entry| g.with(entry, tolerance))
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let mut step = Step::new(NAME, system, state, None, h)?;
        refuse_joint_friction(system, NAME)?;
        self.refuse(system, &step)?;
        let report = step.initial_report(system, h);
        let zeros = || vec![0.0; step.dims.nv];
        let mut own = Prepared {
            options: self.options.clone(),
            problem: StepProblem::default(),
            arc: Arc::new(system, &self.options),
            impact: Impact::default(),
            scales: Scales::default(),
            memory: Memory::default(),
            modes_are_current: false,
            is_loaded: false,
            detected: Vec::new(),
            gaps: [Vec::new(), Vec::new()],
            margins: Margins::default(),
            decision: Decision::default(),
            before: Vec::new(),
            closed: Vec::new(),
            persistent: Vec::new(),
            at_rest_in_space: Vec::new(),
            v_before: zeros(),
            work: zeros(),
            force: Vec::new(),
            bilateral_force: vec![0.0; step.dims.ng],
            forced_step: if self.options.stiff {
                None
            } else {
                largest_step(system, state, &step, explicit::stable_step)
            },
            origin: state.t,
            nominal: h,
            events: 0,
            last_event: state.t,
            time_stepping: None,
            undetermined: 0,
            passed_with: None,
            step,
        };
        own.scales.length = 1e12 * own.step.epsilon;
        own.impact.begin();
        own.begin(system, state, h)?;
        own.reset_end_to_start(system)?;
        own.update_scales();
        if !own.approaches() {
            own.update_at_event(system)?;
            own.evaluate_forces(system)?;
            own.modes_are_current = true;
            own.memory.keep(&own.step.end.contacts, &own.arc.modes.list);
            own.step.events.clear();
        } else {
            own.force.resize(own.step.start.contacts.len(), 0.0);
        }
        own.step.mark_initial_states();
        self.own = Some(own);
        Ok(report)
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let Some(own) = &mut self.own else {
            return Err(crate::kit::unprepared(NAME));
        };
        if own.time_stepping.is_some() {
            return own.step_in_time(system, state, h, end);
        }
        own.take_step(system, state, h, end)
    }

    fn reactions(&self) -> Reactions<'_> {
        let Some(own) = &self.own else {
            return crate::kit::reactions(None);
        };
        if let Some(stepping) = own.time_stepping.as_ref().and_then(TimeStepping::shown) {
            return Reactions {
                force: &own.force,
                bilateral_force: &own.bilateral_force,
                ..stepping.reactions()
            };
        }
        Reactions {
            force: &own.force,
            bilateral_force: &own.bilateral_force,
            ..own.step.reactions()
        }
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        let Some(own) = &self.own else { return };
        if let Some(stepping) = own.time_stepping.as_ref().and_then(TimeStepping::shown) {
            return stepping.interpolate(system, fraction, out);
        }
        let s = fraction * own.arc.time();
        if fraction >= 1.0 || !own.arc.interpolate(system, s, out) {
            out.q.clone_from(&own.step.start.q);
            out.v.clone_from(&own.step.start.v);
        }
    }

    fn events(&self) -> &[Event] {
        let Some(own) = &self.own else { return &[] };
        match own.time_stepping.as_ref().and_then(TimeStepping::shown) {
            Some(stepping) => stepping.events(),
            None => &own.step.events,
        }
    }

    fn counts(&self) -> Counts {
        let times = |kind: EventKind| {
            let events = self.events().iter().filter(move |event| event.kind == kind);
            events.map(|event| event.t)
        };
        // Contacts that hit together are one impact.
        let mut last = f64::NAN;
        let instants = times(EventKind::Impact).filter(|t| std::mem::replace(&mut last, *t) != *t);
        let undetermined = self.own.as_ref().map_or(0, |own| own.undetermined);
        Counts {
            names: &[
                "located_impacts",
                "ended_accumulations",
                "undetermined_contacts",
            ],
            values: [
                instants.count() as u64,
                times(EventKind::Accumulation).count() as u64,
                undetermined,
                0,
                0,
                0,
            ],
        }
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        let Some(own) = &self.own else {
            return Vec::new();
        };
        let mut resolved = vec![("v_acc", own.v_acc())];
        if own.hands_over() {
            let step = own
                .passed_with
                .unwrap_or_else(|| own.step_of_accumulations());
            resolved.push(("time_step", step));
        }
        // Of positions, and of velocities.
        resolved
            .extend([0, 1].map(|block| ("atol", own.arc.absolute_tolerance(block, own.nominal))));
        resolved
    }

    fn chooses_step(&self) -> bool {
        true
    }

    fn forced_step(&self) -> Option<f64> {
        self.own.as_ref().and_then(|own| own.forced_step)
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        if let Some(own) = &self.own {
            own.save(memory);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        if let Some(own) = &mut self.own {
            own.load(memory);
        }
    }
}

impl EventDriven {
    /// Refuses friction with an impact law that is without it, and a list of stiffnesses for other contacts.
    fn refuse(&self, system: &dyn System, step: &Step) -> Result<(), StepError> {
        let (given, expected) = (self.options.stiffness.len(), system.contact_count());
        if given > 0 && given != expected {
            return Err(StepError::ContactStiffness { given, expected });
        }
        let set = &step.start.contacts;
        let has_friction = |i: &usize| step.reactions.rows_of(set, *i) > 1;
        match self.options.impact_law {
            ImpactLaw::Newton | ImpactLaw::Sequential => Ok(()),
            ImpactLaw::Poisson | ImpactLaw::Energetic => match (0..set.len()).find(has_friction) {
                None => Ok(()),
                Some(i) => Err(StepError::ContactsUnsupported {
                    contact: system.names().contact(set.id[i]),
                    scheme: NAME,
                    cure: "this `impact_law` is without friction: use \"newton\" or \"sequential\", or remove `friction`",
                }),
            },
        }
    }
}

impl Prepared {
    /// Starts a step: contacts, their modes, the state evaluated.
    fn begin(&mut self, system: &dyn System, state: &State, h: f64) -> Result<(), StepError> {
        let start = &self.step.start;
        let goes_on = start.t == state.t && start.q == state.q && start.v == state.v;
        if !goes_on && !self.is_loaded {
            self.modes_are_current = false;
            self.memory.clear();
        }
        self.is_loaded = false;
        if goes_on && self.step.contacts_are_fixed {
            // The forces there are those at the end of the last step.
            self.step.begin_without_forces(system, state, h, &[]);
        } else {
            self.step.begin(system, state, h)?;
        }
        self.problem.begin_step();
        let set = &self.step.start.contacts;
        let modes = &mut self.arc.modes;
        self.memory.recall(set, &mut modes.list);
        let reactions = &self.step.reactions;
        modes.tangents.clear();
        let tangents = (0..set.len()).map(|i| reactions.rows_of(set, i) - 1);
        modes.tangents.extend(tangents);
        Ok(())
    }

    /// Puts the end of the step where it starts, evaluated.
    fn reset_end_to_start(&mut self, system: &dyn System) -> Result<(), StepError> {
        let Step { start, end, .. } = &mut self.step;
        end.t = start.t;
        end.q.copy_from_slice(&start.q);
        end.v.copy_from_slice(&start.v);
        self.evaluate_end(system)
    }

    /// Everything at the end of the step, whose `t`, `q` and `v` are set.
    fn evaluate_end(&mut self, system: &dyn System) -> Result<(), StepError> {
        let end = &mut self.step.end;
        end.evaluate(system, NAME)?;
        self.evaluate_end_forces(system)
    }

    /// What depends on velocities at the end of the step.
    fn evaluate_end_forces(&mut self, system: &dyn System) -> Result<(), StepError> {
        let end = &mut self.step.end;
        end.evaluate_laws(system);
        end.evaluate_force(system)?;
        end.evaluate_bias(system);
        Ok(())
    }

    /// Where the step has to end: the next output, or the end of the run.
    fn target(&self, t: f64, h: f64, end: f64) -> f64 {
        // Of late outputs the round-off of the time is more of a step.
        let near = NEAR.max(4.0 * f64::EPSILON * t.abs().max(end.abs()) / self.nominal);
        let passed = ((t - self.origin) / self.nominal + near).floor();
        let next = self.origin + (passed + 1.0) * self.nominal;
        let target = next.min(t + h);
        if (end - target).abs() <= near * self.nominal || target > end {
            end
        } else if target < next && (next - target) <= near * self.nominal {
            next
        } else {
            target
        }
    }

    fn take_step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let target = self.target(state.t, h, end);
        self.undetermined = 0;
        self.begin(system, state, h)?;
        let goes_on = self.modes_are_current;
        // The contacts may be others than those at the end of the last step.
        if !goes_on || !self.step.contacts_are_fixed {
            self.reset_end_to_start(system)?;
            self.update_scales();
        }
        if !goes_on {
            self.detected.clear();
            self.decision.is_after_event = false;
            self.update_at_event(system)?;
            if self.time_stepping.is_some() {
                return self.step_in_time(system, state, h, end);
            }
        }
        let Step { start, end, .. } = &self.step;
        let length = target - state.t;
        let from = if goes_on { start } else { end };
        self.arc.begin(system, from, length)?;
        roots::gaps_at(from, &mut self.gaps[0]);
        let event = self.smooth(system, length)?;
        let end_stage = &mut self.step.end;
        end_stage.t = if event {
            // Not before the base, which may lie after a jump that ended the arc.
            (state.t + self.arc.time()).max(self.arc.base.t)
        } else {
            target
        };
        end_stage.q.copy_from_slice(&self.arc.base.q);
        end_stage.v.copy_from_slice(&self.arc.base.v);
        self.evaluate_end(system)?;
        self.take_impulses();
        self.update_scales();
        if event {
            self.count_event(system)?;
            self.update_at_event(system)?;
        } else {
            self.events = 0;
            self.detected.clear();
            self.remove_drift(system)?;
        }
        self.finish(system, state)
    }

    /// Integrates the arc that has begun up to `length` \[s\]; whether an event ended it.
    fn smooth(&mut self, system: &dyn System, length: f64) -> Result<bool, StepError> {
        loop {
            let left = length - self.arc.time();
            if left <= 0.0 {
                return Ok(false);
            }
            let (a, b, is_last) = self.arc.integrate(system, left, self.nominal)?;
            if let Some(s) = self.search(system, a, b)? {
                self.arc.accept(system, s);
                return Ok(true);
            }
            self.arc.accept(system, b);
            if is_last {
                self.arc.leave_piece();
                return Ok(false);
            }
            self.arc.begin_next_piece(system)?;
        }
    }

    /// Impulses of the arc.
    fn take_impulses(&mut self) {
        let (bilateral, rows) = self.arc.impulses();
        let (reactions, set) = (&mut self.step.reactions, &self.step.end.contacts);
        saltus_linear::axpy(1.0, bilateral, &mut reactions.bilateral);
        saltus_linear::axpy(1.0, rows, &mut reactions.row);
        for (normal, first) in reactions.normal.iter_mut().zip(&set.first_row) {
            *normal += rows[*first];
        }
        reactions.include_momentum_residual(self.arc.defect);
    }

    /// Ends the step at the end point.
    fn finish(&mut self, system: &dyn System, state: &mut State) -> Result<StepReport, StepError> {
        self.evaluate_forces(system)?;
        self.include_law_residuals();
        let [external, reactions, moving] = self.arc.works();
        let works = (external, reactions + self.impact.work);
        let moving = moving + self.impact.work_moving;
        self.step.work_moving = Some(moving);
        self.step.work_dissipated = Some(works.1 - moving);
        let redundant = u32::try_from(self.arc.accelerations.redundant()).unwrap_or(u32::MAX);
        let mut report = self.step.finish_with(system, state, works, 0, redundant)?;
        for (shown, mode) in self
            .step
            .reactions
            .state
            .iter_mut()
            .zip(&self.arc.modes.list)
        {
            *shown = mode.state();
        }
        report.rejected = self.arc.rejected;
        report.certificate.set(Entry::ImpactLaw, self.impact.law);
        self.impact.begin();
        self.memory
            .keep(&self.step.start.contacts, &self.arc.modes.list);
        self.modes_are_current = self.time_stepping.is_none();
        Ok(report)
    }

    /// Forces at the end of the step.
    fn evaluate_forces(&mut self, system: &dyn System) -> Result<(), StepError> {
        let arc = &mut self.arc;
        let end = &self.step.end;
        if !(arc.accelerations).evaluate_reactions(end, self.step.dims.ng, &arc.modes) {
            return Err(no_forces(system, end, &arc.modes.list));
        }
        self.force.clear();
        self.force.resize(end.contacts.len(), 0.0);
        for (row, force) in arc.accelerations.forces() {
            match row {
                Row::Bilateral(i) => self.bilateral_force[i] = force,
                Row::Normal(i, _) => self.force[i] = force,
                Row::JointFriction(_) | Row::Tangent(..) => {}
            }
        }
        Ok(())
    }

    /// Velocities of closed contacts at the end of the step, and forces against their cones.
    fn include_law_residuals(&mut self) {
        let mut residuals = crate::kit::LawResiduals::default();
        let (end, arc) = (&self.step.end, &self.arc);
        for (k, &i) in arc.accelerations.contacts().iter().enumerate() {
            let first = end.contacts.first_row[i];
            residuals.law = residuals
                .law
                .max(end.velocity(Row::Normal(i, first), &end.v).abs());
            if arc.modes[i] == Mode::Stick {
                let slip = size(slip(end, i, arc.modes.tangents[i]));
                residuals.stick = residuals.stick.max(slip);
                // The force outside of its cone, over the time of the arc.
                let carried = arc.accelerations.contact_force(k);
                let mu = end.contacts.law[i].mu_static;
                let outside = size(carried.tangent) - mu * carried.normal;
                residuals.cone = residuals.cone.max(outside * arc.time());
            }
        }
        self.step.reactions.include(residuals);
    }
}

/// No forces keep the contacts in their modes.
fn no_forces(system: &dyn System, point: &EvaluationPoint, modes: &[Mode]) -> StepError {
    let slips = modes.iter().position(|m| matches!(m, Mode::Slip(_)));
    let closed = slips.or_else(|| modes.iter().position(|m| m.is_closed()));
    let names = system.names();
    let contact = match closed {
        Some(i) => names.contact(point.contacts.id[i]),
        None => names.bilateral.first().cloned().unwrap_or_default(),
    };
    StepError::ContactMode {
        contact,
        modes: 0,
        t: point.t,
    }
}
