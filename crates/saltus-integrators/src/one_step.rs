//! The one-step problem of a velocity-level scheme: constraint rows condensed through a factored
//! iteration matrix into a small mixed complementarity problem.
//!
//! With the linearised step `J δ = −r₀ + B z` and the rows `w = A (v + δ) + c`, the unknown
//! multipliers `z` (bilateral first, then contacts) solve
//! `w = (A J⁻¹ B) z + A (v − J⁻¹ r₀) + c`, `w = 0` in the bilateral rows and `0 ≤ z ⟂ w ≥ 0` in the others.
//! `A` equals `Bᵀ` unless the rows turn with the unknown velocity.

mod redundant;

use crate::integrator::FailedProblem;
use redundant::Redundant;
use saltus_complementarity::{
    Block, BlockState, ContactData, ContactOutcome, ContactProblem, Mlcp, MlcpSolver, Outcome,
    Tolerance,
};
use saltus_linear::{Dense, SparseRows, SquareMatrix, max_abs};

/// What the constants of the rows are known to, relative to the largest and to the unit of velocity: they are differences of
/// velocities, and conditions that hold already come out as noise of any sign.
const ROUND_OFF: f64 = 1e-12;

/// Condenses and solves, keeping its buffers.
#[derive(Debug, Default)]
pub(crate) struct OneStep {
    /// `J⁻¹ B`, one row (nv) per multiplier.
    columns: Dense,
    /// `Bᵀ` as far as `columns` belongs to it, and the factorisation it was solved with.
    known: SparseRows,
    known_for: u64,
    /// `A J⁻¹ B` (m × m).
    delassus: Dense,
    /// Constant part of `w` (m).
    q: Vec<f64>,
    solver: MlcpSolver,
    /// The same problem with friction, and how many equalities it begins with.
    problem: ContactProblem,
    equalities: usize,
    /// What takes the place of equalities that agree but for a little.
    redundant: Redundant,
}

