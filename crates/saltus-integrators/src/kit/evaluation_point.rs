//! A point of evaluation: mass and forces there, constraint rows, contacts.

use super::failure::{Location, first_not_finite, velocity_name};
use super::{MomentumScale, Row};
use crate::integrator::StepError;
use saltus_linear::{RowCollector, SparseRows, SquareMatrix};
use saltus_system::{ContactSet, DynamicsParts, MassKind, Point, System};

/// A point `(t, q, v)` at which a step evaluates the system, and the values there.
#[derive(Debug)]
pub(crate) struct EvaluationPoint {
    pub(crate) t: f64,
    pub(crate) q: Vec<f64>,        // (nq)
    pub(crate) v: Vec<f64>,        // (nv)
    pub(crate) mass: SquareMatrix, // M, factored
    pub(crate) force: Vec<f64>,    // f(t, q, v) (nv)
    pub(crate) power: Vec<f64>,    // the part of f without a potential (nv)
    /// The contacts of the step, evaluated here.
    pub(crate) contacts: ContactSet,
    jacobian: RowCollector,         // G (ng × nv)
    pub(super) rate: Vec<f64>,      // ∂g/∂t (ng)
    friction: RowCollector,         // T (rows of friction in joints × nv)
    friction_rate: Vec<f64>,        // (rows of friction in joints)
    friction_coefficient: Vec<f64>, // force or coefficient (elements of friction in joints)
    bilateral_bias: Vec<f64>,       // ζ (ng)
    contact_bias: Vec<f64>,         // ζ of the contacts (rows of the set)
    /// Whether the contacts are always the same ones, with the same laws.
    contacts_stay: bool,
    /// Whether the mass is constant and known, and factored, already.
    mass_is_known: bool,
    mass_is_factored: bool,
}

impl EvaluationPoint {
    /// Includes in the momentum scale what prescribed rates `∂g/∂t` cause, also in a system at rest: those of bilateral constraints,
    /// and of contacts that they may close in a step of `h` \[s\].
    pub(crate) fn include_rates(&self, scale: &mut MomentumScale, h: f64) {
        let rows = self.jacobian.rows();
        for (i, rate) in self.rate.iter().enumerate() {
            scale.include_rate(rows.cols(i), rows.values(i), *rate);
        }
        scale.include_contacts(&self.contacts, h);
    }

    /// A point for `system`.
    pub(crate) fn new(system: &dyn System) -> Self {
        let dims = system.dims();
        let elements = system.joint_friction();
        let rows = elements.iter().map(|f| usize::from(f.tangents)).sum();
        Self {
            t: f64::NAN,
            q: vec![0.0; dims.nq],
            v: vec![0.0; dims.nv],
            mass: SquareMatrix::new(dims.nv),
            force: vec![0.0; dims.nv],
            power: vec![0.0; dims.nv],
            contacts: ContactSet::default(),
            jacobian: RowCollector::default(),
            rate: vec![0.0; dims.ng],
            friction: RowCollector::default(),
            friction_rate: vec![0.0; rows],
            friction_coefficient: vec![0.0; elements.len()],
            bilateral_bias: vec![0.0; dims.ng],
            contact_bias: Vec::new(),
            contacts_stay: system.contacts_are_fixed() && !system.laws_vary(),
            mass_is_known: false,
            mass_is_factored: false,
        }
    }

    /// Evaluates mass, constraint rows and contacts at `(t, q)`, which are in the point already.
    pub(crate) fn evaluate(
        &mut self,
        system: &dyn System,
        scheme: &'static str,
    ) -> Result<(), StepError> {
        self.factor_mass(system, scheme)?;
        self.evaluate_rows(system);
        Ok(())
    }

    /// Mass alone, factored.
    pub(crate) fn factor_mass(
        &mut self,
        system: &dyn System,
        scheme: &'static str,
    ) -> Result<(), StepError> {
        self.evaluate_mass(system);
        self.factorise_mass(scheme)
    }

