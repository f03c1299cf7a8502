//! Inertia and smooth forces, `M(q) v̇ = f(t, q, v)`.

use crate::kinematics::Kinematics;
use crate::state::Point;
use crate::streamed::StreamedDynamics;
use saltus_linear::{MatrixSink, QuadraticForm};

/// How the mass matrix varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MassKind {
    /// The same for every `q`.
    Constant,
    /// A function of `q`.
    Varying,
}

/// How the smooth force varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceKind {
    /// `f(t, q, v) = F(t) − K q − C v` with constant `K` and `C`.
    Affine,
    /// Anything else.
    General,
}

/// What an integrator may rely on to save work. The default promises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Structure {
    /// Variation of the mass matrix.
    pub mass: MassKind,
    /// Variation of the smooth force.
    pub force: ForceKind,
    /// `G` and `∂g/∂t`, and the slip rows of friction in joints, depend on time at most, not on `q`.
    pub linear_constraints: bool,
    /// The contact directions `W` and the rates `∂gap/∂t` depend on time at most, not on `q`.
    pub linear_contacts: bool,
}

impl Structure {
    /// Nothing is constant, nothing is linear.
    pub const GENERAL: Self = Self {
        mass: MassKind::Varying,
        force: ForceKind::General,
        linear_constraints: false,
        linear_contacts: false,
    };

    /// Constant `M`, `K`, `C` and linear constraints and contacts.
    pub const LINEAR: Self = Self {
        mass: MassKind::Constant,
        force: ForceKind::Affine,
        linear_constraints: true,
        linear_contacts: true,
    };

    /// Whether `M`, `K` and `C` are constant, so that an iteration matrix can be factored once.
    #[must_use]
    pub fn is_time_invariant(&self) -> bool {
        self.mass == MassKind::Constant && self.force == ForceKind::Affine
    }
}

/// Where [`Dynamics::evaluate`] puts what a Newton iteration needs of the smooth dynamics.
pub struct DynamicsParts<'a> {
    /// `M(q)` (nv × nv).
    pub mass: &'a mut dyn MatrixSink,
    /// `f(t, q, v)` (nv), overwritten.
    pub force: &'a mut [f64],
    /// The derivatives, where they are wanted.
    pub tangents: Option<Tangents<'a>>,
}

/// Derivatives of the smooth dynamics.
pub struct Tangents<'a> {
    /// `x` (nv) in `D(M x)`.
    pub x: &'a [f64],
    /// `D(M x)` (nv × nv).
    pub mass_gradient: &'a mut dyn MatrixSink,
    /// `K = −D(f)` (nv × nv).
    pub stiffness: &'a mut dyn MatrixSink,
    /// `C = −∂f/∂v` (nv × nv).
    pub damping: &'a mut dyn MatrixSink,
}

/// Inertia and smooth forces.
pub trait Dynamics: Kinematics {
    /// What is constant and what is linear.
    fn structure(&self) -> Structure {
        Structure::GENERAL
    }

    /// `M(q)` (nv × nv), symmetric. May be singular where `[M Gᵀ; G 0]` is not.
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink);

    /// `f(t, q, v)` (nv): all smooth generalised forces, gyroscopic ones included, on the right-hand side.
    fn force(&self, at: Point<'_>, force: &mut [f64]);

    /// `K = −D(f)` (nv × nv) [force per tangent].
    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        let _ = (at, stiffness);
    }

    /// `C = −∂f/∂v` (nv × nv) [force per velocity].
    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        let _ = (at, damping);
    }

    /// `D(M x)` (nv × nv) for a given `x` (nv).
    fn mass_gradient(&self, q: &[f64], x: &[f64], gradient: &mut dyn MatrixSink) {
        let _ = (q, x, gradient);
    }

    /// Everything a Newton iteration needs of the smooth dynamics, in one call.
    ///
    /// The default asks the single methods; a system that shares work between them overrides it.
    fn evaluate(&self, at: Point<'_>, parts: DynamicsParts<'_>) {
        self.mass(at.q, parts.mass);
        self.force(at, parts.force);
        if let Some(tangents) = parts.tangents {
            self.mass_gradient(at.q, tangents.x, tangents.mass_gradient);
            self.stiffness(at, tangents.stiffness);
            self.damping(at, tangents.damping);
        }
    }

    /// Kinetic energy `½ vᵀ M v` \[J\].
    fn kinetic_energy(&self, q: &[f64], v: &[f64]) -> f64 {
        let mut form = QuadraticForm {
            x: v,
            y: v,
            value: 0.0,
        };
        self.mass(q, &mut form);
        0.5 * form.value
    }

    /// Potential energy \[J\] of the forces that have one; 0 where none was declared.
    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        let _ = (t, q);
        0.0
    }

    /// `∂V/∂t` \[W\] at fixed positions, the power that a potential brings in because it changes by itself (a spring whose foot is
    /// moved); `None` where the potential does not depend on time.
    fn potential_rate(&self, t: f64, q: &[f64]) -> Option<f64> {
        let _ = (t, q);
        None
    }

    /// The part of the force (nv) whose power changes the total energy: `vᵀ active = d/dt (T + V)`
    /// along a motion without constraint forces, less [`potential_rate`](Self::potential_rate).
    ///
    /// With a constant mass and no potential that is all of `f`, which is the default; a system with
    /// a potential, or with a mass that depends on `q`, says what is left.
    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        self.force(at, active);
    }

    /// The forces a few rows at a time, where the system can tell them.
    fn streamed(&self) -> Option<&dyn StreamedDynamics> {
        None
    }

    /// Whether [`active_force`](Self::active_force) is zero at every state, so that it need not be asked.
    fn is_conservative(&self) -> bool {
        false
    }

    /// Whether [`force`](Self::force) is the same at every time, position and velocity.
    fn force_is_constant(&self) -> bool {
        false
    }
}
