//! Problems on disk: FCLIB's HDF5, Siconos' text formats and our JSON.

mod fclib;
mod json;
mod siconos;

use crate::friction::{FrictionContact, GlobalFriction, ProblemError};
use saltus_linear::Dense;
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
    #[error("{path}, line {line}: found {found:?}, expected {expected}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The offending text.
        found: String,
        /// What the format asks for here.
        expected: String,
    },
    /// The HDF5 or JSON layer says no.
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

/// What a text file without a marker of its own is taken for; the two text formats for linear
/// complementarity and for frictional contact cannot be told apart by their first line alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Complementarity,
    Friction,
    GlobalFriction,
}

/// Reads a problem. The format is found from the content (HDF5, JSON) and, for Siconos' text formats, from the structure of the text.
///
/// # Errors
/// [`ArchiveError`] with file, line, the offending text and what was expected.
pub fn read(path: &Path) -> Result<Problem, ArchiveError> {
    let bytes = std::fs::read(path).map_err(|source| ArchiveError::Io {
        path: path.into(),
        source,
    })?;
    if hdf5_pure::is_hdf5_bytes(&bytes) {
        return fclib::read(path, bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    if text.trim_start().starts_with('{') {
        return json::read(path, &text);
    }
    siconos::read(path, &text)
}

/// Writes a problem: FCLIB's HDF5 for frictional contact under a name ending in `.hdf5` or `.h5`, JSON otherwise.
///
/// # Errors
/// [`ArchiveError`] where the file cannot be written or the format cannot hold the problem.
pub fn write(path: &Path, problem: &Problem) -> Result<(), ArchiveError> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let bytes = if matches!(extension, "hdf5" | "h5") {
        fclib::write(path, problem)?
    } else {
        json::write(path, problem)?.into_bytes()
    };
    std::fs::write(path, bytes).map_err(|source| ArchiveError::Io {
        path: path.into(),
        source,
    })
}
