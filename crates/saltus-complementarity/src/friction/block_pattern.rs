//! Order of elimination and pattern of the factors of a block matrix with symmetric pattern.

use crate::block::BlockMatrix;
use saltus_linear::minimum_degree;

/// Order of elimination and pattern of the factors.
#[derive(Debug, Clone, Default)]
pub(super) struct Pattern {
    /// Row of the matrix eliminated in step `k`.
    pub order: Vec<usize>,
    /// Step in which a row is eliminated.
    pub position: Vec<usize>,
    /// Steps below `k` and above `k` that row `k` of the factors has blocks in, ascending.
    pub lower: Lists,
    pub upper: Lists,
    /// Scalar products and sums of an elimination with blocks of one number, without use of symmetry.
    scalar_flops: f64,
}

/// Ascending numbers of every row, one row after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub start: Vec<usize>,
    pub index: Vec<usize>,
}

impl Lists {
    /// Range of row `k` in `index`.
    pub fn of(&self, k: usize) -> std::ops::Range<usize> {
        self.start[k]..self.start[k + 1]
    }
}

/// Operations that take as long as the analysis of one block of the factors.
const ANALYSIS_WORK: f64 = 100.0;

impl Pattern {
    /// Finds order and pattern. `start`, `index`: neighbours of each row, ascending, itself included.
    pub fn analyse(&mut self, start: &[usize], index: &[usize]) {
        let n = start.len() - 1;
        self.order = minimum_degree(start, index);
        self.position = vec![0; n];
        for (k, &i) in self.order.iter().enumerate() {
            self.position[i] = k;
        }
        // Columns of L by symbolic elimination: own entries and those of the children in the elimination tree.
        let mut columns: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut mark = vec![usize::MAX; n];
        self.scalar_flops = 0.0;
        for k in 0..n {
            let i = self.order[k];
            let mut column = Vec::new();
            mark[k] = k;
            let own = index[start[i]..start[i + 1]]
                .iter()
                .map(|&j| self.position[j]);
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
            self.scalar_flops += 2.0 * (c * c + c + 1.0);
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

    /// Floating-point operations of an LU factorisation with blocks of dimension `d`.
    pub fn flops(&self, d: usize) -> f64 {
        self.scalar_flops * (d * d * d) as f64
    }

    /// Operations that take as long as [`analyse`](Self::analyse).
    pub fn analysis_work(&self) -> f64 {
        ANALYSIS_WORK * (self.rows() + self.above()) as f64
    }

    /// Blocks above the diagonal.
    pub fn above(&self) -> usize {
        self.upper.index.len()
    }

    /// Block rows.
    pub fn rows(&self) -> usize {
        self.order.len()
    }
}
