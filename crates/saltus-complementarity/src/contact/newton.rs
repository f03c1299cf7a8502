//! Semismooth Newton method in the form of Alart and Curnier for all laws of a contact problem.
//!
//! With `x = d z − w` (`d` the compliance of the row, so that `x` is a velocity) a contact is open where `x_N ≤ 0`, sticks where
//! `|x_T| ≤ μ (d_T/d_N) x_N` and slips along `e = x_T/|x_T|` elsewhere. Impulses prescribed by a branch are eliminated: those of
//! open contacts, boxes at a bound, and the tangential impulse `z_T = μ e z_N` of planar slip. In the plane all branches are linear,
//! and the point is exact as soon as the branches repeat.
//!
//! Source: Alart & Curnier, *Comput. Methods Appl. Mech. Engrg.* 92 (1991) 353–375.

use super::block::Block;
use super::linearise::{Factors, Law, Role};
use super::matrix::Matrix;
use super::residual::{View, row_compliance};
use crate::outcome::Tolerance;
use saltus_linear::{Dense, Lu, MinimumNorm, SquareMatrix};

/// Full steps without a new best point before the line search begins.
const FULL_STEPS: u32 = 8;
/// Largest number of halvings of a step.
const HALVINGS: u32 = 6;
/// Residual at which the iteration ends, relative to the data.
const GOAL: f64 = 1e-14;
/// Largest number of problems of a proximal sequence, and of steps on each.
const ROUNDS: u32 = 60;
const INNER: u32 = 30;
/// A proximal sequence ends at this residual, relative to the data.
const SHARP: f64 = 1e-10;
/// Relative last step of impulses that are not unique.
const SETTLED: f64 = 1e-7;
/// Relative compliance added to decide the modes of contacts between two modes.
const ADDED_COMPLIANCE: f64 = 1e-6;
/// Largest number of steps to canonical impulses.
const MAX_SETTLING_STEPS: u32 = 12;
/// Below this residual, relative to the data, a step without progress is due to rounding.
const NEAR_ROUNDING: f64 = 1e-9;
/// The method, with buffers reused between problems.
#[derive(Debug, Default)]
pub(super) struct Newton {
    /// Compliance of each row.
    pub(super) d: Vec<f64>,
    /// Scale of the impulse of each row, `1/√d` with one `d` per contact.
    pub(super) s: Vec<f64>,
    /// `√(Σ q² s²)`.
    energy: f64,
    /// Weight `σ` of the proximal term: `A + σ S⁻²` takes the place of `A`, centred at `centre`. 0 without.
    pub(super) shift: f64,
    centre: Vec<f64>,
    pub(super) w: Vec<f64>,
    f: Vec<f64>,
    pub(super) role: Vec<Role>,
    pub(super) law: Vec<Law>,
    /// Given changes of the impulses; then the step.
    pub(super) step: Vec<f64>,
    /// Rows of the free unknowns.
    pub(super) free: Vec<usize>,
    pub(super) jacobian: Dense,
    /// The linear system of a sparse problem.
    pub(super) sparse: Option<Box<SquareMatrix>>,
    pub(super) rhs: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) lu: Lu,
    pub(super) rank: MinimumNorm,
    pub(super) factors: Factors,
    pub(super) residual: Vec<f64>,
    /// What was added to the diagonal of the linear system.
    pub(super) ridge: f64,
    /// Whether singular systems are solved for the point instead of the step, so that the norm of the point is least.
    pub(super) absolute: bool,
    start: Vec<f64>,
    best: Vec<f64>,
    trial: Vec<f64>,
    /// Whether the last linear system was regular.
    pub(super) regular: bool,
    /// The ratio of its pivots.
    pub(super) pivots: f64,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct NewtonEnd {
    pub solved: bool,
    pub iterations: u32,
    /// Whether the last linear system was regular.
    pub regular: bool,
}

