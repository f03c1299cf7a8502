//! The uncoupled parts of a problem.

use super::block::Block;
use super::matrix::Matrix;
use super::residual::View;
use crate::union_find::UnionFind;
use saltus_linear::{Dense, SparseRows};

/// Connected components of the blocks, coupled by the matrix or by the law of a joint.
#[derive(Debug, Default)]
pub(super) struct Islands {
    sets: UnionFind,
    block_of: Vec<usize>,
    /// Blocks of all islands, island by island, ascending in each.
    members: Vec<usize>,
    start: Vec<usize>,
    number: Vec<usize>,
    /// Positions in `members` to fill next.
    next: Vec<usize>,
}

impl Islands {
    /// Finds the islands of `view`; they are in the order of their first blocks.
    pub fn find(&mut self, view: &View<'_>) {
        let count = view.blocks.len();
        self.sets.reset(count);
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
                    self.sets.unite(k, self.block_of[row]);
                }
            }
        }
        self.unite_coupled(view);
        self.number_islands(count);
    }

    fn unite_coupled(&mut self, view: &View<'_>) {
        let block_of = std::mem::take(&mut self.block_of);
        let mut components = view.blocks.len();
        for (i, &k) in block_of.iter().enumerate() {
            match view.matrix {
                Matrix::Dense(m) => {
                    for (v, &l) in m.row(i).iter().zip(&block_of) {
                        if *v != 0.0 && l != k {
                            components -= usize::from(self.sets.unite(k, l));
                        }
                    }
                }
                Matrix::Rows(m) => {
                    for (&j, v) in m.cols(i).iter().zip(m.values(i)) {
                        if *v != 0.0 {
                            components -= usize::from(self.sets.unite(k, block_of[j]));
                        }
                    }
                }
            }
            if components == 1 {
                break;
            }
        }
        self.block_of = block_of;
    }

    fn number_islands(&mut self, count: usize) {
        self.number.clear();
        self.start.clear();
        self.start.push(0);
        for k in 0..count {
            let root = self.sets.root(k);
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
        self.next.clear();
        self.next.extend_from_slice(&self.start);
        for k in 0..count {
            let next = &mut self.next[self.number[k]];
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

/// Largest number of rows for which the matrix of a part is dense.
pub(super) const DENSE_LIMIT: usize = 300;

/// A part of a problem, with its own numbering.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub blocks: Vec<Block>,
    pub first: Vec<usize>,
    /// The matrix of a part of at most [`DENSE_LIMIT`] rows, or of one that was dense.
    pub dense: Dense,
    /// The matrix of a larger one.
    pub sparse: SparseRows,
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
            self.sparse.clear();
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
                    let entries = m
                        .cols(row)
                        .iter()
                        .zip(m.values(row))
                        .filter(|(_, v)| **v != 0.0);
                    let entries = entries.map(|(&j, &v)| (self.local[j], v));
                    if self.is_dense {
                        let to = self.dense.row_mut(i);
                        entries.for_each(|(j, v)| to[j] = v);
                    } else {
                        self.sparse.push_terms(entries);
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
