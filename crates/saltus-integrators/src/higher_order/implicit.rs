//! Implicit stages: Newton's method on the accelerations of all stages at once, with the complementarity of every stage.
//!
//! ```text
//! M_i v̇_i = f_i + G_iᵀ λ_i + W_i μ_i ,   G_i v̇_i + ζ_i = 0 ,   0 ≤ W_iᵀ v̇_i + ζ_i ⟂ μ_i ≥ 0
//! v_i = v_k + h Σ a_ij v̇_j ,   q_i = q_k ⊕ h Σ a_ij v_j
//! ```
//!
//! The tangent is exact in flat coordinates; elsewhere that of the retraction is taken for the identity, and the rates of the tangent
//! vectors are iterated along.

use super::NAME;
use super::options::HigherOrderOptions;
use super::stages::{Piece, Stages, noise, note_opening};
use crate::integrator::StepError;
use crate::kit::{EvaluationPoint, MomentumScale, Row, Step};
use crate::one_step::OneStep;
use crate::round_off;
use saltus_linear::{RowCollector, Shifted, SquareMatrix, axpy, max_abs};
use saltus_system::{DynamicsParts, Point, System, Tangents};

/// After so many corrections the round-off of the forces is looked at.
const EXACT_CORRECTIONS: u32 = 3;

/// Tangents that change by less than this share of themselves have converged.
const CONVERGED: f64 = 1e-13;

/// Newton's method on the stages.
#[derive(Debug)]
pub(super) struct Implicit {
    mass: SquareMatrix,          // M of one stage
    mass_gradient: SquareMatrix, // D(M v̇) of one stage
    stiffness: SquareMatrix,     // K of one stage
    damping: SquareMatrix,       // C of one stage
    iteration: SquareMatrix,     // J of all stages (s nv × s nv)
    /// Step length that the factored matrix of a time-invariant system without contacts belongs to.
    factored_for: f64,
    /// EvaluationPoint and row of each multiplier: bilateral rows of all stages first.
    list: Vec<(usize, Row)>,
    /// Directions of the forces, and derivatives of the accelerations of the rows (multipliers × s nv).
    forces: RowCollector,
    laws: RowCollector,
    turning: RowCollector,  // D(Wᵀ v̇ + ζ) of one stage (rows × nv)
    yielding: RowCollector, // ∂ζ/∂v of one stage (rows × nv)
    one_step: OneStep,
    z: Vec<f64>,         // forces of the rows
    w: Vec<f64>,         // accelerations of the rows
    lambda: Vec<f64>,    // forces of the bilateral rows of one stage (ng)
    mu: Vec<f64>,        // forces of the contact rows of one stage
    residual: Vec<f64>,  // M v̇ − f (s nv)
    defect: Vec<f64>,    // the same with reactions (s nv)
    round_off: Vec<f64>, // (nv)
    free: Vec<f64>,      // v̇ at the start without reactions (nv)
}

impl Implicit {
    pub(super) fn new(system: &dyn System, stages: usize) -> Self {
        let (nv, ng) = (system.dims().nv, system.dims().ng);
        let matrix = || SquareMatrix::new(nv);
        Self {
            mass: matrix(),
            mass_gradient: matrix(),
            stiffness: matrix(),
            damping: matrix(),
            iteration: SquareMatrix::new(stages * nv),
            factored_for: f64::NAN,
            list: Vec::new(),
            forces: RowCollector::default(),
            laws: RowCollector::default(),
            turning: RowCollector::default(),
            yielding: RowCollector::default(),
            one_step: OneStep::default(),
            z: Vec::new(),
            w: Vec::new(),
            lambda: vec![0.0; ng],
            mu: Vec::new(),
            residual: vec![0.0; stages * nv],
            defect: vec![0.0; stages * nv],
            round_off: vec![0.0; nv],
            free: vec![0.0; nv],
        }
    }

