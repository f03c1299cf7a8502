//! Linear complementarity with a matrix that is dense, sparse or known by its products only.

use super::far::{Range, Scaled, turned};
use super::{LcpOutcome, LcpSolver, bring_proofs, gradient, projected, solve as solve_dense};
use crate::active_set::Tried;
use crate::enumeration::enumeration_refusal;
use crate::equilibrium::Units;
use crate::mlcp::{Mlcp, natural, stand_by};
use crate::operator::{Product, diagonal_of, entries_of};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::sparse::SparseMatrix;
use crate::verdict::{Room, Verdict, column_of, size_of_row, worse};
use saltus_linear::{Dense, MatrixSink, SquareMatrix};

/// Active sets after which `auto` tries something else.
const MOST_SETS: u32 = 500;

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

/// Of a point that is no number, or whose `w` is none.
const NOTHING: Verdict = Verdict {
    residual: f64::NAN,
    relative: f64::NAN,
};

/// What the diagonal of `M` says of the scales.
struct Scales {
    /// `M_ii`.
    own: Vec<f64>,
    /// `d_i` of the residual: `M_ii` where positive, 1 elsewhere.
    natural: Vec<f64>,
}

impl Scales {
    fn new(problem: &OperatorMlcp<'_>) -> Self {
        let own = diagonal_of(problem.product(), 1);
        let positive = |d: &f64| if *d > 0.0 && d.is_finite() { *d } else { 1.0 };
        Self {
            natural: own.iter().map(positive).collect(),
            own,
        }
    }
}

