//! The multipliers of a correction: the rows of active constraints, condensed to a system of the multipliers alone.
//!
//! Every active row at every level is one unknown. Its column is the response to a unit multiplier
//! ([`Response`](super::response::Response)); the small dense system that follows is scaled so that its diagonal is near one,
//! factored, and where its rows are linearly dependent solved by least norm. Where there are too many columns to be stored, each is
//! discarded once its entries are computed, and the response to the solution is computed by one more solve.

use super::block_lu::BlockLu;
use super::columns::ColumnCache;
use super::engine::Engine;
use super::levels::{Functional, Level};
use super::response::{Balances, BlockSystem, INCREMENT_VECTORS};
use super::settings::SmoothLevel;
use saltus_linear::{DENSE_LIMIT, Dense, LinearError, MinimumNorm, SparseRows};
use saltus_system::System;

/// A condensed system and its buffers.
#[derive(Debug, Default)]
pub(super) struct Condensed {
    pub(super) unknowns: Vec<(Level, usize)>,
    pub(super) columns: Dense,
    pub(super) matrix: Dense,
    pub(super) row_scale: Vec<f64>,
    pub(super) col_scale: Vec<f64>,
    pub(super) rhs: Vec<f64>,
    pub(super) z: Vec<f64>,
    /// Newton increment: `x`, `U`, `W`, `T ξ`, `v` (5 nv).
    pub(super) increment: Vec<f64>,
    pub(super) balances: Balances,
    /// Unknowns of the monolithic solve.
    pub(super) all_unknowns: Vec<f64>,
    /// Whether columns are not stored but recomputed; `columns` and `mass_columns` then hold one.
    pub(super) recomputes_columns: bool,
    /// `M⁻¹ Gᵀ`, one row (nv) per row of `G`, and which of them are computed in this correction.
    pub(super) mass_columns: Dense,
    pub(super) mass_columns_computed: Vec<bool>,
    pub(super) functional: Functional,
    /// Functionals of all unknowns.
    functionals: SparseRows,
    lu: BlockLu,
    /// Whether the matrix is zero below the blocks of the levels.
    pub(super) is_triangular: bool,
    minimum: MinimumNorm,
    /// Size that both factorisations are sized for.
    reserved: usize,
    pub(super) cache: ColumnCache,
}

/// Largest number of stored column entries, 256 MB.
const COLUMN_LIMIT: usize = 32_000_000;
/// Largest number of entries of a condensed matrix, 200 MB.
pub(super) const MATRIX_LIMIT: usize = 25_000_000;
/// An equilibrated system with a smaller ratio of pivots is solved by least norm.
pub(super) const MIN_PIVOT_RATIO: f64 = 1e-11;

impl Condensed {
    pub(super) fn resize(&mut self, m: usize, n: usize) {
        self.unknowns.clear();
        self.unknowns.reserve(3 * m);
        self.balances.resize(n);
        self.increment.clear();
        self.increment.resize(INCREMENT_VECTORS * n, 0.0);
        self.cache.h = None;
        let k = 3 * m;
        self.recomputes_columns = k * INCREMENT_VECTORS * n > COLUMN_LIMIT;
        self.mass_columns_computed.clear();
        self.mass_columns_computed.resize(m, false);
        if n <= DENSE_LIMIT {
            self.invalidate_mass_columns(m, n);
            self.columns.reset(k, INCREMENT_VECTORS * n);
            self.functional.0.clear();
            self.functional.0.reserve(INCREMENT_VECTORS * n);
        }
        if k <= DENSE_LIMIT && k > self.reserved {
            self.reserved = k;
            self.matrix.reset(k, k);
            // Sizes both factorisations, so that neither allocates later.
            for i in 0..k {
                self.matrix[(i, i)] = 1.0;
            }
            self.lu.reserve(m);
            self.minimum.factorise(&self.matrix);
        }
        for list in [
            &mut self.row_scale,
            &mut self.col_scale,
            &mut self.rhs,
            &mut self.z,
        ] {
            list.clear();
            list.resize(k, 0.0);
        }
    }

    /// Marks `M⁻¹ Gᵀ` of `m` rows as not computed.
    pub(super) fn invalidate_mass_columns(&mut self, m: usize, n: usize) {
        let kept = if self.recomputes_columns { m.min(1) } else { m };
        if (self.mass_columns.rows(), self.mass_columns.cols()) != (kept, n) {
            self.mass_columns.reset(kept, n);
        }
        if self.recomputes_columns {
            self.columns.reset(1, INCREMENT_VECTORS * n);
        }
        self.mass_columns_computed.fill(false);
    }

