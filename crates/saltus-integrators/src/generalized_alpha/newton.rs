//! Newton's method on the step: place, evaluate, activate, judge, correct.

use super::engine::Engine;
use super::settings::{Formulation, LinearSolve, Prediction, SmoothRow};
use super::watch::Remedy;
use crate::integrator::StepError;
use crate::round_off::{self, ROUND_OFF};
use saltus_linear::{axpy, is_zero, max_abs};
use saltus_system::{DynamicsParts, Point, System, Tangents};

/// Largest residual relative to its tolerance, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Defect {
    /// Of everything: ≤ 1 is a solution.
    pub(super) ratio: f64,
    /// Of the active rows, relative to the tolerance they are given as long as it can be reached.
    pub(super) rows: f64,
    pub(super) place: Place,
}

/// Active rows are converged to this fraction of the tolerance: a correction that brings the momentum
/// balances there has mostly brought the constraints there too, and drift is what users look at.
const TIGHT: f64 = 1e-5;
/// After so many corrections the round-off of the force is looked at; after one in a linear system.
const STUBBORN: u32 = 3;

/// What counts as zero along a row: by the tolerance of the scheme, and by round-off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zero {
    wanted: f64,
    round_off: f64,
}

impl Zero {
    /// What counts as zero, and what does by the tight tolerance.
    fn limits(self) -> (f64, f64) {
        let floor = self.round_off.max(f64::MIN_POSITIVE);
        (self.wanted.max(floor), (TIGHT * self.wanted).max(floor))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Velocity(usize),
    Row(usize),
}

impl Defect {
    /// Notes `residual ≥ 0` relative to `limit > 0`. Divides only where that makes a difference.
    #[inline]
    fn worse(&mut self, residual: f64, limit: f64, place: Place) {
        let smaller = residual <= self.ratio * limit;
        if !smaller {
            self.ratio = residual / limit;
            self.place = place;
        }
    }

    /// Notes the residual of an active row.
    #[inline]
    fn active(&mut self, residual: f64, zero: Zero, place: Place) {
        let (limit, tight) = zero.limits();
        let residual = residual.abs();
        self.worse(residual, limit, place);
        if residual > self.rows * tight {
            self.rows = residual / tight;
        }
    }
}

impl Engine {
    /// Solves the step of length `h` \[s\] from `start` to the time `end` \[s\]; the answer is in `trial`.
    pub(super) fn solve(&mut self, system: &dyn System, h: f64, end: f64) -> Result<(), StepError> {
        self.watch.remedy = Remedy::None;
        self.watch.restart();
        self.begin_step(system, h, end)?;
        self.predict();
        let mut spent = 0;
        let mut fresh = true;
        let mut settled = false;
        loop {
            let with_tangents = fresh && !self.is_time_invariant();
            fresh = false;
            self.move_to(system, h);
            self.evaluate(system, h, end, with_tangents);
            self.activate(h);
            let mut defect = self.defect(h, spent == 0);
            let stubborn = if self.is_linear() { 1 } else { STUBBORN };
            if defect.ratio > 1.0 && spent == stubborn {
                self.measure_round_off();
                defect = self.defect(h, false);
            }
            // One correction is spent on tight rows where the limit leaves one, not more: round-off may keep
            // them from it. The sequential solve ends where the papers' does.
            let last = spent >= self.settings.max_iterations;
            let enough = settled || last || self.settings.linear_solve == LinearSolve::Sequential;
            if defect.ratio <= 1.0 && (defect.rows <= 1.0 || enough) {
                return Ok(());
            }
            settled = defect.ratio <= 1.0;
            if !defect.ratio.is_finite() && !self.take_together() {
                return Err(self.not_finite(system, end));
            }
            if !defect.ratio.is_finite() || last {
                // Nothing but a better linear solve helps against this.
                if last && !self.take_together() {
                    return Err(self.not_converged(system, spent, defect));
                }
                self.predict();
                (spent, fresh) = (0, true);
                continue;
            }
            if self.watch.returns(&self.sets) && self.break_cycle() {
                self.activate(h);
            }
            if let Err(error) = self.correct(system, h, end, with_tangents) {
                // One block can be singular where all together are not.
                if !self.take_together() {
                    return Err(error);
                }
                self.predict();
                (spent, fresh) = (0, true);
                continue;
            }
            spent += 1;
            self.watch.iterations += 1;
        }
    }