    /// One step of length `h` from `at` with the contacts `closed`; returns the corrections made.
    pub(super) fn solve(
        &mut self,
        system: &dyn System,
        step: &Step,
        (stages, scale, guess): (&mut Stages, &mut MomentumScale, &[f64]),
        (at, closed): (&mut EvaluationPoint, &[usize]),
        (h, options): (f64, &HigherOrderOptions),
        piece: &mut Piece,
    ) -> Result<u32, StepError> {
        self.list_rows(step, stages, at, closed);
        self.start(system, (stages, guess), at)?;
        let mut iterations = 0;
        self.round_off.fill(0.0);
        loop {
            stages.tangent_change = 0.0;
            for i in 0..stages.nodes.len() {
                stages.evaluate_velocity(system, at, i, h)?;
            }
            for i in 0..stages.nodes.len() {
                stages.evaluate_position(system, at, i, h)?;
            }
            if iterations == 0 {
                for stage in &stages.nodes {
                    stage.include_rates(scale, h);
                }
            }
            self.residuals(stages);
            if iterations > EXACT_CORRECTIONS {
                self.tangents(system, stages, 0);
                let at = &stages.nodes[0];
                let is_flat = step.is_flat;
                let floor = &mut self.round_off;
                round_off::of_force(&self.stiffness, 1.0, &at.q, is_flat, floor);
            }
            if iterations > 0 && self.is_solved(stages, scale, h, options.tolerance) {
                break;
            }
            if iterations == options.max_iterations || !max_abs(&self.defect).is_finite() {
                return Err(self.failure(system, scale, h, iterations, options.tolerance));
            }
            self.correct(system, step, stages, h)?;
            iterations += 1;
        }
        self.record_reactions(stages, h, piece);
        stages.close(system, at, h, piece);
        Ok(iterations)
    }

    fn list_rows(&mut self, step: &Step, stages: &Stages, at: &EvaluationPoint, closed: &[usize]) {
        self.list.clear();
        let s = stages.nodes.len();
        for i in 0..s {
            let bilateral = (0..step.dims.ng).map(Row::Bilateral);
            self.list.extend(bilateral.map(|row| (i, row)));
        }
        for i in 0..s {
            let contacts = closed.iter();
            let row = |&k: &usize| (i, Row::Normal(k, at.contacts.first_row[k]));
            self.list.extend(contacts.map(row));
        }
        self.z.clear();
        self.z.resize(self.list.len(), 0.0);
        self.w.clear();
        self.w.resize(self.list.len(), 0.0);
        self.mu.clear();
        self.mu.resize(at.contacts.rate.len(), 0.0);
    }

    /// First guess, and the accelerations at the start without reactions.
    fn start(
        &mut self,
        system: &dyn System,
        (stages, guess): (&mut Stages, &[f64]),
        at: &mut EvaluationPoint,
    ) -> Result<(), StepError> {
        at.evaluate_force(system)?;
        self.free.copy_from_slice(&at.force);
        at.mass.solve(&mut self.free);
        stages.start_velocities(at);
        for i in 0..stages.nodes.len() {
            let a = stages.acceleration.row_mut(i);
            a.copy_from_slice(guess);
        }
        Ok(())
    }

    /// `M v̇ − f` of every stage, without and with reactions, and the accelerations of the rows.
    fn residuals(&mut self, stages: &Stages) {
        let nv = self.free.len();
        for (i, node) in stages.nodes.iter().enumerate() {
            let r = &mut self.residual[i * nv..(i + 1) * nv];
            node.mass.apply(stages.acceleration.row(i), r);
            axpy(-1.0, &node.force, r);
        }
        self.defect.copy_from_slice(&self.residual);
        for (k, &(i, row)) in self.list.iter().enumerate() {
            let node = &stages.nodes[i];
            let (matrix, r) = node.row(row);
            matrix.axpy(r, -self.z[k], &mut self.defect[i * nv..(i + 1) * nv]);
            self.w[k] = matrix.dot(r, stages.acceleration.row(i)) + node.bias(row);
        }
    }

