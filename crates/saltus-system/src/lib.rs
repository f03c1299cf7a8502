//! The contract between mechanics and time integration.
//!
//! A **system** is an immutable description that answers, at any `(t, q, v)`, what an integrator
//! may ask: kinematics, inertia and smooth forces, bilateral constraints, contacts, and the exact
//! derivatives of all of them. It never holds a value of a method, and it is `Sync`.
//!
//! ```text
//! M(q) dv = f(t, q, v) dt + Gᵀ dp + W dr ,   q̇ = Y(q) v
//! g(t, q) = 0            (bilateral, ng)     ġ = G v + ∂g/∂t
//! 0 ≤ gap(t, q) ⟂ dr ≥ 0 (contacts)          u = Wᵀ v + ∂gap/∂t
//! ```
//!
//! All derivatives are taken *along `retract`*: `D(a)` is the `nv`-column matrix whose product with
//! a tangent `δ` is `d/dε a(q ⊕ ε δ)` at `ε = 0`. In flat coordinates that is `∂a/∂q`.
//! Derivatives default to zero, which is right for whatever is linear; [`check`](check::check)
//! compares every one of them with finite differences and names the wrong one.

pub mod check;
mod constraints;
mod contacts;
mod dynamics;
mod kinematics;
mod state;
mod streamed;

pub use constraints::{ConstraintKind, Constraints, FrictionBound, JointFriction, friction_rows};
pub use contacts::{ContactId, ContactLaw, ContactSet, Contacts, Reach};
pub use dynamics::{Dynamics, DynamicsParts, ForceKind, MassKind, Structure, Tangents};
pub use kinematics::{Dims, Kinematics};
pub use saltus_linear::{MatrixSink, SparseRows};
pub use state::{Names, Point, State};
pub use streamed::{StreamedDynamics, Window};

/// All that an integrator may ask.
pub trait System: Dynamics + Constraints + Contacts + Send + Sync {
    /// What the coordinates, velocities, constraints and contacts are called in results.
    fn names(&self) -> Names {
        Names::numbered(self.dims(), self.contact_count())
    }
}
