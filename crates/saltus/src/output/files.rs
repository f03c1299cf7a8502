//! Files that are whole or not there: written under another name, then renamed.

use crate::output::OutputError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What the name of a file ends in while it is written.
pub(crate) const PARTIAL: &str = "partial";

/// `NAME.suffix` beside the file `NAME`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Lets `write` fill the file `NAME.partial`, which then becomes `path`; where that fails, neither is left behind.
pub(crate) fn through_partial(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), OutputError>,
) -> Result<(), OutputError> {
    let partial = beside(path, PARTIAL);
    let result = write(&partial)
        .and_then(|()| fs::rename(&partial, path).map_err(OutputError::io("write", path)));
    if result.is_err() {
        let _ = fs::remove_file(&partial); // the error is told, and what is left of it is of no use
    }
    result
}

/// Writes a file that is complete as soon as it is there.
///
/// # Errors
/// Where the file system refuses.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), OutputError> {
    through_partial(path, |partial| {
        fs::write(partial, content).map_err(OutputError::io("write", path))
    })
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<(), OutputError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(OutputError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