impl OperatorMlcp<'_> {
    fn product(&self) -> &dyn Product {
        match self.operator {
            LcpOperator::Dense(m) => m,
            LcpOperator::Sparse(m) => m,
            LcpOperator::Free(m) => m,
        }
    }

    /// Residual of the natural map at `z` in the unit of `w`, as [`Mlcp::residual`].
    #[must_use]
    pub fn residual(&self, z: &[f64]) -> f64 {
        self.verdict(z, &Tolerance::default()).residual
    }

    /// As [`Mlcp::relative_residual`]. Of a matrix that is known by its products only, `s_i = |q_i| + |(M z)_i| + |M_ii z_i|`,
    /// `D_i` is a probe of the sum, and a change of `z_i` is weighed in its own row.
    #[must_use]
    pub fn relative_residual(&self, z: &[f64]) -> f64 {
        let exact = Tolerance {
            residual: 0.0,
            ..Tolerance::default()
        };
        self.verdict(z, &exact).relative
    }

    /// The verdict on any numbers.
    fn verdict(&self, z: &[f64], tolerance: &Tolerance) -> Verdict {
        if let LcpOperator::Dense(matrix) = self.operator {
            let problem = self.made_dense(matrix);
            return Verdict {
                residual: problem.residual(z),
                relative: problem.relative_residual(z),
            };
        }
        let d = Scales::new(self);
        match Range::of(self.operator, &d.own, self.q) {
            Range::Usual => self.judge(z, &d, tolerance, &mut Room::default()),
            Range::NotFinite => NOTHING,
            Range::Other(units) => {
                let (scaled, q) = (
                    Scaled::new(self.operator, &d.own, &units),
                    units.right(self.q),
                );
                self.seen_in(&self.inside(&scaled, &q), &units, z, tolerance)
            }
        }
    }

    /// The problem in other units.
    fn inside<'b>(&self, scaled: &'b Scaled<'_>, q: &'b [f64]) -> OperatorMlcp<'b> {
        OperatorMlcp {
            equalities: self.equalities,
            operator: scaled.operator(),
            q,
        }
    }

    /// Judges `z` by the same problem in other units, which change no miss of a row; the floor of the caller is not used. NaN
    /// where `z` or `w` is no number.
    fn seen_in(
        &self,
        inside: &OperatorMlcp<'_>,
        units: &Units,
        z: &[f64],
        tolerance: &Tolerance,
    ) -> Verdict {
        let (y, d) = (units.enter(z), Scales::new(inside));
        let strict = Tolerance {
            floor: 0.0,
            ..*tolerance
        };
        let mut room = Room::default();
        let relative = inside.judge(&y, &d, &strict, &mut room).relative;
        let mut residual = 0.0;
        for (i, w) in room.w.iter().enumerate() {
            let w = units.velocity(i, *w);
            let part = if i < self.equalities {
                w.abs()
            } else if d.own[i] > 0.0 {
                natural(units.velocity(i, d.own[i] * y[i]), w)
            } else {
                natural(z[i], w)
            };
            if !(w.is_finite() && part.is_finite()) {
                return NOTHING;
            }
            residual = worse(residual, part);
        }
        Verdict { residual, relative }
    }

    fn judge(&self, z: &[f64], d: &Scales, tolerance: &Tolerance, room: &mut Room) -> Verdict {
        let n = z.len();
        let mut w = std::mem::take(&mut room.w);
        w.resize(n, 0.0);
        self.product().apply(z, &mut w);
        room.data.clear();
        room.data.extend(self.q.iter().map(|q| q.abs()));
        room.sizes.clone_from(&room.data);
        match self.operator {
            LcpOperator::Dense(m) => {
                for (i, size) in room.sizes.iter_mut().enumerate() {
                    *size += size_of_row(m.row(i), 0.0, z);
                }
            }
            LcpOperator::Sparse(m) => {
                m.triplets()
                    .for_each(|(i, j, v)| room.sizes[i] += (v * z[j]).abs());
            }
            LcpOperator::Free(_) => {
                for i in 0..n {
                    room.sizes[i] += w[i].abs() + (d.own[i] * z[i]).abs();
                }
            }
        }
        w.iter_mut().zip(self.q).for_each(|(w, q)| *w += q);
        let live = |i: usize| i < self.equalities || z[i] != 0.0 || w[i] <= 0.0;
        match self.operator {
            LcpOperator::Dense(m) => room.scale(|j| column_of(m, j), live),
            LcpOperator::Sparse(m) => room.scale(|j| m.column(j), live),
            LcpOperator::Free(m) => room.scale_free(m, &d.own, live),
        }
        room.w = w;
        let weigh = |i: usize, x: f64| match self.operator {
            LcpOperator::Dense(m) => room.weight(column_of(m, i), x),
            LcpOperator::Sparse(m) => room.weight(m.column(i), x),
            LcpOperator::Free(_) => room.weight(std::iter::once((i, d.own[i])), x),
        };
        let (mut residual, mut relative) = (0.0, 0.0);
        for i in 0..n {
            let value = room.w[i];
            let none = || f64::INFINITY;
            let part = if i < self.equalities {
                residual = worse(residual, value.abs());
                room.miss(i, tolerance, none, none)
            } else {
                residual = worse(residual, natural(d.natural[i] * z[i], value));
                let below = || weigh(i, z[i].max(0.0));
                let outside = weigh(i, (-z[i]).max(0.0));
                worse(room.miss(i, tolerance, below, none), outside)
            };
            relative = worse(relative, part);
        }
        Verdict { residual, relative }
    }

    fn settled(&self, z: &[f64], d: &Scales, tolerance: &Tolerance, room: &mut Room) -> bool {
        let goal = tolerance.goal();
        self.judge(z, d, &goal, room).holds(&goal)
    }

    /// Solves from the guess in `z`.
    ///
    /// A dense matrix admits every method. With a sparse one `NewtonMin` factorises the active block sparsely, `Pgs` sweeps
    /// over sparse rows and `ProjectedGradient` multiplies; `Auto` tries these in this order and solves the last set
    /// exactly. With products only,
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
        if solver == LcpSolver::Enumeration && enumeration_refusal(n, self.equalities).is_some() {
            return Ok(LcpOutcome::plain(Outcome {
                status: Status::NotApplicable,
                iterations: 0,
                residual: self.residual(z),
                redundant: 0,
            }));
        }
        if let LcpOperator::Dense(matrix) = self.operator {
            return Ok(self.dense(matrix, solver, tolerance, z));
        }
        let d = Scales::new(self);
        match Range::of(self.operator, &d.own, self.q) {
            Range::Usual => self.near(&d, solver, tolerance, z),
            Range::NotFinite => Ok(LcpOutcome::plain(Outcome {
                status: Status::NotFinite,
                iterations: 0,
                residual: f64::NAN,
                redundant: 0,
            })),
            Range::Other(units) => {
                let (scaled, q) = (
                    Scaled::new(self.operator, &d.own, &units),
                    units.right(self.q),
                );
                let inside = self.inside(&scaled, &q);
                let strict = Tolerance {
                    floor: 0.0,
                    ..tolerance
                };
                let mut y = units.guess(z);
                let mut end = inside.near(&Scales::new(&inside), solver, strict, &mut y)?;
                units.leave(&y, z);
                let verdict = self.seen_in(&inside, &units, z, &strict);
                stand_by(verdict, strict, z, &mut end.outcome);
                bring_proofs(&units, &mut end);
                Ok(end)
            }
        }
    }

    /// As [`solve`](Self::solve), of numbers near 1 in a matrix that is not dense.
    fn near(
        &self,
        d: &Scales,
        solver: LcpSolver,
        tolerance: Tolerance,
        z: &mut [f64],
    ) -> Result<LcpOutcome, OperatorError> {
        let n = self.q.len();
        let sparse = match self.operator {
            LcpOperator::Sparse(m) => Some(m),
            _ => None,
        };
        let mut spent = 0;
        let methods: &[LcpSolver] = match (solver, sparse) {
            (LcpSolver::Auto, Some(_)) => &[
                LcpSolver::NewtonMin,
                LcpSolver::Pgs { omega: 1.0 },
                LcpSolver::ProjectedGradient,
                // The same set, solved exactly.
                LcpSolver::NewtonMin,
            ],
            (LcpSolver::Auto, None) => &[LcpSolver::ProjectedGradient],
            _ => &[solver],
        };
        let mut last = None;
        for &method in methods {
            let left = tolerance.max_iterations.saturating_sub(spent);
            let tolerance = Tolerance {
                max_iterations: match (solver, method) {
                    // Sweeps find a set soon or not at all; the steps of the gradient are many and cheap, and the last method
                    // needs a few.
                    (LcpSolver::Auto, LcpSolver::NewtonMin) => left.min(MOST_SETS),
                    (LcpSolver::Auto, LcpSolver::Pgs { .. }) => left.div_ceil(20),
                    (LcpSolver::Auto, LcpSolver::ProjectedGradient) if sparse.is_some() => {
                        left - left.min(100) / 2
                    }
                    _ => left,
                },
                ..tolerance
            };
            let (word, steps) = match (method, sparse) {
                (LcpSolver::NewtonMin, Some(m)) => newton_min(self, m, d, tolerance, z),
                (LcpSolver::Pgs { omega }, Some(m)) => self.sweeps(m, omega, d, tolerance, z),
                (LcpSolver::ProjectedGradient, _) => {
                    let mut room = Room::default();
                    let settled = |z: &[f64]| self.settled(z, d, &tolerance, &mut room);
                    let limit = tolerance.max_iterations;
                    let product = self.product();
                    gradient::solve(
                        product,
                        self.q,
                        &d.natural,
                        self.equalities,
                        limit,
                        settled,
                        z,
                    )
                }
                _ => break,
            };
            spent += steps;
            let end = self.ending(word, spent, d, tolerance, z);
            if end.is_solved() || solver != LcpSolver::Auto {
                return Ok(LcpOutcome::plain(end));
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
                |mut outcome: Outcome| {
                    // The last method had but a part of what was left.
                    if outcome.status == Status::IterationLimit && spent < tolerance.max_iterations
                    {
                        outcome.status = Status::Stalled;
                    }
                    Ok(LcpOutcome::plain(outcome))
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
        let rest = Tolerance {
            max_iterations: tolerance.max_iterations.saturating_sub(spent),
            ..tolerance
        };
        let mut end = self.dense(&matrix, solver, rest, z);
        end.outcome.iterations += spent;
        Ok(end)
    }

    fn dense(&self, matrix: &Dense, solver: LcpSolver, t: Tolerance, z: &mut [f64]) -> LcpOutcome {
        solve_dense(&self.made_dense(matrix), solver, t, z)
    }

    fn made_dense<'b>(&'b self, matrix: &'b Dense) -> Mlcp<'b> {
        Mlcp {
            equalities: self.equalities,
            matrix,
            q: self.q,
        }
    }

    /// The residual decides, whatever the method says.
    fn ending(&self, word: Status, spent: u32, d: &Scales, t: Tolerance, z: &[f64]) -> Outcome {
        let verdict = self.judge(z, d, &t, &mut Room::default());
        Outcome {
            status: match word {
                _ if !verdict.residual.is_finite() => Status::NotFinite,
                _ if verdict.holds(&t) => Status::Solved,
                Status::Solved => Status::Inaccurate,
                other => other,
            },
            iterations: spent,
            residual: verdict.residual,
            redundant: 0,
        }
    }

    fn sweeps(
        &self,
        m: &SparseMatrix,
        omega: f64,
        d: &Scales,
        tolerance: Tolerance,
        z: &mut [f64],
    ) -> (Status, u32) {
        let rows = turned(m);
        let sweep = projected::Sweep {
            q: self.q,
            diagonal: &d.own,
            equalities: self.equalities,
            omega,
            limit: tolerance.max_iterations,
        };
        let row = |i: usize, z: &[f64]| rows.column(i).map(|(j, v)| v * z[j]).sum();
        let mut room = Room::default();
        sweep.solve(z, row, |z| self.settled(z, d, &tolerance, &mut room))
    }
}

/// Primal–dual active sets with a sparse factorisation of the active block (Bergounioux, Ito & Kunisch, *SIAM J. Control
/// Optim.* 37 (1999)); an active set that comes back ends it.
fn newton_min(
    p: &OperatorMlcp<'_>,
    m: &SparseMatrix,
    d: &Scales,
    tolerance: Tolerance,
    z: &mut [f64],
) -> (Status, u32) {
    let n = z.len();
    let mut w = vec![0.0; n];
    let mut place = vec![usize::MAX; n];
    let mut room = Room::default();
    let mut tried = Tried::default();
    for step in 0..tolerance.max_iterations {
        m.apply(z, &mut w);
        let active: Vec<usize> = (0..n)
            .filter(|&i| i < p.equalities || d.natural[i] * z[i] > w[i] + p.q[i])
            .collect();
        if step > 0 && p.settled(z, d, &tolerance, &mut room) {
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
            // A step of iterative refinement: rows with small terms hold by these, too.
            let mut defect: Vec<f64> = active.iter().map(|&i| -p.q[i]).collect();
            for (&j, x) in active.iter().zip(&x) {
                for (i, v) in m.column(j).filter(|e| place[e.0] != usize::MAX) {
                    defect[place[i]] -= v * x;
                }
            }
            block.solve(&mut defect);
            x.iter_mut().zip(&defect).for_each(|(x, d)| *x += d);
        }
        z.fill(0.0);
        for (&i, x) in active.iter().zip(&x) {
            z[i] = *x;
        }
        if z.iter().any(|v| !v.is_finite()) {
            z.fill(0.0);
            return (Status::Stalled, step);
        }
        if !tried.insert(&active) {
            let nearly = p.judge(z, d, &tolerance, &mut room).holds(&tolerance);
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
    (Status::IterationLimit, tolerance.max_iterations)
}
