//! Cholesky factorisation of a dense symmetric positive definite matrix, reusing its storage.

use crate::LinearError;
use crate::dense::Dense;
use crate::vector::{axpy, dot};
use crate::workspace::Workspace;
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::{MatMut, Par, Spec};

/// `A = L Lᵀ`, in blocks by `faer`.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    /// `Lᵀ` on and above the diagonal: what a routine for columns calls `L`.
    factors: Dense,
    reciprocals: Vec<f64>,
    work: Workspace,
}

impl Cholesky {
    /// Number of unknowns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.factors.rows()
    }

    /// Factorises the matrix (n × n) with entries `entry(i, j)`, asked for `j ≥ i` alone.
    ///
    /// # Errors
    /// [`LinearError`] where the matrix is not positive definite, or a pivot is less than `least` times the
    /// diagonal entry it came from.
    pub fn factorise(
        &mut self,
        n: usize,
        least: f64,
        entry: impl Fn(usize, usize) -> f64,
    ) -> Result<(), LinearError> {
        self.factors.reset(n, n);
        self.reciprocals.clear();
        for i in 0..n {
            let line = self.factors.row_mut(i);
            for (j, value) in line.iter_mut().enumerate().skip(i) {
                *value = entry(i, j);
            }
            // The diagonal waits here to be compared with its pivot.
            self.reciprocals.push(line[i]);
        }
        self.factorise_filled(least)
    }

    fn factorise_filled(&mut self, least: f64) -> Result<(), LinearError> {
        let n = self.size();
        let spec = Spec::default();
        let need = cholesky_in_place_scratch::<f64>(n, Par::Seq, spec);
        let factors = MatMut::from_column_major_slice_mut(self.factors.as_mut_slice(), n, n);
        let outcome = self.work.with(need, |stack| {
            cholesky_in_place(factors, LltRegularization::default(), Par::Seq, stack, spec)
        });
        let singular = |pivot: usize, value: f64| LinearError::Singular {
            size: n,
            pivot,
            value,
        };
        if let Err(LltError::NonPositivePivot { index }) = outcome {
            return Err(singular(index, 0.0));
        }
        for (i, place) in self.reciprocals.iter_mut().enumerate() {
            let root = self.factors[(i, i)];
            let sound = root * root > least * *place && root.is_finite();
            if !sound {
                return Err(singular(i, root * root));
            }
            *place = 1.0 / root;
        }
        Ok(())
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.size();
        for i in 0..n {
            let value = x[i] * self.reciprocals[i];
            x[i] = value;
            axpy(-value, &self.factors.row(i)[i + 1..], &mut x[i + 1..n]);
        }
        for i in (0..n).rev() {
            let sum = dot(&self.factors.row(i)[i + 1..], &x[i + 1..n]);
            x[i] = (x[i] - sum) * self.reciprocals[i];
        }
    }
}
