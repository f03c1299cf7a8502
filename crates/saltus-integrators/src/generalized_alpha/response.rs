//! The response of the motion of a step to forces and multipliers: solves its linearised balances (smooth motion, position correction,
//! velocity jump) for `x`, `U`, `W`, the changes of `v̇`, `U` and `W`.
//!
//! A correction of Newton's method solves, for right-hand sides `b₁ b₂ b₃`,
//!
//! ```text
//! M x  + K ξ + C v = b₁          ξ = κ x + U        κ = h²β c_a
//! M U + Gₚ ξ       = b₂          v = ϱ x + W        ϱ = hγ c_a
//! M W + Gᵥ ξ       = b₃
//! ```
//!
//! Where `Gₚ = Gᵥ = 0` (linear systems) `U` and `W` come first and `x` follows from `S = M + κK + ϱC`:
//! everything is factored once and a step costs one back-substitution. Elsewhere `M x` is eliminated:
//! `(M + Gₚ + κK) ξ = b₂ + κ b₁` without damping, or the pair `(ξ, v)` with it, is exact however
//! large the step. All solves are of size `nv` or `2 nv`; multipliers are solved for afterwards.

use super::levels::Level;
use super::tangent::Tangent;
use saltus_linear::{
    DENSE_LIMIT, LinearError, MatrixSink, Shifted, SparseRows, SquareMatrix, axpy,
};

/// Which of the three balances are solved together, and in which order they are eliminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockSystem {
    /// The balance of the smooth motion alone: `S x = b₁`, `U = W = 0`.
    Smooth,
    /// All three with `Gₚ = Gᵥ = 0`: `U` and `W`, then `x`.
    Triangular,
    /// All three with curvature `Gₚ`, `Gᵥ`: `ξ` and `v` together or, without damping, one after the other.
    Coupled,
    /// Position corrections alone: `(M + Gₚ) U = b₂`.
    Corrections,
    /// Jumps alone: `M W = b₃`.
    Jumps,
}

impl BlockSystem {
    /// Whether the unknowns are `λ`, `ν + κλ` and `Λ + ϱλ`, which for rows with filtered multipliers are their totals: a change of `λ`
    /// is an acceleration that corrections and jumps undo, so that neither positions nor velocities move.
    pub(super) fn uses_totals(self) -> bool {
        matches!(self, Self::Triangular | Self::Coupled)
    }
}

/// One vector for each of the three balances, right-hand sides `b₁ b₂ b₃` or residuals (nv each).
#[derive(Debug, Default)]
pub(super) struct Balances {
    pub(super) smooth: Vec<f64>,     // [N]
    pub(super) correction: Vec<f64>, // [N·s²]
    pub(super) jump: Vec<f64>,       // [N·s]
}

impl Balances {
    pub(super) fn new(n: usize) -> Self {
        Self {
            smooth: vec![0.0; n],
            correction: vec![0.0; n],
            jump: vec![0.0; n],
        }
    }

    /// Resizes to n each, all zero, reusing the storage.
    pub(super) fn resize(&mut self, n: usize) {
        for list in [&mut self.smooth, &mut self.correction, &mut self.jump] {
            list.clear();
            list.resize(n, 0.0);
        }
    }

    pub(super) fn clear(&mut self) {
        self.smooth.fill(0.0);
        self.correction.fill(0.0);
        self.jump.fill(0.0);
    }

    /// Adds a multiplier of size `z` on row `j` of `gradient`; `position_per_jump` is `∂U/∂W`.
    pub(super) fn add(
        &mut self,
        gradient: &SparseRows,
        (level, j): (Level, usize),
        position_per_jump: f64,
        z: f64,
    ) {
        match level {
            Level::Smooth => gradient.axpy(j, z, &mut self.smooth),
            Level::Position => gradient.axpy(j, z, &mut self.correction),
            Level::Velocity => {
                gradient.axpy(j, z, &mut self.jump);
                gradient.axpy(j, position_per_jump * z, &mut self.correction);
            }
        }
    }
}

