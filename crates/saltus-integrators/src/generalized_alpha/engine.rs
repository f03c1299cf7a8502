//! The step that all schemes of the family share, and its buffers.

use super::compliances::Compliances;
use super::filter::SavedFilter;
use super::fixed_configuration::FixedConfiguration;
use super::levels::Level;
use super::located::LocatedStep;
use super::monitor::SetMonitor;
use super::monolithic::Monolithic;
use super::multipliers::Condensed;
use super::nested_levels::NestedLevels;
use super::response::{Balances, Response};
use super::rows::Rows;
use super::settings::Settings;
use super::streamed::Streaming;
use super::tangent::Tangent;
use crate::integrator::{Energy, StepError, StepReport};
use crate::kit::{MomentumScale, StepEvents};
use saltus_system::{Dims, MassKind, State, Structure, System};

/// Advances a system by one step of any formulation.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) settings: Settings,
    pub(super) dims: Dims,
    pub(super) structure: Structure,
    /// Whether `q ⊕ ξ = q + ξ`.
    pub(super) is_flat: bool,
    /// Whether every step has the same contacts.
    pub(super) contacts_are_fixed: bool,
    /// Weights `1/√Mᵢᵢ` of momenta, and the largest weighted momentum so far.
    pub(super) momentum_scale: MomentumScale,
    /// Largest force so far, over `√Mᵢᵢ` \[√J/s\].
    pub(super) force_scale: f64,
    /// Largest `|ζ|` so far over the norm of its row \[√J/s\].
    pub(super) bias_scale: f64,
    /// Gap that is zero up to round-off \[m\].
    pub(super) epsilon: f64,
    /// Activation parameter `r` of every row: where sets are guessed, a contact is active for `multiplier − r · residual ≥ 0`
    /// (m; bilateral entries unused) \[kg\].
    pub(super) activation: Vec<f64>,
    /// Whether `activation` was computed for the present rows; used only where it is constant.
    pub(super) activation_is_computed: bool,
    pub(super) tangent: Tangent,
    pub(super) response: Response,
    pub(super) start: Start,
    /// The start of the last full step, to step it again in parts.
    pub(super) saved: Start,
    pub(super) interpolant: Interpolant,
    pub(super) trial: Trial,
    pub(super) rows: Rows,
    pub(super) sets: Sets,
    pub(super) condensed: Condensed,
    pub(super) compliances: Compliances,
    pub(super) nested_levels: NestedLevels,
    pub(super) monitor: SetMonitor,
    /// Contacts excluded from the active sets of the trial; their gaps are monitored (m).
    pub(super) excluded: Vec<bool>,
    /// Length of the full step, which scales the residuals of its pieces \[s\]; `None` unless impacts are located.
    pub(super) reference_step: Option<f64>,
    /// Accelerations and impacts at a fixed position.
    pub(super) fixed: FixedConfiguration,
    /// State of the location of impacts inside steps.
    pub(super) located: LocatedStep,
    /// Filter variables saved for a step that has to be repeated.
    pub(super) saved_filter: SavedFilter,
    /// Buffers of streamed steps.
    pub(super) streaming: Streaming,
    /// The monolithic solve, by choice or where a block is singular.
    pub(super) monolithic: Monolithic,
    pub(super) energy: Energy,
    /// Events of a step whose impacts are captured at its end.
    pub(super) captured: StepEvents,
    /// Total impulses over the step (m) \[N·s\].
    pub(super) impulse: Vec<f64>,
    /// Work over the step of rheonomic constraints and moving obstacles (`∂g/∂t ≠ 0`) \[J\].
    pub(super) work_moving: f64,
    /// Total impulses of the last substep or piece of the step (m) \[N·s\].
    pub(super) part_impulse: Vec<f64>,
    /// Multipliers that are not unique in the last solve.
    pub(super) redundant: u32,
    /// Obstacle feature of every contact as restored from a checkpoint; cleared by the next step.
    pub(super) restored_features: Vec<u32>,
}

/// Scales of the motion so far and the energy at the start of a step, restored after a failed attempt.
#[derive(Debug, Clone, Copy)]
struct Scales {
    momentum: f64,
    force: f64,
    bias: f64,
    energy: Energy,
}

