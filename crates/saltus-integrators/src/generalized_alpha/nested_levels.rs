//! A correction that solves for active sets and multipliers simultaneously.
//!
//! An ordinary correction takes its sets from the signs at the last iterate. That is a primal-dual active-set
//! method, which may cycle for every activation parameter where contacts are strongly coupled: nodes of one face, or two faces that
//! are each other's target. Of two rows that differ by little more than round-off it closes both, although one is open.
//!
//! Here the linearised step is solved as a complementarity problem (Josephy 1979). With the total impulses
//! as unknowns, positions depend on `ν*` and velocities on `ν*` and `Λ*` alone but for damping, so that the nested
//! conditions are one problem per level, each given the levels before it:
//!
//! ```text
//! 0 ≤ gap           ⟂ ν* ≥ 0     all contacts
//! 0 ≤ G v + e G v_n ⟂ Λ* ≥ 0     those that are closed
//! 0 ≤ G v̇ + ζ       ⟂ λ  ≥ 0     those that stay closed
//! ```

use super::engine::Engine;
use super::levels::Level;
use super::monitor::Remedy;
use super::multipliers::MATRIX_LIMIT;
use super::settings::{Formulation, Inactive};
use saltus_complementarity::{Mlcp, MlcpSolver, Tolerance};
use saltus_linear::{Dense, LinearError, dot};

/// The linearised step in total impulses, and its solution level by level.
#[derive(Debug, Default)]
pub(super) struct NestedLevels {
    /// Delassus matrix of all levels, scaled by [`Engine::scales_of`].
    matrix: Dense,
    /// Value of every row at zero multipliers, scaled and divided by the momentum scale.
    q: Vec<f64>,
    /// Multipliers, scaled and divided by the momentum scale.
    y: Vec<f64>,
    /// Index of the first unknown at every level, in the order of [`Level::ALL`].
    first: [usize; 3],
    /// Unknowns of one level's problem, equalities first.
    members: Vec<usize>,
    part: Dense,
    part_q: Vec<f64>,
    part_y: Vec<f64>,
    solver: MlcpSolver,
}

/// Largest number of sweeps over the levels, which damping couples.
const SWEEPS: u32 = 30;

impl NestedLevels {
    /// Scaled value of row `p` at the current multipliers.
    fn row(&self, p: usize) -> f64 {
        dot(self.matrix.row(p), &self.y) + self.q[p]
    }

    /// Solves the problem of the `members` with the other multipliers fixed; returns the largest change of a multiplier and the
    /// number of those that are not unique.
    fn solve(&mut self, equalities: usize, tolerance: Tolerance) -> (f64, u32) {
        let k = self.members.len();
        self.part.reset(k, k);
        self.part_q.clear();
        self.part_y.clear();
        for (a, &p) in self.members.iter().enumerate() {
            let line = self.part.row_mut(a);
            let mut known = 0.0;
            for (entry, &q) in line.iter_mut().zip(&self.members) {
                *entry = self.matrix[(p, q)];
                known += *entry * self.y[q];
            }
            self.part_y.push(self.y[p]);
            self.part_q
                .push(dot(self.matrix.row(p), &self.y) + self.q[p] - known);
        }
        let problem = Mlcp {
            equalities,
            matrix: &self.part,
            q: &self.part_q,
        };
        let outcome = self.solver.solve(&problem, &mut self.part_y, tolerance);
        let mut moved = 0.0_f64;
        for (&p, &y) in self.members.iter().zip(&self.part_y) {
            moved = moved.max((y - self.y[p]).abs());
            self.y[p] = y;
        }
        (moved, outcome.redundant)
    }
}

impl Engine {
    /// Whether the step can be solved level by level: inactive totals are zero, and the matrix is within its limit.
    pub(super) fn admits_nested_levels(&self) -> bool {
        let s = &self.settings;
        let m = self.rows.len();
        self.rows.contacts() > 0
            && s.formulation.has_contacts()
            && s.inactive == Inactive::Star
            && !s.modified
            && 9 * m * m <= MATRIX_LIMIT
    }

    /// Removes all contacts from the active sets.
    pub(super) fn open_all(&mut self) {
        let (ng, sets) = (self.dims.ng, &mut self.sets);
        for set in [&mut sets.position, &mut sets.velocity, &mut sets.smooth] {
            set[ng..].fill(false);
        }
    }

