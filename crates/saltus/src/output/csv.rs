//! `trajectory.csv`: comma-separated text, one header line, then one line per row.
//!
//! Numbers are the shortest decimals that read back to the same 64 bits; an empty cell is empty. Only
//! whole lines reach the file, at least once per second, so that it can be read while the run goes on; until its end it is
//! called `trajectory.csv.partial`.

use crate::columns::{Column, Quantity};
use crate::output::lines::{Lines, push_number};
use crate::output::{Header, OutputError, RowSink};
use crate::trajectory::Trajectory;
use std::fs::File;
use std::io::{Read as _, Take, Write};
use std::path::{Path, PathBuf};

/// The words of a state column, by the number that stands for each elsewhere.
const STATES: [(f64, &str); 3] = [(0.0, "open"), (1.0, "stick"), (2.0, "slip")];

/// How the values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Number,
    Whole,
    State,
}

/// Writes rows as CSV, in constant memory.
#[derive(Debug)]
pub struct CsvWriter {
    lines: Lines,
    /// How each column is written.
    forms: Vec<Form>,
}

impl CsvWriter {
    /// A writer to `path`, which is created or replaced when the run ends; until then it is called `NAME.partial`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            lines: Lines::new(path.into()),
            forms: Vec::new(),
        }
    }
}

impl CsvWriter {
    /// Goes on after `length` bytes.
    pub(crate) fn go_on(&mut self, header: &Header, length: u64) -> Result<(), OutputError> {
        self.forms = forms(header);
        self.lines.go_on(length)
    }

    /// The file until it is complete, and the bytes of all rows so far.
    pub(crate) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }
}

/// How the columns are written.
fn forms(header: &Header) -> Vec<Form> {
    let form = |c: &Column| match c.quantity() {
        Quantity::Iterations => Form::Whole,
        Quantity::State => Form::State,
        _ => Form::Number,
    };
    header.columns.iter().map(form).collect()
}

impl RowSink for CsvWriter {
    fn begin(&mut self, header: &Header) -> Result<(), OutputError> {
        self.forms = forms(header);
        let names = header.columns.iter().map(Column::name);
        self.lines.create(names, 32 * header.columns.len())
    }

    #[inline]
    fn row(&mut self, row: &[f64]) -> Result<(), OutputError> {
        let text = self.lines.text();
        for (value, form) in row.iter().zip(&self.forms) {
            if *form == Form::State {
                let word = STATES.iter().find(|(code, _)| code == value);
                let word = word.map_or("", |(_, word)| word);
                text.extend_from_slice(word.as_bytes());
            } else if *form == Form::Whole && (0.0..10.0).contains(value) {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                text.push(b'0' + *value as u8);
            } else if *form == Form::Whole {
                let _ = write!(text, "{value}"); // writing to memory does not fail
            } else {
                push_number(text, *value);
            }
            text.push(b',');
        }
        self.lines.end_line()
    }

    fn end(&mut self) -> Result<(), OutputError> {
        self.lines.close()
    }
}

/// Reads a trajectory written by [`CsvWriter`]; an empty cell is NaN.
///
/// # Errors
/// Where the file cannot be read or a cell is not a number; names file and line.
pub fn read_csv(path: impl AsRef<Path>) -> Result<Trajectory, OutputError> {
    let mut table = Table::open(path.as_ref(), u64::MAX)?;
    let mut trajectory = Trajectory::new(table.columns.clone());
    while let Some(row) = table.next()? {
        trajectory.push(row);
    }
    Ok(trajectory)
}

/// A trajectory that is read row by row.
pub(crate) struct Table {
    path: PathBuf,
    reader: csv::Reader<Take<File>>,
    record: csv::StringRecord,
    pub(crate) columns: Vec<Column>,
    row: Vec<f64>,
}

impl Table {
    /// Begins to read the first `length` bytes of a file.
    pub(crate) fn open(path: &Path, length: u64) -> Result<Self, OutputError> {
        let file = File::open(path).map_err(OutputError::io("read", path))?;
        let mut reader = csv::Reader::from_reader(file.take(length));
        let header = reader
            .headers()
            .map_err(|e| parse(path, 1, e.to_string()))?;
        let columns = header.iter().map(Column::new).collect();
        Ok(Self {
            path: path.to_owned(),
            reader,
            record: csv::StringRecord::new(),
            columns,
            row: Vec::new(),
        })
    }

    /// The next row, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<&[f64]>, OutputError> {
        let line = self.reader.position().line();
        match self.reader.read_record(&mut self.record) {
            Ok(true) => (),
            Ok(false) => return Ok(None),
            Err(error) => return Err(parse(&self.path, line, error.to_string())),
        }
        self.row.clear();
        for (cell, column) in self.record.iter().zip(&self.columns) {
            let state = STATES.iter().find(|(_, word)| *word == cell);
            let value = if cell.is_empty() {
                Ok(f64::NAN)
            } else if let Some((code, _)) = state
                && column.quantity() == Quantity::State
            {
                Ok(*code)
            } else {
                cell.parse()
            };
            self.row.push(value.map_err(|_| {
                let reason = format!("`{cell}` in column `{}` is not a number", column.name());
                parse(&self.path, line, reason)
            })?);
        }
        Ok(Some(&self.row))
    }
}

fn parse(path: &Path, line: u64, reason: String) -> OutputError {
    OutputError::Parse {
        path: path.to_owned(),
        line,
        reason,
    }
}
