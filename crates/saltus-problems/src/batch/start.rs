//! Where a solver starts: at zero, or at a point that is stored beside the problem.

use super::BatchError;
use crate::archive::Record;
use std::fmt;
use std::str::FromStr;

/// The first guess of a solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// No reaction, no multiplier.
    #[default]
    Zero,
    /// The stored guess of this number, counted from 1.
    Guess(usize),
    /// What the file calls its solution.
    Solution,
}

impl Start {
    /// The unknowns to start from; empty for [`Zero`](Self::Zero).
    ///
    /// # Errors
    /// [`BatchError::Start`] where `record` holds no such point.
    pub fn unknowns(self, record: &Record) -> Result<&[f64], BatchError> {
        let point = match self {
            Self::Zero => return Ok(&[]),
            Self::Guess(number) => number.checked_sub(1).and_then(|k| record.guesses.get(k)),
            Self::Solution => record.solution.as_ref(),
        };
        point.map_or_else(
            || {
                Err(BatchError::Start {
                    start: self,
                    guesses: record.guesses.len(),
                    solution: record.solution.is_some(),
                })
            },
            |point| Ok(&point.unknowns[..]),
        )
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Guess(number) => write!(f, "guess:{number}"),
            Self::Solution => f.write_str("solution"),
        }
    }
}

/// A text that names no start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no start; expected zero, solution, or guess:N with N counted from 1")]
pub struct NoStart(String);

impl FromStr for Start {
    type Err = NoStart;

    fn from_str(text: &str) -> Result<Self, NoStart> {
        let refused = || NoStart(text.to_owned());
        match text {
            "zero" => Ok(Self::Zero),
            "solution" => Ok(Self::Solution),
            _ => {
                let number = text.strip_prefix("guess:").ok_or_else(refused)?;
                match number.parse() {
                    Ok(n) if n > 0 => Ok(Self::Guess(n)),
                    _ => Err(refused()),
                }
            }
        }
    }
}
