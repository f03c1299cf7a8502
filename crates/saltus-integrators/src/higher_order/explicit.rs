//! Explicit stages: each solves its own problem of accelerations and forces.

use super::stages::{Piece, Stages, noise, note_opening};
use crate::integrator::StepError;
use crate::kit::{Duration, EvaluationPoint, Row, Step, StepProblem};
use saltus_system::System;

/// One step of length `h` from `at` with the contacts `closed`; `free` is overwritten.
pub(super) fn solve(
    system: &dyn System,
    step: &mut Step,
    problem: &mut StepProblem,
    stages: &mut Stages,
    (at, closed): (&EvaluationPoint, &[usize]),
    h: f64,
    (piece, free): (&mut Piece, &mut Vec<f64>),
) -> Result<(), StepError> {
    stages.open(piece);
    for i in 0..stages.nodes.len() {
        let share = h * stages.tableau.b()[i];
        stages.evaluate_velocity(system, at, i, h)?;
        stages.evaluate_position(system, at, i, h)?;
        let (node, a) = (&mut stages.nodes[i], stages.acceleration.row_mut(i));
        a.copy_from_slice(&node.force);
        node.mass.solve(a);
        let (node, reactions) = (&*node, &mut step.reactions);
        let bias = |row: Row| node.bias(row);
        problem.pose(
            system,
            reactions,
            (node, node),
            closed,
            Duration::Force,
            a,
            bias,
        );
        problem.solve(system, reactions, node, node.t)?;
        free.copy_from_slice(a);
        problem.respond(a);
        reactions.include_force_residuals(problem, node, (free, a), share.abs());
        piece.redundant = piece.redundant.max(problem.redundant);
        for (row, force) in problem.impulses() {
            piece.add(node, row, force, share);
            if let Row::Normal(contact, r) = row {
                let gamma = node.contacts.directions.dot(r, a) + node.bias(row);
                note_opening(
                    &mut piece.opening,
                    contact,
                    force,
                    (gamma, noise(node, r, free)),
                );
            }
        }
    }
    stages.close(system, at, h, piece);
    Ok(())
}
