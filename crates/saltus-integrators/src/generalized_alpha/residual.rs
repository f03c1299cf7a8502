//! Residuals of a trial state, and their tolerances.

use super::engine::Engine;
use super::levels::Level;
use super::settings::{Formulation, Inactive, SmoothLevel};
use crate::kit::{Convergence, Location};
use crate::round_off::{self, ROUND_OFF};
use saltus_linear::SparseRows;
use std::cell::LazyCell;

/// Residual of an iterate, relative to tolerances.
#[derive(Debug, Clone, Copy)]
pub(super) struct Residual {
    /// Largest residual over its tolerance.
    pub(super) worst: Convergence,
    /// Largest residual of the active rows over their tighter tolerance.
    pub(super) rows: f64,
}

/// Factor on the tolerance of active rows, whose residual is constraint drift: usually met without an extra correction.
const TIGHT: f64 = 1e-5;

/// Tolerance of a row: the requested one, and the bound by round-off.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTolerance {
    requested: f64,
    round_off: f64,
}

impl RowTolerance {
    /// The tolerance, and the tight one.
    fn limits(self) -> (f64, f64) {
        let floor = self.round_off.max(f64::MIN_POSITIVE);
        (
            self.requested.max(floor),
            (TIGHT * self.requested).max(floor),
        )
    }
}

impl Residual {
    /// Residual over tolerance: ≤ 1 is a solution.
    pub(super) fn ratio(&self) -> f64 {
        self.worst.ratio
    }

    /// Includes the residual of an active row.
    #[inline]
    fn include_active(&mut self, residual: f64, tolerance: RowTolerance, location: Location) {
        let (limit, tight) = tolerance.limits();
        let residual = residual.abs();
        self.worst.include(residual, limit, location);
        if residual > self.rows * tight {
            self.rows = residual / tight;
        }
    }
}

impl Engine {
    /// Tolerance of the balances: a momentum over `√Mᵢᵢ`.
    pub(super) fn momentum_limit(&self) -> f64 {
        (self.settings.tolerance * self.momentum_scale.scale).max(f64::MIN_POSITIVE)
    }

    /// The largest residual relative to its tolerance. With `first_violation` the rows are not evaluated if the momentum balances
    /// exceed their tolerance.
    pub(super) fn residual(&self, h: f64, first_violation: bool) -> Residual {
        let momentum = self.momentum_limit();
        let mut residual = Residual {
            worst: Convergence::NONE,
            rows: 0.0,
        };
        let r = &self.trial.residual;
        for (i, w) in self.momentum_scale.weights.iter().enumerate() {
            let largest = (h * round_off::above(r.smooth[i], self.trial.round_off[i]))
                .max(r.correction[i].abs() / h)
                .max(r.jump[i].abs());
            // `max` drops NaN; the sum keeps it.
            let sum = r.smooth[i] + r.correction[i] + r.jump[i];
            let largest = if sum.is_nan() { sum } else { largest };
            residual
                .worst
                .include(w * largest, momentum, Location::Velocity(i));
        }
        if first_violation && residual.ratio() > 1.0 && self.rows.are_finite() {
            return residual;
        }
        for j in 0..self.rows.len() {
            self.row_residual(j, h, momentum, &mut residual);
        }
        residual
    }

