//! Accelerations and forces at a point: the equations of index 1 of a smooth arc, and every other linear problem on the same rows.
//!
//! With the rows `w = D z + w_free`, `D = A M⁻¹ Aᵀ`, a contact in a given mode contributes: nothing (open), `w_N = 0` (closed),
//! `w_N = w_T = 0` (stick), `w_N = 0` with the force direction `A_N − s μ A_T` (slip).

use super::modes::Mode;
use super::representative::Representative;
use crate::kit::{Row, Stage};
use crate::one_step::OneStep;
use saltus_linear::{Dense, Lu, MinimumNorm, dot};

/// Pivots of the factorisation closer to zero than this, relative to the largest, are handled by least squares.
const REGULAR: f64 = 1e-9;
/// What an equation may leave over, relative to the largest terms of all, before it counts as contradictory.
const CONSISTENT: f64 = 1e-8;

/// Rows condensed at a point, and the solution of the last problem posed on them.
#[derive(Debug, Default)]
pub(super) struct Accelerations {
    one_step: OneStep,
    /// Contacts that take part, by their place in the set, and the first row of each.
    contacts: Vec<usize>,
    first: Vec<usize>,
    rows: Vec<Row>,
    ng: usize,
    free: Vec<f64>,   // M⁻¹ f (nv)
    w_free: Vec<f64>, // accelerations of the rows without forces (rows)
    /// Largest sum of the terms that `w_free` is made of.
    terms: f64,
    z: Vec<f64>, // forces of the rows (rows)
    w: Vec<f64>, // accelerations of the rows (rows)
    /// Row and share of the tangent of every unknown of the linear system.
    unknowns: Vec<(usize, f64)>,
    matrix: Dense, // of the linear system, scaled
    scale: Vec<f64>,
    rhs: Vec<f64>,
    x: Vec<f64>,
    lu: Lu,
    least_squares: MinimumNorm,
    representative: Representative,
    /// Forces that are not unique in the last linear system.
    redundant: usize,
}

/// What one contact carries and how its rows accelerate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carried {
    pub(super) normal: f64,
    pub(super) tangent: f64,
    /// Accelerations of the rows [m/s²].
    pub(super) gap: f64,
    pub(super) slip: f64,
    /// Acceleration per force of the rows [1/kg].
    pub(super) compliance: [f64; 2],
}

impl Accelerations {
    /// Lists the rows of all bilateral constraints and of the given contacts, `rows_of` each, and condenses them at `stage`.
    pub(super) fn condense(
        &mut self,
        stage: &Stage,
        ng: usize,
        contacts: impl Iterator<Item = usize>,
        rows_of: impl Fn(usize) -> usize,
    ) {
        self.ng = ng;
        self.rows.clear();
        self.rows.extend((0..ng).map(Row::Bilateral));
        self.contacts.clear();
        self.first.clear();
        for i in contacts {
            let row = stage.contacts.first_row[i];
            self.contacts.push(i);
            self.first.push(self.rows.len());
            self.rows.push(Row::Normal(i, row));
            if rows_of(i) > 1 {
                self.rows.push(Row::Tangent(i, row + 1));
            }
        }
        let list = &self.rows;
        let row = |i: usize| stage.row(list[i]);
        let m = list.len();
        self.one_step
            .condense(m, stage.v.len(), &stage.mass, &row, &row);
        self.z.clear();
        self.z.resize(m, 0.0);
        self.w.clear();
        self.w.resize(m, 0.0);
    }

    /// `M⁻¹ f` and the accelerations of the rows without forces, at `stage`.
    pub(super) fn fall_free(&mut self, stage: &Stage) {
        self.free.clear();
        self.free.extend_from_slice(&stage.force);
        stage.mass.solve(&mut self.free);
        self.w_free.clear();
        self.terms = 0.0;
        for row in &self.rows {
            let (matrix, i) = stage.row(*row);
            let terms = matrix.cols(i).iter().zip(matrix.values(i));
            let size: f64 = terms.map(|(&j, w)| (w * self.free[j]).abs()).sum();
            let bias = stage.bias(*row);
            self.terms = self.terms.max(size + bias.abs());
            self.w_free.push(matrix.dot(i, &self.free) + bias);
        }
    }

