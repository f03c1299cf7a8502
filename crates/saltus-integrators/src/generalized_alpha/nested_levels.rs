//! The contact problem of a correction: active sets and multipliers at the three levels together.
//!
//! The linearised step is a complementarity problem (Josephy 1979). With the total impulses as unknowns, positions depend on `ν*` and
//! velocities on `ν*` and `Λ*` alone but for damping, so that the nested conditions are one problem per level, each given the
//! levels before it:
//!
//! ```text
//! 0 ≤ gap           ⟂ ν* ≥ 0     all contacts
//! 0 ≤ G v + e G v_n ⟂ Λ* ≥ 0     those that are closed
//! 0 ≤ G v̇ + ζ       ⟂ λ  ≥ 0     those that stay closed
//! ```
//!
//! Bilateral multipliers are eliminated first, level by level but for damping. Of the contacts only candidates have unknowns: those that
//! were active before, are closed at the iterate, or close in the linearised step.

use super::block_lu::BlockLu;
use super::engine::Engine;
use super::levels::Level;
use super::monitor::Remedy;
use super::multipliers::{MATRIX_LIMIT, index_of};
use super::settings::{Formulation, Inactive, LinearSolve};
use crate::one_step::OneStep;
use saltus_linear::{DENSE_LIMIT, Dense, axpy, dot};
use saltus_system::System;

/// The linearised step in total impulses, and its solution level by level.
#[derive(Debug, Default)]
pub(super) struct NestedLevels {
    /// Contacts that have unknowns (m; bilateral entries unused).
    pub(super) candidates: Vec<bool>,
    /// Delassus matrix of all unknowns, scaled by [`Engine::scales_of`].
    matrix: Dense,
    /// Value of every row at zero multipliers, scaled and divided by the momentum scale.
    q: Vec<f64>,
    /// Multipliers, scaled and divided by the momentum scale.
    y: Vec<f64>,
    /// Index of the unknown of every level and row (3 m), by [`index_of`].
    index: Vec<usize>,
    /// Unknowns of bilateral rows and of contacts.
    bilateral: Vec<usize>,
    contacts: Vec<usize>,
    /// Whether the bilateral unknowns are eliminated: their matrix, its columns and `q` after that.
    is_eliminated: bool,
    block: Dense,
    lu: BlockLu,
    columns: Dense,
    constant: Vec<f64>,
    /// Unknowns of one level's problem, equalities first, and their multipliers.
    members: Vec<usize>,
    member_y: Vec<f64>,
    one_step: OneStep,
    /// Entries of a contact row in the columns of the bilateral unknowns.
    bilateral_entries: Vec<f64>,
    /// Number of contacts for which the buffers are sized.
    reserved: usize,
}

/// Largest number of sweeps over the levels, which damping couples.
const SWEEPS: u32 = 30;

impl NestedLevels {
    /// Sizes everything for `ng` constraints and `contacts`, so that small problems allocate nothing later.
    pub(super) fn reserve(&mut self, ng: usize, contacts: usize) {
        self.candidates.clear();
        self.candidates.resize(ng + contacts, false);
        let k = 3 * (ng + contacts);
        if contacts <= self.reserved || k > DENSE_LIMIT {
            return;
        }
        self.reserved = contacts;
        self.matrix.reset(k, k);
        self.columns.reset(3 * contacts, 3 * ng);
        self.block.reset(3 * ng, 3 * ng);
        self.lu.reserve(ng);
        let lists = [&mut self.q, &mut self.y, &mut self.constant];
        for list in lists
            .into_iter()
            .chain([&mut self.bilateral_entries, &mut self.member_y])
        {
            list.reserve(k);
        }
        let lists = [&mut self.index, &mut self.bilateral, &mut self.contacts];
        for list in lists.into_iter().chain([&mut self.members]) {
            list.reserve(k);
        }
        self.one_step.take(k, |i, j| f64::from(u8::from(i == j)));
        self.one_step.q_mut().fill(-1.0);
        let _ = self.one_step.solve(0, &mut vec![0.0; k]);
    }

    /// Scaled value of row `p` at the current multipliers.
    fn row_value(&self, p: usize) -> f64 {
        dot(self.matrix.row(p), &self.y) + self.q[p]
    }