    /// Whether momentum and laws of every stage hold.
    fn is_solved(&self, stages: &Stages, scale: &MomentumScale, h: f64, tolerance: f64) -> bool {
        let nv = self.free.len();
        let momentum = self.defect.iter().enumerate().all(|(k, r)| {
            let above = round_off::above(*r, self.round_off[k % nv]);
            h * above <= scale.bound(k % nv, tolerance)
        });
        let law = self.list.iter().enumerate().all(|(k, &(i, row))| {
            let (matrix, r) = stages.nodes[i].row(row);
            let bound = scale.velocity_bound(matrix.cols(r), matrix.values(r), tolerance);
            let residual = match row {
                Row::Normal(..) if self.z[k] > 0.0 => self.w[k].abs(),
                Row::Normal(..) => (-self.w[k]).max(0.0),
                _ => self.w[k].abs(),
            };
            h * residual <= bound
        });
        momentum && law && stages.tangent_change <= CONVERGED
    }

    /// Mass, force and derivatives of stage `i`.
    fn tangents(&mut self, system: &dyn System, stages: &mut Stages, i: usize) {
        for matrix in [
            &mut self.mass,
            &mut self.mass_gradient,
            &mut self.stiffness,
            &mut self.damping,
        ] {
            matrix.clear();
        }
        let node = &mut stages.nodes[i];
        let at = Point {
            t: node.t,
            q: &node.q,
            v: &node.v,
        };
        let tangents = Tangents {
            x: stages.acceleration.row(i),
            mass_gradient: &mut self.mass_gradient,
            stiffness: &mut self.stiffness,
            damping: &mut self.damping,
        };
        system.evaluate(
            at,
            DynamicsParts {
                mass: &mut self.mass,
                force: &mut node.force,
                tangents: Some(tangents),
            },
        );
    }

    /// One correction of Newton's method.
    fn correct(
        &mut self,
        system: &dyn System,
        step: &Step,
        stages: &mut Stages,
        h: f64,
    ) -> Result<(), StepError> {
        self.assemble(system, step, stages, h)?;
        let nv = self.free.len();
        let ng = step.dims.ng * stages.nodes.len();
        let m = self.list.len();
        for r in &mut self.residual {
            *r = -*r;
        }
        self.iteration.solve(&mut self.residual);
        if m > 0 {
            let (forces, laws) = (self.forces.rows(), self.laws.rows());
            let n = self.residual.len();
            let of = |i: usize| (forces, i);
            self.one_step
                .condense(m, n, &self.iteration, &of, &|i| (laws, i));
            for (k, q) in self.one_step.q_mut().iter_mut().enumerate() {
                *q = laws.dot(k, &self.residual) + self.w[k];
            }
            let outcome = self.one_step.solve(ng, &mut self.z);
            if !outcome.is_solved() {
                return Err(self.unsolved(system, step, stages, outcome));
            }
            self.one_step
                .add_response(0..m, &self.z, &mut self.residual);
        }
        for i in 0..stages.nodes.len() {
            let delta = &self.residual[i * nv..(i + 1) * nv];
            axpy(1.0, delta, stages.acceleration.row_mut(i));
        }
        Ok(())
    }

