//! Gives the names of a formula their meaning and puts it into the graph.

use super::function::{Binary, FUNCTIONS, Function};
use super::graph::{Graph, Id, Role};
use super::parse::{Ast, Comparison, Kind, Operator, Part};
use super::{Complaint, nearest};
use std::collections::HashMap;
use std::ops::Range;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Symbol {
    Parameter(f64),
    Coordinate(u32),
    Table(u32),
    Time,
    Constant(f64),
}

/// All names that formulas may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vocabulary {
    pub symbols: HashMap<String, Symbol>,
}

/// Which variables a formula may depend on, and what it is called in a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permission {
    pub time: bool,
    pub positions: bool,
    pub velocities: bool,
    /// E.g. `the mass matrix`.
    pub subject: &'static str,
}

impl Permission {
    /// Parameters only.
    pub(crate) const fn parameters(subject: &'static str) -> Self {
        Self {
            time: false,
            positions: false,
            velocities: false,
            subject,
        }
    }

    fn allowed(self) -> String {
        let mut words = Vec::new();
        if self.time {
            words.push("the time");
        }
        if self.positions {
            words.push("coordinates");
        }
        if self.velocities {
            words.push("velocities");
        }
        words.push("parameters");
        match words.split_last() {
            Some((last, [])) => format!("{last} only"),
            Some((last, rest)) => format!("{} and {last} only", rest.join(", ")),
            None => String::new(),
        }
    }
}

impl Vocabulary {
    fn names(&self) -> impl Iterator<Item = &str> {
        // Sorted, so that ties are broken the same way every time.
        let mut names: Vec<&str> = self.symbols.keys().map(String::as_str).collect();
        names.sort_unstable();
        names.into_iter()
    }

    fn coordinates(&self) -> impl Iterator<Item = &str> {
        self.names()
            .filter(|name| matches!(self.symbols.get(*name), Some(Symbol::Coordinate(_))))
    }
}

/// Puts `ast` into `graph`, or says everything that is wrong with it.
pub(crate) fn translate(
    ast: &Ast,
    vocabulary: &Vocabulary,
    permission: Permission,
    graph: &mut Graph,
) -> Result<Id, Vec<Complaint>> {
    let mut work = Translation {
        ast,
        vocabulary,
        permission,
        graph,
        made: Vec::new(),
        complaints: Vec::new(),
        not_finite: Vec::new(),
        dead: Vec::new(),
    };
    for part in 0..ast.parts.len() {
        let id = work.part(part);
        work.made.push(id);
    }
    work.misplaced_comparisons();
    work.settle_not_finite();
    match work.made.last() {
        Some(&whole) if work.complaints.is_empty() => Ok(whole),
        _ => Err(work.complaints),
    }
}

struct Translation<'a> {
    ast: &'a Ast,
    vocabulary: &'a Vocabulary,
    permission: Permission,
    graph: &'a mut Graph,
    /// One per part so far; not a number where there was a complaint.
    made: Vec<Id>,
    complaints: Vec<Complaint>,
    /// About constant parts that are not finite; no harm where the part is not used.
    not_finite: Vec<Complaint>,
    /// Branches that a constant condition never takes.
    dead: Vec<Range<usize>>,
}

