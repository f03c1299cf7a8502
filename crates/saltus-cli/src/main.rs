//! The command line of saltus: one file per command.

mod arguments;
mod check;
mod columns;
mod completions;
mod doubts;
mod foreign;
mod init;
mod modes;
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
mod window;
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

/// A fault of the program itself.
const INTERNAL: i32 = 70;

/// Writes to standard output. That it is closed, as by `head`, is no error; that it is full is one.
fn print(text: &str) -> Result<(), String> {
    written(std::io::stdout().write_all(text.as_bytes()))
}

/// Whether all that was written to standard output has arrived.
fn written(outcome: std::io::Result<()>) -> Result<(), String> {
    match outcome.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output cannot be written: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints the output of a command.
fn print_output(text: &str) -> ExitCode {
    told(print(text))
}

fn told(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            render::error(&message);
            ExitCode::from(NOT_WRITTEN)
        }
    }
}

fn main() -> ExitCode {
    let stop = signals::stop_on_interrupt();
    std::panic::set_hook(Box::new(fault_of_the_program));
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return not_a_command(&error),
    };
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Run(arguments) => run::run(&arguments, &stop),
        Command::Sweep(arguments) => sweep::run(&arguments, &stop),
        Command::Check(arguments) => check::run(&arguments),
        Command::Modes(arguments) => modes::run(&arguments),
        Command::Solve(arguments) => solve::run(&arguments),
        Command::Schemes(arguments) => schemes::run(&arguments),
        Command::Schema => schema::run(),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => completions::manual(&arguments),
    }
}

/// Prints the help or version that was asked for, or what is wrong with the arguments.
fn not_a_command(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() {
        return ExitCode::from(WRONG_INPUT);
    }
    told(written(printed))
}

/// The last resort: says what went wrong and where to tell it, in any thread, and ends the program.
fn fault_of_the_program(info: &std::panic::PanicHookInfo<'_>) {
    let payload = info.payload();
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let message = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = message.unwrap_or("no message");
    let place = info.location().map(ToString::to_string);
    let command: Vec<_> = std::env::args_os().collect();
    render::error(&format!(
        "saltus {} failed by a fault of its own: {message}\n    at {}\n    of {command:?}\n    \
         Results that were being written are incomplete. Please report this, with the input, at\n    {}/issues",
        env!("CARGO_PKG_VERSION"),
        place.as_deref().unwrap_or("an unknown place"),
        env!("CARGO_PKG_REPOSITORY"),
    ));
    std::process::exit(INTERNAL);
}
