//! Last, smallest and largest value of every column of a run, without the run itself.

use crate::columns::{Column, Layout, Selection};
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;

/// What a column was at the end and at most; NaN where it never had a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extremes {
    /// In the last row.
    pub last: f64,
    /// The smallest of all rows.
    pub min: f64,
    /// The largest of all rows.
    pub max: f64,
}

/// Follows every column of a run in constant memory.
#[derive(Debug, Clone, Default)]
pub struct ExtremesRecorder {
    selection: Selection,
    layout: Layout,
    columns: Vec<Column>,
    row: Vec<f64>,
    min: Vec<f64>,
    max: Vec<f64>,
}

impl ExtremesRecorder {
    /// For a run to come.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows these coordinates only, and derived columns.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// The columns, once the run has begun.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What became of the column called `name`; `None` where there is none.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Extremes> {
        let column = self.columns.iter().position(|c| c.name() == name)?;
        Some(Extremes {
            last: self.row[column],
            min: self.min[column],
            max: self.max[column],
        })
    }
}

impl Observer for ExtremesRecorder {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        let (layout, columns) = Layout::new(info, &self.selection)?;
        let width = layout.width();
        *self = Self {
            selection: std::mem::take(&mut self.selection),
            layout,
            columns,
            row: vec![0.0; width],
            min: vec![f64::NAN; width],
            max: vec![f64::NAN; width],
        };
        self.frame(first).map(|_| ())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        self.layout.fill(frame, &mut self.row);
        for ((value, min), max) in self.row.iter().zip(&mut self.min).zip(&mut self.max) {
            // What is no number is neither small nor large.
            *min = min.min(*value);
            *max = max.max(*value);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(())
    }
}
