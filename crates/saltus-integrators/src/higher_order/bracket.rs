//! The step over the bracket of an event: Moreau–Jean with θ = 1/2 and the contacts of the event taken part by force, no forecast.
//!
//! ```text
//! M (v⁺ − v) = η f + Gᵀ P + W R ,   q⁺ = q ⊕ η (v + v⁺)/2 ,   0 ≤ u⁺ + e u ⟂ R ≥ 0      (everything at the middle)
//! ```

use super::NAME;
use super::options::HigherOrderOptions;
use crate::integrator::StepError;
use crate::kit::{
    Duration, EvaluationPoint, MomentumScale, Row, Step, StepProblem, Works, restitution,
};
use saltus_linear::{SquareMatrix, axpy, dot, max_abs};
use saltus_system::{Point, System};

/// The step with its buffers.
#[derive(Debug)]
pub(super) struct Bracket {
    /// The middle, where everything is evaluated.
    pub(super) middle: EvaluationPoint,
    stiffness: SquareMatrix,
    damping: SquareMatrix,
    iteration: SquareMatrix,
    xi: Vec<f64>,       // (nv)
    v: Vec<f64>,        // v⁺ (nv)
    v_free: Vec<f64>,   // v⁺ without impulses (nv)
    residual: Vec<f64>, // M (v⁺ − v) − η f, without and with impulses (nv)
    work: Vec<f64>,     // (nv)
    /// Normal velocities before and after, along the directions in the middle, and impulses, of each contact.
    pub(super) before: Vec<f64>,
    pub(super) after: Vec<f64>,
    pub(super) impulse: Vec<f64>,
}

/// Works in a bracket, and the residual of its impact law [m/s].
#[derive(Debug, Clone, Copy)]
pub(super) struct BracketTotals {
    pub(super) works: Works,
    pub(super) law: f64,
    pub(super) iterations: u32,
}

impl Bracket {
    pub(super) fn new(system: &dyn System) -> Self {
        let nv = system.dims().nv;
        let matrix = || SquareMatrix::new(nv);
        let zeros = || vec![0.0; nv];
        Self {
            middle: EvaluationPoint::new(system),
            stiffness: matrix(),
            damping: matrix(),
            iteration: matrix(),
            xi: zeros(),
            v: zeros(),
            v_free: zeros(),
            residual: zeros(),
            work: zeros(),
            before: Vec::new(),
            after: Vec::new(),
            impulse: Vec::new(),
        }
    }

    /// Passes from `at` over `eta` \[s\] with the contacts `active`; `at` is the end afterwards.
    pub(super) fn cross(
        &mut self,
        system: &dyn System,
        (step, problem): (&mut Step, &mut StepProblem),
        scale: &MomentumScale,
        (at, active): (&mut EvaluationPoint, &[usize]),
        eta: f64,
        options: &HigherOrderOptions,
    ) -> Result<BracketTotals, StepError> {
        self.v.copy_from_slice(&at.v);
        let mut iterations = 0;
        loop {
            self.evaluate(system, at, eta)?;
            if iterations > 0 && self.is_solved(problem, scale, at, options.tolerance) {
                break;
            }
            if iterations == options.max_iterations {
                return Err(self.not_converged(system, scale, iterations, options.tolerance));
            }
            self.correct(system, (&mut *step, &mut *problem), (at, active), eta)?;
            iterations += 1;
        }
        Ok(self.finish(system, (step, problem), (at, active), eta, iterations))
    }

    /// Everything at the middle that belongs to the present `v⁺`, and the residual.
    fn evaluate(
        &mut self,
        system: &dyn System,
        at: &EvaluationPoint,
        eta: f64,
    ) -> Result<(), StepError> {
        let middle = &mut self.middle;
        for i in 0..self.v.len() {
            middle.v[i] = 0.5 * (at.v[i] + self.v[i]);
            self.xi[i] = 0.5 * eta * middle.v[i];
            self.work[i] = self.v[i] - at.v[i];
        }
        middle.retract(system, at, &self.xi, at.t + 0.5 * eta);
        middle.evaluate(system, NAME)?;
        middle.evaluate_force(system)?;
        middle.mass.apply(&self.work, &mut self.residual);
        axpy(-eta, &middle.force, &mut self.residual);
        Ok(())
    }

