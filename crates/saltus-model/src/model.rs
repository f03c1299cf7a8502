//! A model: a file, checked and assembled, ready to be simulated.

use crate::build;
use crate::definition::{Definition, Formula, MassDefinition, Scope};
use crate::evaluate::{constant, evaluate};
use crate::findings::Findings;
use crate::flexible::{self, Columns, Size};
use crate::friction;
use crate::initial::{self, Start};
use crate::quantities::{self, Condition, Quantities, Quantity as Derived};
use crate::template::Template;
use saltus_document::diagnostic::{Diagnostic, ModelErrors, SourceText};
use saltus_document::document::{self, Document, Output, Quantity};
use saltus_document::number::general;
use saltus_document::set::Override;
use saltus_document::tree::{Format, Node, Path};
use saltus_integrators::consistent::Projection;
use saltus_integrators::{OptionsError, Plan, Scheme, StepError};
use saltus_mechanics::flexible::{Assembly, NodeId};
use saltus_system::{State, System};
use std::fmt;
use std::path::Path as FilePath;
use std::sync::Arc;

/// With more steps than this, the time of a step is no longer a function of its number.
const MOST_STEPS: f64 = 9e15;

/// A checked and assembled model.
pub struct Model {
    /// A short name: that of the file, or of its folder where the file is called `model.*`.
    pub name: String,
    /// One line for reports.
    pub title: Option<String>,
    /// What the model is.
    pub description: Option<String>,
    /// What is simulated.
    pub system: Arc<dyn System>,
    /// The same, where it consists of flexible parts.
    pub assembly: Option<Arc<Assembly>>,
    /// The coordinates that are written; all where nothing is chosen.
    pub columns: Option<Columns>,
    /// Nodes whose stresses and resultants are written.
    pub fields: Vec<NodeId>,
    /// Supports whose forces are written: name, nodes, and the velocity components that are held.
    pub supports: Vec<(String, Vec<NodeId>, Vec<usize>)>,
    /// Its parameters, evaluated.
    pub parameters: Vec<(String, f64)>,
    /// How.
    pub scheme: Scheme,
    /// From when to when, in which steps.
    pub plan: Plan,
    /// Where it starts: what the model says, projected where the model asks for it.
    pub initial: State,
    /// What the projection changed, where one was asked for.
    pub projection: Option<Projection>,
    /// What is written.
    pub output: Output,
    /// Further columns, computed from the others.
    pub quantities: Vec<Derived>,
    /// What ends the simulation before its time.
    pub stop: Option<Condition>,
    /// Units of coordinates, by the names of their columns.
    pub units: Vec<(String, String)>,
    /// What is worth knowing: options that an override dropped, what was done about the initial state,
    /// what is allowed but odd there.
    pub notes: Vec<String>,
    /// The document with the overrides applied.
    pub document: Document,
    /// The document, with places.
    pub(crate) tree: Node,
    /// The texts the places point into.
    sources: Vec<SourceText>,
    /// What is right by itself, but not solved by the scheme.
    refusals: Vec<Diagnostic>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("name", &self.name)
            .field("dims", &self.system.dims())
            .field("scheme", &self.scheme)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Reads, checks and assembles the model file at `path`, changed by `overrides`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: impl AsRef<FilePath>, overrides: &[Override]) -> Result<Self, ModelErrors> {
        Self::load_from(path.as_ref(), overrides, None)
    }

    /// As [`load`](Self::load); calls `on_size` with the size of flexible parts before they are built.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load_with_size(
        path: impl AsRef<FilePath>,
        overrides: &[Override],
        on_size: &dyn Fn(Size),
    ) -> Result<Self, ModelErrors> {
        Self::load_from(path.as_ref(), overrides, Some(on_size))
    }

    fn load_from(
        path: &FilePath,
        overrides: &[Override],
        on_size: Option<&dyn Fn(Size)>,
    ) -> Result<Self, ModelErrors> {
        Template::read(path)?.assemble(overrides, on_size)
    }

    /// Checks and assembles the model written in `text`; `source` is what messages call the text. Files that it
    /// names are looked for in the current directory.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(
        name: &str,
        source: &str,
        text: String,
        format: Format,
        overrides: &[Override],
    ) -> Result<Self, ModelErrors> {
        let folder = FilePath::new("");
        Template::parse(folder, name, source, text, format)?.assemble(overrides, None)
    }

    pub(crate) fn assembled(
        name: &str,
        parts: Parts,
        document: Document,
        mut notes: Vec<String>,
        refusals: Vec<Diagnostic>,
        tree: Node,
        sources: Vec<SourceText>,
    ) -> Self {
        notes.extend(parts.start.notes);
        Self {
            name: name.to_owned(),
            title: document.title.clone(),
            description: document.description.clone(),
            system: parts.system,
            assembly: parts.assembly,
            columns: parts.columns,
            fields: parts.fields,
            supports: parts.supports,
            parameters: parts.scope.parameters().to_vec(),
            scheme: parts.scheme,
            plan: parts.plan,
            initial: parts.initial,
            projection: parts.start.projection,
            output: document.output.clone(),
            quantities: parts.quantities.list,
            stop: parts.quantities.stop,
            units: parts.quantities.units,
            notes,
            document,
            refusals,
            tree,
            sources,
        }
    }

    /// Whether there is nothing in the document that no scheme solves; as [`ready`](Self::ready), without trying.
    ///
    /// # Errors
    /// What is not solved, at its place in the document.
    pub fn permitted(&self) -> Result<(), ModelErrors> {
        if self.refusals.is_empty() {
            return Ok(());
        }
        Err(ModelErrors::new(
            self.sources.clone(),
            self.refusals.clone(),
        ))
    }

    /// Whether the scheme can run the system: prepares it once and throws the result away.
    ///
    /// # Errors
    /// What the scheme does not solve, at its place in the document.
    pub fn ready(&self) -> Result<(), ModelErrors> {
        self.permitted()?;
        let outcome = match self.scheme.build() {
            Ok(mut integrator) => integrator
                .prepare(&*self.system, &self.initial, self.plan.step)
                .map(|_| ()),
            Err(error) => {
                let diagnostic = Diagnostic::new(format!("the scheme cannot be built: {error}"));
                return Err(self.errors(vec![(build::path(["simulation", "scheme"]), diagnostic)]));
            }
        };
        outcome.map_err(|error| self.step_error(&error))
    }

    /// The tables of the document that say what moves, each as text: not how it is simulated and written, nor where it starts,
    /// nor the parameters, which are there evaluated.
    #[must_use]
    pub fn parts(&self) -> Vec<(String, String)> {
        const OTHERS: [&str; 7] = [
            "saltus",
            "title",
            "description",
            "parameters",
            "initial",
            "simulation",
            "output",
        ];
        let entries = self.tree.entries().unwrap_or_default();
        let parts = entries.iter().filter(|e| !OTHERS.contains(&e.key.as_str()));
        parts
            .map(|e| (e.key.clone(), e.node.to_json().to_string()))
            .collect()
    }

    /// What a scheme does not solve, at its place in the document.
    #[must_use]
    pub fn step_error(&self, error: &StepError) -> ModelErrors {
        let place = match error {
            StepError::FrictionUnsupported { contact, .. } => {
                let index = self
                    .document
                    .system
                    .iter()
                    .flat_map(|system| &system.unilateral)
                    .position(|c| c.name == *contact);
                build::path(["system", "unilateral"])
                    .index(index.unwrap_or(0))
                    .key("friction")
            }
            StepError::JointFrictionUnsupported { joint, .. } => {
                let elements = self.document.system.iter().flat_map(|s| &s.friction);
                let index = elements.into_iter().position(|c| c.name == *joint);
                build::path(["system", "friction"]).index(index.unwrap_or(0))
            }
            StepError::VelocityConstraintUnsupported { constraint, .. } => {
                let rows = self.document.system.iter().flat_map(|s| &s.bilateral);
                let index = rows.into_iter().position(|c| c.name == *constraint);
                build::path(["system", "bilateral"])
                    .index(index.unwrap_or(0))
                    .key("velocity")
            }
            _ => build::path(["simulation", "scheme"]),
        };
        self.errors(vec![(place, Diagnostic::new(error.to_string()))])
    }

    /// Diagnostics at their places.
    fn errors(&self, diagnostics: Vec<(Path, Diagnostic)>) -> ModelErrors {
        let located = |(place, diagnostic): (Path, Diagnostic)| {
            diagnostic
                .at(self.tree.locate(&place))
                .about(place.to_string())
        };
        ModelErrors::new(
            self.sources.clone(),
            diagnostics.into_iter().map(located).collect(),
        )
    }
}

