//! The smooth dynamics of a θ-step: residual of the balance of momentum and the iteration matrix.
//!
//! ```text
//! M(q_e) (v_{k+1} − v_k) − h f(t_e, q_e, v_e) = 0 ,   q_{k+1} = q_k ⊕ ξ ,   ξ = h ((1−φ) v_k + φ v_{k+1})
//! J = M + ∂(M x − h f)/∂v_{k+1}
//! ```
//!
//! Where `e` is, and how forces at both ends are weighted otherwise, says [`Evaluation`].

use super::{EvaluationPoint, check_force};
use crate::integrator::StepError;
use crate::moreau_jean::Evaluation;
use crate::round_off;
use saltus_linear::{LinearError, Shifted, SquareMatrix, axpy, dot};
use saltus_system::{DynamicsParts, MassKind, Point, System, Tangents};

/// Where and how the dynamics of a step is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThetaRule {
    /// Weight of the end of the step in the forces.
    pub(crate) theta: f64,
    /// Weight of the end velocity in the positions.
    pub(crate) phi: f64,
    pub(crate) evaluation: Evaluation,
    /// Start, length and end of the step \[s\].
    pub(crate) start: f64,
    pub(crate) h: f64,
    pub(crate) end: f64,
}

impl ThetaRule {
    pub(crate) fn at_theta_point(&self) -> bool {
        self.evaluation == Evaluation::ThetaPoint
    }

    /// Time at which the dynamics is evaluated \[s\].
    pub(crate) fn time(&self) -> f64 {
        if self.at_theta_point() && self.theta < 1.0 {
            self.start + self.theta * self.h
        } else {
            self.end
        }
    }

    /// Weight of the tangent of the step in that to the evaluation point.
    fn weight(&self) -> f64 {
        if self.at_theta_point() {
            self.theta
        } else {
            1.0
        }
    }

    /// Derivative of the tangent to the evaluation point by `v_{k+1}` \[s\].
    pub(crate) fn turn(&self) -> f64 {
        self.h * self.phi * self.weight()
    }

    /// Time over which the force at the evaluation point acts \[s\].
    fn duration(&self) -> f64 {
        if self.at_theta_point() {
            self.h
        } else {
            self.h * self.theta
        }
    }
}

/// Inertia, forces and their derivatives at the evaluation point.
#[derive(Debug)]
pub(crate) struct ThetaDynamics {
    /// Constant `M`, `K`, `C` in flat coordinates: one correction is exact.
    pub(crate) is_linear: bool,
    is_flat: bool,
    mass_is_constant: bool,
    pub(crate) t: f64,
    pub(crate) q: Vec<f64>,         // (nq)
    pub(crate) v: Vec<f64>,         // (nv)
    pub(crate) force: Vec<f64>,     // f (nv)
    x: Vec<f64>,                    // what M multiplies (nv)
    pub(crate) mean: Vec<f64>,      // (1−φ) v_k + φ v_{k+1} (nv)
    pub(crate) xi: Vec<f64>,        // tangent of the step before any projection (nv)
    xi_eval: Vec<f64>,              // tangent to the evaluation point (nv)
    pub(crate) residual: Vec<f64>,  // M x − h f (nv)
    pub(crate) round_off: Vec<f64>, // of the impulse of the forces, where it matters (nv)
    acceleration: Vec<f64>,         // M⁻¹ f at the start, where it has a weight (nv)
    work: Vec<f64>,                 // (nv)
    mass: SquareMatrix,
    mass_gradient: SquareMatrix, // D(M x)
    stiffness: SquareMatrix,
    damping: SquareMatrix,
    gradient: SquareMatrix, // derivatives along q, before the tangent of the retraction
    tangent: SquareMatrix,  // of the retraction
    pub(crate) iteration: SquareMatrix, // J
    /// Whether the derivatives are those at the evaluation point.
    has_tangents: bool,
    /// Step length that the factored `J` of a time-invariant system belongs to.
    factored_for: f64,
}

