//! The Moreau–Jean θ-scheme.
//!
//! ```text
//! M (v_{k+1} − v_k) = h f + Gᵀ P + W R ,   q_{k+1} = q_k ⊕ h v_{k+θ} ,   x_{k+θ} = θ x_{k+1} + (1−θ) x_k
//! G v_{k+1} + ∂g/∂t = 0                    (bilateral, at velocity level, at q_{k+1})
//! 0 ≤ u_{k+1} + e u_k ⟂ R ≥ 0              for the contacts that the forecast activates, R = 0 for the others
//! ```
//!
//! Order 1 (in L¹, across impacts); order 2 on smooth motion for θ = 1/2. Robust with any number of
//! simultaneous contacts. The impact law and the velocities of bilateral constraints are exact;
//! positions drift at O(h) and penetrate at O(h), without correction. In linear systems the energy
//! balance (Acary, eqs. 84 and 88) holds to round-off. Use it first, and where robustness counts most.
//!
//! References: Moreau (1988), Jean (1999); Acary, *Numerical methods for nonsmooth mechanical
//! systems* (eqs. 40, 41, 84–90); Brüls, Acary, Cardona (2014), §9.1.
//!
//! `theta.rs` is the scheme and `newton.rs` how its step is solved: on `v_{k+1}` with the exact tangent, the contact problem in each
//! correction. Large systems with constant `M`, `K`, `C` and without bilateral constraints or friction use `large/`, whose cost is a
//! few passes over memory; where forces can be evaluated for a range of rows it needs two. `explicit.rs` are the explicit variants.

mod explicit;
mod forecast;
mod large;
mod newton;
mod options;
mod theta;

pub use explicit::Explicit;
pub use options::{Bilateral as BilateralPoint, Evaluation, Forecast, MoreauJeanOptions, Variant};

use crate::certificate::Guarantees;
use crate::integrator::{Event, Integrator, Reactions, StepError, StepReport};
use crate::kit::{KitIntegrator, KitScheme, integrator, reactions, unprepared};
use crate::scheme::OptionsError;
use large::LargeLinear;
use saltus_linear::{LinearError, SquareMatrix};
use saltus_system::{State, System};
use theta::ThetaScheme;

const NAME: &str = "moreau-jean";

/// The scheme that the parameters ask for: implicit, or one of the explicit variants.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(options: &MoreauJeanOptions) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    match options.explicit {
        Some(_) => Ok(integrator::<explicit::ExplicitMoreauJean>(options)),
        None => Ok(Box::new(MoreauJean::new(options.clone())?)),
    }
}

/// The implicit scheme.
#[derive(Debug)]
pub struct MoreauJean {
    options: MoreauJeanOptions,
    path: Path,
}

/// The method of its steps.
#[derive(Debug)]
enum Path {
    Unprepared,
    Theta(Box<KitIntegrator<ThetaScheme>>),
    Large(Box<LargeLinear>),
}

impl MoreauJean {
    /// The implicit scheme with the given parameters; `explicit` is ignored.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn new(options: MoreauJeanOptions) -> Result<Self, OptionsError> {
        options.validate()?;
        Ok(Self {
            options,
            path: Path::Unprepared,
        })
    }

    fn path(&self) -> Option<&dyn Integrator> {
        match &self.path {
            Path::Unprepared => None,
            Path::Theta(scheme) => Some(&**scheme),
            Path::Large(scheme) => Some(&**scheme),
        }
    }

    fn path_mut(&mut self) -> Option<&mut dyn Integrator> {
        match &mut self.path {
            Path::Unprepared => None,
            Path::Theta(scheme) => Some(&mut **scheme),
            Path::Large(scheme) => Some(&mut **scheme),
        }
    }
}

impl Integrator for MoreauJean {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self) -> Guarantees {
        let general = || ThetaScheme::guarantees(&self.options);
        self.path().map_or_else(general, |path| path.guarantees())
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let options = self.options.clone();
        self.path = if LargeLinear::applies(&options, system, state) {
            Path::Large(Box::new(LargeLinear::new(options)))
        } else {
            Path::Theta(Box::new(KitIntegrator::new(options)))
        };
        match self.path_mut() {
            Some(path) => path.prepare(system, state, h),
            None => Err(unprepared(NAME)),
        }
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        match self.path_mut() {
            Some(path) => path.step(system, state, h, end),
            None => Err(unprepared(NAME)),
        }
    }

    fn events(&self) -> &[Event] {
        self.path().map_or(&[], |path| path.events())
    }

    fn reactions(&self) -> Reactions<'_> {
        self.path()
            .map_or_else(|| reactions(None), |path| path.reactions())
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        if let Some(path) = self.path() {
            path.interpolate(system, fraction, out);
        }
    }

    fn resolved_options(&self) -> Vec<(&'static str, f64)> {
        self.path()
            .map_or_else(Vec::new, |path| path.resolved_options())
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        if let Some(path) = self.path() {
            path.save(memory);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        if let Some(path) = self.path_mut() {
            path.load(memory);
        }
    }
}

/// Which part of an iteration matrix is singular: the mass, or its sum with the terms of the step.
fn singular(source: LinearError, mass: &mut SquareMatrix) -> StepError {
    StepError::Singular {
        source,
        scheme: NAME,
        mass_is_regular: mass.factorise().is_ok(),
    }
}
