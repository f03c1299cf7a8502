//! Accelerations, reactions and impulses at one position: what the start of a run and an impact inside a step need.
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

/// The matrix of a position and the problem on it.
#[derive(Debug)]
pub(super) struct Instant {
    /// `M`, or `M + α GᵀG` where it is singular.
    matrix: SquareMatrix,
    /// Whether its factors stay valid.
    is_known: bool,
    is_augmented: bool,
    schur: Schur,
    problem: OneStep,
    /// Rows that take part, bilateral ones first, and their multipliers.
    pub(super) list: Vec<usize>,
    pub(super) z: Vec<f64>,
    /// Constant term of every row beside `G x`, in the order of the list.
    pub(super) constant: Vec<f64>,
    /// A right-hand side, then the accelerations (nv).
    pub(super) x: Vec<f64>,
}

impl Default for Instant {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Instant {
    pub(super) fn new(n: usize) -> Self {
        Self {
            matrix: SquareMatrix::new(n),
            is_known: false,
            is_augmented: false,
            schur: Schur::without_columns(),
            problem: OneStep::default(),
            list: Vec::new(),
            z: Vec::new(),
            constant: Vec::new(),
            x: vec![0.0; n],
        }
    }
}

impl Engine {
    /// Accelerations and multipliers at the start, contacts that are closed and at rest included where
    /// the smooth motion includes them.
    pub(super) fn initial_accelerations(
        &mut self,
        system: &dyn System,
        state: &State,
    ) -> Result<(), StepError> {
        let (n, ng) = (self.dims.nv, self.dims.ng);
        let smooth = self.settings.formulation.smooth_row().is_some();
        let contacts = matches!(
            self.settings.formulation,
            Formulation::Pva(3) | Formulation::Position
        );
        self.rows.evaluate_bias(system, state.point(), contacts);
        let equalities = if smooth { ng } else { 0 };
        self.instant.list.clear();
        self.instant.list.extend(0..equalities);
        if contacts {
            for j in ng..self.rows.len() {
                if self.is_touching(j) && self.is_at_rest(j) {
                    self.instant.list.push(j);
                }
            }
        }
        self.factor_instant(equalities)?;
        self.accelerate(equalities);
        if let Some(given) = &self.settings.initial_acceleration {
            if given.len() != n {
                return Err(StepError::InitialAcceleration {
                    given: given.len(),
                    expected: n,
                });
            }
            self.instant.x.copy_from_slice(given);
        }
        if !max_abs(&self.instant.x).is_finite() {
            self.trial.v_dot.copy_from_slice(&self.instant.x);
            return Err(self.not_finite(system, state.t));
        }
        self.adopt_accelerations();
        self.start.a.copy_from_slice(&self.start.v_dot);
        self.start.eta.copy_from_slice(&self.start.lambda);
        self.trial.v_dot.copy_from_slice(&self.start.v_dot);
        self.trial.lambda.copy_from_slice(&self.start.lambda);
        Ok(())
    }

    /// Force and bias of the rows at the position of the start with the velocity `v`.
    pub(super) fn evaluate_instant(&mut self, system: &dyn System, v: &[f64]) {
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
    pub(super) fn factor_instant(&mut self, equalities: usize) -> Result<(), StepError> {
        let instant = &mut self.instant;
        if instant.is_known {
            return Ok(());
        }
        instant.is_augmented = false;
        instant.matrix.clear();
        instant.matrix.add_scaled(1.0, &self.tangent.mass);
        let scheme = self.settings.scheme;
        let singular = |source: LinearError| StepError::Singular {
            source,
            scheme,
            mass_is_regular: false,
        };
        let Err(source) = instant.matrix.factorise() else {
            instant.is_known = self.structure.mass == saltus_system::MassKind::Constant;
            return Ok(());
        };
        if equalities == 0 {
            return Err(singular(source));
        }
        instant.is_augmented = true;
        let gradient = self.rows.gradient();
        augment_matrix(
            &mut instant.matrix,
            gradient,
            equalities,
            &self.momentum_scale.weights,
        );
        instant.matrix.factorise().map_err(singular)
    }

    /// Accelerations under the force in `trial`, with multipliers of the rows in the list; whether they were found.
    pub(super) fn accelerate(&mut self, equalities: usize) -> bool {
        let (instant, rows) = (&mut self.instant, &self.rows);
        instant.x.copy_from_slice(&self.trial.force);
        if instant.is_augmented {
            let bias = &rows.bias[..equalities];
            augment_force(
                rows.gradient(),
                bias,
                &self.momentum_scale.weights,
                &mut instant.x,
            );
        }
        instant.matrix.solve(&mut instant.x);
        instant.constant.clear();
        let bias = instant.list.iter().map(|&j| rows.bias[j]);
        instant.constant.extend(bias);
        self.solve_constrained(equalities)
    }

    /// Changes `x` of the instant by `M⁻¹Gᵀz` so that `w = G x + constant` vanishes on the first rows of the list and
    /// `0 ≤ w ⟂ z ≥ 0` on the others; whether that was possible.
    pub(super) fn solve_constrained(&mut self, equalities: usize) -> bool {
        let gradient = self.rows.gradient();
        let Instant {
            matrix,
            schur,
            problem,
            list,
            constant,
            z,
            x,
            ..
        } = &mut self.instant;
        z.clear();
        z.resize(list.len(), 0.0);
        if list.is_empty() {
            return true;
        }
        schur.know_all(matrix, gradient, list.iter().map(|&j| (j, j)));
        problem.take(list.len(), |i, j| schur.product(list[i], list[j]));
        for ((q, &j), c) in problem.q_mut().iter_mut().zip(&*list).zip(&*constant) {
            *q = gradient.dot(j, x) + c;
        }
        let outcome = problem.solve(equalities, z);
        schur.respond(matrix, list, z, x);
        outcome.is_solved()
    }

    /// Makes accelerations and multipliers of the instant those of the start.
    pub(super) fn adopt_accelerations(&mut self) {
        let (start, instant) = (&mut self.start, &self.instant);
        start.v_dot.copy_from_slice(&instant.x);
        start.lambda.fill(0.0);
        for (&j, z) in instant.list.iter().zip(&instant.z) {
            start.lambda[j] = *z;
        }
    }
}
