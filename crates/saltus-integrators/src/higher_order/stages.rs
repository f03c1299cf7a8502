//! The stages of a Runge–Kutta step and what the step leaves.

use super::NAME;
use super::tableaux::Tableau;
use crate::integrator::StepError;
use crate::kit::{Duration, EvaluationPoint, Row, Step, StepProblem, TangentRate, Works, combine};
use saltus_linear::{Dense, axpy, dot, max_abs};
use saltus_system::System;

/// A piece of a step: where it ends, and the reactions in it.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its end, with rows and contacts.
    pub(super) end: EvaluationPoint,
    /// Tangent from its start to its end (nv).
    pub(super) xi: Vec<f64>,
    pub(super) bilateral: Vec<f64>, // impulses [N·s] (ng)
    pub(super) row: Vec<f64>,       // impulses [N·s] (rows of the set)
    pub(super) works: Works,
    /// Largest residual of the stage equations [N·s].
    pub(super) dynamics: f64,
    /// Multipliers that are not unique.
    pub(super) redundant: u32,
    /// Closed contacts that carry nothing in some stage and accelerate away.
    pub(super) opening: Vec<usize>,
}

impl Piece {
    pub(super) fn new(system: &dyn System) -> Self {
        let dims = system.dims();
        Self {
            end: EvaluationPoint::new(system),
            xi: vec![0.0; dims.nv],
            bilateral: vec![0.0; dims.ng],
            row: Vec::new(),
            works: Works::default(),
            dynamics: 0.0,
            redundant: 0,
            opening: Vec::new(),
        }
    }

    /// Takes over the contacts of a step.
    pub(super) fn take_contacts(&mut self, of: &EvaluationPoint) {
        self.end.take_contacts(of);
        self.row.reserve(of.contacts.rate.len());
        self.opening.reserve(of.contacts.len());
    }

    /// Nothing has happened yet in a piece of a step with these contacts.
    fn clear(&mut self, rows: usize) {
        self.bilateral.fill(0.0);
        self.row.clear();
        self.row.resize(rows, 0.0);
        self.works = Works::default();
        self.dynamics = 0.0;
        self.redundant = 0;
        self.opening.clear();
    }

    /// A row has the force `force` over the time `weight` \[s\] at `stage`.
    pub(super) fn add(&mut self, stage: &EvaluationPoint, row: Row, force: f64, weight: f64) {
        let impulse = weight * force;
        match row {
            Row::Bilateral(i) => self.bilateral[i] += impulse,
            Row::Normal(_, i) | Row::Tangent(_, i) => self.row[i] += impulse,
            Row::JointFriction(_) => {}
        }
        self.works.add(stage, row, impulse, &stage.v);
    }
}

/// Notes a closed contact that carries `force` and accelerates with `gamma`, which is nothing below `noise`.
pub(super) fn note_opening(
    opening: &mut Vec<usize>,
    contact: usize,
    force: f64,
    (gamma, noise): (f64, f64),
) {
    if force <= 0.0 && gamma > noise && !opening.contains(&contact) {
        opening.push(contact);
    }
}

/// The stages.
#[derive(Debug)]
pub(super) struct Stages {
    pub(super) tableau: Tableau,
    pub(super) nodes: Vec<EvaluationPoint>,
    /// `v̇` of each stage (s × nv).
    pub(super) acceleration: Dense,
    /// Rate of the tangent ξ of each stage: `T(ξ)⁻¹ v` (s × nv).
    rate: Dense,
    /// Tangent of each stage, as its rate took it (s × nv).
    xi: Dense,
    /// Largest change of a tangent since its rate took it, over itself and 1.
    pub(super) tangent_change: f64,
    work: Vec<f64>, // (nv)
    tangent: TangentRate,
}

impl Stages {
    pub(super) fn new(system: &dyn System, tableau: Tableau) -> Self {
        let (s, nv) = (tableau.stages(), system.dims().nv);
        Self {
            nodes: (0..s).map(|_| EvaluationPoint::new(system)).collect(),
            acceleration: Dense::zeros(s, nv),
            rate: Dense::zeros(s, nv),
            xi: Dense::zeros(s, nv),
            tangent_change: 0.0,
            work: vec![0.0; nv],
            tangent: TangentRate::new(nv),
            tableau,
        }
    }

    /// Takes over the contacts of a step.
    pub(super) fn take_contacts(&mut self, of: &EvaluationPoint) {
        for node in &mut self.nodes {
            node.take_contacts(of);
        }
    }

