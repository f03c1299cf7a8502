//! Accelerations, reactions and impulses at a fixed position, for the start of a run and for impacts inside a step.
//!
//! ```text
//! M v̇ = f + Gᵀλ            g̈ = 0 of bilateral constraints,     0 ≤ g̈ ⟂ λ ≥ 0 of closed contacts
//! M (v⁺ − v⁻) = Gᵀp        ġ⁺ = 0 of bilateral constraints,    0 ≤ ġ⁺ + e ġ⁻ ⟂ p ≥ 0 of contacts
//! ```

use super::engine::Engine;
use super::settings::Formulation;
use crate::integrator::StepError;
use crate::kit::{augment_force, augment_matrix};
use crate::one_step::OneStep;
use saltus_linear::{LinearError, Schur, SquareMatrix, max_abs};
use saltus_system::{Point, State, System};

/// Mass matrix and complementarity problem at a fixed position.
#[derive(Debug)]
pub(super) struct FixedConfiguration {
    /// `M`, or `M + α GᵀG` where it is singular.
    matrix: SquareMatrix,
    /// Whether its factors stay valid.
    is_factorised: bool,
    is_augmented: bool,
    schur: Schur,
    problem: OneStep,
    /// Rows of the problem, bilateral ones first, and their multipliers (forces or impulses).
    pub(super) rows: Vec<usize>,
    pub(super) z: Vec<f64>,
    /// Constant term of every row beside `G x`, in the order of `rows`.
    pub(super) constant: Vec<f64>,
    /// A right-hand side, then the accelerations or velocities (nv).
    pub(super) x: Vec<f64>,
}

impl FixedConfiguration {
    pub(super) fn new(n: usize) -> Self {
        Self {
            matrix: SquareMatrix::new(n),
            is_factorised: false,
            is_augmented: false,
            schur: Schur::without_columns(),
            problem: OneStep::default(),
            rows: Vec::new(),
            z: Vec::new(),
            constant: Vec::new(),
            x: vec![0.0; n],
        }
    }
}

impl Engine {
    /// Accelerations and multipliers at the start; contacts that are closed and at rest are included where the smooth motion
    /// constrains them.
    pub(super) fn initial_accelerations(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<(), StepError> {
        let (n, ng) = (self.dims.nv, self.dims.ng);
        let smooth = self.settings.formulation.smooth_level().is_some();
        let contacts = matches!(
            self.settings.formulation,
            Formulation::Pva(3) | Formulation::Position
        );
        self.rows.evaluate_bias(system, state.point(), contacts);
        let equalities = if smooth { ng } else { 0 };
        self.fixed.rows.clear();
        self.fixed.rows.extend(0..equalities);
        if contacts {
            for j in ng..self.rows.len() {
                if self.is_touching(j) && self.is_at_rest(j) {
                    self.fixed.rows.push(j);
                }
            }
        }
        self.factor_fixed_mass(equalities)?;
        self.solve_accelerations(equalities);
        if let Some(given) = &self.settings.initial_acceleration {
            if given.len() != n {
                return Err(StepError::InitialAcceleration {
                    given: given.len(),
                    expected: n,
                });
            }
            self.fixed.x.copy_from_slice(given);
        }
        if !max_abs(&self.fixed.x).is_finite() {
            self.trial.v_dot.copy_from_slice(&self.fixed.x);
            return Err(self.not_finite(system, state.t));
        }
        self.store_accelerations();
        self.start.a.copy_from_slice(&self.start.v_dot);
        self.start.eta.copy_from_slice(&self.start.lambda);
        self.trial.v_dot.copy_from_slice(&self.start.v_dot);
        self.trial.lambda.copy_from_slice(&self.start.lambda);
        Ok(())
    }

    /// Force and bias of the rows at the position of the start with the velocity `v`.
    pub(super) fn evaluate_force_and_bias(&mut self, system: &dyn System, v: &[f64]) {
        let at = Point {
            t: self.start.t,
            q: &self.start.q,
            v,
        };
        system.force(at, &mut self.trial.force);
        self.rows.evaluate_bias(system, at, true);
    }

    /// Factors the mass matrix. Where it is singular although the constrained system is not, `α GᵀG` of the bilateral rows is
    /// added, which changes nothing where `G x` is given and the right-hand side has `α GᵀG x` too.
    pub(super) fn factor_fixed_mass(&mut self, equalities: usize) -> Result<(), StepError> {
        let fixed = &mut self.fixed;
        if fixed.is_factorised {
            return Ok(());
        }
        fixed.is_augmented = false;
        fixed.matrix.clear();
        fixed.matrix.add_scaled(1.0, &self.tangent.mass);
        let scheme = self.settings.scheme;
        let singular = |source: LinearError| StepError::Singular {
            source,
            scheme,
            mass_is_regular: false,
        };
        let Err(source) = fixed.matrix.factorise() else {
            fixed.is_factorised = self.structure.mass == saltus_system::MassKind::Constant;
            return Ok(());
        };
        if equalities == 0 {
            return Err(singular(source));
        }
        fixed.is_augmented = true;
        let gradient = self.rows.gradient();
        augment_matrix(
            &mut fixed.matrix,
            gradient,
            equalities,
            &self.momentum_scale.weights,
        );
        fixed.matrix.factorise().map_err(singular)
    }

    /// Accelerations under the force in `trial` and multipliers of the listed rows; whether the problem was solved.
    pub(super) fn solve_accelerations(&mut self, equalities: usize) -> bool {
        let (fixed, rows) = (&mut self.fixed, &self.rows);
        fixed.x.copy_from_slice(&self.trial.force);
        if fixed.is_augmented {
            let bias = &rows.bias[..equalities];
            augment_force(
                rows.gradient(),
                bias,
                &self.momentum_scale.weights,
                &mut fixed.x,
            );
        }
        fixed.matrix.solve(&mut fixed.x);
        fixed.constant.clear();
        let bias = fixed.rows.iter().map(|&j| rows.bias[j]);
        fixed.constant.extend(bias);
        self.solve_constrained(equalities)
    }

    /// Adds `M⁻¹Gᵀz` to `x` so that `w = G x + constant` vanishes on the first rows of the list and
    /// `0 ≤ w ⟂ z ≥ 0` on the others; whether the problem was solved.
    pub(super) fn solve_constrained(&mut self, equalities: usize) -> bool {
        let gradient = self.rows.gradient();
        let FixedConfiguration {
            matrix,
            schur,
            problem,
            rows,
            constant,
            z,
            x,
            ..
        } = &mut self.fixed;
        z.clear();
        z.resize(rows.len(), 0.0);
        if rows.is_empty() {
            return true;
        }
        schur.add_all(matrix, gradient, rows.iter().map(|&j| (j, j)));
        problem.take(rows.len(), |i, j| schur.product(rows[i], rows[j]));
        for ((q, &j), c) in problem.q_mut().iter_mut().zip(&*rows).zip(&*constant) {
            *q = gradient.dot(j, x) + c;
        }
        let outcome = problem.solve(equalities, z);
        schur.respond(matrix, rows, z, x);
        outcome.is_solved()
    }

    /// Stores accelerations and multipliers in `start`.
    pub(super) fn store_accelerations(&mut self) {
        let (start, fixed) = (&mut self.start, &self.fixed);
        start.v_dot.copy_from_slice(&fixed.x);
        start.lambda.fill(0.0);
        for (&j, z) in fixed.rows.iter().zip(&fixed.z) {
            start.lambda[j] = *z;
        }
    }
}
