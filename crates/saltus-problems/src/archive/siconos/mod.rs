//! Siconos' text formats: dense, sparse-block and CSparse matrices inside LCP, MLCP, friction and global
//! friction problems. Numbers are separated by white space; only CSparse dumps depend on lines.

mod problems;
mod write;

pub(super) use write::write;

use super::location::line_column;
use super::{ArchiveError, Problem, TextKind};
use std::path::Path;

/// The entries of a matrix, `(row, column, value)`.
struct Entries {
    rows: usize,
    cols: usize,
    list: Vec<(usize, usize, f64)>,
}

/// Reads whichever of the four kinds of problem the text is.
pub(super) fn read(path: &Path, text: &str) -> Result<Problem, ArchiveError> {
    // Frictional contact starts with the dimension, then contacts and storage; an LCP with its size and storage; an MLCP with
    // two flags and two sizes. Each reader checks what it reads, and only one accepts a given file; the most informative complaint is that of the one that came furthest.
    let mut complaint: Option<(usize, ArchiveError)> = None;
    for kind in [
        TextKind::Friction,
        TextKind::GlobalFriction,
        TextKind::Complementarity,
        TextKind::Mixed,
    ] {
        let mut reader = Reader::new(path, text);
        match reader.problem(kind) {
            Ok(problem) => return Ok(problem),
            // The structure fitted; what is wrong is a number.
            Err(error @ (ArchiveError::Format { .. } | ArchiveError::Problem { .. })) => {
                return Err(error);
            }
            Err(error) => {
                if complaint.as_ref().is_none_or(|(at, _)| reader.at > *at) {
                    complaint = Some((reader.at, error));
                }
            }
        }
    }
    Err(complaint.map_or_else(|| Reader::new(path, text).wrong("", "a problem"), |c| c.1))
}

/// Whether a line is of a CSparse dump, though perhaps a wrong one.
fn speaks_of_csparse(line: &str) -> bool {
    ["CSparse", "triplet", "nzmax", "nnz", "-by"]
        .iter()
        .any(|word| line.contains(word))
}

