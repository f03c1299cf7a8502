//! The problem that a time step poses: impulses `z` and velocities `w = A z + q` that obey, block by block, the laws of
//! constraints, contacts and dry friction.
// Negated comparisons, so that NaN exceeds every bound.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod block;
mod canonical;
mod closed_form;
mod data;
mod enumeration;
mod gauss_seidel;
mod general;
mod islands;
mod linearise;
mod matrix;
mod newton;
mod reduction;
mod residual;
mod warm_start;

pub use block::{Block, BlockState};
pub use data::{ContactData, ContactDataError};

use crate::operator::Product;
use crate::outcome::{Status, Tolerance};
use enumeration::Enumerated;
use general::Solver;
use islands::{DENSE_LIMIT, Islands, Part};
use matrix::{Matrix, Storage};
use newton::Newton;
use residual::{Compliance, View, natural_map};
use saltus_linear::Dense;
use std::sync::Arc;
use warm_start::WarmStart;

/// Rows of the largest problem whose matrix is assembled from products.
pub const CONTACT_ASSEMBLY_LIMIT: usize = 6000;

/// Find impulses `z` and velocities `w = A z + q` that obey the law of every block.
///
/// The problem is posed anew for every step: [`begin`](Self::begin), [`push`](Self::push) the blocks, fill `A`
/// ([`matrix_mut`](Self::matrix_mut), or [`begin_sparse`](Self::begin_sparse) and [`add`](Self::add)) and `q`
/// ([`q_mut`](Self::q_mut)), choose a guess ([`guess_from_memory`](Self::guess_from_memory)), [`solve`](Self::solve). `A` may be
/// unsymmetric and singular. Buffers are kept: nothing is allocated for a dense problem no larger than the largest met, except by
/// the last fallbacks.
///
/// Impulses in N s (N m s), velocities in m/s (rad/s). `q` contains restitution: `q_N = free velocity + e u⁻`.
///
/// ```
/// use saltus_complementarity::{Block, BlockState, ContactProblem, Tolerance};
///
/// // A mass of 2 kg that hits a plane at 1 m/s while it slides at 3 m/s.
/// let mut problem = ContactProblem::default();
/// problem.begin();
/// let mu = 0.5;
/// problem.push(7, Block::Coulomb { mu, tangents: 1 });
/// let a = problem.matrix_mut();
/// a[(0, 0)] = 0.5;
/// a[(1, 1)] = 0.5;
/// problem.q_mut().copy_from_slice(&[-1.0, 3.0]);
/// assert!(problem.solve(Tolerance::default()).is_solved());
/// assert_eq!(problem.z(), [2.0, -1.0]);
/// assert_eq!(problem.state(0), BlockState::Slip);
/// ```
#[derive(Debug, Default)]
pub struct ContactProblem {
    ids: Vec<u64>,
    blocks: Vec<Block>,
    /// First row of each block.
    first: Vec<usize>,
    q: Vec<f64>,
    z: Vec<f64>,
    /// Whether a block was replaced by one of another shape.
    shape_changed: bool,
    storage: Storage,
    warm_start: WarmStart,
    solver: Solver,
    islands: Islands,
    part: Part,
}

/// Whether no combination of modes of a few planar contacts, with the coefficients `mu`, the matrix `A` and the velocities `q`,
/// obeys their laws, each of them by more than rounding. False where there are too many contacts to try all.
pub(crate) fn has_no_mode(mu: &[f64], matrix: &Dense, q: &[f64]) -> bool {
    let block = |mu: &f64| Block::Coulomb {
        mu: *mu,
        tangents: 1,
    };
    let view = View {
        blocks: &mu.iter().map(block).collect::<Vec<_>>(),
        first: &(0..mu.len()).map(|k| 2 * k).collect::<Vec<_>>(),
        matrix: Matrix::Dense(matrix),
        q,
    };
    let mut newton = Newton::default();
    newton.load(&view);
    let (mut z, tolerance) = (vec![0.0; q.len()], Tolerance::default());
    let (found, _) =
        enumeration::search(&mut newton, &view, &mut z, &tolerance, enumeration::LIMIT);
    found == Enumerated::NoSolution
}