impl Translation<'_> {
    fn part(&mut self, part: Part) -> Id {
        let syntax = &self.ast.parts[part];
        let span = syntax.span.clone();
        let id = match &syntax.kind {
            Kind::Number(value) => self.graph.constant(*value),
            Kind::Name(name) => return self.name(name, &span),
            Kind::Velocity(name) => return self.velocity(name, &span),
            Kind::Negate(a) => self.graph.neg(self.made[*a]),
            Kind::Binary(operator, a, b) => self.operation(*operator, self.made[*a], self.made[*b]),
            Kind::Compare(comparison, a, b) => {
                let function = match comparison {
                    Comparison::Less => Binary::Less,
                    Comparison::LessEqual => Binary::LessEqual,
                };
                self.graph.binary(function, self.made[*a], self.made[*b])
            }
            Kind::Call {
                name,
                name_span,
                arguments,
            } => self.call(name, name_span, arguments),
        };
        self.check_finite(part, id);
        id
    }

    fn operation(&mut self, operator: Operator, a: Id, b: Id) -> Id {
        match operator {
            Operator::Add => self.graph.add(a, b),
            Operator::Subtract => self.graph.sub(a, b),
            Operator::Multiply => self.graph.mul(a, b),
            Operator::Divide => self.graph.div(a, b),
            Operator::Power => self.graph.pow(a, b),
        }
    }

    fn complain(&mut self, complaint: Complaint) -> Id {
        self.complaints.push(complaint);
        self.graph.constant(f64::NAN)
    }

    /// A constant made of finite constants must be finite.
    fn check_finite(&mut self, part: Part, id: Id) {
        let syntax = &self.ast.parts[part];
        let Some(value) = self.graph.value(id) else {
            return;
        };
        let finite = |part: &Part| {
            self.graph
                .value(self.made[*part])
                .is_some_and(f64::is_finite)
        };
        let inner_finite = match &syntax.kind {
            Kind::Negate(a) => finite(a),
            Kind::Binary(_, a, b) => finite(a) && finite(b),
            Kind::Call { arguments, .. } => arguments.iter().all(finite),
            _ => false,
        };
        // Only a table whose points are wrong, which was reported there, is not a number anywhere.
        let wrong_table = value.is_nan()
            && matches!(&syntax.kind, Kind::Call { name, .. }
                if matches!(self.vocabulary.symbols.get(name), Some(Symbol::Table(_))));
        if value.is_finite() || !inner_finite || wrong_table {
            return;
        }
        let complaint = Complaint::new(
            syntax.span.clone(),
            format!("the value is {}", in_words(value)),
        );
        let complaint = match &syntax.kind {
            Kind::Binary(Operator::Divide, ..) => complaint.help("the denominator is zero"),
            Kind::Call {
                name, arguments, ..
            } => {
                let values: Vec<String> = arguments
                    .iter()
                    .filter_map(|a| self.graph.value(self.made[*a]))
                    .map(|value| format!("{value}"))
                    .collect();
                complaint.help(format!("`{name}` is called with {}", values.join(", ")))
            }
            _ => complaint,
        };
        self.not_finite.push(complaint);
    }

    fn name(&mut self, name: &str, span: &Range<usize>) -> Id {
        match self.vocabulary.symbols.get(name) {
            Some(Symbol::Parameter(value) | Symbol::Constant(value)) => self.graph.constant(*value),
            Some(Symbol::Time) if self.permission.time => self.graph.variable(Role::Time),
            Some(Symbol::Time) => self.forbidden(span, "`t` is the time"),
            Some(Symbol::Coordinate(i)) if self.permission.positions => {
                self.graph.variable(Role::Position(*i))
            }
            Some(Symbol::Coordinate(_)) => {
                self.forbidden(span, &format!("`{name}` is a coordinate"))
            }
            Some(Symbol::Table(_)) => {
                let complaint =
                    Complaint::new(span.clone(), format!("`{name}` is a table, not a number"));
                self.complain(complaint.help(format!("give it an argument, e.g. `{name}(t)`")))
            }
            None => self.unknown(name, span),
        }
    }

    fn unknown(&mut self, name: &str, span: &Range<usize>) -> Id {
        if let Some(function) = Function::named(name) {
            let complaint = Complaint::new(
                span.clone(),
                format!("`{name}` is a function, not a number"),
            );
            return self.complain(complaint.help(format!("write `{}`", function.usage(name))));
        }
        let complaint = Complaint::new(span.clone(), format!("unknown symbol `{name}`"));
        let velocity = ["dot_", "d_", "v_", "d", "v"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        let velocity = velocity.or_else(|| {
            ["_dot", "dot"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
        });
        let velocity = velocity.filter(|rest| {
            matches!(
                self.vocabulary.symbols.get(*rest),
                Some(Symbol::Coordinate(_))
            )
        });
        let help = match (name, velocity) {
            ("e", _) => Some("Euler's number is `exp(1)`".to_owned()),
            ("PI" | "Pi" | "π", _) => Some("did you mean `pi`?".to_owned()),
            (_, Some(coordinate)) => Some(format!("velocities are written `v.{coordinate}`")),
            _ => nearest(name, self.vocabulary.names())
                .map(|known| format!("did you mean `{known}`?")),
        };
        let help =
            help.unwrap_or_else(|| "define it as a parameter, or correct the name".to_owned());
        self.complain(complaint.help(help))
    }

    fn velocity(&mut self, name: &str, span: &Range<usize>) -> Id {
        match self.vocabulary.symbols.get(name) {
            Some(Symbol::Coordinate(i)) if self.permission.velocities => {
                self.graph.variable(Role::Velocity(*i))
            }
            Some(Symbol::Coordinate(_)) => {
                self.forbidden(span, &format!("`v.{name}` is a velocity"))
            }
            _ => {
                let complaint = Complaint::new(
                    span.clone(),
                    format!("`{name}` in `v.{name}` is not a coordinate"),
                );
                let help = match nearest(name, self.vocabulary.coordinates()) {
                    Some(known) => format!("did you mean `v.{known}`?"),
                    None => {
                        let known: Vec<String> = self
                            .vocabulary
                            .coordinates()
                            .map(|c| format!("`{c}`"))
                            .collect();
                        match known.len() {
                            0 => "there are no coordinates here".to_owned(),
                            1..=12 => format!("the coordinates are {}", known.join(", ")),
                            n => format!("there are {n} coordinates, and none is called so"),
                        }
                    }
                };
                self.complain(complaint.help(help))
            }
        }
    }

    fn forbidden(&mut self, span: &Range<usize>, what: &str) -> Id {
        let subject = self.permission.subject;
        let complaint = Complaint::new(
            span.clone(),
            format!("{what}, which {subject} cannot depend on"),
        );
        let help = format!("{subject} may depend on {}", self.permission.allowed());
        self.complain(complaint.help(help))
    }

    fn call(&mut self, name: &str, name_span: &Range<usize>, arguments: &[Part]) -> Id {
        let ids: Vec<Id> = arguments.iter().map(|&a| self.made[a]).collect();
        match self.vocabulary.symbols.get(name) {
            Some(Symbol::Table(table)) => {
                return match ids[..] {
                    [x] => self.graph.lookup(*table, x),
                    _ => self.wrong_count(
                        name,
                        name_span,
                        "1 argument",
                        ids.len(),
                        &format!("{name}(x)"),
                    ),
                };
            }
            Some(symbol) => {
                let kind = match symbol {
                    Symbol::Coordinate(_) => "a coordinate",
                    Symbol::Parameter(_) => "a parameter",
                    Symbol::Time => "the time",
                    _ => "a constant",
                };
                let complaint = Complaint::new(
                    name_span.clone(),
                    format!("`{name}` is {kind}, not a function"),
                );
                return self.complain(complaint.help(format!("a product is written `{name}*(…)`")));
            }
            None => {}
        }
        match Function::named(name) {
            None => self.unknown_function(name, name_span),
            Some(function) if function.accepts(ids.len()) => self.apply(function, arguments, &ids),
            Some(function) => self.wrong_count(
                name,
                name_span,
                function.arity(),
                ids.len(),
                &function.usage(name),
            ),
        }
    }

    fn unknown_function(&mut self, name: &str, span: &Range<usize>) -> Id {
        let tables = self
            .vocabulary
            .names()
            .filter(|n| matches!(self.vocabulary.symbols.get(*n), Some(Symbol::Table(_))));
        let known = FUNCTIONS.iter().map(|f| f.0).chain(tables);
        let help = match name {
            "arcsin" | "arccos" | "arctan" | "arctan2" => {
                Some(format!("did you mean `a{}`?", &name[3..]))
            }
            "pow" => Some("powers are written `^`, e.g. `x^2`".to_owned()),
            "sgn" | "signum" => Some("did you mean `sign`?".to_owned()),
            "step" => Some("did you mean `heaviside`?".to_owned()),
            _ => nearest(name, known).map(|known| format!("did you mean `{known}`?")),
        };
        let complaint = Complaint::new(span.clone(), format!("unknown function `{name}`"));
        let list: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
        self.complain(
            complaint
                .help(help.unwrap_or_else(|| format!("the functions are {}", list.join(", ")))),
        )
    }

    fn wrong_count(
        &mut self,
        name: &str,
        span: &Range<usize>,
        arity: &str,
        count: usize,
        usage: &str,
    ) -> Id {
        let complaint =
            Complaint::new(span.clone(), format!("`{name}` takes {arity}, not {count}"));
        self.complain(complaint.help(format!("write `{usage}`")))
    }

    fn apply(&mut self, function: Function, parts: &[Part], ids: &[Id]) -> Id {
        let g = &mut *self.graph;
        match (function, ids) {
            (Function::One(function), &[x]) => g.unary(function, x),
            (Function::Two(function), &[a, b]) => g.binary(function, a, b),
            (Function::Extremum(function), [first, rest @ ..]) => rest
                .iter()
                .fold(*first, |extremum, &x| g.binary(function, extremum, x)),
            (Function::Clamp, &[x, a, b]) => clamp(g, x, a, b),
            (Function::Smoothstep | Function::Smootherstep, &[x, a, b]) => {
                if a == b {
                    let span =
                        self.ast.parts[parts[1]].span.start..self.ast.parts[parts[2]].span.end;
                    return self.complain(Complaint::new(
                        span,
                        "the step begins and ends at the same place",
                    ));
                }
                smooth(g, function, x, a, b)
            }
            (Function::If, &[condition, a, b]) => {
                let part = &self.ast.parts[parts[0]];
                if !matches!(part.kind, Kind::Compare(..)) {
                    let complaint = Complaint::new(
                        part.span.clone(),
                        "the condition of `if` is not a comparison",
                    );
                    return self.complain(complaint.help("compare with `<`, `<=`, `>` or `>=`"));
                }
                if let Some(taken) = self.graph.value(condition) {
                    let dead = parts[if taken == 0.0 { 1 } else { 2 }];
                    self.dead.push(self.ast.parts[dead].span.clone());
                }
                self.graph.select(condition, a, b)
            }
            _ => g.constant(f64::NAN),
        }
    }

    /// Keeps the complaints about values that are used.
    fn settle_not_finite(&mut self) {
        let dead = std::mem::take(&mut self.dead);
        let inside = |c: &Complaint| {
            dead.iter()
                .any(|d| d.start <= c.span.start && c.span.end <= d.end)
        };
        let used = self
            .not_finite
            .drain(..)
            .filter(|complaint| !inside(complaint));
        self.complaints.extend(used);
    }

    /// Comparisons are conditions of `if` and nothing else.
    fn misplaced_comparisons(&mut self) {
        let mut conditions = std::collections::HashSet::new();
        for part in &self.ast.parts {
            if let Kind::Call {
                name, arguments, ..
            } = &part.kind
                && name == "if"
            {
                conditions.extend(arguments.first().copied());
            }
        }
        for (i, part) in self.ast.parts.iter().enumerate() {
            if matches!(part.kind, Kind::Compare(..)) && !conditions.contains(&i) {
                let complaint = Complaint::new(part.span.clone(), "a comparison is not a number");
                self.complaints
                    .push(complaint.help("use it as the condition of `if(condition, a, b)`"));
            }
        }
    }
}

/// A value that is not finite.
pub(crate) fn in_words(value: f64) -> &'static str {
    if value.is_nan() {
        "not a number"
    } else if value > 0.0 {
        "infinite"
    } else {
        "minus infinity"
    }
}

