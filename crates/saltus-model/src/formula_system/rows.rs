//! Rows `u = w(t, q)·v + ρ(t, q)` of constraints and contacts, and all derivatives of them.

use super::matrix::{Matrix, Symbolic, Vector};
use crate::expression::{Gradients, Graph, Id, Role};

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Entries of `w` that are not zero, by coordinate.
    pub direction: Vec<(usize, Id)>,
    /// `ρ`.
    pub rate: Id,
}

impl Row {
    /// The rate of a function of time and positions.
    pub(super) fn of_displacement(
        graph: &mut Graph,
        gradients: &mut Gradients,
        displacement: Id,
    ) -> Self {
        let mut row = Self {
            direction: Vec::new(),
            rate: graph.zero(),
        };
        for &(role, derivative) in gradients.of(graph, displacement).iter() {
            match role {
                Role::Time => row.rate = derivative,
                Role::Position(i) => row.direction.push((i as usize, derivative)),
                Role::Velocity(_) | Role::Weight(_) => {}
            }
        }
        row
    }

    /// A velocity that is linear in velocities; the direction is wrong if it is not.
    pub(super) fn of_velocity(graph: &mut Graph, gradients: &mut Gradients, velocity: Id) -> Self {
        let gradient = gradients.of(graph, velocity);
        let direction = gradient
            .iter()
            .filter_map(|&(role, derivative)| match role {
                Role::Velocity(i) => Some((i as usize, derivative)),
                _ => None,
            });
        let direction = direction.collect();
        let rate = graph.substitute(velocity, |role| {
            matches!(role, Role::Velocity(_)).then_some(0.0)
        });
        Self { direction, rate }
    }

    /// Whether direction and rate depend on time at most.
    fn is_linear(&self, graph: &Graph) -> bool {
        let parts = self.direction.iter().map(|d| d.1).chain([self.rate]);
        parts.into_iter().all(|id| !graph.dependence(id).positions)
    }

    /// Whether direction and rate are constant.
    pub(super) fn is_constant(&self, graph: &Graph) -> bool {
        let parts = self.direction.iter().map(|d| d.1).chain([self.rate]);
        parts.into_iter().all(|id| graph.value(id).is_some())
    }

    /// `u` as an expression.
    fn velocity(&self, graph: &mut Graph) -> Id {
        let mut sum = graph.zero();
        for &(i, w) in &self.direction {
            let v = graph.variable(velocity(i));
            let term = graph.mul(w, v);
            sum = graph.add(sum, term);
        }
        graph.add(sum, self.rate)
    }
}

#[allow(clippy::cast_possible_truncation)]
pub(super) fn velocity(i: usize) -> Role {
    Role::Velocity(i as u32)
}

#[allow(clippy::cast_possible_truncation)]
pub(super) fn weight(i: usize) -> Role {
    Role::Weight(i as u32)
}

/// Tapes for the rows and their derivatives, n columns each.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// `w` (rows × n).
    pub jacobian: Matrix,
    /// `ρ` (rows).
    pub rate: Vector,
    /// `ζ = u̇ − w·v̇` (rows).
    pub bias: Vector,
    /// `D(wᵀ r)` (n × n), weights `r` (rows).
    pub curvature: Matrix,
    /// `D(w x)` (rows × n), weights `x` (n).
    pub direction_gradient: Matrix,
    /// `D(ρ)` (rows × n).
    pub rate_gradient: Matrix,
    /// `D(ζ)` (rows × n).
    pub bias_gradient: Matrix,
    /// `∂ζ/∂v` (rows × n).
    pub bias_damping: Matrix,
    /// Whether all directions and rates depend on time at most.
    pub linear: bool,
}

impl Rows {
    pub(super) fn compile(
        graph: &mut Graph,
        gradients: &mut Gradients,
        rows: &[Row],
        n: usize,
    ) -> Self {
        let mut jacobian = Symbolic::new(rows.len(), n);
        let mut direction_gradient = jacobian.clone();
        let (mut rate_gradient, mut bias_gradient, mut bias_damping) =
            (jacobian.clone(), jacobian.clone(), jacobian.clone());
        let mut biases = Vec::with_capacity(rows.len());
        for (k, row) in rows.iter().enumerate() {
            for &(i, w) in &row.direction {
                jacobian.push(graph, k, i, w);
            }
            let bias = bias(graph, gradients, row);
            biases.push(bias);
            let along = along_weights(graph, row);
            send(graph, gradients, along, k, &mut direction_gradient, None);
            send(graph, gradients, row.rate, k, &mut rate_gradient, None);
            send(
                graph,
                gradients,
                bias,
                k,
                &mut bias_gradient,
                Some(&mut bias_damping),
            );
        }
        let rates: Vec<Id> = rows.iter().map(|row| row.rate).collect();
        let curvature = curvature(graph, gradients, rows, n);
        Self {
            jacobian: Matrix::compile(graph, &jacobian),
            rate: Vector::compile(graph, &rates),
            bias: Vector::compile(graph, &biases),
            curvature: Matrix::compile(graph, &curvature),
            direction_gradient: Matrix::compile(graph, &direction_gradient),
            rate_gradient: Matrix::compile(graph, &rate_gradient),
            bias_gradient: Matrix::compile(graph, &bias_gradient),
            bias_damping: Matrix::compile(graph, &bias_damping),
            linear: rows.iter().all(|row| row.is_linear(graph)),
        }
    }
}

/// Puts the derivatives of `id` by positions, and by velocities where wanted, into row `k`.
pub(super) fn send(
    graph: &mut Graph,
    gradients: &mut Gradients,
    id: Id,
    k: usize,
    by_positions: &mut Symbolic,
    mut by_velocities: Option<&mut Symbolic>,
) {
    for &(role, derivative) in gradients.of(graph, id).iter() {
        match (role, &mut by_velocities) {
            (Role::Position(j), _) => by_positions.push(graph, k, j as usize, derivative),
            (Role::Velocity(j), Some(matrix)) => matrix.push(graph, k, j as usize, derivative),
            _ => {}
        }
    }
}

/// `ζ = ∂u/∂q v + ∂u/∂t`.
fn bias(graph: &mut Graph, gradients: &mut Gradients, row: &Row) -> Id {
    let u = row.velocity(graph);
    let mut sum = graph.zero();
    for &(role, derivative) in gradients.of(graph, u).iter() {
        let term = match role {
            Role::Time => derivative,
            Role::Position(j) => {
                let v = graph.variable(velocity(j as usize));
                graph.mul(derivative, v)
            }
            Role::Velocity(_) | Role::Weight(_) => continue,
        };
        sum = graph.add(sum, term);
    }
    sum
}

/// `w·x` for weights `x`.
fn along_weights(graph: &mut Graph, row: &Row) -> Id {
    let mut sum = graph.zero();
    for &(i, w) in &row.direction {
        let x = graph.variable(weight(i));
        let term = graph.mul(w, x);
        sum = graph.add(sum, term);
    }
    sum
}

/// `D(Σ r_k w_k)`.
fn curvature(graph: &mut Graph, gradients: &mut Gradients, rows: &[Row], n: usize) -> Symbolic {
    let mut sums = vec![graph.zero(); n];
    for (k, row) in rows.iter().enumerate() {
        let r = graph.variable(weight(k));
        for &(i, w) in &row.direction {
            let term = graph.mul(r, w);
            sums[i] = graph.add(sums[i], term);
        }
    }
    let mut curvature = Symbolic::new(n, n);
    for (i, &sum) in sums.iter().enumerate() {
        send(graph, gradients, sum, i, &mut curvature, None);
    }
    curvature
}
