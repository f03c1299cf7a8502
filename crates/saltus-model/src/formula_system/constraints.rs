//! Bilateral constraints.

use super::matrix::Vector;
use super::rows::{Row, Rows};
use super::{FormulaSystem, at, at_rest};
use crate::expression::{Gradients, Graph, Id, Inputs};
use saltus_linear::MatrixSink;
use saltus_system::{Constraints, Point};

/// Tapes of the bilateral constraints.
#[derive(Debug, Clone)]
pub(super) struct ConstraintTapes {
    g: Vector,
    pub rows: Rows,
}

impl ConstraintTapes {
    pub(super) fn compile(
        graph: &mut Graph,
        gradients: &mut Gradients,
        g: &[Id],
        rows: &[Row],
        n: usize,
    ) -> Self {
        Self {
            g: Vector::compile(graph, g),
            rows: Rows::compile(graph, gradients, rows, n),
        }
    }
}

impl Constraints for FormulaSystem {
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
