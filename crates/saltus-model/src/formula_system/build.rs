//! From a definition to the system: read every formula, check, compile.

mod laws;

use super::constraints::{ConstraintTapes, FrictionTapes};
use super::contacts::ContactTapes;
use super::dynamics::{Motion, MotionTapes, Parts};
use super::mass::mass_errors;
use super::matrix::Symbolic;
use super::{FormulaSystem, Structure};
use crate::definition::{Definition, Formula, FormulaError, MassDefinition, Scope};
use crate::expression::{Gradients, Graph, Id, Permission};
use saltus_system::Names;
use std::collections::HashMap;

pub(super) use laws::{Bilateral, Friction, Unilateral};

/// Mass matrices: coordinates.
const MASS: Permission = Permission {
    time: false,
    positions: true,
    velocities: false,
    subject: "the mass matrix",
};
/// Forces and kinetic energies: everything.
const FORCE: Permission = Permission {
    time: true,
    positions: true,
    velocities: true,
    subject: "a force",
};
const KINETIC: Permission = Permission {
    subject: "the kinetic energy",
    ..FORCE
};
const DISSIPATION: Permission = Permission {
    subject: "the dissipation",
    ..FORCE
};
/// Potentials, gaps and constraints: time and coordinates.
const POTENTIAL: Permission = Permission {
    time: true,
    positions: true,
    velocities: false,
    subject: "the potential energy",
};

/// Assembles `definition`, whose names and parameters had the errors `errors`.
pub(crate) fn build(
    definition: &Definition,
    scope: &Scope,
    errors: Vec<FormulaError>,
) -> Result<FormulaSystem, Vec<FormulaError>> {
    let mut builder = Builder {
        definition,
        scope,
        names: definition.coordinates.iter().map(|c| c.0.clone()).collect(),
        graph: Graph::new(scope.tables.clone()),
        gradients: Gradients::default(),
        errors,
    };
    builder.check_names();
    let motion = builder.motion();
    let bilateral = builder.bilateral();
    let friction = builder.friction();
    let contacts = builder.contacts();
    match motion {
        Some(motion) if builder.errors.is_empty() => {
            Ok(builder.compile(&motion, &bilateral, &friction, contacts))
        }
        _ => Err(builder.errors),
    }
}

struct Builder<'a> {
    definition: &'a Definition,
    scope: &'a Scope,
    /// Of the coordinates.
    names: Vec<String>,
    graph: Graph,
    gradients: Gradients,
    errors: Vec<FormulaError>,
}

