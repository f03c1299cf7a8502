//! Flexible bodies: rods, beams and solids as finite elements.
//!
//! Positions are totals, never displacements: rigid motion, gaps and joints need no offset.
//! Rotations in space are unit quaternions `(w, x, y, z)` from body to space; their velocities are
//! angular velocities in body axes, their increments `p ← p ∘ exp(½ δθ)`.

pub mod element;

pub use element::{Cell, Element, NodeKind};
