//! What a model given by formulas consists of, and its assembly into a system.
//!
//! A [`Definition`] is what a model file says, formula by formula, each with the place where it stands
//! in the document. [`Definition::assemble`] reads all formulas, checks them and compiles the
//! [`FormulaSystem`]; it reports everything that is wrong, not only the first error.

use crate::expression::{
    Ast, Complaint, Graph, Permission, Symbol, Table, Vocabulary, built_in, in_words, is_name,
    parse, reserved, translate,
};
use crate::formula_system::{self, FormulaSystem};
use saltus_system::FrictionBound;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// A value as a document gives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A plain number.
    Number(f64),
    /// The text of a formula.
    Text(String),
}

/// A number or the text of a formula, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// The number or the text.
    pub source: Source,
    /// Path in the document, e.g. `system.force[1]`.
    pub place: String,
}

/// What is wrong with a formula or a part of the definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct FormulaError {
    /// Path in the document, e.g. `system.force[1]`.
    pub place: String,
    /// Bytes of the text of the formula that the message is about; empty if it is about the whole place.
    pub span: Range<usize>,
    /// What is wrong, e.g. ``unknown symbol `thta` ``.
    pub message: String,
    /// What to do about it, e.g. ``did you mean `theta`?``.
    pub help: Option<String>,
}

/// A piecewise linear function; constant outside of its points.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDefinition {
    /// Name by which formulas call it.
    pub name: String,
    /// Arguments, strictly increasing, at least two.
    pub x: Vec<f64>,
    /// Values, as many as arguments.
    pub y: Vec<f64>,
    /// Path in the document, e.g. `tables.ramp`.
    pub place: String,
}

/// The mass matrix, in formulas of coordinates and parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum MassDefinition {
    /// Its diagonal (n).
    Diagonal(Vec<Formula>),
    /// Its rows (n × n).
    Full(Vec<Vec<Formula>>),
}

/// A bilateral constraint, on positions or on velocities alone.
#[derive(Debug, Clone, PartialEq)]
pub struct BilateralDefinition {
    /// Unique among all constraints.
    pub name: String,
    /// What is kept at zero: `g`, a formula of the time, coordinates and parameters, or a velocity, linear in the velocities.
    pub g: Formula,
    /// Whether that is a velocity.
    pub on_velocity: bool,
}

/// Dry friction that no contact makes.
#[derive(Debug, Clone, PartialEq)]
pub struct FrictionDefinition {
    /// Unique among all constraints.
    pub name: String,
    /// Path in the document, e.g. `system.friction[0]`.
    pub place: String,
    /// Displacements whose rates are the slip velocities (0 to 2), formulas like `g`.
    pub tangential: Vec<Formula>,
    /// Slip velocities (0 to 2), linear in the velocities; instead of `tangential`.
    pub tangential_velocity: Vec<Formula>,
    /// The coefficient or the bound, ≥ 0, a formula of parameters, time, coordinates and velocities.
    pub coefficient: Formula,
    /// What it is.
    pub bound: FrictionBound,
}

/// A unilateral constraint `gap(t, q) ≥ 0`.
#[derive(Debug, Clone, PartialEq)]
pub struct UnilateralDefinition {
    /// Unique among all constraints.
    pub name: String,
    /// The gap, a formula of the time, coordinates and parameters.
    pub gap: Formula,
    /// Newton's coefficient of restitution, a formula of parameters, in [0, 1].
    pub restitution: Formula,
    /// Displacements whose rates are the slip velocities (0 to 2), formulas like `gap`.
    pub tangential: Vec<Formula>,
    /// Slip velocities (0 to 2), linear in the velocities; instead of `tangential`.
    pub tangential_velocity: Vec<Formula>,
    /// Coulomb's coefficient, ≥ 0, a formula of parameters, time, coordinates and velocities; 0 if absent.
    pub friction: Option<Formula>,
    /// The same while the contact sticks, ≥ `friction`; that if absent.
    pub friction_static: Option<Formula>,
    /// Restitution of the slip velocity, a formula of parameters, in [0, 1]; 0 if absent.
    pub tangential_restitution: Option<Formula>,
}