/// State, accelerations and rows at the start of the step.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) t: f64,
    pub(super) q: Vec<f64>,                     // (nq)
    pub(super) v: Vec<f64>,                     // (nv)
    pub(super) v_dot: Vec<f64>,                 // v̇ of the smooth motion (nv)
    pub(super) a: Vec<f64>,                     // (nv)
    pub(super) nonconservative_force: Vec<f64>, // force without a potential (nv)
    pub(super) filtered_force: Vec<f64>,        // filtered as `a` is from `v̇` (nv)
    pub(super) momentum: Vec<f64>,              // M v (nv)
    pub(super) velocity: Vec<f64>,              // G v + ∂g/∂t (m)
    pub(super) rate: Vec<f64>,                  // ∂g/∂t (m)
    pub(super) lambda: Vec<f64>,                // λ (m)
    pub(super) eta: Vec<f64>,                   // η (m)
    pub(super) gap: Vec<f64>,                   // g and gaps (m)
    /// Contacts that stay closed, where impacts are located (m; bilateral entries unused).
    pub(super) closed: Vec<bool>,
    /// Whether `a` and `η` are those of the filter, where impacts are located.
    pub(super) is_filtered: bool,
    /// Length of the steps that `a` and `η` belong to \[s\].
    pub(super) length: f64,
    /// Identity of the contacts that `lambda` and `eta` belong to.
    pub(super) ids: Vec<saltus_system::ContactId>,
}

impl Start {
    /// Whether this is the start of a step from `state`.
    pub(super) fn is_at(&self, state: &State) -> bool {
        self.t == state.t && self.q == state.q && self.v == state.v
    }
}

impl Clone for Start {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the storage of `self`.
    fn clone_from(&mut self, source: &Self) {
        self.t = source.t;
        self.is_filtered = source.is_filtered;
        self.length = source.length;
        self.closed.clone_from(&source.closed);
        self.ids.clone_from(&source.ids);
        for (to, from) in [
            (&mut self.q, &source.q),
            (&mut self.v, &source.v),
            (&mut self.v_dot, &source.v_dot),
            (&mut self.a, &source.a),
            (
                &mut self.nonconservative_force,
                &source.nonconservative_force,
            ),
            (&mut self.filtered_force, &source.filtered_force),
            (&mut self.momentum, &source.momentum),
            (&mut self.velocity, &source.velocity),
            (&mut self.rate, &source.rate),
            (&mut self.lambda, &source.lambda),
            (&mut self.eta, &source.eta),
            (&mut self.gap, &source.gap),
        ] {
            to.clone_from(from);
        }
    }
}

/// Data of the last step, for interpolation.
#[derive(Debug, Default, Clone)]
pub(super) struct Interpolant {
    pub(super) h: f64,
    pub(super) q: Vec<f64>,  // (nq)
    pub(super) v: Vec<f64>,  // (nv)
    pub(super) vt: Vec<f64>, // ṽ at the end (nv)
    pub(super) xi: Vec<f64>, // q̃_{n+1} = q_n ⊕ ξ (nv)
}

impl Interpolant {
    /// Reuses the storage of `self`.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.h = other.h;
        for (to, from) in [
            (&mut self.q, &other.q),
            (&mut self.v, &other.v),
            (&mut self.vt, &other.vt),
            (&mut self.xi, &other.xi),
        ] {
            to.clone_from(from);
        }
    }
}

/// The current iterate of the end of the step.
#[derive(Debug, Default)]
pub(super) struct Trial {
    pub(super) v_dot: Vec<f64>,    // v̇ of the smooth motion (nv)
    pub(super) a: Vec<f64>,        // (nv)
    pub(super) u: Vec<f64>,        // U (nv)
    pub(super) w: Vec<f64>,        // W (nv)
    pub(super) xi: Vec<f64>,       // q_{n+1} = q_n ⊕ ξ (nv)
    pub(super) v: Vec<f64>,        // v_{n+1} (nv)
    pub(super) vt: Vec<f64>,       // ṽ_{n+1} (nv)
    pub(super) q: Vec<f64>,        // q_{n+1} (nq)
    pub(super) momentum: Vec<f64>, // M v_{n+1} (nv)
    /// Whether corrections have stagnated, so that tolerances include the round-off of force and rows.
    pub(super) has_stagnated: bool,
    pub(super) extent: f64,            // max |q|, where `is_flat` is not set
    pub(super) q_forecast: Vec<f64>,   // forecast position (nq)
    pub(super) force: Vec<f64>,        // f (nv)
    pub(super) residual: Balances,     // of the three balances
    pub(super) lambda: Vec<f64>,       // λ (m) [N]
    pub(super) eta: Vec<f64>,          // η (m) [N]
    pub(super) nu: Vec<f64>,           // ν (m) [N·s²]
    pub(super) nu_total: Vec<f64>,     // ν* (m)
    pub(super) jump_impulse: Vec<f64>, // Λ (m) [N·s]
    pub(super) jump_impulse_total: Vec<f64>, // Λ* (m)
    pub(super) round_off: Vec<f64>,    // round-off of the force, once measured (nv)
    pub(super) work: Vec<f64>,         // (nv)
    pub(super) row_scratch: Vec<f64>,  // one gradient row (nv)
}

