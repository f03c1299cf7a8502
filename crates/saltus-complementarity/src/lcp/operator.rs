//! Linear complementarity with a matrix that is dense, sparse or known by its products only.

use super::{LcpOutcome, LcpSolver, gradient, projected, solve as solve_dense};
use crate::mlcp::{Mlcp, natural};
use crate::operator::{Product, diagonal_of, entries_of};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::sparse::SparseMatrix;
use saltus_linear::{Dense, MatrixSink, SquareMatrix, max_abs};
use std::collections::HashSet;

/// Rows of the largest matrix that is made dense for a method that needs it.
pub const DENSE_LIMIT: usize = 2000;

/// `M` in one of three forms.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum LcpOperator<'a> {
    /// All entries.
    Dense(&'a Dense),
    /// Compressed columns.
    Sparse(&'a SparseMatrix),
    /// Products only.
    Free(&'a dyn Product),
}

/// A method cannot work with the operator there is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// It needs a dense matrix, and this one is too large to be made dense.
    #[error(
        "this method needs a dense matrix and makes one of at most {DENSE_LIMIT} rows; this one has {rows}: use {instead}"
    )]
    NeedsDense {
        /// Rows of the matrix.
        rows: usize,
        /// What works with it.
        instead: &'static str,
    },
    /// The parts do not fit together.
    #[error("{what} has {found} entries, expected {expected}")]
    Size {
        /// Which part.
        what: &'static str,
        /// What is there.
        found: usize,
        /// What the other parts ask for.
        expected: usize,
    },
}

/// [`Mlcp`] with any operator: `w = M z + q`, the first `equalities` rows `w = 0` with `z` free, `0 ≤ z ⟂ w ≥ 0` in
/// the others.
#[derive(Debug, Clone, Copy)]
pub struct OperatorMlcp<'a> {
    /// Number of leading equality rows.
    pub equalities: usize,
    /// `M` (n × n).
    pub operator: LcpOperator<'a>,
    /// `q` (n).
    pub q: &'a [f64],
}

impl OperatorMlcp<'_> {
    fn product(&self) -> &dyn Product {
        match self.operator {
            LcpOperator::Dense(m) => m,
            LcpOperator::Sparse(m) => m,
            LcpOperator::Free(m) => m,
        }
    }

    /// `d_i` of the residual: `M_ii` where positive, 1 elsewhere.
    fn scales(&self) -> Vec<f64> {
        let mut d = diagonal_of(self.product(), 1);
        for d in &mut d {
            if *d <= 0.0 || !d.is_finite() {
                *d = 1.0;
            }
        }
        d
    }

    /// Residual of the natural map at `z` in the unit of `w`, as [`Mlcp::residual`].
    #[must_use]
    pub fn residual(&self, z: &[f64]) -> f64 {
        self.scaled_residual(z, &self.scales())
    }

    fn scaled_residual(&self, z: &[f64], d: &[f64]) -> f64 {
        let mut w = vec![0.0; z.len()];
        self.product().apply(z, &mut w);
        let mut largest = 0.0_f64;
        for i in 0..z.len() {
            let value = w[i] + self.q[i];
            let r = if i < self.equalities {
                value.abs()
            } else {
                natural(d[i] * z[i], value)
            };
            if r.is_nan() {
                return f64::NAN;
            }
            largest = largest.max(r);
        }
        largest
    }

    /// Solves from the guess in `z`.
    ///
    /// A dense matrix admits every method. With a sparse one `NewtonMin` factorises the active block sparsely, `Pgs` sweeps
    /// over sparse rows and `ProjectedGradient` multiplies; `Auto` tries these in this order. With products only,
    /// `ProjectedGradient` and `Auto` work. Every other method, and `Auto` where these fail, makes the matrix dense.
    ///
    /// # Errors
    /// [`OperatorError`] where the sizes do not fit, or a dense matrix is needed and would have more than [`DENSE_LIMIT`] rows.
    pub fn solve(
        &self,
        solver: LcpSolver,
        tolerance: Tolerance,
        z: &mut [f64],
    ) -> Result<LcpOutcome, OperatorError> {
        let n = self.q.len();
        for (what, found) in [("a row of M", self.product().size()), ("z", z.len())] {
            if found != n {
                return Err(OperatorError::Size {
                    what,
                    found,
                    expected: n,
                });
            }
        }
        if let LcpOperator::Dense(matrix) = self.operator {
            return Ok(self.dense(matrix, solver, tolerance, z));
        }
        let sparse = match self.operator {
            LcpOperator::Sparse(m) => Some(m),
            _ => None,
        };
        let d = self.scales();
        let mut spent = 0;
        let methods: &[LcpSolver] = match (solver, sparse) {
            (LcpSolver::Auto, Some(_)) => &[
                LcpSolver::NewtonMin,
                LcpSolver::Pgs { omega: 1.0 },
                LcpSolver::ProjectedGradient,
            ],
            (LcpSolver::Auto, None) => &[LcpSolver::ProjectedGradient],
            _ => &[solver],
        };
        let mut last = None;
        for &method in methods {
            let (word, steps) = match (method, sparse) {
                (LcpSolver::NewtonMin, Some(m)) => newton_min(self, m, &d, tolerance, z),
                (LcpSolver::Pgs { omega }, Some(m)) => self.sweeps(m, omega, &d, tolerance, z),
                (LcpSolver::ProjectedGradient, _) => {
                    gradient::solve(self.product(), self.q, &d, self.equalities, tolerance, z)
                }
                _ => break,
            };
            spent += steps;
            let end = self.judge(word, spent, &d, tolerance, z);
            if end.is_solved() || solver != LcpSolver::Auto {
                return Ok(LcpOutcome {
                    outcome: end,
                    certificate: None,
                });
            }
            last = Some(end);
        }
        if n > DENSE_LIMIT {
            return last.map_or(
                Err(OperatorError::NeedsDense {
                    rows: n,
                    instead: if sparse.is_some() {
                        "auto, newton-min, pgs, psor or projected-gradient"
                    } else {
                        "auto or projected-gradient"
                    },
                }),
                |outcome| {
                    Ok(LcpOutcome {
                        outcome,
                        certificate: None,
                    })
                },
            );
        }
        let mut matrix = Dense::zeros(n, n);
        match sparse {
            Some(m) => m.triplets().for_each(|(i, j, v)| matrix[(i, j)] = v),
            None => {
                for (i, j, v) in entries_of(self.product()) {
                    matrix[(i, j)] = v;
                }
            }
        }
        let mut end = self.dense(&matrix, solver, tolerance, z);
        end.outcome.iterations += spent;
        Ok(end)
    }

    fn dense(&self, matrix: &Dense, solver: LcpSolver, t: Tolerance, z: &mut [f64]) -> LcpOutcome {
        let problem = Mlcp {
            equalities: self.equalities,
            matrix,
            q: self.q,
        };
        solve_dense(&problem, solver, t, z)
    }

    /// The residual decides, whatever the method says.
    fn judge(&self, word: Status, spent: u32, d: &[f64], t: Tolerance, z: &[f64]) -> Outcome {
        let residual = self.scaled_residual(z, d);
        let bound = t.residual * (1.0 + max_abs(self.q));
        Outcome {
            status: match word {
                _ if residual <= bound => Status::Solved,
                _ if residual.is_nan() => Status::NotFinite,
                Status::Solved => Status::Inaccurate,
                other => other,
            },
            iterations: spent,
            residual,
            redundant: 0,
        }
    }

    fn sweeps(
        &self,
        m: &SparseMatrix,
        omega: f64,
        d: &[f64],
        tolerance: Tolerance,
        z: &mut [f64],
    ) -> (Status, u32) {
        let turned: Vec<_> = m.triplets().map(|(i, j, v)| (j, i, v)).collect();
        let rows = SparseMatrix::from_triplets(m.cols(), m.rows(), &turned);
        let diagonal = diagonal_of(m, 1);
        let sweep = projected::Sweep {
            q: self.q,
            diagonal: &diagonal,
            equalities: self.equalities,
            omega,
            goal: goal(tolerance, self.q),
            limit: tolerance.max_iterations,
        };
        let row = |i: usize, z: &[f64]| rows.column(i).map(|(j, v)| v * z[j]).sum();
        sweep.solve(z, row, |z| self.scaled_residual(z, d))
    }
}

