//! A square matrix of small square blocks in compressed rows: the Delassus operator.

use crate::union_find::UnionFind;

/// Block-sparse square matrix; block columns ascend in each row and the diagonal block is always there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockMatrix {
    dimension: usize,
    start: Vec<usize>,
    cols: Vec<usize>,
    /// Row-major blocks in the order of `cols`.
    values: Vec<f64>,
    /// Place of the diagonal block of each row in `cols`.
    diagonal: Vec<usize>,
}

impl BlockMatrix {
    /// From scalar entries `(row, column, value)` in any order; repeated ones add up.
    /// `blocks` block rows of size `dimension`.
    #[must_use]
    pub fn from_triplets(
        dimension: usize,
        blocks: usize,
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Self {
        let mut list: Vec<(usize, usize, usize, f64)> =
            (0..blocks).map(|i| (i, i, 0, 0.0)).collect();
        for (i, j, v) in entries {
            if v != 0.0 {
                list.push((
                    i / dimension,
                    j / dimension,
                    (i % dimension) * dimension + j % dimension,
                    v,
                ));
            }
        }
        list.sort_by_key(|e| (e.0, e.1));
        let size = dimension * dimension;
        let mut m = Self {
            dimension,
            start: vec![0; blocks + 1],
            ..Self::default()
        };
        let mut previous = None;
        for (i, j, position, v) in list {
            if previous != Some((i, j)) {
                if i == j {
                    m.diagonal.push(m.cols.len());
                }
                m.cols.push(j);
                m.values.resize(m.cols.len() * size, 0.0);
                m.start[i + 1] += 1;
                previous = Some((i, j));
            }
            let at = m.values.len() - size + position;
            m.values[at] += v;
        }
        for i in 0..blocks {
            m.start[i + 1] += m.start[i];
        }
        m
    }

    /// Size of one block.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of block rows.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.diagonal.len()
    }

    /// Number of stored blocks.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.cols.len()
    }

    /// Block columns of block row `i`.
    #[inline]
    #[must_use]
    pub fn cols(&self, i: usize) -> &[usize] {
        &self.cols[self.start[i]..self.start[i + 1]]
    }

    /// Blocks of row `i`, one after the other, row-major.
    #[inline]
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        let size = self.dimension * self.dimension;
        &self.values[self.start[i] * size..self.start[i + 1] * size]
    }

    /// The entries of all blocks.
    pub(crate) fn entries(&self) -> &[f64] {
        &self.values
    }

    /// The diagonal block of row `i`, row-major.
    #[inline]
    #[must_use]
    pub fn diagonal(&self, i: usize) -> &[f64] {
        let size = self.dimension * self.dimension;
        &self.values[self.diagonal[i] * size..][..size]
    }

    /// `y ← A x`.
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        match self.dimension {
            2 => self.apply_sized::<2>(x, y),
            3 => self.apply_sized::<3>(x, y),
            _ => self.apply_sized::<5>(x, y),
        }
    }

    fn apply_sized<const D: usize>(&self, x: &[f64], y: &mut [f64]) {
        let (x, _) = x.as_chunks::<D>();
        let (y, _) = y.as_chunks_mut::<D>();
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.row_dot::<D>(i, x);
        }
    }

    /// Block row `i` times `x`.
    #[inline]
    pub(crate) fn row_dot<const D: usize>(&self, i: usize, x: &[[f64; D]]) -> [f64; D] {
        let mut sums = [[0.0; D]; D];
        let (rows, _) = self.row(i).as_chunks::<D>();
        for (block, &j) in rows.chunks_exact(D).zip(self.cols(i)) {
            accumulate(&mut sums, block, &x[j]);
        }
        row_sums(&sums)
    }

    /// All scalar entries `(row, column, value)`.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let d = self.dimension;
        (0..self.blocks()).flat_map(move |i| {
            let blocks = self.row(i).chunks_exact(d * d);
            self.cols(i)
                .iter()
                .zip(blocks)
                .flat_map(move |(&j, block)| {
                    block
                        .iter()
                        .enumerate()
                        .map(move |(k, &v)| (i * d + k / d, j * d + k % d, v))
                })
        })
    }

    /// `‖A − Aᵀ‖_F / ‖A‖_F`, 0 of a zero matrix.
    #[must_use]
    pub fn asymmetry(&self) -> f64 {
        let (d, size) = (self.dimension, self.dimension * self.dimension);
        let (mut difference, mut total) = (0.0, 0.0);
        // Rows ascend, and so do the columns of each: the mirror of a block is the next of its row.
        let mut next = self.start.clone();
        for i in 0..self.blocks() {
            for (&j, block) in self.cols(i).iter().zip(self.row(i).chunks_exact(size)) {
                while next[j] < self.start[j + 1] && self.cols[next[j]] < i {
                    next[j] += 1;
                }
                let stored = next[j] < self.start[j + 1] && self.cols[next[j]] == i;
                let mirror = stored.then(|| &self.values[next[j] * size..][..size]);
                for k in 0..size {
                    let other = mirror.map_or(0.0, |m| m[(k % d) * d + k / d]);
                    difference += (block[k] - other).powi(2) * if stored { 1.0 } else { 2.0 };
                    total += block[k].powi(2);
                }
            }
        }
        if total > 0.0 {
            (difference / total).sqrt()
        } else {
            0.0
        }
    }

    /// Block `(i, j)`, row-major, if it is stored.
    #[must_use]
    pub fn block(&self, i: usize, j: usize) -> Option<&[f64]> {
        let size = self.dimension * self.dimension;
        let k = self.cols(i).binary_search(&j).ok()?;
        Some(&self.values[(self.start[i] + k) * size..][..size])
    }
}