    /// One correction of all unknowns, active sets included.
    pub(super) fn correct_nested(&mut self, h: f64) -> Result<(), LinearError> {
        let form = self.full_form();
        self.response.factor(form, &self.tangent)?;
        self.zero_inactive(h, &Level::ALL);
        self.list_all_levels();
        self.solve_free_increment(form, h);
        let mut problem = std::mem::take(&mut self.nested_levels);
        self.pose(form, h, &mut problem);
        self.solve_levels(h, &mut problem);
        self.store_levels(h, &problem);
        self.nested_levels = problem;
        self.update_multipliers(h);
        self.add_motion(form, h);
        self.apply_increment();
        Ok(())
    }

    /// Every multiplier that the formulation has, levels in the order of [`Level::ALL`].
    fn list_all_levels(&mut self) {
        let (ng, m) = (self.dims.ng, self.rows.len());
        let formulation = self.settings.formulation;
        let counts = [
            match formulation {
                _ if formulation.smooth_row().is_none() => 0,
                Formulation::Position | Formulation::Pva(3) => m,
                _ => ng,
            },
            if formulation.has_corrections() { m } else { 0 },
            if formulation.has_jumps() { m } else { 0 },
        ];
        let c = &mut self.condensed;
        c.unknowns.clear();
        for (k, level) in Level::ALL.into_iter().enumerate() {
            self.nested_levels.first[k] = c.unknowns.len();
            c.unknowns.extend((0..counts[k]).map(|j| (level, j)));
        }
        let k = c.unknowns.len();
        c.z.clear();
        c.z.resize(k, 0.0);
    }

    /// A multiplier as a total, at the trial state.
    fn total_of(&self, (level, j): (Level, usize)) -> f64 {
        let t = &self.trial;
        match level {
            Level::Smooth => t.lambda[j],
            Level::Position => t.nu_star[j],
            Level::Velocity => t.jump_impulse_star[j],
        }
    }

    /// Assembles the problem of the unknowns, in units in which the momentum scale is one.
    fn pose(&mut self, form: super::response::Form, h: f64, problem: &mut NestedLevels) {
        let k = self.condensed.unknowns.len();
        problem.matrix.reset(k, k);
        self.condensed.reserve_column(self.dims.nv);
        let by_compliances = self.uses_compliances(form);
        if by_compliances {
            self.compliance_entries(form, h, &mut problem.matrix);
        }
        let unknowns = std::mem::take(&mut self.condensed.unknowns);
        if !by_compliances {
            self.entries_of(form, h, &unknowns, &mut problem.matrix);
        }
        if self.settings.formulation.filters_multipliers() {
            // At fixed totals `ν*`, `Λ*` a change of `λ` lowers `ν` by `κ` and `Λ` by `ϱ` times it.
            let (kappa, rho) = (self.response.kappa, self.response.rho);
            let [_, position, velocity] = problem.first;
            for line in 0..k {
                let line = problem.matrix.row_mut(line);
                for (p, &(_, j)) in unknowns[..position].iter().enumerate() {
                    line[p] -= kappa * line[position + j] + rho * line[velocity + j];
                }
            }
        }
        let unit = self.momentum_unit();
        problem.q.clear();
        problem.y.clear();
        let mut functional = std::mem::take(&mut self.condensed.functional);
        let smooth = self.settings.formulation.smooth_row();
        for (p, &unknown) in unknowns.iter().enumerate() {
            let (row, _) = self.scales_of(unknown, h);
            functional.gather((&self.rows, &self.response), smooth, unknown, 1.0);
            let here = self.residual_of(unknown) + functional.of(&self.condensed.increment);
            problem.q.push(row / unit * here);
            for (entry, &other) in problem.matrix.row_mut(p).iter_mut().zip(&unknowns) {
                *entry *= row * self.scales_of(other, h).1;
            }
        }
        for &unknown in &unknowns {
            let (_, col) = self.scales_of(unknown, h);
            problem.y.push(self.total_of(unknown) / (col * unit));
        }
        for p in 0..k {
            problem.q[p] -= dot(problem.matrix.row(p), &problem.y);
        }
        self.condensed.unknowns = unknowns;
        self.condensed.functional = functional;
    }