    /// The residuals of row `j` at every level: of its condition where it is active, of its multiplier
    /// where it is open.
    pub(super) fn row_residual(&self, j: usize, h: f64, momentum: f64, all: &mut Residual) {
        let (rows, t, formulation) = (&self.rows, &self.trial, self.settings.formulation);
        let row_norm = rows.row_norm[j].max(f64::MIN_POSITIVE);
        let velocity = LazyCell::new(|| self.velocity_tolerance(j, momentum));
        let location = self.location(j);
        if self.sets.smooth[j] {
            let tolerance = match formulation.smooth_level() {
                Some(SmoothLevel::Position) => self.gap_tolerance(j, h, momentum),
                Some(SmoothLevel::Acceleration) => self.acceleration_tolerance(j),
                Some(SmoothLevel::Velocity) | None => *velocity,
            };
            all.include_active(self.residual_of((Level::Smooth, j)), tolerance, location);
        } else {
            all.worst
                .include(h * t.lambda[j].abs() * row_norm, momentum, location);
        }
        if formulation.has_corrections() {
            if self.sets.position[j] {
                let tolerance = self.gap_tolerance(j, h, momentum);
                all.include_active(rows.gap[j], tolerance, location);
            } else {
                let inactive_part = self.inactive_correction(j, h).abs();
                all.worst
                    .include(inactive_part * row_norm, h * momentum, location);
            }
        }
        if formulation.has_jumps() {
            if self.sets.velocity[j] {
                all.include_active(self.residual_of((Level::Velocity, j)), *velocity, location);
            } else {
                all.worst.include(
                    self.inactive_impulse(j).abs() * row_norm,
                    momentum,
                    location,
                );
            }
        }
        if self.solves_nested_levels() && j >= self.dims.ng && !self.excluded[j] {
            self.inactive_residual(j, h, momentum, all);
        }
    }

    /// Violation of the inequalities of contact row `j` at the levels where it is inactive, for active sets found by the nested problems.
    fn inactive_residual(&self, j: usize, h: f64, momentum: f64, all: &mut Residual) {
        let (rows, sets, formulation) = (&self.rows, &self.sets, self.settings.formulation);
        let law = self.residual_of((Level::Velocity, j));
        let positions = formulation.has_corrections() || formulation == Formulation::Position;
        let mut include = |value: f64, tolerance: RowTolerance| {
            all.include_active(value, tolerance, self.location(j));
        };
        let is_active = sets.position[j] || sets.smooth[j] && formulation == Formulation::Position;
        if positions && !is_active && rows.gap[j] < 0.0 {
            include(rows.gap[j], self.gap_tolerance(j, h, momentum));
        }
        let acceleration = rows.acceleration[j];
        let approaches = !sets.velocity[j] && law < 0.0;
        let accelerates =
            formulation == Formulation::Pva(3) && !sets.smooth[j] && acceleration < 0.0;
        let closed = || match formulation {
            Formulation::Pva(_) => sets.position[j] || self.is_closed(j, rows.gap[j], h),
            Formulation::Pvv | Formulation::HalfStep => rows.forecast_gap[j] <= self.epsilon,
            Formulation::Position | Formulation::Velocity | Formulation::Acceleration => false,
        };
        if !(approaches || accelerates) || !closed() {
            return;
        }
        if approaches {
            include(law, self.velocity_tolerance(j, momentum));
        }
        if accelerates && (sets.velocity[j] || self.satisfies_impact_law(j, law)) {
            include(acceleration, self.acceleration_tolerance(j));
        }
    }

    /// The constraint or contact of row `j`.
    pub(super) fn location(&self, j: usize) -> Location {
        match j.checked_sub(self.dims.ng) {
            Some(contact) => Location::Contact(contact),
            None => Location::Bilateral(j),
        }
    }

    /// Whether a contact row with this gap \[m\] is closed up to the tolerance.
    pub(super) fn is_closed(&self, j: usize, gap: f64, h: f64) -> bool {
        let tolerance = || self.gap_tolerance(j, h, self.momentum_limit()).limits().0;
        gap <= self.epsilon || gap <= tolerance()
    }

    /// Whether a contact row with the residual `law` \[m/s\] satisfies the impact law up to the tolerance.
    pub(super) fn satisfies_impact_law(&self, j: usize, law: f64) -> bool {
        let tolerance = || self.velocity_tolerance(j, self.momentum_limit()).limits().0;
        law <= 0.0 || law <= tolerance()
    }

    /// `Σ |D_jk q_k|` with the derivative `D` of a quantity with respect to position, which scales the round-off of that quantity;
    /// `max |q|` of the trial stands for every `|q_k|` where `q ⊕ ξ` is not `q + ξ`.
    fn position_magnitude(&self, derivative: &SparseRows, j: usize, q: &[f64]) -> f64 {
        if self.is_flat {
            derivative.magnitude(j, q)
        } else {
            self.trial.extent * derivative.values(j).iter().map(|a| a.abs()).sum::<f64>()
        }
    }

