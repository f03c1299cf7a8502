//! Mechanics for models: flexible bodies, their contacts, and their assembly into a system.
//!
//! Begin with [`flexible`]: an [`Element`](flexible::Element) owes an energy, a force and a tangent, an
//! [`Assembly`](flexible::Assembly) puts elements, supports, loads and contacts together.

pub mod flexible;
pub mod gap;
pub mod modes;
pub mod rotation;
pub mod signal;
pub mod statics;
