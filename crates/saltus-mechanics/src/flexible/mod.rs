//! Flexible bodies: rods, beams and solids as finite elements.
//!
//! Positions are totals, never displacements: rigid motion, gaps and joints need no offset.
//! Rotations in space are unit quaternions `(w, x, y, z)` from body to space; their velocities are
//! angular velocities in body axes, their increments `p ← p ∘ exp(½ δθ)`.

pub mod assembly;
pub mod beam_linear;
pub mod beam_plane;
pub mod beam_space;
pub mod builder;
pub mod contacts;
pub mod differentiate;
pub mod element;
pub mod element_list;
mod ends;
mod group;
pub mod loads;
pub mod mesh;
pub mod options;
mod places;
pub mod point;
pub mod pressure;
pub mod probe;
pub mod rayleigh;
pub mod reactions;
pub mod rod;
mod runs;
pub mod solid;
pub mod spring;
mod streamed;
pub mod surfaces;

pub use assembly::{Assembly, GroupView, component_names};
pub use beam_linear::LinearBeam;
pub use beam_plane::{PlaneBeam, PlaneSection};
pub use beam_space::{SpaceBeam, SpaceSection};
pub use builder::{AssemblyError, Builder, NodeId};
pub use contacts::Geometry;
pub use differentiate::{Differentiated, Energy};
pub use element::{Cell, Element, NodeKind};
pub use element_list::{ElementList, Listed};
pub use loads::{LineLoad, LineShare, Load, LoadKind};
pub use mesh::{Mesh, MeshError};
pub use options::{Damping, ElementError, MassMatrix};
pub use point::PointMass;
pub use pressure::{PressedFace, Pressure};
pub use probe::{Probe, ProbeColumn};
pub use rayleigh::Rayleigh;
pub use reactions::SupportForce;
pub use rod::Rod;
pub use spring::{Spring, TorsionSpring};
pub use surfaces::SurfaceContact;
