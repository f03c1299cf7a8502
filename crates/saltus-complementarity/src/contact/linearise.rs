//! One step of the semismooth Newton method: the branches of all laws at a point and their linear system.

use super::block::Block;
use super::matrix::Matrix;
use super::newton::Newton;
use super::residual::View;
use crate::cone::norm;
use crate::enumeration::NOT_SINGULAR;
use saltus_linear::{Lu, MatrixSink, RANK_TOLERANCE, SquareMatrix, axpy, max_abs};

/// Regularisations of singular systems, relative to their scaled diagonal; the smaller one for ill-conditioned systems.
const RIDGES: [f64; 2] = [1e-4, 1e-8];
/// Regularisation of sparse systems.
const SPARSE_RIDGE: f64 = 1e-8;
/// Relative residual up to which a singular system is consistent.
const CONSISTENT: f64 = 1e-8;
/// Largest number of corrections for the regularisation.
const CORRECTIONS: u32 = 20;
/// Largest ratio of the solution to the right-hand side for which it is accepted as one of the singular system.
const MAX_AMPLIFICATION: f64 = 1e5;
/// Largest number of unknowns for which contradictory systems are solved by an orthogonal factorisation.
const ORTHOGONAL_LIMIT: usize = 100;

/// Role of an impulse in a Newton step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// An unknown of the linear system, with its number there.
    Free(usize),
    /// Its change is given.
    Fixed,
    /// Its change is a given value plus a multiple of that of another row: the row and the factor.
    Dependent(usize, f64),
}

/// The equation of a free unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// `w = 0`.
    Velocity,
    /// Slip of a disc with two rows, or of a joint.
    Slip,
}

/// Kind of the last factorisation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Factors {
    #[default]
    Regular,
    /// Singular, with a small multiple of the identity added.
    Ridge,
    /// Singular and contradictory.
    Orthogonal,
}

impl Newton {
    /// Chooses the branches at `z` and solves for the step. False where the linear system has no solution that is finite.
    pub(super) fn linearise(&mut self, view: &View<'_>, z: &[f64]) -> bool {
        self.free.clear();
        for (k, &block) in view.blocks.iter().enumerate() {
            self.branch(view, k, block, z);
        }
        self.assemble(view, z);
        self.solve(z)
    }

    /// Chooses the branch of one block.
    fn branch(&mut self, view: &View<'_>, k: usize, block: Block, z: &[f64]) {
        let first = view.first[k];
        let x = self.d[first] * z[first] - self.w[first];
        match block {
            Block::Equality => self.set_free(first, Law::Velocity),
            Block::Unilateral => {
                if x > 0.0 {
                    self.set_free(first, Law::Velocity);
                } else {
                    self.set_fixed(first, -z[first]);
                }
            }
            Block::Box { lo, hi } => {
                let d = self.d[first];
                if x < d * lo {
                    self.set_fixed(first, lo - z[first]);
                } else if x > d * hi {
                    self.set_fixed(first, hi - z[first]);
                } else {
                    self.set_free(first, Law::Velocity);
                }
            }
            _ => {
                let radius = if block.is_contact() {
                    if x <= 0.0 {
                        for i in first..first + block.rows() {
                            self.set_fixed(i, -z[i]);
                        }
                        return;
                    }
                    self.set_free(first, Law::Velocity);
                    x / self.d[first]
                } else {
                    view.joint_load(k, z)
                };
                for (from, count, mu) in block.discs() {
                    self.branch_disc(first, first + from, count, (mu, radius), block, z);
                }
            }
        }
    }

