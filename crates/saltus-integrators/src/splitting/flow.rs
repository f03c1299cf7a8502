//! The smooth part of a step: the method of Runge, Kutta and Fehlberg of order 5 with its error estimate of order 4.

use super::NAME;
use crate::integrator::StepError;
use crate::kit::{
    Duration, EvaluationPoint, Mode, Row, Step, StepProblem, StepReactions, TangentRate, Works,
    combine,
};
use saltus_linear::{Dense, axpy, dot};
use saltus_system::System;

const STAGES: usize = 6;

/// Weights of the stages before it in each stage (Fehlberg 1969).
const A: [[f64; STAGES - 1]; STAGES] = [
    [0.0; 5],
    [0.25, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 32.0, 9.0 / 32.0, 0.0, 0.0, 0.0],
    [1932.0 / 2197.0, -7200.0 / 2197.0, 7296.0 / 2197.0, 0.0, 0.0],
    [439.0 / 216.0, -8.0, 3680.0 / 513.0, -845.0 / 4104.0, 0.0],
    [
        -8.0 / 27.0,
        2.0,
        -3544.0 / 2565.0,
        1859.0 / 4104.0,
        -11.0 / 40.0,
    ],
];
/// When each stage is, in steps.
const C: [f64; STAGES] = [0.0, 0.25, 0.375, 12.0 / 13.0, 1.0, 0.5];
/// Weights of the stages in the end of the step, order 5.
const B: [f64; STAGES] = [
    16.0 / 135.0,
    0.0,
    6656.0 / 12825.0,
    28561.0 / 56430.0,
    -9.0 / 50.0,
    2.0 / 55.0,
];
/// The same of order 4.
const B4: [f64; STAGES] = [
    25.0 / 216.0,
    0.0,
    1408.0 / 2565.0,
    2197.0 / 4104.0,
    -0.2,
    0.0,
];

/// Amplification of an undamped vibration in a step that still counts as stable: the method is weakly unstable there.
const GROWTH: f64 = 1.0 + 1e-4;

/// The stages of a step.
#[derive(Debug)]
pub(super) struct Flow {
    stage: EvaluationPoint,
    acceleration: Dense, // v̇ of each stage (stages × nv)
    rate: Dense,         // of the tangent ξ: T(ξ)⁻¹ v (stages × nv)
    tangent: TangentRate,
    xi: Vec<f64>,               // (nv)
    free: Vec<f64>,             // M⁻¹ f (nv)
    pub(super) v: Vec<f64>,     // velocity at the end (nv)
    pub(super) error: Vec<f64>, // of ξ (nv)
    /// Works of the last flow.
    pub(super) works: Works,
}

impl Flow {
    pub(super) fn new(system: &dyn System) -> Self {
        let nv = system.dims().nv;
        let zeros = || vec![0.0; nv];
        Self {
            stage: EvaluationPoint::new(system),
            acceleration: Dense::zeros(STAGES, nv),
            rate: Dense::zeros(STAGES, nv),
            tangent: TangentRate::new(nv),
            xi: zeros(),
            free: zeros(),
            v: zeros(),
            error: zeros(),
            works: Works::default(),
        }
    }

    /// Goes from the start of `step` for a time `h` \[s\] with forces on constraints and on the contacts `closed`: leaves `step.xi`, the
    /// velocity at the end and the error of `ξ`, and adds the impulses of the forces.
    pub(super) fn run(
        &mut self,
        system: &dyn System,
        step: &mut Step,
        problem: &mut StepProblem,
        closed: &[usize],
        h: f64,
    ) -> Result<(), StepError> {
        self.works = Works::default();
        for l in 0..STAGES {
            combine(&self.rate, &A[l][..l.min(STAGES - 1)], h, &mut self.xi);
            let stage = &mut self.stage;
            stage.take_contacts(&step.start);
            let t = step.start.t + C[l] * h;
            stage.retract(system, &step.start, &self.xi, t);
            let weights = &A[l][..l.min(STAGES - 1)];
            combine(&self.acceleration, weights, h, &mut stage.v);
            axpy(1.0, &step.start.v, &mut stage.v);
            stage.evaluate(system, NAME)?;
            stage.evaluate_laws(system);
            let reactions = &mut step.reactions;
            let out = &mut self.free;
            accelerations(system, reactions, (problem, closed), (stage, out), h * B[l])?;
            if !closed.is_empty() || step.dims.ng > 0 {
                let stage = &self.stage;
                self.works.add_all(problem, stage, &stage.v, h * B[l]);
            }
            if !system.is_conservative() {
                self.stage.evaluate_power(system);
                self.works.external += h * B[l] * dot(&self.stage.power, &self.stage.v);
            }
            self.acceleration.row_mut(l).copy_from_slice(&self.free);
            let rate = self.rate.row_mut(l);
            rate.copy_from_slice(&self.stage.v);
            let place = (step.start.q.as_slice(), self.xi.as_slice());
            self.tangent.apply(system, NAME, place, rate)?;
        }
        combine(&self.rate, &B, h, &mut step.xi);
        combine(&self.acceleration, &B, h, &mut self.v);
        axpy(1.0, &step.start.v, &mut self.v);
        let mut difference = B;
        for (d, b) in difference.iter_mut().zip(&B4) {
            *d -= b;
        }
        combine(&self.rate, &difference, h, &mut self.error);
        Ok(())
    }
}