/// Number of vectors (nv each) of a stacked increment: the changes `x`, `U`, `W`, the position increment `T ξ`, the change of `v`.
pub(super) const INCREMENT_VECTORS: usize = 5;
/// Index of `x`, the change of `v̇`.
pub(super) const X: usize = 0;
/// Index of the change of `U`.
const U: usize = 1;
/// Index of the change of `W`.
const W: usize = 2;
/// Index of the position increment `T ξ`, tangent at the end position.
pub(super) const T_XI: usize = 3;
/// Index of the change of `v`.
pub(super) const V: usize = 4;

/// The factored matrices of the balances.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) kappa: f64,
    pub(super) rho: f64,
    mass: SquareMatrix,            // M
    pub(super) diagonal: Vec<f64>, // of a constant diagonal M (nv, or empty)
    smooth: SquareMatrix,          // S
    position: SquareMatrix,        // M + Gₚ (+ κK)
    pair: SquareMatrix,            // of (ξ, v), 2 nv × 2 nv
    work: Vec<f64>,                // (2 nv)
    /// Whether `mass` holds factors that stay valid.
    mass_is_constant: bool,
    mass_is_factored: bool,
    /// κ and ϱ the factors of `smooth` belong to, where they stay valid.
    smooth_for: (f64, f64),
    smooth_is_constant: bool,
    /// Whether `S = M`, factored already.
    smooth_is_mass: bool,
}

impl Response {
    pub(super) fn new(n: usize, mass_is_constant: bool, smooth_is_constant: bool) -> Self {
        let mut response = Self {
            kappa: 0.0,
            rho: 0.0,
            mass: SquareMatrix::new(n),
            diagonal: Vec::new(),
            smooth: SquareMatrix::new(n),
            position: SquareMatrix::new(n),
            pair: SquareMatrix::new(2 * n),
            work: vec![0.0; 2 * n],
            mass_is_constant,
            mass_is_factored: false,
            smooth_for: (f64::NAN, f64::NAN),
            smooth_is_constant,
            smooth_is_mass: false,
        };
        response.reserve();
        response
    }

    /// Sizes the storage of every small factorisation, so that none allocates later.
    fn reserve(&mut self) {
        for matrix in [
            &mut self.mass,
            &mut self.smooth,
            &mut self.position,
            &mut self.pair,
        ] {
            let n = matrix.size();
            if n <= DENSE_LIMIT {
                for i in 0..n {
                    matrix.entry(i, i, 1.0);
                }
                let _ = matrix.factorise();
                matrix.clear();
            }
        }
    }

    /// Factors `M`.
    pub(super) fn factor_mass(&mut self, mass: &SquareMatrix) -> Result<(), LinearError> {
        if self.mass_is_constant && self.mass_is_factored {
            return Ok(());
        }
        self.mass_is_factored = false;
        self.mass.clear();
        self.mass.add_scaled(1.0, mass);
        self.mass.factorise()?;
        self.mass_is_factored = true;
        Ok(())
    }

    /// `M`, factored where the balances to be solved need it.
    pub(super) fn mass_factors(&self) -> &SquareMatrix {
        &self.mass
    }

    /// `S`, factored where the balances to be solved need it.
    pub(super) fn smooth_factors(&self) -> &SquareMatrix {
        if self.smooth_is_mass {
            &self.mass
        } else {
            &self.smooth
        }
    }

    /// Whether `S = M`.
    pub(super) fn smooth_is_mass(&self) -> bool {
        self.smooth_is_mass
    }

    /// nv.
    pub(super) fn size(&self) -> usize {
        self.mass.size()
    }

    /// `x ← M⁻¹ x`.
    #[inline]
    pub(super) fn solve_mass(&self, x: &mut [f64]) {
        if self.diagonal.is_empty() {
            self.mass.solve(x);
        } else {
            for (x, m) in x.iter_mut().zip(&self.diagonal) {
                *x /= m;
            }
        }
    }

