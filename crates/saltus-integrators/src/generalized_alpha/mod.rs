//! The generalized-α family for smooth and nonsmooth systems.
//!
//! ```text
//! M v̇ − Gᵀλ = f                                              smooth motion
//! M U = Gᵀν ,   M W = GᵀΛ                                    position correction, velocity jump
//! q_{n+1} = q_n ⊕ (h v_n + h² [(1/2−β) a_n + β a_{n+1}] + U)
//! v_{n+1} = v_n + h [(1−γ) a_n + γ a_{n+1}] + W
//! (1−α_m) a_{n+1} + α_m a_n = (1−α_f) v̇_{n+1} + α_f v̇_n
//! ```
//!
//! and conditions at up to three levels. `pvv` enforces bilateral constraints at position and velocity level,
//! `0 ≤ gap ⟂ ν ≥ 0`, and Newton's impact law where the smooth motion would penetrate; its smooth motion
//! satisfies bilateral constraints at velocity level. `pva` puts bilateral constraints and lasting contacts
//! into the smooth motion at acceleration level, with the total impulses `Λ* = Λ + h[(1−γ)η_n + γη_{n+1}]`,
//! `ν* = ν + h²[(1/2−β)η_n + βη_{n+1}]`. The recursion for `a` is called the filter: `η` follows from `λ` by it as `a` does from `v̇`,
//! and what `a_n`, `η_n` contain of earlier steps is the filter history.
//!
//! Order 2 on smooth motion for `q`, `v` and `λ`, order 1 across impacts. Bilateral constraints are exact at position
//! and velocity level (`pva`: at acceleration level too), nothing penetrates, and high frequencies are damped as
//! `rho_inf` says. Use them for flexible systems with contacts and wherever drift or penetration matters.
//!
//! References: Brüls, Acary, Cardona (2014, 2018); Chen, Acary, Virlez, Brüls (2013); Chung, Hulbert (1993); Acary,
//! *Numerical methods for nonsmooth mechanical systems* (eq. 73). Departures from the printed equations:
//! an open contact carries no impulse at all ([`Inactive::Star`]).
//!
//! Each step is solved by Newton's method, whose corrections find active sets and multipliers together (`nested_levels.rs`). The
//! sequential and the monolithic solve guess the sets from signs, once per iteration, as the papers do.
//! Dry friction is not solved; contacts with `mu > 0` are refused.
//!
//! Impacts are captured at the ends of steps, or located inside them ([`Impacts::Located`]), which keeps order 2 across isolated ones.

mod block_lu;
mod certify;
mod coefficients;
mod columns;
mod compliances;
mod correction;
mod engine;
mod failure;
mod filter;
mod fixed_configuration;
mod levels;
mod located;
mod monitor;
mod monolithic;
mod multipliers;
mod nested_levels;
mod newton;
mod options;
mod residual;
mod response;
mod rows;
mod settings;
mod start;
mod streamed;
mod streamed_passes;
mod tangent;

pub use coefficients::{Coefficients, Preset};
pub use located::LocationCounts;
pub use options::{
    GeneralizedAlphaOptions, NonsmoothFormulation, NonsmoothGeneralizedAlphaOptions,
    NonsmoothHhtOptions, NonsmoothNewmarkOptions, SmoothFormulation,
};
pub use settings::{Impacts, Inactive, LinearSolve, Prediction};

use crate::certificate::Guarantees;
use crate::integrator::{Counts, Event, Integrator, Reactions, StepError, StepReport};
use crate::scheme::OptionsError;
use engine::Engine;
use saltus_system::{State, System};

/// The generalized-α method for smooth constrained systems.
#[derive(Debug)]
pub struct GeneralizedAlpha(Engine);

/// The nonsmooth generalized-α method.
#[derive(Debug)]
pub struct NonsmoothGeneralizedAlpha(Engine);

