//! The shape of a model file: these types are its only definition.
//!
//! The JSON schema is generated from them ([`schema`]); files are checked against that schema and
//! then read into [`Document`]. The comments here are what an editor shows beside each key.

use crate::tree::Node;
use indexmap::IndexMap;
use saltus_integrators::Scheme;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::OnceLock;

pub mod parts;
pub mod solids;

/// The version of the format that this code reads.
pub const VERSION: i64 = 1;

/// A mechanical system with unilateral constraints, how it starts and how it is simulated. SI units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "saltus model")]
pub struct Document {
    /// Version of the format: 1.
    pub saltus: i64,
    /// One line for reports.
    pub title: Option<String>,
    /// What the model is, where it is from, what to see.
    pub description: Option<String>,
    /// Named numbers, or formulas of other parameters in any order.
    #[serde(default)]
    pub parameters: IndexMap<String, Quantity>,
    /// Piecewise linear functions of one variable, used in formulas as `name(x)`.
    #[serde(default)]
    pub tables: IndexMap<String, Table>,
    /// A system of formulas; a model has either this or flexible parts.
    pub system: Option<System>,
    /// Acceleration of gravity on flexible parts \[m/s²\], one number per coordinate of space.
    #[schemars(length(min = 1, max = 3))]
    pub gravity: Option<Vec<Quantity>>,
    /// Materials of flexible parts by name.
    #[serde(default)]
    pub materials: IndexMap<String, parts::Material>,
    /// Cross sections of flexible parts by name.
    #[serde(default)]
    pub sections: IndexMap<String, parts::Section>,
    /// Bars.
    #[serde(default)]
    pub bar: Vec<parts::Bar>,
    /// Beams.
    #[serde(default)]
    pub beam: Vec<parts::Beam>,
    /// Elastic bodies of a mesh.
    #[serde(default)]
    pub solid: Vec<solids::Solid>,
    /// Point masses.
    #[serde(default)]
    pub mass: Vec<parts::PointMass>,
    /// Springs and dampers.
    #[serde(default)]
    pub spring: Vec<parts::Spring>,
    /// What holds nodes.
    #[serde(default)]
    pub support: Vec<parts::Support>,
    /// What moves nodes.
    #[serde(default)]
    pub motion: Vec<parts::Motion>,
    /// What ties nodes to each other.
    #[serde(default)]
    pub tie: Vec<parts::Tie>,
    /// Forces and moments.
    #[serde(default)]
    pub load: Vec<parts::Load>,
    /// Contacts of nodes.
    #[serde(default)]
    pub contact: Vec<parts::Contact>,
    /// Where the motion starts.
    #[serde(default)]
    pub initial: Initial,
    /// How it is simulated.
    pub simulation: Simulation,
    /// What is written.
    #[serde(default)]
    pub output: Output,
}

impl Document {
    /// Reads a tree that was [validated](crate::validate::validate).
    ///
    /// # Errors
    /// Where the tree does not have the shape of a document.
    pub fn of(tree: &Node) -> Result<Self, serde_json::Error> {
        serde_json::from_value(tree.to_json())
    }
}

/// Name and options of `scheme`, as a file holds them.
#[must_use]
pub fn options(scheme: &Scheme) -> Option<serde_json::Value> {
    serde_json::to_value(scheme).ok()
}

/// A number or a formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A number.
    Number(f64),
    /// A formula.
    Formula(String),
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or a formula in quotes.",
            "anyOf": [{ "type": "number" }, { "type": "string", "format": "formula" }]
        })
    }
}

/// Sample points of a piecewise linear function, constant outside of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Where, strictly increasing.
    #[schemars(length(min = 2))]
    pub x: Vec<f64>,
    /// The value at each `x`.
    #[schemars(length(min = 2))]
    pub y: Vec<f64>,
}

/// A system described by formulas of the coordinates `y`, the velocities `v.y`, the time `t` and the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Names of the generalised coordinates.
    #[schemars(length(min = 1))]
    pub coordinates: Vec<String>,
    /// Mass matrix: its diagonal (n entries) or all of it (n lists of n), formulas of coordinates and parameters.
    pub mass: Option<Vec<MassEntry>>,
    /// Generalised forces f(t, q, v), one per coordinate; 0 where not given.
    pub force: Option<Vec<Quantity>>,
    /// Kinetic energy T(q, v) \[J\], instead of `mass`: mass and gyroscopic forces follow by Lagrange's equations.
    pub kinetic: Option<Quantity>,
    /// Potential energy V(t, q) \[J\]: adds the force −∂V/∂q.
    pub potential: Option<Quantity>,
    /// Rayleigh's dissipation function R(q, v) \[W\]: adds the force −∂R/∂v.
    pub dissipation: Option<Quantity>,
    /// Bilateral constraints, on positions or on velocities alone.
    #[serde(default)]
    pub bilateral: Vec<Bilateral>,
    /// Dry friction in joints and on coordinates.
    #[serde(default)]
    pub friction: Vec<Friction>,
    /// Unilateral constraints gap(t, q) ≥ 0.
    #[serde(default)]
    pub unilateral: Vec<Unilateral>,
}

