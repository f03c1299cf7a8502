//! LU factorisation of a block-sparse matrix with symmetric pattern, without exchanges between block rows.
//!
//! For the systems of the Newton methods, whose diagonal blocks dominate once they are regularised; each diagonal block is inverted
//! with pivoting, and the caller refines the solution with the original matrix.

use super::block_pattern::Pattern;
use super::functions::{Block, solve_small};
use crate::block::{BlockMatrix, accumulate, row_sums};

/// Symbolic and numeric factors.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockLu<const D: usize> {
    pattern: Pattern,
    /// Blocks of `L` below the diagonal, of `U` above it.
    lower: Vec<Block<D>>,
    upper: Vec<Block<D>>,
    /// Inverses of the diagonal blocks of `U`.
    pivots: Vec<Block<D>>,
    work: Vec<Block<D>>,
}

impl<const D: usize> BlockLu<D> {
    /// Finds order and pattern. `start`, `index`: neighbours of each row, ascending, itself included.
    pub fn analyse(&mut self, start: &[usize], index: &[usize]) {
        self.pattern.analyse(start, index);
        self.reserve();
    }

    /// Finds order and pattern of `w`.
    pub fn analyse_matrix(&mut self, w: &BlockMatrix) {
        self.pattern.analyse_matrix(w);
        self.reserve();
    }

    fn reserve(&mut self) {
        let (n, above) = (self.pattern.rows(), self.pattern.above());
        let zero = [[0.0; D]; D];
        self.upper.resize(above, zero);
        self.lower.resize(above, zero);
        self.pivots.resize(n, zero);
        self.work.clear();
        self.work.resize(n, zero);
    }

    /// Factorises `W + shift`, `W` as analysed. False where a diagonal block is singular.
    pub fn factorise_shifted(&mut self, w: &BlockMatrix, shift: f64) -> bool {
        self.factorise(|i, put| {
            let (lines, _) = w.row(i).as_chunks::<D>();
            for (lines, &j) in lines.chunks_exact(D).zip(w.cols(i)) {
                let mut block: Block<D> = [[0.0; D]; D];
                block.copy_from_slice(lines);
                if i == j {
                    for (k, row) in block.iter_mut().enumerate() {
                        row[k] += shift;
                    }
                }
                put(j, &block);
            }
        })
    }

    /// Counted operations of one factorisation.
    pub fn flops(&self) -> f64 {
        self.pattern.flops(D)
    }

    /// Operations that take as long as [`analyse`](Self::analyse).
    pub fn analysis_work(&self) -> f64 {
        self.pattern.analysis_work()
    }

    /// Factorises; `row(i, put)` sends the blocks of row `i` as `put(column, block)`. False where a diagonal block is singular.
    pub fn factorise(
        &mut self,
        mut row: impl FnMut(usize, &mut dyn FnMut(usize, &Block<D>)),
    ) -> bool {
        let pattern = &self.pattern;
        let zero = [[0.0; D]; D];
        for k in 0..pattern.rows() {
            let (lower, upper) = (pattern.lower.of(k), pattern.upper.of(k));
            let columns = pattern.lower.index[lower.clone()].iter();
            for &j in columns.chain(&pattern.upper.index[upper.clone()]) {
                self.work[j] = zero;
            }
            self.work[k] = zero;
            let work = &mut self.work;
            row(pattern.order[k], &mut |j, block| {
                work[pattern.position[j]] = *block;
            });
            for at in lower {
                let j = pattern.lower.index[at];
                let factor = multiply(&self.work[j], &self.pivots[j]);
                self.lower[at] = factor;
                if factor == zero {
                    continue;
                }
                let range = pattern.upper.of(j);
                let columns = &pattern.upper.index[range.clone()];
                for (&c, u) in columns.iter().zip(&self.upper[range]) {
                    subtract_product(&mut self.work[c], &factor, u);
                }
            }
            for at in upper {
                self.upper[at] = self.work[pattern.upper.index[at]];
            }
            let Some(inverse) = invert(&self.work[k]) else {
                return false;
            };
            self.pivots[k] = inverse;
        }
        true
    }

    /// `x ← A⁻¹ x`; `scratch` as long as `x`.
    pub fn solve(&self, x: &mut [[f64; D]], scratch: &mut [[f64; D]]) {
        let (n, pattern) = (self.pattern.rows(), &self.pattern);
        for k in 0..n {
            let mut sums = [[0.0; D]; D];
            let range = pattern.lower.of(k);
            let columns = &pattern.lower.index[range.clone()];
            for (&j, l) in columns.iter().zip(&self.lower[range]) {
                accumulate(&mut sums, l, &scratch[j]);
            }
            let mut sum = x[pattern.order[k]];
            for (s, image) in sum.iter_mut().zip(row_sums(&sums)) {
                *s -= image;
            }
            scratch[k] = sum;
        }
        for k in (0..n).rev() {
            let mut sums = [[0.0; D]; D];
            let range = pattern.upper.of(k);
            let columns = &pattern.upper.index[range.clone()];
            for (&j, u) in columns.iter().zip(&self.upper[range]) {
                accumulate(&mut sums, u, &scratch[j]);
            }
            let mut sum = scratch[k];
            for (s, image) in sum.iter_mut().zip(row_sums(&sums)) {
                *s -= image;
            }
            let y = times(&self.pivots[k], &sum);
            scratch[k] = y;
            x[pattern.order[k]] = y;
        }
    }
}

/// `B x`.
#[inline]
pub(super) fn times<const D: usize>(block: &Block<D>, x: &[f64; D]) -> [f64; D] {
    let mut y = [0.0; D];
    for (y, line) in y.iter_mut().zip(block) {
        for (a, b) in line.iter().zip(x) {
            *y += a * b;
        }
    }
    y
}

#[inline]
pub(crate) fn multiply<const D: usize>(a: &Block<D>, b: &Block<D>) -> Block<D> {
    let mut c = [[0.0; D]; D];
    for i in 0..D {
        for k in 0..D {
            for j in 0..D {
                c[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    c
}

#[inline]
pub(super) fn subtract_product<const D: usize>(c: &mut Block<D>, a: &Block<D>, b: &Block<D>) {
    for i in 0..D {
        for k in 0..D {
            for j in 0..D {
                c[i][j] -= a[i][k] * b[k][j];
            }
        }
    }
}

pub(crate) fn invert<const D: usize>(m: &Block<D>) -> Option<Block<D>> {
    let mut inverse = [[0.0; D]; D];
    for j in 0..D {
        let mut e = [0.0; D];
        e[j] = 1.0;
        let x = solve_small(m, &e)?;
        for i in 0..D {
            if !x[i].is_finite() {
                return None;
            }
            inverse[i][j] = x[i];
        }
    }
    Some(inverse)
}