    /// How well the force can be known, from the tangent of the last correction.
    fn measure_round_off(&mut self) {
        let t = &mut self.trial;
        round_off::of_force(
            &self.tangent.stiffness,
            1.0,
            &t.q,
            self.is_flat,
            &mut t.round_off,
        );
    }

    /// Goes on to the next remedy against a cycle; `false` where there is none left.
    fn break_cycle(&mut self) -> bool {
        let relaxable = self.settings.formulation == Formulation::Pva(3);
        let next = match self.watch.remedy {
            Remedy::None => Remedy::Activation,
            Remedy::Activation if relaxable => Remedy::Relaxed,
            _ => return self.take_together(),
        };
        self.watch.remedy = next;
        self.watch.remedy();
        self.watch.restart();
        true
    }

    /// Goes on to the simultaneous solve; `false` where it is in use already.
    fn take_together(&mut self) -> bool {
        let sequential = self.settings.linear_solve == LinearSolve::Sequential;
        if !sequential || self.watch.remedy == Remedy::Together {
            return false;
        }
        self.watch.remedy = Remedy::Together;
        self.watch.remedy();
        self.watch.restart();
        true
    }

    /// First guess of the end of the step.
    fn predict(&mut self) {
        let (t, start) = (&mut self.trial, &self.start);
        let last = self.settings.prediction == Prediction::Last;
        if last {
            t.x.copy_from_slice(&start.x);
            t.lambda.copy_from_slice(&start.lambda);
        } else {
            t.x.fill(0.0);
            t.lambda.fill(0.0);
        }
        for v in [&mut t.u, &mut t.w, &mut t.nu, &mut t.imp, &mut t.round_off] {
            v.fill(0.0);
        }
    }

    /// Everything that follows from `v̇`, `U`, `W` and the multipliers.
    pub(super) fn move_to(&mut self, system: &dyn System, h: f64) {
        let c = &self.settings.coefficients;
        let (c_a, known) = (c.c_a(), c.known());
        let (t, start) = (&mut self.trial, &self.start);
        for i in 0..t.x.len() {
            let (a, a_end) = (start.a[i], c_a * t.x[i] + known.of(start.a[i], start.x[i]));
            t.a[i] = a_end;
            t.xi[i] = h * start.v[i] + h * h * c.double_mean(a, a_end) + t.u[i];
            t.vt[i] = start.v[i] + h * c.mean(a, a_end);
            t.v[i] = t.vt[i] + t.w[i];
        }
        t.q.copy_from_slice(&start.q);
        system.retract(&mut t.q, &t.xi);
        self.collect_impulses(h);
    }

    /// `η`, `ν*`, `Λ*`.
    pub(super) fn collect_impulses(&mut self, h: f64) {
        let c = &self.settings.coefficients;
        let (c_a, known) = (c.c_a(), c.known());
        let (t, start) = (&mut self.trial, &self.start);
        let memory = self.settings.formulation.has_memory();
        for j in 0..t.lambda.len() {
            t.eta[j] = c_a * t.lambda[j] + known.of(start.eta[j], start.lambda[j]);
            (t.nu_star[j], t.imp_star[j]) = (t.nu[j], t.imp[j]);
            if memory {
                t.nu_star[j] += h * h * c.double_mean(start.eta[j], t.eta[j]);
                t.imp_star[j] += h * c.mean(start.eta[j], t.eta[j]);
            }
        }
    }

