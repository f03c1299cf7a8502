//! Quantities that a model derives from its columns, and the condition that ends its simulation.

use crate::build::{formula, path};
use crate::definition::{Formula, FormulaError, Scope, Source};
use crate::expression::{
    Ast, Complaint, Graph, Inputs, Permission, Symbol, Tape, Vocabulary, is_name, parse_columns,
    reserved, translate,
};
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::Document;
use saltus_document::suggest;
use saltus_mechanics::flexible::{Assembly, NodeId, Probe, ProbeColumn, SupportForce};
use saltus_system::{ContactSet, Reach, State, System};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A formula of columns of the trajectory.
#[derive(Debug, Clone)]
pub struct Quantity {
    name: String,
    unit: String,
    inputs: Vec<String>,
    tape: Arc<Tape>,
}

impl Quantity {
    /// Its name, that of its column.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its unit; empty where the model does not say it.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The columns it is computed from: `t`, `q.y`, `gap.floor`, the names of quantities before it.
    #[must_use]
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// Its value where the [`inputs`](Self::inputs) have these values.
    #[must_use]
    pub fn evaluate(&self, values: &[f64]) -> f64 {
        let inputs = Inputs {
            t: 0.0,
            q: values,
            v: &[],
            weights: &[],
        };
        self.tape.run(inputs, |outputs| {
            outputs.first().copied().unwrap_or(f64::NAN)
        })
    }
}

/// A comparison that ends a simulation.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    quantity: Quantity,
}

impl Condition {
    /// As it is written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// 1 where it holds, 0 where it does not.
    #[must_use]
    pub fn quantity(&self) -> &Quantity {
        &self.quantity
    }
}

/// What a document derives from the columns of its trajectory.
#[derive(Debug, Default)]
pub(crate) struct Quantities {
    /// In the order of the file, but after those that they use.
    pub list: Vec<Quantity>,
    pub stop: Option<Condition>,
    /// Unit by the name of a column of coordinates.
    pub units: Vec<(String, String)>,
}

/// What a model consists of, as far as its columns are concerned.
pub(crate) struct Columns<'a> {
    pub system: &'a dyn System,
    pub assembly: Option<&'a Assembly>,
    pub fields: &'a [NodeId],
    pub supports: &'a [(String, Vec<NodeId>, Vec<usize>)],
    pub initial: &'a State,
}

/// Reads the quantities, the condition and the units of `document`.
pub(crate) fn read(
    document: &Document,
    model: &Columns<'_>,
    scope: &Scope,
    findings: &mut Findings<'_>,
) -> Quantities {
    let mut quantities = Quantities {
        units: units_of_nodes(model),
        ..Quantities::default()
    };
    let written = &document.output.quantities;
    if written.is_empty() && document.simulation.stop.is_none() && document.output.units.is_empty()
    {
        return quantities;
    }
    let columns = columns(model);
    units(document, &columns, &mut quantities.units, findings);
    let mut reader = Reader {
        scope,
        columns,
        names: written.keys().cloned().collect(),
        findings,
    };
    quantities.list = reader.quantities(document);
    if let Some(text) = &document.simulation.stop {
        quantities.stop = reader.condition(text);
    }
    quantities
}