    /// `J`, factored, and the derivatives of the rows.
    fn assemble(
        &mut self,
        system: &dyn System,
        step: &Step,
        stages: &mut Stages,
        h: f64,
    ) -> Result<(), StepError> {
        let structure = system.structure();
        let constant = step.is_flat
            && structure.is_time_invariant()
            && (self.list.is_empty() || structure.linear_contacts && structure.linear_constraints);
        let (nv, s) = (self.free.len(), stages.nodes.len());
        self.forces.clear();
        self.laws.clear();
        let refactor = !(constant && self.factored_for == h);
        if refactor {
            self.iteration.clear();
        }
        for i in 0..s {
            if refactor {
                self.tangents(system, stages, i);
                self.curvature(system, stages, i);
                for j in 0..s {
                    let mut block = Shifted {
                        sink: &mut self.iteration,
                        factor: 1.0,
                        row: i * nv,
                        col: j * nv,
                    };
                    if i == j {
                        self.mass.send(1.0, &mut block);
                    }
                    let a = stages.tableau.a(i)[j];
                    self.damping.send(h * a, &mut block);
                    let square = h * h * stages.tableau.square(i, j);
                    self.stiffness.send(square, &mut block);
                    self.mass_gradient.send(square, &mut block);
                }
            }
            self.rows(system, step, stages, i, h);
        }
        self.forces.finish(self.list.len());
        self.laws.finish(self.list.len());
        if refactor {
            let factorised = self.iteration.factorise();
            factorised.map_err(|source| StepError::Singular {
                source,
                scheme: NAME,
                mass_is_regular: true,
            })?;
            self.factored_for = if constant { h } else { f64::NAN };
        }
        Ok(())
    }

    /// Adds `−D(Gᵀ λ + W μ)` of stage `i` to its stiffness.
    fn curvature(&mut self, system: &dyn System, stages: &Stages, i: usize) {
        let structure = system.structure();
        self.lambda.fill(0.0);
        self.mu.fill(0.0);
        for (k, &(stage, row)) in self.list.iter().enumerate() {
            match row {
                Row::Bilateral(r) if stage == i => self.lambda[r] = self.z[k],
                Row::Normal(_, r) if stage == i => self.mu[r] = self.z[k],
                _ => {}
            }
        }
        let node = &stages.nodes[i];
        let mut sink = Shifted {
            sink: &mut self.stiffness,
            factor: -1.0,
            row: 0,
            col: 0,
        };
        if !structure.linear_constraints && !self.lambda.is_empty() {
            system.g_curvature(node.t, &node.q, &self.lambda, &mut sink);
        }
        if !structure.linear_contacts && self.mu.iter().any(|r| *r != 0.0) {
            let (t, q, set) = (node.t, &node.q, &node.contacts);
            system.contact_curvature(t, q, set, &self.mu, &mut sink);
        }
    }

    /// Directions of the forces of stage `i`, and the derivatives of the accelerations of its rows along those of all stages.
    fn rows(&mut self, system: &dyn System, step: &Step, stages: &Stages, i: usize, h: f64) {
        let structure = system.structure();
        let nv = self.free.len();
        for bilateral in [true, false] {
            let count = if bilateral {
                step.dims.ng
            } else {
                stages.nodes[i].contacts.rate.len()
            };
            let turns = if bilateral {
                !structure.linear_constraints
            } else {
                !structure.linear_contacts
            };
            let any = (self.list.iter())
                .any(|(stage, row)| *stage == i && matches!(row, Row::Bilateral(_)) == bilateral);
            if !any {
                continue;
            }
            if turns {
                self.row_gradients(system, stages, i, bilateral, count);
            }
            for (k, &(stage, row)) in self.list.iter().enumerate() {
                if stage != i || matches!(row, Row::Bilateral(_)) != bilateral {
                    continue;
                }
                let (matrix, r) = stages.nodes[i].row(row);
                let send = |from: &saltus_linear::SparseRows,
                            into: &mut RowCollector,
                            factor: f64,
                            j: usize| {
                    let mut sink = Shifted {
                        sink: into,
                        factor,
                        row: 0,
                        col: j * nv,
                    };
                    from.send(r, k, 1.0, &mut sink);
                };
                send(matrix, &mut self.forces, 1.0, i);
                send(matrix, &mut self.laws, 1.0, i);
                if turns {
                    for j in 0..stages.nodes.len() {
                        let square = h * h * stages.tableau.square(i, j);
                        send(self.turning.rows(), &mut self.laws, square, j);
                        let a = h * stages.tableau.a(i)[j];
                        send(self.yielding.rows(), &mut self.laws, a, j);
                    }
                }
            }
        }
    }

