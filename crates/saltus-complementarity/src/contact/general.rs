//! The solvers of one connected problem with a dense matrix, in the order in which they are tried.

use super::ContactOutcome;
use super::block::Block;
use super::closed_form::{self, Single};
use super::gauss_seidel;
use super::islands::Part;
use super::matrix::Matrix;
use super::newton::Newton;
use super::residual::View;
use crate::mlcp::{Mlcp, MlcpSolver};
use crate::outcome::{Outcome, Status, Tolerance};
use saltus_linear::Dense;

/// Most Newton steps of one run.
const STEPS: u32 = 40;
/// Sweeps between two runs of Newton's method.
const SWEEPS: u32 = 50;

/// What is kept from one problem to the next: buffers only.
#[derive(Debug, Default)]
pub(super) struct Solver {
    newton: Newton,
    mlcp: MlcpSolver,
    ordered: Part,
    members: Vec<usize>,
    start: Vec<f64>,
}

impl Solver {
    /// Solves a connected problem whose matrix is dense.
    pub fn solve(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: Tolerance,
    ) -> ContactOutcome {
        let Matrix::Dense(matrix) = view.matrix else {
            return failed(Status::NotApplicable, 0, f64::NAN);
        };
        if let [block] = *view.blocks
            && let Some(outcome) = single(view, block, matrix, z, &tolerance)
        {
            return outcome;
        }
        let linear = |b: &Block| matches!(b, Block::Equality | Block::Unilateral);
        if view.blocks.iter().all(linear) {
            return self.linear(view, matrix, z, tolerance);
        }
        self.general(view, z, tolerance)
    }

    /// Equalities and unilateral rows only.
    pub fn linear(
        &mut self,
        view: &View<'_>,
        matrix: &Dense,
        z: &mut [f64],
        tolerance: Tolerance,
    ) -> ContactOutcome {
        let equality = |b: &Block| *b == Block::Equality;
        let equalities = view.blocks.iter().filter(|b| equality(b)).count();
        if view.blocks[..equalities].iter().all(equality) {
            let problem = Mlcp {
                equalities,
                matrix,
                q: view.q,
            };
            return self.mlcp.solve(&problem, z, tolerance).into();
        }
        self.members.clear();
        let all = 0..view.blocks.len();
        self.members
            .extend(all.clone().filter(|&k| equality(&view.blocks[k])));
        self.members
            .extend(all.filter(|&k| !equality(&view.blocks[k])));
        let part = &mut self.ordered;
        part.gather(view, &self.members, z);
        let problem = Mlcp {
            equalities,
            matrix: &part.matrix,
            q: &part.q,
        };
        let outcome = self.mlcp.solve(&problem, &mut part.z, tolerance);
        part.scatter(z);
        outcome.into()
    }

    fn general(&mut self, view: &View<'_>, z: &mut [f64], tolerance: Tolerance) -> ContactOutcome {
        for v in z.iter_mut().filter(|v| !v.is_finite()) {
            *v = 0.0;
        }
        self.newton.load(view);
        let mut left = tolerance.max_iterations;
        let mut iterations = 0;
        let mut spend = |spent: u32| {
            iterations += spent;
            left = left.saturating_sub(spent);
            left
        };
        self.start.clear();
        self.start.extend_from_slice(z);
        let mut end = self
            .newton
            .run(view, z, &tolerance, STEPS.min(tolerance.max_iterations));
        let mut limit = spend(end.iterations);
        let guessed = self.start.iter().any(|v| *v != 0.0);
        if !end.solved && guessed && limit > 0 {
            z.fill(0.0);
            end = self.newton.run(view, z, &tolerance, STEPS.min(limit));
            limit = spend(end.iterations);
        }
        for _ in 0..4 {
            if end.solved || limit == 0 {
                break;
            }
            let sweeps = gauss_seidel::sweep(view, z, SWEEPS.min(limit), 1e-13);
            limit = spend(sweeps);
            if limit == 0 {
                break;
            }
            end = self.newton.run(view, z, &tolerance, STEPS.min(limit));
            limit = spend(end.iterations);
        }
        let residual = view.worst(z, &self.newton.w).1;
        let status = if end.solved {
            Status::Solved
        } else if residual.is_nan() {
            z.fill(0.0);
            Status::NotFinite
        } else if limit == 0 {
            Status::IterationLimit
        } else {
            Status::Stalled
        };
        failed(status, iterations, residual)
    }
}

/// One contact with friction alone; `None` where the closed forms do not apply.
#[inline]
pub(super) fn single(
    view: &View<'_>,
    block: Block,
    matrix: &Dense,
    z: &mut [f64],
    tolerance: &Tolerance,
) -> Option<ContactOutcome> {
    let Block::Coulomb { mu, .. } = block else {
        return None;
    };
    match (matrix.as_slice(), view.q, &mut *z) {
        (&[a, b, c, d], &[n, t], z @ &mut [_, _]) => {
            let found = closed_form::plane(&[[a, b], [c, d]], &[n, t], mu);
            take(found, view, z, tolerance)
        }
        (entries, &[n, t1, t2], z @ &mut [z0, z1, z2]) => {
            let (rows, _) = entries.as_chunks::<3>();
            let m: &[[f64; 3]; 3] = rows.try_into().ok()?;
            let found = closed_form::space(m, &[n, t1, t2], mu, &[z0, z1, z2]);
            take(found, view, z, tolerance)
        }
        _ => None,
    }
}

#[inline]
fn take<const D: usize>(
    found: Single<D>,
    view: &View<'_>,
    z: &mut [f64],
    tolerance: &Tolerance,
) -> Option<ContactOutcome> {
    match found {
        Single::Found(impulse, multiple) => {
            let mut w = [0.0; D];
            view.velocity(&impulse, &mut w);
            let residual = view.miss(0, &impulse, &w);
            if !view.holds(&impulse, &w, tolerance) {
                return None;
            }
            z.copy_from_slice(&impulse);
            Some(ContactOutcome {
                multiple,
                ..failed(Status::Solved, 0, residual)
            })
        }
        Single::Refuted => {
            z.fill(0.0);
            let mut w = [0.0; D];
            view.velocity(z, &mut w);
            Some(failed(Status::Infeasible, 0, view.miss(0, z, &w)))
        }
        Single::Degenerate => None,
    }
}

pub(super) fn failed(status: Status, iterations: u32, residual: f64) -> ContactOutcome {
    ContactOutcome {
        status,
        iterations,
        residual,
        redundant: 0,
        multiple: false,
    }
}

impl From<Outcome> for ContactOutcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            redundant: outcome.redundant,
            ..failed(outcome.status, outcome.iterations, outcome.residual)
        }
    }
}
