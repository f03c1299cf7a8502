//! Takes back the drift of bilateral constraints and closed contacts: the nearest position, then velocity, in the metric of the mass.

use super::NAME;
use super::stages::speed_noise;
use crate::integrator::StepError;
use crate::kit::{EvaluationPoint, Row, Step};
use crate::one_step::OneStep;
use saltus_linear::max_abs;
use saltus_system::System;

/// Most linearisations of the positions.
const LIMIT: u32 = 10;

/// The projection with its buffers.
#[derive(Debug, Default)]
pub(super) struct Projection {
    one_step: OneStep,
    rows: Vec<Row>,
    z: Vec<f64>,
    xi: Vec<f64>,  // (nv)
    gap: Vec<f64>, // g of the bilateral constraints (ng)
}

impl Projection {
    /// Moves `at` to where its bilateral constraints and the contacts `closed` hold; `at` is placed before and after.
    pub(super) fn apply(
        &mut self,
        system: &dyn System,
        step: &Step,
        at: &mut EvaluationPoint,
        closed: &[usize],
    ) -> Result<(), StepError> {
        self.rows.clear();
        self.rows.extend((0..step.dims.ng).map(Row::Bilateral));
        let first = &at.contacts.first_row;
        let normal = |&i: &usize| Row::Normal(i, first[i]);
        self.rows.extend(closed.iter().map(normal));
        if self.rows.is_empty() {
            return Ok(());
        }
        self.positions(system, step, at)?;
        self.velocities(system, step, at)
    }

    fn positions(
        &mut self,
        system: &dyn System,
        step: &Step,
        at: &mut EvaluationPoint,
    ) -> Result<(), StepError> {
        let round_off = 4.0 * f64::EPSILON * max_abs(&at.q);
        let mut before = f64::INFINITY;
        self.gap.resize(step.dims.ng, 0.0);
        for _ in 0..LIMIT {
            system.g(at.t, &at.q, &mut self.gap);
            let gaps = &at.contacts.gap;
            let value = |gap: &[f64], row: Row| match row {
                Row::Bilateral(i) => gap[i],
                Row::Normal(i, _) => gaps[i],
                Row::Tangent(..) | Row::JointFriction(_) => 0.0,
            };
            let worst = self.rows.iter().map(|row| value(&self.gap, *row).abs());
            let worst = worst.fold(0.0, f64::max);
            // Round-off of the gaps themselves does not get smaller.
            if worst <= round_off || worst > 0.5 * before {
                return Ok(());
            }
            before = worst;
            self.condense(at);
            for (q, row) in self.one_step.q_mut().iter_mut().zip(&self.rows) {
                *q = value(&self.gap, *row);
            }
            self.solve(system, at)?;
            self.xi.clear();
            self.xi.resize(at.v.len(), 0.0);
            let m = self.rows.len();
            self.one_step.add_response(0..m, &self.z, &mut self.xi);
            system.retract(&mut at.q, &self.xi);
            at.evaluate(system, NAME)?;
        }
        Ok(())
    }

    fn velocities(
        &mut self,
        system: &dyn System,
        step: &Step,
        at: &mut EvaluationPoint,
    ) -> Result<(), StepError> {
        let moves = |row: &Row| {
            let noise = 1e-2 * speed_noise(step, at, *row);
            at.velocity(*row, &at.v).abs() > noise
        };
        if !self.rows.iter().any(moves) {
            return Ok(());
        }
        self.condense(at);
        for (q, row) in self.one_step.q_mut().iter_mut().zip(&self.rows) {
            *q = at.velocity(*row, &at.v);
        }
        self.solve(system, at)?;
        let m = self.rows.len();
        self.one_step.add_response(0..m, &self.z, &mut at.v);
        Ok(())
    }

    fn condense(&mut self, at: &EvaluationPoint) {
        let rows = &self.rows;
        let of = |i: usize| at.row(rows[i]);
        self.one_step
            .condense(rows.len(), at.v.len(), &at.mass, &of, &of);
    }

    fn solve(&mut self, system: &dyn System, at: &EvaluationPoint) -> Result<(), StepError> {
        let m = self.rows.len();
        self.z.clear();
        self.z.resize(m, 0.0);
        let outcome = self.one_step.solve(m, &mut self.z);
        if outcome.is_solved() {
            return Ok(());
        }
        let names = system.names();
        let name = |row: &Row| match row {
            Row::Bilateral(i) => names.bilateral.get(*i).cloned().unwrap_or_default(),
            Row::Normal(i, _) => names.contact(at.contacts.id[*i]),
            Row::Tangent(..) | Row::JointFriction(_) => String::new(),
        };
        let rows: Vec<String> = self.rows.iter().map(name).collect();
        let (worst, _) = self.one_step.worst(m, &self.z);
        let bilateral = self.gap.len();
        Err(StepError::ContactProblem {
            contacts: m - bilateral,
            bilateral,
            status: outcome.status.name(),
            residual: outcome.residual,
            place: rows.get(worst).cloned().unwrap_or_default(),
            cure: "check that bilateral constraints and closed contacts do not contradict each other",
            problem: Box::new(self.one_step.failed(m, rows)),
        })
    }
}
