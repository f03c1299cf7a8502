//! The command line of saltus: one file per command.

mod arguments;
mod check;
mod completions;
mod foreign;
mod profile;
mod progress;
mod render;
mod request;
mod run;
mod schema;
mod schemes;
mod signals;
mod solve;
mod sweep;
mod targets;
mod verdicts;
mod words;

use arguments::{Cli, Command};
use clap::Parser;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// The result could not be written to its end.
const NOT_WRITTEN: u8 = 1;
/// The input is wrong; nothing was run.
const WRONG_INPUT: u8 = 2;
/// A step failed; what was computed is on disk.
const STEP_FAILED: u8 = 3;
/// Ended by Ctrl-C, as shells count it; what was computed is on disk.
const INTERRUPTED: u8 = 130;

/// Writes to standard output. That it is closed, as by `head`, is no error; that it is full is one.
fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output cannot be written: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints the answer of a command.
fn answer(text: &str) -> ExitCode {
    match print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            render::error(&message);
            ExitCode::from(NOT_WRITTEN)
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Solve(arguments) => solve::run(&arguments),
        Command::Schemes(arguments) => schemes::run(&arguments),
        Command::Schema => schema::run(),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => completions::manual(&arguments),
    }
}
