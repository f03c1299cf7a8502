//! Sparse matrices, and those known by their products, with numbers near the ends of the range: brought into units in which
//! these are near 1, as dense ones are ([`Balanced`](crate::equilibrium::Balanced)).

use super::LcpOperator;
use crate::equilibrium::{Units, equilibrium_of, exponent, near_one, times_power};
use crate::operator::Product;
use crate::sparse::SparseMatrix;
use std::sync::{Mutex, PoisonError};

/// How the numbers of a problem can be worked with.
pub(super) enum Range {
    /// As they are.
    Usual,
    /// In these units.
    Other(Units),
    /// Some are none.
    NotFinite,
}

impl Range {
    /// Of a matrix that is known by its products only its `diagonal` is looked at.
    pub fn of(operator: LcpOperator<'_>, diagonal: &[f64], q: &[f64]) -> Self {
        let LcpOperator::Sparse(m) = operator else {
            return Self::by_diagonal(diagonal, q);
        };
        let (mut rows, mut columns) = (vec![0.0_f64; m.rows()], vec![0.0_f64; m.cols()]);
        let mut finite = q.iter().all(|v| v.is_finite());
        for (i, j, v) in m.triplets() {
            finite &= v.is_finite();
            rows[i] = rows[i].max(v.abs());
            columns[j] = columns[j].max(v.abs());
        }
        let largest = q.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
        if !finite {
            return Self::NotFinite;
        }
        // What is next to nothing beside others of its row and column does not matter.
        if near_one(&rows) && near_one(&columns) && near_one(&[largest]) {
            return Self::Usual;
        }
        let (mut row, mut column) = equilibrium_of(m.rows(), m.cols(), m.triplets());
        if turned(m) == *m {
            // Rows and columns in the same units keep a symmetric matrix symmetric.
            for (a, b) in row.iter_mut().zip(&mut column) {
                *a = (*a + *b).div_euclid(2);
                *b = *a;
            }
        }
        Self::Other(Units::new(row, column, q))
    }

    fn by_diagonal(diagonal: &[f64], q: &[f64]) -> Self {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        if !finite(diagonal) || !finite(q) {
            return Self::NotFinite;
        }
        let largest = q.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
        if near_one(diagonal) && near_one(&[largest]) {
            return Self::Usual;
        }
        let half = |d: &f64| match *d {
            0.0 => 0,
            d => -exponent(d).div_euclid(2),
        };
        let row: Vec<i32> = diagonal.iter().map(half).collect();
        Self::Other(Units::new(row.clone(), row, q))
    }
}

/// `Mᵀ`.
pub(super) fn turned(m: &SparseMatrix) -> SparseMatrix {
    let entries: Vec<_> = m.triplets().map(|(i, j, v)| (j, i, v)).collect();
    SparseMatrix::from_triplets(m.cols(), m.rows(), &entries)
}

/// `M'`.
#[derive(Debug)]
pub(super) enum Scaled<'a> {
    Sparse(SparseMatrix),
    Free(Lifted<'a>),
}

impl<'a> Scaled<'a> {
    pub fn new(operator: LcpOperator<'a>, diagonal: &[f64], units: &'a Units) -> Self {
        let entry = |i: usize, j: usize, v: f64| times_power(v, units.row[i] + units.column[j]);
        let product: &'a dyn Product = match operator {
            LcpOperator::Sparse(m) => {
                let entries: Vec<_> = m
                    .triplets()
                    .map(|(i, j, v)| (i, j, entry(i, j, v)))
                    .collect();
                return Self::Sparse(SparseMatrix::from_triplets(m.rows(), m.cols(), &entries));
            }
            LcpOperator::Dense(m) => m,
            LcpOperator::Free(m) => m,
        };
        // Halfway between the largest and the smallest of the numbers that a product takes and gives.
        let (mut least, mut most) = (0, 0);
        for (a, b) in units.row.iter().zip(&units.column) {
            least = least.min(*b).min(-a);
            most = most.max(*b).max(-a);
        }
        let own = diagonal.iter().enumerate();
        Self::Free(Lifted {
            product,
            units,
            lift: -(least + most) / 2,
            diagonal: own.map(|(i, d)| entry(i, i, *d)).collect(),
            room: Mutex::default(),
        })
    }

    pub fn operator(&self) -> LcpOperator<'_> {
        match self {
            Self::Sparse(m) => LcpOperator::Sparse(m),
            Self::Free(m) => LcpOperator::Free(m),
        }
    }
}

/// `M'` by the products of `M`.
#[derive(Debug)]
pub(super) struct Lifted<'a> {
    product: &'a dyn Product,
    units: &'a Units,
    /// Products are taken of vectors times 2 to this power, so that they stay in the range.
    lift: i32,
    diagonal: Vec<f64>,
    room: Mutex<Vec<f64>>,
}

impl Product for Lifted<'_> {
    fn size(&self) -> usize {
        self.product.size()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut z = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        z.clear();
        let each = x.iter().zip(&self.units.column);
        z.extend(each.map(|(x, b)| times_power(*x, b + self.lift)));
        self.product.apply(&z, y);
        for (y, a) in y.iter_mut().zip(&self.units.row) {
            *y = times_power(*y, a - self.lift);
        }
    }

    fn work(&self) -> f64 {
        self.product.work() + 2.0 * self.size() as f64
    }

    fn diagonal_block(&self, place: usize, k: usize, block: &mut [f64]) -> bool {
        if k == 1 {
            block[0] = self.diagonal[place];
        }
        k == 1
    }
}