    /// Eliminates the bilateral multipliers; does nothing where their rows are linearly dependent.
    fn eliminate(&mut self, is_triangular: bool, unknowns: &[(Level, usize)]) {
        let e = self.bilateral.len();
        self.block.reset(e, e);
        for (a, &p) in self.bilateral.iter().enumerate() {
            for (entry, &q) in self.block.row_mut(a).iter_mut().zip(&self.bilateral) {
                *entry = self.matrix[(p, q)];
            }
        }
        let levels = self.bilateral.iter().map(|&p| unknowns[p].0);
        self.is_eliminated = self.lu.factorise(&self.block, is_triangular, levels);
        if e == 0 || !self.is_eliminated {
            return;
        }
        self.constant.clear();
        self.constant
            .extend(self.bilateral.iter().map(|&p| self.q[p]));
        self.lu.solve(&self.block, &mut self.constant);
        self.columns.reset(self.contacts.len(), e);
        for (b, &q) in self.contacts.iter().enumerate() {
            let column = self.columns.row_mut(b);
            for (entry, &p) in column.iter_mut().zip(&self.bilateral) {
                *entry = self.matrix[(p, q)];
            }
            self.lu.solve(&self.block, column);
        }
        for &p in &self.contacts {
            let row = self.matrix.row_mut(p);
            self.bilateral_entries.clear();
            self.bilateral_entries
                .extend(self.bilateral.iter().map(|&q| row[q]));
            for (b, &q) in self.contacts.iter().enumerate() {
                row[q] -= dot(&self.bilateral_entries, self.columns.row(b));
            }
            for &q in &self.bilateral {
                row[q] = 0.0;
            }
            self.q[p] -= dot(&self.bilateral_entries, &self.constant);
        }
    }

    /// Back-substitutes the eliminated multipliers.
    fn substitute(&mut self) {
        if !self.is_eliminated {
            return;
        }
        for (b, &q) in self.contacts.iter().enumerate() {
            axpy(self.y[q], self.columns.row(b), &mut self.constant);
        }
        for (&p, x) in self.bilateral.iter().zip(&self.constant) {
            self.y[p] = -x;
        }
    }

    /// Solves the problem of the `members` with the other multipliers fixed; returns the largest change of a multiplier and the
    /// number of those that are not unique.
    fn solve(&mut self, equalities: usize, tolerance: f64) -> (f64, u32) {
        let (members, matrix, y) = (&self.members, &self.matrix, &self.y);
        self.one_step
            .take(members.len(), |a, b| matrix[(members[a], members[b])]);
        for (q, &p) in self.one_step.q_mut().iter_mut().zip(members) {
            let row = matrix.row(p);
            let own: f64 = members.iter().map(|&r| row[r] * y[r]).sum();
            *q = dot(row, y) + self.q[p] - own;
        }
        self.member_y.clear();
        self.member_y.extend(members.iter().map(|&p| y[p]));
        let outcome = self
            .one_step
            .solve_to(equalities, &mut self.member_y, tolerance);
        let mut change = 0.0_f64;
        for (&p, &y) in self.members.iter().zip(&self.member_y) {
            change = change.max((y - self.y[p]).abs());
            self.y[p] = y;
        }
        (change, outcome.redundant)
    }
}

impl Engine {
    /// Whether the conditions of a step are a complementarity problem: inactive totals are zero; and its matrix is within its limit.
    pub(super) fn admits_nested_levels(&self) -> bool {
        let s = &self.settings;
        let m = self.rows.len();
        self.rows.contacts() > 0
            && s.formulation.has_contacts()
            && s.inactive == Inactive::Star
            && !s.modified
            && 9 * m * m <= MATRIX_LIMIT
    }

    /// Whether corrections begin with nested problems. Where many contacts have levels that are factored once, sets are guessed first:
    /// while the sets do not change, a correction takes a tenth of the time.
    pub(super) fn begins_with_nested_levels(&self) -> bool {
        let guesses = matches!(
            self.settings.linear_solve,
            LinearSolve::Sequential | LinearSolve::Monolithic
        );
        let many = 3 * self.rows.contacts() > DENSE_LIMIT;
        self.admits_nested_levels()
            && !guesses
            && !(many && self.is_linear() && self.uses_compliances(self.full_system()))
    }

    /// Whether the present correction solves nested problems.
    pub(super) fn solves_nested_levels(&self) -> bool {
        self.monitor.remedy == Remedy::NestedLevels
    }

    /// Whether the present correction may give multipliers to contacts: to the candidates, or to any where sets are guessed.
    pub(super) fn lists_contacts(&self) -> bool {
        let candidates = &self.nested_levels.candidates;
        !self.solves_nested_levels() || candidates.contains(&true)
    }

    /// Removes all contacts from the active sets.
    pub(super) fn open_all(&mut self) {
        let (ng, sets) = (self.dims.ng, &mut self.sets);
        for set in [&mut sets.position, &mut sets.velocity, &mut sets.smooth] {
            set[ng..].fill(false);
        }
    }

