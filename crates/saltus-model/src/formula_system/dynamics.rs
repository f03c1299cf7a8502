//! Inertia, forces and energies: the expressions, their derivatives and their tapes.

use super::matrix::{Layout, Matrix, Symbolic, Vector, copy};
use super::rows::{send, velocity, weight};
use super::{FormulaSystem, at};
use crate::expression::{Gradients, Graph, Id, Inputs, Role, Tape};
use saltus_linear::MatrixSink;
use saltus_system::{Dynamics, DynamicsParts, ForceKind, MassKind, Point, Structure};

/// What the formulas of a model say about its smooth motion.
#[derive(Debug, Clone)]
pub(super) struct Motion {
    /// `M` (n × n).
    pub mass: Symbolic,
    /// `½ vᵀ M v`.
    pub kinetic: Id,
    /// `V`.
    pub potential: Id,
    /// `f` (n).
    pub force: Vec<Id>,
    /// The part of `f` that changes the energy (n).
    pub active: Vec<Id>,
    /// `R` and `∂²R/∂v_i²` (1 + n); empty where there is none.
    pub dissipation: Vec<Id>,
}

/// The energies and forces that make up a motion; zero where there are none.
pub(super) struct Parts {
    pub force: Vec<Id>,
    pub potential: Id,
    pub dissipation: Id,
}

impl Parts {
    /// Applied forces with friction, without those of the potential (n).
    fn applied(&self, graph: &mut Graph, gradients: &mut Gradients) -> Vec<Id> {
        let mut applied = self.force.clone();
        for &(role, derivative) in gradients.of(graph, self.dissipation).iter() {
            if let Role::Velocity(i) = role {
                applied[i as usize] = graph.sub(applied[i as usize], derivative);
            }
        }
        applied
    }

    /// `R` and `∂²R/∂v_i²` (1 + n); empty where there is none.
    fn dissipation(&self, graph: &mut Graph, gradients: &mut Gradients) -> Vec<Id> {
        if graph.is_zero(self.dissipation) {
            return Vec::new();
        }
        let mut outputs = vec![graph.zero(); 1 + self.force.len()];
        outputs[0] = self.dissipation;
        for &(role, derivative) in gradients.of(graph, self.dissipation).iter() {
            let Role::Velocity(i) = role else { continue };
            let second = gradients.of(graph, derivative);
            if let Some(entry) = second.iter().find(|entry| entry.0 == role) {
                outputs[1 + i as usize] = entry.1;
            }
        }
        outputs
    }

    /// Subtracts `∂V/∂q`.
    fn with_potential(
        &self,
        graph: &mut Graph,
        gradients: &mut Gradients,
        mut force: Vec<Id>,
    ) -> Vec<Id> {
        for &(role, derivative) in gradients.of(graph, self.potential).iter() {
            if let Role::Position(i) = role {
                force[i as usize] = graph.sub(force[i as usize], derivative);
            }
        }
        force
    }
}

impl Motion {
    /// `M v̇ = force − ∂V/∂q − ∂R/∂v`.
    pub(super) fn newton(
        graph: &mut Graph,
        gradients: &mut Gradients,
        mass: Symbolic,
        parts: &Parts,
    ) -> Self {
        let applied = parts.applied(graph, gradients);
        let mut active = applied.clone();
        let mut kinetic = graph.zero();
        for &(i, j, m) in mass.entries() {
            let (vi, vj) = (graph.variable(velocity(i)), graph.variable(velocity(j)));
            let momentum = graph.mul(m, vj);
            let energy = graph.mul(momentum, vi);
            kinetic = graph.add(kinetic, energy);
            // ½ Ṁ v
            let rate = along_velocities(graph, gradients, m);
            let term = graph.mul(rate, vj);
            let half = graph.times(0.5, term);
            active[i] = graph.add(active[i], half);
        }
        let kinetic = graph.times(0.5, kinetic);
        let force = parts.with_potential(graph, gradients, applied);
        let dissipation = parts.dissipation(graph, gradients);
        Self {
            mass,
            kinetic,
            potential: parts.potential,
            force,
            active,
            dissipation,
        }
    }

