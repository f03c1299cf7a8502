//! Diagnostics on the terminal: the text around each place, what is wrong there, and the cure.

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode,
};
use saltus_model::{Diagnostic, ModelErrors};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Nothing is wrapped where the reader is a program.
const UNWRAPPED: usize = 10_000;

/// Writes all of `errors` to standard error, and how many they are.
pub fn errors(model: &Path, errors: &ModelErrors) {
    let terminal = std::io::stderr().is_terminal();
    let handler = handler(terminal);
    let mut text = String::new();
    for diagnostic in &errors.diagnostics {
        let shown = Shown::new(errors, diagnostic);
        if handler.render_report(&mut text, &shown).is_err() {
            text.push_str(&diagnostic.message);
        }
        text.push('\n');
    }
    let count = match errors.diagnostics.len() {
        1 => "1 error".to_owned(),
        n => format!("{n} errors"),
    };
    // Nobody is left to tell where standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "{}\n{count} in {}, nothing was run",
        text.trim_end(),
        model.display()
    );
}

/// Writes one error that is not about a place in a text.
pub fn error(message: &str) {
    let _ = writeln!(std::io::stderr(), "  × {message}");
}

/// Writes something worth knowing.
pub fn note(message: &str) {
    let _ = writeln!(std::io::stderr(), "note: {message}");
}

fn handler(terminal: bool) -> GraphicalReportHandler {
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let theme = if colours {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false);
    if terminal {
        handler
    } else {
        handler.with_width(UNWRAPPED).without_syntax_highlighting()
    }
}

/// A diagnostic in the terms of the renderer.
#[derive(Debug)]
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    file: &'a str,
    source: Option<NamedSource<String>>,
    label: Option<LabeledSpan>,
}

impl<'a> Shown<'a> {
    fn new(errors: &'a ModelErrors, diagnostic: &'a Diagnostic) -> Self {
        let source = errors.source(diagnostic);
        let label = diagnostic.location.map(|at| {
            LabeledSpan::new(
                diagnostic.label.clone(),
                at.start,
                at.end.saturating_sub(at.start),
            )
        });
        Self {
            diagnostic,
            file: errors
                .sources
                .first()
                .map_or("", |source| source.name.as_str()),
            source: source.map(|source| NamedSource::new(&source.name, source.text.clone())),
            label,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        self.diagnostic
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.label.iter().cloned()))
    }
}
