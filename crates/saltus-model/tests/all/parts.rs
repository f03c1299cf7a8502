//! Parts of model files: in any order, joined to one another, with notes on what they are made of.

use crate::support::{model, parse, rest, text};
use saltus_model::{Model, Size};
use std::cell::Cell;

const BEAM: &str = r#"
[[beam]]
name = "beam"
from = [0, 0]
to = [1, 0]
elements = 4
material = "steel"
section = "wire"
"#;
const BAR: &str = r#"
[[bar]]
name = "hanger"
from = [1, 2]
to = "beam.end"
elements = 1
material = "steel"
section = "wire"
"#;
const STRUT: &str = r#"
[[bar]]
name = "strut"
from = "ball"
to = [-1, 3]
elements = 1
material = "steel"
section = "wire"
"#;
const BALL: &str = r#"
[[mass]]
name = "ball"
at = [0, 3]
mass = 2
"#;
const HELD: &str = r#"
[[support]]
at = "hanger.start"
hold = "all"
[[support]]
at = "beam.start"
hold = ["x", "y"]
[[support]]
at = "strut.end"
hold = "all"
[[support]]
at = "ball"
hold = "y"
[[load]]
at = "beam.end"
force = [0, -1000]
"#;

#[test]
fn a_bar_holds_the_end_of_a_beam_wherever_it_is_written() {
    for parts in [
        [BEAM, BAR, STRUT, BALL],
        [BALL, STRUT, BAR, BEAM],
        [BAR, BALL, BEAM, STRUT],
    ] {
        let model = model(&(parts.concat() + HELD));
        let assembly = model.assembly.as_ref().unwrap();
        let (state, _) = rest(assembly);
        let k = model
            .system
            .names()
            .positions
            .iter()
            .position(|name| name == "beam.4.y")
            .unwrap();
        // A pinned beam under a force at its end turns about the pin, and the bar takes all of the force:
        // F L/(E A) = 1000 · 2/(200e9 · 1e-4) = 1e-4 m.
        assert!((state.q[k] + 1e-4).abs() < 1e-8, "{}", state.q[k]);
    }
}

#[test]
fn parts_that_wait_for_each_other_are_refused() {
    let circle = [
        BEAM.replace("[1, 0]", "\"other.start\""),
        BEAM.replace("\"beam\"", "\"other\"")
            .replace("[0, 0]", "\"beam.end\""),
    ];
    let errors = parse(text("", &circle.concat())).unwrap_err();
    let text = errors.to_string();
    assert!(
        text.contains("none of \"beam\", \"other\" can be built first"),
        "{text}"
    );
    assert_eq!(errors.diagnostics.len(), 1, "{text}");
}

#[test]
fn a_nearly_incompressible_solid_that_locks_is_noted() {
    let notes = |poisson: &str, keys: &str| {
        let part = format!(
            "[materials.soft]\nyoung = 1e6\n{poisson}\ndensity = 1000\n[[solid]]\nname = \"block\"\nbox = {{ from = [0, 0], to = [1, 1], divisions = [2, 2] }}\nmaterial = \"soft\"\n{keys}"
        );
        model(&part).notes.join("\n")
    };
    let locks = |notes: String| notes.contains("lock");
    assert!(locks(notes("poisson = 0.4999", "")));
    assert!(locks(notes("poisson = 0.4999", "law = \"linear\"")));
    assert!(!locks(notes("poisson = 0.45", "")));
    assert!(!locks(notes("poisson = 0.4999", "plane = \"stress\"")));
    assert!(!locks(notes(
        "poisson = 0.4999",
        "law = \"linear\"\nintegration = \"mean-dilatation\""
    )));
}

#[test]
fn a_chain_is_joined_to_a_beam_by_a_tie() {
    let chain = r#"
[[bar]]
name = "chain"
from = [1, 0]
to = [1, 2]
elements = 2
material = "steel"
section = "wire"
[[tie]]
name = "joint"
between = ["chain.start", "beam.end"]
components = ["x", "y"]
[[support]]
at = ["chain.1", "chain.end"]
hold = "x"
[[support]]
at = "chain.end"
hold = "y"
[[support]]
at = "beam.start"
hold = ["x", "y"]
[[load]]
at = "beam.end"
force = [0, -1000]
"#;
    let model = model(&(BEAM.to_owned() + chain));
    let assembly = model.assembly.as_ref().unwrap();
    let (state, _) = rest(assembly);
    let names = model.system.names().positions;
    for name in ["beam.4.y", "chain.0.y"] {
        let k = names.iter().position(|known| known == name).unwrap();
        assert!((state.q[k] + 1e-4).abs() < 1e-8, "{name}: {}", state.q[k]);
    }
}

#[test]
fn the_size_of_parts_is_told_before_they_are_built() {
    let block = |name: &str, from: &str, to: &str, rest: &str| {
        format!(
            "[[solid]]\nname = \"{name}\"\nmaterial = \"steel\"\nbox = {{ from = {from}, to = {to}, {rest} }}\n"
        )
    };
    let folder = std::env::temp_dir();
    let path = folder.join(format!("saltus-size-{}.toml", std::process::id()));
    for parts in [
        BEAM.to_owned(),
        BEAM.replace("[0, 0]", "[0, 0, 0]")
            .replace("[1, 0]", "[1, 0, 0]"),
        STRUT
            .replace("\"ball\"", "[0, 3]")
            .replace("elements = 1", "elements = 7"),
        block("a", "[0, 0]", "[1, 1]", "divisions = [3, 5]"),
        block(
            "a",
            "[0, 0]",
            "[1, 1]",
            "divisions = [3, 5], cells = \"triangles\"",
        ),
        block("a", "[0, 0, 0]", "[1, 1, 1]", "divisions = [2, 3, 4]"),
        block(
            "a",
            "[0, 0, 0]",
            "[1, 1, 1]",
            "divisions = [2, 3, 4], cells = \"tetrahedra\"",
        ),
    ] {
        std::fs::write(&path, text("", &parts)).unwrap();
        let told = Cell::new(Size::default());
        let model = Model::load_with_size(&path, &[], &|size| told.set(size)).unwrap();
        let assembly = model.assembly.as_ref().unwrap();
        let elements: usize = assembly.groups().iter().map(|g| g.len()).sum();
        let built = Size {
            elements: elements as u64,
            unknowns: model.system.dims().nv as u64,
        };
        assert_eq!(told.get(), built, "{parts}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_support_bears_what_it_holds_itself() {
    let model = model(
        r#"
[[solid]]
name = "b"
box = { from = [0, 0], to = [1, 1], divisions = [2, 2] }
material = "steel"
law = "linear"
[[support]]
at = "b.left"
hold = "x"
[[support]]
at = "b.bottom"
hold = "y"
"#,
    );
    let held: Vec<_> = model
        .supports
        .iter()
        .map(|(name, _, components)| (name.as_str(), components.as_slice()))
        .collect();
    assert_eq!(held, [("b.left", &[0][..]), ("b.bottom", &[1][..])]);
}