    /// Lagrange's equations, `d/dt ∂T/∂v − ∂T/∂q = force − ∂V/∂q − ∂R/∂v`.
    pub(super) fn lagrange(
        graph: &mut Graph,
        gradients: &mut Gradients,
        kinetic: Id,
        parts: &Parts,
    ) -> Self {
        let n = parts.force.len();
        let mut applied = parts.applied(graph, gradients);
        let mut force = applied.clone();
        let mut momenta = vec![graph.zero(); n];
        for &(role, derivative) in gradients.of(graph, kinetic).iter() {
            match role {
                Role::Position(i) => force[i as usize] = graph.add(force[i as usize], derivative),
                Role::Velocity(i) => momenta[i as usize] = derivative,
                Role::Time | Role::Weight(_) => {}
            }
        }
        let mut mass = Symbolic::new(n, n);
        for (i, &momentum) in momenta.iter().enumerate() {
            for &(role, derivative) in gradients.of(graph, momentum).iter() {
                match role {
                    // Both halves from one, so that the matrix is symmetric to the last bit.
                    Role::Velocity(j) => {
                        let j = j as usize;
                        let entry = if j < i {
                            mass.get(j, i).unwrap_or(derivative)
                        } else {
                            derivative
                        };
                        mass.push(graph, i, j, entry);
                    }
                    Role::Position(j) => {
                        let v = graph.variable(velocity(j as usize));
                        let term = graph.mul(derivative, v);
                        force[i] = graph.sub(force[i], term);
                    }
                    Role::Time => {
                        force[i] = graph.sub(force[i], derivative);
                        applied[i] = graph.sub(applied[i], derivative);
                    }
                    Role::Weight(_) => {}
                }
            }
        }
        let rest = graph.substitute(kinetic, |role| {
            matches!(role, Role::Velocity(_)).then_some(0.0)
        });
        for &(role, derivative) in gradients.of(graph, rest).iter() {
            if let Role::Position(i) = role {
                applied[i as usize] = graph.add(applied[i as usize], derivative);
            }
        }
        let quadratic = quadratic_part(graph, kinetic, rest, &momenta);
        let force = parts.with_potential(graph, gradients, force);
        let dissipation = parts.dissipation(graph, gradients);
        Self {
            mass,
            kinetic: quadratic,
            potential: parts.potential,
            force,
            active: applied,
            dissipation,
        }
    }
}

/// `½ vᵀ M v` of a kinetic energy that is quadratic in `v`: without what is linear in `v` or free of it.
fn quadratic_part(graph: &mut Graph, kinetic: Id, rest: Id, momenta: &[Id]) -> Id {
    let mut quadratic = graph.sub(kinetic, rest);
    for (i, &momentum) in momenta.iter().enumerate() {
        let at_rest = graph.substitute(momentum, |role| {
            matches!(role, Role::Velocity(_)).then_some(0.0)
        });
        let v = graph.variable(velocity(i));
        let linear = graph.mul(at_rest, v);
        quadratic = graph.sub(quadratic, linear);
    }
    quadratic
}

/// `Σ ∂a/∂q_k v_k`.
fn along_velocities(graph: &mut Graph, gradients: &mut Gradients, a: Id) -> Id {
    let mut sum = graph.zero();
    for &(role, derivative) in gradients.of(graph, a).iter() {
        if let Role::Position(k) = role {
            let v = graph.variable(velocity(k as usize));
            let term = graph.mul(derivative, v);
            sum = graph.add(sum, term);
        }
    }
    sum
}

/// Tapes of the smooth motion.
#[derive(Debug, Clone)]
pub(super) struct MotionTapes {
    mass: Matrix,
    force: Vector,
    stiffness: Matrix,
    damping: Matrix,
    /// `D(M x)`, weights `x` (n).
    mass_gradient: Matrix,
    kinetic: Vector,
    potential: Vector,
    /// `∂V/∂t`, where there is one.
    potential_rate: Option<Vector>,
    /// Nothing where the forces that have no potential do no work, as gyroscopic ones.
    active: Option<Vector>,
    /// `R` and `∂²R/∂v_i²` (1 + n), where there is one.
    dissipation: Option<Vector>,
    together: Together,
    together_with_tangents: Together,
    pub structure: Structure,
}

