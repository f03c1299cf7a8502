//! From a definition to the system: read every formula, check, compile.

use super::constraints::ConstraintTapes;
use super::contacts::ContactTapes;
use super::dynamics::{Motion, MotionTapes, Parts};
use super::mass::defects;
use super::matrix::Symbolic;
use super::rows::Row;
use super::{FormulaSystem, Structure};
use crate::definition::{
    Definition, Formula, FormulaError, MassDefinition, Scope, UnilateralDefinition,
};
use crate::expression::{Gradients, Graph, Id, Permission};
use saltus_system::{ContactLaw, Names};
use std::collections::HashMap;

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
const SLIP: Permission = Permission {
    subject: "a slip velocity",
    ..FORCE
};
const FRICTION: Permission = Permission {
    subject: "a friction coefficient",
    ..FORCE
};
/// Potentials, gaps and constraints: time and coordinates.
const POTENTIAL: Permission = Permission {
    time: true,
    positions: true,
    velocities: false,
    subject: "the potential energy",
};
const BILATERAL: Permission = Permission {
    subject: "a bilateral constraint",
    ..POTENTIAL
};
const GAP: Permission = Permission {
    subject: "a gap",
    ..POTENTIAL
};
const TANGENTIAL: Permission = Permission {
    subject: "a tangential displacement",
    ..POTENTIAL
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
    let contacts = builder.contacts();
    match motion {
        Some(motion) if builder.errors.is_empty() => {
            Ok(builder.compile(&motion, &bilateral, contacts))
        }
        _ => Err(builder.errors),
    }
}