impl Newton {
    /// Scales of the rows of `view`.
    pub fn load(&mut self, view: &View<'_>) {
        let n = view.q.len();
        self.d.clear();
        self.s.clear();
        for (k, &block) in view.blocks.iter().enumerate() {
            let d = view.compliance(k);
            let rows = block.rows();
            let translational = rows.min(3);
            let mean = (0..translational)
                .map(|i| row_compliance(block, i, &d))
                .sum::<f64>()
                / translational.max(1) as f64;
            for i in 0..rows {
                let own = row_compliance(block, i, &d);
                self.d.push(own);
                let size = match block {
                    Block::Equality if view.matrix.entry(view.first[k], view.first[k]) <= 0.0 => {
                        let most = view.matrix.row_max(view.first[k]);
                        if most > 0.0 { most } else { 1.0 }
                    }
                    Block::Rolling { .. } if i > 2 => own,
                    _ => mean,
                };
                self.s.push(1.0 / size.sqrt());
            }
        }
        let scaled = view.q.iter().zip(&self.s).map(|(q, s)| (q * s).powi(2));
        self.energy = scaled.sum::<f64>().sqrt();
        for buffer in [&mut self.w, &mut self.f, &mut self.step] {
            buffer.clear();
            buffer.resize(n, 0.0);
        }
        // A new one for each problem, so that the order of elimination does not depend on those before.
        self.sparse = match view.matrix {
            Matrix::Dense(_) => None,
            Matrix::Rows(_) => Some(Box::new(SquareMatrix::new(n))),
        };
        self.role.clear();
        self.role.resize(n, Role::Fixed);
        self.law.clear();
        self.law.resize(n, Law::Velocity);
    }

    /// Scales `1/√d` of the impulses of the problem loaded last.
    pub fn scales(&self) -> &[f64] {
        &self.s
    }

    /// The size of the data, `√(Σ q² s²)`.
    pub fn energy(&self) -> f64 {
        self.energy
    }

    /// The smallest scale.
    pub fn least_scale(&self) -> f64 {
        self.s.iter().fold(f64::INFINITY, |least, s| least.min(*s))
    }

    /// Computes `w`.
    pub fn velocity(&mut self, view: &View<'_>, z: &[f64]) {
        view.velocity(z, &mut self.w);
    }

    /// Runs from `z` and leaves the best point there; [`load`](Self::load) comes first. `w` is up to date at the end.
    pub fn run(
        &mut self,
        view: &View<'_>,
        z: &mut [f64],
        tolerance: &Tolerance,
        limit: u32,
    ) -> NewtonEnd {
        self.shift = 0.0;
        let (residual, iterations) = self.descend(view, z, GOAL * self.energy, limit);
        let goal = GOAL * self.energy;
        if iterations > 0 && residual > goal && residual <= NEAR_ROUNDING * self.energy {
            self.refine(view, z);
        }
        view.velocity(z, &mut self.w);
        NewtonEnd {
            solved: view.is_solution(z, &self.w, tolerance),
            iterations,
            regular: self.regular,
        }
    }

    /// Solves a sequence of problems with `A + σ S⁻²` in place of `A`, each centred at the solution of the one before: regular where
    /// `A` is singular, and with the same solution in the limit. Leaves the best point in `z`; returns the steps.
    pub fn proximal(&mut self, view: &View<'_>, z: &mut [f64], limit: u32) -> u32 {
        let mut spent = 0;
        let mut shift = 1e-2;
        self.shift = 0.0;
        let mut residual = self.evaluate(view, z);
        let mut centre = std::mem::take(&mut self.centre);
        for _ in 0..ROUNDS {
            if residual <= SHARP * self.energy || spent >= limit {
                break;
            }
            centre.clear();
            centre.extend_from_slice(z);
            self.centre = centre;
            self.shift = shift;
            let goal = (0.1 * residual).max(GOAL * self.energy);
            let most = INNER.min(limit - spent);
            let (inner, steps) = self.descend(view, z, goal.min(1e-3 * self.energy), most);
            spent += steps.max(1);
            self.shift = 0.0;
            let next = self.evaluate(view, z);
            centre = std::mem::take(&mut self.centre);
            if inner <= goal || next < residual {
                residual = next;
                shift *= if steps <= 6 { 0.1 } else { 0.3 };
                shift = shift.max(1e-10);
            } else {
                z.copy_from_slice(&centre);
                shift *= 10.0;
                if shift > 1e3 {
                    break;
                }
            }
        }
        self.centre = centre;
        spent
    }