impl ThetaDynamics {
    pub(crate) fn new(system: &dyn System) -> Self {
        let (dims, structure) = (system.dims(), system.structure());
        let zeros = || vec![0.0; dims.nv];
        let matrix = || SquareMatrix::new(dims.nv);
        Self {
            is_linear: system.is_flat() && structure.is_time_invariant(),
            is_flat: system.is_flat(),
            mass_is_constant: structure.mass == MassKind::Constant,
            t: f64::NAN,
            q: vec![0.0; dims.nq],
            v: zeros(),
            force: zeros(),
            x: zeros(),
            mean: zeros(),
            xi: zeros(),
            xi_eval: zeros(),
            residual: zeros(),
            round_off: zeros(),
            acceleration: zeros(),
            work: zeros(),
            mass: matrix(),
            mass_gradient: matrix(),
            stiffness: matrix(),
            damping: matrix(),
            gradient: matrix(),
            tangent: matrix(),
            iteration: matrix(),
            has_tangents: false,
            factored_for: f64::NAN,
        }
    }

    /// Takes up the forces at the start of a step, where the evaluation gives them a weight.
    pub(crate) fn begin(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        start: &mut EvaluationPoint,
        scheme: &'static str,
    ) -> Result<(), StepError> {
        match rule.evaluation {
            Evaluation::ThetaPoint => Ok(()),
            Evaluation::WeightedForces => start.evaluate_force(system),
            Evaluation::WeightedAccelerations => {
                start.evaluate_force(system)?;
                start.factor_mass(system, scheme)?;
                self.acceleration.copy_from_slice(&start.force);
                start.mass.solve(&mut self.acceleration);
                Ok(())
            }
        }
    }

    /// Velocity at the end of a step from `v` with the acceleration at its start, where that is known.
    pub(crate) fn extrapolate(&self, rule: &ThetaRule, v: &mut [f64]) -> bool {
        let knows = rule.evaluation == Evaluation::WeightedAccelerations;
        if knows {
            axpy(rule.h, &self.acceleration, v);
        }
        knows
    }

    /// Evaluates the residual for the end velocity `v` of a step from `start`, and its derivatives on request.
    pub(crate) fn evaluate(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        start: &EvaluationPoint,
        v: &[f64],
        with_tangents: bool,
    ) -> Result<(), StepError> {
        let (h, phi, theta) = (rule.h, rule.phi, rule.theta);
        let weight = rule.weight();
        let n = v.len();
        let (x, mean, xi) = (&mut self.x[..n], &mut self.mean[..n], &mut self.xi[..n]);
        let (xi_eval, v_eval) = (&mut self.xi_eval[..n], &mut self.v[..n]);
        let v_start = &start.v[..n];
        for i in 0..n {
            x[i] = v[i] - v_start[i];
            mean[i] = (1.0 - phi) * v_start[i] + phi * v[i];
            xi[i] = h * mean[i];
            xi_eval[i] = weight * xi[i];
            v_eval[i] = (1.0 - weight) * v_start[i] + weight * v[i];
        }
        if rule.evaluation == Evaluation::WeightedAccelerations {
            axpy(-h * (1.0 - theta), &self.acceleration, &mut self.x);
        }
        self.t = rule.time();
        self.q.copy_from_slice(&start.q);
        system.retract(&mut self.q, &self.xi_eval);
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        // Those of a linear system stay.
        self.has_tangents &= self.is_linear;
        if with_tangents && !self.is_linear {
            self.evaluate_tangents(system);
        } else if self.mass_is_constant {
            system.force(at, &mut self.force);
        } else {
            self.mass.clear();
            let parts = DynamicsParts {
                mass: &mut self.mass,
                force: &mut self.force,
                tangents: None,
            };
            system.evaluate(at, parts);
            self.mass.finish();
        }
        let mass = if self.mass_is_constant {
            &start.mass
        } else {
            &self.mass
        };
        mass.apply(&self.x, &mut self.residual);
        check_force(system, &self.force, self.t)?;
        axpy(-rule.duration(), &self.force, &mut self.residual);
        if rule.evaluation == Evaluation::WeightedForces {
            axpy(-h * (1.0 - theta), &start.force, &mut self.residual);
        }
        Ok(())
    }

