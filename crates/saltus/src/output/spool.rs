//! Rows become columns on disk, in constant memory.
//!
//! NumPy and HDF5 files hold whole columns one after the other, and their length is known only at the
//! end. Rows are collected in blocks of at most [`BLOCK`] bytes; a full block is transposed and appended to a
//! scratch file beside the result. At the end a column is read back block by block.

use crate::columns::Column;
use crate::output::files::{beside, through_partial};
use crate::output::{Format, Header, OutputError, RowSink, hdf5, npz};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a block, unless its rows are so long that fewer than [`FEWEST_ROWS`] would fit.
const BLOCK: usize = 1 << 23;
/// Rows of a block at least: a column is not read back in smaller pieces.
const FEWEST_ROWS: usize = 64;
/// Ending of the scratch file.
pub(crate) const SPOOL: &str = "spool";
/// Rows of a block at most.
const MOST_ROWS: usize = 1 << 16;

/// Rows on their way to become columns.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    file: Option<File>,
    width: usize,
    /// Rows in a block.
    rows: usize,
    /// The block being filled, row by row.
    block: Vec<f64>,
    /// A transposed block, as bytes.
    bytes: Vec<u8>,
    /// Blocks in the file.
    blocks: usize,
}

impl Spool {
    /// A spool of rows of `width` values; `path` is its scratch file, created when the first block is full.
    pub(crate) fn new(path: PathBuf, width: usize) -> Self {
        let rows = (BLOCK / (8 * width.max(1))).clamp(FEWEST_ROWS, MOST_ROWS);
        Self {
            path,
            file: None,
            width,
            rows,
            block: Vec::new(),
            bytes: Vec::new(),
            blocks: 0,
        }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.blocks * self.rows + self.block.len().checked_div(self.width).unwrap_or(0)
    }

    /// Most rows that [`column`](Self::column) hands over at once.
    pub(crate) fn block_rows(&self) -> usize {
        self.rows
    }

    #[inline]
    pub(crate) fn push(&mut self, row: &[f64]) -> Result<(), OutputError> {
        self.block.extend_from_slice(row);
        if self.block.len() >= self.rows * self.width {
            self.write_block()
        } else {
            Ok(())
        }
    }

    fn write_block(&mut self) -> Result<(), OutputError> {
        self.bytes.clear();
        for column in 0..self.width {
            for value in self.block[column..].iter().step_by(self.width) {
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&self.path)
                .map_err(OutputError::io("create", &self.path))?,
        };
        file.write_all(&self.bytes)
            .map_err(OutputError::io("write", &self.path))?;
        self.file = Some(file);
        self.blocks += 1;
        self.block.clear();
        Ok(())
    }

    /// Hands the values of a column, in time, to `take` as little-endian bytes, a block at a time.
    pub(crate) fn column(
        &mut self,
        column: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        for block in 0..self.blocks {
            self.read(column, block)?;
            take(&self.bytes)?;
        }
        if self.block.len() > column {
            self.bytes.clear();
            for value in self.block[column..].iter().step_by(self.width) {
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
            take(&self.bytes)?;
        }
        Ok(())
    }
}

impl Spool {
    /// The values of a column in the first block, in time.
    pub(crate) fn first_block(
        &mut self,
        column: usize,
        values: &mut Vec<f64>,
    ) -> Result<(), OutputError> {
        values.clear();
        if self.blocks == 0 {
            values.extend(self.block.iter().skip(column).step_by(self.width.max(1)));
            return Ok(());
        }
        self.read(column, 0)?;
        let number = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
        values.extend(self.bytes.chunks_exact(8).map(number));
        Ok(())
    }

    /// Reads the piece of a column in a block of the file to `bytes`.
    fn read(&mut self, column: usize, block: usize) -> Result<(), OutputError> {
        let piece = 8 * self.rows;
        let offset = (block * self.width + column) as u64 * piece as u64;
        self.bytes.resize(piece, 0);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut self.bytes))
            .map_err(OutputError::io("read", &self.path))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path); // a scratch file that stays behind is overwritten next time
        }
    }
}

/// Writes rows as NumPy or HDF5 columns, or both from the same scratch file, in constant memory.
pub struct SpooledWriter {
    targets: Vec<(Format, PathBuf)>,
    header: Header,
    spool: Option<Spool>,
}

impl SpooledWriter {
    /// A writer to a NumPy file.
    #[must_use]
    pub fn npz(path: impl Into<PathBuf>) -> Self {
        Self::new(vec![(Format::Npz, path.into())])
    }

    /// A writer to an HDF5 file.
    #[must_use]
    pub fn hdf5(path: impl Into<PathBuf>) -> Self {
        Self::new(vec![(Format::Hdf5, path.into())])
    }

    pub(crate) fn new(targets: Vec<(Format, PathBuf)>) -> Self {
        Self {
            targets,
            header: Header::default(),
            spool: None,
        }
    }
}

impl RowSink for SpooledWriter {
    fn begin(&mut self, header: &Header) -> Result<(), OutputError> {
        for (_, path) in &self.targets {
            check_names(path, &header.columns)?;
        }
        let scratch = self
            .targets
            .first()
            .map(|(_, path)| beside(path, SPOOL))
            .unwrap_or_default();
        self.spool = Some(Spool::new(scratch, header.columns.len()));
        self.header = header.clone();
        Ok(())
    }

    #[inline]
    fn row(&mut self, row: &[f64]) -> Result<(), OutputError> {
        self.spool.as_mut().map_or(Ok(()), |spool| spool.push(row))
    }

    fn end(&mut self) -> Result<(), OutputError> {
        let Some(mut spool) = self.spool.take() else {
            return Ok(());
        };
        for (format, path) in &self.targets {
            through_partial(path, |partial| match format {
                Format::Hdf5 => hdf5::write(partial, &self.header, &mut spool),
                _ => npz::write(partial, &self.header, &mut spool),
            })?;
        }
        Ok(())
    }
}

/// Columns become members of an archive: names must be unique, without `/` and NUL.
fn check_names(path: &Path, columns: &[Column]) -> Result<(), OutputError> {
    let mut seen = HashSet::with_capacity(columns.len());
    for column in columns {
        let name = column.name();
        if name.contains(['/', '\\', '\0']) {
            let reason =
                format!("column `{name}` has a character that this format cannot hold in a name");
            return Err(OutputError::encode(path, reason));
        }
        if !seen.insert(name) {
            return Err(OutputError::encode(
                path,
                format!("there are two columns called `{name}`"),
            ));
        }
    }
    Ok(())
}