    /// Steps from `z` to the best point until the residual is at most `goal`, or rounding; returns it and the number of steps.
    fn descend(&mut self, view: &View<'_>, z: &mut [f64], goal: f64, limit: u32) -> (f64, u32) {
        let (mut steps, mut idle) = (0, 0);
        let mut residual = self.evaluate(view, z);
        let mut least = residual;
        self.regular = true;
        self.best.clear();
        self.best.extend_from_slice(z);
        while residual > goal && steps < limit && self.linearise(view, z) {
            steps += 1;
            idle += 1;
            let next = self.advance(view, z, residual, idle <= FULL_STEPS);
            let stuck = next > 0.25 * residual && next <= NEAR_ROUNDING * self.energy;
            residual = next;
            if residual < least {
                (least, idle) = (residual, 0);
                self.best.copy_from_slice(z);
            }
            if stuck {
                break;
            }
        }
        z.copy_from_slice(&self.best);
        (least, steps)
    }

    /// Replaces a solution that is not unique by one that does not depend on the guess: the limit of solutions with a vanishing added
    /// compliance, for the last branches. With slip in space its velocities may differ, because friction depends on normal impulses
    /// that are not unique. If some contacts are `weak`, between two modes, a small compliance first decides their mode. `z` is
    /// unchanged where that does not give a solution. Returns the steps.
    pub fn canonicalise(&mut self, view: &View<'_>, z: &mut [f64], weak: bool) -> u32 {
        if self.sparse.is_some() {
            return 0;
        }
        let before = self.evaluate(view, z);
        let bound = before.max(10.0 * GOAL * self.energy);
        self.start.clear();
        self.start.extend_from_slice(z);
        let mut spent = 0;
        for compliant in [false, true] {
            if !compliant && weak {
                continue;
            }
            if compliant {
                spent += self.add_compliance(view, z);
            }
            let (settled, steps) = self.reduce_norm(view, z, bound);
            spent += steps;
            if settled {
                view.velocity(z, &mut self.w);
                return spent;
            }
            z.copy_from_slice(&self.start);
        }
        view.velocity(z, &mut self.w);
        spent
    }

    /// Solves the problem with a small compliance added, from `z`.
    fn add_compliance(&mut self, view: &View<'_>, z: &mut [f64]) -> u32 {
        self.centre.clear();
        self.centre.resize(z.len(), 0.0);
        self.shift = ADDED_COMPLIANCE;
        let (_, steps) = self.descend(view, z, 1e-2 * ADDED_COMPLIANCE * self.energy, INNER);
        self.shift = 0.0;
        steps
    }

    /// Newton's method for points of least norm: whether it ends with a residual of at most `bound`, and its steps.
    fn reduce_norm(&mut self, view: &View<'_>, z: &mut [f64], bound: f64) -> (bool, u32) {
        let mut residual = self.evaluate(view, z);
        self.absolute = true;
        let (mut settled, mut steps) = (false, 0);
        while !settled && steps < MAX_SETTLING_STEPS && self.linearise(view, z) {
            steps += 1;
            residual = self.advance(view, z, residual, true);
            let slips = self.free.iter().any(|&i| self.law[i] == Law::Slip);
            settled = residual <= bound && (self.regular || !slips || !self.step_is_significant(z));
        }
        self.absolute = false;
        (settled, steps)
    }

    /// Whether the last step changed the impulses by more than [`SETTLED`].
    fn step_is_significant(&self, z: &[f64]) -> bool {
        let (mut step, mut size) = (0.0, 0.0);
        for ((change, z), s) in self.step.iter().zip(z).zip(&self.s) {
            step += (change / s).powi(2);
            size += (z / s).powi(2);
        }
        step > SETTLED * SETTLED * size
    }

