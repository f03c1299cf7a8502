//! Newton corrections of large systems from the compliances (Delassus entries) of their constraint rows.
//!
//! If constraint gradients are constant and only `K` and `C` couple the levels, every column is a combination of three:
//! `s = S⁻¹Gᵀ`, `m = M⁻¹Gᵀ` and, with damping, `y = S⁻¹C M⁻¹Gᵀ`, because `κK = S − M − ϱC`:
//!
//! ```text
//!              x                ξ          v
//! λ            s                κ s        ϱ s
//! ν     (s + ϱ y − m)/κ      s + ϱ y      ϱ x
//! Λ           −y               −κ y       m − ϱ y
//! ```
//!
//! The products `A = G s`, `B = G m`, `E = G y` are small and, for constant matrices, computed once per step size. With
//! `p = ν + κλ` the condensed system separates into symmetric ones, one per level:
//!
//! ```text
//! A p = r₁ − E s̄         B s̄ = ϱ r₁ − κ r₃        (with damping only; the active sets of both levels are then equal)
//! B λ = r₂ − (r₁ − B p)/κ
//! B Λ = r₃ − (ϱ/κ)(r₁ − B ν)
//! ```
//!
//! with `s̄ = ϱν − κΛ` and the right-hand sides `r₁ r₂ r₃` of gaps, accelerations and velocities. Where one of these systems is
//! singular, the multipliers of all levels are solved for at once.

use super::engine::Engine;
use super::levels::Level;
use super::multipliers::MIN_PIVOT_RATIO;
use super::response::{BlockSystem, Response, T_XI, V, X};
use super::settings::SmoothLevel;
use saltus_linear::{Cholesky, DENSE_LIMIT, LinearError, Schur, axpy};

/// Compliances of the rows, and the Cholesky factors of those of the active rows.
#[derive(Debug, Default)]
pub(super) struct Compliances {
    pub(super) mass: Schur,         // B
    pub(super) smooth: Schur,       // A
    damped: Schur,                  // E
    positions: FactoredCompliance,  // of A
    velocities: FactoredCompliance, // of B
    accelerations: FactoredCompliance,
    /// Active rows at each level.
    position: Vec<usize>,
    velocity: Vec<usize>,
    acceleration: Vec<usize>,
    /// The active rows of all levels, one level after the other.
    active: Vec<usize>,
    /// A right-hand side, then its solution (one per active row).
    work: Vec<f64>,
    /// By row (m): `r₁`, `p`, `ν`, `λ`, `Λ`.
    r_1: Vec<f64>,
    p: Vec<f64>,
    nu: Vec<f64>,
    lambda: Vec<f64>,
    jump: Vec<f64>,
    /// Indices of all rows (m).
    pub(super) all: Vec<usize>,
}

/// Cholesky factors of the compliance among some rows.
#[derive(Debug, Default)]
struct FactoredCompliance {
    /// Version of the compliances and the rows that were factored; (0, 0) after a failure.
    version: (u64, u64),
    rows: Vec<usize>,
    factors: Cholesky,
}

impl FactoredCompliance {
    fn factorise(
        &mut self,
        compliance: &Schur,
        rows: &[usize],
        row_norm: &[f64],
    ) -> Result<(), LinearError> {
        if self.version == compliance.version() && self.rows == rows {
            return Ok(());
        }
        self.version = (0, 0);
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.factors
            .factorise(rows.len(), MIN_PIVOT_RATIO, |a, b| {
                let (i, j) = (rows[a], rows[b]);
                compliance.product(i, j) / (scale(row_norm[i]) * scale(row_norm[j]))
            })?;
        self.version = compliance.version();
        Ok(())
    }

    fn solve(&self, row_norm: &[f64], x: &mut [f64]) {
        let rescale = |x: &mut [f64]| {
            for (x, &j) in x.iter_mut().zip(&self.rows) {
                *x /= scale(row_norm[j]);
            }
        };
        rescale(x);
        self.factors.solve(x);
        rescale(x);
    }
}

/// Divisor of a row that makes its compliance of order one.
fn scale(row_norm: f64) -> f64 {
    if row_norm > 0.0 { row_norm } else { 1.0 }
}

impl Compliances {
    pub(super) fn new() -> Self {
        Self {
            damped: Schur::without_columns(),
            ..Self::default()
        }
    }

    pub(super) fn resize(&mut self, m: usize) {
        self.all.clear();
        self.all.extend(0..m);
        for list in [
            &mut self.r_1,
            &mut self.p,
            &mut self.nu,
            &mut self.lambda,
            &mut self.jump,
        ] {
            list.clear();
            list.resize(m, 0.0);
        }
    }

    /// `A`.
    pub(super) fn smooth(&self, response: &Response) -> &Schur {
        if response.smooth_is_mass() {
            &self.mass
        } else {
            &self.smooth
        }
    }
}