    fn branch_disc(
        &mut self,
        normal: usize,
        first: usize,
        count: usize,
        (mu, radius): (f64, f64),
        block: Block,
        z: &[f64],
    ) {
        if count == 0 {
            return;
        }
        let d = self.d[first];
        let bound = d * mu * radius;
        let mut size = 0.0;
        for i in first..first + count {
            size += (d * z[i] - self.w[i]).powi(2);
        }
        if bound <= 0.0 {
            for i in first..first + count {
                self.set_fixed(i, -z[i]);
            }
        } else if size <= bound * bound {
            for i in first..first + count {
                self.set_free(i, Law::Velocity);
            }
        } else if count == 1 && block.is_contact() {
            let sign = (d * z[first] - self.w[first]).signum();
            self.role[first] = Role::Dependent(normal, mu * sign);
            self.step[first] = mu * sign * z[normal] - z[first];
        } else {
            for i in first..first + count {
                self.set_free(i, Law::Slip);
            }
        }
    }

    fn set_free(&mut self, i: usize, law: Law) {
        self.role[i] = Role::Free(if self.sparse.is_some() {
            i
        } else {
            self.free.len()
        });
        self.law[i] = law;
        self.step[i] = 0.0;
        self.free.push(i);
    }

    fn set_fixed(&mut self, i: usize, change: f64) {
        self.role[i] = Role::Fixed;
        self.step[i] = change;
    }

    /// Removes all branches, which are then prescribed, one for each row, by
    /// [`prescribe_zero_velocity`](Self::prescribe_zero_velocity), [`prescribe_impulse`](Self::prescribe_impulse) and
    /// [`prescribe_multiple`](Self::prescribe_multiple).
    pub fn clear_branches(&mut self, view: &View<'_>) {
        self.free.clear();
        self.w.copy_from_slice(view.q);
    }

    /// Prescribes `w = 0` in row `i`.
    pub fn prescribe_zero_velocity(&mut self, i: usize) {
        self.set_free(i, Law::Velocity);
    }

    /// Prescribes the impulse of row `i`.
    pub fn prescribe_impulse(&mut self, i: usize, value: f64) {
        self.set_fixed(i, value);
    }

    /// Prescribes the impulse of row `i` as a multiple of that of `leader`.
    pub fn prescribe_multiple(&mut self, i: usize, leader: usize, factor: f64) {
        self.role[i] = Role::Dependent(leader, factor);
        self.step[i] = 0.0;
    }