/// A model given by formulas.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Definition {
    /// Names and values, in any order; a value may be a formula of other parameters.
    pub parameters: Vec<(String, Formula)>,
    /// Functions given by points.
    pub tables: Vec<TableDefinition>,
    /// Name and place of each coordinate.
    pub coordinates: Vec<(String, String)>,
    /// The mass matrix; instead of `kinetic`.
    pub mass: Option<MassDefinition>,
    /// Smooth forces without those of the energies (n); zero if absent.
    pub force: Option<Vec<Formula>>,
    /// Kinetic energy `T(t, q, v)`, quadratic in the velocities; instead of `mass`.
    pub kinetic: Option<Formula>,
    /// Potential energy `V(t, q)`.
    pub potential: Option<Formula>,
    /// Rayleigh's dissipation function `R(q, v)`: the force `−∂R/∂v`.
    pub dissipation: Option<Formula>,
    /// Bilateral constraints.
    pub bilateral: Vec<BilateralDefinition>,
    /// Dry friction in joints and on coordinates.
    pub friction: Vec<FrictionDefinition>,
    /// Unilateral constraints.
    pub unilateral: Vec<UnilateralDefinition>,
}

/// The evaluated parameters of a definition.
#[derive(Debug, Clone)]
pub struct Scope {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) tables: Arc<[Table]>,
    parameters: Vec<(String, f64)>,
}

impl Formula {
    /// A formula of the document.
    pub fn new(source: Source, place: impl Into<String>) -> Self {
        Self {
            source,
            place: place.into(),
        }
    }

    /// The text, or the number as it is written.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.source {
            Source::Number(value) => format!("{value}"),
            Source::Text(text) => text.clone(),
        }
    }

    fn ast(&self) -> Result<Ast, Complaint> {
        match &self.source {
            Source::Number(value) => Ok(Ast::number(*value, 0..self.text().len())),
            Source::Text(text) => parse(text),
        }
    }

    /// An error about the whole formula.
    pub(crate) fn error(
        &self,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FormulaError {
        self.locate(Complaint::new(0..self.text().len(), message).help(help))
    }

    pub(crate) fn locate(&self, complaint: Complaint) -> FormulaError {
        let Complaint {
            span,
            message,
            help,
        } = complaint;
        FormulaError {
            place: self.place.clone(),
            span,
            message,
            help,
        }
    }

    /// Reads the formula into `graph`.
    pub(crate) fn read(
        &self,
        vocabulary: &Vocabulary,
        permission: Permission,
        graph: &mut Graph,
    ) -> Result<crate::expression::Id, Vec<FormulaError>> {
        let ast = self
            .ast()
            .map_err(|complaint| vec![self.locate(complaint)])?;
        let locate = |complaints: Vec<Complaint>| -> Vec<FormulaError> {
            complaints
                .into_iter()
                .map(|complaint| self.locate(complaint))
                .collect()
        };
        let id = translate(&ast, vocabulary, permission, graph).map_err(locate)?;
        match (graph.value(id), &self.source) {
            (Some(value), Source::Number(_)) if !value.is_finite() => Err(vec![self.error(
                format!("the value is {}", in_words(value)),
                "give a finite number",
            )]),
            _ => Ok(id),
        }
    }
}

impl FormulaError {
    /// An error about the whole of a place.
    pub(crate) fn at(
        place: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            span: 0..0,
            message: message.into(),
            help: Some(help.into()),
        }
    }
}

impl Scope {
    /// The value of a formula of parameters, e.g. an initial position or a step length.
    ///
    /// # Errors
    /// [`FormulaError`] where it cannot be read, depends on coordinates, velocities or the time, or is
    /// not finite.
    pub fn evaluate(&self, formula: &Formula) -> Result<f64, FormulaError> {
        self.value(formula, "a value outside of `system`")
            .map_err(|mut errors| errors.swap_remove(0))
    }

    /// The parameters with their values, in the order of the definition.
    #[must_use]
    pub fn parameters(&self) -> &[(String, f64)] {
        &self.parameters
    }

    /// Not a number where a parameter that is wrong itself is used; at least one error otherwise.
    pub(crate) fn value(
        &self,
        formula: &Formula,
        subject: &'static str,
    ) -> Result<f64, Vec<FormulaError>> {
        let mut graph = Graph::new(self.tables.clone());
        let id = formula.read(
            &self.vocabulary,
            Permission::parameters(subject),
            &mut graph,
        )?;
        Ok(graph.value(id).unwrap_or(f64::NAN))
    }
}