    /// Sizes the system of the unknowns, with zero entries.
    pub(super) fn clear_system(&mut self) {
        let k = self.unknowns.len();
        self.matrix.reset(k, k);
        for list in [&mut self.rhs, &mut self.row_scale, &mut self.col_scale] {
            list.clear();
            list.resize(k, 0.0);
        }
    }

    /// Solves the scaled system `matrix · z = rhs` and unscales `z`; returns the rank deficiency.
    pub(super) fn solve(&mut self) -> u32 {
        let k = self.unknowns.len();
        let levels = self.unknowns.iter().map(|unknown| unknown.0);
        let is_regular = self.lu.factorise(&self.matrix, self.is_triangular, levels);
        let rank = if is_regular {
            self.z[..k].copy_from_slice(&self.rhs[..k]);
            self.lu.solve(&self.matrix, &mut self.z[..k]);
            k
        } else {
            let rank = self.minimum.factorise(&self.matrix);
            self.minimum.solve(&mut self.rhs[..k], &mut self.z[..k]);
            rank
        };
        for (z, s) in self.z.iter_mut().zip(&self.col_scale) {
            *z *= s;
        }
        u32::try_from(k - rank).unwrap_or(u32::MAX)
    }
}

impl Engine {
    /// One simultaneous correction of the multipliers in `levels` through the balances of `blocks`: of the active rows, or of the candidates with their active
    /// sets.
    pub(super) fn correct_levels(
        &mut self,
        system: &dyn System,
        blocks: BlockSystem,
        levels: &[Level],
        (h, end): (f64, f64),
    ) -> Result<(), LinearError> {
        let nested = self.solves_nested_levels();
        // Not cached: a piece of a step may have replaced the factors.
        self.response.factor(blocks, &self.tangent)?;
        loop {
            self.list_rows(levels);
            self.solve_free_increment(blocks, h);
            if !self.condensed.unknowns.is_empty() {
                self.solve_multipliers(blocks, levels, h);
            }
            if !(nested && self.add_closing_candidates(system, h, end)) {
                break;
            }
        }
        self.update_multipliers(blocks, h);
        self.apply_increment();
        Ok(())
    }

    /// Solves for the multipliers of the listed rows, and adds the response to them to `increment`.
    fn solve_multipliers(&mut self, blocks: BlockSystem, levels: &[Level], h: f64) {
        let contact = |(_, j): &(Level, usize)| *j >= self.dims.ng;
        let nested = self.solves_nested_levels() && self.condensed.unknowns.iter().any(contact);
        let by_compliances = self.uses_compliances(blocks);
        let by_levels = by_compliances && !nested && {
            self.compute_active_compliances(blocks);
            self.solve_by_levels(blocks)
        };
        if !by_levels {
            self.fill_system(blocks, h);
            let redundant = if nested {
                self.solve_nested_levels(h)
            } else {
                self.condensed.solve().div_ceil(levels_in(levels))
            };
            self.redundant = self.redundant.max(redundant);
        }
        if by_compliances {
            self.add_by_compliances(blocks, h);
        } else {
            self.add_columns(blocks, h);
        }
    }

    /// Matrix, right-hand side and scales of the system of the listed rows.
    pub(super) fn fill_system(&mut self, blocks: BlockSystem, h: f64) {
        self.condensed.is_triangular = blocks.uses_totals() && self.separates_levels(blocks);
        if self.uses_compliances(blocks) {
            self.compute_active_compliances(blocks);
            self.fill_by_compliances(blocks, h, &Self::row_rhs);
        } else {
            self.fill(blocks, h);
        }
    }

    /// Adds the Newton increment to the trial.
    pub(super) fn apply_increment(&mut self) {
        let n = self.dims.nv;
        let c = std::mem::take(&mut self.condensed.increment);
        self.apply(&c[..n], &c[n..2 * n], &c[2 * n..3 * n]);
        self.condensed.increment = c;
    }

    /// Response to the residuals of the balances with fixed multipliers; stored in `increment`.
    pub(super) fn solve_free_increment(&mut self, blocks: BlockSystem, h: f64) {
        let position_per_jump = self.position_per_jump(h);
        let (c, r) = (&mut self.condensed, &self.trial.residual);
        for (b, r) in [
            (&mut c.balances.smooth, &r.smooth),
            (&mut c.balances.correction, &r.correction),
            (&mut c.balances.jump, &r.jump),
        ] {
            for (b, r) in b.iter_mut().zip(r) {
                *b = -r;
            }
        }
        if position_per_jump != 0.0 {
            for (b, r) in c.balances.correction.iter_mut().zip(&r.jump) {
                *b = -position_per_jump * r;
            }
        }
        let mut increment = std::mem::take(&mut self.condensed.increment);
        self.response.solve(
            blocks,
            &self.tangent,
            &self.condensed.balances,
            &mut increment,
        );
        self.condensed.increment = increment;
    }