    /// Factors the matrices of `blocks`.
    pub(super) fn factor(&mut self, blocks: BlockSystem, t: &Tangent) -> Result<(), LinearError> {
        match blocks {
            BlockSystem::Smooth => self.factor_smooth(t),
            BlockSystem::Triangular => {
                self.factor_mass(&t.mass)?;
                self.factor_smooth(t)
            }
            BlockSystem::Jumps => self.factor_mass(&t.mass),
            BlockSystem::Corrections if !t.has_correction_tangent => self.factor_mass(&t.mass),
            BlockSystem::Corrections => self.factor_position(t, 0.0),
            BlockSystem::Coupled => {
                self.factor_mass(&t.mass)?;
                if t.damped {
                    self.factor_pair(t)
                } else {
                    self.factor_position(t, self.kappa)
                }
            }
        }
    }

    /// Whether the response to a multiplier is a multiple of `M⁻¹ Gᵀ` in every vector.
    pub(super) fn decouples(&self, blocks: BlockSystem, level: Level, t: &Tangent) -> bool {
        match (blocks, level) {
            (_, Level::Smooth) => blocks.uses_totals(),
            _ if !t.is_flat => false,
            (BlockSystem::Triangular, Level::Position) => !t.stiff,
            (BlockSystem::Triangular | BlockSystem::Coupled, Level::Velocity) => !t.damped,
            (BlockSystem::Jumps, Level::Velocity) => true,
            (BlockSystem::Corrections, Level::Position) => !t.has_correction_tangent,
            _ => false,
        }
    }

    /// The response to a decoupled unit multiplier, from its column of `M⁻¹ Gᵀ`.
    pub(super) fn decoupled_column(&self, level: Level, mass_column: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let factors = match level {
            Level::Smooth => &[(X, 1.0), (U, -self.kappa), (W, -self.rho)][..],
            Level::Position => &[(U, 1.0), (T_XI, 1.0)],
            Level::Velocity => &[(W, 1.0), (V, 1.0)],
        };
        let n = mass_column.len();
        for &(vector, factor) in factors {
            axpy(factor, mass_column, &mut out[vector * n..(vector + 1) * n]);
        }
    }

    fn factor_smooth(&mut self, t: &Tangent) -> Result<(), LinearError> {
        self.smooth_is_mass = !(t.stiff || t.damped) && self.mass_is_factored;
        if self.smooth_is_mass {
            return Ok(());
        }
        if self.smooth_is_constant && self.smooth_for == (self.kappa, self.rho) {
            return Ok(());
        }
        self.smooth_for = (f64::NAN, f64::NAN);
        let s = &mut self.smooth;
        s.clear();
        s.add_scaled(1.0, &t.mass);
        s.add_scaled(self.rho, &t.damping);
        s.add_scaled(self.kappa, &t.stiffness);
        s.factorise()?;
        self.smooth_for = (self.kappa, self.rho);
        Ok(())
    }

    fn factor_position(&mut self, t: &Tangent, kappa: f64) -> Result<(), LinearError> {
        let p = &mut self.position;
        p.clear();
        p.add_scaled(1.0, &t.mass);
        p.add_scaled(1.0, &t.correction);
        p.add_scaled(kappa, &t.stiffness);
        p.factorise()
    }

    fn factor_pair(&mut self, t: &Tangent) -> Result<(), LinearError> {
        let n = self.work.len() / 2;
        self.pair.clear();
        let mut add_block = |matrix: &SquareMatrix, factor: f64, row: usize, col: usize| {
            let mut sink = Shifted {
                sink: &mut self.pair,
                factor,
                row,
                col,
            };
            matrix.send(1.0, &mut sink);
        };
        add_block(&t.mass, 1.0, 0, 0);
        add_block(&t.correction, 1.0, 0, 0);
        add_block(&t.stiffness, self.kappa, 0, 0);
        add_block(&t.damping, self.kappa, 0, n);
        add_block(&t.jump, 1.0, n, 0);
        add_block(&t.stiffness, self.rho, n, 0);
        add_block(&t.mass, 1.0, n, n);
        add_block(&t.damping, self.rho, n, n);
        self.pair.factorise()
    }