impl Builder<'_> {
    fn n(&self) -> usize {
        self.names.len()
    }

    /// Reads a formula; where that fails, the error is noted and the result is not a number.
    fn read(&mut self, formula: &Formula, permission: Permission) -> Id {
        match formula.read(&self.scope.vocabulary, permission, &mut self.graph) {
            Ok(id) => id,
            Err(errors) => {
                self.errors.extend(errors);
                self.graph.constant(f64::NAN)
            }
        }
    }

    fn read_optional(&mut self, formula: Option<&Formula>, permission: Permission) -> Id {
        match formula {
            Some(formula) => self.read(formula, permission),
            None => self.graph.zero(),
        }
    }

    /// Whether an expression was read without errors.
    fn is_sound(&self, id: Id) -> bool {
        !self.graph.value(id).is_some_and(f64::is_nan)
    }

    fn check_names(&mut self) {
        if self.names.is_empty() {
            let help = "name at least one, e.g. `coordinates = [\"x\"]`";
            self.errors.push(FormulaError::at(
                "system.coordinates",
                "the system has no coordinates",
                help,
            ));
        }
        let bilateral = self
            .definition
            .bilateral
            .iter()
            .map(|c| (&c.name, &c.g.place));
        let unilateral = self
            .definition
            .unilateral
            .iter()
            .map(|c| (&c.name, &c.gap.place));
        let friction = self.definition.friction.iter().map(|c| (&c.name, &c.place));
        let mut known: HashMap<&str, &str> = HashMap::new();
        for (name, place) in bilateral.chain(unilateral).chain(friction) {
            if name.is_empty() {
                self.errors.push(FormulaError::at(
                    place,
                    "the constraint has no name",
                    "give it a unique `name`",
                ));
            } else if let Some(first) = known.insert(name, place) {
                let message =
                    format!("two constraints are called `{name}`; the first is at {first}");
                self.errors.push(FormulaError::at(
                    place,
                    message,
                    "give each constraint its own `name`",
                ));
            }
        }
    }

    fn motion(&mut self) -> Option<Motion> {
        let definition = self.definition;
        let force = self.force();
        let potential = self.read_optional(definition.potential.as_ref(), POTENTIAL);
        let dissipation = self.read_optional(definition.dissipation.as_ref(), DISSIPATION);
        let errors = self.errors.len();
        let mass = self.mass();
        let kinetic = definition
            .kinetic
            .as_ref()
            .map(|formula| (formula, self.read(formula, KINETIC)));
        match (&definition.mass, &definition.kinetic) {
            (Some(_), Some(formula)) => {
                let error =
                    formula.error("both `mass` and `kinetic` are given", "remove one of them");
                self.errors.push(error);
            }
            (None, None) => {
                let help = "give the mass matrix as `mass` or the kinetic energy as `kinetic`";
                self.errors.push(FormulaError::at(
                    "system",
                    "the system has no inertia",
                    help,
                ));
            }
            _ => {}
        }
        if self.errors.len() > errors {
            return None;
        }
        let parts = Parts {
            force,
            potential,
            dissipation,
        };
        match (mass, kinetic) {
            (Some(mass), _) => {
                self.check_mass(&mass);
                Some(Motion::newton(
                    &mut self.graph,
                    &mut self.gradients,
                    mass,
                    &parts,
                ))
            }
            (None, Some((formula, kinetic))) => {
                let motion =
                    Motion::lagrange(&mut self.graph, &mut self.gradients, kinetic, &parts);
                self.check_kinetic(formula, &motion.mass);
                Some(motion)
            }
            (None, None) => None,
        }
    }

    fn wrong_size(&mut self, place: &str, what: &str, found: usize) {
        let n = self.n();
        let message = format!(
            "{what} has {found} {}, but there are {n} coordinates",
            plural(found, "entry", "entries")
        );
        self.errors.push(FormulaError::at(
            place,
            message,
            format!("give {n}: {}", self.names.join(", ")),
        ));
    }

    fn force(&mut self) -> Vec<Id> {
        let zero = self.graph.zero();
        let Some(force) = &self.definition.force else {
            return vec![zero; self.n()];
        };
        if force.len() != self.n() {
            self.wrong_size("system.force", "`force`", force.len());
        }
        let mut read: Vec<Id> = force
            .iter()
            .map(|formula| self.read(formula, FORCE))
            .collect();
        read.resize(self.n(), zero);
        read
    }

    fn mass(&mut self) -> Option<Symbolic> {
        let n = self.n();
        let mut mass = Symbolic::new(n, n);
        match self.definition.mass.as_ref()? {
            MassDefinition::Diagonal(diagonal) => {
                if diagonal.len() != n {
                    self.wrong_size("system.mass", "the diagonal `mass`", diagonal.len());
                }
                for (i, formula) in diagonal.iter().enumerate() {
                    let id = self.read(formula, MASS);
                    mass.push(&self.graph, i, i, id);
                }
            }
            MassDefinition::Full(rows) => {
                if rows.len() != n {
                    let help = format!("give {n} rows of {n}, or the diagonal as one list of {n}");
                    let message = format!(
                        "`mass` has {} rows, but there are {n} coordinates",
                        rows.len()
                    );
                    self.errors
                        .push(FormulaError::at("system.mass", message, help));
                }
                for (i, row) in rows.iter().enumerate() {
                    if row.len() != n {
                        self.wrong_size(
                            &format!("system.mass[{i}]"),
                            "this row of `mass`",
                            row.len(),
                        );
                    }
                    for (j, formula) in row.iter().enumerate() {
                        let id = self.read(formula, MASS);
                        mass.push(&self.graph, i, j, id);
                    }
                }
            }
        }
        Some(mass)
    }

    fn check_mass(&mut self, mass: &Symbolic) {
        let help = "a mass matrix is symmetric and positive semidefinite, with a positive diagonal";
        for mass_error in mass_errors(&self.graph, mass, &self.names) {
            let error = match self.mass_entry(mass_error.row, mass_error.col) {
                Some(formula) => formula.error(mass_error.message, help),
                None => FormulaError::at("system.mass", mass_error.message, help),
            };
            self.errors.push(error);
        }
    }

    fn mass_entry(&self, row: usize, col: usize) -> Option<&Formula> {
        match self.definition.mass.as_ref()? {
            MassDefinition::Diagonal(diagonal) => diagonal.get(row).filter(|_| row == col),
            MassDefinition::Full(rows) => rows.get(row)?.get(col),
        }
    }

    fn check_kinetic(&mut self, formula: &Formula, mass: &Symbolic) {
        let errors = self.errors.len();
        for &(i, j, id) in mass.entries() {
            let depends = self.graph.dependence(id);
            let (a, b) = (&self.names[i], &self.names[j]);
            if depends.velocities {
                let message = format!(
                    "the kinetic energy is not quadratic in the velocities: ∂²T/∂v.{a}∂v.{b} depends on velocities"
                );
                self.errors
                    .push(formula.error(message, "write it as a sum of terms like `0.5*m*v.x^2`"));
                return;
            }
            if depends.time {
                let message = format!("the mass ∂²T/∂v.{a}∂v.{b} depends on the time");
                self.errors.push(formula.error(
                    message,
                    "masses may depend on coordinates and parameters only",
                ));
                return;
            }
        }
        for (i, name) in self.names.iter().enumerate() {
            if mass.get(i, i).is_none() {
                let message =
                    format!("the kinetic energy gives `{name}` no mass: ∂²T/∂v.{name}² is 0");
                let error = formula.error(message, format!("add the kinetic energy of `v.{name}`"));
                self.errors.push(error);
            }
        }
        if self.errors.len() == errors {
            let help = "kinetic energies are positive for every motion";
            let mass_errors = mass_errors(&self.graph, mass, &self.names);
            self.errors.extend(
                mass_errors
                    .into_iter()
                    .map(|mass_error| formula.error(mass_error.message, help)),
            );
        }
    }

    /// The value of a formula of parameters; not a number where there was an error.
    fn constant(&mut self, formula: &Formula, subject: &'static str) -> f64 {
        match self.scope.value(formula, subject) {
            Ok(value) => value,
            Err(errors) => {
                self.errors.extend(errors);
                f64::NAN
            }
        }
    }

    fn compile(
        mut self,
        motion: &Motion,
        bilateral: &Bilateral,
        friction: &Friction,
        contacts: Unilateral,
    ) -> FormulaSystem {
        let n = self.n();
        let (graph, gradients) = (&mut self.graph, &mut self.gradients);
        let motion = MotionTapes::compile(graph, gradients, motion);
        let constraints = ConstraintTapes::compile(graph, gradients, bilateral, n);
        let friction = FrictionTapes::compile(graph, gradients, friction, n);
        let contacts = ContactTapes::compile(graph, gradients, &contacts, n);
        let structure = Structure {
            linear_constraints: constraints.rows.linear && friction.rows.linear,
            linear_contacts: contacts.rows.linear,
            ..motion.structure
        };
        let names = Names {
            positions: self.names.clone(),
            velocities: self.names,
            bilateral: self
                .definition
                .bilateral
                .iter()
                .map(|c| c.name.clone())
                .collect(),
            contacts: self
                .definition
                .unilateral
                .iter()
                .map(|c| c.name.clone())
                .collect(),
            friction: self
                .definition
                .friction
                .iter()
                .map(|c| c.name.clone())
                .collect(),
        };
        FormulaSystem {
            n,
            names,
            structure,
            motion,
            constraints,
            friction,
            contacts,
        }
    }
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
