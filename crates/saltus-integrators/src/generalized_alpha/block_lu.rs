//! LU factors of the diagonal blocks of an upper block triangular matrix.

use super::levels::Level;
use super::multipliers::MIN_PIVOT_RATIO;
use saltus_linear::{Dense, Lu, dot};

/// The factors, one per block, and their buffers.
#[derive(Debug, Default)]
pub(super) struct BlockLu {
    /// First row of each block.
    starts: Vec<usize>,
    factors: Vec<Lu>,
    block: Dense,
}

impl BlockLu {
    /// Sizes everything for `m` rows of each of three levels, so that nothing allocates later.
    pub(super) fn reserve(&mut self, m: usize) {
        let mut unit = Dense::zeros(3 * m, 3 * m);
        for i in 0..3 * m {
            unit[(i, i)] = 1.0;
        }
        for starts in [&[0][..], &[0, m, 2 * m]] {
            self.starts.clear();
            self.starts.extend_from_slice(starts);
            self.factorise_blocks(&unit);
        }
    }

    /// Factors the blocks of the rows of one level, which follow each other (`levels` in the order of the rows), or the matrix as one
    /// block; whether all are regular.
    pub(super) fn factorise(
        &mut self,
        matrix: &Dense,
        is_triangular: bool,
        levels: impl Iterator<Item = Level>,
    ) -> bool {
        self.starts.clear();
        let mut last = None;
        for (p, level) in levels.enumerate() {
            if last.is_none() || is_triangular && last != Some(level) {
                self.starts.push(p);
            }
            last = Some(level);
        }
        self.factorise_blocks(matrix)
    }

    fn factorise_blocks(&mut self, matrix: &Dense) -> bool {
        let n = self.starts.len();
        self.factors
            .resize_with(self.factors.len().max(n), Lu::default);
        (0..n).all(|b| {
            let begin = self.starts[b];
            let end = self.starts.get(b + 1).copied().unwrap_or(matrix.rows());
            self.block.reset(end - begin, end - begin);
            for i in begin..end {
                let row = &matrix.row(i)[begin..end];
                self.block.row_mut(i - begin).copy_from_slice(row);
            }
            let lu = &mut self.factors[b];
            lu.factorise(&self.block).is_ok() && lu.pivot_ratio() > MIN_PIVOT_RATIO
        })
    }

    /// `x ← matrix⁻¹ x`, with the matrix that was factored.
    pub(super) fn solve(&self, matrix: &Dense, x: &mut [f64]) {
        let mut end = x.len();
        for (lu, &begin) in self.factors.iter().zip(&self.starts).rev() {
            let (above, own) = x[..end].split_at_mut(begin);
            lu.solve(own);
            for (p, x) in above.iter_mut().enumerate() {
                *x -= dot(&matrix.row(p)[begin..end], own);
            }
            end = begin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_solve_what_the_whole_matrix_solves() {
        let rows = [
            [2.0, 1.0, 0.3, -0.7],
            [0.5, 3.0, 0.2, 0.1],
            [0.0, 0.0, 1.5, 0.4],
            [0.0, 0.0, -0.6, 2.5],
        ];
        let mut matrix = Dense::zeros(4, 4);
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).copy_from_slice(row);
        }
        let levels = [
            Level::Smooth,
            Level::Smooth,
            Level::Velocity,
            Level::Velocity,
        ];
        let right = [1.0, -2.0, 0.5, 3.0];
        let solved = [true, false].map(|is_triangular| {
            let (mut lu, mut x) = (BlockLu::default(), right);
            assert!(lu.factorise(&matrix, is_triangular, levels.into_iter()));
            lu.solve(&matrix, &mut x);
            x
        });
        for i in 0..4 {
            assert!((solved[0][i] - solved[1][i]).abs() < 1e-15);
            assert!((dot(matrix.row(i), &solved[0]) - right[i]).abs() < 1e-14);
        }
        matrix[(3, 3)] = -0.16;
        assert!(!BlockLu::default().factorise(&matrix, true, levels.into_iter()));
    }
}
