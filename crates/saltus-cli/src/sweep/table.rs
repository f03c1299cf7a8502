//! The table of a sweep, `runs.csv`: one row per run in the order of their numbers, written as they end.
//!
//! It is called `runs.csv.partial` until the last run has ended. Rows that are in it are not run again.

use saltus::Column;
use saltus::output::{Format, Header, OutputError, RowSink, SpooledWriter, write_whole};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const RUNS: &str = "runs.csv";
const DESCRIPTION: &str = "sweep.json";

/// The words of the column `stop`, by the number that stands for each in formats of numbers.
pub const STOPS: [&str; 4] = ["end-reached", "step-failed", "refused", "condition"];

/// A table that grows.
pub struct Table {
    path: PathBuf,
    partial: PathBuf,
    /// `None` where it is complete.
    writer: Option<csv::Writer<File>>,
    done: usize,
}

impl Table {
    /// Begins the table of a sweep in `directory`, or goes on with that of the same sweep.
    pub fn open(
        directory: &Path,
        description: &Value,
        header: &[String],
        force: bool,
    ) -> Result<Self, String> {
        let path = directory.join(RUNS);
        let partial = directory.join(format!("{RUNS}.partial"));
        let place = directory.join(DESCRIPTION);
        let found = fs::read_to_string(&place).ok();
        let same = found.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let is_there = path.exists() || partial.exists() || place.exists();
        if is_there && same.as_ref() != Some(description) {
            if !force {
                return Err(format!(
                    "`{}` holds {}; choose another directory with --out, or overwrite it with --force",
                    directory.display(),
                    difference(same.as_ref(), description)
                ));
            }
            for file in [&path, &partial, &place] {
                remove(file)?;
            }
        }
        let text = serde_json::to_string_pretty(description).map_err(|e| e.to_string())?;
        write_whole(&place, (text + "\n").as_bytes()).map_err(|e| e.to_string())?;
        let table = |writer, done| Self {
            path: path.clone(),
            partial: partial.clone(),
            writer,
            done,
        };
        if path.exists() {
            return Ok(table(None, rows(&path)?));
        }
        let wrong = |e: io::Error| format!("cannot write `{}`: {e}", partial.display());
        let done = if partial.exists() {
            cut(&partial)?
        } else {
            None
        };
        let mut file = File::options()
            .create(true)
            .truncate(done.is_none())
            .write(true)
            .open(&partial)
            .map_err(wrong)?;
        file.seek(SeekFrom::End(0)).map_err(wrong)?;
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(file);
        if done.is_none() {
            writer.write_record(header).map_err(|e| e.to_string())?;
            writer.flush().map_err(wrong)?;
        }
        Ok(table(Some(writer), done.unwrap_or(0)))
    }

    /// Number of rows.
    pub fn done(&self) -> usize {
        self.done
    }

    pub fn push(&mut self, row: &[String]) -> Result<(), String> {
        self.done += 1;
        let writer = self.writer.as_mut();
        writer
            .map_or(Ok(()), |w| w.write_record(row))
            .map_err(|e| self.wrong(&e))
    }

    /// Brings the rows to the file.
    pub fn flush(&mut self) -> Result<(), String> {
        let writer = self.writer.as_mut();
        writer
            .map_or(Ok(()), csv::Writer::flush)
            .map_err(|e| self.wrong(&e))
    }

    /// All rows are there.
    pub fn complete(&mut self) -> Result<(), String> {
        self.flush()?;
        if self.writer.take().is_some() {
            fs::rename(&self.partial, &self.path).map_err(|e| self.wrong(&e))?;
        }
        Ok(())
    }

