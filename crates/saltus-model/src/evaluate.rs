//! Values of formulas of parameters, with a complaint where they are not what is expected.

use crate::definition::{Formula, Scope, Source};
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::tree::Path;

/// Like [`evaluate`], for a formula that is read again when the system is assembled: if it is no formula
/// of parameters, it is for that reader to say so.
pub(crate) fn constant(
    formula: &Formula,
    scope: &Scope,
    fits: impl Fn(f64) -> bool,
    expected: &str,
    findings: &mut Findings<'_>,
) {
    if scope.evaluate(formula).is_ok() {
        evaluate(formula, scope, fits, expected, findings);
    }
}

/// The value of a formula of parameters; a complaint and `None` where it is not as `expected`.
pub(crate) fn evaluate(
    formula: &Formula,
    scope: &Scope,
    fits: impl Fn(f64) -> bool,
    expected: &str,
    findings: &mut Findings<'_>,
) -> Option<f64> {
    match scope.evaluate(formula) {
        Ok(value) if value.is_finite() && fits(value) => Some(value),
        // It uses a parameter that is wrong itself.
        Ok(value) if value.is_nan() && matches!(formula.source, Source::Text(_)) => None,
        Ok(value) => {
            let place = &formula.place;
            let message = match &formula.source {
                Source::Number(_) => format!("{place} is {value}, expected {expected}"),
                Source::Text(text) => format!("{place} = {text} is {value}, expected {expected}"),
            };
            if let Ok(path) = Path::parse(place) {
                findings.at(
                    &path,
                    Diagnostic::new(message).label(format!("expected {expected}")),
                );
            }
            None
        }
        Err(error) => {
            findings.formula(&error);
            None
        }
    }
}