    /// The balances of a simultaneous correction of all unknowns.
    pub(super) fn full_system(&self) -> BlockSystem {
        if !self.settings.formulation.has_jumps() {
            BlockSystem::Smooth
        } else if self.is_linear()
            || !(self.tangent.has_jump_tangent || self.tangent.has_correction_tangent)
        {
            BlockSystem::Triangular
        } else {
            BlockSystem::Coupled
        }
    }

    /// `∂U/∂W`: `h/2` in the half-step schemes, 0 elsewhere \[s\].
    pub(super) fn position_per_jump(&self, h: f64) -> f64 {
        if self.settings.formulation == super::settings::Formulation::HalfStep {
            0.5 * h
        } else {
            0.0
        }
    }

    /// Whether positions do not depend on `Λ`.
    fn separates_levels(&self, blocks: BlockSystem) -> bool {
        let (response, tangent) = (&self.response, &self.tangent);
        !self.settings.modified && response.decouples(blocks, Level::Velocity, tangent)
    }

    /// The active rows of the given levels, or the candidates in their place, in an order in which most of the matrix below its diagonal
    /// is zero.
    pub(super) fn list_rows(&mut self, levels: &[Level]) {
        let (ng, m) = (self.dims.ng, self.rows.len());
        let candidates = self.solves_nested_levels();
        let mut unknowns = std::mem::take(&mut self.condensed.unknowns);
        unknowns.clear();
        let none = ng == 0 && !self.lists_contacts();
        for level in [Level::Smooth, Level::Velocity, Level::Position] {
            if none || !levels.contains(&level) {
                continue;
            }
            let active = self.sets.of(level);
            let listed = if candidates {
                &self.nested_levels.candidates[..m]
            } else {
                active
            };
            let contacts = if self.has_contacts_at(level) { m } else { ng };
            for j in 0..contacts {
                let set = if j < ng { active } else { listed };
                if set[j] {
                    unknowns.push((level, j));
                }
            }
        }
        let c = &mut self.condensed;
        c.unknowns = unknowns;
        c.z.clear();
        c.z.resize(c.unknowns.len(), 0.0);
    }

    /// Matrix, right-hand side and scales of the condensed system.
    fn fill(&mut self, blocks: BlockSystem, h: f64) {
        let cached = self.has_columns(blocks, h);
        let k = self.condensed.unknowns.len();
        let recomputes_columns = self.condensed.recomputes_columns;
        if !cached && !recomputes_columns {
            self.fill_columns(blocks, h);
        }
        self.condensed.clear_system();
        for p in 0..k {
            let unknown = self.condensed.unknowns[p];
            let value = self.residual_of(unknown);
            let (row, col) = self.scales_of(unknown, h);
            let c = &mut self.condensed;
            c.rhs[p] = -row * value;
            c.row_scale[p] = row;
            c.col_scale[p] = col;
        }
        let (m, smooth) = (self.rows.len(), self.settings.formulation.smooth_level());
        let totals = blocks.uses_totals();
        let decoupled = self.separates_levels(blocks);
        let vanishes = |row: Level, column: Level| match column {
            Level::Smooth => totals && row != Level::Smooth,
            Level::Velocity => decoupled && row == Level::Position,
            Level::Position => false,
        };
        let c = &mut self.condensed;
        for p in 0..k {
            let (unknown, scale) = (c.unknowns[p], c.row_scale[p]);
            c.functional
                .linearise((&self.rows, &self.response), smooth, unknown, scale);
            c.rhs[p] -= c.functional.of(&c.increment);
            let row = c.matrix.row_mut(p);
            if recomputes_columns && !cached {
                continue;
            }
            if cached {
                let cached_row = c.cache.matrix.row(index_of(unknown, m));
                for (q, entry) in row.iter_mut().enumerate() {
                    *entry = scale * c.col_scale[q] * cached_row[index_of(c.unknowns[q], m)];
                }
            } else {
                for (q, entry) in row.iter_mut().enumerate() {
                    if !vanishes(unknown.0, c.unknowns[q].0) {
                        *entry = c.col_scale[q] * c.functional.of(c.columns.row(q));
                    }
                }
            }
        }
        if recomputes_columns && !cached {
            let mut matrix = std::mem::take(&mut self.condensed.matrix);
            let unknowns = std::mem::take(&mut self.condensed.unknowns);
            self.entries_of(blocks, h, &unknowns, &mut matrix);
            let c = &mut self.condensed;
            for p in 0..k {
                for (entry, scale) in matrix.row_mut(p).iter_mut().zip(&c.col_scale) {
                    *entry *= c.row_scale[p] * scale;
                }
            }
            (c.matrix, c.unknowns) = (matrix, unknowns);
        }
    }