/// Everything that a Newton iteration wants, on one tape: the force first.
#[derive(Debug, Clone)]
struct Together {
    tape: Tape,
    mass: Layout,
    /// Mass gradient, stiffness and damping.
    tangents: Option<[Layout; 3]>,
}

impl Together {
    fn compile(graph: &mut Graph, motion: &Motion, tangents: Option<[&Symbolic; 3]>) -> Self {
        let mut outputs = motion.force.clone();
        let mass = motion.mass.lay_out(graph, &mut outputs);
        let tangents = tangents.map(|matrices| matrices.map(|m| m.lay_out(graph, &mut outputs)));
        Self {
            tape: Tape::compile(graph, &outputs),
            mass,
            tangents,
        }
    }
}

impl MotionTapes {
    pub(super) fn compile(graph: &mut Graph, gradients: &mut Gradients, motion: &Motion) -> Self {
        let n = motion.force.len();
        let (mut stiffness, mut damping) = (Symbolic::new(n, n), Symbolic::new(n, n));
        for (i, &force) in motion.force.iter().enumerate() {
            let opposite = graph.neg(force);
            send(
                graph,
                gradients,
                opposite,
                i,
                &mut stiffness,
                Some(&mut damping),
            );
        }
        let mut mass_gradient = Symbolic::new(n, n);
        for i in 0..n {
            let mut momentum = graph.zero();
            for &(_, j, m) in motion.mass.row(i) {
                let x = graph.variable(weight(j));
                let term = graph.mul(m, x);
                momentum = graph.add(momentum, term);
            }
            send(graph, gradients, momentum, i, &mut mass_gradient, None);
        }
        let constant = stiffness.is_constant(graph) && damping.is_constant(graph);
        let structure = Structure {
            mass: if motion.mass.is_constant(graph) {
                MassKind::Constant
            } else {
                MassKind::Varying
            },
            force: if constant {
                ForceKind::Affine
            } else {
                ForceKind::General
            },
            ..Structure::GENERAL
        };
        let tangents = Some([&mass_gradient, &stiffness, &damping]);
        let derivatives = gradients.of(graph, motion.potential);
        let by_time = derivatives.iter().find(|(role, _)| *role == Role::Time);
        let potential_rate = by_time.map(|(_, rate)| *rate);
        Self {
            mass: Matrix::compile(graph, &motion.mass),
            force: Vector::compile(graph, &motion.force),
            kinetic: Vector::compile(graph, &[motion.kinetic]),
            potential: Vector::compile(graph, &[motion.potential]),
            potential_rate: potential_rate.map(|rate| Vector::compile(graph, &[rate])),
            active: if motion.active.iter().all(|&f| f == graph.zero()) {
                None
            } else {
                working(Vector::compile(graph, &motion.active), n)
            },
            dissipation: (!motion.dissipation.is_empty())
                .then(|| Vector::compile(graph, &motion.dissipation)),
            together: Together::compile(graph, motion, None),
            together_with_tangents: Together::compile(graph, motion, tangents),
            stiffness: Matrix::compile(graph, &stiffness),
            damping: Matrix::compile(graph, &damping),
            mass_gradient: Matrix::compile(graph, &mass_gradient),
            structure,
        }
    }
}

/// The forces, unless their power vanishes identically: it is an analytic function of the state almost
/// everywhere, so that one which is round-off at scattered points is zero.
fn working(forces: Vector, n: usize) -> Option<Vector> {
    let number = |k: usize| (1.7 * k as f64 + 0.4).sin() + (0.9 * k as f64).cos();
    let mut force = vec![0.0; n];
    let mut seen = false;
    for probe in 0..12 {
        let value = |i: usize| 1.3 * number(probe * (2 * n + 1) + i);
        let q: Vec<f64> = (0..n).map(value).collect();
        let v: Vec<f64> = (n..2 * n).map(value).collect();
        let t = value(2 * n).abs();
        forces.write(
            Inputs {
                t,
                q: &q,
                v: &v,
                weights: &[],
            },
            &mut force,
        );
        let power: f64 = force.iter().zip(&v).map(|(f, v)| f * v).sum();
        let size: f64 = force.iter().zip(&v).map(|(f, v)| (f * v).abs()).sum();
        if !size.is_finite() || power.abs() > 1e-13 * size {
            return Some(forces);
        }
        seen |= size > 0.0;
    }
    // Forces that are zero wherever one looks may act where one does not.
    if seen { None } else { Some(forces) }
}