impl Trial {
    /// A multiplier: `λ`, `ν` or `Λ`.
    pub(super) fn multiplier(&mut self, (level, j): (Level, usize)) -> &mut f64 {
        match level {
            Level::Smooth => &mut self.lambda[j],
            Level::Position => &mut self.nu[j],
            Level::Velocity => &mut self.jump_impulse[j],
        }
    }

    /// The same as a total: `λ`, `ν*` or `Λ*`.
    pub(super) fn total(&self, (level, j): (Level, usize)) -> f64 {
        match level {
            Level::Smooth => self.lambda[j],
            Level::Position => self.nu_total[j],
            Level::Velocity => self.jump_impulse_total[j],
        }
    }
}

/// The active sets: rows whose conditions hold as equalities, of `ν*`, `Λ*` and `λ` (m each).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Sets {
    pub(super) position: Vec<bool>,
    pub(super) velocity: Vec<bool>,
    pub(super) smooth: Vec<bool>,
}

impl Sets {
    /// The set of a multiplier.
    pub(super) fn of(&self, level: Level) -> &[bool] {
        match level {
            Level::Smooth => &self.smooth,
            Level::Position => &self.position,
            Level::Velocity => &self.velocity,
        }
    }

    /// The same, to be written.
    pub(super) fn of_mut(&mut self, level: Level) -> &mut [bool] {
        match level {
            Level::Smooth => &mut self.smooth,
            Level::Position => &mut self.position,
            Level::Velocity => &mut self.velocity,
        }
    }

    pub(super) fn resize(&mut self, m: usize) {
        for set in [&mut self.position, &mut self.velocity, &mut self.smooth] {
            set.clear();
            set.resize(m, false);
        }
    }
}