impl BlockMatrix {
    /// Every block times `factor(row, column)`.
    pub(crate) fn scaled(&self, factor: impl Fn(usize, usize) -> f64) -> Self {
        let size = self.dimension * self.dimension;
        let mut m = self.clone();
        for i in 0..self.blocks() {
            for k in self.start[i]..self.start[i + 1] {
                let f = factor(i, self.cols[k]);
                for v in &mut m.values[k * size..(k + 1) * size] {
                    *v *= f;
                }
            }
        }
        m
    }

    /// The rows and columns `members` (ascending) as a matrix of their own; entries elsewhere are dropped.
    pub(crate) fn part(&self, members: &[usize]) -> Self {
        let size = self.dimension * self.dimension;
        // A list of all places pays for many members only.
        let few = 16 * members.len() < self.blocks();
        let mut position = vec![usize::MAX; if few { 0 } else { self.blocks() }];
        if !few {
            for (k, &i) in members.iter().enumerate() {
                position[i] = k;
            }
        }
        let position = |j: usize| {
            if few {
                members.binary_search(&j).ok()
            } else {
                Some(position[j]).filter(|k| *k != usize::MAX)
            }
        };
        let mut m = Self {
            dimension: self.dimension,
            start: vec![0],
            ..Self::default()
        };
        for (k, &i) in members.iter().enumerate() {
            for (&j, block) in self.cols(i).iter().zip(self.row(i).chunks_exact(size)) {
                if let Some(at) = position(j) {
                    if at == k {
                        m.diagonal.push(m.cols.len());
                    }
                    m.cols.push(at);
                    m.values.extend_from_slice(block);
                }
            }
            m.start.push(m.cols.len());
        }
        m
    }

    /// Block row `i` times `x` without the diagonal block.
    #[inline]
    pub(crate) fn row_dot_off_diagonal<const D: usize>(
        &self,
        i: usize,
        x: &[[f64; D]],
    ) -> [f64; D] {
        let mut sums = [[0.0; D]; D];
        let size = D * D;
        let (begin, middle, end) = (self.start[i], self.diagonal[i], self.start[i + 1]);
        for range in [begin..middle, middle + 1..end] {
            let (rows, _) = self.values[range.start * size..range.end * size].as_chunks::<D>();
            for (block, &j) in rows.chunks_exact(D).zip(&self.cols[range]) {
                accumulate(&mut sums, block, &x[j]);
            }
        }
        row_sums(&sums)
    }

    /// Connected components of the graph of the blocks, each ascending, in the order of their first member.
    pub(crate) fn components(&self) -> Vec<Vec<usize>> {
        let mut sets = UnionFind::new(self.blocks());
        for i in 0..self.blocks() {
            for &j in self.cols(i) {
                sets.unite(i, j);
            }
        }
        sets.sets()
    }
}

/// `sums ← sums + block · diag(x)`: every entry has an accumulator of its own, so that no sum waits for another.
#[inline]
pub(crate) fn accumulate<const D: usize>(
    sums: &mut [[f64; D]; D],
    block: &[[f64; D]],
    x: &[f64; D],
) {
    for (sums, line) in sums.iter_mut().zip(block) {
        for k in 0..D {
            sums[k] += line[k] * x[k];
        }
    }
}

/// The sums of the rows.
#[inline]
pub(crate) fn row_sums<const D: usize>(sums: &[[f64; D]; D]) -> [f64; D] {
    sums.map(|line| line.iter().fold(0.0, |sum, v| sum + v))
}
