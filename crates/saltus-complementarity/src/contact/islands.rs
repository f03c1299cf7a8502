//! The parts of a problem that do not act on each other.

use super::block::Block;
use super::matrix::{CompressedRows, Matrix};
use super::residual::View;
use saltus_linear::Dense;

/// Connected components of the blocks, coupled by the matrix or by the law of a joint.
#[derive(Debug, Default)]
pub(super) struct Islands {
    parent: Vec<usize>,
    block_of: Vec<usize>,
    /// Blocks of all islands, island by island, ascending in each.
    members: Vec<usize>,
    start: Vec<usize>,
    number: Vec<usize>,
}

impl Islands {
    /// Finds the islands of `view`; they are in the order of their first blocks.
    pub fn find(&mut self, view: &View<'_>) {
        let count = view.blocks.len();
        self.parent.clear();
        self.parent.extend(0..count);
        self.block_of.clear();
        for (k, block) in view.blocks.iter().enumerate() {
            self.block_of.extend(std::iter::repeat_n(k, block.rows()));
        }
        for (k, block) in view.blocks.iter().enumerate() {
            if let Block::JointCoulomb {
                first_normal,
                normals,
                ..
            } = *block
            {
                for row in first_normal..first_normal + normals {
                    self.unite(k, self.block_of[row]);
                }
            }
        }
        self.unite_coupled(view);
        self.sort(count);
    }

    fn unite_coupled(&mut self, view: &View<'_>) {
        let block_of = std::mem::take(&mut self.block_of);
        let mut apart = self.parent.len();
        for (i, &k) in block_of.iter().enumerate() {
            match view.matrix {
                Matrix::Dense(m) => {
                    for (v, &l) in m.row(i).iter().zip(&block_of) {
                        if *v != 0.0 && l != k {
                            apart -= usize::from(self.unite(k, l));
                        }
                    }
                }
                Matrix::Rows(m) => {
                    let (cols, values) = m.row(i);
                    for (&j, v) in cols.iter().zip(values) {
                        if *v != 0.0 {
                            apart -= usize::from(self.unite(k, block_of[j]));
                        }
                    }
                }
            }
            if apart == 1 {
                break;
            }
        }
        self.block_of = block_of;
    }

    fn root(&mut self, mut k: usize) -> usize {
        while self.parent[k] != k {
            self.parent[k] = self.parent[self.parent[k]];
            k = self.parent[k];
        }
        k
    }

    /// The smaller root stays one, so that the islands do not depend on the order of the entries.
    /// Says whether they were apart.
    fn unite(&mut self, a: usize, b: usize) -> bool {
        if self.parent[a] == self.parent[b] {
            return false;
        }
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high] = low;
        low != high
    }

    fn sort(&mut self, count: usize) {
        self.number.clear();
        self.start.clear();
        self.start.push(0);
        for k in 0..count {
            let root = self.root(k);
            if root == k {
                self.number.push(self.start.len() - 1);
                self.start.push(0);
            } else {
                let number = self.number[root];
                self.number.push(number);
            }
            let number = self.number[k];
            self.start[number + 1] += 1;
        }
        for i in 1..self.start.len() {
            self.start[i] += self.start[i - 1];
        }
        self.members.clear();
        self.members.resize(count, 0);
        // Positions to fill next; `parent` is no longer needed.
        self.parent.clear();
        self.parent.extend_from_slice(&self.start);
        for k in 0..count {
            let next = &mut self.parent[self.number[k]];
            self.members[*next] = k;
            *next += 1;
        }
    }

    pub fn count(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Blocks of island `i`, ascending.
    pub fn blocks(&self, i: usize) -> &[usize] {
        &self.members[self.start[i]..self.start[i + 1]]
    }
}

/// Rows up to which the matrix of a part is dense.
pub(super) const DENSE_LIMIT: usize = 300;

/// A part of a problem, with its own numbering.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub blocks: Vec<Block>,
    pub first: Vec<usize>,
    /// The matrix of a part of at most [`DENSE_LIMIT`] rows, or of one that was dense.
    pub dense: Dense,
    /// The matrix of a larger one.
    pub sparse: CompressedRows,
    is_dense: bool,
    pub q: Vec<f64>,
    pub z: Vec<f64>,
    /// Rows of the whole problem.
    pub rows: Vec<usize>,
    /// Row of the part of each row of the whole problem, for the rows of the part.
    local: Vec<usize>,
}

impl Part {
    /// Copies the blocks `members` of `view`, in that order, and their impulses from `z`. The members of a large part ascend.
    pub fn gather(&mut self, view: &View<'_>, members: &[usize], z: &[f64]) {
        self.number(view, members);
        let n = self.rows.len();
        self.is_dense = n <= DENSE_LIMIT || matches!(view.matrix, Matrix::Dense(_));
        self.q.clear();
        self.z.clear();
        for &row in &self.rows {
            self.q.push(view.q[row]);
            self.z.push(z[row]);
        }
        if self.is_dense {
            self.dense.reset(n, n);
        } else {
            self.sparse.begin();
        }
        for (i, &row) in self.rows.iter().enumerate() {
            match view.matrix {
                Matrix::Dense(m) => {
                    let from = m.row(row);
                    for (to, &j) in self.dense.row_mut(i).iter_mut().zip(&self.rows) {
                        *to = from[j];
                    }
                }
                Matrix::Rows(m) => {
                    let (cols, values) = m.row(row);
                    let entries = cols.iter().zip(values).filter(|(_, v)| **v != 0.0);
                    let entries = entries.map(|(&j, &v)| (self.local[j], v));
                    if self.is_dense {
                        let to = self.dense.row_mut(i);
                        entries.for_each(|(j, v)| to[j] = v);
                    } else {
                        self.sparse.push_row(entries);
                    }
                }
            }
        }
    }

    /// Numbers the rows of the blocks `members`.
    fn number(&mut self, view: &View<'_>, members: &[usize]) {
        self.blocks.clear();
        self.first.clear();
        self.rows.clear();
        self.local
            .resize(self.local.len().max(view.q.len()), usize::MAX);
        for &k in members {
            self.blocks.push(view.blocks[k]);
            self.first.push(self.rows.len());
            let first = view.first[k];
            for row in first..first + view.blocks[k].rows() {
                self.local[row] = self.rows.len();
                self.rows.push(row);
            }
        }
        for block in &mut self.blocks {
            if let Block::JointCoulomb {
                first_normal,
                normals,
                ..
            } = block
                && *normals > 0
            {
                *first_normal = self.local[*first_normal];
            }
        }
    }

    /// The part as a problem of its own, and its impulses.
    pub fn view(&mut self) -> (View<'_>, &mut [f64]) {
        let view = View {
            blocks: &self.blocks,
            first: &self.first,
            matrix: if self.is_dense {
                Matrix::Dense(&self.dense)
            } else {
                Matrix::Rows(&self.sparse)
            },
            q: &self.q,
        };
        (view, &mut self.z)
    }

    /// Writes the impulses back.
    pub fn scatter(&self, z: &mut [f64]) {
        for (&row, value) in self.rows.iter().zip(&self.z) {
            z[row] = *value;
        }
    }
}