/// The nonsmooth Newmark method.
///
/// `M a = f`, `M Δv = Gᵀ P`, `v_{n+1} = v_n + h[(1−γ)a_n + γa_{n+1}] + Δv`,
/// `q_{n+1} = q_n + h v_n + h²[(1/2−β)a_n + βa_{n+1}] + (h/2) Δv`; Newton's impact law on the contacts
/// with `gap(q_n + (h/2) v_n) ≤ 0` (Acary, eq. 73).
#[derive(Debug)]
pub struct NonsmoothNewmark(Engine);

/// The nonsmooth HHT method: as [`NonsmoothNewmark`] with `a_{n+1} = (1−α) v̇_{n+1} + α v̇_n`.
#[derive(Debug)]
pub struct NonsmoothHht(Engine);

/// The three parts of the motion of the last step (smooth motion, position correction, velocity jump), their multipliers and active
/// sets.
#[derive(Debug, Clone, Copy)]
pub struct Levels<'a> {
    /// Acceleration of the smooth motion, `v̇` (nv).
    pub smooth_acceleration: &'a [f64],
    /// Filtered acceleration `a` (nv).
    pub acceleration: &'a [f64],
    /// Position correction `U` (nv).
    pub correction: &'a [f64],
    /// Velocity jump `W` (nv).
    pub jump: &'a [f64],
    /// `λ` of the smooth motion (m: bilateral constraints, then contacts) \[N\].
    pub lambda: &'a [f64],
    /// `η`, the filtered `λ` (m) \[N\].
    pub eta: &'a [f64],
    /// `ν` of the position correction (m) \[N·s²\].
    pub nu: &'a [f64],
    /// `ν*`, the total of correction and smooth motion (m) \[N·s²\].
    pub nu_total: &'a [f64],
    /// `Λ` of the jump (m) \[N·s\].
    pub lambda_jump: &'a [f64],
    /// `Λ*`, the total impulse of jump and smooth motion (m) \[N·s\].
    pub lambda_total: &'a [f64],
    /// Rows active at position level (m).
    pub closed_position: &'a [bool],
    /// Rows active at velocity level (m).
    pub closed_velocity: &'a [bool],
    /// Rows that the smooth motion satisfies (m).
    pub closed_smooth: &'a [bool],
}

impl Engine {
    fn levels(&self) -> Levels<'_> {
        let (t, sets) = (&self.trial, &self.sets);
        Levels {
            smooth_acceleration: &self.start.v_dot,
            acceleration: &self.start.a,
            correction: &t.u,
            jump: &t.w,
            lambda: &self.start.lambda,
            eta: &self.start.eta,
            nu: &t.nu,
            nu_total: &t.nu_total,
            lambda_jump: &t.jump_impulse,
            lambda_total: &self.impulse,
            closed_position: &sets.position,
            closed_velocity: &sets.velocity,
            closed_smooth: &sets.smooth,
        }
    }

    fn reactions(&self) -> Reactions<'_> {
        let ng = self.dims.ng;
        let force: &[f64] = if self.settings.formulation.smooth_level().is_some() {
            &self.start.lambda
        } else {
            &[]
        };
        Reactions {
            bilateral_gap: &self.rows.gap[..ng],
            bilateral_velocity: &self.start.velocity[..ng],
            bilateral_rate: &self.start.rate[..ng],
            bilateral_impulse: &self.impulse[..ng],
            bilateral_force: force.get(..ng).unwrap_or(&[]),
            contacts: &self.rows.set,
            gap_velocity: &self.start.velocity[ng..],
            impulse: &self.impulse[ng..],
            force: force.get(ng..).unwrap_or(&[]),
            work_moving: Some(self.work_moving),
            ..Reactions::of(&self.rows.set)
        }
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        if self.streaming.was_used {
            return self.interpolate_streamed(fraction, out);
        }
        let (b, fraction) = self.located.piece_at(&self.interpolant, fraction);
        out.q
            .clone_from(if fraction >= 1.0 { &self.start.q } else { &b.q });
        out.v.clear();
        if fraction >= 1.0 {
            out.v.extend_from_slice(&self.start.v);
            return;
        }
        // The quadratic through the start position and velocity and the smooth end.
        let xi: Vec<f64> = (0..b.v.len())
            .map(|i| {
                let first = b.h * b.v[i];
                fraction * first + fraction * fraction * (b.xi[i] - first)
            })
            .collect();
        system.retract(&mut out.q, &xi);
        out.v
            .extend((0..b.v.len()).map(|i| b.v[i] + fraction * (b.vt[i] - b.v[i])));
    }
}

