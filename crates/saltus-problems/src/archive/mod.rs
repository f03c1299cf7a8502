//! Problems on disk: FCLIB's HDF5, Siconos' text formats and our JSON.

mod fclib;
mod json;
mod law;
mod location;
mod siconos;

use saltus_complementarity::friction::{FrictionContact, GlobalFriction, ProblemError};
use saltus_complementarity::{Block, BlockMatrix, ContactData};
use saltus_linear::Dense;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a file can hold.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Problem {
    /// `0 ≤ z ⟂ M z + q ≥ 0`, after `equalities` rows with `w = 0`.
    Mixed {
        /// Number of leading equality rows; 0 for a linear complementarity problem.
        equalities: usize,
        /// `M`.
        matrix: Dense,
        /// `q`.
        q: Vec<f64>,
    },
    /// Frictional contact in reduced form.
    Friction(FrictionContact),
    /// Frictional contact in global form.
    Global(GlobalFriction),
    /// The problem of a time step, whose blocks of rows obey different laws; `z` of the archive is not used.
    Contact(ContactData),
}

impl From<ContactData> for Problem {
    /// Frictional contact in reduced form where every block is a contact with friction of the same dimension: that is what most
    /// methods are for.
    fn from(archive: ContactData) -> Self {
        let mut mu = Vec::new();
        let size = archive.blocks.first().map_or(0, |block| block.rows());
        for block in &archive.blocks {
            match *block {
                Block::Coulomb { mu: own, .. } if block.rows() == size => mu.push(own),
                _ => return Self::Contact(archive),
            }
        }
        let entries = archive.matrix.iter().copied();
        let w = BlockMatrix::from_triplets(size, mu.len(), entries);
        match FrictionContact::new(w, archive.q.clone(), mu, Vec::new()) {
            Ok(problem) if matches!(size, 2 | 3) => Self::Friction(problem),
            _ => Self::Contact(archive),
        }
    }
}

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not what the format asks for.
    #[error("{path}, line {line}, column {column}: found {found:?}, expected {expected}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The offending text.
        found: String,
        /// What the format asks for here.
        expected: String,
    },
    /// A value of a JSON document is not what the problem asks for.
    #[error("{path}, line {line}, column {column}: {message}")]
    Value {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The layer of the format says no, or the format cannot hold the problem.
    #[error("{path}: {message}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The numbers do not make a problem.
    #[error("{path}: {source}")]
    Problem {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: ProblemError,
    },
}

/// What a text file without a marker of its own is taken for; the text formats for linear
/// complementarity and for frictional contact cannot be told apart by their first line alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Complementarity,
    Mixed,
    Friction,
    GlobalFriction,
}

/// A point that came with a problem: somebody's answer, or a guess. Judge it by its residual.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Impulses `r` (N s), or `z` of complementarity.
    pub unknowns: Vec<f64>,
    /// Contact velocities `u` (m/s), or `w` of complementarity; empty where not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dual: Vec<f64>,
    /// Generalised velocities `v` of a global problem; empty where not stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub velocity: Vec<f64>,
}

/// A problem with the points that are stored beside it.
#[derive(Debug, Clone)]
pub struct Record {
    /// The problem.
    pub problem: Problem,
    /// What the file calls its solution.
    pub solution: Option<Point>,
    /// First guesses for a solver.
    pub guesses: Vec<Point>,
    /// Where the problem comes from; kept in JSON.
    pub title: Option<String>,
    /// What each row is, in the order of the unknowns, or empty; kept in JSON, but not of the global form.
    pub rows: Vec<String>,
}

impl From<Problem> for Record {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            solution: None,
            guesses: Vec::new(),
            title: None,
            rows: Vec::new(),
        }
    }
}

impl From<ContactData> for Record {
    /// The problem with the impulses of the archive as a guess, where there are any.
    fn from(archive: ContactData) -> Self {
        let z = &archive.z;
        let guess = z.iter().all(|z| z.is_finite()) && z.iter().any(|z| *z != 0.0);
        let guesses = guess.then(|| Point {
            unknowns: z.clone(),
            ..Point::default()
        });
        Self {
            guesses: guesses.into_iter().collect(),
            ..Self::from(Problem::from(archive))
        }
    }
}

impl Problem {
    /// Number of unknowns: components of `z` or `r`.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        match self {
            Self::Mixed { q, .. } => q.len(),
            Self::Friction(p) => p.free_velocity().len(),
            Self::Global(p) => p.bias().len(),
            Self::Contact(p) => p.q.len(),
        }
    }
}

impl Record {
    /// Whether both hold the same numbers as their problem, whatever stands beside it.
    #[must_use]
    pub fn same_problem(&self, other: &Self) -> bool {
        let text = |record: &Self| {
            let bare = Self::from(record.problem.clone());
            json::write(Path::new(""), &bare).ok()
        };
        text(self).is_some_and(|own| text(other) == Some(own))
    }
}

impl Record {
    /// Takes over what stands beside the same problem in `other`: solution, title and names of rows where there are none here,
    /// and guesses that are not here yet, behind the others. Returns the number of points that it took.
    pub fn adopt(&mut self, other: Self) -> usize {
        let mut taken = 0;
        if self.solution.is_none() {
            taken += usize::from(other.solution.is_some());
            self.solution = other.solution;
        }
        for guess in other.guesses {
            if !self.guesses.contains(&guess) {
                self.guesses.push(guess);
                taken += 1;
            }
        }
        self.title = self.title.take().or(other.title);
        if self.rows.is_empty() {
            self.rows = other.rows;
        }
        taken
    }
}