    /// Dynamics, constraints and residuals at the trial state.
    pub(super) fn evaluate(&mut self, system: &dyn System, h: f64, end: f64, with_tangents: bool) {
        let time_invariant = self.is_time_invariant();
        let t = &mut self.trial;
        let at = Point {
            t: end,
            q: &t.q,
            v: &t.v,
        };
        if time_invariant {
            system.force(at, &mut t.force);
        } else {
            let d = &mut self.tangent;
            d.mass.clear();
            let tangents = if with_tangents {
                d.stiffness.clear();
                d.damping.clear();
                // `correction` collects D(M v̇) until it is added to the stiffness.
                d.correction.clear();
                Some(Tangents {
                    x: &t.x,
                    mass_gradient: &mut d.correction,
                    stiffness: &mut d.stiffness,
                    damping: &mut d.damping,
                })
            } else {
                None
            };
            let parts = DynamicsParts {
                mass: &mut d.mass,
                force: &mut t.force,
                tangents,
            };
            system.evaluate(at, parts);
        }
        self.rows.place(system, end, &self.trial.q);
        if !self.rows_are_linear() {
            self.rows.turn_to(system, end, &self.trial.q);
            self.rows.measure(&self.weights);
        }
        self.evaluate_rows(system, end);
        self.evaluate_probe(system, h, end);
        self.balance();
    }

    /// Rates of the constraints at the trial state.
    fn evaluate_rows(&mut self, system: &dyn System, end: f64) {
        let formulation = self.settings.formulation;
        let (rows, t) = (&mut self.rows, &self.trial);
        let smooth = formulation.smooth_row();
        if smooth == Some(SmoothRow::Acceleration) {
            let contacts = formulation == Formulation::Pva(3);
            let at = Point {
                t: end,
                q: &t.q,
                v: &t.v,
            };
            rows.evaluate_bias(system, at, contacts);
        }
        for j in 0..rows.len() {
            let gradient = rows.gradient();
            let velocity = gradient.dot(j, &t.v) + rows.rate[j];
            let smooth_velocity = if smooth == Some(SmoothRow::Velocity) {
                gradient.dot(j, &t.vt) + rows.rate[j]
            } else {
                0.0
            };
            let acceleration = if smooth == Some(SmoothRow::Acceleration) {
                gradient.dot(j, &t.x) + rows.bias[j]
            } else {
                0.0
            };
            rows.velocity[j] = velocity;
            rows.smooth_velocity[j] = smooth_velocity;
            rows.acceleration[j] = acceleration;
        }
    }

    /// Gaps at the smooth position `q̃` of the PVV formulation.
    fn evaluate_probe(&mut self, system: &dyn System, h: f64, end: f64) {
        if self.settings.formulation != Formulation::Pvv || self.rows.contacts() == 0 {
            return;
        }
        let ng = self.dims.ng;
        let t = &mut self.trial;
        if is_zero(&t.u) {
            self.rows.probe_gap[ng..].copy_from_slice(&self.rows.set.gap);
            return;
        }
        let c = &self.settings.coefficients;
        for i in 0..t.work.len() {
            t.work[i] = h * self.start.v[i] + h * h * c.double_mean(self.start.a[i], t.a[i]);
        }
        t.q_probe.copy_from_slice(&self.start.q);
        system.retract(&mut t.q_probe, &t.work);
        self.rows.probe_at(system, end, &t.q_probe);
    }

    /// Residuals of the three momentum balances.
    fn balance(&mut self) {
        let formulation = self.settings.formulation;
        let (t, tangent) = (&mut self.trial, &self.tangent);
        let gradient = self.rows.gradient();
        let r = &mut t.residual;
        for (r, f) in r.smooth.iter_mut().zip(&t.force) {
            *r = -f;
        }
        tangent.apply_mass(&t.x, &mut r.smooth);
        r.correction.fill(0.0);
        r.jump.fill(0.0);
        // Between contacts neither moves.
        if formulation.has_corrections() && !is_zero(&t.u) {
            tangent.apply_mass(&t.u, &mut r.correction);
        }
        if formulation.has_jumps() && !is_zero(&t.w) {
            tangent.apply_mass(&t.w, &mut r.jump);
        }
        for j in 0..t.lambda.len() {
            for (multiplier, residual) in [
                (t.lambda[j], &mut r.smooth),
                (t.nu[j], &mut r.correction),
                (t.imp[j], &mut r.jump),
            ] {
                if multiplier != 0.0 {
                    gradient.axpy(j, -multiplier, residual);
                }
            }
        }
    }

