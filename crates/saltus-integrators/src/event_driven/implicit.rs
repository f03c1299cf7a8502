//! Pieces of a smooth arc by the implicit Runge–Kutta method Radau IIA of three stages: order 5, stiffly accurate, with the
//! polynomial of collocation as dense output.
//!
//! ```text
//! y_l = y_0 + h Σ_j a_lj F(y_j, φ_j) ,   F = (ξ̇, v̇) ,   e(φ_l) · u_T(y_l) = 0
//! ```
//!
//! A contact that slips in space has the angle `φ` of its direction `d = (cos φ, sin φ)` as an unknown of every stage, with `e ⟂ d`:
//! so the equations stay regular where the slip begins or ends, and `u_T/|u_T|` is not defined. Newton's method takes the tangents
//! of the forces at the start of the piece, in the modes of the contacts.
//!
//! Reference: Hairer, Wanner, *Solving Ordinary Differential Equations II*, 2nd ed. (1996), §IV.8: the method, its error estimate of
//! order 3 and the damping of stiff components in it.

use super::arc::{Arc, Polynomial};
use super::modes::{ContactModes, Mode, inner, slip};
use super::stage_equations::{StageEquations, Tangents};
use crate::higher_order::tableaux::Tableau;
use crate::integrator::StepError;
use saltus_linear::{Dense, SparseRows, axpy, max_abs};
use saltus_system::{Point, System};

pub(super) const STAGES: usize = 3;
/// Most corrections of a step.
const ITERATIONS: u32 = 12;
/// A correction below this share of the tolerance is the last.
const ENOUGH: f64 = 1e-2;
/// The same where round-off keeps corrections from getting smaller.
const STALLED: f64 = 0.3;

/// Workspace of the method.
#[derive(Debug)]
pub(super) struct Radau {
    tableau: Tableau,
    /// Whether the tangents are those of the start of the piece.
    pub(super) is_linearised: bool,
    /// Modes of the contacts at a stage, and the contacts among them that slip in space.
    modes: ContactModes,
    slips: Vec<usize>,
    angle: Vec<f64>,    // φ (stages · slips)
    crossing: Vec<f64>, // e · u_T (stages · slips) [m/s]
    speed: Vec<f64>,    // d · u_T (stages · slips) [m/s]
    across: Dense,      // A_T e (stages · slips × nv)
    turned: Dense,      // derivative of the force by φ (stages · slips × nv)
    z: Dense,           // y_l − y_0 (stages × n)
    residual: Dense,    // h Σ a_lj F_j − z_l (stages × 2 nv)
    tangents: Tangents,
    laws: SparseRows, // rows of closed contacts and constraints where the piece begins
    forces: SparseRows, // directions of their forces
    newton: StageEquations,
    filter: StageEquations, // of the error estimate
    delta: Vec<f64>,        // of the velocities (stages · nv)
    load: Vec<f64>,         // (stages · nv)
}

impl Radau {
    pub(super) fn new(nv: usize) -> Self {
        Self {
            tableau: Tableau::radau5(),
            is_linearised: false,
            modes: ContactModes::default(),
            slips: Vec::new(),
            angle: Vec::new(),
            crossing: Vec::new(),
            speed: Vec::new(),
            across: Dense::default(),
            turned: Dense::default(),
            z: Dense::default(),
            residual: Dense::default(),
            tangents: Tangents::new(nv),
            laws: SparseRows::default(),
            forces: SparseRows::default(),
            newton: StageEquations::new(nv, STAGES),
            filter: StageEquations::new(nv, 1),
            delta: Vec::new(),
            load: Vec::new(),
        }
    }

    /// The polynomial of collocation in the form of the dense output.
    pub(super) fn interpolate(&self, polynomial: &mut Polynomial) {
        let (c1, c2) = (self.tableau.c(0), self.tableau.c(1));
        for (i, polynomial) in polynomial.iter_mut().enumerate() {
            let last = self.z[(2, i)];
            let bend = |l: usize, c: f64| (self.z[(l, i)] - c * last) / (c * (1.0 - c));
            let (first, second) = (bend(0, c1), bend(1, c2));
            let slope = (second - first) / (c2 - c1);
            polynomial[0] = last;
            polynomial[1] = first - slope * c1;
            polynomial[2] = slope;
        }
    }
}