    /// Derivatives at the point evaluated last.
    fn evaluate_tangents(&mut self, system: &dyn System) {
        for matrix in [
            &mut self.mass,
            &mut self.stiffness,
            &mut self.damping,
            &mut self.mass_gradient,
        ] {
            matrix.clear();
        }
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        let tangents = Tangents {
            x: &self.x,
            mass_gradient: &mut self.mass_gradient,
            stiffness: &mut self.stiffness,
            damping: &mut self.damping,
        };
        let parts = DynamicsParts {
            mass: &mut self.mass,
            force: &mut self.force,
            tangents: Some(tangents),
        };
        system.evaluate(at, parts);
        self.mass.finish();
        self.has_tangents = true;
    }

    /// `J`, factored. `curvature` adds what turns with the positions: `−D(Gᵀ P)` times the
    /// derivative of where `G` is by `v_{k+1}`.
    pub(crate) fn factorise(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        start: &EvaluationPoint,
        curvature: Option<&dyn Fn(&mut Shifted<'_>)>,
    ) -> Result<(), LinearError> {
        let reusable = self.is_linear && curvature.is_none();
        if reusable && self.factored_for == rule.h {
            return Ok(());
        }
        if !self.has_tangents {
            self.evaluate_tangents(system);
        }
        let (mass, damping) = (
            (1.0, &self.mass),
            (rule.duration() * rule.weight(), &self.damping),
        );
        let (stiffness, mass_gradient) = (
            (rule.duration() * rule.turn(), &self.stiffness),
            (rule.turn(), &self.mass_gradient),
        );
        // In flat coordinates the tangent of the retraction is the identity.
        let gradient = if self.is_flat {
            self.iteration
                .set_sum([mass, damping, stiffness, mass_gradient]);
            &mut self.iteration
        } else {
            self.iteration.set_sum([mass, damping]);
            self.gradient.set_sum([stiffness, mass_gradient]);
            &mut self.gradient
        };
        if let Some(add) = curvature {
            add(&mut Shifted {
                sink: gradient,
                factor: -1.0,
                row: 0,
                col: 0,
            });
        }
        if !self.is_flat {
            self.tangent.clear();
            system.retract_tangent(&start.q, &self.xi_eval, &mut self.tangent);
            self.gradient.multiply_right(&self.tangent);
            self.iteration.add_scaled(1.0, &self.gradient);
        }
        self.factored_for = f64::NAN;
        self.iteration.factorise()?;
        if reusable {
            self.factored_for = rule.h;
        }
        Ok(())
    }

    /// How well the forces at the evaluation point can be known.
    pub(crate) fn measure_round_off(&mut self, system: &dyn System, h: f64) {
        if !self.has_tangents {
            self.evaluate_tangents(system);
        }
        self.stiffness.finish();
        let (q, floor) = (&self.q, &mut self.round_off);
        round_off::of_force(&self.stiffness, h, q, self.is_flat, floor);
    }

    /// No round-off is known yet in this step.
    pub(crate) fn forget_round_off(&mut self) {
        self.round_off.fill(0.0);
    }

    /// Leaves of a residual what stands above its round-off.
    pub(crate) fn above_round_off(&self, residual: &mut [f64]) {
        for (r, floor) in residual.iter_mut().zip(&self.round_off) {
            *r = round_off::above(*r, *floor);
        }
    }

    /// Work of the forces without a potential over the step \[J\], with the weights that they have in it.
    pub(crate) fn work(
        &mut self,
        system: &dyn System,
        rule: &ThetaRule,
        start: &mut EvaluationPoint,
    ) -> f64 {
        if system.is_conservative() {
            return 0.0;
        }
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        system.active_force(at, &mut self.work);
        let now = rule.h * dot(&self.work, &self.mean);
        if rule.at_theta_point() {
            return now;
        }
        start.evaluate_power(system);
        rule.theta * now + (1.0 - rule.theta) * rule.h * dot(&start.power, &self.mean)
    }
}
