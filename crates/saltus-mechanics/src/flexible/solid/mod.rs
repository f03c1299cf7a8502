//! Solids: triangles, quadrilaterals, tetrahedra and hexahedra, small strains and large.
//!
//! Total Lagrangian: `F = Σ xₐ ⊗ ∇Nₐ` with gradients by reference coordinates that are computed once, `f = ∫ P ∇N`,
//! `K = ∫ ∇N A ∇N` (Bonet and Wood, *Nonlinear Continuum Mechanics for Finite Element Analysis*, 2008, ch. 9).
//! A [`Section`] says what the material is and how it is integrated; the shapes are [`Triangle`], [`Quadrilateral`],
//! [`Tetrahedron`] and [`Hexahedron`].
//!
//! | want | take |
//! | --- | --- |
//! | small strains | [`Law::Linear`] |
//! | large rotations, moderate strains | [`Law::StVenantKirchhoff`]; not for crushing, it softens |
//! | large strains | [`Law::NeoHookean`] |
//! | nearly incompressible | [`Integration::MeanDilatation`] on quadrilaterals or hexahedra, with [`Law::Linear`] or [`Law::NeoHookeanSplit`] |

pub(super) mod element;
mod fields;
mod material;
mod section;
mod shape;
mod tensor;

pub use element::Solid;
pub use material::{Law, Material};
pub use section::{Integration, Section};
pub use shape::{Hexahedral, Quadrangular, Shape, Tetrahedral, Triangular};

/// Triangle of three nodes (constant strain).
pub type Triangle = Solid<Triangular, 2, 3, 1>;
/// Quadrilateral of four nodes, 2 × 2 points.
pub type Quadrilateral = Solid<Quadrangular, 2, 4, 4>;
/// Tetrahedron of four nodes (constant strain).
pub type Tetrahedron = Solid<Tetrahedral, 3, 4, 1>;
/// Hexahedron of eight nodes, 2 × 2 × 2 points.
pub type Hexahedron = Solid<Hexahedral, 3, 8, 8>;