/// Contacts as expressions.
#[derive(Default)]
pub(super) struct Unilateral {
    pub gaps: Vec<Id>,
    pub laws: Vec<ContactLaw>,
    /// Coefficients of friction of each contact while it slips and while it sticks.
    pub coefficients: Vec<[Id; 2]>,
    pub rows: Vec<Row>,
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
        let mut known: HashMap<&str, &str> = HashMap::new();
        for (name, place) in bilateral.chain(unilateral) {
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
        for defect in defects(&self.graph, mass, &self.names) {
            let error = match self.mass_entry(defect.row, defect.col) {
                Some(formula) => formula.error(defect.message, help),
                None => FormulaError::at("system.mass", defect.message, help),
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
            let defects = defects(&self.graph, mass, &self.names);
            self.errors.extend(
                defects
                    .into_iter()
                    .map(|defect| formula.error(defect.message, help)),
            );
        }
    }

    /// Values and rows of the bilateral constraints.
    fn bilateral(&mut self) -> (Vec<Id>, Vec<Row>) {
        let definition = self.definition;
        let mut read = (Vec::new(), Vec::new());
        for constraint in &definition.bilateral {
            let g = self.read(&constraint.g, BILATERAL);
            let row = self.displacement(
                &constraint.g,
                g,
                &format!("the bilateral constraint `{}`", constraint.name),
            );
            read.0.push(g);
            read.1.push(row);
        }
        read
    }

    /// The rate of a displacement, which must depend on coordinates.
    fn displacement(&mut self, formula: &Formula, id: Id, what: &str) -> Row {
        let row = Row::of_displacement(&mut self.graph, &mut self.gradients, id);
        if row.direction.is_empty() && self.is_sound(id) {
            let message =
                format!("the gradient of {what} is zero: it does not depend on any coordinate");
            self.errors.push(formula.error(
                message,
                format!("use the coordinates: {}", self.names.join(", ")),
            ));
        }
        row
    }

    fn contacts(&mut self) -> Unilateral {
        let definition = self.definition;
        let mut read = Unilateral::default();
        for constraint in &definition.unilateral {
            let gap = self.read(&constraint.gap, GAP);
            read.gaps.push(gap);
            let what = format!("the gap `{}`", constraint.name);
            read.rows
                .push(self.displacement(&constraint.gap, gap, &what));
            let tangents = self.tangents(constraint);
            let (law, coefficients) = self.law(constraint, tangents.len());
            read.laws.push(law);
            read.coefficients.push(coefficients);
            read.rows.extend(tangents);
        }
        read
    }

    fn tangents(&mut self, constraint: &UnilateralDefinition) -> Vec<Row> {
        let name = &constraint.name;
        let (displacements, velocities) = (&constraint.tangential, &constraint.tangential_velocity);
        if let (Some(_), Some(first)) = (displacements.first(), velocities.first()) {
            let message = format!("`{name}` has both `tangential` and `tangential_velocity`");
            self.errors.push(first.error(message, "remove one of them"));
        }
        if let Some(third) = displacements.get(2).or(velocities.get(2)) {
            let message = format!("`{name}` has more than 2 tangential directions");
            self.errors
                .push(third.error(message, "a contact has 1 in the plane and 2 in space"));
        }
        let mut rows = Vec::new();
        for formula in displacements {
            let id = self.read(formula, TANGENTIAL);
            rows.push(self.displacement(
                formula,
                id,
                &format!("the tangential displacement of `{name}`"),
            ));
        }
        for formula in velocities {
            let id = self.read(formula, SLIP);
            rows.push(self.slip(formula, id, name));
        }
        rows
    }

    /// A slip velocity, which must be linear in the velocities.
    fn slip(&mut self, formula: &Formula, id: Id, name: &str) -> Row {
        let row = Row::of_velocity(&mut self.graph, &mut self.gradients, id);
        if !self.is_sound(id) {
            return row;
        }
        if row.direction.is_empty() {
            let message = format!("the slip velocity of `{name}` does not depend on any velocity");
            self.errors
                .push(formula.error(message, "velocities are written `v.name`"));
        }
        if let Some((i, _)) = row
            .direction
            .iter()
            .find(|d| self.graph.dependence(d.1).velocities)
        {
            let message = format!(
                "the slip velocity of `{name}` is not linear in `v.{}`",
                self.names[*i]
            );
            self.errors
                .push(formula.error(message, "write it as a sum of terms like `a*v.x`"));
        }
        row
    }

    /// The law, and its coefficients of slip and stick; those that depend on the motion are no numbers in it.
    fn law(&mut self, constraint: &UnilateralDefinition, tangents: usize) -> (ContactLaw, [Id; 2]) {
        let name = &constraint.name;
        let restitution = &constraint.restitution;
        let e_n = self.constant(restitution, "a restitution");
        if !e_n.is_nan() && !(0.0..=1.0).contains(&e_n) {
            let message = format!("the restitution of `{name}` is {e_n}");
            self.errors
                .push(restitution.error(message, "it lies between 0 (no rebound) and 1 (no loss)"));
        }
        let (slip, mu) = self.coefficient(constraint.friction.as_ref(), name);
        if let Some(friction) = &constraint.friction
            && tangents == 0
            && mu != 0.0
        {
            let message = format!("`{name}` has friction but no tangential direction");
            let help = "say how it slides: `tangential` (a displacement) or `tangential_velocity`";
            self.errors.push(friction.error(message, help));
        }
        let (stick, mu_static) = match &constraint.friction_static {
            Some(formula) => self.coefficient(Some(formula), name),
            None => (slip, mu),
        };
        if let Some(formula) = &constraint.friction_static
            && mu_static < mu
        {
            let message = format!("the static friction of `{name}` is {mu_static}");
            let help = format!("it is at least `friction`, {mu}");
            self.errors.push(formula.error(message, help));
        }
        let mut e_t = 0.0;
        if let Some(formula) = &constraint.tangential_restitution {
            e_t = self.constant(formula, "a tangential restitution");
            if !e_t.is_nan() && !(0.0..=1.0).contains(&e_t) {
                let message = format!("the tangential restitution of `{name}` is {e_t}");
                self.errors
                    .push(formula.error(message, "it lies between 0 and 1"));
            }
        }
        let law = ContactLaw {
            e_n,
            e_t,
            mu,
            mu_static,
            tangents: u8::try_from(tangents).unwrap_or(u8::MAX),
        };
        (law, [slip, stick])
    }

    /// A coefficient of friction and its value; not a number where it depends on the motion.
    fn coefficient(&mut self, formula: Option<&Formula>, name: &str) -> (Id, f64) {
        let Some(formula) = formula else {
            return (self.graph.zero(), 0.0);
        };
        let id = self.read(formula, FRICTION);
        let value = self.graph.value(id).unwrap_or(f64::NAN);
        if value < 0.0 {
            let message = format!("the friction coefficient of `{name}` is {value}");
            self.errors
                .push(formula.error(message, "it is 0 or greater"));
        }
        (id, value)
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
        bilateral: &(Vec<Id>, Vec<Row>),
        contacts: Unilateral,
    ) -> FormulaSystem {
        let n = self.n();
        let (graph, gradients) = (&mut self.graph, &mut self.gradients);
        let motion = MotionTapes::compile(graph, gradients, motion);
        let constraints = ConstraintTapes::compile(graph, gradients, &bilateral.0, &bilateral.1, n);
        let contacts = ContactTapes::compile(graph, gradients, &contacts, n);
        let structure = Structure {
            linear_constraints: constraints.rows.linear,
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
            ..Names::default()
        };
        FormulaSystem {
            n,
            names,
            structure,
            motion,
            constraints,
            contacts,
        }
    }
}

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
