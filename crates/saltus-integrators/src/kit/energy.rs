//! Energy of a state, and a check of the kinetic energy.

use super::failure::velocity_name;
use super::problem::StepProblem;
use super::{EvaluationPoint, Row};
use crate::integrator::{Energy, StepError};
use saltus_linear::{SquareMatrix, dot};
use saltus_system::{Names, System};

/// Energy of the state `(t, q, v)` with the momentum `M v`.
pub(crate) fn energy_of(
    system: &dyn System,
    (t, q): (f64, &[f64]),
    (v, momentum): (&[f64], &[f64]),
) -> Energy {
    Energy {
        kinetic: 0.5 * dot(v, momentum),
        potential: system.potential_energy(t, q),
    }
}

/// Works \[J\].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Works {
    /// Of forces without a potential.
    pub(crate) external: f64,
    /// Of constraints and contacts.
    pub(crate) contact: f64,
    /// The part of it done by prescribed motions.
    pub(crate) moving: f64,
}

impl Works {
    /// Adds the work of the impulse `p` [N·s] on a row of `point` that acts at the velocity `v`.
    pub(crate) fn add(&mut self, point: &EvaluationPoint, row: Row, p: f64, v: &[f64]) {
        let (matrix, i) = point.row(row);
        self.contact += p * matrix.dot(i, v);
        self.moving -= p * point.rate(row);
    }

    /// Adds other works.
    pub(crate) fn include(&mut self, other: Self) {
        self.external += other.external;
        self.contact += other.contact;
        self.moving += other.moving;
    }

    /// Adds the work of `weight` times the impulses (or forces) of a solved problem.
    pub(crate) fn add_all(
        &mut self,
        problem: &StepProblem,
        point: &EvaluationPoint,
        v: &[f64],
        weight: f64,
    ) {
        for (row, p) in problem.impulses() {
            self.add(point, row, weight * p, v);
        }
    }
}

/// Refuses a kinetic energy \[J\] that is not finite or, by more than round-off, negative; it is that of the velocities `v` at the
/// time `t` \[s\].
pub(crate) fn check_kinetic(
    system: &dyn System,
    kinetic: f64,
    (t, v): (f64, &[f64]),
    mass: &SquareMatrix,
) -> Result<(), StepError> {
    if !kinetic.is_finite() {
        return Err(energy_not_finite(&system.names(), t, v));
    }
    if kinetic >= 0.0 {
        return Ok(());
    }
    let mut diagonal = vec![0.0; v.len()];
    mass.diagonal(&mut diagonal);
    let size: f64 = diagonal.iter().zip(v).map(|(m, v)| (m * v * v).abs()).sum();
    if kinetic < -1e-12 * size {
        return Err(StepError::IndefiniteMass { kinetic });
    }
    Ok(())
}

/// That the kinetic energy is not finite, by the coordinate that moves fastest.
pub(crate) fn energy_not_finite(names: &Names, t: f64, v: &[f64]) -> StepError {
    let fastest = (0..v.len()).max_by(|a, b| v[*a].abs().total_cmp(&v[*b].abs()));
    StepError::NotFinite {
        quantity: "the kinetic energy",
        place: velocity_name(names, fastest.unwrap_or(0)),
        t,
    }
}