/// Outcome of a solve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactOutcome {
    /// `Solved` only where the residual, recomputed from the data, is within tolerance; `Infeasible` only with a proof;
    /// `Inconsistent` where the problem is malformed (a negative coefficient, `lo > hi`, carrying rows of a joint that are no
    /// equalities, entries outside of the matrix) or its equations contradict each other.
    pub status: Status,
    /// Iterations of all methods together; closed forms need none.
    pub iterations: u32,
    /// [`ContactProblem::residual`] of the point.
    pub residual: f64,
    /// How many impulses are not unique.
    pub redundant: u32,
    /// Whether a contact alone has several solutions with different velocities (Painlevé); the first in the order open, stick, slip
    /// is taken. Not determined for other problems.
    pub multiple: bool,
}

impl ContactOutcome {
    /// Whether the point is a solution.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.status == Status::Solved
    }
}

impl ContactProblem {
    /// Starts a new problem: removes all blocks and the matrix, keeps buffers and the impulses for warm starts.
    #[inline]
    pub fn begin(&mut self) {
        self.ids.clear();
        self.blocks.clear();
        self.first.clear();
        self.q.clear();
        self.z.clear();
        self.shape_changed = false;
        self.storage.begin();
        self.warm_start.begin();
    }

    /// Appends a block and returns its first row; `q` and `z` are zero there. The `id` identifies its impulses in
    /// the next problem.
    #[inline]
    pub fn push(&mut self, id: u64, block: Block) -> usize {
        let first = self.q.len();
        self.ids.push(id);
        self.blocks.push(block);
        self.first.push(first);
        let rows = first + block.rows();
        self.q.resize(rows, 0.0);
        self.z.resize(rows, 0.0);
        self.storage.resized();
        first
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.q.len()
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Block `k`.
    #[must_use]
    pub fn block(&self, k: usize) -> Block {
        self.blocks[k]
    }

    /// The id of block `k`.
    #[must_use]
    pub fn id(&self, k: usize) -> u64 {
        self.ids[k]
    }

    /// First row of block `k`.
    #[must_use]
    pub fn first_row(&self, k: usize) -> usize {
        self.first[k]
    }

    /// Replaces the numbers of the law of block `k` (coefficients, bounds, carrying rows). A block of another kind or size is a
    /// mistake that the next solve reports as `Inconsistent`.
    pub fn set_block(&mut self, k: usize, block: Block) {
        if self.blocks[k].same_shape(block) {
            self.blocks[k] = block;
        } else {
            self.shape_changed = true;
        }
    }

    /// The dense matrix `A` (rows × rows), zero at the first call after blocks were pushed. Makes a sparse problem dense.
    #[inline]
    pub fn matrix_mut(&mut self) -> &mut Dense {
        self.storage.dense_mut(self.q.len())
    }

    /// Makes the matrix sparse and empty; fill it by [`add`](Self::add).
    pub fn begin_sparse(&mut self) {
        self.storage.begin_sparse();
    }

    /// Adds `value` to entry `(row, col)` of the matrix, dense or sparse.
    pub fn add(&mut self, row: usize, col: usize, value: f64) {
        self.storage.add(self.q.len(), row, col, value);
    }

    /// Sets a matrix that is given by its products only. Its entries are computed by as many products as it has rows, at most
    /// [`CONTACT_ASSEMBLY_LIMIT`].
    pub fn free(&mut self, product: Arc<dyn Product>) {
        self.storage.set_product_operator(product);
    }

    /// Velocities without impulses `q` (rows).
    #[must_use]
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// The same, to be written.
    #[must_use]
    pub fn q_mut(&mut self) -> &mut [f64] {
        &mut self.q
    }

    /// Impulses `z` (rows): the guess before, the solution after [`solve`](Self::solve).
    #[must_use]
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// The same, to be written.
    #[must_use]
    pub fn z_mut(&mut self) -> &mut [f64] {
        &mut self.z
    }

    /// `w ← A z + q` (rows).
    pub fn velocity(&self, w: &mut [f64]) {
        self.view().velocity(&self.z, w);
    }

    /// Guesses the impulses of the problem solved last, by id; zero where the id, or the shape of its block, is new.
    pub fn guess_from_memory(&mut self) {
        for k in 0..self.blocks.len() {
            let (first, block) = (self.first[k], self.blocks[k]);
            let own = &mut self.z[first..first + block.rows()];
            match self.warm_start.impulses_of(self.ids[k], block, k) {
                Some(z) => own.copy_from_slice(z),
                None => own.fill(0.0),
            }
        }
    }

    /// Id, law and impulses of every block of the problem solved last, as used by
    /// [`guess_from_memory`](Self::guess_from_memory).
    pub fn memory(&self) -> impl Iterator<Item = (u64, Block, &[f64])> {
        self.warm_start.iter()
    }

    /// Removes the impulses of the problem solved last.
    pub fn forget(&mut self) {
        self.warm_start.clear();
    }

    /// Adds the impulses of a block to those for warm starts; only the shape of its law is used.
    pub fn remember(&mut self, id: u64, block: Block, z: &[f64]) {
        self.warm_start.push(id, block, z);
    }

    /// Diagonal entry of `A` [1/kg]; of a sparse or free matrix after [`solve`](Self::solve).
    #[must_use]
    pub fn compliance(&self, row: usize) -> f64 {
        self.matrix().entry(row, row)
    }

    /// Solves the problem from the guess in [`z`](Self::z), which is replaced by the solution; where none is found, by the point of
    /// smallest residual.
    ///
    /// The residual of a block may be `tolerance.floor + tolerance.residual · s`, `s` being the smaller of the sum of the absolute
    /// terms of its velocity and of `√d ‖q‖` with `‖q‖² = Σ q_i²/d_i`, `d` the diagonal of `A`; beyond that the rounding of those
    /// terms (1e-14 of them). Equalities and unilateral rows alone are judged as by [`MlcpSolver`](crate::MlcpSolver).
    pub fn solve(&mut self, tolerance: Tolerance) -> ContactOutcome {
        let outcome = self.dispatch(tolerance);
        if outcome.is_solved() {
            self.warm_start
                .store(&self.ids, &self.blocks, &self.first, &self.z);
        }
        outcome
    }

    #[inline]
    fn dispatch(&mut self, tolerance: Tolerance) -> ContactOutcome {
        let n = self.q.len();
        if self.shape_changed || !self.storage.prepare(n) || !self.laws_are_valid() {
            return general::outcome_of(Status::Inconsistent, 0, f64::NAN);
        }
        if n == 0 {
            return general::outcome_of(Status::Solved, 0, 0.0);
        }
        let view = View {
            blocks: &self.blocks,
            first: &self.first,
            matrix: self.storage.matrix(),
            q: &self.q,
        };
        let linear = |b: &Block| matches!(b, Block::Equality | Block::Unilateral);
        if let Matrix::Dense(matrix) = view.matrix {
            if let [block] = self.blocks[..]
                && let Some(outcome) =
                    general::solve_single(&view, block, matrix, &mut self.z, &tolerance)
            {
                return outcome;
            }
            if self.blocks.iter().all(linear) {
                return self.solver.linear(&view, matrix, &mut self.z, tolerance);
            }
        }
        if general::all_separate(&view) {
            self.z.fill(0.0);
            return general::outcome_of(Status::Solved, 0, 0.0);
        }
        self.islands.find(&view);
        let whole = self.islands.count() == 1;
        let dense = matches!(view.matrix, Matrix::Dense(_));
        if whole && (dense || n > DENSE_LIMIT) {
            return self.solver.solve(&view, &mut self.z, tolerance);
        }
        let mut whole = general::outcome_of(Status::Solved, 0, 0.0);
        for i in 0..self.islands.count() {
            let members = self.islands.blocks(i);
            self.part.gather(&view, members, &self.z);
            let (part, z) = self.part.view();
            let outcome = self.solver.solve(&part, z, tolerance);
            self.part.scatter(&mut self.z);
            whole.include(outcome);
        }
        whole
    }

    /// Whether all laws are admissible.
    #[inline]
    fn laws_are_valid(&self) -> bool {
        self.blocks.iter().all(|block| self.is_valid(*block))
    }

    /// Whether the law of a block is admissible in this problem.
    #[inline]
    fn is_valid(&self, block: Block) -> bool {
        match block {
            Block::JointCoulomb {
                first_normal,
                normals,
                ..
            } => block.is_valid() && self.are_equalities(first_normal, normals),
            _ => block.is_valid(),
        }
    }

    #[cold]
    fn are_equalities(&self, first: usize, count: usize) -> bool {
        let end = first.checked_add(count);
        end.is_some_and(|end| end <= self.q.len())
            && (first..first + count).all(|row| {
                let found = self.first.binary_search(&row);
                found.is_ok_and(|k| self.blocks[k] == Block::Equality)
            })
    }

    /// Converts the matrix to the form used by the solvers.
    fn prepare(&mut self) -> bool {
        self.storage.prepare(self.q.len())
    }

    fn matrix(&self) -> Matrix<'_> {
        self.storage.matrix()
    }