    /// How many runs ended in each way, in the order of [`STOPS`].
    pub fn stops(&self) -> Result<[usize; STOPS.len()], String> {
        let mut counts = [0; STOPS.len()];
        self.each(|header, record| {
            let stop = header.iter().position(|name| name == "stop");
            let word = stop.and_then(|at| record.get(at));
            if let Some(at) = STOPS.iter().position(|s| Some(*s) == word) {
                counts[at] += 1;
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Writes the columns of numbers in another format.
    pub fn write(&self, format: Format, model: &str) -> Result<PathBuf, String> {
        let ending = if format == Format::Hdf5 { "h5" } else { "npz" };
        let path = self.path.with_extension(ending);
        let mut numeric: Vec<bool> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        self.each(|header, record| {
            numeric.resize(header.len(), true);
            names = header.iter().map(str::to_owned).collect();
            for (at, cell) in record.iter().enumerate() {
                numeric[at] &=
                    names[at] != "error" && (names[at] == "stop" || number(cell).is_some());
            }
            Ok(())
        })?;
        let chosen: Vec<usize> = (0..names.len()).filter(|at| numeric[*at]).collect();
        let header = Header {
            columns: chosen.iter().map(|at| Column::new(&names[*at])).collect(),
            model: model.to_owned(),
            ..Header::default()
        };
        let mut sink = match format {
            Format::Hdf5 => SpooledWriter::hdf5(&path),
            _ => SpooledWriter::npz(&path),
        };
        let told = |e: OutputError| e.to_string();
        sink.begin(&header).map_err(told)?;
        self.each(|_, record| {
            let cell = |at: &usize| {
                let cell = record.get(*at).unwrap_or_default();
                #[allow(clippy::cast_precision_loss)]
                let code = STOPS
                    .iter()
                    .position(|s| *s == cell)
                    .map(|code| code as f64);
                code.or_else(|| number(cell)).unwrap_or(f64::NAN)
            };
            let row: Vec<f64> = chosen.iter().map(cell).collect();
            sink.row(&row).map_err(told)
        })?;
        sink.end().map_err(told)?;
        Ok(path)
    }

    fn each(
        &self,
        mut visit: impl FnMut(&csv::StringRecord, &csv::StringRecord) -> Result<(), String>,
    ) -> Result<(), String> {
        let path = if self.writer.is_some() {
            &self.partial
        } else {
            &self.path
        };
        let mut reader = csv::Reader::from_path(path).map_err(|e| self.wrong(&e))?;
        let header = reader.headers().map_err(|e| self.wrong(&e))?.clone();
        for record in reader.records() {
            visit(&header, &record.map_err(|e| self.wrong(&e))?)?;
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        if self.writer.is_some() {
            &self.partial
        } else {
            &self.path
        }
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> String {
        format!("cannot write `{}`: {error}", self.path.display())
    }
}

/// A number, or nothing, which is none.
fn number(cell: &str) -> Option<f64> {
    if cell.is_empty() {
        Some(f64::NAN)
    } else {
        cell.parse().ok()
    }
}

/// What is in a directory, as far as it is not the sweep that is described.
fn difference(found: Option<&Value>, wanted: &Value) -> String {
    let Some(found) = found else {
        return "a table that no sweep.json accounts for".to_owned();
    };
    let keys = wanted.as_object().into_iter().flatten().map(|(key, _)| key);
    let differ: Vec<&str> = keys
        .filter(|key| found.get(*key) != wanted.get(*key))
        .map(String::as_str)
        .collect();
    format!("another sweep (another {})", differ.join(", "))
}

fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot remove `{}`: {error}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Cuts off a last line that is not whole; the number of rows, `None` where there is not even a header.
fn cut(path: &Path) -> Result<Option<usize>, String> {
    let wrong = |e: io::Error| format!("cannot go on with `{}`: {e}", path.display());
    let bytes = fs::read(path).map_err(wrong)?;
    let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else {
        return Ok(None);
    };
    let file = File::options().write(true).open(path).map_err(wrong)?;
    file.set_len(end as u64 + 1).map_err(wrong)?;
    rows(path).map(Some)
}

/// Rows below the header: no cell holds the end of a line.
fn rows(path: &Path) -> Result<usize, String> {
    let bytes = fs::read(path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))?;
    let lines = bytes.iter().filter(|b| **b == b'\n').count();
    Ok(lines.saturating_sub(1))
}