/// Reads a problem. The format is found from the content (HDF5, JSON) and, for Siconos' text formats, from the structure of the text.
///
/// # Errors
/// [`ArchiveError`] with file, line, the offending text and what was expected.
pub fn read(path: &Path) -> Result<Problem, ArchiveError> {
    read_record(path).map(|record| record.problem)
}

/// Reads a problem with the solution and the guesses stored beside it (FCLIB and JSON).
///
/// # Errors
/// As [`read`]; also where a stored point has not the size of the problem.
pub fn read_record(path: &Path) -> Result<Record, ArchiveError> {
    let bytes = std::fs::read(path).map_err(|source| ArchiveError::Io {
        path: path.into(),
        source,
    })?;
    let record = read_bytes(path, bytes)?;
    match record.misfit() {
        None => Ok(record),
        Some((_, message)) => Err(ArchiveError::Format {
            path: path.into(),
            message,
        }),
    }
}

/// What of a record does not fit its problem.
enum Misfit {
    Solution,
    Guess(usize),
    Rows,
}

impl Record {
    /// The first point or list of names that has not the size of the problem, or a number that is none.
    fn misfit(&self) -> Option<(Misfit, String)> {
        let size = self.problem.unknowns();
        let solution = self
            .solution
            .iter()
            .map(|p| (Misfit::Solution, "solution", p));
        let guesses = self.guesses.iter().enumerate();
        let guesses = guesses.map(|(k, p)| (Misfit::Guess(k), "guess", p));
        for (place, what, point) in solution.chain(guesses) {
            let (unknowns, dual) = (point.unknowns.len(), point.dual.len());
            if unknowns != size || ![0, size].contains(&dual) {
                let message = format!(
                    "the stored {what} has {unknowns} unknowns and {dual} duals, expected {size}"
                );
                return Some((place, message));
            }
            for (name, list) in [
                ("unknowns", &point.unknowns),
                ("dual", &point.dual),
                ("velocity", &point.velocity),
            ] {
                if let Some(k) = list.iter().position(|v| !v.is_finite()) {
                    let message = format!(
                        "entry {k} of the {name} of the stored {what} is {}; expected a finite number",
                        list[k]
                    );
                    return Some((place, message));
                }
            }
        }
        let named = self.rows.len();
        let message = || format!("rows has {named} names, expected {size}");
        (![0, size].contains(&named)).then(|| (Misfit::Rows, message()))
    }
}

fn read_bytes(path: &Path, bytes: Vec<u8>) -> Result<Record, ArchiveError> {
    if hdf5_pure::is_hdf5_bytes(&bytes) {
        return fclib::read(path, bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    // A byte order mark is no part of the text.
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let named = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"));
    if named || text.trim_start().starts_with(['{', '[']) {
        return json::read(path, text);
    }
    siconos::read(path, text).map(Record::from)
}

/// Writes a problem: FCLIB's HDF5 for frictional contact under a name ending in `.hdf5` or `.h5`, Siconos' text format
/// under one ending in `.dat`, JSON otherwise.
///
/// # Errors
/// [`ArchiveError`] where the file cannot be written or the format cannot hold the problem.
pub fn write(path: &Path, problem: &Problem) -> Result<(), ArchiveError> {
    write_record(path, &Record::from(problem.clone()))
}

/// Writes a problem with its solution and guesses; the text format has no place for these two.
///
/// # Errors
/// As [`write()`].
pub fn write_record(path: &Path, record: &Record) -> Result<(), ArchiveError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let bytes = match extension {
        "hdf5" | "h5" => fclib::write(path, record)?,
        "dat" => siconos::write(path, &record.problem)?.into_bytes(),
        _ => json::write(path, record)?.into_bytes(),
    };
    std::fs::write(path, bytes).map_err(|source| ArchiveError::Io {
        path: path.into(),
        source,
    })
}

/// A complementarity problem whose numbers are all finite.
fn mixed(
    path: &Path,
    equalities: usize,
    matrix: Dense,
    q: Vec<f64>,
) -> Result<Problem, ArchiveError> {
    let n = q.len();
    for (what, list) in [("M", matrix.as_slice()), ("q", &q)] {
        if let Some((k, v)) = list.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            let place = if what == "M" {
                format!("({}, {})", k / n, k % n)
            } else {
                k.to_string()
            };
            let message = format!("entry {place} of {what} is {v}; expected a finite number");
            return Err(ArchiveError::Format {
                path: path.into(),
                message,
            });
        }
    }
    Ok(Problem::Mixed {
        equalities,
        matrix,
        q,
    })
}

/// The error for a problem whose blocks obey different laws, which only our own format holds.
fn not_one_law(path: &Path) -> ArchiveError {
    ArchiveError::Format {
        path: path.into(),
        message: "this format holds contacts of one kind only, and this is a problem of several laws; write JSON instead".into(),
    }
}

/// The error for a matrix-free problem, which no format holds.
fn not_a_matrix(path: &Path) -> ArchiveError {
    ArchiveError::Format {
        path: path.into(),
        message: "the operator of this problem is not a matrix; assemble it before it is written"
            .into(),
    }
}