impl Definition {
    /// Evaluates the parameters.
    ///
    /// # Errors
    /// Every error in parameters, tables and names.
    pub fn scope(&self) -> Result<Scope, Vec<FormulaError>> {
        let (scope, errors) = self.survey();
        if errors.is_empty() {
            Ok(scope)
        } else {
            Err(errors)
        }
    }

    /// Reads and checks all formulas and compiles the system.
    ///
    /// # Errors
    /// Every error of the definition: at least one.
    pub fn assemble(&self) -> Result<FormulaSystem, Vec<FormulaError>> {
        let (scope, errors) = self.survey();
        formula_system::build(self, &scope, errors)
    }

    /// The scope, in which parameters that are wrong are not numbers, and what is wrong.
    pub(crate) fn survey(&self) -> (Scope, Vec<FormulaError>) {
        let mut errors = Vec::new();
        let mut vocabulary = built_in();
        let tables: Vec<Table> = self.tables.iter().map(|t| table(t, &mut errors)).collect();
        self.declare(&mut vocabulary, &mut errors);
        let mut scope = Scope {
            vocabulary,
            tables: tables.into(),
            parameters: Vec::new(),
        };
        self.evaluate_parameters(&mut scope, &mut errors);
        (scope, errors)
    }

    /// Enters all names into the vocabulary; parameters are not numbers yet.
    #[allow(clippy::cast_possible_truncation)]
    fn declare(&self, vocabulary: &mut Vocabulary, errors: &mut Vec<FormulaError>) {
        let coordinates = self.coordinates.iter().enumerate();
        let coordinates =
            coordinates.map(|(i, (name, place))| (name, place, Symbol::Coordinate(i as u32)));
        let tables = self.tables.iter().enumerate();
        let tables = tables.map(|(i, table)| (&table.name, &table.place, Symbol::Table(i as u32)));
        let parameters = self.parameters.iter();
        let parameters =
            parameters.map(|(name, formula)| (name, &formula.place, Symbol::Parameter(f64::NAN)));
        for (name, place, symbol) in coordinates.chain(tables).chain(parameters) {
            if let Some((message, help)) = naming_error(name, symbol, vocabulary) {
                errors.push(FormulaError::at(place, message, help));
            }
            vocabulary.symbols.entry(name.clone()).or_insert(symbol);
        }
    }

    fn evaluate_parameters(&self, scope: &mut Scope, errors: &mut Vec<FormulaError>) {
        let mut index: HashMap<&str, usize> = HashMap::new();
        for (i, (name, _)) in self.parameters.iter().enumerate() {
            index.entry(name).or_insert(i);
        }
        let uses: Vec<Vec<usize>> = self
            .parameters
            .iter()
            .map(|(_, formula)| {
                let names = formula.ast().unwrap_or_default();
                let mut used: Vec<usize> = names
                    .names()
                    .filter_map(|name| index.get(name).copied())
                    .collect();
                used.sort_unstable();
                used.dedup();
                used
            })
            .collect();
        let (order, cyclic) = order(&uses);
        for cycle in cycles(&uses, &cyclic) {
            errors.push(self.cycle_error(&cycle));
        }
        let mut values = vec![f64::NAN; uses.len()];
        for i in order {
            let (name, formula) = &self.parameters[i];
            match scope.value(formula, "a parameter") {
                Ok(value) => {
                    values[i] = value;
                    if index.get(name.as_str()) == Some(&i)
                        && let Some(Symbol::Parameter(known)) =
                            scope.vocabulary.symbols.get_mut(name)
                    {
                        *known = value;
                    }
                }
                Err(wrong) => errors.extend(wrong),
            }
        }
        // What is only broken because of a cycle keeps quiet, but not what is broken itself.
        for i in cyclic {
            if let Err(complaint) = self.parameters[i].1.ast() {
                errors.push(self.parameters[i].1.locate(complaint));
            }
        }
        scope.parameters = self
            .parameters
            .iter()
            .map(|(name, _)| name.clone())
            .zip(values)
            .collect();
    }