/// Changes of `x`, `ξ` and `v` along a constraint row per unit multiplier of a level: a row of the table above.
pub(super) fn motion(
    (a, b, e): (f64, f64, f64),
    level: Level,
    (kappa, rho, position_per_jump): (f64, f64, f64),
) -> (f64, f64, f64) {
    let correction = |factor: f64| {
        let x = factor * (a + rho * e - b) / kappa;
        (x, factor * (a + rho * e), rho * x)
    };
    match level {
        Level::Smooth => (a, kappa * a, rho * a),
        Level::Position => correction(1.0),
        Level::Velocity => {
            let (x, xi, v) = correction(position_per_jump);
            (x - e, xi - kappa * e, v + b - rho * e)
        }
    }
}

impl Engine {
    /// Whether every column of `blocks` is a combination as in the table above.
    pub(super) fn uses_compliances(&self, blocks: BlockSystem) -> bool {
        let rows = &self.rows;
        let derivatives = [
            rows.bias_damping(),
            rows.acceleration_gradient(),
            rows.smooth_velocity_gradient(),
            rows.velocity_gradient(),
        ];
        self.dims.nv > DENSE_LIMIT
            && self.is_flat
            && matches!(blocks, BlockSystem::Smooth | BlockSystem::Triangular)
            && !self.settings.modified
            && derivatives.iter().all(|rows| rows.is_blank())
    }

    /// Computes the diagonal of `B`, `(G M⁻¹Gᵀ)ⱼⱼ`, for every contact.
    pub(super) fn compute_mass_compliances(&mut self) {
        let rows = self.dims.ng..self.rows.len();
        let gradient = self.rows.gradient();
        let mass = self.response.mass_factors();
        let list = rows.map(|j| (j, j));
        self.compliances.mass.add_all(mass, gradient, list);
    }

    /// Computes the compliances of the active rows.
    pub(super) fn compute_active_compliances(&mut self, blocks: BlockSystem) {
        let (c, gradient) = (&mut self.compliances, self.rows.gradient());
        for list in [
            &mut c.position,
            &mut c.velocity,
            &mut c.acceleration,
            &mut c.active,
        ] {
            list.clear();
        }
        for &(level, j) in &self.condensed.unknowns {
            c.active.push(j);
            match level {
                Level::Smooth => c.acceleration.push(j),
                Level::Position => c.position.push(j),
                Level::Velocity => c.velocity.push(j),
            }
        }
        let active = || c.active.iter().map(|&j| (j, j));
        let (mass, smooth) = (self.response.mass_factors(), self.response.smooth_factors());
        let jumps = blocks == BlockSystem::Triangular;
        if jumps || self.response.smooth_is_mass() {
            c.mass.add_all(mass, gradient, active());
        }
        if !self.response.smooth_is_mass() {
            c.smooth.add_all(smooth, gradient, active());
        }
        if jumps && self.tangent.damped {
            let (damping, n) = (&self.tangent.damping, self.dims.nv);
            let work = &mut self.condensed.balances.smooth;
            let mut solve = |x: &mut [f64]| {
                mass.solve_many(x);
                for x in x.chunks_exact_mut(n) {
                    damping.apply(x, work);
                    x.copy_from_slice(work);
                }
                smooth.solve_many(x);
            };
            c.damped
                .add_through((smooth.stamp(), n), &mut solve, gradient, active());
        }
    }

    /// `A`, `B`, `E` between rows `i` and `j`.
    pub(super) fn compliance(&self, blocks: BlockSystem, i: usize, j: usize) -> (f64, f64, f64) {
        let c = &self.compliances;
        let a = c.smooth(&self.response).product(i, j);
        if blocks == BlockSystem::Smooth {
            return (a, 0.0, 0.0);
        }
        let e = if self.tangent.damped {
            c.damped.product(i, j)
        } else {
            0.0
        };
        (a, c.mass.product(i, j), e)
    }

    /// Right-hand side of the constraint row of an unknown: minus its residual, minus its change by the free increment.
    pub(super) fn row_rhs(&self, (level, j): (Level, usize)) -> f64 {
        let n = self.dims.nv;
        let (vector, weight) = self.vector_of_row(level);
        let increment = &self.condensed.increment[vector * n..(vector + 1) * n];
        let free = self.rows.gradient().dot(j, increment);
        -self.residual_of((level, j)) - weight * free
    }