impl FormulaSystem {
    /// Rayleigh's function `R` \[W\] and its second derivatives `∂²R/∂v_i²` (n), where there is one.
    pub(crate) fn dissipation(&self, point: Point<'_>) -> Option<(f64, Vec<f64>)> {
        let tape = self.motion.dissipation.as_ref()?;
        tape.read(at(point), |values| {
            let (value, curvature) = values.split_first()?;
            Some((*value, curvature.to_vec()))
        })
    }
}

impl Dynamics for FormulaSystem {
    fn structure(&self) -> Structure {
        self.structure
    }

    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        self.motion.mass.send(
            Inputs {
                t: 0.0,
                q,
                v: &[],
                weights: &[],
            },
            mass,
        );
    }

    fn force(&self, point: Point<'_>, force: &mut [f64]) {
        self.motion.force.write(at(point), force);
    }

    fn stiffness(&self, point: Point<'_>, stiffness: &mut dyn MatrixSink) {
        self.motion.stiffness.send(at(point), stiffness);
    }

    fn damping(&self, point: Point<'_>, damping: &mut dyn MatrixSink) {
        self.motion.damping.send(at(point), damping);
    }

    fn mass_gradient(&self, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        self.motion.mass_gradient.send(
            Inputs {
                t: 0.0,
                q,
                v: &[],
                weights: x,
            },
            gradient,
        );
    }

    fn evaluate(&self, point: Point<'_>, parts: DynamicsParts<'_>) {
        let DynamicsParts {
            mass,
            force,
            tangents,
        } = parts;
        let together = if tangents.is_some() {
            &self.motion.together_with_tangents
        } else {
            &self.motion.together
        };
        let weights = tangents.as_ref().map_or(&[][..], |tangents| tangents.x);
        let inputs = Inputs {
            weights,
            ..at(point)
        };
        together.tape.run(inputs, |values| {
            let n = self.n.min(force.len());
            copy(&values[..n], force);
            together.mass.send(values, mass);
            if let (Some(tangents), Some([mass_gradient, stiffness, damping])) =
                (tangents, &together.tangents)
            {
                mass_gradient.send(values, tangents.mass_gradient);
                stiffness.send(values, tangents.stiffness);
                damping.send(values, tangents.damping);
            }
        });
    }

    fn kinetic_energy(&self, q: &[f64], v: &[f64]) -> f64 {
        let inputs = Inputs {
            t: 0.0,
            q,
            v,
            weights: &[],
        };
        self.motion.kinetic.read(inputs, |values| values[0])
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        let inputs = Inputs {
            t,
            q,
            v: &[],
            weights: &[],
        };
        self.motion.potential.read(inputs, |values| values[0])
    }

    fn potential_rate(&self, t: f64, q: &[f64]) -> Option<f64> {
        let rate = self.motion.potential_rate.as_ref()?;
        let inputs = Inputs {
            t,
            q,
            v: &[],
            weights: &[],
        };
        Some(rate.read(inputs, |values| values[0]))
    }

    /// Force without that of the potential and, where the kinetic energy is given, without gyroscopic
    /// terms.
    fn active_force(&self, point: Point<'_>, active: &mut [f64]) {
        match &self.motion.active {
            Some(vector) => vector.write(at(point), active),
            None => active.fill(0.0),
        }
    }

    fn is_conservative(&self) -> bool {
        self.motion.active.is_none()
    }

    fn force_is_constant(&self) -> bool {
        self.motion.force.is_constant()
    }
}