    /// The contacts that are active, or closed at the iterate.
    pub(super) fn choose_candidates(&mut self) {
        let forecasts = matches!(
            self.settings.formulation,
            Formulation::Pvv | Formulation::HalfStep
        );
        let (rows, sets) = (&self.rows, &self.sets);
        for j in self.dims.ng..rows.len() {
            let active = sets.position[j] || sets.velocity[j] || sets.smooth[j];
            let closed = rows.gap[j] <= self.epsilon;
            let forecast = forecasts && rows.forecast_gap[j] <= self.epsilon;
            self.nested_levels.candidates[j] = !self.excluded[j] && (active || closed || forecast);
        }
    }

    /// Adds the contacts to the candidates that close in the linearised step, whose increment is complete; whether there are any.
    pub(super) fn add_closing_candidates(&mut self, system: &dyn System, h: f64, end: f64) -> bool {
        let (ng, n) = (self.dims.ng, self.dims.nv);
        if self.settings.formulation == Formulation::HalfStep
            || self.nested_levels.candidates[ng..].iter().all(|c| *c)
        {
            return false;
        }
        let (t, c) = (&mut self.trial, &self.condensed);
        for (i, x) in t.row_scratch.iter_mut().enumerate() {
            *x = self.response.kappa * c.increment[i] + c.increment[n + i];
        }
        if !self.is_flat {
            t.work.fill(0.0);
            let tangent = &self.tangent.retraction_tangent;
            tangent.apply_add(1.0, &t.row_scratch, &mut t.work);
            std::mem::swap(&mut t.work, &mut t.row_scratch);
        }
        let listed = self.lists_contacts();
        let any = self.add_candidates(h, |engine, j| {
            let change = engine.rows.gradient().dot(j, &engine.trial.row_scratch);
            engine.rows.gap[j] + change
        });
        if any && !listed && !self.is_linear() {
            self.assemble_rows(system, end);
        }
        any
    }

    /// Adds the contacts to the candidates that are closed at the present gaps; whether there are any.
    pub(super) fn add_closed_candidates(&mut self, h: f64) -> bool {
        self.settings.formulation != Formulation::HalfStep
            && self.add_candidates(h, |engine, j| engine.rows.gap[j])
    }

    fn add_candidates(&mut self, h: f64, gap: impl Fn(&Self, usize) -> f64) -> bool {
        let mut any = false;
        for j in self.dims.ng..self.rows.len() {
            if self.excluded[j] || self.nested_levels.candidates[j] {
                continue;
            }
            if self.is_closed(j, gap(self, j), h) {
                self.nested_levels.candidates[j] = true;
                any = true;
            }
        }
        any
    }

    /// Whether contacts have multipliers at `level`.
    pub(super) fn has_contacts_at(&self, level: Level) -> bool {
        let formulation = self.settings.formulation;
        match level {
            Level::Smooth => matches!(formulation, Formulation::Position | Formulation::Pva(3)),
            Level::Position => formulation.has_corrections(),
            Level::Velocity => formulation.has_jumps(),
        }
    }

    /// Solves the condensed system of the candidates as nested problems: changes of the multipliers in `condensed.z`, and the active
    /// sets. Returns the number of multipliers that are not unique.
    pub(super) fn solve_nested_levels(&mut self, h: f64) -> u32 {
        self.pose();
        let c = &self.condensed;
        self.nested_levels.eliminate(c.is_triangular, &c.unknowns);
        let redundant = self.solve_levels(h);
        self.nested_levels.substitute();
        self.store_levels();
        redundant
    }

