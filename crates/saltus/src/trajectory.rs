//! A trajectory in memory: one row per step, stored flat and row by row.

use crate::columns::Column;
use crate::observe::Outcome;

/// Values by which the storage grows at once, rounded up to whole rows: few enough to stay in the cache.
const BLOCK: usize = 512;

/// The recorded rows of a run; row 0 is the initial state.
///
/// An empty cell (a force where the scheme has none, the gap of a contact that was not near) is NaN.
#[derive(Debug, Clone, Default)]
pub struct Trajectory {
    columns: Vec<Column>,
    /// Row by row; grows by blocks of rows, of which the first `filled` values count.
    values: Vec<f64>,
    filled: usize,
    outcome: Option<Outcome>,
}

/// There is no column of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column `{name}`; the columns are {}", columns.join(", "))]
pub struct UnknownColumn {
    /// The name asked for.
    pub name: String,
    /// The names there are.
    pub columns: Vec<String>,
}

impl Trajectory {
    /// An empty trajectory with these columns.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }

    /// Makes room for `rows` more rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows.saturating_mul(self.columns.len()));
    }

    /// Appends a row, one value per column.
    pub(crate) fn push(&mut self, row: &[f64]) {
        self.next_row().copy_from_slice(row);
    }

    /// Appends a row that is to be filled, one value per column.
    #[inline]
    pub(crate) fn next_row(&mut self) -> &mut [f64] {
        let (start, end) = (self.filled, self.filled + self.columns.len());
        if end > self.values.len() {
            self.grow();
        }
        self.filled = end;
        &mut self.values[start..end]
    }

    #[cold]
    fn grow(&mut self) {
        let width = self.columns.len();
        self.values
            .resize(self.filled + BLOCK.next_multiple_of(width), 0.0);
    }

    /// The values that count.
    fn filled(&self) -> &[f64] {
        &self.values[..self.filled]
    }

    /// The columns, in their order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The names of the columns, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(Column::name)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filled.checked_div(self.columns.len()).unwrap_or(0)
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Row `k`, one value per column; `None` past the end.
    #[must_use]
    pub fn row(&self, k: usize) -> Option<&[f64]> {
        let width = self.columns.len();
        self.filled()
            .get(k.checked_mul(width)?..)?
            .get(..width)
            .filter(|row| !row.is_empty())
    }

    /// All rows, in time.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.filled().chunks_exact(self.columns.len().max(1))
    }

    /// The times of the rows \[s\].
    #[must_use]
    pub fn t(&self) -> Series<'_> {
        self.series(0)
    }

    /// A column by its full name, e.g. `q.y` or `impulse.floor`.
    ///
    /// # Errors
    /// [`UnknownColumn`], which lists the names there are.
    pub fn column(&self, name: &str) -> Result<Series<'_>, UnknownColumn> {
        match self.columns.iter().position(|c| c.name() == name) {
            Some(index) => Ok(self.series(index)),
            None => Err(UnknownColumn {
                name: name.to_owned(),
                columns: self.names().map(str::to_owned).collect(),
            }),
        }
    }

    /// The row in force at time `t` \[s\]: the last one not later than `t`, `None` before the first.
    ///
    /// Nothing is interpolated, so that a velocity before an impact is never mixed with one after it.
    #[must_use]
    pub fn at(&self, t: f64) -> Option<&[f64]> {
        let times = self.t();
        let (mut low, mut high) = (0, times.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if times.get(middle).is_some_and(|at| at <= t) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1).and_then(|k| self.row(k))
    }

    /// How the run went; `None` for a trajectory read from a file.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    pub(crate) fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
    }

    fn series(&self, index: usize) -> Series<'_> {
        Series {
            values: self.filled().get(index..).unwrap_or(&[]),
            stride: self.columns.len().max(1),
        }
    }
}

/// One column of a trajectory, without a copy.
#[derive(Debug, Clone, Copy)]
pub struct Series<'a> {
    values: &'a [f64],
    stride: usize,
}

impl<'a> Series<'a> {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len().div_ceil(self.stride)
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value in row `k`.
    #[must_use]
    pub fn get(&self, k: usize) -> Option<f64> {
        self.values.get(k.checked_mul(self.stride)?).copied()
    }

    /// The value in the last row.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.len().checked_sub(1).and_then(|k| self.get(k))
    }

    /// The values in time.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> + DoubleEndedIterator + 'a {
        self.values.iter().step_by(self.stride).copied()
    }

    /// A copy.
    #[must_use]
    pub fn to_vec(&self) -> Vec<f64> {
        self.iter().collect()
    }

    /// The smallest value that is a number; NaN where there is none.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.iter().fold(f64::NAN, f64::min)
    }

    /// The largest value that is a number; NaN where there is none.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.iter().fold(f64::NAN, f64::max)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Trajectory {
        let mut trajectory = Trajectory::new(["t", "q.y"].map(Column::new).to_vec());
        for (t, y) in [(0.0, 3.0), (0.5, 2.0), (1.0, f64::NAN)] {
            trajectory.push(&[t, y]);
        }
        trajectory
    }

    #[test]
    fn columns_and_rows_agree() {
        let trajectory = sample();
        assert_eq!(trajectory.len(), 3);
        assert_eq!(trajectory.row(1), Some([0.5, 2.0].as_slice()));
        assert_eq!(trajectory.row(3), None);
        let y = trajectory.column("q.y").unwrap();
        assert_eq!((y.len(), y.min(), y.max()), (3, 2.0, 3.0));
        assert_eq!(trajectory.t().to_vec(), [0.0, 0.5, 1.0]);
        assert_eq!(trajectory.t().last(), Some(1.0));
        assert!(
            trajectory
                .column("q.x")
                .unwrap_err()
                .to_string()
                .contains("`q.x`")
        );
    }

    #[test]
    fn the_row_in_force_is_the_last_one_not_later() {
        let trajectory = sample();
        assert_eq!(trajectory.at(-0.1), None);
        assert_eq!(trajectory.at(0.5).unwrap()[1], 2.0);
        assert_eq!(trajectory.at(0.99).unwrap()[1], 2.0);
        assert_eq!(trajectory.at(7.0).unwrap()[0], 1.0);
    }

    #[test]
    fn an_empty_trajectory_answers() {
        let trajectory = Trajectory::default();
        assert_eq!(trajectory.len(), 0);
        assert!(trajectory.is_empty() && trajectory.t().is_empty());
        assert_eq!(trajectory.row(0), None);
        assert_eq!(trajectory.at(0.0), None);
    }
}
