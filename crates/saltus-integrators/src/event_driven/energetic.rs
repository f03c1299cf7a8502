//! The energetic impact law: every contact stores and releases energy, `F = K δ^η`, and impulses travel through chains.
//!
//! Liu, Zhao and Brogliato write `dP_j/dP_i = (K_j/K_i)^{1/(η+1)} (E_j/E_i)^{η/(η+1)}` with `dE_j = −u_j dP_j` in loading and
//! `dE_j = −u_j dP_j/e_j²` in unloading. With `E = K δ^{η+1}/(η+1)` that is the motion of springs in a time without meaning:
//!
//! ```text
//! u̇ = D F ,   F_j = K_j δ_j^η ,   δ̇_j = −u_j (loading, u_j < 0) ,   δ̇_j = −u_j/e_j² (unloading)
//! ```
//!
//! integrated by the classical Runge–Kutta method until nothing is stored and nothing approaches.
//!
//! Reference: Liu, Zhao, Brogliato (2008), Proc. R. Soc. A 464, eqs. 3.4–3.20.

use super::Own;
use crate::integrator::StepError;
use crate::kit::{Duration, Row};
use saltus_linear::{Dense, axpy};
use saltus_system::System;

/// Steps in the time of a radian of the fastest contact.
const FINENESS: f64 = 300.0;
/// Most steps.
const LONGEST: u32 = 20_000_000;

/// The motion of the contacts of an impact.
struct Springs {
    compliance: Dense, // D (n × n)
    stiffness: Vec<f64>,
    restitution: Vec<f64>,
    exponent: f64,
}

impl Springs {
    fn force(&self, j: usize, delta: f64) -> f64 {
        if delta > 0.0 {
            self.stiffness[j] * delta.powf(self.exponent)
        } else {
            0.0
        }
    }

    /// Rates of velocities, compressions and impulses `x = (u, δ, P)`.
    fn rates(&self, x: &[f64], out: &mut [f64]) {
        let n = self.stiffness.len();
        for j in 0..n {
            let (u, delta) = (x[j], x[n + j]);
            let e = self.restitution[j];
            out[2 * n + j] = self.force(j, delta);
            out[n + j] = if u < 0.0 {
                -u
            } else if delta > 0.0 && e > 0.0 {
                -u / (e * e)
            } else {
                0.0
            };
        }
        for i in 0..n {
            let (rates, forces) = out.split_at_mut(2 * n);
            rates[i] = saltus_linear::dot(self.compliance.row(i), forces);
        }
    }

    /// Impulses of the contacts with the velocities `u`, which become those after the impact; `None` where it does not end.
    fn collide(&self, u: &mut [f64], slowest: f64) -> Option<Vec<f64>> {
        let n = u.len();
        let mut x = vec![0.0; 3 * n];
        x[..n].copy_from_slice(u);
        let mut stages = Dense::zeros(4, 3 * n);
        let mut y = x.clone();
        let h = self.step(u);
        for _ in 0..LONGEST {
            let ends = (0..n).all(|j| x[n + j] <= 0.0 && x[j] >= -slowest);
            if ends {
                u.copy_from_slice(&x[..n]);
                return Some(x.split_off(2 * n));
            }
            for (l, share) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
                y.copy_from_slice(&x);
                if l > 0 {
                    axpy(share * h, stages.row(l - 1), &mut y);
                }
                self.rates(&y, stages.row_mut(l));
            }
            for (l, weight) in [1.0, 2.0, 2.0, 1.0].into_iter().enumerate() {
                axpy(h * weight / 6.0, stages.row(l), &mut x);
            }
            for j in 0..n {
                let is_spent = x[n + j] < 0.0 || (self.restitution[j] == 0.0 && x[j] >= 0.0);
                if is_spent {
                    x[n + j] = 0.0;
                }
            }
        }
        None
    }

    /// Step of the motion: a small share of the period of the contact that is stiffest under all the energy there is.
    fn step(&self, u: &[f64]) -> f64 {
        let n = u.len();
        let d = |j: usize| self.compliance[(j, j)];
        let energy: f64 = (0..n).map(|j| 0.5 * u[j].min(0.0).powi(2) / d(j)).sum();
        let frequency = (0..n).map(|j| {
            let (k, eta) = (self.stiffness[j], self.exponent);
            let deepest = ((eta + 1.0) * energy / k).powf(1.0 / (eta + 1.0));
            (d(j) * k * eta * deepest.powf(eta - 1.0)).sqrt()
        });
        1.0 / (FINENESS * frequency.fold(0.0, f64::max))
    }
}

impl Own {
    /// The impact of the closed contacts by stored energy.
    pub(super) fn energetic(&mut self, system: &dyn System) -> Result<(), StepError> {
        let n = self.closed.len();
        let mut responses = Dense::zeros(n, self.work.len());
        for k in 0..n {
            let i = self.closed[k];
            let end = &self.step.end;
            let out = responses.row_mut(k);
            end.contacts
                .directions
                .axpy(end.contacts.first_row[i], 1.0, out);
            end.mass.solve(out);
        }
        if self.step.dims.ng > 0 {
            for k in 0..n {
                self.constrain(system, responses.row_mut(k))?;
            }
        }
        let end = &self.step.end;
        let mut compliance = Dense::zeros(n, n);
        let mut u = vec![0.0; n];
        for (a, &i) in self.closed.iter().enumerate() {
            let row = end.contacts.first_row[i];
            u[a] = end.contacts.normal_velocity(i, &end.v);
            for b in 0..n {
                compliance[(a, b)] = end.contacts.directions.dot(row, responses.row(b));
            }
        }
        let stiffness = |i: &usize| {
            let id = usize::try_from(end.contacts.id[*i].0).ok();
            id.and_then(|id| self.options.stiffness.get(id).copied())
                .unwrap_or(1.0)
        };
        let springs = Springs {
            compliance,
            stiffness: self.closed.iter().map(stiffness).collect(),
            restitution: (self.closed.iter())
                .map(|&i| {
                    if self.impact.is_guarded(i) {
                        0.0
                    } else {
                        end.contacts.law[i].e_n
                    }
                })
                .collect(),
            exponent: self.options.exponent,
        };
        let Some(impulses) = springs.collide(&mut u, self.scales.velocity()) else {
            return Err(StepError::ImpactSequence {
                contact: self
                    .closed
                    .first()
                    .map_or_else(String::new, |&i| system.names().contact(end.contacts.id[i])),
                count: LONGEST,
                t: end.t,
            });
        };
        let (reactions, end) = (&mut self.step.reactions, &mut self.step.end);
        self.work.fill(0.0);
        for (&i, p) in self.closed.iter().zip(&impulses) {
            let row = end.contacts.first_row[i];
            reactions.normal[i] += p;
            reactions.row[row] += p;
            end.contacts.directions.axpy(row, *p, &mut self.work);
        }
        end.mass.solve(&mut self.work);
        axpy(1.0, &self.work, &mut end.v);
        // Impulses of the bilateral constraints, which the responses contain.
        self.velocity_problem(system, &[], |_, _, _| 0.0)
    }

    /// Takes out of a velocity what the bilateral constraints do not let pass.
    fn constrain(&mut self, system: &dyn System, v: &mut [f64]) -> Result<(), StepError> {
        let end = &self.step.end;
        let stages = (end, end);
        let instant = Duration::Instant;
        let still = |_: Row| 0.0;
        let problem = &mut self.problem;
        problem.pose(system, &self.step.reactions, stages, &[], instant, v, still);
        problem.solve(system, &mut self.step.reactions, end, end.t)?;
        problem.respond(v);
        Ok(())
    }
}
