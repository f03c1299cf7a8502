//! LDLᵀ factorisation of a symmetric block-sparse matrix, without exchanges between block rows: half the numbers and half the
//! operations of `block_lu.rs`.

use super::block_lu::{invert, multiply, subtract_product, times};
use super::block_pattern::Pattern;
use super::functions::Block;
use crate::block::{BlockMatrix, accumulate, row_sums};

/// Symbolic and numeric factors of `A = Uᵀ D⁻¹ U`; `D` is the diagonal of `U`.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockLdl<const D: usize> {
    pattern: Pattern,
    /// For every place below the diagonal, where its mirror stands in `upper`.
    mirror: Vec<usize>,
    /// Blocks of `U` above the diagonal.
    upper: Vec<Block<D>>,
    /// Inverses of the diagonal blocks of `U`.
    pivots: Vec<Block<D>>,
    work: Vec<Block<D>>,
}

impl<const D: usize> BlockLdl<D> {
    /// Finds order and pattern of `w`.
    pub fn analyse_matrix(&mut self, w: &BlockMatrix) {
        self.pattern.analyse_matrix(w);
        let pattern = &self.pattern;
        let (n, above) = (pattern.rows(), pattern.above());
        self.mirror.resize(above, 0);
        let mut next = pattern.lower.start.clone();
        for (at, &j) in pattern.upper.index.iter().enumerate() {
            self.mirror[next[j]] = at;
            next[j] += 1;
        }
        let zero = [[0.0; D]; D];
        self.upper.resize(above, zero);
        self.pivots.resize(n, zero);
        self.work.clear();
        self.work.resize(n, zero);
    }

    /// Counted operations of one factorisation.
    pub fn flops(&self) -> f64 {
        0.5 * self.pattern.flops(D)
    }

    /// Factorises `W + shift`, `W` symmetric and as analysed. False where a diagonal block is singular.
    pub fn factorise_shifted(&mut self, w: &BlockMatrix, shift: f64) -> bool {
        let pattern = &self.pattern;
        let zero = [[0.0; D]; D];
        for k in 0..pattern.rows() {
            let upper = pattern.upper.of(k);
            for &j in &pattern.upper.index[upper.clone()] {
                self.work[j] = zero;
            }
            let i = pattern.order[k];
            let (lines, _) = w.row(i).as_chunks::<D>();
            for (lines, &j) in lines.chunks_exact(D).zip(w.cols(i)) {
                if pattern.place[j] >= k {
                    self.work[pattern.place[j]].copy_from_slice(lines);
                }
            }
            for (c, row) in self.work[k].iter_mut().enumerate() {
                row[c] += shift;
            }
            for at in pattern.lower.of(k) {
                let j = pattern.lower.index[at];
                let range = self.mirror[at]..pattern.upper.start[j + 1];
                let factor = multiply(&transposed(&self.upper[range.start]), &self.pivots[j]);
                if factor == zero {
                    continue;
                }
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
        for (to, &i) in scratch.iter_mut().zip(&pattern.order) {
            *to = x[i];
        }
        for k in 0..n {
            let y = times(&self.pivots[k], &scratch[k]);
            scratch[k] = y;
            let range = pattern.upper.of(k);
            let columns = &pattern.upper.index[range.clone()];
            for (&j, u) in columns.iter().zip(&self.upper[range]) {
                let to = &mut scratch[j];
                for (line, y) in u.iter().zip(&y) {
                    for (to, u) in to.iter_mut().zip(line) {
                        *to -= u * y;
                    }
                }
            }
        }
        for k in (0..n).rev() {
            let mut sums = [[0.0; D]; D];
            let range = pattern.upper.of(k);
            let columns = &pattern.upper.index[range.clone()];
            for (&j, u) in columns.iter().zip(&self.upper[range]) {
                accumulate(&mut sums, u, &scratch[j]);
            }
            let correction = times(&self.pivots[k], &row_sums(&sums));
            for (x, correction) in scratch[k].iter_mut().zip(correction) {
                *x -= correction;
            }
            x[pattern.order[k]] = scratch[k];
        }
    }
}

fn transposed<const D: usize>(block: &Block<D>) -> Block<D> {
    std::array::from_fn(|i| std::array::from_fn(|j| block[j][i]))
}

#[cfg(test)]
mod tests {
    use super::super::block_lu::BlockLu;
    use super::*;

    /// A ring of bodies with a contact between neighbours and one on every third: symmetric, with fill.
    fn ring(n: usize) -> BlockMatrix {
        let mut entries = Vec::new();
        for i in 0..n {
            for (j, size) in [(i, 4.0), ((i + 1) % n, -1.0), ((i + 3) % n, 0.5)] {
                for k in 0..9 {
                    let v = size
                        * if k % 4 == 0 {
                            1.0
                        } else {
                            0.1 + 0.01 * (i + k) as f64
                        };
                    let (row, col) = (3 * i + k / 3, 3 * j + k % 3);
                    entries.push((row, col, 0.5 * v));
                    entries.push((col, row, 0.5 * v));
                }
            }
        }
        BlockMatrix::from_triplets(3, n, entries)
    }

    #[test]
    fn agrees_with_the_matrix_and_with_lu() {
        let w = ring(23);
        assert!(w.asymmetry() < 1e-15);
        let b: Vec<[f64; 3]> = (0..23).map(|i| [1.0, -(i as f64), 0.5]).collect();
        let mut scratch = vec![[0.0; 3]; 23];
        let (mut ldl, mut lu) = (BlockLdl::<3>::default(), BlockLu::<3>::default());
        ldl.analyse_matrix(&w);
        lu.analyse_matrix(&w);
        for shift in [0.0, 0.3] {
            let (mut x, mut y) = (b.clone(), b.clone());
            assert!(ldl.factorise_shifted(&w, shift) && lu.factorise_shifted(&w, shift));
            ldl.solve(&mut x, &mut scratch);
            lu.solve(&mut y, &mut scratch);
            for i in 0..23 {
                let image = w.row_dot::<3>(i, &x);
                for k in 0..3 {
                    assert!((image[k] + shift * x[i][k] - b[i][k]).abs() < 1e-12);
                    assert!((x[i][k] - y[i][k]).abs() < 1e-12);
                }
            }
        }
        assert!(ldl.flops() == 0.5 * lu.flops() && ldl.flops() > 0.0);
    }

    #[test]
    fn a_singular_pivot_is_told() {
        let w = BlockMatrix::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 1.0)]);
        let mut ldl = BlockLdl::<2>::default();
        ldl.analyse_matrix(&w);
        assert!(!ldl.factorise_shifted(&w, 0.0));
        assert!(ldl.factorise_shifted(&w, 0.1));
    }
}
