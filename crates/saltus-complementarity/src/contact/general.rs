//! The solvers of one connected problem with a dense matrix, in the order in which they are tried.

use super::ContactOutcome;
use super::block::Block;
use super::canonical::Canonical;
use super::closed_form::{self, Single};
use super::enumeration::{self, Enumerated};
use super::gauss_seidel;
use super::islands::{DENSE_LIMIT, Part};
use super::matrix::Matrix;
use super::newton::{Newton, NewtonEnd};
use super::reduction;
use super::residual::{BlockCheck, Compliance, View};
use crate::friction::{FrictionSolver, NewtonFunction};
use crate::mlcp::{Mlcp, MlcpSolver};
use crate::outcome::{Outcome, Status, Tolerance};
use saltus_linear::{Dense, dot};
use std::array::from_fn;

/// Largest number of Newton steps of one run, and its increase per row.
const STEPS: u32 = 40;
const STEPS_PER_ROW: f64 = 0.125;
/// Sweeps between two runs of Newton's method.
const SWEEPS: u32 = 50;
/// Number of combinations of modes up to which enumeration costs less than other methods.
const FEW_COMBINATIONS: u32 = 64;
/// Steps of the continuation in the coefficients of friction.
const CONTINUATION_STEPS: u32 = 20;
/// Largest number of steps of a proximal sequence.
const PROXIMAL: u32 = 600;
/// Largest number of operations of one call of the solvers of frictional contact.
const WORK: f64 = 2e9;

/// Largest number of rows for remedies that factorise many linear systems.
const FACTORISATION_LIMIT: usize = 3000;
/// The same for large problems.
const LARGE_WORK: f64 = 1e11;

/// Remedies where Newton's method alone does not converge.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Remedy {
    /// All combinations of modes, if they are few.
    FewModes,
    /// Some sweeps of Gauss–Seidel.
    Sweeps,
    /// All combinations of modes, if they are not few.
    Modes,
    /// Continuation in the coefficients of friction, from zero to their values.
    FrictionContinuation,
    /// A sequence of regularised problems.
    Proximal,
    /// A solver of frictional contact from the best point, to this tolerance, with this share of the iterations that are left.
    FrictionMethod(FrictionSolver, f64, u32),
    /// The same from zero.
    FrictionMethodFromZero(FrictionSolver, f64, u32),
}

impl Remedy {
    const ALL: [Self; 13] = [
        Self::FewModes,
        Self::Sweeps,
        Self::Sweeps,
        Self::Modes,
        Self::Proximal,
        Self::FrictionContinuation,
        Self::FrictionMethod(FrictionSolver::Auto, 1e-6, 8),
        Self::FrictionMethodFromZero(
            FrictionSolver::ProximalNewton(NewtonFunction::NaturalMap),
            1e-9,
            4,
        ),
        Self::FrictionMethodFromZero(FrictionSolver::ProjectedGradient, 1e-6, 2),
        Self::Proximal,
        Self::FrictionMethodFromZero(FrictionSolver::InteriorPoint, 1e-9, 4),
        Self::FrictionMethod(FrictionSolver::Auto, 1e-11, 2),
        Self::FrictionMethod(FrictionSolver::Auto, 1e-13, 1),
    ];
}

/// The point of smallest residual.
#[derive(Debug)]
struct Best {
    residual: f64,
    z: Vec<f64>,
}

impl Default for Best {
    fn default() -> Self {
        Self {
            residual: f64::INFINITY,
            z: Vec::new(),
        }
    }
}

impl Best {
    fn update(&mut self, view: &View<'_>, z: &[f64], w: &[f64]) {
        let residual = view.worst(z, w).1;
        if residual < self.residual || self.residual == f64::INFINITY {
            self.residual = residual;
            self.z.clear();
            self.z.extend_from_slice(z);
        }
    }

    fn restore(&self, z: &mut [f64]) {
        z.copy_from_slice(&self.z);
    }
}

/// The solver, with buffers reused between problems.
#[derive(Debug, Default)]
pub(super) struct Solver {
    newton: Newton,
    mlcp: MlcpSolver,
    ordered: Part,
    members: Vec<usize>,
    canonical: Canonical,
    candidate: Vec<f64>,
    best: Best,
    /// The laws with reduced coefficients of friction.
    blocks: Vec<Block>,
}

