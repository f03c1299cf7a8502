//! The global form solved without forming `W`, which is applied as `Hᵀ M⁻¹ H`.

use super::problem::{FrictionContact, GlobalFriction, ProblemError};
use super::residual::norm_of;
use super::solve::{FrictionOutcome, FrictionSolver, solve};
use super::solver_state::Limits;
use crate::operator::Product;
use crate::outcome::Status;
use crate::sparse::SparseMatrix;
use saltus_linear::SquareMatrix;
use std::sync::{Arc, Mutex, PoisonError};

/// `W = Hᵀ M⁻¹ H` by its products.
#[derive(Debug)]
struct GlobalOperator {
    mass: SquareMatrix,
    h: SparseMatrix,
    mass_entries: usize,
    /// Generalised velocities of a product.
    scratch: Mutex<Vec<f64>>,
}

impl Product for GlobalOperator {
    fn size(&self) -> usize {
        self.h.cols()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut v = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        v.fill(0.0);
        self.h.apply_add(1.0, x, &mut v);
        self.mass.solve(&mut v);
        y.fill(0.0);
        self.h.apply_transposed_add(1.0, &v, y);
    }

    /// The factors are counted as twice the matrix.
    fn work(&self) -> f64 {
        (4 * self.h.entries() + 4 * self.mass_entries) as f64
    }

    fn diagonal_block(&self, contact: usize, k: usize, block: &mut [f64]) -> bool {
        let mut v = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        for j in 0..k {
            v.fill(0.0);
            for (i, value) in self.h.column(contact * k + j) {
                v[i] = value;
            }
            self.mass.solve(&mut v);
            for i in 0..k {
                let column = self.h.column(contact * k + i);
                block[i * k + j] = column.map(|(l, h)| h * v[l]).sum();
            }
        }
        true
    }
}

impl GlobalFriction {
    /// The reduced form with a matrix-free `W`: each product takes one solve with the factorised `M`.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn matrix_free(&self) -> Result<FrictionContact, ProblemError> {
        let mass = self.factorised_mass()?;
        let mut v = self.force().to_vec();
        mass.solve(&mut v);
        let mut q = self.bias().to_vec();
        self.directions().apply_transposed_add(1.0, &v, &mut q);
        let operator: Arc<dyn Product> = Arc::new(GlobalOperator {
            mass_entries: self.mass().entries(),
            h: self.directions().clone(),
            scratch: Mutex::new(v),
            mass,
        });
        let (mu, rolling) = (self.friction().to_vec(), self.rolling().to_vec());
        FrictionContact::new(operator, q, mu, rolling)
    }
}

/// Velocities of a global problem for given contact impulses.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// Generalised velocities, `M v = H r + f` (n).
    pub v: Vec<f64>,
    /// Velocities of the contacts, `Hᵀ v + w` (dimension × contacts).
    pub u: Vec<f64>,
    /// `|M v − H r − f|`, relative to the largest term.
    pub defect: f64,
}

impl GlobalFriction {
    /// The velocities for the impulses `r` (dimension × contacts).
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn motion(&self, r: &[f64]) -> Result<Motion, ProblemError> {
        let v = self.generalised_velocity(&self.factorised_mass()?, r);
        Ok(self.motion_at(v, r))
    }

    /// The motion with the velocities `v` (n).
    pub(super) fn motion_at(&self, v: Vec<f64>, r: &[f64]) -> Motion {
        let mut u = self.bias().to_vec();
        self.directions().apply_transposed_add(1.0, &v, &mut u);
        let (mut inertia, mut impulse) = (vec![0.0; v.len()], vec![0.0; v.len()]);
        self.mass().apply_add(1.0, &v, &mut inertia);
        self.directions().apply_add(1.0, r, &mut impulse);
        let terms = [&inertia, &impulse, self.force()].map(norm_of);
        let scale = terms.into_iter().fold(0.0, f64::max);
        let imbalance = inertia.iter().zip(&impulse).zip(self.force());
        let imbalance: Vec<f64> = imbalance.map(|((a, b), f)| a - b - f).collect();
        let defect = if scale > 0.0 {
            norm_of(&imbalance) / scale
        } else {
            0.0
        };
        Motion { v, u, defect }
    }
}

/// Solves the global form from the guess `r` (dimension × contacts) and leaves the best point there. The residual is
/// computed from `M v = H r + f`, `u = Hᵀ v + w`; where rounding keeps that from the tolerance, from [refined](GlobalFriction::refine)
/// impulses and velocities.
///
/// `ProjectedGradient` never forms `W`; all other methods work on the [reduced form](GlobalFriction::reduce).
///
/// # Errors
/// [`ProblemError::Mass`] where `M` is singular.
pub fn solve_global(
    problem: &GlobalFriction,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> Result<FrictionOutcome, ProblemError> {
    let mut end = match solver {
        FrictionSolver::ProjectedGradient => solve(&problem.matrix_free()?, solver, limits, r),
        _ => solve(&problem.reduce()?, solver, limits, r),
    };
    end.residual = problem.residual(r)?;
    end.outcome.residual = end.residual.eta;
    if end.outcome.status == Status::NotFinite {
        // No method was run.
    } else if end.residual.eta <= limits.tolerance {
        end.outcome.status = Status::Solved;
    } else if matches!(end.outcome.status, Status::Solved | Status::Inaccurate) {
        end.outcome.status = Status::Inaccurate;
        if let Some((_, residual)) = problem.refine(r, limits.tolerance) {
            end.residual = residual;
            end.outcome.residual = residual.eta;
            end.outcome.status = Status::Solved;
        }
    }
    Ok(end)
}