fn clamp(g: &mut Graph, x: Id, a: Id, b: Id) -> Id {
    let above = g.binary(Binary::Max, x, a);
    g.binary(Binary::Min, above, b)
}

/// `3u² − 2u³` or `6u⁵ − 15u⁴ + 10u³` with `u = (x − a)/(b − a)` held within [0, 1].
fn smooth(g: &mut Graph, function: Function, x: Id, a: Id, b: Id) -> Id {
    let (along, whole) = (g.sub(x, a), g.sub(b, a));
    let ratio = g.div(along, whole);
    let (zero, one) = (g.zero(), g.constant(1.0));
    let u = clamp(g, ratio, zero, one);
    let square = g.mul(u, u);
    if function == Function::Smoothstep {
        let (three, twice) = (g.constant(3.0), g.times(2.0, u));
        let rest = g.sub(three, twice);
        return g.mul(square, rest);
    }
    let (six, fifteen, ten) = (g.times(6.0, u), g.constant(15.0), g.constant(10.0));
    let inner = g.sub(six, fifteen);
    let inner = g.mul(u, inner);
    let inner = g.add(inner, ten);
    let cube = g.mul(square, u);
    g.mul(cube, inner)
}

/// Names that no parameter, coordinate or table can have.
pub(crate) fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "t" => Some("the time"),
        "pi" => Some("the constant π"),
        _ if Function::named(name).is_some() => Some("a function"),
        _ => None,
    }
}

/// The symbols that every formula knows.
pub(crate) fn built_in() -> Vocabulary {
    let symbols = [
        ("t".to_owned(), Symbol::Time),
        ("pi".to_owned(), Symbol::Constant(std::f64::consts::PI)),
    ];
    Vocabulary {
        symbols: symbols.into(),
    }
}
