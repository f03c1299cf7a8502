//! The matrix of a problem as far as a solver needs it: dense, block-sparse, or known by its products only.

use crate::block::BlockMatrix;
use saltus_linear::{Dense, dot};
use std::fmt::Debug;
use std::sync::Arc;

/// A square matrix that is known by its products with vectors.
///
/// `apply` has to be linear and give the same bits for the same vector; one that needs room for intermediate results
/// keeps it (behind a lock), because solvers call it in their innermost loop.
pub trait Product: Debug + Send + Sync {
    /// Number of rows and columns.
    fn size(&self) -> usize;

    /// `y ← A x`, both of length [`size`](Self::size).
    fn apply(&self, x: &[f64], y: &mut [f64]);

    /// Floating-point operations of one product, for the bill of the solvers.
    fn work(&self) -> f64;

    /// Fills `block` (k × k, row-major) with the `place`-th diagonal block of size `k`, and says whether it did. Where it
    /// does not, the block is found by k products.
    fn diagonal_block(&self, _place: usize, _k: usize, _block: &mut [f64]) -> bool {
        false
    }
}

impl Product for Dense {
    fn size(&self) -> usize {
        self.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            *y = dot(self.row(i), x);
        }
    }

    fn work(&self) -> f64 {
        2.0 * (self.rows() * self.cols()) as f64
    }

    fn diagonal_block(&self, place: usize, k: usize, block: &mut [f64]) -> bool {
        for (i, to) in block.chunks_exact_mut(k).enumerate() {
            to.copy_from_slice(&self.row(place * k + i)[place * k..][..k]);
        }
        true
    }
}

/// The matrix `W` of a frictional problem in one of its three forms.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Operator {
    /// All entries; kept as blocks, zero ones left out.
    Dense(Dense),
    /// Blocks of the size of a contact.
    Blocks(BlockMatrix),
    /// Products only.
    Free(Arc<dyn Product>),
}

impl From<Dense> for Operator {
    fn from(matrix: Dense) -> Self {
        Self::Dense(matrix)
    }
}

impl From<BlockMatrix> for Operator {
    fn from(matrix: BlockMatrix) -> Self {
        Self::Blocks(matrix)
    }
}

impl From<Arc<dyn Product>> for Operator {
    fn from(product: Arc<dyn Product>) -> Self {
        Self::Free(product)
    }
}

/// All entries `(row, column, value)` that are not zero, column by column, from as many products as there are columns.
pub(crate) fn entries_of(product: &dyn Product) -> Vec<(usize, usize, f64)> {
    let n = product.size();
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
    let mut entries = Vec::new();
    for j in 0..n {
        x[j] = 1.0;
        product.apply(&x, &mut y);
        x[j] = 0.0;
        entries.extend(
            y.iter()
                .enumerate()
                .filter(|(_, v)| **v != 0.0)
                .map(|(i, v)| (i, j, *v)),
        );
    }
    entries
}

/// The diagonal blocks of size `k`, one after the other, row-major.
pub(crate) fn diagonal_of(product: &dyn Product, k: usize) -> Vec<f64> {
    let n = product.size();
    let mut blocks = vec![0.0; n * k];
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (place, block) in blocks.chunks_exact_mut(k * k).enumerate() {
        if product.diagonal_block(place, k, block) {
            continue;
        }
        x.resize(n, 0.0);
        y.resize(n, 0.0);
        for j in 0..k {
            x[place * k + j] = 1.0;
            product.apply(&x, &mut y);
            x[place * k + j] = 0.0;
            for i in 0..k {
                block[i * k + j] = y[place * k + i];
            }
        }
    }
    blocks
}
