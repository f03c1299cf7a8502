//! Newton's equations of the stages of an implicit method, by the structure of the model.
//!
//! ```text
//! J δ = M r + p + Fᵀ μ ,   J_lj = δ_lj M + a_lj C + (a²)_lj K
//! W δ = W r   (closed contacts and constraints),   W δ + s μ = c   (directions of slip)
//! ```
//!
//! for the corrections `δ` of the velocities of all stages, with a row of `W` and a direction of force in `F` for every unknown `μ`.

use super::row_system::RowSystem;
use crate::one_step::OneStep;
use saltus_linear::{RowCollector, Shifted, SparseRows, SquareMatrix};
use saltus_system::MatrixSink;

/// `M`, `K` and `C` of a piece.
#[derive(Debug)]
pub(super) struct Tangents {
    pub(super) mass: SquareMatrix,
    pub(super) stiffness: SquareMatrix,
    pub(super) damping: SquareMatrix,
}

impl Tangents {
    pub(super) fn new(nv: usize) -> Self {
        Self {
            mass: SquareMatrix::new(nv),
            stiffness: SquareMatrix::new(nv),
            damping: SquareMatrix::new(nv),
        }
    }
}

/// The equations, factorised.
#[derive(Debug)]
pub(super) struct StageEquations {
    nv: usize,
    stages: usize,
    matrix: SquareMatrix, // J (stages nv)²
    forces: RowCollector, // F (rows × stages nv)
    laws: RowCollector,   // W (rows × stages nv)
    own: Vec<f64>,        // s (rows)
    constant: Vec<f64>,   // c (rows)
    /// Rows of contacts and constraints; others follow.
    closed: usize,
    one_step: OneStep,
    rows: RowSystem,
    rhs: Vec<f64>,
    pub(super) mu: Vec<f64>, // μ (rows)
}

impl StageEquations {
    pub(super) fn new(nv: usize, stages: usize) -> Self {
        Self {
            nv,
            stages,
            matrix: SquareMatrix::new(stages * nv),
            forces: RowCollector::default(),
            laws: RowCollector::default(),
            own: Vec::new(),
            constant: Vec::new(),
            closed: 0,
            one_step: OneStep::default(),
            rows: RowSystem::default(),
            rhs: Vec::new(),
            mu: Vec::new(),
        }
    }

    /// Factorises `J` with these coefficients; whether it is regular.
    pub(super) fn factorise(
        &mut self,
        of: &Tangents,
        a: impl Fn(usize, usize) -> f64,
        square: impl Fn(usize, usize) -> f64,
    ) -> bool {
        self.matrix.clear();
        for l in 0..self.stages {
            for j in 0..self.stages {
                let mut block = Shifted {
                    sink: &mut self.matrix,
                    factor: 1.0,
                    row: l * self.nv,
                    col: j * self.nv,
                };
                if l == j {
                    of.mass.send(1.0, &mut block);
                }
                of.damping.send(a(l, j), &mut block);
                of.stiffness.send(square(l, j), &mut block);
            }
        }
        self.matrix.factorise().is_ok()
    }

    /// Rows that every stage has: of closed contacts and constraints.
    pub(super) fn begin_rows(&mut self, forces: &SparseRows, laws: &SparseRows) {
        self.forces.clear();
        self.laws.clear();
        self.own.clear();
        self.constant.clear();
        for l in 0..self.stages {
            for k in 0..laws.len() {
                let row = self.own.len();
                for (from, into) in [(forces, &mut self.forces), (laws, &mut self.laws)] {
                    let mut block = Shifted {
                        sink: into,
                        factor: 1.0,
                        row: 0,
                        col: l * self.nv,
                    };
                    from.send(k, row, 1.0, &mut block);
                }
                self.own.push(0.0);
                self.constant.push(0.0);
            }
        }
        self.closed = self.own.len();
    }

    /// A further row of stage `l`: its law and own coefficient, and the force of its unknown, which acts in every stage.
    pub(super) fn push_row(
        &mut self,
        l: usize,
        (law, own, constant): (&[f64], f64, f64),
        force: &[f64],
        share: impl Fn(usize) -> f64,
    ) {
        let row = self.own.len();
        for (i, x) in law.iter().enumerate() {
            if *x != 0.0 {
                self.laws.entry(row, l * self.nv + i, *x);
            }
        }
        for stage in 0..self.stages {
            for (i, f) in force.iter().enumerate() {
                if *f != 0.0 {
                    self.forces
                        .entry(row, stage * self.nv + i, share(stage) * f);
                }
            }
        }
        self.own.push(own);
        self.constant.push(constant);
    }

    /// Condenses the rows.
    pub(super) fn finish_rows(&mut self) {
        let m = self.own.len();
        let n = self.stages * self.nv;
        let forces = self.forces.finish(m);
        let laws = self.laws.finish(m);
        self.one_step
            .condense(m, n, &self.matrix, &|i| (forces, i), &|i| (laws, i));
        let delassus = self.one_step.delassus();
        let entry = |a: usize, b: usize| {
            let own = if a == b { self.own[a] } else { 0.0 };
            delassus[(a, b)] + own
        };
        self.rows.factorise(m, |a| entry(a, a), entry);
    }

    /// `x = r ← δ` with the load `p`, which is lost.
    pub(super) fn solve(&mut self, of: &Tangents, x: &mut [f64], load: &mut [f64]) {
        let m = self.own.len();
        for (x, load) in x.chunks_exact(self.nv).zip(load.chunks_exact_mut(self.nv)) {
            of.mass.apply_add(1.0, x, load);
        }
        self.matrix.solve(load);
        let laws = self.laws.rows();
        self.rhs.clear();
        self.rhs.extend((0..m).map(|k| {
            let given = if k < self.closed {
                laws.dot(k, x)
            } else {
                self.constant[k]
            };
            given - laws.dot(k, load)
        }));
        self.rows.solve(&mut self.rhs, &mut self.mu);
        x.copy_from_slice(load);
        self.one_step.add_response(0..m, &self.mu, x);
    }
}