    /// `D(G v̇ + ζ)` and `∂ζ/∂v` of stage `i`.
    fn row_gradients(
        &mut self,
        system: &dyn System,
        stages: &Stages,
        i: usize,
        bilateral: bool,
        count: usize,
    ) {
        let (node, a) = (&stages.nodes[i], stages.acceleration.row(i));
        let at = Point {
            t: node.t,
            q: &node.q,
            v: &node.v,
        };
        self.turning.clear();
        self.yielding.clear();
        let (turning, yielding) = (&mut self.turning, &mut self.yielding);
        if bilateral {
            system.g_jacobian_gradient(node.t, &node.q, a, turning);
            system.g_bias_gradient(at, turning);
            system.g_bias_damping(at, yielding);
        } else {
            let set = &node.contacts;
            system.contact_direction_gradient(node.t, &node.q, set, a, turning);
            system.contact_bias_gradient(at, set, turning);
            system.contact_bias_damping(at, set, yielding);
        }
        turning.finish(count);
        yielding.finish(count);
    }

    /// Books the reactions of the solved stages.
    fn record_reactions(&mut self, stages: &Stages, h: f64, piece: &mut Piece) {
        stages.open(piece);
        for (k, &(i, row)) in self.list.iter().enumerate() {
            let node = &stages.nodes[i];
            piece.add(node, row, self.z[k], h * stages.tableau.b()[i]);
            if let Row::Normal(contact, r) = row {
                let noise = noise(node, r, &self.free);
                note_opening(&mut piece.opening, contact, self.z[k], (self.w[k], noise));
            }
        }
        piece.dynamics = h * max_abs(&self.defect);
    }

    fn failure(
        &self,
        system: &dyn System,
        scale: &MomentumScale,
        h: f64,
        iterations: u32,
        tolerance: f64,
    ) -> StepError {
        let nv = self.free.len();
        let (mut worst, mut place) = (0.0, 0);
        for (k, r) in self.defect.iter().enumerate() {
            let ratio = h * r.abs() / scale.bound(k % nv, tolerance);
            if ratio > worst || ratio.is_nan() {
                (worst, place) = (ratio, k);
            }
        }
        let names = system.names().velocities;
        StepError::NotConverged {
            iterations,
            residual: h * self.defect[place].abs(),
            tolerance: scale.bound(place % nv, tolerance),
            place: names.get(place % nv).cloned().unwrap_or_default(),
            problem: None,
        }
    }

    fn unsolved(
        &self,
        system: &dyn System,
        step: &Step,
        stages: &Stages,
        outcome: saltus_complementarity::Outcome,
    ) -> StepError {
        let names = system.names();
        let ng = step.dims.ng * stages.nodes.len();
        let name = |&(i, row): &(usize, Row)| match row {
            Row::Normal(contact, _) => names.contact(stages.nodes[i].contacts.id[contact]),
            Row::Bilateral(r) | Row::JointFriction(r) | Row::Tangent(r, _) => {
                names.bilateral.get(r).cloned().unwrap_or_default()
            }
        };
        let rows: Vec<String> = self.list.iter().map(name).collect();
        let (worst, _) = self.one_step.worst(ng, &self.z);
        StepError::ContactProblem {
            contacts: self.list.len() - ng,
            bilateral: ng,
            status: outcome.status.name(),
            residual: outcome.residual,
            place: rows.get(worst).cloned().unwrap_or_default(),
            cure: "take a smaller `step`, or check that constraints and closed contacts do not contradict each other",
            problem: Box::new(self.one_step.failed(ng, rows)),
        }
    }
}
