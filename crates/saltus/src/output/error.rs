//! What can go wrong between a run and the disk.

use std::io;
use std::path::{Path, PathBuf};

/// Why a result could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The file system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The complaint of the file system.
        source: io::Error,
    },
    /// The directory holds the result of another model.
    #[error(
        "`{}` holds a result of model `{found}`, this run is of `{expected}`; choose another directory with `--out`, or overwrite it with `--force`",
        path.display()
    )]
    OtherModel {
        /// The directory.
        path: PathBuf,
        /// The model of the result in it.
        found: String,
        /// The model of this run.
        expected: String,
    },
    /// The directory holds a file of the name of a result that no run of ours accounts for.
    #[error(
        "`{}` would be overwritten, and no `summary.json` written by saltus accounts for it; choose another directory with `--out`, or overwrite it with `--force`",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else writes to the directory.
    #[error(
        "`{}` is being written by {owner}; wait until that has ended, or choose another directory with `--out`",
        path.display()
    )]
    Busy {
        /// The directory.
        path: PathBuf,
        /// Process and host.
        owner: String,
    },
    /// A checkpoint that cannot be trusted.
    #[error(
        "`{}` is damaged: {reason}; begin the run again without `--resume`, or go on from another checkpoint",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How one sees that.
        reason: String,
    },
    /// A checkpoint of another version.
    #[error(
        "`{}` is of {found}, this version goes on from format {expected}; begin the run again without `--resume`",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: String,
        /// The format that is read.
        expected: u32,
    },
    /// A result that a run cannot go on with.
    #[error("the result in `{}` cannot go on: {reason}", path.display())]
    Unresumable {
        /// The directory.
        path: PathBuf,
        /// Why, and what helps.
        reason: String,
    },
    /// The path is a file.
    #[error("`{}` is a file, expected a directory; choose another path with `--out`", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// A format that cannot hold this kind of model.
    #[error(
        "format `vtk` is not available for a model given by formulas, which has no shapes to draw; use csv, npz or hdf5"
    )]
    VtkUnavailable,
    /// The columns do not fit the format.
    #[error("cannot write `{}`: {reason}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file is not what it should be.
    #[error("`{}`, line {line}: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

impl OutputError {
    /// Puts place and action to an error of the file system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn encode(path: &Path, reason: impl ToString) -> Self {
        Self::Encode {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
