//! Formulas: from text to fast exact evaluation.
//!
//! ```text
//! text --token, parse--> Ast --translate--> Graph --derivative--> Graph --compile--> Tape
//! ```
//!
//! A [`Graph`] holds every subexpression once (hash-consing), so that dozens of outputs share their
//! common work; derivatives are taken on it and are exact. A [`Tape`] is a flat register program for
//! one bundle of outputs: one pass, no allocation, each `sin` and `cos` once.

mod compile;
mod derivative;
mod function;
mod graph;
mod parse;
mod suggest;
mod table;
mod tape;
mod token;
mod translate;
mod units;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;

pub(crate) use derivative::Gradients;
pub(crate) use graph::{Graph, Id, Role};
pub(crate) use parse::{Ast, parse, parse_columns};
use suggest::nearest;
pub(crate) use table::Table;
pub(crate) use tape::{Inputs, Tape};
pub(crate) use token::is_name;
pub(crate) use translate::{
    Permission, Symbol, Vocabulary, built_in, in_words, reserved, translate,
};

use std::ops::Range;

/// What is wrong with a formula, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Complaint {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
