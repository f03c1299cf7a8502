//! All unknowns of a correction in one matrix (2014, eq. 44).
//!
//! Unknowns `h Δv̇, ΔU/h, ΔW` and `h Δλ, Δν/h, ΔΛ`, rows scaled alike. It needs no inverse of the mass matrix, which may be singular
//! where `[M Gᵀ; G 0]` is not.

use super::engine::Engine;
use super::levels::Level;
use super::response::{T_XI, X};
use saltus_linear::{Dense, LinearError, MatrixSink, MinimumNorm, Shifted, SquareMatrix};

/// Largest size at which a singular system is solved by least norm.
const DENSE_FALLBACK: usize = 400;

/// The matrix of all unknowns, and buffers for a singular one.
#[derive(Debug, Default)]
pub(super) struct Monolithic {
    matrix: Option<SquareMatrix>,
    /// Largest number of rows so far, for which the matrix is sized, so that its pattern does not depend on the contacts.
    pub(super) capacity: usize,
    dense: Dense,
    minimum: MinimumNorm,
    rhs: Vec<f64>,
    /// Scales of rows and unknowns, which make the elimination independent of units: `1/√M` of motions, the reciprocal row
    /// norm of multipliers.
    scale: Vec<f64>,
}

/// Scales entries by row and column.
struct Equilibrated<'a> {
    sink: &'a mut SquareMatrix,
    scale: &'a [f64],
}

impl MatrixSink for Equilibrated<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let scale = self.scale[row] * self.scale[col];
        self.sink.entry(row, col, scale * value);
    }
}

/// Numbering of the unknowns.
#[derive(Debug, Clone, Copy)]
struct Layout {
    n: usize,
    /// Number of constraint rows, and the number that the matrix is sized for.
    m: usize,
    capacity: usize,
    /// Whether there are jumps and position corrections; otherwise the smooth motion alone.
    full: bool,
}

impl Layout {
    fn size(&self) -> usize {
        if self.full {
            3 * (self.n + self.capacity)
        } else {
            self.n + self.capacity
        }
    }

    fn levels(&self) -> &'static [Level] {
        if self.full {
            &Level::ALL
        } else {
            &[Level::Smooth]
        }
    }

    /// Index of the first multiplier of a level.
    fn multipliers(&self, level: Level) -> usize {
        let motions = if self.full { 3 } else { 1 } * self.n;
        match level {
            Level::Smooth => motions,
            Level::Position => motions + self.capacity,
            Level::Velocity => motions + 2 * self.capacity,
        }
    }
}

/// `y ← y + Tᵀ g` from the entries of `T`.
struct Transposed<'a> {
    g: &'a [f64],
    y: &'a mut [f64],
}

impl MatrixSink for Transposed<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.y[col] += value * self.g[row];
    }
}

impl Engine {
    /// Solves for all unknowns at once; the multipliers of inactive rows are zero before.
    pub(super) fn solve_monolithic(&mut self, h: f64) -> Result<(), LinearError> {
        let m = self.rows.len();
        self.monolithic.capacity = self.monolithic.capacity.max(m);
        let layout = Layout {
            n: self.dims.nv,
            m,
            capacity: self.monolithic.capacity,
            full: self.settings.formulation.has_corrections(),
        };
        let size = layout.size();
        let mut matrix = match self.monolithic.matrix.take() {
            Some(matrix) if matrix.size() == size => matrix,
            _ => SquareMatrix::new(size),
        };
        matrix.clear();
        let scale = self.equilibrate(layout);
        let mut sink = Equilibrated {
            sink: &mut matrix,
            scale: &scale,
        };
        self.add_balances(layout, h, &mut sink);
        self.add_rows(layout, h, &mut sink);
        let mut y = std::mem::take(&mut self.condensed.all_unknowns);
        y.clear();
        y.resize(size, 0.0);
        self.right_hand_side(layout, h, &mut y);
        let rescale = |y: &mut [f64]| y.iter_mut().zip(&scale).for_each(|(y, s)| *y *= s);
        rescale(&mut y);
        let outcome = match matrix.factorise() {
            Ok(()) => {
                matrix.solve(&mut y);
                Ok(())
            }
            Err(LinearError::Singular { .. }) if size <= DENSE_FALLBACK => {
                self.solve_singular(&matrix, &mut y);
                Ok(())
            }
            Err(error) => Err(error),
        };
        if outcome.is_ok() {
            rescale(&mut y);
            self.add_solution(layout, h, &y);
        }
        self.condensed.all_unknowns = y;
        self.monolithic.scale = scale;
        self.monolithic.matrix = Some(matrix);
        outcome
    }

    fn solve_singular(&mut self, matrix: &SquareMatrix, y: &mut [f64]) {
        let size = matrix.size();
        let Monolithic {
            dense,
            minimum,
            rhs,
            ..
        } = &mut self.monolithic;
        dense.reset(size, size);
        matrix.send(1.0, dense);
        let rank = minimum.factorise(dense);
        rhs.clear();
        rhs.extend_from_slice(y);
        minimum.solve(rhs, y);
        let missing = u32::try_from(size - rank).unwrap_or(u32::MAX);
        self.redundant = self.redundant.max(missing.div_ceil(3));
    }

    /// The scale of every row and unknown.
    fn equilibrate(&mut self, layout: Layout) -> Vec<f64> {
        let mut scale = std::mem::take(&mut self.monolithic.scale);
        let blocks = if layout.full { 3 } else { 1 };
        scale.clear();
        for _ in 0..blocks {
            scale.extend_from_slice(&self.momentum_scale.weights);
        }
        for _ in 0..blocks {
            let reciprocal = |row_norm: &f64| if *row_norm > 0.0 { 1.0 / row_norm } else { 1.0 };
            scale.extend(self.rows.row_norm.iter().map(reciprocal));
            scale.resize(scale.len() + layout.capacity - layout.m, 1.0);
        }
        scale
    }

