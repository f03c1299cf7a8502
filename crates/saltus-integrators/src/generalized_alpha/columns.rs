//! Columns of a condensed system: the response to a unit multiplier, cached where matrices and gradients do not change.

use super::engine::Engine;
use super::levels::Level;
use super::multipliers::{MATRIX_LIMIT, index_of};
use super::response::{BlockSystem, INCREMENT_VECTORS, T_XI};
use saltus_linear::{Dense, SparseRows, axpy};

/// Columns and condensed matrix of a linear system, valid while step size and gradients do not change.
#[derive(Debug, Default)]
pub(super) struct ColumnCache {
    /// Step that they belong to \[s\]; `None` without any.
    pub(super) h: Option<f64>,
    gradient: SparseRows,
    damping: SparseRows,
    columns: Dense,
    pub(super) matrix: Dense,
}

impl Engine {
    /// Whether the columns of a linear system are cached for steps of length `h`.
    pub(super) fn is_cached(&self, h: f64) -> bool {
        self.condensed.cache.h == Some(h) && !self.is_piece()
    }

    /// Whether the columns of `blocks` are cached for steps of length `h`.
    pub(super) fn has_columns(&self, blocks: BlockSystem, h: f64) -> bool {
        blocks == self.full_system() && self.is_cached(h)
    }

    pub(super) fn fill_columns(&mut self, blocks: BlockSystem, h: f64) {
        let k = self.condensed.unknowns.len();
        let mut columns = std::mem::take(&mut self.condensed.columns);
        columns.reset(k, INCREMENT_VECTORS * self.dims.nv);
        self.condensed
            .invalidate_mass_columns(self.rows.len(), self.dims.nv);
        for p in 0..k {
            let unknown = self.condensed.unknowns[p];
            self.column(blocks, h, unknown, columns.row_mut(p));
        }
        self.condensed.columns = columns;
    }

    /// The increment due to a unit multiplier.
    pub(super) fn column(
        &mut self,
        blocks: BlockSystem,
        h: f64,
        (level, j): (Level, usize),
        out: &mut [f64],
    ) {
        let position_per_jump = self.position_per_jump(h) + self.modified_nu_factor(j, h);
        let gradient = self.rows.gradient();
        if position_per_jump == 0.0 && self.response.decouples(blocks, level, &self.tangent) {
            // The three levels share `M⁻¹ Gᵀ`.
            let n = self.dims.nv;
            let c = &mut self.condensed;
            let mass_column = c
                .mass_columns
                .row_mut(if c.recomputes_columns { 0 } else { j });
            if c.recomputes_columns || !c.mass_columns_computed[j] {
                mass_column.fill(0.0);
                gradient.axpy(j, 1.0, mass_column);
                self.response.solve_mass(mass_column);
                c.mass_columns_computed[j] = true;
            }
            self.response
                .decoupled_column(level, mass_column, &mut out[..INCREMENT_VECTORS * n]);
            return;
        }
        let b = &mut self.condensed.balances;
        b.clear();
        b.add(gradient, (level, j), position_per_jump, 1.0);
        self.response.solve(blocks, &self.tangent, b, out);
    }

    /// `∂ν/∂Λ` of an open row in the modified position condition.
    pub(super) fn modified_nu_factor(&self, j: usize, h: f64) -> f64 {
        if self.settings.modified && j >= self.dims.ng && !self.sets.position[j] {
            h
        } else {
            0.0
        }
    }

    /// Adds the columns of the solution, `x`, `U` and `W`, to `increment`.
    pub(super) fn add_columns(&mut self, blocks: BlockSystem, h: f64) {
        let cached = self.has_columns(blocks, h);
        if self.condensed.recomputes_columns {
            self.add_response(blocks, h);
            return;
        }
        let (m, n) = (self.rows.len(), self.dims.nv);
        let c = &mut self.condensed;
        for (p, (&unknown, &z)) in c.unknowns.iter().zip(&c.z).enumerate() {
            let column = if cached {
                c.cache.columns.row(index_of(unknown, m))
            } else {
                c.columns.row(p)
            };
            axpy(z, &column[..T_XI * n], &mut c.increment[..T_XI * n]);
        }
    }

    /// Adds the response to all multipliers of the solution to `increment`, by one solve.
    fn add_response(&mut self, blocks: BlockSystem, h: f64) {
        let totals = blocks.uses_totals();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        self.condensed.balances.clear();
        for p in 0..self.condensed.unknowns.len() {
            let (level, j) = self.condensed.unknowns[p];
            let position_per_jump = self.position_per_jump(h) + self.modified_nu_factor(j, h);
            let (c, gradient) = (&mut self.condensed, self.rows.gradient());
            let z = c.z[p];
            c.balances.add(gradient, (level, j), position_per_jump, z);
            if totals && level == Level::Smooth {
                // The totals `ν*` and `Λ*` do not change with `λ`.
                for (level, share) in [(Level::Position, kappa), (Level::Velocity, rho)] {
                    c.balances.add(gradient, (level, j), 0.0, -share * z);
                }
            }
        }
        let end = T_XI * self.dims.nv;
        let c = &mut self.condensed;
        let response = c.columns.row_mut(0);
        self.response
            .solve(blocks, &self.tangent, &c.balances, response);
        axpy(1.0, &response[..end], &mut c.increment[..end]);
    }

    /// Condenses every row of a linear system once; leaves the cache empty where that is not possible.
    pub(super) fn cache_columns(&mut self, h: f64) {
        let (m, n) = (self.rows.len(), self.dims.nv);
        let same = {
            let cache = &self.condensed.cache;
            cache.h == Some(h)
                && cache.gradient == *self.rows.gradient()
                && cache.damping == *self.rows.bias_damping()
        };
        if same {
            return;
        }
        self.condensed.cache.h = None;
        let blocks = self.full_system();
        let fits = 9 * m * m <= MATRIX_LIMIT;
        if self.settings.modified || !fits || self.response.factor(blocks, &self.tangent).is_err() {
            return;
        }
        self.condensed.invalidate_mass_columns(m, n);
        let mut cache = std::mem::take(&mut self.condensed.cache);
        cache.matrix.reset(3 * m, 3 * m);
        if self.condensed.recomputes_columns {
            let all: Vec<(Level, usize)> = (0..3 * m).map(|p| unknown_at(p, m)).collect();
            self.entries_of(blocks, h, &all, &mut cache.matrix);
            self.store_cache(h, cache);
            return;
        }
        cache.columns.reset(3 * m, INCREMENT_VECTORS * n);
        for p in 0..3 * m {
            self.column(blocks, h, unknown_at(p, m), cache.columns.row_mut(p));
        }
        let smooth = self.settings.formulation.smooth_level();
        for p in 0..3 * m {
            let functional = &mut self.condensed.functional;
            functional.linearise((&self.rows, &self.response), smooth, unknown_at(p, m), 1.0);
            for q in 0..3 * m {
                cache.matrix[(p, q)] = functional.of(cache.columns.row(q));
            }
        }
        self.store_cache(h, cache);
    }

    /// Stores `cache` with the inputs that its entries depend on.
    fn store_cache(&mut self, h: f64, mut cache: ColumnCache) {
        cache.gradient.clone_from(self.rows.gradient());
        cache.damping.clone_from(self.rows.bias_damping());
        cache.h = Some(h);
        self.condensed.cache = cache;
    }
}

fn unknown_at(p: usize, m: usize) -> (Level, usize) {
    (Level::ALL[p / m], p % m)
}