impl Arc {
    /// One step of the method; the error over its tolerance, infinite where the stages are not found.
    pub(super) fn attempt_implicit(
        &mut self,
        system: &dyn System,
        h: f64,
    ) -> Result<f64, StepError> {
        if !self.radau.is_linearised {
            self.linearise(system)?;
        }
        self.predict(h);
        if !self.iterate(system, h)? {
            return Ok(f64::INFINITY);
        }
        Ok(self.estimate_implicit(h))
    }

    /// Tangents, and rows of closed contacts and constraints, at the start of the piece.
    fn linearise(&mut self, system: &dyn System) -> Result<(), StepError> {
        let nv = self.nv;
        self.y.fill(0.0);
        self.y[nv..2 * nv].copy_from_slice(&self.base.v);
        self.evaluate(system, self.base.t)?;
        self.accelerations.accelerate(&mut self.a);
        let radau = &mut self.radau;
        let at = Point {
            t: self.trial.t,
            q: &self.trial.q,
            v: &self.trial.v,
        };
        let Tangents {
            mass,
            stiffness,
            damping,
        } = &mut radau.tangents;
        for matrix in [&mut *mass, stiffness, damping] {
            matrix.clear();
        }
        system.mass(at.q, mass);
        // Of M v̇ = f both derivatives along q belong together.
        system.mass_gradient(at.q, &self.a, stiffness);
        system.stiffness(at, stiffness);
        system.damping(at, damping);
        for matrix in [mass, stiffness, damping] {
            matrix.finish();
        }
        radau.laws.clear();
        radau.forces.clear();
        let (laws, forces) = (&mut radau.laws, &mut radau.forces);
        self.accelerations.collect_rows(&self.trial, laws, forces);
        self.list_slips();
        self.radau.is_linearised = true;
        Ok(())
    }

    fn list_slips(&mut self) {
        let slips = (0..self.modes.len()).filter(|&i| self.modes.slips_in_space(i));
        self.radau.slips.clear();
        self.radau.slips.extend(slips);
        let radau = &mut self.radau;
        radau.modes.list.clone_from(&self.modes.list);
        radau.modes.tangents.clone_from(&self.modes.tangents);
        // The directions are the unknown ones, whatever the velocity.
        radau.modes.slowest = f64::INFINITY;
        let angles = STAGES * radau.slips.len();
        radau.crossing.resize(angles, 0.0);
        radau.speed.resize(angles, 0.0);
        radau.turned.reset(angles, self.nv);
        radau.across.reset(angles, self.nv);
    }

    /// The stages as if the accelerations were constant.
    fn predict(&mut self, h: f64) {
        let nv = self.nv;
        let radau = &mut self.radau;
        radau.z.reset(STAGES, self.y.len());
        radau.angle.clear();
        let rate = self.rates.row(0);
        for l in 0..STAGES {
            let s = radau.tableau.c(l) * h;
            let z = radau.z.row_mut(l);
            for i in 0..nv {
                z[i] = s * rate[i] + 0.5 * s * s * rate[nv + i];
                z[nv + i] = s * rate[nv + i];
            }
            for &i in &radau.slips {
                if let Mode::Slip([a, b]) = self.modes[i] {
                    radau.angle.push(b.atan2(a));
                }
            }
        }
    }

    /// Newton's method; whether it converged.
    fn iterate(&mut self, system: &dyn System, h: f64) -> Result<bool, StepError> {
        let mut last = f64::INFINITY;
        for k in 0..ITERATIONS {
            for l in 0..STAGES {
                self.evaluate_stage(system, l, h)?;
            }
            let Some(size) = self.correct(h, k == 0) else {
                return Ok(false);
            };
            let is_stalled = k > 1 && size <= STALLED && size > STALLED * last;
            if size <= ENOUGH || is_stalled {
                return Ok(true);
            }
            if !size.is_finite() || k > 1 && size > 2.0 * last {
                return Ok(false);
            }
            last = size;
        }
        Ok(false)
    }