    /// The vector of a stacked increment whose product with `G` is the change of a row, and the factor on it.
    fn vector_of_row(&self, level: Level) -> (usize, f64) {
        match (level, self.settings.formulation.smooth_level()) {
            (Level::Position, _) | (Level::Smooth, Some(SmoothLevel::Position) | None) => {
                (T_XI, 1.0)
            }
            (Level::Velocity, _) => (V, 1.0),
            (Level::Smooth, Some(SmoothLevel::Velocity)) => (X, self.response.rho),
            (Level::Smooth, Some(SmoothLevel::Acceleration)) => (X, 1.0),
        }
    }

    /// Matrix, right-hand side and scales of the system of all multipliers; `row_rhs` gives the right-hand side of a row.
    pub(super) fn fill_by_compliances(
        &mut self,
        blocks: BlockSystem,
        h: f64,
        row_rhs: &dyn Fn(&Self, (Level, usize)) -> f64,
    ) {
        self.condensed.clear_system();
        let k = self.condensed.unknowns.len();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let factors = (kappa, rho, self.position_per_jump(h));
        for p in 0..k {
            let unknown = self.condensed.unknowns[p];
            let (row, col) = self.scales_of(unknown, h);
            let row_rhs = row_rhs(self, unknown);
            let c = &mut self.condensed;
            c.row_scale[p] = row;
            c.col_scale[p] = col;
            c.rhs[p] = row * row_rhs;
        }
        for p in 0..k {
            let unknown = self.condensed.unknowns[p];
            for q in 0..k {
                let value =
                    self.compliance_entry(blocks, unknown, self.condensed.unknowns[q], factors);
                let c = &mut self.condensed;
                c.matrix[(p, q)] = c.row_scale[p] * c.col_scale[q] * value;
            }
        }
    }

    /// Entry of the condensed matrix, from compliances computed before.
    fn compliance_entry(
        &self,
        blocks: BlockSystem,
        (level, i): (Level, usize),
        (other, j): (Level, usize),
        factors: (f64, f64, f64),
    ) -> f64 {
        let compliance = self.compliance(blocks, i, j);
        let (x, xi, v) = if other == Level::Smooth && blocks.uses_totals() {
            (compliance.1, 0.0, 0.0)
        } else {
            motion(compliance, other, factors)
        };
        let (vector, weight) = self.vector_of_row(level);
        weight
            * match vector {
                X => x,
                T_XI => xi,
                _ => v,
            }
    }

    /// Solves for the multipliers level by level; `false` where the levels do not separate or a matrix is singular.
    pub(super) fn solve_by_levels(&mut self, blocks: BlockSystem) -> bool {
        let c = &self.compliances;
        let coupled = self.condensed.unknowns.len() <= DENSE_LIMIT
            || blocks != BlockSystem::Triangular
            || !self.settings.formulation.has_corrections()
            || self.tangent.damped && c.position != c.velocity;
        if coupled || !self.factor_levels() {
            return false;
        }
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let mut c = std::mem::take(&mut self.compliances);
        let row_norm = &self.rows.row_norm;
        for list in [&mut c.p, &mut c.nu, &mut c.lambda, &mut c.jump] {
            list.fill(0.0);
        }
        let sum = |of: &Schur, i: usize, rows: &[usize], z: &[f64]| -> f64 {
            rows.iter().map(|&j| of.product(i, j) * z[j]).sum()
        };
        // A p = r₁ − E s̄
        for &i in &c.position {
            c.r_1[i] = self.row_rhs((Level::Position, i));
        }
        if self.tangent.damped {
            c.work.clear();
            for &i in &c.velocity {
                let r_3 = self.row_rhs((Level::Velocity, i));
                c.work.push(rho * c.r_1[i] - kappa * r_3);
            }
            c.velocities.solve(row_norm, &mut c.work);
            scatter(&c.work, &c.velocity, &mut c.jump);
        }
        c.work.clear();
        for &i in &c.position {
            let damped = if self.tangent.damped {
                sum(&c.damped, i, &c.velocity, &c.jump)
            } else {
                0.0
            };
            c.work.push(c.r_1[i] - damped);
        }
        c.positions.solve(row_norm, &mut c.work);
        scatter(&c.work, &c.position, &mut c.p);
        // B λ = r₂ − (r₁ − B p)/κ
        let velocity_row = self.settings.formulation.smooth_level() == Some(SmoothLevel::Velocity);
        let per = if velocity_row { 1.0 / rho } else { 1.0 };
        c.work.clear();
        for &i in &c.acceleration {
            let r_2 = per * self.row_rhs((Level::Smooth, i));
            let rest = c.r_1[i] - sum(&c.mass, i, &c.position, &c.p);
            c.work.push(r_2 - rest / kappa);
        }
        c.accelerations.solve(row_norm, &mut c.work);
        scatter(&c.work, &c.acceleration, &mut c.lambda);
        for &j in &c.position {
            c.nu[j] = c.p[j] - kappa * c.lambda[j];
        }
        // B Λ = r₃ − (ϱ/κ)(r₁ − B ν)
        c.work.clear();
        for &i in &c.velocity {
            let r_3 = self.row_rhs((Level::Velocity, i));
            let closed = self.sets.position[i];
            let gap = if closed {
                c.r_1[i]
            } else {
                sum(c.smooth(&self.response), i, &c.position, &c.p)
            };
            let rest = gap - sum(&c.mass, i, &c.position, &c.nu);
            c.work.push(r_3 - rho / kappa * rest);
        }
        c.velocities.solve(row_norm, &mut c.work);
        scatter(&c.work, &c.velocity, &mut c.jump);
        for (z, &(level, j)) in self.condensed.z.iter_mut().zip(&self.condensed.unknowns) {
            *z = match level {
                Level::Smooth => c.lambda[j],
                Level::Position => c.nu[j] + kappa * c.lambda[j],
                Level::Velocity => c.jump[j] + rho * c.lambda[j],
            };
        }
        self.compliances = c;
        true
    }