impl Solver {
    /// Solves a connected problem.
    pub fn solve(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: Tolerance,
    ) -> ContactOutcome {
        let Matrix::Dense(matrix) = view.matrix else {
            return self.solve_large(view, z, tolerance);
        };
        if let [block] = *view.blocks
            && let Some(outcome) = solve_single(view, block, matrix, z, &tolerance)
        {
            return outcome;
        }
        let linear = |b: &Block| matches!(b, Block::Equality | Block::Unilateral);
        if view.blocks.iter().all(linear) {
            return self.linear(view, matrix, z, tolerance);
        }
        if z.len() > DENSE_LIMIT {
            return self.solve_large(view, z, tolerance);
        }
        self.general(view, z, tolerance)
    }

    /// A connected problem of many rows: with contacts only, the solvers of frictional contact come before Newton's method, otherwise
    /// after it.
    #[cold]
    fn solve_large(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: Tolerance,
    ) -> ContactOutcome {
        for v in z.iter_mut().filter(|v| !v.is_finite()) {
            *v = 0.0;
        }
        self.newton.load(view);
        let contacts =
            view.blocks.iter().all(|b| b.is_contact()) && view.blocks.iter().any(|b| b.rows() > 1);
        let mut spent = 0;
        let mut end = NewtonEnd::default();
        let mut status = Status::Stalled;
        if contacts {
            let floor = tolerance.floor * self.newton.least_scale() / self.newton.energy();
            let eta = (0.1 * tolerance.residual).max(0.5 * floor).max(1e-15);
            let limits = (tolerance.max_iterations, LARGE_WORK);
            let s = self.newton.scales();
            let method = (FrictionSolver::Auto, eta);
            if let Some(found) = reduction::solve(view, s, z, method, limits) {
                spent = found.iterations;
                status = found.status;
            }
            self.newton.velocity(view, z);
            end.solved = view.is_solution(z, &self.newton.w, &tolerance);
        }
        if !end.solved && status != Status::Infeasible {
            end = self.newton_from(view, z, &tolerance, &mut spent);
        }
        if !end.solved && status != Status::Infeasible {
            (status, end) = self.fall_back(view, z, &tolerance, &mut spent);
        }
        if end.solved {
            status = Status::Solved;
        }
        self.conclude(view, z, status, spent, &tolerance)
    }

    /// The outcome for the point in `z`.
    fn conclude(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        mut status: Status,
        spent: u32,
        tolerance: &Tolerance,
    ) -> ContactOutcome {
        let residual = view.worst(z, &self.newton.w).1;
        if residual.is_nan() {
            z.fill(0.0);
            status = Status::NotFinite;
        } else if status == Status::Stalled && spent >= tolerance.max_iterations {
            status = Status::IterationLimit;
        }
        outcome_of(status, spent, residual)
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
            matrix: &part.dense,
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
        let mut spent = 0;
        let mut end = self.newton_from(view, z, &tolerance, &mut spent);
        let mut status = Status::Stalled;
        if !end.solved {
            (status, end) = self.fall_back(view, z, &tolerance, &mut spent);
        }
        let mut redundant = 0;
        if end.solved {
            status = Status::Solved;
            redundant = self.canonicalise(view, z, end.regular, &tolerance, &mut spent);
        }
        ContactOutcome {
            redundant,
            ..self.conclude(view, z, status, spent, &tolerance)
        }
    }

    /// Newton's method from `z`, with the remaining iterations.
    fn newton_from(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: &Tolerance,
        spent: &mut u32,
    ) -> NewtonEnd {
        let most = STEPS + (STEPS_PER_ROW * z.len() as f64) as u32;
        let limit = most.min(tolerance.max_iterations.saturating_sub(*spent));
        let end = self.newton.run(view, z, tolerance, limit);
        *spent += end.iterations;
        end
    }

