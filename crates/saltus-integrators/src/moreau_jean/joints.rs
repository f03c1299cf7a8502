//! Dry friction in joints and on coordinates: rows between the bilateral constraints and the contacts of the step.
//!
//! ```text
//! s = T v_{k+1} + rate ,   |R| ≤ h F  or  |R| ≤ μ |P| ,   R = −bound · s/|s| where it slips
//! ```
//!
//! with `T` where the forces are evaluated, a fixed bound `F`, or the impulses `P` of the bilateral constraints that carry the joint.

use super::{MoreauJean, NAME};
use crate::certificate::{Certificate, Entry};
use crate::integrator::{ContactState, StepError};
use saltus_complementarity::{Block, BlockState};
use saltus_linear::{RowCollector, Shifted};
use saltus_system::{FrictionBound, JointFriction, Point, System, friction_rows};

/// The friction in joints and its rows.
#[derive(Debug, Default)]
pub(super) struct Joints {
    elements: Vec<JointFriction>,
    pub(super) first_row: Vec<usize>,    // of each element
    pub(super) jacobian: RowCollector,   // T (rows × nv)
    pub(super) gradient: RowCollector,   // T + turn D(T v + rate)
    rate: Vec<f64>,                      // (rows)
    pub(super) slip: Vec<f64>, // T v + rate where the law holds; at the end of a step, there (rows)
    pub(super) impulse: Vec<f64>, // R (rows)
    coefficient: Vec<f64>,     // F or μ (elements)
    pub(super) state: Vec<ContactState>, // (elements)
    length: f64,               // of the step [s]
}

impl Joints {
    /// States of the elements, from the solution of the problem.
    pub(super) fn take_states(&mut self, state: impl Fn(usize) -> BlockState) {
        for (k, own) in self.state.iter_mut().enumerate() {
            *own = match state(k) {
                BlockState::Slip => ContactState::Slip,
                _ => ContactState::Stick,
            };
        }
    }

    /// Sizes the buffers for `system`.
    pub(super) fn of(system: &dyn System) -> Self {
        let elements = system.joint_friction().to_vec();
        let rows = friction_rows(&elements);
        let first_row = elements.iter().scan(0, |next, element| {
            let first = *next;
            *next += usize::from(element.tangents);
            Some(first)
        });
        Self {
            first_row: first_row.collect(),
            rate: vec![0.0; rows],
            slip: vec![0.0; rows],
            impulse: vec![0.0; rows],
            coefficient: vec![0.0; elements.len()],
            state: vec![ContactState::Open; elements.len()],
            elements,
            ..Self::default()
        }
    }

    /// Number of slip rows.
    pub(super) fn rows(&self) -> usize {
        self.slip.len()
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    /// The rows of element `k`.
    pub(super) fn range(&self, k: usize) -> std::ops::Range<usize> {
        let first = self.first_row[k];
        first..first + usize::from(self.elements[k].tangents)
    }

    /// `T`, its rate and `T v + rate` at `(t, q)`.
    fn place(&mut self, system: &dyn System, (t, q, v): (f64, &[f64], &[f64])) {
        self.jacobian.clear();
        system.friction_jacobian(t, q, &mut self.jacobian);
        let rows = self.jacobian.finish(self.slip.len());
        system.friction_rate(t, q, &mut self.rate);
        for (i, (slip, rate)) in self.slip.iter_mut().zip(&self.rate).enumerate() {
            *slip = rows.dot(i, v) + rate;
        }
    }

    /// Largest impulse of element `k`, given those of the bilateral constraints.
    fn bound(&self, k: usize, bilateral: &[f64]) -> f64 {
        match self.elements[k].bound {
            FrictionBound::Force => self.length * self.coefficient[k],
            FrictionBound::Reaction { first, count } => {
                let carrying = bilateral.get(first..first + count).unwrap_or_default();
                let norm = carrying.iter().fold(0.0_f64, |sum, p| sum.hypot(*p));
                self.coefficient[k] * norm
            }
        }
    }

    /// The law of element `k` in this step.
    pub(super) fn block(&self, k: usize) -> Block {
        let JointFriction { tangents, bound } = self.elements[k];
        match bound {
            FrictionBound::Force => {
                let most = self.length * self.coefficient[k];
                Block::Box {
                    lo: -most,
                    hi: most,
                }
            }
            FrictionBound::Reaction { first, count } => Block::JointCoulomb {
                mu: self.coefficient[k],
                tangents,
                first_normal: first,
                normals: count,
            },
        }
    }
}

impl MoreauJean {
    /// Prepares the friction in joints of `system`.
    pub(super) fn allocate_joints(&mut self, system: &dyn System) -> Result<(), StepError> {
        self.joints = Joints::of(system);
        let two = |e: &JointFriction| e.bound == FrictionBound::Force && e.tangents != 1;
        match self.joints.elements.iter().position(two) {
            None => Ok(()),
            Some(k) => Err(StepError::JointFrictionUnsupported {
                joint: system.names().friction_element(k),
                scheme: NAME,
                cure: "a fixed bound takes one slip row",
            }),
        }
    }