    /// The three balances.
    fn add_balances(&self, layout: Layout, h: f64, matrix: &mut Equilibrated<'_>) {
        let (d, n) = (&self.tangent, layout.n);
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let mut add_block = |block: &SquareMatrix, factor: f64, row: usize, col: usize| {
            let mut sink = Shifted {
                sink: matrix,
                factor,
                row: row * n,
                col: col * n,
            };
            block.send(1.0, &mut sink);
        };
        add_block(&d.mass, 1.0, 0, 0);
        add_block(&d.stiffness, kappa, 0, 0);
        add_block(&d.damping, rho, 0, 0);
        if layout.full {
            add_block(&d.stiffness, h * h, 0, 1);
            add_block(&d.damping, h, 0, 2);
            add_block(&d.mass, 1.0, 1, 1);
            add_block(&d.correction, kappa / (h * h), 1, 0);
            add_block(&d.correction, 1.0, 1, 1);
            add_block(&d.mass, 1.0, 2, 2);
            add_block(&d.jump, kappa / h, 2, 0);
            add_block(&d.jump, h, 2, 1);
        }
        let gradient = self.rows.gradient();
        for (block, &level) in layout.levels().iter().enumerate() {
            let first = layout.multipliers(level);
            for j in 0..layout.m {
                for (&k, g) in gradient.cols(j).iter().zip(gradient.values(j)) {
                    matrix.entry(block * n + k, first + j, -g);
                }
            }
        }
    }

    /// The rows of the multipliers.
    fn add_rows(&mut self, layout: Layout, h: f64, matrix: &mut Equilibrated<'_>) {
        let m = layout.m;
        for &level in layout.levels() {
            let first = layout.multipliers(level);
            for j in m..layout.capacity {
                matrix.sink.entry(first + j, first + j, 1.0);
            }
            for j in 0..m {
                // The row of an inactive multiplier sets it to zero. Its other entries stay, as zeros, so that the sparsity pattern
                // does not change with the active sets; both its unknowns have the same scale.
                let active = self.sets.of(level)[j];
                let inactive = if active { 0.0 } else { 1.0 };
                self.add_row(layout, (level, j), h, matrix);
                matrix.sink.entry(first + j, first + j, inactive);
                if level == Level::Position && self.settings.modified && j >= self.dims.ng {
                    let other = layout.multipliers(Level::Velocity) + j;
                    matrix.sink.entry(first + j, other, -inactive);
                }
            }
        }
    }

    fn add_row(
        &mut self,
        layout: Layout,
        (level, j): (Level, usize),
        h: f64,
        matrix: &mut Equilibrated<'_>,
    ) {
        let (n, full) = (layout.n, layout.full);
        let row = layout.multipliers(level) + j;
        let scale = match self.sets.of(level)[j] {
            true => self.level_scales(level, h).0,
            false => 0.0,
        };
        let smooth = self.settings.formulation.smooth_level();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let mut functional = std::mem::take(&mut self.condensed.functional);
        functional.linearise((&self.rows, &self.response), smooth, (level, j), 1.0);
        let mut add = |block: usize, k: usize, value: f64| {
            if block == 0 || full {
                matrix.entry(row, block * n + k, scale * value);
            }
        };
        let along_t_xi = |k: usize, g: f64, add: &mut dyn FnMut(usize, usize, f64)| {
            add(0, k, kappa / h * g);
            add(1, k, h * g);
        };
        let (g, work) = (&mut self.trial.row_scratch, &mut self.trial.work);
        g.fill(0.0);
        for &(at, value) in &functional.0 {
            match (at / n, at % n) {
                (X, k) => add(0, k, value / h),
                (T_XI, k) if self.is_flat => along_t_xi(k, value, &mut add),
                (T_XI, k) => g[k] += value,
                (_, k) => {
                    add(0, k, rho / h * value);
                    add(2, k, value);
                }
            }
        }
        if !self.is_flat {
            work.fill(0.0);
            let tangent = &self.tangent.retraction_tangent;
            tangent.send(1.0, &mut Transposed { g, y: work });
            for (k, value) in work.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                along_t_xi(k, *value, &mut add);
            }
        }
        self.condensed.functional = functional;
    }

    fn right_hand_side(&self, layout: Layout, h: f64, y: &mut [f64]) {
        let (n, r) = (layout.n, &self.trial.residual);
        for i in 0..n {
            y[i] = -h * r.smooth[i];
            if layout.full {
                y[n + i] = -r.correction[i] / h;
                y[2 * n + i] = -r.jump[i];
            }
        }
        for &level in layout.levels() {
            let first = layout.multipliers(level);
            for j in 0..layout.m {
                if self.sets.of(level)[j] {
                    y[first + j] = -self.level_scales(level, h).0 * self.residual_of((level, j));
                }
            }
        }
    }

    fn add_solution(&mut self, layout: Layout, h: f64, y: &[f64]) {
        let (n, t) = (layout.n, &mut self.trial);
        for i in 0..n {
            t.v_dot[i] += y[i] / h;
            if layout.full {
                t.u[i] += h * y[n + i];
                t.w[i] += y[2 * n + i];
            }
        }
        for (&level, scale) in layout.levels().iter().zip([1.0 / h, h, 1.0]) {
            for j in 0..layout.m {
                *t.multiplier((level, j)) += scale * y[layout.multipliers(level) + j];
            }
        }
    }
}
