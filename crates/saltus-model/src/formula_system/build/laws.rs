//! Rows of constraints, contacts and joints with friction, and their laws.

use super::{Builder, FORCE, POTENTIAL};
use crate::definition::{Formula, UnilateralDefinition};
use crate::expression::{Id, Permission};
use crate::formula_system::rows::Row;
use saltus_system::{ConstraintKind, ContactLaw, JointFriction};

const BILATERAL: Permission = Permission {
    subject: "a bilateral constraint",
    ..POTENTIAL
};
const VELOCITY: Permission = Permission {
    subject: "a constraint on velocities",
    ..FORCE
};
const GAP: Permission = Permission {
    subject: "a gap",
    ..POTENTIAL
};
const TANGENTIAL: Permission = Permission {
    subject: "a tangential displacement",
    ..POTENTIAL
};
const SLIP: Permission = Permission {
    subject: "a slip velocity",
    ..FORCE
};
const FRICTION: Permission = Permission {
    subject: "a friction coefficient",
    ..FORCE
};

/// Bilateral constraints as expressions.
#[derive(Default)]
pub(in crate::formula_system) struct Bilateral {
    /// `g`; zero of a constraint on velocities.
    pub g: Vec<Id>,
    pub kinds: Vec<ConstraintKind>,
    pub rows: Vec<Row>,
}

/// Friction in joints as expressions.
#[derive(Default)]
pub(in crate::formula_system) struct Friction {
    pub elements: Vec<JointFriction>,
    pub coefficients: Vec<Id>,
    pub rows: Vec<Row>,
}

/// Contacts as expressions.
#[derive(Default)]
pub(in crate::formula_system) struct Unilateral {
    pub gaps: Vec<Id>,
    pub laws: Vec<ContactLaw>,
    /// Coefficients of friction of each contact while it slips and while it sticks.
    pub coefficients: Vec<[Id; 2]>,
    pub rows: Vec<Row>,
}

impl Builder<'_> {
    /// Values and rows of the bilateral constraints.
    pub(super) fn bilateral(&mut self) -> Bilateral {
        let definition = self.definition;
        let mut read = Bilateral::default();
        for constraint in &definition.bilateral {
            let what = format!("the bilateral constraint `{}`", constraint.name);
            if constraint.on_velocity {
                let velocity = self.read(&constraint.g, VELOCITY);
                read.rows.push(self.slip(&constraint.g, velocity, &what));
                read.g.push(self.graph.zero());
                read.kinds.push(ConstraintKind::Velocity);
            } else {
                let g = self.read(&constraint.g, BILATERAL);
                read.rows.push(self.displacement(&constraint.g, g, &what));
                read.g.push(g);
                read.kinds.push(ConstraintKind::Position);
            }
        }
        read
    }

    /// Elements and slip rows of the friction in joints.
    pub(super) fn friction(&mut self) -> Friction {
        let definition = self.definition;
        let mut read = Friction::default();
        for element in &definition.friction {
            let name = &element.name;
            let rows = self.tangents(name, &element.tangential, &element.tangential_velocity);
            let (coefficient, _) = self.coefficient(Some(&element.coefficient), name);
            read.elements.push(JointFriction {
                tangents: u8::try_from(rows.len()).unwrap_or(u8::MAX),
                bound: element.bound,
            });
            read.coefficients.push(coefficient);
            read.rows.extend(rows);
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

    pub(super) fn contacts(&mut self) -> Unilateral {
        let definition = self.definition;
        let mut read = Unilateral::default();
        for constraint in &definition.unilateral {
            let gap = self.read(&constraint.gap, GAP);
            read.gaps.push(gap);
            let what = format!("the gap `{}`", constraint.name);
            read.rows
                .push(self.displacement(&constraint.gap, gap, &what));
            let tangents = self.tangents(
                &constraint.name,
                &constraint.tangential,
                &constraint.tangential_velocity,
            );
            let (law, coefficients) = self.law(constraint, tangents.len());
            read.laws.push(law);
            read.coefficients.push(coefficients);
            read.rows.extend(tangents);
        }
        read
    }

    fn tangents(
        &mut self,
        name: &str,
        displacements: &[Formula],
        velocities: &[Formula],
    ) -> Vec<Row> {
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
            rows.push(self.slip(formula, id, &format!("the slip velocity of `{name}`")));
        }
        rows
    }

    /// A velocity, which must be linear in the velocities.
    fn slip(&mut self, formula: &Formula, id: Id, what: &str) -> Row {
        let row = Row::of_velocity(&mut self.graph, &mut self.gradients, id);
        if !self.is_sound(id) {
            return row;
        }
        if row.direction.is_empty() {
            let message = format!("{what} does not depend on any velocity");
            self.errors
                .push(formula.error(message, "velocities are written `v.name`"));
        }
        if let Some((i, _)) = row
            .direction
            .iter()
            .find(|d| self.graph.dependence(d.1).velocities)
        {
            let message = format!("{what} is not linear in `v.{}`", self.names[*i]);
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
}
