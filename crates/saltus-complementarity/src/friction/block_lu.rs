//! LU factorisation of a block-sparse matrix with symmetric pattern, without exchanges between block rows.
//!
//! Made for the systems of the Newton methods, whose diagonal blocks dominate once they are regularised; each diagonal
//! block is inverted with pivoting, and the caller refines the solution with the original matrix.

use super::functions::{Block, solve_small};
use crate::block::{BlockMatrix, accumulate, row_sums};
use saltus_linear::minimum_degree;

/// Symbolic and numeric factors.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockLu<const D: usize> {
    /// Row of the matrix eliminated in step `k`.
    order: Vec<usize>,
    /// Step in which a row is eliminated.
    place: Vec<usize>,
    /// Row `k` of `L` (steps below `k`) and of `U` (steps above `k`), ascending.
    lower: Rows<D>,
    upper: Rows<D>,
    /// Inverses of the diagonal blocks of `U`.
    pivots: Vec<Block<D>>,
    work: Vec<Block<D>>,
    flops: f64,
}

#[derive(Debug, Clone, Default)]
struct Rows<const D: usize> {
    start: Vec<usize>,
    index: Vec<usize>,
    values: Vec<Block<D>>,
}

impl<const D: usize> BlockLu<D> {
    /// Finds order and pattern. `start`, `index`: neighbours of each row, ascending, itself included.
    pub fn analyse(&mut self, start: &[usize], index: &[usize]) {
        let n = start.len() - 1;
        self.order = minimum_degree(start, index);
        self.place = vec![0; n];
        for (k, &i) in self.order.iter().enumerate() {
            self.place[i] = k;
        }
        // Columns of L by symbolic elimination: own entries and those of the children in the elimination tree.
        let mut columns: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut mark = vec![usize::MAX; n];
        self.flops = 0.0;
        for k in 0..n {
            let i = self.order[k];
            let mut column = Vec::new();
            mark[k] = k;
            let own = index[start[i]..start[i + 1]].iter().map(|&j| self.place[j]);
            for j in own {
                if j > k && mark[j] != k {
                    mark[j] = k;
                    column.push(j);
                }
            }
            for child in std::mem::take(&mut children[k]) {
                for &j in &columns[child] {
                    if j > k && mark[j] != k {
                        mark[j] = k;
                        column.push(j);
                    }
                }
            }
            column.sort_unstable();
            if let Some(&parent) = column.first() {
                children[parent].push(k);
            }
            let c = column.len() as f64;
            self.flops += 2.0 * (D * D * D) as f64 * (c * c + c + 1.0);
            columns[k] = column;
        }
        // With a symmetric pattern, row k of U is column k of L.
        self.upper.start.clear();
        self.upper.index.clear();
        self.upper.start.push(0);
        let mut count = vec![0; n + 1];
        for column in &columns {
            self.upper.index.extend_from_slice(column);
            self.upper.start.push(self.upper.index.len());
            for &j in column {
                count[j + 1] += 1;
            }
        }
        for k in 0..n {
            count[k + 1] += count[k];
        }
        let mut next = count.clone();
        self.lower.start = count;
        self.lower.index.clear();
        self.lower.index.resize(self.upper.index.len(), 0);
        for (k, column) in columns.iter().enumerate() {
            for &j in column {
                self.lower.index[next[j]] = k;
                next[j] += 1;
            }
        }
        let zero = [[0.0; D]; D];
        self.upper.values.resize(self.upper.index.len(), zero);
        self.lower.values.resize(self.lower.index.len(), zero);
        self.pivots.resize(n, zero);
        self.work.clear();
        self.work.resize(n, zero);
    }

    /// Finds order and pattern of `w`.
    pub fn analyse_matrix(&mut self, w: &BlockMatrix) {
        let (mut start, mut index) = (vec![0], Vec::new());
        for i in 0..w.blocks() {
            index.extend_from_slice(w.cols(i));
            start.push(index.len());
        }
        self.analyse(&start, &index);
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
        self.flops
    }

    /// Blocks of both factors.
    pub fn stored(&self) -> usize {
        self.lower.index.len() + self.upper.index.len() + self.order.len()
    }

    /// Factorises; `row(i, put)` sends the blocks of row `i` as `put(column, block)`. False where a diagonal block is singular.
    pub fn factorise(
        &mut self,
        mut row: impl FnMut(usize, &mut dyn FnMut(usize, &Block<D>)),
    ) -> bool {
        let n = self.order.len();
        let zero = [[0.0; D]; D];
        for k in 0..n {
            let lower = self.lower.start[k]..self.lower.start[k + 1];
            let upper = self.upper.start[k]..self.upper.start[k + 1];
            for &j in self.lower.index[lower.clone()]
                .iter()
                .chain(&self.upper.index[upper.clone()])
            {
                self.work[j] = zero;
            }
            self.work[k] = zero;
            let (work, place) = (&mut self.work, &self.place);
            row(self.order[k], &mut |j, block| work[place[j]] = *block);
            for at in lower {
                let j = self.lower.index[at];
                let factor = multiply(&self.work[j], &self.pivots[j]);
                self.lower.values[at] = factor;
                if factor == zero {
                    continue;
                }
                let range = self.upper.start[j]..self.upper.start[j + 1];
                for (&c, u) in self.upper.index[range.clone()]
                    .iter()
                    .zip(&self.upper.values[range])
                {
                    subtract_product(&mut self.work[c], &factor, u);
                }
            }
            for at in upper {
                self.upper.values[at] = self.work[self.upper.index[at]];
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
        let n = self.order.len();
        for k in 0..n {
            let mut sums = [[0.0; D]; D];
            let range = self.lower.start[k]..self.lower.start[k + 1];
            for (&j, l) in self.lower.index[range.clone()]
                .iter()
                .zip(&self.lower.values[range])
            {
                accumulate(&mut sums, l, &scratch[j]);
            }
            let mut sum = x[self.order[k]];
            for (s, image) in sum.iter_mut().zip(row_sums(&sums)) {
                *s -= image;
            }
            scratch[k] = sum;
        }
        for k in (0..n).rev() {
            let mut sums = [[0.0; D]; D];
            let range = self.upper.start[k]..self.upper.start[k + 1];
            for (&j, u) in self.upper.index[range.clone()]
                .iter()
                .zip(&self.upper.values[range])
            {
                accumulate(&mut sums, u, &scratch[j]);
            }
            let mut sum = scratch[k];
            for (s, image) in sum.iter_mut().zip(row_sums(&sums)) {
                *s -= image;
            }
            let mut y = [0.0; D];
            for (y, line) in y.iter_mut().zip(&self.pivots[k]) {
                for (a, b) in line.iter().zip(&sum) {
                    *y += a * b;
                }
            }
            scratch[k] = y;
            x[self.order[k]] = y;
        }
    }
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
fn subtract_product<const D: usize>(c: &mut Block<D>, a: &Block<D>, b: &Block<D>) {
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
