//! A sparse matrix in compressed columns: the mass and direction matrices of a global problem.

/// Sparse matrix, compressed columns, row indices ascending in each column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    rows: usize,
    start: Vec<usize>,
    index: Vec<usize>,
    values: Vec<f64>,
}

impl SparseMatrix {
    /// From entries `(row, column, value)` in any order; repeated ones add up, zeros are dropped.
    #[must_use]
    pub fn from_triplets(rows: usize, cols: usize, entries: &[(usize, usize, f64)]) -> Self {
        let mut start = vec![0; cols + 1];
        for &(_, j, _) in entries {
            start[j + 1] += 1;
        }
        for j in 0..cols {
            start[j + 1] += start[j];
        }
        let mut next = start.clone();
        let mut sorted = vec![(0, 0.0); entries.len()];
        for &(i, j, v) in entries {
            sorted[next[j]] = (i, v);
            next[j] += 1;
        }
        let mut matrix = Self {
            rows,
            start: vec![0],
            index: Vec::new(),
            values: Vec::new(),
        };
        for j in 0..cols {
            let column = &mut sorted[start[j]..start[j + 1]];
            column.sort_by_key(|e| e.0);
            let mut k = 0;
            while k < column.len() {
                let row = column[k].0;
                let mut sum = 0.0;
                while k < column.len() && column[k].0 == row {
                    sum += column[k].1;
                    k += 1;
                }
                if sum != 0.0 {
                    matrix.index.push(row);
                    matrix.values.push(sum);
                }
            }
            matrix.start.push(matrix.index.len());
        }
        matrix
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Number of stored entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Rows and values of column `j`.
    pub fn column(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.start[j]..self.start[j + 1];
        self.index[range.clone()]
            .iter()
            .copied()
            .zip(self.values[range].iter().copied())
    }

    /// All entries `(row, column, value)`, column by column.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.cols()).flat_map(move |j| self.column(j).map(move |(i, v)| (i, j, v)))
    }

    /// `y ← y + alpha A x`.
    pub fn apply_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        for (j, &x) in x.iter().enumerate() {
            if x != 0.0 {
                for (i, v) in self.column(j) {
                    y[i] += alpha * v * x;
                }
            }
        }
    }

    /// `y ← y + alpha Aᵀ x`.
    pub fn apply_transposed_add(&self, alpha: f64, x: &[f64], y: &mut [f64]) {
        for (j, y) in y.iter_mut().enumerate() {
            *y += alpha * self.column(j).map(|(i, v)| v * x[i]).sum::<f64>();
        }
    }

    /// The matrix with both triangles where only one is stored: `A + Aᵀ − diag A` if all entries on
    /// one side of the diagonal vanish, a copy otherwise.
    #[must_use]
    pub fn completed(&self) -> Self {
        let (mut lower, mut upper) = (false, false);
        for (i, j, _) in self.triplets() {
            lower |= i > j;
            upper |= i < j;
        }
        if lower == upper {
            return self.clone();
        }
        let mut entries: Vec<_> = self.triplets().collect();
        entries.extend(
            self.triplets()
                .filter(|e| e.0 != e.1)
                .map(|(i, j, v)| (j, i, v)),
        );
        Self::from_triplets(self.rows, self.cols(), &entries)
    }
}
