//! Semismooth Newton method in the form of Alart and Curnier for all laws of a contact problem.
//!
//! With `x = d z − w` (`d` the compliance of the row, so that `x` is a velocity) a contact is open where `x_N ≤ 0`, sticks where
//! `|x_T| ≤ μ (d_T/d_N) x_N` and slips along `e = x_T/|x_T|` elsewhere. What the branch prescribes directly is eliminated: the rows of
//! open contacts, boxes at a bound, and the tangential impulse `z_T = μ e z_N` of planar slip. In the plane all branches are linear,
//! and the point is exact as soon as the branches repeat.
//!
//! Source: Alart & Curnier, *Comput. Methods Appl. Mech. Engrg.* 92 (1991) 353–375.

use super::block::Block;
use super::residual::{View, row_compliance};
use crate::cone::norm;
use crate::outcome::Tolerance;
use saltus_linear::{Dense, Lu, MinimumNorm, RANK_TOLERANCE};

/// Steps taken in full before the search along the step begins.
const FULL: u32 = 8;
/// Halvings of a step.
const HALVINGS: u32 = 6;
/// Aim of the iteration, relative to the data.
const GOAL: f64 = 1e-14;
/// Below this residual, relative to the data, a step without progress is a matter of rounding.
const NEAR: f64 = 1e-9;
/// Rows up to which singular systems are solved by an orthogonal factorisation.
const ORTHOGONAL: usize = 80;
/// Regularisation of larger singular systems, relative to their scaled diagonal.
const RIDGE: f64 = 1e-8;

/// How an unknown takes part in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// An unknown of the linear system, with its number there.
    Free(usize),
    /// Its change is known.
    Fixed,
    /// Its change is known up to a multiple of that of another row: its row and the factor.
    Follows(usize, f64),
}

/// What row of the linear system belongs to an unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    /// `w = 0`.
    Velocity,
    /// Slip of a disc with two rows, or of a joint.
    Slip,
}

