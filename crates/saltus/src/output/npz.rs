//! `trajectory.npz`: a zip archive, not compressed, with one array `NAME.npy` of float64 per column.
//!
//! `numpy.load("trajectory.npz")["q.y"]` gives a column. The `.npy` format is version 1.0: magic, version,
//! length of the header, a Python dictionary padded with blanks to a multiple of 64 bytes, the numbers.

use crate::output::spool::Spool;
use crate::output::{Header, OutputError};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes the columns of `spool` to the file `path`.
pub(crate) fn write(path: &Path, header: &Header, spool: &mut Spool) -> Result<(), OutputError> {
    let file = File::create(path).map_err(OutputError::io("create", path))?;
    let file = BufWriter::with_capacity(1 << 16, file);
    let mut archive = ZipWriter::new(Once::new(file));
    let rows = spool.len();
    // Members above 4 GiB, header included, need 64-bit sizes.
    let large = rows as u64 * 8 + 1024 >= u64::from(u32::MAX);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(large);
    for (index, column) in header.columns.iter().enumerate() {
        archive
            .start_file(format!("{}.npy", column.name()), options)
            .map_err(|e| OutputError::encode(path, e))?;
        archive
            .write_all(&npy_header(rows))
            .map_err(OutputError::io("write", path))?;
        spool.column(index, |bytes| {
            archive
                .write_all(bytes)
                .map_err(OutputError::io("write", path))
        })?;
    }
    let mut file = archive.finish().map_err(|e| OutputError::encode(path, e))?;
    file.flush().map_err(OutputError::io("write", path))
}

/// A file that complains once and then pretends to be written: an archive that is given up completes itself, and says on the
/// terminal what fails in that.
struct Once<W> {
    /// `None` after a complaint.
    file: Option<W>,
    /// Where the next byte goes, and how many there are.
    at: u64,
    end: u64,
}

impl<W> Once<W> {
    fn new(file: W) -> Self {
        Self {
            file: Some(file),
            at: 0,
            end: 0,
        }
    }

    fn with<R>(
        &mut self,
        instead: R,
        act: impl FnOnce(&mut W) -> std::io::Result<R>,
    ) -> std::io::Result<R> {
        let Some(file) = &mut self.file else {
            return Ok(instead);
        };
        let result = act(file);
        if result.is_err() {
            self.file = None;
        }
        result
    }
}

impl<W: Write> Write for Once<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.with(bytes.len(), |file| file.write(bytes))?;
        self.at += written as u64;
        self.end = self.end.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.with((), Write::flush)
    }
}

impl<W: Seek> Seek for Once<W> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        self.at = self.with(place, |file| file.seek(SeekFrom::Start(place)))?;
        Ok(self.at)
    }
}

/// The header of a one-dimensional array of `rows` little-endian 64-bit numbers.
fn npy_header(rows: usize) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows},), }}");
    let before = 10; // magic, version and length
    let padding = (before + text.len() + 1).next_multiple_of(64) - (before + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    header.extend_from_slice(&length.to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Cursor;

    /// An archive that is given up at any byte tells of it once, and does not panic.
    #[test]
    fn a_full_disk_is_told_once() {
        for room in 0..400 {
            let mut place = vec![0; room];
            let mut archive = ZipWriter::new(Once::new(Cursor::new(&mut place[..])));
            let options =
                SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            let filled = (|| -> std::io::Result<()> {
                for name in ["t.npy", "q.npy"] {
                    archive.start_file(name, options)?;
                    archive.write_all(&[1; 100])?;
                }
                archive.finish().map(|_| ()).map_err(Into::into)
            })();
            assert!(filled.is_err(), "{room} bytes");
        }
    }

    #[test]
    fn the_header_is_aligned_and_says_its_length() {
        for rows in [0, 7, 123_456_789, usize::MAX] {
            let header = npy_header(rows);
            assert_eq!(header.len() % 64, 0);
            assert_eq!(
                usize::from(u16::from_le_bytes([header[8], header[9]])),
                header.len() - 10
            );
            assert_eq!(header.last(), Some(&b'\n'));
        }
    }
}