/// All columns that a trajectory may have.
fn columns(model: &Columns<'_>) -> HashSet<String> {
    let names = model.system.names();
    let mut columns: HashSet<String> = ["energy.kinetic", "energy.potential", "energy.total"]
        .map(str::to_owned)
        .into();
    columns.extend(["t", "newton_iterations"].map(str::to_owned));
    columns.extend(names.positions.iter().map(|name| format!("q.{name}")));
    columns.extend(names.velocities.iter().map(|name| format!("v.{name}")));
    for name in names.bilateral.iter().chain(&names.contacts) {
        columns.extend(
            ["gap", "gap_velocity", "impulse", "force"].map(|prefix| format!("{prefix}.{name}")),
        );
    }
    let mut set = ContactSet::default();
    let state = model.initial;
    model.system.detect(state.t, &state.q, Reach::All, &mut set);
    let contacts = (0..set.len()).map(|i| (names.contact(set.id[i]), set.law[i].tangents));
    let joints = model.system.joint_friction().iter().enumerate();
    let joints = joints.map(|(k, element)| (names.friction_element(k), element.tangents));
    for (name, tangents) in contacts.chain(joints).filter(|(_, tangents)| *tangents > 0) {
        for prefix in ["slip", "impulse_t"] {
            match tangents {
                1 => columns.extend([format!("{prefix}.{name}")]),
                n => columns.extend((1..=n).map(|k| format!("{prefix}.{name}.{k}"))),
            }
        }
        columns.insert(format!("state.{name}"));
    }
    if let Some(assembly) = model.assembly {
        for probe in Probe::at(assembly, model.fields) {
            columns.extend(probe.columns().iter().map(ProbeColumn::name));
        }
        for (name, nodes, components) in model.supports {
            let kinds = nodes.iter().map(|&n| SupportForce::names(assembly.kind(n)));
            let names = kinds.max_by_key(Vec::len).unwrap_or_default();
            let held = components.iter().filter_map(|&c| names.get(c));
            columns.extend(held.map(|(component, _)| format!("reaction.{name}.{component}")));
        }
    }
    columns
}

/// Units of the coordinates of nodes.
fn units_of_nodes(model: &Columns<'_>) -> Vec<(String, String)> {
    if model.assembly.is_none() {
        return Vec::new();
    }
    let names = model.system.names();
    let unit = |name: &str| match name.rsplit('.').next() {
        Some("x" | "y" | "z") => "m",
        Some("angle") => "rad",
        Some("p0" | "p1" | "p2" | "p3") => "1",
        _ => "",
    };
    let rate = |name: &str| match name.rsplit('.').next() {
        Some("x" | "y" | "z") => "m/s",
        Some("angle" | "spin1" | "spin2" | "spin3") => "rad/s",
        _ => "",
    };
    let positions = names.positions.iter();
    let positions = positions.map(|name| (format!("q.{name}"), unit(name).to_owned()));
    let velocities = names.velocities.iter();
    let velocities = velocities.map(|name| (format!("v.{name}"), rate(name).to_owned()));
    positions.chain(velocities).collect()
}

/// Units that the document gives to coordinates, and by that to their velocities.
fn units(
    document: &Document,
    columns: &HashSet<String>,
    units: &mut Vec<(String, String)>,
    findings: &mut Findings<'_>,
) {
    for (name, unit) in &document.output.units {
        if document.output.quantities.contains_key(name) {
            continue;
        }
        let (position, velocity) = (format!("q.{name}"), format!("v.{name}"));
        if columns.contains(&position) || columns.contains(&velocity) {
            units.push((position, unit.clone()));
            units.push((velocity, rate(unit)));
            continue;
        }
        let coordinates = columns.iter().filter_map(|c| c.strip_prefix("q."));
        let mut known: Vec<&str> = coordinates.collect();
        known.extend(document.output.quantities.keys().map(String::as_str));
        known.sort_unstable();
        let diagnostic = Diagnostic::new(format!(
            "\"{name}\" is neither a coordinate nor a quantity{}",
            suggest::did_you_mean(name, known.iter().copied())
        ))
        .label("has no unit of its own")
        .help(format!(
            "those that may have one are {}",
            suggest::list(known)
        ));
        findings.at_key(&path(["output", "units"]).key(name), diagnostic);
    }
}

/// The unit of the rate of what has the unit `unit`.
fn rate(unit: &str) -> String {
    match unit {
        "" | "1" => "1/s".to_owned(),
        unit => match unit.strip_suffix("/s") {
            Some(rest) => format!("{rest}/s²"),
            None => format!("{unit}/s"),
        },
    }
}