/// The method, with buffers that outlive the problem.
#[derive(Debug, Default)]
pub(super) struct Newton {
    /// Compliance of each row.
    d: Vec<f64>,
    /// Scale of the impulse of each row, `1/√d` with one `d` per contact.
    s: Vec<f64>,
    /// `√(Σ q² s²)`.
    energy: f64,
    pub w: Vec<f64>,
    f: Vec<f64>,
    part: Vec<Part>,
    law: Vec<Law>,
    /// Known changes of the impulses; then the step.
    step: Vec<f64>,
    /// Rows of the free unknowns.
    free: Vec<usize>,
    jacobian: Dense,
    rhs: Vec<f64>,
    y: Vec<f64>,
    lu: Lu,
    rank: MinimumNorm,
    best: Vec<f64>,
    trial: Vec<f64>,
    regular: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
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
        self.part.clear();
        self.part.resize(n, Part::Fixed);
        self.law.clear();
        self.law.resize(n, Law::Velocity);
    }

    /// Scales `1/√d` of the impulses of the problem loaded last.
    pub fn scales(&self) -> &[f64] {
        &self.s
    }

    /// Brings `w` up to date.
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
        let mut end = NewtonEnd {
            solved: false,
            iterations: 0,
            regular: true,
        };
        let goal = GOAL * self.energy;
        let mut merit = self.evaluate(view, z);
        let mut least = f64::INFINITY;
        self.best.clear();
        self.best.extend_from_slice(z);
        loop {
            if merit < least {
                least = merit;
                self.best.copy_from_slice(z);
            }
            if merit <= goal {
                break;
            }
            if end.iterations >= limit || merit.is_nan() {
                break;
            }
            if !self.linearise(view, z) {
                break;
            }
            end.iterations += 1;
            let full = end.iterations <= FULL;
            let next = self.advance(view, z, merit, full);
            let stuck = next > 0.25 * merit && next <= NEAR * self.energy;
            merit = next;
            if stuck {
                break;
            }
        }
        end.regular = self.regular;
        if merit < least {
            least = merit;
            self.best.copy_from_slice(z);
        }
        z.copy_from_slice(&self.best);
        if end.iterations > 0 && least <= NEAR * self.energy {
            self.refine(view, z);
        }
        view.velocity(z, &mut self.w);
        end.solved = view.holds(z, &self.w, tolerance);
        end
    }

    /// The residual `√(Σ s² f²)` at `z`, with `w` and `f`.
    fn evaluate(&mut self, view: &View<'_>, z: &[f64]) -> f64 {
        view.velocity(z, &mut self.w);
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
                        view.carried(k, z)
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

    /// Chooses the branches at `z` and solves for the step. False where the linear system has no solution that is finite.
    fn linearise(&mut self, view: &View<'_>, z: &[f64]) -> bool {
        self.free.clear();
        for (k, &block) in view.blocks.iter().enumerate() {
            self.branch(view, k, block, z);
        }
        self.assemble(view, z);
        self.solve()
    }

    /// Decides how the rows of one block take part.
    fn branch(&mut self, view: &View<'_>, k: usize, block: Block, z: &[f64]) {
        let first = view.first[k];
        let x = self.d[first] * z[first] - self.w[first];
        match block {
            Block::Equality => self.set_free(first, Law::Velocity),
            Block::Unilateral => {
                if x > 0.0 {
                    self.set_free(first, Law::Velocity);
                } else {
                    self.set_fixed(first, -z[first]);
                }
            }
            Block::Box { lo, hi } => {
                let d = self.d[first];
                if x < d * lo {
                    self.set_fixed(first, lo - z[first]);
                } else if x > d * hi {
                    self.set_fixed(first, hi - z[first]);
                } else {
                    self.set_free(first, Law::Velocity);
                }
            }
            _ => {
                let radius = if block.is_contact() {
                    if x <= 0.0 {
                        for i in first..first + block.rows() {
                            self.set_fixed(i, -z[i]);
                        }
                        return;
                    }
                    self.set_free(first, Law::Velocity);
                    x / self.d[first]
                } else {
                    view.carried(k, z)
                };
                for (from, count, mu) in block.discs() {
                    self.branch_disc(first, first + from, count, (mu, radius), block, z);
                }
            }
        }
    }

    fn branch_disc(
        &mut self,
        normal: usize,
        first: usize,
        count: usize,
        (mu, radius): (f64, f64),
        block: Block,
        z: &[f64],
    ) {
        if count == 0 {
            return;
        }
        let d = self.d[first];
        let bound = d * mu * radius;
        let mut size = 0.0;
        for i in first..first + count {
            size += (d * z[i] - self.w[i]).powi(2);
        }
        if bound <= 0.0 {
            for i in first..first + count {
                self.set_fixed(i, -z[i]);
            }
        } else if size <= bound * bound {
            for i in first..first + count {
                self.set_free(i, Law::Velocity);
            }
        } else if count == 1 && block.is_contact() {
            let sign = (d * z[first] - self.w[first]).signum();
            self.part[first] = Part::Follows(normal, mu * sign);
            self.step[first] = mu * sign * z[normal] - z[first];
        } else {
            for i in first..first + count {
                self.set_free(i, Law::Slip);
            }
        }
    }

    fn set_free(&mut self, i: usize, law: Law) {
        self.part[i] = Part::Free(self.free.len());
        self.law[i] = law;
        self.step[i] = 0.0;
        self.free.push(i);
    }

    fn set_fixed(&mut self, i: usize, change: f64) {
        self.part[i] = Part::Fixed;
        self.step[i] = change;
    }

    /// Forgets all branches: from here on they are prescribed by [`close`](Self::close), [`hold`](Self::hold) and
    /// [`lead`](Self::lead), one for each row.
    pub fn at_rest(&mut self, view: &View<'_>) {
        self.free.clear();
        self.w.copy_from_slice(view.q);
    }

    /// Prescribes `w = 0` in row `i`.
    pub fn close(&mut self, i: usize) {
        self.set_free(i, Law::Velocity);
    }

    /// Prescribes the impulse of row `i`.
    pub fn hold(&mut self, i: usize, value: f64) {
        self.set_fixed(i, value);
    }

    /// Prescribes the impulse of row `i` as a multiple of that of `leader`.
    pub fn lead(&mut self, i: usize, leader: usize, factor: f64) {
        self.part[i] = Part::Follows(leader, factor);
        self.step[i] = 0.0;
    }

    /// Rows in which `w = 0` is prescribed.
    pub fn closed_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.free.iter().copied()
    }

    /// The point of the prescribed branches, by least squares where their system is singular. Returns the smallest over the
    /// largest pivot of a regular system.
    pub fn point_of_branches(&mut self, view: &View<'_>, z: &mut [f64]) -> Option<f64> {
        z.fill(0.0);
        self.assemble(view, z);
        if !self.solve() {
            return None;
        }
        z.copy_from_slice(&self.step);
        self.regular.then(|| self.lu.pivot_ratio())
    }

    /// The scaled linear system of the free unknowns.
    fn assemble(&mut self, view: &View<'_>, z: &[f64]) {
        let m = self.free.len();
        self.jacobian.reset(m, m);
        self.rhs.clear();
        self.rhs.resize(m, 0.0);
        for a in 0..m {
            let i = self.free[a];
            if self.law[i] == Law::Velocity {
                let known = self.velocity_row(view, i, a, self.s[i]);
                self.rhs[a] -= self.s[i] * (self.w[i] + known);
            }
        }
        for (k, &block) in view.blocks.iter().enumerate() {
            let first = view.first[k];
            let contact = block.is_contact();
            if contact && self.part[first] == Part::Fixed {
                continue;
            }
            for (from, count, mu) in block.discs() {
                if count > 0 && self.slips(first + from) {
                    self.slip_rows(view, k, (first + from, count, mu), z);
                }
            }
        }
    }

    fn slips(&self, i: usize) -> bool {
        matches!(self.part[i], Part::Free(_)) && self.law[i] == Law::Slip
    }

    /// Adds `factor` times row `i` of the matrix to row `a` of the system; returns what the known changes contribute.
    fn velocity_row(&mut self, view: &View<'_>, i: usize, a: usize, factor: f64) -> f64 {
        let super::matrix::Matrix::Dense(matrix) = view.matrix else {
            return 0.0;
        };
        let to = self.jacobian.row_mut(a);
        let mut known = 0.0;
        let columns = matrix.row(i).iter().zip(&self.part);
        for ((value, part), (s, step)) in columns.zip(self.s.iter().zip(&self.step)) {
            match *part {
                Part::Free(b) => to[b] += factor * s * value,
                Part::Fixed => known += value * step,
                Part::Follows(leader, c) => {
                    known += value * step;
                    if let Part::Free(b) = self.part[leader] {
                        to[b] += factor * self.s[leader] * c * value;
                    }
                }
            }
        }
        known
    }

    /// Rows of a disc that slips: `z_T + dz_T = ρ (e + P (dx)/|x|)`, `ρ` the radius that the impulses give after the step.
    fn slip_rows(
        &mut self,
        view: &View<'_>,
        k: usize,
        (first, count, mu): (usize, usize, f64),
        z: &[f64],
    ) {
        let block = view.blocks[k];
        let normal = view.first[k];
        let d = self.d[first];
        let mut e = [0.0; 2];
        for c in 0..count {
            e[c] = d * z[first + c] - self.w[first + c];
        }
        let size = norm(&e[..count]);
        e = e.map(|v| v / size);
        let carried = view.carried(k, z);
        let (load, bound) = if block.is_contact() {
            let x = z[normal] - self.w[normal] / self.d[normal];
            (z[normal], d * mu * x)
        } else {
            (carried, d * mu * carried)
        };
        let share = bound / size;
        for r in 0..count {
            let i = first + r;
            let Part::Free(a) = self.part[i] else {
                continue;
            };
            let s = self.s[i];
            let mut rhs = -d * (z[i] - mu * load * e[r]);
            for c in 0..count {
                let tangent = if r == c { 1.0 } else { 0.0 } - e[r] * e[c];
                let own = if r == c { d } else { 0.0 } - share * tangent * d;
                if let Part::Free(b) = self.part[first + c] {
                    self.jacobian[(a, b)] += s * self.s[first + c] * own;
                }
                if count > 1 {
                    let factor = share * tangent;
                    rhs -= factor * self.velocity_row(view, first + c, a, s * factor);
                }
            }
            match block {
                Block::JointCoulomb {
                    first_normal,
                    normals,
                    ..
                } => {
                    for j in first_normal..first_normal + normals {
                        if let Part::Free(b) = self.part[j] {
                            let slope = mu * d * e[r] * z[j] / carried;
                            self.jacobian[(a, b)] -= s * self.s[j] * slope;
                        }
                    }
                }
                _ => {
                    if let Part::Free(b) = self.part[normal] {
                        self.jacobian[(a, b)] -= s * self.s[normal] * mu * d * e[r];
                    }
                }
            }
            self.rhs[a] += s * rhs;
        }
    }

    /// Solves the linear system and completes the step; the smallest step where it is singular.
    fn solve(&mut self) -> bool {
        self.regular =
            self.lu.factorise(&self.jacobian).is_ok() && self.lu.pivot_ratio() > RANK_TOLERANCE;
        self.y.clear();
        if self.regular {
            self.y.extend_from_slice(&self.rhs);
            self.lu.solve(&mut self.y);
        } else {
            self.solve_singular();
        }
        self.complete()
    }

    fn solve_singular(&mut self) {
        let m = self.free.len();
        if m <= ORTHOGONAL {
            self.rank.factorise(&self.jacobian);
            self.y.resize(m, 0.0);
            self.rank.solve(&mut self.rhs, &mut self.y);
            return;
        }
        for a in 0..m {
            self.jacobian[(a, a)] += RIDGE;
        }
        self.y.extend_from_slice(&self.rhs);
        if self.lu.factorise(&self.jacobian).is_ok() {
            self.lu.solve(&mut self.y);
        } else {
            self.y.fill(f64::NAN);
        }
    }

    /// The changes of all impulses from those of the scaled free unknowns `y`.
    fn complete(&mut self) -> bool {
        for (&i, y) in self.free.iter().zip(&self.y) {
            self.step[i] = self.s[i] * y;
        }
        for i in 0..self.part.len() {
            if let Part::Follows(leader, c) = self.part[i] {
                self.step[i] += c * self.step[leader];
            }
        }
        self.step.iter().all(|v| v.is_finite())
    }

    /// Takes the step, in full or as far as the residual falls; returns the residual there.
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

    /// One more step with the last factorisation, where that reduces the residual.
    fn refine(&mut self, view: &View<'_>, z: &mut [f64]) {
        let before = self.evaluate(view, z);
        let m = self.free.len();
        if before == 0.0 || self.jacobian.rows() != m {
            return;
        }
        if !self.linearise(view, z) {
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
