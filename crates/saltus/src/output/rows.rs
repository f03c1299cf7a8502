//! The stream of rows from a run to its files.

use crate::columns::{Column, Layout, Selection};
use crate::observe::{Closures, Thinning};
use crate::output::csv::Table;
use crate::output::{CsvWriter, OutputError};
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
    files: Files,
}

/// Where rows go.
#[derive(Default)]
struct Files {
    /// The table that a run goes on with.
    table: Option<CsvWriter>,
    others: Vec<Box<dyn RowSink>>,
}

impl Files {
    fn each(&mut self) -> impl Iterator<Item = &mut dyn RowSink> {
        let table = self.table.as_mut().map(|t| t as &mut dyn RowSink);
        let others = self.others.iter_mut().map(|s| &mut **s as &mut dyn RowSink);
        table.into_iter().chain(others)
    }

    #[inline]
    fn row(&mut self, row: &[f64]) -> Result<(), OutputError> {
        if let Some(table) = &mut self.table {
            table.row(row)?;
        }
        for sink in &mut self.others {
            sink.row(row)?;
        }
        Ok(())
    }
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
            files: Files::default(),
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
        self.files.others.push(Box::new(sink));
        self
    }

    /// Adds the table from which the others are filled again where a run goes on.
    pub(crate) fn table(mut self, table: CsvWriter) -> Self {
        self.files.table = Some(table);
        self
    }

    /// Bytes of the table so far, and the last row where it is not in it.
    pub(crate) fn so_far(&mut self) -> Option<(u64, Option<Vec<f64>>)> {
        let length = self.files.table.as_mut()?.lines().length()?;
        Some((length, self.thinning.pending().map(<[f64]>::to_vec)))
    }

    /// Writes the rows of the table that wait.
    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        let table = self.files.table.as_mut();
        table.map_or(Ok(()), |table| table.lines().flush())
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
        let header = self.header(info)?;
        for sink in self.files.each() {
            sink.begin(&header)?;
        }
        self.take(first, true)?; // the first row is always kept
        Ok(header.columns)
    }

    /// The columns of a run to come.
    pub(crate) fn header(&mut self, info: &RunInfo<'_>) -> Result<Header, OutputError> {
        let (layout, columns) = Layout::new(info, &self.selection)?;
        self.layout = layout;
        self.row = vec![0.0; self.layout.width()];
        Ok(Header {
            columns,
            model: self.model.clone(),
            scheme: info.scheme.to_owned(),
            step: info.plan.step,
        })
    }

    /// Looks at the frame that a run goes on from, whose row is written already: rates over a step begin there.
    pub(crate) fn see(&mut self, first: &Frame<'_>) {
        self.layout.fill(first, &mut self.row);
    }

    /// Goes on after `length` bytes of the table and `pending`, a last row that is not in it; fills the other files with the
    /// rows of the table.
    pub(crate) fn go_on(
        &mut self,
        header: &Header,
        length: u64,
        pending: Option<Vec<f64>>,
    ) -> Result<(), OutputError> {
        self.thinning.go_on(pending);
        let Some(table) = &mut self.files.table else {
            return Ok(());
        };
        table.go_on(header, length)?;
        if self.files.others.is_empty() {
            return Ok(());
        }
        let mut rows = Table::open(table.lines().partial(), length)?;
        for sink in &mut self.files.others {
            sink.begin(header)?;
        }
        while let Some(row) = rows.next()? {
            for sink in &mut self.files.others {
                sink.row(row)?;
            }
        }
        Ok(())
    }

    /// Takes a frame; `impact` says whether a contact closed in it.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Frame<'_>, impact: bool) -> Result<(), OutputError> {
        let Self {
            layout,
            row,
            thinning,
            files,
            ..
        } = self;
        layout.fill(frame, row);
        if thinning.keeps_all() {
            return files.row(row);
        }
        thinning.take(frame.step, impact, row, |row| files.row(row))
    }

    /// Completes all files and returns the first complaint.
    pub(crate) fn close(&mut self) -> Result<(), OutputError> {
        let mut outcome = self
            .thinning
            .finish()
            .map_or(Ok(()), |row| self.files.row(row));
        for sink in self.files.each() {
            let result = sink.end();
            if outcome.is_ok() {
                outcome = result;
            }
        }
        outcome
    }

    /// Leaves the files as they are.
    pub(crate) fn abandon(&mut self) {
        self.files = Files::default();
    }
}

impl Observer for RowStream {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        self.closures.begin(first, None);
        self.open(info, first)?;
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        let impact = !self.thinning.keeps_all() && self.closures.update(frame);
        self.take(frame, impact)?;
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(self.close()?)
    }
}