/// Walks through the text token by token.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    at: usize,
    /// Where the token or line begins that was read last: what a complaint is about.
    begin: usize,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, text: &'a str) -> Self {
        Self {
            path,
            text,
            at: 0,
            begin: 0,
        }
    }

    fn wrong(&self, found: &str, expected: &str) -> ArchiveError {
        let (line, column) = line_column(self.text, self.begin);
        ArchiveError::Syntax {
            path: self.path.into(),
            line,
            column,
            found: found.chars().take(60).collect(),
            expected: expected.into(),
        }
    }

    fn token(&mut self, expected: &str) -> Result<&'a str, ArchiveError> {
        let rest = &self.text[self.at..];
        let skip = rest.len() - rest.trim_start().len();
        let rest = &rest[skip..];
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if length == 0 {
            self.begin = self.at;
            return Err(self.wrong("the end of the file", expected));
        }
        self.begin = self.at + skip;
        self.at = self.begin + length;
        Ok(&rest[..length])
    }

    fn count(&mut self, what: &str) -> Result<usize, ArchiveError> {
        let token = self.token(what)?;
        match token.parse::<usize>() {
            Ok(n) if n <= 1 << 32 => Ok(n),
            _ => Err(self.wrong(token, &format!("{what} (a whole number)"))),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, ArchiveError> {
        let token = self.token(what)?;
        self.finite(token, what)
    }

    /// The number that `token` is.
    fn finite(&self, token: &str, what: &str) -> Result<f64, ArchiveError> {
        let wrong = |kind: &str| self.wrong(token, &format!("{what} ({kind})"));
        match token.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(v),
            Ok(_) => Err(wrong("a finite number")),
            Err(_) => Err(wrong("a number")),
        }
    }

    fn numbers(&mut self, n: usize, what: &str) -> Result<Vec<f64>, ArchiveError> {
        if n > self.text.len() {
            return Err(self.wrong(
                "fewer characters than that",
                &format!("{n} numbers for {what}"),
            ));
        }
        (0..n).map(|_| self.number(what)).collect()
    }

    /// One flag may follow the numbers of a frictional problem, nothing else.
    fn end(&self) -> Result<(), ArchiveError> {
        match self.text[self.at..].split_whitespace().nth(1) {
            Some(found) => Err(self.wrong(found, "the end of the file")),
            None => Ok(()),
        }
    }

    /// The rest of the current line and the next one that is not blank.
    fn line(&mut self, expected: &str) -> Result<&'a str, ArchiveError> {
        let rest = &self.text[self.at..];
        let skip = rest.len() - rest.trim_start().len();
        let rest = &rest[skip..];
        if rest.is_empty() {
            self.begin = self.at;
            return Err(self.wrong("the end of the file", expected));
        }
        let length = rest.find('\n').unwrap_or(rest.len());
        self.begin = self.at + skip;
        self.at = self.begin + length;
        Ok(rest[..length].trim_end())
    }

    fn peek(&self) -> Option<&'a str> {
        self.text[self.at..].split_whitespace().next()
    }

    fn square(&self, m: &Entries, n: usize, what: &str) -> Result<(), ArchiveError> {
        if (m.rows, m.cols) == (n, n) {
            return Ok(());
        }
        Err(self.wrong(
            &format!("{} × {}", m.rows, m.cols),
            &format!("{what} of {n} × {n}"),
        ))
    }

    fn matrix(&mut self, what: &str) -> Result<Entries, ArchiveError> {
        let storage = self.count(&format!(
            "the storage of {what} (0 dense, 1 sparse blocks, 2 CSparse)"
        ))?;
        let rows = self.count(&format!("the number of rows of {what}"))?;
        let cols = self.count(&format!("the number of columns of {what}"))?;
        let list = match storage {
            0 => self.dense(rows, cols, what)?,
            1 => self.sparse_blocks(rows, cols, what)?,
            2 => self.csparse(rows, cols, what)?,
            other => return Err(self.wrong(&other.to_string(), "storage 0, 1 or 2")),
        };
        match list.iter().find(|e| e.0 >= rows || e.1 >= cols) {
            Some(e) => Err(self.wrong(
                &format!("an entry at ({}, {})", e.0, e.1),
                &format!("{what} of {rows} × {cols}"),
            )),
            None => Ok(Entries { rows, cols, list }),
        }
    }

    /// The sizes again, then the rows.
    fn dense(
        &mut self,
        rows: usize,
        cols: usize,
        what: &str,
    ) -> Result<Vec<(usize, usize, f64)>, ArchiveError> {
        let again = (
            self.count("the number of rows")?,
            self.count("the number of columns")?,
        );
        if again != (rows, cols) {
            return Err(self.wrong(
                &format!("{} × {}", again.0, again.1),
                &format!("{rows} × {cols} as above"),
            ));
        }
        let values = self.numbers(rows.saturating_mul(cols), what)?;
        Ok(values
            .into_iter()
            .enumerate()
            .map(|(k, v)| (k / cols, k % cols, v))
            .collect())
    }

    fn sparse_blocks(
        &mut self,
        rows: usize,
        cols: usize,
        what: &str,
    ) -> Result<Vec<(usize, usize, f64)>, ArchiveError> {
        let blocks = self.count("the number of blocks")?;
        let block_rows = self.count("the number of block rows")?;
        let block_cols = self.count("the number of block columns")?;
        let counts =
            |reader: &mut Self, n: usize, what: &str| -> Result<Vec<usize>, ArchiveError> {
                if n > reader.text.len() {
                    return Err(reader.wrong(
                        "fewer characters than that",
                        &format!("{n} numbers for {what}"),
                    ));
                }
                (0..n).map(|_| reader.count(what)).collect()
            };
        let row_ends = counts(self, block_rows, "cumulated row sizes")?;
        let col_ends = counts(self, block_cols, "cumulated column sizes")?;
        for (ends, size, name) in [(&row_ends, rows, "rows"), (&col_ends, cols, "columns")] {
            let last = ends.last().copied().unwrap_or(0);
            if last != size || ends.windows(2).any(|e| e[0] > e[1]) {
                let expected = format!("cumulated sizes of the {size} {name} of {what}");
                return Err(self.wrong(&format!("sizes that end with {last}"), &expected));
            }
        }
        let filled = (
            self.count("the number of row pointers")?,
            self.count("the number of column indices")?,
        );
        let pointers = counts(self, filled.0, "row pointers")?;
        let indices = counts(self, filled.1, "column indices")?;
        if blocks > self.text.len() {
            return Err(self.wrong(
                &blocks.to_string(),
                "fewer blocks than there are characters",
            ));
        }
        let mut place = vec![None; blocks];
        for (row, pair) in pointers.windows(2).enumerate() {
            for k in pair[0]..pair[1] {
                let col = indices.get(k).copied();
                let (Some(slot), Some(col)) = (place.get_mut(k), col) else {
                    return Err(
                        self.wrong(&k.to_string(), &format!("block numbers below {blocks}"))
                    );
                };
                *slot = Some((row, col));
            }
        }
        let extent = |ends: &[usize], k: usize| -> Option<(usize, usize)> {
            let end = *ends.get(k)?;
            let begin = if k == 0 { 0 } else { ends[k - 1] };
            Some((begin, end.checked_sub(begin)?))
        };
        let mut list = Vec::new();
        for _ in 0..blocks {
            let number = self.count("the number of a block")?;
            let position = place.get(number).copied().flatten();
            let extents =
                position.and_then(|(r, c)| Some((extent(&row_ends, r)?, extent(&col_ends, c)?)));
            let Some(((row, height), (col, width))) = extents else {
                return Err(self.wrong(
                    &number.to_string(),
                    "the number of a block listed in the pointers",
                ));
            };
            for j in 0..width {
                for i in 0..height {
                    list.push((row + i, col + j, self.number(what)?));
                }
            }
        }
        Ok(list)
    }

    /// Either `triplet: m-by-n, …` with lines `i j : v`, or `m-by-n, …` with `col j : …` and lines `i : v`.
    fn csparse(
        &mut self,
        rows: usize,
        cols: usize,
        what: &str,
    ) -> Result<Vec<(usize, usize, f64)>, ArchiveError> {
        let marker = |line: &str| line.contains("-by-");
        // A mark of the origin of the matrix and a line that names the library may come first.
        let begin = self.at;
        let mut head = self.line("a CSparse dump")?;
        let mut dump = false;
        for _ in 0..2 {
            dump |= speaks_of_csparse(head);
            if !marker(head) {
                let next = self.line("a CSparse header with `m-by-n`");
                head = next.inspect_err(|_| self.at = if dump { self.at } else { begin })?;
            }
        }
        if !marker(head) {
            let error = self.wrong(head, "a CSparse header with `m-by-n`");
            // Lines of numbers are another kind of problem, whose reader knows better what is wrong with them.
            if !(dump || speaks_of_csparse(head)) {
                self.at = begin;
            }
            return Err(error);
        }
        let expected = format!("{rows}-by-{cols}");
        if !head.contains(&expected) {
            return Err(self.wrong(head, &expected));
        }
        let triplet = head.starts_with("triplet");
        let entries = head
            .split("nnz:")
            .nth(1)
            .and_then(|t| t.trim().split([',', ' ']).next()?.parse::<usize>().ok());
        let Some(entries) = entries else {
            return Err(self.wrong(head, "`nnz:` and a number"));
        };
        let mut list = Vec::with_capacity(entries.min(self.text.len()));
        let mut col = 0;
        while list.len() < entries || (!triplet && self.peek() == Some("col")) {
            let line = self.line(what)?;
            if let Some(rest) = line.strip_prefix("col ") {
                col = rest
                    .split(' ')
                    .next()
                    .and_then(|t| t.parse().ok())
                    .ok_or_else(|| self.wrong(line, "`col j : …`"))?;
                continue;
            }
            let parsed = line.split_once(':').and_then(|(place, value)| {
                let mut place = place.split_whitespace().map(str::parse::<usize>);
                let i = place.next()?.ok()?;
                let j = if triplet { place.next()?.ok()? } else { col };
                Some((i, j, value.trim()))
            });
            let (i, j, value) =
                parsed.ok_or_else(|| self.wrong(line, "an entry of a CSparse dump"))?;
            // The line is without the blanks behind it, and ends with the value.
            self.begin += line.len() - value.len();
            list.push((i, j, self.finite(value, what)?));
        }
        Ok(list)
    }
}