    /// Condensed matrix of `unknowns`, unscaled, computed column by column.
    pub(super) fn entries_of(
        &mut self,
        blocks: BlockSystem,
        h: f64,
        unknowns: &[(Level, usize)],
        matrix: &mut Dense,
    ) {
        let smooth = self.settings.formulation.smooth_level();
        let mut functionals = std::mem::take(&mut self.condensed.functionals);
        functionals.clear();
        for &unknown in unknowns {
            let functional = &mut self.condensed.functional;
            functional.linearise((&self.rows, &self.response), smooth, unknown, 1.0);
            functionals.push_terms(functional.0.iter().copied());
        }
        self.condensed
            .invalidate_mass_columns(self.rows.len(), self.dims.nv);
        let mut column = std::mem::take(&mut self.condensed.columns);
        for (q, &unknown) in unknowns.iter().enumerate() {
            self.column(blocks, h, unknown, column.row_mut(0));
            let response = column.row(0);
            for p in 0..unknowns.len() {
                matrix[(p, q)] = functionals.dot(p, response);
            }
        }
        self.condensed.columns = column;
        self.condensed.functionals = functionals;
    }

    /// The quantity that the multiplier of row `j` makes zero, at the trial state.
    pub(super) fn residual_of(&self, (level, j): (Level, usize)) -> f64 {
        let rows = &self.rows;
        match (level, self.settings.formulation.smooth_level()) {
            (Level::Position, _) | (Level::Smooth, Some(SmoothLevel::Position) | None) => {
                rows.gap[j]
            }
            (Level::Velocity, _) => rows.velocity[j] + self.restitution(j) * self.start.velocity[j],
            (Level::Smooth, Some(SmoothLevel::Velocity)) => rows.smooth_velocity[j],
            (Level::Smooth, Some(SmoothLevel::Acceleration)) => rows.acceleration[j],
        }
    }

    /// Scales of row and multiplier that make all entries of the system of order one.
    pub(super) fn scales_of(&self, (level, j): (Level, usize), h: f64) -> (f64, f64) {
        let row_norm = self.rows.row_norm[j];
        let inverse = if row_norm > 0.0 { 1.0 / row_norm } else { 1.0 };
        let (row, col) = self.level_scales(level, h);
        (row * inverse, col * inverse)
    }

    /// Scales of a row to a velocity, and of an impulse to its multiplier.
    pub(super) fn level_scales(&self, level: Level, h: f64) -> (f64, f64) {
        match (level, self.settings.formulation.smooth_level()) {
            (Level::Position, _) => (1.0 / h, h),
            (Level::Velocity, _) => (1.0, 1.0),
            (Level::Smooth, Some(SmoothLevel::Acceleration)) => (h, 1.0 / h),
            (Level::Smooth, Some(SmoothLevel::Velocity)) => (1.0, 1.0 / h),
            (Level::Smooth, _) => (1.0 / h, 1.0 / h),
        }
    }

    /// Adds the solution to the multipliers.
    pub(super) fn update_multipliers(&mut self, blocks: BlockSystem, h: f64) {
        let totals = blocks.uses_totals();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        for p in 0..self.condensed.unknowns.len() {
            let (level, j) = self.condensed.unknowns[p];
            let z = self.condensed.z[p];
            let nu_factor = self.modified_nu_factor(j, h);
            let t = &mut self.trial;
            *t.multiplier((level, j)) += z;
            match level {
                Level::Velocity => t.nu[j] += nu_factor * z,
                Level::Smooth if totals => {
                    t.nu[j] -= kappa * z;
                    t.jump_impulse[j] -= rho * z;
                }
                _ => {}
            }
        }
    }
}

pub(super) fn levels_in(levels: &[Level]) -> u32 {
    u32::try_from(levels.len()).unwrap_or(1).max(1)
}

/// Index of an unknown among those of all `m` rows.
pub(super) fn index_of((level, j): (Level, usize), m: usize) -> usize {
    let slot = match level {
        Level::Smooth => 0,
        Level::Position => 1,
        Level::Velocity => 2,
    };
    slot * m + j
}
