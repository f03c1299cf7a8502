//! Flexible parts of a model file: materials, bars, beams, supports, loads, contacts.

use super::Quantity;
use crate::tree::Path;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A linear elastic material.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// Young's modulus \[Pa\].
    pub young: Quantity,
    /// Poisson's ratio \[-\], above −1 and below 1/2; needed for shear and torsion.
    pub poisson: Option<Quantity>,
    /// Density \[kg/m³\].
    pub density: Quantity,
    /// Material damping β \[s\]: stresses β C ε̇ beside the elastic C ε; objective.
    pub damping: Option<Quantity>,
    /// Damping in proportion to the mass α \[1/s\]; damps rigid motion too.
    pub mass_damping: Option<Quantity>,
}

/// A cross section: its shape, its area and moments, or its stiffness and inertia per length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Area \[m²\].
    pub area: Option<Quantity>,
    /// Second moment of area \[m⁴\], or the two about the section axes 2 and 3; in the plane the last one counts.
    pub inertia: Option<Numbers>,
    /// Torsion constant J \[m⁴\]; the sum of both second moments where not given.
    pub torsion: Option<Quantity>,
    /// Shear correction \[-\]; 5/6 where not given, for a circle 6(1+ν)/(7+6ν).
    pub shear: Option<Quantity>,
    /// A solid circle.
    pub circle: Option<Circle>,
    /// A solid rectangle.
    pub rectangle: Option<Rectangle>,
    /// Stiffnesses instead of shape and material.
    pub stiffness: Option<Stiffness>,
    /// Mass per length \[kg/m\], beside `stiffness`.
    pub line_density: Option<Quantity>,
    /// Rotary inertia per length \[kg·m\], or three of them about the section axes 1, 2, 3 in space; beside `stiffness`.
    pub rotary_inertia: Option<Numbers>,
}

/// A solid circle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Circle {
    /// Radius \[m\].
    pub radius: Quantity,
}

/// A solid rectangle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rectangle {
    /// Size along section axis 3, which in the plane points out of it \[m\].
    pub width: Quantity,
    /// Size along section axis 2 \[m\].
    pub height: Quantity,
}

/// Stiffnesses of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stiffness {
    /// Axial stiffness EA \[N\].
    pub axial: Quantity,
    /// Shear stiffness GA \[N\], shear correction included, or the two along the section axes 2 and 3.
    pub shear: Option<Numbers>,
    /// Bending stiffness EI \[N·m²\], or the two about the section axes 2 and 3.
    pub bending: Option<Numbers>,
    /// Torsional stiffness GJ \[N·m²\].
    pub torsion: Option<Quantity>,
}

/// How the mass is spread over the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// From the shape functions.
    #[default]
    Consistent,
    /// On the nodes.
    Lumped,
}

/// A straight bar that carries normal forces only: on a line linear, in the plane and in space a chain of links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    /// Its name in results, references and messages.
    pub name: String,
    /// Its first end: coordinates \[m\] (one, two or three), or a node of another part.
    pub from: Point,
    /// Its last end.
    pub to: Point,
    /// Number of elements.
    #[schemars(extend("minimum" = 1))]
    pub elements: Quantity,
    /// Name of its material.
    pub material: Option<String>,
    /// Name of its section.
    pub section: String,
    /// Mass matrix.
    #[serde(default)]
    pub mass: Distribution,
}

/// A beam in the plane or in space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beam {
    /// Its name in results, references and messages.
    pub name: String,
    /// Its first end: coordinates \[m\] (two or three), or a node of another part, which it is then rigidly joined to.
    pub from: Point,
    /// Its last end.
    pub to: Point,
    /// Corners between the ends; the legs are joined rigidly.
    pub via: Option<Vec<Vec<Quantity>>>,
    /// A point of the circle through both ends, between them: the stress-free shape is an arc.
    pub arc: Option<Vec<Quantity>>,
    /// Number of elements, over all legs.
    #[schemars(extend("minimum" = 1))]
    pub elements: Quantity,
    /// Name of its material.
    pub material: Option<String>,
    /// Name of its section.
    pub section: String,
    /// Theory.
    #[serde(default)]
    pub theory: Theory,
    /// In space, a direction that section axis 2 lies towards; where not given, axis 3 lies as near to z as it can.
    pub orientation: Option<Vec<Quantity>>,
    /// Mass matrix.
    #[serde(default)]
    pub mass: Distribution,
}

