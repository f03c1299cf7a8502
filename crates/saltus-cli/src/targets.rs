//! Files that a command will write, made sure of before it works: an hour's answer must not end at a folder that is missing.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// Makes sure that `path`, given with `flag`, can be written; makes the folders that are missing, and leaves what is there.
///
/// # Errors
/// What stands in the way, with its cure.
pub fn ready(flag: &str, path: &Path) -> Result<(), String> {
    let place = path.display();
    if path.is_dir() || place.to_string().ends_with(['/', MAIN_SEPARATOR]) {
        return Err(format!(
            "{flag} {place}: this is a folder, expected the name of a file in it"
        ));
    }
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|e| {
            format!(
                "{flag} {place}: the folder {} cannot be made: {e}; give another name",
                parent.display()
            )
        })?;
    }
    let refused =
        |e: io::Error| format!("{flag} {place} cannot be written: {e}; give another name");
    if fs::metadata(path).is_ok() {
        OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(refused)?;
    } else {
        fs::write(path, b"").map_err(refused)?;
        // Nothing is there until something is written.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Whether both are one file.
pub fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// `STEM` and an ending.
pub fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Writes `value` as JSON; where that fails, to the terminal, so that nothing is lost.
///
/// # Errors
/// That the file could not be written.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|e| e.to_string())? + "\n";
    fs::write(path, &text).map_err(|e| {
        // A closed pipe leaves nowhere to write to.
        let _ = io::stdout().write_all(text.as_bytes());
        format!(
            "{} cannot be written: {e}; the solutions are printed instead",
            path.display()
        )
    })
}