    /// The active sets at the trial state.
    pub(super) fn activate(&mut self, h: f64) {
        let formulation = self.settings.formulation;
        let ng = self.dims.ng;
        let boost = if self.watch.remedy >= Remedy::Activation {
            100.0
        } else {
            1.0
        };
        let relaxed = self.watch.remedy >= Remedy::Relaxed;
        let (t, rows, sets) = (&self.trial, &self.rows, &mut self.sets);
        sets.position[..ng].fill(formulation.has_corrections());
        sets.velocity[..ng].fill(formulation.has_jumps());
        sets.smooth[..ng].fill(formulation.smooth_row().is_some());
        for j in ng..rows.len() {
            let r = boost * self.activation[j];
            // A gap that is zero up to round-off is closed, whichever way it was computed.
            let gap = rows.gap[j] - self.epsilon;
            let e = rows.set.law[j - ng].e_n;
            let law = rows.velocity[j] + e * self.start.velocity[j];
            let (position, velocity, smooth) = match formulation {
                Formulation::Position => {
                    let stiff = r / (self.settings.coefficients.beta * h * h);
                    (false, false, t.lambda[j] - stiff * gap >= 0.0)
                }
                Formulation::Pvv => {
                    let modified = if self.settings.modified {
                        h * t.imp[j]
                    } else {
                        0.0
                    };
                    let position = t.nu[j] - modified - r * gap >= 0.0;
                    let velocity = rows.probe_gap[j] <= self.epsilon && t.imp[j] - r * law >= 0.0;
                    (position, velocity, false)
                }
                Formulation::Pva(strategy) => {
                    let position = t.nu_star[j] - r * gap >= 0.0;
                    let velocity = position && t.imp_star[j] - r * law >= 0.0;
                    let smooth = strategy == 3
                        && !relaxed
                        && velocity
                        && t.lambda[j] - r * rows.acceleration[j] >= 0.0;
                    (position, velocity, smooth)
                }
                Formulation::HalfStep => {
                    let near = rows.probe_gap[j] <= self.epsilon;
                    (false, near && t.imp[j] - r * law >= 0.0, false)
                }
                Formulation::Velocity | Formulation::Acceleration => (false, false, false),
            };
            sets.position[j] = position;
            sets.velocity[j] = velocity;
            sets.smooth[j] = smooth;
        }
    }

    /// `e` of row `j`; 0 of bilateral rows.
    #[inline]
    pub(super) fn restitution(&self, j: usize) -> f64 {
        if j < self.dims.ng {
            0.0
        } else {
            self.rows.set.law[j - self.dims.ng].e_n
        }
    }

    /// The largest residual relative to its tolerance; where `any` will do, the rows are left out once the
    /// momentum balances are not good enough.
    pub(super) fn defect(&self, h: f64, any: bool) -> Defect {
        let tolerance = self.settings.tolerance;
        let momentum = (tolerance * self.scale).max(f64::MIN_POSITIVE);
        let mut defect = Defect {
            ratio: 0.0,
            rows: 0.0,
            place: Place::Velocity(0),
        };
        let r = &self.trial.residual;
        for (i, w) in self.weights.iter().enumerate() {
            let largest = (h * round_off::above(r.smooth[i], self.trial.round_off[i]))
                .max(r.correction[i].abs() / h)
                .max(r.jump[i].abs());
            // `max` drops NaN; the sum keeps it.
            let sum = r.smooth[i] + r.correction[i] + r.jump[i];
            let largest = if sum.is_nan() { sum } else { largest };
            defect.worse(w * largest, momentum, Place::Velocity(i));
        }
        if any && defect.ratio > 1.0 && self.rows.are_finite() {
            return defect;
        }
        for j in 0..self.rows.len() {
            self.row_defect(j, h, momentum, &mut defect);
        }
        defect
    }

