//! Functions of time from formulas, with exact derivatives.

use crate::definition::{Formula, FormulaError, Scope, Source};
use crate::expression::{Gradients, Graph, Id, Inputs, Permission, Role, Tape};
use saltus_document::number::general;
use saltus_mechanics::signal::{Constant, Signal};

/// What messages call the formula of a load, whose rate does not count.
pub(super) const LOAD: &str = "a load";

/// A formula of the time and its first two derivatives.
#[derive(Debug)]
struct Timed {
    value: Tape,
    rate: Tape,
    acceleration: Tape,
}

impl Timed {
    fn run(tape: &Tape, t: f64) -> f64 {
        let inputs = Inputs {
            t,
            q: &[],
            v: &[],
            weights: &[],
        };
        tape.run(inputs, |out| out.first().copied().unwrap_or(f64::NAN))
    }
}

impl Signal for Timed {
    fn value(&self, t: f64) -> f64 {
        Self::run(&self.value, t)
    }

    fn rate(&self, t: f64) -> f64 {
        Self::run(&self.rate, t)
    }

    fn acceleration(&self, t: f64) -> f64 {
        Self::run(&self.acceleration, t)
    }
}

/// `Σ weightᵢ fᵢ(t)` of formulas of the time, as one function.
///
/// # Errors
/// Everything that is wrong with the formulas; `subject` is what messages call them.
pub(crate) fn signal(
    terms: &[(f64, Formula)],
    scope: &Scope,
    subject: &'static str,
) -> Result<Box<dyn Signal>, Vec<FormulaError>> {
    let mut graph = Graph::new(scope.tables.clone());
    let permission = Permission {
        time: true,
        ..Permission::parameters(subject)
    };
    let mut sum = graph.zero();
    let mut errors = Vec::new();
    for (weight, formula) in terms {
        match formula.read(&scope.vocabulary, permission, &mut graph) {
            Ok(id) => {
                let term = graph.times(*weight, id);
                sum = graph.add(sum, term);
            }
            Err(wrong) => errors.extend(wrong),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if let Some(value) = graph.value(sum) {
        return Ok(Box::new(Constant(value)));
    }
    let mut gradients = Gradients::default();
    let rate = by_time(&mut graph, &mut gradients, sum);
    let acceleration = by_time(&mut graph, &mut gradients, rate);
    let compile = |id: Id| Tape::compile(&graph, &[id]);
    Ok(Box::new(Timed {
        value: compile(sum),
        rate: compile(rate),
        acceleration: compile(acceleration),
    }))
}

/// A complaint about a formula whose value, or unless it is a load whose rate, is no number at the time `t` \[s\] of the start.
pub(super) fn outside_of_domain(
    formula: &Formula,
    scope: &Scope,
    subject: &'static str,
    t: f64,
) -> Option<FormulaError> {
    if let Source::Number(_) = formula.source {
        return None;
    }
    let signal = signal(&[(1.0, formula.clone())], scope, subject).ok()?;
    let (value, rate) = (signal.value(t), signal.rate(t));
    let wrong = match (value.is_finite(), rate.is_finite() || subject == LOAD) {
        (true, true) => return None,
        (false, _) => format!(
            "{subject} is {} at the start, t = {} s",
            general(value),
            general(t)
        ),
        (true, false) => format!(
            "the rate of {subject} is {} at the start, t = {} s",
            general(rate),
            general(t)
        ),
    };
    Some(FormulaError {
        place: formula.place.clone(),
        span: 0..0,
        message: wrong,
        help: Some("the start lies outside of the domain of the formula; change the formula, or [simulation] start".to_owned()),
    })
}

fn by_time(graph: &mut Graph, gradients: &mut Gradients, id: Id) -> Id {
    let gradient = gradients.of(graph, id);
    let by_time = gradient.iter().find(|(role, _)| *role == Role::Time);
    match by_time {
        Some(&(_, derivative)) => derivative,
        None => graph.zero(),
    }
}