    /// Factors the compliances of the levels; `false` where one is not symmetric and positive definite.
    fn factor_levels(&mut self) -> bool {
        let (mass, smooth) = (self.response.mass_factors(), self.response.smooth_factors());
        if !(mass.is_symmetric() && smooth.is_symmetric()) {
            return false;
        }
        let sets = &self.sets;
        let c = &mut self.compliances;
        let closed = |j: &usize| sets.position[*j];
        if !c.acceleration.iter().all(closed) {
            return false;
        }
        let row_norm = &self.rows.row_norm;
        let compliance = if self.response.smooth_is_mass() {
            &c.mass
        } else {
            &c.smooth
        };
        c.positions
            .factorise(compliance, &c.position, row_norm)
            .and_then(|()| c.velocities.factorise(&c.mass, &c.velocity, row_norm))
            .and_then(|()| {
                c.accelerations
                    .factorise(&c.mass, &c.acceleration, row_norm)
            })
            .is_ok()
    }

    /// Adds the response of `x`, `U`, `W` to the solution to `increment`.
    pub(super) fn add_by_compliances(&mut self, blocks: BlockSystem, h: f64) {
        let position_per_jump = self.position_per_jump(h);
        let n = self.dims.nv;
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        let jumps = blocks == BlockSystem::Triangular;
        let totals = blocks.uses_totals();
        let c = &mut self.compliances;
        for list in [&mut c.p, &mut c.nu, &mut c.jump] {
            list.fill(0.0);
        }
        // Multipliers of the smooth motion, of the corrections and of the jumps.
        for (&(level, j), &z) in self.condensed.unknowns.iter().zip(&self.condensed.z) {
            match level {
                Level::Smooth => {
                    c.p[j] += z;
                    if totals {
                        c.nu[j] -= kappa * z;
                        c.jump[j] -= rho * z;
                    }
                }
                Level::Position => c.nu[j] += z,
                Level::Velocity => {
                    c.jump[j] += z;
                    c.nu[j] += position_per_jump * z;
                }
            }
        }
        let (x, rest) = self.condensed.increment.split_at_mut(n);
        let (u, rest) = rest.split_at_mut(n);
        let w = &mut rest[..n];
        let mass = self.response.mass_factors();
        let scratch = &mut self.condensed.balances;
        let nonzero = |z: &[f64]| z.iter().any(|z| *z != 0.0);
        let (corrected, jumped) = (jumps && nonzero(&c.nu), jumps && nonzero(&c.jump));
        for (active, z, out, total) in [
            (corrected, &c.nu, &mut scratch.correction, u),
            (jumped, &c.jump, &mut scratch.jump, w),
        ] {
            out.fill(0.0);
            if active {
                c.mass.respond(mass, &c.all, z, out);
                axpy(1.0, out, total);
            }
        }
        if corrected {
            axpy(1.0 / kappa, &c.nu, &mut c.p);
            axpy(-1.0 / kappa, &scratch.correction, x);
        }
        let smooth = self.response.smooth_factors();
        c.smooth(&self.response).respond(smooth, &c.all, &c.p, x);
        if self.tangent.damped && (corrected || jumped) {
            // S⁻¹ C (ϱ U/κ − W)
            let moving = &mut scratch.jump;
            moving.iter_mut().for_each(|w| *w = -*w);
            axpy(rho / kappa, &scratch.correction, moving);
            self.tangent.damping.apply(moving, &mut scratch.smooth);
            self.response.solve_smooth(&mut scratch.smooth);
            axpy(1.0, &scratch.smooth, x);
        }
    }
}

/// `all[rows[k]] ← values[k]`.
fn scatter(values: &[f64], rows: &[usize], all: &mut [f64]) {
    for (value, &j) in values.iter().zip(rows) {
        all[j] = *value;
    }
}
