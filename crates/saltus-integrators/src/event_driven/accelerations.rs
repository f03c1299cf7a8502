//! Accelerations and forces at a point: the equations of index 1 of a smooth arc, and every other linear problem on the same rows.
//!
//! With the rows `w = D z + w_free`, `D = A M⁻¹ Aᵀ`, a contact in a given mode contributes: nothing (open), `w_N = 0` (closed),
//! `w_N = w_T = 0` (stick), `w_N = 0` with the force direction `A_N − μ (d₁ A_T1 + d₂ A_T2)` (slip in the direction `d`).

use super::modes::{ContactModes, Mode, Tangential, size};
use super::representative::Representative;
use super::row_system::RowSystem;
use crate::kit::{EvaluationPoint, Row};
use crate::one_step::OneStep;
use saltus_linear::{Dense, SparseRows, dot};

/// What an equation may leave over, relative to the largest terms of all, before it counts as contradictory.
const CONSISTENT: f64 = 1e-8;
/// Planes that bound a cone at first, and how often planes are added where forces leave it.
const PLANES: u32 = 8;
const CUTS: u32 = 30;

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
    /// Row of every unknown of the linear system, and what it exerts along the tangents that follow.
    unknowns: Vec<(usize, Tangential)>,
    linear: RowSystem,
    rhs: Vec<f64>,
    x: Vec<f64>,
    /// First unknown, compliance and coefficient of friction of contacts that stick in space.
    cones: Vec<(usize, f64, f64)>,
    representative: Representative,
}

/// What one contact carries and how its rows accelerate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContactForce {
    pub(super) normal: f64,
    pub(super) tangent: Tangential,
    /// Accelerations of the rows [m/s²].
    pub(super) normal_acceleration: f64,
    pub(super) tangential_acceleration: Tangential,
    /// Acceleration per force of the normal, and the largest of a tangent [1/kg].
    pub(super) compliance: [f64; 2],
}

