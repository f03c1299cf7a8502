//! The parts of a problem that do not act on each other.

use super::block::Block;
use super::matrix::Matrix;
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

/// A part of a problem, with its own numbering and a dense matrix.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub blocks: Vec<Block>,
    pub first: Vec<usize>,
    pub matrix: Dense,
    pub q: Vec<f64>,
    pub z: Vec<f64>,
    /// Rows of the whole problem.
    pub rows: Vec<usize>,
    /// Row of the part of each row of the whole problem, for the rows of the part.
    local: Vec<usize>,
}

impl Part {
    /// Copies the blocks `members` of `view`, in that order, and their impulses from `z`.
    pub fn gather(&mut self, view: &View<'_>, members: &[usize], z: &[f64]) {
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
        let n = self.rows.len();
        self.matrix.reset(n, n);
        self.q.clear();
        self.z.clear();
        for (i, &row) in self.rows.iter().enumerate() {
            self.q.push(view.q[row]);
            self.z.push(z[row]);
            let to = self.matrix.row_mut(i);
            match view.matrix {
                Matrix::Dense(m) => {
                    let from = m.row(row);
                    for (to, &j) in to.iter_mut().zip(&self.rows) {
                        *to = from[j];
                    }
                }
                Matrix::Rows(m) => {
                    let (cols, values) = m.row(row);
                    for (&j, &v) in cols.iter().zip(values) {
                        if v != 0.0 {
                            to[self.local[j]] = v;
                        }
                    }
                }
            }
        }
    }

    /// Writes the impulses back.
    pub fn scatter(&self, z: &mut [f64]) {
        for (&row, value) in self.rows.iter().zip(&self.z) {
            z[row] = *value;
        }
    }
}
