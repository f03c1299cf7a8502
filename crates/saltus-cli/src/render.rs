//! Diagnostics on the terminal: the text around each place, what is wrong there, and the cure.

use crate::window::Window;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, Severity, SourceCode};
use saltus_model::{Diagnostic, Fault, ModelErrors};
use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Nothing is wrapped where the reader is a program.
const UNWRAPPED: usize = 10_000;

/// So many faults are shown at most.
const MOST_SHOWN: usize = 20;

/// No more is written about the faults of one model \[bytes\].
const MOST_WRITTEN: usize = 40_000;

/// Writes what is wrong by `errors` to standard error: each fault once, at its first place, and how many there are.
pub fn errors(model: &Path, errors: &ModelErrors) {
    let text = blocks(errors, std::io::stderr().is_terminal());
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

fn blocks(errors: &ModelErrors, terminal: bool) -> String {
    let handler = handler(terminal);
    let faults = errors.faults();
    let mut text = String::new();
    for (k, fault) in faults.iter().enumerate() {
        let mut block = String::new();
        let shown = Shown::new(errors, fault);
        if handler.render_report(&mut block, &shown).is_err() {
            block.push_str(&fault.first.message);
        }
        block.push('\n');
        if k == MOST_SHOWN || text.len() + block.len() > MOST_WRITTEN {
            let more = match faults.len() - k {
                1 => "1 more fault is".to_owned(),
                n => format!("{n} more faults are"),
            };
            text.push_str(&format!("  … {more} not shown\n"));
            break;
        }
        text.push_str(&block);
    }
    text
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

/// A fault in the terms of the renderer.
#[derive(Debug)]
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    more: usize,
    file: &'a str,
    source: Option<Window>,
    label: Option<LabeledSpan>,
}

impl<'a> Shown<'a> {
    fn new(errors: &'a ModelErrors, fault: &Fault<'a>) -> Self {
        let diagnostic = fault.first;
        let source = diagnostic
            .location
            .zip(errors.source(diagnostic))
            .map(|(at, source)| Window::new(source, at));
        let label = source.as_ref().map(|source| {
            let span = source.span();
            LabeledSpan::new(diagnostic.label.clone(), span.start, span.len())
        });
        Self {
            diagnostic,
            more: fault.more,
            file: errors
                .sources
                .first()
                .map_or("", |source| source.name.as_str()),
            source,
            label,
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.diagnostic.message)?;
        match self.more {
            0 => Ok(()),
            1 => f.write_str(" (and in 1 more place)"),
            n => write!(f, " (and in {n} more places)"),
        }
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