    /// Rates of stage `l`, and where contacts slip in space how they depend on the angles.
    fn evaluate_stage(&mut self, system: &dyn System, l: usize, h: f64) -> Result<(), StepError> {
        let nv = self.nv;
        let ns = self.radau.slips.len();
        let radau = &mut self.radau;
        self.y.copy_from_slice(radau.z.row(l));
        axpy(1.0, &self.base.v, &mut self.y[nv..2 * nv]);
        for (k, &i) in radau.slips.iter().enumerate() {
            let (sine, cosine) = radau.angle[l * ns + k].sin_cos();
            radau.modes[i] = Mode::Slip([cosine, sine]);
        }
        let t = self.base.t + radau.tableau.c(l) * h;
        std::mem::swap(&mut self.modes, &mut self.radau.modes);
        let result = self.set_rates(system, l + 1, t);
        std::mem::swap(&mut self.modes, &mut self.radau.modes);
        result?;
        for k in 0..ns {
            self.differentiate_direction(l * ns + k, k);
        }
        Ok(())
    }

    /// What the direction of slip number `k` does at the stage just evaluated, as entry `at`.
    fn differentiate_direction(&mut self, at: usize, k: usize) {
        let radau = &mut self.radau;
        let i = radau.slips[k];
        let (sine, cosine) = radau.angle[at].sin_cos();
        let u = slip(&self.trial, i, 2);
        radau.speed[at] = inner(u, [cosine, sine]);
        radau.crossing[at] = inner(u, [-sine, cosine]);
        let set = &self.trial.contacts;
        let across = radau.across.row_mut(at);
        across.fill(0.0);
        set.directions.axpy(set.first_row[i] + 1, -sine, across);
        set.directions.axpy(set.first_row[i] + 2, cosine, across);
        let member = self.accelerations.contacts().iter().position(|c| *c == i);
        let normal = member.map_or(0.0, |k| self.accelerations.contact_force(k).normal);
        let turned = radau.turned.row_mut(at);
        turned.fill(0.0);
        axpy(-set.law[i].mu * normal, radau.across.row(at), turned);
    }