    /// The momentum scale; 1 where it is zero.
    fn momentum_unit(&self) -> f64 {
        if self.momentum_scale.scale > 0.0 {
            self.momentum_scale.scale
        } else {
            1.0
        }
    }

    fn solve_levels(&mut self, h: f64, problem: &mut NestedLevels) {
        let tolerance = Tolerance {
            residual: (1e-2 * self.settings.tolerance).max(4.0 * f64::EPSILON),
            ..Tolerance::default()
        };
        let sweeps = if self.tangent.damped { SWEEPS } else { 1 };
        for _ in 0..sweeps {
            let mut moved = 0.0_f64;
            for level in [Level::Position, Level::Velocity, Level::Smooth] {
                let equalities = self.list_members(level, h, problem);
                let (by, redundant) = problem.solve(equalities, tolerance);
                moved = moved.max(by);
                self.redundant = self.redundant.max(redundant);
            }
            if moved <= tolerance.residual {
                break;
            }
        }
    }

    /// The unknowns of the problem at `level`: all bilateral multipliers, whose number is returned, and those of
    /// the contacts that may be active. The multipliers of the others are zero.
    fn list_members(&self, level: Level, h: f64, problem: &mut NestedLevels) -> usize {
        let ng = self.dims.ng;
        let unknowns = &self.condensed.unknowns;
        problem.members.clear();
        let bilateral = (0..unknowns.len()).filter(|p| unknowns[*p].1 < ng);
        problem.members.extend(bilateral);
        let equalities = problem.members.len();
        for (p, &(at, j)) in unknowns.iter().enumerate() {
            if at != level || j < ng {
                continue;
            }
            if !self.excluded[j] && self.may_be_active((level, j), h, problem) {
                problem.members.push(p);
            } else {
                problem.y[p] = 0.0;
            }
        }
        equalities
    }

    /// Whether contact row `j` is closed at the level before, so that it may be active at this one.
    fn may_be_active(&self, (level, j): (Level, usize), h: f64, problem: &NestedLevels) -> bool {
        let [_, position, velocity] = problem.first;
        let row_value = |p: usize, at: Level| {
            let (row, _) = self.scales_of((at, j), h);
            problem.row(p) * self.momentum_unit() / row
        };
        match (level, self.settings.formulation) {
            (Level::Position, _) | (Level::Smooth, Formulation::Position) => true,
            (Level::Velocity, Formulation::Pvv | Formulation::HalfStep) => {
                self.rows.forecast_gap[j] <= self.epsilon
            }
            (Level::Velocity, _) => {
                let p = position + j;
                problem.y[p] > 0.0 || self.is_closed(j, row_value(p, Level::Position), h)
            }
            (Level::Smooth, _) => {
                let p = velocity + j;
                let closed = problem.y[p] > 0.0
                    || self.satisfies_impact_law(j, row_value(p, Level::Velocity));
                closed
                    && self.monitor.remedy < Remedy::NoLastingContacts
                    && self.may_be_active((Level::Velocity, j), h, problem)
            }
        }
    }

    /// Stores the active sets, and the changes of the multipliers in `condensed.z`.
    fn store_levels(&mut self, h: f64, problem: &NestedLevels) {
        let unit = self.momentum_unit();
        let ng = self.dims.ng;
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let filters = self.settings.formulation.filters_multipliers();
        let [_, position, velocity] = problem.first;
        for p in 0..self.condensed.unknowns.len() {
            let (level, j) = self.condensed.unknowns[p];
            let (_, col) = self.scales_of((level, j), h);
            let change = col * unit * problem.y[p] - self.total_of((level, j));
            let z = &mut self.condensed.z;
            z[p] += change;
            if filters && level == Level::Smooth {
                z[position + j] -= kappa * change;
                z[velocity + j] -= rho * change;
            }
            if j < ng {
                continue;
            }
            let set = match level {
                Level::Smooth => &mut self.sets.smooth,
                Level::Position => &mut self.sets.position,
                Level::Velocity => &mut self.sets.velocity,
            };
            set[j] = problem.y[p] > 0.0;
        }
    }
}