struct Reader<'a, 'f> {
    scope: &'a Scope,
    columns: HashSet<String>,
    /// Of all quantities.
    names: HashSet<String>,
    findings: &'a mut Findings<'f>,
}

impl Reader<'_, '_> {
    fn quantities(&mut self, document: &Document) -> Vec<Quantity> {
        let place = path(["output", "quantities"]);
        let mut read: Vec<Quantity> = Vec::new();
        for (name, quantity) in &document.output.quantities {
            let formula = formula(quantity, &place.key(name));
            let result = self.name(name, &formula).and_then(|()| {
                let ast = syntax(&formula)?;
                self.compile(name, &formula, &ast)
            });
            match result {
                Ok(mut quantity) => {
                    let unit = document.output.units.get(name);
                    quantity.unit = unit.cloned().unwrap_or_default();
                    read.push(quantity);
                }
                Err(errors) => errors.iter().for_each(|error| self.findings.formula(error)),
            }
        }
        self.ordered(read, document)
    }

    /// Each after those that it uses.
    fn ordered(&mut self, mut rest: Vec<Quantity>, document: &Document) -> Vec<Quantity> {
        let mut ordered: Vec<Quantity> = Vec::new();
        let mut done: HashSet<String> = HashSet::new();
        // What could not be read was said; who uses it is not to blame.
        let readable: HashSet<String> = rest.iter().map(|q| q.name.clone()).collect();
        while !rest.is_empty() {
            let ready = |q: &Quantity| {
                let waits = |input: &String| readable.contains(input) && !done.contains(input);
                !q.inputs.iter().any(waits)
            };
            let Some(next) = rest.iter().position(ready) else {
                break;
            };
            let quantity = rest.remove(next);
            done.insert(quantity.name.clone());
            ordered.push(quantity);
        }
        if let Some(first) = rest.first() {
            let names = suggest::list(rest.iter().map(|q| q.name.as_str()));
            let place = path(["output", "quantities"]).key(&first.name);
            if let Some(quantity) = document.output.quantities.get(&first.name) {
                let error = formula(quantity, &place).error(
                    format!("quantities depend on themselves: {names}"),
                    "give one of them a formula without the others",
                );
                self.findings.formula(&error);
            }
        }
        ordered
    }

    fn condition(&mut self, text: &str) -> Option<Condition> {
        let formula = Formula::new(Source::Text(text.to_owned()), "simulation.stop");
        let result = syntax(&formula).and_then(|mut ast| {
            ast.make_condition()
                .map_err(|complaint| vec![formula.locate(complaint)])?;
            self.compile("simulation.stop", &formula, &ast)
        });
        match result {
            Ok(quantity) => Some(Condition {
                text: text.trim().to_owned(),
                quantity,
            }),
            Err(errors) => {
                errors.iter().for_each(|error| self.findings.formula(error));
                None
            }
        }
    }

    /// Complains about a name that means something else already.
    fn name(&self, name: &str, formula: &Formula) -> Result<(), Vec<FormulaError>> {
        let other = self.scope.vocabulary.symbols.get(name).map(|s| match s {
            Symbol::Parameter(_) => "a parameter",
            Symbol::Coordinate(_) => "a coordinate",
            Symbol::Table(_) => "a table",
            _ => "a symbol of every formula",
        });
        let meaning = reserved(name).or(other);
        let (message, help) = if !is_name(name) {
            let help = "names consist of letters, digits and `_`, and begin with no digit";
            (format!("`{name}` cannot name a quantity"), help)
        } else if let Some(meaning) = meaning {
            let message = format!("a quantity cannot be called `{name}`, which is {meaning}");
            (message, "choose another name")
        } else if self.columns.contains(name) {
            let message = format!("there is a column `{name}` already");
            (message, "choose another name")
        } else {
            return Ok(());
        };
        Err(vec![FormulaError::at(&formula.place, message, help)])
    }

