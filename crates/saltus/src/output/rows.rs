//! The stream of rows from a run to its files.

use crate::columns::{Column, Layout, Selection};
use crate::observe::{Closures, Thinning};
use crate::output::OutputError;
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;

/// What stands above the rows of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Header {
    /// The columns; a row has one value per column, NaN for an empty cell.
    pub columns: Vec<Column>,
    /// Name of the model.
    pub model: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Length of a step \[s\].
    pub step: f64,
}

/// Takes rows one by one and puts them into a file.
pub trait RowSink: Send {
    /// Rows will follow.
    ///
    /// # Errors
    /// Where the file cannot be created.
    fn begin(&mut self, header: &Header) -> Result<(), OutputError>;

    /// Takes a row.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn row(&mut self, row: &[f64]) -> Result<(), OutputError>;

    /// No row will follow: completes the file.
    ///
    /// # Errors
    /// Where it cannot be completed.
    fn end(&mut self) -> Result<(), OutputError>;
}

/// An observer that gives the rows of a run, all or thinned, to sinks.
pub struct RowStream {
    model: String,
    selection: Selection,
    layout: Layout,
    row: Vec<f64>,
    thinning: Thinning,
    closures: Closures,
    sinks: Vec<Box<dyn RowSink>>,
}

impl RowStream {
    /// A stream without sinks that keeps every row; `model` is written to files that can hold it.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            selection: Selection::default(),
            layout: Layout::default(),
            row: Vec::new(),
            thinning: Thinning::new(1),
            closures: Closures::default(),
            sinks: Vec::new(),
        }
    }

    /// Keeps rows whose step is a multiple of `n`, the last row, and every impact with the row before it.
    #[must_use]
    pub fn every(mut self, n: u64) -> Self {
        self.thinning = Thinning::new(n);
        self
    }

    /// Keeps these coordinates only.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn to(mut self, sink: impl RowSink + 'static) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// The last row that was seen, kept or not.
    pub(crate) fn last_row(&self) -> &[f64] {
        &self.row
    }

    /// Opens the files and writes the first row; returns the columns.
    pub(crate) fn open(
        &mut self,
        info: &RunInfo<'_>,
        first: &Frame<'_>,
    ) -> Result<Vec<Column>, OutputError> {
        let (layout, columns) = Layout::new(info, &self.selection)?;
        self.layout = layout;
        self.row = vec![0.0; self.layout.width()];
        let header = Header {
            columns,
            model: self.model.clone(),
            scheme: info.scheme.to_owned(),
            step: info.plan.step,
        };
        for sink in &mut self.sinks {
            sink.begin(&header)?;
        }
        self.take(first, true)?; // the first row is always kept
        Ok(header.columns)
    }

    /// Takes a frame; `impact` says whether a contact closed in it.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Frame<'_>, impact: bool) -> Result<(), OutputError> {
        let Self {
            layout,
            row,
            thinning,
            sinks,
            ..
        } = self;
        layout.fill(frame, row);
        if thinning.keeps_all() {
            return give(sinks, row);
        }
        thinning.take(frame.step, impact, row, |row| give(sinks, row))
    }

    /// Completes all files and returns the first complaint.
    pub(crate) fn close(&mut self) -> Result<(), OutputError> {
        let mut outcome = self
            .thinning
            .finish()
            .map_or(Ok(()), |row| give(&mut self.sinks, row));
        for sink in &mut self.sinks {
            let result = sink.end();
            if outcome.is_ok() {
                outcome = result;
            }
        }
        outcome
    }
}

fn give(sinks: &mut [Box<dyn RowSink>], row: &[f64]) -> Result<(), OutputError> {
    for sink in sinks {
        sink.row(row)?;
    }
    Ok(())
}

impl Observer for RowStream {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        self.closures.begin(first, None);
        self.open(info, first)?;
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        let impact = !self.thinning.keeps_all() && self.closures.update(frame, |_, _, _| ());
        self.take(frame, impact)?;
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(self.close()?)
    }
}
