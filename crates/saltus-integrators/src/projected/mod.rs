//! Projected Moreau–Jean schemes: the θ-scheme with positions on their constraints and contacts.
//!
//! ```text
//! M (v_{k+1} − v_k) = h f(t_{k+θ}, q_{k+θ}, v_{k+θ}) + Gᵀ P ,   q̃ = q_k ⊕ h v_{k+θ} ,   x_{k+θ} = θ x_{k+1} + (1−θ) x_k
//! q_{k+1} = q̃ ⊕ ξ ,   M ξ = Gᵀ τ        (nearest positions with g = 0 and gaps ≥ 0, = 0 where P > 0)
//! 0 ≤ u_{k+1} + e u_k ⟂ P ≥ 0           for the contacts of the step, Coulomb's law
//! ```
//!
//! The speed of a wall is that at `t_{k+1}` in `u_{k+1}` and at `t_k` in `u_k`.
//!
//! `combined`: `G` is taken at `q_{k+1}`; the contacts of the step are found from its end: none at first, then those whose gap at
//! `q_{k+1}` is not positive join, until there are none, at most as many times as there are contacts. `ggl`: the step without contacts is
//! projected, and the contacts with `τ > 0` obey the velocity law at `q_{k+1}`, which has no part of their impulses (after Gear, Gupta and
//! Leimkuhler); a step that `combined` cannot solve is taken that way. `direct`: the Moreau–Jean step, then a projection of the positions.
//!
//! Order 1 across impacts, order 2 on smooth motion for `θ = 1/2`. Bilateral constraints and contacts hold at positions and, but for
//! `direct`, at velocities, exactly; `direct` lifts positions without their velocities: energy is added, and nothing closed with `e > 0`, or
//! on a wall whose acceleration changes, comes to rest. Use `combined` where no penetration or drift is allowed and `moreau-jean` is wanted
//! otherwise.
//!
//! References: Acary (2013), *Projected event-capturing time-stepping schemes*; Acary and Bonnefon, talk on conservation and stability of
//! constraints in discrete time; Brüls, Acary, Cardona (2014) for the idea of `ggl`.

mod methods;
mod newton;
mod options;

pub use options::{Lifted, Metric, ProjectedMoreauJeanOptions, ProjectionMethod};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{Counts, Integrator, StepError, StepReport};
use crate::kit::{
    Active, EvaluationPoint, KitScheme, MomentumScale, Projection, Step, StepProblem,
    ThetaDynamics, ThetaRule, TurnedRows, integrator, refuse_friction,
};
use crate::scheme::OptionsError;
use saltus_linear::{MatrixSink, SquareMatrix};
use saltus_system::{ContactId, State, Structure, System};

const NAME: &str = "moreau-jean-projected";

/// The schemes with their buffers.
#[derive(Debug)]
struct ProjectedMoreauJean {
    step: Step,
    problem: StepProblem,
    projection: Projection,
    smooth: ThetaDynamics,
    structure: Structure,
    scale: MomentumScale,
    /// Where the laws of the step are.
    law: EvaluationPoint,
    active: Active,
    /// Contacts that carried an impulse in the present pass and stay closed in it.
    closed: Vec<bool>,
    /// Contacts of the last step, where they are remembered.
    earlier: Vec<ContactId>,
    /// The metric of the projection, where it is not the mass matrix.
    metric: Option<SquareMatrix>,
    /// Violation of a position that counts as none after a correction, and before the first one \[m\].
    tolerance: f64,
    leaves: f64,
    /// Where the contacts of the laws are.
    t_contacts: f64,
    q_contacts: Vec<f64>, // (nq)
    q_free: Vec<f64>,     // q̃ (nq)
    v: Vec<f64>,          // v_{k+1} (nv)
    v_free: Vec<f64>,     // the same without the impulses of the problem (nv)
    defect: Vec<f64>,     // M (v_{k+1} − v_k) − h f − Gᵀ P (nv)
    work: Vec<f64>,       // (nv)
    /// Residual of the balance of momentum [N·s].
    dynamics: f64,
    /// Whether directions count as constant in the corrections of the present pass, and how often that was needed in the step.
    is_plain: bool,
    remedies: u32,
    /// Sets of contacts that were tried in the step, and linearisations of its projections.
    passes: u32,
    linearisations: u32,
    /// Rows of constraints and contacts with their turning by the velocity.
    turned: TurnedRows,
    /// `∂g/∂t` of the rows of contacts at the end of the step.
    rates: Vec<f64>,
}

/// The integrator with the given parameters.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(
    options: &ProjectedMoreauJeanOptions,
) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    Ok(integrator::<ProjectedMoreauJean>(options))
}