    /// The fallbacks where Newton's method from the guess fails: Newton's method from zero, then after each [`Remedy`] in order. The
    /// point of smallest residual is kept.
    #[cold]
    fn fall_back(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: &Tolerance,
        spent: &mut u32,
    ) -> (Status, NewtonEnd) {
        let mut best = std::mem::take(&mut self.best);
        best.residual = f64::INFINITY;
        best.update(view, z, &self.newton.w);
        z.fill(0.0);
        let mut end = self.newton_from(view, z, tolerance, spent);
        let mut status = Status::Stalled;
        let modes = enumeration::combinations(view);
        for attempt in Remedy::ALL {
            if end.solved || *spent >= tolerance.max_iterations {
                break;
            }
            best.update(view, z, &self.newton.w);
            let left = tolerance.max_iterations - *spent;
            match attempt {
                Remedy::FewModes | Remedy::Modes => {
                    let few = modes.is_some_and(|m| m <= FEW_COMBINATIONS);
                    if modes.is_none() || few != (attempt == Remedy::FewModes) {
                        continue;
                    }
                    let (found, tried) =
                        enumeration::search(&mut self.newton, view, z, tolerance, left);
                    *spent += tried;
                    if found == Enumerated::NoSolution {
                        status = Status::Infeasible;
                        break;
                    }
                }
                Remedy::Sweeps => {
                    *spent += gauss_seidel::sweep(view, z, SWEEPS.min(left), 1e-13);
                }
                Remedy::Proximal | Remedy::FrictionContinuation
                    if z.len() > FACTORISATION_LIMIT =>
                {
                    continue;
                }
                Remedy::Proximal => {
                    best.restore(z);
                    *spent += self.newton.proximal(view, z, left.min(PROXIMAL));
                }
                Remedy::FrictionContinuation => {
                    z.fill(0.0);
                    *spent += self.continue_friction(view, z, tolerance, left);
                }
                Remedy::FrictionMethod(method, eta, share)
                | Remedy::FrictionMethodFromZero(method, eta, share) => {
                    if matches!(attempt, Remedy::FrictionMethod(..)) {
                        best.restore(z);
                    } else {
                        z.fill(0.0);
                    }
                    let (s, limits) = (self.newton.scales(), (left / share, WORK));
                    let Some(found) = reduction::solve(view, s, z, (method, eta), limits) else {
                        continue;
                    };
                    *spent = spent.saturating_add(found.iterations);
                    self.newton.velocity(view, z);
                    best.update(view, z, &self.newton.w);
                    if found.status == Status::Infeasible {
                        status = found.status;
                        break;
                    }
                }
            }
            end = self.newton_from(view, z, tolerance, spent);
        }
        if !end.solved {
            best.update(view, z, &self.newton.w);
            best.restore(z);
            self.newton.velocity(view, z);
            // The best point may be a solution that Newton's method has left again.
            end.solved = view.is_solution(z, &self.newton.w, tolerance);
            end.regular = false;
            if !end.solved && status == Status::Stalled && no_mode_of_space(view) {
                status = Status::Infeasible;
            }
        }
        self.best = best;
        (status, end)
    }

    /// Continuation of the solution from zero to full friction; returns the Newton steps.
    fn continue_friction(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: &Tolerance,
        limit: u32,
    ) -> u32 {
        let mut spent = 0;
        let mut blocks = std::mem::take(&mut self.blocks);
        for step in 0..CONTINUATION_STEPS {
            let share = f64::from(step) / f64::from(CONTINUATION_STEPS);
            blocks.clear();
            blocks.extend(view.blocks.iter().map(|b| b.with_friction(share)));
            let partial = View {
                blocks: &blocks,
                ..*view
            };
            let left = limit.saturating_sub(spent);
            let end = self.newton.run(&partial, z, tolerance, STEPS.min(left));
            spent += end.iterations;
            if !end.solved {
                let left = limit.saturating_sub(spent).min(limit / CONTINUATION_STEPS);
                spent += self.newton.proximal(&partial, z, left);
            }
        }
        self.blocks = blocks;
        spent
            + self
                .newton
                .proximal(view, z, limit.saturating_sub(spent).min(PROXIMAL))
    }

