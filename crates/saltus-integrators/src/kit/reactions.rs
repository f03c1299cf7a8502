//! The reactions of a step, row by row: impulses, laws and states of contacts and joints, and their residuals.

use super::problem::{LawResiduals, StepProblem, worse};
use super::{EvaluationPoint, Row};
use crate::integrator::ContactState;
use saltus_complementarity::Block;
use saltus_linear::{SparseRows, max_abs};
use saltus_system::{ContactSet, System};

/// Impulses over the step of every row, and what contacts and joints do.
#[derive(Debug)]
pub(crate) struct StepReactions {
    /// Bilateral rows.
    pub(super) ng: usize,
    laws_vary: bool,
    /// Whether any contact of the set, or any joint, has friction.
    pub(crate) has_friction: bool,
    /// Contacts that stick when the step begins: their static coefficient counts.
    pub(super) sticking: Vec<bool>,
    /// What each contact, and each element of friction in joints, does.
    pub(crate) state: Vec<ContactState>,
    pub(super) friction_state: Vec<ContactState>,
    pub(crate) bilateral: Vec<f64>, // [N·s] (ng)
    pub(crate) friction: Vec<f64>,  // [N·s] (rows of friction in joints)
    pub(crate) normal: Vec<f64>,    // [N·s] (contacts)
    pub(crate) row: Vec<f64>,       // [N·s] (rows of the set)
    pub(super) law_residuals: LawResiduals,
    /// Residual of the balance of momentum [N·s].
    pub(super) dynamics: f64,
    scratch: Vec<f64>,  // (nv)
    momentum: Vec<f64>, // (nv)
}

impl StepReactions {
    pub(super) fn new(system: &dyn System) -> Self {
        let dims = system.dims();
        let elements = system.joint_friction();
        let slips = elements.iter().map(|f| usize::from(f.tangents)).sum();
        Self {
            ng: dims.ng,
            laws_vary: system.laws_vary(),
            has_friction: false,
            sticking: Vec::new(),
            state: Vec::new(),
            friction_state: vec![ContactState::Open; elements.len()],
            bilateral: vec![0.0; dims.ng],
            friction: vec![0.0; slips],
            normal: Vec::new(),
            row: Vec::new(),
            law_residuals: LawResiduals::default(),
            dynamics: 0.0,
            scratch: vec![0.0; dims.nv],
            momentum: vec![0.0; dims.nv],
        }
    }

    /// No impulses yet in a step that begins at `start`.
    pub(super) fn begin(&mut self, start: &EvaluationPoint) {
        let set = &start.contacts;
        let (n, rows) = (set.len(), set.rate.len());
        self.sticking.resize(n, false);
        self.state.resize(n, ContactState::Open);
        self.normal.resize(n, 0.0);
        self.row.resize(rows, 0.0);
        self.has_friction =
            !self.friction_state.is_empty() || (0..n).any(|i| self.rows_of(set, i) > 1);
        self.clear();
        self.law_residuals = LawResiduals::default();
        self.dynamics = 0.0;
        if self.has_friction {
            let fastest = max_abs(&start.v);
            self.find_sticking(start, |_, row| 1e-10 * speed(start, row).max(fastest));
        }
    }

    /// Resets every impulse of the step.
    pub(crate) fn clear(&mut self) {
        self.bilateral.fill(0.0);
        self.friction.fill(0.0);
        self.normal.fill(0.0);
        self.row.fill(0.0);
        self.state.fill(ContactState::Open);
        self.friction_state.fill(ContactState::Open);
    }

    /// Finds the contacts that stick at the `start`; `nothing` is the slip along a row of the directions that counts as none \[m/s\].
    pub(crate) fn find_sticking(
        &mut self,
        start: &EvaluationPoint,
        nothing: impl Fn(&SparseRows, usize) -> f64,
    ) {
        let directions = &start.contacts.directions;
        for i in 0..self.sticking.len() {
            let law = start.contacts.law[i];
            if law.mu_static == law.mu && !self.laws_vary {
                // It makes no difference.
                self.sticking[i] = false;
                continue;
            }
            let first = start.contacts.first_row[i];
            let rows = first + 1..first + self.rows_of(&start.contacts, i);
            let sticks = rows.clone().all(|row| {
                let u = start.velocity(Row::Tangent(i, row), &start.v);
                u.abs() <= nothing(directions, row)
            });
            self.sticking[i] = sticks && !rows.is_empty();
        }
    }

    /// Calls `take` with every row of the contacts `active`, of the constraints and of the joints, and its impulse.
    fn each(&self, set: &ContactSet, active: &[usize], mut take: impl FnMut(Row, f64)) {
        for (i, p) in self.bilateral.iter().enumerate() {
            take(Row::Bilateral(i), *p);
        }
        for (i, p) in self.friction.iter().enumerate() {
            take(Row::JointFriction(i), *p);
        }
        for &i in active {
            let first = set.first_row[i];
            for row in first..first + self.rows_of(set, i) {
                take(Row::Tangent(i, row), self.row[row]);
            }
        }
    }

