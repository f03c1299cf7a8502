//! Steps that were not solved: error messages, and the complementarity problem to be archived.

use super::engine::Engine;
use super::levels::Level;
use super::settings::{Formulation, SmoothLevel};
use crate::integrator::{FailedProblem, StepError};
use crate::kit::{Convergence, Location, cure_of_contacts, first_not_finite};
use saltus_complementarity::{Mlcp, Status};
use saltus_linear::Dense;
use saltus_system::System;

/// Largest number of rows for which a certificate of infeasibility is computed: the cost is cubic.
const MAX_CERTIFICATE_ROWS: usize = 300;

impl Engine {
    pub(super) fn not_finite(&self, system: &dyn System, t: f64) -> StepError {
        let (trial, rows) = (&self.trial, &self.rows);
        // In the order of evaluation, so that the first cause is named.
        let of_motion = [
            ("the acceleration", &trial.v_dot),
            ("the velocity", &trial.v),
            ("the force", &trial.force),
        ];
        let of_rows = [
            ("the gap", &rows.gap),
            ("the rate", &rows.velocity),
            ("the acceleration", &rows.acceleration),
        ];
        let motion = of_motion
            .into_iter()
            .find_map(|(what, x)| Some((what, Location::Velocity(first_not_finite(x)?))));
        let position = || first_not_finite(&trial.q).map(Location::Position);
        let found = motion
            .or_else(|| Some(("the position", position()?)))
            .or_else(|| {
                of_rows
                    .into_iter()
                    .find_map(|(what, x)| Some((what, self.location(first_not_finite(x)?))))
            });
        // Where every entry is finite a product has overflowed: the coordinate with the largest momentum is named.
        let (quantity, location) = found.unwrap_or_else(|| {
            let fastest = (0..trial.v.len()).max_by(|a, b| {
                let size = |i: usize| trial.v[i].abs() * self.momentum_scale.weights[i].recip();
                size(*a).total_cmp(&size(*b))
            });
            ("the momentum", Location::Velocity(fastest.unwrap_or(0)))
        });
        StepError::NotFinite {
            quantity,
            place: self.name(system, location),
            t,
        }
    }

    pub(super) fn not_converged(
        &mut self,
        system: &dyn System,
        iterations: u32,
        worst: Convergence,
    ) -> StepError {
        self.monitor.unsolved_at = Some(worst.location);
        let tolerance = self.settings.tolerance * self.momentum_scale.scale;
        StepError::NotConverged {
            iterations,
            residual: worst.ratio * tolerance,
            tolerance,
            place: if self.monitor.will_retry {
                String::new()
            } else {
                self.name(system, worst.location)
            },
            problem: None,
        }
    }

    /// Completes the failure `error` of a step of length `h` \[s\] by its location and its complementarity problem; turns it into
    /// [`StepError::ContactProblem`] where that problem is proven to be infeasible.
    pub(super) fn describe_failure(
        &mut self,
        system: &dyn System,
        error: StepError,
        unsolved_at: Option<Location>,
        (h, end): (f64, f64),
    ) -> StepError {
        let StepError::NotConverged {
            iterations,
            residual,
            tolerance,
            mut place,
            ..
        } = error
        else {
            return error;
        };
        if let Some(location) = unsolved_at.filter(|_| place.is_empty()) {
            place = self.name(system, location);
        }
        let problem = self.failed_problem(system, h, end).map(Box::new);
        // Only with linear rows: others are linearised at an iterate that may be far from any solution.
        let linear = self.structure.linear_contacts
            && (self.dims.ng == 0 || self.structure.linear_constraints);
        let violated = problem.as_deref().filter(|_| linear).and_then(infeasible);
        if let (Some(problem), Some((row, residual))) = (&problem, violated) {
            let bilateral = self.dims.ng;
            return StepError::ContactProblem {
                contacts: self.rows.contacts(),
                bilateral,
                status: Status::Infeasible.name(),
                residual,
                place: self.name(system, self.location(self.archived_rows(h).0[row].1)),
                cure: cure_of_contacts(bilateral),
                problem: problem.clone(),
            };
        }
        StepError::NotConverged {
            iterations,
            residual,
            tolerance,
            place,
            problem,
        }
    }

    fn name(&self, system: &dyn System, location: Location) -> String {
        location.name(&system.names(), &self.rows.set)
    }

