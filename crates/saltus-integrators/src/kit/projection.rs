//! Projection of positions onto constraints and contacts.
//!
//! ```text
//! min ½ ‖ξ‖²_A   such that   g = 0 ,  gap ≥ 0 or gap = 0   at   q̃ ⊕ ξ
//! ```
//!
//! by sequential quadratic programming, always measured from `q̃`, so that the limit satisfies the optimality conditions
//! `A ξ = Gᵀ τ`, `0 ≤ gap ⟂ τ ≥ 0`: `ξ` solves the problem linearised at the last iterate. Where that is slow, on strongly curved
//! constraints, the curvature `D(Gᵀ τ)` is taken off the metric, which makes it Newton's method.

use super::{EvaluationPoint, Row};
use crate::one_step::OneStep;
use crate::round_off::ROUND_OFF;
use saltus_linear::{Shifted, SparseRows, SquareMatrix, max_abs};
use saltus_system::{ConstraintKind, System};

/// Most linearisations.
const LIMIT: u32 = 50;
/// Linearisations without curvature before it is taken into account.
const PATIENCE: u32 = 3;
/// A displacement that changes by less than this fraction of itself has converged.
const SETTLED: f64 = 1e-11;

/// What a contact is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// Nothing.
    Free,
    /// `gap ≥ 0`.
    Apart,
    /// `gap = 0`.
    Closed,
}

/// Why positions could not be projected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unprojected {
    /// The iteration did not converge: linearisations used, remaining violation \[m\].
    NotConverged(u32, f64),
    /// The linearised constraints contradict each other.
    Contradiction,
}

/// The projection with its buffers.
#[derive(Debug)]
pub(crate) struct Projection {
    one_step: OneStep,
    /// Equalities first.
    rows: Vec<Row>,
    equalities: usize,
    /// Whether directions do not depend on positions, so that one linearisation is exact.
    is_linear: bool,
    is_flat: bool,
    tau: Vec<f64>,           // of each row
    multipliers: Vec<f64>,   // of each row of the contact set
    bilateral: Vec<f64>,     // of each bilateral constraint (ng)
    gap: Vec<f64>,           // g of the bilateral constraints (ng)
    pub(crate) xi: Vec<f64>, // displacement from q̃ (nv)
    base: Vec<f64>,          // displacement without multipliers (nv)
    work: Vec<f64>,          // (nv)
    matrix: SquareMatrix,    // A − D(Gᵀ τ)
    curvature: SquareMatrix, // −D(Gᵀ τ)
}

impl Projection {
    /// Buffers for `system`.
    pub(crate) fn new(system: &dyn System) -> Self {
        let (dims, structure) = (system.dims(), system.structure());
        let zeros = || vec![0.0; dims.nv];
        Self {
            one_step: OneStep::default(),
            rows: Vec::new(),
            equalities: 0,
            tau: Vec::new(),
            multipliers: Vec::new(),
            is_flat: system.is_flat(),
            is_linear: system.is_flat()
                && structure.linear_contacts
                && (structure.linear_constraints || dims.ng == 0),
            gap: vec![0.0; dims.ng],
            bilateral: vec![0.0; dims.ng],
            xi: zeros(),
            base: zeros(),
            work: zeros(),
            matrix: SquareMatrix::new(dims.nv),
            curvature: SquareMatrix::new(dims.nv),
        }
    }

    /// Moves `at` from `q̃`, where `start` is, to the nearest positions in the factored `metric` that satisfy `g = 0` and what `law`
    /// asks of each contact. Violations below `tolerance` \[m\] count as none, before the first correction and after it, and so do those of
    /// round-off. Rows and contacts of `at` are evaluated there; its contacts and time are given.
    /// Returns the linearisations; none where `q̃` satisfies everything.
    pub(crate) fn project(
        &mut self,
        system: &dyn System,
        metric: &SquareMatrix,
        start: &[f64],
        at: &mut EvaluationPoint,
        law: impl Fn(usize) -> Gap,
        (before, after): (f64, f64),
    ) -> Result<u32, Unprojected> {
        at.q.copy_from_slice(start);
        self.list(system, at, law);
        self.xi.fill(0.0);
        let (mut violation, mut is_settled) = (f64::INFINITY, true);
        for iteration in 0..=LIMIT {
            at.evaluate_rows(system);
            system.g(at.t, &at.q, &mut self.gap);
            let last = violation;
            violation = self.violation(at);
            let tolerance = if iteration > 0 { after } else { before };
            let floor = tolerance.max(self.round_off(at));
            if violation <= floor && (is_settled || self.is_linear) {
                return Ok(iteration);
            }
            if iteration == LIMIT || (violation.is_nan() && last.is_nan()) {
                break;
            }
            let curved = iteration >= PATIENCE && !self.is_linear;
            let corrected =
                curved && self.correct_curved(system, metric, at) || self.correct(metric, at);
            if !corrected {
                return Err(Unprojected::Contradiction);
            }
            let mut change = 0.0_f64;
            for (x, xi) in self.work.iter().zip(&mut self.xi) {
                change = change.max((x - *xi).abs());
                *xi = *x;
            }
            let noise = 16.0 * f64::EPSILON * max_abs(&at.q);
            is_settled = change <= (SETTLED * max_abs(&self.xi)).max(noise);
            at.q.copy_from_slice(start);
            system.retract(&mut at.q, &self.xi);
        }
        Err(Unprojected::NotConverged(LIMIT, violation))
    }