    /// Condenses the contacts that `modes` has closed and solves for their forces; whether there are any.
    pub(super) fn evaluate(
        &mut self,
        stage: &Stage,
        ng: usize,
        (modes, has_friction): (&[Mode], &[bool]),
    ) -> bool {
        let closed = (0..modes.len()).filter(|&i| modes[i].is_closed());
        self.condense(stage, ng, closed, |i| 1 + usize::from(has_friction[i]));
        self.fall_free(stage);
        self.solve(stage, |i| (modes[i], stage.contacts.law[i].mu))
    }

    /// Solves for the forces of the condensed contacts in these modes, with a coefficient of friction where they slip; whether the
    /// equations have a solution.
    pub(super) fn solve(&mut self, stage: &Stage, mode: impl Fn(usize) -> (Mode, f64)) -> bool {
        self.unknowns.clear();
        self.unknowns.extend((0..self.ng).map(|i| (i, 0.0)));
        for (k, &i) in self.contacts.iter().enumerate() {
            let first = self.first[k];
            match mode(i) {
                (Mode::Open, _) => {}
                (Mode::Closed, _) => self.unknowns.push((first, 0.0)),
                (Mode::Stick, _) => self.unknowns.extend([(first, 0.0), (first + 1, 0.0)]),
                (Mode::Slip(sign), mu) => self.unknowns.push((first, -sign * mu)),
            }
        }
        self.rhs.clear();
        let (unknowns, w_free) = (&self.unknowns, &self.w_free);
        self.rhs
            .extend(unknowns.iter().map(|(row, _)| -w_free[*row]));
        self.solve_linear();
        self.take_forces();
        if self.redundant > 0 {
            self.choose_representative(stage, &mode);
        }
        let leaves = unknowns_leave(&self.unknowns, &self.w);
        leaves <= CONSISTENT * self.terms && self.z.iter().all(|z| z.is_finite())
    }

    /// Forces of all rows from the unknowns, and the accelerations they make.
    fn take_forces(&mut self) {
        self.z.fill(0.0);
        for (&(row, share), x) in self.unknowns.iter().zip(&self.x) {
            self.z[row] += x;
            if share != 0.0 {
                self.z[row + 1] += share * x;
            }
        }
        for i in 0..self.w.len() {
            self.w[i] = self.w_free[i] + dot(self.one_step.delassus().row(i), &self.z);
        }
    }

    /// The linear system of the unknowns with the right-hand side `rhs`, in scaled form; of several solutions the shortest.
    fn solve_linear(&mut self) {
        let m = self.unknowns.len();
        self.matrix.reset(m, m);
        self.scale.clear();
        let delassus = self.one_step.delassus();
        for &(row, _) in &self.unknowns {
            let d = delassus[(row, row)];
            self.scale.push(if d > 0.0 { 1.0 / d.sqrt() } else { 1.0 });
        }
        for (a, &(row, _)) in self.unknowns.iter().enumerate() {
            for (b, &(col, share)) in self.unknowns.iter().enumerate() {
                let mut d = delassus[(row, col)];
                if share != 0.0 {
                    d += share * delassus[(row, col + 1)];
                }
                self.matrix[(a, b)] = self.scale[a] * d * self.scale[b];
            }
        }
        for (r, s) in self.rhs.iter_mut().zip(&self.scale) {
            *r *= s;
        }
        self.redundant = 0;
        self.x.clear();
        self.x.extend_from_slice(&self.rhs);
        if m > 0 {
            let regular = self.lu.factorise(&self.matrix).is_ok();
            if regular && self.lu.pivot_ratio() > REGULAR {
                self.lu.solve(&mut self.x);
            } else {
                self.redundant = m - self.least_squares.factorise(&self.matrix);
                self.least_squares.solve(&mut self.rhs, &mut self.x);
            }
        }
        for (x, s) in self.x.iter_mut().zip(&self.scale) {
            *x *= s;
        }
    }