    /// The complementarity problem of the step of length `h` that [`solve`](Self::solve) has failed to solve,
    /// linearised at its last iterate.
    ///
    /// Unknowns are `hλ`, `ν*/h` and `Λ*` \[N·s\] of all bilateral constraints, then of the contacts; rows are
    /// accelerations times `h`, gaps over `h` and the impact law \[m/s\]. Contacts are at velocity level where
    /// the last iterate was closed (`pva`) or the forecast says so, at acceleration
    /// level where it was closed at velocity level. The problem is stated in total impulses also where open
    /// contacts keep their filter history ([`Inactive::Literal`](super::Inactive::Literal)): that such a step has no
    /// solution does not mean that this problem has none.
    pub(super) fn failed_problem(
        &mut self,
        system: &dyn System,
        h: f64,
        end: f64,
    ) -> Option<FailedProblem> {
        if !self.is_time_invariant() {
            self.evaluate(system, h, end, true);
        }
        self.pose_all_contacts(system, h, end)?;
        let (list, equalities) = self.archived_rows(h);
        let unscale = |j: usize| match self.rows.row_norm[j] {
            norm if norm > 0.0 => norm,
            _ => 1.0,
        };
        let name = |&(level, j): &(Level, usize)| {
            let what = match (level, self.settings.formulation.smooth_level()) {
                (Level::Smooth, Some(SmoothLevel::Velocity)) => "rate of the smooth motion",
                (Level::Smooth, Some(SmoothLevel::Acceleration)) => "acceleration",
                (Level::Smooth | Level::Position, _) => "gap",
                (Level::Velocity, _) => "impact law",
            };
            format!("{what} of {}", self.name(system, self.location(j)))
        };
        let mut problem = FailedProblem {
            equalities,
            rows: list.iter().map(name).collect(),
            matrix: Vec::with_capacity(list.len() * list.len()),
            q: Vec::with_capacity(list.len()),
        };
        for &row in &list {
            let entries = list
                .iter()
                .map(|&other| unscale(row.1) * unscale(other.1) * self.posed_entry(row, other));
            problem.matrix.extend(entries);
            problem.q.push(unscale(row.1) * self.posed_constant(row));
        }
        let mut numbers = problem.matrix.iter().chain(&problem.q);
        numbers.all(|x| x.is_finite()).then_some(problem)
    }

    /// The multipliers of the archived problem, equalities first, and the number of equalities.
    fn archived_rows(&self, h: f64) -> (Vec<(Level, usize)>, usize) {
        let (ng, m) = (self.dims.ng, self.rows.len());
        let mut list = Vec::new();
        for level in Level::ALL {
            let active = (0..ng).filter(|j| self.sets.of(level)[*j]);
            list.extend(active.map(|j| (level, j)));
        }
        let equalities = list.len();
        let is_posed = |level: Level, j: usize| match (level, self.settings.formulation) {
            (Level::Smooth, Formulation::Pva(_)) => self.sets.velocity[j],
            (Level::Velocity, Formulation::Pva(_)) => {
                self.sets.position[j] || self.is_closed(j, self.rows.gap[j], h)
            }
            (Level::Velocity, _) => self.rows.forecast_gap[j] <= self.epsilon,
            _ => true,
        };
        for j in (ng..m).filter(|j| !self.excluded[*j]) {
            let levels = Level::ALL.into_iter();
            let posed = levels.filter(|level| self.has_contacts_at(*level) && is_posed(*level, j));
            list.extend(posed.map(|level| (level, j)));
        }
        (list, equalities)
    }
}

/// The row of largest weight in the certificate of infeasibility of a problem, and the residual at zero impulses [m/s]; `None` where
/// there is no certificate.
fn infeasible(problem: &FailedProblem) -> Option<(usize, f64)> {
    let n = problem.q.len();
    if n > MAX_CERTIFICATE_ROWS {
        return None;
    }
    let mut matrix = Dense::zeros(n, n);
    matrix.as_mut_slice().copy_from_slice(&problem.matrix);
    let posed = Mlcp {
        equalities: problem.equalities,
        matrix: &matrix,
        q: &problem.q,
    };
    let certificate = posed.infeasibility()?;
    let weight = |i: &usize| (certificate[*i] * problem.q[*i]).abs();
    let row = (0..n).max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    Some((row, posed.residual(&vec![0.0; n])))
}