    /// Rows in which `w = 0` is prescribed.
    pub fn closed_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.free.iter().copied()
    }

    /// The point of the prescribed branches, by least squares where their system is singular. Returns the smallest over the
    /// largest pivot of a regular system.
    pub fn point_of_branches(&mut self, view: &View<'_>, z: &mut [f64]) -> Option<f64> {
        z.fill(0.0);
        self.assemble(view, z);
        if !self.solve(z) {
            return None;
        }
        z.copy_from_slice(&self.step);
        self.regular.then_some(self.pivots)
    }

    /// Whether the last linear system was singular up to the rounding of its pivots.
    pub fn is_singular(&self) -> bool {
        self.pivots <= NOT_SINGULAR * self.free.len() as f64
    }

    /// The scaled linear system of the free unknowns; of a sparse problem of all unknowns, so that its pattern stays.
    fn assemble(&mut self, view: &View<'_>, z: &[f64]) {
        let mut m = self.free.len();
        if let Some(sparse) = &mut self.sparse {
            m = self.role.len();
            sparse.clear();
            for (i, role) in self.role.iter().enumerate() {
                if !matches!(role, Role::Free(_)) {
                    sparse.entry(i, i, 1.0);
                }
            }
        } else {
            self.jacobian.reset(m, m);
        }
        self.rhs.clear();
        self.rhs.resize(m, 0.0);
        for n in 0..self.free.len() {
            let i = self.free[n];
            if self.law[i] == Law::Velocity
                && let Role::Free(a) = self.role[i]
            {
                let known = self.velocity_row(view, i, a, self.s[i]);
                self.rhs[a] -= self.s[i] * (self.w[i] + known);
            }
        }
        for (k, &block) in view.blocks.iter().enumerate() {
            let first = view.first[k];
            let contact = block.is_contact();
            if contact && self.role[first] == Role::Fixed {
                continue;
            }
            for (from, count, mu) in block.discs() {
                if count > 0 && self.slips(first + from) {
                    self.slip_rows(view, k, (first + from, count, mu), z);
                }
            }
        }
    }

    fn slips(&self, i: usize) -> bool {
        matches!(self.role[i], Role::Free(_)) && self.law[i] == Law::Slip
    }

    /// Adds to entry `(a, b)` of the linear system.
    #[inline]
    fn add_entry(&mut self, a: usize, b: usize, value: f64) {
        match &mut self.sparse {
            Some(sparse) => sparse.entry(a, b, value),
            None => self.jacobian[(a, b)] += value,
        }
    }

    /// Adds `factor` times row `i` of the matrix to row `a` of the system; returns the contribution of the given changes.
    fn velocity_row(&mut self, view: &View<'_>, i: usize, a: usize, factor: f64) -> f64 {
        let mut known = match view.matrix {
            Matrix::Dense(matrix) => self.dense_row(matrix.row(i), a, factor),
            Matrix::Rows(matrix) => self.sparse_row(matrix.cols(i), matrix.values(i), a, factor),
        };
        if self.shift > 0.0 {
            let own = self.shift / (self.s[i] * self.s[i]);
            match self.role[i] {
                Role::Free(b) => self.add_entry(a, b, factor * self.s[i] * own),
                Role::Fixed => known += own * self.step[i],
                Role::Dependent(..) => {}
            }
        }
        known
    }

    fn dense_row(&mut self, row: &[f64], a: usize, factor: f64) -> f64 {
        let to = self.jacobian.row_mut(a);
        let mut known = 0.0;
        let columns = row.iter().zip(&self.role);
        for ((value, role), (s, step)) in columns.zip(self.s.iter().zip(&self.step)) {
            match *role {
                Role::Free(b) => to[b] += factor * s * value,
                Role::Fixed => known += value * step,
                Role::Dependent(leader, c) => {
                    known += value * step;
                    if let Role::Free(b) = self.role[leader] {
                        to[b] += factor * self.s[leader] * c * value;
                    }
                }
            }
        }
        known
    }

    fn sparse_row(&mut self, cols: &[usize], values: &[f64], a: usize, factor: f64) -> f64 {
        let mut known = 0.0;
        for (&j, value) in cols.iter().zip(values) {
            match self.role[j] {
                Role::Free(b) => self.add_entry(a, b, factor * self.s[j] * value),
                Role::Fixed => known += value * self.step[j],
                Role::Dependent(leader, c) => {
                    known += value * self.step[j];
                    if let Role::Free(b) = self.role[leader] {
                        self.add_entry(a, b, factor * self.s[leader] * c * value);
                    }
                }
            }
        }
        known
    }

    /// Rows of a disc that slips: `z_T + dz_T = ρ (e + P (dx)/|x|)`, `ρ` the radius that the impulses give after the step.
    fn slip_rows(
        &mut self,
        view: &View<'_>,
        k: usize,
        (first, count, mu): (usize, usize, f64),
        z: &[f64],
    ) {
        let block = view.blocks[k];
        let normal = view.first[k];
        let d = self.d[first];
        let mut e = [0.0; 2];
        for c in 0..count {
            e[c] = d * z[first + c] - self.w[first + c];
        }
        let size = norm(&e[..count]);
        e = e.map(|v| v / size);
        let joint_load = view.joint_load(k, z);
        let (load, bound) = if block.is_contact() {
            let x = z[normal] - self.w[normal] / self.d[normal];
            (z[normal], d * mu * x)
        } else {
            (joint_load, d * mu * joint_load)
        };
        let share = bound / size;
        for r in 0..count {
            let i = first + r;
            let Role::Free(a) = self.role[i] else {
                continue;
            };
            let s = self.s[i];
            let mut rhs = -d * (z[i] - mu * load * e[r]);
            for c in 0..count {
                let tangent = if r == c { 1.0 } else { 0.0 } - e[r] * e[c];
                let own = if r == c { d } else { 0.0 } - share * tangent * d;
                if let Role::Free(b) = self.role[first + c] {
                    self.add_entry(a, b, s * self.s[first + c] * own);
                }
                if count > 1 {
                    let factor = share * tangent;
                    rhs -= factor * self.velocity_row(view, first + c, a, s * factor);
                }
            }
            match block {
                Block::JointCoulomb {
                    first_normal,
                    normals,
                    ..
                } => {
                    for j in first_normal..first_normal + normals {
                        if let Role::Free(b) = self.role[j] {
                            let slope = mu * d * e[r] * z[j] / joint_load;
                            self.add_entry(a, b, -s * self.s[j] * slope);
                        }
                    }
                }
                _ => {
                    if let Role::Free(b) = self.role[normal] {
                        self.add_entry(a, b, -s * self.s[normal] * mu * d * e[r]);
                    }
                }
            }
            self.rhs[a] += s * rhs;
        }
    }

    /// Solves the linear system and completes the step; a least-squares step where it is singular.
    pub(super) fn solve(&mut self, z: &[f64]) -> bool {
        if self.sparse.is_some() {
            return self.solve_sparse(z) && self.expand_step();
        }
        self.factors = Factors::Regular;
        self.ridge = 0.0;
        self.pivots = match self.lu.factorise(&self.jacobian) {
            Ok(_) => self.lu.pivot_ratio(),
            Err(_) => 0.0,
        };
        self.regular = self.pivots > RANK_TOLERANCE;
        if !self.regular {
            self.use_point_as_unknown(z);
            if !self.solve_singular() {
                return false;
            }
            self.step_from_point(z);
            return self.expand_step();
        }
        self.solve_with_factors();
        self.expand_step()
    }

    /// `y` from `rhs` where the matrix is singular: the limit of solutions with a vanishing multiple of the identity added, or the
    /// least-squares solution of least norm where that does not exist.
    fn solve_singular(&mut self) -> bool {
        let m = self.free.len();
        self.factors = Factors::Ridge;
        for ridge in RIDGES {
            self.add_to_diagonal(ridge - self.ridge);
            if self.lu.factorise(&self.jacobian).is_ok() && self.solve_with_ridge() {
                return true;
            }
        }
        if m > ORTHOGONAL_LIMIT {
            return self.y.len() == m;
        }
        self.add_to_diagonal(-self.ridge);
        self.factors = Factors::Orthogonal;
        self.rank.factorise(&self.jacobian);
        self.solve_with_factors();
        true
    }

    fn add_to_diagonal(&mut self, change: f64) {
        self.ridge += change;
        for a in 0..self.free.len() {
            self.jacobian[(a, a)] += change;
        }
    }

    /// With `absolute`, changes the right-hand side so that the unknown is the point, not the step.
    fn use_point_as_unknown(&mut self, z: &[f64]) {
        if !self.absolute {
            return;
        }
        self.residual.clear();
        self.residual.resize(self.rhs.len(), 0.0);
        for &i in &self.free {
            if let Role::Free(a) = self.role[i] {
                self.residual[a] = z[i] / self.s[i];
            }
        }
        // A sparse matrix contains the regularisation already.
        axpy(-self.ridge, &self.residual, &mut self.rhs);
        match &self.sparse {
            Some(sparse) => sparse.apply_add(1.0, &self.residual, &mut self.rhs),
            None => self.jacobian.apply_add(1.0, &self.residual, &mut self.rhs),
        }
    }

    /// With `absolute`, changes the point in `y` to the step.
    fn step_from_point(&mut self, z: &[f64]) {
        if !self.absolute {
            return;
        }
        for &i in &self.free {
            if let Role::Free(a) = self.role[i] {
                self.y[a] -= z[i] / self.s[i];
            }
        }
    }

    /// A sparse system is always regularised, because its factorisation does not reveal whether it is singular.
    fn solve_sparse(&mut self, z: &[f64]) -> bool {
        self.factors = Factors::Ridge;
        self.regular = false;
        self.ridge = SPARSE_RIDGE;
        let Some(sparse) = &mut self.sparse else {
            return false;
        };
        for a in 0..self.role.len() {
            sparse.entry(a, a, SPARSE_RIDGE);
        }
        if sparse.factorise().is_err() {
            return false;
        }
        self.use_point_as_unknown(z);
        if !self.solve_with_ridge() {
            return false;
        }
        self.step_from_point(z);
        true
    }

    /// `x ← (J + ε)⁻¹ x`.
    fn inverse_with_ridge(lu: &Lu, sparse: Option<&SquareMatrix>, x: &mut [f64]) {
        match sparse {
            Some(sparse) => sparse.solve(x),
            None => lu.solve(x),
        }
    }

    /// `y` from `rhs` with the last factorisation.
    fn solve_with_factors(&mut self) {
        match self.factors {
            Factors::Regular => {
                self.y.clone_from(&self.rhs);
                self.lu.solve(&mut self.y);
            }
            Factors::Ridge => {
                self.solve_with_ridge();
            }
            Factors::Orthogonal => {
                self.y.clear();
                self.y.resize(self.rhs.len(), 0.0);
                self.residual.clone_from(&self.rhs);
                self.rank.solve(&mut self.residual, &mut self.y);
            }
        }
    }

    /// `y` from `rhs` with the regularised matrix, corrected for the regularisation. Whether the system is consistent and the solution is
    /// not too large.
    fn solve_with_ridge(&mut self) -> bool {
        let size = max_abs(&self.rhs);
        let sparse = self.sparse.as_deref();
        let largest = if sparse.is_some() {
            f64::INFINITY
        } else {
            MAX_AMPLIFICATION * size
        };
        self.y.clone_from(&self.rhs);
        Self::inverse_with_ridge(&self.lu, sparse, &mut self.y);
        let mut before = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            self.residual.clone_from(&self.rhs);
            match sparse {
                Some(sparse) => sparse.apply_add(-1.0, &self.y, &mut self.residual),
                None => self.jacobian.apply_add(-1.0, &self.y, &mut self.residual),
            }
            axpy(self.ridge, &self.y, &mut self.residual);
            let residual_size = max_abs(&self.residual);
            if residual_size <= 1e-14 * size || !(residual_size <= 0.5 * before) {
                before = before.min(residual_size);
                break;
            }
            before = residual_size;
            Self::inverse_with_ridge(&self.lu, sparse, &mut self.residual);
            axpy(1.0, &self.residual, &mut self.y);
        }
        before <= CONSISTENT * size && max_abs(&self.y) <= largest
    }

    /// The step with the last branches and factors (chord method), where all branches are linear and fixed impulses have their values.
    pub(super) fn chord(&mut self) -> bool {
        if self.sparse.is_some() || self.free.iter().any(|&i| self.law[i] == Law::Slip) {
            return false;
        }
        self.rhs.clear();
        for &i in &self.free {
            self.rhs.push(-self.s[i] * self.w[i]);
        }
        for (i, role) in self.role.iter().enumerate() {
            if !matches!(role, Role::Free(_)) {
                self.step[i] = 0.0;
            }
        }
        self.solve_with_factors();
        self.expand_step()
    }

    /// The changes of all impulses from those of the scaled free unknowns `y`.
    fn expand_step(&mut self) -> bool {
        for i in 0..self.role.len() {
            if let Role::Free(a) = self.role[i] {
                self.step[i] = self.s[i] * self.y[a];
            }
        }
        for i in 0..self.role.len() {
            if let Role::Dependent(leader, c) = self.role[i] {
                self.step[i] += c * self.step[leader];
            }
        }
        self.step.iter().all(|v| v.is_finite())
    }
}
