//! `saltus completions` and `saltus man`: what shells and `man` read.

use crate::arguments::{Cli, CompletionsArguments, ManArguments};
use crate::{WRONG_INPUT, print_output, render};
use clap::CommandFactory;
use clap_mangen::Man;
use std::process::ExitCode;

pub fn completions(arguments: &CompletionsArguments) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "saltus", &mut script);
    print_output(&String::from_utf8_lossy(&script))
}

pub fn manual(arguments: &ManArguments) -> ExitCode {
    let mut command = Cli::command();
    command.build();
    let page = match &arguments.command {
        None => command,
        Some(name) => {
            let Some(of) = command.find_subcommand(name) else {
                let known: Vec<&str> = command.get_subcommands().map(|c| c.get_name()).collect();
                render::error(&format!(
                    "there is no command `{name}`; the commands are {}",
                    known.join(", ")
                ));
                return ExitCode::from(WRONG_INPUT);
            };
            of.clone()
        }
    };
    let mut text = Vec::new();
    match Man::new(page).render(&mut text) {
        Ok(()) => print_output(&String::from_utf8_lossy(&text)),
        Err(error) => {
            render::error(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