/// `v̇` at a placed stage with forces on constraints and on the contacts `closed`: `0 ≤ λ ⟂ g̈ ≥ 0`. Adds `weight` times the forces to
/// the impulses of the step, with the residuals of its laws; `M⁻¹ f` overwrites the force.
pub(super) fn accelerations(
    system: &dyn System,
    reactions: &mut StepReactions,
    (problem, closed): (&mut StepProblem, &[usize]),
    (stage, out): (&mut EvaluationPoint, &mut [f64]),
    weight: f64,
) -> Result<(), StepError> {
    stage.evaluate_force(system)?;
    stage.mass.solve(&mut stage.force);
    out.copy_from_slice(&stage.force);
    if system.dims().ng == 0 && closed.is_empty() {
        return Ok(());
    }
    stage.evaluate_bias(system);
    let stage = &*stage;
    problem.pose(
        system,
        reactions,
        (stage, stage),
        closed,
        Duration::Force,
        out,
        |row: Row| stage.bias(row),
    );
    problem.solve(system, reactions, stage, stage.t)?;
    problem.respond(out);
    if weight != 0.0 {
        reactions.add(problem, weight);
        reactions.include_force_residuals(problem, stage, (&stage.force, out), weight.abs());
    }
    Ok(())
}

/// Largest step \[s\] in which `mode` does not grow by more than [`GROWTH`].
pub(super) fn stable_step(mode: Mode) -> f64 {
    mode.runge_kutta_limit(GROWTH, STAGES, weights)
}

/// Weights of stage `l`, or of the end.
fn weights(l: usize) -> &'static [f64] {
    A.get(l).map_or(&B[..], |row| &row[..l])
}

#[cfg(test)]
mod tests {
    use super::{A, B, B4, C, STAGES, stable_step, weights};
    use crate::kit::Mode;

    #[test]
    fn the_tableau_has_its_order() {
        let moment = |b: &[f64; STAGES], k: i32| -> f64 {
            b.iter().zip(&C).map(|(b, c)| b * c.powi(k)).sum()
        };
        for k in 0..5 {
            let exact = 1.0 / f64::from(k + 1);
            assert!((moment(&B, k) - exact).abs() < 1e-15, "order 5, {k}");
            if k < 4 {
                assert!((moment(&B4, k) - exact).abs() < 1e-15, "order 4, {k}");
            }
        }
        for (row, c) in A.iter().zip(&C) {
            assert!((row.iter().sum::<f64>() - c).abs() < 1e-15);
        }
    }

    #[test]
    fn undamped_vibrations_grow_and_damped_ones_have_a_limit() {
        // |R(i)| and |R(2 i)| of the stability polynomial.
        let undamped = Mode {
            square: 1.0,
            damping: 0.0,
        };
        let amplification = |h: f64| undamped.amplification(h, STAGES, &weights);
        assert!((amplification(1.0) - 1.000_642_270_4).abs() < 1e-9);
        assert!((amplification(2.0) - 1.001_839_202_8).abs() < 1e-9);
        // On the real axis it ends at 3.677: two equal roots, a critically damped mode.
        let limit = stable_step(Mode {
            square: 1.0,
            damping: 2.0,
        });
        assert!((limit - 3.68).abs() < 0.02, "{limit}");
    }
}
