//! A contact problem as plain data.

use super::block::Block;
use super::{ContactProblem, matrix::Matrix};

/// The data of a [`ContactProblem`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContactData {
    /// Ids of the blocks.
    pub ids: Vec<u64>,
    /// The blocks in the order of their rows.
    pub blocks: Vec<Block>,
    /// Entries `(row, column, value)` of `A` that are not zero, row by row.
    pub matrix: Vec<(usize, usize, f64)>,
    /// Whether the matrix was given by its entries, not as a dense one.
    pub sparse: bool,
    /// Free velocities `q` (rows) [m/s].
    pub q: Vec<f64>,
    /// Impulses `z` (rows) [N s]: the guess, or the solution.
    pub z: Vec<f64>,
}

/// The parts of the data do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactDataError {
    /// A list has the wrong length.
    #[error("{what} has {found} entries, the blocks ask for {expected}")]
    Size {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that the blocks imply.
        expected: usize,
    },
    /// The coefficients or bounds of a law are not admissible.
    #[error(
        "the law of block {block} makes no sense; coefficients are finite and not negative, `lo` is at most `hi`, and the rows that carry a joint are equalities"
    )]
    Law {
        /// The block, from 0.
        block: usize,
    },
    /// An entry of the matrix is outside of it.
    #[error("entry ({row}, {column}) of the matrix is outside its {rows} rows and columns")]
    Entry {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// Rows of the problem.
        rows: usize,
    },
}

impl ContactProblem {
    /// The problem as plain data, from which [`from_data`](Self::from_data) restores it.
    #[must_use]
    pub fn data(&self) -> ContactData {
        let mut matrix = Vec::new();
        let stored = self.matrix();
        stored.visit(|i, j, v| matrix.push((i, j, v)));
        ContactData {
            ids: self.ids.clone(),
            blocks: self.blocks.clone(),
            matrix,
            sparse: matches!(stored, Matrix::Rows(_)),
            q: self.q.clone(),
            z: self.z.clone(),
        }
    }

    /// The problem of `data`.
    ///
    /// # Errors
    /// [`ContactDataError`] where the parts do not fit together.
    pub fn from_data(data: &ContactData) -> Result<Self, ContactDataError> {
        let mut problem = Self::default();
        let expected = data.blocks.len();
        let size = |what, found, expected| {
            if found == expected {
                Ok(())
            } else {
                Err(ContactDataError::Size {
                    what,
                    found,
                    expected,
                })
            }
        };
        size("ids", data.ids.len(), expected)?;
        problem.begin();
        for (&id, &block) in data.ids.iter().zip(&data.blocks) {
            problem.push(id, block);
        }
        let rows = problem.rows();
        let wrong = |block: &Block| !problem.is_valid(*block);
        if let Some(block) = problem.blocks.iter().position(wrong) {
            return Err(ContactDataError::Law { block });
        }
        size("q", data.q.len(), rows)?;
        size("z", data.z.len(), rows)?;
        if data.sparse {
            problem.begin_sparse();
        }
        for &(row, column, value) in &data.matrix {
            if row >= rows || column >= rows {
                return Err(ContactDataError::Entry { row, column, rows });
            }
            problem.add(row, column, value);
        }
        problem.q.copy_from_slice(&data.q);
        problem.z.copy_from_slice(&data.z);
        problem.prepare();
        Ok(problem)
    }
}