impl KitScheme for ProjectedMoreauJean {
    const NAME: &'static str = NAME;
    type Options = ProjectedMoreauJeanOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        let g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::Cone, tolerance)
            .with(Entry::StickVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance)
            .with(Entry::BilateralPosition, tolerance);
        if options.method == ProjectionMethod::Direct {
            return match options.lifted {
                Lifted::All => g.with(Entry::Penetration, tolerance),
                Lifted::Active => g,
            };
        }
        g.with(Entry::BilateralVelocity, tolerance)
            .with(Entry::Penetration, tolerance)
            .with(Entry::ComplementarityPosition, tolerance)
            .with(Entry::ImpactLaw, tolerance)
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let mut step = Step::new(NAME, system, state, options.activation_tolerance, h)?;
        if !options.solves_friction() {
            refuse_friction(NAME, system, &step)?;
        }
        let report = step.initial_report(system, h);
        let zeros = || vec![0.0; step.dims.nv];
        let metric = match options.metric {
            Metric::Mass => None,
            Metric::Identity => Some(identity(step.dims.nv)?),
        };
        let scheme = Self {
            problem: StepProblem::default(),
            projection: Projection::new(system),
            smooth: ThetaDynamics::new(system),
            structure: system.structure(),
            scale: MomentumScale::new(&step.start.mass),
            law: EvaluationPoint::new(system),
            active: Vec::with_capacity(step.start.contacts.len()),
            closed: Vec::new(),
            earlier: Vec::new(),
            metric,
            tolerance: options
                .position_tolerance
                .unwrap_or_else(|| 1e-13 * step.length_scale(state, h)),
            leaves: options.position_tolerance.unwrap_or(0.0),
            t_contacts: f64::NAN,
            q_contacts: vec![0.0; step.dims.nq],
            q_free: vec![0.0; step.dims.nq],
            v: zeros(),
            v_free: zeros(),
            defect: zeros(),
            work: zeros(),
            dynamics: 0.0,
            is_plain: false,
            remedies: 0,
            passes: 0,
            linearisations: 0,
            turned: TurnedRows::default(),
            rates: Vec::new(),
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
        let rule = ThetaRule {
            theta: options.theta,
            phi: options.theta,
            evaluation: options.evaluation,
            start: state.t,
            h,
            end,
        };
        self.begin(system, state, &rule)?;
        match options.method {
            ProjectionMethod::Combined => match self.combined(system, state, &rule, options) {
                // Where a contact passes much of a narrow obstacle in a step, its direction at the end of the step may follow the
                // velocity so closely that nothing solves the laws there; the ones at the end of the step without contacts do not.
                Err(error) if self.has_other_directions(&error) => {
                    self.begin(system, state, &rule)?;
                    self.remedies += 1;
                    self.ggl(system, state, &rule, options)
                }
                result => result,
            },
            ProjectionMethod::Direct => self.direct(system, state, &rule, options),
            ProjectionMethod::Ggl => self.ggl(system, state, &rule, options),
        }
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        vec![("position_tolerance", self.tolerance)]
    }

    fn counts(&self) -> Counts {
        Counts {
            names: &["contact_sets", "projection_linearisations"],
            values: [self.passes.into(), self.linearisations.into(), 0, 0, 0, 0],
        }
    }

    fn save(&self, memory: &mut Vec<f64>) {
        let count = self.earlier.len() as f64;
        memory.extend([self.scale.get(), self.tolerance, count]);
        for id in &self.earlier {
            memory.extend(crate::kit::id_as_numbers(*id));
        }
    }

    fn load(&mut self, memory: &[f64]) {
        let [scale, tolerance, count, rest @ ..] = memory else {
            return;
        };
        self.scale.set(*scale);
        self.tolerance = *tolerance;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let Some(ids) = rest.get(..2 * *count as usize) else {
            return;
        };
        self.earlier.clear();
        let ids = ids.chunks_exact(2);
        self.earlier
            .extend(ids.map(|id| crate::kit::id_from_numbers([id[0], id[1]])));
    }
}

impl ProjectedMoreauJean {
    /// Whether a step that failed may be taken with the directions of the step without contacts, which knows no friction.
    fn has_other_directions(&self, error: &StepError) -> bool {
        let failed = matches!(
            error,
            StepError::NotConverged { .. }
                | StepError::ContactProblem { .. }
                | StepError::Unprojected { .. }
        );
        let contacts = &self.step.start.contacts;
        failed && !contacts.is_empty() && !self.step.reactions.has_friction
    }
}

/// The identity of size `n`, factored.
fn identity(n: usize) -> Result<SquareMatrix, StepError> {
    let mut matrix = SquareMatrix::new(n);
    for i in 0..n {
        matrix.entry(i, i, 1.0);
    }
    matrix.factorise().map_err(|source| StepError::Singular {
        source,
        scheme: NAME,
        mass_is_regular: true,
    })?;
    Ok(matrix)
}