/// A residual below which there is nothing left to gain.
fn goal(tolerance: Tolerance, q: &[f64]) -> f64 {
    0.1 * tolerance.residual * (1.0 + max_abs(q))
}

/// Primal–dual active sets with a sparse factorisation of the active block (Bergounioux, Ito & Kunisch, *SIAM J. Control
/// Optim.* 37 (1999)); an active set that comes back ends it.
fn newton_min(
    p: &OperatorMlcp<'_>,
    m: &SparseMatrix,
    d: &[f64],
    tolerance: Tolerance,
    z: &mut [f64],
) -> (Status, u32) {
    let n = z.len();
    let mut w = vec![0.0; n];
    let mut place = vec![usize::MAX; n];
    let mut seen: HashSet<Vec<usize>> = HashSet::new();
    for step in 0..tolerance.max_iterations.min(500) {
        m.apply(z, &mut w);
        let active: Vec<usize> = (0..n)
            .filter(|&i| i < p.equalities || d[i] * z[i] > w[i] + p.q[i])
            .collect();
        if step > 0 && p.scaled_residual(z, d) <= goal(tolerance, p.q) {
            return (Status::Solved, step);
        }
        place.fill(usize::MAX);
        for (k, &i) in active.iter().enumerate() {
            place[i] = k;
        }
        let mut block = SquareMatrix::new(active.len());
        for &j in &active {
            for (i, v) in m.column(j).filter(|e| place[e.0] != usize::MAX) {
                block.entry(place[i], place[j], v);
            }
        }
        let mut x: Vec<f64> = active.iter().map(|&i| -p.q[i]).collect();
        if !active.is_empty() {
            if block.factorise().is_err() {
                return (Status::Stalled, step);
            }
            block.solve(&mut x);
        }
        z.fill(0.0);
        for (&i, x) in active.iter().zip(&x) {
            z[i] = *x;
        }
        if z.iter().any(|v| !v.is_finite()) {
            z.fill(0.0);
            return (Status::Stalled, step);
        }
        if !seen.insert(active) {
            let nearly = p.scaled_residual(z, d) <= 10.0 * goal(tolerance, p.q);
            return (
                if nearly {
                    Status::Solved
                } else {
                    Status::Cycle
                },
                step,
            );
        }
    }
    (Status::IterationLimit, tolerance.max_iterations.min(500))
}
