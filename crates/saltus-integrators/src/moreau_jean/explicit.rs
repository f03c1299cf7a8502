//! The explicit Moreau–Jean scheme: one evaluation of the forces, one contact problem, no iteration.
//!
//! ```text
//! q_{k+1} = q_k ⊕ h v_k ,   v_{k+1} = v_k + h M⁻¹ f + M⁻¹ W R ,   0 ≤ W_Nᵀ v_{k+1} + e u_k ⟂ R_N ≥ 0 , Coulomb's law
//! ```
//!
//! for the contacts with `g(q_k) + γ h u_k ≤ ε`. Where `M`, `f`, `W` and `u_k` are taken is the variant. Order 1. All but the
//! symplectic variant gain energy in undamped vibrations with every step; that one is stable for `h ω < 2`.
//!
//! Reference: Schindler, Rezaei, Kursawe, Acary (2015), eqs. 29–33.

use super::NAME;
use super::options::MoreauJeanOptions;
use crate::certificate::{Entry, Guarantees};
use crate::integrator::{StepError, StepReport};
use crate::kit::{
    Active, Duration, EvaluationPoint, KitScheme, Row, Step, StepProblem, largest_step, restitution,
};
use saltus_system::{State, System};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the explicit scheme evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Explicit {
    /// Forces at `q_k`, impulses and directions at `q_{k+1}`, `u_k` along the directions at `q_k`: as the source has it.
    Literal,
    /// The same with `u_k` along the directions at `q_{k+1}`.
    EndDirections,
    /// Everything at `q_k`.
    Start,
    /// Everything at `q_{k+1}`: symplectic Euler.
    Symplectic,
}

/// Weights of the explicit Euler method.
const EULER: [f64; 1] = [1.0];

/// The scheme with its buffers.
#[derive(Debug)]
pub(super) struct ExplicitMoreauJean {
    variant: Explicit,
    step: Step,
    problem: StepProblem,
    active: Active,
    v_free: Vec<f64>,  // v_k + h M⁻¹ f (nv)
    v_start: Vec<f64>, // v_k (nv)
    /// Largest step \[s\] that is stable at the start, where it is known.
    stable_step: Option<f64>,
}

impl KitScheme for ExplicitMoreauJean {
    const NAME: &'static str = NAME;
    type Options = MoreauJeanOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        let g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::Cone, tolerance)
            .with(Entry::StickVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance);
        if options.explicit == Some(Explicit::Start) {
            return g;
        }
        g.with(Entry::BilateralVelocity, tolerance)
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let mut step = Step::new(NAME, system, state, options.activation_tolerance, h)?;
        let report = step.initial_report(system, h);
        let variant = options.explicit.unwrap_or(Explicit::Literal);
        let scheme = Self {
            variant,
            problem: StepProblem::default(),
            active: Vec::with_capacity(step.start.contacts.len()),
            v_free: vec![0.0; step.dims.nv],
            v_start: vec![0.0; step.dims.nv],
            stable_step: largest_step(system, state, &step, |mode| match variant {
                Explicit::Symplectic => mode.symplectic_limit(),
                // The explicit Euler method between impacts.
                _ => mode.runge_kutta_limit(1.0 + 1e-9, 1, |l| &EULER[..l]),
            }),
            step,
        };
        Ok((scheme, report))
    }

    fn take_step(
        &mut self,
        options: &Self::Options,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.advance(system, state, options.gamma, (h, end))
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn stable_step(&self) -> Option<f64> {
        self.stable_step
    }
}

impl ExplicitMoreauJean {
    fn advance(
        &mut self,
        system: &dyn System,
        state: &mut State,
        gamma: f64,
        (h, end): (f64, f64),
    ) -> Result<StepReport, StepError> {
        let Self {
            variant,
            step,
            problem,
            active,
            v_free,
            v_start,
            ..
        } = self;
        step.begin(system, state, h)?;
        problem.begin_step();
        v_start.copy_from_slice(&state.v);
        let set = &step.start.contacts;
        active.clear();
        active.extend(
            (0..set.len()).filter(|&i| {
                set.gap[i] + gamma * h * set.normal_velocity(i, v_start) <= step.epsilon
            }),
        );
        for (xi, v) in step.xi.iter_mut().zip(&*v_start) {
            *xi = h * v;
        }
        step.end.retract(system, &step.start, &step.xi, end);
        step.end.v.copy_from_slice(v_start);
        let smooth: &EvaluationPoint = if *variant == Explicit::Symplectic {
            step.end.evaluate_dynamics(system, NAME)?;
            &step.end
        } else {
            step.end.factor_mass(system, NAME)?;
            &step.start
        };
        v_free.copy_from_slice(&smooth.force);
        smooth.mass.solve_scaled(h, v_free);
        saltus_linear::axpy(1.0, v_start, v_free);
        step.end.evaluate_rows(system);
        step.end.evaluate_laws(system);

        let rows: &EvaluationPoint = if *variant == Explicit::Start {
            &step.start
        } else {
            &step.end
        };
        let before: &EvaluationPoint = if *variant == Explicit::Literal {
            &step.start
        } else {
            rows
        };
        let rebound = |row: Row| {
            let e = restitution(&rows.contacts, row);
            let (matrix, i) = before.row(row);
            // A wall has its speed at the start of the step before it, at the end after it.
            rows.rate(row) + e * (matrix.dot(i, v_start) + step.start.rate(row))
        };
        let time = Duration::Time(h);
        let stages = (rows, rows);
        problem.pose(
            system,
            &step.reactions,
            stages,
            active,
            time,
            v_free,
            rebound,
        );
        problem.solve(system, &mut step.reactions, rows, rows.t)?;
        step.end.v.copy_from_slice(v_free);
        problem.respond(&mut step.end.v);
        let rows: &EvaluationPoint = if *variant == Explicit::Start {
            &step.start
        } else {
            &step.end
        };
        step.reactions
            .take(problem, (rows, rows), (v_free, &step.end.v), 1.0);
        problem.respond_without_constraints(&mut step.jump);
        step.finish(system, state, true, 0, problem.redundant)
    }
}
