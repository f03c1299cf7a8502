//! Bilateral constraints and dry friction in joints.

use super::build::{Bilateral, Friction};
use super::matrix::Vector;
use super::rows::Rows;
use super::{FormulaSystem, at, at_rest};
use crate::expression::{Gradients, Graph, Inputs};
use saltus_linear::MatrixSink;
use saltus_system::{ConstraintKind, Constraints, JointFriction, Point};

/// Tapes of the bilateral constraints.
#[derive(Debug, Clone)]
pub(super) struct ConstraintTapes {
    kinds: Vec<ConstraintKind>,
    g: Vector,
    pub rows: Rows,
}

impl ConstraintTapes {
    pub(super) fn compile(
        graph: &mut Graph,
        gradients: &mut Gradients,
        bilateral: &Bilateral,
        n: usize,
    ) -> Self {
        Self {
            kinds: bilateral.kinds.clone(),
            g: Vector::compile(graph, &bilateral.g),
            rows: Rows::compile(graph, gradients, &bilateral.rows, n),
        }
    }
}

/// Tapes of the friction in joints.
#[derive(Debug, Clone)]
pub(super) struct FrictionTapes {
    elements: Vec<JointFriction>,
    coefficients: Vector,
    pub rows: Rows,
}

impl FrictionTapes {
    pub(super) fn compile(
        graph: &mut Graph,
        gradients: &mut Gradients,
        friction: &Friction,
        n: usize,
    ) -> Self {
        Self {
            elements: friction.elements.clone(),
            coefficients: Vector::compile(graph, &friction.coefficients),
            rows: Rows::compile(graph, gradients, &friction.rows, n),
        }
    }
}

impl Constraints for FormulaSystem {
    fn constraint_kind(&self, i: usize) -> ConstraintKind {
        self.constraints.kinds.get(i).copied().unwrap_or_default()
    }

    fn joint_friction(&self) -> &[JointFriction] {
        &self.friction.elements
    }

    fn friction_jacobian(&self, t: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        self.friction.rows.jacobian.send(at_rest(t, q), jacobian);
    }

    fn friction_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        self.friction.rows.rate.write(at_rest(t, q), rate);
    }

    fn friction_coefficient(&self, point: Point<'_>, coefficient: &mut [f64]) {
        self.friction.coefficients.write(at(point), coefficient);
    }

    fn friction_curvature(&self, t: f64, q: &[f64], r: &[f64], curvature: &mut dyn MatrixSink) {
        let inputs = Inputs {
            weights: r,
            ..at_rest(t, q)
        };
        self.friction.rows.curvature.send(inputs, curvature);
    }

    fn friction_jacobian_gradient(
        &self,
        t: f64,
        q: &[f64],
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let rows = &self.friction.rows;
        let inputs = Inputs {
            weights: x,
            ..at_rest(t, q)
        };
        rows.direction_gradient.send(inputs, gradient);
        rows.rate_gradient.send(at_rest(t, q), gradient);
    }

    fn g(&self, t: f64, q: &[f64], g: &mut [f64]) {
        self.constraints.g.write(at_rest(t, q), g);
    }

    fn g_jacobian(&self, t: f64, q: &[f64], jacobian: &mut dyn MatrixSink) {
        self.constraints.rows.jacobian.send(at_rest(t, q), jacobian);
    }

    fn g_rate(&self, t: f64, q: &[f64], rate: &mut [f64]) {
        self.constraints.rows.rate.write(at_rest(t, q), rate);
    }

    fn g_bias(&self, point: Point<'_>, bias: &mut [f64]) {
        self.constraints.rows.bias.write(at(point), bias);
    }

    fn g_curvature(&self, t: f64, q: &[f64], lambda: &[f64], curvature: &mut dyn MatrixSink) {
        self.constraints.rows.curvature.send(
            Inputs {
                weights: lambda,
                ..at_rest(t, q)
            },
            curvature,
        );
    }

    fn g_jacobian_gradient(&self, t: f64, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        self.constraints.rows.direction_gradient.send(
            Inputs {
                weights: x,
                ..at_rest(t, q)
            },
            gradient,
        );
    }

    fn g_rate_gradient(&self, t: f64, q: &[f64], gradient: &mut dyn MatrixSink) {
        self.constraints
            .rows
            .rate_gradient
            .send(at_rest(t, q), gradient);
    }

    fn g_bias_gradient(&self, point: Point<'_>, gradient: &mut dyn MatrixSink) {
        self.constraints
            .rows
            .bias_gradient
            .send(at(point), gradient);
    }

    fn g_bias_damping(&self, point: Point<'_>, gradient: &mut dyn MatrixSink) {
        self.constraints.rows.bias_damping.send(at(point), gradient);
    }
}