    /// The residual `√(Σ s² f²)` at `z`, with `w` and `f`.
    fn evaluate(&mut self, view: &View<'_>, z: &[f64]) -> f64 {
        view.velocity(z, &mut self.w);
        if self.shift > 0.0 {
            for (i, w) in self.w.iter_mut().enumerate() {
                *w += self.shift * (z[i] - self.centre[i]) / (self.s[i] * self.s[i]);
            }
        }
        let (w, f) = (&self.w, &mut self.f);
        for (k, &block) in view.blocks.iter().enumerate() {
            let first = view.first[k];
            match block {
                Block::Equality => f[first] = w[first],
                Block::Unilateral => f[first] = w[first].min(self.d[first] * z[first]),
                Block::Box { lo, hi } => {
                    let (d, z, w) = (self.d[first], z[first], w[first]);
                    f[first] = if d * z - w < d * lo {
                        d * (z - lo)
                    } else if d * z - w > d * hi {
                        d * (z - hi)
                    } else {
                        w
                    };
                }
                _ => {
                    let radius = if block.is_contact() {
                        f[first] = w[first].min(self.d[first] * z[first]);
                        (z[first] - w[first] / self.d[first]).max(0.0)
                    } else {
                        view.joint_load(k, z)
                    };
                    for (from, count, mu) in block.discs() {
                        let rows = first + from..first + from + count;
                        disc(rows, mu * radius, &self.d, z, w, f);
                    }
                }
            }
        }
        let scaled = self.f.iter().zip(&self.s).map(|(f, s)| (f * s).powi(2));
        scaled.sum::<f64>().sqrt()
    }

    /// Takes the full step, or a part of it by a line search; returns the residual.
    fn advance(&mut self, view: &View<'_>, z: &mut [f64], merit: f64, full: bool) -> f64 {
        if full {
            for (z, step) in z.iter_mut().zip(&self.step) {
                *z += step;
            }
            return self.evaluate(view, z);
        }
        let mut trial = std::mem::take(&mut self.trial);
        let mut factor = 1.0;
        let (mut least, mut at) = (f64::INFINITY, 1.0);
        for _ in 0..=HALVINGS {
            trial.clear();
            trial.extend(z.iter().zip(&self.step).map(|(z, step)| z + factor * step));
            let next = self.evaluate(view, &trial);
            if next < least {
                (least, at) = (next, factor);
            }
            if next <= (1.0 - 1e-4 * factor) * merit {
                break;
            }
            factor *= 0.5;
        }
        for (z, step) in z.iter_mut().zip(&self.step) {
            *z += at * step;
        }
        self.trial = trial;
        self.evaluate(view, z)
    }

    /// One more step from the best point, with the last factors where all branches are linear, if it reduces the residual.
    fn refine(&mut self, view: &View<'_>, z: &mut [f64]) {
        let before = self.evaluate(view, z);
        if !(self.chord() || self.linearise(view, z)) {
            return;
        }
        for (z, step) in z.iter_mut().zip(&self.step) {
            *z += step;
        }
        if !(self.evaluate(view, z) <= before) {
            z.copy_from_slice(&self.best);
        }
    }
}

/// `f ← d z − P(d z − w)` on the rows of one disc with the given radius.
fn disc(rows: std::ops::Range<usize>, radius: f64, d: &[f64], z: &[f64], w: &[f64], f: &mut [f64]) {
    let size = rows
        .clone()
        .map(|i| (d[i] * z[i] - w[i]).powi(2))
        .sum::<f64>()
        .sqrt();
    for i in rows {
        let bound = d[i] * radius;
        f[i] = if size <= bound && bound > 0.0 {
            w[i]
        } else if size > 0.0 {
            d[i] * z[i] - bound * (d[i] * z[i] - w[i]) / size
        } else {
            d[i] * z[i]
        };
    }
}