/// An entry of the diagonal, or a row of the full matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MassEntry {
    /// An entry of the diagonal.
    Diagonal(Quantity),
    /// A row.
    Row(Vec<Quantity>),
}

/// A bilateral constraint: g(t, q) = 0, or a velocity that is zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bilateral {
    /// Its name in results and messages.
    pub name: String,
    /// The function of time and coordinates that is kept at zero.
    pub g: Option<Quantity>,
    /// The velocity that is kept at zero, linear in the velocities; instead of `g`, where no function of the coordinates has it
    /// as its rate.
    pub velocity: Option<Quantity>,
}

/// Dry friction that no contact makes: in a joint, its bound a coefficient times the reaction there, or on a coordinate with a fixed bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Friction {
    /// Its name in results and messages.
    pub name: String,
    /// Displacement (or one or two of them) whose rate is the slip.
    pub tangential: Option<Tangential>,
    /// Slip velocity (or one or two of them), linear in the velocities; instead of `tangential`.
    pub tangential_velocity: Option<Tangential>,
    /// Coefficient, not negative: times the norm of the forces of `carried_by` it bounds the friction. A number or a formula, also of
    /// time, coordinates and velocities.
    #[schemars(extend("minimum" = 0))]
    pub friction: Option<Quantity>,
    /// Names of the bilateral constraints whose forces carry the joint, neighbours in the list.
    #[serde(default)]
    pub carried_by: Vec<String>,
    /// Fixed bound of the friction \[N\], or \[N·m\] of an angle, not negative; instead of `friction`. A number or a formula like it.
    #[schemars(extend("minimum" = 0))]
    pub dry_friction: Option<Quantity>,
}

/// A unilateral constraint gap(t, q) ≥ 0 with Newton's impact law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unilateral {
    /// Its name in results and messages.
    pub name: String,
    /// Signed distance \[m\], not negative when apart.
    pub gap: Quantity,
    /// Coefficient of restitution, in [0, 1]; a number or a formula of parameters.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub restitution: Quantity,
    /// Displacement (or one or two of them) whose rate is the slip.
    pub tangential: Option<Tangential>,
    /// Slip velocity (or one or two of them), linear in the velocities; instead of `tangential`.
    pub tangential_velocity: Option<Tangential>,
    /// Coulomb's coefficient, not negative; needs a tangential direction. A number or a formula, also of time, coordinates and
    /// velocities.
    #[schemars(extend("minimum" = 0))]
    pub friction: Option<Quantity>,
    /// Coulomb's coefficient while the contact sticks, at least `friction`; the same as `friction` where left out.
    #[schemars(extend("minimum" = 0))]
    pub friction_static: Option<Quantity>,
    /// Restitution of the slip velocity, in [0, 1]; 0 where left out.
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub tangential_restitution: Option<Quantity>,
}

/// One tangential direction, or a list of one or two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tangential {
    /// One direction.
    One(Quantity),
    /// One or two directions.
    Several(Vec<Quantity>),
}

impl JsonSchema for Tangential {
    fn schema_name() -> Cow<'static, str> {
        "Tangential".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let quantity = generator.subschema_for::<Quantity>();
        json_schema!({
            "description": "A formula, or a list of one or two.",
            "anyOf": [
                quantity.clone(),
                { "type": "array", "items": quantity, "minItems": 1, "maxItems": 2 }
            ]
        })
    }
}

impl Tangential {
    /// The directions, as a list.
    #[must_use]
    pub fn as_slice(&self) -> &[Quantity] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// The initial state; what is not given is 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Initial {
    /// Initial coordinates by name.
    pub q: IndexMap<String, Quantity>,
    /// Initial velocities by the name of the coordinate.
    pub v: IndexMap<String, Quantity>,
    /// How flexible parts start, by the name of a part or of nodes: \[initial.parts.NAME\].
    pub parts: IndexMap<String, parts::Start>,
    /// Whether to start flexible parts from the static equilibrium under the loads at the start, found from the state given here.
    pub equilibrium: bool,
    /// Whether to start from the nearest state that satisfies the bilateral constraints.
    pub project: bool,
    /// What to do about gaps that are negative at the start.
    pub overlap: Overlap,
}

/// What to do about gaps that are negative at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// Refuse to start.
    #[default]
    Error,
    /// Start from the nearest state without overlap.
    Project,
    /// Start as it is.
    Allow,
}

/// How the motion is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// The scheme: its name, or a table of its name and its options.
    pub scheme: SchemeChoice,
    /// Time step \[s\], above 0.
    pub step: Quantity,
    /// Time at which the simulation ends \[s\].
    pub until: Quantity,
    /// Time at which it starts \[s\]; 0 where not given.
    pub start: Option<Quantity>,
    /// A comparison, such as `tip_x > 1`, that ends the simulation after the first step at whose end it holds; of the same
    /// names as the quantities in `output`, and of these.
    pub stop: Option<String>,
}

/// A scheme by name, or with its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchemeChoice {
    /// By name, with default options.
    Name(String),
    /// With options.
    Table(Scheme),
}

