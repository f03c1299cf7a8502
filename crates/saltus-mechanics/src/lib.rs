//! Mechanics for models: flexible bodies, their contacts, and their assembly into a system.
//!
//! Begin with [`flexible`]: an [`Element`](flexible::Element) owes an energy, a force and a tangent.

pub mod flexible;
pub mod rotation;