    /// Poses the problem of all contacts that are not excluded, to be archived; `None` where a matrix is singular.
    pub(super) fn pose_all_contacts(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Option<()> {
        self.monitor.remedy = Remedy::NestedLevels;
        let candidates = &mut self.nested_levels.candidates;
        for (candidate, excluded) in candidates.iter_mut().zip(&self.excluded) {
            *candidate = !excluded;
        }
        self.assemble(system, h, end);
        self.zero_inactive(h, &Level::ALL);
        let blocks = self.full_system();
        self.response.factor(blocks, &self.tangent).ok()?;
        self.list_rows(&Level::ALL);
        self.solve_free_increment(blocks, h);
        self.fill_system(blocks, h);
        self.pose();
        Some(())
    }

    /// Entry of the problem posed, with both rows scaled to a velocity and an impulse over their norms.
    pub(super) fn posed_entry(&self, row: (Level, usize), other: (Level, usize)) -> f64 {
        let (problem, m) = (&self.nested_levels, self.rows.len());
        let [p, q] = [row, other].map(|unknown| problem.index[index_of(unknown, m)]);
        problem.matrix[(p, q)]
    }

    /// Value of a row of the problem posed at zero impulses, scaled likewise [m/s].
    pub(super) fn posed_constant(&self, row: (Level, usize)) -> f64 {
        let problem = &self.nested_levels;
        self.momentum_unit() * problem.q[problem.index[index_of(row, self.rows.len())]]
    }

    /// Takes the matrix of the condensed system, and its right-hand side with totals as unknowns, in units of the momentum scale.
    fn pose(&mut self) {
        let (m, unit) = (self.rows.len(), self.momentum_unit());
        let (c, problem) = (&mut self.condensed, &mut self.nested_levels);
        std::mem::swap(&mut problem.matrix, &mut c.matrix);
        let k = c.unknowns.len();
        problem.index.clear();
        problem.index.resize(3 * m, usize::MAX);
        for list in [&mut problem.bilateral, &mut problem.contacts] {
            list.clear();
        }
        for (p, &unknown) in c.unknowns.iter().enumerate() {
            problem.index[index_of(unknown, m)] = p;
            if unknown.1 < self.dims.ng {
                problem.bilateral.push(p);
            } else {
                problem.contacts.push(p);
            }
        }
        problem.q.clear();
        problem.y.clear();
        for (&unknown, scale) in c.unknowns.iter().zip(&c.col_scale) {
            problem.y.push(self.trial.total(unknown) / (scale * unit));
        }
        for (p, rhs) in c.rhs[..k].iter().enumerate() {
            let here = dot(problem.matrix.row(p), &problem.y);
            problem.q.push(-rhs / unit - here);
        }
    }

    /// The momentum scale; 1 where it is zero.
    fn momentum_unit(&self) -> f64 {
        if self.momentum_scale.scale > 0.0 {
            self.momentum_scale.scale
        } else {
            1.0
        }
    }

    fn solve_levels(&mut self, h: f64) -> u32 {
        let tolerance = (1e-2 * self.settings.tolerance).max(4.0 * f64::EPSILON);
        let sweeps = if self.tangent.damped { SWEEPS } else { 1 };
        let mut redundant = 0;
        for _ in 0..sweeps {
            let mut change = 0.0_f64;
            for level in [Level::Position, Level::Velocity, Level::Smooth] {
                let equalities = self.list_members(level, h);
                if self.nested_levels.members.is_empty() {
                    continue;
                }
                let (largest, dependent) = self.nested_levels.solve(equalities, tolerance);
                change = change.max(largest);
                redundant = redundant.max(dependent);
            }
            if change <= tolerance {
                break;
            }
        }
        redundant
    }

    /// The unknowns of the problem at `level`: all bilateral multipliers that are not eliminated, whose number is returned, and those of
    /// the contacts that may be active. The multipliers of the others are zero.
    fn list_members(&mut self, level: Level, h: f64) -> usize {
        let problem = &mut self.nested_levels;
        problem.members.clear();
        if !problem.is_eliminated {
            problem.members.extend_from_slice(&problem.bilateral);
        }
        let equalities = problem.members.len();
        for k in 0..self.nested_levels.contacts.len() {
            let p = self.nested_levels.contacts[k];
            let (at, j) = self.condensed.unknowns[p];
            if at != level {
                continue;
            }
            if self.may_be_active((level, j), h) {
                self.nested_levels.members.push(p);
            } else {
                self.nested_levels.y[p] = 0.0;
            }
        }
        equalities
    }

    /// Whether contact row `j` is closed at the level before, so that it may be active at this one.
    fn may_be_active(&self, (level, j): (Level, usize), h: f64) -> bool {
        let problem = &self.nested_levels;
        let unknown = |level: Level| problem.index[index_of((level, j), self.rows.len())];
        let is_active = |p: usize| problem.y[p] > 0.0;
        let value =
            |p: usize| problem.row_value(p) * self.momentum_unit() / self.condensed.row_scale[p];
        match (level, self.settings.formulation) {
            (Level::Position, _) | (Level::Smooth, Formulation::Position) => true,
            (Level::Velocity, Formulation::Pvv | Formulation::HalfStep) => {
                self.rows.forecast_gap[j] <= self.epsilon
            }
            (Level::Velocity, _) => {
                let p = unknown(Level::Position);
                is_active(p) || self.is_closed(j, value(p), h)
            }
            (Level::Smooth, _) => {
                let p = unknown(Level::Velocity);
                (is_active(p) || self.satisfies_impact_law(j, value(p)))
                    && self.may_be_active((Level::Velocity, j), h)
            }
        }
    }

    /// Stores the active sets, and the changes of the multipliers in `condensed.z`.
    fn store_levels(&mut self) {
        self.open_all();
        let unit = self.momentum_unit();
        let problem = &self.nested_levels;
        for p in 0..self.condensed.unknowns.len() {
            let unknown = self.condensed.unknowns[p];
            let total = self.condensed.col_scale[p] * unit * problem.y[p];
            self.condensed.z[p] = total - self.trial.total(unknown);
            if unknown.1 >= self.dims.ng {
                self.sets.of_mut(unknown.0)[unknown.1] = problem.y[p] > 0.0;
            }
        }
    }
}