    fn compile(
        &self,
        name: &str,
        formula: &Formula,
        ast: &Ast,
    ) -> Result<Quantity, Vec<FormulaError>> {
        let symbols = &self.scope.vocabulary.symbols;
        let constant = |s: &&Symbol| !matches!(s, Symbol::Coordinate(_) | Symbol::Time);
        let mut vocabulary = Vocabulary {
            symbols: symbols
                .iter()
                .filter(|(_, symbol)| constant(symbol))
                .map(|(name, symbol)| (name.clone(), *symbol))
                .collect(),
        };
        let mut inputs: Vec<String> = Vec::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut complaints = Vec::new();
        for (word, span) in ast.places_of_names() {
            if vocabulary.symbols.contains_key(word) || numbers.contains_key(word) {
                continue;
            }
            match self.input(word) {
                Some(input) => {
                    let number = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
                    numbers.insert(word.to_owned(), number);
                    inputs.push(input);
                }
                None => complaints.push(self.unknown(word, span, &vocabulary)),
            }
        }
        let locate = |complaints: Vec<Complaint>| -> Vec<FormulaError> {
            complaints.into_iter().map(|c| formula.locate(c)).collect()
        };
        if !complaints.is_empty() {
            return Err(locate(complaints));
        }
        let inputs_of = numbers.into_iter();
        vocabulary
            .symbols
            .extend(inputs_of.map(|(name, k)| (name, Symbol::Coordinate(k))));
        let permission = Permission {
            time: true,
            positions: true,
            velocities: true,
            subject: "a quantity",
        };
        let mut graph = Graph::new(self.scope.tables.clone());
        let id = translate(ast, &vocabulary, permission, &mut graph).map_err(locate)?;
        Ok(Quantity {
            name: name.to_owned(),
            unit: String::new(),
            inputs,
            tape: Arc::new(Tape::compile(&graph, &[id])),
        })
    }

    /// The column that `word` stands for.
    fn input(&self, word: &str) -> Option<String> {
        if self.names.contains(word) || self.columns.contains(word) {
            return Some(word.to_owned());
        }
        let coordinate = format!("q.{word}");
        self.columns.contains(&coordinate).then_some(coordinate)
    }

    fn unknown(
        &self,
        word: &str,
        span: std::ops::Range<usize>,
        vocabulary: &Vocabulary,
    ) -> Complaint {
        let own = self.columns.iter().map(String::as_str);
        let coordinates = own.clone().filter_map(|c| c.strip_prefix("q."));
        let others = self.names.iter().chain(vocabulary.symbols.keys());
        let mut known: Vec<&str> = own.chain(coordinates).collect();
        known.extend(others.map(String::as_str));
        known.sort_unstable();
        let complaint = Complaint::new(span, format!("unknown symbol `{word}`"));
        complaint.help(match suggest::nearest(word, known.iter().copied()) {
            Some(nearest) if !is_plain(nearest) => {
                format!("did you mean `{nearest}`? It is written in quotes, `'{nearest}'`")
            }
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "a quantity is a formula of `t`, coordinates `y`, velocities `v.y`, parameters, other quantities and columns such as `gap.NAME`, `impulse.NAME` and `energy.total`".to_owned(),
        })
    }
}

/// Whether a column can be written without quotes.
fn is_plain(column: &str) -> bool {
    column.split('.').all(|word| {
        let fits = |c: char| c.is_alphanumeric() || c == '_';
        !word.is_empty() && word.chars().all(fits)
    })
}

fn syntax(formula: &Formula) -> Result<Ast, Vec<FormulaError>> {
    match &formula.source {
        Source::Number(value) => Ok(Ast::number(*value, 0..formula.text().len())),
        Source::Text(text) => parse_columns(text).map_err(|c| vec![formula.locate(c)]),
    }
}
