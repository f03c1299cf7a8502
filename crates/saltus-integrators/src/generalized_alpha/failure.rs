//! Steps that were not solved: error messages, and the complementarity problem to be archived.

use super::engine::Engine;
use super::levels::{Functional, Level};
use super::response::PARTS;
use super::settings::{Formulation, SmoothRow};
use crate::integrator::{FailedProblem, StepError};
use crate::kit::{Convergence, Location, cure_of_contacts, first_not_finite};
use saltus_complementarity::{Mlcp, Status};
use saltus_linear::{Dense, axpy, dot};
use saltus_system::System;

/// Largest number of rows for which a certificate of infeasibility is computed: the cost is cubic.
const MAX_PROOF_ROWS: usize = 300;

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
        let moved = of_motion
            .into_iter()
            .find_map(|(what, x)| Some((what, Location::Velocity(first_not_finite(x)?))));
        let position = || first_not_finite(&trial.q).map(Location::Position);
        let found = moved
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
        let fixed = self.structure.linear_contacts
            && (self.dims.ng == 0 || self.structure.linear_constraints);
        let proof = problem.as_deref().filter(|_| fixed).and_then(infeasible);
        if let (Some(problem), Some((row, residual))) = (&problem, proof) {
            let bilateral = self.dims.ng;
            return StepError::ContactProblem {
                contacts: self.rows.contacts(),
                bilateral,
                status: Status::Infeasible.name(),
                residual,
                place: self.name(system, self.location(self.levels_of_failure().0[row].1)),
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
    /// the last iterate was closed at position level (`pva`) or the forecast says so, at acceleration
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
        self.assemble(system, h, end);
        self.zero_inactive(h, &Level::ALL);
        let form = self.full_form();
        self.response.factor(form, &self.tangent).ok()?;
        self.solve_free_increment(form, h);
        let (unknowns, equalities) = self.levels_of_failure();
        let columns = self.columns_of_failure(form, h, &unknowns);
        let k = unknowns.len();
        let z: Vec<f64> = unknowns.iter().map(|u| self.impulse_of(*u, h)).collect();
        let mut functional = Functional::default();
        let name = |&(level, j): &(Level, usize)| {
            let what = match level {
                Level::Smooth => match self.settings.formulation.smooth_row() {
                    Some(SmoothRow::Velocity) => "rate of the smooth motion",
                    Some(SmoothRow::Acceleration) => "acceleration",
                    _ => "gap",
                },
                Level::Position => "gap",
                Level::Velocity => "impact law",
            };
            format!("{what} of {}", self.name(system, self.location(j)))
        };
        let mut problem = FailedProblem {
            equalities,
            rows: unknowns.iter().map(name).collect(),
            matrix: Vec::with_capacity(k * k),
            q: Vec::with_capacity(k),
        };
        for unknown in unknowns {
            let (row, _) = self.units_of(unknown, h);
            let smooth = self.settings.formulation.smooth_row();
            functional.gather((&self.rows, &self.response), smooth, unknown, row);
            let line: Vec<f64> = (0..k).map(|q| functional.of(columns.row(q))).collect();
            let here = row * self.residual_of(unknown) + functional.of(&self.condensed.increment);
            problem.q.push(here - dot(&line, &z));
            problem.matrix.extend(line);
        }
        let mut numbers = problem.matrix.iter().chain(&problem.q);
        numbers.all(|x| x.is_finite()).then_some(problem)
    }

    /// The multipliers of the archived problem, equalities first, and the number of equalities.
    fn levels_of_failure(&self) -> (Vec<(Level, usize)>, usize) {
        let (f, ng, m) = (self.settings.formulation, self.dims.ng, self.rows.len());
        let smooth = f.smooth_row().is_some();
        let mut list = Vec::new();
        let mut add = |level: Level, exists: bool, rows: std::ops::Range<usize>| {
            list.extend(rows.filter(|_| exists).map(|j| (level, j)));
        };
        add(Level::Smooth, smooth, 0..ng);
        add(Level::Position, f.has_corrections(), 0..ng);
        add(Level::Velocity, f.has_jumps(), 0..ng);
        let equalities = list.len();
        for j in (ng..m).filter(|j| !self.excluded[*j]) {
            let (position, velocity, smooth) = match f {
                Formulation::Position => (false, false, true),
                Formulation::Pvv => (true, self.rows.forecast_gap[j] <= self.epsilon, false),
                Formulation::Pva(strategy) => {
                    let closed = self.sets.position[j];
                    let lasting = strategy == 3 && self.sets.velocity[j];
                    (true, closed, lasting)
                }
                Formulation::HalfStep => (false, self.rows.forecast_gap[j] <= self.epsilon, false),
                Formulation::Velocity | Formulation::Acceleration => (false, false, false),
            };
            let levels = [
                (Level::Smooth, smooth),
                (Level::Position, position),
                (Level::Velocity, velocity),
            ];
            list.extend(levels.iter().filter(|(_, g)| *g).map(|(l, _)| (*l, j)));
        }
        (list, equalities)
    }

    /// The motion caused by each impulse, the others unchanged.
    fn columns_of_failure(
        &mut self,
        form: super::response::Form,
        h: f64,
        unknowns: &[(Level, usize)],
    ) -> Dense {
        let size = PARTS * self.dims.nv;
        let mut columns = Dense::zeros(unknowns.len(), size);
        let mut other = vec![0.0; size];
        let filters = self.settings.formulation.filters_multipliers();
        let (kappa, rho) = (self.response.kappa, self.response.rho);
        self.condensed
            .invalidate_inverse(self.rows.len(), self.dims.nv);
        for (p, &(level, j)) in unknowns.iter().enumerate() {
            let column = columns.row_mut(p);
            self.column(form, h, (level, j), column);
            if filters && level == Level::Smooth {
                // At fixed totals `ν*`, `Λ*` a change of `λ` lowers `ν` by `κ` and `Λ` by `ϱ` times it.
                for (level, share) in [(Level::Position, kappa), (Level::Velocity, rho)] {
                    self.column(form, h, (level, j), &mut other);
                    axpy(-share, &other, column);
                }
            }
            let (_, scale) = self.units_of((level, j), h);
            column.iter_mut().for_each(|c| *c *= scale);
        }
        columns
    }

    /// Scales that make a row a velocity and its multiplier an impulse.
    fn units_of(&self, (level, j): (Level, usize), h: f64) -> (f64, f64) {
        let row_norm = self.rows.row_norm[j];
        let (row, col) = self.scales_of((level, j), h);
        let row_norm = if row_norm > 0.0 { row_norm } else { 1.0 };
        (row * row_norm, col * row_norm)
    }

    /// The multiplier as a total impulse, at the trial state.
    fn impulse_of(&self, (level, j): (Level, usize), h: f64) -> f64 {
        let t = &self.trial;
        match level {
            Level::Smooth => h * t.lambda[j],
            Level::Position => t.nu_star[j] / h,
            Level::Velocity => t.jump_impulse_star[j],
        }
    }
}

/// The row of largest weight in the certificate of infeasibility of a problem, and the residual at zero impulses [m/s]; `None` where
/// there is no certificate.
fn infeasible(problem: &FailedProblem) -> Option<(usize, f64)> {
    let n = problem.q.len();
    if n > MAX_PROOF_ROWS {
        return None;
    }
    let mut matrix = Dense::zeros(n, n);
    matrix.as_mut_slice().copy_from_slice(&problem.matrix);
    let posed = Mlcp {
        equalities: problem.equalities,
        matrix: &matrix,
        q: &problem.q,
    };
    let proof = posed.infeasibility()?;
    let weight = |i: &usize| (proof[*i] * problem.q[*i]).abs();
    let row = (0..n).max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    Some((row, posed.residual(&vec![0.0; n])))
}