/// What is assembled from a document.
pub(crate) struct Parts {
    system: Arc<dyn System>,
    assembly: Option<Arc<Assembly>>,
    columns: Option<Columns>,
    fields: Vec<NodeId>,
    supports: Vec<(String, Vec<NodeId>, Vec<usize>)>,
    scope: Scope,
    scheme: Scheme,
    plan: Plan,
    initial: State,
    start: Start,
    quantities: Quantities,
}

impl Parts {
    /// `None` where something is missing; what and why is in `findings`.
    pub(crate) fn of(
        document: &Document,
        folder: &FilePath,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        match (&document.system, one_of_two(document, findings)?) {
            (Some(system), Kind::Formulas) => Self::of_formulas(document, system, findings),
            _ => Self::of_flexible(document, folder, findings),
        }
    }

    pub(crate) fn read_quantities(&mut self, document: &Document, findings: &mut Findings<'_>) {
        let columns = quantities::Columns {
            system: &*self.system,
            assembly: self.assembly.as_deref(),
            fields: &self.fields,
            supports: &self.supports,
            initial: &self.initial,
        };
        self.quantities = quantities::read(document, &columns, &self.scope, findings);
    }

    fn of_formulas(
        document: &Document,
        written: &document::System,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let definition = build::definition(document, written, findings);
        let scheme = scheme(document, findings);
        flexible::none(document, findings);
        if !findings.names_complete() {
            return None;
        }
        // Parameters that are wrong are no numbers; the others can still be used.
        let (scope, errors) = definition.survey();
        errors.iter().for_each(|error| findings.formula(error));
        constants(&definition, &scope, findings);
        friction::check(document, written, &definition, &scope, findings);
        let plan = plan(document, &scope, scheme.as_ref(), findings);
        let mut initial = initial::read(document, written, &scope, plan.start, findings);
        let system = match definition.assemble() {
            Ok(system) => system,
            Err(errors) => {
                errors.iter().for_each(|error| findings.formula(error));
                return None;
            }
        };
        let mut start = Start::default();
        if findings.is_clean_below(&["parameters", "tables", "initial"]) {
            start = initial::check(&system, &mut initial, document, written, findings);
        }
        Some(Self {
            system: Arc::new(system),
            assembly: None,
            columns: None,
            fields: Vec::new(),
            supports: Vec::new(),
            scope,
            scheme: scheme?,
            plan,
            initial,
            start,
            quantities: Quantities::default(),
        })
    }