    /// Evaluates the slip rows at the trial state and subtracts their impulses from the balance of momentum.
    pub(super) fn evaluate_joints(&mut self, system: &dyn System, t: f64, h: f64) {
        let joints = &mut self.joints;
        if joints.rows() == 0 {
            return;
        }
        joints.length = h;
        let trial = &self.trial;
        joints.place(system, (t, &trial.q_eval, &trial.v));
        let at = Point {
            t,
            q: &trial.q_eval,
            v: &trial.v_eval,
        };
        system.friction_coefficient(at, &mut joints.coefficient);
        let rows = joints.jacobian.rows();
        for (i, impulse) in joints.impulse.iter().enumerate() {
            rows.axpy(i, -impulse, &mut self.smooth.balance);
        }
    }

    /// A bound that is negative or no number ends the run.
    pub(super) fn check_joints(&self, system: &dyn System, t: f64) -> Result<(), StepError> {
        let bad = |c: &f64| !(*c >= 0.0 && c.is_finite());
        match self.joints.coefficient.iter().position(bad) {
            None => Ok(()),
            Some(k) => Err(StepError::JointFriction {
                joint: system.names().friction_element(k),
                value: self.joints.coefficient[k],
                t,
            }),
        }
    }

    /// `T + turn D(T v + rate)`.
    pub(super) fn differentiate_joints(&mut self, system: &dyn System, t: f64, turn: f64) {
        let (joints, trial) = (&mut self.joints, &self.trial);
        joints.gradient.clear();
        system.friction_jacobian(t, &trial.q_eval, &mut joints.gradient);
        let mut sink = Shifted {
            sink: &mut joints.gradient,
            factor: turn,
            row: 0,
            col: 0,
        };
        system.friction_jacobian_gradient(t, &trial.q_eval, &trial.v, &mut sink);
        joints.gradient.finish(joints.slip.len());
    }

    /// Residual of the law of element `k` in velocity units: the distance of `d R` from its projection of `d R − s` on the disc of
    /// radius `d · bound`.
    pub(super) fn joint_residual(&self, k: usize) -> f64 {
        let joints = &self.joints;
        let ng = self.dims.ng;
        let range = joints.range(k);
        let bound = joints.bound(k, &self.bilateral.impulse);
        if joints.impulse[range.clone()].iter().all(|r| *r == 0.0) {
            // A zero impulse means no friction where the bound is zero, and sticking elsewhere.
            let slip = range.fold(0.0_f64, |slip, row| slip.hypot(joints.slip[row]));
            return if bound == 0.0 { 0.0 } else { slip };
        }
        let d = range
            .clone()
            .fold(0.0_f64, |d, row| d.max(self.one_step.compliance(ng + row)));
        let radius = d * bound;
        let size = range.clone().fold(0.0_f64, |size, row| {
            size.hypot(d * joints.impulse[row] - joints.slip[row])
        });
        let factor = if size > radius { radius / size } else { 1.0 };
        range.fold(0.0, |miss, row| {
            let z = d * joints.impulse[row];
            miss.hypot(z - factor * (z - joints.slip[row]))
        })
    }

    /// Cone, stick and dissipation of the friction in joints, where the law holds.
    pub(super) fn certify_joints(&self, certificate: &mut Certificate) {
        let joints = &self.joints;
        let entry = |entry: Entry| {
            let known = certificate.get(entry);
            if known.is_nan() { 0.0 } else { known }
        };
        let mut cone = entry(Entry::Cone);
        let mut stick = entry(Entry::StickVelocity);
        let mut work = entry(Entry::FrictionWork);
        for k in 0..joints.len() {
            let (mut force, mut slip, mut power) = (0.0_f64, 0.0_f64, 0.0);
            for row in joints.range(k) {
                force = force.hypot(joints.impulse[row]);
                slip = slip.hypot(joints.slip[row]);
                power += joints.slip[row] * joints.impulse[row];
            }
            cone = cone.max(force - joints.bound(k, &self.bilateral.impulse));
            work = work.max(power);
            if joints.state[k] == ContactState::Stick {
                stick = stick.max(slip);
            }
        }
        certificate.set(Entry::Cone, cone);
        certificate.set(Entry::StickVelocity, stick);
        certificate.set(Entry::FrictionWork, work);
    }

    /// Slip at the end of the step.
    pub(super) fn joints_at_end(&mut self, system: &dyn System, at: Point<'_>) {
        if self.joints.rows() > 0 {
            self.joints.place(system, (at.t, at.q, at.v));
        }
    }
}
