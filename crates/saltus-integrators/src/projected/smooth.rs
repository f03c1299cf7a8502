//! The smooth dynamics of a θ-step: residual of the balance of momentum and the iteration matrix.

use crate::integrator::StepError;
use crate::kit::Stage;
use crate::moreau_jean::Evaluation;
use crate::round_off;
use saltus_linear::{Shifted, SquareMatrix, axpy, dot};
use saltus_system::{DynamicsParts, MassKind, Point, System, Tangents};

/// Where and how the dynamics of a step is evaluated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) theta: f64,
    pub(super) evaluation: Evaluation,
    pub(super) h: f64,
    /// End of the step \[s\].
    pub(super) end: f64,
}

impl Rule {
    pub(super) fn at_theta_point(&self) -> bool {
        self.evaluation == Evaluation::ThetaPoint
    }

    /// Derivative of the tangent to the evaluation point by `v_{k+1}` \[s\].
    pub(super) fn turn(&self) -> f64 {
        let whole = self.h * self.theta;
        if self.at_theta_point() {
            whole * self.theta
        } else {
            whole
        }
    }
}

/// Inertia, forces and their derivatives at the evaluation point.
#[derive(Debug)]
pub(super) struct Smooth {
    /// Constant `M`, `K`, `C` in flat coordinates: one correction is exact.
    pub(super) is_linear: bool,
    is_flat: bool,
    mass_is_constant: bool,
    pub(super) t: f64,
    pub(super) q: Vec<f64>,        // (nq)
    v: Vec<f64>,                   // (nv)
    force: Vec<f64>,               // f (nv)
    increment: Vec<f64>,           // v_{k+1} − v_k (nv)
    pub(super) mean: Vec<f64>,     // (1−θ) v_k + θ v_{k+1} (nv)
    pub(super) xi: Vec<f64>,       // tangent of the step before any projection (nv)
    work: Vec<f64>,                // (nv)
    pub(super) residual: Vec<f64>, // M (v_{k+1} − v_k) − h f (nv)
    round_off: Vec<f64>,           // of the impulse of the forces, where it matters (nv)
    mass: SquareMatrix,
    mass_gradient: SquareMatrix, // D(M x)
    stiffness: SquareMatrix,
    damping: SquareMatrix,
    gradient: SquareMatrix, // derivatives along q, before the tangent of the retraction
    tangent: SquareMatrix,  // of the retraction
    pub(super) iteration: SquareMatrix, // J
    /// Step length that the factored `J` of a time-invariant system belongs to.
    factored_for: f64,
}

impl Smooth {
    pub(super) fn new(system: &dyn System) -> Self {
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
            increment: zeros(),
            mean: zeros(),
            xi: zeros(),
            work: zeros(),
            residual: zeros(),
            round_off: zeros(),
            mass: matrix(),
            mass_gradient: matrix(),
            stiffness: matrix(),
            damping: matrix(),
            gradient: matrix(),
            tangent: matrix(),
            iteration: matrix(),
            factored_for: f64::NAN,
        }
    }

    /// Evaluates the residual for the end velocity `v` of a step from `start`.
    pub(super) fn evaluate(
        &mut self,
        system: &dyn System,
        rule: &Rule,
        start: &Stage,
        v: &[f64],
    ) -> Result<(), StepError> {
        let (theta, h) = (rule.theta, rule.h);
        let weight = if rule.at_theta_point() { theta } else { 1.0 };
        for i in 0..v.len() {
            self.increment[i] = v[i] - start.v[i];
            self.mean[i] = (1.0 - theta) * start.v[i] + theta * v[i];
            self.xi[i] = h * self.mean[i];
            self.work[i] = weight * self.xi[i];
            self.v[i] = (1.0 - weight) * start.v[i] + weight * v[i];
        }
        self.t = if rule.at_theta_point() {
            start.t + theta * h
        } else {
            rule.end
        };
        self.q.copy_from_slice(&start.q);
        system.retract(&mut self.q, &self.work);
        if rule.at_theta_point() {
            for i in 0..v.len() {
                self.v[i] = self.mean[i];
            }
        }
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        if self.mass_is_constant {
            system.force(at, &mut self.force);
            start.mass.apply(&self.increment, &mut self.residual);
        } else {
            self.mass.clear();
            let parts = DynamicsParts {
                mass: &mut self.mass,
                force: &mut self.force,
                tangents: None,
            };
            system.evaluate(at, parts);
            self.mass.finish();
            self.mass.apply(&self.increment, &mut self.residual);
        }
        crate::kit::check_force(system, &self.force, self.t)?;
        if rule.at_theta_point() {
            axpy(-h, &self.force, &mut self.residual);
        } else {
            axpy(-h * theta, &self.force, &mut self.residual);
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
            x: &self.increment,
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
    }

    /// `J`, factored. `curvature` adds what turns with the positions: `−D(Gᵀ P)` times the derivative of where `G` is by `v_{k+1}`.
    pub(super) fn factorise(
        &mut self,
        system: &dyn System,
        rule: &Rule,
        start: &Stage,
        curvature: Option<&dyn Fn(&mut Shifted<'_>)>,
        scheme: &'static str,
    ) -> Result<(), StepError> {
        let reusable = self.is_linear && curvature.is_none();
        if reusable && self.factored_for == rule.h {
            return Ok(());
        }
        let time = if rule.at_theta_point() {
            rule.h
        } else {
            rule.h * rule.theta
        };
        let damped = if rule.at_theta_point() {
            rule.theta
        } else {
            1.0
        };
        self.evaluate_tangents(system);
        self.iteration.clear();
        self.iteration.add_scaled(1.0, &self.mass);
        self.iteration.add_scaled(time * damped, &self.damping);
        self.gradient.clear();
        self.gradient
            .add_scaled(time * rule.turn(), &self.stiffness);
        self.gradient.add_scaled(rule.turn(), &self.mass_gradient);
        if let Some(add) = curvature {
            let mut sink = Shifted {
                sink: &mut self.gradient,
                factor: -1.0,
                row: 0,
                col: 0,
            };
            add(&mut sink);
        }
        if !self.is_flat {
            self.tangent.clear();
            system.retract_tangent(&start.q, &self.xi, &mut self.tangent);
            self.gradient.multiply_right(&self.tangent);
        }
        self.iteration.add_scaled(1.0, &self.gradient);
        self.factored_for = if reusable { rule.h } else { f64::NAN };
        self.iteration
            .factorise()
            .map_err(|source| StepError::Singular {
                source,
                scheme,
                mass_is_regular: true,
            })
    }

    /// How well the forces at the evaluation point can be known.
    pub(super) fn measure_round_off(&mut self, system: &dyn System, h: f64) {
        self.evaluate_tangents(system);
        self.stiffness.finish();
        let (q, floor) = (&self.q, &mut self.round_off);
        round_off::of_force(&self.stiffness, h, q, self.is_flat, floor);
    }

    /// No round-off is known yet in this step.
    pub(super) fn forget_round_off(&mut self) {
        self.round_off.fill(0.0);
    }

    /// Leaves of a residual what stands above its round-off.
    pub(super) fn above_round_off(&self, residual: &mut [f64]) {
        for (r, floor) in residual.iter_mut().zip(&self.round_off) {
            *r = round_off::above(*r, *floor);
        }
    }

    /// Work of the forces without a potential over the step \[J\], with the weights that they have in it.
    pub(super) fn work(&mut self, system: &dyn System, rule: &Rule, start: &mut Stage) -> f64 {
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

    /// The force at the evaluation point, for the momentum scale.
    pub(super) fn force(&self) -> &[f64] {
        &self.force
    }
}
