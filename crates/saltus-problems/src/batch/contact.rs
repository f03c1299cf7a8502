//! Problems whose blocks of rows obey different laws.

use super::{AUTO, BatchError, Request, Solution, blank};
use saltus_complementarity::friction::FrictionContact;
use saltus_complementarity::{Block, ContactData, ContactProblem, Tolerance};
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
        several: outcome.multiple,
        canonical: request.canonical.then_some(false),
        canonical_note: request.canonical.then_some(NOT_OF_SEVERAL_LAWS),
        ..blank("contact", problem.blocks(), AUTO, outcome.status)
    })
}

/// Whether a contact alone has several solutions with different velocities (Painlevé); not looked for in other problems.
pub(super) fn has_several_solutions(p: &FrictionContact) -> bool {
    let n = p.dimension();
    if p.contacts() != 1 || !matches!(n, 2 | 3) {
        return false;
    }
    let q = p.free_velocity();
    let mut matrix = Vec::with_capacity(n * n);
    let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        unit.fill(0.0);
        unit[j] = 1.0;
        p.velocity(&unit, &mut column);
        matrix.extend((0..n).map(|i| (i, j, column[i] - q[i])));
    }
    let data = ContactData {
        ids: vec![0],
        blocks: vec![Block::Coulomb {
            mu: p.friction()[0],
            tangents: if n == 2 { 1 } else { 2 },
        }],
        matrix,
        sparse: false,
        q: q.to_vec(),
        z: vec![0.0; n],
    };
    let problem = ContactProblem::from_data(&data);
    problem.is_ok_and(|mut problem| problem.solve(Tolerance::default()).multiple)
}
