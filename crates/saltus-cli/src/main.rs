//! The command line of saltus: one file per command.

mod arguments;
mod check;
mod render;
mod schema;
mod schemes;

use arguments::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

/// The input is wrong; nothing was run.
const WRONG_INPUT: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Schemes => schemes::run(),
        Command::Schema => schema::run(),
    }
}
