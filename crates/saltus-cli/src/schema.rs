//! `saltus schema`: the JSON schema of model files.

use std::io::Write;
use std::process::ExitCode;

pub fn run() -> ExitCode {
    let schema = saltus_model::schema();
    match writeln!(std::io::stdout(), "{schema:#}") {
        Ok(()) => ExitCode::SUCCESS,
        // A closed pipe has read what it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
