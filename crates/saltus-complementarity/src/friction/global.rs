//! The global form solved as it is: `W` is never formed, only applied as `Hᵀ M⁻¹ H`.

use super::gradient;
use super::measure::Measure;
use super::problem::{FrictionContact, GlobalFriction, ProblemError};
use super::scaled::Scaled;
use super::search::{Limits, Search};
use super::solve::{FrictionOutcome, judge};
use crate::block::BlockMatrix;
use crate::sparse::SparseMatrix;
use saltus_linear::SquareMatrix;
use std::sync::Arc;

/// `Ŵ = Ĥᵀ M⁻¹ Ĥ` with the columns of `H` scaled.
#[derive(Debug)]
pub(crate) struct GlobalOperator {
    mass: SquareMatrix,
    h: SparseMatrix,
    mass_entries: usize,
}

impl GlobalOperator {
    /// `y ← Ŵ x`.
    pub fn apply<const D: usize>(&self, x: &[[f64; D]], y: &mut [[f64; D]]) {
        let mut v = vec![0.0; self.h.rows()];
        self.h.apply_add(1.0, x.as_flattened(), &mut v);
        self.mass.solve(&mut v);
        let y = y.as_flattened_mut();
        y.fill(0.0);
        self.h.apply_transposed_add(1.0, &v, y);
    }

    /// Operations of one application, the factors counted as twice the matrix.
    pub fn work(&self) -> f64 {
        (4 * self.h.entries() + 4 * self.mass_entries) as f64
    }
}

/// Solves the global form by accelerated projected gradient from the guess `r` (dimension × contacts) and leaves the
/// best point there. The certificate is computed from `M v = H r + f`, `u = Hᵀ v + w`.
///
/// # Errors
/// [`ProblemError::Mass`] where `M` is singular.
pub fn solve_global(
    problem: &GlobalFriction,
    limits: Limits<'_>,
    r: &mut [f64],
) -> Result<FrictionOutcome, ProblemError> {
    match problem.dimension() {
        2 => sized::<2>(problem, limits, r),
        3 => sized::<3>(problem, limits, r),
        _ => sized::<5>(problem, limits, r),
    }
}

fn sized<const D: usize>(
    problem: &GlobalFriction,
    limits: Limits<'_>,
    r: &mut [f64],
) -> Result<FrictionOutcome, ProblemError> {
    let mass = problem.factorised_mass()?;
    let diagonal = diagonal_problem(problem, &mass)?;
    let measure = Measure::new(&diagonal);
    let mut scaled = Scaled::<D>::new(&diagonal, &measure);
    let root: Vec<f64> = measure.scales().iter().map(|d| d.sqrt()).collect();
    let h = problem.directions();
    let columns: Vec<_> = h
        .triplets()
        .map(|(i, j, v)| (i, j, v / root[j / D]))
        .collect();
    scaled.global = Some(Arc::new(GlobalOperator {
        mass_entries: problem.mass().entries(),
        h: SparseMatrix::from_triplets(h.rows(), h.cols(), &columns),
        mass,
    }));
    let unit: Vec<f64> = root.iter().map(|s| s / measure.reference()).collect();
    let mut guess = vec![[0.0; D]; problem.contacts()];
    if r.len() == D * problem.contacts() {
        for ((to, from), s) in guess.iter_mut().zip(r.as_chunks::<D>().0).zip(&unit) {
            *to = from.map(|v| if v.is_finite() { v * s } else { 0.0 });
        }
    }
    let inner = Limits {
        tolerance: 0.999 * limits.tolerance,
        ..limits
    };
    let mut search = Search::new(&scaled, inner, &guess);
    let stop = gradient::solve(&mut search);
    for ((to, from), s) in r
        .as_chunks_mut::<D>()
        .0
        .iter_mut()
        .zip(&search.best)
        .zip(&unit)
    {
        *to = from.map(|v| v / s);
    }
    let mass = problem.factorised_mass()?;
    let v = problem.generalised_velocity(&mass, r);
    let mut u = problem.bias().to_vec();
    h.apply_transposed_add(1.0, &v, &mut u);
    let residual = measure.residual(&diagonal, r, &u);
    Ok(judge(
        stop,
        residual,
        limits.tolerance,
        search.iterations,
        search.work,
        || false,
    ))
}

/// `q` and the diagonal blocks of `W`: all that the scales and the certificate need.
fn diagonal_problem(
    problem: &GlobalFriction,
    mass: &SquareMatrix,
) -> Result<FrictionContact, ProblemError> {
    let (n, d) = (problem.force().len(), problem.dimension());
    let mut v = problem.force().to_vec();
    mass.solve(&mut v);
    let mut q = problem.bias().to_vec();
    problem.directions().apply_transposed_add(1.0, &v, &mut q);
    let mut entries = Vec::new();
    let mut column = vec![0.0; n];
    for j in 0..d * problem.contacts() {
        column.fill(0.0);
        for (i, value) in problem.directions().column(j) {
            column[i] = value;
        }
        mass.solve(&mut column);
        let first = j / d * d;
        for i in first..first + d {
            let value: f64 = problem
                .directions()
                .column(i)
                .map(|(k, h)| h * column[k])
                .sum();
            entries.push((i, j, value));
        }
    }
    let w = BlockMatrix::from_triplets(d, problem.contacts(), entries);
    FrictionContact::new(
        w,
        q,
        problem.friction().to_vec(),
        problem.rolling().to_vec(),
    )
}