    /// The residuals of row `j` at every level: of its condition where it is active, of its multiplier
    /// where it is open.
    fn row_defect(&self, j: usize, h: f64, momentum: f64, defect: &mut Defect) {
        let (rows, t, formulation) = (&self.rows, &self.trial, self.settings.formulation);
        let reach = rows.reach[j].max(f64::MIN_POSITIVE);
        let velocity = self.velocity_zero(j, momentum);
        let place = Place::Row(j);
        if self.sets.smooth[j] {
            let (residual, zero) = match formulation.smooth_row() {
                Some(SmoothRow::Position) => (rows.gap[j], self.gap_zero(j, h * velocity.wanted)),
                Some(SmoothRow::Velocity) => (rows.smooth_velocity[j], velocity),
                Some(SmoothRow::Acceleration) => (rows.acceleration[j], self.acceleration_zero(j)),
                None => (0.0, velocity),
            };
            defect.active(residual, zero, place);
        } else {
            defect.worse(h * t.lambda[j].abs() * reach, momentum, place);
        }
        if formulation.has_corrections() {
            if self.sets.position[j] {
                let zero = self.gap_zero(j, h * velocity.wanted);
                defect.active(rows.gap[j], zero, place);
            } else {
                let loose = self.loose_correction(j, h).abs();
                defect.worse(loose * reach, h * momentum, place);
            }
        }
        if formulation.has_jumps() {
            if self.sets.velocity[j] {
                let law = rows.velocity[j] + self.restitution(j) * self.start.velocity[j];
                defect.active(law, velocity, place);
            } else {
                defect.worse(self.loose_impulse(j).abs() * reach, momentum, place);
            }
        }
    }

    /// `Σ |G_jk x_k|`.
    fn size_along(&self, j: usize, x: &[f64]) -> f64 {
        let rows = self.rows.gradient();
        let terms = rows.cols(j).iter().zip(rows.values(j));
        terms.map(|(&k, g)| (g * x[k]).abs()).sum()
    }

    /// Velocity along row `j` that counts as zero.
    fn velocity_zero(&self, j: usize, momentum: f64) -> Zero {
        // What cancels in a velocity that vanishes is of the size of the motion.
        let motion = self.rows.reach[j] * self.scale;
        let size = self.size_along(j, &self.trial.v) + self.rows.rate[j].abs() + motion;
        Zero {
            wanted: self.rows.reach[j] * momentum,
            round_off: ROUND_OFF * size,
        }
    }

    /// Gap that counts as zero: a distance moved by the velocity tolerance.
    fn gap_zero(&self, j: usize, moved: f64) -> Zero {
        let size: f64 = if self.is_flat {
            self.size_along(j, &self.trial.q)
        } else {
            let row = self.rows.gradient().values(j);
            max_abs(&self.trial.q) * row.iter().map(|g| g.abs()).sum::<f64>()
        };
        Zero {
            wanted: moved,
            round_off: (ROUND_OFF * size).max(ROUND_OFF / self.settings.tolerance * moved),
        }
    }

    /// Acceleration along row `j` that counts as zero.
    fn acceleration_zero(&self, j: usize) -> Zero {
        let size = self.size_along(j, &self.trial.x) + self.rows.bias[j].abs();
        let scale = self.rows.reach[j] * (self.force_scale + self.bias_scale);
        Zero {
            wanted: self.settings.tolerance * scale,
            round_off: ROUND_OFF * (size + scale),
        }
    }

    /// What must vanish of `ν` on a row that is open.
    pub(super) fn loose_correction(&self, j: usize, h: f64) -> f64 {
        let t = &self.trial;
        if self.settings.modified && j >= self.dims.ng {
            t.nu[j] - h * t.imp[j]
        } else if self.settings.inactive == super::settings::Inactive::Star {
            t.nu_star[j]
        } else {
            t.nu[j]
        }
    }

    /// What must vanish of `Λ` on a row that is open.
    pub(super) fn loose_impulse(&self, j: usize) -> f64 {
        if self.settings.inactive == super::settings::Inactive::Star {
            self.trial.imp_star[j]
        } else {
            self.trial.imp[j]
        }
    }

    /// Adds `change` to the multiplier of row `j` in the residual of its momentum balance.
    pub(super) fn shift_residual(
        rows: &super::rows::Rows,
        residual: &mut [f64],
        j: usize,
        change: f64,
    ) {
        rows.gradient().axpy(j, -change, residual);
    }

    /// Adds a motion to the unknowns.
    pub(super) fn apply(&mut self, x: &[f64], u: &[f64], w: &[f64]) {
        let t = &mut self.trial;
        axpy(1.0, x, &mut t.x);
        axpy(1.0, u, &mut t.u);
        axpy(1.0, w, &mut t.w);
    }
}