/// Theory of a beam.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Theory {
    /// Geometrically exact, with shear: any displacement and rotation.
    #[default]
    Exact,
    /// Linear and without shear, in the plane: small displacements and rotations.
    EulerBernoulli,
}

/// A point mass, on a node or as a node of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointMass {
    /// Its name.
    pub name: String,
    /// A node of another part, or coordinates \[m\] of a node of its own.
    pub at: Point,
    /// Mass \[kg\].
    pub mass: Quantity,
    /// Moment of inertia \[kg·m²\], or the three about the axes of the node in space.
    pub inertia: Option<Numbers>,
}

/// A spring with a damper between two nodes, or a node and a fixed point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// Its name.
    pub name: String,
    /// Its ends: nodes, or for one of them the coordinates of a fixed point \[m\].
    #[schemars(length(min = 2, max = 2))]
    pub between: Vec<Point>,
    /// Stiffness \[N/m\].
    pub stiffness: Quantity,
    /// Coefficient of the damper \[N·s/m\]; 0 where not given.
    pub damping: Option<Quantity>,
    /// Relaxed length \[m\]; the distance of its ends in the stress-free shape where not given.
    pub length: Option<Quantity>,
}

/// Coordinates that stay where they are in the stress-free shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// A node or a set of nodes, or several.
    pub at: Places,
    /// What is held: "all", or some of "x", "y", "z", "angle" (in the plane) and "rotation" (in space).
    pub hold: Words,
}

/// A coordinate of nodes that follows a function of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Motion {
    /// Its name in results; on a set of nodes, `NAME.K` for each from `NAME.0`.
    pub name: String,
    /// A node or a set of nodes, or several.
    pub at: Places,
    /// "x", "y", "z" or "angle".
    pub component: String,
    /// Position \[m\] or angle \[rad\], a formula of the time; rate and acceleration follow from it.
    pub position: Option<Quantity>,
    /// Displacement from the stress-free shape \[m\] or \[rad\], instead of `position`.
    pub displacement: Option<Quantity>,
}

/// Coordinates of two nodes, or of two sets of nodes pair by pair, that keep their difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tie {
    /// Its name in results; on sets `NAME.K`, with several components `NAME.COMPONENT` or `NAME.K.COMPONENT`.
    pub name: String,
    /// The nodes, or two sets of as many nodes at the same places.
    #[schemars(length(min = 2, max = 2))]
    pub between: Vec<String>,
    /// What they share: "x", "y", "z", "angle".
    pub components: Words,
}

/// A force or a moment on nodes, a traction or pressure on faces, or a force per length along a bar or beam.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// A node or a set of nodes, or several; a force or moment acts on each.
    pub at: Places,
    /// Force \[N\], one formula of the time per coordinate.
    pub force: Option<Vec<Quantity>>,
    /// Moment \[N·m\]: one formula of the time in the plane, three in space.
    pub moment: Option<Numbers>,
    /// Whether a moment in space turns with the node (where not given its axis is fixed in space), and whether a pressure
    /// stays normal to the faces as they deform (where not given it does, but on parts for small displacements).
    pub follower: Option<bool>,
    /// Force per area of the stress-free faces of a solid \[Pa\], one formula of the time per coordinate; its direction
    /// is fixed in space.
    pub traction: Option<Vec<Quantity>>,
    /// Pressure on faces of a solid \[Pa\], or across a bar or beam in the plane \[N/m\] towards the left on the way from its start to
    /// its end, a formula of the time; positive values press into the body.
    pub pressure: Option<Quantity>,
    /// Force per stress-free length of a bar or beam \[N/m\], one formula of the time per coordinate; its direction is
    /// fixed in space.
    pub line_force: Option<Vec<Quantity>>,
}

