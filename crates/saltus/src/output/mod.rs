//! Results on disk: the directory of a run, its formats and its summary.

mod checkpoints;
mod csv;
mod directory;
mod error;
mod events;
mod files;
mod hdf5;
mod lines;
mod lock;
mod npz;
mod rows;
mod spool;
mod summary;
mod vtk;
mod writer;

pub use checkpoints::{Resumption, SavedResult, SavedRun};
pub use csv::{CsvWriter, read_csv};
pub use directory::ResultDirectory;
pub use error::OutputError;
pub use files::write_whole;
pub use lock::DirectoryLock;
pub use rows::{Header, RowSink, RowStream};
pub use spool::SpooledWriter;
pub(crate) use summary::in_force;
pub use summary::{RunCard, SUMMARY_FORMAT, summary};
pub use vtk::write_shapes;
pub use writer::ResultWriter;

use std::fmt;
use std::str::FromStr;

/// A format of the trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// `trajectory.csv`: text, shortest decimal numbers that read back to the same bits.
    Csv,
    /// `trajectory.npz`: one NumPy array of 64-bit numbers per column, not compressed.
    Npz,
    /// `trajectory.h5`: one HDF5 dataset of 64-bit numbers per column, with its unit as attribute.
    Hdf5,
    /// `trajectory.pvd` and a `vtk/frame-*.vtu` per frame: geometry for ParaView; not available for models given by
    /// formulas, which have no shapes.
    Vtk,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Npz, Self::Hdf5, Self::Vtk];

    /// Its name in model files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npz => "npz",
            Self::Hdf5 => "hdf5",
            Self::Vtk => "vtk",
        }
    }

    /// Its file in a result directory.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Csv => "trajectory.csv",
            Self::Npz => "trajectory.npz",
            Self::Hdf5 => "trajectory.h5",
            Self::Vtk => "trajectory.pvd",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no format of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no output format `{0}`; the formats are csv, npz, hdf5 and vtk")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
