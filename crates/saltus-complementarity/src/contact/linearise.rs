//! One step of the semismooth Newton method: the branches of all laws at a point and their linear system.

use super::block::Block;
use super::matrix::Matrix;
use super::newton::Newton;
use super::residual::View;
use crate::cone::norm;
use saltus_linear::{Lu, MatrixSink, RANK_TOLERANCE, SquareMatrix, axpy, max_abs};

/// Regularisation of singular systems, relative to their scaled diagonal: one that costs few digits, and one for ill-conditioned
/// systems.
const RIDGES: [f64; 2] = [1e-4, 1e-8];
/// Regularisation of sparse systems.
const SPARSE_RIDGE: f64 = 1e-8;
/// A singular system whose equations hold to this, relative, is consistent.
const CONSISTENT: f64 = 1e-8;
/// Corrections that take the regularisation back.
const CORRECTIONS: u32 = 20;
/// Its solution is at most this many times as large as its right-hand side.
const LARGEST: f64 = 1e5;
/// Unknowns up to which contradictory systems are solved by an orthogonal factorisation.
const ORTHOGONAL: usize = 100;

/// How an unknown takes part in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// An unknown of the linear system, with its number there.
    Free(usize),
    /// Its change is known.
    Fixed,
    /// Its change is known up to a multiple of that of another row: its row and the factor.
    Follows(usize, f64),
}

/// What row of the linear system belongs to an unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// `w = 0`.
    Velocity,
    /// Slip of a disc with two rows, or of a joint.
    Slip,
}