    /// The response to right-hand sides `b`, written to `out` (5 nv).
    pub(super) fn solve(
        &mut self,
        blocks: BlockSystem,
        t: &Tangent,
        b: &Balances,
        out: &mut [f64],
    ) {
        let n = b.smooth.len();
        let (x, rest) = out.split_at_mut(n);
        let (u, rest) = rest.split_at_mut(n);
        let (w, rest) = rest.split_at_mut(n);
        let (t_xi, v) = rest.split_at_mut(n);
        u.fill(0.0);
        w.fill(0.0);
        match blocks {
            BlockSystem::Smooth | BlockSystem::Triangular => {
                x.copy_from_slice(&b.smooth);
                if blocks == BlockSystem::Triangular {
                    self.solve_jumps(t, b, (&mut *x, &mut *u, &mut *w));
                }
                self.solve_smooth(x);
            }
            BlockSystem::Corrections => {
                x.fill(0.0);
                u.copy_from_slice(&b.correction);
                if t.has_correction_tangent {
                    self.position.solve(u);
                } else {
                    self.solve_mass(u);
                }
            }
            BlockSystem::Jumps => {
                x.fill(0.0);
                w.copy_from_slice(&b.jump);
                self.solve_mass(w);
            }
            BlockSystem::Coupled => {
                self.solve_coupled(t, b, x, (t_xi, v, w));
                for i in 0..n {
                    u[i] = t_xi[i] - self.kappa * x[i];
                }
            }
        }
        if blocks != BlockSystem::Coupled {
            for i in 0..n {
                t_xi[i] = self.kappa * x[i] + u[i];
                v[i] = self.rho * x[i] + w[i];
            }
        }
        if !t.is_flat {
            let xi = &mut self.work[..n];
            xi.copy_from_slice(t_xi);
            t_xi.fill(0.0);
            t.retraction_tangent.apply_add(1.0, xi, t_xi);
        }
    }

    /// `x ← S⁻¹ x`.
    pub(super) fn solve_smooth(&self, x: &mut [f64]) {
        if self.smooth_is_mass {
            self.solve_mass(x);
        } else {
            self.smooth.solve(x);
        }
    }

    /// `U` and `W` of a linear system; subtracts `K U + C W` from `x`.
    fn solve_jumps(
        &self,
        t: &Tangent,
        b: &Balances,
        (x, u, w): (&mut [f64], &mut [f64], &mut [f64]),
    ) {
        let nonzero = |b: &[f64]| b.iter().any(|v| *v != 0.0);
        if nonzero(&b.correction) {
            u.copy_from_slice(&b.correction);
            self.solve_mass(u);
            t.stiffness.apply_add(-1.0, u, x);
        }
        if nonzero(&b.jump) {
            w.copy_from_slice(&b.jump);
            self.solve_mass(w);
            if t.damped {
                t.damping.apply_add(-1.0, w, x);
            }
        }
    }

    /// `ξ`, `v`, then `x` and `W`, which is zero at first.
    fn solve_coupled(
        &mut self,
        t: &Tangent,
        b: &Balances,
        x: &mut [f64],
        (xi, v, w): (&mut [f64], &mut [f64], &mut [f64]),
    ) {
        let n = xi.len();
        for i in 0..n {
            xi[i] = b.correction[i] + self.kappa * b.smooth[i];
        }
        x.copy_from_slice(&b.smooth);
        if t.damped {
            for i in 0..n {
                v[i] = b.jump[i] + self.rho * b.smooth[i];
            }
            self.work[..n].copy_from_slice(xi);
            self.work[n..].copy_from_slice(v);
            self.pair.solve(&mut self.work);
            xi.copy_from_slice(&self.work[..n]);
            v.copy_from_slice(&self.work[n..]);
            t.damping.apply_add(-1.0, v, x);
        } else {
            self.position.solve(xi);
        }
        if t.stiff {
            t.stiffness.apply_add(-1.0, xi, x);
        }
        self.solve_mass(x);
        if t.damped {
            for i in 0..n {
                w[i] = v[i] - self.rho * x[i];
            }
            return;
        }
        let nonzero = b.jump.iter().any(|b| *b != 0.0);
        if nonzero || t.has_jump_tangent {
            w.copy_from_slice(&b.jump);
            if t.has_jump_tangent {
                t.jump.apply_add(-1.0, xi, w);
            }
            self.solve_mass(w);
        }
        for i in 0..n {
            v[i] = w[i] + self.rho * x[i];
        }
    }
}