/// A scheme of the family: its constructor, and the interface that all share.
macro_rules! integrator {
    ($scheme:ident, $options:ident) => {
        impl $scheme {
            /// The scheme with the given parameters.
            ///
            /// # Errors
            /// The first parameter out of range.
            #[allow(clippy::needless_pass_by_value)]
            pub fn new(options: $options) -> Result<Self, OptionsError> {
                Ok(Self(Engine::new(options.settings()?)))
            }

            /// The parts of the motion of the last step, their multipliers and active sets.
            #[must_use]
            pub fn levels(&self) -> Levels<'_> {
                self.0.levels()
            }
        }

        impl Integrator for $scheme {
            fn name(&self) -> &'static str {
                self.0.settings.scheme
            }
            fn guarantees(&self) -> Guarantees {
                self.0.guarantees()
            }
            fn prepare(
                &mut self,
                system: &dyn System,
                state: &State,
                h: f64,
            ) -> Result<StepReport, StepError> {
                let report = self.0.prepare(system, state, h)?;
                self.0.prepare_events(state);
                Ok(report)
            }
            fn step(
                &mut self,
                system: &dyn System,
                state: &mut State,
                h: f64,
                end: f64,
            ) -> Result<StepReport, StepError> {
                self.0.step_with_events(system, state, h, end)
            }
            fn reactions(&self) -> Reactions<'_> {
                self.0.reactions()
            }
            fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
                self.0.interpolate(system, fraction, out);
            }
            fn events(&self) -> &[Event] {
                self.0.events()
            }
            fn counts(&self) -> Counts {
                self.0.counts()
            }
            fn resolved_options(&self) -> Vec<(&'static str, f64)> {
                self.0.resolved_options()
            }
            fn save(&self, memory: &mut Vec<f64>) {
                self.0.save(memory);
            }
            fn load(&mut self, memory: &[f64]) {
                self.0.load(memory);
            }
        }
    };
}

impl Engine {
    /// Records which contacts of the initial state are closed.
    fn prepare_events(&mut self, state: &State) {
        let mut events = std::mem::take(&mut self.captured);
        events.prepare(&self.reactions(), state, self.contacts_are_fixed);
        self.captured = events;
    }

    /// A step and its contact events: those located inside it, else those that follow from the states at its ends.
    fn step_with_events(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        if self.settings.location.is_some() {
            return self.step(system, state, h, end);
        }
        let mut events = std::mem::take(&mut self.captured);
        events.begin(&self.reactions(), &state.v);
        let report = self.step(system, state, h, end);
        if report.is_ok() {
            events.note(&self.reactions(), state);
        }
        self.captured = events;
        report
    }

    /// Activation parameters `r` of the contacts \[kg\].
    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        let contacts = self.activation.get(self.dims.ng..).unwrap_or(&[]);
        contacts.iter().map(|r| ("r", *r)).collect()
    }

    fn events(&self) -> &[Event] {
        if self.settings.location.is_some() {
            &self.located.events
        } else {
            &self.captured.list
        }
    }
}

impl NonsmoothGeneralizedAlpha {
    /// Counts of located impacts since the run was prepared; zero where impacts are captured.
    #[must_use]
    pub fn located(&self) -> LocationCounts {
        self.0.located.total
    }
}

integrator!(GeneralizedAlpha, GeneralizedAlphaOptions);
integrator!(NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions);
integrator!(NonsmoothNewmark, NonsmoothNewmarkOptions);
integrator!(NonsmoothHht, NonsmoothHhtOptions);
