//! `trajectory.csv`: comma-separated text, one header line, then one line per row.
//!
//! Numbers are the shortest decimals that read back to the same 64 bits; an empty cell is empty. Only
//! whole lines reach the file, at least once per second, so that it can be read while the run goes on.

use crate::columns::{Column, Quantity};
use crate::output::{Header, OutputError, RowSink};
use crate::trajectory::Trajectory;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes collected before they are written.
const BLOCK: usize = 1 << 18;
/// Longest time a row waits to be written.
const PATIENCE: Duration = Duration::from_secs(1);

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
    path: PathBuf,
    file: Option<File>,
    text: Vec<u8>,
    /// How each column is written.
    forms: Vec<Form>,
    clock: Clock,
}

impl CsvWriter {
    /// A writer to `path`, which is created or overwritten when the run begins.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            text: Vec::new(),
            forms: Vec::new(),
            clock: Clock::new(),
        }
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        if let Some(file) = &mut self.file {
            file.write_all(&self.text)
                .map_err(OutputError::io("write", &self.path))?;
        }
        self.text.clear();
        Ok(())
    }
}

impl RowSink for CsvWriter {
    fn begin(&mut self, header: &Header) -> Result<(), OutputError> {
        self.file = Some(File::create(&self.path).map_err(OutputError::io("create", &self.path))?);
        self.forms = header
            .columns
            .iter()
            .map(|c| match c.quantity() {
                Quantity::Iterations => Form::Whole,
                Quantity::State => Form::State,
                _ => Form::Number,
            })
            .collect();
        self.text = Vec::with_capacity(BLOCK + 32 * header.columns.len());
        let mut line = csv::Writer::from_writer(&mut self.text);
        line.write_record(header.columns.iter().map(Column::name))
            .map_err(|e| OutputError::encode(&self.path, e))?;
        line.flush().map_err(OutputError::io("write", &self.path))?;
        drop(line);
        self.clock = Clock::new();
        self.flush()
    }

    #[inline]
    fn row(&mut self, row: &[f64]) -> Result<(), OutputError> {
        let mut buffer = zmij::Buffer::new();
        for (value, form) in row.iter().zip(&self.forms) {
            if *form == Form::State {
                let word = STATES.iter().find(|(code, _)| code == value);
                let word = word.map_or("", |(_, word)| word);
                self.text.extend_from_slice(word.as_bytes());
            } else if *form == Form::Whole && (0.0..10.0).contains(value) {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                self.text.push(b'0' + *value as u8);
            } else if *form == Form::Whole {
                let _ = write!(self.text, "{value}"); // writing to memory does not fail
            } else if value.is_finite() {
                self.text
                    .extend_from_slice(buffer.format_finite(*value).as_bytes());
            } else if !value.is_nan() {
                self.text
                    .extend_from_slice(if *value > 0.0 { b"inf" } else { b"-inf" });
            }
            self.text.push(b',');
        }
        if let Some(last) = self.text.last_mut() {
            *last = b'\n';
        }
        if self.text.len() >= BLOCK || self.clock.is_due() {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn end(&mut self) -> Result<(), OutputError> {
        let result = self.flush();
        self.file = None;
        result
    }
}

/// Says about once per second that it is time, and looks at the clock far less often than it is asked.
#[derive(Debug)]
struct Clock {
    last_due: Instant,
    last_look: Instant,
    asked: u32,
    /// Questions between two looks.
    stride: u32,
}

impl Clock {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            last_due: now,
            last_look: now,
            asked: 0,
            stride: 1,
        }
    }

    #[inline]
    fn is_due(&mut self) -> bool {
        self.asked += 1;
        if self.asked < self.stride {
            return false;
        }
        self.look()
    }

    fn look(&mut self) -> bool {
        let now = Instant::now();
        let passed = now - self.last_look;
        (self.asked, self.last_look) = (0, now);
        if passed < PATIENCE / 100 {
            self.stride = (2 * self.stride).min(1 << 16);
        } else if passed > PATIENCE / 10 {
            self.stride = (self.stride / 8).max(1);
        }
        let due = now - self.last_due >= PATIENCE;
        if due {
            self.last_due = now;
        }
        due
    }
}

/// Reads a trajectory written by [`CsvWriter`]; an empty cell is NaN.
///
/// # Errors
/// Where the file cannot be read or a cell is not a number; names file and line.
pub fn read_csv(path: impl AsRef<Path>) -> Result<Trajectory, OutputError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(OutputError::io("read", path))?;
    let mut reader = csv::Reader::from_reader(file);
    let parse = |line: u64, reason: String| OutputError::Parse {
        path: path.to_owned(),
        line,
        reason,
    };
    let header = reader.headers().map_err(|e| parse(1, e.to_string()))?;
    let columns: Vec<_> = header.iter().map(Column::new).collect();
    let mut trajectory = Trajectory::new(columns);
    let mut record = csv::StringRecord::new();
    let mut row = Vec::new();
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(true) => (),
            Ok(false) => return Ok(trajectory),
            Err(error) => return Err(parse(line, error.to_string())),
        }
        row.clear();
        for (cell, column) in record.iter().zip(trajectory.columns()) {
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
            row.push(value.map_err(|_| {
                parse(
                    line,
                    format!("`{cell}` in column `{}` is not a number", column.name()),
                )
            })?);
        }
        trajectory.push(&row);
    }
}
