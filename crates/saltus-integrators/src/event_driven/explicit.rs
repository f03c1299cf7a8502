//! Pieces of a smooth arc by the explicit method of order 8 of Dormand and Prince.

use super::arc::{Arc, Polynomial};
use super::dop853::{A, C, D, E3, E5, EXTENDED, STAGES};
use crate::integrator::StepError;
use crate::kit::Mode;
use saltus_linear::{axpy, max_abs};
use saltus_system::System;

/// A vibration that grows no more than this in a step is stable: the error control sees to the rest.
const GROWTH: f64 = 1.001;

/// Length of a step \[s\] that a vibration allows.
pub(super) fn stable_step(mode: Mode) -> f64 {
    mode.runge_kutta_limit(GROWTH, STAGES, |l| A[l])
}

impl Arc {
    /// One step of the method; the error over its tolerance.
    pub(super) fn attempt_explicit(
        &mut self,
        system: &dyn System,
        h: f64,
    ) -> Result<f64, StepError> {
        let nv = self.nv;
        for l in 1..=STAGES {
            self.combine(l, h);
            if l == STAGES {
                self.end.copy_from_slice(&self.y);
            }
            self.set_rates(system, l, self.base.t + C[l] * h)?;
        }
        for (weights, out) in [&E5, &E3].into_iter().zip(&mut self.estimate) {
            out.fill(0.0);
            for (l, w) in weights.iter().enumerate() {
                if *w != 0.0 {
                    axpy(*w, &self.rates.row(l)[..2 * nv], out);
                }
            }
        }
        let (mut fifth, mut third) = (0.0, 0.0);
        for block in 0..2 {
            let size = self.size_of(block, h);
            for i in 0..nv {
                let j = block * nv + i;
                let scale = self.scale_of(block, i, j, size, h);
                if scale > 0.0 {
                    fifth += (self.estimate[0][j] / scale).powi(2);
                    third += (self.estimate[1][j] / scale).powi(2);
                }
            }
        }
        self.trial_defect = 0.0;
        if fifth == 0.0 {
            return Ok(if third.is_nan() { third } else { 0.0 });
        }
        let below = fifth + 0.01 * third;
        // The estimate of the velocities as a momentum, weighed like the error.
        self.trial.mass.apply(&self.estimate[0][nv..], &mut self.a);
        self.trial_defect = h * (fifth / below).sqrt() * max_abs(&self.a);
        Ok(h * fifth / (below * 2.0 * nv as f64).sqrt())
    }

    /// `y` of stage `l` in a step of length `h`.
    fn combine(&mut self, l: usize, h: f64) {
        let nv = self.nv;
        self.y.fill(0.0);
        for (k, w) in A[l].iter().enumerate() {
            if *w != 0.0 {
                axpy(h * w, self.rates.row(k), &mut self.y);
            }
        }
        axpy(1.0, &self.base.v, &mut self.y[nv..2 * nv]);
    }

    /// The stages that the dense output of an accepted step needs beyond those of the step.
    pub(super) fn extend_stages(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        for l in STAGES + 1..EXTENDED {
            self.combine(l, h);
            self.set_rates(system, l, self.base.t + C[l] * h)?;
        }
        Ok(())
    }

    /// The dense output of order 7 of an accepted step.
    pub(super) fn interpolate_explicit(&self, polynomial: &mut Polynomial, h: f64) {
        let (nv, end, rates) = (self.nv, &self.end, &self.rates);
        let (first, last) = (rates.row(0), rates.row(STAGES));
        for (i, p) in polynomial.iter_mut().enumerate() {
            let before = if (nv..2 * nv).contains(&i) {
                self.base.v[i - nv]
            } else {
                0.0
            };
            let change = end[i] - before;
            p[0] = change;
            p[1] = h * first[i] - change;
            p[2] = 2.0 * change - h * (first[i] + last[i]);
            for (p, weights) in p[3..].iter_mut().zip(&D) {
                for (l, w) in weights.iter().enumerate() {
                    if *w != 0.0 {
                        *p += h * w * rates[(l, i)];
                    }
                }
            }
        }
    }
}
