//! Models of parts in a few lines, and what they come to rest in.

use saltus_mechanics::flexible::{Assembly, NodeId};
use saltus_mechanics::statics::{Equilibrium, Options, equilibrium};
use saltus_model::{Format, Model, ModelErrors};
use saltus_system::State;

/// What a model of parts has beside them.
pub const FRAME: &str = r#"
[simulation]
scheme = "nonsmooth-generalized-alpha"
step = 1e-3
until = 1e-2
[materials.steel]
young = 200e9
poisson = 0.3
density = 7800
[materials.rubber]
young = 1e6
poisson = 0.3
density = 1000
[sections.wire]
area = 1e-4
inertia = 1e-9
"#;

/// The whole text of a model of parts; `first` comes before all tables.
pub fn text(first: &str, parts: &str) -> String {
    format!("saltus = 1\n{first}\n{FRAME}{parts}")
}

pub fn parse(text: String) -> Result<Model, ModelErrors> {
    Model::parse("test", "test.toml", text, Format::Toml, &[])
}

pub fn model(parts: &str) -> Model {
    parse(text("", parts)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The equilibrium next to the stress-free shape.
pub fn rest(assembly: &Assembly) -> (State, Equilibrium) {
    let mut state = assembly.reference_state(0.0);
    let options = Options {
        rotations: assembly.rotations(),
        ..Options::default()
    };
    let found = equilibrium(assembly, &mut state, &options).unwrap();
    (state, found)
}

pub fn nodes(assembly: &Assembly) -> impl Iterator<Item = NodeId> {
    (0..u32::try_from(assembly.node_count()).unwrap()).map(NodeId)
}