    fn of_flexible(
        document: &Document,
        folder: &FilePath,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let definition = build::named(document, findings);
        let scheme = scheme(document, findings);
        if !findings.names_complete() {
            return None;
        }
        let (scope, errors) = definition.survey();
        errors.iter().for_each(|error| findings.formula(error));
        let plan = plan(document, &scope, scheme.as_ref(), findings);
        let flexible = flexible::assemble(document, folder, &scope, plan.start, findings)?;
        let mut initial = flexible::initial(&flexible, document, &scope, plan.start, findings);
        let mut start = Start::default();
        if findings.diagnostics.is_empty() {
            let mut notes = flexible.notes.clone();
            if document.initial.equilibrium {
                let found = flexible::equilibrium(&flexible.assembly, &mut initial, findings);
                notes.extend(found);
            }
            start = initial::consistency(&flexible.assembly, &mut initial, document, findings);
            notes.append(&mut start.notes);
            start.notes = notes;
        }
        let columns = flexible::columns(&flexible, document, findings, &mut start.notes);
        let fields = flexible::fields(&flexible, document, findings);
        let supports = flexible::supports(&flexible, document);
        let assembly = Arc::new(flexible.assembly);
        Some(Self {
            system: assembly.clone(),
            assembly: Some(assembly),
            columns,
            fields,
            supports,
            scope,
            scheme: scheme?,
            plan,
            initial,
            start,
            quantities: Quantities::default(),
        })
    }
}

/// What a model consists of.
enum Kind {
    Formulas,
    Flexible,
}

/// A model has formulas or flexible parts; both, or neither, is an error.
fn one_of_two(document: &Document, findings: &mut Findings<'_>) -> Option<Kind> {
    let parts = flexible::keys(document);
    let first = parts.iter().find(|(_, used)| *used).map(|(key, _)| *key);
    match (&document.system, first) {
        (Some(_), None) => Some(Kind::Formulas),
        (None, Some(_)) => Some(Kind::Flexible),
        (Some(_), Some(key)) => {
            let diagnostic = Diagnostic::new(format!(
                "the model has a system of formulas, [system], and flexible parts, \"{key}\""
            ))
            .label("expected one of the two")
            .help("write rigid bodies as parts too, such as [[mass]], or remove the parts");
            findings.at_key(&build::path([key]), diagnostic);
            Some(Kind::Formulas)
        }
        (None, None) => {
            let diagnostic = Diagnostic::new("missing key \"system\" in the file")
                .label("needs \"system\": a table, or flexible parts")
                .help("[system] holds formulas; [[bar]], [[beam]], [[solid]] and [[mass]] are flexible parts");
            findings.at(&Path::default(), diagnostic);
            None
        }
    }
}

