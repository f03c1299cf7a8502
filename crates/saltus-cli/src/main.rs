//! The command line of saltus: one file per command.

mod arguments;
mod check;
mod foreign;
mod profile;
mod progress;
mod render;
mod run;
mod schema;
mod schemes;
mod signals;
mod solve;
mod targets;
mod verdicts;
mod words;

use arguments::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

/// The result could not be written to its end.
const NOT_WRITTEN: u8 = 1;
/// The input is wrong; nothing was run.
const WRONG_INPUT: u8 = 2;
/// A step failed; what was computed is on disk.
const STEP_FAILED: u8 = 3;
/// Ended by Ctrl-C, as shells count it; what was computed is on disk.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Solve(arguments) => solve::run(&arguments),
        Command::Schemes(arguments) => schemes::run(&arguments),
        Command::Schema => schema::run(),
    }
}
