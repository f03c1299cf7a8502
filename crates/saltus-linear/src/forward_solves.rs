//! Scalar products `w A⁻¹ wᵀ` of sparse rows from half a solve each: with `P A Pᵀ = L D Lᵀ` and `x = L⁻¹ P wᵀ` they are
//! `xᵀ D⁻¹ x`, and forward elimination of a sparse vector visits few supernodes, those above its entries in the
//! elimination tree (Gilbert and Peierls, *SIAM J. Sci. Stat. Comput.* 9, 1988).

use crate::vector::dot;
use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;
use std::cmp::Ordering;

/// The forward half of the solves with a supernodal factorisation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forward<'a> {
    pub(crate) symbolic: &'a SymbolicSupernodalCholesky<u32>,
    /// Supernodes one after the other, by columns: `D` on the diagonal, `L` below.
    pub(crate) values: &'a [f64],
    /// Entries of `D` beside the diagonal, where a pivot is of two rows (n).
    pub(crate) subdiagonal: &'a [f64],
    /// Place of each unknown in the order of elimination, before pivots were exchanged within supernodes (n).
    pub(crate) order: Option<&'a [u32]>,
    /// The exchange (n).
    pub(crate) pivots: &'a [u32],
}

/// A visited supernode, and how many numbers belong to it.
type Visit = (u32, u32);

/// `x` and `D⁻¹ x` of vectors eliminated so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForwardSolves {
    visits: Vec<Visit>,
    x: Vec<f64>,
    scaled: Vec<f64>,
    /// Where the visits and the numbers of each vector begin; one more at the end.
    begins: Vec<(usize, usize)>,
    /// Supernode of each place (n).
    node_of: Vec<u32>,
    work: Vec<f64>,
    waiting: Vec<bool>,
}

impl ForwardSolves {
    /// Forgets all vectors.
    pub(crate) fn clear(&mut self) {
        self.visits.clear();
        self.x.clear();
        self.scaled.clear();
        self.begins.clear();
        self.node_of.clear();
    }

    /// Whether no vector was eliminated.
    pub(crate) fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Eliminates the vector with these entries.
    pub(crate) fn push(&mut self, half: Forward<'_>, cols: &[usize], values: &[f64]) {
        if self.node_of.is_empty() {
            self.prepare(half);
        }
        let place =
            |i: usize| half.pivots[half.order.map_or(i, |order| order[i] as usize)] as usize;
        let mut first = self.waiting.len();
        for (&col, value) in cols.iter().zip(values) {
            let place = place(col);
            let node = self.node_of[place] as usize;
            self.work[place] += value;
            self.waiting[node] = true;
            first = first.min(node);
        }
        for node in first..self.waiting.len() {
            if std::mem::take(&mut self.waiting[node]) {
                self.visit(half, node);
            }
        }
        self.begins.push((self.visits.len(), self.x.len()));
    }

    fn prepare(&mut self, half: Forward<'_>) {
        let nodes = half.symbolic.n_supernodes();
        for (node, (begin, end)) in (0..).zip(
            half.symbolic
                .supernode_begin()
                .iter()
                .zip(half.symbolic.supernode_end()),
        ) {
            self.node_of.extend((*begin..*end).map(|_| node));
        }
        self.work.clear();
        self.work.resize(half.symbolic.nrows(), 0.0);
        self.waiting.clear();
        self.waiting.resize(nodes, false);
        self.begins.push((0, 0));
    }

    /// Eliminates the unknowns of a supernode, and takes them from `work`.
    fn visit(&mut self, half: Forward<'_>, node: usize) {
        let symbolic = half.symbolic.supernode(node);
        let (begin, below) = (symbolic.start(), symbolic.pattern());
        let size = half.symbolic.supernode_end()[node] as usize - begin;
        let height = size + below.len();
        let first = half.symbolic.col_ptr_for_val()[node] as usize;
        let block = &half.values[first..first + height * size];
        let from = self.x.len();
        for (k, column) in block.chunks_exact(height).enumerate() {
            let x = std::mem::take(&mut self.work[begin + k]);
            self.x.push(x);
            if x == 0.0 {
                continue;
            }
            let (top, bottom) = column.split_at(size);
            for (to, l) in self.work[begin + k + 1..].iter_mut().zip(&top[k + 1..]) {
                *to -= l * x;
            }
            for (&row, l) in below.iter().zip(bottom) {
                self.work[half.pivots[row as usize] as usize] -= l * x;
            }
        }
        if let Some(&row) = below.first() {
            self.waiting[self.node_of[row as usize] as usize] = true;
        }
        let x = &self.x[from..];
        let mut k = 0;
        while k < size {
            let (d, beside) = (block[k * height + k], half.subdiagonal[begin + k]);
            if beside == 0.0 {
                self.scaled.push(x[k] / d);
                k += 1;
            } else {
                let other = block[(k + 1) * height + k + 1];
                let determinant = (d / beside) * (other / beside) - 1.0;
                let (a, b) = (x[k] / beside, x[k + 1] / beside);
                self.scaled.push(((other / beside) * a - b) / determinant);
                self.scaled.push(((d / beside) * b - a) / determinant);
                k += 2;
            }
        }
        #[allow(clippy::cast_possible_truncation)] // rows are numbered in 32 bits
        self.visits.push((node as u32, size as u32));
    }

    /// `w_i A⁻¹ w_jᵀ` of the vectors eliminated as `i`-th and `j`-th.
    pub(crate) fn product(&self, i: usize, j: usize) -> f64 {
        let visits = |k: usize| &self.visits[self.begins[k].0..self.begins[k + 1].0];
        let (mut left, mut right) = (visits(i).iter(), visits(j).iter());
        let (mut at, mut to) = (self.begins[i].1, self.begins[j].1);
        let (mut one, mut other) = (left.next(), right.next());
        let mut sum = 0.0;
        while let (Some(&(a, m)), Some(&(b, n))) = (one, other) {
            let (m, n) = (m as usize, n as usize);
            let order = a.cmp(&b);
            if order == Ordering::Equal {
                sum += dot(&self.x[at..at + m], &self.scaled[to..to + n]);
            }
            if order != Ordering::Greater {
                at += m;
                one = left.next();
            }
            if order != Ordering::Less {
                to += n;
                other = right.next();
            }
        }
        sum
    }
}
