//! Numbers from a text or from bytes, with the place where they stood.

use super::super::MeshError;

/// What a file is read through: the same calls for text and for bytes.
pub(super) struct Source<'a> {
    file: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Whether numbers are bytes.
    pub binary: bool,
    /// Whether bytes come most significant first.
    pub swapped: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self {
            file,
            bytes,
            at: 0,
            binary: false,
            swapped: false,
        }
    }

    /// An error at the place that was read last.
    pub(super) fn error(&self, problem: impl Into<String>, cure: impl Into<String>) -> MeshError {
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        let line = 1 + before
            .strip_suffix(b"\n")
            .unwrap_or(before)
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        let place = if self.binary {
            format!("byte {}", self.at)
        } else {
            format!("line {line}")
        };
        MeshError::Content {
            file: self.file.to_owned(),
            place,
            problem: problem.into(),
            cure: cure.into(),
        }
    }

    fn ends(&self, what: &str) -> MeshError {
        self.error(
            format!("the file ends where {what} is expected"),
            "export the mesh again, the file is cut off",
        )
    }

    /// The next line without its end; `None` at the end of the file.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|r| !r.is_empty())?;
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += (end + 1).min(rest.len());
        Some(rest[..end].trim_ascii())
    }

    /// The next line that is not empty.
    pub(super) fn full_line(&mut self) -> Option<&'a [u8]> {
        loop {
            let line = self.line()?;
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    /// Goes behind the line `$End<name>`, wherever it is.
    pub(super) fn leave(&mut self, name: &str) -> Result<(), MeshError> {
        let end = format!("$End{name}");
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let found = rest
            .windows(end.len())
            .position(|window| window == end.as_bytes())
            .ok_or_else(|| self.ends(&end))?;
        self.at += found + end.len();
        let _ = self.line();
        Ok(())
    }

    fn word(&mut self, what: &str) -> Result<&'a str, MeshError> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let end = rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.ends(what));
        }
        let word = &rest[..end];
        self.at += end;
        std::str::from_utf8(word).map_err(|_| self.unreadable("bytes that are no text", what))
    }

    fn unreadable(&self, found: &str, what: &str) -> MeshError {
        self.error(
            format!("found {found} where {what} is expected"),
            "export the mesh again as MSH 4.1",
        )
    }

    fn parse<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, MeshError> {
        let word = self.word(what)?;
        word.parse().map_err(|_| {
            let short: String = word.chars().take(40).collect();
            self.unreadable(&format!("\"{short}\""), what)
        })
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], MeshError> {
        let taken = self.bytes.get(self.at..self.at.saturating_add(N));
        let Some(mut bytes) = taken.and_then(|b| <[u8; N]>::try_from(b).ok()) else {
            return Err(self.ends(what));
        };
        self.at += N;
        if self.swapped {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// A signed number of four bytes.
    pub(super) fn int(&mut self, what: &str) -> Result<i64, MeshError> {
        if self.binary {
            return Ok(i64::from(i32::from_le_bytes(self.take(what)?)));
        }
        self.parse(what)
    }

    /// An unsigned number of eight bytes.
    pub(super) fn size(&mut self, what: &str) -> Result<u64, MeshError> {
        if self.binary {
            return Ok(u64::from_le_bytes(self.take(what)?));
        }
        self.parse(what)
    }

    /// How many things follow; more than the file has bytes left is an error.
    pub(super) fn count(&mut self, what: &str) -> Result<usize, MeshError> {
        let count = self.size(what)?;
        let left = self.bytes.len().saturating_sub(self.at);
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.error(
                format!("{what} is {count}, the file has {left} bytes left"),
                "export the mesh again, the file is damaged or cut off",
            )),
        }
    }

    /// A finite number.
    pub(super) fn double(&mut self, what: &str) -> Result<f64, MeshError> {
        let value = if self.binary {
            f64::from_le_bytes(self.take(what)?)
        } else {
            self.parse(what)?
        };
        if value.is_finite() {
            return Ok(value);
        }
        Err(self.error(
            format!("{what} is {value}"),
            "every coordinate must be finite",
        ))
    }
}
