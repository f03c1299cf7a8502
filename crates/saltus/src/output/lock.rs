//! One writer at a time: a lock on a directory, released by the operating system however a process ends.

use crate::output::OutputError;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file that is locked.
const LOCK: &str = ".lock";

/// Held while a directory is written; names process and host in its file `.lock`, which goes away with it.
///
/// A process that is killed leaves the file behind, but not the lock. Where the file system knows no locks, nothing is
/// locked.
#[derive(Debug)]
pub struct DirectoryLock {
    path: PathBuf,
    file: File,
}

impl DirectoryLock {
    /// Whether `directory` is free; nothing is written.
    ///
    /// # Errors
    /// [`OutputError::Busy`] where another process holds it.
    pub fn look(directory: &Path) -> Result<(), OutputError> {
        let Ok(mut file) = File::open(directory.join(LOCK)) else {
            return Ok(());
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Err(OutputError::Busy {
                path: directory.to_owned(),
                owner: owner(&mut file),
            }),
            // What was locked here is free again with the file.
            _ => Ok(()),
        }
    }

    /// Locks `directory`, which exists.
    ///
    /// # Errors
    /// [`OutputError::Busy`] where another process, or another part of this one, holds it.
    pub fn take(directory: &Path) -> Result<Self, OutputError> {
        let path = directory.join(LOCK);
        loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(OutputError::io("write to", directory))?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    return Err(OutputError::Busy {
                        path: directory.to_owned(),
                        owner: owner(&mut file),
                    });
                }
                Err(TryLockError::Error(error))
                    if error.kind() != std::io::ErrorKind::Unsupported =>
                {
                    return Err(OutputError::io("lock", directory)(error));
                }
                _ => {}
            }
            // The file may have been removed by its owner between opening and locking.
            if is_at(&file, &path) {
                sign(&mut file).map_err(OutputError::io("write to", directory))?;
                return Ok(Self { path, file });
            }
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Elsewhere a file cannot be told from another one of its name, and stays.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// Says whose lock it is.
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "process {} on {}", std::process::id(), host())
}

/// Who holds the lock, as far as the file says it.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(200).read_to_string(&mut text);
    match text.trim() {
        "" => "another process".to_owned(),
        owner => owner.to_owned(),
    }
}

fn host() -> String {
    let file = fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| fs::read_to_string("/etc/hostname"));
    let name = file
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok());
    let name = name.map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "this host".to_owned())
}

/// Whether `path` still leads to the open `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
