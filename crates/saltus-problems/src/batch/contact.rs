//! Problems whose blocks of rows obey different laws.

use super::{AUTO, BatchError, Request, Solution, blank};
use saltus_complementarity::{ContactData, ContactProblem, Tolerance};
use std::time::Instant;

const NOT_OF_SEVERAL_LAWS: &str =
    "the point of least norm is not looked for in a problem of several laws";

pub(super) fn solve(
    data: &ContactData,
    start: Vec<f64>,
    request: &Request,
) -> Result<Solution, BatchError> {
    let mut problem = ContactProblem::from_data(data)?;
    problem.z_mut().copy_from_slice(&start);
    let tolerance = Tolerance {
        residual: request.tolerance,
        max_iterations: u32::try_from(request.max_iterations).unwrap_or(u32::MAX),
        ..Tolerance::default()
    };
    let clock = Instant::now();
    let outcome = problem.solve(tolerance);
    let time_s = clock.elapsed().as_secs_f64();
    let mut w = vec![0.0; problem.rows()];
    problem.velocity(&mut w);
    Ok(Solution {
        iterations: outcome.iterations,
        residual: problem.relative_residual(),
        residual_unscaled: Some(outcome.residual),
        time_s,
        unknowns: problem.z().to_vec(),
        dual: w,
        canonical: request.canonical.then_some(false),
        canonical_note: request.canonical.then_some(NOT_OF_SEVERAL_LAWS),
        ..blank("contact", problem.blocks(), AUTO, outcome.status)
    })
}
