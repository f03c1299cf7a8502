//! A file of comma-separated lines that grows while a run goes on.
//!
//! It is called `NAME.partial` until it is complete. Only whole lines reach it, at least once per second, so that it can be
//! read meanwhile.

use crate::output::OutputError;
use crate::output::files::{PARTIAL, beside};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes collected before they are written.
const BLOCK: usize = 1 << 18;
/// Longest time a line waits to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Collects lines and writes them in blocks.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Its name when it is complete, and until then.
    path: PathBuf,
    partial: PathBuf,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    text: Vec<u8>,
    clock: Clock,
}

impl Lines {
    /// Lines for the file `path`, which is not touched before [`create`](Self::create).
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            partial: beside(&path, PARTIAL),
            path,
            file: None,
            written: 0,
            text: Vec::new(),
            clock: Clock::new(PATIENCE),
        }
    }

    /// Whether the file was created and not closed.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Creates the file, or overwrites it, with a first line of these names; a line has about `length` bytes.
    pub(crate) fn create<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
        length: usize,
    ) -> Result<(), OutputError> {
        let file = File::create(&self.partial).map_err(OutputError::io("create", &self.path))?;
        (self.file, self.written) = (Some(file), 0);
        self.text = Vec::with_capacity(BLOCK + length);
        for name in names {
            push_text(&mut self.text, name);
            self.text.push(b',');
        }
        self.break_line();
        self.clock = Clock::new(PATIENCE);
        self.flush()
    }

    /// Goes on with the file as it was when it had `length` bytes, whether it was completed afterwards or not.
    pub(crate) fn go_on(&mut self, length: u64) -> Result<(), OutputError> {
        let wrong = OutputError::io("go on with", &self.path);
        let open = || {
            if !self.partial.exists() {
                fs::rename(&self.path, &self.partial)?;
            }
            let mut file = File::options().write(true).open(&self.partial)?;
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        (self.file, self.written) = (Some(open().map_err(wrong)?), length);
        self.text.clear();
        self.clock = Clock::new(PATIENCE);
        Ok(())
    }

    /// Where the file is until it is complete.
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Bytes of all lines so far, those that wait to be written included; `None` where there is no file.
    pub(crate) fn length(&self) -> Option<u64> {
        self.file
            .as_ref()
            .map(|_| self.written + self.text.len() as u64)
    }

    /// What the present line is appended to, every cell followed by a comma.
    #[inline]
    pub(crate) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Ends the line, and writes it where that is due.
    #[inline]
    pub(crate) fn end_line(&mut self) -> Result<(), OutputError> {
        self.break_line();
        if self.text.len() >= BLOCK || self.clock.is_due() {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes what is left, closes the file and gives it its name.
    pub(crate) fn close(&mut self) -> Result<(), OutputError> {
        self.flush()?;
        match self.file.take() {
            Some(_) => {
                fs::rename(&self.partial, &self.path).map_err(OutputError::io("write", &self.path))
            }
            None => Ok(()),
        }
    }

    /// The comma behind the last cell becomes the end of the line.
    #[inline]
    fn break_line(&mut self) {
        if let Some(last) = self.text.last_mut() {
            *last = b'\n';
        }
    }

    /// Writes the lines that wait. Where that fails, the file keeps those it has, closed, under its other name.
    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        let text = std::mem::take(&mut self.text);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        match file.write_all(&text) {
            Ok(()) => self.written += text.len() as u64,
            Err(error) => {
                let _ = file.set_len(self.written);
                self.file = None;
                if self.written == 0 {
                    let _ = fs::remove_file(&self.partial);
                }
                return Err(OutputError::io("write", &self.path)(error));
            }
        }
        self.text = text;
        self.text.clear();
        Ok(())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.flush(); // the lines of a run that was given up
    }
}

/// The shortest decimals that read back to the same 64 bits; nothing for what is no number.
#[inline]
pub(crate) fn push_number(text: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        let mut buffer = zmij::Buffer::new();
        text.extend_from_slice(buffer.format_finite(value).as_bytes());
    } else if !value.is_nan() {
        text.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
}

/// A text as a cell, in quotation marks where it needs them (RFC 4180, §2).
pub(crate) fn push_text(text: &mut Vec<u8>, cell: &str) {
    if !cell.contains([',', '"', '\n', '\r']) {
        text.extend_from_slice(cell.as_bytes());
        return;
    }
    text.push(b'"');
    text.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}

/// Says about once per period that it is time, and looks at the clock far less often than it is asked.
#[derive(Debug)]
pub(crate) struct Clock {
    period: Duration,
    last_due: Instant,
    last_look: Instant,
    asked: u32,
    /// Questions between two looks.
    stride: u32,
}

impl Clock {
    pub(crate) fn new(period: Duration) -> Self {
        let now = Instant::now();
        Self {
            period,
            last_due: now,
            last_look: now,
            asked: 0,
            stride: 1,
        }
    }

    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
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
        if passed < self.period.min(PATIENCE) / 100 {
            self.stride = (2 * self.stride).min(1 << 16);
        } else if passed > self.period.min(PATIENCE) / 10 {
            self.stride = (self.stride / 8).max(1);
        }
        let due = now - self.last_due >= self.period;
        if due {
            self.last_due = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_need_it() {
        let cell = |name: &str| {
            let mut text = Vec::new();
            push_text(&mut text, name);
            String::from_utf8_lossy(&text).into_owned()
        };
        assert_eq!(cell("floor.left"), "floor.left");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("a\"b"), "\"a\"\"b\"");
    }
}