    fn view(&self) -> View<'_> {
        View {
            blocks: &self.blocks,
            first: &self.first,
            matrix: self.matrix(),
            q: &self.q,
        }
    }

    /// Residual of the natural map at `z` [m/s], recomputed from `A`, `q` and `z`: the largest over the blocks of the norm of
    /// `F/r` with `r = 1/d`, `d` the diagonal of the row (of a disc of friction its largest), and
    ///
    /// * `|w|` of an equality, `|min(d z, w)|` of a unilateral row, `|d z − clamp(d z − w, d lo, d hi)|` of a box,
    /// * `min(d z_N, w_N)` and `d z_T − P(d z_T − w_T)` of a contact, `P` the projection on the disc of radius `d μ z_N⁺`;
    ///   rolling rows, multiplied by `√(d_N/d_R)`, likewise; of a joint the disc of its carrying impulses.
    ///
    /// NaN where `z` or `w` is. Of a sparse or free matrix after [`solve`](Self::solve).
    #[must_use]
    pub fn residual(&self) -> f64 {
        self.worst_block().1
    }

    /// The largest residual of a block over the scale `s` of [`solve`](Self::solve), without a unit: what `tolerance.residual`
    /// bounds. Infinite where a block without data has a residual. Of a sparse or free matrix after [`solve`](Self::solve).
    #[must_use]
    pub fn relative_residual(&self) -> f64 {
        let view = self.view();
        let mut w = vec![0.0; self.q.len()];
        view.velocity(&self.z, &mut w);
        view.relative(&self.z, &w)
    }

    /// The block with the largest residual, and that residual; (0, 0) of an empty problem.
    #[must_use]
    pub fn worst_block(&self) -> (usize, f64) {
        let mut worst = (0, 0.0);
        for k in 0..self.blocks.len() {
            let residual = self.block_residual(k);
            if residual > worst.1 || residual.is_nan() {
                worst = (k, residual);
            }
            if residual.is_nan() {
                break;
            }
        }
        worst
    }

    /// Residual of block `k` alone [m/s], as in [`residual`](Self::residual).
    #[must_use]
    pub fn block_residual(&self, k: usize) -> f64 {
        let (view, first) = (self.view(), self.first[k]);
        let mut w = [0.0; 5];
        let rows = self.blocks[k].rows();
        for (i, w) in w[..rows].iter_mut().enumerate() {
            *w = self.q[first + i] + view.matrix.row_dot(first + i, &self.z);
        }
        self.block_residual_at(k, &w[..rows])
    }

    /// Residual of block `k` at velocities `w` of its rows that come from elsewhere [m/s].
    ///
    /// # Panics
    /// Where `w` has fewer entries than the block has rows.
    #[must_use]
    pub fn block_residual_at(&self, k: usize, w: &[f64]) -> f64 {
        let (view, block, first) = (self.view(), self.blocks[k], self.first[k]);
        let d = Compliance::of(block, |i| view.matrix.entry(first + i, first + i));
        let z = &self.z[first..first + block.rows()];
        natural_map(block, z, w, &d, view.joint_load(k, &self.z))
    }

    /// State of block `k`, from `z` and `w`.
    #[must_use]
    pub fn state(&self, k: usize) -> BlockState {
        let (view, first) = (self.view(), self.first[k]);
        let mut w = [0.0; 5];
        let rows = self.blocks[k].rows();
        for (i, w) in w[..rows].iter_mut().enumerate() {
            *w = self.q[first + i] + view.matrix.row_dot(first + i, &self.z);
        }
        view.state(k, &self.z, &w[..rows])
    }
}

impl ContactOutcome {
    /// Includes the outcome of one island.
    fn include(&mut self, part: Self) {
        if self.status == Status::Solved {
            self.status = part.status;
        } else if part.status == Status::Infeasible {
            self.status = Status::Infeasible;
        }
        self.iterations = self.iterations.saturating_add(part.iterations);
        self.residual = crate::verdict::max_or_nan(self.residual, part.residual);
        self.redundant += part.redundant;
        self.multiple |= part.multiple;
    }
}