    /// The magnitude that scales the round-off of the gap of row `j` at `q`.
    pub(super) fn gap_magnitude(&self, j: usize, q: &[f64]) -> f64 {
        self.position_magnitude(self.rows.gradient(), j, q)
    }

    /// `Σ |G_jk f_k| / M_kk`: the acceleration that the forces alone cause along row `j`.
    fn force_magnitude(&self, j: usize) -> f64 {
        let rows = self.rows.gradient();
        let terms = rows.cols(j).iter().zip(rows.values(j));
        terms
            .map(|(&k, g)| (g * self.trial.force[k]).abs() * self.momentum_scale.weights[k].powi(2))
            .sum()
    }

    /// Velocity along row `j` that counts as zero.
    fn velocity_tolerance(&self, j: usize, momentum: f64) -> RowTolerance {
        // The terms that cancel in a zero velocity are of the size of the motion.
        let motion = self.rows.row_norm[j] * self.momentum_scale.scale;
        let mut size =
            self.rows.gradient().magnitude(j, &self.trial.v) + self.rows.rate[j].abs() + motion;
        if self.trial.has_stagnated {
            size += self.position_magnitude(self.rows.velocity_gradient(), j, &self.trial.q);
        }
        RowTolerance {
            requested: self.rows.row_norm[j] * momentum,
            round_off: ROUND_OFF * size,
        }
    }

    /// Gap that counts as zero: a distance moved by the velocity tolerance.
    fn gap_tolerance(&self, j: usize, h: f64, momentum: f64) -> RowTolerance {
        let moved = h * self.rows.row_norm[j] * momentum;
        let size = self.gap_magnitude(j, &self.trial.q);
        RowTolerance {
            requested: moved,
            round_off: (ROUND_OFF * size).max(ROUND_OFF / self.settings.tolerance * moved),
        }
    }

    /// Acceleration along row `j` that counts as zero.
    fn acceleration_tolerance(&self, j: usize) -> RowTolerance {
        let mut size =
            self.rows.gradient().magnitude(j, &self.trial.v_dot) + self.rows.bias[j].abs();
        if self.trial.has_stagnated {
            // The terms that cancel in `ζ`, which is quadratic in velocities, are of the size of `∂ζ/∂v · v`; those in `v̇` of the
            // size of the forces, which reactions balance at rest.
            size += self.rows.bias_damping().magnitude(j, &self.trial.v)
                + self.position_magnitude(self.rows.acceleration_gradient(), j, &self.trial.q)
                + self.force_magnitude(j);
        }
        let scale = self.rows.row_norm[j] * (self.force_scale + self.bias_scale);
        RowTolerance {
            requested: self.settings.tolerance * scale,
            round_off: ROUND_OFF * (size + scale),
        }
    }

    /// The change that makes the multiplier of an inactive row `j` zero; 0 where the row is active.
    pub(super) fn inactive_multiplier_change(&self, (level, j): (Level, usize), h: f64) -> f64 {
        if self.sets.of(level)[j] {
            return 0.0;
        }
        match level {
            Level::Smooth => -self.trial.lambda[j],
            Level::Position => -self.inactive_correction(j, h),
            Level::Velocity => -self.inactive_impulse(j),
        }
    }

    /// The quantity that is zero on a row inactive at position level: `ν*`, `ν` or `ν − hΛ`.
    pub(super) fn inactive_correction(&self, j: usize, h: f64) -> f64 {
        let t = &self.trial;
        if self.settings.modified && j >= self.dims.ng {
            t.nu[j] - h * t.jump_impulse[j]
        } else if self.settings.inactive == Inactive::Star {
            t.nu_total[j]
        } else {
            t.nu[j]
        }
    }

    /// The quantity that is zero on a row inactive at velocity level: `Λ*` or `Λ`.
    pub(super) fn inactive_impulse(&self, j: usize) -> f64 {
        if self.settings.inactive == Inactive::Star {
            self.trial.jump_impulse_total[j]
        } else {
            self.trial.jump_impulse[j]
        }
    }
}
