//! Solids of a model file: bodies of triangles, quadrilaterals, tetrahedra or hexahedra.

use super::Quantity;
use super::parts::{Distribution, Words};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An elastic body in the plane or in space, from a box or from a mesh file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solid {
    /// Its name in results, references and messages.
    pub name: String,
    /// A rectangle or a block, meshed here; or give `mesh`.
    #[serde(rename = "box")]
    pub cuboid: Option<Cuboid>,
    /// A Gmsh file (MSH 4.0 or 4.1), relative to the model file; its physical groups become sets of nodes and faces.
    pub mesh: Option<String>,
    /// Physical groups of the mesh that the body consists of; all of it where not given.
    pub region: Option<Words>,
    /// Length of the unit of the mesh \[m\]; 1 where not given, 1e-3 for a mesh in millimetres.
    pub scale: Option<Quantity>,
    /// Where the origin of the mesh lies \[m\].
    pub offset: Option<Vec<Quantity>>,
    /// More sets of nodes by name: all nodes in a box between two corners \[m\].
    #[serde(default)]
    pub sets: IndexMap<String, Corners>,
    /// Name of its material, which needs a `poisson`.
    pub material: String,
    /// The elastic law.
    #[serde(default)]
    pub law: Law,
    /// In the plane: whether the body is long or thin across it; "strain" where not given.
    pub plane: Option<PlaneState>,
    /// Thickness of a body in the plane \[m\]; 1 where not given.
    pub thickness: Option<Quantity>,
    /// How the energy is integrated.
    #[serde(default)]
    pub integration: Integration,
    /// Mass matrix.
    #[serde(default)]
    pub mass: Distribution,
}

/// A rectangle or a block with its sides along the axes.
///
/// Its sets are "left" and "right" (x), "bottom" and "top" (y in the plane, z in space), "front" and "back" (y in space).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cuboid {
    /// Its lower corner \[m\]: two coordinates in the plane, three in space.
    #[schemars(length(min = 2, max = 3))]
    pub from: Vec<Quantity>,
    /// Its upper corner \[m\].
    #[schemars(length(min = 2, max = 3))]
    pub to: Vec<Quantity>,
    /// Number of elements along each side.
    #[schemars(length(min = 2, max = 3))]
    pub divisions: Vec<Quantity>,
    /// Length of the last element over that of the first, along each side; 1 where not given.
    #[schemars(length(min = 2, max = 3))]
    pub grading: Option<Vec<Quantity>>,
    /// Shape of the elements; quadrilaterals or hexahedra where not given.
    pub cells: Option<Cells>,
}

/// Two opposite corners of a box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Corners {
    /// The lower one \[m\].
    #[schemars(length(min = 2, max = 3))]
    pub from: Vec<Quantity>,
    /// The upper one \[m\].
    #[schemars(length(min = 2, max = 3))]
    pub to: Vec<Quantity>,
}

/// Shapes of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// Two per rectangle, in the plane.
    Triangles,
    /// In the plane.
    Quadrilaterals,
    /// Six per block, in space.
    Tetrahedra,
    /// In space.
    Hexahedra,
}

/// Elastic laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Hooke's law for small strains and small rotations; a rotation of the body strains it.
    Linear,
    /// Hooke's law between Green's strain and its stress: any rotation, moderate strains; softens in strong compression.
    #[default]
    StVenantKirchhoff,
    /// Compressible neo-Hookean: any rotation, large strains.
    NeoHookean,
    /// Neo-Hookean with separate terms for shape and volume, for near incompressibility.
    NeoHookeanSplit,
}

/// What a body in the plane does across it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaneState {
    /// Nothing: a slice of a long body.
    Strain,
    /// Expands freely: a thin plate.
    Stress,
}

/// How the energy is integrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Integration {
    /// At all points.
    #[default]
    Full,
    /// The change of volume is averaged over the element, for near incompressibility; quadrilaterals and hexahedra.
    MeanDilatation,
}