    /// Velocity of stage `i` from the accelerations, and the rate of its tangent.
    pub(super) fn evaluate_velocity(
        &mut self,
        system: &dyn System,
        at: &EvaluationPoint,
        i: usize,
        h: f64,
    ) -> Result<(), StepError> {
        let v = &mut self.nodes[i].v;
        combine(&self.acceleration, self.tableau.a(i), h, v);
        axpy(1.0, &at.v, v);
        let xi = self.xi.row_mut(i);
        if !system.is_flat() {
            combine(&self.rate, self.tableau.a(i), h, xi);
        }
        let rate = self.rate.row_mut(i);
        rate.copy_from_slice(v);
        self.tangent.apply(system, NAME, (&at.q, xi), rate)
    }

    /// Position of stage `i` from the rates of the tangent, with mass, rows, force and bias there.
    pub(super) fn evaluate_position(
        &mut self,
        system: &dyn System,
        at: &EvaluationPoint,
        i: usize,
        h: f64,
    ) -> Result<(), StepError> {
        combine(&self.rate, self.tableau.a(i), h, &mut self.work);
        if !system.is_flat() {
            let pairs = self.xi.row(i).iter().zip(&self.work);
            let change = pairs.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            let size = 1.0 + max_abs(&self.work);
            self.tangent_change = self.tangent_change.max(change / size);
        }
        let node = &mut self.nodes[i];
        node.retract(system, at, &self.work, at.t + h * self.tableau.c(i));
        node.evaluate(system, NAME)?;
        node.evaluate_force(system)?;
        node.evaluate_bias(system);
        Ok(())
    }

    /// Every stage has the velocity of the start.
    pub(super) fn start_velocities(&mut self, at: &EvaluationPoint) {
        for i in 0..self.nodes.len() {
            self.rate.row_mut(i).copy_from_slice(&at.v);
        }
    }

    /// Starts the totals of a piece.
    pub(super) fn open(&self, piece: &mut Piece) {
        piece.clear(self.nodes[0].contacts.rate.len());
    }

    /// The end of the piece of length `h` that starts at `at`; its stages are solved and its reactions noted.
    pub(super) fn close(
        &mut self,
        system: &dyn System,
        at: &EvaluationPoint,
        h: f64,
        piece: &mut Piece,
    ) {
        let b = self.tableau.b();
        combine(&self.rate, b, h, &mut piece.xi);
        piece.end.retract(system, at, &piece.xi, at.t + h);
        combine(&self.acceleration, b, h, &mut piece.end.v);
        axpy(1.0, &at.v, &mut piece.end.v);
        piece.end.evaluate_rows(system);
        if system.is_conservative() {
            return;
        }
        for (node, b) in self.nodes.iter_mut().zip(b) {
            node.evaluate_power(system);
            piece.works.external += h * b * dot(&node.power, &node.v);
        }
    }
}

/// Acceleration of a row that counts as nothing, over the largest acceleration without reactions.
const QUIET: f64 = 1e-11;

/// What of the acceleration of a contact counts as nothing; `free` are the accelerations without reactions.
pub(super) fn noise(stage: &EvaluationPoint, row: usize, free: &[f64]) -> f64 {
    let values = stage.contacts.directions.values(row);
    let size: f64 = values.iter().map(|w| w.abs()).sum();
    QUIET * size * max_abs(free)
}

/// The speed of a row that counts as nothing.
pub(super) fn speed_noise(step: &Step, stage: &EvaluationPoint, row: Row) -> f64 {
    let (matrix, i) = stage.row(row);
    let size: f64 = matrix.values(i).iter().map(|w| w.abs()).sum();
    let speed = max_abs(&stage.v).max(max_abs(&step.start.v));
    1e-12 * size * speed
}

/// The accelerations `free` without and `full` with the forces of the contacts `closed` and of the constraints, at a stage whose mass and
/// rows are placed.
pub(super) fn pressed(
    system: &dyn System,
    (step, problem): (&mut Step, &mut StepProblem),
    at: &mut EvaluationPoint,
    closed: &[usize],
    (free, full): (&mut Vec<f64>, &mut Vec<f64>),
) -> Result<(), StepError> {
    at.evaluate_force(system)?;
    at.evaluate_bias(system);
    free.copy_from_slice(&at.force);
    at.mass.solve(free);
    let at = &*at;
    let bias = |row: Row| at.bias(row);
    let reactions = &mut step.reactions;
    problem.pose(
        system,
        reactions,
        (at, at),
        closed,
        Duration::Force,
        free,
        bias,
    );
    problem.solve(system, reactions, at, at.t)?;
    full.copy_from_slice(free);
    problem.respond(full);
    Ok(())
}