    /// Adds `factor` times the momentum that the impulses give along the rows of `law`; of the contacts, `active` carry any.
    pub(crate) fn push(
        &self,
        law: &EvaluationPoint,
        active: &[usize],
        factor: f64,
        momentum: &mut [f64],
    ) {
        self.each(&law.contacts, active, |row, p| {
            if p != 0.0 {
                let (matrix, i) = law.row(row);
                matrix.axpy(i, factor * p, momentum);
            }
        });
    }

    /// Work of the impulses along the rows of `law` at the velocity `v` \[J\]; of the contacts, `active` carry any.
    pub(crate) fn work(&self, law: &EvaluationPoint, active: &[usize], v: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.each(&law.contacts, active, |row, p| {
            if p != 0.0 {
                let (matrix, i) = law.row(row);
                sum += p * matrix.dot(i, v);
            }
        });
        sum
    }

    /// Rows of contact `i` in a problem: the normal, and the tangents where it has friction.
    pub(crate) fn rows_of(&self, set: &ContactSet, i: usize) -> usize {
        let law = set.law[i];
        if law.mu == 0.0 && law.mu_static == 0.0 && !self.laws_vary {
            1
        } else {
            1 + usize::from(law.tangents)
        }
    }

    /// The law of contact `i` in this step.
    pub(super) fn block(&self, set: &ContactSet, i: usize) -> Block {
        let law = set.law[i];
        match self.rows_of(set, i) {
            1 => Block::Unilateral,
            rows => Block::Coulomb {
                mu: if self.sticking[i] {
                    law.mu_static
                } else {
                    law.mu
                },
                tangents: if rows == 2 { 1 } else { 2 },
            },
        }
    }

    /// Adds `weight` times the impulses of a solved problem, and its residuals to those of the step: the laws of `rows` hold at
    /// `v = v_free + M⁻¹ B z` with `M` and `B` of `forces`.
    pub(crate) fn take(
        &mut self,
        problem: &mut StepProblem,
        (forces, rows): (&EvaluationPoint, &EvaluationPoint),
        (v_free, v): (&[f64], &[f64]),
        weight: f64,
    ) {
        if problem.len() == 0 {
            return;
        }
        self.add(problem, weight);
        self.include_law_residuals(problem, rows, v);
        let residual =
            problem.momentum_residual(forces, (v_free, v), &mut self.scratch, &mut self.momentum);
        self.include_momentum_residual(residual);
    }

    /// Adds the residuals of a solved problem in forces and accelerations, over a time `h` \[s\], at the acceleration `a = a_free + M⁻¹ B z`.
    pub(crate) fn include_force_residuals(
        &mut self,
        problem: &mut StepProblem,
        point: &EvaluationPoint,
        (a_free, a): (&[f64], &[f64]),
        h: f64,
    ) {
        self.law_residuals
            .include(problem.law_residuals(point, a).over(h));
        let residual =
            problem.momentum_residual(point, (a_free, a), &mut self.scratch, &mut self.momentum);
        self.include_momentum_residual(h * residual);
    }

    /// Adds the residuals of the laws of a solved problem at `v`, with directions `rows`.
    pub(crate) fn include_law_residuals(
        &mut self,
        problem: &mut StepProblem,
        rows: &EvaluationPoint,
        v: &[f64],
    ) {
        self.law_residuals.include(problem.law_residuals(rows, v));
    }

    /// Adds residuals computed elsewhere.
    pub(crate) fn include(&mut self, law_residuals: LawResiduals) {
        self.law_residuals.include(law_residuals);
    }

    /// Adds a residual of the balance of momentum [N·s]; the largest is kept.
    pub(crate) fn include_momentum_residual(&mut self, residual: f64) {
        self.dynamics = worse(self.dynamics, residual);
    }

    /// Adds `weight` times the impulses (or forces) of a solved problem.
    pub(crate) fn add(&mut self, problem: &StepProblem, weight: f64) {
        for (row, p) in problem.impulses() {
            let p = weight * p;
            match row {
                Row::Bilateral(i) => self.bilateral[i] += p,
                Row::JointFriction(i) => self.friction[i] += p,
                Row::Normal(i, row) => {
                    self.normal[i] += p;
                    self.row[row] += p;
                }
                Row::Tangent(_, row) => self.row[row] += p,
            }
        }
    }
}

/// Bound on the velocity of a row of the set: the sum of the magnitudes of its terms.
pub(super) fn speed(point: &EvaluationPoint, row: usize) -> f64 {
    point.contacts.directions.magnitude(row, &point.v)
}

/// `e` of a row: normal or tangential restitution, 0 of other rows.
pub(crate) fn restitution(set: &ContactSet, row: Row) -> f64 {
    match row {
        Row::Normal(i, _) => set.law[i].e_n,
        Row::Tangent(i, _) => set.law[i].e_t,
        Row::Bilateral(_) | Row::JointFriction(_) => 0.0,
    }
}