    /// Where forces are not unique: those with the largest margin to their limits (all have the same accelerations).
    fn choose_representative(&mut self, stage: &Stage, mode: &impl Fn(usize) -> (Mode, f64)) {
        let rep = &mut self.representative;
        rep.begin(&self.matrix, &self.scale, &mut self.least_squares);
        for (k, &i) in self.contacts.iter().enumerate() {
            let first = self.first[k];
            let Some(normal) = self.unknowns.iter().position(|(row, _)| *row == first) else {
                continue;
            };
            let compliance = |row: usize| self.one_step.compliance(row);
            match mode(i).0 {
                Mode::Stick => {
                    let mu = stage.contacts.law[i].mu_static;
                    let c = compliance(first + 1);
                    rep.limit(&[(normal, c * mu), (normal + 1, -c)]);
                    rep.limit(&[(normal, c * mu), (normal + 1, c)]);
                }
                _ => rep.limit(&[(normal, compliance(first))]),
            }
        }
        rep.improve(&mut self.x);
        self.take_forces();
    }

    /// `x ← −D⁻¹ value` over all rows, and what that adds to the velocity (or to the tangent of positions).
    pub(super) fn remove(&mut self, value: impl Fn(Row) -> f64, out: &mut [f64]) {
        self.unknowns.clear();
        self.unknowns.extend((0..self.rows.len()).map(|i| (i, 0.0)));
        self.rhs.clear();
        self.rhs.extend(self.rows.iter().map(|row| -value(*row)));
        self.solve_linear();
        out.fill(0.0);
        let all = 0..self.x.len();
        self.one_step.add_response(all, &self.x, out);
    }

    /// Largest `|value|` of all rows.
    pub(super) fn largest(&self, value: impl Fn(Row) -> f64) -> f64 {
        let sizes = self.rows.iter().map(|row| value(*row).abs());
        sizes.fold(0.0, f64::max)
    }

    /// `v̇ = M⁻¹ (f + Aᵀ λ)`, added to nothing.
    pub(super) fn accelerate(&self, a: &mut [f64]) {
        a.copy_from_slice(&self.free);
        let all = 0..self.z.len();
        self.one_step.add_response(all, &self.z, a);
    }

    /// `M⁻¹ f`, the accelerations without forces of contacts and constraints.
    pub(super) fn free(&self) -> &[f64] {
        &self.free
    }

    /// Row and force of everything condensed.
    pub(super) fn forces(&self) -> impl Iterator<Item = (Row, f64)> + '_ {
        self.rows.iter().copied().zip(self.z.iter().copied())
    }

    /// The contacts condensed, by their place in the set.
    pub(super) fn contacts(&self) -> &[usize] {
        &self.contacts
    }

    pub(super) fn redundant(&self) -> usize {
        self.redundant
    }

    /// What the contact number `k` of those condensed carries.
    pub(super) fn carried(&self, k: usize) -> Carried {
        let row = self.first[k];
        let next = self.first.get(k + 1).copied().unwrap_or(self.rows.len());
        let mut carried = Carried {
            normal: self.z[row],
            gap: self.w[row],
            compliance: [self.one_step.compliance(row), 0.0],
            ..Carried::default()
        };
        if next > row + 1 {
            carried.tangent = self.z[row + 1];
            carried.slip = self.w[row + 1];
            carried.compliance[1] = self.one_step.compliance(row + 1);
        }
        carried
    }

    /// Numbers of the problem that its laws are posed on: bilateral rows, first row of each contact, `D` and `w_free`.
    pub(super) fn problem(&self) -> (usize, &[usize], &Dense, &[f64]) {
        (self.ng, &self.first, self.one_step.delassus(), &self.w_free)
    }
}

fn unknowns_leave(unknowns: &[(usize, f64)], w: &[f64]) -> f64 {
    let sizes = unknowns.iter().map(|(row, _)| w[*row].abs());
    sizes.fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
}