impl SchemeChoice {
    /// The scheme with its options; `None` for a name that no scheme has.
    #[must_use]
    pub fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Table(scheme) => Some(scheme.clone()),
            Self::Name(name) => Scheme::by_name(name),
        }
    }
}

impl JsonSchema for SchemeChoice {
    fn schema_name() -> Cow<'static, str> {
        "SchemeChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Scheme::ALL.iter().map(|info| info.name).collect();
        json_schema!({
            "description": "The name of a scheme, or a table of its name and its options.",
            "anyOf": [{ "type": "string", "enum": names }, generator.subschema_for::<Scheme>()]
        })
    }
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Write every n-th step; steps with impacts are always written.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Formats of the trajectory: `csv`, `npz` and `hdf5` are tables, of which there is one at least; `vtk` comes beside them.
    pub formats: Vec<OutputFormat>,
    /// Nodes of flexible parts whose coordinates become columns; all where there are few.
    pub nodes: Option<parts::Places>,
    /// Nodes of flexible parts whose stresses, strains and section forces become columns, and with them those of all nodes
    /// a part of the "vtk" format: at the ends of beams, and of solids from a patch of elements around each node.
    pub fields: Option<parts::Places>,
    /// Further columns by name: formulas of the time `t`, coordinates `y`, velocities `v.y`, parameters, other columns such as
    /// `gap.floor`, `impulse.floor` or `energy.total`, and of each other.
    pub quantities: IndexMap<String, Quantity>,
    /// Units of coordinates and quantities by name, for axes and HDF5 attributes.
    pub units: IndexMap<String, String>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            every: 1,
            formats: vec![OutputFormat::Csv],
            nodes: None,
            fields: None,
            quantities: IndexMap::new(),
            units: IndexMap::new(),
        }
    }
}

/// A format of the trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// Comma-separated values.
    Csv,
    /// Arrays for NumPy.
    Npz,
    /// HDF5.
    Hdf5,
    /// Geometry for ParaView; a model of formulas has none.
    Vtk,
}

/// The JSON schema of a model file, for editors: what may be left out is not told as an alternative, so that a mistake inside of it is
/// told as what it is.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = checked_schema().clone();
    without_alternatives_to_nothing(&mut schema);
    schemes_by_name(&mut schema);
    schema
}

/// The same as the code checks with.
pub(crate) fn checked_schema() -> &'static serde_json::Value {
    static SCHEMA: OnceLock<serde_json::Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Document).to_value();
        unescape(&mut schema);
        schema
    })
}

/// Makes `X` of `X or null`, but for the options of schemes, where a summary writes null.
fn without_alternatives_to_nothing(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(entries) => {
            let kind = |item: &serde_json::Value| item.get("type") == Some(&"null".into());
            let first = match entries.get("anyOf").and_then(|list| list.as_array()) {
                Some(list) => match list.as_slice() {
                    [first, null] if kind(null) => first.as_object().cloned(),
                    _ => None,
                },
                None => None,
            };
            if let Some(first) = first {
                entries.shift_remove("anyOf");
                entries.retain(|key, value| !(key == "default" && value.is_null()));
                entries.extend(first);
            }
            let outside = entries.iter_mut().filter(|(key, _)| *key != "Scheme");
            outside.for_each(|(_, value)| without_alternatives_to_nothing(value));
        }
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(without_alternatives_to_nothing);
        }
        _ => {}
    }
}

/// Chooses the options of a scheme by its name, so that a mistake in one is told as what it is and not as that no alternative fits.
fn schemes_by_name(schema: &mut serde_json::Value) {
    let Some(scheme) = schema.pointer_mut("/$defs/Scheme") else {
        return;
    };
    let variants = scheme["oneOf"].take();
    let name = |variant: &serde_json::Value| variant["properties"]["name"]["const"].clone();
    let variants: Vec<serde_json::Value> = variants.as_array().cloned().unwrap_or_default();
    let names: Vec<serde_json::Value> = variants.iter().map(name).collect();
    let rules: Vec<serde_json::Value> = variants
        .iter()
        .map(|variant| {
            let is_it = serde_json::json!({ "properties": { "name": { "const": name(variant) } } });
            serde_json::json!({ "if": is_it, "then": variant })
        })
        .collect();
    *scheme = serde_json::json!({
        "type": "object",
        "properties": { "name": { "enum": names } },
        "required": ["name"],
        "allOf": rules,
    });
    if let Some(choice) = schema.pointer_mut("/$defs/SchemeChoice") {
        let [word, table] = [0, 1].map(|k| choice["anyOf"][k].clone());
        let description = choice["description"].clone();
        *choice = serde_json::json!({
            "description": description,
            "if": { "type": "string" },
            "then": word,
            "else": table,
        });
    }
}

/// Descriptions come from comments, where brackets are escaped for rustdoc.
fn unescape(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    serde_json::Value::String(text) if key == "description" => {
                        *text = text.replace("\\[", "[").replace("\\]", "]");
                    }
                    value => unescape(value),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(unescape),
        _ => {}
    }
}