    /// One correction of all stages; its size over the tolerance, `None` where the equations are singular.
    fn correct(&mut self, h: f64, is_first: bool) -> Option<f64> {
        let nv = self.nv;
        let n = self.y.len();
        let radau = &mut self.radau;
        let ns = radau.slips.len();
        radau.residual.reset(STAGES, 2 * nv);
        for l in 0..STAGES {
            for (j, a) in radau.tableau.a(l).iter().enumerate() {
                let rate = self.rates.row(j + 1);
                axpy(h * a, &rate[..2 * nv], radau.residual.row_mut(l));
            }
            axpy(-1.0, &radau.z.row(l)[..2 * nv], radau.residual.row_mut(l));
            let quadratures = &mut radau.z.row_mut(l)[2 * nv..n];
            quadratures.fill(0.0);
            for (j, a) in radau.tableau.a(l).iter().enumerate() {
                axpy(h * a, &self.rates.row(j + 1)[2 * nv..], quadratures);
            }
        }
        let a = |l: usize, j: usize| h * radau.tableau.a(l)[j];
        radau.delta.clear();
        radau.load.clear();
        radau.load.resize(STAGES * nv, 0.0);
        for l in 0..STAGES {
            radau.delta.extend_from_slice(&radau.residual.row(l)[nv..]);
            let load = &mut radau.load[l * nv..(l + 1) * nv];
            for j in 0..STAGES {
                let positions = &radau.residual.row(j)[..nv];
                (radau.tangents.stiffness).apply_add(-a(l, j), positions, load);
            }
        }
        let newton = &mut radau.newton;
        if is_first {
            let square = |l, j| h * h * radau.tableau.square(l, j);
            if !newton.factorise(&radau.tangents, a, square) {
                return None;
            }
        }
        if is_first || ns > 0 {
            newton.begin_rows(&radau.forces, &radau.laws);
            for l in 0..STAGES {
                for k in 0..ns {
                    let at = l * ns + k;
                    let (speed, crossing) = (radau.speed[at], radau.crossing[at]);
                    let law = (radau.across.row(at), -speed, -crossing);
                    newton.push_row(l, law, radau.turned.row(at), |stage| a(stage, l));
                }
            }
            newton.finish_rows();
        }
        newton.solve(&radau.tangents, &mut radau.delta, &mut radau.load);
        let turns = newton.mu.iter().skip(STAGES * radau.laws.len());
        for (angle, delta) in radau.angle.iter_mut().zip(turns) {
            *angle += delta.clamp(-1.0, 1.0);
        }
        // What the velocities of all stages add to the positions of each.
        for l in 0..STAGES {
            for (j, a) in radau.tableau.a(l).iter().enumerate() {
                let delta = &radau.delta[j * nv..(j + 1) * nv];
                axpy(h * a, delta, &mut radau.residual.row_mut(l)[..nv]);
            }
            let delta = &radau.delta[l * nv..(l + 1) * nv];
            radau.residual.row_mut(l)[nv..].copy_from_slice(delta);
            axpy(
                1.0,
                radau.residual.row(l),
                &mut radau.z.row_mut(l)[..2 * nv],
            );
        }
        self.end.copy_from_slice(self.radau.z.row(STAGES - 1));
        axpy(1.0, &self.base.v, &mut self.end[nv..2 * nv]);
        let sizes = (0..STAGES).map(|l| self.weighted(self.radau.residual.row(l), h));
        Some(sizes.fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m }))
    }

    /// Root mean square of positions and velocities `x` over their tolerances.
    fn weighted(&self, x: &[f64], h: f64) -> f64 {
        let mut sum = 0.0;
        for block in 0..2 {
            let size = self.size_of(block, h);
            for i in 0..self.nv {
                let j = block * self.nv + i;
                let scale = self.scale_of(block, i, j, size, h);
                if scale > 0.0 {
                    sum += (x[j] / scale).powi(2);
                }
            }
        }
        (sum / (2.0 * self.nv as f64)).sqrt()
    }

    /// The error of the stages found, over its tolerance.
    fn estimate_implicit(&mut self, h: f64) -> f64 {
        let nv = self.nv;
        let radau = &mut self.radau;
        let ns = radau.slips.len();
        // The real eigenvalue of the matrix of the method, and the weights of the estimate (Hairer, Wanner, eq. IV.8.19).
        let gamma = 1.0 / (3.0 + 9.0_f64.cbrt() - 3.0_f64.cbrt());
        let root = 7.0 * 6.0_f64.sqrt();
        let weights = [-13.0 - root, -13.0 + root, -1.0];
        let estimate = &mut self.estimate[0];
        estimate.fill(0.0);
        axpy(gamma * h, &self.rates.row(0)[..2 * nv], estimate);
        for (l, w) in weights.iter().enumerate() {
            axpy(gamma / 3.0 * w, &radau.z.row(l)[..2 * nv], estimate);
        }
        let (a, filter) = (gamma * h, &mut radau.filter);
        if !filter.factorise(&radau.tangents, |_, _| a, |_, _| a * a) {
            return f64::INFINITY;
        }
        filter.begin_rows(&radau.forces, &radau.laws);
        for k in 0..ns {
            let at = (STAGES - 1) * ns + k;
            let law = (radau.across.row(at), -radau.speed[at], 0.0);
            filter.push_row(0, law, radau.turned.row(at), |_| a);
        }
        filter.finish_rows();
        let (positions, velocities) = estimate.split_at_mut(nv);
        radau.load.clear();
        radau.load.resize(nv, 0.0);
        (radau.tangents.stiffness).apply_add(-a, positions, &mut radau.load);
        filter.solve(&radau.tangents, velocities, &mut radau.load);
        axpy(a, velocities, positions);
        self.trial.mass.apply(&self.estimate[0][nv..], &mut self.a);
        self.trial_defect = max_abs(&self.a);
        self.weighted(&self.estimate[0], h)
    }
}