    /// Chooses the canonical impulses of a solution where they are not unique; returns how many are not.
    fn canonicalise(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        regular: bool,
        tolerance: &Tolerance,
        spent: &mut u32,
    ) -> u32 {
        let weak = Canonical::is_weak(view, self.newton.scales(), z, &self.newton.w);
        if regular && !weak {
            return 0;
        }
        self.candidate.clear();
        self.candidate.extend_from_slice(z);
        *spent += self.newton.canonicalise(view, &mut self.candidate, weak);
        if view.is_solution(&self.candidate, &self.newton.w, tolerance) {
            z.copy_from_slice(&self.candidate);
        } else {
            self.newton.velocity(view, z);
        }
        let s = self.newton.scales();
        let (redundant, found) =
            self.canonical
                .find(view, s, z, &self.newton.w, &mut self.candidate);
        if found {
            self.newton.velocity(view, &self.candidate);
            if view.is_solution(&self.candidate, &self.newton.w, tolerance) {
                z.copy_from_slice(&self.candidate);
            } else {
                self.newton.velocity(view, z);
            }
        }
        redundant
    }
}

/// Whether there are contacts only, and `z = 0` opens all of them.
#[inline]
pub(super) fn all_separate(view: &View<'_>) -> bool {
    let separates = |(block, &first): (&Block, &usize)| block.is_contact() && view.q[first] >= 0.0;
    view.blocks.iter().zip(view.first).all(separates) && view.q.iter().all(|q| q.is_finite())
}

/// One contact with friction alone; `None` where the closed forms do not apply.
#[inline]
pub(super) fn solve_single(
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
            let (m, q) = ([[a, b], [c, d]], [n, t]);
            let found = closed_form::plane(&m, &q, mu);
            accept_single(found, (&m, &q, mu), view, z, tolerance)
        }
        (entries, &[n, t1, t2], z @ &mut [z0, z1, z2]) => {
            let (rows, _) = entries.as_chunks::<3>();
            let m: &[[f64; 3]; 3] = rows.try_into().ok()?;
            let q = [n, t1, t2];
            let found = closed_form::space(m, &q, mu, &[z0, z1, z2]);
            accept_single(found, (m, &q, mu), view, z, tolerance)
        }
        _ => None,
    }
}

#[inline]
fn accept_single<const D: usize>(
    found: Single<D>,
    (m, q, mu): (&[[f64; D]; D], &[f64; D], f64),
    view: &View<'_>,
    z: &mut [f64],
    tolerance: &Tolerance,
) -> Option<ContactOutcome> {
    let velocity = |z: &[f64; D]| -> [f64; D] { from_fn(|i| q[i] + dot(&m[i], z)) };
    match found {
        Single::Found(impulse, multiple) => {
            let w = velocity(&impulse);
            // The sizes are known here, so that no loop is left of the check.
            let tangents = const { (D - 1) as u8 };
            let block = Block::Coulomb { mu, tangents };
            let compliance = Compliance::of(block, |i| m[i][i]);
            let mut check = BlockCheck::default();
            check.include(block, (&impulse, &w, q), &compliance, 0.0, tolerance);
            if !check.is_certain() && !view.is_solution(&impulse, &w, tolerance) {
                return None;
            }
            z.copy_from_slice(&impulse);
            Some(ContactOutcome {
                multiple,
                ..outcome_of(Status::Solved, 0, check.worst)
            })
        }
        Single::NoSolution if D == 2 => {
            z.fill(0.0);
            let residual = view.block_residual(0, z, q);
            Some(outcome_of(Status::Infeasible, 0, residual))
        }
        _ => None,
    }
}

/// Whether the problem is one spatial contact without a consistent mode.
fn no_mode_of_space(view: &View<'_>) -> bool {
    let (&[Block::Coulomb { mu, .. }], &[n, t1, t2], Matrix::Dense(matrix)) =
        (view.blocks, view.q, view.matrix)
    else {
        return false;
    };
    let (rows, _) = matrix.as_slice().as_chunks::<3>();
    rows.try_into().is_ok_and(|m: &[[f64; 3]; 3]| {
        closed_form::space(m, &[n, t1, t2], mu, &[0.0; 3]) == Single::NoSolution
    })
}

pub(super) fn outcome_of(status: Status, iterations: u32, residual: f64) -> ContactOutcome {
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
            ..outcome_of(outcome.status, outcome.iterations, outcome.residual)
        }
    }
}
