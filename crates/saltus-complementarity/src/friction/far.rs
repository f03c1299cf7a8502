//! Problems solved in units of their own, contacts that do not act on each other one after the other.

use super::measure::Residual;
use super::problem::FrictionContact;
use super::search::Limits;
use super::solve::{FrictionOutcome, FrictionSolver, opened, opens, within};
use super::units::{Part, Units};
use crate::outcome::{Outcome, Status};

/// In units of its own, part by part.
#[cold]
pub(super) fn solve(
    problem: &FrictionContact,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> FrictionOutcome {
    let units = Units::new(problem);
    let mut parts: Vec<&Part> = units.parts.iter().collect();
    parts.sort_by_key(|part| part.problem.delassus().stored());
    let weight = |part: &Part| part.problem.delassus().stored() as f64;
    let mut left: f64 = parts.iter().map(|part| weight(part)).sum();
    let mut ends = Ends::default();
    for part in parts {
        let share = weight(part) / left;
        left -= weight(part);
        let own = Limits {
            max_work: (limits.max_work - ends.work).max(0.0) * share.min(1.0),
            ..limits
        };
        let mut inside = part.guess(r);
        let end = if opens(&part.problem, &inside) {
            opened(&mut inside)
        } else {
            within(&part.problem, Some(&part.measure), solver, own, &mut inside)
        };
        ends.add(part, end, &mut inside, r);
    }
    ends.judged(units.residual(problem.free_velocity(), r), limits)
}

/// How the parts of a problem in units of its own ended.
#[derive(Default)]
pub(super) struct Ends {
    /// Of the part that took most: a sweep, or a step, is one of all parts.
    iterations: u32,
    work: f64,
    /// The word for what is not solved, the gravest.
    failed: Option<Status>,
    /// Some impulses or velocities of the solution are too large to be written.
    pub beyond: bool,
}

impl Ends {
    /// Writes the impulses `inside` of `part` to `r`: zero where they leave the range of numbers.
    pub fn add(&mut self, part: &Part, end: FrictionOutcome, inside: &mut [f64], r: &mut [f64]) {
        self.iterations = self.iterations.max(end.outcome.iterations);
        self.work += end.work;
        let status = end.outcome.status;
        if status != Status::Solved {
            let grave = |status: &Status| match status {
                Status::Cancelled => 2,
                Status::Infeasible => 1,
                _ => 0,
            };
            if self
                .failed
                .as_ref()
                .is_none_or(|f| grave(f) < grave(&status))
            {
                self.failed = Some(status);
            }
        }
        let written = part.leave(inside, r);
        if !written {
            inside.fill(0.0);
            part.leave(inside, r);
        }
        self.beyond |= end.outcome.is_solved() && !(written && part.has_velocities(inside));
    }

    /// With the residual of the point that was written.
    pub fn judged(self, residual: Residual, limits: Limits<'_>) -> FrictionOutcome {
        let status = match self.failed {
            _ if self.beyond => Status::NotFinite,
            _ if residual.eta <= limits.tolerance => Status::Solved,
            Some(status) => status,
            // What solves it has lost its digits at the lower end of the range.
            None => Status::NotFinite,
        };
        FrictionOutcome {
            outcome: Outcome {
                status,
                iterations: self.iterations,
                residual: residual.eta,
                redundant: 0,
            },
            residual,
            work: self.work,
        }
    }
}
