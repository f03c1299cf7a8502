//! What a change of scheme does to options, for schemes of any name.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::tree::Format;

const TEXT: &str = "[simulation]\nscheme = { name = \"old\", theta = 0.75, gamma = 1 }\n";

fn apply_to(text: &str, overrides: &[Override]) -> (serde_json::Value, Applied) {
    let mut tree = Format::Toml.parse(text, 0).0.unwrap();
    let applied = apply(&mut tree, overrides, &mut vec![SourceText::default()]);
    assert!(applied.diagnostics.is_empty(), "{:?}", applied.diagnostics);
    (tree.to_json()["simulation"]["scheme"].clone(), applied)
}

#[test]
fn another_scheme_drops_the_options_and_says_so() {
    let changes = [
        Override::flag("--scheme", "simulation.scheme", "new"),
        Override::set("simulation.scheme.name=new"),
    ];
    for change in changes {
        let (scheme, applied) = apply_to(TEXT, &[change]);
        assert_eq!(scheme, "new");
        let note = &applied.notes[0];
        assert!(
            note.ends_with("chooses new; the options of old are dropped: \"theta\", \"gamma\""),
            "{note}"
        );
    }
}

#[test]
fn the_same_scheme_keeps_its_options() {
    let (scheme, applied) = apply_to(
        TEXT,
        &[Override::flag("--scheme", "simulation.scheme", "old")],
    );
    assert_eq!(scheme["theta"], 0.75);
    assert!(applied.notes.is_empty());
}

#[test]
fn options_after_another_scheme_belong_to_it() {
    let changes = [
        Override::flag("--scheme", "simulation.scheme", "new"),
        Override::set("simulation.scheme.rho_inf=0.5"),
    ];
    let (scheme, _) = apply_to(TEXT, &changes);
    assert_eq!(scheme, serde_json::json!({ "name": "new", "rho_inf": 0.5 }));
}

#[test]
fn a_scheme_can_be_given_where_there_was_none() {
    let (scheme, _) = apply_to(
        "saltus = 1\n",
        &[Override::flag("--scheme", "simulation.scheme", "new")],
    );
    assert_eq!(scheme, "new");
}
