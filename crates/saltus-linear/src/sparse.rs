//! Sparse LU of a square matrix whose pattern is found once and whose values are refilled.
//!
//! The factorisation is `faer`'s; no other file knows of it. As long as entries arrive in the same
//! order as in the previous filling, their places are remembered and refilling costs one pass.

use crate::LinearError;
use crate::sink::MatrixSink;
use crate::vector::max_abs;
use faer::MatMut;
use faer::linalg::solvers::SolveCore;
use faer::prelude::Reborrow;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};

/// A sparse square matrix in compressed columns, with its factorisation.
#[derive(Debug, Clone)]
pub(crate) struct SparseLu {
    n: usize,
    /// Row and column of each entry in order of arrival, duplicates included.
    arrival: Vec<(usize, usize)>,
    /// Values in order of arrival.
    incoming: Vec<f64>,
    /// Whether `arrival` differs from what `pattern` was made of.
    stale: bool,
    pattern: Pattern,
    symbolic: Option<SymbolicLu<usize>>,
    factors: Option<Lu<usize, f64>>,
}

/// Compressed columns.
#[derive(Debug, Clone, Default)]
struct Pattern {
    col_start: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    /// Place in `values` of each entry in order of arrival.
    slot: Vec<usize>,
}

impl SparseLu {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            arrival: Vec::new(),
            incoming: Vec::new(),
            stale: true,
            pattern: Pattern {
                col_start: vec![0; n + 1],
                ..Pattern::default()
            },
            symbolic: None,
            factors: None,
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.n
    }

    pub(crate) fn clear(&mut self) {
        self.incoming.clear();
    }

    pub(crate) fn factorise(&mut self) -> Result<(), LinearError> {
        self.gather();
        if self.pattern.values.iter().any(|v| !v.is_finite()) {
            return Err(LinearError::NotFinite { size: self.n });
        }
        let singular = LinearError::Singular {
            size: self.n,
            pivot: 0,
            value: 0.0,
        };
        let (n, p) = (self.n, &self.pattern);
        let shape = SymbolicSparseColMatRef::new_checked(n, n, &p.col_start, None, &p.rows);
        if self.symbolic.is_none() {
            self.symbolic = Some(SymbolicLu::try_new(shape).map_err(|_| singular)?);
        }
        let Some(symbolic) = &self.symbolic else {
            return Err(singular);
        };
        let matrix = SparseColMatRef::new(shape, &p.values);
        self.factors =
            Some(Lu::try_new_with_symbolic(symbolic.clone(), matrix.rb()).map_err(|_| singular)?);
        self.probe()
    }

    pub(crate) fn solve(&self, x: &mut [f64]) {
        if let Some(factors) = &self.factors {
            let n = x.len();
            factors.solve_in_place_with_conj(
                faer::Conj::No,
                MatMut::from_column_major_slice_mut(x, n, 1),
            );
        }
    }

    pub(crate) fn apply_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        for (i, j, value) in self.entries() {
            y[i] += alpha * value * x[j];
        }
    }

    pub(crate) fn form(&self, x: &[f64], y: &[f64]) -> f64 {
        self.entries()
            .map(|(i, j, value)| x[i] * value * y[j])
            .sum()
    }

    /// `A ← A B`.
    pub(crate) fn multiply_right(&mut self, b: &Self) {
        let mut rows_of_b: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.n];
        for (i, j, value) in b.entries() {
            rows_of_b[i].push((j, value));
        }
        let product: Vec<(usize, usize, f64)> = self
            .entries()
            .flat_map(|(i, k, a)| {
                rows_of_b[k]
                    .iter()
                    .map(move |&(j, value)| (i, j, a * value))
            })
            .collect();
        self.clear();
        for (i, j, value) in product {
            self.entry(i, j, value);
        }
    }

    /// Row, column and value of everything that was filled in; duplicates are not merged.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.arrival
            .iter()
            .zip(&self.incoming)
            .map(|(&(i, j), &v)| (i, j, v))
    }

    /// Brings the incoming entries into compressed columns.
    fn gather(&mut self) {
        if self.arrival.len() > self.incoming.len() {
            self.arrival.truncate(self.incoming.len());
            self.stale = true;
        }
        if self.stale {
            self.analyse();
        }
        let p = &mut self.pattern;
        p.values.fill(0.0);
        for (&slot, v) in p.slot.iter().zip(&self.incoming) {
            p.values[slot] += v;
        }
    }

    fn analyse(&mut self) {
        let mut order: Vec<usize> = (0..self.arrival.len()).collect();
        order.sort_by_key(|&k| (self.arrival[k].1, self.arrival[k].0));
        let p = &mut self.pattern;
        p.rows.clear();
        p.col_start.clear();
        p.col_start.resize(self.n + 1, 0);
        p.slot.clear();
        p.slot.resize(order.len(), 0);
        let mut previous = None;
        for k in order {
            let (row, col) = self.arrival[k];
            if previous != Some((row, col)) {
                p.rows.push(row);
                p.col_start[col + 1] += 1;
                previous = Some((row, col));
            }
            p.slot[k] = p.rows.len() - 1;
        }
        for j in 0..self.n {
            p.col_start[j + 1] += p.col_start[j];
        }
        p.values.clear();
        p.values.resize(p.rows.len(), 0.0);
        self.symbolic = None;
        self.stale = false;
    }

    /// Solves once with the new factors: elimination without a vanishing pivot can still divide by
    /// one that is only round-off.
    fn probe(&self) -> Result<(), LinearError> {
        let b: Vec<f64> = (0..self.n).map(|i| 1.0 + (i % 7) as f64).collect();
        let mut x = b.clone();
        self.solve(&mut x);
        let mut r = b;
        self.apply_add(-1.0, &x, &mut r);
        let defect = max_abs(&r);
        if defect <= 1e-6 * (1.0 + self.n as f64) {
            Ok(())
        } else {
            Err(LinearError::Singular {
                size: self.n,
                pivot: 0,
                value: 1.0 / max_abs(&x),
            })
        }
    }
}

impl MatrixSink for SparseLu {
    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        for i in 0..rows {
            for j in 0..cols {
                self.entry(row + i, col + j, block[i * cols + j]);
            }
        }
    }

    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let k = self.incoming.len();
        match self.arrival.get(k) {
            Some(&place) if place == (row, col) => {}
            Some(_) => {
                self.arrival.truncate(k);
                self.arrival.push((row, col));
                self.stale = true;
            }
            None => {
                self.arrival.push((row, col));
                self.stale = true;
            }
        }
        self.incoming.push(value);
    }
}
