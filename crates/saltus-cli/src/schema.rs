//! `saltus schema`: the JSON schema of model files.

use std::process::ExitCode;

pub fn run() -> ExitCode {
    crate::print_output(&format!("{:#}\n", saltus_model::schema()))
}