impl Engine {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            dims: Dims::default(),
            structure: Structure::GENERAL,
            is_flat: true,
            contacts_are_fixed: true,
            momentum_scale: MomentumScale::default(),
            force_scale: 0.0,
            bias_scale: 0.0,
            epsilon: 0.0,
            activation: Vec::new(),
            activation_is_computed: false,
            tangent: Tangent::new(0, true),
            response: Response::new(0, false, false),
            start: Start::default(),
            saved: Start::default(),
            interpolant: Interpolant::default(),
            trial: Trial::default(),
            rows: Rows::default(),
            sets: Sets::default(),
            condensed: Condensed::default(),
            compliances: Compliances::new(),
            nested_levels: NestedLevels::default(),
            monitor: SetMonitor::default(),
            excluded: Vec::new(),
            reference_step: None,
            fixed: FixedConfiguration::new(0),
            located: LocatedStep::default(),
            saved_filter: SavedFilter::default(),
            streaming: Streaming::default(),
            monolithic: Monolithic::default(),
            energy: Energy::default(),
            captured: StepEvents::default(),
            impulse: Vec::new(),
            work_moving: 0.0,
            part_impulse: Vec::new(),
            redundant: 0,
            restored_features: Vec::new(),
        }
    }

    /// Whether `M`, `K`, `C` are constant and `q ⊕ ξ = q + ξ`.
    pub(super) fn is_time_invariant(&self) -> bool {
        self.is_flat && self.structure.is_time_invariant()
    }

    /// Whether constraint gradients depend on time at most.
    pub(super) fn rows_are_linear(&self) -> bool {
        (self.dims.ng == 0 || self.structure.linear_constraints)
            && (self.rows.contacts() == 0 || self.structure.linear_contacts)
            && self.contacts_are_fixed
    }

    /// Whether one correction with the right active sets is exact.
    pub(super) fn is_linear(&self) -> bool {
        self.is_time_invariant() && self.rows_are_linear()
    }

    /// Whether the mass matrix is constant.
    pub(super) fn mass_is_constant(&self) -> bool {
        self.structure.mass == MassKind::Constant
    }

    /// One step from `state`.
    pub(super) fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.located.begin();
        let changes = self.start.length != h;
        if changes {
            self.saved_filter.store(&self.start);
            self.rescale_filters(h);
        }
        let outcome = self.step_at(system, state, h, end);
        match &outcome {
            Ok(_) => self.located.accept(),
            Err(_) if changes => self.saved_filter.restore(&mut self.start),
            Err(_) => {}
        }
        outcome
    }

    /// The step, with filter variables of its own step size.
    fn step_at(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        if let Some(report) = self.streamed_step(system, state, h, end) {
            return Ok(report);
        }
        let loaded = self.saved_filter.is_loaded;
        let mut continues = self.start.is_at(state);
        if self.streaming.was_used {
            continues = self.leave_streaming(system, state)?;
        } else if !continues {
            self.evaluate_start(system, state)?;
        }
        if !self.contacts_are_fixed {
            if !self.restored_features.is_empty() {
                self.restore_contacts(system);
            }
            self.update_contacts(system, h)?;
        }
        if !continues && !loaded {
            self.start_location(system)?;
        }
        self.interpolant.h = h;
        self.interpolant.q.copy_from_slice(&self.start.q);
        self.interpolant.v.copy_from_slice(&self.start.v);
        self.monitor.begin();
        let report = self.step_with_retries(system, h, end)?;
        state.t = end;
        state.q.copy_from_slice(&self.start.q);
        state.v.copy_from_slice(&self.start.v);
        Ok(report)
    }

    /// Takes the step; if it cannot be solved, repeats it with 2, 4, 8 and 16 equal substeps.
    fn step_with_retries(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.monitor.will_retry = true;
        self.clear_impulses();
        let scales = self.scales();
        let first = match self.advance(system, h, end, None) {
            Ok(report) => return Ok(report),
            Err(error) => error,
        };
        let unsolved_at = self.monitor.unsolved_at;
        self.undo_location(system);
        self.clear_impulses();
        self.restore_scales(scales);
        if !is_unsolved(&first) {
            return Err(first);
        }
        self.saved.clone_from(&self.start);
        for substeps in [2_u32, 4, 8, 16] {
            self.monitor.count_remedy();
            self.clear_impulses();
            match self.step_in_substeps(system, h, end, substeps) {
                Ok(report) => return Ok(report),
                Err(_) => {
                    self.start.clone_from(&self.saved);
                    self.restore_scales(scales);
                    self.located.begin();
                    self.rows.evaluate_gaps(system, self.start.t, &self.start.q);
                    self.rows
                        .update_directions(system, self.start.t, &self.start.q);
                }
            }
        }
        self.monitor.will_retry = false;
        // Repeats the first attempt, so that `trial` holds its last iterate.
        let last = self.solve(system, h, end).err().unwrap_or(first);
        Err(self.describe_failure(system, last, unsolved_at, (h, end)))
    }

    /// Resets the impulses of the step and the work that depends on them.
    pub(super) fn clear_impulses(&mut self) {
        self.impulse.fill(0.0);
        self.work_moving = 0.0;
    }

    /// Scales of the motion so far, and its energy.
    fn scales(&self) -> Scales {
        Scales {
            momentum: self.momentum_scale.scale,
            force: self.force_scale,
            bias: self.bias_scale,
            energy: self.energy,
        }
    }

    /// Restores the scales of the start of a step.
    fn restore_scales(&mut self, scales: Scales) {
        self.momentum_scale.scale = scales.momentum;
        self.force_scale = scales.force;
        self.bias_scale = scales.bias;
        self.energy = scales.energy;
    }

    /// Solves a step and makes its end the start; `earlier` is the report of earlier substeps.
    fn advance(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        earlier: Option<StepReport>,
    ) -> Result<StepReport, StepError> {
        if self.settings.location.is_some() {
            return self.advance_located(system, h, end, earlier);
        }
        self.solve(system, h, end)?;
        self.finish(system, h, end, earlier)
    }

    fn step_in_substeps(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
        substeps: u32,
    ) -> Result<StepReport, StepError> {
        let length = h / f64::from(substeps);
        let begin = self.start.t;
        self.rescale_filters(length);
        let mut earlier: Option<StepReport> = None;
        for k in 1..=substeps {
            let t = if k == substeps {
                end
            } else {
                begin + f64::from(k) * length
            };
            earlier = Some(self.advance(system, length, t, earlier)?);
        }
        let mut report = earlier.unwrap_or_else(|| self.empty_report(h));
        report.h = h;
        Ok(report)
    }
}

/// Whether the step failed in the solver, so that smaller steps or other remedies may succeed.
pub(super) fn is_unsolved(error: &StepError) -> bool {
    matches!(
        error,
        StepError::NotConverged { .. } | StepError::Singular { .. }
    )
}