/// What the last linear system was factorised into.
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

    /// Decides how the rows of one block take part.
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
                    view.carried(k, z)
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
            self.part[first] = Part::Follows(normal, mu * sign);
            self.step[first] = mu * sign * z[normal] - z[first];
        } else {
            for i in first..first + count {
                self.set_free(i, Law::Slip);
            }
        }
    }

    fn set_free(&mut self, i: usize, law: Law) {
        self.part[i] = Part::Free(if self.sparse.is_some() {
            i
        } else {
            self.free.len()
        });
        self.law[i] = law;
        self.step[i] = 0.0;
        self.free.push(i);
    }

    fn set_fixed(&mut self, i: usize, change: f64) {
        self.part[i] = Part::Fixed;
        self.step[i] = change;
    }

    /// Forgets all branches: from here on they are prescribed, one for each row, by
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
        self.part[i] = Part::Follows(leader, factor);
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
        self.regular.then(|| self.lu.pivot_ratio())
    }

    /// The scaled linear system of the free unknowns; of a sparse problem of all unknowns, so that its pattern stays.
    fn assemble(&mut self, view: &View<'_>, z: &[f64]) {
        let mut m = self.free.len();
        if let Some(sparse) = &mut self.sparse {
            m = self.part.len();
            sparse.clear();
            for (i, part) in self.part.iter().enumerate() {
                if !matches!(part, Part::Free(_)) {
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
                && let Part::Free(a) = self.part[i]
            {
                let known = self.velocity_row(view, i, a, self.s[i]);
                self.rhs[a] -= self.s[i] * (self.w[i] + known);
            }
        }
        for (k, &block) in view.blocks.iter().enumerate() {
            let first = view.first[k];
            let contact = block.is_contact();
            if contact && self.part[first] == Part::Fixed {
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
        matches!(self.part[i], Part::Free(_)) && self.law[i] == Law::Slip
    }

    /// Adds to entry `(a, b)` of the linear system.
    #[inline]
    fn add_entry(&mut self, a: usize, b: usize, value: f64) {
        match &mut self.sparse {
            Some(sparse) => sparse.entry(a, b, value),
            None => self.jacobian[(a, b)] += value,
        }
    }

    /// Adds `factor` times row `i` of the matrix to row `a` of the system; returns what the known changes contribute.
    fn velocity_row(&mut self, view: &View<'_>, i: usize, a: usize, factor: f64) -> f64 {
        let mut known = match view.matrix {
            Matrix::Dense(matrix) => self.dense_row(matrix.row(i), a, factor),
            Matrix::Rows(matrix) => self.sparse_row(matrix.cols(i), matrix.values(i), a, factor),
        };
        if self.shift > 0.0 {
            let own = self.shift / (self.s[i] * self.s[i]);
            match self.part[i] {
                Part::Free(b) => self.add_entry(a, b, factor * self.s[i] * own),
                Part::Fixed => known += own * self.step[i],
                Part::Follows(..) => {}
            }
        }
        known
    }

    fn dense_row(&mut self, row: &[f64], a: usize, factor: f64) -> f64 {
        let to = self.jacobian.row_mut(a);
        let mut known = 0.0;
        let columns = row.iter().zip(&self.part);
        for ((value, part), (s, step)) in columns.zip(self.s.iter().zip(&self.step)) {
            match *part {
                Part::Free(b) => to[b] += factor * s * value,
                Part::Fixed => known += value * step,
                Part::Follows(leader, c) => {
                    known += value * step;
                    if let Part::Free(b) = self.part[leader] {
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
            match self.part[j] {
                Part::Free(b) => self.add_entry(a, b, factor * self.s[j] * value),
                Part::Fixed => known += value * self.step[j],
                Part::Follows(leader, c) => {
                    known += value * self.step[j];
                    if let Part::Free(b) = self.part[leader] {
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
        let carried = view.carried(k, z);
        let (load, bound) = if block.is_contact() {
            let x = z[normal] - self.w[normal] / self.d[normal];
            (z[normal], d * mu * x)
        } else {
            (carried, d * mu * carried)
        };
        let share = bound / size;
        for r in 0..count {
            let i = first + r;
            let Part::Free(a) = self.part[i] else {
                continue;
            };
            let s = self.s[i];
            let mut rhs = -d * (z[i] - mu * load * e[r]);
            for c in 0..count {
                let tangent = if r == c { 1.0 } else { 0.0 } - e[r] * e[c];
                let own = if r == c { d } else { 0.0 } - share * tangent * d;
                if let Part::Free(b) = self.part[first + c] {
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
                        if let Part::Free(b) = self.part[j] {
                            let slope = mu * d * e[r] * z[j] / carried;
                            self.add_entry(a, b, -s * self.s[j] * slope);
                        }
                    }
                }
                _ => {
                    if let Part::Free(b) = self.part[normal] {
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
        self.regular =
            self.lu.factorise(&self.jacobian).is_ok() && self.lu.pivot_ratio() > RANK_TOLERANCE;
        if !self.regular {
            self.shift_to_point(z);
            if !self.solve_singular() {
                return false;
            }
            self.subtract_point(z);
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
        if m > ORTHOGONAL {
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

    /// Turns the right-hand side of the step into that of the point it leads to, where that is asked for.
    fn shift_to_point(&mut self, z: &[f64]) {
        if !self.absolute {
            return;
        }
        self.defect.clear();
        self.defect.resize(self.rhs.len(), 0.0);
        for &i in &self.free {
            if let Part::Free(a) = self.part[i] {
                self.defect[a] = z[i] / self.s[i];
            }
        }
        // Of a sparse matrix the regularisation is in it already.
        axpy(-self.ridge, &self.defect, &mut self.rhs);
        match &self.sparse {
            Some(sparse) => sparse.apply_add(1.0, &self.defect, &mut self.rhs),
            None => self.jacobian.apply_add(1.0, &self.defect, &mut self.rhs),
        }
    }

    /// Turns the point in `y` into the step to it.
    fn subtract_point(&mut self, z: &[f64]) {
        if !self.absolute {
            return;
        }
        for &i in &self.free {
            if let Part::Free(a) = self.part[i] {
                self.y[a] -= z[i] / self.s[i];
            }
        }
    }

    /// A sparse system is regularised in any case: nothing says whether it is singular.
    fn solve_sparse(&mut self, z: &[f64]) -> bool {
        self.factors = Factors::Ridge;
        self.regular = false;
        self.ridge = SPARSE_RIDGE;
        let Some(sparse) = &mut self.sparse else {
            return false;
        };
        for a in 0..self.part.len() {
            sparse.entry(a, a, SPARSE_RIDGE);
        }
        if sparse.factorise().is_err() {
            return false;
        }
        self.shift_to_point(z);
        if !self.solve_with_ridge() {
            return false;
        }
        self.subtract_point(z);
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
                self.defect.clone_from(&self.rhs);
                self.rank.solve(&mut self.defect, &mut self.y);
            }
        }
    }

    /// `y` from `rhs` with the regularised matrix and corrections that take the regularisation back. Says whether the equations hold
    /// and the solution is not too large to be one of the singular system.
    fn solve_with_ridge(&mut self) -> bool {
        let size = max_abs(&self.rhs);
        let sparse = self.sparse.as_deref();
        let largest = if sparse.is_some() {
            f64::INFINITY
        } else {
            LARGEST * size
        };
        self.y.clone_from(&self.rhs);
        Self::inverse_with_ridge(&self.lu, sparse, &mut self.y);
        let mut before = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            self.defect.clone_from(&self.rhs);
            match sparse {
                Some(sparse) => sparse.apply_add(-1.0, &self.y, &mut self.defect),
                None => self.jacobian.apply_add(-1.0, &self.y, &mut self.defect),
            }
            axpy(self.ridge, &self.y, &mut self.defect);
            let missed = max_abs(&self.defect);
            if missed <= 1e-14 * size || !(missed <= 0.5 * before) {
                before = before.min(missed);
                break;
            }
            before = missed;
            Self::inverse_with_ridge(&self.lu, sparse, &mut self.defect);
            axpy(1.0, &self.defect, &mut self.y);
        }
        before <= CONSISTENT * size && max_abs(&self.y) <= largest
    }

    /// The step of the last branches and factors from `z`, where all branches are linear and what they fix is met already.
    pub(super) fn chord(&mut self) -> bool {
        if self.sparse.is_some() || self.free.iter().any(|&i| self.law[i] == Law::Slip) {
            return false;
        }
        self.rhs.clear();
        for &i in &self.free {
            self.rhs.push(-self.s[i] * self.w[i]);
        }
        for (i, part) in self.part.iter().enumerate() {
            if !matches!(part, Part::Free(_)) {
                self.step[i] = 0.0;
            }
        }
        self.solve_with_factors();
        self.expand_step()
    }

    /// The changes of all impulses from those of the scaled free unknowns `y`.
    fn expand_step(&mut self) -> bool {
        for i in 0..self.part.len() {
            if let Part::Free(a) = self.part[i] {
                self.step[i] = self.s[i] * self.y[a];
            }
        }
        for i in 0..self.part.len() {
            if let Part::Follows(leader, c) = self.part[i] {
                self.step[i] += c * self.step[leader];
            }
        }
        self.step.iter().all(|v| v.is_finite())
    }
}