/// Nodes over a plane, or over the surface of another part, with Newton's impact law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contact {
    /// Its name in results; on a set of nodes, `NAME.K` for each from `NAME.0`.
    pub name: String,
    /// A node or a set of nodes, or several; of a whole solid the nodes of its surface.
    pub at: Places,
    /// The plane; or give `surface`.
    pub plane: Option<Plane>,
    /// A solid, or a set of its faces, or several, that the nodes may touch from outside; of another part.
    pub surface: Option<Places>,
    /// Distance of the surface of the body from its nodes \[m\]; 0 where not given.
    pub radius: Option<Quantity>,
    /// Coefficient of restitution of a node, in [0, 1]; 0 where not given: the rebound of a body comes from its waves.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub restitution: Option<Quantity>,
    /// Coulomb's coefficient; 0 is all there is so far.
    #[schemars(extend("minimum" = 0))]
    pub friction: Option<Quantity>,
}

/// A half space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// A point of it \[m\], formulas of the time where it moves.
    pub point: Vec<Quantity>,
    /// Direction from it towards the nodes; its length does not count.
    pub normal: Vec<Quantity>,
}

/// How a part starts: velocities, and a rigid displacement from the stress-free shape.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Start {
    /// Velocity \[m/s\].
    pub velocity: Option<Vec<Quantity>>,
    /// Angular velocity \[rad/s\]: one number in the plane, three in space.
    pub spin: Option<Numbers>,
    /// The point \[m\] in the stress-free shape that `velocity` belongs to and that `rotation` leaves; the origin where not given.
    pub about: Option<Vec<Quantity>>,
    /// Displacement \[m\].
    pub offset: Option<Vec<Quantity>>,
    /// Rotation \[rad\]: one number in the plane, a rotation vector in space.
    pub rotation: Option<Numbers>,
}

/// Materials and sections by name.
pub type Named<T> = IndexMap<String, T>;

/// Coordinates, or the name of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Point {
    /// Coordinates \[m\].
    Coordinates(Vec<Quantity>),
    /// A node.
    Node(String),
}

impl JsonSchema for Point {
    fn schema_name() -> Cow<'static, str> {
        "Point".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let quantity = generator.subschema_for::<Quantity>();
        json_schema!({
            "description": "Coordinates [m], or the name of a node such as \"beam.end\".",
            "anyOf": [
                { "type": "array", "items": quantity, "minItems": 1, "maxItems": 3 },
                { "type": "string" }
            ]
        })
    }
}

/// One number or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    /// One.
    One(Quantity),
    /// Several.
    Several(Vec<Quantity>),
}

impl JsonSchema for Numbers {
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let quantity = generator.subschema_for::<Quantity>();
        json_schema!({
            "description": "A number or formula, or a list of two or three.",
            "anyOf": [
                quantity.clone(),
                { "type": "array", "items": quantity, "minItems": 1, "maxItems": 3 }
            ]
        })
    }
}

impl Numbers {
    /// The numbers, as a list.
    #[must_use]
    pub fn as_slice(&self) -> &[Quantity] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// A node, a set of nodes, or a list of them.
pub type Places = Words;

/// One word or a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl JsonSchema for Words {
    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text in quotes, or a list of them.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 }
            ]
        })
    }
}

impl Words {
    /// The words, as a list.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }

    /// The words with their places in the document, given that of them all.
    pub fn places(&self, at: &Path) -> Vec<(&str, Path)> {
        match self {
            Self::One(word) => vec![(word, at.clone())],
            Self::Several(words) => words
                .iter()
                .enumerate()
                .map(|(k, word)| (word.as_str(), at.index(k)))
                .collect(),
        }
    }
}