    /// Mass, factored, and `f` at `(t, q, v)`, with what they share evaluated once.
    pub(crate) fn evaluate_dynamics(
        &mut self,
        system: &dyn System,
        scheme: &'static str,
    ) -> Result<(), StepError> {
        if self.mass_is_known {
            self.evaluate_force(system)?;
            return self.factorise_mass(scheme);
        }
        self.mass.clear();
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        let parts = DynamicsParts {
            mass: &mut self.mass,
            force: &mut self.force,
            tangents: None,
        };
        system.evaluate(at, parts);
        self.mass.finish();
        self.mass_is_known = system.structure().mass == MassKind::Constant;
        self.factorise_mass(scheme)?;
        check_force(system, &self.force, self.t)
    }

    fn factorise_mass(&mut self, scheme: &'static str) -> Result<(), StepError> {
        if self.mass_is_factored {
            return Ok(());
        }
        self.mass
            .factorise()
            .map_err(|source| StepError::Singular {
                source,
                scheme,
                mass_is_regular: false,
            })?;
        self.mass_is_factored = self.mass_is_known;
        Ok(())
    }

    /// Mass alone, not factored: it may be singular.
    pub(crate) fn evaluate_mass(&mut self, system: &dyn System) {
        if self.mass_is_known {
            return;
        }
        self.mass.clear();
        system.mass(&self.q, &mut self.mass);
        self.mass.finish();
        self.mass_is_known = system.structure().mass == MassKind::Constant;
    }

    /// Constraint rows and contacts alone.
    pub(crate) fn evaluate_rows(&mut self, system: &dyn System) {
        let (t, q) = (self.t, std::mem::take(&mut self.q));
        self.evaluate_constraints(system, t, &q);
        self.evaluate_joint_friction(system, t, &q);
        self.q = q;
        self.evaluate_contacts(system);
    }

    /// `G` and `∂g/∂t` of the bilateral constraints at `(t, q)`.
    pub(crate) fn evaluate_constraints(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        let ng = self.rate.len();
        if ng > 0 {
            self.jacobian.clear();
            system.g_jacobian(t, q, &mut self.jacobian);
            self.jacobian.finish(ng);
            system.g_rate(t, q, &mut self.rate);
        }
    }

    /// Rows of the friction in joints at `(t, q)`.
    pub(crate) fn evaluate_joint_friction(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        let rows = self.friction_rate.len();
        if rows > 0 {
            self.friction.clear();
            system.friction_jacobian(t, q, &mut self.friction);
            self.friction.finish(rows);
            system.friction_rate(t, q, &mut self.friction_rate);
        }
    }

    /// The contacts at `(t, q)` of the point.
    pub(crate) fn evaluate_contacts(&mut self, system: &dyn System) {
        system.evaluate_contacts(self.t, &self.q, &mut self.contacts);
        self.contact_bias.resize(self.contacts.rate.len(), 0.0);
    }

    /// Constraint rows and contacts alone; those of the bilateral constraints are taken from another point that has them for the same
    /// time and position.
    pub(crate) fn evaluate_rows_with(
        &mut self,
        system: &dyn System,
        constraints: Option<&mut Self>,
    ) {
        let Some(of) = constraints else {
            return self.evaluate_rows(system);
        };
        if !self.rate.is_empty() {
            std::mem::swap(&mut self.jacobian, &mut of.jacobian);
            std::mem::swap(&mut self.rate, &mut of.rate);
        }
        let (t, q) = (self.t, std::mem::take(&mut self.q));
        self.evaluate_joint_friction(system, t, &q);
        self.q = q;
        self.evaluate_contacts(system);
    }

    /// Numbers of the contact laws and of the friction in joints at `(t, q, v)`.
    pub(crate) fn evaluate_laws(&mut self, system: &dyn System) {
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        if system.laws_vary() {
            system.contact_laws(at, &mut self.contacts);
        }
        if !self.friction_coefficient.is_empty() {
            system.friction_coefficient(at, &mut self.friction_coefficient);
        }
    }

    /// `f` at `(t, q, v)`.
    pub(crate) fn evaluate_force(&mut self, system: &dyn System) -> Result<(), StepError> {
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        system.force(at, &mut self.force);
        check_force(system, &self.force, self.t)
    }