/// The scheme with its options, checked by itself.
fn scheme(document: &Document, findings: &mut Findings<'_>) -> Option<Scheme> {
    let scheme = document.simulation.scheme.scheme()?;
    // What was put in the place of a wrong value is not to be judged.
    if findings.mended_inside(&build::path(["simulation", "scheme"])) {
        return None;
    }
    match scheme.validate() {
        Ok(()) => Some(scheme),
        Err(error) => {
            option_error(error, findings);
            None
        }
    }
}

fn option_error(error: OptionsError, findings: &mut Findings<'_>) {
    let place = build::path(["simulation", "scheme"]).key(error.option);
    let diagnostic = Diagnostic::new(format!(
        "{place} is {}, expected {}",
        error.value, error.expected
    ))
    .label(format!("expected {}", error.expected));
    let diagnostic = match error.cure {
        Some(cure) => diagnostic.help(cure),
        None => diagnostic,
    };
    findings.at(&place, diagnostic);
}

/// Coefficients of contacts and masses that do not depend on the position, which is looked at later.
fn constants(definition: &Definition, scope: &Scope, findings: &mut Findings<'_>) {
    let diagonal: Vec<&Formula> = match &definition.mass {
        Some(MassDefinition::Diagonal(entries)) => entries.iter().collect(),
        Some(MassDefinition::Full(rows)) => rows
            .iter()
            .enumerate()
            .filter_map(|(k, row)| row.get(k))
            .collect(),
        None => Vec::new(),
    };
    for mass in diagonal {
        constant(mass, scope, |m| m > 0.0, "a mass > 0", findings);
    }
    for contact in &definition.unilateral {
        constant(
            &contact.restitution,
            scope,
            |e| (0.0..=1.0).contains(&e),
            "a number in [0, 1]",
            findings,
        );
        // A coefficient that depends on the motion is looked at during the run.
        for friction in [&contact.friction, &contact.friction_static]
            .into_iter()
            .flatten()
            .filter(|f| scope.evaluate(f).is_ok())
        {
            constant(friction, scope, |mu| mu >= 0.0, "a number ≥ 0", findings);
        }
        if let Some(restitution) = &contact.tangential_restitution {
            let fits = |e: f64| (0.0..=1.0).contains(&e);
            constant(restitution, scope, fits, "a number in [0, 1]", findings);
        }
    }
}

fn plan(
    document: &Document,
    scope: &Scope,
    scheme: Option<&Scheme>,
    findings: &mut Findings<'_>,
) -> Plan {
    let at = build::path(["simulation"]);
    let simulation = &document.simulation;
    let mut number =
        |quantity: &Quantity, key: &str, fits: &dyn Fn(f64) -> bool, expected: &str| {
            evaluate(
                &build::formula(quantity, &at.key(key)),
                scope,
                fits,
                expected,
                findings,
            )
        };
    let start = match &simulation.start {
        Some(start) => number(start, "start", &|_| true, "a finite time"),
        None => Some(0.0),
    };
    let step = number(&simulation.step, "step", &|h| h > 0.0, "a number > 0");
    let until = match start {
        Some(start) => {
            let expected = format!("a time ≥ {start}, the start");
            number(&simulation.until, "until", &|t| t >= start, &expected)
        }
        None => number(&simulation.until, "until", &|_| true, "a finite time"),
    };
    let plan = Plan::new(
        start.unwrap_or(0.0),
        step.unwrap_or(1.0),
        until.unwrap_or(0.0),
    );
    let steps = (plan.until - plan.start) / plan.step;
    if steps > MOST_STEPS {
        let diagnostic = Diagnostic::new(format!(
            "a step of {} s makes {steps:.1e} steps until {} s",
            general(plan.step),
            general(plan.until)
        ))
        .label(format!("expected fewer than {MOST_STEPS:.0e} steps"));
        findings.at(&at.key("step"), diagnostic);
    }
    if let (Some(scheme), Some(step)) = (scheme, step)
        && let Err(error) = scheme.check_step(step)
    {
        option_error(error, findings);
    }
    plan
}