    fn is_solved(
        &mut self,
        problem: &StepProblem,
        scale: &MomentumScale,
        at: &EvaluationPoint,
        tolerance: f64,
    ) -> bool {
        self.work.copy_from_slice(&self.residual);
        let middle = &self.middle;
        let mut law = true;
        for (row, p) in problem.impulses() {
            let (matrix, i) = middle.row(row);
            matrix.axpy(i, -p, &mut self.work);
            let bound = scale.velocity_bound(matrix.cols(i), matrix.values(i), tolerance);
            let e = restitution(&middle.contacts, row);
            let w = middle.velocity(row, &self.v) + e * middle.velocity(row, &at.v);
            law &= match row {
                Row::Normal(..) if p <= 0.0 => w >= -bound,
                _ => w.abs() <= bound,
            };
        }
        let mut residuals = self.work.iter().enumerate();
        law && residuals.all(|(i, r)| r.abs() <= scale.bound(i, tolerance))
    }

    fn correct(
        &mut self,
        system: &dyn System,
        (step, problem): (&mut Step, &mut StepProblem),
        (at, active): (&EvaluationPoint, &[usize]),
        eta: f64,
    ) -> Result<(), StepError> {
        let middle = &self.middle;
        let point = Point {
            t: middle.t,
            q: &middle.q,
            v: &middle.v,
        };
        for matrix in [&mut self.stiffness, &mut self.damping, &mut self.iteration] {
            matrix.clear();
        }
        system.stiffness(point, &mut self.stiffness);
        system.damping(point, &mut self.damping);
        self.iteration.add_scaled(1.0, &middle.mass);
        self.iteration.add_scaled(0.5 * eta, &self.damping);
        self.iteration.add_scaled(0.25 * eta * eta, &self.stiffness);
        let factorised = self.iteration.factorise();
        factorised.map_err(|source| StepError::Singular {
            source,
            scheme: NAME,
            mass_is_regular: true,
        })?;
        self.v_free.copy_from_slice(&self.residual);
        self.iteration.solve_scaled(-1.0, &mut self.v_free);
        axpy(1.0, &self.v, &mut self.v_free);
        let rebound = |row: Row| {
            let e = restitution(&middle.contacts, row);
            middle.rate(row) + e * middle.velocity(row, &at.v)
        };
        let stages = (&self.iteration, middle, middle);
        let time = Duration::Time(eta);
        let reactions = &mut step.reactions;
        problem.pose_with(
            system,
            reactions,
            stages,
            active,
            time,
            &self.v_free,
            rebound,
        );
        problem.solve(system, reactions, middle, middle.t)?;
        self.v.copy_from_slice(&self.v_free);
        problem.respond(&mut self.v);
        Ok(())
    }

    fn finish(
        &mut self,
        system: &dyn System,
        (step, problem): (&mut Step, &mut StepProblem),
        (at, active): (&mut EvaluationPoint, &[usize]),
        eta: f64,
        iterations: u32,
    ) -> BracketTotals {
        let middle = &mut self.middle;
        step.reactions.add(problem, 1.0);
        step.reactions
            .include_law_residuals(problem, middle, &self.v);
        step.reactions
            .include_momentum_residual(max_abs(&self.work));
        problem.respond_without_constraints(&mut step.jump);
        let n = middle.contacts.len();
        for list in [&mut self.before, &mut self.after, &mut self.impulse] {
            list.clear();
            list.resize(n, 0.0);
        }
        let mut passed = BracketTotals {
            works: Works::default(),
            law: 0.0,
            iterations,
        };
        for &i in active {
            self.before[i] = middle.contacts.normal_velocity(i, &at.v);
            self.after[i] = middle.contacts.normal_velocity(i, &self.v);
        }
        for (row, p) in problem.impulses() {
            passed.works.add(middle, row, p, &middle.v);
            if let Row::Normal(i, _) = row {
                self.impulse[i] = p;
                if p > 0.0 {
                    let e = restitution(&middle.contacts, row);
                    let residual = self.after[i] + e * self.before[i];
                    passed.law = passed.law.max(residual.abs());
                }
            }
        }
        middle.evaluate_power(system);
        passed.works.external = eta * dot(&middle.power, &middle.v);
        for (xi, v) in self.xi.iter_mut().zip(&middle.v) {
            *xi = eta * v;
        }
        axpy(1.0, &self.xi, &mut step.xi);
        system.retract(&mut at.q, &self.xi);
        at.t += eta;
        at.v.copy_from_slice(&self.v);
        passed
    }

    fn not_converged(
        &self,
        system: &dyn System,
        scale: &MomentumScale,
        iterations: u32,
        tolerance: f64,
    ) -> StepError {
        let (ratio, i) = scale.ratio(&self.work, tolerance);
        let bound = scale.bound(i, tolerance);
        StepError::NotConverged {
            iterations,
            residual: ratio * bound,
            tolerance: bound,
            place: system
                .names()
                .velocities
                .get(i)
                .cloned()
                .unwrap_or_default(),
            problem: None,
        }
    }
}
