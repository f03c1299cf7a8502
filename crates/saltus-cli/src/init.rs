//! `saltus init`: a model to begin with.

use crate::arguments::{InitArguments, Template};
use crate::{NOT_WRITTEN, WRONG_INPUT, print_output, render};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

impl Template {
    fn name(self) -> &'static str {
        match self {
            Self::Pendulum => "pendulum",
            Self::Beam => "beam",
            Self::Contact => "contact",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Pendulum => include_str!("init/pendulum.toml"),
            Self::Beam => include_str!("init/beam.toml"),
            Self::Contact => include_str!("init/contact.toml"),
        }
    }
}

pub fn run(arguments: &InitArguments) -> ExitCode {
    let template = arguments.template;
    let default = || PathBuf::from(format!("{}.toml", template.name()));
    let path = arguments.file.clone().unwrap_or_else(default);
    let place = path.display();
    if path.extension().is_none_or(|extension| extension != "toml") {
        render::error(&format!(
            "`{place}` would not be read as TOML; give a name that ends in .toml"
        ));
        return ExitCode::from(WRONG_INPUT);
    }
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = file.and_then(|mut file| {
        let text = template.text().replace("FILE", &place.to_string());
        file.write_all(text.as_bytes())
    });
    match written {
        Ok(()) => print_output(&format!(
            "{place} is a model to begin with; `saltus run {place} --report` simulates it\n"
        )),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            render::error(&format!(
                "`{place}` is there already and stays as it is; give another name"
            ));
            ExitCode::from(WRONG_INPUT)
        }
        Err(error) => {
            render::error(&format!("cannot write `{place}`: {error}"));
            ExitCode::from(NOT_WRITTEN)
        }
    }
}