    /// The part of `f` without a potential.
    pub(crate) fn evaluate_power(&mut self, system: &dyn System) {
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        if system.is_conservative() {
            self.power.fill(0.0);
        } else {
            system.active_force(at, &mut self.power);
        }
    }

    /// `ζ` of constraints and contacts at `(t, q, v)`.
    pub(crate) fn evaluate_bias(&mut self, system: &dyn System) {
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        };
        system.g_bias(at, &mut self.bilateral_bias);
        self.contact_bias.resize(self.contacts.rate.len(), 0.0);
        system.contact_bias(at, &self.contacts, &mut self.contact_bias);
    }

    /// Takes over the contacts of another point, to be evaluated here.
    pub(crate) fn take_contacts(&mut self, of: &Self) {
        of.give_contacts(&mut self.contacts);
    }

    /// Gives the contacts of this point to a set that is evaluated elsewhere. One that has them keeps them.
    pub(crate) fn give_contacts(&self, set: &mut ContactSet) {
        if !self.contacts_stay || set.len() != self.contacts.len() {
            set.clone_from(&self.contacts);
        }
    }

    /// Moves to `q ⊕ ξ` of another point at time `t`.
    pub(crate) fn retract(&mut self, system: &dyn System, from: &Self, xi: &[f64], t: f64) {
        self.t = t;
        self.q.copy_from_slice(&from.q);
        system.retract(&mut self.q, xi);
    }

    /// The matrix a row is in, and its number there.
    #[inline]
    pub(crate) fn row(&self, row: Row) -> (&SparseRows, usize) {
        match row {
            Row::Bilateral(i) => (self.jacobian.rows(), i),
            Row::JointFriction(i) => (self.friction.rows(), i),
            Row::Normal(_, i) | Row::Tangent(_, i) => (&self.contacts.directions, i),
        }
    }

    /// Velocity of a row at `v = 0`: `∂g/∂t` and its counterparts.
    #[inline]
    pub(crate) fn rate(&self, row: Row) -> f64 {
        match row {
            Row::Bilateral(i) => self.rate[i],
            Row::JointFriction(i) => self.friction_rate[i],
            Row::Normal(_, i) | Row::Tangent(_, i) => self.contacts.rate[i],
        }
    }

    /// `ζ` of a row, after [`evaluate_bias`](Self::evaluate_bias); 0 for friction in joints.
    #[inline]
    pub(crate) fn bias(&self, row: Row) -> f64 {
        match row {
            Row::Bilateral(i) => self.bilateral_bias[i],
            Row::JointFriction(_) => 0.0,
            Row::Normal(_, i) | Row::Tangent(_, i) => self.contact_bias[i],
        }
    }

    /// Velocity of a row at the velocity `v`.
    #[inline]
    pub(crate) fn velocity(&self, row: Row, v: &[f64]) -> f64 {
        let (matrix, i) = self.row(row);
        matrix.dot(i, v) + self.rate(row)
    }

    /// Largest force \[N\] or coefficient of an element of friction in joints.
    pub(crate) fn joint_coefficient(&self, element: usize) -> f64 {
        self.friction_coefficient[element]
    }
}

/// Refuses a gap at time `t` \[s\] that is no number, and would hide that the contact closes.
pub(crate) fn check_gaps(
    system: &dyn System,
    contacts: &ContactSet,
    t: f64,
) -> Result<(), StepError> {
    match contacts.gap.iter().position(|gap| gap.is_nan()) {
        None => Ok(()),
        Some(i) => Err(StepError::NotFinite {
            quantity: "the gap",
            place: Location::Contact(i).name(&system.names(), contacts),
            t,
        }),
    }
}

/// Refuses a force at time `t` \[s\] that is not finite.
pub(crate) fn check_force(system: &dyn System, force: &[f64], t: f64) -> Result<(), StepError> {
    match first_not_finite(force) {
        None => Ok(()),
        Some(i) => Err(StepError::NotFinite {
            quantity: "the force",
            place: velocity_name(&system.names(), i),
            t,
        }),
    }
}