    fn cycle_error(&self, cycle: &[usize]) -> FormulaError {
        let names: Vec<&str> = cycle
            .iter()
            .chain(cycle.first())
            .map(|&i| self.parameters[i].0.as_str())
            .collect();
        let formula = &self.parameters[cycle[0]].1;
        let message = format!("the parameter depends on itself: {}", names.join(" -> "));
        formula.error(
            message,
            "give one of them a value that does not depend on the others",
        )
    }
}

/// Parameters so that each comes after those it uses, and those for which that is impossible.
fn order(uses: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut missing: Vec<usize> = uses.iter().map(Vec::len).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); uses.len()];
    for (i, used) in uses.iter().enumerate() {
        for &j in used {
            users[j].push(i);
        }
    }
    let mut order: Vec<usize> = (0..uses.len()).filter(|&i| missing[i] == 0).collect();
    let mut at = 0;
    while let Some(&i) = order.get(at) {
        at += 1;
        for &user in &users[i] {
            missing[user] -= 1;
            if missing[user] == 0 {
                order.push(user);
            }
        }
    }
    let rest = (0..uses.len()).filter(|&i| missing[i] > 0).collect();
    (order, rest)
}

/// The cycles among parameters that could not be ordered.
fn cycles(uses: &[Vec<usize>], cyclic: &[usize]) -> Vec<Vec<usize>> {
    let unordered: HashSet<usize> = cyclic.iter().copied().collect();
    let mut visited: HashSet<usize> = HashSet::new();
    let mut cycles = Vec::new();
    for &start in cyclic {
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(i) = next {
            if !visited.insert(i) {
                if let Some(first) = path.iter().position(|&p| p == i) {
                    cycles.push(path.split_off(first));
                }
                break;
            }
            path.push(i);
            next = uses[i].iter().copied().find(|j| unordered.contains(j));
        }
    }
    cycles
}

fn naming_error(name: &str, symbol: Symbol, known: &Vocabulary) -> Option<(String, String)> {
    let kind = |symbol: &Symbol| match symbol {
        Symbol::Coordinate(_) => "a coordinate",
        Symbol::Table(_) => "a table",
        _ => "a parameter",
    };
    if !is_name(name) {
        let message = format!("`{name}` cannot name {}", kind(&symbol));
        return Some((
            message,
            "names consist of letters, digits and `_`, and begin with no digit".to_owned(),
        ));
    }
    if let Some(meaning) = reserved(name) {
        let message = format!(
            "{} cannot be called `{name}`, which is {meaning}",
            kind(&symbol)
        );
        return Some((message, "choose another name".to_owned()));
    }
    let other = known.symbols.get(name)?;
    Some((
        format!("`{name}` is the name of {} already", kind(other)),
        "choose another name".to_owned(),
    ))
}

fn table(definition: &TableDefinition, errors: &mut Vec<FormulaError>) -> Table {
    let TableDefinition { name, x, y, place } = definition;
    let mut wrong = |place: String, message: String, help: &str| {
        errors.push(FormulaError::at(place, message, help))
    };
    if x.len() != y.len() {
        let message = format!(
            "table `{name}` has {} values of `x` and {} of `y`",
            x.len(),
            y.len()
        );
        wrong(place.clone(), message, "give as many of both");
    } else if x.len() < 2 {
        let message = format!("table `{name}` has {} point(s)", x.len());
        wrong(place.clone(), message, "give at least 2");
    }
    for (axis, values) in [("x", x), ("y", y)] {
        if let Some(i) = values.iter().position(|value| !value.is_finite()) {
            wrong(
                format!("{place}.{axis}[{i}]"),
                format!("the value is {}", in_words(values[i])),
                "give a finite number",
            );
        }
    }
    if let Some(i) = x.windows(2).position(|pair| pair[1] <= pair[0]) {
        let message = format!(
            "{} follows {}, but `x` must increase strictly",
            x[i + 1],
            x[i]
        );
        wrong(
            format!("{place}.x[{}]", i + 1),
            message,
            "sort the points; for a jump, put two `x` close together",
        );
    }
    let points = x.len().min(y.len());
    Table {
        x: x[..points].to_vec(),
        y: y[..points].to_vec(),
    }
}