/// Where row `i` of the one-step problem comes from: the matrix and the row in it.
pub(crate) type RowOf<'a> = &'a dyn Fn(usize) -> (&'a SparseRows, usize);

/// The shapes that the blocks of a step have, and their numbers in a memory.
const SHAPES: [Block; 7] = [
    Block::Equality,
    Block::Unilateral,
    Block::Coulomb {
        mu: 0.0,
        tangents: 1,
    },
    Block::Coulomb {
        mu: 0.0,
        tangents: 2,
    },
    Block::Box { lo: 0.0, hi: 0.0 },
    Block::JointCoulomb {
        mu: 0.0,
        tangents: 1,
        first_normal: 0,
        normals: 0,
    },
    Block::JointCoulomb {
        mu: 0.0,
        tangents: 2,
        first_normal: 0,
        normals: 0,
    },
];

/// Gives a problem whose blocks are known its matrix and constants.
fn set_data(problem: &mut ContactProblem, delassus: &Dense, q: &[f64]) {
    let matrix = problem.matrix_mut();
    if matrix.rows() == delassus.rows() {
        matrix.as_mut_slice().copy_from_slice(delassus.as_slice());
    }
    problem.q_mut().copy_from_slice(q);
}

fn kind_of(block: Block) -> f64 {
    let found = SHAPES.iter().position(|shape| shape.same_shape(block));
    found.unwrap_or(0) as f64
}

fn block_of(kind: f64) -> Block {
    SHAPES
        .get(kind as usize)
        .copied()
        .unwrap_or(Block::Equality)
}

impl OneStep {
    /// Prepares a problem of `m` multipliers over `n` velocities and condenses it:
    /// `forces(i)` is row `i` of `Bᵀ`, `rows(i)` row `i` of `A`.
    ///
    /// The columns of the last time are kept as far as rows and factorisation are the same.
    pub(crate) fn condense(
        &mut self,
        m: usize,
        n: usize,
        factored: &SquareMatrix,
        forces: RowOf<'_>,
        rows: RowOf<'_>,
    ) {
        let same = |i: usize| {
            let (matrix, row) = forces(i);
            self.known.cols(i) == matrix.cols(row) && self.known.values(i) == matrix.values(row)
        };
        let valid = factored.stamp() == self.known_for && self.columns.cols() == n;
        let kept = if valid {
            (0..m.min(self.known.len()))
                .take_while(|&i| same(i))
                .count()
        } else {
            0
        };
        self.columns.resize_rows(m, n, kept);
        self.known.truncate(kept);
        self.known_for = factored.stamp();
        for i in kept..m {
            let (matrix, row) = forces(i);
            matrix.axpy(row, 1.0, self.columns.row_mut(i));
            self.known.push(matrix.cols(row), matrix.values(row));
        }
        factored.solve_many(&mut self.columns.as_mut_slice()[kept * n..]);
        self.delassus.reset(m, m);
        for i in 0..m {
            let (matrix, row) = rows(i);
            for j in 0..m {
                self.delassus[(i, j)] = matrix.dot(row, self.columns.row(j));
            }
        }
        self.q.clear();
        self.q.resize(m, 0.0);
    }

    /// Prepares a problem of `m` multipliers with `A J⁻¹ B` from elsewhere; it has no columns here.
    pub(crate) fn take(&mut self, m: usize, entry: impl Fn(usize, usize) -> f64) {
        self.delassus.reset(m, m);
        for i in 0..m {
            for j in 0..m {
                self.delassus[(i, j)] = entry(i, j);
            }
        }
        self.q.clear();
        self.q.resize(m, 0.0);
    }

    /// The constant part of `w`, to be filled before [`solve`](Self::solve).
    pub(crate) fn q_mut(&mut self) -> &mut [f64] {
        &mut self.q
    }

    /// `A J⁻¹ B` (m × m).
    pub(crate) fn delassus(&self) -> &Dense {
        &self.delassus
    }

    /// Diagonal entry `i` of `A J⁻¹ B`: velocity per impulse.
    pub(crate) fn compliance(&self, i: usize) -> f64 {
        self.delassus[(i, i)]
    }

    /// Solves for the multipliers `z` (m) from the guess in `z`.
    pub(crate) fn solve(&mut self, equalities: usize, z: &mut [f64]) -> Outcome {
        self.solve_to(equalities, z, ROUND_OFF)
    }

    /// The same, until each row misses at most `tolerance`, relative to its own data and to the largest constant and unit of velocity.
    pub(crate) fn solve_to(&mut self, equalities: usize, z: &mut [f64], tolerance: f64) -> Outcome {
        let problem = Mlcp {
            equalities,
            matrix: &self.delassus,
            q: &self.q,
        };
        let tolerance = Tolerance {
            residual: tolerance,
            floor: tolerance * (1.0 + max_abs(&self.q)),
            ..Tolerance::default()
        };
        let outcome = self.solver.solve(&problem, z, tolerance);
        let redundant = &mut self.redundant;
        if outcome.is_solved() || !redundant.project(&self.delassus, &self.q, equalities) {
            return outcome;
        }
        let problem = Mlcp {
            equalities,
            matrix: &redundant.matrix,
            q: &redundant.q,
        };
        let again = self.solver.solve(&problem, z, tolerance);
        if again.is_solved() { again } else { outcome }
    }

    /// Poses the problem with laws, block by block: `(id, block)` in the order of the rows.
    pub(crate) fn pose(&mut self, blocks: impl Iterator<Item = (u64, Block)>) {
        self.problem.begin();
        self.equalities = 0;
        for (k, (id, block)) in blocks.enumerate() {
            if block == Block::Equality && self.equalities == k {
                self.equalities += 1;
            }
            self.problem.push(id, block);
        }
        set_data(&mut self.problem, &self.delassus, &self.q);
    }

    /// Changes the numbers of the law of block `k` of the problem posed.
    pub(crate) fn set_block(&mut self, k: usize, block: Block) {
        self.problem.set_block(k, block);
    }

    /// What block `k` of the problem posed does.
    pub(crate) fn block_state(&self, k: usize) -> BlockState {
        self.problem.state(k)
    }

    /// How far block `k` of the problem posed is from its law at the velocities `w` of its rows [m/s].
    pub(crate) fn block_residual_at(&self, k: usize, w: &[f64]) -> f64 {
        self.problem.block_residual_at(k, w)
    }

    /// How far block `k` of the problem posed is from its law at its impulses [m/s].
    pub(crate) fn block_residual(&self, k: usize) -> f64 {
        self.problem.block_residual(k)
    }

    /// The block that is satisfied least.
    pub(crate) fn worst_block(&self) -> usize {
        self.problem.worst_block().0
    }

    /// A copy of the problem posed, with its present impulses.
    pub(crate) fn contact_data(&self) -> ContactData {
        self.problem.data()
    }

    /// Solves the problem posed from the guess in `z`, or from the impulses of the last one.
    pub(crate) fn solve_posed_from(&mut self, z: &mut [f64], from_memory: bool) -> ContactOutcome {
        if from_memory {
            self.problem.guess_from_memory();
        } else {
            self.problem.z_mut().copy_from_slice(z);
        }
        let tolerance = Tolerance {
            floor: ROUND_OFF * (1.0 + max_abs(&self.q)),
            ..Tolerance::default()
        };
        let mut outcome = self.problem.solve(tolerance);
        let redundant = &mut self.redundant;
        if !outcome.is_solved() && redundant.project(&self.delassus, &self.q, self.equalities) {
            set_data(&mut self.problem, &redundant.matrix, &redundant.q);
            let again = self.problem.solve(tolerance);
            if again.is_solved() {
                outcome = again;
            } else {
                set_data(&mut self.problem, &self.delassus, &self.q);
            }
        }
        z.copy_from_slice(self.problem.z());
        outcome
    }

    /// Appends what the next problem posed takes its guess from, for a run that goes on elsewhere.
    pub(crate) fn save_guess(&self, memory: &mut Vec<f64>) {
        for (id, block, z) in self.problem.memory() {
            let (high, low) = ((id >> 32) as u32, id as u32);
            memory.extend([kind_of(block), f64::from(high), f64::from(low)]);
            memory.extend_from_slice(z);
        }
    }

    /// Takes up what [`save_guess`](Self::save_guess) appended.
    pub(crate) fn load_guess(&mut self, mut memory: &[f64]) {
        self.problem.forget();
        while let [kind, high, low, rest @ ..] = memory {
            let block = block_of(*kind);
            let Some((z, rest)) = rest.split_at_checked(block.rows()) else {
                return;
            };
            let id = (*high as u64) << 32 | *low as u64;
            self.problem.remember(id, block, z);
            memory = rest;
        }
    }

    /// The row that `z` satisfies least, and whether a push on any contact pulls it in, so that no push keeps it out.
    pub(crate) fn worst(&self, equalities: usize, z: &[f64]) -> (usize, bool) {
        let (mut worst, mut largest, mut pulls) = (0, 0.0, false);
        for (i, q) in self.q.iter().enumerate() {
            let row = self.delassus.row(i);
            let w = saltus_linear::dot(row, z) + q;
            let residual = if i < equalities {
                w
            } else {
                pulls |= row[i] < 0.0;
                w.min(row[i].abs() * z[i])
            };
            if residual.abs() > largest || residual.is_nan() {
                (worst, largest) = (i, residual.abs());
            }
        }
        (worst, pulls)
    }

    /// A copy of the problem with the names of its rows, for the record.
    pub(crate) fn failed(&self, equalities: usize, rows: Vec<String>) -> FailedProblem {
        FailedProblem {
            equalities,
            rows,
            matrix: self.delassus.as_slice().to_vec(),
            q: self.q.clone(),
        }
    }

    /// `delta ← delta + Σ z_i J⁻¹ B_i` over the multipliers `range`.
    pub(crate) fn add_response(&self, range: std::ops::Range<usize>, z: &[f64], delta: &mut [f64]) {
        for i in range {
            if z[i] != 0.0 {
                saltus_linear::axpy(z[i], self.columns.row(i), delta);
            }
        }
    }
}