    /// Whether contact `i` was moved onto its obstacle in the last projection.
    pub(crate) fn presses(&self, i: usize) -> bool {
        let mut pairs = self.rows.iter().zip(&self.tau);
        pairs
            .any(|(row, tau)| matches!(row, Row::Normal(contact, _) if *contact == i) && *tau > 0.0)
    }

    fn list(&mut self, system: &dyn System, at: &EvaluationPoint, law: impl Fn(usize) -> Gap) {
        self.rows.clear();
        let bilateral = 0..self.gap.len();
        let position = |i: &usize| system.constraint_kind(*i) == ConstraintKind::Position;
        self.rows
            .extend(bilateral.filter(position).map(Row::Bilateral));
        for wanted in [Gap::Closed, Gap::Apart] {
            if wanted == Gap::Apart {
                self.equalities = self.rows.len();
            }
            let first = &at.contacts.first_row;
            let contacts = (0..at.contacts.len()).filter(|&i| law(i) == wanted);
            self.rows.extend(contacts.map(|i| Row::Normal(i, first[i])));
        }
        self.tau.clear();
        self.tau.resize(self.rows.len(), 0.0);
    }

    fn value(&self, at: &EvaluationPoint, k: usize) -> f64 {
        match self.rows[k] {
            Row::Bilateral(i) => self.gap[i],
            Row::Normal(i, _) => at.contacts.gap[i],
            Row::Tangent(..) | Row::JointFriction(_) => 0.0,
        }
    }

    /// Largest violation \[m\]; contacts that were moved onto their obstacle must touch it.
    fn violation(&self, at: &EvaluationPoint) -> f64 {
        let mut worst = 0.0_f64;
        for k in 0..self.rows.len() {
            let value = self.value(at, k);
            let size = if k < self.equalities || self.tau[k] > 0.0 {
                value.abs()
            } else {
                -value
            };
            if size > worst || size.is_nan() {
                worst = size;
            }
        }
        worst
    }

    /// Round-off of a violation \[m\].
    fn round_off(&self, at: &EvaluationPoint) -> f64 {
        let largest = max_abs(&at.q);
        let mut worst = 0.0_f64;
        for row in &self.rows {
            let (matrix, i) = at.row(*row);
            let terms = matrix.cols(i).iter().zip(matrix.values(i));
            let size = |j: usize| if self.is_flat { at.q[j].abs() } else { largest };
            worst = worst.max(terms.map(|(&j, w)| w.abs() * size(j)).sum());
        }
        ROUND_OFF * worst
    }

    /// `work ← ξ` of the problem linearised at `at`, in the metric; whether it was solved.
    fn correct(&mut self, metric: &SquareMatrix, at: &EvaluationPoint) -> bool {
        self.base.fill(0.0);
        condense(&mut self.one_step, &self.rows, metric, at);
        self.solve(at)
    }

    /// The same with the curvature of the constraints.
    fn correct_curved(
        &mut self,
        system: &dyn System,
        metric: &SquareMatrix,
        at: &EvaluationPoint,
    ) -> bool {
        self.bilateral.fill(0.0);
        self.multipliers.clear();
        self.multipliers.resize(at.contacts.rate.len(), 0.0);
        for (row, tau) in self.rows.iter().zip(&self.tau) {
            match row {
                Row::Bilateral(i) => self.bilateral[*i] = *tau,
                Row::Normal(_, row) => self.multipliers[*row] = *tau,
                Row::Tangent(..) | Row::JointFriction(_) => {}
            }
        }
        self.curvature.clear();
        let mut sink = Shifted {
            sink: &mut self.curvature,
            factor: -1.0,
            row: 0,
            col: 0,
        };
        if !self.bilateral.is_empty() {
            system.g_curvature(at.t, &at.q, &self.bilateral, &mut sink);
        }
        if !at.contacts.is_empty() {
            let (set, tau) = (&at.contacts, &self.multipliers);
            system.contact_curvature(at.t, &at.q, set, tau, &mut sink);
        }
        self.matrix.clear();
        self.matrix.add_scaled(1.0, metric);
        self.matrix.add_scaled(1.0, &self.curvature);
        if self.matrix.factorise().is_err() {
            return false;
        }
        self.curvature.finish();
        self.curvature.apply(&self.xi, &mut self.base);
        self.matrix.solve(&mut self.base);
        condense(&mut self.one_step, &self.rows, &self.matrix, at);
        self.solve(at)
    }

    /// `work ← base + J⁻¹ Gᵀ τ` with `0 ≤ gap + G (work − ξ) ⟂ τ ≥ 0`, for the condensed rows.
    fn solve(&mut self, at: &EvaluationPoint) -> bool {
        let m = self.rows.len();
        for k in 0..m {
            let (directions, i) = at.row(self.rows[k]);
            let moved = directions.dot(i, &self.base) - directions.dot(i, &self.xi);
            self.one_step.q_mut()[k] = self.value(at, k) + moved;
        }
        let outcome = self.one_step.solve(self.equalities, &mut self.tau);
        self.work.copy_from_slice(&self.base);
        self.one_step.add_response(0..m, &self.tau, &mut self.work);
        outcome.is_solved()
    }
}

fn condense(one_step: &mut OneStep, rows: &[Row], matrix: &SquareMatrix, at: &EvaluationPoint) {
    let row = |k: usize| -> (&SparseRows, usize) { at.row(rows[k]) };
    one_step.condense(rows.len(), matrix.size(), matrix, &row, &row);
}