impl Accelerations {
    /// Lists the rows of all bilateral constraints and of the given contacts, `rows_of` each, and condenses them at `point`.
    pub(super) fn condense(
        &mut self,
        point: &EvaluationPoint,
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
            let row = point.contacts.first_row[i];
            self.contacts.push(i);
            self.first.push(self.rows.len());
            self.rows.push(Row::Normal(i, row));
            let tangents = row + 1..row + rows_of(i);
            self.rows.extend(tangents.map(|row| Row::Tangent(i, row)));
        }
        let list = &self.rows;
        let row = |i: usize| point.row(list[i]);
        let m = list.len();
        if m > 0 {
            self.one_step
                .condense(m, point.v.len(), &point.mass, &row, &row);
        }
        self.z.clear();
        self.z.resize(m, 0.0);
        self.w.clear();
        self.w.resize(m, 0.0);
    }

    /// `M⁻¹ f` and the accelerations of the rows without forces, at `point`.
    pub(super) fn evaluate_free_accelerations(&mut self, point: &EvaluationPoint) {
        self.free.clear();
        self.free.extend_from_slice(&point.force);
        point.mass.solve(&mut self.free);
        self.w_free.clear();
        self.terms = 0.0;
        for row in &self.rows {
            let (matrix, i) = point.row(*row);
            let size = matrix.magnitude(i, &self.free);
            let bias = point.bias(*row);
            self.terms = self.terms.max(size + bias.abs());
            self.w_free.push(matrix.dot(i, &self.free) + bias);
        }
    }

    /// Condenses the contacts that `modes` has closed and solves for their forces; whether there are any.
    pub(super) fn evaluate(
        &mut self,
        point: &EvaluationPoint,
        ng: usize,
        of: &ContactModes,
    ) -> bool {
        let closed = (0..of.len()).filter(|&i| of[i].is_closed());
        self.condense(point, ng, closed, |i| 1 + of.tangents[i]);
        self.evaluate_free_accelerations(point);
        self.solve(point, |i| (of.at(point, i), point.contacts.law[i].mu))
    }

    /// The same where nothing is asked but the reactions.
    pub(super) fn evaluate_reactions(
        &mut self,
        point: &EvaluationPoint,
        ng: usize,
        of: &ContactModes,
    ) -> bool {
        let acts = ng > 0 || of.list.iter().any(|mode| mode.is_closed());
        if acts {
            return self.evaluate(point, ng, of);
        }
        self.condense(point, 0, std::iter::empty(), |_| 0);
        self.linear.redundant = 0;
        true
    }

    /// Rows of the contact number `k` of those condensed.
    fn rows_of(&self, k: usize) -> std::ops::Range<usize> {
        let next = self.first.get(k + 1).copied();
        self.first[k]..next.unwrap_or(self.rows.len())
    }

    /// Solves for the forces of the condensed contacts in these modes, with a coefficient of friction where they slip; whether the
    /// equations have a solution.
    pub(super) fn solve(
        &mut self,
        point: &EvaluationPoint,
        mode: impl Fn(usize) -> (Mode, f64),
    ) -> bool {
        self.unknowns.clear();
        if self.rows.is_empty() {
            self.linear.redundant = 0;
            return true;
        }
        let alone = |row: usize| (row, Tangential::default());
        self.unknowns.extend((0..self.ng).map(alone));
        for (k, &i) in self.contacts.iter().enumerate() {
            let rows = self.rows_of(k);
            match mode(i) {
                (Mode::Open, _) => {}
                (Mode::Closed, _) => self.unknowns.push(alone(rows.start)),
                (Mode::Stick, _) => self.unknowns.extend(rows.map(alone)),
                (Mode::Slip([a, b]), mu) => self.unknowns.push((rows.start, [-a * mu, -b * mu])),
            }
        }
        self.rhs.clear();
        let (unknowns, w_free) = (&self.unknowns, &self.w_free);
        self.rhs
            .extend(unknowns.iter().map(|(row, _)| -w_free[*row]));
        self.solve_linear();
        self.take_forces();
        if self.linear.redundant > 0 {
            self.choose_representative(point, &mode);
        }
        let leaves = unknowns_leave(&self.unknowns, &self.w);
        leaves <= CONSISTENT * self.terms && self.z.iter().all(|z| z.is_finite())
    }

    /// Forces of all rows from the unknowns, and the accelerations they make.
    fn take_forces(&mut self) {
        let mut z = std::mem::take(&mut self.z);
        let forces = self.unknowns.iter().copied().zip(self.x.iter().copied());
        self.spread(forces, &mut z);
        self.z = z;
        for i in 0..self.w.len() {
            self.w[i] = self.w_free[i] + dot(self.one_step.delassus().row(i), &self.z);
        }
    }

    /// The linear system of the unknowns with the right-hand side `rhs`; of several solutions the shortest.
    fn solve_linear(&mut self) {
        let (unknowns, delassus) = (&self.unknowns, self.one_step.delassus());
        let entry = |a: usize, b: usize| {
            let (row, (col, shares)) = (unknowns[a].0, unknowns[b]);
            let mut d = delassus[(row, col)];
            for (col, share) in tangents(col, shares) {
                d += share * delassus[(row, col)];
            }
            d
        };
        let diagonal = |a: usize| delassus[(unknowns[a].0, unknowns[a].0)];
        self.linear.factorise(unknowns.len(), diagonal, entry);
        self.linear.solve(&mut self.rhs, &mut self.x);
    }

    /// Appends row and direction of force of every unknown of the modes solved last.
    pub(super) fn collect_rows(
        &self,
        point: &EvaluationPoint,
        laws: &mut SparseRows,
        forces: &mut SparseRows,
    ) {
        let terms = |row: usize, share: f64| {
            let (matrix, i) = point.row(self.rows[row]);
            let terms = matrix.cols(i).iter().zip(matrix.values(i));
            terms.map(move |(&j, w)| (j, share * w))
        };
        for &(row, shares) in &self.unknowns {
            laws.push_terms(terms(row, 1.0));
            let along = tangents(row, shares).flat_map(|(row, share)| terms(row, share));
            forces.push_terms(terms(row, 1.0).chain(along));
        }
    }

    /// Where forces are not unique: those with the largest margin to their limits (all have the same accelerations).
    fn choose_representative(
        &mut self,
        point: &EvaluationPoint,
        mode: &impl Fn(usize) -> (Mode, f64),
    ) {
        let rep = &mut self.representative;
        rep.begin(
            &self.linear.matrix,
            &self.linear.scale,
            &mut self.linear.least_squares,
        );
        self.cones.clear();
        for (k, &i) in self.contacts.iter().enumerate() {
            let first = self.first[k];
            let Some(normal) = self.unknowns.iter().position(|(row, _)| *row == first) else {
                continue;
            };
            let compliance = |row: usize| self.one_step.compliance(row);
            let next = self.first.get(k + 1).copied().unwrap_or(self.rows.len());
            let mu = point.contacts.law[i].mu_static;
            match mode(i).0 {
                Mode::Stick if next == first + 3 => {
                    let c = compliance(first + 1).max(compliance(first + 2));
                    self.cones.push((normal, c, mu));
                    for plane in 0..PLANES {
                        let angle = std::f64::consts::TAU * f64::from(plane) / f64::from(PLANES);
                        rep.limit(&tangent_plane(normal, c, mu, [angle.cos(), angle.sin()]));
                    }
                }
                Mode::Stick => {
                    let c = compliance(first + 1);
                    rep.limit(&[(normal, c * mu), (normal + 1, -c)]);
                    rep.limit(&[(normal, c * mu), (normal + 1, c)]);
                }
                _ => rep.limit(&[(normal, compliance(first))]),
            }
        }
        rep.maximise_margin(&mut self.x);
        self.cut_cones();
        self.take_forces();
    }

    /// Adds planes to the cones until forces have at least half of the margin that the planes allow, or no forces have any.
    fn cut_cones(&mut self) {
        let (rep, x) = (&mut self.representative, &mut self.x);
        for _ in 0..CUTS {
            let bound = rep.margin(x);
            let mut any = false;
            for &(normal, c, mu) in &self.cones {
                let tangent = [x[normal + 1], x[normal + 2]];
                let size = size(tangent);
                if bound > 0.0 && c * (mu * x[normal] - size) < 0.5 * bound {
                    let d = [tangent[0] / size, tangent[1] / size];
                    rep.limit(&tangent_plane(normal, c, mu, d));
                    any = true;
                }
            }
            if !any {
                break;
            }
            rep.maximise_margin(x);
        }
    }

    /// `x ← −D⁻¹ value` over all rows, and what that adds to the velocity (or to the tangent of positions).
    pub(super) fn remove(&mut self, value: impl Fn(Row) -> f64, out: &mut [f64]) {
        self.unknowns.clear();
        let all = 0..self.rows.len();
        self.unknowns
            .extend(all.map(|i| (i, Tangential::default())));
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
        self.accelerate_with(&self.z, a);
    }

    /// Forces of all rows from those of some, which exert something along the tangents that follow them.
    pub(super) fn spread(
        &self,
        forces: impl Iterator<Item = ((usize, Tangential), f64)>,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        out.resize(self.rows.len(), 0.0);
        for ((row, shares), x) in forces {
            out[row] += x;
            for (row, share) in tangents(row, shares) {
                out[row] += share * x;
            }
        }
    }

    /// The accelerations with the given forces of all rows.
    pub(super) fn accelerate_with(&self, forces: &[f64], a: &mut [f64]) {
        a.copy_from_slice(&self.free);
        self.one_step.add_response(0..forces.len(), forces, a);
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
        self.linear.redundant
    }

    /// What the contact number `k` of those condensed carries.
    pub(super) fn contact_force(&self, k: usize) -> ContactForce {
        let rows = self.rows_of(k);
        let row = rows.start;
        let mut carried = ContactForce {
            normal: self.z[row],
            normal_acceleration: self.w[row],
            compliance: [self.one_step.compliance(row), 0.0],
            ..ContactForce::default()
        };
        for (k, row) in rows.skip(1).enumerate() {
            carried.tangent[k] = self.z[row];
            carried.tangential_acceleration[k] = self.w[row];
            let compliance = self.one_step.compliance(row);
            carried.compliance[1] = carried.compliance[1].max(compliance);
        }
        carried
    }

    /// Acceleration per force of a row [1/kg].
    pub(super) fn compliance(&self, row: usize) -> f64 {
        self.one_step.compliance(row)
    }

    /// Numbers of the problem that its laws are posed on: bilateral rows, first row of each contact, `D` and `w_free`.
    pub(super) fn problem(&self) -> (usize, &[usize], &Dense, &[f64]) {
        (self.ng, &self.first, self.one_step.delassus(), &self.w_free)
    }
}

/// The tangents along which an unknown with the normal `row` exerts something, and how much.
pub(super) fn tangents(row: usize, shares: Tangential) -> impl Iterator<Item = (usize, f64)> {
    let along = shares.into_iter().enumerate();
    along
        .filter(|(_, share)| *share != 0.0)
        .map(move |(k, share)| (row + 1 + k, share))
}

/// The margin to the plane that touches a cone in the direction `d`, as a form of the unknowns.
fn tangent_plane(normal: usize, c: f64, mu: f64, d: Tangential) -> [(usize, f64); 3] {
    [
        (normal, c * mu),
        (normal + 1, -c * d[0]),
        (normal + 2, -c * d[1]),
    ]
}

fn unknowns_leave(unknowns: &[(usize, Tangential)], w: &[f64]) -> f64 {
    let sizes = unknowns.iter().map(|(row, _)| w[*row].abs());
    sizes.fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
}
